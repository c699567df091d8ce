// SPDX-License-Identifier: MIT
/*
 * Reuse distances for people: where the quantiles lie, a coarse histogram of both distances, what
 * caches would miss, and the pairs of places whose reuses lie far apart.
 */
#include "report/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL_COLUMNS = 14, /* "128K – 512K"                                        */
    SHARE_COLUMNS = 9,  /* "   25.0 %"                                          */
    MOST_BAR = 24,
    QUANTILE_LABEL = 24,
    QUANTILE_COLUMNS = 12,
    CACHE_COLUMNS = 10,
    MOST_ROWS = 24, /* of the histogram: beyond, rows of two octaves, or three */
    MOST_CACHES = 8,
    FIRST_CACHE = 4 << 10,
    OCTAVES = 65,
};

/* A row whose share would read 0.0 % at both ends of the histogram is left out. */
static const double least_row = 0.0005;
/* A pair below that is not worth anybody's time. */
static const double least_share = 0.005;
/* Model and expectation apart by more: the model's assumption shows. */
static const double sure_agreement = 0.9;

static const char *unit_name(const struct profile_reuse *totals, double count)
{
    bool one = count == 1;
    if (totals->unit_bytes == 1)
        return one ? "byte" : "bytes";
    if (totals->unit_bytes == 8)
        return one ? "word" : "words";
    return one ? "line" : "lines";
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* 0 .. 9999, then in K, M, G, ... of 1024 */
static const char *short_number(double value, char out[32])
{
    static const char units[] = " KMGTPE";
    size_t unit = 0;
    for (; value >= 9999.5 && unit + 2 < sizeof units; unit++)
        value /= 1024;
    if (unit)
        snprintf(out, 32, value < 99.95 ? "%.1f %c" : "%.0f %c", value, units[unit]);
    else
        snprintf(out, 32, "%.0f", value);
    return out;
}

static const char *percent(double share, char out[32])
{
    snprintf(out, 32, share < 0.0005 ? "<0.1 %%" : "%.1f %%", 100 * share);
    return out;
}

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

static unsigned bar_columns(const struct printer *printer)
{
    unsigned columns = (printer->width - 2 - LABEL_COLUMNS - 2 * (SHARE_COLUMNS + 1) - 1) / 2;
    return columns < MOST_BAR ? columns : MOST_BAR;
}

static const char *bar(double share, unsigned most, char out[4 * MOST_BAR + 1])
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned filled = (unsigned)(share * most * 8 + 0.5), columns = filled / 8;
    out[0] = 0;
    for (unsigned i = 0; i < columns && i < most; i++)
        strcat(out, "█");
    if (columns < most)
        strcat(out, eighths[filled % 8]);
    return out;
}

/* ---- overview -------------------------------------------------------------------------------- */

/* Estimates of a damaged profile may be beyond any integer. */
static const char *count_text(double count, char out[32])
{
    return print_grouped(count < 1e18 ? (uint64_t)(count + 0.5) : (uint64_t)1e18, out);
}

static void print_totals(struct printer *printer, const struct profile_reuse *totals)
{
    char line[TEXT_BYTES], number[32], bytes[32];
    snprintf(line, sizeof line, "%s %saccess%s to ", count_text(totals->accesses, number),
             totals->unit_bytes == 1 ? "byte " : "", totals->accesses == 1 ? "" : "es");
    print_add(line, sizeof line, "%s %s", count_text(totals->locations, number),
              unit_name(totals, totals->locations));
    if (totals->unit_bytes > 1)
        print_add(line, sizeof line, " of %" PRIu32 " bytes (%s)", totals->unit_bytes,
                  print_bytes(totals->locations * totals->unit_bytes, bytes));
    print_add(line, sizeof line, "; %s of them never reused",
              totals->never_reused < 0.5 ? "none" : count_text(totals->never_reused, number));
    fprintf(printer->out, "\n  ");
    print_wrap(printer, PLAIN, 2, 2, line);
    if (totals->share_last >= 1)
        return;
    snprintf(line, sizeof line, "Estimated from %s accesses to ",
             print_grouped(totals->kept_accesses, number));
    print_add(line, sizeof line, "%s %s, %.3g %% of them, chosen by a hash of their address",
              print_grouped(totals->kept_locations, number),
              unit_name(totals, (double)totals->kept_locations), 100 * totals->share_last);
    if (totals->share_first > totals->share_last)
        print_add(line, sizeof line, " (%.3g %% at first, less for want of room)",
                  100 * totals->share_first);
    fprintf(printer->out, "  ");
    print_wrap(printer, DIM, 2, 2, line);
}

