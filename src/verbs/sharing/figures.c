// SPDX-License-Identifier: MIT
/* Lines with what belongs to them, in the order in which they matter. */
#include "sharing/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const sharing_class_names[] = {"false", "true", "mixed"};
const char *const sharing_object_names[PROFILE_OBJECTS] = {
    [PROFILE_OBJECT_UNKNOWN] = "unknown", [PROFILE_OBJECT_GLOBAL] = "global",
    [PROFILE_OBJECT_HEAP] = "heap",       [PROFILE_OBJECT_STACK] = "stack",
    [PROFILE_OBJECT_THREAD] = "thread",   [PROFILE_OBJECT_DATA] = "data",
    [PROFILE_OBJECT_MAPPED] = "mapped",
};

/* ---- rows of lines ----------------------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right)
{
    const struct profile_shared_pair *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (a->transfers < b->transfers) - (a->transfers > b->transfers);
}

static int compare_users(const void *left, const void *right)
{
    const struct profile_shared_user *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static int compare_fields(const void *left, const void *right)
{
    const struct profile_shared_field *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    unsigned first = 8 * a->byte + a->bit, second = 8 * b->byte + b->bit;
    if (first != second)
        return first < second ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->path, b->path);
}

static int compare_gaps(const void *left, const void *right)
{
    const struct profile_shared_gap *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (a->low_ns > b->low_ns) - (a->low_ns < b->low_ns);
}

static bool copy_rows(struct sharing_report *report)
{
    const struct profile *profile = report->profile;
    size_t pairs = profile->shared_pairs_count, users = profile->shared_users_count;
    size_t fields = profile->shared_fields_count;
    report->fields = calloc(fields + 1, sizeof *report->fields);
    size_t gaps = profile->shared_gaps_count;
    report->rows = calloc(pairs + 1, sizeof *report->rows);
    report->pairs = calloc(pairs + 1, sizeof *report->pairs);
    report->users = calloc(users + 1, sizeof *report->users);
    report->lines = calloc(profile->shared_lines_count + 1, sizeof *report->lines);
    report->gaps = calloc(gaps + 1, sizeof *report->gaps);
    if (!report->rows || !report->pairs || !report->users || !report->lines || !report->fields ||
        !report->gaps)
        return false;
    if (pairs) {
        memcpy(report->rows, profile->shared_pairs, pairs * sizeof *report->rows);
        qsort(report->rows, pairs, sizeof *report->rows, compare_rows);
    }
    if (users) {
        memcpy(report->users, profile->shared_users, users * sizeof *report->users);
        qsort(report->users, users, sizeof *report->users, compare_users);
    }
    if (fields) {
        memcpy(report->fields, profile->shared_fields, fields * sizeof *report->fields);
        qsort(report->fields, fields, sizeof *report->fields, compare_fields);
    }
    if (gaps) {
        memcpy(report->gaps, profile->shared_gaps, gaps * sizeof *report->gaps);
        qsort(report->gaps, gaps, sizeof *report->gaps, compare_gaps);
    }
    return true;
}

/* ---- pairs in both directions -------------------------------------------------------------------- */

static struct sharing_pair turned(const struct sharing_pair *pair)
{
    struct sharing_pair turned = *pair;
    turned.first = pair->second;
    turned.second = pair->first;
    turned.first_place = pair->second_place;
    turned.second_place = pair->first_place;
    turned.first_kind = pair->second_kind;
    turned.second_kind = pair->first_kind;
    turned.first_mask = pair->second_mask;
    turned.second_mask = pair->first_mask;
    return turned;
}

static int compare_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int compare_frames(const struct profile_frame *a, const struct profile_frame *b)
{
    int order = compare_texts(a->file, b->file);
    if (!order)
        order = (a->line > b->line) - (a->line < b->line);
    if (!order)
        order = compare_texts(a->function, b->function);
    return order ? order : (a->address > b->address) - (a->address < b->address);
}

static int compare_readings(const struct places *places, uint32_t a, uint32_t b)
{
    const struct profile_frame *frames = places->profile->frames;
    const struct place *items = places->items;
    int order = 0;
    for (; a && b && a != b && !order; a = items[a].parent, b = items[b].parent)
        order = compare_frames(&frames[items[a].class], &frames[items[b].class]);
    return order ? order : (a > b) - (a < b);
}

struct sharing_pair sharing_ordered(const struct places *places, const struct sharing_pair *pair)
{
    return compare_readings(places, pair->first_place, pair->second_place) <= 0 ? *pair
                                                                                : turned(pair);
}

