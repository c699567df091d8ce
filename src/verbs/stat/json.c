// SPDX-License-Identifier: MIT
/* The member "stat" of the report, docs/formats/report.md. */
#include "stat/internal.h"

static void statistics_member(struct json *json, const char *name, const struct statistics *made)
{
    json_begin(json, name, '{');
    json_decimal(json, "min", made->min, 9);
    json_decimal(json, "median", made->median, 9);
    json_decimal(json, "mean", made->mean, 9);
    json_decimal(json, "max", made->max, 9);
    json_decimal(json, "sd", made->sd, 9);
    json_range(json, "ci95", true, made->low, made->high, 9);
    json_close(json, '}');
}

static void ratio_member(struct json *json, const char *name, const struct statistics_ratio *ratio)
{
    if (!ratio->known) {
        json_key(json, name);
        json_raw(json, "null");
        return;
    }
    json_begin(json, name, '{');
    json_decimal(json, "value", ratio->value, 6);
    json_range(json, "ci95", ratio->bounded, ratio->low, ratio->high, 9);
    json_known(json, "detectable", ratio->bounded, ratio->detectable, 6);
    json_close(json, '}');
}

/* ---- medians of what runs have --------------------------------------------------------------- */

static const char *const measure_names[] = {
    [STAT_USER_NS] = "user_ns",
    [STAT_SYSTEM_NS] = "system_ns",
    [STAT_MINOR_FAULTS] = "minor_faults",
    [STAT_MAJOR_FAULTS] = "major_faults",
    [STAT_VOLUNTARY] = "voluntary_switches",
    [STAT_INVOLUNTARY] = "involuntary_switches",
    [STAT_PEAK_BYTES] = "peak_bytes",
};

