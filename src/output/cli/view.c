// SPDX-License-Identifier: MIT
/* `headroom view`: a profile in, one HTML file out, put in place when it is whole. */
#include "cli/common.h"
#include "cli/verbs.h"

#include "profile/profile.h"
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct view_settings {
    int sources;        /* quote source lines                   */
    const char *before; /* the profile to compare with, or NULL */
};

static const struct view_settings *own(const struct settings *settings)
{
    return (const void *)settings->own;
}

enum { VIEW_FAILED = 1, FINDINGS_IN_PAGE = 500, ERROR_BYTES = 8704 };

/* "a.headroom" becomes "a.html". NULL: no memory. */
static char *default_output(const char *path)
{
    static const char ending[] = ".headroom";
    size_t bytes = strlen(path);
    char *name = NULL;
    if (bytes > strlen(ending) && strcmp(path + bytes - strlen(ending), ending) == 0)
        bytes -= strlen(ending);
    return asprintf(&name, "%.*s.html", (int)bytes, path) < 0 ? NULL : name;
}

/* What is there must be a regular file, and no profile: the most likely slip of the hand. before:
   may be NULL. */
static bool may_replace(const char *path, const char *profile, const char *before)
{
    struct stat info;
    if (lstat(path, &info) != 0) {
        if (errno == ENOENT)
            return true;
        say("cannot write '%s': %s.", path, strerror(errno));
        return false;
    }
    if (!S_ISREG(info.st_mode)) {
        say("cannot write '%s': it exists and is not a regular file; choose another with -o.",
            path);
        return false;
    }
    if (same_file(profile, path) || same_file(before, path)) {
        say("cannot write '%s': it is the profile itself; choose another file with -o.", path);
        return false;
    }
    return true;
}

static bool write_page(struct profile *profile, const struct view_options *options,
                       const char *path, size_t *source_files)
{
    struct replacement file;
    if (!replace_begin(&file, path)) {
        say("cannot write '%s': %s.", path, strerror(errno));
        return false;
    }
    fchmod(fileno(file.out), 0600); /* it may hold source lines that are not for everybody */
    errno = 0;
    enum base_status status = view_write(profile, options, file.out, source_files);
    bool written = replace_end(&file, status == BASE_OK);
    if (status == BASE_TOO_LARGE) {
        say("cannot write '%s': the page would be larger than for any recording of this size.",
            path);
        return false;
    }
    if (!written) {
        say("cannot write '%s': %s.", path,
            (status == BASE_OK || status == BASE_IO) && errno ? strerror(errno)
                                                              : base_status_text(status));
        return false;
    }
    return true;
}

/* before: may be NULL, else the profile to compare with. Prints what is wrong. */
static bool read_profiles(const char *path, const char *before, struct profile *profiles[2])
{
    char error[ERROR_BYTES] = "unknown failure.";
    bool good =
        (!before || profile_read(before, &profiles[0], error, sizeof error) == BASE_OK) &&
        profile_read(path, &profiles[1], error, sizeof error) == BASE_OK &&
        (!before || diff_comparable(profiles[0], profiles[1], error, sizeof error) == BASE_OK);
    if (!good)
        say("%s", error);
    return good;
}

static void print_written(const char *output, size_t files)
{
    if (files)
        say("wrote '%s', with lines of %zu source file%s; --no-sources leaves them out.", output,
            files, files == 1 ? "" : "s");
    else
        say("wrote '%s', without source lines.", output);
}

