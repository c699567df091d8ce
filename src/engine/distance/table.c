// SPDX-License-Identifier: MIT
/* Where the locations are kept. */
#include "distance/internal.h"

#define CHUNK_PLACES (1U << DISTANCE_CHUNK_SHIFT)
#define CHUNK_BYTES  (CHUNK_PLACES * sizeof(struct distance_place))
#define PAGE_PLACES  (1U << DISTANCE_PAGE_SHIFT)

enum { FIRST_ENTRIES = 1 << 12 };

enum base_status distance_table_init(struct distance_table *table, bool sparse,
                                     uint64_t location_limit, const struct distance_memory *memory)
{
    struct distance_table made = {.sparse = sparse, .location_limit = location_limit};
    if (sparse) {
        made.entries_mask = FIRST_ENTRIES - 1;
        made.entries = memory->map(memory->context, FIRST_ENTRIES * sizeof *made.entries, false);
    } else {
        made.chunks_count = (location_limit + CHUNK_PLACES - 1) >> DISTANCE_CHUNK_SHIFT;
        made.chunks = memory->map(memory->context, made.chunks_count * sizeof *made.chunks, true);
    }
    if (!made.entries && !made.chunks)
        return BASE_NO_MEMORY;
    *table = made;
    return BASE_OK;
}

static struct distance_place *next_spare(const struct distance_place *spare)
{
    return (struct distance_place *)(uintptr_t)spare->time;
}

void distance_table_free(struct distance_table *table, const struct distance_memory *memory)
{
    if (table->sparse) {
        memory->unmap(memory->context, table->entries,
                      (table->entries_mask + 1) * sizeof *table->entries);
        return;
    }
    for (struct distance_chunk *chunk = table->first_chunk; chunk; chunk = chunk->next)
        memory->unmap(memory->context, chunk->places, CHUNK_BYTES);
    while (table->spare) {
        struct distance_place *places = table->spare;
        table->spare = next_spare(places);
        memory->unmap(memory->context, places, CHUNK_BYTES);
    }
    memory->unmap(memory->context, table->chunks, table->chunks_count * sizeof *table->chunks);
}

/* ---- direct ------------------------------------------------------------------------------ */

static bool open_chunk(struct distance_table *table, struct distance_chunk *chunk,
                       const struct distance_memory *memory)
{
    struct distance_place *places = table->spare;
    if (places) {
        table->spare = next_spare(places);
        places->time = 0;
    } else {
        places = memory->map(memory->context, CHUNK_BYTES, true);
        if (!places)
            return false;
    }
    *chunk = (struct distance_chunk){.places = places, .next = table->first_chunk};
    if (chunk->next)
        chunk->next->previous = chunk;
    table->first_chunk = chunk;
    return true;
}

/* Nothing in it is known, so all of it is zero: a program that maps and unmaps at ever
   new addresses lives on the same few chunks. */
static void close_chunk(struct distance_table *table, struct distance_chunk *chunk)
{
    if (chunk->next)
        chunk->next->previous = chunk->previous;
    if (chunk->previous)
        chunk->previous->next = chunk->next;
    else
        table->first_chunk = chunk->next;
    chunk->places->time = (uintptr_t)table->spare;
    table->spare = chunk->places;
    *chunk = (struct distance_chunk){0};
}

static struct distance_place *make_direct(struct distance_table *table, uint64_t location,
                                          const struct distance_memory *memory)
{
    struct distance_chunk *chunk = &table->chunks[location >> DISTANCE_CHUNK_SHIFT];
    if (!chunk->places && !open_chunk(table, chunk, memory))
        return NULL;
    uint32_t index = location & (CHUNK_PLACES - 1);
    chunk->touched |= UINT64_C(1) << (index >> DISTANCE_PAGE_SHIFT);
    chunk->known++;
    table->known++;
    return &chunk->places[index];
}

/* Places [from, to] of one page. Returns whether one of the page is known afterwards, if all was
 * seen. */
static bool walk_page(struct distance_table *table, struct distance_chunk *chunk, uint32_t from,
                      uint32_t to, distance_visit *visit, void *context)
{
    uint64_t base = (uint64_t)(chunk - table->chunks) << DISTANCE_CHUNK_SHIFT;
    bool known = to - from != PAGE_PLACES - 1;
    for (uint32_t i = from; i <= to; i++) {
        struct distance_place *place = &chunk->places[i];
        if (!place->time)
            continue;
        if (visit(context, base + i, place)) {
            *place = (struct distance_place){0};
            chunk->known--;
            table->known--;
        } else {
            known = true;
        }
    }
    return known;
}

static void walk_chunk(struct distance_table *table, struct distance_chunk *chunk, uint64_t first,
                       uint64_t last, distance_visit *visit, void *context)
{
    uint64_t base = (uint64_t)(chunk - table->chunks) << DISTANCE_CHUNK_SHIFT;
    uint32_t from = first > base ? (uint32_t)(first - base) : 0;
    uint32_t to = last - base < CHUNK_PLACES ? (uint32_t)(last - base) : CHUNK_PLACES - 1;
    for (uint64_t left = chunk->touched; left; left &= left - 1) {
        uint32_t page = (uint32_t)__builtin_ctzll(left);
        uint32_t start = page << DISTANCE_PAGE_SHIFT, end = start + PAGE_PLACES - 1;
        if (end < from || start > to)
            continue;
        if (!walk_page(table, chunk, start > from ? start : from, end < to ? end : to, visit,
                       context))
            chunk->touched &= ~(UINT64_C(1) << page);
    }
    if (!chunk->known)
        close_chunk(table, chunk);
}

