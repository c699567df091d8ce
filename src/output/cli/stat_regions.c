// SPDX-License-Identifier: MIT
/*
 * Regions: functions and markers, by the hooks of `headroom interference`, nothing else being hooked; and loops. They are timed in runs of
 * their own, in the same rounds.
 */
#include "cli/stat.h"

#include "import/import.h"
#include "inject/inject.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which there are -------------------------------------------------------------------------- */

static bool is_place(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon && colon > name && colon[-1] != ':' && colon[1] &&
           colon[1 + strspn(colon + 1, "0123456789")] == 0;
}

/* Until it is known better: a marker looks like a function. */
static bool note_region(struct stat_measuring *measuring, struct stat_region *region)
{
    struct profile *profile = measuring->profile;
    for (uint32_t i = 1; i < profile->stat_regions_count; i++)
        if (strcmp(profile->stat_regions[i].name, region->name) == 0) {
            region->id = i;
            return true;
        }
    region->id = (uint32_t)profile->stat_regions_count;
    const char *kept = profile_keep(profile, region->name);
    struct profile_stat_region *added = kept ? profile_add_stat_regions(profile) : NULL;
    if (!added)
        return stat_fail(measuring, LAUNCH_FAILED, "%s.", base_status_text(BASE_NO_MEMORY));
    *added = (struct profile_stat_region){
        .name = kept, .kind = region->loop ? PROFILE_STAT_LOOP : PROFILE_STAT_FUNCTION};
    return true;
}

/* ---- loops ------------------------------------------------------------------------------------- */

/* Of a file that cannot be read there are none: why is said where the region is listed as not timed. */
static bool find_loops(struct stat_measuring *measuring, struct stat_subject *subject)
{
    struct binary_options symbols = symbol_options(measuring->settings);
    struct binary *binary = NULL;
    char ignored[ASSESS_ERROR_BYTES];
    enum base_status status = BASE_OK;
    subject->real = realpath(subject->path, NULL);
    if (assess_open(subject->path, &symbols, &binary, ignored) != BASE_OK)
        return true;
    for (size_t i = 0; i < measuring->regions_count && status == BASE_OK; i++) {
        const struct stat_region *region = &measuring->regions[i];
        const char *colon = strrchr(region->name, ':');
        if (!region->loop)
            continue;
        char *file = strndup(region->name, (size_t)(colon - region->name));
        const struct assess_target target = {.file = file,
                                             .line = (uint32_t)strtoul(colon + 1, NULL, 10)};
        status = file ? assess_heads_at(binary, &target, &subject->heads[i]) : BASE_NO_MEMORY;
        free(file);
    }
    binary_close(binary);
    return status == BASE_OK ||
           stat_fail(measuring, LAUNCH_FAILED, "%s.", base_status_text(status));
}

void stat_regions_free(struct stat_measuring *measuring)
{
    for (size_t i = 0; i < measuring->subjects_count; i++) {
        free(measuring->subjects[i].real);
        for (size_t j = 0; j < measuring->regions_count; j++)
            assess_heads_free(&measuring->subjects[i].heads[j]);
    }
}

bool stat_regions_find(struct stat_measuring *measuring)
{
    bool loops = false;
    const struct option_list *asked = &measuring->settings->keys;
    for (size_t i = 0; i < asked->count; i++) {
        struct stat_region *region = &measuring->regions[measuring->regions_count++];
        *region = (struct stat_region){.name = asked->texts[i], .loop = is_place(asked->texts[i])};
        loops |= region->loop;
        if (!note_region(measuring, region))
            return false;
    }
    for (size_t i = 0; i < measuring->subjects_count && loops; i++)
        if (!find_loops(measuring, &measuring->subjects[i]))
            return false;
    return true;
}

/* ---- one run ----------------------------------------------------------------------------------- */

struct timing {
    struct stat_measuring *measuring;
    struct stat_subject *subject;
    struct launch_spans_request request;
    struct launch_spans_result spans;
    const char *names[STAT_REGIONS];
    struct inject_loop loops[STAT_REGIONS * 8];
    char log_path[LAUNCH_PATH_BYTES];
    int log;
};

