// SPDX-License-Identifier: MIT
/*
 * A module's map of instrumented functions, from its file: what the program has in memory was meant
 * to be the same, but may have been overwritten. The file may be anything too.
 */
#include "import/instrumented.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every block would double the paths. */
enum { MAP_BYTES_MAX = 1 << 28, LOG2_MAX = 1 << 20 };

enum {
    HEAD_WORDS = sizeof(struct instrumented_function) / 4,
    BLOCK_WORDS = sizeof(struct instrumented_block) / 4,
    EDGE_WORDS = sizeof(struct instrumented_edge) / 4,
    CALL_WORDS = sizeof(struct instrumented_call) / 4,
};

_Static_assert(sizeof(struct instrumented_function) % 4 == 0 &&
                   sizeof(struct instrumented_block) % 4 == 0 &&
                   sizeof(struct instrumented_edge) % 4 == 0 &&
                   sizeof(struct instrumented_call) % 4 == 0,
               "entries are sequences of words");
_Static_assert((int)INSTRUMENTED_PATHS == PROFILE_PATHS &&
                   (int)INSTRUMENTED_CONTEXTS == PROFILE_CONTEXTS &&
                   (int)INSTRUMENTED_CALL_SITES == PROFILE_CALL_SITES &&
                   (int)INSTRUMENTED_CYCLES == PROFILE_CYCLES &&
                   (int)INSTRUMENTED_COUNT == PROFILE_COUNT &&
                   (int)INSTRUMENTED_PMU == PROFILE_PMU &&
                   (int)INSTRUMENTED_TABLE_HASH == PROFILE_TABLE_HASH &&
                   (int)INSTRUMENTED_TRUNCATED == PROFILE_PATH_TRUNCATED &&
                   (int)INSTRUMENTED_REASONS < PROFILE_PATH_REASONS,
               "profiles have the same numbers");

/* ---- entries --------------------------------------------------------------------------------- */

static bool head_ok(const struct instrumented_function *head, size_t left)
{
    uint64_t words = HEAD_WORDS + (uint64_t)head->blocks * BLOCK_WORDS +
                     (uint64_t)head->edges * EDGE_WORDS + (uint64_t)head->call_sites * CALL_WORDS;
    return head->magic == INSTRUMENTED_ENTRY_MAGIC && head->words == words && words <= left &&
           head->table_kind <= INSTRUMENTED_TABLE_HASH && head->reason < INSTRUMENTED_REASONS &&
           head->modes <= PROFILE_PATH_MODES && head->potential_log2 >= 0 &&
           head->potential_log2 <= LOG2_MAX;
}

static bool parts_ok(const struct instrumented_function *head, const uint32_t *words)
{
    const uint32_t *edge = words + HEAD_WORDS + (size_t)head->blocks * BLOCK_WORDS;
    for (uint32_t i = 0; i < head->edges; i++, edge += EDGE_WORDS)
        if (edge[0] >= head->blocks || (edge[1] >= head->blocks && edge[1] != NUMBERING_EXIT))
            return false;
    const uint32_t *call = edge;
    for (uint32_t i = 0; i < head->call_sites; i++, call += CALL_WORDS)
        if (call[1] >= head->blocks)
            return false;
    return true;
}

/* Walks the entries whose parts make sense. Linkers may leave zeros between the parts
 * of a section. */
typedef bool visit_entry(struct instrumented_file *file, const struct instrumented_function *head,
                         size_t at, void *context);

static bool walk(struct instrumented_file *file, visit_entry *visit, void *context)
{
    size_t count = file->map_bytes / 4;
    file->damaged = 0;
    for (size_t at = 0; at < count;) {
        struct instrumented_function head;
        if (file->words[at] == 0 || count - at < HEAD_WORDS) {
            at++;
            continue;
        }
        memcpy(&head, file->words + at, sizeof head);
        if (!head_ok(&head, count - at) || !parts_ok(&head, file->words + at)) {
            file->damaged++;
            at++;
            continue;
        }
        if (!visit(file, &head, at, context))
            return false;
        at += head.words;
    }
    return true;
}

struct sums {
    uint64_t entries, blocks, sites;
};

static bool add_sums(struct instrumented_file *file, const struct instrumented_function *head,
                     size_t at, void *context)
{
    struct sums *sums = context;
    (void)file;
    (void)at;
    sums->entries++;
    sums->blocks += head->blocks;
    sums->sites += head->call_sites;
    return true;
}

/* ---- functions ------------------------------------------------------------------------------- */

static uint64_t target(const struct instrumented_file *file, size_t word)
{
    return file->map + 4 * (uint64_t)word + (uint64_t)(int64_t)(int32_t)file->words[word];
}

/* Where the next blocks and call sites go, and the paths. */
struct filling {
    struct import_paths *paths;
    struct sums used;
};

static void fill_parts(struct instrumented_file *file, const struct instrumented_function *head,
                       size_t at, const struct sums *used)
{
    struct import_paths_block *blocks = file->blocks + used->blocks;
    struct import_paths_site *sites = file->sites + used->sites;
    size_t word = at + HEAD_WORDS;
    for (uint32_t i = 0; i < head->blocks; i++, word += BLOCK_WORDS) {
        struct instrumented_block block;
        memcpy(&block, file->words + word, sizeof block);
        blocks[i] = (struct import_paths_block){target(file, word), block.instructions, block.loads,
                                                block.stores};
        file->block_flags[used->blocks + i] =
            block.flags & INSTRUMENTED_BLOCK_ROOT ? (uint32_t)NUMBERING_ROOT : 0;
    }
    word += (size_t)head->edges * EDGE_WORDS;
    for (uint32_t i = 0; i < head->call_sites; i++, word += CALL_WORDS)
        sites[i] = (struct import_paths_site){target(file, word), file->words[word + 1]};
}

