// SPDX-License-Identifier: MIT
/* Memory of shadow: its maps, the detail records of mixed units, forgetting, consistency. */
#include "shadow/internal.h"

/* ---- maps -------------------------------------------------------------------------- */

static uint64_t base_bytes(const struct shadow *shadow)
{
    return shadow->address_limit / 8 * sizeof(struct shadow_record);
}

static uint64_t regions_bytes(const struct shadow *shadow)
{
    return (shadow->address_limit >> REGION_SHIFT) + 1;
}

static uint64_t power_of_two(uint64_t at_least)
{
    uint64_t power = UINT64_C(1) << REGION_SHIFT;
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
    for (uint32_t log2 = 0; log2 < BASE_COUNT(fresh.misfit); log2++)
        fresh.misfit[log2] = ~(fresh.address_limit - 1) | ((UINT64_C(1) << log2) - 1);
    fresh.base = reserve(&fresh, base_bytes(&fresh));
    fresh.leaves = reserve(&fresh, ids_capacity * sizeof *fresh.leaves);
    fresh.elements = reserve(&fresh, ids_capacity);
    fresh.details = reserve(&fresh, MOST_DETAILS * sizeof *fresh.details);
    fresh.mixed_regions = reserve(&fresh, regions_bytes(&fresh));
    if (!fresh.base || !fresh.leaves || !fresh.elements || !fresh.details || !fresh.mixed_regions ||
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
    unreserve(shadow, shadow->leaves, shadow->ids_capacity * sizeof *shadow->leaves);
    unreserve(shadow, shadow->elements, shadow->ids_capacity);
    unreserve(shadow, shadow->details, MOST_DETAILS * sizeof *shadow->details);
    unreserve(shadow, shadow->mixed_regions, regions_bytes(shadow));
    shadow_pairs_free(shadow);
}

void shadow_exhaust(struct shadow *shadow)
{
    shadow->exhausted = true;
    for (uint32_t log2 = 0; log2 < BASE_COUNT(shadow->misfit); log2++)
        shadow->misfit[log2] = UINT64_MAX;
}

/* ---- mixed units ------------------------------------------------------------------- */

static uint32_t take_detail(struct shadow *shadow)
{
    uint32_t detail = shadow->details_free;
    if (detail) {
        shadow->details_free = shadow->details[detail][0];
        return detail;
    }
    /* Number 0 is the end of the free list. */
    if (shadow->details_used == 0)
        shadow->details_used = 1;
    if (shadow->details_used == MOST_DETAILS) {
        shadow_exhaust(shadow);
        return 0;
    }
    return shadow->details_used++;
}

void shadow_give_detail(struct shadow *shadow, uint32_t word)
{
    uint32_t *ids = detail_of(shadow, word);
    ids[0] = shadow->details_free;
    ids[1] = DETAIL_IS_FREE;
    shadow->details_free = word - SHADOW_MOST_IDS;
}

uint32_t shadow_mix(struct shadow *shadow, uint64_t address, uint32_t word, uint32_t part,
                    uint32_t id)
{
    uint32_t detail = take_detail(shadow);
    if (!detail)
        return id;
    uint32_t *ids = shadow->details[detail];
    for (uint32_t i = 0; i < 4; i++)
        ids[i] = part >> i & 1 ? id : word;
    shadow->mixed_regions[address >> REGION_SHIFT] = 1;
    return SHADOW_MOST_IDS + detail;
}

/* ---- forgetting -------------------------------------------------------------------- */

/* Bytes [first, last) of one record. */
static void forget_part(struct shadow *shadow, uint64_t address, uint32_t first, uint32_t last)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t bytes = (1u << last) - (1u << first);
    for (uint32_t unit = 0; unit < 2; unit++) {
        uint32_t part = bytes >> 4 * unit & 15, *store = &record->store[unit];
        uint32_t unread = *store >> SHADOW_ID_BITS & ~part, word = *store & SHADOW_ID_MASK;
        if (!part)
            continue;
        *store = set_part(shadow, address, word, part, 0) | unread << SHADOW_ID_BITS;
        record->load[unit] = set_part(shadow, address, record->load[unit], part, 0);
    }
    memset((unsigned char *)&record->loaded + first, 0, last - first);
}

