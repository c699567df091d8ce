// SPDX-License-Identifier: MIT
/*
 * What all recordings share, see recording.h. Everything that can be refused is refused before
 * the program starts; from then on the exit status is the program's, whatever happens to the
 * recording.
 */
#include "cli/recording.h"

#include "import/import.h"
#include "profile/profile.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void recording_degraded(struct recording *recording, const char *sentence)
{
    if (recording->degraded_count < DEGRADED_MAX)
        recording->degraded[recording->degraded_count++] = sentence;
}

void recording_note(void *context, const char *sentence)
{
    (void)context;
    say("%s", sentence);
}

/* ---- before the program starts --------------------------------------------------------------- */

int recording_refuse(const struct recording *recording, enum launch_outcome outcome)
{
    if (outcome != LAUNCH_OK)
        say("%s", recording->error);
    return (int)outcome;
}

int recording_check_output(struct recording *recording)
{
    if (profile_output_check(recording->output, recording->error, sizeof recording->error) !=
        BASE_OK) {
        say("%s", recording->error);
        return LAUNCH_FAILED;
    }
    places_begin(&recording->places, recording->output);
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

int recording_open(struct recording *recording)
{
    int code = open_report(recording);
    if (code)
        return code;
    enum launch_outcome outcome = recording->built
                                      ? LAUNCH_OK
                                      : launch_log_create(recording->output, recording->log_path,
                                                          &recording->log, recording->error);
    if (outcome != LAUNCH_OK)
        return recording_refuse(recording, outcome);
    if (recording->settings->debuginfod == DEBUGINFOD_DEMANDED && !getenv("DEBUGINFOD_URLS"))
        recording_degraded(recording, "DEBUGINFOD_URLS is not set, so --debuginfod finds nothing");
    /* Said now, when nothing can be refused any more, and again in every report. */
    for (size_t i = 0; i < recording->degraded_count && !recording->settings->quiet; i++)
        say("%s", recording->degraded[i]);
    return 0;
}

/* ---- after it has ended -------------------------------------------------------------- */

static volatile sig_atomic_t interrupt_bytes, lives_in_memory;
static char interrupt_text[LAUNCH_PATH_BYTES + 256];

/* Whoever interrupts the import keeps the recording, or is asked whether that is meant. */
static void on_interrupt(int signal)
{
    ssize_t ignored = write(STDERR_FILENO, interrupt_text, (size_t)interrupt_bytes);
    (void)ignored;
    if (!lives_in_memory)
        _exit(128 + signal);
    lives_in_memory = 0;
    interrupt_bytes = 0;
}

/* path: where the recording is kept; NULL: in memory only. */
static void interruptible(const char *path)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    lives_in_memory = !path;
    interrupt_bytes =
        path ? snprintf(interrupt_text, sizeof interrupt_text,
                        "\nheadroom: interrupted; the recording is kept in '%s', "
                        "'headroom report' reads it.\n",
                        path)
             : snprintf(interrupt_text, sizeof interrupt_text,
                        "\nheadroom: writing the profile; interrupt again to abandon it.\n");
    launch_signals_release();
    for (size_t i = 0; i < BASE_COUNT(numbers); i++) {
        struct sigaction old, action = {.sa_handler = on_interrupt};
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static volatile sig_atomic_t signalled;

static void on_note(int signal)
{
    (void)signal;
    signalled = 1;
}

void recording_note_signals(void)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    launch_signals_release();
    for (size_t i = 0; i < BASE_COUNT(numbers); i++) {
        struct sigaction old, action = {.sa_handler = on_note, .sa_flags = SA_RESTART};
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

bool recording_signalled(void)
{
    return signalled;
}

/* A log without a name gets one, in another directory: until there is a profile it is all there is.
 */
static bool name_log(struct recording *recording)
{
    if (places_name(recording->log, recording->log_path))
        return true;
    if (!places_rescue(&recording->places, recording->log, recording->log_path, recording->rescued))
        return false;
    strcpy(recording->log_path, recording->rescued);
    return true;
}

/* In a file as well: should the import come to nothing, `headroom report` has all that it needs. */
static bool save_spans(struct recording *recording)
{
    struct launch_spans_result *spans = recording->spans;
    char saved[LAUNCH_PATH_BYTES];
    if (!spans)
        return true;
    if (!launch_spans_save(spans->region, recording->log_path, saved))
        return false;
    /* Under another name than before, if the log has been renamed meanwhile. */
    if (spans->saved[0] && !same_file(spans->saved, saved))
        unlink(spans->saved);
    strcpy(spans->saved, saved);
    return true;
}

struct importing {
    struct import_run run;
    struct import_clock_tick *clock;
    struct import_jit jits[LAUNCH_JITS];
    struct binary_options symbols;
    struct progress progress;
    struct wire_config config;
};

static enum base_status import_timed(struct recording *recording, struct importing *importing,
                                     const char *place)
{
    const struct launch_spans_result *spans = recording->spans;
    struct import_skip *skips = calloc(spans->hooks.unhooked_count + 1, sizeof *skips);
    enum base_status status = BASE_NO_MEMORY;
    for (size_t i = 0; skips && i < spans->hooks.unhooked_count; i++)
        skips[i] =
            (struct import_skip){spans->hooks.unhooked[i].name, spans->hooks.unhooked[i].module,
                                 spans->hooks.unhooked[i].reason};
    snprintf(recording->error, sizeof recording->error,
             "cannot import what was timed: out of memory.");
    if (skips)
        status =
            import_spans(recording->log_path, spans->region, &importing->run, skips,
                         spans->hooks.unhooked_count, &importing->symbols, place, progress_step,
                         &importing->progress, recording->error, sizeof recording->error);
    free(skips);
    return status;
}

static enum base_status import_to(struct recording *recording, struct importing *importing,
                                  const char *place)
{
    enum base_status status;
    progress_begin(&importing->progress, recording->settings->quiet);
    if (recording->built)
        status = import_instrumented(recording->region, &importing->run, &importing->symbols, place,
                                     progress_step, &importing->progress, recording->error,
                                     sizeof recording->error);
    else if (recording->spans)
        status = import_timed(recording, importing, place);
    else
        status = import_log(recording->log_path, &importing->run, &importing->symbols, place,
                            progress_step, &importing->progress, recording->error,
                            sizeof recording->error);
    progress_end(&importing->progress);
    return status;
}

static bool is_of_place(enum base_status status)
{
    return status == BASE_IO || status == BASE_DENIED || status == BASE_NOT_FOUND;
}

/* Where it was to be, or else where it can be. The error that is left is that of the first place.
 */
static enum base_status import_somewhere(struct recording *recording, struct importing *importing)
{
    static char first[LAUNCH_ERROR_BYTES];
    enum base_status status = BASE_IO;
    while (is_of_place(status) &&
           places_next(&recording->places, recording->output, recording->written)) {
        status =
            profile_output_check(recording->written, recording->error, sizeof recording->error);
        if (status == BASE_OK)
            status = import_to(recording, importing, recording->written);
        if (is_of_place(status) && !first[0])
            snprintf(first, sizeof first, "%s", recording->error);
    }
    first[strlen(first) > 0 ? strlen(first) - 1 : 0] = 0;
    if (status == BASE_OK && first[0])
        say("%s; the profile is in '%s' instead.", first, recording->written);
    else if (is_of_place(status))
        snprintf(recording->error, sizeof recording->error, "%s.", first);
    return status;
}

static struct import_run describe_run(const struct recording *recording, const char *engine)
{
    const struct launch_result *result = &recording->result;
    return (struct import_run){
        .verb = recording->verb,
        .engine = engine,
        .command = recording->command,
        .exited = result->exited,
        .exit_code = result->exited ? result->exit_code : -1,
        .signal = result->exited || result->detached ? -1 : result->signal,
        .wall_s = result->wall_s,
        .cpu_s = result->cpu_s,
        .system_s = result->system_s,
        .start_ns = result->start_ns,
        .degraded = recording->degraded,
        .corrupt_records = result->corrupt_records,
        .lost_threads = result->lost_threads,
        .short_threads = result->short_threads,
        .lost_processes = result->lost_processes,
        .log_truncated = result->log_truncated,
        .outlived = result->outlived || result->detached,
        .accesses_per_ns = recording->settings->access_rate,
        .event = recording->event,
        .lost_events = result->lost_events,
        .peak_bytes = result->peak_bytes,
        .log = &recording->log,
    };
}

/* Where processes may have put the names of the code that they made. */
static void describe_jits(const struct recording *recording, struct importing *importing)
{
    const struct launch_jits *jits = &recording->result.jits;
    for (size_t i = 0; i < jits->count; i++)
        importing->jits[i] = (struct import_jit){.process = jits->items[i].process,
                                                 .pid = jits->items[i].own_pid,
                                                 .uid = jits->items[i].uid,
                                                 .temporary = jits->items[i].temporary,
                                                 .directory = jits->items[i].directory,
                                                 .dump = jits->items[i].dump};
    importing->run.jits = importing->jits;
    importing->run.jits_count = jits->count;
}

static bool describe_clock(const struct recording *recording, struct importing *importing)
{
    const struct launch_ticks *ticks = &recording->result.clock;
    importing->clock = calloc(ticks->count + 1, sizeof *importing->clock);
    for (size_t i = 0; importing->clock && i < ticks->count; i++) {
        const struct launch_tick *tick = &ticks->items[i];
        importing->clock[i] = (struct import_clock_tick){
            .path = tick->path == LAUNCH_NO_FILE ? NULL : ticks->paths.texts[tick->path],
            .offset = tick->offset,
            .ticks = tick->ticks,
            .ns = tick->ns};
    }
    importing->run.clock = importing->clock;
    importing->run.clock_count = importing->clock ? ticks->count : 0;
    return importing->clock != NULL;
}

static void remove_file(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT)
        say("cannot remove the raw log '%s': %s; it is no longer needed.", path, strerror(errno));
}

/* The log itself, whatever it is called by now, and not what another program put in its place. */
static void remove_log(struct recording *recording)
{
    if (recording->spans && recording->spans->saved[0])
        remove_file(recording->spans->saved);
    if (recording->rescued[0])
        remove_file(recording->rescued);
    else if (places_name(recording->log, recording->log_path))
        remove_file(recording->log_path);
}

/* Who moves the log must move what was timed with it. */
static void say_kept(const struct recording *recording)
{
    if (recording->spans)
        say("%s The recording is kept in '%s' and '%s'; 'headroom report %s' reads both.",
            recording->error, recording->log_path, recording->spans->saved, recording->log_path);
    else
        say("%s The recording is kept in '%s'; 'headroom report' reads it.", recording->error,
            recording->log_path);
}

/* False: no memory. */
static bool describe(const struct recording *recording, const char *engine,
                     struct importing *importing)
{
    *importing = (struct importing){.run = describe_run(recording, engine),
                                    .symbols = symbol_options(recording->settings)};
    describe_jits(recording, importing);
    if (recording->config) {
        importing->config = *recording->config;
        if (recording->result.source)
            importing->config.source = recording->result.source;
        importing->run.config = &importing->config;
    }
    return describe_clock(recording, importing);
}

static const char no_memory[] = "cannot import the recording: out of memory.";

enum base_status recording_import(struct recording *recording, const char *engine,
                                  const char *place)
{
    struct importing importing;
    enum base_status status = BASE_NO_MEMORY;
    strcpy(recording->error, no_memory);
    if (describe(recording, engine, &importing))
        status = import_to(recording, &importing, place);
    free(importing.clock);
    return status;
}

static bool import_recording(struct recording *recording, const char *engine)
{
    struct importing importing;
    if (!describe(recording, engine, &importing)) {
        say("%s", no_memory);
        return false;
    }
    /* What programs counted by themselves is in memory: of that nothing can be kept. */
    bool named = !recording->built && name_log(recording) && save_spans(recording);
    /* Whoever has asked twice is waiting for the profile, and may well ask again. */
    if (!recording->result.detached)
        interruptible(named ? recording->log_path : NULL);
    enum base_status status = import_somewhere(recording, &importing);
    free(importing.clock);
    if (status == BASE_OK)
        return true;
    if (recording->built)
        say("%s", recording->error);
    else if (named)
        say_kept(recording);
    else {
        say("%s The recording is lost: it cannot be kept elsewhere either (%s).", recording->error,
            strerror(errno));
        remove_log(recording);
    }
    return false;
}

static void report_recording(struct recording *recording)
{
    const struct settings *settings = recording->settings;
    if (settings->quiet && !recording->report)
        return;
    FILE *out = recording->report ? recording->report : stderr;
    struct stat info;
    if (recording->report && fstat(fileno(out), &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_nlink == 0) {
        say("'%s' was deleted while the program ran; 'headroom report %s' shows the report.",
            settings->report, recording->written);
        return;
    }
    if (recording->report && ftruncate(fileno(out), 0) != 0 && errno != EINVAL) {
        say("cannot write the report to '%s': %s.", settings->report, strerror(errno));
        return;
    }
    enum base_status status = show_profile(recording->written, recording->written, settings, out,
                                           fileno(out), recording->error, sizeof recording->error);
    if (status != BASE_OK)
        say("%s", recording->error);
    else if (fflush(out) != 0 && recording->report)
        say("cannot write the report to '%s': %s.", settings->report, strerror(errno));
}

int recording_exit_code(const struct recording *recording)
{
    const struct launch_result *result = &recording->result;
    if (result->detached)
        return 128 + result->detached;
    return result->exited ? result->exit_code : 128 + result->signal;
}

bool recording_finish(struct recording *recording, const char *engine)
{
    if (recording->result.detached) {
        say("asked a second time to end, and '%s' goes on: it is no longer observed, and the "
            "profile covers its time until now.",
            recording->command[0]);
        recording_degraded(recording, "the recording was ended before the program, which went on");
    }
    if (!import_recording(recording, engine))
        return false;
    if (recording->sequel && !recording->result.detached)
        recording->sequel->run(recording);
    report_recording(recording);
    return true;
}

void recording_close(struct recording *recording, bool keep)
{
    if (recording->log >= 0) {
        if (!keep)
            remove_log(recording);
        close(recording->log);
    }
    if (recording->region >= 0)
        close(recording->region);
    launch_jits_free(&recording->result.jits);
    launch_ticks_free(&recording->result.clock);
    if (recording->report)
        fclose(recording->report);
    places_end(&recording->places);
}
