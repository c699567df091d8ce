// SPDX-License-Identifier: MIT
/* In which functions threads lost time waiting, for what gathers findings of several recordings. */
#include "gain/gain.h"
#include "interference/internal.h"
#include "show/own.h"

#include <string.h>

enum { WAITS_MOST = 10 };
static const double least_share = 0.01; /* of the threads' working time */

static bool waits(enum interference_cause cause)
{
    return cause == INTERFERENCE_LOCK || cause == INTERFERENCE_CONDITION ||
           cause == INTERFERENCE_IMBALANCE || cause == INTERFERENCE_IO ||
           cause == INTERFERENCE_ALLOCATOR;
}

/* The innermost own code of a stack; NULL: there is none. */
static const struct profile_frame *own_frame(const struct profile *profile, uint32_t context)
{
    for (; context; context = profile->contexts[context].parent) {
        const struct profile_frame *frame = &profile->frames[profile->contexts[context].frame];
        const char *module = frame->module ? profile->modules[frame->module].path : NULL;
        if (frame->function && !own_is_system(frame->function, frame->file, module))
            return frame;
    }
    return NULL;
}

/* Stacks and holders of a span are in order: where most was lost first. */
static bool add(const struct interference_figures *figures, uint32_t span, struct profile *profile)
{
    const struct profile *timed = figures->profile;
    const struct interference_rows *rows = &figures->rows[span];
    const struct interference_score *score = &figures->result->spans[span];
    const struct profile_frame *caller = NULL, *holder = NULL;
    if (rows->stacks < rows->stacks_end)
        caller = own_frame(timed, timed->span_stacks[rows->stacks].context);
    if (rows->holders < rows->holders_end)
        holder = own_frame(timed, timed->span_holders[rows->holders].context);
    struct profile_wait *wait = profile_add_waits(profile);
    if (!wait)
        return false;
    const char *function = timed->span_functions[timed->spans[span].function].function;
    *wait = (struct profile_wait){
        .function = profile_keep(profile, function),
        .caller = caller ? profile_keep(profile, caller->function) : NULL,
        .file = caller ? profile_keep(profile, caller->file) : NULL,
        .line = caller ? caller->line : 0,
        .holder = holder ? profile_keep(profile, holder->function) : NULL,
        .cause = profile_keep(profile, interference_cause_names[score->cause]),
        .count = score->count,
        .lost_ns = score->own_ns,
        .working_ns = figures->result->working_ns,
    };
    return wait->function && wait->cause;
}

static bool collect(const struct profile *timed, struct profile *profile)
{
    static const struct report_options usual;
    struct interference_figures figures;
    bool good = true;
    if (!interference_is_in(timed))
        return true;
    if (!interference_figures(timed, &usual, &figures))
        return false;
    const struct interference_result *result = figures.result;
    for (size_t i = 0, count = 0; good && i < result->ranked_count && count < WAITS_MOST; i++) {
        uint32_t span = result->ranked[i];
        const struct interference_score *score = &result->spans[span];
        if (!waits(score->cause) || score->own_ns < least_share * result->working_ns)
            continue;
        good = add(&figures, span, profile);
        count++;
    }
    interference_figures_free(&figures);
    return good;
}

static struct advice advice_for(const char *cause)
{
    for (int i = 0; i < INTERFERENCE_CAUSES; i++)
        if (strcmp(interference_cause_names[i], cause) == 0)
            return interference_usual((enum interference_cause)i);
    return (struct advice){0};
}

const struct analysis_gain interference_gains = {.waits = collect, .wait_advice = advice_for};
