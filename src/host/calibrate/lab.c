// SPDX-License-Identifier: MIT
/*
 * The laboratory: functions timed by the time stamp counter, and the cycles that this makes.
 *
 * A burst is one call of some thousand cycles, so short that hardly any is interrupted, and those that are stand out. The counter
 * may step by tens of ticks, hence means of bursts and not the least. A cycle is what each addition of a chain takes,
 * timed before and after. Another thread on the same core (its sibling, or a neighbour of a virtual
 * machine) does not slow a chain, but what fills the core: code that does is timed, too, and as long as it
 * takes longer than it did at its best, measurements are repeated.
 */
#include "calibrate/internal.h"

#include <cpuid.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <x86intrin.h>

enum {
    DATA_BYTES = 1 << 18,
    DATA_AT = 1 << 16,
    DATA_LOW =
        0x4040, /* the address' low 16 bits: none of its parts is 0, as a divisor must not be */
    CHAIN_LENGTH = 64,
    CROWD_LENGTH = 240,
    BURST_CYCLES = 3000,
    BURSTS_MAX = 16,
    ATTEMPTS = 3,
    BURSTS = 4, /* the mean of so many that are least */
    BURSTS_LEAST = 8,
    BURSTS_MOST = 100,
    CROWD_ITERATIONS = 30,
    WORK_NS = 12000000,
    REST_NS = 6000000,
    BEST_SAMPLES = 3000,
    LIMIT_US = 400000, /* for one call of lab_measure that does not return */
};

static const double AGREED = 1.015; /* two measurements that differ by less are of the same */

static struct lab *open_lab;  /* of this process, for the signal handler */
static volatile bool resting; /* companions sleep */

static void on_signal(int number)
{
    siglongjmp(open_lab->back, number);
}

/* ---- one burst -------------------------------------------------------------------------------------- */

typedef void function(void *data, uint64_t iterations);

/* Ticks; negative: the thread was moved to another processor. */
static double burst(struct lab *lab, const uint8_t *code, uint64_t iterations)
{
    unsigned before, after;
    function *called;
    memcpy(&called, &code, sizeof called);
    lab->bursts++;
    (void)__rdtscp(&before);
    _mm_lfence();
    uint64_t start = __rdtsc();
    _mm_lfence();
    called(lab->data, iterations);
    uint64_t end = __rdtscp(&after);
    _mm_lfence();
    return before == after ? (double)(end - start) : -1;
}

/* Mean of the bursts that nothing interrupted. False: too few. */
static bool bursts(struct lab *lab, const uint8_t *code, uint64_t iterations, unsigned count,
                   double *mean)
{
    double ticks[BURSTS_MAX], least = INFINITY, sum = 0;
    unsigned good = 0;
    for (unsigned i = 0; i < count; i++) {
        ticks[i] = burst(lab, code, iterations);
        if (ticks[i] >= 0 && ticks[i] < least)
            least = ticks[i];
    }
    for (unsigned i = 0; i < count; i++)
        if (ticks[i] >= 0 && ticks[i] <= least * 1.025 + 60) {
            sum += ticks[i];
            good++;
        }
    if (good * 2 < count)
        return false;
    *mean = sum / good - lab->overhead;
    return true;
}

void keep_least(double *least, unsigned most, unsigned *count, double value)
{
    unsigned at = *count;
    if (at == most) {
        if (value >= least[most - 1])
            return;
        at = most - 1;
    } else {
        ++*count;
    }
    for (; at > 0 && least[at - 1] > value; at--)
        least[at] = least[at - 1];
    least[at] = value;
}

/* ---- references --------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double one = *(const double *)a, two = *(const double *)b;
    return (one > two) - (one < two);
}

/* The lowest value that a hundredth of all has, within 3 %: single ones that are lower are chance. */
static double lowest_cluster(double *values, size_t count)
{
    size_t part = count / 100 + 1;
    qsort(values, count, sizeof *values, ascending);
    for (size_t i = 0; i + part < count; i++)
        if (values[i + part] <= values[i] * 1.03)
            return values[i + part / 2];
    return count ? values[0] : INFINITY;
}

/* Ticks of a cycle; the same 200 us later, if nothing was timed before. */
static bool chain_ticks(struct lab *lab, bool fresh, double *ticks)
{
    double least[3];
    unsigned count = 0;
    uint64_t iterations = BURST_CYCLES / CHAIN_LENGTH;
    if (!fresh && lab->chain_ticks > 0 && __rdtsc() - lab->chain_stamp < 300000) {
        *ticks = lab->chain_ticks;
        return true;
    }
    for (unsigned i = 0; i < 12 && (count < 3 || least[2] > least[0] * 1.008 + 30); i++) {
        double now = burst(lab, lab->chain, iterations);
        if (now >= 0)
            keep_least(least, 3, &count, now);
    }
    if (count < 3)
        return false;
    double mean = (least[0] + least[1] + least[2]) / 3 - lab->overhead;
    *ticks = lab->chain_ticks = mean / (double)(iterations * CHAIN_LENGTH);
    lab->chain_stamp = __rdtsc();
    lab->ticks_sum += *ticks;
    lab->ticks_count++;
    return true;
}

