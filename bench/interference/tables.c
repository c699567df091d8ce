// SPDX-License-Identifier: MIT
/*
 * SQLite from two threads: tables DIRECTORY [TRANSACTIONS]. Each has a connection of its own to one
 * database in WAL mode; they write and read, wait for each other's transactions by the busy
 * handler, and share the library's allocator and its locks.
 */
#include "sqlite3.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, ROWS = 50 };
static const char *path;
static int transactions = 800;

static void must(sqlite3 *database, int status)
{
    if (status != SQLITE_OK && status != SQLITE_DONE && status != SQLITE_ROW) {
        fprintf(stderr, "tables: %s\n",
                database ? sqlite3_errmsg(database) : sqlite3_errstr(status));
        exit(1);
    }
}

static void run_one(sqlite3 *database, sqlite3_stmt *statement, int value)
{
    must(database, sqlite3_bind_int(statement, 1, value));
    while (sqlite3_step(statement) == SQLITE_ROW)
        ;
    must(database, sqlite3_reset(statement));
}

static sqlite3 *open_one(void)
{
    sqlite3 *database;
    must(NULL, sqlite3_open(path, &database));
    must(database, sqlite3_busy_timeout(database, 60000));
    must(database, sqlite3_exec(database, "pragma synchronous = off", NULL, NULL, NULL));
    return database;
}

static void *run(void *argument)
{
    int number = *(int *)argument;
    sqlite3 *database = open_one();
    sqlite3_stmt *insert, *select;
    must(database,
         sqlite3_prepare_v2(database, "insert into numbers values (?1, ?1 * 7 % 1000, hex(?1))", -1,
                            &insert, NULL));
    must(database,
         sqlite3_prepare_v2(database, "select count(*), max(text) from numbers where key = ?1", -1,
                            &select, NULL));
    for (int i = 0; i < transactions; i++) {
        must(database, sqlite3_exec(database, "begin immediate", NULL, NULL, NULL));
        for (int k = 0; k < ROWS; k++)
            run_one(database, insert, (i * ROWS + k) * THREADS + number);
        must(database, sqlite3_exec(database, "commit", NULL, NULL, NULL));
        for (int k = 0; k < 5; k++)
            run_one(database, select, (i * 31 + k * 17) % 1000);
    }
    must(database, sqlite3_finalize(insert));
    must(database, sqlite3_finalize(select));
    must(database, sqlite3_close(database));
    return NULL;
}

int main(int argc, char **argv)
{
    static char name[4096];
    pthread_t threads[THREADS];
    int numbers[THREADS];
    if (argc < 2)
        return 2;
    snprintf(name, sizeof name, "%s/tables.db", argv[1]);
    path = name;
    transactions = argc > 2 ? atoi(argv[2]) : transactions;
    sqlite3 *database = open_one();
    must(database,
         sqlite3_exec(database,
                      "pragma journal_mode = wal; create table numbers (value, key, text);"
                      "create index by_key on numbers (key)",
                      NULL, NULL, NULL));
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, run, &numbers[i]))
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    sqlite3_stmt *count;
    must(database, sqlite3_prepare_v2(database, "select count(*) from numbers", -1, &count, NULL));
    must(database, sqlite3_step(count));
    printf("%d rows\n", sqlite3_column_int(count, 0));
    must(database, sqlite3_finalize(count));
    must(database, sqlite3_close(database));
    return 0;
}
