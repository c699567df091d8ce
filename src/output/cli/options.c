// SPDX-License-Identifier: MIT
/*
 * Parsing by the table. getopt_long does the syntax (stops at the first non-option,
 * "-oFILE", "--name=value"); values and sentences are ours.
 */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* getopt codes of long options: above every letter. */
enum { CODE_BASE = 1000, OPTIONS_MAX = 48 };

size_t options_count(const struct option_spec *options)
{
    size_t count = 0;
    while (options[count].name)
        count++;
    return count;
}

bool takes_files(const struct verb *verb)
{
    return verb->operands == OPERANDS_PROFILES || verb->operands == OPERANDS_RECORDINGS ||
           verb->operands == OPERANDS_CODE;
}

const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; verbs[i]; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

void settings_default(struct settings *settings, const struct verb *verb)
{
    *settings = (struct settings){
        .output = NULL,
        .kinds = 0,
        .follow = 1,
        .limit = UINT64_MAX, /* not given */
        .fp_tolerance = 0.01,
        .unit = UNIT_LINE,
        .stack = 1,
        .share = 1,
        .hot = 0.01,
        .level = 0.01,
        .debuginfod = DEBUGINFOD_IF_SET,
    };
    if (verb->own_defaults)
        memcpy(settings->own, verb->own_defaults, verb->own_bytes);
}

/* ---- values ---------------------------------------------------------------------------- */

struct place {
    const struct option_spec *spec;
    struct settings *settings;
    char *error;
    size_t error_bytes;
};

static void *target(const struct place *place)
{
    return (char *)place->settings + place->spec->offset;
}

static bool bad_value(const struct place *place, const char *text, const char *expected)
{
    snprintf(place->error, place->error_bytes, "--%s does not take '%s': expected %s",
             place->spec->name, text, expected);
    return false;
}

static bool take_number(const struct place *place, const char *text)
{
    char *end, expected[96];
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    bool good = *text >= '0' && *text <= '9' && *end == 0 && errno == 0 &&
                (double)number >= place->spec->low && (double)number <= place->spec->high;
    if (!good) {
        snprintf(expected, sizeof expected, "a whole number from %.0f to %.0f", place->spec->low,
                 place->spec->high);
        return bad_value(place, text, expected);
    }
    *(uint64_t *)target(place) = number;
    return true;
}

static bool take_real(const struct place *place, const char *text)
{
    char *end, expected[96];
    double number = strtod(text, &end);
    if (end != text && *end == '%') {
        number /= 100;
        end++;
    }
    if (end == text || *end || !isfinite(number) || number < place->spec->low ||
        number > place->spec->high) {
        snprintf(expected, sizeof expected, "a number from %g to %g, or a percentage",
                 place->spec->low, place->spec->high);
        return bad_value(place, text, expected);
    }
    *(double *)target(place) = number;
    return true;
}

static int find_choice(const struct option_spec *spec, const char *text, size_t length)
{
    for (int i = 0; spec->choices[i]; i++)
        if (strlen(spec->choices[i]) == length && memcmp(spec->choices[i], text, length) == 0)
            return i;
    return -1;
}

static void list_choices(const struct option_spec *spec, const char *divider, char *out,
                         size_t bytes)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; spec->choices[i] && used < bytes; i++)
        used +=
            (size_t)snprintf(out + used, bytes - used, "%s%s", i ? divider : "", spec->choices[i]);
}

static bool take_choice(const struct place *place, const char *text)
{
    char expected[96];
    int choice = find_choice(place->spec, text, strlen(text));
    if (choice < 0) {
        list_choices(place->spec, " or ", expected, sizeof expected);
        return bad_value(place, text, expected);
    }
    *(int *)target(place) = choice;
    return true;
}

static bool take_set(const struct place *place, const char *text)
{
    char names[64], expected[96];
    unsigned set = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int choice = find_choice(place->spec, at, length);
        if (choice < 0) {
            list_choices(place->spec, ",", names, sizeof names);
            snprintf(expected, sizeof expected, "a list of %s", names);
            return bad_value(place, text, expected);
        }
        set |= 1u << choice;
        at += length;
        if (!*at)
            break;
    }
    *(unsigned *)target(place) = set;
    return true;
}

static bool take_list(const struct place *place, const char *text)
{
    struct option_list *list = target(place);
    if (list->count == BASE_COUNT(list->texts)) {
        snprintf(place->error, place->error_bytes, "--%s can be given %zu times at most",
                 place->spec->name, BASE_COUNT(list->texts));
        return false;
    }
    list->texts[list->count++] = text;
    return true;
}

/* "32K" -> 32768; returns what follows. NULL: no size. */
static const char *take_size(const char *text, uint64_t *bytes)
{
    static const char suffixes[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    if (*text < '0' || *text > '9' || errno || number > UINT64_MAX >> shift)
        return NULL;
    *bytes = (uint64_t)number << shift;
    return suffix ? end + 1 : end;
}

static bool take_ways(const char *text, uint32_t *ways)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    *ways = (uint32_t)number;
    return *text >= '1' && *text <= '9' && !*end && !errno && number <= UINT32_MAX;
}

static bool take_cache(const struct place *place, const char *text)
{
    struct settings *settings = place->settings;
    struct cache_shape shape = {0};
    const char *rest = take_size(text, &shape.bytes);
    if (!rest || (*rest && (*rest != ',' || !take_ways(rest + 1, &shape.ways))))
        return bad_value(place, text, "a size, as in 2M, or a size and ways, as in 32K,8");
    if (!cache_shape_valid(&shape))
        return bad_value(place, text, "a multiple of 64 bytes times ways, up to 64G");
    if (settings->caches_count == CACHE_MAX) {
        snprintf(place->error, place->error_bytes, "--%s can be given %d times at most",
                 place->spec->name, (int)CACHE_MAX);
        return false;
    }
    settings->caches[settings->caches_count++] = shape;
    return true;
}

