// SPDX-License-Identifier: MIT
/*
 * What one symbol costs in fold: the least of several rounds, in nanoseconds, for streams as
 * programs make them.
 *
 *   gcc -O2 -Isrc/common -Isrc/target -Isrc/engine bench/fold.c src/target/fold/?*.c src/common/base/?*.c -o fold && ./fold
 */
#include "fold/fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 300, SYMBOLS = 1 << 14 };

static uint32_t stream[SYMBOLS];

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Ends the list every `end_after` symbols, if not 0. */
static void measure(const char *name, uint32_t end_after)
{
    struct fold *fold = calloc(1, fold_bytes());
    uint64_t least = UINT64_MAX;
    if (!fold)
        exit(1);
    fold_init(fold, NULL, NULL);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t start = now_ns();
        for (uint32_t i = 0, left = end_after; i < SYMBOLS; i++) {
            fold_add(fold, stream[i], round * SYMBOLS + i, round * SYMBOLS + i + 1);
            if (end_after && --left == 0) {
                fold_end(fold);
                left = end_after;
            }
        }
        uint64_t time = now_ns() - start;
        least = time < least ? time : least;
    }
    printf("%-32s %6.1f ns, %u sequences\n", name, (double)least / SYMBOLS, fold_count(fold));
    free(fold);
}

static void loops_of(const char *name, uint32_t length, uint32_t end_after)
{
    for (uint32_t i = 0; i < SYMBOLS; i++)
        stream[i] = i % length;
    measure(name, end_after);
}

static void nested(const char *name, uint32_t times)
{
    for (uint32_t i = 0; i < SYMBOLS; i++)
        stream[i] = i % (2 * times + 1) == 2 * times ? 2 : i % (2 * times + 1) % 2;
    measure(name, 0);
}

static void noise(const char *name, uint32_t alphabet)
{
    struct base_random random = {alphabet};
    for (uint32_t i = 0; i < SYMBOLS; i++)
        stream[i] = (uint32_t)base_random_below(&random, alphabet);
    measure(name, 0);
}

int main(void)
{
    loops_of("one symbol", 1, 0);
    loops_of("loop of 2", 2, 0);
    loops_of("loop of 3", 3, 0);
    loops_of("loop of 6", 6, 0);
    loops_of("loop of 6, ended every 12", 6, 12);
    nested("loop of 2 x 10 and 1", 10);
    nested("loop of 2 x 50 and 1", 50);
    noise("noise, 4 symbols", 4);
    noise("noise, 12 symbols", 12);
    noise("noise, 1000 symbols", 1000);
    return 0;
}
