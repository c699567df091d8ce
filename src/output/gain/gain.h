// SPDX-License-Identifier: MIT
/*
 * gain: how much faster a program could be if what was found were mended (docs/gain.md).
 *
 * What is found at one line of own code is one *finding*, whatever its *symptoms*: the same memset
 * may be a dead and a silent store. Its gain is estimated from two samples of the same run: of
 * clock ticks, which say how much time the line takes, and of accesses, which say which share of
 * them was wasted there:
 *
 *   direct   the line's CPU time, times that share, times the part that a fix is expected to save; of several kinds the largest
 *   low      GAIN_SURE of the same, of the wasted instructions alone, at the lower ends of both 95 %
 *            intervals; nothing of loads whose values are needed anyway, and of single stores
 *   ceiling  the CPU time of the innermost loop around the line; without one, of its function. If the line loses its own
 *            data from the caches, it pushes out those of others, too: and all that waits elsewhere
 *
 * Lines of memory that threads take from each other cost from nothing to all of the time at the line, at a guess what so many
 * transfers take. Where samples saw them, not more than the time in all accesses to the memory, at a guess half of that.
 *
 * Data that caches have lost when they are used again cost what the misses take, by the latencies of the machine
 * (stall.c), but no more than the time at the instructions that wait.
 *
 * A tick belongs to one line only, so that the direct gains of several findings may be added: that of the innermost
 * own code or, where nothing was found there, of the wasted access close ahead. Ceilings may not be added. All are shares of the CPU time, kernel included.
 *
 * Pure, but for memory; thread-safe as far as arguments are different ones.
 */
#ifndef HEADROOM_GAIN_H
#define HEADROOM_GAIN_H

#include "analysis/advice.h"
#include "show/places.h"
#include "show/source.h"
#include "util/util.h"

/* Of a line's time, what is saved where not all of its work could go. GAIN_INHERENT: what is next to never saved, such as
   reading the same data in each iteration of an outer loop; a judgement, as waste's ranking. GAIN_ACCESS: where a value could be
   kept in a register or a store left out, one instruction goes: of about four in the 15 bytes of code that a tick may be off. */
#define GAIN_INHERENT 0.03
#define GAIN_ACCESS   0.25

/* Of the time at accesses to memory that threads take from each other, what is expected to go where nobody has counted the transfers: the
   middle between nothing, where each thread uses the line for long before it moves, and all. A judgement. */
#define GAIN_SHARED 0.5

/* Of the time at instructions, what removing them saves at least. While one is waited for, a
   processor has later ones under way, and what it did meanwhile it will have to wait for then: how much that is was not
   measured. And a search that is mended still looks once, where it looked at least twice. A judgement. */
#define GAIN_SURE 0.5

/* A finding of which less is expected is slight: true, and not worth anybody's time before it is measured. */
#define GAIN_LEAST 0.01

/* Lines of own code, numbered from 1; 0: not known. */
struct gain_lines {
    uint32_t *of_place; /* by place: the line of its innermost own frame */
    uint32_t *frames;   /* by line: one of the frames that are it */
    size_t count;       /* lines, 0 included */
    struct util_index index;
};

/* ---- waiting for data that caches have lost (stall.c) ---- */

enum { GAIN_LEVELS = 6 };

/* Misses of the first level that a core has under way at a time at most: it has 10 to 16 buffers for them. */
#define GAIN_OVERLAP 16

/* What an access takes more that misses a level. */
struct gain_level {
    double wait_ns;   /* if nothing hides it */
    double stream_ns; /* of one line of many that are read in order */
};
/* From the first level on, for recordings that do not know their machine's; zeros end. */
extern const struct gain_level gain_typical_levels[GAIN_LEVELS];

/* What misses would be avoided if the accesses of one line found their data near. */
struct gain_misses {
    size_t count; /* levels, smallest cache first */
    struct gain_level levels[GAIN_LEVELS];
    struct {
        double share, low, high; /* of all the program's accesses: low <= share <= high */
        double in_order; /* of share: of code that walks over lines of memory in order, 0..1 */
    } avoided[GAIN_LEVELS];
    double pace, pace_low, pace_high; /* accesses in a nanosecond of CPU time */
    bool counted; /* the pace is the program's, waits included; else of one that does not wait */
};

