// SPDX-License-Identifier: MIT
/*
 * The accesses that fast.h does not decide, in three sorts:
 *   part   1, 2 or 4 bytes of one unit, aligned, that have one former access;
 *   whole  both units of a record, each with one former access; wide accesses in steps of it;
 *   block  any bytes of sixteen aligned ones. No group of bytes reaches from one such block
 *          into another, so an access is the sum of its blocks.
 * The first two are shortcuts of the third, taken by most accesses that come here: sweeps with
 * bytes over what another sweep touched, changed floats, a second former access, SIMD.
 */
#include "shadow/internal.h"

/* An access: its id for counting, and the id it leaves behind, which is 0 for the kernel's. */
struct access {
    uint32_t id, mark;
    bool values_known; /* stores: `before` is */
};

/* ---- units ------------------------------------------------------------------------- */

static inline const unsigned char *loaded_at(const struct shadow_record *record, uint64_t address)
{
    return (const unsigned char *)&record->loaded + (address & 7);
}

/* Bytes of a unit are read: the first read since they were stored is the store's use. */
static inline void read_part(struct shadow *shadow, uint32_t *store, uint32_t id, uint32_t part)
{
    uint32_t unread = *store >> SHADOW_ID_BITS & part, word = *store & SHADOW_ID_MASK;
    if (!unread)
        return;
    *store &= ~(unread << SHADOW_ID_BITS);
    if (!is_mixed(word)) {
        count_read(shadow, id, word, count_bits(unread));
        return;
    }
    const uint32_t *ids = detail_of(shadow, word);
    for (uint32_t i = 0; i < 4; i++)
        if (unread >> i & 1)
            count_read(shadow, id, ids[i], 1);
}

/* The one former access of some bytes of a unit; false if they have several. */
static inline bool former_of(const struct shadow *shadow, uint32_t word, uint32_t first,
                             uint32_t bytes, uint32_t *former)
{
    *former = word;
    if (!is_mixed(word))
        return true;
    const uint32_t *ids = detail_of(shadow, word);
    *former = ids[first];
    for (uint32_t i = 1; i < bytes; i++)
        if (ids[first + i] != ids[first])
            return false;
    return true;
}

static inline void set_stored(struct shadow *shadow, uint64_t address, uint32_t *store,
                              uint32_t part, uint32_t mark)
{
    uint32_t unread = *store >> SHADOW_ID_BITS & ~part, word = *store & SHADOW_ID_MASK;
    *store = shadow_set_part(shadow, address, word, part, mark) | (unread | (mark ? part : 0))
                                                                      << SHADOW_ID_BITS;
}

/* ---- part -------------------------------------------------------------------------- */

static inline uint32_t waste_of(const struct shadow *shadow, uint32_t former, uint32_t bytes,
                                uint64_t before, uint64_t now)
{
    if (before == now)
        return bytes;
    uint8_t element = shadow->elements[former];
    if (shadow_is_one_group(element, bytes))
        return 0;
    return shadow_waste_of_part(shadow, element, bytes, before, now);
}

/* False: not of this sort, nothing has happened. */
static inline bool load_part(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                             uint64_t value)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t unit = address >> 2 & 1, first = address & 3, former;
    if (!former_of(shadow, record->load[unit], first, bytes, &former))
        return false;
    uint32_t part = ((1u << bytes) - 1) << first;
    uint64_t loaded = 0;
    memcpy(&loaded, loaded_at(record, address), bytes);
    value = shadow_cut(value, bytes);
    uint32_t waste = waste_of(shadow, former, bytes, loaded, value);
    count_load(shadow, id, former, waste, bytes - waste);
    read_part(shadow, &record->store[unit], id, part);
    memcpy((unsigned char *)&record->loaded + (address & 7), &value, bytes);
    if (former != id)
        record->load[unit] = shadow_set_part(shadow, address, record->load[unit], part, id);
    return true;
}

static inline bool store_part(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                              uint64_t before, uint64_t value)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t unit = address >> 2 & 1, first = address & 3, former;
    uint32_t *store = &record->store[unit];
    if (!former_of(shadow, *store & SHADOW_ID_MASK, first, bytes, &former))
        return false;
    uint32_t part = ((1u << bytes) - 1) << first;
    uint32_t dead = count_bits(*store >> SHADOW_ID_BITS & part);
    uint32_t waste =
        waste_of(shadow, former, bytes, shadow_cut(before, bytes), shadow_cut(value, bytes));
    count_store(shadow, id, former, waste, bytes - waste, dead);
    if (former == id)
        *store |= part << SHADOW_ID_BITS;
    else
        set_stored(shadow, address, store, part, id);
    return true;
}

/* ---- whole ------------------------------------------------------------------------- */

