// SPDX-License-Identifier: MIT
/*
 * Reports of paths and calling contexts: a profile small enough to work everything out by hand; the
 * JSON is read by a library, the text compared with what a person should see.
 */
#include "paths/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>
#include <cmocka.h>

enum { A = 1, B, C, D, HARD };

static uint32_t add_function(struct profile *profile, const char *name, uint32_t line)
{
    *profile_add_path_functions(profile) =
        (struct profile_path_function){.function = name,
                                       .file = "/no/such/a.c",
                                       .address = 0x1000 + line,
                                       .module = 1,
                                       .line = line,
                                       .table_kind = PROFILE_TABLE_ARRAY,
                                       .blocks = 4,
                                       .call_sites = 2,
                                       .potential = 4,
                                       .potential_log2 = 2};
    return (uint32_t)profile->path_functions_count - 1;
}

/* A block on lines first..last. */
static void add_block(struct profile *profile, uint32_t function, uint32_t block, uint32_t first,
                      uint32_t last)
{
    struct profile_path_block *added = profile_add_path_blocks(profile);
    *added = (struct profile_path_block){.function = function,
                                         .block = block,
                                         .address = 0x1000 + first,
                                         .first_line = (uint32_t)profile->path_lines_count,
                                         .lines = last - first + 1};
    for (uint32_t line = first; line <= last; line++)
        *profile_add_path_lines(profile) =
            (struct profile_path_line){profile->path_functions[function].file, NULL, line};
}

static void add_path(struct profile *profile, uint32_t function, uint32_t flags, uint64_t number,
                     uint64_t count, uint64_t instructions, double cycles, uint32_t first_block,
                     uint32_t steps)
{
    *profile_add_paths(profile) =
        (struct profile_path){.function = function,
                              .flags = flags,
                              .number = number,
                              .count = count,
                              .instructions = instructions,
                              .cycles = cycles,
                              .misses = -1,
                              .events = -1,
                              .first_step = (uint32_t)profile->path_steps_count,
                              .steps = steps};
    for (uint32_t i = 0; i < steps; i++)
        profile_add_path_steps(profile)->block = first_block + i;
}

static void add_vertex(struct profile *profile, uint32_t parent, uint32_t function, uint32_t site,
                       uint64_t bytes, uint32_t sites, uint32_t one_path, double cycles)
{
    *profile_add_vertices(profile) =
        (struct profile_vertex){parent,   function, site,   site == UINT32_MAX ? 0 : 70 + site,
                                3,        bytes,    sites,  sites,
                                one_path, -1,       cycles, -1};
}

static void add_contexts(struct profile *profile)
{
    static const uint32_t none = UINT32_MAX;
    add_vertex(profile, 0, A, none, 100, 2, 1, 680);
    add_vertex(profile, 1, B, 0, 60, 1, 1, 200);
    add_vertex(profile, 1, B, 1, 60, 1, 0, 100);
    add_vertex(profile, 2, C, none, 40, 0, 0, 0);
    add_vertex(profile, 3, C, none, 40, 0, 0, 0);
    add_vertex(profile, 0, B, none, 60, 0, 0, 20); /* from a signal handler's root */
}

/*
 * 1000 instructions and 1000 cycles, so that the average is one cycle an instruction:
 *   A/0  600 cycles in 100 instructions: hot, dense      A/1  80 in 100: hot, sparse
 *   B/0  315 in 750: hot, sparse                         B/7  5 in 50: cold
 */
