// SPDX-License-Identifier: MIT
/*
 * What shadow costs without Valgrind: replay TRACE [--rounds N] [--sample SHARE]
 *
 * Feeds the accesses of a trace (headroom waste --exact --trace FILE) into shadow as the engine's helpers do, and prints
 *
 *     accesses  2,000,000   of these wide  1,000   kernel's  10   pairs  30,000
 *     ns        7.31        an access, the least of N rounds (default 5)
 *     digest    0123456789abcdef
 *
 * The digest is of all pairs, sorted, with their counts: two layouts of the state count the same if their digests are equal, whatever
 * the order in which they find pairs. With --sample of those at a share of the locations. The trace is read beforehand into
 * records of 32 bytes that are walked in order, which costs as much for any layout: two layouts are to be compared on one trace. Addresses
 * and values are those of the trace, so that nothing differs from run to run but the time.
 *
 *   gcc -O2 -D_GNU_SOURCE -Isrc/common -Isrc/target -Isrc/engine bench/replay/replay.c src/engine/shadow/(all).c src/target/detect/(all).c src/common/base/(all).c src/common/wire/(all).c -o replay
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "shadow/fast.h"
#include "wire/trace.h"

enum { ADDRESS_BITS = 37, IDS_MAX = 1 << 24, PAGE = 4096, TICKS = 1024 };

enum what { LOAD, STORE, KERNEL_LOAD, KERNEL_STORE, FORGET, DEFINE };

/* Wide values lie in `bytes`: the index of the value is in `value`, that of the memory before in `before`. */
struct step {
    uint64_t address, value, before;
    uint32_t id;
    uint16_t bytes;
    uint8_t what, element;
};
_Static_assert(sizeof(struct step) == 32, "two in a cache line");

static struct step *steps;
static size_t steps_count, steps_capacity;
static uint8_t *values;
static size_t values_count, values_capacity;
static uint8_t *image; /* the program's memory, as far as the trace knows it */

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "replay: %s\n", what);
    exit(2);
}

static void *reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        give_up("there is no address space");
    return memory;
}

static void clear(uint8_t *start, uint64_t bytes)
{
    uintptr_t from = ((uintptr_t)start + PAGE - 1) & -(uintptr_t)PAGE;
    uintptr_t to = ((uintptr_t)start + bytes) & -(uintptr_t)PAGE;
    if (from >= to) {
        memset(start, 0, bytes);
        return;
    }
    memset(start, 0, from - (uintptr_t)start);
    memset((void *)to, 0, (uintptr_t)start + bytes - to);
    madvise((void *)from, to - from, MADV_DONTNEED);
}

/* ---- the trace ------------------------------------------------------------------------------ */

static int64_t read_file(void *file, void *bytes, size_t count)
{
    size_t got = fread(bytes, 1, count, file);
    return ferror((FILE *)file) ? -1 : (int64_t)got;
}

static struct step *add_step(void)
{
    if (steps_count == steps_capacity) {
        steps_capacity = steps_capacity ? 2 * steps_capacity : 1 << 20;
        steps = realloc(steps, steps_capacity * sizeof *steps);
        if (!steps)
            give_up("there is no memory for the trace");
    }
    return &steps[steps_count++];
}

/* Eight bytes more, which helpers may read. */
static uint64_t keep(const uint8_t *bytes, uint64_t count)
{
    while (values_count + count + 8 > values_capacity) {
        values_capacity = values_capacity ? 2 * values_capacity : 1 << 20;
        values = realloc(values, values_capacity);
        if (!values)
            give_up("there is no memory for the trace");
    }
    memcpy(values + values_count, bytes, count);
    values_count += count;
    return values_count - count;
}

static bool is_narrow(const struct step *step)
{
    return step->what <= STORE && step->bytes <= 8 && (step->bytes & (step->bytes - 1)) == 0;
}

