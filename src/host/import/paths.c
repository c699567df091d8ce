// SPDX-License-Identifier: MIT
/*
 * Counts of paths, added up and put in the profile's order. A path is known by its function and
 * number until the end; only then, function by function, are the blocks asked for, so that an
 * engine need not keep decoded paths, nor numbered graphs of more than one function.
 */
#include "import/paths.h"
#include "import/paths_internal.h"

#include <stdlib.h>
#include <string.h>

/* As profile_check has it. */
static const uint64_t most_counted = UINT64_C(1) << 50;

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > most_counted || b > most_counted - a ? most_counted : a + b;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > most_counted ? most_counted
                                                                            : product;
}

static void add_measure(double *sum, double value)
{
    if (value >= 0)
        *sum = (*sum < 0 ? 0 : *sum) + value;
}

/* Cycles or events of all executions, by those that were measured. */
static double scaled(double cycles, uint64_t measured, uint64_t count)
{
    return measured && cycles >= 0 ? cycles / (double)measured * (double)count : -1;
}

struct import_paths *import_paths_new(struct profile *profile)
{
    struct import_paths *paths = calloc(1, sizeof *paths);
    if (paths)
        paths->profile = profile;
    return paths;
}

void import_paths_free(struct import_paths *paths)
{
    if (!paths)
        return;
    util_index_free(&paths->items_by_key);
    util_index_free(&paths->vertices_by_key);
    util_index_free(&paths->uses_by_key);
    free(paths->functions);
    free(paths->items);
    free(paths->uses);
    free(paths);
}

/* ---- adding up ---------------------------------------------------------------------------- */

bool import_paths_function(struct import_paths *paths, const struct import_paths_function *function,
                           uint32_t *id)
{
    struct profile *profile = paths->profile;
    struct profile_path_function *added = profile_add_path_functions(profile);
    *id = (uint32_t)profile->path_functions_count - 1;
    if (!added || !UTIL_GROW_ZEROED(paths->functions, paths->functions_capacity, *id))
        return false;
    paths->functions[*id] = *function;
    *added = (struct profile_path_function){.address = function->address,
                                            .module = function->module,
                                            .table_kind = function->table_kind,
                                            .reason = function->reason,
                                            .why = function->why,
                                            .blocks = function->blocks_count,
                                            .call_sites = function->sites_count,
                                            .inline_assembly = function->inline_assembly,
                                            .potential = function->potential,
                                            .potential_log2 = function->potential_log2};
    return true;
}

static bool equal_vertex(const void *items, uint32_t item, const void *key)
{
    const struct profile_vertex *a = &((const struct profile_vertex *)items)[item], *b = key;
    return a->parent == b->parent && a->function == b->function && a->site == b->site;
}

bool import_paths_vertex(struct import_paths *paths, uint32_t parent, uint32_t function,
                         uint32_t site, uint32_t *vertex)
{
    struct profile *profile = paths->profile;
    struct profile_vertex key = {.parent = parent,
                                 .function = function,
                                 .site = site,
                                 .instructions = -1,
                                 .cycles = -1,
                                 .misses = -1};
    bool found;
    if (!util_index_enter(&paths->vertices_by_key, import_hash(parent, function, site),
                          equal_vertex, profile->vertices, &key, (uint32_t)profile->vertices_count,
                          vertex, &found))
        return false;
    struct profile_vertex *added = found ? NULL : profile_add_vertices(profile);
    if (added) {
        key.call_sites = function ? paths->functions[function].sites_count : 0;
        *added = key;
    }
    return found || added;
}

void import_paths_activate(struct import_paths *paths, uint32_t vertex, uint64_t count,
                           uint64_t bytes, const struct import_paths_cost *cost)
{
    struct profile_vertex *item = &paths->profile->vertices[vertex];
    item->count = add(item->count, count);
    item->bytes = bytes > item->bytes && bytes <= most_counted ? bytes : item->bytes;
    add_measure(&item->cycles, cost->cycles);
    item->measured = add(item->measured, cost->measured);
    add_measure(&item->misses, cost->misses);
}

static bool equal_item(const void *items, uint32_t item, const void *key)
{
    const struct paths_item *a = &((const struct paths_item *)items)[item], *b = key;
    return a->function == b->function && a->number == b->number;
}

static bool equal_use(const void *items, uint32_t item, const void *key)
{
    const struct paths_use *a = &((const struct paths_use *)items)[item], *b = key;
    return a->vertex == b->vertex && a->item == b->item;
}

