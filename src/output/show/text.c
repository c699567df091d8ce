// SPDX-License-Identifier: MIT
/*
 * The report for people: what was run, how much was wasted, the findings with
 * both contexts, what they usually mean, and what limits the result.
 *
 * Everything printed from the profile goes through name_clean or name_shorten.
 */
#include "show/interference.h"
#include "show/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW_TRAPS = 5, /* of a pair: said, because its share may be luck */
};

/* An exact finding below that is right, and still not worth anybody's time. */
static const double least_share = 0.005;

struct words {
    const char *heading; /* "Dead stores"            */
    const char *rows;    /* "dead stores"            */
    const char *meaning; /* what was wasted          */
    const char *wasted;  /* "dead bytes"             */
    const char *first, *second;
};

static const struct words kind_words[PROFILE_KINDS] = {
    [PROFILE_DEAD] = {"Dead stores", "dead stores", "of the bytes stored were overwritten unread",
                      "dead bytes", "stored", "overwritten"},
    [PROFILE_SILENT] = {"Stores of an unchanged value (silent)", "silent stores",
                        "of the bytes stored", "silent bytes", "stored", "stored again"},
    [PROFILE_LOAD] = {"Redundant loads", "redundant loads",
                      "of the bytes loaded were loaded before, unchanged", "redundant bytes",
                      "loaded", "loaded again"},
};

/* A finding that rests on a single verdict may be luck: at the end of the list, it is left out. */
static bool worth_showing(const struct printer *printer, const struct rank_pair *pair)
{
    return printer->ranking.exact ? pair->share.share >= least_share : pair->waste_traps >= 2;
}

static size_t pairs_shown(const struct printer *printer, const struct rank_kind *kind)
{
    size_t shown = kind->pairs_count;
    if (printer->options->limit == 0)
        return shown;
    if (shown > printer->options->limit)
        shown = printer->options->limit;
    while (shown && !worth_showing(printer, &kind->pairs[shown - 1]))
        shown--;
    return shown;
}

/* The directory that the program's own files share, as far as they are shown. */
static void find_prefix(struct printer *printer)
{
    for (size_t k = 0; k < printer->ranking.kinds_count; k++) {
        const struct rank_kind *kind = &printer->ranking.kinds[k];
        for (size_t i = 0; i < pairs_shown(printer, kind); i++) {
            print_narrow(printer, kind->pairs[i].first_place);
            print_narrow(printer, kind->pairs[i].second_place);
        }
    }
    print_reuse_narrow(printer);
    paths_narrow(printer);
    interference_narrow(printer);
    if (strcmp(printer->prefix, "/") == 0)
        printer->prefix[0] = 0;
}

static bool is_paths(const struct printer *printer)
{
    return strcmp(printer->profile->run.verb, "paths") == 0;
}

static bool is_interference(const struct printer *printer)
{
    return strcmp(printer->profile->run.verb, "interference") == 0;
}

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
    fprintf(printer->out, "%sheadroom %s%s  ", print_on(printer, STRONG), verb, print_off(printer));
    if (name_columns(line) > 2 * printer->width)
        line[2 * printer->width] = 0;
    char clean[sizeof line];
    name_clean(line, clean, sizeof clean);
    print_wrap(printer, BOLD, 17, 4, clean);
}

