// SPDX-License-Identifier: MIT
/*
 * The maximum cycle ratio: Howard's policy iteration (Cochet-Terrasson et al., 1998; Dasdan, Irani, Gupta, DAC 1999), by strongly
 * connected component, in integers. A policy chooses one arc out of each vertex, and so makes circuits; the best of them gives a
 * ratio, under which vertices get potentials; an arc that would raise one replaces the chosen one. When none does, the potentials
 * prove that no circuit exceeds the ratio.
 */
#include "bounds/internal.h"

#include <stdlib.h>

enum { ROUNDS_MAX = 10000 };

struct graph {
    const struct bounds_arc *arcs;
    size_t vertex_count, count; /* count: of the arcs that count */
    uint32_t *first, *out;      /* arcs out of vertex v: out[first[v] ... first[v + 1] - 1] */
    uint32_t *into_first, *into;
    uint32_t *component, *order; /* vertices of one component follow one another in order */
};

struct policy {
    uint32_t *arc, *seen, *queue;
    int64_t *potential;
    int64_t latency, distance; /* the ratio */
    uint32_t root;             /* a vertex of the circuit that has it */
    bool found;
};

static bool is_inner(const struct graph *graph, uint32_t arc)
{
    return graph->component[graph->arcs[arc].from] == graph->component[graph->arcs[arc].to];
}

/* The arc's weight under the ratio: positive circuits exceed it. */
static int64_t weight(const struct policy *policy, const struct bounds_arc *arc)
{
    return arc->latency * policy->distance - policy->latency * arc->distance;
}

/* ---- strongly connected components (Tarjan), without recursion ---------------------------------------- */

struct search {
    uint32_t *number, *low, *stack, *path, *next;
    uint32_t numbers, depth, held, components, ordered;
};

static void close_component(struct graph *graph, struct search *search, uint32_t vertex)
{
    uint32_t member;
    do {
        member = search->stack[--search->held];
        graph->component[member] = search->components;
        graph->order[search->ordered++] = member;
    } while (member != vertex);
    search->components++;
}

static void open_vertex(const struct graph *graph, struct search *search, uint32_t vertex)
{
    search->number[vertex] = search->low[vertex] = ++search->numbers;
    search->next[vertex] = graph->first[vertex];
    search->path[search->depth++] = search->stack[search->held++] = vertex;
}

static void search_from(struct graph *graph, struct search *search, uint32_t start)
{
    open_vertex(graph, search, start);
    while (search->depth) {
        uint32_t vertex = search->path[search->depth - 1];
        if (search->next[vertex] < graph->first[vertex + 1]) {
            uint32_t to = graph->arcs[graph->out[search->next[vertex]++]].to;
            if (!search->number[to])
                open_vertex(graph, search, to);
            else if (graph->component[to] == BOUNDS_NONE &&
                     search->number[to] < search->low[vertex])
                search->low[vertex] = search->number[to];
            continue;
        }
        search->depth--;
        if (search->low[vertex] == search->number[vertex])
            close_component(graph, search, vertex);
        if (search->depth) {
            uint32_t parent = search->path[search->depth - 1];
            search->low[parent] = search->low[vertex] < search->low[parent] ? search->low[vertex]
                                                                            : search->low[parent];
        }
    }
}

static bool find_components(struct graph *graph)
{
    size_t count = graph->vertex_count;
    uint32_t *memory = calloc(5 * count + 1, sizeof *memory);
    if (!memory)
        return false;
    struct search search = {.number = memory,
                            .low = memory + count,
                            .stack = memory + 2 * count,
                            .path = memory + 3 * count,
                            .next = memory + 4 * count};
    for (uint32_t v = 0; v < count; v++)
        graph->component[v] = BOUNDS_NONE;
    for (uint32_t v = 0; v < count; v++)
        if (!search.number[v])
            search_from(graph, &search, v);
    free(memory);
    return true;
}

/* ---- the graph ------------------------------------------------------------------------------------------ */

static void graph_free(struct graph *graph)
{
    free(graph->first);
    free(graph->out);
    free(graph->into_first);
    free(graph->into);
    free(graph->component);
    free(graph->order);
}

