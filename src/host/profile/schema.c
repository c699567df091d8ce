// SPDX-License-Identifier: MIT
/*
 * The schema of profile files, version 6. The SQL text is part of the format: a
 * file whose schema reads otherwise is refused.
 */
#include "profile/schema.h"

#define COLUMN(item, member, type)                                                                 \
    {                                                                                              \
#member, SCHEMA_##type, offsetof(struct profile_##item, member)                            \
    }
#define POSITION(name)                                                                             \
    {                                                                                              \
        name, SCHEMA_POSITION, 0                                                                   \
    }

static const struct schema_column module_columns[] = {
    POSITION("id"),
    COLUMN(module, path, TEXT),
    COLUMN(module, build_id, BUILD_ID),
    COLUMN(module, detail, COUNT32),
};

static const struct schema_column frame_columns[] = {
    POSITION("id"),
    COLUMN(frame, function, NAME),
    COLUMN(frame, file, NAME),
    COLUMN(frame, line, COUNT32),
    COLUMN(frame, column, COUNT32),
    COLUMN(frame, module, COUNT32),
    COLUMN(frame, address, ADDRESS),
    COLUMN(frame, flags, COUNT32),
};

static const struct schema_column context_columns[] = {
    POSITION("id"),
    COLUMN(context, parent, COUNT32),
    COLUMN(context, frame, COUNT32),
};

static const struct schema_column pair_columns[] = {
    COLUMN(pair, kind, COUNT32),         COLUMN(pair, first, COUNT32),
    COLUMN(pair, second, COUNT32),       COLUMN(pair, waste_bytes, REAL),
    COLUMN(pair, use_bytes, REAL),       COLUMN(pair, waste_squares, REAL),
    COLUMN(pair, use_squares, REAL),     COLUMN(pair, samples, REAL),
    COLUMN(pair, waste_traps, COUNT64),  COLUMN(pair, use_traps, COUNT64),
    COLUMN(pair, kernel_traps, COUNT64), COLUMN(pair, likely_traps, COUNT64),
    COLUMN(pair, float_traps, COUNT64),
};

static const struct schema_column sampled_columns[] = {
    COLUMN(sampled, kind, COUNT32),    COLUMN(sampled, context, COUNT32),
    COLUMN(sampled, samples, COUNT64), COLUMN(sampled, armed, COUNT64),
    COLUMN(sampled, weight, REAL),
};

static const struct schema_column kind_columns[] = {
    COLUMN(kind, kind, COUNT32),      COLUMN(kind, samples, COUNT64),
    COLUMN(kind, armed, COUNT64),     COLUMN(kind, traps, COUNT64),
    COLUMN(kind, ignored, COUNT64),   COLUMN(kind, evicted, COUNT64),
    COLUMN(kind, abandoned, COUNT64), COLUMN(kind, blind_longest, COUNT64),
};

static const struct schema_column drop_columns[] = {
    POSITION("position"),
    COLUMN(drop, reason, TEXT),
    COLUMN(drop, meaning, TEXT),
    COLUMN(drop, count, COUNT64),
};

static const struct schema_column process_columns[] = {
    POSITION("position"),
    COLUMN(process, id, COUNT32),
    COLUMN(process, parent, COUNT32),
    COLUMN(process, pid, COUNT32),
    COLUMN(process, forked, COUNT32),
    COLUMN(process, exe, TEXT),
    COLUMN(process, start_ns, COUNT64),
};

static const struct schema_column thread_columns[] = {
    POSITION("position"),
    COLUMN(thread, id, COUNT32),
    COLUMN(thread, process, COUNT32),
    COLUMN(thread, tid, COUNT32),
    COLUMN(thread, name, TEXT),
    COLUMN(thread, cpu_ns, COUNT64),
    COLUMN(thread, attempted, COUNT64),
    COLUMN(thread, stored, COUNT64),
};

static const struct schema_column counter_columns[] = {
    POSITION("position"),
    COLUMN(counter, thread, COUNT32),
    COLUMN(counter, name, NAME),
    COLUMN(counter, value, COUNT64),
};

static const struct schema_column text_columns[] = {
    POSITION("position"),
    COLUMN(text, text, TEXT),
};

