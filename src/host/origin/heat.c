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
    bool by_block; /* items are of basic blocks: executions of each of their instructions */
    struct function function; /* that was read last, to know where blocks begin */
    bool has_function;
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

/* How often the blocks of executed paths were executed. False: no memory. */
static bool add_blocks(struct heating *heating)
{
    const struct profile *beside = heating->beside;
    double *executed = calloc(beside->path_blocks_count + 1, sizeof *executed);
    bool good = executed;
    for (size_t i = 0; good && i < beside->paths_count; i++) {
        const struct profile_path *path = &beside->paths[i];
        heating->whole += (double)path->instructions;
        for (uint32_t step = 0; step < path->steps; step++)
            executed[beside->path_steps[path->first_step + step].block] += (double)path->count;
    }
    for (size_t i = 0; good && i < beside->path_blocks_count; i++) {
        const struct profile_path_block *block = &beside->path_blocks[i];
        if (beside->path_functions[block->function].module == heating->module && executed[i] > 0)
            good = UTIL_PUSH(heating->items, heating->count, heating->capacity,
                             (struct heated){block->address, executed[i]});
    }
    free(executed);
    return good;
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
    if (heating->whole > 0)
        return "reuses";
    *good = *good && add_blocks(heating);
    heating->by_block = true;
    return heating->whole > 0 ? "instructions executed" : NULL;
}

/* Of the basic block that has the instruction. */
static double executions_of(struct heating *heating, struct binary *binary, uint64_t address)
{
    struct function *function = &heating->function;
    uint64_t start, end;
    if (!heating->has_function || address < function->start || address >= function->end) {
        if (heating->has_function)
            function_free(function);
        heating->has_function = binary_function(binary, address, &start, &end) == BASE_OK &&
                                function_read(binary, start, end, function) == BASE_OK;
    }
    uint32_t block = heating->has_function ? cfg_block_at(function->flow, address) : CFG_NONE;
    size_t behind = BASE_FIRST(k, heating->count, heating->items[k].address > address);
    if (block == CFG_NONE || !behind ||
        heating->items[behind - 1].address < function->flow->blocks[block].start)
        return 0;
    return heating->items[behind - 1].amount;
}

static void lay_executions(struct profile *profile, struct heating *heating, struct binary *binary)
{
    struct profile_map_instruction *rows = profile->map_instructions;
    size_t count = profile->map_instructions_count;
    for (size_t i = 0; i < count; i++)
        rows[i].heat = executions_of(heating, binary, rows[i].address) / heating->whole;
    for (size_t i = 0; i < profile->map_ranges_count; i++) {
        struct profile_map_range *range = &profile->map_ranges[i];
        range->heat = 0;
        for (size_t k = BASE_FIRST(j, count, rows[j].address >= range->start);
             k < count && rows[k].address < range->end; k++)
            range->heat += rows[k].heat;
    }
    if (heating->has_function)
        function_free(&heating->function);
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
        if (heating.by_block)
            lay_executions(profile, &heating, binary);
        else
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
