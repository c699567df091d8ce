// SPDX-License-Identifier: MIT
/*
 * Each column of a profile file, declared once: C member, type and range, what it refers to, and
 * what becomes of it by merging. The order of the tables is that of the file, and the list of them
 * is PROFILE_LISTS; tables to which others refer come before those.
 */
#include "profile/internal.h"

#include <float.h>

/* {MEMBER, what its values are, what merging does (else SCHEMA_KEPT)} */
#define MEMBER(item, member) NAMED(item, member, #member)
/* A member whose column has another name: what is called a span was once called a block. */
#define NAMED(item, member, text)                                                                  \
    .name = text, .offset = offsetof(struct profile_##item, member),                               \
    .bytes = sizeof(((struct profile_##item *)NULL)->member)
#define POSITION(text) .name = text, .type = SCHEMA_POSITION

/* Sums of that many counts of that size stay far from overflow, and are exact as doubles. */
#define COUNT       .type = SCHEMA_COUNT64, .most = UINT64_C(1) << 50
#define NUMBER64    .type = SCHEMA_COUNT64, .most = INT64_MAX
#define NUMBER32    .type = SCHEMA_COUNT32, .most = UINT32_MAX
#define BELOW(end)  .type = SCHEMA_COUNT32, .most = (end)-1
#define ADDRESS     .type = SCHEMA_ADDRESS
#define EXIT_CODE   .type = SCHEMA_SIGNED, .low = -1, .high = 255
#define EXIT_SIGNAL .type = SCHEMA_SIGNED, .low = -1, .high = 128

#define WEIGHT  .type = SCHEMA_REAL, .low = 0, .high = 1e30
#define SQUARES .type = SCHEMA_REAL, .low = 0, .high = 1e60 /* of distances, which are large */
#define SHARE   .type = SCHEMA_REAL, .low = DBL_TRUE_MIN, .high = 1
#define PART    .type = SCHEMA_REAL, .low = 0, .high = 1
#define MEASURE .type = SCHEMA_REAL, .low = -DBL_MAX, .high = 1e30 /* negative: not measured */
#define FINITE  .type = SCHEMA_REAL, .low = -DBL_MAX, .high = DBL_MAX

#define TEXT         .type = SCHEMA_TEXT
#define TEXT_OR_NULL .type = SCHEMA_TEXT, .null = true
#define NAME         .type = SCHEMA_NAME
#define NAME_OR_NULL .type = SCHEMA_NAME, .null = true
#define BUILD_ID     .type = SCHEMA_BUILD_ID, .null = true

#define REFERS(kind, list) NUMBER32, .reference = SCHEMA_##kind, .target = &schema_##list
#define ID(list)           REFERS(ID, list)
#define ID_OR_NONE(list)   REFERS(ID_OR_NONE, list)
#define PARENT(list)       REFERS(PARENT, list)
#define RANGE(list)        REFERS(RANGE, list)
#define PROCESS            NUMBER32, .reference = SCHEMA_PROCESS
#define PROCESS_OR_NONE    NUMBER32, .reference = SCHEMA_PROCESS_OR_NONE

#define KEY       .rule = SCHEMA_KEY
#define SUM       .rule = SCHEMA_SUM
#define SUM_KNOWN .rule = SCHEMA_SUM_KNOWN
#define UNION     .rule = SCHEMA_UNION
#define LARGER    .rule = SCHEMA_LARGER
#define SMALLER   .rule = SCHEMA_SMALLER
#define EARLIER   .rule = SCHEMA_EARLIER
#define SAME      .rule = SCHEMA_SAME
#define AGREED    .rule = SCHEMA_AGREED
#define FOLDED    .rule = SCHEMA_FOLDED

/* list, item type, name in the file, version since which there is it, what else there is to say */
#define TABLE(list, item, text, version, ...)                                                      \
    const struct schema_table schema_##list = {.name = text,                                       \
                                               .since = version,                                   \
                                               .columns = list##_columns,                          \
                                               .columns_count = BASE_COUNT(list##_columns),        \
                                               .items = offsetof(struct profile, list),            \
                                               .item_bytes = sizeof(struct profile_##item),        \
                                               .index = SCHEMA_INDEX_##list,                       \
                                               __VA_ARGS__}

static const struct schema_column modules_columns[] = {
    {POSITION("id")},
    {MEMBER(module, path), TEXT, KEY},
    {MEMBER(module, build_id), BUILD_ID, KEY},
    {MEMBER(module, detail), BELOW(PROFILE_DETAILS), SMALLER},
};
TABLE(modules, module, "module", 1, .first = 1);

static const struct schema_column frames_columns[] = {
    {POSITION("id")},
    {MEMBER(frame, function), NAME_OR_NULL, KEY},
    {MEMBER(frame, file), NAME_OR_NULL, KEY},
    {MEMBER(frame, line), NUMBER32, KEY},
    {MEMBER(frame, column), NUMBER32, KEY},
    {MEMBER(frame, module), ID_OR_NONE(modules), KEY},
    {MEMBER(frame, address), ADDRESS, KEY},
    {MEMBER(frame, flags), NUMBER32, KEY},
};
TABLE(frames, frame, "frame", 1, .first = 1);

static const struct schema_column contexts_columns[] = {
    {POSITION("id")},
    {MEMBER(context, parent), PARENT(contexts), KEY},
    {MEMBER(context, frame), ID(frames), KEY},
};
TABLE(contexts, context, "context", 1, .first = 1, .merging = SCHEMA_TREE);

static const struct schema_column kinds_columns[] = {
    {MEMBER(kind, kind), BELOW(PROFILE_KINDS), KEY},
    {MEMBER(kind, samples), COUNT, SUM},
    {MEMBER(kind, armed), COUNT, SUM},
    {MEMBER(kind, traps), COUNT, SUM},
    {MEMBER(kind, ignored), COUNT, SUM},
    {MEMBER(kind, evicted), COUNT, SUM},
    {MEMBER(kind, abandoned), COUNT, SUM},
    {MEMBER(kind, blind_longest), COUNT, LARGER},
};
TABLE(kinds, kind, "kind", 1);

static const struct schema_column pairs_columns[] = {
    {MEMBER(pair, kind), BELOW(PROFILE_REUSE), KEY},
    {MEMBER(pair, first), ID_OR_NONE(contexts), KEY},
    {MEMBER(pair, second), ID_OR_NONE(contexts), KEY},
    {MEMBER(pair, waste_bytes), WEIGHT, SUM},
    {MEMBER(pair, use_bytes), WEIGHT, SUM},
    {MEMBER(pair, waste_squares), WEIGHT, SUM},
    {MEMBER(pair, use_squares), WEIGHT, SUM},
    {MEMBER(pair, samples), WEIGHT, SUM},
    {MEMBER(pair, waste_traps), COUNT, SUM},
    {MEMBER(pair, use_traps), COUNT, SUM},
    {MEMBER(pair, kernel_traps), COUNT, FOLDED},
    {MEMBER(pair, likely_traps), COUNT, SUM},
    {MEMBER(pair, float_traps), COUNT, SUM},
};
TABLE(pairs, pair, "pair", 1, .fold = merge_fold_pair);

static const struct schema_column sampled_columns[] = {
    {MEMBER(sampled, kind), BELOW(PROFILE_KINDS), KEY},
    {MEMBER(sampled, context), ID_OR_NONE(contexts), KEY},
    {MEMBER(sampled, samples), COUNT, SUM},
    {MEMBER(sampled, armed), COUNT, SUM},
    {MEMBER(sampled, weight), WEIGHT, SUM},
};
TABLE(sampled, sampled, "sampled", 1);

static const struct schema_column drops_columns[] = {
    {POSITION("position")},
    {MEMBER(drop, reason), TEXT, KEY},
    {MEMBER(drop, meaning), TEXT, SMALLER},
    {MEMBER(drop, count), COUNT, SUM},
};
TABLE(drops, drop, "dropped", 1, .most = 1001);

static const struct schema_column processes_columns[] = {
    {POSITION("position")},
    {MEMBER(process, id), PROCESS, KEY},
    {MEMBER(process, parent), PROCESS_OR_NONE},
    {MEMBER(process, pid), NUMBER32},
    {MEMBER(process, forked), NUMBER32},
    {MEMBER(process, exe), TEXT_OR_NULL},
    {MEMBER(process, start_ns), NUMBER64},
};
TABLE(processes, process, "process", 1, .merging = SCHEMA_APART);

static const struct schema_column threads_columns[] = {
    {POSITION("position")},
    {MEMBER(thread, id), NUMBER32},
    {MEMBER(thread, process), PROCESS, KEY},
    {MEMBER(thread, tid), NUMBER32},
    {MEMBER(thread, name), TEXT_OR_NULL},
    {MEMBER(thread, cpu_ns), NUMBER64},
    {MEMBER(thread, attempted), NUMBER64},
    {MEMBER(thread, stored), NUMBER64},
};
TABLE(threads, thread, "thread", 1, .merging = SCHEMA_APART);

static const struct schema_column counters_columns[] = {
    {POSITION("position")},
    {MEMBER(counter, thread), ID(threads), KEY},
    {MEMBER(counter, name), NAME, KEY},
    {MEMBER(counter, value), NUMBER64, SUM},
};
TABLE(counters, counter, "thread_counter", 1);

static const struct schema_column arguments_columns[] = {
    {POSITION("position")},
    {MEMBER(text, text), TEXT},
};
TABLE(arguments, text, "argument", 1, .merging = SCHEMA_WHOLE);

static const struct schema_column degraded_columns[] = {
    {POSITION("position")},
    {MEMBER(text, text), TEXT, KEY},
};
TABLE(degraded, text, "degraded", 1);

static const struct schema_column exacts_columns[] = {
    {MEMBER(exact, process), PROCESS, KEY},
    {MEMBER(exact, threads), NUMBER32},
    {MEMBER(exact, loads), COUNT},
    {MEMBER(exact, stores), COUNT},
    {MEMBER(exact, load_bytes), COUNT},
    {MEMBER(exact, store_bytes), COUNT},
    {MEMBER(exact, fresh_load_bytes), COUNT},
    {MEMBER(exact, fresh_store_bytes), COUNT},
    {MEMBER(exact, kernel_load_bytes), COUNT},
    {MEMBER(exact, kernel_store_bytes), COUNT},
    {MEMBER(exact, ids), COUNT},
    {MEMBER(exact, contexts), COUNT},
    {MEMBER(exact, instructions), COUNT},
};
TABLE(exacts, exact, "exact", 2, .merging = SCHEMA_APART, .order = SCHEMA_ASCENDING);

static const struct schema_column reuses_columns[] = {
    {MEMBER(reuse, process), PROCESS, KEY}, {MEMBER(reuse, unit_bytes), NUMBER32},
    {MEMBER(reuse, stack), BELOW(2)},       {MEMBER(reuse, accesses), WEIGHT},
    {MEMBER(reuse, reuses), WEIGHT},        {MEMBER(reuse, locations), WEIGHT},
    {MEMBER(reuse, never_reused), WEIGHT},  {MEMBER(reuse, share_first), SHARE},
    {MEMBER(reuse, share_last), SHARE},     {MEMBER(reuse, kept_accesses), COUNT},
    {MEMBER(reuse, kept_locations), COUNT},
};
TABLE(reuses, reuse, "reuse", 2, .merging = SCHEMA_APART, .order = SCHEMA_ASCENDING);

static const struct schema_column bins_columns[] = {
    {MEMBER(bin, process), PROCESS, KEY}, {MEMBER(bin, which), BELOW(PROFILE_DISTANCES), KEY},
    {MEMBER(bin, bin), NUMBER32, KEY},    {MEMBER(bin, lo), NUMBER64},
    {MEMBER(bin, hi), NUMBER64},          {MEMBER(bin, weight), WEIGHT},
};
TABLE(bins, bin, "histogram", 2, .merging = SCHEMA_APART, .order = SCHEMA_ASCENDING);

static const struct schema_column reuse_pairs_columns[] = {
    {MEMBER(reuse_pair, use), ID_OR_NONE(contexts), KEY},
    {MEMBER(reuse_pair, reuse), ID_OR_NONE(contexts), KEY},
    {MEMBER(reuse_pair, count), COUNT, SUM},
    {MEMBER(reuse_pair, weight), WEIGHT, SUM},
    {MEMBER(reuse_pair, time), WEIGHT, SUM},
    {MEMBER(reuse_pair, time_squares), SQUARES, SUM},
    {MEMBER(reuse_pair, stack), WEIGHT, SUM},
    {MEMBER(reuse_pair, stack_squares), SQUARES, SUM},
};
TABLE(reuse_pairs, reuse_pair, "reuse_pair", 2);

static const struct schema_column paces_columns[] = {
    {MEMBER(pace, process), PROCESS, KEY}, {MEMBER(pace, accesses_per_ns), WEIGHT},
    {MEMBER(pace, low), WEIGHT},           {MEMBER(pace, high), WEIGHT},
    {MEMBER(pace, trap_ns), WEIGHT},       {MEMBER(pace, floor_ns), WEIGHT},
    {MEMBER(pace, calibration), TEXT},
};
TABLE(paces, pace, "pace", 3, .merging = SCHEMA_APART, .order = SCHEMA_ASCENDING);

static const struct schema_column caches_columns[] = {
    {POSITION("position")},
    {MEMBER(cache, level), BELOW(10)},
    {MEMBER(cache, ways), NUMBER32},
    {MEMBER(cache, line_bytes), NUMBER32},
    {MEMBER(cache, sharers), NUMBER32},
    {MEMBER(cache, bytes), COUNT},
};
TABLE(caches, cache, "cache", 3, .merging = SCHEMA_WHOLE);

static const struct schema_column latencies_columns[] = {
    {POSITION("position")},
    {MEMBER(latency, level), BELOW(10)},
    {MEMBER(latency, bytes), COUNT},
    {MEMBER(latency, chase_ns), WEIGHT},
    {MEMBER(latency, stream_ns), WEIGHT},
};
TABLE(latencies, latency, "latency", 11, .merging = SCHEMA_WHOLE);

static const struct schema_column what_ifs_columns[] = {
    {POSITION("position")},
    {MEMBER(what_if, bytes), COUNT, KEY},
    {MEMBER(what_if, ways), NUMBER32, KEY},
    {MEMBER(what_if, line_bytes), NUMBER32, KEY},
    {MEMBER(what_if, accesses), COUNT, SUM},
    {MEMBER(what_if, misses), COUNT, SUM},
};
TABLE(what_ifs, what_if, "what_if", 3);

static const struct schema_column loops_columns[] = {
    {POSITION("id")},
    {MEMBER(loop, parent), PARENT(loops), KEY},
    {MEMBER(loop, module), ID_OR_NONE(modules), KEY},
    {MEMBER(loop, address), ADDRESS, KEY},
    {MEMBER(loop, function), NAME_OR_NULL, KEY},
    {MEMBER(loop, file), NAME_OR_NULL, KEY},
    {MEMBER(loop, line), NUMBER32, KEY},
};
TABLE(loops, loop, "loop", 3, .first = 1, .merging = SCHEMA_TREE);

static const struct schema_column frame_loops_columns[] = {
    {MEMBER(frame_loop, frame), ID_OR_NONE(frames), KEY},
    {MEMBER(frame_loop, loop), ID_OR_NONE(loops), LARGER},
};
TABLE(frame_loops, frame_loop, "frame_loop", 3, .order = SCHEMA_ASCENDING);

static const struct schema_column traits_columns[] = {
    {MEMBER(trait, kind), BELOW(PROFILE_REUSE), KEY},
    {MEMBER(trait, first), ID_OR_NONE(contexts), KEY},
    {MEMBER(trait, second), ID_OR_NONE(contexts), KEY},
    {MEMBER(trait, reach), BELOW(PROFILE_REACHES), LARGER},
    {MEMBER(trait, near_bytes), WEIGHT, SUM},
};
TABLE(traits, trait, "pair_trait", 8, .order = SCHEMA_ASCENDING);

static const struct schema_column path_functions_columns[] = {
    {POSITION("id")},
    {MEMBER(path_function, function), NAME_OR_NULL, KEY},
    {MEMBER(path_function, file), NAME_OR_NULL, KEY},
    {MEMBER(path_function, address), ADDRESS, KEY},
    {MEMBER(path_function, module), ID_OR_NONE(modules), KEY},
    {MEMBER(path_function, line), NUMBER32, KEY},
    {MEMBER(path_function, table_kind), BELOW(PROFILE_TABLES), KEY},
    {MEMBER(path_function, reason), BELOW(PROFILE_PATH_REASONS), KEY},
    {MEMBER(path_function, why), NAME_OR_NULL, KEY},
    {MEMBER(path_function, blocks), NUMBER32, KEY},
    {MEMBER(path_function, call_sites), NUMBER32, KEY},
    {MEMBER(path_function, inline_assembly), NUMBER32, KEY},
    {MEMBER(path_function, potential), NUMBER64, KEY},
    {MEMBER(path_function, potential_log2), WEIGHT, KEY},
};
TABLE(path_functions, path_function, "path_function", 4, .first = 1);

static const struct schema_column path_blocks_columns[] = {
    {POSITION("id")},
    {MEMBER(path_block, function), ID(path_functions), KEY},
    {MEMBER(path_block, block), NUMBER32, KEY},
    {MEMBER(path_block, address), ADDRESS, SAME},
    {MEMBER(path_block, instructions), NUMBER32, SAME},
    {MEMBER(path_block, loads), NUMBER32, SAME},
    {MEMBER(path_block, stores), NUMBER32, SAME},
    {MEMBER(path_block, first_line), RANGE(path_lines)},
    {MEMBER(path_block, lines), NUMBER32},
};
TABLE(path_blocks, path_block, "path_block", 4, .order = SCHEMA_ASCENDING);

static const struct schema_column path_lines_columns[] = {
    {POSITION("id")},
    {MEMBER(path_line, file), NAME_OR_NULL, KEY},
    {MEMBER(path_line, function), NAME_OR_NULL, KEY},
    {MEMBER(path_line, line), NUMBER32, KEY},
};
TABLE(path_lines, path_line, "path_line", 4, .merging = SCHEMA_PARTS, .owner = &schema_path_blocks);

static const struct schema_column paths_columns[] = {
    {POSITION("id")},
    {MEMBER(path, function), ID(path_functions), KEY},
    {MEMBER(path, flags), BELOW(PROFILE_PATH_FROM_CUT + PROFILE_PATH_TO_CUT + 1), SAME},
    {MEMBER(path, number), NUMBER64, KEY},
    {MEMBER(path, count), COUNT, SUM},
    {MEMBER(path, instructions), COUNT, SUM},
    {MEMBER(path, loads), COUNT, SUM},
    {MEMBER(path, stores), COUNT, SUM},
    {MEMBER(path, cycles), MEASURE, FOLDED},
    {MEMBER(path, measured), COUNT, SUM},
    {MEMBER(path, misses), MEASURE, SUM_KNOWN},
    {MEMBER(path, events), MEASURE, FOLDED},
    {MEMBER(path, first_step), RANGE(path_steps)},
    {MEMBER(path, steps), NUMBER32},
};
TABLE(paths, path, "path", 4, .order = SCHEMA_ASCENDING, .fold = merge_fold_path);

static const struct schema_column path_steps_columns[] = {
    {POSITION("id")},
    {MEMBER(path_step, block), ID(path_blocks), KEY},
};
TABLE(path_steps, path_step, "path_step", 4, .merging = SCHEMA_SAME_PARTS, .owner = &schema_paths);

static const struct schema_column vertices_columns[] = {
    {POSITION("id")},
    {MEMBER(vertex, parent), PARENT(vertices), KEY},
    {MEMBER(vertex, function), ID_OR_NONE(path_functions), KEY},
    {MEMBER(vertex, site), NUMBER32, KEY},
    {MEMBER(vertex, site_line), NUMBER32, LARGER},
    {MEMBER(vertex, count), COUNT, SUM},
    {MEMBER(vertex, bytes), COUNT, LARGER},
    {MEMBER(vertex, call_sites), COUNT, LARGER},
    {MEMBER(vertex, call_sites_used), COUNT, LARGER},
    {MEMBER(vertex, call_sites_one_path), COUNT, LARGER},
    {MEMBER(vertex, instructions), MEASURE, SUM_KNOWN},
    {MEMBER(vertex, cycles), MEASURE, FOLDED},
    {MEMBER(vertex, misses), MEASURE, SUM_KNOWN},
    {MEMBER(vertex, measured), COUNT, SUM},
};
TABLE(vertices, vertex, "vertex", 4, .first = 1, .merging = SCHEMA_TREE, .fold = merge_fold_vertex);

static const struct schema_column vertex_paths_columns[] = {
    {MEMBER(vertex_path, vertex), ID(vertices), KEY},
    {MEMBER(vertex_path, path), ID(paths), KEY},
    {MEMBER(vertex_path, count), COUNT, SUM},
};
TABLE(vertex_paths, vertex_path, "vertex_path", 4, .order = SCHEMA_ASCENDING);

static const struct schema_column path_runs_columns[] = {
    {POSITION("position")},
    {MEMBER(path_run, modes), BELOW(PROFILE_PATH_MODES + 1), SAME},
    {MEMBER(path_run, cache_bytes), COUNT, SAME},
    {MEMBER(path_run, cache_ways), NUMBER32, SAME},
    {MEMBER(path_run, cache_line), NUMBER32, SAME},
    {MEMBER(path_run, cycles_per_read), WEIGHT, LARGER},
    {MEMBER(path_run, cycles_per_ns), WEIGHT, LARGER},
    {MEMBER(path_run, lost_pieces), COUNT, SUM},
    {MEMBER(path_run, event), TEXT_OR_NULL, SAME},
};
TABLE(path_runs, path_run, "path_run", 4, .merging = SCHEMA_SINGLE, .most = 1);

static const struct schema_column span_functions_columns[] = {
    {POSITION("id")},
    {MEMBER(span_function, function), NAME, KEY},
    {MEMBER(span_function, file), NAME_OR_NULL, KEY},
    {MEMBER(span_function, line), NUMBER32, KEY},
    {MEMBER(span_function, module), ID_OR_NONE(modules), KEY},
    {MEMBER(span_function, address), ADDRESS, KEY},
    {MEMBER(span_function, class), BELOW(256), KEY},
    {MEMBER(span_function, entry), BELOW(256), SMALLER},
    {MEMBER(span_function, key), BELOW(256), KEY},
    {MEMBER(span_function, key_argument), NUMBER32, KEY},
    {MEMBER(span_function, every), NUMBER32, LARGER},
};
TABLE(span_functions, span_function, "block_function", 5, .first = 1);

static const struct schema_column span_threads_columns[] = {
    {POSITION("id")},
    {MEMBER(span_thread, process), PROCESS, KEY},
    {MEMBER(span_thread, tid), NUMBER32},
    {MEMBER(span_thread, name), TEXT_OR_NULL},
    {MEMBER(span_thread, owners), NUMBER32},
    {MEMBER(span_thread, highest_every), NUMBER32},
    {MEMBER(span_thread, duration_ns), WEIGHT},
    {MEMBER(span_thread, cost_ns), WEIGHT},
    {MEMBER(span_thread, preempted_ns), WEIGHT},
    {MEMBER(span_thread, asleep_ns), WEIGHT},
    {MEMBER(span_thread, preemptions), COUNT},
    {MEMBER(span_thread, sleeps), COUNT},
    {MEMBER(span_thread, events), COUNT},
    {MEMBER(span_thread, skipped), COUNT},
    {MEMBER(span_thread, unhooked), COUNT},
    {MEMBER(span_thread, switches_lost), COUNT},
};
TABLE(span_threads, span_thread, "block_thread", 5, .merging = SCHEMA_APART);

static const struct schema_column spans_columns[] = {
    {POSITION("id")},
    {MEMBER(span, function), ID_OR_NONE(span_functions), KEY},
    {MEMBER(span, flags), NUMBER32, KEY},
    {MEMBER(span, key), ADDRESS, KEY},
    {MEMBER(span, shape), ADDRESS, KEY},
    {MEMBER(span, max_ns), WEIGHT, LARGER},
    {MEMBER(span, first_ns), WEIGHT, SMALLER},
    {MEMBER(span, last_ns), WEIGHT, LARGER},
    {MEMBER(span, preemptions), COUNT, SUM},
    {MEMBER(span, sleeps), COUNT, SUM},
};
TABLE(spans, span, "block", 5);

static const struct schema_column span_parts_columns[] = {
    {POSITION("id")},
    {NAMED(span_part, span, "block"), ID(spans), KEY},
    {MEMBER(span_part, thread), ID(span_threads), KEY},
    {MEMBER(span_part, count), COUNT, SUM},
    {MEMBER(span_part, recorded), COUNT, SUM},
    {MEMBER(span_part, sum_ns), WEIGHT, SUM},
    {MEMBER(span_part, min_ns), WEIGHT, FOLDED},
    {MEMBER(span_part, within_ns), WEIGHT, SUM},
    {MEMBER(span_part, preempted_ns), WEIGHT, SUM},
    {MEMBER(span_part, asleep_ns), WEIGHT, SUM},
};
TABLE(span_parts, span_part, "block_part", 5, .order = SCHEMA_ASCENDING, .fold = merge_fold_part);

static const struct schema_column span_bins_columns[] = {
    {POSITION("id")},
    {NAMED(span_bin, span, "block"), ID(spans), KEY},
    {MEMBER(span_bin, low_ns), WEIGHT, KEY},
    {MEMBER(span_bin, high_ns), WEIGHT, KEY},
    {MEMBER(span_bin, count), COUNT, SUM},
};
TABLE(span_bins, span_bin, "block_bin", 5, .order = SCHEMA_GROUPED);

static const struct schema_column span_children_columns[] = {
    {POSITION("id")},
    {NAMED(span_child, span, "block"), ID(spans)},
    {MEMBER(span_child, function), ID(span_functions), KEY},
    {MEMBER(span_child, times), NUMBER32, KEY},
    {MEMBER(span_child, shape), ADDRESS, KEY},
};
TABLE(span_children, span_child, "block_child", 5, .merging = SCHEMA_PARTS, .owner = &schema_spans,
      .order = SCHEMA_GROUPED);

static const struct schema_column span_stacks_columns[] = {
    {POSITION("id")},
    {NAMED(span_stack, span, "block"), ID(spans), KEY},
    {MEMBER(span_stack, context), ID_OR_NONE(contexts), KEY},
    {MEMBER(span_stack, taken), COUNT, SUM},
    {MEMBER(span_stack, lost_ns), WEIGHT, SUM},
};
TABLE(span_stacks, span_stack, "block_stack", 5, .order = SCHEMA_GROUPED);

static const struct schema_column span_holders_columns[] = {
    {POSITION("id")},
    {NAMED(span_holder, span, "block"), ID(spans), KEY},
    {MEMBER(span_holder, context), ID_OR_NONE(contexts), KEY},
    {MEMBER(span_holder, times), COUNT, SUM},
    {MEMBER(span_holder, waited_ns), WEIGHT, SUM},
};
TABLE(span_holders, span_holder, "block_holder", 5, .order = SCHEMA_GROUPED);

static const struct schema_column span_samples_columns[] = {
    {POSITION("id")},
    {NAMED(span_sample, span, "block"), ID(spans), KEY},
    {MEMBER(span_sample, weight), NUMBER32, KEY},
    {MEMBER(span_sample, ns), WEIGHT, KEY},
    {MEMBER(span_sample, argument0), ADDRESS, KEY},
    {MEMBER(span_sample, argument1), ADDRESS, KEY},
    {MEMBER(span_sample, argument2), ADDRESS, KEY},
    {MEMBER(span_sample, result), ADDRESS, KEY},
};
TABLE(span_samples, span_sample, "block_sample", 5, .merging = SCHEMA_APART,
      .order = SCHEMA_GROUPED);

static const struct schema_column span_skips_columns[] = {
    {POSITION("position")},
    {MEMBER(span_skip, function), NAME, KEY},
    {MEMBER(span_skip, module), NAME_OR_NULL, KEY},
    {MEMBER(span_skip, why), NAME, KEY},
};
TABLE(span_skips, span_skip, "block_skip", 5);

static const struct schema_column span_runs_columns[] = {
    {POSITION("position")},
    {MEMBER(span_run, ns_per_tick), WEIGHT},
    {MEMBER(span_run, step_ns), WEIGHT, LARGER},
    {MEMBER(span_run, wall_ns), WEIGHT, LARGER},
    {MEMBER(span_run, stack_period), NUMBER32, LARGER},
    {MEMBER(span_run, switches), NUMBER32, SMALLER},
    {MEMBER(span_run, automatic), NUMBER32, LARGER},
    {MEMBER(span_run, lost_pieces), COUNT, SUM},
    {MEMBER(span_run, no_switches), COUNT, SUM},
    {MEMBER(span_run, no_areas), COUNT, SUM},
};
TABLE(span_runs, span_run, "block_run", 5, .merging = SCHEMA_SINGLE, .most = 1);

static const struct schema_column cpu_times_columns[] = {
    {MEMBER(cpu_time, module), ID_OR_NONE(modules), KEY},
    {MEMBER(cpu_time, kind), BELOW(PROFILE_CPU_KINDS), KEY},
    {MEMBER(cpu_time, ticks), COUNT, SUM},
    {MEMBER(cpu_time, ns), NUMBER64, SUM},
};
TABLE(cpu_times, cpu_time, "cpu_time", 8);

static const struct schema_column times_columns[] = {
    {MEMBER(time, context), ID_OR_NONE(contexts), KEY},
    {MEMBER(time, system), BELOW(2), KEY},
    {MEMBER(time, ticks), COUNT, SUM},
    {MEMBER(time, ns), NUMBER64, SUM},
};
TABLE(times, time, "time", 9, .order = SCHEMA_ASCENDING);

static const struct schema_column counted_columns[] = {
    {MEMBER(counted, kind), BELOW(PROFILE_REUSE), KEY},
    {MEMBER(counted, frame), ID(frames), KEY},
    {MEMBER(counted, waste_bytes), WEIGHT, SUM},
    {MEMBER(counted, use_bytes), WEIGHT, SUM},
};
TABLE(counted, counted, "counted", 10, .order = SCHEMA_ASCENDING);

static const struct schema_column waits_columns[] = {
    {POSITION("position")},
    {MEMBER(wait, function), NAME, KEY},
    {MEMBER(wait, caller), NAME_OR_NULL, KEY},
    {MEMBER(wait, file), NAME_OR_NULL, KEY},
    {MEMBER(wait, holder), NAME_OR_NULL, KEY},
    {MEMBER(wait, cause), NAME, KEY},
    {MEMBER(wait, line), NUMBER32, KEY},
    {MEMBER(wait, count), COUNT, SUM},
    {MEMBER(wait, lost_ns), WEIGHT, SUM},
    {MEMBER(wait, working_ns), WEIGHT, SUM},
};
TABLE(waits, wait, "wait", 10);

static const struct schema_column shared_runs_columns[] = {
    {MEMBER(shared_run, process), PROCESS, KEY},  {MEMBER(shared_run, threads), NUMBER32},
    {MEMBER(shared_run, exhausted), BELOW(2)},    {MEMBER(shared_run, instructions), COUNT},
    {MEMBER(shared_run, true_transfers), WEIGHT}, {MEMBER(shared_run, false_transfers), WEIGHT},
    {MEMBER(shared_run, unlisted), WEIGHT},       {MEMBER(shared_run, evicted), COUNT},
    {MEMBER(shared_run, coarsened), COUNT},       {MEMBER(shared_run, early), COUNT},
    {MEMBER(shared_run, merged), COUNT},
};
TABLE(shared_runs, shared_run, "shared_run", 10, .merging = SCHEMA_APART,
      .order = SCHEMA_ASCENDING);

static const struct schema_column shared_lines_columns[] = {
    {POSITION("id")},
    {MEMBER(shared_line, object), BELOW(PROFILE_OBJECTS), KEY},
    {MEMBER(shared_line, name), NAME_OR_NULL, KEY},
    {MEMBER(shared_line, context), ID_OR_NONE(contexts), KEY},
    {MEMBER(shared_line, thread), NUMBER32, KEY},
    {MEMBER(shared_line, size), COUNT, KEY},
    {MEMBER(shared_line, offset), ADDRESS, KEY},
    {MEMBER(shared_line, address), ADDRESS, SMALLER},
    {MEMBER(shared_line, parts), TEXT_OR_NULL, SMALLER},
    {MEMBER(shared_line, true_transfers), WEIGHT, SUM},
    {MEMBER(shared_line, false_transfers), WEIGHT, SUM},
};
TABLE(shared_lines, shared_line, "shared_line", 10);

static const struct schema_column shared_pairs_columns[] = {
    {MEMBER(shared_pair, line), ID(shared_lines), KEY},
    {MEMBER(shared_pair, first), ID_OR_NONE(contexts), KEY},
    {MEMBER(shared_pair, second), ID_OR_NONE(contexts), KEY},
    {MEMBER(shared_pair, first_kind), BELOW(4), KEY},
    {MEMBER(shared_pair, second_kind), BELOW(4), KEY},
    {MEMBER(shared_pair, is_true), BELOW(2), KEY},
    {MEMBER(shared_pair, first_mask), ADDRESS, UNION},
    {MEMBER(shared_pair, second_mask), ADDRESS, UNION},
    {MEMBER(shared_pair, transfers), WEIGHT, SUM},
};
TABLE(shared_pairs, shared_pair, "shared_pair", 10);

static const struct schema_column shared_users_columns[] = {
    {MEMBER(shared_user, line), ID(shared_lines), KEY},
    {MEMBER(shared_user, thread), NUMBER32, KEY},
    {MEMBER(shared_user, read_mask), ADDRESS, UNION},
    {MEMBER(shared_user, write_mask), ADDRESS, UNION},
    {MEMBER(shared_user, reads), COUNT, SUM},
    {MEMBER(shared_user, writes), COUNT, SUM},
};
TABLE(shared_users, shared_user, "shared_user", 10);

static const struct schema_column shared_moves_columns[] = {
    {MEMBER(shared_move, from_thread), BELOW(64), KEY},
    {MEMBER(shared_move, to_thread), BELOW(64), KEY},
    {MEMBER(shared_move, transfers), WEIGHT, SUM},
};
TABLE(shared_moves, shared_move, "shared_move", 10);

static const struct schema_column shared_fields_columns[] = {
    {POSITION("position")},
    {MEMBER(shared_field, line), ID(shared_lines), KEY},
    {MEMBER(shared_field, byte), BELOW(64), KEY},
    {MEMBER(shared_field, bytes), BELOW(65), KEY},
    {MEMBER(shared_field, bit), BELOW(8), KEY},
    {MEMBER(shared_field, bits), BELOW(65), KEY},
    {MEMBER(shared_field, flags), BELOW(PROFILE_FIELD_FLAGS), KEY},
    {MEMBER(shared_field, path), NAME, KEY},
    {MEMBER(shared_field, type), NAME_OR_NULL, KEY},
    {MEMBER(shared_field, owner), NAME_OR_NULL, KEY},
    {MEMBER(shared_field, element), NAME_OR_NULL, KEY},
    {MEMBER(shared_field, element_bytes), COUNT, KEY},
};
TABLE(shared_fields, shared_field, "shared_field", 12);

static const struct schema_column missed_columns[] = {
    {MEMBER(missed, frame), ID(frames), KEY}, {MEMBER(missed, bytes), COUNT, KEY},
    {MEMBER(missed, accesses), WEIGHT, SUM},  {MEMBER(missed, followed), COUNT, SUM},
    {MEMBER(missed, missing), WEIGHT, SUM},   {MEMBER(missed, in_order), WEIGHT, SUM},
    {MEMBER(missed, whole), WEIGHT, SUM},
};
TABLE(missed, missed, "missed", 12, .order = SCHEMA_ASCENDING);

static const struct schema_column transfers_columns[] = {
    {POSITION("position")},
    {MEMBER(transfer, first), ID(contexts), KEY},
    {MEMBER(transfer, second), ID(contexts), KEY},
    {MEMBER(transfer, object), NAME, KEY},
    {MEMBER(transfer, cause), NAME, KEY},
    {MEMBER(transfer, kind), BELOW(PROFILE_OBJECTS), KEY, .since = 13},
    {MEMBER(transfer, size), COUNT, KEY, .since = 13},
    {MEMBER(transfer, transfers), WEIGHT, SUM},
    {MEMBER(transfer, whole), WEIGHT, SUM},
    {MEMBER(transfer, instructions), WEIGHT, SUM},
};
TABLE(transfers, transfer, "transfer", 12);

static const struct schema_column memories_columns[] = {
    {POSITION("id")},
    {MEMBER(memory, object), BELOW(PROFILE_OBJECTS), KEY},
    {MEMBER(memory, name), NAME_OR_NULL, KEY},
    {MEMBER(memory, type), NAME_OR_NULL, KEY},
    {MEMBER(memory, module), ID_OR_NONE(modules), KEY},
    {MEMBER(memory, context), ID_OR_NONE(contexts), KEY},
    {MEMBER(memory, other), BELOW(2), KEY},
    {MEMBER(memory, size), COUNT, KEY},
};
TABLE(memories, memory, "memory", 12);

static const struct schema_column located_columns[] = {
    {MEMBER(located, kind), BELOW(PROFILE_KINDS), KEY},
    {MEMBER(located, first), ID_OR_NONE(contexts), KEY},
    {MEMBER(located, second), ID_OR_NONE(contexts), KEY},
    {MEMBER(located, memory), ID(memories), KEY},
    {MEMBER(located, low), NUMBER64, SMALLER},
    {MEMBER(located, high), NUMBER64, LARGER},
    {MEMBER(located, field), TEXT_OR_NULL, AGREED},
    {MEMBER(located, member), TEXT_OR_NULL, AGREED},
    {MEMBER(located, seen), COUNT, SUM},
    {MEMBER(located, weight), WEIGHT, SUM},
};
TABLE(located, located, "located", 12, .order = SCHEMA_ASCENDING);

static const struct schema_column shared_watches_columns[] = {
    {MEMBER(shared_watch, process), PROCESS, KEY},
    {MEMBER(shared_watch, samples), COUNT},
    {MEMBER(shared_watch, armed), COUNT},
    {MEMBER(shared_watch, met), COUNT},
    {MEMBER(shared_watch, reads), COUNT},
    {MEMBER(shared_watch, late), COUNT},
    {MEMBER(shared_watch, waited), COUNT},
    {MEMBER(shared_watch, reused), COUNT},
    {MEMBER(shared_watch, unknown), COUNT},
    {MEMBER(shared_watch, cross_process), COUNT, .since = 13},
    {MEMBER(shared_watch, spun), COUNT, .since = 18},
};
TABLE(shared_watches, shared_watch, "shared_watch", 12, .merging = SCHEMA_APART,
      .order = SCHEMA_ASCENDING);

static const struct schema_column shared_seens_columns[] = {
    {MEMBER(shared_seen, line), ID(shared_lines), KEY},
    {MEMBER(shared_seen, samples), COUNT, SUM},
    {MEMBER(shared_seen, cpu_ns), WEIGHT, SUM},
    {MEMBER(shared_seen, true_traps), COUNT, SUM},
    {MEMBER(shared_seen, false_traps), COUNT, SUM},
    {MEMBER(shared_seen, true_squares), WEIGHT, SUM},
    {MEMBER(shared_seen, false_squares), WEIGHT, SUM},
};
TABLE(shared_seens, shared_seen, "shared_seen", 12);

static const struct schema_column shared_gaps_columns[] = {
    {MEMBER(shared_gap, line), ID(shared_lines), KEY},
    {MEMBER(shared_gap, low_ns), COUNT, KEY},
    {MEMBER(shared_gap, traps), COUNT, SUM},
};
TABLE(shared_gaps, shared_gap, "shared_gap", 12);

static const struct schema_column limit_runs_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_run, machine), TEXT, SAME},
    {MEMBER(limit_run, title), TEXT, SAME},
    {MEMBER(limit_run, measured), BELOW(2), SAME},
    {MEMBER(limit_run, width), NUMBER32, SMALLER},
    {MEMBER(limit_run, other), COUNT, LARGER},
    {MEMBER(limit_run, cycle_ns), WEIGHT, LARGER},
    {MEMBER(limit_run, cycle_spread), WEIGHT, LARGER},
    {MEMBER(limit_run, outside), PART, LARGER, .since = 17},
};
TABLE(limit_runs, limit_run, "limit_run", 13, .most = 1, .merging = SCHEMA_SINGLE);

static const struct schema_column limit_loops_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_loop, function), NAME_OR_NULL, KEY},
    {MEMBER(limit_loop, file), NAME_OR_NULL, KEY},
    {MEMBER(limit_loop, line), NUMBER32, KEY},
    {MEMBER(limit_loop, module), NAME_OR_NULL, KEY},
    {MEMBER(limit_loop, level), NAME_OR_NULL, KEY},
    {MEMBER(limit_loop, address), ADDRESS, KEY},
    {MEMBER(limit_loop, ways), NUMBER32, LARGER},
    {MEMBER(limit_loop, calls), NUMBER32, LARGER},
    {MEMBER(limit_loop, unknown), NUMBER32, LARGER},
    {NAMED(limit_loop, limit, "limited_by"), BELOW(3), SMALLER},
    {NAMED(limit_loop, next, "next_limit"), BELOW(3), SMALLER},
    {MEMBER(limit_loop, resource), WEIGHT, SMALLER},
    {MEMBER(limit_loop, recurrence), WEIGHT, SMALLER},
    {MEMBER(limit_loop, frontend), WEIGHT, SMALLER},
    {MEMBER(limit_loop, slots), WEIGHT, SMALLER},
    {MEMBER(limit_loop, branch), WEIGHT, SMALLER},
    {MEMBER(limit_loop, recurrence_most), WEIGHT, LARGER},
    {MEMBER(limit_loop, aliased), WEIGHT, LARGER},
    {MEMBER(limit_loop, certified), WEIGHT, SMALLER},
    {MEMBER(limit_loop, predicted), WEIGHT, LARGER},
    {MEMBER(limit_loop, circuit_latency), WEIGHT, LARGER},
    {MEMBER(limit_loop, circuit_distance), NUMBER32, LARGER},
    {MEMBER(limit_loop, measured), MEASURE, LARGER},
    {MEMBER(limit_loop, share), MEASURE, LARGER},
    {MEMBER(limit_loop, iterations), COUNT, LARGER},
    {MEMBER(limit_loop, circuit_used), BELOW(2), LARGER, .since = 14},
};
TABLE(limit_loops, limit_loop, "limit_loop", 13);