static const struct schema_column exact_columns[] = {
    COLUMN(exact, process, COUNT32),
    COLUMN(exact, threads, COUNT32),
    COLUMN(exact, loads, COUNT64),
    COLUMN(exact, stores, COUNT64),
    COLUMN(exact, load_bytes, COUNT64),
    COLUMN(exact, store_bytes, COUNT64),
    COLUMN(exact, fresh_load_bytes, COUNT64),
    COLUMN(exact, fresh_store_bytes, COUNT64),
    COLUMN(exact, kernel_load_bytes, COUNT64),
    COLUMN(exact, kernel_store_bytes, COUNT64),
    COLUMN(exact, ids, COUNT64),
    COLUMN(exact, contexts, COUNT64),
    COLUMN(exact, instructions, COUNT64),
};

static const struct schema_column reuse_columns[] = {
    COLUMN(reuse, process, COUNT32),
    COLUMN(reuse, unit_bytes, COUNT32),
    COLUMN(reuse, stack, COUNT32),
    COLUMN(reuse, accesses, REAL),
    COLUMN(reuse, reuses, REAL),
    COLUMN(reuse, locations, REAL),
    COLUMN(reuse, never_reused, REAL),
    COLUMN(reuse, share_first, REAL),
    COLUMN(reuse, share_last, REAL),
    COLUMN(reuse, kept_accesses, COUNT64),
    COLUMN(reuse, kept_locations, COUNT64),
};

static const struct schema_column bin_columns[] = {
    COLUMN(bin, process, COUNT32), COLUMN(bin, which, COUNT32), COLUMN(bin, bin, COUNT32),
    COLUMN(bin, lo, COUNT64),      COLUMN(bin, hi, COUNT64),    COLUMN(bin, weight, REAL),
};

static const struct schema_column reuse_pair_columns[] = {
    COLUMN(reuse_pair, use, COUNT32),   COLUMN(reuse_pair, reuse, COUNT32),
    COLUMN(reuse_pair, count, COUNT64), COLUMN(reuse_pair, weight, REAL),
    COLUMN(reuse_pair, time, REAL),     COLUMN(reuse_pair, time_squares, REAL),
    COLUMN(reuse_pair, stack, REAL),    COLUMN(reuse_pair, stack_squares, REAL),
};

static const struct schema_column pace_columns[] = {
    COLUMN(pace, process, COUNT32),  COLUMN(pace, accesses_per_ns, REAL),
    COLUMN(pace, low, REAL),         COLUMN(pace, high, REAL),
    COLUMN(pace, trap_ns, REAL),     COLUMN(pace, floor_ns, REAL),
    COLUMN(pace, calibration, TEXT),
};

static const struct schema_column cache_columns[] = {
    POSITION("position"),
    COLUMN(cache, level, COUNT32),
    COLUMN(cache, ways, COUNT32),
    COLUMN(cache, line_bytes, COUNT32),
    COLUMN(cache, sharers, COUNT32),
    COLUMN(cache, bytes, COUNT64),
};

static const struct schema_column what_if_columns[] = {
    POSITION("position"),
    COLUMN(what_if, bytes, COUNT64),
    COLUMN(what_if, ways, COUNT32),
    COLUMN(what_if, line_bytes, COUNT32),
    COLUMN(what_if, accesses, COUNT64),
    COLUMN(what_if, misses, COUNT64),
};

static const struct schema_column loop_columns[] = {
    POSITION("id"),
    COLUMN(loop, parent, COUNT32),
    COLUMN(loop, module, COUNT32),
    COLUMN(loop, address, ADDRESS),
    COLUMN(loop, function, NAME),
    COLUMN(loop, file, NAME),
    COLUMN(loop, line, COUNT32),
};

static const struct schema_column frame_loop_columns[] = {
    COLUMN(frame_loop, frame, COUNT32),
    COLUMN(frame_loop, loop, COUNT32),
};

static const struct schema_column path_function_columns[] = {
    POSITION("id"),
    COLUMN(path_function, function, NAME),
    COLUMN(path_function, file, NAME),
    COLUMN(path_function, address, ADDRESS),
    COLUMN(path_function, module, COUNT32),
    COLUMN(path_function, line, COUNT32),
    COLUMN(path_function, table_kind, COUNT32),
    COLUMN(path_function, reason, COUNT32),
    COLUMN(path_function, why, NAME),
    COLUMN(path_function, blocks, COUNT32),
    COLUMN(path_function, call_sites, COUNT32),
    COLUMN(path_function, inline_assembly, COUNT32),
    COLUMN(path_function, potential, COUNT64),
    COLUMN(path_function, potential_log2, REAL),
};

