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

static uint64_t regions_bytes(const struct shadow *shadow)
{
    return (((shadow->address_limit - 1) >> SHADOW_REGION_SHIFT) + 1) *
           sizeof(struct shadow_region);
}

static uint64_t celled_bytes(const struct shadow *shadow)
{
    return shadow->address_limit >> SHADOW_CELLED_SHIFT;
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

static bool reserve_cells(struct shadow *shadow, struct shadow_cells *cells)
{
    cells->ids = reserve(shadow, ids_bytes(shadow));
    cells->regions = reserve(shadow, regions_bytes(shadow));
    return cells->ids && cells->regions;
}

static void unreserve_cells(struct shadow *shadow, const struct shadow_cells *cells)
{
    unreserve(shadow, cells->ids, ids_bytes(shadow));
    unreserve(shadow, cells->regions, regions_bytes(shadow));
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
    fresh.celled = reserve(&fresh, celled_bytes(&fresh));
    fresh.elements = reserve(&fresh, ids_capacity);
    bool cells = reserve_cells(&fresh, &fresh.loads) && reserve_cells(&fresh, &fresh.stores);
    if (!fresh.base || !cells || !fresh.celled || !fresh.elements || !shadow_pairs_init(&fresh)) {
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
    unreserve_cells(shadow, &shadow->loads);
    unreserve_cells(shadow, &shadow->stores);
    unreserve(shadow, shadow->celled, celled_bytes(shadow));
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

/* Bytes [first, last) of one record. */
static void forget_part(struct shadow *shadow, uint64_t address, uint32_t first, uint32_t last)
{
    struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t bytes = (1u << last) - (1u << first);
    for (uint32_t unit = 0; unit < 2; unit++) {
        uint32_t part = bytes >> 4 * unit & 15, *store = &record->store[unit];
        uint32_t unread = *store >> SHADOW_ID_BITS & ~part, word = *store & SHADOW_ID_MASK;
        uint64_t at = (address & ~UINT64_C(7)) + 4 * unit;
        if (!part)
            continue;
        *store =
            shadow_set_part(shadow, &shadow->stores, word, at, part, 0) | unread << SHADOW_ID_BITS;
        record->load[unit] =
            shadow_set_part(shadow, &shadow->loads, record->load[unit], at, part, 0);
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

/* Gives back the cells of records that are to be zero. */
static void unmix_records(struct shadow *shadow, uint64_t start, uint64_t end)
{
    for (uint64_t at = start; at < end; at += 4) {
        const struct shadow_record *record = shadow_record_of(shadow, at);
        uint32_t unit = at >> 2 & 1;
        uint32_t store = record->store[unit] & SHADOW_ID_MASK, load = record->load[unit];
        if (shadow_is_mixed(store))
            shadow_unmix(&shadow->stores, at, store);
        if (shadow_is_mixed(load))
            shadow_unmix(&shadow->loads, at, load);
    }
}

static uint64_t end_of_part(uint64_t at, uint32_t shift, uint64_t end)
{
    uint64_t part_end = ((at >> shift) + 1) << shift;
    return part_end < end ? part_end : end;
}

static void forget_cells_of_region(struct shadow *shadow, uint64_t start, uint64_t end)
{
    for (uint64_t at = start, stop; at < end; at = stop) {
        uint8_t *celled = &shadow->celled[at >> SHADOW_CELLED_SHIFT];
        stop = end_of_part(at, SHADOW_CELLED_SHIFT, end);
        if (!*celled)
            continue;
        unmix_records(shadow, at, stop);
        if (stop - at == 1 << SHADOW_CELLED_SHIFT)
            *celled = false;
    }
}

/* Neither records nor `celled` are read where there are no cells: reading alone would map their pages. */
static void forget_cells(struct shadow *shadow, uint64_t start, uint64_t end)
{
    for (uint64_t at = start, stop; at < end; at = stop) {
        uint64_t region = at >> SHADOW_REGION_SHIFT;
        stop = end_of_part(at, SHADOW_REGION_SHIFT, end);
        if (shadow->loads.regions[region].taken || shadow->stores.regions[region].taken)
            forget_cells_of_region(shadow, at, stop);
    }
}

static void forget_records(struct shadow *shadow, uint64_t start, uint64_t end)
{
    if (start >= end)
        return;
    forget_cells(shadow, start, end);
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

/* How many cells of the address's region were given back; UINT32_MAX: among them is one that was never taken, or one twice. */
static uint32_t count_free(const struct shadow_cells *cells, uint64_t address)
{
    const struct shadow_region *region = &cells->regions[address >> SHADOW_REGION_SHIFT];
    uint32_t count = 0;
    for (uint32_t free = region->free; free; count++) {
        if (free > region->taken || count == region->taken)
            return UINT32_MAX;
        free = *shadow_ids_of(cells, address & ~UINT64_C(3), SHADOW_MIXED + free - 1);
    }
    return count;
}

/* Every cell of a region is a mixed unit's or given back. */
static bool check_cells(const struct shadow *shadow, uint64_t start, uint64_t end)
{
    uint32_t stores = count_free(&shadow->stores, start), loads = count_free(&shadow->loads, start);
    if (stores == UINT32_MAX || loads == UINT32_MAX)
        return false;
    for (uint64_t at = start; at < end; at += 4) {
        const struct shadow_record *record = shadow_record_of(shadow, at);
        stores += shadow_is_mixed(record->store[at >> 2 & 1] & SHADOW_ID_MASK);
        loads += shadow_is_mixed(record->load[at >> 2 & 1]);
    }
    return stores == shadow->stores.regions[start >> SHADOW_REGION_SHIFT].taken &&
           loads == shadow->loads.regions[start >> SHADOW_REGION_SHIFT].taken;
}

/* A word and, of a mixed unit, its ids; bytes that were never stored are not unread. */
static bool check_word(const struct shadow *shadow, uint32_t word, const struct shadow_cells *cells,
                       uint64_t address, uint32_t unread)
{
    if (!shadow_is_mixed(word))
        return word < shadow->ids_capacity && (word || !unread);
    if (word - SHADOW_MIXED >= cells->regions[address >> SHADOW_REGION_SHIFT].taken)
        return false;
    const uint32_t *ids = shadow_ids_of(cells, address, word);
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
            if (!check_word(shadow, store & SHADOW_ID_MASK, &shadow->stores, at + 4 * unit,
                            store >> SHADOW_ID_BITS) ||
                !check_word(shadow, record->load[unit], &shadow->loads, at + 4 * unit, 0))
                return false;
        }
    }
    for (uint64_t at = start, stop; at < end; at = stop) {
        stop = end_of_part(at, SHADOW_REGION_SHIFT, shadow->address_limit);
        if (at & ((UINT64_C(1) << SHADOW_REGION_SHIFT) - 1) || stop > end)
            continue;
        if (!check_cells(shadow, at, stop))
            return false;
    }
    return true;
}