static struct profile *new_profile(void)
{
    struct profile *profile = profile_new();
    profile_add_modules(profile)->path = "/home/u/prog";
    add_function(profile, "alpha", 10);
    add_function(profile, "beta", 30);
    add_function(profile, "gamma", 50);
    add_function(profile, "delta", 60);
    add_function(profile, "hard", 90);
    profile->path_functions[B].table_kind = PROFILE_TABLE_HASH;
    profile->path_functions[D].reason = PROFILE_PATH_TRUNCATED;
    profile->path_functions[D].why = "too many";
    profile->path_functions[D].potential = 0;
    profile->path_functions[D].potential_log2 = 214;
    profile->path_functions[HARD].reason = 5;
    profile->path_functions[HARD].why = "jumps \033[31mabout";
    profile->path_functions[HARD].inline_assembly = 2;
    add_block(profile, A, 0, 10, 11);
    add_block(profile, A, 1, 12, 12);
    add_block(profile, A, 3, 14, 15);
    add_block(profile, B, 0, 30, 31);
    add_path(profile, A, 0, 0, 10, 100, 600, 0, 3);
    add_path(profile, A, PROFILE_PATH_FROM_CUT | PROFILE_PATH_TO_CUT, 1, 1, 100, 80, 1, 2);
    add_path(profile, B, PROFILE_PATH_FROM_ROOT, 0, 5, 750, 315, 3, 1);
    add_path(profile, B, 0, 7, 1, 50, 5, 3, 1);
    add_contexts(profile);
    *profile_add_path_runs(profile) = (struct profile_path_run){
        .modes = PROFILE_PATHS | PROFILE_CONTEXTS | PROFILE_CALL_SITES | PROFILE_CYCLES,
        .cycles_per_read = 12,
        .cycles_per_ns = 2};
    profile->run.verb = "paths";
    profile->run.engine = "built";
    profile->run.weighting = "accesses";
    profile->run.version = "0.1.0";
    profile->run.exit_code = 0;
    profile->run.wall_s = 1;
    profile->run.cpu_s = 1e-6; /* 2000 cycles */
    profile->run.processes = profile->run.threads = 1;
    profile_add_arguments(profile)->text = "./prog";
    assert_true(profile_check(profile));
    return profile;
}

static char *text_of(struct profile *profile, const struct report_options *options)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(report_text(profile, options, out), BASE_OK);
    fclose(out);
    return text;
}

static json_t *json_of(struct profile *profile, const struct report_options *options)
{
    char *text = NULL;
    size_t bytes;
    json_error_t error;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(report_json(profile, options, out), BASE_OK);
    fclose(out);
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        print_error("%s\n%s\n", error.text, text);
    assert_non_null(json);
    free(text);
    return json;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        print_error("not found: %s\nin:\n%s\n", part, text);
    assert_non_null(strstr(text, part));
}

/* ---- figures --------------------------------------------------------------------------------- */

static void close_to(double value, double wanted)
{
    if (fabs(value - wanted) > 1e-9)
        print_error("%.12g, not %.12g\n", value, wanted);
    assert_true(fabs(value - wanted) <= 1e-9);
}

static void paths_and_procedures_are_classified(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {0};
    struct paths_figures figures;
    assert_true(paths_figures(profile, &options, &figures));
    assert_int_equal(figures.metric, REPORT_CYCLES);
    assert_true(figures.density && !figures.wanted_missing && figures.hot == 0.01);
    close_to(figures.average, 1);
    assert_int_equal(figures.classes[0], PATHS_HOT_DENSE);
    assert_int_equal(figures.classes[1], PATHS_HOT_SPARSE);
    assert_int_equal(figures.classes[2], PATHS_HOT_SPARSE);
    assert_int_equal(figures.classes[3], PATHS_COLD);
    const uint32_t order[] = {0, 2, 1, 3};
    assert_memory_equal(figures.ranked, order, sizeof order);
    close_to(figures.sums[PATHS_HOT_DENSE].paths_metric, 600);
    close_to(figures.sums[PATHS_HOT_SPARSE].paths_metric, 395);
    close_to(figures.sums[PATHS_COLD].paths_metric, 5);
    /* alpha: 680 cycles in 200 instructions; beta: 320 in 800. */
    assert_int_equal(figures.functions_count, 2);
    assert_true(figures.functions[0].id == A && figures.functions[0].class == PATHS_HOT_DENSE);
    assert_true(figures.functions[1].id == B && figures.functions[1].class == PATHS_HOT_SPARSE);
    assert_int_equal(figures.sums[PATHS_HOT_DENSE].procedures, 1);
    assert_int_equal(figures.sums[PATHS_HOT_DENSE].procedure_paths, 2);
    assert_true(figures.instrumented == 4 && figures.truncated == 1 && figures.hashed == 1);
    assert_true(figures.skipped == 1 && figures.assembly == 2);
    close_to(figures.instrumented_time, 0.5);
    paths_figures_free(&figures);
    profile_free(profile);
}

