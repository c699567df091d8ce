// SPDX-License-Identifier: MIT
/*
 * Places: calling contexts as a person thinks of them. A profile keeps contexts by instruction;
 * those that differ only in addresses on the same lines (an unrolled loop, the halves of a copied
 * structure) are one place here.
 */
#ifndef HEADROOM_SHOW_PLACES_H
#define HEADROOM_SHOW_PLACES_H

#include "base/base.h"
#include "profile/profile.h"
#include "util/util.h"

struct place {
    uint32_t parent, class; /* class: frames that read the same; parent < own index, 0: root */
};

struct places {
    const struct profile *profile;
    bool exact;         /* counts of everything: shares have no intervals */
    uint32_t *classes;  /* by frame id: lowest frame id that reads the same */
    uint32_t *place_of; /* by context id */
    struct place *items;
    size_t count;
    bool *system;  /* by frame id: the system's code (show/own.h) */
    uint32_t *own; /* by place: the innermost in own code on its way to the root, itself at first;
                      itself if there is none */
};

/*
 * fold_recursion: a recursive call leads back to its first activation (Ammons, Ball, Larus 1997),
 * so recursion depth does not split findings. The profile must outlive the places. BASE_NO_MEMORY;
 * *places is then untouched.
 */
enum base_status places_make(const struct profile *profile, bool fold_recursion,
                             struct places *places);
void places_free(struct places *places);

/* Are both frames at one line, whatever was inlined there or made of a template? Without lines: in one function, and without
   that at one address. And in one function? With hashes of what is compared. */
bool place_same_line(const struct profile_frame *a, const struct profile_frame *b);
bool place_same_function(const struct profile_frame *a, const struct profile_frame *b);
uint64_t place_line_hash(const struct profile_frame *frame);
uint64_t place_function_hash(const struct profile_frame *frame);

/* Pairs of places, numbered from 0 in the order in which they are first looked up. */
struct place_pairs {
    uint64_t *keys;
    size_t count, most;
    struct util_index index; /* of keys */
};

/* Room for `most` different pairs. False: no memory, nothing to free. */
bool place_pairs_make(struct place_pairs *pairs, size_t most);
void place_pairs_free(struct place_pairs *pairs);
/* The pair's number; equal to the count before, if it is new: then there were fewer than `most`. */
size_t place_pairs_number(struct place_pairs *pairs, uint32_t first, uint32_t second);

/* What stands for all that was lost or merged has no place. */
static inline bool place_pair_is_known(uint32_t first, uint32_t second)
{
    return first || second;
}

#endif