static const struct schema_column path_block_columns[] = {
    POSITION("id"),
    COLUMN(path_block, function, COUNT32),
    COLUMN(path_block, block, COUNT32),
    COLUMN(path_block, address, ADDRESS),
    COLUMN(path_block, instructions, COUNT32),
    COLUMN(path_block, loads, COUNT32),
    COLUMN(path_block, stores, COUNT32),
    COLUMN(path_block, first_line, COUNT32),
    COLUMN(path_block, lines, COUNT32),
};

static const struct schema_column path_line_columns[] = {
    POSITION("id"),
    COLUMN(path_line, file, NAME),
    COLUMN(path_line, function, NAME),
    COLUMN(path_line, line, COUNT32),
};

static const struct schema_column path_columns[] = {
    POSITION("id"),
    COLUMN(path, function, COUNT32),
    COLUMN(path, flags, COUNT32),
    COLUMN(path, number, COUNT64),
    COLUMN(path, count, COUNT64),
    COLUMN(path, instructions, COUNT64),
    COLUMN(path, loads, COUNT64),
    COLUMN(path, stores, COUNT64),
    COLUMN(path, cycles, REAL),
    COLUMN(path, measured, COUNT64),
    COLUMN(path, misses, REAL),
    COLUMN(path, events, REAL),
    COLUMN(path, first_step, COUNT32),
    COLUMN(path, steps, COUNT32),
};

static const struct schema_column path_step_columns[] = {
    POSITION("id"),
    COLUMN(path_step, block, COUNT32),
};

static const struct schema_column vertex_columns[] = {
    POSITION("id"),
    COLUMN(vertex, parent, COUNT32),
    COLUMN(vertex, function, COUNT32),
    COLUMN(vertex, site, COUNT32),
    COLUMN(vertex, site_line, COUNT32),
    COLUMN(vertex, count, COUNT64),
    COLUMN(vertex, bytes, COUNT64),
    COLUMN(vertex, call_sites, COUNT64),
    COLUMN(vertex, call_sites_used, COUNT64),
    COLUMN(vertex, call_sites_one_path, COUNT64),
    COLUMN(vertex, instructions, REAL),
    COLUMN(vertex, cycles, REAL),
    COLUMN(vertex, misses, REAL),
    COLUMN(vertex, measured, COUNT64),
};

static const struct schema_column vertex_path_columns[] = {
    COLUMN(vertex_path, vertex, COUNT32),
    COLUMN(vertex_path, path, COUNT32),
    COLUMN(vertex_path, count, COUNT64),
};

static const struct schema_column path_run_columns[] = {
    POSITION("position"),
    COLUMN(path_run, modes, COUNT32),
    COLUMN(path_run, cache_bytes, COUNT64),
    COLUMN(path_run, cache_ways, COUNT32),
    COLUMN(path_run, cache_line, COUNT32),
    COLUMN(path_run, cycles_per_read, REAL),
    COLUMN(path_run, cycles_per_ns, REAL),
    COLUMN(path_run, lost_pieces, COUNT64),
    COLUMN(path_run, event, TEXT),
};

static const struct schema_column block_function_columns[] = {
    POSITION("id"),
    COLUMN(block_function, function, NAME),
    COLUMN(block_function, file, NAME),
    COLUMN(block_function, line, COUNT32),
    COLUMN(block_function, module, COUNT32),
    COLUMN(block_function, address, ADDRESS),
    COLUMN(block_function, class, COUNT32),
    COLUMN(block_function, entry, COUNT32),
    COLUMN(block_function, key, COUNT32),
    COLUMN(block_function, key_argument, COUNT32),
    COLUMN(block_function, every, COUNT32),
};

static const struct schema_column block_thread_columns[] = {
    POSITION("id"),
    COLUMN(block_thread, process, COUNT32),
    COLUMN(block_thread, tid, COUNT32),
    COLUMN(block_thread, name, TEXT),
    COLUMN(block_thread, owners, COUNT32),
    COLUMN(block_thread, highest_every, COUNT32),
    COLUMN(block_thread, duration_ns, REAL),
    COLUMN(block_thread, cost_ns, REAL),
    COLUMN(block_thread, preempted_ns, REAL),
    COLUMN(block_thread, asleep_ns, REAL),
    COLUMN(block_thread, preemptions, COUNT64),
    COLUMN(block_thread, sleeps, COUNT64),
    COLUMN(block_thread, events, COUNT64),
    COLUMN(block_thread, skipped, COUNT64),
    COLUMN(block_thread, unhooked, COUNT64),
    COLUMN(block_thread, switches_lost, COUNT64),
};

