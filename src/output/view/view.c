// SPDX-License-Identifier: MIT
/*
 * The page: first what can be read without scripts, then the data and the script. A policy in its
 * head admits that one script and that one style by their hashes and nothing from anywhere else, so
 * that even markup which got in by a mistake could not do anything. All texts of the profile are
 * escaped; control characters and those that turn the direction of writing are shown as U+FFFD.
 */
#include "view/internal.h"

#include "show/collect.h"
#include "show/names.h"
#include "show/report.h"
#include "view/tree.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_FINDINGS = 10, TEXT_COLUMNS = 80, FINDINGS_MAX = 1024 };

/* ---- text in markup ----------------------------------------------------------------------------
 */

/* The first letter of a text that has one; how many bytes it has. */
static size_t letter_write(const char *text, FILE *out)
{
    size_t bytes = name_utf8(text);
    if (bytes == 0 || (!name_shows(text, bytes) && !strchr("\n\t", *text))) {
        fputs("&#xfffd;", out);
        return bytes ? bytes : 1;
    }
    if (strchr("&<>\"'", *text))
        fprintf(out, "&#%d;", *text);
    else
        fwrite(text, 1, bytes, out);
    return bytes;
}

static void text_write(const char *text, FILE *out)
{
    while (*text)
        text += letter_write(text, out);
}

/* ---- reports in markup -------------------------------------------------------------------------
 */

/* What reports are styled with (print_on), and links (print_link): whatever else follows an escape
   is text. Names in them have no escapes, they are cleaned. */
static const struct tone {
    const char *code, *opens, *closes;
} tones[] = {
    {"\033[0m", "", ""},
    {"\033[1m", "<b>", "</b>"},
    {"\033[2m", "<span class=\"dim\">", "</span>"},
    {"\033[1;36m", "<b class=\"heading\">", "</b>"},
};

struct markup {
    FILE *out;
    const char *closes; /* the tone that is open, "" */
    bool linked;
};

static void set_tone(struct markup *markup, const struct tone *tone)
{
    fprintf(markup->out, "%s%s", markup->closes, tone->opens);
    markup->closes = tone->closes;
}

/* target: letters, digits and what stands between names and values of a view; none: ends it. */
static void set_link(struct markup *markup, const char *target, size_t bytes)
{
    set_tone(markup, &tones[0]);
    fputs(markup->linked ? "</a>" : "", markup->out);
    markup->linked = bytes > 0;
    if (markup->linked) {
        fputs("<a href=\"", markup->out);
        fwrite(target, 1, bytes, markup->out);
        fputs("\">", markup->out);
    }
}

/* Of a code, how many bytes it has; else 0. */
static size_t code_write(struct markup *markup, const char *text)
{
    static const char link[] = "\033]8;;", end[] = "\033\\";
    for (size_t i = 0; i < BASE_COUNT(tones); i++) {
        size_t bytes = strlen(tones[i].code);
        if (strncmp(text, tones[i].code, bytes) == 0) {
            set_tone(markup, &tones[i]);
            return bytes;
        }
    }
    if (strncmp(text, link, sizeof link - 1) != 0)
        return 0;
    const char *target = text + sizeof link - 1;
    size_t bytes = strspn(target, "#&=abcdefghijklmnopqrstuvwxyz0123456789");
    if (strncmp(target + bytes, end, sizeof end - 1) != 0)
        return 0;
    set_link(markup, target, bytes);
    return (size_t)(target - text) + bytes + sizeof end - 1;
}

static void report_write(const char *text, FILE *out)
{
    struct markup markup = {.out = out, .closes = ""};
    while (*text) {
        size_t bytes = *text == '\033' ? code_write(&markup, text) : 0;
        text += bytes ? bytes : letter_write(text, out);
    }
    set_link(&markup, "", 0);
}

/* ---- what is read without scripts
 * ------------------------------------------------------------------ */

static void command(const struct profile *profile, FILE *out)
{
    for (size_t i = 0; i < profile->arguments_count; i++) {
        fputs(i ? " " : "", out);
        text_write(profile->arguments[i].text, out);
    }
}

