// SPDX-License-Identifier: MIT
/*
 * Reads a profile file that may come from anywhere. The header is looked at
 * before SQLite sees the file; the schema must be the expected text, so nothing
 * in the file is ever executed; journals beside it are ignored (immutable=1).
 *
 * A damaged b-tree may lead SQLite through the same pages many times: rows and
 * text are bounded by what a file of this size can hold, and the virtual
 * machine's steps are bounded too.
 */
#include "profile/profile.h"
#include "profile/schema.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 100,
    HEADER_PAGE_BYTES = 16,
    HEADER_PAGES = 28,
    HEADER_USER_VERSION = 60,
    HEADER_APPLICATION_ID = 68,
    /* A row takes a cell pointer (2), a payload length, a header and a byte of content. */
    LEAST_ROW_BYTES = 5,
    LONGEST_TEXT_BYTES = 1 << 20,
    STEPS_BETWEEN_CHECKS = 10000,
};

struct reader {
    struct profile *profile;
    sqlite3 *db;
    uint64_t file_bytes, text_bytes; /* text may not exceed the file */
    uint64_t steps;
    int version;
    const char **names; /* by id; [0] is NULL */
    size_t names_count, names_capacity;
    bool out_of_memory, too_deep;
    char trouble[128]; /* what kept SQLite from reading a file that may be as it should; or "" */
};

static uint32_t big_endian32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* ---- before SQLite ------------------------------------------------------------------------ */

static enum base_status fail_open(const char *path, int number, char *error, size_t error_bytes)
{
    snprintf(error, error_bytes, "cannot read '%s': %s.", path, strerror(number));
    if (number == ENOENT || number == ENOTDIR)
        return BASE_NOT_FOUND;
    return number == EACCES || number == EPERM ? BASE_DENIED : BASE_IO;
}

/* SQLite reads what is missing of the last page as zeros. */
static bool is_whole(const unsigned char *header, uint64_t file_bytes)
{
    uint32_t page = (uint32_t)header[HEADER_PAGE_BYTES] << 8 | header[HEADER_PAGE_BYTES + 1];
    page = page == 1 ? 65536 : page;
    return (uint64_t)page * big_endian32(header + HEADER_PAGES) == file_bytes;
}

static enum base_status judge_header(const unsigned char *header, const char *path, int *version,
                                     char *error, size_t error_bytes)
{
    if (memcmp(header, "SQLite format 3", 16) != 0 ||
        big_endian32(header + HEADER_APPLICATION_ID) != SCHEMA_APPLICATION_ID) {
        snprintf(error, error_bytes, "'%s' is not a headroom profile.", path);
        return BASE_MALFORMED;
    }
    uint32_t found = big_endian32(header + HEADER_USER_VERSION);
    if (found > PROFILE_VERSION && found < 1000000) {
        snprintf(error, error_bytes,
                 "'%s' was written by a newer headroom (format %u, this one reads up to %d).", path,
                 found, PROFILE_VERSION);
        return BASE_TOO_NEW;
    }
    if (found == 0 || found > PROFILE_VERSION) {
        snprintf(error, error_bytes, "'%s' is damaged: it states no valid format version.", path);
        return BASE_MALFORMED;
    }
    *version = (int)found;
    return BASE_OK;
}

/* Sizes, kind of file, magic numbers, version. */
static enum base_status look_at_header(const char *path, struct reader *reader, char *error,
                                       size_t error_bytes)
{
    unsigned char header[HEADER_BYTES];
    struct stat info;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0)
        return fail_open(path, errno, error, error_bytes);
    enum base_status status = BASE_MALFORMED;
    ssize_t got = -1;
    if (fstat(descriptor, &info) != 0) {
        status = fail_open(path, errno, error, error_bytes);
    } else if (!S_ISREG(info.st_mode)) {
        snprintf(error, error_bytes, "cannot read '%s': it is %s.", path,
                 S_ISDIR(info.st_mode) ? "a directory" : "not a regular file");
        status = BASE_IO;
    } else if ((got = pread(descriptor, header, sizeof header, 0)) < 0) {
        status = fail_open(path, errno, error, error_bytes);
    } else if (got < (ssize_t)sizeof header) {
        snprintf(error, error_bytes, "'%s' is not a headroom profile.", path);
    } else {
        status = judge_header(header, path, &reader->version, error, error_bytes);
        reader->file_bytes = (uint64_t)info.st_size;
        if (status == BASE_OK && !is_whole(header, reader->file_bytes)) {
            snprintf(error, error_bytes, "'%s' is damaged: it was cut short.", path);
            status = BASE_MALFORMED;
        }
    }
    close(descriptor);
    return status;
}