static const struct schema_column block_columns[] = {
    POSITION("id"),
    COLUMN(block, function, COUNT32),
    COLUMN(block, flags, COUNT32),
    COLUMN(block, key, ADDRESS),
    COLUMN(block, shape, ADDRESS),
    COLUMN(block, max_ns, REAL),
    COLUMN(block, first_ns, REAL),
    COLUMN(block, last_ns, REAL),
    COLUMN(block, preemptions, COUNT64),
    COLUMN(block, sleeps, COUNT64),
};

static const struct schema_column block_part_columns[] = {
    POSITION("id"),
    COLUMN(block_part, block, COUNT32),
    COLUMN(block_part, thread, COUNT32),
    COLUMN(block_part, count, COUNT64),
    COLUMN(block_part, recorded, COUNT64),
    COLUMN(block_part, sum_ns, REAL),
    COLUMN(block_part, min_ns, REAL),
    COLUMN(block_part, within_ns, REAL),
    COLUMN(block_part, preempted_ns, REAL),
    COLUMN(block_part, asleep_ns, REAL),
};

static const struct schema_column block_bin_columns[] = {
    POSITION("id"),
    COLUMN(block_bin, block, COUNT32),
    COLUMN(block_bin, low_ns, REAL),
    COLUMN(block_bin, high_ns, REAL),
    COLUMN(block_bin, count, COUNT64),
};

static const struct schema_column block_child_columns[] = {
    POSITION("id"),
    COLUMN(block_child, block, COUNT32),
    COLUMN(block_child, function, COUNT32),
    COLUMN(block_child, times, COUNT32),
    COLUMN(block_child, shape, ADDRESS),
};

static const struct schema_column block_stack_columns[] = {
    POSITION("id"),
    COLUMN(block_stack, block, COUNT32),
    COLUMN(block_stack, context, COUNT32),
    COLUMN(block_stack, taken, COUNT64),
    COLUMN(block_stack, lost_ns, REAL),
};

static const struct schema_column block_holder_columns[] = {
    POSITION("id"),
    COLUMN(block_holder, block, COUNT32),
    COLUMN(block_holder, context, COUNT32),
    COLUMN(block_holder, times, COUNT64),
    COLUMN(block_holder, waited_ns, REAL),
};

static const struct schema_column block_sample_columns[] = {
    POSITION("id"),
    COLUMN(block_sample, block, COUNT32),
    COLUMN(block_sample, weight, COUNT32),
    COLUMN(block_sample, ns, REAL),
    COLUMN(block_sample, argument0, ADDRESS),
    COLUMN(block_sample, argument1, ADDRESS),
    COLUMN(block_sample, argument2, ADDRESS),
    COLUMN(block_sample, result, ADDRESS),
};

static const struct schema_column block_skip_columns[] = {
    POSITION("position"),
    COLUMN(block_skip, function, NAME),
    COLUMN(block_skip, module, NAME),
    COLUMN(block_skip, why, NAME),
};

static const struct schema_column block_run_columns[] = {
    POSITION("position"),
    COLUMN(block_run, ns_per_tick, REAL),
    COLUMN(block_run, step_ns, REAL),
    COLUMN(block_run, wall_ns, REAL),
    COLUMN(block_run, stack_period, COUNT32),
    COLUMN(block_run, switches, COUNT32),
    COLUMN(block_run, automatic, COUNT32),
    COLUMN(block_run, lost_pieces, COUNT64),
    COLUMN(block_run, no_switches, COUNT64),
    COLUMN(block_run, no_areas, COUNT64),
};

static const struct schema_column merged_columns[] = {
    POSITION("position"),
    COLUMN(merged, start_ns, COUNT64),
    COLUMN(merged, host, TEXT),
    COLUMN(merged, file, TEXT),
    COLUMN(merged, command, TEXT),
    COLUMN(merged, exit_code, SIGNED),
    COLUMN(merged, exit_signal, SIGNED),
    COLUMN(merged, processes, COUNT32),
};

