// SPDX-License-Identifier: MIT
/*
 * Puts a profile into the order that its contents give and makes equal rows one: table by table,
 * those that others refer to first, so that ids that stand in keys are already the final ones.
 *
 * Rejected: looking rows up while they are added, by hash tables. It needs a key and a table for
 * each list, and an order that does not depend on who came first would have to be made anyway.
 */
#include "profile/internal.h"

#include <stdlib.h>

/* A table at work. */
struct settling {
    struct profile *profile;
    const struct schema_table *table;
    struct schema_items items; /* as they were                      */
    char *settled;             /* as they will be                    */
    size_t settled_count;
    uint32_t *order; /* indices of items                   */
    uint32_t *map;   /* of items, to indices of settled    */
    bool disagree;
};

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_items(const void *left, const void *right, void *context)
{
    const struct settling *self = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    size_t bytes = self->table->item_bytes;
    int order = schema_compare_keys(self->table, self->items.items + a * bytes,
                                    self->items.items + b * bytes);
    return order ? order : (a > b) - (a < b);
}

/* Puts the items in order[from..to) behind the settled ones. */
static void settle_range(struct settling *self, size_t from, size_t to)
{
    size_t begin = self->settled_count, bytes = self->table->item_bytes;
    qsort_r(self->order + from, to - from, sizeof *self->order, compare_items, self);
    for (size_t i = from; i < to; i++) {
        const char *item = self->items.items + self->order[i] * bytes;
        char *end = self->settled + self->settled_count * bytes;
        bool same = self->settled_count > begin && self->table->merging != SCHEMA_APART &&
                    schema_compare_keys(self->table, end - bytes, item) == 0;
        if (same)
            self->disagree |= !merge_combine(self->profile, self->table, end - bytes, item);
        else
            memcpy(end, item, bytes);
        self->settled_count += !same;
        self->map[self->order[i]] = (uint32_t)self->settled_count - 1;
    }
}

static uint32_t *parent_of(const struct settling *self, uint32_t item)
{
    return (uint32_t *)(void *)(self->items.items + item * self->table->item_bytes +
                                self->table->columns[1].offset);
}

/* Level by level: a level's parents are settled. Parents precede children, as they do afterwards.
 */
static bool settle_tree(struct settling *self)
{
    size_t count = self->items.count, first = self->table->first;
    uint32_t *level = calloc(count + 1, sizeof *level);
    uint32_t *ends = calloc(count + 2, sizeof *ends); /* of a level, in order */
    bool good = level && ends;
    for (uint32_t i = 1; good && i < count; i++) {
        level[i] = level[*parent_of(self, i)] + 1;
        ends[level[i] + 1]++;
    }
    for (size_t l = 1; good && l <= count; l++)
        ends[l + 1] += ends[l];
    for (uint32_t i = 1; good && i < count; i++)
        self->order[first + ends[level[i]]++] = i;
    for (size_t l = 1, from = 0; good && l <= count && from < count - first; from = ends[l++]) {
        for (size_t i = from; i < ends[l]; i++) {
            uint32_t *parent = parent_of(self, self->order[first + i]);
            *parent = self->map[*parent];
        }
        settle_range(self, first + from, first + ends[l]);
    }
    free(level);
    free(ends);
    return good;
}

/* ---- references ------------------------------------------------------------------------------ */

struct sources { /* of processes: where their ids began, and begin now */
    uint32_t *old, *now;
    size_t count;
};

static void number_process(void *context, uint32_t *id)
{
    const struct sources *sources = context;
    if (*id == UINT32_MAX)
        return;
    size_t at = BASE_FIRST(i, sources->count, sources->old[i] > *id);
    if (at)
        *id = sources->now[at - 1] + (*id - sources->old[at - 1]);
}

static void number_anew(void *context, uint32_t *id)
{
    const uint32_t *map = context;
    *id = map[*id];
}

/* What refers to the table, by `map`; a tree does so itself already. NULL: to processes, by
   `sources`. */
static void refer_anew(struct profile *profile, const struct schema_table *target, uint32_t *map,
                       struct sources *sources)
{
    for (size_t t = 0; t < SCHEMA_TABLES; t++) {
        const struct schema_table *table = schema_tables[t];
        for (size_t c = 0; c < table->columns_count; c++) {
            const struct schema_column *column = &table->columns[c];
            if (!target && merge_is_process(column))
                merge_each_id(profile, table, column, table->first, number_process, sources);
            else if (target && column->target == target && table != target)
                merge_each_id(profile, table, column, table->first, number_anew, map);
        }
    }
}