static void coverage_is_counted(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {0};
    struct paths_figures figures;
    assert_true(paths_figures(profile, &options, &figures));
    const uint64_t paths[] = {2, 3, 4, 4}, covers[] = {1, 2, 2, 3};
    const double covered[] = {0.915, 0.995, 1, 1};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(figures.thresholds[i].paths, paths[i]);
        close_to(figures.thresholds[i].covered, covered[i]);
        assert_int_equal(figures.covers[i].paths, covers[i]);
    }
    paths_figures_free(&figures);
    profile_free(profile);
}

static void the_threshold_itself_is_hot(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {.hot = 0.08};
    struct paths_figures figures;
    assert_true(paths_figures(profile, &options, &figures));
    assert_int_equal(figures.classes[1], PATHS_HOT_SPARSE);
    paths_figures_free(&figures);
    options.hot = 0.0801;
    assert_true(paths_figures(profile, &options, &figures));
    assert_int_equal(figures.classes[1], PATHS_COLD);
    paths_figures_free(&figures);
    /* As dense as the average is dense. */
    profile->paths[2].cycles = 750;
    profile->paths[0].cycles = 165;
    options.hot = 0.01;
    assert_true(paths_figures(profile, &options, &figures));
    assert_int_equal(figures.classes[2], PATHS_HOT_DENSE);
    paths_figures_free(&figures);
    profile_free(profile);
}

static void metrics_are_chosen(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {.metric = 1 + REPORT_INSTRUCTIONS};
    struct paths_figures figures;
    assert_true(paths_figures(profile, &options, &figures));
    assert_true(figures.metric == REPORT_INSTRUCTIONS && !figures.density);
    /* Without density what is hot is not divided. */
    assert_int_equal(figures.sums[PATHS_HOT_DENSE].paths, 4);
    assert_int_equal(figures.ranked[0], 2);
    paths_figures_free(&figures);
    options.metric = 1 + REPORT_MISSES;
    assert_true(paths_figures(profile, &options, &figures));
    assert_true(figures.metric == REPORT_CYCLES && figures.wanted_missing);
    paths_figures_free(&figures);
    for (size_t i = 0; i < profile->paths_count; i++)
        profile->paths[i].cycles = -1;
    options.metric = 0;
    assert_true(paths_figures(profile, &options, &figures));
    assert_true(figures.metric == REPORT_INSTRUCTIONS && !figures.measured[REPORT_CYCLES]);
    assert_true(figures.instrumented_time < 0);
    paths_figures_free(&figures);
    profile->paths[1].misses = 2;
    assert_true(paths_figures(profile, &options, &figures));
    assert_true(figures.metric == REPORT_MISSES && figures.classes[1] == PATHS_HOT_DENSE);
    assert_int_equal(figures.classes[0], PATHS_COLD);
    paths_figures_free(&figures);
    profile_free(profile);
}

/*
 * root → alpha → beta (site 0) → gamma
 *              → beta (site 1) → gamma
 *      → beta
 */
