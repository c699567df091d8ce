// SPDX-License-Identifier: MIT
/* All functions of a file: in how much of their scopes variables have a location, and which are not current, and where. */
#include "origin/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- findings --------------------------------------------------------------------------------------- */

struct stops {
    struct currency_stop *items;
    size_t count, capacity;
    bool no_memory;
};

static bool take_stop(void *context, const struct currency_stop *stop)
{
    struct stops *stops = context;
    if (UTIL_PUSH(stops->items, stops->count, stops->capacity, *stop))
        return true;
    stops->no_memory = true;
    return false;
}

/* Stops of one finding together, by address. */
static int by_finding(const void *a, const void *b)
{
    const struct currency_stop *first = a, *second = b;
    if (first->assigned != second->assigned)
        return first->assigned < second->assigned ? -1 : 1;
    if (first->class != second->class)
        return first->class < second->class ? -1 : 1;
    if (first->early != second->early)
        return first->early < second->early ? -1 : 1;
    return (first->address > second->address) - (first->address < second->address);
}

static bool is_same(const struct currency_stop *a, const struct currency_stop *b)
{
    return a->assigned == b->assigned && a->class == b->class && a->early == b->early;
}

static bool add_finding(struct profile *profile, const struct function *function,
                        const struct assigned *assigned, const struct currency_stop *stop)
{
    const struct place *place = function_place(function, stop->assigned);
    struct profile_map_finding *finding = profile_add_map_findings(profile);
    if (!finding)
        return false;
    *finding = (struct profile_map_finding){
        .function = profile_keep(profile, origin_function_name(function->binary, function->start)),
        .variable = profile_keep(profile, assigned->variable.name),
        .file = profile_keep(profile, place->file),
        .line = place->line,
        .class = stop->class,
        .early = stop->early,
        .address = assigned->variable.address,
    };
    return finding->variable != NULL;
}

static bool add_stop(struct profile *profile, const struct function *function,
                     const struct currency_stop *stop)
{
    const struct place *shown = function_place(function, stop->shown);
    struct profile_map_stop *row = profile_add_map_stops(profile);
    if (!row)
        return false;
    *row = (struct profile_map_stop){.finding = (uint32_t)profile->map_findings_count - 1,
                                     .address = stop->address,
                                     .file = profile_keep(profile, shown->file),
                                     .line = shown->line};
    return true;
}

static enum base_status check_variable(struct profile *profile, const struct function *function,
                                       const struct assigned *assigned)
{
    struct stops stops = {0};
    enum base_status status = function_stops(function, assigned, take_stop, &stops);
    if (stops.no_memory)
        status = BASE_NO_MEMORY;
    if (stops.count)
        qsort(stops.items, stops.count, sizeof *stops.items, by_finding);
    for (size_t i = 0; i < stops.count && status == BASE_OK; i++) {
        bool first = !i || !is_same(&stops.items[i], &stops.items[i - 1]);
        if ((first && !add_finding(profile, function, assigned, &stops.items[i])) ||
            !add_stop(profile, function, &stops.items[i]))
            status = BASE_NO_MEMORY;
    }
    free(stops.items);
    return status;
}

static enum base_status check_function(struct profile *profile, struct function *function)
{
    enum base_status status = BASE_OK;
    struct profile_map_run *run = origin_run(profile);
    run->functions++;
    for (size_t i = 0; i < function->assigned_count && status == BASE_OK; i++) {
        run->assignments += function->assigned[i].count;
        status = check_variable(profile, function, &function->assigned[i]);
    }
    return status;
}

/* ---- all functions ------------------------------------------------------------------------------------- */

static enum base_status check_range(struct profile *profile, struct binary *binary,
                                    struct sources *sources, uint64_t start, uint64_t end)
{
    struct function function;
    enum base_status status = function_read(binary, start, end, &function);
    if (status == BASE_NO_MEMORY)
        return status;
    if (status != BASE_OK)
        return BASE_OK; /* without lines, or code that is not understood */
    status = function_assigns(&function, sources);
    if (status == BASE_OK)
        status = check_function(profile, &function);
    function_free(&function);
    return status;
}

static enum base_status check_functions(struct profile *profile, struct binary *binary,
                                        struct sources *sources)
{
    uint64_t start = 0, end = 0;
    const char *name = NULL;
    enum base_status status = BASE_OK;
    for (uint64_t at = 0;
         status == BASE_OK && binary_next_function(binary, at, &start, &end, &name) == BASE_OK;
         at = end > start ? end : start + 1)
        status = check_range(profile, binary, sources, start, end);
    return status;
}

static enum base_status add_coverage(struct profile *profile, struct binary *binary)
{
    struct binary_coverage coverage;
    struct profile_map_run *run = origin_run(profile);
    enum base_status status = binary_coverage(binary, &coverage);
    if (status != BASE_OK)
        return status;
    run->variables = coverage.variables;
    run->unknown = coverage.unknown;
    run->scope_bytes = coverage.scope_bytes;
    run->known_bytes = coverage.known_bytes;
    for (uint32_t i = 0; i < BINARY_RESIDENCES; i++) {
        if (!coverage.bytes[i])
            continue;
        struct profile_map_class *row = profile_add_map_classes(profile);
        if (!row)
            return BASE_NO_MEMORY;
        *row = (struct profile_map_class){i, coverage.bytes[i]};
    }
    return BASE_OK;
}

enum base_status origin_check(struct profile *profile, struct binary *binary, const char *path,
                              char *error)
{
    struct sources sources;
    sources_begin(&sources, path);
    enum base_status status = add_coverage(profile, binary);
    if (status == BASE_OK)
        status = check_functions(profile, binary, &sources);
    struct profile_map_run *run = origin_run(profile);
    run->sources = sources.read;
    run->missing = sources.missing;
    sources_free(&sources);
    if (status != BASE_OK)
        snprintf(error, ORIGIN_ERROR_BYTES, "cannot check '%.4000s': %s.", path,
                 base_status_text(status));
    return status;
}
