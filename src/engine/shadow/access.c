// SPDX-License-Identifier: MIT
/*
 * The accesses that fast.h does not decide, in three sorts:
 *   part   2 or 4 bytes within one unit that have one former access;
 *   whole  both units of a record, each with one former access; wide accesses in steps of it;
 *   block  any bytes of sixteen aligned ones. No group of bytes reaches from one such block
 *          into another, so an access is the sum of its blocks.
 * The first two are shortcuts of the third, taken by most accesses that come here: changed
 * floats, SIMD.
 */
#include "shadow/internal.h"

/* An access: its id for counting, and the id it leaves behind: 0 if it is the kernel's, and while draining. */
struct access {
    uint32_t id, mark;
    bool values_known; /* stores: `before` is */
};

/* Of the group of locations at hand, if there is a sample of them. */
static inline struct shadow_pair *pair_of(struct shadow *shadow, uint32_t first, uint32_t second)
{
    return shadow_pair_of(shadow, first | shadow->group, second);
}

/*
 * While draining: of bytes without a former access nothing is known; bytes that have one are taken off the count of those without.
 * True: there is no more to count.
 */
static inline bool drain(struct shadow *shadow, uint32_t former, uint32_t id, uint64_t bytes)
{
    if (!SHADOW_RARE(shadow->draining))
        return false;
    if (former)
        shadow->taken_off[id] += bytes;
    return !former;
}

/* Counts what is waste by the tolerance alone; the rest of the waste. Before the pair proper is
   looked up: it may move in its set. */
static inline uint32_t count_near(struct shadow *shadow, uint32_t former, uint32_t id,
                                  struct shadow_waste waste)
{
    if (SHADOW_RARE(waste.near))
        pair_of(shadow, former | SHADOW_NEAR, id)->waste += waste.near;
    return waste.all - waste.near;
}

static inline void count(struct shadow *shadow, uint32_t former, uint32_t id, uint32_t bytes,
                         struct shadow_waste waste)
{
    if (drain(shadow, former, id, bytes))
        return;
    uint32_t equal = count_near(shadow, former, id, waste);
    struct shadow_pair *pair = pair_of(shadow, former, id);
    pair->waste += equal;
    pair->use += bytes - waste.all;
}

static inline void count_stored(struct shadow *shadow, struct access access, uint32_t former,
                                uint32_t bytes, struct shadow_waste waste, uint32_t dead)
{
    /* Of bytes that nobody stored it does not matter what they were. */
    bool judged = access.values_known || former == 0;
    if (drain(shadow, former, access.id, judged ? bytes : 0))
        return;
    uint32_t equal = judged ? count_near(shadow, former, access.id, waste) : 0;
    struct shadow_pair *pair = pair_of(shadow, former, access.id);
    if (judged) {
        pair->waste += equal;
        pair->use += bytes - waste.all;
    }
    pair->dead += dead;
}

/* ---- units ------------------------------------------------------------------------- */

/* The loaded bytes of a unit (bits of part) that were unread: the use of what stored them. */
static inline void read_unread(struct shadow *shadow, uint64_t address, uint32_t *store,
                               uint32_t id, uint32_t part)
{
    uint32_t unread = *store >> SHADOW_ID_BITS & part, word = *store & SHADOW_ID_MASK;
    if (!unread)
        return;
    *store &= ~(unread << SHADOW_ID_BITS);
    if (!shadow_is_mixed(word)) {
        pair_of(shadow, word, id)->dead += count_bits(unread);
        return;
    }
    const uint32_t *ids = shadow_ids_of(&shadow->stores, address & ~UINT64_C(3), word);
    for (uint32_t i = 0; i < 4; i++)
        if (unread >> i & 1)
            pair_of(shadow, ids[i], id)->dead++;
}

/* ---- part -------------------------------------------------------------------------- */

static inline struct shadow_waste waste_of(const struct shadow *shadow, uint32_t former,
                                           uint32_t bytes, uint64_t before, uint64_t now)
{
    if (before == now)
        return (struct shadow_waste){bytes, 0};
    uint8_t element = shadow->elements[former];
    if (shadow_is_one_group(element, bytes))
        return (struct shadow_waste){0, 0};
    return shadow_waste_of_part(shadow, element, bytes, before, now);
}

