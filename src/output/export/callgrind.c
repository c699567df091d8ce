// SPDX-License-Identifier: MIT
/*
 * Callgrind's format (valgrind, docs "Callgrind Format Specification"), positions: line. A stack is
 * a chain of calls: its leaf gets the value as its own, each call on the way as inclusive cost,
 * once even if a recursion makes it again.
 *
 * Files and functions are called "(number) name" once and "(number)" from then on, so a name may
 * begin with anything.
 *
 * The functions of the first place's context are others than those of the second's, by name:
 * "main [first]". As one they would be a circle, main calling what calls main, without a root to
 * draw from and with inclusive costs that mean nothing.
 */
#include "export/walk.h"

#include "show/names.h"

#include <inttypes.h>
#include <stdlib.h>

struct cost {
    uint32_t place;  /* of the caller, or what has the cost itself             */
    uint32_t callee; /* function + 1; 0: own cost                              */
    uint32_t firsts; /* CALLER_FIRST, CALLEE_FIRST: in the first's context     */
};

enum { CALLER_FIRST = 1, CALLEE_FIRST = 2 };

struct graph {
    const struct walk *walk;
    struct numbered costs; /* struct cost                                              */
    uint64_t *values;      /* walk->columns_count for each                             */
    uint64_t *calls;       /* by cost                                                */
    uint32_t *lines;       /* by cost: where the callee's called part begins           */
    size_t *seen;          /* by cost: the sample, + 1, that last added to it            */
    size_t capacity;
    uint32_t *places;
    uint32_t unknown; /* the place that stands for callers that are not known              */
    uint8_t *called;  /* by function, in the second's context or the only one              */
    uint8_t *names;   /* by number: written once, as file 1, as function 2, as object 4    */
    FILE *out;
};

/* ---- adding up ------------------------------------------------------------------------------ */

/* Besides each cost lie `each` items of the array, zero at first. */
#define GROW(member, each)                                                                         \
    (capacity = graph->capacity,                                                                   \
     util_grow_zeroed(&graph->member, &capacity, graph->costs.count - 1,                           \
                      (each) * sizeof *graph->member))

static bool grow(struct graph *graph)
{
    size_t capacity;
    if (graph->costs.count <= graph->capacity)
        return true;
    if (!GROW(values, graph->walk->columns_count) || !GROW(calls, 1) || !GROW(lines, 1) ||
        !GROW(seen, 1))
        return false;
    graph->capacity = capacity;
    return true;
}

static bool add_cost(struct graph *graph, size_t index, struct cost cost, uint32_t line,
                     uint64_t calls)
{
    const struct walk *walk = graph->walk;
    uint32_t id = numbered_id(&graph->costs, &cost);
    if (id == UINT32_MAX || !grow(graph))
        return false;
    graph->calls[id] += calls;
    if (graph->seen[id] == index + 1)
        return true;
    graph->seen[id] = index + 1;
    graph->lines[id] = line;
    for (size_t c = 0; c < walk->columns_count; c++)
        graph->values[id * walk->columns_count + c] += walk_value(walk, &walk->samples[index], c);
    return true;
}

/* Only of the tree of calling contexts it is known how often a function was called. */
static uint64_t calls_of(const struct walk *walk, const struct walk_sample *sample)
{
    return sample->vertices ? walk->profile->vertices[sample->first].count : 0;
}

/* Places of the sample, at least one, root first. *inner: where the first's context begins. */
static size_t stack_of(struct graph *graph, const struct walk_sample *sample, size_t *inner)
{
    size_t depth = walk_stack(graph->walk, sample, graph->places, inner);
    if (!depth)
        graph->places[depth++] = graph->walk->cut_place;
    if (!sample->kind->separator)
        *inner = depth; /* one context only */
    return depth;
}

static void mark_called(struct graph *graph, const struct walk_sample *sample)
{
    size_t inner, depth = stack_of(graph, sample, &inner);
    for (size_t i = 1; i < depth && i < inner; i++)
        graph->called[walk_place(graph->walk, graph->places[i])->function] = 1;
}

/* What is called by some and a root to others gets a caller there that stands for what is not
 * known: inclusive costs are then what the calls of a function add up to, and readers that draw
 * from the functions nobody calls leave nothing out. */
static size_t rooted_stack_of(struct graph *graph, const struct walk_sample *sample, size_t *inner)
{
    size_t depth = stack_of(graph, sample, inner);
    if (!graph->called[walk_place(graph->walk, graph->places[0])->function])
        return depth;
    memmove(graph->places + 1, graph->places, depth * sizeof *graph->places);
    graph->places[0] = graph->unknown;
    ++*inner;
    return depth + 1;
}

static bool add_sample(struct graph *graph, size_t index)
{
    const struct walk *walk = graph->walk;
    size_t inner = 0;
    size_t depth = rooted_stack_of(graph, &walk->samples[index], &inner);
    uint64_t calls = calls_of(walk, &walk->samples[index]);
    for (size_t i = 0; i + 1 < depth; i++) {
        const struct walk_place *callee = walk_place(walk, graph->places[i + 1]);
        struct cost cost = {graph->places[i], callee->function + 1,
                            (i >= inner ? CALLER_FIRST : 0) | (i + 1 >= inner ? CALLEE_FIRST : 0)};
        if (!add_cost(graph, index, cost, callee->line, i + 2 == depth ? calls : 0))
            return false;
    }
    struct cost own = {graph->places[depth - 1], 0, depth > inner ? CALLER_FIRST : 0};
    return add_cost(graph, index, own, 0, 0);
}

/* ---- writing -------------------------------------------------------------------------------- */

enum { AS_FILE = 1, AS_FUNCTION = 2, AS_OBJECT = 4 };

