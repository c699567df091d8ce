// SPDX-License-Identifier: MIT
/*
 * The access trace, reading. The stream is hostile: a frame is looked at only when it is whole and
 * its checksum holds, and even then every number in it is checked before it is used, since whoever
 * can write a frame can write its checksum.
 *
 * A decoder reads on over the end of a frame's payload into zeros (SLACK_BYTES) and is found out
 * when the event is complete; only values and paths, whose length the stream says, are checked
 * before. No loop depends on the stream but that over frames: an event costs bounded time.
 */
#include "wire/trace_model.h"

struct wire_trace_reader {
    struct predictor predictor;
    const uint8_t *at, *end; /* in payload                                             */
    uint32_t run;            /* predicted events to come before `codes`                */
    bool pending;            /* an event with `codes` was begun                        */
    uint8_t codes;
    uint32_t sequence;
    enum base_status status; /* other than BASE_OK: nothing follows                    */
    wire_trace_source *source;
    void *context;
    uint8_t value[WIRE_TRACE_BYTES_MAX + 8];
    uint8_t payload[FRAME_BYTES + SLACK_BYTES];
};

size_t wire_trace_reader_bytes(void)
{
    return sizeof(struct wire_trace_reader);
}

/* *got < count: the source has ended. False: it failed. */
static bool read_whole(const struct wire_trace_reader *reader, void *bytes, size_t count,
                       size_t *got)
{
    for (*got = 0; *got < count;) {
        int64_t some = reader->source(reader->context, (uint8_t *)bytes + *got, count - *got);
        if (some < 0 || (uint64_t)some > count - *got)
            return false;
        if (some == 0)
            break;
        *got += (size_t)some;
    }
    return true;
}

enum base_status wire_trace_open(struct wire_trace_reader *reader, void *predictor,
                                 uint32_t most_ids, wire_trace_source *source, void *context)
{
    struct header header;
    size_t got;
    memset(reader, 0, offsetof(struct wire_trace_reader, payload));
    reader->source = source;
    reader->context = context;
    reader->status = BASE_IO;
    if (!read_whole(reader, &header, sizeof(header), &got))
        return reader->status;
    reader->status = BASE_MALFORMED;
    if (got < sizeof(header) || header.magic != HEADER_MAGIC ||
        header.checksum != header_checksum(&header) || header.version == 0)
        return reader->status;
    reader->status = BASE_TOO_NEW;
    if (header.version > WIRE_TRACE_VERSION || header.flags & ~(uint32_t)HEADER_VALUES)
        return reader->status;
    predictor_init(&reader->predictor, predictor, most_ids, header.flags & HEADER_VALUES);
    reader->at = reader->end = reader->payload;
    return reader->status = BASE_OK;
}

bool wire_trace_has_values(const struct wire_trace_reader *reader)
{
    return reader->predictor.values;
}

/* A frame that is not whole is the end of a cut stream. */
static enum base_status read_frame(struct wire_trace_reader *reader)
{
    struct frame frame;
    size_t got;
    if (!read_whole(reader, &frame, sizeof(frame), &got))
        return BASE_IO;
    if (got < sizeof(frame))
        return BASE_NOT_FOUND;
    if (frame.magic != FRAME_MAGIC || frame.bytes == 0 || frame.bytes > FRAME_BYTES)
        return BASE_MALFORMED;
    if (!read_whole(reader, reader->payload, frame.bytes, &got))
        return BASE_IO;
    if (got < frame.bytes)
        return BASE_NOT_FOUND;
    if (frame.checksum != payload_checksum(reader->payload, frame.bytes, reader->sequence++))
        return BASE_MALFORMED;
    reader->at = reader->payload;
    reader->end = reader->payload + frame.bytes;
    memset(reader->payload + frame.bytes, 0, SLACK_BYTES);
    return BASE_OK;
}

/* ---- accesses -------------------------------------------------------------------------------- */

static inline uint64_t take_number(struct wire_trace_reader *reader)
{
    uint64_t number;
    reader->at = get_number(reader->at, &number);
    return number;
}

static inline uint64_t take_signed(struct wire_trace_reader *reader, uint64_t base)
{
    return base + unfold(take_number(reader));
}

/* Ids, nodes and modules: numbers that must fit; UINT32_MAX is none of them. */
static uint32_t take_id(struct wire_trace_reader *reader, uint64_t base)
{
    uint64_t id = take_signed(reader, base);
    return id < UINT32_MAX ? (uint32_t)id : UINT32_MAX;
}

static inline uint32_t read_id(struct wire_trace_reader *reader, unsigned code)
{
    const struct predictor *predictor = &reader->predictor;
    if (code == CODE_FIRST)
        return first_id(predictor, follower_of(predictor));
    if (code == CODE_SECOND)
        return second_id(predictor);
    return take_id(reader, (uint64_t)predictor->previous + 1);
}

