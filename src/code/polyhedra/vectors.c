// SPDX-License-Identifier: MIT
/*
 * Dependences are maps from instances to instances; in terms of the schedule their differences are distances. Dimensions of the
 * schedule that are numbers say which loop of several comes first: as far as two accesses agree in these, loops are around both.
 */
#include "polyhedra/vectors.h"

#include "polyhedra/dependences.h"
#include "polyhedra/internal.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/val.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct listing {
    const struct polyhedra *polyhedra;
    const struct scop *scop;
    struct polyhedra_vectors *vectors;
    unsigned length; /* of schedules, at most */
    enum polyhedra_kind kind;
    enum base_status status;
};

/* ---- loops around both ------------------------------------------------------------------------------------ */

/* Dimension of a schedule: a number, or else a loop. Behind its end there are zeros. */
static bool is_number(const struct scop_statement *statement, unsigned dimension, long *number)
{
    *number = 0;
    if (dimension >= (unsigned)isl_map_dim(statement->schedule, isl_dim_out))
        return true;
    isl_val *value = isl_map_plain_get_val_if_fixed(statement->schedule, isl_dim_out, dimension);
    bool number_there = value && isl_val_is_int(value) == isl_bool_true;
    if (number_there)
        *number = isl_val_get_num_si(value);
    isl_val_free(value);
    return number_there;
}

/* Dimensions that are loops around both, in `loops`. */
static unsigned common_loops(const struct listing *listing, const struct scop_statement *a,
                             const struct scop_statement *b, unsigned loops[POLYHEDRA_DEPTH_MAX])
{
    unsigned depth = 0;
    for (unsigned i = 0; i < listing->length; i++) {
        long left, right;
        bool left_number = is_number(a, i, &left), right_number = is_number(b, i, &right);
        if (left_number != right_number || left != right)
            break;
        if (left_number)
            continue;
        if (depth == POLYHEDRA_DEPTH_MAX)
            return UINT32_MAX;
        loops[depth++] = i;
    }
    return depth;
}

/* ---- distances ------------------------------------------------------------------------------------------------ */

/* Of a dependence between instances: distances in the loops around both, a dimension each. */
static isl_set *distances_of(const struct listing *listing, isl_map *dependence,
                             const struct scop_statement *from, const struct scop_statement *to,
                             const unsigned *loops, unsigned depth)
{
    dependence = isl_map_set_tuple_name(dependence, isl_dim_in, from->name);
    dependence = isl_map_set_tuple_name(dependence, isl_dim_out, to->name);
    dependence = isl_map_apply_domain(
        dependence, schedule_lengthened(isl_map_copy(from->schedule), listing->length));
    dependence = isl_map_apply_range(
        dependence, schedule_lengthened(isl_map_copy(to->schedule), listing->length));
    isl_set *distances = isl_map_deltas(dependence);
    for (unsigned i = listing->length, kept = depth; i-- > 0;)
        if (kept && loops[kept - 1] == i)
            kept--;
        else
            distances = isl_set_project_out(distances, isl_dim_set, i, 1);
    return isl_set_project_out_all_params(distances);
}

/* False: there is no bound. */
static bool bound_of(isl_set *distances, unsigned dimension, bool greatest, int64_t *bound)
{
    isl_local_space *space = isl_local_space_from_space(isl_set_get_space(distances));
    isl_aff *distance = isl_aff_var_on_domain(space, isl_dim_set, dimension);
    isl_val *value =
        greatest ? isl_set_max_val(distances, distance) : isl_set_min_val(distances, distance);
    bool known = value && isl_val_is_int(value) == isl_bool_true;
    isl_aff_free(distance);
    if (known)
        *bound = isl_val_get_num_si(value);
    isl_val_free(value);
    return known;
}

