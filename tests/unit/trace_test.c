// SPDX-License-Identifier: MIT
/*
 * trace: what was written is read back, for random and for structured traces of every kind of
 * event; what was cut or damaged is noticed; what was forged is at worst wrong, never out of bounds
 * or undefined.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "wire/trace.h"

enum { IDS_MAX = 4096, NODES_MAX = 4 * IDS_MAX, FORGED_MAX = 25000 };

/* ---- streams and events in memory ------------------------------------------------------------ */

struct stream {
    uint8_t *bytes;
    size_t count, capacity, at;
    size_t piece;  /* most bytes of one read, 0: all asked for */
    size_t accept; /* bytes that the sink takes, 0: all        */
    unsigned calls;
    bool broken; /* reads fail at the end */
};

static bool sink(void *context, const void *bytes, size_t count)
{
    struct stream *stream = context;
    stream->calls++;
    if (stream->accept && stream->count + count > stream->accept)
        return false;
    if (stream->count + count > stream->capacity) {
        stream->capacity = (stream->count + count) * 2;
        stream->bytes = realloc(stream->bytes, stream->capacity);
        assert_non_null(stream->bytes);
    }
    memcpy(stream->bytes + stream->count, bytes, count);
    stream->count += count;
    return true;
}

static int64_t source(void *context, void *bytes, size_t count)
{
    struct stream *stream = context;
    size_t left = stream->count - stream->at;
    if (count > left)
        count = left;
    if (stream->piece && count > stream->piece)
        count = stream->piece;
    if (count == 0 && stream->broken)
        return -1;
    memcpy(bytes, stream->bytes + stream->at, count);
    stream->at += count;
    return (int64_t)count;
}

/* Events with copies of their values. */
struct events {
    struct wire_trace_event *list;
    size_t count, capacity;
};

static size_t value_bytes(const struct wire_trace_event *event)
{
    if (!event->value)
        return 0;
    return event->type == WIRE_TRACE_MODULE ? strlen((const char *)event->value) + 1 : event->bytes;
}

static void keep(struct events *events, const struct wire_trace_event *event)
{
    if (events->count == events->capacity) {
        events->capacity = events->capacity * 2 + 64;
        events->list = realloc(events->list, events->capacity * sizeof(*events->list));
        assert_non_null(events->list);
    }
    struct wire_trace_event *copy = &events->list[events->count++];
    *copy = *event;
    if (!event->value)
        return;
    uint8_t *value = malloc(value_bytes(event) + 1);
    assert_non_null(value);
    memcpy(value, event->value, value_bytes(event));
    copy->value = value;
}

static void drop(struct events *events)
{
    for (size_t i = 0; i < events->count; i++)
        free((void *)(uintptr_t)events->list[i].value);
    free(events->list);
    *events = (struct events){0};
}

static bool same_event(const struct wire_trace_event *a, const struct wire_trace_event *b)
{
    return a->type == b->type && a->element == b->element && a->store == b->store &&
           a->id == b->id && a->node == b->node && a->module == b->module &&
           a->address == b->address && a->bytes == b->bytes && a->bias == b->bias &&
           a->flags == b->flags && !a->value == !b->value &&
           (!a->value ||
            (value_bytes(a) == value_bytes(b) && memcmp(a->value, b->value, value_bytes(a)) == 0));
}

/* ---- writers and readers --------------------------------------------------------------------- */