/* A long range is not searched in the directory, which is mostly empty, but in the list. */
static void walk_direct(struct distance_table *table, uint64_t first, uint64_t last,
                        distance_visit *visit, void *context)
{
    enum { FEW = 64 };
    struct distance_chunk *from = &table->chunks[first >> DISTANCE_CHUNK_SHIFT];
    struct distance_chunk *to = &table->chunks[last >> DISTANCE_CHUNK_SHIFT];
    if (to - from < FEW) {
        for (struct distance_chunk *chunk = from; chunk <= to; chunk++)
            if (chunk->places)
                walk_chunk(table, chunk, first, last, visit, context);
        return;
    }
    for (struct distance_chunk *chunk = table->first_chunk, *next; chunk; chunk = next) {
        next = chunk->next;
        if (chunk >= from && chunk <= to)
            walk_chunk(table, chunk, first, last, visit, context);
    }
}

/* ---- sparse ------------------------------------------------------------------------------ */

static uint64_t home(const struct distance_table *table, uint64_t location)
{
    return base_mix64(location) & table->entries_mask;
}

static struct distance_place *insert(struct distance_table *table, uint64_t location)
{
    uint64_t i = home(table, location);
    while (table->entries[i].place.time)
        i = (i + 1) & table->entries_mask;
    table->entries[i].location = location;
    return &table->entries[i].place;
}

static bool grow_sparse(struct distance_table *table, const struct distance_memory *memory)
{
    struct distance_table old = *table;
    uint64_t bytes = (old.entries_mask + 1) * sizeof *old.entries;
    struct distance_entry *entries = memory->map(memory->context, 2 * bytes, false);
    if (!entries)
        return false;
    table->entries = entries;
    table->entries_mask = 2 * old.entries_mask + 1;
    for (uint64_t i = 0; i <= old.entries_mask; i++)
        if (old.entries[i].place.time)
            *insert(table, old.entries[i].location) = old.entries[i].place;
    memory->unmap(memory->context, old.entries, bytes);
    return true;
}

static struct distance_place *make_sparse(struct distance_table *table, uint64_t location,
                                          const struct distance_memory *memory)
{
    uint64_t capacity = table->entries_mask + 1;
    if (table->known >= capacity - capacity / 4 && !grow_sparse(table, memory))
        return NULL;
    table->known++;
    return insert(table, location);
}

/* Moves up those behind that could not be found over the gap: no tombstones to be cleaned away. */
static void remove_entry(struct distance_table *table, uint64_t gap)
{
    uint64_t mask = table->entries_mask;
    struct distance_entry *entries = table->entries;
    for (uint64_t i = (gap + 1) & mask; entries[i].place.time; i = (i + 1) & mask) {
        uint64_t from_home = (i - home(table, entries[i].location)) & mask;
        if (from_home >= ((i - gap) & mask)) {
            entries[gap] = entries[i];
            gap = i;
        }
    }
    entries[gap] = (struct distance_entry){0};
    table->known--;
}

static void walk_sparse(struct distance_table *table, uint64_t first, uint64_t last,
                        distance_visit *visit, void *context)
{
    struct distance_entry *entries = table->entries;
    if (last - first < table->entries_mask / 4) {
        for (uint64_t location = first; location <= last; location++) {
            struct distance_place *place = distance_find_sparse(table, location);
            if (place && visit(context, location, place))
                remove_entry(
                    table,
                    (uint64_t)((struct distance_entry *)((char *)place -
                                                         offsetof(struct distance_entry, place)) -
                               entries));
        }
        return;
    }
    for (uint64_t i = 0; i <= table->entries_mask;) {
        uint64_t location = entries[i].location;
        if (entries[i].place.time && location >= first && location <= last &&
            visit(context, location, &entries[i].place))
            remove_entry(table, i); /* and look at what came into the gap */
        else
            i++;
    }
}

/* ---- either ------------------------------------------------------------------------------ */

struct distance_place *distance_make(struct distance_table *table, uint64_t location,
                                     const struct distance_memory *memory)
{
    return table->sparse ? make_sparse(table, location, memory)
                         : make_direct(table, location, memory);
}

void distance_walk(struct distance_table *table, uint64_t first, uint64_t last,
                   distance_visit *visit, void *context)
{
    if (last >= table->location_limit)
        last = table->location_limit - 1;
    if (first > last)
        return;
    if (table->sparse)
        walk_sparse(table, first, last, visit, context);
    else
        walk_direct(table, first, last, visit, context);
}

/* A place known outside the touched pages would be missing in the count. */
static bool check_chunk(const struct distance_chunk *chunk)
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < CHUNK_PLACES; i++)
        if (chunk->touched >> (i >> DISTANCE_PAGE_SHIFT) & 1)
            known += chunk->places[i].time != 0;
    return known == chunk->known && known && (!chunk->next || chunk->next->previous == chunk);
}

bool distance_table_check(const struct distance_table *table)
{
    uint64_t known = 0;
    if (table->sparse) {
        for (uint64_t i = 0; i <= table->entries_mask; i++) {
            const struct distance_entry *entry = &table->entries[i];
            if (!entry->place.time)
                continue;
            known++;
            if (distance_find_sparse(table, entry->location) != &entry->place)
                return false;
        }
        return known == table->known;
    }
    for (const struct distance_chunk *chunk = table->first_chunk; chunk; chunk = chunk->next) {
        if (!check_chunk(chunk))
            return false;
        known += chunk->known;
    }
    return known == table->known;
}
