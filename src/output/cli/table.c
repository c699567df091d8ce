// SPDX-License-Identifier: MIT
/* The verbs as one list, and what stands for all of them. */
#include "cli/common.h"
#include "cli/verbs.h"

#define VERB_ADDRESS(name) &name##_verb,
const struct verb *const verbs[] = {VERBS(VERB_ADDRESS) NULL};

static const struct option_spec top_options[] = {
    OPTION_HELP,
    {"version", 'V', OPTION_FLAG, FIELD(version), .value = 1, .help = "Show the version and exit."},
    OPTION_END,
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
