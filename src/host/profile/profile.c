// SPDX-License-Identifier: MIT
/*
 * The profile in memory: lists that grow, strings in blocks, the checks that
 * every reader relies upon, and the statistics of weighted shares.
 */
#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const profile_kind_names[PROFILE_KINDS] = {"dead", "silent", "load", "reuse"};

/* Strings are never freed one by one. 64 KiB holds some thousand paths; a longer string gets a
   block of its own. */
enum { BLOCK_BYTES = 65536 };

struct profile_strings {
    struct profile_strings *next;
    size_t used, capacity;
    char text[];
};

struct profile *profile_new(void)
{
    struct profile *profile = calloc(1, sizeof *profile);
    if (!profile)
        return NULL;
    if (!profile_add_modules(profile) || !profile_add_frames(profile) ||
        !profile_add_contexts(profile) || !profile_add_loops(profile) ||
        !profile_add_path_functions(profile) || !profile_add_vertices(profile) ||
        !profile_add_block_functions(profile)) {
        profile_free(profile);
        return NULL;
    }
    profile->modules[0].path = profile->block_functions[0].function = "";
    profile->modules[0].detail = PROFILE_DETAIL_NONE;
    profile->run.exit_code = profile->run.exit_signal = -1;
    profile->run.wall_s = profile->run.cpu_s = -1;
    return profile;
}

void profile_free(struct profile *profile)
{
    if (!profile)
        return;
    for (struct profile_strings *block = profile->strings, *next; block; block = next) {
        next = block->next;
        free(block);
    }
#define FREE_LIST(list, item) free(profile->list);
    PROFILE_LISTS(FREE_LIST)
#undef FREE_LIST
    free(profile);
}

const char *profile_keep(struct profile *profile, const char *text)
{
    if (!text)
        return NULL;
    size_t bytes = strlen(text) + 1;
    struct profile_strings *block = profile->strings;
    if (!block || block->capacity - block->used < bytes) {
        size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block = malloc(sizeof *block + capacity);
        if (!block)
            return NULL;
        *block = (struct profile_strings){.next = profile->strings, .capacity = capacity};
        profile->strings = block;
    }
    char *copy = block->text + block->used;
    memcpy(copy, text, bytes);
    block->used += bytes;
    return copy;
}

/* Room for one more item, zeroed; ids are 32 bits wide. */
static void *append(void **items, size_t *count, size_t *capacity, size_t item_bytes)
{
    if (*count == *capacity) {
        size_t larger = *capacity ? *capacity * 2 : 16;
        if (larger > UINT32_MAX)
            return NULL;
        void *moved = reallocarray(*items, larger, item_bytes);
        if (!moved)
            return NULL;
        *items = moved;
        *capacity = larger;
    }
    void *item = (char *)*items + (*count)++ * item_bytes;
    return memset(item, 0, item_bytes);
}

