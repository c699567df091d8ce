// SPDX-License-Identifier: MIT
/*
 * Far reuses as symptoms of what could be gained: which misses would be avoided if what is used again at a line
 * were still near. What they cost is gain's to say (gain/gain.h).
 *
 * Misses belong to the line of the reuse, which is what waits. All far pairs that end at one line are added up, as
 * each access there has but one use before it; a line is one finding, whatever it is that it uses again.
 *
 * An instruction of whose accesses only a part is far goes over lines of memory in order: the next elements of
 * each line are near. Processors fetch ahead for these. Two accesses a line, as of the widest vectors of
 * AVX, are in order still.
 *
 * Where an exact recording of its own has counted (profile->missed), that replaces at its lines what samples say.
 */
#include "gain/gain.h"
#include "reuse/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double in_order_share = 0.6;

/* An instruction of whose accesses less is far is not what ticks near it wait for. */
static const double least_share = 0.05;

_Static_assert((int)REUSE_CACHES <= (int)GAIN_LEVELS, "a line's misses of each cache");

/* What an exact recording counted at a line. */
struct counted {
    struct gain_missed missed;
    double whole; /* 0: nothing */
};

struct work {
    const struct places *places;
    const struct gain_lines *lines;
    const struct reuse_report *report;
    struct gain_missed *by_line, *by_frame;
    struct counted *counted; /* by line */
    double *far;             /* by line: misses of the findings there */
};

static uint32_t line_of(const struct work *work, uint32_t context)
{
    return work->lines->of_place[work->places->place_of[context]];
}

static uint32_t frame_of(const struct work *work, uint32_t context)
{
    return work->places->profile->contexts[context].frame;
}

/* By the samples taken there, which stand for all accesses. */
static void add_accesses(struct work *work)
{
    const struct profile *profile = work->places->profile;
    double weight = 0;
    for (size_t i = 0; i < profile->sampled_count; i++)
        weight += profile->sampled[i].kind == PROFILE_REUSE ? profile->sampled[i].weight : 0;
    for (size_t i = 0; i < profile->sampled_count; i++) {
        const struct profile_sampled *sampled = &profile->sampled[i];
        if (sampled->kind != PROFILE_REUSE)
            continue;
        struct gain_missed *ends[] = {&work->by_line[line_of(work, sampled->context)],
                                      &work->by_frame[frame_of(work, sampled->context)]};
        for (unsigned end = 0; end < BASE_COUNT(ends); end++) {
            ends[end]->accesses += work->report->figures.totals.accesses * sampled->weight / weight;
            ends[end]->followed += sampled->samples;
        }
    }
}

static double beyond(const struct work *work, const struct reuse_pair *pair, size_t cache)
{
    return figures_beyond(&work->report->figures, pair,
                          (double)work->report->ranking.caches[cache].bytes);
}

static struct reuse_pair pair_of(const struct profile_reuse_pair *row)
{
    return (struct reuse_pair){
        .weight = row->weight, .stack = row->stack, .stack_squares = row->stack_squares};
}

static void miss_first(struct work *work)
{
    const struct profile *profile = work->places->profile;
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        struct reuse_pair pair = pair_of(&profile->reuse_pairs[i]);
        work->by_frame[frame_of(work, profile->reuse_pairs[i].reuse)].missing[0] +=
            beyond(work, &pair, 0);
    }
}

/* False: no memory. */
static bool add_instructions(struct work *work, struct gain_sink *sink)
{
    const struct profile *profile = work->places->profile;
    miss_first(work);
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        uint32_t context = profile->reuse_pairs[i].reuse;
        const struct gain_missed *waits = &work->by_frame[frame_of(work, context)];
        if (waits->missing[0] > least_share * waits->accesses && !gain_add_wait(sink, context))
            return false;
    }
    return true;
}

static bool is_in_order(const struct work *work, uint32_t context)
{
    const struct gain_missed *waits = &work->by_frame[frame_of(work, context)];
    return waits->missing[0] < in_order_share * waits->accesses;
}

static void add_misses(struct work *work)
{
    const struct reuse_ranking *ranking = &work->report->ranking;
    for (size_t i = 0; i < ranking->contexts_count; i++) {
        const struct reuse_pair *pair = &ranking->contexts[i];
        struct gain_missed *line = &work->by_line[work->lines->of_place[pair->reuse_place]];
        bool in_order = is_in_order(work, pair->reuse);
        for (size_t c = 0; c < ranking->caches_count && pair->far > 0; c++) {
            double missing = beyond(work, pair, c);
            line->missing[c] += missing;
            line->in_order[c] += in_order ? missing : 0;
        }
    }
}

/* ---- counted ------------------------------------------------------------------------------------ */