static const struct schema_column limit_instructions_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_instruction, loop), ID(limit_loops)},
    {MEMBER(limit_instruction, address), ADDRESS, KEY},
    {MEMBER(limit_instruction, text), NAME, KEY},
    {MEMBER(limit_instruction, file), NAME_OR_NULL, KEY},
    {MEMBER(limit_instruction, line), NUMBER32, KEY},
    {MEMBER(limit_instruction, category), BELOW(7), KEY},
    {MEMBER(limit_instruction, pressure), WEIGHT, KEY},
};
TABLE(limit_instructions, limit_instruction, "limit_instruction", 13, .merging = SCHEMA_PARTS,
      .owner = &schema_limit_loops, .order = SCHEMA_GROUPED);

static const struct schema_column limit_resources_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_resource, loop), ID(limit_loops)},
    {MEMBER(limit_resource, name), NAME, KEY},
    {MEMBER(limit_resource, bottleneck), BELOW(2), KEY},
    {MEMBER(limit_resource, copies), WEIGHT, KEY},
    {MEMBER(limit_resource, cycles), WEIGHT, KEY},
};
TABLE(limit_resources, limit_resource, "limit_resource", 13, .merging = SCHEMA_PARTS,
      .owner = &schema_limit_loops, .order = SCHEMA_GROUPED);