#define DEFINE_ADDER(list, item)                                                                   \
    struct profile_##item *profile_add_##list(struct profile *profile)                             \
    {                                                                                              \
        void *items = profile->list;                                                               \
        struct profile_##item *added =                                                             \
            append(&items, &profile->list##_count, &profile->list##_capacity, sizeof *added);      \
        profile->list = items;                                                                     \
        return added;                                                                              \
    }
PROFILE_LISTS(DEFINE_ADDER)
#undef DEFINE_ADDER

/* ---- checks ----------------------------------------------------------------------------- */

/* Sums of that many counts of that size stay far from overflow, and are exact as doubles. */
static const uint64_t count_limit = UINT64_C(1) << 50;
static const double weight_limit = 1e30;

static bool weight_ok(double value)
{
    return isfinite(value) && value >= 0 && value <= weight_limit;
}

/* Distances are large, their squares larger. */
static bool squares_ok(double value)
{
    return isfinite(value) && value >= 0 && value <= weight_limit * weight_limit;
}

static bool counts_ok(const uint64_t *counts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (counts[i] > count_limit)
            return false;
    return true;
}

static bool check_tree(const struct profile *profile)
{
    if (profile->modules_count == 0 || profile->frames_count == 0 || profile->contexts_count == 0)
        return false;
    for (size_t i = 1; i < profile->modules_count; i++) {
        const struct profile_module *module = &profile->modules[i];
        if (!module->path || module->detail >= PROFILE_DETAILS ||
            module->build_id_bytes > PROFILE_BUILD_ID_BYTES)
            return false;
    }
    for (size_t i = 1; i < profile->frames_count; i++)
        if (profile->frames[i].module >= profile->modules_count)
            return false;
    for (size_t i = 1; i < profile->contexts_count; i++) {
        const struct profile_context *context = &profile->contexts[i];
        if (context->parent >= i || context->frame == 0 || context->frame >= profile->frames_count)
            return false;
    }
    return true;
}

uint32_t profile_depth(const struct profile *profile)
{
    uint32_t deepest = 0, *depths = calloc(profile->contexts_count + 1, sizeof *depths);
    if (!depths)
        return UINT32_MAX;
    for (size_t i = 1; i < profile->contexts_count; i++) {
        depths[i] = depths[profile->contexts[i].parent] + 1;
        deepest = depths[i] > deepest ? depths[i] : deepest;
    }
    free(depths);
    return deepest;
}

static bool check_pair(const struct profile *profile, const struct profile_pair *pair,
                       unsigned kinds)
{
    uint64_t counts[] = {pair->waste_traps, pair->use_traps, pair->kernel_traps, pair->likely_traps,
                         pair->float_traps};
    return pair->kind < PROFILE_REUSE && (kinds >> pair->kind & 1) &&
           pair->first < profile->contexts_count && pair->second < profile->contexts_count &&
           weight_ok(pair->waste_bytes) && weight_ok(pair->use_bytes) &&
           weight_ok(pair->waste_squares) && weight_ok(pair->use_squares) &&
           weight_ok(pair->samples) && counts_ok(counts, BASE_COUNT(counts));
}

static bool check_findings(const struct profile *profile)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < profile->kinds_count; i++) {
        const struct profile_kind *kind = &profile->kinds[i];
        uint64_t counts[] = {kind->samples, kind->armed,     kind->traps,        kind->ignored,
                             kind->evicted, kind->abandoned, kind->blind_longest};
        if (kind->kind >= PROFILE_KINDS || (kinds >> kind->kind & 1) ||
            !counts_ok(counts, BASE_COUNT(counts)))
            return false;
        kinds |= 1U << kind->kind;
    }
    for (size_t i = 0; i < profile->pairs_count; i++)
        if (!check_pair(profile, &profile->pairs[i], kinds))
            return false;
    for (size_t i = 0; i < profile->sampled_count; i++) {
        const struct profile_sampled *sampled = &profile->sampled[i];
        if (sampled->kind >= PROFILE_KINDS || sampled->context >= profile->contexts_count ||
            !weight_ok(sampled->weight) || sampled->samples > count_limit ||
            sampled->armed > count_limit)
            return false;
    }
    return true;
}

static bool check_exact(const struct profile *profile)
{
    for (size_t i = 0; i < profile->exacts_count; i++) {
        const struct profile_exact *exact = &profile->exacts[i];
        uint64_t counts[] = {exact->loads,
                             exact->stores,
                             exact->load_bytes,
                             exact->store_bytes,
                             exact->fresh_load_bytes,
                             exact->fresh_store_bytes,
                             exact->kernel_load_bytes,
                             exact->kernel_store_bytes,
                             exact->ids,
                             exact->contexts,
                             exact->instructions};
        if (!counts_ok(counts, BASE_COUNT(counts)) || (i && exact[-1].process >= exact->process))
            return false;
    }
    return true;
}

static bool share_ok(double share)
{
    return share > 0 && share <= 1;
}

static bool check_reuse(const struct profile *profile)
{
    for (size_t i = 0; i < profile->reuses_count; i++) {
        const struct profile_reuse *reuse = &profile->reuses[i];
        if (reuse->unit_bytes == 0 || reuse->unit_bytes > 4096 ||
            (reuse->unit_bytes & (reuse->unit_bytes - 1)) ||
            reuse->unit_bytes != profile->reuses[0].unit_bytes || reuse->stack > 1)
            return false;
        if (!weight_ok(reuse->accesses) || !weight_ok(reuse->reuses) ||
            !weight_ok(reuse->locations) || !weight_ok(reuse->never_reused) ||
            !share_ok(reuse->share_first) || !share_ok(reuse->share_last) ||
            reuse->kept_accesses > count_limit || reuse->kept_locations > count_limit)
            return false;
        if (i && reuse[-1].process >= reuse->process)
            return false;
    }
    return true;
}

