// SPDX-License-Identifier: MIT
/*
 * A live recording, for the verbs that have one: what the agent may count on is found by trying
 * before the program starts (exit code 125 to 127).
 */
#include "cli/recording.h"

#include "machine/tryout.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALL_REGISTERS = 4,
    /* Of reuses, most are that near; each instruction costs some tenths of a microsecond. */
    AHEAD_INSTRUCTIONS = 192,
    /* Programs make one to three accesses in a nanosecond: about as many samples as the clock
       takes. */
    DEFAULT_PMU_PERIOD = 5000000,
    DEFAULT_RATE = 80, /* of long runs; shorter ones take more */
    DEFAULT_COUNT_PERIOD = 20000000,
    /* What lies farther apart is no turn at a line: see docs/sharing.md. */
    SHARING_MS = 20,
};

#define DEFAULT_BUDGET 0.03

struct live {
    struct recording recording;
    struct launch_request request;
    char registers_text[96];
};

/* ---- before the program starts --------------------------------------------------------------- */

/* The clock source, unless another was asked for or, with `auto`, the program counts its accesses,
   which the agent sees when it starts. pmu has not been tried on hardware yet, so `auto` does not
   take it. */
static int choose_source(const char *verb, const struct settings *settings,
                         struct wire_config *config)
{
    bool counts = settings->source == SOURCE_COUNT;
    config->source = counts ? WIRE_SOURCE_COUNT : WIRE_SOURCE_CLOCK;
    config->counters = counts || (settings->source == SOURCE_AUTO && config->kinds);
    if (settings->source != SOURCE_PMU)
        return 0;
    config->source = WIRE_SOURCE_PMU;
    switch (machine_try_counters(config)) {
    case BASE_OK: return 0;
    case BASE_DENIED:
        say("the kernel forbids the counters that the source 'pmu' needs; as root: sysctl "
            "kernel.perf_event_paranoid=1, or use --source clock.");
        return LAUNCH_FAILED;
    default:
        return say_usage(verb, "this machine has no usable precise memory events; use 'clock'");
    }
}

/* Names the way out of a refusal, if the exact engine is one. */
static void offer_exact(struct recording *recording)
{
    char why[LAUNCH_ERROR_BYTES];
    bool shell;
    const char *exact = find_verb(recording->verb)->every_access;
    size_t used = strlen(recording->error);
    if (exact && launch_exact_examine(recording->path, &shell, why) == LAUNCH_OK)
        snprintf(recording->error + used, sizeof recording->error - used,
                 " With %s it can be observed as it is.", exact);
}

int live_check_program(struct recording *recording, bool *shell)
{
    enum launch_outcome outcome =
        launch_find(recording->command[0], recording->path, recording->error);
    if (outcome == LAUNCH_OK)
        outcome = launch_examine(recording->path, shell, recording->error);
    if (outcome == LAUNCH_FAILED)
        offer_exact(recording);
    return recording_refuse(recording, outcome);
}

static const char *why_refused(int reason)
{
    switch (reason) {
    case EACCES:
    case EPERM: return "the kernel forbids them; as root: sysctl kernel.perf_event_paranoid=1";
    case ENOSPC:
    case EBUSY:
        return "all debug registers are in use; stop the debugger or profiler that holds them";
    case ENOSYS: return "this kernel or container has no perf events";
    default:
        return reason ? strerror(reason)
                      : "they can be armed but never fire; the hypervisor "
                        "does not support debug registers";
    }
}

/* Decides what the agent may count on, by trying it. */
static int check_machine(struct live *live)
{
    struct recording *recording = &live->recording;
    struct machine_watchpoints found;
    struct wire_config *config = &live->request.config;
    if (machine_try_watchpoints(1, &found) != BASE_OK) {
        say("cannot try the debug registers: %s; see 'headroom doctor'.", strerror(errno));
        return LAUNCH_FAILED;
    }
    if (found.registers == 0) {
        say("no watchpoint works here: %s; see 'headroom doctor', or use %s, which needs none.",
            why_refused(found.armed ? 0 : found.refused), find_verb(recording->verb)->every_access);
        return LAUNCH_FAILED;
    }
    config->registers = found.registers;
    config->watch_kernel = found.kernel_accesses;
    if (found.registers < ALL_REGISTERS) {
        snprintf(live->registers_text, sizeof live->registers_text,
                 "only %u of %d debug registers are free: fewer samples can be followed",
                 found.registers, ALL_REGISTERS);
        recording_degraded(recording, live->registers_text);
    }
    if (!found.kernel_accesses)
        recording_degraded(
            recording, "the kernel's accesses are seen only where the program itself calls read, "
                       "write and the like, so buffers of stdio may look dead; as root: sysctl "
                       "kernel.perf_event_paranoid=1");
    return 0;
}

