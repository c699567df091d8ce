// SPDX-License-Identifier: MIT
/*
 * Paths and calling contexts that the exact engine counted. It knows paths as sequences of blocks
 * of the graphs that it was given before the recording; the same graphs are worked out again here,
 * from the same files, for numbers and for what blocks hold. Paths of functions that have too many
 * to number, and what is no path of the graph (control went where nothing was known to lead), are
 * numbered as they come, from MADE_UP on.
 */
#include "pathgraph/pathgraph.h"
#include "import/paths.h"
#include "wire/instrumented.h"

#include <stdlib.h>
#include <string.h>

#define MADE_UP (UINT64_C(1) << 62)
#define UNKNOWN UINT32_MAX

/* As profile_check has it. */
static const uint64_t most_counted = UINT64_C(1) << 50;

struct known_module {
    uint32_t module;
    struct binary *binary; /* NULL: cannot be opened */
    struct pathgraph_returns *returns;
};

struct known_function {
    uint32_t module, id; /* id: in profile->path_functions */
    uint64_t entry;
    struct pathgraph *graph;
    struct import_paths_block *blocks;
    struct import_paths_site *sites;
};

struct known_vertex {
    uint32_t function, vertex; /* vertex: the profile's */
};

struct state {
    uint32_t parent, vertex, block, kind; /* parent: index; 0: none */
    uint64_t count, misses;
};

/* A path, once. */
struct sequence {
    uint32_t function, flags; /* flags: enum profile_path_flags */
    uint32_t first, count;    /* in `steps` */
    uint64_t number;
};

struct import_exact_paths {
    struct import_gather *gather;
    struct import_paths *executed;
    struct known_module *modules;
    size_t modules_count, modules_capacity;
    struct known_function *functions;
    size_t functions_count, functions_capacity;
    struct util_index functions_by_key;
    struct known_vertex *vertices; /* of all processes */
    size_t vertices_count, vertices_capacity;
    struct state *states;
    size_t states_count, states_capacity;
    uint32_t process;
    struct import_ids vertex_of, state_of; /* by id of the process; 0: none */
    struct sequence *sequences;
    size_t sequences_count, sequences_capacity;
    struct util_index sequences_by_key;
    uint32_t *steps;
    size_t steps_count, steps_capacity;
    uint32_t *by_number; /* sequences by function, number */
    struct wire_path_totals totals;
    uint64_t instructions, loads, stores;
    uint64_t unnumbered;
    bool any;
};

static bool corrupt(struct import_gather *gather)
{
    gather->corrupt++;
    return true;
}

void import_exact_paths_free(struct import_exact_paths *paths)
{
    if (!paths)
        return;
    for (size_t i = 0; i < paths->modules_count; i++) {
        binary_close(paths->modules[i].binary);
        free(paths->modules[i].returns);
    }
    for (size_t i = 0; i < paths->functions_count; i++) {
        pathgraph_free(paths->functions[i].graph);
        free(paths->functions[i].blocks);
        free(paths->functions[i].sites);
    }
    import_paths_free(paths->executed);
    util_index_free(&paths->functions_by_key);
    util_index_free(&paths->sequences_by_key);
    free(paths->modules);
    free(paths->functions);
    free(paths->vertices);
    free(paths->states);
    import_ids_free(&paths->vertex_of);
    import_ids_free(&paths->state_of);
    free(paths->sequences);
    free(paths->steps);
    free(paths->by_number);
    free(paths);
}

static struct import_exact_paths *paths_of(struct import_gather *gather)
{
    if (gather->paths)
        return gather->paths;
    struct import_exact_paths *paths = calloc(1, sizeof *paths);
    if (!paths)
        return NULL;
    paths->gather = gather;
    paths->process = UNKNOWN;
    paths->executed = import_paths_new(gather->profile);
    paths->vertices_count = paths->states_count = 1;
    if (!paths->executed || !UTIL_GROW_ZEROED(paths->vertices, paths->vertices_capacity, 0) ||
        !UTIL_GROW_ZEROED(paths->states, paths->states_capacity, 0)) {
        import_exact_paths_free(paths);
        return NULL;
    }
    paths->vertices[0] = (struct known_vertex){UNKNOWN, 0};
    return gather->paths = paths;
}

