// SPDX-License-Identifier: MIT
/*
 * The common cases of shadow_load and shadow_store, inline; equal to them.
 *
 * Common is: the access is aligned, all its bytes have one former access, and the verdict
 * needs no look at parts of elements. Then one record, one pair met lately and perhaps one word of
 * a mixed unit are touched, and the branches taken depend on little but the program's flow.
 * Everything else is a call.
 */
#ifndef HEADROOM_SHADOW_FAST_H
#define HEADROOM_SHADOW_FAST_H

#include "shadow/shadow.h"

#define SHADOW_INLINE          static inline __attribute__((always_inline))
#define SHADOW_RARE(condition) __builtin_expect(!!(condition), 0)

#define SHADOW_ID_MASK ((UINT32_C(1) << SHADOW_ID_BITS) - 1)
/* The bits "stored and not loaded since" of a unit. */
#define SHADOW_UNREAD (~SHADOW_ID_MASK)

/* Right for every address and state; bytes as in the name. */
#define SHADOW_SLOW(bytes)                                                                         \
    void shadow_load_slow_##bytes(struct shadow *shadow, uint64_t address, uint32_t id,            \
                                  uint64_t value);                                                 \
    void shadow_store_slow_##bytes(struct shadow *shadow, uint64_t address, uint32_t id,           \
                                   uint64_t before, uint64_t value);                               \
    /* Some bytes were not loaded since they were stored: reported, then as if they had been. */   \
    void shadow_load_first_##bytes(struct shadow *shadow, uint64_t address, uint32_t id,           \
                                   uint64_t value);                                                \
    /* Of a sample of locations. */                                                                \
    void shadow_load_sampled_##bytes(struct shadow *shadow, uint64_t address, uint32_t id,         \
                                     uint64_t value);                                              \
    void shadow_store_sampled_##bytes(struct shadow *shadow, uint64_t address, uint32_t id,        \
                                      uint64_t before, uint64_t value);
SHADOW_SLOW(1)
SHADOW_SLOW(2)
SHADOW_SLOW(4)
SHADOW_SLOW(8)
#undef SHADOW_SLOW

/* The pair is not among those met lately: makes it the first of its set, with counts from zero. */
struct shadow_pair *shadow_pair_fetch(struct shadow *shadow, struct shadow_pair set[2],
                                      uint32_t first, uint32_t second);

SHADOW_INLINE struct shadow_record *shadow_record_of(const struct shadow *shadow, uint64_t address)
{
    /* Numbers, because the record of address 0 is not in any array. */
    return (struct shadow_record *)((uintptr_t)shadow->base +
                                    (address >> 3) * sizeof(struct shadow_record));
}

SHADOW_INLINE uint64_t shadow_key(const struct shadow_pair *pair)
{
    uint64_t key;
    __builtin_memcpy(&key, &pair->second, sizeof key);
    return key;
}

/*
 * Ids of a block's accesses are neighbours: so are their sets, in a row that is up to the neighbourhood of the
 * former access. Where a program has more pairs than caches hold, the lines of a block come together.
 */
SHADOW_INLINE struct shadow_pair *shadow_set_of(struct shadow *shadow, uint64_t key)
{
    uint32_t first = (uint32_t)(key >> 32), second = (uint32_t)key;
    uint32_t row = (first >> 6) * UINT32_C(0x9e3779b9) >> (32 - SHADOW_ROWS_BITS);
    return shadow
        ->lately[(second + (row << (SHADOW_SETS_BITS - SHADOW_ROWS_BITS))) & (SHADOW_SETS - 1)];
}

/* NULL: not met lately. */
SHADOW_INLINE struct shadow_pair *shadow_pair_lately(struct shadow *shadow, uint32_t first,
                                                     uint32_t second)
{
    uint64_t key = (uint64_t)first << 32 | second;
    struct shadow_pair *set = shadow_set_of(shadow, key);
    if (__builtin_expect(shadow_key(&set[0]) == key, 1))
        return &set[0];
    return shadow_key(&set[1]) == key ? &set[1] : NULL;
}

