// SPDX-License-Identifier: MIT
/*
 * Floating-point kernels of the common sorts: LU decomposition with partial
 * pivoting (as Linpack), a seven-point stencil, and a radix-2 Fourier transform: numeric [ROUNDS]
 */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LU_SIZE = 900, GRID = 130, GRID_STEPS = 60, FFT_SIZE = 1 << 18, FFT_ROUNDS = 24 };

static double next_random(void)
{
    static unsigned state = 12345;
    state = state * 1103515245u + 12345u;
    return (double)(state >> 8) / (1 << 24) - 0.5;
}

static void swap_rows(double *a, double *b, int count)
{
    for (int i = 0; i < count; i++) {
        double kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Decomposes in place; returns the logarithm of the determinant's absolute value. */
static double decompose(double (*matrix)[LU_SIZE])
{
    double logarithm = 0;
    for (int k = 0; k < LU_SIZE; k++) {
        int pivot = k;
        for (int i = k + 1; i < LU_SIZE; i++)
            if (fabs(matrix[i][k]) > fabs(matrix[pivot][k]))
                pivot = i;
        swap_rows(matrix[k], matrix[pivot], LU_SIZE);
        logarithm += log(fabs(matrix[k][k]));
        for (int i = k + 1; i < LU_SIZE; i++) {
            double factor = matrix[i][k] /= matrix[k][k];
            for (int j = k + 1; j < LU_SIZE; j++)
                matrix[i][j] -= factor * matrix[k][j];
        }
    }
    return logarithm;
}

static double run_lu(void)
{
    double(*matrix)[LU_SIZE] = malloc(sizeof(double[LU_SIZE][LU_SIZE])), result = 0;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < LU_SIZE; i++)
            for (int j = 0; j < LU_SIZE; j++)
                matrix[i][j] = next_random();
        result += decompose(matrix);
    }
    free(matrix);
    return result;
}

static double run_stencil(void)
{
    double(*from)[GRID][GRID] = calloc(GRID, sizeof *from),
    (*to)[GRID][GRID] = calloc(GRID, sizeof *to);
    from[GRID / 2][GRID / 2][GRID / 2] = 1e6;
    for (int step = 0; step < GRID_STEPS; step++) {
        for (int i = 1; i < GRID - 1; i++)
            for (int j = 1; j < GRID - 1; j++)
                for (int k = 1; k < GRID - 1; k++)
                    to[i][j][k] = 0.4 * from[i][j][k] +
                                  0.1 * (from[i - 1][j][k] + from[i + 1][j][k] + from[i][j - 1][k] +
                                         from[i][j + 1][k] + from[i][j][k - 1] + from[i][j][k + 1]);
        double(*kept)[GRID][GRID] = from;
        from = to;
        to = kept;
    }
    double result = from[GRID / 2][GRID / 2][GRID / 2 + 3];
    free(from);
    free(to);
    return result;
}

static void transform(double complex *data, int size)
{
    for (int i = 1, j = 0; i < size; i++) {
        int bit = size >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex kept = data[i];
            data[i] = data[j];
            data[j] = kept;
        }
    }
    for (int length = 2; length <= size; length <<= 1) {
        double complex root = cexp(-2 * M_PI * I / length);
        for (int i = 0; i < size; i += length) {
            double complex factor = 1;
            for (int j = 0; j < length / 2; j++, factor *= root) {
                double complex even = data[i + j], odd = data[i + j + length / 2] * factor;
                data[i + j] = even + odd;
                data[i + j + length / 2] = even - odd;
            }
        }
    }
}

static double run_fft(void)
{
    double complex *data = malloc(FFT_SIZE * sizeof *data);
    for (int i = 0; i < FFT_SIZE; i++)
        data[i] = next_random();
    for (int round = 0; round < FFT_ROUNDS; round++) {
        transform(data, FFT_SIZE);
        for (int i = 0; i < FFT_SIZE; i++)
            data[i] /= 512;
    }
    double result = cabs(data[5]);
    free(data);
    return result;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    for (int round = 0; round < rounds; round++)
        printf("%.6g %.6g %.6g\n", run_lu(), run_stencil(), run_fft());
    return 0;
}