/* The number of potential paths as far as a float holds it: numbers of truncated functions count
 * pieces. */
static uint64_t potential_of(const struct instrumented_function *head)
{
    enum { EXACT_LOG2 = 18 };
    double log2 = (double)head->potential_log2;
    return head->blocks && log2 <= EXACT_LOG2 ? (uint64_t)llround(exp2(log2)) : 0;
}

static bool add_entry(struct instrumented_file *file, const struct instrumented_function *head,
                      size_t at, void *context)
{
    struct filling *filling = context;
    struct sums *used = &filling->used;
    struct instrumented_entry *entry = &file->entries[file->entries_count];
    uint64_t table = target(file, at + offsetof(struct instrumented_function, table) / 4);
    bool has_table = head->table_kind != INSTRUMENTED_TABLE_NONE && head->table != 0 &&
                     head->cells && !(head->modes & INSTRUMENTED_CONTEXTS) &&
                     table >= file->counters && table - file->counters <= file->counters_bytes &&
                     head->cells <= (file->counters_bytes - (table - file->counters)) / 8;
    fill_parts(file, head, at, used);
    *entry = (struct instrumented_entry){
        .offset = 4 * at,
        .table = has_table ? table - file->counters : UINT64_MAX,
        .words = at + HEAD_WORDS + (uint64_t)head->blocks * BLOCK_WORDS,
        .cells = head->cells,
        .modes = head->modes,
        .table_kind = head->table_kind,
        .blocks = head->blocks,
        .edges = head->edges,
        .sites = head->call_sites,
        .block_flags = file->block_flags + used->blocks,
    };
    struct import_paths_function function = {
        .module = file->module,
        .address = target(file, at + offsetof(struct instrumented_function, entry) / 4),
        .table_kind = head->table_kind,
        .reason = head->reason,
        .why = head->reason == INSTRUMENTED_WHOLE ? NULL : instrumented_reasons[head->reason],
        .inline_assembly = head->inline_assembly,
        .potential = potential_of(head),
        .potential_log2 = (double)head->potential_log2,
        .blocks = file->blocks + used->blocks,
        .sites = file->sites + used->sites,
        .blocks_count = head->blocks,
        .sites_count = head->call_sites,
    };
    file->entries_count++;
    used->blocks += head->blocks;
    used->sites += head->call_sites;
    return import_paths_function(filling->paths, &function, &entry->id);
}

static int compare_tables(const void *left, const void *right, void *context)
{
    const struct instrumented_entry *entries = context;
    uint64_t a = entries[*(const uint32_t *)left].table;
    uint64_t b = entries[*(const uint32_t *)right].table;
    return (a > b) - (a < b);
}

static void sort_tables(struct instrumented_file *file)
{
    for (size_t i = 0; i < file->entries_count; i++)
        if (file->entries[i].table != UINT64_MAX)
            file->by_table[file->by_table_count++] = (uint32_t)i;
    qsort_r(file->by_table, file->by_table_count, sizeof *file->by_table, compare_tables,
            file->entries);
}

static bool fill(struct instrumented_file *file, struct import_paths *paths)
{
    struct sums sums = {0};
    struct filling filling = {.paths = paths};
    walk(file, add_sums, &sums);
    file->entries = calloc(sums.entries + 1, sizeof *file->entries);
    file->by_table = calloc(sums.entries + 1, sizeof *file->by_table);
    file->blocks = calloc(sums.blocks + 1, sizeof *file->blocks);
    file->block_flags = calloc(sums.blocks + 1, sizeof *file->block_flags);
    file->sites = calloc(sums.sites + 1, sizeof *file->sites);
    if (!file->entries || !file->by_table || !file->blocks || !file->block_flags || !file->sites ||
        !walk(file, add_entry, &filling))
        return false;
    sort_tables(file);
    file->usable = true;
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

bool instrumented_file_load(struct instrumented_file *file, const struct binary_options *symbols,
                            struct import_paths *paths)
{
    struct binary *binary = NULL;
    bool good = true;
    if (binary_open(file->path, symbols, &binary) != BASE_OK)
        return true;
    bool found = binary_section(binary, "headroom_map", &file->map, &file->map_bytes) == BASE_OK &&
                 file->map_bytes <= MAP_BYTES_MAX;
    if (found && binary_section(binary, "headroom_counters", &file->counters,
                                &file->counters_bytes) != BASE_OK)
        file->counters = file->counters_bytes = 0;
    if (found) {
        file->words = malloc(file->map_bytes + 4);
        good = file->words != NULL;
        if (good && binary_read(binary, file->map, file->words, file->map_bytes) == BASE_OK)
            good = fill(file, paths);
    }
    binary_close(binary);
    return good;
}

void instrumented_file_free(struct instrumented_file *file)
{
    free(file->words);
    free(file->entries);
    free(file->by_table);
    free(file->blocks);
    free(file->block_flags);
    free(file->sites);
}

const struct instrumented_entry *instrumented_entry_at(const struct instrumented_file *file,
                                                       uint64_t offset)
{
    size_t found = BASE_FIRST(i, file->entries_count, file->entries[i].offset >= offset);
    bool known = found < file->entries_count && file->entries[found].offset == offset;
    return known ? &file->entries[found] : NULL;
}

static uint64_t end_of_table(const struct instrumented_entry *entry)
{
    return entry->table + 8 * (uint64_t)entry->cells;
}

size_t instrumented_entry_behind(const struct instrumented_file *file, uint64_t offset)
{
    return BASE_FIRST(i, file->by_table_count,
                      end_of_table(&file->entries[file->by_table[i]]) > offset);
}