/* False: not of this sort, nothing has happened. */
SHADOW_INLINE bool load_part(struct shadow *shadow, uint64_t address, struct access access,
                             uint32_t bytes, uint64_t value)
{
    uint32_t id = access.id;
    struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t unit = address >> 2 & 1, word = record->load[unit];
    uint32_t former = shadow_former(word, &shadow->loads, address, bytes);
    if (shadow_is_mixed(former))
        return false;
    uint64_t loaded = 0;
    unsigned char *at = (unsigned char *)&record->loaded + (address & 7);
    memcpy(&loaded, at, bytes);
    count(shadow, former, id, bytes,
          waste_of(shadow, former, bytes, loaded, shadow_cut(value, bytes)));
    memcpy(at, &value, bytes);
    read_unread(shadow, address, &record->store[unit], id, shadow_part_of(address, bytes));
    record->load[unit] = shadow_mark(shadow, &shadow->loads, word, address, bytes, access.mark);
    return true;
}

SHADOW_INLINE bool store_part(struct shadow *shadow, uint64_t address, struct access access,
                              uint32_t bytes, uint64_t before, uint64_t value)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t unit = address >> 2 & 1, store = record->store[unit], word = store & SHADOW_ID_MASK;
    uint32_t former = shadow_former(word, &shadow->stores, address, bytes);
    uint32_t part = shadow_part_of(address, bytes), unread = store >> SHADOW_ID_BITS & ~part;
    if (shadow_is_mixed(former))
        return false;
    struct shadow_waste waste =
        waste_of(shadow, former, bytes, shadow_cut(before, bytes), shadow_cut(value, bytes));
    count_stored(shadow, access, former, bytes, waste, count_bits(store >> SHADOW_ID_BITS & part));
    record->store[unit] = shadow_mark(shadow, &shadow->stores, word, address, bytes, access.mark) |
                          (unread | (access.mark ? part : 0)) << SHADOW_ID_BITS;
    return true;
}

/* ---- whole ------------------------------------------------------------------------- */

static inline bool load_whole(struct shadow *shadow, uint64_t address, struct access access,
                              uint64_t value)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t low = record->load[0], high = record->load[1], id = access.id;
    uint64_t loaded = record->loaded;
    if (shadow_is_mixed(low) || shadow_is_mixed(high))
        return false;
    if (low == high) {
        count(shadow, low, id, 8, waste_of(shadow, low, 8, loaded, value));
    } else {
        count(shadow, low, id, 4, waste_of(shadow, low, 4, (uint32_t)loaded, (uint32_t)value));
        count(shadow, high, id, 4, waste_of(shadow, high, 4, loaded >> 32, value >> 32));
    }
    record->loaded = value;
    record->load[0] = record->load[1] = access.mark;
    read_unread(shadow, address, &record->store[0], id, 15);
    read_unread(shadow, address + 4, &record->store[1], id, 15);
    return true;
}

static inline bool store_whole(struct shadow *shadow, uint64_t address, struct access access,
                               uint64_t before, uint64_t value)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t low = record->store[0] & SHADOW_ID_MASK, high = record->store[1] & SHADOW_ID_MASK;
    uint32_t dead_low = count_bits(record->store[0] >> SHADOW_ID_BITS);
    uint32_t dead_high = count_bits(record->store[1] >> SHADOW_ID_BITS);
    if (shadow_is_mixed(low) || shadow_is_mixed(high))
        return false;
    if (low == high) {
        struct shadow_waste waste = waste_of(shadow, low, 8, before, value);
        count_stored(shadow, access, low, 8, waste, dead_low + dead_high);
    } else {
        struct shadow_waste waste = waste_of(shadow, low, 4, (uint32_t)before, (uint32_t)value);
        count_stored(shadow, access, low, 4, waste, dead_low);
        waste = waste_of(shadow, high, 4, before >> 32, value >> 32);
        count_stored(shadow, access, high, 4, waste, dead_high);
    }
    record->store[0] = record->store[1] = access.mark | (access.mark ? SHADOW_UNREAD : 0);
    return true;
}

/* ---- block ------------------------------------------------------------------------- */

/* Some of sixteen aligned bytes. */
struct block {
    uint64_t address; /* of the first of the sixteen */
    uint32_t touched; /* bit i: byte i belongs to the access */
    uint32_t differing;
    uint32_t unread; /* stores: was stored and not loaded since; loads: 0 */
    bool is_store;
    struct access access;
    uint64_t before[2], now[2]; /* equal in bytes not touched */
    uint32_t former[4];         /* words of the units, without unread bits */
};

