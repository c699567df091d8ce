// SPDX-License-Identifier: MIT
/* Every verb and every option, with its documentation. */
#include "cli/options.h"

#include "cli/verbs.h"

#include "export/export.h"

#define FIELD(member) offsetof(struct settings, member)

static const char *const format_names[] = {"text", "json", NULL};
static const char *const color_names[] = {"auto", "always", "never", NULL};
static const char *const source_names[] = {"auto", "pmu", "clock", "count", NULL};
static const char *const modules_names[] = {"own", "all", NULL};
static const char *const unit_names[] = {"byte", "word", "line", NULL};
/* 1 + enum report_metric */
static const char *const metric_names[] = {"best",   "count",  "instructions", "loads", "stores",
                                           "cycles", "misses", "events",       NULL};
static const char *const kind_names[] = {"dead", "silent", "load",
                                         NULL}; /* bits of wire_kind_bits */

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
#define OPTION_COLOR                                                                               \
    {                                                                                              \
        "color", 0, OPTION_CHOICE, FIELD(color),                                                   \
            .choices = color_names, .argument = "auto|always|never",                               \
            .help = "Use colours in the text report. auto, the default: on a terminal, unless "    \
                    "NO_COLOR is set."                                                             \
    }
/* The second is how the servers were asked for when they were not asked by themselves. */
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
     .help = "Average number of samples per second of CPU time and thread, with the clock "        \
             "source. More samples cost more time. Default: 80."},                                 \
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
            .help = "Score blocks of which at least N executions were timed. Default: 1000."       \
    }
#define OPTIONS_BLOCKS                                                                             \
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

/* What recordings have in common: on their reports, and last. */
#define OPTIONS_REPORT OPTION_DEBUGINFOD, OPTION_REPORT, OPTION_FORMAT, OPTION_LIMIT
#define OPTIONS_LAST   OPTION_COLOR, OPTION_QUIET, OPTION_HELP, OPTION_END

static const struct option_spec waste_options[] = {
    OPTION_OUTPUT("waste"),
    {"kinds", 'k', OPTION_SET, FIELD(kinds), .choices = kind_names, .argument = "LIST",
     .help = "What to look for: any of dead,silent,load, for dead stores, silent stores and "
             "redundant loads. Default: all three."},
    OPTION_EXACT,
    {"source", 0, OPTION_CHOICE, FIELD(source), .choices = source_names,
     .argument = "auto|pmu|clock|count", .engine = ENGINE_LIVE,
     .help = "What triggers samples. clock: CPU time; works everywhere, weights by time. pmu: "
             "precise memory events; weights by accesses, not yet tested on hardware. count: the "
             "access counters of programs built by 'headroom cc --count'; weights by accesses, the "
             "same samples on every run. auto, the default: count if the program has such "
             "counters, else clock."},
    OPTION_RATE,
    {"fp-tolerance", 0, OPTION_REAL, FIELD(fp_tolerance), .low = 0, .high = 1, .argument = "X",
     .help = "Treat floating-point values whose relative difference is at most X as equal; 0 "
             "compares bits. Default: 1%."},
    OPTION_FOLLOW,
    OPTION_SEED,
    OPTION_TRACE,
    OPTIONS_REPORT,
    OPTIONS_LAST,
};