/* Recordings have another order: their processes move with them. */
static bool move_processes(struct settling *self)
{
    const struct profile_merged *settled = (const void *)self->settled;
    const struct profile_merged *before = (const void *)self->items.items;
    size_t count = self->items.count;
    uint32_t *begins = calloc(count + 1, sizeof *begins);
    struct sources sources = {calloc(count + 1, sizeof(uint32_t)),
                              calloc(count + 1, sizeof(uint32_t)), count};
    bool good = begins && sources.old && sources.now;
    for (size_t i = 0; good && i + 1 < count; i++) {
        begins[i + 1] = begins[i] + settled[i].processes;
        sources.old[i + 1] = sources.old[i] + before[i].processes;
    }
    for (size_t i = 0; good && i < count; i++)
        sources.now[i] = begins[self->map[i]];
    if (good)
        refer_anew(self->profile, NULL, NULL, &sources);
    free(begins);
    free(sources.old);
    free(sources.now);
    return good;
}

/* ---- rows that belong to others, in an order of their own ------------------------------------ */

struct range {
    uint32_t first, count;
};

/* The rows of a table that belong to those of another one. */
struct parts {
    const struct schema_table *table;
    const struct schema_column *range; /* of the owner; NULL: a part has its owner's id */
    struct schema_items items;
    struct range *ranges; /* by owner as it was */
};

static int compare_ranges(const struct parts *parts, struct range a, struct range b)
{
    const char *items = parts->items.items;
    size_t bytes = parts->table->item_bytes;
    if (a.count != b.count)
        return a.count < b.count ? -1 : 1;
    for (uint32_t i = 0; i < a.count; i++) {
        int order = schema_compare_keys(parts->table, items + (a.first + i) * bytes,
                                        items + (b.first + i) * bytes);
        if (order)
            return order;
    }
    return 0;
}

static const struct schema_table *parts_of(const struct schema_table *owner)
{
    for (size_t t = 0; t < SCHEMA_TABLES; t++)
        if (schema_tables[t]->owner == owner)
            return schema_tables[t];
    return NULL;
}

/* The column that refers to the target, or NULL. */
static const struct schema_column *referring(const struct schema_table *table,
                                             const struct schema_table *target)
{
    for (size_t c = 0; c < table->columns_count; c++)
        if (table->columns[c].target == target)
            return &table->columns[c];
    return NULL;
}

static uint32_t *number_in(char *items, const struct schema_table *table, size_t item,
                           const struct schema_column *column)
{
    return (uint32_t *)(void *)(items + item * table->item_bytes + column->offset);
}

static bool find_parts(const struct settling *self, struct parts *parts)
{
    const struct schema_table *owner = self->table;
    *parts = (struct parts){.table = parts_of(owner)};
    if (!parts->table)
        return true;
    parts->range = referring(owner, parts->table);
    parts->items = schema_items(self->profile, parts->table);
    parts->ranges = calloc(self->items.count + 1, sizeof *parts->ranges);
    if (!parts->ranges)
        return false;
    for (size_t i = 0; parts->range && i < self->items.count; i++)
        parts->ranges[i] =
            (struct range){*number_in(self->items.items, owner, i, &parts->range[0]),
                           *number_in(self->items.items, owner, i, &parts->range[1])};
    const struct schema_column *whose = referring(parts->table, owner);
    for (uint32_t i = 0; !parts->range && i < parts->items.count; i++) {
        struct range *range =
            &parts->ranges[*number_in(parts->items.items, parts->table, i, whose)];
        range->first = range->count++ ? range->first : i;
    }
    return true;
}

/* Of equal owners the longest range, of such the last in order. */
static struct range *choose_ranges(struct settling *self, const struct parts *parts)
{
    struct range *chosen = calloc(self->settled_count + 1, sizeof *chosen);
    bool *known = calloc(self->settled_count + 1, sizeof *known);
    for (size_t i = 0; chosen && known && i < self->items.count; i++) {
        uint32_t owner = self->map[i];
        int order = known[owner] ? compare_ranges(parts, chosen[owner], parts->ranges[i]) : -1;
        self->disagree |= parts->table->merging == SCHEMA_SAME_PARTS && known[owner] && order;
        known[owner] = true;
        if (order < 0)
            chosen[owner] = parts->ranges[i];
    }
    if (!known) {
        free(chosen);
        chosen = NULL;
    }
    free(known);
    return chosen;
}

