// SPDX-License-Identifier: MIT
/*
 * The profile in memory: lists that grow, texts, and the statistics of weighted shares.
 */
#include "profile/schema.h"
#include "util/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const profile_kind_names[PROFILE_KINDS] = {"dead", "silent", "load", "reuse"};

const char *const profile_reach_names[PROFILE_REACHES] = {
    [PROFILE_REACH_ITERATION] = "same loop iteration", [PROFILE_REACH_INVARIANT] = "loop-invariant",
    [PROFILE_REACH_PREVIOUS] = "previous iteration",   [PROFILE_REACH_SEARCH] = "search",
    [PROFILE_REACH_OUTER] = "every outer iteration",   [PROFILE_REACH_CALL] = "every call",
};

struct profile *profile_new(void)
{
    struct profile *profile = calloc(1, sizeof *profile);
    if (!profile || !(profile->strings = calloc(1, sizeof *profile->strings))) {
        free(profile);
        return NULL;
    }
    for (size_t t = 0; t < SCHEMA_TABLES; t++)
        if (schema_tables[t]->first && !schema_add(profile, schema_tables[t])) {
            profile_free(profile);
            return NULL;
        }
    profile->modules[0].path = profile->span_functions[0].function = "";
    profile->modules[0].detail = PROFILE_DETAIL_NONE;
    profile->run.exit_code = profile->run.exit_signal = -1;
    profile->run.wall_s = profile->run.cpu_s = profile->run.system_s = -1;
    return profile;
}

void profile_free(struct profile *profile)
{
    if (!profile)
        return;
    util_strings_free(profile->strings);
    free(profile->strings);
#define FREE_LIST(list, item) free(profile->list);
    PROFILE_LISTS(FREE_LIST)
#undef FREE_LIST
    free(profile);
}

const char *profile_keep(struct profile *profile, const char *text)
{
    uint32_t number;
    if (!text || !util_strings_add(profile->strings, text, strlen(text), &number))
        return NULL;
    return profile->strings->texts[number];
}

bool profile_begin_static(struct profile *profile, const char *verb, const char *weighting,
                          const char *version, char *const *words, size_t count)
{
    struct profile_run *run = &profile->run;
    run->verb = verb;
    run->engine = "static";
    run->weighting = weighting;
    run->version = profile_keep(profile, version);
    run->exit_code = run->exit_signal = -1;
    run->wall_s = run->cpu_s = run->system_s = -1;
    for (size_t i = 0; i < count; i++) {
        struct profile_text *argument = profile_add_arguments(profile);
        if (!argument || !(argument->text = profile_keep(profile, words[i])))
            return false;
    }
    return run->version != NULL;
}

#define DEFINE_ADDER(list, item)                                                                   \
    struct profile_##item *profile_add_##list(struct profile *profile)                             \
    {                                                                                              \
        return schema_add(profile, &schema_##list);                                                \
    }
PROFILE_LISTS(DEFINE_ADDER)
#undef DEFINE_ADDER

uint32_t profile_depth(const struct profile *profile)
{
    uint32_t deepest = 0, *depths = calloc(profile->contexts_count + 1, sizeof *depths);
    if (!depths)
        return UINT32_MAX;
    for (size_t i = 1; i < profile->contexts_count; i++) {
        depths[i] = depths[profile->contexts[i].parent] + 1;
        deepest = depths[i] > deepest ? depths[i] : deepest;
    }
    free(depths);
    return deepest;
}

/* Is a trait's pair at or behind that one? */
static bool not_before(const struct profile_trait *trait, const struct profile_pair *pair)
{
    if (trait->kind != pair->kind)
        return trait->kind > pair->kind;
    if (trait->first != pair->first)
        return trait->first > pair->first;
    return trait->second >= pair->second;
}

const struct profile_trait *profile_trait_of(const struct profile *profile,
                                             const struct profile_pair *pair)
{
    size_t found = BASE_FIRST(i, profile->traits_count, not_before(&profile->traits[i], pair));
    const struct profile_trait *trait =
        found < profile->traits_count ? &profile->traits[found] : NULL;
    bool same = trait && trait->kind == pair->kind && trait->first == pair->first &&
                trait->second == pair->second;
    return same ? trait : NULL;
}

void profile_total(struct profile *profile)
{
    struct profile_kind *by_kind[PROFILE_KINDS] = {NULL};
    for (size_t i = 0; i < profile->kinds_count; i++) {
        struct profile_kind *kind = &profile->kinds[i];
        kind->waste_bytes = kind->use_bytes = kind->waste_squares = kind->use_squares = 0;
        kind->waste_traps = kind->use_traps = 0;
        by_kind[kind->kind] = kind;
    }
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        struct profile_kind *kind = by_kind[pair->kind];
        kind->waste_bytes += pair->waste_bytes;
        kind->use_bytes += pair->use_bytes;
        kind->waste_squares += pair->waste_squares;
        kind->use_squares += pair->use_squares;
        kind->waste_traps += pair->waste_traps;
        kind->use_traps += pair->use_traps;
    }
}

