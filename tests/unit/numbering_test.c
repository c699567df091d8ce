// SPDX-License-Identifier: MIT
/*
 * paths: graphs whose paths are known; random graphs, reducible or not, where programs are walked
 * through at random and what the plan counts is compared with paths written down edge by edge; too
 * many paths, large graphs, what is no graph.
 */
#include "numbering/numbering.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- graphs that are written down ------------------------------------------------------------ */

enum { BLOCKS_MAX = 40, EDGES_MAX = 160, ENUMERATE = 20000 };

#define EXIT NUMBERING_EXIT
#define EDGE(from, to)                                                                             \
    {                                                                                              \
        from, to, 0, -1                                                                            \
    }
#define CUT_EDGE(from, to)                                                                         \
    {                                                                                              \
        from, to, NUMBERING_CUT, -1                                                                \
    }
#define GRAPH(blocks, list) ((struct numbering_graph){blocks, BASE_COUNT(list), NULL, list})

static struct numbering *number(struct numbering_graph graph)
{
    struct numbering *paths = NULL;
    assert_int_equal(numbering_number(&graph, &paths), BASE_OK);
    return paths;
}

static struct numbering *numbered(struct numbering_graph graph, uint64_t count)
{
    struct numbering *paths = number(graph);
    assert_int_equal(numbering_count(paths), count);
    assert_true(numbering_check(paths, ENUMERATE));
    assert_true(fabs(numbering_log2(paths) - log2((double)count)) < 1e-9);
    return paths;
}

static struct numbering_plan placed(const struct numbering *paths)
{
    struct numbering_plan plan;
    assert_int_equal(numbering_place(paths, &plan), BASE_OK);
    return plan;
}

static uint32_t count_kind(const struct numbering_plan *plan, uint32_t kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->count; i++)
        count += plan->operations[i].kind == kind;
    return count;
}

/* Its blocks as letters, with < and > where it begins or ends at a cut edge, ^ where it begins at a
 * root. */
static void spell(const struct numbering_edge *edges, const struct numbering_path *path, char *text)
{
    if (path->ends & NUMBERING_FROM_CUT)
        *text++ = '<';
    if (path->ends & NUMBERING_FROM_ROOT)
        *text++ = '^';
    *text++ = (char)('A' + path->first);
    for (uint32_t i = 0; i < path->count; i++)
        if (edges[path->edges[i]].to != EXIT &&
            !(i + 1 == path->count && path->ends & NUMBERING_TO_CUT))
            *text++ = (char)('A' + edges[path->edges[i]].to);
    if (path->ends & NUMBERING_TO_CUT)
        *text++ = '>';
    *text = 0;
}

/* All paths, in any order, separated by spaces; no other. */
static void assert_paths(const struct numbering *paths, const struct numbering_edge *edges,
                         const char *expected)
{
    uint64_t expected_count = 1;
    char text[BLOCKS_MAX + 4], word[BLOCKS_MAX + 8], all[1024];
    uint32_t room[BLOCKS_MAX + 1];
    struct numbering_path path = {.edges = room};
    for (const char *c = expected; *c; c++)
        expected_count += *c == ' ';
    assert_int_equal(numbering_count(paths), expected_count);
    snprintf(all, sizeof all, " %s ", expected);
    for (uint64_t i = 0; i < expected_count; i++) {
        char *found;
        assert_int_equal(numbering_decode(paths, i, &path), BASE_OK);
        spell(edges, &path, text);
        snprintf(word, sizeof word, " %s ", text);
        found = strstr(all, word);
        if (!found)
            fail_msg("%s is none of %s", text, all);
        found[1] = '.';
    }
}

/* Efficient Path Profiling, figure 1. */
static void test_six_paths(void **state)
{
    struct numbering_edge edges[] = {EDGE(0, 1), EDGE(0, 2), EDGE(1, 2), EDGE(1, 3),   EDGE(2, 3),
                                     EDGE(3, 4), EDGE(3, 5), EDGE(4, 5), EDGE(5, EXIT)};
    struct numbering *paths = numbered(GRAPH(6, edges), 6);
    struct numbering_plan plan = placed(paths);
    assert_paths(paths, edges, "ACDF ACDEF ABCDF ABCDEF ABDF ABDEF");
    assert_int_equal(count_kind(&plan, NUMBERING_COUNT), 1);
    assert_int_equal(count_kind(&plan, NUMBERING_COUNT_AT), 0);
    assert_true(count_kind(&plan, NUMBERING_ADD) + count_kind(&plan, NUMBERING_SET) <= 4);
    assert_true(plan.needs_register);
    free(plan.operations);
    numbering_free(paths);
}