static void add_loops(struct timing *timing)
{
    const struct stat_subject *subject = timing->subject;
    struct inject_request *hooks = &timing->request.hooks;
    hooks->loops = timing->loops;
    for (size_t i = 0; i < timing->measuring->regions_count && subject->real; i++)
        for (size_t j = 0;
             j < subject->heads[i].count && hooks->loops_count < BASE_COUNT(timing->loops); j++)
            timing->loops[hooks->loops_count++] =
                (struct inject_loop){.path = subject->real,
                                     .function = subject->heads[i].items[j].function,
                                     .head = subject->heads[i].items[j].head,
                                     .named = (uint32_t)i + 1};
}

static enum launch_outcome prepare(struct timing *timing)
{
    struct stat_measuring *measuring = timing->measuring;
    struct launch_request *program = &timing->request.program;
    *program = (struct launch_request){.path = timing->subject->path,
                                       .command = timing->subject->command,
                                       .config = {.follow = 1}};
    for (size_t i = 0; i < measuring->regions_count; i++)
        timing->names[i] = measuring->regions[i].name;
    timing->request.hooks.functions = timing->names;
    timing->request.hooks.functions_count = measuring->regions_count;
    timing->request.hooks.only_named = true;
    add_loops(timing);
    timing->request.stack_period = UINT32_MAX;
    enum launch_outcome outcome = launch_examine(program->path, &program->shell, measuring->error);
    if (outcome == LAUNCH_OK)
        outcome = launch_agent(program->config.agent_path, measuring->error);
    if (outcome == LAUNCH_OK)
        outcome =
            launch_log_create(measuring->output, timing->log_path, &timing->log, measuring->error);
    program->log = timing->log;
    return outcome;
}

/* The first of what the name stands for that was not hooked; NULL: there is none. */
static const struct inject_unhooked *unhooked_of(const struct timing *timing, const char *name)
{
    const struct inject_result *hooks = &timing->spans.hooks;
    for (size_t i = 0; i < hooks->unhooked_count; i++)
        if (fnmatch(name, hooks->unhooked[i].name, 0) == 0 ||
            strcmp(name, hooks->unhooked[i].name) == 0)
            return &hooks->unhooked[i];
    return NULL;
}

static const char *reason_of(const struct timing *timing, const struct stat_region *region)
{
    const struct inject_result *hooks = &timing->spans.hooks;
    const struct inject_unhooked *unhooked = unhooked_of(timing, region->name);
    if (region->loop && !timing->subject->heads[region - timing->measuring->regions].count)
        return "the program has no loop with instructions of that line, as far as its debug "
               "information says (compile with -g)";
    if (unhooked)
        return unhooked->reason;
    return hooks->patching_refused ? "the program's memory cannot be written"
                                   : "it was not executed";
}

static bool add_skip(const struct timing *timing, const struct stat_region *region)
{
    struct profile *profile = timing->measuring->profile;
    for (size_t i = 0; i < profile->stat_skips_count; i++)
        if (profile->stat_skips[i].subject == timing->subject->id &&
            profile->stat_skips[i].region == region->id)
            return true;
    const char *why = profile_keep(profile, reason_of(timing, region));
    struct profile_stat_skip *skip = why ? profile_add_stat_skips(profile) : NULL;
    if (skip)
        *skip = (struct profile_stat_skip){timing->subject->id, region->id, why};
    return skip != NULL;
}

static bool add_visit(struct stat_measuring *measuring, const struct stat_region *region,
                      const struct import_spans_sum *sum)
{
    struct profile *profile = measuring->profile;
    struct profile_stat_visit *visit = profile_add_stat_visits(profile);
    if (!visit)
        return false;
    *visit = (struct profile_stat_visit){.run = (uint32_t)profile->stat_runs_count - 1,
                                         .region = region->id,
                                         .visits = sum->visits,
                                         .recorded = sum->recorded,
                                         .sum_ns = sum->sum_ns,
                                         .min_ns = sum->min_ns,
                                         .max_ns = sum->max_ns,
                                         .preempted_ns = sum->preempted_ns,
                                         .asleep_ns = sum->asleep_ns,
                                         .preemptions = sum->preemptions,
                                         .sleeps = sum->sleeps,
                                         .cost_ns = sum->cost_ns};
    if (sum->entry == SPANS_MARKED && !region->loop)
        profile->stat_regions[region->id].kind = PROFILE_STAT_MARKER;
    return true;
}

