// SPDX-License-Identifier: MIT
/*
 * Interference for people: how much of which threads' time was lost, to what; then the spans with
 * their durations, stacks, holders and what speaks for the cause; what is no interference; what was
 * not seen.
 */
#include "interference/internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME = 44,
    INDENT = 6,
    LABEL = 14, /* as print_side's */
    STACKS_MAX = 3,
    HOLDERS_MAX = 4,
    THREADS_MAX = 12,
    LISTED_MAX = 8, /* of lists beside the findings */
    SUMMARY_MAX = 5,
    SEQUENCES_MAX = 3,
};

/* Of their threads' time: what is less is not worth anybody's; what is shown whole; sequences,
   whose figures are differences of estimates. */
static const double least_share = 0.001, whole_share = 0.01, sequence_share = 0.02;

static const char *const cause_phrases[INTERFERENCE_CAUSES] = {
    [INTERFERENCE_UNKNOWN] = "no cause found",
    [INTERFERENCE_LOCK] = "locks",
    [INTERFERENCE_CONDITION] =
        "waits for other threads (condition variables, semaphores, spinning)",
    [INTERFERENCE_IMBALANCE] = "waits at barriers for slower threads",
    [INTERFERENCE_IO] = "input and output",
    [INTERFERENCE_ALLOCATOR] = "the allocator",
    [INTERFERENCE_PREEMPTION] = "code that is slow around preemptions",
    [INTERFERENCE_SHARED] = "shared data, memory bandwidth or varying work (not distinguished)",
    [INTERFERENCE_VARYING] = "varying work",
    [INTERFERENCE_NESTED] = "spans that call other spans, without what those lose",
    [INTERFERENCE_WAITING] = "idle waits",
};

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void print_heading(struct printer *printer, const char *heading)
{
    fprintf(printer->out, "\n%s%s%s\n", print_on(printer, STRONG), heading, print_off(printer));
}

/* One paragraph under its label, as print_side does. */
static void print_labelled(struct printer *printer, enum tone tone, const char *label,
                           const char *text)
{
    fprintf(printer->out, "%*s", INDENT, "");
    print_pad(printer, label, LABEL, false);
    print_wrap(printer, tone, INDENT + LABEL, INDENT + LABEL, text);
}

static uint64_t least_executions(const struct interference_figures *figures)
{
    return figures->input.least ? figures->input.least : INTERFERENCE_LEAST;
}

static size_t listed(const struct printer *printer, size_t count)
{
    return printer->options->limit && count > LISTED_MAX ? LISTED_MAX : count;
}

static void print_left(struct printer *printer, size_t count, size_t shown)
{
    if (shown < count)
        fprintf(printer->out, "  %s%zu more%s\n", print_on(printer, DIM), count - shown,
                print_off(printer));
}

/* ---- summary --------------------------------------------------------------------------------- */

/* Most CPU time is in what has no score: then that comes first, and nothing is called clear. */
static double unjudged_share(const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    return share(result->few_ns + result->untimed_ns, result->cpu_ns);
}

static bool is_mostly_unjudged(const struct interference_figures *figures)
{
    return unjudged_share(figures) > 0.5;
}

/* Is it listed as not timed after all? Its executions are left out then. */
static bool is_skipped(const struct profile *profile, const struct profile_span_function *function)
{
    for (size_t i = 0; i < profile->span_skips_count; i++)
        if (strcmp(profile->span_skips[i].function, function->function) == 0)
            return true;
    return false;
}

/* Functions that were hooked and have no execution that began after that. */
static bool *find_uncalled(const struct interference_figures *figures)
{
    const struct profile *profile = figures->profile;
    bool *uncalled = calloc(profile->span_functions_count + 1, sizeof *uncalled);
    for (size_t i = 1; uncalled && i < profile->span_functions_count; i++)
        uncalled[i] = profile->span_functions[i].entry == SPANS_PATCHED &&
                      !is_skipped(profile, &profile->span_functions[i]);
    for (size_t i = 0; uncalled && i < profile->spans_count; i++)
        uncalled[profile->spans[i].function] = false;
    return uncalled;
}

static bool has_uncalled(const struct interference_figures *figures)
{
    bool *uncalled = find_uncalled(figures), some = false;
    for (size_t i = 1; uncalled && i < figures->profile->span_functions_count; i++)
        some |= uncalled[i];
    free(uncalled);
    return some;
}

