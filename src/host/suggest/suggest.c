// SPDX-License-Identifier: MIT
/*
 * The search. Of each group of statements that misses much: all orders of its three innermost loops at most; tiles of 16, 32 and 64
 * iterations of all of them, then each loop's tile halved, doubled and left out while that helps. Where conflicts are left, rows longer by a
 * few lines, and arrays further apart; where tiles have conflicts, tiles with longer rows. Not all sizes: misses are no smooth function of
 * them, but the best ones differ little.
 */
#include "suggest/suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOVED_MAX = 3, GROUPS_MAX = 3, TILE_LEAST = 4, TILE_MOST = 512 };
static const double GROUP_LEAST = 0.1;     /* of all misses, for a group to be looked at */
static const double CONFLICT_LEAST = 0.03; /* of all misses, for padding to be tried */
static const double SAVED_LEAST = 0.05;    /* of weighted misses, to be offered */
static const double NOTICEABLE =
    0.98; /* of another candidate's misses: fewer are worth more changes */
static const double COARSE_WIDTH = 0.01;
enum { COARSE_POINTS = 4000, COARSE_EXACT_BELOW = 300000 };

struct candidate {
    struct polyhedra_change change;
    uint32_t *padding; /* the search's, that frees it */
    uint32_t gap_bytes;
    double misses, conflict; /* of the first level; INFINITY: not solved, or not legal */
};

struct search {
    const struct suggest_request *request;
    struct polyhedra_changes *changes;
    struct suggestions *found;
    uint64_t *accesses; /* by reference */
    struct candidate best[2 * GROUPS_MAX + 3];
    size_t best_count;
    struct candidate
        crowded; /* the first order whose tiles had conflicts, without tiles or padding */
    unsigned crowded_depth; /* 0: none */
    bool no_memory;
};

static bool is_late(struct search *search)
{
    if (misses_now_ns() > search->request->deadline_ns)
        search->found->late = true;
    return search->found->late;
}

/* ---- a candidate ------------------------------------------------------------------------------------------- */

static void spread(struct nest *nest, uint32_t gap_bytes)
{
    for (size_t i = 0; i < nest->arrays_count; i++)
        nest->arrays[i].base += (int64_t)(i * gap_bytes);
}

static bool solve(struct search *search, const struct candidate *candidate,
                  const struct misses_options *options, struct misses_result *result)
{
    struct polyhedra_change change = candidate->change;
    struct nest *nest = NULL;
    char why[POLYHEDRA_ERROR_BYTES];
    change.padding = candidate->padding;
    if (polyhedra_changes_nest(search->changes, &change, &nest, why) != BASE_OK)
        return false;
    search->request->place(search->request->context, nest);
    spread(nest, candidate->gap_bytes);
    bool good = misses_solve(nest, options, result) == BASE_OK;
    nest_free(nest);
    return good;
}

static struct misses_options coarse(const struct search *search)
{
    struct misses_options options = *search->request->options;
    options.levels_count = 1;
    options.exact = false;
    options.half_width = fmax(options.half_width, COARSE_WIDTH);
    options.most_points = COARSE_POINTS;
    options.exact_below = COARSE_EXACT_BELOW;
    options.accesses = search->accesses;
    options.deadline_ns = search->request->deadline_ns;
    return options;
}

/* Sets what it misses. */
static void evaluate(struct search *search, struct candidate *candidate)
{
    struct misses_options options = coarse(search);
    struct misses_result result;
    candidate->misses = INFINITY;
    if (is_late(search))
        return;
    if (!polyhedra_changes_legal(search->changes, &candidate->change)) {
        search->found->illegal++;
        return;
    }
    if (!solve(search, candidate, &options, &result))
        return;
    search->found->tried++;
    if (!result.late) {
        candidate->misses = result.totals[0].misses;
        candidate->conflict = result.totals[0].conflict;
    }
    misses_free(&result);
}

static bool better(const struct candidate *candidate, const struct candidate *than)
{
    return candidate->misses < NOTICEABLE * than->misses;
}

/* Enough of them for padding to be tried. */
static bool has_conflicts(double conflict, double misses)
{
    return conflict >= CONFLICT_LEAST * misses && misses > 0;
}

/* False: it is not worth it. */
static bool keep(struct search *search, const struct candidate *candidate)
{
    double now = search->request->result->totals[0].misses;
    if (candidate->misses >= (1 - SAVED_LEAST) * now ||
        search->best_count == BASE_COUNT(search->best))
        return false;
    search->best[search->best_count++] = *candidate;
    return true;
}