static const struct option_spec reuse_options[] = {
    OPTION_OUTPUT("reuse"),
    OPTION_EXACT,
    {"source", 0, OPTION_CHOICE, FIELD(source), .choices = source_names,
     .argument = "auto|pmu|clock|count", .engine = ENGINE_LIVE,
     .help = "What measures the distance between two uses. clock: CPU time; works everywhere, "
             "distances in accesses are estimates. count: access counters that the program was "
             "built with ('headroom cc --count'). pmu: the processor's counters and precise memory "
             "events; not yet tested on hardware. auto, the default: count if the program has such "
             "counters, else clock."},
    OPTION_RATE,
    {"access-rate", 0, OPTION_REAL, FIELD(access_rate), .low = 1e-3, .high = 1e3, .argument = "R",
     .engine = ENGINE_LIVE,
     .help =
         "Accesses per nanosecond of CPU time, if known, for example from an exact recording; with "
         "the clock source, distances in accesses are computed from it. Default: estimated."},
    {"unit", 0, OPTION_CHOICE, FIELD(unit), .choices = unit_names, .argument = "byte|word|line",
     .help = "What counts as one location: a byte, eight aligned bytes, or a cache line of 64. "
             "Default: line."},
    OPTION_SEED,
    {"sample-locations", 0, OPTION_REAL, FIELD(share), .low = 1e-6, .high = 1, .argument = "R",
     .engine = ENGINE_EXACT,
     .help = "Follow only this share of all locations, chosen by a hash of their address. Faster, "
             "needs less memory, and the report states the error. Default: 1, all of them."},
    {"what-if-cache", 0, OPTION_CACHE, FIELD(caches), .argument = "SIZE[,WAYS]",
     .engine = ENGINE_EXACT,
     .help =
         "Simulate a cache of SIZE bytes (suffix K, M or G) with WAYS lines per set, fully "
         "associative without WAYS, with lines of 64 bytes and LRU replacement. The report shows "
         "its misses beside those that the distances predict. May be given up to eight times."},
    {"no-stack", 0, OPTION_FLAG, FIELD(stack), .value = 0, .engine = ENGINE_EXACT,
     .help = "Do not measure stack distances, which take most of the time; a model derives them "
             "from the time distances."},
    OPTION_FOLLOW,
    OPTION_TRACE,
    OPTIONS_REPORT,
    OPTION_PAPER_BINS,
    OPTIONS_LAST,
};

static const struct option_spec paths_options[] = {
    OPTION_OUTPUT("paths"),
    {"exact", 0, OPTION_FLAG, FIELD(exact), .value = 1,
     .help = "Observe an unmodified program with Valgrind: figures are exact and include the "
             "misses of a simulated cache, but COMMAND runs many times slower."},
    {"cache", 0, OPTION_CACHE, FIELD(caches), .argument = "SIZE[,WAYS]", .engine = ENGINE_EXACT,
     .help = "First-level data cache to simulate: SIZE bytes (suffix K, M or G) with WAYS lines "
             "per set, fully associative without WAYS, with lines of 64 bytes and LRU replacement. "
             "Default: this machine's."},
    {"no-cache", 0, OPTION_FLAG, FIELD(no_cache), .value = 1, .engine = ENGINE_EXACT,
     .help = "Do not simulate a cache: faster."},
    {"modules", 0, OPTION_CHOICE, FIELD(modules), .choices = modules_names, .argument = "own|all",
     .engine = ENGINE_EXACT,
     .help = "Whose functions to follow. own, the default: those of programs, and of libraries "
             "outside the system directories. all: those of every library."},
    {"event", 0, OPTION_TEXT, FIELD(event), .argument = "NAME", .engine = ENGINE_LIVE,
     .help = "Count event NAME instead of cycles in each path of a program built with --cycles. "
             "NAME is a libpfm4 name such as INSTRUCTIONS_RETIRED, perf::PAGE-FAULTS or "
             "perf::TASK-CLOCK (in nanoseconds). Sampled, as cycles are."},
    {"call-sites", 0, OPTION_FLAG, FIELD(call_sites), .value = 1, .engine = ENGINE_EXACT,
     .help = "Keep calls of the same function from different places in its caller apart."},
    {"no-contexts", 0, OPTION_FLAG, FIELD(no_contexts), .value = 1, .engine = ENGINE_EXACT,
     .help = "Record paths only, no calling contexts."},
    {"no-follow", 0, OPTION_FLAG, FIELD(follow), .value = 0, .engine = ENGINE_EXACT,
     .help = "Follow paths of the started program only, not of programs that it starts."},
    OPTIONS_REPORT,
    OPTION_HOT,
    OPTIONS_LAST,
};

