// SPDX-License-Identifier: MIT
/* `headroom diff`: two profiles in, what changed out. */
#include "cli/verbs.h"

#include "profile/profile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { DIFF_FAILED = 1 };

static enum base_status print_diff(const struct settings *settings, struct profile *profiles[2],
                                   char **names, FILE *out)
{
    bool json = settings->format == FORMAT_JSON;
    struct report_diff_options options = {
        .limit = settings->limit != UINT64_MAX ? (unsigned)settings->limit
                 : json                        ? 0
                                               : PAIRS_IN_TEXT,
        .color = use_color(settings->color, STDOUT_FILENO),
        .ascii = is_ascii_terminal(STDOUT_FILENO),
        .sources = true,
        .width = terminal_width(STDOUT_FILENO),
        .level = settings->level,
        .names = {names[0], names[1]},
    };
    return (json ? report_diff_json : report_diff_text)(profiles[0], profiles[1], &options, out);
}

static int show_diff(const struct settings *settings, struct profile *profiles[2], char **names)
{
    struct pager pager;
    pager_begin(&pager, settings->format == FORMAT_TEXT);
    enum base_status status = print_diff(settings, profiles, names, pager.out);
    bool written = pager_end(&pager);
    if (status == BASE_OK && written)
        return 0;
    say("cannot write what changed: %s.",
        status == BASE_OK || status == BASE_IO ? strerror(errno) : base_status_text(status));
    return DIFF_FAILED;
}

int diff_run(const struct settings *settings, int count, char **operands)
{
    struct profile *profiles[2] = {NULL, NULL};
    char error[8704] = "unknown failure.";
    int code = DIFF_FAILED;
    if (count != 2)
        return say_usage("diff", "two profiles are needed, not %d", count);
    if (profile_read(operands[0], &profiles[0], error, sizeof error) != BASE_OK ||
        profile_read(operands[1], &profiles[1], error, sizeof error) != BASE_OK ||
        report_comparable(profiles[0], profiles[1], error, sizeof error) != BASE_OK)
        say("%s", error);
    else
        code = show_diff(settings, profiles, operands);
    profile_free(profiles[0]);
    profile_free(profiles[1]);
    return code;
}
