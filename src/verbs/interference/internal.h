// SPDX-License-Identifier: MIT
/*
 * Between the files of interference: the profile's rows as what score.h takes (figures.c), for
 * people (text.c, draw.c), as JSON (json.c), in comparisons (compare.c) and exports (export.c).
 */
#ifndef HEADROOM_INTERFERENCE_INTERNAL_H
#define HEADROOM_INTERFERENCE_INTERNAL_H

#include "analysis/advice.h"
#include "interference/interference.h"
#include "interference/score.h"
#include "show/json.h"
#include "show/print.h"

/* Does the profile have a report on lost time? That is, was it recorded for it. */
bool interference_is_in(const struct profile *profile);

struct interference_rows { /* of a span: indices into the profile's lists */
    size_t parts, parts_end, bins, bins_end, children, children_end;
    size_t stacks, stacks_end, holders, holders_end, samples, samples_end;
};

/* What a span's score would be with another key (--key). */
struct interference_rekeyed {
    uint32_t span, value; /* value: as in struct interference_sample */
    struct interference_regrouped regrouped;
    double sci;                          /* corrected */
    struct interference_group groups[8]; /* most samples first */
};

struct interference_figures {
    const struct profile *profile;
    struct interference_input input;
    struct interference_result *result;
    struct interference_rows *rows; /* by span */
    /* what input points to */
    struct interference_thread *threads;
    struct interference_function *functions;
    struct interference_span *spans;
    struct interference_part *parts;
    struct interference_bin *bins;
    struct interference_child *children;
    struct interference_sample *samples;
    uint32_t *callers;                    /* by stack */
    struct interference_rekeyed *rekeyed; /* by span */
    size_t rekeyed_count;
    uint64_t events, skipped, unhooked, switches_lost, highest_every;
    double cost_ns;
};

/* False: no memory. */
bool interference_figures(const struct profile *profile, const struct report_options *options,
                          struct interference_figures *figures);
void interference_figures_free(struct interference_figures *figures);

extern const char
    *const interference_cause_words[INTERFERENCE_CAUSES]; /* for people: "cause unknown", "lock" */

/* Is that key, "FUNCTION:N" or "FUNCTION:result", about that function? value: as in struct
 * interference_sample. */
bool interference_key_matches(const char *key, const char *function, uint32_t *value);

/* Name of a span's function; of a sequence "a → b ×3 → c". */
enum { SPAN_NAME_BYTES = 512 };
void interference_name(const struct interference_figures *figures, uint32_t span, unsigned columns,
                       char out[SPAN_NAME_BYTES]);

/* Its key for people: "lock 0x7f…", "descriptor 5", "up to 64 bytes"; "" if it has none. */
void interference_key(const struct interference_figures *figures, uint32_t span, char out[96]);

/* Of enum spans_class and spans_entry: "lock", "patched". */
const char *interference_class(uint32_t class);
const char *interference_entry(uint32_t entry);

/* What is usually done about its cause. id NULL: nothing can be said. */
struct advice interference_advice(const struct interference_figures *figures, uint32_t span);

/* The same, knowing no more than the cause. */
struct advice interference_usual(enum interference_cause cause);

/* ---- text ------------------------------------------------------------------------------------ */

/* A histogram of durations, one character a bin of a logarithmic axis, with its scale below. */
void interference_draw(struct printer *printer, const struct interference_span *span,
                       const struct interference_score *score, unsigned indent);

extern const struct analysis_text interference_text;

/* ---- elsewhere ------------------------------------------------------------------------------- */

extern const struct analysis_compare interference_compare;

bool interference_json(struct json *json, const struct places *places,
                       const struct report_options *options);
extern const struct analysis_export interference_export;
extern const struct analysis_gain interference_gains;
extern const struct analysis_view interference_view;

#endif
