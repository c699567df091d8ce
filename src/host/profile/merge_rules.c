// SPDX-License-Identifier: MIT
/*
 * What each table's columns do when profiles are merged, as data beside the schema.
 *
 * Every rule is associative and commutative, so that a merged profile depends neither on the order
 * of the files nor on the groups in which they were merged.
 */
#include "profile/internal.h"

#include <math.h>

/*
 * What n executions took, reckoned from m that were measured; the mean of all measured ones stands
 * for all. Without measured ones on either side the figures are of all executions. Negative: not
 * known.
 */
static double pooled(double a, uint64_t a_count, uint64_t a_measured, double b, uint64_t b_count,
                     uint64_t b_measured)
{
    if (a_measured == 0 && b_measured == 0)
        return a < 0 ? b : b < 0 ? a : a + b;
    double measured = 0, sum = 0;
    if (a_measured && a_count && a >= 0) {
        sum += a / (double)a_count * (double)a_measured;
        measured += (double)a_measured;
    }
    if (b_measured && b_count && b >= 0) {
        sum += b / (double)b_count * (double)b_measured;
        measured += (double)b_measured;
    }
    return measured > 0 ? sum / measured * ((double)a_count + (double)b_count) : -1;
}

static void fold_path(const struct profile *profile, void *to, const void *from)
{
    (void)profile;
    struct profile_path *a = to;
    const struct profile_path *b = from;
    a->cycles = pooled(a->cycles, a->count, a->measured, b->cycles, b->count, b->measured);
    a->events = pooled(a->events, a->count, a->measured, b->events, b->count, b->measured);
    a->misses = pooled(a->misses, 0, 0, b->misses, 0, 0);
}

static void fold_vertex(const struct profile *profile, void *to, const void *from)
{
    (void)profile;
    struct profile_vertex *a = to;
    const struct profile_vertex *b = from;
    a->cycles = pooled(a->cycles, a->count, a->measured, b->cycles, b->count, b->measured);
    a->instructions = pooled(a->instructions, 0, 0, b->instructions, 0, 0);
    a->misses = pooled(a->misses, 0, 0, b->misses, 0, 0);
}

/* Under the exact engine it is no count, but says whether the access is the kernel's. */
static void fold_pair(const struct profile *profile, void *to, const void *from)
{
    struct profile_pair *a = to;
    const struct profile_pair *b = from;
    if (strcmp(profile->run.engine, "exact") == 0)
        a->kernel_traps |= b->kernel_traps;
    else
        a->kernel_traps += b->kernel_traps;
}

/* Of parts without a recorded execution the smallest time is not known. */
static void fold_part(const struct profile *profile, void *to, const void *from)
{
    (void)profile;
    struct profile_block_part *a = to;
    const struct profile_block_part *b = from;
    if (b->recorded && a->recorded)
        a->min_ns = fmin(a->min_ns, b->min_ns);
    else
        a->min_ns = a->recorded ? a->min_ns : b->min_ns;
}

const struct merge_rule merge_rules[MERGE_RULES] = {
    {"merged", ".kkkkkkk", .apart = true},
    {"module", ".kk<"},
    {"frame", ".kkkkkkk"},
    {"context", ".kk", .tree = true},
    {"kind", "k++++++>"},
    {"pair", "kkk+++++++.++", .fold = fold_pair},
    {"sampled", "kk+++"},
    {"dropped", ".k<+"},
    {"process", ".k.....", .apart = true},
    {"thread", "..k.....", .apart = true},
    {"thread_counter", ".kk+"},
    {"degraded", ".k"},
    {"exact", "k............", .apart = true},
    {"reuse", "k..........", .apart = true},
    {"histogram", "kkk...", .apart = true},
    {"reuse_pair", "kk++++++"},
    {"pace", "k......", .apart = true},
    {"what_if", ".kkk++"},
    {"loop", ".kkkkkk", .tree = true},
    {"frame_loop", "k>"},
    {"path_function", ".kkkkkkkkkkkkk"},
    {"path_block", ".kk====.."},
    {"path", ".k=k++++.+....", .fold = fold_path},
    {"vertex", ".kkk>+>>>>...+", .tree = true, .fold = fold_vertex},
    {"vertex_path", "kk+"},
    {"block_function", ".kkkkkk<kk>"},
    {"block_thread", ".k..............", .apart = true},
    {"block", ".kkkk><>++"},
    {"block_part", ".kk+++.+++", .fold = fold_part},
    {"block_bin", ".kkk+"},
    {"block_stack", ".kk++"},
    {"block_holder", ".kk++"},
    {"block_sample", ".kkkkkkk", .apart = true},
    {"block_skip", ".kkk"},
};

const struct merge_reference merge_references[MERGE_REFERENCES] = {
    {"frame", "module", "module"},
    {"context", "parent", "context"},
    {"context", "frame", "frame"},
    {"pair", "first", "context"},
    {"pair", "second", "context"},
    {"sampled", "context", "context"},
    {"process", "id", NULL},
    {"process", "parent", NULL},
    {"thread", "process", NULL},
    {"thread_counter", "thread", "thread"},
    {"exact", "process", NULL},
    {"reuse", "process", NULL},
    {"histogram", "process", NULL},
    {"reuse_pair", "use", "context"},
    {"reuse_pair", "reuse", "context"},
    {"pace", "process", NULL},
    {"loop", "parent", "loop"},
    {"loop", "module", "module"},
    {"frame_loop", "frame", "frame"},
    {"frame_loop", "loop", "loop"},
    {"path_function", "module", "module"},
    {"path_block", "function", "path_function"},
    {"path_block", "first_line", "path_line"},
    {"path", "function", "path_function"},
    {"path", "first_step", "path_step"},
    {"path_step", "block", "path_block"},
    {"vertex", "parent", "vertex"},
    {"vertex", "function", "path_function"},
    {"vertex_path", "vertex", "vertex"},
    {"vertex_path", "path", "path"},
    {"block_function", "module", "module"},
    {"block_thread", "process", NULL},
    {"block", "function", "block_function"},
    {"block_part", "block", "block"},
    {"block_part", "thread", "block_thread"},
    {"block_bin", "block", "block"},
    {"block_child", "block", "block"},
    {"block_child", "function", "block_function"},
    {"block_stack", "block", "block"},
    {"block_stack", "context", "context"},
    {"block_holder", "block", "block"},
    {"block_holder", "context", "context"},
    {"block_sample", "block", "block"},
};

const struct schema_table *merge_table(const char *name)
{
    size_t at = 0;
    while (strcmp(schema_tables[at].name, name) != 0)
        at++;
    return &schema_tables[at];
}

const struct schema_column *merge_column(const struct schema_table *table, const char *name)
{
    size_t at = 0;
    while (strcmp(table->columns[at].name, name) != 0)
        at++;
    return &table->columns[at];
}

struct merge_items merge_items(const struct profile *profile, const struct schema_table *table)
{
    struct merge_items items = {.bytes = table->item_bytes};
    const char *member = (const char *)profile + table->items;
    items.items = *(char *const *)(const void *)member;
    items.count = *(const size_t *)(const void *)(member + sizeof(void *));
    return items;
}

void merge_cut(struct profile *profile, const struct schema_table *table, size_t count)
{
    char *member = (char *)profile + table->items;
    *(size_t *)(void *)(member + sizeof(void *)) = count;
}
