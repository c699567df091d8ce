// SPDX-License-Identifier: MIT
/* Between routes.c, which counts and orders, and routes_names.c, which names. */
#ifndef HEADROOM_IMPORT_ROUTES_PARTS_H
#define HEADROOM_IMPORT_ROUTES_PARTS_H

#include "import/routes.h"

struct routes_item {
    uint32_t function;
    uint32_t path; /* id in the profile once it is in order; UINT32_MAX: does not exist */
    uint64_t number, count;
    struct import_routes_cost cost;
};

struct routes_use {
    uint32_t vertex, item;
    uint64_t count, measured;
    double cycles; /* of the measured */
};

struct import_routes {
    struct profile *profile;
    struct import_routes_function *functions; /* by id */
    size_t functions_capacity;
    struct routes_item *items;
    size_t items_count, items_capacity;
    struct routes_use *uses;
    size_t uses_count, uses_capacity;
    struct util_index items_by_key, vertices_by_key, uses_by_key;
};

/* Functions, lines of blocks and call sites; what is missing is told. */
bool import_routes_name(struct import_routes *routes, const struct binary_options *symbols,
                        struct import_teller *teller);

#endif
