// SPDX-License-Identifier: MIT
/* `headroom check`: a profile held to limits; the exit code is the answer. */
#include "cli/common.h"
#include "cli/verbs.h"

#include "compare/compare.h"
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check_settings {
    const char *limits, *baseline, *suppressions, *markdown, *sarif; /* NULL: not given */
    double minimum;
    int warn_only, github, undecided;
};

static const struct check_settings *own(const struct settings *settings)
{
    return (const void *)settings->own;
}

enum {
    CHECK_FAILED = 1,
    CHECK_OVER = 3,
    CHECK_NOT_COMPARABLE = 4,
    CHECK_OPEN = 5,
    SUPPRESSIONS_MAX = 1 << 24
};

/* ---- in -------------------------------------------------------------------------------------- */

/* The whole file as text, or NULL. */
static char *read_text(const char *path, char *error, size_t error_bytes)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t capacity = 0;
    if (!file) {
        snprintf(error, error_bytes, "cannot read '%s': %s.", path, strerror(errno));
        return NULL;
    }
    errno = 0;
    ssize_t got = getdelim(&text, &capacity, 0, file);
    if (got < 0 && (ferror(file) || errno)) {
        snprintf(error, error_bytes, "cannot read '%s': %s.", path, strerror(errno));
        free(text);
        text = NULL;
    } else if (got < 0) {
        free(text);
        text = strdup("");
    } else if (got > SUPPRESSIONS_MAX || fgetc(file) != EOF) {
        snprintf(error, error_bytes,
                 "'%s' is not a suppressions file: it is too large, or not text.", path);
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

static bool read_suppressions(const char *path, struct compare_suppressions *suppressions,
                              char *error, size_t error_bytes)
{
    char why[COMPARE_ERROR_BYTES] = "";
    if (!path)
        return true;
    char *text = read_text(path, error, error_bytes);
    if (!text)
        return false;
    enum base_status status = compare_suppressions_parse(text, suppressions, why);
    if (status != BASE_OK)
        snprintf(error, error_bytes, "suppressions '%s': %s.", path,
                 why[0] ? why : base_status_text(status));
    free(text);
    return status == BASE_OK;
}

/* ---- out ------------------------------------------------------------------------------------- */

struct printing {
    const struct settings *settings;
    const struct check *check;
    uint64_t word[2]; /* print_for_github */
    uint64_t most_bytes;
    enum base_status (*print)(const struct check *, FILE *);
};

static enum base_status print_file(void *context, FILE *out)
{
    const struct printing *printing = context;
    return printing->print(printing->check, out);
}

static enum base_status print_text(void *context, FILE *out)
{
    const struct printing *printing = context;
    return check_text(printing->check, use_color(printing->settings->color, STDOUT_FILENO),
                      is_ascii_terminal(STDOUT_FILENO), terminal_width(STDOUT_FILENO), out);
}

/* Nothing of it, if it is too large. */
static bool write_bounded(struct printing *printing, output_writer *write, const char *name,
                          FILE *out)
{
    enum base_status status = output_whole(write, printing, out, printing->most_bytes);
    if (status == BASE_TOO_LARGE)
        say("cannot write %s: it would be larger than %" PRIu64
            " MiB, more than for any recording of this size.",
            name, printing->most_bytes >> 20);
    else if (status != BASE_OK)
        say("cannot write %s: %s.", name,
            status == BASE_IO ? strerror(errno) : base_status_text(status));
    return status == BASE_OK;
}

static bool write_file(struct printing *printing, const char *path,
                       enum base_status (*print)(const struct check *, FILE *))
{
    char name[4200];
    if (!path)
        return true;
    struct replacement file;
    snprintf(name, sizeof name, "'%.4096s'", path);
    printing->print = print;
    bool begun = replace_begin(&file, path);
    if (begun && !write_bounded(printing, print_file, name, file.out)) {
        replace_end(&file, false);
        return false;
    }
    bool good = begun && replace_end(&file, true);
    if (!good)
        say("cannot write %s: %s.", name, strerror(errno));
    return good;
}

/*
 * GitHub takes a line that begins with "::", after blanks too, for a command, and a long name may
 * be wrapped before one. So commands are stopped until a word comes back that nobody could have put
 * into a name.
 */
static enum base_status print_for_github(void *context, FILE *out)
{
    const struct printing *printing = context;
    fprintf(out, "::stop-commands::headroom-%016" PRIx64 "%016" PRIx64 "\n", printing->word[0],
            printing->word[1]);
    enum base_status status = print_text(context, out);
    if (status != BASE_OK)
        return status;
    fprintf(out, "::headroom-%016" PRIx64 "%016" PRIx64 "::\n", printing->word[0],
            printing->word[1]);
    return check_github(printing->check, out);
}

static int print_check(const struct settings *settings, const struct check *check,
                       uint64_t most_bytes)
{
    struct printing printing = {.settings = settings, .check = check, .most_bytes = most_bytes};
    if (own(settings)->github && getentropy(printing.word, sizeof printing.word) != 0) {
        say("cannot write to standard output: %s.", strerror(errno));
        return CHECK_FAILED;
    }
    if (!write_bounded(&printing, own(settings)->github ? print_for_github : print_text,
                       "to standard output", stdout) ||
        !write_file(&printing, own(settings)->markdown, check_markdown) ||
        !write_file(&printing, own(settings)->sarif, check_sarif))
        return CHECK_FAILED;
    if (own(settings)->warn_only)
        return 0;
    if (check_exceeded(check))
        return CHECK_OVER;
    return check_undecided(check) && own(settings)->undecided == CHECK_UNDECIDED_FAILS ? CHECK_OPEN
                                                                                       : 0;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int hold(const struct settings *settings, struct profile *profiles[2],
                const struct check_options *options, char *error, size_t error_bytes)
{
    struct check *check = NULL;
    enum base_status status =
        check_make(profiles[0], profiles[1], options, &check, error, error_bytes);
    if (status == BASE_NOT_FOUND)
        return say_usage("check", "%s", error);
    if (status != BASE_OK) {
        say("%s", status == BASE_UNSUPPORTED ? error : base_status_text(status));
        return status == BASE_UNSUPPORTED ? CHECK_NOT_COMPARABLE : CHECK_FAILED;
    }
    uint64_t bytes = profiles[1]->file_bytes + (profiles[0] ? profiles[0]->file_bytes : 0);
    int code = print_check(settings, check, output_most_bytes(bytes));
    check_free(check);
    return code;
}

static int check_profile(const struct settings *settings, struct check_options *options)
{
    struct profile *profiles[2] = {NULL, NULL};
    struct compare_suppressions suppressions = {0};
    char error[8704] = "unknown failure.";
    int code = CHECK_FAILED;
    time_limit_start(time_limit_seconds(2, options->names));
    if ((own(settings)->baseline &&
         profile_read(own(settings)->baseline, &profiles[0], error, sizeof error) != BASE_OK) ||
        profile_read(options->names[1], &profiles[1], error, sizeof error) != BASE_OK ||
        !read_suppressions(own(settings)->suppressions, &suppressions, error, sizeof error)) {
        say("%s", error);
    } else {
        options->suppressions = &suppressions;
        code = hold(settings, profiles, options, error, sizeof error);
    }
    compare_suppressions_free(&suppressions);
    profile_free(profiles[0]);
    profile_free(profiles[1]);
    return code;
}

/* The name of an input that would be written over; NULL: none. */
static const char *find_overwritten(const struct settings *settings, const char *profile)
{
    const char *const inputs[] = {profile, own(settings)->baseline, own(settings)->suppressions};
    for (size_t i = 0; i < BASE_COUNT(inputs); i++)
        if (same_file(inputs[i], own(settings)->markdown) ||
            same_file(inputs[i], own(settings)->sarif))
            return inputs[i];
    return NULL;
}

static int check_run(const struct settings *settings, int count, char **operands)
{
    struct compare_limit limits[COMPARE_LIMITS];
    char error[COMPARE_ERROR_BYTES], directory[4096];
    size_t limits_count = 0;
    if (count != 1)
        return say_usage("check", "one profile is expected, not %d", count);
    if (!own(settings)->limits)
        return say_usage("check", "--limits is missing, such as "
                                  "--limits 'waste.dead.fraction=5%%'");
    if (!compare_limits_parse(own(settings)->limits, limits, &limits_count, error))
        return say_usage("check", "--limits: %s", error);
    for (size_t i = 0; i < limits_count && !own(settings)->baseline; i++)
        if (limits[i].growth)
            return say_usage("check", "the limit '%s' is one of growth, which needs --baseline",
                             limits[i].text);
    const char *overwritten = find_overwritten(settings, operands[0]);
    if (overwritten)
        return say_usage(
            "check",
            "'%s' is an input and cannot be overwritten: give --markdown and --sarif other names",
            overwritten);
    if (own(settings)->markdown && own(settings)->sarif &&
        strcmp(own(settings)->markdown, own(settings)->sarif) == 0)
        return say_usage("check",
                         "--markdown and --sarif both write '%s': give one of them another name",
                         own(settings)->sarif);
    struct check_options options = {
        .limits = limits,
        .limits_count = limits_count,
        .minimum = own(settings)->minimum,
        .level = settings->level,
        .by = compare_by(settings),
        .warn_only = own(settings)->warn_only,
        .undecided = (enum check_undecided)own(settings)->undecided,
        .names = {own(settings)->baseline, operands[0]},
        .root = getcwd(directory, sizeof directory),
    };
    return check_profile(settings, &options);
}

/* ---- the command line --------------------------------------------------------------------------
 */

/* In the order of enum check_undecided. */
static const char *const undecided_names[] = {"fail", "warn", "pass", NULL};

static const struct option_spec check_options[] = {
    {"limits", 0, OPTION_TEXT, OWN(check_settings, limits), .argument = "METRIC=LIMIT,...",
     .help = "The largest values allowed: METRIC=VALUE, METRIC=+VALUE for growth over the "
             "baseline, METRIC=+N% for growth in per cent of it, METRIC=+Npt for growth of a "
             "percentage in points. VALUE may end in %, K, M or G. "
             "METRIC is a figure that 'headroom diff' shows, such as waste.dead.fraction, "
             "waste.bytes, reuse.miss@32K, interference.share."},
    {"baseline", 0, OPTION_PROFILE, OWN(check_settings, baseline), .argument = "FILE",
     .help = "The profile to which limits of growth refer."},
    {"minimum", 0, OPTION_REAL, OWN(check_settings, minimum), .low = 0, .high = 1e18,
     .argument = "N",
     .help =
         "Ignore findings and excesses of less than N bytes, reuses or instructions. Default: 0."},
    OPTION_COMPARE_BY,
    {"suppressions", 0, OPTION_FILE, OWN(check_settings, suppressions), .argument = "FILE",
     .help = "Leave out of figures and lists the findings named in FILE, in lines 'FUNCTION -- "
             "REASON', or 'FUNCTION -> FUNCTION -- REASON' for both contexts, with shell patterns. "
             "Lines that match nothing are listed."},
    {"warn-only", 0, OPTION_FLAG, OWN(check_settings, warn_only), .value = 1,
     .help = "Report what exceeds its limit or is undecided, but exit with status 0."},
    {"undecided", 0, OPTION_CHOICE, OWN(check_settings, undecided), .choices = undecided_names,
     .argument = "ACTION",
     .help =
         "What to do if a limit lies within the interval of an estimate, so that the samples do "
         "not decide whether it is exceeded: fail (exit with status 5), warn (annotate, but "
         "exit with status 0) or pass (neither). Default: fail."},
    {"github", 0, OPTION_FLAG, OWN(check_settings, github), .value = 1,
     .help = "Print annotations for GitHub workflows as well."},
    {"markdown", 0, OPTION_FILE, OWN(check_settings, markdown), .argument = "FILE",
     .help = "Write a summary in Markdown to FILE as well."},
    {"sarif", 0, OPTION_FILE, OWN(check_settings, sarif), .argument = "FILE",
     .help = "Write what exceeds its limit to FILE as SARIF 2.1.0 as well."},
    OPTION_LEVEL,
    OPTION_COLOR,
    OPTION_HELP,
    OPTION_END,
};

const struct verb check_verb = {
    .name = "check",
    .summary = "check a profile against limits",
    .arguments = "FILE",
    .description =
        "Compares figures of profile FILE with limits, for use in continuous integration, and "
        "lists the findings behind each limit that is exceeded or, with a baseline, those that "
        "appeared or grew. Use recordings made with --exact: they are the same on every run. "
        "Of samples the interval decides, of growth that of the difference: a limit is exceeded, "
        "or "
        "held, if all of the interval says so, else it is undecided. "
        "File names in annotations and SARIF are relative to the current directory.",
    .exit_status = "0 within the limits, 1 if a file cannot be read or written, 2 for wrong "
                   "options and for limits on figures that the profile does not have, 3 if a limit "
                   "is exceeded, 4 if the profiles cannot be compared, 5 if no limit is exceeded, "
                   "but the samples do not decide of all.",
    .options = check_options,
    .usage_code = 2,
    .operands = OPERANDS_PROFILES,
    .operands_most = 1,
    .run = check_run,
    .own_bytes = sizeof(struct check_settings),
};
