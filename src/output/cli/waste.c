// SPDX-License-Identifier: MIT
/* `headroom waste`: by samples, or under the exact engine. */
#include "cli/recording.h"

enum { KINDS_ALL = WIRE_DEAD | WIRE_SILENT | WIRE_LOAD };

int waste_run(const struct settings *settings, int count, char **operands)
{
    int code = check_engine(settings, "waste", count);
    if (code)
        return code;
    if (settings->exact)
        return exact_run(settings, "waste", false, operands);
    return live_run(settings, "waste", settings->kinds ? settings->kinds : KINDS_ALL, operands);
}