static inline bool load_whole(struct shadow *shadow, uint64_t address, struct access access,
                              uint64_t value)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t low = record->load[0], high = record->load[1], id = access.id;
    if (is_mixed(low) || is_mixed(high))
        return false;
    uint64_t loaded = record->loaded;
    if (low == high) {
        uint32_t waste = waste_of(shadow, low, 8, loaded, value);
        count_load(shadow, id, low, waste, 8 - waste);
    } else {
        uint32_t waste = waste_of(shadow, low, 4, (uint32_t)loaded, (uint32_t)value);
        count_load(shadow, id, low, waste, 4 - waste);
        waste = waste_of(shadow, high, 4, loaded >> 32, value >> 32);
        count_load(shadow, id, high, waste, 4 - waste);
    }
    if (shadow_both(record->store) & SHADOW_UNREAD) {
        read_part(shadow, &record->store[0], id, 15);
        read_part(shadow, &record->store[1], id, 15);
    }
    record->loaded = value;
    shadow_set_both(record->load, shadow_twice(access.mark));
    return true;
}

static inline void count_stored(struct shadow *shadow, struct access access, uint32_t former,
                                uint32_t bytes, uint32_t waste, uint32_t dead)
{
    /* Of bytes that nobody stored it does not matter what they were. */
    bool judged = access.values_known || former == 0;
    count_store(shadow, access.id, former, judged ? waste : 0, judged ? bytes - waste : 0, dead);
}

static inline bool store_whole(struct shadow *shadow, uint64_t address, struct access access,
                               uint64_t before, uint64_t value)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t low = record->store[0] & SHADOW_ID_MASK, high = record->store[1] & SHADOW_ID_MASK;
    uint32_t dead_low = count_bits(record->store[0] >> SHADOW_ID_BITS);
    uint32_t dead_high = count_bits(record->store[1] >> SHADOW_ID_BITS);
    if (is_mixed(low) || is_mixed(high))
        return false;
    if (low == high) {
        uint32_t waste = waste_of(shadow, low, 8, before, value);
        count_stored(shadow, access, low, 8, waste, dead_low + dead_high);
    } else {
        uint32_t waste = waste_of(shadow, low, 4, (uint32_t)before, (uint32_t)value);
        count_stored(shadow, access, low, 4, waste, dead_low);
        waste = waste_of(shadow, high, 4, before >> 32, value >> 32);
        count_stored(shadow, access, high, 4, waste, dead_high);
    }
    shadow_set_both(record->store, shadow_twice(access.mark) | (access.mark ? SHADOW_UNREAD : 0));
    return true;
}

/* ---- block ------------------------------------------------------------------------- */

/* What is common to loads and stores of some of sixteen aligned bytes. */
struct block {
    uint64_t address; /* of the first of the sixteen */
    uint32_t touched; /* bit i: byte i belongs to the access */
    uint32_t differing;
    uint32_t former[16];        /* of touched bytes */
    uint64_t before[2], now[2]; /* equal in bytes not touched */
};

/* Bit i: byte i of a word is not zero. */
static inline uint32_t bytes_set(uint64_t word)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t tops = (((word & low) + low) | word) & ~low;
    /* Moves bit 8i to bit 56 + i; no two products meet in one bit, so nothing carries. */
    return (uint32_t)((tops >> 7) * UINT64_C(0x0102040810204080) >> 56);
}

static void compare(struct block *block)
{
    block->differing = bytes_set(block->before[0] ^ block->now[0]) |
                       bytes_set(block->before[1] ^ block->now[1]) << 8;
}

static void expand(const struct shadow *shadow, struct block *block, uint32_t unit, uint32_t word)
{
    uint32_t *former = &block->former[4 * unit];
    if (is_mixed(word))
        memcpy(former, detail_of(shadow, word), 4 * sizeof *former);
    else
        former[0] = former[1] = former[2] = former[3] = word;
}

/* The bytes of `rest` that have the same former access as the first of them. */
static uint32_t group_of(const struct block *block, uint32_t rest)
{
    uint32_t first = (uint32_t)__builtin_ctz(rest), group = 0;
    for (uint32_t i = first; i < 16; i++)
        group |= (uint32_t)(block->former[i] == block->former[first]) << i;
    return group & rest;
}

static uint32_t waste_of_group(const struct shadow *shadow, const struct block *block,
                               uint32_t group)
{
    if (!(block->differing & group))
        return group;
    uint8_t element = shadow->elements[block->former[__builtin_ctz(group)]];
    return shadow_waste_of_block(shadow, element, group, block->differing,
                                 (const uint8_t *)block->before, (const uint8_t *)block->now);
}

