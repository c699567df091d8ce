// SPDX-License-Identifier: MIT
/*
 * What findings' locations lie in: variables, blocks of the heap by where they were allocated, stacks. From the samples of the
 * contexts that a finding consists of. Pure, but for memory; thread-safe as far as arguments are different ones.
 */
#ifndef HEADROOM_SHOW_OBJECTS_H
#define HEADROOM_SHOW_OBJECTS_H

#include "show/group.h"
#include "show/json.h"
#include "show/print.h"

struct objects_row {
    uint32_t kind, first, second; /* places */
    const struct profile_located *of;
};

/* Rows of the profile by kind and places. */
struct objects {
    const struct profile *profile;
    struct objects_row *rows;
    size_t count;
};

/* places must outlive them. False: no memory. */
bool objects_make(const struct places *places, struct objects *objects);
void objects_free(struct objects *objects);

/* The object in which most of a finding's locations lie. */
struct objects_found {
    const struct profile_memory *memory; /* NULL: none is known */
    uint64_t low, high;                  /* offsets in it, the least and the greatest */
    const char *field, *member;          /* as in struct profile_located, of all of them */
    double share;                        /* of the locations whose object is known, (0, 1] */
    uint64_t known, seen;                /* samples whose object is known, of all that were asked */
};

struct objects_found objects_of_group(const struct objects *objects, uint32_t kind,
                                      const struct groups *groups, const struct group *group);
/* Of two contexts alone, as they read in the source. */
struct objects_found objects_of_pair(const struct objects *objects, const struct places *places,
                                     uint32_t kind, uint32_t first, uint32_t second);

/* "counters (+64)", "4,096 B allocated by grow (heap.c:12)"; "" if there is nothing to say. At most `columns` wide. */
void objects_text(const struct printer *printer, const struct objects_found *found,
                  unsigned columns, char *line, size_t bytes);
/* That on a line of its own under a finding: "memory        counters (+64)". */
void objects_print(struct printer *printer, const struct objects_found *found);

/* The member "object": null if none is known. */
void objects_json(struct json *json, const struct places *places,
                  const struct objects_found *found);
void objects_json_group(struct json *json, const struct objects *objects,
                        const struct places *places, uint32_t kind, const struct groups *groups,
                        const struct group *group);

#endif
