// SPDX-License-Identifier: MIT
/*
 * Between the files that set two profiles against each other: a profile's findings as keys and
 * amounts, and its figures (diff_side.c), the differences (diff_make.c), for people (diff_text.c)
 * and as JSON (diff_json.c). Limits: check.c; check_text.c, check_markdown.c and check_sarif.c print.
 */
#ifndef HEADROOM_COMPARE_SIDE_H
#define HEADROOM_COMPARE_SIDE_H

#include "compare/compare.h"
#include "compare/diff.h"
#include "show/interference.h"
#include "show/parts.h"

/* Kinds of findings. The first are those of waste, as enum profile_kind_id. */
enum diff_kind { DIFF_REUSE = PROFILE_REUSE, DIFF_PATH, DIFF_BLOCK, DIFF_KINDS };
_Static_assert((int)DIFF_KINDS <= (int)COMPARE_KINDS, "one whole a kind");
extern const char *const diff_kind_names[DIFF_KINDS];    /* "dead", ..., "path", "block"    */
extern const char *const diff_kind_headings[DIFF_KINDS]; /* "Dead stores", ...              */

/* row of a finding that stands for all waste of its kind */
enum { DIFF_ALL = UINT32_MAX };

enum diff_unit { DIFF_SHARE, DIFF_BYTES, DIFF_COUNT, DIFF_SECONDS };

/* One number that stands for the profile. */
struct diff_figure {
    char name[48]; /* "waste.dead.fraction"                                            */
    enum diff_unit unit;
    double value;
    bool band; /* low and high are known                                           */
    double low, high;
    bool few; /* of too few samples for digits, as reports have it                     */
    double whole;  /* value * whole: an amount; 0: it has none                         */
    uint32_t kinds; /* bits of enum diff_kind: findings that make it up                   */
};

struct diff_side {
    struct profile *profile;
    struct ranking ranking;
    struct reuse_figures *reuse;        /* NULL: not recorded                               */
    struct interference_figures blocks; /* profile NULL: not recorded                       */
    struct compare_finding *findings;
    size_t findings_count;
    struct compare_side compare;
    struct diff_figure *figures;
    size_t figures_count;
    double suppressed[DIFF_KINDS]; /* amounts taken off waste and paths                */
    double suppressed_executions;  /* of paths                                         */
};

/* Does the finding concern nobody? */
typedef bool diff_skip(void *context, const struct diff_side *side,
                       const struct compare_finding *finding);

/* other: what it is to be compared with, or NULL. skip: may be NULL. BASE_NO_MEMORY. */
enum base_status diff_side_make(struct profile *profile, const struct profile *other,
                                diff_skip *skip, void *context, struct diff_side *side);
void diff_side_free(struct diff_side *side);

/* By name; reuse.miss@SIZE for any size, made when asked for. False: there is none. */
bool diff_side_figure(const struct diff_side *side, const char *name, struct diff_figure *figure);

struct diff {
    struct diff_side sides[2];
    bool exact;
    struct compare_change *changes;
    size_t changes_count;
};

enum base_status diff_make(struct profile *before, struct profile *after, double level,
                           diff_skip *skip, void *context, struct diff *diff);
void diff_free(struct diff *diff);

/* The side on which the change's finding can be shown: the later one, if it is there. */
static inline unsigned diff_shown_side(const struct compare_change *change)
{
    return change->after == COMPARE_NONE ? 0 : 1;
}

static inline const struct compare_finding *diff_finding(const struct diff *diff,
                                                         const struct compare_change *change)
{
    unsigned side = diff_shown_side(change);
    return &diff->sides[side].findings[side ? change->after : change->before];
}

/* Contexts (ids) of a pair: first and second. False: it is no pair. */
bool diff_contexts(const struct diff_side *side, const struct compare_finding *finding,
                   uint32_t contexts[2]);
/* The same as places of the ranking. */
bool diff_places(const struct diff_side *side, const struct compare_finding *finding,
                 uint32_t places[2]);

/* A path's or block's name, and where it begins; file NULL: not known. */
void diff_name(const struct diff_side *side, const struct compare_finding *finding,
               char out[BLOCK_NAME_BYTES], const char **file, uint32_t *line);

/* Of a pair's two contexts: "stored", "overwritten"; NULL of what is no pair. */
extern const char *const diff_labels[DIFF_KINDS][2];

/* What a kind's shares are shares of: "the bytes stored". */
const char *diff_whole_name(const struct diff_side *side, uint32_t kind);

/* Both contexts with their lines, or the name. The printer is the side's; chains: two, to work
 * with. */
struct chain;
void diff_print_finding(struct printer *printer, const struct diff_side *side,
                        const struct compare_finding *finding, struct chain *chains);

/* "12.3 %", "4.5 KiB", "1,234", "1.25 s"; signed: with a plus. */
const char *diff_number(enum diff_unit unit, double value, bool sign, char out[48]);

/* Of a kind's amounts. */
enum diff_unit diff_kind_unit(uint32_t kind);

#endif
