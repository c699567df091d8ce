// SPDX-License-Identifier: MIT
/*
 * Random traces through shadow, by the inline functions and by the general ones, and through an
 * oracle that follows the definitions of shadow.h byte by byte; all counts must be the same.
 * Then traces that keep to whole elements, watched by `detect` at every byte of every access: the
 * live engine's detectors with as many debug registers as they like. Faults planted in the oracle
 * must be seen.
 */
#include "detect/detect.h"
#include "shadow/fast.h"
#include "shadow/shadow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

/* Two windows of memory: at a boundary of 64 KiB, which is one of shadow's own, and elsewhere. */
enum {
    LIMIT = 1 << 20,
    WINDOW = 128,
    BYTES = 2 * WINDOW,
    IDS = 40, /* 1 .. 15 loads, 16 .. 31 stores, then the kernel's: even loads, odd stores */
    FIRST_STORE = 16,
    FIRST_KERNEL = 32,
    X87 = 10,
};

static const uint64_t windows[2] = {65536 - WINDOW / 2, 3 * 65536 + 1024};

static bool is_store(uint32_t id)
{
    return id >= FIRST_KERNEL ? id & 1 : id >= FIRST_STORE;
}

static uint64_t address_of(uint32_t byte)
{
    return windows[byte / WINDOW] + byte % WINDOW;
}

/* ---- memory hooks ------------------------------------------------------------------ */

struct maps {
    int live, refuse_from, calls;
    size_t cleared;
};

static void *maps_map(void *context, size_t bytes, bool reserve)
{
    struct maps *maps = context;
    if (maps->refuse_from && ++maps->calls >= maps->refuse_from)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | (reserve ? MAP_NORESERVE : 0), -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    maps->live++;
    return memory;
}

static void maps_unmap(void *context, void *memory, size_t bytes)
{
    struct maps *maps = context;
    assert_int_equal(munmap(memory, bytes), 0);
    maps->live--;
}

static void maps_clear(void *context, void *start, size_t bytes)
{
    struct maps *maps = context;
    assert_int_equal((uintptr_t)start % 4096, 0);
    assert_int_equal(bytes % 4096, 0);
    assert_int_equal(madvise(start, bytes, MADV_DONTNEED), 0);
    maps->cleared += bytes;
}

static void start(struct shadow *shadow, struct maps *maps, uint32_t ids, float tolerance)
{
    struct shadow_memory memory = {maps_map, maps_unmap, maps_clear, maps};
    *maps = (struct maps){0};
    assert_int_equal(shadow_init(shadow, LIMIT, ids, tolerance, &memory), BASE_OK);
}

static void stop(struct shadow *shadow, struct maps *maps)
{
    assert_true(shadow_check(shadow, 0, LIMIT));
    shadow_free(shadow);
    assert_int_equal(maps->live, 0);
}

/* ---- counts ------------------------------------------------------------------------ */

enum verdict { WASTE, NEAR, USE, VERDICTS }; /* NEAR: waste by the tolerance only */

struct counts {
    uint64_t pairs[DETECT_REUSE][VERDICTS][IDS][IDS];
    uint64_t fresh_stores, fresh_loads;
};

/* By the meaning that shadow.h gives the three numbers of a pair. */
static void counts_of(struct shadow *shadow, struct counts *counts)
{
    memset(counts, 0, sizeof *counts);
    shadow_flush(shadow);
    for (uint64_t i = 0; i < shadow->pairs_capacity; i++) {
        const struct shadow_pair *pair = &shadow->pairs[i];
        uint32_t first = shadow_first(pair), second = pair->second;
        if (!second)
            continue;
        if (!first) {
            *(is_store(second) ? &counts->fresh_stores : &counts->fresh_loads) +=
                pair->waste + pair->use;
            continue;
        }
        int kind = is_store(second) ? DETECT_SILENT : DETECT_LOAD;
        counts->pairs[kind][pair->first & SHADOW_NEAR ? NEAR : WASTE][first][second] += pair->waste;
        counts->pairs[kind][USE][first][second] += pair->use;
        counts->pairs[DETECT_DEAD][is_store(second) ? WASTE : USE][first][second] += pair->dead;
    }
    for (uint32_t id = 1; shadow->taken_off && id < IDS; id++)
        *(is_store(id) ? &counts->fresh_stores : &counts->fresh_loads) -= shadow->taken_off[id];
}

static bool same_counts(const struct counts *a, const struct counts *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void show_difference(const struct counts *a, const struct counts *b)
{
    const uint64_t *x = &a->pairs[0][0][0][0], *y = &b->pairs[0][0][0][0];
    for (size_t i = 0; i < sizeof a->pairs / sizeof *x; i++)
        if (x[i] != y[i])
            printf("# kind %zu verdict %zu pair %zu %zu: %lu %lu\n", i / IDS / IDS / 2,
                   i / IDS / IDS % 2, i / IDS % IDS, i % IDS, x[i], y[i]);
    printf("# fresh stores %lu %lu loads %lu %lu\n", a->fresh_stores, b->fresh_stores,
           a->fresh_loads, b->fresh_loads);
}

/* ---- traces ------------------------------------------------------------------------ */

enum what { ACCESS, FORGET, FORGET_ALL };

struct event {
    uint8_t what;
    uint8_t id;
    uint8_t bytes;
    bool before_known;
    bool joins_next; /* a load; the next event is the same instruction's store */
    uint16_t byte;
    uint8_t before[64], value[64];
};

struct trace {
    uint32_t count;
    float tolerance;
    uint8_t elements[IDS];
    struct event events[4096];
};

struct maker {
    struct base_random random;
    struct trace *trace;
    uint8_t memory[BYTES];
    uint32_t granule[BYTES]; /* accesses here are multiples of it, at multiples of it */
    bool tidy;               /* accesses keep to granules and to the elements of their ids */
};

static uint32_t below(struct maker *maker, uint32_t bound)
{
    return (uint32_t)base_random_below(&maker->random, bound);
}

static uint32_t pick_of(struct maker *maker, const uint8_t *of, uint32_t count)
{
    return of[below(maker, count)];
}

static void random_float(struct maker *maker, uint8_t *at, uint32_t bytes)
{
    static const double special[] = {
        0.0,  -0.0, __builtin_inf(), -__builtin_inf(), __builtin_nan(""), 1.0, 1e-310, 1e308,
        -1.0, 1e-42};
    double value;
    if (bytes == 4) {
        float narrow;
        memcpy(&narrow, at, 4);
        value = narrow;
    } else {
        memcpy(&value, at, 8);
    }
    long double wide = 0;
    if (bytes == X87)
        memcpy(&wide, at, X87);
    double factor = 1 + ((int)below(maker, 41) - 20) / 1000.0;
    if (below(maker, 4) == 0)
        value = special[below(maker, BASE_COUNT(special))], wide = value;
    value *= factor;
    wide *= factor;
    float narrow = (float)value;
    if (bytes == 4)
        memcpy(at, &narrow, 4);
    else if (bytes == 8)
        memcpy(at, &value, 8);
    else
        memcpy(at, &wide, X87);
}

/* Mostly what is there, or nearly: equal and almost equal values are what is to be distinguished. */
static void change_memory(struct maker *maker, uint32_t byte, uint32_t bytes, uint8_t element)
{
    uint8_t *at = &maker->memory[byte];
    uint32_t size = element & ~SHADOW_FLOAT;
    if (below(maker, 3) == 0)
        return;
    if (element & SHADOW_FLOAT) {
        for (uint32_t i = 0; i + size <= bytes; i += size)
            if (below(maker, 2))
                random_float(maker, at + i, size);
        return;
    }
    for (uint32_t changes = below(maker, 4); changes; changes--)
        at[below(maker, bytes)] = (uint8_t)below(maker, 3);
}

static struct event *new_event(struct maker *maker, enum what what)
{
    struct trace *trace = maker->trace;
    if (trace->count == BASE_COUNT(trace->events))
        return NULL;
    struct event *event = &trace->events[trace->count++];
    memset(event, 0, sizeof *event);
    event->what = (uint8_t)what;
    return event;
}

static void make_access(struct maker *maker, uint32_t id, uint32_t byte, uint32_t bytes)
{
    struct event *event = new_event(maker, ACCESS);
    if (!event)
        return;
    event->id = (uint8_t)id;
    event->bytes = (uint8_t)bytes;
    event->byte = (uint16_t)byte;
    event->before_known = id < FIRST_KERNEL || maker->tidy || below(maker, 3);
    memcpy(event->before, &maker->memory[byte], bytes);
    if (is_store(id))
        change_memory(maker, byte, bytes, maker->trace->elements[id]);
    memcpy(event->value, &maker->memory[byte], bytes);
}

/* A read-modify-write instruction: a load and a store in one, of one element. */
static void make_modify(struct maker *maker, uint32_t byte, uint32_t bytes, uint32_t load)
{
    struct trace *trace = maker->trace;
    uint32_t store = FIRST_STORE + below(maker, FIRST_KERNEL - FIRST_STORE);
    if (trace->elements[store] != trace->elements[load] ||
        trace->count + 2 > BASE_COUNT(trace->events))
        return;
    make_access(maker, load, byte, bytes);
    trace->events[trace->count - 1].joins_next = true;
    make_access(maker, store, byte, bytes);
}

static uint32_t random_id(struct maker *maker)
{
    return below(maker, 12) == 0 ? FIRST_KERNEL + below(maker, IDS - FIRST_KERNEL)
                                 : 1 + below(maker, FIRST_KERNEL - 1);
}

/* Any bytes anywhere, most of them aligned. */
static void make_wild(struct maker *maker)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 16, 32, 10, 3, 6, 24, 28, 64};
    uint32_t bytes = pick_of(maker, sizes, sizeof sizes), id = random_id(maker);
    uint32_t byte = below(maker, WINDOW - bytes + 1) + below(maker, 2) * WINDOW;
    uint32_t align = bytes == X87 ? 16 : bytes & -bytes;
    if (below(maker, 4))
        byte &= ~(align - 1);
    make_access(maker, id, byte, bytes);
}