static bool count_in_context(struct import_paths *paths, uint32_t vertex, uint32_t item,
                             uint64_t count, const struct import_paths_cost *cost)
{
    struct paths_use key = {.vertex = vertex, .item = item, .cycles = -1};
    uint32_t use;
    bool found;
    if (!UTIL_GROW_ZEROED(paths->uses, paths->uses_capacity, paths->uses_count) ||
        !util_index_enter(&paths->uses_by_key, import_hash(vertex, item, 2), equal_use, paths->uses,
                          &key, (uint32_t)paths->uses_count, &use, &found))
        return false;
    if (!found)
        paths->uses[paths->uses_count++] = key;
    paths->uses[use].count = add(paths->uses[use].count, count);
    add_measure(&paths->uses[use].cycles, cost->cycles);
    paths->uses[use].measured = add(paths->uses[use].measured, cost->measured);
    add_measure(&paths->profile->vertices[vertex].misses, cost->misses);
    return true;
}

bool import_paths_count(struct import_paths *paths, uint32_t vertex, uint32_t function,
                        uint64_t number, uint64_t count, const struct import_paths_cost *cost)
{
    struct paths_item key = {.function = function, .number = number, .cost = IMPORT_UNMEASURED};
    uint32_t item;
    bool found;
    if (count == 0)
        return true;
    if (!UTIL_GROW_ZEROED(paths->items, paths->items_capacity, paths->items_count) ||
        !util_index_enter(&paths->items_by_key, import_hash(function, number, 1), equal_item,
                          paths->items, &key, (uint32_t)paths->items_count, &item, &found))
        return false;
    if (!found)
        paths->items[paths->items_count++] = key;
    struct paths_item *counted = &paths->items[item];
    counted->count = add(counted->count, count);
    add_measure(&counted->cost.cycles, cost->cycles);
    counted->cost.measured = add(counted->cost.measured, cost->measured);
    add_measure(&counted->cost.misses, cost->misses);
    add_measure(&counted->cost.events, cost->events);
    return !vertex || count_in_context(paths, vertex, item, count, cost);
}

/* ---- paths in order ------------------------------------------------------------------------- */

/* One function while its paths are put in order. */
struct order {
    struct import_paths *paths;
    import_paths_blocks *blocks;
    void *context;
    uint64_t unknown;
    uint32_t *ids;   /* by block of the function: 1: some path runs through; then its id */
    uint32_t *route; /* room for a path */
    size_t ids_capacity, route_capacity;
};

