// SPDX-License-Identifier: MIT
/* Between the files of waste: findings merged and ranked (rank.c), what a pattern usually means
   (advice.c); for people (text.c) and as JSON (json.c). */
#ifndef HEADROOM_WASTE_INTERNAL_H
#define HEADROOM_WASTE_INTERNAL_H

#include "analysis/advice.h"
#include "show/group.h"
#include "show/group_text.h"
#include "show/json.h"
#include "show/objects.h"
#include "show/places.h"
#include "show/print.h"
#include "show/source.h"
#include "waste/waste.h"

/* Does the profile hold kinds of waste? */
bool waste_is_in(const struct profile *profile);

/* ---- ranking ------------------------------------------------------------------------------ */

/* What the compiler adds by itself, of the accesses that were wasted; from flags of frames. */
enum waste_overhead {
    WASTE_ORDINARY,
    WASTE_SAVED,   /* registers of the caller */
    WASTE_SPILLED, /* values without a register */
    WASTE_RETURNS, /* return addresses */
    WASTE_STUBS,   /* addresses of other modules' functions */
    WASTE_CONSTANTS,
    WASTE_OVERHEADS
};
/* "saved register", ...; [0] NULL */
extern const char *const waste_overhead_names[WASTE_OVERHEADS];

/* What was found between two contexts, as they read in the source; or a finding: the sum of those
   with the same cause. */
struct waste_pair {
    uint32_t first, second; /* context ids of the heaviest finding: they stand for all */
    uint32_t first_place, second_place; /* equal place: equal source context */
    double waste_bytes, use_bytes, waste_squares;
    double heaviest; /* waste of the finding that first and second come from */
    uint64_t waste_traps, use_traps, kernel_traps, likely_traps, float_traps;
    double kernel_waste; /* exact: waste that the kernel's accesses made */
    bool kernel;         /* the second access was the kernel's, mostly */
    double near_waste;   /* by the floating-point tolerance only */
    double update_waste; /* of stores that leave a value made from the one before */
    double team_waste;   /* in the runtime of OpenMP: waste_in_team_runtime */
    double overhead_waste[WASTE_OVERHEADS], reach_waste[PROFILE_REACHES];
    enum waste_overhead overhead; /* of most of the waste */
    uint32_t reach;               /* enum profile_reach, of most of the waste */
    struct profile_share share;   /* of the kind's waste */
    const struct group *group;    /* of a finding; NULL: of two contexts */
};

struct waste_kind {
    const struct profile_kind *totals;
    const struct profile_waste_sample *sample; /* exact counts of some locations; else NULL */
    struct profile_share fraction;             /* waste / (waste + use) */
    bool too_few; /* too few traps, or locations, for digits; never of all exact counts */
    struct waste_pair *contexts; /* those with waste, in no order */
    size_t contexts_count;
    /* Findings: first what the program does, what is not weak before what is, by what could be
       gained (waste_gain); then the compiler's overhead. */
    struct waste_pair *pairs;
    size_t pairs_count, ordinary_count;
    struct groups groups; /* their links are the contexts, by their indices */
    struct group_link *links;
};

/* The end that did nothing: the first of dead stores, else the second. */
unsigned waste_lead(uint32_t kind);

enum {
    /* Fewer verdicts than that and a share says nothing: with 30 the interval of 50 % is 33..67. */
    WASTE_LEAST_TRAPS = 30,
    /* Locations, by weight: accesses to one are alike, and fewer may all be of one sort. */
    WASTE_LEAST_LOCATIONS = 15,
    WASTE_FEW_TRAPS = 5, /* of a pair: said, because its share may be luck */
};

struct waste_ranking {
    const struct places *places;
    struct waste_kind kinds[PROFILE_KINDS];
    size_t kinds_count;
    struct objects objects; /* what findings' locations lie in */
};

/* A smaller share of what was counted is right, and still not worth anybody's time: as weak. */
#define WASTE_LEAST_SHARE 0.005

/* kinds: bits as wire_kind_bits, 0: all that were recorded. places must outlive the ranking. NULL:
   no memory. */
struct waste_ranking *waste_rank(const struct places *places, uint8_t kinds, enum report_by by);
/* Of the waste of a pair, what removing it could gain: to read a matrix in every round is in the
   nature of most algorithms, and a value loaded twice in one round is not. */
double waste_gain(const struct waste_pair *pair);

/* Is the place the system's code, and not inlined into own code? */
bool waste_in_library(const struct places *places, uint32_t place);

bool waste_in_team_runtime(const struct places *places, uint32_t place);

/* The share of the waste of a pair that is so by the floating-point tolerance only; 0 for dead
   stores. */
double waste_near_share(const struct waste_kind *kind, const struct waste_pair *pair);

/* Of struct waste_ranking, as `end` of the slots has it; never NULL. */
void waste_rank_free(void *ranking);

/* ---- advice --------------------------------------------------------------------------------- */

struct advice_side {
    const struct profile_frame *leaf; /* innermost frame */
    const char *called;               /* function of the innermost frame */
    const char
        *entry; /* the library function that the program calls, if that is another one; or NULL */
    const char *source; /* its line, or NULL */
};

struct advice_facts {
    uint32_t kind;
    struct advice_side first, second;
    bool same_place;    /* both contexts read the same, to the line */
    bool same_line;     /* both innermost frames do, whoever called them */
    bool same_function; /* innermost frames in one function, on different lines; called alike */
    bool nested;        /* one is called, directly or not, by the other's function */
    bool library;       /* the end that did nothing lies in a library function: waste_in_library */
    bool overlap;       /* by two stores of one call that copies or clears */
    bool called;        /* which own code calls */
    bool formats;       /* it is, or works for, printf, scanf or one of their relatives */
    bool team;          /* it is the runtime of OpenMP, mostly */
    bool kernel;        /* the second access was the kernel's, mostly */
    bool near;          /* equal within the floating-point tolerance only, mostly */
    bool updates;       /* the store leaves a value made from the one before, mostly */
    enum waste_overhead overhead;
    uint32_t reach; /* enum profile_reach */
};

/* What the pattern usually means and what is usually done, its evidence not filled in; NULL if
   nothing can be said. */
const struct advice *advice_for(const struct advice_facts *facts);

/* The facts of a pair and what follows from them. id NULL: nothing can be said. */
struct advice waste_advice(const struct places *places, struct source_cache *sources,
                           const struct waste_kind *kind, const struct waste_pair *pair);

/* What can be done about overhead; NULL: it is none. */
const struct advice *waste_overhead_advice(enum waste_overhead overhead);

/* ---- overhead (overhead.c) -------------------------------------------------------------------- */

/* The section on register pressure and calls, if there is some. False: no memory. */
bool waste_print_overhead(struct printer *printer, const struct waste_ranking *ranking);

/* ---- reports --------------------------------------------------------------------------------- */

extern const struct analysis_text waste_text;

extern const struct analysis_compare waste_compare;
extern const struct analysis_export waste_export;
extern const struct analysis_gain waste_gains;
extern const struct analysis_view waste_view;

bool waste_json(struct json *json, const struct places *places,
                const struct report_options *options);

#endif
