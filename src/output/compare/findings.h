// SPDX-License-Identifier: MIT
/*
 * What a verb adds to comparisons of profiles (`diff`, `check`, `view --before`): its findings as
 * keys and amounts, its figures, and how both are called. A *kind* of findings is one of struct
 * diff_kind; kinds are numbered through all verbs in the order of the table, those of one verb from
 * its part's first_kind on.
 */
#ifndef HEADROOM_COMPARE_FINDINGS_H
#define HEADROOM_COMPARE_FINDINGS_H

#include "analysis/advice.h"
#include "analysis/analysis.h"
#include "compare/compare.h"
#include "show/places.h"
#include "show/report.h"
#include "show/source.h"

enum diff_unit { DIFF_SHARE, DIFF_BYTES, DIFF_COUNT, DIFF_SECONDS };

enum {
    DIFF_ALL = UINT32_MAX, /* row of a finding that stands for all of its kind */
    DIFF_NAME_BYTES = 512,
};

/* Of findings. */
struct diff_kind {
    const char *name;        /* "dead" */
    const char *heading;     /* "Dead stores" */
    const char *whole;       /* what shares are shares of: "the bytes stored" */
    const char *whole_exact; /* the same of exact figures; NULL: whole */
    const char *whole_time;  /* the same of samples that stand for CPU time; NULL: whole */
    const char *labels[2];   /* for people, of a pair's two contexts: "stored", "overwritten"; NULL:
                                it is no pair */
    const char *members[2];  /* the same in JSON: "first", "second" */
    enum diff_unit unit;     /* of amounts; DIFF_SECONDS: these are nanoseconds */
    bool untested; /* how much they vary from run to run is not known: never significant */
};

/* One number that stands for the profile. */
struct diff_figure {
    char name[48]; /* "waste.dead.fraction" */
    enum diff_unit unit;
    double value;
    bool band; /* low and high are known */
    double low, high;
    bool few;                         /* of too few samples for digits, as reports have it */
    double whole;                     /* value * whole: an amount; 0: it has none */
    uint32_t first_kind, kinds_count; /* of the findings that make it up; count 0: of none */
};

/* A verb's part of a side. */
struct diff_part {
    const struct analysis *analysis;
    const struct analysis_compare *compare; /* the analysis', never NULL */
    uint32_t first_kind;
    void *state; /* as its begin made it */
};

/* Of a kind's findings: what was taken off. */
struct diff_suppressed {
    double amount, other;
};

/* A profile as findings and figures. */
struct diff_side {
    struct profile *profile;
    struct places places; /* recursion folded */
    enum report_by by;    /* what is one pair: REPORT_BY_CONTEXT or REPORT_BY_PAIR */
    uint32_t program;     /* module that is the program itself, whatever its name; 0: not known */
    struct diff_part *parts;
    size_t parts_count, kinds_count;
    struct compare_finding *findings;
    size_t findings_count, findings_capacity;
    struct compare_side compare;
    struct compare_whole *wholes;       /* by kind: what shares are shares of */
    struct diff_suppressed *suppressed; /* by kind */
    struct diff_figure *figures;
    size_t figures_count, figures_capacity;
    uint64_t *functions,
        *exact;  /* by place: hashes of its calling context, by functions, and with lines */
    bool failed; /* no memory */
};

/* Where the two ends of a pair are. */
struct diff_ends {
    uint32_t contexts[2], places[2];
};

/* What a finding that is no pair is called, and where it begins. */
struct diff_subject {
    char name[DIFF_NAME_BYTES];
    const char *function, *file; /* NULL: not known */
    uint32_t line;
};

/* Slots; NULL as in struct analysis. Those that add are void: if memory runs out, the side notes
 * it. */
struct analysis_compare {
    const struct diff_kind *kinds;
    uint32_t kinds_count; /* 0: figures alone */
    /* Of its own profiles: a sentence why no difference of them is called significant. NULL: they
     * are tested. */
    const char *untested;
    /* Can the profiles not be set against each other? Then error says why, one sentence. */
    bool (*differ)(const struct profile *before, const struct profile *after, char *error,
                   size_t error_bytes);
    /* What findings and figures are made from: *part->state. False: no memory. With `end`. */
    bool (*begin)(const struct diff_side *side, struct diff_part *part);
    void (*end)(void *state);
    /* Adds its findings (diff_add, diff_add_pair) and their wholes. Never NULL. */
    void (*findings)(struct diff_side *side, const struct diff_part *part);
    /* Adds its figures (diff_add_figure), without what was suppressed. */
    void (*figures)(struct diff_side *side, const struct diff_part *part);
    /* A figure that is made when asked for. False: there is none of that name. */
    bool (*figure)(const struct diff_part *part, const char *name, struct diff_figure *figure);
    /* What can be asked for so: "reuse.miss@SIZE of any other SIZE"; NULL: nothing. With `figure`.
     */
    const char *(*figure_hint)(const struct diff_part *part);
    /* Were findings of its kind number `kind` looked for? NULL: always. */
    bool (*looked_for)(const struct profile *profile, uint32_t kind);
    /* Of a pair. NULL: its kinds are none. */
    void (*ends)(const struct diff_part *part, const struct compare_finding *finding,
                 struct diff_ends *ends);
    /* Of what is no pair. NULL: all its kinds are pairs. */
    void (*subject)(const struct diff_side *side, const struct diff_part *part,
                    const struct compare_finding *finding, struct diff_subject *subject);
    /* What is usually done about it, and what it rests on. NULL: nothing is known of either. */
    struct advice (*advice)(const struct diff_side *side, const struct diff_part *part,
                            const struct compare_finding *finding, struct source_cache *sources);
    /* Appends to the line about a change, for people. */
    void (*remark)(const struct diff_side sides[2], const struct compare_change *change, char *line,
                   size_t bytes);
    /* Do its figures include findings that are suppressed? They are no sums over findings then. */
    bool (*is_unsummed)(const struct diff_side *side, const struct diff_part *part);
};

/* ---- for slots ------------------------------------------------------------------------------- */

/* A new finding, of the part's kind number `kind`; valid until the next one is added. NULL: no
 * memory. */
struct compare_finding *diff_add(struct diff_side *side, const struct diff_part *part,
                                 uint32_t kind, uint32_t row);
/* With the keys of one that is at a line. key: of what stays when the program moves, its function included; file may be NULL. */
struct compare_finding *diff_add_line(struct diff_side *side, const struct diff_part *part,
                                      uint32_t kind, uint32_t row, uint64_t key, const char *file,
                                      uint32_t line);
/* With the keys of the pair's contexts, which ends() gives. */
struct compare_finding *diff_add_pair(struct diff_side *side, const struct diff_part *part,
                                      uint32_t kind, uint32_t row);

/* name: of both together. NULL: no memory. */
struct diff_figure *diff_add_figure(struct diff_side *side, const char *prefix, const char *name,
                                    enum diff_unit unit, double value);

/* Of texts that stay when a program moves. text NULL: of none. */
uint64_t diff_hash_text(uint64_t hash, const char *text);
/* By base name; of the program itself "": it may be built under another one. */
const char *diff_module_name(const struct diff_side *side, uint32_t module);

/* is_unsummed of a verb whose `begin` leaves the state NULL where a profile has none of its findings. */
bool diff_has_state(const struct diff_side *side, const struct diff_part *part);

/* Do the numbers differ? Then error says that the profiles' `what` does. */
bool diff_numbers_differ(const char *what, double before, double after, char *error,
                         size_t error_bytes);

#endif
