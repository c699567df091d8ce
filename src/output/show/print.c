// SPDX-License-Identifier: MIT
/*
 * What every part of the report for people prints with: words, numbers, contexts.
 */
#include "show/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_WIDTH = 100,
    LEAST_WIDTH = 60,
    WIDTH_MAX = 160,
    OUTER_MAX = 4,   /* frames that may stand outside of main          */
    CALLERS_MAX = 5, /* callers shown under a place                    */
    COMMON_MAX = 7,  /* common callers shown in one line               */
    NAME_COLUMNS = 44,
    LABEL_COLUMNS = 14, /* "stored again  "                               */
};

unsigned print_width(unsigned columns)
{
    unsigned width = columns ? columns : DEFAULT_WIDTH;
    return width < LEAST_WIDTH ? LEAST_WIDTH : width > WIDTH_MAX ? WIDTH_MAX : width;
}

const char *print_on(const struct printer *printer, enum tone tone)
{
    static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[1;36m"};
    return printer->options->color ? codes[tone] : "";
}

const char *print_off(const struct printer *printer)
{
    return printer->options->color ? "\033[0m" : "";
}

void print_link(struct printer *printer, const char *format, ...)
{
    char target[PRINT_LINK / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(target, sizeof target, format, arguments);
    va_end(arguments);
    if (printer->options->links)
        snprintf(printer->link, sizeof printer->link, "\033]8;;#%s\033\\", target);
}

void print_link_clear(struct printer *printer)
{
    printer->link[0] = 0;
}

const char *print_link_on(const struct printer *printer)
{
    return printer->link;
}

const char *print_link_off(const struct printer *printer)
{
    return printer->link[0] ? "\033]8;;\033\\" : "";
}

/* Up to where a line may break: not between a number and its per cent sign. */
static size_t unbroken_bytes(const char *text)
{
    size_t bytes = strcspn(text, " ");
    while (text[bytes] == ' ' && text[bytes + 1] == '%')
        bytes += 1 + strcspn(text + bytes + 1, " ");
    return bytes;
}

void print_wrap(struct printer *printer, enum tone tone, unsigned used, unsigned indent,
                const char *text)
{
    unsigned column = used;
    bool blank = false;
    fputs(tone == PLAIN ? "" : print_on(printer, tone), printer->out);
    while (*text) {
        size_t bytes = unbroken_bytes(text);
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
    fprintf(printer->out, "%s\n", tone == PLAIN ? "" : print_off(printer));
}

void print_tail(struct printer *printer, enum tone tone, unsigned used, unsigned indent,
                const char *text)
{
    bool fits = used + 2 + name_columns(text) <= printer->width;
    if (text[0])
        fprintf(printer->out, "%s%*s", fits ? "" : "\n", fits ? 2 : (int)indent, "");
    print_wrap(printer, tone, fits ? used + 2 : indent, indent, text);
}

void print_add(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, bytes - used, format, arguments);
    va_end(arguments);
}

const char *print_grouped(uint64_t value, char out[32])
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

const char *print_quantity(double value, char out[32])
{
    static const char units[] = " KMGTPE";
    size_t unit = 0;
    if (value < 9999999.5 && (value >= 99.5 || value == floor(value)))
        return print_grouped((uint64_t)llround(value), out);
    if (value < 99.5) {
        snprintf(out, 32, value < 0.095 ? "%.2g" : value < 9.95 ? "%.2f" : "%.1f", value);
        return out;
    }
    for (; value >= 999.5 && unit + 2 < sizeof units; unit++)
        value /= 1000;
    snprintf(out, 32, "%.*f %c", value < 99.95 ? 1 : 0, value, units[unit]);
    return out;
}

const char *print_bytes(double bytes, char out[32])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;
    /* 1023.96 would read as 1024.0 */
    for (; unit + 1 < BASE_COUNT(units) && bytes >= (unit ? 1023.95 : 1023.5); unit++)
        bytes /= 1024;
    snprintf(out, 32, bytes < 1e9 ? "%.*f %s" : "%.*g %s", unit ? 1 : 0, bytes,
             bytes == 1 && unit == 0 ? "byte" : units[unit]);
    return out;
}

const char *print_short(double value, char out[32])
{
    static const char units[] = " KMGTPE";
    size_t unit = 0;
    for (; value >= 9999.5 && unit + 2 < sizeof units; unit++)
        value /= 1024;
    if (unit)
        snprintf(out, 32, value < 99.95 ? "%.1f %c" : "%.0f %c", value, units[unit]);
    else
        snprintf(out, 32, "%.0f", value);
    return out;
}

const char *print_percent(double share, char out[32])
{
    snprintf(out, 32, share < 0.0005 ? "<0.1 %%" : "%.1f %%", 100 * share);
    return out;
}

const char *print_time(double ns, char out[32])
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    size_t unit = 0;
    /* 999.96 would read as 1000.0 */
    for (; unit + 1 < BASE_COUNT(units) && ns >= 999.5; unit++)
        ns /= 1000;
    snprintf(out, 32, ns < 9.95 && unit && fabs(ns - round(ns)) >= 0.05 ? "%.1f %s" : "%.0f %s", ns,
             units[unit]);
    return out;
}

