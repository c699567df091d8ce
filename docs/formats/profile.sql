-- The schema of profiles, format version 18, as SQLite prints it: in the file each statement stands
-- exactly so. docs/formats/profile.md says what the columns mean. Below each table: its columns, their
-- values, and what becomes of them when rows become one by merging. Values that are tables' names are
-- ids of rows. Made by tests/unit/schema_test --print from the declarations in the code.

CREATE TABLE name(id INTEGER PRIMARY KEY, text TEXT NOT NULL);

CREATE TABLE run(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
--   verb                  text                        must be the same
--   engine                text                        must be the same
--   source                text, or NULL               must be the same
--   weighting             text                        must be the same
--   version               text
--   host                  text, or NULL               NULL unless the same
--   kernel                text, or NULL               NULL unless the same
--   cpu                   text, or NULL               NULL unless the same
--   exit_code             -1 to 255
--   exit_signal           -1 to 128
--   wall_s                any number                  largest
--   cpu_s                 any number                  sum of those not negative
--   system_s              any number                  sum of those not negative
--   fp_tolerance          0 to 1e+30                  must be the same
--   start_ns              0 to 2^63-1                 smallest but 0
--   interval_ns           0 to 2^63-1                 must be the same
--   adaptive              0 to 2^63-1                 largest
--   period                0 to 2^63-1                 must be the same
--   registers             0 to 2^63-1                 smallest
--   watch_kernel          0 to 2^63-1                 smallest
--   processes             0 to 2^50                   sum
--   threads               0 to 2^50                   sum
--   attempted             0 to 2^50                   sum
--   stored                0 to 2^50                   sum
--   corrupt_records       0 to 2^50                   sum
--   lost_threads          0 to 2^50                   sum
--   lost_processes        0 to 2^50                   sum
--   unseen_accesses       0 to 2^50                   sum
--   short_threads         0 to 2^50                   sum
--   handler_ns            0 to 2^63-1                 sum

-- Since version 1. Merging: rows with equal keys become one.
CREATE TABLE module(id INTEGER PRIMARY KEY, path TEXT NOT NULL, build_id BLOB, detail INTEGER NOT NULL);
--   id                    index of the row
--   path                  text                        key
--   build_id              1 to 32 bytes, or NULL      key
--   detail                0 to 3                      smallest

-- Since version 1. Merging: rows with equal keys become one.
CREATE TABLE frame(id INTEGER PRIMARY KEY, function INTEGER, file INTEGER, line INTEGER NOT NULL, column INTEGER NOT NULL, module INTEGER NOT NULL, address INTEGER NOT NULL, flags INTEGER NOT NULL);
--   id                    index of the row
--   function              name, or NULL               key
--   file                  name, or NULL               key
--   line                  0 to 2^32-1                 key
--   column                0 to 2^32-1                 key
--   module                module, or 0                key
--   address               64 bits                     key
--   flags                 0 to 2^32-1                 key

-- Since version 1. Merging: rows with equal keys become one, parents first.
CREATE TABLE context(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, frame INTEGER NOT NULL);
--   id                    index of the row
--   parent                earlier context, or 0       key
--   frame                 frame                       key

-- Since version 1. Merging: rows with equal keys become one.
CREATE TABLE kind(kind INTEGER PRIMARY KEY, samples INTEGER NOT NULL, armed INTEGER NOT NULL, traps INTEGER NOT NULL, ignored INTEGER NOT NULL, evicted INTEGER NOT NULL, abandoned INTEGER NOT NULL, blind_longest INTEGER NOT NULL);
--   kind                  0 to 3                      key
--   samples               0 to 2^50                   sum
--   armed                 0 to 2^50                   sum
--   traps                 0 to 2^50                   sum
--   ignored               0 to 2^50                   sum
--   evicted               0 to 2^50                   sum
--   abandoned             0 to 2^50                   sum
--   blind_longest         0 to 2^50                   largest

-- Since version 1. Merging: rows with equal keys become one.
CREATE TABLE pair(kind INTEGER NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL, waste_bytes REAL NOT NULL, use_bytes REAL NOT NULL, waste_squares REAL NOT NULL, use_squares REAL NOT NULL, samples REAL NOT NULL, waste_traps INTEGER NOT NULL, use_traps INTEGER NOT NULL, kernel_traps INTEGER NOT NULL, likely_traps INTEGER NOT NULL, float_traps INTEGER NOT NULL, PRIMARY KEY(kind, first, second)) WITHOUT ROWID;
--   kind                  0 to 2                      key
--   first                 context, or 0               key
--   second                context, or 0               key
--   waste_bytes           0 to 1e+30                  sum
--   use_bytes             0 to 1e+30                  sum
--   waste_squares         0 to 1e+30                  sum
--   use_squares           0 to 1e+30                  sum
--   samples               0 to 1e+30                  sum
--   waste_traps           0 to 2^50                   sum
--   use_traps             0 to 2^50                   sum
--   kernel_traps          0 to 2^50                   follows from several columns
--   likely_traps          0 to 2^50                   sum
--   float_traps           0 to 2^50                   sum

-- Since version 1. Merging: rows with equal keys become one.
CREATE TABLE sampled(kind INTEGER NOT NULL, context INTEGER NOT NULL, samples INTEGER NOT NULL, armed INTEGER NOT NULL, weight REAL NOT NULL, PRIMARY KEY(kind, context)) WITHOUT ROWID;
--   kind                  0 to 3                      key
--   context               context, or 0               key
--   samples               0 to 2^50                   sum
--   armed                 0 to 2^50                   sum
--   weight                0 to 1e+30                  sum

-- Since version 1. Merging: rows with equal keys become one.
CREATE TABLE dropped(position INTEGER PRIMARY KEY, reason TEXT NOT NULL, meaning TEXT NOT NULL, count INTEGER NOT NULL);
--   position              index of the row
--   reason                text                        key
--   meaning               text                        smallest
--   count                 0 to 2^50                   sum

-- Since version 1. Merging: rows stay apart, in the order of their keys.
CREATE TABLE process(position INTEGER PRIMARY KEY, id INTEGER NOT NULL, parent INTEGER NOT NULL, pid INTEGER NOT NULL, forked INTEGER NOT NULL, exe TEXT, start_ns INTEGER NOT NULL);
--   position              index of the row
--   id                    id of a process             key
--   parent                id of a process, or 2^32-1
--   pid                   0 to 2^32-1
--   forked                0 to 2^32-1
--   exe                   text, or NULL
--   start_ns              0 to 2^63-1

-- Since version 1. Merging: rows stay apart, in the order of their keys.
CREATE TABLE thread(position INTEGER PRIMARY KEY, id INTEGER NOT NULL, process INTEGER NOT NULL, tid INTEGER NOT NULL, name TEXT, cpu_ns INTEGER NOT NULL, attempted INTEGER NOT NULL, stored INTEGER NOT NULL);
--   position              index of the row
--   id                    0 to 2^32-1
--   process               id of a process             key
--   tid                   0 to 2^32-1
--   name                  text, or NULL
--   cpu_ns                0 to 2^63-1
--   attempted             0 to 2^63-1
--   stored                0 to 2^63-1

-- Since version 1. Merging: rows with equal keys become one.
CREATE TABLE thread_counter(position INTEGER PRIMARY KEY, thread INTEGER NOT NULL, name INTEGER NOT NULL, value INTEGER NOT NULL);
--   position              index of the row
--   thread                thread                      key
--   name                  name                        key
--   value                 0 to 2^63-1                 sum

-- Since version 1. Merging: rows are kept if they are the same everywhere.
CREATE TABLE argument(position INTEGER PRIMARY KEY, text TEXT NOT NULL);
--   position              index of the row
--   text                  text

-- Since version 1. Merging: rows with equal keys become one.
CREATE TABLE degraded(position INTEGER PRIMARY KEY, text TEXT NOT NULL);
--   position              index of the row
--   text                  text                        key

-- Since version 2. Merging: rows stay apart, in the order of their keys.
-- Rows are in the order of their keys, which differ.
CREATE TABLE exact(process INTEGER PRIMARY KEY, threads INTEGER NOT NULL, loads INTEGER NOT NULL, stores INTEGER NOT NULL, load_bytes INTEGER NOT NULL, store_bytes INTEGER NOT NULL, fresh_load_bytes INTEGER NOT NULL, fresh_store_bytes INTEGER NOT NULL, kernel_load_bytes INTEGER NOT NULL, kernel_store_bytes INTEGER NOT NULL, ids INTEGER NOT NULL, contexts INTEGER NOT NULL, instructions INTEGER NOT NULL);
--   process               id of a process             key
--   threads               0 to 2^32-1
--   loads                 0 to 2^50
--   stores                0 to 2^50
--   load_bytes            0 to 2^50
--   store_bytes           0 to 2^50
--   fresh_load_bytes      0 to 2^50
--   fresh_store_bytes     0 to 2^50
--   kernel_load_bytes     0 to 2^50
--   kernel_store_bytes    0 to 2^50
--   ids                   0 to 2^50
--   contexts              0 to 2^50
--   instructions          0 to 2^50

-- Since version 2. Merging: rows stay apart, in the order of their keys.
-- Rows are in the order of their keys, which differ.
CREATE TABLE reuse(process INTEGER PRIMARY KEY, unit_bytes INTEGER NOT NULL, stack INTEGER NOT NULL, accesses REAL NOT NULL, reuses REAL NOT NULL, locations REAL NOT NULL, never_reused REAL NOT NULL, share_first REAL NOT NULL, share_last REAL NOT NULL, kept_accesses INTEGER NOT NULL, kept_locations INTEGER NOT NULL);
--   process               id of a process             key
--   unit_bytes            0 to 2^32-1
--   stack                 0 to 1
--   accesses              0 to 1e+30
--   reuses                0 to 1e+30
--   locations             0 to 1e+30
--   never_reused          0 to 1e+30
--   share_first           above 0 to 1
--   share_last            above 0 to 1
--   kept_accesses         0 to 2^50
--   kept_locations        0 to 2^50

-- Since version 2. Merging: rows stay apart, in the order of their keys.
-- Rows are in the order of their keys, which differ.
CREATE TABLE histogram(process INTEGER NOT NULL, which INTEGER NOT NULL, bin INTEGER NOT NULL, lo INTEGER NOT NULL, hi INTEGER NOT NULL, weight REAL NOT NULL, PRIMARY KEY(process, which, bin)) WITHOUT ROWID;
--   process               id of a process             key
--   which                 0 to 2                      key
--   bin                   0 to 2^32-1                 key
--   lo                    0 to 2^63-1
--   hi                    0 to 2^63-1
--   weight                0 to 1e+30

-- Since version 2. Merging: rows with equal keys become one.
CREATE TABLE reuse_pair(use INTEGER NOT NULL, reuse INTEGER NOT NULL, count INTEGER NOT NULL, weight REAL NOT NULL, time REAL NOT NULL, time_squares REAL NOT NULL, stack REAL NOT NULL, stack_squares REAL NOT NULL, PRIMARY KEY(use, reuse)) WITHOUT ROWID;
--   use                   context, or 0               key
--   reuse                 context, or 0               key
--   count                 0 to 2^50                   sum
--   weight                0 to 1e+30                  sum
--   time                  0 to 1e+30                  sum
--   time_squares          0 to 1e+60                  sum
--   stack                 0 to 1e+30                  sum
--   stack_squares         0 to 1e+60                  sum

-- Since version 3. Merging: rows stay apart, in the order of their keys.
-- Rows are in the order of their keys, which differ.
CREATE TABLE pace(process INTEGER PRIMARY KEY, accesses_per_ns REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, trap_ns REAL NOT NULL, floor_ns REAL NOT NULL, calibration TEXT NOT NULL);
--   process               id of a process             key
--   accesses_per_ns       0 to 1e+30
--   low                   0 to 1e+30
--   high                  0 to 1e+30
--   trap_ns               0 to 1e+30
--   floor_ns              0 to 1e+30
--   calibration           text

-- Since version 3. Merging: rows are kept if they are the same everywhere.
CREATE TABLE cache(position INTEGER PRIMARY KEY, level INTEGER NOT NULL, ways INTEGER NOT NULL, line_bytes INTEGER NOT NULL, sharers INTEGER NOT NULL, bytes INTEGER NOT NULL);
--   position              index of the row
--   level                 0 to 9
--   ways                  0 to 2^32-1
--   line_bytes            0 to 2^32-1
--   sharers               0 to 2^32-1
--   bytes                 0 to 2^50

-- Since version 11. Merging: rows are kept if they are the same everywhere.
CREATE TABLE latency(position INTEGER PRIMARY KEY, level INTEGER NOT NULL, bytes INTEGER NOT NULL, chase_ns REAL NOT NULL, stream_ns REAL NOT NULL);
--   position              index of the row
--   level                 0 to 9
--   bytes                 0 to 2^50
--   chase_ns              0 to 1e+30
--   stream_ns             0 to 1e+30

-- Since version 3. Merging: rows with equal keys become one.
CREATE TABLE what_if(position INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, ways INTEGER NOT NULL, line_bytes INTEGER NOT NULL, accesses INTEGER NOT NULL, misses INTEGER NOT NULL);
--   position              index of the row
--   bytes                 0 to 2^50                   key
--   ways                  0 to 2^32-1                 key
--   line_bytes            0 to 2^32-1                 key
--   accesses              0 to 2^50                   sum
--   misses                0 to 2^50                   sum

-- Since version 3. Merging: rows with equal keys become one, parents first.
CREATE TABLE loop(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, module INTEGER NOT NULL, address INTEGER NOT NULL, function INTEGER, file INTEGER, line INTEGER NOT NULL);
--   id                    index of the row
--   parent                earlier loop, or 0          key
--   module                module, or 0                key
--   address               64 bits                     key
--   function              name, or NULL               key
--   file                  name, or NULL               key
--   line                  0 to 2^32-1                 key

-- Since version 3. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE frame_loop(frame INTEGER PRIMARY KEY, loop INTEGER NOT NULL);
--   frame                 frame, or 0                 key
--   loop                  loop, or 0                  largest

-- Since version 4. Merging: rows with equal keys become one.
CREATE TABLE path_function(id INTEGER PRIMARY KEY, function INTEGER, file INTEGER, address INTEGER NOT NULL, module INTEGER NOT NULL, line INTEGER NOT NULL, table_kind INTEGER NOT NULL, reason INTEGER NOT NULL, why INTEGER, blocks INTEGER NOT NULL, call_sites INTEGER NOT NULL, inline_assembly INTEGER NOT NULL, potential INTEGER NOT NULL, potential_log2 REAL NOT NULL);
--   id                    index of the row
--   function              name, or NULL               key
--   file                  name, or NULL               key
--   address               64 bits                     key
--   module                module, or 0                key
--   line                  0 to 2^32-1                 key
--   table_kind            0 to 2                      key
--   reason                0 to 255                    key
--   why                   name, or NULL               key
--   blocks                0 to 2^32-1                 key
--   call_sites            0 to 2^32-1                 key
--   inline_assembly       0 to 2^32-1                 key
--   potential             0 to 2^63-1                 key
--   potential_log2        0 to 1e+30                  key

-- Since version 4. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE path_block(id INTEGER PRIMARY KEY, function INTEGER NOT NULL, block INTEGER NOT NULL, address INTEGER NOT NULL, instructions INTEGER NOT NULL, loads INTEGER NOT NULL, stores INTEGER NOT NULL, first_line INTEGER NOT NULL, lines INTEGER NOT NULL);
--   id                    index of the row
--   function              path_function               key
--   block                 0 to 2^32-1                 key
--   address               64 bits                     must be the same
--   instructions          0 to 2^32-1                 must be the same
--   loads                 0 to 2^32-1                 must be the same
--   stores                0 to 2^32-1                 must be the same
--   first_line            first path_line of some
--   lines                 0 to 2^32-1

-- Since version 4. Merging: rows belong to those of path_block; of equal owners the longest list stays.
CREATE TABLE path_line(id INTEGER PRIMARY KEY, file INTEGER, function INTEGER, line INTEGER NOT NULL);
--   id                    index of the row
--   file                  name, or NULL               key
--   function              name, or NULL               key
--   line                  0 to 2^32-1                 key

-- Since version 4. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE path(id INTEGER PRIMARY KEY, function INTEGER NOT NULL, flags INTEGER NOT NULL, number INTEGER NOT NULL, count INTEGER NOT NULL, instructions INTEGER NOT NULL, loads INTEGER NOT NULL, stores INTEGER NOT NULL, cycles REAL NOT NULL, measured INTEGER NOT NULL, misses REAL NOT NULL, events REAL NOT NULL, first_step INTEGER NOT NULL, steps INTEGER NOT NULL);
--   id                    index of the row
--   function              path_function               key
--   flags                 0 to 6                      must be the same
--   number                0 to 2^63-1                 key
--   count                 0 to 2^50                   sum
--   instructions          0 to 2^50                   sum
--   loads                 0 to 2^50                   sum
--   stores                0 to 2^50                   sum
--   cycles                up to 1e+30                 follows from several columns
--   measured              0 to 2^50                   sum
--   misses                up to 1e+30                 sum of those not negative
--   events                up to 1e+30                 follows from several columns
--   first_step            first path_step of some
--   steps                 0 to 2^32-1

-- Since version 4. Merging: rows belong to those of path; lists of equal owners must be the same.
CREATE TABLE path_step(id INTEGER PRIMARY KEY, block INTEGER NOT NULL);
--   id                    index of the row
--   block                 path_block                  key

-- Since version 4. Merging: rows with equal keys become one, parents first.
CREATE TABLE vertex(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, function INTEGER NOT NULL, site INTEGER NOT NULL, site_line INTEGER NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL, call_sites INTEGER NOT NULL, call_sites_used INTEGER NOT NULL, call_sites_one_path INTEGER NOT NULL, instructions REAL NOT NULL, cycles REAL NOT NULL, misses REAL NOT NULL, measured INTEGER NOT NULL);
--   id                    index of the row
--   parent                earlier vertex, or 0        key
--   function              path_function, or 0         key
--   site                  0 to 2^32-1                 key
--   site_line             0 to 2^32-1                 largest
--   count                 0 to 2^50                   sum
--   bytes                 0 to 2^50                   largest
--   call_sites            0 to 2^50                   largest
--   call_sites_used       0 to 2^50                   largest
--   call_sites_one_path   0 to 2^50                   largest
--   instructions          up to 1e+30                 sum of those not negative
--   cycles                up to 1e+30                 follows from several columns
--   misses                up to 1e+30                 sum of those not negative
--   measured              0 to 2^50                   sum

-- Since version 4. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE vertex_path(vertex INTEGER NOT NULL, path INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY(vertex, path)) WITHOUT ROWID;
--   vertex                vertex                      key
--   path                  path                        key
--   count                 0 to 2^50                   sum

-- Since version 4. Merging: one row.
CREATE TABLE path_run(position INTEGER PRIMARY KEY, modes INTEGER NOT NULL, cache_bytes INTEGER NOT NULL, cache_ways INTEGER NOT NULL, cache_line INTEGER NOT NULL, cycles_per_read REAL NOT NULL, cycles_per_ns REAL NOT NULL, lost_pieces INTEGER NOT NULL, event TEXT);
--   position              index of the row
--   modes                 0 to 63                     must be the same
--   cache_bytes           0 to 2^50                   must be the same
--   cache_ways            0 to 2^32-1                 must be the same
--   cache_line            0 to 2^32-1                 must be the same
--   cycles_per_read       0 to 1e+30                  largest
--   cycles_per_ns         0 to 1e+30                  largest
--   lost_pieces           0 to 2^50                   sum
--   event                 text, or NULL               must be the same

-- Since version 5. Merging: rows with equal keys become one.
CREATE TABLE block_function(id INTEGER PRIMARY KEY, function INTEGER NOT NULL, file INTEGER, line INTEGER NOT NULL, module INTEGER NOT NULL, address INTEGER NOT NULL, class INTEGER NOT NULL, entry INTEGER NOT NULL, key INTEGER NOT NULL, key_argument INTEGER NOT NULL, every INTEGER NOT NULL);
--   id                    index of the row
--   function              name                        key
--   file                  name, or NULL               key
--   line                  0 to 2^32-1                 key
--   module                module, or 0                key
--   address               64 bits                     key
--   class                 0 to 255                    key
--   entry                 0 to 255                    smallest
--   key                   0 to 255                    key
--   key_argument          0 to 2^32-1                 key
--   every                 0 to 2^32-1                 largest

-- Since version 5. Merging: rows stay apart, in the order of their keys.
CREATE TABLE block_thread(id INTEGER PRIMARY KEY, process INTEGER NOT NULL, tid INTEGER NOT NULL, name TEXT, owners INTEGER NOT NULL, highest_every INTEGER NOT NULL, duration_ns REAL NOT NULL, cost_ns REAL NOT NULL, preempted_ns REAL NOT NULL, asleep_ns REAL NOT NULL, preemptions INTEGER NOT NULL, sleeps INTEGER NOT NULL, events INTEGER NOT NULL, skipped INTEGER NOT NULL, unhooked INTEGER NOT NULL, switches_lost INTEGER NOT NULL);
--   id                    index of the row
--   process               id of a process             key
--   tid                   0 to 2^32-1
--   name                  text, or NULL
--   owners                0 to 2^32-1
--   highest_every         0 to 2^32-1
--   duration_ns           0 to 1e+30
--   cost_ns               0 to 1e+30
--   preempted_ns          0 to 1e+30
--   asleep_ns             0 to 1e+30
--   preemptions           0 to 2^50
--   sleeps                0 to 2^50
--   events                0 to 2^50
--   skipped               0 to 2^50
--   unhooked              0 to 2^50
--   switches_lost         0 to 2^50

-- Since version 5. Merging: rows with equal keys become one.
CREATE TABLE block(id INTEGER PRIMARY KEY, function INTEGER NOT NULL, flags INTEGER NOT NULL, key INTEGER NOT NULL, shape INTEGER NOT NULL, max_ns REAL NOT NULL, first_ns REAL NOT NULL, last_ns REAL NOT NULL, preemptions INTEGER NOT NULL, sleeps INTEGER NOT NULL);
--   id                    index of the row
--   function              block_function, or 0        key
--   flags                 0 to 2^32-1                 key
--   key                   64 bits                     key
--   shape                 64 bits                     key
--   max_ns                0 to 1e+30                  largest
--   first_ns              0 to 1e+30                  smallest
--   last_ns               0 to 1e+30                  largest
--   preemptions           0 to 2^50                   sum
--   sleeps                0 to 2^50                   sum

-- Since version 5. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE block_part(id INTEGER PRIMARY KEY, block INTEGER NOT NULL, thread INTEGER NOT NULL, count INTEGER NOT NULL, recorded INTEGER NOT NULL, sum_ns REAL NOT NULL, min_ns REAL NOT NULL, within_ns REAL NOT NULL, preempted_ns REAL NOT NULL, asleep_ns REAL NOT NULL);
--   id                    index of the row
--   block                 block                       key
--   thread                block_thread                key
--   count                 0 to 2^50                   sum
--   recorded              0 to 2^50                   sum
--   sum_ns                0 to 1e+30                  sum
--   min_ns                0 to 1e+30                  follows from several columns
--   within_ns             0 to 1e+30                  sum
--   preempted_ns          0 to 1e+30                  sum
--   asleep_ns             0 to 1e+30                  sum

-- Since version 5. Merging: rows with equal keys become one.
-- Rows are in the order of block.
CREATE TABLE block_bin(id INTEGER PRIMARY KEY, block INTEGER NOT NULL, low_ns REAL NOT NULL, high_ns REAL NOT NULL, count INTEGER NOT NULL);
--   id                    index of the row
--   block                 block                       key
--   low_ns                0 to 1e+30                  key
--   high_ns               0 to 1e+30                  key
--   count                 0 to 2^50                   sum

-- Since version 5. Merging: rows belong to those of block; of equal owners the longest list stays.
-- Rows are in the order of block.
CREATE TABLE block_child(id INTEGER PRIMARY KEY, block INTEGER NOT NULL, function INTEGER NOT NULL, times INTEGER NOT NULL, shape INTEGER NOT NULL);
--   id                    index of the row
--   block                 block
--   function              block_function              key
--   times                 0 to 2^32-1                 key
--   shape                 64 bits                     key

-- Since version 5. Merging: rows with equal keys become one.
-- Rows are in the order of block.
CREATE TABLE block_stack(id INTEGER PRIMARY KEY, block INTEGER NOT NULL, context INTEGER NOT NULL, taken INTEGER NOT NULL, lost_ns REAL NOT NULL);
--   id                    index of the row
--   block                 block                       key
--   context               context, or 0               key
--   taken                 0 to 2^50                   sum
--   lost_ns               0 to 1e+30                  sum

-- Since version 5. Merging: rows with equal keys become one.
-- Rows are in the order of block.
CREATE TABLE block_holder(id INTEGER PRIMARY KEY, block INTEGER NOT NULL, context INTEGER NOT NULL, times INTEGER NOT NULL, waited_ns REAL NOT NULL);
--   id                    index of the row
--   block                 block                       key
--   context               context, or 0               key
--   times                 0 to 2^50                   sum
--   waited_ns             0 to 1e+30                  sum

-- Since version 5. Merging: rows stay apart, in the order of their keys.
-- Rows are in the order of block.
CREATE TABLE block_sample(id INTEGER PRIMARY KEY, block INTEGER NOT NULL, weight INTEGER NOT NULL, ns REAL NOT NULL, argument0 INTEGER NOT NULL, argument1 INTEGER NOT NULL, argument2 INTEGER NOT NULL, result INTEGER NOT NULL);
--   id                    index of the row
--   block                 block                       key
--   weight                0 to 2^32-1                 key
--   ns                    0 to 1e+30                  key
--   argument0             64 bits                     key
--   argument1             64 bits                     key
--   argument2             64 bits                     key
--   result                64 bits                     key

-- Since version 5. Merging: rows with equal keys become one.
CREATE TABLE block_skip(position INTEGER PRIMARY KEY, function INTEGER NOT NULL, module INTEGER, why INTEGER NOT NULL);
--   position              index of the row
--   function              name                        key
--   module                name, or NULL               key
--   why                   name                        key

-- Since version 5. Merging: one row.
CREATE TABLE block_run(position INTEGER PRIMARY KEY, ns_per_tick REAL NOT NULL, step_ns REAL NOT NULL, wall_ns REAL NOT NULL, stack_period INTEGER NOT NULL, switches INTEGER NOT NULL, automatic INTEGER NOT NULL, lost_pieces INTEGER NOT NULL, no_switches INTEGER NOT NULL, no_areas INTEGER NOT NULL);
--   position              index of the row
--   ns_per_tick           0 to 1e+30
--   step_ns               0 to 1e+30                  largest
--   wall_ns               0 to 1e+30                  largest
--   stack_period          0 to 2^32-1                 largest
--   switches              0 to 2^32-1                 smallest
--   automatic             0 to 2^32-1                 largest
--   lost_pieces           0 to 2^50                   sum
--   no_switches           0 to 2^50                   sum
--   no_areas              0 to 2^50                   sum

-- Since version 6. Merging: rows stay apart, in the order of their keys.
CREATE TABLE merged(position INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL, host TEXT, file TEXT NOT NULL, command TEXT, exit_code INTEGER NOT NULL, exit_signal INTEGER NOT NULL, processes INTEGER NOT NULL);
--   position              index of the row
--   start_ns              0 to 2^63-1                 key
--   host                  text, or NULL               key
--   file                  text                        key
--   command               text, or NULL               key
--   exit_code             -1 to 255                   key
--   exit_signal           -1 to 128                   key
--   processes             0 to 2^32-1                 key

-- Since version 7. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE block_cpu(position INTEGER PRIMARY KEY, thread INTEGER NOT NULL, cpu_ns REAL NOT NULL);
--   position              index of the row
--   thread                block_thread                key
--   cpu_ns                0 to 1e+30                  sum

-- Since version 7. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE block_sleep(position INTEGER PRIMARY KEY, block INTEGER NOT NULL, thread INTEGER NOT NULL, within_ns REAL NOT NULL);
--   position              index of the row
--   block                 block                       key
--   thread                block_thread                key
--   within_ns             0 to 1e+30                  sum

-- Since version 8. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE pair_trait(kind INTEGER NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL, reach INTEGER NOT NULL, near_bytes REAL NOT NULL, PRIMARY KEY(kind, first, second)) WITHOUT ROWID;
--   kind                  0 to 2                      key
--   first                 context, or 0               key
--   second                context, or 0               key
--   reach                 0 to 6                      largest
--   near_bytes            0 to 1e+30                  sum

-- Since version 8. Merging: rows with equal keys become one.
CREATE TABLE cpu_time(module INTEGER NOT NULL, kind INTEGER NOT NULL, ticks INTEGER NOT NULL, ns INTEGER NOT NULL, PRIMARY KEY(module, kind)) WITHOUT ROWID;
--   module                module, or 0                key
--   kind                  0 to 7                      key
--   ticks                 0 to 2^50                   sum
--   ns                    0 to 2^63-1                 sum

-- Since version 9. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE time(context INTEGER NOT NULL, system INTEGER NOT NULL, ticks INTEGER NOT NULL, ns INTEGER NOT NULL, PRIMARY KEY(context, system)) WITHOUT ROWID;
--   context               context, or 0               key
--   system                0 to 1                      key
--   ticks                 0 to 2^50                   sum
--   ns                    0 to 2^63-1                 sum

-- Since version 10. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE counted(kind INTEGER NOT NULL, frame INTEGER NOT NULL, waste_bytes REAL NOT NULL, use_bytes REAL NOT NULL, PRIMARY KEY(kind, frame)) WITHOUT ROWID;
--   kind                  0 to 2                      key
--   frame                 frame                       key
--   waste_bytes           0 to 1e+30                  sum
--   use_bytes             0 to 1e+30                  sum

-- Since version 10. Merging: rows with equal keys become one.
CREATE TABLE wait(position INTEGER PRIMARY KEY, function INTEGER NOT NULL, caller INTEGER, file INTEGER, holder INTEGER, cause INTEGER NOT NULL, line INTEGER NOT NULL, count INTEGER NOT NULL, lost_ns REAL NOT NULL, working_ns REAL NOT NULL);
--   position              index of the row
--   function              name                        key
--   caller                name, or NULL               key
--   file                  name, or NULL               key
--   holder                name, or NULL               key
--   cause                 name                        key
--   line                  0 to 2^32-1                 key
--   count                 0 to 2^50                   sum
--   lost_ns               0 to 1e+30                  sum
--   working_ns            0 to 1e+30                  sum

-- Since version 10. Merging: rows stay apart, in the order of their keys.
-- Rows are in the order of their keys, which differ.
CREATE TABLE shared_run(process INTEGER PRIMARY KEY, threads INTEGER NOT NULL, exhausted INTEGER NOT NULL, instructions INTEGER NOT NULL, true_transfers REAL NOT NULL, false_transfers REAL NOT NULL, unlisted REAL NOT NULL, evicted INTEGER NOT NULL, coarsened INTEGER NOT NULL, early INTEGER NOT NULL, merged INTEGER NOT NULL);
--   process               id of a process             key
--   threads               0 to 2^32-1
--   exhausted             0 to 1
--   instructions          0 to 2^50
--   true_transfers        0 to 1e+30
--   false_transfers       0 to 1e+30
--   unlisted              0 to 1e+30
--   evicted               0 to 2^50
--   coarsened             0 to 2^50
--   early                 0 to 2^50
--   merged                0 to 2^50

-- Since version 10. Merging: rows with equal keys become one.
CREATE TABLE shared_line(id INTEGER PRIMARY KEY, object INTEGER NOT NULL, name INTEGER, context INTEGER NOT NULL, thread INTEGER NOT NULL, size INTEGER NOT NULL, offset INTEGER NOT NULL, address INTEGER NOT NULL, parts TEXT, true_transfers REAL NOT NULL, false_transfers REAL NOT NULL);
--   id                    index of the row
--   object                0 to 6                      key
--   name                  name, or NULL               key
--   context               context, or 0               key
--   thread                0 to 2^32-1                 key
--   size                  0 to 2^50                   key
--   offset                64 bits                     key
--   address               64 bits                     smallest
--   parts                 text, or NULL               smallest
--   true_transfers        0 to 1e+30                  sum
--   false_transfers       0 to 1e+30                  sum

-- Since version 10. Merging: rows with equal keys become one.
CREATE TABLE shared_pair(line INTEGER NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL, first_kind INTEGER NOT NULL, second_kind INTEGER NOT NULL, is_true INTEGER NOT NULL, first_mask INTEGER NOT NULL, second_mask INTEGER NOT NULL, transfers REAL NOT NULL, PRIMARY KEY(line, first, second, first_kind, second_kind, is_true)) WITHOUT ROWID;
--   line                  shared_line                 key
--   first                 context, or 0               key
--   second                context, or 0               key
--   first_kind            0 to 3                      key
--   second_kind           0 to 3                      key
--   is_true               0 to 1                      key
--   first_mask            64 bits                     all bits
--   second_mask           64 bits                     all bits
--   transfers             0 to 1e+30                  sum

-- Since version 10. Merging: rows with equal keys become one.
CREATE TABLE shared_user(line INTEGER NOT NULL, thread INTEGER NOT NULL, read_mask INTEGER NOT NULL, write_mask INTEGER NOT NULL, reads INTEGER NOT NULL, writes INTEGER NOT NULL, PRIMARY KEY(line, thread)) WITHOUT ROWID;
--   line                  shared_line                 key
--   thread                0 to 2^32-1                 key
--   read_mask             64 bits                     all bits
--   write_mask            64 bits                     all bits
--   reads                 0 to 2^50                   sum
--   writes                0 to 2^50                   sum

-- Since version 10. Merging: rows with equal keys become one.
CREATE TABLE shared_move(from_thread INTEGER NOT NULL, to_thread INTEGER NOT NULL, transfers REAL NOT NULL, PRIMARY KEY(from_thread, to_thread)) WITHOUT ROWID;
--   from_thread           0 to 63                     key
--   to_thread             0 to 63                     key
--   transfers             0 to 1e+30                  sum

-- Since version 12. Merging: rows with equal keys become one.
CREATE TABLE shared_field(position INTEGER PRIMARY KEY, line INTEGER NOT NULL, byte INTEGER NOT NULL, bytes INTEGER NOT NULL, bit INTEGER NOT NULL, bits INTEGER NOT NULL, flags INTEGER NOT NULL, path INTEGER NOT NULL, type INTEGER, owner INTEGER, element INTEGER, element_bytes INTEGER NOT NULL);
--   position              index of the row
--   line                  shared_line                 key
--   byte                  0 to 63                     key
--   bytes                 0 to 64                     key
--   bit                   0 to 7                      key
--   bits                  0 to 64                     key
--   flags                 0 to 3                      key
--   path                  name                        key
--   type                  name, or NULL               key
--   owner                 name, or NULL               key
--   element               name, or NULL               key
--   element_bytes         0 to 2^50                   key

-- Since version 12. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE missed(frame INTEGER NOT NULL, bytes INTEGER NOT NULL, accesses REAL NOT NULL, followed INTEGER NOT NULL, missing REAL NOT NULL, in_order REAL NOT NULL, whole REAL NOT NULL, PRIMARY KEY(frame, bytes)) WITHOUT ROWID;
--   frame                 frame                       key
--   bytes                 0 to 2^50                   key
--   accesses              0 to 1e+30                  sum
--   followed              0 to 2^50                   sum
--   missing               0 to 1e+30                  sum
--   in_order              0 to 1e+30                  sum
--   whole                 0 to 1e+30                  sum

-- Since version 12. Merging: rows with equal keys become one.
CREATE TABLE transfer(position INTEGER PRIMARY KEY, first INTEGER NOT NULL, second INTEGER NOT NULL, object INTEGER NOT NULL, cause INTEGER NOT NULL, kind INTEGER NOT NULL, size INTEGER NOT NULL, transfers REAL NOT NULL, whole REAL NOT NULL, instructions REAL NOT NULL);
--   position              index of the row
--   first                 context                     key
--   second                context                     key
--   object                name                        key
--   cause                 name                        key
--   kind                  0 to 6                      key; since version 13
--   size                  0 to 2^50                   key; since version 13
--   transfers             0 to 1e+30                  sum
--   whole                 0 to 1e+30                  sum
--   instructions          0 to 1e+30                  sum

-- Since version 12. Merging: rows with equal keys become one.
CREATE TABLE memory(id INTEGER PRIMARY KEY, object INTEGER NOT NULL, name INTEGER, type INTEGER, module INTEGER NOT NULL, context INTEGER NOT NULL, other INTEGER NOT NULL, size INTEGER NOT NULL);
--   id                    index of the row
--   object                0 to 6                      key
--   name                  name, or NULL               key
--   type                  name, or NULL               key
--   module                module, or 0                key
--   context               context, or 0               key
--   other                 0 to 1                      key
--   size                  0 to 2^50                   key

-- Since version 12. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE located(kind INTEGER NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL, memory INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL, field TEXT, member TEXT, seen INTEGER NOT NULL, weight REAL NOT NULL, PRIMARY KEY(kind, first, second, memory)) WITHOUT ROWID;
--   kind                  0 to 3                      key
--   first                 context, or 0               key
--   second                context, or 0               key
--   memory                memory                      key
--   low                   0 to 2^63-1                 smallest
--   high                  0 to 2^63-1                 largest
--   field                 text, or NULL               NULL unless the same
--   member                text, or NULL               NULL unless the same
--   seen                  0 to 2^50                   sum
--   weight                0 to 1e+30                  sum

-- Since version 12. Merging: rows stay apart, in the order of their keys.
-- Rows are in the order of their keys, which differ.
CREATE TABLE shared_watch(process INTEGER PRIMARY KEY, samples INTEGER NOT NULL, armed INTEGER NOT NULL, met INTEGER NOT NULL, reads INTEGER NOT NULL, late INTEGER NOT NULL, waited INTEGER NOT NULL, reused INTEGER NOT NULL, unknown INTEGER NOT NULL, cross_process INTEGER NOT NULL, spun INTEGER NOT NULL);
--   process               id of a process             key
--   samples               0 to 2^50
--   armed                 0 to 2^50
--   met                   0 to 2^50
--   reads                 0 to 2^50
--   late                  0 to 2^50
--   waited                0 to 2^50
--   reused                0 to 2^50
--   unknown               0 to 2^50
--   cross_process         0 to 2^50; since version 13
--   spun                  0 to 2^50; since version 18

-- Since version 12. Merging: rows with equal keys become one.
CREATE TABLE shared_seen(line INTEGER PRIMARY KEY, samples INTEGER NOT NULL, cpu_ns REAL NOT NULL, true_traps INTEGER NOT NULL, false_traps INTEGER NOT NULL, true_squares REAL NOT NULL, false_squares REAL NOT NULL);
--   line                  shared_line                 key
--   samples               0 to 2^50                   sum
--   cpu_ns                0 to 1e+30                  sum
--   true_traps            0 to 2^50                   sum
--   false_traps           0 to 2^50                   sum
--   true_squares          0 to 1e+30                  sum
--   false_squares         0 to 1e+30                  sum

-- Since version 12. Merging: rows with equal keys become one.
CREATE TABLE shared_gap(line INTEGER NOT NULL, low_ns INTEGER NOT NULL, traps INTEGER NOT NULL, PRIMARY KEY(line, low_ns)) WITHOUT ROWID;
--   line                  shared_line                 key
--   low_ns                0 to 2^50                   key
--   traps                 0 to 2^50                   sum

-- Since version 13. Merging: one row.
CREATE TABLE limit_run(id INTEGER PRIMARY KEY, machine TEXT NOT NULL, title TEXT NOT NULL, measured INTEGER NOT NULL, width INTEGER NOT NULL, other INTEGER NOT NULL, cycle_ns REAL NOT NULL, cycle_spread REAL NOT NULL, outside REAL NOT NULL);
--   id                    index of the row
--   machine               text                        must be the same
--   title                 text                        must be the same
--   measured              0 to 1                      must be the same
--   width                 0 to 2^32-1                 smallest
--   other                 0 to 2^50                   largest
--   cycle_ns              0 to 1e+30                  largest
--   cycle_spread          0 to 1e+30                  largest
--   outside               0 to 1                      largest; since version 17

-- Since version 13. Merging: rows with equal keys become one.
CREATE TABLE limit_loop(id INTEGER PRIMARY KEY, function INTEGER, file INTEGER, line INTEGER NOT NULL, module INTEGER, level INTEGER, address INTEGER NOT NULL, ways INTEGER NOT NULL, calls INTEGER NOT NULL, unknown INTEGER NOT NULL, limited_by INTEGER NOT NULL, next_limit INTEGER NOT NULL, resource REAL NOT NULL, recurrence REAL NOT NULL, frontend REAL NOT NULL, slots REAL NOT NULL, branch REAL NOT NULL, recurrence_most REAL NOT NULL, aliased REAL NOT NULL, certified REAL NOT NULL, predicted REAL NOT NULL, circuit_latency REAL NOT NULL, circuit_distance INTEGER NOT NULL, measured REAL NOT NULL, share REAL NOT NULL, iterations INTEGER NOT NULL, circuit_used INTEGER NOT NULL);
--   id                    index of the row
--   function              name, or NULL               key
--   file                  name, or NULL               key
--   line                  0 to 2^32-1                 key
--   module                name, or NULL               key
--   level                 name, or NULL               key
--   address               64 bits                     key
--   ways                  0 to 2^32-1                 largest
--   calls                 0 to 2^32-1                 largest
--   unknown               0 to 2^32-1                 largest
--   limited_by            0 to 2                      smallest
--   next_limit            0 to 2                      smallest
--   resource              0 to 1e+30                  smallest
--   recurrence            0 to 1e+30                  smallest
--   frontend              0 to 1e+30                  smallest
--   slots                 0 to 1e+30                  smallest
--   branch                0 to 1e+30                  smallest
--   recurrence_most       0 to 1e+30                  largest
--   aliased               0 to 1e+30                  largest
--   certified             0 to 1e+30                  smallest
--   predicted             0 to 1e+30                  largest
--   circuit_latency       0 to 1e+30                  largest
--   circuit_distance      0 to 2^32-1                 largest
--   measured              up to 1e+30                 largest
--   share                 up to 1e+30                 largest
--   iterations            0 to 2^50                   largest
--   circuit_used          0 to 1                      largest; since version 14

-- Since version 13. Merging: rows belong to those of limit_loop; of equal owners the longest list stays.
-- Rows are in the order of loop.
CREATE TABLE limit_instruction(id INTEGER PRIMARY KEY, loop INTEGER NOT NULL, address INTEGER NOT NULL, text INTEGER NOT NULL, file INTEGER, line INTEGER NOT NULL, category INTEGER NOT NULL, pressure REAL NOT NULL);
--   id                    index of the row
--   loop                  limit_loop
--   address               64 bits                     key
--   text                  name                        key
--   file                  name, or NULL               key
--   line                  0 to 2^32-1                 key
--   category              0 to 6                      key
--   pressure              0 to 1e+30                  key

-- Since version 13. Merging: rows belong to those of limit_loop; of equal owners the longest list stays.
-- Rows are in the order of loop.
CREATE TABLE limit_resource(id INTEGER PRIMARY KEY, loop INTEGER NOT NULL, name INTEGER NOT NULL, bottleneck INTEGER NOT NULL, copies REAL NOT NULL, cycles REAL NOT NULL);
--   id                    index of the row
--   loop                  limit_loop
--   name                  name                        key
--   bottleneck            0 to 1                      key
--   copies                0 to 1e+30                  key
--   cycles                0 to 1e+30                  key

-- Since version 13. Merging: rows belong to those of limit_loop; of equal owners the longest list stays.
-- Rows are in the order of loop.
CREATE TABLE limit_arc(id INTEGER PRIMARY KEY, loop INTEGER NOT NULL, source INTEGER NOT NULL, target INTEGER NOT NULL, from_kind INTEGER NOT NULL, to_kind INTEGER NOT NULL, distance INTEGER NOT NULL, memory INTEGER NOT NULL, latency REAL NOT NULL);
--   id                    index of the row
--   loop                  limit_loop
--   source                0 to 2^32-1                 key
--   target                0 to 2^32-1                 key
--   from_kind             0 to 2                      key
--   to_kind               0 to 2                      key
--   distance              0 to 2^32-1                 key
--   memory                0 to 1                      key
--   latency               any number                  key

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE executed_window(id INTEGER PRIMARY KEY, module INTEGER NOT NULL, address INTEGER NOT NULL, process INTEGER NOT NULL, number INTEGER NOT NULL, thread INTEGER NOT NULL, caches INTEGER NOT NULL, execution INTEGER NOT NULL, executions INTEGER NOT NULL);
--   id                    index of the row
--   module                name                        key
--   address               64 bits                     key
--   process               0 to 2^32-1                 key
--   number                0 to 2^32-1                 key
--   thread                0 to 2^32-1                 largest
--   caches                0 to 15                     largest
--   execution             0 to 2^50                   largest
--   executions            0 to 2^50                   largest

-- Since version 14. Merging: rows belong to those of executed_window; of equal owners the longest list stays.
-- Rows are in the order of window.
CREATE TABLE executed_code(id INTEGER PRIMARY KEY, window INTEGER NOT NULL, module INTEGER, address INTEGER NOT NULL, bytes INTEGER NOT NULL);
--   id                    index of the row
--   window                executed_window
--   module                name, or NULL               key
--   address               64 bits                     key
--   bytes                 name                        key

-- Since version 14. Merging: rows belong to those of executed_window; of equal owners the longest list stays.
-- Rows are in the order of window.
CREATE TABLE executed_run(id INTEGER PRIMARY KEY, window INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL);
--   id                    index of the row
--   window                executed_window
--   first                 0 to 2^32-1                 key
--   count                 0 to 2^32-1                 key

-- Since version 14. Merging: rows belong to those of executed_window; of equal owners the longest list stays.
-- Rows are in the order of window.
CREATE TABLE executed_access(id INTEGER PRIMARY KEY, window INTEGER NOT NULL, step INTEGER NOT NULL, address INTEGER NOT NULL, bytes INTEGER NOT NULL, store INTEGER NOT NULL, level INTEGER NOT NULL);
--   id                    index of the row
--   window                executed_window
--   step                  0 to 2^32-1                 key
--   address               64 bits                     key
--   bytes                 0 to 65535                  key
--   store                 0 to 1                      key
--   level                 0 to 15                     key

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE executed_distance(id INTEGER PRIMARY KEY, module INTEGER NOT NULL, address INTEGER NOT NULL, bin INTEGER NOT NULL, weight REAL NOT NULL);
--   id                    index of the row
--   module                name                        key
--   address               64 bits                     key
--   bin                   0 to 255                    key
--   weight                0 to 1e+30                  sum

-- Since version 14. Merging: rows belong to those of limit_loop; of equal owners the longest list stays.
-- Rows are in the order of loop.
CREATE TABLE limit_schedule(id INTEGER PRIMARY KEY, loop INTEGER NOT NULL, memory INTEGER NOT NULL, windows INTEGER NOT NULL, iterations INTEGER NOT NULL, instructions INTEGER NOT NULL, inside INTEGER NOT NULL, loads INTEGER NOT NULL, misses INTEGER NOT NULL, data_flow REAL NOT NULL, units REAL NOT NULL, machine REAL NOT NULL);
--   id                    index of the row
--   loop                  limit_loop
--   memory                0 to 3                      key
--   windows               0 to 2^32-1                 key
--   iterations            0 to 2^50                   key
--   instructions          0 to 2^50                   key
--   inside                0 to 2^50                   key
--   loads                 0 to 2^50                   key
--   misses                0 to 2^50                   key
--   data_flow             0 to 1e+30                  key
--   units                 0 to 1e+30                  key
--   machine               up to 1e+30                 key

-- Since version 14. Merging: rows belong to those of limit_loop; of equal owners the longest list stays.
-- Rows are in the order of loop.
CREATE TABLE limit_use(id INTEGER PRIMARY KEY, loop INTEGER NOT NULL, name INTEGER NOT NULL, cycles REAL NOT NULL, ratio REAL NOT NULL);
--   id                    index of the row
--   loop                  limit_loop
--   name                  name                        key
--   cycles                0 to 1e+30                  key
--   ratio                 0 to 1e+30                  key

-- Since version 14. Merging: rows belong to those of limit_loop; of equal owners the longest list stays.
-- Rows are in the order of loop.
CREATE TABLE limit_operation(id INTEGER PRIMARY KEY, loop INTEGER NOT NULL, iteration INTEGER NOT NULL, kind INTEGER NOT NULL, unit INTEGER, text INTEGER NOT NULL, file INTEGER, line INTEGER NOT NULL, begins REAL NOT NULL, ends REAL NOT NULL);
--   id                    index of the row
--   loop                  limit_loop
--   iteration             0 to 2^32-1                 key
--   kind                  0 to 2                      key
--   unit                  name, or NULL               key
--   text                  name                        key
--   file                  name, or NULL               key
--   line                  0 to 2^32-1                 key
--   begins                0 to 1e+30                  key
--   ends                  0 to 1e+30                  key

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE limit_source(id INTEGER PRIMARY KEY, function INTEGER, file INTEGER, line INTEGER NOT NULL, reason INTEGER, circuit_latency REAL NOT NULL, circuit_distance INTEGER NOT NULL, left_out INTEGER NOT NULL);
--   id                    index of the row
--   function              name, or NULL               key
--   file                  name, or NULL               key
--   line                  0 to 2^32-1                 key
--   reason                name, or NULL               key
--   circuit_latency       0 to 1e+30                  largest
--   circuit_distance      0 to 2^32-1                 largest
--   left_out              0 to 2^32-1                 largest

-- Since version 14. Merging: rows belong to those of limit_source; of equal owners the longest list stays.
-- Rows are in the order of source.
CREATE TABLE limit_dependence(id INTEGER PRIMARY KEY, source INTEGER NOT NULL, kind INTEGER NOT NULL, from_text INTEGER NOT NULL, to_text INTEGER NOT NULL, from_line INTEGER NOT NULL, from_column INTEGER NOT NULL, to_line INTEGER NOT NULL, to_column INTEGER NOT NULL, vector INTEGER, inner INTEGER NOT NULL, distance INTEGER NOT NULL);
--   id                    index of the row
--   source                limit_source
--   kind                  0 to 2                      key
--   from_text             name                        key
--   to_text               name                        key
--   from_line             0 to 2^32-1                 key
--   from_column           0 to 2^32-1                 key
--   to_line               0 to 2^32-1                 key
--   to_column             0 to 2^32-1                 key
--   vector                name, or NULL               key
--   inner                 0 to 1                      key
--   distance              0 to 2^32-1                 key

-- Since version 14. Merging: rows belong to those of limit_source; of equal owners the longest list stays.
-- Rows are in the order of source.
CREATE TABLE limit_step(id INTEGER PRIMARY KEY, source INTEGER NOT NULL, from_text INTEGER NOT NULL, to_text INTEGER NOT NULL, from_line INTEGER NOT NULL, to_line INTEGER NOT NULL, from_kind INTEGER NOT NULL, to_kind INTEGER NOT NULL, distance INTEGER NOT NULL, latency REAL NOT NULL);
--   id                    index of the row
--   source                limit_source
--   from_text             name                        key
--   to_text               name                        key
--   from_line             0 to 2^32-1                 key
--   to_line               0 to 2^32-1                 key
--   from_kind             0 to 2                      key
--   to_kind               0 to 2                      key
--   distance              0 to 2^32-1                 key
--   latency               0 to 1e+30                  key

-- Since version 14. Merging: rows belong to those of limit_loop; of equal owners the longest list stays.
-- Rows are in the order of loop.
CREATE TABLE limit_match(id INTEGER PRIMARY KEY, loop INTEGER NOT NULL, function INTEGER, line INTEGER NOT NULL, iterations INTEGER NOT NULL, counters INTEGER NOT NULL);
--   id                    index of the row
--   loop                  limit_loop
--   function              name, or NULL               key
--   line                  0 to 2^32-1                 key
--   iterations            0 to 2^32-1                 key
--   counters              0 to 2^32-1                 key

-- Since version 14. Merging: rows belong to those of limit_loop; of equal owners the longest list stays.
-- Rows are in the order of loop.
CREATE TABLE limit_fate(id INTEGER PRIMARY KEY, loop INTEGER NOT NULL, kind INTEGER NOT NULL, fate INTEGER NOT NULL, from_text INTEGER NOT NULL, to_text INTEGER NOT NULL, from_line INTEGER NOT NULL, to_line INTEGER NOT NULL, distance INTEGER NOT NULL, scalar INTEGER NOT NULL, may INTEGER NOT NULL);
--   id                    index of the row
--   loop                  limit_loop
--   kind                  0 to 2                      key
--   fate                  0 to 3                      key
--   from_text             name                        key
--   to_text               name                        key
--   from_line             0 to 2^32-1                 key
--   to_line               0 to 2^32-1                 key
--   distance              0 to 2^32-1                 key
--   scalar                0 to 1                      key
--   may                   0 to 1                      key

-- Since version 14. Merging: rows stay apart, in the order of their keys.
CREATE TABLE stat_session(id INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL, seed INTEGER NOT NULL, rounds INTEGER NOT NULL, processors INTEGER NOT NULL, cycle_ns REAL NOT NULL, cycle_spread REAL NOT NULL, tick_ns REAL NOT NULL, load REAL NOT NULL);
--   id                    index of the row
--   start_ns              0 to 2^63-1                 key
--   seed                  0 to 2^63-1                 key
--   rounds                0 to 2^32-1
--   processors            0 to 2^32-1
--   cycle_ns              0 to 1e+30
--   cycle_spread          0 to 1e+30
--   tick_ns               0 to 1e+30
--   load                  0 to 1e+30

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE stat_subject(id INTEGER PRIMARY KEY, number INTEGER NOT NULL, command TEXT NOT NULL, level INTEGER, program TEXT, content INTEGER NOT NULL);
--   id                    index of the row
--   number                0 to 2^32-1                 key
--   command               text                        key
--   level                 name, or NULL               key
--   program               text, or NULL               smallest
--   content               64 bits                     key

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE stat_region(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, name INTEGER NOT NULL);
--   id                    index of the row
--   kind                  0 to 3                      key
--   name                  name                        key

-- Since version 14. Merging: rows stay apart, in the order of their keys.
CREATE TABLE stat_run(id INTEGER PRIMARY KEY, session INTEGER NOT NULL, position INTEGER NOT NULL, subject INTEGER NOT NULL, round INTEGER NOT NULL, warm INTEGER NOT NULL, timed INTEGER NOT NULL, wall_ns INTEGER NOT NULL, user_ns INTEGER NOT NULL, system_ns INTEGER NOT NULL, minor_faults INTEGER NOT NULL, major_faults INTEGER NOT NULL, voluntary INTEGER NOT NULL, involuntary INTEGER NOT NULL, peak_bytes INTEGER NOT NULL);
--   id                    index of the row
--   session               stat_session                key
--   position              0 to 2^32-1                 key
--   subject               stat_subject
--   round                 0 to 2^32-1
--   warm                  0 to 1
--   timed                 0 to 1
--   wall_ns               0 to 2^63-1
--   user_ns               0 to 2^63-1
--   system_ns             0 to 2^63-1
--   minor_faults          0 to 2^63-1
--   major_faults          0 to 2^63-1
--   voluntary             0 to 2^63-1
--   involuntary           0 to 2^63-1
--   peak_bytes            0 to 2^63-1

-- Since version 14. Merging: rows stay apart, in the order of their keys.
CREATE TABLE stat_visit(id INTEGER PRIMARY KEY, run INTEGER NOT NULL, region INTEGER NOT NULL, visits INTEGER NOT NULL, recorded INTEGER NOT NULL, sum_ns REAL NOT NULL, min_ns REAL NOT NULL, max_ns REAL NOT NULL, preempted_ns REAL NOT NULL, asleep_ns REAL NOT NULL, preemptions INTEGER NOT NULL, sleeps INTEGER NOT NULL, cost_ns REAL NOT NULL);
--   id                    index of the row
--   run                   stat_run                    key
--   region                stat_region                 key
--   visits                0 to 2^50
--   recorded              0 to 2^50
--   sum_ns                0 to 1e+30
--   min_ns                0 to 1e+30
--   max_ns                0 to 1e+30
--   preempted_ns          0 to 1e+30
--   asleep_ns             0 to 1e+30
--   preemptions           0 to 2^50
--   sleeps                0 to 2^50
--   cost_ns               0 to 1e+30

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE stat_trip(id INTEGER PRIMARY KEY, subject INTEGER NOT NULL, region INTEGER NOT NULL, visits INTEGER NOT NULL, iterations INTEGER NOT NULL);
--   id                    index of the row
--   subject               stat_subject                key
--   region                stat_region                 key
--   visits                0 to 2^50                   largest
--   iterations            0 to 2^50                   largest

-- Since version 14. Merging: rows stay apart, in the order of their keys.
CREATE TABLE stat_event(id INTEGER PRIMARY KEY, run INTEGER NOT NULL, name INTEGER NOT NULL, value INTEGER NOT NULL, share REAL NOT NULL);
--   id                    index of the row
--   run                   stat_run                    key
--   name                  name                        key
--   value                 0 to 2^63-1
--   share                 0 to 1e+30

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE stat_skip(position INTEGER PRIMARY KEY, subject INTEGER NOT NULL, region INTEGER NOT NULL, why INTEGER NOT NULL);
--   position              index of the row
--   subject               stat_subject                key
--   region                stat_region                 key
--   why                   name                        key

-- Since version 14. Merging: one row.
CREATE TABLE map_run(id INTEGER PRIMARY KEY, module TEXT NOT NULL, asked TEXT, producer TEXT, file TEXT, measure TEXT, kind INTEGER NOT NULL, line INTEGER NOT NULL, absence INTEGER NOT NULL, previous INTEGER NOT NULL, next INTEGER NOT NULL, shown INTEGER NOT NULL, address INTEGER NOT NULL, ranges INTEGER NOT NULL, variables INTEGER NOT NULL, unknown INTEGER NOT NULL, scope_bytes INTEGER NOT NULL, known_bytes INTEGER NOT NULL, functions INTEGER NOT NULL, assignments INTEGER NOT NULL, sources INTEGER NOT NULL, missing INTEGER NOT NULL);
--   id                    index of the row
--   module                text                        must be the same
--   asked                 text, or NULL               must be the same
--   producer              text, or NULL               NULL unless the same
--   file                  text, or NULL               must be the same
--   measure               text, or NULL               NULL unless the same
--   kind                  0 to 3                      must be the same
--   line                  0 to 2^32-1                 smallest
--   absence               0 to 5                      smallest
--   previous              0 to 2^32-1                 smallest
--   next                  0 to 2^32-1                 smallest
--   shown                 0 to 2^32-1                 smallest
--   address               64 bits                     smallest
--   ranges                0 to 2^50                   largest
--   variables             0 to 2^50                   largest
--   unknown               0 to 2^50                   largest
--   scope_bytes           0 to 2^50                   largest
--   known_bytes           0 to 2^50                   largest
--   functions             0 to 2^50                   largest
--   assignments           0 to 2^50                   largest
--   sources               0 to 2^50                   largest
--   missing               0 to 2^50                   largest

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE map_range(id INTEGER PRIMARY KEY, start INTEGER NOT NULL, stop INTEGER NOT NULL, file INTEGER, function INTEGER, chain INTEGER, line INTEGER NOT NULL, source_column INTEGER NOT NULL, discriminator INTEGER NOT NULL, view_number INTEGER NOT NULL, statement INTEGER NOT NULL, depth INTEGER NOT NULL, copy INTEGER NOT NULL, heat REAL NOT NULL);
--   id                    index of the row
--   start                 64 bits                     key
--   stop                  64 bits                     key
--   file                  name, or NULL               key
--   function              name, or NULL               key
--   chain                 name, or NULL               key
--   line                  0 to 2^32-1                 key
--   source_column         0 to 2^32-1                 key
--   discriminator         0 to 2^32-1                 key
--   view_number           0 to 2^32-1                 key
--   statement             0 to 1                      key
--   depth                 0 to 2^32-1                 largest
--   copy                  0 to 7                      largest
--   heat                  up to 1e+30                 largest

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE map_instruction(id INTEGER PRIMARY KEY, address INTEGER NOT NULL, text INTEGER NOT NULL, file INTEGER, line INTEGER NOT NULL, heat REAL NOT NULL);
--   id                    index of the row
--   address               64 bits                     key
--   text                  name                        key
--   file                  name, or NULL               key
--   line                  0 to 2^32-1                 key
--   heat                  up to 1e+30                 largest

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE map_variable(id INTEGER PRIMARY KEY, name INTEGER, type INTEGER, function INTEGER, place INTEGER NOT NULL, reason INTEGER, declared INTEGER NOT NULL, residence INTEGER NOT NULL, class INTEGER NOT NULL, assigned INTEGER NOT NULL, shadowed INTEGER NOT NULL);
--   id                    index of the row
--   name                  name, or NULL               key
--   type                  name, or NULL               key
--   function              name, or NULL               key
--   place                 name                        key
--   reason                name, or NULL               key
--   declared              0 to 2^32-1                 key
--   residence             0 to 6                      key
--   class                 0 to 4                      largest
--   assigned              0 to 2^32-1                 largest
--   shadowed              0 to 1                      largest

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE map_class(residence INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);
--   residence             0 to 6                      key
--   bytes                 0 to 2^50                   largest

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE map_finding(id INTEGER PRIMARY KEY, function INTEGER, variable INTEGER NOT NULL, file INTEGER, line INTEGER NOT NULL, class INTEGER NOT NULL, early INTEGER NOT NULL, address INTEGER NOT NULL);
--   id                    index of the row
--   function              name, or NULL               key
--   variable              name                        key
--   file                  name, or NULL               key
--   line                  0 to 2^32-1                 key
--   class                 0 to 4                      key
--   early                 0 to 1                      key
--   address               64 bits                     key

-- Since version 14. Merging: rows belong to those of map_finding; of equal owners the longest list stays.
-- Rows are in the order of finding.
CREATE TABLE map_stop(id INTEGER PRIMARY KEY, finding INTEGER NOT NULL, address INTEGER NOT NULL, file INTEGER, line INTEGER NOT NULL);
--   id                    index of the row
--   finding               map_finding
--   address               64 bits                     key
--   file                  name, or NULL               key
--   line                  0 to 2^32-1                 key

-- Since version 15. Merging: one row.
CREATE TABLE locality_run(id INTEGER PRIMARY KEY, path TEXT NOT NULL, placed TEXT NOT NULL, swept TEXT);
--   id                    index of the row
--   path                  text                        must be the same
--   placed                text                        must be the same
--   swept                 text, or NULL               must be the same

-- Since version 15. Merging: rows stay apart, in the order of their keys.
CREATE TABLE locality_level(id INTEGER PRIMARY KEY, name INTEGER NOT NULL, bytes INTEGER NOT NULL, ways INTEGER NOT NULL, line_bytes INTEGER NOT NULL);
--   id                    index of the row
--   name                  name                        key
--   bytes                 0 to 2^50                   key
--   ways                  0 to 2^32-1                 key
--   line_bytes            0 to 2^32-1                 key

-- Since version 15. Merging: rows stay apart, in the order of their keys.
CREATE TABLE locality_nest(id INTEGER PRIMARY KEY, function INTEGER, file INTEGER, unverified INTEGER, line INTEGER NOT NULL, accesses INTEGER NOT NULL, exact INTEGER NOT NULL, late INTEGER NOT NULL, suggested INTEGER NOT NULL, suggested_late INTEGER NOT NULL, tried INTEGER NOT NULL, illegal INTEGER NOT NULL);
--   id                    index of the row
--   function              name, or NULL               key
--   file                  name, or NULL               key
--   unverified            name, or NULL
--   line                  0 to 2^32-1                 key
--   accesses              0 to 2^63-1
--   exact                 0 to 1
--   late                  0 to 1
--   suggested             0 to 1
--   suggested_late        0 to 1
--   tried                 0 to 2^50
--   illegal               0 to 2^50

-- Since version 15. Merging: rows belong to those of locality_nest; of equal owners the longest list stays.
-- Rows are in the order of nest.
CREATE TABLE locality_array(id INTEGER PRIMARY KEY, nest INTEGER NOT NULL, name INTEGER NOT NULL, address INTEGER NOT NULL, size_bytes INTEGER NOT NULL);
--   id                    index of the row
--   nest                  locality_nest
--   name                  name
--   address               64 bits
--   size_bytes            0 to 2^63-1

-- Since version 15. Merging: rows belong to those of locality_nest; of equal owners the longest list stays.
-- Rows are in the order of nest.
CREATE TABLE locality_reference(id INTEGER PRIMARY KEY, nest INTEGER NOT NULL, array INTEGER NOT NULL, text INTEGER NOT NULL, file INTEGER, source INTEGER, line INTEGER NOT NULL, source_column INTEGER NOT NULL, store INTEGER NOT NULL, conditional INTEGER NOT NULL, accesses INTEGER NOT NULL);
--   id                    index of the row
--   nest                  locality_nest
--   array                 locality_array
--   text                  name
--   file                  name, or NULL
--   source                name, or NULL
--   line                  0 to 2^32-1
--   source_column         0 to 2^32-1
--   store                 0 to 1
--   conditional           0 to 1
--   accesses              0 to 2^63-1

-- Since version 15. Merging: rows belong to those of locality_nest; of equal owners the longest list stays.
-- Rows are in the order of nest.
CREATE TABLE locality_pair(id INTEGER PRIMARY KEY, nest INTEGER NOT NULL, reference INTEGER NOT NULL, by_reference INTEGER NOT NULL, misses REAL NOT NULL, conflict REAL NOT NULL);
--   id                    index of the row
--   nest                  locality_nest
--   reference             locality_reference
--   by_reference          locality_reference
--   misses                0 to 1e+30
--   conflict              0 to 1e+30

-- Since version 15. Merging: rows belong to those of locality_nest; of equal owners the longest list stays.
-- Rows are in the order of nest.
CREATE TABLE locality_suggestion(id INTEGER PRIMARY KEY, nest INTEGER NOT NULL, kind INTEGER NOT NULL, kept INTEGER NOT NULL, split INTEGER NOT NULL, gap_bytes INTEGER NOT NULL, saved REAL NOT NULL, accesses INTEGER NOT NULL);
--   id                    index of the row
--   nest                  locality_nest
--   kind                  0 to 2
--   kept                  0 to 2^32-1
--   split                 0 to 1
--   gap_bytes             0 to 2^32-1
--   saved                 any number
--   accesses              0 to 2^63-1

-- Since version 15. Merging: rows belong to those of locality_suggestion; of equal owners the longest list stays.
-- Rows are in the order of suggestion.
CREATE TABLE locality_loop(id INTEGER PRIMARY KEY, suggestion INTEGER NOT NULL, loop INTEGER NOT NULL, line INTEGER NOT NULL, tile INTEGER NOT NULL);
--   id                    index of the row
--   suggestion            locality_suggestion
--   loop                  0 to 2^32-1
--   line                  0 to 2^32-1
--   tile                  0 to 2^63-1

-- Since version 15. Merging: rows belong to those of locality_suggestion; of equal owners the longest list stays.
-- Rows are in the order of suggestion.
CREATE TABLE locality_padding(id INTEGER PRIMARY KEY, suggestion INTEGER NOT NULL, array INTEGER NOT NULL, elements INTEGER NOT NULL, padded_elements INTEGER NOT NULL);
--   id                    index of the row
--   suggestion            locality_suggestion
--   array                 locality_array
--   elements              0 to 2^63-1
--   padded_elements       0 to 2^63-1

-- Since version 15. Merging: rows stay apart, in the order of their keys.
CREATE TABLE locality_point(id INTEGER PRIMARY KEY, value INTEGER NOT NULL, accesses INTEGER NOT NULL);
--   id                    index of the row
--   value                 -4.61169e+18 to 4.61169e+18 key
--   accesses              0 to 2^63-1

-- Since version 15. Merging: rows belong to those of locality_nest; of equal owners the longest list stays.
-- Rows are in the order of owner.
CREATE TABLE locality_total(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, level INTEGER NOT NULL, misses REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, cold REAL NOT NULL, capacity REAL NOT NULL, conflict REAL NOT NULL, simulated REAL NOT NULL, points INTEGER NOT NULL, cut INTEGER NOT NULL, exact INTEGER NOT NULL);
--   id                    index of the row
--   owner                 locality_nest
--   level                 locality_level
--   misses                0 to 1e+30
--   low                   0 to 1e+30
--   high                  0 to 1e+30
--   cold                  0 to 1e+30
--   capacity              0 to 1e+30
--   conflict              0 to 1e+30
--   simulated             up to 1e+30
--   points                0 to 2^50
--   cut                   0 to 2^50
--   exact                 0 to 1

-- Since version 15. Merging: rows belong to those of locality_reference; of equal owners the longest list stays.
-- Rows are in the order of owner.
CREATE TABLE locality_miss(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, level INTEGER NOT NULL, misses REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, cold REAL NOT NULL, capacity REAL NOT NULL, conflict REAL NOT NULL, simulated REAL NOT NULL, points INTEGER NOT NULL, cut INTEGER NOT NULL, exact INTEGER NOT NULL);
--   id                    index of the row
--   owner                 locality_reference
--   level                 locality_level
--   misses                0 to 1e+30
--   low                   0 to 1e+30
--   high                  0 to 1e+30
--   cold                  0 to 1e+30
--   capacity              0 to 1e+30
--   conflict              0 to 1e+30
--   simulated             up to 1e+30
--   points                0 to 2^50
--   cut                   0 to 2^50
--   exact                 0 to 1

-- Since version 15. Merging: rows belong to those of locality_suggestion; of equal owners the longest list stays.
-- Rows are in the order of owner.
CREATE TABLE locality_saving(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, level INTEGER NOT NULL, misses REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, cold REAL NOT NULL, capacity REAL NOT NULL, conflict REAL NOT NULL, simulated REAL NOT NULL, points INTEGER NOT NULL, cut INTEGER NOT NULL, exact INTEGER NOT NULL);
--   id                    index of the row
--   owner                 locality_suggestion
--   level                 locality_level
--   misses                0 to 1e+30
--   low                   0 to 1e+30
--   high                  0 to 1e+30
--   cold                  0 to 1e+30
--   capacity              0 to 1e+30
--   conflict              0 to 1e+30
--   simulated             up to 1e+30
--   points                0 to 2^50
--   cut                   0 to 2^50
--   exact                 0 to 1

-- Since version 15. Merging: rows belong to those of locality_point; of equal owners the longest list stays.
-- Rows are in the order of owner.
CREATE TABLE locality_sweep(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, level INTEGER NOT NULL, misses REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, cold REAL NOT NULL, capacity REAL NOT NULL, conflict REAL NOT NULL, simulated REAL NOT NULL, points INTEGER NOT NULL, cut INTEGER NOT NULL, exact INTEGER NOT NULL);
--   id                    index of the row
--   owner                 locality_point
--   level                 locality_level
--   misses                0 to 1e+30
--   low                   0 to 1e+30
--   high                  0 to 1e+30
--   cold                  0 to 1e+30
--   capacity              0 to 1e+30
--   conflict              0 to 1e+30
--   simulated             up to 1e+30
--   points                0 to 2^50
--   cut                   0 to 2^50
--   exact                 0 to 1

-- Since version 15. Merging: rows stay apart, in the order of their keys.
CREATE TABLE locality_rejection(id INTEGER PRIMARY KEY, file INTEGER NOT NULL, reason INTEGER NOT NULL, help INTEGER, line INTEGER NOT NULL, source_column INTEGER NOT NULL);
--   id                    index of the row
--   file                  name
--   reason                name
--   help                  name, or NULL
--   line                  0 to 2^32-1
--   source_column         0 to 2^32-1

-- Since version 14. Merging: one row.
CREATE TABLE ceiling_run(id INTEGER PRIMARY KEY, cpu_ns REAL NOT NULL, innermost_ns REAL NOT NULL, eligible_ns REAL NOT NULL, measured_ns REAL NOT NULL, held_ns REAL NOT NULL, other INTEGER NOT NULL, named INTEGER NOT NULL);
--   id                    index of the row
--   cpu_ns                0 to 1e+30                  sum
--   innermost_ns          0 to 1e+30                  sum
--   eligible_ns           0 to 1e+30                  sum
--   measured_ns           0 to 1e+30                  sum
--   held_ns               0 to 1e+30                  sum
--   other                 0 to 2^50                   largest
--   named                 0 to 2^50                   largest; since version 18

-- Since version 14. Merging: rows with equal keys become one.
CREATE TABLE ceiling_loop(id INTEGER PRIMARY KEY, function INTEGER NOT NULL, file INTEGER, line INTEGER NOT NULL, module INTEGER NOT NULL, address INTEGER NOT NULL, reason INTEGER, reason_id INTEGER, reason_file INTEGER, reason_line INTEGER NOT NULL, share REAL NOT NULL, samples INTEGER NOT NULL, trials INTEGER NOT NULL, disturbed INTEGER NOT NULL, cycles REAL NOT NULL, l1_cycles REAL NOT NULL, l1_least REAL NOT NULL, gap REAL NOT NULL, gap_low REAL NOT NULL, gap_high REAL NOT NULL, turns REAL NOT NULL, recurrence REAL NOT NULL, instructions INTEGER NOT NULL, short_executions INTEGER NOT NULL);
--   id                    index of the row
--   function              name                        key
--   file                  name, or NULL               key
--   line                  0 to 2^32-1                 key
--   module                name                        key
--   address               64 bits                     key
--   reason                name, or NULL               key
--   reason_id             name, or NULL               key
--   reason_file           name, or NULL               key
--   reason_line           0 to 2^32-1                 key
--   share                 0 to 1e+30                  largest
--   samples               0 to 2^50                   sum
--   trials                0 to 2^50                   sum
--   disturbed             0 to 2^50                   sum
--   cycles                up to 1e+30                 largest
--   l1_cycles             up to 1e+30                 largest
--   l1_least              up to 1e+30                 smallest
--   gap                   any number                  smallest
--   gap_low               any number                  smallest
--   gap_high              any number                  largest
--   turns                 up to 1e+30                 largest
--   recurrence            0 to 1e+30                  smallest
--   instructions          0 to 2^32-1                 largest
--   short_executions      0 to 1                      largest

-- Since version 16. Merging: rows with equal keys become one.
CREATE TABLE ceiling_variant(id INTEGER PRIMARY KEY, loop INTEGER NOT NULL, variant INTEGER NOT NULL, reason INTEGER, ratio REAL NOT NULL, ratio_low REAL NOT NULL, ratio_high REAL NOT NULL, trials INTEGER NOT NULL);
--   id                    index of the row
--   loop                  ceiling_loop                key
--   variant               name                        key
--   reason                name, or NULL               key
--   ratio                 up to 1e+30                 largest
--   ratio_low             any number                  smallest
--   ratio_high            any number                  largest
--   trials                0 to 2^50                   sum

-- Since version 16. Merging: rows with equal keys become one.
CREATE TABLE waste_sample(kind INTEGER PRIMARY KEY, share REAL NOT NULL, locations REAL NOT NULL, whole_squares REAL NOT NULL, waste_squares REAL NOT NULL);
--   kind                  0 to 2                      key
--   share                 above 0 to 1                smallest
--   locations             0 to 1e+30                  sum
--   whole_squares         0 to 1e+60                  sum
--   waste_squares         0 to 1e+60                  sum

-- Since version 17. Merging: rows with equal keys become one.
-- Rows are in the order of their keys, which differ.
CREATE TABLE what_if_site(frame INTEGER NOT NULL, store INTEGER NOT NULL, bytes INTEGER NOT NULL, ways INTEGER NOT NULL, line_bytes INTEGER NOT NULL, accesses INTEGER NOT NULL, misses INTEGER NOT NULL, moved_bytes INTEGER NOT NULL, low INTEGER NOT NULL, stop INTEGER NOT NULL, step INTEGER NOT NULL, PRIMARY KEY(frame, store, bytes, ways, line_bytes)) WITHOUT ROWID;
--   frame                 frame                       key
--   store                 0 to 1                      key
--   bytes                 0 to 2^50                   key
--   ways                  0 to 2^32-1                 key
--   line_bytes            0 to 2^32-1                 key
--   accesses              0 to 2^50                   sum
--   misses                0 to 2^50                   sum
--   moved_bytes           0 to 2^50                   sum
--   low                   0 to 2^50                   smallest
--   stop                  0 to 2^50                   largest
--   step                  0 to 2^50                   largest

-- Since version 17. Merging: rows belong to those of locality_reference; of equal owners the longest list stays.
-- Rows are in the order of reference.
CREATE TABLE locality_recorded(id INTEGER PRIMARY KEY, reference INTEGER NOT NULL, executions REAL NOT NULL, accesses INTEGER NOT NULL, moved_bytes INTEGER NOT NULL, misses INTEGER NOT NULL);
--   id                    index of the row
--   reference             locality_reference
--   executions            0 to 1e+30
--   accesses              0 to 2^50
--   moved_bytes           0 to 2^50
--   misses                0 to 2^50