static void test_four_kinds(void **state)
{
    struct numbering_edge edges[] = {EDGE(0, 1), EDGE(1, 2), EDGE(1, 3),
                                     EDGE(2, 1), EDGE(2, 3), EDGE(3, EXIT)};
    struct numbering *paths = numbered(GRAPH(4, edges), 6);
    assert_paths(paths, edges, "ABD ABC> ABCD <BC> <BD <BCD");
    assert_int_equal(edges[3].flags, NUMBERING_RETREATING);
    assert_int_equal(edges[4].flags, 0);
    numbering_free(paths);
}

static void test_self_loop_at_entry(void **state)
{
    struct numbering_edge edges[] = {EDGE(0, 0), EDGE(0, EXIT)};
    struct numbering *paths = numbered(GRAPH(1, edges), 4);
    assert_paths(paths, edges, "A> A <A> <A");
    numbering_free(paths);
}

static void test_nest(void **state)
{
    struct numbering_edge edges[] = {EDGE(0, 1), EDGE(1, 2), EDGE(2, 2), EDGE(2, 1), EDGE(1, EXIT)};
    struct numbering *paths = numbered(GRAPH(3, edges), 8);
    assert_paths(paths, edges, "ABC> ABC> AB <BC> <BC> <B <C> <C>");
    numbering_free(paths);
}

/* Two entries into the loop B C; found from B, so that C to B goes back. */
static void test_irreducible(void **state)
{
    struct numbering_edge edges[] = {EDGE(0, 1), EDGE(0, 2), EDGE(1, 2), EDGE(2, 1), EDGE(2, EXIT)};
    struct numbering *paths = numbered(GRAPH(3, edges), 6);
    assert_paths(paths, edges, "ABC ABC> AC AC> <BC <BC>");
    numbering_free(paths);
}

static void test_roots_and_unreached(void **state)
{
    static const uint32_t flags[] = {0, 0, NUMBERING_ROOT, 0};
    struct numbering_edge edges[] = {EDGE(0, 1), EDGE(1, EXIT), EDGE(2, 1), EDGE(3, 1)};
    struct numbering_graph graph = {4, BASE_COUNT(edges), flags, edges};
    struct numbering *paths = numbered(graph, 3);
    struct numbering_plan plan = placed(paths);
    assert_paths(paths, edges, "AB ^CB ^DB");
    assert_int_equal(count_kind(&plan, NUMBERING_COUNT), 1);
    free(plan.operations);
    numbering_free(paths);
}

static void test_switch_to_same(void **state)
{
    struct numbering_edge edges[] = {EDGE(0, 1), EDGE(0, 1), EDGE(0, 2), EDGE(1, EXIT),
                                     EDGE(2, EXIT)};
    struct numbering *paths = numbered(GRAPH(3, edges), 3);
    assert_paths(paths, edges, "AB AB AC");
    numbering_free(paths);
}

/* Nothing is executed for the way that gets stuck: the other is known without a register. */
static void test_stuck(void **state)
{
    struct numbering_edge edges[] = {EDGE(0, 1), EDGE(0, 2), EDGE(1, EXIT)};
    struct numbering_edge endless[] = {EDGE(0, 1), EDGE(1, 1)};
    struct numbering *paths = numbered(GRAPH(3, edges), 2);
    struct numbering_plan plan = placed(paths);
    assert_paths(paths, edges, "AB AC");
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.operations[0].place, 2);
    assert_int_equal(plan.operations[0].kind, NUMBERING_COUNT_AT);
    assert_false(plan.needs_register);
    free(plan.operations);
    numbering_free(paths);
    paths = numbered(GRAPH(2, endless), 2);
    assert_paths(paths, endless, "AB> <B>");
    numbering_free(paths);
    paths = numbered((struct numbering_graph){1, 0, NULL, NULL}, 1);
    plan = placed(paths);
    assert_int_equal(plan.count, 0);
    free(plan.operations);
    numbering_free(paths);
}

static void test_nothing_to_choose(void **state)
{
    struct numbering_edge line[] = {EDGE(0, 1), EDGE(1, 2), EDGE(2, EXIT)};
    struct numbering_edge loop[] = {CUT_EDGE(0, 1), EDGE(1, 2), EDGE(2, 1)};
    struct numbering *paths = numbered(GRAPH(3, line), 1);
    struct numbering_plan plan = placed(paths);
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.operations[0].place, 2);
    assert_int_equal(plan.operations[0].kind, NUMBERING_COUNT_AT);
    free(plan.operations);
    numbering_free(paths);
    paths = numbered(GRAPH(3, loop), 2);
    plan = placed(paths);
    assert_paths(paths, loop, "A> <BC>");
    assert_int_equal(plan.count, 2);
    assert_int_equal(plan.operations[1].place, 2);
    assert_int_equal(count_kind(&plan, NUMBERING_COUNT_AT), 2);
    assert_false(plan.needs_register);
    free(plan.operations);
    numbering_free(paths);
}

