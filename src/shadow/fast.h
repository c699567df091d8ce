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
/* The bits "stored and not loaded since" of a unit. */
#define SHADOW_UNREAD (~SHADOW_ID_MASK)

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

/* Do so many bytes of an element of that kind, if they differ at all, differ as one group? */
SHADOW_INLINE bool shadow_is_one_group(uint8_t element, uint32_t bytes)
{
    return bytes == 1 || (uint8_t)(element - bytes) < SHADOW_FLOAT - bytes;
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

/* No branch: which loads yield something new is what no predictor knows. */
SHADOW_INLINE void shadow_add(struct shadow_leaf *leaf, bool differs, uint32_t bytes)
{
    uint64_t use = differs ? bytes : 0;
    leaf->use += use;
    leaf->waste += bytes - use;
}

/* Units are read one by one: two stores of 32 bits are not forwarded to one load of 64. */
SHADOW_INLINE bool shadow_load_hit_8(struct shadow *shadow, uint64_t address, uint32_t id,
                                     uint64_t value)
{
    if (SHADOW_RARE(address & shadow->misfit[3]))
        return false;
    struct shadow_record *record = shadow_record_of(shadow, address);
    struct shadow_leaf *leaf = &shadow->leaves[id];
    uint32_t previous = leaf->previous;
    if (SHADOW_RARE(record->load[0] != previous) || SHADOW_RARE(record->load[1] != previous))
        return false;
    bool differs = record->loaded != value;
    if (SHADOW_RARE(differs & !shadow_is_one_group(shadow->elements[previous], 8)))
        return false;
    if ((record->store[0] | record->store[1]) & SHADOW_UNREAD) {
        uint32_t store = leaf->previous_store;
        if (SHADOW_RARE(record->store[0] != (store | SHADOW_UNREAD)) ||
            SHADOW_RARE(record->store[1] != (store | SHADOW_UNREAD)))
            return false;
        leaf->dead += 8;
        record->store[0] = record->store[1] = store;
    }
    shadow_add(leaf, differs, 8);
    record->loaded = value;
    record->load[0] = record->load[1] = id;
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
    if (SHADOW_RARE(differs & !shadow_is_one_group(shadow->elements[previous], bytes)))
        return false;
    uint32_t store = record->store[unit], part = shadow_unread_of(address, bytes);
    if (store & part) {
        if (SHADOW_RARE((store & (part | SHADOW_ID_MASK)) != (part | leaf->previous_store)))
            return false;
        leaf->dead += bytes;
        record->store[unit] = store & ~part;
    }
    shadow_add(leaf, differs, bytes);
    __builtin_memcpy(at, &value, bytes);
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
    uint32_t unread = record->store[0] & SHADOW_UNREAD;
    if (SHADOW_RARE((record->store[0] ^ unread) != previous) ||
        SHADOW_RARE(record->store[1] != record->store[0]) ||
        (SHADOW_RARE((unread != 0) & (unread != SHADOW_UNREAD))))
        return false;
    bool differs = before != value;
    if (SHADOW_RARE(differs & !shadow_is_one_group(shadow->elements[previous], 8)))
        return false;
    leaf->dead += unread >> 28 & 8;
    shadow_add(leaf, differs, 8);
    record->store[0] = record->store[1] = id | SHADOW_UNREAD;
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
    if (SHADOW_RARE(differs & !shadow_is_one_group(shadow->elements[previous], bytes)))
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
