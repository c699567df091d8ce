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
                                                   .help = "Form of the report. Default: text."    \
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
            .help = "Colours in the text report. auto, the default: on a terminal, unless "        \
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
     .help = "Observe child processes and programs they execute as well. This is the default."},   \
    {                                                                                              \
        "no-follow", 0, OPTION_FLAG, FIELD(follow), .value = 0,                                    \
                                                    .help = "Observe the started program only."    \
    }
#define OPTION_TRACE                                                                               \
    {                                                                                              \
        "trace", 0, OPTION_FILE, FIELD(trace),                                                     \
            .argument = "FILE", .engine = ENGINE_EXACT,                                            \
            .help = "With --exact: write every access with its address and value to FILE as "      \
                    "well, which may be a FIFO. Children are not observed then. Large: some "      \
                    "bytes an access."                                                             \
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
            .help = "Write the profile only: no report, no remarks; errors are still told."        \
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
     .help = "Samples per second of CPU time and thread with the clock source, on average. More "  \
             "samples cost more time. Default: 80."},                                              \
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
                    "takes it from the clock, with the count source always the same one."          \
    }
#define OPTION_PAPER_BINS                                                                          \
    {                                                                                              \
        "paper-bins", 0, OPTION_FLAG, FIELD(paper_bins),                                           \
            .value = 1,                                                                            \
            .help = "Histograms of reuse distances in the bins 0 to 4K, 4K to 8K, and so on in "   \
                    "powers of two, as they are common in papers."                                 \
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
            .help =                                                                                \
                "What paths are ranked by, out of count, instructions, loads, stores, cycles, "    \
                "misses, events. best, the default: the event if one was counted, else "           \
                "cycles if they were measured, else misses, else instructions."                    \
    }
#define OPTION_MIN_EXECUTIONS                                                                      \
    {                                                                                              \
        "min-executions", 0, OPTION_NUMBER, FIELD(min_executions),                                 \
            .low = 1, .high = 1e15, .argument = "N",                                               \
            .help = "Blocks get a score if at least N executions of them were timed. Default: "    \
                    "1000."                                                                        \
    }
#define OPTIONS_BLOCKS                                                                             \
    {"key",                                                                                        \
     0,                                                                                            \
     OPTION_LIST,                                                                                  \
     FIELD(keys),                                                                                  \
     .argument = "FUNCTION:N",                                                                     \
     .help = "Tell executions of FUNCTION apart by its argument N, counted from 0, because what "  \
             "it has to do depends on it. May be given again. 'headroom report' does so from the " \
             "samples that were kept, of arguments 0 to 2 and of 'result'."},                      \
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
            .help = "Observe every access instead of a sample, with Valgrind: exact figures, "     \
                    "repeatable, but COMMAND runs many times slower. Static programs can be "      \
                    "observed as well."                                                            \
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
     .help = "What to look for, out of dead,silent,load: dead stores, silent stores, redundant "
             "loads. Default: all three."},
    OPTION_EXACT,
    {"source", 0, OPTION_CHOICE, FIELD(source), .choices = source_names,
     .argument = "auto|pmu|clock|count", .engine = ENGINE_LIVE,
     .help =
         "What makes samples. clock: CPU time, works everywhere, weighs by time. pmu: "
         "precise memory events, weighs by accesses, not yet tried on hardware. count: "
         "programs built by 'headroom cc --count', weighs by accesses, the same samples on every "
         "run. auto, the default: count if the program is built so, else clock."},
    OPTION_RATE,
    {"fp-tolerance", 0, OPTION_REAL, FIELD(fp_tolerance), .low = 0, .high = 1, .argument = "X",
     .help = "Floating-point values that differ relatively by at most X count as equal; 0 compares "
             "bits. Default: 1%."},
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
     .help =
         "What tells how far apart two uses are. clock: CPU time, works everywhere; distances "
         "in accesses are estimates. count: counters that the program was built with ('headroom cc "
         "--count'). pmu: the processor's counters and precise memory events, not yet tried on "
         "hardware. auto, the default: count if the program has such counters, else clock."},
    OPTION_RATE,
    {"access-rate", 0, OPTION_REAL, FIELD(access_rate), .low = 1e-3, .high = 1e3, .argument = "R",
     .engine = ENGINE_LIVE,
     .help = "Accesses in a nanosecond of CPU time, if known (say from an exact recording): with "
             "the clock source distances in accesses follow from it. Default: estimated."},
    {"unit", 0, OPTION_CHOICE, FIELD(unit), .choices = unit_names, .argument = "byte|word|line",
     .help = "What counts as one location: a byte, eight aligned bytes, or a cache line of 64. "
             "Default: line."},
    OPTION_SEED,
    {"sample-locations", 0, OPTION_REAL, FIELD(share), .low = 1e-6, .high = 1, .argument = "R",
     .engine = ENGINE_EXACT,
     .help = "Follow only this share of all locations, chosen by a hash of their address: faster, "
             "less memory, and the report tells the error. Default: 1, all of them."},
    {"what-if-cache", 0, OPTION_CACHE, FIELD(caches), .argument = "SIZE[,WAYS]",
     .engine = ENGINE_EXACT,
     .help = "Simulate a cache of SIZE bytes (suffix K, M or G) with WAYS lines a set, fully "
             "associative without WAYS; lines have 64 bytes, and the least recently used one is "
             "replaced. The report tells its misses beside what the distances predict. May be "
             "given up to eight times."},
    {"no-stack", 0, OPTION_FLAG, FIELD(stack), .value = 0, .engine = ENGINE_EXACT,
     .help = "Leave out stack distances, which cost most of the time; they are then derived from "
             "the time distances by a model."},
    OPTION_FOLLOW,
    OPTION_TRACE,
    OPTIONS_REPORT,
    OPTION_PAPER_BINS,
    OPTIONS_LAST,
};

