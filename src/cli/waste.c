// SPDX-License-Identifier: MIT
/*
 * `headroom waste`: everything that can be refused is refused before the program starts
 * (exit code 125 to 127); from then on the exit status is the program's, whatever happens
 * to the recording.
 */
#include "cli/verbs.h"

#include "import/import.h"
#include "launch/launch.h"
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEGRADED_AT_MOST = 24, ALL_REGISTERS = 4, KINDS_ALL = WIRE_DEAD | WIRE_SILENT | WIRE_LOAD };

struct recording {
    const struct settings *settings;
    const char *output;
    char *const *command;
    struct launch_request request;
    struct launch_result result;
    char path[LAUNCH_PATH_BYTES], log_path[LAUNCH_PATH_BYTES];
    int log;
    FILE *report; /* from --report, or NULL */
    const char *degraded[DEGRADED_AT_MOST + 1];
    char registers_text[96];
    size_t degraded_count;
    char error[LAUNCH_ERROR_BYTES];
};

static void note_degraded(struct recording *recording, const char *sentence)
{
    if (recording->degraded_count < DEGRADED_AT_MOST)
        recording->degraded[recording->degraded_count++] = sentence;
}

static void on_note(void *context, const char *sentence)
{
    (void)context;
    say("%s", sentence);
}

/* ---- before the program starts --------------------------------------------------------------- */

/* The clock source, unless another was asked for: pmu has not been tried on hardware yet, so
   `auto` does not take it. */
static int choose_source(const struct settings *settings, struct wire_config *config)
{
    config->source = WIRE_SOURCE_CLOCK;
    if (settings->source == SOURCE_COUNT)
        return say_usage("waste", "the source 'count' comes with a later version; take 'clock'");
    if (settings->source != SOURCE_PMU)
        return 0;
    config->source = WIRE_SOURCE_PMU;
    switch (launch_try_counters(config)) {
    case BASE_OK: return 0;
    case BASE_DENIED:
        say("the kernel forbids the counters that the source 'pmu' needs; as root: sysctl "
            "kernel.perf_event_paranoid=1, or take --source clock.");
        return LAUNCH_FAILED;
    default:
        return say_usage("waste", "this machine has no usable precise memory events; take 'clock'");
    }
}

static int check_program(struct recording *recording)
{
    enum launch_outcome outcome =
        launch_find(recording->command[0], recording->path, recording->error);
    if (outcome == LAUNCH_OK)
        outcome = launch_examine(recording->path, &recording->request.shell, recording->error);
    if (outcome != LAUNCH_OK)
        say("%s", recording->error);
    return (int)outcome;
}

static int check_output(struct recording *recording)
{
    if (profile_output_check(recording->output, recording->error, sizeof recording->error) !=
        BASE_OK) {
        say("%s", recording->error);
        return LAUNCH_FAILED;
    }
    return 0;
}

/* Not truncated before there is something to put into it; may be a pipe or /dev/stdout. */
static int open_report(struct recording *recording)
{
    const char *path = recording->settings->report;
    if (!path)
        return 0;
    recording->report = fopen(path, "ae");
    if (!recording->report) {
        say("cannot write the report to '%s': %s.", path, strerror(errno));
        return LAUNCH_FAILED;
    }
    return 0;
}

static const char *why_refused(int reason)
{
    switch (reason) {
    case EACCES:
    case EPERM: return "the kernel forbids them; as root: sysctl kernel.perf_event_paranoid=1";
    case ENOSPC:
    case EBUSY:
        return "all debug registers are taken; end the debugger or profiler that holds them";
    case ENOSYS: return "this kernel or container has no perf events";
    default:
        return reason ? strerror(reason)
                      : "they can be armed but never fire; the hypervisor "
                        "does not support debug registers";
    }
}

