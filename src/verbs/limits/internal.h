// SPDX-License-Identifier: MIT
/* Between the files of limits: loops with their rows (figures.c), what to do (advice.c), for people (text.c), as JSON (json.c), on
   the page (view.c). */
#ifndef HEADROOM_LIMITS_INTERNAL_H
#define HEADROOM_LIMITS_INTERNAL_H

#include "analysis/advice.h"
#include "limits/limits.h"
#include "show/json.h"
#include "show/places.h"
#include "show/print.h"

enum limits_bound { LIMITS_RESOURCE, LIMITS_RECURRENCE, LIMITS_FRONTEND, LIMITS_MEMORY };
extern const char *const limits_bound_names[]; /* as JSON has them */
extern const char *const limits_bound_words[]; /* "its units", ... */

/* Measured over predicted beyond which something that the bounds do not see takes the time. */
#define LIMITS_UNEXPLAINED 1.25

struct limits_loop {
    const struct profile_limit_loop *row;
    const struct profile_limit_instruction *instructions;
    size_t instructions_count;
    const struct profile_limit_resource *resources;
    size_t resources_count;
    const struct profile_limit_arc *arcs; /* the critical circuit */
    size_t arcs_count;
    const struct profile_limit_schedule *schedules; /* of what it executed, by memory model */
    size_t schedules_count;                         /* 0: nothing was seen to execute */
    const struct profile_limit_use *uses;           /* of the first schedule's units */
    size_t uses_count;
    const struct profile_limit_operation *operations;
    size_t operations_count;
    const struct profile_limit_match *match; /* NULL: its source is not known */
    const struct profile_limit_fate *fates;
    size_t fates_count;
    const struct profile_ceiling_loop *
        ceiling; /* tried with its data in the first-level cache; NULL: it was not, or gave no figure */
    enum limits_bound limit;
    double next_cycles; /* what the next bound would allow */
    double error;  /* of what was measured, as a part of it, at 95 %: of samples and of the clock */
    size_t number; /* among those listed, from 1 */
};

struct limits_report {
    const struct profile *profile;
    struct limits_loop *loops; /* in the order of the profile */
    size_t count;
};

/* NULL: no memory. */
struct limits_report *limits_report_make(const struct profile *profile);
void limits_report_free(void *report); /* NULL does nothing */

extern const char
    *const limits_memory_names[]; /* as JSON has them, by profile_limit_schedule.memory */

/* The row that names the bottleneck, or NULL. */
const struct profile_limit_resource *limits_bottleneck(const struct limits_loop *loop);

/* What the critical circuit is. */
enum limits_circuit {
    LIMITS_NO_CIRCUIT,
    LIMITS_COUNTER, /* a cycle: an induction variable */
    LIMITS_REDUCTION, /* nothing but additions to one sum, or one operation on what it made an iteration ago */
    LIMITS_RUNNING, /* the same, and what it makes is needed in each iteration, as in a running sum */
    LIMITS_DIVISION,
    LIMITS_STORED, /* through memory: what was stored is loaded again */
    LIMITS_CHASE,  /* an address that was loaded an iteration ago */
    LIMITS_CHAIN,  /* several operations */
};
enum limits_circuit limits_circuit_of(const struct limits_loop *loop);

/* Copies of a recurrence that would bring it down to the next bound; at least 2. */
unsigned limits_copies(const struct limits_loop *loop);

/* Do misses take so much of it, by trials, that memory is its limit? */
bool limits_misses(const struct limits_loop *loop);

/* Part of its time that the next bound would save; 0: there is none, or both are equal. */
double limits_gain(const struct limits_loop *loop);
/* Of all samples, in nanoseconds. */
double limits_cpu_ns(const struct profile *profile);

/* "Limited by its recurrence; the next limit, its units, would allow 1 cycle: 75 % less time." */
void limits_verdict(const struct limits_loop *loop, char *text, size_t bytes);
struct advice limits_advice(const struct limits_loop *loop);

/* source.c: of the loops as their source has them, and of what became of that. */
void limits_print_sources(struct printer *printer);
void limits_print_fates(struct printer *printer, const struct limits_loop *loop);
void limits_sources_member(struct json *json, const struct profile *profile);
void limits_match_member(struct json *json, const struct limits_loop *loop);

/* outside.c: a sentence, if most of the time is in no innermost loop. False: no memory. */
bool limits_print_outside(struct printer *printer, const struct limits_report *report);

extern const struct analysis_text limits_text;
bool limits_json(struct json *json, const struct places *places,
                 const struct report_options *options);
extern const struct analysis_view limits_view;
extern const struct analysis_compare limits_compare;
extern const struct analysis_export limits_export;

#endif
