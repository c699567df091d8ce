// SPDX-License-Identifier: MIT
/*
 * What is executed where. The number of a path is a sum along its edges, of Val or as well of
 * Val(e) + potential(from) - potential(to) with any potential of blocks that is 0 where paths begin
 * and end. A spanning forest fixes the potentials so that its edges add nothing; what the others
 * add are the increments of Ball, Efficiently Counting Program Events (1994). Edges from ENTRY and
 * to EXIT need not be in it: there r is set and read anyway, which adds for free; so only edges
 * between blocks do, those that are taken most.
 *
 * Then constants: where all ways from the beginnings of paths to a block add up to the same, r is
 * known. Nothing is done between such blocks, r is set on the edges that leave them: this is
 * "initialise late" of Efficient Path Profiling (1996) for all edges rather than for single
 * predecessors. Since an edge may cost more than a block (it needs a jump of its own if it joins a
 * branch with a join), r may also be set earlier to what most ways want and be corrected on the
 * others.
 *
 * The other half, counting before the last block is done, is rejected: a call in there may never
 * come back (exit, longjmp, an exception), and a path that has not ended must not be counted; nor
 * would its last block be in its time.
 */
#include "numbering/internal.h"

#include <stdlib.h>
#include <string.h>

enum { WISHES_MAX = 8 };

/* An operation on such an edge stands for itself, for a jump there, and one back. */
static const double CRITICAL_COST = 3;

enum knowledge {
    UNSEEN,
    KNOWN, /* r would always be `known` here */
    VARIES,
};

struct placer {
    const struct numbering *paths;
    bool *useful;
    double *weights, *roots;   /* of edges, of entering roots                              */
    double *costs;             /* of an operation on an edge between blocks                */
    double *arrivals;          /* cost of one operation on all ways into a block           */
    uint32_t *by_cost, *group; /* edges; union-find of blocks                              */
    uint32_t *first_tree, *tree, *stack; /* edges of the forest by block                         */
    bool *seen;
    uint8_t *knowledge, *settled; /* enum knowledge; whether r is to hold `early` in the block */
    int64_t *potential, *known, *early;
    uint32_t operations_count;
    struct numbering_operation *operations; /* NULL: only counted and summed up */
    double total;
};

/* Sums wrap around: only those of whole paths have to be right. */
static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Between blocks, and of consequence. */
static bool is_inner(const struct placer *placer, const struct numbering_edge *edge)
{
    return !numbering_ends(edge) && placer->useful[edge->to];
}

/* ---- spanning forest ------------------------------------------------------------------------- */

static bool is_critical(const struct numbering *paths, const struct numbering_edge *edge)
{
    uint32_t ways_in = paths->first_in[edge->to + 1] - paths->first_in[edge->to];
    uint32_t ways_out = paths->first_out[edge->from + 1] - paths->first_out[edge->from];
    return ways_out > 1 && ways_in + (paths->kinds[edge->to] & START_ROOT) > 1;
}

static int by_cost_down(const void *a, const void *b, void *context)
{
    const double *costs = context;
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    if (costs[one] != costs[other])
        return costs[one] > costs[other] ? -1 : 1;
    return one < other ? -1 : one > other;
}

static uint32_t group_of(struct placer *placer, uint32_t block)
{
    while (placer->group[block] != block) {
        placer->group[block] = placer->group[placer->group[block]];
        block = placer->group[block];
    }
    return block;
}

/* Kruskal's. The edges of the forest stay in by_cost; how many. */
static uint32_t choose_forest(struct placer *placer)
{
    const struct numbering *paths = placer->paths;
    uint32_t count = 0, chosen = 0;
    for (uint32_t b = 0; b < paths->blocks_count; b++)
        placer->group[b] = b;
    for (uint32_t e = 0; e < paths->edges_count; e++)
        if (is_inner(placer, &paths->edges[e]))
            placer->by_cost[count++] = e;
    qsort_r(placer->by_cost, count, sizeof *placer->by_cost, by_cost_down, placer->costs);
    for (uint32_t i = 0; i < count; i++) {
        const struct numbering_edge *edge = &paths->edges[placer->by_cost[i]];
        uint32_t from = group_of(placer, edge->from), to = group_of(placer, edge->to);
        if (from == to)
            continue;
        placer->group[from] = to;
        placer->by_cost[chosen++] = placer->by_cost[i];
    }
    return chosen;
}

