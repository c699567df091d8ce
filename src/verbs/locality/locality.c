// SPDX-License-Identifier: MIT
/* Rows of nests, and what locality is to the other rooms. */
#include "locality/internal.h"

#include <string.h>

const struct profile_locality_run *locality_run_of(const struct profile *profile)
{
    return profile->locality_runs_count ? &profile->locality_runs[0] : NULL;
}

/* rows: pointer to items with that member, by which they are grouped. */
#define ROWS_OF(rows, count, member, owner)                                                        \
    ((struct locality_rows){BASE_FIRST(row_, (count), (rows)[row_].member >= (owner)),             \
                            BASE_FIRST(row_, (count), (rows)[row_].member > (owner))})

struct locality_rows locality_arrays_of(const struct profile *profile, uint32_t nest)
{
    return ROWS_OF(profile->locality_arrays, profile->locality_arrays_count, nest, nest);
}

struct locality_rows locality_references_of(const struct profile *profile, uint32_t nest)
{
    return ROWS_OF(profile->locality_references, profile->locality_references_count, nest, nest);
}

struct locality_rows locality_pairs_of(const struct profile *profile, uint32_t nest)
{
    return ROWS_OF(profile->locality_pairs, profile->locality_pairs_count, nest, nest);
}

struct locality_rows locality_suggestions_of(const struct profile *profile, uint32_t nest)
{
    return ROWS_OF(profile->locality_suggestions, profile->locality_suggestions_count, nest, nest);
}

struct locality_rows locality_loops_of(const struct profile *profile, uint32_t suggestion)
{
    return ROWS_OF(profile->locality_loops, profile->locality_loops_count, suggestion, suggestion);
}

struct locality_rows locality_paddings_of(const struct profile *profile, uint32_t suggestion)
{
    return ROWS_OF(profile->locality_paddings, profile->locality_paddings_count, suggestion,
                   suggestion);
}

static const struct profile_locality_figure *find(const struct profile_locality_figure *figures,
                                                  size_t count, uint32_t owner, uint32_t level)
{
    static const struct profile_locality_figure none = {.simulated = -1};
    size_t at = BASE_FIRST(i, count, figures[i].owner >= owner);
    while (at < count && figures[at].owner == owner && figures[at].level != level)
        at++;
    return at < count && figures[at].owner == owner ? &figures[at] : &none;
}

const struct profile_locality_figure *locality_total(const struct profile *profile, uint32_t nest,
                                                     uint32_t level)
{
    return find(profile->locality_totals, profile->locality_totals_count, nest, level);
}

const struct profile_locality_figure *locality_miss(const struct profile *profile,
                                                    uint32_t reference, uint32_t level)
{
    return find(profile->locality_misses, profile->locality_misses_count, reference, level);
}

const struct profile_locality_figure *locality_saving(const struct profile *profile,
                                                      uint32_t suggestion, uint32_t level)
{
    return find(profile->locality_savings, profile->locality_savings_count, suggestion, level);
}

const struct profile_locality_figure *locality_sweep(const struct profile *profile, uint32_t point,
                                                     uint32_t level)
{
    return find(profile->locality_sweeps, profile->locality_sweeps_count, point, level);
}

const struct profile_locality_recorded *locality_recorded(const struct profile *profile,
                                                          uint32_t reference)
{
    size_t count = profile->locality_recorded_count;
    size_t at = BASE_FIRST(i, count, profile->locality_recorded[i].reference >= reference);
    return at < count && profile->locality_recorded[at].reference == reference
               ? &profile->locality_recorded[at]
               : NULL;
}

struct profile_locality_figure locality_sum(const struct profile *profile, uint32_t level,
                                            double *accesses)
{
    struct profile_locality_figure sum = {.level = level, .exact = true};
    *accesses = 0;
    for (uint32_t i = 0; i < profile->locality_nests_count; i++) {
        const struct profile_locality_figure *total = locality_total(profile, i, level);
        *accesses += (double)profile->locality_nests[i].accesses;
        sum.misses += total->misses;
        sum.low += total->low;
        sum.high += total->high;
        sum.cold += total->cold;
        sum.capacity += total->capacity;
        sum.conflict += total->conflict;
        sum.points += total->points;
        sum.cut += total->cut;
        sum.exact &= total->exact;
        sum.simulated =
            sum.simulated < 0 || total->simulated < 0 ? -1 : sum.simulated + total->simulated;
    }
    if (!profile->locality_nests_count) {
        sum.simulated = -1;
        sum.exact = false;
    }
    return sum;
}

struct advice locality_advice(const struct profile_locality_suggestion *suggestion)
{
    static const struct advice advice[] = {
        [PROFILE_LOCALITY_INTERCHANGE] = {"locality.interchange",
                                          "Write the loops in that order; no dependence is broken.",
                                          ADVICE_STRONG},
        [PROFILE_LOCALITY_TILES] = {"locality.tiles",
                                    "Divide the loops into tiles of that size; no dependence is "
                                    "broken.",
                                    ADVICE_STRONG},
        [PROFILE_LOCALITY_PADDING] =
            {"locality.padding", "Make rows that much longer, or put the arrays further apart.",
             ADVICE_STRONG},
    };
    return advice[suggestion->kind];
}

/* It leaves no raw logs. */
static bool was_left(const struct analysis_log *log)
{
    (void)log;
    return false;
}

/* They have computed figures, not samples that add up. Beside a run, those that are the same stay (profile_merge). */
static bool runs_clash(const struct profile *a, const struct profile *b, char *why,
                       size_t why_bytes)
{
    if (strcmp(a->run.verb, "locality") != 0 || strcmp(b->run.verb, "locality") != 0)
        return false;
    snprintf(why, why_bytes,
             "what was computed of loop nests does not add up; 'headroom diff' compares it");
    return true;
}

const struct analysis locality_analysis = {
    .name = "locality",
    .exact_unit = "access",
    .leads = true,
    .left = was_left,
    .clashes = runs_clash,
    .text = &locality_text,
    .json = locality_json,
    .compare = &locality_compare,
    .export = &locality_export,
    .view = &locality_view,
};