/* Either arm of a branch sets r once; a lone arm is an addition to what was set before. */
static void test_branches(void **state)
{
    struct numbering_edge diamond[] = {EDGE(0, 1), EDGE(0, 2), EDGE(1, 3), EDGE(2, 3),
                                       EDGE(3, EXIT)};
    struct numbering_edge arm[] = {EDGE(0, 1), EDGE(0, 2), EDGE(1, 2), EDGE(2, EXIT)};
    struct numbering *paths = numbered(GRAPH(4, diamond), 2);
    struct numbering_plan plan = placed(paths);
    assert_int_equal(plan.count, 3);
    assert_int_equal(count_kind(&plan, NUMBERING_SET), 2);
    assert_int_equal(plan.operations[2].kind, NUMBERING_COUNT);
    assert_true(plan.operations[0].place < 4);
    free(plan.operations);
    numbering_free(paths);
    paths = numbered(GRAPH(3, arm), 2);
    plan = placed(paths);
    assert_int_equal(plan.count, 3);
    assert_int_equal(plan.operations[2].place, NUMBERING_AT_ROOT);
    for (uint32_t i = 0; i < plan.count; i++)
        assert_int_not_equal(plan.operations[i].place, 1);
    free(plan.operations);
    numbering_free(paths);
}

static void assert_untouched(struct numbering_graph graph, uint64_t count, uint32_t place)
{
    struct numbering *paths = numbered(graph, count);
    struct numbering_plan plan = placed(paths);
    for (uint32_t i = 0; i < plan.count; i++)
        assert_int_not_equal(plan.operations[i].place, place);
    free(plan.operations);
    numbering_free(paths);
}

/* Not earlier than it pays: before a branch, at an entry from which few need it, in a loop. */
static void test_late(void **state)
{
    struct numbering_edge seldom[] = {EDGE(0, 1), EDGE(0, 5), EDGE(1, 2),    EDGE(1, 3),
                                      EDGE(2, 4), EDGE(3, 4), EDGE(4, EXIT), EDGE(5, EXIT)};
    struct numbering_edge arm[] = {
        {0, 1, 0, 990}, {0, 2, 0, 10}, {1, 2, 0, 990}, {2, EXIT, 0, 1000}};
    struct numbering_edge loop[] = {EDGE(0, 1), EDGE(1, 2), EDGE(1, 3),
                                    EDGE(2, 1), EDGE(2, 3), EDGE(3, EXIT)};
    assert_untouched(GRAPH(6, seldom), 3, 0);
    assert_untouched(GRAPH(3, arm), 2, NUMBERING_AT_ROOT);
    assert_untouched(GRAPH(4, loop), 6, 1);
}

/* The way that is taken most is free. */
static void test_weights(void **state)
{
    for (uint32_t hot = 0; hot < 3; hot++) {
        struct numbering_edge edges[] = {EDGE(0, 1), EDGE(0, 2), EDGE(1, 3),   EDGE(2, 3),
                                         EDGE(3, 4), EDGE(3, 5), EDGE(3, 6),   EDGE(4, 7),
                                         EDGE(5, 7), EDGE(6, 7), EDGE(7, EXIT)};
        struct numbering *paths;
        struct numbering_plan plan;
        for (uint32_t e = 0; e < BASE_COUNT(edges); e++)
            edges[e].weight = e < 4 ? 505 : e == 10 ? 1010 : (e - 4) % 3 == hot ? 1000 : 5;
        paths = numbered(GRAPH(8, edges), 6);
        plan = placed(paths);
        for (uint32_t i = 0; i < plan.count; i++)
            assert_false(plan.operations[i].place == 4 + hot ||
                         plan.operations[i].place == 7 + hot);
        free(plan.operations);
        numbering_free(paths);
    }
}

/* A loop runs ten times; ways of a block are taken by their shares. */
static void test_frequencies(void **state)
{
    struct numbering_edge edges[] = {EDGE(0, 1), EDGE(1, 2), EDGE(1, 3), EDGE(2, 4),
                                     EDGE(3, 4), EDGE(4, 1), EDGE(4, 5), EDGE(5, EXIT)};
    static const double wanted[] = {1, 10, 9, 1, 10, 1};
    double blocks[BASE_COUNT(wanted)];
    edges[1].weight = -4.5F;
    edges[2].weight = -0.5F;
    struct numbering *paths = numbered(GRAPH(6, edges), 8);
    assert_int_equal(numbering_frequencies(paths, blocks), BASE_OK);
    for (uint32_t b = 0; b < BASE_COUNT(wanted); b++)
        assert_float_equal(blocks[b], wanted[b], 1e-6);
    numbering_free(paths);
}