static int compare_lost(const void *left, const void *right)
{
    const struct profile_span_stack *a = left, *b = right;
    if (a->span != b->span)
        return a->span < b->span ? -1 : 1;
    if (a->lost_ns != b->lost_ns)
        return a->lost_ns > b->lost_ns ? -1 : 1;
    if (a->taken != b->taken)
        return a->taken > b->taken ? -1 : 1;
    return (a->context > b->context) - (a->context < b->context);
}

static int compare_waited(const void *left, const void *right)
{
    const struct profile_span_holder *a = left, *b = right;
    if (a->span != b->span)
        return a->span < b->span ? -1 : 1;
    if (a->waited_ns != b->waited_ns)
        return a->waited_ns > b->waited_ns ? -1 : 1;
    return (a->context > b->context) - (a->context < b->context);
}

void profile_order_spans(struct profile *profile)
{
    if (profile->span_stacks_count)
        qsort(profile->span_stacks, profile->span_stacks_count, sizeof *profile->span_stacks,
              compare_lost);
    if (profile->span_holders_count)
        qsort(profile->span_holders, profile->span_holders_count, sizeof *profile->span_holders,
              compare_waited);
}

struct profile_exact profile_exact_total(const struct profile *profile)
{
    struct profile_exact total = {0};
    for (size_t i = 0; i < profile->exacts_count; i++) {
        const struct profile_exact *exact = &profile->exacts[i];
        total.threads += exact->threads;
        total.loads += exact->loads;
        total.stores += exact->stores;
        total.load_bytes += exact->load_bytes;
        total.store_bytes += exact->store_bytes;
        total.fresh_load_bytes += exact->fresh_load_bytes;
        total.fresh_store_bytes += exact->fresh_store_bytes;
        total.kernel_load_bytes += exact->kernel_load_bytes;
        total.kernel_store_bytes += exact->kernel_store_bytes;
        total.ids += exact->ids;
        total.contexts += exact->contexts;
        total.instructions += exact->instructions;
    }
    return total;
}

struct profile_reuse profile_reuse_total(const struct profile *profile)
{
    struct profile_reuse total = {0};
    for (size_t i = 0; i < profile->reuses_count; i++) {
        const struct profile_reuse *reuse = &profile->reuses[i];
        total.unit_bytes = reuse->unit_bytes;
        total.stack = (i == 0 || total.stack) && reuse->stack;
        total.accesses += reuse->accesses;
        total.reuses += reuse->reuses;
        total.locations += reuse->locations;
        total.never_reused += reuse->never_reused;
        total.share_first = fmax(total.share_first, reuse->share_first);
        total.share_last = i == 0 ? reuse->share_last : fmin(total.share_last, reuse->share_last);
        total.kept_accesses += reuse->kept_accesses;
        total.kept_locations += reuse->kept_locations;
    }
    return total;
}

/* ---- statistics ------------------------------------------------------------------------- */

const struct profile_waste_sample *profile_waste_sample_of(const struct profile *profile,
                                                           uint32_t kind)
{
    for (size_t i = 0; i < profile->waste_samples_count; i++)
        if (profile->waste_samples[i].kind == kind)
            return &profile->waste_samples[i];
    return NULL;
}

double profile_waste_share(const struct profile *profile)
{
    return profile->waste_samples_count ? profile->waste_samples[0].share : 1;
}

struct profile_share profile_share(double part, double whole, double whole_squares)
{
    static const double z = 1.959963984540054; /* 97.5 % quantile of the normal distribution */
    struct profile_share result = {0};
    if (!(whole > 0) || !(whole_squares > 0))
        return result;
    double n = whole * whole / whole_squares;
    double p = part / whole;
    p = p > 1 ? 1 : p;
    double centre = (p + z * z / (2 * n)) / (1 + z * z / n);
    double half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    result = (struct profile_share){.share = p, .effective = n, .known = isfinite(n)};
    /* Rounding must not put the share outside its own interval. */
    result.low = fmax(0, fmin(p, centre - half));
    result.high = fmin(1, fmax(p, centre + half));
    return result;
}
