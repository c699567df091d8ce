// SPDX-License-Identifier: MIT
/* A sound profile with a row or more in every table but `merged`, whose rows make it a merged one
   (sound_profile_merge); for those who damage it. */
#ifndef HEADROOM_TESTS_SOUND_PROFILE_H
#define HEADROOM_TESTS_SOUND_PROFILE_H

#include "require.h"

#include "profile/profile.h"

static inline uint32_t sound_context(struct profile *profile, uint32_t parent, const char *function)
{
    struct profile_frame *frame = profile_add_frames(profile);
    *frame = (struct profile_frame){.function = function, .file = "/x/a.c", .line = 3, .module = 1};
    *profile_add_contexts(profile) =
        (struct profile_context){parent, (uint32_t)profile->frames_count - 1};
    return (uint32_t)profile->contexts_count - 1;
}

static inline void sound_fill_spans(struct profile *profile, uint32_t place)
{
    *profile_add_span_functions(profile) =
        (struct profile_span_function){.function = "lock", .class = 1, .key = 1};
    *profile_add_span_functions(profile) =
        (struct profile_span_function){.function = "f(int)", .file = "/x/a.c", .line = 3};
    for (uint32_t i = 0; i < 2; i++)
        *profile_add_span_threads(profile) = (struct profile_span_thread){
            .tid = i, .duration_ns = 1e9, .events = 9, .cost_ns = 5, .owners = 1};
    for (uint32_t i = 0; i < 3; i++) {
        *profile_add_spans(profile) =
            (struct profile_span){.function = i, .flags = i ? 0 : 2, .max_ns = 5000};
        *profile_add_span_parts(profile) =
            (struct profile_span_part){i, i % 2, 2000, 2000, 4e6, 100, 1e5, 1e4, 1e4};
        *profile_add_span_bins(profile) = (struct profile_span_bin){i, 96, 112, 1500};
        *profile_add_span_bins(profile) = (struct profile_span_bin){i, 4096, 5120, 500};
        *profile_add_span_children(profile) = (struct profile_span_child){i, 1, 2, 0};
        *profile_add_span_stacks(profile) = (struct profile_span_stack){i, place, 5, 1e4};
        *profile_add_span_holders(profile) = (struct profile_span_holder){i, place, 5, 1e4};
        for (uint64_t j = 0; j < 24; j++)
            *profile_add_span_samples(profile) =
                (struct profile_span_sample){i, 1, 100 + 100 * (double)j, j, 5, 5, 5};
    }
    for (uint32_t i = 0; i < 2; i++)
        *profile_add_span_cpus(profile) = (struct profile_span_cpu){i, 5e8};
    *profile_add_span_sleeps(profile) = (struct profile_span_sleep){0, 0, 5e3};
    *profile_add_span_skips(profile) = (struct profile_span_skip){"g", "/x/a", "too odd"};
    *profile_add_span_runs(profile) = (struct profile_span_run){.ns_per_tick = 0.5,
                                                                .step_ns = 1,
                                                                .wall_ns = 1e9,
                                                                .stack_period = 10000,
                                                                .switches = 1,
                                                                .automatic = 1};
}