/* ---- orders and tiles ---------------------------------------------------------------------------------------- */

static const uint8_t orders[6][MOVED_MAX] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* The loops behind `kept`, in that order; tiles of none. */
static struct candidate ordered(size_t group, unsigned depth, unsigned kept, unsigned order)
{
    struct candidate candidate = {.change = {.reordered = true, .group = group, .kept = kept}};
    unsigned moved = depth - kept;
    const uint8_t *numbers = moved == 3 ? orders[order] : orders[order * 2];
    for (unsigned i = 0; i < moved; i++)
        candidate.change.order[i] = (uint8_t)(kept + numbers[i]);
    candidate.misses = INFINITY;
    return candidate;
}

/* Of three loops 6 orders, of two 2. */
static struct candidate try_orders(struct search *search, size_t group, unsigned depth,
                                   unsigned kept, struct candidate *plain)
{
    unsigned count = depth - kept == 3 ? 6 : 2;
    struct candidate best = {.misses = INFINITY};
    for (unsigned i = 0; i < count; i++) {
        struct candidate candidate = ordered(group, depth, kept, i);
        evaluate(search, &candidate);
        if (i == 0)
            *plain = candidate;
        else if (candidate.misses < best.misses)
            best = candidate;
    }
    return best;
}

/* One loop's tile halved, doubled, left out. */
static bool refine(struct search *search, struct candidate *best, unsigned loop)
{
    int64_t now = best->change.tiles[loop];
    int64_t sizes[3] = {now / 2, now * 2, 0};
    bool helped = false;
    for (size_t i = 0; now && i < BASE_COUNT(sizes); i++) {
        struct candidate candidate = *best;
        candidate.change.tiles[loop] = sizes[i];
        if (sizes[i] && (sizes[i] < TILE_LEAST || sizes[i] > TILE_MOST))
            continue;
        evaluate(search, &candidate);
        if (better(&candidate, best)) {
            *best = candidate;
            helped = true;
        }
    }
    return helped;
}

static bool is_tiled(const struct candidate *candidate)
{
    for (size_t i = 0; i < POLYHEDRA_LOOPS; i++)
        if (candidate->change.tiles[i])
            return true;
    return false;
}

static struct candidate try_tiles(struct search *search, const struct candidate *untiled,
                                  unsigned depth)
{
    static const int64_t sizes[] = {32, 16, 64};
    unsigned kept = untiled->change.kept;
    struct candidate best = {.misses = INFINITY};
    for (size_t i = 0; i < BASE_COUNT(sizes); i++) {
        struct candidate candidate = *untiled;
        for (unsigned loop = kept; loop < depth; loop++)
            candidate.change.tiles[loop] = sizes[i];
        evaluate(search, &candidate);
        if (candidate.misses < best.misses)
            best = candidate;
        if (isinf(candidate.misses))
            return best; /* not legal: of no size */
        if (!search->crowded_depth && has_conflicts(candidate.conflict, candidate.misses)) {
            search->crowded = *untiled;
            search->crowded_depth = depth;
        }
    }
    bool helped = true;
    for (unsigned round = 0; helped && round < 3; round++) {
        helped = false;
        for (unsigned i = 0; i < depth - kept; i++)
            helped |= refine(search, &best, best.change.order[i]);
    }
    if (!is_tiled(&best))
        best.misses = INFINITY;
    return best;
}

/* With the fewest loops kept first; once the tiles are legal, fewer moved loops are not tried. */
static void try_group(struct search *search, size_t index, const struct polyhedra_group *group)
{
    struct candidate order = {.misses = INFINITY}, tiles = {.misses = INFINITY};
    unsigned first = group->depth > MOVED_MAX ? group->depth - MOVED_MAX : 0;
    for (unsigned kept = first; kept + 2 <= group->depth; kept++) {
        struct candidate plain;
        struct candidate best = try_orders(search, index, group->depth, kept, &plain);
        if (best.misses < order.misses)
            order = best;
        const struct candidate *from = best.misses < plain.misses ? &best : &plain;
        struct candidate tiled = try_tiles(search, from, group->depth);
        if (isinf(tiled.misses) && from != &plain)
            tiled = try_tiles(search, &plain, group->depth);
        if (better(&tiled, &tiles))
            tiles = tiled;
        if (!isinf(tiled.misses))
            break;
    }
    keep(search, &order);
    if (better(&tiles, &order))
        keep(search, &tiles);
}

