// SPDX-License-Identifier: MIT
/* clang-format off */
/*
 * Programs of which it is known how much their threads hinder each other: micro KIND [option=value...]
 *
 *     posix        threads want one mutex                            pthread_mutex_lock   (ispot, listing 1)
 *     spin         the same, a spin lock of its own                  spin_lock
 *     pspin        the same, the C library's                         pthread_spin_lock
 *     sharing      x and y in one cache line                         update_x             (listing 2)
 *     padded       x and y far apart: nothing is shared              update_x
 *     io           direct reads of a file each                       read                 (listing 3)
 *     private      posix with a mutex each: nothing is shared        pthread_mutex_lock
 *     search       looks for the k-th node of a list of its own      list_search
 *     count        as many turns as the argument says                count_turns
 *     state        as many turns as a global variable says           state_turns
 *
 *     delay=N       between operations: turns of an empty loop, in io nanoseconds asleep (default 0); in sharing and
 *                   padded by the thread that updates y alone; after locks it is random, from none to twice as many:
 *                   equally fast threads fall into step otherwise and never meet
 *     hold=N        turns with the lock held (default 0)
 *     iterations=N  operations of every thread at least (default 100000); a thread goes on until all have done theirs,
 *                   so that it is hindered all the time
 *     threads=N     (default 2; sharing and padded always have 2)
 *     sample=N      the time of one operation in N is taken, by the time stamp counter; 0: none (default 8)
 *     updates=N     of x or y in an operation (default 16)
 *     block=N       bytes of a read (default 512)
 *     directory=D   for the files of io (default .), which are made and removed
 *
 * delay alone decides how much threads hinder each other; in the last three nobody hinders anybody, it is the work
 * that varies. Prints lines name=value; times are of the operation alone: operations, mean_ns, min_ns, median_ns,
 * p99_ns, per_operation_ns (threads * total time / operations), total_s
 */
/* clang-format on */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum {
    LINE = 128,
    THREADS_MAX = 64,
    SAMPLES = 1 << 16,
    FILE_BYTES = 8 << 20,
    NODES = 256,
    ALIGNMENT = 4096
};

static struct {
    uint64_t delay, iterations, sample, hold, updates, block;
    unsigned threads;
    const char *directory;
} option = {
    .iterations = 100000, .sample = 8, .updates = 16, .block = 512, .threads = 2, .directory = "."};

struct node {
    struct node *next;
    uint64_t position;
};

struct thread {
    pthread_t thread;
    unsigned number;
    uint64_t operations, sum, sampled, minimum, random, begun, ended; /* the last two: ticks */
    uint64_t *samples; /* a reservoir of SAMPLES                  */
    pthread_mutex_t mutex;
    struct node *list;
    char *buffer;
    int descriptor;
} __attribute__((aligned(LINE)));

struct kind {
    const char *name;
    void (*prepare)(struct thread *);
    void (*operation)(struct thread *); /* what is timed           */
    void (*after)(struct thread *);     /* what follows, not timed */
    bool is_measured_in_first;          /* in thread 0 alone       */
};

static const struct kind *kind;
static struct thread thread[THREADS_MAX];
static pthread_barrier_t begin;
static _Alignas(LINE) atomic_uint finished;

/* Everything that threads share lies in lines of its own, so that nothing else is hindered. */
static _Alignas(LINE) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(LINE) atomic_int spin_word;
static _Alignas(LINE) pthread_spinlock_t spin;
static _Alignas(LINE) volatile uint64_t value;
static _Alignas(LINE) struct {
    volatile int x, y;
} together;
static _Alignas(LINE) struct {
    volatile int x;
    _Alignas(LINE) volatile int y;
} apart;
static _Alignas(LINE) volatile uint64_t state;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "micro: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void turn(uint64_t turns)
{
    for (uint64_t i = 0; i < turns; i++)
        __asm__ volatile("");
}

/* Asleep: more threads than processors may wait for a disk without waiting for each other's
 * processors. */
static void rest(uint64_t nanoseconds)
{
    struct timespec pause = {.tv_sec = (time_t)(nanoseconds / 1000000000),
                             .tv_nsec = (long)(nanoseconds % 1000000000)};
    if (nanoseconds)
        nanosleep(&pause, NULL);
}

__attribute__((noinline)) void compute(uint64_t delay)
{
    turn(delay);
}

/* xorshift: repeatable, of the thread alone. */
static uint64_t draw(struct thread *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    return self->random ^= self->random << 17;
}

