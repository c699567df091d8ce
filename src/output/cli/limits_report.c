// SPDX-License-Identifier: MIT
/* `headroom limits`: what is written of the loops. */
#include "cli/limits_work.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct showing {
    struct limits_work *work;
    const struct report_options *options;
};

static enum base_status write_report(void *context, FILE *out)
{
    const struct showing *showing = context;
    bool json = showing->work->settings->format == FORMAT_JSON;
    return (json ? report_json : report_text)(showing->work->profile, showing->options, out);
}

static int print_report(struct limits_work *work, const char *profile_path)
{
    const struct settings *settings = work->settings;
    struct report_options options = {
        .color = use_color(settings->color, STDOUT_FILENO),
        .ascii = is_ascii_terminal(STDOUT_FILENO),
        .width = terminal_width(STDOUT_FILENO),
        .limit = settings->limit != UINT64_MAX     ? (unsigned)settings->limit
                 : settings->format == FORMAT_JSON ? 0
                                                   : PAIRS_IN_TEXT,
        .profile_path = profile_path,
    };
    struct showing showing = {work, &options};
    struct pager pager;
    pager_begin(&pager, settings->format == FORMAT_TEXT);
    enum base_status status = write_report(&showing, pager.out);
    bool written = pager_end(&pager);
    if (status == BASE_OK && written)
        return 0;
    say("cannot write the report: %s.",
        status == BASE_OK || status == BASE_IO ? strerror(errno) : base_status_text(status));
    return LIMITS_FAILED;
}

/* False; errno says why. */
bool limits_cannot_write(struct limits_work *work, const char *path)
{
    snprintf(work->error, sizeof work->error, "cannot write '%.4000s': %s.", path, strerror(errno));
    return false;
}

/* path: NULL: not asked for. */
static bool write_text(struct limits_work *work, const char *path, const struct util_text *text,
                       bool drawn)
{
    struct replacement file;
    if (!path)
        return true;
    if (!replace_begin(&file, path))
        return limits_cannot_write(work, path);
    bool good = drawn ? assess_svg(text, file.out, work->error)
                      : fwrite(text->bytes, 1, text->count, file.out) == text->count;
    bool whole = replace_end(&file, good);
    if (!whole && (good || !drawn))
        return limits_cannot_write(work, path);
    return good && whole;
}

bool limits_write_graph(struct limits_work *work)
{
    const char *path = limits_own(work->settings)->graph;
    return write_text(work, path, &work->graph, path && limits_ends_with(path, ".svg"));
}

static bool write_source_graph(struct limits_work *work)
{
    const char *path = limits_own(work->settings)->source_graph;
    size_t rows = work->profile->limit_sources_count;
    if (path && !work->source_graph.count) {
        const char *reason = rows ? work->profile->limit_sources[0].reason : NULL;
        snprintf(work->error, sizeof work->error,
                 "there are no dependences of a source to write: %.4000s",
                 reason ? reason : "name a line of one, and its compiler behind --.");
        return false;
    }
    return write_text(work, path, &work->source_graph, path && limits_ends_with(path, ".svg"));
}

bool limits_write_schedule(struct limits_work *work)
{
    return write_text(work, limits_own(work->settings)->schedule, &work->schedule, false);
}

static bool write_texts(struct limits_work *work)
{
    return limits_write_graph(work) && write_source_graph(work) && limits_write_schedule(work);
}

int limits_conclude(struct limits_work *work)
{
    const struct settings *settings = work->settings;
    if (!write_texts(work) ||
        (settings->output && profile_write(work->profile, settings->output, work->error,
                                           sizeof work->error) != BASE_OK)) {
        say("%s", work->error);
        return LIMITS_FAILED;
    }
    return settings->quiet ? 0 : print_report(work, settings->output);
}