static int compare_items(const void *left, const void *right, void *context)
{
    const struct paths_item *items = context;
    const struct paths_item *a = &items[*(const uint32_t *)left];
    const struct paths_item *b = &items[*(const uint32_t *)right];
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static bool add_path(struct order *order, struct paths_item *item, uint32_t flags, uint32_t steps)
{
    struct import_paths *paths = order->paths;
    struct profile *profile = paths->profile;
    const struct import_paths_block *blocks = paths->functions[item->function].blocks;
    struct profile_path path = {
        .function = item->function,
        .flags = flags,
        .number = item->number,
        .count = item->count,
        .cycles = scaled(item->cost.cycles, item->cost.measured, item->count),
        .measured = item->cost.measured,
        .misses = item->cost.misses,
        .events = scaled(item->cost.events, item->cost.measured, item->count),
        .first_step = (uint32_t)profile->path_steps_count,
        .steps = steps};
    for (uint32_t i = 0; i < steps; i++) {
        const struct import_paths_block *block = &blocks[order->route[i]];
        struct profile_path_step *step = profile_add_path_steps(profile);
        if (!step)
            return false;
        step->block = order->route[i]; /* its number; an id when all of the function are known */
        order->ids[order->route[i]] = 1;
        path.instructions = add(path.instructions, multiply(item->count, block->instructions));
        path.loads = add(path.loads, multiply(item->count, block->loads));
        path.stores = add(path.stores, multiply(item->count, block->stores));
    }
    struct profile_path *added = profile_add_paths(profile);
    if (added)
        *added = path;
    item->path = (uint32_t)profile->paths_count - 1;
    return added != NULL;
}

static bool add_blocks(struct order *order, uint32_t function, size_t first_step)
{
    struct profile *profile = order->paths->profile;
    const struct import_paths_function *known = &order->paths->functions[function];
    for (uint32_t b = 0; b < known->blocks_count; b++) {
        struct profile_path_block *added = order->ids[b] ? profile_add_path_blocks(profile) : NULL;
        if (order->ids[b] && !added)
            return false;
        if (!added)
            continue;
        *added = (struct profile_path_block){.function = function,
                                             .block = b,
                                             .address = known->blocks[b].address,
                                             .instructions = known->blocks[b].instructions,
                                             .loads = known->blocks[b].loads,
                                             .stores = known->blocks[b].stores};
        order->ids[b] = (uint32_t)profile->path_blocks_count - 1;
    }
    for (size_t i = first_step; i < profile->path_steps_count; i++)
        profile->path_steps[i].block = order->ids[profile->path_steps[i].block];
    return true;
}

/* Paths of one function: items[numbers[0 .. count)]. */
static bool order_function(struct order *order, const uint32_t *numbers, size_t count)
{
    struct import_paths *paths = order->paths;
    uint32_t function = paths->items[numbers[0]].function, flags;
    uint32_t room = paths->functions[function].blocks_count;
    size_t first_step = paths->profile->path_steps_count;
    if (!UTIL_GROW_ZEROED(order->ids, order->ids_capacity, room) ||
        !UTIL_GROW_ZEROED(order->route, order->route_capacity, room))
        return false;
    memset(order->ids, 0, room * sizeof *order->ids);
    for (size_t i = 0; i < count; i++) {
        struct paths_item *item = &paths->items[numbers[i]];
        uint32_t steps =
            order->blocks(order->context, function, item->number, order->route, room, &flags);
        item->path = UINT32_MAX;
        if (steps == 0)
            order->unknown = add(order->unknown, item->count);
        else if (!add_path(order, item, flags, steps))
            return false;
    }
    return add_blocks(order, function, first_step);
}

static bool order_paths(struct order *order, struct import_teller *teller)
{
    struct import_paths *paths = order->paths;
    size_t count = paths->items_count;
    uint32_t *numbers = calloc(count + 1, sizeof *numbers);
    bool good = numbers != NULL;
    for (size_t i = 0; i < count && good; i++)
        numbers[i] = (uint32_t)i;
    if (good)
        qsort_r(numbers, count, sizeof *numbers, compare_items, paths->items);
    for (size_t from = 0, to; from < count && good; from = to) {
        uint32_t function = paths->items[numbers[from]].function;
        for (to = from; to < count && paths->items[numbers[to]].function == function;)
            to++;
        good = order_function(order, numbers + from, to - from);
        import_tell(teller, "decoding paths", to, count);
    }
    free(numbers);
    free(order->ids);
    free(order->route);
    return good;
}

/* ---- contexts -------------------------------------------------------------------------------- */

static int compare_vertex_paths(const void *left, const void *right)
{
    const struct profile_vertex_path *a = left, *b = right;
    if (a->vertex != b->vertex)
        return a->vertex < b->vertex ? -1 : 1;
    return (a->path > b->path) - (a->path < b->path);
}

/* What a path took in a context where it was never measured is taken to be what it
 * took in others. */
static void add_time(struct profile_vertex *vertex, const struct paths_use *use,
                     const struct profile_path *path)
{
    double cycles = use->measured
                        ? scaled(use->cycles, use->measured, use->count)
                        : scaled(path->cycles, path->measured ? path->count : 0, use->count);
    add_measure(&vertex->cycles, cycles);
    vertex->measured = add(vertex->measured, use->measured);
}

static bool order_uses(struct import_paths *paths)
{
    struct profile *profile = paths->profile;
    for (size_t i = 1; i < profile->vertices_count; i++) {
        struct profile_vertex *vertex = &profile->vertices[i];
        vertex->cycles = scaled(vertex->cycles, vertex->measured, vertex->count);
        if (paths->uses_count)
            vertex->instructions = 0;
    }
    for (size_t i = 0; i < paths->uses_count; i++) {
        const struct paths_use *use = &paths->uses[i];
        uint32_t path = paths->items[use->item].path;
        if (path == UINT32_MAX)
            continue;
        const struct profile_path *known = &profile->paths[path];
        struct profile_vertex_path *row = profile_add_vertex_paths(profile);
        if (!row)
            return false;
        *row = (struct profile_vertex_path){use->vertex, path, use->count};
        profile->vertices[use->vertex].instructions +=
            (double)use->count * (double)known->instructions / (double)known->count;
        add_time(&profile->vertices[use->vertex], use, known);
    }
    if (profile->vertex_paths_count)
        qsort(profile->vertex_paths, profile->vertex_paths_count, sizeof *profile->vertex_paths,
              compare_vertex_paths);
    return true;
}

/* What call sites do in a vertex. */
struct site_counts {
    const struct import_paths *paths;
    uint32_t *passes; /* by block: executed paths of the vertex that run through it      */
    uint64_t *called; /* vertex << 32 | site, ascending: where a vertex is called from it */
    size_t called_count;
    bool by_site;
};

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void list_called(struct site_counts *sites)
{
    const struct profile *profile = sites->paths->profile;
    size_t kept = 0;
    for (size_t i = 1; i < profile->vertices_count; i++) {
        const struct profile_vertex *vertex = &profile->vertices[i];
        if (vertex->site < profile->vertices[vertex->parent].call_sites)
            sites->called[sites->called_count++] = (uint64_t)vertex->parent << 32 | vertex->site;
        sites->by_site |= vertex->site != UINT32_MAX;
    }
    qsort(sites->called, sites->called_count, sizeof *sites->called, compare_numbers);
    for (size_t i = 0; i < sites->called_count; i++)
        if (i == 0 || sites->called[i] != sites->called[i - 1])
            sites->called[kept++] = sites->called[i];
    sites->called_count = kept;
}

static void pass(const struct site_counts *sites, const struct profile_path *path, uint32_t change)
{
    const struct profile *profile = sites->paths->profile;
    for (uint32_t i = 0; i < path->steps; i++)
        sites
            ->passes[profile->path_blocks[profile->path_steps[path->first_step + i].block].block] +=
            change;
}

/* Without call sites in the tree those count as used that some executed path reaches. */
static void count_vertex(const struct site_counts *sites, uint32_t number, const uint64_t *called,
                         size_t called_count)
{
    struct profile_vertex *vertex = &sites->paths->profile->vertices[number];
    const struct import_paths_function *function = &sites->paths->functions[vertex->function];
    uint64_t count = sites->by_site ? called_count : vertex->call_sites;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t site = sites->by_site ? (uint32_t)called[i] : (uint32_t)i;
        uint32_t passes = sites->passes[function->sites[site].block];
        vertex->call_sites_used += sites->by_site || passes > 0;
        vertex->call_sites_one_path += passes == 1;
    }
}

