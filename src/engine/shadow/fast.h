// SPDX-License-Identifier: MIT
/*
 * The common cases of shadow_load and shadow_store, inline; equal to them.
 *
 * Common is: the access is aligned, all its bytes have one former access, all or none were unread, the verdict
 * needs no look at parts of elements, and an access of this id found the same lately. Then one record, one entry
 * and perhaps one word of a mixed unit are touched, and the branches taken depend on little but the program's flow.
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

/* Where such an access is counted from now on, with counts from zero; what made room is counted as pairs. */
struct shadow_entry *shadow_entry_fetch(struct shadow *shadow, uint32_t former, uint32_t id,
                                        uint32_t state);

SHADOW_INLINE struct shadow_record *shadow_record_of(const struct shadow *shadow, uint64_t address)
{
    /* Numbers, because the record of address 0 is not in any array. */
    return (struct shadow_record *)((uintptr_t)shadow->base +
                                    (address >> 3) * sizeof(struct shadow_record));
}

/* Of a unit: its words in a record. */
enum { SHADOW_STORE_WORD = 2, SHADOW_LOAD_WORD = 4 };
SHADOW_INLINE uint32_t *shadow_words_of(struct shadow_record *record, uint64_t address,
                                        uint32_t bytes)
{
    _Static_assert(__builtin_offsetof(struct shadow_record, store) == 4 * SHADOW_STORE_WORD &&
                       __builtin_offsetof(struct shadow_record, load) == 4 * SHADOW_LOAD_WORD,
                   "behind the value, a word for each unit");
    return (uint32_t *)record + (bytes == 8 ? 0 : address >> 2 & 1);
}

/* Two places where accesses of that id are counted; those of a block of code are neighbours. */
SHADOW_INLINE struct shadow_entry *shadow_set_at(const struct shadow *shadow, uint32_t id)
{
    return shadow->entries[id & (SHADOW_ENTRIES - 1)];
}

