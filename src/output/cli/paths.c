// SPDX-License-Identifier: MIT
/*
 * `headroom paths`: a run of a program that `headroom cc` built. It counts by itself; what is left
 * is to hand it memory, and to read that. Or, with --exact, a run of any program under the exact
 * engine.
 */
#include "cli/recording.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

struct built {
    struct recording recording;
    struct launch_request request;
    struct built_event event;
    char lost_text[128];
};

static int prepare(struct built *built)
{
    struct recording *recording = &built->recording;
    int code = recording_refuse(
        recording, launch_find(recording->command[0], recording->path, recording->error));
    if (!code)
        code = recording_check_output(recording);
    if (!code && recording->event)
        code = recording_refuse(recording,
                                launch_event(recording->event, &built->event, recording->error));
    enum base_status reached = code ? BASE_OK : launch_try_descriptors();
    if (reached == BASE_IO)
        say("cannot try whether programs reach headroom through /proc: %s.", strerror(errno));
    else if (reached != BASE_OK)
        say("programs cannot reach headroom through /proc here; see 'headroom doctor'.");
    if (reached != BASE_OK)
        code = LAUNCH_FAILED;
    if (!code && recording->event && built->event.type != PERF_TYPE_SOFTWARE)
        recording_degraded(recording, "hardware events are counted by code that has not been tried "
                                      "on hardware yet: compare them with those of perf stat");
    return code ? code : recording_open(recording);
}

static void conclude(struct built *built)
{
    struct recording *recording = &built->recording;
    const struct launch_result *result = &recording->result;
    if (result->images == 0 && result->refused) {
        say("nothing was counted, no profile was written: the memory that '%s' may use (ulimit -v) "
            "leaves no room for counters.",
            recording->command[0]);
        return;
    }
    if (result->images == 0) {
        say("nothing was counted, no profile was written: '%s' runs no program that 'headroom cc' "
            "built, or it was killed before it began.",
            recording->command[0]);
        return;
    }
    if (result->lost_threads) {
        snprintf(built->lost_text, sizeof built->lost_text,
                 "for %llu tables of counts there was no memory; what belongs there is missing",
                 (unsigned long long)result->lost_threads);
        recording_degraded(recording, built->lost_text);
    }
    if (result->refused)
        recording_degraded(recording, "a program had no memory left for counters: nothing of it "
                                      "was counted");
    recording_finish(recording, "built");
}

static int run_built(const struct settings *settings, char **operands)
{
    struct built built = {
        .recording = {.settings = settings,
                      .verb = "paths",
                      .output = settings->output ? settings->output : "paths.headroom",
                      .command = operands,
                      .log = -1,
                      .built = true,
                      .event = settings->event,
                      .region = -1},
    };
    struct recording *recording = &built.recording;
    int code = prepare(&built);
    built.request = (struct launch_request){.path = recording->path, .command = operands};
    if (!code)
        code = recording_refuse(
            recording, launch_built(&built.request, recording->event ? &built.event : NULL,
                                    &recording->region, &recording->result, recording->error));
    if (!code) {
        code = recording_exit_code(recording);
        conclude(&built);
    }
    recording_close(recording, false);
    return code;
}

int paths_run(const struct settings *settings, int count, char **operands)
{
    int code = check_engine(settings, "paths", count);
    if (code)
        return code;
    if (settings->caches_count > 1)
        return say_usage("paths", "--cache can be given once");
    return settings->exact ? exact_run(settings, "paths", false, operands)
                           : run_built(settings, operands);
}
