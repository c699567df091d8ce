// SPDX-License-Identifier: MIT
/*
 * Source and disassembly side by side: each range with its source line once, on the left, and its instructions on the right; lines of
 * one colour belong together, wherever their code is.
 */
#include "map/internal.h"

#include <inttypes.h>
#include <string.h>

enum { HEAT_COLUMNS = 7, ADDRESS_COLUMNS = 10, ROWS_IN_TEXT = 200 };

struct pane {
    struct printer *printer;
    unsigned source, assembly; /* columns */
    const char *file;
    const char *function, *chain; /* of the last range */
    bool begun, heat;
};

static const char *colour_of(const struct pane *pane, uint32_t line)
{
    static const char *const codes[] = {"\033[36m", "\033[33m", "\033[32m",
                                        "\033[35m", "\033[34m", "\033[31m"};
    return pane->printer->options->color && line ? codes[line % BASE_COUNT(codes)] : "";
}

static void print_source_cell(const struct pane *pane, const struct profile_map_range *range)
{
    char cell[TEXT_BYTES] = "", text[TEXT_BYTES];
    if (!range->line)
        snprintf(cell, sizeof cell, "%5s no line", "");
    else
        snprintf(cell, sizeof cell, "%5u ", range->line);
    if (range->line && range->file &&
        source_line(&pane->printer->sources, range->file, range->line, text, sizeof text))
        print_add(cell, sizeof cell, "%s", text);
    cell[name_fitting(cell, pane->source)] = 0;
    fputs(colour_of(pane, range->line), pane->printer->out);
    print_pad(pane->printer, cell, pane->source, false);
}

static void print_heat(const struct pane *pane, double heat)
{
    char percent[32] = "";
    if (!pane->heat)
        return;
    if (heat > 0)
        print_percent(heat, percent);
    print_pad(pane->printer, percent, HEAT_COLUMNS, true);
    fputs(" ", pane->printer->out);
}

static void print_row(const struct pane *pane, const struct profile_map_range *range, bool first,
                      const struct profile_map_instruction *row)
{
    FILE *out = pane->printer->out;
    char assembly[TEXT_BYTES], address[32];
    print_heat(pane, row ? row->heat : -1);
    if (first)
        print_source_cell(pane, range);
    else
        fprintf(out, "%s%*s", colour_of(pane, range->line), (int)pane->source, "");
    snprintf(address, sizeof address, "%" PRIx64, row ? row->address : range->start);
    fprintf(out, " %*s  ", ADDRESS_COLUMNS, address);
    name_clean(row ? row->text : "(no instruction)", assembly, sizeof assembly);
    assembly[name_fitting(assembly, pane->assembly)] = 0;
    fprintf(out, "%s%s\n", assembly, print_off(pane->printer));
}

static void note_context(struct pane *pane, const struct profile_map_range *range)
{
    struct printer *printer = pane->printer;
    char line[TEXT_BYTES] = "", name[NAME_BYTES], place[TEXT_BYTES];
    if (pane->begun && profile_same_text(pane->function, range->function) &&
        profile_same_text(pane->chain, range->chain) && profile_same_text(pane->file, range->file))
        return;
    pane->begun = true;
    pane->function = range->function;
    pane->chain = range->chain;
    pane->file = range->file;
    name_shorten(range->function ? range->function : "?", 60, name);
    print_place(printer, range->file, 0, place);
    print_add(line, sizeof line, "%s", name);
    if (place[0])
        print_add(line, sizeof line, " (%s)", place);
    if (range->chain) {
        char chain[TEXT_BYTES];
        name_clean(range->chain, chain, sizeof chain);
        print_add(line, sizeof line, ", inlined into %s", chain);
    }
    fprintf(printer->out, "\n  %s", "");
    print_wrap(printer, BOLD, 2, 4, line);
}

static void remark(const struct pane *pane, const struct profile_map_range *range)
{
    char line[TEXT_BYTES] = "";
    const struct profile_map_run *run = map_run_of(pane->printer->profile);
    if (run->kind != PROFILE_MAP_LINE)
        return;
    print_add(line, sizeof line, "%s",
              range->end > range->start
                  ? map_copy_words[range->copy]
                  : "the statement begins here, its code is elsewhere or gone");
    if (range->depth)
        print_add(line, sizeof line, "%sin %u loop%s", line[0] ? ", " : "", range->depth,
                  print_plural(range->depth));
    if (!line[0])
        return;
    fprintf(pane->printer->out, "    ");
    print_wrap(pane->printer, DIM, 4, 4, line);
}

static size_t print_range(struct pane *pane, const struct profile_map_range *range)
{
    const struct profile *profile = pane->printer->profile;
    const struct profile_map_instruction *rows = profile->map_instructions;
    size_t count = profile->map_instructions_count;
    size_t first = BASE_FIRST(i, count, rows[i].address >= range->start), at = first;
    note_context(pane, range);
    remark(pane, range);
    for (; at < count && rows[at].address < range->end; at++)
        print_row(pane, range, at == first, &rows[at]);
    if (at == first)
        print_row(pane, range, true, NULL);
    return at == first ? 1 : at - first;
}

void map_print_code(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    struct pane pane = {.printer = printer, .heat = map_run_of(profile)->measure != NULL};
    unsigned fixed = ADDRESS_COLUMNS + 3 + (pane.heat ? HEAT_COLUMNS + 1 : 0);
    unsigned left = printer->width > fixed + 40 ? printer->width - fixed : 40;
    pane.source = left / 2;
    pane.assembly = left - pane.source;
    size_t printed = 0, i = 0;
    size_t most = printer->options->limit ? ROWS_IN_TEXT : SIZE_MAX;
    for (; i < profile->map_ranges_count && printed < most; i++)
        printed += print_range(&pane, &profile->map_ranges[i]);
    if (i < profile->map_ranges_count) {
        fprintf(printer->out, "\n  and %zu more ranges\n", profile->map_ranges_count - i);
        printer->next.cut = true;
    }
    uint64_t all = map_run_of(profile)->ranges;
    if (all > profile->map_ranges_count)
        fprintf(printer->out,
                "\n  %" PRIu64 " ranges are not listed: only the first %zu are kept\n",
                all - profile->map_ranges_count, profile->map_ranges_count);
}