static inline void sound_fill_paths(struct profile *profile)
{
    *profile_add_path_functions(profile) = (struct profile_path_function){
        .function = "f(int)", .file = "/x/a.c", .module = 1, .table_kind = 1, .blocks = 2};
    *profile_add_path_functions(profile) =
        (struct profile_path_function){.module = 1, .reason = 3, .why = "too odd"};
    *profile_add_path_blocks(profile) = (struct profile_path_block){1, 0, 0x10, 3, 1, 1, 0, 2};
    *profile_add_path_blocks(profile) = (struct profile_path_block){1, 1, 0x20, 3, 1, 1, 2, 0};
    *profile_add_path_lines(profile) = (struct profile_path_line){"/x/a.c", NULL, 3};
    *profile_add_path_lines(profile) = (struct profile_path_line){"/x/a.h", "g", 4};
    *profile_add_paths(profile) = (struct profile_path){.function = 1,
                                                        .count = 9,
                                                        .instructions = 54,
                                                        .loads = 18,
                                                        .stores = 18,
                                                        .cycles = 90,
                                                        .measured = 3,
                                                        .misses = -1,
                                                        .events = -1,
                                                        .steps = 2};
    *profile_add_paths(profile) = (struct profile_path){.function = 1,
                                                        .flags = 6,
                                                        .number = 1,
                                                        .count = 3,
                                                        .instructions = 9,
                                                        .loads = 3,
                                                        .stores = 3,
                                                        .cycles = -1,
                                                        .misses = 7,
                                                        .events = 5,
                                                        .first_step = 2,
                                                        .steps = 1};
    for (uint32_t i = 0; i < 3; i++)
        profile_add_path_steps(profile)->block = i % 2;
    *profile_add_vertices(profile) = (struct profile_vertex){.function = 1,
                                                             .site = UINT32_MAX,
                                                             .count = 9,
                                                             .bytes = 80,
                                                             .call_sites = 1,
                                                             .call_sites_used = 1,
                                                             .call_sites_one_path = 1,
                                                             .instructions = 63,
                                                             .cycles = 97,
                                                             .misses = -1,
                                                             .measured = 2};
    *profile_add_vertices(profile) = (struct profile_vertex){
        .parent = 1, .function = 1, .site_line = 3, .count = 1, .bytes = 80, .call_sites = 1};
    *profile_add_vertex_paths(profile) = (struct profile_vertex_path){1, 0, 9};
    *profile_add_path_runs(profile) = (struct profile_path_run){.modes = 11, .cycles_per_ns = 2};
}

static inline void sound_fill_reuse(struct profile *profile, uint32_t use, uint32_t reuse)
{
    *profile_add_reuses(profile) = (struct profile_reuse){.process = 1,
                                                          .unit_bytes = 64,
                                                          .stack = 1,
                                                          .accesses = 5000,
                                                          .reuses = 4000,
                                                          .locations = 1000,
                                                          .never_reused = 10,
                                                          .share_first = 1,
                                                          .share_last = 1,
                                                          .kept_accesses = 5000,
                                                          .kept_locations = 1000};
    *profile_add_bins(profile) = (struct profile_bin){1, PROFILE_TIME, 9, 512, 1024, 4000};
    *profile_add_bins(profile) = (struct profile_bin){1, PROFILE_STACK, 5, 32, 64, 4000};
    *profile_add_paces(profile) = (struct profile_pace){
        .process = 1, .accesses_per_ns = 1, .low = 1, .high = 1, .calibration = "by the stars"};
    *profile_add_reuse_pairs(profile) =
        (struct profile_reuse_pair){use, reuse, 400, 4000, 3e6, 3e9, 2e5, 2e7};
    *profile_add_caches(profile) =
        (struct profile_cache){.level = 1, .ways = 8, .line_bytes = 64, .bytes = 32768};
    *profile_add_latencies(profile) = (struct profile_latency){1, 16384, 1.25, 0.5};
    *profile_add_latencies(profile) = (struct profile_latency){0, 1 << 27, 100, 3};
    *profile_add_what_ifs(profile) = (struct profile_what_if){32768, 8, 64, 5000, 300};
    *profile_add_what_if_sites(profile) =
        (struct profile_what_if_site){1, 1, 32768, 8, 64, 100, 30, 800, 4096, 4896, 8};
    *profile_add_loops(profile) =
        (struct profile_loop){.module = 1, .address = 16, .function = "f(int)", .file = "/x/a.c"};
    *profile_add_loops(profile) = (struct profile_loop){.parent = 1, .module = 1, .address = 32};
    *profile_add_frame_loops(profile) = (struct profile_frame_loop){2, 2};
}

