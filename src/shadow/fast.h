// SPDX-License-Identifier: MIT
/*
 * The common cases of shadow_load and shadow_store, inline; equal to them.
 *
 * Common is: the access is aligned, all its bytes have one former access, that is the
 * one its leaf holds, and the verdict needs no look at parts of elements. Then one record and
 * one leaf are touched, and the branches taken depend on little but the program's flow.
 * Everything else is one tail call, so that a caller needs no stack frame.
 */
#ifndef HEADROOM_SHADOW_FAST_H
#define HEADROOM_SHADOW_FAST_H

#include "shadow/shadow.h"

#define SHADOW_INLINE static inline __attribute__((always_inline))
#define SHADOW_RARE(condition) __builtin_expect(!!(condition), 0)

#define SHADOW_ID_MASK ((UINT32_C(1) << SHADOW_ID_BITS) - 1)
/* The bits "stored and not loaded since" of both units of a record. */
#define SHADOW_UNREAD UINT64_C(0xf0000000f0000000)

/* Right for every address and state; bytes as in the name. */
void shadow_load_slow_1(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t value);
void shadow_load_slow_2(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t value);
void shadow_load_slow_4(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t value);
void shadow_load_slow_8(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t value);
void shadow_store_slow_1(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t before,
                         uint64_t value);
void shadow_store_slow_2(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t before,
                         uint64_t value);
void shadow_store_slow_4(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t before,
                         uint64_t value);
void shadow_store_slow_8(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t before,
                         uint64_t value);

SHADOW_INLINE struct shadow_record *shadow_record_of(const struct shadow *shadow, uint64_t address)
{
    return (struct shadow_record *)(void *)(shadow->base +
                                            (address >> 3) * sizeof(struct shadow_record));
}

/* Both units of a record as one number. */
SHADOW_INLINE uint64_t shadow_both(const uint32_t unit[2])
{
    uint64_t words;
    __builtin_memcpy(&words, unit, sizeof words);
    return words;
}

SHADOW_INLINE void shadow_set_both(uint32_t unit[2], uint64_t words)
{
    __builtin_memcpy(unit, &words, sizeof words);
}

SHADOW_INLINE uint64_t shadow_twice(uint32_t word)
{
    return word | (uint64_t)word << 32;
}

/* Do so many bytes of an element of that kind, if they differ at all, differ as one group? */
SHADOW_INLINE bool shadow_is_one_group(uint8_t element, uint32_t bytes)
{
    return bytes == 1 || (element >= bytes && element < SHADOW_FLOAT);
}

SHADOW_INLINE uint64_t shadow_cut(uint64_t value, uint32_t bytes)
{
    return bytes == 8 ? value : value & ((UINT64_C(1) << bytes * 8) - 1);
}

/* The bits "stored and not loaded" of an access inside one unit. */
SHADOW_INLINE uint32_t shadow_unread_of(uint64_t address, uint32_t bytes)
{
    return ((UINT32_C(1) << bytes) - 1) << SHADOW_ID_BITS << (address & 3);
}

SHADOW_INLINE void shadow_add(struct shadow_leaf *leaf, bool differs, uint32_t bytes)
{
    uint64_t *count = differs ? &leaf->use : &leaf->waste;
    *count += bytes;
}

SHADOW_INLINE bool shadow_load_hit_8(struct shadow *shadow, uint64_t address, uint32_t id,
                                     uint64_t value)
{
    if (SHADOW_RARE(address & shadow->misfit[3]))
        return false;
    struct shadow_record *record = shadow_record_of(shadow, address);
    struct shadow_leaf *leaf = &shadow->leaves[id];
    uint32_t previous = leaf->previous;
    if (SHADOW_RARE(shadow_both(record->load) != shadow_twice(previous)))
        return false;
    bool differs = record->loaded != value;
    if (differs && SHADOW_RARE(!shadow_is_one_group(shadow->elements[previous], 8)))
        return false;
    uint64_t stores = shadow_both(record->store);
    if (stores & SHADOW_UNREAD) {
        if (SHADOW_RARE(stores != (shadow_twice(leaf->previous_store) | SHADOW_UNREAD)))
            return false;
        leaf->dead += 8;
        shadow_set_both(record->store, stores & ~SHADOW_UNREAD);
    }
    shadow_add(leaf, differs, 8);
    if (differs)
        record->loaded = value;
    if (previous != id)
        shadow_set_both(record->load, shadow_twice(id));
    return true;
}

