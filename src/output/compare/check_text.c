// SPDX-License-Identifier: MIT
/* A check against limits for people, and as annotations of GitHub's workflows. */
#include "compare/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURE_COLUMNS = 24, NUMBER_COLUMNS = 13 };

/* ---- text ------------------------------------------------------------------------------------ */

static const char *state_word(const struct check *check, const struct check_result *result)
{
    if (result->state == CHECK_SMALL)
        return "exceeded, by less than the minimum";
    if (result->state == CHECK_WITHIN)
        return "within";
    if (result->state == CHECK_UNDECIDED)
        return check->options->warn_only || check->options->undecided != CHECK_UNDECIDED_FAILS
                   ? "undecided"
                   : "UNDECIDED";
    return check->options->warn_only ? "exceeded (warning only)" : "EXCEEDED";
}

static void print_result(struct printer *printer, const struct check *check,
                         const struct check_result *result)
{
    char number[48], interval[CHECK_INTERVAL_BYTES], verdict[256] = "";
    enum diff_unit unit = result->figure.unit;
    unsigned columns = 2 + FIGURE_COLUMNS + (check->has_baseline ? 3 : 2) * NUMBER_COLUMNS;
    bool bad = result->state == CHECK_EXCEEDED || result->state == CHECK_UNDECIDED;
    fprintf(printer->out, "  %-*s", FIGURE_COLUMNS, result->figure.name);
    if (check->has_baseline)
        print_pad(printer, diff_number(unit, result->baseline.value, false, number), NUMBER_COLUMNS,
                  true);
    print_pad(printer, diff_number(unit, result->figure.value, false, number), NUMBER_COLUMNS,
              true);
    print_pad(printer, diff_number(unit, result->allowed, false, number), NUMBER_COLUMNS, true);
    print_add(verdict, sizeof verdict, "%s", state_word(check, result));
    if (check_interval(result, interval)[0])
        print_add(verdict, sizeof verdict, ", an estimate: %s", interval);
    print_tail(printer, bad ? BOLD : PLAIN, columns, 4, verdict);
}

static void print_results(struct printer *printer, const struct check *check)
{
    fprintf(printer->out, "\n  %s%-*s", print_on(printer, DIM), FIGURE_COLUMNS, "");
    if (check->has_baseline)
        print_pad(printer, "baseline", NUMBER_COLUMNS, true);
    print_pad(printer, "value", NUMBER_COLUMNS, true);
    print_pad(printer, "allowed", NUMBER_COLUMNS, true);
    fprintf(printer->out, "%s\n", print_off(printer));
    for (size_t i = 0; i < check->results_count; i++)
        print_result(printer, check, &check->results[i]);
}

/* Miss ratios and times lost are no sums over findings from which one could be taken. */
static bool is_unsummed(const struct check *check)
{
    for (size_t i = 0; i < check->side->parts_count; i++) {
        const struct diff_part *part = &check->side->parts[i];
        if (part->compare->is_unsummed && part->compare->is_unsummed(check->side, part))
            return true;
    }
    return false;
}

static bool print_items(struct printer *printer, const struct check *check)
{
    const char *made_of = is_unsummed(check) ? "the largest findings" : "what it is made of";
    struct chain *chains = calloc(2, sizeof *chains);
    if (!chains)
        return false;
    for (size_t i = 0; i < check->items_count; i++) {
        char line[CHECK_SENTENCE_BYTES];
        const struct check_item *item = &check->items[i];
        if (i == 0 || item->result != check->items[i - 1].result)
            fprintf(printer->out, "\n%s%s%s  %s\n", print_on(printer, STRONG),
                    item->result->figure.name, print_off(printer),
                    item->change ? "what appeared or grew" : made_of);
        check_amount(item, line);
        fprintf(printer->out, "\n  %s#%zu%s  ", print_on(printer, BOLD), i + 1, print_off(printer));
        print_wrap(printer, PLAIN, 6, 6, line);
        diff_print_finding(printer, item->side, item->finding, chains);
        struct advice advice = check_advice(item, &printer->sources);
        print_given(printer, &advice, i + 1);
    }
    free(chains);
    return true;
}

/* Both a suppression that hides something and one that hides nothing are said. */
static void print_suppressions(struct printer *printer, const struct check *check)
{
    const struct compare_suppressions *suppressions = check->options->suppressions;
    if (check->suppressed)
        fprintf(printer->out, "\n  %zu finding%s suppressed, and not %s.\n", check->suppressed,
                check->suppressed == 1 ? " is" : "s are",
                is_unsummed(check) ? "listed; the figures are those of all"
                                   : "part of these figures");
    for (size_t i = 0; suppressions && i < suppressions->count; i++) {
        const struct compare_suppression *one = &suppressions->items[i];
        char first[NAME_BYTES], line[NAME_BYTES + 64];
        if (one->uses)
            continue;
        name_clean(one->first, first, sizeof first);
        snprintf(line, sizeof line, "The suppression in line %u (%s) matches nothing.", one->line,
                 first);
        fputs("\n  ", printer->out);
        print_wrap(printer, PLAIN, 2, 2, line);
    }
}

