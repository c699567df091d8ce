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
