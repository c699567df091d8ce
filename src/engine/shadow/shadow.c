// SPDX-License-Identifier: MIT
/* Memory of shadow: its maps, forgetting, consistency. */
#include "shadow/internal.h"

/* ---- maps -------------------------------------------------------------------------- */

static uint64_t base_bytes(const struct shadow *shadow)
{
    return shadow->address_limit / 8 * sizeof(struct shadow_record);
}

static uint64_t ids_bytes(const struct shadow *shadow)
{
    return shadow->address_limit * sizeof(uint32_t);
}

static uint64_t power_of_two(uint64_t at_least)
{
    uint64_t power = PAGE_BYTES;
    while (power < at_least)
        power *= 2;
    return power;
}

static void *reserve(struct shadow *shadow, uint64_t bytes)
{
    return shadow->memory.map(shadow->memory.context, bytes, true);
}

static void unreserve(struct shadow *shadow, void *map, uint64_t bytes)
{
    if (map)
        shadow->memory.unmap(shadow->memory.context, map, bytes);
}

enum base_status shadow_init(struct shadow *shadow, uint64_t address_limit, uint32_t ids_capacity,
                             float fp_tolerance, const struct shadow_memory *memory)
{
    struct shadow fresh = {
        .address_limit = power_of_two(address_limit),
        .ids_capacity = ids_capacity,
        .fp_tolerance = fp_tolerance,
        .memory = *memory,
    };
    shadow_look_out(&fresh);
    fresh.base = reserve(&fresh, base_bytes(&fresh));
    fresh.load_ids = reserve(&fresh, ids_bytes(&fresh));
    fresh.store_ids = reserve(&fresh, ids_bytes(&fresh));
    fresh.elements = reserve(&fresh, ids_capacity);
    if (!fresh.base || !fresh.load_ids || !fresh.store_ids || !fresh.elements ||
        !shadow_pairs_init(&fresh)) {
        shadow_free(&fresh);
        return BASE_NO_MEMORY;
    }
    /* Bytes without a former access never count as waste: then they may be compared as a whole. */
    fresh.elements[0] = 8;
    *shadow = fresh;
    return BASE_OK;
}

void shadow_free(struct shadow *shadow)
{
    unreserve(shadow, shadow->base, base_bytes(shadow));
    unreserve(shadow, shadow->load_ids, ids_bytes(shadow));
    unreserve(shadow, shadow->store_ids, ids_bytes(shadow));
    unreserve(shadow, shadow->elements, shadow->ids_capacity);
    unreserve(shadow, shadow->executed, shadow->ids_capacity);
    shadow_pairs_free(shadow);
    shadow_sample_free(shadow);
}

void shadow_exhaust(struct shadow *shadow)
{
    shadow->exhausted = true;
    shadow_look_out(shadow);
}

/* ---- forgetting -------------------------------------------------------------------- */

static uint32_t forget_unit(uint32_t word, uint32_t *ids, uint32_t part)
{
    if (part == 15 || word == 0)
        return 0;
    if (word != SHADOW_MIXED)
        shadow_spread(ids, word);
    for (uint32_t i = 0; i < 4; i++)
        if (part >> i & 1)
            ids[i] = 0;
    return SHADOW_MIXED;
}

/* Bytes [first, last) of one record. What is in load_ids and store_ids of units that are not mixed
   does not matter. */
static void forget_part(struct shadow *shadow, uint64_t address, uint32_t first, uint32_t last)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t bytes = (1u << last) - (1u << first);
    for (uint32_t unit = 0; unit < 2; unit++) {
        uint32_t part = bytes >> 4 * unit & 15, *store = &record->store[unit];
        uint32_t unread = *store >> SHADOW_ID_BITS & ~part, word = *store & SHADOW_ID_MASK;
        uint64_t ids = (address & ~UINT64_C(7)) + 4 * unit;
        if (!part)
            continue;
        *store = forget_unit(word, &shadow->store_ids[ids], part) | unread << SHADOW_ID_BITS;
        record->load[unit] = forget_unit(record->load[unit], &shadow->load_ids[ids], part);
    }
    memset((unsigned char *)&record->loaded + first, 0, last - first);
}

/* Writes only what is not zero already: a write would back the page. */
static void zero(unsigned char *start, unsigned char *end)
{
    for (; start < end; start += 8) {
        uint64_t word;
        memcpy(&word, start, sizeof word);
        if (word)
            memset(start, 0, sizeof word);
    }
}

static void forget_records(struct shadow *shadow, uint64_t start, uint64_t end)
{
    if (start >= end)
        return;
    unsigned char *first = (unsigned char *)shadow_record_of(shadow, start);
    unsigned char *last = (unsigned char *)shadow_record_of(shadow, end);
    unsigned char *pages = first + (-(uintptr_t)first & (PAGE_BYTES - 1));
    unsigned char *pages_end = last - ((uintptr_t)last & (PAGE_BYTES - 1));
    if (pages >= pages_end) {
        zero(first, last);
        return;
    }
    zero(first, pages);
    shadow->memory.clear(shadow->memory.context, pages, (size_t)(pages_end - pages));
    zero(pages_end, last);
}

void shadow_forget(struct shadow *shadow, uint64_t address, uint64_t bytes)
{
    if (shadow->exhausted || address >= shadow->address_limit)
        return;
    if (bytes > shadow->address_limit - address)
        bytes = shadow->address_limit - address;
    uint64_t end = address + bytes, from = address, to = end & ~UINT64_C(7);
    if (!bytes)
        return;
    if (from & 7) {
        uint64_t edge = (from & ~UINT64_C(7)) + 8;
        forget_part(shadow, from, from & 7, end < edge ? (uint32_t)(end & 7) : 8);
        from = edge;
    }
    if (end & 7 && end > from)
        forget_part(shadow, to, 0, end & 7);
    forget_records(shadow, from, to);
}

/* ---- consistency ------------------------------------------------------------------- */

/* A word and, of a mixed unit, its ids; bytes that were never stored are not unread. */
static bool check_word(const struct shadow *shadow, uint32_t word, const uint32_t *ids,
                       uint32_t unread)
{
    if (word != SHADOW_MIXED)
        return word < shadow->ids_capacity && (word || !unread);
    for (uint32_t i = 0; i < 4; i++)
        if (ids[i] >= shadow->ids_capacity || (unread >> i & 1 && ids[i] == 0))
            return false;
    return true;
}

bool shadow_check(const struct shadow *shadow, uint64_t start, uint64_t end)
{
    if (!shadow_pairs_check(shadow))
        return false;
    for (uint64_t at = start & ~UINT64_C(7); at < end; at += 8) {
        const struct shadow_record *record = shadow_record_of(shadow, at);
        for (uint32_t unit = 0; unit < 2; unit++) {
            uint32_t store = record->store[unit];
            if (!check_word(shadow, store & SHADOW_ID_MASK, &shadow->store_ids[at + 4 * unit],
                            store >> SHADOW_ID_BITS) ||
                !check_word(shadow, record->load[unit], &shadow->load_ids[at + 4 * unit], 0))
                return false;
        }
    }
    return true;
}
