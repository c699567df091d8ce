// SPDX-License-Identifier: MIT
/* What changed between two profiles, for people. */
#include "compare/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIGURE_COLUMNS = 22,
    NUMBER_COLUMNS = 14,
    NARROW_COLUMNS = 13,
    VERDICT_COLUMNS = 17, /* "  not significant" */
};

/* Of spans, whose times vary from run to run by nobody knows how much: a smaller one is not shown.
 */
static const double least_untested = 0.01;

/* Of exact figures: what the loader does differs by bytes with the length of a name. A smaller
   difference of shares is real, and only counted. */
static const double least_shown = 0.0005;

struct page {
    const struct diff *diff;
    const struct diff_options *options;
    struct printer printers[2]; /* one a side: contexts belong to a profile */
    struct printer *printer;    /* the later side's                         */
    struct chain *chains;       /* two                                      */
    bool narrow; /* no room for verdicts beside four numbers: the relative change is left out */
};

static bool is_change(const struct diff *diff, const struct compare_change *change)
{
    return change->verdict != COMPARE_SAME && diff_finding(diff, change)->row != DIFF_ALL;
}

/* ---- head ------------------------------------------------------------------------------------ */

static void print_side_line(struct page *page, unsigned side)
{
    const struct profile *profile = page->diff->sides[side].profile;
    char name[TEXT_BYTES], line[TEXT_BYTES * 2] = "", word[256];
    print_quote(page->options->names[side], name, sizeof name);
    print_add(line, sizeof line, "%s:", name);
    for (size_t i = 0; i < profile->arguments_count && strlen(line) < 300; i++) {
        print_quote(profile->arguments[i].text, word, sizeof word);
        print_add(line, sizeof line, " %s", word);
    }
    if (profile->run.cpu_s >= 0)
        print_add(line, sizeof line, ", %.2f s of CPU time", profile->run.cpu_s);
    fprintf(page->printer->out, "  %s%-7s%s", print_on(page->printer, BOLD),
            side ? "after" : "before", print_off(page->printer));
    print_wrap(page->printer, PLAIN, 9, 11, line);
}

/* NULL: differences are tested. */
static const char *untested_reason(const struct diff *diff)
{
    const struct analysis *recorded = analysis_find(diff->sides[0].profile->run.verb);
    return recorded && recorded->compare ? recorded->compare->untested : NULL;
}

static void add_shares(const struct diff *diff, char *line, size_t bytes)
{
    double before = profile_waste_share(diff->sides[0].profile);
    double after = profile_waste_share(diff->sides[1].profile);
    if (before < 1 || after < 1)
        print_add(line, bytes,
                  " Exact recordings of %.3g %% of all locations before, %.3g %% after.",
                  100 * before, 100 * after);
}

static void print_method(struct page *page)
{
    const struct diff *diff = page->diff;
    char line[TEXT_BYTES], verb[64];
    name_clean(diff->sides[0].profile->run.verb, verb, sizeof verb);
    fprintf(page->printer->out, "%sheadroom diff%s  %s\n", print_on(page->printer, BOLD),
            print_off(page->printer), verb);
    print_side_line(page, 0);
    print_side_line(page, 1);
    if (diff->exact)
        snprintf(line, sizeof line, "Everything was counted: any difference is real.");
    else if (untested_reason(diff))
        snprintf(line, sizeof line, "%s", untested_reason(diff));
    else
        snprintf(
            line, sizeof line,
            "Samples: only significant differences are listed. Of comparisons in which nothing has "
            "changed, at most %.3g %% list any (Fisher's exact test, Holm's correction).",
            100 * page->options->level);
    add_shares(diff, line, sizeof line);
    fprintf(page->printer->out, "  ");
    print_wrap(page->printer, DIM, 2, 2, line);
}

/* ---- figures --------------------------------------------------------------------------------- */

static const char *figure_verdict(const struct diff *diff, const struct diff_figure figures[2])
{
    if (diff->exact && figures[0].unit != DIFF_SECONDS)
        return "";
    for (size_t i = 0; i < diff->changes_count; i++) {
        const struct compare_change *change = &diff->changes[i];
        if (diff_finding(diff, change)->row == DIFF_ALL && figures[0].first_kind == change->kind &&
            figures[0].kinds_count == 1 && figures[0].unit == DIFF_SHARE)
            return change->verdict == COMPARE_SAME ? "not significant" : "significant";
    }
    if (figures[0].band && (figures[0].high < figures[1].low || figures[1].high < figures[0].low))
        return "intervals do not overlap";
    return figures[0].band ? "not significant" : "";
}