static void index_arcs(const struct graph *graph, size_t arc_count, const bool *chosen, bool into)
{
    uint32_t *first = into ? graph->into_first : graph->first,
             *list = into ? graph->into : graph->out;
    for (size_t a = 0; a < arc_count; a++)
        if (!chosen || chosen[a])
            first[(into ? graph->arcs[a].to : graph->arcs[a].from) + 1]++;
    for (size_t v = 0; v < graph->vertex_count; v++)
        first[v + 1] += first[v];
    for (size_t a = arc_count;
         a-- > 0;) /* from behind: first[v + 1] counts down to the beginning of v's arcs */
        if (!chosen || chosen[a]) {
            uint32_t v = into ? graph->arcs[a].to : graph->arcs[a].from;
            list[--first[v + 1]] = (uint32_t)a;
        }
    for (size_t v = 0; v < graph->vertex_count; v++)
        first[v] = first[v + 1];
    first[graph->vertex_count] = (uint32_t)graph->count;
}

static bool graph_make(struct graph *graph, size_t arc_count, const bool *chosen)
{
    size_t vertices = graph->vertex_count;
    for (size_t a = 0; a < arc_count; a++)
        graph->count += !chosen || chosen[a];
    graph->first = calloc(vertices + 2, sizeof *graph->first);
    graph->into_first = calloc(vertices + 2, sizeof *graph->into_first);
    graph->out = calloc(graph->count + 1, sizeof *graph->out);
    graph->into = calloc(graph->count + 1, sizeof *graph->into);
    graph->component = calloc(vertices + 1, sizeof *graph->component);
    graph->order = calloc(vertices + 1, sizeof *graph->order);
    if (!graph->first || !graph->into_first || !graph->out || !graph->into || !graph->component ||
        !graph->order)
        return false;
    index_arcs(graph, arc_count, chosen, false);
    index_arcs(graph, arc_count, chosen, true);
    return find_components(graph);
}

/* ---- policy iteration -------------------------------------------------------------------------------------- */

static bool choose_first(const struct graph *graph, struct policy *policy, uint32_t vertex)
{
    uint32_t best = BOUNDS_NONE;
    for (uint32_t o = graph->first[vertex]; o < graph->first[vertex + 1]; o++) {
        uint32_t arc = graph->out[o];
        if (is_inner(graph, arc) &&
            (best == BOUNDS_NONE || graph->arcs[arc].latency > graph->arcs[best].latency))
            best = arc;
    }
    policy->arc[vertex] = best;
    return best != BOUNDS_NONE;
}

/* Sums up the circuit through `vertex` and takes it if it is better than what is known. */
static void weigh_circuit(const struct graph *graph, struct policy *policy, uint32_t vertex)
{
    int64_t latency = 0, distance = 0;
    uint32_t at = vertex;
    do {
        const struct bounds_arc *arc = &graph->arcs[policy->arc[at]];
        latency += arc->latency;
        distance += arc->distance;
        at = arc->to;
    } while (at != vertex);
    if (distance > 0 &&
        (!policy->found || latency * policy->distance > policy->latency * distance)) {
        policy->latency = latency;
        policy->distance = distance;
        policy->root = vertex;
        policy->found = true;
    }
}

static void best_circuit(const struct graph *graph, struct policy *policy, const uint32_t *members,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        policy->seen[members[i]] = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = members[i], mark = (uint32_t)i + 1;
        while (!policy->seen[at]) {
            policy->seen[at] = mark;
            at = graph->arcs[policy->arc[at]].to;
        }
        if (policy->seen[at] == mark)
            weigh_circuit(graph, policy, at);
    }
}

/* Potentials, from the root backwards: along the policy first, then, for vertices from which it does not lead there, along any arc. */
static void set_potentials(const struct graph *graph, struct policy *policy,
                           const uint32_t *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        policy->seen[members[i]] = 0;
    policy->potential[policy->root] = 0;
    policy->seen[policy->root] = 1;
    for (unsigned pass = 0; pass < 2; pass++) {
        uint32_t head = 0, tail = 0;
        for (size_t i = 0; i < count; i++)
            if (policy->seen[members[i]])
                policy->queue[tail++] = members[i];
        while (head < tail) {
            uint32_t vertex = policy->queue[head++];
            for (uint32_t o = graph->into_first[vertex]; o < graph->into_first[vertex + 1]; o++) {
                uint32_t arc = graph->into[o], from = graph->arcs[arc].from;
                if (!is_inner(graph, arc) || policy->seen[from] ||
                    (pass == 0 && policy->arc[from] != arc))
                    continue;
                policy->seen[from] = 1;
                policy->arc[from] = arc;
                policy->potential[from] =
                    weight(policy, &graph->arcs[arc]) + policy->potential[vertex];
                policy->queue[tail++] = from;
            }
        }
    }
}