static bool say_inside(const struct timing *timing, const struct stat_region *region)
{
    char sentence[512];
    snprintf(sentence, sizeof sentence,
             "the loop %.200s of #%u is left to code too short for a jump, or to another loop: it "
             "was timed by jumps inside it, two more in each iteration",
             region->name, timing->subject->id + 1);
    return stat_degraded(timing->measuring, sentence);
}

/* Of several functions or loops of one name some were timed, and others not: the time is not that of all. */
static bool say_partial(const struct timing *timing, const struct stat_region *region)
{
    const struct inject_unhooked *unhooked = unhooked_of(timing, region->name);
    char sentence[1024];
    if (!unhooked)
        return true;
    snprintf(sentence, sizeof sentence, "times of %.200s in #%u are without %.200s: %.300s",
             region->name, timing->subject->id + 1,
             region->loop ? "one of its loops" : unhooked->name, unhooked->reason);
    return stat_degraded(timing->measuring, sentence);
}

static bool take_sums(struct timing *timing)
{
    struct stat_measuring *measuring = timing->measuring;
    struct import_spans_sum sums[STAT_REGIONS];
    if (import_spans_sums(timing->spans.region, sums, measuring->regions_count, measuring->error,
                          sizeof measuring->error) != BASE_OK)
        return false;
    for (size_t i = 0; i < measuring->regions_count; i++) {
        const struct stat_region *region = &measuring->regions[i];
        if ((sums[i].inside && !say_inside(timing, region)) ||
            (sums[i].recorded && !say_partial(timing, region)))
            return false;
        if (!(sums[i].recorded ? add_visit(measuring, region, &sums[i]) : add_skip(timing, region)))
            return stat_fail(measuring, LAUNCH_FAILED, "%s.", base_status_text(BASE_NO_MEMORY));
    }
    return true;
}

static enum launch_outcome launch(struct timing *timing, struct launch_result *result)
{
    struct stat_measuring *measuring = timing->measuring;
    struct launch_request *program = &timing->request.program;
    enum launch_outcome outcome = sequel_begin(&measuring->sequel, 0, program, measuring->error);
    if (outcome != LAUNCH_OK)
        return outcome;
    if (measuring->own->show_output)
        program->redirected = false;
    outcome = launch_spans(&timing->request, &timing->spans, result, measuring->error);
    sequel_end(program);
    if (outcome != LAUNCH_OK)
        return outcome;
    if (!take_sums(timing))
        outcome = LAUNCH_FAILED;
    close(timing->spans.region);
    if (timing->spans.saved[0])
        unlink(timing->spans.saved);
    launch_spans_free(&timing->spans);
    return outcome;
}

enum launch_outcome stat_regions_run(struct stat_measuring *measuring, struct stat_subject *subject,
                                     struct launch_result *result)
{
    struct timing timing = {.measuring = measuring, .subject = subject, .log = -1};
    enum launch_outcome outcome = prepare(&timing);
    if (outcome == LAUNCH_OK)
        outcome = launch(&timing, result);
    if (timing.log >= 0) {
        close(timing.log);
        unlink(timing.log_path);
    }
    return outcome;
}

/* ---- at the end ---------------------------------------------------------------------------------- */

/* What was met in some run was timed. */
static bool was_visited(const struct profile *profile, const struct profile_stat_skip *skip)
{
    for (size_t i = 0; i < profile->stat_visits_count; i++)
        if (profile->stat_visits[i].region == skip->region &&
            profile->stat_runs[profile->stat_visits[i].run].subject == skip->subject)
            return true;
    return false;
}

/* ---- iterations ---------------------------------------------------------------------------------- */