const char *print_size(uint64_t bytes, char out[32])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < BASE_COUNT(units); unit++)
        value /= 1024;
    snprintf(out, 32, "%.*f %s", value >= 100 || value == floor(value) ? 0 : 2, value, units[unit]);
    return out;
}

const char *print_bar(double share, unsigned most, char out[4 * PRINT_BAR + 1])
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned filled = (unsigned)(share * most * 8 + 0.5), columns = filled / 8;
    out[0] = 0;
    for (unsigned i = 0; i < columns && i < most; i++)
        strcat(out, "█");
    if (columns < most)
        strcat(out, eighths[filled % 8]);
    return out;
}

void print_pad(struct printer *printer, const char *text, unsigned columns, bool right)
{
    unsigned used = name_columns(text);
    int blanks = used < columns ? (int)(columns - used) : 0;
    fprintf(printer->out, "%*s%s%*s", right ? blanks : 0, "", text, right ? 0 : blanks, "");
}

const char *print_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void print_function(const struct printer *printer, const struct profile_frame *frame,
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

void print_place(const struct printer *printer, const char *file, uint32_t line,
                 char out[TEXT_BYTES])
{
    out[0] = 0;
    if (!file)
        return;
    size_t bytes = strlen(printer->prefix);
    if (bytes && strncmp(file, printer->prefix, bytes) == 0)
        file += bytes;
    name_clean(file, out, TEXT_BYTES - 16);
    if (line)
        print_add(out, TEXT_BYTES, ":%" PRIu32, line);
}

static void place_name(const struct printer *printer, const struct profile_frame *frame,
                       char out[TEXT_BYTES])
{
    print_place(printer, frame->file, frame->line, out);
}

const struct profile_frame *print_frame_at(const struct printer *printer, const struct chain *chain,
                                           size_t index)
{
    return &printer->profile->frames[chain->frames[index]];
}

void print_make_chain(const struct printer *printer, uint32_t place, struct chain *chain)
{
    const struct places *places = &printer->places;
    uint32_t innermost_first[DEPTH_MAX];
    size_t count = 0;
    for (; place && count < DEPTH_MAX; place = places->items[place].parent)
        innermost_first[count++] = places->items[place].class;
    chain->count = chain->inner = 0;
    chain->incomplete = count && (printer->profile->frames[innermost_first[count - 1]].flags &
                                  PROFILE_FRAME_INCOMPLETE);
    /* In a stripped program what calls __libc_start_main has no name. */
    for (size_t outer = 0, left = count; outer < OUTER_MAX && left > 1; outer++, left--)
        if (name_before_program(printer->profile->frames[innermost_first[left - 1]].function))
            count = left - 1;
    while (count > 0)
        chain->frames[chain->count++] = innermost_first[--count];
}

void print_make_own_chain(const struct printer *printer, uint32_t place, struct chain *chain)
{
    const struct places *places = &printer->places;
    print_make_chain(printer, place, chain);
    if (printer->options->all_frames)
        return;
    for (uint32_t own = places->own[place]; place != own && chain->inner + 1 < chain->count;
         place = places->items[place].parent)
        chain->inner++;
}

/* Frames that are printed. */
static size_t shown_frames(const struct chain *chain)
{
    return chain->count - chain->inner;
}

size_t print_common_frames(const struct chain *a, const struct chain *b)
{
    size_t common = 0,
           least = shown_frames(a) < shown_frames(b) ? shown_frames(a) : shown_frames(b);
    while (common + 1 < least && a->frames[common] == b->frames[common])
        common++;
    return common;
}

static bool is_own_file(const char *file)
{
    return file && file[0] == '/' && strncmp(file, "/usr/", 5) != 0;
}

static void narrow(struct printer *printer, const char *file)
{
    char *prefix = printer->prefix;
    if (!printer->has_prefix) {
        const char *slash = strrchr(file, '/');
        size_t bytes = (size_t)(slash - file) + 1;
        if (bytes >= TEXT_BYTES)
            bytes = 1;
        memcpy(prefix, file, bytes);
        prefix[bytes] = 0;
        printer->has_prefix = true;
        return;
    }
    size_t same = 0;
    while (prefix[same] && prefix[same] == file[same])
        same++;
    while (same && prefix[same - 1] != '/')
        same--;
    prefix[same] = 0;
}

void print_narrow_file(struct printer *printer, const char *file)
{
    if (is_own_file(file))
        narrow(printer, file);
}

void print_narrow(struct printer *printer, uint32_t place)
{
    const struct places *places = &printer->places;
    for (; place; place = places->items[place].parent)
        print_narrow_file(printer, printer->profile->frames[places->items[place].class].file);
}

void print_add_callers(const struct printer *printer, const struct chain *chain, size_t from,
                       size_t end, char *line, size_t bytes)
{
    char name[NAME_BYTES], place[TEXT_BYTES];
    size_t count = end - from;
    for (size_t i = 0; i < count; i++) {
        /* The outermost two say which part of the program, the innermost where. */
        if (count > COMMON_MAX && i == 2) {
            print_add(line, bytes, " → … %zu more …", count - COMMON_MAX);
            i = count - (COMMON_MAX - 2);
        }
        const struct profile_frame *frame = print_frame_at(printer, chain, from + i);
        print_function(printer, frame, name);
        print_add(line, bytes, "%s%s%s", i ? " → " : "", name,
                  frame->flags & PROFILE_FRAME_INLINED ? " (inlined)" : "");
    }
    place_name(printer, print_frame_at(printer, chain, end - 1), place);
    if (place[0])
        print_add(line, bytes, " (%s)", place);
}

void print_common(struct printer *printer, const struct chain *chain, size_t common)
{
    char line[TEXT_BYTES * 4] = "";
    if (common == 0)
        return;
    print_add_callers(printer, chain, 0, common, line, sizeof line);
    fprintf(printer->out, "      %sin%s ", print_on(printer, DIM), print_off(printer));
    print_wrap(printer, PLAIN, 9, 9, line);
}

/* What is special about the access that an innermost frame makes. */
static const char *access_words(uint32_t flags)
{
    if (flags & PROFILE_FRAME_CALL)
        return " (a call's return address)";
    if (flags & PROFILE_FRAME_RETURN)
        return " (a return)";
    return flags & PROFILE_FRAME_IMPRECISE ? " (instruction unknown)" : "";
}

/* made: the frame that makes the access, this one or one that is not printed; NULL: this one is a
   caller. within: what of the system's it calls for that; NULL: nothing that is not printed. */
static void print_frame(struct printer *printer, const struct profile_frame *frame,
                        const char *label, const struct profile_frame *made,
                        const struct profile_frame *within)
{
    char name[NAME_BYTES], remarks[128] = "", place[TEXT_BYTES + NAME_BYTES + 64], module[64];
    const char *access = made ? access_words(made->flags) : "";
    bool caller = !made;
    print_function(printer, frame, name);
    place_name(printer, frame, place);
    if (place[0] && !frame->line) {
        print_add(place, sizeof place, " (line unknown)");
    } else if (!place[0] && frame->function && frame->module) {
        name_clean(name_base(printer->profile->modules[frame->module].path), module, sizeof module);
        print_add(place, sizeof place, "in %s", module);
    }
    print_add(
        remarks, sizeof remarks, "%s%s%s", frame->flags & PROFILE_FRAME_INLINED ? " (inlined)" : "",
        made && made->flags & PROFILE_FRAME_KERNEL ? " (by the kernel, in this system call)" : "",
        place[0] ? "" : access);
    if (place[0])
        print_add(place, sizeof place, "%s", access);
    if (within && within->function) {
        char called[NAME_BYTES];
        print_function(printer, within, called);
        print_add(place, sizeof place, "%s%s", place[0] ? ", in " : "in ", called);
    }
    fprintf(printer->out, "      %-*s%s%s%s%s%s%s", LABEL_COLUMNS, label, caller ? "← " : "",
            print_link_on(printer), print_on(printer, caller ? PLAIN : BOLD), name,
            print_off(printer), remarks);
    print_tail(printer, PLAIN,
               6 + LABEL_COLUMNS + (caller ? 2 : 0) + name_columns(name) + name_columns(remarks),
               6 + LABEL_COLUMNS + 2, place);
    fputs(print_link_off(printer), printer->out);
}

static void print_source(struct printer *printer, const struct profile_frame *frame)
{
    char text[TEXT_BYTES + 8];
    if (!source_line(&printer->sources, frame->file, frame->line, text, TEXT_BYTES))
        return;
    unsigned most = printer->width - 6 - LABEL_COLUMNS - 2;
    if (name_columns(text) > most)
        strcpy(text + name_fitting(text, most - 1), "…");
    fprintf(printer->out, "      %*s%s%s│ %s%s%s\n", LABEL_COLUMNS, "", print_link_on(printer),
            print_on(printer, DIM), text, print_off(printer), print_link_off(printer));
}

void print_side(struct printer *printer, const struct chain *chain, size_t common,
                const char *label, const char *remark)
{
    if (chain->count == 0) {
        fprintf(printer->out, "      %-*sunknown location\n", LABEL_COLUMNS, label);
        return;
    }
    size_t own = shown_frames(chain) - 1;
    const struct profile_frame *leaf = print_frame_at(printer, chain, own);
    print_frame(printer, leaf, label, print_frame_at(printer, chain, chain->count - 1),
                chain->inner ? print_frame_at(printer, chain, own + 1) : NULL);
    print_source(printer, leaf);
    if (remark[0]) {
        fprintf(printer->out, "      %*s", LABEL_COLUMNS, "");
        print_wrap(printer, PLAIN, 6 + LABEL_COLUMNS, 6 + LABEL_COLUMNS, remark);
    }
    size_t shown = 0;
    for (size_t i = own; i > common; i--) {
        if (shown++ == CALLERS_MAX) {
            fprintf(printer->out, "      %*s← %zu more caller%s\n", LABEL_COLUMNS, "", i - common,
                    print_plural(i - common));
            return;
        }
        print_frame(printer, print_frame_at(printer, chain, i - 1), "", NULL, NULL);
    }
    if (chain->incomplete && common == 0)
        fprintf(printer->out, "      %*s← … outer callers unknown\n", LABEL_COLUMNS, "");
}

/* Do both end in the same frames, as far as these are printed or named? */
static bool same_end(const struct chain chains[2])
{
    size_t a = shown_frames(&chains[0]), b = shown_frames(&chains[1]);
    if (!chains[0].count || !chains[1].count || chains[0].frames[a - 1] != chains[1].frames[b - 1])
        return false;
    bool within = chains[0].inner || chains[1].inner;
    return !within ||
           (chains[0].inner && chains[1].inner && chains[0].frames[a] == chains[1].frames[b]);
}

void print_sides(struct printer *printer, const struct chain chains[2], bool same_place,
                 const char *first, const char *second)
{
    size_t common = print_common_frames(&chains[0], &chains[1]);
    print_common(printer, &chains[0], common);
    if (same_place || (same_end(chains) && common + 1 == shown_frames(&chains[0]) &&
                       common + 1 == shown_frames(&chains[1]))) {
        print_side(printer, &chains[0], common, strcmp(first, second) ? "both" : first, "");
    } else {
        print_side(printer, &chains[0], common, first, "");
        print_side(printer, &chains[1], common, second, "");
    }
}

void print_bare_sides(struct printer *printer, const struct chain chains[2], const char *first,
                      const char *second)
{
    bool same = same_end(chains);
    for (unsigned i = 0; i < (same ? 1 : 2); i++) {
        size_t callers = chains[i].count ? shown_frames(&chains[i]) - 1 : 0;
        print_side(printer, &chains[i], callers, same ? "both" : i ? second : first, "");
    }
}

size_t print_given_before(struct printer *printer, const char *id, size_t number)
{
    for (size_t i = 0; i < printer->given_count; i++)
        if (strcmp(printer->given[i].id, id) == 0)
            return printer->given[i].number;
    if (printer->given_count < BASE_COUNT(printer->given))
        printer->given[printer->given_count++] = (struct given){id, number};
    return 0;
}

/* Advice that was given before is not repeated. */
void print_given(struct printer *printer, const struct advice *advice, size_t number)
{
    if (!advice->id)
        return;
    size_t before = print_given_before(printer, advice->id, number);
    if (before) {
        fprintf(printer->out, "      %s(as for #%zu)%s\n", print_on(printer, DIM), before,
                print_off(printer));
        return;
    }
    fprintf(printer->out, "      ");
    print_wrap(printer, PLAIN, 6, 6, advice->text);
}

void print_degraded(struct printer *printer, const struct profile *profile, const char *of)
{
    for (size_t i = 0; i < profile->degraded_count; i++) {
        char clean[TEXT_BYTES * 2], line[TEXT_BYTES * 2 + 32];
        name_clean(profile->degraded[i].text, clean, sizeof clean);
        snprintf(line, sizeof line, "%.16s%s", of, clean);
        fprintf(printer->out, "  - ");
        print_wrap(printer, PLAIN, 4, 4, line);
    }
}

void print_degraded_both(struct printer *printer, const struct profile *const profiles[2],
                         const char *const of[2])
{
    bool headed = false;
    for (unsigned i = 0; i < 2; i++) {
        if (!profiles[i] || !profiles[i]->degraded_count)
            continue;
        if (!headed)
            fprintf(printer->out, "\n%sLimits of %s%s\n", print_on(printer, STRONG),
                    profiles[0] && profiles[1] ? "these recordings" : "this recording",
                    print_off(printer));
        headed = true;
        print_degraded(printer, profiles[i], of[i]);
    }
}

static bool plain_word(const char *word)
{
    return word[0] && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_./-+=:,@%")] == 0;
}

void print_quote(const char *word, char *out, size_t out_bytes)
{
    char clean[TEXT_BYTES];
    name_clean(word, clean, sizeof clean);
    out[0] = 0;
    if (plain_word(clean)) {
        print_add(out, out_bytes, "%s", clean);
        return;
    }
    print_add(out, out_bytes, "'");
    for (const char *at = clean; *at && strlen(out) + 8 < out_bytes; at++)
        print_add(out, out_bytes, *at == '\'' ? "'\\''" : "%c", *at);
    print_add(out, out_bytes, "'");
}