/* One burst of what fills the core: cycles of an iteration; negative: moved. */
static double crowd_cycles(struct lab *lab)
{
    double ticks = burst(lab, lab->crowd, CROWD_ITERATIONS);
    if (ticks < 0)
        return ticks;
    double cycles = (ticks - lab->overhead) / CROWD_ITERATIONS / lab->chain_ticks;
    lab->crowd_seen[lab->crowd_seen_count++] = cycles;
    if (lab->crowd_seen_count == CROWD_SEEN) {
        /* It may never have been alone at the beginning. */
        double lowest = lowest_cluster(lab->crowd_seen, CROWD_SEEN);
        lab->crowd_least = lowest < lab->crowd_least * 0.97 ? lowest : lab->crowd_least;
        lab->crowd_seen_count = 0;
    }
    return cycles;
}

/*
 * Neighbours come and go within microseconds, and only ever make a burst longer: the mean of the least that are equal but for the
 * counter's steps, of as many bursts as it takes. False: there are no such, or what fills the core was never as fast as it can be.
 */
static bool least_bursts(struct lab *lab, uint64_t iterations, double *mean)
{
    double least[BURSTS], fastest = INFINITY;
    unsigned count = 0;
    for (unsigned i = 0; i < BURSTS_MOST; i++) {
        double now = burst(lab, lab->code, iterations);
        if (i % 2 == 0 || fastest > lab->crowd_least * 1.08) {
            double crowd = crowd_cycles(lab);
            fastest = crowd > 0 && crowd < fastest ? crowd : fastest;
        }
        if (now >= 0)
            keep_least(least, BURSTS, &count, now);
        if (i + 1 >= BURSTS_LEAST && count == BURSTS &&
            least[BURSTS - 1] <= least[0] * 1.008 + 30 && fastest < lab->crowd_least * 1.08) {
            double sum = 0;
            for (unsigned each = 0; each < BURSTS; each++)
                sum += least[each];
            *mean = sum / BURSTS - lab->overhead;
            return true;
        }
    }
    lab->contended++;
    return false;
}

double lab_ticks(struct lab *lab)
{
    double ticks = 0;
    for (unsigned attempt = 0; attempt < ATTEMPTS && !chain_ticks(lab, true, &ticks); attempt++)
        lab->repeated++;
    return ticks;
}

/* ---- a measurement --------------------------------------------------------------------------------------- */

static void fill_data(struct lab *lab, enum pattern pattern)
{
    uint64_t words[PATTERNS] = {[PATTERN_POINTER] = (uint64_t)(uintptr_t)lab->data};
    const double one = 1, hard = 1.0000114437282738;
    const float ones[2] = {1, 1}, hards[2] = {1.0000114F, 1.0000114F};
    memcpy(words + PATTERN_ONES_DOUBLE, &one, 8);
    memcpy(words + PATTERN_HARD_DOUBLE, &hard, 8);
    memcpy(words + PATTERN_ONES_FLOAT, ones, 8);
    memcpy(words + PATTERN_HARD_FLOAT, hards, 8);
    for (size_t i = 0; i < 4096 / 8; i++)
        memcpy(lab->data + 8 * i, words + pattern, 8);
}

static uint64_t iterations_of(struct lab *lab)
{
    burst(lab, lab->code, 2);
    double first = burst(lab, lab->code, 4), ticks = lab->chain_ticks;
    if (first < 0)
        first = burst(lab, lab->code, 4);
    double each = (first - lab->overhead) / 4 / (ticks > 0 ? ticks : 1);
    double wanted = BURST_CYCLES / (each > 1 ? each : 1);
    return wanted < 1 ? 1 : wanted > 4000 ? 4000 : (uint64_t)wanted;
}

/* Once, with references around it. False: the core's frequency changed, or the core was not ours. */
static bool try_once(struct lab *lab, uint64_t iterations, double *cycles)
{
    double before, after, mean;
    if (!chain_ticks(lab, false, &before) || !least_bursts(lab, iterations, &mean) ||
        !chain_ticks(lab, true, &after))
        return false;
    *cycles = mean / (double)iterations / ((before + after) / 2);
    return fabs(before - after) < 0.012 * after;
}