static enum launch_outcome count_run(struct further_run *run)
{
    struct stat_measuring *measuring = run->context;
    enum launch_outcome outcome = sequel_begin(&measuring->sequel, 0, run->program, run->error);
    if (outcome != LAUNCH_OK)
        return outcome;
    outcome = run->launch(run);
    sequel_end(run->program);
    return outcome;
}

/* Paths of all functions of all modules, whatever the context. False: the reason is in measuring->error. */
static bool count_paths(struct stat_measuring *measuring, struct stat_subject *subject,
                        struct profile **counted)
{
    struct settings settings = *measuring->settings;
    struct recording first = {.settings = &settings, .command = subject->command};
    char place[LAUNCH_PATH_BYTES + 32];
    settings.kinds = 0;
    settings.no_contexts = settings.no_cache = 1;
    settings.modules = MODULES_ALL;
    strcpy(first.path, subject->path);
    snprintf(first.written, sizeof first.written, "%s", measuring->output);
    snprintf(place, sizeof place, "%s.trips.%d", measuring->output, (int)getpid());
    bool good = exact_further(&first, &settings, "paths", EXACT_PATHS, count_run, measuring, place,
                              measuring->error);
    if (good)
        good = profile_read(place, counted, measuring->error, sizeof measuring->error) == BASE_OK;
    unlink(place);
    return good;
}

static bool add_trip(struct stat_measuring *measuring, const struct stat_subject *subject,
                     size_t region, const struct profile *counted)
{
    uint64_t visits = 0, iterations = 0;
    bool found = false;
    for (size_t i = 0; i < subject->heads[region].count; i++) {
        uint64_t entered, iterated;
        found |= assess_trips(counted, subject->real, &subject->heads[region].items[i], &entered,
                              &iterated);
        visits += entered;
        iterations += iterated;
    }
    if (!found || !visits)
        return true;
    struct profile_stat_trip *trip = profile_add_stat_trips(measuring->profile);
    if (trip)
        *trip = (struct profile_stat_trip){subject->id, measuring->regions[region].id, visits,
                                           iterations};
    return trip != NULL;
}

static bool has_loops(const struct stat_measuring *measuring, const struct stat_subject *subject)
{
    const struct profile *profile = measuring->profile;
    bool known = false, any = false;
    for (size_t i = 0; i < measuring->regions_count; i++)
        any |= subject->heads[i].count > 0;
    for (size_t i = 0; i < profile->stat_trips_count; i++)
        known |= profile->stat_trips[i].subject == subject->id;
    return any && !known && subject->real;
}

static bool count_trips(struct stat_measuring *measuring, struct stat_subject *subject)
{
    struct profile *counted = NULL;
    bool good = true;
    if (!has_loops(measuring, subject))
        return true;
    if (!measuring->settings->quiet)
        say("running '%s' once more to count iterations", subject->command[0]);
    if (!count_paths(measuring, subject, &counted)) {
        char sentence[640];
        snprintf(sentence, sizeof sentence, "iterations of loops were not counted: %.500s",
                 measuring->error);
        sentence[strcspn(sentence, "\n")] = 0;
        return stat_degraded(measuring, sentence);
    }
    for (size_t i = 0; i < measuring->regions_count && good; i++)
        good = add_trip(measuring, subject, i, counted);
    profile_free(counted);
    return good || stat_fail(measuring, LAUNCH_FAILED, "%s.", base_status_text(BASE_NO_MEMORY));
}

bool stat_regions_end(struct stat_measuring *measuring)
{
    struct profile *profile = measuring->profile;
    size_t kept = 0;
    for (size_t i = 0; i < measuring->subjects_count && measuring->own->trips; i++)
        if (!recording_signalled() && !count_trips(measuring, &measuring->subjects[i]))
            return false;
    for (size_t i = 0; i < profile->stat_skips_count; i++)
        if (!was_visited(profile, &profile->stat_skips[i]))
            profile->stat_skips[kept++] = profile->stat_skips[i];
    profile->stat_skips_count = kept;
    return true;
}
