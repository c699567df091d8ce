// SPDX-License-Identifier: MIT
/*
 * A matrix summed up again and again, for tests/answers/reuse: columns MODE ROUNDS
 *
 *     columns   64 MiB, down the columns: each line is used again a whole column later, out of L1 and L2
 *     rows      the same sums along the rows, which is what the finding's advice makes of it
 *     small     8 KiB, down the columns: nothing ever leaves L1
 */
#include "known.h"

#include <string.h>

enum { COLUMNS = 2048, ROWS = 4096, FEW_ROWS = 32, FEW_COLUMNS = 32 };

typedef double row[COLUMNS];
typedef double small_row[FEW_COLUMNS];

static KNOWN_OPAQUE double sum_columns(row *matrix)
{
    double sum = 0;
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < ROWS; i++)
            sum += matrix[i][j]; /* @columns */
    return sum;
}

static KNOWN_OPAQUE double sum_rows(row *matrix)
{
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            sum += matrix[i][j];
    return sum;
}

static KNOWN_OPAQUE double sum_small(small_row *matrix)
{
    double sum = 0;
    for (int j = 0; j < FEW_COLUMNS; j++)
        for (int i = 0; i < FEW_ROWS; i++)
            sum += matrix[i][j];
    return sum;
}

int main(int argc, char **argv)
{
    row *matrix = malloc(ROWS * sizeof *matrix);
    if (argc != 3 || !matrix)
        return 2;
    bool columns = strcmp(argv[1], "columns") == 0, small = strcmp(argv[1], "small") == 0;
    double sum = 0;
    for (int i = 0; i < (small ? 1 : ROWS); i++)
        for (int j = 0; j < COLUMNS; j++)
            matrix[i][j] = i + j;
    for (long round = strtol(argv[2], NULL, 10); round > 0; round--)
        sum += columns ? sum_columns(matrix)
               : small ? sum_small((small_row *)matrix)
                       : sum_rows(matrix);
    return sum < 0;
}