static const struct schema_column limit_arcs_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_arc, loop), ID(limit_loops)},
    {NAMED(limit_arc, from, "source"), NUMBER32, KEY},
    {NAMED(limit_arc, to, "target"), NUMBER32, KEY},
    {MEMBER(limit_arc, from_kind), BELOW(3), KEY},
    {MEMBER(limit_arc, to_kind), BELOW(3), KEY},
    {MEMBER(limit_arc, distance), NUMBER32, KEY},
    {MEMBER(limit_arc, memory), BELOW(2), KEY},
    {MEMBER(limit_arc, latency), FINITE, KEY},
};
TABLE(limit_arcs, limit_arc, "limit_arc", 13, .merging = SCHEMA_PARTS, .owner = &schema_limit_loops,
      .order = SCHEMA_GROUPED);

static const struct schema_column executed_windows_columns[] = {
    {POSITION("id")},
    {MEMBER(executed_window, module), NAME, KEY},
    {MEMBER(executed_window, address), ADDRESS, KEY},
    {MEMBER(executed_window, process), NUMBER32, KEY},
    {MEMBER(executed_window, number), NUMBER32, KEY},
    {MEMBER(executed_window, thread), NUMBER32, LARGER},
    {MEMBER(executed_window, caches), BELOW(16), LARGER},
    {MEMBER(executed_window, execution), COUNT, LARGER},
    {MEMBER(executed_window, executions), COUNT, LARGER},
};
TABLE(executed_windows, executed_window, "executed_window", 14);