static unsigned figures_columns(const struct page *page)
{
    return 2 + FIGURE_COLUMNS + (page->narrow ? 3 * NARROW_COLUMNS : 4 * NUMBER_COLUMNS);
}

static void print_cell(struct page *page, const char *text)
{
    print_pad(page->printer, text, page->narrow ? NARROW_COLUMNS : NUMBER_COLUMNS, true);
}

/* One of them is of too few samples: the other's digits alone. */
static void print_few(struct page *page, const struct diff_figure figures[2])
{
    char number[48];
    for (unsigned s = 0; s < 2; s++)
        print_cell(page, figures[s].few
                             ? "—"
                             : diff_number(figures[s].unit, figures[s].value, false, number));
    fprintf(page->printer->out, "  too few samples\n");
}

static void print_figure(struct page *page, const struct diff_figure figures[2])
{
    FILE *out = page->printer->out;
    char number[48];
    double change = figures[1].value - figures[0].value;
    fprintf(out, "  %-*s", FIGURE_COLUMNS, figures[0].name);
    if (figures[0].few || figures[1].few) {
        print_few(page, figures);
        return;
    }
    for (unsigned s = 0; s < 2; s++)
        print_cell(page, diff_number(figures[s].unit, figures[s].value, false, number));
    if (figures[0].unit == DIFF_SHARE)
        snprintf(number, sizeof number, "%+.*f points", change != 0 && fabs(change) < 0.001 ? 3 : 1,
                 100 * change);
    else
        diff_number(figures[0].unit, change, true, number);
    print_cell(page, change == 0 ? "=" : number);
    const char *verdict = change != 0 ? figure_verdict(page->diff, figures) : "";
    number[0] = 0;
    if (figures[0].value > 0 && change != 0)
        snprintf(number, sizeof number, "%+.1f %%", 100 * change / figures[0].value);
    if (!page->narrow && (number[0] || verdict[0]))
        print_cell(page, number);
    print_tail(page->printer, PLAIN, figures_columns(page), 4, verdict);
}

static void print_figures(struct page *page)
{
    const struct diff_side *before = &page->diff->sides[0], *after = &page->diff->sides[1];
    static const char *const heads[] = {"before", "after", "change", "relative"};
    for (size_t i = 0; i < before->figures_count && !page->narrow; i++) {
        struct diff_figure figures[2] = {before->figures[i]};
        page->narrow = diff_side_figure(after, figures[0].name, &figures[1]) &&
                       figure_verdict(page->diff, figures)[0] &&
                       figures_columns(page) + VERDICT_COLUMNS > page->printer->width;
    }
    fprintf(page->printer->out, "\n  %s%-*s", print_on(page->printer, DIM), FIGURE_COLUMNS, "");
    for (size_t i = 0; i < BASE_COUNT(heads) - page->narrow; i++)
        print_cell(page, heads[i]);
    fprintf(page->printer->out, "%s\n", print_off(page->printer));
    for (size_t i = 0; i < before->figures_count; i++) {
        struct diff_figure figures[2] = {before->figures[i]};
        if (diff_side_figure(after, figures[0].name, &figures[1]))
            print_figure(page, figures);
    }
}

/* ---- findings -------------------------------------------------------------------------------- */

void diff_print_finding(struct printer *printer, const struct diff_side *side,
                        const struct compare_finding *finding, struct chain *chains)
{
    const struct diff_kind *kind = diff_kind_of(side, finding->kind);
    struct diff_ends ends;
    if (diff_ends_of(side, finding, &ends)) {
        for (unsigned i = 0; i < 2; i++)
            print_make_chain(printer, ends.places[i], &chains[i]);
        print_sides(printer, chains, ends.places[0] == ends.places[1], kind->labels[0],
                    kind->labels[1]);
        return;
    }
    struct diff_subject subject;
    char place[TEXT_BYTES], remark[TEXT_BYTES + 4];
    diff_subject_of(side, finding, &subject);
    print_place(printer, subject.file, subject.line, place);
    snprintf(remark, sizeof remark, place[0] ? "(%s)" : "%s", place);
    fprintf(printer->out, "      %s", subject.name);
    print_tail(printer, PLAIN, 6 + name_columns(subject.name), 8, remark);
}