static inline void sound_fill_limits(struct profile *profile)
{
    *profile_add_waste_samples(profile) = (struct profile_waste_sample){2, 0.01, 300, 1e9, 1e8};
    *profile_add_ceiling_runs(profile) = (struct profile_ceiling_run){4e9, 3e9, 2e9, 1e9, 1e7, 1};
    *profile_add_ceiling_loops(profile) = (struct profile_ceiling_loop){.function = "triad",
                                                                        .file = "/src/a.c",
                                                                        .line = 3,
                                                                        .module = "/bin/a",
                                                                        .address = 0x1130,
                                                                        .reason_file = "/src/a.c",
                                                                        .reason_line = 4,
                                                                        .share = .5,
                                                                        .samples = 100,
                                                                        .trials = 3,
                                                                        .cycles = 9,
                                                                        .l1_cycles = 3,
                                                                        .l1_least = 2.5,
                                                                        .gap = 2.0 / 3,
                                                                        .gap_low = .6,
                                                                        .gap_high = .7,
                                                                        .turns = 1000,
                                                                        .recurrence = 1,
                                                                        .instructions = 8};
    *profile_add_ceiling_variants(profile) = (struct profile_ceiling_variant){
        .variant = "l2", .ratio = 1.5, .ratio_low = 1.4, .ratio_high = 1.7, .trials = 3};
    *profile_add_ceiling_variants(profile) =
        (struct profile_ceiling_variant){.variant = "fp", .ratio = -1, .reason = "of a reason"};
    *profile_add_limit_runs(profile) = (struct profile_limit_run){"here", "a processor", 1, 8, 2};
    *profile_add_limit_loops(profile) = (struct profile_limit_loop){.function = "f(int)",
                                                                    .file = "/x/a.c",
                                                                    .line = 7,
                                                                    .module = "/x/prog",
                                                                    .address = 32,
                                                                    .ways = 1,
                                                                    .limit = 1,
                                                                    .resource = 1,
                                                                    .recurrence = 4,
                                                                    .frontend = 0.5,
                                                                    .certified = 4,
                                                                    .predicted = 4,
                                                                    .circuit_latency = 4,
                                                                    .circuit_distance = 1,
                                                                    .measured = -1,
                                                                    .share = 0.5};
    *profile_add_limit_instructions(profile) =
        (struct profile_limit_instruction){0, 32, "addsd %xmm1, %xmm0", "/x/a.c", 7, 2, 0.5};
    *profile_add_limit_resources(profile) = (struct profile_limit_resource){0, "p0", 1, 1, 1};
    *profile_add_limit_arcs(profile) =
        (struct profile_limit_arc){.from_kind = 1, .to_kind = 1, .distance = 1, .latency = 4};
}

static inline void sound_fill_executed(struct profile *profile)
{
    *profile_add_executed_windows(profile) = (struct profile_executed_window){
        .module = "/x/prog", .address = 32, .number = 1, .execution = 5, .executions = 9};
    *profile_add_executed_codes(profile) =
        (struct profile_executed_code){0, "/x/prog", 32, "488b3f"};
    *profile_add_executed_codes(profile) = (struct profile_executed_code){0, NULL, 35, "ebfb"};
    *profile_add_executed_runs(profile) = (struct profile_executed_run){0, 0, 2};
    *profile_add_executed_runs(profile) = (struct profile_executed_run){0, 0, 2};
    *profile_add_executed_accesses(profile) =
        (struct profile_executed_access){.address = 64, .bytes = 8, .level = 1};
    *profile_add_executed_accesses(profile) =
        (struct profile_executed_access){.step = 2, .address = 128, .bytes = 8};
    *profile_add_executed_distances(profile) =
        (struct profile_executed_distance){"/x/prog", 32, 9, 100};
    *profile_add_limit_schedules(profile) = (struct profile_limit_schedule){.windows = 1,
                                                                            .iterations = 2,
                                                                            .instructions = 4,
                                                                            .inside = 4,
                                                                            .loads = 2,
                                                                            .data_flow = 4,
                                                                            .units = 4,
                                                                            .machine = -1};
    *profile_add_limit_uses(profile) = (struct profile_limit_use){0, "p0", 1, 0.25};
    *profile_add_limit_operations(profile) =
        (struct profile_limit_operation){.iteration = 1, .text = "mov (%rdi), %rdi", .end = 4};
    *profile_add_limit_sources(profile) =
        (struct profile_limit_source){"f", "/x/a.c", 6, NULL, 16, 1};
    *profile_add_limit_dependences(profile) =
        (struct profile_limit_dependence){0, 0, "c[i]", "c[i - 1]", 7, 9, 7, 16, "(0+, 1)", 1, 1};
    *profile_add_limit_steps(profile) = (struct profile_limit_step){
        .from_text = "c[i]", .to_text = "c[i - 1]", .from_kind = 2, .distance = 1, .latency = 2};
    *profile_add_limit_matches(profile) = (struct profile_limit_match){0, "f", 6, 1, 1};
    *profile_add_limit_fates(profile) =
        (struct profile_limit_fate){.fate = 1, .from_text = "c[i]", .to_text = "c[i - 1]"};
}

