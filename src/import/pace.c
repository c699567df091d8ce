// SPDX-License-Identifier: MIT
/*
 * How many accesses a program makes in a nanosecond of CPU time, where nothing counts them.
 */
#include "import/reuses.h"

#include <stdio.h>

/* Until programs have been measured: the middle of what programs do at 3 GHz, and a factor. */
static const double usual = 1.2, factor = 3;

void import_pace(const struct import_pace_known *known, struct import_pace *pace)
{
    if (known->given > 0) {
        *pace = (struct import_pace){known->given, known->given, known->given,
                                     "given by --access-rate", ""};
        return;
    }
    *pace =
        (struct import_pace){usual, usual / factor, usual * factor, "what programs usually do", ""};
}
