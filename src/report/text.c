// SPDX-License-Identifier: MIT
/*
 * The report for people: what was run, how much was wasted, the findings with
 * both contexts, what they usually mean, and what limits the result.
 *
 * Everything printed from the profile goes through name_clean or name_shorten.
 */
#include "report/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_WIDTH = 100,
    LEAST_WIDTH = 60,
    MOST_WIDTH = 160,
    TEXT_BYTES = 1024,
    MOST_DEPTH = 4096, /* frames of a context that are looked at         */
    MOST_OUTER = 4,    /* frames that may stand outside of main          */
    MOST_CALLERS = 5,  /* callers shown under a place                    */
    MOST_COMMON = 7,   /* common callers shown in one line               */
    NAME_COLUMNS = 44,
    LABEL_COLUMNS = 14, /* "stored again  "                               */
    FEW_TRAPS = 5,      /* of a pair: said, because its share may be luck */
};

/* Advice already printed for the current kind, and where. */
struct given {
    const char *advice;
    size_t number;
};

struct printer {
    FILE *out;
    const struct profile *profile;
    const struct report_options *options;
    struct ranking ranking;
    struct source_cache sources;
    unsigned width;
    struct given given[16];
    size_t given_count;
    char prefix[TEXT_BYTES]; /* directory left out of file names, ends in '/'; or "" */
};

/* A context as frames, outermost first, without what runs before main. */
struct chain {
    uint32_t frames[MOST_DEPTH];
    size_t count;
    bool incomplete; /* callers are missing outside */
};

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
    [PROFILE_SILENT] = {"Silent stores", "silent stores", "of the bytes stored were there already",
                        "silent bytes", "stored", "stored again"},
    [PROFILE_LOAD] = {"Redundant loads", "redundant loads",
                      "of the bytes loaded were loaded before, unchanged", "redundant bytes",
                      "loaded", "loaded again"},
};

/* ---- output ---------------------------------------------------------------------------------- */

enum tone { PLAIN, BOLD, DIM, STRONG };

static const char *tone_on(const struct printer *printer, enum tone tone)
{
    static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[1;36m"};
    return printer->options->color ? codes[tone] : "";
}

static const char *tone_off(const struct printer *printer)
{
    return printer->options->color ? "\033[0m" : "";
}

/* Text broken at blanks; the first line continues at column `used`, others start at `indent`. */
static void wrap(struct printer *printer, enum tone tone, unsigned used, unsigned indent,
                 const char *text)
{
    unsigned column = used;
    bool blank = false;
    fputs(tone == PLAIN ? "" : tone_on(printer, tone), printer->out);
    while (*text) {
        size_t bytes = strcspn(text, " ");
        char word[TEXT_BYTES];
        snprintf(word, sizeof word, "%.*s", (int)(bytes < sizeof word ? bytes : sizeof word - 1),
                 text);
        unsigned columns = name_columns(word);
        if (column + blank + columns > printer->width && column > indent) {
            fprintf(printer->out, "\n%*s", (int)indent, "");
            column = indent;
            blank = false;
        }
        if (blank)
            putc(' ', printer->out);
        fputs(word, printer->out);
        column += blank + columns;
        blank = true;
        text += bytes;
        text += strspn(text, " ");
    }
    fprintf(printer->out, "%s\n", tone == PLAIN ? "" : tone_off(printer));
}

__attribute__((format(printf, 3, 4))) static void add(char *text, size_t bytes, const char *format,
                                                      ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, bytes - used, format, arguments);
    va_end(arguments);
}

