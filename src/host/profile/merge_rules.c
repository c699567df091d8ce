// SPDX-License-Identifier: MIT
/*
 * What happens to the values of two rows that become one, by the rules of their columns.
 *
 * Every rule is associative and commutative, so that a merged profile depends neither on the order
 * of the files nor on the groups in which they were merged.
 */
#include "profile/internal.h"

#include <math.h>

static double sum_known(double a, double b)
{
    return a < 0 ? b : b < 0 ? a : a + b;
}

/*
 * What n executions took, reckoned from m that were measured; the mean of all measured ones stands
 * for all. Without measured ones on either side the figures are of all executions. Negative: not
 * known.
 */
static double pooled(double a, uint64_t a_count, uint64_t a_measured, double b, uint64_t b_count,
                     uint64_t b_measured)
{
    if (a_measured == 0 && b_measured == 0)
        return sum_known(a, b);
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

void merge_fold_path(const struct profile *profile, void *to, const void *from)
{
    (void)profile;
    struct profile_path *a = to;
    const struct profile_path *b = from;
    a->cycles = pooled(a->cycles, a->count, a->measured, b->cycles, b->count, b->measured);
    a->events = pooled(a->events, a->count, a->measured, b->events, b->count, b->measured);
}

void merge_fold_vertex(const struct profile *profile, void *to, const void *from)
{
    (void)profile;
    struct profile_vertex *a = to;
    const struct profile_vertex *b = from;
    a->cycles = pooled(a->cycles, a->count, a->measured, b->cycles, b->count, b->measured);
}

/* Under the exact engine it is no count, but says whether the access is the kernel's. */
void merge_fold_pair(const struct profile *profile, void *to, const void *from)
{
    struct profile_pair *a = to;
    const struct profile_pair *b = from;
    if (strcmp(profile->run.engine, "exact") == 0)
        a->kernel_traps |= b->kernel_traps;
    else
        a->kernel_traps += b->kernel_traps;
}

/* Of parts without a recorded execution the smallest time is not known. */
void merge_fold_part(const struct profile *profile, void *to, const void *from)
{
    (void)profile;
    struct profile_span_part *a = to;
    const struct profile_span_part *b = from;
    if (b->recorded && a->recorded)
        a->min_ns = fmin(a->min_ns, b->min_ns);
    else
        a->min_ns = a->recorded ? a->min_ns : b->min_ns;
}

/* ---- columns -------------------------------------------------------------------------------- */

static void add(const struct schema_column *column, void *to, const void *from)
{
    if (column->type == SCHEMA_REAL) {
        *(double *)to += *(const double *)from;
    } else if (column->type == SCHEMA_COUNT32) {
        uint32_t a = *(uint32_t *)to, b = *(const uint32_t *)from;
        *(uint32_t *)to = b > UINT32_MAX - a ? UINT32_MAX : a + b;
    } else {
        uint64_t a = *(uint64_t *)to, b = *(const uint64_t *)from;
        *(uint64_t *)to = a > INT64_MAX || b > INT64_MAX - a ? INT64_MAX : a + b;
    }
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a == 0 || (b && b < a) ? b : a;
}

static void take_if(bool wanted, const struct schema_column *column, void *to, const void *from)
{
    if (wanted)
        memcpy(to, from, column->bytes);
}

/* a, b: the items. */
static bool combine(const struct schema_column *column, char *a, const char *b)
{
    void *to = a + column->offset;
    const void *from = b + column->offset;
    switch (column->rule) {
    case SCHEMA_KEPT:
    case SCHEMA_KEY:
    case SCHEMA_FOLDED: break;
    case SCHEMA_SUM: add(column, to, from); break;
    case SCHEMA_SUM_KNOWN: *(double *)to = sum_known(*(double *)to, *(const double *)from); break;
    case SCHEMA_UNION: *(uint64_t *)to |= *(const uint64_t *)from; break;
    case SCHEMA_LARGER: take_if(schema_compare(column, a, b) < 0, column, to, from); break;
    case SCHEMA_SMALLER: take_if(schema_compare(column, a, b) > 0, column, to, from); break;
    case SCHEMA_EARLIER: *(uint64_t *)to = earlier(*(uint64_t *)to, *(const uint64_t *)from); break;
    case SCHEMA_SAME: return schema_compare(column, a, b) == 0;
    case SCHEMA_AGREED:
        if (schema_compare(column, a, b) != 0)
            *(const char **)to = NULL;
        break;
    }
    return true;
}

bool merge_combine(const struct profile *profile, const struct schema_table *table, void *to,
                   const void *from)
{
    bool agree = true;
    if (table->fold)
        table->fold(profile, to, from);
    for (size_t c = 0; c < table->columns_count; c++)
        agree &= combine(&table->columns[c], to, from);
    return agree;
}

void merge_each_id(struct profile *profile, const struct schema_table *table,
                   const struct schema_column *column, size_t first,
                   void (*visit)(void *context, uint32_t *id), void *context)
{
    struct schema_items items = schema_items(profile, table);
    for (size_t i = first; i < items.count; i++)
        visit(context, (uint32_t *)(void *)(items.items + i * table->item_bytes + column->offset));
}
