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
    CHAIN_ITERATIONS =
        200, /* so that the counter's steps do not matter: they come in phase with short bursts */
    CHAINS_LEAST = 5, /* before the length of a cycle is known */
    CROWD_LENGTH = 240,
    CROWD_FIRST = 2, /* whatever ran before is forgotten then */
    CROWD_ITERATIONS = 45,
    BURST_CYCLES = 4000,
    AGREEING = 3,     /* samples that are equal but for the counter's steps */
    AGREEING_OF = 24, /* of so many at most */
    ROUGH = 40,       /* bursts of which the least is taken where the core never is ours */
    STEP_TICKS = 30,  /* of the counter, on processors on which it steps */
    WORK_NS = 12000000,
    REST_NS = 6000000,
    BEST_SAMPLES = 3000,
    LOOKS_A_CHAIN = 16,
    LIMIT_US = 400000, /* for one call of lab_measure that does not return */
};

/* Of moments: less is too little to measure in. */
static const double OURS_LEAST = 0.03;
/* What fills the core takes no longer when it has the core for itself: the counter's steps are half of that. */
static const double OURS = 1.05;
/* Of what tables say that it takes: less than with a neighbour, more than where they are too good. */
static const double CROWD_ALONE = 1.3;
static const double WAIT_NS = 6e9, WAIT_QUICK_NS = 1e9;
static const double HURRY_NS = 2e5;
static const double AGREED = 1.015; /* two measurements that differ by less are of the same */

static struct lab *open_lab;   /* of this process, for the signal handler */
static volatile bool resting;  /* companions sleep */
static volatile bool unwanted; /* companions end */
static unsigned companions;    /* that run */

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

/* Keeps the `most` least of values, ascending: before the first one *count is 0. */
static void keep_least(double *least, unsigned most, unsigned *count, double value)
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

int lab_ascending(const void *a, const void *b)
{
    double one = *(const double *)a, two = *(const double *)b;
    return (one > two) - (one < two);
}

/* The lowest value that a hundredth of all has, within 3 %: single ones that are lower are chance. */
static double lowest_cluster(double *values, size_t count)
{
    size_t part = count / 100 + 1;
    qsort(values, count, sizeof *values, lab_ascending);
    for (size_t i = 0; i + part < count; i++)
        if (values[i + part] <= values[i] * 1.03)
            return values[i + part / 2];
    return count ? values[0] : INFINITY;
}

/* In place of the oldest, in order. */
static void keep_chain(struct lab *lab, double ticks, size_t count)
{
    double *sorted = lab->chains_sorted, *place = lab->chains + lab->chain_next++ % CHAINS_KEPT;
    size_t at = count;
    if (count == CHAINS_KEPT)
        for (at = 0; sorted[at] < *place; at++)
            ;
    for (; at + 1 < count && sorted[at + 1] < ticks; at++)
        sorted[at] = sorted[at + 1];
    for (; at > 0 && sorted[at - 1] > ticks; at--)
        sorted[at] = sorted[at - 1];
    sorted[at] = *place = ticks;
}

/* Of the last bursts of the chain those in the middle: single ones are disturbed, and the counter steps. */
static void note_chain(struct lab *lab, double ticks)
{
    const double *sorted = lab->chains_sorted;
    double sum = 0;
    keep_chain(lab, ticks, lab->chain_next < CHAINS_KEPT ? lab->chain_next : CHAINS_KEPT);
    size_t count = lab->chain_next < CHAINS_KEPT ? lab->chain_next : CHAINS_KEPT, first = count / 4,
           last = count - count / 4;
    for (size_t i = first; i < last; i++)
        sum += sorted[i];
    lab->chain_ticks = sum / (double)(last - first);
    double step = (double)STEP_TICKS / (CHAIN_ITERATIONS * CHAIN_LENGTH);
    double most = 0.01 * lab->chain_ticks + step;
    lab->steady = count >= CHAINS_LEAST && sorted[last - 1] - sorted[first] < most &&
                  fabs(ticks - lab->chain_ticks) < most;
}

/* The crowd's cycles; the best it does may not have been seen at the beginning. */
static void note_crowd(struct lab *lab, double cycles)
{
    lab->crowd_seen[lab->crowd_seen_count++] = cycles;
    if (lab->crowd_seen_count < CROWD_SEEN)
        return;
    double lowest = lowest_cluster(lab->crowd_seen, CROWD_SEEN);
    if (lowest < lab->crowd_least * 0.97) {
        lab->crowd_least = lowest;
        lab->lowered = true;
    }
    lab->crowd_seen_count = 0;
}

