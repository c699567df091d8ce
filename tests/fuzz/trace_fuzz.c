// SPDX-License-Identifier: MIT
/*
 * Fuzzes the reader of access traces. The first byte chooses: the input as a stream as it stands,
 * or as payloads of frames with right headers and checksums, which no fuzzer guesses. Aborts if an
 * event breaks what trace.h promises, or if a trace that was read does not come back after writing
 * it.
 */
#include "wire/trace.h"
#include "require.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { IDS_MAX = 64, EVENTS_MAX = 3000, STREAM_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct stream {
    uint8_t bytes[STREAM_MAX];
    size_t count, at;
};

static bool sink(void *context, const void *bytes, size_t count)
{
    struct stream *stream = context;
    if (count > sizeof(stream->bytes) - stream->count)
        return false;
    memcpy(stream->bytes + stream->count, bytes, count);
    stream->count += count;
    return true;
}

static int64_t source(void *context, void *bytes, size_t count)
{
    struct stream *stream = context;
    if (count > stream->count - stream->at)
        count = stream->count - stream->at;
    memcpy(bytes, stream->bytes + stream->at, count);
    stream->at += count;
    return (int64_t)count;
}

/* Three of them, each zeroed again by giving back what was touched. */
static void *predictor_memory(unsigned which)
{
    static void *memory[3];
    size_t bytes = wire_trace_predictor_bytes(IDS_MAX);
    if (!memory[which])
        memory[which] =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(memory[which] != MAP_FAILED);
    require(madvise(memory[which], bytes, MADV_DONTNEED) == 0);
    return memory[which];
}

/* A module, a node, and accesses of several widths: with them the fuzzer need not begin with
   inventing definitions. */
static const uint8_t prelude[] = {
    3, 8, 3, 1, 1,  1, 3, 'm', 0, /* module 1                          */
    3, 7, 1, 1, 5,  1, 1,         /* node 1 in it                      */
    3, 6, 1, 1, 3,  1, 0,         /* id 1: loads a byte                */
    3, 6, 1, 1, 9,  4, 1,         /* id 2: stores 4                    */
    3, 6, 1, 1, 17, 8, 0,         /* id 3: loads 8                     */
    3, 6, 1, 1, 17, 8, 1,         /* id 4: stores 8                    */
    3, 6, 1, 1, 21, 2, 0,         /* id 5: loads 10                    */
    3, 6, 1, 1, 65, 8, 0,         /* id 6: loads 32                    */
    3, 6, 1, 1, 65, 8, 1,         /* id 7: stores 32                   */
    3, 6, 1, 1, 1,  0, 0,         /* id 8: no width                    */
};

static bool put_frame(struct stream *stream, uint64_t sequence, const uint8_t *data, uint32_t bytes)
{
    uint8_t frame[16] = "HTFR";
    uint64_t sum = base_hash_bytes(data, bytes, sequence << 32 | bytes);
    memcpy(frame + 4, &bytes, sizeof(bytes));
    memcpy(frame + 8, &sum, sizeof(sum));
    return sink(stream, frame, sizeof(frame)) && sink(stream, data, bytes);
}

/* Payloads: two bytes of length before each. */
static void frame_payloads(struct stream *stream, bool values, bool defined, const uint8_t *data,
                           size_t size)
{
    uint8_t header[24] = "HDRTRACE\1";
    uint64_t sequence = 0;
    header[12] = values;
    uint64_t sum = base_hash_bytes(header, 16, 0);
    memcpy(header + 16, &sum, sizeof(sum));
    require(sink(stream, header, sizeof(header)));
    if (defined)
        require(put_frame(stream, sequence++, prelude, sizeof(prelude)));
    while (size > 2) {
        uint32_t bytes = (uint32_t)(data[0] | data[1] << 8);
        data += 2;
        size -= 2;
        bytes = bytes < size ? bytes : (uint32_t)size;
        if (!put_frame(stream, sequence++, data, bytes))
            return;
        data += bytes;
        size -= bytes;
    }
}

struct known {
    uint8_t ids[IDS_MAX], nodes[4 * IDS_MAX], modules[65536]; /* ids: 1 load, 2 store */
};