/* One part in how many of a thread's CPU time samples may take. */
static uint32_t cost_factor(const struct settings *settings)
{
    return (uint32_t)lround(1 / (settings->budget > 0 ? settings->budget : DEFAULT_BUDGET));
}

static void fill_request(struct live *live, uint32_t kinds)
{
    static const uint32_t unit_shifts[] = {[UNIT_BYTE] = 0, [UNIT_WORD] = 3, [UNIT_LINE] = 6};
    const struct settings *settings = live->recording.settings;
    live->request = (struct launch_request){
        .path = live->recording.path,
        .command = live->recording.command,
        .note = recording_note,
        .config = {.kinds = kinds & ~(uint32_t)LIVE_SHARING,
                   .sharing_ms = kinds & LIVE_SHARING ? SHARING_MS : 0,
                   .interval_ns =
                       UINT64_C(1000000000) / (settings->rate ? settings->rate : DEFAULT_RATE),
                   .adaptive = settings->rate ? 0 : cost_factor(settings),
                   .period = settings->period                 ? settings->period
                             : settings->source == SOURCE_PMU ? DEFAULT_PMU_PERIOD
                                                              : DEFAULT_COUNT_PERIOD,
                   .fp_tolerance = (float)settings->fp_tolerance,
                   .follow = (uint32_t)settings->follow,
                   .seed = settings->seed},
    };
    if (kinds & WIRE_REUSES) {
        live->request.config.unit_shift = unit_shifts[settings->unit];
        live->request.config.ahead = AHEAD_INSTRUCTIONS;
    }
}

static int prepare(struct live *live)
{
    struct recording *recording = &live->recording;
    struct launch_request *request = &live->request;
    int code = choose_source(recording->verb, recording->settings, &request->config);
    if (!code)
        code = live_check_program(recording, &request->shell);
    if (!code)
        code = recording_check_output(recording);
    if (!code)
        code =
            recording_refuse(recording, launch_agent(request->config.agent_path, recording->error));
    if (!code)
        code = check_machine(live);
    if (!code && recording->sequel && recording->sequel->prepare)
        recording->sequel->prepare(recording);
    if (!code)
        code = recording_open(recording);
    request->log = recording->log;
    recording->config = &request->config;
    return code;
}

/* ---- after it has ended -------------------------------------------------------------- */

static const struct {
    uint32_t bit;
    const char *sentence;
} process_degraded[] = {
    {WIRE_DEGRADED_SECCOMP, "a process restricted its system calls (seccomp) and was not observed "
                            "from then on"},
    {WIRE_DEGRADED_THREADS, "more threads ran at the same time than can be observed"},
    {WIRE_DEGRADED_UNOBSERVED_CHILD, "a child executed a program that cannot be observed (static, "
                                     "32-bit or set-user-ID)"},
    {WIRE_DEGRADED_NO_MEMORY, "a process had too little memory to be observed"},
    {WIRE_DEGRADED_SIGTRAP, "a process uses SIGTRAP itself and was not observed from then on"},
    {WIRE_DEGRADED_SMALL_ALTSTACK, "a thread's alternate signal stack is too small for the agent's "
                                   "signals; it was not observed"},
    {WIRE_DEGRADED_NO_TIMER, "the kernel refused a timer for a thread; it was not observed"},
    {WIRE_DEGRADED_NO_WATCHPOINT,
     "the kernel refused watchpoints in a process, or it uses them itself"},
    {WIRE_DEGRADED_KERNEL_HIDDEN, "a process gave up privileges: the kernel's accesses to its "
                                  "memory were not seen from then on"},
    {WIRE_DEGRADED_NOT_BUILT, "a process was not built by 'headroom cc --count': none of its "
                              "accesses were sampled"},
    {WIRE_DEGRADED_NO_SHARE, "how much time went to code that does not count its accesses is "
                             "unknown: the kernel refused timers"},
    {WIRE_DEGRADED_GO, "a process runs on the Go runtime and was not observed"},
};

/* Weighted by accesses, code whose accesses are not counted is not there at all. */
static void tell_elsewhere(struct recording *recording)
{
    static char sentence[160];
    const struct launch_result *result = &recording->result;
    double share = result->ticks ? (double)result->ticks_elsewhere / (double)result->ticks : 0;
    if (result->source != WIRE_SOURCE_COUNT || share < 0.005)
        return;
    snprintf(sentence, sizeof sentence,
             "about %.0f %% of the CPU time went to code that was not built by 'headroom cc "
             "--count'; its "
             "accesses are not in this profile",
             100 * share);
    recording_degraded(recording, sentence);
}