static void note_engine(const struct place *place)
{
    if (place->spec->engine == ENGINE_LIVE)
        place->settings->live_option = place->spec->name;
    if (place->spec->engine == ENGINE_EXACT)
        place->settings->exact_option = place->spec->name;
}

static bool take(const struct place *place, const char *text)
{
    note_engine(place);
    switch (place->spec->type) {
    case OPTION_FLAG: *(int *)target(place) = place->spec->value; return true;
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_DIRECTORY:
    case OPTION_PROFILE:
        if (!*text)
            return bad_value(place, text, place->spec->argument);
        *(const char **)target(place) = text;
        return true;
    case OPTION_COUNT:
        if (text)
            return take_number(place, text);
        *(uint64_t *)target(place) = (uint64_t)place->spec->value;
        return true;
    case OPTION_NUMBER: return take_number(place, text);
    case OPTION_REAL: return take_real(place, text);
    case OPTION_CHOICE: return take_choice(place, text);
    case OPTION_SET: return take_set(place, text);
    case OPTION_LIST: return take_list(place, text);
    case OPTION_CACHE: return take_cache(place, text);
    }
    return false;
}

/* ---- syntax ----------------------------------------------------------------------------- */

struct syntax {
    struct option long_options[OPTIONS_MAX + 1];
    char letters[2 * OPTIONS_MAX + 3];
};

/* Of letters none may be left out. */
static int argument_of(const struct option_spec *spec)
{
    return spec->type == OPTION_FLAG    ? no_argument
           : spec->type == OPTION_COUNT ? optional_argument
                                        : required_argument;
}

/* The value of an option, in the same word or, without a sign of it, a number in the next one. */
static const char *value_of(const struct option_spec *spec, int argc, char **argv)
{
    bool next = spec->type == OPTION_COUNT && !optarg && optind < argc && argv[optind][0] &&
                argv[optind][strspn(argv[optind], "0123456789")] == 0;
    return next ? argv[optind++] : optarg;
}

static void make_syntax(const struct option_spec *options, struct syntax *syntax)
{
    size_t used = 0;
    memset(syntax, 0, sizeof *syntax);
    syntax->letters[used++] = '+'; /* stop at the first non-option */
    syntax->letters[used++] = ':'; /* missing values differ from unknown options */
    for (size_t i = 0; options[i].name && i < OPTIONS_MAX; i++) {
        bool valued = options[i].type != OPTION_FLAG;
        syntax->long_options[i] =
            (struct option){options[i].name, argument_of(&options[i]), NULL, CODE_BASE + (int)i};
        if (options[i].letter) {
            syntax->letters[used++] = options[i].letter;
            if (valued)
                syntax->letters[used++] = ':';
        }
    }
}

static const struct option_spec *find_code(const struct option_spec *options, int code)
{
    for (size_t i = 0; options[i].name; i++)
        if (code == CODE_BASE + (int)i || (code && code == options[i].letter))
            return &options[i];
    return NULL;
}

/* Letters to change, put in or leave out to get from one word to the other (Levenshtein). */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], columns = strlen(b);
    if (columns >= 64)
        return 64;
    for (size_t j = 0; j <= columns; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < other ? change : other;
        }
    }
    return row[columns];
}

const struct verb *nearest_verb(const char *name)
{
    const struct verb *nearest = NULL;
    size_t least = 3;
    for (size_t i = 0; verbs[i] && strlen(name) < 64; i++) {
        size_t away = distance(name, verbs[i]->name);
        if (away < least && 2 * away < strlen(verbs[i]->name)) {
            least = away;
            nearest = verbs[i];
        }
    }
    return nearest;
}

static void unknown_option(const struct option_spec *options, const char *word, int letter,
                           char *error, size_t error_bytes)
{
    const struct option_spec *known = find_code(options, letter);
    if (letter >= CODE_BASE && known) {
        snprintf(error, error_bytes, "--%s takes no value", known->name);
        return;
    }
    if (letter && letter < CODE_BASE) {
        snprintf(error, error_bytes, "there is no option -%c", letter);
        return;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    const char *nearest = NULL;
    size_t least = 3;
    for (size_t i = 0; options[i].name; i++) {
        size_t away = distance(name, options[i].name);
        if (options[i].help && away < least) {
            least = away;
            nearest = options[i].name;
        }
    }
    if (nearest)
        snprintf(error, error_bytes, "there is no option --%s; did you mean --%s?", name, nearest);
    else
        snprintf(error, error_bytes, "there is no option --%s", name);
}

bool options_parse(const struct verb *verb, int argc, char **argv, struct settings *settings,
                   int *operands, char *error, size_t error_bytes)
{
    struct syntax syntax;
    struct settings parsed = *settings;
    make_syntax(verb->options, &syntax);
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    for (;;) {
        int at = optind ? optind : 1;
        int code = getopt_long(argc, argv, syntax.letters, syntax.long_options, NULL);
        if (code == -1)
            break;
        const struct option_spec *spec = find_code(verb->options, code == ':' ? optopt : code);
        if (code == '?' || !spec) {
            unknown_option(verb->options, argv[at], optopt, error, error_bytes);
            return false;
        }
        if (code == ':') {
            snprintf(error, error_bytes, "--%s needs a value: %s", spec->name, spec->argument);
            return false;
        }
        struct place place = {spec, &parsed, error, error_bytes};
        if (!take(&place, value_of(spec, argc, argv)))
            return false;
    }
    *settings = parsed;
    *operands = optind;
    return true;
}
