// SPDX-License-Identifier: MIT
/*
 * A command that is run once more in other ways, and what that gives for the findings:
 *
 *   ceilings   of the loops with most CPU time: how fast they would be with their data in the first-level cache, as by `headroom ceiling`
 *   waits      of programs with several threads: executions of functions timed, as by `headroom interference`
 *   counts     all accesses counted by the exact engine: the share of waste at the lines of findings
 *   distances  by the same, how far apart uses of the same data are: the misses there
 *   transfers  of programs with several threads, by the same: lines of memory that these take from each other
 *   iterations of the loops with most CPU time, by the same, and with that what one took in the first run
 *
 * Before them, without a run: what bounds these loops, as by `headroom limits`. And where these are in sources that can be compiled by themselves,
 * with the distances: a simulation of the first-level cache, and the misses of the nests, as by `headroom locality --from`.
 *
 * Each is a step, which has a run of its own: the agent times executions or takes samples, not both at once, because a
 * tick within a hook would be the hook's; the exact engine has memory for one question at a time. How much CPU time lines take is
 * known by the samples alone.
 *
 * Nothing is lost by a step: the profile is replaced when the new one is whole, and what fails is one sentence, said
 * and kept.
 */
#include "cli/sequel.h"

#include "assess/assess.h"
#include "assess/ceiling.h"
#include "cli/locality.h"
#include "gain/attach.h"
#include "machine/machine.h"
#include "model/model.h"

#include <string.h>
#include <unistd.h>

/* An exact run takes at least that many times the program's CPU time; programs that do little but compute, ten times
   that. Following a part of the locations, it takes less. */
enum { SLOWER_LEAST = 10, SLOWER_LEAST_FOLLOWED = 4, SLOWER_LEAST_PATHS = 4 };

/* How much longer distances take than counts, at most, of the programs of docs/measurements.md; and one location of how many is
   followed where there is no time for all: as many as make errors of some hundredths for programs that touch a mebibyte. */
static const double distances_slower = 2.5;
static const double cache_slower = 1; /* the same of a simulated cache, which sees all accesses */
enum { FOLLOWED_ONE_IN = 64, SLOWER_MOST = 150 };

struct deep;

struct step {
    const char *aim;     /* "count all accesses" */
    double slower_least; /* than the first run, whose time is... */
    bool exact;          /* ... CPU time; else wall-clock time */
    bool (*applies)(const struct profile *profile);
    bool (*record)(struct deep *deep);
    bool (*attach)(const struct profile *recorded, struct profile *profile); /* false: no memory */
};

struct deep {
    struct recording *first;
    const struct sequel *sequel;
    const struct step *step;
    const struct profile *profile; /* the first run's, while a step's is recorded */
    uint64_t until_ns;             /* the step's run has to end then */
    struct model *model;           /* that loops have bounds of; NULL: none */
    double counts_s;               /* what counting all accesses took; 0: not known */
    struct launch_result result;   /* of the step's run */
    char place[LAUNCH_PATH_BYTES + 8];
    char sentence[LAUNCH_ERROR_BYTES + 128]; /* why it gave nothing; "" */
    char error[LAUNCH_ERROR_BYTES];
    char nests_sentence[LOWER_ERROR_BYTES]; /* why nests were not computed; "" */
};

/* ---- what is said meanwhile -------------------------------------------------------------------- */

/* On a terminal one line that goes away again. */
static void say_step(const struct deep *deep, bool ended)
{
    if (deep->first->settings->quiet)
        return;
    if (!isatty(STDERR_FILENO)) {
        if (!ended)
            say("running the command once more to %s", deep->step->aim);
        return;
    }
    fprintf(stderr, "\r\033[K");
    if (!ended)
        fprintf(stderr, "headroom: running the command once more to %s ...", deep->step->aim);
    fflush(stderr);
}

/* ---- runs ------------------------------------------------------------------------------------------ */

