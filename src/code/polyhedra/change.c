// SPDX-License-Identifier: MIT
/* Schedules in another order, as text that isl reads; held against the dependences. */
#include "polyhedra/change.h"
#include "polyhedra/dependences.h"
#include "polyhedra/internal.h"

#include <isl/space.h>
#include <isl/union_set.h>
#include <isl/val.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 2 * POLYHEDRA_LOOPS + 4, LEGAL_STEPS_MAX = 2000000 };

/* A statement's schedule: constants, and its iterators in their order. */
struct columns {
    bool known;
    unsigned count;
    bool loop[COLUMNS_MAX];
    int64_t constant[COLUMNS_MAX];
    size_t group; /* SIZE_MAX: none */
};

struct polyhedra_changes {
    const struct polyhedra *polyhedra;
    const struct scop *scop;
    size_t index;
    struct columns *columns; /* by statement */
    struct polyhedra_group *groups;
    size_t *leaders; /* a statement of each */
    size_t groups_count, groups_capacity, leaders_capacity;
    int64_t *rows;              /* by array */
    isl_union_map *dependences; /* of accesses, that any order has to keep; NULL: not known */
};

/* ---- columns --------------------------------------------------------------------------------------------- */

static bool is_constant(isl_map *schedule, unsigned column, int64_t *value)
{
    isl_val *fixed = isl_map_plain_get_val_if_fixed(schedule, isl_dim_out, column);
    bool is = fixed && isl_val_is_int(fixed) == isl_bool_true;
    *value = is ? isl_val_get_num_si(fixed) : 0;
    isl_val_free(fixed);
    return is;
}

static bool is_iterator(isl_map *schedule, unsigned column, unsigned iterator)
{
    isl_map *equal =
        isl_map_equate(isl_map_copy(schedule), isl_dim_in, (int)iterator, isl_dim_out, (int)column);
    bool is = isl_map_is_equal(schedule, equal) == isl_bool_true;
    isl_map_free(equal);
    return is;
}

static void read_columns(const struct scop_statement *statement, struct columns *columns)
{
    isl_map *schedule = isl_map_intersect_domain(isl_map_copy(statement->schedule),
                                                 isl_set_copy(statement->domain));
    unsigned depth = (unsigned)isl_set_dim(statement->domain, isl_dim_set), loops = 0;
    columns->group = SIZE_MAX;
    columns->count = (unsigned)isl_map_dim(schedule, isl_dim_out);
    columns->known = columns->count <= COLUMNS_MAX && depth <= POLYHEDRA_LOOPS;
    for (unsigned i = 0; columns->known && i < columns->count; i++) {
        if (is_constant(schedule, i, &columns->constant[i]))
            continue;
        columns->loop[i] = true;
        columns->known = loops < depth && is_iterator(schedule, i, loops++);
    }
    columns->known = columns->known && loops == depth;
    isl_map_free(schedule);
}

/* Loops around both, and the column at which they part (count: they do not). */
static unsigned loops_shared(const struct columns *a, const struct columns *b, unsigned *parting)
{
    unsigned shared = 0, i = 0;
    for (; i < a->count && i < b->count; i++) {
        if (a->loop[i] != b->loop[i] || (!a->loop[i] && a->constant[i] != b->constant[i]))
            break;
        shared += a->loop[i];
    }
    *parting = i;
    return shared;
}

/* ---- groups ------------------------------------------------------------------------------------------------- */

static unsigned depth_of(const struct polyhedra_changes *changes, size_t statement)
{
    return (unsigned)isl_set_dim(changes->scop->statements[statement].domain, isl_dim_set);
}