/* Bit i: byte i of a word is not zero. */
static inline uint32_t bytes_set(uint64_t word)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t tops = (((word & low) + low) | word) & ~low;
    /* Moves bit 8i to bit 56 + i; no two products meet in one bit, so nothing carries. */
    return (uint32_t)((tops >> 7) * UINT64_C(0x0102040810204080) >> 56);
}

/* The other way round: bytes of ones. */
static inline uint64_t bytes_of(uint32_t bits)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t one_bit_each = bits * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
    return ((one_bit_each + low) >> 7 & UINT64_C(0x0101010101010101)) * 255;
}

static inline void set_values(struct block *block, uint32_t half, uint64_t before, uint64_t now)
{
    uint32_t touched = block->touched >> 8 * half & 0xff;
    uint64_t changed = (before ^ now) & bytes_of(touched);
    block->before[half] = before;
    block->now[half] = before ^ changed;
    block->differing |= bytes_set(changed) << 8 * half;
}

static inline uint32_t part_of(const struct block *block, uint32_t unit)
{
    return block->touched >> 4 * unit & 15;
}

/* All bytes of a group have this former access; those of `waste` are waste. */
static inline void count_group(struct shadow *shadow, const struct block *block, uint32_t former,
                               uint32_t group, struct shadow_waste waste)
{
    uint32_t bytes = count_bits(group);
    struct shadow_waste wasted = {count_bits(waste.all), count_bits(waste.near)};
    if (block->is_store)
        count_stored(shadow, block->access, former, bytes, wasted,
                     count_bits(group & block->unread));
    else
        count(shadow, former, block->access.id, bytes, wasted);
}

static struct shadow_waste waste_of_group(const struct shadow *shadow, const struct block *block,
                                          uint32_t former, uint32_t group)
{
    if (!(block->differing & group))
        return (struct shadow_waste){group, 0};
    return shadow_waste_of_block(shadow, shadow->elements[former], group, block->differing,
                                 (const uint8_t *)block->before, (const uint8_t *)block->now);
}

/* Touched units with one former access, the same for all? */
static inline bool is_uniform(const struct block *block, uint32_t *former)
{
    const uint32_t *words = block->former;
    uint32_t first = words[(uint32_t)__builtin_ctz(block->touched) >> 2];
    *former = first;
    return !shadow_is_mixed(first) && (words[0] == first || !part_of(block, 0)) &&
           (words[1] == first || !part_of(block, 1)) && (words[2] == first || !part_of(block, 2)) &&
           (words[3] == first || !part_of(block, 3));
}

/* Sorts the bytes by former access. */
static void judge_mixed(struct shadow *shadow, const struct block *block)
{
    const struct shadow_cells *cells = block->is_store ? &shadow->stores : &shadow->loads;
    uint32_t former[16];
    for (uint32_t unit = 0; unit < 4; unit++) {
        uint32_t word = block->former[unit], *ids = &former[4 * unit];
        if (shadow_is_mixed(word) && part_of(block, unit))
            memcpy(ids, shadow_ids_of(cells, block->address, word), 4 * sizeof *ids);
        else
            ids[0] = ids[1] = ids[2] = ids[3] = word;
    }
    for (uint32_t rest = block->touched, group; rest; rest &= ~group) {
        uint32_t first = (uint32_t)__builtin_ctz(rest);
        group = 0;
        for (uint32_t i = first; i < 16; i++)
            group |= (uint32_t)(former[i] == former[first]) << i;
        group &= rest;
        count_group(shadow, block, former[first], group,
                    waste_of_group(shadow, block, former[first], group));
    }
}

static inline void judge(struct shadow *shadow, const struct block *block)
{
    uint32_t former;
    if (is_uniform(block, &former))
        count_group(shadow, block, former, block->touched,
                    waste_of_group(shadow, block, former, block->touched));
    else
        judge_mixed(shadow, block);
}

/* The four units of a block are taken one by one in the source, so that shifts are constants. */
SHADOW_INLINE void read_unit(struct shadow *shadow, struct shadow_record *record,
                             struct block *block, uint32_t unit)
{
    block->former[unit] = record[unit >> 1].load[unit & 1];
    read_unread(shadow, block->address + 4 * unit, &record[unit >> 1].store[unit & 1],
                block->access.id, part_of(block, unit));
}