static void link_forest(struct placer *placer, uint32_t count)
{
    const struct numbering *paths = placer->paths;
    uint32_t *first = placer->first_tree;
    for (uint32_t i = 0; i < count; i++) {
        first[paths->edges[placer->by_cost[i]].from]++;
        first[paths->edges[placer->by_cost[i]].to]++;
    }
    for (uint32_t b = 1; b <= paths->blocks_count; b++)
        first[b] += first[b - 1];
    for (uint32_t i = 0; i < count; i++) {
        placer->tree[--first[paths->edges[placer->by_cost[i]].from]] = placer->by_cost[i];
        placer->tree[--first[paths->edges[placer->by_cost[i]].to]] = placer->by_cost[i];
    }
}

/* Along the edges of the forest from a block whose potential is 0. */
static void find_potentials(struct placer *placer, uint32_t root)
{
    const struct numbering *paths = placer->paths;
    uint32_t depth = 0;
    if (placer->seen[root])
        return;
    placer->seen[root] = true;
    placer->stack[depth++] = root;
    while (depth) {
        uint32_t block = placer->stack[--depth];
        for (uint32_t k = placer->first_tree[block]; k < placer->first_tree[block + 1]; k++) {
            const struct numbering_edge *edge = &paths->edges[placer->tree[k]];
            uint32_t other = edge->from == block ? edge->to : edge->from;
            int64_t value = (int64_t)paths->value[placer->tree[k]];
            if (placer->seen[other])
                continue;
            placer->seen[other] = true;
            placer->potential[other] = edge->from == block ? plus(placer->potential[block], value)
                                                           : minus(placer->potential[block], value);
            placer->stack[depth++] = other;
        }
    }
}

static int64_t increment(const struct placer *placer, uint32_t e)
{
    const struct numbering_edge *edge = &placer->paths->edges[e];
    int64_t sum = plus((int64_t)placer->paths->value[e], placer->potential[edge->from]);
    return numbering_ends(edge) ? sum : minus(sum, placer->potential[edge->to]);
}

static int64_t root_increment(const struct placer *placer, uint32_t block)
{
    return minus((int64_t)placer->paths->root_value[block], placer->potential[block]);
}

static int64_t cut_increment(const struct placer *placer, uint32_t block)
{
    return minus((int64_t)placer->paths->cut_value[block], placer->potential[block]);
}

/* ---- constants ------------------------------------------------------------------------------- */

static void meet(struct placer *placer, uint32_t block, uint8_t knowledge, int64_t value)
{
    uint8_t *mine = &placer->knowledge[block];
    if (*mine == UNSEEN && knowledge == KNOWN)
        placer->known[block] = value;
    if (*mine == UNSEEN)
        *mine = knowledge;
    else if (knowledge == VARIES || placer->known[block] != value)
        *mine = VARIES;
}

static void find_constants(struct placer *placer)
{
    const struct numbering *paths = placer->paths;
    for (uint32_t i = paths->blocks_count; i-- > 0;) {
        uint32_t block = paths->order[i];
        if (paths->kinds[block] & START_ROOT)
            meet(placer, block, KNOWN, root_increment(placer, block));
        if (paths->kinds[block] & START_CUT)
            meet(placer, block, KNOWN, cut_increment(placer, block));
        for (uint32_t k = paths->first_out[block]; k < paths->first_out[block + 1]; k++) {
            uint32_t e = paths->out[k];
            if (!numbering_ends(&paths->edges[e]))
                meet(placer, paths->edges[e].to, placer->knowledge[block],
                     plus(placer->known[block], increment(placer, e)));
        }
    }
}

/* Whether r has to hold something on entry of the block by a way on which it would be `value`. */
static bool wants(const struct placer *placer, uint32_t block, int64_t value, int64_t *wanted)
{
    if (!placer->useful[block])
        return false;
    *wanted = placer->knowledge[block] == VARIES ? value : placer->early[block];
    return placer->knowledge[block] == VARIES || placer->settled[block];
}

/* ---- setting r early ------------------------------------------------------------------------- */

static void find_arrivals(struct placer *placer)
{
    const struct numbering *paths = placer->paths;
    for (uint32_t b = 0; b < paths->blocks_count; b++)
        placer->arrivals[b] = placer->roots[b];
    for (uint32_t e = 0; e < paths->edges_count; e++) {
        const struct numbering_edge *edge = &paths->edges[e];
        if (edge->to != NUMBERING_EXIT)
            placer->arrivals[edge->to] +=
                numbering_ends(edge) ? placer->weights[e] : placer->costs[e];
    }
}

/* What most ways out of the block want, by cost; of a few values only: a switch may want thousands.
 */
