// SPDX-License-Identifier: MIT
/* Waste for people: how much of each kind, the pairs with both contexts, what they usually mean,
 * what was not seen. */
#include "waste/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* The table of the kinds: 2 more to its left, 80 at most in all. */
    KIND_COLUMNS = 17,
    WASTED_COLUMNS = 10,
    INTERVAL_COLUMNS = 20,
    COUNT_COLUMNS = 10,
    BYTES_COLUMNS = 15,
};

struct words {
    const char *heading; /* "Dead stores"            */
    const char *rows;    /* "dead stores"            */
    const char *meaning; /* what was wasted          */
    const char *wasted;  /* "dead bytes"             */
    const char *first, *second;
};

static const struct words kind_words[PROFILE_KINDS] = {
    [PROFILE_DEAD] = {"Dead stores", "dead stores", "of the bytes stored were overwritten unread",
                      "dead bytes", "stored", "overwritten"},
    [PROFILE_SILENT] = {"Stores of an unchanged value (silent)", "silent stores",
                        "of the bytes stored", "silent bytes", "stored", "stored again"},
    [PROFILE_LOAD] = {"Redundant loads", "redundant loads",
                      "of the bytes loaded were loaded before, unchanged", "redundant bytes",
                      "loaded", "loaded again"},
};

/* The same where samples stand for CPU time. */
static const char *const meanings_by_time[] = {
    [PROFILE_DEAD] = "of the stores, by CPU time, were overwritten unread",
    [PROFILE_SILENT] = "of the stores, by CPU time",
    [PROFILE_LOAD] = "of the loads, by CPU time, gave what was loaded before, unchanged",
};

/* Findings that are not weak come first. If all are, those that rest on more than one verdict are
   better than none. */
static size_t worth_showing(const struct printer *printer, const struct waste_kind *kind)
{
    size_t strong = 0;
    while (strong < kind->ordinary_count && !kind->pairs[strong].group->weak)
        strong++;
    if (strong || printer->places.exact)
        return strong;
    size_t shown = kind->ordinary_count;
    while (shown && kind->pairs[shown - 1].waste_traps < 2)
        shown--;
    return shown;
}

static size_t pairs_shown(const struct printer *printer, const struct waste_kind *kind)
{
    size_t shown = kind->ordinary_count, limit = printer->options->limit;
    if (limit == 0)
        return shown;
    shown = worth_showing(printer, kind);
    return shown < limit ? shown : limit;
}

static void narrow(struct printer *printer, const void *state)
{
    const struct waste_ranking *ranking = state;
    for (size_t k = 0; k < ranking->kinds_count; k++) {
        const struct waste_kind *kind = &ranking->kinds[k];
        for (size_t i = 0; i < pairs_shown(printer, kind); i++)
            group_narrow(printer, &kind->groups, kind->pairs[i].group);
    }
}

/* ---- summary --------------------------------------------------------------------------------- */

static void print_row_head(struct printer *printer, const struct waste_kind *kind,
                           const char *wasted)
{
    fprintf(printer->out, "  %-*s%s", KIND_COLUMNS, kind_words[kind->totals->kind].rows,
            print_on(printer, BOLD));
    print_pad(printer, wasted, WASTED_COLUMNS, true);
    fputs(print_off(printer), printer->out);
}

static void write_interval(const struct waste_kind *kind, char *text, size_t bytes)
{
    snprintf(text, bytes, "%.1f – %.1f %%", 100 * kind->fraction.low, 100 * kind->fraction.high);
}

static void print_exact_row(struct printer *printer, const struct waste_kind *kind)
{
    char wasted[32] = "—", interval[32] = "too few locations", waste[32], judged[32];
    const struct profile_kind *totals = kind->totals;
    if (kind->fraction.known && !kind->too_few) {
        snprintf(wasted, sizeof wasted, "%.1f %%", 100 * kind->fraction.share);
        write_interval(kind, interval, sizeof interval);
    }
    print_row_head(printer, kind, wasted);
    if (kind->sample)
        print_pad(printer, interval, INTERVAL_COLUMNS, true);
    fprintf(printer->out, "%*s%*s\n", BYTES_COLUMNS, print_bytes(totals->waste_bytes, waste),
            BYTES_COLUMNS, print_bytes(totals->waste_bytes + totals->use_bytes, judged));
}

