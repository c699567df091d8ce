// SPDX-License-Identifier: MIT
/* `headroom paths`: under the exact engine. */
#include "cli/recording.h"

int paths_run(const struct settings *settings, int count, char **operands)
{
    int code = check_engine(settings, "paths", count);
    if (code)
        return code;
    if (!settings->exact)
        return say_usage("paths", "programs as they are need --exact");
    if (settings->caches_count > 1)
        return say_usage("paths", "--cache can be given once");
    return exact_run(settings, "paths", false, operands);
}
