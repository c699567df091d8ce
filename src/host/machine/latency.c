// SPDX-License-Identifier: MIT
/*
 * Measuring. A try is discarded if the thread was taken off its CPU meanwhile, as long as there is time; of the rest the
 * median counts, since another machine's guest may disturb what the kernel here does not see.
 */
#include "machine/latency.h"

#include "machine/internal.h"
#include "os/os.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_BYTES = 64,
    TRIES = 7,
    LOADS_A_TRY = 8192,  /* under a millisecond out of memory */
    LINES_A_TRY = 65536, /* 4 MiB in order */
    LIMIT_NS = 40000000, /* of all tries of one set */
    BOUNCES = 500,
    BOUNCE_LIMIT_NS = 20000000,
};
static const uint64_t least_memory = UINT64_C(64) << 20, most_memory = UINT64_C(256) << 20;

const char *const machine_transfer_texts[MACHINE_TRANSFERS] = {
    NULL, "headroom may use one CPU only", "two threads did not get to run at the same time"};

/* One a line. */
struct node {
    struct node *next;
    char rest[LINE_BYTES - sizeof(struct node *)];
};

struct set {
    struct node *nodes, *at;
    size_t count, line; /* line: to be read next in order */
};

static long interruptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static int compare_ns(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, compare_ns);
    return values[count / 2];
}

/* ---- loads ----------------------------------------------------------------------------------- */

/* Each waits for the one before. */
static void chase(struct set *set)
{
    struct node *at = set->at;
    for (unsigned i = 0; i < LOADS_A_TRY; i++)
        at = at->next;
    __asm__ volatile("" : "+r"(at));
    set->at = at;
}

static void stream(struct set *set)
{
    uintptr_t sum = 0;
    for (unsigned i = 0; i < LINES_A_TRY; i++, set->line = (set->line + 1) & (set->count - 1))
        sum += (uintptr_t)set->nodes[set->line].next;
    __asm__ volatile("" : "+r"(sum));
}

/* Of one try, whole. */
static double median_ns(struct set *set, void (*load)(struct set *))
{
    double tries[TRIES];
    unsigned count = 0;
    uint64_t begin = os_now_ns(CLOCK_MONOTONIC);
    load(set); /* what has to come near does */
    while (count < TRIES) {
        long before = interruptions();
        uint64_t from = os_now_ns(CLOCK_MONOTONIC);
        load(set);
        uint64_t until = os_now_ns(CLOCK_MONOTONIC);
        bool late = until - begin > LIMIT_NS;
        if (interruptions() == before || late)
            tries[count++] = (double)(until - from);
        if (late)
            break;
    }
    return median(tries, count);
}

/*
 * A cycle through all nodes that needs no list of those that are left, and is written in order: node i is followed by
 * a i + c modulo their number, a power of two (Hull and Dobell 1962: a - 1 divisible by 4, c odd), which is another
 * distance at each.
 */
static void link_nodes(struct set *set)
{
    static const uint64_t factor = UINT64_C(6364136223846793005),
                          step = UINT64_C(1442695040888963407);
    for (size_t i = 0; i < set->count; i++)
        set->nodes[i].next = &set->nodes[(i * factor + step) & (set->count - 1)];
    set->at = set->nodes;
}

/* False: no memory. */
static bool measure_set(uint64_t bytes, struct machine_latency *latency)
{
    enum { HUGE_BYTES = 2 << 20 };
    size_t mapped = bytes + HUGE_BYTES;
    char *room = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return false;
    madvise(room, mapped, MADV_HUGEPAGE);
    uintptr_t start = ((uintptr_t)room + HUGE_BYTES - 1) & -(uintptr_t)HUGE_BYTES;
    struct set set = {.nodes = (struct node *)start, .count = bytes / sizeof(struct node)};
    link_nodes(&set);
    latency->bytes = bytes;
    latency->chase_ns = median_ns(&set, chase) / LOADS_A_TRY;
    latency->stream_ns = median_ns(&set, stream) / LINES_A_TRY;
    munmap(room, mapped);
    return true;
}

static uint64_t power_below(uint64_t bytes)
{
    return UINT64_C(1) << (63 - __builtin_clzll(bytes));
}

/* Half of the first level, so that it stays there; of what is shared a quarter. */
static uint64_t bytes_of(const struct machine_cache *cache)
{
    uint64_t part = power_below(cache->level > 2 ? cache->bytes / 4 : cache->bytes / 2);
    return part < most_memory ? part : most_memory;
}

static uint64_t memory_bytes(uint64_t last)
{
    uint64_t wanted = power_below(last) * 4;
    wanted = wanted < least_memory ? least_memory : wanted;
    return wanted < most_memory ? wanted : most_memory;
}

/* Of the control group; UINT64_MAX: none, or it is not known. */
static uint64_t memory_limit(void)
{
    char line[512], path[600] = "";
    unsigned long long limit = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "0::", 3) == 0)
            snprintf(path, sizeof path, "/sys/fs/cgroup%.*s/memory.max",
                     (int)strcspn(line + 3, "\n"), line + 3);
    if (file)
        fclose(file);
    file = path[0] ? fopen(path, "re") : NULL;
    if (file && fscanf(file, "%llu", &limit) != 1)
        limit = UINT64_MAX;
    if (file)
        fclose(file);
    return limit;
}

