// SPDX-License-Identifier: MIT
/* `headroom reuse`: by samples, or under the exact engine. */
#include "cli/common.h"
#include "cli/recording.h"

static int reuse_run(const struct settings *settings, int count, char **operands)
{
    int code = check_engine(settings, "reuse", count);
    if (code)
        return code;
    if (settings->exact)
        return exact_run(settings, "reuse", EXACT_REUSE, operands);
    return live_run(settings, "reuse", WIRE_REUSES, operands, NULL, NULL);
}

/* ---- the command line --------------------------------------------------------------------------
 */

static const char *const unit_names[] = {"byte", "word", "line", NULL};

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
    OPTIONS_GROUPS,
    OPTION_PAPER_BINS,
    OPTIONS_LAST,
};

const struct verb reuse_verb = {
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
    .every_access = "--exact",
};