/* Zeroed as often as wanted without touching what was not touched. */
static void *predictor_memory(unsigned which, uint32_t most_ids)
{
    static void *memory[2];
    static size_t sizes[2];
    if (sizes[which] != wire_trace_predictor_bytes(most_ids)) {
        if (memory[which])
            munmap(memory[which], sizes[which]);
        sizes[which] = wire_trace_predictor_bytes(most_ids);
        memory[which] = mmap(NULL, sizes[which], PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert_true(memory[which] != MAP_FAILED);
    }
    assert_int_equal(madvise(memory[which], sizes[which], MADV_DONTNEED), 0);
    return memory[which];
}

static struct wire_trace_writer *begin(struct stream *stream, bool values)
{
    struct wire_trace_writer *writer = malloc(wire_trace_writer_bytes());
    assert_non_null(writer);
    wire_trace_begin(writer, predictor_memory(0, IDS_MAX), IDS_MAX, values, sink, stream);
    return writer;
}

static struct wire_trace_reader *open_stream(struct stream *stream, uint32_t most_ids,
                                             enum base_status expected)
{
    struct wire_trace_reader *reader = malloc(wire_trace_reader_bytes());
    assert_non_null(reader);
    stream->at = 0;
    assert_int_equal(
        wire_trace_open(reader, predictor_memory(1, most_ids), most_ids, source, stream), expected);
    return reader;
}

static void write_all(struct stream *stream, const struct events *events, bool values)
{
    struct wire_trace_writer *writer = begin(stream, values);
    for (size_t i = 0; i < events->count; i++)
        assert_true(wire_trace_write(writer, &events->list[i]));
    assert_true(wire_trace_end(writer));
    free(writer);
}

/* How a trace reads that was written without values. */
static struct wire_trace_event without_value(struct wire_trace_event event)
{
    if (event.type != WIRE_TRACE_MODULE)
        event.value = NULL;
    return event;
}

static void read_all(struct stream *stream, const struct events *events, bool values)
{
    struct wire_trace_reader *reader = open_stream(stream, IDS_MAX + 77, BASE_OK);
    struct wire_trace_event event;
    assert_int_equal(wire_trace_has_values(reader), values);
    for (size_t i = 0; i < events->count; i++) {
        struct wire_trace_event expected =
            values ? events->list[i] : without_value(events->list[i]);
        assert_int_equal(wire_trace_next(reader, &event), BASE_OK);
        if (!same_event(&event, &expected))
            fail_msg("event %zu of %zu: type %u id %u address %#lx, expected %u %u %#lx", i,
                     events->count, event.type, event.id, event.address, expected.type, expected.id,
                     expected.address);
    }
    assert_int_equal(wire_trace_next(reader, &event), BASE_OK);
    assert_int_equal(event.type, WIRE_TRACE_END);
    event.id = 12345;
    assert_int_equal(wire_trace_next(reader, &event), BASE_NOT_FOUND);
    assert_int_equal(wire_trace_next(reader, &event), BASE_NOT_FOUND);
    assert_int_equal(event.id, 12345);
    free(reader);
}

/* ---- random traces --------------------------------------------------------------------------- */

/* What a trace defines so far, and some state to make accesses that have structure. */
struct maker {
    struct base_random random;
    struct events *events;
    uint32_t nodes[256], modules[64], ids[256];
    uint32_t bytes[IDS_MAX];
    bool store[IDS_MAX], defined[IDS_MAX], node_defined[NODES_MAX], module_defined[65536];
    unsigned node_count, module_count, id_count;
    uint64_t cursor;
};

static uint64_t below(struct maker *maker, uint64_t bound)
{
    return base_random_below(&maker->random, bound);
}

/* Mostly small, sometimes anything. */
static uint64_t odd_number(struct maker *maker)
{
    switch (below(maker, 8)) {
    case 0: return base_random_next(&maker->random);
    case 1: return UINT64_MAX - below(maker, 3);
    case 2: return 0;
    default: return base_random_next(&maker->random) >> below(maker, 64);
    }
}

static void make_module(struct maker *maker)
{
    static const char *const paths[] = {"", "/usr/lib/libc.so.6", "[vdso]", "/a b\xff\n"};
    uint32_t module = (uint32_t)(1 + below(maker, 65535));
    if (maker->module_defined[module] || maker->module_count == BASE_COUNT(maker->modules))
        return;
    maker->module_defined[module] = true;
    maker->modules[maker->module_count++] = module;
    keep(maker->events,
         &(struct wire_trace_event){.type = WIRE_TRACE_MODULE,
                                    .id = module,
                                    .address = odd_number(maker),
                                    .bytes = odd_number(maker),
                                    .bias = odd_number(maker),
                                    .value = (const uint8_t *)paths[below(maker, 4)]});
}

static void make_node(struct maker *maker)
{
    uint32_t node =
        below(maker, 2) ? (uint32_t)(1 + below(maker, NODES_MAX - 1)) : maker->node_count + 1;
    if (maker->node_defined[node] || maker->node_count == BASE_COUNT(maker->nodes))
        return;
    struct wire_trace_event event = {
        .type = WIRE_TRACE_NODE,
        .id = node,
        .node = maker->node_count ? maker->nodes[below(maker, maker->node_count)] : 0,
        .module = maker->module_count ? maker->modules[below(maker, maker->module_count)] : 0,
        .address = odd_number(maker),
        .flags = (uint32_t)odd_number(maker)};
    maker->node_defined[node] = true;
    maker->nodes[maker->node_count++] = node;
    keep(maker->events, &event);
}

static void make_id(struct maker *maker)
{
    static const uint32_t widths[] = {1, 2,  3,  4,  5,  6,  7,   8,     8,
                                      8, 10, 16, 28, 32, 64, 512, 65535, 0};
    uint32_t id = below(maker, 2) ? (uint32_t)below(maker, IDS_MAX) : maker->id_count + 1;
    if (maker->defined[id] || maker->id_count == BASE_COUNT(maker->ids))
        return;
    struct wire_trace_event event = {
        .type = WIRE_TRACE_ACCESS,
        .id = id,
        .node = maker->node_count ? maker->nodes[below(maker, maker->node_count)] : 0,
        .element = (uint8_t)below(maker, 256),
        .store = below(maker, 2),
        .bytes = widths[below(maker, BASE_COUNT(widths))]};
    maker->defined[id] = true;
    maker->store[id] = event.store;
    maker->bytes[id] = (uint32_t)event.bytes;
    maker->ids[maker->id_count++] = id;
    keep(maker->events, &event);
}

static uint64_t make_address(struct maker *maker)
{
    switch (below(maker, 16)) {
    case 0: return base_random_next(&maker->random);
    case 1: return UINT64_MAX - below(maker, 64);
    case 2: return (1 << 24) - below(maker, 64); /* at an edge of the image */
    case 3: return 0x7ffff0000000 + below(maker, 256);
    default: return maker->cursor += below(maker, 3) * 8;
    }
}

static void fill(struct maker *maker, uint8_t *value, size_t bytes)
{
    uint64_t kind = below(maker, 4);
    for (size_t i = 0; i < bytes; i++)
        value[i] = kind == 0   ? (uint8_t)below(maker, 256)
                   : kind == 1 ? (uint8_t)(i % 8 == 0 ? below(maker, 4) : 0)
                   : kind == 2 ? 0xff
                               : 0;
}

static void make_access(struct maker *maker)
{
    uint8_t value[WIRE_TRACE_BYTES_MAX];
    if (!maker->id_count)
        return;
    uint32_t id = maker->ids[below(maker, maker->id_count)];
    uint32_t bytes =
        maker->bytes[id] < WIRE_TRACE_BYTES_MAX ? maker->bytes[id] : WIRE_TRACE_BYTES_MAX;
    if (bytes == 0)
        return;
    fill(maker, value, bytes);
    keep(maker->events,
         &(struct wire_trace_event){.type = maker->store[id] ? WIRE_TRACE_STORE : WIRE_TRACE_LOAD,
                                    .id = id,
                                    .address = make_address(maker),
                                    .bytes = bytes,
                                    .value = value});
}

static void make_kernel(struct maker *maker)
{
    static uint8_t value[16384];
    if (!maker->id_count)
        return;
    struct wire_trace_event event = {.type = WIRE_TRACE_KERNEL_LOAD,
                                     .id = maker->ids[below(maker, maker->id_count)],
                                     .address = make_address(maker),
                                     .bytes = odd_number(maker)};
    uint64_t kind = below(maker, 3);
    event.type = kind == 0 ? WIRE_TRACE_KERNEL_LOAD : WIRE_TRACE_KERNEL_STORE;
    if (kind == 2) {
        event.bytes = below(maker, 8) ? below(maker, 100) : below(maker, sizeof(value) + 1);
        fill(maker, value, event.bytes);
        event.value = value;
    }
    keep(maker->events, &event);
}

static void make_other(struct maker *maker)
{
    if (below(maker, 2)) {
        keep(maker->events, &(struct wire_trace_event){.type = WIRE_TRACE_THREAD,
                                                       .id = (uint32_t)odd_number(maker)});
        return;
    }
    keep(maker->events, &(struct wire_trace_event){.type = WIRE_TRACE_FORGET,
                                                   .address = make_address(maker),
                                                   .bytes = odd_number(maker)});
}

/* A loop over some of the ids: runs of predicted events with exceptions. */
static void make_loop(struct maker *maker)
{
    uint8_t value[WIRE_TRACE_BYTES_MAX] = {0};
    unsigned length = (unsigned)(1 + below(maker, 5)), first = (unsigned)below(maker, 200);
    uint64_t turns = below(maker, 60), start = make_address(maker);
    for (uint64_t turn = 0; turn < turns; turn++)
        for (unsigned i = 0; i < length && first + i < maker->id_count; i++) {
            uint32_t id = maker->ids[first + i];
            uint32_t bytes =
                maker->bytes[id] < WIRE_TRACE_BYTES_MAX ? maker->bytes[id] : WIRE_TRACE_BYTES_MAX;
            if (!bytes || below(maker, 40) == 0)
                continue;
            value[0] = (uint8_t)(below(maker, 30) ? turn * i : 99);
            keep(maker->events, &(struct wire_trace_event){
                                    .type = maker->store[id] ? WIRE_TRACE_STORE : WIRE_TRACE_LOAD,
                                    .id = id,
                                    .address = start + i * 4096 + turn * bytes,
                                    .bytes = bytes,
                                    .value = value});
        }
}

static void make_events(struct events *events, uint64_t seed, size_t count)
{
    struct maker *maker = calloc(1, sizeof(*maker));
    assert_non_null(maker);
    maker->random.state = seed;
    maker->events = events;
    maker->cursor = 0x10000;
    while (events->count < count) {
        switch (below(maker, 64)) {
        case 0: make_module(maker); break;
        case 1:
        case 2: make_node(maker); break;
        case 3:
        case 4: make_id(maker); break;
        case 5: make_kernel(maker); break;
        case 6: make_other(maker); break;
        case 7: make_loop(maker); break;
        default: make_access(maker);
        }
    }
    free(maker);
}

static void random_traces_come_back(void **state)
{
    unsigned seen[WIRE_TRACE_TYPES] = {0};
    size_t bytes = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct events events = {0};
        struct stream stream = {.piece = seed % 3 ? 0 : 7};
        make_events(&events, seed, seed % 10 == 0 ? 60000 : 1500);
        for (size_t i = 0; i < events.count; i++)
            seen[events.list[i].type]++;
        for (int values = 0; values < 2; values++) {
            stream.count = 0;
            write_all(&stream, &events, values);
            read_all(&stream, &events, values);
            bytes += stream.count;
        }
        free(stream.bytes);
        drop(&events);
    }
    for (unsigned type = WIRE_TRACE_LOAD; type < WIRE_TRACE_END; type++)
        assert_true(seen[type] > 50);
    print_message("# %u loads, %u stores, %zu bytes\n", seen[WIRE_TRACE_LOAD],
                  seen[WIRE_TRACE_STORE], bytes);
}

