// SPDX-License-Identifier: MIT
/*
 * Dependences of a nest, from its statements' domains, accesses and schedules, by isl's data-flow analysis (Feautrier).
 *
 * All is said of instances of accesses: tuple R<n>[iterators of the statement] is access n of the nest, counted from 0 over the accesses
 * of its statements in their order, which is the number of nest.h's reference; V<n> is access n to scalars that live
 * across statements (registers of the compiled program), counted likewise. `statements` maps them to the instances of
 * their statements, so that applying it to domain and range of a map makes it one of statements.
 *
 * Different arrays are taken to be disjoint. Parameters stay symbolic. isl's objects belong to the polyhedra's context: free them
 * before that. One thread at a time.
 */
#ifndef HEADROOM_POLYHEDRA_DEPENDENCES_H
#define HEADROOM_POLYHEDRA_DEPENDENCES_H

#include "polyhedra/polyhedra.h"

#include <isl/union_map.h>

enum polyhedra_memory { POLYHEDRA_ARRAYS, POLYHEDRA_SCALARS };

struct polyhedra_accesses {
    isl_union_map *reads;       /* { R3[i, j] -> MemRef0[j] } */
    isl_union_map *must_writes; /* those that always happen */
    isl_union_map *may_writes;  /* under conditions that depend on data */
    isl_union_map *schedule; /* { R3[i, j] -> [..., place in the statement] }, all of one length */
    isl_union_map *statements; /* { R3[i, j] -> Stmt1[i, j] } */
};

/* Whether all pairs of instances are wanted that touch the same element, or only those without a write to it in between. */
enum polyhedra_pairs { POLYHEDRA_LAST, POLYHEDRA_ALL };

/* Each { R1[i, j] -> R3[i', j'] }: what is executed first -> what depends on it. */
struct polyhedra_dependences {
    isl_union_map *flow;   /* write -> read */
    isl_union_map *anti;   /* read -> write */
    isl_union_map *output; /* write -> write */
};

/* array: as Polly names it; NULL: all. BASE_NO_MEMORY if isl fails; *accesses is then untouched. */
enum base_status polyhedra_accesses(const struct polyhedra *polyhedra, size_t index,
                                    enum polyhedra_memory memory, const char *array,
                                    struct polyhedra_accesses *accesses);
void polyhedra_accesses_free(struct polyhedra_accesses *accesses);

/* BASE_TOO_LARGE: isl was stopped. *dependences is untouched on failure. */
enum base_status polyhedra_dependences(const struct polyhedra *polyhedra,
                                       const struct polyhedra_accesses *accesses,
                                       enum polyhedra_pairs pairs,
                                       struct polyhedra_dependences *dependences);
void polyhedra_dependences_free(struct polyhedra_dependences *dependences);

#endif
