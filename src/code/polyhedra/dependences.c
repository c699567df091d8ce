// SPDX-License-Identifier: MIT
/* Accesses as maps with one tuple each, and what isl's data-flow analysis says of them. */
#include "polyhedra/dependences.h"
#include "polyhedra/internal.h"

#include <isl/flow.h>
#include <isl/union_set.h>
#include <stdio.h>
#include <string.h>

struct collecting {
    struct polyhedra_accesses made;
    const char *array;
    unsigned length; /* of a statement's schedule, at most */
    size_t number;
    char prefix;
};

/* ---- accesses -------------------------------------------------------------------------------------------- */

unsigned schedule_length(const struct scop *scop)
{
    unsigned most = 0;
    for (size_t i = 0; i < scop->statements_count; i++) {
        unsigned length = (unsigned)isl_map_dim(scop->statements[i].schedule, isl_dim_out);
        most = length > most ? length : most;
    }
    return most;
}

isl_map *schedule_lengthened(isl_map *schedule, unsigned length)
{
    unsigned from = (unsigned)isl_map_dim(schedule, isl_dim_out);
    schedule = isl_map_add_dims(schedule, isl_dim_out, length - from);
    for (unsigned i = from; i < length; i++)
        schedule = isl_map_fix_si(schedule, isl_dim_out, i, 0);
    return schedule;
}

/* The statement's schedule, as long as all others, and the access's place in the statement behind it. */
static isl_map *schedule_at(const struct scop_statement *statement, unsigned length, size_t place)
{
    isl_map *schedule = isl_map_intersect_domain(isl_map_copy(statement->schedule),
                                                 isl_set_copy(statement->domain));
    schedule = isl_map_add_dims(schedule_lengthened(schedule, length), isl_dim_out, 1);
    return isl_map_fix_si(schedule, isl_dim_out, length, (int)place);
}

static void collect(struct collecting *collecting, const struct scop_statement *statement,
                    const struct scop_access *access, size_t place)
{
    char name[32];
    const char *array = isl_map_get_tuple_name(access->relation, isl_dim_out);
    struct polyhedra_accesses *made = &collecting->made;
    snprintf(name, sizeof name, "%c%zu", collecting->prefix, collecting->number++);
    if (collecting->array && (!array || strcmp(array, collecting->array) != 0))
        return;
    isl_map *relation =
        isl_map_intersect_domain(isl_map_copy(access->relation), isl_set_copy(statement->domain));
    isl_map *schedule = schedule_at(statement, collecting->length, place);
    isl_map *instance = isl_set_identity(isl_set_copy(statement->domain));
    relation = isl_map_set_tuple_name(relation, isl_dim_in, name);
    schedule = isl_map_set_tuple_name(schedule, isl_dim_in, name);
    instance = isl_map_set_tuple_name(instance, isl_dim_in, name);
    isl_union_map **into = !access->write                       ? &made->reads
                           : access->conditional || access->may ? &made->may_writes
                                                                : &made->must_writes;
    *into = isl_union_map_add_map(*into, relation);
    made->schedule = isl_union_map_add_map(made->schedule, schedule);
    made->statements = isl_union_map_add_map(made->statements, instance);
}

size_t place_in_statement(const struct scop_statement *statement, bool scalar, size_t number)
{
    if (!scalar)
        return number + 1;
    return statement->scalars[number].write ? statement->accesses_count + 1 : 0;
}

static void collect_statement(struct collecting *collecting, const struct scop_statement *statement,
                              enum polyhedra_memory memory)
{
    bool scalars = memory == POLYHEDRA_SCALARS;
    size_t count = scalars ? statement->scalars_count : statement->accesses_count;
    for (size_t i = 0; i < count; i++) {
        const struct scop_access *access =
            scalars ? &statement->scalars[i] : &statement->accesses[i];
        collect(collecting, statement, access, place_in_statement(statement, scalars, i));
    }
}

