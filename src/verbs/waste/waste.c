// SPDX-License-Identifier: MIT
/* `headroom waste` (witch): which stores and loads did nothing? */
#include "waste/internal.h"

bool waste_is_in(const struct profile *profile)
{
    for (size_t i = 0; i < profile->kinds_count; i++)
        if (profile->kinds[i].kind != PROFILE_REUSE)
            return true;
    return false;
}

const struct analysis waste_analysis = {
    .name = "waste",
    .exact_unit = "access",
    .samples = true,
    .text = &waste_text,
    .json = waste_json,
    .compare = &waste_compare,
    .export = &waste_export,
    .view = &waste_view,
};
