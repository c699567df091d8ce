// SPDX-License-Identifier: MIT
/*
 * Time outside of innermost loops: code that runs straight, in calls or in a loop around others. No bound of a loop says
 * anything of it, so that where most of the time is there, a report on loops must say so.
 */
#include "limits/internal.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED = 3 };
static const double much = 0.5, worth_a_name = 0.05; /* of the CPU time */

/* A function's time without that of the loops that are listed. */
struct part {
    const char *function; /* NULL: unknown */
    double share;
};

/* Inlined functions are parts of the one around them, as loops are. */
static const char *function_of(const struct profile *profile, uint32_t context)
{
    const struct profile_frame *frame = &profile->frames[profile->contexts[context].frame];
    while (frame->flags & PROFILE_FRAME_INLINED && profile->contexts[context].parent) {
        context = profile->contexts[context].parent;
        frame = &profile->frames[profile->contexts[context].frame];
    }
    return frame->function;
}

static int by_function(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (!a->function || !b->function)
        return (a->function != NULL) - (b->function != NULL);
    return strcmp(a->function, b->function);
}

static int by_share(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    return (a->share < b->share) - (a->share > b->share);
}

/* Returns how many functions. */
static size_t gather(const struct profile *profile, struct part *parts)
{
    double whole = limits_cpu_ns(profile);
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < profile->times_count && whole > 0; i++) {
        const struct profile_time *time = &profile->times[i];
        if (!time->system && time->context)
            parts[count++] =
                (struct part){function_of(profile, time->context), (double)time->ns / whole};
    }
    qsort(parts, count, sizeof *parts, by_function);
    for (size_t i = 0; i < count; i++)
        if (kept && by_function(&parts[kept - 1], &parts[i]) == 0)
            parts[kept - 1].share += parts[i].share;
        else
            parts[kept++] = parts[i];
    return kept;
}

static void leave_out_loops(const struct limits_report *report, struct part *parts, size_t count)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct profile_limit_loop *row = report->loops[i].row;
        for (size_t at = 0; at < count; at++)
            if (row->share > 0 && row->function && parts[at].function &&
                strcmp(row->function, parts[at].function) == 0)
                parts[at].share -= row->share;
    }
}

static void add_names(char *line, size_t bytes, const struct part *parts, size_t count)
{
    size_t named = 0;
    while (named < count && named < NAMED && parts[named].share >= worth_a_name)
        named++;
    for (size_t i = 0; i < named; i++) {
        char name[NAME_BYTES], share[32];
        name_shorten(parts[i].function ? parts[i].function : "code without a name", 60, name);
        print_add(line, bytes, "%s%s (%s)",
                  i == 0           ? ", most of it in "
                  : i + 1 == named ? " and "
                                   : ", ",
                  name, print_percent(parts[i].share, share));
    }
}

bool limits_print_outside(struct printer *printer, const struct limits_report *report)
{
    const struct profile *profile = report->profile;
    double outside = profile->limit_runs[0].outside;
    if (outside < much)
        return true;
    struct part *parts = calloc(profile->times_count + 1, sizeof *parts);
    if (!parts)
        return false;
    char line[TEXT_BYTES] = "", share[32];
    size_t count = gather(profile, parts);
    leave_out_loops(report, parts, count);
    qsort(parts, count, sizeof *parts, by_share);
    print_add(line, sizeof line, "%s of the CPU time is in no innermost loop",
              print_percent(outside, share));
    add_names(line, sizeof line, parts, count);
    print_add(line, sizeof line,
              ": code that runs straight, or around other loops. What bounds it is not above: "
              "'headroom run' shows its lines and what they do for nothing, and --hex bounds a "
              "block of it as if it were repeated.");
    fprintf(printer->out, "\n  ");
    print_wrap(printer, PLAIN, 2, 2, line);
    free(parts);
    return true;
}