static void add_remark(const struct page *page, const struct compare_change *change, char *line,
                       size_t bytes)
{
    const struct diff_part *part = diff_part_of(&page->diff->sides[0], change->kind);
    if (part->compare->remark)
        part->compare->remark(page->diff->sides, change, line, bytes);
}

static void print_change(struct page *page, const struct compare_change *change, size_t number)
{
    FILE *out = page->printer->out;
    char line[TEXT_BYTES] = "", head[64], amounts[3][48], shares[2][48];
    enum diff_unit unit = diff_kind_of(&page->diff->sides[0], change->kind)->unit;
    unsigned side = diff_shown_side(change);
    const char *whole = diff_whole_name(&page->diff->sides[0], change->kind);
    double scale = unit == DIFF_SECONDS ? 1e-9 : 1;
    snprintf(head, sizeof head, "#%zu  %s", number,
             change->tested || page->diff->exact ? compare_verdict_names[change->verdict]
                                                 : "differs");
    fprintf(out, "\n  %s%s%s  ", print_on(page->printer, BOLD), head, print_off(page->printer));
    for (unsigned s = 0; s < 2; s++) {
        diff_number(unit, change->amounts[s] * scale, false, amounts[s]);
        diff_number(DIFF_SHARE, change->shares[s], false, shares[s]);
    }
    diff_number(unit, (change->amounts[1] - change->amounts[0]) * scale, true, amounts[2]);
    if (change->verdict == COMPARE_APPEARED || change->verdict == COMPARE_VANISHED) {
        unsigned there = change->verdict == COMPARE_APPEARED;
        print_add(line, sizeof line, "%s%s%s of %s", page->diff->exact ? amounts[there] : "",
                  page->diff->exact ? ", " : "", shares[there], whole);
    } else if (page->diff->exact)
        print_add(line, sizeof line, "%s → %s (%s), %s → %s of %s", amounts[0], amounts[1],
                  amounts[2], shares[0], shares[1], whole);
    else
        print_add(line, sizeof line, "%s → %s of %s", shares[0], shares[1], whole);
    add_remark(page, change, line, sizeof line);
    if (!page->diff->exact && change->tested)
        print_add(line, sizeof line, "; p %s%.2g", change->p < 1e-4 ? "< " : "",
                  fmax(change->p, 1e-4));
    if (change->drifted)
        print_add(line, sizeof line, "; lines have moved");
    print_wrap(page->printer, PLAIN, 4 + (unsigned)strlen(head), 6, line);
    diff_print_finding(&page->printers[side], &page->diff->sides[side],
                       diff_finding(page->diff, change), page->chains);
}

/* The heading counts how many there are of each verdict. */
static size_t print_heading(struct page *page, uint32_t kind)
{
    size_t counts[COMPARE_VERDICTS] = {0}, all = 0;
    char line[TEXT_BYTES] = "";
    for (size_t i = 0; i < page->diff->changes_count; i++) {
        const struct compare_change *change = &page->diff->changes[i];
        if (change->kind != kind || !is_change(page->diff, change))
            continue;
        counts[change->verdict]++;
        all++;
    }
    if (all == 0)
        return 0;
    for (size_t v = COMPARE_APPEARED; v < COMPARE_VERDICTS; v++)
        if (counts[v])
            print_add(line, sizeof line, "%s%zu %s", line[0] ? ", " : "", counts[v],
                      compare_verdict_names[v]);
    fprintf(page->printer->out, "\n%s%s%s  %s\n", print_on(page->printer, STRONG),
            diff_kind_of(&page->diff->sides[0], kind)->heading, print_off(page->printer), line);
    return all;
}

/* By amounts: shares also move when all the rest does. */
static double share_moved(const struct diff *diff, const struct compare_change *change)
{
    double whole = fmax(diff->sides[0].compare.wholes[change->kind].amount,
                        diff->sides[1].compare.wholes[change->kind].amount);
    return whole > 0 ? (change->amounts[1] - change->amounts[0]) / whole : 0;
}