static void check_event(struct known *known, const struct wire_trace_event *event, bool values)
{
    volatile uint8_t sum = 0;
    size_t bytes = event->type == WIRE_TRACE_MODULE ? strlen((const char *)event->value) + 1
                   : event->value                   ? event->bytes
                                                    : 0;
    for (size_t i = 0; i < bytes; i++)
        sum = (uint8_t)(sum + event->value[i]);
    switch (event->type) {
    case WIRE_TRACE_LOAD:
    case WIRE_TRACE_STORE:
        require(event->id < IDS_MAX && known->ids[event->id] == event->type);
        require(event->bytes > 0 && event->bytes <= WIRE_TRACE_BYTES_MAX);
        require(values == (event->value != NULL));
        return;
    case WIRE_TRACE_KERNEL_LOAD:
    case WIRE_TRACE_KERNEL_STORE: require(event->id < IDS_MAX && known->ids[event->id]); return;
    case WIRE_TRACE_ACCESS:
        require(event->id < IDS_MAX && !known->ids[event->id]);
        require(event->node < sizeof(known->nodes) && known->nodes[event->node]);
        known->ids[event->id] = event->store ? WIRE_TRACE_STORE : WIRE_TRACE_LOAD;
        return;
    case WIRE_TRACE_NODE:
        require(event->id < sizeof(known->nodes) && !known->nodes[event->id]);
        require(event->node < sizeof(known->nodes) && known->nodes[event->node]);
        require(event->module < sizeof(known->modules) && known->modules[event->module]);
        known->nodes[event->id] = 1;
        return;
    case WIRE_TRACE_MODULE:
        require(event->id < sizeof(known->modules) && !known->modules[event->id]);
        known->modules[event->id] = 1;
        return;
    default:
        require(event->type == WIRE_TRACE_FORGET || event->type == WIRE_TRACE_THREAD ||
                event->type == WIRE_TRACE_END);
    }
}

static bool same_event(const struct wire_trace_event *a, const struct wire_trace_event *b)
{
    size_t bytes = a->type == WIRE_TRACE_MODULE ? strlen((const char *)a->value) + 1
                   : a->value                   ? a->bytes
                                                : 0;
    return a->type == b->type && a->id == b->id && a->node == b->node && a->module == b->module &&
           a->address == b->address && a->bytes == b->bytes && a->bias == b->bias &&
           a->flags == b->flags && a->element == b->element && a->store == b->store &&
           !a->value == !b->value && (!bytes || memcmp(a->value, b->value, bytes) == 0);
}

/* Reads `stream`, writes what comes to `copy`; with `expected`, an opened reader of what was
   written, compares. Returns whether it could be opened. */
static bool read_stream(struct stream *stream, struct stream *copy,
                        struct wire_trace_reader *expected)
{
    static struct known known;
    struct wire_trace_reader *reader = malloc(wire_trace_reader_bytes());
    struct wire_trace_writer *writer = malloc(wire_trace_writer_bytes());
    struct wire_trace_event event, other;
    require(reader && writer);
    memset(&known, 0, sizeof(known));
    known.nodes[0] = known.modules[0] = 1;
    bool good = wire_trace_open(reader, predictor_memory(0), IDS_MAX, source, stream) == BASE_OK;
    if (good && copy)
        wire_trace_begin(writer, predictor_memory(1), IDS_MAX, wire_trace_has_values(reader), sink,
                         copy);
    for (unsigned count = 0; good && count < EVENTS_MAX; count++) {
        if (wire_trace_next(reader, &event) != BASE_OK)
            break;
        check_event(&known, &event, wire_trace_has_values(reader));
        if (copy && event.type != WIRE_TRACE_END)
            require(wire_trace_write(writer, &event) || copy->count > STREAM_MAX - (1 << 17));
        if (expected && event.type != WIRE_TRACE_END) {
            require(wire_trace_next(expected, &other) == BASE_OK);
            require(same_event(&event, &other));
        }
    }
    if (good && copy)
        wire_trace_end(writer);
    free(reader);
    free(writer);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct stream stream, copy;
    if (size < 1 || size > STREAM_MAX / 2)
        return 0;
    stream.count = stream.at = copy.count = copy.at = 0;
    if (data[0] & 1)
        frame_payloads(&stream, data[0] & 2, data[0] & 4, data + 1, size - 1);
    else
        require(sink(&stream, data + 1, size - 1));
    if (!read_stream(&stream, &copy, NULL) || copy.count > STREAM_MAX - (1 << 17))
        return 0;
    struct wire_trace_reader *reader = malloc(wire_trace_reader_bytes());
    require(reader != NULL);
    require(wire_trace_open(reader, predictor_memory(2), IDS_MAX, source, &copy) == BASE_OK);
    stream.at = 0;
    read_stream(&stream, NULL, reader);
    free(reader);
    return 0;
}