/* Where accesses of that id that find that are counted; NULL: none was met lately. */
SHADOW_INLINE struct shadow_entry *shadow_entry_of(struct shadow *shadow, uint32_t former,
                                                   uint32_t id, uint32_t state)
{
    struct shadow_entry *entry = shadow_set_at(shadow, id);
    if (__builtin_expect(entry->former == former, 1) && __builtin_expect(entry->id == id, 1) &&
        __builtin_expect(entry->state == state, 1))
        return entry;
    entry++;
    return entry->former == former && entry->id == id && entry->state == state ? entry : NULL;
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

SHADOW_INLINE uint64_t shadow_read(const void *at, uint32_t bytes)
{
    uint64_t value = 0;
    __builtin_memcpy(&value, at, bytes);
    return value;
}

/* The same value; the compiler does not join what is done to it with what is done to its neighbour in memory. */
SHADOW_INLINE uint32_t shadow_alone(uint32_t value)
{
    __asm__("" : "+r"(value));
    return value;
}

/* The bits of a unit's bytes that an access inside it touches. */
SHADOW_INLINE uint32_t shadow_part_of(uint64_t address, uint32_t bytes)
{
    return ((UINT32_C(1) << bytes) - 1) << (address & 3);
}

/*
 * No branch: which loads yield something new is what no predictor knows. And one count is read and written, not both.
 */
SHADOW_INLINE void shadow_add(struct shadow_entry *entry, bool differs, uint32_t bytes)
{
    enum { WASTE = __builtin_offsetof(struct shadow_entry, waste) };
    _Static_assert(__builtin_offsetof(struct shadow_entry, use) == WASTE + sizeof(uint64_t),
                   "the use is behind the waste");
    *(uint64_t *)((unsigned char *)entry + WASTE + differs * sizeof(uint64_t)) += bytes;
}

/* word: without bits above the id, here and below. */
SHADOW_INLINE bool shadow_is_mixed(uint32_t word)
{
    return word >= SHADOW_MIXED;
}

/* Of a mixed unit: the ids of its bytes from the address on. */
SHADOW_INLINE uint32_t *shadow_ids_of(const struct shadow_cells *cells, uint64_t address,
                                      uint32_t word)
{
    const uint64_t outside_region = ~((UINT64_C(1) << SHADOW_REGION_SHIFT) - 1);
    return &cells->ids[(address & (outside_region | 3)) + 4 * (uint64_t)(word - SHADOW_MIXED)];
}

/* From one id to one a byte, the same; the new word. */
SHADOW_INLINE uint32_t shadow_mix(struct shadow *shadow, struct shadow_cells *cells,
                                  uint64_t address, uint32_t id)
{
    struct shadow_region *region = &cells->regions[address >> SHADOW_REGION_SHIFT];
    uint32_t word = SHADOW_MIXED + (region->free ? region->free - 1 : region->taken);
    uint32_t *ids = shadow_ids_of(cells, address & ~UINT64_C(3), word);
    if (region->free)
        region->free = ids[0];
    else
        region->taken++;
    ids[0] = ids[1] = ids[2] = ids[3] = id;
    shadow->celled[address >> SHADOW_CELLED_SHIFT] = true;
    return word;
}

/* The unit is not mixed any more. */
SHADOW_INLINE void shadow_unmix(struct shadow_cells *cells, uint64_t address, uint32_t word)
{
    struct shadow_region *region = &cells->regions[address >> SHADOW_REGION_SHIFT];
    *shadow_ids_of(cells, address & ~UINT64_C(3), word) = region->free;
    region->free = word - SHADOW_MIXED + 1;
}

/* The former access of all bytes of a part; SHADOW_MIXED or more: they have several. */
SHADOW_INLINE uint32_t shadow_former(uint32_t word, const struct shadow_cells *cells,
                                     uint64_t address, uint32_t bytes)
{
    if (!shadow_is_mixed(word))
        return word;
    const uint32_t *ids = shadow_ids_of(cells, address, word);
    if (bytes == 4)
        return ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3] ? ids[0] : SHADOW_MIXED;
    return bytes == 2 && ids[0] != ids[1] ? SHADOW_MIXED : ids[0];
}

/* Gives an access inside a unit its id; the new word. */
SHADOW_INLINE uint32_t shadow_mark(struct shadow *shadow, struct shadow_cells *cells, uint32_t word,
                                   uint64_t address, uint32_t bytes, uint32_t id)
{
    if (bytes == 4 && shadow_is_mixed(word))
        shadow_unmix(cells, address, word);
    if (bytes == 4 || word == id)
        return id;
    if (!shadow_is_mixed(word))
        word = shadow_mix(shadow, cells, address, word);
    uint32_t *ids = shadow_ids_of(cells, address, word);
    ids[0] = id;
    if (bytes == 2)
        ids[1] = id;
    return word;
}

/* Must parts of elements be looked at? */
SHADOW_INLINE bool shadow_is_intricate(const struct shadow_entry *entry, bool differs,
                                       uint32_t bytes)
{
    return differs & entry->intricate[bytes >> 2];
}

/* Floats that differ in bits. */
SHADOW_INLINE bool shadow_is_close(double a, double b, double tolerance)
{
    double size_a = __builtin_fabs(a), size_b = __builtin_fabs(b);
    double larger = size_a > size_b ? size_a : size_b;
    /* False for NaN; true for an infinity and anything. */
    if (__builtin_fabs(a - b) <= tolerance * larger)
        return larger <= __DBL_MAX__ || a == b;
    return a == b || (a != a && b != b);
}

/* Their bits, 4 or 8 bytes. */
SHADOW_INLINE bool shadow_are_bits_close(uint64_t former, uint64_t now, uint32_t bytes,
                                         float tolerance)
{
    double a, b;
    float few_a, few_b;
    if (bytes == sizeof(double)) {
        __builtin_memcpy(&a, &former, sizeof a);
        __builtin_memcpy(&b, &now, sizeof b);
        return shadow_is_close(a, b, tolerance);
    }
    __builtin_memcpy(&few_a, &former, sizeof few_a);
    __builtin_memcpy(&few_b, &now, sizeof few_b);
    return shadow_is_close(few_a, few_b, tolerance);
}