/* One id over an array, as loops do: this is what the inline functions are made for. */
static void make_sweep(struct maker *maker)
{
    static const uint8_t sizes[] = {1, 2, 4, 8, 16, 32};
    uint32_t bytes = pick_of(maker, sizes, sizeof sizes), id = random_id(maker);
    uint32_t start = below(maker, 4) * 32, window = below(maker, 2) * WINDOW;
    for (uint32_t byte = start; byte + bytes <= WINDOW && byte < start + 48; byte += bytes)
        make_access(maker, id, window + byte, bytes);
}

static void make_forget(struct maker *maker)
{
    struct event *event = new_event(maker, below(maker, 20) ? FORGET : FORGET_ALL);
    if (!event)
        return;
    event->bytes = (uint8_t)below(maker, 41);
    event->byte = (uint16_t)(below(maker, WINDOW - event->bytes) + below(maker, 2) * WINDOW);
    if (maker->tidy) {
        event->byte &= (uint16_t)~31u;
        event->bytes = 32;
    }
}

/* Whole granules; an element no bigger than the granule. Sixteen are for x87 alone. */
static void make_tidy(struct maker *maker)
{
    uint32_t byte = below(maker, BYTES), granule = maker->granule[byte], id = random_id(maker);
    byte &= ~(granule - 1);
    uint32_t end = byte, most = granule * (1 + below(maker, 4));
    while (end < BYTES && end / WINDOW == byte / WINDOW && end - byte < most &&
           maker->granule[end] == granule)
        end += granule;
    uint32_t size = maker->trace->elements[id] & ~SHADOW_FLOAT, bytes = end - byte;
    if (size == X87)
        bytes = X87;
    bool kernel = id >= FIRST_KERNEL, x87 = size == X87;
    if (!kernel && (x87 ? granule < 16 : granule == 16 || size > granule))
        return;
    if (!is_store(id) && id < FIRST_KERNEL && below(maker, 5) == 0)
        make_modify(maker, byte, bytes, id);
    else
        make_access(maker, id, byte, bytes);
}

static struct trace *make_trace(uint64_t seed, bool tidy)
{
    static const uint8_t elements[] = {
        1, 2, 4, 8, 8, 4, SHADOW_FLOAT | 4, SHADOW_FLOAT | 8, SHADOW_FLOAT | 8, SHADOW_FLOAT | X87};
    static struct maker maker;
    struct trace *trace = calloc(1, sizeof *trace);
    maker = (struct maker){.random = {seed}, .trace = trace, .tidy = tidy};
    trace->tolerance = below(&maker, 4) ? 0.01f : 0;
    for (uint32_t id = 1; id < IDS; id++)
        trace->elements[id] = (uint8_t)pick_of(&maker, elements, sizeof elements);
    for (uint32_t id = FIRST_KERNEL; id < IDS; id++)
        trace->elements[id] = 1;
    for (uint32_t byte = 0; byte < BYTES; byte++)
        maker.granule[byte] = byte % 32 ? maker.granule[byte - 1] : 1u << below(&maker, 5);
    uint32_t length = 500 + below(&maker, 3500);
    while (trace->count < length) {
        uint32_t dice = below(&maker, 100);
        if (dice == 0)
            make_forget(&maker);
        else if (tidy)
            make_tidy(&maker);
        else if (dice < 4) /* somebody unseen writes: another process, a page that is new */
            change_memory(&maker, below(&maker, BYTES - 16), 16, 1);
        else if (dice < 15)
            make_sweep(&maker);
        else
            make_wild(&maker);
    }
    return trace;
}

/* ---- feeding shadow ---------------------------------------------------------------- */

static void feed_fast(struct shadow *shadow, const struct event *event)
{
    uint64_t address = address_of(event->byte), before, value;
    memcpy(&before, event->before, 8);
    memcpy(&value, event->value, 8);
    /* What lies beyond the access must not matter. */
    if (event->bytes < 8) {
        before |= base_mix64(value) << event->bytes * 8;
        value |= base_mix64(before) << event->bytes * 8;
    }
    bool store = is_store(event->id);
    uint32_t id = event->id;
    bool handed_over = !shadow->locations || event->byte % 3 == 0;
#define FEED(n)                                                                                    \
    case n:                                                                                        \
        if (!handed_over && shadow_is_passed_over(shadow, address, n, store))                      \
            return;                                                                                \
        if (shadow->locations && store)                                                            \
            shadow_store_sampled_##n(shadow, address, id, before, value);                          \
        else if (shadow->locations)                                                                \
            shadow_load_sampled_##n(shadow, address, id, value);                                   \
        else if (shadow->events && store)                                                          \
            shadow_store_later(shadow, address, id, n, before, &value, id % 3 == 0);               \
        else if (shadow->events)                                                                   \
            shadow_load_later(shadow, address, id, n, &value, id % 3 == 0);                        \
        else if (store)                                                                            \
            shadow_store_fast(shadow, address, id, n, before, &value, id % 3 == 0);                \
        else                                                                                       \
            shadow_load_fast(shadow, address, id, n, &value, id % 3 == 0);                         \
        return
    switch (event->bytes) {
        FEED(1);
        FEED(2);
        FEED(4);
        FEED(8);
    }
#undef FEED
    if (store)
        shadow_store(shadow, address, id, event->bytes, event->before, event->value);
    else
        shadow_load(shadow, address, id, event->bytes, event->value);
}

static void feed_kernel(struct shadow *shadow, const struct event *event)
{
    uint64_t address = address_of(event->byte);
    if (is_store(event->id))
        shadow_kernel_store(shadow, address, event->id, event->bytes,
                            event->before_known ? event->before : NULL, event->value);
    else
        shadow_kernel_load(shadow, address, event->id, event->bytes, event->value);
}

static void feed(struct shadow *shadow, const struct event *event, bool fast)
{
    if (event->what == FORGET)
        shadow_forget(shadow, address_of(event->byte), event->bytes);
    else if (event->what == FORGET_ALL)
        shadow_forget(shadow, 1, LIMIT);
    else if (event->id >= FIRST_KERNEL)
        feed_kernel(shadow, event);
    else if (fast)
        feed_fast(shadow, event);
    else if (is_store(event->id))
        shadow_store(shadow, address_of(event->byte), event->id, event->bytes, event->before,
                     event->value);
    else
        shadow_load(shadow, address_of(event->byte), event->id, event->bytes, event->value);
}