static int view_file(const char *path, const char *output, const struct settings *settings)
{
    struct profile *profiles[2] = {NULL, NULL}; /* before, after */
    size_t files = 0;
    unsigned shown = 0, asked = 0;
    if (!may_replace(output, path, own(settings)->before))
        return VIEW_FAILED;
    struct progress progress;
    time_limit_start(time_limit_seconds(2, (const char *const[]){path, own(settings)->before}));
    progress_begin(&progress, settings->quiet);
    bool good = read_profiles(path, own(settings)->before, profiles);
    if (good) {
        struct view_options options = {
            .limit = settings->limit == UINT64_MAX ? FINDINGS_IN_PAGE : (unsigned)settings->limit,
            .by = (enum report_by)settings->by,
            .sources = own(settings)->sources,
            .profile_path = path,
            .before = profiles[0],
            .before_path = own(settings)->before,
            .level = settings->level,
            .shown = &shown,
        };
        asked = options.limit;
        progress_step(&progress, "writing the page", 0, 0);
        good = write_page(profiles[1], &options, output, &files);
        progress_end(&progress);
    }
    profile_free(profiles[0]);
    profile_free(profiles[1]);
    if (good && !settings->quiet)
        print_written(output, files);
    if (good && shown != asked)
        say("the page would be too large: it holds only the %u largest findings of each kind.",
            shown);
    return good ? 0 : VIEW_FAILED;
}

static int view_run(const struct settings *settings, int count, char **operands)
{
    if (count > 1)
        return say_usage("view", "one profile at a time, not '%s' as well", operands[1]);
    const char *path = count ? operands[0] : "waste.headroom";
    char *made = settings->output ? NULL : default_output(path);
    const char *output = settings->output ? settings->output : made;
    if (!output) {
        say("cannot make a name for the page of '%s': %s.", path, strerror(ENOMEM));
        return VIEW_FAILED;
    }
    int code = view_file(path, output, settings);
    free(made);
    return code;
}

/* ---- the command line --------------------------------------------------------------------------
 */

static const struct view_settings own_defaults = {.sources = 1};

static const struct option_spec view_options[] = {
    {"output", 'o', OPTION_FILE, FIELD(output), .argument = "FILE",
     .help = "Write the page to FILE. Default: the profile's name with the ending .html."},
    {"before", 0, OPTION_PROFILE, OWN(view_settings, before), .argument = "BEFORE",
     .help = "Add what changed since profile BEFORE as the first view: what 'headroom diff BEFORE "
             "FILE' prints."},
    {"by", 0, OPTION_CHOICE, FIELD(by), .choices = by_names, .argument = "LEVEL",
     .help =
         "What is one finding, as in 'headroom report': cause, the default, context, pair, line, "
         "function or module. What changed since --before is listed by pair if that is asked "
         "for, else by context."},
    OPTION_LEVEL,
    {"sources", 0, OPTION_FLAG, OWN(view_settings, sources), .value = 1,
     .help = "Include the source lines around the locations in the profile. This is the default, "
             "for pages that stay on this machine."},
    {"no-sources", 0, OPTION_FLAG, OWN(view_settings, sources), .value = 0,
     .help = "Do not include source lines, for pages that are passed on."},
    {"limit", 0, OPTION_NUMBER, FIELD(limit), .low = 0, .high = 1000000, .argument = "N",
     .help = "Include the N largest findings of each kind; 0 includes all. Default: 500."},
    {"quiet", 'q', OPTION_FLAG, FIELD(quiet), .value = 1,
     .help = "Do not print what was written. Errors are still printed."},
    OPTION_HELP,
    OPTION_END,
};

const struct verb view_verb = {
    .name = "view",
    .summary = "write a profile as one HTML page",
    .arguments = "[FILE]",
    .description =
        "Writes profile FILE as one HTML file, which needs no network and no other files. Its "
        "summary can be read without scripts. With scripts it shows pairs of places side by "
        "side with their source lines and calling contexts, the calling-context tree from "
        "above, from below and as an icicle, histograms and the miss-ratio curve, paths drawn "
        "through the source, and tables of spans. Press ? in it for the keys. Without FILE: "
        "waste.headroom.\n\n"
        "With --before it begins with what changed between two profiles, which must come from "
        "the same verb and the same engine.\n\n"
        "Source lines are quoted only from files that were not changed since the recording. "
        "Names of files and functions, and the command with its arguments, are in every page.",
    .exit_status = "0 on success, 1 if a profile cannot be read, the profiles cannot be "
                   "compared or the page cannot be written, 2 for wrong options.",
    .options = view_options,
    .usage_code = 2,
    .operands = OPERANDS_PROFILES,
    .operands_most = 1,
    .run = view_run,
    .own_defaults = &own_defaults,
    .own_bytes = sizeof own_defaults,
};
