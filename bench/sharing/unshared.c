// SPDX-License-Identifier: MIT
/*
 * Programs with threads that share nothing that matters: unshared CASE [SECONDS]. Each of THREADS threads works until it has used
 * SECONDS of CPU time (default 1). `headroom sharing` must find nothing in any of them; bench/sharing/known counts.
 *
 *   counters      counters of their own, 64 bytes apart
 *   wide          the same, 128 bytes apart
 *   atomics       locked increments, 64 bytes apart
 *   locks         a lock each and what it protects, 64 bytes apart
 *   local         variables that each thread has of its own
 *   stacks        arrays on their stacks
 *   heaps         lists of small blocks, allocated and freed by the thread that uses them
 *   arenas        small blocks cut from a mapping of each thread's own
 *   mappings      memory mapped, written, unmapped: addresses are used again, also by other threads
 *   table         all read one table
 *   cache         all look up in one table, and keep what they found in tables of their own
 *   product       rows of a product of matrices: both factors are read by all
 *   slices        parts of one array, whose ends are not those of lines
 *   passes        parts of one array, after each barrier another thread's part
 *   turns         all write one array, one after the other, barriers in between
 *   handed        a block is handed from thread to thread with a lock and a condition, after milliseconds of work
 *   queues        queues with places of their own
 *   joined        one thread after the other in the same memory, each joined before the next begins
 *   pool          threads that live for some milliseconds: stacks and blocks are used again
 *   written       the main thread writes all memory before the threads that read it begin
 *   strings       text made in buffers of their own
 *   streams       a stream each
 *   copies        vectors copied between buffers of their own
 *   sorts         parts of an array, sorted with qsort
 *   rare          a common counter, changed every ten thousand steps
 */
#include "../../tests/programs/known.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { THREADS = 4, TURNS = 20000, TABLE = 1 << 14, SIZE = 96, PART = 12345 };

static double seconds = 1;
static pthread_barrier_t start, barrier;

static bool again(void)
{
    return known_running(seconds);
}

static void run(void *(*work)(void *))
{
    pthread_t made[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&made[i], NULL, work, (void *)i);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(made[i], NULL);
}