static inline void sound_fill_stat(struct profile *profile)
{
    *profile_add_stat_sessions(profile) =
        (struct profile_stat_session){1000, 7, 2, 2, 0.5, 0.01, 0.5, 0.1};
    *profile_add_stat_subjects(profile) =
        (struct profile_stat_subject){0, "prog", "O2", "/x/prog", 77};
    *profile_add_stat_subjects(profile) = (struct profile_stat_subject){1, "other", .content = 78};
    *profile_add_stat_regions(profile) = (struct profile_stat_region){"run", PROFILE_STAT_RUN};
    *profile_add_stat_regions(profile) = (struct profile_stat_region){"f", PROFILE_STAT_FUNCTION};
    for (uint32_t i = 0; i < 6; i++)
        *profile_add_stat_runs(profile) = (struct profile_stat_run){.subject = i % 2,
                                                                    .round = i / 2,
                                                                    .position = i,
                                                                    .timed = i > 3,
                                                                    .wall_ns = 1000 + i,
                                                                    .user_ns = 900};
    *profile_add_stat_visits(profile) =
        (struct profile_stat_visit){5, 1, 10, 5, 500, 10, 90, 1, 2, 1, 1, 30};
    *profile_add_stat_trips(profile) = (struct profile_stat_trip){1, 1, 10, 100};
    *profile_add_stat_events(profile) = (struct profile_stat_event){0, "perf::CYCLES:u", 99, 0.5};
    *profile_add_stat_skips(profile) = (struct profile_stat_skip){0, 1, "it is too short"};
}

static inline void sound_fill_map(struct profile *profile)
{
    *profile_add_map_runs(profile) = (struct profile_map_run){.module = "/x/prog",
                                                              .asked = "f(int)",
                                                              .producer = "GNU C17 12.2.0",
                                                              .kind = PROFILE_MAP_FUNCTION,
                                                              .address = 32,
                                                              .ranges = 1,
                                                              .variables = 2,
                                                              .scope_bytes = 20,
                                                              .known_bytes = 10};
    *profile_add_map_ranges(profile) = (struct profile_map_range){.start = 32,
                                                                  .end = 36,
                                                                  .file = "/x/a.c",
                                                                  .function = "f(int)",
                                                                  .line = 7,
                                                                  .statement = 1,
                                                                  .heat = -1};
    *profile_add_map_instructions(profile) =
        (struct profile_map_instruction){32, "addsd %xmm1, %xmm0", "/x/a.c", 7, -1};
    *profile_add_map_variables(profile) = (struct profile_map_variable){
        .name = "x", .type = "int", .function = "f(int)", .where = "rbx", .residence = 1};
    *profile_add_map_classes(profile) = (struct profile_map_class){1, 10};
    *profile_add_map_findings(profile) = (struct profile_map_finding){.function = "f(int)",
                                                                      .variable = "y",
                                                                      .file = "/x/a.c",
                                                                      .line = 7,
                                                                      .class = 1,
                                                                      .address = 64};
    *profile_add_map_stops(profile) = (struct profile_map_stop){0, 36, "/x/a.c", 8};
}