/* Fills `levels` as far as `count`: the profile's, or typical ones. */
void gain_levels(const struct profile *profile, struct gain_misses *misses);

/* Shares of the CPU time in user mode, 0 <= low <= direct <= high <= 1. */
struct gain_stall {
    double direct, low, high;
    double streams; /* of direct: for lines that are walked in order */
    double needed;  /* of direct: what is next to never saved */
};
struct gain_stall gain_stall_of(const struct gain_misses *misses);

/* What memory a symptom is about, where no samples of its kind say it (show/objects.h). */
struct gain_object {
    const char *text;   /* for people: "counters"; NULL: nothing in particular, and all else is 0 */
    uint32_t kind;      /* enum profile_object */
    const char *name;   /* of a variable or file; NULL: none */
    uint64_t size;      /* 0: not known */
    uint64_t offset;    /* of the line of memory in it, two's complement */
    bool located;       /* the offset is known */
    uint32_t context;   /* where it was allocated; 0: not known */
    const char *fields; /* which of it, "a against b"; NULL: not known */
    const char *class;  /* "false", "true", "mixed": sharing; NULL: not known */
    const char *remedy; /* a sentence: what exactly to do; NULL: not known */
};

/* One kind of waste at one line, or what it waits for. */
struct gain_symptom {
    const char *kind;     /* as in JSON: "dead" */
    const char *what;     /* for people: "dead stores" */
    const char *share_of; /* behind `waste`: "of the stores there are overwritten unread" */
    struct gain_object object;
    const char *labels[2];  /* of the places: "stored", "overwritten" */
    uint32_t line;          /* at which the access that does nothing is made */
    uint32_t first, second; /* contexts that stand for all */
    size_t number;          /* in the list of its kind, from 1; 0: there is none */
    uint64_t seen;          /* wasted accesses that were caught there */
    bool weak;              /* too few to be shown */
    bool counted;           /* `waste` is exact: see gain/attach.h */
    uint64_t one_in; /* counted, but one location of that many was followed; 0 and 1: all were */
    double part;     /* of the time there, what could go: 1, GAIN_ACCESS, GAIN_INHERENT */
    double fraction; /* of what its kind wastes at the line, or of what the line waits for, 0..1 */
    bool sure;       /* the work, not only the access, can be left out: has a lower end */
    bool general;    /* nothing is known of how it comes about */
    struct profile_share waste; /* of the accesses of its kind there */
    bool waits; /* nothing is done for nothing, but data that caches have lost are waited for: */
    bool moves; /* nor that, but memory is waited for that another thread has: */
    struct gain_stall
        stall; /* so long at most; not more than ticks at such accesses show; moves: at the line, high: what all
                  accesses to the memory take, 1: not known */
    bool
        whole; /* it is not of the line's accesses: `stall` is what the fix saves of all the program's time */
    struct advice advice;
    size_t order; /* set by gain_add */
};

struct gain_sink;
/* A copy that lives as long as the list; NULL: of NULL, or no memory, and then *good is false. */
const char *gain_keep(struct gain_sink *sink, const char *text, bool *good);
/* False: no memory. */
bool gain_add(struct gain_sink *sink, const struct gain_symptom *symptom);
/* An instruction that makes wasted accesses: the innermost frame of that context; sure: as in symptoms.
   False: no memory. */
bool gain_add_access(struct gain_sink *sink, uint32_t context, bool sure);
/* The same of one that waits. */
bool gain_add_wait(struct gain_sink *sink, uint32_t context);

/* Bytes of accesses of one kind at a line that did nothing, and that did something. */
struct gain_count {
    double waste, use;
};

/* Accesses at a line that use something again, and how many miss each cache of the profile. */
struct gain_missed {
    double accesses, missing[GAIN_LEVELS];
    double in_order[GAIN_LEVELS]; /* of missing: of code that walks over lines of memory in order */
    uint64_t followed;            /* of accesses, or samples of them */
};