static const struct option_spec paths_options[] = {
    OPTION_OUTPUT("paths"),
    {"exact", 0, OPTION_FLAG, FIELD(exact), .value = 1,
     .help =
         "Observe an unmodified program with Valgrind: exact figures, and misses of a simulated "
         "cache, but COMMAND runs many times slower."},
    {"cache", 0, OPTION_CACHE, FIELD(caches), .argument = "SIZE[,WAYS]", .engine = ENGINE_EXACT,
     .help = "First-level data cache to simulate: SIZE bytes (suffix K, M or G) with WAYS lines a "
             "set, fully associative without WAYS; lines have 64 bytes, and the least recently "
             "used one is replaced. Default: this machine's."},
    {"no-cache", 0, OPTION_FLAG, FIELD(no_cache), .value = 1, .engine = ENGINE_EXACT,
     .help = "Simulate no cache: faster."},
    {"modules", 0, OPTION_CHOICE, FIELD(modules), .choices = modules_names, .argument = "own|all",
     .engine = ENGINE_EXACT,
     .help = "Whose functions to follow. own, the default: those of programs, and of libraries "
             "outside of the system's folders. all: of every library."},
    {"event", 0, OPTION_TEXT, FIELD(event), .argument = "NAME", .engine = ENGINE_LIVE,
     .help =
         "Count this event in each path in place of cycles, of a program built with --cycles: a "
         "name of libpfm4, as INSTRUCTIONS_RETIRED, perf::PAGE-FAULTS or perf::TASK-CLOCK (in "
         "nanoseconds). A sample, as cycles are."},
    {"call-sites", 0, OPTION_FLAG, FIELD(call_sites), .value = 1, .engine = ENGINE_EXACT,
     .help = "Tell calls of the same function from different places of its caller apart."},
    {"no-contexts", 0, OPTION_FLAG, FIELD(no_contexts), .value = 1, .engine = ENGINE_EXACT,
     .help = "Leave out calling contexts: paths only."},
    {"no-follow", 0, OPTION_FLAG, FIELD(follow), .value = 0, .engine = ENGINE_EXACT,
     .help = "Follow paths of the started program only, not of those that it starts."},
    OPTIONS_REPORT,
    OPTION_HOT,
    OPTIONS_LAST,
};