SHADOW_INLINE void mark_loaded(struct shadow *shadow, struct shadow_record *record,
                               const struct block *block, uint32_t unit)
{
    uint32_t part = part_of(block, unit), word = block->former[unit];
    if (part && word != block->access.mark)
        record[unit >> 1].load[unit & 1] = shadow_set_part(
            shadow, &shadow->loads, word, block->address + 4 * unit, part, block->access.mark);
}

/* now: the words of both records; only touched bytes matter. */
static void load_block(struct shadow *shadow, struct block *block, const uint64_t now[2])
{
    struct shadow_record *record = shadow_record_of(shadow, block->address);
    block->is_store = false;
    block->differing = block->unread = 0;
    set_values(block, 0, record[0].loaded, now[0]);
    set_values(block, 1, record[1].loaded, now[1]);
    record[0].loaded = block->now[0];
    record[1].loaded = block->now[1];
    read_unit(shadow, record, block, 0);
    read_unit(shadow, record, block, 1);
    read_unit(shadow, record, block, 2);
    read_unit(shadow, record, block, 3);
    judge(shadow, block);
    mark_loaded(shadow, record, block, 0);
    mark_loaded(shadow, record, block, 1);
    mark_loaded(shadow, record, block, 2);
    mark_loaded(shadow, record, block, 3);
}

SHADOW_INLINE void take_unit(const struct shadow_record *record, struct block *block, uint32_t unit)
{
    uint32_t word = record[unit >> 1].store[unit & 1];
    block->former[unit] = word & SHADOW_ID_MASK;
    block->unread |= (word >> SHADOW_ID_BITS) << 4 * unit;
}

SHADOW_INLINE void mark_stored(struct shadow *shadow, struct shadow_record *record,
                               const struct block *block, uint32_t unit)
{
    uint32_t part = part_of(block, unit), *store = &record[unit >> 1].store[unit & 1];
    uint32_t unread = *store >> SHADOW_ID_BITS & ~part;
    if (part)
        *store = shadow_set_part(shadow, &shadow->stores, *store & SHADOW_ID_MASK,
                                 block->address + 4 * unit, part, block->access.mark) |
                 (unread | (block->access.mark ? part : 0)) << SHADOW_ID_BITS;
}

static void store_block(struct shadow *shadow, struct block *block, const uint64_t before[2],
                        const uint64_t now[2])
{
    struct shadow_record *record = shadow_record_of(shadow, block->address);
    block->is_store = true;
    block->differing = block->unread = 0;
    set_values(block, 0, before[0], now[0]);
    set_values(block, 1, before[1], now[1]);
    take_unit(record, block, 0);
    take_unit(record, block, 1);
    take_unit(record, block, 2);
    take_unit(record, block, 3);
    judge(shadow, block);
    mark_stored(shadow, record, block, 0);
    mark_stored(shadow, record, block, 1);
    mark_stored(shadow, record, block, 2);
    mark_stored(shadow, record, block, 3);
}

/* ---- any --------------------------------------------------------------------------- */

static inline uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/*
 * The word of the record at `at` out of the value of an access; anything in bytes that the access
 * does not touch. At least eight bytes can be read at value, and if `bytes` is more, just these.
 */
static inline uint64_t word_of(const uint8_t *value, uint64_t start, uint64_t bytes, uint64_t at)
{
    if (at < start)
        return start - at < 8 ? word_at(value) << 8 * (start - at) : 0;
    uint64_t offset = at - start;
    if (offset >= bytes)
        return 0;
    if (bytes - offset >= 8)
        return word_at(value + offset);
    if (bytes >= 8)
        return word_at(value + bytes - 8) >> 8 * (8 - (bytes - offset));
    return word_at(value) >> 8 * offset;
}

/* Could a former x87 access join bytes of both records of a block, or is a unit mixed? */
static inline bool is_joined(const struct shadow *shadow, const uint32_t first[2],
                             const uint32_t second[2])
{
    uint32_t a = first[0] & SHADOW_ID_MASK, b = first[1] & SHADOW_ID_MASK;
    uint32_t c = second[0] & SHADOW_ID_MASK, d = second[1] & SHADOW_ID_MASK;
    if (a == b && a == c && a == d && !shadow_is_mixed(a))
        return (shadow->elements[a] & ~SHADOW_FLOAT) > 8;
    if (shadow_is_mixed(a) || shadow_is_mixed(b) || shadow_is_mixed(c) || shadow_is_mixed(d))
        return true;
    return ((a == c || a == d) && (shadow->elements[a] & ~SHADOW_FLOAT) > 8) ||
           ((b == c || b == d) && (shadow->elements[b] & ~SHADOW_FLOAT) > 8);
}