/* When the core never is ours: the least of many bursts. */
static double least_of_many(struct lab *lab, uint64_t iterations)
{
    double least = INFINITY, ticks = lab_ticks(lab);
    for (unsigned i = 0; i < BURSTS_MOST; i++) {
        double now = burst(lab, lab->code, iterations);
        least = now >= 0 && now < least ? now : least;
    }
    /* The chain, too, is only ever made slower, and would make the code seem faster than it is. */
    ticks = fmin(ticks, lab_ticks(lab));
    lab->disturbed++;
    return (least - lab->overhead) / (double)iterations / ticks;
}

static double repeat_until_sound(struct lab *lab)
{
    double cycles = 0;
    uint64_t iterations = iterations_of(lab);
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (try_once(lab, iterations, &cycles))
            return cycles;
        lab->repeated++;
    }
    return least_of_many(lab, iterations);
}

/* Who runs before all others leaves them a third of the time. */
static void rest(struct lab *lab)
{
    struct timespec now;
    if (!lab->before_others)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (now_ns < lab->rested_ns + WORK_NS)
        return;
    resting = true;
    nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
    resting = false;
    lab->rested_ns = now_ns + REST_NS;
}

static void set_timer(long microseconds)
{
    struct itimerval timer = {
        .it_value = {.tv_sec = microseconds / 1000000, .tv_usec = microseconds % 1000000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

double lab_measure(struct lab *lab, const struct body *body)
{
    if (body->full || !body->count)
        return -SIGILL;
    rest(lab);
    fill_data(lab, body->pattern);
    body_function(body, lab->code);
    int number = sigsetjmp(lab->back, 1);
    if (number) {
        set_timer(0);
        _mm_setcsr(0x1f80);
        return -number;
    }
    set_timer(LIMIT_US);
    double cycles = repeat_until_sound(lab);
    set_timer(0);
    return cycles;
}

double lab_least(struct lab *lab, const struct body *body, unsigned measurements)
{
    double least = lab_measure(lab, body);
    for (unsigned i = 1; i < measurements && least > 0; i++) {
        double now = lab_measure(lab, body);
        least = now > 0 && now < least ? now : least;
    }
    return least;
}

double lab_agreed(struct lab *lab, const struct body *body, unsigned most)
{
    double least = lab_measure(lab, body), second = INFINITY;
    for (unsigned i = 1; i < most && least > 0 && second > AGREED * least; i++) {
        double now = lab_measure(lab, body);
        if (now < 0)
            return now;
        second = fmin(second, fmax(now, least));
        least = fmin(least, now);
    }
    return least;
}

/* ---- begin and end ------------------------------------------------------------------------------------------ */

static void make_references(struct lab *lab)
{
    struct body *body = malloc(sizeof *body);
    if (!body)
        return;
    body_begin(body, PATTERN_ONES_DOUBLE, false);
    body_function(body, lab->empty);
    for (unsigned i = 0; i < CHAIN_LENGTH; i++)
        body_hex(body, "4801c3"); /* add rbx, rax */
    body_function(body, lab->chain);
    body_begin(body, PATTERN_ONES_DOUBLE, false);
    static const char *const adds[] = {"4801c3", "4801c6", "4801c7", "4901c0"};
    for (unsigned i = 0; i < CROWD_LENGTH; i++)
        body_hex(body, i % 2 ? "90" : adds[i / 2 % 4]);
    body_function(body, lab->crowd);
    free(body);
}

static void install_handlers(void)
{
    static uint8_t alternate[65536];
    static const int numbers[] = {SIGSEGV, SIGILL, SIGFPE, SIGBUS, SIGTRAP, SIGALRM};
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < BASE_COUNT(numbers); i++)
        sigaction(numbers[i], &action, NULL);
}

/* Stays where it is: a move costs a measurement, and processors may differ. */
static int pin(void)
{
    cpu_set_t set;
    int processor = sched_getcpu();
    CPU_ZERO(&set);
    CPU_SET((size_t)(processor < 0 ? 0 : processor), &set);
    return processor >= 0 && !sched_setaffinity(0, sizeof set, &set) ? processor : -1;
}

/* The best that the core does; a processor at rest takes a while to reach its frequency. */
static void find_best(struct lab *lab)
{
    double ticks, cycles, mean;
    double samples[BEST_SAMPLES];
    size_t count = 0;
    double overhead = 0;
    lab->overhead = 0;
    for (unsigned i = 0; i < 400; i++)
        if (bursts(lab, lab->empty, 1, 8, &mean))
            overhead = mean;
    lab->overhead = overhead;
    for (unsigned i = 0; i < 2000; i++)
        chain_ticks(lab, true, &ticks);
    for (unsigned i = 0; i < BEST_SAMPLES; i++)
        if ((i % 16 || chain_ticks(lab, true, &ticks)) && burst(lab, lab->chain, 30) >= 0 &&
            (cycles = crowd_cycles(lab)) > 0)
            samples[count++] = cycles;
    lab->crowd_least = lowest_cluster(samples, count);
    lab->crowd_seen_count = 0;
    lab->ticks_sum = 0;
    lab->ticks_count = 0;
}

/* ---- companions -------------------------------------------------------------------------------------------- */

/*
 * Other processors may be threads of the same core, and what runs there takes half of its units. A thread of ours on each, which
 * does nothing but pause, leaves them to us while it is its turn: half of the time if there is one busy neighbour. In a virtual
 * machine it is not known which they are: then all are taken, if they are few.
 */
enum { COMPANIONS_MAX = 8 };

static void *pause_for_ever(void *context)
{
    const struct timespec nap = {.tv_nsec = 500000};
    (void)context;
    for (;;) {
        for (unsigned i = 0; i < 200; i++)
            _mm_pause();
        if (resting)
            nanosleep(&nap, NULL);
    }
    return NULL;
}

static void start_companion(size_t processor)
{
    pthread_attr_t attributes;
    pthread_t thread;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    pthread_create(&thread, &attributes, pause_for_ever, NULL);
    pthread_attr_destroy(&attributes);
}

/* Processors that the kernel says are of the same core: "3,67" or "6-7". False: it says there is none. */
static bool siblings_of(int processor, cpu_set_t *set)
{
    char path[128], text[128] = "";
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             processor);
    FILE *file = fopen(path, "re");
    CPU_ZERO(set);
    if (file) {
        if (!fgets(text, sizeof text, file))
            text[0] = 0;
        fclose(file);
    }
    for (char *at = text; *at >= '0' && *at <= '9'; at += *at == ',') {
        unsigned long first = strtoul(at, &at, 10),
                      last = *at == '-' ? strtoul(at + 1, &at, 10) : first;
        for (; first <= last && first < CPU_SETSIZE; first++)
            CPU_SET(first, set);
    }
    return CPU_COUNT(set) > 1;
}

static bool is_virtual(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c >> 31;
}

static void start_companions(int processor, const cpu_set_t *allowed)
{
    cpu_set_t siblings;
    if (processor < 0)
        return;
    if (!siblings_of(processor, &siblings)) {
        if (!is_virtual() || CPU_COUNT(allowed) > COMPANIONS_MAX)
            return;
        siblings = *allowed;
    }
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &siblings) && CPU_ISSET(i, allowed) && (int)i != processor)
            start_companion(i);
}

