// SPDX-License-Identifier: MIT
/* The machine as a whole: how much a cycle, how long through memory, which instructions are one slot. */
#include "calibrate/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { REPEAT = 60, WIDE_REPEAT = 600, MEASUREMENTS = 3, FUSION_MEASUREMENTS = 16 };

/* Cycles of one turn: the instructions of `hex`, one text each, NULL at the end. */
static double turn_cycles(struct lab *lab, enum pattern pattern, bool wide, unsigned repeat,
                          const char *const *hex)
{
    struct body body;
    body_begin(&body, pattern, wide);
    for (unsigned i = 0; i < repeat; i++)
        for (size_t each = 0; hex[each]; each++)
            body_hex(&body, hex[each]);
    double cycles = lab_least(lab, &body, MEASUREMENTS);
    return cycles < 0 ? 0 : cycles / repeat;
}
#define TURN(lab, pattern, ...)                                                                    \
    turn_cycles(lab, pattern, false, REPEAT, (const char *const[]){__VA_ARGS__, NULL})
#define TURN_WIDE(lab, ...)                                                                        \
    turn_cycles(lab, PATTERN_ONES_DOUBLE, true, REPEAT, (const char *const[]){__VA_ARGS__, NULL})

/* To a whole number where it is one but for noise. */
static double near(double value)
{
    return fabs(value - round(value)) < 0.1 * (value > 1 ? 1 : value) ? round(value)
                                                                      : round(value * 100) / 100;
}

/* ---- how much a cycle ------------------------------------------------------------------------------ */

static double rate(double instructions, double cycles)
{
    return cycles > 0 ? near(instructions / cycles) : 0;
}

static void measure_width(struct lab *lab, struct facts *facts)
{
    static const char *const nops[] = {"90", "90", NULL}, *const mixed[] = {"4801c3", "90",
                                                                            "4801c6", "90",
                                                                            "4801c7", "90",
                                                                            NULL},
                             *const moved[] = {"4889c3", "4889c6", "90", "4889c7",
                                               "90",     "4801c3", NULL};
    double best = 0;
    const char *const *const all[] = {nops, mixed, moved};
    for (size_t i = 0; i < BASE_COUNT(all); i++) {
        double count = 0;
        while (all[i][(size_t)count])
            count++;
        double cycles =
            turn_cycles(lab, PATTERN_ONES_DOUBLE, false, WIDE_REPEAT / (unsigned)count, all[i]);
        if (cycles > 0 && count / cycles > best)
            best = count / cycles;
    }
    /* The loop's own branch and its jump cost a little: what is just below a whole number is that. */
    facts->figures[MODEL_WIDTH] = best > 0 ? fmax(round(best), floor(best)) : 4;
}

static void measure_rates(struct lab *lab, struct facts *facts)
{
    double *figures = facts->figures;
    /* A loop of one nop: what each turn takes is the jump back. */
    figures[MODEL_TAKEN] =
        rate(1, turn_cycles(lab, PATTERN_ONES_DOUBLE, false, 1, (const char *const[]){"90", NULL}));
    figures[MODEL_NOT_TAKEN] = rate(1, TURN(lab, PATTERN_ONES_DOUBLE, "7000")); /* jo */
    /* Of one line: of two lines words at the same offset are in each other's way. */
    figures[MODEL_LOADS] = rate(6, TURN(lab, PATTERN_POINTER, "498b5e00", "498b7608", "498b7e10",
                                        "4d8b4618", "4d8b4e20", "4d8b5628"));
    figures[MODEL_STORES] =
        rate(4, TURN(lab, PATTERN_POINTER, "49895e00", "49895e08", "49895e10", "49895e18"));
    figures[MODEL_ACCESSES] = rate(6, TURN(lab, PATTERN_POINTER, "498b5e00", "49894640", "498b7e08",
                                           "4d8b4610", "49894648", "4d8b5618"));
    if (lab->avx) {
        figures[MODEL_LOADS_VECTOR] =
            rate(4, TURN_WIDE(lab, "c4c17c104600", "c4c17c104e20", "c4c17c105640", "c4c17c105e60"));
        figures[MODEL_STORES_VECTOR] = rate(2, TURN_WIDE(lab, "c4c17c114600", "c4c17c114620"));
    } else {
        figures[MODEL_LOADS_VECTOR] = rate(4, TURN(lab, PATTERN_ONES_DOUBLE, "410f104600",
                                                   "410f104e10", "410f105620", "410f105e30"));
        figures[MODEL_STORES_VECTOR] =
            rate(2, TURN(lab, PATTERN_ONES_DOUBLE, "410f114600", "410f114610"));
    }
}

