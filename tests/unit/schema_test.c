// SPDX-License-Identifier: MIT
/*
 * What is written about the format follows from the declarations of the columns:
 * docs/formats/profile.sql word for word (`schema_test --print` prints what it should be), the
 * headings of docs/formats/profile.md in part. The tables of released versions never change.
 */
#include "../fuzz/sound_profile.h"
#include "profile/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <float.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- the description ------------------------------------------------------------------------- */

static const char *power(uint64_t most)
{
    static char text[24];
    if (most == UINT32_MAX)
        return "2^32-1";
    if (most == INT64_MAX)
        return "2^63-1";
    if (most == UINT64_C(1) << 50)
        return "2^50";
    snprintf(text, sizeof text, "%llu", (unsigned long long)most);
    return text;
}

static void describe_reference(const struct schema_column *column, char *text, size_t bytes)
{
    const char *target = column->target ? column->target->name : "";
    switch (column->reference) {
    case SCHEMA_NO_REFERENCE: break;
    case SCHEMA_ID: snprintf(text, bytes, "%s", target); break;
    case SCHEMA_ID_OR_NONE: snprintf(text, bytes, "%s, or 0", target); break;
    case SCHEMA_PARENT: snprintf(text, bytes, "earlier %s, or 0", target); break;
    case SCHEMA_RANGE: snprintf(text, bytes, "first %s of some", target); break;
    case SCHEMA_PROCESS: snprintf(text, bytes, "id of a process"); break;
    case SCHEMA_PROCESS_OR_NONE: snprintf(text, bytes, "id of a process, or 2^32-1"); break;
    }
}

static void describe_real(const struct schema_column *column, char *text, size_t bytes)
{
    if (column->low == 0)
        snprintf(text, bytes, "0 to %g", column->high);
    else if (column->low > 0)
        snprintf(text, bytes, "above 0 to %g", column->high);
    else if (column->high < DBL_MAX)
        snprintf(text, bytes, "up to %g", column->high);
    else
        snprintf(text, bytes, "any number");
}

static const char *describe_values(const struct schema_column *column)
{
    static char text[64];
    const char *null = column->null ? ", or NULL" : "";
    switch (column->type) {
    case SCHEMA_POSITION: snprintf(text, sizeof text, "index of the row"); break;
    case SCHEMA_COUNT32:
    case SCHEMA_COUNT64: snprintf(text, sizeof text, "0 to %s", power(column->most)); break;
    case SCHEMA_SIGNED: snprintf(text, sizeof text, "%g to %g", column->low, column->high); break;
    case SCHEMA_ADDRESS: snprintf(text, sizeof text, "64 bits"); break;
    case SCHEMA_REAL: describe_real(column, text, sizeof text); break;
    case SCHEMA_TEXT: snprintf(text, sizeof text, "text%s", null); break;
    case SCHEMA_NAME: snprintf(text, sizeof text, "name%s", null); break;
    case SCHEMA_BUILD_ID: snprintf(text, sizeof text, "1 to 32 bytes%s", null); break;
    }
    describe_reference(column, text, sizeof text);
    return text;
}

static void describe_column(const struct schema_column *column, FILE *out)
{
    static const char *const rules[] = {
        [SCHEMA_KEPT] = "",
        [SCHEMA_KEY] = "key",
        [SCHEMA_SUM] = "sum",
        [SCHEMA_SUM_KNOWN] = "sum of those not negative",
        [SCHEMA_UNION] = "all bits",
        [SCHEMA_LARGER] = "largest",
        [SCHEMA_SMALLER] = "smallest",
        [SCHEMA_EARLIER] = "smallest but 0",
        [SCHEMA_SAME] = "must be the same",
        [SCHEMA_AGREED] = "NULL unless the same",
        [SCHEMA_FOLDED] = "follows from several columns",
    };
    const char *rule = rules[column->rule];
    fprintf(out, rule[0] ? "--   %-21s %-27s %s" : "--   %-21s %s", column->name,
            describe_values(column), rule);
    if (column->since)
        fprintf(out, "; since version %d", column->since);
    fputc('\n', out);
}