/* The comparison above is worth something: one changed byte of one value, one address, is seen. */
static void the_comparison_sees_faults(void **state)
{
    struct events events = {0};
    make_events(&events, 5, 1000);
    for (size_t i = 0; i < events.count; i++) {
        struct wire_trace_event fault = events.list[i];
        uint8_t value[65536];
        assert_true(same_event(&fault, &events.list[i]));
        fault.address ^= 1;
        assert_false(same_event(&fault, &events.list[i]));
        fault.address ^= 1;
        if (!fault.value || value_bytes(&fault) < 2)
            continue;
        memcpy(value, fault.value, value_bytes(&fault));
        value[0] ^= 1;
        fault.value = value;
        assert_false(same_event(&fault, &events.list[i]));
    }
    drop(&events);
}

/* wire_trace_access is only a quicker way. */
static void both_ways_write_the_same(void **state)
{
    struct events events = {0};
    make_events(&events, 99, 5000);
    for (int values = 0; values < 2; values++) {
        struct stream general = {0}, quick = {0};
        write_all(&general, &events, values);
        struct wire_trace_writer *writer = begin(&quick, values);
        for (size_t i = 0; i < events.count; i++) {
            const struct wire_trace_event *event = &events.list[i];
            uint64_t value = UINT64_MAX;
            bool narrow = event->type <= WIRE_TRACE_STORE && event->bytes <= 8;
            if (narrow)
                memcpy(&value, event->value, event->bytes);
            assert_true(narrow ? wire_trace_access(writer, event->id, event->address, value)
                               : wire_trace_write(writer, event));
        }
        assert_true(wire_trace_end(writer));
        assert_int_equal(general.count, quick.count);
        assert_memory_equal(general.bytes, quick.bytes, quick.count);
        free(writer);
        free(general.bytes);
        free(quick.bytes);
    }
    drop(&events);
}

/* ---- structured traces ----------------------------------------------------------------------- */

static void define(struct events *events, uint32_t id, uint32_t bytes, bool store)
{
    keep(events, &(struct wire_trace_event){.type = WIRE_TRACE_NODE, .id = id, .address = id * 4});
    keep(events, &(struct wire_trace_event){.type = WIRE_TRACE_ACCESS,
                                            .id = id,
                                            .node = id,
                                            .bytes = bytes,
                                            .element = (uint8_t)bytes,
                                            .store = store});
}

