// SPDX-License-Identifier: MIT
/* Figures of another profile beside the code: what share of them each instruction has. */
#include "origin/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct heated {
    uint64_t address;
    double amount;
};

struct heating {
    const struct profile *beside;
    uint32_t module;      /* of the file, in that profile; 0: it has none */
    struct heated *items; /* by address */
    size_t count, capacity;
    double whole;
};

static int by_address(const void *a, const void *b)
{
    const struct heated *first = a, *second = b;
    return (first->address > second->address) - (first->address < second->address);
}

/* By build-id; without one by the name of the file. */
static uint32_t find_module(const struct profile *beside, struct binary *binary, const char *path)
{
    uint8_t id[BINARY_BUILD_ID_BYTES];
    size_t bytes = binary_build_id(binary, id);
    for (uint32_t i = 1; i < beside->modules_count; i++) {
        const struct profile_module *module = &beside->modules[i];
        if (bytes && module->build_id_bytes) {
            if (bytes == module->build_id_bytes && memcmp(id, module->build_id, bytes) == 0)
                return i;
        } else if (binary_path_ends(module->path, origin_base_name(path))) {
            return i;
        }
    }
    return 0;
}

/* False: no memory. */
static bool add(struct heating *heating, uint32_t context, double amount)
{
    const struct profile *beside = heating->beside;
    if (amount <= 0)
        return true;
    heating->whole += amount;
    if (!context || context >= beside->contexts_count)
        return true;
    const struct profile_frame *frame = &beside->frames[beside->contexts[context].frame];
    return frame->module != heating->module ||
           UTIL_PUSH(heating->items, heating->count, heating->capacity,
                     (struct heated){frame->address, amount});
}

/* What the profile measures, the first of these that it has. NULL: nothing of single instructions. */
static const char *gather(struct heating *heating, bool *good)
{
    const struct profile *beside = heating->beside;
    *good = true;
    for (size_t i = 0; i < beside->times_count && *good; i++)
        *good = add(heating, beside->times[i].context, (double)beside->times[i].ns);
    if (heating->whole > 0)
        return "CPU time";
    for (size_t i = 0; i < beside->pairs_count && *good; i++)
        *good = add(heating, beside->pairs[i].first, beside->pairs[i].waste_bytes);
    if (heating->whole > 0)
        return "wasted bytes";
    for (size_t i = 0; i < beside->reuse_pairs_count && *good; i++)
        *good = add(heating, beside->reuse_pairs[i].reuse, beside->reuse_pairs[i].weight);
    return heating->whole > 0 ? "reuses" : NULL;
}

static double share_of(const struct heating *heating, uint64_t start, uint64_t end)
{
    double amount = 0;
    for (size_t i = BASE_FIRST(k, heating->count, heating->items[k].address >= start);
         i < heating->count && heating->items[i].address < end; i++)
        amount += heating->items[i].amount;
    return amount / heating->whole;
}

static void lay(struct profile *profile, const struct heating *heating)
{
    for (size_t i = 0; i < profile->map_ranges_count; i++)
        profile->map_ranges[i].heat =
            share_of(heating, profile->map_ranges[i].start, profile->map_ranges[i].end);
    for (size_t i = 0; i < profile->map_instructions_count; i++)
        profile->map_instructions[i].heat = share_of(heating, profile->map_instructions[i].address,
                                                     profile->map_instructions[i].address + 1);
}

bool origin_heat(struct profile *profile, struct binary *binary, const struct profile *beside,
                 char *why, size_t why_bytes)
{
    struct heating heating = {.beside = beside};
    struct profile_map_run *run = origin_run(profile);
    bool good = true;
    heating.module = find_module(beside, binary, run->module);
    const char *measure = heating.module ? gather(&heating, &good) : NULL;
    if (heating.count)
        qsort(heating.items, heating.count, sizeof *heating.items, by_address);
    if (good && measure) {
        run->measure = profile_keep(profile, measure);
        lay(profile, &heating);
    } else {
        snprintf(why, why_bytes, "%s",
                 !good            ? base_status_text(BASE_NO_MEMORY)
                 : heating.module ? "it measures nothing of single instructions"
                                  : "it is of another program, or of another build of this one");
    }
    free(heating.items);
    return good && measure;
}
