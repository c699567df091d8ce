// SPDX-License-Identifier: MIT
/*
 * Makes spans of `headroom interference` comparable between recordings.
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
    uint32_t *first_child, *children; /* by span                      */
    uint32_t *by_shape;               /* spans in the order of (function, shape)  */
    uint64_t *shapes;                 /* new ones, by span                        */
    bool *known;                      /* shapes[span] is final                    */
};

static int compare_spans(const struct profile_span *a, const struct profile_span *b)
{
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return (a->shape > b->shape) - (a->shape < b->shape);
}

static int compare_by_shape(const void *left, const void *right, void *context)
{
    const struct profile_span *spans = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_spans(&spans[a], &spans[b]);
    return order ? order : (a > b) - (a < b);
}

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return text ? base_hash_bytes(text, strlen(text), seed) : base_mix64(seed + 1);
}

static uint64_t hash_function(const struct profile *profile,
                              const struct profile_span_function *function)
{
    const struct profile_module *module = &profile->modules[function->module];
    uint64_t hash = hash_text(module->path, function->class);
    hash = base_hash_bytes(module->build_id, module->build_id_bytes, hash);
    return hash_text(function->function, base_mix64(hash + function->address));
}

static uint64_t shape_of(struct naming *naming, uint32_t span, unsigned depth);

/* The new shape of what was called; the old one if no span has it. */
static uint64_t called_shape(struct naming *naming, uint32_t function, uint64_t shape,
                             unsigned depth)
{
    const struct profile *profile = naming->profile;
    const struct profile_span wanted = {.function = function, .shape = shape};
    size_t count = profile->spans_count;
    size_t at =
        BASE_FIRST(i, count, compare_spans(&profile->spans[naming->by_shape[i]], &wanted) >= 0);
    if (at == count || compare_spans(&profile->spans[naming->by_shape[at]], &wanted) != 0)
        return shape;
    return shape_of(naming, naming->by_shape[at], depth);
}

static uint64_t shape_of(struct naming *naming, uint32_t span, unsigned depth)
{
    const struct profile_span *old = &naming->profile->spans[span];
    if (naming->known[span])
        return naming->shapes[span];
    if (old->shape == 0 || old->flags & CHILDREN_CUT || !naming->children[span] || depth == DEEPEST)
        return old->shape;
    /* Should it be among what it calls itself: else each call would double the work. */
    naming->shapes[span] = old->shape;
    naming->known[span] = true;
    uint64_t shape = 0;
    for (uint32_t i = 0; i < naming->children[span]; i++) {
        const struct profile_span_child *child =
            &naming->profile->span_children[naming->first_child[span] + i];
        uint64_t called = called_shape(naming, child->function, child->shape, depth + 1);
        shape = base_mix64(shape + base_mix64(called + naming->functions[child->function] +
                                              base_mix64(child->times)));
    }
    naming->shapes[span] = shape ? shape : 1;
    return naming->shapes[span];
}

static bool begin_naming(struct naming *naming)
{
    const struct profile *profile = naming->profile;
    size_t count = profile->spans_count;
    naming->functions = calloc(profile->span_functions_count, sizeof *naming->functions);
    naming->first_child = calloc(count, sizeof *naming->first_child);
    naming->children = calloc(count, sizeof *naming->children);
    naming->by_shape = calloc(count, sizeof *naming->by_shape);
    naming->shapes = calloc(count, sizeof *naming->shapes);
    naming->known = calloc(count, sizeof *naming->known);
    if (!naming->functions || !naming->first_child || !naming->children || !naming->by_shape ||
        !naming->shapes || !naming->known)
        return false;
    for (size_t i = 0; i < profile->span_functions_count; i++)
        naming->functions[i] = hash_function(profile, &profile->span_functions[i]);
    for (uint32_t i = 0; i < profile->span_children_count; i++) {
        uint32_t span = profile->span_children[i].span;
        if (naming->children[span]++ == 0)
            naming->first_child[span] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        naming->by_shape[i] = i;
    qsort_r(naming->by_shape, count, sizeof *naming->by_shape, compare_by_shape, profile->spans);
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
    if (profile->spans_count == 0)
        return BASE_OK;
    uint64_t *called = calloc(profile->span_children_count + 1, sizeof *called);
    bool good = called && begin_naming(&naming);
    for (size_t i = 0; good && i < profile->span_children_count; i++) {
        const struct profile_span_child *child = &profile->span_children[i];
        called[i] = called_shape(&naming, child->function, child->shape, 0);
    }
    for (uint32_t i = 0; good && i < profile->spans_count; i++)
        naming.shapes[i] = shape_of(&naming, i, 0);
    for (size_t i = 0; good && i < profile->spans_count; i++)
        profile->spans[i].shape = naming.shapes[i];
    for (size_t i = 0; good && i < profile->span_children_count; i++)
        profile->span_children[i].shape = called[i];
    free_naming(&naming);
    free(called);
    return good ? BASE_OK : BASE_NO_MEMORY;
}

/* The middle of a bin made so lies in that same bin: doing it again changes nothing. */
static void spread(struct profile_span_bin *bin)
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
    for (size_t i = 0; i < profile->span_bins_count; i++)
        spread(&profile->span_bins[i]);
    if (profile->span_runs_count)
        profile->span_runs[0].ns_per_tick = 0;
}