/* Threads of equal speed that always rest equally long take turns, and never meet. */
static void compute_some(struct thread *self)
{
    compute(option.delay ? draw(self) % (2 * option.delay + 1) : 0);
}

/* ---- locks
 * --------------------------------------------------------------------------------------- */

static void posix_operation(struct thread *self)
{
    (void)self;
    pthread_mutex_lock(&mutex);
}

static void posix_after(struct thread *self)
{
    value++;
    turn(option.hold);
    pthread_mutex_unlock(&mutex);
    compute_some(self);
}

static void private_operation(struct thread *self)
{
    pthread_mutex_lock(&self->mutex);
}

static void private_after(struct thread *self)
{
    self->operations++; /* what is locked */
    self->operations--;
    turn(option.hold);
    pthread_mutex_unlock(&self->mutex);
    compute_some(self);
}

__attribute__((noinline)) void spin_lock(atomic_int *word)
{
    while (atomic_exchange_explicit(word, 1, memory_order_acquire))
        while (atomic_load_explicit(word, memory_order_relaxed))
            _mm_pause();
}

__attribute__((noinline)) void spin_unlock(atomic_int *word)
{
    atomic_store_explicit(word, 0, memory_order_release);
}

static void spin_operation(struct thread *self)
{
    (void)self;
    spin_lock(&spin_word);
}

static void spin_after(struct thread *self)
{
    value++;
    turn(option.hold);
    spin_unlock(&spin_word);
    compute_some(self);
}

static void pspin_operation(struct thread *self)
{
    (void)self;
    pthread_spin_lock(&spin);
}

static void pspin_after(struct thread *self)
{
    value++;
    turn(option.hold);
    pthread_spin_unlock(&spin);
    compute_some(self);
}

/* ---- false sharing
 * ------------------------------------------------------------------------------- */

/* What is loaded is waited for before it is stored: a processor that renames memory runs plain
   increments of one place at twice or half the speed, as it happens, which would look like
   interference. */
static void update(volatile int *place, uint64_t updates)
{
    for (uint64_t i = 0; i < updates; i++) {
        int old = *place;
        _mm_lfence();
        *place = old + 1;
    }
}

__attribute__((noinline)) void update_x(volatile int *x, uint64_t updates)
{
    update(x, updates);
}

__attribute__((noinline)) void update_y(volatile int *y, uint64_t updates)
{
    update(y, updates);
}

static void sharing_operation(struct thread *self)
{
    if (self->number == 0)
        update_x(&together.x, option.updates);
    else
        update_y(&together.y, option.updates);
}

static void padded_operation(struct thread *self)
{
    if (self->number == 0)
        update_x(&apart.x, option.updates);
    else
        update_y(&apart.y, option.updates);
}

static void sharing_after(struct thread *self)
{
    if (self->number != 0)
        compute(option.delay);
}

/* ---- direct reads
 * -------------------------------------------------------------------------------- */

static void write_file(int descriptor, char *buffer)
{
    for (int bytes = 0; bytes < FILE_BYTES; bytes += ALIGNMENT) {
        memset(buffer, 'a' + bytes / ALIGNMENT % 26, ALIGNMENT);
        if (write(descriptor, buffer, ALIGNMENT) != ALIGNMENT)
            fail("writing its file");
    }
    if (fsync(descriptor))
        fail("writing its file");
}

static void io_prepare(struct thread *self)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/micro-%d-%u", option.directory, (int)getpid(), self->number);
    size_t bytes = option.block > ALIGNMENT ? option.block : ALIGNMENT;
    self->buffer = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!self->buffer || descriptor < 0)
        fail(path);
    write_file(descriptor, self->buffer);
    close(descriptor);
    self->descriptor = open(path, O_RDONLY | O_DIRECT);
    int problem = errno;
    unlink(path);
    errno = problem;
    ssize_t first =
        self->descriptor < 0 ? -1 : pread(self->descriptor, self->buffer, option.block, 0);
    if (first < 0 && errno == EINVAL) {
        fprintf(
            stderr,
            "micro: %s: no direct reads of %llu bytes here: choose another directory or block\n",
            option.directory, (unsigned long long)option.block);
        exit(77);
    }
    if (first != (ssize_t)option.block)
        fail(path);
}

static void io_operation(struct thread *self)
{
    if (read(self->descriptor, self->buffer, option.block) < 0)
        fail("reading its file");
}