static const struct option_spec interference_options[] = {
    OPTION_OUTPUT("interference"),
    {"functions", 0, OPTION_TEXT, FIELD(patterns), .argument = "GLOB,...",
     .help = "Time the functions of the program and its libraries whose names match GLOB, besides "
             "library functions that wait, do input and output or allocate. Without this option, "
             "the functions that take more than 1 % of the time are found while COMMAND runs."},
    {"every", 0, OPTION_NUMBER, FIELD(every), .low = 1, .high = 1e9, .argument = "N",
     .help =
         "Time one execution in N. Default: every execution, or fewer once that costs too much."},
    {"no-patch", 0, OPTION_FLAG, FIELD(patch), .value = 0,
     .help = "Do not change the program's code: time only calls from one module to another, and "
             "functions that were compiled to be timed."},
    {"stacks", 0, OPTION_NUMBER, FIELD(stacks), .low = 1, .high = 4e9, .argument = "N",
     .help = "Take the call stack of one in N executions of a block, including the first. Default: "
             "10000."},
    {"no-switches", 0, OPTION_FLAG, FIELD(switches), .value = 0,
     .help = "Do not record context switches: preemption then counts as slowness, and whether a "
             "thread slept is unknown."},
    OPTION_FOLLOW,
    OPTIONS_REPORT,
    OPTIONS_BLOCKS,
    OPTIONS_LAST,
};

static const struct option_spec report_options[] = {
    OPTION_FORMAT,
    OPTION_LIMIT,
    OPTION_PAPER_BINS,
    OPTION_HOT,
    OPTIONS_BLOCKS,
    {"kinds", 'k', OPTION_SET, FIELD(kinds), .choices = kind_names, .argument = "LIST",
     .help = "Show only these kinds: any of dead,silent,load. Default: all that were recorded."},
    OPTION_COLOR,
    OPTION_DEBUGINFOD,
    OPTION_HELP,
    OPTION_END,
};

static const struct option_spec merge_options[] = {
    OPTION_OUTPUT("merge"),
    OPTION_HELP,
    OPTION_END,
};

#define OPTION_LEVEL                                                                               \
    {                                                                                              \
        "level", 0, OPTION_REAL, FIELD(level),                                                     \
            .low = 1e-9, .high = 0.5, .argument = "P",                                             \
            .help = "Significance level: of comparisons of samples in which nothing has changed, " \
                    "at most this share may list a difference. Default: 1%."                       \
    }

static const struct option_spec diff_options[] = {
    OPTION_FORMAT,
    {"limit", 0, OPTION_NUMBER, FIELD(limit), .low = 0, .high = 1000000, .argument = "N",
     .help = "Show the N largest changes of each kind; 0 shows all. Default: 10 in text, all in "
             "JSON."},
    OPTION_LEVEL,
    OPTION_COLOR,
    OPTION_HELP,
    OPTION_END,
};