static double group_misses(const struct search *search, const struct polyhedra_group *group)
{
    const struct misses_result *result = search->request->result;
    double sum = 0;
    for (size_t i = 0; i < group->references && group->reference + i < result->count; i++)
        sum += result->references[group->reference + i].levels[0].misses;
    return sum;
}

static bool is_among(const size_t *groups, size_t count, size_t group)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i] == group)
            return true;
    return false;
}

/* Those that miss most. */
static void try_groups(struct search *search)
{
    const struct polyhedra_group *groups;
    size_t count = polyhedra_changes_groups(search->changes, &groups), tried[GROUPS_MAX];
    double least = GROUP_LEAST * search->request->result->totals[0].misses;
    for (size_t done = 0; done < GROUPS_MAX; done++) {
        size_t best = count;
        double most = least;
        for (size_t i = 0; i < count; i++) {
            double misses = group_misses(search, &groups[i]);
            if (misses > most && !is_among(tried, done, i)) {
                most = misses;
                best = i;
            }
        }
        if (best == count)
            return;
        tried[done] = best;
        try_group(search, best, &groups[best]);
    }
}

/* ---- padding -------------------------------------------------------------------------------------------------- */

static uint32_t *padding_of(struct search *search, unsigned lines)
{
    const struct nest *nest = search->request->nest;
    uint32_t line = search->request->options->levels[0].line_bytes;
    uint32_t *padding = calloc(nest->arrays_count + 1, sizeof *padding);
    bool any = false;
    search->no_memory |= !padding;
    for (size_t i = 0; padding && i < nest->arrays_count; i++)
        if (polyhedra_changes_row(search->changes, i) && nest->arrays[i].element_bytes &&
            nest->arrays[i].high > nest->arrays[i].low) {
            padding[i] = lines * line / nest->arrays[i].element_bytes;
            any |= padding[i] > 0;
        }
    if (any)
        return padding;
    free(padding);
    return NULL;
}

/* Rows longer by a few lines, and arrays a few lines further apart. */
static void try_padding(struct search *search, const struct candidate *from, double conflict,
                        double misses)
{
    static const unsigned lines[] = {1, 2, 3, 5};
    struct candidate best = *from;
    best.misses = misses;
    if (!has_conflicts(conflict, misses))
        return;
    for (size_t i = 0; i < 2 * BASE_COUNT(lines); i++) {
        struct candidate candidate = *from;
        if (i < BASE_COUNT(lines)) {
            if (!(candidate.padding = padding_of(search, lines[i])))
                continue;
        } else {
            candidate.gap_bytes =
                lines[i - BASE_COUNT(lines)] * search->request->options->levels[0].line_bytes;
        }
        evaluate(search, &candidate);
        if (better(&candidate, &best)) {
            free(best.padding);
            best = candidate;
        } else {
            free(candidate.padding);
        }
    }
    if (!(best.padding || best.gap_bytes) || !keep(search, &best))
        free(best.padding);
}

/* Where rows have a power of two as their length, a tile's columns share so few sets that no tile is worth it; longer rows change that.
   misses: of the best candidate so far. */
static void try_padded_tiles(struct search *search, double misses)
{
    struct candidate padded = search->crowded;
    if (!search->crowded_depth || !(padded.padding = padding_of(search, 1)))
        return;
    struct candidate best = try_tiles(search, &padded, search->crowded_depth);
    if (best.misses >= misses || !keep(search, &best))
        free(padded.padding);
}

static const struct candidate *best_of(const struct search *search, const struct candidate *best)
{
    for (size_t i = 0; i < search->best_count; i++)
        if (search->best[i].misses < best->misses)
            best = &search->best[i];
    return best;
}

static void try_paddings(struct search *search)
{
    const struct misses_figure *now = &search->request->result->totals[0];
    struct candidate plain = {.misses = now->misses}, best = *best_of(search, &plain);
    try_padding(search, &plain, now->conflict, now->misses);
    if (best.change.reordered)
        try_padding(search, &best, best.conflict, best.misses);
    try_padded_tiles(search, best_of(search, &plain)->misses);
}

/* ---- what is offered -------------------------------------------------------------------------------------------- */

static double weighted(const struct misses_result *result, size_t levels)
{
    double sum = 0, weight = 1;
    for (size_t i = 0; i < levels; i++, weight *= SUGGEST_WEIGHT)
        sum += weight * result->totals[i].misses;
    return sum;
}

