// SPDX-License-Identifier: MIT
/*
 * Import of what instrumented programs counted: a hand-written module (built_fixture.S) and regions
 * as the runtime leaves them, with answers worked out by hand; then regions over which a program
 * has scribbled.
 */
#include "binary/binary.h"
#include "import/import.h"
#include "numbering/numbering.h"
#include "profile/profile.h"
#include "wire/instrumented.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#define BIAS        UINT64_C(0x7f0012340000)
#define SECOND_BIAS UINT64_C(0x7f0055550000)

static struct {
    uint64_t map, map_bytes, counters, counters_bytes;
    uint32_t words[1024];
} fixture;

enum function { WORK, HASHED, OUTER, INNER, PLAIN, SKIPPED, FUNCTIONS };
static uint64_t entries[FUNCTIONS]; /* offsets in the map */

static int read_fixture(void **state)
{
    struct binary *binary;
    struct binary_options options = {0};
    size_t at = 0;
    assert_int_equal(binary_open(FIXTURE, &options, &binary), BASE_OK);
    assert_int_equal(binary_section(binary, "no such section", &fixture.map, &fixture.map_bytes),
                     BASE_NOT_FOUND);
    assert_int_equal(binary_section(binary, "headroom_map", &fixture.map, &fixture.map_bytes),
                     BASE_OK);
    assert_int_equal(
        binary_section(binary, "headroom_counters", &fixture.counters, &fixture.counters_bytes),
        BASE_OK);
    assert_true(fixture.map_bytes < sizeof fixture.words);
    assert_int_equal(binary_read(binary, fixture.map, fixture.words, fixture.map_bytes), BASE_OK);
    binary_close(binary);
    for (int i = 0; i < FUNCTIONS; i++) {
        while (fixture.words[at] != INSTRUMENTED_ENTRY_MAGIC)
            at++;
        entries[i] = 4 * at;
        at += fixture.words[at + 1];
    }
    return 0;
}

/* ---- regions --------------------------------------------------------------------------------- */

struct region {
    int file;
    uint64_t next;
};

static void put(const struct region *region, uint64_t offset, const void *data, size_t bytes)
{
    assert_int_equal(pwrite(region->file, data, bytes, (off_t)offset), bytes);
}

static void put_word(const struct region *region, uint64_t offset, uint64_t word)
{
    put(region, offset, &word, sizeof word);
}

static struct region new_region(void)
{
    struct region region = {memfd_create("region", MFD_CLOEXEC), INSTRUMENTED_PAGE};
    struct instrumented_region header = {.magic = INSTRUMENTED_MAGIC,
                                         .version = INSTRUMENTED_VERSION};
    assert_true(region.file >= 0);
    assert_int_equal(ftruncate(region.file, (off_t)INSTRUMENTED_REGION_BYTES), 0);
    put(&region, 0, &header, sizeof header);
    return region;
}

/* Offset of the new piece. Its address in the process is far from the others'. */
static uint64_t add_piece(struct region *region, uint32_t kind, uint32_t process, uint32_t tid,
                          uint64_t bytes, uint64_t of)
{
    uint64_t offset = region->next;
    struct instrumented_piece piece = {
        .kind = kind,
        .pid = 100 + process,
        .tid = tid,
        .process = process,
        .bytes =
            (bytes + sizeof piece + INSTRUMENTED_PAGE - 1) / INSTRUMENTED_PAGE * INSTRUMENTED_PAGE,
        .address = UINT64_C(0x600000000000) + offset,
        .module = fixture.map + (process == 1 ? BIAS : SECOND_BIAS),
        .of = of,
    };
    put(region, offset, &piece, sizeof piece);
    region->next += piece.bytes;
    return offset;
}

static uint64_t address_of(uint64_t offset)
{
    return UINT64_C(0x600000000000) + offset;
}