/* Where the counts of (first, second) are kept for now. */
SHADOW_INLINE struct shadow_pair *shadow_pair_of(struct shadow *shadow, uint32_t first,
                                                 uint32_t second)
{
    struct shadow_pair *pair = shadow_pair_lately(shadow, first, second);
    if (__builtin_expect(pair != NULL, 1))
        return pair;
    return shadow_pair_fetch(shadow, shadow_set_of(shadow, (uint64_t)first << 32 | second), first,
                             second);
}

/* Do so many bytes of an element of that kind, if they differ at all, differ as one group? */
SHADOW_INLINE bool shadow_is_one_group(uint8_t element, uint32_t bytes)
{
    return bytes == 1 || (uint8_t)(element - bytes) < SHADOW_FLOAT - bytes;
}

SHADOW_INLINE uint64_t shadow_cut(uint64_t value, uint32_t bytes)
{
    return bytes == 8 ? value : value & ((UINT64_C(1) << bytes * 8) - 1);
}

/* The bits of a unit's bytes that an access inside it touches. */
SHADOW_INLINE uint32_t shadow_part_of(uint64_t address, uint32_t bytes)
{
    return ((UINT32_C(1) << bytes) - 1) << (address & 3);
}

/* No branch: which loads yield something new is what no predictor knows. */
SHADOW_INLINE void shadow_add(struct shadow_pair *pair, bool differs, uint32_t bytes)
{
    uint64_t use = differs ? bytes : 0;
    pair->use += use;
    pair->waste += bytes - use;
}

/* From one id to one a byte, the same. */
SHADOW_INLINE void shadow_spread(uint32_t *ids, uint32_t id)
{
    ids[0] = ids[1] = ids[2] = ids[3] = id;
}

/* The former access of all bytes of a part; SHADOW_MIXED: they have several. */
SHADOW_INLINE uint32_t shadow_former(uint32_t word, const uint32_t *ids, uint32_t bytes)
{
    if (word != SHADOW_MIXED)
        return word;
    if (bytes == 4)
        return ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3] ? ids[0] : SHADOW_MIXED;
    return bytes == 2 && ids[0] != ids[1] ? SHADOW_MIXED : ids[0];
}

/* Gives an access inside a unit its id; the new word. */
SHADOW_INLINE uint32_t shadow_mark(uint32_t word, uint32_t *ids, uint64_t address, uint32_t bytes,
                                   uint32_t id)
{
    if (bytes == 4 || word == id)
        return id;
    if (word != SHADOW_MIXED)
        shadow_spread(ids - (address & 3), word);
    ids[0] = id;
    if (bytes == 2)
        ids[1] = id;
    return SHADOW_MIXED;
}

/* Must parts of elements be looked at? element: of the former access. */
SHADOW_INLINE bool shadow_is_intricate(const struct shadow_pair *pair, bool differs, uint32_t bytes)
{
    return differs & !shadow_is_one_group((uint8_t)(pair->dead >> SHADOW_ELEMENT_SHIFT), bytes);
}

/*
 * The loads and stores proper; bytes: 1, 2, 4 or 8, a constant; value: little endian, anything
 * above. False: for the slow one, nothing has happened. Units of a record are read one by one: two
 * stores of 32 bits are not forwarded to one load of 64. group: of locations, 0 without a sample of them.
 */
SHADOW_INLINE bool shadow_load_hit(struct shadow *shadow, struct shadow_record *record,
                                   uint64_t address, uint32_t id, uint32_t bytes, uint64_t value,
                                   uint32_t group)
{
    uint32_t unit = bytes == 8 ? 0 : address >> 2 & 1, word = record->load[unit];
    uint32_t *ids = &shadow->load_ids[address], former = word;
    if (bytes == 8) {
        if (SHADOW_RARE(record->load[1] != word) || SHADOW_RARE(word == SHADOW_MIXED))
            return false;
    } else {
        former = shadow_former(word, ids, bytes);
        if (bytes > 1 && SHADOW_RARE(former == SHADOW_MIXED))
            return false;
    }
    struct shadow_pair *pair = shadow_pair_lately(shadow, former | group, id);
    if (SHADOW_RARE(!pair))
        return false;
    uint64_t loaded = 0;
    unsigned char *at = (unsigned char *)&record->loaded + (address & 7);
    __builtin_memcpy(&loaded, at, bytes);
    bool differs = loaded != shadow_cut(value, bytes);
    if (bytes > 1 && SHADOW_RARE(shadow_is_intricate(pair, differs, bytes)))
        return false;
    shadow_add(pair, differs, bytes);
    __builtin_memcpy(at, &value, bytes);
    if (bytes == 8)
        record->load[0] = record->load[1] = id;
    else
        record->load[unit] = shadow_mark(word, ids, address, bytes, id);
    return true;
}

