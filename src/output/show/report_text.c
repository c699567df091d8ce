// SPDX-License-Identifier: MIT
/*
 * The report for people: what was run, what the verbs found in it, what limits the result, what
 * next.
 *
 * Everything printed from the profile goes through name_clean or name_shorten.
 */
#include "analysis/analysis.h"
#include "show/coverage.h"
#include "show/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- head ------------------------------------------------------------------------------------ */

static void print_command(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    char line[TEXT_BYTES * 2] = "", word[TEXT_BYTES], verb[64];
    for (size_t i = 0; i < profile->arguments_count && strlen(line) < TEXT_BYTES; i++) {
        name_clean(profile->arguments[i].text, word, sizeof word);
        print_add(line, sizeof line, strpbrk(word, " '\"$") || !word[0] ? "%s'%s'" : "%s%s",
                  i ? " " : "", word);
    }
    name_clean(profile->run.verb, verb, sizeof verb);
    line[name_fitting(line, 2 * printer->width)] = 0;
    char clean[sizeof line];
    name_clean(line, clean, sizeof clean);
    fprintf(printer->out, "%sheadroom %s%s%s", print_on(printer, STRONG), verb, print_off(printer),
            clean[0] ? "  " : "");
    print_wrap(printer, BOLD, 11 + name_columns(verb), 4, clean);
}

static void print_rate(const struct profile_run *run, char *line, size_t bytes)
{
    char digits[32];
    if (run->adaptive)
        print_add(line, bytes, ", adaptive rate");
    else if (run->interval_ns)
        print_add(line, bytes, ", %.0f samples per thread and second of CPU time",
                  1e9 / (double)run->interval_ns);
    else if (run->period)
        print_add(line, bytes, ", a sample every %s accesses", print_grouped(run->period, digits));
}

static void describe_sampling(const struct profile_run *run, char *line, size_t bytes)
{
    snprintf(line, bytes, "engine %s, source %s", run->engine, run->source ? run->source : "none");
    print_rate(run, line, bytes);
    print_add(line, bytes, ", weighted by %s",
              strcmp(run->weighting, "cpu-time") == 0 ? "CPU time" : run->weighting);
}

static void describe_exact(const struct printer *printer, char *line, size_t bytes)
{
    const struct analysis *recorded = analysis_find(printer->profile->run.verb);
    struct profile_exact total = profile_exact_total(printer->profile);
    char loads[32], stores[32], load_bytes[32], store_bytes[32];
    const char *unit = recorded ? recorded->exact_unit : "access";
    if (printer->profile->waste_samples_count)
        snprintf(line, bytes, "engine exact, at %.3g %% of all locations; about",
                 100 * printer->profile->waste_samples[0].share);
    else if (printer->profile->run.unseen_accesses)
        snprintf(line, bytes, "engine exact, not every %s was seen", unit);
    else
        snprintf(line, bytes, "engine exact, every %s was seen", unit);
    if ((total.loads || total.stores) && (total.load_bytes || total.store_bytes))
        print_add(line, bytes, "%s %s load%s (%s) and %s store%s (%s)",
                  printer->profile->waste_samples_count ? "" : ":",
                  print_grouped(total.loads, loads), print_plural(total.loads),
                  print_bytes((double)total.load_bytes, load_bytes),
                  print_grouped(total.stores, stores), print_plural(total.stores),
                  print_bytes((double)total.store_bytes, store_bytes));
}

static void describe(const struct printer *printer, char *line, size_t bytes)
{
    const struct analysis *recorded = analysis_find(printer->profile->run.verb);
    if (recorded && recorded->text->describe && recorded->text->describe(printer, line, bytes))
        return;
    if (printer->places.exact)
        describe_exact(printer, line, bytes);
    else
        describe_sampling(&printer->profile->run, line, bytes);
}

