// SPDX-License-Identifier: MIT
/*
 * analysis: what a verb knows about its profiles, as one struct of functions and facts. Importing,
 * merging, reports, comparisons, exports and pages go through the table of these structs and never
 * compare a verb's name.
 *
 * Only the interface is here, below the rooms that use it. The table and the verbs are in the wing
 * `verbs`, above the rooms that they print and compare with, and are linked into the program: no
 * other wing includes a header of theirs.
 *
 * Everything that a slot points to is constant and lives as long as the program. A slot may be
 * NULL, unless it says otherwise; then the verb has nothing of that kind. Slots are called for
 * every profile, whichever verb recorded it: a profile may hold rows of several verbs (a recording
 * of waste may count reuses too), so each slot decides by itself whether the profile has something
 * for it. Slots that are called for the recording verb alone say so: "of its own profiles". They
 * keep no state of their own: thread-safe as far as their arguments are different ones.
 */
#ifndef HEADROOM_ANALYSIS_H
#define HEADROOM_ANALYSIS_H

#include "base/base.h"

struct analysis_compare; /* compare/findings.h */
struct analysis_export;  /* export/samples.h */
struct analysis_gain;    /* gain/gain.h */
struct analysis_view;    /* view/tree.h */
struct json;
struct places;
struct printer;
struct profile;
struct report_options;

/* What a raw log that was left over says about the recording that wrote it. */
struct analysis_log {
    bool exact;     /* written by the exact engine */
    bool spans;     /* spans are saved beside it */
    bool paths;     /* it holds path records */
    bool sharing;   /* it holds records of shared lines */
    uint32_t kinds; /* enum wire_kind_bits, from its configuration */
    bool clones;    /* clones of loops were executed, and nothing was sampled */
};

/* The report for people (show/print.h). `state` is what `begin` made, or NULL. */
struct analysis_text {
    /* Prepares what the other functions need. False: no memory; *state is then untouched. */
    bool (*begin)(const struct printer *printer, void **state);
    void (*end)(void *state); /* frees it; with begin */
    /* Narrows the printer's prefix by the files that will be shown (print_narrow). */
    void (*narrow)(struct printer *printer, const void *state);
    /* Of its own profiles: one line, of that many bytes, on how the program was observed. False:
       line is untouched, and the usual one is printed. */
    bool (*describe)(const struct printer *printer, char *line, size_t bytes);
    /* Rows under the head. */
    void (*summary)(struct printer *printer, const void *state);
    /* The findings, under headings; sets the printer's `next`. False: no memory. */
    bool (*findings)(struct printer *printer, void *state);
    bool beside; /* these are printed behind those of a verb that leads, too */
    /* Does `limits` print anything? With limits. */
    bool (*is_limited)(const struct printer *printer, const void *state);
    /* What limits the recording, under the heading that all verbs share. */
    void (*limits)(struct printer *printer, const void *state);
};

struct analysis {
    const char *name; /* the verb's, as the command line and profiles have it; never NULL */

    /* ---- recording ---- */

    const char *exact_unit; /* what --exact sees all of: "access"; never NULL */
    bool samples;           /* live recordings take samples, which reports account for */
    bool caches;            /* profiles list the caches of the machine */
    bool leads;             /* its part of a report of its own profiles is the whole: others'
                               findings are left out, unless kinds are asked for */
    bool loops;             /* profiles have the loops around code; costs decoding it */
    /* Does a recording of the verb leave such a log? Of any log exactly one verb says so. Never
     * NULL. */
    bool (*left)(const struct analysis_log *log);

    /* ---- merging ---- */

    /* Were the profiles recorded so differently that they cannot be merged? Then why holds one
       clause, in which the caller replaces control characters. False: why is untouched. */
    bool (*clashes)(const struct profile *a, const struct profile *b, char *why, size_t why_bytes);

    /* ---- reports ---- */

    const struct analysis_text *text; /* never NULL */
    /* Its member of the report's object, docs/formats/report.md. False: no memory. Never NULL. */
    bool (*json)(struct json *json, const struct places *places,
                 const struct report_options *options);
    const struct analysis_compare *compare;
    const struct analysis_export *export;
    const struct analysis_gain *gain;
    const struct analysis_view *view;
};

/* All verbs that record profiles, in the order of their parts in reports; NULL ends. At least one.
 * Defined in verbs/table. */
extern const struct analysis *const analyses[];

/* The verb of that name, as a profile's run has it; NULL: this headroom has no such verb. */
const struct analysis *analysis_find(const char *verb);
/* The same, if its part leads; else NULL. */
const struct analysis *analysis_lead(const char *verb);

#endif