static bool improve(const struct graph *graph, struct policy *policy, const uint32_t *members,
                    size_t count)
{
    bool better = false;
    for (size_t i = 0; i < count; i++)
        for (uint32_t o = graph->first[members[i]]; o < graph->first[members[i] + 1]; o++) {
            const struct bounds_arc *arc = &graph->arcs[graph->out[o]];
            if (!is_inner(graph, graph->out[o]))
                continue;
            int64_t reached = weight(policy, arc) + policy->potential[arc->to];
            if (reached > policy->potential[arc->from]) {
                policy->potential[arc->from] = reached;
                policy->arc[arc->from] = graph->out[o];
                better = true;
            }
        }
    return better;
}

static void iterate(const struct graph *graph, struct policy *policy, const uint32_t *members,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!choose_first(graph, policy, members[i]))
            return; /* a vertex alone, without an arc to itself */
    for (unsigned round = 0;; round++) {
        policy->found = false; /* ratios never fall from one policy to the next */
        best_circuit(graph, policy, members, count);
        if (!policy->found || round == ROUNDS_MAX)
            return;
        set_potentials(graph, policy, members, count);
        if (!improve(graph, policy, members, count))
            return;
    }
}

static bool keep_circuit(const struct graph *graph, const struct policy *policy, uint32_t **circuit,
                         size_t *circuit_count)
{
    size_t count = 0;
    uint32_t at = policy->root;
    do {
        count++;
        at = graph->arcs[policy->arc[at]].to;
    } while (at != policy->root && count <= graph->vertex_count);
    uint32_t *made = malloc(count * sizeof *made);
    if (!made)
        return false;
    for (size_t i = 0; i < count; i++) {
        made[i] = policy->arc[at];
        at = graph->arcs[policy->arc[at]].to;
    }
    free(*circuit);
    *circuit = made;
    *circuit_count = count;
    return true;
}

static bool policy_make(struct policy *policy, size_t vertices)
{
    policy->arc = calloc(3 * vertices + 1, sizeof *policy->arc);
    policy->potential = calloc(vertices + 1, sizeof *policy->potential);
    policy->seen = policy->arc ? policy->arc + vertices : NULL;
    policy->queue = policy->arc ? policy->arc + 2 * vertices : NULL;
    return policy->arc && policy->potential;
}

static bool best_of_components(const struct graph *graph, struct policy *policy,
                               struct policy *best, uint32_t **circuit, size_t *circuit_count)
{
    for (size_t begin = 0, end; begin < graph->vertex_count; begin = end) {
        uint32_t component = graph->component[graph->order[begin]];
        for (end = begin + 1;
             end < graph->vertex_count && graph->component[graph->order[end]] == component;)
            end++;
        policy->found = false;
        policy->latency = 0;
        policy->distance = 1;
        iterate(graph, policy, graph->order + begin, end - begin);
        if (policy->found &&
            (!best->found || policy->latency * best->distance > best->latency * policy->distance)) {
            best->found = true;
            best->latency = policy->latency;
            best->distance = policy->distance;
            if (!keep_circuit(graph, policy, circuit, circuit_count))
                return false;
        }
    }
    return true;
}

enum base_status bounds_ratio(const struct bounds_arc *arcs, size_t arc_count, size_t vertex_count,
                              const bool *chosen, uint32_t **circuit, size_t *circuit_count,
                              int64_t *latency, int64_t *distance)
{
    struct graph graph = {.arcs = arcs, .vertex_count = vertex_count};
    struct policy policy = {0}, best = {.latency = 0, .distance = 1};
    uint32_t *found = NULL;
    size_t found_count = 0;
    bool good = graph_make(&graph, arc_count, chosen) && policy_make(&policy, vertex_count) &&
                best_of_components(&graph, &policy, &best, &found, &found_count);
    graph_free(&graph);
    free(policy.arc);
    free(policy.potential);
    if (!good) {
        free(found);
        return BASE_NO_MEMORY;
    }
    *circuit = found;
    *circuit_count = found_count;
    *latency = best.latency;
    *distance = best.distance;
    return BASE_OK;
}
