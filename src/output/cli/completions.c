// SPDX-License-Identifier: MIT
/*
 * Completions for bash, zsh and fish. Each script is a fixed part, which reads the line as the
 * parser does (options end at the first operand of a verb that takes a command), and tables made
 * from the verbs: so a new verb or option needs nothing here.
 *
 * Offered is what fits: profiles by their names, raw logs only where they are read, the names of
 * verbs, programs that can be executed, values of options; no more operands than a verb takes.
 */
#include "cli/completions.h"

#include <string.h>

/* What files are called: profiles as recordings name them and keep them, raw logs as launch does.
   Two question marks in a row may begin a trigraph. */
#define PROFILES   "'*.headroom' '*.headroom.old'"
#define RECORDINGS PROFILES " '*.raw.?\?\?\?\?\?'"

static bool takes_command(const struct verb *verb)
{
    return verb->operands == OPERANDS_COMMAND || verb->operands == OPERANDS_COMPILER;
}

static bool takes_value(const struct option_spec *spec)
{
    return spec->type != OPTION_FLAG && spec->type != OPTION_COUNT;
}

/* Each choice behind the text in front. */
static void choices(FILE *out, const struct option_spec *spec, const char *between)
{
    for (int i = 0; spec->choices[i]; i++)
        fprintf(out, "%s%s", i ? between : "", spec->choices[i]);
}

static void verb_names(FILE *out)
{
    for (const struct verb *const *at = verbs; *at; at++)
        fprintf(out, "%s%s", at == verbs ? "" : " ", (*at)->name);
}

static void option_names(FILE *out, const struct option_spec *options)
{
    const char *between = "";
    for (const struct option_spec *spec = options; spec->name; spec++) {
        if (!spec->help)
            continue;
        fprintf(out, "%s--%s", between, spec->name);
        between = " ";
    }
}

/* "--output -o --limit": options behind which a value stands. */
static void valued_names(FILE *out, const struct option_spec *options)
{
    const char *between = "";
    for (const struct option_spec *spec = options; spec->name; spec++) {
        if (!takes_value(spec))
            continue;
        fprintf(out, "%s--%s", between, spec->name);
        if (spec->letter)
            fprintf(out, " -%c", spec->letter);
        between = " ";
    }
}

/* The first sentence of a help text; of characters that the shell would not take as they are, some
   are left out and some get a backslash. */
