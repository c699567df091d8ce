// SPDX-License-Identifier: MIT
/* A recording under the exact engine, for the verbs that have one. */
#include "cli/recording.h"

#include "pathgraph/pathgraph.h"
#include "machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KINDS_ALL = WIRE_DEAD | WIRE_SILENT | WIRE_LOAD };

struct exact {
    struct recording recording;
    struct launch_exact_engine engine;
    struct launch_exact_request request;
    char lost_text[128], output[64];
    struct cache_shape cache; /* paths */
};

/* ---- before the program starts --------------------------------------------------------------- */

/* Libraries of the system are other people's; their cost is reported as a whole. */
static bool is_system_library(const char *path)
{
    const char *base = strrchr(path, '/'), *suffix = base ? strstr(base, ".so") : NULL;
    bool library = suffix && (suffix[3] == 0 || suffix[3] == '.');
    return library && (strncmp(path, "/lib", 4) == 0 || strncmp(path, "/usr/lib", 8) == 0);
}

static void write_graphs(void *context, const char *module, const char *answer)
{
    const struct exact *exact = context;
    bool wanted =
        module && (exact->recording.settings->modules == MODULES_ALL || !is_system_library(module));
    if (pathgraph_write(wanted ? module : NULL, answer) != BASE_OK)
        pathgraph_write(NULL, answer); /* the engine waits */
}

/* Given, or the first-level data cache of this machine, or else what most have. */
static void choose_cache(struct exact *exact)
{
    const struct settings *settings = exact->recording.settings;
    struct machine_cache first;
    exact->cache = (struct cache_shape){.bytes = 32768, .ways = 8};
    if (settings->caches_count)
        exact->cache = settings->caches[0];
    else if (machine_caches("", &first, 1) && first.level == 1 &&
             first.line_bytes == CACHE_LINE_BYTES &&
             cache_shape_valid(&(struct cache_shape){first.bytes, first.ways}))
        exact->cache = (struct cache_shape){first.bytes, first.ways};
    exact->request.caches = &exact->cache;
    exact->request.caches_count = settings->no_cache ? 0 : 1;
}

static void fill_request(struct exact *exact, enum exact_subject subject)
{
    static const enum launch_reuse units[] = {
        [UNIT_BYTE] = LAUNCH_REUSE_BYTE,
        [UNIT_WORD] = LAUNCH_REUSE_WORD,
        [UNIT_LINE] = LAUNCH_REUSE_LINE,
    };
    const struct settings *settings = exact->recording.settings;
    exact->request = (struct launch_exact_request){
        .program = {.path = exact->recording.path,
                    .command = exact->recording.command,
                    .note = recording_note,
                    .config = {.kinds = subject != EXACT_KINDS ? 0
                                        : settings->kinds      ? settings->kinds
                                                               : KINDS_ALL,
                               .fp_tolerance = (float)settings->fp_tolerance,
                               .follow = settings->follow && !settings->trace}},
        .engine = &exact->engine,
        .reuse = subject == EXACT_REUSE ? units[settings->unit] : LAUNCH_REUSE_NONE,
        .stack = settings->stack,
        .share = settings->share,
        .seed = settings->seed,
        .jobs = settings->jobs,
        .caches = settings->caches,
        .caches_count = settings->caches_count,
        .trace = settings->trace,
        .trace_values = true,
        .paths = subject == EXACT_PATHS,
        .sharing = subject == EXACT_SHARING,
        .contexts = !settings->no_contexts,
        .call_sites = settings->call_sites,
        .loops = settings->loops,
        .loops_count = settings->loops_count,
        .levels = settings->levels,
        .levels_count = settings->levels_count,
        .graphs = write_graphs,
    };
    if (exact->request.paths)
        choose_cache(exact);
    exact->request.program.context = exact;
}

/* Can the engine run the program, whose path is known? */
static enum launch_outcome find_engine(struct exact *exact)
{
    struct recording *recording = &exact->recording;
    enum launch_outcome outcome =
        launch_exact_examine(recording->path, &exact->request.program.shell, recording->error);
    if (outcome == LAUNCH_OK)
        outcome = launch_exact_find(&exact->engine, recording->error);
    return outcome;
}

static int check_program(struct exact *exact)
{
    struct recording *recording = &exact->recording;
    enum launch_outcome outcome =
        launch_find(recording->command[0], recording->path, recording->error);
    if (outcome == LAUNCH_OK)
        outcome = find_engine(exact);
    return recording_refuse(recording, outcome);
}

/* Opened by the engine again; a FIFO not here, because opening it waits for its reader. */
static int check_trace(const struct exact *exact)
{
    const char *path = exact->recording.settings->trace;
    struct stat status;
    if (!path || (stat(path, &status) == 0 && S_ISFIFO(status.st_mode)))
        return 0;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
        say("cannot write the trace to '%s': %s.", path, strerror(errno));
        return LAUNCH_FAILED;
    }
    close(file);
    return 0;
}