static void print_uncalled(struct printer *printer, const struct interference_figures *figures)
{
    const struct profile *profile = figures->profile;
    bool *uncalled = find_uncalled(figures);
    char line[4 * TEXT_BYTES] = "Hooked, and not called since: ";
    size_t count = 0;
    for (size_t i = 1; uncalled && i < profile->span_functions_count; i++) {
        const struct profile_span_function *function = &profile->span_functions[i];
        char name[NAME_BYTES], place[TEXT_BYTES];
        if (!uncalled[i] || ++count > LISTED_MAX)
            continue;
        name_shorten(function->function, NAME, name);
        print_place(printer, function->file, function->line, place);
        print_add(line, sizeof line, "%s%s%s%s%s", count > 1 ? ", " : "", name,
                  place[0] ? " (" : "", place, place[0] ? ")" : "");
    }
    free(uncalled);
    if (count == 0)
        return;
    print_add(line, sizeof line, "%s", count > LISTED_MAX ? ", and more." : ".");
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

static void print_unjudged(struct printer *printer, const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    char line[2 * TEXT_BYTES], part[32], all[32];
    if (!is_mostly_unjudged(figures))
        return;
    bool few = result->few_ns >= result->untimed_ns || has_uncalled(figures);
    snprintf(line, sizeof line, "%.0f %% of the CPU time lies in %s: %s of %s.",
             100 * unjudged_share(figures),
             few ? "functions with too few executions to judge" : "code that was not timed",
             print_time(result->few_ns + result->untimed_ns, part),
             print_time(result->cpu_ns, all));
    fprintf(printer->out, "\n  ");
    print_wrap(printer, BOLD, 2, 2, line);
    snprintf(line, sizeof line,
             "%.0f %% in spans with fewer than %" PRIu64
             " timed executions, %.0f %% in code that was not timed, or was entered before it was "
             "hooked. Whether other threads slow it down is unknown. Functions that --functions "
             "names are timed from the start; HEADROOM_BEGIN and HEADROOM_END (headroom.h) around "
             "the body of a loop time its iterations.",
             100 * share(result->few_ns, result->cpu_ns), least_executions(figures),
             100 * share(result->untimed_ns, result->cpu_ns));
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, line);
    print_uncalled(printer, figures);
}

static void print_total(struct printer *printer, const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    char line[TEXT_BYTES], lost[32], all[32];
    size_t threads = figures->input.threads_count;
    snprintf(line, sizeof line, "%s%s lost %.1f %% of %s working time to interference: %s of %s.",
             is_mostly_unjudged(figures) ? "As far as that can be judged, " : "",
             threads == 1 ? "the thread" : "the threads",
             100 * share(result->interference_ns, result->working_ns),
             threads == 1 ? "its" : "their", print_time(result->interference_ns, lost),
             print_time(result->working_ns, all));
    line[0] = (char)toupper((unsigned char)line[0]);
    if (result->gain >= least_share)
        print_add(line, sizeof line,
                  " If every execution were as fast as the fastest, the program would take at most "
                  "%.0f %% less time.",
                  100 * result->gain);
    fprintf(printer->out, "\n  ");
    print_wrap(printer, BOLD, 2, 2, line);
}

/* What was lost to which cause, most first. */
static void print_causes(struct printer *printer, const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    bool shown[INTERFERENCE_CAUSES] = {
        [INTERFERENCE_VARYING] = true, [INTERFERENCE_WAITING] = true};
    for (;;) {
        unsigned most = INTERFERENCE_CAUSES;
        char time[32];
        for (unsigned c = 0; c < INTERFERENCE_CAUSES; c++)
            if (!shown[c] && share(result->lost_ns[c], result->working_ns) >= least_share / 2 &&
                (most == INTERFERENCE_CAUSES || result->lost_ns[c] > result->lost_ns[most]))
                most = c;
        if (most == INTERFERENCE_CAUSES)
            return;
        shown[most] = true;
        fprintf(printer->out, "  %6.1f %%  ",
                100 * share(result->lost_ns[most], result->working_ns));
        print_pad(printer, print_time(result->lost_ns[most], time), 8, true);
        fputs("  ", printer->out);
        print_wrap(printer, PLAIN, 22, 22, cause_phrases[most]);
    }
}

/* Slept in what did not end before the program did. */
static double unfinished_ns(const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    return fmax(0, result->threads_ns - result->working_ns - result->preempted_ns -
                       result->lost_ns[INTERFERENCE_WAITING]);
}

