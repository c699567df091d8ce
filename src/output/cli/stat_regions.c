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

bool stat_regions_find(struct stat_measuring *measuring)
{
    const struct option_list *asked = &measuring->settings->keys;
    for (size_t i = 0; i < asked->count; i++) {
        struct stat_region *region = &measuring->regions[measuring->regions_count++];
        *region = (struct stat_region){.name = asked->texts[i], .loop = is_place(asked->texts[i])};
        if (!note_region(measuring, region))
            return false;
    }
    return true;
}

/* ---- one run ----------------------------------------------------------------------------------- */

struct timing {
    struct stat_measuring *measuring;
    struct stat_subject *subject;
    struct launch_spans_request request;
    struct launch_spans_result spans;
    const char *names[STAT_REGIONS];
    char log_path[LAUNCH_PATH_BYTES];
    int log;
};

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
    timing->request.stack_period = UINT32_MAX;
    enum launch_outcome outcome =
        launch_examine(program->path, &program->shell, measuring->error);
    if (outcome == LAUNCH_OK)
        outcome = launch_agent(program->config.agent_path, measuring->error);
    if (outcome == LAUNCH_OK)
        outcome = launch_log_create(measuring->output, timing->log_path, &timing->log,
                                    measuring->error);
    program->log = timing->log;
    return outcome;
}

/* The first reason that is given of what the name stands for. */
static const char *reason_of(const struct timing *timing, const char *name)
{
    const struct inject_result *hooks = &timing->spans.hooks;
    for (size_t i = 0; i < hooks->unhooked_count; i++)
        if (fnmatch(name, hooks->unhooked[i].name, 0) == 0 ||
            strcmp(name, hooks->unhooked[i].name) == 0)
            return hooks->unhooked[i].reason;
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
    const char *why = profile_keep(profile, reason_of(timing, region->name));
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

static bool take_sums(struct timing *timing)
{
    struct stat_measuring *measuring = timing->measuring;
    struct import_spans_sum sums[STAT_REGIONS];
    if (import_spans_sums(timing->spans.region, sums, measuring->regions_count, measuring->error,
                          sizeof measuring->error) != BASE_OK)
        return false;
    for (size_t i = 0; i < measuring->regions_count; i++) {
        const struct stat_region *region = &measuring->regions[i];
        if (!(sums[i].recorded ? add_visit(measuring, region, &sums[i])
                               : add_skip(timing, region)))
            return stat_fail(measuring, LAUNCH_FAILED, "%s.", base_status_text(BASE_NO_MEMORY));
    }
    return true;
}

static enum launch_outcome launch(struct timing *timing, struct launch_result *result)
{
    struct stat_measuring *measuring = timing->measuring;
    struct launch_request *program = &timing->request.program;
    enum launch_outcome outcome =
        sequel_begin(&measuring->sequel, 0, program, measuring->error);
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

enum launch_outcome stat_regions_run(struct stat_measuring *measuring,
                                     struct stat_subject *subject, struct launch_result *result)
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

bool stat_regions_end(struct stat_measuring *measuring)
{
    struct profile *profile = measuring->profile;
    size_t kept = 0;
    for (size_t i = 0; i < profile->stat_skips_count; i++)
        if (!was_visited(profile, &profile->stat_skips[i]))
            profile->stat_skips[kept++] = profile->stat_skips[i];
    profile->stat_skips_count = kept;
    return true;
}
