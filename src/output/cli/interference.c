// SPDX-License-Identifier: MIT
/*
 * `headroom interference`: a live recording in which executions of functions are timed instead of
 * accesses sampled. What cannot be observed (other processes' memory, context switches) is
 * missing from the report, which says so; only the agent itself must work.
 */
#include "cli/common.h"
#include "cli/recording.h"

#include "inject/inject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct interference_settings {
    const char *patterns;   /* of functions, divided by commas; NULL: chosen while it runs */
    uint64_t every, stacks; /* 0: not given */
    int patch, switches;
};

static const struct interference_settings *own(const struct settings *settings)
{
    return (const void *)settings->own;
}

enum { PATTERNS_MAX = 256 };

struct timed {
    struct recording recording;
    struct launch_spans_request request;
    struct launch_spans_result spans;
    bool keep;      /* the raw log */
    char *patterns; /* copy of --functions, cut at its commas */
    const char *functions[PATTERNS_MAX];
    char sampling_text[192], patching_text[192], more_text[128];
};

/* ---- before the program starts --------------------------------------------------------------- */

/* Commas within brackets, parentheses and template arguments belong to a name:
 * "f(int,*),std::map<int,*>::*". */
static char *pattern_end(char *at)
{
    int depth = 0;
    for (; *at; at++) {
        if (strchr("([<{", *at))
            depth++;
        else if (strchr(")]>}", *at) && depth > 0)
            depth--;
        else if (*at == ',' && depth == 0)
            break;
    }
    return at;
}

/* 0, or the exit code. */
static int split_functions(struct timed *timed)
{
    const char *text = own(timed->recording.settings)->patterns;
    size_t count = 0;
    timed->patterns = text ? strdup(text) : NULL;
    for (char *at = timed->patterns, *end; at; at = end) {
        end = pattern_end(at);
        end = *end ? (*end = 0, end + 1) : NULL;
        if (!*at)
            continue;
        if (count == PATTERNS_MAX)
            return say_usage("interference", "--functions takes %d patterns at most", PATTERNS_MAX);
        timed->functions[count++] = at;
    }
    if (text && count == 0)
        return say_usage("interference", "--functions names no function");
    timed->request.hooks.functions = timed->functions;
    timed->request.hooks.functions_count = count;
    return 0;
}

static int check_keys(const struct settings *settings)
{
    uint8_t argument;
    for (size_t i = 0; i < settings->keys.count; i++)
        if (!inject_key(settings->keys.texts[i], &argument))
            return say_usage("interference",
                             "--key does not take '%s': expected FUNCTION:N, with N from 0 to 5",
                             settings->keys.texts[i]);
    return 0;
}

static int prepare(struct timed *timed)
{
    struct recording *recording = &timed->recording;
    struct launch_request *program = &timed->request.program;
    int code = live_check_program(recording, &program->shell);
    if (!code)
        code = recording_check_output(recording);
    if (!code)
        code =
            recording_refuse(recording, launch_agent(program->config.agent_path, recording->error));
    if (!code)
        code = recording_open(recording);
    program->log = recording->log;
    recording->config = &program->config;
    return code;
}

static void fill_request(struct timed *timed)
{
    const struct settings *settings = timed->recording.settings;
    timed->request.program = (struct launch_request){
        .path = timed->recording.path,
        .command = timed->recording.command,
        .note = recording_note,
        .config = {.follow = (uint32_t)settings->follow},
    };
    timed->request.hooks.no_patch = !own(settings)->patch;
    timed->request.hooks.every = (uint32_t)own(settings)->every;
    timed->request.stack_period = (uint32_t)own(settings)->stacks;
    timed->request.no_switches = !own(settings)->switches;
    timed->request.hooks.keys = settings->keys.texts;
    timed->request.hooks.keys_count = settings->keys.count;
}

/* ---- after it has ended ------------------------------------------------------------------------
 */

static const char *permission(int number)
{
    return number == EACCES || number == EPERM
               ? "the kernel forbids it; as root: sysctl kernel.perf_event_paranoid=1"
               : strerror(number);
}

static void collect_degraded(struct timed *timed)
{
    struct recording *recording = &timed->recording;
    const struct launch_spans_result *spans = &timed->spans;
    if (spans->hooks.sampling_refused) {
        snprintf(timed->sampling_text, sizeof timed->sampling_text,
                 "no functions of the program were chosen automatically (%s): name them with "
                 "--functions",
                 permission(spans->hooks.sampling_refused));
        recording_degraded(recording, timed->sampling_text);
    }
    if (spans->hooks.patching_refused) {
        snprintf(timed->patching_text, sizeof timed->patching_text,
                 "functions of a process could not be hooked: its memory cannot be written (%s)",
                 strerror(spans->hooks.patching_refused));
        recording_degraded(recording, timed->patching_text);
    }
    if (spans->hooks.unhooked_more) {
        snprintf(timed->more_text, sizeof timed->more_text,
                 "%llu more functions were not hooked and are not listed",
                 (unsigned long long)spans->hooks.unhooked_more);
        recording_degraded(recording, timed->more_text);
    }
}

static int record(struct timed *timed)
{
    struct recording *recording = &timed->recording;
    int code = prepare(timed);
    if (code)
        return code;
    code = recording_refuse(recording, launch_spans(&timed->request, &timed->spans,
                                                    &recording->result, recording->error));
    if (code)
        return code;
    recording->spans = &timed->spans;
    recording->region = timed->spans.region;
    code = recording_exit_code(recording);
    collect_degraded(timed);
    timed->keep = !live_conclude(recording);
    return code;
}

