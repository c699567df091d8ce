// SPDX-License-Identifier: MIT
/* `headroom reuse`: under the exact engine, until there is a live one. */
#include "cli/recording.h"

int reuse_run(const struct settings *settings, int count, char **operands)
{
    if (!settings->exact)
        return say_usage("reuse", "sampling comes with a later version; take --exact");
    if (count == 0)
        return say_usage("reuse", "no command to run was given");
    return exact_run(settings, "reuse", true, operands);
}
