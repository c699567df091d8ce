// SPDX-License-Identifier: MIT
/*
 * What a verb gives to the page: tabs of the script (web/src), and what it measured in each calling context, as arrays of
 * small numbers beside the tree of them (docs/formats/view.md).
 */
#ifndef HEADROOM_VIEW_TREE_H
#define HEADROOM_VIEW_TREE_H

#include "analysis/analysis.h"
#include "show/json.h"
#include "show/places.h"

/* Slots. */
struct analysis_view {
    /* Tabs that its part of the report fills, as the script calls them; NULL ends. NULL: none in this profile. Tabs
       stand in the order of the table, each once. */
    const char *const *(*tabs)(const struct profile *profile);
    /* Adds metrics of places by tree_metric. values: room for one a place, to work with. */
    void (*metrics)(struct json *json, const struct places *places, double *values);
    /* Has the profile a tree of the verb's own, in place of that of places? The first verb that says so has it. */
    bool (*has_tree)(const struct profile *profile);
    /* Writes that: the members "frames", "up", "frame" and "metrics". *any: is there a metric that something was
       measured of? False: no memory. With has_tree. */
    bool (*tree)(struct json *json, const struct profile *profile, bool *any);
};

/* ---- for slots ------------------------------------------------------------------------------- */

/* A metric of the tree's nodes, if anything is not 0; values >= 0, one a node. */
void tree_metric(struct json *json, const char *name, const char *unit, const double *values,
                 size_t count);

/* A whole number as an item of an array. */
void tree_number(struct json *json, uint64_t value);

/* [function, file, line, module, flags] as an item; unknown texts are NULL. */
void tree_frame(struct json *json, const char *function, const char *file, uint32_t line,
                const char *module, uint32_t flags);

/* Zeros. */
void tree_clear(double *values, size_t count);

#endif
