// SPDX-License-Identifier: MIT
/* Random allocations through `blocks`, and through a list that is searched from one end to the other. */
#include "heapmap/heapmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { LIMIT = 1 << 22, MOST = 64 };

struct maps {
    int live, calls, refuse_from;
};

static void *maps_map(void *context, size_t bytes)
{
    struct maps *maps = context;
    if (maps->refuse_from && ++maps->calls >= maps->refuse_from)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    maps->live++;
    return memory;
}

static void maps_unmap(void *context, void *memory, size_t bytes)
{
    struct maps *maps = context;
    assert_int_equal(munmap(memory, bytes), 0);
    maps->live--;
}

static void start(struct heapmap *blocks, struct maps *maps)
{
    struct heapmap_memory memory = {maps_map, maps_unmap, maps};
    *maps = (struct maps){0};
    assert_int_equal(heapmap_init(blocks, LIMIT, MOST, &memory), BASE_OK);
}

static void stop(struct heapmap *blocks, struct maps *maps)
{
    heapmap_free(blocks);
    assert_int_equal(maps->live, 0);
}

/* ---- the oracle ----------------------------------------------------------------------------------- */

struct list {
    struct heapmap_block all[MOST];
    uint32_t count;
};

static struct heapmap_block *list_find(struct list *list, uint64_t address)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (address >= list->all[i].start && address < list->all[i].start + list->all[i].bytes)
            return &list->all[i];
    return NULL;
}

static bool list_overlaps(struct list *list, uint64_t start, uint64_t bytes)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (start < list->all[i].start + list->all[i].bytes && list->all[i].start < start + bytes)
            return true;
    return false;
}

static void assert_same(const struct heapmap *blocks, struct list *list, uint64_t address)
{
    const struct heapmap_block *found = heapmap_find(blocks, address);
    const struct heapmap_block *expected = list_find(list, address);
    assert_int_equal(found != NULL, expected != NULL);
    if (found)
        assert_memory_equal(found, expected, sizeof *found);
}

static uint64_t random_bytes(void)
{
    switch (rand() % 4) {
    case 0: return 1 + (uint64_t)rand() % 64;
    case 1: return 1 + (uint64_t)rand() % 5000;
    case 2: return 4096;
    default: return 1 + (uint64_t)rand() % 60000;
    }
}

static void add_one(struct heapmap *blocks, struct list *list)
{
    uint64_t at = (uint64_t)rand() % (LIMIT / 16) * 16, bytes = random_bytes();
    if (at + bytes > LIMIT || list_overlaps(list, at, bytes) || list->count == MOST)
        return;
    struct heapmap_block made = {at, bytes, (uint64_t)rand(), (uint32_t)rand(), 0};
    list->all[list->count++] = made;
    heapmap_add(blocks, at, bytes, made.context, made.function);
    assert_same(blocks, list, at);
    assert_same(blocks, list, at + bytes - 1);
}

static void remove_one(struct heapmap *blocks, struct list *list)
{
    if (!list->count)
        return;
    struct heapmap_block *gone = &list->all[(uint32_t)rand() % list->count];
    uint64_t address = gone->start + (uint64_t)rand() % gone->bytes;
    assert_memory_equal(heapmap_find(blocks, address), gone, sizeof *gone);
    heapmap_remove(blocks, address);
    *gone = list->all[--list->count];
    assert_null(heapmap_find(blocks, address));
}

static void same_as_a_list(void **state)
{
    (void)state;
    struct heapmap blocks;
    struct maps maps;
    struct list list = {.count = 0};
    srand(1);
    start(&blocks, &maps);
    for (int i = 0; i < 200000; i++) {
        if (rand() % 2)
            add_one(&blocks, &list);
        else if (rand() % 2)
            remove_one(&blocks, &list);
        assert_same(&blocks, &list, (uint64_t)rand() % (LIMIT + 4096));
        if (list.count)
            assert_same(&blocks, &list,
                        list.all[rand() % (int)list.count].start + (uint64_t)rand() % 8192);
    }
    stop(&blocks, &maps);
}

static void too_many_are_not_found(void **state)
{
    (void)state;
    struct heapmap blocks;
    struct maps maps;
    start(&blocks, &maps);
    for (uint64_t i = 0; i < MOST + 2; i++)
        heapmap_add(&blocks, 4096 + i * 32, 32, 7, 9);
    assert_non_null(heapmap_find(&blocks, 4096 + (MOST - 1) * 32));
    assert_null(heapmap_find(&blocks, 4096 + MOST * 32));
    assert_int_equal(heapmap_find(&blocks, 4096)->bytes, 32);
    heapmap_remove(&blocks, 4096);
    heapmap_add(&blocks, 4096 + MOST * 32, 32, 8, 9);
    assert_int_equal(heapmap_find(&blocks, 4096 + MOST * 32)->context, 8);
    stop(&blocks, &maps);
}

static void what_cannot_be_followed(void **state)
{
    (void)state;
    struct heapmap blocks;
    struct maps maps;
    start(&blocks, &maps);
    heapmap_add(&blocks, LIMIT, 16, 1, 1);
    heapmap_add(&blocks, LIMIT - 16, 17, 1, 1);
    heapmap_add(&blocks, LIMIT - 16, UINT64_MAX, 1, 1);
    heapmap_add(&blocks, 64, 0, 1, 1);
    assert_null(heapmap_find(&blocks, LIMIT));
    assert_null(heapmap_find(&blocks, LIMIT - 16));
    assert_null(heapmap_find(&blocks, 64));
    assert_null(heapmap_find(&blocks, UINT64_MAX));
    heapmap_remove(&blocks, 64);
    assert_int_equal(blocks.count, 0);
    stop(&blocks, &maps);
}

static void memory_is_refused(void **state)
{
    (void)state;
    for (int i = 1; i <= 3; i++) {
        struct maps maps = {.refuse_from = i};
        struct heapmap_memory memory = {maps_map, maps_unmap, &maps};
        struct heapmap blocks;
        assert_int_equal(heapmap_init(&blocks, LIMIT, MOST, &memory), BASE_NO_MEMORY);
        assert_int_equal(maps.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_a_list),
        cmocka_unit_test(too_many_are_not_found),
        cmocka_unit_test(what_cannot_be_followed),
        cmocka_unit_test(memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
