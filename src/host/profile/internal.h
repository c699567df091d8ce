// SPDX-License-Identifier: MIT
/*
 * Between the files of merging: what each table's columns do when rows meet (merge_rules.c), tables
 * put into the order that their contents give, equal rows made one (merge_settle.c), blocks of
 * `headroom interference` made comparable (merge_blocks.c), and merging itself (merge.c).
 */
#ifndef HEADROOM_PROFILE_INTERNAL_H
#define HEADROOM_PROFILE_INTERNAL_H

#include "profile/schema.h"

/*
 * What becomes of a column's values when rows with equal keys become one. A rule has a letter for
 * each column of its table:
 *
 *   k  key: rows are equal if all their keys are, and are ordered by them in turn
 *   +  the sum, which ends at the largest number that the column takes
 *   >  the larger
 *   <  the smaller
 *   =  must agree, else the profiles cannot be merged
 *   .  nothing: a position, or of rows that never meet, or dealt with by `fold` or merge_settle.c
 */
struct merge_rule {
    const char *table, *columns;
    bool apart; /* equal rows stay rows of their own, in the order in which they came */
    bool tree;  /* column 1 is a parent in the same table */
    /* Values that depend on several columns; called before the others are combined. */
    void (*fold)(const struct profile *profile, void *to, const void *from);
};

enum { MERGE_RULES = 34 };
/* Tables to which others refer come before those. */
extern const struct merge_rule merge_rules[MERGE_RULES];

/* A column that holds ids of a table, or indices into it. */
struct merge_reference {
    const char *table, *column, *target; /* target NULL: ids of processes, which are no indices */
};

enum { MERGE_REFERENCES = 43 };
extern const struct merge_reference merge_references[MERGE_REFERENCES];

/* A table by name, of those that there are; and a column of it. */
const struct schema_table *merge_table(const char *name);
const struct schema_column *merge_column(const struct schema_table *table, const char *name);

struct merge_items {
    char *items;
    size_t count, bytes; /* of one item */
};

struct merge_items merge_items(const struct profile *profile, const struct schema_table *table);

/* Cuts the list to its first `count` items. */
void merge_cut(struct profile *profile, const struct schema_table *table, size_t count);

/*
 * Orders all tables by their contents and makes equal rows one. BASE_MALFORMED: rows with equal
 * keys do not agree; *disagree is the table's name. The profile is unusable after a failure.
 */
enum base_status merge_settle(struct profile *profile, const char **disagree);

/* Shapes of blocks by names instead of numbers: once, of a recording's own profile. */
enum base_status merge_rename_shapes(struct profile *profile);

/* Bins of ticks into bins that do not depend on how long a tick is. */
void merge_spread_bins(struct profile *profile);

#endif
