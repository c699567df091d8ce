// SPDX-License-Identifier: MIT
/* Reports of profiles as text or JSON, for `headroom report` and behind recordings. */
#include "cli/verbs.h"

#include "analysis/analysis.h"
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct binary_options symbol_options(const struct settings *settings)
{
    return (struct binary_options){.debuginfod = settings->debuginfod != DEBUGINFOD_NO};
}

bool is_ascii_terminal(int descriptor)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; i < BASE_COUNT(names) && !(locale && *locale); i++)
        locale = getenv(names[i]);
    return isatty(descriptor) &&
           !(locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8")));
}

struct showing {
    struct profile *profile;
    const struct report_options *options;
    bool json;
};

static enum base_status show(void *context, FILE *out)
{
    const struct showing *showing = context;
    return (showing->json ? report_json : report_text)(showing->profile, showing->options, out);
}

/* In JSON all that is not a gigabyte, and if asked for, all. */
static unsigned limit_of(const struct settings *settings, const struct profile *profile, bool json)
{
    bool leads = analysis_lead(profile->run.verb) && !settings->kinds;
    if (settings->limit == UINT64_MAX)
        return json ? 0 : leads ? FINDINGS_THAT_LEAD : PAIRS_IN_TEXT;
    return json && settings->limit == 0 ? UINT_MAX : (unsigned)settings->limit;
}

enum base_status show_profile(const char *path, const char *name, const struct settings *settings,
                              FILE *out, int descriptor, char *error, size_t error_bytes)
{
    bool json = settings->format == FORMAT_JSON;
    struct report_options options = {
        .by = (enum report_by)settings->by,
        .all_frames = settings->all_frames,
        .color = use_color(settings->color, descriptor),
        .ascii = is_ascii_terminal(descriptor),
        .sources = true,
        .width = terminal_width(descriptor),
        .kinds = (uint8_t)settings->kinds,
        .paper_bins = settings->paper_bins,
        .hot = settings->hot,
        .metric = (unsigned)settings->metric,
        .keys = settings->keys.texts,
        .keys_count = settings->keys.count,
        .least_executions = settings->min_executions,
        .profile_path = name,
    };
    struct profile *profile = NULL;
    enum base_status status = profile_read(path, &profile, error, error_bytes);
    if (status != BASE_OK)
        return status;
    options.limit = limit_of(settings, profile, json);
    struct showing showing = {profile, &options, json};
    uint64_t most_bytes = output_most_bytes(profile->file_bytes);
    status = output_whole(show, &showing, out, most_bytes);
    if (status == BASE_TOO_LARGE)
        snprintf(error, error_bytes,
                 "the report of '%s' would be larger than %" PRIu64
                 " MiB, more than for any recording of this size; --limit N shows only the N "
                 "largest findings.",
                 path, most_bytes >> 20);
    else if (status != BASE_OK)
        snprintf(error, error_bytes, "cannot write the report of '%s': %s.", path,
                 status == BASE_IO ? strerror(errno) : base_status_text(status));
    profile_free(profile);
    return status;
}
