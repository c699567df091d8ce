// SPDX-License-Identifier: MIT
#include "show/group.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- what links have in common ----------------------------------------------------------------- */

struct key {
    uint32_t by, class, first, second;
};

/* At work. */
struct grouping {
    const struct places *places;
    const struct group_link *links;
    size_t count;
    const struct group_rule *rule;
    uint32_t *spots, *functions; /* by frame id: lowest id of the same line, of the same function */
    uint32_t *group_of;          /* by link */
    struct key *keys;            /* by group */
    struct group *groups;
    size_t groups_count;
};

static bool equal_spot(const void *items, uint32_t item, const void *key)
{
    return place_same_line(&((const struct profile_frame *)items)[item], key);
}

static bool equal_function(const void *items, uint32_t item, const void *key)
{
    return place_same_function(&((const struct profile_frame *)items)[item], key);
}

/* Numbers the frame if it is new. False: no memory. */
static bool number_frame(const struct grouping *at, struct util_index *spots,
                         struct util_index *functions, uint32_t id)
{
    const struct profile_frame *frames = at->places->profile->frames;
    bool found;
    return at->spots[id] ||
           (util_index_enter(spots, place_line_hash(&frames[id]), equal_spot, frames, &frames[id],
                             id, &at->spots[id], &found) &&
            util_index_enter(functions, place_function_hash(&frames[id]), equal_function, frames,
                             &frames[id], id, &at->functions[id], &found));
}

static uint32_t own_frame(const struct places *places, uint32_t place)
{
    return places->items[places->own[place]].class;
}

/* Of the frames that links end in. */
static bool number_frames(struct grouping *at)
{
    struct util_index spots = {0}, functions = {0};
    size_t frames = at->places->profile->frames_count + 1;
    at->spots = calloc(frames, sizeof *at->spots);
    at->functions = calloc(frames, sizeof *at->functions);
    bool good = at->spots && at->functions;
    for (size_t i = 0; good && i < at->count; i++) {
        uint32_t first = own_frame(at->places, at->links[i].first);
        uint32_t second = own_frame(at->places, at->links[i].second);
        good = (!first || number_frame(at, &spots, &functions, first)) &&
               (!second || number_frame(at, &spots, &functions, second));
    }
    util_index_free(&spots);
    util_index_free(&functions);
    return good;
}

static struct key key_of(const struct grouping *at, const struct group_link *link,
                         enum report_by by)
{
    struct key key = {.by = by, .class = link->class};
    uint32_t first = own_frame(at->places, link->first);
    uint32_t second = own_frame(at->places, link->second);
    uint32_t lead = at->rule->lead ? second : first;
    switch (by) {
    case REPORT_BY_CONTEXT: key.first = link->first, key.second = link->second; break;
    case REPORT_BY_LINE: key.first = at->spots[lead]; break;
    case REPORT_BY_FUNCTION: key.first = at->functions[lead]; break;
    case REPORT_BY_MODULE: key.first = at->places->profile->frames[lead].module; break;
    default: key.first = at->spots[first], key.second = at->spots[second]; break;
    }
    /* What has no place has none at any level. */
    if (!place_pair_is_known(link->first, link->second))
        key.by = REPORT_BYS;
    return key;
}

/* ---- groups ------------------------------------------------------------------------------------ */

static bool equal_key(const void *items, uint32_t item, const void *key)
{
    return memcmp(&((const struct key *)items)[item], key, sizeof(struct key)) == 0;
}

static uint64_t key_hash(const struct key *key)
{
    return base_mix64(base_mix64((uint64_t)key->first << 32 | key->second) ^
                      ((uint64_t)key->by << 32 | key->class));
}

static bool enter_group(struct grouping *at, struct util_index *index, struct key key,
                        uint32_t *group)
{
    bool found;
    if (!util_index_enter(index, key_hash(&key), equal_key, at->keys, &key,
                          (uint32_t)at->groups_count, group, &found))
        return false;
    if (!found) {
        at->keys[at->groups_count] = key;
        at->groups[at->groups_count++] = (struct group){.by = (enum report_by)key.by};
    }
    return true;
}

static bool is_weak(const struct grouping *at, const struct group *group)
{
    return group->weight < at->rule->least_weight || group->seen < at->rule->least_seen;
}

static bool group_by(struct grouping *at, enum report_by by)
{
    struct util_index index = {0};
    bool good = true;
    for (size_t i = 0; good && i < at->count; i++) {
        good = enter_group(at, &index, key_of(at, &at->links[i], by), &at->group_of[i]);
        if (!good)
            break;
        struct group *group = &at->groups[at->group_of[i]];
        group->weight += at->links[i].weight;
        group->seen += at->links[i].seen;
    }
    util_index_free(&index);
    for (size_t i = 0; i < at->groups_count; i++)
        at->groups[i].weak = at->keys[i].by != REPORT_BYS && is_weak(at, &at->groups[i]);
    return good;
}

/* ---- weak groups together ---------------------------------------------------------------------- */

/* Gathers the weak groups' links by function; one that has enough takes them over. */
struct gathered {
    uint32_t *function_of; /* by group that was weak: the group of its function */
    uint32_t *links;       /* by such a group: weak ones that went into it */
};