static inline uint64_t end_in_block(uint64_t at, uint64_t end)
{
    uint64_t block_end = (at | 15) + 1;
    return block_end < end ? block_end : end;
}

/* Blocks are locations. */
static inline bool is_left_out(struct shadow *shadow, uint64_t at, bool store)
{
    return shadow->locations && !shadow_keeps(shadow, at, store);
}

/* An access that leaves nothing behind has been counted. */
static inline void settle(struct shadow *shadow, uint64_t at, struct access access)
{
    if (SHADOW_RARE(!access.mark) && shadow->locations)
        shadow_settle(shadow, at);
}

/* The part of an access that lies in the location at hand. */
static inline struct access access_here(const struct shadow *shadow, struct access access)
{
    if (SHADOW_RARE(shadow->draining))
        access.mark = 0;
    return access;
}

/* Bytes [at, stop) of one block. */
static inline struct block block_of(uint64_t at, uint64_t stop, struct access access)
{
    struct block block;
    uint32_t first = at & 15, last = first + (uint32_t)(stop - at);
    block.address = at & ~UINT64_C(15);
    block.touched = (UINT32_C(1) << last) - (UINT32_C(1) << first);
    block.access = access;
    return block;
}

static void load_in_block(struct shadow *shadow, uint64_t at, uint64_t stop, struct access access,
                          uint64_t start, uint64_t bytes, const uint8_t *value)
{
    struct block block = block_of(at, stop, access);
    uint64_t now[2] = {word_of(value, start, bytes, block.address),
                       word_of(value, start, bytes, block.address + 8)};
    load_block(shadow, &block, now);
}

static void load_any(struct shadow *shadow, uint64_t start, struct access whole, uint64_t bytes,
                     const uint8_t *value)
{
    uint64_t end = start + bytes, stop;
    for (uint64_t at = start; at < end; at = stop) {
        stop = end_in_block(at, end);
        if (SHADOW_RARE(is_left_out(shadow, at, false)))
            continue;
        struct access access = access_here(shadow, whole);
        const uint8_t *here = value + (at - start);
        const struct shadow_record *record = shadow_record_of(shadow, at);
        if (stop - at == 16 && !is_joined(shadow, record[0].load, record[1].load)) {
            load_whole(shadow, at, access, word_at(here));
            load_whole(shadow, at + 8, access, word_at(here + 8));
        } else if (stop - at != 8 || at & 7 || !load_whole(shadow, at, access, word_at(here))) {
            load_in_block(shadow, at, stop, access, start, bytes, value);
        }
        settle(shadow, at, access);
    }
}

static void store_in_block(struct shadow *shadow, uint64_t at, uint64_t stop, struct access access,
                           uint64_t start, uint64_t bytes, const uint8_t *before,
                           const uint8_t *value)
{
    struct block block = block_of(at, stop, access);
    uint64_t was[2] = {word_of(before, start, bytes, block.address),
                       word_of(before, start, bytes, block.address + 8)};
    uint64_t now[2] = {word_of(value, start, bytes, block.address),
                       word_of(value, start, bytes, block.address + 8)};
    store_block(shadow, &block, was, now);
}

static void store_any(struct shadow *shadow, uint64_t start, struct access whole, uint64_t bytes,
                      const uint8_t *before, const uint8_t *value)
{
    uint64_t end = start + bytes, stop;
    for (uint64_t at = start; at < end; at = stop) {
        stop = end_in_block(at, end);
        if (SHADOW_RARE(is_left_out(shadow, at, true)))
            continue;
        struct access access = access_here(shadow, whole);
        const uint8_t *was = before + (at - start), *now = value + (at - start);
        const struct shadow_record *record = shadow_record_of(shadow, at);
        if (stop - at == 16 && !is_joined(shadow, record[0].store, record[1].store)) {
            store_whole(shadow, at, access, word_at(was), word_at(now));
            store_whole(shadow, at + 8, access, word_at(was + 8), word_at(now + 8));
        } else if (stop - at != 8 || at & 7 ||
                   !store_whole(shadow, at, access, word_at(was), word_at(now))) {
            store_in_block(shadow, at, stop, access, start, bytes, before, value);
        }
        settle(shadow, at, access);
    }
}

