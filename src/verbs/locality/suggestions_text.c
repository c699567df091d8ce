// SPDX-License-Identifier: MIT
/* Changes of a nest that would miss less, in words. */
#include "locality/internal.h"

#include <inttypes.h>

/* The loop that stands at that place now. NULL: the profile has none. */
static const struct profile_locality_loop *loop_at(const struct profile *profile,
                                                   struct locality_rows rows, size_t place)
{
    for (size_t i = rows.first; i < rows.end; i++)
        if (profile->locality_loops[i].loop == place)
            return &profile->locality_loops[i];
    return NULL;
}

/* Loops are named by their lines where these are known, else by their number among those that are moved. */
static void add_loops(const struct profile *profile,
                      const struct profile_locality_suggestion *suggestion,
                      struct locality_rows rows, char *line, size_t bytes)
{
    size_t count = rows.end - rows.first;
    bool known = true;
    for (size_t i = rows.first + suggestion->kept; i < rows.end; i++)
        known &= profile->locality_loops[i].line != 0;
    if (!known) {
        print_add(line, bytes, "the inner %zu loops of the nest", count - suggestion->kept);
        return;
    }
    print_add(line, bytes, "the loops of lines ");
    for (size_t place = suggestion->kept; place < count; place++) {
        const struct profile_locality_loop *loop = loop_at(profile, rows, place);
        print_add(line, bytes, "%s%u", place > suggestion->kept ? ", " : "", loop ? loop->line : 0);
    }
}

static void add_order(const struct profile *profile,
                      const struct profile_locality_suggestion *suggestion,
                      struct locality_rows rows, char *line, size_t bytes)
{
    const struct profile_locality_loop *loops = profile->locality_loops;
    size_t first = rows.first + suggestion->kept;
    bool other = false;
    for (size_t i = first; i < rows.end; i++)
        other |= loops[i].loop != i - rows.first;
    if (!other)
        return;
    print_add(line, bytes,
              suggestion->kind == PROFILE_LOCALITY_TILES ? ", in the order " : " in the order ");
    for (size_t i = first; i < rows.end; i++)
        print_add(line, bytes, "%s%u", i > first ? ", " : "",
                  loops[i].line ? loops[i].line : loops[i].loop - suggestion->kept + 1);
}

/* In the order in which the loops stand now. */
static void add_tiles(const struct profile *profile,
                      const struct profile_locality_suggestion *suggestion,
                      struct locality_rows rows, char *line, size_t bytes)
{
    size_t count = rows.end - rows.first;
    print_add(line, bytes, " in tiles of ");
    for (size_t place = suggestion->kept; place < count; place++) {
        const struct profile_locality_loop *loop = loop_at(profile, rows, place);
        print_add(line, bytes, "%s", place == suggestion->kept ? "" : " x ");
        if (loop && loop->tile)
            print_add(line, bytes, "%" PRIu64, loop->tile);
        else
            print_add(line, bytes, "all");
    }
}

static void add_padding(const struct profile *profile,
                        const struct profile_locality_suggestion *suggestion,
                        struct locality_rows rows, bool reordered, char *line, size_t bytes)
{
    const char *between = reordered ? "; " : "";
    for (size_t i = rows.first; i < rows.end; i++) {
        const struct profile_locality_padding *row = &profile->locality_paddings[i];
        char name[NAME_BYTES];
        name_clean(profile->locality_arrays[row->array].name, name, sizeof name);
        print_add(line, bytes, "%s%.60s %" PRIu64 " instead of %" PRIu64, between, name,
                  row->padded_elements, row->elements);
        between = ", ";
    }
    if (rows.end > rows.first)
        print_add(line, bytes, " elements from row to row");
    if (suggestion->gap_bytes)
        print_add(line, bytes, "%s%u bytes more between one array and the next",
                  rows.end > rows.first || reordered ? "; " : "", suggestion->gap_bytes);
}

static void add_misses(const struct profile *profile, uint32_t index, char *line, size_t bytes)
{
    uint32_t nest = profile->locality_suggestions[index].nest;
    for (uint32_t i = 0; i < profile->locality_levels_count; i++) {
        double now = locality_total(profile, nest, i)->misses;
        double then = locality_saving(profile, index, i)->misses;
        char count[32];
        print_add(line, bytes, "%s%s %s misses", i ? ", " : "", profile->locality_levels[i].name,
                  print_quantity(then, count));
        if (now > 0)
            print_add(line, bytes, " (%+.0f %%)", 100 * (then - now) / now);
    }
}

void locality_describe_suggestion(const struct profile *profile, uint32_t index, char *line,
                                  size_t bytes)
{
    const struct profile_locality_suggestion *suggestion = &profile->locality_suggestions[index];
    struct locality_rows loops = locality_loops_of(profile, index);
    bool reordered = loops.end > loops.first + suggestion->kept;
    if (reordered) {
        add_loops(profile, suggestion, loops, line, bytes);
        if (suggestion->kind == PROFILE_LOCALITY_TILES)
            add_tiles(profile, suggestion, loops, line, bytes);
        add_order(profile, suggestion, loops, line, bytes);
        if (suggestion->split)
            print_add(line, bytes, ", split off from the other statements in them");
    }
    add_padding(profile, suggestion, locality_paddings_of(profile, index), reordered, line, bytes);
    print_add(line, bytes, ": ");
    add_misses(profile, index, line, bytes);
}

void locality_print_suggestions(struct printer *printer, uint32_t nest)
{
    const struct profile *profile = printer->profile;
    const struct profile_locality_nest *row = &profile->locality_nests[nest];
    struct locality_rows rows = locality_suggestions_of(profile, nest);
    if (!row->suggested)
        return;
    fprintf(printer->out,
            "\n    suggestions: %" PRIu64 " changes tried, %" PRIu64
            " others would break dependences%s\n",
            row->tried, row->illegal, row->suggested_late ? ", time was up" : "");
    for (size_t i = rows.first; i < rows.end; i++) {
        char line[TEXT_BYTES] = "", clean[TEXT_BYTES];
        locality_describe_suggestion(profile, (uint32_t)i, line, sizeof line);
        name_clean(line, clean, sizeof clean);
        fprintf(printer->out, "      %zu  ", i - rows.first + 1);
        print_wrap(printer, PLAIN, 9, 9, clean);
    }
    if (rows.end == rows.first)
        fprintf(printer->out, "      none of them has noticeably fewer misses\n");
}
