// SPDX-License-Identifier: MIT
/*
 * Makes blocks of `headroom interference` comparable between recordings.
 *
 * Shapes are hashes of what was called, by numbers that the recording gave to functions: they are
 * made anew from names. Those that cannot be, because not all that was called is known, stay as
 * they are; at worst equal work then stays apart.
 *
 * Bins of durations are in ticks of the recording's clock. Where ticks differ they are put into
 * bins of nanoseconds, each by its middle.
 */
#include "profile/internal.h"

#include <math.h>
#include <stdlib.h>

enum {
    CHILDREN_CUT = 4, /* of flags: SPANS_CHILDREN_CUT */
    /* Calls nest less; a hostile profile may as it likes. */
    DEEPEST = 256,
    BINS_PER_OCTAVE = 16,
    LEAST_EXPONENT =
        -9, /* the lowest bin ends at 2 to the power of it less one: far below a tick */
};

struct naming {
    const struct profile *profile;
    uint64_t *functions;              /* hashes of what each is                    */
    uint32_t *first_child, *children; /* by block                      */
    uint32_t *by_shape;               /* blocks in the order of (function, shape)  */
    uint64_t *shapes;                 /* new ones, by block                        */
    bool *known;                      /* shapes[block] is final                    */
};

static int compare_blocks(const struct profile_block *a, const struct profile_block *b)
{
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return (a->shape > b->shape) - (a->shape < b->shape);
}

static int compare_by_shape(const void *left, const void *right, void *context)
{
    const struct profile_block *blocks = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_blocks(&blocks[a], &blocks[b]);
    return order ? order : (a > b) - (a < b);
}

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return text ? base_hash_bytes(text, strlen(text), seed) : base_mix64(seed + 1);
}

static uint64_t hash_function(const struct profile *profile,
                              const struct profile_block_function *function)
{
    const struct profile_module *module = &profile->modules[function->module];
    uint64_t hash = hash_text(module->path, function->class);
    hash = base_hash_bytes(module->build_id, module->build_id_bytes, hash);
    return hash_text(function->function, base_mix64(hash + function->address));
}

static uint64_t shape_of(struct naming *naming, uint32_t block, unsigned depth);

/* The new shape of what was called; the old one if no block has it. */
static uint64_t called_shape(struct naming *naming, uint32_t function, uint64_t shape,
                             unsigned depth)
{
    const struct profile *profile = naming->profile;
    const struct profile_block wanted = {.function = function, .shape = shape};
    size_t count = profile->timed_blocks_count;
    size_t at = BASE_FIRST(
        i, count, compare_blocks(&profile->timed_blocks[naming->by_shape[i]], &wanted) >= 0);
    if (at == count || compare_blocks(&profile->timed_blocks[naming->by_shape[at]], &wanted) != 0)
        return shape;
    return shape_of(naming, naming->by_shape[at], depth);
}

static uint64_t shape_of(struct naming *naming, uint32_t block, unsigned depth)
{
    const struct profile_block *old = &naming->profile->timed_blocks[block];
    if (naming->known[block])
        return naming->shapes[block];
    if (old->shape == 0 || old->flags & CHILDREN_CUT || !naming->children[block] ||
        depth == DEEPEST)
        return old->shape;
    /* Should it be among what it calls itself: else each call would double the work. */
    naming->shapes[block] = old->shape;
    naming->known[block] = true;
    uint64_t shape = 0;
    for (uint32_t i = 0; i < naming->children[block]; i++) {
        const struct profile_block_child *child =
            &naming->profile->block_children[naming->first_child[block] + i];
        uint64_t called = called_shape(naming, child->function, child->shape, depth + 1);
        shape = base_mix64(shape + base_mix64(called + naming->functions[child->function] +
                                              base_mix64(child->times)));
    }
    naming->shapes[block] = shape ? shape : 1;
    return naming->shapes[block];
}

static bool begin_naming(struct naming *naming)
{
    const struct profile *profile = naming->profile;
    size_t count = profile->timed_blocks_count;
    naming->functions = calloc(profile->block_functions_count, sizeof *naming->functions);
    naming->first_child = calloc(count, sizeof *naming->first_child);
    naming->children = calloc(count, sizeof *naming->children);
    naming->by_shape = calloc(count, sizeof *naming->by_shape);
    naming->shapes = calloc(count, sizeof *naming->shapes);
    naming->known = calloc(count, sizeof *naming->known);
    if (!naming->functions || !naming->first_child || !naming->children || !naming->by_shape ||
        !naming->shapes || !naming->known)
        return false;
    for (size_t i = 0; i < profile->block_functions_count; i++)
        naming->functions[i] = hash_function(profile, &profile->block_functions[i]);
    for (uint32_t i = 0; i < profile->block_children_count; i++) {
        uint32_t block = profile->block_children[i].block;
        if (naming->children[block]++ == 0)
            naming->first_child[block] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        naming->by_shape[i] = i;
    qsort_r(naming->by_shape, count, sizeof *naming->by_shape, compare_by_shape,
            profile->timed_blocks);
    return true;
}

static void free_naming(struct naming *naming)
{
    free(naming->functions);
    free(naming->first_child);
    free(naming->children);
    free(naming->by_shape);
    free(naming->shapes);
    free(naming->known);
}

enum base_status merge_rename_shapes(struct profile *profile)
{
    struct naming naming = {.profile = profile};
    if (profile->timed_blocks_count == 0)
        return BASE_OK;
    uint64_t *called = calloc(profile->block_children_count + 1, sizeof *called);
    bool good = called && begin_naming(&naming);
    for (size_t i = 0; good && i < profile->block_children_count; i++) {
        const struct profile_block_child *child = &profile->block_children[i];
        called[i] = called_shape(&naming, child->function, child->shape, 0);
    }
    for (uint32_t i = 0; good && i < profile->timed_blocks_count; i++)
        naming.shapes[i] = shape_of(&naming, i, 0);
    for (size_t i = 0; good && i < profile->timed_blocks_count; i++)
        profile->timed_blocks[i].shape = naming.shapes[i];
    for (size_t i = 0; good && i < profile->block_children_count; i++)
        profile->block_children[i].shape = called[i];
    free_naming(&naming);
    free(called);
    return good ? BASE_OK : BASE_NO_MEMORY;
}

/* The middle of a bin made so lies in that same bin: doing it again changes nothing. */
static void spread(struct profile_block_bin *bin)
{
    int exponent;
    double mantissa = frexp((bin->low_ns + bin->high_ns) / 2, &exponent); /* 0.5 .. 1 */
    if (mantissa == 0 || exponent < LEAST_EXPONENT) {
        bin->low_ns = 0;
        bin->high_ns = ldexp(0.5, LEAST_EXPONENT);
        return;
    }
    double step = floor((mantissa - 0.5) * 2 * BINS_PER_OCTAVE);
    bin->low_ns = ldexp(0.5 + step / (2 * BINS_PER_OCTAVE), exponent);
    bin->high_ns = ldexp(0.5 + (step + 1) / (2 * BINS_PER_OCTAVE), exponent);
}

void merge_spread_bins(struct profile *profile)
{
    for (size_t i = 0; i < profile->block_bins_count; i++)
        spread(&profile->block_bins[i]);
    if (profile->block_runs_count)
        profile->block_runs[0].ns_per_tick = 0;
}
