// SPDX-License-Identifier: MIT
/* One line for people: what it is, a picture of its bytes, the places that move it. */
#include "sharing/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 8, PAIRS_SHOWN = 3, FIELDS_SHOWN = 16, PARTS_SHOWN = 6, LABEL_COLUMNS = 11 };

/* ---- the picture ------------------------------------------------------------------------------ */

static char mark_of(uint64_t reads, uint64_t writes, unsigned byte)
{
    bool read = reads >> byte & 1, written = writes >> byte & 1;
    return read && written ? 'X' : written ? 'W' : read ? 'r' : '.';
}

static void draw_bytes(uint64_t reads, uint64_t writes, char picture[SHARING_LINE_BYTES + 8])
{
    char *out = picture;
    for (unsigned byte = 0; byte < SHARING_LINE_BYTES; byte++) {
        if (byte && byte % 8 == 0)
            *out++ = ' ';
        *out++ = mark_of(reads, writes, byte);
    }
    *out = 0;
}

static bool same_use(const struct profile_shared_user *a, const struct profile_shared_user *b)
{
    return a->read_mask == b->read_mask && a->write_mask == b->write_mask;
}

/* "T1, T3": the threads that use the line as user `at` does; "" if an earlier one does. */
static void users_label(const struct sharing_line *line, size_t at, char label[LABEL_COLUMNS + 1])
{
    char text[64] = "";
    size_t more = 0;
    label[0] = 0;
    for (size_t i = 0; i < at; i++)
        if (same_use(&line->users[i], &line->users[at]))
            return;
    for (size_t i = at; i < line->users_count; i++) {
        char name[24];
        if (!same_use(&line->users[i], &line->users[at]))
            continue;
        snprintf(name, sizeof name, "%sT%" PRIu32, text[0] ? "," : "", line->users[i].thread);
        if (strlen(text) + strlen(name) + 4 > LABEL_COLUMNS - 1)
            more++;
        else
            strcat(text, name);
    }
    if (more)
        print_add(text, sizeof text, "+%zu", more);
    snprintf(label, LABEL_COLUMNS + 1, "%.*s", LABEL_COLUMNS - 1, text);
}

static void print_picture(struct printer *printer, const struct sharing_line *line)
{
    char picture[SHARING_LINE_BYTES + 8], label[LABEL_COLUMNS + 1];
    size_t shown = 0, left = 0;
    fprintf(printer->out, "\n%*s", LABEL_COLUMNS, "");
    for (unsigned byte = 0; byte < SHARING_LINE_BYTES; byte += 8)
        fprintf(printer->out, byte + 8 < SHARING_LINE_BYTES ? "%-9u" : "%u", byte);
    putc('\n', printer->out);
    for (size_t i = 0; i < line->users_count; i++) {
        users_label(line, i, label);
        if (!label[0])
            continue;
        if (shown++ >= ROWS_MAX) {
            left++;
            continue;
        }
        draw_bytes(line->users[i].read_mask, line->users[i].write_mask, picture);
        fprintf(printer->out, "  %-*s%s\n", LABEL_COLUMNS - 2, label, picture);
    }
    if (left)
        fprintf(printer->out, "  and %zu more kinds of use\n", left);
}

/* Which fields the bytes that are used belong to. */
static void print_fields(struct printer *printer, const struct sharing_line *line)
{
    struct sharing_run run;
    size_t shown = 0, left = 0;
    for (size_t at = 0; sharing_next_run(line, &at, &run);) {
        char bytes[24], name[NAME_BYTES], type[NAME_BYTES];
        unsigned from = run.first->byte, to = run.last->byte + run.last->bytes - 1;
        if (shown++ >= FIELDS_SHOWN) {
            left++;
            continue;
        }
        if (run.first->bits)
            snprintf(bytes, sizeof bytes, "%u.%u", from, run.first->bit);
        else
            snprintf(bytes, sizeof bytes, from == to ? "%u" : "%u–%u", from, to);
        fprintf(printer->out, "  ");
        print_pad(printer, bytes, LABEL_COLUMNS - 2, false);
        name_clean(run.text, name, sizeof name);
        fputs(name, printer->out);
        name_clean(run.first->type ? run.first->type : "", type, sizeof type);
        print_tail(printer, DIM, LABEL_COLUMNS + name_columns(name), LABEL_COLUMNS + 2, type);
    }
    if (left)
        fprintf(printer->out, "  and %zu more fields\n", left);
    if (line->fields_count && line->fields[0].flags & PROFILE_FIELD_GUESSED)
        fprintf(printer->out, "  %sthe type is a guess, from the variable that took the block%s\n",
                print_on(printer, DIM), print_off(printer));
}