static void touch(struct events *events, uint32_t id, uint64_t address, uint64_t value)
{
    uint8_t bytes[WIRE_TRACE_BYTES_MAX];
    struct wire_trace_event event = {.id = id, .address = address, .value = bytes};
    const struct wire_trace_event *known = &events->list[id * 2 - 1]; /* define() in order of ids */
    event.type = known->store ? WIRE_TRACE_STORE : WIRE_TRACE_LOAD;
    event.bytes = known->bytes;
    for (size_t at = 0; at < sizeof(bytes); at += sizeof(value))
        memcpy(bytes + at, &value, sizeof(value));
    keep(events, &event);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* c[i][j] += a[i][k] * b[k][j] */
static void make_matrix(struct events *events)
{
    enum { SIDE = 32, A = 0x100000, B = 0x200000, C = 0x300000 };
    define(events, 1, 8, false);
    define(events, 2, 8, false);
    define(events, 3, 8, false);
    define(events, 4, 8, true);
    for (uint64_t i = 0; i < SIDE; i++)
        for (uint64_t j = 0; j < SIDE; j++)
            for (uint64_t k = 0; k < SIDE; k++) {
                touch(events, 1, A + (i * SIDE + k) * 8, bits_of(1.0 / (double)(i + k + 1)));
                touch(events, 2, B + (k * SIDE + j) * 8, bits_of(1.0 / (double)(k * j + 1)));
                touch(events, 3, C + (i * SIDE + j) * 8, bits_of((double)k / (double)(j + 1)));
                touch(events, 4, C + (i * SIDE + j) * 8,
                      bits_of((double)(k + 1) / (double)(j + 1)));
            }
}

/* memcpy by 32 bytes, then a sum by 4. */
static void make_copy(struct events *events)
{
    enum { BYTES = 1 << 17 };
    struct base_random random = {1};
    define(events, 1, 32, false);
    define(events, 2, 32, true);
    define(events, 3, 4, false);
    for (unsigned round = 0; round < 4; round++)
        for (uint64_t at = 0; at < BYTES; at += 32) {
            uint64_t value = round ? 0x12345 : base_random_next(&random) >> 32;
            touch(events, 1, 0x1000000 + at, value);
            touch(events, 2, 0x5000000 + at, value);
            touch(events, 3, 0x5000000 + at, value);
        }
}

/* A list in random order: p->value, p = p->next. */
static void make_list(struct events *events)
{
    enum { NODES = 4096, TURNS = 6 };
    static uint64_t order[NODES];
    struct base_random random = {2};
    define(events, 1, 4, false);
    define(events, 2, 8, false);
    for (uint64_t i = 0; i < NODES; i++)
        order[i] = i;
    for (uint64_t i = NODES - 1; i > 0; i--) {
        uint64_t other = base_random_below(&random, i + 1), swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (uint64_t i = 0; i < NODES; i++) {
            touch(events, 1, 0x600000 + order[i] * 32, order[i] % 100);
            touch(events, 2, 0x600000 + order[i] * 32 + 8, 0x600000 + order[(i + 1) % NODES] * 32);
        }
}

/* Calls: return addresses and saved registers pushed and popped, depth as in a recursion. */
static void make_calls(struct events *events)
{
    struct base_random random = {3};
    uint64_t depth = 0;
    for (uint32_t id = 1; id <= 6; id++)
        define(events, id, 8, id <= 3);
    for (unsigned i = 0; i < 60000; i++) {
        bool call = depth == 0 || (depth < 40 && base_random_below(&random, 2));
        uint64_t top = 0x7ffffff000 - depth * 48;
        for (uint32_t slot = 0; slot < 3; slot++) {
            uint64_t at = call ? top - 8 * slot : top + 48 - 8 * (2 - slot);
            uint64_t value =
                ((call ? depth : depth - 1) * 3 + (call ? slot : 2 - slot)) * 64 + 0x401000;
            touch(events, call ? 1 + slot : 4 + slot, at, value);
        }
        depth += call ? 1 : (uint64_t)-1;
    }
}

static void structured_traces_are_small(void **state)
{
    static const struct {
        const char *name;
        void (*make)(struct events *events);
    } traces[] = {{"matrix product", make_matrix},
                  {"copy and sum", make_copy},
                  {"list in random order", make_list},
                  {"calls", make_calls}};
    for (unsigned i = 0; i < BASE_COUNT(traces); i++) {
        struct events events = {0};
        double bytes[2];
        traces[i].make(&events);
        for (int values = 0; values < 2; values++) {
            struct stream stream = {0};
            write_all(&stream, &events, values);
            read_all(&stream, &events, values);
            bytes[values] = (double)stream.count / (double)events.count;
            free(stream.bytes);
        }
        print_message("# %s: %zu events, %.3f bytes each, %.3f with values\n", traces[i].name,
                      events.count, bytes[0], bytes[1]);
        assert_true(bytes[0] < 3 && bytes[1] < 6);
        drop(&events);
    }
}

/* ---- the format ------------------------------------------------------------------------------ */

/* As in docs/formats/trace.md, by hand; checksums are those of the header and of the frame. */
static void the_format_is_as_described(void **state)
{
    static const uint8_t payload[] = {
        0x03, 6,    0x01, 0x01, 0x11, 0x88, 1, /* id 1 at the root: 8 bytes, double, store      */
        0x38, 0x02, 0x02, 0x05,                /* guessed id, address 0 + 64, value 0 + 1       */
        0x03, 9,
    };
    struct stream stream = {0};
    uint64_t one = 1, sum;
    struct wire_trace_event definition = {
        .type = WIRE_TRACE_ACCESS, .id = 1, .element = 0x88, .store = true, .bytes = 8};
    struct wire_trace_event store = {.type = WIRE_TRACE_STORE,
                                     .id = 1,
                                     .address = 64,
                                     .bytes = 8,
                                     .value = (const uint8_t *)&one};
    struct wire_trace_writer *writer = begin(&stream, true);
    assert_true(wire_trace_write(writer, &definition));
    assert_true(wire_trace_write(writer, &store));
    assert_true(wire_trace_end(writer));
    assert_int_equal(stream.count, 24 + 16 + sizeof(payload));
    assert_memory_equal(stream.bytes, "HDRTRACE\1\0\0\0\1\0\0\0", 16);
    sum = base_hash_bytes(stream.bytes, 16, 0);
    assert_memory_equal(stream.bytes + 16, &sum, 8);
    assert_memory_equal(stream.bytes + 24, "HTFR\x0d\0\0\0", 8);
    sum = base_hash_bytes(payload, sizeof(payload), sizeof(payload));
    assert_memory_equal(stream.bytes + 32, &sum, 8);
    assert_memory_equal(stream.bytes + 40, payload, sizeof(payload));
    free(writer);
    free(stream.bytes);
}

/* Whatever changes a guess makes old traces unreadable: then this fails, and WIRE_TRACE_VERSION and
   the document must follow. */
static void the_guesses_are_fixed(void **state)
{
    static const uint64_t expected[2] = {0x5a018baa3e43c853, 0x788f95c4d82b10fe};
    struct events events = {0};
    make_matrix(&events);
    for (int values = 0; values < 2; values++) {
        struct stream stream = {0};
        write_all(&stream, &events, values);
        assert_int_equal(base_hash_bytes(stream.bytes, stream.count, WIRE_TRACE_VERSION),
                         expected[values]);
        free(stream.bytes);
    }
    drop(&events);
}

/* ---- cut and damaged streams ----------------------------------------------------------------- */

/* Reads until the end; every event must be the expected one. Returns how many came. */
static size_t read_prefix(struct stream *stream, const struct events *events,
                          enum base_status *status)
{
    struct wire_trace_reader *reader = malloc(wire_trace_reader_bytes());
    struct wire_trace_event event;
    size_t count = 0;
    assert_non_null(reader);
    stream->at = 0;
    *status = wire_trace_open(reader, predictor_memory(1, IDS_MAX), IDS_MAX, source, stream);
    while (*status == BASE_OK && (*status = wire_trace_next(reader, &event)) == BASE_OK) {
        if (count < events->count)
            assert_true(same_event(&event, &events->list[count]));
        else
            assert_int_equal(event.type, WIRE_TRACE_END);
        count++;
    }
    free(reader);
    return count;
}

/* Small, of several frames. */
static void make_small(struct events *events, struct stream *stream)
{
    make_events(events, 11, 150);
    struct wire_trace_writer *writer = begin(stream, true);
    for (size_t i = 0; i < events->count; i++) {
        assert_true(wire_trace_write(writer, &events->list[i]));
        if (i % 40 == 39)
            assert_true(wire_trace_flush(writer));
    }
    assert_true(wire_trace_end(writer));
    free(writer);
}

static void cut_traces_end_early(void **state)
{
    struct events events = {0};
    struct stream stream = {0};
    make_small(&events, &stream);
    const size_t whole = stream.count;
    size_t before = 0;
    for (stream.count = 0; stream.count <= whole; stream.count++) {
        /* A copy of the exact size, so that ASan sees what is read beyond. */
        struct stream cut = {.bytes = malloc(stream.count + !stream.count), .count = stream.count};
        enum base_status status;
        assert_non_null(cut.bytes);
        memcpy(cut.bytes, stream.bytes, cut.count);
        size_t count = read_prefix(&cut, &events, &status);
        assert_int_equal(status, cut.count < 24 ? BASE_MALFORMED : BASE_NOT_FOUND);
        assert_true(count >= before && count <= events.count + 1);
        assert_int_equal(count == events.count + 1, cut.count == whole);
        before = count;
        free(cut.bytes);
    }
    assert_true(whole > 1000);
    free(stream.bytes);
    drop(&events);
}

static void flipped_bits_are_detected(void **state)
{
    struct events events = {0};
    struct stream stream = {0};
    unsigned statuses[BASE_BUSY + 1] = {0};
    make_small(&events, &stream);
    for (size_t bit = 0; bit < stream.count * 8; bit++) {
        enum base_status status;
        stream.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        size_t count = read_prefix(&stream, &events, &status);
        assert_true(count <= events.count); /* in no case the end */
        assert_true(status == BASE_MALFORMED || status == BASE_NOT_FOUND);
        statuses[status]++;
        stream.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    print_message("# %zu bits flipped: %u malformed, %u seem cut\n", stream.count * 8,
                  statuses[BASE_MALFORMED], statuses[BASE_NOT_FOUND]);
    /* Only a frame's length, flipped upwards, can look like a cut. */
    assert_true(statuses[BASE_NOT_FOUND] < 17 * 20);
    free(stream.bytes);
    drop(&events);
}

static void lost_and_exchanged_frames_are_detected(void **state)
{
    struct events events = {0};
    struct stream stream = {0}, without = {0};
    uint32_t first;
    enum base_status status;
    make_small(&events, &stream);
    memcpy(&first, stream.bytes + 28, sizeof(first));
    assert_true(sink(&without, stream.bytes, 24));
    assert_true(sink(&without, stream.bytes + 24 + 16 + first, stream.count - 24 - 16 - first));
    assert_int_equal(read_prefix(&without, &events, &status), 0);
    assert_int_equal(status, BASE_MALFORMED);
    free(stream.bytes);
    free(without.bytes);
    drop(&events);
}

/* ---- forged streams -------------------------------------------------------------------------- */

static void repair_checksums(struct stream *stream)
{
    size_t at = 24;
    for (uint32_t bytes, sequence = 0; at + 16 <= stream->count; at += 16 + bytes, sequence++) {
        memcpy(&bytes, stream->bytes + at + 4, sizeof(bytes));
        if (bytes > stream->count - at - 16)
            return;
        uint64_t sum =
            base_hash_bytes(stream->bytes + at + 16, bytes, (uint64_t)sequence << 32 | bytes);
        memcpy(stream->bytes + at + 8, &sum, sizeof(sum));
    }
}

/* What a reader promises of any stream. Returns the number of events. */
static size_t read_forged(struct stream *stream, uint32_t most_ids, enum base_status *status)
{
    static uint8_t ids[IDS_MAX], nodes[NODES_MAX], modules[65536];
    static uint16_t widths[IDS_MAX];
    struct wire_trace_reader *reader = open_stream(stream, most_ids, BASE_OK);
    struct wire_trace_event event;
    size_t count = 0;
    memset(ids, 0, sizeof(ids));
    memset(nodes, 0, sizeof(nodes));
    memset(modules, 0, sizeof(modules));
    nodes[0] = modules[0] = 1;
    while (count < FORGED_MAX && (*status = wire_trace_next(reader, &event)) == BASE_OK) {
        volatile uint8_t sum = 0;
        count++;
        for (size_t i = 0; event.value && i < value_bytes(&event); i++)
            sum = (uint8_t)(sum + event.value[i]);
        switch (event.type) {
        case WIRE_TRACE_LOAD:
        case WIRE_TRACE_STORE:
            assert_true(event.id < most_ids &&
                        ids[event.id] == (event.type == WIRE_TRACE_STORE) + 1);
            assert_true(event.bytes > 0 && event.bytes <= WIRE_TRACE_BYTES_MAX);
            assert_true(event.bytes <= widths[event.id]);
            assert_int_equal(event.value != NULL, wire_trace_has_values(reader));
            break;
        case WIRE_TRACE_KERNEL_LOAD:
        case WIRE_TRACE_KERNEL_STORE:
            assert_true(event.id < most_ids && ids[event.id]);
            assert_true(!event.value || event.type == WIRE_TRACE_KERNEL_STORE);
            break;
        case WIRE_TRACE_ACCESS:
            assert_true(event.id < most_ids && !ids[event.id] && nodes[event.node]);
            ids[event.id] = (uint8_t)(event.store + 1);
            widths[event.id] = (uint16_t)event.bytes;
            break;
        case WIRE_TRACE_NODE:
            assert_true(event.id < most_ids * 4 && !nodes[event.id] && nodes[event.node] &&
                        modules[event.module]);
            nodes[event.id] = 1;
            break;
        case WIRE_TRACE_MODULE:
            assert_true(event.id < sizeof(modules) && !modules[event.id] && event.value);
            modules[event.id] = 1;
            break;
        default:
            assert_true(event.type == WIRE_TRACE_THREAD || event.type == WIRE_TRACE_FORGET ||
                        event.type == WIRE_TRACE_END);
        }
    }
    free(reader);
    return count;
}

/* A frame of these bytes alone. */
static void forge(struct stream *stream, bool values, const void *payload, uint32_t bytes)
{
    uint8_t header[24] = "HDRTRACE\1";
    uint8_t frame[16] = "HTFR";
    header[12] = values;
    uint64_t sum = base_hash_bytes(header, 16, 0);
    memcpy(header + 16, &sum, sizeof(sum));
    memcpy(frame + 4, &bytes, sizeof(bytes));
    stream->count = 0;
    assert_true(sink(stream, header, sizeof(header)) && sink(stream, frame, sizeof(frame)) &&
                sink(stream, payload, bytes));
    repair_checksums(stream);
}

static void forged_traces_are_harmless(void **state)
{
    struct base_random random = {17};
    unsigned statuses[BASE_BUSY + 1] = {0};
    size_t came = 0;
    for (unsigned round = 0; round < 4000; round++) {
        struct events events = {0};
        struct stream stream = {0};
        enum base_status status = BASE_OK;
        make_events(&events, round % 50, 120);
        write_all(&stream, &events, round % 2);
        for (uint64_t faults = 1 + base_random_below(&random, 4); faults > 0; faults--) {
            size_t at = 40 + base_random_below(&random, stream.count - 40);
            stream.bytes[at] = (uint8_t)base_random_next(&random);
        }
        repair_checksums(&stream);
        came += read_forged(&stream, IDS_MAX, &status);
        statuses[status]++;
        free(stream.bytes);
        drop(&events);
    }
    print_message(
        "# 4000 forged traces: %zu events, %u malformed, %u ended, %u beyond the limits\n", came,
        statuses[BASE_MALFORMED], statuses[BASE_NOT_FOUND], statuses[BASE_NO_MEMORY]);
    assert_true(statuses[BASE_MALFORMED] > 100 && statuses[BASE_NOT_FOUND] > 100);
}

static void random_bytes_are_harmless(void **state)
{
    struct base_random random = {18};
    struct stream stream = {0};
    for (unsigned round = 0; round < 4000; round++) {
        uint8_t payload[512];
        enum base_status status = BASE_OK;
        uint32_t bytes = (uint32_t)(1 + base_random_below(&random, sizeof(payload)));
        for (unsigned i = 0; i < bytes; i++)
            payload[i] = (uint8_t)(base_random_below(&random, 3) ? base_random_below(&random, 16)
                                                                 : base_random_next(&random));
        forge(&stream, round % 2, payload, bytes);
        read_forged(&stream, IDS_MAX, &status);
    }
    free(stream.bytes);
}

#define FORGED(status, events, ...)                                                                \
    {                                                                                              \
        status, events, {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})                      \
    }
#define DEFINE 0x03, 6, 0x01, 0x01, 0x11, 8, 0 /* id 1, 8 bytes, load */

/* One event that breaks one rule each; the trace has values. */
static void each_rule_is_checked(void **state)
{
    static const struct {
        enum base_status status;
        size_t events;
        uint8_t payload[40];
        uint32_t bytes;
    } cases[] = {
        FORGED(BASE_NOT_FOUND, 2, DEFINE, 0x08, 0x05), /* an address: good                    */
        FORGED(BASE_MALFORMED, 0, 0x00),               /* id 1 is not defined                 */
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x02, 0x05), /* id 2 is not                         */
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x02, 0, 255, 255, 255, 255, 255, 255, 255, 255),
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x08),     /* ends in an event                    */
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x07, 9),  /* codes beside "not an access"        */
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x03),     /* no type                             */
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x03, 10), /* unknown type                        */
        FORGED(BASE_MALFORMED, 1, DEFINE, 0xc3, 0, 255, 255, 255, 255, 255, 255, 255, 255, 0),
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x03, 6, 0x00, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1,
               0x11, 8, 0),
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x03, 6, 0x03, 0x01, 0x11, 8, 0), /* id 1 again */
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x03, 6, 0x01, 0x05, 0x11, 8, 0), /* at unknown node 1 */
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x03, 6, 0x01, 0x01, 0x11, 8,
               2), /* neither load nor store */
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x03, 6, 0x01, 0x01, 0x04, 0, 8, 8,
               0), /* 65536 bytes wide */
        FORGED(BASE_NO_MEMORY, 1, DEFINE, 0x03, 6, 0x04, 0x00, 0x02, 0x01, 0x11, 8, 0),
        FORGED(BASE_MALFORMED, 2, DEFINE, 0x03, 6, 0x01, 0x01, 0x01, 8, 0,
               0x02, /* width 0 has none */
               0x05),
        FORGED(BASE_NOT_FOUND, 2, DEFINE, 0x03, 7, 0x01, 0x01, 0x01, 0x01, 0x01), /* node 1: good */
        FORGED(BASE_MALFORMED, 0, 0x03, 7, 0x03, 0x01, 0x01, 0x01, 0x01), /* node 0         */
        FORGED(BASE_MALFORMED, 0, 0x03, 7, 0x01, 0x05, 0x01, 0x01, 0x01), /* its own parent       */
        FORGED(BASE_MALFORMED, 0, 0x03, 7, 0x01, 0x01, 0x05, 0x01, 0x01), /* unknown module       */
        FORGED(BASE_NOT_FOUND, 1, 0x03, 8, 0x03, 1, 1, 1, 0x05, 'a', 'b', 0),   /* module 1: good */
        FORGED(BASE_MALFORMED, 0, 0x03, 8, 0x01, 1, 1, 1, 0x05, 'a', 'b', 0),   /* module 0       */
        FORGED(BASE_MALFORMED, 0, 0x03, 8, 0x03, 1, 1, 1, 0x05, 'a', 'b', 'c'), /* not terminated */
        FORGED(BASE_MALFORMED, 0, 0x03, 8, 0x03, 1, 1, 1, 0x05, 'a', 0, 0),     /* too early      */
        FORGED(BASE_MALFORMED, 0, 0x03, 8, 0x03, 1, 1, 1, 0x81, 'a', 'b', 0),   /* too long       */
        FORGED(BASE_MALFORMED, 0, 0x03, 8, 0x03, 1, 1, 1, 0, 255, 255, 255, 255, 255, 255, 255, 255,
               0),
        FORGED(BASE_MALFORMED, 0, 0x03, 1, 0x05, 0x01, 0x01), /* kernel, unknown id    */
        FORGED(BASE_NOT_FOUND, 2, DEFINE, 0x03, 3, 0x05, 0x01, 0x05, 'a', 'b'), /* good           */
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x03, 3, 0x05, 0x01, 0x05, 'a'),      /* value is short */
        FORGED(BASE_MALFORMED, 1, DEFINE, 0x03, 3, 0x05, 0x01, 0, 255, 255, 255, 255, 255, 255, 255,
               255),
        FORGED(BASE_MALFORMED, 0, 0x03, 5, 0, 0, 0, 0, 0, 1, 0, 0, 0), /* thread 2^32           */
        /* A wide value cannot be guessed by stride. */
        FORGED(BASE_MALFORMED, 1, 0x03, 6, 0x01, 0x01, 0x21, 8, 0, 0x10),
    };
    struct stream stream = {0};
    unsigned wrong = 0;
    for (unsigned i = 0; i < BASE_COUNT(cases); i++) {
        enum base_status status = BASE_OK;
        forge(&stream, true, cases[i].payload, cases[i].bytes);
        size_t events = read_forged(&stream, IDS_MAX, &status);
        if (status == cases[i].status && events == cases[i].events)
            continue;
        print_error("case %u: expected %s after %zu events, got %s after %zu\n", i,
                    base_status_text(cases[i].status), cases[i].events, base_status_text(status),
                    events);
        wrong++;
    }
    assert_int_equal(wrong, 0);
    free(stream.bytes);
}