/* ---- counted later ----------------------------------------------------------------- */

enum { CHUNK = 50, COUNTERS_MAX = 3 };
static struct shadow counters[COUNTERS_MAX];
static uint32_t counters_count;
static bool loses_last; /* planted: what is written last is not counted */
static struct shadow_event chunk[CHUNK + SHADOW_EVENTS_AT_ONCE];

static void count_chunk(struct shadow *shadow)
{
    for (uint32_t i = 0; i < counters_count; i++)
        shadow_count(&counters[i], chunk, loses_last ? 0 : (uint32_t)(shadow->events - chunk), i,
                     counters_count);
    shadow->events = chunk;
}

static void begin_later(struct shadow *shadow, uint32_t count)
{
    counters_count = count;
    assert_int_equal(shadow_count_later(shadow, chunk, chunk + CHUNK, count_chunk), BASE_OK);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(shadow_counter(&counters[i], shadow), BASE_OK);
}

static void end_later(struct shadow *shadow)
{
    count_chunk(shadow);
    for (uint32_t i = 0; i < counters_count; i++) {
        shadow_gather(shadow, &counters[i]);
        assert_true(counters[i].pairs_count == 0);
        shadow_counter_free(&counters[i]);
    }
    shadow_order_pairs(shadow);
}

/* check: after every event. */
static void run_shadow(const struct trace *trace, bool fast, bool check, struct counts *counts)
{
    struct shadow shadow;
    struct maps maps;
    start(&shadow, &maps, IDS, trace->tolerance);
    for (uint32_t id = 1; id < IDS; id++)
        shadow_define(&shadow, id, trace->elements[id]);
    for (uint32_t i = 0; i < trace->count; i++) {
        feed(&shadow, &trace->events[i], fast);
        if (!check)
            continue;
        assert_true(shadow_check(&shadow, windows[0], windows[0] + WINDOW));
        assert_true(shadow_check(&shadow, windows[1], windows[1] + WINDOW));
        if (i % 64 == 0) /* when it is emptied does not matter */
            shadow_flush(&shadow);
    }
    assert_false(shadow.exhausted);
    counts_of(&shadow, counts);
    stop(&shadow, &maps);
}

/* ---- the oracle -------------------------------------------------------------------- */

enum fault {
    SOUND,
    LOADS_LEAVE_UNREAD,
    BYTES_FOR_GROUPS,
    FORMER_IGNORED_IN_GROUPS,
    KERNEL_IS_FORMER,
    NO_TOLERANCE,
    PARTS_OF_FLOATS,
    STORES_END_LOADS,
    FORGETS_ONE_LESS,
    FAULTS,
};

struct oracle {
    enum fault fault;
    const struct trace *trace;
    const struct shadow *sample; /* which locations are drawn now; NULL: all */
    uint32_t store[BYTES], load[BYTES];
    bool unread[BYTES];
    uint8_t loaded[BYTES];
    struct counts *counts;
};

/* Is byte c of the event in the group of byte b? */
static bool in_group(const struct oracle *oracle, const uint32_t *former, uint32_t b, uint32_t c)
{
    uint32_t size = oracle->trace->elements[former[b]] & ~SHADOW_FLOAT;
    uint32_t block = size == X87 ? 16 : size;
    if (oracle->fault == BYTES_FOR_GROUPS)
        return b == c;
    if (former[b] != former[c] && oracle->fault != FORMER_IGNORED_IN_GROUPS)
        return false;
    return address_of(b) / block == address_of(c) / block;
}

/* old, now: values of the event's bytes. */
static enum verdict verdict_of(const struct oracle *oracle, const struct event *event,
                               const uint32_t *former, const uint8_t *old, const uint8_t *now,
                               uint32_t b)
{
    uint32_t first = 0, count = 0;
    bool equal = true;
    for (uint32_t i = event->bytes; i-- > 0;) {
        if (!in_group(oracle, former, b, event->byte + i))
            continue;
        first = i;
        count++;
        equal &= old[i] == now[i];
    }
    uint8_t element = oracle->trace->elements[former[b]];
    uint32_t size = element & ~SHADOW_FLOAT;
    bool whole = count == size && address_of(event->byte + first) % (size == X87 ? 16 : size) == 0;
    for (uint32_t i = 0; i < count && whole; i++)
        whole = in_group(oracle, former, b, event->byte + first + i);
    if (oracle->fault == PARTS_OF_FLOATS && first + size <= event->bytes)
        whole = true;
    if (equal || !whole || !(element & SHADOW_FLOAT) || oracle->fault == NO_TOLERANCE)
        return equal ? WASTE : USE;
    struct detect_sample sample = {
        .element_is_float = true, .element_bytes = (uint8_t)size, .bytes = size};
    struct detect_touch touch = {.direction = DETECT_LOADS, .range_known = false};
    memcpy(sample.value, old + first, size);
    switch (detect_compare_values(&sample, now + first, &touch, oracle->trace->tolerance)) {
    case DETECT_CHANGED: return USE;
    case DETECT_NEAR: return NEAR;
    case DETECT_EQUAL: break;
    }
    return WASTE;
}

static bool is_drawn(const struct oracle *oracle, uint32_t byte)
{
    return !oracle->sample || shadow_is_drawn(oracle->sample, address_of(byte));
}

/* Bytes without a former access. With a sample, those that lack one by chance are balanced by those that have one by chance. */
static void add_fresh(const struct oracle *oracle, uint32_t byte, uint32_t former, uint64_t *fresh)
{
    if (!former && is_drawn(oracle, byte))
        ++*fresh;
    else if (former && !is_drawn(oracle, byte))
        --*fresh;
}

static void oracle_store(struct oracle *oracle, const struct event *event)
{
    struct counts *counts = oracle->counts;
    for (uint32_t b = event->byte; b < (uint32_t)event->byte + event->bytes; b++) {
        uint32_t former = oracle->store[b];
        if (!former || event->before_known)
            add_fresh(oracle, b, former, &counts->fresh_stores);
        if (!former)
            continue;
        if (oracle->unread[b])
            counts->pairs[DETECT_DEAD][WASTE][former][event->id]++;
        if (!event->before_known)
            continue;
        enum verdict verdict =
            verdict_of(oracle, event, oracle->store, event->before, event->value, b);
        counts->pairs[DETECT_SILENT][verdict][former][event->id]++;
    }
    bool kernel = event->id >= FIRST_KERNEL && oracle->fault != KERNEL_IS_FORMER;
    for (uint32_t b = event->byte; b < (uint32_t)event->byte + event->bytes; b++) {
        bool leaves = !kernel && is_drawn(oracle, b);
        oracle->store[b] = leaves ? event->id : 0;
        oracle->unread[b] = leaves;
        if (oracle->fault == STORES_END_LOADS)
            oracle->load[b] = 0;
    }
}

static void oracle_load(struct oracle *oracle, const struct event *event)
{
    struct counts *counts = oracle->counts;
    const uint8_t *old = &oracle->loaded[event->byte];
    for (uint32_t b = event->byte; b < (uint32_t)event->byte + event->bytes; b++) {
        uint32_t former = oracle->load[b];
        if (oracle->unread[b])
            counts->pairs[DETECT_DEAD][USE][oracle->store[b]][event->id]++;
        if (oracle->fault != LOADS_LEAVE_UNREAD)
            oracle->unread[b] = false;
        add_fresh(oracle, b, former, &counts->fresh_loads);
        if (!former)
            continue;
        enum verdict verdict = verdict_of(oracle, event, oracle->load, old, event->value, b);
        counts->pairs[DETECT_LOAD][verdict][former][event->id]++;
    }
    bool kernel = event->id >= FIRST_KERNEL && oracle->fault != KERNEL_IS_FORMER;
    for (uint32_t b = event->byte; b < (uint32_t)event->byte + event->bytes; b++)
        oracle->load[b] = kernel || !is_drawn(oracle, b) ? 0 : event->id;
    memcpy(&oracle->loaded[event->byte], event->value, event->bytes);
}

static void oracle_forget(struct oracle *oracle, uint32_t byte, uint32_t bytes)
{
    if (oracle->fault == FORGETS_ONE_LESS && bytes)
        bytes--;
    for (uint32_t b = byte; b < byte + bytes; b++) {
        oracle->store[b] = oracle->load[b] = 0;
        oracle->unread[b] = false;
    }
}

