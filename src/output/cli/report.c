// SPDX-License-Identifier: MIT
/* `headroom report`: of a profile, or of a raw log that was left over. */
#include "cli/common.h"
#include "cli/verbs.h"

#include "import/import.h"
#include "util/util.h"
#include "wire/spans.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    REPORT_FAILED = 1,
    SYMBOLS_S =
        600, /* of a raw log: to read the debug information of what the program had loaded */
};

/* ---- left-over raw logs --------------------------------------------------------------------- */

/* False: it is not known, for the reason in errno. What is no file at all is left to the reader of
 * profiles. */
static bool look_for_log(const char *path, bool *is_log)
{
    uint64_t magic = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    ssize_t got;
    do
        got = read(file, &magic, sizeof magic);
    while (got < 0 && errno == EINTR);
    int reason = errno;
    close(file);
    errno = reason;
    *is_log = got == (ssize_t)sizeof magic && magic == WIRE_LOG_MAGIC;
    return got >= 0 || reason == EISDIR || reason == EAGAIN;
}

static void remove_temporary(const char *directory, const char *profile)
{
    if ((unlink(profile) != 0 && errno != ENOENT) || rmdir(directory) != 0)
        say("cannot remove the temporary directory '%s': %s.", directory, strerror(errno));
}

/* Timed spans are beside the log. */
static enum base_status import_left_over(const char *path, const struct binary_options *symbols,
                                         const char *profile, struct progress *progress,
                                         char *error, size_t error_bytes)
{
    char spans[4128];
    int region;
    int printed = snprintf(spans, sizeof spans, "%s" SPANS_FILE_SUFFIX, path);
    if (printed >= (int)sizeof spans || access(spans, F_OK) != 0)
        return import_log(path, NULL, symbols, profile, progress_step, progress, error,
                          error_bytes);
    enum base_status status = import_spans_restore(spans, &region, error, error_bytes);
    if (status != BASE_OK)
        return status;
    status = import_spans(path, region, NULL, NULL, 0, symbols, profile, progress_step, progress,
                          error, error_bytes);
    close(region);
    return status;
}

static enum base_status show_raw_log(const char *path, const struct settings *settings, FILE *out,
                                     int descriptor, char *error, size_t error_bytes)
{
    static char directory[4096], profile[4128], temporary[4160]; /* time_limit_removes */
    if (!util_temporary_directory(util_temporary_root(), "headroom", directory, sizeof directory)) {
        snprintf(error, error_bytes, "cannot make a temporary directory '%.256s': %s.", directory,
                 strerror(errno));
        return BASE_IO;
    }
    snprintf(profile, sizeof profile, "%s/profile", directory);
    snprintf(temporary, sizeof temporary, "%s.%d.0.tmp", profile, (int)getpid());
    time_limit_removes(profile, temporary, directory);
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is to give an error, with nothing left behind */
    struct binary_options symbols = symbol_options(settings);
    struct progress progress;
    progress_begin(&progress, false);
    enum base_status status =
        import_left_over(path, &symbols, profile, &progress, error, error_bytes);
    progress_end(&progress);
    if (status == BASE_OK)
        status = show_profile(profile, path, settings, out, descriptor, error, error_bytes);
    remove_temporary(directory, profile);
    time_limit_removes(NULL, NULL, NULL);
    return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int report_run(const struct settings *settings, int count, char **operands)
{
    if (count > 1)
        return say_usage("report", "one profile at a time, not '%s' as well", operands[1]);
    const char *path = count ? operands[0] : "waste.headroom";
    char error[8704] = "unknown failure.";
    struct pager pager;
    bool is_log;
    /* A file that cannot be read should not flash an empty pager. */
    if (access(path, R_OK) != 0 || !look_for_log(path, &is_log)) {
        say("cannot read '%s': %s.", path, strerror(errno));
        return REPORT_FAILED;
    }
    time_limit_start(time_limit_seconds(1, &path) + (is_log ? SYMBOLS_S : 0));
    pager_begin(&pager, settings->format == FORMAT_TEXT);
    enum base_status status =
        is_log ? show_raw_log(path, settings, pager.out, STDOUT_FILENO, error, sizeof error)
               : show_profile(path, path, settings, pager.out, STDOUT_FILENO, error, sizeof error);
    bool written = pager_end(&pager);
    if (status != BASE_OK) {
        say("%s", error);
        return REPORT_FAILED;
    }
    if (!written) {
        say("cannot write the report: %s.", strerror(errno));
        return REPORT_FAILED;
    }
    return 0;
}

/* ---- the command line --------------------------------------------------------------------------
 */

/* Bits of wire_kind_bits. */
/* By bits: those of enum profile_kind, and REPORT_SHARING. */
static const char *const shown_kind_names[] = {"dead", "silent", "load", "reuse", "sharing", NULL};

static const struct option_spec report_options[] = {
    OPTION_FORMAT,
    OPTION_LIMIT,
    OPTIONS_GROUPS,
    OPTION_PAPER_BINS,
    OPTION_HOT,
    OPTIONS_SPANS,
    {"kinds", 'k', OPTION_SET, FIELD(kinds), .choices = shown_kind_names, .argument = "LIST",
     .help = "Show only these kinds: any of dead,silent,load,reuse,sharing. Default: all that were "
             "recorded; of a recording by 'headroom run' what to fix first instead."},
    OPTION_COLOR,
    OPTION_DEBUGINFOD,
    OPTION_HELP,
    OPTION_END,
};

const struct verb report_verb = {
    .name = "report",
    .summary = "print the report of a profile",
    .arguments = "[FILE]",
    .description = "Prints the findings in profile FILE to standard output, through $PAGER if "
                   "that is a terminal. Without FILE: waste.headroom. FILE may also be a raw "
                   "log left by a recording that could not be finished.",
    .exit_status = "0 on success, 1 if the file cannot be read, 2 for wrong options.",
    .options = report_options,
    .usage_code = 2,
    .operands = OPERANDS_RECORDINGS,
    .operands_most = 1,
    .run = report_run,
};