/* Lengths that lead out of a full frame and of the reader's memory behind it. */
static void lengths_end_in_the_frame(void **state)
{
    static const uint8_t value[] = {0x03, 3, 0x05, 0x01, 0x04, 0x00, 0x02}; /* 16384 bytes     */
    static const uint8_t path[] = {0x03, 8, 0x03, 1, 1, 1, 0xfe, 0x3f};     /* 4095 bytes      */
    static const uint8_t definition[] = {DEFINE};
    static uint8_t payload[65536];
    struct stream stream = {0};
    memcpy(payload, definition, sizeof(definition));
    for (int which = 0; which < 2; which++) {
        const uint8_t *last = which ? path : value;
        const size_t bytes = which ? sizeof(path) : sizeof(value);
        for (size_t left = 0; left < 300; left += 30) {
            enum base_status status = BASE_OK;
            size_t at = sizeof(definition),
                   end = at + (sizeof(payload) - bytes - left - at) / 3 * 3;
            for (; at < end; at += 3)
                memcpy(payload + at, "\3\5\1", 3); /* thread 0 */
            memcpy(payload + at, last, bytes);
            memset(payload + at + bytes, 'x', sizeof(payload) - at - bytes);
            forge(&stream, true, payload, sizeof(payload));
            assert_int_equal(read_forged(&stream, IDS_MAX, &status),
                             1 + (end - sizeof(definition)) / 3);
            assert_int_equal(status, BASE_MALFORMED);
        }
    }
    free(stream.bytes);
}

