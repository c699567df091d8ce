// SPDX-License-Identifier: MIT
/* `headroom reuse`: by samples, or under the exact engine. */
#include "cli/recording.h"

int reuse_run(const struct settings *settings, int count, char **operands)
{
    int code = check_engine(settings, "reuse", count);
    if (code)
        return code;
    if (settings->exact)
        return exact_run(settings, "reuse", true, operands);
    return live_run(settings, "reuse", WIRE_REUSES, operands);
}