/* In order and apart from each other, so that readers may go through them once. */
static bool check_bins(const struct profile *profile)
{
    for (size_t i = 0; i < profile->bins_count; i++) {
        const struct profile_bin *bin = &profile->bins[i];
        const struct profile_bin *before = i ? bin - 1 : NULL;
        if (bin->which >= PROFILE_DISTANCES || bin->lo >= bin->hi || bin->hi > INT64_MAX ||
            !weight_ok(bin->weight))
            return false;
        if (before && (before->process > bin->process ||
                       (before->process == bin->process && before->which > bin->which)))
            return false;
        if (before && before->process == bin->process && before->which == bin->which &&
            (before->bin >= bin->bin || before->hi > bin->lo))
            return false;
    }
    return true;
}

static bool check_reuse_pairs(const struct profile *profile)
{
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        const struct profile_reuse_pair *pair = &profile->reuse_pairs[i];
        if (pair->use >= profile->contexts_count || pair->reuse >= profile->contexts_count ||
            pair->count > count_limit || !weight_ok(pair->weight) || !weight_ok(pair->time) ||
            !weight_ok(pair->stack) || !squares_ok(pair->time_squares) ||
            !squares_ok(pair->stack_squares))
            return false;
    }
    return true;
}

/* Each belongs to a row of `reuses`; both ascend. */
static bool check_paces(const struct profile *profile)
{
    size_t reuse = 0;
    for (size_t i = 0; i < profile->paces_count; i++) {
        const struct profile_pace *pace = &profile->paces[i];
        if (!pace->calibration || !weight_ok(pace->accesses_per_ns) || !weight_ok(pace->low) ||
            !weight_ok(pace->high) || !weight_ok(pace->trap_ns) || !weight_ok(pace->floor_ns))
            return false;
        if (pace->low <= 0 || pace->low > pace->accesses_per_ns ||
            pace->accesses_per_ns > pace->high || (i && pace[-1].process >= pace->process))
            return false;
        while (reuse < profile->reuses_count && profile->reuses[reuse].process < pace->process)
            reuse++;
        if (reuse == profile->reuses_count || profile->reuses[reuse].process != pace->process)
            return false;
    }
    return true;
}

static bool check_caches(const struct profile *profile)
{
    for (size_t i = 0; i < profile->caches_count; i++) {
        const struct profile_cache *cache = &profile->caches[i];
        if (cache->bytes == 0 || cache->bytes > count_limit || cache->level == 0 ||
            cache->level > 9 || (i && cache[-1].bytes > cache->bytes))
            return false;
    }
    for (size_t i = 0; i < profile->what_ifs_count; i++) {
        const struct profile_what_if *what_if = &profile->what_ifs[i];
        if (what_if->bytes == 0 || what_if->bytes > count_limit || what_if->line_bytes == 0 ||
            what_if->accesses > count_limit || what_if->misses > what_if->accesses)
            return false;
    }
    return true;
}

static bool check_loops(const struct profile *profile)
{
    if (profile->loops_count == 0)
        return profile->frame_loops_count == 0;
    for (size_t i = 1; i < profile->loops_count; i++)
        if (profile->loops[i].parent >= i || profile->loops[i].module >= profile->modules_count)
            return false;
    for (size_t i = 0; i < profile->frame_loops_count; i++) {
        const struct profile_frame_loop *row = &profile->frame_loops[i];
        if (row->frame >= profile->frames_count || row->loop >= profile->loops_count ||
            (i && row[-1].frame >= row->frame))
            return false;
    }
    return true;
}

/* Cycles, misses, events: negative where they were not measured. */
static bool measure_ok(double value)
{
    return isfinite(value) && value <= weight_limit;
}

