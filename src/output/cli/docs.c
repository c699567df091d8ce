// SPDX-License-Identifier: MIT
/*
 * Documents made from the table: --help and manual pages; completions are in completions.c.
 */
#include "cli/completions.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 80, HELP_COLUMN = 26 };

/* ---- --help ------------------------------------------------------------------------------ */

/* Wraps one paragraph; the first line starts at `column` already. Ends with a line end. */
static void wrap(FILE *out, const char *text, size_t length, size_t indent, size_t column)
{
    const char *end = text + length;
    bool first = true;
    while (text < end) {
        size_t word = strcspn(text, " \n");
        if (word > (size_t)(end - text))
            word = (size_t)(end - text);
        if (!first && column + 1 + word > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", (int)word, text);
        column += word + !first;
        first = false;
        text += word;
        while (text < end && (*text == ' ' || *text == '\n'))
            text++;
    }
    fputc('\n', out);
}

static void wrap_paragraphs(FILE *out, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        wrap(out, text, length, 0, 0);
        text += length + (end ? 2 : 0);
        if (*text)
            fputc('\n', out);
    }
}

static void print_options(const struct option_spec *options, FILE *out)
{
    fputs("\nOptions:\n", out);
    for (const struct option_spec *spec = options; spec->name; spec++) {
        if (!spec->help)
            continue;
        char head[96];
        int used = spec->letter ? snprintf(head, sizeof head, "  -%c, ", spec->letter)
                                : snprintf(head, sizeof head, "      ");
        used += snprintf(head + used, sizeof head - (size_t)used, "--%s%s%s", spec->name,
                         spec->argument ? " " : "", spec->argument ? spec->argument : "");
        if (used + 2 > HELP_COLUMN) {
            fprintf(out, "%s\n%*s", head, HELP_COLUMN, "");
        } else {
            fprintf(out, "%-*s", HELP_COLUMN, head);
        }
        wrap(out, spec->help, strlen(spec->help), HELP_COLUMN, HELP_COLUMN);
    }
}

static void print_verbs(FILE *out)
{
    int longest = 0;
    for (const struct verb *const *at = verbs; *at; at++)
        longest = (int)strlen((*at)->name) > longest ? (int)strlen((*at)->name) : longest;
    fputs("\nVerbs:\n", out);
    for (const struct verb *const *at = verbs; *at; at++)
        fprintf(out, "  %-*s  %s\n", longest, (*at)->name, (*at)->summary);
}

void print_help(const struct verb *verb, FILE *out)
{
    bool whole = verb == &top;
    fprintf(out, "Usage: headroom %s%s%s%s\n\n", verb->name, whole ? "" : " [OPTION...]",
            *verb->arguments && !whole ? " " : "", verb->arguments);
    wrap_paragraphs(out, verb->description);
    if (whole)
        print_verbs(out);
    print_options(verb->options, out);
    fputs("\nExit status:\n", out);
    wrap(out, verb->exit_status, strlen(verb->exit_status), 0, 0);
    if (whole)
        fputs("\nStart with 'headroom waste -- COMMAND'; 'headroom help VERB' explains a verb.\n",
              out);
}

/* ---- manual pages -------------------------------------------------------------------------- */

/* Text as roff: backslashes and minus signs are escaped, a leading dot or quote is hidden. */
static void roff(FILE *out, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (text[0] == '\n' && text[1] == '\n') {
            fputs("\n.PP\n", out);
            text++;
            line_start = true;
            continue;
        }
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        line_start = *text == '\n';
    }
}

static void roff_section(FILE *out, const char *title, const char *text)
{
    fprintf(out, ".SH %s\n", title);
    roff(out, text);
    fputc('\n', out);
}

static void roff_options(FILE *out, const struct option_spec *options)
{
    fputs(".SH OPTIONS\n", out);
    for (const struct option_spec *spec = options; spec->name; spec++) {
        if (!spec->help)
            continue;
        fputs(".TP\n", out);
        if (spec->letter)
            fprintf(out, "\\fB\\-%c\\fR, ", spec->letter);
        fputs("\\fB\\-\\-", out);
        roff(out, spec->name);
        fputs("\\fR", out);
        if (spec->argument)
            fprintf(out, " \\fI%s\\fR", spec->argument);
        fputc('\n', out);
        roff(out, spec->help);
        fputc('\n', out);
    }
}

static void roff_title(FILE *out, const char *name)
{
    fputs(".TH HEADROOM", out);
    if (*name)
        fputc('-', out);
    for (; *name; name++)
        fputc(toupper((unsigned char)*name), out);
    fprintf(out, " 1 \"\" \"headroom %s\" \"User Commands\"\n", HEADROOM_VERSION);
}

static void generate_man(const struct verb *verb, FILE *out)
{
    bool whole = verb == &top;
    roff_title(out, verb->name);
    fprintf(out, ".SH NAME\nheadroom%s%s \\- %s\n", whole ? "" : "\\-", verb->name, verb->summary);
    fprintf(out, ".SH SYNOPSIS\n\\fBheadroom %s\\fR%s", verb->name,
            whole ? "" : " [\\fIOPTION\\fR...] ");
    roff(out, verb->arguments);
    fputc('\n', out);
    roff_section(out, "DESCRIPTION", verb->description);
    if (whole) {
        fputs(".SH VERBS\n", out);
        for (const struct verb *const *at = verbs; *at; at++)
            fprintf(out, ".TP\n\\fBheadroom\\-%s\\fR(1)\n%s\n", (*at)->name, (*at)->summary);
    }
    roff_options(out, verb->options);
    roff_section(out, "EXIT STATUS", verb->exit_status);
    if (whole)
        return;
    fputs(".SH SEE ALSO\n\\fBheadroom\\fR(1)\n", out);
}

bool generate_document(const char *what, FILE *out)
{
    if (strcmp(what, "man") == 0)
        generate_man(&top, out);
    else if (strncmp(what, "man:", 4) == 0 && find_verb(what + 4))
        generate_man(find_verb(what + 4), out);
    else if (strcmp(what, "bash") == 0)
        completions_bash(out);
    else if (strcmp(what, "zsh") == 0)
        completions_zsh(out);
    else if (strcmp(what, "fish") == 0)
        completions_fish(out);
    else
        return false;
    return true;
}
