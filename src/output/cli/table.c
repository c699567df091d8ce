// SPDX-License-Identifier: MIT
/* The verbs, in the order in which they are listed. Each has a file of its own. */
#include "cli/common.h"
#include "cli/verbs.h"

const struct verb *const verbs[] = {
    &waste_verb, &reuse_verb,  &paths_verb,   &interference_verb,
    &cc_verb,    &cxx_verb,    &fortran_verb, &report_verb,
    &merge_verb, &check_verb,  &diff_verb,    &export_verb,
    &view_verb,  &doctor_verb, &help_verb,    NULL,
};

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