static void the_context_tree_is_measured(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {0};
    struct paths_figures figures;
    assert_true(paths_figures(profile, &options, &figures));
    const struct paths_contexts *contexts = &figures.contexts;
    assert_true(contexts->nodes == 6 && contexts->bytes == 360);
    close_to(contexts->mean_node_bytes, 60);
    close_to(contexts->mean_degree, 4.0 / 3);
    close_to(contexts->height_mean, 7.0 / 3);
    assert_int_equal(contexts->height_max, 3);
    assert_true(contexts->max_replication == 3 && contexts->most_replicated == B);
    assert_true(contexts->call_sites == 4 && contexts->call_sites_used == 4);
    assert_int_equal(contexts->call_sites_one_path, 2);
    assert_true(contexts->metric == REPORT_CYCLES && contexts->total == 1000);
    const uint32_t order[] = {1, 2, 3, 6};
    assert_int_equal(contexts->ranked_count, 4);
    assert_memory_equal(contexts->ranked, order, sizeof order);
    paths_figures_free(&figures);
    /* Roots of threads are no contexts: the tree below keeps its height. */
    profile->vertices[6].function = 0;
    profile->vertices[6].cycles = -1;
    assert_true(paths_figures(profile, &options, &figures));
    assert_true(figures.contexts.nodes == 5 && figures.contexts.bytes == 360);
    close_to(figures.contexts.height_mean, 3);
    paths_figures_free(&figures);
    profile_free(profile);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void json_holds_it_all(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {0};
    json_t *json = json_of(profile, &options), *paths = json_object_get(json, "paths");
    assert_null(json_object_get(json, "waste"));
    assert_null(json_object_get(json, "reuse"));
    json_t *functions = json_object_get(paths, "functions");
    assert_int_equal(json_array_size(functions), 5);
    json_t *alpha = json_array_get(functions, 0), *truncated = NULL;
    assert_string_equal(json_string_value(json_object_get(alpha, "function")), "alpha");
    assert_string_equal(json_string_value(json_object_get(alpha, "file")), "/no/such/a.c");
    assert_true(number(alpha, "potential_paths") == 4 && number(alpha, "executed_paths") == 2);
    close_to(number(json_object_get(alpha, "share"), "cycles"), 0.68);
    close_to(number(json_object_get(alpha, "share"), "instructions"), 0.2);
    assert_null(json_object_get(json_object_get(alpha, "share"), "misses"));
    for (size_t i = 0; i < 5; i++)
        if (json_object_get(json_array_get(functions, i), "state") &&
            strcmp(json_string_value(json_object_get(json_array_get(functions, i), "state")),
                   "truncated") == 0)
            truncated = json_array_get(functions, i);
    assert_true(json_is_null(json_object_get(truncated, "potential_paths")));
    assert_true(number(truncated, "potential_log2") == 214);
    json_t *list = json_object_get(paths, "paths"), *first = json_array_get(list, 0);
    assert_int_equal(json_array_size(list), 4);
    assert_true(number(first, "number") == 0 && number(first, "count") == 10);
    assert_string_equal(json_string_value(json_object_get(first, "class")), "hot-dense");
    assert_string_equal(json_string_value(json_object_get(first, "begins")), "entry");
    assert_string_equal(json_string_value(json_object_get(first, "ends")), "exit");
    close_to(number(json_object_get(first, "metrics"), "cycles"), 600);
    close_to(number(json_object_get(first, "share"), "cycles"), 0.6);
    json_t *blocks = json_object_get(first, "blocks");
    assert_int_equal(json_array_size(blocks), 3);
    assert_true(number(json_array_get(blocks, 2), "line") == 14);
    assert_true(number(json_array_get(blocks, 2), "block") == 3);
    json_t *executed = json_array_get(json_object_get(alpha, "executed_blocks"), 2);
    assert_true(number(executed, "block") == 3);
    assert_int_equal(json_array_size(json_object_get(executed, "lines")), 2);
    json_t *second = json_array_get(list, 1);
    assert_string_equal(json_string_value(json_object_get(second, "begins")), "landing-pad");
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 3), "class")),
                        "cold");
    json_t *classes = json_object_get(paths, "classes");
    json_t *dense = json_object_get(classes, "hot-dense");
    json_t *sparse = json_object_get(classes, "hot-sparse");
    close_to(number(dense, "paths_instructions_share"), 0.1);
    close_to(number(sparse, "paths_instructions_share"), 0.85);
    close_to(number(dense, "functions_instructions_share"), 0.2);
    close_to(number(sparse, "functions_instructions_share"), 0.8);
    json_decref(json);
    profile_free(profile);
}

