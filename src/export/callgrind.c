// SPDX-License-Identifier: MIT
/*
 * Callgrind's format (valgrind, docs "Callgrind Format Specification"), positions: line. A stack is
 * a chain of calls: its leaf gets the value as its own, each call on the way as inclusive cost,
 * once even if a recursion makes it again.
 *
 * Files and functions are called "(number) name" once and "(number)" from then on, so a name may
 * begin with anything.
 */
#include "export/walk.h"

#include "report/names.h"

#include <inttypes.h>
#include <stdlib.h>

struct cost {
    uint32_t place;  /* of the caller, or what has the cost itself             */
    uint32_t callee; /* function + 1; 0: own cost                              */
};

struct graph {
    const struct walk *walk;
    struct numbered costs; /* struct cost                                              */
    uint64_t *values;      /* walk->columns_count for each                             */
    uint64_t *calls;       /* by cost                                                */
    uint32_t *lines;       /* by cost: where the callee's called part begins           */
    size_t *seen;          /* by cost: the sample, + 1, that last added to it            */
    size_t capacity;
    uint32_t *places;
    uint8_t *names; /* by string: written once, as file 1, as function 2, as object 4    */
    FILE *out;
};

/* ---- adding up ------------------------------------------------------------------------------ */

#define GROW(member, each)                                                                         \
    do {                                                                                           \
        void *moved = reallocarray(graph->member, capacity * (each), sizeof *graph->member);       \
        if (!moved)                                                                                \
            return false;                                                                          \
        graph->member = moved;                                                                     \
        memset(graph->member + graph->capacity * (each), 0,                                        \
               (capacity - graph->capacity) * (each) * sizeof *graph->member);                     \
    } while (0)

static bool make_room(struct graph *graph)
{
    if (graph->costs.count <= graph->capacity)
        return true;
    size_t capacity = graph->costs.capacity;
    GROW(values, graph->walk->columns_count);
    GROW(calls, 1);
    GROW(lines, 1);
    GROW(seen, 1);
    graph->capacity = capacity;
    return true;
}

static bool add_cost(struct graph *graph, size_t index, uint32_t place, uint32_t callee,
                     uint32_t line, uint64_t calls)
{
    const struct walk *walk = graph->walk;
    struct cost cost = {place, callee};
    uint32_t id = numbered_id(&graph->costs, &cost);
    if (id == UINT32_MAX || !make_room(graph))
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

static bool add_sample(struct graph *graph, size_t index)
{
    const struct walk *walk = graph->walk;
    size_t depth = walk_stack(walk, &walk->samples[index], graph->places, NULL);
    uint64_t calls = calls_of(walk, &walk->samples[index]);
    if (!depth)
        graph->places[depth++] = walk->cut_place;
    for (size_t i = 0; i + 1 < depth; i++) {
        const struct walk_place *callee = walk_place(walk, graph->places[i + 1]);
        if (!add_cost(graph, index, graph->places[i], callee->function + 1, callee->line,
                      i + 2 == depth ? calls : 0))
            return false;
    }
    return add_cost(graph, index, graph->places[depth - 1], 0, 0, 0);
}

/* ---- writing -------------------------------------------------------------------------------- */

enum { AS_FILE = 1, AS_FUNCTION = 2, AS_OBJECT = 4 };

static void named(struct graph *graph, const char *key, uint32_t number, uint8_t *written,
                  uint8_t as, const char *name)
{
    fprintf(graph->out, "%s=(%" PRIu32 ")", key, number + 1);
    if (!(*written & as))
        fprintf(graph->out, " %s", *name ? name : "???");
    *written |= as;
    putc('\n', graph->out);
}

/* A function's number is its own and not its name's: two of one name in different files are two. */
static void function_lines(struct graph *graph, uint32_t function, bool called)
{
    const struct walk *walk = graph->walk;
    const struct walk_function *row = walk_function(walk, function);
    uint32_t object = walk->modules[row->module];
    named(graph, called ? "cob" : "ob", object, &graph->names[object], AS_OBJECT,
          walk->strings[object]);
    named(graph, called ? "cfi" : "fl", row->file, &graph->names[row->file], AS_FILE,
          walk->strings[row->file]);
    named(graph, called ? "cfn" : "fn", function, &graph->names[function], AS_FUNCTION,
          walk->strings[row->name]);
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

static int by_function(const void *left, const void *right, void *context)
{
    const struct graph *graph = context;
    const struct cost *costs = graph->costs.items;
    const uint32_t *a = left, *b = right;
    uint32_t fa = walk_place(graph->walk, costs[*a].place)->function;
    uint32_t fb = walk_place(graph->walk, costs[*b].place)->function;
    return fa != fb ? (fa < fb ? -1 : 1) : *a < *b ? -1 : *a > *b;
}

static bool write_costs(struct graph *graph)
{
    const struct cost *costs = graph->costs.items;
    uint32_t *order = malloc((graph->costs.count + 1) * sizeof *order);
    uint32_t last = UINT32_MAX;
    if (!order)
        return false;
    for (uint32_t i = 0; i < graph->costs.count; i++)
        order[i] = i;
    qsort_r(order, graph->costs.count, sizeof *order, by_function, graph);
    for (size_t i = 0; i < graph->costs.count; i++) {
        const struct cost *cost = &costs[order[i]];
        const struct walk_place *place = walk_place(graph->walk, cost->place);
        if (place->function != last)
            function_lines(graph, last = place->function, false);
        if (cost->callee) {
            uint64_t calls = graph->calls[order[i]];
            function_lines(graph, cost->callee - 1, true);
            fprintf(graph->out, "calls=%" PRIu64 " %" PRIu32 "\n", calls ? calls : 1,
                    graph->lines[order[i]]);
        }
        values_line(graph, place->line, order[i]);
    }
    free(order);
    return true;
}

bool write_callgrind(struct walk *walk, FILE *out)
{
    struct graph graph = {.walk = walk, .out = out, .costs = {.bytes = sizeof(struct cost)}};
    size_t numbers = walk->strings_count + walk->functions.count;
    graph.places = malloc(WALK_STACK * sizeof *graph.places);
    graph.names = calloc(numbers + 1, 1);
    bool good = graph.places && graph.names;
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
    return good;
}