enum base_status polyhedra_accesses(const struct polyhedra *polyhedra, size_t index,
                                    enum polyhedra_memory memory, const char *array,
                                    struct polyhedra_accesses *accesses)
{
    const struct scop *scop = &polyhedra->scops[index];
    isl_ctx *context = polyhedra->context;
    struct collecting collecting = {.array = array,
                                    .length = schedule_length(scop),
                                    .prefix = memory == POLYHEDRA_ARRAYS ? 'R' : 'V'};
    struct polyhedra_accesses *made = &collecting.made;
    made->reads = isl_union_map_empty_ctx(context);
    made->must_writes = isl_union_map_empty_ctx(context);
    made->may_writes = isl_union_map_empty_ctx(context);
    made->schedule = isl_union_map_empty_ctx(context);
    made->statements = isl_union_map_empty_ctx(context);
    for (size_t i = 0; i < scop->statements_count; i++)
        collect_statement(&collecting, &scop->statements[i], memory);
    if (!made->reads || !made->must_writes || !made->may_writes || !made->schedule ||
        !made->statements) {
        polyhedra_accesses_free(made);
        return BASE_NO_MEMORY;
    }
    *accesses = *made;
    return BASE_OK;
}

void polyhedra_accesses_free(struct polyhedra_accesses *accesses)
{
    isl_union_map_free(accesses->reads);
    isl_union_map_free(accesses->must_writes);
    isl_union_map_free(accesses->may_writes);
    isl_union_map_free(accesses->schedule);
    isl_union_map_free(accesses->statements);
    *accesses = (struct polyhedra_accesses){0};
}

/* ---- dependences ------------------------------------------------------------------------------------------ */

static isl_union_map *writes_of(const struct polyhedra_accesses *accesses)
{
    return isl_union_map_union(isl_union_map_copy(accesses->must_writes),
                               isl_union_map_copy(accesses->may_writes));
}

/* From sources to sinks. `must` hides what is before it, but for the pairs that are asked for. Takes all of them. */
static isl_union_map *depends(const struct polyhedra_accesses *accesses, isl_union_map *sink,
                              isl_union_map *must, isl_union_map *may, isl_union_map *kill)
{
    isl_union_access_info *info = isl_union_access_info_from_sink(sink);
    if (must)
        info = isl_union_access_info_set_must_source(info, must);
    info = isl_union_access_info_set_may_source(info, may);
    if (kill)
        info = isl_union_access_info_set_kill(info, kill);
    info = isl_union_access_info_set_schedule_map(info, isl_union_map_copy(accesses->schedule));
    isl_union_flow *flow = isl_union_access_info_compute_flow(info);
    isl_union_map *found = isl_union_flow_get_may_dependence(flow);
    isl_union_flow_free(flow);
    return found;
}

static void find(const struct polyhedra_accesses *accesses, enum polyhedra_pairs pairs,
                 struct polyhedra_dependences *made)
{
    isl_union_map *must = accesses->must_writes, *may = accesses->may_writes;
    isl_union_map *reads = accesses->reads;
    if (pairs == POLYHEDRA_ALL) {
        made->flow = depends(accesses, isl_union_map_copy(reads), NULL, writes_of(accesses), NULL);
        made->anti = depends(accesses, writes_of(accesses), NULL, isl_union_map_copy(reads), NULL);
        made->output = depends(accesses, writes_of(accesses), NULL, writes_of(accesses), NULL);
        return;
    }
    made->flow = depends(accesses, isl_union_map_copy(reads), isl_union_map_copy(must),
                         isl_union_map_copy(may), NULL);
    made->anti = depends(accesses, writes_of(accesses), NULL, isl_union_map_copy(reads),
                         isl_union_map_copy(must));
    made->output = depends(accesses, writes_of(accesses), isl_union_map_copy(must),
                           isl_union_map_copy(may), NULL);
}

enum base_status polyhedra_dependences(const struct polyhedra *polyhedra,
                                       const struct polyhedra_accesses *accesses,
                                       enum polyhedra_pairs pairs,
                                       struct polyhedra_dependences *dependences)
{
    isl_ctx *context = polyhedra->context;
    struct polyhedra_dependences made = {0};
    isl_ctx_reset_operations(context);
    isl_ctx_set_max_operations(context, ISL_STEPS_MAX);
    find(accesses, pairs, &made);
    bool stopped = isl_ctx_last_error(context) == isl_error_quota;
    isl_ctx_set_max_operations(context, 0);
    isl_ctx_reset_error(context);
    if (!made.flow || !made.anti || !made.output) {
        polyhedra_dependences_free(&made);
        return stopped ? BASE_TOO_LARGE : BASE_NO_MEMORY;
    }
    *dependences = made;
    return BASE_OK;
}

void polyhedra_dependences_free(struct polyhedra_dependences *dependences)
{
    isl_union_map_free(dependences->flow);
    isl_union_map_free(dependences->anti);
    isl_union_map_free(dependences->output);
    *dependences = (struct polyhedra_dependences){0};
}
