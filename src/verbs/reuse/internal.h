// SPDX-License-Identifier: MIT
/*
 * Between the files of reuse: pairs merged and ranked (rank.c), histograms and caches (figures.c),
 * where a reuse lies in the code (shape.c) and what would shorten it (transform.c); for people
 * (text.c, curve_text.c, pairs_text.c) and as JSON (json.c).
 */
#ifndef HEADROOM_REUSE_INTERNAL_H
#define HEADROOM_REUSE_INTERNAL_H

#include "analysis/advice.h"
#include "mrc/mrc.h"
#include "reuse/reuse.h"
#include "show/group.h"
#include "show/group_text.h"
#include "show/json.h"
#include "show/objects.h"
#include "show/places.h"
#include "show/print.h"
#include "show/source.h"

/* ---- ranking ------------------------------------------------------------------------------ */

/* Reuses between two contexts, as they read in the source; or a finding: the sum of those with the
   same cause. */
struct reuse_pair {
    uint32_t use, reuse; /* context ids of the heaviest finding */
    uint32_t use_place, reuse_place;
    double heaviest;
    uint64_t count;
    double weight, time, stack; /* reuses; sums of their distances */
    double stack_squares;
    double spread;                 /* Σ weight²: of the samples, as far as they are known */
    double far;                    /* what the order goes by: see rank.c; 0 for what happens once */
    double in_order;               /* of far: of instructions that go along memory in their loops */
    bool once;                     /* far apart, but at most once for each location */
    double share, far_share;       /* of all reuses, of all far; 0 if there are none */
    struct profile_share interval; /* of share; known: samples */
    const struct group *group;     /* of a finding; NULL: of two contexts */
};

/* Without knowledge of the machine: what any first-level cache holds. */
enum { REUSE_NEAR_BYTES = 32 << 10, REUSE_CACHES = 6 };

enum { REUSE_FEW_SEEN = 5 }; /* of a finding: weak evidence, its share may be luck */
/* A finding with a smaller one is not worth anybody's time: as weak. */
#define REUSE_LEAST_SHARE 0.005

struct reuse_ranking {
    const struct places *places;
    struct reuse_pair *contexts; /* in no order */
    size_t contexts_count;
    struct reuse_pair *pairs; /* findings, what is not weak first, most misses to save first */
    size_t pairs_count;
    struct groups groups; /* their links are the contexts, by their indices */
    struct group_link *links;
    struct objects objects; /* what findings' locations lie in */
    bool distances;         /* pairs have stack distances, measured or by the model */
    struct profile_cache caches[REUSE_CACHES]; /* of the machine, smallest first; else one assumed,
                                                  level 0 */
    size_t caches_count;
    size_t once;       /* pairs that happen once */
    double once_share; /* of the misses that all pairs would save at best, these included */
};

/* ---- figures --------------------------------------------------------------------------------- */

/* Histograms of all processes together. The model runs on each process by itself: a process's
   accesses do not lie between another one's. */
struct reuse_figures {
    struct profile_reuse totals;
    double time[DISTANCE_BINS], stack[DISTANCE_BINS]; /* as measured; stack: if totals.stack */
    double elapsed[DISTANCE_BINS];                    /* nanoseconds; live only */
    double from_time[DISTANCE_BINS];                  /* stack distances by the model */
    double expected[DISTANCE_BINS];                   /* the same without spread */
    double misses;                                    /* first touches */
    bool sampled;             /* what was found depends on which samples were taken */
    double effective;         /* if sampled: how many equal ones they are worth, at most */
    bool paced;               /* time distances are estimates from CPU time */
    struct profile_pace pace; /* if paced: of all processes together */
    struct mrc_band band;     /* if sampled */
};

void figures_reuse(const struct profile *profile, struct reuse_figures *figures);

/* The measured stack histogram, or the model's. */
static inline const double *figures_stack(const struct reuse_figures *figures)
{
    return figures->totals.stack ? figures->stack : figures->from_time;
}

/* How well the model's stack distances agree with those measured (mrc_similarity), as far as these
   are resolved: of sampled locations there are none below 1 / share. */
double figures_agreement(const struct reuse_figures *figures);