/* ---- random graphs --------------------------------------------------------------------------- */

struct sample {
    struct numbering_graph graph;
    struct numbering_edge edges[EDGES_MAX];
    uint32_t flags[BLOCKS_MAX];
    uint32_t ways_in[BLOCKS_MAX], ways_out[BLOCKS_MAX];
};

static uint32_t below(struct base_random *random, uint32_t bound)
{
    return (uint32_t)base_random_below(random, bound);
}

static void add_edge(struct sample *sample, uint32_t from, uint32_t to, uint32_t flags)
{
    if (sample->graph.edges_count == EDGES_MAX)
        return;
    sample->edges[sample->graph.edges_count++] = (struct numbering_edge){from, to, flags, -1};
    sample->ways_out[from]++;
    if (to != EXIT)
        sample->ways_in[to]++;
}

/* Mostly forward, near; some anywhere, some out; few blocks get stuck. */
static void draw(struct sample *sample, struct base_random *random)
{
    uint32_t blocks = 1 + below(random, below(random, 3) ? 9 : 30);
    uint32_t back = 1 + below(random, 12), most_ways = 1 + below(random, 4);
    memset(sample, 0, sizeof *sample);
    sample->graph = (struct numbering_graph){blocks, 0, sample->flags, sample->edges};
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t ways = below(random, 16) ? 1 + below(random, most_ways) : 0;
        sample->flags[b] = below(random, 10) == 0 ? NUMBERING_ROOT : 0;
        while (ways--) {
            uint32_t to = b + 1 + below(random, 3);
            if (below(random, back) == 0)
                to = below(random, blocks);
            add_edge(sample, b, to >= blocks || below(random, 10) == 0 ? EXIT : to,
                     below(random, 20) == 0 ? NUMBERING_CUT : 0);
        }
    }
}

/* By hand: NP and Val, from the flags that were put out. */
struct oracle {
    const struct sample *sample;
    uint64_t number[BLOCKS_MAX], value[EDGES_MAX];
};

static bool ends_path(const struct numbering_edge *edge)
{
    return edge->to == EXIT || edge->flags;
}

static uint64_t count_from(struct oracle *oracle, uint32_t block)
{
    uint64_t sum = 0;
    if (oracle->number[block])
        return oracle->number[block];
    for (uint32_t e = 0; e < oracle->sample->graph.edges_count; e++) {
        const struct numbering_edge *edge = &oracle->sample->edges[e];
        if (edge->from != block)
            continue;
        oracle->value[e] = sum;
        sum += ends_path(edge) ? 1 : count_from(oracle, edge->to);
    }
    return oracle->number[block] = sum ? sum : 1;
}

static void mark_reached(const struct sample *sample, uint32_t block, bool *reached)
{
    if (reached[block])
        return;
    reached[block] = true;
    for (uint32_t e = 0; e < sample->graph.edges_count; e++)
        if (sample->edges[e].from == block && sample->edges[e].to != EXIT)
            mark_reached(sample, sample->edges[e].to, reached);
}

static uint64_t count_all(struct oracle *oracle)
{
    const struct sample *sample = oracle->sample;
    bool reached[BLOCKS_MAX] = {false}, target[BLOCKS_MAX] = {false};
    uint64_t sum = 0;
    for (uint32_t b = 0; b < sample->graph.blocks_count; b++)
        if (b == 0 || sample->flags[b] & NUMBERING_ROOT) {
            mark_reached(sample, b, reached);
            sum += count_from(oracle, b);
        }
    for (uint32_t b = 0; b < sample->graph.blocks_count; b++)
        if (!reached[b]) {
            mark_reached(sample, b, reached);
            sum += count_from(oracle, b);
        }
    for (uint32_t e = 0; e < sample->graph.edges_count; e++)
        if (sample->edges[e].to != EXIT && ends_path(&sample->edges[e]))
            target[sample->edges[e].to] = true;
    for (uint32_t b = 0; b < sample->graph.blocks_count; b++)
        sum += target[b] ? count_from(oracle, b) : 0;
    return sum;
}

/* ---- walks ----------------------------------------------------------------------------------- */

enum { TABLE = 1 << 13, WALKS = 60, STEPS_MAX = 200 };

/* Counts of paths by a hash of what they are. */
struct table {
    uint64_t key[TABLE], count[TABLE];
    uint32_t used;
};

