// SPDX-License-Identifier: MIT
/* `headroom diff`: two profiles in, what changed out. */
#include "cli/common.h"
#include "cli/verbs.h"

#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { DIFF_FAILED = 1 };

struct differing {
    struct profile **profiles;
    struct diff_options options;
    bool json;
};

static enum base_status print_diff(void *context, FILE *out)
{
    struct differing *differing = context;
    return (differing->json ? diff_json : diff_text)(differing->profiles[0], differing->profiles[1],
                                                     &differing->options, out);
}

static int show_diff(const struct settings *settings, struct profile *profiles[2], char **names)
{
    bool json = settings->format == FORMAT_JSON;
    struct differing differing = {
        .profiles = profiles,
        .json = json,
        .options = {.limit = settings->limit != UINT64_MAX ? (unsigned)settings->limit
                             : json                        ? 0
                                                           : PAIRS_IN_TEXT,
                    .color = use_color(settings->color, STDOUT_FILENO),
                    .ascii = is_ascii_terminal(STDOUT_FILENO),
                    .sources = true,
                    .width = terminal_width(STDOUT_FILENO),
                    .by = compare_by(settings),
                    .level = settings->level,
                    .names = {names[0], names[1]}},
    };
    struct pager pager;
    uint64_t most_bytes = output_most_bytes(profiles[0]->file_bytes + profiles[1]->file_bytes);
    pager_begin(&pager, settings->format == FORMAT_TEXT);
    enum base_status status = output_whole(print_diff, &differing, pager.out, most_bytes);
    bool written = pager_end(&pager);
    if (status == BASE_OK && written)
        return 0;
    if (status == BASE_TOO_LARGE)
        say("the list of changes would be larger than %" PRIu64
            " MiB, more than for any recordings of this size; --limit N lists only the N largest "
            "changes.",
            most_bytes >> 20);
    else
        say("cannot write the list of changes: %s.",
            status == BASE_OK || status == BASE_IO ? strerror(errno) : base_status_text(status));
    return DIFF_FAILED;
}

static int diff_run(const struct settings *settings, int count, char **operands)
{
    struct profile *profiles[2] = {NULL, NULL};
    char error[8704] = "unknown failure.";
    int code = DIFF_FAILED;
    if (count != 2)
        return say_usage("diff", "two profiles are expected, not %d", count);
    time_limit_start(time_limit_seconds(2, (const char *const *)operands));
    if (profile_read(operands[0], &profiles[0], error, sizeof error) != BASE_OK ||
        profile_read(operands[1], &profiles[1], error, sizeof error) != BASE_OK ||
        diff_comparable(profiles[0], profiles[1], error, sizeof error) != BASE_OK)
        say("%s", error);
    else
        code = show_diff(settings, profiles, operands);
    profile_free(profiles[0]);
    profile_free(profiles[1]);
    return code;
}

/* ---- the command line --------------------------------------------------------------------------
 */

static const struct option_spec diff_options[] = {
    OPTION_FORMAT,
    {"limit", 0, OPTION_NUMBER, FIELD(limit), .low = 0, .high = 1000000, .argument = "N",
     .help = "Show the N largest changes of each kind; 0 shows all. Default: 10 in text, all in "
             "JSON."},
    OPTION_COMPARE_BY,
    OPTION_LEVEL,
    OPTION_COLOR,
    OPTION_HELP,
    OPTION_END,
};

const struct verb diff_verb = {
    .name = "diff",
    .summary = "show what changed between two profiles",
    .arguments = "BEFORE AFTER",
    .description =
        "Matches the findings of profiles BEFORE and AFTER by kind and by the functions of "
        "both calling contexts, even if lines have moved or the program was rebuilt, and lists "
        "which appeared, vanished, grew or shrank, together with the figures of the whole run. "
        "Both must come from the same verb and the same engine.\n\n"
        "For exact recordings and counted paths, every difference is listed. Samples differ by "
        "chance: their shares are tested, allowing for the number of comparisons (--level), "
        "and only significant differences are listed. Spans of 'headroom interference' are "
        "shown side by side without a test.",
    .exit_status = "0 on success, with or without differences; 1 if a file cannot be read or "
                   "the profiles cannot be compared, 2 for wrong options.",
    .options = diff_options,
    .usage_code = 2,
    .operands = OPERANDS_PROFILES,
    .operands_most = 2,
    .run = diff_run,
};
