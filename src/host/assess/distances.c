// SPDX-License-Identifier: MIT
/*
 * What misses are to be expected of executed instructions, by the reuse distances of their lines in the whole run: the probabilistic
 * memory model of instop. Of a pair of uses the mean and the mean square of the distances are known. Most have two: none, for what lies in
 * the line that was used just before, and that of the line's last use; so two are taken, which is exact for these and for pairs
 * of one distance. (A logarithmic normal distribution had a quarter of the loads of a list miss in place of an eighth.)
 *
 * A line is in a cache, fully associative and with the least recently used one replaced, if fewer other lines were
 * used since than it holds. First uses are in no distance: they are not expected.
 */
#include "assess/windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 256 }; /* as in the profile */

/* ---- from pairs to bins ---------------------------------------------------------------------------- */

struct place {
    const char *module;
    uint64_t address;
    double weights[BINS];
};

struct places {
    struct util_index index;
    struct place *items;
    size_t count, capacity;
};

static bool is_place(const void *items, uint32_t item, const void *key)
{
    const struct place *place = &((const struct place *)items)[item], *wanted = key;
    return place->address == wanted->address && strcmp(place->module, wanted->module) == 0;
}

static uint64_t hash_of(const char *module, uint64_t address)
{
    return base_hash_bytes(module, strlen(module), address);
}

static bool list_places(const struct profile *profile, struct places *places)
{
    for (size_t i = 0; i < profile->executed_codes_count; i++) {
        const struct profile_executed_code *code = &profile->executed_codes[i];
        struct place place = {.module = code->module, .address = code->address};
        uint32_t item;
        bool found;
        if (!code->module)
            continue;
        if (!UTIL_GROW(places->items, places->capacity, places->count) ||
            !util_index_enter(&places->index, hash_of(code->module, code->address), is_place,
                              places->items, &place, (uint32_t)places->count, &item, &found))
            return false;
        if (!found)
            places->items[places->count++] = place;
    }
    return true;
}

/* Quarters of octaves. */
static uint32_t bin_of(double distance)
{
    double bin = distance > 1 ? floor(4 * log2(distance)) : 0;
    return bin < BINS ? (uint32_t)bin : BINS - 1;
}

/* Some at once, in the same line, and all others at one distance: that has the pair's mean and mean square. */
static void spread_pair(const struct profile_reuse_pair *pair, struct place *place)
{
    bool apart = pair->stack > 0 && pair->stack_squares > 0;
    double far =
        apart ? fmin(1, pair->stack * pair->stack / pair->stack_squares / pair->weight) : 0;
    place->weights[0] += pair->weight * (1 - far);
    if (apart)
        place->weights[bin_of(pair->stack_squares / pair->stack)] += pair->weight * far;
}

static void spread_pairs(const struct profile *reuse, const struct places *places)
{
    for (size_t i = 0; i < reuse->reuse_pairs_count; i++) {
        const struct profile_reuse_pair *pair = &reuse->reuse_pairs[i];
        const struct profile_frame *frame = &reuse->frames[reuse->contexts[pair->reuse].frame];
        struct place place = {.module = reuse->modules[frame->module].path,
                              .address = frame->address};
        uint32_t item;
        if (frame->module && pair->weight > 0 &&
            util_index_find(&places->index, hash_of(place.module, place.address), is_place,
                            places->items, &place, &item))
            spread_pair(pair, &places->items[item]);
    }
}

static bool add_bins(const struct places *places, struct profile *profile)
{
    for (size_t i = 0; i < places->count; i++)
        for (uint32_t bin = 0; bin < BINS; bin++) {
            const struct place *place = &places->items[i];
            if (place->weights[bin] <= 0)
                continue;
            struct profile_executed_distance *row = profile_add_executed_distances(profile);
            if (!row)
                return false;
            *row = (struct profile_executed_distance){place->module, place->address, bin,
                                                      place->weights[bin]};
        }
    return true;
}

bool assess_take_distances(const struct profile *reuse, struct profile *profile)
{
    struct places places = {0};
    profile->executed_distances_count = 0;
    bool good = list_places(profile, &places);
    if (good) {
        spread_pairs(reuse, &places);
        good = add_bins(&places, profile);
    }
    util_index_free(&places.index);
    free(places.items);
    return good;
}

/* ---- from bins to cycles ------------------------------------------------------------------------------ */

/* Part of a bin whose distances do not fit into so many lines; within it their logarithms are taken to be even. */
static double beyond(uint32_t bin, double lines)
{
    double low = bin ? exp2(bin / 4.0) : 0, high = exp2((bin + 1) / 4.0);
    if (lines >= high)
        return 0;
    return lines <= low ? 1 : low > 0 ? log(high / lines) / log(high / low) : 0;
}

static double expect_bin(const struct assess_memory *memory, uint32_t bin, float hit_cycles)
{
    const struct executed_latencies *latencies = &memory->latencies;
    double longer = 0, before = hit_cycles;
    for (uint32_t level = 1; level < latencies->levels; level++) {
        longer +=
            beyond(bin, memory->lines[level - 1]) * ((double)latencies->cycles[level] - before);
        before = latencies->cycles[level];
    }
    return fmax(0, longer);
}

/* By code of the loop. */
static void expect_codes(const struct profile *profile, const struct windows *windows,
                         const struct assess_memory *memory, float hit_cycles, double *longer,
                         double *weights)
{
    for (size_t i = 0; i < profile->executed_distances_count; i++) {
        const struct profile_executed_distance *row = &profile->executed_distances[i];
        uint32_t code;
        if (!windows_find(windows, row->module, row->address, &code))
            continue;
        longer[code] += row->weight * expect_bin(memory, row->bin, hit_cycles);
        weights[code] += row->weight;
    }
}

float *windows_expect(const struct profile *profile, const struct windows *windows,
                      const struct windows_window *window, const struct assess_memory *memory,
                      float hit_cycles)
{
    const struct executed *executed = &window->executed;
    double *longer = calloc(2 * windows->code_count + 1, sizeof *longer);
    float *expected = calloc(executed->access_count + 1, sizeof *expected);
    if (!longer || !expected) {
        free(longer);
        free(expected);
        return NULL;
    }
    double *weights = longer + windows->code_count;
    expect_codes(profile, windows, memory, hit_cycles, longer, weights);
    for (uint32_t i = 0; i < executed->block.count; i++) {
        size_t end =
            i + 1 < executed->block.count ? executed->first_access[i + 1] : executed->access_count;
        uint32_t code = window->codes[i];
        for (size_t a = executed->first_access[i]; a < end && weights[code] > 0; a++)
            expected[a] = (float)(longer[code] / weights[code]);
    }
    free(longer);
    return expected;
}
