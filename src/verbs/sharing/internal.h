// SPDX-License-Identifier: MIT
/*
 * Between the files of sharing: lines with their pairs and threads, ranked (figures.c), fields (fields.c), what to do (advice.c), for people
 * (text.c; line_text.c: one line with its picture), as JSON (json.c), in comparisons (compare.c) and exports (export.c).
 */
#ifndef HEADROOM_SHARING_INTERNAL_H
#define HEADROOM_SHARING_INTERNAL_H

#include "analysis/advice.h"
#include "gain/gain.h"
#include "sharing/sharing.h"
#include "show/json.h"
#include "show/places.h"
#include "show/print.h"

enum { SHARING_READS = 1, SHARING_WRITES = 2, SHARING_LINE_BYTES = 64, SHARING_MATRIX = 64 };

/* A transfer takes the time of some hundred instructions, from cache to cache; a line whose transfers take less
   than this part of the run is not worth anybody's time. */
enum { SHARING_TRANSFER_INSTRUCTIONS = 100 };
#define SHARING_LEAST_PART 0.01
/* Of a live recording: meetings of fewer may be luck. */
enum { SHARING_FEW_TRAPS = 5 };

enum sharing_class { SHARING_FALSE, SHARING_TRUE, SHARING_MIXED };
/* Of a line's transfers, beyond which it is one or the other. */
#define SHARING_CLEAR 0.9
extern const char *const sharing_class_names[]; /* "false", "true", "mixed" */
extern const char *const sharing_object_names[PROFILE_OBJECTS];

/* Two places of a line, in both directions; by contexts as they read in the source. The first one writes, if only one does. */
struct sharing_pair {
    uint32_t first, second; /* contexts of the heaviest */
    uint32_t first_place, second_place;
    uint32_t first_kind, second_kind; /* bits SHARING_READS, SHARING_WRITES */
    bool is_true;
    uint64_t first_mask, second_mask;
    double transfers;
};

struct sharing_line {
    const struct profile_shared_line *row;
    const struct profile_shared_pair *rows; /* heaviest first */
    size_t rows_count;
    struct sharing_pair *pairs; /* heaviest first */
    size_t pairs_count;
    const struct profile_shared_user *users; /* by thread */
    size_t users_count;
    const struct profile_shared_field *fields; /* by their bytes */
    size_t fields_count;
    struct profile_shared_seen seen; /* live: of this line alone */
    enum sharing_class class;
    double transfers, share; /* of all transfers */
    bool locked;             /* most of what is true is by locked instructions */
    bool weak;               /* of the run, too little */
    uint32_t
        lines; /* of the same object and class, this one included; 0: another, heavier one stands for it */
    double together; /* transfers of all of them */
    /* Live: of all lines of the object and class. */
    uint64_t traps, samples; /* meetings; accesses published there */
    double time;             /* part of the CPU time that these stand for, without waiting */
    /* The same, on the line that stands for them. */
    struct profile_share live; /* of all transfers; known: there are enough */
    uint64_t
        gap_ns; /* between the touches of a meeting, a half of them at most; of this line alone */
    bool few;   /* meetings, for a figure */
};

struct sharing_report {
    const struct places *places;
    const struct profile *profile;
    struct sharing_line *lines; /* heaviest objects first */
    size_t lines_count;
    size_t findings; /* lines that stand for an object and are not weak; they come first */
    struct profile_shared_pair *rows; /* the memory of all lines' rows */
    struct sharing_pair *pairs;       /* likewise */
    struct profile_shared_user *users;
    struct profile_shared_field *fields;
    struct profile_shared_gap *gaps;
    struct profile_shared_run totals; /* of all processes; exhausted: how many of them */
    double transfers;
    bool live; /* transfers are estimated from samples, as if an instruction took a nanosecond */
    struct profile_shared_watch watched; /* live: of all processes */
    double squares;                      /* live: of the weights */
    uint32_t threads;                    /* in the matrix */
    double matrix[SHARING_MATRIX][SHARING_MATRIX];
};

/* NULL: no memory. */
struct sharing_report *sharing_report_make(const struct places *places);
void sharing_report_free(void *report);

/* Live: do threads wait by spinning so often that lines may be handed over in turns, which samples cannot tell from sharing at the same time? */
bool sharing_spins(const struct sharing_report *report);

