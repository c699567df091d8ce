// SPDX-License-Identifier: MIT
/* Two threads with an SQLite database each, in memory: nothing in the program is shared. queries ROWS */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static long rows;

static void run(sqlite3 *database, const char *text)
{
    char *error = NULL;
    if (sqlite3_exec(database, text, NULL, NULL, &error) != SQLITE_OK) {
        fprintf(stderr, "queries: %s\n", error);
        exit(1);
    }
}

static void fill(sqlite3 *database)
{
    sqlite3_stmt *put;
    run(database, "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT); CREATE INDEX i ON t (v); BEGIN");
    sqlite3_prepare_v2(database, "INSERT INTO t VALUES (?, ?)", -1, &put, NULL);
    for (long i = 0; i < rows; i++) {
        char text[32];
        snprintf(text, sizeof text, "row %ld", i * 7919 % rows);
        sqlite3_bind_int64(put, 1, i);
        sqlite3_bind_text(put, 2, text, -1, SQLITE_TRANSIENT);
        sqlite3_step(put);
        sqlite3_reset(put);
    }
    sqlite3_finalize(put);
    run(database, "COMMIT");
}

static long ask(sqlite3 *database)
{
    long sum = 0;
    for (long i = 0; i < rows; i++) {
        char text[80];
        sqlite3_stmt *get;
        snprintf(text, sizeof text, "SELECT k FROM t WHERE v = 'row %ld'", i);
        sqlite3_prepare_v2(database, text, -1, &get, NULL);
        if (sqlite3_step(get) == SQLITE_ROW)
            sum += sqlite3_column_int64(get, 0);
        sqlite3_finalize(get);
    }
    return sum;
}

static void *work(void *sum)
{
    sqlite3 *database;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK)
        exit(1);
    fill(database);
    *(long *)sum = ask(database);
    sqlite3_close(database);
    return NULL;
}

int main(int count, char **words)
{
    static _Alignas(64) long sums[2][8];
    pthread_t threads[2];
    rows = count > 1 ? atol(words[1]) : 1000;
    sqlite3_initialize();
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, sums[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %ld\n", sums[0][0], sums[1][0]);
    return 0;
}
