// SPDX-License-Identifier: MIT
/* The loop's clone in other shapes, each on trial by itself: that one is lacking is no failure of the clone. */
#include "clone/internal.h"

#include <stdlib.h>
#include <string.h>

static const char *const ids[CLONE_VARIANTS] = {
    [CLONE_L1] = "l1", [CLONE_L2] = "l2", [CLONE_L3] = "l3", [CLONE_LS] = "ls", [CLONE_FP] = "fp"};

static const char *const lack_texts[CLONE_LACKS] = {
    [CLONE_LACKS_NOTHING] = "nothing",
    [CLONE_LACKS_LEVEL] = "this cache is not known, or too small beside the one before it",
    [CLONE_LACKS_MOTION] = "none of its addresses moves",
    [CLONE_LACKS_REGISTER] = "no register is free",
    [CLONE_LACKS_FLAGS] = "flags go from one iteration into the next",
    [CLONE_LACKS_FORM] = "an instruction has no such form",
    [CLONE_LACKS_ROOM] = "it has too many streams, or too many instructions",
    [CLONE_LACKS_OUTCOMES] = "its branches depend on loaded data",
    [CLONE_LACKS_LIKENESS] = "a recurrence would not be what it is",
};

const char *clone_variant_id(enum clone_variant variant)
{
    return ids[variant];
}

const char *clone_lack_text(enum clone_lack lack)
{
    return lack_texts[lack];
}

/* ---- one ------------------------------------------------------------------------------------------------------ */

static bool is_walking(enum clone_variant variant)
{
    return variant == CLONE_L2 || variant == CLONE_L3;
}

/* Moving on changes the flags. */
static bool flags_are_free(struct body *body)
{
    bool head[BOUNDS_REGISTERS], *needed;
    if (!live_find(body, ROOTS_ALL, &needed, head, NULL))
        return false;
    free(needed);
    for (unsigned f = 0; f < BOUNDS_FLAGS; f++)
        if (head[BOUNDS_FLAG + f])
            return lacks(body, CLONE_LACKS_FLAGS);
    return true;
}

/* What does not walk has one line in all copies. */
static bool begin_walk(struct body *body, uint32_t bytes)
{
    if (!bytes)
        return lacks(body, CLONE_LACKS_LEVEL);
    if (body->outcome_count)
        return lacks(body, CLONE_LACKS_OUTCOMES);
    body->copies = CLONE_COPIES_MAX;
    if (!flags_are_free(body) || !walk_assign(body, bytes))
        return false;
    for (size_t o = 0; o < body->operand_count; o++)
        for (unsigned copy = 1; copy < body->copies; copy++)
            body->operands[o].at[copy] = body->operands[o].at[0];
    return true;
}

static bool begin(struct body *body)
{
    body->copies = 1;
    if (!lines_assign(body))
        return lacks(body, CLONE_LACKS_ROOM);
    if (body->splice && !body->relative_stack && !is_walking(body->variant))
        return lacks(body, CLONE_LACKS_FORM);
    return is_walking(body->variant) ? begin_walk(body, body->request->walk_bytes[body->variant])
                                     : part_begin(body);
}

static enum clone_lack lack_of(enum clone_reason reason)
{
    return reason == CLONE_LONG              ? CLONE_LACKS_ROOM
           : reason >= CLONE_RECURRENCE_MADE ? CLONE_LACKS_LIKENESS
                                             : CLONE_LACKS_FORM;
}

static struct wire_clone *make(struct body *body)
{
    struct emitted emitted = {0};
    bool good = begin(body) && emit_clone(body, &emitted) &&
                (!is_walking(body->variant) || compare_end(body, &emitted));
    free(emitted.starts);
    if (good)
        return emitted.clone;
    free(emitted.clone);
    if (body->lack == CLONE_LACKS_NOTHING)
        body->lack = (uint8_t)lack_of(body->out->reason);
    return NULL;
}

/* ---- all ------------------------------------------------------------------------------------------------------ */

static void make_one(struct body *body, enum clone_variant variant)
{
    struct clone kept = *body->out;
    body->variant = variant;
    body->lack = CLONE_LACKS_NOTHING;
    kept.variants[variant] = make(body);
    kept.lacks[variant] = body->lack;
    *body->out = kept;
    free(body->needed);
    body->needed = NULL;
    body->walk_count = 0;
    body->variant = CLONE_L1;
}

bool variants_make(struct body *body)
{
    for (unsigned v = CLONE_L1 + 1; v < CLONE_VARIANTS && !body->no_memory; v++)
        if (body->request->variants >> v & 1)
            make_one(body, (enum clone_variant)v);
    return !body->no_memory;
}