static enum launch_outcome record_run(struct further_run *run)
{
    struct deep *deep = run->context;
    enum launch_outcome outcome =
        sequel_begin(deep->sequel, deep->until_ns, run->program, run->error);
    if (outcome != LAUNCH_OK)
        return outcome;
    outcome = run->launch(run);
    sequel_end(run->program);
    deep->result = *run->result;
    return outcome;
}

static bool record_exact(struct deep *deep, const char *verb, enum exact_subject subject,
                         double share, const struct cache_shape *cache)
{
    struct settings settings = *deep->first->settings;
    settings.kinds = 0;
    settings.share = share;
    settings.caches_count = cache != NULL;
    if (cache)
        settings.caches[0] = *cache;
    return exact_further(deep->first, &settings, verb, subject, record_run, deep, deep->place,
                         deep->error);
}

static bool record_waits(struct deep *deep)
{
    return spans_further(deep->first, record_run, deep, deep->place, deep->error);
}

static bool record_ceilings(struct deep *deep)
{
    return ceiling_further(deep->first, deep->model, record_run, deep, deep->place, deep->error);
}

static bool record_counts(struct deep *deep)
{
    bool good = record_exact(deep, "waste", EXACT_KINDS, 1, NULL);
    if (good && !deep->result.timed_out)
        deep->counts_s = deep->result.wall_s;
    return good;
}

static double left_s(const struct deep *deep)
{
    uint64_t now_ns = monotonic_ns();
    return now_ns < deep->until_ns ? (double)(deep->until_ns - now_ns) / 1e9 : 0;
}

/* Lines of a loop in its own file. False: not known, or no source of which nests can be computed. */
static bool find_place(const struct profile *profile, uint32_t loop, struct nest_place *place)
{
    const struct profile_limit_loop *from = &profile->limit_loops[loop];
    *place = (struct nest_place){from->file, from->line, from->line};
    for (size_t i = 0; i < profile->limit_instructions_count; i++) {
        const struct profile_limit_instruction *at = &profile->limit_instructions[i];
        if (at->loop != loop || !at->line || !profile_same_text(at->file, from->file))
            continue;
        if (!place->first || at->line < place->first)
            place->first = at->line;
        if (at->line > place->last)
            place->last = at->line;
    }
    return place->first && locality_takes(place->file);
}

enum { LOOPS_OF_DEEP = 3 };

static size_t find_places(const struct profile *profile, struct nest_place places[LOOPS_OF_DEEP])
{
    size_t count = 0;
    for (uint32_t i = 0; i < profile->limit_loops_count && count < LOOPS_OF_DEEP; i++)
        count += find_place(profile, i, &places[count]);
    return count;
}

/* Of all locations if counting says that there is time for them, else of a part. */
static bool record_distances(struct deep *deep)
{
    struct nest_place places[LOOPS_OF_DEEP];
    struct machine_cache first;
    struct cache_shape shape = {0};
    bool all = deep->counts_s > 0 && distances_slower * deep->counts_s < left_s(deep);
    double with_cache = cache_slower + (all ? distances_slower : 0);
    if (deep->counts_s > 0 && with_cache * deep->counts_s < left_s(deep) &&
        find_places(deep->profile, places) && machine_caches("", &first, 1) && first.level == 1)
        shape = (struct cache_shape){first.bytes, first.ways};
    return record_exact(deep, "reuse", EXACT_REUSE, all ? 1 : 1.0 / FOLLOWED_ONE_IN,
                        cache_shape_valid(&shape) ? &shape : NULL);
}

/* The same where nothing has been counted before: distances of all locations take some hundred times the program's CPU time at most. */
static bool record_distances_alone(struct deep *deep)
{
    bool all = SLOWER_MOST * deep->first->result.cpu_s < left_s(deep);
    return record_exact(deep, "reuse", EXACT_REUSE, all ? 1 : 1.0 / FOLLOWED_ONE_IN, NULL);
}