static void describe_table(const struct schema_table *table, FILE *out)
{
    static const char *const mergings[] = {
        [SCHEMA_JOIN] = "rows with equal keys become one",
        [SCHEMA_TREE] = "rows with equal keys become one, parents first",
        [SCHEMA_APART] = "rows stay apart, in the order of their keys",
        [SCHEMA_PARTS] = "of equal owners the longest list stays",
        [SCHEMA_SAME_PARTS] = "lists of equal owners must be the same",
        [SCHEMA_SINGLE] = "one row",
        [SCHEMA_WHOLE] = "rows are kept if they are the same everywhere",
    };
    char sql[SCHEMA_SQL_BYTES];
    fprintf(out, "\n-- Since version %d. Merging: ", table->since);
    if (table->owner)
        fprintf(out, "rows belong to those of %s; ", table->owner->name);
    fprintf(out, "%s.\n", mergings[table->merging]);
    if (table->order == SCHEMA_ASCENDING)
        fputs("-- Rows are in the order of their keys, which differ.\n", out);
    if (table->order == SCHEMA_GROUPED)
        fprintf(out, "-- Rows are in the order of %s.\n", table->columns[1].name);
    schema_sql(table, PROFILE_VERSION, sql);
    fprintf(out, "%s;\n", sql);
    for (size_t c = 0; c < table->columns_count; c++)
        describe_column(&table->columns[c], out);
}

static void describe(FILE *out)
{
    fprintf(out,
            "-- The schema of profiles, format version %d, as SQLite prints it: in the file each "
            "statement stands\n"
            "-- exactly so. docs/formats/profile.md says what the columns mean. Below each table: "
            "its columns, their\n"
            "-- values, and what becomes of them when rows become one by merging. Values that are "
            "tables' names are\n"
            "-- ids of rows. Made by tests/unit/schema_test --print from the declarations in the "
            "code.\n",
            PROFILE_VERSION);
    fprintf(out, "\n%s;\n\n%s;\n", schema_name_sql, schema_run_sql);
    for (size_t c = 0; c < schema_run.columns_count; c++)
        describe_column(&schema_run.columns[c], out);
    for (size_t t = 0; t < SCHEMA_TABLES; t++)
        describe_table(schema_tables[t], out);
}

static char *read_document(const char *name)
{
    char path[4096];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/formats/%s", DOCS, name);
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    assert_non_null(file);
    assert_non_null(text);
    bytes = fread(text, 1, (1 << 20) - 1, file);
    assert_true(bytes > 0 && feof(file));
    fclose(file);
    return text;
}