static const struct option_spec check_options[] = {
    {"limits", 0, OPTION_TEXT, FIELD(limits), .argument = "METRIC=LIMIT,...",
     .help = "The largest values allowed: METRIC=VALUE, METRIC=+VALUE for growth over the "
             "baseline, METRIC=+N% for growth in per cent of it. VALUE may end in %, K, M or G. "
             "METRIC is a figure that 'headroom diff' shows, such as waste.dead.fraction, "
             "waste.bytes, reuse.miss@32K, interference.share."},
    {"baseline", 0, OPTION_PROFILE, FIELD(baseline), .argument = "FILE",
     .help = "The profile to which limits of growth refer."},
    {"minimum", 0, OPTION_REAL, FIELD(minimum), .low = 0, .high = 1e18, .argument = "N",
     .help =
         "Ignore findings and excesses of less than N bytes, reuses or instructions. Default: 0."},
    {"suppressions", 0, OPTION_FILE, FIELD(suppressions), .argument = "FILE",
     .help = "Leave out of figures and lists the findings named in FILE, in lines 'FUNCTION -- "
             "REASON', or 'FUNCTION -> FUNCTION -- REASON' for both contexts, with shell patterns. "
             "Lines that match nothing are listed."},
    {"warn-only", 0, OPTION_FLAG, FIELD(warn_only), .value = 1,
     .help = "Report what exceeds its limit, but exit with status 0."},
    {"github", 0, OPTION_FLAG, FIELD(github), .value = 1,
     .help = "Print annotations for GitHub workflows as well."},
    {"markdown", 0, OPTION_FILE, FIELD(markdown), .argument = "FILE",
     .help = "Write a summary in Markdown to FILE as well."},
    {"sarif", 0, OPTION_FILE, FIELD(sarif), .argument = "FILE",
     .help = "Write what exceeds its limit to FILE as SARIF 2.1.0 as well."},
    OPTION_LEVEL,
    OPTION_COLOR,
    OPTION_HELP,
    OPTION_END,
};

static const struct option_spec export_options[] = {
    {"to", 't', OPTION_CHOICE, FIELD(export_format), .choices = export_format_names,
     .argument = "FORMAT",
     .help = "The format: one of pprof, speedscope, folded (flame graphs), callgrind "
             "(KCachegrind), firefox (profiler.firefox.com), csv, sarif."},
    {"output", 'o', OPTION_FILE, FIELD(output), .argument = "FILE",
     .help = "Write to FILE instead of standard output."},
    {"metric", 0, OPTION_TEXT, FIELD(export_metric), .argument = "NAME",
     .help = "Write this metric only; an unknown name lists the profile's metrics. Default: all; "
             "in folded, which holds only one, the first that is not 0."},
    OPTION_MIN_EXECUTIONS,
    OPTION_HELP,
    OPTION_END,
};

static const struct option_spec view_options[] = {
    {"output", 'o', OPTION_FILE, FIELD(output), .argument = "FILE",
     .help = "Write the page to FILE. Default: the profile's name with the ending .html."},
    {"before", 0, OPTION_PROFILE, FIELD(before), .argument = "BEFORE",
     .help = "Add what changed since profile BEFORE as the first view: what 'headroom diff BEFORE "
             "FILE' prints."},
    OPTION_LEVEL,
    {"sources", 0, OPTION_FLAG, FIELD(sources), .value = 1,
     .help = "Include the source lines around the locations in the profile. This is the default, "
             "for pages that stay on this machine."},
    {"no-sources", 0, OPTION_FLAG, FIELD(sources), .value = 0,
     .help = "Do not include source lines, for pages that are passed on."},
    {"limit", 0, OPTION_NUMBER, FIELD(limit), .low = 0, .high = 1000000, .argument = "N",
     .help = "Include the N largest findings of each kind; 0 includes all. Default: 500."},
    {"quiet", 'q', OPTION_FLAG, FIELD(quiet), .value = 1,
     .help = "Do not print what was written. Errors are still printed."},
    OPTION_HELP,
    OPTION_END,
};

static const struct option_spec doctor_options[] = {
    OPTION_FORMAT,
    OPTION_COLOR,
    OPTION_HELP,
    OPTION_END,
};

