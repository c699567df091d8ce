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
    const struct merge_rule *rule;
    struct merge_items items; /* as they were                       */
    char *settled;            /* as they will be                    */
    size_t settled_count;
    uint32_t *order; /* indices of items                   */
    uint32_t *map;   /* of items, to indices of settled    */
    bool disagree;
};

/* ---- columns --------------------------------------------------------------------------------- */

static int compare_texts(const char *a, const char *b)
{
    if (a == b)
        return 0;
    return !a ? -1 : !b ? 1 : strcmp(a, b);
}

static int compare_build_ids(const struct profile_module *a, const struct profile_module *b)
{
    if (a->build_id_bytes != b->build_id_bytes)
        return a->build_id_bytes < b->build_id_bytes ? -1 : 1;
    return memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

#define COMPARE(type)                                                                              \
    ({                                                                                             \
        const type *of_a = left, *of_b = right;                                                    \
        (*of_a > *of_b) - (*of_a < *of_b);                                                         \
    })

static int compare_column(const struct schema_column *column, const char *a, const char *b)
{
    const void *left = a + column->offset, *right = b + column->offset;
    switch (column->type) {
    case SCHEMA_POSITION: return 0;
    case SCHEMA_COUNT32: return COMPARE(uint32_t);
    case SCHEMA_COUNT64:
    case SCHEMA_ADDRESS: return COMPARE(uint64_t);
    case SCHEMA_SIGNED: return COMPARE(int64_t);
    case SCHEMA_REAL: return COMPARE(double);
    case SCHEMA_TEXT:
    case SCHEMA_NAME: return compare_texts(*(const char *const *)left, *(const char *const *)right);
    case SCHEMA_BUILD_ID: return compare_build_ids((const void *)a, (const void *)b);
    }
    return 0;
}

/* By the columns that have the letter k. */
static int compare_keys(const struct schema_table *table, const char *letters, const char *a,
                        const char *b)
{
    for (size_t i = 0; i < table->columns_count; i++) {
        int order = letters[i] == 'k' ? compare_column(&table->columns[i], a, b) : 0;
        if (order)
            return order;
    }
    return 0;
}

static void add_column(const struct schema_column *column, char *to, const char *from)
{
    void *sum = to + column->offset;
    const void *more = from + column->offset;
    if (column->type == SCHEMA_REAL) {
        *(double *)sum += *(const double *)more;
    } else if (column->type == SCHEMA_COUNT32) {
        uint32_t a = *(uint32_t *)sum, b = *(const uint32_t *)more;
        *(uint32_t *)sum = b > UINT32_MAX - a ? UINT32_MAX : a + b;
    } else {
        uint64_t a = *(uint64_t *)sum, b = *(const uint64_t *)more;
        *(uint64_t *)sum = a > INT64_MAX || b > INT64_MAX - a ? INT64_MAX : a + b;
    }
}

static void copy_column(const struct schema_column *column, char *to, const char *from)
{
    size_t bytes = column->type == SCHEMA_COUNT32 ? sizeof(uint32_t) : sizeof(uint64_t);
    memcpy(to + column->offset, from + column->offset, bytes);
}

static void fold(struct settling *self, char *to, const char *from)
{
    if (self->rule->fold)
        self->rule->fold(self->profile, to, from);
    for (size_t i = 0; i < self->table->columns_count; i++) {
        const struct schema_column *column = &self->table->columns[i];
        char letter = self->rule->columns[i];
        int order = letter == '.' || letter == 'k' ? 0 : compare_column(column, to, from);
        if (letter == '+')
            add_column(column, to, from);
        else if ((letter == '>' && order < 0) || (letter == '<' && order > 0))
            copy_column(column, to, from);
        else if (letter == '=' && order)
            self->disagree = true;
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_items(const void *left, const void *right, void *context)
{
    const struct settling *self = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order =
        compare_keys(self->table, self->rule->columns, self->items.items + a * self->items.bytes,
                     self->items.items + b * self->items.bytes);
    return order ? order : (a > b) - (a < b);
}

/* Puts the items in order[from..to) behind the settled ones. */
static void settle_range(struct settling *self, size_t from, size_t to)
{
    size_t begin = self->settled_count, bytes = self->items.bytes;
    qsort_r(self->order + from, to - from, sizeof *self->order, compare_items, self);
    for (size_t i = from; i < to; i++) {
        const char *item = self->items.items + self->order[i] * bytes;
        char *end = self->settled + self->settled_count * bytes;
        bool same = self->settled_count > begin && !self->rule->apart &&
                    compare_keys(self->table, self->rule->columns, end - bytes, item) == 0;
        if (same)
            fold(self, end - bytes, item);
        else
            memcpy(end, item, bytes);
        self->settled_count += !same;
        self->map[self->order[i]] = (uint32_t)self->settled_count - 1;
    }
}

static uint32_t *parent_of(const struct settling *self, uint32_t item)
{
    return (uint32_t *)(void *)(self->items.items + item * self->items.bytes +
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

static uint32_t process_of(const struct sources *sources, uint32_t id)
{
    if (id == UINT32_MAX)
        return id;
    size_t at = BASE_FIRST(i, sources->count, sources->old[i] > id);
    return at ? sources->now[at - 1] + (id - sources->old[at - 1]) : id;
}

/* sources: for ids of processes; else map. */
static void refer_anew(struct profile *profile, const char *target, const uint32_t *map,
                       const struct sources *sources)
{
    for (size_t r = 0; r < MERGE_REFERENCES; r++) {
        const struct merge_reference *reference = &merge_references[r];
        if (target ? !reference->target || strcmp(reference->target, target) != 0 ||
                         strcmp(reference->table, target) == 0
                   : reference->target != NULL)
            continue;
        const struct schema_table *table = merge_table(reference->table);
        struct merge_items items = merge_items(profile, table);
        size_t offset = merge_column(table, reference->column)->offset;
        for (size_t i = table->first; i < items.count; i++) {
            uint32_t *id = (uint32_t *)(void *)(items.items + i * items.bytes + offset);
            *id = target ? map[*id] : process_of(sources, *id);
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

/* ---- rows that belong to others, in an order of their own -------------------------------------
 */

struct range {
    uint32_t first, count;
};

struct parts {
    const struct schema_table *table;
    const char *letters; /* k: what tells them apart */
    bool alike;          /* equal owners must have equal parts */
    struct merge_items items;
    struct range *ranges; /* by owner as it was */
};

static int compare_ranges(const struct parts *parts, struct range a, struct range b)
{
    const struct merge_items *items = &parts->items;
    if (a.count != b.count)
        return a.count < b.count ? -1 : 1;
    for (uint32_t i = 0; i < a.count; i++) {
        int order =
            compare_keys(parts->table, parts->letters, items->items + (a.first + i) * items->bytes,
                         items->items + (b.first + i) * items->bytes);
        if (order)
            return order;
    }
    return 0;
}

static bool find_parts(const struct settling *self, struct parts *parts)
{
    const char *owner = self->table->name;
    *parts = strcmp(owner, "path_block") == 0 ? (struct parts){merge_table("path_line"), ".kkk"}
             : strcmp(owner, "path") == 0
                 ? (struct parts){merge_table("path_step"), ".k", .alike = true}
             : strcmp(owner, "block") == 0 ? (struct parts){merge_table("block_child"), "..kkk"}
                                           : (struct parts){0};
    if (!parts->table)
        return true;
    parts->items = merge_items(self->profile, parts->table);
    parts->ranges = calloc(self->items.count + 1, sizeof *parts->ranges);
    if (!parts->ranges)
        return false;
    const struct profile *profile = self->profile;
    for (size_t i = 0; i < self->items.count; i++) {
        if (strcmp(owner, "path_block") == 0)
            parts->ranges[i] =
                (struct range){profile->path_blocks[i].first_line, profile->path_blocks[i].lines};
        else if (strcmp(owner, "path") == 0)
            parts->ranges[i] =
                (struct range){profile->paths[i].first_step, profile->paths[i].steps};
    }
    for (uint32_t i = 0; strcmp(owner, "block") == 0 && i < profile->block_children_count; i++) {
        struct range *range = &parts->ranges[profile->block_children[i].block];
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
        self->disagree |= parts->alike && known[owner] && order;
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

/* Children name their block themselves, as it was: that is dealt with like all references. */
static void own_range(struct settling *self, uint32_t owner, struct range range)
{
    if (strcmp(self->table->name, "path_block") == 0) {
        ((struct profile_path_block *)(void *)self->settled)[owner].first_line = range.first;
        ((struct profile_path_block *)(void *)self->settled)[owner].lines = range.count;
    } else if (strcmp(self->table->name, "path") == 0) {
        ((struct profile_path *)(void *)self->settled)[owner].first_step = range.first;
    }
}

static bool settle_parts(struct settling *self)
{
    struct parts parts;
    if (!find_parts(self, &parts))
        return false;
    if (!parts.table)
        return true;
    struct range *chosen = choose_ranges(self, &parts);
    size_t bytes = parts.items.bytes;
    char *copies = malloc(parts.items.count * bytes + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; chosen && copies && i < self->settled_count; i++) {
        struct range range = {count, chosen[i].count};
        if (range.count)
            memcpy(copies + count * bytes, parts.items.items + chosen[i].first * bytes,
                   range.count * bytes);
        count += range.count;
        own_range(self, i, range);
    }
    bool good = chosen && copies;
    if (good && count) {
        memcpy(parts.items.items, copies, count * bytes);
        merge_cut(self->profile, parts.table, count);
    }
    free(chosen);
    free(copies);
    free(parts.ranges);
    return good;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool settle_table(struct settling *self)
{
    size_t count = self->items.count, first = self->table->first;
    bool good = true;
    for (size_t i = 0; i < count; i++)
        self->order[i] = (uint32_t)i;
    memcpy(self->settled, self->items.items, first * self->items.bytes);
    self->settled_count = first;
    if (self->rule->tree)
        good = settle_tree(self);
    else
        settle_range(self, first, count);
    if (good && strcmp(self->table->name, "merged") == 0)
        good = move_processes(self);
    good = good && settle_parts(self);
    if (!good)
        return false;
    memcpy(self->items.items, self->settled, self->settled_count * self->items.bytes);
    merge_cut(self->profile, self->table, self->settled_count);
    refer_anew(self->profile, self->table->name, self->map, NULL);
    return true;
}

static enum base_status settle(struct profile *profile, const struct merge_rule *rule,
                               const char **disagree)
{
    struct settling self = {.profile = profile, .table = merge_table(rule->table), .rule = rule};
    self.items = merge_items(profile, self.table);
    if (self.items.count == self.table->first)
        return BASE_OK;
    self.settled = malloc(self.items.count * self.items.bytes);
    self.order = calloc(self.items.count, sizeof *self.order);
    self.map = calloc(self.items.count, sizeof *self.map);
    bool good = self.settled && self.order && self.map && settle_table(&self);
    free(self.settled);
    free(self.order);
    free(self.map);
    if (self.disagree)
        *disagree = rule->table;
    return !good ? BASE_NO_MEMORY : self.disagree ? BASE_MALFORMED : BASE_OK;
}

/* Reports take a block's first stack for that where most was lost. */
static int compare_lost(const void *left, const void *right)
{
    const struct profile_block_stack *a = left, *b = right;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->lost_ns != b->lost_ns)
        return a->lost_ns > b->lost_ns ? -1 : 1;
    return (a->context > b->context) - (a->context < b->context);
}

static int compare_waited(const void *left, const void *right)
{
    const struct profile_block_holder *a = left, *b = right;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->waited_ns != b->waited_ns)
        return a->waited_ns > b->waited_ns ? -1 : 1;
    return (a->context > b->context) - (a->context < b->context);
}

enum base_status merge_settle(struct profile *profile, const char **disagree)
{
    for (size_t i = 0; i < MERGE_RULES; i++) {
        enum base_status status = settle(profile, &merge_rules[i], disagree);
        if (status != BASE_OK)
            return status;
    }
    if (profile->block_stacks_count)
        qsort(profile->block_stacks, profile->block_stacks_count, sizeof *profile->block_stacks,
              compare_lost);
    if (profile->block_holders_count)
        qsort(profile->block_holders, profile->block_holders_count, sizeof *profile->block_holders,
              compare_waited);
    return BASE_OK;
}
