// SPDX-License-Identifier: MIT
/* The graph of a loop: its operations from the module, arcs through scalars from there, too, and arcs through memory from the sets. */
#include "dependence/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct finding {
    const struct ir *ir;
    const struct polyhedra *polyhedra;
    const struct dependence_latencies *latencies;
    struct dependence_source *source;
    char *error;
};

uint32_t line_of(const struct dependence_loop *loop, const struct ir *ir, uint32_t operation)
{
    return ir_place_of(ir, loop->loop->operations[operation].instruction).line;
}

bool is_on_circuit(const struct dependence_loop *loop, size_t arc)
{
    for (size_t i = 0; i < loop->circuit_count; i++)
        if (loop->circuit[i] == arc)
            return true;
    return false;
}

/* ---- references --------------------------------------------------------------------------------------------- */

/* The access of a nest that an operation is. */
static uint32_t access_of(const struct finding *finding, size_t nest, const char *instruction)
{
    const char *other;
    bool write;
    for (uint32_t i = 0; polyhedra_access_of(finding->polyhedra, nest, i, &other, &write); i++)
        if (other == instruction)
            return i;
    return UTIL_NONE;
}

/* How many of the loop's loads and stores are the nest's. */
static size_t match_references(const struct finding *finding, size_t nest,
                               struct dependence_loop *loop, size_t *accesses)
{
    size_t matched = 0;
    *accesses = 0;
    for (size_t i = 0; i < loop->loop->operations_count; i++) {
        const struct ir_operation *operation = &loop->loop->operations[i];
        bool access = operation->kind != IR_COMPUTE;
        loop->references[i] = access ? access_of(finding, nest, operation->instruction) : UTIL_NONE;
        matched += loop->references[i] != UTIL_NONE;
        *accesses += access;
    }
    return matched;
}

static uint32_t operation_of(const struct dependence_loop *loop, uint32_t access)
{
    for (uint32_t i = 0; i < loop->loop->operations_count; i++)
        if (loop->references[i] == access)
            return i;
    return UTIL_NONE;
}

/* ---- arcs ------------------------------------------------------------------------------------------------------ */

/* Is what it loads stored in the loop, by this execution of it? */
static bool is_fed(const struct dependence_loop *loop, uint32_t operation)
{
    for (size_t i = 0; i < loop->arcs_count; i++)
        if (loop->arcs[i].memory && loop->arcs[i].dependence == BOUNDS_FLOW &&
            loop->arcs[i].to == operation)
            return true;
    return false;
}

static int32_t latency_of(const struct dependence_latencies *latencies,
                          const struct dependence_loop *loop, uint32_t at)
{
    const struct ir_operation *operation = &loop->loop->operations[at];
    if (operation->kind == IR_STORE)
        return latencies->store;
    if (operation->kind == IR_LOAD)
        return is_fed(loop, at) ? latencies->forwarded[operation->floating] : latencies->load;
    return latencies->work[operation->floating][operation->work];
}

static void set_latencies(const struct finding *finding, struct dependence_loop *loop)
{
    for (size_t i = 0; i < loop->arcs_count; i++)
        if (loop->arcs[i].dependence == BOUNDS_FLOW)
            loop->arcs[i].latency = latency_of(finding->latencies, loop, loop->arcs[i].from);
}

static bool add_arc(struct dependence_loop *loop, struct dependence_arc arc)
{
    return UTIL_PUSH(loop->arcs, loop->arcs_count, loop->arcs_capacity, arc);
}

static bool add_scalars(struct dependence_loop *loop)
{
    for (size_t i = 0; i < loop->loop->flows_count; i++) {
        const struct ir_flow *flow = &loop->loop->flows[i];
        if (!add_arc(loop, (struct dependence_arc){.from = flow->from,
                                                   .to = flow->to,
                                                   .dependence = BOUNDS_FLOW,
                                                   .distance = flow->distance}))
            return false;
    }
    return true;
}