static bool have_rdtscp(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("sse2") && ({
               __asm__ volatile("cpuid"
                                : "=a"(a), "=b"(b), "=c"(c), "=d"(d)
                                : "a"(0x80000001U), "c"(0));
               d >> 27 & 1;
           });
}

enum base_status lab_open(struct lab *lab, bool quick, struct util_text *why)
{
    *lab = (struct lab){.quick = quick,
                        .avx = __builtin_cpu_supports("avx"),
                        .avx512 = __builtin_cpu_supports("avx512f")};
    if (!have_rdtscp()) {
        util_text_print(why, "this processor has no instruction rdtscp");
        return BASE_UNSUPPORTED;
    }
    uint8_t *code = mmap(NULL, 4 * CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *data =
        mmap(NULL, DATA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED || data == MAP_FAILED) {
        util_text_print(why, "no memory that can be written and executed: %s", strerror(errno));
        return BASE_UNSUPPORTED;
    }
    lab->code = code;
    lab->chain = code + CODE_BYTES;
    lab->crowd = code + 2 * CODE_BYTES;
    lab->empty = code + 3 * CODE_BYTES;
    lab->mapped = data;
    lab->data = data + DATA_AT + (uint16_t)(DATA_LOW - (uintptr_t)data);
    memset(data, 0, DATA_BYTES);
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    lab->processor = pin();
    open_lab = lab;
    install_handlers();
    int number = sigsetjmp(lab->back, 1);
    if (number) {
        util_text_print(why, "the time stamp counter cannot be read (signal %d)", number);
        return BASE_UNSUPPORTED;
    }
    make_references(lab);
    /* Where that is allowed: before all others, two thirds of the time. Companions inherit it. */
    lab->before_others =
        !sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
    start_companions(lab->processor, &allowed);
    find_best(lab);
    return BASE_OK;
}

void lab_close(struct lab *lab)
{
    munmap(lab->code, 4 * CODE_BYTES);
    munmap(lab->mapped, DATA_BYTES);
}