static void print_beside(struct printer *printer, const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    char line[TEXT_BYTES] = "";
    const struct {
        double ns;
        const char *words;
    } rows[] = {{result->lost_ns[INTERFERENCE_WAITING], "idle waits"},
                {result->lost_ns[INTERFERENCE_VARYING], "varying work"},
                {result->preempted_ns, "preempted"},
                {unfinished_ns(figures), "asleep until the end"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (share(rows[i].ns, result->threads_ns) >= least_share / 2)
            print_add(line, sizeof line, "%s%s %.1f %%",
                      line[0] ? ", " : "Not counted as interference: ", rows[i].words,
                      100 * share(rows[i].ns, result->threads_ns));
    if (!line[0])
        return;
    print_add(line, sizeof line, " of the threads' time.");
    fprintf(printer->out, "  ");
    print_wrap(printer, DIM, 2, 2, line);
    if (share(result->preempted_ns, result->threads_ns) < 0.05)
        return;
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2,
               "More threads were ready than there are processors, so even the fastest executions "
               "may have been disturbed: run at most one thread per processor.");
}

static size_t findings_shown(const struct printer *printer,
                             const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    size_t count = result->ranked_count, limit = printer->options->limit;
    if (limit == 0)
        return count;
    count = count < limit ? count : limit;
    while (count && share(result->spans[result->ranked[count - 1]].own_ns,
                          result->spans[result->ranked[count - 1]].working_ns) < least_share)
        count--;
    return count;
}

/* What is its own, of the working time of all threads: the percentage by which it is called, in lists and above its
   figures. */
static double whole_own(const struct interference_figures *figures, uint32_t span)
{
    return share(figures->result->spans[span].own_ns, figures->result->working_ns);
}

/* Of the JSON report's lists: "blocks", which has varying work and sequences behind the ranked ones,
   "idle", "unscored". */
static void link_to(struct printer *printer, const char *list, size_t index)
{
    print_link(printer, "view=blocks&kind=%s&block=%zu", list, index);
}

static void end_link(struct printer *printer)
{
    fputs(print_link_off(printer), printer->out);
    print_link_clear(printer);
}

static void span_title(const struct interference_figures *figures, uint32_t span, unsigned columns,
                       char out[TEXT_BYTES])
{
    char name[SPAN_NAME_BYTES], key[96];
    interference_name(figures, span, columns, name);
    interference_key(figures, span, key);
    snprintf(out, TEXT_BYTES, "%s%s%s", name, key[0] ? ", " : "", key);
}

/* The innermost frame outside of the span. */
static void caller_of(const struct printer *printer, const struct interference_figures *figures,
                      uint32_t span, char out[TEXT_BYTES])
{
    const struct profile *profile = printer->profile;
    const struct interference_rows *rows = &figures->rows[span];
    char name[NAME_BYTES], place[TEXT_BYTES];
    const struct profile_span_function *function =
        &profile->span_functions[figures->spans[span].function];
    out[0] = 0;
    if (function->entry == SPANS_LOOP && !(figures->spans[span].flags & SPANS_SEQUENCE)) {
        print_place(printer, function->file, function->line, place);
        if (place[0])
            print_add(out, TEXT_BYTES, "(%s)", place);
        return;
    }
    if (rows->stacks == rows->stacks_end || !profile->span_stacks[rows->stacks].context)
        return;
    const struct profile_frame *frame =
        &profile->frames[profile->contexts[profile->span_stacks[rows->stacks].context].frame];
    print_function(printer, frame, name);
    print_place(printer, frame->file, frame->line, place);
    print_add(out, TEXT_BYTES, "in %s", name);
    if (place[0])
        print_add(out, TEXT_BYTES, " (%s)", place);
}

static void print_top(struct printer *printer, const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    size_t shown = findings_shown(printer, figures);
    if (shown)
        putc('\n', printer->out);
    for (size_t i = 0; i < shown && i < SUMMARY_MAX; i++) {
        uint32_t span = result->ranked[i];
        const struct interference_score *score = &result->spans[span];
        char title[TEXT_BYTES], caller[TEXT_BYTES], line[3 * TEXT_BYTES];
        span_title(figures, span, NAME, title);
        caller_of(printer, figures, span, caller);
        snprintf(line, sizeof line, "%s%s%s — %s", title, caller[0] ? " " : "", caller,
                 interference_cause_words[score->cause]);
        link_to(printer, "blocks", i);
        fprintf(printer->out, "  %s#%zu %5.1f %%  ", print_link_on(printer), i + 1,
                100 * share(score->own_ns, result->working_ns));
        print_wrap(printer, PLAIN, 14, 14, line);
        end_link(printer);
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

static int compare_threads(const void *left, const void *right, void *context)
{
    const struct interference_result *result = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double x = result->threads[a].interference_ns, y = result->threads[b].interference_ns;
    if (x != y)
        return x > y ? -1 : 1;
    return (a > b) - (a < b);
}

static void thread_name(const struct profile_span_thread *thread, char out[64])
{
    char name[32] = "";
    out[0] = 0;
    if (thread->owners > 1) {
        snprintf(out, 64, "%" PRIu32 " threads in turn", thread->owners);
        return;
    }
    if (thread->name)
        name_clean(thread->name, name, sizeof name);
    if (thread->tid)
        snprintf(out, 64, "%s%s%" PRIu32, name, name[0] ? " " : "", thread->tid);
    else
        snprintf(out, 64, "%s", name);
}

static void print_thread(struct printer *printer, const struct interference_figures *figures,
                         uint32_t index)
{
    const struct profile_span_thread *thread = &printer->profile->span_threads[index];
    const struct interference_thread_score *score = &figures->result->threads[index];
    char name[64], number[32], cells[4][32];
    const struct {
        double part, whole;
        unsigned columns;
    } shares[] = {{score->interference_ns, score->working_ns, 7},
                  {score->lost_ns[INTERFERENCE_VARYING], score->working_ns, 9},
                  {score->lost_ns[INTERFERENCE_WAITING], thread->duration_ns, 12},
                  {thread->preempted_ns, thread->duration_ns, 11}};
    double cpu_ns = figures->threads[index].cpu_ns;
    thread_name(thread, name);
    snprintf(number, sizeof number, "%" PRIu32, index + 1);
    fputs("  ", printer->out);
    print_pad(printer, number, 3, true);
    fputs("  ", printer->out);
    print_pad(printer, name, 17, false);
    print_pad(printer, print_time(thread->duration_ns, number), 8, true);
    print_pad(printer, cpu_ns > 0 ? print_time(cpu_ns, number) : "—", 9, true);
    for (size_t i = 0; i < BASE_COUNT(shares); i++)
        print_pad(printer,
                  shares[i].part > 0
                      ? print_percent(fmin(1, share(shares[i].part, shares[i].whole)), cells[i])
                      : "—",
                  shares[i].columns, true);
    putc('\n', printer->out);
}

static bool print_threads(struct printer *printer, const struct interference_figures *figures)
{
    size_t count = figures->input.threads_count;
    size_t shown = printer->options->limit && count > THREADS_MAX ? THREADS_MAX : count;
    uint32_t *order = calloc(count + 1, sizeof *order);
    if (!order)
        return false;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, compare_threads, figures->result);
    if (count > 1) {
        fprintf(printer->out, "\n  %s", print_on(printer, DIM));
        print_pad(printer, "thread", 22, false);
        fprintf(printer->out, "%8s%9s%7s%9s%12s%11s%s\n", "time", "CPU time", "lost", "varying",
                "idle waits", "preempted", print_off(printer));
        for (size_t i = 0; i < shown; i++)
            print_thread(printer, figures, order[i]);
        if (shown < count)
            fprintf(printer->out, "  %s%zu more, which lost less%s\n", print_on(printer, DIM),
                    count - shown, print_off(printer));
    }
    free(order);
    return true;
}

/* ---- a span ---------------------------------------------------------------------------------- */

/* Of a loop executions are of our making: so and so many iterations, or so much time in which it waited. */
static void print_loop(struct printer *printer, const struct interference_score *score, bool waits)
{
    char line[TEXT_BYTES], time[32];
    snprintf(line, sizeof line, "%s in %" PRIu32 " thread%s; not hooked: from samples%s",
             print_time(score->total_ns, time), score->threads, print_plural(score->threads),
             waits ? ". It waits by spinning" : " of how far it had come");
    if (!waits)
        print_add(line, sizeof line, ". Mean by the fastest millisecond: %.2f times as long",
                  score->min_ns > 0 ? score->mean_ns / score->min_ns : 1);
    print_add(line, sizeof line, ".");
    fprintf(printer->out, "%*s", INDENT, "");
    print_wrap(printer, PLAIN, INDENT, INDENT, line);
}

static void print_durations(struct printer *printer, const struct interference_score *score)
{
    char line[TEXT_BYTES], count[32], time[32];
    snprintf(line, sizeof line, "%s execution%s in %" PRIu32 " thread%s, %s in all",
             print_grouped(score->count, count), print_plural(score->count), score->threads,
             print_plural(score->threads), print_time(score->total_ns, time));
    if (score->recorded < score->count)
        print_add(line, sizeof line, " (%s of them timed)", print_grouped(score->recorded, count));
    print_add(line, sizeof line, "; fastest %s", print_time(score->min_ns, time));
    print_add(line, sizeof line, ", median %s", print_time(score->median_ns, time));
    print_add(line, sizeof line, ", 99 %% below %s", print_time(score->p99_ns, time));
    print_add(line, sizeof line, ", slowest %s", print_time(score->max_ns, time));
    fprintf(printer->out, "%*s", INDENT, "");
    print_wrap(printer, PLAIN, INDENT, INDENT, line);
}

/* One stack in thousands of executions is taken: of a few no shares are worth printing, and of those that met no slow
   execution none of the loss. */
static void describe_stack(const struct profile_span_stack *stack, uint64_t taken, double lost,
                           char remark[TEXT_BYTES])
{
    enum { SAMPLES_MIN = 10 };
    if (taken < SAMPLES_MIN)
        snprintf(remark, TEXT_BYTES, "%" PRIu64 " of %" PRIu64 " calls sampled", stack->taken,
                 taken);
    else if (lost > 0)
        snprintf(remark, TEXT_BYTES, "%.0f %% of the loss and %.0f %% of the calls sampled",
                 100 * share(stack->lost_ns, lost),
                 100 * share((double)stack->taken, (double)taken));
    else
        snprintf(remark, TEXT_BYTES, "%.0f %% of the calls sampled",
                 100 * share((double)stack->taken, (double)taken));
}

static void print_stacks(struct printer *printer, const struct interference_figures *figures,
                         uint32_t span, struct chain *chain)
{
    const struct profile *profile = printer->profile;
    const struct interference_rows *rows = &figures->rows[span];
    double lost = 0;
    uint64_t taken = 0;
    for (size_t i = rows->stacks; i < rows->stacks_end; i++) {
        lost += profile->span_stacks[i].lost_ns;
        taken += profile->span_stacks[i].taken;
    }
    for (size_t i = rows->stacks; i < rows->stacks_end && i - rows->stacks < STACKS_MAX; i++) {
        const struct profile_span_stack *stack = &profile->span_stacks[i];
        char remark[TEXT_BYTES] = "";
        if (rows->stacks_end - rows->stacks > 1)
            describe_stack(stack, taken, lost, remark);
        print_make_chain(printer, printer->places.place_of[stack->context], chain);
        print_side(printer, chain, 0, i == rows->stacks ? "called" : "and", remark);
    }
    if (rows->stacks_end - rows->stacks > STACKS_MAX)
        fprintf(printer->out, "%*s%s%zu more places%s\n", INDENT + LABEL, "",
                print_on(printer, DIM), rows->stacks_end - rows->stacks - STACKS_MAX,
                print_off(printer));
}

static void print_holders(struct printer *printer, const struct interference_figures *figures,
                          uint32_t span)
{
    const struct profile *profile = printer->profile;
    const struct interference_rows *rows = &figures->rows[span];
    double waited = 0;
    for (size_t i = rows->holders; i < rows->holders_end; i++)
        waited += profile->span_holders[i].waited_ns;
    for (size_t i = rows->holders; i < rows->holders_end && i - rows->holders < HOLDERS_MAX; i++) {
        const struct profile_span_holder *holder = &profile->span_holders[i];
        char line[2 * TEXT_BYTES], name[NAME_BYTES] = "an unknown location", place[TEXT_BYTES] = "";
        char times[32];
        if (holder->context) {
            const struct profile_frame *frame =
                &profile->frames[profile->contexts[holder->context].frame];
            print_function(printer, frame, name);
            print_place(printer, frame->file, frame->line, place);
        }
        snprintf(line, sizeof line, "%s%s%s%s, for %.0f %% of the waiting (%s time%s)", name,
                 place[0] ? " (" : "", place, place[0] ? ")" : "",
                 100 * share(holder->waited_ns, waited), print_grouped(holder->times, times),
                 print_plural(holder->times));
        print_labelled(printer, PLAIN, i == rows->holders ? "held by" : "", line);
    }
}

/* Callees' part in the words of the report, largest by the evidence's percentage. */
static void add_callees(const struct interference_figures *figures, uint32_t span, char *line,
                        size_t bytes)
{
    const struct interference_span *figure = &figures->spans[span];
    for (size_t i = 0; i < figure->children_count && i < 4; i++) {
        char name[NAME_BYTES];
        name_shorten(figures->profile->span_functions[figure->children[i].function].function, NAME,
                     name);
        print_add(line, bytes, "%s%s", i ? ", " : " It calls ", name);
    }
    if (figure->children_count)
        print_add(line, bytes, "%s", figure->children_count > 4 ? ", and more." : ".");
}

/* What is the same for many spans is printed once. */
static const char shared_id[] = "interference.shared";

static void add_sentence(struct printer *printer, size_t number, const char *sentence, char *line,
                         size_t bytes)
{
    size_t before = strcmp(sentence, interference_shared_sentence) == 0
                        ? print_given_before(printer, shared_id, number)
                        : 0;
    if (before)
        print_add(line, bytes, " As for #%zu.", before);
    else
        print_add(line, bytes, " %s", sentence);
}

static void print_cause(struct printer *printer, const struct interference_figures *figures,
                        uint32_t span, size_t number)
{
    const struct interference_score *score = &figures->result->spans[span];
    char sentences[INTERFERENCE_SENTENCES][INTERFERENCE_SENTENCE_BYTES];
    char line[INTERFERENCE_SENTENCES * INTERFERENCE_SENTENCE_BYTES + TEXT_BYTES] = "";
    size_t count = interference_evidence(figures->result, span, sentences, INTERFERENCE_SENTENCES);
    print_add(line, sizeof line, "%s.", interference_cause_words[score->cause]);
    for (size_t i = 0; i < count; i++)
        add_sentence(printer, number, sentences[i], line, sizeof line);
    if (score->cause == INTERFERENCE_NESTED)
        add_callees(figures, span, line, sizeof line);
    print_labelled(printer, PLAIN, "cause", line);
    struct advice advice = interference_advice(figures, span);
    print_given(printer, &advice, number);
}

static void print_gain(struct printer *printer, const struct interference_score *score)
{
    char line[TEXT_BYTES], time[32];
    snprintf(line, sizeof line,
             "Potential gain: if every execution were as fast as the fastest, its threads would "
             "work %s less",
             print_time(score->lost_ns, time));
    if (score->sci - score->sci_p1 > 0.01)
        print_add(line, sizeof line, " (as fast as the 1st percentile: %s)",
                  print_time(score->lost_p1_ns, time));
    print_add(line, sizeof line, ", and the program take at most %.1f %% less time",
              100 * score->gain);
    fprintf(printer->out, "%*s", INDENT, "");
    print_wrap(printer, DIM, INDENT, INDENT, line);
}

static void print_rekeyed(struct printer *printer, const struct interference_figures *figures,
                          uint32_t span)
{
    for (size_t i = 0; i < figures->rekeyed_count; i++) {
        const struct interference_rekeyed *rekeyed = &figures->rekeyed[i];
        char line[TEXT_BYTES], value[32] = "the result", time[32];
        if (rekeyed->span != span)
            continue;
        if (rekeyed->value != INTERFERENCE_RESULT)
            snprintf(value, sizeof value, "argument %" PRIu32, rekeyed->value);
        if (rekeyed->regrouped.samples == 0) {
            snprintf(line, sizeof line, "by %s: no value has enough samples", value);
            print_labelled(printer, PLAIN, "other key", line);
            continue;
        }
        snprintf(
            line, sizeof line,
            "by %s: %.1f %% of its threads' time would be lost instead of %.1f %%. From samples "
            "(%zu of %zu, %zu value%s with %d or more)",
            value, 100 * rekeyed->sci, 100 * figures->result->spans[span].sci,
            rekeyed->regrouped.samples, figures->spans[span].samples_count,
            rekeyed->regrouped.groups, print_plural(rekeyed->regrouped.groups),
            INTERFERENCE_GROUP_LEAST);
        for (size_t g = 0; g < BASE_COUNT(rekeyed->groups) && rekeyed->groups[g].samples; g++) {
            const struct interference_group *group = &rekeyed->groups[g];
            print_add(line, sizeof line, "%s", g ? ", " : "; fastest: ");
            if (rekeyed->value == INTERFERENCE_RESULT)
                print_add(line, sizeof line, "%" PRId64, (int64_t)group->value);
            else
                print_add(line, sizeof line, group->value < 65536 ? "%" PRIu64 : "0x%" PRIx64,
                          group->value);
            print_add(line, sizeof line, " %s", print_time(group->min_ns, time));
        }
        print_labelled(printer, PLAIN, "other key", line);
    }
}

static void print_span(struct printer *printer, const struct interference_figures *figures,
                       uint32_t span, size_t number, struct chain *chain)
{
    const struct interference_score *score = &figures->result->spans[span];
    const struct profile_span *row = &printer->profile->spans[span];
    const struct profile_span_function *function = &printer->profile->span_functions[row->function];
    char title[TEXT_BYTES], place[TEXT_BYTES], time[32], nested[64] = "";
    span_title(figures, span, NAME + 16, title);
    if (score->own_ns < 0.9 * score->lost_ns)
        snprintf(nested, sizeof nested, "; %s including what it calls",
                 print_time(score->lost_ns, time));
    print_place(printer, function->file, function->line, place);
    fprintf(printer->out,
            "\n  %s%s#%zu  %.1f %%%s%s of the threads' working time, %s%s\n%*s%s%s%s%s",
            print_link_on(printer), print_on(printer, BOLD), number, 100 * whole_own(figures, span),
            print_off(printer), print_link_off(printer), print_time(score->own_ns, time), nested,
            INDENT, "", print_link_on(printer), print_on(printer, BOLD), title, print_off(printer));
    print_tail(printer, PLAIN, INDENT + name_columns(title), INDENT + 2, place);
    fputs(print_link_off(printer), printer->out);
    if (function->entry == SPANS_LOOP && !(row->flags & SPANS_SEQUENCE)) {
        print_loop(printer, score, function->class == SPANS_CONDITION);
    } else {
        print_durations(printer, score);
        interference_draw(printer, &figures->spans[span], score, INDENT);
    }
    print_stacks(printer, figures, span, chain);
    print_holders(printer, figures, span);
    print_cause(printer, figures, span, number);
    print_rekeyed(printer, figures, span);
    print_gain(printer, score);
    print_link_clear(printer);
}

static double own_share(const struct interference_figures *figures, uint32_t span)
{
    const struct interference_score *score = &figures->result->spans[span];
    return share(score->own_ns, score->working_ns);
}

/* The first one is always shown whole. */
static size_t findings_whole(const struct printer *printer,
                             const struct interference_figures *figures)
{
    const uint32_t *ranked = figures->result->ranked;
    size_t shown = findings_shown(printer, figures);
    while (shown > 1 && printer->options->limit &&
           own_share(figures, ranked[shown - 1]) < whole_share)
        shown--;
    return shown;
}

static void print_small(struct printer *printer, const struct interference_figures *figures,
                        size_t from, size_t to)
{
    if (from < to)
        putc('\n', printer->out);
    for (size_t i = from; i < to; i++) {
        uint32_t span = figures->result->ranked[i];
        char title[TEXT_BYTES], caller[TEXT_BYTES], line[3 * TEXT_BYTES];
        span_title(figures, span, NAME, title);
        caller_of(printer, figures, span, caller);
        snprintf(line, sizeof line, "%s%s%s — %s", title, caller[0] ? " " : "", caller,
                 interference_cause_words[figures->result->spans[span].cause]);
        link_to(printer, "blocks", i);
        fprintf(printer->out, "  %s#%-3zu %4.1f %%  ", print_link_on(printer), i + 1,
                100 * whole_own(figures, span));
        print_wrap(printer, PLAIN, 15, 15, line);
        end_link(printer);
    }
}

static void print_rest(struct printer *printer, const struct interference_figures *figures,
                       size_t shown)
{
    const struct interference_result *result = figures->result;
    double rest = 0;
    for (size_t i = shown; i < result->ranked_count; i++)
        rest += result->spans[result->ranked[i]].own_ns;
    fprintf(printer->out, "\n  %s%zu more, together %.1f %% of the threads' working time%s\n",
            print_on(printer, DIM), result->ranked_count - shown,
            100 * share(rest, result->working_ns), print_off(printer));
    printer->next.cut = true;
}

static bool print_findings(struct printer *printer, const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    size_t shown = findings_shown(printer, figures), whole = findings_whole(printer, figures);
    struct chain *chain = malloc(sizeof *chain);
    if (!chain)
        return false;
    print_heading(printer, "Spans that lose time");
    printer->given_count = 0;
    if (shown == 0 && is_mostly_unjudged(figures))
        fprintf(printer->out, "\n  None that could be judged.\n");
    else if (shown == 0)
        fprintf(printer->out, "\n  None lost as much as %.1f %% of its threads' time.\n",
                100 * least_share);
    for (size_t i = 0; i < whole; i++) {
        link_to(printer, "blocks", i);
        print_span(printer, figures, result->ranked[i], i + 1, chain);
    }
    free(chain);
    print_small(printer, figures, whole, shown);
    if (shown && shown < result->ranked_count)
        print_rest(printer, figures, shown);
    return true;
}

/* What lies between the spans of a sequence, or goes with their being in it. */
static bool print_sequences(struct printer *printer, const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    size_t count = result->sequences_count, shown;
    struct chain *chain = malloc(sizeof *chain);
    if (!chain)
        return false;
    while (count && printer->options->limit &&
           own_share(figures, result->sequences[count - 1]) < sequence_share)
        count--;
    shown = printer->options->limit && count > SEQUENCES_MAX ? SEQUENCES_MAX : count;
    if (shown)
        print_heading(printer, "Sequences that lose more than their spans do");
    for (size_t i = 0; i < shown; i++) {
        link_to(printer, "blocks", result->ranked_count + result->varying_count + i);
        print_span(printer, figures, result->sequences[i], i + 1, chain);
    }
    free(chain);
    if (shown)
        print_left(printer, count, shown);
    return true;
}

/* ---- what is no interference ----------------------------------------------------------------- */

static void print_row(struct printer *printer, const struct interference_figures *figures,
                      uint32_t span, double part, const char *remark)
{
    char title[TEXT_BYTES], line[3 * TEXT_BYTES], count[32];
    const struct interference_score *score = &figures->result->spans[span];
    span_title(figures, span, NAME, title);
    snprintf(line, sizeof line, "%s: %s execution%s%s%s", title, print_grouped(score->count, count),
             print_plural(score->count), remark[0] ? ", " : "", remark);
    fprintf(printer->out, "  %s%5.1f %%  ", print_link_on(printer), 100 * fmin(1, part));
    print_wrap(printer, PLAIN, 11, 11, line);
    end_link(printer);
}

static void print_varying(struct printer *printer, const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    size_t shown = listed(printer, result->varying_count);
    if (shown == 0)
        return;
    print_heading(printer, "Varying work: slower where there was more to do");
    for (size_t i = 0; i < shown; i++) {
        uint32_t span = result->varying[i];
        char sentence[1][INTERFERENCE_SENTENCE_BYTES] = {""};
        interference_evidence(result, span, sentence, 1);
        sentence[0][0] = (char)tolower((unsigned char)sentence[0][0]);
        link_to(printer, "blocks", result->ranked_count + i);
        print_row(printer, figures, span, share(result->spans[span].lost_ns, result->working_ns),
                  sentence[0]);
        print_rekeyed(printer, figures, span);
    }
    print_left(printer, result->varying_count, shown);
}

/* Of the time of all threads, so that no list of such shares adds up to more than all of it. */
static double total_share(const struct interference_figures *figures, uint32_t span)
{
    return share(figures->result->spans[span].total_ns, figures->result->threads_ns);
}

static double self_share(const struct interference_figures *figures, uint32_t span)
{
    return share(figures->result->spans[span].self_ns, figures->result->working_ns);
}

/* Of a list by total time, those that took some of it. */
static size_t worth_listing(const struct printer *printer,
                            const struct interference_figures *figures, const uint32_t *spans,
                            size_t count, double least,
                            double (*part)(const struct interference_figures *, uint32_t))
{
    while (count && printer->options->limit && part(figures, spans[count - 1]) < least)
        count--;
    return count;
}

static void print_idle(struct printer *printer, const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    size_t count =
        worth_listing(printer, figures, result->idle, result->idle_count, least_share, total_share);
    size_t shown = listed(printer, count);
    if (shown == 0)
        return;
    print_heading(printer, "Idle waits: waiting for something to happen, not interference");
    for (size_t i = 0; i < shown; i++) {
        char caller[TEXT_BYTES];
        caller_of(printer, figures, result->idle[i], caller);
        link_to(printer, "idle", i);
        print_row(printer, figures, result->idle[i], total_share(figures, result->idle[i]), caller);
    }
    print_left(printer, count, shown);
}

/* Rare spans that hardly took any time hide nothing. */
static void print_few(struct printer *printer, const struct interference_figures *figures)
{
    const struct interference_result *result = figures->result;
    size_t count = worth_listing(printer, figures, result->few, result->few_count, 10 * least_share,
                                 self_share);
    size_t shown = listed(printer, count);
    char line[TEXT_BYTES];
    if (shown == 0)
        return;
    print_heading(printer, "Too few executions for a score");
    snprintf(line, sizeof line,
             "With fewer than %" PRIu64
             " even the fastest may have been disturbed. The shares are of "
             "the threads' working time, without spans that they call; whether it was lost is "
             "unknown.",
             least_executions(figures));
    fprintf(printer->out, "  ");
    print_wrap(printer, DIM, 2, 2, line);
    for (size_t i = 0; i < shown; i++) {
        link_to(printer, "unscored", i);
        print_row(printer, figures, result->few[i], self_share(figures, result->few[i]), "");
    }
    print_left(printer, result->few_count, shown);
}

/* ---- what was not seen ----------------------------------------------------------------------- */

static void print_skips(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    size_t shown = listed(printer, profile->span_skips_count);
    if (shown == 0)
        return;
    print_heading(printer, "Not hooked");
    for (size_t i = 0; i < shown; i++) {
        const struct profile_span_skip *skip = &profile->span_skips[i];
        char line[TEXT_BYTES], name[NAME_BYTES], module[64] = "", why[256];
        name_shorten(skip->function, NAME, name);
        name_clean(skip->why, why, sizeof why);
        if (skip->module)
            name_clean(name_base(skip->module), module, sizeof module);
        snprintf(line, sizeof line, "%s%s%s%s%s", name, module[0] ? " in " : "", module,
                 name[0] || module[0] ? ": " : "", why);
        fprintf(printer->out, "  - ");
        print_wrap(printer, PLAIN, 4, 4, line);
    }
    print_left(printer, profile->span_skips_count, shown);
}

static void print_cost(struct printer *printer, const struct interference_figures *figures)
{
    const struct profile *profile = printer->profile;
    char line[TEXT_BYTES], events[32], skipped[32], each[32];
    double part = share(figures->cost_ns, figures->result->threads_ns);
    if (figures->events == 0)
        return;
    print_heading(printer, "Cost of recording");
    snprintf(line, sizeof line,
             "About %.1f %% of the threads' time, for %s timed executions (%s each).", 100 * part,
             print_grouped(figures->events, events),
             print_time(share(figures->cost_ns, (double)figures->events), each));
    if (figures->skipped)
        print_add(line, sizeof line, " %s executions were not timed%s",
                  print_grouped(figures->skipped, skipped), figures->highest_every > 1 ? "" : ".");
    if (figures->skipped && figures->highest_every > 1)
        print_add(line, sizeof line, ": threads timed at least one in %" PRIu64 ".",
                  figures->highest_every);
    if (figures->unhooked)
        print_add(line, sizeof line, " %s were not seen: table full.",
                  print_grouped(figures->unhooked, skipped));
    if (figures->switches_lost)
        print_add(line, sizeof line, " %s context switches were overwritten before they were read.",
                  print_grouped(figures->switches_lost, skipped));
    if (part > 0.1 && profile->span_runs_count && !profile->span_runs[0].automatic)
        print_add(line, sizeof line, " --every 16 would cost less.");
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

/* A --key that says nothing about what was recorded is a typing error, mostly. */
static void print_keys(struct printer *printer, const struct interference_figures *figures)
{
    for (size_t k = 0; k < printer->options->keys_count; k++) {
        char line[TEXT_BYTES], clean[256];
        bool used = false;
        for (size_t i = 0; i < figures->rekeyed_count && !used; i++) {
            uint32_t value, function = printer->profile->spans[figures->rekeyed[i].span].function;
            used = interference_key_matches(printer->options->keys[k],
                                            printer->profile->span_functions[function].function,
                                            &value) &&
                   value == figures->rekeyed[i].value;
        }
        if (used)
            continue;
        name_clean(printer->options->keys[k], clean, sizeof clean);
        snprintf(line, sizeof line,
                 "No span with a score has the key '%s': a key is FUNCTION:N, where N is 0, 1, 2 "
                 "or result, and FUNCTION a name as shown here.",
                 clean);
        fprintf(printer->out, "\n  ");
        print_wrap(printer, PLAIN, 2, 2, line);
    }
}

static bool print_all(struct printer *printer, void *state)
{
    struct interference_figures figures;
    (void)state;
    if (!interference_is_in(printer->profile))
        return true;
    bool good = interference_figures(printer->profile, printer->options, &figures);
    if (good) {
        print_unjudged(printer, &figures);
        print_total(printer, &figures);
        print_causes(printer, &figures);
        print_beside(printer, &figures);
        print_top(printer, &figures);
        good = print_threads(printer, &figures);
    }
    if (good) {
        print_keys(printer, &figures);
        good = print_findings(printer, &figures) && print_sequences(printer, &figures);
    }
    if (good) {
        print_varying(printer, &figures);
        print_idle(printer, &figures);
        print_few(printer, &figures);
        print_skips(printer);
        print_cost(printer, &figures);
    }
    interference_figures_free(&figures);
    return good;
}

/* ---- the slots ------------------------------------------------------------------------------- */

static void narrow(struct printer *printer, const void *state)
{
    (void)state;
    const struct profile *profile = printer->profile;
    for (size_t i = 0; i < profile->span_stacks_count; i++)
        print_narrow(printer, printer->places.place_of[profile->span_stacks[i].context]);
    for (size_t i = 0; i < profile->span_holders_count; i++)
        print_narrow(printer, printer->places.place_of[profile->span_holders[i].context]);
    for (size_t i = 1; i < profile->span_functions_count; i++)
        print_narrow_file(printer, profile->span_functions[i].file);
}

static bool describe(const struct printer *printer, char *line, size_t bytes)
{
    const struct profile *profile = printer->profile;
    uint64_t program = 0, library = 0, loops = 0, spans = profile->spans_count;
    for (size_t i = 1; i < profile->span_functions_count; i++)
        *(profile->span_functions[i].entry == SPANS_IMPORT ? &library
          : profile->span_functions[i].entry == SPANS_LOOP ? &loops
                                                           : &program) += 1;
    snprintf(line, bytes,
             "engine %s, executions of %" PRIu64 " function%s of the program and %" PRIu64
             " of libraries were timed: %" PRIu64 " span%s",
             profile->run.engine, program, print_plural(program), library, spans,
             print_plural(spans));
    if (loops)
        print_add(line, bytes, "; %" PRIu64 " loop%s", loops, print_plural(loops));
    return true;
}

const struct analysis_text interference_text = {
    .narrow = narrow,
    .describe = describe,
    .findings = print_all,
};
