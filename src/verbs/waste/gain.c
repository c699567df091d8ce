// SPDX-License-Identifier: MIT
/* Findings of waste as symptoms of what could be gained. */
#include "gain/gain.h"
#include "waste/internal.h"

#include <stdlib.h>
#include <string.h>

/* Of one kind, what was decided of the accesses at a line. */
struct decided {
    double waste, all, squares;
    double listed; /* waste of the findings there */
    bool sure;     /* one of the findings there is */
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

/* Findings of several lines of one function with little evidence each are listed at one of them. */
static void add_listed(const struct gain_lines *lines, const struct waste_kind *kind,
                       struct decided *decided)
{
    for (size_t i = 0; i < kind->pairs_count; i++) {
        const struct waste_pair *pair = &kind->pairs[i];
        uint32_t place = waste_lead(kind->totals->kind) ? pair->second_place : pair->first_place;
        decided[lines->of_place[place]].listed += pair->waste_bytes;
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

static bool is_any(const struct advice *advice, const char *const *ids)
{
    for (; advice->id && *ids; ids++)
        if (strcmp(advice->id, *ids) == 0)
            return true;
    return false;
}

/* Could the work that the access is for be left out? Memory that is filled and filled again need not have been, nor be cleared where
   it is clear; a search through what was searched before has its index. One value that is stored
   for nothing seldom has been waited for; whether a store is silent is known once its value was made; values that are loaded
   again are needed again. */
static bool is_sure(uint32_t kind, const struct waste_pair *pair, const struct advice *advice)
{
    static const char *const filled[] = {"dead.kernel",  "dead.cleared",   "dead.copied",
                                         "dead.rebuilt", "silent.cleared", NULL};
    static const char *const searched[] = {"load.compared", "load.scanned", NULL};
    if (kind != PROFILE_LOAD)
        return is_any(advice, filled);
    return pair->reach == PROFILE_REACH_SEARCH || is_any(advice, searched);
}

/* Of the time there, what could be saved, by what the fix would be. A value that is kept, or a store that is
   left out, leaves the line's other work to be done. What else is loaded again is, as far as anything shows, what the
   algorithm needs; registers that are saved and what is about equal are no work done twice, and what the compiler leaves out
   where it optimizes is not the source's. */
static double part_saved(const struct profile *profile, uint32_t kind,
                         const struct waste_pair *pair, const struct advice *advice)
{
    uint32_t wasted = waste_lead(kind) ? pair->second : pair->first;
    uint32_t flags = profile->frames[profile->contexts[wasted].frame].flags;
    static const char *const kept[] = {"load.iteration", "load.invariant", "load.previous", NULL};
    static const char *const needed[] = {
        "dead.saved",    "dead.frame",   "silent.saved",    "silent.call", "silent.near",
        "silent.update", "library.team", "library.overlap", "library",     NULL};
    static const char *const formatted[] = {"library.format", "silent.copied", NULL};
    if (waste_gain(pair) < 0.1 * pair->waste_bytes || is_any(advice, needed))
        return GAIN_INHERENT;
    if (is_sure(kind, pair, advice) || is_any(advice, formatted))
        return 1;
    if (flags & PROFILE_FRAME_UNOPTIMIZED)
        return GAIN_INHERENT;
    return kind != PROFILE_LOAD || is_any(advice, kept) ? GAIN_ACCESS : GAIN_INHERENT;
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
                                       .fraction =
                                           line->listed > 0 ? pair->waste_bytes / line->listed : 0,
                                       .advice = waste_advice(places, sources, kind, pair)};
        if (exact && symptom.advice.id)
            symptom.advice.evidence = ADVICE_EXACT;
        symptom.part = part_saved(places->profile, id, pair, &symptom.advice);
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
        add_listed(lines, kind, decided);
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