static const struct option_spec interference_options[] = {
    OPTION_OUTPUT("interference"),
    {"functions", 0, OPTION_TEXT, FIELD(patterns), .argument = "GLOB,...",
     .help = "Time the functions whose names match, of the program and its libraries, beside those "
             "of libraries that wait, do input and output or allocate. Without this option those "
             "that take more than 1 % of the time are found while COMMAND runs."},
    {"every", 0, OPTION_NUMBER, FIELD(every), .low = 1, .high = 1e9, .argument = "N",
     .help = "Time one execution in N. Without this option all are timed, until that costs too "
             "much: then fewer."},
    {"no-patch", 0, OPTION_FLAG, FIELD(patch), .value = 0,
     .help = "Leave the program's code as it is: only calls from one module to another are timed, "
             "and functions that were compiled for it."},
    {"stacks", 0, OPTION_NUMBER, FIELD(stacks), .low = 1, .high = 4e9, .argument = "N",
     .help = "Take the call stack of one execution of a block in N, the first included. Default: "
             "10000."},
    {"no-switches", 0, OPTION_FLAG, FIELD(switches), .value = 0,
     .help = "Do not watch context switches: being preempted then counts as being slow, and "
             "whether a thread slept is not known."},
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
     .help = "Show these kinds only, out of dead,silent,load. Default: all that were recorded."},
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
            .help = "Of comparisons of samples in which nothing has changed, at most this share "  \
                    "may tell a difference. Default: 1%."                                          \
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
     .help = "The largest values that are allowed: METRIC=VALUE, METRIC=+VALUE for growth against "
             "the baseline, METRIC=+N% for growth by per cent of it. VALUE may end in %, K, M or "
             "G. METRIC is a figure that 'headroom diff' shows, such as waste.dead.fraction, "
             "waste.bytes, reuse.miss@32K, interference.share."},
    {"baseline", 0, OPTION_PROFILE, FIELD(baseline), .argument = "FILE",
     .help = "The profile that limits of growth refer to."},
    {"minimum", 0, OPTION_REAL, FIELD(minimum), .low = 0, .high = 1e18, .argument = "N",
     .help = "Neither findings nor excesses of less than N bytes, reuses or instructions are told. "
             "Default: 0."},
    {"suppressions", 0, OPTION_FILE, FIELD(suppressions), .argument = "FILE",
     .help = "Findings to leave out of figures and lists: lines 'FUNCTION -- REASON', or 'FUNCTION "
             "-> FUNCTION -- REASON' for both contexts, with shell patterns. Those that match "
             "nothing are told."},
    {"warn-only", 0, OPTION_FLAG, FIELD(warn_only), .value = 1,
     .help = "Tell what exceeds its limit, but exit with 0."},
    {"github", 0, OPTION_FLAG, FIELD(github), .value = 1,
     .help = "Print annotations for GitHub's workflows as well."},
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
     .help =
         "The format, out of pprof, speedscope, folded (flame graphs), callgrind (KCachegrind), "
         "firefox (profiler.firefox.com), csv, sarif."},
    {"output", 'o', OPTION_FILE, FIELD(output), .argument = "FILE",
     .help = "Write to FILE instead of standard output."},
    {"metric", 0, OPTION_TEXT, FIELD(export_metric), .argument = "NAME",
     .help = "Write this metric only; a wrong name has those of the profile listed. Default: all, "
             "but in folded, where there is room for one, the first that is not 0."},
    OPTION_MIN_EXECUTIONS,
    OPTION_HELP,
    OPTION_END,
};

