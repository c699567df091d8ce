// SPDX-License-Identifier: MIT
/*
 * Between the files of merging: what happens when rows meet (merge_rules.c), tables put into the
 * order that their contents give, equal rows made one (merge_settle.c), spans of
 * `headroom interference` made comparable (merge_spans.c), and merging itself (merge.c).
 */
#ifndef HEADROOM_PROFILE_INTERNAL_H
#define HEADROOM_PROFILE_INTERNAL_H

#include "profile/schema.h"

/* `from` is added to `to`, column by column. False: values that must agree do not. */
bool merge_combine(const struct profile *profile, const struct schema_table *table, void *to,
                   const void *from);

/* Values that depend on several columns (SCHEMA_FOLDED); before the others are combined. */
void merge_fold_pair(const struct profile *profile, void *to, const void *from);
void merge_fold_path(const struct profile *profile, void *to, const void *from);
void merge_fold_vertex(const struct profile *profile, void *to, const void *from);
void merge_fold_part(const struct profile *profile, void *to, const void *from);

/* Calls `visit` with each value of a column of ids, in the rows from `first` on. */
void merge_each_id(struct profile *profile, const struct schema_table *table,
                   const struct schema_column *column, size_t first,
                   void (*visit)(void *context, uint32_t *id), void *context);

static inline bool merge_is_process(const struct schema_column *column)
{
    return column->reference == SCHEMA_PROCESS || column->reference == SCHEMA_PROCESS_OR_NONE;
}

/*
 * Orders all tables by their contents and makes equal rows one. BASE_MALFORMED: rows with equal
 * keys do not agree; *disagree is the table's name. The profile is unusable after a failure.
 */
enum base_status merge_settle(struct profile *profile, const char **disagree);

/* Shapes of spans by names instead of numbers: once, of a recording's own profile. */
enum base_status merge_rename_shapes(struct profile *profile);

/* Bins of ticks into bins that do not depend on how long a tick is. */
void merge_spread_bins(struct profile *profile);

#endif
