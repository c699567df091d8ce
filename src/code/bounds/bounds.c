// SPDX-License-Identifier: MIT
/* The bounds of a block, step by step. */
#include "bounds/internal.h"

#include <stdlib.h>

/* The recurrence with the arcs' latencies as `pick` has them, of flow that is proven, and if `may` of what may be. */
enum pick { AS_PREDICTED, LEAST, MOST };

struct recurrence {
    uint32_t *circuit;
    size_t count;
    int64_t latency, distance;
};

static double cycles_of(const struct recurrence *recurrence)
{
    return (double)recurrence->latency / 1000 / (double)recurrence->distance;
}

static enum base_status recur(const struct work *work, const struct arc_latency *ranges,
                              enum pick pick, bool may, struct recurrence *recurrence)
{
    const struct bounds *out = work->out;
    size_t count = out->arc_count;
    struct bounds_arc *arcs = calloc(count + 1, sizeof *arcs);
    bool *chosen = calloc(count + 1, sizeof *chosen);
    enum base_status status = arcs && chosen ? BASE_OK : BASE_NO_MEMORY;
    for (size_t a = 0; status == BASE_OK && a < count; a++) {
        arcs[a] = out->arcs[a];
        arcs[a].latency = pick == LEAST  ? ranges[a].least
                          : pick == MOST ? ranges[a].most
                                         : arcs[a].latency;
        chosen[a] = arcs[a].dependence == BOUNDS_FLOW && (may || !arcs[a].may);
    }
    if (status == BASE_OK)
        status = bounds_ratio(arcs, count, out->vertex_count, chosen, &recurrence->circuit,
                              &recurrence->count, &recurrence->latency, &recurrence->distance);
    free(arcs);
    free(chosen);
    return status;
}

static enum base_status recur_cycles(const struct work *work, const struct arc_latency *ranges,
                                     enum pick pick, bool may, double *cycles)
{
    struct recurrence recurrence = {.distance = 1};
    enum base_status status = recur(work, ranges, pick, may, &recurrence);
    *cycles = status == BASE_OK ? fmax(0, cycles_of(&recurrence)) : 0;
    free(recurrence.circuit);
    return status;
}

static enum base_status recurrences_of(struct work *work, double *least)
{
    struct bounds *out = work->out;
    struct arc_latency *ranges = NULL;
    struct recurrence recurrence = {.distance = 1};
    bool varies = false, lower = false, may = false;
    if (!trace_dependences(work, &ranges))
        return BASE_NO_MEMORY;
    for (size_t a = 0; a < out->arc_count; a++) {
        varies |= ranges[a].most != ranges[a].least;
        lower |= ranges[a].least < out->arcs[a].latency;
        may |= out->arcs[a].may;
    }
    enum base_status status = recur(work, ranges, AS_PREDICTED, false, &recurrence);
    out->circuit = recurrence.circuit;
    out->circuit_count = recurrence.count;
    out->circuit_latency = recurrence.latency;
    out->circuit_distance = recurrence.distance;
    *least = out->recurrence = out->recurrence_most = out->aliased =
        fmax(0, cycles_of(&recurrence));
    if (status == BASE_OK && lower)
        status = recur_cycles(work, ranges, LEAST, false, least);
    if (status == BASE_OK && varies)
        status = recur_cycles(work, ranges, MOST, false, &out->recurrence_most);
    if (status == BASE_OK && may)
        status = recur_cycles(work, ranges, AS_PREDICTED, true, &out->aliased);
    free(ranges);
    return status;
}

/* Of equal bounds the recurrence is named first, then the units: it is what the code can change. */
static void name_limit(struct bounds *out)
{
    const double cycles[BOUNDS_LIMITS] = {out->resource, out->recurrence, out->frontend};
    static const uint8_t order[BOUNDS_LIMITS] = {BOUNDS_BY_RECURRENCE, BOUNDS_BY_RESOURCE,
                                                 BOUNDS_BY_FRONTEND};
    uint8_t ranked[BOUNDS_LIMITS] = {order[0], order[1], order[2]};
    for (unsigned i = 1; i < BOUNDS_LIMITS; i++)
        for (unsigned j = i; j > 0 && cycles[ranked[j]] > cycles[ranked[j - 1]] + 1e-9; j--) {
            uint8_t higher = ranked[j];
            ranked[j] = ranked[j - 1];
            ranked[j - 1] = higher;
        }
    out->limit = ranked[0];
    out->next = ranked[1];
    out->next_cycles = cycles[ranked[1]];
}

/* Estimates, and what mostly holds, are good enough for a prediction. What is certified is computed again without them. */
static enum base_status certify(const struct work *work, double *certified)
{
    struct bounds_options options = *work->options;
    struct bounds bounds;
    options.known = true;
    options.graph = options.streams = false;
    enum base_status status = bounds_of(work->block, work->model, &options, &bounds);
    if (status != BASE_OK)
        return status;
    *certified = bounds.certified;
    bounds_free(&bounds);
    return BASE_OK;
}

enum base_status bounds_of(const struct bounds_block *block, const struct model *model,
                           const struct bounds_options *options, struct bounds *bounds)
{
    struct bounds made = {.circuit_distance = 1, .first_unknown = BOUNDS_NONE};
    struct work work = {.block = block,
                        .model = model,
                        .machine = model_machine(model),
                        .options = options,
                        .out = &made,
                        .latencies = options->latencies ? options->latencies : &bounds_as_modelled};
    double least = 0;
    if (!block->count)
        return BASE_NOT_FOUND;
    work.costs = calloc(block->count, sizeof *work.costs);
    enum base_status status = work.costs ? BASE_OK : BASE_NO_MEMORY;
    if (status == BASE_OK && !(costs_of(&work) && resources_of(&work)))
        status = BASE_NO_MEMORY;
    if (status == BASE_OK)
        front_end_of(&work);
    if (status == BASE_OK && options->streams && !streams_begin(&work))
        status = BASE_NO_MEMORY;
    if (status == BASE_OK)
        status = recurrences_of(&work, &least);
    if (status == BASE_OK && options->streams && !streams_end(&work))
        status = BASE_NO_MEMORY;
    made.certified = fmax(fmax(made.resource, least), fmax(made.slots, made.branch));
    if (status == BASE_OK && (work.estimates || work.uncertain) && !options->known)
        status = certify(&work, &made.certified);
    free(work.costs);
    free(work.estimates);
    free(work.looks);
    if (status != BASE_OK) {
        bounds_free(&made);
        return status;
    }
    stores_of(&work);
    made.predicted = fmax(fmax(made.resource, made.recurrence), made.frontend);
    name_limit(&made);
    *bounds = made;
    return BASE_OK;
}

void bounds_free(struct bounds *bounds)
{
    free(bounds->resources);
    free(bounds->pressure);
    free(bounds->circuit);
    free(bounds->vertices);
    free(bounds->arcs);
    free(bounds->streams);
    *bounds = (struct bounds){0};
}
