// SPDX-License-Identifier: MIT
/* Lines that move between threads, for people. */
#include "sharing/internal.h"

#include <inttypes.h>
#include <string.h>

enum { MATRIX_SHOWN = 8, MATRIX_COLUMNS = 8, MET_FOR_SHARES = 8 };

/* Threads of which nothing was seen, where that was asked. */
static uint64_t short_threads(const struct sharing_report *report)
{
    return report->live ? report->profile->run.short_threads : 0;
}

/* What became of touches matters where nothing else was asked. */
static bool is_own(const struct sharing_report *report)
{
    return strcmp(report->profile->run.verb, sharing_analysis.name) == 0;
}

static void print_totals(struct printer *printer, const struct sharing_report *report)
{
    char line[TEXT_BYTES], transfers[32], false_share[32], threads[32];
    const struct profile_shared_run *totals = &report->totals;
    print_quantity(report->transfers, transfers);
    print_percent(report->transfers > 0 ? totals->false_transfers / report->transfers : 0,
                  false_share);
    snprintf(line, sizeof line,
             "%s transfers of cache lines between %s threads are to be expected, %.2f in 1,000 "
             "instructions, if each thread has a processor of its own; %s of them by false "
             "sharing. Between cores a transfer takes some hundred cycles.",
             transfers, print_grouped(totals->threads, threads),
             sharing_rate(report, report->transfers), false_share);
    fprintf(printer->out, "\n  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

/* Live. */
static void print_watched(struct printer *printer, const struct sharing_report *report)
{
    char line[TEXT_BYTES], samples[32], met[32], false_share[32], threads[32], between[32];
    const struct profile_shared_watch *watched = &report->watched;
    print_percent(report->transfers > 0 ? report->totals.false_transfers / report->transfers : 0,
                  false_share);
    snprintf(line, sizeof line, "%s accesses of %s threads were sampled. ",
             print_grouped(watched->samples, samples),
             print_grouped(report->totals.threads, threads));
    if (watched->met > 1)
        print_add(line, sizeof line, "%s times a", print_grouped(watched->met, met));
    else
        print_add(line, sizeof line, "%s", watched->met ? "Once a" : "No");
    print_add(
        line, sizeof line,
        " thread used a line that another one had used just before, one of the two writing it");
    if (watched->met >= MET_FOR_SHARES)
        print_add(line, sizeof line, "; %s of that, by weight, was false sharing", false_share);
    if (watched->cross_process)
        print_add(line, sizeof line, "; %s times that was a thread of another process",
                  print_grouped(watched->cross_process, between));
    print_add(line, sizeof line, ". Between cores a line takes some hundred cycles to move.");
    fprintf(printer->out, "\n  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

static void print_legend(struct printer *printer, const struct sharing_report *report)
{
    fprintf(printer->out, "\n  ");
    print_wrap(printer, DIM, 2, 2,
               report->watched.cross_process
                   ? "Pictures show the 64 bytes of a line: r read, W written, X both. Threads of "
                     "all processes are numbered in the order of their first samples."
                   : "Pictures show the 64 bytes of a line: r read, W written, X both. T0 is the "
                     "main thread.");
}

static void add_unseen(const struct sharing_report *report, char *line, size_t bytes)
{
    char share[32], met[32];
    struct sharing_silence silence = sharing_silence(report);
    switch (silence.doubt) {
    case SHARING_FEW_LOOKS:
        snprintf(line, bytes,
                 "Too few samples to say that no line moves between threads: record a longer run, "
                 "or all accesses (--exact).");
        break;
    case SHARING_FEW_MET:
        snprintf(line, bytes,
                 "No line was seen to move often enough to matter, but sharing was seen %s time%s, "
                 "too rarely to say that none does: all lines together may move about %.2f times "
                 "in 1,000 instructions. Record a longer run, or all accesses (--exact).",
                 print_grouped(report->watched.met, met), print_plural(report->watched.met),
                 sharing_rate(report, report->transfers));
        break;
    default:
        snprintf(line, bytes,
                 "No line was seen to move often enough to matter. With so many samples a line "
                 "with %s of the accesses, which two threads move %.2f times in 1,000 "
                 "instructions, is seen in 95 of 100 runs; %.2f or more may matter.",
                 print_percent(silence.least, share), silence.rate, SHARING_MATTERS);
    }
}

static void print_none(struct printer *printer, const struct sharing_report *report)
{
    char line[TEXT_BYTES] = "No line moves between threads often enough to matter.", threads[32];
    if (report->live)
        add_unseen(report, line, sizeof line);
    if (short_threads(report))
        print_add(line, sizeof line,
                  " That holds for the threads that were sampled: %s more used "
                  "too little CPU time for that.",
                  print_grouped(short_threads(report), threads));
    fprintf(printer->out, "\n  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

/* Lines too light to matter. */
static void print_rest(struct printer *printer, const struct sharing_report *report)
{
    double weak = report->totals.unlisted;
    size_t count = 0;
    char transfers[32], text[TEXT_BYTES];
    for (size_t i = 0; i < report->lines_count; i++)
        if (report->lines[i].weak) {
            weak += report->lines[i].transfers;
            count++;
        }
    if (!count)
        return;
    if (report->live) {
        print_percent(report->transfers > 0 ? weak / report->transfers : 0, transfers);
        snprintf(
            text, sizeof text,
            "%zu %sline%s, %s of the sharing: seen fewer than %d times, or too few transfers to "
            "matter",
            count, report->findings ? "more " : "", print_plural(count), transfers,
            SHARING_FEW_TRAPS);
        fprintf(printer->out, "\n  ");
        print_wrap(printer, DIM, 2, 2, text);
        return;
    }
    fprintf(printer->out, "\n  %s%zu %sline%s with %s transfers in all: too few to matter%s\n",
            print_on(printer, DIM), count, report->findings ? "more " : "", print_plural(count),
            print_quantity(weak, transfers), print_off(printer));
}

static void print_matrix(struct printer *printer, const struct sharing_report *report)
{
    uint32_t threads = report->threads < MATRIX_SHOWN ? report->threads : MATRIX_SHOWN;
    if (report->threads < 3 || report->transfers <= 0)
        return;
    fprintf(printer->out, "\n%sBetween threads%s  shares of %s, from row to column\n\n%*s",
            print_on(printer, STRONG), print_off(printer),
            report->live ? "the sharing" : "the transfers", MATRIX_COLUMNS, "");
    for (uint32_t to = 0; to < threads; to++)
        fprintf(printer->out, "%*s%" PRIu32, MATRIX_COLUMNS - (to < 10 ? 1 : 2), "T", to);
    putc('\n', printer->out);
    for (uint32_t from = 0; from < threads; from++) {
        fprintf(printer->out, "  T%-*" PRIu32, MATRIX_COLUMNS - 3, from);
        for (uint32_t to = 0; to < threads; to++) {
            char share[32] = "–";
            double transfers = report->matrix[from][to];
            if (transfers > 0)
                print_percent(transfers / report->transfers, share);
            print_pad(printer, share, MATRIX_COLUMNS, true);
        }
        putc('\n', printer->out);
    }
    if (report->threads > threads)
        fprintf(printer->out, "  %sand %" PRIu32 " more threads%s\n", print_on(printer, DIM),
                report->threads - threads, print_off(printer));
}

static bool print_lines(struct printer *printer, const struct sharing_report *report)
{
    unsigned limit = printer->options->limit;
    size_t shown = !limit || report->findings < limit ? report->findings : limit;
    printer->given_count = 0;
    for (size_t i = 0; i < shown; i++)
        if (!sharing_print_line(printer, report, &report->lines[i], i + 1))
            return false;
    if (shown < report->findings)
        fprintf(printer->out, "\n  %s%zu more objects%s\n", print_on(printer, DIM),
                report->findings - shown, print_off(printer));
    printer->next.cut |= shown < report->findings;
    return true;
}

static void print_one_thread(struct printer *printer, const struct sharing_report *report)
{
    char line[TEXT_BYTES], threads[32];
    uint64_t shorter = short_threads(report);
    if (!report->live)
        snprintf(line, sizeof line, "The program had one thread: nothing is shared.");
    else if (shorter)
        snprintf(line, sizeof line,
                 "Only one thread was seen at work. %s other%s used too little CPU time for a "
                 "sample: --exact sees all of them.",
                 print_grouped(shorter, threads), print_plural(shorter));
    else
        snprintf(line, sizeof line, "Only one thread was seen at work: nothing is shared.");
    fprintf(printer->out, "\n  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

static bool print_findings(struct printer *printer, void *state)
{
    const struct sharing_report *report = state;
    uint8_t kinds = printer->options->kinds;
    if (!printer->profile->shared_runs_count ||
        (kinds && !(kinds & REPORT_SHARING) && !is_own(report)))
        return true;
    fprintf(printer->out, "\n%sShared cache lines%s\n", print_on(printer, STRONG),
            print_off(printer));
    if (report->totals.threads < 2) {
        print_one_thread(printer, report);
        return true;
    }
    (report->live ? print_watched : print_totals)(printer, report);
    if (report->findings)
        print_legend(printer, report);
    else
        print_none(printer, report);
    if (!print_lines(printer, report))
        return false;
    print_rest(printer, report);
    if (report->findings)
        print_matrix(printer, report);
    return true;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static bool is_limited(const struct printer *printer, const void *state)
{
    const struct profile_shared_run *totals = &((const struct sharing_report *)state)->totals;
    const struct sharing_report *report = state;
    (void)printer;
    if (short_threads(report) || !is_own(report))
        return short_threads(report) != 0;
    return report->watched.late || report->watched.waited || report->watched.reused ||
           report->watched.unknown || sharing_spins(report) || totals->exhausted ||
           totals->evicted || totals->early || totals->merged;
}

static void print_item(struct printer *printer, const char *format, uint64_t count)
{
    char line[TEXT_BYTES], number[32];
    if (!count)
        return;
    snprintf(line, sizeof line, format, print_grouped(count, number));
    fprintf(printer->out, "  - ");
    print_wrap(printer, PLAIN, 4, 4, line);
}

static void print_limits(struct printer *printer, const void *state)
{
    const struct sharing_report *report = state;
    const struct profile_shared_run *totals = &report->totals;
    print_item(
        printer,
        "threads that used too little CPU time for a sample: %s. What these share with others "
        "is not seen",
        short_threads(report));
    if (!is_own(report))
        return;
    print_item(printer,
               "touches of a line that another thread had used too long ago to be called sharing: "
               "%s",
               report->watched.late);
    print_item(
        printer,
        "touches of a line after a barrier, or a wait, since another thread had used it: %s. "
        "Threads that take turns that way do not share at the same time",
        report->watched.waited);
    print_item(printer, "touches of memory that was freed since another thread had used it: %s",
               report->watched.reused);
    print_item(printer, "touches of which the bytes are not known: %s", report->watched.unknown);
    print_item(
        printer,
        "samples right after a wait by spinning: %s. A line that threads hand over so, and "
        "use many times in each turn, moves less often than is said here: --exact counts turns",
        sharing_spins(report) ? report->watched.spun : 0);
    print_item(
        printer,
        "lines that one thread had used, forgotten since memory for histories ran short: %s. "
        "What another thread did there later stands alone",
        totals->evicted);
    print_item(printer,
               "lines settled before all threads had come as far: %s. Transfers are missing",
               totals->early);
    print_item(printer, "transfers, or groups of them, without their places: %s", totals->merged);
    print_item(printer, "processes in which memory ran out: %s. Accesses are missing",
               totals->exhausted);
}

/* ---- the slots ------------------------------------------------------------------------------- */

static bool begin(const struct printer *printer, void **state)
{
    struct sharing_report *report = sharing_report_make(&printer->places);
    if (report)
        *state = report;
    return report;
}

static void narrow(struct printer *printer, const void *state)
{
    const struct sharing_report *report = state;
    for (size_t i = 0; i < report->findings; i++)
        for (size_t j = 0; j < report->lines[i].pairs_count && j < 3; j++) {
            print_narrow(printer, report->lines[i].pairs[j].first_place);
            print_narrow(printer, report->lines[i].pairs[j].second_place);
        }
}

const struct analysis_text sharing_text = {
    .begin = begin,
    .end = sharing_report_free,
    .narrow = narrow,
    .findings = print_findings,
    .is_limited = is_limited,
    .limits = print_limits,
};