static bool check_path_functions(const struct profile *profile)
{
    if (profile->path_functions_count == 0)
        return false;
    for (size_t i = 1; i < profile->path_functions_count; i++) {
        const struct profile_path_function *function = &profile->path_functions[i];
        if (function->module >= profile->modules_count || function->table_kind >= PROFILE_TABLES ||
            function->reason >= PROFILE_PATH_REASONS ||
            (function->reason != PROFILE_PATH_WHOLE && !function->why))
            return false;
        if (!weight_ok(function->potential_log2) || function->potential > INT64_MAX)
            return false;
    }
    return true;
}

/* Each row of a list of parts belongs to one whole: what is small in the file stays small when it
   is gone through. */
static bool follows(size_t *end, uint32_t first, uint32_t count, size_t limit)
{
    if (first != *end || count > limit - *end)
        return false;
    *end += count;
    return true;
}

static bool check_path_blocks(const struct profile *profile)
{
    size_t lines = 0;
    for (size_t i = 0; i < profile->path_blocks_count; i++) {
        const struct profile_path_block *block = &profile->path_blocks[i];
        if (block->function == 0 || block->function >= profile->path_functions_count ||
            !follows(&lines, block->first_line, block->lines, profile->path_lines_count))
            return false;
        if (i && (block[-1].function > block->function ||
                  (block[-1].function == block->function && block[-1].block >= block->block)))
            return false;
    }
    return lines == profile->path_lines_count;
}

static bool check_path(const struct profile *profile, const struct profile_path *path)
{
    uint64_t counts[] = {path->count, path->instructions, path->loads, path->stores,
                         path->measured};
    uint32_t from = PROFILE_PATH_FROM_ROOT | PROFILE_PATH_FROM_CUT;
    if (path->function == 0 || path->function >= profile->path_functions_count ||
        path->flags > (PROFILE_PATH_FROM_CUT | PROFILE_PATH_TO_CUT) || (path->flags & from) == from)
        return false;
    for (uint32_t i = 0; i < path->steps; i++) {
        uint32_t block = profile->path_steps[path->first_step + i].block;
        if (block >= profile->path_blocks_count ||
            profile->path_blocks[block].function != path->function)
            return false;
    }
    return path->steps && path->count && path->measured <= path->count &&
           path->number <= INT64_MAX && counts_ok(counts, BASE_COUNT(counts)) &&
           measure_ok(path->cycles) && measure_ok(path->misses) && measure_ok(path->events);
}

static bool check_paths(const struct profile *profile)
{
    size_t steps = 0;
    for (size_t i = 0; i < profile->paths_count; i++) {
        const struct profile_path *path = &profile->paths[i];
        if (!follows(&steps, path->first_step, path->steps, profile->path_steps_count) ||
            !check_path(profile, path))
            return false;
        if (i && (path[-1].function > path->function ||
                  (path[-1].function == path->function && path[-1].number >= path->number)))
            return false;
    }
    return steps == profile->path_steps_count;
}

static bool check_vertices(const struct profile *profile)
{
    if (profile->vertices_count == 0)
        return false;
    for (size_t i = 1; i < profile->vertices_count; i++) {
        const struct profile_vertex *vertex = &profile->vertices[i];
        uint64_t counts[] = {vertex->count, vertex->bytes, vertex->call_sites, vertex->measured};
        if (vertex->parent >= i || vertex->function >= profile->path_functions_count ||
            !counts_ok(counts, BASE_COUNT(counts)) ||
            vertex->call_sites_used > vertex->call_sites ||
            vertex->call_sites_one_path > vertex->call_sites_used)
            return false;
        if (!measure_ok(vertex->instructions) || !measure_ok(vertex->cycles) ||
            !measure_ok(vertex->misses))
            return false;
    }
    return true;
}

static bool check_vertex_paths(const struct profile *profile)
{
    for (size_t i = 0; i < profile->vertex_paths_count; i++) {
        const struct profile_vertex_path *row = &profile->vertex_paths[i];
        if (row->vertex == 0 || row->vertex >= profile->vertices_count ||
            row->path >= profile->paths_count || row->count > count_limit ||
            profile->vertices[row->vertex].function != profile->paths[row->path].function)
            return false;
        if (i && (row[-1].vertex > row->vertex ||
                  (row[-1].vertex == row->vertex && row[-1].path >= row->path)))
            return false;
    }
    return true;
}

