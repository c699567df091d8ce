// SPDX-License-Identifier: MIT
/*
 * Merges profiles: one is appended to the other with its ids shifted, then all is put in order and
 * what is equal becomes one (merge_settle.c, by the rules in merge_rules.c).
 *
 * Sizes: profiles of processes of one program have mostly equal rows, so that the result stays
 * about as large as one of them, but for what each process and thread has of its own.
 */
#include "profile/internal.h"

#include "analysis/analysis.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

enum { COMMAND_BYTES = 4096, SENTENCE_BYTES = 256, AT_ONCE_MAX = 64 };

static const char *const machines_differ =
    "the recordings were made on machines with different caches, which are left out here";

static const char *const too_much =
    "together they hold more than a profile can, or one is inconsistent";

/* ---- one behind the other -------------------------------------------------------------------- */

struct shift {
    uint32_t none; /* ids below, and UINT32_MAX, are none of an item */
    uint32_t by;
};

static void shift_id(void *context, uint32_t *id)
{
    const struct shift *shift = context;
    if (*id >= shift->none && *id != UINT32_MAX)
        *id += shift->by;
}

/* Ids in the items appended from `first` on grow by the number of items that were there before. */
static void shift_references(struct profile *profile, const size_t *firsts, uint32_t processes)
{
    for (size_t t = 0; t < SCHEMA_TABLES; t++) {
        const struct schema_table *table = schema_tables[t];
        for (size_t c = 0; c < table->columns_count; c++) {
            const struct schema_column *column = &table->columns[c];
            const struct schema_table *target = column->target;
            struct shift shift = {0, processes};
            if (target)
                shift = (struct shift){(uint32_t)target->first,
                                       (uint32_t)(firsts[target->index] - target->first)};
            if (column->reference != SCHEMA_NO_REFERENCE)
                merge_each_id(profile, table, column, firsts[t], shift_id, &shift);
        }
    }
}

static bool keep_text(struct profile *profile, char *item, const struct schema_column *column)
{
    const char **text = (const char **)(void *)(item + column->offset);
    bool unknown = !*text;
    *text = profile_keep(profile, *text);
    return *text || unknown;
}

static bool append_table(struct profile *into, const struct profile *from,
                         const struct schema_table *table)
{
    struct schema_items items = schema_items(from, table);
    for (size_t i = table->first; i < items.count; i++) {
        char *added = schema_add(into, table);
        if (!added)
            return false;
        memcpy(added, items.items + i * table->item_bytes, table->item_bytes);
        for (size_t c = 0; c < table->columns_count; c++)
            if (schema_is_text(&table->columns[c]) && !keep_text(into, added, &table->columns[c]))
                return false;
    }
    return true;
}

static bool add_table(struct profile *into, const struct profile *from,
                      const struct schema_table *table)
{
    struct schema_items items = schema_items(into, table);
    if (table->merging == SCHEMA_WHOLE)
        return true; /* keep_if_same */
    if (table->merging != SCHEMA_SINGLE || items.count == 0)
        return append_table(into, from, table);
    if (schema_items(from, table).count)
        merge_combine(from, table, items.items, schema_items(from, table).items);
    return true;
}

static uint32_t count_processes(const struct profile *profile)
{
    uint32_t count = 0;
    for (size_t i = 0; i < profile->merged_count; i++)
        count += profile->merged[i].processes;
    return count;
}

static bool append(struct profile *into, const struct profile *from)
{
    size_t firsts[SCHEMA_TABLES];
    uint32_t processes = count_processes(into);
    bool good = true;
    for (size_t t = 0; t < SCHEMA_TABLES; t++)
        firsts[t] = schema_items(into, schema_tables[t]).count;
    for (size_t t = 0; good && t < SCHEMA_TABLES; t++)
        good = add_table(into, from, schema_tables[t]);
    if (good)
        shift_references(into, firsts, processes);
    return good;
}

/* ---- a recording's processes ----------------------------------------------------------------- */