/* Those between references of the loop; arcs are of those the ones that are within one execution of it. */
static bool add_vector(struct dependence_loop *loop, const struct polyhedra_vector *vector)
{
    static const uint8_t kinds[] = {BOUNDS_FLOW, BOUNDS_ANTI, BOUNDS_OUTPUT};
    uint32_t from = operation_of(loop, vector->from), to = operation_of(loop, vector->to);
    if (from == UTIL_NONE || to == UTIL_NONE)
        return true;
    if (!UTIL_PUSH(loop->vectors, loop->vectors_count, loop->vectors_capacity, *vector))
        return false;
    struct polyhedra_vector *kept = &loop->vectors[loop->vectors_count - 1];
    kept->from = from;
    kept->to = to;
    return !vector->inner || add_arc(loop, (struct dependence_arc){
                                               .from = from,
                                               .to = to,
                                               .dependence = kinds[vector->kind],
                                               .memory = true,
                                               .distance = (uint32_t)vector->inner_least,
                                           });
}

static void find_stride(const struct finding *finding, size_t nest, struct dependence_loop *loop)
{
    for (uint32_t i = 0; i < loop->loop->operations_count; i++) {
        int64_t bytes;
        if (loop->references[i] == UTIL_NONE ||
            !polyhedra_stride(finding->polyhedra, nest, loop->references[i], &bytes) || !bytes)
            continue;
        loop->stride = bytes;
        loop->stride_line = line_of(loop, finding->ir, i);
        return;
    }
}

/* ---- the critical circuit ---------------------------------------------------------------------------------------- */

static enum base_status find_circuit(struct dependence_loop *loop)
{
    struct bounds_arc *arcs = calloc(loop->arcs_count + 1, sizeof *arcs);
    bool *chosen = calloc(loop->arcs_count + 1, sizeof *chosen);
    enum base_status status = arcs && chosen ? BASE_OK : BASE_NO_MEMORY;
    for (size_t i = 0; status == BASE_OK && i < loop->arcs_count; i++) {
        const struct dependence_arc *arc = &loop->arcs[i];
        arcs[i] = (struct bounds_arc){
            .from = arc->from,
            .to = arc->to,
            .latency = arc->latency,
            .distance = (uint16_t)(arc->distance < UINT16_MAX ? arc->distance : UINT16_MAX)};
        chosen[i] = arc->dependence == BOUNDS_FLOW;
    }
    if (status == BASE_OK)
        status = bounds_ratio(arcs, loop->arcs_count, loop->loop->operations_count, chosen,
                              &loop->circuit, &loop->circuit_count, &loop->circuit_latency,
                              &loop->circuit_distance);
    free(arcs);
    free(chosen);
    return status;
}

/* ---- a loop ----------------------------------------------------------------------------------------------------------- */

static enum base_status explain(const struct finding *finding, enum base_status status)
{
    if (status == BASE_TOO_LARGE)
        snprintf(finding->error, DEPENDENCE_ERROR_BYTES,
                 "isl does not come to an end with the dependences of this nest.");
    else if (status == BASE_UNSUPPORTED)
        snprintf(finding->error, DEPENDENCE_ERROR_BYTES,
                 "there are more than %d loops around each other.", POLYHEDRA_DEPTH_MAX);
    else if (status != BASE_OK)
        snprintf(finding->error, DEPENDENCE_ERROR_BYTES, "%s.", base_status_text(status));
    return status;
}

static enum base_status fill(const struct finding *finding, size_t nest,
                             struct dependence_loop *loop)
{
    struct polyhedra_vectors vectors = {0};
    struct polyhedra_about about;
    enum base_status status = polyhedra_vectors(finding->polyhedra, nest, &vectors);
    polyhedra_about(finding->polyhedra, nest, &about);
    loop->function = about.function;
    loop->file = loop->loop->place.file;
    for (size_t i = 0; i < loop->loop->operations_count; i++)
        if (loop->references[i] != UTIL_NONE)
            loop->left_out =
                loop->loop->depth - polyhedra_depth(finding->polyhedra, nest, loop->references[i]);
    if (status == BASE_OK && !add_scalars(loop))
        status = BASE_NO_MEMORY;
    for (size_t i = 0; status == BASE_OK && i < vectors.count; i++)
        if (!add_vector(loop, &vectors.items[i]))
            status = BASE_NO_MEMORY;
    polyhedra_vectors_free(&vectors);
    if (status == BASE_OK) {
        set_latencies(finding, loop);
        find_stride(finding, nest, loop);
        status = find_circuit(loop);
    }
    return status;
}