/* ---- beside another recording ------------------------------------------------------------------ */

static const struct interference_settings own_defaults = {.patch = 1, .switches = 1};

/* A further run, and what is launched for it. */
struct timed_run {
    struct further_run run; /* the first member */
    struct timed *timed;
};

static enum launch_outcome launch_further(struct further_run *run)
{
    struct timed *timed = ((struct timed_run *)run)->timed;
    return launch_spans(&timed->request, &timed->spans, run->result, run->error);
}

bool spans_further(const struct recording *first, further_record *record, void *context,
                   const char *place, char *error)
{
    struct settings settings = *first->settings;
    struct timed timed = {.recording = {.settings = &settings,
                                        .verb = "interference",
                                        .output = first->written,
                                        .command = first->command,
                                        .log = -1,
                                        .region = -1}};
    struct recording *recording = &timed.recording;
    struct launch_request *program = &timed.request.program;
    struct timed_run further = {
        {program, &recording->result, recording->error, context, launch_further}, &timed};
    memcpy(settings.own, &own_defaults, sizeof own_defaults);
    fill_request(&timed);
    strcpy(recording->path, first->path);
    strcpy(program->config.agent_path, first->program->config.agent_path);
    program->shell = first->program->shell;
    bool good = launch_log_create(recording->output, recording->log_path, &recording->log,
                                  recording->error) == LAUNCH_OK;
    program->log = recording->log;
    recording->config = &program->config;
    good = good && record(&further.run) == LAUNCH_OK;
    if (good) {
        recording->spans = &timed.spans;
        recording->region = timed.spans.region;
        collect_degraded(&timed);
        good = recording_import(recording, "live", place) == BASE_OK;
    }
    if (!good)
        snprintf(error, LAUNCH_ERROR_BYTES, "%s", recording->error);
    recording_close(recording, false);
    launch_spans_free(&timed.spans);
    return good;
}

/* ---- alone --------------------------------------------------------------------------------------- */

static int interference_run(const struct settings *settings, int count, char **operands)
{
    struct timed timed = {
        .recording = {.settings = settings,
                      .verb = "interference",
                      .output = settings->output ? settings->output : "interference.headroom",
                      .command = operands,
                      .log = -1,
                      .region = -1},
    };
    if (count == 0)
        return say_usage("interference", "no command to run was given");
    fill_request(&timed);
    int code = check_keys(settings);
    if (!code)
        code = split_functions(&timed);
    if (!code)
        code = record(&timed);
    recording_close(&timed.recording, timed.keep);
    launch_spans_free(&timed.spans);
    free(timed.patterns);
    return code;
}

/* ---- the command line --------------------------------------------------------------------------
 */

static const struct option_spec interference_options[] = {
    OPTION_OUTPUT("interference"),
    {"functions", 0, OPTION_TEXT, OWN(interference_settings, patterns), .argument = "GLOB,...",
     .help =
         "Time the functions of the program and its libraries whose names match GLOB, besides "
         "library functions that wait, do input and output or allocate. Without this option, "
         "those that call functions that take locks are timed from the start, and those that take "
         "more than 1 % of the time are found while COMMAND runs."},
    {"every", 0, OPTION_NUMBER, OWN(interference_settings, every), .low = 1, .high = 1e9,
     .argument = "N",
     .help =
         "Time one execution in N. Default: every execution, or fewer once that costs too much."},
    {"no-patch", 0, OPTION_FLAG, OWN(interference_settings, patch), .value = 0,
     .help = "Do not change the program's code: time only calls from one module to another, and "
             "functions that were compiled to be timed."},
    {"stacks", 0, OPTION_NUMBER, OWN(interference_settings, stacks), .low = 1, .high = 4e9,
     .argument = "N",
     .help = "Take the call stack of one in N executions of a span, including the first. Default: "
             "10000."},
    {"no-switches", 0, OPTION_FLAG, OWN(interference_settings, switches), .value = 0,
     .help = "Do not record context switches: preemption then counts as slowness, and whether a "
             "thread slept is unknown."},
    OPTION_FOLLOW,
    OPTIONS_REPORT,
    OPTIONS_SPANS,
    OPTIONS_LAST,
};

const struct verb interference_verb = {
    .name = "interference",
    .summary = "find the code that loses time to other threads",
    .arguments = "[--] COMMAND [ARGUMENT...]",
    .description =
        "Runs COMMAND and times executions of functions: those that take most of its time, and "
        "those of libraries that lock, wait, do input and output or allocate. An execution "
        "that takes longer than the fastest one of the same work was held up, mostly by "
        "another thread. The report ranks spans (a function's executions with one key, or a "
        "repetitive sequence of calls) by the time lost in this way, and "
        "states for each what the evidence says about the cause: locks and who held them, "
        "waits for other threads, input and output, the allocator, preemption, work that "
        "varies with an argument, or an unknown cause.\n\n"
        "COMMAND needs no preparation; compile it with -g to see source lines. It must be a "
        "dynamically linked x86-64 program, or a script run by one. Run at most one thread per "
        "processor: otherwise threads also lose time waiting for a processor. Its input, "
        "output and exit status are its own; the report goes to standard error when it has "
        "ended. Options end at the first word that is not an option." COMMAND_END,
    .exit_status = COMMAND_STATUS,
    .options = interference_options,
    .usage_code = 125,
    .operands = OPERANDS_COMMAND,
    .run = interference_run,
    .own_defaults = &own_defaults,
    .own_bytes = sizeof own_defaults,
};
