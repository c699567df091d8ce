// SPDX-License-Identifier: MIT
/* `headroom sharing`: by samples, or under the exact engine. */
#include "cli/common.h"
#include "cli/recording.h"

static int sharing_run(const struct settings *settings, int count, char **operands)
{
    int code = check_engine(settings, "sharing", count);
    if (code)
        return code;
    if (settings->exact)
        return exact_run(settings, "sharing", EXACT_SHARING, operands);
    return live_run(settings, "sharing", LIVE_SHARING, operands, NULL, NULL);
}

static const struct option_spec sharing_options[] = {
    OPTION_OUTPUT("sharing"), OPTION_EXACT, OPTION_RATE, OPTION_FOLLOW, OPTION_SEED,
    OPTIONS_REPORT,           OPTIONS_LAST,
};

const struct verb sharing_verb = {
    .name = "sharing",
    .summary = "find cache lines that threads take from each other, truly or falsely",
    .arguments = "[--] COMMAND [ARGUMENT...]",
    .description =
        "Runs COMMAND and finds the cache lines that move between its threads: two threads use the "
        "line in turn, and at least one of them writes. Where they use the same bytes that is true "
        "sharing, where they only use the same line it is false sharing, which padding or "
        "splitting "
        "mends. For every line the report says what lies there (a variable, a block of the heap "
        "and "
        "where it was allocated, a thread's stack), which thread reads and writes which bytes, "
        "between which places in the code the line moves, and what is usually done about it.\n\n"
        "Some hundred times a second each thread publishes one of its accesses, and watches with "
        "the "
        "processor's debug registers whether it uses the line of an access that another thread has "
        "published in the last 20 milliseconds. That costs a few per cent of the run time. "
        "Touches with a barrier or a wait in between are not sharing.\n\n"
        "With --exact every access is observed, and COMMAND runs many times slower, "
        "one thread at a time. Transfers are therefore not counted but expected: as if each thread "
        "had "
        "a processor of its own, executed instructions at the same rate, and waited only where "
        "it waits for another thread (creation, join, barriers, futexes, words that it reads "
        "until they change). What a thread did before such a wait is not a transfer to what "
        "another "
        "one "
        "does after it.\n\n"
        "COMMAND needs no preparation; compile it with -g to see source lines. Its "
        "input, output and exit status are its own; the report goes to standard error when it "
        "has ended. Options end at the first word that is not an option." COMMAND_END,
    .exit_status = COMMAND_STATUS,
    .options = sharing_options,
    .usage_code = 125,
    .operands = OPERANDS_COMMAND,
    .run = sharing_run,
    .every_access = "--exact",
};