static void json_has_the_context_tree_if_there_is_one(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {0};
    json_t *json = json_of(profile, &options);
    json_t *cct = json_object_get(json_object_get(json, "paths"), "cct");
    assert_true(number(cct, "nodes") == 6 && number(cct, "bytes") == 360);
    assert_true(number(cct, "mean_node_bytes") == 60 && number(cct, "height_max") == 3);
    close_to(number(cct, "height_mean"), 2.33333333);
    close_to(number(cct, "mean_degree"), 1.33333333);
    assert_true(number(cct, "max_replication") == 3 && number(cct, "call_sites") == 4);
    assert_true(number(cct, "call_sites_one_path") == 2);
    assert_string_equal(json_string_value(json_object_get(cct, "most_replicated")), "beta");
    json_t *hot = json_array_get(json_object_get(cct, "contexts"), 1);
    close_to(number(hot, "share"), 0.2);
    json_t *chain = json_object_get(hot, "chain");
    assert_int_equal(json_array_size(chain), 2);
    assert_true(number(json_array_get(chain, 0), "called_at_line") == 70);
    assert_string_equal(json_string_value(json_object_get(json_array_get(chain, 1), "function")),
                        "alpha");
    json_decref(json);
    profile->vertices_count = 1;
    json = json_of(profile, &options);
    assert_null(json_object_get(json_object_get(json, "paths"), "cct"));
    json_decref(json);
    profile_free(profile);
}

static void json_is_cut_by_the_limit(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {.limit = 1};
    json_t *json = json_of(profile, &options), *paths = json_object_get(json, "paths");
    assert_int_equal(json_array_size(json_object_get(paths, "paths")), 1);
    assert_int_equal(number(paths, "paths_total"), 4);
    /* What was not instrumented must not be cut. */
    assert_int_equal(json_array_size(json_object_get(paths, "functions")), 5);
    json_decref(json);
    profile_free(profile);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* 300 paths of 1000 blocks each. */
static void json_stays_small_unless_asked(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {0};
    for (uint32_t i = 0; i < 300; i++) {
        add_path(profile, B, 0, 100 + i, 1, 1, 1, 3, 1);
        profile->paths[profile->paths_count - 1].steps = 1000;
        for (uint32_t s = 1; s < 1000; s++)
            profile_add_path_steps(profile)->block = 3;
    }
    assert_true(profile_check(profile));
    json_t *json = json_of(profile, &options), *paths = json_object_get(json, "paths");
    size_t shown = json_array_size(json_object_get(paths, "paths"));
    assert_true(shown > 250 && shown < 270 && number(paths, "paths_total") == 304);
    json_decref(json);
    options.limit = 1000;
    json = json_of(profile, &options);
    paths = json_object_get(json_object_get(json, "paths"), "paths");
    assert_int_equal(json_array_size(paths), 304);
    json_decref(json);
    profile_free(profile);
}

static const char expected[] =
    "headroom paths  ./prog\n"
    "  1.00 s, 0.00 s of CPU time, 1 process, 1 thread\n"
    "  engine built, every execution of instrumented code was counted; cycles were\n"
    "  sampled on about one path in 64, less the 12 that reading the counter costs\n"
    "  the run was too short to tell how much of its work counted code did\n"
    "\n"
    "  files are under /no/such/\n"
    "\n"
    "Paths\n"
    "\n"
    "  17 executions of paths, 1,000 instructions, 1,000 cycles\n"
    "  4 different paths in 2 of 4 instrumented functions\n"
    "\n"
    "  hot: at least 1 %           paths     cycles  functions     cycles paths each\n"
    "  hot, dense                      1     60.0 %          1     68.0 %        2.0\n"
    "  hot, sparse                     2     39.5 %          1     32.0 %        2.0\n"
    "  cold                            1      0.5 %          0\n"
    "\n"
    "  paths of at least            10 %        1 %      0.1 %     0.01 %\n"
    "  number                          2          3          4          4\n"
    "  of the cycles              91.5 %     99.5 %    100.0 %    100.0 %\n"
    "\n"
    "  share of cycles              50 %       80 %       90 %       99 %\n"
    "  paths that make it up           1          2          2          3\n"
    "\n"
    "Hot paths\n"
    "\n"
    "  #1  60.0 % of the cycles, dense (6 per instruction, 1 on average)\n"
    "      alpha  a.c:10  path 0\n"
    "      10 executions of 10 instructions, 60 cycles\n"
    "        lines 10–12, 14–15\n"
    "        ← leaves the function\n"
    "\n"
    "  #2  31.5 % of the cycles, sparse (0.42 per instruction, 1 on average)\n"
    "      beta  a.c:30  path 0\n"
    "      5 executions of 150 instructions, 63 cycles\n"
    "        ↳ begins where an exception lands\n"
    "        lines 30–31\n"
    "        ← leaves the function\n"
    "\n"
    "  1 more, together 8.0 %\n"
    "\n"
    "Functions\n"
    "\n"
    "    cycles    executions  paths of potential  function\n"
    "    68.0 %            11              2 of 4  alpha  a.c:10\n"
    "    32.0 %             6              2 of 4  beta  a.c:30\n"
    "\n"
    "Calling contexts\n"
    "\n"
    "  contexts                6, 360 bytes, 60 bytes each\n"
    "  height                  2.3 on average, 3 at most\n"
    "  callees                 1.33 for each context that calls\n"
    "  most of any function    3: beta\n"
    "  call sites in contexts  4, of which 4 were used, 2 of them reached by one path\n"
    "                          only\n"
    "\n"
    "    cycles       calls  context\n"
    "    68.0 %           3  alpha\n"
    "    20.0 %           3  alpha:70 → beta\n"
    "  2 more\n"
    "\n"
    "What was counted\n"
    "\n"
    "  The paths' own cycles are 50 % of the CPU time; the rest went to code that is\n"
    "  not instrumented (libraries, the kernel) and to counting.\n"
    "  4 functions were instrumented; of all functions:\n"
    "  - 1 truncated (too many paths: pieces of them were recorded): delta\n"
    "  - 1 counted in hash tables (many paths): beta\n"
    "  - 1 left out (jumps ?[31mabout): hard\n"
    "  - 2 instructions of inline assembly were left as they are\n"
    "\n"
    "Next\n"
    "  headroom report --limit 0 p.headroom\n"
    "  headroom view p.headroom\n"
    "  headroom report --format json p.headroom\n";

static void text_reads_well(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {.limit = 2, .width = 80, .profile_path = "p.headroom"};
    char *text = text_of(profile, &options);
    if (strcmp(text, expected) != 0)
        print_error("%s\n", text);
    assert_string_equal(text, expected);
    free(text);
    /* Nothing is wider than the terminal, and without colours there are no codes. */
    text = text_of(profile, &options);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        assert_true(name_columns(line) <= 80);
        assert_null(strchr(line, '\033'));
        assert_true(line[strlen(line) - 1] != ' ');
    }
    free(text);
    profile_free(profile);
}

