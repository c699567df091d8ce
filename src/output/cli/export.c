// SPDX-License-Identifier: MIT
/* `headroom export`: a profile in, what other tools read out. */
#include "cli/common.h"
#include "cli/verbs.h"

#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct export_settings {
    int format; /* enum export_format; -1: not given */
    const char *metric;
    int evidence;
};

static const struct export_settings *own(const struct settings *settings)
{
    return (const void *)settings->own;
}

enum { EXPORT_FAILED = 1 };

struct exporting {
    const struct profile *profile;
    struct export_options options;
    char *error;
    size_t error_bytes;
    bool explained; /* error holds the limit that export itself met */
};

static enum base_status write_all(void *context, FILE *out)
{
    struct exporting *exporting = context;
    enum base_status status = export_write(exporting->profile, &exporting->options, out,
                                           exporting->error, exporting->error_bytes);
    exporting->explained = status == BASE_TOO_LARGE;
    return status;
}

static enum base_status write_format(const struct profile *profile, const struct settings *settings,
                                     FILE *out, char *error, size_t error_bytes)
{
    struct exporting exporting = {
        .profile = profile,
        .options = {.format = (enum export_format)own(settings)->format,
                    .metric = own(settings)->metric,
                    .evidence = own(settings)->evidence,
                    .least_executions = settings->min_executions},
        .error = error,
        .error_bytes = error_bytes,
    };
    uint64_t most_bytes = output_most_bytes(profile->file_bytes);
    snprintf(error, error_bytes, "not enough memory to export the profile.");
    enum base_status status = output_whole(write_all, &exporting, out, most_bytes);
    if (status == BASE_TOO_LARGE && !exporting.explained)
        snprintf(error, error_bytes,
                 "the export would be larger than %" PRIu64
                 " MiB, more than for any recording of this size.",
                 most_bytes >> 20);
    else if (status == BASE_IO)
        snprintf(error, error_bytes, "the export cannot be written: %s.", strerror(errno));
    return status;
}

static bool write_file(const struct profile *profile, const struct settings *settings, char *error,
                       size_t error_bytes)
{
    struct replacement file;
    enum base_status status = BASE_IO;
    if (replace_begin(&file, settings->output)) {
        status = write_format(profile, settings, file.out, error, error_bytes);
        if (!replace_end(&file, status == BASE_OK) && status == BASE_OK)
            status = BASE_IO;
    }
    if (status == BASE_IO)
        snprintf(error, error_bytes, "'%.4096s' cannot be written: %s.", settings->output,
                 strerror(errno));
    return status == BASE_OK;
}

/* Said here where the format has no place for it. */
static void tell_limits(const struct profile *profile, enum export_format format)
{
    for (size_t i = 0; i < profile->degraded_count && !export_has_limits(format); i++)
        say("limit of this recording: %s", profile->degraded[i].text);
}

static int export_run(const struct settings *settings, int count, char **operands)
{
    if (own(settings)->format < 0)
        return say_usage("export", "--to FORMAT is missing");
    if (count > 1)
        return say_usage("export", "one profile at a time, not '%s' as well", operands[1]);
    const char *path = count ? operands[0] : "waste.headroom";
    if (export_is_binary((enum export_format)own(settings)->format) && !settings->output &&
        isatty(STDOUT_FILENO))
        return say_usage("export", "%s is not written to a terminal: use -o FILE or a pipe",
                         export_format_names[own(settings)->format]);
    if (settings->output && same_file(path, settings->output))
        return say_usage("export", "'%s' is the profile itself: give -o another name", path);
    time_limit_start(time_limit_seconds(1, &path));
    struct profile *profile = NULL;
    char error[8704] = "unknown failure.";
    bool good = profile_read(path, &profile, error, sizeof error) == BASE_OK &&
                (settings->output
                     ? write_file(profile, settings, error, sizeof error)
                     : write_format(profile, settings, stdout, error, sizeof error) == BASE_OK);
    if (good)
        tell_limits(profile, (enum export_format)own(settings)->format);
    profile_free(profile);
    if (!good)
        say("%s", error);
    return good ? 0 : EXPORT_FAILED;
}

/* ---- the command line --------------------------------------------------------------------------
 */

static const struct export_settings own_defaults = {.format = -1};

static const struct option_spec export_options[] = {
    {"to", 't', OPTION_CHOICE, OWN(export_settings, format), .choices = export_format_names,
     .argument = "FORMAT",
     .help = "The format: one of pprof, speedscope, folded (flame graphs), callgrind "
             "(KCachegrind), firefox (profiler.firefox.com), csv, sarif."},
    {"output", 'o', OPTION_FILE, FIELD(output), .argument = "FILE",
     .help = "Write to FILE instead of standard output."},
    {"metric", 0, OPTION_TEXT, OWN(export_settings, metric), .argument = "NAME",
     .help = "Write this metric only; an unknown name lists the profile's metrics. Default: all; "
             "in folded, which holds only one, the first that is not 0."},
    {"evidence", 0, OPTION_FLAG, OWN(export_settings, evidence), .value = 1,
     .help = "Also write how often each finding was seen: accesses sampled and decided, stacks "
             "taken."},
    OPTION_MIN_EXECUTIONS,
    OPTION_HELP,
    OPTION_END,
};

const struct verb export_verb = {
    .name = "export",
    .summary = "write a profile for other tools",
    .arguments = "--to FORMAT [FILE]",
    .description =
        "Writes profile FILE in the format of another tool, to standard output unless -o is "
        "given. Without FILE: waste.headroom. Where a finding is about two places in the code, "
        "its stack is that of the second place, a frame that says what it does to the first, "
        "and the stack of the first. Totals are those of the profile.",
    .exit_status = "0 on success, 1 if the file cannot be read or written, 2 for wrong options.",
    .options = export_options,
    .usage_code = 2,
    .operands = OPERANDS_PROFILES,
    .operands_most = 1,
    .run = export_run,
    .own_defaults = &own_defaults,
    .own_bytes = sizeof own_defaults,
};