static void outliers_member(struct json *json, const struct stat_row *row)
{
    json_begin(json, "outliers", '[');
    for (size_t i = 0; i < row->count; i++) {
        if (row->points[i].outlier == STAT_USUAL)
            continue;
        json_begin_item(json);
        json_count(json, "run", i);
        json_decimal(json, "ns", row->points[i].ns, 6);
        json_text(json, "cause", stat_outlier_names[row->points[i].outlier]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void times_member(struct json *json, const struct stat_row *row)
{
    json_begin(json, "times_ns", '[');
    for (size_t i = 0; i < row->count; i++) {
        json_item(json);
        json_number(json, row->points[i].ns, 9);
    }
    json_close(json, ']');
}

static void visit_members(struct json *json, const struct stat_report *report,
                          const struct stat_row *row)
{
    bool iterates = row->iterations > 0, clocked = report->cycle_ns > 0;
    json_decimal(json, "visits", row->visits, 9);
    json_decimal(json, "visits_timed", row->recorded, 9);
    statistics_member(json, "visit_ns", &row->visit_ns);
    json_known(json, "visit_cycles", clocked, row->visit_ns.median / report->cycle_ns, 6);
    json_known(json, "iterations", iterates, row->iterations, 12);
    json_known(json, "iteration_ns", iterates, row->visit_ns.median / row->iterations, 6);
    json_known(json, "iteration_cycles", iterates && clocked,
               row->visit_ns.median / row->iterations / report->cycle_ns, 6);
    json_decimal(json, "waiting", row->waiting, 6);
    json_decimal(json, "preempted", row->preempted, 6);
    json_decimal(json, "cost", row->cost, 6);
}

static void region_object(struct json *json, const struct stat_report *report,
                          const struct stat_row *row)
{
    const struct profile *profile = report->profile;
    const struct profile_stat_subject *subject = &profile->stat_subjects[row->subject];
    const struct profile_stat_region *region = &profile->stat_regions[row->region];
    char reason[TEXT_BYTES];
    stat_reason(row, reason, sizeof reason);
    json_begin_item(json);
    json_text(json, "region", region->name);
    json_text(json, "kind", stat_kind_names[region->kind]);
    json_count(json, "subject", row->subject);
    json_count(json, "command", subject->number);
    json_text(json, "level", subject->level);
    json_count(json, "runs", row->count);
    statistics_member(json, "ns", &row->ns);
    ratio_member(json, "ratio", &row->ratio);
    if (row->points[0].visit)
        visit_members(json, report, row);
    else
        ratio_member(json, "cpu_ratio", &row->cpu);
    for (unsigned i = 0; i < BASE_COUNT(measure_names) && !row->points[0].visit; i++)
        json_decimal(json, measure_names[i], stat_median(row, i), 9);
    json_flag(json, "sensitive", row->sensitive);
    json_text(json, "reason", reason[0] ? reason : NULL);
    json_range(json, "modes_ns", row->modes[0] > 0, row->modes[0], row->modes[1], 9);
    outliers_member(json, row);
    times_member(json, row);
    json_close(json, '}');
}

static void subjects_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "commands", '[');
    for (size_t i = 0; i < profile->stat_subjects_count; i++) {
        const struct profile_stat_subject *subject = &profile->stat_subjects[i];
        json_begin_item(json);
        json_count(json, "command", subject->number);
        json_text(json, "text", subject->command);
        json_text(json, "level", subject->level);
        json_text(json, "program", subject->program);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void sessions_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "sessions", '[');
    for (size_t i = 0; i < profile->stat_sessions_count; i++) {
        const struct profile_stat_session *session = &profile->stat_sessions[i];
        json_begin_item(json);
        json_count(json, "start_ns", session->start_ns);
        json_count(json, "seed", session->seed);
        json_count(json, "rounds", session->rounds);
        json_count(json, "processors", session->processors);
        json_known(json, "cycle_ns", session->cycle_ns > 0, session->cycle_ns, 6);
        json_known(json, "tick_ns", session->tick_ns > 0, session->tick_ns, 6);
        json_decimal(json, "load", session->load, 4);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Of each run by itself, where the text has medians. */
static void events_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "events", '[');
    for (size_t i = 0; i < profile->stat_events_count; i++) {
        const struct profile_stat_event *event = &profile->stat_events[i];
        json_begin_item(json);
        json_count(json, "run", event->run);
        json_text(json, "event", event->name);
        json_count(json, "value", event->value);
        json_decimal(json, "counted", event->share, 6);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void runs_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "runs", '[');
    for (size_t i = 0; i < profile->stat_runs_count; i++) {
        const struct profile_stat_run *run = &profile->stat_runs[i];
        json_begin_item(json);
        json_count(json, "session", run->session);
        json_count(json, "command", run->subject);
        json_count(json, "round", run->round);
        json_count(json, "position", run->position);
        json_flag(json, "warm_up", run->warm);
        json_flag(json, "timed", run->timed);
        json_count(json, "ns", run->wall_ns);
        json_count(json, "user_ns", run->user_ns);
        json_count(json, "system_ns", run->system_ns);
        json_count(json, "major_faults", run->major_faults);
        json_count(json, "minor_faults", run->minor_faults);
        json_count(json, "voluntary_switches", run->voluntary);
        json_count(json, "involuntary_switches", run->involuntary);
        json_count(json, "peak_bytes", run->peak_bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void skips_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "not_timed", '[');
    for (size_t i = 0; i < profile->stat_skips_count; i++) {
        const struct profile_stat_skip *skip = &profile->stat_skips[i];
        json_begin_item(json);
        json_text(json, "region", profile->stat_regions[skip->region].name);
        json_count(json, "command", profile->stat_subjects[skip->subject].number);
        json_text(json, "level", profile->stat_subjects[skip->subject].level);
        json_text(json, "why", skip->why);
        json_close(json, '}');
    }
    json_close(json, ']');
}

bool stat_json(struct json *json, const struct places *places, const struct report_options *options)
{
    const struct profile *profile = places->profile;
    if (!profile->stat_sessions_count)
        return true;
    struct stat_report *report = stat_report_make(profile);
    if (!report)
        return false;
    (void)options; /* what was asked for is not cut */
    json_begin(json, "stat", '{');
    subjects_member(json, profile);
    sessions_member(json, profile);
    json_begin(json, "regions", '[');
    for (size_t i = 0; i < report->count; i++)
        region_object(json, report, &report->rows[i]);
    json_close(json, ']');
    skips_member(json, profile);
    runs_member(json, profile);
    events_member(json, profile);
    json_close(json, '}');
    stat_report_free(report);
    return true;
}