/* One burst of what fills the core, and of the chain each few times. *cycles: of an iteration of the former. False: moved, or of no steady
   frequency. */
static bool look(struct lab *lab, double *cycles)
{
    if (!lab->steady || ++lab->looks % LOOKS_A_CHAIN == 0) {
        double chain = burst(lab, lab->chain, CHAIN_ITERATIONS);
        if (chain < 0)
            return false;
        note_chain(lab, (chain - lab->overhead) / (CHAIN_ITERATIONS * CHAIN_LENGTH));
    }
    burst(lab, lab->crowd, CROWD_FIRST);
    double crowd = burst(lab, lab->crowd, CROWD_ITERATIONS);
    if (crowd < 0)
        return false;
    *cycles = (crowd - lab->overhead) / CROWD_ITERATIONS / lab->chain_ticks;
    return lab->steady;
}

/* Is the core ours at the moment? */
static bool is_ours(struct lab *lab)
{
    double cycles;
    lab->moments++;
    if (!look(lab, &cycles))
        return false;
    note_crowd(lab, cycles);
    bool ours = cycles < lab->crowd_least * OURS;
    /* Faster than it can be: the length of a cycle has changed. */
    if (cycles < lab->crowd_least * 0.95)
        ours = lab->steady = false;
    lab->moments_alone += ours;
    lab->ticks_sum += ours ? lab->chain_ticks : 0;
    return ours;
}

double lab_ticks(struct lab *lab)
{
    double cycles;
    for (unsigned i = 0; i < CHAINS_KEPT; i++) {
        lab->steady = false;
        look(lab, &cycles);
    }
    return lab->chain_ticks;
}

/* Cycles of what `timed` does. False: the core was not ours before it and after it. */
static bool sample(struct lab *lab, lab_timed *timed, void *context, double *cycles)
{
    if (!lab->ours && !(lab->ours = is_ours(lab)))
        return false;
    double before = lab->chain_ticks, ticks = timed(context);
    lab->ours = is_ours(lab);
    *cycles = ticks / ((before + lab->chain_ticks) / 2);
    return lab->ours && ticks >= 0;
}