static inline uint64_t read_address(struct wire_trace_reader *reader, const struct entry *entry,
                                    unsigned code)
{
    struct address_guesses guesses = guess_address(&reader->predictor, entry);
    if (code == CODE_FIRST)
        return guesses.first;
    if (code == CODE_SECOND)
        return guesses.second;
    return take_signed(reader, code == ADDRESS_FROM_LAST ? entry->address
                                                         : reader->predictor.previous_address);
}

static inline void read_narrow(struct wire_trace_reader *reader, struct entry *entry,
                               uint64_t address, unsigned code)
{
    struct predictor *predictor = &reader->predictor;
    uint8_t *image = image_of(predictor, address);
    uint64_t value;
    if (code == VALUE_EXPLICIT) {
        value = cut_to(take_signed(reader, entry->value), entry->bytes);
    } else {
        unsigned guess = nth_guess(entry->value_choice, code);
        value = guess_value(predictor, entry, image, guess);
        entry->value_choice = (uint8_t)guess;
    }
    learn_value(predictor, entry, image, value);
    store64(reader->value, value);
}

static bool read_wide(struct wire_trace_reader *reader, struct entry *entry, uint64_t address,
                      unsigned code)
{
    struct predictor *predictor = &reader->predictor;
    uint8_t *image = image_of(predictor, address);
    if (code == VALUE_EXPLICIT) {
        memcpy(reader->value, image, entry->bytes);
        reader->at = get_wide(reader->at, reader->value, entry->bytes);
    } else {
        unsigned guess = nth_guess(entry->value_choice, code);
        const uint8_t *guessed = guess_wide(predictor, image, guess);
        if (!guessed)
            return false;
        memcpy(reader->value, guessed, entry->bytes);
        entry->value_choice = (uint8_t)guess;
    }
    learn_wide(predictor, entry, image, reader->value);
    return true;
}

/* codes: as in the first byte, without the count. */
static inline bool read_access(struct wire_trace_reader *reader, unsigned codes,
                               struct wire_trace_event *event)
{
    struct predictor *predictor = &reader->predictor;
    const uint32_t id = read_id(reader, codes & 3);
    struct entry *entry = defined_entry(predictor, id);
    if (!entry || entry->bytes == 0)
        return false;
    learn_id(predictor, follower_of(predictor), id);
    const uint64_t address = read_address(reader, entry, codes >> 2 & 3);
    learn_address(predictor, entry, address, (codes >> 2 & 3) == CODE_SECOND);
    *event = (struct wire_trace_event){.type = entry->flags & ID_STORE ? WIRE_TRACE_STORE
                                                                       : WIRE_TRACE_LOAD,
                                       .id = id,
                                       .address = address,
                                       .bytes = entry->bytes};
    if (!predictor->values)
        return true;
    event->value = reader->value;
    if (entry->bytes > 8)
        return read_wide(reader, entry, address, codes >> 4 & 3);
    read_narrow(reader, entry, address, codes >> 4 & 3);
    return true;
}

/* ---- other events ---------------------------------------------------------------------------- */

/* False: malformed. All that follow are like this; the caller looks at reader->at afterwards. */
static bool read_kernel(struct wire_trace_reader *reader, enum other other,
                        struct wire_trace_event *event)
{
    struct predictor *predictor = &reader->predictor;
    event->type = other == OTHER_FORGET        ? WIRE_TRACE_FORGET
                  : other == OTHER_KERNEL_LOAD ? WIRE_TRACE_KERNEL_LOAD
                                               : WIRE_TRACE_KERNEL_STORE;
    if (other != OTHER_FORGET) {
        event->id = predictor->other_id = take_id(reader, predictor->other_id);
        if (!defined_entry(predictor, event->id))
            return false;
    }
    event->address = predictor->other_address = take_signed(reader, predictor->other_address);
    event->bytes = take_number(reader);
    if (other != OTHER_KERNEL_STORE_VALUE)
        return true;
    if (!predictor->values || event->bytes > PIECE_BYTES || reader->at > reader->end ||
        event->bytes > (uint64_t)(reader->end - reader->at))
        return false;
    event->value = reader->at;
    learn_kernel_store(predictor, event->address, event->value, event->bytes);
    reader->at += event->bytes;
    return true;
}

static bool read_thread(struct wire_trace_reader *reader, struct wire_trace_event *event)
{
    uint64_t thread = take_number(reader);
    event->type = WIRE_TRACE_THREAD;
    event->id = (uint32_t)thread;
    return thread <= UINT32_MAX;
}

static enum base_status read_definition(struct wire_trace_reader *reader,
                                        struct wire_trace_event *event)
{
    struct predictor *predictor = &reader->predictor;
    event->type = WIRE_TRACE_ACCESS;
    event->id = take_id(reader, (uint64_t)predictor->defined + 1);
    event->node = take_id(reader, predictor->node);
    event->bytes = take_number(reader);
    event->element = *reader->at++;
    event->store = *reader->at & 1;
    if (*reader->at++ > 1)
        return BASE_MALFORMED;
    if (event->id >= predictor->most_ids)
        return event->id == UINT32_MAX ? BASE_MALFORMED : BASE_NO_MEMORY;
    if (!may_define_access(predictor, event))
        return BASE_MALFORMED;
    learn_access(predictor, event);
    return BASE_OK;
}

