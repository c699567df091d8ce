// SPDX-License-Identifier: MIT
/*
 * `headroom paths`: a run of a program that `headroom cc` built. It counts by itself; what is left
 * is to hand it memory, and to read that. Or, with --exact, a run of any program under the exact
 * engine.
 */
#include "cli/common.h"
#include "cli/recording.h"

#include "machine/tryout.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

struct built {
    struct recording recording;
    struct launch_request request;
    struct instrumented_event event;
    char lost_text[128], clock_text[192];
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
    enum base_status reached = code ? BASE_OK : machine_try_descriptors();
    if (reached == BASE_IO)
        say("cannot try whether programs reach headroom through /proc: %s.", strerror(errno));
    else if (reached != BASE_OK)
        say("programs cannot reach headroom through /proc here; see 'headroom doctor'.");
    if (reached != BASE_OK)
        code = LAUNCH_FAILED;
    if (!code && recording->event && built->event.type != PERF_TYPE_SOFTWARE)
        recording_degraded(recording, "the code that counts hardware events has not been tested on "
                                      "hardware yet: compare the counts with those of perf stat");
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
            "built, or it was killed before it began; build it with CC='headroom cc --paths', or "
            "follow it as it is with 'headroom paths --exact -- %s'.",
            recording->command[0], recording->command[0]);
        return;
    }
    if (result->lost_threads) {
        snprintf(built->lost_text, sizeof built->lost_text,
                 "there was no memory for %llu tables of counts; their counts are missing",
                 (unsigned long long)result->lost_threads);
        recording_degraded(recording, built->lost_text);
    }
    if (result->clock.refused) {
        snprintf(built->clock_text, sizeof built->clock_text,
                 "how much of the CPU time counted code had is not known: the kernel refuses "
                 "samples of the clock (%s); see 'headroom doctor'",
                 strerror(result->clock.refused));
        recording_degraded(recording, built->clock_text);
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
            recording,
            launch_instrumented(&built.request, recording->event ? &built.event : NULL,
                                &recording->region, &recording->result, recording->error));
    if (!code) {
        code = recording_exit_code(recording);
        conclude(&built);
    }
    recording_close(recording, false);
    return code;
}

static int paths_run(const struct settings *settings, int count, char **operands)
{
    int code = check_engine(settings, "paths", count);
    if (code)
        return code;
    if (settings->caches_count > 1)
        return say_usage("paths", "--cache can be given once");
    return settings->exact ? exact_run(settings, "paths", EXACT_PATHS, operands)
                           : run_built(settings, operands);
}

/* ---- the command line --------------------------------------------------------------------------
 */

static const char *const modules_names[] = {"own", "all", NULL};

static const struct option_spec paths_options[] = {
    OPTION_OUTPUT("paths"),
    {"exact", 0, OPTION_FLAG, FIELD(exact), .value = 1,
     .help = "Observe an unmodified program with Valgrind: figures are exact and include the "
             "misses of a simulated cache, but COMMAND runs many times slower."},
    {"cache", 0, OPTION_CACHE, FIELD(caches), .argument = "SIZE[,WAYS]", .engine = ENGINE_EXACT,
     .help = "First-level data cache to simulate: SIZE bytes (suffix K, M or G) with WAYS lines "
             "per set, fully associative without WAYS, with lines of 64 bytes and LRU replacement. "
             "Default: this machine's."},
    {"no-cache", 0, OPTION_FLAG, FIELD(no_cache), .value = 1, .engine = ENGINE_EXACT,
     .help = "Do not simulate a cache: faster."},
    {"modules", 0, OPTION_CHOICE, FIELD(modules), .choices = modules_names, .argument = "own|all",
     .engine = ENGINE_EXACT,
     .help = "Whose functions to follow. own, the default: those of programs, and of libraries "
             "outside the system directories. all: those of every library."},
    {"event", 0, OPTION_TEXT, FIELD(event), .argument = "NAME", .engine = ENGINE_LIVE,
     .help = "Count event NAME instead of cycles in each path of a program built with --cycles. "
             "NAME is a libpfm4 name such as INSTRUCTIONS_RETIRED, perf::PAGE-FAULTS or "
             "perf::TASK-CLOCK (in nanoseconds). Sampled, as cycles are."},
    {"call-sites", 0, OPTION_FLAG, FIELD(call_sites), .value = 1, .engine = ENGINE_EXACT,
     .help = "Keep calls of the same function from different places in its caller apart."},
    {"no-contexts", 0, OPTION_FLAG, FIELD(no_contexts), .value = 1, .engine = ENGINE_EXACT,
     .help = "Record paths only, no calling contexts."},
    {"no-follow", 0, OPTION_FLAG, FIELD(follow), .value = 0, .engine = ENGINE_EXACT,
     .help = "Follow paths of the started program only, not of programs that it starts."},
    OPTIONS_REPORT,
    OPTION_HOT,
    OPTIONS_LAST,
};

const struct verb paths_verb = {
    .name = "paths",
    .summary = "count the paths and calling contexts that a program takes",
    .arguments = "[--] COMMAND [ARGUMENT...]",
    .description =
        "Runs COMMAND, which 'headroom cc' built with --paths or --contexts, and reports how "
        "often each path through each function was taken, from the entry or a loop's head to "
        "the exit or the next loop's head, and in which calling contexts. Programs that "
        "COMMAND starts are counted too if they were built that way; all others run as "
        "usual.\n\n"
        "Every execution is counted, by the program itself, in memory that headroom shares "
        "with it, so that the counts of a killed program are kept. Its input, output and exit "
        "status are its own; the report goes to standard error when it has ended. Options end "
        "at the first word that is not an option.\n\n"
        "With --exact COMMAND needs no preparation except symbols; compile it with -g to see "
        "source lines. Its paths are followed under Valgrind, which makes it run many times "
        "slower, and each is listed with the misses that a simulated first-level data cache "
        "has in it, excluding what it calls. Programs that COMMAND starts are followed as "
        "well." COMMAND_END,
    .exit_status = COMMAND_STATUS,
    .options = paths_options,
    .usage_code = 125,
    .operands = OPERANDS_COMMAND,
    .run = paths_run,
};
