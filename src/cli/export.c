// SPDX-License-Identifier: MIT
/* `headroom export`: a profile in, what other tools read out. */
#include "cli/verbs.h"

#include "export/export.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXPORT_FAILED = 1 };

/* Not over the profile itself. */
static bool same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* An unfinished file would be taken for a whole one; a device or FIFO stays. */
static void remove_file(const char *path)
{
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISREG(status.st_mode))
        unlink(path);
}

static bool write_file(const struct profile *profile, const struct settings *settings, char *error,
                       size_t error_bytes)
{
    enum export_format format = (enum export_format)settings->export_format;
    const char *path = settings->output;
    FILE *out = path ? fopen(path, "we") : stdout;
    if (!out) {
        snprintf(error, error_bytes, "cannot write '%.4096s': %s.", path, strerror(errno));
        return false;
    }
    bool good =
        export_write(profile, format, settings->export_metric, out, error, error_bytes) == BASE_OK;
    if (path && fclose(out) != 0 && good) {
        snprintf(error, error_bytes, "cannot write '%.4096s': %s.", path, strerror(errno));
        good = false;
    }
    if (path && !good)
        remove_file(path);
    return good;
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
    struct profile *profile = NULL;
    char error[8704] = "unknown failure.";
    bool good = profile_read(path, &profile, error, sizeof error) == BASE_OK &&
                write_file(profile, settings, error, sizeof error);
    profile_free(profile);
    if (!good)
        say("%s", error);
    return good ? 0 : EXPORT_FAILED;
}