static void sentence(FILE *out, const char *text, const char *unwanted, const char *escaped)
{
    for (; *text && !(text[0] == '.' && (text[1] == ' ' || text[1] == 0)); text++) {
        if (strchr(unwanted, *text))
            continue;
        if (strchr(escaped, *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

/* ---- bash ---------------------------------------------------------------------------------- */

/* Words come split at '=' as well. _command_offset is bash-completion's: the command's own
   completions. Names from `compgen -c` may be functions or keywords, which cannot be executed. */
static const char bash_fixed[] =
    "_headroom_words()\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$word\")\n"
    "}\n\n"
    "# The last of a list divided by commas.\n"
    "_headroom_list()\n"
    "{\n"
    "    local before=\n"
    "    case $word in *,*) before=${word%,*}, ;; esac\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"${word##*,}\")\n"
    "}\n\n"
    "_headroom_directories()\n"
    "{\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
    "}\n\n"
    "# Files that match one of the patterns, and directories on the way to them.\n"
    "_headroom_files()\n"
    "{\n"
    "    local name pattern\n"
    "    _headroom_directories\n"
    "    while IFS= read -r name; do\n"
    "        [ ! -d \"${name/#\\~/$HOME}\" ] || continue\n"
    "        for pattern in \"$@\"; do\n"
    "            if [[ $name == $pattern ]]; then\n"
    "                COMPREPLY+=(\"$name\")\n"
    "                break\n"
    "            fi\n"
    "        done\n"
    "    done < <(compgen -f -- \"$word\")\n"
    "}\n\n"
    "_headroom_programs()\n"
    "{\n"
    "    local name\n"
    "    case $word in */*) compopt -o filenames 2>/dev/null ;; esac\n"
    "    while IFS= read -r name; do\n"
    "        case $name in\n"
    "        */*) COMPREPLY+=(\"$name\") ;;\n"
    "        *) ! type -P -- \"$name\" >/dev/null || COMPREPLY+=(\"$name\") ;;\n"
    "        esac\n"
    "    done < <(compgen -c -- \"$word\")\n"
    "}\n\n"
    "# The arguments of the command that is word $1 of the line.\n"
    "_headroom_arguments()\n"
    "{\n"
    "    if [[ ${COMP_WORDS[$1]} != -* ]] && declare -F _command_offset >/dev/null; then\n"
    "        _command_offset \"$1\"\n"
    "    else\n"
    "        _headroom_files '*'\n"
    "    fi\n"
    "}\n\n"
    "_headroom_operand()\n"
    "{\n"
    "    [ \"$most\" -eq 0 ] || [ \"$given\" -lt \"$most\" ] || return\n"
    "    case $operands in\n"
    "    command) _headroom_programs ;;\n"
    "    profiles) _headroom_files " PROFILES " ;;\n"
    "    recordings) _headroom_files " RECORDINGS " ;;\n"
    "    verb) _headroom_words \"$verbs\" ;;\n"
    "    esac\n"
    "}\n\n"
    "_headroom()\n"
    "{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} i at\n"
    "    local verbs options valued operands most given=0 dashes=\n"
    "    COMPREPLY=()\n"
    "    [ \"$COMP_CWORD\" -gt 1 ] || verb=\n"
    "    _headroom_facts \"$verb\"\n"
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        _headroom_words \"$verbs $options\"\n"
    "        return\n"
    "    fi\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        at=${COMP_WORDS[i]}\n"
    "        if [ \"$dashes\" ] || [[ $at != -?* ]]; then\n"
    "            if [ \"$operands\" = command ]; then\n"
    "                _headroom_arguments \"$i\"\n"
    "                return\n"
    "            fi\n"
    "            ((given++))\n"
    "        elif [ \"$at\" = -- ]; then\n"
    "            dashes=1\n"
    "        elif [[ \" $valued \" == *\" $at \"* ]]; then\n"
    "            ((i++))\n"
    "            if [ \"${COMP_WORDS[i]}\" = = ]; then\n"
    "                [ \"$i\" -lt \"$COMP_CWORD\" ] || word=\n"
    "                ((i++))\n"
    "            fi\n"
    "            if [ \"$i\" -ge \"$COMP_CWORD\" ]; then\n"
    "                _headroom_value \"$verb $at\"\n"
    "                return\n"
    "            fi\n"
    "        fi\n"
    "    done\n"
    "    if [ ! \"$dashes\" ] && [[ $word == -* || ! $operands ]]; then\n"
    "        _headroom_words \"$options\"\n"
    "    else\n"
    "        _headroom_operand\n"
    "    fi\n"
    "}\n\n"
    "complete -F _headroom headroom\n";

static const char *bash_operands(const struct verb *verb)
{
    switch (verb->operands) {
    case OPERANDS_NONE: return "";
    case OPERANDS_COMMAND:
    case OPERANDS_COMPILER: return "command";
    case OPERANDS_PROFILES: return "profiles";
    case OPERANDS_RECORDINGS: return "recordings";
    case OPERANDS_VERB: return "verb";
    case OPERANDS_CODE: return "files";
    }
    return "";
}

static void bash_verb(FILE *out, const struct verb *verb)
{
    fputs(") options='", out);
    option_names(out, verb->options);
    fputs("' valued='", out);
    valued_names(out, verb->options);
    fprintf(out, "' operands='%s' most=%u ;;\n", bash_operands(verb), verb->operands_most);
}

static void bash_facts(FILE *out)
{
    fputs("_headroom_facts()\n{\n    verbs='", out);
    verb_names(out);
    fputs("'\n    options= valued= operands= most=0\n    case $1 in\n    ''", out);
    bash_verb(out, &top);
    for (const struct verb *const *at = verbs; *at; at++) {
        const struct verb *verb = *at;
        fprintf(out, "    %s", verb->name);
        bash_verb(out, verb);
    }
    fputs("    esac\n}\n\n", out);
}

static void bash_value(FILE *out, const struct option_spec *spec)
{
    switch (spec->type) {
    case OPTION_CHOICE:
    case OPTION_SET:
        fputs(spec->type == OPTION_SET ? "_headroom_list '" : "_headroom_words '", out);
        choices(out, spec, " ");
        fputc('\'', out);
        return;
    case OPTION_FILE: fputs("_headroom_files '*'", out); return;
    case OPTION_DIRECTORY: fputs("_headroom_directories", out); return;
    case OPTION_PROFILE: fputs("_headroom_files " PROFILES, out); return;
    default: fputs("return", out); /* a number, or what nobody can guess */
    }
}

static void bash_values(FILE *out)
{
    fputs("_headroom_value()\n{\n    case $1 in\n", out);
    for (const struct verb *const *at = verbs; *at; at++) {
        const struct verb *verb = *at;
        for (const struct option_spec *spec = verb->options; spec->name; spec++) {
            if (!spec->help || !takes_value(spec))
                continue;
            fprintf(out, "    '%s --%s'", verb->name, spec->name);
            if (spec->letter)
                fprintf(out, " | '%s -%c'", verb->name, spec->letter);
            fputs(") ", out);
            bash_value(out, spec);
            fputs(" ;;\n", out);
        }
    }
    fputs("    esac\n}\n\n", out);
}

void completions_bash(FILE *out)
{
    fputs("# bash completion for headroom\n\n", out);
    bash_facts(out);
    bash_values(out);
    fputs(bash_fixed, out);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static const char zsh_fixed[] =
    "#compdef headroom\n\n"
    "_headroom_profiles() {\n    _files -g '(*.headroom|*.headroom.old)(-.)'\n}\n\n"
    "_headroom_recordings() {\n"
    "    _files -g '(*.headroom|*.headroom.old|*.raw.?\?\?\?\?\?)(-.)'\n}\n\n";

static const char *zsh_operand(const struct verb *verb)
{
    switch (verb->operands) {
    case OPERANDS_NONE: return "";
    case OPERANDS_COMMAND:
    case OPERANDS_COMPILER: return "command:_command_names -e";
    case OPERANDS_PROFILES: return "profile:_headroom_profiles";
    case OPERANDS_RECORDINGS: return "profile:_headroom_recordings";
    case OPERANDS_VERB: return "verb:_headroom_verbs";
    case OPERANDS_CODE: return "file:_files";
    }
    return "";
}

static void zsh_value(FILE *out, const struct option_spec *spec)
{
    switch (spec->type) {
    case OPTION_CHOICE:
        fputs(":value:(", out);
        choices(out, spec, " ");
        fputc(')', out);
        return;
    case OPTION_SET:
        fputs(":list:_values -s , list ", out);
        choices(out, spec, " ");
        return;
    case OPTION_FILE: fputs(":file:_files", out); return;
    case OPTION_DIRECTORY: fputs(":directory:_files -/", out); return;
    case OPTION_PROFILE: fputs(":profile:_headroom_profiles", out); return;
    default: fputs(":value:", out);
    }
}

/* One form of it, with the other excluded: the letter's value is the next word or the rest of this.
 */
static void zsh_option(FILE *out, const struct option_spec *spec, bool letter)
{
    fputs(" \\\n            '", out);
    if (spec->type == OPTION_LIST || spec->type == OPTION_CACHE)
        fputc('*', out); /* may be given again */
    if (spec->letter)
        fprintf(out, "(-%c --%s)", spec->letter, spec->name);
    if (letter)
        fprintf(out, "-%c%s[", spec->letter, takes_value(spec) ? "+" : "");
    else
        fprintf(out, "--%s%s[", spec->name, takes_value(spec) ? "=" : "");
    sentence(out, spec->help, "'", "[]:\\");
    fputc(']', out);
    if (takes_value(spec))
        zsh_value(out, spec);
    fputc('\'', out);
}

static void zsh_options(FILE *out, const struct option_spec *options)
{
    for (const struct option_spec *spec = options; spec->name; spec++) {
        if (spec->help && spec->letter)
            zsh_option(out, spec, true);
        if (spec->help)
            zsh_option(out, spec, false);
    }
}

static void zsh_operands(FILE *out, const struct verb *verb)
{
    const char *operand = zsh_operand(verb);
    if (takes_command(verb))
        fprintf(out, " \\\n            '(-)1:%s' '*::arguments:_normal'", operand);
    else if (*operand && !verb->operands_most)
        fprintf(out, " \\\n            '*:%s'", operand);
    for (unsigned i = 1; *operand && i <= verb->operands_most; i++)
        fprintf(out, " \\\n            '%u:%s'", i, operand);
}

void completions_zsh(FILE *out)
{
    fputs(zsh_fixed, out);
    fputs("_headroom_verbs() {\n    local -a verbs=(\n", out);
    for (const struct verb *const *at = verbs; *at; at++)
        fprintf(out, "        '%s:%s'\n", (*at)->name, (*at)->summary);
    fputs("    )\n    _describe verb verbs\n}\n\n"
          "_headroom() {\n    if (( CURRENT == 2 )); then\n        _arguments -S",
          out);
    zsh_options(out, top.options);
    fputs(" \\\n            '1:verb:_headroom_verbs'\n        return\n    fi\n"
          "    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $verb in\n",
          out);
    for (const struct verb *const *at = verbs; *at; at++) {
        const struct verb *verb = *at;
        fprintf(out, "    %s)\n        _arguments -S%s", verb->name,
                takes_command(verb) ? " -A '-*'" : "");
        zsh_options(out, verb->options);
        zsh_operands(out, verb);
        fputs("\n        ;;\n", out);
    }
    fputs("    esac\n}\n\n_headroom \"$@\"\n", out);
}

/* ---- fish ------------------------------------------------------------------------------------ */

/* __headroom_scan VERB: fails if the line is of another verb; else prints whether options have
   ended, how many operands there are before the cursor, and which word is the first of them. */
static const char fish_fixed[] =
    "function __headroom_scan --argument-names verb\n"
    "    set -l words (commandline -opc)\n"
    "    test \"$words[2]\" = $verb; or return 1\n"
    "    set -l valued (__headroom_valued $verb)\n"
    "    set -l ended 0\n"
    "    set -l given 0\n"
    "    set -l first 0\n"
    "    set -l skip 0\n"
    "    for i in (seq 3 (count $words))\n"
    "        if test $skip = 1\n"
    "            set skip 0\n"
    "        else if test $ended = 1; or not string match -q -- '-?*' $words[$i]\n"
    "            set given (math $given + 1)\n"
    "            test $first -gt 0; or set first $i\n"
    "            contains -- $verb $__headroom_commands; and set ended 1\n"
    "        else if test \"$words[$i]\" = --\n"
    "            set ended 1\n"
    "        else if contains -- $words[$i] $valued\n"
    "            set skip 1\n"
    "        end\n"
    "    end\n"
    "    printf '%s\\n' $ended $given $first\n"
    "end\n\n"
    "function __headroom_options --argument-names verb\n"
    "    set -l found (__headroom_scan $verb); and test $found[1] = 0\n"
    "end\n\n"
    "# Whether one more of at most that many operands can follow; 0: any number.\n"
    "function __headroom_operand --argument-names verb most\n"
    "    set -l found (__headroom_scan $verb); and begin\n"
    "        test $most = 0; or test $found[2] -lt $most\n"
    "    end\n"
    "end\n\n"
    "# The word at the cursor, without the option in front of its value.\n"
    "function __headroom_token\n"
    "    commandline -ct | string replace -r -- '^--[^=]*=' ''\n"
    "end\n\n"
    "# Files whose names match a regular expression, and directories on the way to them.\n"
    "function __headroom_files --argument-names pattern\n"
    "    __fish_complete_path (__headroom_token) |\n"
    "        string match -r -- '^[^\\t]*(?:/|'$pattern')(?:\\t.*)?$'\n"
    "end\n\n"
    "# What can be executed: neither functions nor keywords.\n"
    "function __headroom_programs\n"
    "    for line in (__fish_complete_command)\n"
    "        set -l name (string split -f 1 -- \\t $line)\n"
    "        if string match -q -- '*/*' $name; or command -q -- $name\n"
    "            echo -- $line\n"
    "        end\n"
    "    end\n"
    "end\n\n"
    "function __headroom_command --argument-names verb\n"
    "    set -l words (commandline -opc)\n"
    "    set -l first (__headroom_scan $verb)[3]\n"
    "    if test $first -gt 0\n"
    "        complete -C (string join -- ' ' (string escape -- $words[$first..-1]) (commandline "
    "-ct))\n"
    "    else\n"
    "        __headroom_programs\n"
    "    end\n"
    "end\n\n";

#define FISH_PROFILES   "(__headroom_files \"\\.headroom(?:\\.old)?\")"
#define FISH_RECORDINGS "(__headroom_files \"(?:\\.headroom(?:\\.old)?|\\.raw\\..{6})\")"

static void fish_facts(FILE *out)
{
    fputs("set -g __headroom_commands", out);
    for (const struct verb *const *at = verbs; *at; at++)
        if (takes_command(*at))
            fprintf(out, " %s", (*at)->name);
    fputs("\n\nfunction __headroom_valued --argument-names verb\n    switch $verb\n", out);
    for (const struct verb *const *at = verbs; *at; at++) {
        const struct verb *verb = *at;
        fprintf(out, "        case %s\n            string split -n ' ' -- '", verb->name);
        valued_names(out, verb->options);
        fputs("'\n", out);
    }
    fputs("    end\nend\n\n", out);
}

static void fish_value(FILE *out, const struct option_spec *spec)
{
    switch (spec->type) {
    case OPTION_FLAG:
    case OPTION_COUNT: return;
    case OPTION_CHOICE:
    case OPTION_SET:
        fputs(spec->type == OPTION_SET ? " -x -a '(__fish_append , " : " -x -a '", out);
        choices(out, spec, " ");
        fputs(spec->type == OPTION_SET ? ")'" : "'", out);
        return;
    case OPTION_FILE: fputs(" -r -F", out); return;
    case OPTION_DIRECTORY:
        fputs(" -x -a '(__fish_complete_directories (__headroom_token))'", out);
        return;
    case OPTION_PROFILE: fputs(" -x -a '" FISH_PROFILES "'", out); return;
    default: fputs(" -x", out);
    }
}

static void fish_options(FILE *out, const char *condition, const struct option_spec *options)
{
    for (const struct option_spec *spec = options; spec->name; spec++) {
        if (!spec->help)
            continue;
        fprintf(out, "complete -c headroom -n '%s' -l %s", condition, spec->name);
        if (spec->letter)
            fprintf(out, " -s %c", spec->letter);
        fish_value(out, spec);
        fputs(" -d '", out);
        sentence(out, spec->help, "'\\", "");
        fputs("'\n", out);
    }
}

static void fish_operands(FILE *out, const struct verb *verb)
{
    if (verb->operands == OPERANDS_NONE)
        return;
    fprintf(out, "complete -c headroom -n '__headroom_operand %s %u' -a '", verb->name,
            verb->operands_most);
    switch (verb->operands) {
    case OPERANDS_NONE: break;
    case OPERANDS_COMMAND:
    case OPERANDS_COMPILER: fprintf(out, "(__headroom_command %s)", verb->name); break;
    case OPERANDS_PROFILES: fputs(FISH_PROFILES, out); break;
    case OPERANDS_RECORDINGS: fputs(FISH_RECORDINGS, out); break;
    case OPERANDS_VERB: verb_names(out); break;
    case OPERANDS_CODE: fputs("(__fish_complete_path)", out); break;
    }
    fputs("'\n", out);
}

void completions_fish(FILE *out)
{
    static const char first[] = "test (count (commandline -opc)) -eq 1";
    char condition[64];
    fputs("# fish completion for headroom\n\n", out);
    fish_facts(out);
    fputs(fish_fixed, out);
    fputs("complete -c headroom -f\n", out);
    fish_options(out, first, top.options);
    for (const struct verb *const *at = verbs; *at; at++)
        fprintf(out, "complete -c headroom -n '%s' -a %s -d '%s'\n", first, (*at)->name,
                (*at)->summary);
    for (const struct verb *const *at = verbs; *at; at++) {
        const struct verb *verb = *at;
        snprintf(condition, sizeof condition, "__headroom_options %s", verb->name);
        fish_options(out, condition, verb->options);
        fish_operands(out, verb);
    }
}
