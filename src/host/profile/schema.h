// SPDX-License-Identifier: MIT
/*
 * The tables of a profile file, each column declared once (schema.c): its SQL, how it is written,
 * read, checked and merged all follow from the declaration. docs/formats/profile.md says what the
 * columns mean.
 *
 * A later version adds tables (`since` = that version), columns that are no part of a primary
 * key, or keys of `run`; it changes nothing else. So every newer headroom reads every older file.
 *
 * Rejected: X-macros from which the structs of profile.h follow as well. The structs are what
 * everybody reads, and lists of macro calls hide their types from readers and tools.
 */
#ifndef HEADROOM_PROFILE_SCHEMA_H
#define HEADROOM_PROFILE_SCHEMA_H

#include "profile/profile.h"
#include <stdio.h>

/* "HDRF", at offset 68 of the file, where file(1) finds it too. */
#define SCHEMA_APPLICATION_ID UINT32_C(0x48445246)

enum schema_type {
    SCHEMA_POSITION, /* index of the item                             no member */
    SCHEMA_COUNT32,  /* 0 .. UINT32_MAX                               uint32_t */
    SCHEMA_COUNT64,  /* 0 .. INT64_MAX                                uint64_t */
    SCHEMA_SIGNED,   /*                                               int64_t */
    SCHEMA_ADDRESS,  /* all 64 bits, as two's complement              uint64_t */
    SCHEMA_REAL,     /* finite                                        double */
    SCHEMA_TEXT,     /*                                               const char *       */
    SCHEMA_NAME,     /* id in table `name`                            const char *       */
    SCHEMA_BUILD_ID, /* blob                          build_id, build_id_bytes of module */
};

/* What the value of a column refers to. */
enum schema_reference {
    SCHEMA_NO_REFERENCE,
    SCHEMA_ID,              /* an item of the target */
    SCHEMA_ID_OR_NONE,      /* the same, or 0, where items begin at 1 */
    SCHEMA_PARENT,          /* an item before this one in the same list, or 0: it has none */
    SCHEMA_RANGE,           /* the first of some items of the target; the next column has their
                               number. The ranges follow one another and fill the target's list */
    SCHEMA_PROCESS,         /* the id of a process of the recording, which is no index */
    SCHEMA_PROCESS_OR_NONE, /* the same, or UINT32_MAX */
};

/* What becomes of a column's values when rows with equal keys become one by merging. Every rule is
   associative and commutative. */
enum schema_rule {
    SCHEMA_KEPT,      /* nothing: of rows that never meet, or dealt with elsewhere */
    SCHEMA_KEY,       /* rows are equal if all their keys are, and are ordered by them in turn */
    SCHEMA_SUM,       /* ends at the largest number that the column takes */
    SCHEMA_SUM_KNOWN, /* negative: not known, and left out */
    SCHEMA_UNION,     /* of sets of bits */
    SCHEMA_LARGER,
    SCHEMA_SMALLER,
    SCHEMA_EARLIER, /* the smaller; 0: not known */
    SCHEMA_SAME,    /* must agree, else the profiles cannot be merged */
    SCHEMA_AGREED,  /* text that becomes NULL if they do not agree */
    SCHEMA_FOLDED,  /* the table's `fold` does it: the value depends on several columns */
};

struct schema_table;

struct schema_column {
    const char *name;
    enum schema_type type;
    enum schema_rule rule;
    bool null;            /* TEXT, NAME, BUILD_ID: may be NULL */
    int since;            /* version of the file, if later than the table's; 0 in older files */
    size_t offset, bytes; /* in the item */
    uint64_t most;        /* COUNT32, COUNT64 */
    double low, high;     /* SIGNED, REAL */
    enum schema_reference reference;
    const struct schema_table *target; /* of ids and ranges */
};

/* What becomes of a table's rows when profiles are merged. */
enum schema_merging {
    SCHEMA_JOIN,       /* rows of both, equal ones made one */
    SCHEMA_TREE,       /* the same; the second column is a parent */
    SCHEMA_APART,      /* rows of both; equal ones stay apart, in the order in which they came */
    SCHEMA_PARTS,      /* rows belong to those of `owner`; of equal owners the longest list stays */
    SCHEMA_SAME_PARTS, /* the same; lists of equal owners must agree */
    SCHEMA_SINGLE,     /* the only row, column by column */
    SCHEMA_WHOLE,      /* rows stay if both profiles have the same */
};

enum schema_order {
    SCHEMA_ANY_ORDER,
    SCHEMA_ASCENDING, /* by the keys, which differ */
    SCHEMA_GROUPED,   /* by the first column behind the position */
};

struct schema_table {
    const char *name;
    int since; /* version of the file */
    const struct schema_column *columns;
    size_t columns_count;
    size_t items; /* offset in struct profile of the list: pointer, count, capacity */
    size_t item_bytes;
    size_t index; /* in schema_tables */
    size_t first; /* items before that index exist implicitly (id 0: none) */
    size_t most;  /* rows; 0: as many as there may be */
    enum schema_order order;
    enum schema_merging merging;
    const struct schema_table *owner;
    void (*fold)(const struct profile *profile, void *to, const void *from);
};

/* schema_modules, schema_frames, ...; all of them; and `run`, whose items are keys and values. */
#define SCHEMA_DECLARE(list, item) extern const struct schema_table schema_##list;
PROFILE_LISTS(SCHEMA_DECLARE)
#undef SCHEMA_DECLARE
#define SCHEMA_INDEX(list, item) SCHEMA_INDEX_##list,
enum { PROFILE_LISTS(SCHEMA_INDEX) SCHEMA_TABLES };
#undef SCHEMA_INDEX
extern const struct schema_table *const schema_tables[SCHEMA_TABLES];
extern const struct schema_table schema_run;

/* Tables with another form: key/value and strings. */
extern const char schema_run_sql[], schema_name_sql[];

/* CREATE TABLE as it stands in files of that version: a file whose schema reads otherwise is
   refused. */
enum { SCHEMA_SQL_BYTES = 1024 };
void schema_sql(const struct schema_table *table, int version, char sql[SCHEMA_SQL_BYTES]);

/* ---- rows (rows.c) ------------------------------------------------------------------------- */

struct schema_items {
    char *items;
    size_t count;
};

struct schema_items schema_items(const struct profile *profile, const struct schema_table *table);

/* A zeroed new item at the end of the list, or NULL without memory. */
void *schema_add(struct profile *profile, const struct schema_table *table);

/* Cuts the list to its first `count` items. */
void schema_cut(struct profile *profile, const struct schema_table *table, size_t count);

/* By the values of a column; by those of all keys. */
int schema_compare(const struct schema_column *column, const void *a, const void *b);
int schema_compare_keys(const struct schema_table *table, const void *a, const void *b);

static inline bool schema_is_text(const struct schema_column *column)
{
    return column->type == SCHEMA_TEXT || column->type == SCHEMA_NAME;
}

#endif
