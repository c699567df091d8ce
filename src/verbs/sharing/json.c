// SPDX-License-Identifier: MIT
/* The member "sharing" of the report, docs/formats/report.md. */
#include "sharing/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void mask_member(struct json *json, const char *name, uint64_t mask)
{
    char text[24];
    snprintf(text, sizeof text, "0x%016" PRIx64, mask);
    json_text(json, name, text);
}

/* The first and the last byte. */
static void bytes_member(struct json *json, const char *name, uint64_t mask)
{
    json_begin(json, name, '[');
    json_item(json);
    json_number(json, mask ? __builtin_ctzll(mask) : 0, 3);
    json_item(json);
    json_number(json, mask ? 63 - __builtin_clzll(mask) : 0, 3);
    json_close(json, ']');
}

static void part_members(struct json *json, double transfers, double all, const char *name)
{
    json_begin(json, name, '{');
    json_decimal(json, "transfers", transfers, 12);
    json_decimal(json, "share", all > 0 ? transfers / all : 0, 6);
    json_close(json, '}');
}

static void users_member(struct json *json, const struct sharing_line *line)
{
    json_begin(json, "mask", '{');
    json_begin(json, "threads", '[');
    for (size_t i = 0; i < line->users_count; i++) {
        const struct profile_shared_user *user = &line->users[i];
        json_begin_item(json);
        json_count(json, "thread", user->thread);
        mask_member(json, "reads", user->read_mask);
        mask_member(json, "writes", user->write_mask);
        json_count(json, "read_count", user->reads);
        json_count(json, "write_count", user->writes);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void parts_member(struct json *json, const char *parts)
{
    struct sharing_part part;
    json_begin(json, "parts", '[');
    for (const char *at = NULL; sharing_next_part(parts, &at, &part);) {
        char *name = strndup(part.name, part.length);
        json_begin_item(json);
        json_signed(json, "byte", part.byte);
        json_text(json, "name", name);
        json_close(json, '}');
        free(name);
    }
    json_close(json, ']');
}

static void fields_member(struct json *json, const struct sharing_line *line)
{
    json_begin(json, "fields", '[');
    for (size_t i = 0; i < line->fields_count; i++) {
        const struct profile_shared_field *field = &line->fields[i];
        json_begin_item(json);
        json_text(json, "path", field->path);
        json_count(json, "byte", field->byte);
        json_count(json, "bytes", field->bytes);
        json_count(json, "bit", field->bit);
        json_count(json, "bits", field->bits);
        json_text(json, "type", field->type);
        json_text(json, "owner", field->owner);
        json_text(json, "element", field->element);
        json_count(json, "element_bytes", field->element_bytes);
        json_flag(json, "overlaps", field->flags & PROFILE_FIELD_OVERLAPS);
        json_flag(json, "guessed", field->flags & PROFILE_FIELD_GUESSED);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* What to keep apart. */
static void remedy_member(struct json *json, const struct sharing_line *line)
{
    static const char *const kinds[] = {"elements", "members", "variables"};
    struct sharing_remedy remedy;
    if (!sharing_remedy(line, &remedy))
        return;
    json_begin(json, "apart", '{');
    json_text(json, "kind", kinds[remedy.kind]);
    json_text(json, "first", remedy.first->path);
    json_text(json, "second", remedy.second->path);
    json_text(json, "type", remedy.type);
    json_count(json, "type_bytes", remedy.bytes);
    json_close(json, '}');
}

static const char *kind_name(const struct profile_shared_pair *row)
{
    bool first = row->first_kind & SHARING_WRITES, second = row->second_kind & SHARING_WRITES;
    return first && second ? "WW" : first ? "WR" : "RW";
}

/* Of the fields with bytes of a mask. */
static void names_member(struct json *json, const char *name, const struct sharing_line *line,
                         uint64_t mask)
{
    const struct profile_shared_field *found[SHARING_FIELDS_MAX];
    size_t count = sharing_fields_in(line, mask, found);
    json_begin(json, name, '[');
    for (size_t i = 0; i < count; i++) {
        json_item(json);
        json_quote(json, found[i]->path);
    }
    json_close(json, ']');
}

static void pairs_member(struct json *json, const struct profile *profile,
                         const struct sharing_line *line, unsigned limit)
{
    uint64_t frames = json->frames;
    json_count(json, "pairs_total", line->rows_count);
    json_begin(json, "pairs", '[');
    for (size_t i = 0; i < line->rows_count && json_list_goes_on(json, frames, i, limit); i++) {
        const struct profile_shared_pair *row = &line->rows[i];
        json_begin_item(json);
        json_decimal(json, "share", line->transfers > 0 ? row->transfers / line->transfers : 0, 6);
        json_decimal(json, "transfers", row->transfers, 12);
        json_text(json, "kind", kind_name(row));
        json_flag(json, "true", row->is_true);
        json_flag(json, "first_locked", row->first_kind == (SHARING_READS | SHARING_WRITES));
        json_flag(json, "second_locked", row->second_kind == (SHARING_READS | SHARING_WRITES));
        json_context(json, "first", profile, row->first);
        json_context(json, "second", profile, row->second);
        names_member(json, "first_fields", line, row->first_mask);
        names_member(json, "second_fields", line, row->second_mask);
        bytes_member(json, "first_bytes", row->first_mask);
        bytes_member(json, "second_bytes", row->second_mask);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void live_members(struct json *json, const struct sharing_report *report,
                         const struct sharing_line *line)
{
    struct profile_share share = profile_share(line->transfers, report->transfers, report->squares);
    json_begin(json, "ci95", '[');
    json_item(json);
    json_number(json, share.low, 6);
    json_item(json);
    json_number(json, share.high, 6);
    json_close(json, ']');
    double cpu_s = report->profile->run.cpu_s;
    json_count(json, "traps", line->seen.true_traps + line->seen.false_traps);
    json_count(json, "samples", line->seen.samples);
    json_decimal(json, "cpu_share", cpu_s > 0 ? line->seen.cpu_ns / 1e9 / cpu_s : 0, 6);
    json_count(json, "gap_ns", line->gap_ns);
}

static void line_object(struct json *json, const struct sharing_report *report,
                        const struct sharing_line *line, unsigned limit)
{
    const struct profile_shared_line *row = line->row;
    char object[NAME_BYTES];
    sharing_object(row, object);
    json_begin_item(json);
    json_text(json, "object", object);
    json_text(json, "object_kind", sharing_object_names[row->object]);
    json_key(json, "offset");
    json_number(json, (double)(int64_t)row->offset, 17);
    json_count(json, "size", row->size);
    json_text(json, "class", sharing_class_names[line->class]);
    json_decimal(json, "share", line->share, 6);
    json_decimal(json, "transfers", line->transfers, 12);
    json_decimal(json, "transfers_per_1000", sharing_rate(report, line->transfers), 6);
    json_decimal(json, "false_transfers", row->false_transfers, 12);
    json_flag(json, "weak", line->weak);
    if (report->live)
        live_members(json, report, line);
    json_flag(json, "locked", line->locked);
    json_count(json, "threads", line->users_count);
    bool own = row->object == PROFILE_OBJECT_STACK || row->object == PROFILE_OBJECT_THREAD;
    json_signed(json, "thread", own ? (int64_t)row->thread : -1);
    if (row->context)
        json_context(json, "allocated", report->profile, row->context);
    users_member(json, line);
    parts_member(json, row->parts);
    fields_member(json, line);
    remedy_member(json, line);
    pairs_member(json, report->profile, line, limit);
    struct advice advice = sharing_advice(report, line);
    json_advice(json, &advice);
    json_close(json, '}');
}

static void matrix_member(struct json *json, const struct sharing_report *report)
{
    json_begin(json, "matrix", '[');
    for (uint32_t from = 0; from < report->threads; from++) {
        json_item(json);
        json_open(json, '[');
        for (uint32_t to = 0; to < report->threads; to++) {
            json_item(json);
            json_number(
                json, report->transfers > 0 ? report->matrix[from][to] / report->transfers : 0, 6);
        }
        json_close(json, ']');
    }
    json_close(json, ']');
}

static void count_or_null(struct json *json, const char *name, bool known, uint64_t count)
{
    if (known) {
        json_count(json, name, count);
        return;
    }
    json_key(json, name);
    json_raw(json, "null");
}

/* What became of samples, live. */
static void watched_member(struct json *json, const struct sharing_report *report)
{
    const struct profile_shared_watch *watched = &report->watched;
    json_begin(json, "watched", '{');
    json_count(json, "armed", watched->armed);
    json_count(json, "reads", watched->reads);
    json_count(json, "late", watched->late);
    json_count(json, "waited", watched->waited);
    json_count(json, "reused", watched->reused);
    json_count(json, "unknown", watched->unknown);
    json_count(json, "between_processes", watched->cross_process);
    json_count(json, "spun", watched->spun);
    json_close(json, '}');
}

/* What it says that no line is a finding. */
static void silence_members(struct json *json, const struct sharing_report *report)
{
    struct sharing_silence silence = sharing_silence(report);
    json_flag(json, "undecided", !report->findings && silence.doubt != SHARING_NO_DOUBT);
    json_decimal(json, "seen_from_per_1000", silence.rate, 6);
}

static void members(struct json *json, const struct sharing_report *report,
                    const struct report_options *options)
{
    const struct profile_shared_run *totals = &report->totals;
    uint64_t frames = json->frames;
    json_begin(json, "sharing", '{');
    count_or_null(json, "samples", report->live, report->watched.samples);
    count_or_null(json, "traps", report->live, report->watched.met);
    if (report->live) {
        watched_member(json, report);
        json_decimal(
            json, "effective",
            report->squares > 0 ? report->transfers * report->transfers / report->squares : 0, 6);
        silence_members(json, report);
    }
    json_decimal(json, "transfers", report->transfers, 12);
    json_decimal(json, "transfers_per_1000", sharing_rate(report, report->transfers), 6);
    json_count(json, "instructions", totals->instructions);
    part_members(json, totals->false_transfers, report->transfers, "false");
    part_members(json, totals->true_transfers, report->transfers, "true");
    json_decimal(json, "unlisted_transfers", totals->unlisted, 12);
    json_count(json, "lines_total", report->lines_count);
    json_begin(json, "lines", '[');
    for (size_t i = 0;
         i < report->lines_count && json_list_goes_on(json, frames, i, options->limit); i++)
        line_object(json, report, &report->lines[i], options->limit);
    json_close(json, ']');
    matrix_member(json, report);
    json_close(json, '}');
}

bool sharing_json(struct json *json, const struct places *places,
                  const struct report_options *options)
{
    if (!places->profile->shared_runs_count)
        return true;
    struct sharing_report *report = sharing_report_make(places);
    if (!report)
        return false;
    members(json, report, options);
    sharing_report_free(report);
    return true;
}