static void take_access(const struct wire_trace_event *event, enum what what)
{
    /* The kernel's may be longer than a step holds: parts, the same for any layout. */
    for (uint64_t at = 0, bytes; at < event->bytes; at += bytes) {
        struct step *step = add_step();
        bytes = event->bytes - at < 1 << 15 ? event->bytes - at : 1 << 15;
        uint8_t *here = &image[event->address + at];
        *step = (struct step){.address = event->address + at,
                              .id = event->id,
                              .bytes = (uint16_t)bytes,
                              .what = (uint8_t)what};
        const uint8_t *value = event->value ? event->value + at : here;
        if (is_narrow(step)) {
            memcpy(&step->before, here, bytes);
            memcpy(&step->value, value, bytes);
        } else {
            step->before = keep(here, bytes);
            step->value = keep(value, bytes);
        }
        memmove(here, value, bytes);
    }
}

static void take(const struct wire_trace_event *event)
{
    switch (event->type) {
    case WIRE_TRACE_LOAD: take_access(event, LOAD); break;
    case WIRE_TRACE_STORE: take_access(event, STORE); break;
    case WIRE_TRACE_KERNEL_LOAD: take_access(event, KERNEL_LOAD); break;
    case WIRE_TRACE_KERNEL_STORE: take_access(event, KERNEL_STORE); break;
    case WIRE_TRACE_FORGET:
        *add_step() =
            (struct step){.address = event->address, .value = event->bytes, .what = FORGET};
        clear(&image[event->address], event->bytes);
        break;
    case WIRE_TRACE_ACCESS:
        *add_step() = (struct step){.id = event->id, .element = event->element, .what = DEFINE};
        break;
    default: break;
    }
}

static void read_trace(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct wire_trace_reader *reader = malloc(wire_trace_reader_bytes());
    struct wire_trace_event event;
    enum base_status status;
    if (!file || !reader)
        give_up("the trace cannot be opened");
    status = wire_trace_open(reader, reserve(wire_trace_predictor_bytes(IDS_MAX)), IDS_MAX,
                             read_file, file);
    image = reserve(UINT64_C(1) << ADDRESS_BITS);
    while (status == BASE_OK && (status = wire_trace_next(reader, &event)) == BASE_OK)
        take(&event);
    if (status != BASE_NOT_FOUND)
        give_up(base_status_text(status));
    free(reader);
    fclose(file);
}

/* ---- shadow --------------------------------------------------------------------------------- */

static struct shadow shadow;

static void *shadow_map(void *context, size_t bytes, bool touched_as_needed)
{
    (void)context, (void)touched_as_needed;
    return reserve(bytes);
}

static void shadow_unmap(void *context, void *memory, size_t bytes)
{
    (void)context;
    munmap(memory, bytes);
}

static void shadow_clear(void *context, void *start, size_t bytes)
{
    (void)context;
    clear(start, bytes);
}

/* As exact/access.c has them: calls. */
#define HELPER static __attribute__((noinline)) void
#define HELPERS(n)                                                                                 \
    HELPER load_##n(uint64_t address, uint32_t id, uint64_t value)                                 \
    {                                                                                              \
        shadow_load_fast(&shadow, address, id, n, value);                                          \
    }                                                                                              \
    HELPER store_##n(uint64_t address, uint32_t id, uint64_t before, uint64_t value)               \
    {                                                                                              \
        shadow_store_fast(&shadow, address, id, n, before, value);                                 \
    }                                                                                              \
    HELPER narrow_##n(const struct step *step, bool sampled)                                       \
    {                                                                                              \
        if (sampled && step->what == LOAD)                                                         \
            shadow_load_sampled_##n(&shadow, step->address, step->id, step->value);                \
        else if (sampled)                                                                          \
            shadow_store_sampled_##n(&shadow, step->address, step->id, step->before, step->value); \
        else if (step->what == LOAD)                                                               \
            load_##n(step->address, step->id, step->value);                                        \
        else                                                                                       \
            store_##n(step->address, step->id, step->before, step->value);                         \
    }
HELPERS(1)
HELPERS(2)
HELPERS(4)
HELPERS(8)

static void narrow(const struct step *step, bool sampled)
{
    switch (step->bytes) {
    case 1: narrow_1(step, sampled); break;
    case 2: narrow_2(step, sampled); break;
    case 4: narrow_4(step, sampled); break;
    default: narrow_8(step, sampled); break;
    }
}