static bool add_group(struct polyhedra_changes *changes, size_t leader, size_t reference)
{
    struct polyhedra_group group = {.depth = depth_of(changes, leader), .reference = reference};
    size_t leaders = changes->groups_count;
    const struct scop_access *first = &changes->scop->statements[leader].accesses[0];
    const struct ir *ir = changes->polyhedra->ir;
    if (first->instruction &&
        ir_loops_around(ir, changes->scop->symbol, ir_place_of(ir, first->instruction), group.lines,
                        POLYHEDRA_LOOPS) != group.depth)
        memset(group.lines, 0, sizeof group.lines);
    return UTIL_PUSH(changes->groups, changes->groups_count, changes->groups_capacity, group) &&
           UTIL_PUSH(changes->leaders, leaders, changes->leaders_capacity, leader);
}

static size_t group_of(const struct polyhedra_changes *changes, size_t statement)
{
    for (size_t i = 0; i < changes->groups_count; i++) {
        unsigned parting, depth = changes->groups[i].depth;
        if (depth == depth_of(changes, statement) &&
            loops_shared(&changes->columns[statement], &changes->columns[changes->leaders[i]],
                         &parting) == depth)
            return i;
    }
    return SIZE_MAX;
}

/* Statements without accesses join a group if there is one. */
static bool find_groups(struct polyhedra_changes *changes)
{
    const struct scop *scop = changes->scop;
    size_t reference = 0;
    for (size_t i = 0; i < scop->statements_count; i++) {
        size_t accesses = scop->statements[i].accesses_count;
        if (accesses && changes->columns[i].known && depth_of(changes, i) >= 2) {
            size_t at = group_of(changes, i);
            if (at == SIZE_MAX && !add_group(changes, i, reference))
                return false;
            at = at == SIZE_MAX ? changes->groups_count - 1 : at;
            changes->groups[at].references += accesses;
        }
        reference += accesses;
    }
    for (size_t i = 0; i < scop->statements_count; i++)
        changes->columns[i].group = changes->columns[i].known ? group_of(changes, i) : SIZE_MAX;
    for (size_t i = 0; i < changes->groups_count; i++)
        for (size_t j = 0; j < scop->statements_count; j++) {
            unsigned parting, shared = loops_shared(&changes->columns[changes->leaders[i]],
                                                    &changes->columns[j], &parting);
            if (changes->columns[j].group != i && shared > changes->groups[i].shared)
                changes->groups[i].shared = shared;
        }
    return true;
}

/* ---- dependences that count ------------------------------------------------------------------------------------ */

struct sharing {
    const struct polyhedra_changes *changes;
    bool apart; /* no value passes from one iteration to another one */
};

/* Of access V<n>. */
static size_t statement_of_scalar(const struct scop *scop, const char *name)
{
    size_t number = name ? strtoul(name + 1, NULL, 10) : SIZE_MAX, i = 0;
    while (i < scop->statements_count && number >= scop->statements[i].scalars_count)
        number -= scop->statements[i++].scalars_count;
    return i;
}

static isl_stat look_at_flow(isl_map *flow, void *user)
{
    struct sharing *sharing = user;
    const struct polyhedra_changes *changes = sharing->changes;
    size_t from = statement_of_scalar(changes->scop, isl_map_get_tuple_name(flow, isl_dim_in));
    size_t to = statement_of_scalar(changes->scop, isl_map_get_tuple_name(flow, isl_dim_out));
    size_t count = changes->scop->statements_count;
    bool apart = from < count && to < count && changes->columns[from].group != SIZE_MAX &&
                 changes->columns[from].group == changes->columns[to].group;
    flow = isl_map_reset_tuple_id(isl_map_reset_tuple_id(flow, isl_dim_in), isl_dim_out);
    if (apart) {
        isl_map *same = isl_map_identity(isl_map_get_space(flow));
        apart = isl_map_is_subset(flow, same) == isl_bool_true;
        isl_map_free(same);
    }
    isl_map_free(flow);
    sharing->apart &= apart;
    return isl_stat_ok;
}

