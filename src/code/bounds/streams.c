// SPDX-License-Identifier: MIT
/*
 * Address streams: how the address of each memory operand changes along the iterations, from what trace.c finds it to be in the
 * first three. Addresses are sums of a root, a random number, and an offset: a stride that registers hold shows as equal
 * differences of roots.
 */
#include "bounds/internal.h"

#include <stdlib.h>

bool streams_begin(struct work *work)
{
    work->looks = calloc(work->block->count * BOUNDS_OPERANDS, sizeof *work->looks);
    return work->looks != NULL;
}

void streams_see(struct work *work, uint32_t instruction, unsigned operand, uint32_t iteration,
                 uint64_t root, int64_t offset)
{
    struct stream_look *look = &work->looks[instruction * BOUNDS_OPERANDS + operand];
    if (iteration >= STREAM_LOOKS)
        return;
    look->roots[iteration] = root;
    look->offsets[iteration] = offset;
}

static uint64_t first_address_root(const struct bounds_operand *operand)
{
    uint64_t root = 0;
    if (operand->base != BOUNDS_NO_REGISTER)
        root += is_general(operand->base) ? first_root(operand->base) : 0;
    if (operand->index != BOUNDS_NO_REGISTER)
        root += is_general(operand->index) ? first_root(operand->index) * operand->scale : 0;
    return root;
}

static void classify(const struct stream_look *look, struct bounds_stream *stream)
{
    uint64_t roots[2], offsets[2];
    for (unsigned i = 0; i < 2; i++) {
        roots[i] = look->roots[i + 1] - look->roots[i];
        offsets[i] = (uint64_t)look->offsets[i + 1] - (uint64_t)look->offsets[i];
    }
    stream->root = look->roots[0];
    stream->offset = look->offsets[0];
    stream->kind = roots[0] != roots[1] || offsets[0] != offsets[1] ? BOUNDS_STRIDE_IRREGULAR
                   : roots[0]                                       ? BOUNDS_STRIDE_INVARIANT
                                                                    : BOUNDS_STRIDE_CONSTANT;
    stream->stride = stream->kind == BOUNDS_STRIDE_CONSTANT ? (int64_t)offsets[0] : 0;
}

bool streams_end(struct work *work)
{
    struct bounds *out = work->out;
    size_t capacity = 0;
    for (uint32_t i = 0; i < work->block->count; i++)
        for (unsigned k = 0; k < work->block->instructions[i].operand_count; k++) {
            const struct bounds_operand *operand = &work->block->instructions[i].operands[k];
            struct bounds_stream stream = {.instruction = i, .operand = (uint8_t)k};
            if (!loads(operand) && !stores(operand))
                continue;
            classify(&work->looks[i * BOUNDS_OPERANDS + k], &stream);
            if (operand->gathers)
                stream.kind = BOUNDS_STRIDE_IRREGULAR;
            stream.from_registers = !operand->gathers && stream.root == first_address_root(operand);
            if (!UTIL_PUSH(out->streams, out->stream_count, capacity, stream))
                return false;
        }
    return true;
}
