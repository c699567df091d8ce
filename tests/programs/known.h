// SPDX-License-Identifier: MIT
/*
 * known: what the programs with known answers share.
 *
 * Each program's head comment carries its expectations, which tests/answers/run
 * reads:
 *
 *     case: NAME [options of headroom waste] -- [arguments of the program]
 *       KIND.fraction LOW..HIGH          waste / (waste + use), in bytes
 *       KIND.traps LOW..HIGH             decided samples; option default-rate: without --rate,
 *                                        by-run: under headroom run
 *       KIND.pair FIRST>SECOND LOW..HIGH share of the pairs whose leaf lines are
 *                                        marked "@FIRST" and "@SECOND"
 *       KIND.first MARK LOW..HIGH        share of the pairs whose first leaf line is marked
 *       KIND.function NAME LOW..HIGH     share of the pairs whose first context passes through NAME
 *       KIND.context MARK F1<F2<F3       the contexts of that first line pass through these
 *                                        functions, leaf first
 *
 * The sampled stores go through volatile lvalues: the compiler must neither
 * drop a dead store nor merge neighbours. Where samples are spread by CPU time
 * the programs keep the time per store equal, so that their answers are the same
 * under either weighting.
 */
#ifndef HEADROOM_TESTS_KNOWN_H
#define HEADROOM_TESTS_KNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A function that the compiler neither inlines nor specialises. */
#ifdef __clang__
#define KNOWN_OPAQUE __attribute__((noinline, optnone))
#else
#define KNOWN_OPAQUE __attribute__((noinline, noipa))
#endif

/* CPU seconds of the calling thread that the first argument asks for; 2 without one. */
static inline double known_seconds(int argc, char **argv)
{
    return argc > 1 ? strtod(argv[1], NULL) : 2.0;
}

/* Has this thread used its seconds? Reads a clock through the kernel: ask it once per ~100 us. */
static inline bool known_running(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9 < seconds;
}

/* The programs say that they are ready and why they cannot run (exit status 77: skipped). */
static inline int known_skip(const char *reason)
{
    fprintf(stderr, "skipped: %s\n", reason);
    return 77;
}

#endif