static double find_wish(const struct placer *placer, uint32_t block, int64_t *wish)
{
    const struct numbering *paths = placer->paths;
    int64_t values[WISHES_MAX], wanted;
    double costs[WISHES_MAX], best = -1;
    uint32_t count = 0, i;
    for (uint32_t k = paths->first_out[block]; k < paths->first_out[block + 1]; k++) {
        uint32_t e = paths->out[k];
        if (numbering_ends(&paths->edges[e]) ||
            !wants(placer, paths->edges[e].to, plus(placer->known[block], increment(placer, e)),
                   &wanted))
            continue;
        for (i = 0; i < count && values[i] != wanted; i++)
            ;
        if (i == WISHES_MAX)
            continue;
        if (i == count) {
            values[count] = wanted;
            costs[count++] = 0;
        }
        costs[i] += placer->costs[e];
    }
    for (i = 0; i < count; i++)
        if (costs[i] > best) {
            best = costs[i];
            *wish = values[i];
        }
    return best;
}

/* From the ends of paths up. */
static void settle_where_cheaper(struct placer *placer)
{
    const struct numbering *paths = placer->paths;
    for (uint32_t i = 0; i < paths->blocks_count; i++) {
        uint32_t block = paths->order[i];
        int64_t wish = 0;
        if (placer->knowledge[block] != KNOWN || !placer->useful[block] ||
            find_wish(placer, block, &wish) <= placer->arrivals[block])
            continue;
        placer->settled[block] = true;
        placer->early[block] = wish;
    }
}

