// SPDX-License-Identifier: MIT
/*
 * Nests as they would be if their source were changed: loops in another order or in tiles, rows of arrays with padding behind them;
 * and whether a change keeps what the program computes: every dependence's source before its sink, so that results are the same to the
 * last bit.
 *
 * A change of order is made around one group: the statements that stand in exactly the same loops. Its outermost `kept` loops stay as they
 * are; what shares one of the others with it is split off, into loops of its own before or behind.
 */
#ifndef HEADROOM_POLYHEDRA_CHANGE_H
#define HEADROOM_POLYHEDRA_CHANGE_H

#include "polyhedra/polyhedra.h"

enum { POLYHEDRA_LOOPS = 12 };

struct polyhedra_group {
    unsigned depth;                  /* loops around it */
    unsigned shared;                 /* of these, outermost: with other statements */
    uint32_t lines[POLYHEDRA_LOOPS]; /* of the loops, from outside; 0: unknown */
    size_t reference;                /* its first, of the nest */
    size_t references;               /* accesses of its statements */
};

struct polyhedra_change {
    bool reordered; /* what follows, up to padding, counts */
    size_t group;
    unsigned kept;
    uint8_t order
        [POLYHEDRA_LOOPS]; /* the others' numbers, 0 for the outermost loop of all, from outside; tiles stand around all */
    int64_t tiles[POLYHEDRA_LOOPS]; /* iterations of a tile, by loop; 0: not in tiles */
    const uint32_t *padding;        /* elements behind each row, by array of the nest; NULL: none */
};

struct polyhedra_changes;

/* Of the nest with that index, whose parameters are all bound. Statuses and error as polyhedra_nest's. */
enum base_status polyhedra_changes_begin(const struct polyhedra *polyhedra, size_t index,
                                         struct polyhedra_changes **changes, char *error);
void polyhedra_changes_free(struct polyhedra_changes *changes); /* NULL does nothing */

/* Groups in at least two loops. */
size_t polyhedra_changes_groups(const struct polyhedra_changes *changes,
                                const struct polyhedra_group **groups);

/* Elements from one row of an array to the next: its leading dimension. 0: it has none, or it is not known. */
int64_t polyhedra_changes_row(const struct polyhedra_changes *changes, size_t array);

/* Does it keep all dependences? False if isl does not come to an end. */
bool polyhedra_changes_legal(const struct polyhedra_changes *changes,
                             const struct polyhedra_change *change);

/* As polyhedra_nest. Whether the change is legal is not looked at. */
enum base_status polyhedra_changes_nest(const struct polyhedra_changes *changes,
                                        const struct polyhedra_change *change, struct nest **nest,
                                        char *error);

#endif