static enum base_status read_node(struct wire_trace_reader *reader, struct wire_trace_event *event)
{
    struct predictor *predictor = &reader->predictor;
    event->type = WIRE_TRACE_NODE;
    event->id = take_id(reader, (uint64_t)predictor->node + 1);
    event->node = take_id(reader, predictor->parent);
    event->module = take_id(reader, predictor->module);
    uint64_t flags = take_number(reader);
    event->flags = (uint32_t)flags;
    event->address = take_signed(reader, predictor->vaddr);
    if (event->id / NODES_PER_ID >= predictor->most_ids)
        return event->id == UINT32_MAX ? BASE_MALFORMED : BASE_NO_MEMORY;
    if (flags > UINT32_MAX || !may_define_node(predictor, event))
        return BASE_MALFORMED;
    learn_node(predictor, event);
    return BASE_OK;
}

static bool read_module(struct wire_trace_reader *reader, struct wire_trace_event *event)
{
    event->type = WIRE_TRACE_MODULE;
    uint64_t id = take_number(reader);
    event->id = id < UINT32_MAX ? (uint32_t)id : UINT32_MAX;
    event->address = take_number(reader);
    event->bytes = take_number(reader);
    event->bias = take_number(reader);
    uint64_t bytes = take_number(reader);
    if (!may_define_module(&reader->predictor, event) || bytes >= PATH_LENGTH_MAX ||
        reader->at >= reader->end || bytes >= (uint64_t)(reader->end - reader->at) ||
        memchr(reader->at, 0, bytes + 1) != reader->at + bytes)
        return false;
    event->value = reader->at;
    reader->at += bytes + 1;
    set_bit(reader->predictor.modules, event->id);
    return true;
}

static enum base_status read_other(struct wire_trace_reader *reader, struct wire_trace_event *event)
{
    enum other other = *reader->at++;
    bool good = false;
    *event = (struct wire_trace_event){0};
    switch (other) {
    case OTHER_KERNEL_LOAD:
    case OTHER_KERNEL_STORE:
    case OTHER_KERNEL_STORE_VALUE:
    case OTHER_FORGET: good = read_kernel(reader, other, event); break;
    case OTHER_THREAD: good = read_thread(reader, event); break;
    case OTHER_ACCESS: return read_definition(reader, event);
    case OTHER_NODE: return read_node(reader, event);
    case OTHER_MODULE: good = read_module(reader, event); break;
    case OTHER_END:
        event->type = WIRE_TRACE_END;
        good = true;
        break;
    case OTHER_RUN: good = true; break; /* type 0: no event */
    default: break;
    }
    return good ? BASE_OK : BASE_MALFORMED;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Takes an event's first byte and the count of predicted events before it. */
static enum base_status begin_event(struct wire_trace_reader *reader)
{
    if (reader->at == reader->end) {
        enum base_status status = read_frame(reader);
        if (status != BASE_OK)
            return status;
    }
    const unsigned shift = reader->predictor.values ? 6 : 4, most = 0xff >> shift;
    const uint8_t first = *reader->at++;
    uint64_t run = first >> shift, more = 0;
    if (run == most)
        more = take_number(reader);
    reader->codes = first & (uint8_t)((1 << shift) - 1);
    if (more > RUN_MAX - run || ((first & 3) == CODE_OTHER && reader->codes != CODE_OTHER))
        return BASE_MALFORMED;
    reader->run = (uint32_t)(run + more);
    reader->pending = true;
    return BASE_OK;
}

/* type 0: it was only a count. */
static enum base_status read_event(struct wire_trace_reader *reader, struct wire_trace_event *event)
{
    enum base_status status = BASE_OK;
    reader->pending = false;
    if ((reader->codes & 3) == CODE_OTHER)
        status = read_other(reader, event);
    else if (!read_access(reader, reader->codes, event))
        status = BASE_MALFORMED;
    return reader->at > reader->end ? BASE_MALFORMED : status;
}

enum base_status wire_trace_next(struct wire_trace_reader *reader, struct wire_trace_event *event)
{
    struct wire_trace_event next = {0};
    while (reader->status == BASE_OK && next.type == 0) {
        if (__builtin_expect(reader->run > 0, 1)) {
            reader->run--;
            if (read_access(reader, 0, event))
                return BASE_OK;
            reader->status = BASE_MALFORMED;
        } else if (reader->pending) {
            reader->status = read_event(reader, &next);
        } else {
            reader->status = begin_event(reader);
        }
    }
    if (reader->status != BASE_OK)
        return reader->status;
    *event = next;
    if (next.type == WIRE_TRACE_END)
        reader->status = BASE_NOT_FOUND;
    return BASE_OK;
}
