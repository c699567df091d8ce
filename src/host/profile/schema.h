// SPDX-License-Identifier: MIT
/*
 * The tables of a profile file, described once: writing, reading and the check of
 * a foreign file's schema all go by these descriptions. docs/formats/profile.md
 * says what the columns mean.
 *
 * A later version adds tables (`since` = that version) or keys of `run`; it never
 * changes a table. So every newer headroom reads every older file.
 */
#ifndef HEADROOM_PROFILE_SCHEMA_H
#define HEADROOM_PROFILE_SCHEMA_H

#include "profile/profile.h"
#include <stdio.h>

/* "HDRF", at offset 68 of the file, where file(1) finds it too. */
#define SCHEMA_APPLICATION_ID UINT32_C(0x48445246)

enum schema_type {
    SCHEMA_POSITION, /* index of the item                             no member          */
    SCHEMA_COUNT32,  /* 0 .. UINT32_MAX                               uint32_t           */
    SCHEMA_COUNT64,  /* 0 .. INT64_MAX                                uint64_t           */
    SCHEMA_SIGNED,   /*                                               int64_t            */
    SCHEMA_ADDRESS,  /* all 64 bits, as two's complement              uint64_t           */
    SCHEMA_REAL,     /* finite                                        double             */
    SCHEMA_TEXT,     /* or NULL                                       const char *       */
    SCHEMA_NAME,     /* id in table `name`, or NULL                   const char *       */
    SCHEMA_BUILD_ID, /* blob or NULL                  build_id, build_id_bytes of module */
};

struct schema_column {
    const char *name;
    enum schema_type type;
    size_t offset; /* in the item, or in struct profile_run */
};

struct schema_table {
    const char *name, *sql;
    const struct schema_column *columns;
    size_t columns_count;
    size_t first; /* items before that index exist implicitly (id 0: none) */
    size_t items; /* offset of the items' pointer in struct profile; the count follows */
    size_t item_bytes;
    void *(*add)(struct profile *profile);
    int since;
};

enum { SCHEMA_TABLES = 41 };
extern const struct schema_table schema_tables[SCHEMA_TABLES];

/* Tables with another form: key/value and strings. */
extern const char schema_run_sql[], schema_name_sql[];

enum { SCHEMA_RUN_KEYS = 26 };
extern const struct schema_column schema_run_keys[SCHEMA_RUN_KEYS];

static inline const void *schema_items(const struct profile *profile,
                                       const struct schema_table *table, size_t *count)
{
    const char *member = (const char *)profile + table->items;
    *count = *(const size_t *)(const void *)(member + sizeof(void *));
    return *(const void *const *)(const void *)member;
}

#endif
