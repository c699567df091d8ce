// SPDX-License-Identifier: MIT
/* Sums of spans by the name in the request for which they were timed. The log is not read: sums need no calling contexts. */
#include "import/spans.h"

#include "import/import.h"

#include <stdio.h>
#include <stdlib.h>

static void add_part(const struct spans_import *import, const struct spans_part *part,
                     const struct spans_merged *span, struct import_spans_sum *sum)
{
    double min_ns = (double)part->min * import->ns_per_tick,
           max_ns = (double)span->max * import->ns_per_tick;
    /* Parts hold sums of what was recorded. */
    double all = part->recorded ? (double)part->count / (double)part->recorded : 0;
    sum->visits += part->count;
    sum->recorded += part->recorded;
    sum->sum_ns += all * (double)part->sum * import->ns_per_tick;
    sum->preempted_ns += all * (double)part->preempted * import->ns_per_tick;
    sum->asleep_ns += all * (double)part->asleep * import->ns_per_tick;
    if (part->recorded && part->min != UINT64_MAX && (sum->min_ns <= 0 || min_ns < sum->min_ns))
        sum->min_ns = min_ns;
    if (max_ns > sum->max_ns)
        sum->max_ns = max_ns;
}

/* Of all threads, whatever they executed. */
static double cost_of_event_ns(const struct spans_import *import)
{
    double ticks = 0, events = 0;
    for (size_t i = 0; i < import->profile->span_threads_count; i++) {
        ticks += import->profile->span_threads[i].cost_ns; /* still in ticks */
        events += (double)import->profile->span_threads[i].events;
    }
    return events > 0 ? ticks * import->ns_per_tick / events : 0;
}

/* NULL: no name of the request stands for it. */
static struct import_spans_sum *sum_of(const struct spans_import *import,
                                       const struct spans_merged *span,
                                       struct import_spans_sum *sums, size_t count)
{
    uint32_t named = import->region->function[span->function].named;
    bool any = !(span->flags & SPANS_SEQUENCE) && named > 0 && named <= count;
    return any ? &sums[named - 1] : NULL;
}

static void add_all(const struct spans_import *import, struct import_spans_sum *sums, size_t count)
{
    double cost_ns = cost_of_event_ns(import);
    for (size_t i = 0; i < import->parts_count; i++) {
        const struct spans_part *part = &import->parts[i];
        const struct spans_merged *span = &import->spans[part->span];
        const struct spans_function *function = &import->region->function[span->function];
        struct import_spans_sum *sum = sum_of(import, span, sums, count);
        if (!sum)
            continue;
        if (!sum->visits)
            sum->entry = function->entry;
        sum->inside |= function->inside != 0;
        add_part(import, part, span, sum);
        sum->cost_ns = cost_ns;
    }
    for (size_t i = 0; i < import->spans_count; i++) {
        const struct spans_merged *span = &import->spans[i];
        struct import_spans_sum *sum = sum_of(import, span, sums, count);
        if (!sum)
            continue;
        sum->preemptions += span->preemptions;
        sum->sleeps += span->sleeps;
    }
}

enum base_status import_spans_sums(int region, struct import_spans_sum *sums, size_t count,
                                   char *error, size_t error_bytes)
{
    struct spans_import *import = calloc(1, sizeof *import);
    if (import)
        import->profile = profile_new();
    if (!import || !import->profile) {
        free(import);
        snprintf(error, error_bytes, "cannot read the recorded times: out of memory.");
        return BASE_NO_MEMORY;
    }
    enum base_status status = spans_region_open(import, region, error, error_bytes);
    if (status == BASE_OK && !spans_region_read(import)) {
        snprintf(error, error_bytes, "cannot read the recorded times: out of memory.");
        status = BASE_NO_MEMORY;
    }
    for (size_t i = 0; i < count && status == BASE_OK; i++)
        sums[i] = (struct import_spans_sum){0};
    if (status == BASE_OK)
        add_all(import, sums, count);
    spans_region_free(import);
    profile_free(import->profile);
    free(import);
    return status;
}