/* The nest that has all of the loop's loads and stores. */
static enum base_status add_loop(const struct finding *finding, const char *symbol,
                                 const struct ir_loop *from, uint32_t *line)
{
    struct dependence_source *source = finding->source;
    struct dependence_loop loop = {.loop = from, .circuit_distance = 1};
    struct polyhedra_about about;
    finding->error[0] = 0; /* what was said of another function */
    loop.references = calloc(from->operations_count + 1, sizeof *loop.references);
    if (!loop.references || !UTIL_PUSH(source->items, source->count, source->capacity, loop)) {
        free(loop.references);
        return BASE_NO_MEMORY;
    }
    for (size_t i = 0; i < polyhedra_count(finding->polyhedra); i++) {
        struct dependence_loop *made = &source->items[source->count - 1];
        size_t accesses;
        polyhedra_about(finding->polyhedra, i, &about);
        if (strcmp(about.symbol, symbol) != 0)
            continue;
        size_t matched = match_references(finding, i, made, &accesses);
        if (matched && matched == accesses) {
            enum base_status status = fill(finding, i, made);
            if (status != BASE_UNSUPPORTED)
                return status;
            explain(finding, status);
        } else if (matched)
            snprintf(finding->error, DEPENDENCE_ERROR_BYTES,
                     "which of its loads and stores happen depends on data in a way that leaves "
                     "open which of the sets are theirs; take the conditions out of the loop.");
    }
    free(loop.references);
    source->count--;
    *line = from->place.line ? from->place.line : from->first_line;
    return BASE_UNSUPPORTED;
}

/* All loops of a function have their texts from one reading of the source. */
static enum base_status find_in(const struct finding *finding, const char *symbol, const char *file,
                                uint32_t line)
{
    struct source_files files = {.ir = finding->ir, .symbol = symbol};
    enum base_status status = ir_loops_at(finding->ir, symbol, file, line, source_reference, &files,
                                          &finding->source->loops);
    source_files_free(&files);
    return status;
}

/* Of templates there are several functions with the same lines: the first that is taken will do. */
enum base_status dependence_find(const struct ir *ir, const struct polyhedra *polyhedra,
                                 const char *file, uint32_t *line,
                                 const struct dependence_latencies *latencies,
                                 struct dependence_source *source, char *error)
{
    struct finding finding = {ir, polyhedra, latencies, source, error};
    enum base_status worst = BASE_NOT_FOUND;
    uint32_t at = *line;
    error[0] = 0;
    for (const char *symbol = NULL; (symbol = ir_next_function(ir, symbol));) {
        enum base_status status = find_in(&finding, symbol, file, at);
        if (status == BASE_TOO_LARGE) { /* another function may have the line */
            if (worst == BASE_NOT_FOUND)
                snprintf(error, DEPENDENCE_ERROR_BYTES,
                         "function '%.200s' has too many basic blocks.",
                         ir_function_name(ir, symbol));
            worst = worst == BASE_NOT_FOUND ? status : worst;
            status = BASE_NOT_FOUND;
        }
        for (size_t i = 0; status == BASE_OK && i < source->loops.count; i++) {
            status = add_loop(&finding, symbol, &source->loops.items[i], line);
            if (status != BASE_UNSUPPORTED)
                continue;
            worst = status;
            status = BASE_OK;
        }
        if (status == BASE_OK && source->count)
            return BASE_OK;
        if (status != BASE_NOT_FOUND && status != BASE_OK)
            return explain(&finding, status);
        ir_loops_free(&source->loops);
    }
    return worst;
}

void dependence_free(struct dependence_source *source)
{
    for (size_t i = 0; i < source->count; i++) {
        free(source->items[i].references);
        free(source->items[i].vectors);
        free(source->items[i].arcs);
        free(source->items[i].circuit);
    }
    free(source->items);
    ir_loops_free(&source->loops);
    *source = (struct dependence_source){0};
}
