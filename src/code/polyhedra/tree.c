// SPDX-License-Identifier: MIT
/*
 * From sets to a tree: isl generates the loops that execute the statements in the order of their schedule, and an
 * address for each access in terms of these loops' iterators.
 */
#include "polyhedra/internal.h"

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/id.h>
#include <isl/ilp.h>
#include <isl/options.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 64 };

struct making {
    const struct polyhedra *polyhedra;
    const struct scop *scop;
    const struct changed *changed; /* NULL: nothing */
    struct nest *nest;
    uint32_t *first_reference;              /* by statement */
    char slots[NEST_SLOTS][NAME_BYTES_MAX]; /* iterators of the loops around */
    uint32_t depth;
    enum base_status status;
    char *error;
};

/* Of an instance of a statement in isl's tree: addresses of its accesses. */
struct placed {
    size_t statement;
    size_t count;
    isl_ast_expr *addresses[];
};

__attribute__((format(printf, 3, 4))) static void
fail(struct making *making, enum base_status status, const char *format, ...)
{
    va_list arguments;
    if (making->status != BASE_OK)
        return;
    making->status = status;
    va_start(arguments, format);
    vsnprintf(making->error, POLYHEDRA_ERROR_BYTES, format, arguments);
    va_end(arguments);
}

/* ---- addresses ----------------------------------------------------------------------------------------------- */

static uint32_t padding_of(const struct making *making, const struct scop_array *array)
{
    const struct changed *changed = making->changed;
    return changed && changed->padding ? changed->padding[array - making->scop->arrays] : 0;
}

/* The element's index with so many more in front of it as there are rows. */
static isl_pw_aff *pad_rows(struct making *making, const struct scop_array *array, isl_set *domain,
                            uint32_t padding, isl_pw_aff *index)
{
    int64_t most;
    isl_pw_aff *plain = isl_pw_aff_drop_unused_params(isl_pw_aff_copy(index));
    isl_aff *row =
        rows_of(plain, domain, making->changed->rows[array - making->scop->arrays], &most);
    isl_pw_aff_free(plain);
    if (!row) {
        fail(making, BASE_UNSUPPORTED, "the rows of array '%s' are not known.", array->name);
        return index;
    }
    row = isl_aff_scale_val(row, isl_val_int_from_ui(making->polyhedra->context, padding));
    return isl_pw_aff_add(index, isl_pw_aff_from_aff(row));
}

/* Bytes from the array's beginning, of an instance of the statement. */
static isl_pw_aff *offset_of(struct making *making, const struct scop_access *access,
                             isl_set *domain)
{
    const struct scop_array *array = array_of(making->scop, access->relation);
    isl_map *relation =
        isl_map_intersect_domain(isl_map_copy(access->relation), isl_set_copy(domain));
    if (!isl_map_is_single_valued(relation))
        relation = isl_map_lexmin(relation);
    isl_pw_multi_aff *elements = isl_pw_multi_aff_from_map(relation);
    isl_pw_aff *sum = NULL;
    uint32_t padding = array ? padding_of(making, array) : 0;
    for (uint32_t i = 0; elements && array && i < array->dimensions; i++) {
        isl_pw_aff *index = isl_pw_multi_aff_get_pw_aff(elements, (int)i);
        if (i > 0 && array->sizes[i] < 0)
            fail(making, BASE_UNSUPPORTED,
                 "the size of array '%s' depends on what is not known: give it with -D.",
                 array->name);
        if (sum)
            sum = isl_pw_aff_scale_val(
                sum, isl_val_int_from_si(making->polyhedra->context,
                                         (long)array->sizes[i] +
                                             (i + 1 == array->dimensions ? padding : 0)));
        sum = sum ? isl_pw_aff_add(sum, index) : index;
    }
    isl_pw_multi_aff_free(elements);
    if (sum && padding && array->dimensions == 1)
        sum = pad_rows(making, array, domain, padding, sum);
    if (!sum && array && elements) { /* a scalar in memory */
        isl_local_space *space = isl_local_space_from_space(isl_set_get_space(domain));
        sum = isl_pw_aff_from_aff(isl_aff_zero_on_domain(space));
    }
    return sum && array ? isl_pw_aff_scale_val(sum, isl_val_int_from_si(making->polyhedra->context,
                                                                        (long)array->element_bytes))
                        : isl_pw_aff_free(sum);
}

