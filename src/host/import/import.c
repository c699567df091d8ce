// SPDX-License-Identifier: MIT
/*
 * From a raw log to a profile: read, add up, describe the run, name the addresses, write. Host
 * side; calls share no state.
 */
#include "import/import.h"
#include "import/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void import_tell(struct import_teller *teller, const char *step, uint64_t done, uint64_t total)
{
    enum { LEAST_DISTANCE_NS = 120 * 1000 * 1000 };
    struct timespec now;
    if (!teller->progress)
        return;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (now_ns - teller->last_ns < LEAST_DISTANCE_NS)
        return;
    teller->last_ns = now_ns;
    teller->progress(teller->context, step, done, total);
}

enum base_status import_log(const char *log_path, const struct import_run *run,
                            const struct binary_options *symbols, const char *profile_path,
                            import_progress *progress, void *progress_context, char *error,
                            size_t error_bytes)
{
    struct import_teller teller = {progress, progress_context, 0};
    struct import_log *log = malloc(sizeof *log);
    struct import_gather gather = {.log = log, .profile = profile_new()};
    enum base_status status = BASE_NO_MEMORY;
    bool opened = false;
    snprintf(error, error_bytes, "cannot import '%s': out of memory.", log_path);
    if (!log || !gather.profile)
        goto done;
    status = import_log_open(log_path, run, log, &teller, error, error_bytes);
    opened = status == BASE_OK;
    if (!opened)
        goto done;
    if (log->config.spans) {
        snprintf(error, error_bytes,
                 "'%s' is what is left of a recording by 'headroom interference': its times were "
                 "in memory and are lost.",
                 log_path);
        status = BASE_UNSUPPORTED;
        goto done;
    }
    gather.spans = log->config.clones != 0; /* samples were taken by headroom itself */
    status = BASE_NO_MEMORY;
    if (!import_gather(&gather, &teller) || !import_describe(&gather, run) ||
        !import_reuse_finish(&gather, run) || !import_name(&gather, run, symbols, &teller) ||
        !import_located_finish(&gather) || !import_exact_sharing_finish(&gather) ||
        !import_exact_paths_finish(&gather, symbols, &teller))
        goto done;
    import_exact_sites_finish(&gather);
    if (log->failure) {
        snprintf(error, error_bytes, "cannot read '%s': %s.", log_path, strerror(log->failure));
        status = BASE_IO;
        goto done;
    }
    import_tell(&teller, "writing the profile", 0, 1);
    status = profile_write(gather.profile, profile_path, error, error_bytes);
done:
    if (opened)
        import_log_close(log);
    import_gather_free(&gather);
    profile_free(gather.profile);
    free(log);
    return status;
}