/* The two directions are one pair, and so are reads and writes in one place. */
static struct sharing_pair ordered(const struct places *places,
                                   const struct profile_shared_pair *row)
{
    struct sharing_pair pair = {.first = row->first,
                                .second = row->second,
                                .first_place = places->place_of[row->first],
                                .second_place = places->place_of[row->second],
                                .first_kind = row->first_kind,
                                .second_kind = row->second_kind,
                                .is_true = row->is_true,
                                .first_mask = row->first_mask,
                                .second_mask = row->second_mask,
                                .transfers = row->transfers};
    return sharing_ordered(places, &pair);
}

static bool same_pair(const struct sharing_pair *a, const struct sharing_pair *b)
{
    return a->first_place == b->first_place && a->second_place == b->second_place &&
           a->is_true == b->is_true;
}

static int compare_pairs(const void *left, const void *right)
{
    const struct sharing_pair *a = left, *b = right;
    if (a->transfers != b->transfers)
        return a->transfers < b->transfers ? 1 : -1;
    if (a->first_place != b->first_place)
        return a->first_place < b->first_place ? -1 : 1;
    return (a->second_place > b->second_place) - (a->second_place < b->second_place);
}

static void join_pairs(const struct places *places, struct sharing_line *line)
{
    for (size_t i = 0; i < line->rows_count; i++) {
        struct sharing_pair pair = ordered(places, &line->rows[i]), *known = line->pairs;
        struct sharing_pair *end = line->pairs + line->pairs_count;
        while (known < end && !same_pair(known, &pair))
            known++;
        if (known == end) {
            *known = pair;
            line->pairs_count++;
            continue;
        }
        known->transfers += pair.transfers;
        known->first_kind |= pair.first_kind;
        known->second_kind |= pair.second_kind;
        known->first_mask |= pair.first_mask;
        known->second_mask |= pair.second_mask;
    }
    for (size_t i = 0; i < line->pairs_count; i++)
        if (line->pairs[i].first_kind == SHARING_READS)
            line->pairs[i] = turned(&line->pairs[i]);
    qsort(line->pairs, line->pairs_count, sizeof *line->pairs, compare_pairs);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_locked(const struct sharing_line *line)
{
    enum { BOTH = SHARING_READS | SHARING_WRITES };
    double locked = 0;
    for (size_t i = 0; i < line->rows_count; i++) {
        const struct profile_shared_pair *row = &line->rows[i];
        if (row->is_true && (row->first_kind == BOTH || row->second_kind == BOTH))
            locked += row->transfers;
    }
    return locked > line->row->true_transfers / 2;
}

static void fill_line(const struct sharing_report *report, struct sharing_line *line,
                      const struct profile_shared_line *row)
{
    line->row = row;
    line->transfers = row->true_transfers + row->false_transfers;
    line->share = report->transfers > 0 ? line->transfers / report->transfers : 0;
    line->class = row->false_transfers >= SHARING_CLEAR * line->transfers  ? SHARING_FALSE
                  : row->true_transfers >= SHARING_CLEAR * line->transfers ? SHARING_TRUE
                                                                           : SHARING_MIXED;
    join_pairs(report->places, line);
    line->locked = line->class != SHARING_FALSE && is_locked(line);
}

/* Half of the meetings' touches lay that far apart at most: the upper end of the bin in which the middle one is. */
static uint64_t middle_gap(const struct profile_shared_gap *gaps, size_t count)
{
    uint64_t traps = 0, below = 0, middle = 0;
    for (size_t i = 0; i < count; i++)
        traps += gaps[i].traps;
    for (size_t i = 0; i < count && below * 2 < traps; i++) {
        below += gaps[i].traps;
        middle = gaps[i].low_ns ? 2 * gaps[i].low_ns : 1;
    }
    return middle;
}

static void fill_lines(struct sharing_report *report)
{
    const struct profile *profile = report->profile;
    size_t pair = 0, user = 0, field = 0, gap = 0;
    for (uint32_t i = 0; i < profile->shared_lines_count; i++) {
        struct sharing_line *line = &report->lines[report->lines_count++];
        line->rows = &report->rows[pair];
        line->pairs = &report->pairs[pair];
        line->users = &report->users[user];
        for (; pair < profile->shared_pairs_count && report->rows[pair].line == i; pair++)
            line->rows_count++;
        for (; user < profile->shared_users_count && report->users[user].line == i; user++)
            line->users_count++;
        line->fields = &report->fields[field];
        for (; field < profile->shared_fields_count && report->fields[field].line == i; field++)
            line->fields_count++;
        size_t first = gap;
        while (gap < profile->shared_gaps_count && report->gaps[gap].line == i)
            gap++;
        line->gap_ns = middle_gap(&report->gaps[first], gap - first);
        fill_line(report, line, &profile->shared_lines[i]);
    }
    for (size_t i = 0; i < profile->shared_seens_count; i++)
        report->lines[profile->shared_seens[i].line].seen = profile->shared_seens[i];
}

/* ---- lines of one object ------------------------------------------------------------------------- */

/* Else all that is known of lines is the file or the mapping that they are in. */
static bool is_one_object(const struct profile_shared_line *row)
{
    return row->object == PROFILE_OBJECT_GLOBAL || row->object == PROFILE_OBJECT_HEAP ||
           row->object == PROFILE_OBJECT_STACK || row->object == PROFILE_OBJECT_THREAD;
}

static int compare_objects(const struct sharing_line *left, const struct sharing_line *right)
{
    const struct profile_shared_line *a = left->row, *b = right->row;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->context != b->context)
        return a->context < b->context ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    int names = compare_texts(a->name, b->name);
    if (!names && !is_one_object(a) && a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return names ? names : (int)left->class - (int)right->class;
}

static int compare_weights(const struct sharing_line *a, const struct sharing_line *b)
{
    if (a->transfers != b->transfers)
        return a->transfers < b->transfers ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

static int by_object(const void *left, const void *right)
{
    int order = compare_objects(left, right);
    return order ? order : compare_weights(left, right);
}

static int by_weight(const void *left, const void *right)
{
    const struct sharing_line *a = left, *b = right;
    if (a->weak != b->weak)
        return a->weak ? 1 : -1;
    if ((a->lines == 0) != (b->lines == 0))
        return a->lines == 0 ? 1 : -1;
    if (a->together != b->together)
        return a->together < b->together ? 1 : -1;
    return compare_weights(a, b);
}

/* What was seen of the lines of one object, at the first of them. */
static void judge_live(const struct sharing_report *report, struct sharing_line *lines,
                       size_t count)
{
    const struct profile *profile = report->profile;
    double squares = 0, cpu_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct profile_shared_seen *seen = &lines[i].seen;
        lines->traps += seen->true_traps + seen->false_traps;
        lines->samples += seen->samples;
        squares += seen->true_squares + seen->false_squares;
        cpu_ns += seen->cpu_ns;
    }
    lines->live = profile_share(lines->together, report->transfers, report->squares);
    lines->time = profile->run.cpu_s > 0 ? fmin(cpu_ns / 1e9 / profile->run.cpu_s, 1) : 0;
    double effective = squares > 0 ? lines->together * lines->together / squares : 0;
    lines->few = lines->traps < SHARING_FEW_TRAPS || effective < SHARING_FEW_TRAPS / 2.0;
}

static bool is_weak(const struct sharing_report *report, struct sharing_line *lines, size_t count)
{
    double least = (double)report->totals.instructions * SHARING_LEAST_PART;
    if (report->live)
        judge_live(report, lines, count);
    return lines->few || lines->together * SHARING_TRANSFER_INSTRUCTIONS < least;
}

/* The heaviest line of an object stands for all of the same class. */
static void group_lines(struct sharing_report *report)
{
    struct sharing_line *lines = report->lines;
    size_t count = report->lines_count;
    qsort(lines, count, sizeof *lines, by_object);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && compare_objects(&lines[i], &lines[end]) == 0; end++)
            lines[i].together += lines[end].transfers;
        lines[i].lines = (uint32_t)(end - i);
        bool weak = is_weak(report, &lines[i], end - i);
        for (size_t j = i; j < end; j++) {
            lines[j].weak = weak;
            lines[j].together = lines[i].together;
            lines[j].time = lines[i].time;
            lines[j].traps = lines[i].traps;
            lines[j].samples = lines[i].samples;
        }
    }
    qsort(lines, count, sizeof *lines, by_weight);
    while (report->findings < count && !lines[report->findings].weak &&
           lines[report->findings].lines)
        report->findings++;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void sum_runs(struct sharing_report *report)
{
    struct profile_shared_run *sum = &report->totals;
    for (size_t i = 0; i < report->profile->shared_runs_count; i++) {
        const struct profile_shared_run *run = &report->profile->shared_runs[i];
        sum->threads += run->threads;
        sum->exhausted += run->exhausted;
        sum->instructions += run->instructions;
        sum->true_transfers += run->true_transfers;
        sum->false_transfers += run->false_transfers;
        sum->unlisted += run->unlisted;
        sum->evicted += run->evicted;
        sum->coarsened += run->coarsened;
        sum->early += run->early;
        sum->merged += run->merged;
    }
    report->transfers = sum->true_transfers + sum->false_transfers;
}

