// SPDX-License-Identifier: MIT
/*
 * Lines of memory that move between threads as symptoms of what could be gained: by samples, or from an exact recording of its own beside
 * samples that say how much time the lines of code take.
 *
 * A transfer makes whoever takes the line wait. Which of two places that is cannot be known where they take it in turn: each has
 * one half.
 *
 * Samples do not count transfers: that two threads have used a line within some milliseconds does not say how often it has moved in
 * between, and the transfers expected from them are those of threads that have a processor each. So from nothing to all of the time of the accesses to it can be gained,
 * ticks right behind them included, since these wait for it. Where all accesses were counted as well, samples are not used.
 */
#include "gain/gain.h"
#include "sharing/internal.h"
#include "show/own.h"

#include <stdlib.h>
#include <string.h>

/* Of all transfers: places with less are not worth a row. */
static const double least_share = 0.01;

/* ---- of the recording ------------------------------------------------------------------------- */

/* Of an object's other lines the same is to be said as of the one that stands for all. */
static struct advice advice_of(const struct sharing_report *report, const struct sharing_line *line)
{
    struct sharing_line of_several = *line;
    if (of_several.lines == 0)
        of_several.lines = 2;
    return sharing_advice(report, &of_several);
}

static bool add_line(const struct sharing_report *report, const struct sharing_line *line,
                     struct gain_transfers *to)
{
    char name[NAME_BYTES];
    sharing_object(line->row, name);
    for (size_t i = 0; i < line->pairs_count; i++) {
        const struct sharing_pair *pair = &line->pairs[i];
        struct gain_transfer transfer = {.first = pair->first,
                                         .second = pair->second,
                                         .object = name,
                                         .kind = line->row->object,
                                         .size = line->row->size,
                                         .cause = advice_of(report, line).id,
                                         .transfers = pair->transfers,
                                         .whole = report->transfers,
                                         .instructions = (double)report->totals.instructions};
        if (pair->transfers >= least_share * report->transfers && !gain_add_transfer(to, &transfer))
            return false;
    }
    return true;
}

/* All lines of each object that is a finding. */
static bool add_transfers(const struct places *places, struct gain_transfers *to)
{
    if (!places->exact || places->profile->shared_lines_count == 0)
        return true;
    struct sharing_report *report = sharing_report_make(places);
    bool good = report != NULL;
    for (size_t i = 0; good && i < report->lines_count; i++)
        if (!report->lines[i].weak)
            good = add_line(report, &report->lines[i], to);
    sharing_report_free(report);
    return good;
}

static uint32_t line_of(const struct places *places, const struct gain_lines *lines,
                        uint32_t context)
{
    return lines->of_place[places->place_of[context]];
}

/* ---- by samples --------------------------------------------------------------------------------- */

/* At one line of code. */
struct met {
    double weight;
    double most; /* of the heaviest pair */
    const struct sharing_line *line;
    const struct sharing_pair *pair;
    bool turned; /* the line of code is the pair's second */
};

static void add_met(struct met *met, const struct sharing_line *line,
                    const struct sharing_pair *pair, double weight, bool turned)
{
    met->weight += weight;
    if (weight <= met->most)
        return;
    met->most = weight;
    met->line = line;
    met->pair = pair;
    met->turned = turned;
}

static void sum_up_met(const struct sharing_report *report, const struct gain_lines *lines,
                       struct met *met)
{
    for (size_t i = 0; i < report->lines_count; i++) {
        const struct sharing_line *line = &report->lines[i];
        for (size_t j = 0; j < line->pairs_count && !line->weak; j++) {
            const struct sharing_pair *pair = &line->pairs[j];
            uint32_t first = line_of(report->places, lines, pair->first);
            uint32_t second = line_of(report->places, lines, pair->second);
            double each = first == second ? pair->transfers : pair->transfers / 2;
            add_met(&met[first], line, pair, each, false);
            if (first != second)
                add_met(&met[second], line, pair, each, true);
        }
    }
}