/* Plenty: whoever runs short of memory is not to be killed for a figure. */
static bool has_memory(uint64_t bytes)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 && (uint64_t)pages * (uint64_t)page / 4 > bytes &&
           memory_limit() / 8 > bytes;
}

/* False: no memory. */
static bool measure_levels(struct machine_latencies *latencies)
{
    struct machine_cache caches[MACHINE_LATENCIES_MOST - 1];
    size_t count = machine_caches("", caches, BASE_COUNT(caches));
    for (size_t i = 0; i < count; i++) {
        struct machine_latency *latency = &latencies->items[latencies->count++];
        latency->level = caches[i].level;
        if (caches[i].bytes < 4 * sizeof(struct node) ||
            !measure_set(bytes_of(&caches[i]), latency))
            return false;
    }
    uint64_t bytes = count ? memory_bytes(caches[count - 1].bytes) : 0;
    if (count == 0 || !has_memory(bytes))
        return true;
    return measure_set(bytes, &latencies->items[latencies->count++]);
}

/* ---- a line between two cores ---------------------------------------------------------------- */

/* Each waits until the number is its own to count on. */
struct court {
    _Alignas(128) _Atomic uint32_t number;
    _Alignas(128) _Atomic uint32_t ready;
    _Atomic bool late;
    int cpus[2];
};

struct player {
    struct court *court;
    uint32_t side;
    double ns; /* of a transfer; 0: it was too late */
};

static bool wait_for(struct court *court, _Atomic uint32_t *number, uint32_t wanted, uint64_t limit)
{
    enum { LOOKS = 256 }; /* between two at the clock */
    for (unsigned looks = 0; atomic_load_explicit(number, memory_order_acquire) != wanted;
         looks++) {
        if (atomic_load_explicit(&court->late, memory_order_relaxed))
            return false;
        if (looks % LOOKS == LOOKS - 1 && os_now_ns(CLOCK_MONOTONIC) > limit)
            atomic_store(&court->late, true);
    }
    return true;
}

static void *play(void *context)
{
    struct player *player = context;
    struct court *court = player->court;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(court->cpus[player->side], &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
        atomic_store(&court->late, true);
    uint64_t limit = os_now_ns(CLOCK_MONOTONIC) + BOUNCE_LIMIT_NS;
    atomic_fetch_add(&court->ready, 1);
    bool good = wait_for(court, &court->ready, 2, limit);
    uint64_t from = os_now_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < BOUNCES && good; i++) {
        good = wait_for(court, &court->number, 2 * i + player->side, limit);
        atomic_store_explicit(&court->number, 2 * i + player->side + 1, memory_order_release);
    }
    player->ns = good ? (double)(os_now_ns(CLOCK_MONOTONIC) - from) / (2 * BOUNCES) : 0;
    return NULL;
}

static double bounce(const int cpus[2])
{
    struct court court = {.cpus = {cpus[0], cpus[1]}};
    struct player players[2] = {{&court, 0, 0}, {&court, 1, 0}};
    pthread_t other, one;
    if (pthread_create(&other, NULL, play, &players[1]) != 0)
        return 0;
    if (pthread_create(&one, NULL, play, &players[0]) != 0)
        atomic_store(&court.late, true);
    else
        pthread_join(one, NULL);
    pthread_join(other, NULL);
    return players[0].ns > 0 && players[1].ns > 0 ? players[0].ns : 0;
}

static int core_of(int cpu)
{
    char path[96];
    int core = cpu;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/core_id", cpu);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%d", &core) != 1)
        core = cpu;
    if (file)
        fclose(file);
    return core;
}

/* Two CPUs that headroom may use, of different cores if there are such: the last that is no sibling of the first. */
static bool choose_cpus(int cpus[2])
{
    cpu_set_t allowed;
    int found = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        if (found == 0 || found == 1 || core_of(cpu) != core_of(cpus[0]))
            cpus[found ? 1 : 0] = cpu;
        found++;
    }
    return found > 1;
}

void machine_latencies_bounce(struct machine_latencies *latencies)
{
    double tries[TRIES], ns;
    unsigned count = 0;
    int cpus[2];
    latencies->transfer = MACHINE_TRANSFER_ONE_CPU;
    if (!choose_cpus(cpus))
        return;
    uint64_t begin = os_now_ns(CLOCK_MONOTONIC);
    while (count < TRIES && os_now_ns(CLOCK_MONOTONIC) - begin < 2 * BOUNCE_LIMIT_NS)
        if ((ns = bounce(cpus)) > 0)
            tries[count++] = ns;
    latencies->transfer = count ? MACHINE_TRANSFER_MEASURED : MACHINE_TRANSFER_BUSY;
    latencies->transfer_ns = count ? median(tries, count) : 0;
}

enum base_status machine_latencies_measure(struct machine_latencies *latencies)
{
    struct machine_latencies made = {0};
    if (!measure_levels(&made))
        return BASE_NO_MEMORY;
    /* What is farther away takes no less: a smaller figure is noise. */
    for (size_t i = 1; i < made.count; i++) {
        made.items[i].chase_ns = fmax(made.items[i].chase_ns, made.items[i - 1].chase_ns);
        made.items[i].stream_ns = fmax(made.items[i].stream_ns, made.items[i - 1].stream_ns);
    }
    made.transfer = MACHINE_TRANSFER_BUSY;
    *latencies = made;
    return BASE_OK;
}
