// SPDX-License-Identifier: MIT
/* Names, each kept once in the profile. */
#include "import/internal.h"

#include <string.h>

enum { LONGEST_NAME_BYTES = 16384 };

const char *import_keep(struct profile *profile, const char *text, bool *good)
{
    char cut[LONGEST_NAME_BYTES];
    if (!text || !*good)
        return NULL;
    if (strlen(text) >= sizeof cut) {
        memcpy(cut, text, sizeof cut - 1);
        cut[sizeof cut - 1] = 0;
        text = cut;
    }
    const char *kept = profile_keep(profile, text);
    *good = kept != NULL;
    return kept;
}