static const struct schema_column executed_codes_columns[] = {
    {POSITION("id")},
    {MEMBER(executed_code, window), ID(executed_windows)},
    {MEMBER(executed_code, module), NAME_OR_NULL, KEY},
    {MEMBER(executed_code, address), ADDRESS, KEY},
    {MEMBER(executed_code, bytes), NAME, KEY},
};
TABLE(executed_codes, executed_code, "executed_code", 14, .merging = SCHEMA_PARTS,
      .owner = &schema_executed_windows, .order = SCHEMA_GROUPED);

static const struct schema_column executed_runs_columns[] = {
    {POSITION("id")},
    {MEMBER(executed_run, window), ID(executed_windows)},
    {MEMBER(executed_run, first), NUMBER32, KEY},
    {MEMBER(executed_run, count), NUMBER32, KEY},
};
TABLE(executed_runs, executed_run, "executed_run", 14, .merging = SCHEMA_PARTS,
      .owner = &schema_executed_windows, .order = SCHEMA_GROUPED);

static const struct schema_column executed_accesses_columns[] = {
    {POSITION("id")},
    {MEMBER(executed_access, window), ID(executed_windows)},
    {MEMBER(executed_access, step), NUMBER32, KEY},
    {MEMBER(executed_access, address), ADDRESS, KEY},
    {MEMBER(executed_access, bytes), BELOW(65536), KEY},
    {MEMBER(executed_access, store), BELOW(2), KEY},
    {MEMBER(executed_access, level), BELOW(16), KEY},
};
TABLE(executed_accesses, executed_access, "executed_access", 14, .merging = SCHEMA_PARTS,
      .owner = &schema_executed_windows, .order = SCHEMA_GROUPED);