static const double quantiles[] = {0.5, 0.7, 0.8, 0.9, 0.95};

static size_t quantiles_shown(const struct printer *printer)
{
    size_t most = (printer->width - 2 - QUANTILE_LABEL) / QUANTILE_COLUMNS;
    return most < BASE_COUNT(quantiles) ? most : BASE_COUNT(quantiles);
}

static void print_quantile_row(struct printer *printer, const char *label, const double *histogram,
                               double unit_bytes)
{
    char value[32];
    fprintf(printer->out, "  %-*s", QUANTILE_LABEL, label);
    for (size_t i = 0; i < quantiles_shown(printer); i++) {
        double distance = reuse_quantile(histogram, quantiles[i]);
        /* Distance 0 needs room for one location, the one that is reused. */
        fprintf(printer->out, "%*s", QUANTILE_COLUMNS,
                unit_bytes > 0 ? print_bytes((floor(distance) + 1) * unit_bytes, value)
                               : short_number(distance, value));
    }
    putc('\n', printer->out);
}

static void print_quantiles(struct printer *printer, const struct reuse_figures *figures)
{
    const struct profile_reuse *totals = &figures->totals;
    char label[64];
    fprintf(printer->out, "\n  %s%-*s", print_on(printer, DIM), QUANTILE_LABEL, "reuses within");
    for (size_t i = 0; i < quantiles_shown(printer); i++)
        fprintf(printer->out, "%*.0f %%", QUANTILE_COLUMNS - 2, 100 * quantiles[i]);
    fprintf(printer->out, "%s\n", print_off(printer));
    print_quantile_row(printer, "time distance, accesses", figures->time, 0);
    snprintf(label, sizeof label, "%s, %s", totals->stack ? "stack distance" : "stack, by model",
             unit_name(totals, 2));
    print_quantile_row(printer, label, figures_stack(figures), 0);
    print_quantile_row(printer, "cache that holds them", figures_stack(figures),
                       totals->unit_bytes);
}

/* ---- histogram ------------------------------------------------------------------------------- */

/* 0, 1, [2, 4), [4, 8), ... */
static unsigned octave_of(unsigned bin)
{
    uint64_t low = distance_bin_low(bin);
    return low < 2 ? (unsigned)low : 64U - (unsigned)__builtin_clzll(low);
}

static uint64_t octave_low(unsigned octave)
{
    return octave == 0 ? 0 : UINT64_C(1) << (octave - 1);
}

static void octave_shares(const double *histogram, double shares[OCTAVES])
{
    double sum = reuse_sum(histogram);
    memset(shares, 0, OCTAVES * sizeof *shares);
    for (unsigned bin = 0; bin < DISTANCE_BINS && sum > 0; bin++)
        shares[octave_of(bin)] += histogram[bin] / sum;
}

struct rows {
    double time[OCTAVES], stack[OCTAVES];
    unsigned first, end, step; /* octaves [first, end) in rows of `step` */
};

static void make_rows(const struct reuse_figures *figures, struct rows *rows)
{
    octave_shares(figures->time, rows->time);
    octave_shares(figures_stack(figures), rows->stack);
    rows->end = OCTAVES;
    while (rows->end > 1 && rows->time[rows->end - 1] + rows->stack[rows->end - 1] < least_row)
        rows->end--;
    for (rows->first = 0; rows->first + 1 < rows->end &&
                          rows->time[rows->first] + rows->stack[rows->first] < least_row;)
        rows->first++;
    rows->step = 1 + (rows->end - rows->first - 1) / MOST_ROWS;
}

static void print_share(struct printer *printer, double share, bool last)
{
    char text[4 * MOST_BAR + 1];
    unsigned most = bar_columns(printer);
    if (share < least_row && last)
        return;
    bar(share, most, text);
    if (share < least_row)
        fprintf(printer->out, "%*s", SHARE_COLUMNS, "");
    else
        fprintf(printer->out, "%*.1f %%", SHARE_COLUMNS - 2, 100 * share);
    /* No blanks at the end of a line; and printf pads by bytes. */
    if (!last || text[0])
        fprintf(printer->out, " %s", text);
    if (!last)
        fprintf(printer->out, "%*s", (int)(most + 1 - name_columns(text)), "");
}