static void wide(const struct step *step)
{
    const uint8_t *before = values + step->before, *value = values + step->value;
    switch (step->what) {
    case LOAD: shadow_load(&shadow, step->address, step->id, step->bytes, value); break;
    case STORE: shadow_store(&shadow, step->address, step->id, step->bytes, before, value); break;
    case KERNEL_LOAD:
        shadow_kernel_load(&shadow, step->address, step->id, step->bytes, value);
        break;
    case KERNEL_STORE:
        shadow_kernel_store(&shadow, step->address, step->id, step->bytes, before, value);
        break;
    case FORGET: shadow_forget(&shadow, step->address, step->value); break;
    default: shadow_define(&shadow, step->id, step->element); break;
    }
}

static bool is_left_out(const struct step *step)
{
    for (uint64_t at = step->address & ~UINT64_C(15); at < step->address + step->bytes; at += 16)
        if (!shadow_is_left_out(&shadow, at))
            return false;
    return true;
}

/* Epochs by accesses: the trace does not know of calls and loops. */
static void feed(bool sampled)
{
    uint32_t ticks = TICKS;
    for (const struct step *step = steps, *end = steps + steps_count; step < end; step++) {
        if (sampled && step->what <= STORE && --ticks == 0) {
            shadow_next_epoch(&shadow);
            ticks = TICKS;
        }
        if (sampled && step->what <= STORE && is_left_out(step))
            continue;
        if (is_narrow(step))
            narrow(step, sampled);
        else
            wide(step);
    }
}

/* ---- results -------------------------------------------------------------------------------- */

static int compare_pairs(const void *left, const void *right)
{
    const struct shadow_pair *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

static uint64_t digest_of(uint64_t *count)
{
    struct shadow_pair *pairs = calloc(shadow.pairs_count + 1, sizeof *pairs);
    *count = 0;
    if (!pairs)
        give_up("there is no memory for the pairs");
    for (uint64_t i = 0; i < shadow.pairs_capacity; i++)
        if (shadow.pairs[i].second)
            pairs[(*count)++] = shadow.pairs[i];
    qsort(pairs, *count, sizeof *pairs, compare_pairs);
    uint64_t digest = base_hash_bytes(pairs, *count * sizeof *pairs, 0);
    free(pairs);
    return digest;
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* Nanoseconds. */
static double round_of(double share, uint64_t *digest, uint64_t *pairs)
{
    static const struct shadow_memory memory = {shadow_map, shadow_unmap, shadow_clear, NULL};
    if (shadow_init(&shadow, UINT64_C(1) << ADDRESS_BITS, IDS_MAX, 0.01F, &memory) != BASE_OK ||
        (share < 1 && shadow_sample(&shadow, &share, 0) != BASE_OK))
        give_up("there is no address space");
    double before = now_ns();
    feed(share < 1);
    double took = now_ns() - before;
    shadow_flush(&shadow);
    *digest = digest_of(pairs);
    shadow_free(&shadow);
    return took;
}

int main(int argc, char **argv)
{
    uint64_t accesses = 0, wide_ones = 0, kernels = 0, digest = 0, pairs = 0, other;
    double share = 1, least = 0;
    int rounds = 5;
    if (argc < 2)
        give_up("replay TRACE [--rounds N] [--sample SHARE]");
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--sample") == 0)
            share = strtod(argv[i + 1], NULL);
    }
    read_trace(argv[1]);
    for (size_t i = 0; i < steps_count; i++) {
        accesses += steps[i].what <= STORE;
        wide_ones += steps[i].what <= STORE && !is_narrow(&steps[i]);
        kernels += steps[i].what == KERNEL_LOAD || steps[i].what == KERNEL_STORE;
    }
    for (int i = 0; i < rounds; i++) {
        double took = round_of(share, &other, &pairs);
        least = i == 0 || took < least ? took : least;
        if (i && other != digest)
            give_up("two rounds differ");
        digest = other;
    }
    printf("accesses  %" PRIu64 "   of these wide  %" PRIu64 "   kernel's  %" PRIu64
           "   pairs  %" PRIu64 "\n",
           accesses, wide_ones, kernels, pairs);
    printf("ns        %.2f\ndigest    %016" PRIx64 "\n", least / (double)accesses, digest);
    return fflush(stdout) ? 2 : 0;
}