/* Transfers in 1,000 instructions. */
double sharing_rate(const struct sharing_report *report, double transfers);

/* Transfers in 1,000 instructions from which on a line is a finding. */
#define SHARING_MATTERS (1000 * SHARING_LEAST_PART / SHARING_TRANSFER_INSTRUCTIONS)

/*
 * Live, where there is no finding: that is less than it says (enum), and from how many transfers in 1,000 instructions on a line would have been
 * met in 95 of 100 such runs. Nothing found says as much as there are looks at the board: a touch of a line with the share p of all accesses is met
 * in about one look of 2/p, so that 3 are expected, and 95 of 100 runs show one, in 6/p (docs/sharing.md). If two threads use
 * it alike it moves at every second access; of ten instructions four are taken to load or store.
 */
enum sharing_doubt {
    SHARING_NO_DOUBT,
    SHARING_FEW_LOOKS, /* for any statement */
    SHARING_FEW_MET    /* sharing was seen too rarely to say on which line it matters, but it may */
};
struct sharing_silence {
    enum sharing_doubt doubt;
    double least; /* part of the accesses; and what is met from it on: */
    double rate;
};
struct sharing_silence sharing_silence(const struct sharing_report *report);

/* "counters", "heap block of 64 bytes", ... */
void sharing_object(const struct profile_shared_line *row, char name[NAME_BYTES]);

/* What lies on a line besides, or in parts of it. */
struct sharing_part {
    int byte;         /* where it begins on the line; -1: not known */
    const char *name; /* `length` bytes */
    size_t length;
};
/* The next part of `parts`, of a row, from *at on, NULL at first; false: there is none. */
bool sharing_next_part(const char *parts, const char **at, struct sharing_part *part);

/* ---- fields (fields.c) ------------------------------------------------------------------------- */

enum { SHARING_FIELDS_MAX = 128 };

/* Bytes of the line. */
uint64_t sharing_field_mask(const struct profile_shared_field *field);
uint64_t sharing_used(const struct sharing_line *line);

/* Those with bytes of the mask, in order; returns how many. */
size_t sharing_fields_in(const struct sharing_line *line, uint64_t mask,
                         const struct profile_shared_field *found[SHARING_FIELDS_MAX]);
/* "counters[0].hits", "counters[0..3].hits", "left and right", "a and 3 more". False: none is known. */
bool sharing_fields_text(const struct sharing_line *line, uint64_t mask, char text[NAME_BYTES]);

/* Neighbours that threads use alike: one field, or elements of one array. */
struct sharing_run {
    const struct profile_shared_field *first, *last;
    char text[NAME_BYTES];
};
/* The next run of fields that are used, from *at on, 0 at first. False: there is none. */
bool sharing_next_run(const struct sharing_line *line, size_t *at, struct sharing_run *run);

/* Two fields that different threads use, one of which is written, and why they are neighbours. */
enum sharing_apart { SHARING_APART_ELEMENTS, SHARING_APART_MEMBERS, SHARING_APART_VARIABLES };
struct sharing_remedy {
    const struct profile_shared_field *first, *second;
    enum sharing_apart kind;
    const char *type; /* of the elements, or that has the members; NULL: not known */
    uint64_t bytes;   /* of such an element */
};
/* False: nothing that is known could be kept apart. */
bool sharing_remedy(const struct sharing_line *line, struct sharing_remedy *remedy);
/* A sentence of `bytes` bytes at most. */
void sharing_remedy_text(const struct sharing_remedy *remedy, char *text, size_t bytes);

/* With the places in an order that is that of all profiles: by what they read like, not by their numbers. */
struct sharing_pair sharing_ordered(const struct places *places, const struct sharing_pair *pair);

struct advice sharing_advice(const struct sharing_report *report, const struct sharing_line *line);

/* The advice of that id, and what it is about: "false sharing". id NULL: none has it. */
struct advice sharing_usual(const char *id, const char **what);

/* One finding, with its picture. False: no memory. */
bool sharing_print_line(struct printer *printer, const struct sharing_report *report,
                        const struct sharing_line *line, size_t number);

extern const struct analysis_text sharing_text;
extern const struct analysis_compare sharing_compare;
extern const struct analysis_export sharing_export;
extern const struct analysis_view sharing_view;
extern const struct analysis_gain sharing_gains;
bool sharing_json(struct json *json, const struct places *places,
                  const struct report_options *options);

#endif