/* "counters[0].hits against counters[1].misses"; false: not known. */
static bool name_fields(const struct met *met, char text[TEXT_BYTES])
{
    char names[2][NAME_BYTES];
    if (!sharing_fields_text(met->line, met->pair->first_mask, names[0]) ||
        !sharing_fields_text(met->line, met->pair->second_mask, names[1]))
        return false;
    if (strcmp(names[0], names[1]) == 0)
        snprintf(text, TEXT_BYTES, "%s", names[0]);
    else
        snprintf(text, TEXT_BYTES, "%s against %s", names[met->turned], names[!met->turned]);
    return true;
}

/* False: no memory. */
static bool describe(const struct met *met, struct gain_sink *sink, struct gain_object *object)
{
    const struct profile_shared_line *row = met->line->row;
    struct sharing_remedy remedy;
    char name[NAME_BYTES], fields[TEXT_BYTES], text[TEXT_BYTES];
    bool good = true, offset = row->object == PROFILE_OBJECT_GLOBAL ||
                               row->object == PROFILE_OBJECT_HEAP ||
                               row->object == PROFILE_OBJECT_MAPPED;
    sharing_object(row, name);
    *object = (struct gain_object){.text = gain_keep(sink, name, &good),
                                   .kind = row->object,
                                   .name = row->name,
                                   .size = row->size,
                                   .offset = offset ? row->offset : 0,
                                   .located = offset,
                                   .context = row->context,
                                   .class = sharing_class_names[met->line->class]};
    object->fields = gain_keep(sink, name_fields(met, fields) ? fields : NULL, &good);
    if (sharing_remedy(met->line, &remedy)) {
        sharing_remedy_text(&remedy, text, sizeof text);
        object->remedy = gain_keep(sink, text, &good);
    }
    return good;
}

/* In the runtime of OpenMP threads mostly wait for others of their team: by reading a word until it changes. */
static bool waits_for_team(const struct places *places, uint32_t context)
{
    const struct profile *profile = places->profile;
    uint32_t module = profile->frames[profile->contexts[context].frame].module;
    return module && own_is_team_runtime(profile->modules[module].path);
}

/* The samples that time is from are published accesses; `user`: share of the CPU time in user mode. */
static double most_time(const struct sharing_line *line, double user)
{
    double samples = (double)line->samples;
    struct profile_share time =
        profile_share(line->time, 1, samples > 0 ? line->time / samples : 0);
    return user > 0 && time.high < user ? time.high / user : 1;
}

static bool add_seen(const struct sharing_report *report, const struct met *met, uint32_t line,
                     struct gain_sink *sink)
{
    double user = gain_user_share(report->profile);
    bool waits = waits_for_team(report->places, met->pair->first) ||
                 waits_for_team(report->places, met->pair->second);
    struct gain_symptom symptom = {
        .kind = "sharing",
        .share_of = "of the sharing between threads is here",
        .labels = {"used", "by another"},
        .line = line,
        .first = met->turned ? met->pair->second : met->pair->first,
        .second = met->turned ? met->pair->first : met->pair->second,
        .seen = met->line->traps,
        .part = waits ? GAIN_INHERENT : GAIN_SHARED,
        .waste = profile_share(met->weight, report->transfers, report->squares),
        .moves = true,
        .stall = {.direct = user > 0 ? met->line->time / user : 0,
                  .high = most_time(met->line, user)},
        .advice = advice_of(report, met->line)};
    sharing_usual(symptom.advice.id, &symptom.what);
    return describe(met, sink, &symptom.object) && gain_add(sink, &symptom);
}

/* What ticks behind them wait for. */
static bool add_places(const struct sharing_report *report, struct gain_sink *sink)
{
    for (size_t i = 0; i < report->lines_count; i++)
        for (size_t j = 0; j < report->lines[i].rows_count && !report->lines[i].weak; j++)
            if (!gain_add_access(sink, report->lines[i].rows[j].first, false) ||
                !gain_add_access(sink, report->lines[i].rows[j].second, false))
                return false;
    return true;
}

