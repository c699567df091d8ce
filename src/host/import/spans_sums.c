// SPDX-License-Identifier: MIT
/* Spans by the name in the request that they were timed for, without the log: nobody asks where and by whom they were called. */
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
    sum->preempted_ns += (double)part->preempted * import->ns_per_tick;
    sum->asleep_ns += all * (double)part->asleep * import->ns_per_tick;
    if (part->recorded && part->min != UINT64_MAX && (sum->min_ns <= 0 || min_ns < sum->min_ns))
        sum->min_ns = min_ns;
    if (max_ns > sum->max_ns)
        sum->max_ns = max_ns;
}

static void add_all(const struct spans_import *import, struct import_spans_sum *sums, size_t count)
{
    double cost = 0, events = 0;
    for (size_t i = 0; i < import->profile->span_threads_count; i++) {
        cost += import->profile->span_threads[i].cost_ns * import->ns_per_tick;
        events += (double)import->profile->span_threads[i].events;
    }
    for (size_t i = 0; i < import->parts_count; i++) {
        const struct spans_part *part = &import->parts[i];
        const struct spans_merged *span = &import->spans[part->span];
        const struct spans_function *function = &import->region->function[span->function];
        if ((span->flags & SPANS_SEQUENCE) || function->named == 0 || function->named > count)
            continue;
        struct import_spans_sum *sum = &sums[function->named - 1];
        if (!sum->visits)
            sum->entry = function->entry;
        sum->inside |= function->inside != 0;
        add_part(import, part, span, sum);
        sum->cost_ns = events > 0 ? cost / events : 0;
    }
    for (size_t i = 0; i < import->spans_count; i++) {
        const struct spans_merged *span = &import->spans[i];
        uint32_t named = import->region->function[span->function].named;
        if (span->flags & SPANS_SEQUENCE || named == 0 || named > count)
            continue;
        sums[named - 1].preemptions += span->preemptions;
        sums[named - 1].sleeps += span->sleeps;
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
