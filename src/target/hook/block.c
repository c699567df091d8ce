// SPDX-License-Identifier: MIT
/* The blocks of a thread: found by function, key and shape; shapes of what was called. */
#include "hook/internal.h"

enum {
    ORDINARY_BLOCKS = BLOCKS_THREAD_BLOCKS - 128, /* the others are kept for functions' rests */
};

static uint32_t place_of(uint32_t function, uint64_t key, uint64_t shape)
{
    return (uint32_t)base_mix64(key ^ base_mix64(shape + function)) % INDEX_CELLS;
}

static struct blocks_block *make(struct hook_thread *self, uint32_t function, uint64_t key,
                                 uint64_t shape, uint32_t flags)
{
    struct blocks_thread *piece = self->piece;
    uint32_t limit = flags & BLOCKS_REST ? BLOCKS_THREAD_BLOCKS : ORDINARY_BLOCKS;
    if (piece->blocks >= limit)
        return NULL;
    if (atomic_fetch_add_explicit(&hook.region->budget, sizeof(struct blocks_block),
                                  memory_order_relaxed) > BLOCKS_BUDGET) {
        atomic_fetch_sub_explicit(&hook.region->budget, sizeof(struct blocks_block),
                                  memory_order_relaxed);
        return NULL;
    }
    struct blocks_block *block = &piece->block[piece->blocks];
    block->function = function;
    block->flags = flags;
    block->key = key;
    block->shape = shape;
    block->min = UINT64_MAX;
    block->sample_stride = 1;
    block->first = HOOK_TICKS();
    atomic_signal_fence(memory_order_release); /* `blocks` says that it is whole */
    piece->blocks++;
    return block;
}

static struct blocks_block *rest(struct hook_thread *self, uint32_t function)
{
    struct hook_function *known = &self->function[function];
    if (!known->rest)
        known->rest = make(self, function, 0, 0, BLOCKS_REST);
    return known->rest;
}

static void copy_children(struct blocks_block *block, const struct slot *slot)
{
    uint32_t count = slot->runs < BLOCKS_CHILDREN ? slot->runs : BLOCKS_CHILDREN;
    for (uint32_t i = 0; i < count; i++)
        block->children[i] = slot->child[i];
    block->children_count = count;
    if (slot->runs > BLOCKS_CHILDREN)
        block->flags |= BLOCKS_CHILDREN_CUT;
}

SLOW struct blocks_block *block_find(struct hook_thread *self, uint32_t function, uint64_t key,
                                     uint64_t shape, const struct slot *slot)
{
    struct blocks_thread *piece = self->piece;
    uint32_t at = place_of(function, key, shape);
    for (; self->index[at]; at = (at + 1) % INDEX_CELLS) {
        struct blocks_block *block = &piece->block[self->index[at] - 1];
        if (block->function == function && block->key == key && block->shape == shape)
            return block;
    }
    struct hook_function *known = &self->function[function];
    if (known->blocks >= BLOCKS_OF_FUNCTION)
        return rest(self, function);
    struct blocks_block *block = make(self, function, key, shape, 0);
    if (!block)
        return rest(self, function);
    known->blocks++;
    self->index[at] = (uint16_t)(block - piece->block + 1);
    copy_children(block, slot);
    return block;
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

SLOW void block_child(struct slot *parent, uint32_t function, uint64_t shape)
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
        if (parent->runs < BLOCKS_CHILDREN)
            parent->child[parent->runs] =
                (struct blocks_child){.function = function, .shape = shape};
        parent->runs++;
    }
    if (parent->runs <= BLOCKS_CHILDREN)
        parent->child[parent->runs - 1].count = power_reached(fold_class(parent->last_count));
}

/*
 * What called much is distinguished by how much, in powers of two, or each way through a loop would
 * be a block of its own with nothing to compare it with.
 */
SLOW uint64_t block_shape(struct slot *slot)
{
    uint64_t shape;
    if (slot->runs > BLOCKS_CHILDREN)
        shape = mix_child(UINT64_C(0x10c), 0, 0, 31 - (uint32_t)__builtin_clz(slot->children));
    else
        shape = mix_child(slot->shape, slot->last_function, slot->last_shape,
                          fold_class(slot->last_count));
    return shape ? shape : 1;
}

/* ---- sequences of siblings ------------------------------------------------------ */

static struct blocks_block *make_sequence(struct hook_thread *self, uint32_t sequence)
{
    struct fold_part parts[BLOCKS_CHILDREN + 1];
    uint32_t count = fold_expand(self->fold, sequence, parts, BLOCKS_CHILDREN + 1);
    uint64_t shape = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct blocks_block *part = &self->piece->block[parts[i].symbol];
        shape = mix_child(shape, part->function, part->shape, parts[i].class);
    }
    struct blocks_block *block = make(self, 0, 0, shape, BLOCKS_SEQUENCE);
    if (!block)
        return NULL;
    for (uint32_t i = 0; i < count && i < BLOCKS_CHILDREN; i++) {
        const struct blocks_block *part = &self->piece->block[parts[i].symbol];
        block->children[i] = (struct blocks_child){.function = part->function,
                                                   .count = power_reached(parts[i].class),
                                                   .shape = part->shape};
    }
    block->children_count = count < BLOCKS_CHILDREN ? count : BLOCKS_CHILDREN;
    if (count > BLOCKS_CHILDREN)
        block->flags |= BLOCKS_CHILDREN_CUT;
    return block;
}

void block_sequence(void *context, uint32_t sequence, uint64_t start, uint64_t end)
{
    struct hook_thread *self = context;
    uint64_t ticks = end - start;
    uint32_t known = self->sequence_block[sequence];
    if (!known) {
        struct blocks_block *made = make_sequence(self, sequence);
        known = made ? (uint32_t)(made - self->piece->block) + 1 : UINT32_MAX;
        self->sequence_block[sequence] = known;
    }
    if (known == UINT32_MAX) {
        self->piece->sequences_full = 1;
        return;
    }
    struct blocks_block *block = &self->piece->block[known - 1];
    /* What preemption took is known by another clock, and may come out longer than all of it was.
     */
    if (end <= start)
        ticks = block->recorded ? block->min : 1;
    if (ticks < block->min)
        block->min = ticks;
    if (ticks > block->max)
        block->max = ticks;
    if (self->piece->events >= FOLD_BEGINNING)
        block->skipped += FOLD_PERIOD / FOLD_PART - 1;
    block->recorded++;
    block->sum += ticks;
    block->last = end;
    block->bins[blocks_bin(ticks)]++;
}