static void add_module(struct region *region, uint32_t process, const char *path)
{
    struct instrumented_module module = {0};
    uint64_t bias = process == 1 ? BIAS : SECOND_BIAS;
    uint64_t offset = add_piece(region, INSTRUMENTED_PIECE_MODULE, process, 100 + process,
                                sizeof module - sizeof(struct instrumented_piece), 0);
    module.map = fixture.map + bias;
    module.map_bytes = fixture.map_bytes;
    module.counters = fixture.counters + bias;
    module.counters_bytes = fixture.counters_bytes;
    module.bias = bias;
    module.parent_process = process == 1 ? UINT32_MAX : 1;
    module.start_ns = 1000 + process;
    snprintf(module.path, sizeof module.path, "%s", path);
    put(region, offset + sizeof module.piece, (char *)&module + sizeof module.piece,
        sizeof module - sizeof module.piece);
}

static void add_overhead(struct region *region, double cycles_per_read)
{
    uint64_t offset = add_piece(region, INSTRUMENTED_PIECE_OVERHEAD, 1, 101, 16, 0);
    double values[2] = {cycles_per_read, 2.5};
    put(region, offset + sizeof(struct instrumented_piece), values, sizeof values);
}

/* Where the function's cells are behind the start of a COUNTERS piece. */
static uint64_t cells_of(enum function function)
{
    struct instrumented_function head;
    memcpy(&head, (char *)fixture.words + entries[function], sizeof head);
    uint64_t word = fixture.map + entries[function] + offsetof(struct instrumented_function, table);
    return word + (uint64_t)(int64_t)head.table - fixture.counters +
           sizeof(struct instrumented_piece);
}

/* ---- numbers of paths ------------------------------------------------------------------------ */

/* The number of the path through these blocks; `ends` as in struct numbering_path. */
static uint64_t number_of(enum function function, uint32_t ends, const uint32_t *blocks,
                          uint32_t count)
{
    struct instrumented_function head;
    struct numbering_edge edges[16];
    uint32_t got[16];
    struct numbering *paths;
    const uint32_t *words = fixture.words + entries[function] / 4;
    memcpy(&head, words, sizeof head);
    words += (sizeof head + head.blocks * sizeof(struct instrumented_block)) / 4;
    for (uint32_t i = 0; i < head.edges; i++)
        edges[i] = (struct numbering_edge){words[3 * i], words[3 * i + 1], words[3 * i + 2], -1};
    struct numbering_graph graph = {head.blocks, head.edges, NULL, edges};
    assert_int_equal(numbering_number(&graph, &paths), BASE_OK);
    uint64_t total = numbering_count(paths), found = UINT64_MAX;
    for (uint64_t n = 0; n < total; n++) {
        struct numbering_path path = {.edges = got};
        assert_int_equal(numbering_decode(paths, n, &path), BASE_OK);
        bool same = path.ends == ends && path.count == count && path.first == blocks[0];
        for (uint32_t i = 0; same && i + 1 < count; i++)
            same = edges[got[i]].to == blocks[i + 1];
        if (same) {
            assert_true(found == UINT64_MAX);
            found = n;
        }
    }
    assert_true(found != UINT64_MAX);
    numbering_free(paths);
    return found;
}

#define NUMBER(function, ends, ...)                                                                \
    number_of(function, ends, (const uint32_t[]){__VA_ARGS__},                                     \
              sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t))

static void put_path(const struct region *region, uint64_t piece, uint64_t number, uint64_t count,
                     uint64_t measured, uint64_t cycles)
{
    put_word(region, piece + cells_of(WORK) + 24 * number, count);
    put_word(region, piece + cells_of(WORK) + 24 * number + 8, cycles);
    put_word(region, piece + cells_of(WORK) + 24 * number + 16, measured);
}

static void put_hashed(const struct region *region, uint64_t table, uint32_t slot, uint64_t number,
                       uint64_t count)
{
    struct instrumented_hash_cell cell = {number + 1, count, 0, 0};
    put(region, table + sizeof(struct instrumented_hash) + slot * sizeof cell, &cell, sizeof cell);
}

/* ---- importing ------------------------------------------------------------------------------- */

static char output[] = "/tmp/headroom-built-XXXXXX";

static int make_output(void **state)
{
    int file = mkstemp(output);
    close(file);
    return file < 0 ? -1 : read_fixture(state);
}

