// SPDX-License-Identifier: MIT
/*
 * Findings grouped by cause. What was found between two calling contexts is a *link* here; links
 * with the same cause are one *group*, which is what reports call a finding.
 *
 * A cause is a pair of places in the program's own code (show/own.h): who called them, and what of
 * the C library or of a template library made the access there, only divides the evidence. Where a
 * pair of places has too little of it, all such pairs of one function are one group, if together
 * they have enough; what is left is *weak*.
 *
 * Pure, but for memory; thread-safe as far as arguments are different ones.
 */
#ifndef HEADROOM_SHOW_GROUP_H
#define HEADROOM_SHOW_GROUP_H

#include "show/places.h"
#include "show/report.h"

struct group_link {
    uint32_t first, second; /* places; see struct places */
    uint32_t class;         /* links of different classes are never in one group */
    double weight;          /* what groups and their links are ordered by, >= 0 */
    double share;           /* what is printed of it: a part of what all links are */
    uint64_t seen;          /* how often it was seen: the evidence */
};

struct group_rule {
    enum report_by by;   /* REPORT_BY_DEFAULT is REPORT_BY_CAUSE */
    unsigned lead;       /* 0 or 1: the end that a finding of one place is about */
    double least_weight; /* with less, or seen less often, a group is weak */
    uint64_t least_seen;
};

struct group {
    enum report_by by; /* what its links have in common; never REPORT_BY_DEFAULT or _CAUSE */
    bool weak;
    double weight; /* sums */
    uint64_t seen;
    const uint32_t *links; /* indices, heaviest first: links[0] stands for the group */
    size_t links_count;    /* >= 1 */
    size_t parts;          /* different pairs of own places among them */
};

struct groups {
    struct group *items; /* in no order */
    size_t count;
    uint32_t *lists; /* what the groups' point into */
    const struct group_link *links;
    struct group_rule rule;
    double whole; /* weight of all links */
};

/* links must outlive the groups. False: no memory; *groups is then untouched. */
bool groups_make(const struct places *places, const struct group_link *links, size_t count,
                 const struct group_rule *rule, struct groups *groups);
void groups_free(struct groups *groups);

/* Is a link by itself too little evidence? */
bool group_link_is_weak(const struct groups *groups, const struct group_link *link);

/* Do both places lie at the same line of own code? */
bool group_same_spot(const struct places *places, uint32_t a, uint32_t b);

#endif
