// SPDX-License-Identifier: MIT
/*
 * Loops that are short, in functions that are called again and again: short KERNEL BYTES CALLS. Each call takes another row of data of that
 * many bytes; where rows are many they come from memory, and none is where the processor would fetch ahead. For bench/ceiling/gates.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW = 8192 }; /* bytes */
#define KERNEL __attribute__((noinline)) static double

KERNEL finds(const char *row, long length)
{
    const int *at = (const int *)row;
    long i = 0;
    while (i < length / 4 && at[i] != 7)
        i++;
    return (double)i;
}

KERNEL lengths(const char *row, long length)
{
    const char *at = row;
    (void)length;
    while (*at)
        at++;
    return (double)(at - row);
}

KERNEL dots(const char *row, long length)
{
    const double *a = (const double *)row, *b = (const double *)(row + length / 2);
    double sum = 0;
    for (long i = 0; i < length / 16; i++)
        sum += a[i] * b[i];
    return sum;
}

KERNEL scales(const char *row, long length)
{
    double *a = (double *)row;
    for (long i = 0; i < length / 8; i++) {
        a[i] = a[i] * 0.5 + 1;
        __asm__ volatile(""); /* one element at a time */
    }
    return a[0];
}

KERNEL largest(const char *row, long length)
{
    const long *a = (const long *)row;
    long most = 0;
    for (long i = 0; i < length / 8; i++)
        most = a[i] > most ? a[i] : most;
    return (double)most;
}

KERNEL chances(const char *row, long length)
{
    const uint64_t *a = (const uint64_t *)row;
    double first = 0, second = 1;
    for (long i = 0; i < length / 8; i++)
        if (a[i] >> 40 & 1) {
            first += second;
            __asm__ volatile("");
        } else {
            second *= 0.75;
            __asm__ volatile("");
        }
    return first;
}

/* What ends a search lies in the second half. */
static void fill(const char *kernel, char *data, long rows)
{
    uint64_t random = 1;
    for (long r = 0; r < rows; r++) {
        char *row = data + r * ROW;
        for (long i = 0; i < ROW / 8; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t value = random >> 12 | UINT64_C(0x3ff) << 52; /* a double from 1 to 2 */
            memcpy(row + i * 8, &value, 8);
        }
        long end = ROW / 2 + (long)((random >> 33) % (ROW / 2 - 8)) / 4 * 4;
        if (strcmp(kernel, "finds") == 0)
            ((int *)row)[end / 4] = 7;
        if (strcmp(kernel, "lengths") == 0) {
            memset(row, 'x', ROW);
            row[end] = 0;
        }
    }
}

static double (*const functions[])(const char *, long) = {finds,  lengths, dots,
                                                          scales, largest, chances};
static const char *const names[] = {"finds", "lengths", "dots", "scales", "largest", "chances"};

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    long rows = atol(words[2]) / ROW, calls = atol(words[3]), at = 0;
    char *data = aligned_alloc(4096, (size_t)(rows * ROW));
    double sum = 0;
    if (!data)
        return 1;
    fill(words[1], data, rows);
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
        for (long i = 0; i < calls && strcmp(names[k], words[1]) == 0; i++) {
            at = (at + 4097) % rows;
            sum += functions[k](data + at * ROW, ROW);
        }
    printf("%g\n", sum);
    return 0;
}