static uint64_t *cell(struct table *table, uint64_t key)
{
    uint32_t i = (uint32_t)key % TABLE;
    while (table->key[i] && table->key[i] != key)
        i = (i + 1) % TABLE;
    if (!table->key[i]) {
        table->key[i] = key;
        assert_true(++table->used < TABLE / 2);
    }
    return &table->count[i];
}

static uint64_t key_of(const struct numbering_path *path)
{
    uint64_t key = base_hash_bytes(path->edges, path->count * sizeof *path->edges,
                                   path->first * 16 + path->ends);
    return key ? key : 1;
}

struct walk {
    struct sample *sample;
    const struct numbering_plan *plan;
    struct oracle *oracle;
    struct table *truth, *counted;
    uint64_t taken[EDGES_MAX];
    uint64_t cost, simple_cost;
    int64_t r;
    bool cut_short;
};

static uint32_t cost_of(const struct sample *sample, const struct numbering_edge *edge)
{
    return !ends_path(edge) && sample->ways_out[edge->from] > 1 &&
                   sample->ways_in[edge->to] +
                           (sample->flags[edge->to] & NUMBERING_ROOT || edge->to == 0) >
                       1
               ? 3
               : 1;
}

static void execute(struct walk *walk, uint32_t place, uint32_t cost)
{
    for (uint32_t i = 0; walk->plan && i < walk->plan->count; i++) {
        const struct numbering_operation *operation = &walk->plan->operations[i];
        if (operation->place != place)
            continue;
        switch ((enum numbering_operation_kind)operation->kind) {
        case NUMBERING_SET:
            walk->r = operation->value;
            walk->cost += cost;
            break;
        case NUMBERING_ADD:
            walk->r += operation->value;
            walk->cost += cost;
            break;
        case NUMBERING_COUNT:
            ++*cell(walk->counted, 1 + (uint64_t)(walk->r + operation->value));
            break;
        case NUMBERING_COUNT_AT: ++*cell(walk->counted, 1 + (uint64_t)operation->value); break;
        }
    }
}

/* One activation, from a root on; paths are written down as they go. */
static void walk_once(struct walk *walk, struct base_random *random, uint32_t root)
{
    const struct sample *sample = walk->sample;
    uint32_t room[STEPS_MAX + 1];
    struct numbering_path path = {root ? NUMBERING_FROM_ROOT : NUMBERING_FROM_ENTRY, 0, root, room};
    uint32_t block = root;
    walk->r = (int64_t)base_random_next(random);
    execute(walk, NUMBERING_AT_ROOT + root, 1);
    walk->simple_cost++;
    for (uint32_t step = 0; block != EXIT && sample->ways_out[block]; step++) {
        uint32_t way = below(random, sample->ways_out[block]), e = 0;
        const struct numbering_edge *edge;
        for (; sample->edges[e].from != block || way--; e++)
            ;
        edge = &sample->edges[e];
        if (step == STEPS_MAX) {
            walk->cut_short = true;
            return;
        }
        walk->taken[e]++;
        execute(walk, e, cost_of(sample, edge));
        if (walk->oracle && !ends_path(edge) && walk->oracle->value[e])
            walk->simple_cost += cost_of(sample, edge);
        path.edges[path.count++] = e;
        block = edge->to;
        if (!ends_path(edge))
            continue;
        path.ends |= block == EXIT ? 0 : NUMBERING_TO_CUT;
        if (walk->truth)
            ++*cell(walk->truth, key_of(&path));
        walk->simple_cost += block != EXIT;
        path.ends = NUMBERING_FROM_CUT;
        path.first = block;
        path.count = 0;
    }
}

static void walk_all(struct walk *walk, uint64_t seed)
{
    struct base_random random = {seed};
    uint32_t roots[BLOCKS_MAX], count = 0;
    for (uint32_t b = 0; b < walk->sample->graph.blocks_count; b++)
        if (b == 0 || walk->sample->flags[b] & NUMBERING_ROOT)
            roots[count++] = b;
    for (uint32_t i = 0; i < WALKS; i++)
        walk_once(walk, &random, roots[below(&random, count)]);
}

static void compare(const struct numbering *paths, struct table *truth, struct table *counted)
{
    uint32_t room[BLOCKS_MAX + 1];
    struct numbering_path path = {.edges = room};
    assert_int_equal(truth->used, counted->used);
    for (uint32_t i = 0; i < TABLE; i++) {
        if (!counted->key[i])
            continue;
        assert_int_equal(numbering_decode(paths, counted->key[i] - 1, &path), BASE_OK);
        assert_int_equal(counted->count[i], *cell(truth, key_of(&path)));
    }
    assert_int_equal(truth->used, counted->used);
}

