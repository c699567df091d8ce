// SPDX-License-Identifier: MIT
/*
 * What the options of several verbs are, each once; and sentences that several manual pages have. For the
 * tables of the verbs' own files.
 */
#ifndef HEADROOM_CLI_COMMON_H
#define HEADROOM_CLI_COMMON_H

#include "show/report.h"
#include "cli/options.h"

#define FIELD(member) offsetof(struct settings, member)

/* Of a verb's own settings: see SETTINGS_OWN_BYTES. */
#define OWN(type, member) (offsetof(struct settings, own) + offsetof(struct type, member))

/* NULL-terminated. */
extern const char *const format_names[];
extern const char *const color_names[];
extern const char *const source_names[];
extern const char *const metric_names[];
extern const char *const by_names[];
extern const char *const compare_by_names[]; /* those by which findings are compared, from 0 */
extern const char *const kind_names[];

#define OPTION_HELP                                                                                \
    {                                                                                              \
        "help", 'h', OPTION_FLAG, FIELD(help), .value = 1, .help = "Show this help and exit."      \
    }
#define OPTION_FORMAT                                                                              \
    {                                                                                              \
        "format", 0, OPTION_CHOICE, FIELD(format), .choices = format_names,                        \
                                                   .argument = "text|json",                        \
                                                   .help = "Format of the report. Default: text."  \
    }
#define OPTION_LIMIT                                                                               \
    {                                                                                              \
        "limit", 0, OPTION_NUMBER, FIELD(limit),                                                   \
            .low = 0, .high = 1000000, .argument = "N",                                            \
            .help = "Show the N largest findings of each kind; 0 shows all. Default: 10 in text, " \
                    "all in JSON."                                                                 \
    }
#define OPTIONS_GROUPS                                                                             \
    {"by",                                                                                         \
     0,                                                                                            \
     OPTION_CHOICE,                                                                                \
     FIELD(by),                                                                                    \
     .choices = by_names,                                                                          \
     .argument = "LEVEL",                                                                          \
     .help = "What is one finding: context, two calling contexts; pair, two places in the "        \
             "program's own code; or all that is wasted (or used again) at one line, in one "      \
             "function, in one module. cause, the default: pairs of places, and where these "      \
             "have too little evidence, functions. In JSON the default is context, and the "       \
             "findings by cause are listed beside them."},                                         \
    {                                                                                              \
        "all-frames", 0, OPTION_FLAG, FIELD(all_frames),                                           \
            .value = 1,                                                                            \
            .help = "Show the system's code as well: what the C library or a header of the "       \
                    "compiler calls below the program's own code."                                 \
    }
#define OPTION_COMPARE_BY                                                                          \
    {                                                                                              \
        "by", 0, OPTION_CHOICE, FIELD(by),                                                         \
            .choices = compare_by_names, .argument = "context|pair",                               \
            .help = "What is one finding: two calling contexts, the default, or two places in "    \
                    "the program's own code, whoever calls them."                                  \
    }
#define OPTION_COLOR                                                                               \
    {                                                                                              \
        "color", 0, OPTION_CHOICE, FIELD(color),                                                   \
            .choices = color_names, .argument = "auto|always|never",                               \
            .help = "Use colours in the text report. auto, the default: on a terminal, unless "    \
                    "NO_COLOR is set."                                                             \
    }
#define OPTION_DEBUGINFOD                                                                          \
    {"no-debuginfod",                                                                              \
     0,                                                                                            \
     OPTION_FLAG,                                                                                  \
     FIELD(debuginfod),                                                                            \
     .value = DEBUGINFOD_NO,                                                                       \
     .help = "Do not ask the servers in DEBUGINFOD_URLS for missing debug information. Without "   \
             "this option they are asked if that variable is set; nothing else is ever fetched."}, \
    {                                                                                              \
        "debuginfod", 0, OPTION_FLAG, FIELD(debuginfod), .value = DEBUGINFOD_DEMANDED              \
    }
