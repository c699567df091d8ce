// SPDX-License-Identifier: MIT
/* Findings of waste as symptoms of what could be gained. */
#include "gain/gain.h"
#include "waste/internal.h"

#include <stdlib.h>
#include <string.h>

/* Of one kind, what was decided of the accesses at a line. */
struct decided {
    double waste, all, squares;
    bool sure; /* one of the findings there is */
};

static const struct words {
    const char *what, *share_of, *labels[2];
} words[] = {
    [PROFILE_DEAD] = {"dead stores",
                      "of the stores there are overwritten unread",
                      {"stored", "overwritten"}},
    [PROFILE_SILENT] = {"silent stores",
                        "of the stores there change nothing",
                        {"stored", "stored again"}},
    [PROFILE_LOAD] = {"redundant loads",
                      "of the loads there give what was loaded before",
                      {"loaded", "loaded again"}},
};

static uint32_t lead_of(const struct profile_pair *pair)
{
    return waste_lead(pair->kind) ? pair->second : pair->first;
}

static void add_decided(const struct places *places, const struct gain_lines *lines, uint32_t kind,
                        struct decided *decided)
{
    const struct profile *profile = places->profile;
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        if (pair->kind != kind)
            continue;
        struct decided *line = &decided[lines->of_place[places->place_of[lead_of(pair)]]];
        line->waste += pair->waste_bytes;
        line->all += pair->waste_bytes + pair->use_bytes;
        line->squares += pair->waste_squares + pair->use_squares;
    }
}

static bool add_accesses(const struct places *places, const struct gain_lines *lines, uint32_t kind,
                         struct gain_sink *sink, const struct decided *decided)
{
    const struct profile *profile = places->profile;
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        uint32_t lead = lead_of(pair);
        const struct decided *line = &decided[lines->of_place[places->place_of[lead]]];
        if (pair->kind == kind && pair->waste_bytes > 0 && !gain_add_access(sink, lead, line->sure))
            return false;
    }
    return true;
}

static bool count(const struct places *places, const struct gain_lines *lines, uint32_t kind,
                  struct gain_count *counts)
{
    struct decided *decided = calloc(lines->count, sizeof *decided);
    bool good = decided != NULL;
    if (good)
        add_decided(places, lines, kind, decided);
    for (size_t i = 1; good && i < lines->count; i++) {
        counts[i].waste += decided[i].waste;
        counts[i].use += decided[i].all - decided[i].waste;
    }
    free(decided);
    return good;
}

/* Counted, if it was. */
static struct profile_share share_at(const struct decided *line, const struct gain_count *counted)
{
    double all = counted->waste + counted->use;
    if (!(all > 0))
        return profile_share(line->waste, line->all, line->squares);
    double share = counted->waste / all;
    return (struct profile_share){share, share, share, .effective = all, .known = true};
}

/* Could the work that the access is for be left out? That of a dead store could: nothing sees its result. Whether a store
   is silent is known once its value was made, unless it clears what is clear. Values that are loaded again are
   needed again, unless they were searched through. */
static bool is_sure(uint32_t kind, const struct waste_pair *pair, const struct advice *advice)
{
    const char *id = advice->id ? advice->id : "";
    if (kind == PROFILE_DEAD)
        return strcmp(id, "library.overlap") != 0;
    if (kind == PROFILE_SILENT)
        return strcmp(id, "silent.cleared") == 0;
    return pair->reach == PROFILE_REACH_SEARCH || strcmp(id, "load.compared") == 0;
}

static bool is_any(const struct advice *advice, const char *const *ids)
{
    for (; advice->id && *ids; ids++)
        if (strcmp(advice->id, *ids) == 0)
            return true;
    return false;
}

/* Of the time at a line, what could be saved: the ranking knows what next to never is, and what is about equal is no work done
   twice. A value that is kept leaves the line's other work to be done. */
static double part_saved(const struct waste_pair *pair, const struct advice *advice)
{
    static const char *const near[] = {"load.near", "silent.near", NULL};
    static const char *const kept[] = {"load.iteration",     "load.invariant", "load.previous",
                                       "load.same-function", "load.nested",    NULL};
    if (waste_gain(pair) < 0.1 * pair->waste_bytes || is_any(advice, near))
        return GAIN_INHERENT;
    return is_any(advice, kept) ? GAIN_ACCESS : 1;
}

static bool add_kind(const struct places *places, const struct gain_lines *lines,
                     struct source_cache *sources, const struct waste_kind *kind,
                     struct decided *decided, const struct gain_count *counts,
                     struct gain_sink *sink)
{
    uint32_t id = kind->totals->kind;
    for (size_t i = 0; i < kind->ordinary_count; i++) {
        const struct waste_pair *pair = &kind->pairs[i];
        uint32_t place = waste_lead(id) ? pair->second_place : pair->first_place;
        struct decided *line = &decided[lines->of_place[place]];
        const struct gain_count *counted = &counts[lines->of_place[place]];
        bool exact = counted->waste + counted->use > 0;
        struct gain_symptom symptom = {.kind = profile_kind_names[id],
                                       .what = words[id].what,
                                       .share_of = words[id].share_of,
                                       .labels = {words[id].labels[0], words[id].labels[1]},
                                       .line = lines->of_place[place],
                                       .first = pair->first,
                                       .second = pair->second,
                                       .number = i + 1,
                                       .seen = pair->waste_traps,
                                       .weak = !exact && (kind->too_few || pair->group->weak),
                                       .counted = exact,
                                       .waste = share_at(line, counted),
                                       .advice = waste_advice(places, sources, kind, pair)};
        if (exact && symptom.advice.id)
            symptom.advice.evidence = ADVICE_EXACT;
        symptom.part = part_saved(pair, &symptom.advice);
        symptom.sure = is_sure(id, pair, &symptom.advice);
        symptom.general =
            id == PROFILE_LOAD && pair->reach == PROFILE_REACH_UNKNOWN && !symptom.sure;
        line->sure = line->sure || symptom.sure;
        if (!gain_add(sink, &symptom))
            return false;
    }
    return true;
}

static bool add_symptoms(const struct places *places, const struct gain_lines *lines,
                         struct source_cache *sources, struct gain_sink *sink)
{
    struct waste_ranking *ranking = waste_rank(places, 0, REPORT_BY_CAUSE);
    struct decided *decided = calloc(lines->count, sizeof *decided);
    bool good = ranking && decided;
    for (size_t k = 0; good && k < ranking->kinds_count; k++) {
        const struct waste_kind *kind = &ranking->kinds[k];
        for (size_t i = 0; i < lines->count; i++)
            decided[i] = (struct decided){0};
        add_decided(places, lines, kind->totals->kind, decided);
        struct gain_count *counts = NULL;
        good = gain_counted(places, lines, kind->totals->kind, &counts) &&
               add_kind(places, lines, sources, kind, decided, counts, sink) &&
               add_accesses(places, lines, kind->totals->kind, sink, decided);
        free(counts);
    }
    if (ranking)
        waste_rank_free(ranking);
    free(decided);
    return good;
}

const struct analysis_gain waste_gains = {.count = count, .symptoms = add_symptoms};
