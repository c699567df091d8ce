// SPDX-License-Identifier: MIT
/*
 * map in comparisons of profiles: a finding is a variable that is not current, its amount the number of stop points; figures are how much
 * of all scopes is known, and how many stop points each class has. So a build's debug information can be held to limits.
 */
#include "compare/findings.h"
#include "map/internal.h"

/* By class, from PROFILE_MAP_STALE on. */
static const struct diff_kind kinds[] = {
    {.name = "stale",
     .heading = "Stale variables",
     .whole = "the stop points",
     .unit = DIFF_COUNT,
     .untested = true},
    {.name = "premature",
     .heading = "Premature variables",
     .whole = "the stop points",
     .unit = DIFF_COUNT,
     .untested = true},
    {.name = "suspect",
     .heading = "Suspect variables",
     .whole = "the stop points",
     .unit = DIFF_COUNT,
     .untested = true},
};

static double stops_of(const struct profile *profile, uint32_t class)
{
    double stops = 0;
    for (uint32_t i = 0; i < profile->map_findings_count; i++) {
        size_t count;
        map_stops_of(profile, i, &count);
        stops += profile->map_findings[i].class == class ? (double)count : 0;
    }
    return stops;
}

static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    const struct profile *profile = side->profile;
    for (uint32_t k = 0; k < BASE_COUNT(kinds); k++)
        side->wholes[part->first_kind + k].amount = stops_of(profile, PROFILE_MAP_STALE + k);
    for (uint32_t i = 0; i < profile->map_findings_count; i++) {
        const struct profile_map_finding *row = &profile->map_findings[i];
        size_t count;
        map_stops_of(profile, i, &count);
        uint64_t key = diff_hash_text(diff_hash_text(0, row->function), row->variable) + row->early;
        struct compare_finding *made =
            diff_add_line(side, part, row->class - PROFILE_MAP_STALE, i, key, row->file, row->line);
        if (!made)
            return;
        made->amount = (double)count;
    }
}

static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    const struct profile_map_run *run = map_run_of(side->profile);
    (void)part;
    if (!run || run->kind != PROFILE_MAP_FILE)
        return;
    diff_add_figure(side, "map.", "known", DIFF_SHARE,
                    run->scope_bytes ? (double)run->known_bytes / (double)run->scope_bytes : 0);
    diff_add_figure(side, "map.", "stale", DIFF_COUNT, stops_of(side->profile, PROFILE_MAP_STALE));
    diff_add_figure(side, "map.", "premature", DIFF_COUNT,
                    stops_of(side->profile, PROFILE_MAP_PREMATURE));
    diff_add_figure(side, "map.", "suspect", DIFF_COUNT,
                    stops_of(side->profile, PROFILE_MAP_SUSPECT));
}

static void describe(const struct diff_side *side, const struct diff_part *part,
                     const struct compare_finding *finding, struct diff_subject *subject)
{
    const struct profile_map_finding *row = &side->profile->map_findings[finding->row];
    char variable[NAME_BYTES], function[NAME_BYTES];
    (void)part;
    name_clean(row->variable, variable, sizeof variable);
    name_shorten(row->function ? row->function : "?", 60, function);
    snprintf(subject->name, sizeof subject->name, "%.120s in %.120s", variable, function);
    subject->function = row->function;
    subject->file = row->file;
    subject->line = row->line;
}

static struct advice find_advice(const struct diff_side *side, const struct diff_part *part,
                                 const struct compare_finding *finding,
                                 struct source_cache *sources)
{
    (void)part, (void)sources;
    return map_advice(&side->profile->map_findings[finding->row]);
}

static bool is_unsummed(const struct diff_side *side, const struct diff_part *part)
{
    (void)part;
    return map_run_of(side->profile) != NULL;
}

const struct analysis_compare map_compare = {
    .kinds = kinds,
    .kinds_count = BASE_COUNT(kinds),
    .untested = "These are facts about two files, not samples: every difference is one.",
    .findings = add_findings,
    .figures = add_figures,
    .subject = describe,
    .advice = find_advice,
    .is_unsummed = is_unsummed,
};