static void oracle_take(struct oracle *oracle, const struct event *event)
{
    if (event->what == FORGET)
        oracle_forget(oracle, event->byte, event->bytes);
    else if (event->what == FORGET_ALL)
        oracle_forget(oracle, 0, BYTES);
    else if (is_store(event->id))
        oracle_store(oracle, event);
    else
        oracle_load(oracle, event);
}

static void run_oracle(const struct trace *trace, enum fault fault, struct counts *counts)
{
    static struct oracle oracle;
    oracle = (struct oracle){.fault = fault, .trace = trace, .counts = counts};
    memset(counts, 0, sizeof *counts);
    for (uint32_t i = 0; i < trace->count; i++)
        oracle_take(&oracle, &trace->events[i]);
}

/* ---- observed accesses --------------------------------------------------------------- */

/* By kind and pair; of silent stores and loads those of single bytes. */
struct sightings {
    uint32_t pairs[DETECT_REUSE][IDS][IDS];
    const struct event *now;
};

static bool is_sighted(const struct event *event, uint32_t kind)
{
    return kind == DETECT_DEAD || event->bytes == 1;
}

static void note_seen(void *context, enum shadow_kind kind, uint32_t first, uint32_t second,
                      uint64_t address)
{
    struct sightings *seen = context;
    assert_int_equal(address, address_of(seen->now->byte));
    if (is_sighted(seen->now, kind))
        seen->pairs[kind][first][second]++;
}

/* What the first byte of an access will be. */
static void note_expected(struct sightings *expected, const struct oracle *oracle,
                          const struct event *event)
{
    uint32_t b = event->byte, store = oracle->store[b], load = oracle->load[b];
    const uint8_t *loaded = &oracle->loaded[b];
    if (event->what != ACCESS)
        return;
    if (!is_store(event->id)) {
        if (load && is_sighted(event, DETECT_LOAD) &&
            verdict_of(oracle, event, oracle->load, loaded, event->value, b) == WASTE)
            expected->pairs[DETECT_LOAD][load][event->id]++;
        return;
    }
    if (store && oracle->unread[b])
        expected->pairs[DETECT_DEAD][store][event->id]++;
    if (store && event->before_known && is_sighted(event, DETECT_SILENT) &&
        verdict_of(oracle, event, oracle->store, event->before, event->value, b) == WASTE)
        expected->pairs[DETECT_SILENT][store][event->id]++;
}

/* Every access, or those that the room chooses. */
static void run_observed(const struct trace *trace, bool every, struct counts *counts,
                         struct sightings *seen, struct sightings *expected)
{
    static struct oracle oracle;
    static struct counts ignored;
    struct shadow shadow;
    struct maps maps;
    oracle = (struct oracle){.trace = trace, .counts = &ignored};
    *seen = *expected = (struct sightings){.now = NULL};
    start(&shadow, &maps, IDS, trace->tolerance);
    shadow_observe(&shadow, &(struct shadow_observer){note_seen, seen});
    for (uint32_t id = 1; id < IDS; id++)
        shadow_define(&shadow, id, trace->elements[id]);
    for (uint32_t i = 0; i < trace->count; i++) {
        seen->now = &trace->events[i];
        if (every)
            shadow_observe_next(&shadow, 1);
        note_expected(expected, &oracle, seen->now);
        feed(&shadow, seen->now, true);
        oracle_take(&oracle, seen->now);
    }
    counts_of(&shadow, counts);
    stop(&shadow, &maps);
}

static uint64_t sum_of(const struct sightings *sightings, uint32_t kind)
{
    uint64_t sum = 0;
    for (uint32_t pair = 0; pair < IDS * IDS; pair++)
        sum += sightings->pairs[kind][pair / IDS][pair % IDS];
    return sum;
}

static void observed_waste_is_the_waste(void **state)
{
    static struct counts counts, expected_counts;
    static struct sightings seen, expected;
    uint64_t sums[DETECT_REUSE] = {0};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct trace *trace = make_trace(seed, false);
        run_oracle(trace, SOUND, &expected_counts);
        run_observed(trace, true, &counts, &seen, &expected);
        assert_true(same_counts(&counts, &expected_counts));
        assert_memory_equal(seen.pairs, expected.pairs, sizeof seen.pairs);
        for (uint32_t kind = 0; kind < DETECT_REUSE; kind++)
            sums[kind] += sum_of(&seen, kind);
        run_observed(trace, false, &counts, &seen, &expected);
        assert_true(same_counts(&counts, &expected_counts));
        for (uint32_t kind = 0; kind < DETECT_REUSE; kind++) {
            assert_true(sum_of(&seen, kind) <= sum_of(&expected, kind));
            for (uint32_t pair = 0; pair < IDS * IDS; pair++)
                assert_true(seen.pairs[kind][pair / IDS][pair % IDS] <=
                            expected.pairs[kind][pair / IDS][pair % IDS]);
        }
        free(trace);
    }
    for (uint32_t kind = 0; kind < DETECT_REUSE; kind++)
        assert_true(sums[kind] > 100);
}

/* ---- samples of locations ------------------------------------------------------------ */

enum { EPOCH_EVENTS = 3 }; /* a trace has several rounds of epochs */

/* tested: accesses that need not be handed over are not, as in the engine. Gives how many were not. */
static uint32_t run_sampled(const struct trace *trace, double share, uint64_t seed, bool tested,
                            struct counts *counts, struct counts *expected)
{
    static struct oracle oracle;
    struct shadow shadow;
    struct maps maps;
    uint32_t kept_back = 0;
    start(&shadow, &maps, IDS, trace->tolerance);
    assert_int_equal(shadow_sample(&shadow, &share, seed), BASE_OK);
    for (uint32_t id = 1; id < IDS; id++)
        shadow_define(&shadow, id, trace->elements[id]);
    oracle = (struct oracle){.trace = trace, .counts = expected, .sample = &shadow};
    memset(expected, 0, sizeof *expected);
    for (uint32_t i = 0; i < trace->count; i++) {
        const struct event *event = &trace->events[i];
        if (i % EPOCH_EVENTS == 0)
            shadow_next_epoch(&shadow);
        oracle_take(&oracle, event);
        bool passes = tested && event->what == ACCESS && event->id < FIRST_KERNEL &&
                      shadow_is_left_out(&shadow, address_of(event->byte), event->bytes,
                                         event->id >= FIRST_STORE);
        kept_back += passes;
        if (!passes)
            feed(&shadow, event, i % 2);
        assert_true(shadow_check(&shadow, windows[0], windows[0] + WINDOW));
    }
    counts_of(&shadow, counts);
    shadow_join_groups(&shadow);
    static struct counts joined;
    counts_of(&shadow, &joined);
    assert_true(same_counts(&joined, counts));
    stop(&shadow, &maps);
    return kept_back;
}

static void samples_count_as_the_oracle_at_their_locations(void **state)
{
    static struct counts counts, expected, others;
    uint32_t kept_back = 0, alike = 0;
    for (uint64_t seed = 1; seed <= 80; seed++) {
        struct trace *trace = make_trace(seed, false);
        for (double share = 0.25; share <= 1; share *= 2) {
            kept_back += run_sampled(trace, share, seed, seed % 4 != 0, &counts, &expected);
            if (!same_counts(&counts, &expected))
                show_difference(&counts, &expected);
            assert_true(same_counts(&counts, &expected));
        }
        run_oracle(trace, SOUND, &expected); /* the last one kept all */
        assert_true(same_counts(&counts, &expected));
        run_sampled(trace, 0.5, seed, true, &counts, &expected);
        run_sampled(trace, 0.5, seed + 1, true, &expected, &others);
        alike += same_counts(&counts, &expected);
        free(trace);
    }
    assert_true(kept_back > 1000);
    assert_int_equal(alike, 0);
}

/* Whatever the distance between the locations of a program: as many are drawn as by chance, and not
   many in a row. */