/* ---- functions ---------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct known_module *module_of(struct import_exact_paths *paths, uint32_t module)
{
    for (size_t i = 0; i < paths->modules_count; i++)
        if (paths->modules[i].module == module)
            return &paths->modules[i];
    if (!UTIL_GROW_ZEROED(paths->modules, paths->modules_capacity, paths->modules_count))
        return NULL;
    struct known_module *added = &paths->modules[paths->modules_count++];
    struct binary_options options = {0}; /* as the graphs were made */
    *added = (struct known_module){.module = module, .returns = calloc(1, sizeof *added->returns)};
    if (!added->returns)
        return NULL;
    if (module && binary_open(paths->gather->profile->modules[module].path, &options,
                              &added->binary) != BASE_OK)
        added->binary = NULL;
    if (added->binary)
        pathgraph_returns_begin(added->returns, added->binary);
    return added;
}

static bool describe(struct import_exact_paths *paths, struct known_function *function)
{
    const struct pathgraph *graph = function->graph;
    uint64_t potential = numbering_count(graph->paths);
    function->blocks = calloc(graph->blocks_count, sizeof *function->blocks);
    function->sites = calloc((size_t)graph->calls_count + 1, sizeof *function->sites);
    if (!function->blocks || !function->sites)
        return false;
    for (uint32_t i = 0; i < graph->blocks_count; i++) {
        const struct pathgraph_block *block = &graph->blocks[i];
        function->blocks[i] = (struct import_paths_block){block->start, block->instructions,
                                                          block->loads, block->stores};
    }
    for (uint32_t i = 0; i < graph->calls_count; i++)
        function->sites[i] =
            (struct import_paths_site){graph->calls[i].back, graph->calls[i].block};
    struct import_paths_function described = {
        .module = function->module,
        .address = function->entry,
        .table_kind = PROFILE_TABLE_ARRAY, /* as if: nothing is hashed, nothing cut */
        .reason = PROFILE_PATH_WHOLE,
        .potential = potential <= INT64_MAX ? potential : 0,
        .potential_log2 = numbering_log2(graph->paths),
        .blocks = function->blocks,
        .sites = function->sites,
        .blocks_count = graph->blocks_count,
        .sites_count = graph->calls_count,
    };
    return import_paths_function(paths->executed, &described, &function->id);
}

static bool equal_function(const void *items, uint32_t item, const void *key)
{
    const struct known_function *a = &((const struct known_function *)items)[item], *b = key;
    return a->entry == b->entry && a->module == b->module;
}

/* Index; UNKNOWN: there is no such function. False: no memory. */
static bool function_of(struct import_exact_paths *paths, uint32_t module, uint64_t entry,
                        uint32_t *index)
{
    struct known_function key = {.module = module, .entry = entry};
    bool found;
    if (util_index_find(&paths->functions_by_key, import_hash(entry, module, 0), equal_function,
                        paths->functions, &key, index))
        return true;
    struct known_module *known = module_of(paths, module);
    struct pathgraph *graph = NULL;
    *index = UNKNOWN;
    if (!known)
        return false;
    if (!known->binary)
        return true;
    enum base_status status = pathgraph_of(known->returns, entry, &graph);
    if (status != BASE_OK)
        return status != BASE_NO_MEMORY;
    if (!UTIL_GROW_ZEROED(paths->functions, paths->functions_capacity, paths->functions_count)) {
        pathgraph_free(graph);
        return false;
    }
    key.graph = graph;
    paths->functions[paths->functions_count] = key;
    if (!util_index_enter(&paths->functions_by_key, import_hash(entry, module, 0), equal_function,
                          paths->functions, &key, (uint32_t)paths->functions_count, index, &found))
        return false;
    paths->functions_count++;
    return describe(paths, &paths->functions[*index]);
}

/* ---- records --------------------------------------------------------------------------------- */

static void begin_process(struct import_exact_paths *paths, uint32_t process)
{
    if (paths->process == process)
        return;
    paths->process = process;
    import_ids_clear(&paths->vertex_of);
    import_ids_clear(&paths->state_of);
}