static void begin(void)
{
    pthread_barrier_wait(&start);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void fill(volatile uint64_t *words, size_t count, uint64_t value)
{
    for (size_t i = 0; i < count; i++)
        words[i] = value + i;
}

static uint64_t sum(const volatile uint64_t *words, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += words[i];
    return all;
}

/* ---- a place each ------------------------------------------------------------------------------- */

static struct {
    volatile uint64_t hits, misses;
} __attribute__((aligned(64))) narrow[THREADS];

static void *counters(void *number)
{
    begin();
    while (again())
        for (unsigned i = 0; i < TURNS; i++) {
            narrow[(uintptr_t)number].hits++;
            narrow[(uintptr_t)number].misses += i & 1;
        }
    return NULL;
}

static struct {
    volatile uint64_t hits;
} __attribute__((aligned(128))) broad[THREADS];

static void *wide(void *number)
{
    begin();
    while (again())
        for (unsigned i = 0; i < TURNS; i++)
            broad[(uintptr_t)number].hits++;
    return NULL;
}

static struct {
    _Atomic uint64_t count;
} __attribute__((aligned(64))) atomic[THREADS];

static void *atomics(void *number)
{
    begin();
    while (again())
        for (unsigned i = 0; i < TURNS; i++)
            atomic_fetch_add(&atomic[(uintptr_t)number].count, i);
    return NULL;
}

static struct {
    pthread_mutex_t lock;
    volatile uint64_t protected;
} __attribute__((aligned(64))) guarded[THREADS];

static void *locks(void *number)
{
    begin();
    while (again())
        for (unsigned i = 0; i < TURNS / 10; i++) {
            pthread_mutex_lock(&guarded[(uintptr_t)number].lock);
            guarded[(uintptr_t)number].protected ++;
            pthread_mutex_unlock(&guarded[(uintptr_t)number].lock);
        }
    return NULL;
}

static _Thread_local volatile uint64_t own_count, own_table[512];

static void *local(void *number)
{
    begin();
    while (again())
        for (unsigned i = 0; i < TURNS; i++) {
            own_count++;
            own_table[i % 512] = (uintptr_t)number + i;
        }
    return NULL;
}

static void *stacks(void *number)
{
    volatile uint64_t array[1024];
    begin();
    while (again()) {
        fill(array, 1024, (uintptr_t)number);
        (void)sum(array, 1024);
    }
    return NULL;
}

/* ---- memory of their own --------------------------------------------------------------------------- */

struct item {
    struct item *next;
    volatile uint64_t value[3];
};

static void *heaps(void *number)
{
    begin();
    while (again()) {
        struct item *list = NULL;
        for (uint64_t i = 0; i < 500; i++) {
            struct item *item = malloc(sizeof *item);
            item->next = list;
            item->value[i % 3] = i + (uintptr_t)number;
            list = item;
        }
        for (struct item *next; list; list = next) {
            next = list->next;
            free(list);
        }
    }
    return NULL;
}

static void *arenas(void *number)
{
    enum { BYTES = 1 << 18 };
    char *arena = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begin();
    while (again())
        for (size_t at = 0; at + 48 <= BYTES; at += 48)
            fill((volatile uint64_t *)(arena + at), 5, (uintptr_t)number);
    munmap(arena, BYTES);
    return NULL;
}

static void *mappings(void *number)
{
    enum { BYTES = 1 << 16 };
    begin();
    while (again()) {
        volatile uint64_t *words =
            mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (unsigned i = 0; i < 8; i++)
            fill(words, BYTES / 8, (uintptr_t)number + i);
        munmap((void *)(uintptr_t)words, BYTES);
    }
    return NULL;
}

/* ---- reading is no sharing ------------------------------------------------------------------------ */

static uint64_t common[TABLE];

static void *table(void *number)
{
    begin();
    while (again())
        (void)sum(common, TABLE);
    return number;
}

static void *cache(void *number)
{
    static uint64_t found[THREADS][TABLE / 4] __attribute__((aligned(64)));
    volatile uint64_t *mine = found[(uintptr_t)number];
    uint64_t state = 88172645463325252ULL + (uintptr_t)number;
    begin();
    while (again())
        for (unsigned i = 0; i < TURNS; i++) {
            uint64_t key = next_random(&state) % TABLE;
            mine[key / 4] = common[key];
        }
    return NULL;
}

static void *product(void *number)
{
    static double left[SIZE][SIZE], right[SIZE][SIZE];
    static double made[SIZE][SIZE] __attribute__((aligned(64)));
    size_t from = (uintptr_t)number * SIZE / THREADS, to = from + SIZE / THREADS;
    begin();
    while (again())
        for (size_t i = from; i < to; i++)
            for (size_t j = 0; j < SIZE; j++) {
                double all = 0;
                for (size_t k = 0; k < SIZE; k++)
                    all += left[i][k] * right[k][j];
                *(volatile double *)&made[i][j] = all;
            }
    return NULL;
}

static uint64_t array[THREADS * PART];

static void *slices(void *number)
{
    begin();
    while (again())
        fill(array + (uintptr_t)number * PART, PART, (uintptr_t)number);
    return NULL;
}

/* ---- one after the other -------------------------------------------------------------------------- */

static unsigned rounds(void)
{
    return (unsigned)(seconds * 200); /* of some milliseconds */
}

static void *passes(void *number)
{
    begin();
    for (unsigned round = 0; round < rounds(); round++) {
        size_t part = ((uintptr_t)number + round) % THREADS;
        for (unsigned i = 0; i < 500; i++)
            fill(array + part * PART, PART / 2, round);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void *turns(void *number)
{
    static struct {
        volatile uint64_t words[1024];
    } __attribute__((aligned(64))) own[THREADS];
    begin();
    for (unsigned round = 0; round < rounds(); round++) {
        bool mine = round % THREADS == (uintptr_t)number;
        for (unsigned i = 0; i < 3000; i++)
            fill(mine ? (volatile uint64_t *)array : own[(uintptr_t)number].words, 1024, round);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned whose;
    bool done;
} baton = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};

static void *handed(void *number)
{
    unsigned me = (unsigned)(uintptr_t)number;
    begin();
    while (again()) {
        pthread_mutex_lock(&baton.lock);
        while (baton.whose != me && !baton.done)
            pthread_cond_wait(&baton.changed, &baton.lock);
        pthread_mutex_unlock(&baton.lock);
        for (unsigned i = 0; i < 4000; i++)
            fill(array, 1024, i);
        pthread_mutex_lock(&baton.lock);
        baton.whose = (me + 1) % THREADS;
        baton.done |= !again();
        pthread_cond_broadcast(&baton.changed);
        bool done = baton.done;
        pthread_mutex_unlock(&baton.lock);
        if (done)
            break;
    }
    return NULL;
}

static void *queues(void *number)
{
    static struct {
        volatile uint64_t head, tail, places[254];
    } __attribute__((aligned(64))) queue[THREADS];
    begin();
    while (again())
        for (unsigned i = 0; i < TURNS; i++) {
            uint64_t at = queue[(uintptr_t)number].head++;
            queue[(uintptr_t)number].places[at % 254] = i;
            if (at % 4 == 3)
                while (queue[(uintptr_t)number].tail <= at)
                    (void)queue[(uintptr_t)number].places[queue[(uintptr_t)number].tail++ % 254];
        }
    return NULL;
}

static void *alone(void *block)
{
    while (again())
        fill(block, 1024, 1);
    return NULL;
}

static void joined(void)
{
    void *block = malloc(1024 * sizeof(uint64_t));
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_t made;
        pthread_create(&made, NULL, alone, block);
        pthread_join(made, NULL);
    }
    free(block);
}

static void *shortly(void *number)
{
    volatile uint64_t on_stack[256], *block = malloc(sizeof on_stack);
    for (unsigned i = 0; i < 20000; i++) {
        fill(on_stack, 256, (uintptr_t)number);
        fill(block, 256, i);
    }
    free((void *)(uintptr_t)block);
    return NULL;
}

static void pool(void)
{
    for (unsigned i = 0; i < 100 * seconds; i++)
        run(shortly);
}

static void written(void)
{
    fill(common, TABLE, 1);
    run(table);
}

/* ---- what libraries do ------------------------------------------------------------------------------ */

static void *strings(void *number)
{
    char text[256];
    begin();
    while (again())
        for (int i = 0; i < 200; i++)
            snprintf(text, sizeof text, "%d of %d: %g", i, (int)(uintptr_t)number, i * 0.5);
    return NULL;
}

static void *streams(void *number)
{
    FILE *file = fopen("/dev/null", "w");
    begin();
    while (file && again())
        for (int i = 0; i < 500; i++)
            fprintf(file, "%d %d\n", (int)(uintptr_t)number, i);
    if (file)
        fclose(file);
    return NULL;
}

static void *copies(void *number)
{
    enum { BYTES = 32000 };
    char *from = malloc(BYTES), *to = malloc(BYTES);
    memset(from, (int)(uintptr_t)number, BYTES);
    begin();
    while (again())
        for (unsigned i = 0; i < 100; i++) {
            memcpy(to, from, BYTES);
            from[i] = to[i + 1];
        }
    free(from);
    free(to);
    return NULL;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void *sorts(void *number)
{
    uint64_t state = 88172645463325252ULL + (uintptr_t)number,
             *part = array + (uintptr_t)number * PART;
    begin();
    while (again()) {
        for (unsigned i = 0; i < PART; i++)
            part[i] = next_random(&state);
        qsort(part, PART, sizeof *part, compare);
    }
    return NULL;
}

static void *rare(void *number)
{
    static _Atomic uint64_t steps;
    volatile uint64_t own[64];
    begin();
    while (again())
        for (unsigned i = 0; i < 100; i++) {
            fill(own, 64, (uintptr_t)number);
            if (i % 100 == 99)
                atomic_fetch_add(&steps, 1);
        }
    return NULL;
}

static const struct {
    const char *name;
    void *(*work)(void *);
    void (*itself)(void);
} cases[] = {
    {"counters", counters, NULL}, {"wide", wide, NULL},       {"atomics", atomics, NULL},
    {"locks", locks, NULL},       {"local", local, NULL},     {"stacks", stacks, NULL},
    {"heaps", heaps, NULL},       {"arenas", arenas, NULL},   {"mappings", mappings, NULL},
    {"table", table, NULL},       {"cache", cache, NULL},     {"product", product, NULL},
    {"slices", slices, NULL},     {"passes", passes, NULL},   {"turns", turns, NULL},
    {"handed", handed, NULL},     {"queues", queues, NULL},   {"joined", NULL, joined},
    {"pool", NULL, pool},         {"written", NULL, written}, {"strings", strings, NULL},
    {"streams", streams, NULL},   {"copies", copies, NULL},   {"sorts", sorts, NULL},
    {"rare", rare, NULL},
};

int main(int count, char **arguments)
{
    seconds = count > 2 ? strtod(arguments[2], NULL) : 1;
    pthread_barrier_init(&start, NULL, THREADS);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_mutex_init(&guarded[i].lock, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (count < 2)
            puts(cases[i].name);
        else if (strcmp(cases[i].name, arguments[1]) != 0)
            continue;
        else if (cases[i].work)
            run(cases[i].work);
        else
            cases[i].itself();
        if (count >= 2)
            return 0;
    }
    return count < 2 ? 0 : 2;
}
