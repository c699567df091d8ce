// SPDX-License-Identifier: MIT
/*
 * What the compiler adds by itself: registers saved for the caller, values spilled, return addresses, addresses of
 * library functions, constants. No line of the source does it, so it is added up by function, apart from what
 * the program does.
 */
#include "waste/internal.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED = 3 }; /* functions of a row */

/* Less is not worth a row. */
static const double least_share = 0.005;

static const char *const titles[WASTE_OVERHEADS] = {
    [WASTE_SAVED] = "registers saved and restored",
    [WASTE_SPILLED] = "values without a register",
    [WASTE_RETURNS] = "return addresses of calls",
    [WASTE_STUBS] = "addresses of library functions",
    [WASTE_CONSTANTS] = "constants",
};

static const char *const wholes[] = {[PROFILE_DEAD] = "dead bytes",
                                     [PROFILE_SILENT] = "silent bytes",
                                     [PROFILE_LOAD] = "redundant bytes"};

struct named {
    const char *function; /* NULL: unknown */
    double share;
};

struct row {
    struct named *functions;
    size_t count;
    double share;
};

/* The function of the access that was wasted. */
static const char *function_of(const struct places *places, const struct waste_kind *kind,
                               const struct waste_pair *pair)
{
    uint32_t place = kind->totals->kind == PROFILE_DEAD ? pair->first_place : pair->second_place;
    return place ? places->profile->frames[places->items[place].class].function : NULL;
}

static int compare_names(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    return strcmp(a->function ? a->function : "", b->function ? b->function : "");
}

static int compare_shares(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    if (a->share != b->share)
        return a->share < b->share ? 1 : -1;
    return compare_names(left, right);
}

static void add_up(struct row *row)
{
    size_t kept = 0;
    if (!row->count)
        return;
    qsort(row->functions, row->count, sizeof *row->functions, compare_names);
    for (size_t i = 0; i < row->count; i++) {
        row->share += row->functions[i].share;
        if (kept && compare_names(&row->functions[kept - 1], &row->functions[i]) == 0)
            row->functions[kept - 1].share += row->functions[i].share;
        else
            row->functions[kept++] = row->functions[i];
    }
    row->count = kept;
    qsort(row->functions, row->count, sizeof *row->functions, compare_shares);
}

static void print_row(struct printer *printer, const struct row *row, const char *title)
{
    char head[96], line[TEXT_BYTES] = "";
    snprintf(head, sizeof head, "%5.1f %%  %s", 100 * row->share, title);
    for (size_t i = 0; i < row->count && i < NAMED; i++)
        print_add(line, sizeof line, "%s%s", i ? ", " : "",
                  row->functions[i].function ? row->functions[i].function : "unknown functions");
    if (row->count > NAMED)
        print_add(line, sizeof line, " and %zu more", row->count - NAMED);
    fprintf(printer->out, "    %s: ", head);
    print_wrap(printer, PLAIN, 6 + (unsigned)strlen(head), 13, line);
}

/* The rows of a kind; sets bits of those that were printed. False: no memory. */
static bool print_rows(struct printer *printer, const struct waste_kind *kind, unsigned *printed)
{
    size_t count = kind->pairs_count - kind->ordinary_count;
    struct named *functions = calloc(count + 1, sizeof *functions);
    if (!functions)
        return false;
    for (unsigned overhead = 1; overhead < WASTE_OVERHEADS; overhead++) {
        struct row row = {.functions = functions};
        for (size_t i = kind->ordinary_count; i < kind->pairs_count; i++)
            if (kind->pairs[i].overhead == overhead)
                functions[row.count++] =
                    (struct named){function_of(&printer->places, kind, &kind->pairs[i]),
                                   kind->pairs[i].share.share};
        add_up(&row);
        if (row.share < least_share)
            continue;
        print_row(printer, &row, titles[overhead]);
        *printed |= 1U << overhead;
    }
    free(functions);
    return true;
}

static double overhead_share(const struct waste_kind *kind)
{
    double share = 0;
    for (size_t i = kind->ordinary_count; i < kind->pairs_count; i++)
        share += kind->pairs[i].share.share;
    return share;
}

bool waste_print_overhead(struct printer *printer, const struct waste_ranking *ranking)
{
    static const char heading[] = "Register pressure and call overhead";
    unsigned printed = 0;
    bool begun = false, good = true;
    for (size_t k = 0; k < ranking->kinds_count && good; k++) {
        const struct waste_kind *kind = &ranking->kinds[k];
        double share = overhead_share(kind);
        if (kind->too_few || share < least_share)
            continue;
        if (!begun)
            fprintf(printer->out, "\n%s%s%s  what the compiler adds by itself\n",
                    print_on(printer, STRONG), heading, print_off(printer));
        begun = true;
        fprintf(printer->out, "\n  %s%.1f %%%s of the %s\n", print_on(printer, BOLD), 100 * share,
                print_off(printer), wholes[kind->totals->kind]);
        good = print_rows(printer, kind, &printed);
    }
    for (unsigned overhead = 1; overhead < WASTE_OVERHEADS; overhead++) {
        if (!(printed >> overhead & 1))
            continue;
        fprintf(printer->out, "\n  ");
        print_wrap(printer, PLAIN, 2, 2, waste_overhead_advice(overhead)->text);
    }
    return good;
}