static int remove_output(void **state)
{
    char old[64];
    snprintf(old, sizeof old, "%s.old", output);
    unlink(old);
    return unlink(output);
}

static enum base_status try_import(const struct region *region, struct profile **profile)
{
    static char *const command[] = {(char *)"./program", (char *)"-x", NULL};
    static const char *const degraded[] = {"something else", NULL};
    struct import_run run = {.verb = "paths",
                             .engine = "built",
                             .command = command,
                             .exited = true,
                             .exit_code = 3,
                             .wall_s = 2,
                             .cpu_s = 1.5,
                             .start_ns = 77,
                             .degraded = degraded};
    struct binary_options symbols = {0};
    char error[512] = "";
    enum base_status status =
        import_instrumented(region->file, &run, &symbols, output, NULL, NULL, error, sizeof error);
    if (status == BASE_OK)
        assert_int_equal(profile_read(output, profile, error, sizeof error), BASE_OK);
    else
        assert_true(strlen(error) > 10);
    return status;
}

static struct profile *import(struct region *region)
{
    struct profile *profile = NULL;
    assert_int_equal(try_import(region, &profile), BASE_OK);
    close(region->file);
    return profile;
}

static bool says(const struct profile *profile, const char *words)
{
    for (size_t i = 0; i < profile->degraded_count; i++)
        if (strstr(profile->degraded[i].text, words))
            return true;
    return false;
}

static const struct profile_path_function *function_named(const struct profile *profile,
                                                          const char *name, uint32_t *id)
{
    for (*id = 1; *id < profile->path_functions_count; ++*id)
        if (profile->path_functions[*id].function &&
            strcmp(profile->path_functions[*id].function, name) == 0)
            return &profile->path_functions[*id];
    fail_msg("no function %s", name);
    return NULL;
}

static const struct profile_path *path_of(const struct profile *profile, const char *name,
                                          uint64_t number)
{
    uint32_t id;
    function_named(profile, name, &id);
    for (size_t i = 0; i < profile->paths_count; i++)
        if (profile->paths[i].function == id && profile->paths[i].number == number)
            return &profile->paths[i];
    return NULL;
}

/* "10 11 | 12" : lines of the path's blocks. */
static const char *lines_of(const struct profile *profile, const struct profile_path *path)
{
    static char text[256];
    text[0] = 0;
    for (uint32_t i = 0; i < path->steps; i++) {
        const struct profile_path_block *block =
            &profile->path_blocks[profile->path_steps[path->first_step + i].block];
        for (uint32_t l = 0; l < block->lines; l++) {
            const struct profile_path_line *line = &profile->path_lines[block->first_line + l];
            assert_string_equal(line->file, "/source/built.c");
            assert_null(line->function);
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u",
                     l   ? " "
                     : i ? "|"
                         : "",
                     line->line);
        }
    }
    return text;
}

/* ---- known answers --------------------------------------------------------------------------- */

struct numbers {
    uint64_t entered, around, left, through, across;
};

static struct numbers numbers(void)
{
    return (struct numbers){
        .entered = NUMBER(WORK, NUMBERING_TO_CUT, 0, 1, 2, 4),
        .around = NUMBER(WORK, NUMBERING_FROM_CUT | NUMBERING_TO_CUT, 1, 3, 4),
        .left = NUMBER(WORK, NUMBERING_FROM_CUT, 1, 2, 4, 5),
        .through = NUMBER(HASHED, 0, 0, 1, 2),
        .across = NUMBER(HASHED, 0, 0, 2),
    };
}

