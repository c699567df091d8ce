// SPDX-License-Identifier: MIT
/*
 * The miss-ratio curve for people, with the machine's caches marked, and simulated caches beside
 * it.
 */
#include "reuse/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    LABEL_COLUMNS = 10,
    RATIO_COLUMNS = 9,    /* " 33.77 %"          */
    BAND_COLUMNS = 18,    /* "  33.20 – 41.77 %" */
    MARK_COLUMNS = 8,     /* " ← L1"             */
    WHAT_IF_COLUMNS = 28, /* "1.25 MiB, fully associative" */
    POWERS_MAX = 24,
    ROWS_MAX = 64 + REUSE_CACHES,
    FIRST_CACHE = 4 << 10,
};

struct row {
    uint64_t bytes;
    const struct profile_cache *cache; /* of the machine, or NULL */
};

/* "33.77 %"; of samples what the interval supports, "–" for nothing. */
static const char *ratio_text(const struct reuse_figures *figures, const struct mrc_ratio *ratio,
                              char out[32])
{
    int decimals = figures_decimals(figures, ratio->low, ratio->high);
    if (decimals < 0)
        snprintf(out, 32, "–");
    else
        snprintf(out, 32, "%.*f %%", decimals, 100 * ratio->ratio);
    return out;
}

static const char *exact_text(double ratio, char out[32])
{
    snprintf(out, 32, "%.2f %%", 100 * ratio);
    return out;
}

/* "6 – 55 %" */
static const char *band_text(const struct mrc_ratio *ratio, char out[64])
{
    int decimals = ratio->high - ratio->low <= FIGURES_NARROW ? 1 : 0;
    snprintf(out, 64, "%.*f – %.*f %%", decimals, 100 * ratio->low, decimals, 100 * ratio->high);
    return out;
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return (a->cache != NULL) - (b->cache != NULL);
}

static bool has_row(const struct row *rows, size_t count, uint64_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].bytes == bytes)
            return true;
    return false;
}

/* The machine's caches, and powers of two up to where only first touches miss. */
static size_t make_rows(const struct reuse_ranking *ranking, const struct reuse_figures *figures,
                        struct row rows[ROWS_MAX])
{
    double enough = (double)figures_enough(figures) * figures->totals.unit_bytes;
    unsigned powers = 1, step = 1;
    size_t count = 0;
    for (size_t i = 0; i < ranking->caches_count; i++)
        if (ranking->caches[i].level)
            rows[count++] = (struct row){ranking->caches[i].bytes, &ranking->caches[i]};
    for (double bytes = FIRST_CACHE; bytes < enough; bytes *= 2)
        powers++;
    step = 1 + (powers - 1) / POWERS_MAX;
    uint64_t bytes = FIRST_CACHE;
    for (unsigned i = 0; i < powers && bytes < UINT64_C(1) << 61; i += step, bytes <<= step)
        if (!has_row(rows, count, bytes))
            rows[count++] = (struct row){bytes, NULL};
    qsort(rows, count, sizeof *rows, compare_rows);
    return count;
}

static void print_row(struct printer *printer, const struct reuse_figures *figures,
                      const struct row *row, double largest)
{
    char text[64], drawn[4 * PRINT_BAR + 1];
    struct mrc_ratio ratio = figures_miss_ratio(figures, (double)row->bytes);
    unsigned columns = printer->width - 2 - LABEL_COLUMNS - RATIO_COLUMNS - MARK_COLUMNS -
                       (figures->sampled ? BAND_COLUMNS : 0);
    fputs("  ", printer->out);
    print_pad(printer, print_size(row->bytes, text), LABEL_COLUMNS, false);
    print_pad(printer, ratio_text(figures, &ratio, text), RATIO_COLUMNS, true);
    if (figures->sampled) {
        print_pad(printer, band_text(&ratio, text), BAND_COLUMNS, true);
    }
    bool known = figures_decimals(figures, ratio.low, ratio.high) >= 0;
    print_bar(known && largest > 0 ? ratio.ratio / largest : 0,
              columns < PRINT_BAR ? columns : PRINT_BAR, drawn);
    fprintf(printer->out, "%s%s", drawn[0] ? "  " : "", drawn);
    if (row->cache)
        fprintf(printer->out, "%s← L%" PRIu32, drawn[0] ? " " : "  ", row->cache->level);
    putc('\n', printer->out);
}

const char *reuse_cache(const struct profile_cache *cache, char out[64])
{
    char size[32];
    print_size(cache->bytes, size);
    if (cache->level)
        snprintf(out, 64, "L%" PRIu32 " (%s)", cache->level, size);
    else
        snprintf(out, 64, "%s", size);
    return out;
}

/* "about 12 % (8 – 17 %)", "between 5 and 99 %" */
static void add_ratio(const struct reuse_figures *figures, const struct mrc_ratio *ratio,
                      char *line, size_t bytes)
{
    char text[32], band[64];
    if (!figures->sampled)
        print_add(line, bytes, "%s", exact_text(ratio->ratio, text));
    else if (figures_decimals(figures, ratio->low, ratio->high) < 0)
        print_add(line, bytes, "between %.0f and %.0f %%", 100 * ratio->low, 100 * ratio->high);
    else
        print_add(line, bytes, "about %s (%s)", ratio_text(figures, ratio, text),
                  band_text(ratio, band));
}

