// SPDX-License-Identifier: MIT
/*
 * The checks that every reader of a profile relies upon: those that follow from the declarations of
 * the columns first, then what holds between columns and rows.
 */
#include "profile/schema.h"

struct checking {
    const struct profile *profile;
    uint64_t processes; /* their ids are below; UINT32_MAX: any are */
};

/* ---- what the columns are declared to be ---------------------------------------------------- */

static bool refers_to_something(const struct checking *self, const struct schema_column *column,
                                uint32_t id, size_t index)
{
    switch (column->reference) {
    case SCHEMA_NO_REFERENCE: return true;
    case SCHEMA_PARENT: return id < index;
    case SCHEMA_ID:
        return id >= column->target->first &&
               id < schema_items(self->profile, column->target).count;
    case SCHEMA_ID_OR_NONE: return id < schema_items(self->profile, column->target).count;
    case SCHEMA_RANGE: return true; /* covers_all */
    case SCHEMA_PROCESS: return self->processes == UINT32_MAX || id < self->processes;
    case SCHEMA_PROCESS_OR_NONE: return id == UINT32_MAX || id < self->processes;
    }
    return false;
}

static bool value_ok(const struct checking *self, const struct schema_column *column,
                     const char *item, size_t index)
{
    const void *value = item + column->offset;
    switch (column->type) {
    case SCHEMA_POSITION:
    case SCHEMA_ADDRESS: return true;
    case SCHEMA_COUNT32: {
        uint32_t number = *(const uint32_t *)value;
        return number <= column->most && refers_to_something(self, column, number, index);
    }
    case SCHEMA_COUNT64: return *(const uint64_t *)value <= column->most;
    case SCHEMA_SIGNED: {
        double number = (double)*(const int64_t *)value;
        return number >= column->low && number <= column->high;
    }
    case SCHEMA_REAL: {
        double number = *(const double *)value;
        return number >= column->low && number <= column->high;
    }
    case SCHEMA_TEXT:
    case SCHEMA_NAME: return column->null || *(const char *const *)value;
    case SCHEMA_BUILD_ID:
        return ((const struct profile_module *)(const void *)item)->build_id_bytes <=
               PROFILE_BUILD_ID_BYTES;
    }
    return false;
}

static bool values_ok(const struct checking *self, const struct schema_table *table,
                      const char *item, size_t index)
{
    for (size_t c = 0; c < table->columns_count; c++)
        if (!value_ok(self, &table->columns[c], item, index))
            return false;
    return true;
}

/* Each row of a list of parts belongs to one whole: what is small in the file stays small when it
   is gone through. */
static bool covers_all(const struct profile *profile, const struct schema_table *table,
                       const struct schema_column *range)
{
    struct schema_items items = schema_items(profile, table);
    size_t end = 0, limit = schema_items(profile, range->target).count;
    for (size_t i = table->first; i < items.count; i++) {
        const char *item = items.items + i * table->item_bytes;
        uint32_t first = *(const uint32_t *)(const void *)(item + range[0].offset);
        uint32_t count = *(const uint32_t *)(const void *)(item + range[1].offset);
        if (first != end || count > limit - end)
            return false;
        end += count;
    }
    return end == limit;
}

static bool in_order(const struct schema_table *table, const char *before, const char *item)
{
    switch (table->order) {
    case SCHEMA_ANY_ORDER: return true;
    case SCHEMA_ASCENDING: return schema_compare_keys(table, before, item) < 0;
    case SCHEMA_GROUPED: return schema_compare(&table->columns[1], before, item) <= 0;
    }
    return false;
}

static bool table_ok(const struct checking *self, const struct schema_table *table)
{
    struct schema_items items = schema_items(self->profile, table);
    if (items.count < table->first || (table->most && items.count > table->most))
        return false;
    for (size_t i = table->first; i < items.count; i++) {
        const char *item = items.items + i * table->item_bytes;
        if (!values_ok(self, table, item, i) ||
            (i > table->first && !in_order(table, item - table->item_bytes, item)))
            return false;
    }
    for (size_t c = 0; c < table->columns_count; c++)
        if (table->columns[c].reference == SCHEMA_RANGE &&
            !covers_all(self->profile, table, &table->columns[c]))
            return false;
    return true;
}

/* ---- what holds between them ---------------------------------------------------------------- */

static bool check_kinds(const struct profile *profile)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < profile->kinds_count; i++) {
        if (kinds >> profile->kinds[i].kind & 1)
            return false;
        kinds |= 1U << profile->kinds[i].kind;
    }
    for (size_t i = 0; i < profile->pairs_count; i++)
        if (!(kinds >> profile->pairs[i].kind & 1))
            return false;
    return true;
}

static bool check_reuse(const struct profile *profile)
{
    for (size_t i = 0; i < profile->reuses_count; i++) {
        uint32_t unit_bytes = profile->reuses[i].unit_bytes;
        if (unit_bytes == 0 || unit_bytes > 4096 || (unit_bytes & (unit_bytes - 1)) ||
            unit_bytes != profile->reuses[0].unit_bytes)
            return false;
    }
    return true;
}

/* Apart from each other, so that readers may go through them once. */
static bool check_bins(const struct profile *profile)
{
    for (size_t i = 0; i < profile->bins_count; i++) {
        const struct profile_bin *bin = &profile->bins[i];
        if (bin->lo >= bin->hi || (i && bin[-1].process == bin->process &&
                                   bin[-1].which == bin->which && bin[-1].hi > bin->lo))
            return false;
    }
    return true;
}

