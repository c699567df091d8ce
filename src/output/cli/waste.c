// SPDX-License-Identifier: MIT
/* `headroom waste`: by samples, or under the exact engine. */
#include "cli/common.h"
#include "cli/recording.h"

enum { KINDS_ALL = WIRE_DEAD | WIRE_SILENT | WIRE_LOAD };

static int waste_run(const struct settings *settings, int count, char **operands)
{
    int code = check_engine(settings, "waste", count);
    if (!code && settings->exact && settings->seed && settings->share >= 1)
        code = say_usage("waste", "--seed belongs to sampling, and --exact samples nothing without "
                                  "--sample-locations");
    if (!code && settings->jobs > 1 && settings->share < 1)
        code = say_usage("waste", "--jobs belongs to counts of all locations, and "
                                  "--sample-locations leaves most of them out");
    if (code)
        return code;
    if (settings->exact)
        return exact_run(settings, "waste", EXACT_KINDS, operands);
    return live_run(settings, "waste", settings->kinds ? settings->kinds : KINDS_ALL, operands,
                    NULL, NULL);
}

/* ---- the command line --------------------------------------------------------------------------
 */

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
    {"sample-locations", 0, OPTION_REAL, FIELD(share), .low = 1e-4, .high = 1, .argument = "SHARE",
     .engine = ENGINE_EXACT,
     .help = "Follow only this share of all locations (16 aligned bytes each) at a time, chosen by "
             "a hash of their address and changed at short intervals. Faster; figures are "
             "estimates with intervals. For programs that take longer than a minute with --exact, "
             "try 0.01. Default: 1, all of them."},
    {"jobs", 'j', OPTION_NUMBER, FIELD(jobs), .low = 1, .high = 64, .argument = "N",
     .engine = ENGINE_EXACT,
     .help =
         "Count with N threads: the program's own, and N - 1 besides. Pairs, contexts and totals "
         "are the same for any number; with 2 or more, other accesses are looked at to name "
         "what the waste lies in. Default: 1."},
    OPTION_FOLLOW,
    {"seed", 0, OPTION_NUMBER, FIELD(seed), .low = 0, .high = 1e18, .argument = "N",
     .help = "Seed of the random choices, for repeatable experiments; 0, the default, takes it "
             "from the clock; with the count source it is always the same. With "
             "--sample-locations, another seed selects other locations, and 0 always the same."},
    OPTION_TRACE,
    OPTIONS_REPORT,
    OPTIONS_GROUPS,
    OPTIONS_LAST,
};

const struct verb waste_verb = {
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
    .every_access = "--exact",
};