/* Weights: none, anything, or those of the very walks: then no more is executed than by the simple
   plan that sets r at every start and adds Val wherever it is not 0. */
static void check_sample(struct sample *sample, struct base_random *random)
{
    static struct table truth, counted;
    struct oracle oracle = {.sample = sample};
    uint64_t seed = base_random_next(random), most = 4 + below(random, 60);
    struct walk walk = {.sample = sample, .oracle = &oracle, .truth = &truth, .counted = &counted};
    uint32_t weights = below(random, 3);
    struct numbering *paths;
    struct numbering_plan plan;
    if (weights == 2) {
        struct walk before = {.sample = sample};
        walk_all(&before, seed);
        for (uint32_t e = 0; e < sample->graph.edges_count; e++)
            sample->edges[e].weight = (float)before.taken[e];
    }
    for (uint32_t e = 0; weights == 1 && e < sample->graph.edges_count; e++)
        sample->edges[e].weight = (float)below(random, 1000) - 100;
    if (below(random, 3) || numbering_split(&sample->graph, most, &paths) != BASE_OK) {
        assert_int_equal(numbering_number(&sample->graph, &paths), BASE_OK);
        most = UINT64_MAX;
    }
    assert_true(numbering_count(paths) <= most);
    assert_int_equal(numbering_count(paths), count_all(&oracle));
    assert_true(numbering_check(paths, 1000));
    plan = placed(paths);
    memset(&truth, 0, sizeof truth);
    memset(&counted, 0, sizeof counted);
    walk.plan = &plan;
    walk_all(&walk, seed);
    compare(paths, &truth, &counted);
    if (weights == 2 && !walk.cut_short && walk.cost > walk.simple_cost)
        fail_msg("%lu operations instead of %lu", walk.cost, walk.simple_cost);
    free(plan.operations);
    numbering_free(paths);
}

static void test_random_graphs(void **state)
{
    struct base_random random = {5};
    static struct sample sample;
    for (uint32_t round = 0; round < 6000; round++) {
        draw(&sample, &random);
        check_sample(&sample, &random);
    }
}

/* What was split is decoded by the same numbers from the cuts alone. */
static void test_split_is_stable(void **state)
{
    struct base_random random = {6};
    static struct sample sample;
    uint32_t split = 0;
    for (uint32_t round = 0; round < 2000; round++) {
        struct numbering *paths, *again;
        uint32_t room[BLOCKS_MAX + 1];
        struct numbering_path path = {.edges = room};
        uint64_t found;
        draw(&sample, &random);
        if (numbering_split(&sample.graph, 40, &paths) != BASE_OK)
            continue;
        for (uint32_t e = 0; e < sample.graph.edges_count; e++) {
            split += !!(sample.edges[e].flags & NUMBERING_SPLIT);
            sample.edges[e].flags =
                sample.edges[e].flags & (NUMBERING_SPLIT | NUMBERING_CUT) ? NUMBERING_CUT : 0;
        }
        again = number(sample.graph);
        assert_int_equal(numbering_count(again), numbering_count(paths));
        for (uint64_t i = 0; i < numbering_count(paths); i++) {
            assert_int_equal(numbering_decode(paths, i, &path), BASE_OK);
            assert_int_equal(numbering_encode(again, &path, &found), BASE_OK);
            assert_int_equal(found, i);
        }
        numbering_free(paths);
        numbering_free(again);
    }
    assert_true(split > 1000);
}

/* ---- too many paths -------------------------------------------------------------------------- */

struct large {
    struct numbering_graph graph;
    uint32_t room;
};

static void grow(struct large *large, uint32_t from, uint32_t to)
{
    struct numbering_graph *graph = &large->graph;
    if (graph->edges_count == large->room) {
        large->room = 2 * large->room + 64;
        graph->edges = realloc(graph->edges, large->room * sizeof *graph->edges);
        assert_non_null(graph->edges);
    }
    graph->edges[graph->edges_count++] = (struct numbering_edge){from, to, 0, -1};
}

/* The last block is returned: 3 * count. */
static uint32_t add_diamonds(struct large *large, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, first += 3) {
        grow(large, first, first + 1);
        grow(large, first, first + 2);
        grow(large, first + 1, first + 3);
        grow(large, first + 2, first + 3);
    }
    return first;
}

static uint32_t count_flag(const struct numbering_graph *graph, uint32_t flag)
{
    uint32_t count = 0;
    for (uint32_t e = 0; e < graph->edges_count; e++)
        count += !!(graph->edges[e].flags & flag);
    return count;
}