static uint32_t site_of(const struct import_exact_paths *paths, uint32_t parent,
                        const struct wire_path_vertex *record)
{
    uint32_t caller = paths->vertices[parent].function;
    if (!record->has_site || caller == UNKNOWN)
        return UNKNOWN;
    const struct pathgraph *graph = paths->functions[caller].graph;
    for (uint32_t i = 0; i < graph->calls_count; i++)
        if (graph->calls[i].back == record->site)
            return i;
    return UNKNOWN;
}

static bool visit_vertex(struct import_exact_paths *paths, uint32_t process,
                         const struct wire_path_vertex *record)
{
    struct import_gather *gather = paths->gather;
    uint32_t module = import_module_of(gather, process, record->module), function;
    if (!record->vertex || record->vertex > IMPORT_IDS_MAX || record->parent >= record->vertex ||
        record->count > most_counted)
        return corrupt(gather);
    if (!function_of(paths, module, record->entry, &function))
        return import_no_memory(gather);
    uint32_t parent = import_ids_get(&paths->vertex_of, record->parent);
    uint32_t known = import_ids_get(&paths->vertex_of, record->vertex);
    if (function == UNKNOWN || (record->parent && !parent))
        return corrupt(gather);
    if (!known) {
        struct known_vertex vertex = {.function = function};
        if (!UTIL_GROW_ZEROED(paths->vertices, paths->vertices_capacity, paths->vertices_count) ||
            !import_paths_vertex(paths->executed, paths->vertices[parent].vertex,
                                 paths->functions[function].id, site_of(paths, parent, record),
                                 &vertex.vertex) ||
            !import_ids_set(&paths->vertex_of, record->vertex, (uint32_t)paths->vertices_count))
            return import_no_memory(gather);
        known = (uint32_t)paths->vertices_count;
        paths->vertices[paths->vertices_count++] = vertex;
    }
    import_paths_activate(paths->executed, paths->vertices[known].vertex, record->count, 0,
                          &IMPORT_UNMEASURED);
    return true;
}

static bool state_ok(const struct import_exact_paths *paths, const struct wire_path_state *record)
{
    bool first = record->kind < WIRE_PATH_NEXT;
    uint32_t vertex = import_ids_get(&paths->vertex_of, record->vertex);
    if (!record->state || record->state > IMPORT_IDS_MAX || record->parent >= record->state ||
        record->kind < WIRE_PATH_ENTRY || record->kind > WIRE_PATH_CUT || !vertex ||
        record->count > most_counted || record->misses > most_counted ||
        first != (record->parent == 0))
        return false;
    const struct pathgraph *graph = paths->functions[paths->vertices[vertex].function].graph;
    if (record->kind != WIRE_PATH_EXIT && record->block >= graph->blocks_count)
        return false;
    if (first)
        return true;
    uint32_t parent = import_ids_get(&paths->state_of, record->parent);
    return parent && paths->states[parent].vertex == vertex &&
           paths->states[parent].kind <= WIRE_PATH_NEXT;
}

static bool visit_state(struct import_exact_paths *paths, const struct wire_path_state *record)
{
    if (!state_ok(paths, record))
        return corrupt(paths->gather);
    if (!UTIL_GROW_ZEROED(paths->states, paths->states_capacity, paths->states_count))
        return import_no_memory(paths->gather);
    uint32_t known = import_ids_get(&paths->state_of, record->state);
    if (!known) {
        known = (uint32_t)paths->states_count;
        if (!import_ids_set(&paths->state_of, record->state, known))
            return import_no_memory(paths->gather);
        paths->states[paths->states_count++] =
            (struct state){.parent = import_ids_get(&paths->state_of, record->parent),
                           .vertex = import_ids_get(&paths->vertex_of, record->vertex),
                           .block = record->block,
                           .kind = record->kind};
    }
    struct state *state = &paths->states[known];
    if (state->count + record->count <= most_counted &&
        state->misses + record->misses <= most_counted) {
        state->count += record->count;
        state->misses += record->misses;
    }
    return true;
}