/* ---- headers, sources, sinks ----------------------------------------------------------------- */

static void open_with(const char *header, size_t bytes, bool repair, enum base_status expected)
{
    uint8_t copy[24] = {0};
    struct stream stream = {0};
    memcpy(copy, header, 16);
    if (repair) {
        uint64_t sum = base_hash_bytes(copy, 16, 0);
        memcpy(copy + 16, &sum, sizeof(sum));
    }
    assert_true(sink(&stream, copy, bytes));
    struct wire_trace_reader *reader = open_stream(&stream, IDS_MAX, expected);
    struct wire_trace_event event;
    assert_int_equal(wire_trace_next(reader, &event), expected ? expected : BASE_NOT_FOUND);
    free(reader);
    free(stream.bytes);
}

static void headers_are_checked(void **state)
{
    open_with("HDRTRACE\1\0\0\0\0\0\0\0", 24, true, BASE_OK);
    open_with("HDRTRACE\1\0\0\0\1\0\0\0", 24, true, BASE_OK);
    open_with("HDRTRACE\1\0\0\0\0\0\0\0", 24, false, BASE_MALFORMED);
    open_with("HDRTRACE\1\0\0\0\0\0\0\0", 23, true, BASE_MALFORMED);
    open_with("HDRTRACE\0\0\0\0\0\0\0\0", 24, true, BASE_MALFORMED);
    open_with("HDDRLOG1\1\0\0\0\0\0\0\0", 24, true, BASE_MALFORMED);
    open_with("HDRTRACE\2\0\0\0\0\0\0\0", 24, true, BASE_TOO_NEW);
    open_with("HDRTRACE\1\0\0\0\2\0\0\0", 24, true, BASE_TOO_NEW);
}