/* Decides what the agent may count on, by trying it. */
static int check_machine(struct recording *recording)
{
    struct launch_watchpoints found;
    struct wire_config *config = &recording->request.config;
    if (launch_try_watchpoints(1, &found) != BASE_OK) {
        say("cannot try the debug registers; see 'headroom doctor'.");
        return LAUNCH_FAILED;
    }
    if (found.registers == 0) {
        say("no watchpoint works here: %s; see 'headroom doctor'.",
            why_refused(found.armed ? 0 : found.refused));
        return LAUNCH_FAILED;
    }
    config->registers = found.registers;
    config->watch_kernel = found.kernel_accesses;
    if (found.registers < ALL_REGISTERS) {
        snprintf(recording->registers_text, sizeof recording->registers_text,
                 "only %u of %d debug registers are free: fewer samples can be watched",
                 found.registers, ALL_REGISTERS);
        note_degraded(recording, recording->registers_text);
    }
    if (!found.kernel_accesses)
        note_degraded(recording,
                      "the kernel's accesses are seen only where the program itself calls read, "
                      "write and the like, so buffers of stdio may look dead; as root: sysctl "
                      "kernel.perf_event_paranoid=1");
    if (recording->settings->debuginfod && !getenv("DEBUGINFOD_URLS"))
        note_degraded(recording, "DEBUGINFOD_URLS is not set, so --debuginfod finds nothing");
    return 0;
}

static int prepare(struct recording *recording)
{
    const struct settings *settings = recording->settings;
    struct launch_request *request = &recording->request;
    *request = (struct launch_request){
        .path = recording->path,
        .command = recording->command,
        .note = on_note,
        .config = {.kinds = settings->kinds ? settings->kinds : KINDS_ALL,
                   .interval_ns = UINT64_C(1000000000) / settings->rate,
                   .period = settings->period,
                   .fp_tolerance = (float)settings->fp_tolerance,
                   .follow = (uint32_t)settings->follow,
                   .seed = settings->seed},
    };
    int code = choose_source(settings, &request->config);
    if (!code)
        code = check_program(recording);
    if (!code)
        code = check_output(recording);
    if (code)
        return code;
    if (launch_agent(request->config.agent_path, recording->error) != LAUNCH_OK) {
        say("%s", recording->error);
        return LAUNCH_FAILED;
    }
    code = check_machine(recording);
    if (!code)
        code = open_report(recording);
    if (code)
        return code;
    if (launch_log_create(recording->output, recording->log_path, &recording->log,
                          recording->error) != LAUNCH_OK) {
        say("%s", recording->error);
        return LAUNCH_FAILED;
    }
    request->log = recording->log;
    /* Said now, when nothing can be refused any more, and again in every report. */
    for (size_t i = 0; i < recording->degraded_count && !settings->quiet; i++)
        say("%s", recording->degraded[i]);
    return 0;
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
    {WIRE_DEGRADED_NO_TIMER, "the kernel refused a thread its ticks; it was not observed"},
    {WIRE_DEGRADED_NO_WATCHPOINT, "the kernel refused watchpoints to a process, or it uses them "
                                  "itself"},
    {WIRE_DEGRADED_KERNEL_HIDDEN, "a process gave up privileges: the kernel's accesses to its "
                                  "memory were not seen from then on"},
    {WIRE_DEGRADED_GO, "a process runs on the Go runtime and was not observed"},
};

static void collect_degraded(struct recording *recording)
{
    for (size_t i = 0; i < BASE_COUNT(process_degraded); i++)
        if (recording->result.degraded & process_degraded[i].bit)
            note_degraded(recording, process_degraded[i].sentence);
    if (recording->result.outlived)
        note_degraded(recording, "child processes outlived the command; they were observed up to "
                                 "its end only");
}

/* The program ran, the agent did not: probable reasons, most telling first. */
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

static volatile sig_atomic_t interrupt_bytes;
static char interrupt_text[LAUNCH_PATH_BYTES + 256];

/* Whoever interrupts the import keeps the recording. */
static void on_interrupt(int signal)
{
    ssize_t ignored = write(STDERR_FILENO, interrupt_text, (size_t)interrupt_bytes);
    (void)ignored;
    _exit(128 + signal);
}