static const struct option_spec compile_options[] = {
    {"paths", 0, OPTION_FLAG, FIELD(paths), .value = 1,
     .help = "Count how often each path through each function is taken."},
    {"contexts", 0, OPTION_FLAG, FIELD(contexts), .value = 1,
     .help = "Record calling contexts, that is, which function was called from where, as a tree. "
             "With --paths, each context's paths are counted separately."},
    {"call-sites", 0, OPTION_FLAG, FIELD(call_sites), .value = 1,
     .help = "Keep calls of the same function from different places in its caller apart. Implies "
             "--contexts."},
    {"count", 0, OPTION_FLAG, FIELD(count_accesses), .value = 1,
     .help = "Count memory accesses exactly, as a source of samples for 'headroom waste' and "
             "'headroom reuse'."},
    {"cycles", 0, OPTION_FLAG, FIELD(cycles), .value = 1,
     .help = "Also measure the time stamp cycles of each path or context: its own, excluding the "
             "functions that it calls, including time spent waiting for the processor. Sampled: "
             "about one execution in 64 is measured."},
    {"functions", 0, OPTION_FLAG, FIELD(functions), .value = 1,
     .help = "Begin each function with a nop that 'headroom interference' can safely replace with "
             "a jump while the program runs. This costs one instruction per call, two with "
             "-fcf-protection, needs nothing at link time, and can be combined with all of the "
             "above. Programs built with -finstrument-functions or -fpatchable-function-entry do "
             "not need it."},
    {"keep-assembly", 0, OPTION_DIRECTORY, FIELD(keep_assembly), .argument = "DIR",
     .help = "Keep the rewritten assembly of each object in DIR, which is created if missing."},
    {"verbose", 0, OPTION_FLAG, FIELD(verbose), .value = 1,
     .help = "Print to standard error, one line per object, how many functions were instrumented "
             "and how many were left as they are."},
    OPTION_HELP,
    OPTION_END,
};

static const struct option_spec help_options[] = {
    {"generate", 0, OPTION_TEXT, FIELD(generate), .argument = "WHAT"}, /* used by the build */
    OPTION_HELP,
    OPTION_END,
};

static const struct option_spec top_options[] = {
    OPTION_HELP,
    {"version", 'V', OPTION_FLAG, FIELD(version), .value = 1, .help = "Show the version and exit."},
    OPTION_END,
};

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
#define COMPILE_STATUS                                                                             \
    "The exit status of the compiler, or 1 when the code cannot be rewritten or headroom itself "  \
    "failed, 2 for wrong options, 126 when COMPILER cannot be executed, 127 when it cannot be "    \
    "found."