static void samples_meet_no_stride(void **state)
{
    enum { COUNT = 4096, SHARE = 16, ROW = 8 };
    struct shadow shadow;
    struct maps maps;
    static const uint32_t steps[] = {1, 2, 3, 4, 5, 8, 13, 21, 34, 55, 64, 89, 144, 233, 256};
    double share = 1.0 / SHARE;
    start(&shadow, &maps, IDS, 0);
    assert_int_equal(shadow_sample(&shadow, &share, 7), BASE_OK);
    assert_true(share == 1.0 / SHARE);
    for (size_t i = 0; i < BASE_COUNT(steps); i++) {
        uint32_t kept = 0, row = 0, longest = 0, count = 0;
        for (uint64_t at = 0; at < LIMIT && count < COUNT; at += 16 * steps[i], count++) {
            shadow_load(&shadow, at, 1, 1, (const uint8_t *)"");
            bool is_kept = shadow_is_drawn(&shadow, at);
            assert_true(is_kept == !shadow_is_left_out(&shadow, at, 1, true));
            row = is_kept ? row + 1 : 0;
            longest = row > longest ? row : longest;
            kept += is_kept;
        }
        double mean = (double)count / SHARE, off = kept - mean;
        assert_true(off * off < 16 * mean); /* four standard deviations */
        assert_true(longest < ROW);
    }
    stop(&shadow, &maps);
}

/* In a round every location is drawn equally often, and not in the same order as in the last one. */
static void rounds_draw_all_alike(void **state)
{
    enum { COUNT = 64, ROUNDS = 3 };
    static const struct {
        double asked, given;
        uint32_t epochs, times;
    } cases[] = {{0.01, 0.01, 100, 1},
                 {0.3, 0.3, 40, 12},
                 {0.0701, 15.0 / 214, 214, 15},
                 {1e-3, 1e-3, 1000, 1},
                 {1e-4, 1e-4, 10000, 1}};
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct shadow shadow;
        struct maps maps;
        double share = cases[i].asked;
        static uint32_t last[COUNT][2];
        uint32_t moved = 0;
        start(&shadow, &maps, IDS, 0);
        assert_int_equal(shadow_sample(&shadow, &share, i), BASE_OK);
        assert_true(share == cases[i].given);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            uint32_t times[COUNT] = {0};
            for (uint32_t epoch = 0; epoch < cases[i].epochs; epoch++) {
                for (uint32_t at = 0; at < COUNT; at++) {
                    bool is_drawn = shadow_is_drawn(&shadow, 16 * at);
                    times[at] += is_drawn;
                    last[at][round & 1] = is_drawn ? epoch : last[at][round & 1];
                }
                shadow_next_epoch(&shadow);
            }
            for (uint32_t at = 0; at < COUNT; at++) {
                assert_int_equal(times[at], cases[i].times);
                moved += round && last[at][0] != last[at][1];
            }
        }
        assert_true(moved > COUNT);
        stop(&shadow, &maps);
    }
}

/* ---- detect at every byte ---------------------------------------------------------- */

struct watched {
    struct detect detect[DETECT_REUSE];
    struct detect_context context;
};

struct ideal {
    const struct trace *trace;
    uint8_t memory[BYTES];
    struct watched bytes[BYTES];
    struct counts *counts;
};

static bool ideal_arm(void *machine, unsigned index, const struct detect_sample *sample)
{
    (void)machine, (void)sample;
    assert_int_equal(index, 0);
    return true;
}

static void ideal_disarm(void *machine, unsigned index)
{
    (void)machine, (void)index;
}

static uint64_t ideal_random(void *machine, uint64_t bound)
{
    (void)machine, (void)bound;
    fail_msg("a register was not free");
    return 0;
}

static void ideal_start(struct ideal *ideal, const struct trace *trace, struct counts *counts)
{
    struct detect_hooks hooks = {ideal_arm, ideal_disarm, ideal_random, NULL};
    memset(ideal, 0, sizeof *ideal);
    memset(counts, 0, sizeof *counts);
    ideal->trace = trace;
    ideal->counts = counts;
    for (uint32_t b = 0; b < BYTES; b++)
        for (uint32_t kind = 0; kind < DETECT_REUSE; kind++) {
            struct detect_options options = {.kinds = (uint8_t)(1 << kind),
                                             .registers = 1,
                                             .fp_tolerance = trace->tolerance,
                                             .ignored_limit = UINT32_MAX};
            detect_init(&ideal->bytes[b].detect[kind], &options, &hooks);
        }
}

/* One instruction: load 0 or store 0 if it does not do that. */
static void ideal_touch(struct ideal *ideal, const struct event *event, uint32_t b, uint32_t kind,
                        uint32_t load, uint32_t store)
{
    struct detect *detect = &ideal->bytes[b].detect[kind];
    const struct detect_sample *sample = &detect->registers[0].sample;
    struct detect_finding finding;
    if (!detect->registers[0].busy)
        return;
    uint8_t direction = (load ? DETECT_LOADS : 0) | (store ? DETECT_STORES : 0);
    if (!(direction & detect_kinds[kind].watches))
        return;
    struct detect_touch touch = {.direction = direction,
                                 .range_known = true,
                                 .address = address_of(event->byte),
                                 .bytes = event->bytes,
                                 .value = &ideal->memory[b - (sample->watched - sample->address)]};
    enum detect_verdict verdict = detect_touched(detect, 0, &touch, &finding);
    if (verdict == DETECT_IGNORED)
        return;
    assert_int_equal(finding.samples, 1);
    uint32_t second = kind == DETECT_LOAD || (kind == DETECT_DEAD && load) ? load : store;
    enum verdict counted = verdict != DETECT_WASTE ? USE : finding.near ? NEAR : WASTE;
    ideal->counts->pairs[kind][counted][finding.context_id][second]++;
}

static void ideal_take(struct ideal *ideal, const struct event *event, uint32_t b, uint32_t kind,
                       uint32_t id, bool modifies)
{
    uint8_t element = ideal->trace->elements[id];
    struct detect_sample sample = {.kind = (uint8_t)kind,
                                   .weight = 1,
                                   .context_id = id,
                                   .element_is_float = element & SHADOW_FLOAT ? 1 : 0,
                                   .element_bytes = element & (uint8_t)~SHADOW_FLOAT,
                                   .address = address_of(event->byte),
                                   .bytes = event->bytes,
                                   .watched = address_of(b),
                                   .modifies = modifies,
                                   .context = &ideal->bytes[b].context};
    memcpy(sample.value, &ideal->memory[event->byte], event->bytes);
    memcpy(sample.loaded, event->before, event->bytes);
    assert_int_equal(detect_take(&ideal->bytes[b].detect[kind], &sample), 0);
}

static void ideal_access(struct ideal *ideal, const struct event *event, uint32_t load,
                         uint32_t store)
{
    memcpy(&ideal->memory[event->byte], event->value, event->bytes);
    for (uint32_t b = event->byte; b < (uint32_t)event->byte + event->bytes; b++)
        for (uint32_t kind = 0; kind < DETECT_REUSE; kind++) {
            ideal_touch(ideal, event, b, kind, load, store);
            uint32_t id = detect_kinds[kind].samples == DETECT_LOADS ? load : store;
            if (id && id < FIRST_KERNEL)
                ideal_take(ideal, event, b, kind, id, load && store);
        }
}

static void ideal_forget(struct ideal *ideal, uint32_t byte, uint32_t bytes)
{
    for (uint32_t b = byte; b < byte + bytes; b++)
        for (uint32_t kind = 0; kind < DETECT_REUSE; kind++)
            if (ideal->bytes[b].detect[kind].registers[0].busy) {
                detect_abandon(&ideal->bytes[b].detect[kind], 0);
                ideal->bytes[b].context.pending[kind] = 0;
            }
}

static void run_ideal(const struct trace *trace, struct counts *counts)
{
    static struct ideal ideal;
    ideal_start(&ideal, trace, counts);
    for (uint32_t i = 0; i < trace->count; i++) {
        const struct event *event = &trace->events[i];
        if (event->what == FORGET)
            ideal_forget(&ideal, event->byte, event->bytes);
        else if (event->what == FORGET_ALL)
            ideal_forget(&ideal, 0, BYTES);
        else if (event->joins_next)
            ideal_access(&ideal, event + 1, event->id, event[1].id);
        else
            ideal_access(&ideal, event, is_store(event->id) ? 0 : event->id,
                         is_store(event->id) ? event->id : 0);
        i += event->joins_next;
    }
}

/* ---- tests ------------------------------------------------------------------------- */