static void read_errors_are_told(void **state)
{
    struct events events = {0};
    struct stream stream = {.broken = true};
    enum base_status status;
    make_small(&events, &stream);
    const size_t whole = stream.count;
    for (stream.count = 0; stream.count < whole; stream.count += 97) {
        read_prefix(&stream, &events, &status);
        assert_int_equal(status, BASE_IO);
    }
    free(stream.bytes);
    drop(&events);
}

static void a_full_disk_stops_the_writer(void **state)
{
    struct events events = {0};
    make_events(&events, 3, 30000);
    for (size_t accept = 1; accept < 150000; accept += 50000) {
        struct stream stream = {.accept = accept};
        struct wire_trace_writer *writer = begin(&stream, true);
        bool good = true;
        unsigned calls = 0;
        for (size_t i = 0; i < events.count; i++) {
            bool written = wire_trace_write(writer, &events.list[i]);
            assert_true(good || !written);
            if (good && !written)
                calls = stream.calls;
            good = written;
        }
        assert_false(good);
        assert_false(wire_trace_flush(writer));
        assert_false(wire_trace_end(writer));
        assert_int_equal(stream.calls, calls);
        assert_true(stream.count <= accept);
        free(writer);
        free(stream.bytes);
    }
    drop(&events);
}

/* ---- what the writer refuses and changes ----------------------------------------------------- */

static void invalid_events_are_left_out(void **state)
{
    static const uint8_t value[64];
    static const struct wire_trace_event refused[] = {
        {.type = WIRE_TRACE_LOAD, .id = 7, .bytes = 8, .value = value}, /* not defined */
        {.type = WIRE_TRACE_LOAD, .id = IDS_MAX, .bytes = 8, .value = value},
        {.type = WIRE_TRACE_LOAD, .id = UINT32_MAX, .bytes = 8, .value = value},
        {.type = WIRE_TRACE_LOAD, .id = 1, .bytes = 4, .value = value},  /* its width   */
        {.type = WIRE_TRACE_STORE, .id = 1, .bytes = 8, .value = value}, /* direction   */
        {.type = WIRE_TRACE_LOAD, .id = 1, .bytes = 8},                  /* no value    */
        {.type = WIRE_TRACE_LOAD, .id = 3, .bytes = 0, .value = value},  /* no width    */
        {.type = WIRE_TRACE_KERNEL_LOAD, .id = 7, .bytes = 1},
        {.type = WIRE_TRACE_KERNEL_STORE, .id = 7, .bytes = 1, .value = value},
        {.type = WIRE_TRACE_ACCESS, .id = 1, .bytes = 8}, /* again       */
        {.type = WIRE_TRACE_ACCESS, .id = IDS_MAX, .bytes = 8},
        {.type = WIRE_TRACE_ACCESS, .id = 9, .node = 5, .bytes = 8}, /* its node    */
        {.type = WIRE_TRACE_ACCESS, .id = 9, .bytes = 65536},
        {.type = WIRE_TRACE_NODE, .id = 0},
        {.type = WIRE_TRACE_NODE, .id = 1},
        {.type = WIRE_TRACE_NODE, .id = NODES_MAX},
        {.type = WIRE_TRACE_NODE, .id = 2, .node = 2},
        {.type = WIRE_TRACE_NODE, .id = 2, .module = 2},
        {.type = WIRE_TRACE_NODE, .id = 2, .module = 65536},
        {.type = WIRE_TRACE_MODULE, .id = 0, .value = value},
        {.type = WIRE_TRACE_MODULE, .id = 1, .value = value},
        {.type = WIRE_TRACE_MODULE, .id = 65536, .value = value},
        {.type = WIRE_TRACE_MODULE, .id = 2},
        {.type = 0},
        {.type = WIRE_TRACE_TYPES},
    };
    static const struct wire_trace_event taken[] = {
        {.type = WIRE_TRACE_MODULE, .id = 1, .value = (const uint8_t *)"/bin/true"},
        {.type = WIRE_TRACE_NODE, .id = 1, .module = 1},
        {.type = WIRE_TRACE_ACCESS, .id = 1, .node = 1, .bytes = 8},
        {.type = WIRE_TRACE_ACCESS, .id = 2, .bytes = 8, .store = true},
        {.type = WIRE_TRACE_ACCESS, .id = 3, .bytes = 0},
    };
    struct stream stream = {0};
    struct events events = {0};
    struct wire_trace_writer *writer = begin(&stream, true);
    for (unsigned i = 0; i < BASE_COUNT(taken); i++) {
        assert_true(wire_trace_write(writer, &taken[i]));
        keep(&events, &taken[i]);
    }
    for (unsigned i = 0; i < BASE_COUNT(refused); i++)
        if (wire_trace_write(writer, &refused[i]))
            fail_msg("invalid event %u was taken", i);
    assert_false(wire_trace_access(writer, 3, 0, 0));
    assert_false(wire_trace_access(writer, 7, 0, 0));
    assert_false(wire_trace_access(writer, IDS_MAX, 0, 0));
    assert_true(wire_trace_end(writer));
    assert_false(wire_trace_end(writer));
    assert_false(wire_trace_access(writer, 1, 0, 0));
    assert_false(wire_trace_write(writer, &taken[0]));
    read_all(&stream, &events, true);
    free(writer);
    free(stream.bytes);
    drop(&events);
}