/* Two processes, the second with the module elsewhere. */
static struct region counted_region(const struct numbers *n)
{
    struct region region = new_region();
    add_module(&region, 1, FIXTURE);
    add_overhead(&region, 10);
    uint64_t first =
        add_piece(&region, INSTRUMENTED_PIECE_COUNTERS, 1, 101, fixture.counters_bytes, 0);
    put_path(&region, first, n->entered, 3, 3, 300);
    put_path(&region, first, n->around, 10, 4, 1000);
    put_path(&region, first, n->left, 3, 0, 0);
    put_hashed(&region, first + cells_of(HASHED), 17, n->through, 4);
    put_word(&region, first + sizeof(struct instrumented_piece), 12345); /* nobody's */
    uint64_t hash = add_piece(&region, INSTRUMENTED_PIECE_HASH, 1, 101, 24 + 512 * 32,
                              address_of(first + cells_of(HASHED)));
    put_word(&region, hash + sizeof(struct instrumented_piece) + 16, 511);
    put_hashed(&region, hash + sizeof(struct instrumented_piece), 0, n->through, 6);
    put_hashed(&region, hash + sizeof(struct instrumented_piece), 511, n->across, 1);
    add_module(&region, 2, FIXTURE);
    uint64_t second =
        add_piece(&region, INSTRUMENTED_PIECE_COUNTERS, 2, 102, fixture.counters_bytes, 0);
    put_path(&region, second, n->around, 5, 1, 100);
    return region;
}

static void counters_of_all_threads_and_processes_add_up(void **state)
{
    struct numbers n = numbers();
    struct region region = counted_region(&n);
    struct profile *profile = import(&region);
    assert_int_equal(profile->paths_count, 5);
    const struct profile_path *path = path_of(profile, "work", n.entered);
    assert_int_equal(path->count, 3);
    assert_int_equal(path->instructions, 3 * (5 + 2 + 7 + 3));
    assert_int_equal(path->loads, 3 * (1 + 1 + 3));
    assert_int_equal(path->stores, 3 * (2 + 1));
    assert_true(path->cycles == 270 && path->measured == 3);
    assert_true(path->misses < 0 && path->events < 0);
    assert_int_equal(path->flags, PROFILE_PATH_TO_CUT);
    assert_string_equal(lines_of(profile, path), "10 11|12|13|16");
    path = path_of(profile, "work", n.around);
    assert_int_equal(path->count, 15);
    assert_int_equal(path->instructions, 15 * 16);
    /* 15 by the 5 that were measured, each without 10. */
    assert_true(path->measured == 5 && path->cycles == (960 + 90) / 5 * 15);
    assert_int_equal(path->flags, PROFILE_PATH_FROM_CUT | PROFILE_PATH_TO_CUT);
    assert_string_equal(lines_of(profile, path), "12|15|16");
    path = path_of(profile, "work", n.left);
    assert_true(path->cycles < 0 && path->measured == 0 && path->flags == PROFILE_PATH_FROM_CUT);
    assert_string_equal(lines_of(profile, path), "12|13|16|18");
    path = path_of(profile, "hashed", n.through);
    assert_int_equal(path->count, 10);
    assert_true(path->cycles < 0);
    assert_int_equal(path_of(profile, "hashed", n.across)->count, 1);
    assert_false(says(profile, "make no sense"));
    profile_free(profile);
}

static void functions_are_listed_with_what_became_of_them(void **state)
{
    struct numbers n = numbers();
    struct region region = counted_region(&n);
    struct profile *profile = import(&region);
    uint32_t id;
    assert_int_equal(profile->path_functions_count, 1 + FUNCTIONS);
    const struct profile_path_function *function = function_named(profile, "work", &id);
    assert_true(function->line == 10 && function->potential == 8 && function->potential_log2 == 3);
    assert_true(function->table_kind == PROFILE_TABLE_ARRAY && function->inline_assembly == 3);
    assert_null(function->why);
    function = function_named(profile, "hashed", &id);
    assert_true(function->table_kind == PROFILE_TABLE_HASH && function->potential == 0);
    assert_true(function->reason == PROFILE_PATH_TRUNCATED && function->potential_log2 == 60.5);
    function = function_named(profile, "plain", &id);
    assert_true(function->reason == PROFILE_PATH_WHOLE && function->blocks == 1);
    function = function_named(profile, "skipped", &id);
    assert_int_equal(function->reason, INSTRUMENTED_SKIP_INDIRECT);
    assert_string_equal(function->why, instrumented_reasons[INSTRUMENTED_SKIP_INDIRECT]);
    assert_string_equal(function->file, "/source/built.c");
    assert_int_equal(profile->modules_count, 2);
    assert_true(profile->modules[1].build_id_bytes > 0);
    profile_free(profile);
}