static bool add_live(const struct places *places, const struct gain_lines *lines,
                     struct gain_sink *sink)
{
    struct sharing_report *report = sharing_report_make(places);
    struct met *met = calloc(lines->count, sizeof *met);
    bool good = report && met;
    if (good)
        sum_up_met(report, lines, met);
    for (uint32_t i = 1; good && i < lines->count; i++)
        if (met[i].line)
            good = add_seen(report, &met[i], i, sink);
    good = good && add_places(report, sink);
    free(met);
    sharing_report_free(report);
    return good;
}

/* ---- beside samples ----------------------------------------------------------------------------- */

/* At one line of code. */
struct moved {
    double transfers; /* that it waits for */
    double most;      /* of the heaviest row */
    const struct profile_transfer *row;
    bool turned; /* the line is the row's second */
};

static void add_moved(struct moved *moved, const struct profile_transfer *row, double transfers,
                      bool turned)
{
    moved->transfers += transfers;
    if (transfers <= moved->most)
        return;
    moved->most = transfers;
    moved->row = row;
    moved->turned = turned;
}

static void sum_up(const struct places *places, const struct gain_lines *lines, struct moved *moved)
{
    const struct profile *profile = places->profile;
    for (size_t i = 0; i < profile->transfers_count; i++) {
        const struct profile_transfer *row = &profile->transfers[i];
        uint32_t first = line_of(places, lines, row->first);
        uint32_t second = line_of(places, lines, row->second);
        double each = first == second ? row->transfers : row->transfers / 2;
        add_moved(&moved[first], row, each, false);
        if (first != second)
            add_moved(&moved[second], row, each, true);
    }
}

/* Of the threads' time, if a transfer takes as long as so many instructions. */
static double stall(const struct moved *moved)
{
    const struct profile_transfer *row = moved->row;
    double all = row->instructions + SHARING_TRANSFER_INSTRUCTIONS * row->whole;
    return all > 0 ? SHARING_TRANSFER_INSTRUCTIONS * moved->transfers / all : 0;
}

static bool add_symptom(const struct moved *moved, uint32_t line, struct gain_sink *sink)
{
    const struct profile_transfer *row = moved->row;
    double share = row->whole > 0 ? moved->transfers / row->whole : 0;
    struct gain_symptom symptom = {
        .kind = "sharing",
        .share_of = "of the transfers of cache lines between threads to be expected are here",
        .object = {.text = row->object,
                   .kind = row->kind,
                   .name = row->kind == PROFILE_OBJECT_GLOBAL ? row->object : NULL,
                   .size = row->size},
        .labels = {"used", "by another"},
        .line = line,
        .first = moved->turned ? row->second : row->first,
        .second = moved->turned ? row->first : row->second,
        .seen = (uint64_t)moved->transfers,
        .counted = true,
        .part = 1,
        .waste = {share, share, share, .effective = moved->transfers, .known = true},
        .moves = true,
        .stall = {.direct = stall(moved), .high = 1},
    };
    symptom.advice = sharing_usual(row->cause, &symptom.what);
    return !symptom.advice.id || gain_add(sink, &symptom);
}

/* What ticks behind them wait for. */
static bool add_accesses(const struct profile *profile, struct gain_sink *sink)
{
    for (size_t i = 0; i < profile->transfers_count; i++)
        if (!gain_add_access(sink, profile->transfers[i].first, false) ||
            !gain_add_access(sink, profile->transfers[i].second, false))
            return false;
    return true;
}

static bool add_symptoms(const struct places *places, const struct gain_lines *lines,
                         struct source_cache *sources, struct gain_sink *sink)
{
    (void)sources;
    if (places->profile->transfers_count == 0)
        return places->exact || !places->profile->shared_watches_count ||
               add_live(places, lines, sink);
    struct moved *moved = calloc(lines->count, sizeof *moved);
    bool good = moved != NULL;
    if (good)
        sum_up(places, lines, moved);
    for (uint32_t i = 1; good && i < lines->count; i++)
        if (moved[i].row)
            good = add_symptom(&moved[i], i, sink);
    good = good && add_accesses(places->profile, sink);
    free(moved);
    return good;
}

const struct analysis_gain sharing_gains = {.transfers = add_transfers, .symptoms = add_symptoms};
