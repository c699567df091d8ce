// SPDX-License-Identifier: MIT
/* Clones of loops: put in their place, and what they load. */
#include "wire/clones.h"

#include <string.h>

static uint64_t all_bytes(const struct wire_clone *clone)
{
    return sizeof *clone + (uint64_t)clone->fixups * sizeof(struct wire_clone_fixup) +
           (uint64_t)clone->fills * sizeof(struct wire_clone_fill) +
           (uint64_t)clone->walks * sizeof(struct wire_clone_walk) + clone->code_bytes;
}

static bool check_fixup(const struct wire_clone *clone, const struct wire_clone_fixup *fixup)
{
    uint32_t bytes = fixup->kind == WIRE_CLONE_IMAGE ? 8 : 4;
    int64_t yard = (int64_t)(WIRE_CLONE_WALK_AT + clone->walk_bytes);
    return fixup->kind <= WIRE_CLONE_RELATIVE && clone->code_bytes >= bytes &&
           fixup->at <= clone->code_bytes - bytes &&
           (fixup->kind != WIRE_CLONE_YARD || (fixup->value >= 0 && fixup->value < yard));
}

static bool check_fill(const struct wire_clone *clone, const struct wire_clone_fill *fill)
{
    return fill->to + fill->bytes <= clone->lines * WIRE_CLONE_LINE &&
           fill->base < BASE_GENERAL_REGISTERS && fill->index < BASE_GENERAL_REGISTERS &&
           fill->segment <= 2;
}

static bool check_walk(const struct wire_clone *clone, const struct wire_clone_walk *walk)
{
    int64_t last = walk->to + (int64_t)walk->step * (walk->times ? walk->times - 1 : 0);
    int64_t most = (int64_t)clone->walk_bytes - walk->bytes;
    return walk->from + walk->bytes <= clone->lines * WIRE_CLONE_LINE && walk->to <= most &&
           last >= 0 && last <= most;
}

bool wire_clone_check(const struct wire_clone *clone, size_t available)
{
    if (available < sizeof *clone || clone->version != WIRE_CLONE_VERSION ||
        clone->bytes > available || clone->code_bytes > WIRE_CLONE_CODE_MAX ||
        clone->lines > WIRE_CLONE_LINES_MAX || clone->walk_bytes > WIRE_CLONE_WALK_BYTES_MAX ||
        all_bytes(clone) > clone->bytes || clone->counter >= BASE_GENERAL_REGISTERS ||
        clone->stack >= sizeof(struct wire_clone_yard) || clone->gate > clone->code_bytes ||
        clone->exit_count > WIRE_CLONE_EXITS_MAX || clone->outcomes > WIRE_CLONE_OUTCOMES_MAX)
        return false;
    for (uint32_t i = 0; i < clone->fixups; i++)
        if (!check_fixup(clone, &wire_clone_fixups(clone)[i]))
            return false;
    for (uint32_t i = 0; i < clone->fills; i++)
        if (!check_fill(clone, &wire_clone_fills(clone)[i]))
            return false;
    for (uint32_t i = 0; i < clone->walks; i++)
        if (!check_walk(clone, &wire_clone_walks(clone)[i]))
            return false;
    return true;
}

bool wire_clone_place(const struct wire_clone *clone, uint64_t yard, uint64_t bias, uint64_t where,
                      uint8_t *out)
{
    bool reached = true;
    memcpy(out, wire_clone_code(clone), clone->code_bytes);
    for (uint32_t i = 0; i < clone->fixups; i++) {
        const struct wire_clone_fixup *fixup = &wire_clone_fixups(clone)[i];
        uint64_t value = (uint64_t)fixup->value;
        value += fixup->kind == WIRE_CLONE_YARD ? yard : bias;
        if (fixup->kind == WIRE_CLONE_RELATIVE) {
            value -= where + fixup->at;
            reached &= (int64_t)value == (int32_t)value;
        }
        memcpy(out + fixup->at, &value, fixup->kind == WIRE_CLONE_IMAGE ? 8 : 4);
    }
    return reached;
}

static uint64_t address_of(const struct wire_clone_fill *fill, uint64_t bias,
                           const struct base_registers *registers)
{
    uint64_t address =
        (uint64_t)fill->displacement + (fill->flags & WIRE_CLONE_FROM_IMAGE ? bias : 0);
    if (fill->base >= 0)
        address += registers->general[fill->base];
    if (fill->index >= 0)
        address += registers->general[fill->index] * fill->scale;
    return address + (fill->segment == 1   ? registers->fs_base
                      : fill->segment == 2 ? registers->gs_base
                                           : 0);
}

bool wire_clone_fill(const struct wire_clone *clone, uint64_t bias,
                     const struct base_registers *registers, const struct base_memory *memory,
                     struct wire_clone_yard *yard)
{
    const uint32_t pattern = WIRE_CLONE_PATTERN;
    bool complete = true;
    for (size_t at = 0; at < (size_t)clone->lines * WIRE_CLONE_LINE; at += sizeof pattern)
        memcpy(yard->lines + at, &pattern, sizeof pattern);
    for (uint32_t i = 0; i < clone->fills; i++) {
        const struct wire_clone_fill *fill = &wire_clone_fills(clone)[i];
        uint8_t bytes[UINT8_MAX];
        if (base_read(memory, address_of(fill, bias, registers), bytes, fill->bytes))
            memcpy(yard->lines + fill->to, bytes, fill->bytes);
        else
            complete &= !(fill->flags & WIRE_CLONE_NEEDED);
    }
    return complete;
}

uint32_t wire_clone_take(const struct wire_clone *clone, uint64_t recorded, uint32_t incomplete,
                         const uint8_t *bytes, uint16_t *outcomes, uint32_t most)
{
    unsigned slots = wire_clone_slots(clone->outcomes);
    uint64_t room = WIRE_CLONE_ITERATIONS / slots, last = recorded / slots, count = last;
    count = count < room ? count : room;
    uint64_t first = last - count + 1; /* they count from 1 on */
    count = count > incomplete ? count - incomplete : 0;
    count = count < most ? count : most;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *of = bytes + (first + i) % room * slots;
        unsigned all = 0;
        for (unsigned k = 0; k < clone->outcomes; k++)
            all |= (of[k] & 1U) << k;
        outcomes[i] = (uint16_t)all;
    }
    return (uint32_t)count;
}

void wire_clone_spread(const struct wire_clone *clone, const struct wire_clone_yard *yard,
                       uint8_t *buffers)
{
    for (uint32_t i = 0; i < clone->walks; i++) {
        const struct wire_clone_walk *walk = &wire_clone_walks(clone)[i];
        for (uint32_t k = 0; k < walk->times; k++)
            memcpy(buffers + walk->to + (int64_t)walk->step * k, yard->lines + walk->from,
                   walk->bytes);
    }
}