/* When the core never is ours: the least of many bursts. */
static double least_of_many(struct lab *lab, lab_timed *timed, void *context)
{
    double least = INFINITY, ticks = lab_ticks(lab);
    for (unsigned i = 0; i < ROUGH; i++) {
        double now = timed(context);
        least = now >= 0 && now < least ? now : least;
    }
    return least / fmin(ticks, lab_ticks(lab));
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void lab_hurry_after(struct lab *lab, double seconds)
{
    lab->hurry_ns = now_ns() + 1e9 * fmax(0, seconds);
}

void lab_do_not_hurry(struct lab *lab)
{
    lab->hurry_ns = 0;
}

static double patience_now(const struct lab *lab)
{
    bool hurry = lab->hurry_ns > 0 && now_ns() > lab->hurry_ns;
    return hurry ? fmin(HURRY_NS, lab->patience_ns) : lab->patience_ns;
}

double lab_time(struct lab *lab, lab_timed *timed, void *context, double enough)
{
    double least[AGREEING], now;
    unsigned count = 0, sound = 0;
    uint64_t end = __rdtsc() + (uint64_t)(patience_now(lab) * lab->ticks_per_ns);
    lab->ours = false;
    do {
        if (!sample(lab, timed, context, &now))
            continue;
        keep_least(least, AGREEING, &count, now);
        sound++;
        if (now <= enough)
            return now;
        double step = STEP_TICKS / lab->chain_ticks;
        if (count == AGREEING && (least[AGREEING - 1] <= least[0] * 1.006 + step)) {
            double sum = 0;
            for (unsigned i = 0; i < AGREEING; i++)
                sum += least[i];
            return sum / AGREEING;
        }
    } while (sound < AGREEING_OF && __rdtsc() < end);
    lab->rough++;
    if (count)
        return least[0];
    return least_of_many(lab, timed, context);
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
    for (size_t i = 0; i < (DATA_BEFORE + 4096) / 8; i++)
        memcpy(lab->data - DATA_BEFORE + 8 * i, words + pattern, 8);
}

/* So many that a burst has the length that is wanted. */
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

struct code_run {
    struct lab *lab;
    uint64_t iterations;
};

static double time_code(void *context)
{
    const struct code_run *run = context;
    double ticks = burst(run->lab, run->lab->code, run->iterations);
    return ticks < 0 ? ticks : ticks - run->lab->overhead;
}

/* Is anything ready to run, on any processor, but this process? */
static bool others_wait(void)
{
    char text[128] = "";
    unsigned running = 0;
    FILE *file = fopen("/proc/loadavg", "re");
    bool known =
        file && fgets(text, sizeof text, file) && sscanf(text, "%*s %*s %*s %u/", &running) == 1;
    if (file)
        fclose(file);
    return !known || running > 1 + companions;
}

/* Who runs before all others leaves them a third of the time, if there are any. */
static void rest(struct lab *lab)
{
    double now = now_ns();
    if (!lab->before_others || now < lab->rested_ns + WORK_NS)
        return;
    if (others_wait()) {
        resting = true;
        nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
        resting = false;
        lab->chain_next = 0;
    }
    lab->rested_ns = now_ns();
}

static void set_timer(long microseconds)
{
    struct itimerval timer = {
        .it_value = {.tv_sec = microseconds / 1000000, .tv_usec = microseconds % 1000000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

double lab_measure(struct lab *lab, const struct body *body, double enough)
{
    struct code_run run = {.lab = lab};
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
    run.iterations = iterations_of(lab);
    double cycles = lab_time(lab, time_code, &run, enough * (double)run.iterations);
    set_timer(0);
    return cycles / (double)run.iterations;
}

bool lab_run(struct lab *lab, const struct body *body, unsigned runs, unsigned at, double *ticks)
{
    uint64_t word;
    if (body->full)
        return false;
    fill_data(lab, body->pattern);
    body_function(body, lab->code);
    resting = true; /* companions: who shares a core has half of its buffers */
    if (sigsetjmp(lab->back, 1)) {
        set_timer(0);
        _mm_setcsr(0x1f80);
        resting = false;
        return false;
    }
    set_timer(LIMIT_US);
    for (volatile unsigned i = 0; i < runs; i++) {
        burst(lab, lab->code, 1);
        memcpy(&word, lab->data + at, sizeof word);
        ticks[i] = (double)word;
    }
    set_timer(0);
    resting = false;
    return true;
}

/* The lowest that another one confirms; if there is none the lowest. */
static double lowest_confirmed(double *values, size_t count)
{
    qsort(values, count, sizeof *values, lab_ascending);
    for (size_t i = 0; i + 1 < count; i++)
        if (values[i + 1] <= AGREED * values[i])
            return values[i];
    return values[0];
}

/* Returns the last of them, if not positive: then it failed, and ended them. */
static double measure_several(struct lab *lab, const struct body *body, unsigned measurements,
                              double values[MEASUREMENTS_MAX])
{
    double last = 0;
    for (unsigned i = 0; i < measurements; i++)
        if ((values[i] = last = lab_measure(lab, body, 0)) <= 0)
            break;
    return last;
}

double lab_least(struct lab *lab, const struct body *body, unsigned measurements)
{
    double values[MEASUREMENTS_MAX], last = measure_several(lab, body, measurements, values);
    return last > 0 ? lowest_confirmed(values, measurements) : last;
}

double lab_median(struct lab *lab, const struct body *body, unsigned measurements)
{
    double values[MEASUREMENTS_MAX], last = measure_several(lab, body, measurements, values);
    if (last <= 0)
        return last;
    qsort(values, measurements, sizeof *values, lab_ascending);
    return values[measurements / 2];
}

double lab_agreed(struct lab *lab, const struct body *body, unsigned most)
{
    double values[MEASUREMENTS_MAX];
    for (unsigned i = 0; i < most; i++) {
        if ((values[i] = lab_measure(lab, body, 0)) <= 0)
            return values[i];
        for (unsigned other = 0; other < i; other++)
            if (fmax(values[i], values[other]) <= AGREED * fmin(values[i], values[other]))
                return fmin(values[i], values[other]);
    }
    return lowest_confirmed(values, most);
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

/* What calling an empty function takes: the mean of many that are equal but for the counter's steps. */
static double find_overhead(struct lab *lab)
{
    double samples[2000], sum = 0;
    size_t count = 0, used = 0;
    for (unsigned i = 0; i < BASE_COUNT(samples); i++)
        if ((samples[count] = burst(lab, lab->empty, 1)) >= 0)
            count++;
    qsort(samples, count, sizeof *samples, lab_ascending);
    for (; used < count && samples[used] <= samples[count / 50] + STEP_TICKS; used++)
        sum += samples[used];
    return used ? sum / (double)used : 0;
}

/* The best that the core does; a processor at rest takes a while to reach its frequency. Returns the share of moments in which the core is
   ours. */
static double find_best(struct lab *lab)
{
    double samples[BEST_SAMPLES], cycles, started = now_ns();
    uint64_t stamp = __rdtsc();
    size_t count = 0, ours = 0;
    lab->overhead = find_overhead(lab);
    lab->chain_next = 0;
    for (unsigned i = 0; i < BEST_SAMPLES; i++)
        look(lab, &cycles);
    for (unsigned i = 0; i < BEST_SAMPLES; i++)
        if (look(lab, &cycles))
            samples[count++] = cycles;
    double least = lowest_cluster(samples, count);
    lab->crowd_least = lab->crowd_least > 0 ? fmin(lab->crowd_least, least) : least;
    for (size_t i = 0; i < count; i++)
        ours += samples[i] < lab->crowd_least * OURS;
    lab->ticks_per_ns = (double)(__rdtsc() - stamp) / (now_ns() - started);
    return (double)ours / BEST_SAMPLES;
}

/* Cycles of an iteration of the crowd as this processor's table has it; 0: none is known. */
static double crowd_expected(void)
{
    uint64_t cpu, microcode;
    char title[64];
    struct model *model = NULL;
    double cycles = 0;
    model_here(&cpu, &microcode, title);
    const char *table = model_table_of(cpu);
    if (table && model_open(table, &model, NULL) == BASE_OK)
        cycles = CROWD_LENGTH / (double)model_machine(model)->figures[MODEL_WIDTH].value;
    model_close(model);
    return cycles;
}

/* A neighbour that works without a pause takes half of the core: waits for a moment without. */
static void wait_for_core(struct lab *lab)
{
    double expected = crowd_expected() * CROWD_ALONE,
           end = now_ns() + (lab->quick ? WAIT_QUICK_NS : WAIT_NS);
    while (lab->crowd_least > expected && expected > 0 && now_ns() < end) {
        nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
        find_best(lab);
    }
    lab->shared = expected > 0 && lab->crowd_least > expected;
}

/* ---- companions -------------------------------------------------------------------------------------------- */

/*
 * Other processors may be threads of the same core, and what runs there takes half of its units. A thread of ours on each, which
 * does nothing but pause, leaves them to us while it is its turn. In a virtual
 * machine it is not known which they are: then all are taken, if they are few.
 */
enum { COMPANIONS_MAX = 8 };

static void *pause_while_wanted(void *context)
{
    const struct timespec nap = {.tv_nsec = 500000};
    (void)context;
    while (!unwanted) {
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
    companions += !pthread_create(&thread, &attributes, pause_while_wanted, NULL);
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

/* They halve what a core divides among its threads (the reorder buffer): kept only if they give us the core much more often. */
static void try_companions(struct lab *lab, double ours, const cpu_set_t *allowed)
{
    start_companions(lab->processor, allowed);
    if (!companions || find_best(lab) > 2 * ours)
        return;
    unwanted = true;
    companions = 0;
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

static bool map_areas(struct lab *lab, struct util_text *why)
{
    uint8_t *code = mmap(NULL, 4 * CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *data =
        mmap(NULL, DATA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED || data == MAP_FAILED) {
        util_text_print(why, "no memory that can be written and executed: %s", strerror(errno));
        return false;
    }
    lab->code = code;
    lab->chain = code + CODE_BYTES;
    lab->crowd = code + 2 * CODE_BYTES;
    lab->empty = code + 3 * CODE_BYTES;
    lab->mapped = data;
    lab->data = data + DATA_AT + (uint16_t)(DATA_LOW - (uintptr_t)data);
    memset(data, 0, DATA_BYTES);
    return true;
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
    if (!map_areas(lab, why))
        return BASE_UNSUPPORTED;
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
    double ours = find_best(lab);
    if (ours < OURS_LEAST)
        try_companions(lab, ours, &allowed);
    wait_for_core(lab);
    lab->lowered = false;
    return BASE_OK;
}

void lab_close(struct lab *lab)
{
    munmap(lab->code, 4 * CODE_BYTES);
    munmap(lab->mapped, DATA_BYTES);
}
