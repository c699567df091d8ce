// SPDX-License-Identifier: MIT
/* The promises of numbering.h, by enumeration. */
#include "numbering/internal.h"

#include <stdlib.h>
#include <string.h>

struct checker {
    const struct numbering *paths;
    struct numbering_plan plan;
    uint32_t *first, *last; /* operations of an edge                  */
    uint32_t *root;         /* number + 1 of a root's operation       */
    uint32_t *cut;          /* number + 1 of a cut edge into a block  */
};

/* What an activation does. */
struct run {
    uint64_t r, counted, counts;
};

static void execute(struct run *run, const struct numbering_operation *operation)
{
    switch ((enum numbering_operation_kind)operation->kind) {
    case NUMBERING_SET: run->r = (uint64_t)operation->value; break;
    case NUMBERING_ADD: run->r += (uint64_t)operation->value; break;
    case NUMBERING_COUNT:
        run->counted = run->r + (uint64_t)operation->value;
        run->counts++;
        break;
    case NUMBERING_COUNT_AT:
        run->counted = (uint64_t)operation->value;
        run->counts++;
        break;
    }
}

static bool counts(const struct numbering_operation *operation)
{
    return operation->kind == NUMBERING_COUNT || operation->kind == NUMBERING_COUNT_AT;
}

/* A place has what may be there: where paths end one count first, where they begin a set last. */
static bool check_place(const struct checker *checker, uint32_t e)
{
    const struct numbering_operation *first = &checker->plan.operations[checker->first[e]];
    uint32_t count = checker->last[e] - checker->first[e];
    const struct numbering_edge *edge = &checker->paths->edges[e];
    if (!numbering_ends(edge))
        return count == 0 || (count == 1 && !counts(first) &&
                              !(first->kind == NUMBERING_ADD && first->value == 0));
    if (count == 0 || !counts(first))
        return false;
    return count == 1 ||
           (count == 2 && edge->to != NUMBERING_EXIT && first[1].kind == NUMBERING_SET);
}

static bool sort_operations(struct checker *checker)
{
    const struct numbering *paths = checker->paths;
    uint32_t i = 0;
    const struct numbering_operation *operation = checker->plan.operations;
    bool needs_register = false;
    for (uint32_t k = 0; k < checker->plan.count; k++) {
        needs_register = needs_register || operation[k].kind != NUMBERING_COUNT_AT;
        if (operation[k].value < 0 && operation[k].kind != NUMBERING_ADD &&
            operation[k].kind != NUMBERING_COUNT)
            return false;
    }
    for (uint32_t e = 0; e < paths->edges_count; e++) {
        checker->first[e] = i;
        while (i < checker->plan.count && operation[i].place == e)
            i++;
        checker->last[e] = i;
        if (!check_place(checker, e))
            return false;
        if (paths->edges[e].to != NUMBERING_EXIT && numbering_ends(&paths->edges[e]))
            checker->cut[paths->edges[e].to] = e + 1;
    }
    for (; i < checker->plan.count; i++) {
        uint32_t block = operation[i].place - NUMBERING_AT_ROOT;
        if (operation[i].place < NUMBERING_AT_ROOT || block >= paths->blocks_count ||
            !(paths->kinds[block] & START_ROOT) || operation[i].kind != NUMBERING_SET ||
            checker->root[block])
            return false;
        checker->root[block] = i + 1;
    }
    return needs_register == checker->plan.needs_register;
}

/* What the plan does along the path, with anything in r before. */
static bool check_run(const struct checker *checker, uint64_t number,
                      const struct numbering_path *path)
{
    const struct numbering *paths = checker->paths;
    struct run run = {.r = base_mix64(number + 1)};
    bool ended = false;
    uint32_t before = 0;
    if (path->ends & NUMBERING_FROM_CUT) {
        before = checker->cut[path->first] - 1;
        for (uint32_t i = checker->first[before] + 1; i < checker->last[before]; i++)
            execute(&run, &checker->plan.operations[i]);
    } else if (checker->root[path->first]) {
        execute(&run, &checker->plan.operations[checker->root[path->first] - 1]);
    }
    for (uint32_t i = 0; i < path->count; i++) {
        uint32_t e = path->edges[i];
        ended = numbering_ends(&paths->edges[e]);
        for (uint32_t k = checker->first[e]; k < checker->last[e]; k++)
            execute(&run, &checker->plan.operations[k]);
    }
    return ended ? run.counts == 1 && run.counted == number : run.counts == 0;
}

static bool check_numbers(const struct checker *checker, uint64_t most, uint32_t *edges)
{
    const struct numbering *paths = checker->paths;
    struct numbering_path path = {.edges = edges};
    uint64_t number;
    for (uint64_t i = 0; i < paths->count && i < most; i++)
        if (numbering_decode(paths, i, &path) != BASE_OK || path.count > paths->blocks_count ||
            numbering_encode(paths, &path, &number) != BASE_OK || number != i ||
            !check_run(checker, i, &path))
            return false;
    return numbering_decode(paths, paths->count, &path) == BASE_NOT_FOUND;
}

/* Of too many paths nothing is promised but to say so. */
static bool check(struct checker *checker, uint64_t most, uint32_t *edges)
{
    enum base_status status = numbering_place(checker->paths, &checker->plan);
    if (status == BASE_UNSUPPORTED)
        return checker->paths->count >> 62;
    return status == BASE_OK && sort_operations(checker) && check_numbers(checker, most, edges);
}

bool numbering_check(const struct numbering *paths, uint64_t most)
{
    size_t blocks = paths->blocks_count, edges = paths->edges_count;
    struct checker checker = {.paths = paths,
                              .first = numbering_array(edges, sizeof(uint32_t)),
                              .last = numbering_array(edges, sizeof(uint32_t)),
                              .root = numbering_array(blocks, sizeof(uint32_t)),
                              .cut = numbering_array(blocks, sizeof(uint32_t))};
    uint32_t *room = numbering_array(blocks + 1, sizeof *room);
    bool good = checker.first && checker.last && checker.root && checker.cut && room &&
                check(&checker, most, room);
    free(checker.plan.operations);
    free(checker.first);
    free(checker.last);
    free(checker.root);
    free(checker.cut);
    free(room);
    return good;
}