#define OPTION_FOLLOW                                                                              \
    {"follow",                                                                                     \
     0,                                                                                            \
     OPTION_FLAG,                                                                                  \
     FIELD(follow),                                                                                \
     .value = 1,                                                                                   \
     .help = "Observe child processes and the programs that they execute as well. This is the "    \
             "default."},                                                                          \
    {                                                                                              \
        "no-follow", 0, OPTION_FLAG, FIELD(follow), .value = 0,                                    \
                                                    .help = "Observe the started program only."    \
    }
#define OPTION_TRACE                                                                               \
    {                                                                                              \
        "trace", 0, OPTION_FILE, FIELD(trace),                                                     \
            .argument = "FILE", .engine = ENGINE_EXACT,                                            \
            .help = "With --exact: write every access with its address and value to FILE as "      \
                    "well, which may be a FIFO. Children are not observed then. The file is "      \
                    "large: a few bytes per access."                                               \
    }
#define OPTION_REPORT                                                                              \
    {                                                                                              \
        "report", 0, OPTION_FILE, FIELD(report),                                                   \
            .argument = "FILE", .help = "Write the report to FILE instead of standard error."      \
    }
#define OPTION_QUIET                                                                               \
    {                                                                                              \
        "quiet", 'q', OPTION_FLAG, FIELD(quiet),                                                   \
            .value = 1,                                                                            \
            .help = "Write only the profile: no report and no remarks. Errors are still printed."  \
    }
#define OPTION_RATE                                                                                \
    {"rate",                                                                                       \
     'r',                                                                                          \
     OPTION_NUMBER,                                                                                \
     FIELD(rate),                                                                                  \
     .low = 1,                                                                                     \
     .high = 1000,                                                                                 \
     .argument = "N",                                                                              \
     .engine = ENGINE_LIVE,                                                                        \
     .help = "Take N samples per second of CPU time and thread on average, with the clock "        \
             "source. More samples cost more time. Default: an adaptive rate, up to 1000 at "      \
             "first and lower the longer a thread runs, down to 80, within --budget."},            \
        {"budget",                                                                                 \
         0,                                                                                        \
         OPTION_REAL,                                                                              \
         FIELD(budget),                                                                            \
         .low = 0.001,                                                                             \
         .high = 0.5,                                                                              \
         .argument = "SHARE",                                                                      \
         .engine = ENGINE_LIVE,                                                                    \
         .help =                                                                                   \
             "Of a thread's CPU time, spend about SHARE on samples at most, with the adaptive "    \
             "rate. More gives short programs more samples. Default: 3%."},                        \
    {                                                                                              \
        "period", 0, OPTION_NUMBER, FIELD(period),                                                 \
            .low = 1000, .high = 1e15, .argument = "N", .engine = ENGINE_LIVE,                     \
            .help =                                                                                \
                "Accesses between two samples with the sources pmu and count. Default: 5000000 "   \
                "with pmu, else 20000000."                                                         \
    }
#define OPTION_SEED                                                                                \
    {                                                                                              \
        "seed", 0, OPTION_NUMBER, FIELD(seed),                                                     \
            .low = 0, .high = 1e18, .argument = "N", .engine = ENGINE_LIVE,                        \
            .help = "Seed of the random choices, for repeatable experiments; 0, the default, "     \
                    "takes it from the clock; with the count source it is always the same."        \
    }
#define OPTION_PAPER_BINS                                                                          \
    {                                                                                              \
        "paper-bins", 0, OPTION_FLAG, FIELD(paper_bins),                                           \
            .value = 1,                                                                            \
            .help = "Show histograms of reuse distances in the bins 0 to 4K, 4K to 8K and so on "  \
                    "in powers of two, as is common in papers."                                    \
    }
#define OPTION_HOT                                                                                 \
    {"hot",                                                                                        \
     0,                                                                                            \
     OPTION_REAL,                                                                                  \
     FIELD(hot),                                                                                   \
     .low = 1e-9,                                                                                  \
     .high = 1,                                                                                    \
     .argument = "SHARE",                                                                          \
     .help = "Paths and functions with at least this share of the metric are hot. Default: 1%."},  \
    {                                                                                              \
        "metric", 0, OPTION_CHOICE, FIELD(metric),                                                 \
            .choices = metric_names, .argument = "NAME",                                           \
            .help = "Rank paths by NAME, one of count, instructions, loads, stores, cycles, "      \
                    "misses, events. best, the default, is the event if one was counted, else "    \
                    "cycles if they were measured, else misses, else instructions."                \
    }
