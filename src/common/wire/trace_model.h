// SPDX-License-Identifier: MIT
/*
 * What the trace's writer and reader share: layout, numbers, predictor. The stream is described in
 * docs/formats/trace.md, with which this file must agree to the bit.
 *
 * Workload: hundreds of millions of events from an engine that has some ten nanoseconds to spare for
 * each, and readers that replay them as fast. So there is no entropy coder and no model with
 * probabilities: for each part of an access - which one, where, what value - a few guesses are
 * made, and if the first guesses all hold nothing is written but a count of such events. What the
 * guesses cost is one cache line per access id, one entry of a table by recent history, and one line of
 * a small image of the program's memory, whose locality is the program's own.
 *
 * One struct predictor, advanced identically on both sides by guess_* and learn_*. Whatever depends
 * on the caller (most_ids) must not change a guess, since writer and reader may differ in it.
 */
#ifndef HEADROOM_WIRE_TRACE_MODEL_H
#define HEADROOM_WIRE_TRACE_MODEL_H

#include "wire/trace.h"

#include <string.h>

/* ---- layout --------------------------------------------------------------------------------- */

enum {
    CONTEXT_BITS = 16, /* 256 KiB of guesses by history: stays in a second-level cache */
    FOLLOWERS_BYTES = 4 << CONTEXT_BITS,
    IMAGE_BYTES = 1 << 24, /* touched as the program touches memory */
    IMAGE_SLACK = WIRE_TRACE_BYTES_MAX,
    NODES_PER_ID = 4, /* a node for each access, and those of its callers */
    MODULES_MAX = 65536,
    FRAME_BYTES = 65536,       /* most payload of a frame */
    PIECE_BYTES = 16384,       /* of a kernel store's value */
    DEFINED_BYTES_MAX = 65535, /* width of an access; events hold the first 64 */
    PATH_LENGTH_MAX = 4096,    /* with its NUL */
    SLACK_BYTES = 256,         /* more than any event but its long value or path */
    RUN_MAX = 1 << 24,         /* a few hostile bytes shall not keep a reader busy for ever */
    FRAME_MAGIC = 0x52465448,  /* "HTFR" */
    HEADER_VALUES = 1,         /* flag */
};
#define HEADER_MAGIC UINT64_C(0x4543415254524448) /* "HDRTRACE" */

struct header {
    uint64_t magic;
    uint32_t version, flags;
    uint64_t checksum;
};

struct frame {
    uint32_t magic, bytes;
    uint64_t checksum;
};

/* The first byte of an event: two bits each for id, address and, if there are values, value; the
   rest counts predicted events before it. */
enum { CODE_FIRST, CODE_SECOND, CODE_EXPLICIT, CODE_OTHER };
enum { ADDRESS_FROM_LAST = 2, ADDRESS_FROM_PREVIOUS = 3, VALUE_THIRD = 2, VALUE_EXPLICIT = 3 };

/* Second byte, after CODE_OTHER. */
enum other {
    OTHER_RUN,
    OTHER_KERNEL_LOAD,
    OTHER_KERNEL_STORE,
    OTHER_KERNEL_STORE_VALUE,
    OTHER_FORGET,
    OTHER_THREAD,
    OTHER_ACCESS,
    OTHER_NODE,
    OTHER_MODULE,
    OTHER_END,
};

static inline uint64_t payload_checksum(const uint8_t *payload, uint32_t bytes, uint32_t sequence)
{
    return base_hash_bytes(payload, bytes, (uint64_t)sequence << 32 | bytes);
}

static inline uint64_t header_checksum(const struct header *header)
{
    return base_hash_bytes(header, offsetof(struct header, checksum), 0);
}

/* ---- predictor ----------------------------------------------------------------------------- */

enum { ID_DEFINED = 1, ID_STORE = 2, ID_BY_OFFSET = 4 };

/* Guesses for values. */
enum { VALUE_IMAGE, VALUE_STRIDE, VALUE_COPY, VALUE_GUESSES };