static bool visit_totals(struct import_exact_paths *paths, const struct wire_path_totals *record)
{
    struct wire_path_totals *totals = &paths->totals;
    const uint64_t counts[] = {
        record->misses,          record->lost_misses,      record->elsewhere_instructions,
        record->elsewhere_loads, record->elsewhere_stores, record->elsewhere_misses,
        record->cache_bytes};
    for (size_t i = 0; i < BASE_COUNT(counts); i++)
        if (counts[i] > most_counted / 1024)
            return corrupt(paths->gather);
    totals->contexts = record->contexts != 0;
    totals->sites = record->sites != 0;
    totals->cache_bytes = record->cache_bytes;
    totals->cache_ways = record->cache_ways;
    totals->line_bytes = record->line_bytes;
    totals->misses += record->misses;
    totals->lost_misses += record->lost_misses;
    totals->elsewhere_misses += record->elsewhere_misses;
    totals->elsewhere_instructions += record->elsewhere_instructions;
    totals->elsewhere_loads += record->elsewhere_loads;
    totals->elsewhere_stores += record->elsewhere_stores;
    paths->any = true;
    return true;
}

bool import_exact_paths_visit(struct import_gather *gather, uint32_t process,
                              const struct wire_record *record)
{
    struct import_exact_paths *paths = paths_of(gather);
    if (!paths)
        return import_no_memory(gather);
    begin_process(paths, process);
    if (record->type == WIRE_PATH_VERTEX)
        return visit_vertex(paths, process, (const struct wire_path_vertex *)record);
    if (record->type == WIRE_PATH_STATE)
        return visit_state(paths, (const struct wire_path_state *)record);
    return visit_totals(paths, (const struct wire_path_totals *)record);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static uint32_t edge_between(const struct numbering_graph *graph, uint32_t from, uint32_t to)
{
    const struct numbering_edge *edges = graph->edges;
    uint32_t count = graph->edges_count;
    for (uint32_t e = BASE_FIRST(i, count, edges[i].from >= from);
         e < count && edges[e].from == from; e++)
        if (edges[e].to == to)
            return e;
    return UNKNOWN;
}

/* The number that `numbering` gives it. False: none. */
static bool number_of(const struct pathgraph *graph, const struct sequence *sequence,
                      const uint32_t *blocks, uint32_t last, uint64_t *number)
{
    uint32_t *edges = calloc((size_t)graph->blocks_count + 1, sizeof *edges);
    bool good =
        edges && sequence->count <= graph->blocks_count && numbering_count(graph->paths) < MADE_UP;
    for (uint32_t i = 0; i < sequence->count && good; i++) {
        uint32_t to = i + 1 < sequence->count ? blocks[i + 1] : last;
        edges[i] = edge_between(&graph->numbering_graph, blocks[i], to);
        good = edges[i] != UNKNOWN;
    }
    if (good) {
        struct numbering_path path = {
            .ends = sequence->flags, .count = sequence->count, .first = blocks[0], .edges = edges};
        good = numbering_encode(graph->paths, &path, number) == BASE_OK;
    }
    free(edges);
    return good;
}

struct sequence_key {
    struct import_exact_paths *paths;
    uint32_t function, flags, count, last;
    const uint32_t *blocks;
};

static bool equal_sequence(const void *items, uint32_t item, const void *key)
{
    const struct sequence *sequence = &((const struct sequence *)items)[item];
    const struct sequence_key *wanted = key;
    const uint32_t *steps = wanted->paths->steps + sequence->first;
    return sequence->function == wanted->function && sequence->flags == wanted->flags &&
           sequence->count == wanted->count && steps[sequence->count] == wanted->last &&
           memcmp(steps, wanted->blocks, wanted->count * sizeof *steps) == 0;
}

static bool add_sequence(struct import_exact_paths *paths, const struct sequence_key *key)
{
    const struct pathgraph *graph = paths->functions[key->function].graph;
    struct sequence sequence = {.function = key->function,
                                .flags = key->flags,
                                .first = (uint32_t)paths->steps_count,
                                .count = key->count};
    for (uint32_t i = 0; i <= key->count; i++) {
        if (!UTIL_GROW_ZEROED(paths->steps, paths->steps_capacity, paths->steps_count))
            return false;
        paths->steps[paths->steps_count++] = i < key->count ? key->blocks[i] : key->last;
    }
    if (!number_of(graph, &sequence, key->blocks, key->last, &sequence.number))
        sequence.number = MADE_UP + paths->unnumbered++;
    paths->sequences[paths->sequences_count++] = sequence;
    return true;
}

static bool enter_sequence(struct import_exact_paths *paths, const struct sequence_key *key,
                           uint32_t *item)
{
    bool found;
    uint64_t hash = base_hash_bytes(key->blocks, key->count * sizeof *key->blocks, key->last);
    if (!UTIL_GROW_ZEROED(paths->sequences, paths->sequences_capacity, paths->sequences_count) ||
        !util_index_enter(&paths->sequences_by_key, import_hash(hash, key->function, key->flags),
                          equal_sequence, paths->sequences, key, (uint32_t)paths->sequences_count,
                          item, &found))
        return false;
    return found || add_sequence(paths, key);
}

static uint32_t flags_of(uint32_t first_kind, uint32_t last_kind)
{
    return (first_kind == WIRE_PATH_ROOT        ? PROFILE_PATH_FROM_ROOT
            : first_kind == WIRE_PATH_AFTER_CUT ? PROFILE_PATH_FROM_CUT
                                                : 0) |
           (last_kind == WIRE_PATH_CUT ? PROFILE_PATH_TO_CUT : 0);
}

static void add_to_totals(struct import_exact_paths *paths, const struct known_function *function,
                          const uint32_t *blocks, uint32_t count, uint64_t times)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct import_paths_block *block = &function->blocks[blocks[i]];
        paths->instructions += times * block->instructions;
        paths->loads += times * block->loads;
        paths->stores += times * block->stores;
    }
}