/* Two stores a turn: in which part of memory they have to be to take one cycle. */
static void measure_store_block(struct lab *lab, struct facts *facts)
{
    static const struct {
        double bytes;
        const char *second; /* mov [r14 + bytes], rbx */
    } apart[] = {{16, "49895e10"}, {32, "49895e20"}, {64, "49895e40"}};
    const double together = 1.4, apart_least = 1.7;
    if (TURN(lab, PATTERN_POINTER, "49895e00", "49895e08") > together)
        return; /* one store a cycle, wherever */
    for (size_t i = 0; i < BASE_COUNT(apart); i++)
        if (TURN(lab, PATTERN_POINTER, "49895e00", apart[i].second) > apart_least) {
            facts->figures[MODEL_STORE_BLOCK] = apart[i].bytes;
            return;
        }
}

/* ---- how long through memory ----------------------------------------------------------------------------- */

/* Two additions beside it: without them the front end is what takes time where such loads take none. */
static void measure_stack(struct lab *lab, struct facts *facts)
{
    enum { ADDITIONS = 2 };
    double stack = TURN(lab, PATTERN_POINTER, "48895c24c0", "488b5c24c0", "4883c301", "4883c301"),
           frame = TURN(lab, PATTERN_POINTER, "48895d40", "488b5d40", "4883c301", "4883c301");
    facts->figures[MODEL_FORWARD_STACK] = fmax(0, near(stack - ADDITIONS));
    facts->rules |= frame > 0 && frame < stack + 0.5 ? MODEL_FORWARDS_FRAME : 0;
}

/*
 * How long forwarding takes depends on when the load is executed (Zen 3: 5 to 6.6 cycles): from a store to a load with some
 * additions between, and of what changes memory with some instructions beside.
 */
static double forward_least(struct lab *lab)
{
    enum { ADDITIONS_MAX = 5, NOPS = 8, NOPS_STEP = 4 };
    double least = INFINITY;
    for (unsigned additions = 0; additions <= ADDITIONS_MAX; additions++) {
        const char *hex[ADDITIONS_MAX + 3] = {"49895e40", "498b5e40"};
        for (unsigned i = 0; i < additions; i++)
            hex[2 + i] = "4883c301";
        double cycles = turn_cycles(lab, PATTERN_POINTER, false, REPEAT, hex);
        least = cycles > 0 ? fmin(least, cycles - additions) : least;
    }
    for (unsigned nops = 0; nops <= NOPS; nops += NOPS_STEP) {
        const char *hex[NOPS + 2] = {"4983464001"}; /* add qword [r14 + 64], 1 */
        for (unsigned i = 0; i < nops; i++)
            hex[1 + i] = "90";
        double cycles = turn_cycles(lab, PATTERN_POINTER, false, REPEAT, hex);
        least = cycles > 0 ? fmin(least, cycles - 1) : least;
    }
    return isinf(least) ? 0 : fmax(0, near(least));
}

