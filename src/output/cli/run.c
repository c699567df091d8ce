// SPDX-License-Identifier: MIT
/* `headroom run`: where CPU time goes, all kinds of waste in one recording, and what to fix first. */
#include "cli/common.h"
#include "cli/sequel.h"

static int run_run(const struct settings *settings, int count, char **operands)
{
    int code = check_engine(settings, "run", count);
    if (code)
        return code;
    struct sequel sequel = {.settings = (const void *)settings->own};
    if (sequel.settings->max_s && !sequel.settings->runs && !sequel.settings->deep)
        return say_usage("run", "--max-time needs --repeat or --deep");
    return live_run(settings, "run",
                    WIRE_DEAD | WIRE_SILENT | WIRE_LOAD | WIRE_REUSES | LIVE_SHARING, operands,
                    &run_sequel, &sequel);
}

/* ---- the command line --------------------------------------------------------------------------
 */

static const struct option_spec run_options[] = {
    OPTION_OUTPUT("run"),
    {"repeat", 0, OPTION_COUNT, OWN(run_settings, runs), .value = RUNS_MOST, .low = 1,
     .high = RUNS_MOST, .argument = "[N]",
     .help = "Run COMMAND again until there are about 300 decided samples of each kind of waste, N "
             "runs were made, or --max-time is over, and add up all runs. Without N: as often as "
             "is needed. Whatever COMMAND does, it does again. Its output and exit status are "
             "those of the first run; what further runs print is discarded. They read the same "
             "standard input if it is a file; from a terminal they read nothing; from a pipe "
             "nothing can be read twice, and COMMAND runs once. A run that ends differently is the "
             "last, and does not count."},
    {"max-time", 0, OPTION_NUMBER, OWN(run_settings, max_s), .low = 1, .high = 1e6,
     .argument = "SECONDS",
     .help = "With --repeat or --deep: begin no run that may not end within SECONDS of the start "
             "of the first one, and end one that does not (SIGTERM, then SIGKILL). The first run "
             "is never ended. Default: 60, with --deep 600."},
    {"deep", 0, OPTION_FLAG, OWN(run_settings, deep), .value = 1,
     .help =
         "Run COMMAND twice more under the exact engine (Valgrind), many times slower, and see all "
         "of its accesses: which share of those at each line do nothing, and which share miss each "
         "cache, are then not estimates. If there is no time to follow all lines of memory for "
         "the latter, one in 64 is followed. If it has several threads, run it before that to "
         "time executions of functions, as 'headroom interference' does, and list what threads "
         "waited for; and once more under the exact engine to find cache lines that "
         "threads take from each other, as 'headroom sharing' does. Runs under the exact engine "
         "share the time that is left evenly. The three loops with most CPU time are bounded, "
         "as by 'headroom limits --measure', which takes one more such run, and before all these "
         "runs tried with their data in the first-level cache, as 'headroom ceiling' does, in a "
         "run of their own; changes of their nests that "
         "would miss less are computed, as by 'headroom locality --suggest', where LLVM 19 is "
         "installed and their source can be read. Input, output and exit "
         "status are as with --repeat; if a run "
         "fails or does not fit into its time, that is said, and its findings are those "
         "of the samples."},
    OPTION_RATE,
    OPTION_FOLLOW,
    OPTION_SEED,
    OPTIONS_REPORT,
    OPTIONS_LAST,
};

const struct verb run_verb = {
    .name = "run",
    .summary = "find what to fix first, and what that would gain",
    .arguments = "[--] COMMAND [ARGUMENT...]",
    .description =
        "Runs COMMAND and reports where its CPU time goes and which memory accesses cost most of "
        "it for nothing: dead stores, silent stores and redundant loads, as 'headroom waste' finds "
        "them, and data that caches have lost when they are used again, as 'headroom reuse' does. "
        "Of programs with several threads it also finds cache lines that these take from each "
        "other, as 'headroom sharing' does. "
        "What is found at one line is one finding, whatever it shows. Findings are ranked by what "
        "mending them would gain: about so much of the CPU time, from what evidence says can go to "
        "what the samples leave possible, and at most the time of the loop or function around "
        "them. 'headroom report --kinds LIST' prints the findings of each kind.\n\n"
        "COMMAND needs no preparation; compile it with -g to see source lines. It must be a "
        "dynamically linked x86-64 program, or a script run by one. A sample of its accesses "
        "is followed with the processor's debug registers, which costs a few per cent of the "
        "run time. Its input, output and exit status are its own; the report goes to standard "
        "error when it has ended. Options end at the first word that is not an "
        "option." COMMAND_END,
    .exit_status = COMMAND_STATUS,
    .options = run_options,
    .usage_code = 125,
    .operands = OPERANDS_COMMAND,
    .run = run_run,
    .every_access = "'headroom waste --exact'",
    .own_bytes = sizeof(struct run_settings),
};
