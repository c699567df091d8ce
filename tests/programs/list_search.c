// SPDX-License-Identifier: MIT
/*
 * Linear search in a linked list that never changes: nearly every load yields
 * what the last load of the place yielded.
 *
 * case: list-search --kinds load -- 3
 *   load.fraction 0.95..1
 *   load.context key find<main
 */
#include "known.h"

struct node {
    struct node *next;
    uint64_t key;
};

enum { NODES = 2000 };
static struct node nodes[NODES];

__attribute__((noinline)) static const struct node *find(const struct node *node, uint64_t key)
{
    while (node && node->key != key) /* @key */
        node = node->next;           /* @next */
    return node;
}

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    for (int i = 0; i < NODES; i++)
        nodes[i] = (struct node){i + 1 < NODES ? &nodes[i + 1] : NULL, (uint64_t)i};
    uint64_t found = 0;
    while (known_running(seconds)) {
        for (uint64_t key = 0; key < NODES; key += 40) {
            found += find(nodes, key)->key;
            __asm__ volatile("" ::: "memory"); /* the next search is not this one's result */
        }
    }
    return found == 1;
}