/* One leaf of the tree of prefixes. room: for as many blocks as there are states. */
static bool count_leaf(struct import_exact_paths *paths, const struct state *leaf, uint32_t *room,
                       size_t room_count)
{
    const struct known_vertex *vertex = &paths->vertices[leaf->vertex];
    struct known_function *function = &paths->functions[vertex->function];
    uint32_t at = leaf->parent, first_kind = 0, item;
    size_t from = room_count;
    for (; at; at = paths->states[at].parent) {
        room[--from] = paths->states[at].block;
        first_kind = paths->states[at].kind;
    }
    struct sequence_key key = {.paths = paths,
                               .function = vertex->function,
                               .flags = flags_of(first_kind, leaf->kind),
                               .count = (uint32_t)(room_count - from),
                               .last = leaf->kind == WIRE_PATH_CUT ? leaf->block : NUMBERING_EXIT,
                               .blocks = room + from};
    if (key.count > function->graph->blocks_count)
        return corrupt(paths->gather);
    if (!enter_sequence(paths, &key, &item))
        return false;
    add_to_totals(paths, function, key.blocks, key.count, leaf->count);
    struct import_paths_cost cost = IMPORT_UNMEASURED;
    if (paths->totals.cache_bytes)
        cost.misses = (double)leaf->misses;
    return import_paths_count(paths->executed, paths->totals.contexts ? vertex->vertex : 0,
                              function->id, paths->sequences[item].number, leaf->count, &cost);
}