/* "file:" + path with everything but plain characters escaped + "?immutable=1". */
static char *uri_of(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-";
    char *uri = malloc(strlen(path) * 3 + 32);
    if (!uri)
        return NULL;
    /* "file://" would start a host name. */
    char *end = stpcpy(uri, path[0] == '/' ? "file://" : "file:");
    for (; *path; path++) {
        if (strchr(plain, *path))
            *end++ = *path;
        else
            end += sprintf(end, "%%%02x", (unsigned char)*path);
    }
    strcpy(end, "?immutable=1");
    return uri;
}

/* ---- the database --------------------------------------------------------------------------- */

static int interrupted(void *context)
{
    struct reader *reader = context;
    reader->steps += STEPS_BETWEEN_CHECKS;
    /* Some 40 steps a row; 64 a byte leave an order of magnitude. */
    return reader->steps > 10000000 + reader->file_bytes * 64;
}

static bool open_database(struct reader *reader, const char *path)
{
    char *uri = uri_of(path);
    if (!uri) {
        reader->out_of_memory = true;
        return false;
    }
    int result = sqlite3_open_v2(
        uri, &reader->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    free(uri);
    if (result != SQLITE_OK)
        return false;
    sqlite3_limit(reader->db, SQLITE_LIMIT_LENGTH, LONGEST_TEXT_BYTES);
    sqlite3_limit(reader->db, SQLITE_LIMIT_SQL_LENGTH, 4096);
    sqlite3_limit(reader->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(reader->db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    sqlite3_db_config(reader->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(reader->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(reader->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_progress_handler(reader->db, STEPS_BETWEEN_CHECKS, interrupted, reader);
    return sqlite3_exec(reader->db,
                        "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
                        "PRAGMA query_only=ON",
                        NULL, NULL, NULL) == SQLITE_OK;
}

static bool is_expected(const struct reader *reader, const char *name, const char *sql)
{
    char expected[SCHEMA_SQL_BYTES];
    if (strcmp(name, "run") == 0)
        return strcmp(sql, schema_run_sql) == 0;
    if (strcmp(name, "name") == 0)
        return strcmp(sql, schema_name_sql) == 0;
    for (size_t i = 0; i < SCHEMA_TABLES; i++)
        if (strcmp(name, schema_tables[i]->name) == 0 &&
            schema_tables[i]->since <= reader->version) {
            schema_sql(schema_tables[i], reader->version, expected);
            return strcmp(sql, expected) == 0;
        }
    return false;
}

/* Exactly the tables of the file's version, exactly as we would have made them. */
static bool check_schema(struct reader *reader)
{
    sqlite3_stmt *statement = NULL;
    size_t expected = 2, found = 0;
    bool good = true;
    for (size_t i = 0; i < SCHEMA_TABLES; i++)
        expected += schema_tables[i]->since <= reader->version;
    if (sqlite3_prepare_v2(reader->db, "SELECT type, name, sql FROM sqlite_schema", -1, &statement,
                           NULL) != SQLITE_OK)
        return false;
    int result;
    while (good && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *type = (const char *)sqlite3_column_text(statement, 0);
        const char *name = (const char *)sqlite3_column_text(statement, 1);
        const char *sql = (const char *)sqlite3_column_text(statement, 2);
        good = type && strcmp(type, "table") == 0 && name && sql &&
               is_expected(reader, name, sql) && ++found <= expected;
    }
    good = good && result == SQLITE_DONE && found == expected;
    sqlite3_finalize(statement);
    return good;
}

/* ---- values --------------------------------------------------------------------------------- */

static bool read_text(struct reader *reader, sqlite3_stmt *statement, int index, const char **out)
{
    if (sqlite3_column_type(statement, index) == SQLITE_NULL) {
        *out = NULL;
        return true;
    }
    if (sqlite3_column_type(statement, index) != SQLITE_TEXT)
        return false;
    const char *text = (const char *)sqlite3_column_text(statement, index);
    size_t bytes = (size_t)sqlite3_column_bytes(statement, index);
    if (!text || strlen(text) != bytes)
        return false;
    reader->text_bytes += bytes;
    if (reader->text_bytes > reader->file_bytes)
        return false;
    const char *kept = profile_keep(reader->profile, text);
    if (!kept) {
        reader->out_of_memory = true;
        return false;
    }
    *out = kept;
    return true;
}

static bool read_name(struct reader *reader, sqlite3_stmt *statement, int index, const char **out)
{
    if (sqlite3_column_type(statement, index) == SQLITE_NULL) {
        *out = NULL;
        return true;
    }
    sqlite3_int64 id = sqlite3_column_int64(statement, index);
    if (sqlite3_column_type(statement, index) != SQLITE_INTEGER || id <= 0 ||
        (uint64_t)id >= reader->names_count)
        return false;
    *out = reader->names[id];
    return true;
}

static bool read_build_id(sqlite3_stmt *statement, int index, struct profile_module *module)
{
    if (sqlite3_column_type(statement, index) == SQLITE_NULL)
        return true;
    int bytes = sqlite3_column_bytes(statement, index);
    const void *blob = sqlite3_column_blob(statement, index);
    if (sqlite3_column_type(statement, index) != SQLITE_BLOB || !blob || bytes <= 0 ||
        bytes > PROFILE_BUILD_ID_BYTES)
        return false;
    memcpy(module->build_id, blob, (size_t)bytes);
    module->build_id_bytes = (uint32_t)bytes;
    return true;
}

/* The value is fetched once for its type and itself: on a connection without a mutex it may be
   looked at like a protected one, and each sqlite3_column_ call would find it anew. */
static bool read_integer(sqlite3_stmt *statement, int index, sqlite3_int64 low, sqlite3_int64 high,
                         sqlite3_int64 *out)
{
    sqlite3_value *value = sqlite3_column_value(statement, index);
    if (sqlite3_value_type(value) != SQLITE_INTEGER)
        return false;
    *out = sqlite3_value_int64(value);
    return *out >= low && *out <= high;
}

static bool read_real(sqlite3_stmt *statement, int index, double *out)
{
    sqlite3_value *value = sqlite3_column_value(statement, index);
    int type = sqlite3_value_type(value);
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER)
        return false;
    *out = sqlite3_value_double(value);
    return isfinite(*out);
}

static bool read_value(struct reader *reader, sqlite3_stmt *statement, int index,
                       const struct schema_column *column, void *item, size_t position)
{
    void *member = (char *)item + column->offset;
    sqlite3_int64 integer = 0;
    bool good;
    switch (column->type) {
    case SCHEMA_POSITION:
        return read_integer(statement, index, (sqlite3_int64)position, (sqlite3_int64)position,
                            &integer);
    case SCHEMA_COUNT32:
        good = read_integer(statement, index, 0, UINT32_MAX, &integer);
        *(uint32_t *)member = (uint32_t)integer;
        return good;
    case SCHEMA_COUNT64:
    case SCHEMA_ADDRESS:
    case SCHEMA_SIGNED:
        good = read_integer(statement, index, column->type == SCHEMA_COUNT64 ? 0 : INT64_MIN,
                            INT64_MAX, &integer);
        *(int64_t *)member = integer;
        return good;
    case SCHEMA_REAL: return read_real(statement, index, member);
    case SCHEMA_TEXT: return read_text(reader, statement, index, member);
    case SCHEMA_NAME: return read_name(reader, statement, index, member);
    case SCHEMA_BUILD_ID: return read_build_id(statement, index, item);
    }
    return false;
}

/* ---- tables --------------------------------------------------------------------------------- */

static bool too_many(const struct reader *reader, uint64_t rows)
{
    return rows * LEAST_ROW_BYTES > reader->file_bytes;
}

static bool add_name(struct reader *reader, const char *text)
{
    bool added = UTIL_PUSH(reader->names, reader->names_count, reader->names_capacity, text);
    reader->out_of_memory |= !added;
    return added;
}

static bool read_names(struct reader *reader)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_int64 id;
    int result = SQLITE_ERROR;
    bool good = add_name(reader, NULL) &&
                sqlite3_prepare_v2(reader->db, "SELECT id, text FROM name ORDER BY id", -1,
                                   &statement, NULL) == SQLITE_OK;
    while (good && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        sqlite3_int64 next = (sqlite3_int64)reader->names_count;
        const char *text = NULL;
        good = read_integer(statement, 0, next, next, &id) &&
               read_text(reader, statement, 1, &text) && text && add_name(reader, text) &&
               !too_many(reader, reader->names_count - 1);
    }
    sqlite3_finalize(statement);
    return good && result == SQLITE_DONE;
}

static bool read_run(struct reader *reader)
{
    sqlite3_stmt *statement = NULL;
    int result = SQLITE_ERROR;
    uint64_t rows = 0;
    bool good = sqlite3_prepare_v2(reader->db, "SELECT key, value FROM run", -1, &statement,
                                   NULL) == SQLITE_OK;
    while (good && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(statement, 0);
        good = key && ++rows < 1000;
        for (size_t i = 0; good && i < schema_run.columns_count; i++)
            if (strcmp(key, schema_run.columns[i].name) == 0)
                good = read_value(reader, statement, 1, &schema_run.columns[i],
                                  &reader->profile->run, 0);
    }
    sqlite3_finalize(statement);
    return good && result == SQLITE_DONE;
}

static bool prepare_select(struct reader *reader, const struct schema_table *table,
                           sqlite3_stmt **statement)
{
    char sql[512];
    int used = snprintf(sql, sizeof sql, "SELECT");
    for (size_t i = 0; i < table->columns_count; i++)
        used += snprintf(sql + used, sizeof sql - (size_t)used,
                         table->columns[i].since > reader->version ? "%s 0" : "%s \"%s\"",
                         i ? "," : "", table->columns[i].name);
    used += snprintf(sql + used, sizeof sql - (size_t)used, " FROM \"%s\"", table->name);
    if (table->columns[0].type == SCHEMA_POSITION)
        snprintf(sql + used, sizeof sql - (size_t)used, " ORDER BY \"%s\"", table->columns[0].name);
    return sqlite3_prepare_v2(reader->db, sql, -1, statement, NULL) == SQLITE_OK;
}

static bool read_table(struct reader *reader, const struct schema_table *table)
{
    sqlite3_stmt *statement = NULL;
    int result = SQLITE_ERROR;
    size_t position = table->first;
    bool good = prepare_select(reader, table, &statement);
    while (good && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        bool fits = !too_many(reader, position - table->first + 1);
        void *item = fits ? schema_add(reader->profile, table) : NULL;
        reader->out_of_memory |= fits && !item;
        good = item != NULL;
        for (size_t c = 0; good && c < table->columns_count; c++)
            good = read_value(reader, statement, (int)c, &table->columns[c], item, position);
        position++;
    }
    sqlite3_finalize(statement);
    return good && result == SQLITE_DONE;
}

static void note_trouble(struct reader *reader)
{
    int code = sqlite3_errcode(reader->db) & 0xff, reason = sqlite3_system_errno(reader->db);
    if (code == SQLITE_NOMEM)
        reader->out_of_memory = true;
    else if (reason || code == SQLITE_IOERR || code == SQLITE_CANTOPEN)
        snprintf(reader->trouble, sizeof reader->trouble, "%s",
                 reason                    ? strerror(reason)
                 : code == SQLITE_CANTOPEN ? "the kernel does not let headroom open it"
                                           : sqlite3_errstr(code));
}

static bool check_depth(struct reader *reader)
{
    uint32_t depth = profile_depth(reader->profile);
    reader->out_of_memory |= depth == UINT32_MAX;
    reader->too_deep = depth != UINT32_MAX && depth > PROFILE_DEPTH_MAX;
    return depth <= PROFILE_DEPTH_MAX;
}

static bool read_database(struct reader *reader, const char *path)
{
    bool good = open_database(reader, path) && check_schema(reader) && read_names(reader) &&
                read_run(reader);
    for (size_t i = 0; good && i < SCHEMA_TABLES; i++)
        if (schema_tables[i]->since <= reader->version)
            good = read_table(reader, schema_tables[i]);
    if (!good && reader->db)
        note_trouble(reader);
    sqlite3_close(reader->db);
    free(reader->names);
    return good && profile_check(reader->profile) && check_depth(reader);
}

static enum base_status fail_read(const struct reader *reader, const char *path, char *error,
                                  size_t error_bytes)
{
    if (reader->too_deep) {
        snprintf(error, error_bytes,
                 "cannot read '%s': its calling contexts are more than %d frames deep, deeper than "
                 "those of any recording.",
                 path, PROFILE_DEPTH_MAX);
        return BASE_TOO_LARGE;
    }
    if (reader->out_of_memory || reader->trouble[0]) {
        snprintf(error, error_bytes, "cannot read '%s': %s.", path,
                 reader->out_of_memory ? "out of memory" : reader->trouble);
        return reader->out_of_memory ? BASE_NO_MEMORY : BASE_IO;
    }
    snprintf(error, error_bytes, "'%s' is damaged and cannot be read.", path);
    return BASE_MALFORMED;
}

enum base_status profile_read(const char *path, struct profile **profile, char *error,
                              size_t error_bytes)
{
    struct reader reader = {0};
    enum base_status status = look_at_header(path, &reader, error, error_bytes);
    if (status != BASE_OK)
        return status;
    reader.profile = profile_new();
    if (!reader.profile) {
        snprintf(error, error_bytes, "cannot read '%s': out of memory.", path);
        return BASE_NO_MEMORY;
    }
    if (read_database(&reader, path)) {
        profile_total(reader.profile);
        reader.profile->file_bytes = reader.file_bytes;
        *profile = reader.profile;
        return BASE_OK;
    }
    profile_free(reader.profile);
    return fail_read(&reader, path, error, error_bytes);
}
