// SPDX-License-Identifier: MIT
/*
 * Between the files of report: findings merged and ranked (rank.c), histograms and caches
 * (figures.c), names made short (names.c), source lines (source.c), what a pattern usually means
 * (advice.c), where a reuse lies in the code (shape.c) and what would shorten it (transform.c);
 * json.c and text.c print.
 */
#ifndef HEADROOM_REPORT_PARTS_H
#define HEADROOM_REPORT_PARTS_H

#include "show/names.h"
#include "show/report.h"
#include "mrc/mrc.h"

struct source_cache;

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
    double stack_squares;
    double spread;              /* Σ weight²: of the samples, as far as they are known    */
    double far;                 /* what the order goes by: see rank.c                    */
    double share, far_share;    /* of all reuses, of all far; 0 if there are none        */
    struct profile_share interval; /* of share; known: samples                           */
};

/* Without knowledge of the machine: what any first-level cache holds. */
enum { RANK_NEAR_BYTES = 32 << 10, RANK_CACHES = 6 };

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
    bool distances;    /* pairs have stack distances, measured or by the model  */
    struct profile_cache caches[RANK_CACHES]; /* of the machine, smallest first; else one assumed,
                                                 level 0 */
    size_t caches_count;
    size_t near_cache; /* index into caches: far is what lies beyond it         */
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
    double elapsed[DISTANCE_BINS];                    /* nanoseconds; live only              */
    double from_time[DISTANCE_BINS];                  /* stack distances by the model        */
    double expected[DISTANCE_BINS];                   /* the same without spread             */
    double misses;                                    /* first touches                       */
    bool sampled;             /* what was found depends on which samples were taken          */
    double effective;         /* if sampled: how many equal ones they are worth, at most     */
    bool paced;               /* time distances are estimates from CPU time                  */
    struct profile_pace pace; /* if paced: of all processes together                         */
    struct mrc_band band;   /* if sampled                                                  */
};

void figures_reuse(const struct profile *profile, struct reuse_figures *figures);

/* The measured stack histogram, or the model's. */
static inline const double *figures_stack(const struct reuse_figures *figures)
{
    return figures->totals.stack ? figures->stack : figures->from_time;
}

/* How well the model's stack distances agree with those measured (mrc_similarity), as far as these are
   resolved: of sampled locations there are none below 1 / share. */
double figures_agreement(const struct reuse_figures *figures);

/* Smallest cache in units, a power of two, that misses first touches only. */
uint64_t figures_enough(const struct reuse_figures *figures);

/* Share of the accesses that miss a fully associative cache of that many bytes, any number, with its
   band if sampled (mrc_band_at); else low and high are the ratio. The model's own error is not in it. */
struct mrc_ratio figures_miss_ratio(const struct reuse_figures *figures, double bytes);

/* Reuses of the pair at least that far apart, at most: see figures.c. */
double figures_beyond(const struct reuse_figures *figures, const struct rank_reuse_pair *pair,
                      double bytes);

/* A smaller change of a miss ratio would read 0.0 points. */
#define FIGURES_LEAST_SAVING 0.0005

/* The miss ratio if all of them became near: a bound, from below. */
double figures_ratio_without(const struct reuse_figures *figures,
                             const struct rank_reuse_pair *pair, double bytes);

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
    uint32_t use_frame, reuse_frame; /* frames of the lowest common ancestor, one function: where the
                                        paths part; equal class: at the same line. 0: none   */
    struct shape_loops shared;       /* around both ends                                    */
    struct shape_loops use, reuse;   /* around one end only                                 */
    unsigned shared_here;            /* of the shared: those in the function in which the innermost is */
    bool use_called, reuse_called;   /* the end lies in a call made by the ancestor          */
    bool recursive;                  /* below the ancestor its function is active again      */
    bool forward, backward;          /* in the ancestor the use stands before the reuse, or behind */
};

void shape_find(const struct ranking *ranking, const struct rank_reuse_pair *pair,
                struct shape *shape);

/* Do both loops read the same in the source? (The parts of one that was vectorised or unrolled.) */
bool shape_same_loop(const struct profile *profile, uint32_t a, uint32_t b);

/* ---- transformations -------------------------------------------------------------------------- */

enum transform_kind {
    TRANSFORM_NONE,
    TRANSFORM_FUSION,
    TRANSFORM_BLOCKING,
    TRANSFORM_TIME_TILING,
    TRANSFORM_TILING,
    TRANSFORM_INTERCHANGE,
    TRANSFORM_BATCHING,
    TRANSFORM_RECURSION,
    TRANSFORM_REORDERING,
    TRANSFORM_KINDS
};

enum { TRANSFORM_LINES = 3 };

struct transform_facts {
    bool far;                /* there are reuses that some cache misses, enough to be worth a change */
    bool ancestor;           /* some function of the program is on both paths                    */
    unsigned shared;         /* loops around both ends                                           */
    unsigned shared_here;    /* of these: in the function of the innermost                       */
    unsigned use_walks, reuse_walks; /* loops that the end lies in and the other does not; a library
                                        function that goes through memory counts for one          */
    bool use_called, reuse_called; /* the end lies in a call made by the ancestor                 */
    bool recursive, forward, backward; /* as in struct shape */
    const char *use_source, *reuse_source;      /* lines; NULL: unknown                           */
    const char *loop_sources[TRANSFORM_LINES];  /* of the shared loops of that function, innermost
                                                   first; NULL: unknown                           */
};

struct transform {
    enum transform_kind kind;
    const char *name; /* "fusion"; NULL: none */
    const char *text; /* a sentence or two    */
};

/* What usually brings the two ends together; kind TRANSFORM_NONE if nothing can be said. */
struct transform transform_for(const struct transform_facts *facts);

/* The facts of a pair and what follows from them. */
struct transform transform_pair(const struct ranking *ranking, const struct reuse_figures *figures,
                                struct source_cache *sources, const struct rank_reuse_pair *pair,
                                const struct shape *shape);

/* What `write` writes, so if ascii. Its status, or that of writing to out. */
enum base_status ascii_wrap(bool ascii, enum base_status (*write)(const void *context, FILE *out),
                            const void *context, FILE *out);

/* ---- source lines --------------------------------------------------------------------------- */

/* The file, open for reading, if its lines may be quoted: a regular one of a sane size (*bytes), not changed later; 0:
   whenever. -1: it may not. The caller closes it. */
int source_open(const char *path, uint64_t not_newer_than_ns, size_t *bytes);

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

/* A C library function that goes through memory: memset, memcpy, strlen, ... by any of its names. */
bool advice_walks_memory(const char *function);

/* What the pattern usually means and what is usually done; NULL if nothing can be said. */
const char *advice_for(const struct advice_facts *facts);

#endif