static void print_summary_row(struct printer *printer, const struct waste_kind *kind)
{
    char samples[32], armed[32], traps[32], wasted[32], interval[32];
    const struct profile_kind *totals = kind->totals;
    if (kind->too_few) {
        snprintf(wasted, sizeof wasted, "—");
        snprintf(interval, sizeof interval, "too few samples");
    } else {
        snprintf(wasted, sizeof wasted, "%.1f %%", 100 * kind->fraction.share);
        write_interval(kind, interval, sizeof interval);
    }
    print_grouped(totals->samples, samples);
    print_grouped(totals->armed, armed);
    print_grouped(totals->waste_traps + totals->use_traps, traps);
    print_row_head(printer, kind, wasted);
    print_pad(printer, interval, INTERVAL_COLUMNS, true);
    fprintf(printer->out, "%*s%*s%*s\n", COUNT_COLUMNS, samples, COUNT_COLUMNS, armed,
            COUNT_COLUMNS, traps);
}

/* What nobody knows the verb of is taken for waste, of which there is none. */
static bool is_expected(const struct profile *profile)
{
    const struct analysis *recorded = analysis_find(profile->run.verb);
    return !recorded || recorded == &waste_analysis;
}

static void print_summary(struct printer *printer, const void *state)
{
    const struct waste_ranking *ranking = state;
    bool exact = printer->places.exact;
    if (ranking->kinds_count && exact)
        fprintf(printer->out, "\n  %s%*s%*s%*s%*s%s\n", print_on(printer, DIM),
                KIND_COLUMNS + WASTED_COLUMNS, "wasted",
                ranking->kinds[0].sample ? INTERVAL_COLUMNS : 0,
                ranking->kinds[0].sample ? "95 % interval" : "", BYTES_COLUMNS, "wasted bytes",
                BYTES_COLUMNS, "of bytes", print_off(printer));
    else if (ranking->kinds_count || is_expected(printer->profile))
        fprintf(printer->out, "\n  %s%*s%*s%*s%*s%*s%s\n", print_on(printer, DIM),
                KIND_COLUMNS + WASTED_COLUMNS, "wasted", INTERVAL_COLUMNS, "95 % interval",
                COUNT_COLUMNS, "samples", COUNT_COLUMNS, "followed", COUNT_COLUMNS, "decided",
                print_off(printer));
    for (size_t i = 0; i < ranking->kinds_count; i++)
        (exact ? print_exact_row : print_summary_row)(printer, &ranking->kinds[i]);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* How much is equal within the tolerance only. */
static void add_near(const struct printer *printer, const struct waste_kind *kind,
                     const struct waste_pair *pair, char line[TEXT_BYTES])
{
    double share = waste_near_share(kind, pair), tolerance = printer->profile->run.fp_tolerance;
    if (share >= 0.995)
        print_add(line, TEXT_BYTES, "; values equal within %.3g %%", 100 * tolerance);
    else if (share >= 0.005)
        print_add(line, TEXT_BYTES, "; %.0f %% of it values equal within %.3g %%", 100 * share,
                  100 * tolerance);
}

static void print_pair_head(struct printer *printer, const struct waste_kind *kind,
                            const struct waste_pair *pair, size_t number)
{
    char head[96], line[TEXT_BYTES] = "", waste[32];
    uint64_t traps = pair->waste_traps + pair->use_traps;
    if (kind->too_few && kind->sample)
        snprintf(head, sizeof head, "#%zu", number);
    else if (kind->too_few)
        snprintf(head, sizeof head, "#%zu  %" PRIu64 " of %" PRIu64 " decided as waste", number,
                 pair->waste_traps, kind->totals->waste_traps);
    else
        snprintf(head, sizeof head, "#%zu  %.1f %%", number, 100 * pair->share.share);
    if (!kind->too_few)
        print_add(line, sizeof line, " of the %s", kind_words[kind->totals->kind].wasted);
    if (!kind->too_few && (kind->sample || !printer->places.exact))
        print_add(line, sizeof line, " (%.0f – %.0f %%)", 100 * pair->share.low,
                  100 * pair->share.high);
    if (printer->places.exact)
        print_add(line, sizeof line, ": %s%s", kind->sample ? "about " : "",
                  print_bytes(pair->waste_bytes, waste));
    group_add_extent(pair->group, line, sizeof line);
    if (!kind->too_few && !printer->places.exact && pair->waste_traps < WASTE_FEW_TRAPS)
        print_add(line, sizeof line, "; weak evidence: seen %" PRIu64 " time%s", pair->waste_traps,
                  print_plural(pair->waste_traps));
    /* Where both places agree the likely one is as good as certain. */
    if (pair->likely_traps * 4 > traps && pair->first_place != pair->second_place)
        print_add(line, sizeof line, "; second line approximate");
    if (pair->reach)
        print_add(line, sizeof line, "; %s", profile_reach_names[pair->reach]);
    add_near(printer, kind, pair, line);
    fprintf(printer->out, "\n  %s%s%s%s%s", print_link_on(printer), print_on(printer, BOLD), head,
            print_off(printer), print_link_off(printer));
    print_wrap(printer, PLAIN, 2 + (unsigned)strlen(head), 6, line);
}

static bool print_pair(struct printer *printer, const struct objects *objects,
                       const struct waste_kind *kind, const struct waste_pair *pair, size_t number,
                       struct chain chains[2])
{
    const struct words *words = &kind_words[kind->totals->kind];
    const struct group_words ends = {words->first, words->second};
    print_link(printer, "view=pairs&kind=%s&pair=%zu", profile_kind_names[kind->totals->kind],
               number - 1);
    print_pair_head(printer, kind, pair, number);
    group_print_places(printer, &kind->groups, pair->group, &ends, chains);
    struct objects_found found =
        objects_of_group(objects, kind->totals->kind, &kind->groups, pair->group);
    objects_print(printer, &found);
    struct chain *parts = malloc(2 * sizeof *parts);
    bool good = parts && group_print_parts(printer, &kind->groups, pair->group, &ends, parts);
    free(parts);
    struct advice advice = waste_advice(&printer->places, &printer->sources, kind, pair);
    if (pair->group->by <= REPORT_BY_PAIR)
        print_given(printer, &advice, number);
    return good;
}

static void print_rest(struct printer *printer, const struct waste_kind *kind, size_t shown)
{
    double rest = 0;
    size_t count = kind->ordinary_count - shown, weak = 0;
    char line[TEXT_BYTES] = "";
    for (size_t i = shown; i < kind->ordinary_count; i++) {
        rest += kind->pairs[i].share.share;
        weak += kind->pairs[i].group->weak;
    }
    print_add(line, sizeof line, "%zu%s", count, shown ? " more" : "");
    if (printer->places.exact)
        print_add(line, sizeof line, shown ? "" : " of less than 0.5 %% each");
    else if (weak && weak < count)
        print_add(line, sizeof line, ", %zu of them weak", weak);
    else if (weak)
        print_add(line, sizeof line, shown ? ", weak" : ", all weak");
    if (!kind->too_few)
        print_add(line, sizeof line, ", together %.1f %%", 100 * rest);
    fprintf(printer->out, "\n  %s%s%s\n", print_on(printer, DIM), line, print_off(printer));
}

static bool print_kind(struct printer *printer, const struct objects *objects,
                       const struct waste_kind *kind)
{
    const struct words *words = &kind_words[kind->totals->kind];
    size_t shown = pairs_shown(printer, kind);
    struct chain *chains;
    char line[TEXT_BYTES];
    printer->given_count = 0;
    if (kind->too_few && kind->sample)
        snprintf(line, sizeof line,
                 "too few locations for figures (%.0f by weight); follow a larger share",
                 kind->sample->locations);
    else if (kind->too_few)
        snprintf(line, sizeof line, "too few samples for figures (%" PRIu64 " decided)",
                 kind->totals->waste_traps + kind->totals->use_traps);
    else if (!kind->fraction.known)
        snprintf(line, sizeof line, "nothing to decide: no byte was accessed twice in this way");
    else
        snprintf(line, sizeof line, "%.1f %% %s", 100 * kind->fraction.share,
                 strcmp(printer->profile->run.weighting, "cpu-time") == 0
                     ? meanings_by_time[kind->totals->kind]
                     : words->meaning);
    fprintf(printer->out, "\n%s%s%s  ", print_on(printer, STRONG), words->heading,
            print_off(printer));
    print_wrap(printer, PLAIN, 2 + (unsigned)strlen(words->heading), 2, line);
    chains = malloc(2 * sizeof *chains);
    if (!chains)
        return false;
    bool good = true;
    for (size_t i = 0; i < shown && good; i++)
        good = print_pair(printer, objects, kind, &kind->pairs[i], i + 1, chains);
    print_link_clear(printer);
    free(chains);
    if (kind->pairs_count == 0 && (!printer->places.exact || kind->fraction.known))
        fprintf(printer->out, "\n  Nothing was wasted%s.\n",
                printer->places.exact ? "" : " in what was sampled");
    if (kind->ordinary_count == 0 && kind->pairs_count)
        fprintf(printer->out, "\n  Nothing but register pressure and call overhead: see below.\n");
    if (shown < kind->ordinary_count)
        print_rest(printer, kind, shown);
    return good;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void print_blind_spots(struct printer *printer, const struct waste_ranking *ranking)
{
    char line[TEXT_BYTES] = "";
    for (size_t i = 0; i < ranking->kinds_count; i++) {
        const struct profile_kind *totals = ranking->kinds[i].totals;
        if (totals->samples == 0)
            continue;
        print_add(line, sizeof line, "%s%.1f %% (%s)", line[0] ? ", " : "",
                  100.0 * (double)totals->blind_longest / (double)totals->samples,
                  kind_words[totals->kind].rows);
    }
    if (!line[0])
        return;
    fprintf(printer->out, "  ");
    print_add(line, sizeof line, " of the samples.");
    char whole[TEXT_BYTES * 2];
    snprintf(whole, sizeof whole, "Longest run of samples that could not be followed: %s", line);
    print_wrap(printer, PLAIN, 2, 2, whole);
}

/* What a reader who adds the bytes up would miss. */
static void print_not_judged(struct printer *printer)
{
    struct profile_exact total = profile_exact_total(printer->profile);
    char loaded[32], stored[32], line[TEXT_BYTES];
    if (!(total.fresh_load_bytes || total.fresh_store_bytes))
        return;
    snprintf(line, sizeof line,
             "Undecided, because no earlier access was seen: %s loaded, %s stored.",
             print_bytes((double)total.fresh_load_bytes, loaded),
             print_bytes((double)total.fresh_store_bytes, stored));
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

static void print_kernel(struct printer *printer)
{
    struct profile_exact total = profile_exact_total(printer->profile);
    char loaded[32], stored[32], line[TEXT_BYTES];
    if (!(total.kernel_load_bytes || total.kernel_store_bytes))
        return;
    snprintf(line, sizeof line, "System calls read %s of the program's memory and wrote %s.",
             print_bytes((double)total.kernel_load_bytes, loaded),
             print_bytes((double)total.kernel_store_bytes, stored));
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

static bool is_limited(const struct printer *printer, const void *state)
{
    const struct waste_ranking *ranking = state;
    struct profile_exact total = profile_exact_total(printer->profile);
    return ranking->kinds_count && (total.fresh_load_bytes || total.fresh_store_bytes ||
                                    total.kernel_load_bytes || total.kernel_store_bytes);
}

static void print_limits(struct printer *printer, const void *state)
{
    const struct waste_ranking *ranking = state;
    print_blind_spots(printer, ranking);
    if (ranking->kinds_count) {
        print_not_judged(printer);
        print_kernel(printer);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Seconds with all accesses observed from which on a share of the locations is suggested, and how many times longer than by itself
   a program takes then, about. */
enum { LONG_S = 60, TIMES_LONGER = 40 };

/* Fewer locations for a program that takes long, more of a sample that was too small. */
static void find_share(struct printer *printer, const struct waste_ranking *ranking)
{
    struct report_next *next = &printer->next;
    const struct profile_run *run = &printer->profile->run;
    const struct profile_waste_sample *sample =
        ranking->kinds_count ? ranking->kinds[0].sample : NULL;
    bool exact = printer->places.exact;
    if (exact && sample && next->too_few)
        next->every = sample->share < 0.05 ? "--exact --sample-locations 0.1" : "--exact";
    else if (exact && !sample && run->wall_s > LONG_S)
        next->every = "--exact --sample-locations 0.01";
    else if (!exact && run->cpu_s > (double)LONG_S / TIMES_LONGER)
        next->every = "--exact --sample-locations 0.01";
}

static void find_next(struct printer *printer, const struct waste_ranking *ranking)
{
    struct report_next *next = &printer->next;
    bool more = false;
    double most = -1;
    for (size_t i = 0; i < ranking->kinds_count; i++) {
        const struct waste_kind *kind = &ranking->kinds[i];
        next->too_few |= kind->too_few;
        more = more || pairs_shown(printer, kind) < kind->ordinary_count;
        if (!kind->too_few && kind->fraction.share > most) {
            most = kind->fraction.share;
            next->kinds = profile_kind_names[kind->totals->kind];
        }
    }
    if (!more)
        next->kinds = NULL;
    if (analysis_find(printer->profile->run.verb) == &waste_analysis)
        find_share(printer, ranking);
}

static bool print_findings(struct printer *printer, void *state)
{
    const struct waste_ranking *ranking = state;
    bool good = true;
    for (size_t i = 0; i < ranking->kinds_count && good; i++)
        good = print_kind(printer, &ranking->objects, &ranking->kinds[i]);
    good = good && waste_print_overhead(printer, ranking);
    find_next(printer, ranking);
    return good;
}

static bool begin(const struct printer *printer, void **state)
{
    struct waste_ranking *ranking =
        waste_rank(&printer->places, printer->options->kinds, printer->options->by);
    if (ranking)
        *state = ranking;
    return ranking;
}

const struct analysis_text waste_text = {
    .begin = begin,
    .end = waste_rank_free,
    .narrow = narrow,
    .summary = print_summary,
    .findings = print_findings,
    .is_limited = is_limited,
    .limits = print_limits,
};
