// SPDX-License-Identifier: MIT
/*
 * Where a program that counts by itself spent its CPU time, by samples taken from outside: nothing
 * is added to what the program does. Samples are added up by file and offset as they are drained,
 * because memory maps of processes that have ended cannot be read any more.
 */
#include "launch/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* No divisor of what timers use. A sample costs about 25 microseconds on a virtual machine, and more than
   1 % of the time would be noticed. */
enum { PERIOD_NS = 3989000, MAPS_MAX = 1 << 16, PLACES_MAX = 1 << 20, MODULES_MAX = 4096 };

static uint64_t hash_of(uint32_t path, uint64_t offset)
{
    return base_mix64(base_mix64(offset + 1) ^ path);
}

static bool equal_place(const void *items, uint32_t item, const void *key)
{
    const struct launch_tick *place = &((const struct launch_tick *)items)[item];
    const struct launch_tick *wanted = key;
    return place->path == wanted->path && place->offset == wanted->offset;
}

/* The latest mapping there: it has replaced those before. */
static const struct launch_clock_map *map_at(const struct launch_clock *clock, uint32_t pid,
                                             uint64_t address)
{
    for (size_t i = clock->maps_count; i > 0; i--)
        if (clock->maps[i - 1].pid == pid &&
            address - clock->maps[i - 1].start < clock->maps[i - 1].bytes)
            return &clock->maps[i - 1];
    return NULL;
}

static void take_sample(void *context, const struct inject_sample *sample)
{
    struct launch_clock *clock = context;
    struct launch_ticks *ticks = clock->ticks;
    const struct launch_clock_map *map = map_at(clock, sample->pid, sample->ip);
    struct launch_tick key = {.path = LAUNCH_NO_FILE};
    uint32_t item;
    bool found;
    if (map && map->path != LAUNCH_NO_FILE) {
        key.path = map->path;
        key.offset = sample->ip - map->start + map->offset;
    }
    if (ticks->count >= PLACES_MAX && key.path != LAUNCH_NO_FILE)
        key.offset = 0; /* where in the file is not known any more */
    if (!UTIL_GROW(ticks->items, ticks->capacity, ticks->count) ||
        !util_index_enter(&clock->places, hash_of(key.path, key.offset), equal_place, ticks->items,
                          &key, (uint32_t)ticks->count, &item, &found))
        return;
    if (!found)
        ticks->items[ticks->count++] = key;
    ticks->items[item].ticks++;
    ticks->items[item].ns += sample->weight_ns;
}

static void take_mapped(void *context, const struct inject_mapped *mapped)
{
    struct launch_clock *clock = context;
    struct launch_clock_map map = {.pid = mapped->pid,
                                   .path = LAUNCH_NO_FILE,
                                   .start = mapped->start,
                                   .bytes = mapped->bytes,
                                   .offset = mapped->offset};
    if (clock->maps_count >= MAPS_MAX)
        return;
    if (mapped->path[0] == '/' && mapped->path[1] != '/' &&
        clock->ticks->paths.count < MODULES_MAX &&
        !util_strings_add(&clock->ticks->paths, mapped->path, strlen(mapped->path), &map.path))
        map.path = LAUNCH_NO_FILE;
    (void)UTIL_PUSH(clock->maps, clock->maps_count, clock->maps_capacity, map);
}

static void take_forked(void *context, uint32_t pid, uint32_t parent)
{
    struct launch_clock *clock = context;
    size_t count = clock->maps_count;
    for (size_t i = 0; i < count && clock->maps_count < MAPS_MAX; i++) {
        struct launch_clock_map map = clock->maps[i];
        if (map.pid != parent)
            continue;
        map.pid = pid;
        if (!UTIL_PUSH(clock->maps, clock->maps_count, clock->maps_capacity, map))
            return;
    }
}

static void forget_maps(void *context, uint32_t pid)
{
    struct launch_clock *clock = context;
    size_t left = 0;
    for (size_t i = 0; i < clock->maps_count; i++)
        if (clock->maps[i].pid != pid)
            clock->maps[left++] = clock->maps[i];
    clock->maps_count = left;
}

void launch_clock_begin(struct launch_clock *clock, struct launch_ticks *ticks, pid_t child)
{
    *clock = (struct launch_clock){.ticks = ticks};
    ticks->refused = inject_sampler_open(&clock->sampler, child, PERIOD_NS, true, false);
}

void launch_clock_drain(struct launch_clock *clock)
{
    const struct inject_sampler_taker taker = {.context = clock,
                                               .sample = take_sample,
                                               .mapped = take_mapped,
                                               .forked = take_forked,
                                               .executed = forget_maps,
                                               .ended = forget_maps};
    inject_sampler_drain(&clock->sampler, &taker);
}

void launch_clock_end(struct launch_clock *clock)
{
    inject_sampler_close(&clock->sampler);
    util_index_free(&clock->places);
    free(clock->maps);
    *clock = (struct launch_clock){.maps = NULL};
}

void launch_ticks_free(struct launch_ticks *ticks)
{
    free(ticks->items);
    util_strings_free(&ticks->paths);
    *ticks = (struct launch_ticks){.items = NULL};
}
