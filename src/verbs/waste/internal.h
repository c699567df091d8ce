// SPDX-License-Identifier: MIT
/* Between the files of waste: findings merged and ranked (rank.c), what a pattern usually means
   (advice.c); for people (text.c) and as JSON (json.c). */
#ifndef HEADROOM_WASTE_INTERNAL_H
#define HEADROOM_WASTE_INTERNAL_H

#include "analysis/advice.h"
#include "show/group.h"
#include "show/group_text.h"
#include "show/json.h"
#include "show/places.h"
#include "show/print.h"
#include "show/source.h"
#include "waste/waste.h"

/* Does the profile hold kinds of waste? */
bool waste_is_in(const struct profile *profile);

/* ---- ranking ------------------------------------------------------------------------------ */

/* What was found between two contexts, as they read in the source; or a finding: the sum of those
   with the same cause. */
struct waste_pair {
    uint32_t first, second; /* context ids of the heaviest finding: they stand for all */
    uint32_t first_place, second_place; /* equal place: equal source context */
    double waste_bytes, use_bytes, waste_squares;
    double heaviest; /* waste of the finding that first and second come from */
    uint64_t waste_traps, use_traps, kernel_traps, likely_traps, float_traps;
    double kernel_waste;        /* exact: waste that the kernel's accesses made */
    bool kernel;                /* the second access was the kernel's, mostly */
    struct profile_share share; /* of the kind's waste */
    const struct group *group;  /* of a finding; NULL: of two contexts */
};

struct waste_kind {
    const struct profile_kind *totals;
    struct profile_share fraction; /* waste / (waste + use) */
    bool too_few;                  /* too few traps for digits; never of exact counts */
    struct waste_pair *contexts;   /* those with waste, in no order */
    size_t contexts_count;
    struct waste_pair *pairs; /* findings, what is not weak first, largest first */
    size_t pairs_count;
    struct groups groups; /* their links are the contexts, by their indices */
    struct group_link *links;
};

/* The end that did nothing: the first of dead stores, else the second. */
unsigned waste_lead(uint32_t kind);

enum {
    /* Fewer verdicts than that and a share says nothing: with 30 the interval of 50 % is 33..67. */
    WASTE_LEAST_TRAPS = 30,
    WASTE_FEW_TRAPS = 5, /* of a pair: said, because its share may be luck */
};

struct waste_ranking {
    const struct places *places;
    struct waste_kind kinds[PROFILE_KINDS];
    size_t kinds_count;
};

/* A smaller share of what was counted is right, and still not worth anybody's time: as weak. */
#define WASTE_LEAST_SHARE 0.005

/* kinds: bits as wire_kind_bits, 0: all that were recorded. places must outlive the ranking. NULL:
   no memory. */
struct waste_ranking *waste_rank(const struct places *places, uint8_t kinds, enum report_by by);
/* Of struct waste_ranking, as `end` of the slots has it; never NULL. */
void waste_rank_free(void *ranking);

/* ---- advice --------------------------------------------------------------------------------- */

struct advice_side {
    const struct profile_frame *leaf; /* innermost frame */
    const char *called;               /* function of the innermost frame */
    const char *source;               /* its line, or NULL */
};

struct advice_facts {
    uint32_t kind;
    struct advice_side first, second;
    bool same_place;    /* both contexts read the same, to the line */
    bool same_line;     /* both innermost frames do, whoever called them */
    bool same_function; /* innermost frames in one function, on different lines */
    bool nested;        /* one is called, directly or not, by the other's function */
    bool kernel;        /* the second access was the kernel's, mostly */
};

/* What the pattern usually means and what is usually done, its evidence not filled in; NULL if
   nothing can be said. */
const struct advice *advice_for(const struct advice_facts *facts);

/* The facts of a pair and what follows from them. id NULL: nothing can be said. */
struct advice waste_advice(const struct places *places, struct source_cache *sources,
                           const struct waste_kind *kind, const struct waste_pair *pair);

/* ---- reports --------------------------------------------------------------------------------- */

extern const struct analysis_text waste_text;

extern const struct analysis_compare waste_compare;
extern const struct analysis_export waste_export;
extern const struct analysis_view waste_view;

bool waste_json(struct json *json, const struct places *places,
                const struct report_options *options);

#endif
