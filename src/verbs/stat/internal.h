// SPDX-License-Identifier: MIT
/* Between the files of stat: rows of figures (figures.c), which are printed for people (text.c), as JSON (json.c), in comparisons (compare.c), exports (export.c), and drawn on the page
   (view.c). */
#ifndef HEADROOM_STAT_INTERNAL_H
#define HEADROOM_STAT_INTERNAL_H

#include "profile/profile.h"
#include "show/json.h"
#include "show/places.h"
#include "show/print.h"
#include "stat/stat.h"
#include "stat/statistics.h"

enum stat_outlier { STAT_USUAL, STAT_FIRST_RUN, STAT_DISK, STAT_LOAD, STAT_UNEXPLAINED };
extern const char *const stat_outlier_names[]; /* as JSON has them */
extern const char *const stat_outlier_words[]; /* for people: "of unknown cause" */

struct stat_point {
    const struct profile_stat_run *run;
    const struct profile_stat_visit *visit; /* NULL: of whole runs */
    double ns;                              /* of all visits */
    enum stat_outlier outlier;
};

/* A region in the runs of a subject. */
struct stat_row {
    uint32_t region, subject;  /* ids */
    struct stat_point *points; /* in the order of runs */
    size_t count;              /* at least 1 */
    struct statistics ns;      /* a run */
    struct statistics
        visit_ns; /* a visit: means of runs; of whole runs, and where nothing was visited, zero */
    double visits, recorded; /* a run, mean */
    double iterations;       /* a visit, mean, counted; 0: not known */
    double spread;           /* robust standard deviation of ns, as a part of the median */
    double waiting,
        preempted; /* parts of the time: asleep; taken by others while it was ready to run */
    double cost;   /* of recording, as a part of the region's time */
    struct statistics_ratio ratio; /* to the first subject; not known of that itself */
    struct statistics_ratio cpu;   /* the same of CPU time, of whole runs */
    size_t outliers[STAT_UNEXPLAINED + 1];
    double modes[2]; /* medians of two modes; 0: there are none */
    size_t lower;    /* runs in the lower mode */
    bool sensitive;  /* to the operating system */
};

struct stat_report {
    const struct profile *profile;
    struct stat_row *rows; /* by region, subject */
    size_t count;
    double cycle_ns, cycle_spread, tick_ns; /* over all sessions; 0: not known */
};

/* NULL: no memory. */
struct stat_report *stat_report_make(const struct profile *profile);
void stat_report_free(void *report); /* NULL does nothing */

/* What a run has besides its time. */
enum stat_measure {
    STAT_USER_NS,
    STAT_SYSTEM_NS,
    STAT_MINOR_FAULTS,
    STAT_MAJOR_FAULTS,
    STAT_VOLUNTARY,
    STAT_INVOLUNTARY,
    STAT_PEAK_BYTES,
    STAT_FAULTS, /* of both kinds */
};

/* Median over the row's runs. */
double stat_median(const struct stat_row *row, enum stat_measure measure);

/* Why a region is sensitive to the operating system, a clause; "" if it is not. */
void stat_reason(const struct stat_row *row, char *text, size_t bytes);

/* A subject for people: "-O2: ./program 10". */
void stat_subject_name(const struct profile_stat_subject *subject, char *text, size_t bytes);

extern const char
    *const stat_kind_names[PROFILE_STAT_KINDS]; /* "run", "function", "loop", "marker" */

bool stat_json(struct json *json, const struct places *places,
               const struct report_options *options);
extern const struct analysis_text stat_text;
extern const struct analysis_compare stat_compare;
extern const struct analysis_export stat_export;
extern const struct analysis_view stat_view;

#endif