/* How many from that one on were recorded into one profile, one after the other. */
static size_t count_runs(const struct profile *profile, size_t first)
{
    const struct profile_merged *merged = profile->merged;
    size_t end = first + 1;
    while (end < profile->merged_count && strcmp(merged[end].file, merged[first].file) == 0 &&
           profile_same_text(merged[end].host, merged[first].host))
        end++;
    return end - first;
}

/* Were all recorded into one and the same profile, run after run? */
static bool is_repeated(const struct profile *profile)
{
    return profile->merged_count > 1 && count_runs(profile, 0) == profile->merged_count;
}

static void print_run(struct printer *printer)
{
    const struct profile_run *run = &printer->profile->run;
    char line[TEXT_BYTES] = "", clean[TEXT_BYTES];
    if (run->wall_s >= 0 && !is_repeated(printer->profile))
        print_add(line, sizeof line, "%.2f s, ", run->wall_s);
    if (run->cpu_s >= 0)
        print_add(line, sizeof line, "%.2f s of CPU time, ", run->cpu_s);
    print_add(line, sizeof line, "%" PRIu64 " process%s, %" PRIu64 " thread%s", run->processes,
              run->processes == 1 ? "" : "es", run->threads, print_plural(run->threads));
    if (run->exit_signal > 0)
        print_add(line, sizeof line, ", killed by signal %" PRId64, run->exit_signal);
    else if (run->exit_code > 0)
        print_add(line, sizeof line, ", exit status %" PRId64, run->exit_code);
    if (strcmp(run->engine, "static") != 0) { /* else nothing ran */
        fputs("  ", printer->out);
        print_wrap(printer, PLAIN, 2, 2, line);
    }
    fputs("  ", printer->out);
    describe(printer, line, sizeof line);
    name_clean(line, clean, sizeof clean);
    print_wrap(printer, DIM, 2, 2, clean);
    coverage_print(printer);
    coverage_print_unoptimized(printer);
}

enum { MERGED_SHOWN = 8 };

/* Which recordings went into a merged profile: file names, hosts where there are several. */
static void print_merged(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    char line[TEXT_BYTES * 2] = "", word[TEXT_BYTES];
    if (profile->merged_count == 0)
        return;
    if (is_repeated(profile)) {
        fprintf(printer->out, "  %s%zu runs, added up; the longest took %.2f s%s\n",
                print_on(printer, DIM), profile->merged_count, profile->run.wall_s,
                print_off(printer));
        return;
    }
    print_add(line, sizeof line, "merged from %zu profile%s: ", profile->merged_count,
              print_plural(profile->merged_count));
    size_t at = 0;
    for (size_t shown = 0, runs; at < profile->merged_count && shown < MERGED_SHOWN; shown++) {
        const struct profile_merged *merged = &profile->merged[at];
        runs = count_runs(profile, at);
        name_clean(merged->file, word, sizeof word);
        print_add(line, sizeof line, "%s%.160s", at ? ", " : "", word);
        if (runs > 1)
            print_add(line, sizeof line, " (%zu runs)", runs);
        at += runs;
        if (!profile->run.host && merged->host) {
            name_clean(merged->host, word, sizeof word);
            print_add(line, sizeof line, " of %.60s", word);
        }
    }
    if (at < profile->merged_count)
        print_add(line, sizeof line, " and %zu more", profile->merged_count - at);
    fputs("  ", printer->out);
    name_clean(line, word, sizeof word);
    print_wrap(printer, DIM, 2, 2, word);
}

/* ---- what the verbs found -------------------------------------------------------------------- */

/* A verb's part of the report. */
struct part {
    const struct analysis_text *text;
    void *state;
};

static void end_parts(struct part *parts)
{
    for (struct part *part = parts; part->text; part++)
        if (part->state)
            part->text->end(part->state);
    free(parts);
}

/* One a verb; text NULL ends. NULL: no memory. */
static struct part *begin_parts(const struct printer *printer)
{
    size_t count = 0, made = 0;
    while (analyses[count])
        count++;
    struct part *parts = calloc(count + 1, sizeof *parts);
    for (size_t i = 0; parts && i < count; i++) {
        struct part part = {.text = analyses[i]->text};
        if (part.text->begin && !part.text->begin(printer, &part.state)) {
            end_parts(parts);
            return NULL;
        }
        parts[made++] = part;
    }
    return parts;
}