/* What is known of an access id; one cache line. */
struct entry {
    uint64_t address, stride, delta; /* last address; difference that came twice; last difference */
    uint64_t offset;                 /* last address minus that of the access before it */
    uint64_t value, value_stride, value_delta;
    uint32_t successor; /* minus id + 1: blocks have consecutive ids */
    uint8_t bytes;      /* of its accesses, at most WIRE_TRACE_BYTES_MAX */
    uint8_t flags;
    uint8_t value_choice; /* the guess that held last */
    uint8_t unused;
};
_Static_assert(sizeof(struct entry) == 64, "one cache line");

struct predictor {
    uint32_t *followers;      /* by hash of recent ids: the id that came then */
    uint8_t *image;           /* recent content of memory, by hash of address */
    uint8_t *nodes, *modules; /* bits: defined */
    struct entry *entries;
    uint32_t most_ids;
    bool values;
    uint32_t previous; /* id of the last access */
    uint64_t previous_address;
    uint64_t context;                     /* recent ids, the last in the lowest bits */
    uint8_t loaded[WIRE_TRACE_BYTES_MAX]; /* by the last load */
    /* what definitions and the kernel's accesses are written against */
    uint32_t other_id, defined, node, parent, module;
    uint64_t other_address, vaddr;
};

static inline size_t nodes_bytes(uint32_t most_ids)
{
    return ((size_t)most_ids * NODES_PER_ID / 8 + 63 + 1) / 64 * 64;
}

static inline void predictor_init(struct predictor *predictor, void *memory, uint32_t most_ids,
                                  bool values)
{
    uint8_t *at = memory;
    memset(predictor, 0, sizeof(*predictor));
    predictor->followers = (uint32_t *)at;
    predictor->image = at += FOLLOWERS_BYTES;
    predictor->modules = at += IMAGE_BYTES + IMAGE_SLACK;
    predictor->nodes = at += MODULES_MAX / 8;
    predictor->entries = (struct entry *)(at + nodes_bytes(most_ids));
    predictor->most_ids = most_ids;
    predictor->values = values;
}

static inline bool bit_is_set(const uint8_t *bits, uint32_t number)
{
    return bits[number / 8] >> number % 8 & 1;
}

static inline void set_bit(uint8_t *bits, uint32_t number)
{
    bits[number / 8] |= (uint8_t)(1 << number % 8);
}

static inline struct entry *defined_entry(const struct predictor *predictor, uint32_t id)
{
    if (id >= predictor->most_ids || !(predictor->entries[id].flags & ID_DEFINED))
        return NULL;
    return &predictor->entries[id];
}

/* Node 0 is the root. */
static inline bool node_is_defined(const struct predictor *predictor, uint32_t node)
{
    return node == 0 ||
           (node / NODES_PER_ID < predictor->most_ids && bit_is_set(predictor->nodes, node));
}

static inline uint64_t load64(const void *at)
{
    uint64_t word;
    __builtin_memcpy(&word, at, sizeof(word));
    return word;
}

static inline void store64(void *at, uint64_t word)
{
    __builtin_memcpy(at, &word, sizeof(word));
}

/* bytes: 1..8 */
static inline uint64_t cut_to(uint64_t value, unsigned bytes)
{
    return value & UINT64_MAX >> (64 - 8 * bytes);
}

static inline uint32_t *follower_of(const struct predictor *predictor)
{
    return &predictor->followers[predictor->context * UINT64_C(0x9e3779b97f4a7c15) >>
                                 (64 - CONTEXT_BITS)];
}

static inline uint32_t second_id(const struct predictor *predictor)
{
    return predictor->entries[predictor->previous].successor + predictor->previous + 1;
}

/* Without a memory of this history the second guess is the first. */
static inline uint32_t first_id(const struct predictor *predictor, const uint32_t *follower)
{
    return *follower ? *follower : second_id(predictor);
}

/* Contiguous memory lies contiguously; 16-MiB regions are moved against each other so that stack and
   heap do not meet by their low address bits. */
static inline uint8_t *image_of(const struct predictor *predictor, uint64_t address)
{
    uint64_t region = address / IMAGE_BYTES * UINT64_C(0x9e3779b97f4a7c15) >> 44 << 12;
    return predictor->image + ((address + region) & (IMAGE_BYTES - 1));
}

static inline void learn_id(struct predictor *predictor, uint32_t *follower, uint32_t id)
{
    *follower = id;
    predictor->entries[predictor->previous].successor = id - (predictor->previous + 1);
    predictor->previous = id;
    predictor->context = predictor->context << 11 | (id * UINT32_C(0x9e3779b1) >> 16);
}

