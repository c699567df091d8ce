// SPDX-License-Identifier: MIT
/*
 * What every part of a report for people prints with: words, numbers, calling contexts.
 *
 * Everything printed from the profile goes through name_clean or name_shorten.
 */
#ifndef HEADROOM_SHOW_PRINT_H
#define HEADROOM_SHOW_PRINT_H

#include "analysis/advice.h"
#include "show/names.h"
#include "show/places.h"
#include "show/report.h"
#include "show/source.h"

enum {
    TEXT_BYTES = 1024,
    DEPTH_MAX = 4096, /* frames of a context that are looked at */
};

/* Advice already printed for the current kind, and where. */
struct given {
    const char *id; /* as in struct advice */
    size_t number;
};

/* What the reader may do next: set by what prints findings. */
struct report_next {
    bool too_few;        /* samples, for good figures */
    const char *instead; /* options that give them, where more samples would not; NULL: none */
    const char *
        every; /* options that observe all accesses, better than this recording if it does; NULL: --exact */
    const char *verb;  /* that takes these; NULL: the one that recorded */
    bool cut;          /* there are more findings than were shown */
    const char *also;  /* another verb that the program should be recorded with; NULL: none */
    const char *kinds; /* for --kinds: of which most was wasted; NULL: no such choice */
};

enum { PRINT_LINK = 96 };

struct printer {
    FILE *out;
    const struct profile *profile;
    const struct report_options *options;
    struct places places;
    struct source_cache sources;
    unsigned width;
    struct given given[16];
    size_t given_count;
    struct report_next next;
    char link[PRINT_LINK]; /* that opens the finding at hand, whole; "" */
    bool has_prefix;
    char prefix[TEXT_BYTES]; /* directory left out of file names, ends in '/'; or "" */
};

/* A context as frames, outermost first, without what runs before main. */
struct chain {
    uint32_t frames[DEPTH_MAX];
    size_t count;
    size_t inner;    /* innermost frames that are not printed: the system's, below own code */
    bool incomplete; /* callers are missing outside */
};

/* ---- words --------------------------------------------------------------------------------- */

enum tone { PLAIN, BOLD, DIM, STRONG };

/* Columns to print for a terminal of that many; 0: not known. */
unsigned print_width(unsigned columns);

/* Terminal codes around a tone; empty without colours. */
const char *print_on(const struct printer *printer, enum tone tone);
const char *print_off(const struct printer *printer);

/* What follows, until that is cleared, is about this finding of the page:
   "view=pairs&kind=dead&pair=3". Its places lead there. Does nothing without links. */
__attribute__((format(printf, 2, 3))) void print_link(struct printer *printer, const char *format,
                                                      ...);
void print_link_clear(struct printer *printer);

/* Around a text that leads there; empty without a link. */
const char *print_link_on(const struct printer *printer);
const char *print_link_off(const struct printer *printer);

/* Text broken at blanks; the first line continues at column `used`, others start at `indent`. */
void print_wrap(struct printer *printer, enum tone tone, unsigned used, unsigned indent,
                const char *text);

/* Ends a line of which that many columns are used: the text goes two blanks behind them if it fits
   there, else onto lines of its own. */
void print_tail(struct printer *printer, enum tone tone, unsigned used, unsigned indent,
                const char *text);

/* Appends to a text of that many bytes, cut to fit. */
__attribute__((format(printf, 3, 4))) void print_add(char *text, size_t bytes, const char *format,
                                                     ...);

/* 1234567 -> "1,234,567" */
const char *print_grouped(uint64_t value, char out[32]);

/* 1536 -> "1.5 KiB" */
const char *print_bytes(double bytes, char out[32]);

const char *print_plural(uint64_t count);

/* A function's name, short, or where it lies. */
void print_function(const struct printer *printer, const struct profile_frame *frame,
                    char out[NAME_BYTES]);

/* "file:line", or "" if unknown */
void print_place(const struct printer *printer, const char *file, uint32_t line,
                 char out[TEXT_BYTES]);

/* The number of the finding for which that was printed before, 0: none; then it is noted as printed
   for this one. */
size_t print_given_before(struct printer *printer, const char *id, size_t number);

/* The advice on finding `number`, "(as for #2)" if it was printed before, nothing if there is none.
 */
void print_given(struct printer *printer, const struct advice *advice, size_t number);

/* What was degraded in a recording, an item each; `of`: "baseline: ", or "". */
void print_degraded(struct printer *printer, const struct profile *profile, const char *of);

/* The same of two under a heading, if there is anything; either may be NULL. */
void print_degraded_both(struct printer *printer, const struct profile *const profiles[2],
                         const char *const of[2]);

/* As a shell takes it. */
void print_quote(const char *word, char *out, size_t out_bytes);

/* ---- contexts ------------------------------------------------------------------------------ */

/* By places, so that recursion is folded as it was for the ranking. The frames are those of the
   class, the lowest that read the same. */
void print_make_chain(const struct printer *printer, uint32_t place, struct chain *chain);

/* The same, down to own code only, unless all frames are asked for. */
void print_make_own_chain(const struct printer *printer, uint32_t place, struct chain *chain);

/* Outer frames that both share; the innermost ones that are printed never count. */
size_t print_common_frames(const struct chain *a, const struct chain *b);

const struct profile_frame *print_frame_at(const struct printer *printer, const struct chain *chain,
                                           size_t index);

/* "in main → work → … (file:line)": outer callers that both contexts share, and where the
   innermost of them calls. */
void print_common(struct printer *printer, const struct chain *chain, size_t common);

/* Appends the same of the frames from `from` up to `end`, without "in"; from < end. */
void print_add_callers(const struct printer *printer, const struct chain *chain, size_t from,
                       size_t end, char *line, size_t bytes);

/* The innermost frame with its line and the remark, "" for none, then the callers up to the common
   ones. */
void print_side(struct printer *printer, const struct chain *chain, size_t common,
                const char *label, const char *remark);

/* Both sides of a pair of places, below their common callers. */
void print_sides(struct printer *printer, const struct chain chains[2], bool same_place,
                 const char *first, const char *second);

/* The same of a finding that more than one context leads to: without callers. */
void print_bare_sides(struct printer *printer, const struct chain chains[2], const char *first,
                      const char *second);

/* Narrows the prefix to what the program's own files of this place's callers share, too; and a
 * file. */
void print_narrow(struct printer *printer, uint32_t place);
void print_narrow_file(struct printer *printer, const char *file);

/* ---- numbers ----------------------------------------------------------------------------------
 */

/* 0 .. 9999, then in K, M, G, ... of 1024 */
const char *print_short(double value, char out[32]);

/* 0 .. 9,999,999 with commas, then 12.3 M, G, T of 1000; fractions of small ones. */
const char *print_quantity(double value, char out[32]);

/* "12.3 %", "<0.1 %" */
const char *print_percent(double share, char out[32]);

/* 1500 -> "1.5 µs"; its width is name_columns, not strlen. */
const char *print_time(double ns, char out[32]);

/* A size of a cache: 32768 -> "32 KiB", 1310720 -> "1.25 MiB" */
const char *print_size(uint64_t bytes, char out[32]);

/* A bar of up to `most` columns, at most PRINT_BAR. */
enum { PRINT_BAR = 48 };
const char *print_bar(double share, unsigned most, char out[4 * PRINT_BAR + 1]);

/* Blanks up to that width, which printf counts in bytes. */
void print_pad(struct printer *printer, const char *text, unsigned columns, bool right);

#endif