static void the_run_is_described(void **state)
{
    struct numbers n = numbers();
    struct region region = counted_region(&n);
    struct profile *profile = import(&region);
    const struct profile_run *run = &profile->run;
    assert_string_equal(run->verb, "paths");
    assert_string_equal(run->engine, "built");
    assert_true(run->processes == 2 && run->threads == 2 && run->exit_code == 3);
    assert_true(run->wall_s == 2 && run->cpu_s == 1.5 && profile->processes_count == 2);
    assert_true(profile->processes[0].parent == UINT32_MAX && profile->processes[1].parent == 1);
    assert_string_equal(profile->arguments[1].text, "-x");
    assert_true(says(profile, "something else"));
    assert_int_equal(profile->path_runs_count, 1);
    assert_int_equal(profile->path_runs[0].modes, INSTRUMENTED_PATHS | INSTRUMENTED_CONTEXTS |
                                                      INSTRUMENTED_CALL_SITES |
                                                      INSTRUMENTED_CYCLES);
    assert_true(profile->path_runs[0].cycles_per_read == 10);
    assert_true(profile->path_runs[0].cycles_per_ns == 2.5);
    profile_free(profile);
}

/* ---- contexts -------------------------------------------------------------------------------- */

static const uint32_t no_entry = FUNCTIONS;

struct written {
    uint64_t at, offset; /* next record; the last one written */
};

/* Slots and cells follow. Returns its address in the process. */
static uint64_t put_record(const struct region *region, struct written *written, uint32_t function,
                           uint64_t parent, uint32_t slot, uint32_t slots, uint32_t cells,
                           uint64_t count, uint64_t cycles)
{
    struct instrumented_record record = {
        .function = function == no_entry ? 0 : fixture.map + BIAS + entries[function],
        .parent = parent,
        .count = count,
        .cycles = cycles,
        .measured = cycles ? count / 2 : 0,
        .slot = slot,
        .slots = slots,
        .bytes = sizeof record + 8 * (slots + cells),
    };
    put(region, written->at, &record, sizeof record);
    written->offset = written->at;
    written->at += record.bytes;
    return address_of(written->offset);
}

static void put_cell(const struct region *region, const struct written *written, uint32_t slots,
                     uint64_t number, uint64_t count)
{
    put_word(region, written->offset + sizeof(struct instrumented_record) + 8 * (slots + number),
             count);
}

/*
 * Thread 1: root → outer (2) → inner (2) from site 0 → plain (4), → inner (1) from site 1.
 * Thread 2: root → outer (1) → inner (1) from site 0. Children stand before their parents.
 */
static struct region context_region(void)
{
    struct region region = new_region();
    uint64_t both = NUMBER(OUTER, 0, 0, 1, 2), one = NUMBER(OUTER, 0, 0, 2);
    add_module(&region, 1, FIXTURE);
    add_overhead(&region, 10);
    uint64_t early = add_piece(&region, INSTRUMENTED_PIECE_RECORDS, 1, 101, 4000, 0);
    uint64_t piece = add_piece(&region, INSTRUMENTED_PIECE_RECORDS, 1, 101, 4000, 0);
    struct written at = {piece + sizeof(struct instrumented_piece), 0};
    struct written before = {early + sizeof(struct instrumented_piece), 0};
    uint64_t root = put_record(&region, &at, no_entry, 0, 0, 1, 0, 0, 0);
    uint64_t outer = put_record(&region, &at, OUTER, root, 0, 2, 2, 2, 0);
    put_cell(&region, &at, 2, both, 1);
    put_cell(&region, &at, 2, one, 1);
    put_record(&region, &at, INNER, outer, 1, 0, 1, 1, 0);
    put_cell(&region, &at, 0, 0, 1);
    uint64_t inner = put_record(&region, &before, INNER, outer, 0, 0, 1, 2, 0);
    put_cell(&region, &before, 0, 0, 2);
    put_record(&region, &before, PLAIN, inner, 0, 0, 0, 4, 400);
    uint64_t other = add_piece(&region, INSTRUMENTED_PIECE_RECORDS, 1, 102, 4000, 0);
    at = (struct written){other + sizeof(struct instrumented_piece), 0};
    root = put_record(&region, &at, no_entry, 0, 0, 1, 0, 0, 0);
    outer = put_record(&region, &at, OUTER, root, 0, 2, 2, 1, 0);
    put_cell(&region, &at, 2, both, 1);
    put_record(&region, &at, INNER, outer, 0, 0, 1, 1, 0);
    put_cell(&region, &at, 0, 0, 1);
    return region;
}