/* The directory that the program's own files share, as far as they are shown. */
static void find_prefix(struct printer *printer, const struct part *parts)
{
    for (; parts->text; parts++)
        if (parts->text->narrow)
            parts->text->narrow(printer, parts->state);
    if (strcmp(printer->prefix, "/") == 0)
        printer->prefix[0] = 0;
}

static void print_summary(struct printer *printer, const struct part *parts)
{
    for (; parts->text; parts++)
        if (parts->text->summary)
            parts->text->summary(printer, parts->state);
    if (printer->prefix[0]) {
        char clean[TEXT_BYTES];
        name_clean(printer->prefix, clean, sizeof clean);
        fprintf(printer->out, "\n  %sfiles are under %s%s\n", print_on(printer, DIM), clean,
                print_off(printer));
    }
}

/* The part that stands for all findings; NULL: each has its own. */
static const struct analysis_text *find_lead(const struct printer *printer)
{
    const struct analysis *lead = analysis_lead(printer->profile->run.verb);
    return lead && !printer->options->kinds ? lead->text : NULL;
}

/* False: no memory. */
static bool print_findings(struct printer *printer, const struct part *parts)
{
    const struct analysis_text *lead = find_lead(printer);
    for (const struct part *part = parts; part->text; part++)
        if (part->text->findings && (!lead || part->text == lead) &&
            !part->text->findings(printer, part->state))
            return false;
    for (const struct part *part = parts; part->text && lead; part++)
        if (part->text->beside && part->text != lead && !part->text->findings(printer, part->state))
            return false;
    return true;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void print_dropped(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    char attempted[32], stored[32], count[32], line[TEXT_BYTES * 4] = "", meaning[TEXT_BYTES];
    if (profile->run.attempted == 0)
        return;
    snprintf(line, sizeof line, "Of %s attempted samples, %s were taken (%.0f %%)",
             print_grouped(profile->run.attempted, attempted),
             print_grouped(profile->run.stored, stored),
             100.0 * (double)profile->run.stored / (double)profile->run.attempted);
    for (size_t i = 0; i < profile->drops_count; i++) {
        name_clean(profile->drops[i].meaning, meaning, 120);
        print_add(line, sizeof line, "%s%s × %s",
                  i ? ", " : "; dropped: ", print_grouped(profile->drops[i].count, count), meaning);
    }
    print_add(line, sizeof line, ".");
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

static bool has_limits(const struct printer *printer, const struct part *parts)
{
    const struct analysis *recorded = analysis_find(printer->profile->run.verb);
    bool sampled = !printer->places.exact && (!recorded || recorded->samples);
    bool limited = (sampled && printer->profile->run.attempted) || printer->profile->degraded_count;
    for (; parts->text && !limited; parts++)
        limited = parts->text->is_limited && parts->text->is_limited(printer, parts->state);
    return limited;
}

static void print_limits(struct printer *printer, const struct part *parts)
{
    if (!has_limits(printer, parts))
        return;
    fprintf(printer->out, "\n%sLimits of this recording%s\n", print_on(printer, STRONG),
            print_off(printer));
    print_dropped(printer);
    for (; parts->text; parts++)
        if (parts->text->limits)
            parts->text->limits(printer, parts->state);
    print_degraded(printer, printer->profile, "");
}

/* ---- what next ------------------------------------------------------------------------------- */

static void print_command_line(struct printer *printer, const char *command)
{
    fprintf(printer->out, "  %s%s%s\n", print_on(printer, BOLD), command, print_off(printer));
}

/* The command recorded with that verb; options begin with a blank. */
static void suggest_recording(struct printer *printer, const char *verb, const char *options)
{
    const struct profile *profile = printer->profile;
    char line[TEXT_BYTES], word[256];
    snprintf(line, sizeof line, "headroom %s%s --", verb, options);
    for (size_t i = 0; i < profile->arguments_count && strlen(line) < 300; i++) {
        print_quote(profile->arguments[i].text, word, sizeof word);
        print_add(line, sizeof line, " %s", word);
    }
    print_command_line(printer, line);
}

enum { RATE_MOST = 1000 }; /* that --rate takes */

/* When verdicts were too few: a denser recording, or, at the highest rate already, all accesses. */
static void suggest_more_samples(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    const struct analysis *recorded = analysis_find(profile->run.verb);
    char how[64];
    double rate = profile->run.interval_ns ? 1e9 / (double)profile->run.interval_ns : 0;
    bool exact = printer->places.exact;
    if ((exact && !printer->next.every) || !recorded || !recorded->samples ||
        profile->arguments_count == 0)
        return;
    snprintf(how, sizeof how, " %s", printer->next.every ? printer->next.every : "--exact");
    if (!exact && printer->next.instead)
        snprintf(how, sizeof how, " %s", printer->next.instead);
    else if (!exact && rate > 0 && ceil(rate) < RATE_MOST)
        snprintf(how, sizeof how, " --rate %.0f",
                 profile->run.adaptive ? RATE_MOST : fmin(RATE_MOST, ceil(rate * 5)));
    else if (recorded->leads) /* no engine sees all of what several verbs ask */
        return;
    suggest_recording(printer, printer->next.verb ? printer->next.verb : recorded->name, how);
}

static void print_next(struct printer *printer)
{
    const struct report_next *next = &printer->next;
    char path[TEXT_BYTES], line[TEXT_BYTES * 2];
    bool again = next->too_few || next->instead || (printer->places.exact && next->every);
    bool also = next->also && printer->profile->arguments_count;
    if (!again && !also && !printer->options->profile_path)
        return;
    fprintf(printer->out, "\n%sNext%s\n", print_on(printer, STRONG), print_off(printer));
    if (again)
        suggest_more_samples(printer);
    if (also)
        suggest_recording(printer, next->also, "");
    if (!printer->options->profile_path)
        return;
    print_quote(printer->options->profile_path, path, sizeof path);
    if (next->kinds || next->cut) {
        snprintf(line, sizeof line, "headroom report%s%s --limit 0 %s",
                 next->kinds ? " --kinds " : "", next->kinds ? next->kinds : "", path);
        print_command_line(printer, line);
    }
    snprintf(line, sizeof line, "headroom view %s", path);
    print_command_line(printer, line);
    snprintf(line, sizeof line, "headroom report --format json %s", path);
    print_command_line(printer, line);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* False: no memory. */
static bool print_report(struct printer *printer)
{
    struct part *parts = begin_parts(printer);
    if (!parts)
        return false;
    find_prefix(printer, parts);
    print_command(printer);
    print_run(printer);
    print_merged(printer);
    print_summary(printer, parts);
    bool good = print_findings(printer, parts);
    print_limits(printer, parts);
    print_next(printer);
    end_parts(parts);
    return good;
}

static enum base_status write_text(struct profile *profile, const struct report_options *options,
                                   FILE *out)
{
    struct printer printer = {
        .out = out,
        .profile = profile,
        .options = options,
        .width = print_width(options->width),
        .sources = {.enabled = options->sources, .not_newer_than_ns = profile->run.start_ns}};
    enum base_status status = places_make(profile, true, &printer.places);
    if (status != BASE_OK)
        return status;
    bool good = print_report(&printer);
    source_free(&printer.sources);
    places_free(&printer.places);
    if (!good)
        return BASE_NO_MEMORY;
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}

struct job {
    struct profile *profile;
    const struct report_options *options;
};

static enum base_status write_job(const void *context, FILE *out)
{
    const struct job *job = context;
    return write_text(job->profile, job->options, out);
}

enum base_status report_text(struct profile *profile, const struct report_options *options,
                             FILE *out)
{
    struct job job = {profile, options};
    return ascii_wrap(options->ascii, write_job, &job, out);
}
