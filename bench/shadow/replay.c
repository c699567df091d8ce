// SPDX-License-Identifier: MIT
/*
 * What shadow costs without Valgrind: replay TRACE [--rounds N] [--sample SHARE] [--first N]
 *
 * Feeds the accesses of a trace (headroom waste --exact --trace FILE) into shadow as the engine's helpers do, and prints
 *
 *     accesses  2000000   of these wide  1000   kernel's  10   pairs  30000
 *     ns        7.31        an access, the least of N rounds (default 5)
 *     digest    0123456789abcdef
 *
 * The digest is of all pairs, sorted, with their counts: two layouts of the state count the same if their digests are equal, whatever
 * the order in which they find pairs. With --sample, the pairs are those of a sample of the locations; with --first the trace
 * is read that far only, in events, so that it may be that of a program that was ended. The trace is read beforehand
 * into records of 32 bytes that are read in order, at a cost that does not depend on the layout: compare layouts on one trace.
 * Addresses and values are those of the trace, so that only the time differs from run to run.
 */
#include "helpers.h"
#include "trace_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_MAX = 1 << 24, TICKS = 1024 };

enum what { LOAD, STORE, KERNEL_LOAD, KERNEL_STORE, FORGET, DEFINE };

/* Wide values are in `values`: `value` is the index of the value, `before` that of the memory before. */
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
static uint8_t elements[IDS_MAX];
static uint8_t *image; /* the program's memory, as far as the trace knows it */

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "replay: %s\n", what);
    exit(2);
}

/* ---- the trace ------------------------------------------------------------------------------ */

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
                              .element = elements[event->id],
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
        trace_clear(&image[event->address], event->bytes);
        break;
    case WIRE_TRACE_ACCESS:
        elements[event->id] = event->element;
        *add_step() = (struct step){.id = event->id, .element = event->element, .what = DEFINE};
        break;
    default: break;
    }
}

static void read_trace(const char *path, uint64_t most)
{
    struct wire_trace_reader *reader = trace_open(path, IDS_MAX);
    image = trace_reserve(UINT64_C(1) << TRACE_ADDRESS_BITS);
    for (struct wire_trace_event event; most && trace_next(reader, &event); most--)
        take(&event);
    free(reader);
}

/* ---- shadow --------------------------------------------------------------------------------- */

#define NARROW(n, of_float_load, of_float_store)                                                   \
    HELPER narrow_##n(const struct step *step, bool sampled)                                       \
    {                                                                                              \
        if (sampled && shadow_is_passed_over(&shadow, step->address, n, step->what == STORE))      \
            return;                                                                                \
        if (sampled && step->what == LOAD)                                                         \
            shadow_load_sampled_##n(&shadow, step->address, step->id, step->value);                \
        else if (sampled)                                                                          \
            shadow_store_sampled_##n(&shadow, step->address, step->id, step->before, step->value); \
        else if (step->what == LOAD && step->element == (SHADOW_FLOAT | n))                        \
            of_float_load(step->address, step->id, step->value);                                   \
        else if (step->what == LOAD)                                                               \
            load_##n(step->address, step->id, step->value);                                        \
        else if (step->element == (SHADOW_FLOAT | n))                                              \
            of_float_store(step->address, step->id, step->before, step->value);                    \
        else                                                                                       \
            store_##n(step->address, step->id, step->before, step->value);                         \
    }
NARROW(1, load_1, store_1)
NARROW(2, load_2, store_2)
NARROW(4, load_float_4, store_float_4)
NARROW(8, load_float_8, store_float_8)

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

/* Epochs by accesses: the trace does not know of calls and loops. */
static void feed(bool sampled)
{
    uint32_t ticks = TICKS;
    for (const struct step *step = steps, *end = steps + steps_count; step < end; step++) {
        if (sampled && step->what <= STORE && --ticks == 0) {
            shadow_next_epoch(&shadow);
            ticks = TICKS;
        }
        if (sampled && step->what <= STORE &&
            shadow_is_left_out(&shadow, step->address, step->bytes, step->what == STORE))
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

/* Bytes whose former access is not known, by access: whether they count as waste or use, and in which group, depends on what was left out before. */
static uint64_t fresh[IDS_MAX];

static uint64_t hash_fresh(void)
{
    uint64_t digest = 0;
    for (uint64_t id = 1; id < IDS_MAX; id++) {
        fresh[id] -= shadow.taken_off ? shadow.taken_off[id] : 0;
        digest = fresh[id] ? base_mix64(digest ^ base_mix64(fresh[id]) ^ id) : digest;
    }
    return digest;
}

/* What was taken off while draining may leave a pair with nothing. */
static uint64_t digest_of(uint64_t *count)
{
    struct shadow_pair *pairs = calloc(shadow.pairs_count + 1, sizeof *pairs);
    *count = 0;
    if (!pairs)
        give_up("there is no memory for the pairs");
    memset(fresh, 0, sizeof fresh);
    for (uint64_t i = 0; i < shadow.pairs_capacity; i++) {
        const struct shadow_pair *pair = &shadow.pairs[i];
        if (!shadow_first(pair))
            fresh[pair->second] += pair->waste + pair->use;
        else if (pair->second && (pair->waste | pair->use | pair->dead))
            pairs[(*count)++] = *pair;
    }
    qsort(pairs, *count, sizeof *pairs, compare_pairs);
    uint64_t digest = base_hash_bytes(pairs, *count * sizeof *pairs, hash_fresh());
    free(pairs);
    return digest;
}

/* Nanoseconds. */
static double round_of(double share, uint64_t *digest, uint64_t *pairs)
{
    if (shadow_init(&shadow, UINT64_C(1) << TRACE_ADDRESS_BITS, IDS_MAX, 0.01F,
                    &trace_shadow_memory) != BASE_OK ||
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
    uint64_t most = UINT64_MAX;
    double share = 1, least = 0;
    int rounds = 5;
    if (argc < 2)
        give_up("replay TRACE [--rounds N] [--sample SHARE] [--first N]");
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--sample") == 0)
            share = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--first") == 0)
            most = strtoull(argv[i + 1], NULL, 10);
    }
    read_trace(argv[1], most);
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