static inline struct block block_at(uint64_t address, uint64_t start, uint64_t end)
{
    struct block block;
    uint32_t from = start > address ? (uint32_t)(start - address) : 0;
    uint32_t to = end < address + 16 ? (uint32_t)(end - address) : 16;
    block.address = address;
    block.touched = (UINT32_C(1) << to) - (UINT32_C(1) << from);
    return block;
}

/* Copies the access's bytes of this block; value is the one of byte `start`. */
static inline void pick(const struct block *block, uint64_t into[2], uint64_t start,
                        const uint8_t *value)
{
    uint32_t from = (uint32_t)__builtin_ctz(block->touched);
    uint64_t skipped = block->address + from - start;
    memcpy((uint8_t *)into + from, value + skipped, count_bits(block->touched));
}

static void load_block(struct shadow *shadow, struct block *block, struct access access,
                       uint64_t start, const uint8_t *value)
{
    struct shadow_record *record = shadow_record_of(shadow, block->address);
    block->before[0] = block->now[0] = record[0].loaded;
    block->before[1] = block->now[1] = record[1].loaded;
    pick(block, block->now, start, value);
    compare(block);
    for (uint32_t unit = 0; unit < 4; unit++) {
        uint32_t part = block->touched >> 4 * unit & 15;
        if (!part)
            continue;
        expand(shadow, block, unit, record[unit >> 1].load[unit & 1]);
        read_part(shadow, &record[unit >> 1].store[unit & 1], access.id, part);
    }
    for (uint32_t rest = block->touched, group; rest; rest &= ~group) {
        group = group_of(block, rest);
        uint32_t bytes = count_bits(group);
        uint32_t waste = count_bits(waste_of_group(shadow, block, group));
        count_load(shadow, access.id, block->former[__builtin_ctz(group)], waste, bytes - waste);
    }
    record[0].loaded = block->now[0];
    record[1].loaded = block->now[1];
    for (uint32_t unit = 0; unit < 4; unit++) {
        uint32_t *load = &record[unit >> 1].load[unit & 1];
        uint32_t part = block->touched >> 4 * unit & 15;
        if (part)
            *load = shadow_set_part(shadow, block->address, *load, part, access.mark);
    }
}

static void store_block(struct shadow *shadow, struct block *block, struct access access,
                        uint64_t start, const uint8_t *before, const uint8_t *value)
{
    struct shadow_record *record = shadow_record_of(shadow, block->address);
    uint32_t unread = 0;
    memset(block->before, 0, sizeof block->before);
    memset(block->now, 0, sizeof block->now);
    if (access.values_known) {
        pick(block, block->before, start, before);
        pick(block, block->now, start, value);
    }
    compare(block);
    for (uint32_t unit = 0; unit < 4; unit++) {
        uint32_t word = record[unit >> 1].store[unit & 1];
        expand(shadow, block, unit, word & SHADOW_ID_MASK);
        unread |= (word >> SHADOW_ID_BITS) << 4 * unit;
    }
    for (uint32_t rest = block->touched, group; rest; rest &= ~group) {
        group = group_of(block, rest);
        uint32_t waste = count_bits(waste_of_group(shadow, block, group));
        count_stored(shadow, access, block->former[__builtin_ctz(group)], count_bits(group), waste,
                     count_bits(group & unread));
    }
    for (uint32_t unit = 0; unit < 4; unit++) {
        uint32_t part = block->touched >> 4 * unit & 15;
        if (part)
            set_stored(shadow, block->address, &record[unit >> 1].store[unit & 1], part,
                       access.mark);
    }
}

/* ---- wide -------------------------------------------------------------------------- */

static inline uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Could a former x87 access join bytes of both records? Its id is in either. */
static inline bool is_joined(const struct shadow *shadow, const uint32_t first[2],
                             const uint32_t second[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t id = first[i] & SHADOW_ID_MASK;
        if (is_mixed(id) ||
            ((id == (second[0] & SHADOW_ID_MASK) || id == (second[1] & SHADOW_ID_MASK)) &&
             (shadow->elements[id] & ~SHADOW_FLOAT) > 8))
            return true;
    }
    return is_mixed(second[0] & SHADOW_ID_MASK) || is_mixed(second[1] & SHADOW_ID_MASK);
}

/* How much of [address, end) can be done record by record before a block must be looked at whole.
 */
static inline bool is_pair(uint64_t address, uint64_t end)
{
    return (address & 15) == 0 && end - address >= 16;
}

/* Neither; more than a record of a block, but not all of it, could be a part of an x87 group. */
static inline bool is_odd(uint64_t address, uint64_t end)
{
    uint64_t rest = end - address;
    return (address & 7) != 0 || rest < 8 || ((address & 15) == 0 && rest > 8 && rest < 16);
}