static bool check_path_runs(const struct profile *profile)
{
    for (size_t i = 0; i < profile->path_runs_count; i++) {
        const struct profile_path_run *run = &profile->path_runs[i];
        if (i || run->modes > PROFILE_PATH_MODES || run->cache_bytes > count_limit ||
            run->lost_pieces > count_limit || !weight_ok(run->cycles_per_read) ||
            !weight_ok(run->cycles_per_ns))
            return false;
    }
    return true;
}

static bool check_block_functions(const struct profile *profile)
{
    if (profile->block_functions_count == 0)
        return false;
    for (size_t i = 1; i < profile->block_functions_count; i++) {
        const struct profile_block_function *function = &profile->block_functions[i];
        if (!function->function || function->module >= profile->modules_count ||
            function->class > 255 || function->entry > 255 || function->key > 255)
            return false;
    }
    for (size_t i = 0; i < profile->block_skips_count; i++)
        if (!profile->block_skips[i].function || !profile->block_skips[i].why)
            return false;
    return true;
}

static bool check_block_threads(const struct profile *profile)
{
    for (size_t i = 0; i < profile->block_threads_count; i++) {
        const struct profile_block_thread *thread = &profile->block_threads[i];
        uint64_t counts[] = {thread->preemptions, thread->sleeps,   thread->events,
                             thread->skipped,     thread->unhooked, thread->switches_lost};
        if (!weight_ok(thread->duration_ns) || !weight_ok(thread->cost_ns) ||
            !weight_ok(thread->preempted_ns) || !weight_ok(thread->asleep_ns) ||
            !counts_ok(counts, BASE_COUNT(counts)))
            return false;
    }
    for (size_t i = 0; i < profile->block_runs_count; i++) {
        const struct profile_block_run *run = &profile->block_runs[i];
        uint64_t counts[] = {run->lost_pieces, run->no_switches, run->no_areas};
        if (i || !weight_ok(run->ns_per_tick) || !weight_ok(run->wall_ns) ||
            !counts_ok(counts, BASE_COUNT(counts)))
            return false;
    }
    return true;
}

static bool check_blocks(const struct profile *profile)
{
    for (size_t i = 0; i < profile->timed_blocks_count; i++) {
        const struct profile_block *block = &profile->timed_blocks[i];
        bool sequence = block->function == 0;
        if (block->function >= profile->block_functions_count || !weight_ok(block->max_ns) ||
            !weight_ok(block->first_ns) || !weight_ok(block->last_ns) ||
            sequence != ((block->flags & PROFILE_BLOCK_SEQUENCE) != 0) ||
            block->preemptions > count_limit || block->sleeps > count_limit)
            return false;
    }
    return true;
}

static bool check_block_parts(const struct profile *profile)
{
    for (size_t i = 0; i < profile->block_parts_count; i++) {
        const struct profile_block_part *part = &profile->block_parts[i];
        if (part->block >= profile->timed_blocks_count ||
            part->thread >= profile->block_threads_count || part->count > count_limit ||
            part->recorded > part->count)
            return false;
        if (!weight_ok(part->sum_ns) || !weight_ok(part->min_ns) || !weight_ok(part->within_ns) ||
            !weight_ok(part->preempted_ns) || !weight_ok(part->asleep_ns))
            return false;
        if (i && (part[-1].block > part->block ||
                  (part[-1].block == part->block && part[-1].thread >= part->thread)))
            return false;
    }
    for (size_t i = 0; i < profile->block_bins_count; i++) {
        const struct profile_block_bin *bin = &profile->block_bins[i];
        if (bin->block >= profile->timed_blocks_count || !weight_ok(bin->low_ns) ||
            !weight_ok(bin->high_ns) || bin->low_ns > bin->high_ns || bin->count > count_limit)
            return false;
        if (i && (bin[-1].block > bin->block ||
                  (bin[-1].block == bin->block && bin[-1].high_ns > bin->low_ns)))
            return false;
    }
    return true;
}