static const struct option_spec view_options[] = {
    {"output", 'o', OPTION_FILE, FIELD(output), .argument = "FILE",
     .help = "Write the page to FILE. Default: beside the profile, with the ending .html."},
    {"before", 0, OPTION_PROFILE, FIELD(before), .argument = "BEFORE",
     .help = "Have what changed since profile BEFORE in the page, as its first view: what "
             "'headroom diff BEFORE FILE' tells."},
    OPTION_LEVEL,
    {"sources", 0, OPTION_FLAG, FIELD(sources), .value = 1,
     .help = "Have lines of source files in the page, around the places that the profile names. "
             "This is the default, for pages that stay on this machine."},
    {"no-sources", 0, OPTION_FLAG, FIELD(sources), .value = 0,
     .help = "Leave them out: for pages that are passed on."},
    {"limit", 0, OPTION_NUMBER, FIELD(limit), .low = 0, .high = 1000000, .argument = "N",
     .help = "Have the N largest findings of each kind in the page; 0 takes all. Default: 500."},
    {"quiet", 'q', OPTION_FLAG, FIELD(quiet), .value = 1,
     .help = "Do not tell what was written; errors are still told."},
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
     .help = "Record calling contexts: which function was called from where, as a tree. With "
             "--paths: the paths of each context apart."},
    {"call-sites", 0, OPTION_FLAG, FIELD(call_sites), .value = 1,
     .help = "Tell calls of the same function from different places of its caller apart. Implies "
             "--contexts."},
    {"count", 0, OPTION_FLAG, FIELD(count_accesses), .value = 1,
     .help = "Count memory accesses exactly, as a source of samples for 'headroom waste' and "
             "'headroom reuse'."},
    {"cycles", 0, OPTION_FLAG, FIELD(cycles), .value = 1,
     .help =
         "Measure time stamp cycles of each path or context, too: its own, without those of the "
         "functions that it calls, but with the time that it waits for the processor. A sample: "
         "about one execution in 64 is measured."},
    {"functions", 0, OPTION_FLAG, FIELD(functions), .value = 1,
     .help =
         "Begin each function with a nop that 'headroom interference' can safely replace with a "
         "jump while the program runs. It costs one instruction a call, two with "
         "-fcf-protection, needs nothing when linking, and combines with all of the above. "
         "Programs built with -finstrument-functions or -fpatchable-function-entry do not "
         "need it."},
    {"keep-assembly", 0, OPTION_DIRECTORY, FIELD(keep_assembly), .argument = "DIR",
     .help = "Keep the rewritten assembly of each object in DIR, which is made if it is missing."},
    {"verbose", 0, OPTION_FLAG, FIELD(verbose), .value = 1,
     .help = "Tell on standard error, a line for each object, how many functions count, and how "
             "many were left alone."},
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
    "That of COMMAND, or 128+N if signal N killed it. If COMMAND was not started: 125 when "       \
    "headroom itself failed or the options are wrong, 126 when COMMAND cannot be executed, 127 "   \
    "when it cannot be found. 128+N also if signal N asked headroom again to end and COMMAND "     \
    "went on."
#define COMMAND_END                                                                                \
    "\n\nThe recording ends when COMMAND itself ends; children that live on are not waited for. "  \
    "Signals sent to headroom, such as SIGINT, SIGTERM, SIGHUP, SIGUSR1 or SIGALRM, are passed "   \
    "on to COMMAND, unless they went to the whole process group, as those of the terminal do: "    \
    "then COMMAND has them already. If SIGINT or SIGTERM is sent to headroom again, a second or "  \
    "more after the first, and COMMAND has not ended three seconds later, headroom writes the "    \
    "profile of what there is, and COMMAND goes on unobserved. If headroom is killed COMMAND "     \
    "goes on; 'headroom report' reads the raw log that is left. If the profile cannot be written " \
    "where it should be when COMMAND has ended, a sentence tells where it is instead."
#define COMPILE_STATUS                                                                             \
    "That of the compiler. If it did not get as far: 1 when the code cannot be rewritten or "      \
    "headroom itself failed, 2 for wrong options, 126 when COMPILER cannot be executed, 127 when " \
    "it cannot be found."

