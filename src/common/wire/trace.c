// SPDX-License-Identifier: MIT
/*
 * The access trace, writing. wire_trace_access is what an engine calls for nearly every
 * access: its way through a predicted event has no call in it and writes nothing but the predictor.
 *
 * No event straddles a frame; a frame is sent when less than SLACK_BYTES are left in the buffer, so
 * that events are put together without looking at the room left.
 */
#include "wire/trace_model.h"

struct wire_trace_writer {
    struct predictor predictor;
    uint8_t *at, *full; /* in buffer; from full on a frame is sent                */
    uint32_t run;       /* predicted events not yet written                       */
    bool failed, ended;
    uint32_t sequence;
    wire_trace_sink *sink;
    void *context;
    uint8_t buffer[sizeof(struct frame) + FRAME_BYTES];
};

size_t wire_trace_predictor_bytes(uint32_t most_ids)
{
    return FOLLOWERS_BYTES + IMAGE_BYTES + IMAGE_SLACK + MODULES_MAX / 8 + nodes_bytes(most_ids) +
           (size_t)most_ids * sizeof(struct entry);
}

size_t wire_trace_writer_bytes(void)
{
    return sizeof(struct wire_trace_writer);
}

static void rewind_buffer(struct wire_trace_writer *writer)
{
    writer->at = writer->buffer + sizeof(struct frame);
}

static bool send(struct wire_trace_writer *writer, const void *bytes, size_t count)
{
    if (!writer->failed && !writer->sink(writer->context, bytes, count))
        writer->failed = true;
    return !writer->failed;
}

static bool send_frame(struct wire_trace_writer *writer)
{
    uint8_t *payload = writer->buffer + sizeof(struct frame);
    struct frame frame = {.magic = FRAME_MAGIC, .bytes = (uint32_t)(writer->at - payload)};
    if (frame.bytes) {
        frame.checksum = payload_checksum(payload, frame.bytes, writer->sequence++);
        memcpy(writer->buffer, &frame, sizeof(frame));
        send(writer, writer->buffer, sizeof(frame) + frame.bytes);
    }
    rewind_buffer(writer);
    return !writer->failed;
}

void wire_trace_begin(struct wire_trace_writer *writer, void *predictor, uint32_t most_ids,
                      bool values, wire_trace_sink *sink, void *context)
{
    struct header header = {
        .magic = HEADER_MAGIC, .version = WIRE_TRACE_VERSION, .flags = values ? HEADER_VALUES : 0};
    header.checksum = header_checksum(&header);
    predictor_init(&writer->predictor, predictor, most_ids, values);
    writer->run = 0;
    writer->failed = writer->ended = false;
    writer->sequence = 0;
    writer->sink = sink;
    writer->context = context;
    writer->full = writer->buffer + sizeof(writer->buffer) - SLACK_BYTES;
    rewind_buffer(writer);
    send(writer, &header, sizeof(header));
}

/* The event's first byte, with the count of predicted events before it. */
static uint8_t *put_codes(struct wire_trace_writer *writer, uint8_t *at, unsigned codes)
{
    const unsigned shift = writer->predictor.values ? 6 : 4, most = 0xff >> shift;
    const uint32_t run = writer->run;
    writer->run = 0;
    *at++ = (uint8_t)(codes | (run < most ? run : most) << shift);
    return run < most ? at : put_number(at, run - most);
}

static uint8_t *put_other(struct wire_trace_writer *writer, enum other other)
{
    uint8_t *at = put_codes(writer, writer->at, CODE_OTHER);
    *at++ = (uint8_t)other;
    return at;
}

static inline bool finish(struct wire_trace_writer *writer, uint8_t *at)
{
    writer->at = at;
    return at < writer->full ? !writer->failed : send_frame(writer);
}

static bool write_run(struct wire_trace_writer *writer)
{
    return writer->run == 0 || finish(writer, put_other(writer, OTHER_RUN));
}

static inline bool count_predicted(struct wire_trace_writer *writer)
{
    if (__builtin_expect(++writer->run < RUN_MAX, 1))
        return !writer->failed;
    return write_run(writer);
}

/* What was learnt of one access before the predictor is taught its outcome. */
struct outcome {
    unsigned codes;
    uint64_t id_difference, address_difference;
};

static inline __attribute__((always_inline)) struct outcome
take_place(struct predictor *predictor, struct entry *entry, uint32_t id, uint64_t address)
{
    struct outcome outcome = {0};
    uint32_t *follower = follower_of(predictor);
    if (__builtin_expect(id != first_id(predictor, follower), 0)) {
        outcome.codes = id == second_id(predictor) ? CODE_SECOND : CODE_EXPLICIT;
        outcome.id_difference = (uint64_t)id - predictor->previous - 1;
    }
    learn_id(predictor, follower, id);
    struct address_guesses guesses = guess_address(predictor, entry);
    bool second_held = false;
    if (__builtin_expect(address != guesses.first, 0)) {
        second_held = address == guesses.second;
        uint64_t from_last = address - entry->address;
        uint64_t from_previous = address - predictor->previous_address;
        bool last = fold(from_last) <= fold(from_previous);
        outcome.address_difference = last ? from_last : from_previous;
        outcome.codes |= (second_held ? CODE_SECOND
                          : last      ? ADDRESS_FROM_LAST
                                      : ADDRESS_FROM_PREVIOUS)
                         << 2;
    }
    learn_address(predictor, entry, address, second_held);
    return outcome;
}