/* Smallest cache in units, a power of two, that misses first touches only. */
uint64_t figures_enough(const struct reuse_figures *figures);

/* Share of the accesses that miss a fully associative cache of that many bytes, any number, with
   its band if sampled (mrc_band_at); else low and high are the ratio. The model's own error is not
   in it. */
struct mrc_ratio figures_miss_ratio(const struct reuse_figures *figures, double bytes);

/* Reuses of the pair at least that far apart, at most: see figures.c. */
double figures_beyond(const struct reuse_figures *figures, const struct reuse_pair *pair,
                      double bytes);

/* A smaller change of a miss ratio would read 0.0 points. */
#define FIGURES_LEAST_SAVING 0.0005

/* The miss ratio if all of them became near: a bound, from below. */
double figures_ratio_without(const struct reuse_figures *figures, const struct reuse_pair *pair,
                             double bytes);

/* ---- what samples support ------------------------------------------------------------------- */

/* With fewer effective samples than that the 90 % interval of a half is wider than FIGURES_WIDEST. */
enum { FIGURES_LEAST_SAMPLES = 68 };
#define FIGURES_WIDEST 0.2
#define FIGURES_NARROW 0.02

/* Too few samples for any figure but how often something was seen. */
static inline bool figures_too_few(const struct reuse_figures *figures)
{
    return figures->sampled && figures->effective < FIGURES_LEAST_SAMPLES;
}

/* Decimals of a percentage that its interval supports; below 0: not even one digit. */
static inline int figures_decimals(const struct reuse_figures *figures, double low, double high)
{
    if (!figures->sampled)
        return 2;
    return high - low <= FIGURES_NARROW ? 1 : high - low <= FIGURES_WIDEST ? 0 : -1;
}

/* Can a quantile be given at all: is it right to a factor of two, 90 %, as far as chance goes? */
bool figures_quantile_holds(const struct reuse_figures *figures, const double *histogram,
                            double share);

/* The bins of the RDX paper, [0, 4K), [4K, 8K), ...: number of a bin's, and where it begins. */
static inline unsigned figures_paper_bin(unsigned bin)
{
    uint64_t low = distance_bin_low(bin);
    return low < 4096 ? 0 : 52U - (unsigned)__builtin_clzll(low);
}
static inline uint64_t figures_paper_low(unsigned paper_bin)
{
    return paper_bin ? UINT64_C(1) << (paper_bin + 11) : 0;
}
enum { FIGURES_PAPER_BINS = 53 };

/* ---- reuse pairs in the code ----------------------------------------------------------------- */

enum { SHAPE_LOOPS = 16 };

/* Loop ids, outermost first; the outermost of many are left out. */
struct shape_loops {
    uint32_t loops[SHAPE_LOOPS];
    unsigned count;
};

/* Where use and reuse lie to each other. */
struct shape {
    uint32_t use_frame, reuse_frame; /* frames of the lowest common ancestor, one function: where
                                        the paths part; equal class: at the same line. 0: none */
    struct shape_loops shared;       /* around both ends */
    struct shape_loops use, reuse;   /* around one end only */
    unsigned shared_here; /* of the shared: those in the function in which the innermost is */
    bool use_called, reuse_called; /* the end lies in a call made by the ancestor */
    bool recursive;                /* below the ancestor its function is active again */
    bool forward, backward;        /* in the ancestor the use stands before the reuse, or behind */
};

void shape_find(const struct places *places, const struct reuse_pair *pair, struct shape *shape);

/* Loops that an end lies in and the other does not; a library function that goes through memory
   counts for one, whatever loops it has. */
unsigned shape_use_walks(const struct profile *profile, const struct reuse_pair *pair,
                         const struct shape *shape);
unsigned shape_reuse_walks(const struct profile *profile, const struct reuse_pair *pair,
                           const struct shape *shape);

/*
 * Is one end set up or taken away, as when data are cleared or read in, and used far later? Nothing
 * repeats both ends, so a location can miss once there and no more, and one end is a loop's
 * first or last iteration only, or a function that clears or copies. Two loops alike one after the other are not
 * meant: fusing them does save the misses of one.
 */