static uint32_t vertex_of(const struct profile *profile, uint32_t parent, const char *name,
                          uint32_t site)
{
    uint32_t id;
    function_named(profile, name, &id);
    for (uint32_t i = 1; i < profile->vertices_count; i++) {
        const struct profile_vertex *vertex = &profile->vertices[i];
        if (vertex->parent == parent && vertex->function == id && vertex->site == site)
            return i;
    }
    fail_msg("no vertex %s", name);
    return 0;
}

static void equal_contexts_are_one_vertex(void **state)
{
    struct region region = context_region();
    struct profile *profile = import(&region);
    uint64_t both = NUMBER(OUTER, 0, 0, 1, 2), one = NUMBER(OUTER, 0, 0, 2);
    assert_int_equal(profile->vertices_count, 1 + 4);
    uint32_t outer = vertex_of(profile, 0, "outer", UINT32_MAX);
    uint32_t first = vertex_of(profile, outer, "inner", 0);
    uint32_t second = vertex_of(profile, outer, "inner", 1);
    uint32_t plain = vertex_of(profile, first, "plain", UINT32_MAX);
    const struct profile_vertex *vertex = &profile->vertices[outer];
    assert_true(vertex->count == 3 && vertex->call_sites == 2 && vertex->call_sites_used == 2);
    /* Site 0 lies on both executed paths, site 1 on one of them. */
    assert_int_equal(vertex->call_sites_one_path, 1);
    assert_int_equal(vertex->bytes, sizeof(struct instrumented_record) + 8 * 4);
    assert_true(vertex->instructions == 2 * 6 + 1 * 3 && vertex->cycles < 0);
    assert_true(profile->vertices[first].count == 3 && profile->vertices[first].site_line == 40);
    assert_true(profile->vertices[second].count == 1 && profile->vertices[second].site_line == 41);
    assert_true(profile->vertices[plain].count == 4 && profile->vertices[plain].cycles == 760);
    assert_int_equal(profile->vertices[plain].measured, 2);
    assert_true(profile->vertices[plain].instructions == 0);
    assert_int_equal(path_of(profile, "outer", both)->count, 2);
    assert_int_equal(path_of(profile, "outer", one)->count, 1);
    assert_int_equal(path_of(profile, "inner", 0)->count, 4);
    assert_int_equal(profile->vertex_paths_count, 4);
    assert_int_equal(profile->vertex_paths[0].vertex, outer);
    assert_true(profile->run.threads == 2 && !says(profile, "make no sense"));
    profile_free(profile);
}

/* ---- what may be wrong ----------------------------------------------------------------------- */

static void an_empty_region_says_so(void **state)
{
    struct region region = new_region();
    struct profile *profile = import(&region);
    assert_true(says(profile, "no instrumented code ran"));
    assert_int_equal(profile->path_functions_count, 1);
    profile_free(profile);
}

static void another_file_is_left_out(void **state)
{
    struct region region = new_region();
    add_module(&region, 1, "/bin/sh");
    uint64_t piece =
        add_piece(&region, INSTRUMENTED_PIECE_COUNTERS, 1, 101, fixture.counters_bytes, 0);
    put_path(&region, piece, 0, 3, 3, 300);
    struct profile *profile = import(&region);
    assert_true(says(profile, "/bin/sh could not be read as it was"));
    assert_int_equal(profile->paths_count, 0);
    profile_free(profile);
}