static void named(struct graph *graph, const char *key, size_t number, uint8_t as, const char *name,
                  const char *suffix)
{
    fprintf(graph->out, "%s=(%zu)", key, number + 1);
    if (!(graph->names[number] & as))
        fprintf(graph->out, " %s%s", *name ? name : "???", suffix);
    graph->names[number] |= as;
    putc('\n', graph->out);
}

/* A function's number is its own and not its name's: two of one name in different files are two. */
static void function_lines(struct graph *graph, uint32_t function, bool first, bool called)
{
    const struct walk *walk = graph->walk;
    const struct walk_function *row = walk_function(walk, function);
    uint32_t object = walk->modules[row->module];
    named(graph, called ? "cob" : "ob", object, AS_OBJECT, walk->strings.texts[object], "");
    named(graph, called ? "cfi" : "fl", row->file, AS_FILE, walk->strings.texts[row->file], "");
    named(graph, called ? "cfn" : "fn", function + (first ? walk->functions.count : 0), AS_FUNCTION,
          walk->strings.texts[row->name], first ? " [first]" : "");
}

static void values_line(struct graph *graph, uint32_t line, uint32_t id)
{
    size_t columns = graph->walk->columns_count;
    fprintf(graph->out, "%" PRIu32, line);
    for (size_t c = 0; c < columns; c++)
        fprintf(graph->out, " %" PRIu64, graph->values[id * columns + c]);
    putc('\n', graph->out);
}

static void head(struct graph *graph)
{
    const struct walk *walk = graph->walk;
    fputs("# callgrind format\nversion: 1\ncreator: headroom\n", graph->out);
    for (size_t i = 0; i < walk->profile->degraded_count; i++) {
        char text[1024];
        name_clean(walk->profile->degraded[i].text, text, sizeof text);
        fprintf(graph->out, "desc: Limits: %s\n", text);
    }
    fputs("positions: line\n", graph->out);
    for (size_t c = 0; c < walk->columns_count; c++) {
        const struct walk_metric *metric = &walk->metrics[walk->columns[c]];
        fprintf(graph->out, "event: %s : %s\n", metric->name, metric->what);
    }
    fputs("events:", graph->out);
    for (size_t c = 0; c < walk->columns_count; c++)
        fprintf(graph->out, " %s", walk->metrics[walk->columns[c]].name);
    fputs("\nsummary:", graph->out);
    for (size_t c = 0; c < walk->columns_count; c++)
        fprintf(graph->out, " %" PRIu64, walk->metrics[walk->columns[c]].total);
    fputs("\n\n", graph->out);
}

/* A number for what has its own lines: functions, those in the first's context after the others. */
static uint64_t owner_of(const struct graph *graph, const struct cost *cost)
{
    uint64_t function = walk_place(graph->walk, cost->place)->function;
    return function + (cost->firsts & CALLER_FIRST ? graph->walk->functions.count : 0);
}

static int by_owner(const void *left, const void *right, void *context)
{
    const struct graph *graph = context;
    const struct cost *costs = graph->costs.items;
    const uint32_t *a = left, *b = right;
    uint64_t oa = owner_of(graph, &costs[*a]), ob = owner_of(graph, &costs[*b]);
    return oa != ob ? (oa < ob ? -1 : 1) : *a < *b ? -1 : *a > *b;
}

static void cost_lines(struct graph *graph, uint32_t id)
{
    const struct cost *cost = (const struct cost *)graph->costs.items + id;
    if (cost->callee) {
        uint64_t calls = graph->calls[id];
        function_lines(graph, cost->callee - 1, cost->firsts & CALLEE_FIRST, true);
        fprintf(graph->out, "calls=%" PRIu64 " %" PRIu32 "\n", calls ? calls : 1, graph->lines[id]);
    }
    values_line(graph, walk_place(graph->walk, cost->place)->line, id);
}

static bool write_costs(struct graph *graph)
{
    const struct cost *costs = graph->costs.items;
    uint32_t *order = malloc((graph->costs.count + 1) * sizeof *order);
    uint64_t last = UINT64_MAX;
    if (!order)
        return false;
    for (uint32_t i = 0; i < graph->costs.count; i++)
        order[i] = i;
    qsort_r(order, graph->costs.count, sizeof *order, by_owner, graph);
    for (size_t i = 0; i < graph->costs.count && !ferror(graph->out); i++) {
        const struct cost *cost = &costs[order[i]];
        if (owner_of(graph, cost) != last)
            function_lines(graph, walk_place(graph->walk, cost->place)->function,
                           cost->firsts & CALLER_FIRST, false);
        last = owner_of(graph, cost);
        cost_lines(graph, order[i]);
    }
    free(order);
    return true;
}

bool write_callgrind(struct walk *walk, FILE *out)
{
    struct graph graph = {.walk = walk, .out = out, .costs = {.bytes = sizeof(struct cost)}};
    graph.unknown = walk_add_name(walk, "[callers not known]", NULL, 0);
    size_t numbers = walk->strings.count + 2 * walk->functions.count;
    graph.places = malloc((WALK_STACK + 1) * sizeof *graph.places);
    graph.names = calloc(numbers + 1, 1);
    graph.called = calloc(walk->functions.count + 1, 1);
    bool good = !walk->failed && graph.places && graph.names && graph.called;
    for (size_t i = 0; good && i < walk->samples_count; i++)
        mark_called(&graph, &walk->samples[i]);
    for (size_t i = 0; good && i < walk->samples_count; i++)
        good = add_sample(&graph, i);
    if (good) {
        head(&graph);
        good = write_costs(&graph);
    }
    numbered_free(&graph.costs);
    free(graph.values);
    free(graph.calls);
    free(graph.lines);
    free(graph.seen);
    free(graph.places);
    free(graph.names);
    free(graph.called);
    return good;
}