static void print_rate(const struct profile_run *run, char *line, size_t bytes)
{
    char digits[32];
    if (run->interval_ns)
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

static void describe_built(const struct printer *printer, char *line, size_t bytes)
{
    const struct profile_path_run *run =
        printer->profile->path_runs_count ? &printer->profile->path_runs[0] : NULL;
    snprintf(line, bytes, "engine built, every execution of instrumented code was counted");
    if (run && run->cycles_per_read > 0)
        print_add(line, bytes,
                  "; cycles were sampled on about one path in 64, less the %.0f that reading the "
                  "counter costs",
                  run->cycles_per_read);
    if (run && run->event)
        print_add(line, bytes, "; events were sampled on about one path in 64");
}

static void describe_blocks(const struct printer *printer, char *line, size_t bytes)
{
    const struct profile *profile = printer->profile;
    uint64_t program = 0, library = 0, blocks = profile->timed_blocks_count;
    for (size_t i = 1; i < profile->block_functions_count; i++)
        *(profile->block_functions[i].entry == SPANS_IMPORT ? &library : &program) += 1;
    snprintf(line, bytes,
             "engine %s, executions of %" PRIu64 " function%s of the program and %" PRIu64
             " of libraries were timed: %" PRIu64 " block%s",
             profile->run.engine, program, print_plural(program), library, blocks,
             print_plural(blocks));
}

static void describe_exact(const struct printer *printer, char *line, size_t bytes)
{
    struct profile_exact total = profile_exact_total(printer->profile);
    char loads[32], stores[32], load_bytes[32], store_bytes[32];
    snprintf(line, bytes, "engine exact, every %s was seen",
             is_paths(printer) ? "instruction" : "access");
    if ((total.loads || total.stores) && (total.load_bytes || total.store_bytes))
        print_add(line, bytes, ": %s load%s (%s) and %s store%s (%s)",
                  print_grouped(total.loads, loads), print_plural(total.loads),
                  print_bytes((double)total.load_bytes, load_bytes),
                  print_grouped(total.stores, stores), print_plural(total.stores),
                  print_bytes((double)total.store_bytes, store_bytes));
}

static void print_run(struct printer *printer)
{
    const struct profile_run *run = &printer->profile->run;
    char line[TEXT_BYTES] = "  ", clean[TEXT_BYTES];
    if (run->wall_s >= 0)
        print_add(line, sizeof line, "%.2f s, ", run->wall_s);
    if (run->cpu_s >= 0)
        print_add(line, sizeof line, "%.2f s of CPU time, ", run->cpu_s);
    print_add(line, sizeof line, "%" PRIu64 " process%s, %" PRIu64 " thread%s", run->processes,
              run->processes == 1 ? "" : "es", run->threads, print_plural(run->threads));
    if (run->exit_signal > 0)
        print_add(line, sizeof line, ", killed by signal %" PRId64, run->exit_signal);
    else if (run->exit_code > 0)
        print_add(line, sizeof line, ", exit status %" PRId64, run->exit_code);
    fprintf(printer->out, "%s\n  ", line);
    if (strcmp(run->engine, "built") == 0)
        describe_built(printer, line, sizeof line);
    else if (is_interference(printer))
        describe_blocks(printer, line, sizeof line);
    else if (printer->ranking.exact)
        describe_exact(printer, line, sizeof line);
    else
        describe_sampling(run, line, sizeof line);
    name_clean(line, clean, sizeof clean);
    print_wrap(printer, DIM, 2, 2, clean);
}

enum { MERGED_SHOWN = 8 };

/* Which recordings went into a merged profile: file names, hosts where there are several. */
static void print_merged(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    char line[TEXT_BYTES * 2] = "", word[TEXT_BYTES];
    if (profile->merged_count == 0)
        return;
    print_add(line, sizeof line, "merged from %zu profile%s: ", profile->merged_count,
              print_plural(profile->merged_count));
    for (size_t i = 0; i < profile->merged_count && i < MERGED_SHOWN; i++) {
        const struct profile_merged *merged = &profile->merged[i];
        name_clean(merged->file, word, sizeof word);
        print_add(line, sizeof line, "%s%.160s", i ? ", " : "", word);
        if (!profile->run.host && merged->host) {
            name_clean(merged->host, word, sizeof word);
            print_add(line, sizeof line, " of %.60s", word);
        }
    }
    if (profile->merged_count > MERGED_SHOWN)
        print_add(line, sizeof line, " and %zu more", profile->merged_count - MERGED_SHOWN);
    fputs("  ", printer->out);
    name_clean(line, word, sizeof word);
    print_wrap(printer, DIM, 2, 2, word);
}

/* ---- summary --------------------------------------------------------------------------------- */

static void print_exact_row(struct printer *printer, const struct rank_kind *kind)
{
    char wasted[32] = "—", waste[32], judged[32];
    const struct profile_kind *totals = kind->totals;
    bool known = kind->fraction.known;
    if (known)
        snprintf(wasted, sizeof wasted, "%.1f %%", 100 * kind->fraction.share);
    /* printf pads by bytes; "—" takes three for one column. */
    fprintf(printer->out, "  %-17s%s%*s%s%15s%15s\n", kind_words[totals->kind].rows,
            print_on(printer, BOLD), known ? 10 : 12, wasted, print_off(printer),
            print_bytes(totals->waste_bytes, waste),
            print_bytes(totals->waste_bytes + totals->use_bytes, judged));
}

static void print_summary_row(struct printer *printer, const struct rank_kind *kind)
{
    char samples[32], armed[32], traps[32], wasted[32], interval[32];
    const struct profile_kind *totals = kind->totals;
    if (kind->too_few) {
        snprintf(wasted, sizeof wasted, "—");
        snprintf(interval, sizeof interval, "too few samples");
    } else {
        snprintf(wasted, sizeof wasted, "%.1f %%", 100 * kind->fraction.share);
        snprintf(interval, sizeof interval, "%.1f – %.1f %%", 100 * kind->fraction.low,
                 100 * kind->fraction.high);
    }
    print_grouped(totals->samples, samples);
    print_grouped(totals->armed, armed);
    print_grouped(totals->waste_traps + totals->use_traps, traps);
    /* printf pads by bytes; "—" and "–" take three for one column. */
    fprintf(printer->out, "  %-17s%s%*s%s   %*s %10s %10s %10s\n", kind_words[totals->kind].rows,
            print_on(printer, BOLD), kind->too_few ? 12 : 10, wasted, print_off(printer),
            kind->too_few ? 17 : 19, interval, samples, armed, traps);
}

static void print_summary(struct printer *printer)
{
    bool exact = printer->ranking.exact;
    if (printer->ranking.kinds_count && exact)
        fprintf(printer->out, "\n  %s%-17s%10s%15s%15s%s\n", print_on(printer, DIM), "", "wasted",
                "wasted bytes", "of bytes", print_off(printer));
    else if (printer->ranking.kinds_count || (strcmp(printer->profile->run.verb, "reuse") != 0 &&
                                              !is_paths(printer) && !is_interference(printer)))
        fprintf(printer->out, "\n  %s%-17s%10s   %17s %10s %10s %10s%s\n", print_on(printer, DIM),
                "", "wasted", "95 % interval", "samples", "followed", "decided",
                print_off(printer));
    for (size_t i = 0; i < printer->ranking.kinds_count; i++)
        (exact ? print_exact_row : print_summary_row)(printer, &printer->ranking.kinds[i]);
    if (printer->prefix[0]) {
        char clean[TEXT_BYTES];
        name_clean(printer->prefix, clean, sizeof clean);
        fprintf(printer->out, "\n  %sfiles are under %s%s\n", print_on(printer, DIM), clean,
                print_off(printer));
    }
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static struct advice_side advice_side(struct printer *printer, const struct chain *chain,
                                      char *source, size_t source_bytes)
{
    struct advice_side side = {0};
    if (chain->count == 0)
        return side;
    side.leaf = print_frame_at(printer, chain, chain->count - 1);
    side.called = side.leaf->function;
    if (source_line(&printer->sources, side.leaf->file, side.leaf->line, source, source_bytes))
        side.source = source;
    return side;
}

/* Does one chain go on below the function that the other ends in? */
static bool is_nested(const struct printer *printer, const struct chain *a, const struct chain *b)
{
    const struct chain *shorter = a->count < b->count ? a : b;
    const struct chain *longer = a->count < b->count ? b : a;
    if (shorter->count == 0 || shorter->count == longer->count)
        return false;
    for (size_t i = 0; i + 1 < shorter->count; i++)
        if (shorter->frames[i] != longer->frames[i])
            return false;
    const char *ends = print_frame_at(printer, shorter, shorter->count - 1)->function;
    const char *goes_on = print_frame_at(printer, longer, shorter->count - 1)->function;
    return ends && goes_on && strcmp(ends, goes_on) == 0;
}

static void print_advice(struct printer *printer, const struct rank_kind *kind,
                         const struct rank_pair *pair, size_t number, const struct chain *first,
                         const struct chain *second)
{
    char first_source[TEXT_BYTES], second_source[TEXT_BYTES];
    /* Without lines all of a function reads the same, which supports nothing. */
    bool lines = first->count && second->count &&
                 print_frame_at(printer, first, first->count - 1)->line &&
                 print_frame_at(printer, second, second->count - 1)->line;
    struct advice_facts facts = {
        .kind = kind->totals->kind,
        .first = advice_side(printer, first, first_source, sizeof first_source),
        .second = advice_side(printer, second, second_source, sizeof second_source),
        .same_place = lines && pair->first_place == pair->second_place,
        .nested = is_nested(printer, first, second),
        .kernel = pair->kernel,
    };
    facts.same_function = lines && facts.first.called && facts.second.called && !facts.same_place &&
                          strcmp(facts.first.called, facts.second.called) == 0;
    const char *advice = advice_for(&facts);
    if (!advice)
        return;
    print_given(printer, advice, number);
}

static void print_pair_head(struct printer *printer, const struct rank_kind *kind,
                            const struct rank_pair *pair, size_t number)
{
    char remarks[TEXT_BYTES] = "", waste[32];
    uint64_t traps = pair->waste_traps + pair->use_traps;
    fprintf(printer->out, "\n  %s#%zu  ", print_on(printer, BOLD), number);
    if (kind->too_few)
        fprintf(printer->out, "%" PRIu64 " of %" PRIu64 " decided as waste%s", pair->waste_traps,
                kind->totals->waste_traps, print_off(printer));
    else
        fprintf(printer->out, "%.1f %%%s of the %s", 100 * pair->share.share, print_off(printer),
                kind_words[kind->totals->kind].wasted);
    if (printer->ranking.exact)
        fprintf(printer->out, ": %s", print_bytes(pair->waste_bytes, waste));
    else if (!kind->too_few)
        fprintf(printer->out, " (%.0f – %.0f %%)", 100 * pair->share.low, 100 * pair->share.high);
    if (!kind->too_few && !printer->ranking.exact && pair->waste_traps < FEW_TRAPS)
        print_add(remarks, sizeof remarks, "; weak evidence: seen %" PRIu64 " time%s",
                  pair->waste_traps, print_plural(pair->waste_traps));
    /* Where both places agree the likely one is as good as certain. */
    if (pair->likely_traps * 4 > traps && pair->first_place != pair->second_place)
        print_add(remarks, sizeof remarks, "; second line approximate");
    if (pair->float_traps * 2 > traps)
        print_add(remarks, sizeof remarks, "; values equal within %.3g %%",
                  100 * printer->profile->run.fp_tolerance);
    if (remarks[0])
        fprintf(printer->out, "%s%s%s", print_on(printer, DIM), remarks, print_off(printer));
    putc('\n', printer->out);
}

static void print_pair(struct printer *printer, const struct rank_kind *kind,
                       const struct rank_pair *pair, size_t number, struct chain chains[2])
{
    const struct words *words = &kind_words[kind->totals->kind];
    struct chain *first = &chains[0], *second = &chains[1];
    print_make_chain(printer, pair->first_place, first);
    print_make_chain(printer, pair->second_place, second);
    print_pair_head(printer, kind, pair, number);
    print_sides(printer, chains, pair->first_place == pair->second_place, words->first,
                words->second);
    print_advice(printer, kind, pair, number, first, second);
}

static void print_rest(struct printer *printer, const struct rank_kind *kind, size_t shown)
{
    double rest = 0;
    for (size_t i = shown; i < kind->pairs_count; i++)
        rest += kind->pairs[i].share.share;
    fprintf(printer->out, "\n  %s%zu %s", print_on(printer, DIM), kind->pairs_count - shown,
            shown                    ? "more"
            : printer->ranking.exact ? "of less than 0.5 % each"
                                     : "seen once each");
    if (!kind->too_few)
        fprintf(printer->out, ", together %.1f %%", 100 * rest);
    fprintf(printer->out, "%s\n", print_off(printer));
}

static bool print_kind(struct printer *printer, const struct rank_kind *kind)
{
    const struct words *words = &kind_words[kind->totals->kind];
    size_t shown = pairs_shown(printer, kind);
    struct chain *chains;
    printer->given_count = 0;
    fprintf(printer->out, "\n%s%s%s", print_on(printer, STRONG), words->heading,
            print_off(printer));
    if (kind->too_few) {
        uint64_t traps = kind->totals->waste_traps + kind->totals->use_traps;
        fprintf(printer->out, "  too few samples for figures (%" PRIu64 " decided)\n", traps);
    } else if (!kind->fraction.known) {
        fprintf(printer->out, "  nothing to decide: no byte was accessed twice in this way\n");
    } else {
        fprintf(printer->out, "  %.1f %% %s\n", 100 * kind->fraction.share, words->meaning);
    }
    chains = malloc(2 * sizeof *chains);
    if (!chains)
        return false;
    for (size_t i = 0; i < shown; i++)
        print_pair(printer, kind, &kind->pairs[i], i + 1, chains);
    free(chains);
    if (kind->pairs_count == 0 && (!printer->ranking.exact || kind->fraction.known))
        fprintf(printer->out, "\n  Nothing was wasted%s.\n",
                printer->ranking.exact ? "" : " in what was sampled");
    if (shown < kind->pairs_count)
        print_rest(printer, kind, shown);
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

static void print_blind_spots(struct printer *printer)
{
    char line[TEXT_BYTES] = "";
    for (size_t i = 0; i < printer->ranking.kinds_count; i++) {
        const struct profile_kind *totals = printer->ranking.kinds[i].totals;
        if (totals->samples == 0)
            continue;
        print_add(line, sizeof line, "%s%.1f %% (%s)", line[0] ? ", " : "",
                  100.0 * (double)totals->blind_longest / (double)totals->samples,
                  kind_words[totals->kind].rows);
    }
    if (!line[0])
        return;
    fprintf(printer->out, "  ");
    print_add(line, sizeof line, " of the samples.");
    char whole[TEXT_BYTES * 2];
    snprintf(whole, sizeof whole, "Longest run of samples that could not be followed: %s", line);
    print_wrap(printer, PLAIN, 2, 2, whole);
}

/* What a reader who adds the bytes up would miss. */
static void print_not_judged(struct printer *printer)
{
    struct profile_exact total = profile_exact_total(printer->profile);
    char loaded[32], stored[32], line[TEXT_BYTES];
    if (!printer->ranking.kinds_count || !(total.fresh_load_bytes || total.fresh_store_bytes))
        return;
    snprintf(line, sizeof line,
             "Undecided, because no earlier access was seen: %s loaded, %s stored.",
             print_bytes((double)total.fresh_load_bytes, loaded),
             print_bytes((double)total.fresh_store_bytes, stored));
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

static void print_kernel(struct printer *printer)
{
    struct profile_exact total = profile_exact_total(printer->profile);
    char loaded[32], stored[32], line[TEXT_BYTES];
    if (!printer->ranking.kinds_count || !(total.kernel_load_bytes || total.kernel_store_bytes))
        return;
    snprintf(line, sizeof line, "System calls read %s of the program's memory and wrote %s.",
             print_bytes((double)total.kernel_load_bytes, loaded),
             print_bytes((double)total.kernel_store_bytes, stored));
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

static bool has_limits(const struct printer *printer)
{
    struct profile_exact total = profile_exact_total(printer->profile);
    if (is_interference(printer))
        return printer->profile->degraded_count > 0;
    return !printer->ranking.exact || printer->profile->degraded_count ||
           (printer->ranking.kinds_count && (total.fresh_load_bytes || total.fresh_store_bytes ||
                                             total.kernel_load_bytes || total.kernel_store_bytes));
}

static void print_limits(struct printer *printer)
{
    if (!has_limits(printer))
        return;
    fprintf(printer->out, "\n%sLimits of this recording%s\n", print_on(printer, STRONG),
            print_off(printer));
    print_dropped(printer);
    print_blind_spots(printer);
    print_not_judged(printer);
    print_kernel(printer);
    print_degraded(printer, printer->profile, "");
}

/* ---- what next ------------------------------------------------------------------------------- */

static void print_command_line(struct printer *printer, const char *command)
{
    fprintf(printer->out, "  %s%s%s\n", print_on(printer, BOLD), command, print_off(printer));
}

/* A longer or denser recording, when verdicts were too few. */
static void suggest_more_samples(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    char line[TEXT_BYTES], word[256];
    double rate = profile->run.interval_ns ? 1e9 / (double)profile->run.interval_ns * 5 : 0;
    if (rate <= 0 || profile->arguments_count == 0)
        return;
    snprintf(line, sizeof line, "headroom %.16s --rate %.0f --", profile->run.verb,
             fmin(1000, ceil(rate)));
    for (size_t i = 0; i < profile->arguments_count && strlen(line) < 300; i++) {
        print_quote(profile->arguments[i].text, word, sizeof word);
        print_add(line, sizeof line, " %s", word);
    }
    print_command_line(printer, line);
}

static void print_next(struct printer *printer)
{
    bool too_few = false, more = false;
    uint32_t largest = 0;
    double most = -1;
    char path[TEXT_BYTES], line[TEXT_BYTES * 2];
    for (size_t i = 0; i < printer->ranking.kinds_count; i++) {
        const struct rank_kind *kind = &printer->ranking.kinds[i];
        too_few = too_few || kind->too_few;
        more = more || pairs_shown(printer, kind) < kind->pairs_count;
        if (!kind->too_few && kind->fraction.share > most) {
            most = kind->fraction.share;
            largest = kind->totals->kind;
        }
    }
    bool more_reuse = print_reuse_is_cut(printer) || printer->paths_cut;
    too_few = too_few || printer->few_reuses;
    if (!too_few && !more && !printer->options->profile_path)
        return;
    fprintf(printer->out, "\n%sNext%s\n", print_on(printer, STRONG), print_off(printer));
    if (too_few)
        suggest_more_samples(printer);
    if (!printer->options->profile_path)
        return;
    print_quote(printer->options->profile_path, path, sizeof path);
    if (more && most >= 0) {
        snprintf(line, sizeof line, "headroom report --kinds %s --limit 0 %s",
                 profile_kind_names[largest], path);
        print_command_line(printer, line);
    }
    if (more_reuse && !(more && most >= 0)) {
        snprintf(line, sizeof line, "headroom report --limit 0 %s", path);
        print_command_line(printer, line);
    }
    snprintf(line, sizeof line, "headroom report --format json %s", path);
    print_command_line(printer, line);
}

static enum base_status write_text(struct profile *profile, const struct report_options *options,
                                   FILE *out)
{
    struct printer printer = {.out = out, .profile = profile, .options = options};
    bool good = true;
    enum base_status status = rank_profile(profile, options->kinds, true, &printer.ranking);
    if (status != BASE_OK)
        return status;
    printer.width = print_width(options->width);
    printer.sources = (struct source_cache){.enabled = options->sources,
                                            .not_newer_than_ns = profile->run.start_ns};
    find_prefix(&printer);
    print_command(&printer);
    print_run(&printer);
    print_merged(&printer);
    print_summary(&printer);
    for (size_t i = 0; i < printer.ranking.kinds_count && good; i++)
        good = print_kind(&printer, &printer.ranking.kinds[i]);
    good = good && print_reuse(&printer);
    if (good && is_paths(&printer))
        good = paths_print(&printer);
    if (good && is_interference(&printer))
        good = interference_print(&printer);
    print_limits(&printer);
    print_next(&printer);
    source_free(&printer.sources);
    rank_free(&printer.ranking);
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
