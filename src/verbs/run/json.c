// SPDX-License-Identifier: MIT
/* The member "run" of the report, docs/formats/report.md: CPU time, and what to fix first. */
#include "run/internal.h"

enum { ROWS = 100 }; /* unless all are asked for */

static void row_members(struct json *json, const struct time_profile *time,
                        const struct time_row *row)
{
    struct profile_share share = time_share(time, row->own);
    json_count(json, "samples", row->ticks);
    json_decimal(json, "self", time->ns > 0 ? row->self / time->ns : 0, 6);
    json_decimal(json, "own", share.share, 6);
    json_interval(json, &share);
    json_decimal(json, "total", time->ns > 0 ? row->total / time->ns : 0, 6);
}

static void rows(struct json *json, const char *name, const struct profile *profile,
                 const struct time_profile *time, const struct time_rows *rows,
                 const struct report_options *options, bool lines)
{
    size_t most = options->limit ? options->limit : ROWS;
    json_begin(json, name, '[');
    for (size_t i = 0; i < rows->count && i < most; i++) {
        const struct profile_frame *frame = &profile->frames[rows->items[i].frame];
        json_begin_item(json);
        json_text(json, "function", frame->function);
        json_text(json, "file", frame->file);
        if (lines)
            json_count(json, "line", frame->line);
        json_text(json, "module", frame->module ? profile->modules[frame->module].path : NULL);
        row_members(json, time, &rows->items[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void time_member(struct json *json, const struct profile *profile,
                        const struct time_profile *time, const struct report_options *options)
{
    json_begin(json, "time", '{');
    json_count(json, "runs", profile->merged_count ? profile->merged_count : 1);
    json_count(json, "samples", time->ticks);
    json_count(json, "ns", (uint64_t)time->ns);
    json_decimal(json, "system_calls", time->ns > 0 ? time->system / time->ns : 0, 6);
    json_decimal(json, "unknown", time->ns > 0 ? time->unknown / time->ns : 0, 6);
    rows(json, "functions", profile, time, &time->functions, options, false);
    rows(json, "lines", profile, time, &time->lines, options, true);
    json_close(json, '}');
}

bool run_json(struct json *json, const struct places *places, const struct report_options *options)
{
    struct time_profile time;
    if (places->profile->times_count == 0)
        return true;
    if (!time_make(places, &time))
        return false;
    json_begin(json, "run", '{');
    time_member(json, places->profile, &time, options);
    bool good = run_findings_json(json, places, options);
    if (good)
        run_waits_json(json, places->profile);
    json_close(json, '}');
    time_free(&time);
    return good;
}
