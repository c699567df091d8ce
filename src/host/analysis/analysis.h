// SPDX-License-Identifier: MIT
/*
 * analysis: what a verb knows of its profiles, as one struct of functions and facts. Whatever goes over verbs (import,
 * report, diff, check, export, view) goes over the table of them and asks no verb by its name.
 *
 * Only the interface lies here, below all that use it; the table and what it points to lie in the wing `verbs`, above
 * all that they print and compare with, and are linked into the program. Nothing includes that wing.
 *
 * Everything pointed to is constant and lives as long as the program. A slot may be NULL, unless it says otherwise:
 * then the verb has nothing of the kind. All slots are called for every profile whichever verb recorded it, because
 * a profile may hold what several verbs look for: whether it holds something of theirs they see for themselves. What
 * only the verb that recorded decides says so ("of its own profiles").
 */
#ifndef HEADROOM_ANALYSIS_H
#define HEADROOM_ANALYSIS_H

#include "base/base.h"

struct analysis_compare; /* compare/findings.h */
struct analysis_export;  /* export/samples.h */
struct analysis_view;    /* view/tree.h */
struct json;
struct places;
struct printer;
struct profile;
struct report_options;

/* The report for people (show/print.h). `state` is what `begin` made, or NULL. */
struct analysis_text {
    /* What the other functions need to know. False: no memory; *state is then untouched. */
    bool (*begin)(const struct printer *printer, void **state);
    void (*end)(void *state); /* frees it; not NULL if begin is not */
    /* Narrows the printer's prefix by the files that will be shown (print_narrow). */
    void (*narrow)(struct printer *printer, const void *state);
    /* Of its own profiles: one line on how was observed, in place of that of all. False: that of all. */
    bool (*describe)(const struct printer *printer, char *line, size_t bytes);
    /* Rows under the head. */
    void (*summary)(struct printer *printer, const void *state);
    /* The findings, under headings; sets the printer's `next`. False: no memory. */
    bool (*findings)(struct printer *printer, void *state);
    /* Whether `limits` has anything to say; and that, under the heading of all limits. Both or none. */
    bool (*is_limited)(const struct printer *printer, const void *state);
    void (*limits)(struct printer *printer, const void *state);
};

struct analysis {
    const char *name; /* the verb's, as the command line and profiles have it; never NULL */

    /* ---- recording ---- */

    const char *exact_unit; /* what --exact sees each one of: "access"; never NULL */
    bool samples;           /* else its recordings take none that could be accounted for */

    /* ---- reports ---- */

    const struct analysis_text *text; /* never NULL */
    /* Its member of the report's object, docs/formats/report.md. False: no memory. Never NULL. */
    bool (*json)(struct json *json, const struct places *places,
                 const struct report_options *options);
    const struct analysis_compare *compare;
    const struct analysis_export *export;
    const struct analysis_view *view;
};

/* All, in the order in which reports have them; NULL ends. Defined in verbs/table. */
extern const struct analysis *const analyses[];

/* The one that recorded a profile whose run names `verb`; NULL: none of this headroom. */
const struct analysis *analysis_find(const char *verb);

#endif