const struct verb verbs[] = {
    {
        .name = "waste",
        .summary = "find stores and loads that do nothing",
        .arguments = "[--] COMMAND [ARGUMENT...]",
        .description =
            "Runs COMMAND and finds memory accesses that are wasted: dead stores (stored, then "
            "stored again with no load between), silent stores (which leave the value that was "
            "there), redundant loads (which yield the value loaded before). Every finding names "
            "both places in the code, with their calling contexts.\n\n"
            "COMMAND needs no preparation; compile it with -g to see source lines. It must be a "
            "dynamically linked x86-64 program, or a script run by one. A sample of its accesses "
            "is watched with the processor's debug registers, at a cost of a few per cent; "
            "with --exact every access is looked at, at many times the run time. Its input, "
            "output and exit status stay its own; the report goes to standard error when it has "
            "ended. Options end at the first word that is not one." COMMAND_END,
        .exit_status = COMMAND_STATUS,
        .options = waste_options,
        .usage_code = 125,
        .operands = OPERANDS_COMMAND,
        .run = waste_run,
    },
    {
        .name = "reuse",
        .summary = "tell how far apart uses of the same data are",
        .arguments = "[--] COMMAND [ARGUMENT...]",
        .description =
            "Runs COMMAND and measures for every access how long ago the same location was used "
            "before: the time distance in accesses, and the stack distance in other locations "
            "touched in between, which tells in how large a cache the data would still be. The "
            "report shows both as histograms, the miss ratio of caches of every size, and the "
            "places in the code between which the long distances lie, with their calling "
            "contexts.\n\n"
            "A sample of the accesses is looked at, at a cost of a few per cent: near reuses are "
            "foreseen by looking ahead in the code, far ones caught with the processor's debug "
            "registers and measured in CPU time. With --exact every access is looked at and every "
            "distance is exact, at many times the run time. COMMAND needs no preparation; compile "
            "it with -g to see source lines. Its input, output and exit status stay its own; the "
            "report goes to standard error when it has ended. Options end at the first word that "
            "is not one." COMMAND_END,
        .exit_status = COMMAND_STATUS,
        .options = reuse_options,
        .usage_code = 125,
        .operands = OPERANDS_COMMAND,
        .run = reuse_run,
    },
    {
        .name = "paths",
        .summary = "tell which paths and calling contexts a program takes",
        .arguments = "[--] COMMAND [ARGUMENT...]",
        .description =
            "Runs COMMAND, which 'headroom cc' built with --paths or --contexts, and reports how "
            "often each path through each function was taken, from the entry or a loop's head to "
            "the exit or the next loop's head, and in which calling contexts. "
            "Programs that COMMAND starts are counted too if they were built so; all others run as "
            "always.\n\n"
            "Every execution is counted, by the program itself in memory of headroom's: also what "
            "a program did that was killed. Its input, output and exit status stay its own; the "
            "report goes to standard error when it has ended. Options end at the first word that "
            "is not one.\n\n"
            "With --exact COMMAND needs no preparation, but symbols; compile it with -g to see "
            "source lines. Its paths are followed under Valgrind, at many times the run time, and "
            "each is told with the misses that a simulated first-level data cache has in it, "
            "without what it calls. Programs that COMMAND starts are followed as well." COMMAND_END,
        .exit_status = COMMAND_STATUS,
        .options = paths_options,
        .usage_code = 125,
        .operands = OPERANDS_COMMAND,
        .run = paths_run,
    },
    {
        .name = "interference",
        .summary = "tell which code loses time to other threads",
        .arguments = "[--] COMMAND [ARGUMENT...]",
        .description =
            "Runs COMMAND and times executions of functions: those that take most of its time, and "
            "those of libraries that lock, wait, do input and output or allocate. An execution "
            "that takes longer than the fastest one of the same work was held up, mostly by "
            "another thread. The report ranks blocks of code by the time lost so, and tells for "
            "each what the evidence says about the cause: locks and who held them, waits for other "
            "threads, input and output, the allocator, being preempted, work that varies with an "
            "argument, or that it cannot be told.\n\n"
            "COMMAND needs no preparation; compile it with -g to see source lines. It must be a "
            "dynamically linked x86-64 program, or a script run by one. Have no more threads than "
            "processors: else they wait for these. "
            "Its input, output and exit status stay its own; the report goes to standard error "
            "when it has ended. Options end at the first word that is not one." COMMAND_END,
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
            "adds counters to the assembly it makes, for 'headroom paths'. In builds: "
            "CC=\"headroom cc --paths --\", CXX=\"headroom c++ --paths --\", FC=\"headroom fortran "
            "--paths --\", for compiling and for linking. Add -g to see source lines. A program "
            "built so behaves as always when it is run by itself. With --functions it is prepared "
            "for 'headroom interference'.\n\n"
            "Options, messages, dependency files and exit status are the compiler's own; gcc is "
            "given -fno-ipa-ra as well, unless by --functions alone. Inline assembly, assembly "
            "files and libraries are left as "
            "they are; functions to which nothing can be added safely stay as they are and are "
            "listed in reports. Refused, in one sentence: -flto, other machines than x86-64 Linux, "
            "-masm=intel, -pg and other profilers, -mcmodel=medium and large, -fsplit-stack, and "
            "-gsplit-dwarf by clang. Compilation to assembly (-S) gives the compiler's own.\n\n"
            "Without --paths, --contexts, --count or --functions the assembly is only taken apart "
            "and put "
            "together again: the objects are those that COMPILER makes by itself.",
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
                       "'headroom help cc' tells what is done.",
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
                       "'headroom help cc' tells what is done.",
        .exit_status = COMPILE_STATUS,
        .options = compile_options,
        .usage_code = 2,
        .operands = OPERANDS_COMPILER,
        .run = fortran_run,
    },
    {
        .name = "report",
        .summary = "show the findings of a profile again",
        .arguments = "[FILE]",
        .description =
            "Prints the findings in profile FILE to standard output, through $PAGER if that is a "
            "terminal. Without FILE: waste.headroom. FILE may also be a raw log that was left over "
            "by a recording that could not be finished.",
        .exit_status = "0 on success, 1 if the file cannot be read, 2 for wrong options.",
        .options = report_options,
        .usage_code = 2,
        .operands = OPERANDS_RECORDINGS,
        .operands_most = 1,
        .run = report_run,
    },
    {
        .name = "merge",
        .summary = "make one profile of several",
        .arguments = "FILE FILE...",
        .description =
            "Adds the profiles FILE up into one, that of all their processes: of the ranks of a "
            "parallel program, of several machines, of repeated runs. 'headroom report' shows it "
            "like any other and tells what went into it. Merged profiles may be merged again; "
            "neither order nor grouping changes the result.\n\n"
            "All FILEs must be of one verb, one engine and the same options where these change "
            "what the figures mean, such as units, rates and simulated caches. Modules are the "
            "same if path and build ID are.",
        .exit_status = "0 on success, 1 if a file cannot be read or written or the profiles cannot "
                       "be added up, 2 for wrong options.",
        .options = merge_options,
        .usage_code = 2,
        .operands = OPERANDS_PROFILES,
        .run = merge_run,
    },
    {
        .name = "check",
        .summary = "hold a profile to limits",
        .arguments = "FILE",
        .description =
            "Compares figures of profile FILE with limits, for use in continuous integration, and "
            "names the findings that those exceeded are made of; with a baseline, those that "
            "appeared or grew. Use recordings made with --exact: they are the same on every run. "
            "File names in annotations and SARIF are relative to the directory in which this "
            "runs.",
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
        .summary = "tell what changed between two profiles",
        .arguments = "BEFORE AFTER",
        .description =
            "Matches the findings of profiles BEFORE and AFTER by kind and by the functions of "
            "both calling contexts, also when lines have moved or the program was built anew, and "
            "tells which appeared, vanished, grew or shrank, beside the figures of the whole run. "
            "Both must come from the same verb and the same engine.\n\n"
            "Of exact recordings and counted paths every difference is told. Samples differ by "
            "chance: their shares are tested, with the number of comparisons taken into account "
            "(--level), and what is not significant is not told. Blocks of 'headroom "
            "interference' are set side by side without a test.",
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
            "its stack is that of the second, a frame that says what it does to the first, and the "
            "stack of the first. Sums are those of the profile.",
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
        .summary = "make a page for a browser of a profile",
        .arguments = "[FILE]",
        .description =
            "Writes profile FILE as one HTML file, which needs no network and nothing beside it. "
            "Its "
            "summary can be read without scripts. With scripts it shows pairs of places side by "
            "side with their source lines and calling contexts, the calling-context tree from "
            "above, "
            "from below and as an icicle, histograms and the miss-ratio curve, paths drawn through "
            "the source, and tables of blocks. Press ? in it for the keys. Without FILE: "
            "waste.headroom.\n\n"
            "With --before it begins with what changed between two profiles, which must come from "
            "the same verb and the same engine.\n\n"
            "Source lines are quoted only from files that were not changed since the recording. "
            "Names of files and functions, and the command with its arguments, are in every page.",
        .exit_status =
            "0 on success, 1 if a profile cannot be read, the profiles cannot be compared or the "
            "page not be written, 2 for wrong options.",
        .options = view_options,
        .usage_code = 2,
        .operands = OPERANDS_PROFILES,
        .operands_most = 1,
        .run = view_run,
    },
    {
        .name = "doctor",
        .summary = "try what this machine allows",
        .arguments = "",
        .description =
            "Tries everything that a recording needs and tells what works, what it costs and which "
            "command would allow more.",
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