static bool describe(struct search *search, struct candidate *candidate, struct suggestion *made)
{
    const struct polyhedra_group *groups;
    size_t arrays = search->request->nest->arrays_count;
    polyhedra_changes_groups(search->changes, &groups);
    made->change = candidate->change;
    made->gap_bytes = candidate->gap_bytes;
    made->tiled = is_tiled(candidate);
    if (candidate->change.reordered)
        made->group = groups[candidate->change.group];
    if (!candidate->padding)
        return true;
    made->rows = calloc(arrays + 1, sizeof *made->rows);
    if (!made->rows)
        return false;
    for (size_t i = 0; i < arrays; i++)
        made->rows[i] = polyhedra_changes_row(search->changes, i);
    made->padding = candidate->padding;
    candidate->padding = NULL;
    return true;
}

static int by_saved(const void *a, const void *b)
{
    const struct suggestion *left = a, *right = b;
    return (left->saved < right->saved) - (left->saved > right->saved);
}

static int by_candidate(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    return (left->misses > right->misses) - (left->misses < right->misses);
}

static void suggestion_free(struct suggestion *made)
{
    free(made->padding);
    free(made->rows);
    misses_free(&made->result);
}

static bool is_order(const struct suggestion *made)
{
    return made->change.reordered && !made->tiled && !made->padding && !made->gap_bytes;
}

/* Tiles, or an order with padding, that in full come to what an order alone does of the same loops, though they
 * seemed better while they were looked for. */
static bool needless(const struct suggestions *found, const struct suggestion *made)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct suggestion *order = &found->list[i];
        if (order != made && is_order(order) && made->change.reordered && !is_order(made) &&
            order->change.group == made->change.group &&
            1 - order->saved <= (1 - made->saved) / NOTICEABLE)
            return true;
    }
    return false;
}

static void drop_needless(struct suggestions *found)
{
    for (size_t i = found->count; i-- > 0;) {
        struct suggestion *made = &found->list[i];
        if (!needless(found, made))
            continue;
        suggestion_free(made);
        memmove(made, made + 1, (--found->count - i) * sizeof *made);
        found->list[found->count] = (struct suggestion){0};
    }
}

/* Solved as the nest was. */
static void offer(struct search *search)
{
    struct suggestions *found = search->found;
    struct misses_options options = *search->request->options;
    double now = weighted(search->request->result, options.levels_count);
    options.exact = search->request->result->exact;
    options.accesses = search->accesses;
    options.deadline_ns = search->request->deadline_ns + 1000000000U;
    qsort(search->best, search->best_count, sizeof *search->best, by_candidate);
    for (size_t i = 0; i < search->best_count && found->count < SUGGEST_MAX; i++) {
        struct suggestion *made = &found->list[found->count];
        if (!solve(search, &search->best[i], &options, &made->result))
            continue;
        made->saved = now > 0 ? 1 - weighted(&made->result, options.levels_count) / now : 0;
        if (made->saved >= SAVED_LEAST && !made->result.late &&
            describe(search, &search->best[i], made)) {
            found->count++;
        } else {
            found->late |= made->result.late;
            misses_free(&made->result);
            *made = (struct suggestion){0};
        }
    }
    drop_needless(found);
    qsort(found->list, found->count, sizeof *found->list, by_saved);
}

enum base_status suggest(const struct suggest_request *request, struct suggestions *suggestions,
                         char *error)
{
    struct suggestions found = {0};
    struct search search = {.request = request, .found = &found};
    enum base_status status =
        polyhedra_changes_begin(request->polyhedra, request->index, &search.changes, error);
    if (status != BASE_OK)
        return status;
    search.accesses = calloc(request->result->count + 1, sizeof *search.accesses);
    search.no_memory = !search.accesses;
    for (size_t i = 0; search.accesses && i < request->result->count; i++)
        search.accesses[i] = request->result->references[i].accesses;
    if (!search.no_memory) {
        try_groups(&search);
        try_paddings(&search);
        offer(&search);
    }
    for (size_t i = 0; i < search.best_count; i++)
        free(search.best[i].padding);
    free(search.accesses);
    polyhedra_changes_free(search.changes);
    if (search.no_memory) {
        suggest_free(&found);
        snprintf(error, SUGGEST_ERROR_BYTES, "%s.", base_status_text(BASE_NO_MEMORY));
        return BASE_NO_MEMORY;
    }
    *suggestions = found;
    return BASE_OK;
}

void suggest_free(struct suggestions *suggestions)
{
    for (size_t i = 0; i < suggestions->count; i++)
        suggestion_free(&suggestions->list[i]);
    *suggestions = (struct suggestions){0};
}