/* The objects that begin on the line, where there are several. */
static void print_parts(struct printer *printer, const struct profile_shared_line *row)
{
    char line[TEXT_BYTES] = "on this line: ", text[NAME_BYTES], name[NAME_BYTES];
    struct sharing_part part = {0};
    unsigned count = 0;
    for (const char *at = NULL; sharing_next_part(row->parts, &at, &part); count++) {
        snprintf(text, sizeof text, "%.*s", (int)part.length, part.name);
        name_clean(text, name, sizeof name);
        if (count < PARTS_SHOWN && part.byte < 0)
            print_add(line, sizeof line, "%s%s", count ? ", " : "and ", name);
        else if (count < PARTS_SHOWN)
            print_add(line, sizeof line, "%s%s (byte %d)", count ? ", " : "", name, part.byte);
    }
    if (count > PARTS_SHOWN)
        print_add(line, sizeof line, " and %u more", count - PARTS_SHOWN);
    if (count < 2 && part.byte >= 0)
        return;
    fprintf(printer->out, "      ");
    print_wrap(printer, PLAIN, 6, 6, line);
}

/* ---- places ---------------------------------------------------------------------------------- */

static const char *verb_of(uint32_t kind)
{
    return kind == SHARING_READS ? "reads" : kind == SHARING_WRITES ? "writes" : "changes";
}

/* "bytes 0–7" */
static void bytes_text(uint64_t mask, char text[32])
{
    unsigned low = mask ? (unsigned)__builtin_ctzll(mask) : 0;
    unsigned high = mask ? 63 - (unsigned)__builtin_clzll(mask) : 0;
    snprintf(text, 32, low == high ? "byte %u" : "bytes %u–%u", low, high);
}

/* "counters[0].hits against counters[1].misses". */
static void print_pair_fields(struct printer *printer, const struct sharing_line *line,
                              const struct sharing_pair *pair)
{
    char names[2][NAME_BYTES], text[TEXT_BYTES], clean[TEXT_BYTES];
    if (!sharing_fields_text(line, pair->first_mask, names[0]) ||
        !sharing_fields_text(line, pair->second_mask, names[1]))
        return;
    if (strcmp(names[0], names[1]) == 0)
        snprintf(text, sizeof text, "%s", names[0]);
    else
        snprintf(text, sizeof text, "%s against %s", names[0], names[1]);
    name_clean(text, clean, sizeof clean);
    fprintf(printer->out, "      ");
    print_wrap(printer, PLAIN, 6, 8, clean);
}

static void print_remedy(struct printer *printer, const struct sharing_line *line)
{
    struct sharing_remedy remedy;
    char text[TEXT_BYTES], clean[TEXT_BYTES];
    if (!sharing_remedy(line, &remedy))
        return;
    sharing_remedy_text(&remedy, text, sizeof text);
    name_clean(text, clean, sizeof clean);
    fprintf(printer->out, "      ");
    print_wrap(printer, PLAIN, 6, 6, clean);
}

static void print_pair(struct printer *printer, const struct sharing_line *line,
                       const struct sharing_pair *pair, struct chain chains[2])
{
    char share[32], bytes[2][32];
    print_percent(line->transfers > 0 ? pair->transfers / line->transfers : 0, share);
    bytes_text(pair->first_mask, bytes[0]);
    bytes_text(pair->second_mask, bytes[1]);
    const char *how = pair->is_true ? "the same bytes" : "different bytes";
    if (strcmp(bytes[0], bytes[1]) == 0)
        fprintf(printer->out, "      %s of it, %s, within %s\n", share, how, bytes[0]);
    else
        fprintf(printer->out, "      %s of it, %s: %s and %s\n", share, how, bytes[0], bytes[1]);
    print_pair_fields(printer, line, pair);
    if (!place_pair_is_known(pair->first_place, pair->second_place)) {
        fprintf(printer->out, "      places that were too many to be kept apart\n");
        return;
    }
    print_make_own_chain(printer, pair->first_place, &chains[0]);
    print_make_own_chain(printer, pair->second_place, &chains[1]);
    bool same = pair->first_place == pair->second_place && pair->first_kind == pair->second_kind;
    print_sides(printer, chains, same, verb_of(pair->first_kind), verb_of(pair->second_kind));
}