/*
 * What is done inline is a constant: fetch entries; judge floats. Without either the common case needs no register that must be
 * saved.
 */
enum {
    SHADOW_QUICK = 0,
    SHADOW_FETCH = 1,
    SHADOW_FLOATS = 2,
    SHADOW_THOROUGH = 3,
    SHADOW_LATER = 4
};

/* Has every byte the same former access, and was each, or none, unread? */
SHADOW_INLINE bool shadow_is_simple(uint32_t former, uint32_t state)
{
    return !shadow_is_mixed(former) && (state == 0 || ((state & SHADOW_UNREAD) == SHADOW_UNREAD &&
                                                       !shadow_is_mixed(state & SHADOW_ID_MASK)));
}

/* What is not simple is in no entry. former: with group and mark. */
SHADOW_INLINE struct shadow_entry *shadow_find(struct shadow *shadow, uint32_t former, uint32_t id,
                                               uint32_t state, uint32_t how)
{
    struct shadow_entry *entry = shadow_entry_of(shadow, former, id, state);
    if (__builtin_expect(entry != NULL, 1))
        return entry;
    return how & SHADOW_FETCH && shadow_is_simple(former & SHADOW_ID_MASK, state)
               ? shadow_entry_fetch(shadow, former, id, state)
               : NULL;
}

/*
 * Intricate: but a whole float has one verdict all the same. Where it is counted: with the mark if it is waste. NULL: it is no such
 * float, or that was not met lately.
 */
SHADOW_INLINE struct shadow_entry *shadow_float_entry(struct shadow *shadow,
                                                      struct shadow_entry *entry, uint32_t bytes,
                                                      uint64_t former, uint64_t now, uint32_t how)
{
    if (bytes < 4 || !(how & SHADOW_FLOATS) || entry->element != (SHADOW_FLOAT | bytes))
        return NULL;
    if (!(shadow->fp_tolerance > 0) ||
        !shadow_are_bits_close(former, now, bytes, shadow->fp_tolerance))
        return entry;
    return shadow_find(shadow, entry->former | SHADOW_NEAR, entry->id, entry->state, how);
}

/* Asks for room. */
struct shadow_event *shadow_next_event(struct shadow *shadow);
/* An id is executed for one of the first times. */
enum { SHADOW_EXECUTED_FIRST = 4 };
void shadow_executed(struct shadow *shadow, uint32_t id);

SHADOW_INLINE void shadow_write_event(struct shadow *shadow, uint32_t former, uint32_t id,
                                      uint32_t state, bool differs, uint32_t bytes)
{
    struct shadow_event *event = shadow->events;
    if (SHADOW_RARE(event >= shadow->events_end))
        event = shadow_next_event(shadow);
    *event = (struct shadow_event){former, id, state, bytes << 1 | differs};
    shadow->events = event + 1;
    if (SHADOW_RARE(shadow->executed[id] < SHADOW_EXECUTED_FIRST))
        shadow_executed(shadow, id);
}

/* Judges an access, and writes down what it is. */
SHADOW_INLINE bool shadow_judge_later(struct shadow *shadow, uint32_t former, uint32_t id,
                                      uint32_t state, uint32_t bytes, uint64_t was, uint64_t now,
                                      uint32_t how)
{
    bool differs = was != now;
    if (SHADOW_RARE(!shadow_is_simple(former & SHADOW_ID_MASK, state)))
        return false;
    if (bytes > 1 && differs) {
        uint8_t element = shadow->elements[former & SHADOW_ID_MASK];
        if (SHADOW_RARE(!shadow_is_one_group(element, bytes))) {
            if (bytes < 4 || !(how & SHADOW_FLOATS) || element != (SHADOW_FLOAT | bytes))
                return false;
            if (shadow->fp_tolerance > 0 &&
                shadow_are_bits_close(was, now, bytes, shadow->fp_tolerance)) {
                former |= SHADOW_NEAR;
                differs = false;
            }
        }
    }
    shadow_write_event(shadow, former, id, state, differs, bytes);
    return true;
}

