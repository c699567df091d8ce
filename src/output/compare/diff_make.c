// SPDX-License-Identifier: MIT
/* Two profiles: whether they can be set against each other, and what differs. */
#include "compare/side.h"

#include "show/print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparable? ----------------------------------------------------------------------------- */

static bool differ(const char *what, const char *before, const char *after, char *error,
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

static bool numbers_differ(const char *what, double before, double after, char *error,
                           size_t error_bytes)
{
    char a[32], b[32];
    snprintf(a, sizeof a, "%.9g", before);
    snprintf(b, sizeof b, "%.9g", after);
    return differ(what, a, b, error, error_bytes);
}

static bool share_a_kind(const struct profile *before, const struct profile *after)
{
    for (size_t i = 0; i < before->kinds_count; i++)
        for (size_t j = 0; j < after->kinds_count; j++)
            if (before->kinds[i].kind == after->kinds[j].kind)
                return true;
    return false;
}

enum base_status report_comparable(const struct profile *before, const struct profile *after,
                                   char *error, size_t error_bytes)
{
    const struct profile_run *a = &before->run, *b = &after->run;
    if (differ("the verb", a->verb, b->verb, error, error_bytes) ||
        differ("the engine", a->engine, b->engine, error, error_bytes) ||
        differ("the weighting", a->weighting, b->weighting, error, error_bytes))
        return BASE_UNSUPPORTED;
    if (before->kinds_count && after->kinds_count && !share_a_kind(before, after)) {
        snprintf(error, error_bytes,
                 "the profiles cannot be compared: no kind of waste was looked for in both; record "
                 "both with the same --kinds.");
        return BASE_UNSUPPORTED;
    }
    if (strcmp(a->verb, "waste") == 0 &&
        numbers_differ("the floating-point tolerance", a->fp_tolerance, b->fp_tolerance, error,
                       error_bytes))
        return BASE_UNSUPPORTED;
    if (before->reuses_count && after->reuses_count &&
        (numbers_differ("the unit of bytes", profile_reuse_total(before).unit_bytes,
                        profile_reuse_total(after).unit_bytes, error, error_bytes) ||
         numbers_differ("stack distances", profile_reuse_total(before).stack,
                        profile_reuse_total(after).stack, error, error_bytes)))
        return BASE_UNSUPPORTED;
    return BASE_OK;
}

/* ---- differences ----------------------------------------------------------------------------- */

/* Findings of a kind that one side did not look for are no differences. */
static void keep_common(struct diff_side *side, const struct profile *other)
{
    size_t kept = 0;
    for (size_t i = 0; i < side->findings_count; i++) {
        bool common = side->findings[i].kind >= DIFF_REUSE;
        for (size_t k = 0; k < other->kinds_count && !common; k++)
            common = other->kinds[k].kind == side->findings[i].kind;
        if (common)
            side->findings[kept++] = side->findings[i];
    }
    side->findings_count = side->compare.count = kept;
}

enum base_status diff_make(struct profile *before, struct profile *after, double level,
                           diff_skip *skip, void *context, struct diff *diff)
{
    *diff = (struct diff){0};
    enum base_status status = diff_side_make(before, after, skip, context, &diff->sides[0]);
    if (status == BASE_OK)
        status = diff_side_make(after, before, skip, context, &diff->sides[1]);
    if (status == BASE_OK) {
        keep_common(&diff->sides[0], after);
        keep_common(&diff->sides[1], before);
        diff->exact = diff->sides[0].ranking.exact && diff->sides[1].ranking.exact;
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

/* ---- what a finding is ------------------------------------------------------------------------
 */

static const struct rank_pair *waste_pair(const struct diff_side *side,
                                          const struct compare_finding *finding)
{
    for (size_t k = 0; k < side->ranking.kinds_count; k++)
        if (side->ranking.kinds[k].totals->kind == finding->kind && finding->row != DIFF_ALL)
            return &side->ranking.kinds[k].pairs[finding->row];
    return NULL;
}

bool diff_contexts(const struct diff_side *side, const struct compare_finding *finding,
                   uint32_t contexts[2])
{
    if (finding->kind > DIFF_REUSE || finding->row == DIFF_ALL)
        return false;
    if (finding->kind == DIFF_REUSE) {
        contexts[0] = side->ranking.reuse_pairs[finding->row].use;
        contexts[1] = side->ranking.reuse_pairs[finding->row].reuse;
        return true;
    }
    const struct rank_pair *pair = waste_pair(side, finding);
    contexts[0] = pair->first;
    contexts[1] = pair->second;
    return true;
}

bool diff_places(const struct diff_side *side, const struct compare_finding *finding,
                 uint32_t places[2])
{
    if (finding->kind > DIFF_REUSE || finding->row == DIFF_ALL)
        return false;
    if (finding->kind == DIFF_REUSE) {
        places[0] = side->ranking.reuse_pairs[finding->row].use_place;
        places[1] = side->ranking.reuse_pairs[finding->row].reuse_place;
        return true;
    }
    const struct rank_pair *pair = waste_pair(side, finding);
    places[0] = pair->first_place;
    places[1] = pair->second_place;
    return true;
}

static void path_name(const struct profile *profile, const struct profile_path *path,
                      char out[BLOCK_NAME_BYTES], const char **file, uint32_t *line)
{
    const struct profile_path_function *function = &profile->path_functions[path->function];
    const struct profile_path_block *block =
        &profile->path_blocks[profile->path_steps[path->first_step].block];
    char name[NAME_BYTES];
    name_shorten(function->function ? function->function : "unknown function", 60, name);
    snprintf(out, BLOCK_NAME_BYTES, "%s, path %llu", name, (unsigned long long)path->number);
    *file = function->file;
    *line = function->line;
    if (block->lines && profile->path_lines[block->first_line].file) {
        *file = profile->path_lines[block->first_line].file;
        *line = profile->path_lines[block->first_line].line;
    }
}

void diff_name(const struct diff_side *side, const struct compare_finding *finding,
               char out[BLOCK_NAME_BYTES], const char **file, uint32_t *line)
{
    const struct profile *profile = side->profile;
    if (finding->kind == DIFF_PATH) {
        path_name(profile, &profile->paths[finding->row], out, file, line);
        return;
    }
    const struct profile_block_function *function =
        &profile->block_functions[profile->timed_blocks[finding->row].function];
    char key[96];
    interference_name(&side->blocks, finding->row, 60, out);
    interference_key(&side->blocks, finding->row, key);
    if (key[0])
        print_add(out, BLOCK_NAME_BYTES, ", %s", key);
    *file = function->file;
    *line = function->line;
}

const char *const diff_labels[DIFF_KINDS][2] = {{"stored", "overwritten"},
                                                {"stored", "stored again"},
                                                {"loaded", "loaded again"},
                                                {"used", "reused"}};

const char *diff_whole_name(const struct diff_side *side, uint32_t kind)
{
    static const char *const names[DIFF_KINDS] = {"the bytes stored", "the bytes stored",
                                                  "the bytes loaded", "the reuses",
                                                  "the instructions", "the threads' time"};
    return kind == DIFF_REUSE && side->ranking.exact ? "the distance" : names[kind];
}

/* ---- numbers --------------------------------------------------------------------------------- */

enum diff_unit diff_kind_unit(uint32_t kind)
{
    return kind < DIFF_REUSE ? DIFF_BYTES : kind == DIFF_BLOCK ? DIFF_SECONDS : DIFF_COUNT;
}

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
