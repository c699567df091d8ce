// SPDX-License-Identifier: MIT
/*
 * Calling contexts of a trace. It defines a leaf for each access of each translated
 * block; those of one instruction under one caller are one context, as for the live engine's
 * import.
 */
#include "simulate.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct nodes *nodes, const struct node *node)
{
    uint64_t hash = base_mix64(base_mix64(node->address ^ (uint64_t)node->flags << 48) ^
                               ((uint64_t)node->parent << 32 | node->module));
    size_t slot = hash & (nodes->slots_count - 1);
    for (; nodes->slots[slot]; slot = (slot + 1) & (nodes->slots_count - 1)) {
        const struct node *there = &nodes->nodes[nodes->slots[slot]];
        if (there->address == node->address && there->parent == node->parent &&
            there->module == node->module && there->flags == node->flags)
            break;
    }
    return slot;
}

/* Room for one more node in everything. */
static bool grow(struct nodes *nodes)
{
    if (nodes->count * 2 < nodes->slots_count)
        return true;
    size_t slots_count = nodes->slots_count ? nodes->slots_count * 2 : 1024;
    struct node *moved = reallocarray(nodes->nodes, slots_count / 2 + 1, sizeof *moved);
    if (!moved)
        return false;
    nodes->nodes = moved;
    uint32_t *slots = calloc(slots_count, sizeof *slots);
    if (!slots)
        return false;
    free(nodes->slots);
    nodes->slots = slots;
    nodes->slots_count = slots_count;
    for (uint32_t i = 1; i < nodes->count; i++)
        nodes->slots[slot_of(nodes, &nodes->nodes[i])] = i;
    return true;
}

static bool has_room(uint32_t **items, size_t *capacity, uint32_t index)
{
    if (index < *capacity)
        return true;
    size_t larger = *capacity ? *capacity : 1024;
    while (larger <= index)
        larger *= 2;
    uint32_t *moved = reallocarray(*items, larger, sizeof *moved);
    if (!moved)
        return false;
    memset(moved + *capacity, 0, (larger - *capacity) * sizeof *moved);
    *items = moved;
    *capacity = larger;
    return true;
}

bool nodes_define(struct nodes *nodes, const struct wire_trace_event *event)
{
    if (nodes->count >= NODES_MAX || !grow(nodes) ||
        !has_room(&nodes->own, &nodes->own_capacity, event->id))
        return false;
    if (!nodes->count)
        nodes->nodes[nodes->count++] = (struct node){0}; /* no caller, nowhere */
    struct node node = {.address = event->address,
                        .parent = nodes_own(nodes, event->node),
                        .module = event->module,
                        .flags = event->flags};
    size_t slot = slot_of(nodes, &node);
    if (!nodes->slots[slot]) {
        nodes->slots[slot] = (uint32_t)nodes->count;
        nodes->nodes[nodes->count++] = node;
    }
    nodes->own[event->id] = nodes->slots[slot];
    return true;
}

bool nodes_module(struct nodes *nodes, const struct wire_trace_event *event)
{
    if (event->id >= MODULES_MAX)
        return true;
    free(nodes->paths[event->id]);
    nodes->paths[event->id] = strdup((const char *)event->value);
    if (!nodes->paths[event->id])
        return false;
    const char *slash = strrchr(nodes->paths[event->id], '/');
    const char *file = slash ? slash + 1 : nodes->paths[event->id];
    nodes->is_chosen[event->id] = nodes->chosen && strcmp(file, nodes->chosen) == 0;
    return true;
}

bool nodes_counts(const struct nodes *nodes, uint32_t number)
{
    uint32_t module = nodes->nodes[nodes_own(nodes, number)].module;
    return !nodes->chosen || (module < MODULES_MAX && nodes->is_chosen[module]);
}

void nodes_free(struct nodes *nodes)
{
    for (size_t i = 0; i < MODULES_MAX; i++)
        free(nodes->paths[i]);
    free(nodes->nodes);
    free(nodes->slots);
    free(nodes->own);
}