/* Judges an access, and counts it by all that it found. former: with group. was, value: where they are, read as late as they are needed. */
SHADOW_INLINE bool shadow_judge(struct shadow *shadow, uint32_t former, uint32_t id, uint32_t state,
                                uint32_t bytes, const void *was, const void *value, uint64_t *now,
                                uint32_t how)
{
    if (how & SHADOW_LATER || (how & SHADOW_FETCH && shadow->events)) {
        *now = shadow_read(value, bytes);
        return shadow_judge_later(shadow, former, id, state, bytes, shadow_read(was, bytes), *now,
                                  how);
    }
    struct shadow_entry *entry = shadow_find(shadow, former, id, state, how);
    if (SHADOW_RARE(!entry))
        return false;
    uint64_t then = shadow_read(was, bytes);
    *now = shadow_read(value, bytes);
    bool differs = then != *now;
    if (bytes > 1 && SHADOW_RARE(shadow_is_intricate(entry, differs, bytes))) {
        entry = shadow_float_entry(shadow, entry, bytes, then, *now, how);
        if (SHADOW_RARE(!entry))
            return false;
        differs = !(entry->former & SHADOW_NEAR);
    }
    shadow_add(entry, differs, bytes);
    return true;
}

/* The state that a load of a part of a unit finds; store: the unit's word. */
SHADOW_INLINE uint32_t shadow_state_of_part(uint32_t store, const struct shadow_cells *cells,
                                            uint64_t address, uint32_t part, uint32_t bytes)
{
    uint32_t unread = store & part, stored = store & SHADOW_ID_MASK;
    if (shadow_is_mixed(stored) && unread)
        stored = shadow_former(stored, cells, address, bytes);
    if (bytes > 1 && unread && SHADOW_RARE(unread != part))
        stored = SHADOW_MIXED;
    return unread ? stored | SHADOW_UNREAD : 0;
}

/*
 * The loads and stores proper; bytes: 1, 2, 4 or 8, a constant; before: little endian, anything
 * above; value: where it is: read as late as it is needed. False: for the slow one, nothing has happened. Units of a record are
 * read one by one: two stores of 32 bits are not forwarded to one load of 64. group: of locations, 0 without a sample of them.
 */
SHADOW_INLINE bool shadow_load_hit(struct shadow *shadow, struct shadow_record *record,
                                   uint64_t address, uint32_t id, uint32_t bytes, const void *value,
                                   uint32_t group, uint32_t how)
{
    uint32_t *words = shadow_words_of(record, address, bytes), *stores = words + SHADOW_STORE_WORD;
    uint32_t *loads = words + SHADOW_LOAD_WORD, word = loads[0];
    uint32_t former = word, state;
    uint32_t part = bytes >= 4 ? SHADOW_UNREAD : shadow_part_of(address, bytes) << SHADOW_ID_BITS;
    uint32_t store = stores[0], other = shadow_alone(stores[1]);
    if (bytes == 8) {
        uint32_t unread = (store | other) & SHADOW_UNREAD;
        if (SHADOW_RARE(loads[1] != word) || (SHADOW_RARE(other != store) && unread))
            return false;
        state = unread ? store : 0;
    } else if (bytes == 4 && !(how & SHADOW_FETCH)) {
        state = store & SHADOW_UNREAD ? store : 0;
    } else {
        former = shadow_former(word, &shadow->loads, address, bytes);
        state = shadow_state_of_part(store, &shadow->stores, address, part, bytes);
    }
    unsigned char *at = (unsigned char *)words + (bytes == 8 ? 0 : address & (4 - bytes));
    uint64_t now;
    if (SHADOW_RARE(!shadow_judge(shadow, former | group, id, state, bytes, at, value, &now, how)))
        return false;
    __builtin_memcpy(at, &now, bytes);
    stores[0] = store & ~part;
    if (bytes == 8) {
        stores[1] = other & ~part;
        loads[0] = id;
        loads[1] = shadow_alone(id);
    } else if (bytes == 4 && !(how & SHADOW_FETCH)) {
        loads[0] = id; /* it was not mixed */
    } else {
        loads[0] = shadow_mark(shadow, &shadow->loads, word, address, bytes, id);
    }
    return true;
}

