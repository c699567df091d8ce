// SPDX-License-Identifier: MIT
/* The verdict on a loop, and what is usually done about what limits it. */
#include "limits/internal.h"

#include <math.h>
#include <string.h>

static struct advice give(const char *id, const char *text)
{
    return (struct advice){.id = id, .text = text, .evidence = ADVICE_EXACT};
}

static struct advice advise_recurrence(const struct limits_loop *loop)
{
    switch (limits_circuit_of(loop)) {
    case LIMITS_REDUCTION:
        return give(
            "limits.accumulator",
            "Each iteration waits for one accumulator. Use several, each with every nth element, "
            "and add them up "
            "behind the loop; of floating-point sums the compiler does so only with -ffast-math or "
            "-fassociative-math.");
    case LIMITS_RUNNING:
        return give(
            "limits.running",
            "Each iteration needs what the one before has made, as in a running sum. Do several "
            "blocks of the data at a time, each as if it were the first, and then add to each what "
            "the blocks before it make; or do several independent rows at a time.");
    case LIMITS_DIVISION:
        return give("limits.division", "Each iteration waits for a division or root of the one "
                                       "before. Divide by a constant or an invariant by "
                                       "multiplying with its reciprocal, or transform the formula "
                                       "so that only a product recurs.");
    case LIMITS_STORED:
        return give("limits.stored", "A value goes through memory: it is stored, and loaded again "
                                     "in a later iteration. Keep it in a local "
                                     "variable; where the compiler cannot, because pointers may "
                                     "overlap, declare them restrict.");
    case LIMITS_CHASE:
        return give("limits.chase", "Each iteration waits for an address that the one before has "
                                    "loaded. Keep what is searched in an array, "
                                    "or follow several lists at a time.");
    case LIMITS_CHAIN:
        return give(
            "limits.chain",
            "Each iteration waits for a chain of operations of the one before. Work on several "
            "independent elements "
            "at a time, or shorten the chain by taking out of it what does not depend on it.");
    case LIMITS_COUNTER:
        return give(
            "limits.counter",
            "The loop is as fast as its counter: unroll it, so that more is done in an iteration.");
    case LIMITS_NO_CIRCUIT: break;
    }
    return (struct advice){0};
}

static struct advice advise_resource(const struct limits_loop *loop)
{
    const struct profile_limit_resource *bottleneck = limits_bottleneck(loop);
    bool divides = false;
    for (size_t i = 0; i < loop->instructions_count; i++)
        divides |= loop->instructions[i].pressure > 0 &&
                   (loop->instructions[i].category == 5 || loop->instructions[i].category == 6);
    if (bottleneck &&
        (divides || strstr(bottleneck->name, "div") || strstr(bottleneck->name, "Div")))
        return give("limits.divider",
                    "The divider is busy all the time. Multiply by a reciprocal that is computed "
                    "once, divide fewer values, "
                    "or use single precision or vectors, of which it does more at a time.");
    if (bottleneck && strcmp(bottleneck->name, "locked accesses") == 0)
        return give("limits.locked",
                    "Locked accesses follow one another and take all of the time. "
                    "Count in a local variable and add it to the shared one at the "
                    "end, or do more under one lock.");
    if (bottleneck && strcmp(bottleneck->name, "stores") == 0)
        return give("limits.stores", "Stores take all of the time. Keep in registers what is "
                                     "written several times, and store "
                                     "whole vectors.");
    if (bottleneck && strcmp(bottleneck->name, "loads") == 0)
        return give("limits.loads", "Loads take all of the time. Keep in registers what is read "
                                    "several times, and load whole "
                                    "vectors.");
    return give("limits.units", "The units that it needs most are busy all the time. Do more with "
                                "each instruction (vectors: -O3, "
                                "-march=native), or use fewer of those that need them.");
}