static void what_makes_no_sense_is_left_out(void **state)
{
    struct numbers n = numbers();
    struct region region = counted_region(&n);
    uint64_t cells = UINT64_MAX;
    uint64_t last =
        add_piece(&region, INSTRUMENTED_PIECE_COUNTERS, 1, 103, fixture.counters_bytes, 0);
    put(&region, last + cells_of(WORK) + 16 * n.around, &cells, 8);
    put_path(&region, last, n.entered, 7, 0, 0);
    /* No such path, and a table of nobody's. */
    put_hashed(&region, last + cells_of(HASHED), 3, 99, 5);
    add_piece(&region, INSTRUMENTED_PIECE_HASH, 1, 101, 24 + 512 * 32, 0x1234);
    struct profile *profile = import(&region);
    assert_true(says(profile, "make no sense"));
    assert_int_equal(path_of(profile, "work", n.around)->count, 15);
    assert_int_equal(path_of(profile, "work", n.entered)->count, 10);
    assert_null(path_of(profile, "hashed", 99));
    assert_true(profile->run.corrupt_records >= 2);
    profile_free(profile);
}

static void a_lost_header_hides_nothing_else(void **state)
{
    struct numbers n = numbers();
    struct region region = counted_region(&n);
    char nothing[sizeof(struct instrumented_region)];
    memset(nothing, 0xa5, sizeof nothing);
    put(&region, 0, nothing, sizeof(struct instrumented_region));
    struct profile *profile = import(&region);
    assert_true(says(profile, "make no sense"));
    assert_int_equal(path_of(profile, "work", n.around)->count, 15);
    profile_free(profile);
    region = counted_region(&n);
    /* The first piece of counters: its own are lost, the next piece's are found. */
    uint64_t first = INSTRUMENTED_PAGE + sizeof(struct instrumented_module);
    first =
        (first + INSTRUMENTED_PAGE - 1) / INSTRUMENTED_PAGE * INSTRUMENTED_PAGE + INSTRUMENTED_PAGE;
    put(&region, first, nothing, sizeof(struct instrumented_piece));
    profile = import(&region);
    assert_int_equal(path_of(profile, "work", n.around)->count, 5);
    profile_free(profile);
}

static void parents_in_circles_end(void **state)
{
    struct region region = new_region();
    add_module(&region, 1, FIXTURE);
    uint64_t piece = add_piece(&region, INSTRUMENTED_PIECE_RECORDS, 1, 101, 4000, 0);
    struct written at = {piece + sizeof(struct instrumented_piece), 0};
    uint64_t bytes = sizeof(struct instrumented_record) + 8;
    uint64_t first = address_of(at.at), second = first + bytes;
    put_record(&region, &at, INNER, second, 0, 0, 1, 1, 0);
    put_record(&region, &at, INNER, first, 0, 0, 1, 1, 0);
    put_record(&region, &at, INNER, 0xdead, 0, 0, 1, 1, 0); /* a parent that does not exist */
    struct profile *profile = import(&region);
    assert_true(says(profile, "make no sense"));
    assert_int_equal(profile->run.corrupt_records, 2);
    /* Cut somewhere, the circle is inner below inner; the lost one is inner below the root. */
    assert_int_equal(profile->vertices_count, 1 + 2);
    profile_free(profile);
}

static void lost_pieces_are_told(void **state)
{
    struct numbers n = numbers();
    struct region region = counted_region(&n);
    struct instrumented_region header = {
        .magic = INSTRUMENTED_MAGIC, .version = INSTRUMENTED_VERSION, .lost = 2};
    put(&region, 0, &header, sizeof header);
    struct profile *profile = import(&region);
    assert_true(says(profile, "no memory left for counters"));
    assert_int_equal(profile->path_runs[0].lost_pieces, 2);
    profile_free(profile);
}

static void files_that_are_no_regions_are_refused(void **state)
{
    struct region region = {memfd_create("short", MFD_CLOEXEC), 0};
    struct profile *profile = NULL;
    assert_int_equal(try_import(&region, &profile), BASE_IO);
    close(region.file);
    region.file = -1;
    assert_int_equal(try_import(&region, &profile), BASE_IO);
}