static const struct scop_statement *statement_named(const struct scop *scop, const char *name,
                                                    size_t *index)
{
    for (size_t i = 0; name && i < scop->statements_count; i++)
        if (strcmp(scop->statements[i].name, name) == 0) {
            *index = i;
            return &scop->statements[i];
        }
    return NULL;
}

static void free_placed(void *user)
{
    struct placed *placed = user;
    for (size_t i = 0; placed && i < placed->count; i++)
        isl_ast_expr_free(placed->addresses[i]);
    free(placed);
}

static isl_ast_node *place_statement(isl_ast_node *node, isl_ast_build *build, void *user)
{
    struct making *making = user;
    isl_map *schedule = isl_map_from_union_map(isl_ast_build_get_schedule(build));
    isl_pw_multi_aff *instance = isl_pw_multi_aff_from_map(isl_map_reverse(isl_map_copy(schedule)));
    size_t index = 0;
    const struct scop_statement *statement =
        statement_named(making->scop, isl_map_get_tuple_name(schedule, isl_dim_in), &index);
    isl_map_free(schedule);
    struct placed *placed =
        statement
            ? calloc(1, sizeof *placed + statement->accesses_count * sizeof *placed->addresses)
            : NULL;
    if (!placed || !instance) {
        isl_pw_multi_aff_free(instance);
        free(placed);
        fail(making, BASE_NO_MEMORY, "%s.", base_status_text(BASE_NO_MEMORY));
        return node;
    }
    placed->statement = index;
    for (size_t i = 0; i < statement->accesses_count; i++) {
        isl_pw_aff *offset = offset_of(making, &statement->accesses[i], statement->domain);
        if (offset) {
            offset = isl_pw_aff_pullback_pw_multi_aff(offset, isl_pw_multi_aff_copy(instance));
            placed->addresses[placed->count] = isl_ast_build_expr_from_pw_aff(build, offset);
        }
        if (!placed->addresses[placed->count])
            fail(making, BASE_UNSUPPORTED, "isl cannot say what address an access has.");
        else
            placed->count++;
    }
    isl_pw_multi_aff_free(instance);
    isl_id *id = isl_id_alloc(making->polyhedra->context, "placed", placed);
    return isl_ast_node_set_annotation(node, isl_id_set_free_user(id, free_placed));
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static uint32_t expression_of(struct making *making, isl_ast_expr *from);

static uint32_t fold_arguments(struct making *making, isl_ast_expr *from,
                               enum nest_operation operation)
{
    uint32_t all = NEST_NONE;
    for (int i = 0; i < isl_ast_expr_op_get_n_arg(from); i++) {
        isl_ast_expr *argument = isl_ast_expr_op_get_arg(from, i);
        uint32_t one = expression_of(making, argument);
        isl_ast_expr_free(argument);
        all = i ? nest_binary(making->nest, operation, all, one) : one;
    }
    return all;
}

static uint32_t argument_of(struct making *making, isl_ast_expr *from, int index)
{
    isl_ast_expr *argument = isl_ast_expr_op_get_arg(from, index);
    uint32_t made = expression_of(making, argument);
    isl_ast_expr_free(argument);
    return made;
}

/* a > b as b < a */
static uint32_t turned(struct making *making, isl_ast_expr *from, enum nest_operation operation)
{
    uint32_t left = argument_of(making, from, 0), right = argument_of(making, from, 1);
    return nest_binary(making->nest, operation, right, left);
}

static uint32_t operation_of(struct making *making, isl_ast_expr *from)
{
    struct nest *nest = making->nest;
    switch (isl_ast_expr_op_get_type(from)) {
    case isl_ast_expr_op_add: return fold_arguments(making, from, NEST_ADD);
    case isl_ast_expr_op_sub: return fold_arguments(making, from, NEST_SUBTRACT);
    case isl_ast_expr_op_mul: return fold_arguments(making, from, NEST_MULTIPLY);
    case isl_ast_expr_op_minus:
        return nest_binary(nest, NEST_SUBTRACT, nest_constant(nest, 0),
                           argument_of(making, from, 0));
    case isl_ast_expr_op_max: return fold_arguments(making, from, NEST_MAXIMUM);
    case isl_ast_expr_op_min: return fold_arguments(making, from, NEST_MINIMUM);
    case isl_ast_expr_op_div:
    case isl_ast_expr_op_fdiv_q:
    case isl_ast_expr_op_pdiv_q: return fold_arguments(making, from, NEST_QUOTIENT);
    case isl_ast_expr_op_pdiv_r:
    case isl_ast_expr_op_zdiv_r: return fold_arguments(making, from, NEST_REMAINDER);
    case isl_ast_expr_op_eq: return fold_arguments(making, from, NEST_EQUAL);
    case isl_ast_expr_op_le: return fold_arguments(making, from, NEST_AT_MOST);
    case isl_ast_expr_op_lt: return fold_arguments(making, from, NEST_LESS);
    case isl_ast_expr_op_ge: return turned(making, from, NEST_AT_MOST);
    case isl_ast_expr_op_gt: return turned(making, from, NEST_LESS);
    case isl_ast_expr_op_and:
    case isl_ast_expr_op_and_then: return fold_arguments(making, from, NEST_AND);
    case isl_ast_expr_op_or:
    case isl_ast_expr_op_or_else: return fold_arguments(making, from, NEST_OR);
    case isl_ast_expr_op_cond:
    case isl_ast_expr_op_select: {
        uint32_t condition = argument_of(making, from, 0);
        uint32_t left = argument_of(making, from, 1), right = argument_of(making, from, 2);
        return nest_choice(nest, condition, left, right);
    }
    default:
        fail(making, BASE_UNSUPPORTED, "isl made an expression of a kind that is not known here.");
        return NEST_NONE;
    }
}

static uint32_t iterator_named(struct making *making, const char *name)
{
    for (uint32_t i = making->depth; i-- > 0;)
        if (strcmp(making->slots[i], name) == 0)
            return nest_iterator(making->nest, i);
    fail(making, BASE_UNSUPPORTED, "isl made an expression of '%s', which is no loop's.", name);
    return NEST_NONE;
}

static uint32_t expression_of(struct making *making, isl_ast_expr *from)
{
    uint32_t made = NEST_NONE;
    if (!from || making->status != BASE_OK)
        return NEST_NONE;
    switch (isl_ast_expr_get_type(from)) {
    case isl_ast_expr_int: {
        isl_val *value = isl_ast_expr_get_val(from);
        made = nest_constant(making->nest, isl_val_get_num_si(value));
        isl_val_free(value);
        break;
    }
    case isl_ast_expr_id: {
        isl_id *id = isl_ast_expr_get_id(from);
        made = iterator_named(making, isl_id_get_name(id));
        isl_id_free(id);
        break;
    }
    case isl_ast_expr_op: made = operation_of(making, from); break;
    default: break;
    }
    if (made == NEST_NONE)
        fail(making, BASE_NO_MEMORY, "%s.", base_status_text(BASE_NO_MEMORY));
    return made;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

static void make_node(struct making *making, isl_ast_node *from, uint32_t parent, uint32_t position,
                      uint32_t *made);

static uint32_t add_node(struct making *making, struct nest_node node)
{
    struct nest *nest = making->nest;
    if (!UTIL_PUSH(nest->nodes, nest->nodes_count, nest->nodes_capacity, node)) {
        fail(making, BASE_NO_MEMORY, "%s.", base_status_text(BASE_NO_MEMORY));
        return NEST_NONE;
    }
    return (uint32_t)(nest->nodes_count - 1);
}

/* Room for a node's children, which stand together. */
static bool reserve_children(struct making *making, uint32_t node, uint32_t count)
{
    struct nest *nest = making->nest;
    nest->nodes[node].first = (uint32_t)nest->children_count;
    nest->nodes[node].count = count;
    for (uint32_t i = 0; i < count; i++)
        if (!UTIL_PUSH(nest->children, nest->children_count, nest->children_capacity, 0)) {
            fail(making, BASE_NO_MEMORY, "%s.", base_status_text(BASE_NO_MEMORY));
            return false;
        }
    return true;
}

static void make_child(struct making *making, isl_ast_node *from, uint32_t parent,
                       uint32_t position)
{
    uint32_t made = NEST_NONE;
    if (from && making->status == BASE_OK)
        make_node(making, from, parent, position, &made);
    isl_ast_node_free(from);
    if (made != NEST_NONE)
        making->nest->children[making->nest->nodes[parent].first + position] = made;
}

static void make_block(struct making *making, isl_ast_node *from, uint32_t node)
{
    isl_ast_node_list *list = isl_ast_node_block_get_children(from);
    int count = isl_ast_node_list_n_ast_node(list);
    if (count >= 0 && reserve_children(making, node, (uint32_t)count))
        for (int i = 0; i < count; i++)
            make_child(making, isl_ast_node_list_get_ast_node(list, i), node, (uint32_t)i);
    isl_ast_node_list_free(list);
}

/* The last value, from "iterator <= bound" or "iterator < bound". */
static uint32_t upper_of(struct making *making, isl_ast_node *from)
{
    isl_ast_expr *condition = isl_ast_node_for_get_cond(from);
    uint32_t made = NEST_NONE;
    if (condition && isl_ast_expr_get_type(condition) == isl_ast_expr_op) {
        enum isl_ast_expr_op_type type = isl_ast_expr_op_get_type(condition);
        uint32_t bound = argument_of(making, condition, 1);
        if (type == isl_ast_expr_op_le)
            made = bound;
        else if (type == isl_ast_expr_op_lt)
            made = nest_binary(making->nest, NEST_SUBTRACT, bound, nest_constant(making->nest, 1));
    }
    isl_ast_expr_free(condition);
    if (made == NEST_NONE)
        fail(making, BASE_UNSUPPORTED, "isl made a loop of a kind that is not known here.");
    return made;
}

static void make_loop(struct making *making, isl_ast_node *from, uint32_t node)
{
    if (making->depth == NEST_SLOTS) {
        fail(making, BASE_TOO_LARGE, "there are more than %d loops around each other.", NEST_SLOTS);
        return;
    }
    isl_ast_expr *init = isl_ast_node_for_get_init(from), *step = isl_ast_node_for_get_inc(from);
    isl_ast_expr *iterator = isl_ast_node_for_get_iterator(from);
    isl_id *id = iterator ? isl_ast_expr_get_id(iterator) : NULL;
    uint32_t lower = expression_of(making, init);
    snprintf(making->slots[making->depth], NAME_BYTES_MAX, "%s", id ? isl_id_get_name(id) : "");
    uint32_t slot = making->depth++;
    bool single = isl_ast_node_for_is_degenerate(from) == isl_bool_true;
    uint32_t by = single ? nest_constant(making->nest, 1) : expression_of(making, step);
    uint32_t upper = single ? lower : upper_of(making, from);
    if (making->status == BASE_OK) {
        struct nest_node *made = &making->nest->nodes[node];
        made->kind = NEST_LOOP;
        made->slot = slot;
        made->lower = lower;
        made->upper = upper;
        made->step = making->nest->expressions[by].value;
        if (reserve_children(making, node, 1))
            make_child(making, isl_ast_node_for_get_body(from), node, 0);
    }
    making->depth--;
    isl_id_free(id);
    isl_ast_expr_free(iterator);
    isl_ast_expr_free(init);
    isl_ast_expr_free(step);
}

static void make_guarded(struct making *making, isl_ast_node *body, uint32_t condition,
                         uint32_t parent, uint32_t position)
{
    uint32_t node = add_node(making, (struct nest_node){.kind = NEST_CONDITION,
                                                        .parent = parent,
                                                        .position = position,
                                                        .lower = condition,
                                                        .upper = condition});
    if (node == NEST_NONE) {
        isl_ast_node_free(body);
        return;
    }
    making->nest->children[making->nest->nodes[parent].first + position] = node;
    if (reserve_children(making, node, 1))
        make_child(making, body, node, 0);
}

/* As a block of one or two conditions, one the opposite of the other. */
static void make_condition(struct making *making, isl_ast_node *from, uint32_t node)
{
    isl_ast_expr *expression = isl_ast_node_if_get_cond(from);
    uint32_t condition = expression_of(making, expression);
    bool two = isl_ast_node_if_has_else_node(from) == isl_bool_true;
    isl_ast_expr_free(expression);
    if (making->status != BASE_OK || !reserve_children(making, node, two ? 2 : 1))
        return;
    make_guarded(making, isl_ast_node_if_get_then_node(from), condition, node, 0);
    if (!two)
        return;
    uint32_t opposite =
        nest_binary(making->nest, NEST_EQUAL, condition, nest_constant(making->nest, 0));
    make_guarded(making, isl_ast_node_if_get_else_node(from), opposite, node, 1);
}

static void make_statement(struct making *making, isl_ast_node *from, uint32_t node)
{
    struct nest *nest = making->nest;
    isl_id *id = isl_ast_node_get_annotation(from);
    const struct placed *placed = id ? isl_id_get_user(id) : NULL;
    nest->nodes[node].kind = NEST_STATEMENT;
    nest->nodes[node].first = (uint32_t)nest->accesses_count;
    nest->nodes[node].count = placed ? (uint32_t)placed->count : 0;
    for (size_t i = 0; placed && i < placed->count && making->status == BASE_OK; i++) {
        struct nest_access access = {.reference =
                                         making->first_reference[placed->statement] + (uint32_t)i,
                                     .statement = node};
        access.bytes_offset = expression_of(making, placed->addresses[i]);
        if (access.bytes_offset != NEST_NONE &&
            nest_affine_of(nest, access.bytes_offset, &access.affine))
            access.bytes_offset = NEST_NONE;
        if (!UTIL_PUSH(nest->accesses, nest->accesses_count, nest->accesses_capacity, access))
            fail(making, BASE_NO_MEMORY, "%s.", base_status_text(BASE_NO_MEMORY));
    }
    isl_id_free(id);
}

static void make_node(struct making *making, isl_ast_node *from, uint32_t parent, uint32_t position,
                      uint32_t *made)
{
    uint32_t node = add_node(
        making, (struct nest_node){.kind = NEST_BLOCK, .parent = parent, .position = position});
    if (node == NEST_NONE)
        return;
    *made = node;
    switch (isl_ast_node_get_type(from)) {
    case isl_ast_node_for: make_loop(making, from, node); break;
    case isl_ast_node_if: make_condition(making, from, node); break;
    case isl_ast_node_block: make_block(making, from, node); break;
    case isl_ast_node_user: make_statement(making, from, node); break;
    case isl_ast_node_mark:
        if (reserve_children(making, node, 1))
            make_child(making, isl_ast_node_mark_get_node(from), node, 0);
        break;
    default: fail(making, BASE_UNSUPPORTED, "isl made a tree of a kind that is not known here.");
    }
}

/* ---- references ------------------------------------------------------------------------------------------------------- */

/* The array's number in the nest, under the source's name for it. */
static uint32_t array_for(struct making *making, const struct scop_access *access)
{
    struct nest *nest = making->nest;
    const struct scop_array *array = array_of(making->scop, access->relation);
    const struct ir *ir = making->polyhedra->ir;
    if (!array)
        return NEST_NONE;
    size_t index = (size_t)(array - making->scop->arrays);
    struct nest_array *made = &nest->arrays[index];
    if (!access->instruction || made->name)
        return (uint32_t)index;
    const char *name = ir_accessed_name(ir, making->scop->symbol, access->instruction);
    char text[NAME_BYTES_MAX * 4];
    unsigned same = 1;
    for (size_t i = 0; name && i < nest->arrays_count; i++)
        same += nest->arrays[i].name && strncmp(nest->arrays[i].name, name, strlen(name)) == 0 &&
                (!nest->arrays[i].name[strlen(name)] || nest->arrays[i].name[strlen(name)] == '#');
    snprintf(text, sizeof text, same > 1 ? "%.200s#%u" : "%.200s", name ? name : array->name, same);
    made->name = nest_keep(nest, text);
    made->bytes = (int64_t)ir_accessed_bytes(ir, making->scop->symbol, access->instruction);
    return (uint32_t)index;
}

static void add_reference(struct making *making, const struct scop_access *access)
{
    struct nest *nest = making->nest;
    const struct ir *ir = making->polyhedra->ir;
    struct nest_reference reference = {.array = array_for(making, access),
                                       .write = access->write,
                                       .conditional = access->conditional};
    if (reference.array == NEST_NONE) {
        fail(making, BASE_UNSUPPORTED, "Polly names an array that it does not list.");
        return;
    }
    reference.bytes = making->scop->arrays[reference.array].element_bytes;
    if (access->instruction) {
        struct ir_place place = ir_place_of(ir, access->instruction);
        uint32_t bytes = ir_bytes_of(access->instruction);
        reference.file = nest_keep(nest, place.file);
        reference.line = place.line;
        reference.column = place.column;
        reference.bytes = bytes ? bytes : reference.bytes;
    }
    if (!UTIL_PUSH(nest->references, nest->references_count, nest->references_capacity, reference))
        fail(making, BASE_NO_MEMORY, "%s.", base_status_text(BASE_NO_MEMORY));
}

static void name_references(struct making *making)
{
    struct nest *nest = making->nest;
    for (size_t i = 0; i < nest->arrays_count; i++)
        if (!nest->arrays[i].name)
            nest->arrays[i].name = nest_keep(nest, making->scop->arrays[i].name);
    for (size_t i = 0; i < nest->references_count; i++) {
        struct nest_reference *reference = &nest->references[i];
        reference->text = nest->arrays[reference->array].name;
        if (reference->line && (!nest->line || reference->line < nest->line)) {
            nest->line = reference->line;
            nest->file = reference->file;
        }
    }
}

static void add_references(struct making *making)
{
    struct nest *nest = making->nest;
    const struct scop *scop = making->scop;
    for (size_t i = 0; i < scop->arrays_count; i++) {
        struct nest_array array = {.element_bytes = scop->arrays[i].element_bytes};
        if (!UTIL_PUSH(nest->arrays, nest->arrays_count, nest->arrays_capacity, array))
            fail(making, BASE_NO_MEMORY, "%s.", base_status_text(BASE_NO_MEMORY));
    }
    for (size_t i = 0; i < scop->statements_count && making->status == BASE_OK; i++) {
        making->first_reference[i] = (uint32_t)nest->references_count;
        for (size_t j = 0; j < scop->statements[i].accesses_count; j++)
            add_reference(making, &scop->statements[i].accesses[j]);
    }
    if (making->status == BASE_OK)
        name_references(making);
}

/* ---- all ------------------------------------------------------------------------------------------------------------------ */

static isl_union_map *schedule_of(const struct making *making)
{
    isl_ctx *context = making->polyhedra->context;
    isl_union_map *all = isl_union_map_empty_ctx(context);
    for (size_t i = 0; i < making->scop->statements_count; i++) {
        const struct scop_statement *statement = &making->scop->statements[i];
        if (!statement->accesses_count)
            continue;
        isl_map *schedule =
            isl_map_copy(making->changed ? making->changed->schedules[i] : statement->schedule);
        schedule = isl_map_intersect_domain(schedule, isl_set_copy(statement->domain));
        schedule = isl_map_project_out(schedule, isl_dim_param, 0,
                                       (unsigned)isl_map_dim(schedule, isl_dim_param));
        all = isl_union_map_add_map(all, schedule);
    }
    return all;
}

static void make_tree(struct making *making)
{
    isl_ctx *context = making->polyhedra->context;
    isl_ast_build *build = isl_ast_build_alloc(context);
    build = isl_ast_build_set_at_each_domain(build, place_statement, making);
    isl_ctx_reset_operations(context);
    isl_ctx_set_max_operations(context, ISL_STEPS_MAX);
    isl_ast_node *tree = isl_ast_build_node_from_schedule_map(build, schedule_of(making));
    bool stopped = isl_ctx_last_error(context) == isl_error_quota;
    isl_ctx_set_max_operations(context, 0);
    isl_ctx_reset_error(context);
    uint32_t root = NEST_NONE;
    if (stopped)
        fail(making, BASE_TOO_LARGE, "isl does not come to an end with this nest.");
    if (tree && making->status == BASE_OK)
        make_node(making, tree, NEST_NONE, 0, &root);
    else
        fail(making, BASE_UNSUPPORTED, "isl makes no loops of this nest.");
    isl_ast_node_free(tree);
    isl_ast_build_free(build);
}

/* ---- what arrays take ------------------------------------------------------------------------------------------------------ */

struct reach {
    int64_t low, end;
    bool known;
};

/* Takes the value. */
static bool take_whole(isl_val *value, int64_t *number)
{
    bool whole = value && isl_val_is_int(value) == isl_bool_true;
    if (whole)
        *number = isl_val_get_num_si(value);
    isl_val_free(value);
    return whole;
}

static void reach_further(struct making *making, size_t statement, size_t place,
                          struct reach *reaches)
{
    const struct scop_statement *of = &making->scop->statements[statement];
    const struct nest_reference *reference =
        &making->nest->references[making->first_reference[statement] + place];
    struct reach *reach = &reaches[reference->array];
    int64_t low = 0, high = 0;
    isl_pw_aff *offset = offset_of(making, &of->accesses[place], of->domain);
    bool good = take_whole(isl_pw_aff_min_val(isl_pw_aff_copy(offset)), &low);
    good &= take_whole(isl_pw_aff_max_val(offset), &high);
    reach->known &= good;
    reach->low = low < reach->low ? low : reach->low;
    reach->end = high + reference->bytes > reach->end ? high + reference->bytes : reach->end;
}

/* Ranges by boxes are too wide where a loop begins at the counter of another one; those of the sets are not. declared: bytes of arrays. */
static void tighten_arrays(struct making *making, const int64_t *declared, struct reach *reaches)
{
    struct nest *nest = making->nest;
    for (size_t i = 0; i < nest->arrays_count; i++)
        reaches[i] = (struct reach){0, 0, true};
    for (size_t i = 0; i < making->scop->statements_count; i++)
        for (size_t j = 0; j < making->scop->statements[i].accesses_count; j++)
            reach_further(making, i, j, reaches);
    isl_ctx_reset_error(making->polyhedra->context);
    for (size_t i = 0; i < nest->arrays_count; i++) {
        struct nest_array *array = &nest->arrays[i];
        int64_t bytes = reaches[i].end - reaches[i].low;
        if (!reaches[i].known || reaches[i].low < array->low || reaches[i].end > array->high ||
            bytes <= 0)
            continue;
        array->low = reaches[i].low;
        array->high = reaches[i].end;
        array->bytes = declared[i] > bytes ? declared[i] : bytes;
    }
}

static void finish(struct making *making)
{
    struct nest *nest = making->nest;
    int64_t *declared = calloc(nest->arrays_count + 1, sizeof *declared);
    struct reach *reaches = calloc(nest->arrays_count + 1, sizeof *reaches);
    for (size_t i = 0; declared && i < nest->arrays_count; i++)
        declared[i] = nest->arrays[i].bytes;
    nest_finish(nest);
    if (declared && reaches)
        tighten_arrays(making, declared, reaches);
    else
        fail(making, BASE_NO_MEMORY, "%s.", base_status_text(BASE_NO_MEMORY));
    free(declared);
    free(reaches);
}

enum base_status tree_make(const struct polyhedra *polyhedra, size_t index,
                           const struct changed *changed, struct nest **made, char *error)
{
    const struct scop *scop = &polyhedra->scops[index];
    struct making making = {
        .polyhedra = polyhedra, .scop = scop, .changed = changed, .error = error};
    making.nest = calloc(1, sizeof *making.nest);
    making.first_reference = calloc(scop->statements_count + 1, sizeof *making.first_reference);
    if (!making.nest || !making.first_reference)
        fail(&making, BASE_NO_MEMORY, "%s.", base_status_text(BASE_NO_MEMORY));
    if (making.status == BASE_OK) {
        making.nest->function =
            nest_keep(making.nest, ir_function_name(polyhedra->ir, scop->symbol));
        add_references(&making);
    }
    if (making.status == BASE_OK)
        make_tree(&making);
    if (making.status == BASE_OK)
        finish(&making);
    free(making.first_reference);
    if (making.status != BASE_OK) {
        nest_free(making.nest);
        return making.status;
    }
    *made = making.nest;
    return BASE_OK;
}

enum base_status polyhedra_nest(const struct polyhedra *polyhedra, size_t index, struct nest **made,
                                char *error)
{
    return tree_make(polyhedra, index, NULL, made, error);
}