static const struct schema_column executed_distances_columns[] = {
    {POSITION("id")},
    {MEMBER(executed_distance, module), NAME, KEY},
    {MEMBER(executed_distance, address), ADDRESS, KEY},
    {MEMBER(executed_distance, bin), BELOW(256), KEY},
    {MEMBER(executed_distance, weight), WEIGHT, SUM},
};
TABLE(executed_distances, executed_distance, "executed_distance", 14);

static const struct schema_column limit_schedules_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_schedule, loop), ID(limit_loops)},
    {MEMBER(limit_schedule, memory), BELOW(4), KEY},
    {MEMBER(limit_schedule, windows), NUMBER32, KEY},
    {MEMBER(limit_schedule, iterations), COUNT, KEY},
    {MEMBER(limit_schedule, instructions), COUNT, KEY},
    {MEMBER(limit_schedule, inside), COUNT, KEY},
    {MEMBER(limit_schedule, loads), COUNT, KEY},
    {MEMBER(limit_schedule, misses), COUNT, KEY},
    {MEMBER(limit_schedule, data_flow), WEIGHT, KEY},
    {MEMBER(limit_schedule, units), WEIGHT, KEY},
    {MEMBER(limit_schedule, machine), MEASURE, KEY},
};
TABLE(limit_schedules, limit_schedule, "limit_schedule", 14, .merging = SCHEMA_PARTS,
      .owner = &schema_limit_loops, .order = SCHEMA_GROUPED);

static const struct schema_column limit_uses_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_use, loop), ID(limit_loops)},
    {MEMBER(limit_use, name), NAME, KEY},
    {MEMBER(limit_use, cycles), WEIGHT, KEY},
    {MEMBER(limit_use, ratio), WEIGHT, KEY},
};
TABLE(limit_uses, limit_use, "limit_use", 14, .merging = SCHEMA_PARTS, .owner = &schema_limit_loops,
      .order = SCHEMA_GROUPED);

static const struct schema_column limit_operations_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_operation, loop), ID(limit_loops)},
    {MEMBER(limit_operation, iteration), NUMBER32, KEY},
    {MEMBER(limit_operation, kind), BELOW(3), KEY},
    {MEMBER(limit_operation, unit), NAME_OR_NULL, KEY},
    {MEMBER(limit_operation, text), NAME, KEY},
    {MEMBER(limit_operation, file), NAME_OR_NULL, KEY},
    {MEMBER(limit_operation, line), NUMBER32, KEY},
    {NAMED(limit_operation, start, "begins"), WEIGHT, KEY},
    {NAMED(limit_operation, end, "ends"), WEIGHT, KEY},
};
TABLE(limit_operations, limit_operation, "limit_operation", 14, .merging = SCHEMA_PARTS,
      .owner = &schema_limit_loops, .order = SCHEMA_GROUPED);

static const struct schema_column limit_sources_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_source, function), NAME_OR_NULL, KEY},
    {MEMBER(limit_source, file), NAME_OR_NULL, KEY},
    {MEMBER(limit_source, line), NUMBER32, KEY},
    {MEMBER(limit_source, reason), NAME_OR_NULL, KEY},
    {MEMBER(limit_source, circuit_latency), WEIGHT, LARGER},
    {MEMBER(limit_source, circuit_distance), NUMBER32, LARGER},
    {MEMBER(limit_source, left_out), NUMBER32, LARGER},
};
TABLE(limit_sources, limit_source, "limit_source", 14);