static bool count_leaves(struct import_exact_paths *paths)
{
    uint32_t *room = calloc(paths->states_count, sizeof *room);
    bool good = room != NULL;
    for (size_t i = 1; i < paths->states_count && good; i++)
        if (paths->states[i].kind >= WIRE_PATH_EXIT)
            good = count_leaf(paths, &paths->states[i], room, paths->states_count);
    free(room);
    return good;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right, void *context)
{
    const struct import_exact_paths *paths = context;
    const struct sequence *a = &paths->sequences[*(const uint32_t *)left];
    const struct sequence *b = &paths->sequences[*(const uint32_t *)right];
    uint32_t one = paths->functions[a->function].id, other = paths->functions[b->function].id;
    if (one != other)
        return one < other ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static bool order_numbers(struct import_exact_paths *paths)
{
    paths->by_number = calloc(paths->sequences_count + 1, sizeof *paths->by_number);
    if (!paths->by_number)
        return false;
    for (size_t i = 0; i < paths->sequences_count; i++)
        paths->by_number[i] = (uint32_t)i;
    qsort_r(paths->by_number, paths->sequences_count, sizeof *paths->by_number, compare_numbers,
            paths);
    return true;
}

/* Nops that align the next block may be a block of their own, which the source knows nothing of. */
static uint32_t put_blocks(const struct import_exact_paths *paths, const struct sequence *sequence,
                           uint32_t *blocks)
{
    const struct import_paths_block *known = paths->functions[sequence->function].blocks;
    uint32_t count = 0;
    for (uint32_t i = 0; i < sequence->count; i++) {
        uint32_t block = paths->steps[sequence->first + i];
        if (known[block].instructions || (count == 0 && i + 1 == sequence->count))
            blocks[count++] = block;
    }
    return count;
}

static bool is_before(const struct import_exact_paths *paths, const struct sequence *sequence,
                      uint32_t function, uint64_t number)
{
    uint32_t id = paths->functions[sequence->function].id;
    return id < function || (id == function && sequence->number < number);
}

static uint32_t blocks_of(void *context, uint32_t function, uint64_t number, uint32_t *blocks,
                          uint32_t room, uint32_t *flags)
{
    const struct import_exact_paths *paths = context;
    size_t first =
        BASE_FIRST(i, paths->sequences_count,
                   !is_before(paths, &paths->sequences[paths->by_number[i]], function, number));
    if (first == paths->sequences_count)
        return 0;
    const struct sequence *found = &paths->sequences[paths->by_number[first]];
    if (paths->functions[found->function].id != function || found->number != number ||
        found->count > room)
        return 0;
    *flags = found->flags;
    return put_blocks(paths, found, blocks);
}

static bool describe_run(struct import_exact_paths *paths)
{
    struct profile *profile = paths->gather->profile;
    const struct wire_path_totals *totals = &paths->totals;
    struct profile_path_run *row = profile_add_path_runs(profile);
    if (!row)
        return false;
    row->modes = INSTRUMENTED_PATHS | (totals->contexts ? INSTRUMENTED_CONTEXTS : 0) |
                 (totals->contexts && totals->sites ? INSTRUMENTED_CALL_SITES : 0);
    row->cache_bytes = totals->cache_bytes;
    row->cache_ways = totals->cache_ways;
    row->cache_line = totals->line_bytes;
    if (profile->exacts_count == 0)
        return true;
    struct profile_exact *exact = &profile->exacts[0];
    exact->instructions += paths->instructions + totals->elsewhere_instructions;
    exact->loads += paths->loads + totals->elsewhere_loads;
    exact->stores += paths->stores + totals->elsewhere_stores;
    return true;
}

/* What is not in the paths. */
static bool tell_elsewhere(const struct import_exact_paths *paths)
{
    const struct wire_path_totals *totals = &paths->totals;
    double all = (double)(paths->instructions + totals->elsewhere_instructions);
    double share = all > 0 ? 100 * (double)totals->elsewhere_instructions / all : 0;
    double misses =
        totals->misses ? 100 * (double)totals->elsewhere_misses / (double)totals->misses : 0;
    if (share < 1 && misses < 1)
        return true;
    if (!totals->cache_bytes)
        return import_degraded(paths->gather->profile,
                               "%.0f%% of the instructions were executed in code whose paths are "
                               "not followed",
                               share);
    return import_degraded(paths->gather->profile,
                           "%.0f%% of the instructions were executed, and %.0f%% of the misses "
                           "happened, in code whose paths are not followed",
                           share, misses);
}

bool import_exact_paths_finish(struct import_gather *gather, const struct binary_options *symbols,
                               struct import_teller *teller)
{
    struct import_exact_paths *paths = gather->paths;
    uint64_t unknown = 0;
    if (!paths)
        return true;
    if (!count_leaves(paths) || !order_numbers(paths) || !describe_run(paths) ||
        !import_paths_finish(paths->executed, blocks_of, paths, symbols, teller, &unknown))
        return import_no_memory(gather);
    if (!tell_elsewhere(paths))
        return import_no_memory(gather);
    if (gather->profile->path_functions_count <= 1)
        return import_degraded(gather->profile, "no function whose paths could be followed was "
                                                "executed: are there symbols?");
    return true;
}