static inline void sound_fill_locality(struct profile *profile)
{
    const struct profile_locality_figure figure = {
        .misses = 9, .low = 8, .high = 10, .capacity = 9, .simulated = -1, .points = 100};
    *profile_add_locality_runs(profile) =
        (struct profile_locality_run){"/x/a.c", "one behind the other", "n"};
    *profile_add_locality_levels(profile) = (struct profile_locality_level){"L1", 32768, 8, 64};
    *profile_add_locality_nests(profile) = (struct profile_locality_nest){
        .function = "f(int)", .file = "/x/a.c", .line = 7, .accesses = 20, .suggested = 1};
    *profile_add_locality_arrays(profile) = (struct profile_locality_array){0, "A", 4096, 800};
    *profile_add_locality_references(profile) = (struct profile_locality_reference){
        .text = "A", .file = "/x/a.c", .line = 7, .column = 3, .accesses = 20};
    *profile_add_locality_pairs(profile) = (struct profile_locality_pair){0, 0, 0, 9, 1};
    *profile_add_locality_suggestions(profile) = (struct profile_locality_suggestion){
        .kind = PROFILE_LOCALITY_TILES, .saved = 0.5, .accesses = 20};
    *profile_add_locality_loops(profile) = (struct profile_locality_loop){0, 0, 7, 16};
    *profile_add_locality_paddings(profile) = (struct profile_locality_padding){0, 0, 10, 18};
    *profile_add_locality_points(profile) = (struct profile_locality_point){100, 20};
    *profile_add_locality_totals(profile) = figure;
    *profile_add_locality_misses(profile) = figure;
    *profile_add_locality_savings(profile) = figure;
    *profile_add_locality_sweeps(profile) = figure;
    *profile_add_locality_recorded(profile) = (struct profile_locality_recorded){0, 2, 20, 160, 18};
    *profile_add_locality_rejections(profile) =
        (struct profile_locality_rejection){"/x/a.c", "a call", "inline it", 9, 1};
}