/* A scalar whose values stay within an iteration can be another one in each: only what flows counts. */
static bool add_dependences(struct polyhedra_changes *changes, enum polyhedra_memory memory,
                            const char *array)
{
    struct polyhedra_accesses accesses;
    struct polyhedra_dependences found;
    struct sharing sharing = {changes, memory == POLYHEDRA_SCALARS};
    if (polyhedra_accesses(changes->polyhedra, changes->index, memory, array, &accesses) != BASE_OK)
        return false;
    bool good =
        polyhedra_dependences(changes->polyhedra, &accesses, POLYHEDRA_LAST, &found) == BASE_OK;
    polyhedra_accesses_free(&accesses);
    if (!good)
        return false;
    if (sharing.apart)
        isl_union_map_foreach_map(found.flow, look_at_flow, &sharing);
    changes->dependences =
        isl_union_map_union(changes->dependences, isl_union_map_copy(found.flow));
    if (!sharing.apart) {
        changes->dependences =
            isl_union_map_union(changes->dependences, isl_union_map_copy(found.anti));
        changes->dependences =
            isl_union_map_union(changes->dependences, isl_union_map_copy(found.output));
    }
    polyhedra_dependences_free(&found);
    return true;
}

static bool find_dependences(struct polyhedra_changes *changes)
{
    const struct scop *scop = changes->scop;
    changes->dependences = isl_union_map_empty_ctx(changes->polyhedra->context);
    if (!add_dependences(changes, POLYHEDRA_ARRAYS, NULL))
        return false;
    for (size_t i = 0; i < scop->arrays_count; i++)
        if (!scop->arrays[i].dimensions &&
            !add_dependences(changes, POLYHEDRA_SCALARS, scop->arrays[i].name))
            return false;
    return true;
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

struct writing {
    char text[2048];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct writing *writing, const char *format,
                                                      ...)
{
    va_list arguments;
    size_t left = sizeof writing->text - writing->length;
    va_start(arguments, format);
    int length = vsnprintf(writing->text + writing->length, left, format, arguments);
    va_end(arguments);
    if (length > 0)
        writing->length += (size_t)length < left ? (size_t)length : left - 1;
}

/* The group's loops: tiles, then what is in them; then the order among its statements. */
static void add_group_columns(const struct polyhedra_change *change, const struct columns *columns,
                              unsigned depth, struct writing *writing)
{
    unsigned moved = depth - change->kept, loops = 0;
    for (unsigned i = 0; i < moved; i++) {
        unsigned loop = change->order[i];
        long long tile = change->tiles[loop];
        if (tile)
            add(writing, ", %lld * floor(i%u / %lld)", tile, loop, tile);
    }
    for (unsigned i = 0; i < moved; i++)
        add(writing, ", i%u", change->order[i]);
    for (unsigned i = 0; i < columns->count; i++) {
        if (!columns->loop[i] && loops == depth)
            add(writing, ", %lld", (long long)columns->constant[i]);
        loops += columns->loop[i];
    }
}

/* As they are, from *at on, through so many loops. */
static void add_columns(const struct columns *columns, unsigned *at, unsigned *loops, unsigned most,
                        struct writing *writing)
{
    for (; *loops < most && *at < columns->count; ++*at) {
        if (columns->loop[*at])
            add(writing, ", i%u", (*loops)++);
        else
            add(writing, ", %lld", (long long)columns->constant[*at]);
    }
}

/* Behind its first `kept` loops: before the group (0), in it, or behind it (2). */
static void add_schedule(const struct polyhedra_changes *changes,
                         const struct polyhedra_change *change, size_t statement,
                         struct writing *writing)
{
    const struct columns *columns = &changes->columns[statement];
    const struct columns *leader = &changes->columns[changes->leaders[change->group]];
    unsigned loops = 0, at = 0, parting;
    loops_shared(leader, columns, &parting);
    add_columns(columns, &at, &loops, change->kept, writing);
    if (columns->group == change->group) {
        add(writing, ", 1");
        add_group_columns(change, columns, depth_of(changes, statement), writing);
        return;
    }
    bool behind = parting < columns->count && parting < leader->count &&
                  columns->constant[parting] > leader->constant[parting];
    add(writing, ", %d", behind ? 2 : 0);
    add_columns(columns, &at, &loops, UINT_MAX, writing);
}

static isl_map *changed_schedule(const struct polyhedra_changes *changes,
                                 const struct polyhedra_change *change, size_t statement)
{
    struct writing whole = {.length = 0}, columns = {.length = 0};
    add(&whole, "{ %s[", changes->scop->statements[statement].name);
    for (unsigned i = 0; i < depth_of(changes, statement); i++)
        add(&whole, i ? ", i%u" : "i%u", i);
    add_schedule(changes, change, statement, &columns);
    add(&whole, "] -> [%s] }", columns.text + 2 /* ", " */);
    return isl_map_read_from_str(changes->polyhedra->context, whole.text);
}

static bool is_known(const struct polyhedra_changes *changes)
{
    for (size_t i = 0; i < changes->scop->statements_count; i++)
        if (!changes->columns[i].known)
            return false;
    return true;
}

static void free_schedules(isl_map **schedules, size_t count)
{
    for (size_t i = 0; schedules && i < count; i++)
        isl_map_free(schedules[i]);
    free(schedules);
}

/* By statement, all of one length. NULL: no memory. */
static isl_map **make_schedules(const struct polyhedra_changes *changes,
                                const struct polyhedra_change *change)
{
    size_t count = changes->scop->statements_count;
    isl_map **schedules = calloc(count + 1, sizeof(isl_map *));
    unsigned length = 0;
    for (size_t i = 0; schedules && i < count; i++) {
        schedules[i] = change->reordered ? changed_schedule(changes, change, i)
                                         : isl_map_copy(changes->scop->statements[i].schedule);
        if (!schedules[i]) {
            free_schedules(schedules, count);
            return NULL;
        }
        unsigned own = (unsigned)isl_map_dim(schedules[i], isl_dim_out);
        length = own > length ? own : length;
    }
    for (size_t i = 0; schedules && i < count; i++)
        schedules[i] = schedule_lengthened(schedules[i], length);
    return schedules;
}

/* ---- legality ---------------------------------------------------------------------------------------------------- */

/* When accesses happen: their statement's time, and then their place in it. */
static isl_union_map *times_of(const struct polyhedra_changes *changes, isl_map **schedules)
{
    const struct scop *scop = changes->scop;
    isl_union_map *times = isl_union_map_empty_ctx(changes->polyhedra->context);
    char name[32];
    size_t arrays = 0, scalars = 0;
    for (size_t i = 0; i < scop->statements_count; i++) {
        const struct scop_statement *statement = &scop->statements[i];
        size_t count = statement->accesses_count + statement->scalars_count;
        for (size_t j = 0; j < count; j++) {
            bool scalar = j >= statement->accesses_count;
            size_t place =
                place_in_statement(statement, scalar, scalar ? j - statement->accesses_count : j);
            isl_map *time = isl_map_intersect_domain(isl_map_copy(schedules[i]),
                                                     isl_set_copy(statement->domain));
            unsigned length = (unsigned)isl_map_dim(time, isl_dim_out);
            time = isl_map_fix_si(isl_map_add_dims(time, isl_dim_out, 1), isl_dim_out, length,
                                  (int)place);
            snprintf(name, sizeof name, "%c%zu", scalar ? 'V' : 'R', scalar ? scalars++ : arrays++);
            times = isl_union_map_add_map(times, isl_map_set_tuple_name(time, isl_dim_in, name));
        }
    }
    return times;
}

static isl_stat look_at_times(isl_map *map, void *user)
{
    bool *kept = user;
    isl_map *wrong =
        isl_map_intersect(map, isl_map_lex_ge(isl_space_domain(isl_map_get_space(map))));
    *kept &= isl_map_is_empty(wrong) == isl_bool_true;
    isl_map_free(wrong);
    return *kept ? isl_stat_ok : isl_stat_error;
}

bool polyhedra_changes_legal(const struct polyhedra_changes *changes,
                             const struct polyhedra_change *change)
{
    isl_ctx *context = changes->polyhedra->context;
    if (!change->reordered)
        return true;
    if (!changes->dependences || !is_known(changes))
        return false;
    isl_map **schedules = make_schedules(changes, change);
    if (!schedules)
        return false;
    bool kept = true;
    isl_ctx_reset_operations(context);
    isl_ctx_set_max_operations(context, LEGAL_STEPS_MAX);
    isl_union_map *times = times_of(changes, schedules);
    isl_union_map *moved = isl_union_map_apply_domain(isl_union_map_copy(changes->dependences),
                                                      isl_union_map_copy(times));
    moved = isl_union_map_apply_range(moved, times);
    kept = moved && isl_union_map_foreach_map(moved, look_at_times, &kept) == isl_stat_ok && kept;
    isl_union_map_free(moved);
    isl_ctx_set_max_operations(context, 0);
    isl_ctx_reset_error(context);
    free_schedules(schedules, changes->scop->statements_count);
    return kept;
}

/* ---- what is offered ------------------------------------------------------------------------------------------------ */

enum base_status polyhedra_changes_nest(const struct polyhedra_changes *changes,
                                        const struct polyhedra_change *change, struct nest **nest,
                                        char *error)
{
    struct changed changed = {.rows = changes->rows, .padding = change->padding};
    changed.schedules = make_schedules(changes, change);
    if (!changed.schedules) {
        snprintf(error, POLYHEDRA_ERROR_BYTES, "%s.", base_status_text(BASE_NO_MEMORY));
        return BASE_NO_MEMORY;
    }
    enum base_status status = tree_make(changes->polyhedra, changes->index, &changed, nest, error);
    free_schedules(changed.schedules, changes->scop->statements_count);
    return status;
}

enum base_status polyhedra_changes_begin(const struct polyhedra *polyhedra, size_t index,
                                         struct polyhedra_changes **made, char *error)
{
    struct polyhedra_changes *changes = calloc(1, sizeof *changes);
    const struct scop *scop = &polyhedra->scops[index];
    if (changes) {
        changes->polyhedra = polyhedra;
        changes->scop = scop;
        changes->index = index;
        changes->columns = calloc(scop->statements_count + 1, sizeof *changes->columns);
        changes->rows = calloc(scop->arrays_count + 1, sizeof *changes->rows);
    }
    if (!changes || !changes->columns || !changes->rows)
        goto failed;
    for (size_t i = 0; i < scop->statements_count; i++)
        read_columns(&scop->statements[i], &changes->columns[i]);
    for (size_t i = 0; i < scop->arrays_count; i++)
        changes->rows[i] = rows_elements(scop, &scop->arrays[i]);
    if (!find_groups(changes))
        goto failed;
    if (!find_dependences(changes))
        changes->dependences = isl_union_map_free(changes->dependences);
    *made = changes;
    return BASE_OK;
failed:
    polyhedra_changes_free(changes);
    snprintf(error, POLYHEDRA_ERROR_BYTES, "%s.", base_status_text(BASE_NO_MEMORY));
    return BASE_NO_MEMORY;
}

void polyhedra_changes_free(struct polyhedra_changes *changes)
{
    if (!changes)
        return;
    isl_union_map_free(changes->dependences);
    free(changes->columns);
    free(changes->groups);
    free(changes->leaders);
    free(changes->rows);
    free(changes);
}

size_t polyhedra_changes_groups(const struct polyhedra_changes *changes,
                                const struct polyhedra_group **groups)
{
    *groups = changes->groups;
    return is_known(changes) && changes->dependences ? changes->groups_count : 0;
}

int64_t polyhedra_changes_row(const struct polyhedra_changes *changes, size_t array)
{
    return changes->rows[array];
}