static bool record_transfers(struct deep *deep)
{
    return record_exact(deep, "sharing", EXACT_SHARING, 1, NULL);
}

/* The first of the loops. */
static size_t list_loops(const struct profile *profile, struct launch_loop loops[LAUNCH_LOOPS])
{
    size_t count = 0;
    for (size_t i = 0; i < profile->limit_loops_count && count < LAUNCH_LOOPS; i++) {
        const struct profile_limit_loop *loop = &profile->limit_loops[i];
        if (loop->module)
            loops[count++] = (struct launch_loop){loop->module, loop->address};
    }
    return count;
}

/* Of functions of all modules, whatever the context: a loop of a library is a loop. */
static bool record_iterations(struct deep *deep)
{
    struct settings settings = *deep->first->settings;
    struct launch_loop loops[LAUNCH_LOOPS];
    settings.loops = loops;
    settings.loops_count = list_loops(deep->profile, loops);
    settings.levels = deep->sequel->levels;
    settings.levels_count = deep->sequel->levels_count;
    settings.kinds = 0;
    settings.no_contexts = settings.no_cache = 1;
    settings.modules = MODULES_ALL;
    return exact_further(deep->first, &settings, "paths", EXACT_PATHS, record_run, deep,
                         deep->place, deep->error);
}

/* ---- steps ------------------------------------------------------------------------------------------- */

static bool has_threads(const struct profile *profile)
{
    return profile->run.threads > profile->run.processes;
}

static bool always(const struct profile *profile)
{
    (void)profile;
    return true;
}

static bool has_loops(const struct profile *profile)
{
    return profile->limit_runs_count && profile->limit_runs[0].cycle_ns > 0;
}

static bool has_bounds(const struct profile *profile)
{
    return profile->limit_loops_count;
}

static const struct step steps[] = {
    {"try its loops with their data in the first-level cache", 1, false, has_bounds,
     record_ceilings, assess_take_ceiling}, /* the first one: deep_ceiling */
    {"time executions of functions", 1, false, has_threads, record_waits, gain_attach_waits},
    {"count all accesses", SLOWER_LEAST, true, always, record_counts, gain_attach},
    {"measure how far apart uses of the same data are", SLOWER_LEAST_FOLLOWED, true, always,
     record_distances, gain_attach_misses},
    {"find cache lines that threads take from each other", SLOWER_LEAST, true, has_threads,
     record_transfers, gain_attach_transfers},
    {"count the iterations of its loops", SLOWER_LEAST_PATHS, true, has_loops, record_iterations,
     assess_measure}, /* the last one: deep_iterations */
};

static bool is_listed(const struct step *step)
{
    return step >= steps && step < steps + BASE_COUNT(steps);
}

/*
 * Steps of the exact engine divide what is left of the time evenly; what one does not need is for those behind it. The others take
 * no longer than the first run did, and have all of it.
 */
static void share_time(struct deep *deep, const struct profile *profile)
{
    uint64_t now_ns = monotonic_ns(), end_ns = sequel_deadline_ns(deep->sequel), steps_left = 0;
    for (const struct step *step = deep->step; is_listed(step); step++)
        steps_left += step->exact && step->applies(profile);
    deep->until_ns = end_ns;
    if (deep->step->exact && steps_left && now_ns < end_ns)
        deep->until_ns = now_ns + (end_ns - now_ns) / steps_left;
}

static bool has_time(struct deep *deep)
{
    const struct launch_result *first = &deep->first->result;
    double least_s = deep->step->slower_least * (deep->step->exact ? first->cpu_s : first->wall_s);
    if (least_s <= left_s(deep))
        return true;
    snprintf(deep->sentence, sizeof deep->sentence,
             "the command was not run once more to %s: that would take at least %.0f s, more than "
             "--max-time leaves%s",
             deep->step->aim, least_s,
             deep->until_ns < sequel_deadline_ns(deep->sequel) ? " for it" : "");
    return false;
}