static struct counts counts_a, counts_b;

static void assert_same(const struct counts *a, const struct counts *b, uint64_t seed)
{
    if (same_counts(a, b))
        return;
    show_difference(a, b);
    fail_msg("seed %lu", seed);
}

static void traces_count_as_the_oracle(void **state)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct trace *trace = make_trace(seed, seed % 8 == 0);
        run_oracle(trace, SOUND, &counts_a);
        run_shadow(trace, true, seed % 16 == 3, &counts_b);
        assert_same(&counts_a, &counts_b, seed);
        run_shadow(trace, false, false, &counts_b);
        assert_same(&counts_a, &counts_b, seed);
        free(trace);
    }
}

/* The last events are lost. */
static void lost_events_are_seen(void **state)
{
    enum { SEEDS = 20 };
    uint32_t seen = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct trace *trace = make_trace(seed, true);
        struct shadow shadow;
        struct maps maps;
        start(&shadow, &maps, IDS, trace->tolerance);
        begin_later(&shadow, 1);
        for (uint32_t id = 1; id < IDS; id++)
            shadow_define(&shadow, id, trace->elements[id]);
        for (uint32_t i = 0; i < trace->count; i++)
            feed(&shadow, &trace->events[i], true);
        loses_last = true;
        end_later(&shadow);
        loses_last = false;
        counts_of(&shadow, &counts_b);
        run_oracle(trace, SOUND, &counts_a);
        seen += !same_counts(&counts_a, &counts_b);
        stop(&shadow, &maps);
        free(trace);
    }
    assert_in_range(seen, SEEDS - 2, SEEDS);
}

/* By inline functions and others, by one that counts and by several; what is left is in the same order as if it had been counted at once. */
static void events_count_as_the_oracle(void **state)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct trace *trace = make_trace(seed, seed % 8 == 0);
        struct shadow shadow, at_once;
        struct maps maps, other_maps;
        start(&shadow, &maps, IDS, trace->tolerance);
        start(&at_once, &other_maps, IDS, trace->tolerance);
        begin_later(&shadow, 1 + seed % COUNTERS_MAX);
        for (uint32_t id = 1; id < IDS; id++) {
            shadow_define(&shadow, id, trace->elements[id]);
            shadow_define(&at_once, id, trace->elements[id]);
        }
        for (uint32_t i = 0; i < trace->count; i++) {
            feed(&shadow, &trace->events[i], seed % 4 != 0);
            feed(&at_once, &trace->events[i], true);
        }
        end_later(&shadow);
        shadow_flush(&at_once);
        shadow_order_pairs(&at_once);
        assert_true(shadow.pairs_capacity == at_once.pairs_capacity);
        assert_memory_equal(shadow.pairs, at_once.pairs,
                            shadow.pairs_capacity * sizeof *shadow.pairs);
        counts_of(&shadow, &counts_b);
        run_oracle(trace, SOUND, &counts_a);
        assert_same(&counts_a, &counts_b, seed);
        stop(&shadow, &maps);
        stop(&at_once, &other_maps);
        free(trace);
    }
}

/* A table that is nearly half full, with long runs of slots and one across its end: the same whichever of its pairs came first. */
static void order_is_that_of_what_is_in_the_table(void **state)
{
    enum { PAIRS = 2000 };
    unsigned moved = 0;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct shadow shadows[2];
        struct maps maps[2];
        for (uint32_t side = 0; side < 2; side++) {
            struct shadow counter;
            start(&shadows[side], &maps[side], IDS, 0);
            assert_int_equal(shadow_counter(&counter, &shadows[side]), BASE_OK);
            for (uint32_t i = 0; i < PAIRS; i++) {
                uint32_t number = (side ? PAIRS - 1 - i : i) + seed * 50;
                uint32_t former = number / (IDS - 1) % IDS;
                uint32_t near = number / (IDS - 1) / IDS ? SHADOW_NEAR : 0;
                struct shadow_event event = {former | near, 1 + number % (IDS - 1), 0, 2};
                shadow_count(&counter, &event, 1, 0, 1);
            }
            shadow_gather(&shadows[side], &counter);
            shadow_counter_free(&counter);
            assert_int_equal(shadows[side].pairs_count, PAIRS);
        }
        size_t bytes = shadows[0].pairs_capacity * sizeof *shadows[0].pairs;
        assert_true(shadows[0].pairs_capacity == shadows[1].pairs_capacity);
        moved += memcmp(shadows[0].pairs, shadows[1].pairs, bytes) != 0;
        for (uint32_t side = 0; side < 2; side++) {
            shadow_order_pairs(&shadows[side]);
            assert_true(shadow_check(&shadows[side], windows[0], windows[0] + WINDOW));
        }
        assert_memory_equal(shadows[0].pairs, shadows[1].pairs, bytes);
        stop(&shadows[0], &maps[0]);
        stop(&shadows[1], &maps[1]);
    }
    assert_int_equal(moved, 20);
}

/* Each fault must be seen in most traces, or the traces would not exercise what it breaks. */
static void planted_faults_are_seen(void **state)
{
    enum { SEEDS = 20 };
    unsigned seen[FAULTS] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct trace *trace = make_trace(seed, false);
        trace->tolerance = 0.01f;
        run_shadow(trace, true, false, &counts_b);
        for (unsigned fault = SOUND; fault < FAULTS; fault++) {
            run_oracle(trace, (enum fault)fault, &counts_a);
            seen[fault] += !same_counts(&counts_a, &counts_b);
        }
        free(trace);
    }
    assert_int_equal(seen[SOUND], 0);
    for (unsigned fault = SOUND + 1; fault < FAULTS; fault++)
        assert_in_range(seen[fault], SEEDS / 2, SEEDS);
}

/* detect counts no bytes without a former access, so neither does this comparison. */
static void tidy_traces_count_as_detect(void **state)
{
    uint64_t near = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct trace *trace = make_trace(seed, true);
        run_ideal(trace, &counts_a);
        run_shadow(trace, true, false, &counts_b);
        counts_b.fresh_loads = counts_b.fresh_stores = 0;
        assert_same(&counts_a, &counts_b, seed);
        /* And it is not equal because there is nothing: a verdict of each kind and sort. */
        for (uint32_t kind = 0; kind < DETECT_REUSE; kind++)
            for (uint32_t verdict = 0; verdict < VERDICTS; verdict++) {
                uint64_t sum = 0;
                for (uint32_t i = 0; i < IDS * IDS; i++)
                    sum += counts_a.pairs[kind][verdict][i / IDS][i % IDS];
                near += verdict == NEAR ? sum : 0;
                assert_in_range(sum, verdict == NEAR ? 0 : 10, UINT32_MAX);
            }
        /* What must differ does. */
        run_oracle(trace, KERNEL_IS_FORMER, &counts_b);
        counts_b.fresh_loads = counts_b.fresh_stores = 0;
        assert_false(same_counts(&counts_a, &counts_b));
        free(trace);
    }
    assert_in_range(near, 10, UINT32_MAX);
}

/* Every map in turn is refused at the start: nothing is kept. */
static void refused_maps_leave_nothing(void **state)
{
    struct maps maps;
    struct shadow shadow, untouched;
    struct shadow_memory memory = {maps_map, maps_unmap, maps_clear, &maps};
    memset(&shadow, 0x5a, sizeof shadow);
    untouched = shadow;
    int refusals = 0;
    for (int from = 1;; from++) {
        maps = (struct maps){.refuse_from = from};
        if (shadow_init(&shadow, LIMIT, IDS, 0, &memory) == BASE_OK)
            break;
        refusals++;
        assert_int_equal(maps.live, 0);
        assert_memory_equal(&shadow, &untouched, sizeof shadow);
    }
    assert_in_range(refusals, 5, 10);
    stop(&shadow, &maps);
}

/* More pairs among so many ids than wait outside the table. */
enum { MANY = 60000, TURNS = 2 * MANY };

/* Stores with ever new pairs of ids, eight bytes each. */
static void store_in_turn(struct shadow *shadow, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t step = 1; step < 8; step++) {
            uint32_t id = 1 + (first + i * step) % MANY;
            shadow_store_fast(shadow, 4096 + 8 * step, id, 8, 1, &(uint64_t){1}, false);
        }
}

