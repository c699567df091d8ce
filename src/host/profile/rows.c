// SPDX-License-Identifier: MIT
/*
 * Rows of any table, by its declaration.
 */
#include "profile/schema.h"
#include "util/util.h"

#include <assert.h>

/* As PROFILE_MEMBER lays it out. */
struct list {
    void *items;
    size_t count, capacity;
};

static struct list list_of(const struct profile *profile, const struct schema_table *table)
{
    struct list list;
    memcpy(&list, (const char *)profile + table->items, sizeof list);
    return list;
}

static void set_list(struct profile *profile, const struct schema_table *table, struct list list)
{
    memcpy((char *)profile + table->items, &list, sizeof list);
}

struct schema_items schema_items(const struct profile *profile, const struct schema_table *table)
{
    struct list list = list_of(profile, table);
    return (struct schema_items){list.items, list.count};
}

void *schema_add(struct profile *profile, const struct schema_table *table)
{
    struct list list = list_of(profile, table);
    if (!util_grow(&list.items, &list.capacity, list.count, table->item_bytes))
        return NULL;
    void *item = (char *)list.items + list.count++ * table->item_bytes;
    set_list(profile, table, list);
    return memset(item, 0, table->item_bytes);
}

void schema_cut(struct profile *profile, const struct schema_table *table, size_t count)
{
    struct list list = list_of(profile, table);
    assert(count <= list.count);
    list.count = count;
    set_list(profile, table, list);
}

/* ---- SQL ------------------------------------------------------------------------------------ */

static const char *sql_type(const struct schema_column *column)
{
    switch (column->type) {
    case SCHEMA_REAL: return "REAL";
    case SCHEMA_TEXT: return "TEXT";
    case SCHEMA_BUILD_ID: return "BLOB";
    default: return "INTEGER";
    }
}

static size_t count_keys(const struct schema_table *table)
{
    size_t count = 0;
    for (size_t c = 0; c < table->columns_count; c++)
        count += table->columns[c].rule == SCHEMA_KEY;
    return count;
}

/* The primary key is the position, or else the keys are. */
void schema_sql(const struct schema_table *table, int version, char sql[SCHEMA_SQL_BYTES])
{
    bool position = table->columns[0].type == SCHEMA_POSITION;
    size_t keys = position ? 1 : count_keys(table), named = 0;
    size_t used = (size_t)snprintf(sql, SCHEMA_SQL_BYTES, "CREATE TABLE %s(", table->name);
    for (size_t c = 0; c < table->columns_count; c++) {
        const struct schema_column *column = &table->columns[c];
        if (column->since > version)
            continue;
        used += (size_t)snprintf(sql + used, SCHEMA_SQL_BYTES - used, "%s%s %s%s", c ? ", " : "",
                                 column->name, sql_type(column),
                                 c == 0 && keys == 1 ? " PRIMARY KEY"
                                 : column->null      ? ""
                                                     : " NOT NULL");
    }
    for (size_t c = 0; keys > 1 && c < table->columns_count; c++)
        if (table->columns[c].rule == SCHEMA_KEY)
            used += (size_t)snprintf(sql + used, SCHEMA_SQL_BYTES - used, "%s%s",
                                     named++ ? ", " : ", PRIMARY KEY(", table->columns[c].name);
    snprintf(sql + used, SCHEMA_SQL_BYTES - used, keys > 1 ? ")) WITHOUT ROWID" : ")");
}

/* ---- order ---------------------------------------------------------------------------------- */

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

int schema_compare(const struct schema_column *column, const void *a, const void *b)
{
    const void *left = (const char *)a + column->offset, *right = (const char *)b + column->offset;
    switch (column->type) {
    case SCHEMA_POSITION: return 0;
    case SCHEMA_COUNT32: return COMPARE(uint32_t);
    case SCHEMA_COUNT64:
    case SCHEMA_ADDRESS: return COMPARE(uint64_t);
    case SCHEMA_SIGNED: return COMPARE(int64_t);
    case SCHEMA_REAL: return COMPARE(double);
    case SCHEMA_TEXT:
    case SCHEMA_NAME: return compare_texts(*(const char *const *)left, *(const char *const *)right);
    case SCHEMA_BUILD_ID: return compare_build_ids(a, b);
    }
    return 0;
}

int schema_compare_keys(const struct schema_table *table, const void *a, const void *b)
{
    for (size_t c = 0; c < table->columns_count; c++) {
        const struct schema_column *column = &table->columns[c];
        int order = column->rule == SCHEMA_KEY ? schema_compare(column, a, b) : 0;
        if (order)
            return order;
    }
    return 0;
}