static bool ended_alike(const struct deep *deep)
{
    const struct launch_result *first = &deep->first->result, *further = &deep->result;
    return further->exited && further->exit_code == first->exit_code;
}

/* why: a clause, or a sentence. */
static void gave_nothing(struct deep *deep, const char *why)
{
    size_t length = strlen(why);
    snprintf(deep->sentence, sizeof deep->sentence,
             "running the command once more to %s gave nothing: %.*s", deep->step->aim,
             (int)(length && why[length - 1] == '.' ? length - 1 : length), why);
}

static const char *why_nothing(const struct deep *deep, bool recorded)
{
    if (deep->result.interrupted)
        return "it was interrupted";
    if (deep->result.timed_out)
        return "its time was over (--max-time)";
    if (recorded)
        return "the program did not end as in the first run";
    return deep->error;
}

/* The profile of the step's run is in deep->place. */
static bool record(struct deep *deep)
{
    deep->result = (struct launch_result){0};
    say_step(deep, false);
    bool recorded = deep->step->record(deep);
    say_step(deep, true);
    if (recorded && !deep->result.timed_out && !deep->result.interrupted && ended_alike(deep))
        return true;
    gave_nothing(deep, why_nothing(deep, recorded));
    return false;
}

enum { NESTS_MOST_S = 30, NESTS_LEAST_S = 3 }; /* for each step of their computation */

/* Misses of the nests of the loops with most time, held against those that were recorded. */
static void compute_nests(struct deep *deep, struct profile *recorded, struct profile *profile)
{
    struct nest_place places[LOOPS_OF_DEEP];
    size_t count = find_places(profile, places);
    deep->until_ns = sequel_deadline_ns(deep->sequel);
    double left = left_s(deep) / 4;
    if (!count || !recorded->what_if_sites_count || left < NESTS_LEAST_S)
        return;
    if (!locality_further(places, count, recorded,
                          left < NESTS_MOST_S ? (unsigned)left : NESTS_MOST_S, profile,
                          deep->nests_sentence))
        say("loop nests were not computed: %s", base_status_text(BASE_NO_MEMORY));
    else if (deep->nests_sentence[0]) {
        say("%s", deep->nests_sentence);
        sequel_degraded(profile, deep->nests_sentence);
    }
}

static bool attach(struct deep *deep, struct profile *profile)
{
    struct profile *recorded = NULL;
    bool good = profile_read(deep->place, &recorded, deep->error, sizeof deep->error) == BASE_OK;
    if (good && !deep->step->attach(recorded, profile)) {
        strcpy(deep->error, "out of memory");
        good = false;
    }
    if (!good)
        gave_nothing(deep, deep->error);
    else if (deep->step->attach == gain_attach_misses)
        compute_nests(deep, recorded, profile);
    /* What is written is bounded by all that was read. */
    profile->file_bytes += recorded ? recorded->file_bytes : 0;
    profile_free(recorded);
    return good;
}

/* ---- loops ------------------------------------------------------------------------------------------ */

enum { CALIBRATION_MOST_S = 12 };

/* False: why is in the deep's sentence. */
static bool bound_with(struct deep *deep, struct profile *profile, const struct model *model)
{
    struct binary_options symbols = symbol_options(deep->first->settings);
    enum base_status status =
        assess_profile(profile, &symbols, &(struct assess_options){.model = model}, LOOPS_OF_DEEP);
    if (status != BASE_OK)
        snprintf(deep->sentence, sizeof deep->sentence, "cannot find the loops of the run: %s",
                 base_status_text(status));
    return status == BASE_OK;
}