struct advice limits_advice(const struct limits_loop *loop)
{
    switch (loop->limit) {
    case LIMITS_RECURRENCE: return advise_recurrence(loop);
    case LIMITS_RESOURCE: return advise_resource(loop);
    case LIMITS_MEMORY:
        if (limits_misses(loop))
            return give("limits.misses",
                        "Use data again while they are in the cache: tile the loops around it, or "
                        "interchange them; store what is used together side by side. 'headroom "
                        "reuse' says where the data were used last.");
        return give("limits.unseen", "It takes longer than any of the bounds: caches that miss, "
                                     "mispredicted branches or work in functions that "
                                     "it calls. 'headroom reuse' and 'headroom paths' tell more.");
    case LIMITS_FRONTEND: break;
    }
    if (loop->row->branch > loop->row->slots)
        return give(
            "limits.branch",
            "The taken branch at its end takes a cycle, whatever else is done. Unroll the loop.");
    return give("limits.slots", "It has more instructions than the processor takes in. Do more "
                                "with each (vectors: -O3, -march=native), and take "
                                "out of the loop what does not change in it.");
}

/* "1 cycle: 75 % less time, 20 % of the run." */
static void print_next(const struct limits_loop *loop, char *text, size_t bytes)
{
    double gain = limits_gain(loop);
    char cycles[32];
    snprintf(cycles, sizeof cycles, "%.3g", loop->next_cycles);
    print_add(text, bytes, " %s %s cycle%s: %.0f %% less time",
              limits_misses(loop) ? "takes" : "would allow", cycles, strcmp(cycles, "1") ? "s" : "",
              100 * gain);
    if (loop->row->share > 0)
        print_add(text, bytes, ", %.1f %% of the run", 100 * gain * loop->row->share);
    print_add(text, bytes, ".");
}

/* What its misses take. */
static void print_ceiling(const struct limits_loop *loop, char *text, size_t bytes)
{
    const struct profile_ceiling_loop *tried = loop->ceiling;
    if (!tried || limits_misses(loop))
        return;
    print_add(text, bytes, " Tried with all its data in the first-level cache it takes %.3g cycles",
              tried->l1_cycles);
    if (tried->gap >= 0.02)
        print_add(text, bytes, " in place of %.3g, %.0f %% less: that is what misses cost.",
                  tried->cycles, 100 * tried->gap);
    else
        print_add(text, bytes, ", no less than as it is: misses cost it nothing.");
}

static void print_verdict(const struct limits_loop *loop, char *text, size_t bytes)
{
    const char *next_words = loop->limit == LIMITS_MEMORY ? limits_bound_words[loop->row->limit]
                                                          : limits_bound_words[loop->row->next];
    if (limits_misses(loop)) {
        print_add(text, bytes,
                  "Limited by memory: it takes %.3g cycles; tried with all its data in the "
                  "first-level cache it",
                  loop->ceiling->cycles);
        print_next(loop, text, bytes);
        print_add(text, bytes, " Then %s would limit it.", limits_bound_words[loop->row->limit]);
        return;
    }
    if (loop->limit == LIMITS_MEMORY) {
        print_add(text, bytes,
                  "It takes %.3g times what its bounds allow: limited by %s, not by its "
                  "instructions. Without that %s",
                  loop->row->measured / loop->next_cycles,
                  loop->row->calls ? "memory, mispredicted branches or what it calls"
                                   : "memory or mispredicted branches",
                  next_words);
        print_next(loop, text, bytes);
        return;
    }
    print_add(text, bytes, "Limited by %s", limits_bound_words[loop->limit]);
    if (loop->next_cycles <= 0) {
        print_add(text, bytes, "; there is no other bound.");
        return;
    }
    if (limits_gain(loop) < 0.02) {
        print_add(text, bytes, ", and as much by %s: both would have to be mended.", next_words);
        return;
    }
    if (loop->limit == LIMITS_RECURRENCE && limits_circuit_of(loop) == LIMITS_REDUCTION)
        print_add(text, bytes, ": one accumulator. With %u the next limit, %s,",
                  limits_copies(loop), next_words);
    else
        print_add(text, bytes, "; the next limit, %s,", next_words);
    print_next(loop, text, bytes);
}

void limits_verdict(const struct limits_loop *loop, char *text, size_t bytes)
{
    text[0] = 0;
    print_verdict(loop, text, bytes);
    print_ceiling(loop, text, bytes);
}