struct address_guesses {
    uint64_t first, second;
};

static inline struct address_guesses guess_address(const struct predictor *predictor,
                                                   const struct entry *entry)
{
    uint64_t by_stride = entry->address + entry->stride;
    uint64_t by_offset = predictor->previous_address + entry->offset;
    if (entry->flags & ID_BY_OFFSET)
        return (struct address_guesses){by_offset, by_stride};
    return (struct address_guesses){by_stride, by_offset};
}

/* A stride must be seen twice: the end of a row then costs one wrong guess, not two. */
static inline void learn_address(struct predictor *predictor, struct entry *entry, uint64_t address,
                                 bool second_held)
{
    uint64_t delta = address - entry->address;
    if (delta == entry->delta)
        entry->stride = delta;
    entry->delta = delta;
    entry->address = address;
    entry->offset = address - predictor->previous_address;
    predictor->previous_address = address;
    if (second_held)
        entry->flags ^= ID_BY_OFFSET;
}

/* The guesses in the order in which they are tried: the one that held last, then the others. */
static inline unsigned nth_guess(unsigned choice, unsigned nth)
{
    if (nth == 0)
        return choice;
    return nth == 1 ? choice == VALUE_IMAGE : choice == VALUE_COPY ? VALUE_STRIDE : VALUE_COPY;
}

static inline uint64_t guess_value(const struct predictor *predictor, const struct entry *entry,
                                   const uint8_t *image, unsigned guess)
{
    uint64_t value = guess == VALUE_IMAGE    ? load64(image)
                     : guess == VALUE_STRIDE ? entry->value + entry->value_stride
                                             : load64(predictor->loaded);
    return cut_to(value, entry->bytes);
}

static inline void store_low(uint8_t *at, uint64_t value, unsigned bytes)
{
    switch (bytes) {
    case 8: store64(at, value); break;
    case 4: __builtin_memcpy(at, &value, 4); break;
    case 2: __builtin_memcpy(at, &value, 2); break;
    case 1: *at = (uint8_t)value; break;
    default: memcpy(at, &value, bytes);
    }
}

static inline void learn_value(struct predictor *predictor, struct entry *entry, uint8_t *image,
                               uint64_t value)
{
    uint64_t delta = value - entry->value;
    if (delta == entry->value_delta)
        entry->value_stride = delta;
    entry->value_delta = delta;
    entry->value = value;
    store_low(image, value, entry->bytes);
    if (!(entry->flags & ID_STORE))
        store64(predictor->loaded, value);
}

/* Wider values have no stride: NULL. */
static inline const uint8_t *guess_wide(const struct predictor *predictor, const uint8_t *image,
                                        unsigned guess)
{
    return guess == VALUE_IMAGE ? image : guess == VALUE_COPY ? predictor->loaded : NULL;
}

/* value may be the image or what was loaded last. */
static inline void learn_wide(struct predictor *predictor, const struct entry *entry,
                              uint8_t *image, const uint8_t *value)
{
    if (!(entry->flags & ID_STORE))
        memmove(predictor->loaded, value, entry->bytes);
    memmove(image, value, entry->bytes);
}

/* What would not fit behind the place in the image is left out. bytes <= PIECE_BYTES */
static inline void learn_kernel_store(struct predictor *predictor, uint64_t address,
                                      const uint8_t *value, uint64_t bytes)
{
    uint8_t *image = image_of(predictor, address);
    uint64_t room = (uint64_t)(predictor->image + IMAGE_BYTES - image);
    memcpy(image, value, bytes < room ? bytes : room);
}

/* ---- definitions: each id once, nothing before what it stands on ------------------------------- */

static inline bool may_define_access(const struct predictor *predictor,
                                     const struct wire_trace_event *event)
{
    return event->id < predictor->most_ids && !(predictor->entries[event->id].flags & ID_DEFINED) &&
           node_is_defined(predictor, event->node) && event->bytes <= DEFINED_BYTES_MAX;
}