static void interruptible(const char *log_path)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    interrupt_bytes = snprintf(interrupt_text, sizeof interrupt_text,
                               "\nheadroom: interrupted; the recording is kept in '%s', "
                               "'headroom report' reads it.\n",
                               log_path);
    for (size_t i = 0; i < BASE_COUNT(numbers); i++) {
        struct sigaction old, action = {.sa_handler = on_interrupt};
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    }
}

static bool import_recording(struct recording *recording)
{
    const struct launch_result *result = &recording->result;
    struct import_run run = {
        .verb = "waste",
        .engine = "live",
        .command = recording->command,
        .exited = result->exited,
        .exit_code = result->exited ? result->exit_code : -1,
        .signal = result->exited ? -1 : result->signal,
        .wall_s = result->wall_s,
        .cpu_s = result->cpu_s,
        .start_ns = result->start_ns,
        .degraded = recording->degraded,
        .corrupt_records = result->corrupt_records,
        .lost_threads = result->lost_threads,
        .lost_processes = result->lost_processes,
        .log_truncated = result->log_truncated,
    };
    struct binary_options symbols = symbol_options(recording->settings);
    struct progress progress;
    interruptible(recording->log_path);
    progress_begin(&progress, recording->settings->quiet);
    enum base_status status =
        import_log(recording->log_path, &run, &symbols, recording->output, progress_step, &progress,
                   recording->error, sizeof recording->error);
    progress_end(&progress);
    if (status != BASE_OK)
        say("%s The recording is kept in '%s'; 'headroom report' reads it.", recording->error,
            recording->log_path);
    return status == BASE_OK;
}

static void report_recording(struct recording *recording)
{
    const struct settings *settings = recording->settings;
    if (settings->quiet && !recording->report)
        return;
    FILE *out = recording->report ? recording->report : stderr;
    if (recording->report && ftruncate(fileno(out), 0) != 0 && errno != EINVAL) {
        say("cannot write the report to '%s': %s.", settings->report, strerror(errno));
        return;
    }
    enum base_status status = show_profile(recording->output, recording->output, settings, out,
                                           fileno(out), recording->error, sizeof recording->error);
    if (status != BASE_OK)
        say("%s", recording->error);
    else if (fflush(out) != 0 && recording->report)
        say("cannot write the report to '%s': %s.", settings->report, strerror(errno));
}

static int exit_code(const struct launch_result *result)
{
    return result->exited ? result->exit_code : 128 + result->signal;
}

/* False: the raw log must stay. */
static bool conclude(struct recording *recording)
{
    if (recording->result.images == 0 && !recording->result.exited)
        note_degraded(recording,
                      "the program was killed before the agent could start in it: nothing "
                      "was observed");
    else if (recording->result.images == 0) {
        say("'%s' was not observed, no profile was written: %s.", recording->command[0],
            why_no_agent(&recording->result));
        return true;
    }
    collect_degraded(recording);
    if (!import_recording(recording))
        return false;
    report_recording(recording);
    return true;
}

int waste_run(const struct settings *settings, int count, char **operands)
{
    struct recording recording = {
        .settings = settings,
        .output = settings->output ? settings->output : "waste.headroom",
        .command = operands,
        .log = -1,
    };
    if (count == 0)
        return say_usage("waste", "no command to run was given");
    bool keep = false;
    int code = prepare(&recording);
    if (code)
        goto cleanup;
    code = (int)launch_record(&recording.request, &recording.result, recording.error);
    if (code) {
        say("%s", recording.error);
        goto cleanup;
    }
    code = exit_code(&recording.result);
    keep = !conclude(&recording);
cleanup:
    if (recording.log >= 0) {
        close(recording.log);
        if (!keep)
            unlink(recording.log_path);
    }
    if (recording.report)
        fclose(recording.report);
    return code;
}