static size_t print_kind(struct page *page, uint32_t kind)
{
    size_t all = print_heading(page, kind), shown = 0;
    bool small = false;
    for (size_t i = 0; i < page->diff->changes_count && all; i++) {
        const struct compare_change *change = &page->diff->changes[i];
        if (change->kind != kind || !is_change(page->diff, change))
            continue;
        small = page->diff->exact && fabs(share_moved(page->diff, change)) < least_shown;
        if (page->options->limit && (shown == page->options->limit || small))
            break;
        print_change(page, change, ++shown);
    }
    if (shown < all)
        fprintf(page->printer->out, "\n  %s%zu %s%s\n", print_on(page->printer, DIM), all - shown,
                small ? "of less than 0.05 % of the total each (--limit 0 shows them)" : "more",
                print_off(page->printer));
    return all;
}

/* Findings that nobody can test and whose share differs by more than a point. */
static void print_untested(struct page *page)
{
    const struct diff *diff = page->diff;
    uint32_t headed = UINT32_MAX;
    size_t shown = 0, most = page->options->limit ? page->options->limit : SIZE_MAX;
    for (size_t i = 0; i < diff->changes_count; i++) {
        const struct compare_change *change = &diff->changes[i];
        const struct diff_kind *kind = diff_kind_of(&diff->sides[0], change->kind);
        if (!kind->untested || fabs(change->shares[1] - change->shares[0]) < least_untested)
            continue;
        if (headed != change->kind) {
            fprintf(page->printer->out, "\n%s%s%s  differences of more than a point, not tested\n",
                    print_on(page->printer, STRONG), kind->heading, print_off(page->printer));
            headed = change->kind;
            shown = 0;
        }
        if (shown < most)
            print_change(page, change, ++shown);
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

static void narrow(struct page *page)
{
    for (size_t i = 0; i < page->diff->changes_count; i++) {
        const struct compare_change *change = &page->diff->changes[i];
        unsigned side = diff_shown_side(change);
        struct diff_ends ends;
        if (change->verdict == COMPARE_SAME ||
            !diff_ends_of(&page->diff->sides[side], diff_finding(page->diff, change), &ends))
            continue;
        for (unsigned p = 0; p < 2; p++)
            print_narrow(&page->printers[side], ends.places[p]);
    }
}

static void print_page(struct page *page)
{
    static const char *const sides[2] = {"before: ", "after: "};
    const struct profile *const profiles[2] = {page->diff->sides[0].profile,
                                               page->diff->sides[1].profile};
    size_t changes = 0;
    narrow(page);
    print_method(page);
    print_figures(page);
    for (uint32_t kind = 0; kind < page->diff->sides[0].kinds_count; kind++)
        changes += print_kind(page, kind);
    print_untested(page);
    if (changes == 0 && !untested_reason(page->diff))
        fprintf(page->printer->out, "\n  No finding appeared, vanished, grew or shrank%s.\n",
                page->diff->exact ? "" : " significantly");
    print_degraded_both(page->printer, profiles, sides);
}

static enum base_status write_page(const struct diff *diff, const struct diff_options *options,
                                   FILE *out)
{
    struct page page = {.diff = diff, .options = options};
    struct report_options plain[2];
    page.chains = calloc(2, sizeof *page.chains);
    if (!page.chains)
        return BASE_NO_MEMORY;
    for (unsigned s = 0; s < 2; s++) {
        plain[s] = (struct report_options){.color = options->color, .limit = options->limit};
        page.printers[s] = (struct printer){.out = out,
                                            .profile = diff->sides[s].profile,
                                            .options = &plain[s],
                                            .places = diff->sides[s].places};
        page.printers[s].width = print_width(options->width);
        /* Only the later sources are likely to be still there. */
        page.printers[s].sources =
            (struct source_cache){.enabled = s == 1 && options->sources,
                                  .not_newer_than_ns = diff->sides[s].profile->run.start_ns};
    }
    page.printer = &page.printers[1];
    print_page(&page);
    source_free(&page.printers[1].sources);
    free(page.chains);
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}

struct job {
    const struct diff *diff;
    const struct diff_options *options;
};

static enum base_status write_job(const void *context, FILE *out)
{
    const struct job *job = context;
    return write_page(job->diff, job->options, out);
}

enum base_status diff_text(struct profile *before, struct profile *after,
                           const struct diff_options *options, FILE *out)
{
    struct diff diff;
    enum base_status status =
        diff_make(before, after, options->by, options->level, NULL, NULL, &diff);
    if (status != BASE_OK)
        return status;
    struct job job = {&diff, options};
    status = ascii_wrap(options->ascii, write_job, &job, out);
    diff_free(&diff);
    return status;
}