static void test_explosion(void **state)
{
    static const uint32_t sizes[] = {63, 64, 214, 3000};
    for (uint32_t i = 0; i < BASE_COUNT(sizes); i++) {
        struct large large = {0};
        struct numbering *paths;
        struct numbering_plan plan;
        uint32_t last = add_diamonds(&large, 0, sizes[i]);
        grow(&large, last, EXIT);
        large.graph.blocks_count = last + 1;
        paths = number(large.graph);
        assert_true(numbering_count(paths) == (sizes[i] < 64 ? UINT64_C(1) << 63 : UINT64_MAX));
        assert_true(fabs(numbering_log2(paths) - sizes[i]) < 1e-6);
        assert_int_equal(numbering_place(paths, &plan), BASE_UNSUPPORTED);
        numbering_free(paths);
        assert_int_equal(numbering_split(&large.graph, 1 << 14, &paths), BASE_OK);
        assert_true(numbering_count(paths) <= 1 << 14);
        assert_true(numbering_count(paths) > 1 << 10);
        if (sizes[i] == 214)
            assert_in_range(count_flag(&large.graph, NUMBERING_SPLIT), 2, 60);
        assert_true(numbering_check(paths, ENUMERATE));
        numbering_free(paths);
        free(large.graph.edges);
    }
}

/* Diamonds in a loop, more after it: the loop's own paths stay whole. */
static void test_split_spares_loops(void **state)
{
    struct large large = {0};
    struct numbering *paths;
    uint32_t latch = add_diamonds(&large, 0, 8), last;
    grow(&large, latch, 0);
    grow(&large, latch, latch + 1);
    last = add_diamonds(&large, latch + 1, 60);
    grow(&large, last, EXIT);
    large.graph.blocks_count = last + 1;
    assert_int_equal(numbering_split(&large.graph, 1 << 12, &paths), BASE_OK);
    assert_true(numbering_count(paths) <= 1 << 12);
    for (uint32_t e = 0; e < large.graph.edges_count; e++)
        if (large.graph.edges[e].from < latch)
            assert_int_equal(large.graph.edges[e].flags, 0);
    assert_true(numbering_check(paths, ENUMERATE));
    numbering_free(paths);
    free(large.graph.edges);
}

static void test_unequal_logarithms(void **state)
{
    struct large large = {0};
    struct numbering *paths;
    uint32_t block = 0;
    for (uint32_t i = 0; i < 50; i++, block++)
        for (uint32_t way = 0; way < 5; way++)
            grow(&large, block, block + 1);
    grow(&large, block, EXIT);
    large.graph.blocks_count = block + 1;
    paths = number(large.graph);
    assert_true(numbering_count(paths) == UINT64_MAX);
    assert_true(fabs(numbering_log2(paths) - 50 * log2(5)) < 1e-6);
    assert_true(numbering_check(paths, 10));
    numbering_free(paths);
    free(large.graph.edges);
}

/* No joins; but what follows the loop need not be there for both ways into it. */
static void test_split_without_joins(void **state)
{
    struct large large = {0};
    struct numbering *paths;
    grow(&large, 0, 0);
    grow(&large, 0, 1);
    for (uint32_t i = 0; i < 10; i++)
        grow(&large, 1, EXIT);
    large.graph.blocks_count = 2;
    assert_int_equal(numbering_split(&large.graph, 21, &paths), BASE_OK);
    assert_int_equal(numbering_count(paths), 14);
    assert_int_equal(large.graph.edges[1].flags, NUMBERING_SPLIT);
    assert_true(numbering_check(paths, 100));
    numbering_free(paths);
    assert_int_equal(numbering_split(&large.graph, 22, &paths), BASE_OK);
    assert_int_equal(count_flag(&large.graph, NUMBERING_SPLIT), 0);
    numbering_free(paths);
    free(large.graph.edges);
}

static void test_cannot_split(void **state)
{
    struct large large = {0};
    struct numbering *paths = (struct numbering *)&large;
    for (uint32_t i = 0; i < 10; i++)
        grow(&large, 0, EXIT);
    large.graph.blocks_count = 1;
    assert_int_equal(numbering_split(&large.graph, 9, &paths), BASE_UNSUPPORTED);
    assert_ptr_equal(paths, &large);
    assert_int_equal(numbering_split(&large.graph, 10, &paths), BASE_OK);
    numbering_free(paths);
    free(large.graph.edges);
}

/* ---- size, and what is no graph -------------------------------------------------------------- */

