// SPDX-License-Identifier: MIT
/*
 * Documents made from the table: --help, manual pages, completions of three shells.
 */
#include "cli/options.h"

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
    for (const struct verb *verb = verbs; verb->name; verb++)
        longest = (int)strlen(verb->name) > longest ? (int)strlen(verb->name) : longest;
    fputs("\nVerbs:\n", out);
    for (const struct verb *verb = verbs; verb->name; verb++)
        fprintf(out, "  %-*s  %s\n", longest, verb->name, verb->summary);
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
        for (const struct verb *each = verbs; each->name; each++)
            fprintf(out, ".TP\n\\fBheadroom\\-%s\\fR(1)\n%s\n", each->name, each->summary);
    }
    roff_options(out, verb->options);
    roff_section(out, "EXIT STATUS", verb->exit_status);
    if (whole)
        return;
    fputs(".SH SEE ALSO\n\\fBheadroom\\fR(1)\n", out);
}

/* ---- completions --------------------------------------------------------------------------- */

static void words(FILE *out, const struct option_spec *options)
{
    for (const struct option_spec *spec = options; spec->name; spec++)
        if (spec->help)
            fprintf(out, "--%s ", spec->name);
}

static void bash_values(FILE *out)
{
    fputs("    case \"$verb $previous\" in\n", out);
    for (const struct verb *verb = verbs; verb->name; verb++) {
        for (const struct option_spec *spec = verb->options; spec->name; spec++) {
            if (!spec->help || spec->type == OPTION_FLAG)
                continue;
            fprintf(out, "    '%s --%s'", verb->name, spec->name);
            if (spec->letter)
                fprintf(out, "|'%s -%c'", verb->name, spec->letter);
            fputs(") COMPREPLY=(", out);
            if (spec->choices) {
                fputs("$(compgen -W '", out);
                for (int i = 0; spec->choices[i]; i++)
                    fprintf(out, "%s ", spec->choices[i]);
                fputs("' -- \"$word\")", out);
            } else if (spec->type == OPTION_FILE) {
                fputs("$(compgen -f -- \"$word\")", out);
            }
            fputs("); return ;;\n", out);
        }
    }
    fputs("    esac\n", out);
}

/* A case pattern of the options that take a value. */
static void bash_valued(FILE *out, const struct option_spec *options)
{
    const char *divider = "";
    for (const struct option_spec *spec = options; spec->name; spec++) {
        if (!spec->help || spec->type == OPTION_FLAG)
            continue;
        fprintf(out, "%s--%s", divider, spec->name);
        if (spec->letter)
            fprintf(out, "|-%c", spec->letter);
        divider = "|";
    }
}

/* Finds the verb's first operand like the parser: the first word that is no option or value. */
static void generate_bash(FILE *out)
{
    fputs("# bash completion for headroom\n_headroom()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local verb=${COMP_WORDS[1]} i\n    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W '",
          out);
    for (const struct verb *verb = verbs; verb->name; verb++)
        fprintf(out, "%s ", verb->name);
    words(out, top.options);
    fputs("' -- \"$word\"))\n        return\n    fi\n", out);
    for (const struct verb *verb = verbs; verb->name; verb++) {
        if (!verb->command)
            continue;
        fprintf(out,
                "    if [ \"$verb\" = %s ]; then\n        local dashes=\n"
                "        for ((i = 2; i < COMP_CWORD; i++)); do\n"
                "            case ${COMP_WORDS[i]} in\n"
                "            --) dashes=1; ((i++)); break ;;\n            ",
                verb->name);
        bash_valued(out, verb->options);
        fputs(") ((i++)) ;;\n            -*) ;;\n            *) break ;;\n            esac\n"
              "        done\n        if [ \"$i\" -lt \"$COMP_CWORD\" ]; then\n"
              "            COMPREPLY=($(compgen -f -- \"$word\"))\n            return\n"
              "        elif [ \"$i\" -eq \"$COMP_CWORD\" ] && [[ $dashes || $word != -* ]]; then\n"
              "            COMPREPLY=($(compgen -c -- \"$word\"))\n            return\n"
              "        fi\n    fi\n",
              out);
    }
    bash_values(out);
    fputs("    case $verb in\n", out);
    for (const struct verb *verb = verbs; verb->name; verb++) {
        fprintf(out, "    %s) COMPREPLY=($(compgen -W '", verb->name);
        words(out, verb->options);
        fputs("' -- \"$word\")", out);
        if (verb->files)
            fputs(" $(compgen -f -- \"$word\")", out);
        fputs(") ;;\n", out);
    }
    fputs("    esac\n}\ncomplete -F _headroom headroom\n", out);
}