static void give_details(struct shadow *shadow, uint64_t start, uint64_t end)
{
    for (uint64_t at = start; at < end; at += 8) {
        struct shadow_record *record = shadow_record_of(shadow, at);
        for (uint32_t unit = 0; unit < 2; unit++) {
            uint32_t word = record->store[unit] & SHADOW_ID_MASK;
            if (is_mixed(word))
                shadow_give_detail(shadow, word);
            if (is_mixed(record->load[unit]))
                shadow_give_detail(shadow, record->load[unit]);
        }
    }
}

/* Looks only where details ever were: most of a big map has never been touched, and reading its
   records would back them with pages. */
static void forget_details(struct shadow *shadow, uint64_t start, uint64_t end)
{
    const uint64_t region_bytes = UINT64_C(1) << REGION_SHIFT;
    uint64_t next;
    for (uint64_t at = start; at < end; at = next) {
        next = (at & ~(region_bytes - 1)) + region_bytes;
        uint8_t *mixed = &shadow->mixed_regions[at >> REGION_SHIFT];
        if (!*mixed)
            continue;
        give_details(shadow, at, next < end ? next : end);
        if (at % region_bytes == 0 && next <= end)
            *mixed = 0;
    }
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
    forget_details(shadow, start, end);
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

static bool check_detail(const struct shadow *shadow, uint32_t word, uint32_t unread)
{
    uint32_t detail = word - SHADOW_MOST_IDS;
    if (detail == 0 || detail >= shadow->details_used)
        return false;
    const uint32_t *ids = shadow->details[detail];
    bool uniform = true;
    for (uint32_t i = 0; i < 4; i++) {
        if (ids[i] >= shadow->ids_capacity || (unread >> i & 1 && ids[i] == 0))
            return false;
        uniform &= ids[i] == ids[0];
    }
    return !uniform;
}

static bool check_word(const struct shadow *shadow, uint32_t word, uint32_t unread)
{
    if (is_mixed(word))
        return check_detail(shadow, word, unread);
    return word < shadow->ids_capacity && (word || !unread);
}

static uint32_t word_of(const struct shadow *shadow, uint64_t address, uint32_t which)
{
    const struct shadow_record *record = shadow_record_of(shadow, address);
    return which < 2 ? record->store[which] & SHADOW_ID_MASK : record->load[which - 2];
}

/* How many of the four words of each record are `word`. */
static uint64_t count_word(const struct shadow *shadow, uint64_t start, uint64_t end, uint32_t word)
{
    uint64_t count = 0;
    for (uint64_t at = start; at < end; at += 8)
        for (uint32_t which = 0; which < 4; which++)
            count += word_of(shadow, at, which) == word;
    return count;
}

/* The free list ends and holds only what is marked free; its length. */
static bool check_free_list(const struct shadow *shadow, uint32_t *length)
{
    *length = 0;
    for (uint32_t at = shadow->details_free; at; at = shadow->details[at][0])
        if (at >= shadow->details_used || shadow->details[at][1] != DETAIL_IS_FREE ||
            ++*length >= shadow->details_used)
            return false;
    return true;
}

bool shadow_check(const struct shadow *shadow, uint64_t start, uint64_t end)
{
    uint32_t unused, mixed = 0;
    if (!shadow_pairs_check(shadow) || !check_free_list(shadow, &unused))
        return false;
    for (uint64_t at = start & ~UINT64_C(7); at < end; at += 8) {
        const struct shadow_record *record = shadow_record_of(shadow, at);
        for (uint32_t which = 0; which < 4; which++) {
            uint32_t word = word_of(shadow, at, which);
            uint32_t unread = which < 2 ? record->store[which] >> SHADOW_ID_BITS : 0;
            if (!check_word(shadow, word, unread))
                return false;
            if (!is_mixed(word))
                continue;
            mixed++;
            if (count_word(shadow, start & ~UINT64_C(7), end, word) != 1 ||
                !shadow->mixed_regions[at >> REGION_SHIFT])
                return false;
        }
    }
    return mixed + unused + 1 <= shadow->details_used || (mixed == 0 && shadow->details_used == 0);
}