static void tell_lost(struct recording *recording)
{
    static char sentence[224];
    unsigned long long lost = recording->result.lost_processes;
    if (!lost)
        return;
    snprintf(sentence, sizeof sentence,
             "%llu program%s that the command executed %s not observed: the agent could not start "
             "(a debugger, too little memory, no free descriptor, set-user-ID), or the program "
             "ended too soon",
             lost, lost == 1 ? "" : "s", lost == 1 ? "was" : "were");
    recording_degraded(recording, sentence);
}

void live_degraded(struct recording *recording)
{
    tell_elsewhere(recording);
    tell_lost(recording);
    for (size_t i = 0; i < BASE_COUNT(process_degraded); i++)
        if (recording->result.degraded & process_degraded[i].bit)
            recording_degraded(recording, process_degraded[i].sentence);
    if (recording->result.outlived && !recording->result.detached)
        recording_degraded(
            recording,
            "child processes outlived the command; they were observed only until it ended");
}

/* The program ran, the agent did not: probable reasons, most likely first. */
static const char *why_no_agent(const struct launch_result *result)
{
    for (size_t i = 0; i < BASE_COUNT(process_degraded); i++)
        if (result->degraded & process_degraded[i].bit)
            return process_degraded[i].sentence;
    if (result->lost_processes)
        return "it is being traced by a debugger, or the agent could not load its instruction "
               "decoder (libZydis)";
    return "the loader did not load the agent (see its message above, if any), the agent could not "
           "reach headroom through /proc, or the program ended first";
}

/* It was asked for counted samples, and nothing counts: a report would show a program without waste. */
static bool nothing_counts(const struct recording *recording)
{
    const struct launch_result *result = &recording->result;
    return result->source == WIRE_SOURCE_COUNT && !(result->degraded & WIRE_BUILT) &&
           !result->detached;
}

bool live_conclude(struct recording *recording)
{
    const struct launch_result *result = &recording->result;
    if (result->images == 0 && !result->exited && !result->detached)
        recording_degraded(recording,
                           "the program was killed before the agent could start in it: nothing "
                           "was observed");
    else if (result->images == 0) {
        say("'%s' was not observed, no profile was written: %s.", recording->command[0],
            why_no_agent(result));
        return true;
    }
    if (nothing_counts(recording)) {
        say("nothing was sampled, no profile was written: '%s' runs no program that counts its "
            "accesses; build it with CC='headroom cc --count', or leave out '--source count'.",
            recording->command[0]);
        return true;
    }
    live_degraded(recording);
    return recording_finish(recording, "live");
}

static enum launch_outcome launch(struct live *live)
{
    struct recording *recording = &live->recording;
    return recording->sequel && recording->sequel->launch
               ? recording->sequel->launch(recording, &live->request)
               : launch_record(&live->request, &recording->result, recording->error);
}

int live_run(const struct settings *settings, const char *verb, uint32_t kinds, char **command,
             const struct recording_sequel *sequel, void *sequel_state)
{
    char output[64];
    snprintf(output, sizeof output, "%s.headroom", verb);
    struct live live = {
        .recording = {.settings = settings,
                      .verb = verb,
                      .output = settings->output ? settings->output : output,
                      .command = command,
                      .log = -1,
                      .region = -1,
                      .program = &live.request,
                      .sequel = sequel,
                      .sequel_state = sequel_state},
    };
    struct recording *recording = &live.recording;
    bool keep = false;
    fill_request(&live, kinds);
    int code = prepare(&live);
    if (!code)
        code = recording_refuse(recording, launch(&live));
    if (!code) {
        code = recording_exit_code(recording);
        keep = !live_conclude(recording);
    }
    recording_close(recording, keep);
    return code;
}

int check_engine(const struct settings *settings, const char *verb, int operands)
{
    if (settings->exact && settings->live_option)
        return say_usage(verb, "--%s belongs to sampling, and --exact samples nothing",
                         settings->live_option);
    if (!settings->exact && settings->exact_option)
        return say_usage(verb, "--%s needs --exact", settings->exact_option);
    if (settings->rate && settings->budget > 0)
        return say_usage(verb, "--budget is for the adaptive rate, and --rate is a fixed one");
    if (operands == 0)
        return say_usage(verb, "no command to run was given");
    return 0;
}
