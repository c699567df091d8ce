// SPDX-License-Identifier: MIT
#include "analysis/advice.h"
#include "analysis/analysis.h"

#include <string.h>

const char *const advice_evidence_names[ADVICE_EVIDENCES] = {
    [ADVICE_WEAK] = "weak", [ADVICE_STRONG] = "strong", [ADVICE_EXACT] = "exact"};

const struct analysis *analysis_find(const char *verb)
{
    for (const struct analysis *const *at = analyses; *at; at++)
        if (strcmp((*at)->name, verb) == 0)
            return *at;
    return NULL;
}

const struct analysis *analysis_lead(const char *verb)
{
    const struct analysis *found = analysis_find(verb);
    return found && found->leads ? found : NULL;
}
