// SPDX-License-Identifier: MIT
/* `headroom reuse` (RDX): how far apart are uses of the same data, and which cache would hold them?
 */
#include "reuse/internal.h"

#include "wire/wire.h"

static bool was_left(const struct analysis_log *log)
{
    bool alone = log->exact ? log->kinds == 0 && !log->sharing : log->kinds == WIRE_REUSES;
    return alone && !log->spans && !log->paths;
}

static bool units_clash(const struct profile_reuse *a, const struct profile_reuse *b, char *why,
                        size_t why_bytes)
{
    if (a->unit_bytes != b->unit_bytes)
        snprintf(why, why_bytes, "their units of memory differ, %u and %u bytes", a->unit_bytes,
                 b->unit_bytes);
    else if (a->stack != b->stack)
        snprintf(why, why_bytes, "stack distances were taken in one of them only");
    else
        return false;
    return true;
}

static bool same_what_ifs(const struct profile *a, const struct profile *b)
{
    bool same = a->what_ifs_count == b->what_ifs_count;
    for (size_t i = 0; same && i < a->what_ifs_count; i++) {
        const struct profile_what_if *left = &a->what_ifs[i], *right = &b->what_ifs[i];
        same = left->bytes == right->bytes && left->ways == right->ways &&
               left->line_bytes == right->line_bytes;
    }
    return same;
}

static bool clashes(const struct profile *a, const struct profile *b, char *why, size_t why_bytes)
{
    if (a->reuses_count && b->reuses_count &&
        units_clash(&a->reuses[0], &b->reuses[0], why, why_bytes))
        return true;
    if (same_what_ifs(a, b))
        return false;
    snprintf(why, why_bytes, "different caches were simulated");
    return true;
}

const struct analysis reuse_analysis = {
    .name = "reuse",
    .exact_unit = "access",
    .samples = true,
    .caches = true,
    .loops = true,
    .left = was_left,
    .clashes = clashes,
    .text = &reuse_text,
    .json = reuse_json,
    .compare = &reuse_compare,
    .export = &reuse_export,
    .gain = &reuse_gains,
    .view = &reuse_view,
};
