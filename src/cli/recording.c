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
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void recording_degraded(struct recording *recording, const char *sentence)
{
    if (recording->degraded_count < DEGRADED_AT_MOST)
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
    /* Said now, when nothing can be refused any more, and again in every report. */
    for (size_t i = 0; i < recording->degraded_count && !recording->settings->quiet; i++)
        say("%s", recording->degraded[i]);
    return 0;
}

/* ---- after it has ended -------------------------------------------------------------- */

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

static enum base_status import_timed(struct recording *recording, const struct import_run *run,
                                     const struct binary_options *symbols,
                                     struct progress *progress)
{
    const struct launch_blocks_result *blocks = recording->blocks;
    struct import_skip *skips = calloc(blocks->unhooked_count + 1, sizeof *skips);
    enum base_status status = BASE_NO_MEMORY;
    for (size_t i = 0; skips && i < blocks->unhooked_count; i++)
        skips[i] = (struct import_skip){blocks->unhooked[i].name, blocks->unhooked[i].module,
                                        blocks->unhooked[i].reason};
    snprintf(recording->error, sizeof recording->error,
             "cannot import what was timed: out of memory");
    if (skips)
        status = import_blocks(recording->log_path, blocks->region, run, skips,
                               blocks->unhooked_count, symbols, recording->output, progress_step,
                               progress, recording->error, sizeof recording->error);
    free(skips);
    return status;
}

static bool import_recording(struct recording *recording, const char *engine)
{
    const struct launch_result *result = &recording->result;
    struct import_run run = {
        .verb = recording->verb,
        .engine = engine,
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
        .accesses_per_ns = recording->settings->access_rate,
        .event = recording->event,
        .lost_events = result->lost_events,
        .peak_bytes = result->peak_bytes,
    };
    struct binary_options symbols = symbol_options(recording->settings);
    struct progress progress;
    enum base_status status;
    /* What was timed is in memory: of that nothing can be kept. */
    bool kept = !recording->built && !recording->blocks;
    if (kept)
        interruptible(recording->log_path);
    progress_begin(&progress, recording->settings->quiet);
    if (recording->built)
        status = import_built(recording->region, &run, &symbols, recording->output, progress_step,
                              &progress, recording->error, sizeof recording->error);
    else if (recording->blocks)
        status = import_timed(recording, &run, &symbols, &progress);
    else
        status = import_log(recording->log_path, &run, &symbols, recording->output, progress_step,
                            &progress, recording->error, sizeof recording->error);
    progress_end(&progress);
    if (status != BASE_OK && !kept)
        say("%s", recording->error);
    else if (status != BASE_OK)
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

int recording_exit_code(const struct recording *recording)
{
    const struct launch_result *result = &recording->result;
    return result->exited ? result->exit_code : 128 + result->signal;
}

bool recording_finish(struct recording *recording, const char *engine)
{
    if (!import_recording(recording, engine))
        return false;
    report_recording(recording);
    return true;
}

void recording_close(struct recording *recording, bool keep)
{
    if (recording->log >= 0) {
        close(recording->log);
        if (!keep && unlink(recording->log_path) != 0 && errno != ENOENT)
            say("cannot remove the raw log '%s': %s; nobody needs it any more.",
                recording->log_path, strerror(errno));
    }
    if (recording->region >= 0)
        close(recording->region);
    if (recording->report)
        fclose(recording->report);
}