/* 1234567 -> "1,234,567" */
static const char *grouped(uint64_t value, char out[32])
{
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *to = out;
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return out;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void function_name(const struct printer *printer, const struct profile_frame *frame,
                          char out[NAME_BYTES])
{
    char module[64];
    if (frame->function) {
        name_shorten(frame->function, NAME_COLUMNS, out);
        return;
    }
    name_clean(name_base(printer->profile->modules[frame->module].path), module, sizeof module);
    if (frame->module)
        snprintf(out, NAME_BYTES, "%s+0x%" PRIx64, module, frame->address);
    else
        snprintf(out, NAME_BYTES, "0x%" PRIx64, frame->address);
}

/* "file:line", or "" if unknown */
static void place_name(const struct printer *printer, const struct profile_frame *frame,
                       char out[TEXT_BYTES])
{
    out[0] = 0;
    if (!frame->file)
        return;
    const char *file = frame->file;
    size_t bytes = strlen(printer->prefix);
    if (bytes && strncmp(file, printer->prefix, bytes) == 0)
        file += bytes;
    name_clean(file, out, TEXT_BYTES - 16);
    if (frame->line)
        add(out, TEXT_BYTES, ":%" PRIu32, frame->line);
}

static const struct profile_frame *frame_at(const struct printer *printer,
                                            const struct chain *chain, size_t index)
{
    return &printer->profile->frames[chain->frames[index]];
}

/* What every program runs before its own code. */
static bool before_program(const char *function)
{
    static const char *const names[] = {"_start",
                                        "__libc_start_main",
                                        "__libc_start_call_main",
                                        "start_thread",
                                        "clone",
                                        "__clone",
                                        "clone3",
                                        "__clone3",
                                        "__GI___clone3",
                                        "__libc_start_main_impl"};
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (function && strncmp(function, names[i], strlen(names[i])) == 0 &&
            strchr("@", function[strlen(names[i])]))
            return true;
    return false;
}

/* By places, so that recursion is folded as it was for the ranking. The frames are those of the
   class, the lowest that read the same. */
static void make_chain(const struct printer *printer, uint32_t place, struct chain *chain)
{
    const struct ranking *ranking = &printer->ranking;
    uint32_t innermost_first[MOST_DEPTH];
    size_t count = 0;
    for (; place && count < MOST_DEPTH; place = ranking->places[place].parent)
        innermost_first[count++] = ranking->places[place].class;
    chain->count = 0;
    chain->incomplete = count && (printer->profile->frames[innermost_first[count - 1]].flags &
                                  PROFILE_FRAME_INCOMPLETE);
    /* In a stripped program what calls __libc_start_main has no name. */
    for (size_t outer = 0, left = count; outer < MOST_OUTER && left > 1; outer++, left--)
        if (before_program(printer->profile->frames[innermost_first[left - 1]].function))
            count = left - 1;
    while (count > 0)
        chain->frames[chain->count++] = innermost_first[--count];
}

/* Outer frames that both share; the innermost frames never count. */
static size_t common_frames(const struct chain *a, const struct chain *b)
{
    size_t common = 0;
    while (common + 1 < a->count && common + 1 < b->count && a->frames[common] == b->frames[common])
        common++;
    return common;
}

/* ---- directories -------------------------------------------------------------------------------
 */

static bool is_own_file(const char *file)
{
    return file && file[0] == '/' && strncmp(file, "/usr/", 5) != 0;
}

static void narrow_prefix(struct printer *printer, const char *file, bool *any)
{
    char *prefix = printer->prefix;
    if (!*any) {
        const char *slash = strrchr(file, '/');
        size_t bytes = (size_t)(slash - file) + 1;
        if (bytes >= TEXT_BYTES)
            bytes = 1;
        memcpy(prefix, file, bytes);
        prefix[bytes] = 0;
        *any = true;
        return;
    }
    size_t same = 0;
    while (prefix[same] && prefix[same] == file[same])
        same++;
    while (same && prefix[same - 1] != '/')
        same--;
    prefix[same] = 0;
}

/* A finding that rests on a single verdict may be luck: at the end of the list, it is left out. */
static size_t pairs_shown(const struct printer *printer, const struct rank_kind *kind)
{
    size_t shown = kind->pairs_count;
    if (printer->options->limit == 0)
        return shown;
    if (shown > printer->options->limit)
        shown = printer->options->limit;
    while (shown && kind->pairs[shown - 1].waste_traps < 2)
        shown--;
    return shown;
}

/* The directory that the program's own files share, as far as they are shown. */
static void find_prefix(struct printer *printer)
{
    bool any = false;
    for (size_t k = 0; k < printer->ranking.kinds_count; k++) {
        const struct rank_kind *kind = &printer->ranking.kinds[k];
        for (size_t i = 0; i < pairs_shown(printer, kind); i++) {
            uint32_t places[] = {kind->pairs[i].first_place, kind->pairs[i].second_place};
            for (int side = 0; side < 2; side++)
                for (uint32_t at = places[side]; at; at = printer->ranking.places[at].parent) {
                    const char *file =
                        printer->profile->frames[printer->ranking.places[at].class].file;
                    if (is_own_file(file))
                        narrow_prefix(printer, file, &any);
                }
        }
    }
    if (strcmp(printer->prefix, "/") == 0)
        printer->prefix[0] = 0;
}

/* ---- head --------------------------------------------------------------------------------------
 */

static void print_command(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    char line[TEXT_BYTES * 2] = "", word[TEXT_BYTES], verb[64];
    for (size_t i = 0; i < profile->arguments_count && strlen(line) < TEXT_BYTES; i++) {
        name_clean(profile->arguments[i].text, word, sizeof word);
        add(line, sizeof line, strpbrk(word, " '\"$") || !word[0] ? "%s'%s'" : "%s%s", i ? " " : "",
            word);
    }
    name_clean(profile->run.verb, verb, sizeof verb);
    fprintf(printer->out, "%sheadroom %s%s  ", tone_on(printer, STRONG), verb, tone_off(printer));
    if (name_columns(line) > 2 * printer->width)
        line[2 * printer->width] = 0;
    char clean[sizeof line];
    name_clean(line, clean, sizeof clean);
    wrap(printer, BOLD, 17, 4, clean);
}

static void print_rate(const struct profile_run *run, char *line, size_t bytes)
{
    char digits[32];
    if (run->interval_ns)
        add(line, bytes, ", %.0f samples per CPU second and thread",
            1e9 / (double)run->interval_ns);
    else if (run->period)
        add(line, bytes, ", a sample every %s accesses", grouped(run->period, digits));
}

static void print_run(struct printer *printer)
{
    const struct profile_run *run = &printer->profile->run;
    char line[TEXT_BYTES] = "  ", clean[TEXT_BYTES];
    if (run->wall_s >= 0)
        add(line, sizeof line, "%.2f s, ", run->wall_s);
    if (run->cpu_s >= 0)
        add(line, sizeof line, "%.2f s of CPU time, ", run->cpu_s);
    add(line, sizeof line, "%" PRIu64 " process%s, %" PRIu64 " thread%s", run->processes,
        run->processes == 1 ? "" : "es", run->threads, plural(run->threads));
    if (run->exit_signal > 0)
        add(line, sizeof line, ", killed by signal %" PRId64, run->exit_signal);
    else if (run->exit_code > 0)
        add(line, sizeof line, ", exit status %" PRId64, run->exit_code);
    fprintf(printer->out, "%s\n  ", line);
    snprintf(line, sizeof line, "engine %s, source %s", run->engine,
             run->source ? run->source : "none");
    print_rate(run, line, sizeof line);
    add(line, sizeof line, ", weighted by %s",
        strcmp(run->weighting, "cpu-time") == 0 ? "CPU time" : run->weighting);
    name_clean(line, clean, sizeof clean);
    wrap(printer, DIM, 2, 2, clean);
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
    grouped(totals->samples, samples);
    grouped(totals->armed, armed);
    grouped(totals->waste_traps + totals->use_traps, traps);
    /* printf pads by bytes; "—" and "–" take three for one column. */
    fprintf(printer->out, "  %-17s%s%*s%s   %*s %10s %10s %10s\n", kind_words[totals->kind].rows,
            tone_on(printer, BOLD), kind->too_few ? 12 : 10, wasted, tone_off(printer),
            kind->too_few ? 17 : 19, interval, samples, armed, traps);
}

static void print_summary(struct printer *printer)
{
    fprintf(printer->out, "\n  %s%-17s%10s   %17s %10s %10s %10s%s\n", tone_on(printer, DIM), "",
            "wasted", "95 % interval", "samples", "watched", "verdicts", tone_off(printer));
    for (size_t i = 0; i < printer->ranking.kinds_count; i++)
        print_summary_row(printer, &printer->ranking.kinds[i]);
    if (printer->prefix[0]) {
        char clean[TEXT_BYTES];
        name_clean(printer->prefix, clean, sizeof clean);
        fprintf(printer->out, "\n  %sfiles are under %s%s\n", tone_on(printer, DIM), clean,
                tone_off(printer));
    }
}

/* ---- pairs --------------------------------------------------------------------------------------
 */

/* "in main → work → … (file:line)": outer callers that both contexts share, and where the
   innermost of them calls. */
static void print_common(struct printer *printer, const struct chain *chain, size_t common)
{
    char line[TEXT_BYTES * 4] = "", name[NAME_BYTES], place[TEXT_BYTES];
    if (common == 0)
        return;
    for (size_t i = 0; i < common; i++) {
        /* The outermost two say which part of the program, the innermost where. */
        if (common > MOST_COMMON && i == 2) {
            add(line, sizeof line, " → … %zu more …", common - MOST_COMMON);
            i = common - (MOST_COMMON - 2);
        }
        const struct profile_frame *frame = frame_at(printer, chain, i);
        function_name(printer, frame, name);
        add(line, sizeof line, "%s%s%s", i ? " → " : "", name,
            frame->flags & PROFILE_FRAME_INLINED ? " (inlined)" : "");
    }
    place_name(printer, frame_at(printer, chain, common - 1), place);
    if (place[0])
        add(line, sizeof line, " (%s)", place);
    fprintf(printer->out, "      %sin%s ", tone_on(printer, DIM), tone_off(printer));
    wrap(printer, PLAIN, 9, 9, line);
}

static void print_frame(struct printer *printer, const struct profile_frame *frame,
                        const char *label, bool caller)
{
    char name[NAME_BYTES], place[TEXT_BYTES], module[64] = "";
    function_name(printer, frame, name);
    place_name(printer, frame, place);
    if (!place[0] && frame->function && frame->module)
        name_clean(name_base(printer->profile->modules[frame->module].path), module, sizeof module);
    fprintf(printer->out, "      %-*s%s%s%s%s%s%s%s%s%s%s%s\n", LABEL_COLUMNS, label,
            caller ? "← " : "", tone_on(printer, caller ? PLAIN : BOLD), name, tone_off(printer),
            frame->flags & PROFILE_FRAME_INLINED ? " (inlined)" : "",
            frame->flags & PROFILE_FRAME_KERNEL ? " (by the kernel, in this system call)" : "",
            place[0]    ? "  "
            : module[0] ? "  in "
                        : "",
            place, module, place[0] && !frame->line ? " (line unknown)" : "",
            frame->flags & PROFILE_FRAME_CALL        ? " (a call's return address)"
            : frame->flags & PROFILE_FRAME_RETURN    ? " (a return)"
            : frame->flags & PROFILE_FRAME_IMPRECISE ? " (instruction not known)"
                                                     : "");
}

static void print_source(struct printer *printer, const struct profile_frame *frame)
{
    char text[TEXT_BYTES + 8];
    if (!source_line(&printer->sources, frame->file, frame->line, text, TEXT_BYTES))
        return;
    unsigned most = printer->width - 6 - LABEL_COLUMNS - 2;
    char *at = text;
    bool cut = name_columns(text) > most;
    for (unsigned i = 0; cut && i + 1 < most; i++)
        at += name_utf8(at);
    if (cut)
        strcpy(at, "…");
    fprintf(printer->out, "      %*s%s│ %s%s\n", LABEL_COLUMNS, "", tone_on(printer, DIM), text,
            tone_off(printer));
}

/* The innermost frame with its line, then the callers up to the common ones. */
static void print_side(struct printer *printer, const struct chain *chain, size_t common,
                       const char *label)
{
    if (chain->count == 0) {
        fprintf(printer->out, "      %-*sunknown place\n", LABEL_COLUMNS, label);
        return;
    }
    const struct profile_frame *leaf = frame_at(printer, chain, chain->count - 1);
    print_frame(printer, leaf, label, false);
    print_source(printer, leaf);
    size_t shown = 0;
    for (size_t i = chain->count - 1; i > common; i--) {
        if (shown++ == MOST_CALLERS) {
            fprintf(printer->out, "      %*s← %zu more callers\n", LABEL_COLUMNS, "", i - common);
            return;
        }
        print_frame(printer, frame_at(printer, chain, i - 1), "", true);
    }
    if (chain->incomplete && common == 0)
        fprintf(printer->out, "      %*s← … outer callers unknown\n", LABEL_COLUMNS, "");
}

static struct advice_side advice_side(struct printer *printer, const struct chain *chain,
                                      char *source, size_t source_bytes)
{
    struct advice_side side = {0};
    if (chain->count == 0)
        return side;
    side.leaf = frame_at(printer, chain, chain->count - 1);
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
    const char *ends = frame_at(printer, shorter, shorter->count - 1)->function;
    const char *goes_on = frame_at(printer, longer, shorter->count - 1)->function;
    return ends && goes_on && strcmp(ends, goes_on) == 0;
}

/* Advice that was given before is not repeated. */
static void print_advice(struct printer *printer, const struct rank_kind *kind,
                         const struct rank_pair *pair, size_t number, const struct chain *first,
                         const struct chain *second)
{
    char first_source[TEXT_BYTES], second_source[TEXT_BYTES];
    /* Without lines all of a function reads the same, which supports nothing. */
    bool lines = first->count && second->count &&
                 frame_at(printer, first, first->count - 1)->line &&
                 frame_at(printer, second, second->count - 1)->line;
    struct advice_facts facts = {
        .kind = kind->totals->kind,
        .first = advice_side(printer, first, first_source, sizeof first_source),
        .second = advice_side(printer, second, second_source, sizeof second_source),
        .same_place = lines && pair->first_place == pair->second_place,
        .nested = is_nested(printer, first, second),
        .kernel = pair->kernel_traps * 2 > pair->waste_traps + pair->use_traps,
    };
    facts.same_function = lines && facts.first.called && facts.second.called && !facts.same_place &&
                          strcmp(facts.first.called, facts.second.called) == 0;
    const char *advice = advice_for(&facts);
    if (!advice)
        return;
    for (size_t i = 0; i < printer->given_count; i++) {
        if (printer->given[i].advice == advice) {
            fprintf(printer->out, "      %s(as for #%zu)%s\n", tone_on(printer, DIM),
                    printer->given[i].number, tone_off(printer));
            return;
        }
    }
    if (printer->given_count < BASE_COUNT(printer->given))
        printer->given[printer->given_count++] = (struct given){advice, number};
    fprintf(printer->out, "      ");
    wrap(printer, PLAIN, 6, 6, advice);
}

static void print_pair_head(struct printer *printer, const struct rank_kind *kind,
                            const struct rank_pair *pair, size_t number)
{
    char remarks[TEXT_BYTES] = "";
    uint64_t traps = pair->waste_traps + pair->use_traps;
    fprintf(printer->out, "\n  %s#%zu  ", tone_on(printer, BOLD), number);
    if (kind->too_few)
        fprintf(printer->out, "%" PRIu64 " of %" PRIu64 " verdicts of waste%s", pair->waste_traps,
                kind->totals->waste_traps, tone_off(printer));
    else
        fprintf(printer->out, "%.1f %%%s of the %s (%.0f – %.0f %%)", 100 * pair->share.share,
                tone_off(printer), kind_words[kind->totals->kind].wasted, 100 * pair->share.low,
                100 * pair->share.high);
    if (!kind->too_few && pair->waste_traps < FEW_TRAPS)
        add(remarks, sizeof remarks, "; %" PRIu64 " verdict%s only", pair->waste_traps,
            plural(pair->waste_traps));
    /* Where both places agree the likely one is as good as certain. */
    if (pair->likely_traps * 4 > traps && pair->first_place != pair->second_place)
        add(remarks, sizeof remarks, "; second place likely, not certain");
    if (pair->float_traps * 2 > traps)
        add(remarks, sizeof remarks, "; values equal within %.3g %%",
            100 * printer->profile->run.fp_tolerance);
    if (remarks[0])
        fprintf(printer->out, "%s%s%s", tone_on(printer, DIM), remarks, tone_off(printer));
    putc('\n', printer->out);
}

static void print_pair(struct printer *printer, const struct rank_kind *kind,
                       const struct rank_pair *pair, size_t number, struct chain chains[2])
{
    const struct words *words = &kind_words[kind->totals->kind];
    struct chain *first = &chains[0], *second = &chains[1];
    make_chain(printer, pair->first_place, first);
    make_chain(printer, pair->second_place, second);
    size_t common = common_frames(first, second);
    print_pair_head(printer, kind, pair, number);
    print_common(printer, first, common);
    if (pair->first_place == pair->second_place) {
        print_side(printer, first, common, "both");
    } else {
        print_side(printer, first, common, words->first);
        print_side(printer, second, common, words->second);
    }
    print_advice(printer, kind, pair, number, first, second);
}

static void print_rest(struct printer *printer, const struct rank_kind *kind, size_t shown)
{
    double rest = 0;
    for (size_t i = shown; i < kind->pairs_count; i++)
        rest += kind->pairs[i].share.share;
    fprintf(printer->out, "\n  %s%zu %s", tone_on(printer, DIM), kind->pairs_count - shown,
            shown ? "more" : "with a single verdict each");
    if (!kind->too_few)
        fprintf(printer->out, ", together %.1f %%", 100 * rest);
    fprintf(printer->out, "%s\n", tone_off(printer));
}

static bool print_kind(struct printer *printer, const struct rank_kind *kind)
{
    const struct words *words = &kind_words[kind->totals->kind];
    size_t shown = pairs_shown(printer, kind);
    struct chain *chains;
    printer->given_count = 0;
    fprintf(printer->out, "\n%s%s%s", tone_on(printer, STRONG), words->heading, tone_off(printer));
    if (kind->too_few) {
        uint64_t traps = kind->totals->waste_traps + kind->totals->use_traps;
        fprintf(printer->out, "  too few samples for figures (%" PRIu64 " verdict%s)\n", traps,
                plural(traps));
    } else {
        fprintf(printer->out, "  %.1f %% %s\n", 100 * kind->fraction.share, words->meaning);
    }
    chains = malloc(2 * sizeof *chains);
    if (!chains)
        return false;
    for (size_t i = 0; i < shown; i++)
        print_pair(printer, kind, &kind->pairs[i], i + 1, chains);
    free(chains);
    if (kind->pairs_count == 0)
        fprintf(printer->out, "\n  Nothing was wasted in what was sampled.\n");
    if (shown < kind->pairs_count)
        print_rest(printer, kind, shown);
    return true;
}

/* ---- limits -------------------------------------------------------------------------------------
 */

static void print_dropped(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    char attempted[32], stored[32], count[32], line[TEXT_BYTES * 4] = "", meaning[TEXT_BYTES];
    if (profile->run.attempted == 0)
        return;
    snprintf(line, sizeof line, "Of %s samples attempted %s were stored (%.0f %%)",
             grouped(profile->run.attempted, attempted), grouped(profile->run.stored, stored),
             100.0 * (double)profile->run.stored / (double)profile->run.attempted);
    for (size_t i = 0; i < profile->drops_count; i++) {
        name_clean(profile->drops[i].meaning, meaning, 120);
        add(line, sizeof line, "%s%s × %s",
            i ? ", " : "; not stored: ", grouped(profile->drops[i].count, count), meaning);
    }
    add(line, sizeof line, ".");
    fprintf(printer->out, "  ");
    wrap(printer, PLAIN, 2, 2, line);
}

static void print_blind_spots(struct printer *printer)
{
    char line[TEXT_BYTES] = "";
    for (size_t i = 0; i < printer->ranking.kinds_count; i++) {
        const struct profile_kind *totals = printer->ranking.kinds[i].totals;
        if (totals->samples == 0)
            continue;
        add(line, sizeof line, "%s%.1f %% (%s)", line[0] ? ", " : "",
            100.0 * (double)totals->blind_longest / (double)totals->samples,
            kind_words[totals->kind].rows);
    }
    if (!line[0])
        return;
    fprintf(printer->out, "  ");
    add(line, sizeof line, " of the samples.");
    char whole[TEXT_BYTES * 2];
    snprintf(whole, sizeof whole, "Longest stretch of samples that could not be watched: %s", line);
    wrap(printer, PLAIN, 2, 2, whole);
}

static void print_limits(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    fprintf(printer->out, "\n%sLimits of this recording%s\n", tone_on(printer, STRONG),
            tone_off(printer));
    print_dropped(printer);
    print_blind_spots(printer);
    for (size_t i = 0; i < profile->degraded_count; i++) {
        char clean[TEXT_BYTES * 2];
        name_clean(profile->degraded[i].text, clean, sizeof clean);
        fprintf(printer->out, "  - ");
        wrap(printer, PLAIN, 4, 4, clean);
    }
}

/* ---- what next
 * ------------------------------------------------------------------------------------ */

static bool plain_word(const char *word)
{
    return word[0] && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_./-+=:,@%")] == 0;
}

/* As a shell takes it. */
static void quote(const char *word, char *out, size_t out_bytes)
{
    char clean[TEXT_BYTES];
    name_clean(word, clean, sizeof clean);
    out[0] = 0;
    if (plain_word(clean)) {
        add(out, out_bytes, "%s", clean);
        return;
    }
    add(out, out_bytes, "'");
    for (const char *at = clean; *at && strlen(out) + 8 < out_bytes; at++)
        add(out, out_bytes, *at == '\'' ? "'\\''" : "%c", *at);
    add(out, out_bytes, "'");
}

static void print_command_line(struct printer *printer, const char *command)
{
    fprintf(printer->out, "  %s%s%s\n", tone_on(printer, BOLD), command, tone_off(printer));
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
        quote(profile->arguments[i].text, word, sizeof word);
        add(line, sizeof line, " %s", word);
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
    if (!too_few && !more && !printer->options->profile_path)
        return;
    fprintf(printer->out, "\n%sNext%s\n", tone_on(printer, STRONG), tone_off(printer));
    if (too_few)
        suggest_more_samples(printer);
    if (!printer->options->profile_path)
        return;
    quote(printer->options->profile_path, path, sizeof path);
    if (more && most >= 0) {
        snprintf(line, sizeof line, "headroom report --kinds %s --limit 0 %s",
                 profile_kind_names[largest], path);
        print_command_line(printer, line);
    }
    snprintf(line, sizeof line, "headroom report --format json %s", path);
    print_command_line(printer, line);
}

enum base_status report_text(struct profile *profile, const struct report_options *options,
                             FILE *out)
{
    struct printer printer = {.out = out, .profile = profile, .options = options};
    bool good = true;
    enum base_status status = rank_profile(profile, options->kinds, true, &printer.ranking);
    if (status != BASE_OK)
        return status;
    printer.width = options->width ? options->width : DEFAULT_WIDTH;
    printer.width = printer.width < LEAST_WIDTH  ? LEAST_WIDTH
                    : printer.width > MOST_WIDTH ? MOST_WIDTH
                                                 : printer.width;
    printer.sources = (struct source_cache){.enabled = options->sources,
                                            .not_newer_than_ns = profile->run.start_ns};
    find_prefix(&printer);
    print_command(&printer);
    print_run(&printer);
    print_summary(&printer);
    for (size_t i = 0; i < printer.ranking.kinds_count && good; i++)
        good = print_kind(&printer, &printer.ranking.kinds[i]);
    print_limits(&printer);
    print_next(&printer);
    source_free(&printer.sources);
    rank_free(&printer.ranking);
    if (!good)
        return BASE_NO_MEMORY;
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}