/* ---- public ------------------------------------------------------------------------ */

static inline bool is_outside(struct shadow *shadow, uint64_t address, uint64_t bytes)
{
    bool beyond = address >= shadow->address_limit || bytes > shadow->address_limit - address;
    shadow->outside += beyond;
    return beyond || shadow->exhausted;
}

/* rest: of an access whose beginning was taken; only whole ones are observed. */
static void load(struct shadow *shadow, uint64_t address, struct access access, uint64_t bytes,
                 const uint8_t *value, bool rest)
{
    uint64_t few = 0;
    if (is_outside(shadow, address, bytes))
        return;
    if (bytes < sizeof few)
        value = memcpy(&few, value, bytes);
    if (SHADOW_RARE(shadow->observing) && !rest)
        shadow_observe_load(shadow, address, access.id, bytes, value);
    load_any(shadow, address, access, bytes, value);
}

static void store(struct shadow *shadow, uint64_t address, struct access access, uint64_t bytes,
                  const uint8_t *before, const uint8_t *value, bool rest)
{
    uint64_t few_before = 0, few = 0;
    if (is_outside(shadow, address, bytes))
        return;
    if (bytes < sizeof few) {
        before = memcpy(&few_before, before, bytes);
        value = memcpy(&few, value, bytes);
    }
    if (SHADOW_RARE(shadow->observing) && !rest)
        shadow_observe_store(shadow, address, access.id, bytes, access.values_known ? before : NULL,
                             value);
    store_any(shadow, address, access, bytes, before, value);
}

/* Is what the record holds no part of a group with bytes of another record? */
static inline bool is_separate(const struct shadow *shadow, uint32_t word)
{
    word &= SHADOW_ID_MASK;
    return !shadow_is_mixed(word) && (shadow->elements[word] & ~SHADOW_FLOAT) <= 8;
}

static inline bool load_step(struct shadow *shadow, uint64_t address, uint32_t id,
                             const uint8_t *value)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    return is_separate(shadow, record->load[0]) &&
           shadow_load_hit(shadow, record, address, id, 8, value, 0, SHADOW_THOROUGH);
}

static inline bool store_step(struct shadow *shadow, uint64_t address, uint32_t id,
                              const uint8_t *before, const uint8_t *value)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    return is_separate(shadow, record->store[0]) &&
           shadow_store_hit(shadow, record, address, id, 8, word_at(before), value, 0,
                            SHADOW_THOROUGH);
}

/* SIMD over records of one former access each needs no more than these. */
void shadow_load(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                 const uint8_t *value)
{
    uint32_t whole = bytes;
    if (((address | bytes) & 7) == 0)
        while (bytes && !(address & shadow->misfit[3]) && load_step(shadow, address, id, value))
            address += 8, value += 8, bytes -= 8;
    if (bytes)
        load(shadow, address, (struct access){id, id, true}, bytes, value, bytes != whole);
}

void shadow_store(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                  const uint8_t *before, const uint8_t *value)
{
    uint32_t whole = bytes;
    if (((address | bytes) & 7) == 0)
        while (bytes && !(address & shadow->misfit[3]) &&
               store_step(shadow, address, id, before, value))
            address += 8, before += 8, value += 8, bytes -= 8;
    if (bytes)
        store(shadow, address, (struct access){id, id, true}, bytes, before, value, bytes != whole);
}

void shadow_kernel_load(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                        const uint8_t *value)
{
    load(shadow, address, (struct access){id, 0, true}, bytes, value, false);
}

void shadow_kernel_store(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                         const uint8_t *before, const uint8_t *value)
{
    /* What was there is not known: any value does, and it is not looked at. */
    store(shadow, address, (struct access){id, 0, before != NULL}, bytes, before ? before : value,
          value, false);
}

/* For accesses that fast.h gave up on; bytes is a constant. */
SHADOW_INLINE void load_slow(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                             uint64_t value)
{
    if (SHADOW_RARE(is_outside(shadow, address, bytes)))
        return;
    if (SHADOW_RARE(shadow->observing))
        shadow_observe_load(shadow, address, id, bytes, (const uint8_t *)&value);
    struct access access = {id, id, true};
    bool done = false, all = !shadow->locations;
    if (all && (address & (bytes - 1)) == 0)
        done = shadow_load_hit(shadow, shadow_record_of(shadow, address), address, id, bytes,
                               &value, 0, SHADOW_THOROUGH) ||
               (bytes < 8 ? load_part(shadow, address, access, bytes, value)
                          : load_whole(shadow, address, access, value));
    if (SHADOW_RARE(!done))
        load_any(shadow, address, access, bytes, (const uint8_t *)&value);
}

