// SPDX-License-Identifier: MIT
/*
 * The front end: slots of dispatch over its width, taken branches, and, for code that is executed once in each place and so
 * never comes from the cache of decoded instructions, predecoding of aligned blocks of bytes and the decoders.
 */
#include "bounds/internal.h"

#include <stdlib.h>

enum { ROUNDS = 64, BYTES_MAX = 1 << 15 };

static unsigned greatest_divisor(unsigned a, unsigned b)
{
    while (b) {
        unsigned rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A block of bytes that predecoding takes at a time. */
struct fetched {
    unsigned ends, crossing,
        changed; /* instructions that end in it; whose opcode lies in it and end behind; of changed length */
};

static unsigned fetch_cycles(const struct fetched *fetched, unsigned most)
{
    return (fetched->ends + fetched->crossing + most - 1) / most;
}

/* Instructions whose length a prefix changes take 3 cycles each, which may pass while the block before is still decoded. */
static double predecode_cycles(const struct fetched *blocks, unsigned count, unsigned most)
{
    double cycles = 0;
    for (unsigned b = 0; b < count; b++) {
        unsigned own = fetch_cycles(&blocks[b], most),
                 before = fetch_cycles(&blocks[(b + count - 1) % count], most);
        cycles += own ? own : 1;
        if (3 * blocks[b].changed + 1 > before)
            cycles += blocks[b].changed ? 3 * blocks[b].changed + 1 - before : 0;
    }
    return cycles;
}

static double predecode_of(const struct work *work, unsigned fetch, unsigned decoders)
{
    const struct bounds_block *block = work->block;
    unsigned bytes = 0;
    for (size_t i = 0; i < block->count; i++)
        bytes += block->instructions[i].length;
    unsigned copies = fetch / greatest_divisor(bytes, fetch), count = copies * bytes / fetch,
             at = 0;
    struct fetched *blocks = bytes < BYTES_MAX ? calloc(count, sizeof *blocks) : NULL;
    if (!blocks)
        return 0;
    for (unsigned copy = 0; copy < copies; copy++)
        for (size_t i = 0; i < block->count; i++) {
            const struct bounds_instruction *instruction = &block->instructions[i];
            unsigned opcode = (at + instruction->prefixes) / fetch,
                     end = (at + instruction->length - 1) / fetch;
            blocks[end].ends++;
            blocks[opcode].crossing += opcode != end;
            blocks[opcode].changed +=
                instruction->changes_length && has_rule(work, MODEL_LENGTH_STALLS);
            at += instruction->length;
        }
    double cycles = predecode_cycles(blocks, count, decoders + 1) / copies;
    free(blocks);
    return cycles;
}

/* One decoder takes instructions of up to four micro-operations, the others of one; more are microcoded, alone. */
struct decoders {
    unsigned count, cycle, taken, room;
};

static void decode_one(struct decoders *decoders, unsigned slots, bool coded)
{
    if (slots > decoders->count) {
        decoders->cycle +=
            (decoders->taken ? 1 : 0) + (slots + decoders->count - 1) / decoders->count;
        decoders->taken = 0;
        return;
    }
    if (slots > 1 || coded) {
        decoders->cycle += decoders->taken ? 1 : 0;
        decoders->taken = 1;
        unsigned lost = slots > 2 ? 2 * (slots - 2) : 0;
        decoders->room = decoders->count > lost ? decoders->count - lost : 1;
        return;
    }
    if (decoders->taken == 0) {
        decoders->room = decoders->count;
    } else if (decoders->taken >= decoders->room) {
        decoders->cycle++;
        decoders->taken = 0;
        decoders->room = decoders->count;
    }
    decoders->taken++;
}

static double decode_of(const struct work *work, unsigned count)
{
    struct decoders decoders = {.count = count};
    unsigned half = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < work->block->count; i++) {
            const struct cost *cost = &work->costs[i];
            if (!cost->fused)
                decode_one(&decoders, (unsigned)ceilf(cost->decoded - 0.01F),
                           cost->figures && (cost->figures->idioms & MODEL_CODED));
        }
        half = round == ROUNDS / 2 - 1 ? decoders.cycle : half;
    }
    return (double)(decoders.cycle - half) / (ROUNDS / 2);
}

void front_end_of(struct work *work)
{
    struct bounds *out = work->out;
    out->slots = out->slots_count / fmaxf(1, figure(work, MODEL_WIDTH, 1e9F));
    float decoded = figure(work, MODEL_DECODED, 0);
    if (!work->options->unrolled && decoded > 0)
        out->slots = fmax(out->slots, out->slots_count / decoded);
    out->branch = work->options->unrolled
                      ? 0
                      : work->options->taken / fmaxf(0.1F, figure(work, MODEL_TAKEN, 1));
    unsigned fetch = (unsigned)figure(work, MODEL_FETCH, 0),
             decoders = (unsigned)figure(work, MODEL_DECODERS, 0);
    if (work->options->unrolled && fetch && decoders) {
        out->predecode = predecode_of(work, fetch, decoders);
        out->decode = decode_of(work, decoders);
    }
    out->frontend = fmax(fmax(out->slots, out->branch), fmax(out->predecode, out->decode));
}