static bool check_block_places(const struct profile *profile)
{
    for (size_t i = 0; i < profile->block_stacks_count; i++) {
        const struct profile_block_stack *stack = &profile->block_stacks[i];
        if (stack->block >= profile->timed_blocks_count ||
            stack->context >= profile->contexts_count || stack->taken > count_limit ||
            !weight_ok(stack->lost_ns) || (i && stack[-1].block > stack->block))
            return false;
    }
    for (size_t i = 0; i < profile->block_holders_count; i++) {
        const struct profile_block_holder *holder = &profile->block_holders[i];
        if (holder->block >= profile->timed_blocks_count ||
            holder->context >= profile->contexts_count || holder->times > count_limit ||
            !weight_ok(holder->waited_ns) || (i && holder[-1].block > holder->block))
            return false;
    }
    return true;
}

static bool check_block_details(const struct profile *profile)
{
    for (size_t i = 0; i < profile->block_children_count; i++) {
        const struct profile_block_child *child = &profile->block_children[i];
        if (child->block >= profile->timed_blocks_count || child->function == 0 ||
            child->function >= profile->block_functions_count ||
            (i && child[-1].block > child->block))
            return false;
    }
    for (size_t i = 0; i < profile->block_samples_count; i++) {
        const struct profile_block_sample *sample = &profile->block_samples[i];
        if (sample->block >= profile->timed_blocks_count || !weight_ok(sample->ns) ||
            (i && sample[-1].block > sample->block))
            return false;
    }
    return true;
}

static bool exit_ok(int64_t code, int64_t signal)
{
    return code >= -1 && code <= 255 && signal >= -1 && signal <= 128;
}

/* Each process belongs to one of the recordings. */
static bool check_merged(const struct profile *profile)
{
    uint64_t processes = 0;
    for (size_t i = 0; i < profile->merged_count; i++) {
        const struct profile_merged *merged = &profile->merged[i];
        processes += merged->processes;
        if (!merged->file || merged->start_ns > INT64_MAX || processes >= UINT32_MAX ||
            !exit_ok(merged->exit_code, merged->exit_signal))
            return false;
    }
    if (profile->merged_count == 0)
        return true;
#define EACH_IS_KNOWN(list, member)                                                                \
    for (size_t i = 0; i < profile->list##_count; i++)                                             \
        if (profile->list[i].member >= processes)                                                  \
            return false;
    EACH_IS_KNOWN(processes, id)
    EACH_IS_KNOWN(threads, process)
    EACH_IS_KNOWN(exacts, process)
    EACH_IS_KNOWN(reuses, process)
    EACH_IS_KNOWN(bins, process)
    EACH_IS_KNOWN(paces, process)
    EACH_IS_KNOWN(block_threads, process)
#undef EACH_IS_KNOWN
    for (size_t i = 0; i < profile->processes_count; i++) {
        uint32_t parent = profile->processes[i].parent;
        if (parent != UINT32_MAX && parent >= processes)
            return false;
    }
    return true;
}

static bool check_run(const struct profile *profile)
{
    const struct profile_run *run = &profile->run;
    uint64_t counts[] = {run->processes,       run->threads,      run->attempted,     run->stored,
                         run->corrupt_records, run->lost_threads, run->lost_processes};
    if (!run->verb || !run->engine || !run->weighting || !run->version)
        return false;
    if (!isfinite(run->wall_s) || !isfinite(run->cpu_s) || !weight_ok(run->fp_tolerance))
        return false;
    if (!exit_ok(run->exit_code, run->exit_signal) || !counts_ok(counts, BASE_COUNT(counts)))
        return false;
    uint64_t accounted = run->stored;
    for (size_t i = 0; i < profile->drops_count; i++) {
        const struct profile_drop *drop = &profile->drops[i];
        if (!drop->reason || !drop->meaning || drop->count > count_limit || i > 1000)
            return false;
        accounted += drop->count;
    }
    return accounted == run->attempted;
}

bool profile_check(const struct profile *profile)
{
    for (size_t i = 0; i < profile->counters_count; i++)
        if (profile->counters[i].thread >= profile->threads_count || !profile->counters[i].name)
            return false;
    for (size_t i = 0; i < profile->arguments_count; i++)
        if (!profile->arguments[i].text)
            return false;
    for (size_t i = 0; i < profile->degraded_count; i++)
        if (!profile->degraded[i].text)
            return false;
    return check_run(profile) && check_merged(profile) && check_tree(profile) &&
           check_findings(profile) && check_exact(profile) && check_reuse(profile) &&
           check_bins(profile) && check_reuse_pairs(profile) && check_paces(profile) &&
           check_caches(profile) && check_loops(profile) && check_path_functions(profile) &&
           check_path_blocks(profile) && check_paths(profile) && check_vertices(profile) &&
           check_vertex_paths(profile) && check_path_runs(profile) &&
           check_block_functions(profile) && check_block_threads(profile) &&
           check_blocks(profile) && check_block_parts(profile) && check_block_places(profile) &&
           check_block_details(profile);
}

void profile_total(struct profile *profile)
{
    struct profile_kind *by_kind[PROFILE_KINDS] = {NULL};
    for (size_t i = 0; i < profile->kinds_count; i++) {
        struct profile_kind *kind = &profile->kinds[i];
        kind->waste_bytes = kind->use_bytes = kind->waste_squares = kind->use_squares = 0;
        kind->waste_traps = kind->use_traps = 0;
        by_kind[kind->kind] = kind;
    }
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        struct profile_kind *kind = by_kind[pair->kind];
        kind->waste_bytes += pair->waste_bytes;
        kind->use_bytes += pair->use_bytes;
        kind->waste_squares += pair->waste_squares;
        kind->use_squares += pair->use_squares;
        kind->waste_traps += pair->waste_traps;
        kind->use_traps += pair->use_traps;
    }
}

