// SPDX-License-Identifier: MIT
/*
 * Which of many sensors measure the same? Correlation between all pairs of columns of a table of
 * measurements, as in the correlation kernel of PolyBench: sensors [MEASUREMENTS SENSORS]
 *
 * The formula, a sum over all measurements for each pair, was written down as it is: two columns
 * are walked down for every pair, a line of the table for each number. With -DFIXED the two inner
 * loops are interchanged: one sensor against all others, measurement by measurement, along the
 * rows; and a few sensors at a time, so that a row that was fetched serves all of them. Each sum is
 * taken in the same order, so the results are the same to the last bit.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct table {
    int measurements;
    int sensors;
    double *values; /* row by row, a row for each measurement */
};

static double *allocate(size_t count)
{
    double *values = calloc(count, sizeof(double));
    if (!values) {
        fprintf(stderr, "sensors: not enough memory\n");
        exit(1);
    }
    return values;
}

static double *row_of(const struct table *table, int measurement)
{
    return table->values + (size_t)measurement * table->sensors;
}

static double next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / (double)(1ull << 53) - 0.5;
}

/* Sensors follow one of seven common causes, each the more closely the higher its number, and noise
 * of their own. */
static struct table take_measurements(int measurements, int sensors)
{
    enum { CAUSES = 7 };
    struct table table = {measurements, sensors, allocate((size_t)measurements * sensors)};
    double causes[CAUSES];
    uint64_t state = 1;
    for (int i = 0; i < measurements; i++) {
        for (int cause = 0; cause < CAUSES; cause++)
            causes[cause] = next_random(&state);
        for (int j = 0; j < sensors; j++)
            row_of(&table, i)[j] =
                20 + causes[j % CAUSES] * j / sensors + 0.3 * next_random(&state);
    }
    return table;
}

static void add_row(double *restrict sums, const double *restrict row, int count)
{
    for (int j = 0; j < count; j++)
        sums[j] += row[j];
}

static void add_squares(double *restrict sums, const double *restrict row, int count)
{
    for (int j = 0; j < count; j++)
        sums[j] += row[j] * row[j];
}

/* Makes every sensor's mean 0 and the sum of its squares 1. */
static void normalize(struct table *table)
{
    double *sums = allocate((size_t)table->sensors), *squares = allocate((size_t)table->sensors);
    for (int i = 0; i < table->measurements; i++)
        add_row(sums, row_of(table, i), table->sensors);
    for (int i = 0; i < table->measurements; i++) {
        double *row = row_of(table, i);
        for (int j = 0; j < table->sensors; j++)
            row[j] -= sums[j] / table->measurements;
        add_squares(squares, row, table->sensors);
    }
    for (int j = 0; j < table->sensors; j++)
        squares[j] = squares[j] > 0 ? 1 / sqrt(squares[j]) : 0;
    for (int i = 0; i < table->measurements; i++)
        for (int j = 0; j < table->sensors; j++)
            row_of(table, i)[j] *= squares[j];
    free(sums);
    free(squares);
}

#ifndef FIXED

/* Fills the upper triangle; the diagonal is 1 and stays out. */
static void correlate(const struct table *table, double *correlations)
{
    double(*values)[table->sensors] = (void *)table->values;
    double(*result)[table->sensors] = (void *)correlations;
    for (int first = 0; first < table->sensors; first++)
        for (int second = first + 1; second < table->sensors; second++) {
            double sum = 0;
            for (int i = 0; i < table->measurements; i++)
                sum += values[i][first] * values[i][second];
            result[first][second] = sum;
        }
}

#else

/* Sensors taken at a time: their sums, a row of 2.4 KB each, stay in the second-level cache. */
#ifndef SENSORS_TOGETHER
#define SENSORS_TOGETHER 32
#endif

static int smaller(int one, int other)
{
    return one < other ? one : other;
}

/* Fills the upper triangle; the diagonal is 1 and stays out. */
static void correlate(const struct table *table, double *restrict correlations)
{
    double(*values)[table->sensors] = (void *)table->values;
    double(*result)[table->sensors] = (void *)correlations;
    for (int start = 0; start < table->sensors; start += SENSORS_TOGETHER) {
        int end = smaller(start + SENSORS_TOGETHER, table->sensors);
        for (int i = 0; i < table->measurements; i++)
            for (int first = start; first < end; first++)
                for (int second = first + 1; second < table->sensors; second++)
                    result[first][second] += values[i][first] * values[i][second];
    }
}

#endif

static void print_summary(const struct table *table, const double *correlations)
{
    double sum = 0, most = -1;
    int first_of_most = 0, second_of_most = 0;
    for (int first = 0; first < table->sensors; first++)
        for (int second = first + 1; second < table->sensors; second++) {
            double value = correlations[(size_t)first * table->sensors + second];
            sum += fabs(value);
            if (value > most) {
                most = value;
                first_of_most = first;
                second_of_most = second;
            }
        }
    printf("sum %.17g; most alike %d and %d: %.17g\n", sum, first_of_most, second_of_most, most);
}

int main(int argc, char **argv)
{
    int measurements = argc > 1 ? atoi(argv[1]) : 12000;
    int sensors = argc > 2 ? atoi(argv[2]) : 300;
    if (measurements < 1 || sensors < 1) {
        fprintf(stderr, "usage: sensors [MEASUREMENTS SENSORS]\n");
        return 2;
    }
    struct table table = take_measurements(measurements, sensors);
    double *correlations = allocate((size_t)sensors * sensors);
    normalize(&table);
    correlate(&table, correlations);
    print_summary(&table, correlations);
    free(correlations);
    free(table.values);
    return 0;
}
