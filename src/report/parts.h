// SPDX-License-Identifier: MIT
/*
 * Between the files of report: findings merged and ranked (rank.c), names made
 * short (names.c), source lines (source.c), what a pattern usually means
 * (advice.c); json.c and text.c print.
 */
#ifndef HEADROOM_REPORT_PARTS_H
#define HEADROOM_REPORT_PARTS_H

#include "report/report.h"
#include "reuse/reuse.h"

/* ---- ranking ------------------------------------------------------------------------------ */

/* Findings whose contexts read the same in the source, added up. */
struct rank_pair {
    uint32_t first, second; /* context ids of the heaviest finding: they stand for all  */
    uint32_t first_place, second_place; /* equal place: equal source context             */
    double waste_bytes, use_bytes, waste_squares;
    double heaviest; /* waste of the finding that first and second come from     */
    uint64_t waste_traps, use_traps, kernel_traps, likely_traps, float_traps;
    double kernel_waste;        /* exact: waste that the kernel's accesses made           */
    bool kernel;                /* the second access was the kernel's, mostly             */
    struct profile_share share; /* of the kind's waste                                   */
};

struct rank_kind {
    const struct profile_kind *totals;
    struct profile_share fraction; /* waste / (waste + use)                              */
    bool too_few;                  /* too few traps for digits; never of exact counts    */
    struct rank_pair *pairs;       /* those with waste, largest first                    */
    size_t pairs_count;
};

/* Reuses between contexts that read the same, added up. */
struct rank_reuse_pair {
    uint32_t use, reuse; /* context ids of the heaviest finding */
    uint32_t use_place, reuse_place;
    double heaviest;
    uint64_t count;
    double weight, time, stack; /* reuses; sums of their distances                       */
    double far;                 /* what the order goes by: see rank.c                    */
    double share, far_share;    /* of all reuses, of all far; 0 if there are none        */
};

/* Nearer reuses than that any first-level cache holds. */
enum { RANK_NEAR_BYTES = 32 << 10 };

/* A source context: contexts that differ only in addresses on the same lines are one place. */
struct rank_place {
    uint32_t parent, class; /* class: frames that read the same; parent < own index, 0: root */
};

struct ranking {
    const struct profile *profile;
    bool exact; /* counts of everything: shares have no intervals */
    struct rank_kind kinds[PROFILE_KINDS];
    size_t kinds_count;
    struct rank_reuse_pair *reuse_pairs; /* farthest first */
    size_t reuse_pairs_count;
    uint32_t *classes;  /* by frame id: lowest frame id that reads the same    */
    uint32_t *place_of; /* by context id                                       */
    struct rank_place *places;
    size_t places_count;
};

/* Fewer verdicts than that and a share says nothing: with 30 the interval of 50 % is 33..67. */
enum { RANK_LEAST_TRAPS = 30 };

/* fold_recursion: a recursive call leads back to its first activation (Ammons, Ball, Larus 1997),
   so recursion depth does not split findings. */
enum base_status rank_profile(const struct profile *profile, uint8_t kinds, bool fold_recursion,
                              struct ranking *ranking);
void rank_free(struct ranking *ranking);

/* ---- reuse --------------------------------------------------------------------------------- */

/* Histograms of all processes together. The model runs on each process by itself: a process's
   accesses do not lie between another one's. */
struct reuse_figures {
    struct profile_reuse totals;
    double time[DISTANCE_BINS], stack[DISTANCE_BINS]; /* as measured; stack: if totals.stack */
    double from_time[DISTANCE_BINS];                  /* stack distances by the model        */
    double expected[DISTANCE_BINS];                   /* the same without spread             */
    double misses;                                    /* first touches                       */
};

void figures_reuse(const struct profile *profile, struct reuse_figures *figures);

/* The measured stack histogram, or the model's. */
static inline const double *figures_stack(const struct reuse_figures *figures)
{
    return figures->totals.stack ? figures->stack : figures->from_time;
}

/* Smallest cache in units, a power of two, that misses first touches only. */
uint64_t figures_enough(const struct reuse_figures *figures);

/* ---- names -------------------------------------------------------------------------------- */

enum { NAME_BYTES = 256 };

/* A function's name as shown: without parameters, long template arguments elided, control
   characters and broken UTF-8 replaced, at most `columns` wide. */
void name_shorten(const char *name, unsigned columns, char out[NAME_BYTES]);

/* Any text for the terminal: tabs and line ends become blanks, other control characters and broken
   UTF-8 '?'. Always terminated. */
void name_clean(const char *text, char *out, size_t out_bytes);

/* Columns that valid UTF-8 takes, one a character. */
unsigned name_columns(const char *text);

/* Length of the UTF-8 sequence at text, 0 if it is not valid. */
size_t name_utf8(const char *text);

const char *name_base(const char *path);

/* ---- source lines --------------------------------------------------------------------------- */

/* Lines of files, read as needed. */
struct source_cache {
    struct source_file *files;
    size_t count, capacity;
    uint64_t not_newer_than_ns; /* files changed later are not quoted; 0: any */
    bool enabled;
};

/* The line, cleaned and without indentation, in out. False if it cannot or should not be shown. */
bool source_line(struct source_cache *cache, const char *path, uint32_t line, char *out,
                 size_t out_bytes);
void source_free(struct source_cache *cache);

/* ---- advice --------------------------------------------------------------------------------- */

struct advice_side {
    const struct profile_frame *leaf; /* innermost frame                       */
    const char *called;               /* function of the innermost frame       */
    const char *source;               /* its line, or NULL                     */
};

struct advice_facts {
    uint32_t kind;
    struct advice_side first, second;
    bool same_place;    /* both contexts read the same, to the line             */
    bool same_function; /* innermost frames in one function, on different lines */
    bool nested;        /* one is called, directly or not, by the other's function */
    bool kernel;        /* the second access was the kernel's, mostly           */
};

/* What the pattern usually means and what is usually done; NULL if nothing can be said. */
const char *advice_for(const struct advice_facts *facts);

#endif