/* Bytes, words and whole pages anywhere: whatever comes of it can be written as a sound profile
   (profile_write checks), and what the file cannot hold is not believed. */
static void scribbled_regions_never_crash(void **state)
{
    struct base_random random = {7};
    struct numbers n = numbers();
    unsigned told = 0;
    for (unsigned round = 0; round < 400; round++) {
        struct profile *profile = NULL;
        struct region region = round % 2 ? counted_region(&n) : context_region();
        for (uint64_t hits = 1 + base_random_below(&random, 12); hits; hits--) {
            uint64_t at = base_random_below(&random, region.next);
            uint64_t value = base_random_below(&random, 3)
                                 ? base_random_below(&random, UINT64_MAX)
                                 : UINT64_MAX >> base_random_below(&random, 64);
            /* Half of them go to heads of pieces and to what follows there. */
            if (base_random_below(&random, 2))
                at = at / INSTRUMENTED_PAGE * INSTRUMENTED_PAGE + at % 256;
            if (base_random_below(&random, 4))
                at = at / 8 * 8;
            put(&region, at, &value, 1 + base_random_below(&random, 8));
        }
        assert_int_equal(try_import(&region, &profile), BASE_OK);
        told += says(profile, "make no sense") || says(profile, "could not be read as it was") ||
                says(profile, "no instrumented code ran");
        profile_free(profile);
        close(region.file);
    }
    assert_true(told > 100); /* they did hit something */
}

/* The file on the disk may be anything, too. */
static void scribbled_maps_never_crash(void **state)
{
    struct base_random random = {11};
    struct numbers n = numbers();
    char path[] = "/tmp/headroom-module-XXXXXX", buffer[1 << 16];
    int copy = mkstemp(path);
    FILE *fixture_file = fopen(FIXTURE, "r");
    size_t bytes = fread(buffer, 1, sizeof buffer, fixture_file), map = 0;
    fclose(fixture_file);
    assert_true(bytes > 0 && bytes < sizeof buffer);
    while (memcmp(buffer + map, fixture.words, fixture.map_bytes) != 0)
        map++;
    unsigned told = 0;
    for (unsigned round = 0; round < 300; round++) {
        struct profile *profile = NULL;
        struct region region = round % 2 ? counted_region(&n) : context_region();
        struct instrumented_module module;
        assert_int_equal(pread(region.file, &module, sizeof module, INSTRUMENTED_PAGE),
                         sizeof module);
        snprintf(module.path, sizeof module.path, "%s", path);
        put(&region, INSTRUMENTED_PAGE, &module, sizeof module);
        assert_int_equal(pwrite(copy, buffer, bytes, 0), bytes);
        for (uint64_t hits = 1 + base_random_below(&random, 6); hits; hits--) {
            uint64_t at = map + base_random_below(&random, fixture.map_bytes) / 4 * 4;
            uint32_t value = (uint32_t)base_random_below(
                &random, base_random_below(&random, 2) ? 16 : UINT64_C(1) << 32);
            assert_int_equal(pwrite(copy, &value, 4, (off_t)at), 4);
        }
        assert_int_equal(try_import(&region, &profile), BASE_OK);
        told += says(profile, "make no sense");
        profile_free(profile);
        close(region.file);
    }
    assert_true(told > 100);
    close(copy);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_of_all_threads_and_processes_add_up),
        cmocka_unit_test(functions_are_listed_with_what_became_of_them),
        cmocka_unit_test(the_run_is_described),
        cmocka_unit_test(equal_contexts_are_one_vertex),
        cmocka_unit_test(an_empty_region_says_so),
        cmocka_unit_test(another_file_is_left_out),
        cmocka_unit_test(what_makes_no_sense_is_left_out),
        cmocka_unit_test(a_lost_header_hides_nothing_else),
        cmocka_unit_test(parents_in_circles_end),
        cmocka_unit_test(lost_pieces_are_told),
        cmocka_unit_test(files_that_are_no_regions_are_refused),
        cmocka_unit_test(scribbled_regions_never_crash),
        cmocka_unit_test(scribbled_maps_never_crash),
    };
    return cmocka_run_group_tests(tests, make_output, remove_output);
}