static void find_inner(isl_set *distances, struct polyhedra_vector *vector)
{
    isl_set *inner = isl_set_copy(distances);
    for (unsigned i = 0; i + 1 < vector->depth; i++)
        inner = isl_set_fix_si(inner, isl_dim_set, i, 0);
    vector->inner = isl_set_is_empty(inner) == isl_bool_false && vector->depth &&
                    bound_of(inner, vector->depth - 1U, false, &vector->inner_least);
    isl_set_free(inner);
}

static isl_stat add_vector(isl_map *dependence, void *context)
{
    struct listing *listing = context;
    const char *from_name = isl_map_get_tuple_name(dependence, isl_dim_in);
    const char *to_name = isl_map_get_tuple_name(dependence, isl_dim_out);
    struct polyhedra_vector vector = {.kind = (uint8_t)listing->kind};
    unsigned loops[POLYHEDRA_DEPTH_MAX];
    size_t place;
    if (isl_map_is_empty(dependence) != isl_bool_false || !from_name || !to_name) {
        isl_map_free(dependence);
        return isl_stat_ok;
    }
    vector.from = (uint32_t)strtoul(from_name + 1, NULL, 10);
    vector.to = (uint32_t)strtoul(to_name + 1, NULL, 10);
    const struct scop_statement *from = statement_of(listing->scop, vector.from, &place);
    const struct scop_statement *to = statement_of(listing->scop, vector.to, &place);
    unsigned depth = from && to ? common_loops(listing, from, to, loops) : UINT32_MAX;
    if (depth == UINT32_MAX) {
        isl_map_free(dependence);
        listing->status = BASE_UNSUPPORTED;
        return isl_stat_error;
    }
    isl_set *distances = distances_of(listing, dependence, from, to, loops, depth);
    vector.depth = (uint8_t)depth;
    for (unsigned i = 0; i < depth; i++) {
        struct polyhedra_range *range = &vector.distances[i];
        range->low_known = bound_of(distances, i, false, &range->low);
        range->high_known = bound_of(distances, i, true, &range->high);
    }
    if (distances)
        find_inner(distances, &vector);
    bool good = distances && UTIL_PUSH(listing->vectors->items, listing->vectors->count,
                                       listing->vectors->capacity, vector);
    isl_set_free(distances);
    if (!good)
        listing->status = BASE_NO_MEMORY;
    return good ? isl_stat_ok : isl_stat_error;
}

/* ---- all ---------------------------------------------------------------------------------------------------------- */

static int by_accesses(const void *a, const void *b)
{
    const struct polyhedra_vector *left = a, *right = b;
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    if (left->to != right->to)
        return left->to < right->to ? -1 : 1;
    return (left->kind > right->kind) - (left->kind < right->kind);
}

static enum base_status list_all(struct listing *listing, size_t index)
{
    struct polyhedra_accesses accesses;
    struct polyhedra_dependences found;
    enum base_status status =
        polyhedra_accesses(listing->polyhedra, index, POLYHEDRA_ARRAYS, NULL, &accesses);
    if (status != BASE_OK)
        return status;
    status = polyhedra_dependences(listing->polyhedra, &accesses, POLYHEDRA_ALL, &found);
    polyhedra_accesses_free(&accesses);
    if (status != BASE_OK)
        return status;
    isl_ctx *context = listing->polyhedra->context;
    isl_union_map *const by_kind[POLYHEDRA_KINDS] = {found.flow, found.anti, found.output};
    isl_ctx_reset_operations(context);
    isl_ctx_set_max_operations(context, ISL_STEPS_MAX);
    for (unsigned kind = 0; kind < POLYHEDRA_KINDS && listing->status == BASE_OK; kind++) {
        listing->kind = kind;
        if (isl_union_map_foreach_map(by_kind[kind], add_vector, listing) != isl_stat_ok &&
            listing->status == BASE_OK)
            listing->status = BASE_NO_MEMORY;
    }
    if (isl_ctx_last_error(context) == isl_error_quota)
        listing->status = BASE_TOO_LARGE;
    isl_ctx_set_max_operations(context, 0);
    isl_ctx_reset_error(context);
    polyhedra_dependences_free(&found);
    return listing->status;
}

