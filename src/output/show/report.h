// SPDX-License-Identifier: MIT
/*
 * The report of a profile as text and JSON. Pure: reads a profile (and source files, for the
 * lines it quotes), writes to a FILE the caller owns. Never exits.
 */
#ifndef HEADROOM_SHOW_REPORT_H
#define HEADROOM_SHOW_REPORT_H

#include "base/base.h"
#include "profile/profile.h"
#include <stdio.h>

/* Of paths. */
enum report_metric {
    REPORT_COUNT,
    REPORT_INSTRUCTIONS,
    REPORT_LOADS,
    REPORT_STORES,
    REPORT_CYCLES,
    REPORT_MISSES,
    REPORT_EVENTS,
    REPORT_METRICS
};

/* What the contexts of one finding have in common: see show/group.h. */
enum report_by {
    REPORT_BY_DEFAULT, /* nothing was asked for */
    REPORT_BY_CAUSE,   /* the finest of the following for which the evidence suffices, no context */
    REPORT_BY_CONTEXT, /* both calling contexts */
    REPORT_BY_PAIR,    /* both places in own code */
    REPORT_BY_LINE,    /* the line, in own code, of the access that is wasted */
    REPORT_BY_FUNCTION, /* its function */
    REPORT_BY_MODULE,   /* its module */
    REPORT_BYS
};

/* Of the kinds of findings: lines that threads share. */
enum { REPORT_SHARING = 1 << PROFILE_KINDS };

struct report_options {
    unsigned
        limit; /* findings shown per kind, without weak ones; 0: all, in JSON unless they are very many */
    enum report_by by;
    bool all_frames; /* text: those of the system's code below own code, too */
    bool color;      /* ANSI colours */
    bool links;      /* findings lead to the page's views of them, by OSC 8: of the page alone */
    bool ascii;      /* text: for a terminal that shows nothing else */
    bool sources;    /* quote source lines */
    unsigned width;  /* columns; 0: 100 */
    uint8_t kinds;   /* bits as wire_kind_bits, REPORT_SHARING; 0: all that were recorded */
    bool paper_bins; /* reuse: histograms in [0, 4K), [4K, 8K), ... */
    double hot;      /* paths: least share of the metric; 0: 0.01 */
    unsigned metric; /* paths: to rank by, 1 + enum report_metric; 0: cycles if they were measured,
                        else misses, else instructions */
    /* interference: "FUNCTION:N", by which samples are distinguished; N: 0,
       1, 2 or "result" */
    const char *const *keys;
    size_t keys_count;
    uint64_t least_executions; /* interference: for a score; 0: 1000 */
    const char *profile_path;  /* as the user would type it, for "next command" hints */
};

enum base_status report_text(struct profile *profile, const struct report_options *options,
                             FILE *out);
/* What `write` writes, so if ascii. Its status, or that of writing to out. */
enum base_status ascii_wrap(bool ascii, enum base_status (*write)(const void *context, FILE *out),
                            const void *context, FILE *out);

/* The JSON object of docs/formats/report.md, "headroom-report/1". */
enum base_status report_json(struct profile *profile, const struct report_options *options,
                             FILE *out);

#endif