static void text_quotes_the_source(void **state)
{
    char path[] = "/tmp/headroom-paths-XXXXXX";
    struct profile *profile = new_profile();
    struct report_options options = {.sources = true, .width = 100};
    int file = mkstemp(path);
    FILE *out = fdopen(file, "w");
    for (int line = 1; line < 20; line++)
        fprintf(out, "    line %d of the source;\n", line);
    fclose(out);
    for (size_t i = 0; i < profile->path_lines_count; i++)
        if (profile->path_lines[i].line < 20)
            profile->path_lines[i].file = path;
    profile->path_functions[A].file = path;
    /* Within a block the order is the source's; what was inlined is named. */
    profile->path_lines[0].line = 13;
    profile->path_lines[1] = (struct profile_path_line){"/x/vector.h", "push<int>(int)", 7};
    char *text = text_of(profile, &options);
    has(text, "            13 │ line 13 of the source;\n"
              "               │   ⤷ push<int> (inlined)  vector.h:7\n"
              "            12 │ line 12 of the source;\n"
              "            14 │ line 14 of the source;\n"
              "            15 │ line 15 of the source;\n"
              "        ← leaves the function\n");
    has(text, "        ↳ begins at a loop head\n"
              "            12 │ line 12 of the source;\n");
    has(text, "        ↻ back to a loop head\n");
    free(text);
    /* What was inlined is quoted under its name if its source is the program's. A block's lines are
       in the order of the source, the functions' as they come. */
    profile->path_lines[0] = (struct profile_path_line){path, NULL, 13};
    profile->path_lines[1] = (struct profile_path_line){path, "helper", 6};
    profile_add_path_lines(profile);
    profile_add_path_lines(profile);
    memmove(profile->path_lines + 4, profile->path_lines + 2,
            (profile->path_lines_count - 4) * sizeof *profile->path_lines);
    profile->path_lines[2] = (struct profile_path_line){path, "helper", 5};
    profile->path_lines[3] = (struct profile_path_line){path, NULL, 10};
    profile->path_blocks[0].lines = 4;
    for (size_t i = 1; i < profile->path_blocks_count; i++)
        profile->path_blocks[i].first_line += 2;
    assert_true(profile_check(profile));
    text = text_of(profile, &options);
    has(text, "            10 │ line 10 of the source;\n"
              "            13 │ line 13 of the source;\n"
              "               ⤷ helper (inlined)\n"
              "             5 │ line 5 of the source;\n"
              "             6 │ line 6 of the source;\n"
              "               ⤶ alpha\n"
              "            12 │ line 12 of the source;\n");
    free(text);
    profile_free(profile);
    unlink(path);
}