enum base_status polyhedra_vectors(const struct polyhedra *polyhedra, size_t index,
                                   struct polyhedra_vectors *vectors)
{
    struct listing listing = {.polyhedra = polyhedra,
                              .scop = &polyhedra->scops[index],
                              .vectors = vectors,
                              .length = schedule_length(&polyhedra->scops[index])};
    enum base_status status = list_all(&listing, index);
    if (vectors->count)
        qsort(vectors->items, vectors->count, sizeof *vectors->items, by_accesses);
    return status;
}

void polyhedra_vectors_free(struct polyhedra_vectors *vectors)
{
    free(vectors->items);
    *vectors = (struct polyhedra_vectors){0};
}

unsigned polyhedra_depth(const struct polyhedra *polyhedra, size_t index, size_t access)
{
    size_t place;
    const struct scop_statement *statement = statement_of(&polyhedra->scops[index], access, &place);
    return statement ? (unsigned)isl_set_dim(statement->domain, isl_dim_set) : 0;
}

bool polyhedra_access_of(const struct polyhedra *polyhedra, size_t index, size_t access,
                         const char **instruction, bool *write)
{
    size_t place;
    const struct scop_statement *statement = statement_of(&polyhedra->scops[index], access, &place);
    if (!statement)
        return false;
    *instruction = statement->accesses[place].instruction;
    *write = statement->accesses[place].write;
    return true;
}

/* ---- strides -------------------------------------------------------------------------------------------------------- */

/* From each instance to that of the next iteration of the innermost loop. */
static isl_map *to_next(const struct scop_statement *statement)
{
    isl_map *next = isl_map_from_domain_and_range(isl_set_copy(statement->domain),
                                                  isl_set_copy(statement->domain));
    int last = (int)isl_set_dim(statement->domain, isl_dim_set) - 1;
    isl_constraint *step =
        isl_constraint_alloc_equality(isl_local_space_from_space(isl_map_get_space(next)));
    step = isl_constraint_set_coefficient_si(step, isl_dim_in, last, 1);
    step = isl_constraint_set_coefficient_si(step, isl_dim_out, last, -1);
    step = isl_constraint_set_constant_si(step, 1);
    for (int i = 0; i < last; i++)
        next = isl_map_equate(next, isl_dim_in, i, isl_dim_out, i);
    return isl_map_add_constraint(next, step);
}

/* Bytes between elements that are so far apart in each dimension. */
static bool bytes_of(const struct scop_array *array, isl_set *distances, int64_t *bytes)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < array->dimensions; i++) {
        int64_t low = 0, high = 0;
        if (!bound_of(distances, i, false, &low) || !bound_of(distances, i, true, &high) ||
            low != high || (i && array->sizes[i] < 0 && sum))
            return false;
        sum = (i ? sum * array->sizes[i] : 0) + low;
    }
    *bytes = sum * array->element_bytes;
    return true;
}

bool polyhedra_stride(const struct polyhedra *polyhedra, size_t index, size_t access,
                      int64_t *bytes)
{
    const struct scop *scop = &polyhedra->scops[index];
    size_t place;
    const struct scop_statement *statement = statement_of(scop, access, &place);
    if (!statement || isl_set_dim(statement->domain, isl_dim_set) < 1)
        return false;
    isl_map *relation = statement->accesses[place].relation;
    const struct scop_array *array = array_of(scop, relation);
    isl_map *elements = to_next(statement);
    elements = isl_map_apply_domain(elements, isl_map_copy(relation));
    elements = isl_map_apply_range(elements, isl_map_copy(relation));
    isl_set *distances = isl_set_project_out_all_params(isl_map_deltas(elements));
    bool known = array && distances && isl_set_is_empty(distances) == isl_bool_false &&
                 bytes_of(array, distances, bytes);
    isl_set_free(distances);
    return known;
}