static uint8_t *put_place(struct wire_trace_writer *writer, const struct outcome *outcome)
{
    uint8_t *at = put_codes(writer, writer->at, outcome->codes);
    if ((outcome->codes & 3) == CODE_EXPLICIT)
        at = put_signed(at, outcome->id_difference);
    if (outcome->codes >> 2 & 2)
        at = put_signed(at, outcome->address_difference);
    return at;
}

/* Which guess holds, tried in order; taught to the entry. */
static inline unsigned code_value(struct predictor *predictor, struct entry *entry,
                                  const uint8_t *image, uint64_t value)
{
    unsigned choice = entry->value_choice;
    if (__builtin_expect(guess_value(predictor, entry, image, choice) == value, 1))
        return CODE_FIRST;
    for (unsigned nth = 1; nth < VALUE_GUESSES; nth++) {
        unsigned guess = nth_guess(choice, nth);
        if (guess_value(predictor, entry, image, guess) == value) {
            entry->value_choice = (uint8_t)guess;
            return nth;
        }
    }
    return VALUE_EXPLICIT;
}

bool wire_trace_access(struct wire_trace_writer *writer, uint32_t id, uint64_t address,
                       uint64_t value)
{
    struct predictor *predictor = &writer->predictor;
    struct entry *entry = defined_entry(predictor, id);
    if (__builtin_expect(!entry || entry->bytes > 8 || entry->bytes == 0, 0) || writer->ended)
        return false;
    struct outcome outcome = take_place(predictor, entry, id, address);
    uint64_t difference = 0;
    if (predictor->values) {
        uint8_t *image = image_of(predictor, address);
        value = cut_to(value, entry->bytes);
        outcome.codes |= code_value(predictor, entry, image, value) << 4;
        difference = difference_of(value, entry->value, entry->bytes);
        learn_value(predictor, entry, image, value);
    }
    if (outcome.codes == 0)
        return count_predicted(writer);
    uint8_t *at = put_place(writer, &outcome);
    if (outcome.codes >> 4 == VALUE_EXPLICIT)
        at = put_signed(at, difference);
    return finish(writer, at);
}

static unsigned code_wide(struct predictor *predictor, struct entry *entry, const uint8_t *image,
                          const uint8_t *value)
{
    for (unsigned nth = 0; nth < VALUE_GUESSES; nth++) {
        unsigned guess = nth_guess(entry->value_choice, nth);
        const uint8_t *guessed = guess_wide(predictor, image, guess);
        if (!guessed || memcmp(guessed, value, entry->bytes) != 0)
            continue;
        entry->value_choice = (uint8_t)guess;
        return nth;
    }
    return VALUE_EXPLICIT;
}

static bool write_wide(struct wire_trace_writer *writer, struct entry *entry,
                       const struct wire_trace_event *event)
{
    struct predictor *predictor = &writer->predictor;
    struct outcome outcome = take_place(predictor, entry, event->id, event->address);
    uint8_t *image = image_of(predictor, event->address);
    if (predictor->values)
        outcome.codes |= code_wide(predictor, entry, image, event->value) << 4;
    uint8_t *at = outcome.codes ? put_place(writer, &outcome) : writer->at;
    if (outcome.codes >> 4 == VALUE_EXPLICIT)
        at = put_wide(at, event->value, image, entry->bytes);
    if (predictor->values)
        learn_wide(predictor, entry, image, event->value);
    return outcome.codes ? finish(writer, at) : count_predicted(writer);
}

static bool write_access(struct wire_trace_writer *writer, const struct wire_trace_event *event)
{
    struct entry *entry = defined_entry(&writer->predictor, event->id);
    if (!entry || event->bytes != entry->bytes || event->bytes == 0 ||
        (event->type == WIRE_TRACE_STORE) != !!(entry->flags & ID_STORE) ||
        (writer->predictor.values && !event->value))
        return false;
    if (entry->bytes > 8)
        return write_wide(writer, entry, event);
    uint64_t value = 0;
    if (event->value)
        memcpy(&value, event->value, entry->bytes);
    return wire_trace_access(writer, event->id, event->address, value);
}

/* Id, address and length, each against those of the kernel's access before it. */
static uint8_t *put_kernel(struct wire_trace_writer *writer, enum other other, uint32_t id,
                           uint64_t address, uint64_t bytes)
{
    struct predictor *predictor = &writer->predictor;
    uint8_t *at = put_other(writer, other);
    if (other != OTHER_FORGET)
        at = put_signed(at, (uint64_t)id - predictor->other_id);
    at = put_signed(at, address - predictor->other_address);
    at = put_number(at, bytes);
    if (other != OTHER_FORGET)
        predictor->other_id = id;
    predictor->other_address = address;
    return at;
}

