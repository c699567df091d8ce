// SPDX-License-Identifier: MIT
/* `headroom merge`: several profiles of one verb into one. */
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

/* One after the other, so that no more than two are in memory. */
static enum base_status merge_files(int count, char **paths, struct profile **merged, char *error)
{
    struct progress progress;
    progress_begin(&progress, false);
    enum base_status status = open_profile(paths[0], merged, error);
    for (int i = 1; i < count && status == BASE_OK; i++) {
        struct profile *next = NULL;
        progress_step(&progress, "merging profiles", (uint64_t)i, (uint64_t)count);
        status = open_profile(paths[i], &next, error);
        if (status == BASE_OK)
            status = profile_merge(*merged, paths[0], next, paths[i], error, ERROR_BYTES);
        profile_free(next);
    }
    progress_end(&progress);
    return status;
}

int merge_run(const struct settings *settings, int count, char **operands)
{
    const char *output = settings->output ? settings->output : "merge.headroom";
    char error[ERROR_BYTES] = "unknown failure.";
    struct profile *merged = NULL;
    if (count < 2)
        return say_usage("merge", count ? "one profile is nothing to merge" : "no profiles given");
    enum base_status status = profile_output_check(output, error, sizeof error);
    if (status == BASE_OK)
        status = merge_files(count, operands, &merged, error);
    if (status == BASE_OK) {
        merged->run.version = HEADROOM_VERSION;
        signal(SIGXFSZ, SIG_IGN); /* a file-size limit is to give an error, with nothing left */
        status = profile_write(merged, output, error, sizeof error);
    }
    profile_free(merged);
    if (status == BASE_OK)
        return 0;
    say("%s", error);
    return MERGE_FAILED;
}