SHADOW_INLINE bool shadow_store_hit(struct shadow *shadow, struct shadow_record *record,
                                    uint64_t address, uint32_t id, uint32_t bytes, uint64_t before,
                                    const void *value, uint32_t group, uint32_t how)
{
    uint32_t *stores = shadow_words_of(record, address, bytes) + SHADOW_STORE_WORD;
    uint32_t store = stores[0];
    uint32_t word = store & SHADOW_ID_MASK, former = word;
    uint32_t part = bytes >= 4 ? SHADOW_UNREAD : shadow_part_of(address, bytes) << SHADOW_ID_BITS;
    uint32_t state = store & part;
    if (bytes == 8 && SHADOW_RARE(stores[1] != store))
        return false;
    bool in_unit = bytes < 4 || (bytes == 4 && how & SHADOW_FETCH);
    if (in_unit)
        former = shadow_former(word, &shadow->stores, address, bytes);
    if (bytes < 4) {
        if (bytes > 1 && state && SHADOW_RARE(state != part))
            return false;
        state = state ? SHADOW_UNREAD : 0;
    }
    uint64_t now;
    if (SHADOW_RARE(
            !shadow_judge(shadow, former | group, id, state, bytes, &before, value, &now, how)))
        return false;
    if (bytes == 8) {
        stores[0] = id | SHADOW_UNREAD;
        stores[1] = shadow_alone(id | SHADOW_UNREAD);
    } else {
        uint32_t marked =
            in_unit ? shadow_mark(shadow, &shadow->stores, word, address, bytes, id) : id;
        stores[0] = marked | part | (store & SHADOW_UNREAD);
    }
    return true;
}

/* ---- samples of locations ---------------------------------------------------------------------- */

/* Of a location whose slot is not known yet: is it not drawn? Then the slot is known from now on. */
bool shadow_is_first_left_out(struct shadow *shadow, uint64_t address);

/* Has any of these bytes of a unit an id? */
SHADOW_INLINE bool shadow_has_id(uint32_t word, const struct shadow_cells *cells, uint64_t address,
                                 uint32_t bytes)
{
    if (!shadow_is_mixed(word))
        return word != 0;
    const uint32_t *ids = shadow_ids_of(cells, address, word);
    return bytes == 4   ? (ids[0] | ids[1] | ids[2] | ids[3]) != 0
           : bytes == 2 ? (ids[0] | ids[1]) != 0
                        : ids[0] != 0;
}

/* Has the access, aligned and in one unit, no former one to be counted with? */
SHADOW_INLINE bool shadow_finds_none(const struct shadow *shadow, uint64_t address, uint32_t bytes,
                                     bool store)
{
    const struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t unit = address >> 2 & 1, stored = record->store[unit];
    uint32_t part = shadow_part_of(address, bytes) << SHADOW_ID_BITS;
    if (store)
        return !shadow_has_id(stored & SHADOW_ID_MASK, &shadow->stores, address, bytes);
    return !(stored & part) && !shadow_has_id(record->load[unit], &shadow->loads, address, bytes);
}

/*
 * Is nothing to be done for an access? As shadow_is_left_out; and of a location that drains only those bytes matter of which something
 * is left. Many accesses are to others: so this comes before anything is found out about the access itself. bytes: a constant.
 */