static void title(const struct profile *profile, FILE *out)
{
    fputs("headroom ", out);
    text_write(profile->run.verb, out);
    const struct analysis *verb = analysis_find(profile->run.verb);
    const char *subject = profile->arguments_count ? profile->arguments[0].text : NULL;
    if (verb && verb->view && verb->view->subject)
        subject = verb->view->subject(profile);
    if (subject) {
        fputs(": ", out);
        text_write(name_base(subject), out);
    }
}

static enum base_status findings(struct profile *profile, const struct view_options *options,
                                 FILE *out)
{
    struct report_options report = {.limit = TEXT_FINDINGS,
                                    .by = options->by,
                                    .width = TEXT_COLUMNS,
                                    .color = true,
                                    .links = true,
                                    .sources = options->sources,
                                    .profile_path = options->profile_path};
    return report_text(profile, &report, out);
}

struct diff_options view_diff_options(const struct view_options *options, unsigned limit)
{
    return (struct diff_options){.limit = limit,
                                 .width = TEXT_COLUMNS,
                                 .color = true,
                                 .sources = options->sources,
                                 .by = options->by,
                                 .level = options->level,
                                 .names = {options->before_path, options->profile_path}};
}

static enum base_status changes(struct profile *profile, const struct view_options *options,
                                FILE *out)
{
    struct diff_options diff = view_diff_options(options, TEXT_FINDINGS);
    return diff_text(options->before, profile, &diff, out);
}

/*
 * Each part of the page is made in memory. The tree has numbers for each context, some 40 bytes
 * where the file has ten; findings with their contexts are some 180 bytes a frame, and 128 MiB 500
 * findings of each of three kinds with two contexts that are more than 200 frames deep.
 */
enum { TEXT_BYTES_MAX = 128 << 20, TEXT_FACTOR_MAX = 8 };

static bool begin_text(struct collected *text, const struct profile *profile,
                       const struct profile *before)
{
    uint64_t read_bytes = profile->file_bytes + (before ? before->file_bytes : 0);
    size_t most_bytes = TEXT_BYTES_MAX + TEXT_FACTOR_MAX * read_bytes;
    return collect_begin(text, most_bytes, most_bytes);
}

typedef enum base_status text_writer(struct profile *profile, const struct view_options *options,
                                     FILE *out);

static enum base_status preformatted(text_writer *write, struct profile *profile,
                                     const struct view_options *options, FILE *out)
{
    struct collected text;
    if (!begin_text(&text, profile, options->before))
        return BASE_NO_MEMORY;
    enum base_status status = write(profile, options, text.stream);
    if (status == BASE_OK)
        putc(0, text.stream);
    status = collect_end(&text, status);
    if (status != BASE_OK)
        return status;
    fputs("<pre class=\"report\">", out);
    report_write(text.text, out);
    fputs("</pre>\n", out);
    free(text.text);
    return BASE_OK;
}

static void degradations(const struct profile *profile, FILE *out)
{
    if (!profile->degraded_count)
        return;
    fputs("<section class=\"degraded\"><h2>Limits of the recording</h2><ul>\n", out);
    for (size_t i = 0; i < profile->degraded_count; i++) {
        fputs("<li>", out);
        text_write(profile->degraded[i].text, out);
        fputs("</li>\n", out);
    }
    fputs("</ul></section>\n", out);
}

static enum base_status summary(struct profile *profile, const struct view_options *options,
                                FILE *out)
{
    fputs("<main id=\"summary\">\n<h1>", out);
    title(profile, out);
    fputs("</h1>\n<p class=\"command\"><code>", out);
    command(profile, out);
    fputs("</code></p>\n", out);
    enum base_status status = BASE_OK;
    if (options->before) {
        fputs("<h2>Changes</h2>\n", out);
        status = preformatted(changes, profile, options, out);
        fputs("<h2>The profile</h2>\n", out);
    }
    degradations(profile, out);
    if (status == BASE_OK)
        status = preformatted(findings, profile, options, out);
    fprintf(out, "<p class=\"note\">%s Written by headroom %s.</p>\n",
            options->sources
                ? "Lines of source files are part of this page (--no-sources leaves them out)."
                : "No lines of source files are part of this page.",
            HEADROOM_VERSION);
    fputs("<noscript><p class=\"note\">The other views need scripts.</p></noscript>\n</main>\n",
          out);
    return status;
}

