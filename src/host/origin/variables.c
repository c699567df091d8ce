// SPDX-License-Identifier: MIT
/* The variables in scope at an instruction: where they reside, and whether what a debugger shows is the source's value. */
#include "origin/internal.h"

#include <stdio.h>
#include <string.h>

enum { REASON_BYTES = 512 };

_Static_assert((int)PROFILE_MAP_COMPUTED == (int)BINARY_COMPUTED &&
                   (int)PROFILE_MAP_RESIDENCES == (int)BINARY_RESIDENCES,
               "residences");
_Static_assert((int)PROFILE_MAP_CURRENT == (int)CURRENCY_CURRENT &&
                   (int)PROFILE_MAP_STALE == (int)CURRENCY_STALE &&
                   (int)PROFILE_MAP_PREMATURE == (int)CURRENCY_PREMATURE &&
                   (int)PROFILE_MAP_SUSPECT == (int)CURRENCY_SUSPECT,
               "classes");

static bool add_variable(struct profile *profile, const struct binary_local *local, uint32_t class,
                         uint32_t assigned, const char *reason)
{
    struct profile_map_variable *row = profile_add_map_variables(profile);
    if (!row)
        return false;
    *row = (struct profile_map_variable){.name = profile_keep(profile, local->name),
                                         .type = profile_keep(profile, local->type),
                                         .function = profile_keep(profile, local->function),
                                         .where = profile_keep(profile, local->where),
                                         .reason = profile_keep(profile, reason),
                                         .declared = local->declared,
                                         .residence = local->residence,
                                         .class = class,
                                         .assigned = assigned,
                                         .shadowed = local->shadowed};
    return row->where != NULL;
}

/* ---- what is assigned --------------------------------------------------------------------------------- */

struct looking {
    uint64_t vaddr;
    struct currency_stop stop; /* class CURRENT: there is none */
};

static bool look(void *context, const struct currency_stop *stop)
{
    struct looking *looking = context;
    if (stop->address == looking->vaddr)
        looking->stop = *stop;
    return stop->address != looking->vaddr;
}

static void explain(const struct function *function, const struct currency_stop *stop, char *reason,
                    size_t bytes)
{
    const struct place *place = function_place(function, stop->assigned);
    const char *file = origin_base_name(place->file);
    if (stop->class == CURRENCY_STALE)
        snprintf(reason, bytes, "line %u of %.200s assigns to it, and has not stored it yet",
                 place->line, file);
    else if (stop->class == CURRENCY_PREMATURE)
        snprintf(reason, bytes, "what line %u of %.200s assigns is stored already", place->line,
                 file);
    else
        snprintf(reason, bytes,
                 stop->early ? "what line %u of %.200s assigns may be stored already"
                             : "line %u of %.200s assigns to it, and may not have stored it yet",
                 place->line, file);
}

/* local: the variable, as it is at the address. */
static enum base_status add_assigned(struct profile *profile, const struct function *function,
                                     const struct assigned *assigned,
                                     const struct binary_local *local, uint64_t vaddr)
{
    struct looking looking = {.vaddr = vaddr};
    char reason[REASON_BYTES];
    enum base_status status = function_stops(function, assigned, look, &looking);
    if (status != BASE_OK)
        return status;
    const struct currency_stop *stop = &looking.stop;
    if (stop->class != CURRENCY_CURRENT)
        explain(function, stop, reason, sizeof reason);
    bool current = stop->class == CURRENCY_CURRENT;
    return add_variable(profile, local, stop->class,
                        current ? 0 : function_place(function, stop->assigned)->line,
                        current ? NULL : reason)
               ? BASE_OK
               : BASE_NO_MEMORY;
}

static const struct assigned *find_assigned(const struct function *function,
                                            const struct binary_local *variable)
{
    for (size_t i = 0; i < function->assigned_count; i++)
        if (is_same_variable(&function->assigned[i].variable, variable))
            return &function->assigned[i];
    return NULL;
}

/* ---- all ---------------------------------------------------------------------------------------------------- */

/* Where a location list names a place, the compiler says that the source's value is there. */
static enum base_status add_local(struct profile *profile, const struct binary_local *local)
{
    bool absent = local->residence == BINARY_NOWHERE;
    return add_variable(profile, local, absent ? PROFILE_MAP_ABSENT : PROFILE_MAP_CURRENT, 0,
                        absent ? "its value is nowhere: it was optimized out here" : NULL)
               ? BASE_OK
               : BASE_NO_MEMORY;
}

static bool is_listed(const struct binary_locals *locals, const struct binary_local *variable)
{
    for (size_t i = 0; i < locals->count; i++)
        if (is_same_variable(&locals->items[i], variable))
            return true;
    return false;
}

enum base_status variables_at(struct profile *profile, struct function *function,
                              struct sources *sources, uint64_t vaddr)
{
    struct binary_locals locals;
    enum base_status status = function_assigns(function, sources);
    if (status != BASE_OK)
        return status;
    status = binary_locals(function->binary, vaddr, &locals);
    if (status != BASE_OK)
        return status == BASE_NOT_FOUND ? BASE_OK : status;
    for (size_t i = 0; i < locals.count && status == BASE_OK; i++) {
        const struct assigned *assigned = find_assigned(function, &locals.items[i]);
        status = assigned ? add_assigned(profile, function, assigned, &locals.items[i], vaddr)
                          : add_local(profile, &locals.items[i]);
    }
    for (size_t i = 0; i < function->assigned_count && status == BASE_OK; i++) {
        const struct assigned *assigned = &function->assigned[i];
        if (assigned->variable.address && !is_listed(&locals, &assigned->variable))
            status = add_assigned(profile, function, assigned, &assigned->variable, vaddr);
    }
    binary_locals_free(&locals);
    return status;
}
