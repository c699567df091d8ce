// SPDX-License-Identifier: MIT
/* `headroom waste` (witch): which stores and loads did nothing? */
#include "waste/internal.h"

#include "wire/wire.h"

bool waste_is_in(const struct profile *profile)
{
    for (size_t i = 0; i < profile->kinds_count; i++)
        if (profile->kinds[i].kind != PROFILE_REUSE)
            return true;
    return false;
}

static bool was_left(const struct analysis_log *log)
{
    bool nothing = log->kinds == 0 && (log->exact || log->sharing);
    bool any = log->exact ? !nothing : !nothing && !(log->kinds & WIRE_REUSES);
    return any && !log->spans && !log->paths && !log->clones;
}

static unsigned kinds_of(const struct profile *profile)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < profile->kinds_count; i++)
        kinds |= 1U << profile->kinds[i].kind;
    return kinds;
}

static bool kinds_clash(const struct profile *a, const struct profile *b, char *why,
                        size_t why_bytes)
{
    if (kinds_of(a) == kinds_of(b))
        return false;
    snprintf(why, why_bytes, "they were not asked for the same kinds of waste");
    return true;
}

const struct analysis waste_analysis = {
    .name = "waste",
    .exact_unit = "access",
    .samples = true,
    .left = was_left,
    .clashes = kinds_clash,
    .text = &waste_text,
    .json = waste_json,
    .compare = &waste_compare,
    .export = &waste_export,
    .gain = &waste_gains,
    .view = &waste_view,
};