static int prepare(struct exact *exact)
{
    struct recording *recording = &exact->recording;
    const struct settings *settings = recording->settings;
    if (settings->trace && settings->follow)
        recording_degraded(recording, "with --trace children and the programs that the command "
                                      "executes are not observed");
    int code = check_program(exact);
    if (!code)
        code = recording_check_output(recording);
    if (!code)
        code = check_trace(exact);
    if (!code)
        code = recording_open(recording);
    exact->request.program.log = recording->log;
    recording->config = &exact->request.program.config;
    return code;
}

/* ---- after it has ended -------------------------------------------------------------- */

static void collect_degraded(struct exact *exact)
{
    struct recording *recording = &exact->recording;
    const struct launch_result *result = &recording->result;
    if (result->degraded & WIRE_DEGRADED_UNOBSERVED_CHILD)
        recording_degraded(recording, "a child executed a program that the exact engine cannot "
                                      "observe (32-bit, or as another user)");
    if (result->outlived)
        recording_degraded(recording, "child processes outlived the command; what they did is "
                                      "missing");
    if (result->lost_processes) {
        snprintf(exact->lost_text, sizeof exact->lost_text,
                 "%llu of %llu processes were killed before their counts were written; what they "
                 "did is missing",
                 (unsigned long long)result->lost_processes, (unsigned long long)result->images);
        recording_degraded(recording, exact->lost_text);
    }
}

static const char *why_nothing(const struct launch_result *result, char *text, size_t bytes)
{
    if (result->message[0] || result->log_truncated)
        return result->log_truncated ? "the raw log could not be written or read" : result->message;
    if (result->exited)
        return "the engine ended without a message";
    snprintf(text, bytes,
             "the program was killed (signal %d, %s), and counts are written at its end",
             result->signal, strsignal(result->signal));
    return text;
}

/* False: the raw log must stay. */
static bool conclude(struct exact *exact)
{
    struct recording *recording = &exact->recording;
    const struct launch_result *result = &recording->result;
    char text[160];
    if (result->detached) {
        say("asked a second time to end, and '%s' goes on; what it did is written to '%s' when it "
            "ends: 'headroom report' reads it then.",
            recording->command[0], recording->log_path);
        return false;
    }
    if (result->counted == 0) {
        say("nothing was recorded, no profile was written: %s.",
            why_nothing(result, text, sizeof text));
        return true;
    }
    if (result->message[0])
        say("%s.", result->message);
    collect_degraded(exact);
    return recording_finish(recording, "exact");
}

/* What can be refused before; nothing is said. */
static enum launch_outcome find_all(struct exact *exact)
{
    struct recording *recording = &exact->recording;
    enum launch_outcome outcome = find_engine(exact);
    if (outcome == LAUNCH_OK)
        outcome = launch_log_create(recording->output, recording->log_path, &recording->log,
                                    recording->error);
    exact->request.program.log = recording->log;
    recording->config = &exact->request.program.config;
    return outcome;
}

/* A further run, and what is launched for it. */
struct exact_run {
    struct further_run run; /* the first member */
    struct exact *exact;
};

static enum launch_outcome launch_further(struct further_run *run)
{
    const struct exact *exact = ((struct exact_run *)run)->exact;
    return launch_exact(&exact->request, run->result, run->error);
}

bool exact_further(const struct recording *first, const struct settings *settings, const char *verb,
                   enum exact_subject subject, further_record *record, void *context,
                   const char *place, char *error)
{
    struct exact exact = {.recording = {.settings = settings,
                                        .verb = verb,
                                        .output = first->written,
                                        .command = first->command,
                                        .log = -1,
                                        .region = -1}};
    struct recording *recording = &exact.recording;
    strcpy(recording->path, first->path);
    fill_request(&exact, subject);
    struct exact_run further = {
        {&exact.request.program, &recording->result, recording->error, context, launch_further},
        &exact};
    bool good = find_all(&exact) == LAUNCH_OK && record(&further.run) == LAUNCH_OK;
    if (good && (recording->result.detached || recording->result.counted == 0)) {
        char text[160];
        snprintf(recording->error, sizeof recording->error, "%s",
                 why_nothing(&recording->result, text, sizeof text));
        good = false;
    }
    if (good) {
        collect_degraded(&exact);
        good = recording_import(recording, "exact", place) == BASE_OK;
    }
    if (!good)
        snprintf(error, LAUNCH_ERROR_BYTES, "%s", recording->error);
    recording_close(recording, false);
    return good;
}

int exact_run(const struct settings *settings, const char *verb, enum exact_subject subject,
              char **command)
{
    struct exact exact = {
        .recording =
            {.settings = settings, .verb = verb, .command = command, .log = -1, .region = -1},
    };
    struct recording *recording = &exact.recording;
    snprintf(exact.output, sizeof exact.output, "%s.headroom", verb);
    recording->output = settings->output ? settings->output : exact.output;
    fill_request(&exact, subject);
    bool keep = false;
    int code = prepare(&exact);
    if (!code)
        code = recording_refuse(recording,
                                launch_exact(&exact.request, &recording->result, recording->error));
    if (!code) {
        code = recording_exit_code(recording);
        keep = !conclude(&exact);
    }
    recording_close(recording, keep);
    return code;
}