const struct verb verbs[] = {
    {
        .name = "waste",
        .summary = "find stores and loads that do nothing",
        .arguments = "[--] COMMAND [ARGUMENT...]",
        .description =
            "Runs COMMAND and finds wasted memory accesses: dead stores (overwritten before "
            "anything reads them), silent stores (of the value that is already there) and "
            "redundant loads (of a value that was loaded before and has not changed). Every "
            "finding names both places in the code, with their calling contexts.\n\n"
            "COMMAND needs no preparation; compile it with -g to see source lines. It must be a "
            "dynamically linked x86-64 program, or a script run by one. A sample of its accesses "
            "is followed with the processor's debug registers, which costs a few per cent of the "
            "run time; with --exact every access is observed, and COMMAND runs many times slower. "
            "Its input, output and exit status are its own; the report goes to standard error when "
            "it has ended. Options end at the first word that is not an option." COMMAND_END,
        .exit_status = COMMAND_STATUS,
        .options = waste_options,
        .usage_code = 125,
        .operands = OPERANDS_COMMAND,
        .run = waste_run,
    },
    {
        .name = "reuse",
        .summary = "measure how far apart uses of the same data are",
        .arguments = "[--] COMMAND [ARGUMENT...]",
        .description =
            "Runs COMMAND and measures for every access how long ago the same location was used "
            "before: the time distance in accesses, and the stack distance in other locations "
            "touched in between, which is the size of the cache that would still hold the data. "
            "The report shows histograms of both, the miss ratio of every cache size, and the "
            "places in the code between which the long distances lie, with their calling "
            "contexts.\n\n"
            "A sample of the accesses is followed, which costs a few per cent of the run time: "
            "near reuses are found by looking ahead in the code, far ones are caught by the "
            "processor's debug registers and measured in CPU time. With --exact every access is "
            "observed and every distance is exact, and COMMAND runs many times slower. COMMAND "
            "needs no preparation; compile it with -g to see source lines. Its input, output and "
            "exit status are its own; the report goes to standard error when it has ended. Options "
            "end at the first word that is not an option." COMMAND_END,
        .exit_status = COMMAND_STATUS,
        .options = reuse_options,
        .usage_code = 125,
        .operands = OPERANDS_COMMAND,
        .run = reuse_run,
    },
    {
        .name = "paths",
        .summary = "count the paths and calling contexts that a program takes",
        .arguments = "[--] COMMAND [ARGUMENT...]",
        .description =
            "Runs COMMAND, which 'headroom cc' built with --paths or --contexts, and reports how "
            "often each path through each function was taken, from the entry or a loop's head to "
            "the exit or the next loop's head, and in which calling contexts. Programs that "
            "COMMAND starts are counted too if they were built that way; all others run as "
            "usual.\n\n"
            "Every execution is counted, by the program itself, in memory that headroom shares "
            "with it, so that the counts of a killed program are kept. Its input, output and exit "
            "status are its own; the report goes to standard error when it has ended. Options end "
            "at the first word that is not an option.\n\n"
            "With --exact COMMAND needs no preparation except symbols; compile it with -g to see "
            "source lines. Its paths are followed under Valgrind, which makes it run many times "
            "slower, and each is listed with the misses that a simulated first-level data cache "
            "has in it, excluding what it calls. Programs that COMMAND starts are followed as "
            "well." COMMAND_END,
        .exit_status = COMMAND_STATUS,
        .options = paths_options,
        .usage_code = 125,
        .operands = OPERANDS_COMMAND,
        .run = paths_run,
    },
    {
        .name = "interference",
        .summary = "find the code that loses time to other threads",
        .arguments = "[--] COMMAND [ARGUMENT...]",
        .description =
            "Runs COMMAND and times executions of functions: those that take most of its time, and "
            "those of libraries that lock, wait, do input and output or allocate. An execution "
            "that takes longer than the fastest one of the same work was held up, mostly by "
            "another thread. The report ranks blocks of code by the time lost in this way, and "
            "states for each what the evidence says about the cause: locks and who held them, "
            "waits for other threads, input and output, the allocator, preemption, work that "
            "varies with an argument, or an unknown cause.\n\n"
            "COMMAND needs no preparation; compile it with -g to see source lines. It must be a "
            "dynamically linked x86-64 program, or a script run by one. Run at most one thread per "
            "processor: otherwise threads also lose time waiting for a processor. Its input, "
            "output and exit status are its own; the report goes to standard error when it has "
            "ended. Options end at the first word that is not an option." COMMAND_END,
        .exit_status = COMMAND_STATUS,
        .options = interference_options,
        .usage_code = 125,
        .operands = OPERANDS_COMMAND,
        .run = interference_run,
    },
    {
        .name = "cc",
        .summary = "compile C with counters",
        .arguments = "[--] [COMPILER] ARGUMENT...",
        .description =
            "Runs COMPILER (gcc, g++, gfortran, clang, clang++, by whatever name; default: cc) and "
            "adds counters to the assembly that it generates, for 'headroom paths'. In builds, set "
            "CC=\"headroom cc --paths --\", CXX=\"headroom c++ --paths --\", FC=\"headroom fortran "
            "--paths --\", for both compiling and linking. Add -g to see source lines. A program "
            "built in this way behaves as usual when it is run by itself. With --functions it is "
            "prepared for 'headroom interference'.\n\n"
            "Options, messages, dependency files and exit status are the compiler's own; gcc is "
            "also given -fno-ipa-ra, except with --functions alone. Inline assembly, assembly "
            "files and libraries are left as they are; functions to which nothing can be added "
            "safely are left as they are and listed in reports. Not supported, and refused with "
            "one sentence: -flto, machines other than x86-64 Linux, -masm=intel, -pg and other "
            "profilers, -mcmodel=medium and large, -fsplit-stack, and -gsplit-dwarf by clang. "
            "Compilation to assembly (-S) gives the compiler's own output.\n\n"
            "Without --paths, --contexts, --count or --functions the assembly is only parsed and "
            "written again: the objects are those that COMPILER makes by itself.",
        .exit_status = COMPILE_STATUS,
        .options = compile_options,
        .usage_code = 2,
        .operands = OPERANDS_COMPILER,
        .run = cc_run,
    },
    {
        .name = "c++",
        .summary = "compile C++ with counters",
        .arguments = "[--] [COMPILER] ARGUMENT...",
        .description = "The same as 'headroom cc', where the default for COMPILER is c++. "
                       "'headroom help cc' describes what is done.",
        .exit_status = COMPILE_STATUS,
        .options = compile_options,
        .usage_code = 2,
        .operands = OPERANDS_COMPILER,
        .run = cxx_run,
    },
    {
        .name = "fortran",
        .summary = "compile Fortran with counters",
        .arguments = "[--] [COMPILER] ARGUMENT...",
        .description = "The same as 'headroom cc', where the default for COMPILER is gfortran. "
                       "'headroom help cc' describes what is done.",
        .exit_status = COMPILE_STATUS,
        .options = compile_options,
        .usage_code = 2,
        .operands = OPERANDS_COMPILER,
        .run = fortran_run,
    },
    {
        .name = "report",
        .summary = "print the report of a profile",
        .arguments = "[FILE]",
        .description = "Prints the findings in profile FILE to standard output, through $PAGER if "
                       "that is a terminal. Without FILE: waste.headroom. FILE may also be a raw "
                       "log left by a recording that could not be finished.",
        .exit_status = "0 on success, 1 if the file cannot be read, 2 for wrong options.",
        .options = report_options,
        .usage_code = 2,
        .operands = OPERANDS_RECORDINGS,
        .operands_most = 1,
        .run = report_run,
    },
    {
        .name = "merge",
        .summary = "merge several profiles into one",
        .arguments = "FILE FILE...",
        .description =
            "Adds up the profiles FILE into one profile of all their processes: the ranks of a "
            "parallel program, several machines, repeated runs. 'headroom report' prints it like "
            "any other profile and lists what was merged. Merged profiles may be merged again; "
            "neither order nor grouping changes the result.\n\n"
            "All FILEs must come from the same verb and engine, and from the same options where "
            "these change what the figures mean, such as units, rates and simulated caches. "
            "Modules are the same if their path and build ID are.",
        .exit_status = "0 on success, 1 if a file cannot be read or written or the profiles cannot "
                       "be merged, 2 for wrong options.",
        .options = merge_options,
        .usage_code = 2,
        .operands = OPERANDS_PROFILES,
        .run = merge_run,
    },
    {
        .name = "check",
        .summary = "check a profile against limits",
        .arguments = "FILE",
        .description =
            "Compares figures of profile FILE with limits, for use in continuous integration, and "
            "lists the findings behind each limit that is exceeded or, with a baseline, those that "
            "appeared or grew. Use recordings made with --exact: they are the same on every run. "
            "File names in annotations and SARIF are relative to the current directory.",
        .exit_status = "0 within the limits, 1 if a file cannot be read or written, 2 for wrong "
                       "options, 3 if a limit is exceeded, 4 if the profiles cannot be compared.",
        .options = check_options,
        .usage_code = 2,
        .operands = OPERANDS_PROFILES,
        .operands_most = 1,
        .run = check_run,
    },
    {
        .name = "diff",
        .summary = "show what changed between two profiles",
        .arguments = "BEFORE AFTER",
        .description =
            "Matches the findings of profiles BEFORE and AFTER by kind and by the functions of "
            "both calling contexts, even if lines have moved or the program was rebuilt, and lists "
            "which appeared, vanished, grew or shrank, together with the figures of the whole run. "
            "Both must come from the same verb and the same engine.\n\n"
            "For exact recordings and counted paths, every difference is listed. Samples differ by "
            "chance: their shares are tested, allowing for the number of comparisons (--level), "
            "and only significant differences are listed. Blocks of 'headroom interference' are "
            "shown side by side without a test.",
        .exit_status = "0 on success, with or without differences; 1 if a file cannot be read or "
                       "the profiles cannot be compared, 2 for wrong options.",
        .options = diff_options,
        .usage_code = 2,
        .operands = OPERANDS_PROFILES,
        .operands_most = 2,
        .run = diff_run,
    },
    {
        .name = "export",
        .summary = "write a profile for other tools",
        .arguments = "--to FORMAT [FILE]",
        .description =
            "Writes profile FILE in the format of another tool, to standard output unless -o is "
            "given. Without FILE: waste.headroom. Where a finding is about two places in the code, "
            "its stack is that of the second place, a frame that says what it does to the first, "
            "and the stack of the first. Totals are those of the profile.",
        .exit_status =
            "0 on success, 1 if the file cannot be read or written, 2 for wrong options.",
        .options = export_options,
        .usage_code = 2,
        .operands = OPERANDS_PROFILES,
        .operands_most = 1,
        .run = export_run,
    },
    {
        .name = "view",
        .summary = "write a profile as one HTML page",
        .arguments = "[FILE]",
        .description =
            "Writes profile FILE as one HTML file, which needs no network and no other files. Its "
            "summary can be read without scripts. With scripts it shows pairs of places side by "
            "side with their source lines and calling contexts, the calling-context tree from "
            "above, from below and as an icicle, histograms and the miss-ratio curve, paths drawn "
            "through the source, and tables of blocks. Press ? in it for the keys. Without FILE: "
            "waste.headroom.\n\n"
            "With --before it begins with what changed between two profiles, which must come from "
            "the same verb and the same engine.\n\n"
            "Source lines are quoted only from files that were not changed since the recording. "
            "Names of files and functions, and the command with its arguments, are in every page.",
        .exit_status = "0 on success, 1 if a profile cannot be read, the profiles cannot be "
                       "compared or the page cannot be written, 2 for wrong options.",
        .options = view_options,
        .usage_code = 2,
        .operands = OPERANDS_PROFILES,
        .operands_most = 1,
        .run = view_run,
    },
    {
        .name = "doctor",
        .summary = "test what this machine allows",
        .arguments = "",
        .description = "Tries everything that a recording needs and prints what works, what it "
                       "costs and which command would allow more.",
        .exit_status = "0 if 'headroom waste' works here, 1 if not, 2 for wrong options.",
        .options = doctor_options,
        .usage_code = 2,
        .run = doctor_run,
    },
    {
        .name = "help",
        .summary = "explain a verb",
        .arguments = "[VERB]",
        .description = "Shows what 'headroom VERB --help' shows; without VERB, the list of verbs.",
        .exit_status = "0 on success, 2 if there is no such verb.",
        .options = help_options,
        .usage_code = 2,
        .operands = OPERANDS_VERB,
        .operands_most = 1,
        .run = help_run,
    },
    {.name = NULL},
};

const struct verb top = {
    .name = "",
    .summary = "find work that a program need not do",
    .arguments = "VERB [OPTION...] [ARGUMENT...]",
    .description =
        "headroom finds the work that a native program need not do and names the two places in the "
        "code that cause it.",
    .exit_status = "That of the verb; 2 for wrong options.",
    .options = top_options,
    .usage_code = 2,
};

void settings_default(struct settings *settings)
{
    *settings = (struct settings){
        .output = NULL,
        .kinds = 0,
        .follow = 1,
        .rate = 80,
        .limit = UINT64_MAX, /* not given */
        .fp_tolerance = 0.01,
        .unit = UNIT_LINE,
        .stack = 1,
        .share = 1,
        .hot = 0.01,
        .patch = 1,
        .switches = 1,
        .level = 0.01,
        .export_format = -1,
        .sources = 1,
        .debuginfod = DEBUGINFOD_IF_SET,
    };
}