static void load_any(struct shadow *shadow, uint64_t start, struct access access, uint64_t bytes,
                     const uint8_t *value)
{
    uint64_t end = start + bytes, step;
    for (uint64_t at = start; at < end; at += step) {
        const struct shadow_record *record = shadow_record_of(shadow, at);
        bool pair = is_pair(at, end);
        step = pair ? 16 : 8;
        if (!is_odd(at, end) && !(pair && is_joined(shadow, record[0].load, record[1].load)) &&
            load_whole(shadow, at, access, word_at(value + (at - start)))) {
            if (pair)
                load_whole(shadow, at + 8, access, word_at(value + (at - start) + 8));
            continue;
        }
        struct block block = block_at(at & ~UINT64_C(15), at, end);
        load_block(shadow, &block, access, start, value);
        step = block.address + 16 - at;
    }
}

static void store_any(struct shadow *shadow, uint64_t start, struct access access, uint64_t bytes,
                      const uint8_t *before, const uint8_t *value)
{
    uint64_t end = start + bytes, step;
    for (uint64_t at = start; at < end; at += step) {
        const struct shadow_record *record = shadow_record_of(shadow, at);
        bool pair = is_pair(at, end);
        step = pair ? 16 : 8;
        if (!is_odd(at, end) && !(pair && is_joined(shadow, record[0].store, record[1].store)) &&
            store_whole(shadow, at, access, before ? word_at(before + (at - start)) : 0,
                        before ? word_at(value + (at - start)) : 0)) {
            if (pair)
                store_whole(shadow, at + 8, access, before ? word_at(before + (at - start) + 8) : 0,
                            before ? word_at(value + (at - start) + 8) : 0);
            continue;
        }
        struct block block = block_at(at & ~UINT64_C(15), at, end);
        store_block(shadow, &block, access, start, before, value);
        step = block.address + 16 - at;
    }
}

/* ---- public ------------------------------------------------------------------------ */

static inline bool is_outside(const struct shadow *shadow, uint64_t address, uint64_t bytes)
{
    return shadow->exhausted || address >= shadow->address_limit ||
           bytes > shadow->address_limit - address;
}

void shadow_load(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                 const uint8_t *value)
{
    if (!is_outside(shadow, address, bytes))
        load_any(shadow, address, (struct access){id, id, true}, bytes, value);
}

void shadow_store(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                  const uint8_t *before, const uint8_t *value)
{
    if (!is_outside(shadow, address, bytes))
        store_any(shadow, address, (struct access){id, id, true}, bytes, before, value);
}

void shadow_kernel_load(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                        const uint8_t *value)
{
    if (!is_outside(shadow, address, bytes))
        load_any(shadow, address, (struct access){id, 0, true}, bytes, value);
}

void shadow_kernel_store(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                         const uint8_t *before, const uint8_t *value)
{
    if (!is_outside(shadow, address, bytes))
        store_any(shadow, address, (struct access){id, 0, before != NULL}, bytes, before, value);
}

/* For accesses that fast.h gave up on; bytes is a constant. */
SHADOW_INLINE void load_slow(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                             uint64_t value)
{
    if (SHADOW_RARE(is_outside(shadow, address, bytes)))
        return;
    struct access access = {id, id, true};
    bool done = false;
    if (bytes < 8 && (address & (bytes - 1)) == 0)
        done = load_part(shadow, address, id, bytes, value);
    else if (bytes == 8 && (address & 7) == 0)
        done = load_whole(shadow, address, access, value);
    if (SHADOW_RARE(!done))
        load_any(shadow, address, access, bytes, (const uint8_t *)&value);
}

SHADOW_INLINE void store_slow(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                              uint64_t before, uint64_t value)
{
    if (SHADOW_RARE(is_outside(shadow, address, bytes)))
        return;
    struct access access = {id, id, true};
    bool done = false;
    if (bytes < 8 && (address & (bytes - 1)) == 0)
        done = store_part(shadow, address, id, bytes, before, value);
    else if (bytes == 8 && (address & 7) == 0)
        done = store_whole(shadow, address, access, before, value);
    if (SHADOW_RARE(!done))
        store_any(shadow, address, access, bytes, (const uint8_t *)&before,
                  (const uint8_t *)&value);
}

#define SLOW(bytes)                                                                                \
    void shadow_load_slow_##bytes(struct shadow *shadow, uint64_t address, uint32_t id,            \
                                  uint64_t value)                                                  \
    {                                                                                              \
        load_slow(shadow, address, id, bytes, value);                                              \
    }                                                                                              \
    void shadow_store_slow_##bytes(struct shadow *shadow, uint64_t address, uint32_t id,           \
                                   uint64_t before, uint64_t value)                                \
    {                                                                                              \
        store_slow(shadow, address, id, bytes, before, value);                                     \
    }

SLOW(1)
SLOW(2)
SLOW(4)
SLOW(8)
