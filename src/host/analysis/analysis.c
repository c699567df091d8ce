// SPDX-License-Identifier: MIT
#include "analysis/analysis.h"

#include <string.h>

const struct analysis *analysis_find(const char *verb)
{
    for (const struct analysis *const *at = analyses; *at; at++)
        if (strcmp((*at)->name, verb) == 0)
            return *at;
    return NULL;
}

const struct analysis *analysis_of_log(enum analysis_log log)
{
    const struct analysis *const *at = analyses;
    while ((*at)->log != log)
        at++;
    return *at;
}
