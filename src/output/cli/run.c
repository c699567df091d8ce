// SPDX-License-Identifier: MIT
/* `headroom run`: where CPU time goes, all kinds of waste in one recording, and what to fix first. */
#include "cli/common.h"
#include "cli/recording.h"

static int run_run(const struct settings *settings, int count, char **operands)
{
    int code = check_engine(settings, "run", count);
    if (code)
        return code;
    return live_run(settings, "run", WIRE_DEAD | WIRE_SILENT | WIRE_LOAD | WIRE_REUSES, operands);
}

/* ---- the command line --------------------------------------------------------------------------
 */

static const struct option_spec run_options[] = {
    OPTION_OUTPUT("run"), OPTION_RATE, OPTION_FOLLOW, OPTION_SEED, OPTIONS_REPORT, OPTIONS_LAST,
};

const struct verb run_verb = {
    .name = "run",
    .summary = "find what to fix first, and what that would gain",
    .arguments = "[--] COMMAND [ARGUMENT...]",
    .description =
        "Runs COMMAND and reports where its CPU time goes and which memory accesses cost most of "
        "it "
        "for nothing: dead stores, silent stores and redundant loads, as 'headroom waste' finds "
        "them, and data that caches have lost when they are used again, as 'headroom reuse' does. "
        "What is found at one line is one finding, whatever it shows. "
        "Findings are ranked by what mending them would gain: about so much of the CPU time, with "
        "a 95 % interval, and at most the time of the loop or function around them. 'headroom "
        "report --kinds LIST' prints the findings of each kind.\n\n"
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
};
