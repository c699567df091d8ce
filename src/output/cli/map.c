// SPDX-License-Identifier: MIT
/*
 * `headroom map`: given a line, a function or an instruction of a file, prints its code beside its source and its variables. Or checks the
 * debug information of a whole file. Nothing is run.
 */
#include "cli/common.h"
#include "cli/verbs.h"

#include "analysis/analysis.h"
#include "origin/origin.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAP_FAILED = 1, WORD_BYTES = 4096 };

struct map_settings {
    const char *at, *profile;
    int check;
};

static const struct map_settings *own(const struct settings *settings)
{
    return (const void *)settings->own;
}

struct mapping {
    const struct settings *settings;
    struct profile *profile;
    struct binary *binary;
    char file[WORD_BYTES];
    char error[ORIGIN_ERROR_BYTES];
};

/* ---- the place --------------------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == 0 && strlen(text) < 10;
}

/* "0xADDRESS", "FILE:LINE", else a function. False: no valid address follows 0x. */
static bool read_place(const char *word, struct mapping *mapping, struct origin_place *place)
{
    const char *colon = strrchr(word, ':');
    *place = (struct origin_place){0};
    if (strncmp(word, "0x", 2) == 0) {
        char *end;
        errno = 0;
        place->address = strtoull(word, &end, 16);
        return !*end && !errno;
    }
    if (colon && colon > word && colon[-1] != ':' && is_number(colon + 1)) {
        snprintf(mapping->file, sizeof mapping->file, "%.*s", (int)(colon - word), word);
        place->file = mapping->file;
        place->line = (uint32_t)strtoul(colon + 1, NULL, 10);
        return true;
    }
    place->function = word;
    return true;
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

static bool answer(struct mapping *mapping, const char *path)
{
    struct origin_place place;
    const char *at = own(mapping->settings)->at;
    if (!at)
        return origin_check(mapping->profile, mapping->binary, path, mapping->error) == BASE_OK;
    if (!read_place(at, mapping, &place)) {
        snprintf(mapping->error, sizeof mapping->error, "'%.2000s' is not an address.", at);
        return false;
    }
    return origin_at(mapping->profile, mapping->binary, path, &place, mapping->error) == BASE_OK;
}

/* Figures of the profile that was named, beside the code. */
static bool lay_heat(struct mapping *mapping)
{
    const char *path = own(mapping->settings)->profile;
    struct profile *beside = NULL;
    char why[256];
    if (!path)
        return true;
    if (profile_read(path, &beside, mapping->error, sizeof mapping->error) != BASE_OK)
        return false;
    bool good = origin_heat(mapping->profile, mapping->binary, beside, why, sizeof why);
    if (!good)
        snprintf(mapping->error, sizeof mapping->error,
                 "'%.2000s' cannot be laid beside the code: %s.", path, why);
    profile_free(beside);
    return good;
}

static int print_report(struct mapping *mapping)
{
    const struct settings *settings = mapping->settings;
    struct report_options options = {
        .color = use_color(settings->color, STDOUT_FILENO),
        .ascii = is_ascii_terminal(STDOUT_FILENO),
        .width = terminal_width(STDOUT_FILENO),
        .sources = true,
        .limit = settings->limit != UINT64_MAX     ? (unsigned)settings->limit
                 : settings->format == FORMAT_JSON ? 0
                                                   : PAIRS_IN_TEXT,
        .profile_path = settings->output,
    };
    struct pager pager;
    pager_begin(&pager, settings->format == FORMAT_TEXT);
    enum base_status status = (settings->format == FORMAT_JSON ? report_json : report_text)(
        mapping->profile, &options, pager.out);
    bool written = pager_end(&pager);
    if (status == BASE_OK && written)
        return 0;
    say("cannot write the report: %s.",
        status == BASE_OK || status == BASE_IO ? strerror(errno) : base_status_text(status));
    return MAP_FAILED;
}

static bool begin(struct mapping *mapping, const char *path, int count, char **words)
{
    struct binary_options symbols = symbol_options(mapping->settings);
    mapping->profile = profile_new();
    if (!mapping->profile || !origin_begin(mapping->profile, HEADROOM_VERSION, words, (size_t)count,
                                           path, own(mapping->settings)->at)) {
        snprintf(mapping->error, sizeof mapping->error, "%s.", base_status_text(BASE_NO_MEMORY));
        return false;
    }
    return origin_open(path, &symbols, &mapping->binary, mapping->error) == BASE_OK;
}

static bool keep(struct mapping *mapping)
{
    const char *output = mapping->settings->output;
    return !output || profile_write(mapping->profile, output, mapping->error,
                                    sizeof mapping->error) == BASE_OK;
}

static int map_file(const struct settings *settings, const char *path, int count, char **words)
{
    struct mapping *mapping = calloc(1, sizeof *mapping);
    int code = MAP_FAILED;
    if (!mapping) {
        say("%s.", base_status_text(BASE_NO_MEMORY));
        return code;
    }
    mapping->settings = settings;
    if (begin(mapping, path, count, words) && answer(mapping, path) && lay_heat(mapping) &&
        keep(mapping))
        code = settings->quiet ? 0 : print_report(mapping);
    else
        say("%s", mapping->error);
    if (mapping->binary)
        binary_close(mapping->binary);
    profile_free(mapping->profile);
    free(mapping);
    return code;
}

static int map_run(const struct settings *settings, int count, char **operands)
{
    if (count && strcmp(operands[0], "--") == 0) {
        operands++;
        count--;
    }
    if (!count)
        return say_usage("map", "no file was given");
    if (count > 1 && !own(settings)->check && !own(settings)->at)
        return say_usage("map", "a place is given with --at: --at '%s'", operands[1]);
    if (count > 1)
        return say_usage("map", "one file at a time, not '%s' as well", operands[1]);
    if (!own(settings)->check == !own(settings)->at)
        return say_usage("map", own(settings)->at
                                    ? "--at and --check exclude each other"
                                    : "say which line, function or address with --at, or --check");
    if (own(settings)->profile && !own(settings)->at)
        return say_usage("map", "--profile needs --at");
    return map_file(settings, operands[0], count, operands);
}

/* ---- the command line ---------------------------------------------------------------------------------- */

static const struct option_spec map_options[] = {
    {"at", 0, OPTION_TEXT, OWN(map_settings, at), .argument = "PLACE",
     .help =
         "The place: FILE:LINE of a source file, given by the end of its path or more; a FUNCTION; "
         "or the address of an instruction, 0x..., as in the ELF file."},
    {"check", 0, OPTION_FLAG, OWN(map_settings, check), .value = 1,
     .help = "Check all of FILE: in how much of their scopes variables have a location, and which "
             "variables in memory may not be current, and on which lines."},
    {"profile", 0, OPTION_PROFILE, OWN(map_settings, profile), .argument = "PROFILE",
     .help =
         "Print beside each instruction its share of what PROFILE measured of this program: CPU "
         "time, else wasted bytes, else reuses, else instructions executed, by the paths counted."},
    {"output", 'o', OPTION_FILE, FIELD(output), .argument = "FILE",
     .help = "Write the answer to FILE as a profile, which 'headroom report', 'diff', 'check', "
             "'export' and 'view' read; an existing one is kept as FILE.old. Default: none."},
    OPTION_DEBUGINFOD,
    OPTION_FORMAT,
    OPTION_LIMIT,
    OPTIONS_LAST,
};

const struct verb map_verb = {
    .name = "map",
    .summary = "show which instructions come from a line, and which variables to trust there",
    .arguments = "--at PLACE|--check [--] FILE",
    .description =
        "Reports which instructions of FILE, a program or library with debug information, come "
        "from a source line, and from which lines the instructions of a function, or of the basic "
        "block around an address, come: inlined copies with their callers, pieces that were moved "
        "out of loops, repeated, or made of vector instructions. If a line has no code, the "
        "nearest lines with code are named. Nothing is run.\n\n"
        "Then the variables in scope where a debugger stops there are listed, each with its "
        "location, and whether the value that a debugger shows is that of the source: current; or "
        "not resident, if the value is nowhere. Variables in memory may also be stale, if "
        "a line that was passed assigns to them and the value is stored only later; premature, if "
        "the value is stored before the line that assigns it; or suspect, if one of these holds "
        "on some paths only, or something unknown may have been stored in between. The value "
        "shown may still happen to be the right one.\n\n"
        "What is assigned is read from the source files, if they are there and not newer than "
        "FILE: from lines that do nothing but assign to variables. Compilers other than gcc do "
        "not record in their line tables where statements begin whose code was removed: of their "
        "code nothing is called worse than suspect.",
    .exit_status =
        "0 on success, 1 if the file cannot be read, has no debug information, or has no "
        "such line, function or instruction; 2 for wrong options.",
    .options = map_options,
    .usage_code = 2,
    .operands = OPERANDS_CODE,
    .run = map_run,
    .own_bytes = sizeof(struct map_settings),
};