static const struct schema_column limit_dependences_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_dependence, source), ID(limit_sources)},
    {MEMBER(limit_dependence, kind), BELOW(3), KEY},
    {MEMBER(limit_dependence, from_text), NAME, KEY},
    {MEMBER(limit_dependence, to_text), NAME, KEY},
    {MEMBER(limit_dependence, from_line), NUMBER32, KEY},
    {MEMBER(limit_dependence, from_column), NUMBER32, KEY},
    {MEMBER(limit_dependence, to_line), NUMBER32, KEY},
    {MEMBER(limit_dependence, to_column), NUMBER32, KEY},
    {MEMBER(limit_dependence, vector), NAME_OR_NULL, KEY},
    {MEMBER(limit_dependence, inner), BELOW(2), KEY},
    {MEMBER(limit_dependence, distance), NUMBER32, KEY},
};
TABLE(limit_dependences, limit_dependence, "limit_dependence", 14, .merging = SCHEMA_PARTS,
      .owner = &schema_limit_sources, .order = SCHEMA_GROUPED);

static const struct schema_column limit_steps_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_step, source), ID(limit_sources)},
    {MEMBER(limit_step, from_text), NAME, KEY},
    {MEMBER(limit_step, to_text), NAME, KEY},
    {MEMBER(limit_step, from_line), NUMBER32, KEY},
    {MEMBER(limit_step, to_line), NUMBER32, KEY},
    {MEMBER(limit_step, from_kind), BELOW(3), KEY},
    {MEMBER(limit_step, to_kind), BELOW(3), KEY},
    {MEMBER(limit_step, distance), NUMBER32, KEY},
    {MEMBER(limit_step, latency), WEIGHT, KEY},
};
TABLE(limit_steps, limit_step, "limit_step", 14, .merging = SCHEMA_PARTS,
      .owner = &schema_limit_sources, .order = SCHEMA_GROUPED);

static const struct schema_column limit_matches_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_match, loop), ID(limit_loops)},
    {MEMBER(limit_match, function), NAME_OR_NULL, KEY},
    {MEMBER(limit_match, line), NUMBER32, KEY},
    {MEMBER(limit_match, iterations), NUMBER32, KEY},
    {MEMBER(limit_match, counters), NUMBER32, KEY},
};
TABLE(limit_matches, limit_match, "limit_match", 14, .merging = SCHEMA_PARTS,
      .owner = &schema_limit_loops, .order = SCHEMA_GROUPED);

static const struct schema_column limit_fates_columns[] = {
    {POSITION("id")},
    {MEMBER(limit_fate, loop), ID(limit_loops)},
    {MEMBER(limit_fate, kind), BELOW(3), KEY},
    {MEMBER(limit_fate, fate), BELOW(4), KEY},
    {MEMBER(limit_fate, from_text), NAME, KEY},
    {MEMBER(limit_fate, to_text), NAME, KEY},
    {MEMBER(limit_fate, from_line), NUMBER32, KEY},
    {MEMBER(limit_fate, to_line), NUMBER32, KEY},
    {MEMBER(limit_fate, distance), NUMBER32, KEY},
    {MEMBER(limit_fate, scalar), BELOW(2), KEY},
    {MEMBER(limit_fate, may), BELOW(2), KEY},
};
TABLE(limit_fates, limit_fate, "limit_fate", 14, .merging = SCHEMA_PARTS,
      .owner = &schema_limit_loops, .order = SCHEMA_GROUPED);

static const struct schema_column stat_sessions_columns[] = {
    {POSITION("id")},
    {MEMBER(stat_session, start_ns), NUMBER64, KEY},
    {MEMBER(stat_session, seed), NUMBER64, KEY},
    {MEMBER(stat_session, rounds), NUMBER32},
    {MEMBER(stat_session, processors), NUMBER32},
    {MEMBER(stat_session, cycle_ns), WEIGHT},
    {MEMBER(stat_session, cycle_spread), WEIGHT},
    {MEMBER(stat_session, tick_ns), WEIGHT},
    {MEMBER(stat_session, load), WEIGHT},
};
TABLE(stat_sessions, stat_session, "stat_session", 14, .merging = SCHEMA_APART);

static const struct schema_column stat_subjects_columns[] = {
    {POSITION("id")},
    {MEMBER(stat_subject, number), NUMBER32, KEY},
    {MEMBER(stat_subject, command), TEXT, KEY},
    {MEMBER(stat_subject, level), NAME_OR_NULL, KEY},
    {MEMBER(stat_subject, program), TEXT_OR_NULL, SMALLER},
    {MEMBER(stat_subject, content), ADDRESS, KEY},
};
TABLE(stat_subjects, stat_subject, "stat_subject", 14);

static const struct schema_column stat_regions_columns[] = {
    {POSITION("id")},
    {MEMBER(stat_region, kind), BELOW(PROFILE_STAT_KINDS), KEY},
    {MEMBER(stat_region, name), NAME, KEY},
};
TABLE(stat_regions, stat_region, "stat_region", 14);

static const struct schema_column stat_runs_columns[] = {
    {POSITION("id")},
    {MEMBER(stat_run, session), ID(stat_sessions), KEY},
    {MEMBER(stat_run, position), NUMBER32, KEY},
    {MEMBER(stat_run, subject), ID(stat_subjects)},
    {MEMBER(stat_run, round), NUMBER32},
    {MEMBER(stat_run, warm), BELOW(2)},
    {MEMBER(stat_run, timed), BELOW(2)},
    {MEMBER(stat_run, wall_ns), NUMBER64},
    {MEMBER(stat_run, user_ns), NUMBER64},
    {MEMBER(stat_run, system_ns), NUMBER64},
    {MEMBER(stat_run, minor_faults), NUMBER64},
    {MEMBER(stat_run, major_faults), NUMBER64},
    {MEMBER(stat_run, voluntary), NUMBER64},
    {MEMBER(stat_run, involuntary), NUMBER64},
    {MEMBER(stat_run, peak_bytes), NUMBER64},
};
TABLE(stat_runs, stat_run, "stat_run", 14, .merging = SCHEMA_APART);

static const struct schema_column stat_visits_columns[] = {
    {POSITION("id")},
    {MEMBER(stat_visit, run), ID(stat_runs), KEY},
    {MEMBER(stat_visit, region), ID(stat_regions), KEY},
    {MEMBER(stat_visit, visits), COUNT},
    {MEMBER(stat_visit, recorded), COUNT},
    {MEMBER(stat_visit, sum_ns), WEIGHT},
    {MEMBER(stat_visit, min_ns), WEIGHT},
    {MEMBER(stat_visit, max_ns), WEIGHT},
    {MEMBER(stat_visit, preempted_ns), WEIGHT},
    {MEMBER(stat_visit, asleep_ns), WEIGHT},
    {MEMBER(stat_visit, preemptions), COUNT},
    {MEMBER(stat_visit, sleeps), COUNT},
    {MEMBER(stat_visit, cost_ns), WEIGHT},
};
TABLE(stat_visits, stat_visit, "stat_visit", 14, .merging = SCHEMA_APART);

static const struct schema_column stat_trips_columns[] = {
    {POSITION("id")},
    {MEMBER(stat_trip, subject), ID(stat_subjects), KEY},
    {MEMBER(stat_trip, region), ID(stat_regions), KEY},
    {MEMBER(stat_trip, visits), COUNT, LARGER},
    {MEMBER(stat_trip, iterations), COUNT, LARGER},
};
TABLE(stat_trips, stat_trip, "stat_trip", 14);

static const struct schema_column stat_events_columns[] = {
    {POSITION("id")},
    {MEMBER(stat_event, run), ID(stat_runs), KEY},
    {MEMBER(stat_event, name), NAME, KEY},
    {MEMBER(stat_event, value), NUMBER64},
    {MEMBER(stat_event, share), WEIGHT},
};
TABLE(stat_events, stat_event, "stat_event", 14, .merging = SCHEMA_APART);

static const struct schema_column stat_skips_columns[] = {
    {POSITION("position")},
    {MEMBER(stat_skip, subject), ID(stat_subjects), KEY},
    {MEMBER(stat_skip, region), ID(stat_regions), KEY},
    {MEMBER(stat_skip, why), NAME, KEY},
};
TABLE(stat_skips, stat_skip, "stat_skip", 14);
static const struct schema_column map_runs_columns[] = {
    {POSITION("id")},
    {MEMBER(map_run, module), TEXT, SAME},
    {MEMBER(map_run, asked), TEXT_OR_NULL, SAME},
    {MEMBER(map_run, producer), TEXT_OR_NULL, AGREED},
    {MEMBER(map_run, file), TEXT_OR_NULL, SAME},
    {MEMBER(map_run, measure), TEXT_OR_NULL, AGREED},
    {MEMBER(map_run, kind), BELOW(PROFILE_MAP_ASKED), SAME},
    {MEMBER(map_run, line), NUMBER32, SMALLER},
    {MEMBER(map_run, absence), BELOW(PROFILE_MAP_ABSENCES), SMALLER},
    {MEMBER(map_run, previous), NUMBER32, SMALLER},
    {MEMBER(map_run, next), NUMBER32, SMALLER},
    {MEMBER(map_run, shown), NUMBER32, SMALLER},
    {MEMBER(map_run, address), ADDRESS, SMALLER},
    {MEMBER(map_run, ranges), COUNT, LARGER},
    {MEMBER(map_run, variables), COUNT, LARGER},
    {MEMBER(map_run, unknown), COUNT, LARGER},
    {MEMBER(map_run, scope_bytes), COUNT, LARGER},
    {MEMBER(map_run, known_bytes), COUNT, LARGER},
    {MEMBER(map_run, functions), COUNT, LARGER},
    {MEMBER(map_run, assignments), COUNT, LARGER},
    {MEMBER(map_run, sources), COUNT, LARGER},
    {MEMBER(map_run, missing), COUNT, LARGER},
};
TABLE(map_runs, map_run, "map_run", 14, .most = 1, .merging = SCHEMA_SINGLE);

static const struct schema_column map_ranges_columns[] = {
    {POSITION("id")},
    {MEMBER(map_range, start), ADDRESS, KEY},
    {NAMED(map_range, end, "stop"), ADDRESS, KEY},
    {MEMBER(map_range, file), NAME_OR_NULL, KEY},
    {MEMBER(map_range, function), NAME_OR_NULL, KEY},
    {MEMBER(map_range, chain), NAME_OR_NULL, KEY},
    {MEMBER(map_range, line), NUMBER32, KEY},
    {NAMED(map_range, column, "source_column"), NUMBER32, KEY},
    {MEMBER(map_range, discriminator), NUMBER32, KEY},
    {NAMED(map_range, view, "view_number"), NUMBER32, KEY},
    {MEMBER(map_range, statement), BELOW(2), KEY},
    {MEMBER(map_range, depth), NUMBER32, LARGER},
    {MEMBER(map_range, copy), BELOW(PROFILE_MAP_COPIES), LARGER},
    {MEMBER(map_range, heat), MEASURE, LARGER},
};
TABLE(map_ranges, map_range, "map_range", 14);