/* Each belongs to a row of `reuses`; both ascend. */
static bool check_paces(const struct profile *profile)
{
    size_t reuse = 0;
    for (size_t i = 0; i < profile->paces_count; i++) {
        const struct profile_pace *pace = &profile->paces[i];
        if (pace->low <= 0 || pace->low > pace->accesses_per_ns ||
            pace->accesses_per_ns > pace->high)
            return false;
        while (reuse < profile->reuses_count && profile->reuses[reuse].process < pace->process)
            reuse++;
        if (reuse == profile->reuses_count || profile->reuses[reuse].process != pace->process)
            return false;
    }
    return true;
}

static bool check_latencies(const struct profile *profile)
{
    for (size_t i = 0; i < profile->latencies_count; i++) {
        const struct profile_latency *latency = &profile->latencies[i], *last = latency - (i > 0);
        if (!(latency->chase_ns > 0 && latency->stream_ns > 0))
            return false;
        if (i && (last->bytes >= latency->bytes || last->level == 0 ||
                  last->chase_ns > latency->chase_ns || last->stream_ns > latency->stream_ns))
            return false;
    }
    return true;
}

static bool check_caches(const struct profile *profile)
{
    for (size_t i = 0; i < profile->caches_count; i++) {
        const struct profile_cache *cache = &profile->caches[i];
        if (cache->bytes == 0 || cache->level == 0 || (i && cache[-1].bytes > cache->bytes))
            return false;
    }
    for (size_t i = 0; i < profile->what_ifs_count; i++) {
        const struct profile_what_if *what_if = &profile->what_ifs[i];
        if (what_if->bytes == 0 || what_if->line_bytes == 0 || what_if->misses > what_if->accesses)
            return false;
    }
    return true;
}

static bool check_path_functions(const struct profile *profile)
{
    for (size_t i = 1; i < profile->path_functions_count; i++) {
        const struct profile_path_function *function = &profile->path_functions[i];
        if (function->reason != PROFILE_PATH_WHOLE && !function->why)
            return false;
    }
    return true;
}

static bool check_paths(const struct profile *profile)
{
    uint32_t from = PROFILE_PATH_FROM_ROOT | PROFILE_PATH_FROM_CUT;
    for (size_t i = 0; i < profile->paths_count; i++) {
        const struct profile_path *path = &profile->paths[i];
        if ((path->flags & from) == from || !path->steps || !path->count ||
            path->measured > path->count)
            return false;
        for (uint32_t step = 0; step < path->steps; step++) {
            uint32_t block = profile->path_steps[path->first_step + step].block;
            if (profile->path_blocks[block].function != path->function)
                return false;
        }
    }
    return true;
}

static bool check_vertices(const struct profile *profile)
{
    for (size_t i = 1; i < profile->vertices_count; i++) {
        const struct profile_vertex *vertex = &profile->vertices[i];
        if (vertex->call_sites_used > vertex->call_sites ||
            vertex->call_sites_one_path > vertex->call_sites_used)
            return false;
    }
    for (size_t i = 0; i < profile->vertex_paths_count; i++) {
        const struct profile_vertex_path *row = &profile->vertex_paths[i];
        if (profile->vertices[row->vertex].function != profile->paths[row->path].function)
            return false;
    }
    return true;
}

static bool check_spans(const struct profile *profile)
{
    for (size_t i = 0; i < profile->spans_count; i++) {
        const struct profile_span *span = &profile->spans[i];
        if ((span->function == 0) != ((span->flags & PROFILE_SPAN_SEQUENCE) != 0))
            return false;
    }
    for (size_t i = 0; i < profile->span_parts_count; i++)
        if (profile->span_parts[i].recorded > profile->span_parts[i].count)
            return false;
    for (size_t i = 0; i < profile->span_bins_count; i++) {
        const struct profile_span_bin *bin = &profile->span_bins[i];
        if (bin->low_ns > bin->high_ns ||
            (i && bin[-1].span == bin->span && bin[-1].high_ns > bin->low_ns))
            return false;
    }
    return true;
}

/* Arcs lead from one instruction of their loop to another: both lists are grouped by loop, in ascending order. */
static bool check_limits(const struct profile *profile)
{
    size_t counted = 0;
    for (size_t i = 0, at = 0; i < profile->limit_arcs_count; i++) {
        const struct profile_limit_arc *arc = &profile->limit_arcs[i];
        if (i == 0 || arc->loop != arc[-1].loop) {
            while (at < profile->limit_instructions_count &&
                   profile->limit_instructions[at].loop < arc->loop)
                at++;
            for (counted = 0; at + counted < profile->limit_instructions_count &&
                              profile->limit_instructions[at + counted].loop == arc->loop;)
                counted++;
        }
        if (arc->from >= counted || arc->to >= counted)
            return false;
    }
    return true;
}

static bool check_samples(const struct profile *profile)
{
    uint64_t accounted = profile->run.stored;
    for (size_t i = 0; i < profile->drops_count; i++)
        accounted += profile->drops[i].count;
    return accounted == profile->run.attempted;
}

bool profile_check(const struct profile *profile)
{
    struct checking self = {profile, profile->merged_count ? 0 : UINT32_MAX};
    for (size_t i = 0; i < profile->merged_count; i++)
        self.processes += profile->merged[i].processes;
    if (profile->merged_count && self.processes >= UINT32_MAX)
        return false;
    if (!values_ok(&self, &schema_run, (const char *)&profile->run, 0))
        return false;
    for (size_t t = 0; t < SCHEMA_TABLES; t++)
        if (!table_ok(&self, schema_tables[t]))
            return false;
    return check_samples(profile) && check_kinds(profile) && check_reuse(profile) &&
           check_bins(profile) && check_paces(profile) && check_caches(profile) &&
           check_latencies(profile) && check_path_functions(profile) && check_paths(profile) &&
           check_vertices(profile) && check_spans(profile) && check_limits(profile);
}