static int compare_ids(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Calls `visit` with each id of a process, or UINT32_MAX for none, that stands anywhere. */
static void each_process(struct profile *profile, void (*visit)(void *, uint32_t *), void *context)
{
    for (size_t t = 0; t < SCHEMA_TABLES; t++)
        for (size_t c = 0; c < schema_tables[t]->columns_count; c++)
            if (merge_is_process(&schema_tables[t]->columns[c]))
                merge_each_id(profile, schema_tables[t], &schema_tables[t]->columns[c],
                              schema_tables[t]->first, visit, context);
}

struct ids {
    uint32_t *ids;
    size_t count;
};

static void count_id(void *context, uint32_t *id)
{
    ((struct ids *)context)->count += *id != UINT32_MAX;
}

static void list_id(void *context, uint32_t *id)
{
    struct ids *ids = context;
    if (*id != UINT32_MAX)
        ids->ids[ids->count++] = *id;
}

static void number_id(void *context, uint32_t *id)
{
    const struct ids *ids = context;
    if (*id != UINT32_MAX)
        *id = (uint32_t)BASE_FIRST(i, ids->count, ids->ids[i] >= *id);
}

/* From 0 without gaps, in the order in which they were. False: no memory. */
static bool number_processes(struct profile *profile, uint32_t *count)
{
    struct ids ids = {0};
    each_process(profile, count_id, &ids);
    ids.ids = calloc(ids.count + 1, sizeof *ids.ids);
    if (!ids.ids)
        return false;
    ids.count = 0;
    each_process(profile, list_id, &ids);
    qsort(ids.ids, ids.count, sizeof *ids.ids, compare_ids);
    size_t different = 0;
    for (size_t i = 0; i < ids.count; i++)
        if (different == 0 || ids.ids[different - 1] != ids.ids[i])
            ids.ids[different++] = ids.ids[i];
    ids.count = different;
    each_process(profile, number_id, &ids);
    *count = (uint32_t)different;
    free(ids.ids);
    return true;
}

static bool add_origin(struct profile *profile, const char *file)
{
    char command[COMMAND_BYTES] = "";
    size_t used = 0;
    uint32_t processes;
    struct profile_merged *merged = profile_add_merged(profile);
    if (!merged || !number_processes(profile, &processes))
        return false;
    for (size_t i = 0; i < profile->arguments_count && used < sizeof command; i++)
        used += (size_t)snprintf(command + used, sizeof command - used, "%s%.*s", i ? " " : "",
                                 COMMAND_BYTES, profile->arguments[i].text);
    *merged = (struct profile_merged){
        .file = profile_keep(profile, file),
        .host = profile->run.host,
        .command = profile->arguments_count ? profile_keep(profile, command) : NULL,
        .start_ns = profile->run.start_ns,
        .exit_code = profile->run.exit_code,
        .exit_signal = profile->run.exit_signal,
        .processes = processes,
    };
    return merged->file && (merged->command || profile->arguments_count == 0);
}

/* ---- what cannot be added -------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static bool differ(char why[SENTENCE_BYTES],
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, SENTENCE_BYTES, format, arguments);
    va_end(arguments);
    for (char *c = why; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return true;
}

static const char *known(const char *text)
{
    return text ? text : "none";
}

static bool runs_differ(const struct profile_run *a, const struct profile_run *b,
                        char why[SENTENCE_BYTES])
{
    if (strcmp(a->verb, b->verb) != 0)
        return differ(why, "their verbs differ, %.40s and %.40s", a->verb, b->verb);
    if (strcmp(a->engine, b->engine) != 0)
        return differ(why, "their engines differ, %.40s and %.40s", a->engine, b->engine);
    if (!profile_same_text(a->source, b->source))
        return differ(why, "their sources of samples differ, %.40s and %.40s", known(a->source),
                      known(b->source));
    if (strcmp(a->weighting, b->weighting) != 0)
        return differ(why, "one is weighted by %.40s, the other by %.40s", a->weighting,
                      b->weighting);
    if (a->interval_ns != b->interval_ns || a->period != b->period)
        return differ(why, "their samples are spaced differently");
    if (a->fp_tolerance != b->fp_tolerance)
        return differ(why, "their floating-point tolerances differ, %g and %g", a->fp_tolerance,
                      b->fp_tolerance);
    return false;
}

static bool profiles_differ(const struct profile *a, const struct profile *b,
                            char why[SENTENCE_BYTES])
{
    char clause[SENTENCE_BYTES];
    if (runs_differ(&a->run, &b->run, why))
        return true;
    for (const struct analysis *const *at = analyses; *at; at++)
        if ((*at)->clashes && (*at)->clashes(a, b, clause, sizeof clause))
            return differ(why, "%s", clause);
    if (UINT32_MAX - 1 - count_processes(a) <= count_processes(b))
        return differ(why, "%s", too_much);
    return false;
}

/* ---- what stays if it is the same ------------------------------------------------------------ */

static bool same_rows(const struct profile *into, const struct profile *from,
                      const struct schema_table *table)
{
    struct schema_items a = schema_items(into, table), b = schema_items(from, table);
    bool same = a.count == b.count;
    for (size_t i = 0; same && i < a.count; i++)
        for (size_t c = 0; same && c < table->columns_count; c++)
            same = schema_compare(&table->columns[c], a.items + i * table->item_bytes,
                                  b.items + i * table->item_bytes) == 0;
    return same;
}

static bool keep_if_same(struct profile *into, const struct profile *from,
                         const struct schema_table *table)
{
    bool same = same_rows(into, from, table);
    if (!same)
        schema_cut(into, table, 0);
    return same;
}

/* What was computed of sources beside runs does not add up: it stays once if it is the same, or if one alone has it. */
static void keep_computed(struct profile *into, struct profile *from)
{
    static const struct schema_table *const tables[] = {
        &schema_locality_runs,        &schema_locality_levels,     &schema_locality_nests,
        &schema_locality_arrays,      &schema_locality_references, &schema_locality_pairs,
        &schema_locality_suggestions, &schema_locality_loops,      &schema_locality_paddings,
        &schema_locality_points,      &schema_locality_totals,     &schema_locality_misses,
        &schema_locality_savings,     &schema_locality_sweeps,     &schema_locality_recorded,
        &schema_locality_rejections};
    bool same = true;
    if (!into->locality_runs_count || !from->locality_runs_count)
        return;
    for (size_t i = 0; i < BASE_COUNT(tables); i++)
        same = same && same_rows(into, from, tables[i]);
    for (size_t i = 0; i < BASE_COUNT(tables); i++) {
        schema_cut(from, tables[i], 0);
        if (!same)
            schema_cut(into, tables[i], 0);
    }
}

/* Measured again on the same machine they differ a little: the first are as good. Where the caches differ there are
   none any more, and what memory takes is not known. */
static void keep_latencies(struct profile *into, const struct profile *from)
{
    if (into->caches_count == 0 || from->latencies_count == 0)
        schema_cut(into, &schema_latencies, 0);
}

static bool note(struct profile *profile, const char *sentence)
{
    struct profile_text *degraded = profile_add_degraded(profile);
    if (degraded)
        degraded->text = sentence;
    return degraded != NULL;
}

/* ---- twice the same -------------------------------------------------------------------------- */

const char *const profile_counted_twice =
    "a recording was merged more than once, and counts as often";

/* Of one recording, however its file is called by now. */
static bool same_origin(const struct profile_merged *a, const struct profile_merged *b)
{
    return a->start_ns == b->start_ns && a->processes == b->processes &&
           profile_same_text(a->host, b->host) && profile_same_text(a->command, b->command);
}

/* Both are in the order of starts, which are known to the nanosecond: hardly any two are equal. */
static bool share_origin(const struct profile *a, const struct profile *b)
{
    size_t first = 0;
    for (size_t i = 0; i < b->merged_count; i++) {
        const struct profile_merged *origin = &b->merged[i];
        while (first < a->merged_count && a->merged[first].start_ns < origin->start_ns)
            first++;
        for (size_t j = first; j < a->merged_count && j < first + AT_ONCE_MAX; j++)
            if (origin->start_ns && same_origin(&a->merged[j], origin))
                return true;
    }
    return false;
}

/* Of the first recording that failed, or else of the first. */
static void find_exit(struct profile *profile)
{
    const struct profile_merged *found = &profile->merged[0];
    for (size_t i = profile->merged_count; i-- > 0;)
        if (profile->merged[i].exit_code > 0 || profile->merged[i].exit_signal > 0)
            found = &profile->merged[i];
    profile->run.exit_code = found->exit_code;
    profile->run.exit_signal = found->exit_signal;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* In order, and still what readers rely upon. */
static enum base_status settle(struct profile *profile, char why[SENTENCE_BYTES])
{
    const char *disagree = NULL;
    enum base_status status = merge_settle(profile, &disagree);
    if (status == BASE_MALFORMED)
        differ(why, "they contradict each other on the same code (table %s)", disagree);
    if (status != BASE_OK)
        return status;
    find_exit(profile);
    profile_total(profile);
    if (profile_check(profile))
        return BASE_OK;
    differ(why, "%s", too_much);
    return BASE_MALFORMED;
}

enum base_status profile_merge_begin(struct profile *profile, const char *file, char *error,
                                     size_t error_bytes)
{
    char why[SENTENCE_BYTES] = "out of memory";
    enum base_status status = BASE_OK;
    if (profile->merged_count == 0) {
        status = add_origin(profile, file) ? merge_rename_shapes(profile) : BASE_NO_MEMORY;
    }
    if (status == BASE_OK)
        status = settle(profile, why);
    if (status != BASE_OK)
        snprintf(error, error_bytes, "cannot merge '%s': %s.", file, why);
    return status;
}

enum base_status profile_merge(struct profile *into, const char *into_file, struct profile *from,
                               const char *from_file, char *error, size_t error_bytes)
{
    char why[SENTENCE_BYTES] = "out of memory";
    enum base_status status = BASE_NO_MEMORY;
    assert(into->merged_count && from->merged_count);
    if (profiles_differ(into, from, why)) {
        snprintf(error, error_bytes, "cannot merge '%s' with '%s': %s.", from_file, into_file, why);
        return BASE_UNSUPPORTED;
    }
    if (into->span_runs_count && from->span_runs_count &&
        into->span_runs[0].ns_per_tick != from->span_runs[0].ns_per_tick) {
        merge_spread_bins(into);
        merge_spread_bins(from);
    }
    merge_combine(into, &schema_run, &into->run, &from->run);
    keep_if_same(into, from, &schema_arguments);
    into->file_bytes += from->file_bytes;
    bool same = keep_if_same(into, from, &schema_caches);
    keep_latencies(into, from);
    keep_computed(into, from);
    if ((!share_origin(into, from) || note(into, profile_counted_twice)) &&
        (same || note(into, machines_differ)) && append(into, from))
        status = settle(into, why);
    if (status != BASE_OK)
        snprintf(error, error_bytes, "cannot merge '%s' with '%s': %s.", from_file, into_file, why);
    return status;
}