/* As if nothing were known: r is set where paths begin, if it will be used. */
static void settle_everywhere(struct placer *placer)
{
    const struct numbering *paths = placer->paths;
    int64_t wish;
    for (uint32_t i = 0; i < paths->blocks_count; i++) {
        uint32_t block = paths->order[i];
        if (placer->knowledge[block] != KNOWN || !placer->useful[block] ||
            find_wish(placer, block, &wish) < 0)
            continue;
        placer->settled[block] = true;
        placer->early[block] = placer->known[block];
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

static void emit(struct placer *placer, uint32_t place, uint32_t kind, int64_t value, double cost)
{
    if (placer->operations)
        placer->operations[placer->operations_count] =
            (struct numbering_operation){place, kind, value};
    placer->operations_count++;
    placer->total += cost;
}

static void emit_start(struct placer *placer, uint32_t place, uint32_t block, int64_t value,
                       double cost)
{
    int64_t wanted;
    if (wants(placer, block, value, &wanted))
        emit(placer, place, NUMBERING_SET, wanted, cost);
}

static void emit_end(struct placer *placer, uint32_t e)
{
    const struct numbering_edge *edge = &placer->paths->edges[e];
    int64_t value = increment(placer, e);
    if (placer->knowledge[edge->from] == KNOWN)
        emit(placer, e, NUMBERING_COUNT_AT, plus(value, placer->known[edge->from]), 0);
    else
        emit(placer, e, NUMBERING_COUNT, value, 0);
    if (edge->to != NUMBERING_EXIT)
        emit_start(placer, e, edge->to, cut_increment(placer, edge->to), placer->weights[e]);
}

static void emit_inner(struct placer *placer, uint32_t e)
{
    const struct numbering_edge *edge = &placer->paths->edges[e];
    uint32_t from = edge->from;
    int64_t value = increment(placer, e), wanted;
    if (placer->knowledge[from] == VARIES) {
        if (value)
            emit(placer, e, NUMBERING_ADD, value, placer->costs[e]);
    } else if (wants(placer, edge->to, plus(placer->known[from], value), &wanted) &&
               !(placer->settled[from] && placer->early[from] == wanted)) {
        emit(placer, e, NUMBERING_SET, wanted, placer->costs[e]);
    }
}

static void emit_all(struct placer *placer)
{
    const struct numbering *paths = placer->paths;
    placer->operations_count = 0;
    placer->total = 0;
    for (uint32_t e = 0; e < paths->edges_count; e++) {
        if (numbering_ends(&paths->edges[e]))
            emit_end(placer, e);
        else if (is_inner(placer, &paths->edges[e]))
            emit_inner(placer, e);
    }
    for (uint32_t b = 0; b < paths->blocks_count; b++)
        if (paths->kinds[b] & START_ROOT)
            emit_start(placer, NUMBERING_AT_ROOT + b, b, root_increment(placer, b),
                       placer->roots[b]);
}

/* The cheaper of both: the first starts from the bottom and may miss what needs several steps. */
static void settle(struct placer *placer)
{
    const struct numbering *paths = placer->paths;
    double everywhere;
    settle_everywhere(placer);
    emit_all(placer);
    everywhere = placer->total;
    memset(placer->settled, 0, paths->blocks_count * sizeof *placer->settled);
    settle_where_cheaper(placer);
    emit_all(placer);
    if (placer->total > everywhere) {
        memset(placer->settled, 0, paths->blocks_count * sizeof *placer->settled);
        settle_everywhere(placer);
    }
}

/* Another 0 of r, so that it is never set to less. */
static void finish(struct placer *placer, struct numbering_plan *plan)
{
    int64_t least = 0;
    plan->operations = placer->operations;
    plan->count = placer->operations_count;
    plan->needs_register = false;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct numbering_operation *operation = &plan->operations[i];
        plan->needs_register = plan->needs_register || operation->kind != NUMBERING_COUNT_AT;
        if (operation->kind == NUMBERING_SET && operation->value < least)
            least = operation->value;
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        struct numbering_operation *operation = &plan->operations[i];
        if (operation->kind == NUMBERING_SET)
            operation->value = minus(operation->value, least);
        else if (operation->kind == NUMBERING_COUNT)
            operation->value = plus(operation->value, least);
    }
}

static enum base_status place(struct placer *placer, struct numbering_plan *plan)
{
    const struct numbering *paths = placer->paths;
    enum base_status status;
    numbering_useful(paths, placer->useful);
    status = numbering_weigh(paths, placer->useful, placer->weights, placer->roots);
    if (status != BASE_OK)
        return status;
    for (uint32_t e = 0; e < paths->edges_count; e++)
        if (!numbering_ends(&paths->edges[e]))
            placer->costs[e] =
                placer->weights[e] * (is_critical(paths, &paths->edges[e]) ? CRITICAL_COST : 1);
    link_forest(placer, choose_forest(placer));
    for (uint32_t b = 0; b < paths->blocks_count; b++)
        find_potentials(placer, b);
    find_constants(placer);
    find_arrivals(placer);
    settle(placer);
    emit_all(placer);
    placer->operations = numbering_array(placer->operations_count, sizeof *placer->operations);
    if (!placer->operations)
        return BASE_NO_MEMORY;
    emit_all(placer);
    finish(placer, plan);
    return BASE_OK;
}

static bool make_room(struct placer *placer)
{
    size_t blocks = placer->paths->blocks_count, edges = placer->paths->edges_count;
    return (placer->useful = numbering_array(blocks, sizeof *placer->useful)) &&
           (placer->weights = numbering_array(edges, sizeof *placer->weights)) &&
           (placer->roots = numbering_array(blocks, sizeof *placer->roots)) &&
           (placer->costs = numbering_array(edges, sizeof *placer->costs)) &&
           (placer->arrivals = numbering_array(blocks, sizeof *placer->arrivals)) &&
           (placer->by_cost = numbering_array(edges, sizeof *placer->by_cost)) &&
           (placer->group = numbering_array(blocks, sizeof *placer->group)) &&
           (placer->first_tree = numbering_array(blocks + 1, sizeof *placer->first_tree)) &&
           (placer->tree = numbering_array(2 * blocks, sizeof *placer->tree)) &&
           (placer->stack = numbering_array(blocks, sizeof *placer->stack)) &&
           (placer->seen = numbering_array(blocks, sizeof *placer->seen)) &&
           (placer->knowledge = numbering_array(blocks, sizeof *placer->knowledge)) &&
           (placer->settled = numbering_array(blocks, sizeof *placer->settled)) &&
           (placer->potential = numbering_array(blocks, sizeof *placer->potential)) &&
           (placer->known = numbering_array(blocks, sizeof *placer->known)) &&
           (placer->early = numbering_array(blocks, sizeof *placer->early));
}

enum base_status numbering_place(const struct numbering *paths, struct numbering_plan *plan)
{
    struct placer placer = {.paths = paths};
    enum base_status status = BASE_UNSUPPORTED;
    if (paths->count >> 62)
        return status;
    status = make_room(&placer) ? place(&placer, plan) : BASE_NO_MEMORY;
    free(placer.useful);
    free(placer.weights);
    free(placer.roots);
    free(placer.costs);
    free(placer.arrivals);
    free(placer.by_cost);
    free(placer.group);
    free(placer.first_tree);
    free(placer.tree);
    free(placer.stack);
    free(placer.seen);
    free(placer.knowledge);
    free(placer.settled);
    free(placer.potential);
    free(placer.known);
    free(placer.early);
    return status;
}
