// SPDX-License-Identifier: MIT
#include "cct/cct.h"

size_t cct_bytes(uint32_t capacity)
{
    return (size_t)capacity * (sizeof(struct cct_node) + sizeof(uint32_t));
}

/* Buckets come first: they are touched at random, nodes from the front. */
void cct_init(struct cct *cct, void *memory, uint32_t capacity)
{
    cct->buckets = memory;
    cct->nodes = (struct cct_node *)((char *)memory + (size_t)capacity * sizeof(uint32_t));
    cct->capacity = capacity;
    cct->bucket_mask = capacity - 1;
    cct->count = 1;
}

uint32_t cct_enter(struct cct *cct, uint32_t parent, uint32_t module, uint64_t vaddr, bool *made)
{
    uint64_t key = base_mix64(vaddr + ((uint64_t)parent << 32) + module * UINT64_C(0x9e3779b9));
    uint32_t *bucket = &cct->buckets[key & cct->bucket_mask];
    *made = false;
    for (uint32_t id = *bucket; id; id = cct->nodes[id].next) {
        const struct cct_node *node = &cct->nodes[id];
        if (node->vaddr == vaddr && node->parent == parent && node->module == module)
            return id;
    }
    if (cct->count == cct->capacity)
        return 0;
    uint32_t id = cct->count++;
    cct->nodes[id] =
        (struct cct_node){.vaddr = vaddr, .parent = parent, .module = module, .next = *bucket};
    *bucket = id;
    *made = true;
    return id;
}

bool cct_check(const struct cct *cct)
{
    uint32_t reached = 0;
    for (uint32_t b = 0; b <= cct->bucket_mask; b++)
        for (uint32_t id = cct->buckets[b]; id; id = cct->nodes[id].next) {
            if (id >= cct->count || cct->nodes[id].parent >= id || ++reached >= cct->count)
                return false;
        }
    return reached == cct->count - 1;
}
