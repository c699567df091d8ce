// SPDX-License-Identifier: MIT
/*
 * Writes a profile file: a temporary file beside the wanted one, one transaction
 * without a journal (a failed temporary file is simply removed), then renames.
 *
 * Rejected: SQLite's own creation of the file, because it follows symlinks and
 * honours the umask instead of 0600.
 */
#include "profile/profile.h"
#include "profile/schema.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

struct writer {
    const struct profile *profile;
    sqlite3 *db;
    sqlite3_stmt *insert_name;
    struct util_strings names; /* number: id - 1 */
};

__attribute__((format(printf, 3, 4))) static void say(char *error, size_t error_bytes,
                                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (error_bytes)
        vsnprintf(error, error_bytes, format, arguments);
    va_end(arguments);
}

static enum base_status status_of_errno(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR: return BASE_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP: return BASE_DENIED;
    case ENOMEM: return BASE_NO_MEMORY;
    default: return BASE_IO;
    }
}

/* ---- names -------------------------------------------------------------------------------- */

/* Id of text in table `name`, inserted at its first use. SQLite status. */
static int name_id(struct writer *writer, const char *text, uint32_t *id)
{
    size_t known = writer->names.count;
    uint32_t number;
    if (!util_strings_add(&writer->names, text, strlen(text), &number))
        return SQLITE_NOMEM;
    *id = number + 1;
    if (number < known)
        return SQLITE_OK;
    sqlite3_bind_int64(writer->insert_name, 1, *id);
    sqlite3_bind_text(writer->insert_name, 2, text, -1, SQLITE_STATIC);
    int result = sqlite3_step(writer->insert_name);
    sqlite3_reset(writer->insert_name);
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* ---- rows --------------------------------------------------------------------------------- */

static int bind_name(struct writer *writer, sqlite3_stmt *statement, int index, const char *text)
{
    uint32_t id = 0;
    if (!text)
        return sqlite3_bind_null(statement, index);
    int result = name_id(writer, text, &id);
    return result == SQLITE_OK ? sqlite3_bind_int64(statement, index, id) : result;
}

static int bind_build_id(sqlite3_stmt *statement, int index, const struct profile_module *module)
{
    if (module->build_id_bytes == 0)
        return sqlite3_bind_null(statement, index);
    return sqlite3_bind_blob(statement, index, module->build_id, (int)module->build_id_bytes,
                             SQLITE_STATIC);
}

static int bind(struct writer *writer, sqlite3_stmt *statement, int index,
                const struct schema_column *column, const void *item, size_t position)
{
    const void *member = (const char *)item + column->offset;
    switch (column->type) {
    case SCHEMA_POSITION: return sqlite3_bind_int64(statement, index, (sqlite3_int64)position);
    case SCHEMA_COUNT32: return sqlite3_bind_int64(statement, index, *(const uint32_t *)member);
    case SCHEMA_COUNT64:
    case SCHEMA_ADDRESS:
    case SCHEMA_SIGNED: return sqlite3_bind_int64(statement, index, *(const int64_t *)member);
    case SCHEMA_REAL: return sqlite3_bind_double(statement, index, *(const double *)member);
    case SCHEMA_TEXT:
        return sqlite3_bind_text(statement, index, *(const char *const *)member, -1, SQLITE_STATIC);
    case SCHEMA_NAME: return bind_name(writer, statement, index, *(const char *const *)member);
    case SCHEMA_BUILD_ID: return bind_build_id(statement, index, item);
    }
    return SQLITE_MISUSE;
}

static int prepare_insert(struct writer *writer, const struct schema_table *table,
                          sqlite3_stmt **statement)
{
    char sql[256];
    int used = snprintf(sql, sizeof sql, "INSERT INTO \"%s\" VALUES(?", table->name);
    for (size_t i = 1; i < table->columns_count; i++)
        used += snprintf(sql + used, sizeof sql - (size_t)used, ",?");
    snprintf(sql + used, sizeof sql - (size_t)used, ")");
    return sqlite3_prepare_v2(writer->db, sql, -1, statement, NULL);
}

static int write_table(struct writer *writer, const struct schema_table *table)
{
    char sql[SCHEMA_SQL_BYTES];
    sqlite3_stmt *statement = NULL;
    struct schema_items items = schema_items(writer->profile, table);
    schema_sql(table, PROFILE_VERSION, sql);
    int result = sqlite3_exec(writer->db, sql, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = prepare_insert(writer, table, &statement);
    for (size_t i = table->first; i < items.count && result == SQLITE_OK; i++) {
        const void *item = items.items + i * table->item_bytes;
        for (size_t c = 0; c < table->columns_count && result == SQLITE_OK; c++)
            result = bind(writer, statement, (int)c + 1, &table->columns[c], item, i);
        if (result == SQLITE_OK && (result = sqlite3_step(statement)) == SQLITE_DONE)
            result = sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return result;
}

static int write_run(struct writer *writer)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_exec(writer->db, schema_run_sql, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result =
            sqlite3_prepare_v2(writer->db, "INSERT INTO run VALUES(?,?)", -1, &statement, NULL);
    for (size_t i = 0; i < schema_run.columns_count && result == SQLITE_OK; i++) {
        const struct schema_column *key = &schema_run.columns[i];
        sqlite3_bind_text(statement, 1, key->name, -1, SQLITE_STATIC);
        result = bind(writer, statement, 2, key, &writer->profile->run, 0);
        if (result == SQLITE_OK && (result = sqlite3_step(statement)) == SQLITE_DONE)
            result = sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return result;
}

/*
 * What is merged has the rows of the profiles that were read, each once, and of each text one copy,
 * as they have; pages may be filled worse. So four times their size is never reached; 1 MiB is for
 * a page of each table, and what merging adds about each recording. 0: no limit.
 */
static uint64_t most_pages(const struct profile *profile)
{
    uint64_t pages = (profile->file_bytes * 4 + (1 << 20)) / PAGE_BYTES;
    return profile->file_bytes == 0 ? 0 : pages < INT32_MAX ? pages : INT32_MAX;
}

static int write_all(struct writer *writer)
{
    char head[320];
    snprintf(head, sizeof head,
             "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
             "PRAGMA page_size=%d; PRAGMA max_page_count=%" PRIu64
             "; PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN",
             PAGE_BYTES, most_pages(writer->profile), (int)SCHEMA_APPLICATION_ID, PROFILE_VERSION);
    int result = sqlite3_exec(writer->db, head, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(writer->db, schema_name_sql, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(writer->db, "INSERT INTO name VALUES(?,?)", -1,
                                    &writer->insert_name, NULL);
    if (result == SQLITE_OK)
        result = write_run(writer);
    for (size_t i = 0; i < SCHEMA_TABLES && result == SQLITE_OK; i++)
        result = write_table(writer, schema_tables[i]);
    sqlite3_finalize(writer->insert_name);
    if (result == SQLITE_OK)
        result = sqlite3_exec(writer->db, "COMMIT", NULL, NULL, NULL);
    return result;
}

/* Fills the existing empty file `path`. It is nobody else's, so it is not locked (unix-none): a
   file system that cannot lock would make SQLite say that it is locked. */
static enum base_status write_database(const struct profile *profile, const char *path,
                                       const char *shown, char *error, size_t error_bytes)
{
    struct writer writer = {.profile = profile};
    int reason = 0;
    int result =
        sqlite3_open_v2(path, &writer.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix-none");
    /* Where SQLite may not open a file for writing it does so for reading, and says nothing. */
    if (result == SQLITE_OK && sqlite3_db_readonly(writer.db, "main") != 0)
        result = SQLITE_CANTOPEN;
    if (result == SQLITE_OK)
        result = write_all(&writer);
    if (writer.db)
        reason = sqlite3_system_errno(writer.db);
    sqlite3_close(writer.db);
    util_strings_free(&writer.names);
    if (result == SQLITE_OK)
        return BASE_OK;
    if (result == SQLITE_FULL && reason == 0 && profile->file_bytes) {
        say(error, error_bytes,
            "cannot write '%s': it would be more than four times as large as its input.", shown);
        return BASE_TOO_LARGE;
    }
    if (result == SQLITE_FULL || reason == ENOSPC || reason == EDQUOT) {
        say(error, error_bytes, "cannot write '%s': no space left on the disk.", shown);
        return BASE_IO;
    }
    say(error, error_bytes, "cannot write '%s': %s.", shown,
        reason                      ? strerror(reason)
        : result == SQLITE_CANTOPEN ? "the kernel does not let headroom open it for writing"
                                    : sqlite3_errstr(result));
    return result == SQLITE_NOMEM ? BASE_NO_MEMORY : BASE_IO;
}

/* ---- files -------------------------------------------------------------------------------- */

/* What stands at path may be replaced. *exists says whether anything does. */
static enum base_status check_target(const char *path, bool *exists, char *error,
                                     size_t error_bytes)
{
    struct stat info;
    if (path[0] == 0) {
        say(error, error_bytes, "the name of the profile is empty.");
        return BASE_NOT_FOUND;
    }
    if (lstat(path, &info) != 0) {
        if (errno == ENOENT && path[strlen(path) - 1] != '/') {
            *exists = false;
            return BASE_OK;
        }
        int number = errno;
        say(error, error_bytes, "cannot write '%s': %s.", path, strerror(number));
        return status_of_errno(number);
    }
    if (!S_ISREG(info.st_mode)) {
        say(error, error_bytes, "will not write '%s': it is %s.", path,
            S_ISLNK(info.st_mode)   ? "a symbolic link"
            : S_ISDIR(info.st_mode) ? "a directory"
                                    : "not a regular file");
        return BASE_DENIED;
    }
    *exists = true;
    return BASE_OK;
}

/* A new empty file beside path; its name goes to *name (malloc). */
static enum base_status open_temporary(const char *path, char **name, int *descriptor, char *error,
                                       size_t error_bytes)
{
    int number = ENOMEM;
    for (unsigned attempt = 0; attempt < 16; attempt++) {
        char *candidate = NULL;
        if (asprintf(&candidate, "%s.%d.%u.tmp", path, (int)getpid(), attempt) < 0)
            break;
        int opened = open(candidate, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (opened >= 0) {
            *name = candidate;
            *descriptor = opened;
            return BASE_OK;
        }
        number = errno;
        free(candidate);
        if (number != EEXIST)
            break;
    }
    say(error, error_bytes, "cannot write '%s': %s.", path, strerror(number));
    return status_of_errno(number);
}

/* What cannot be removed is named, behind what is said already. */
static enum base_status remove_temporary(const char *temporary, char *error, size_t error_bytes)
{
    if (unlink(temporary) == 0)
        return BASE_OK;
    int number = errno;
    size_t used = strnlen(error, error_bytes);
    say(error + used, error_bytes - used, "%scannot remove '%s': %s.",
        used ? " Besides, headroom " : "", temporary, strerror(number));
    return status_of_errno(number);
}

enum base_status profile_output_check(const char *path, char *error, size_t error_bytes)
{
    bool exists;
    char *temporary = NULL;
    int descriptor = -1;
    enum base_status status = check_target(path, &exists, error, error_bytes);
    if (status == BASE_OK)
        status = open_temporary(path, &temporary, &descriptor, error, error_bytes);
    if (status != BASE_OK)
        return status;
    close(descriptor);
    if (error_bytes)
        error[0] = 0;
    status = remove_temporary(temporary, error, error_bytes);
    free(temporary);
    return status;
}

/* The old profile steps aside, the new one takes its place. */
static enum base_status put_in_place(const char *temporary, const char *path, char *error,
                                     size_t error_bytes)
{
    bool exists = false;
    char *old = NULL;
    int number = 0;
    enum base_status status = check_target(path, &exists, error, error_bytes);
    if (status != BASE_OK)
        return status;
    if (exists && asprintf(&old, "%s.old", path) < 0) {
        say(error, error_bytes, "cannot write '%s': %s.", path, strerror(ENOMEM));
        return BASE_NO_MEMORY;
    }
    if (exists && rename(path, old) != 0) {
        number = errno;
        say(error, error_bytes, "cannot rename '%s' to '%s': %s.", path, old, strerror(number));
    } else if (rename(temporary, path) != 0) {
        number = errno;
        if (exists)
            rename(old, path);
        say(error, error_bytes, "cannot write '%s': %s.", path, strerror(number));
    }
    free(old);
    return number ? status_of_errno(number) : BASE_OK;
}

enum base_status profile_write(const struct profile *profile, const char *path, char *error,
                               size_t error_bytes)
{
    bool exists;
    char *temporary = NULL;
    int descriptor = -1;
    enum base_status status = check_target(path, &exists, error, error_bytes);
    if (status != BASE_OK)
        return status;
    if (!profile_check(profile)) {
        say(error, error_bytes, "cannot write '%s': the findings are inconsistent.", path);
        return BASE_MALFORMED;
    }
    status = open_temporary(path, &temporary, &descriptor, error, error_bytes);
    if (status != BASE_OK)
        return status;
    status = write_database(profile, temporary, path, error, error_bytes);
    /* Delayed allocation reports a full disk only here. */
    if (status == BASE_OK && fsync(descriptor) != 0) {
        say(error, error_bytes, "cannot write '%s': %s.", path, strerror(errno));
        status = BASE_IO;
    }
    if (status == BASE_OK)
        status = put_in_place(temporary, path, error, error_bytes);
    if (status != BASE_OK)
        remove_temporary(temporary, error, error_bytes);
    close(descriptor);
    free(temporary);
    return status;
}
