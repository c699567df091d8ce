// SPDX-License-Identifier: MIT
/* What threads waited for, as timed in a run of its own: beside the findings, because it is wall-clock time. */
#include "analysis/analysis.h"
#include "run/internal.h"

#include <string.h>

enum { WAITS_SHOWN = 3 };

static struct advice advice_for(const char *cause)
{
    struct advice advice = {0};
    for (const struct analysis *const *at = analyses; *at && !advice.id; at++)
        if ((*at)->gain && (*at)->gain->wait_advice)
            advice = (*at)->gain->wait_advice(cause);
    return advice;
}

static double share_of(const struct profile_wait *wait)
{
    return wait->working_ns > 0 ? wait->lost_ns / wait->working_ns : 0;
}

/* ---- for people ------------------------------------------------------------------------------- */

/* Advice that the wait before had is not repeated. */
static void print_wait(struct printer *printer, const struct profile_wait *wait,
                       const struct profile_wait *before)
{
    char share[32], lost[32], place[TEXT_BYTES], name[NAME_BYTES], line[TEXT_BYTES * 2] = "";
    struct advice advice = advice_for(wait->cause);
    print_percent(share_of(wait), share);
    fprintf(printer->out, "\n  %s%s%s%s%s", print_link_on(printer), print_on(printer, BOLD), share,
            print_off(printer), print_link_off(printer));
    name_clean(wait->function, name, sizeof name);
    print_add(line, sizeof line, " of the threads' time (%s) in %s",
              print_time(wait->lost_ns, lost), name);
    if (wait->caller) {
        name_clean(wait->caller, name, sizeof name);
        print_place(printer, wait->file, wait->line, place);
        print_add(line, sizeof line, ", called by %s%s%s%s", name, place[0] ? " (" : "", place,
                  place[0] ? ")" : "");
    }
    if (wait->holder) {
        name_clean(wait->holder, name, sizeof name);
        print_add(line, sizeof line, "; held most by %s", name);
    }
    print_wrap(printer, PLAIN, 2 + (unsigned)strlen(share), 6, line);
    if (!advice.id || (before && strcmp(before->cause, wait->cause) == 0))
        return;
    fputs("      ", printer->out);
    print_wrap(printer, PLAIN, 6, 6, advice.text);
}

void run_print_waits(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    size_t most = printer->options->limit ? printer->options->limit : SIZE_MAX;
    if (profile->waits_count == 0)
        return;
    fprintf(printer->out, "\n%sWaiting%s  ", print_on(printer, STRONG), print_off(printer));
    print_wrap(printer, PLAIN, 9, 2, "beyond the fastest execution; wall-clock time, not CPU time");
    for (size_t i = 0; i < profile->waits_count && i < most && i < WAITS_SHOWN; i++) {
        print_link(printer, "view=waits&wait=%zu", i);
        print_wait(printer, &profile->waits[i], i ? &profile->waits[i - 1] : NULL);
    }
    print_link_clear(printer);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

void run_waits_json(struct json *json, const struct profile *profile)
{
    if (profile->waits_count == 0)
        return;
    json_begin(json, "waiting", '[');
    for (size_t i = 0; i < profile->waits_count; i++) {
        const struct profile_wait *wait = &profile->waits[i];
        struct advice advice = advice_for(wait->cause);
        json_begin_item(json);
        json_text(json, "function", wait->function);
        json_text(json, "caller", wait->caller);
        json_text(json, "file", wait->file);
        json_count(json, "line", wait->line);
        json_text(json, "holder", wait->holder);
        json_text(json, "cause", wait->cause);
        json_count(json, "count", wait->count);
        json_decimal(json, "lost_ns", wait->lost_ns, 9);
        json_decimal(json, "share", share_of(wait), 6);
        json_advice(json, &advice);
        json_close(json, '}');
    }
    json_close(json, ']');
}
