// SPDX-License-Identifier: MIT
/*
 * Lines of memory that move between threads as symptoms of what could be gained: from an exact recording of its own, beside
 * samples that say how much time the lines of code take.
 *
 * A transfer makes whoever takes the line wait. Which of two places that is cannot be known where they take it in turn: each has
 * one half.
 */
#include "gain/gain.h"
#include "sharing/internal.h"

#include <stdlib.h>

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

/* ---- beside samples ----------------------------------------------------------------------------- */

/* At one line of code. */
struct moved {
    double transfers; /* that it waits for */
    double most;      /* of the heaviest row */
    const struct profile_transfer *row;
    bool turned; /* the line is the row's second */
};

static uint32_t line_of(const struct places *places, const struct gain_lines *lines,
                        uint32_t context)
{
    return lines->of_place[places->place_of[context]];
}

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
        .object = row->object,
        .labels = {"used", "used by another"},
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
        return true;
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