SHADOW_INLINE void store_slow(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                              uint64_t before, uint64_t value)
{
    if (SHADOW_RARE(is_outside(shadow, address, bytes)))
        return;
    if (SHADOW_RARE(shadow->observing))
        shadow_observe_store(shadow, address, id, bytes, (const uint8_t *)&before,
                             (const uint8_t *)&value);
    struct access access = {id, id, true};
    bool done = false, all = !shadow->locations;
    if (all && (address & (bytes - 1)) == 0)
        done = shadow_store_hit(shadow, shadow_record_of(shadow, address), address, id, bytes,
                                before, &value, 0, SHADOW_THOROUGH) ||
               (bytes < 8 ? store_part(shadow, address, access, bytes, before, value)
                          : store_whole(shadow, address, access, before, value));
    if (SHADOW_RARE(!done))
        store_any(shadow, address, access, bytes, (const uint8_t *)&before,
                  (const uint8_t *)&value);
}

/*
 * Of a sample of locations; an aligned access lies in one of them. If it is drawn, the common cases are those of all locations; while it
 * drains, which is about as frequent, an access leaves nothing.
 */
SHADOW_INLINE void load_sampled(struct shadow *shadow, uint64_t address, uint32_t id,
                                uint32_t bytes, uint64_t value)
{
    if (SHADOW_RARE(address & (bytes - 1)) || SHADOW_RARE(shadow->observing) ||
        SHADOW_RARE(shadow->exhausted) || SHADOW_RARE(address >= shadow->address_limit)) {
        load_slow(shadow, address, id, bytes, value);
        return;
    }
    if (!shadow_keeps(shadow, address, false))
        return;
    struct access access = access_here(shadow, (struct access){id, id, true});
    if (!shadow->draining && shadow_load_hit(shadow, shadow_record_of(shadow, address), address, id,
                                             bytes, &value, shadow->group, SHADOW_THOROUGH))
        return;
    if (!(bytes < 8 ? load_part(shadow, address, access, bytes, value)
                    : load_whole(shadow, address, access, value)))
        load_in_block(shadow, address, address + bytes, access, address, bytes,
                      (const uint8_t *)&value);
    settle(shadow, address, access);
}

SHADOW_INLINE void store_sampled(struct shadow *shadow, uint64_t address, uint32_t id,
                                 uint32_t bytes, uint64_t before, uint64_t value)
{
    if (SHADOW_RARE(address & (bytes - 1)) || SHADOW_RARE(shadow->observing) ||
        SHADOW_RARE(shadow->exhausted) || SHADOW_RARE(address >= shadow->address_limit)) {
        store_slow(shadow, address, id, bytes, before, value);
        return;
    }
    if (!shadow_keeps(shadow, address, true))
        return;
    struct access access = access_here(shadow, (struct access){id, id, true});
    if (!shadow->draining &&
        shadow_store_hit(shadow, shadow_record_of(shadow, address), address, id, bytes, before,
                         &value, shadow->group, SHADOW_THOROUGH))
        return;
    if (!(bytes < 8 ? store_part(shadow, address, access, bytes, before, value)
                    : store_whole(shadow, address, access, before, value)))
        store_in_block(shadow, address, address + bytes, access, address, bytes,
                       (const uint8_t *)&before, (const uint8_t *)&value);
    settle(shadow, address, access);
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
    }                                                                                              \
    void shadow_load_sampled_##bytes(struct shadow *shadow, uint64_t address, uint32_t id,         \
                                     uint64_t value)                                               \
    {                                                                                              \
        load_sampled(shadow, address, id, bytes, value);                                           \
    }                                                                                              \
    void shadow_store_sampled_##bytes(struct shadow *shadow, uint64_t address, uint32_t id,        \
                                      uint64_t before, uint64_t value)                             \
    {                                                                                              \
        store_sampled(shadow, address, id, bytes, before, value);                                  \
    }

SLOW(1)
SLOW(2)
SLOW(4)
SLOW(8)