static void the_description_is_up_to_date(void **state)
{
    char *wanted = NULL, *found = read_document("profile.sql");
    size_t bytes = 0;
    FILE *out = open_memstream(&wanted, &bytes);
    describe(out);
    fclose(out);
    if (strcmp(wanted, found) != 0) {
        size_t line = 1, at = 0;
        for (; wanted[at] && wanted[at] == found[at]; at++)
            line += wanted[at] == '\n';
        fail_msg("docs/formats/profile.sql is not what schema_test --print prints: line %zu", line);
    }
    free(wanted);
    free(found);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* What has the name in the file, or NULL; lives until the next call. */
static const char *sql_in_file(sqlite3 *db, const char *name)
{
    static char sql[SCHEMA_SQL_BYTES];
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_schema WHERE name = ?", -1,
                                        &statement, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    bool found = sqlite3_step(statement) == SQLITE_ROW;
    if (found)
        snprintf(sql, sizeof sql, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return found ? sql : NULL;
}

/* Each statement of the document is one of the file's, and the other way round. */
static void files_have_this_schema(void **state)
{
    char path[64] = "/tmp/headroom-schema-XXXXXX", error[PROFILE_ERROR_BYTES];
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    struct profile *profile = profile_new();
    profile->run.verb = "waste";
    profile->run.engine = "exact";
    profile->run.weighting = "accesses";
    profile->run.version = "0";
    assert_int_equal(profile_write(profile, path, error, sizeof error), BASE_OK);
    profile_free(profile);
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    char *document = read_document("profile.sql"), *rest = document;
    size_t statements = 0;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char name[64];
        if (sscanf(line, "CREATE TABLE %63[a-z_]", name) != 1)
            continue;
        line[strcspn(line, ";")] = 0;
        assert_non_null(sql_in_file(db, name));
        assert_string_equal(sql_in_file(db, name), line);
        statements++;
    }
    assert_int_equal(statements, SCHEMA_TABLES + 2);
    sqlite3_close(db);
    free(document);
    unlink(path);
    strcat(path, ".old");
    unlink(path);
}

/* A table changes only by columns of later versions once there are files that have it. */
static void released_tables_never_change(void **state)
{
    static const uint64_t hashes[] = {0x94e0934f471398fa, 0x94d7f6bd6c64fb7c, 0x8e4248534df2c046,
                                      0xe35e61928fb941e3, 0xe8e3b7791dbfc416, 0x14568894e1e2e79d,
                                      0xe7f9c622bc2b5987, 0x81d7c980ed31092d, 0x1930d3b3dc7a2e42,
                                      0x2cde06fdd5d5cf81, 0xa5f7570ded7dbff8, 0xf668eed7b5d3b989};
    for (size_t version = 1; version <= BASE_COUNT(hashes); version++) {
        char sql[SCHEMA_SQL_BYTES];
        uint64_t hash = 0;
        for (size_t t = 0; t < SCHEMA_TABLES; t++) {
            if (schema_tables[t]->since != (int)version)
                continue;
            schema_sql(schema_tables[t], (int)version, sql);
            hash = base_hash_bytes(sql, strlen(sql), hash);
        }
        if (hash != hashes[version - 1])
            fail_msg("a table of version %zu changed: 0x%016llx", version,
                     (unsigned long long)hash);
    }
}

/* ---- values beyond what is declared ------------------------------------------------------------
 */

/* A row in every table, and recordings whose processes are known. */
static struct profile *full_profile(void)
{
    struct profile *profile = profile_new();
    sound_profile_fill(profile);
    sound_profile_merge(profile);
    profile_total(profile);
    assert_true(profile_check(profile));
    return profile;
}

/* As the headroom of that time wrote them: without the tables and columns that came later. */
static void files_of_version_12_are_read(void **state)
{
    char path[64] = "/tmp/headroom-schema-XXXXXX", error[PROFILE_ERROR_BYTES];
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    struct profile *profile = full_profile(), *got = NULL;
    assert_int_equal(profile_write(profile, path, error, sizeof error), BASE_OK);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t t = 0; t < SCHEMA_TABLES; t++) {
        char sql[128];
        snprintf(sql, sizeof sql, "DROP TABLE %s", schema_tables[t]->name);
        if (schema_tables[t]->since > 12)
            assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    assert_int_equal(
        sqlite3_exec(db,
                     "ALTER TABLE transfer DROP COLUMN kind; ALTER TABLE transfer DROP COLUMN size;"
                     "ALTER TABLE shared_watch DROP COLUMN cross_process;"
                     "ALTER TABLE shared_watch DROP COLUMN spun;"
                     "DELETE FROM run WHERE key = 'short_threads'; PRAGMA user_version = 12",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    if (profile_read(path, &got, error, sizeof error) != BASE_OK)
        fail_msg("%s", error);
    assert_int_equal(got->shared_watches_count, profile->shared_watches_count);
    assert_int_equal(got->shared_watches[0].met, profile->shared_watches[0].met);
    assert_int_equal(got->shared_watches[0].cross_process, 0);
    assert_true(got->transfers_count > 0 && got->transfers[0].kind == 0);
    assert_true(got->transfers[0].whole == profile->transfers[0].whole);
    profile_free(got);
    profile_free(profile);
    unlink(path);
    strcat(path, ".old");
    unlink(path);
}

struct planting {
    struct profile *profile;
    const struct schema_column *column;
    char *item;
    unsigned planted;
};

static void plant(struct planting *self, const void *value, size_t bytes)
{
    char kept[8], *place = self->item + self->column->offset;
    memcpy(kept, place, bytes);
    memcpy(place, value, bytes);
    if (profile_check(self->profile))
        fail_msg("something odd in %s is not refused", self->column->name);
    memcpy(place, kept, bytes);
    self->planted++;
}

static void plant_number(struct planting *self, uint64_t number)
{
    uint32_t narrow = (uint32_t)number;
    bool wide = self->column->type == SCHEMA_COUNT64;
    plant(self, wide ? (const void *)&number : (const void *)&narrow, wide ? 8 : 4);
}

static void plant_real(struct planting *self, double number)
{
    plant(self, &number, sizeof number);
}

static void plant_reference(struct planting *self, size_t index)
{
    const struct schema_column *column = self->column;
    size_t count = column->target ? schema_items(self->profile, column->target).count : 0;
    switch (column->reference) {
    case SCHEMA_NO_REFERENCE: break;
    case SCHEMA_ID:
        if (column->target->first)
            plant_number(self, 0);
        plant_number(self, count);
        break;
    case SCHEMA_ID_OR_NONE: plant_number(self, count); break;
    case SCHEMA_PARENT: plant_number(self, index); break;
    case SCHEMA_RANGE: plant_number(self, count); break;
    case SCHEMA_PROCESS:
        plant_number(self, UINT32_MAX);
        plant_number(self, 9);
        break;
    case SCHEMA_PROCESS_OR_NONE: plant_number(self, 9); break;
    }
}

static void plant_beyond(struct planting *self, size_t index)
{
    const struct schema_column *column = self->column;
    int64_t low = column->low > -0x1p62 ? (int64_t)column->low - 1 : INT64_MIN;
    int64_t high = column->high < 0x1p62 ? (int64_t)column->high + 1 : INT64_MAX;
    const char *null = NULL;
    switch (column->type) {
    case SCHEMA_POSITION:
    case SCHEMA_ADDRESS: break;
    case SCHEMA_COUNT32:
    case SCHEMA_COUNT64:
        plant_reference(self, index);
        if (column->most < UINT32_MAX || column->type == SCHEMA_COUNT64)
            plant_number(self, column->most + 1);
        break;
    case SCHEMA_SIGNED:
        plant(self, &low, sizeof low);
        plant(self, &high, sizeof high);
        break;
    case SCHEMA_REAL:
        plant_real(self, (double)NAN);
        plant_real(self, column->high * 2);
        plant_real(self, column->low < 0 ? -INFINITY : column->low > 0 ? 0 : -1);
        break;
    case SCHEMA_TEXT:
    case SCHEMA_NAME:
        if (!column->null)
            plant(self, &null, sizeof null);
        break;
    case SCHEMA_BUILD_ID:
        self->profile->modules[index].build_id_bytes = PROFILE_BUILD_ID_BYTES + 1;
        assert_false(profile_check(self->profile));
        self->profile->modules[index].build_id_bytes = 0;
        break;
    }
    assert_true(profile_check(self->profile));
}

static void what_is_beyond_its_declaration_is_refused(void **state)
{
    struct planting self = {.profile = full_profile()};
    for (size_t t = 0; t < SCHEMA_TABLES; t++) {
        const struct schema_table *table = schema_tables[t];
        struct schema_items items = schema_items(self.profile, table);
        if (items.count <= table->first)
            fail_msg("no row in %s to try it out on", table->name);
        self.item = items.items + table->first * table->item_bytes;
        for (size_t c = 0; c < table->columns_count; c++) {
            self.column = &table->columns[c];
            plant_beyond(&self, table->first);
        }
    }
    self.item = (char *)&self.profile->run;
    for (size_t c = 0; c < schema_run.columns_count; c++) {
        self.column = &schema_run.columns[c];
        plant_beyond(&self, 0);
    }
    assert_true(self.planted > 300);
    profile_free(self.profile);
}

/* ---- docs/formats/profile.md ----------------------------------------------------------------- */

static void has(const char *document, const char *text)
{
    if (!strstr(document, text))
        fail_msg("docs/formats/profile.md lacks \"%s\"", text + strspn(text, "\n"));
}

static void headings_name_every_column(void **state)
{
    char *document = read_document("profile.md");
    for (size_t t = 0; t < SCHEMA_TABLES; t++) {
        const struct schema_table *table = schema_tables[t];
        char heading[1024];
        int used = snprintf(heading, sizeof heading, "\n### %s:", table->name);
        for (size_t c = 0; c < table->columns_count; c++)
            used += snprintf(heading + used, sizeof heading - (size_t)used, "%s %s", c ? "," : "",
                             table->columns[c].name);
        snprintf(heading + used, sizeof heading - (size_t)used, "\n");
        has(document, heading);
    }
    free(document);
}

/* `| keys, separated so | meaning |` */
static bool row_names(const char *document, const char *key)
{
    const char *end = strstr(document, "\n### argument");
    for (const char *row = strstr(document, "\n### run"); row && row < end;
         row = strchr(row + 1, '\n')) {
        const char *cell = row + 3, *found;
        size_t bytes = strlen(key);
        if (strncmp(row, "\n| ", 3) != 0)
            continue;
        for (const char *stop = strchr(cell, '|'); (found = strstr(cell, key)) && found < stop;
             cell = found + 1)
            if (found[-1] == ' ' && (found[bytes] == ',' || found[bytes] == ' '))
                return true;
    }
    return false;
}

static void every_key_of_the_run_is_described(void **state)
{
    char *document = read_document("profile.md");
    assert_false(row_names(document, "no_such_key"));
    assert_false(row_names(document, "wall"));
    for (size_t c = 0; c < schema_run.columns_count; c++)
        if (!row_names(document, schema_run.columns[c].name))
            fail_msg("docs/formats/profile.md does not describe run.%s",
                     schema_run.columns[c].name);
    free(document);
}

static void versions_name_their_tables(void **state)
{
    char *document = read_document("profile.md"), version[64];
    snprintf(version, sizeof version, "# The profile, format version %d\n", PROFILE_VERSION);
    has(document, version);
    snprintf(version, sizeof version, "| `PRAGMA user_version` | %d |\n", PROFILE_VERSION);
    has(document, version);
    for (int since = 2; since <= PROFILE_VERSION; since++) {
        char row[1024];
        int used = snprintf(row, sizeof row, "\n| %d |", since), tables = 0;
        for (size_t t = 0; t < SCHEMA_TABLES; t++)
            if (schema_tables[t]->since == since)
                used += snprintf(row + used, sizeof row - (size_t)used, "%s `%s`",
                                 tables++ ? "," : "", schema_tables[t]->name);
        has(document, row);
    }
    free(document);
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "--print") == 0) {
        describe(stdout);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_description_is_up_to_date),
        cmocka_unit_test(files_have_this_schema),
        cmocka_unit_test(released_tables_never_change),
        cmocka_unit_test(files_of_version_12_are_read),
        cmocka_unit_test(what_is_beyond_its_declaration_is_refused),
        cmocka_unit_test(headings_name_every_column),
        cmocka_unit_test(every_key_of_the_run_is_described),
        cmocka_unit_test(versions_name_their_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
