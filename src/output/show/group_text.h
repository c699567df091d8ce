// SPDX-License-Identifier: MIT
/* Groups of findings for people: where their places are and which contexts lead to them. */
#ifndef HEADROOM_SHOW_GROUP_TEXT_H
#define HEADROOM_SHOW_GROUP_TEXT_H

#include "show/group.h"
#include "show/print.h"

/* What a group's two places are called. */
struct group_words {
    const char *first, *second; /* "stored", "overwritten" */
};

/* Appends how many contexts or places a group has, if more than one: ", in 13 contexts". */
void group_add_extent(const struct group *group, char *line, size_t bytes);

/* Has the group one context, so that its callers can be printed at its places? */
static inline bool group_is_single(const struct group *group)
{
    return group->by <= REPORT_BY_PAIR && group->links_count == 1;
}

/* The places of a group, with their callers if it is single; chains are made, of its heaviest
   link. */
void group_print_places(struct printer *printer, const struct groups *groups,
                        const struct group *group, const struct group_words *words,
                        struct chain chains[2]);

/* Of a group that is not single, what it consists of: contexts, pairs of places, or functions,
   with shares of the whole. chains: to work with. False: no memory. */
bool group_print_parts(struct printer *printer, const struct groups *groups,
                       const struct group *group, const struct group_words *words,
                       struct chain chains[2]);

/* Narrows the prefix by the group's heaviest link. */
void group_narrow(struct printer *printer, const struct groups *groups, const struct group *group);

#endif