struct profile_exact profile_exact_total(const struct profile *profile)
{
    struct profile_exact total = {0};
    for (size_t i = 0; i < profile->exacts_count; i++) {
        const struct profile_exact *exact = &profile->exacts[i];
        total.threads += exact->threads;
        total.loads += exact->loads;
        total.stores += exact->stores;
        total.load_bytes += exact->load_bytes;
        total.store_bytes += exact->store_bytes;
        total.fresh_load_bytes += exact->fresh_load_bytes;
        total.fresh_store_bytes += exact->fresh_store_bytes;
        total.kernel_load_bytes += exact->kernel_load_bytes;
        total.kernel_store_bytes += exact->kernel_store_bytes;
        total.ids += exact->ids;
        total.contexts += exact->contexts;
        total.instructions += exact->instructions;
    }
    return total;
}

struct profile_reuse profile_reuse_total(const struct profile *profile)
{
    struct profile_reuse total = {0};
    for (size_t i = 0; i < profile->reuses_count; i++) {
        const struct profile_reuse *reuse = &profile->reuses[i];
        total.unit_bytes = reuse->unit_bytes;
        total.stack = (i == 0 || total.stack) && reuse->stack;
        total.accesses += reuse->accesses;
        total.reuses += reuse->reuses;
        total.locations += reuse->locations;
        total.never_reused += reuse->never_reused;
        total.share_first = fmax(total.share_first, reuse->share_first);
        total.share_last = i == 0 ? reuse->share_last : fmin(total.share_last, reuse->share_last);
        total.kept_accesses += reuse->kept_accesses;
        total.kept_locations += reuse->kept_locations;
    }
    return total;
}

/* ---- statistics ------------------------------------------------------------------------- */

struct profile_share profile_share(double part, double whole, double whole_squares)
{
    static const double z = 1.959963984540054; /* 97.5 % quantile of the normal distribution */
    struct profile_share result = {0};
    if (!(whole > 0) || !(whole_squares > 0))
        return result;
    double n = whole * whole / whole_squares;
    double p = part / whole;
    p = p > 1 ? 1 : p;
    double centre = (p + z * z / (2 * n)) / (1 + z * z / n);
    double half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    result = (struct profile_share){.share = p, .effective = n, .known = isfinite(n)};
    /* Rounding must not put the share outside its own interval. */
    result.low = fmax(0, fmin(p, centre - half));
    result.high = fmin(1, fmax(p, centre + half));
    return result;
}
