// SPDX-License-Identifier: MIT
/* `headroom merge`: several profiles of one verb into one. */
#include "cli/common.h"
#include "cli/verbs.h"

#include "profile/profile.h"

#include <signal.h>
#include <string.h>

enum { MERGE_FAILED = 1, ERROR_BYTES = 8704 };

/* Reads a profile and makes it one that can be merged. */
static enum base_status open_profile(const char *path, struct profile **profile, char *error)
{
    enum base_status status = profile_read(path, profile, error, ERROR_BYTES);
    if (status != BASE_OK)
        return status;
    status = profile_merge_begin(*profile, path, error, ERROR_BYTES);
    if (status != BASE_OK) {
        profile_free(*profile);
        *profile = NULL;
    }
    return status;
}

struct merging {
    char **paths;
    int count, done;
    struct progress progress;
    char *error;
};

/*
 * Halves of halves: a profile that grows with the number of files, as it does with processes, would
 * else be gone through once for each. At most one profile a level of halving is in memory, and one
 * more.
 */
static enum base_status merge_range(struct merging *merging, int first, int end,
                                    struct profile **merged)
{
    int middle = first + (end - first) / 2;
    struct profile *left = NULL, *right = NULL;
    if (end - first == 1) {
        progress_step(&merging->progress, "merging profiles", (uint64_t)merging->done++,
                      (uint64_t)merging->count);
        return open_profile(merging->paths[first], merged, merging->error);
    }
    enum base_status status = merge_range(merging, first, middle, &left);
    if (status == BASE_OK)
        status = merge_range(merging, middle, end, &right);
    if (status == BASE_OK)
        status = profile_merge(left, merging->paths[first], right, merging->paths[middle],
                               merging->error, ERROR_BYTES);
    profile_free(right);
    if (status == BASE_OK)
        *merged = left;
    else
        profile_free(left);
    return status;
}

static enum base_status merge_files(int count, char **paths, struct profile **merged, char *error)
{
    struct merging merging = {.paths = paths, .count = count, .error = error};
    progress_begin(&merging.progress, false);
    enum base_status status = merge_range(&merging, 0, count, merged);
    progress_end(&merging.progress);
    return status;
}

/* Most likely a slip of the hand, such as a pattern that has the former result among its files. */
static void tell_twice(const struct profile *merged)
{
    for (size_t i = 0; i < merged->degraded_count; i++)
        if (strcmp(merged->degraded[i].text, profile_counted_twice) == 0)
            say("%s; 'headroom report --format json' lists what was merged", profile_counted_twice);
}

/* A signal waits until the file is in its place: it is a matter of a moment, and what is half
   written is left nowhere. */
static enum base_status write_undisturbed(const struct profile *profile, const char *output,
                                          char *error)
{
    sigset_t ending, before;
    sigemptyset(&ending);
    sigaddset(&ending, SIGHUP);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGQUIT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGPROF); /* time_limit */
    signal(SIGXFSZ, SIG_IGN);    /* a file-size limit is to give an error, with nothing left */
    sigprocmask(SIG_BLOCK, &ending, &before);
    enum base_status status = profile_write(profile, output, error, ERROR_BYTES);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

static int merge_run(const struct settings *settings, int count, char **operands)
{
    const char *output = settings->output ? settings->output : "merge.headroom";
    char error[ERROR_BYTES] = "unknown failure.";
    struct profile *merged = NULL;
    if (count < 2)
        return say_usage("merge",
                         count ? "at least two profiles are needed to merge" : "no profiles given");
    time_limit_start(time_limit_seconds(count, (const char *const *)operands));
    enum base_status status = profile_output_check(output, error, sizeof error);
    if (status == BASE_OK)
        status = merge_files(count, operands, &merged, error);
    if (status == BASE_OK) {
        merged->run.version = HEADROOM_VERSION;
        status = write_undisturbed(merged, output, error);
        if (status == BASE_OK)
            tell_twice(merged);
    }
    profile_free(merged);
    if (status == BASE_OK)
        return 0;
    say("%s", error);
    return MERGE_FAILED;
}

/* ---- the command line --------------------------------------------------------------------------
 */

static const struct option_spec merge_options[] = {
    OPTION_OUTPUT("merge"),
    OPTION_HELP,
    OPTION_END,
};

const struct verb merge_verb = {
    .name = "merge",
    .summary = "merge several profiles into one",
    .arguments = "FILE FILE...",
    .description =
        "Adds up the profiles FILE into one profile of all their processes: the ranks of a "
        "parallel program, several machines, repeated runs. 'headroom report' prints it like "
        "any other profile and lists what was merged. Merged profiles may be merged again; "
        "neither order nor grouping changes the result.\n\n"
        "All FILEs must come from the same verb and engine, and from the same options where "
        "these change what the figures mean, such as units, rates and simulated caches. "
        "Modules are the same if their path and build ID are.",
    .exit_status = "0 on success, 1 if a file cannot be read or written or the profiles cannot "
                   "be merged, 2 for wrong options.",
    .options = merge_options,
    .usage_code = 2,
    .operands = OPERANDS_PROFILES,
    .run = merge_run,
};