static void measure_memory(struct lab *lab, struct facts *facts)
{
    double *figures = facts->figures;
    double round_trip = near(TURN(lab, PATTERN_ONES_DOUBLE, "66480f6ec3", "66480f7ec3"));
    facts->to_vector = floor(round(round_trip) / 2);
    facts->from_vector = round_trip - facts->to_vector;
    figures[MODEL_GENERAL_VECTOR] = round_trip;
    figures[MODEL_LOAD_LATENCY] = near(TURN(lab, PATTERN_POINTER, "488b6d00"));
    figures[MODEL_LOAD_INDEXED] = near(TURN(lab, PATTERN_POINTER, "4a8b6c2d00"));
    /* movq xmm0, [rbp]; movq rbp, xmm0 */
    double vector = TURN(lab, PATTERN_POINTER, "f30f7e4500", "66480f7ec5");
    figures[MODEL_LOAD_VECTOR] = near(vector - facts->from_vector);
    facts->forward_general = near(TURN(lab, PATTERN_POINTER, "49895e40", "498b5e40"));
    figures[MODEL_FORWARD_GENERAL] = facts->forward_general;
    measure_stack(lab, facts);
    figures[MODEL_FORWARD_LEAST] = fmin(facts->forward_general, forward_least(lab));
    figures[MODEL_FORWARD_VECTOR] =
        near(TURN(lab, PATTERN_ONES_DOUBLE, "f2410f114640", "f2410f104640"));
    figures[MODEL_FORWARD_FAILED] =
        near(TURN(lab, PATTERN_POINTER, "41895e40", "41895e44", "498b5e40"));
}

/* ---- reorder buffer ------------------------------------------------------------------------------------------ */

/*
 * Two loads that miss every cache, and instructions between, `count` with both loads: the loads overlap as long as the second one enters
 * the buffer before the first one has come (after Wong, "Measuring Reorder Buffer Capacity", 2013). The instructions are of three kinds, so that
 * general and vector registers are written by a quarter of them each, and no two nops stand side by side, which some processors put into one
 * entry. The body times itself, since flushing the lines takes longer than the loads. Returns the tenth percentile of the ticks of all runs: while
 * something else uses the core, the buffer may be halved.
 */
static double miss_ticks(struct lab *lab, unsigned count)
{
    enum { RUNS = 120, RESULT = 0x100 };
    static const char *const between[] = {
        "90", "4801c3", "90", "660ffec1",  /* nop; add rbx, rax; paddd xmm0, xmm1 */
        "90", "4801c6", "90", "660ffed1"}; /* rsi, xmm2 */
    static const char *const begin[] = {"410faebe00080000", /* clflush [r14 + 0x800] */
                                        "410faebe000c0000", /* clflush [r14 + 0xc00] */
                                        "0faef0",
                                        "0faee8", /* mfence; lfence */
                                        "0f31",
                                        "48c1e220",
                                        "4809d0",
                                        "4989c1", /* rdtsc into r9 */
                                        "0faee8",
                                        NULL},
                             *const end[] = {
                                 "0faee8", "0f31",           "48c1e220", "4809d0",
                                 "4c29c8", "49898600010000", NULL}; /* less r9, to [r14 + 0x100] */
    struct body body;
    double ticks[RUNS];
    body_begin(&body, PATTERN_POINTER, false);
    for (size_t i = 0; begin[i]; i++)
        body_hex(&body, begin[i]);
    body_hex(&body, "498bbe00080000"); /* mov rdi, [r14 + 0x800] */
    for (unsigned i = 2; i < count; i++)
        body_hex(&body, between[i % BASE_COUNT(between)]);
    body_hex(&body, "4d8b86000c0000"); /* mov r8, [r14 + 0xc00] */
    for (size_t i = 0; end[i]; i++)
        body_hex(&body, end[i]);
    if (!lab_run(lab, &body, RUNS, RESULT, ticks))
        return 0;
    qsort(ticks, RUNS, sizeof *ticks, lab_ascending);
    return ticks[RUNS / 10];
}

enum { BUFFER_FIRST = 64, BUFFER_LAST = 1024 };

/* The most instructions, of `count` and each `step` fewer, with which the loads overlap; from above, since with more they never do. */
static unsigned most_overlapping(struct lab *lab, const struct facts *facts, double together,
                                 unsigned count, unsigned step)
{
    const double apart = 1.3, ticks_a_cycle = lab_ticks(lab);
    for (; count > BUFFER_FIRST; count -= step) {
        double cycles = (count - BUFFER_FIRST) / facts->figures[MODEL_WIDTH];
        if (miss_ticks(lab, count) < apart * together + ticks_a_cycle * cycles / 2)
            break;
    }
    return count;
}

