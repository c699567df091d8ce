// SPDX-License-Identifier: MIT
/*
 * Iterations drawn, all alike: for each loop from outside a place among the most iterations that it ever has, and all from the beginning if
 * it has fewer now. A tile's loop has as many as the tile, wherever that lies; so nothing is thrown away there that the box of all loops
 * would, and half in a triangle.
 */
#include "misses/internal.h"

enum { DRAWS_MAX = 4000000 /* of a point, until one lies in the domain */ };

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Greatest value of upper - lower while iterators are in their box. */
static int64_t most_between(const struct nest *nest, uint32_t lower, uint32_t upper,
                            const int64_t *least, const int64_t *most)
{
    const struct nest_expression *from = &nest->expressions[lower], *to = &nest->expressions[upper];
    struct nest_affine low, high;
    if (to->operation == NEST_MINIMUM || to->operation == NEST_MAXIMUM) {
        int64_t left = most_between(nest, lower, to->left, least, most);
        int64_t right = most_between(nest, lower, to->right, least, most);
        return to->operation == NEST_MINIMUM ? least_of(left, right) : most_of(left, right);
    }
    if (from->operation == NEST_MINIMUM || from->operation == NEST_MAXIMUM) {
        int64_t left = most_between(nest, from->left, upper, least, most);
        int64_t right = most_between(nest, from->right, upper, least, most);
        return from->operation == NEST_MAXIMUM ? least_of(left, right) : most_of(left, right);
    }
    if (nest_affine_of(nest, lower, &low) && nest_affine_of(nest, upper, &high)) {
        int64_t value = high.constant - low.constant;
        for (uint32_t i = 0; i < nest->slots; i++) {
            int64_t factor = high.factors[i] - low.factors[i];
            value += factor * (factor > 0 ? most[i] : least[i]);
        }
        return value;
    }
    int64_t low_least, low_most, high_least, high_most;
    nest_range(nest, lower, least, most, &low_least, &low_most);
    nest_range(nest, upper, least, most, &high_least, &high_most);
    return high_most - low_least;
}

void domain_begin(struct domain *domain, const struct nest *nest, uint32_t access)
{
    uint32_t statement = nest->accesses[access].statement;
    int64_t least[NEST_SLOTS], most[NEST_SLOTS];
    *domain = (struct domain){.access = access};
    for (uint32_t node = statement; node != NEST_NONE; node = nest->nodes[node].parent)
        if (nest->nodes[node].kind == NEST_LOOP || nest->nodes[node].kind == NEST_CONDITION)
            domain->count++;
    uint32_t at = domain->count = (uint32_t)least_of(domain->count, DOMAIN_NODES);
    for (uint32_t node = statement; node != NEST_NONE && at; node = nest->nodes[node].parent)
        if (nest->nodes[node].kind == NEST_LOOP || nest->nodes[node].kind == NEST_CONDITION)
            domain->nodes[--at] = node;
    nest_box(nest, statement, least, most);
    for (uint32_t i = 0; i < domain->count; i++) {
        const struct nest_node *node = &nest->nodes[domain->nodes[i]];
        if (node->kind != NEST_LOOP)
            continue;
        int64_t between = most_between(nest, node->lower, node->upper, least, most);
        domain->most[i] = between < 0 ? 0 : (uint64_t)(between / node->step) + 1;
    }
}

static bool draw_once(const struct nest *nest, const struct domain *domain,
                      struct base_random *random, int64_t *iterators)
{
    for (uint32_t i = 0; i < domain->count; i++) {
        const struct nest_node *node = &nest->nodes[domain->nodes[i]];
        int64_t low = nest_value(nest, node->lower, iterators);
        if (node->kind == NEST_CONDITION && !low)
            return false;
        if (node->kind == NEST_CONDITION)
            continue;
        if (!domain->most[i])
            return false;
        int64_t value = low + (int64_t)base_random_below(random, domain->most[i]) * node->step;
        if (value > nest_value(nest, node->upper, iterators))
            return false;
        iterators[node->slot] = value;
    }
    return true;
}

bool domain_draw(const struct nest *nest, const struct domain *domain, struct base_random *random,
                 int64_t *iterators)
{
    for (uint32_t draws = 0; draws < DRAWS_MAX; draws++)
        if (draw_once(nest, domain, random, iterators))
            return true;
    return false;
}