static uint64_t sum_of_pairs(const struct shadow *shadow)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < shadow->pairs_capacity; i++)
        if (shadow->pairs[i].second)
            sum += shadow->pairs[i].waste + shadow->pairs[i].use;
    return sum;
}

static void the_pair_table_grows(void **state)
{
    struct shadow shadow;
    struct maps maps;
    start(&shadow, &maps, MANY + 1, 0);
    for (uint32_t id = 1; id <= MANY; id++)
        shadow_define(&shadow, id, 8);
    uint64_t capacity = shadow.pairs_capacity;
    store_in_turn(&shadow, 0, TURNS);
    assert_true(shadow_check(&shadow, 4096, 4096 + 64));
    shadow_flush(&shadow);
    assert_true(shadow.pairs_capacity > 2 * capacity);
    assert_int_equal(sum_of_pairs(&shadow), TURNS * 7 * 8);
    shadow_reset_counts(&shadow);
    assert_int_equal(sum_of_pairs(&shadow), 0);
    shadow_store(&shadow, 4096 + 8, 1, 8, (const uint8_t *)"abcdefgh", (const uint8_t *)"abcdefgh");
    shadow_flush(&shadow);
    for (uint64_t i = 0; i < shadow.pairs_capacity; i++) /* what happened is not forgotten */
        assert_true(!shadow.pairs[i].second || shadow.pairs[i].first);
    assert_int_equal(sum_of_pairs(&shadow), 8);
    stop(&shadow, &maps);
}

static void a_refused_table_ends_counting(void **state)
{
    struct shadow shadow;
    struct maps maps;
    start(&shadow, &maps, MANY + 1, 0);
    for (uint32_t id = 1; id <= MANY; id++)
        shadow_define(&shadow, id, 8);
    maps.refuse_from = 1;
    store_in_turn(&shadow, 0, TURNS);
    assert_true(shadow.exhausted);
    shadow_flush(&shadow);
    uint64_t sum = sum_of_pairs(&shadow);
    assert_in_range(sum, 1000, TURNS * 7 * 8 / 2);
    store_in_turn(&shadow, 3, 1000);
    shadow_kernel_store(&shadow, 4000, 7, 1000, NULL, NULL);
    shadow_forget(&shadow, 0, LIMIT);
    shadow_flush(&shadow);
    assert_int_equal(sum_of_pairs(&shadow), sum);
    stop(&shadow, &maps);
}

/*
 * A bounded table: odd ids load, even ones store. Ids from COARSE on stand for all with the same
 * remainder, those from OTHER on for all loads or all stores.
 */
enum { COARSE = MANY + 2, COARSE_IDS = 100, OTHER = COARSE + COARSE_IDS, BOUND = 6000, HEAVY = 20 };

static uint32_t coarser(void *context, uint32_t id)
{
    const bool *forgets_the_kind = context;
    uint32_t odd = *forgets_the_kind ? 0 : id & 1;
    if (id >= COARSE)
        return OTHER + odd;
    return COARSE + 2 * (id % (COARSE_IDS / 2)) + odd;
}

/* Every second access is one of a few that take turns at words of their own, the others go
 * anywhere. */
static void mix(struct shadow *shadow)
{
    struct base_random random = {5};
    for (uint32_t i = 0; i < 600000; i++) {
        bool heavy = i & 1;
        uint32_t word = heavy ? i / 2 % HEAVY : HEAVY + (uint32_t)base_random_below(&random, 40);
        uint32_t id = heavy ? 1 + i / 2 % HEAVY : 1 + (uint32_t)base_random_below(&random, MANY);
        uint64_t value = base_random_below(&random, 2);
        if (id & 1)
            shadow_load_fast(shadow, 4096 + 8 * word, id, 8, &value, false);
        else
            shadow_store_fast(shadow, 4096 + 8 * word, id, 8, 0, &value, false);
    }
    shadow_flush(shadow);
}

/* What totals are made of: by what the two accesses are. */
struct totals {
    uint64_t waste[3][2], use[3][2], dead[3][2];
};

static struct totals totals_of(const struct shadow *shadow)
{
    struct totals totals = {0};
    for (uint64_t i = 0; i < shadow->pairs_capacity; i++) {
        const struct shadow_pair *pair = &shadow->pairs[i];
        uint32_t first = pair->first ? 1 + (pair->first & 1) : 0, second = pair->second & 1;
        if (!pair->second)
            continue;
        totals.waste[first][second] += pair->waste;
        totals.use[first][second] += pair->use;
        totals.dead[first][second] += pair->dead;
    }
    return totals;
}

/* Waste of the heavy pairs under their own ids. */
static uint64_t heavy_waste(const struct shadow *shadow)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < shadow->pairs_capacity; i++)
        if (shadow->pairs[i].second && shadow->pairs[i].second <= HEAVY &&
            shadow->pairs[i].first == shadow->pairs[i].second)
            sum += shadow->pairs[i].waste;
    return sum;
}

static void run_mix(struct shadow *shadow, struct maps *maps, bool *forgets_the_kind)
{
    start(shadow, maps, OTHER + 2, 0);
    for (uint32_t id = 1; id < OTHER + 2; id++)
        shadow_define(shadow, id, 8);
    if (forgets_the_kind)
        shadow_bound_pairs(shadow, &(struct shadow_bound){BOUND, coarser, forgets_the_kind});
    mix(shadow);
}

/* Every pair of a table without a bound is counted in one with a bound: by itself, or under coarser ids of the same kind. */
static void assert_counted(const struct shadow *bounded, const struct shadow_pair *pairs,
                           uint64_t count)
{
    uint64_t merged = 0;
    for (uint64_t i = 0; i < count; i++) {
        const struct shadow_pair *pair = &pairs[i];
        const struct shadow_pair *found = shadow_pair_counted(bounded, pair->first, pair->second);
        assert_non_null(found);
        bool same = found->first == pair->first && found->second == pair->second;
        merged += !same;
        assert_true(same || (found->first >= COARSE && found->second >= COARSE) || !pair->first);
        assert_int_equal(found->second & 1, pair->second & 1);
    }
    assert_in_range(merged, count / 2, count - 1);
}

static struct shadow_pair *copy_of_pairs(const struct shadow *shadow, uint64_t *count)
{
    struct shadow_pair *pairs = calloc(shadow->pairs_count, sizeof *pairs);
    *count = 0;
    for (uint64_t i = 0; i < shadow->pairs_capacity; i++)
        if (shadow->pairs[i].second)
            pairs[(*count)++] = shadow->pairs[i];
    return pairs;
}

static void a_bounded_table_merges_the_least_and_keeps_totals(void **state)
{
    uint64_t count;
    bool right = false, wrong = true;
    struct shadow unbounded, bounded;
    struct maps maps;
    run_mix(&unbounded, &maps, NULL);
    struct totals expected = totals_of(&unbounded), totals;
    uint64_t heavy = heavy_waste(&unbounded);
    assert_true(unbounded.pairs_count > 20 * BOUND && !unbounded.merged);
    struct shadow_pair *pairs = copy_of_pairs(&unbounded, &count);
    assert_null(shadow_pair_counted(&unbounded, OTHER, OTHER));
    stop(&unbounded, &maps);

    run_mix(&bounded, &maps, &right);
    assert_in_range(bounded.pairs_count, 1, BOUND);
    assert_in_range(bounded.pairs_capacity, 1, 8192);
    assert_in_range(bounded.merged, 10 * BOUND, UINT32_MAX);
    assert_true(shadow_check(&bounded, 4096, 4096 + 512));
    totals = totals_of(&bounded);
    assert_memory_equal(&totals, &expected, sizeof totals);
    assert_true(heavy_waste(&bounded) == heavy);
    assert_counted(&bounded, pairs, count);
    shadow_merge_pairs(&bounded, 300); /* to the coarsest, where need be */
    assert_in_range(bounded.pairs_count, 1, 300);
    totals = totals_of(&bounded);
    assert_memory_equal(&totals, &expected, sizeof totals);
    assert_true(heavy_waste(&bounded) == heavy);
    assert_counted(&bounded, pairs, count);
    stop(&bounded, &maps);

    run_mix(&bounded, &maps, &wrong);
    totals = totals_of(&bounded);
    assert_memory_not_equal(&totals, &expected, sizeof totals);
    stop(&bounded, &maps);
    free(pairs);
}