static bool gather(struct grouping *at, size_t before, struct gathered *gathered)
{
    struct util_index index = {0};
    bool good = true;
    for (size_t i = 0; good && i < at->count; i++) {
        uint32_t group = at->group_of[i], function;
        if (!at->groups[group].weak || group >= before)
            continue;
        good = enter_group(at, &index, key_of(at, &at->links[i], REPORT_BY_FUNCTION), &function);
        if (!good)
            break;
        gathered->links[function] += gathered->function_of[group] == 0;
        gathered->function_of[group] = function;
        at->groups[function].weight += at->links[i].weight;
        at->groups[function].seen += at->links[i].seen;
    }
    util_index_free(&index);
    return good;
}

/* A function's group numbers are above those of the weak ones, so never 0. */
static bool join_weak(struct grouping *at)
{
    size_t before = at->groups_count;
    struct gathered gathered = {calloc(before + 1, sizeof(uint32_t)),
                                calloc(2 * before + 1, sizeof(uint32_t))};
    bool good = gathered.function_of && gathered.links && gather(at, before, &gathered);
    for (size_t i = 0; good && i < at->count; i++) {
        uint32_t function = gathered.function_of[at->group_of[i]];
        if (at->group_of[i] < before && function && gathered.links[function] > 1 &&
            !is_weak(at, &at->groups[function]))
            at->group_of[i] = function;
    }
    free(gathered.function_of);
    free(gathered.links);
    return good;
}

/* ---- lists ------------------------------------------------------------------------------------- */

static int heaviest_first(const void *left, const void *right, void *context)
{
    const struct group_link *links = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (links[a].weight != links[b].weight)
        return links[a].weight < links[b].weight ? 1 : -1;
    return (a > b) - (a < b);
}

/* Groups that still have links, with these in order. */
static void list_links(struct grouping *at, uint32_t *lists)
{
    size_t next = 0, kept = 0;
    for (size_t i = 0; i < at->count; i++)
        at->groups[at->group_of[i]].links_count++;
    for (size_t i = 0; i < at->groups_count; i++) {
        at->groups[i].links = lists + next;
        next += at->groups[i].links_count;
        at->groups[i].links_count = 0;
    }
    for (size_t i = 0; i < at->count; i++) {
        struct group *group = &at->groups[at->group_of[i]];
        lists[(size_t)(group->links - lists) + group->links_count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < at->groups_count; i++) {
        struct group *group = &at->groups[i];
        qsort_r(lists + (group->links - lists), group->links_count, sizeof *lists, heaviest_first,
                (void *)at->links);
        if (at->keys[i].by == REPORT_BYS)
            group->by = REPORT_BY_CONTEXT;
        if (group->links_count)
            at->groups[kept++] = *group;
    }
    at->groups_count = kept;
}

/* Of a group's own: each pair of places is counted at the first of its links that is met. */
static bool count_parts(struct grouping *at)
{
    struct util_index index = {0};
    bool good = true, found;
    struct key *seen = calloc(at->count + 1, sizeof *seen);
    size_t seen_count = 0;
    for (size_t g = 0; seen && good && g < at->groups_count; g++)
        for (size_t i = 0; good && i < at->groups[g].links_count; i++) {
            struct key key = key_of(at, &at->links[at->groups[g].links[i]], REPORT_BY_PAIR);
            uint32_t number;
            key.class = (uint32_t)g;
            good = util_index_enter(&index, key_hash(&key), equal_key, seen, &key,
                                    (uint32_t)seen_count, &number, &found);
            if (!good || found)
                continue;
            seen[seen_count++] = key;
            at->groups[g].parts++;
        }
    util_index_free(&index);
    free(seen);
    return seen && good;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static bool make(struct grouping *at, uint32_t *lists)
{
    enum report_by by = at->rule->by;
    bool cause = by == REPORT_BY_DEFAULT || by == REPORT_BY_CAUSE;
    if (!number_frames(at) || !group_by(at, cause ? REPORT_BY_PAIR : by) ||
        (cause && !join_weak(at)))
        return false;
    list_links(at, lists);
    return count_parts(at);
}

bool groups_make(const struct places *places, const struct group_link *links, size_t count,
                 const struct group_rule *rule, struct groups *groups)
{
    struct grouping at = {.places = places, .links = links, .count = count, .rule = rule};
    uint32_t *lists = calloc(count + 1, sizeof *lists);
    assert(rule->lead < 2 && rule->by < REPORT_BYS);
    at.group_of = calloc(count + 1, sizeof *at.group_of);
    /* Twice: weak ones leave groups without links. */
    at.keys = calloc(2 * count + 1, sizeof *at.keys);
    at.groups = calloc(2 * count + 1, sizeof *at.groups);
    bool good = lists && at.group_of && at.keys && at.groups && make(&at, lists);
    free(at.spots);
    free(at.functions);
    free(at.group_of);
    free(at.keys);
    if (good) {
        *groups = (struct groups){at.groups, at.groups_count, lists, links, *rule, 0};
        for (size_t i = 0; i < at.groups_count; i++)
            groups->whole += at.groups[i].weight;
    } else {
        free(at.groups);
        free(lists);
    }
    return good;
}

void groups_free(struct groups *groups)
{
    free(groups->items);
    free(groups->lists);
    *groups = (struct groups){0};
}

bool group_link_is_weak(const struct groups *groups, const struct group_link *link)
{
    return link->weight < groups->rule.least_weight || link->seen < groups->rule.least_seen;
}

bool group_same_spot(const struct places *places, uint32_t a, uint32_t b)
{
    uint32_t one = own_frame(places, a), other = own_frame(places, b);
    const struct profile_frame *frames = places->profile->frames;
    return one && other && place_same_line(&frames[one], &frames[other]);
}