static void io_after(struct thread *self)
{
    if ((self->operations + 1) % (FILE_BYTES / option.block) == 0)
        lseek(self->descriptor, 0, SEEK_SET);
    rest(option.delay);
}

/* ---- work that varies
 * ---------------------------------------------------------------------------- */

/* Nodes in an order of their own in memory would be a matter of caches: NODES of them fit the
 * first. */
static void search_prepare(struct thread *self)
{
    struct node *nodes = calloc(NODES, sizeof *nodes);
    if (!nodes)
        fail("memory");
    for (uint64_t i = 0; i < NODES; i++)
        nodes[i] = (struct node){i + 1 < NODES ? &nodes[i + 1] : NULL, i};
    self->list = nodes;
}

__attribute__((noinline)) const struct node *list_search(const struct node *list, uint64_t position)
{
    while (list && list->position != position)
        list = list->next;
    return list;
}

static void search_operation(struct thread *self)
{
    if (!list_search(self->list, draw(self) % NODES))
        fail("a node is missing");
}

__attribute__((noinline)) void count_turns(uint64_t turns)
{
    turn(turns);
}

static void count_operation(struct thread *self)
{
    count_turns(draw(self) % 1024);
}

__attribute__((noinline)) void state_turns(void)
{
    turn(state % 1024);
}

static void state_operation(struct thread *self)
{
    (void)self;
    state_turns();
}

/* One thread changes it, now and then: the line is not what costs. */
static void state_after(struct thread *self)
{
    if (self->number == 0 && self->operations % 8 == 0)
        state = draw(self);
    compute(option.delay);
}

static void delay_after(struct thread *self)
{
    (void)self;
    compute(option.delay);
}

static const struct kind kinds[] = {
    {.name = "posix", .operation = posix_operation, .after = posix_after},
    {.name = "spin", .operation = spin_operation, .after = spin_after},
    {.name = "pspin", .operation = pspin_operation, .after = pspin_after},
    {.name = "sharing",
     .operation = sharing_operation,
     .after = sharing_after,
     .is_measured_in_first = true},
    {.name = "padded",
     .operation = padded_operation,
     .after = sharing_after,
     .is_measured_in_first = true},
    {.name = "io", .prepare = io_prepare, .operation = io_operation, .after = io_after},
    {.name = "private", .operation = private_operation, .after = private_after},
    {.name = "search",
     .prepare = search_prepare,
     .operation = search_operation,
     .after = delay_after},
    {.name = "count", .operation = count_operation, .after = delay_after},
    {.name = "state", .operation = state_operation, .after = state_after},
};

/* ---- running
 * ------------------------------------------------------------------------------------- */

static void keep(struct thread *self, uint64_t ticks)
{
    self->sum += ticks;
    self->minimum = ticks < self->minimum ? ticks : self->minimum;
    uint64_t place = self->sampled < SAMPLES ? self->sampled : draw(self) % (self->sampled + 1);
    if (place < SAMPLES)
        self->samples[place] = ticks;
    self->sampled++;
}

static void one(struct thread *self, bool is_timed)
{
    if (!is_timed) {
        kind->operation(self);
        kind->after(self);
        return;
    }
    unsigned processor;
    uint64_t start = __rdtscp(&processor);
    kind->operation(self);
    uint64_t ticks = __rdtscp(&processor) - start;
    kind->after(self);
    keep(self, ticks);
}

/* One thread a processor, if there are enough: schedulers like to wake a thread up on its waker's,
   where it cannot get into anyone's way. */
static void pin(unsigned number)
{
    cpu_set_t all, one;
    unsigned seen = 0;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || (unsigned)CPU_COUNT(&all) < option.threads)
        return;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && seen++ == number) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
}

static void *run(void *argument)
{
    struct thread *self = argument;
    pin(self->number);
    uint64_t rest = option.sample;
    bool is_measured = option.sample && (self->number == 0 || !kind->is_measured_in_first);
    pthread_barrier_wait(&begin);
    self->begun = __rdtsc();
    for (;;) {
        bool is_timed = is_measured && --rest == 0;
        if (is_timed)
            rest = option.sample;
        one(self, is_timed);
        self->operations++;
        if (self->operations == option.iterations)
            atomic_fetch_add(&finished, 1);
        if (self->operations >= option.iterations &&
            atomic_load_explicit(&finished, memory_order_relaxed) >= option.threads)
            break;
    }
    self->ended = __rdtsc();
    return NULL;
}

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Median and 99th percentile of all threads' samples, which it sorts. */
static void print_quantiles(double ns)
{
    size_t count = 0;
    uint64_t *all = malloc(sizeof *all * SAMPLES * option.threads);
    if (!all)
        fail("memory");
    for (unsigned i = 0; i < option.threads; i++) {
        size_t kept = thread[i].sampled < SAMPLES ? thread[i].sampled : SAMPLES;
        memcpy(all + count, thread[i].samples, kept * sizeof *all);
        count += kept;
    }
    qsort(all, count, sizeof *all, by_size);
    if (count)
        printf("median_ns=%.1f\np99_ns=%.1f\n", (double)all[count / 2] * ns,
               (double)all[count - 1 - count / 100] * ns);
    free(all);
}