/* Help without the characters that end a zsh specification or a quoted word. */
static void shell_text(FILE *out, const char *text, const char *unwanted)
{
    for (; *text && !(text[0] == '.' && (text[1] == ' ' || text[1] == 0)); text++)
        if (!strchr(unwanted, *text))
            fputc(*text, out);
}

static void generate_zsh(FILE *out)
{
    fputs("#compdef headroom\n_headroom() {\n    local -a verbs=(\n", out);
    for (const struct verb *verb = verbs; verb->name; verb++)
        fprintf(out, "        '%s:%s'\n", verb->name, verb->summary);
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n"
          "    fi\n    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
          "    case $verb in\n",
          out);
    for (const struct verb *verb = verbs; verb->name; verb++) {
        fprintf(out, "    %s)\n        _arguments -S", verb->name);
        for (const struct option_spec *spec = verb->options; spec->name; spec++) {
            if (!spec->help)
                continue;
            fprintf(out, " \\\n            '--%s[", spec->name);
            shell_text(out, spec->help, "'[]:");
            fputc(']', out);
            if (spec->type != OPTION_FLAG)
                fprintf(out, ":%s:", spec->type == OPTION_FILE ? "file" : "value");
            if (spec->type == OPTION_FILE)
                fputs("_files", out);
            if (spec->choices) {
                fputc('(', out);
                for (int i = 0; spec->choices[i]; i++)
                    fprintf(out, "%s%s", i ? " " : "", spec->choices[i]);
                fputc(')', out);
            }
            fputc('\'', out);
        }
        fputs(verb->command ? " \\\n            '*::command:_normal'\n"
              : verb->files ? " \\\n            '*:file:_files'\n"
                            : "\n",
              out);
        fputs("        ;;\n", out);
    }
    fputs("    esac\n}\n_headroom \"$@\"\n", out);
}

static void generate_fish(FILE *out)
{
    fputs("# fish completion for headroom\n", out);
    for (const struct verb *verb = verbs; verb->name; verb++)
        fprintf(out, "complete -c headroom -n __fish_use_subcommand -f -a %s -d '%s'\n", verb->name,
                verb->summary);
    for (const struct verb *verb = verbs; verb->name; verb++) {
        for (const struct option_spec *spec = verb->options; spec->name; spec++) {
            if (!spec->help)
                continue;
            fprintf(out, "complete -c headroom -n '__fish_seen_subcommand_from %s' -l %s",
                    verb->name, spec->name);
            if (spec->letter)
                fprintf(out, " -s %c", spec->letter);
            if (spec->type != OPTION_FLAG)
                fputs(spec->type == OPTION_FILE ? " -r -F" : " -x", out);
            if (spec->choices) {
                fputs(" -a '", out);
                for (int i = 0; spec->choices[i]; i++)
                    fprintf(out, "%s%s", i ? " " : "", spec->choices[i]);
                fputc('\'', out);
            }
            fputs(" -d '", out);
            shell_text(out, spec->help, "'\\");
            fputs("'\n", out);
        }
        if (verb->command)
            fprintf(out,
                    "complete -c headroom -n '__fish_seen_subcommand_from %s' -f -a "
                    "'(__fish_complete_subcommand)'\n",
                    verb->name);
    }
}

bool generate_document(const char *what, FILE *out)
{
    if (strcmp(what, "man") == 0)
        generate_man(&top, out);
    else if (strncmp(what, "man:", 4) == 0 && find_verb(what + 4))
        generate_man(find_verb(what + 4), out);
    else if (strcmp(what, "bash") == 0)
        generate_bash(out);
    else if (strcmp(what, "zsh") == 0)
        generate_zsh(out);
    else if (strcmp(what, "fish") == 0)
        generate_fish(out);
    else
        return false;
    return true;
}