static const struct schema_column map_instructions_columns[] = {
    {POSITION("id")},
    {MEMBER(map_instruction, address), ADDRESS, KEY},
    {MEMBER(map_instruction, text), NAME, KEY},
    {MEMBER(map_instruction, file), NAME_OR_NULL, KEY},
    {MEMBER(map_instruction, line), NUMBER32, KEY},
    {MEMBER(map_instruction, heat), MEASURE, LARGER},
};
TABLE(map_instructions, map_instruction, "map_instruction", 14);

static const struct schema_column map_variables_columns[] = {
    {POSITION("id")},
    {MEMBER(map_variable, name), NAME_OR_NULL, KEY},
    {MEMBER(map_variable, type), NAME_OR_NULL, KEY},
    {MEMBER(map_variable, function), NAME_OR_NULL, KEY},
    {NAMED(map_variable, where, "place"), NAME, KEY},
    {MEMBER(map_variable, reason), NAME_OR_NULL, KEY},
    {MEMBER(map_variable, declared), NUMBER32, KEY},
    {MEMBER(map_variable, residence), BELOW(PROFILE_MAP_RESIDENCES), KEY},
    {MEMBER(map_variable, class), BELOW(PROFILE_MAP_CLASSES), LARGER},
    {MEMBER(map_variable, assigned), NUMBER32, LARGER},
    {MEMBER(map_variable, shadowed), BELOW(2), LARGER},
};
TABLE(map_variables, map_variable, "map_variable", 14);

static const struct schema_column map_classes_columns[] = {
    {MEMBER(map_class, residence), BELOW(PROFILE_MAP_RESIDENCES), KEY},
    {MEMBER(map_class, bytes), COUNT, LARGER},
};
TABLE(map_classes, map_class, "map_class", 14);

static const struct schema_column map_findings_columns[] = {
    {POSITION("id")},
    {MEMBER(map_finding, function), NAME_OR_NULL, KEY},
    {MEMBER(map_finding, variable), NAME, KEY},
    {MEMBER(map_finding, file), NAME_OR_NULL, KEY},
    {MEMBER(map_finding, line), NUMBER32, KEY},
    {MEMBER(map_finding, class), BELOW(PROFILE_MAP_CLASSES), KEY},
    {MEMBER(map_finding, early), BELOW(2), KEY},
    {MEMBER(map_finding, address), ADDRESS, KEY},
};
TABLE(map_findings, map_finding, "map_finding", 14);

static const struct schema_column map_stops_columns[] = {
    {POSITION("id")},
    {MEMBER(map_stop, finding), ID(map_findings)},
    {MEMBER(map_stop, address), ADDRESS, KEY},
    {MEMBER(map_stop, file), NAME_OR_NULL, KEY},
    {MEMBER(map_stop, line), NUMBER32, KEY},
};
TABLE(map_stops, map_stop, "map_stop", 14, .merging = SCHEMA_PARTS, .owner = &schema_map_findings,
      .order = SCHEMA_GROUPED);

static const struct schema_column locality_runs_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_run, path), TEXT, SAME},
    {MEMBER(locality_run, placed), TEXT, SAME},
    {MEMBER(locality_run, swept), TEXT_OR_NULL, SAME},
};
TABLE(locality_runs, locality_run, "locality_run", 15, .most = 1, .merging = SCHEMA_SINGLE);

static const struct schema_column locality_levels_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_level, name), NAME, KEY},
    {MEMBER(locality_level, bytes), COUNT, KEY},
    {MEMBER(locality_level, ways), NUMBER32, KEY},
    {MEMBER(locality_level, line_bytes), NUMBER32, KEY},
};
TABLE(locality_levels, locality_level, "locality_level", 15, .merging = SCHEMA_APART);

static const struct schema_column locality_nests_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_nest, function), NAME_OR_NULL, KEY},
    {MEMBER(locality_nest, file), NAME_OR_NULL, KEY},
    {MEMBER(locality_nest, unverified), NAME_OR_NULL},
    {MEMBER(locality_nest, line), NUMBER32, KEY},
    {MEMBER(locality_nest, accesses), NUMBER64},
    {MEMBER(locality_nest, exact), BELOW(2)},
    {MEMBER(locality_nest, late), BELOW(2)},
    {MEMBER(locality_nest, suggested), BELOW(2)},
    {MEMBER(locality_nest, suggested_late), BELOW(2)},
    {MEMBER(locality_nest, tried), COUNT},
    {MEMBER(locality_nest, illegal), COUNT},
};
TABLE(locality_nests, locality_nest, "locality_nest", 15, .merging = SCHEMA_APART);

static const struct schema_column locality_arrays_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_array, nest), ID(locality_nests)},
    {MEMBER(locality_array, name), NAME},
    {MEMBER(locality_array, address), ADDRESS},
    {MEMBER(locality_array, size_bytes), NUMBER64},
};
TABLE(locality_arrays, locality_array, "locality_array", 15, .merging = SCHEMA_PARTS,
      .owner = &schema_locality_nests, .order = SCHEMA_GROUPED);

static const struct schema_column locality_references_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_reference, nest), ID(locality_nests)},
    {MEMBER(locality_reference, array), ID(locality_arrays)},
    {MEMBER(locality_reference, text), NAME},
    {MEMBER(locality_reference, file), NAME_OR_NULL},
    {MEMBER(locality_reference, source), NAME_OR_NULL},
    {MEMBER(locality_reference, line), NUMBER32},
    {NAMED(locality_reference, column, "source_column"), NUMBER32},
    {MEMBER(locality_reference, store), BELOW(2)},
    {MEMBER(locality_reference, conditional), BELOW(2)},
    {MEMBER(locality_reference, accesses), NUMBER64},
};
TABLE(locality_references, locality_reference, "locality_reference", 15, .merging = SCHEMA_PARTS,
      .owner = &schema_locality_nests, .order = SCHEMA_GROUPED);

static const struct schema_column locality_pairs_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_pair, nest), ID(locality_nests)},
    {MEMBER(locality_pair, reference), ID(locality_references)},
    {NAMED(locality_pair, by, "by_reference"), ID(locality_references)},
    {MEMBER(locality_pair, misses), WEIGHT},
    {MEMBER(locality_pair, conflict), WEIGHT},
};
TABLE(locality_pairs, locality_pair, "locality_pair", 15, .merging = SCHEMA_PARTS,
      .owner = &schema_locality_nests, .order = SCHEMA_GROUPED);

static const struct schema_column locality_suggestions_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_suggestion, nest), ID(locality_nests)},
    {MEMBER(locality_suggestion, kind), BELOW(PROFILE_LOCALITY_KINDS)},
    {MEMBER(locality_suggestion, kept), NUMBER32},
    {MEMBER(locality_suggestion, split), BELOW(2)},
    {MEMBER(locality_suggestion, gap_bytes), NUMBER32},
    {MEMBER(locality_suggestion, saved), FINITE},
    {MEMBER(locality_suggestion, accesses), NUMBER64},
};
TABLE(locality_suggestions, locality_suggestion, "locality_suggestion", 15, .merging = SCHEMA_PARTS,
      .owner = &schema_locality_nests, .order = SCHEMA_GROUPED);

static const struct schema_column locality_loops_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_loop, suggestion), ID(locality_suggestions)},
    {MEMBER(locality_loop, loop), NUMBER32},
    {MEMBER(locality_loop, line), NUMBER32},
    {MEMBER(locality_loop, tile), NUMBER64},
};
TABLE(locality_loops, locality_loop, "locality_loop", 15, .merging = SCHEMA_PARTS,
      .owner = &schema_locality_suggestions, .order = SCHEMA_GROUPED);

static const struct schema_column locality_paddings_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_padding, suggestion), ID(locality_suggestions)},
    {MEMBER(locality_padding, array), ID(locality_arrays)},
    {MEMBER(locality_padding, elements), NUMBER64},
    {MEMBER(locality_padding, padded_elements), NUMBER64},
};
TABLE(locality_paddings, locality_padding, "locality_padding", 15, .merging = SCHEMA_PARTS,
      .owner = &schema_locality_suggestions, .order = SCHEMA_GROUPED);

static const struct schema_column locality_points_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_point, value), .type = SCHEMA_SIGNED, .low = -0x1p62, .high = 0x1p62, KEY},
    {MEMBER(locality_point, accesses), NUMBER64},
};
TABLE(locality_points, locality_point, "locality_point", 15, .merging = SCHEMA_APART);

/* Misses at a cache, of rows of another table. */
#define LOCALITY_FIGURES(list, text, owners)                                                       \
    static const struct schema_column list##_columns[] = {                                         \
        {POSITION("id")},                                                                          \
        {MEMBER(locality_figure, owner), ID(owners)},                                              \
        {MEMBER(locality_figure, level), ID(locality_levels)},                                     \
        {MEMBER(locality_figure, misses), WEIGHT},                                                 \
        {MEMBER(locality_figure, low), WEIGHT},                                                    \
        {MEMBER(locality_figure, high), WEIGHT},                                                   \
        {MEMBER(locality_figure, cold), WEIGHT},                                                   \
        {MEMBER(locality_figure, capacity), WEIGHT},                                               \
        {MEMBER(locality_figure, conflict), WEIGHT},                                               \
        {MEMBER(locality_figure, simulated), MEASURE},                                             \
        {MEMBER(locality_figure, points), COUNT},                                                  \
        {MEMBER(locality_figure, cut), COUNT},                                                     \
        {MEMBER(locality_figure, exact), BELOW(2)},                                                \
    };                                                                                             \
    TABLE(list, locality_figure, text, 15, .merging = SCHEMA_PARTS, .owner = &schema_##owners,     \
          .order = SCHEMA_GROUPED)
LOCALITY_FIGURES(locality_totals, "locality_total", locality_nests);
LOCALITY_FIGURES(locality_misses, "locality_miss", locality_references);
LOCALITY_FIGURES(locality_savings, "locality_saving", locality_suggestions);
LOCALITY_FIGURES(locality_sweeps, "locality_sweep", locality_points);