static void print_results(double ns)
{
    uint64_t begun = UINT64_MAX, ended = 0;
    uint64_t operations = 0, sum = 0, sampled = 0, minimum = UINT64_MAX;
    for (unsigned i = 0; i < option.threads; i++) {
        operations += kind->is_measured_in_first && i ? 0 : thread[i].operations;
        begun = thread[i].begun < begun ? thread[i].begun : begun;
        ended = thread[i].ended > ended ? thread[i].ended : ended;
        sum += thread[i].sum;
        sampled += thread[i].sampled;
        minimum = thread[i].minimum < minimum ? thread[i].minimum : minimum;
    }
    printf("kind=%s\ndelay=%llu\noperations=%llu\n", kind->name, (unsigned long long)option.delay,
           (unsigned long long)operations);
    if (sampled)
        printf("mean_ns=%.1f\nmin_ns=%.1f\n", (double)sum / (double)sampled * ns,
               (double)minimum * ns);
    print_quantiles(ns);
    double total = (double)(ended - begun) * ns * 1e-9;
    unsigned measured = kind->is_measured_in_first ? 1 : option.threads;
    printf("per_operation_ns=%.1f\ntotal_s=%.6f\n", total * 1e9 * measured / (double)operations,
           total);
}

/* One option=value, or an end with a sentence. */
static void read_option(const char *word)
{
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"delay=", &option.delay},     {"iterations=", &option.iterations},
                   {"sample=", &option.sample},   {"hold=", &option.hold},
                   {"updates=", &option.updates}, {"block=", &option.block}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char *end;
        if (strncmp(word, numbers[i].name, strlen(numbers[i].name)))
            continue;
        *numbers[i].number = strtoull(word + strlen(numbers[i].name), &end, 10);
        if (*end == '\0' && end[-1] != '=')
            return;
    }
    if (!strncmp(word, "threads=", 8) && atoi(word + 8) >= 1 && atoi(word + 8) <= THREADS_MAX) {
        option.threads = (unsigned)atoi(word + 8);
    } else if (!strncmp(word, "directory=", 10)) {
        option.directory = word + 10;
    } else {
        fprintf(stderr, "micro: what is %s?\n", word);
        exit(2);
    }
}

static void read_arguments(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(argv[1], kinds[i].name))
            kind = &kinds[i];
    if (!kind) {
        fprintf(
            stderr,
            "micro: posix, spin, pspin, sharing, padded, io, private, search, count or state?\n");
        exit(2);
    }
    for (int i = 2; i < argc; i++)
        read_option(argv[i]);
    if (kind->is_measured_in_first)
        option.threads = 2;
    if (option.iterations == 0 || option.block == 0 || option.block > FILE_BYTES) {
        fprintf(stderr, "micro: at least one iteration, and blocks of 1 to %d bytes\n", FILE_BYTES);
        exit(2);
    }
}

static void prepare(struct thread *self, unsigned number)
{
    self->number = number;
    self->minimum = UINT64_MAX;
    self->random = 88172645463325252ull + number;
    self->samples = calloc(SAMPLES, sizeof *self->samples);
    pthread_mutex_init(&self->mutex, NULL);
    if (!self->samples)
        fail("memory");
    if (kind->prepare)
        kind->prepare(self);
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&begin, NULL, option.threads);
    double start = seconds();
    uint64_t start_ticks = __rdtsc();
    for (unsigned i = 0; i < option.threads; i++) {
        prepare(&thread[i], i);
        errno = pthread_create(&thread[i].thread, NULL, run, &thread[i]);
        if (errno)
            fail("pthread_create");
    }
    for (unsigned i = 0; i < option.threads; i++)
        pthread_join(thread[i].thread, NULL);
    print_results((seconds() - start) * 1e9 / (double)(__rdtsc() - start_ticks));
    return 0;
}