bool shape_is_once(const struct profile *profile, const struct reuse_pair *pair,
                   const struct shape *shape);

/* ---- transformations --------------------------------------------------------------------------
 */

enum transform_kind {
    TRANSFORM_NONE,
    TRANSFORM_FUSION,
    TRANSFORM_BLOCKING,
    TRANSFORM_TIME_TILING,
    TRANSFORM_TILING,
    TRANSFORM_UNROLL_AND_JAM,
    TRANSFORM_INTERCHANGE,
    TRANSFORM_BATCHING,
    TRANSFORM_RECURSION,
    TRANSFORM_REORDERING,
    TRANSFORM_KINDS
};

enum { TRANSFORM_LINES = 3 };

struct transform_facts {
    bool far;             /* there are reuses that some cache misses, enough to be worth a change */
    bool ancestor;        /* some function of the program is on both paths */
    unsigned shared;      /* loops around both ends */
    unsigned shared_here; /* of these: in the function of the innermost */
    unsigned use_walks, reuse_walks; /* loops that the end lies in and the other does not; a library
                                        function that goes through memory counts for one */
    bool use_called, reuse_called;   /* the end lies in a call made by the ancestor */
    bool recursive, forward, backward; /* as in struct shape */
    bool library;                      /* one of the loops of `shared_here` is a library's */
    bool in_order;                     /* mostly by instructions that go along lines of memory */
    bool cached; /* most of what the smallest cache misses, the largest one holds */
    const char *use_source, *reuse_source;     /* lines; NULL: unknown */
    const char *loop_sources[TRANSFORM_LINES]; /* of the shared loops of that function, innermost
                                                  first; NULL: unknown */
    const char *calling_source; /* of the next shared loop, which makes the calls; NULL: unknown */
};

struct transform {
    enum transform_kind kind;
    const char *name;      /* "fusion"; NULL: none */
    const char *id, *text; /* as in struct advice */
};

/* What usually brings the two ends together; kind TRANSFORM_NONE if nothing can be said. */
struct transform transform_for(const struct transform_facts *facts);

/* The facts of a pair and what follows from them. */
struct transform transform_pair(const struct reuse_ranking *ranking,
                                const struct reuse_figures *figures, struct source_cache *sources,
                                const struct reuse_pair *pair, const struct shape *shape);

/* The same as advice on the pair. */
struct advice transform_advice(const struct reuse_figures *figures, const struct reuse_pair *pair,
                               const struct transform *transform);

/* ---- reports --------------------------------------------------------------------------------- */

struct reuse_report {
    struct reuse_ranking ranking;
    struct reuse_figures figures; /* if any process has reuses */
};

/* NULL: no memory. places must outlive it. */
struct reuse_report *reuse_report_make(const struct places *places, enum report_by by);
/* Of struct reuse_report, as `end` of the slots has it; never NULL. */
void reuse_report_free(void *report);

extern const struct analysis_text reuse_text;

void reuse_narrow(struct printer *printer, const struct reuse_ranking *ranking);
/* The miss ratios of caches. */
void reuse_print_curve(struct printer *printer, const struct reuse_ranking *ranking,
                       const struct reuse_figures *figures);
/* False: no memory. */
bool reuse_print_pairs(struct printer *printer, const struct reuse_ranking *ranking,
                       const struct reuse_figures *figures);

/* "lines" of 64 bytes, "words", "bytes" */
const char *reuse_unit(const struct profile_reuse *totals, double count);

/* A number, or one of bytes: to one digit from 1000 on if it is an estimate from CPU time, the pace of
   which is known to a factor only. */
const char *reuse_number(const struct reuse_figures *figures, double value, char out[32]);
const char *reuse_bytes(const struct reuse_figures *figures, double value, char out[32]);

/* "L1 (32 KiB)", or "32 KiB" if the level is 0 */
const char *reuse_cache(const struct profile_cache *cache, char out[64]);

extern const struct analysis_compare reuse_compare;
extern const struct analysis_export reuse_export;
extern const struct analysis_gain reuse_gains;
extern const struct analysis_view reuse_view;

bool reuse_json(struct json *json, const struct places *places,
                const struct report_options *options);

#endif