static void count_vertices(struct site_counts *sites)
{
    const struct profile *profile = sites->paths->profile;
    size_t row = 0, at = 0;
    for (uint32_t i = 1; i < profile->vertices_count; i++) {
        size_t first = row, first_called = at;
        for (; row < profile->vertex_paths_count && profile->vertex_paths[row].vertex == i; row++)
            pass(sites, &profile->paths[profile->vertex_paths[row].path], 1);
        while (at < sites->called_count && sites->called[at] >> 32 <= i)
            at++;
        if (profile->vertices[i].call_sites)
            count_vertex(sites, i, sites->called + first_called, at - first_called);
        for (size_t r = first; r < row; r++)
            pass(sites, &profile->paths[profile->vertex_paths[r].path], UINT32_MAX);
    }
}

static bool count_sites(struct import_paths *paths)
{
    uint32_t most = 0;
    for (size_t i = 1; i < paths->profile->path_functions_count; i++)
        most = paths->functions[i].blocks_count > most ? paths->functions[i].blocks_count : most;
    struct site_counts sites = {.paths = paths};
    sites.passes = calloc((size_t)most + 1, sizeof *sites.passes);
    sites.called = calloc(paths->profile->vertices_count, sizeof *sites.called);
    bool good = sites.passes && sites.called;
    if (good) {
        list_called(&sites);
        count_vertices(&sites);
    }
    free(sites.passes);
    free(sites.called);
    return good;
}

bool import_paths_finish(struct import_paths *paths, import_paths_blocks *blocks, void *context,
                         const struct binary_options *symbols, struct import_teller *teller,
                         uint64_t *unknown)
{
    struct order order = {.paths = paths, .blocks = blocks, .context = context};
    bool good = order_paths(&order, teller) && order_uses(paths) && count_sites(paths) &&
                import_paths_name(paths, symbols, teller);
    *unknown = order.unknown;
    return good;
}