/* Each of a line's accesses that uses something again has one pair that ends there. */
static void count_accesses(struct work *work)
{
    const struct profile *profile = work->places->profile;
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        const struct profile_reuse_pair *pair = &profile->reuse_pairs[i];
        struct gain_missed *ends[] = {&work->by_line[line_of(work, pair->reuse)],
                                      &work->by_frame[frame_of(work, pair->reuse)]};
        for (unsigned end = 0; end < BASE_COUNT(ends); end++) {
            ends[end]->accesses += pair->weight;
            ends[end]->followed += pair->count;
        }
    }
}

static bool begin(const struct places *places, const struct gain_lines *lines, struct work *work)
{
    *work = (struct work){.places = places, .lines = lines};
    work->report = reuse_report_make(places, REPORT_BY_CAUSE);
    work->by_line = calloc(lines->count, sizeof *work->by_line);
    work->by_frame = calloc(places->profile->frames_count, sizeof *work->by_frame);
    work->counted = calloc(lines->count, sizeof *work->counted);
    work->far = calloc(lines->count, sizeof *work->far);
    return work->report && work->by_line && work->by_frame && work->counted && work->far;
}

static void end(struct work *work)
{
    if (work->report)
        reuse_report_free((void *)work->report);
    free(work->by_line);
    free(work->by_frame);
    free(work->counted);
    free(work->far);
}

/* False: no memory. */
static bool count_misses(const struct places *places, const struct gain_lines *lines,
                         struct gain_missed *missed, double *whole)
{
    struct work work;
    if (!places->exact || places->profile->reuses_count == 0)
        return true;
    bool good = begin(places, lines, &work);
    if (good) {
        count_accesses(&work);
        miss_first(&work);
        add_misses(&work);
        memcpy(missed, work.by_line, lines->count * sizeof *missed);
        *whole += work.report->figures.totals.accesses;
    }
    end(&work);
    return good;
}

/* Of this profile's caches; that of another machine, after merging, is none of them. */
static bool find_cache(const struct work *work, uint64_t bytes, size_t *cache)
{
    const struct reuse_ranking *ranking = &work->report->ranking;
    for (*cache = 0; *cache < ranking->caches_count; ++*cache)
        if (ranking->caches[*cache].bytes == bytes)
            return true;
    return false;
}

static void read_counted(struct work *work)
{
    const struct profile *profile = work->places->profile;
    for (size_t i = 0; i < profile->missed_count; i++) {
        const struct profile_missed *row = &profile->missed[i];
        uint32_t line = gain_lines_find(work->lines, profile, row->frame);
        struct counted *counted = &work->counted[line];
        size_t cache;
        if (!line || !find_cache(work, row->bytes, &cache))
            continue;
        counted->missed.missing[cache] += row->missing;
        counted->missed.in_order[cache] += row->in_order;
        if (cache > 0)
            continue; /* the rest is the same in all rows of a line */
        counted->missed.accesses += row->accesses;
        counted->missed.followed += row->followed;
        counted->whole += row->whole;
    }
}

/* What was counted, in proportion to all accesses as the samples have them. */
static void replace_counted(struct work *work)
{
    read_counted(work);
    for (size_t i = 1; i < work->lines->count; i++) {
        const struct counted *counted = &work->counted[i];
        if (!(counted->whole > 0))
            continue;
        double scale = work->report->figures.totals.accesses / counted->whole;
        struct gain_missed *line = &work->by_line[i];
        *line = counted->missed;
        line->accesses *= scale;
        for (size_t c = 0; c < GAIN_LEVELS; c++) {
            line->missing[c] *= scale;
            line->in_order[c] *= scale;
        }
    }
}

/* One location of how many was followed? */
static uint64_t one_in(const struct counted *counted)
{
    return counted->whole > 0 && counted->missed.followed
               ? (uint64_t)(counted->missed.accesses / (double)counted->missed.followed + 0.5)
               : 0;
}

/* ---- one line -------------------------------------------------------------------------------- */

static struct profile_share missing_share(const struct gain_missed *line, bool counted)
{
    double missing = fmin(line->missing[0], line->accesses);
    double squares = line->followed ? line->accesses * line->accesses / (double)line->followed : 0;
    if (!counted || !(line->accesses > 0))
        return profile_share(missing, line->accesses, squares);
    double share = missing / line->accesses;
    return (struct profile_share){share, share, share, .effective = line->accesses, .known = true};
}

/* The intervals of the line's share and of the cache's misses; their product is conservative. */
static void set_avoided(const struct work *work, const struct gain_missed *line, bool counted,
                        size_t cache, struct gain_misses *misses)
{
    const struct reuse_figures *figures = &work->report->figures;
    struct mrc_ratio ratio =
        figures_miss_ratio(figures, (double)work->report->ranking.caches[cache].bytes);
    struct profile_share seen = missing_share(line, counted);
    double most = line->accesses / figures->totals.accesses;
    double share = fmin(line->missing[cache], line->accesses) / figures->totals.accesses;
    double down = seen.share > 0 ? seen.low / seen.share : 0;
    double up = seen.share > 0 ? seen.high / seen.share : 1;
    down *= ratio.ratio > 0 ? ratio.low / ratio.ratio : 0;
    misses->avoided[cache].share = share;
    misses->avoided[cache].low = counted ? share : share * down;
    misses->avoided[cache].high =
        counted ? share : fmin(most, share * up + ratio.high - ratio.ratio);
    misses->avoided[cache].in_order =
        line->missing[cache] > 0 ? line->in_order[cache] / line->missing[cache] : 0;
}

