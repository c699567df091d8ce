// SPDX-License-Identifier: MIT
/* What changed between two profiles as JSON, "headroom-diff/1" (docs/formats/diff.md). */
#include "compare/internal.h"

#include "show/json.h"

#include <stdlib.h>

static const char *const unit_names[] = {
    [DIFF_SHARE] = "share", [DIFF_BYTES] = "bytes", [DIFF_COUNT] = "count", [DIFF_SECONDS] = "s"};

static void run_member(struct json *json, const char *name, const struct diff_side *side,
                       const char *file)
{
    const struct profile_run *run = &side->profile->run;
    json_begin(json, name, '{');
    json_text(json, "profile", file);
    json_texts(json, "command", side->profile->arguments, side->profile->arguments_count);
    json_seconds(json, "cpu_s", run->cpu_s);
    json_seconds(json, "wall_s", run->wall_s);
    json_text(json, "version", run->version);
    json_texts(json, "degraded", side->profile->degraded, side->profile->degraded_count);
    json_close(json, '}');
}

static void figure_side(struct json *json, const char *name, const struct diff_figure *figure)
{
    json_begin(json, name, '{');
    json_decimal(json, "value", figure->value, 15);
    if (figure->band) {
        json_decimal(json, "low", figure->low, 6);
        json_decimal(json, "high", figure->high, 6);
    }
    if (figure->few)
        json_flag(json, "too_few_samples", true);
    json_close(json, '}');
}

static void figures_member(struct json *json, const struct diff *diff)
{
    json_begin(json, "figures", '[');
    for (size_t i = 0; i < diff->sides[0].figures_count; i++) {
        const struct diff_figure *before = &diff->sides[0].figures[i];
        struct diff_figure after;
        if (!diff_side_figure(&diff->sides[1], before->name, &after))
            continue;
        json_begin_item(json);
        json_text(json, "name", before->name);
        json_text(json, "unit", unit_names[before->unit]);
        figure_side(json, "before", before);
        figure_side(json, "after", &after);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* A pair by its contexts; a path or span by its name. */
static void finding_members(struct json *json, const struct diff_side *side,
                            const struct compare_finding *finding)
{
    const struct diff_kind *kind = diff_kind_of(side, finding->kind);
    struct diff_ends ends;
    if (diff_ends_of(side, finding, &ends)) {
        for (unsigned i = 0; i < 2; i++)
            json_context(json, kind->members[i], side->profile, ends.contexts[i]);
        return;
    }
    struct diff_subject subject;
    diff_subject_of(side, finding, &subject);
    json_text(json, "name", subject.name);
    json_text(json, "file", subject.file);
    json_count(json, "line", subject.line);
}

static void amounts_member(struct json *json, const char *name, const double values[2])
{
    json_begin(json, name, '[');
    for (unsigned s = 0; s < 2; s++) {
        json_item(json);
        json_number(json, values[s], 15);
    }
    json_close(json, ']');
}

static void change_object(struct json *json, const struct diff *diff,
                          const struct compare_change *change)
{
    const struct compare_finding *finding = diff_finding(diff, change);
    json_begin_item(json);
    json_text(json, "kind", diff_kind_of(&diff->sides[0], change->kind)->name);
    json_text(json, "verdict", compare_verdict_names[change->verdict]);
    json_flag(json, "tested", change->tested);
    json_key(json, "p");
    if (change->tested)
        json_number(json, change->p, 6);
    else
        json_raw(json, "null");
    json_flag(json, "all", finding->row == DIFF_ALL);
    json_flag(json, "drifted", change->drifted);
    amounts_member(json, "amount", change->amounts);
    amounts_member(json, "share", change->shares);
    if (finding->row != DIFF_ALL)
        finding_members(json, &diff->sides[diff_shown_side(change)], finding);
    json_close(json, '}');
}

/* Those that changed, and those that have no verdicts. False: no memory. */
static bool changes_member(struct json *json, const struct diff *diff, unsigned limit)
{
    size_t *shown = calloc(diff->sides[0].kinds_count + 1, sizeof *shown);
    if (!shown)
        return false;
    json_begin(json, "changes", '[');
    for (size_t i = 0; i < diff->changes_count && !ferror(json->out); i++) {
        const struct compare_change *change = &diff->changes[i];
        bool untested = diff_kind_of(&diff->sides[0], change->kind)->untested;
        bool differs = change->verdict != COMPARE_SAME ||
                       (untested && change->amounts[0] != change->amounts[1]);
        if (differs && (limit == 0 || shown[change->kind]++ < limit))
            change_object(json, diff, change);
    }
    json_close(json, ']');
    free(shown);
    return true;
}

enum base_status diff_json(struct profile *before, struct profile *after,
                           const struct diff_options *options, FILE *out)
{
    struct json json = {.out = out};
    struct diff diff;
    enum base_status status =
        diff_make(before, after, options->by, options->level, NULL, NULL, &diff);
    if (status != BASE_OK)
        return status;
    json_open(&json, '{');
    json_text(&json, "schema", "headroom-diff/1");
    json_text(&json, "verb", before->run.verb);
    json_text(&json, "engine", before->run.engine);
    json_flag(&json, "exact", diff.exact);
    const double shares[2] = {profile_waste_share(before), profile_waste_share(after)};
    if (shares[0] < 1 || shares[1] < 1)
        amounts_member(&json, "sample_locations", shares);
    json_decimal(&json, "level", options->level, 6);
    run_member(&json, "before", &diff.sides[0], options->names[0]);
    run_member(&json, "after", &diff.sides[1], options->names[1]);
    json_count(&json, "compared", diff.changes_count);
    figures_member(&json, &diff);
    bool good = changes_member(&json, &diff, options->limit);
    json_close(&json, '}');
    putc('\n', out);
    diff_free(&diff);
    if (!good)
        return BASE_NO_MEMORY;
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}
