// SPDX-License-Identifier: MIT
/*
 * Reuse distances for people: where the quantiles lie, coarse histograms of the distances, and,
 * where they are estimates, what these rest on.
 */
#include "reuse/internal.h"

#include "wire/wire.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    LABEL_COLUMNS = 14,  /* "128K – 512K"                                        */
    SHARE_COLUMNS = 9,   /* "   25.0 %"                                          */
    BAR_MAX = 24,        /* of two side by side                                  */
    QUANTILE_LABEL = 23, /* "time distance, accesses"                           */
    QUANTILE_COLUMNS = 12,
    LEAST_QUANTILE_COLUMNS = 11, /* " 1023.9 KiB"                             */
    ROWS_MAX = 32,               /* of a histogram: beyond, rows of two octaves, or three */
    LEAST_ELIDED = 3,            /* empty rows in a row */
    PAPER_OCTAVE = 13,           /* the one that begins at 4096 */
};

/* A row whose share would read 0.0 % at both ends of the histogram is left out. */
static const double least_row = 0.0005;
/* Model and expectation apart by more: the model's assumption shows. */
static const double sure_agreement = 0.9;

const char *reuse_unit(const struct profile_reuse *totals, double count)
{
    bool one = count == 1;
    if (totals->unit_bytes == 1)
        return one ? "byte" : "bytes";
    if (totals->unit_bytes == 8)
        return one ? "word" : "words";
    return one ? "line" : "lines";
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* Powers of two: 512, 4K, 1M. */
static const char *power_name(uint64_t value, char out[32])
{
    static const char units[] = " KMGTPE";
    size_t unit = 0;
    for (; value >= 1024 && value % 1024 == 0; unit++)
        value /= 1024;
    snprintf(out, 32, unit ? "%" PRIu64 "%c" : "%" PRIu64, value, units[unit]);
    return out;
}

/* To one digit of the unit that it is printed in: that of values below `most`. */
static double rough(double value, double most)
{
    double unit = 1;
    while (value >= most * unit)
        unit *= 1024;
    double digit = unit * pow(10, floor(log10(fmax(1, value / unit))));
    return digit * round(value / digit);
}

/* "30.0 K" becomes "30 K". */
static const char *without_zero(char text[32])
{
    char *zero = strstr(text, ".0 ");
    if (zero)
        memmove(zero, zero + 2, strlen(zero + 2) + 1);
    return text;
}

const char *reuse_number(const struct reuse_figures *figures, double value, char out[32])
{
    if (!figures->paced || value < 1000)
        return print_short(value, out);
    print_short(rough(value, 9999.5), out);
    return without_zero(out);
}

const char *reuse_bytes(const struct reuse_figures *figures, double value, char out[32])
{
    if (!figures->paced || value < 1024)
        return print_bytes(value, out);
    print_bytes(rough(value, 1023.5), out);
    return without_zero(out);
}

/* ---- overview -------------------------------------------------------------------------------- */

/* Estimates of a damaged profile may be beyond any integer. */
static const char *count_text(double count, char out[32])
{
    return print_grouped(count < 1e18 ? (uint64_t)(count + 0.5) : (uint64_t)1e18, out);
}

static void print_totals(struct printer *printer, const struct reuse_figures *figures)
{
    const struct profile_reuse *totals = &figures->totals;
    char line[TEXT_BYTES] = "", number[32], bytes[32];
    /* Digits that are not known are not shown. */
    const char *about = figures->sampled ? "about " : "";
    print_add(line, sizeof line, "%s%s %saccess%s to ", about,
              figures->sampled ? reuse_number(figures, totals->accesses, number)
                               : count_text(totals->accesses, number),
              totals->unit_bytes == 1 ? "byte " : "", totals->accesses == 1 ? "" : "es");
    print_add(line, sizeof line, "%s%s %s", about,
              figures->sampled ? reuse_number(figures, totals->locations, number)
                               : count_text(totals->locations, number),
              reuse_unit(totals, totals->locations));
    if (totals->unit_bytes > 1)
        print_add(line, sizeof line, " of %" PRIu32 " bytes (%s)", totals->unit_bytes,
                  reuse_bytes(figures, totals->locations * totals->unit_bytes, bytes));
    if (totals->never_reused < 0.5)
        print_add(line, sizeof line, "; all of them reused");
    else
        print_add(line, sizeof line, "; %s%s of them never reused", about,
                  figures->sampled ? reuse_number(figures, totals->never_reused, number)
                                   : count_text(totals->never_reused, number));
    fprintf(printer->out, "\n  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

/* Of a recording that followed some of the locations only. */
static void print_kept(struct printer *printer, const struct profile_reuse *totals)
{
    char line[TEXT_BYTES], number[32];
    if (totals->share_last >= 1)
        return;
    snprintf(line, sizeof line, "Estimated from %s accesses to ",
             print_grouped(totals->kept_accesses, number));
    print_add(line, sizeof line, "%s %s, %.3g %% of them, chosen by a hash of their address",
              print_grouped(totals->kept_locations, number),
              reuse_unit(totals, (double)totals->kept_locations), 100 * totals->share_last);
    if (totals->share_first > totals->share_last)
        print_add(line, sizeof line, " (%.3g %% at first, fewer once the table was full)",
                  100 * totals->share_first);
    fprintf(printer->out, "  ");
    print_wrap(printer, DIM, 2, 2, line);
}

/* What an estimate rests on, and what sampling does not see. */
static void print_basis(struct printer *printer, const struct reuse_figures *figures)
{
    const struct profile_pace *pace = &figures->pace;
    char line[TEXT_BYTES * 2] = "", clean[TEXT_BYTES], number[32], trap[32];
    if (!figures->sampled)
        return;
    print_add(line, sizeof line, "Estimated from %s samples. ",
              print_grouped(figures->totals.kept_accesses, number));
    if (figures->paced) {
        name_clean(pace->calibration, clean, 400);
        print_add(line, sizeof line,
                  "CPU time between use and reuse was measured; distances in accesses follow from "
                  "it at about %.2g accesses per nanosecond (%.2g – %.2g, %s). ",
                  pace->accesses_per_ns, pace->low, pace->high, clean);
        print_add(line, sizeof line,
                  "Times below %s are not distinguished; %s were subtracted for each trap. ",
                  print_time(pace->floor_ns, number), print_time(pace->trap_ns, trap));
    }
    print_add(line, sizeof line, "Reuse by another thread is not seen.");
    if (figures->totals.unit_bytes > 1)
        print_add(line, sizeof line,
                  " A watchpoint covers part of a %s: reuse of its other bytes is seen only within "
                  "the few instructions looked ahead.",
                  reuse_unit(&figures->totals, 1));
    fprintf(printer->out, "  ");
    print_wrap(printer, DIM, 2, 2, line);
}

/* ---- quantiles ------------------------------------------------------------------------------- */

static const double quantiles[] = {0.5, 0.7, 0.8, 0.9, 0.95};

static unsigned quantile_columns(const struct printer *printer)
{
    unsigned columns = (printer->width - 2 - QUANTILE_LABEL) / BASE_COUNT(quantiles);
    return columns < LEAST_QUANTILE_COLUMNS ? LEAST_QUANTILE_COLUMNS
           : columns < QUANTILE_COLUMNS     ? columns
                                            : QUANTILE_COLUMNS;
}

static size_t quantiles_shown(const struct printer *printer)
{
    size_t most = (printer->width - 2 - QUANTILE_LABEL) / quantile_columns(printer);
    return most < BASE_COUNT(quantiles) ? most : BASE_COUNT(quantiles);
}

typedef const char *quantile_text(const struct reuse_figures *figures, double distance,
                                  char out[32]);

static void print_quantile_row(struct printer *printer, const char *label,
                               const struct reuse_figures *figures, const double *histogram,
                               quantile_text *text)
{
    char value[32];
    fprintf(printer->out, "  %-*s", QUANTILE_LABEL, label);
    for (size_t i = 0; i < quantiles_shown(printer); i++)
        print_pad(printer,
                  figures_quantile_holds(figures, histogram, quantiles[i])
                      ? text(figures, mrc_quantile(histogram, quantiles[i]), value)
                      : "–",
                  quantile_columns(printer), true);
    putc('\n', printer->out);
}

static const char *distance_text(const struct reuse_figures *figures, double distance, char out[32])
{
    return reuse_number(figures, distance, out);
}

/* Distance 0 needs room for one location, the one that is reused. */
static const char *room_text(const struct reuse_figures *figures, double distance, char out[32])
{
    return reuse_bytes(figures, (floor(distance) + 1) * figures->totals.unit_bytes, out);
}

static const char *time_text(const struct reuse_figures *figures, double ns, char out[32])
{
    char floor_text[32];
    if (ns >= figures->pace.floor_ns)
        return print_time(ns, out);
    snprintf(out, 32, "<%s", print_time(figures->pace.floor_ns, floor_text));
    return out;
}

/* Reuses that were foreseen came within a few instructions, but how many nanoseconds later is not
   known: they count as below the floor. */
static void all_elapsed(const struct reuse_figures *figures, double elapsed[DISTANCE_BINS])
{
    memcpy(elapsed, figures->elapsed, sizeof figures->elapsed);
    elapsed[0] += fmax(0, mrc_sum(figures->time) - mrc_sum(elapsed));
}

static void print_quantiles(struct printer *printer, const struct reuse_figures *figures)
{
    const struct profile_reuse *totals = &figures->totals;
    double elapsed[DISTANCE_BINS];
    char label[64];
    fprintf(printer->out, "\n  %s%-*s", print_on(printer, DIM), QUANTILE_LABEL, "reuses within");
    for (size_t i = 0; i < quantiles_shown(printer); i++)
        fprintf(printer->out, "%*.0f %%", (int)quantile_columns(printer) - 2, 100 * quantiles[i]);
    fprintf(printer->out, "%s\n", print_off(printer));
    if (mrc_sum(figures->elapsed) > 0) {
        all_elapsed(figures, elapsed);
        print_quantile_row(printer, "CPU time", figures, elapsed, time_text);
    }
    print_quantile_row(printer, figures->paced ? "accesses, estimated" : "time distance, accesses",
                       figures, figures->time, distance_text);
    snprintf(label, sizeof label, "%s, %s", totals->stack ? "stack distance" : "stack, by model",
             reuse_unit(totals, 2));
    print_quantile_row(printer, label, figures, figures_stack(figures), distance_text);
    print_quantile_row(printer, "cache that holds them", figures, figures_stack(figures),
                       room_text);
}

/* Of a share of the reuses: samples that suffice for one at all give whole per cent. */
static int share_decimals(const struct reuse_figures *figures)
{
    return figures->sampled ? 0 : 1;
}

/* ---- histograms ------------------------------------------------------------------------------ */

/* Where one of mrc_octave begins. */
static uint64_t octave_low(unsigned octave)
{
    return octave == 0 ? 0 : UINT64_C(1) << (octave - 1);
}

/* One histogram, or two side by side. */
struct rows {
    const char *headings[2];
    double shares[2][MRC_OCTAVES];
    unsigned columns;
    unsigned first, end, step; /* octaves [first, end) in rows of `step` */
    int decimals;
    bool paper; /* the first row ends at 4096             */
};

static void add_column(struct rows *rows, const char *heading, const double *histogram)
{
    double sum = mrc_sum(histogram), *shares = rows->shares[rows->columns];
    memset(shares, 0, sizeof rows->shares[0]);
    for (unsigned bin = 0; bin < DISTANCE_BINS && sum > 0; bin++)
        shares[mrc_octave(bin)] += histogram[bin] / sum;
    rows->headings[rows->columns++] = heading;
}

static bool row_is_empty(const struct rows *rows, unsigned octave)
{
    double sum = 0;
    for (unsigned i = 0; i < rows->columns; i++)
        sum += rows->shares[i][octave];
    return sum < least_row;
}

static void find_range(struct rows *rows, bool paper)
{
    rows->paper = paper;
    rows->end = MRC_OCTAVES;
    while (rows->end > 1 && row_is_empty(rows, rows->end - 1))
        rows->end--;
    for (rows->first = 0; !paper && rows->first + 1 < rows->end && row_is_empty(rows, rows->first);)
        rows->first++;
    rows->step = paper ? 1 : 1 + (rows->end - rows->first - 1) / ROWS_MAX;
}

static unsigned bar_columns(const struct printer *printer, const struct rows *rows)
{
    unsigned count = rows->columns;
    unsigned columns =
        (printer->width - 2 - LABEL_COLUMNS - count * (SHARE_COLUMNS + 1) - 1) / count;
    unsigned most = count == 1 ? PRINT_BAR : BAR_MAX;
    return columns < most ? columns : most;
}

/* No blanks at the end of a line: `last` is said of the last share that is printed. */
static void print_share(struct printer *printer, double share, int decimals, unsigned most,
                        bool last)
{
    char text[4 * PRINT_BAR + 1];
    print_bar(share, most, text);
    if (share < least_row)
        fprintf(printer->out, "%*s", SHARE_COLUMNS, "");
    else if (decimals == 0 && share < 0.005)
        fprintf(printer->out, "%*s", SHARE_COLUMNS, "<1 %");
    else
        fprintf(printer->out, "%*.*f %%", SHARE_COLUMNS - 2, decimals, 100 * share);
    if (!last || text[0])
        fprintf(printer->out, " %s", text);
    if (!last)
        print_pad(printer, "", most + 1 - name_columns(text), false);
}

static void print_shares(struct printer *printer, const char *label, const double *shares,
                         unsigned columns, int decimals, unsigned most)
{
    while (columns > 0 && shares[columns - 1] < least_row)
        columns--;
    fputs("  ", printer->out);
    print_pad(printer, label, columns ? LABEL_COLUMNS : 0, false);
    for (unsigned i = 0; i < columns; i++)
        print_share(printer, shares[i], decimals, most, i + 1 == columns);
    putc('\n', printer->out);
}

static void print_row(struct printer *printer, const struct rows *rows, unsigned octave,
                      unsigned next)
{
    char low[32], high[32], label[80];
    double shares[2] = {0, 0};
    for (unsigned column = 0; column < rows->columns; column++)
        for (unsigned i = octave; i < next && i < MRC_OCTAVES; i++)
            shares[column] += rows->shares[column][i];
    power_name(octave_low(octave), low);
    if (next < MRC_OCTAVES && octave_low(next) - octave_low(octave) > 1)
        snprintf(label, sizeof label, "%s – %s", low, power_name(octave_low(next), high));
    else
        snprintf(label, sizeof label, "%s%s", low, next < MRC_OCTAVES ? "" : " –");
    print_shares(printer, label, shares, rows->columns, rows->decimals, bar_columns(printer, rows));
}

/* Behind the empty rows from `octave` on. */
static unsigned behind_empty(const struct rows *rows, unsigned octave)
{
    while (octave < rows->end && row_is_empty(rows, octave))
        octave++;
    return octave;
}

static void print_rows(struct printer *printer, const char *heading, const struct rows *rows)
{
    fprintf(printer->out, "\n  %s", print_on(printer, DIM));
    print_pad(printer, heading, LABEL_COLUMNS, false);
    for (unsigned i = 0; i < rows->columns; i++) {
        fprintf(printer->out, "%*s", SHARE_COLUMNS, rows->headings[i]);
        if (i + 1 < rows->columns)
            fprintf(printer->out, "%*s", (int)bar_columns(printer, rows) + 2, "");
    }
    fprintf(printer->out, "%s\n", print_off(printer));
    for (unsigned octave = rows->first, next; octave < rows->end; octave = next) {
        next = rows->paper && octave == 0 ? PAPER_OCTAVE : octave + rows->step;
        unsigned behind = behind_empty(rows, octave);
        if (octave && behind >= octave + LEAST_ELIDED && rows->step == 1) {
            fputs("  …\n", printer->out);
            next = behind;
        } else {
            print_row(printer, rows, octave, next);
        }
    }
}

static void print_histogram(struct printer *printer, const struct reuse_figures *figures)
{
    struct rows rows = {.decimals = share_decimals(figures)};
    add_column(&rows, figures->paced ? "about" : "time", figures->time);
    add_column(&rows, figures->totals.stack ? "stack" : "model", figures_stack(figures));
    find_range(&rows, printer->options->paper_bins);
    print_rows(printer, figures->paced ? "accesses" : "distance", &rows);
}

/* ---- CPU time -------------------------------------------------------------------------------- */

/* 1, 2, 5, 10, 20, ... */
static double next_step(double step)
{
    double power = pow(10, floor(log10(step) + 1e-9)), digit = step / power;
    return digit < 1.5 ? 2 * power : digit < 3 ? 5 * power : 10 * power;
}

/* "100 – 200 µs"; both are 1, 2 or 5 times a power of ten. */
static void step_label(double low, double end, char label[80])
{
    char from[32], to[32];
    size_t digits = strspn(print_time(low, from), "0123456789.");
    print_time(end, to);
    if (end < 1000 * pow(1000, floor(log10(low) / 3 + 1e-9)))
        from[digits] = 0;
    snprintf(label, 80, "%s – %s", from, to);
}

/* In steps that people count time in: powers of two of nanoseconds read badly. */
static void print_time_rows(struct printer *printer, const struct reuse_figures *figures,
                            const double *elapsed)
{
    double sum = mrc_sum(elapsed), low = 1, end, last = 0;
    char label[80], to[32];
    struct rows rows = {.columns = 1};
    unsigned most = bar_columns(printer, &rows);
    while (low < figures->pace.floor_ns && low < 1e15)
        low = next_step(low);
    double share = mrc_weight(elapsed, 0, low) / sum;
    snprintf(label, sizeof label, "below %s", print_time(low, to));
    print_shares(printer, label, &share, 1, share_decimals(figures), most);
    for (last = low; last < 1e19 && mrc_weight(elapsed, last, 0x1p64) >= least_row * sum;)
        last = next_step(last);
    for (unsigned empty = share >= least_row ? 0 : LEAST_ELIDED; low < last; low = end) {
        end = next_step(low);
        share = mrc_weight(elapsed, low, end) / sum;
        step_label(low, end, label);
        empty = share >= least_row ? 0 : empty + 1;
        if (empty == 0)
            print_shares(printer, label, &share, 1, share_decimals(figures), most);
        else if (empty == 1)
            fputs("  …\n", printer->out);
    }
}

static void print_elapsed(struct printer *printer, const struct reuse_figures *figures)
{
    double elapsed[DISTANCE_BINS];
    if (!(mrc_sum(figures->elapsed) > 0))
        return;
    all_elapsed(figures, elapsed);
    if (printer->options->paper_bins) {
        struct rows rows = {.decimals = share_decimals(figures)};
        add_column(&rows, "reuses", elapsed);
        find_range(&rows, true);
        print_rows(printer, "CPU time, ns", &rows);
        return;
    }
    fprintf(printer->out, "\n  %s%-*s%*s%s\n", print_on(printer, DIM), LABEL_COLUMNS, "CPU time",
            SHARE_COLUMNS, "reuses", print_off(printer));
    print_time_rows(printer, figures, elapsed);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What the model says where the stack distances are known too, and how far it can be trusted where
   they are not. */
static void print_model(struct printer *printer, const struct reuse_figures *figures)
{
    char line[TEXT_BYTES];
    double agreement = mrc_similarity(figures->from_time, figures->expected);
    if (figures->totals.stack) {
        snprintf(line, sizeof line,
                 "Stack distances derived from the time distances alone would agree with these to "
                 "%.1f %%.",
                 100 * figures_agreement(figures));
    } else if (agreement < sure_agreement) {
        snprintf(line, sizeof line,
                 "Two models of the stack distances agree to only %.0f %%: accesses depend on each "
                 "other; treat these figures with caution.",
                 100 * agreement);
    } else {
        return;
    }
    fprintf(printer->out, "\n  ");
    print_wrap(printer, DIM, 2, 2, line);
}

/* What gives figures where samples do not. */
static const char *exact_options(const struct profile_reuse *totals)
{
    return totals->unit_bytes == 1   ? "--exact --sample-locations 0.01 --unit byte"
           : totals->unit_bytes == 8 ? "--exact --sample-locations 0.01 --unit word"
                                     : "--exact --sample-locations 0.01";
}

/* Recorded for reuse alone. */
static bool is_own(const struct profile *profile)
{
    return analysis_find(profile->run.verb) == &reuse_analysis;
}

static void print_too_few(struct printer *printer, const struct reuse_figures *figures)
{
    char line[TEXT_BYTES];
    snprintf(
        line, sizeof line,
        "Too few samples for figures of distances and misses; use %s%s, which follows every use "
        "of one %s in a hundred. What the samples do show is which places use the same data.",
        is_own(printer->profile) ? "" : "headroom reuse ", exact_options(&figures->totals),
        reuse_unit(&figures->totals, 1));
    fprintf(printer->out, "\n  ");
    print_wrap(printer, BOLD, 2, 2, line);
}

/* Samples say too little of one of the machine's caches, or of anything. */
static bool wants_exact(const struct reuse_report *report)
{
    const struct reuse_ranking *ranking = &report->ranking;
    for (size_t i = 0; i < ranking->caches_count; i++) {
        double bytes = (double)ranking->caches[i].bytes;
        struct mrc_ratio ratio = figures_miss_ratio(&report->figures, bytes);
        if (figures_decimals(&report->figures, ratio.low, ratio.high) < 0)
            return true;
    }
    return figures_too_few(&report->figures);
}

static bool print_figures(struct printer *printer, const struct reuse_report *report)
{
    const struct reuse_figures *figures = &report->figures;
    fprintf(printer->out, "\n%sReuse distances%s\n", print_on(printer, STRONG), print_off(printer));
    if (wants_exact(report))
        printer->next.instead = exact_options(&figures->totals);
    if (printer->next.instead)
        printer->next.verb = reuse_analysis.name;
    if (!figures_too_few(figures))
        print_totals(printer, figures);
    else
        putc('\n', printer->out);
    print_kept(printer, &figures->totals);
    print_basis(printer, figures);
    if (!(mrc_sum(figures->time) > 0)) {
        fprintf(printer->out, "\n  Nothing was used twice%s.\n",
                figures->sampled ? " in what was sampled" : "");
        return true;
    }
    if (figures_too_few(figures)) {
        print_too_few(printer, figures);
    } else {
        print_quantiles(printer, figures);
        print_elapsed(printer, figures);
        print_histogram(printer, figures);
        reuse_print_curve(printer, &report->ranking, figures);
        print_model(printer, figures);
    }
    return reuse_print_pairs(printer, &report->ranking, figures);
}

static bool print_findings(struct printer *printer, void *state)
{
    uint8_t kinds = printer->options->kinds;
    static const char nothing[] = "\n%sReuse distances%s\n\n"
                                  "  No access was sampled: too little CPU time. --rate takes more "
                                  "samples, --exact\n  observes every access.\n";
    if (kinds && !(kinds & WIRE_REUSES) && !is_own(printer->profile))
        return true;
    if (printer->profile->reuses_count == 0) {
        if (is_own(printer->profile))
            fprintf(printer->out, nothing, print_on(printer, STRONG), print_off(printer));
        return true;
    }
    return print_figures(printer, state);
}

/* ---- the slots ------------------------------------------------------------------------------- */

static bool begin(const struct printer *printer, void **state)
{
    struct reuse_report *report = reuse_report_make(&printer->places, printer->options->by);
    if (report)
        *state = report;
    return report;
}

static void narrow(struct printer *printer, const void *state)
{
    const struct reuse_report *report = state;
    reuse_narrow(printer, &report->ranking);
}

const struct analysis_text reuse_text = {
    .begin = begin,
    .end = reuse_report_free,
    .narrow = narrow,
    .findings = print_findings,
};
