// SPDX-License-Identifier: MIT
/* Between paths.c, which counts and orders, and paths_names.c, which names. */
#ifndef HEADROOM_IMPORT_PATHS_INTERNAL_H
#define HEADROOM_IMPORT_PATHS_INTERNAL_H

#include "import/paths.h"

struct paths_item {
    uint32_t function;
    uint32_t path; /* id in the profile once it is in order; UINT32_MAX: does not exist */
    uint64_t number, count;
    struct import_paths_cost cost;
};

struct paths_use {
    uint32_t vertex, item;
    uint64_t count, measured;
    double cycles; /* of the measured */
};

struct import_paths {
    struct profile *profile;
    struct import_paths_function *functions; /* by id */
    size_t functions_capacity;
    struct paths_item *items;
    size_t items_count, items_capacity;
    struct paths_use *uses;
    size_t uses_count, uses_capacity;
    struct util_index items_by_key, vertices_by_key, uses_by_key;
};

/* Functions, lines of blocks and call sites; what is missing is reported. */
bool import_paths_name(struct import_paths *paths, const struct binary_options *symbols,
                       struct import_teller *teller);

#endif
