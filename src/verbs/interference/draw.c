// SPDX-License-Identifier: MIT
/*
 * A histogram in two lines of bars over one logarithmic axis: how many executions took that long,
 * and what they lost. The few slow ones, which the first line hardly shows, are mostly what the
 * second one shows.
 */
#include "interference/internal.h"

#include <math.h>

enum { LABEL = 12, COLUMNS_MAX = 136, LEAST_COLUMNS = 8 };

struct axis {
    uint32_t first, per_column; /* bins (spans_bin) */
    unsigned columns;
    double ns_per_tick;
};

static uint32_t bin_of(const struct axis *axis, double ns)
{
    double ticks = round(ns / axis->ns_per_tick);
    return spans_bin(ticks > 0 && ticks < 1e18 ? (uint64_t)ticks : 0);
}

static struct axis make_axis(const struct printer *printer, const struct interference_span *span,
                             unsigned most)
{
    const struct profile *profile = printer->profile;
    double rate = profile->span_runs_count ? profile->span_runs[0].ns_per_tick : 0;
    struct axis axis = {.ns_per_tick = rate > 0 ? rate : 1};
    axis.first = bin_of(&axis, span->bins[0].low_ns);
    uint32_t bins = bin_of(&axis, span->bins[span->bins_count - 1].low_ns) - axis.first + 1;
    axis.per_column = (bins + most - 1) / most;
    axis.columns = (bins + axis.per_column - 1) / axis.per_column;
    return axis;
}

static unsigned column_of(const struct axis *axis, double ns)
{
    uint32_t bin = bin_of(axis, ns);
    unsigned column = bin > axis->first ? (bin - axis->first) / axis->per_column : 0;
    return column < axis->columns ? column : axis->columns - 1;
}

/* What is there, shows, however little it is. */
static const char *bar(double value, double most)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (!(value > 0))
        return bars[0];
    return bars[1 + (unsigned)fmin(7, floor(7.999 * value / most))];
}

static void draw_row(struct printer *printer, const char *label, const double *values,
                     unsigned columns, unsigned indent)
{
    double most = 0;
    for (unsigned i = 0; i < columns; i++)
        most = fmax(most, values[i]);
    fprintf(printer->out, "%*s%s", (int)indent, "", print_on(printer, DIM));
    print_pad(printer, label, LABEL, false);
    fputs(print_off(printer), printer->out);
    while (columns && !(values[columns - 1] > 0))
        columns--; /* no blanks at the end of a line */
    for (unsigned i = 0; i < columns; i++)
        fputs(bar(values[i], most), printer->out);
    putc('\n', printer->out);
}

/* Marks at powers of ten, as far as there is room: "╵100 ns". */
static void draw_axis(struct printer *printer, const struct axis *axis,
                      const struct interference_score *score, unsigned indent, unsigned room)
{
    char label[48], number[32];
    unsigned at = 0;
    fprintf(printer->out, "%*s%s", (int)(indent + LABEL), "", print_on(printer, DIM));
    snprintf(label, sizeof label, "╵%s", print_time(score->min_ns, number));
    fputs(label, printer->out);
    at = name_columns(label);
    for (double decade = 1; decade <= score->max_ns && decade < 1e15; decade *= 10) {
        unsigned column = column_of(axis, decade);
        if (decade <= score->min_ns || column <= at)
            continue;
        snprintf(label, sizeof label, "╵%s", print_time(decade, number));
        if (column + name_columns(label) > room)
            break;
        fprintf(printer->out, "%*s%s", (int)(column - at), "", label);
        at = column + name_columns(label);
    }
    fprintf(printer->out, "%s\n", print_off(printer));
}

void interference_draw(struct printer *printer, const struct interference_span *span,
                       const struct interference_score *score, unsigned indent)
{
    double executions[COLUMNS_MAX] = {0}, lost[COLUMNS_MAX] = {0};
    unsigned room = printer->width > indent + LABEL + LEAST_COLUMNS
                        ? printer->width - indent - LABEL
                        : LEAST_COLUMNS;
    if (span->bins_count == 0)
        return;
    struct axis axis = make_axis(printer, span, room < COLUMNS_MAX ? room : COLUMNS_MAX);
    if (axis.columns < 2)
        return;
    for (size_t i = 0; i < span->bins_count; i++) {
        const struct interference_bin *bin = &span->bins[i];
        double middle = (fmax(bin->low_ns, score->min_ns) + fmin(bin->high_ns, score->max_ns)) / 2;
        unsigned column = column_of(&axis, bin->low_ns);
        executions[column] += (double)bin->count;
        lost[column] += (double)bin->count * fmax(0, middle - score->min_ns);
    }
    draw_row(printer, "executions", executions, axis.columns, indent);
    draw_row(printer, "time lost", lost, axis.columns, indent);
    draw_axis(printer, &axis, score, indent, room);
}