/* Function pointers of different types cannot share a table without a cast. */
#define WRAP_ADDER(list, item)                                                                     \
    static void *add_##list(struct profile *profile)                                               \
    {                                                                                              \
        return profile_add_##list(profile);                                                        \
    }
PROFILE_LISTS(WRAP_ADDER)
#undef WRAP_ADDER

#define TABLE_SINCE(version, table_name, list, item, skipped, text)                                \
    {                                                                                              \
        .name = table_name, .sql = "CREATE TABLE " table_name "(" text, .columns = item##_columns, \
        .columns_count = BASE_COUNT(item##_columns), .first = skipped,                             \
        .items = offsetof(struct profile, list), .item_bytes = sizeof(struct profile_##item),      \
        .add = add_##list, .since = version                                                        \
    }
#define TABLE(table_name, list, item, skipped, text)                                               \
    TABLE_SINCE(1, table_name, list, item, skipped, text)

const struct schema_table schema_tables[SCHEMA_TABLES] = {
    TABLE("module", modules, module, 1,
          "id INTEGER PRIMARY KEY, path TEXT NOT NULL, build_id BLOB, detail INTEGER NOT NULL)"),
    TABLE("frame", frames, frame, 1,
          "id INTEGER PRIMARY KEY, function INTEGER, file INTEGER, line INTEGER NOT NULL, "
          "column INTEGER NOT NULL, module INTEGER NOT NULL, address INTEGER NOT NULL, "
          "flags INTEGER NOT NULL)"),
    TABLE("context", contexts, context, 1,
          "id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, frame INTEGER NOT NULL)"),
    TABLE("kind", kinds, kind, 0,
          "kind INTEGER PRIMARY KEY, samples INTEGER NOT NULL, armed INTEGER NOT NULL, "
          "traps INTEGER NOT NULL, ignored INTEGER NOT NULL, evicted INTEGER NOT NULL, "
          "abandoned INTEGER NOT NULL, blind_longest INTEGER NOT NULL)"),
    TABLE("pair", pairs, pair, 0,
          "kind INTEGER NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL, "
          "waste_bytes REAL NOT NULL, use_bytes REAL NOT NULL, waste_squares REAL NOT NULL, "
          "use_squares REAL NOT NULL, samples REAL NOT NULL, waste_traps INTEGER NOT NULL, "
          "use_traps INTEGER NOT NULL, kernel_traps INTEGER NOT NULL, "
          "likely_traps INTEGER NOT NULL, float_traps INTEGER NOT NULL, "
          "PRIMARY KEY(kind, first, second)) WITHOUT ROWID"),
    TABLE("sampled", sampled, sampled, 0,
          "kind INTEGER NOT NULL, context INTEGER NOT NULL, samples INTEGER NOT NULL, "
          "armed INTEGER NOT NULL, weight REAL NOT NULL, "
          "PRIMARY KEY(kind, context)) WITHOUT ROWID"),
    TABLE("dropped", drops, drop, 0,
          "position INTEGER PRIMARY KEY, reason TEXT NOT NULL, meaning TEXT NOT NULL, "
          "count INTEGER NOT NULL)"),
    TABLE("process", processes, process, 0,
          "position INTEGER PRIMARY KEY, id INTEGER NOT NULL, parent INTEGER NOT NULL, "
          "pid INTEGER NOT NULL, forked INTEGER NOT NULL, exe TEXT, start_ns INTEGER NOT NULL)"),
    TABLE("thread", threads, thread, 0,
          "position INTEGER PRIMARY KEY, id INTEGER NOT NULL, process INTEGER NOT NULL, "
          "tid INTEGER NOT NULL, name TEXT, cpu_ns INTEGER NOT NULL, "
          "attempted INTEGER NOT NULL, stored INTEGER NOT NULL)"),
    TABLE("thread_counter", counters, counter, 0,
          "position INTEGER PRIMARY KEY, thread INTEGER NOT NULL, name INTEGER NOT NULL, "
          "value INTEGER NOT NULL)"),
    TABLE("argument", arguments, text, 0, "position INTEGER PRIMARY KEY, text TEXT NOT NULL)"),
    TABLE("degraded", degraded, text, 0, "position INTEGER PRIMARY KEY, text TEXT NOT NULL)"),
    TABLE_SINCE(2, "exact", exacts, exact, 0,
                "process INTEGER PRIMARY KEY, threads INTEGER NOT NULL, loads INTEGER NOT NULL, "
                "stores INTEGER NOT NULL, load_bytes INTEGER NOT NULL, "
                "store_bytes INTEGER NOT NULL, fresh_load_bytes INTEGER NOT NULL, "
                "fresh_store_bytes INTEGER NOT NULL, kernel_load_bytes INTEGER NOT NULL, "
                "kernel_store_bytes INTEGER NOT NULL, ids INTEGER NOT NULL, "
                "contexts INTEGER NOT NULL, instructions INTEGER NOT NULL)"),
    TABLE_SINCE(2, "reuse", reuses, reuse, 0,
                "process INTEGER PRIMARY KEY, unit_bytes INTEGER NOT NULL, "
                "stack INTEGER NOT NULL, accesses REAL NOT NULL, reuses REAL NOT NULL, "
                "locations REAL NOT NULL, never_reused REAL NOT NULL, share_first REAL NOT NULL, "
                "share_last REAL NOT NULL, kept_accesses INTEGER NOT NULL, "
                "kept_locations INTEGER NOT NULL)"),
    TABLE_SINCE(2, "histogram", bins, bin, 0,
                "process INTEGER NOT NULL, which INTEGER NOT NULL, bin INTEGER NOT NULL, "
                "lo INTEGER NOT NULL, hi INTEGER NOT NULL, weight REAL NOT NULL, "
                "PRIMARY KEY(process, which, bin)) WITHOUT ROWID"),
    TABLE_SINCE(2, "reuse_pair", reuse_pairs, reuse_pair, 0,
                "use INTEGER NOT NULL, reuse INTEGER NOT NULL, count INTEGER NOT NULL, "
                "weight REAL NOT NULL, time REAL NOT NULL, time_squares REAL NOT NULL, "
                "stack REAL NOT NULL, stack_squares REAL NOT NULL, "
                "PRIMARY KEY(use, reuse)) WITHOUT ROWID"),
    TABLE_SINCE(3, "pace", paces, pace, 0,
                "process INTEGER PRIMARY KEY, accesses_per_ns REAL NOT NULL, low REAL NOT NULL, "
                "high REAL NOT NULL, trap_ns REAL NOT NULL, floor_ns REAL NOT NULL, "
                "calibration TEXT NOT NULL)"),
    TABLE_SINCE(3, "cache", caches, cache, 0,
                "position INTEGER PRIMARY KEY, level INTEGER NOT NULL, ways INTEGER NOT NULL, "
                "line_bytes INTEGER NOT NULL, sharers INTEGER NOT NULL, bytes INTEGER NOT NULL)"),
    TABLE_SINCE(3, "what_if", what_ifs, what_if, 0,
                "position INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, ways INTEGER NOT NULL, "
                "line_bytes INTEGER NOT NULL, accesses INTEGER NOT NULL, misses INTEGER NOT NULL)"),
    TABLE_SINCE(3, "loop", loops, loop, 1,
                "id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, module INTEGER NOT NULL, "
                "address INTEGER NOT NULL, function INTEGER, file INTEGER, "
                "line INTEGER NOT NULL)"),
    TABLE_SINCE(3, "frame_loop", frame_loops, frame_loop, 0,
                "frame INTEGER PRIMARY KEY, loop INTEGER NOT NULL)"),
    TABLE_SINCE(4, "path_function", path_functions, path_function, 1,
                "id INTEGER PRIMARY KEY, function INTEGER, file INTEGER, address INTEGER NOT "
                "NULL, module INTEGER NOT NULL, line INTEGER NOT NULL, table_kind INTEGER NOT "
                "NULL, reason INTEGER NOT NULL, why INTEGER, blocks INTEGER NOT NULL, "
                "call_sites INTEGER NOT NULL, inline_assembly INTEGER NOT NULL, potential "
                "INTEGER NOT NULL, potential_log2 REAL NOT NULL)"),
    TABLE_SINCE(4, "path_block", path_blocks, path_block, 0,
                "id INTEGER PRIMARY KEY, function INTEGER NOT NULL, block INTEGER NOT NULL, "
                "address INTEGER NOT NULL, instructions INTEGER NOT NULL, loads INTEGER NOT "
                "NULL, stores INTEGER NOT NULL, first_line INTEGER NOT NULL, lines INTEGER "
                "NOT NULL)"),
    TABLE_SINCE(4, "path_line", path_lines, path_line, 0,
                "id INTEGER PRIMARY KEY, file INTEGER, function INTEGER, line INTEGER NOT "
                "NULL)"),
    TABLE_SINCE(4, "path", paths, path, 0,
                "id INTEGER PRIMARY KEY, function INTEGER NOT NULL, flags INTEGER NOT NULL, "
                "number INTEGER NOT NULL, count INTEGER NOT NULL, instructions INTEGER NOT "
                "NULL, loads INTEGER NOT NULL, stores INTEGER NOT NULL, cycles REAL NOT NULL, "
                "measured INTEGER NOT NULL, misses REAL NOT NULL, events REAL NOT NULL, first_step "
                "INTEGER NOT NULL, "
                "steps INTEGER NOT NULL)"),
    TABLE_SINCE(4, "path_step", path_steps, path_step, 0,
                "id INTEGER PRIMARY KEY, block INTEGER NOT NULL)"),
    TABLE_SINCE(4, "vertex", vertices, vertex, 1,
                "id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, function INTEGER NOT NULL, "
                "site INTEGER NOT NULL, site_line INTEGER NOT NULL, count INTEGER NOT NULL, "
                "bytes INTEGER NOT NULL, call_sites INTEGER NOT NULL, call_sites_used INTEGER "
                "NOT NULL, call_sites_one_path INTEGER NOT NULL, instructions REAL NOT NULL, "
                "cycles REAL NOT NULL, misses REAL NOT NULL, measured INTEGER NOT NULL)"),
    TABLE_SINCE(4, "vertex_path", vertex_paths, vertex_path, 0,
                "vertex INTEGER NOT NULL, path INTEGER NOT NULL, count INTEGER NOT NULL, "
                "PRIMARY KEY(vertex, path)) WITHOUT ROWID"),
    TABLE_SINCE(4, "path_run", path_runs, path_run, 0,
                "position INTEGER PRIMARY KEY, modes INTEGER NOT NULL, cache_bytes INTEGER "
                "NOT NULL, cache_ways INTEGER NOT NULL, cache_line INTEGER NOT NULL, "
                "cycles_per_read REAL NOT NULL, cycles_per_ns REAL NOT NULL, lost_pieces "
                "INTEGER NOT NULL, event TEXT)"),
    TABLE_SINCE(5, "block_function", block_functions, block_function, 1,
                "id INTEGER PRIMARY KEY, function INTEGER NOT NULL, file INTEGER, line "
                "INTEGER NOT NULL, module INTEGER NOT NULL, address INTEGER NOT NULL, class "
                "INTEGER NOT NULL, entry INTEGER NOT NULL, key INTEGER NOT NULL, "
                "key_argument INTEGER NOT NULL, every INTEGER NOT NULL)"),
    TABLE_SINCE(5, "block_thread", block_threads, block_thread, 0,
                "id INTEGER PRIMARY KEY, process INTEGER NOT NULL, tid INTEGER NOT NULL, "
                "name TEXT, owners INTEGER NOT NULL, highest_every INTEGER NOT NULL, "
                "duration_ns REAL NOT NULL, cost_ns REAL NOT NULL, preempted_ns REAL NOT "
                "NULL, asleep_ns REAL NOT NULL, preemptions INTEGER NOT NULL, sleeps "
                "INTEGER NOT NULL, events INTEGER NOT NULL, skipped INTEGER NOT NULL, "
                "unhooked INTEGER NOT NULL, switches_lost INTEGER NOT NULL)"),
    TABLE_SINCE(5, "block", timed_blocks, block, 0,
                "id INTEGER PRIMARY KEY, function INTEGER NOT NULL, flags INTEGER NOT NULL, "
                "key INTEGER NOT NULL, shape INTEGER NOT NULL, max_ns REAL NOT NULL, "
                "first_ns REAL NOT NULL, last_ns REAL NOT NULL, preemptions INTEGER NOT "
                "NULL, sleeps INTEGER NOT NULL)"),
    TABLE_SINCE(5, "block_part", block_parts, block_part, 0,
                "id INTEGER PRIMARY KEY, block INTEGER NOT NULL, thread INTEGER NOT NULL, "
                "count INTEGER NOT NULL, recorded INTEGER NOT NULL, sum_ns REAL NOT NULL, "
                "min_ns REAL NOT NULL, within_ns REAL NOT NULL, preempted_ns REAL NOT NULL, "
                "asleep_ns REAL NOT NULL)"),
    TABLE_SINCE(5, "block_bin", block_bins, block_bin, 0,
                "id INTEGER PRIMARY KEY, block INTEGER NOT NULL, low_ns REAL NOT NULL, "
                "high_ns REAL NOT NULL, count INTEGER NOT NULL)"),
    TABLE_SINCE(5, "block_child", block_children, block_child, 0,
                "id INTEGER PRIMARY KEY, block INTEGER NOT NULL, function INTEGER NOT NULL, "
                "times INTEGER NOT NULL, shape INTEGER NOT NULL)"),
    TABLE_SINCE(5, "block_stack", block_stacks, block_stack, 0,
                "id INTEGER PRIMARY KEY, block INTEGER NOT NULL, context INTEGER NOT NULL, "
                "taken INTEGER NOT NULL, lost_ns REAL NOT NULL)"),
    TABLE_SINCE(5, "block_holder", block_holders, block_holder, 0,
                "id INTEGER PRIMARY KEY, block INTEGER NOT NULL, context INTEGER NOT NULL, "
                "times INTEGER NOT NULL, waited_ns REAL NOT NULL)"),
    TABLE_SINCE(5, "block_sample", block_samples, block_sample, 0,
                "id INTEGER PRIMARY KEY, block INTEGER NOT NULL, weight INTEGER NOT NULL, "
                "ns REAL NOT NULL, argument0 INTEGER NOT NULL, argument1 INTEGER NOT NULL, "
                "argument2 INTEGER NOT NULL, result INTEGER NOT NULL)"),
    TABLE_SINCE(5, "block_skip", block_skips, block_skip, 0,
                "position INTEGER PRIMARY KEY, function INTEGER NOT NULL, module INTEGER, "
                "why INTEGER NOT NULL)"),
    TABLE_SINCE(5, "block_run", block_runs, block_run, 0,
                "position INTEGER PRIMARY KEY, ns_per_tick REAL NOT NULL, step_ns REAL NOT NULL, "
                "wall_ns REAL NOT "
                "NULL, stack_period INTEGER NOT NULL, switches INTEGER NOT NULL, automatic "
                "INTEGER NOT NULL, lost_pieces INTEGER NOT NULL, no_switches INTEGER NOT "
                "NULL, no_areas INTEGER NOT NULL)"),
    TABLE_SINCE(6, "merged", merged, merged, 0,
                "position INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL, host TEXT, "
                "file TEXT NOT NULL, command TEXT, exit_code INTEGER NOT NULL, "
                "exit_signal INTEGER NOT NULL, processes INTEGER NOT NULL)"),
};

const char schema_run_sql[] = "CREATE TABLE run(key TEXT PRIMARY KEY, value) WITHOUT ROWID";
const char schema_name_sql[] = "CREATE TABLE name(id INTEGER PRIMARY KEY, text TEXT NOT NULL)";

const struct schema_column schema_run_keys[SCHEMA_RUN_KEYS] = {
    COLUMN(run, verb, TEXT),
    COLUMN(run, engine, TEXT),
    COLUMN(run, source, TEXT),
    COLUMN(run, weighting, TEXT),
    COLUMN(run, version, TEXT),
    COLUMN(run, host, TEXT),
    COLUMN(run, kernel, TEXT),
    COLUMN(run, cpu, TEXT),
    COLUMN(run, exit_code, SIGNED),
    COLUMN(run, exit_signal, SIGNED),
    COLUMN(run, wall_s, REAL),
    COLUMN(run, cpu_s, REAL),
    COLUMN(run, fp_tolerance, REAL),
    COLUMN(run, start_ns, COUNT64),
    COLUMN(run, interval_ns, COUNT64),
    COLUMN(run, period, COUNT64),
    COLUMN(run, registers, COUNT64),
    COLUMN(run, watch_kernel, COUNT64),
    COLUMN(run, processes, COUNT64),
    COLUMN(run, threads, COUNT64),
    COLUMN(run, attempted, COUNT64),
    COLUMN(run, stored, COUNT64),
    COLUMN(run, corrupt_records, COUNT64),
    COLUMN(run, lost_threads, COUNT64),
    COLUMN(run, lost_processes, COUNT64),
    COLUMN(run, handler_ns, COUNT64),
};