/* The table that the pairs would move to is refused: as for one that cannot grow. */
static void a_refused_merge_ends_counting(void **state)
{
    bool right = false;
    struct shadow shadow;
    struct maps maps;
    start(&shadow, &maps, OTHER + 2, 0);
    for (uint32_t id = 1; id < OTHER + 2; id++)
        shadow_define(&shadow, id, 8);
    shadow_bound_pairs(&shadow, &(struct shadow_bound){BOUND, coarser, &right});
    maps.refuse_from = 2; /* after it has grown once */
    mix(&shadow);
    assert_true(shadow.exhausted);
    assert_in_range(sum_of_pairs(&shadow), 1000, 600000 * 8 / 2);
    shadow_merge_pairs(&shadow, 300);
    assert_true(shadow_check(&shadow, 4096, 4096 + 512));
    stop(&shadow, &maps);
}

static void addresses_beyond_the_limit_are_left_alone(void **state)
{
    static const uint64_t addresses[] = {LIMIT,      LIMIT + 8,      LIMIT - 1, 1ull << 40,
                                         UINT64_MAX, UINT64_MAX - 7, 1ull << 63};
    struct shadow shadow;
    struct maps maps;
    uint8_t zeros[64] = {0};
    start(&shadow, &maps, IDS, 0);
    for (uint32_t id = 1; id < IDS; id++)
        shadow_define(&shadow, id, 1);
    for (unsigned i = 0; i < BASE_COUNT(addresses); i++) {
        uint64_t address = addresses[i];
        shadow_load_fast(&shadow, address, 1, 8, zeros, false);
        shadow_load_fast(&shadow, address, 1, 4, zeros, false);
        shadow_load_fast(&shadow, address, 1, 2, zeros, false);
        shadow_store_fast(&shadow, address, 16, 8, 0, zeros, false);
        shadow_store_fast(&shadow, address, 16, 2, 0, zeros, false);
        shadow_load(&shadow, address, 1, 16, zeros);
        shadow_store(&shadow, address, 16, 32, zeros, zeros);
        shadow_kernel_store(&shadow, address, 33, 64, NULL, zeros);
        shadow_forget(&shadow, address, 1ull << 62);
    }
    shadow_flush(&shadow);
    assert_int_equal(shadow.pairs_count, 0);
    stop(&shadow, &maps);
}

/* A big range: cleared by pages, but for its edges. */
static void forgetting_much_clears_pages(void **state)
{
    struct shadow shadow;
    struct maps maps;
    start(&shadow, &maps, IDS, 0);
    for (uint32_t id = 1; id < IDS; id++)
        shadow_define(&shadow, id, 1);
    for (uint64_t address = 1; address < LIMIT; address += 3)
        shadow_store_fast(&shadow, address, 16 + address % 5, 1, 0, "", false);
    shadow_forget(&shadow, 13, LIMIT - 13 - 6);
    assert_in_range(maps.cleared, LIMIT * 3 - 3 * 4096, LIMIT * 3);
    assert_true(shadow_check(&shadow, 0, 256));
    assert_true(shadow_check(&shadow, LIMIT - 256, LIMIT));
    for (uint64_t address = 16; address < LIMIT - 8; address += 8) {
        struct shadow_record *record = shadow_record_of(&shadow, address);
        for (uint32_t i = 0; i < 2; i++)
            assert_int_equal(record->store[i] | record->load[i] | record->loaded, 0);
    }
    stop(&shadow, &maps);
}

/* Units next to each other, in two regions of memory: their cells have the same number, and are not the same. */
static void regions_have_cells_of_their_own(void **state)
{
    const uint64_t border = UINT64_C(1) << SHADOW_REGION_SHIFT;
    struct shadow shadow;
    struct maps maps = {0};
    struct shadow_memory memory = {maps_map, maps_unmap, maps_clear, &maps};
    assert_int_equal(shadow_init(&shadow, 2 * border, IDS, 0, &memory), BASE_OK);
    for (uint32_t id = 1; id < IDS; id++)
        shadow_define(&shadow, id, 1);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t side = 0; side < 2; side++) {
            uint64_t unit = side ? border : border - 4;
            shadow_load_fast(&shadow, unit, 1 + 2 * side, 4, &(uint32_t){0}, false);
            shadow_load_fast(&shadow, unit + 1, 2 + 2 * side, 1, "", false);
        }
        for (uint32_t side = 0; side < 2; side++)
            for (uint32_t byte = 0; byte < 4; byte++)
                shadow_load_fast(&shadow, (side ? border : border - 4) + byte, 5 + side, 1, "",
                                 false);
        for (uint32_t side = 0; side < 2; side++)
            assert_int_equal(shadow.loads.regions[side].taken, 1);
        assert_true(shadow_check(&shadow, 0, 2 * border));
        shadow_forget(&shadow, border - 64, 128);
        assert_true(shadow_check(&shadow, 0, 2 * border));
    }
    counts_of(&shadow, &counts_a);
    assert_int_equal(counts_a.fresh_loads, 2 * 8);
    for (uint32_t first = 1; first <= 4; first++)
        for (uint32_t second = 5; second <= 6; second++)
            assert_int_equal(counts_a.pairs[DETECT_LOAD][WASTE][first][second],
                             (first <= 2) != (second == 5) ? 0
                             : first % 2                   ? 2 * 3
                                                           : 2 * 1);
    shadow_free(&shadow);
    assert_int_equal(maps.live, 0);
}

/* The kernel's accesses of any length are the sum of their parts. */
static void kernel_accesses_may_be_long(void **state)
{
    enum { LONG = 10000 };
    struct shadow shadow;
    struct maps maps;
    static uint8_t memory[LONG];
    start(&shadow, &maps, IDS, 0);
    for (uint32_t id = 1; id < IDS; id++)
        shadow_define(&shadow, id, 8);
    for (uint32_t i = 0; i < LONG / 8; i++)
        shadow_store_fast(&shadow, 8 * i, 16, 8, 0, &(uint64_t){0}, false);
    memory[4001] = 1;
    shadow_kernel_load(&shadow, 3, 32, LONG - 3, memory);
    shadow_kernel_load(&shadow, 3, 34, LONG - 3, memory);
    shadow_kernel_store(&shadow, 5, 33, LONG - 5, memory, memory);
    shadow_kernel_store(&shadow, 5, 35, LONG - 5, memory, memory);
    counts_of(&shadow, &counts_a);
    assert_int_equal(counts_a.pairs[DETECT_DEAD][USE][16][32], LONG - 3);
    assert_int_equal(counts_a.pairs[DETECT_DEAD][USE][16][34], 0);
    assert_int_equal(counts_a.fresh_loads, 2 * (LONG - 3));
    assert_int_equal(counts_a.pairs[DETECT_SILENT][WASTE][16][33], LONG - 5);
    assert_int_equal(counts_a.fresh_stores, LONG + LONG - 5);
    assert_true(shadow_check(&shadow, 0, LONG));
    stop(&shadow, &maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_count_as_the_oracle),
        cmocka_unit_test(events_count_as_the_oracle),
        cmocka_unit_test(order_is_that_of_what_is_in_the_table),
        cmocka_unit_test(lost_events_are_seen),
        cmocka_unit_test(planted_faults_are_seen),
        cmocka_unit_test(observed_waste_is_the_waste),
        cmocka_unit_test(samples_count_as_the_oracle_at_their_locations),
        cmocka_unit_test(samples_meet_no_stride),
        cmocka_unit_test(rounds_draw_all_alike),
        cmocka_unit_test(tidy_traces_count_as_detect),
        cmocka_unit_test(refused_maps_leave_nothing),
        cmocka_unit_test(the_pair_table_grows),
        cmocka_unit_test(a_refused_table_ends_counting),
        cmocka_unit_test(a_bounded_table_merges_the_least_and_keeps_totals),
        cmocka_unit_test(a_refused_merge_ends_counting),
        cmocka_unit_test(addresses_beyond_the_limit_are_left_alone),
        cmocka_unit_test(forgetting_much_clears_pages),
        cmocka_unit_test(regions_have_cells_of_their_own),
        cmocka_unit_test(kernel_accesses_may_be_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
