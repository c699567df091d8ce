// SPDX-License-Identifier: MIT
/*
 * What a load takes that is not in the first-level cache is given by hand, or timed on this machine (machine/latency.h); a machine
 * from a table has no such figures, and then there is no model but the uniform one.
 */
#include "cli/memory.h"

#include "calibrate/calibrate.h"
#include "machine/latency.h"
#include "machine/machine.h"

#include <stdio.h>
#include <string.h>

enum { CACHES_MAX = 8 };

/* ---- names ------------------------------------------------------------------------------------- */

static bool read_models(const char *list, unsigned *models, char *why, size_t why_bytes)
{
    for (*models = 0; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL) {
        size_t bytes = strcspn(list, ",");
        unsigned memory = 0;
        while (memory < EXECUTED_MEMORIES &&
               (strlen(executed_memory_names[memory]) != bytes ||
                memcmp(executed_memory_names[memory], list, bytes) != 0))
            memory++;
        if (memory == EXECUTED_MEMORIES) {
            snprintf(why, why_bytes, "'%.*s' is none of uniform, compulsory, caches, reuse",
                     (int)bytes, list);
            return false;
        }
        *models |= 1U << memory;
    }
    return true;
}

/* ---- latencies ----------------------------------------------------------------------------------- */

/* By level of the cache, and 0 for memory; negative: not known. */
struct known {
    float cycles[EXECUTED_LEVELS];
};

static struct known given(const struct bounds_latencies *by_hand)
{
    struct known known = {{-1, -1, -1, -1, -1}};
    if (by_hand) {
        known.cycles[0] = by_hand->memory;
        known.cycles[2] = by_hand->l2;
        known.cycles[3] = by_hand->l3;
    }
    return known;
}

static void time_memory(struct known *known)
{
    struct machine_latencies latencies;
    struct calibrate_clock clock;
    if (machine_latencies(false, &latencies) != BASE_OK)
        return;
    calibrate_clock(&clock);
    for (size_t i = 0; i < latencies.count && clock.cycle_ns > 0; i++)
        if (latencies.items[i].level != 1 && latencies.items[i].level < EXECUTED_LEVELS)
            known->cycles[latencies.items[i].level] =
                (float)(latencies.items[i].chase_ns / clock.cycle_ns);
}

/* ---- levels ---------------------------------------------------------------------------------------- */

/* Of the second level on: those that have a latency. The first has the model's. */
static void list_levels(const struct known *known, struct executed_latencies *latencies)
{
    *latencies = (struct executed_latencies){.levels = 1};
    for (unsigned level = 2; level < EXECUTED_LEVELS; level++)
        if (known->cycles[level] >= 0)
            latencies->cycles[latencies->levels++] = known->cycles[level];
    if (known->cycles[0] >= 0)
        latencies->cycles[latencies->levels++] = known->cycles[0];
    else
        latencies->levels = 1;
}

static bool list_caches(const struct known *known, struct memory_choice *choice, char *why,
                        size_t why_bytes)
{
    struct machine_cache caches[CACHES_MAX];
    size_t count = machine_caches("", caches, CACHES_MAX);
    for (unsigned level = 1; level < EXECUTED_LEVELS; level++) {
        size_t at = 0;
        if (level > 1 && known->cycles[level] < 0)
            continue;
        while (at < count && caches[at].level != level)
            at++;
        struct cache_shape shape = {0};
        if (at < count)
            shape = (struct cache_shape){caches[at].bytes, caches[at].ways};
        if (at == count || !cache_shape_valid(&shape) ||
            (caches[at].line_bytes && caches[at].line_bytes != CACHE_LINE_BYTES)) {
            snprintf(why, why_bytes,
                     "caches cannot be simulated: this machine has no cache of level "
                     "%u, or it is of a shape that is not known",
                     level);
            return false;
        }
        choice->levels[choice->levels_count++] = shape;
    }
    return true;
}

bool memory_choose(struct memory_choice *choice, char *why, size_t why_bytes)
{
    struct known known = given(choice->by_hand);
    unsigned models = 1U << EXECUTED_UNIFORM;
    if (choice->models && !read_models(choice->models, &models, why, why_bytes))
        return false;
    choice->levels_count = 0;
    bool wants = models & ~(1U << EXECUTED_UNIFORM);
    if (wants && choice->here && known.cycles[0] < 0)
        time_memory(&known);
    list_levels(&known, &choice->memory.latencies);
    if (wants && choice->memory.latencies.levels < 2) {
        snprintf(why, why_bytes,
                 "what loads take that miss is not known of this machine: give it, as in "
                 "--latency l2=14,l3=50,memory=250");
        return false;
    }
    choice->memory.models = models;
    if (!(models & (1U << EXECUTED_CACHES | 1U << EXECUTED_EXPECTED)))
        return true;
    if (!list_caches(&known, choice, why, why_bytes))
        return false;
    for (size_t i = 0; i < choice->levels_count; i++)
        choice->memory.lines[i] = (double)choice->levels[i].bytes / CACHE_LINE_BYTES;
    if (!(models >> EXECUTED_CACHES & 1))
        choice->levels_count = 0;
    return true;
}
