// SPDX-License-Identifier: MIT
#include "heapmap/heapmap.h"

enum { GRANULE_SHIFT = 4, PAGE_SHIFT = 12, PAGE = 1 << PAGE_SHIFT };

static uint64_t numbers_bytes(const struct heapmap *map)
{
    return (map->address_limit >> GRANULE_SHIFT) * sizeof *map->numbers;
}

static uint64_t pages_bytes(const struct heapmap *map)
{
    return (map->address_limit >> PAGE_SHIFT) * sizeof *map->pages;
}

static uint64_t all_bytes(const struct heapmap *map)
{
    return ((uint64_t)map->most + 1) * sizeof *map->all;
}

enum base_status heapmap_init(struct heapmap *map, uint64_t address_limit, uint32_t most,
                              const struct heapmap_memory *memory)
{
    *map = (struct heapmap){.address_limit = address_limit, .most = most, .memory = *memory};
    map->numbers = memory->map(memory->context, numbers_bytes(map));
    map->pages = memory->map(memory->context, pages_bytes(map));
    map->all = memory->map(memory->context, all_bytes(map));
    if (map->numbers && map->pages && map->all)
        return BASE_OK;
    heapmap_free(map);
    return BASE_NO_MEMORY;
}

static void unmap(struct heapmap *map, void *memory, uint64_t bytes)
{
    if (memory)
        map->memory.unmap(map->memory.context, memory, bytes);
}

void heapmap_free(struct heapmap *map)
{
    unmap(map, map->numbers, numbers_bytes(map));
    unmap(map, map->pages, pages_bytes(map));
    unmap(map, map->all, all_bytes(map));
    *map = (struct heapmap){0};
}

static bool holds(const struct heapmap_block *block, uint64_t address)
{
    return address - block->start < block->bytes;
}

/* 0: none. */
static uint32_t number_at(const struct heapmap *map, uint64_t address)
{
    if (address >= map->address_limit)
        return 0;
    uint32_t number = map->numbers[address >> GRANULE_SHIFT];
    if (!holds(&map->all[number], address))
        number = map->pages[address >> PAGE_SHIFT];
    return holds(&map->all[number], address) ? number : 0;
}

const struct heapmap_block *heapmap_find(const struct heapmap *map, uint64_t address)
{
    uint32_t number = number_at(map, address);
    return number ? &map->all[number] : NULL;
}

/* 0: there are too many. */
static uint32_t take(struct heapmap *map)
{
    uint32_t number = map->unused;
    if (number)
        map->unused = (uint32_t)map->all[number].start;
    else if (map->count < map->most)
        number = ++map->count;
    return number;
}

void heapmap_add(struct heapmap *map, uint64_t start, uint64_t bytes, uint32_t context,
                 uint64_t function)
{
    if (!bytes || start >= map->address_limit || bytes > map->address_limit - start)
        return;
    uint64_t last = start + bytes - 1;
    uint32_t number = take(map);
    if (!number)
        return;
    map->all[number] = (struct heapmap_block){start, bytes, function, context, 0};
    uint64_t end = bytes > PAGE ? start + PAGE - 1 : last;
    for (uint64_t at = start >> GRANULE_SHIFT; at <= end >> GRANULE_SHIFT; at++)
        map->numbers[at] = number;
    if (bytes > PAGE)
        for (uint64_t at = (start + PAGE) >> PAGE_SHIFT; at <= last >> PAGE_SHIFT; at++)
            map->pages[at] = number;
}

void heapmap_remove(struct heapmap *map, uint64_t address)
{
    uint32_t number = number_at(map, address);
    if (!number)
        return;
    map->all[number] = (struct heapmap_block){.start = map->unused};
    map->unused = number;
}