static void sum_watches(struct sharing_report *report)
{
    const struct profile *profile = report->profile;
    struct profile_shared_watch *sum = &report->watched;
    report->live = profile->shared_watches_count > 0;
    for (size_t i = 0; i < profile->shared_watches_count; i++) {
        const struct profile_shared_watch *watch = &profile->shared_watches[i];
        sum->samples += watch->samples;
        sum->armed += watch->armed;
        sum->met += watch->met;
        sum->reads += watch->reads;
        sum->late += watch->late;
        sum->waited += watch->waited;
        sum->reused += watch->reused;
        sum->unknown += watch->unknown;
        sum->cross_process += watch->cross_process;
        sum->spun += watch->spun;
    }
    for (size_t i = 0; i < profile->shared_seens_count; i++)
        report->squares +=
            profile->shared_seens[i].true_squares + profile->shared_seens[i].false_squares;
}

static void fill_matrix(struct sharing_report *report)
{
    for (size_t i = 0; i < report->profile->shared_moves_count; i++) {
        const struct profile_shared_move *move = &report->profile->shared_moves[i];
        uint32_t most = move->from_thread > move->to_thread ? move->from_thread : move->to_thread;
        report->matrix[move->from_thread][move->to_thread] += move->transfers;
        report->threads = most + 1 > report->threads ? most + 1 : report->threads;
    }
}