static void long_values_come_in_pieces(void **state)
{
    enum { BYTES = 200001 };
    struct stream stream = {0};
    struct wire_trace_event event = {.type = WIRE_TRACE_ACCESS, .id = 1};
    struct base_random random = {4};
    uint8_t *value = malloc(BYTES);
    assert_non_null(value);
    for (unsigned i = 0; i < BYTES; i++)
        value[i] = (uint8_t)base_random_next(&random);
    struct wire_trace_writer *writer = begin(&stream, true);
    assert_true(wire_trace_write(writer, &event));
    event = (struct wire_trace_event){.type = WIRE_TRACE_KERNEL_STORE,
                                      .id = 1,
                                      .address = 0xfff000,
                                      .bytes = BYTES,
                                      .value = value};
    assert_true(wire_trace_write(writer, &event));
    event.value = NULL;
    event.bytes = UINT64_MAX;
    assert_true(wire_trace_write(writer, &event));
    assert_true(wire_trace_end(writer));
    free(writer);
    struct wire_trace_reader *reader = open_stream(&stream, IDS_MAX, BASE_OK);
    assert_int_equal(wire_trace_next(reader, &event), BASE_OK);
    for (size_t at = 0; at < BYTES; at += event.bytes) {
        assert_int_equal(wire_trace_next(reader, &event), BASE_OK);
        assert_int_equal(event.type, WIRE_TRACE_KERNEL_STORE);
        assert_int_equal(event.address, 0xfff000 + at);
        assert_true(event.bytes > 0 && event.bytes <= BYTES - at);
        assert_memory_equal(event.value, value + at, event.bytes);
    }
    assert_int_equal(wire_trace_next(reader, &event), BASE_OK);
    assert_null(event.value);
    assert_int_equal(event.bytes, UINT64_MAX);
    free(reader);
    free(value);
    free(stream.bytes);
}

static void long_paths_are_cut(void **state)
{
    struct stream stream = {0};
    struct wire_trace_event event = {.type = WIRE_TRACE_MODULE, .value = NULL};
    char path[5000];
    memset(path, 'x', sizeof(path));
    path[sizeof(path) - 1] = 0;
    struct wire_trace_writer *writer = begin(&stream, false);
    event.value = (const uint8_t *)path;
    for (event.id = 1; event.id < 100; event.id++)
        assert_true(wire_trace_write(writer, &event));
    assert_true(wire_trace_end(writer));
    free(writer);
    struct wire_trace_reader *reader = open_stream(&stream, IDS_MAX, BASE_OK);
    for (unsigned i = 1; i < 100; i++) {
        assert_int_equal(wire_trace_next(reader, &event), BASE_OK);
        assert_int_equal(event.id, i);
        assert_int_equal(strlen((const char *)event.value), 4095);
    }
    free(reader);
    free(stream.bytes);
}

/* A reader with room for fewer ids says so at the first that it cannot hold, not before. */
static void more_ids_than_the_reader_holds(void **state)
{
    for (int nodes = 0; nodes < 2; nodes++) {
        struct stream stream = {0};
        struct wire_trace_event event = {0};
        struct wire_trace_writer *writer = begin(&stream, false);
        for (uint32_t id = nodes; id < 600; id++) {
            event = (struct wire_trace_event){.type = nodes ? WIRE_TRACE_NODE : WIRE_TRACE_ACCESS,
                                              .id = id,
                                              .bytes = nodes ? 0 : 8};
            assert_true(wire_trace_write(writer, &event));
        }
        assert_true(wire_trace_end(writer));
        free(writer);
        struct wire_trace_reader *reader = open_stream(&stream, 100, BASE_OK);
        for (uint32_t id = nodes; id < (nodes ? 400u : 100u); id++) {
            assert_int_equal(wire_trace_next(reader, &event), BASE_OK);
            assert_int_equal(event.id, id);
        }
        assert_int_equal(wire_trace_next(reader, &event), BASE_NO_MEMORY);
        assert_int_equal(wire_trace_next(reader, &event), BASE_NO_MEMORY);
        free(reader);
        free(stream.bytes);
    }
}

static void flushing_loses_nothing(void **state)
{
    struct stream stream = {0};
    struct events events = {0};
    struct wire_trace_event event;
    struct base_random random = {6};
    make_events(&events, 8, 3000);
    struct wire_trace_writer *writer = begin(&stream, true);
    for (size_t i = 0; i < events.count; i++) {
        assert_true(wire_trace_write(writer, &events.list[i]));
        if (base_random_below(&random, 50) == 0)
            assert_true(wire_trace_flush(writer));
    }
    assert_true(wire_trace_flush(writer));
    assert_true(wire_trace_flush(writer));
    free(writer);
    struct wire_trace_reader *reader = open_stream(&stream, IDS_MAX, BASE_OK);
    for (size_t i = 0; i < events.count; i++) {
        assert_int_equal(wire_trace_next(reader, &event), BASE_OK);
        assert_true(same_event(&event, &events.list[i]));
    }
    assert_int_equal(wire_trace_next(reader, &event), BASE_NOT_FOUND); /* no END: cut */
    free(reader);
    free(stream.bytes);
    drop(&events);
}

/* A run is bounded; more is several. */
static void long_runs_come_back(void **state)
{
    enum { COUNT = (1 << 24) + 1000 };
    struct stream stream = {0};
    struct wire_trace_event event = {.type = WIRE_TRACE_ACCESS, .id = 1, .bytes = 4};
    struct wire_trace_writer *writer = begin(&stream, false);
    assert_true(wire_trace_write(writer, &event));
    for (uint64_t i = 0; i < COUNT; i++)
        assert_true(wire_trace_access(writer, 1, 0x1000 + i * 4, 0));
    assert_true(wire_trace_end(writer));
    assert_true(stream.count < 200);
    free(writer);
    struct wire_trace_reader *reader = open_stream(&stream, IDS_MAX, BASE_OK);
    assert_int_equal(wire_trace_next(reader, &event), BASE_OK);
    for (uint64_t i = 0; i < COUNT; i++) {
        if (wire_trace_next(reader, &event) != BASE_OK || event.address != 0x1000 + i * 4 ||
            event.type != WIRE_TRACE_LOAD)
            fail_msg("access %lu: type %u, address %#lx", i, event.type, event.address);
    }
    assert_int_equal(wire_trace_next(reader, &event), BASE_OK);
    assert_int_equal(event.type, WIRE_TRACE_END);
    free(reader);
    free(stream.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traces_come_back),
        cmocka_unit_test(the_comparison_sees_faults),
        cmocka_unit_test(both_ways_write_the_same),
        cmocka_unit_test(structured_traces_are_small),
        cmocka_unit_test(the_format_is_as_described),
        cmocka_unit_test(the_guesses_are_fixed),
        cmocka_unit_test(cut_traces_end_early),
        cmocka_unit_test(flipped_bits_are_detected),
        cmocka_unit_test(lost_and_exchanged_frames_are_detected),
        cmocka_unit_test(forged_traces_are_harmless),
        cmocka_unit_test(random_bytes_are_harmless),
        cmocka_unit_test(each_rule_is_checked),
        cmocka_unit_test(lengths_end_in_the_frame),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(read_errors_are_told),
        cmocka_unit_test(a_full_disk_stops_the_writer),
        cmocka_unit_test(invalid_events_are_left_out),
        cmocka_unit_test(long_values_come_in_pieces),
        cmocka_unit_test(long_paths_are_cut),
        cmocka_unit_test(more_ids_than_the_reader_holds),
        cmocka_unit_test(flushing_loses_nothing),
        cmocka_unit_test(long_runs_come_back),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