/* In pieces, since a reader has room for no more than a frame. */
static bool write_kernel_value(struct wire_trace_writer *writer,
                               const struct wire_trace_event *event)
{
    uint64_t done = 0;
    do {
        uint64_t piece = event->bytes - done < PIECE_BYTES ? event->bytes - done : PIECE_BYTES;
        if (writer->at + piece >= writer->full && !send_frame(writer))
            return false;
        uint8_t *at =
            put_kernel(writer, OTHER_KERNEL_STORE_VALUE, event->id, event->address + done, piece);
        memcpy(at, event->value + done, piece);
        learn_kernel_store(&writer->predictor, event->address + done, at, piece);
        if (!finish(writer, at + piece))
            return false;
        done += piece;
    } while (done < event->bytes);
    return true;
}

static bool write_kernel(struct wire_trace_writer *writer, const struct wire_trace_event *event)
{
    enum other other = event->type == WIRE_TRACE_FORGET        ? OTHER_FORGET
                       : event->type == WIRE_TRACE_KERNEL_LOAD ? OTHER_KERNEL_LOAD
                                                               : OTHER_KERNEL_STORE;
    if (other != OTHER_FORGET && !defined_entry(&writer->predictor, event->id))
        return false;
    if (other == OTHER_KERNEL_STORE && writer->predictor.values && event->value)
        return write_kernel_value(writer, event);
    return finish(writer, put_kernel(writer, other, event->id, event->address, event->bytes));
}

static bool write_thread(struct wire_trace_writer *writer, const struct wire_trace_event *event)
{
    return finish(writer, put_number(put_other(writer, OTHER_THREAD), event->id));
}

static bool define_access(struct wire_trace_writer *writer, const struct wire_trace_event *event)
{
    struct predictor *predictor = &writer->predictor;
    if (!may_define_access(predictor, event))
        return false;
    uint8_t *at = put_other(writer, OTHER_ACCESS);
    at = put_signed(at, (uint64_t)event->id - predictor->defined - 1);
    at = put_signed(at, (uint64_t)event->node - predictor->node);
    at = put_number(at, event->bytes);
    *at++ = event->element;
    *at++ = event->store;
    learn_access(predictor, event);
    return finish(writer, at);
}

static bool define_node(struct wire_trace_writer *writer, const struct wire_trace_event *event)
{
    struct predictor *predictor = &writer->predictor;
    if (!may_define_node(predictor, event))
        return false;
    uint8_t *at = put_other(writer, OTHER_NODE);
    at = put_signed(at, (uint64_t)event->id - predictor->node - 1);
    at = put_signed(at, (uint64_t)event->node - predictor->parent);
    at = put_signed(at, (uint64_t)event->module - predictor->module);
    at = put_number(at, event->flags);
    at = put_signed(at, event->address - predictor->vaddr);
    learn_node(predictor, event);
    return finish(writer, at);
}

static bool define_module(struct wire_trace_writer *writer, const struct wire_trace_event *event)
{
    if (!may_define_module(&writer->predictor, event) || !event->value)
        return false;
    const uint8_t *end = memchr(event->value, 0, PATH_LENGTH_MAX - 1);
    size_t bytes = end ? (size_t)(end - event->value) : PATH_LENGTH_MAX - 1;
    if (writer->at + bytes >= writer->full && !send_frame(writer))
        return false;
    uint8_t *at = put_other(writer, OTHER_MODULE);
    at = put_number(at, event->id);
    at = put_number(at, event->address);
    at = put_number(at, event->bytes);
    at = put_number(at, event->bias);
    at = put_number(at, bytes);
    memcpy(at, event->value, bytes);
    at[bytes] = 0;
    set_bit(writer->predictor.modules, event->id);
    return finish(writer, at + bytes + 1);
}

bool wire_trace_write(struct wire_trace_writer *writer, const struct wire_trace_event *event)
{
    if (writer->failed || writer->ended)
        return false;
    switch (event->type) {
    case WIRE_TRACE_LOAD:
    case WIRE_TRACE_STORE: return write_access(writer, event);
    case WIRE_TRACE_KERNEL_LOAD:
    case WIRE_TRACE_KERNEL_STORE:
    case WIRE_TRACE_FORGET: return write_kernel(writer, event);
    case WIRE_TRACE_THREAD: return write_thread(writer, event);
    case WIRE_TRACE_ACCESS: return define_access(writer, event);
    case WIRE_TRACE_NODE: return define_node(writer, event);
    case WIRE_TRACE_MODULE: return define_module(writer, event);
    case WIRE_TRACE_END: return wire_trace_end(writer);
    default: return false;
    }
}

bool wire_trace_flush(struct wire_trace_writer *writer)
{
    return !writer->failed && write_run(writer) && send_frame(writer);
}

bool wire_trace_end(struct wire_trace_writer *writer)
{
    if (writer->failed || writer->ended)
        return false;
    writer->ended = true;
    writer->at = put_other(writer, OTHER_END);
    return send_frame(writer);
}
