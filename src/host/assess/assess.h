// SPDX-License-Identifier: MIT
/*
 * assess: loops of files or of a recorded run, with their bounds, as rows of a profile; and what has to be done before: picking loops by
 * function or source line, assembling and compiling.
 *
 * Host side. Errors explain themselves in one sentence, as in the rest of the house: error, of ASSESS_ERROR_BYTES.
 */
#ifndef HEADROOM_ASSESS_H
#define HEADROOM_ASSESS_H

#include "binary/binary.h"
#include "bodies/bodies.h"
#include "bounds/executed.h"
#include "profile/profile.h"

#include <stdio.h>

enum { ASSESS_ERROR_BYTES = 4608, ASSESS_PATH_BYTES = 4096 };

/* ---- which loops ---------------------------------------------------------------------------------- */

/* Innermost loops of a file. All NULL and 0: all of them. */
struct assess_target {
    const char *
        function; /* name, demangled or not, with or without parameters; or 0xADDRESS of an instruction */
    const char *file; /* the end of a source file's path; NULL with a line: any */
    uint32_t line;    /* loops with instructions of that line, or around it */
};

/* Opens a file that may hold code. BASE_OK, or a status and the error. Symbols as usual. */
enum base_status assess_open(const char *path, const struct binary_options *symbols,
                             struct binary **binary, char *error);

/* The target's loops, by address. An error if there is no such function, no loop, or the file has not what is needed to tell. shown:
   the file's name for errors. */
enum base_status assess_find(struct binary *binary, const char *shown,
                             const struct assess_target *target, struct bodies *bodies,
                             char *error);

/* ---- loops of any depth (heads.c) ----------------------------------------------------------------- */

struct assess_head {
    uint64_t function, end; /* vaddrs */
    uint64_t head;          /* first instruction of the loop's head */
    uint64_t
        body; /* of the block that an iteration executes first, where the head also ends the loop; 0: it is the head */
};

struct assess_heads {
    struct assess_head *items;
    size_t count, capacity;
};

/* The deepest loops that have instructions of the target's line, several where compilers made more than one of it. Nothing but lines
   is looked at. BASE_NO_MEMORY. Free them whatever is returned. */
enum base_status assess_heads_at(struct binary *binary, const struct assess_target *target,
                                 struct assess_heads *heads);
void assess_heads_free(struct assess_heads *heads);

/* How often the loop was entered, and how many iterations were begun, exactly. counted: a profile of the command with paths counted by
   the exact engine. path: of its file there. False: its function was not counted. */
bool assess_trips(const struct profile *counted, const char *path, const struct assess_head *head,
                  uint64_t *visits, uint64_t *iterations);

/* ---- bounds ------------------------------------------------------------------------------------------ */

struct assess_options {
    const struct model *model;
    const struct bounds_latencies *latencies; /* NULL: the model's */
    const struct assess_target *only;         /* of a run's loops; NULL: all */
    struct util_text *
        graph; /* of a run's loops: their dependence graphs go there, of `drawn` the first one; NULL: nowhere */
    bool drawn; /* in Graphviz' language, not as lists */
};

/* The loop's bounds as rows of the profile. module, level: may be NULL; share: negative if not known. BASE_NO_MEMORY. */
enum base_status assess_add(struct profile *profile, const struct bodies_loop *loop,
                            const struct assess_options *options, const char *module,
                            const char *level, double share);

/*
 * The loops in which a run spent most CPU time, by the samples of its profile (`times`), as rows of the same profile. Files that are
 * gone or have changed are left out, and the profile says so. Replaces such rows as the profile has. limit: as many at most.
 */
enum base_status assess_profile(struct profile *profile, const struct binary_options *symbols,
                                const struct assess_options *options, size_t limit);

/*
 * Measured beside bounded: the CPU time of the samples in a loop over how often its head was executed, in cycles as long as the profile's
 * limit_runs have them. counted: a profile of the same command with paths counted; loops of functions that were not stay as they
 * are. Samples are of all ways through a loop, and so is what is measured. What was executed comes with it (assess_take_windows).
 * False: no memory.
 */
bool assess_measure(const struct profile *counted, struct profile *profile);

/* The dependence graph of a loop: as a list of dependences and the critical circuit, or in Graphviz' language. */
enum base_status assess_graph(const struct bodies_loop *loop, const struct assess_options *options,
                              bool dot, struct util_text *text);

/* Optimistic schedules of the loop's iterations, one behind the other (bounds/schedule.h). */
enum base_status assess_schedule(const struct bodies_loop *loop,
                                 const struct assess_options *options, struct util_text *text);

/* ---- what was executed ------------------------------------------------------------------------------------- */

/* Memory models that schedules are made for, bits of 1 << enum executed_memory, and what loads take that do not hit. */
struct assess_memory {
    unsigned models;
    struct executed_latencies latencies;
    double lines
        [EXECUTED_LEVELS]; /* that caches hold, the first-level one first; of EXECUTED_EXPECTED alone */
};

/* Moves the windows of `counted` that belong to loops of the profile into that, in place of those that it has: of each loop those of
   the process that executed it most often. False: no memory. */
bool assess_take_windows(const struct profile *counted, struct profile *profile);

/* Puts reuse distances of the instructions that windows of the profile have into that, out of a profile of the same command with
   reuse of lines, in place of those that it has. False: no memory. */
bool assess_take_distances(const struct profile *reuse, struct profile *profile);

/*
 * Optimistic schedules of what the profile's loops executed (bounds/executed.h), as rows in place of those that it has, and as text
 * behind `text`, unless that is NULL. Loops without windows get none. BASE_NO_MEMORY.
 */
enum base_status assess_executed(struct profile *profile, const struct binary_options *symbols,
                                 const struct assess_options *options,
                                 const struct assess_memory *memory, struct util_text *text);

/* ---- files that are made first -------------------------------------------------------------------------- */

/* Files in a directory of their own, which assess_drop removes. */
struct assess_made {
    char directory[ASSESS_PATH_BYTES], path[ASSESS_PATH_BYTES]; /* path: what can be opened */
};

/* Is it an object file or an archive of them, whose code has no addresses yet? Then assess_link gives it some: each file is opened
   as if it were alone in a program. */
bool assess_is_unlinked(const char *path);
bool assess_link(const char *path, struct assess_made *made, char *error);

/* An assembly file; .S is preprocessed. */
bool assess_assemble(const char *source, struct assess_made *made, char *error);

/* A source file with a compiler and its arguments (NULL-terminated), in which the file itself, -c, -S and -o are passed over; level,
   "O2", comes last; NULL: none. What the compiler prints goes to standard error. */
bool assess_compile(const char *source, char *const *compiler, const char *level,
                    struct assess_made *made, char *error);
void assess_drop(struct assess_made *made);

/* "dot -Tsvg" on a text, into out. False: error. */
bool assess_svg(const struct util_text *dot, FILE *out, char *error);

#endif