static inline void learn_access(struct predictor *predictor, const struct wire_trace_event *event)
{
    struct entry *entry = &predictor->entries[event->id];
    entry->flags = event->store ? ID_DEFINED | ID_STORE : ID_DEFINED;
    entry->bytes =
        (uint8_t)(event->bytes < WIRE_TRACE_BYTES_MAX ? event->bytes : WIRE_TRACE_BYTES_MAX);
    predictor->defined = event->id;
}

static inline bool may_define_node(const struct predictor *predictor,
                                   const struct wire_trace_event *event)
{
    return event->id != 0 && event->id / NODES_PER_ID < predictor->most_ids &&
           !bit_is_set(predictor->nodes, event->id) && node_is_defined(predictor, event->node) &&
           (event->module == 0 ||
            (event->module < MODULES_MAX && bit_is_set(predictor->modules, event->module)));
}

static inline void learn_node(struct predictor *predictor, const struct wire_trace_event *event)
{
    set_bit(predictor->nodes, event->id);
    predictor->node = event->id;
    predictor->parent = event->node;
    predictor->module = event->module;
    predictor->vaddr = event->address;
}

static inline bool may_define_module(const struct predictor *predictor,
                                     const struct wire_trace_event *event)
{
    return event->id != 0 && event->id < MODULES_MAX && !bit_is_set(predictor->modules, event->id);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

/* One to nine bytes, little-endian; as many follow the first as it has zeros below its lowest set bit. */
static inline uint8_t *put_number(uint8_t *at, uint64_t number)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(number | 1);
    if (bits > 56) {
        *at = 0;
        store64(at + 1, number);
        return at + 9;
    }
    unsigned bytes = (bits + 6) / 7;
    store64(at, (number << 1 | 1) << (bytes - 1));
    return at + bytes;
}

static inline const uint8_t *get_number(const uint8_t *at, uint64_t *number)
{
    uint64_t word = load64(at);
    if (!(word & 0xff)) {
        *number = load64(at + 1);
        return at + 9;
    }
    unsigned bytes = (unsigned)__builtin_ctzll(word) + 1;
    *number = word << (64 - 8 * bytes) >> (64 - 7 * bytes);
    return at + bytes;
}

/* Signed numbers: 0, -1, 1, -2, ... */
static inline uint64_t fold(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t unfold(uint64_t number)
{
    return number >> 1 ^ -(number & 1);
}

static inline uint8_t *put_signed(uint8_t *at, uint64_t difference)
{
    return put_number(at, fold(difference));
}

static inline const uint8_t *get_signed(const uint8_t *at, uint64_t base, uint64_t *sum)
{
    uint64_t number;
    at = get_number(at, &number);
    *sum = base + unfold(number);
    return at;
}

/* The difference of two values of this width, as a signed number. */
static inline uint64_t difference_of(uint64_t value, uint64_t base, unsigned bytes)
{
    unsigned unused = 64 - 8 * bytes;
    return (uint64_t)((int64_t)((value - base) << unused) >> unused);
}

/* Values of more than eight bytes against the image: a bit for each word of eight that differs,
   then the differences. The last word may be shorter. */
static inline uint8_t *put_wide(uint8_t *at, const uint8_t *value, const uint8_t *image,
                                unsigned bytes)
{
    uint8_t *different = at++;
    *different = 0;
    for (unsigned word = 0; word * 8 < bytes; word++) {
        unsigned width = bytes - word * 8 < 8 ? bytes - word * 8 : 8;
        uint64_t now = 0, before = 0;
        memcpy(&now, value + word * 8, width);
        memcpy(&before, image + word * 8, width);
        if (now == before)
            continue;
        *different |= (uint8_t)(1 << word);
        at = put_signed(at, difference_of(now, before, width));
    }
    return at;
}

/* value holds the image's bytes when called. */
static inline const uint8_t *get_wide(const uint8_t *at, uint8_t *value, unsigned bytes)
{
    unsigned different = *at++;
    for (unsigned word = 0; word * 8 < bytes; word++) {
        unsigned width = bytes - word * 8 < 8 ? bytes - word * 8 : 8;
        uint64_t before = 0, now;
        if (!(different >> word & 1))
            continue;
        memcpy(&before, value + word * 8, width);
        at = get_signed(at, before, &now);
        memcpy(value + word * 8, &now, width);
    }
    return at;
}

#endif
