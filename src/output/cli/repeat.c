// SPDX-License-Identifier: MIT
/*
 * A command that is run again because one run of it gave too few samples: each run is recorded as the first one was,
 * and all become one profile, as by `headroom merge`.
 *
 * Only runs that ended by themselves, and as the first one did, count: one that was cut off says too much of how the
 * program begins, one that failed did other work. The first profile stays in its place until the merged one replaces
 * it, so that nothing can be lost.
 */
#include "cli/sequel.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Decided samples of a kind: a share of one half is then known within 6 points (95 %). */
enum { DECIDED_ENOUGH = 300 };

struct repeating {
    struct recording *first;
    const struct sequel *sequel;
    struct profile *profile; /* of all runs so far */
    uint64_t runs;
    double longest_s;
    char place[LAUNCH_PATH_BYTES + 8]; /* of profiles on their way */
    char sentence[224];                /* to be said and kept; "" */
    char error[LAUNCH_ERROR_BYTES];
};

/* ---- is it enough? ---------------------------------------------------------------------------- */

/* Of the kind that has fewest. */
static uint64_t decided(const struct profile *profile)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < profile->kinds_count; i++)
        if (profile->kinds[i].kind != PROFILE_REUSE && profile->kinds[i].traps < least)
            least = profile->kinds[i].traps;
    return profile->kinds_count ? least : 0;
}

static bool wants_more(const struct repeating *repeating)
{
    return !recording_signalled() && repeating->runs < repeating->sequel->settings->runs &&
           decided(repeating->profile) < DECIDED_ENOUGH &&
           !sequel_is_over(repeating->sequel, repeating->longest_s);
}

/* ---- one more run ------------------------------------------------------------------------------ */

static void describe_end(const struct launch_result *result, char *text, size_t bytes)
{
    if (result->exited)
        snprintf(text, bytes, "with exit status %d", result->exit_code);
    else
        snprintf(text, bytes, "by signal %d", result->signal);
}

/* Did it end by itself, and as the first run did? */
static bool counts(struct repeating *repeating, const struct launch_result *result)
{
    const struct launch_result *first = &repeating->first->result;
    char ends[2][40];
    if (result->interrupted || result->timed_out || result->detached || result->images == 0)
        return false;
    if (result->exited && result->exit_code == first->exit_code)
        return true;
    describe_end(first, ends[0], sizeof ends[0]);
    describe_end(result, ends[1], sizeof ends[1]);
    snprintf(repeating->sentence, sizeof repeating->sentence,
             "run %llu of the command ended %s, the first one %s: it was the last, and is not in "
             "the profile",
             (unsigned long long)repeating->runs + 1, ends[1], ends[0]);
    return false;
}

static enum base_status add(struct repeating *repeating)
{
    const char *name = repeating->first->written;
    struct profile *further = NULL;
    enum base_status status = BASE_OK;
    if (repeating->runs == 1)
        status = profile_merge_begin(repeating->profile, name, repeating->error,
                                     sizeof repeating->error);
    if (status == BASE_OK)
        status =
            profile_read(repeating->place, &further, repeating->error, sizeof repeating->error);
    if (status == BASE_OK)
        status = profile_merge_begin(further, name, repeating->error, sizeof repeating->error);
    if (status == BASE_OK)
        status = profile_merge(repeating->profile, name, further, name, repeating->error,
                               sizeof repeating->error);
    profile_free(further);
    return status;
}

static enum launch_outcome record(struct repeating *repeating, struct recording *further)
{
    struct launch_request request = *repeating->first->program;
    enum launch_outcome outcome = launch_log_create(repeating->first->written, further->log_path,
                                                    &further->log, repeating->error);
    if (outcome != LAUNCH_OK)
        return outcome;
    request.log = further->log;
    if (request.config.seed)
        request.config.seed += repeating->runs; /* other samples than before */
    outcome = sequel_begin(repeating->sequel, sequel_deadline_ns(repeating->sequel), &request,
                           repeating->error);
    if (outcome != LAUNCH_OK)
        return outcome;
    outcome = launch_record(&request, &further->result, repeating->error);
    sequel_end(&request);
    return outcome;
}

/* False: it was the last. */
static bool run_again(struct repeating *repeating)
{
    struct recording *first = repeating->first;
    struct recording further = {.settings = first->settings,
                                .verb = first->verb,
                                .output = first->output,
                                .command = first->command,
                                .config = first->config,
                                .log = -1,
                                .region = -1};
    enum launch_outcome outcome = record(repeating, &further);
    bool good = outcome == LAUNCH_OK && counts(repeating, &further.result);
    enum base_status status = BASE_OK;
    if (good) {
        live_degraded(&further);
        snprintf(repeating->place, sizeof repeating->place, "%s.run", further.log_path);
        status = recording_import(&further, "live", repeating->place);
        if (status == BASE_OK)
            status = add(repeating);
        else
            strcpy(repeating->error, further.error);
        unlink(repeating->place);
    }
    if (outcome != LAUNCH_OK || status != BASE_OK)
        say("%s", repeating->error);
    if (further.result.wall_s > repeating->longest_s)
        repeating->longest_s = further.result.wall_s;
    recording_close(&further, false);
    repeating->runs += good && status == BASE_OK;
    return good && status == BASE_OK;
}

/* ---- all together ------------------------------------------------------------------------------ */

static void replace(struct repeating *repeating)
{
    struct recording *first = repeating->first;
    if (repeating->sentence[0]) {
        sequel_degraded(repeating->profile, repeating->sentence);
        say("%s", repeating->sentence);
    }
    if (!sequel_replace(first, repeating->profile, repeating->error))
        say("%s", repeating->error);
}

void repeat_run(struct recording *recording)
{
    struct repeating repeating = {.first = recording,
                                  .sequel = recording->sequel_state,
                                  .runs = 1,
                                  .longest_s = recording->result.wall_s};
    struct progress progress;
    bool goes_on = profile_read(recording->written, &repeating.profile, repeating.error,
                                sizeof repeating.error) == BASE_OK;
    if (!goes_on)
        say("%s", repeating.error);
    progress_begin(&progress, recording->settings->quiet);
    while (goes_on && wants_more(&repeating)) {
        progress_step(&progress, "repeating", decided(repeating.profile), DECIDED_ENOUGH);
        goes_on = run_again(&repeating);
    }
    progress_end(&progress);
    if (repeating.profile && (repeating.runs > 1 || repeating.sentence[0]))
        replace(&repeating);
    profile_free(repeating.profile);
}