/* "Of the accesses, 3.10 % miss this machine's L1 (32 KiB), ..." */
static void print_machine(struct printer *printer, const struct reuse_ranking *ranking,
                          const struct reuse_figures *figures)
{
    double accesses = mrc_sum(figures_stack(figures)) + figures->misses;
    double first = accesses > 0 ? figures->misses / accesses : 0;
    char line[TEXT_BYTES] = "", text[32], name[64];
    for (size_t i = 0; i < ranking->caches_count; i++) {
        const struct profile_cache *cache = &ranking->caches[i];
        struct mrc_ratio ratio = figures_miss_ratio(figures, (double)cache->bytes);
        if (!cache->level)
            return;
        print_add(line, sizeof line, "%s", i ? ", " : "Of the accesses, ");
        add_ratio(figures, &ratio, line, sizeof line);
        print_add(line, sizeof line, " miss %s%s", i ? "" : "this machine's ",
                  reuse_cache(cache, name));
    }
    if (!figures->sampled)
        print_add(line, sizeof line, "; %s are first touches, which miss in every cache.",
                  exact_text(first, text));
    else if (first < 0.005)
        print_add(line, sizeof line,
                  "; less than 1 %% are first touches, which miss in every cache.");
    else
        print_add(line, sizeof line,
                  "; about %.0f %% are first touches, which miss in every cache.", 100 * first);
    fprintf(printer->out, "\n  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

/* ---- simulated caches ------------------------------------------------------------------------ */

static void print_what_if(struct printer *printer, const struct reuse_figures *figures,
                          const struct profile_what_if *cache)
{
    char label[80], text[64], size[32];
    double ratio = cache->accesses ? (double)cache->misses / (double)cache->accesses : 0;
    double predicted = figures_miss_ratio(figures, (double)cache->bytes).ratio;
    print_size(cache->bytes, size);
    if (cache->ways)
        snprintf(label, sizeof label, "%s, %" PRIu32 " way%s", size, cache->ways,
                 print_plural(cache->ways));
    else
        snprintf(label, sizeof label, "%s, fully associative", size);
    fputs("  ", printer->out);
    print_pad(printer, label, WHAT_IF_COLUMNS, false);
    print_pad(printer, exact_text(ratio, text), 10, true);
    if (cache->line_bytes == figures->totals.unit_bytes) {
        print_pad(printer, exact_text(predicted, text), 14, true);
        snprintf(text, sizeof text, "%+.2f points", 100 * (ratio - predicted));
        if (printer->width >= WHAT_IF_COLUMNS + 42)
            print_pad(printer, text, 16, true);
    }
    putc('\n', printer->out);
}

static void print_what_ifs(struct printer *printer, const struct reuse_figures *figures)
{
    const struct profile *profile = printer->profile;
    bool comparable = false;
    for (size_t i = 0; i < profile->what_ifs_count; i++)
        comparable = comparable || profile->what_ifs[i].line_bytes == figures->totals.unit_bytes;
    if (!profile->what_ifs_count)
        return;
    fprintf(printer->out, "\n  %s%-*s%10s%s%s\n", print_on(printer, DIM), WHAT_IF_COLUMNS,
            "simulated cache", "misses", comparable ? "  by the curve" : "", print_off(printer));
    for (size_t i = 0; i < profile->what_ifs_count; i++)
        print_what_if(printer, figures, &profile->what_ifs[i]);
    if (!comparable) {
        fprintf(printer->out, "  ");
        print_wrap(
            printer, DIM, 2, 2,
            "(simulated on cache lines; the curve counts other locations and cannot be compared)");
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void print_assumptions(struct printer *printer, const struct reuse_figures *figures)
{
    char line[TEXT_BYTES] = "";
    print_add(line, sizeof line, "(fully associative, LRU replacement; first touches included%s",
              figures->totals.stack ? "" : "; by the model");
    if (figures->sampled)
        print_add(line, sizeof line,
                  ". The intervals cover %sthe sampling error, not the model's own",
                  figures->paced ? "the pace and " : "");
    /* Neighbours on a line that are used in turn, some time apart: that is where it shows. */
    if (figures->sampled && figures->totals.unit_bytes > 1)
        print_add(line, sizeof line,
                  ", nor reuse of a %s through bytes that were not followed: misses may be fewer",
                  reuse_unit(&figures->totals, 1));
    if (figures->sampled)
        print_add(line, sizeof line, ". –: too wide for a figure");
    print_add(line, sizeof line, ")");
    fprintf(printer->out, "  ");
    print_wrap(printer, DIM, 2, 2, line);
}

void reuse_print_curve(struct printer *printer, const struct reuse_ranking *ranking,
                       const struct reuse_figures *figures)
{
    struct row rows[ROWS_MAX];
    size_t count = make_rows(ranking, figures, rows);
    double largest = figures_miss_ratio(figures, (double)rows[0].bytes).ratio;
    fprintf(printer->out, "\n  %s%-*s%*s%*s%s\n", print_on(printer, DIM), LABEL_COLUMNS, "cache of",
            RATIO_COLUMNS, "misses", figures->sampled ? BAND_COLUMNS : 0,
            figures->sampled ? "90 % interval" : "", print_off(printer));
    for (size_t i = 0; i < count; i++)
        print_row(printer, figures, &rows[i], largest);
    print_assumptions(printer, figures);
    print_machine(printer, ranking, figures);
    print_what_ifs(printer, figures);
}