static void print_row(struct printer *printer, const struct rows *rows, unsigned octave)
{
    char low[32], high[32], label[80];
    double time = 0, stack = 0;
    unsigned next = octave + rows->step;
    for (unsigned i = octave; i < next && i < OCTAVES; i++) {
        time += rows->time[i];
        stack += rows->stack[i];
    }
    power_name(octave_low(octave), low);
    if (next < OCTAVES && octave_low(next) - octave_low(octave) > 1)
        snprintf(label, sizeof label, "%s – %s", low, power_name(octave_low(next), high));
    else
        snprintf(label, sizeof label, "%s%s", low, next < OCTAVES ? "" : " –");
    fprintf(printer->out, "  %s", label);
    /* No blanks at the end of a line. */
    if (time >= least_row || stack >= least_row)
        fprintf(printer->out, "%*s", LABEL_COLUMNS - (int)name_columns(label), "");
    if (time >= least_row || stack >= least_row)
        print_share(printer, time, stack < least_row);
    print_share(printer, stack, true);
    putc('\n', printer->out);
}

static void print_histogram(struct printer *printer, const struct reuse_figures *figures)
{
    struct rows rows;
    make_rows(figures, &rows);
    fprintf(printer->out, "\n  %s%-*s%*s%*s%*s%s\n", print_on(printer, DIM), LABEL_COLUMNS,
            "distance", SHARE_COLUMNS, "time", (int)bar_columns(printer) + 2, "", SHARE_COLUMNS,
            figures->totals.stack ? "stack" : "model", print_off(printer));
    for (unsigned octave = rows.first; octave < rows.end; octave += rows.step)
        print_row(printer, &rows, octave);
}

/* ---- caches -----------------------------------------------------------------------------------
 */

/* 4096 -> "4 KiB"; bytes: a power of two of at least 1024 */
static const char *cache_name(uint64_t bytes, char out[32])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    for (bytes /= 1024; bytes >= 1024; unit++)
        bytes /= 1024;
    snprintf(out, 32, "%" PRIu64 " %s", bytes, units[unit]);
    return out;
}

static void print_caches(struct printer *printer, const struct reuse_figures *figures)
{
    char sizes[TEXT_BYTES] = "", ratios[TEXT_BYTES] = "", size[32];
    uint64_t unit_bytes = figures->totals.unit_bytes, bytes = FIRST_CACHE;
    double enough = (double)figures_enough(figures) * (double)unit_bytes;
    unsigned most = (printer->width - 14) / CACHE_COLUMNS;
    for (unsigned i = 0; i < most && i < MOST_CACHES; i++, bytes *= 4) {
        print_add(sizes, sizeof sizes, "%*s", CACHE_COLUMNS, cache_name(bytes, size));
        print_add(
            ratios, sizeof ratios, "%*.2f %%", CACHE_COLUMNS - 2,
            100 * reuse_miss_ratio(figures_stack(figures), figures->misses, bytes / unit_bytes));
        if ((double)bytes >= enough)
            break;
    }
    fprintf(printer->out, "\n  %sa cache of  %s%s\n", print_on(printer, DIM), sizes,
            print_off(printer));
    fprintf(printer->out, "  would miss  %s\n  ", ratios);
    print_wrap(printer, DIM, 2, 2,
               figures->totals.stack
                   ? "(fully associative, least recently used replaced; first touches included)"
                   : "(fully associative, least recently used replaced; first touches included; by "
                     "the model)");
}

/* What the model says where the stack distances are known too, and how far it can be trusted where
   they are not. */