SHADOW_INLINE bool shadow_is_passed_over(struct shadow *shadow, uint64_t address, uint32_t bytes,
                                         bool store)
{
    if (SHADOW_RARE(address >= shadow->address_limit - SHADOW_BYTES_MAX))
        return false;
    if (SHADOW_RARE(address & (bytes - 1)))
        return shadow_is_left_out(shadow, address, bytes, store);
    uint32_t known = shadow->locations[address >> SHADOW_LOCATION_SHIFT];
    if (SHADOW_RARE(known == SHADOW_UNKNOWN))
        return shadow_is_first_left_out(shadow, address);
    if (shadow->handed[false][known & SHADOW_SLOT])
        return false; /* drawn */
    if (bytes < 8)
        return shadow_finds_none(shadow, address, bytes, store);
    return shadow_finds_none(shadow, address, 4, store) &&
           shadow_finds_none(shadow, address + 4, 4, store);
}

#define SHADOW_CALL(bytes, name, ...)                                                              \
    ((bytes) == 1   ? name##_1(__VA_ARGS__)                                                        \
     : (bytes) == 2 ? name##_2(__VA_ARGS__)                                                        \
     : (bytes) == 4 ? name##_4(__VA_ARGS__)                                                        \
                    : name##_8(__VA_ARGS__))

SHADOW_INLINE void shadow_load_by(struct shadow *shadow, uint64_t address, uint32_t id,
                                  uint32_t bytes, const void *value, uint32_t how)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    if (SHADOW_RARE(address & shadow->misfit[bytes == 8 ? 3 : bytes >> 1]) ||
        SHADOW_RARE(!shadow_load_hit(shadow, record, address, id, bytes, value, 0, how)))
        SHADOW_CALL(bytes, shadow_load_slow, shadow, address, id, shadow_read(value, bytes));
}

SHADOW_INLINE void shadow_store_by(struct shadow *shadow, uint64_t address, uint32_t id,
                                   uint32_t bytes, uint64_t before, const void *value, uint32_t how)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    if (SHADOW_RARE(address & shadow->misfit[bytes == 8 ? 3 : bytes >> 1]) ||
        SHADOW_RARE(!shadow_store_hit(shadow, record, address, id, bytes, before, value, 0, how)))
        SHADOW_CALL(bytes, shadow_store_slow, shadow, address, id, before,
                    shadow_read(value, bytes));
}

/* floats: the access is one of floats; right without. value: where it is, `bytes` long. */
SHADOW_INLINE void shadow_load_fast(struct shadow *shadow, uint64_t address, uint32_t id,
                                    uint32_t bytes, const void *value, bool floats)
{
    shadow_load_by(shadow, address, id, bytes, value, floats ? SHADOW_FLOATS : SHADOW_QUICK);
}

SHADOW_INLINE void shadow_store_fast(struct shadow *shadow, uint64_t address, uint32_t id,
                                     uint32_t bytes, uint64_t before, const void *value,
                                     bool floats)
{
    shadow_store_by(shadow, address, id, bytes, before, value,
                    floats ? SHADOW_FLOATS : SHADOW_QUICK);
}

/* The same where events are written. */
SHADOW_INLINE void shadow_load_later(struct shadow *shadow, uint64_t address, uint32_t id,
                                     uint32_t bytes, const void *value, bool floats)
{
    shadow_load_by(shadow, address, id, bytes, value,
                   SHADOW_LATER | (floats ? SHADOW_FLOATS : SHADOW_QUICK));
}

SHADOW_INLINE void shadow_store_later(struct shadow *shadow, uint64_t address, uint32_t id,
                                      uint32_t bytes, uint64_t before, const void *value,
                                      bool floats)
{
    shadow_store_by(shadow, address, id, bytes, before, value,
                    SHADOW_LATER | (floats ? SHADOW_FLOATS : SHADOW_QUICK));
}

#endif
