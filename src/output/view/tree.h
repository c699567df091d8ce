// SPDX-License-Identifier: MIT
/*
 * What a verb adds to the page: tabs (web/src), and metrics of calling contexts, as arrays of small
 * numbers beside the tree of contexts (docs/formats/view.md).
 */
#ifndef HEADROOM_VIEW_TREE_H
#define HEADROOM_VIEW_TREE_H

#include "analysis/analysis.h"
#include "show/json.h"
#include "show/places.h"

struct page_lines; /* of source files, as far as they were named */

/* Slots; NULL as in struct analysis. */
struct analysis_view {
    /* Tabs that its part of the report fills, by the names that the script has for them; NULL ends.
       NULL: none in this profile. Tabs come in the order of the table, each once. Never NULL
       itself. */
    const char *const *(*tabs)(const struct profile *profile);
    /* Adds metrics of places by tree_metric. values: room for one a place, to work with. */
    void (*metrics)(struct json *json, const struct places *places, double *values);
    /* Has the profile a tree of the verb's own, in place of that of places? The first verb that
     * says so has it. */
    bool (*has_tree)(const struct profile *profile);
    /* Writes that: the members "frames", "up", "frame" and "metrics". *any: is there a metric that
       something was measured of? False: no memory. With has_tree. */
    bool (*tree)(struct json *json, const struct profile *profile, bool *any);
    /* Names the lines of source files around which its part of the report is to be quoted
       (page_add_line), besides those of frames. */
    void (*lines)(struct page_lines *lines, const struct profile *profile);
    /* What the page of such a profile is named after, where that is not the first word of its command. */
    const char *(*subject)(const struct profile *profile);
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

/* file NULL or line 0: nothing is named. The text is the profile's. */
void page_add_line(struct page_lines *lines, const char *file, uint32_t line);

/* Zeros. */
void tree_clear(double *values, size_t count);

#endif
