// SPDX-License-Identifier: MIT
/*
 * The table of verbs and options, from which come parsing, --help, manual pages and
 * shell completions: what is documented is what is parsed.
 */
#ifndef HEADROOM_CLI_OPTIONS_H
#define HEADROOM_CLI_OPTIONS_H

#include "cache/cache.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
    OPTION_FLAG,      /* int: set to `value` */
    OPTION_NUMBER,    /* uint64_t in low..high */
    OPTION_COUNT,     /* the same; its value may be left out, and then is `value` */
    OPTION_REAL,      /* double in low..high; "1%" is 0.01 */
    OPTION_TEXT,      /* const char *                                  */
    OPTION_FILE,      /* const char *: a file to read or write */
    OPTION_DIRECTORY, /* const char *                                  */
    OPTION_PROFILE,   /* const char *: a profile to read */
    OPTION_CHOICE,    /* int: index of one of `choices` */
    OPTION_LIST,      /* one more of a struct option_list */
    OPTION_CACHE,     /* one more of settings' caches: "SIZE[,WAYS]" */
    OPTION_SET,       /* unsigned: bit mask of comma-separated choices */
};

/* What a verb's operands are: how shells complete them, and whether options may follow them. */
enum operand_kind {
    OPERANDS_NONE,
    OPERANDS_COMMAND,    /* a program to observe and its arguments */
    OPERANDS_COMPILER,   /* a compiler, if any, and its arguments */
    OPERANDS_PROFILES,   /* files; options may stand behind them */
    OPERANDS_RECORDINGS, /* the same: profiles and raw logs left behind */
    OPERANDS_VERB,       /* the name of a verb */
    OPERANDS_CODE, /* a file and places in it, behind which options may stand; and behind "--", which stays among
                            the operands, a command */
};

enum option_engine { ENGINE_ANY, ENGINE_LIVE, ENGINE_EXACT }; /* with which an option makes sense */

struct option_spec {
    const char *name; /* NULL ends a table */
    char letter;      /* 0: long form only */
    enum option_type type;
    size_t offset; /* of the target in struct settings */
    int value;
    double low, high;
    const char *const *choices; /* NULL-terminated */
    const char *argument;       /* its name in the help */
    const char *help;           /* NULL: hidden */
    enum option_engine engine;
};

enum { FORMAT_TEXT, FORMAT_JSON };
enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum { DEBUGINFOD_NO, DEBUGINFOD_IF_SET, DEBUGINFOD_DEMANDED }; /* true: servers are asked */
enum { MODULES_OWN, MODULES_ALL };
enum { UNIT_BYTE, UNIT_WORD, UNIT_LINE };
enum { SOURCE_AUTO, SOURCE_PMU, SOURCE_CLOCK, SOURCE_COUNT };

enum { SETTINGS_OWN_BYTES = 640 };

struct option_list { /* of an option that may be given again */
    const char *texts[32];
    size_t count;
};

/* What verbs share; a verb's own settings are in `own`. */
struct settings {
    const char *output, *report, *trace, *event;
    const char *live_option, *exact_option; /* an option given that needs this engine, or NULL */
    unsigned kinds;
    int source, follow, format, quiet, color, debuginfod, help, version, exact, unit, stack;
    int paper_bins, call_sites, metric, by, all_frames;
    int modules, no_cache, no_contexts; /* paths under the exact engine */
    uint64_t rate, period, limit, seed, min_executions, jobs;
    double fp_tolerance, share, access_rate, hot, level;
    double budget; /* 0: the usual one */
    struct cache_shape caches[CACHE_MAX];
    size_t caches_count;
    const struct launch_loop *loops; /* of further runs: what they execute is wanted */
    size_t loops_count;
    const struct cache_shape *levels; /* of a hierarchy of caches for these */
    size_t levels_count;
    struct option_list keys;
    _Alignas(8) unsigned char own[SETTINGS_OWN_BYTES];
};

struct verb {
    const char *name, *summary;
    const char *arguments;   /* synopsis behind the options */
    const char *description; /* paragraphs divided by empty lines */
    const char *exit_status;
    const struct option_spec *options;
    int usage_code; /* exit code of a usage error */
    enum operand_kind operands;
    unsigned operands_most;   /* that make sense; 0: any number */
    const void *own_defaults; /* of its own settings; NULL: all 0, or it has none */
    size_t own_bytes;         /* of these, SETTINGS_OWN_BYTES at most */
    int (*run)(const struct settings *settings, int count, char **operands);
    /* Where a live recording is refused, what the exact engine can record instead: an option of this verb, or another command.
       NULL: nothing; never of verbs that call live_run. */
    const char *every_access;
};

extern const struct verb *const verbs[]; /* NULL ends it */
extern const struct verb top;            /* `headroom` without a verb */

const struct verb *find_verb(const char *name);

/* The one that was meant, if a letter or two are wrong; or NULL. */
const struct verb *nearest_verb(const char *name);

void settings_default(struct settings *settings, const struct verb *verb);

/*
 * Parses argv[1...] up to the first non-option. *operands: index of it. On failure
 * settings and *operands are untouched and error holds one sentence.
 */
bool options_parse(const struct verb *verb, int argc, char **argv, struct settings *settings,
                   int *operands, char *error, size_t error_bytes);

/* Number of options of a table, hidden ones included. */
size_t options_count(const struct option_spec *options);

/* Whether the verb takes files, between and behind which options may stand as well. */
bool takes_files(const struct verb *verb);

void print_help(const struct verb *verb, FILE *out);

/* what: "man", "man:VERB", "bash", "zsh", "fish". False: unknown. */
bool generate_document(const char *what, FILE *out);

#endif