static void text_tells_what_cannot_be_told(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {.metric = 1 + REPORT_MISSES};
    char *text = text_of(profile, &options);
    has(text, "misses were not measured: ranked by cycles.");
    free(text);
    options.metric = 1 + REPORT_INSTRUCTIONS;
    text = text_of(profile, &options);
    has(text, "Only cycles or misses distinguish");
    assert_null(strstr(text, ", sparse"));
    assert_null(strstr(text, ", dense"));
    assert_null(strstr(text, "cache of"));
    free(text);
    options = (struct report_options){.hot = 0.9};
    text = text_of(profile, &options);
    has(text, "No path has 90 % of the cycles. Try a smaller --hot.");
    free(text);
    profile->run.cpu_s = 4e-7; /* 800 cycles */
    text = text_of(profile, &options);
    has(text, "exceed the CPU time: they include the time that paths waited");
    assert_null(strstr(text, "100 % of the CPU time"));
    free(text);
    profile->paths[0].misses = 2;
    profile->path_runs[0].cache_bytes = 48 << 10;
    profile->path_runs[0].cache_ways = 12;
    text = text_of(profile, &options);
    has(text, "Misses are those of a simulated data cache of 48.0 KiB, 12 ways.");
    free(text);
    profile->path_runs[0].cache_ways = 0;
    text = text_of(profile, &options);
    has(text, "of 48.0 KiB, fully associative.");
    free(text);
    /* Contexts alone. */
    profile->paths_count = profile->path_steps_count = 0;
    options.hot = 0;
    text = text_of(profile, &options);
    assert_null(strstr(text, "Hot paths"));
    has(text, "Calling contexts");
    free(text);
    profile->vertices_count = 1;
    text = text_of(profile, &options);
    has(text, "No path was executed to its end.");
    free(text);
    profile_free(profile);
}

static void deep_chains_keep_their_ends(void **state)
{
    struct profile *profile = new_profile();
    struct report_options options = {.width = 160};
    for (uint32_t i = 0; i < 20; i++)
        add_vertex(profile, (uint32_t)profile->vertices_count - 1, i % 2 ? B : C, UINT32_MAX, 8, 0,
                   0, i == 19 ? 99999 : 0);
    assert_true(profile_check(profile));
    char *text = text_of(profile, &options);
    has(text, "beta → … 14 more … → gamma → beta → gamma → beta → gamma → beta\n");
    free(text);
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_procedures_are_classified),
        cmocka_unit_test(coverage_is_counted),
        cmocka_unit_test(the_threshold_itself_is_hot),
        cmocka_unit_test(metrics_are_chosen),
        cmocka_unit_test(the_context_tree_is_measured),
        cmocka_unit_test(json_holds_it_all),
        cmocka_unit_test(json_has_the_context_tree_if_there_is_one),
        cmocka_unit_test(json_is_cut_by_the_limit),
        cmocka_unit_test(json_stays_small_unless_asked),
        cmocka_unit_test(text_reads_well),
        cmocka_unit_test(text_quotes_the_source),
        cmocka_unit_test(text_tells_what_cannot_be_told),
        cmocka_unit_test(deep_chains_keep_their_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
