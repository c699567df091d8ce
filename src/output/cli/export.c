// SPDX-License-Identifier: MIT
/* `headroom export`: a profile in, what other tools read out. */
#include "cli/verbs.h"

#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { EXPORT_FAILED = 1 };

struct exporting {
    const struct profile *profile;
    struct export_options options;
    char *error;
    size_t error_bytes;
    bool told; /* error is the limit that export itself met */
};

static enum base_status write_all(void *context, FILE *out)
{
    struct exporting *exporting = context;
    enum base_status status = export_write(exporting->profile, &exporting->options, out,
                                           exporting->error, exporting->error_bytes);
    exporting->told = status == BASE_TOO_LARGE;
    return status;
}

static enum base_status write_format(const struct profile *profile, const struct settings *settings,
                                     FILE *out, char *error, size_t error_bytes)
{
    struct exporting exporting = {
        .profile = profile,
        .options = {.format = (enum export_format)settings->export_format,
                    .metric = settings->export_metric,
                    .least_executions = settings->min_executions},
        .error = error,
        .error_bytes = error_bytes,
    };
    uint64_t most_bytes = output_most_bytes(profile->file_bytes);
    snprintf(error, error_bytes, "there is no memory to export the profile.");
    enum base_status status = output_whole(write_all, &exporting, out, most_bytes);
    if (status == BASE_TOO_LARGE && !exporting.told)
        snprintf(error, error_bytes,
                 "the export would be larger than %" PRIu64
                 " MiB, which that of no recording of this size is.",
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

int export_run(const struct settings *settings, int count, char **operands)
{
    if (settings->export_format < 0)
        return say_usage("export", "--to tells which format to write, and is missing");
    if (count > 1)
        return say_usage("export", "one profile at a time, not '%s' as well", operands[1]);
    const char *path = count ? operands[0] : "waste.headroom";
    if (export_is_binary((enum export_format)settings->export_format) && !settings->output &&
        isatty(STDOUT_FILENO))
        return say_usage("export", "%s is nothing for a terminal: give -o FILE or a pipe",
                         export_format_names[settings->export_format]);
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
        tell_limits(profile, (enum export_format)settings->export_format);
    profile_free(profile);
    if (!good)
        say("%s", error);
    return good ? 0 : EXPORT_FAILED;
}