static void print_model(struct printer *printer, const struct reuse_figures *figures)
{
    char line[TEXT_BYTES];
    double agreement = reuse_similarity(figures->from_time, figures->expected);
    if (figures->totals.stack) {
        snprintf(line, sizeof line,
                 "Stack distances derived from the time distances alone would agree to %.1f %%.",
                 100 * reuse_similarity(figures->from_time, figures->stack));
    } else if (agreement < sure_agreement) {
        snprintf(line, sizeof line,
                 "Two models of the stack distances agree to %.0f %% only: accesses depend on each "
                 "other, take these figures with care.",
                 100 * agreement);
    } else {
        return;
    }
    fprintf(printer->out, "\n  ");
    print_wrap(printer, DIM, 2, 2, line);
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

static bool any_far(const struct ranking *ranking)
{
    return ranking->reuse_pairs_count && ranking->reuse_pairs[0].far > 0;
}

static size_t pairs_shown(const struct printer *printer)
{
    const struct ranking *ranking = &printer->ranking;
    size_t shown = ranking->reuse_pairs_count;
    if (printer->options->limit == 0)
        return shown;
    if (shown > printer->options->limit)
        shown = printer->options->limit;
    while (shown && (any_far(ranking) ? ranking->reuse_pairs[shown - 1].far_share
                                      : ranking->reuse_pairs[shown - 1].share) < least_share)
        shown--;
    return shown;
}

void print_reuse_narrow(struct printer *printer)
{
    for (size_t i = 0; i < pairs_shown(printer); i++) {
        print_narrow(printer, printer->ranking.reuse_pairs[i].use_place);
        print_narrow(printer, printer->ranking.reuse_pairs[i].reuse_place);
    }
}

bool print_reuse_is_cut(const struct printer *printer)
{
    return pairs_shown(printer) < printer->ranking.reuse_pairs_count;
}

static void print_pair(struct printer *printer, const struct profile_reuse *totals,
                       const struct rank_reuse_pair *pair, size_t number, struct chain chains[2])
{
    char head[64], line[TEXT_BYTES] = "", share[32], time[32], stack[32], bytes[32];
    double weight = pair->weight > 0 ? pair->weight : 1, distance = pair->stack / weight;
    bool by_distance = any_far(&printer->ranking);
    print_make_chain(printer, pair->use_place, &chains[0]);
    print_make_chain(printer, pair->reuse_place, &chains[1]);
    snprintf(head, sizeof head, "#%zu  %s", number,
             percent(by_distance ? pair->far_share : pair->share, share));
    fprintf(printer->out, "\n  %s%s%s ", print_on(printer, BOLD), head, print_off(printer));
    if (by_distance)
        print_add(line, sizeof line, "of the distance, %s ", percent(pair->share, share));
    print_add(line, sizeof line, "of the reuses; ");
    if (totals->stack)
        print_add(line, sizeof line, "on average %s %s (%s) and ", short_number(distance, stack),
                  unit_name(totals, distance), print_bytes(distance * totals->unit_bytes, bytes));
    print_add(line, sizeof line, "%s accesses later", short_number(pair->time / weight, time));
    print_wrap(printer, PLAIN, 3 + (unsigned)strlen(head), 6, line);
    print_sides(printer, chains, pair->use_place == pair->reuse_place, "used", "reused");
}

static bool print_pairs(struct printer *printer, const struct profile_reuse *totals)
{
    const struct ranking *ranking = &printer->ranking;
    size_t shown = pairs_shown(printer);
    struct chain *chains = malloc(2 * sizeof *chains);
    const char *order = !any_far(ranking) ? "all of them near: any first-level cache holds them"
                        : totals->stack   ? "ordered by their distance beyond 32 KiB"
                                          : "ordered by their time distance";
    if (!chains)
        return false;
    fprintf(printer->out, "\n%sReuses by place%s  %s\n", print_on(printer, STRONG),
            print_off(printer), order);
    for (size_t i = 0; i < shown; i++)
        print_pair(printer, totals, &ranking->reuse_pairs[i], i + 1, chains);
    free(chains);
    double rest = 0;
    for (size_t i = shown; i < ranking->reuse_pairs_count; i++)
        rest += ranking->reuse_pairs[i].share;
    if (shown < ranking->reuse_pairs_count)
        fprintf(printer->out, "\n  %s%zu %s, together %.1f %% of the reuses%s\n",
                print_on(printer, DIM), ranking->reuse_pairs_count - shown,
                shown ? "more" : "of less than 0.5 % each", 100 * rest, print_off(printer));
    return true;
}

bool print_reuse(struct printer *printer)
{
    struct reuse_figures figures;
    if (printer->profile->reuses_count == 0)
        return true;
    figures_reuse(printer->profile, &figures);
    fprintf(printer->out, "\n%sReuse distances%s\n", print_on(printer, STRONG), print_off(printer));
    print_totals(printer, &figures.totals);
    if (!(reuse_sum(figures.time) > 0)) {
        fprintf(printer->out, "\n  Nothing was used twice.\n");
        return true;
    }
    print_quantiles(printer, &figures);
    print_histogram(printer, &figures);
    print_caches(printer, &figures);
    print_model(printer, &figures);
    return print_pairs(printer, &figures.totals);
}