static struct gain_stall stall_of(const struct work *work, const struct gain_missed *line,
                                  bool counted)
{
    const struct reuse_figures *figures = &work->report->figures;
    const struct profile *profile = work->places->profile;
    struct gain_misses misses = {.count = work->report->ranking.caches_count,
                                 .pace = figures->pace.accesses_per_ns,
                                 .pace_low = figures->pace.low,
                                 .pace_high = figures->pace.high};
    gain_levels(profile, &misses);
    for (size_t cache = 0; cache < misses.count; cache++)
        set_avoided(work, line, counted, cache, &misses);
    if (!figures->paced) {
        double ns = 0;
        for (size_t i = 0; i < profile->times_count; i++)
            ns += (double)profile->times[i].ns;
        misses.pace = misses.pace_low = misses.pace_high =
            ns > 0 ? figures->totals.accesses / ns : 0;
        misses.counted = true;
    }
    return gain_stall_of(&misses);
}

/* What has lost most of the lines. */
static const char *lost_by(const struct gain_missed *line, size_t caches)
{
    static const char *const texts[] = {"of the accesses there miss L1",
                                        "of the accesses there miss L1, most L2 too",
                                        "of the accesses there miss L1, most every cache"};
    size_t level = 0;
    while (level + 1 < caches && line->missing[level + 1] > line->missing[0] / 2)
        level++;
    return texts[level == 0 ? 0 : level + 1 < caches ? 1 : 2];
}

static bool add_finding(const struct work *work, struct source_cache *sources,
                        struct gain_sink *sink, size_t index)
{
    const struct reuse_ranking *ranking = &work->report->ranking;
    const struct reuse_figures *figures = &work->report->figures;
    const struct reuse_pair *pair = &ranking->pairs[index];
    uint32_t number = work->lines->of_place[pair->reuse_place];
    const struct gain_missed *line = &work->by_line[number];
    bool exact = work->counted[number].whole > 0;
    struct shape shape;
    shape_find(work->places, pair, &shape);
    struct transform transform = transform_pair(ranking, figures, sources, pair, &shape);
    struct gain_symptom symptom = {
        .kind = profile_kind_names[PROFILE_REUSE],
        .what = "far reuse",
        .share_of = lost_by(line, ranking->caches_count),
        .labels = {"used", "reused"},
        .line = number,
        .first = pair->use,
        .second = pair->reuse,
        .number = index + 1,
        .seen = pair->count,
        .weak = !exact && (pair->group->weak || figures_too_few(figures)),
        .counted = exact,
        .one_in = one_in(&work->counted[number]),
        .fraction = work->far[number] > 0 ? pair->far / work->far[number] : 0,
        .part = transform.kind == TRANSFORM_NONE ? GAIN_INHERENT : 1,
        .waste = missing_share(line, exact),
        .waits = true,
        .stall = stall_of(work, line, exact),
        .advice = transform_advice(figures, pair, &transform)};
    if (exact && symptom.one_in <= 1 && symptom.advice.id)
        symptom.advice.evidence = ADVICE_EXACT;
    return gain_add(sink, &symptom);
}

static bool add_findings(struct work *work, struct source_cache *sources, struct gain_sink *sink)
{
    const struct reuse_ranking *ranking = &work->report->ranking;
    if (!ranking->distances || !(work->report->figures.totals.accesses > 0))
        return true;
    add_accesses(work);
    if (!add_instructions(work, sink))
        return false;
    add_misses(work);
    replace_counted(work);
    for (size_t i = 0; i < ranking->pairs_count; i++)
        work->far[work->lines->of_place[ranking->pairs[i].reuse_place]] += ranking->pairs[i].far;
    for (size_t i = 0; i < ranking->pairs_count; i++)
        if (ranking->pairs[i].far > 0 && !add_finding(work, sources, sink, i))
            return false;
    return true;
}

/* Of a sample only: who sees every access knows no times. */
static bool add_symptoms(const struct places *places, const struct gain_lines *lines,
                         struct source_cache *sources, struct gain_sink *sink)
{
    if (places->exact || places->profile->reuses_count == 0)
        return true;
    struct work work;
    bool good = begin(places, lines, &work) && add_findings(&work, sources, sink);
    end(&work);
    return good;
}

const struct analysis_gain reuse_gains = {.misses = count_misses, .symptoms = add_symptoms};
