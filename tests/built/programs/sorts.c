// SPDX-License-Identifier: MIT
/* sorts TURNS: does the same on every run; most of its time goes to the C library's qsort. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1 << 14 };
static int table[COUNT];
static unsigned seed = 1;

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void fill(void)
{
    for (int i = 0; i < COUNT; i++) {
        seed = seed * 1664525u + 1013904223u;
        table[i] = (int)(seed >> 8);
    }
}

static long walk(void)
{
    long sum = 0;
    for (int turn = 0; turn < 20; turn++)
        for (int i = 0; i < COUNT; i += 3) {
            sum += table[i];
            if (table[i] & 1)
                table[i] = (int)sum;
        }
    return sum;
}

int main(int argc, char **argv)
{
    long sum = 0;
    char *buffer = malloc(4096);
    for (int turn = 0; argc > 1 && turn < atoi(argv[1]); turn++) {
        fill();
        sum += walk();
        qsort(table, COUNT, sizeof table[0], compare);
        memset(buffer, turn, 4096);
        sum += buffer[turn & 4095];
    }
    printf("%ld\n", sum);
    free(buffer);
    return 0;
}