static void bound_loops(struct deep *deep)
{
    struct profile *profile = NULL;
    struct util_text why = {0};
    deep->until_ns = sequel_deadline_ns(deep->sequel);
    if (left_s(deep) < CALIBRATION_MOST_S)
        return;
    if (profile_read(deep->first->written, &profile, deep->error, sizeof deep->error) != BASE_OK) {
        say("%s", deep->error);
        return;
    }
    if (!profile->times_count) {
        profile_free(profile);
        return;
    }
    bool good = machine_open("here", deep->first->settings->quiet, &deep->model, &why) == BASE_OK;
    if (!good)
        snprintf(deep->sentence, sizeof deep->sentence, "loops have no bounds: %.*s",
                 (int)(sizeof deep->sentence / 2), why.count ? why.bytes : "out of memory");
    if (good && bound_with(deep, profile, deep->model)) {
        sequel_clock(deep->sequel, profile);
    } else {
        say("%s", deep->sentence);
        sequel_degraded(profile, deep->sentence);
    }
    if (!sequel_replace(deep->first, profile, deep->error))
        say("%s", deep->error);
    util_text_free(&why);
    profile_free(profile);
}

/* What they executed, as soon as possible. */
static void schedule_loops(struct deep *deep)
{
    struct profile *profile = NULL;
    struct binary_options symbols = symbol_options(deep->first->settings);
    const struct assess_memory memory = {.models = 1U << EXECUTED_UNIFORM,
                                         .latencies = {.levels = 1}};
    if (!deep->model)
        return;
    if (profile_read(deep->first->written, &profile, deep->error, sizeof deep->error) != BASE_OK) {
        say("%s", deep->error);
        return;
    }
    if (profile->executed_windows_count &&
        (assess_executed(profile, &symbols, &(struct assess_options){.model = deep->model}, &memory,
                         NULL) != BASE_OK ||
         !sequel_replace(deep->first, profile, deep->error)))
        say("loops have no schedules: %s",
            deep->error[0] ? deep->error : base_status_text(BASE_NO_MEMORY));
    profile_free(profile);
}

/* ---- all together --------------------------------------------------------------------------------- */

static void take_step(struct deep *deep)
{
    struct profile *profile = NULL;
    if (profile_read(deep->first->written, &profile, deep->error, sizeof deep->error) != BASE_OK) {
        say("%s", deep->error);
        return;
    }
    if (deep->step->applies(profile)) {
        deep->profile = profile;
        share_time(deep, profile);
        bool good = has_time(deep) && record(deep) && attach(deep, profile);
        if (!good) {
            say("%s", deep->sentence);
            sequel_degraded(profile, deep->sentence);
        }
        if (!sequel_replace(deep->first, profile, deep->error))
            say("%s", deep->error);
        unlink(deep->place);
    }
    profile_free(profile);
}

static void begin(struct deep *deep, struct recording *recording, const struct sequel *sequel)
{
    *deep = (struct deep){.first = recording, .sequel = sequel};
    snprintf(deep->place, sizeof deep->place, "%s.deep", recording->log_path);
}

void deep_run(struct recording *recording, const struct sequel *sequel)
{
    struct deep deep;
    begin(&deep, recording, sequel);
    bound_loops(&deep);
    for (size_t i = 0; i < BASE_COUNT(steps) && !recording_signalled(); i++) {
        deep.step = &steps[i];
        take_step(&deep);
    }
    schedule_loops(&deep);
    model_close(deep.model);
}

void deep_distances(struct recording *recording, const struct sequel *sequel)
{
    static const struct step step = {"measure how far apart uses of the same data are",
                                     SLOWER_LEAST_FOLLOWED,
                                     true,
                                     always,
                                     record_distances_alone,
                                     assess_take_distances};
    struct deep deep;
    begin(&deep, recording, sequel);
    deep.step = &step;
    take_step(&deep);
}

void deep_ceiling(struct recording *recording, const struct sequel *sequel, struct model *model)
{
    struct deep deep;
    begin(&deep, recording, sequel);
    deep.model = model;
    deep.step = &steps[0];
    take_step(&deep);
}

void deep_iterations(struct recording *recording, const struct sequel *sequel)
{
    struct deep deep;
    begin(&deep, recording, sequel);
    deep.step = &steps[BASE_COUNT(steps) - 1];
    take_step(&deep);
}