#define OPTION_MIN_EXECUTIONS                                                                      \
    {                                                                                              \
        "min-executions", 0, OPTION_NUMBER, FIELD(min_executions),                                 \
            .low = 1, .high = 1e15, .argument = "N",                                               \
            .help = "Score spans of which at least N executions were timed. Default: 1000."        \
    }
#define OPTIONS_SPANS                                                                              \
    {"key",                                                                                        \
     0,                                                                                            \
     OPTION_LIST,                                                                                  \
     FIELD(keys),                                                                                  \
     .argument = "FUNCTION:N",                                                                     \
     .help =                                                                                       \
         "Compare only executions of FUNCTION that have the same value of argument N, counted "    \
         "from 0, because the work it does depends on it. May be repeated. 'headroom report' "     \
         "does this from the samples that were kept, for arguments 0 to 2 and for 'result'."},     \
        OPTION_MIN_EXECUTIONS
#define OPTION_OUTPUT(verb)                                                                        \
    {                                                                                              \
        "output", 'o', OPTION_FILE, FIELD(output),                                                 \
            .argument = "FILE",                                                                    \
            .help = "Write the profile to FILE; an existing profile is kept as FILE.old. "         \
                    "Default: " verb ".headroom."                                                  \
    }
#define OPTION_EXACT                                                                               \
    {                                                                                              \
        "exact", 0, OPTION_FLAG, FIELD(exact),                                                     \
            .value = 1,                                                                            \
            .help = "Observe every access instead of a sample, with Valgrind: figures are exact "  \
                    "and repeatable, but COMMAND runs many times slower. Statically linked "       \
                    "programs can be observed as well."                                            \
    }
#define OPTION_END                                                                                 \
    {                                                                                              \
        .name = NULL                                                                               \
    }
#define OPTIONS_REPORT OPTION_DEBUGINFOD, OPTION_REPORT, OPTION_FORMAT, OPTION_LIMIT
#define OPTIONS_LAST   OPTION_COLOR, OPTION_QUIET, OPTION_HELP, OPTION_END
#define OPTION_LEVEL                                                                               \
    {                                                                                              \
        "level", 0, OPTION_REAL, FIELD(level),                                                     \
            .low = 1e-9, .high = 0.5, .argument = "P",                                             \
            .help = "Significance level: of comparisons of samples in which nothing has changed, " \
                    "at most this share may list a difference. Default: 1%."                       \
    }
#define COMMAND_STATUS                                                                             \
    "The exit status of COMMAND, or 128+N if signal N killed it. If COMMAND was not started: 125 " \
    "when headroom itself failed or the options are wrong, 126 when COMMAND cannot be executed, "  \
    "127 when it cannot be found. 128+N also if signal N asked headroom a second time to end and " \
    "COMMAND went on."
#define COMMAND_END                                                                                \
    "\n\n"                                                                                         \
    "The recording ends when COMMAND itself ends; children that outlive it are not waited for. "   \
    "Signals sent to headroom, such as SIGINT, SIGTERM, SIGHUP, SIGUSR1 or SIGALRM, are passed "   \
    "on to COMMAND, unless they went to the whole process group, as those of the terminal do: "    \
    "COMMAND then has them already. If SIGINT or SIGTERM is sent to headroom again, a second or "  \
    "more after the first, and COMMAND has not ended three seconds later, headroom writes the "    \
    "profile of what was recorded so far, and COMMAND goes on unobserved. If headroom is killed, " \
    "COMMAND goes on, and 'headroom report' reads the raw log that is left. If the profile "       \
    "cannot be written to its place when COMMAND has ended, headroom prints where it is instead."

/* What OPTION_COMPARE_BY asks for. */
enum report_by compare_by(const struct settings *settings);

#endif