static void measure_buffer(struct lab *lab, struct facts *facts)
{
    enum { COARSE = 32, FINE = 4, ROUND = 8 };
    double together = miss_ticks(lab, BUFFER_FIRST);
    if (together <= 0)
        return;
    unsigned count = most_overlapping(lab, facts, together, BUFFER_LAST, COARSE);
    count = most_overlapping(lab, facts, together, count + COARSE - FINE, FINE);
    if (count > BUFFER_FIRST &&
        count < BUFFER_LAST) /* else memory is as fast as a cache, or it is none of these */
        facts->figures[MODEL_REORDER_BUFFER] = round((double)count / ROUND) * ROUND;
}

/* ---- rules ----------------------------------------------------------------------------------------------------- */

static void measure_moves(struct lab *lab, struct facts *facts)
{
    double general = TURN(lab, PATTERN_POINTER, "4889de", "4889f7", "4989f8", "4c89c3");
    double vector = TURN(lab, PATTERN_ONES_DOUBLE, "0f28c8", "0f28d1", "0f28da", "0f28c3");
    double low = TURN(lab, PATTERN_POINTER, "88c3"); /* mov bl, al: waits for rbx if it merges */
    facts->rules |= general > 0 && general < 2.4 ? MODEL_MOVES_GENERAL : 0;
    facts->rules |= vector > 0 && vector < 2.4 ? MODEL_MOVES_VECTOR : 0;
    facts->rules |= low > 0.8 ? MODEL_MERGES_LOW : 0;
    /* Six instructions that change rsp wait for each other without an engine: six cycles. */
    double stack = TURN(lab, PATTERN_POINTER, "53", "56", "57", "5f", "5e", "5b");
    facts->rules |= stack > 0 && stack < 5 ? MODEL_STACK_ENGINE : 0;
    facts->rules |= facts->figures[MODEL_FORWARD_GENERAL] < 1.6 ? MODEL_RENAMES_MEMORY : 0;
}

/* Slots of a pair of instructions. */
static double slots(struct lab *lab, const struct kernels *kernels, const struct facts *facts,
                    const char *hex)
{
    struct copies copies;
    double width = facts->figures[MODEL_WIDTH];
    copies_of_hex(hex, &copies);
    return width * front_end_share(lab, kernels, width, &copies, 1, FUSION_MEASUREMENTS);
}

void facts_fusion(struct lab *lab, const struct kernels *kernels, struct facts *facts)
{
    static const struct {
        uint32_t rule;
        const char *hex; /* the branch is never taken */
    } pairs[] = {
        {MODEL_FUSES_COMPARE, "4d39ed7500"},      /* cmp r13, r13; jnz */
        {MODEL_FUSES_ARITHMETIC, "4983c5007500"}, /* add r13, 0; jnz */
        {MODEL_FUSES_MEMORY, "4d3b2e7400"},       /* cmp r13, [r14]; jz */
        {MODEL_MEMORY_IMMEDIATE, "49833e007400"}, /* cmp qword [r14], 0; jz */
        {MODEL_FUSES_LOADS, "49031e"},            /* add rbx, [r14] */
        {MODEL_FUSES_STORES, "49895e40"},         /* mov [r14 + 64], rbx */
    };
    if (!kernels->count)
        return;
    for (size_t i = 0; i < BASE_COUNT(pairs); i++)
        if (slots(lab, kernels, facts, pairs[i].hex) < 1.5)
            facts->rules |= pairs[i].rule;
    facts->rules |= MODEL_ABSTRACT;
}

void facts_measure(struct lab *lab, struct facts *facts)
{
    memset(facts, 0, sizeof *facts);
    measure_width(lab, facts);
    measure_rates(lab, facts);
    measure_store_block(lab, facts);
    measure_memory(lab, facts);
    measure_moves(lab, facts);
    measure_buffer(lab, facts);
}