static void print_allocation(struct printer *printer, const struct sharing_report *report,
                             const struct sharing_line *line, struct chain *chain)
{
    if (!line->row->context)
        return;
    print_make_own_chain(printer, report->places->place_of[line->row->context], chain);
    print_side(printer, chain, 0, "allocated", "");
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Live: what it rests on, how far apart the touches lay, and the time of its accesses without waiting. */
static void print_live(struct printer *printer, const struct sharing_report *report,
                       const struct sharing_line *line, const char *class, const char *share)
{
    char text[TEXT_BYTES], traps[32], gap[32], time[32];
    snprintf(text, sizeof text,
             "%s; %s of the sharing (%.0f – %.0f %%), seen %s times: about %.2f transfers in 1,000 "
             "instructions; %zu threads",
             class, share, 100 * line->live.low, 100 * line->live.high,
             print_grouped(line->traps, traps), sharing_rate(report, line->together),
             line->users_count);
    fprintf(printer->out, "      ");
    print_wrap(printer, PLAIN, 6, 6, text);
    snprintf(
        text, sizeof text,
        "half of the touches came within %s of the other thread's; its accesses take %s of the "
        "CPU time, not counting how long they wait for the line",
        print_time((double)line->gap_ns, gap), print_percent(line->time, time));
    fprintf(printer->out, "      ");
    print_wrap(printer, PLAIN, 6, 6, text);
}

static void print_head(struct printer *printer, const struct sharing_report *report,
                       const struct sharing_line *line, size_t number)
{
    static const char *const classes[] = {"false sharing", "true sharing", "mixed: true and false"};
    char text[TEXT_BYTES], object[NAME_BYTES], clean[NAME_BYTES], share[32], transfers[32];
    int64_t offset = (int64_t)line->row->offset;
    sharing_object(line->row, object);
    name_clean(object, clean, sizeof clean);
    snprintf(text, sizeof text, "%s", clean);
    bool placed =
        line->row->object == PROFILE_OBJECT_GLOBAL || line->row->object == PROFILE_OBJECT_HEAP;
    if (placed && offset > 0)
        print_add(text, sizeof text, ", line at +%" PRId64, offset);
    if (line->lines > 1)
        print_add(text, sizeof text, " and %" PRIu32 " more line%s of it", line->lines - 1,
                  line->lines == 2 ? "" : "s");
    fprintf(printer->out, "\n  %s%s#%zu  %s%s%s\n", print_link_on(printer), print_on(printer, BOLD),
            number, text, print_off(printer), print_link_off(printer));
    print_percent(report->transfers > 0 ? line->together / report->transfers : 0, share);
    if (report->live) {
        print_live(printer, report, line, classes[line->class], share);
        return;
    }
    print_quantity(line->together, transfers);
    snprintf(text, sizeof text,
             "%s; %s of the transfers: %s, %.2f in 1,000 instructions; %zu threads",
             classes[line->class], share, transfers, sharing_rate(report, line->together),
             line->users_count);
    fprintf(printer->out, "      ");
    print_wrap(printer, PLAIN, 6, 6, text);
}

bool sharing_print_line(struct printer *printer, const struct sharing_report *report,
                        const struct sharing_line *line, size_t number)
{
    struct chain *chains = malloc(2 * sizeof *chains);
    if (!chains)
        return false;
    print_link(printer, "view=sharing&line=%zu", number - 1);
    print_head(printer, report, line, number);
    print_picture(printer, line);
    putc('\n', printer->out);
    print_fields(printer, line);
    if (line->fields_count)
        putc('\n', printer->out);
    print_parts(printer, line->row);
    print_allocation(printer, report, line, &chains[0]);
    for (size_t i = 0; i < line->pairs_count && i < PAIRS_SHOWN; i++)
        print_pair(printer, line, &line->pairs[i], chains);
    if (line->pairs_count > PAIRS_SHOWN)
        fprintf(printer->out, "      %sand %zu more pairs of places%s\n", print_on(printer, DIM),
                line->pairs_count - PAIRS_SHOWN, print_off(printer));
    print_remedy(printer, line);
    struct advice advice = sharing_advice(report, line);
    print_given(printer, &advice, number);
    print_link_clear(printer);
    free(chains);
    return true;
}