static const struct schema_column locality_rejections_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_rejection, file), NAME},
    {MEMBER(locality_rejection, reason), NAME},
    {MEMBER(locality_rejection, help), NAME_OR_NULL},
    {MEMBER(locality_rejection, line), NUMBER32},
    {NAMED(locality_rejection, column, "source_column"), NUMBER32},
};
TABLE(locality_rejections, locality_rejection, "locality_rejection", 15, .merging = SCHEMA_APART);

static const struct schema_column merged_columns[] = {
    {POSITION("position")},
    {MEMBER(merged, start_ns), NUMBER64, KEY},
    {MEMBER(merged, host), TEXT_OR_NULL, KEY},
    {MEMBER(merged, file), TEXT, KEY},
    {MEMBER(merged, command), TEXT_OR_NULL, KEY},
    {MEMBER(merged, exit_code), EXIT_CODE, KEY},
    {MEMBER(merged, exit_signal), EXIT_SIGNAL, KEY},
    {MEMBER(merged, processes), NUMBER32, KEY},
};
TABLE(merged, merged, "merged", 6, .merging = SCHEMA_APART);

static const struct schema_column span_cpus_columns[] = {
    {POSITION("position")},
    {MEMBER(span_cpu, thread), ID(span_threads), KEY},
    {MEMBER(span_cpu, cpu_ns), WEIGHT, SUM},
};
TABLE(span_cpus, span_cpu, "block_cpu", 7, .order = SCHEMA_ASCENDING);

static const struct schema_column span_sleeps_columns[] = {
    {POSITION("position")},
    {NAMED(span_sleep, span, "block"), ID(spans), KEY},
    {MEMBER(span_sleep, thread), ID(span_threads), KEY},
    {MEMBER(span_sleep, within_ns), WEIGHT, SUM},
};
TABLE(span_sleeps, span_sleep, "block_sleep", 7, .order = SCHEMA_ASCENDING);

static const struct schema_column ceiling_runs_columns[] = {
    {POSITION("id")},
    {MEMBER(ceiling_run, cpu_ns), WEIGHT, SUM},
    {MEMBER(ceiling_run, innermost_ns), WEIGHT, SUM},
    {MEMBER(ceiling_run, eligible_ns), WEIGHT, SUM},
    {MEMBER(ceiling_run, measured_ns), WEIGHT, SUM},
    {MEMBER(ceiling_run, held_ns), WEIGHT, SUM},
    {MEMBER(ceiling_run, other), COUNT, LARGER},
    {MEMBER(ceiling_run, named), COUNT, LARGER, .since = 18},
};
TABLE(ceiling_runs, ceiling_run, "ceiling_run", 14, .most = 1, .merging = SCHEMA_SINGLE);

static const struct schema_column ceiling_loops_columns[] = {
    {POSITION("id")},
    {MEMBER(ceiling_loop, function), NAME, KEY},
    {MEMBER(ceiling_loop, file), NAME_OR_NULL, KEY},
    {MEMBER(ceiling_loop, line), NUMBER32, KEY},
    {MEMBER(ceiling_loop, module), NAME, KEY},
    {MEMBER(ceiling_loop, address), ADDRESS, KEY},
    {MEMBER(ceiling_loop, reason), NAME_OR_NULL, KEY},
    {MEMBER(ceiling_loop, reason_id), NAME_OR_NULL, KEY},
    {MEMBER(ceiling_loop, reason_file), NAME_OR_NULL, KEY},
    {MEMBER(ceiling_loop, reason_line), NUMBER32, KEY},
    {MEMBER(ceiling_loop, share), WEIGHT, LARGER},
    {MEMBER(ceiling_loop, samples), COUNT, SUM},
    {MEMBER(ceiling_loop, trials), COUNT, SUM},
    {MEMBER(ceiling_loop, disturbed), COUNT, SUM},
    {MEMBER(ceiling_loop, cycles), MEASURE, LARGER},
    {MEMBER(ceiling_loop, l1_cycles), MEASURE, LARGER},
    {MEMBER(ceiling_loop, l1_least), MEASURE, SMALLER},
    {MEMBER(ceiling_loop, gap), FINITE, SMALLER},
    {MEMBER(ceiling_loop, gap_low), FINITE, SMALLER},
    {MEMBER(ceiling_loop, gap_high), FINITE, LARGER},
    {MEMBER(ceiling_loop, turns), MEASURE, LARGER},
    {MEMBER(ceiling_loop, recurrence), WEIGHT, SMALLER},
    {MEMBER(ceiling_loop, instructions), NUMBER32, LARGER},
    {MEMBER(ceiling_loop, short_executions), BELOW(2), LARGER},
};
TABLE(ceiling_loops, ceiling_loop, "ceiling_loop", 14);

static const struct schema_column ceiling_variants_columns[] = {
    {POSITION("id")},
    {MEMBER(ceiling_variant, loop), ID(ceiling_loops), KEY},
    {MEMBER(ceiling_variant, variant), NAME, KEY},
    {MEMBER(ceiling_variant, reason), NAME_OR_NULL, KEY},
    {MEMBER(ceiling_variant, ratio), MEASURE, LARGER},
    {MEMBER(ceiling_variant, ratio_low), FINITE, SMALLER},
    {MEMBER(ceiling_variant, ratio_high), FINITE, LARGER},
    {MEMBER(ceiling_variant, trials), COUNT, SUM},
};
TABLE(ceiling_variants, ceiling_variant, "ceiling_variant", 16);

static const struct schema_column waste_samples_columns[] = {
    {MEMBER(waste_sample, kind), BELOW(PROFILE_REUSE), KEY},
    {MEMBER(waste_sample, share), SHARE, SMALLER},
    {MEMBER(waste_sample, locations), WEIGHT, SUM},
    {MEMBER(waste_sample, whole_squares), SQUARES, SUM},
    {MEMBER(waste_sample, waste_squares), SQUARES, SUM},
};
TABLE(waste_samples, waste_sample, "waste_sample", 16);

static const struct schema_column what_if_sites_columns[] = {
    {MEMBER(what_if_site, frame), ID(frames), KEY},
    {MEMBER(what_if_site, store), BELOW(2), KEY},
    {MEMBER(what_if_site, bytes), COUNT, KEY},
    {MEMBER(what_if_site, ways), NUMBER32, KEY},
    {MEMBER(what_if_site, line_bytes), NUMBER32, KEY},
    {MEMBER(what_if_site, accesses), COUNT, SUM},
    {MEMBER(what_if_site, misses), COUNT, SUM},
    {MEMBER(what_if_site, moved_bytes), COUNT, SUM},
    {MEMBER(what_if_site, low), COUNT, SMALLER},
    {NAMED(what_if_site, end, "stop"), COUNT, LARGER},
    {MEMBER(what_if_site, step), COUNT, LARGER},
};
TABLE(what_if_sites, what_if_site, "what_if_site", 17, .order = SCHEMA_ASCENDING);

static const struct schema_column locality_recorded_columns[] = {
    {POSITION("id")},
    {MEMBER(locality_recorded, reference), ID(locality_references)},
    {MEMBER(locality_recorded, executions), WEIGHT},
    {MEMBER(locality_recorded, accesses), COUNT},
    {MEMBER(locality_recorded, moved_bytes), COUNT},
    {MEMBER(locality_recorded, misses), COUNT},
};
TABLE(locality_recorded, locality_recorded, "locality_recorded", 17, .merging = SCHEMA_PARTS,
      .owner = &schema_locality_references, .order = SCHEMA_GROUPED);

/* Keys of table `run`, whose only item is that of the profile. */
static const struct schema_column run_columns[] = {
    {MEMBER(run, verb), TEXT, SAME},
    {MEMBER(run, engine), TEXT, SAME},
    {MEMBER(run, source), TEXT_OR_NULL, SAME},
    {MEMBER(run, weighting), TEXT, SAME},
    {MEMBER(run, version), TEXT},
    {MEMBER(run, host), TEXT_OR_NULL, AGREED},
    {MEMBER(run, kernel), TEXT_OR_NULL, AGREED},
    {MEMBER(run, cpu), TEXT_OR_NULL, AGREED},
    {MEMBER(run, exit_code), EXIT_CODE},
    {MEMBER(run, exit_signal), EXIT_SIGNAL},
    {MEMBER(run, wall_s), FINITE, LARGER},
    {MEMBER(run, cpu_s), FINITE, SUM_KNOWN},
    {MEMBER(run, system_s), FINITE, SUM_KNOWN},
    {MEMBER(run, fp_tolerance), WEIGHT, SAME},
    {MEMBER(run, start_ns), NUMBER64, EARLIER},
    {MEMBER(run, interval_ns), NUMBER64, SAME},
    {MEMBER(run, adaptive), NUMBER64, LARGER},
    {MEMBER(run, period), NUMBER64, SAME},
    {MEMBER(run, registers), NUMBER64, SMALLER},
    {MEMBER(run, watch_kernel), NUMBER64, SMALLER},
    {MEMBER(run, processes), COUNT, SUM},
    {MEMBER(run, threads), COUNT, SUM},
    {MEMBER(run, attempted), COUNT, SUM},
    {MEMBER(run, stored), COUNT, SUM},
    {MEMBER(run, corrupt_records), COUNT, SUM},
    {MEMBER(run, lost_threads), COUNT, SUM},
    {MEMBER(run, lost_processes), COUNT, SUM},
    {MEMBER(run, unseen_accesses), COUNT, SUM},
    {MEMBER(run, short_threads), COUNT, SUM},
    {MEMBER(run, handler_ns), NUMBER64, SUM},
};

const struct schema_table schema_run = {
    .name = "run",
    .since = 1,
    .columns = run_columns,
    .columns_count = BASE_COUNT(run_columns),
    .items = offsetof(struct profile, run),
    .item_bytes = sizeof(struct profile_run),
};

const char schema_run_sql[] = "CREATE TABLE run(key TEXT PRIMARY KEY, value) WITHOUT ROWID";
const char schema_name_sql[] = "CREATE TABLE name(id INTEGER PRIMARY KEY, text TEXT NOT NULL)";

#define TABLE_ADDRESS(list, item) &schema_##list,
const struct schema_table *const schema_tables[SCHEMA_TABLES] = {PROFILE_LISTS(TABLE_ADDRESS)};
#undef TABLE_ADDRESS
