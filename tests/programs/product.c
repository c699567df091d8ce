// SPDX-License-Identifier: MIT
/*
 * A product of matrices by columns, as dgemm's, for tests/answers/reuse: product MODE ROUNDS
 *
 *     plain    for each column of the result all of a matrix of 1 MiB is read again, along its columns: out of L1, not out
 *              of the last cache
 *     jammed   four columns of the result in one pass, which is what the finding's advice makes of it
 *     sums     the same matrix summed up along its columns: a new element in every iteration, and all of them again in
 *              the next call
 */
#include "known.h"

#include <string.h>

/* Optimized by all compilers: the loops are what it is about. */
#define LOOPED __attribute__((noinline))

enum { HEIGHT = 512, WIDTH = 256, RESULTS = 64 };

static double left[WIDTH][HEIGHT], right[RESULTS][WIDTH], result[RESULTS][HEIGHT];

LOOPED static void multiply(double (*restrict to)[HEIGHT], double (*restrict a)[HEIGHT],
                            double (*restrict b)[WIDTH])
{
    for (int j = 0; j < RESULTS; j++)
        for (int l = 0; l < WIDTH; l++)
            for (int i = 0; i < HEIGHT; i++)
                to[j][i] += b[j][l] * a[l][i];
}

LOOPED static void multiply_four(double (*restrict to)[HEIGHT], double (*restrict a)[HEIGHT],
                                 double (*restrict b)[WIDTH])
{
    for (int j = 0; j < RESULTS; j += 4)
        for (int l = 0; l < WIDTH; l++)
            for (int i = 0; i < HEIGHT; i++) {
                to[j][i] += b[j][l] * a[l][i];
                to[j + 1][i] += b[j + 1][l] * a[l][i];
                to[j + 2][i] += b[j + 2][l] * a[l][i];
                to[j + 3][i] += b[j + 3][l] * a[l][i];
            }
}

LOOPED static double sum_up(double (*a)[HEIGHT])
{
    double sum = 0;
    for (int l = 0; l < WIDTH; l++)
        for (int i = 0; i < HEIGHT; i++)
            sum += a[l][i];
    return sum;
}

int main(int argc, char **argv)
{
    double sum = 0;
    if (argc != 3)
        return 2;
    for (int l = 0; l < WIDTH; l++)
        for (int i = 0; i < HEIGHT; i++)
            left[l][i] = l + i;
    for (int j = 0; j < RESULTS; j++)
        for (int l = 0; l < WIDTH; l++)
            right[j][l] = 1.0 / (1 + j + l);
    for (long round = strtol(argv[2], NULL, 10); round > 0; round--) {
        __asm__ volatile("" ::: "memory"); /* rounds are not known to do the same */
        if (strcmp(argv[1], "sums") == 0)
            sum += sum_up(left);
        else if (strcmp(argv[1], "jammed") == 0)
            multiply_four(result, left, right);
        else
            multiply(result, left, right);
    }
    for (int j = 0; j < RESULTS; j++)
        sum += result[j][HEIGHT - 1];
    return sum < 0;
}
