// SPDX-License-Identifier: MIT
/*
 * Reads a table from SQLite into memory, as a report of a profile does: rows [ROWS]
 *
 * Each value is asked for its type, then taken. Both look the column up, and both leave the connection's error state.
 */
#include <sqlite3.h>

#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 8, PASSES = 12 };

static void execute(sqlite3 *base, const char *text)
{
    if (sqlite3_exec(base, text, NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "rows: %s\n", sqlite3_errmsg(base));
        exit(1);
    }
}

static void fill(sqlite3 *base, const char *rows)
{
    char text[400];
    execute(base, "CREATE TABLE samples(a INTEGER, b REAL, c INTEGER, d REAL, e INTEGER, f "
                  "INTEGER, g REAL, h INTEGER)");
    snprintf(text, sizeof text,
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %ld) "
             "INSERT INTO samples SELECT i, i * 0.5, NULLIF(i %% 7, 0), i * 0.25, i, i %% 1000, i "
             "* 1.5, -i FROM n",
             strtol(rows, NULL, 10));
    execute(base, text);
}

static double value_of(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return (double)sqlite3_column_int64(statement, column);
    case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
    default: return 0;
    }
}

static double read_all(sqlite3 *base)
{
    sqlite3_stmt *statement;
    double sum = 0;
    if (sqlite3_prepare_v2(base, "SELECT * FROM samples", -1, &statement, NULL) != SQLITE_OK)
        exit(1);
    while (sqlite3_step(statement) == SQLITE_ROW)
        for (int column = 0; column < COLUMNS; column++)
            sum += value_of(statement, column);
    sqlite3_finalize(statement);
    return sum;
}

int main(int argc, char **argv)
{
    sqlite3 *base;
    if (sqlite3_open(":memory:", &base) != SQLITE_OK)
        return 1;
    fill(base, argc > 1 ? argv[1] : "200000");
    for (int pass = 0; pass < PASSES; pass++)
        printf("%.1f\n", read_all(base));
    sqlite3_close(base);
    return 0;
}