static void test_large(void **state)
{
    struct large large = {0};
    struct numbering *paths;
    struct numbering_plan plan;
    for (uint32_t b = 0; b < NUMBERING_BLOCKS_MAX; b++) {
        grow(&large, b, b + 1 < NUMBERING_BLOCKS_MAX ? b + 1 : EXIT);
        if (b % 2)
            grow(&large, b, b - 1);
    }
    large.graph.blocks_count = NUMBERING_BLOCKS_MAX;
    paths = number(large.graph);
    assert_int_equal(count_flag(&large.graph, NUMBERING_RETREATING), NUMBERING_BLOCKS_MAX / 2);
    plan = placed(paths);
    free(plan.operations);
    assert_true(numbering_check(paths, 10));
    numbering_free(paths);
    large.graph.blocks_count++;
    assert_int_equal(numbering_number(&large.graph, &paths), BASE_UNSUPPORTED);
    free(large.graph.edges);
}

static void test_malformed(void **state)
{
    struct numbering_edge from[] = {EDGE(2, 0)}, to[] = {EDGE(0, 2)};
    struct numbering_graph none = {0}, graph = GRAPH(2, from), other = GRAPH(2, to);
    struct numbering *paths;
    assert_int_equal(numbering_number(&none, &paths), BASE_MALFORMED);
    assert_int_equal(numbering_number(&graph, &paths), BASE_MALFORMED);
    assert_int_equal(numbering_number(&other, &paths), BASE_MALFORMED);
    assert_int_equal(numbering_split(&other, 4, &paths), BASE_MALFORMED);
    numbering_free(NULL);
}

static void test_no_path(void **state)
{
    struct numbering_edge edges[] = {EDGE(0, 1), EDGE(1, 1), EDGE(1, EXIT), EDGE(0, EXIT)};
    static const struct {
        struct numbering_path path;
        uint32_t edges[3];
        bool good;
    } cases[] = {
        {{NUMBERING_FROM_ENTRY, 2, 0, NULL}, {0, 2}, true},
        {{NUMBERING_FROM_ENTRY, 1, 0, NULL}, {3}, true},
        {{NUMBERING_FROM_CUT, 1, 1, NULL}, {2}, true},
        {{NUMBERING_FROM_CUT | NUMBERING_TO_CUT, 1, 1, NULL}, {1}, true},
        {{NUMBERING_FROM_CUT, 1, 1, NULL}, {1}, false},
        {{NUMBERING_FROM_ENTRY | NUMBERING_TO_CUT, 2, 0, NULL}, {0, 2}, false},
        {{NUMBERING_FROM_ENTRY, 1, 0, NULL}, {0}, false},
        {{NUMBERING_FROM_ENTRY, 0, 0, NULL}, {0}, false},
        {{NUMBERING_FROM_ENTRY, 1, 0, NULL}, {2}, false},
        {{NUMBERING_FROM_ENTRY, 1, 0, NULL}, {4}, false},
        {{NUMBERING_FROM_ENTRY, 1, 1, NULL}, {2}, false},
        {{NUMBERING_FROM_ROOT, 1, 0, NULL}, {3}, false},
        {{NUMBERING_FROM_ROOT, 1, 1, NULL}, {2}, false},
        {{NUMBERING_FROM_CUT, 1, 0, NULL}, {3}, false},
        {{NUMBERING_FROM_CUT, 1, 2, NULL}, {3}, false},
        {{NUMBERING_FROM_CUT | NUMBERING_FROM_ROOT, 1, 1, NULL}, {2}, false},
        {{8, 1, 0, NULL}, {3}, false},
        {{NUMBERING_FROM_ENTRY, 3, 0, NULL}, {0, 1, 2}, false},
    };
    struct numbering *paths = numbered(GRAPH(2, edges), 5);
    for (uint32_t i = 0; i < BASE_COUNT(cases); i++) {
        uint32_t room[3];
        uint64_t found = 77;
        struct numbering_path path = cases[i].path;
        memcpy(room, cases[i].edges, sizeof room);
        path.edges = room;
        assert_int_equal(numbering_encode(paths, &path, &found),
                         cases[i].good ? BASE_OK : BASE_NOT_FOUND);
        assert_true(cases[i].good == (found < 5));
    }
    numbering_free(paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_six_paths),
        cmocka_unit_test(test_four_kinds),
        cmocka_unit_test(test_self_loop_at_entry),
        cmocka_unit_test(test_nest),
        cmocka_unit_test(test_irreducible),
        cmocka_unit_test(test_roots_and_unreached),
        cmocka_unit_test(test_switch_to_same),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_nothing_to_choose),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_frequencies),
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_split_is_stable),
        cmocka_unit_test(test_explosion),
        cmocka_unit_test(test_split_spares_loops),
        cmocka_unit_test(test_unequal_logarithms),
        cmocka_unit_test(test_split_without_joins),
        cmocka_unit_test(test_cannot_split),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_no_path),
    };
    return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
