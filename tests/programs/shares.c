// SPDX-License-Identifier: MIT
/*
 * CPU time in known shares. By itself it works in turns until each function has had its part of the
 * seconds; it prints what each really had, and in how many turns. With these numbers it works as
 * many turns again, whatever else takes time then.
 *
 *     shares SECONDS                           prints "NAME SHARE TURNS", a line each
 *     shares PLAIN RECURSIVE COPYING           turns of each
 */
#include "known.h"

#include <string.h>

enum { BUFFER = 1 << 14, DEPTH = 40 };

static volatile uint64_t sink;
static char from[BUFFER], to[BUFFER];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

KNOWN_OPAQUE static void plain(void)
{
    uint64_t value = sink;
    for (int i = 0; i < 200000; i++)
        value = value * 6364136223846793005u + 1;
    sink = value;
}

/* All of it is at the bottom, below forty activations. */
KNOWN_OPAQUE static void recursive(int depth)
{
    uint64_t value = sink;
    if (depth)
        recursive(depth - 1);
    for (int i = 0; i < (depth ? 1 : 200000); i++)
        value = value * 6364136223846793005u + 1;
    sink = value;
}

/* Its time is the C library's: of unknown size, it is not copied in line. */
KNOWN_OPAQUE static void copying(size_t bytes)
{
    for (int i = 0; i < 2000; i++)
        memcpy(to, from, bytes);
}

static void work(int which)
{
    switch (which) {
    case 0: plain(); break;
    case 1: recursive(DEPTH); break;
    default: copying(BUFFER); break;
    }
}

/* The one that is farthest behind its part. */
static int choose(const double had[3], const double parts[3])
{
    int next = 0;
    for (int i = 1; i < 3; i++)
        next = had[i] / parts[i] < had[next] / parts[next] ? i : next;
    return next;
}

static void measure(double seconds)
{
    static const char *const names[] = {"plain", "recursive", "copying"};
    static const double parts[] = {0.5, 0.3, 0.2};
    double had[3] = {0}, all = 0;
    int turns[3] = {0};
    while (all < seconds) {
        int next = choose(had, parts);
        double before = now();
        work(next);
        double spent = now() - before;
        turns[next]++;
        had[next] += spent;
        all += spent;
    }
    for (int i = 0; i < 3; i++)
        printf("%s %.6f %d\n", names[i], had[i] / all, turns[i]);
}

static void repeat(char **arguments)
{
    double had[3] = {0}, wanted[3], all = 0;
    for (int i = 0; i < 3; i++)
        all += wanted[i] = strtod(arguments[i], NULL);
    for (double turn = 0; turn < all; turn++) {
        int next = choose(had, wanted);
        work(next);
        had[next]++;
    }
}

int main(int argc, char **argv)
{
    if (argc == 4)
        repeat(argv + 1);
    else
        measure(known_seconds(argc, argv));
    return 0;
}