static inline void sound_profile_fill(struct profile *profile)
{
    profile_add_modules(profile)->path = "/x/prog";
    uint32_t outer = sound_context(profile, 0, "main"),
             first = sound_context(profile, outer, "f(int)");
    uint32_t second = sound_context(profile, outer, NULL);
    *profile_add_kinds(profile) = (struct profile_kind){.kind = PROFILE_DEAD, .samples = 100};
    *profile_add_pairs(profile) = (struct profile_pair){.kind = PROFILE_DEAD,
                                                        .first = first,
                                                        .second = second,
                                                        .waste_bytes = 800,
                                                        .waste_squares = 6400,
                                                        .waste_traps = 100};
    *profile_add_sampled(profile) = (struct profile_sampled){PROFILE_DEAD, first, 100, 100, 100};
    *profile_add_cpu_times(profile) =
        (struct profile_cpu_time){1, PROFILE_CPU_LINES, 10, 125000000};
    *profile_add_times(profile) = (struct profile_time){0, 0, 1, 12500000};
    *profile_add_times(profile) = (struct profile_time){first, 0, 8, 100000000};
    *profile_add_times(profile) = (struct profile_time){first, 1, 1, 12500000};
    sound_fill_limits(profile);
    sound_fill_executed(profile);
    sound_fill_stat(profile);
    sound_fill_map(profile);
    sound_fill_locality(profile);
    *profile_add_waits(profile) = (struct profile_wait){
        "pthread_mutex_lock", "work", "work.c", NULL, "lock", 7, 1000, 1e8, 1e9};
    *profile_add_counted(profile) = (struct profile_counted){PROFILE_DEAD, 1, 4096, 1024};
    *profile_add_shared_runs(profile) = (struct profile_shared_run){.process = 1,
                                                                    .threads = 3,
                                                                    .instructions = 10000,
                                                                    .true_transfers = 10,
                                                                    .false_transfers = 90,
                                                                    .unlisted = 1};
    *profile_add_shared_lines(profile) =
        (struct profile_shared_line){.object = PROFILE_OBJECT_GLOBAL,
                                     .name = profile_keep(profile, "counters"),
                                     .offset = 64,
                                     .address = 0x4040,
                                     .parts = profile_keep(profile, "0 counters\n8 others\n"),
                                     .true_transfers = 9,
                                     .false_transfers = 90};
    *profile_add_shared_pairs(profile) =
        (struct profile_shared_pair){0, first, first, 2, 3, 0, 0xff, 0xff00, 90};
    *profile_add_shared_users(profile) = (struct profile_shared_user){0, 1, 0xff, 0xff00, 7, 8};
    *profile_add_shared_moves(profile) = (struct profile_shared_move){1, 2, 90};
    *profile_add_shared_fields(profile) =
        (struct profile_shared_field){.line = 0,
                                      .byte = 8,
                                      .bytes = 4,
                                      .flags = PROFILE_FIELD_GUESSED,
                                      .path = profile_keep(profile, "counters[1].hits"),
                                      .type = profile_keep(profile, "int"),
                                      .element = profile_keep(profile, "struct counter"),
                                      .element_bytes = 16};
    *profile_add_missed(profile) = (struct profile_missed){1, 32768, 100, 100, 90, 80, 1000};
    *profile_add_transfers(profile) = (struct profile_transfer){
        1, 1, "counters", "sharing.apart", PROFILE_OBJECT_GLOBAL, 64, 90, 100, 1e6};
    *profile_add_memories(profile) = (struct profile_memory){.object = PROFILE_OBJECT_GLOBAL,
                                                             .name = "counters",
                                                             .type = "struct counter[8]",
                                                             .module = 1,
                                                             .size = 128};
    *profile_add_memories(profile) = (struct profile_memory){
        .object = PROFILE_OBJECT_HEAP, .context = first, .other = 1, .size = 4096};
    *profile_add_located(profile) =
        (struct profile_located){PROFILE_DEAD,
                                 first,
                                 first,
                                 1,
                                 64,
                                 72,
                                 profile_keep(profile, "counters[4].misses (struct counter +8)"),
                                 profile_keep(profile, "counters[].misses"),
                                 3,
                                 24};
    *profile_add_shared_watches(profile) =
        (struct profile_shared_watch){1, 100, 60, 20, 5, 4, 3, 2, 1, 0, 7};
    *profile_add_shared_seens(profile) =
        (struct profile_shared_seen){0, 50, 1e9, 4, 16, 1000, 8100};
    *profile_add_shared_gaps(profile) = (struct profile_shared_gap){0, 1024, 20};
    *profile_add_drops(profile) = (struct profile_drop){"kernel", "in a system call", 1};
    *profile_add_processes(profile) = (struct profile_process){.id = 1};
    *profile_add_threads(profile) = (struct profile_thread){.id = 1};
    *profile_add_exacts(profile) = (struct profile_exact){.process = 1, .threads = 1, .loads = 5};
    *profile_add_counters(profile) = (struct profile_counter){0, "hops", 1};
    *profile_add_traits(profile) =
        (struct profile_trait){PROFILE_DEAD, first, second, PROFILE_REACH_UNKNOWN, 8};
    sound_fill_reuse(profile, first, second);
    sound_fill_paths(profile);
    sound_fill_spans(profile, first);
    profile_add_arguments(profile)->text = "prog";
    profile_add_degraded(profile)->text = "degraded";
    profile->run.verb = "waste";
    profile->run.engine = "live";
    profile->run.weighting = "cpu-time";
    profile->run.version = "0";
    profile->run.attempted = 101;
    profile->run.stored = 100;
}

/* Of two recordings, the second one's process being that of the profile. */
static inline void sound_profile_merge(struct profile *profile)
{
    *profile_add_merged(profile) =
        (struct profile_merged){.file = "x", .host = "h", .start_ns = 1, .processes = 1};
    *profile_add_merged(profile) =
        (struct profile_merged){.file = "y", .command = "prog", .start_ns = 2, .processes = 1};
}

#endif
