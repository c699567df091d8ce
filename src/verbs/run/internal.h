// SPDX-License-Identifier: MIT
/* Between the files of run: CPU time by function and by line (time.c), which the others write. */
#ifndef HEADROOM_RUN_INTERNAL_H
#define HEADROOM_RUN_INTERNAL_H

#include "export/samples.h"
#include "gain/gain.h"
#include "run/run.h"
#include "show/objects.h"
#include "show/places.h"
#include "show/print.h"
#include "view/tree.h"

extern const struct analysis_text run_text;
extern const struct analysis_compare run_compare;
extern const struct analysis_export run_export;
extern const struct analysis_gain run_gains;
extern const struct analysis_view run_view;
bool run_json(struct json *json, const struct places *places, const struct report_options *options);

struct time_profile;

/* Adds to the line, of that many bytes, `before` and the functions that take most time, with their shares; nothing if too few
   samples tell. */
void run_add_functions(struct printer *printer, const struct time_profile *time, const char *before,
                       char *line, size_t bytes);

/* The list of what to fix first. False: no memory. */
bool run_print_findings(struct printer *printer, const struct time_profile *time);
bool run_findings_json(struct json *json, const struct places *places,
                       const struct report_options *options);

/* Functions most of whose time goes to being called, as symptoms. False: no memory. */
bool run_add_calls(const struct places *places, const struct gain_lines *lines,
                   struct gain_sink *sink);

/* What threads waited for, if that was timed. */
void run_print_waits(struct printer *printer);
void run_waits_json(struct json *json, const struct profile *profile);

/* Was it recorded to find what to fix first? */
bool run_is_own(const struct profile *profile);

/* CPU time that was found to be in one function, or at one line. */
struct time_row {
    uint32_t frame; /* one of those that are it; 0: not known */
    uint64_t ticks; /* that `self` stands for */
    double self;    /* ns, innermost there */
    double own;     /* ns, and in what of the system's code it calls: innermost own code there */
    double total;   /* ns, and in all that it calls: once for each stack that it is in */
};

struct time_rows {
    struct time_row *items; /* by `own`, largest first; equal ones by frame */
    size_t count, capacity;
};

struct time_profile {
    uint64_t ticks; /* samples */
    double ns;      /* CPU time in user mode that they stand for */
    double squares; /* Σ ns² of a row over its ticks: what intervals need */
    double system;  /* of ns: due in system calls */
    double unknown; /* of ns: of no known context */
    struct time_rows functions, lines;
};

/* False: no memory; *time is then untouched. */
bool time_make(const struct places *places, struct time_profile *time);
void time_free(struct time_profile *time);

/* A row's `own` as a share of the whole. */
struct profile_share time_share(const struct time_profile *time, double part);

#endif