/* An access narrower than a unit leaves it uniform only if the former access was of the same id. */
SHADOW_INLINE bool shadow_load_hit_unit(struct shadow *shadow, uint64_t address, uint32_t id,
                                        uint32_t bytes, uint64_t value)
{
    if (SHADOW_RARE(address & shadow->misfit[bytes >> 1]))
        return false;
    struct shadow_record *record = shadow_record_of(shadow, address);
    struct shadow_leaf *leaf = &shadow->leaves[id];
    uint32_t previous = leaf->previous, unit = address >> 2 & 1;
    if (SHADOW_RARE(record->load[unit] != previous) || (bytes < 4 && SHADOW_RARE(previous != id)))
        return false;
    uint64_t loaded = 0;
    unsigned char *at = (unsigned char *)&record->loaded + (address & 7);
    __builtin_memcpy(&loaded, at, bytes);
    bool differs = loaded != shadow_cut(value, bytes);
    if (differs && SHADOW_RARE(!shadow_is_one_group(shadow->elements[previous], bytes)))
        return false;
    uint32_t store = record->store[unit], part = shadow_unread_of(address, bytes);
    if (store & part) {
        if (SHADOW_RARE((store & (part | SHADOW_ID_MASK)) != (part | leaf->previous_store)))
            return false;
        leaf->dead += bytes;
        record->store[unit] = store & ~part;
    }
    shadow_add(leaf, differs, bytes);
    if (differs)
        __builtin_memcpy(at, &value, bytes);
    if (bytes == 4 && previous != id)
        record->load[unit] = id;
    return true;
}

SHADOW_INLINE bool shadow_store_hit_8(struct shadow *shadow, uint64_t address, uint32_t id,
                                      uint64_t before, uint64_t value)
{
    if (SHADOW_RARE(address & shadow->misfit[3]))
        return false;
    struct shadow_record *record = shadow_record_of(shadow, address);
    struct shadow_leaf *leaf = &shadow->leaves[id];
    uint32_t previous = leaf->previous;
    uint64_t stores = shadow_both(record->store), unread = stores & SHADOW_UNREAD;
    if (SHADOW_RARE((stores ^ unread) != shadow_twice(previous)) ||
        SHADOW_RARE((unread != 0) & (unread != SHADOW_UNREAD)))
        return false;
    bool differs = before != value;
    if (differs && SHADOW_RARE(!shadow_is_one_group(shadow->elements[previous], 8)))
        return false;
    leaf->dead += unread >> 60 & 8;
    shadow_add(leaf, differs, 8);
    shadow_set_both(record->store, shadow_twice(id) | SHADOW_UNREAD);
    return true;
}

SHADOW_INLINE bool shadow_store_hit_unit(struct shadow *shadow, uint64_t address, uint32_t id,
                                         uint32_t bytes, uint64_t before, uint64_t value)
{
    if (SHADOW_RARE(address & shadow->misfit[bytes >> 1]))
        return false;
    struct shadow_record *record = shadow_record_of(shadow, address);
    struct shadow_leaf *leaf = &shadow->leaves[id];
    uint32_t previous = leaf->previous, unit = address >> 2 & 1;
    uint32_t store = record->store[unit], part = shadow_unread_of(address, bytes);
    uint32_t unread = store & part;
    if (SHADOW_RARE((store & SHADOW_ID_MASK) != previous) ||
        (bytes < 4 && SHADOW_RARE(previous != id)) ||
        (bytes > 1 && SHADOW_RARE((unread != 0) & (unread != part))))
        return false;
    bool differs = shadow_cut(before ^ value, bytes) != 0;
    if (differs && SHADOW_RARE(!shadow_is_one_group(shadow->elements[previous], bytes)))
        return false;
    leaf->dead += unread ? bytes : 0;
    shadow_add(leaf, differs, bytes);
    record->store[unit] = id | part | (store & ~SHADOW_ID_MASK);
    return true;
}

/* bytes: 1, 2, 4 or 8, a constant; value: little endian, zero or garbage above. */
SHADOW_INLINE void shadow_load_fast(struct shadow *shadow, uint64_t address, uint32_t id,
                                    uint32_t bytes, uint64_t value)
{
    bool hit = bytes == 8 ? shadow_load_hit_8(shadow, address, id, value)
                          : shadow_load_hit_unit(shadow, address, id, bytes, value);
    if (__builtin_expect(hit, 1))
        return;
    switch (bytes) {
    case 1: shadow_load_slow_1(shadow, address, id, value); break;
    case 2: shadow_load_slow_2(shadow, address, id, value); break;
    case 4: shadow_load_slow_4(shadow, address, id, value); break;
    default: shadow_load_slow_8(shadow, address, id, value); break;
    }
}

SHADOW_INLINE void shadow_store_fast(struct shadow *shadow, uint64_t address, uint32_t id,
                                     uint32_t bytes, uint64_t before, uint64_t value)
{
    bool hit = bytes == 8 ? shadow_store_hit_8(shadow, address, id, before, value)
                          : shadow_store_hit_unit(shadow, address, id, bytes, before, value);
    if (__builtin_expect(hit, 1))
        return;
    switch (bytes) {
    case 1: shadow_store_slow_1(shadow, address, id, before, value); break;
    case 2: shadow_store_slow_2(shadow, address, id, before, value); break;
    case 4: shadow_store_slow_4(shadow, address, id, before, value); break;
    default: shadow_store_slow_8(shadow, address, id, before, value); break;
    }
}

#endif