struct sharing_report *sharing_report_make(const struct places *places)
{
    struct sharing_report *report = calloc(1, sizeof *report);
    if (!report)
        return NULL;
    report->places = places;
    report->profile = places->profile;
    if (!copy_rows(report)) {
        sharing_report_free(report);
        return NULL;
    }
    sum_runs(report);
    sum_watches(report);
    fill_matrix(report);
    fill_lines(report);
    group_lines(report);
    return report;
}

void sharing_report_free(void *made)
{
    struct sharing_report *report = made;
    if (!report)
        return;
    free(report->rows);
    free(report->pairs);
    free(report->users);
    free(report->fields);
    free(report->lines);
    free(report->gaps);
    free(report);
}

bool sharing_spins(const struct sharing_report *report)
{
    enum {
        SPUN_PART = 50
    }; /* of the samples one: of a program that spins now and then turns are few */
    return report->live && report->watched.spun * SPUN_PART > report->watched.samples;
}

double sharing_rate(const struct sharing_report *report, double transfers)
{
    double thousands = (double)report->totals.instructions / 1000;
    return thousands > 0 ? transfers / thousands : 0;
}

struct sharing_silence sharing_silence(const struct sharing_report *report)
{
    static const double least_judged = 0.1, usual_density = 0.4;
    struct sharing_silence silence = {
        .least = report->watched.armed ? 6 / (double)report->watched.armed : 1};
    silence.rate = 1000 * silence.least * usual_density / 2;
    if (silence.least > least_judged)
        silence.doubt = SHARING_FEW_LOOKS;
    else if (sharing_rate(report, report->transfers) >= SHARING_MATTERS)
        silence.doubt = SHARING_FEW_MET;
    return silence;
}

/* ---- names ----------------------------------------------------------------------------------- */

void sharing_object(const struct profile_shared_line *row, char name[NAME_BYTES])
{
    const char *file = row->name ? name_base(row->name) : NULL;
    switch (row->object) {
    case PROFILE_OBJECT_GLOBAL:
        snprintf(name, NAME_BYTES, "%s", row->name ? row->name : "?");
        break;
    case PROFILE_OBJECT_HEAP:
        snprintf(name, NAME_BYTES, "heap block of %llu byte%s", (unsigned long long)row->size,
                 row->size == 1 ? "" : "s");
        break;
    case PROFILE_OBJECT_STACK:
        snprintf(name, NAME_BYTES, "%s%sstack of thread %u", row->name ? row->name : "",
                 row->name ? ", on the " : "", row->thread);
        break;
    case PROFILE_OBJECT_THREAD:
        snprintf(name, NAME_BYTES, "thread-local %s of thread %u", row->name ? row->name : "memory",
                 row->thread);
        break;
    case PROFILE_OBJECT_DATA:
        snprintf(name, NAME_BYTES, "data of %s", file ? file : "a file");
        break;
    case PROFILE_OBJECT_MAPPED:
        snprintf(name, NAME_BYTES, "%s%s", file ? "mapping of " : "mapped memory",
                 file ? file : "");
        break;
    default: snprintf(name, NAME_BYTES, "memory"); break;
    }
}

/* Lines of "BYTE NAME", or "- NAME". */
bool sharing_next_part(const char *parts, const char **at, struct sharing_part *part)
{
    const char *begin = *at ? *at : parts;
    const char *end = begin ? strchr(begin, '\n') : NULL, *blank = end ? strchr(begin, ' ') : NULL;
    if (!blank || blank > end)
        return false;
    *part = (struct sharing_part){*begin == '-' ? -1 : atoi(begin), blank + 1,
                                  (size_t)(end - blank - 1)};
    *at = end + 1;
    return true;
}