/* Transfers of cache lines between two contexts of a recording, each at a line of own code. */
struct gain_transfer {
    uint32_t first, second;
    const char *object, *cause; /* as in struct profile_transfer; the caller's */
    uint32_t kind;              /* of the object */
    uint64_t size;
    double transfers, whole, instructions;
};
struct gain_transfers;
/* False: no memory. */
bool gain_add_transfer(struct gain_transfers *to, const struct gain_transfer *transfer);

/* What a verb whose findings can be mended provides. */
struct analysis_gain {
    /* Of a recording by the exact engine: counts[line] += what it found of that kind. NULL: it counts nothing. False: no
       memory. */
    bool (*count)(const struct places *places, const struct gain_lines *lines, uint32_t kind,
                  struct gain_count *counts);
    /* Likewise, of distances: missed[line] += the misses of each cache, and *whole += all accesses of the program. NULL: it
       measures none. */
    bool (*misses)(const struct places *places, const struct gain_lines *lines,
                   struct gain_missed *missed, double *whole);
    /* Likewise, of threads: adds what is worth anybody's time. NULL: it sees none. */
    bool (*transfers)(const struct places *places, struct gain_transfers *to);
    /* Of a recording of its own: what threads waited for goes into the other profile's `waits`, most first. NULL: it times
       nothing. False: no memory. */
    bool (*waits)(const struct profile *timed, struct profile *profile);
    /* What is usually done about a wait of that cause; id NULL: nothing, or it is not the verb's. NULL: as waits. */
    struct advice (*wait_advice)(const char *cause);
    /* Adds the profile's symptoms, in any order. NULL: it has none. False: no memory. */
    bool (*symptoms)(const struct places *places, const struct gain_lines *lines,
                     struct source_cache *sources, struct gain_sink *sink);
};

struct gain_finding {
    uint32_t line;
    bool weak;                      /* all symptoms are, or the line was met by no tick */
    bool slight;                    /* `together` is less than GAIN_LEAST */
    double direct, low, ceiling;    /* shares of the CPU time */
    double needed;                  /* of direct: what is next to never saved */
    double direct_low, direct_high; /* 95 % interval of direct: what the samples leave open */
    uint64_t ticks;                 /* at the line */
    uint32_t cause;                 /* equal for lines of one function with the same advice */
    double together; /* middles of low and of direct without `needed`, of all of its cause */
    struct gain_symptom *symptoms; /* those with much waste first */
    size_t count;
};

struct gain_list {
    const struct places *places;
    struct gain_lines lines;
    struct gain_finding *
        items; /* weak ones last; by `together`, then by the middle of low and direct, largest first */
    size_t count, strong; /* strong: those that are not weak */
    size_t worth;         /* of strong: those that are not slight */
    double user;          /* share of the CPU time that was spent in user mode, 1 if unknown */
    struct gain_symptom *symptoms;
    size_t symptoms_count, symptoms_capacity;
    char **texts; /* of symptoms */
    size_t texts_count, texts_capacity;
};

/* places must outlive the list. False: no memory; *list is then untouched. */
bool gain_make(const struct places *places, struct source_cache *sources, struct gain_list *list);
void gain_free(struct gain_list *list);

/* The counts of that kind by line; without any at a line both are 0. False: no memory. *counts: the caller's to free. */
bool gain_counted(const struct places *places, const struct gain_lines *lines, uint32_t kind,
                  struct gain_count **counts);

/* Numbers the lines. False: no memory, nothing to free. */
bool gain_lines_make(const struct places *places, struct gain_lines *lines);
/* Share of the CPU time that was spent in user mode, 1 if unknown. */
double gain_user_share(const struct profile *profile);

/* The line that a frame of the same profile is at; 0: none of them. */
uint32_t gain_lines_find(const struct gain_lines *lines, const struct profile *profile,
                         uint32_t frame);
void gain_lines_free(struct gain_lines *lines);

#endif