static bool settle_parts(struct settling *self)
{
    struct parts parts;
    if (!find_parts(self, &parts))
        return false;
    if (!parts.table)
        return true;
    struct range *chosen = choose_ranges(self, &parts);
    size_t bytes = parts.table->item_bytes;
    char *copies = malloc(parts.items.count * bytes + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; chosen && copies && i < self->settled_count; i++) {
        struct range range = {count, chosen[i].count};
        if (range.count)
            memcpy(copies + count * bytes, parts.items.items + chosen[i].first * bytes,
                   range.count * bytes);
        count += range.count;
        if (parts.range) {
            *number_in(self->settled, self->table, i, &parts.range[0]) = range.first;
            *number_in(self->settled, self->table, i, &parts.range[1]) = range.count;
        } /* else parts name their owner as it was: they are dealt with like all references */
    }
    bool good = chosen && copies;
    if (good && count) {
        memcpy(parts.items.items, copies, count * bytes);
        schema_cut(self->profile, parts.table, count);
    }
    free(chosen);
    free(copies);
    free(parts.ranges);
    return good;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool settle_rows(struct settling *self)
{
    size_t count = self->items.count, first = self->table->first, bytes = self->table->item_bytes;
    bool good = true;
    for (size_t i = 0; i < count; i++)
        self->order[i] = (uint32_t)i;
    memcpy(self->settled, self->items.items, first * bytes);
    self->settled_count = first;
    if (self->table->merging == SCHEMA_TREE)
        good = settle_tree(self);
    else
        settle_range(self, first, count);
    if (good && self->table == &schema_merged)
        good = move_processes(self);
    good = good && settle_parts(self);
    if (!good)
        return false;
    memcpy(self->items.items, self->settled, self->settled_count * bytes);
    schema_cut(self->profile, self->table, self->settled_count);
    refer_anew(self->profile, self->table, self->map, NULL);
    return true;
}

static enum base_status settle(struct profile *profile, const struct schema_table *table,
                               const char **disagree)
{
    struct settling self = {.profile = profile, .table = table};
    self.items = schema_items(profile, table);
    if (self.items.count == table->first)
        return BASE_OK;
    self.settled = malloc(self.items.count * table->item_bytes);
    self.order = calloc(self.items.count, sizeof *self.order);
    self.map = calloc(self.items.count, sizeof *self.map);
    bool good = self.settled && self.order && self.map && settle_rows(&self);
    free(self.settled);
    free(self.order);
    free(self.map);
    if (self.disagree)
        *disagree = table->name;
    return !good ? BASE_NO_MEMORY : self.disagree ? BASE_MALFORMED : BASE_OK;
}

static bool has_own_order(const struct schema_table *table)
{
    return table->merging == SCHEMA_JOIN || table->merging == SCHEMA_TREE ||
           table->merging == SCHEMA_APART;
}

/* Recordings before all others: ids of processes, which stand in keys, follow from their order. */
enum base_status merge_settle(struct profile *profile, const char **disagree)
{
    enum base_status status = settle(profile, &schema_merged, disagree);
    for (size_t t = 0; status == BASE_OK && t < SCHEMA_TABLES; t++)
        if (has_own_order(schema_tables[t]) && schema_tables[t] != &schema_merged)
            status = settle(profile, schema_tables[t], disagree);
    if (status == BASE_OK)
        profile_order_spans(profile);
    return status;
}

static enum base_status settle_tables(struct profile *profile,
                                      const struct schema_table *const tables[], size_t count)
{
    const char *disagree;
    enum base_status status = BASE_OK;
    for (size_t t = 0; status == BASE_OK && t < count; t++)
        status = settle(profile, tables[t], &disagree);
    return status;
}

/* Lines before what refers to them. */
enum base_status profile_settle_shared(struct profile *profile)
{
    static const struct schema_table *const tables[] = {
        &schema_shared_runs,    &schema_shared_lines, &schema_shared_pairs,
        &schema_shared_users,   &schema_shared_moves, &schema_shared_fields,
        &schema_shared_watches, &schema_shared_seens, &schema_shared_gaps};
    return settle_tables(profile, tables, BASE_COUNT(tables));
}

enum base_status profile_settle_memory(struct profile *profile)
{
    static const struct schema_table *const tables[] = {&schema_memories, &schema_located};
    return settle_tables(profile, tables, BASE_COUNT(tables));
}