/* ---- the page
 * ------------------------------------------------------------------------------------------ */

static void head(const struct profile *profile, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", out);
    fprintf(out,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'\">\n",
            view_script_hash, view_style_hash);
    fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
          out);
    title(profile, out);
    fprintf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n", view_style);
}

/* Each once: is the tab among those of the verbs before this one? */
static bool is_listed(const struct profile *profile, const struct analysis *const *end,
                      const char *tab)
{
    for (const struct analysis *const *at = analyses; at < end; at++) {
        const char *const *tabs = (*at)->view ? (*at)->view->tabs(profile) : NULL;
        for (; tabs && *tabs; tabs++)
            if (strcmp(*tabs, tab) == 0)
                return true;
    }
    return false;
}

/* Which views there are is said beside the data, so that none of it has to be read for the tabs. */
static void views(const struct profile *profile, const struct view_options *options, bool has_tree,
                  FILE *out)
{
    fprintf(out, " data-views=\"summary%s", options->before ? " changes" : "");
    for (const struct analysis *const *at = analyses; *at; at++) {
        const char *const *tabs = (*at)->view ? (*at)->view->tabs(profile) : NULL;
        for (; tabs && *tabs; tabs++)
            if (!is_listed(profile, at, *tabs))
                fprintf(out, " %s", *tabs);
    }
    fprintf(out, "%s\"", has_tree ? " tree" : "");
}

static const char data_tag[] = "<script type=\"application/octet-stream\"";

static enum base_status pack(const char *id, struct collected *text, FILE *out)
{
    fprintf(out, " id=\"%s\">", id);
    enum base_status status = encode_write(text->text, text->bytes, out);
    fputs("</script>\n", out);
    free(text->text);
    return status;
}

static enum base_status make_data(struct profile *profile, const struct view_options *options,
                                  struct collected *text, size_t *source_files)
{
    if (!begin_text(text, profile, options->before))
        return BASE_NO_MEMORY;
    return collect_end(text, data_write(profile, options, text->stream, source_files));
}

/* With fewer findings, if all that are asked for are too much. */
static enum base_status packed_data(struct profile *profile, const struct view_options *options,
                                    FILE *out, size_t *source_files)
{
    struct collected text;
    struct view_options fewer = *options;
    enum base_status status = make_data(profile, &fewer, &text, source_files);
    while (status == BASE_TOO_LARGE && fewer.limit != 1) {
        fewer.limit = fewer.limit ? fewer.limit / 2 : FINDINGS_MAX / 2;
        status = make_data(profile, &fewer, &text, source_files);
    }
    if (status != BASE_OK)
        return status;
    if (options->shown)
        *options->shown = fewer.limit;
    fputs(data_tag, out);
    return pack("data", &text, out);
}

static enum base_status packed_tree(const struct profile *profile,
                                    const struct view_options *options, FILE *out)
{
    struct collected text;
    bool any = false;
    if (!begin_text(&text, profile, options->before))
        return BASE_NO_MEMORY;
    enum base_status status = collect_end(&text, tree_write(profile, text.stream, &any));
    if (status != BASE_OK)
        return status;
    fputs(data_tag, out);
    views(profile, options, any, out);
    return pack("tree", &text, out);
}

enum base_status view_write(struct profile *profile, const struct view_options *options, FILE *out,
                            size_t *source_files)
{
    size_t files = 0;
    head(profile, out);
    enum base_status status = summary(profile, options, out);
    if (status == BASE_OK)
        status = packed_data(profile, options, out, &files);
    if (status == BASE_OK)
        status = packed_tree(profile, options, out);
    if (status != BASE_OK)
        return status;
    fprintf(out, "<script>%s</script>\n</body>\n</html>\n", view_script);
    if (fflush(out) != 0 || ferror(out))
        return BASE_IO;
    *source_files = files;
    return BASE_OK;
}
