// SPDX-License-Identifier: MIT
/*
 * Conjugate gradients on a random sparse matrix, with OpenMP, written from the description of the
 * method as NAS CG is: gradients [ROWS [ROUNDS]]. Short parallel loops, one after the other, each
 * with a barrier at its end, and sums over threads.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PER_ROW = 12, STEPS = 25 };

static int rows = 60000, rounds = 8;
static int *columns;
static double *values, *x, *z, *p, *q, *r;

static uint64_t draw(void)
{
    static uint64_t random = 88172645463325252u;
    random ^= random << 13;
    random ^= random >> 7;
    return random ^= random << 17;
}

static void *get(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory)
        exit(1);
    return memory;
}

/* Diagonally dominant, so that it converges. */
static void make_matrix(void)
{
    columns = get(sizeof *columns * PER_ROW * (size_t)rows);
    values = get(sizeof *values * PER_ROW * (size_t)rows);
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < PER_ROW; k++) {
            columns[i * PER_ROW + k] = k ? (int)(draw() % (uint64_t)rows) : i;
            values[i * PER_ROW + k] = k ? (double)(draw() % 1000) / 1000 : 2.0 * PER_ROW;
        }
}

static void multiply(const double *from, double *to)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int k = 0; k < PER_ROW; k++)
            sum += values[i * PER_ROW + k] * from[columns[i * PER_ROW + k]];
        to[i] = sum;
    }
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int i = 0; i < rows; i++)
        sum += a[i] * b[i];
    return sum;
}

/* to = a + by * b */
static void combine(double *to, const double *a, double by, const double *b)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < rows; i++)
        to[i] = a[i] + by * b[i];
}

static double solve(void)
{
    for (int i = 0; i < rows; i++) {
        z[i] = 0;
        r[i] = p[i] = x[i];
    }
    double rho = dot(r, r);
    for (int step = 0; step < STEPS; step++) {
        multiply(p, q);
        double alpha = rho / dot(p, q), old = rho;
        combine(z, z, alpha, p);
        combine(r, r, -alpha, q);
        rho = dot(r, r);
        combine(p, r, rho / old, p);
    }
    return sqrt(rho);
}

int main(int argc, char **argv)
{
    rows = argc > 1 ? atoi(argv[1]) : rows;
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    if (rows < 1 || rounds < 1)
        return 2;
    make_matrix();
    double **vectors[] = {&x, &z, &p, &q, &r};
    for (int i = 0; i < 5; i++)
        *vectors[i] = get(sizeof(double) * (size_t)rows);
    for (int i = 0; i < rows; i++)
        x[i] = 1;
    double norm = 0;
    for (int i = 0; i < rounds; i++) {
        norm = solve();
        double length = sqrt(dot(z, z));
        combine(x, x, 0.5 / length, z);
    }
    printf("residual %s\n", norm < 1e-2 ? "small" : "large");
    return 0;
}
