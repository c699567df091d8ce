// SPDX-License-Identifier: MIT
/* Further runs of a command: what they read and write, and how long there is time for them. */
#include "cli/sequel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ---- time ------------------------------------------------------------------------------------ */

uint64_t sequel_deadline_ns(const struct sequel *sequel)
{
    const struct run_settings *settings = sequel->settings;
    uint64_t seconds = settings->max_s  ? settings->max_s
                       : settings->deep ? MAX_TIME_DEEP_S
                                        : MAX_TIME_S;
    return sequel->begun_ns + seconds * UINT64_C(1000000000);
}

bool sequel_is_over(const struct sequel *sequel, double further_s)
{
    return (double)monotonic_ns() + 1e9 * further_s > (double)sequel_deadline_ns(sequel);
}

/* ---- standard input -------------------------------------------------------------------------- */

/* A new open file: reading the first run's again would move it for whoever reads on behind it. */
static int reopen(int descriptor)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool is_stored(const struct stat *info)
{
    return S_ISREG(info->st_mode) || S_ISBLK(info->st_mode);
}

/* Why the program cannot read its input a second time; NULL: it can, or needs not. */
static const char *why_not_again(off_t *at)
{
    struct stat info;
    if (fstat(STDIN_FILENO, &info) != 0)
        return NULL; /* closed */
    if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))
        return "the command was not run again: its standard input is a pipe or socket, which can "
               "be read only once (redirect it from a file)";
    if (!is_stored(&info))
        return NULL;
    int again = reopen(STDIN_FILENO);
    if (again < 0)
        return "the command was not run again: the file that is its standard input cannot be "
               "opened a second time";
    close(again);
    *at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    return NULL;
}

/* A terminal has no second answer to the same question; all else that is there can be read again. -1:
   as it is. -2: errno. */
static int open_input(const struct sequel *sequel)
{
    struct stat info;
    if (fstat(STDIN_FILENO, &info) != 0 || (!is_stored(&info) && !isatty(STDIN_FILENO)))
        return -1;
    int file = is_stored(&info) ? reopen(STDIN_FILENO) : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (file >= 0 && is_stored(&info) && sequel->input_at > 0)
        lseek(file, sequel->input_at, SEEK_SET);
    return file >= 0 ? file : -2;
}

/* ---- standard output and error ----------------------------------------------------------------- */

/*
 * /dev/zero takes everything as /dev/null does, but is not it: programs such as grep and tar do less where they see that
 * nobody reads what they write. Where the first run wrote to /dev/null, so do all.
 */
static int open_output(int descriptor)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0 || (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3)))
        return -1;
    int file = open("/dev/zero", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return file >= 0 ? file : -2;
}

/* Above those that are to be replaced. */
static int move_up(int file)
{
    if (file < 0 || file > STDERR_FILENO)
        return file;
    int moved = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(file);
    return moved >= 0 ? moved : -2;
}

static void close_files(struct launch_request *request)
{
    for (int i = 0; i < 3; i++)
        if (request->files[i] >= 0)
            close(request->files[i]);
}

/* False: errno. */
static bool redirect(const struct sequel *sequel, struct launch_request *request)
{
    request->redirected = true;
    request->files[0] = move_up(open_input(sequel));
    request->files[1] = move_up(open_output(STDOUT_FILENO));
    request->files[2] = move_up(open_output(STDERR_FILENO));
    if (request->files[0] != -2 && request->files[1] != -2 && request->files[2] != -2)
        return true;
    int reason = errno;
    close_files(request);
    errno = reason;
    return false;
}

enum launch_outcome sequel_begin(const struct sequel *sequel, uint64_t until_ns,
                                 struct launch_request *request, char *error)
{
    request->deadline_ns = until_ns;
    if (!redirect(sequel, request)) {
        snprintf(error, LAUNCH_ERROR_BYTES, "cannot redirect standard input or output: %s.",
                 strerror(errno));
        return LAUNCH_FAILED;
    }
    launch_restore();
    return LAUNCH_OK;
}

void sequel_end(struct launch_request *request)
{
    recording_note_signals();
    close_files(request);
}

/* ---- the profile --------------------------------------------------------------------------------- */

static bool replace(const struct recording *recording, const struct profile *profile, char *error)
{
    char fresh[LAUNCH_PATH_BYTES + 8];
    snprintf(fresh, sizeof fresh, "%s.run", recording->log_path);
    if (profile_write(profile, fresh, error, LAUNCH_ERROR_BYTES) != BASE_OK)
        return false;
    if (rename(fresh, recording->written) == 0)
        return true;
    snprintf(error, LAUNCH_ERROR_BYTES, "cannot write '%s': %s.", recording->written,
             strerror(errno));
    unlink(fresh);
    return false;
}

/* A further run may have deleted the directory, with the first profile in it. */
static bool write_elsewhere(struct recording *recording, const struct profile *profile)
{
    char ignored[LAUNCH_ERROR_BYTES], path[LAUNCH_PATH_BYTES];
    while (places_next(&recording->places, recording->output, path)) {
        if (profile_write(profile, path, ignored, sizeof ignored) != BASE_OK)
            continue;
        strcpy(recording->written, path);
        return true;
    }
    return false;
}

bool sequel_replace(struct recording *recording, const struct profile *profile, char *error)
{
    if (replace(recording, profile, error))
        return true;
    if (access(recording->written, F_OK) == 0 || !write_elsewhere(recording, profile))
        return false;
    say("%s The profile is in '%s' instead.", error, recording->written);
    return true;
}

void sequel_clock(const struct sequel *sequel, struct profile *profile)
{
    struct calibrate_clock clock;
    if (!profile->limit_runs_count || sequel->clock.cycle_ns <= 0)
        return;
    calibrate_clock(&clock);
    calibrate_clock_join(&clock, &sequel->clock);
    profile->limit_runs[0].cycle_ns = clock.cycle_ns;
    profile->limit_runs[0].cycle_spread = (clock.high_ns - clock.low_ns) / 2 / clock.cycle_ns;
}

void sequel_degraded(struct profile *profile, const char *sentence)
{
    struct profile_text *degraded = profile_add_degraded(profile);
    if (degraded)
        degraded->text = sentence;
}

/* ---- the sequel -------------------------------------------------------------------------------- */

void sequel_prepare(struct sequel *sequel, struct recording *recording)
{
    sequel->refused = why_not_again(&sequel->input_at);
    if (sequel->refused && (sequel->settings->runs || sequel->settings->deep))
        recording_degraded(recording, sequel->refused);
    if (!sequel->refused && sequel->settings->deep)
        calibrate_clock(&sequel->clock);
    sequel->begun_ns = monotonic_ns();
}

bool sequel_goes_on(const struct sequel *sequel, const struct recording *recording)
{
    const struct launch_result *result = &recording->result;
    return !sequel->refused && result->exited && !result->interrupted;
}

static void prepare(struct recording *recording)
{
    sequel_prepare(recording->sequel_state, recording);
}

static void run(struct recording *recording)
{
    const struct sequel *sequel = recording->sequel_state;
    if (!sequel_goes_on(sequel, recording))
        return;
    recording_note_signals();
    if (sequel->settings->runs)
        repeat_run(recording);
    if (sequel->settings->deep && !recording_signalled())
        deep_run(recording, sequel);
    launch_signals_release();
}

const struct recording_sequel run_sequel = {.prepare = prepare, .run = run};
