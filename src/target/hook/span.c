// SPDX-License-Identifier: MIT
/* The spans of a thread: found by function, key and shape; shapes of what was called. */
#include "hook/internal.h"

enum {
    ORDINARY_SPANS = SPANS_OF_THREAD - 128, /* the others are kept for functions' rests */
};

static uint32_t place_of(uint32_t function, uint64_t key, uint64_t shape)
{
    return (uint32_t)base_mix64(key ^ base_mix64(shape + function)) % INDEX_CELLS;
}

static struct spans_span *make(struct hook_thread *self, uint32_t function, uint64_t key,
                               uint64_t shape, uint32_t flags)
{
    struct spans_thread *piece = self->piece;
    uint32_t limit = flags & SPANS_REST ? SPANS_OF_THREAD : ORDINARY_SPANS;
    if (piece->spans >= limit)
        return NULL;
    if (atomic_fetch_add_explicit(&hook.region->budget, sizeof(struct spans_span),
                                  memory_order_relaxed) > SPANS_BUDGET) {
        atomic_fetch_sub_explicit(&hook.region->budget, sizeof(struct spans_span),
                                  memory_order_relaxed);
        return NULL;
    }
    struct spans_span *span = &piece->span[piece->spans];
    span->function = function;
    span->flags = flags;
    span->key = key;
    span->shape = shape;
    span->min = UINT64_MAX;
    span->sample_stride = 1;
    span->first = HOOK_TICKS();
    atomic_signal_fence(memory_order_release); /* `spans` says that it is whole */
    piece->spans++;
    return span;
}

static struct spans_span *rest(struct hook_thread *self, uint32_t function)
{
    struct hook_function *known = &self->function[function];
    if (!known->rest)
        known->rest = make(self, function, 0, 0, SPANS_REST);
    return known->rest;
}

static void copy_children(struct spans_span *span, const struct slot *slot)
{
    uint32_t count = slot->runs < SPANS_CHILDREN ? slot->runs : SPANS_CHILDREN;
    for (uint32_t i = 0; i < count; i++)
        span->children[i] = slot->child[i];
    span->children_count = count;
    if (slot->runs > SPANS_CHILDREN)
        span->flags |= SPANS_CHILDREN_CUT;
}

SLOW struct spans_span *span_find(struct hook_thread *self, uint32_t function, uint64_t key,
                                  uint64_t shape, const struct slot *slot)
{
    struct spans_thread *piece = self->piece;
    uint32_t at = place_of(function, key, shape);
    for (; self->index[at]; at = (at + 1) % INDEX_CELLS) {
        struct spans_span *span = &piece->span[self->index[at] - 1];
        if (span->function == function && span->key == key && span->shape == shape)
            return span;
    }
    struct hook_function *known = &self->function[function];
    if (known->spans >= SPANS_OF_FUNCTION)
        return rest(self, function);
    struct spans_span *span = make(self, function, key, shape, 0);
    if (!span)
        return rest(self, function);
    known->spans++;
    self->index[at] = (uint16_t)(span - piece->span + 1);
    copy_children(span, slot);
    return span;
}

/* ---- shapes --------------------------------------------------------------------- */

static uint32_t power_reached(uint32_t class)
{
    return class <= 16 ? class : UINT32_C(1) << (class - 16);
}

static uint64_t mix_child(uint64_t shape, uint32_t function, uint64_t of, uint32_t class)
{
    return base_mix64(shape + base_mix64(of + ((uint64_t)function << 32 | class)));
}

SLOW void span_child(struct slot *parent, uint32_t function, uint64_t shape)
{
    parent->children++;
    if (parent->runs && parent->last_function == function && parent->last_shape == shape) {
        parent->last_count++;
    } else {
        if (!parent->runs)
            parent->shape = 0;
        else
            parent->shape = mix_child(parent->shape, parent->last_function, parent->last_shape,
                                      fold_class(parent->last_count));
        parent->last_function = function;
        parent->last_shape = shape;
        parent->last_count = 1;
        if (parent->runs < SPANS_CHILDREN)
            parent->child[parent->runs] =
                (struct spans_child){.function = function, .shape = shape};
        parent->runs++;
    }
    if (parent->runs <= SPANS_CHILDREN)
        parent->child[parent->runs - 1].count = power_reached(fold_class(parent->last_count));
}

/*
 * What called much is distinguished by how much, in powers of two, or each way through a loop would be
 * a span of its own with nothing to compare it with.
 */
SLOW uint64_t span_shape(struct slot *slot)
{
    uint64_t shape;
    if (slot->runs > SPANS_CHILDREN)
        shape = mix_child(UINT64_C(0x10c), 0, 0, 31 - (uint32_t)__builtin_clz(slot->children));
    else
        shape = mix_child(slot->shape, slot->last_function, slot->last_shape,
                          fold_class(slot->last_count));
    return shape ? shape : 1;
}

/* ---- sequences of siblings ------------------------------------------------------ */

static struct spans_span *make_sequence(struct hook_thread *self, uint32_t sequence)
{
    struct fold_part parts[SPANS_CHILDREN + 1];
    uint32_t count = fold_expand(self->fold, sequence, parts, SPANS_CHILDREN + 1);
    uint64_t shape = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct spans_span *part = &self->piece->span[parts[i].symbol];
        shape = mix_child(shape, part->function, part->shape, parts[i].class);
    }
    struct spans_span *span = make(self, 0, 0, shape, SPANS_SEQUENCE);
    if (!span)
        return NULL;
    for (uint32_t i = 0; i < count && i < SPANS_CHILDREN; i++) {
        const struct spans_span *part = &self->piece->span[parts[i].symbol];
        span->children[i] = (struct spans_child){.function = part->function,
                                                 .count = power_reached(parts[i].class),
                                                 .shape = part->shape};
    }
    span->children_count = count < SPANS_CHILDREN ? count : SPANS_CHILDREN;
    if (count > SPANS_CHILDREN)
        span->flags |= SPANS_CHILDREN_CUT;
    return span;
}

void span_sequence(void *context, uint32_t sequence, uint64_t start, uint64_t end)
{
    struct hook_thread *self = context;
    uint64_t ticks = end - start;
    uint32_t known = self->sequence_span[sequence];
    if (!known) {
        struct spans_span *made = make_sequence(self, sequence);
        known = made ? (uint32_t)(made - self->piece->span) + 1 : UINT32_MAX;
        self->sequence_span[sequence] = known;
    }
    if (known == UINT32_MAX) {
        self->piece->sequences_full = 1;
        return;
    }
    struct spans_span *span = &self->piece->span[known - 1];
    /* What preemption took is known by another clock, and may come out longer than all of it was.
     */
    if (end <= start)
        ticks = span->recorded ? span->min : 1;
    if (ticks < span->min)
        span->min = ticks;
    if (ticks > span->max)
        span->max = ticks;
    if (self->piece->events >= FOLD_BEGINNING)
        span->skipped += FOLD_PERIOD / FOLD_PART - 1;
    span->recorded++;
    span->sum += ticks;
    span->last = end;
    span->bins[spans_bin(ticks)]++;
}