static void print_limits(struct printer *printer, const struct check *check)
{
    const struct profile *const profiles[2] = {check_profile_of(check, 0),
                                               check_profile_of(check, 1)};
    char line[CHECK_SENTENCE_BYTES];
    for (unsigned i = 0; check_remark(check, i, line); i++) {
        fputs("\n  ", printer->out);
        print_wrap(printer, PLAIN, 2, 2, line);
    }
    print_degraded_both(printer, profiles, check_of);
}

static void narrow(struct printer *printer, const struct check *check)
{
    struct diff_ends ends;
    for (size_t i = 0; i < check->items_count; i++)
        if (diff_ends_of(check->items[i].side, check->items[i].finding, &ends)) {
            print_narrow(printer, ends.places[0]);
            print_narrow(printer, ends.places[1]);
        }
}

struct job {
    const struct check *check;
    bool color;
    unsigned width;
};

static enum base_status write_job(const void *context, FILE *out)
{
    const struct job *job = context;
    const struct check *check = job->check;
    const struct report_options plain = {.color = job->color};
    struct printer printer = {.out = out,
                              .profile = check->side->profile,
                              .options = &plain,
                              .places = check->side->places,
                              .width = print_width(job->width)};
    char name[TEXT_BYTES], line[TEXT_BYTES * 2 + 16];
    printer.sources = check_sources(check);
    narrow(&printer, check);
    print_quote(check->options->names[1], name, sizeof name);
    snprintf(line, sizeof line, "%s", name);
    if (check->has_baseline) {
        print_quote(check->options->names[0], name, sizeof name);
        print_add(line, sizeof line, " against %s", name);
    }
    fprintf(out, "%sheadroom check%s  ", print_on(&printer, BOLD), print_off(&printer));
    print_wrap(&printer, PLAIN, 16, 4, line);
    print_results(&printer, check);
    bool good = print_items(&printer, check);
    print_suppressions(&printer, check);
    print_limits(&printer, check);
    source_free(&printer.sources);
    if (!good)
        return BASE_NO_MEMORY;
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}

enum base_status check_text(const struct check *check, bool color, bool ascii, unsigned width,
                            FILE *out)
{
    struct job job = {check, color, width};
    return ascii_wrap(ascii, write_job, &job, out);
}

/* ---- annotations ----------------------------------------------------------------------------- */

/* What the workflow commands would take for their own; properties end at commas and colons. */
static void put_escaped(const char *text, bool property, FILE *out)
{
    char clean[CHECK_SENTENCE_BYTES * 4]; /* a file's name, at the longest */
    name_clean(text, clean, sizeof clean);
    for (const char *at = clean; *at; at++) {
        unsigned char sign = (unsigned char)*at;
        if (sign == '%' || (property && strchr(":,", sign)))
            fprintf(out, "%%%02X", sign);
        else
            putc(sign, out);
    }
}

static void annotate(const char *level, const struct check_place *place, const char *title,
                     const char *message, FILE *out)
{
    fprintf(out, "::%s ", level);
    if (place && place->relative) {
        fputs("file=", out);
        put_escaped(place->file, true, out);
        fprintf(out, ",line=%" PRIu32 ",", place->line);
    }
    fputs("title=", out);
    put_escaped(title, true, out);
    fputs("::", out);
    put_escaped(message, false, out);
    putc('\n', out);
}

enum base_status check_github(const struct check *check, FILE *out)
{
    struct source_cache sources = check_sources(check);
    char sentence[CHECK_SENTENCE_BYTES], message[CHECK_MESSAGE_BYTES];
    for (size_t i = 0; i < check->results_count; i++) {
        const char *level = check_result_level(check, &check->results[i]);
        if (!level)
            continue;
        check_limit_sentence(&check->results[i], sentence);
        annotate(level, NULL, check->results[i].figure.name, sentence, out);
    }
    for (size_t i = 0; i < check->items_count; i++) {
        struct check_place place;
        struct advice advice = check_advice(&check->items[i], &sources);
        check_find_place(check, &check->items[i], 0, &place);
        check_message(check, &check->items[i], &advice, message);
        annotate(check_result_level(check, check->items[i].result), &place,
                 check->items[i].result->figure.name, message, out);
    }
    source_free(&sources);
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}
