// SPDX-License-Identifier: MIT
/* Two profiles: whether they can be set against each other, and what differs. */
#include "compare/internal.h"

#include "show/print.h"

#include <math.h>
#include <stdlib.h>

/* ---- comparable? ----------------------------------------------------------------------------- */

/* Both may be NULL. */
static bool texts_differ(const char *what, const char *before, const char *after, char *error,
                         size_t error_bytes)
{
    char a[64], b[64];
    if (profile_same_text(before, after))
        return false;
    name_clean(before ? before : "none", a, sizeof a);
    name_clean(after ? after : "none", b, sizeof b);
    snprintf(
        error, error_bytes,
        "the profiles cannot be compared: the first one has %s '%s', the second one '%s'; record "
        "both in the same way.",
        what, a, b);
    return true;
}

bool diff_numbers_differ(const char *what, double before, double after, char *error,
                         size_t error_bytes)
{
    char a[32], b[32];
    snprintf(a, sizeof a, "%.9g", before);
    snprintf(b, sizeof b, "%.9g", after);
    return texts_differ(what, a, b, error, error_bytes);
}

enum base_status diff_comparable(const struct profile *before, const struct profile *after,
                                 char *error, size_t error_bytes)
{
    const struct profile_run *a = &before->run, *b = &after->run;
    bool differ = texts_differ("the verb", a->verb, b->verb, error, error_bytes) ||
                  texts_differ("the engine", a->engine, b->engine, error, error_bytes) ||
                  texts_differ("the weighting", a->weighting, b->weighting, error, error_bytes);
    for (const struct analysis *const *at = analyses; *at && !differ; at++)
        differ = (*at)->compare && (*at)->compare->differ &&
                 (*at)->compare->differ(before, after, error, error_bytes);
    return differ ? BASE_UNSUPPORTED : BASE_OK;
}

/* ---- differences ----------------------------------------------------------------------------- */

/* Findings of a kind that one side did not look for are no differences. */
static void keep_common(struct diff_side *side, const struct profile *other)
{
    size_t kept = 0;
    for (size_t i = 0; i < side->findings_count; i++) {
        const struct compare_finding *finding = &side->findings[i];
        const struct diff_part *part = diff_part_of(side, finding->kind);
        if (!part->compare->looked_for ||
            part->compare->looked_for(other, finding->kind - part->first_kind))
            side->findings[kept++] = *finding;
    }
    side->findings_count = side->compare.count = kept;
}

/* Nothing is left to chance. */
static bool is_counted(const struct diff_side *side)
{
    return side->places.exact && !side->profile->waste_samples_count;
}

enum base_status diff_make(struct profile *before, struct profile *after, enum report_by by,
                           double level, diff_skip *skip, void *context, struct diff *diff)
{
    *diff = (struct diff){0};
    enum base_status status = diff_side_make(before, after, by, skip, context, &diff->sides[0]);
    if (status == BASE_OK)
        status = diff_side_make(after, before, by, skip, context, &diff->sides[1]);
    if (status == BASE_OK) {
        keep_common(&diff->sides[0], after);
        keep_common(&diff->sides[1], before);
        diff->exact = is_counted(&diff->sides[0]) && is_counted(&diff->sides[1]);
        status = compare_findings(&diff->sides[0].compare, &diff->sides[1].compare, diff->exact,
                                  level, &diff->changes, &diff->changes_count);
    }
    if (status != BASE_OK)
        diff_free(diff);
    return status;
}

void diff_free(struct diff *diff)
{
    for (unsigned s = 0; s < 2; s++)
        if (diff->sides[s].profile)
            diff_side_free(&diff->sides[s]);
    free(diff->changes);
    *diff = (struct diff){0};
}

/* ---- what a finding is ----------------------------------------------------------------------- */

bool diff_ends_of(const struct diff_side *side, const struct compare_finding *finding,
                  struct diff_ends *ends)
{
    const struct diff_part *part = diff_part_of(side, finding->kind);
    if (!part->compare->ends || finding->row == DIFF_ALL)
        return false;
    part->compare->ends(part, finding, ends);
    return true;
}

void diff_subject_of(const struct diff_side *side, const struct compare_finding *finding,
                     struct diff_subject *subject)
{
    const struct diff_part *part = diff_part_of(side, finding->kind);
    *subject = (struct diff_subject){.name = ""};
    if (part->compare->subject)
        part->compare->subject(side, part, finding, subject);
}

const char *diff_whole_name(const struct diff_side *side, uint32_t kind)
{
    const struct diff_kind *of = diff_kind_of(side, kind);
    if (side->places.exact && of->whole_exact)
        return of->whole_exact;
    bool time = profile_same_text(side->profile->run.weighting, "cpu-time");
    return time && of->whole_time ? of->whole_time : of->whole;
}

/* ---- numbers --------------------------------------------------------------------------------- */

const char *diff_number(enum diff_unit unit, double value, bool sign, char out[48])
{
    char number[32];
    double size = fabs(value);
    const char *before = value < 0 ? "-" : sign && value > 0 ? "+" : "";
    switch (unit) {
    case DIFF_SHARE:
        snprintf(out, 48, "%s%.*f %%", before, size > 0 && size < 0.01 ? 3 : 1, 100 * size);
        return out;
    case DIFF_BYTES: print_bytes(size, number); break;
    case DIFF_COUNT:
        /* In full as long as it fits a column: limits may be that tight. */
        if (size >= 99.5 && size < 1e9)
            print_grouped((uint64_t)llround(size), number);
        else
            print_quantity(size, number);
        break;
    case DIFF_SECONDS:
        snprintf(number, sizeof number, size < 100 ? "%.3g s" : "%.0f s", size);
        break;
    }
    snprintf(out, 48, "%s%s", before, number);
    return out;
}