SHADOW_INLINE bool shadow_store_hit(struct shadow *shadow, struct shadow_record *record,
                                    uint64_t address, uint32_t id, uint32_t bytes, uint64_t before,
                                    uint64_t value, uint32_t group)
{
    uint32_t unit = bytes == 8 ? 0 : address >> 2 & 1, store = record->store[unit];
    uint32_t *ids = &shadow->store_ids[address], word = store & SHADOW_ID_MASK, former = word;
    uint32_t part = bytes == 8 ? SHADOW_UNREAD : shadow_part_of(address, bytes) << SHADOW_ID_BITS;
    uint32_t unread = store & part;
    if (bytes == 8) {
        if (SHADOW_RARE(record->store[1] != store) || SHADOW_RARE(word == SHADOW_MIXED))
            return false;
    } else {
        former = shadow_former(word, ids, bytes);
        if (bytes > 1 && SHADOW_RARE(former == SHADOW_MIXED))
            return false;
    }
    if (bytes > 1 && SHADOW_RARE((unread != 0) & (unread != part)))
        return false;
    struct shadow_pair *pair = shadow_pair_lately(shadow, former | group, id);
    if (SHADOW_RARE(!pair))
        return false;
    bool differs = shadow_cut(before ^ value, bytes) != 0;
    if (bytes > 1 && SHADOW_RARE(shadow_is_intricate(pair, differs, bytes)))
        return false;
    pair->dead += unread ? bytes : 0;
    shadow_add(pair, differs, bytes);
    if (bytes == 8)
        record->store[0] = record->store[1] = id | SHADOW_UNREAD;
    else
        record->store[unit] =
            shadow_mark(word, ids, address, bytes, id) | part | (store & SHADOW_UNREAD);
    return true;
}

/* Bytes of the access that were stored and not loaded since, as bits of both units' words. */
SHADOW_INLINE uint32_t shadow_unread(const struct shadow_record *record, uint64_t address,
                                     uint32_t bytes)
{
    if (bytes == 8)
        return (record->store[0] | record->store[1]) & SHADOW_UNREAD;
    return record->store[address >> 2 & 1] & shadow_part_of(address, bytes) << SHADOW_ID_BITS;
}

#define SHADOW_CALL(bytes, name, ...)                                                              \
    ((bytes) == 1   ? name##_1(__VA_ARGS__)                                                        \
     : (bytes) == 2 ? name##_2(__VA_ARGS__)                                                        \
     : (bytes) == 4 ? name##_4(__VA_ARGS__)                                                        \
                    : name##_8(__VA_ARGS__))

SHADOW_INLINE void shadow_load_fast(struct shadow *shadow, uint64_t address, uint32_t id,
                                    uint32_t bytes, uint64_t value)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    if (SHADOW_RARE(address & shadow->misfit[bytes == 8 ? 3 : bytes >> 1]))
        SHADOW_CALL(bytes, shadow_load_slow, shadow, address, id, value);
    else if (shadow_unread(record, address, bytes))
        SHADOW_CALL(bytes, shadow_load_first, shadow, address, id, value);
    else if (SHADOW_RARE(!shadow_load_hit(shadow, record, address, id, bytes, value, 0)))
        SHADOW_CALL(bytes, shadow_load_slow, shadow, address, id, value);
}

SHADOW_INLINE void shadow_store_fast(struct shadow *shadow, uint64_t address, uint32_t id,
                                     uint32_t bytes, uint64_t before, uint64_t value)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    if (SHADOW_RARE(address & shadow->misfit[bytes == 8 ? 3 : bytes >> 1]) ||
        SHADOW_RARE(!shadow_store_hit(shadow, record, address, id, bytes, before, value, 0)))
        SHADOW_CALL(bytes, shadow_store_slow, shadow, address, id, before, value);
}

#endif
