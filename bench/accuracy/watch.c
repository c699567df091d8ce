// SPDX-License-Identifier: MIT
/*
 * Armed watchpoints by the block of memory they lie in. Every watch lies in one block, and an
 * access looks at each of its blocks once, so none is found twice.
 */
#include "simulate.h"

/* The bucket's bits follow from what hangs in it. */
static void renew_bits(struct watch_table *table, size_t bucket)
{
    unsigned directions = 0;
    for (const struct watch *watch = table->heads[bucket]; watch; watch = watch->next)
        directions |= watch->directions;
    uint64_t bit = UINT64_C(1) << bucket % 64;
    for (unsigned i = 0; i < 2; i++) {
        if (directions >> i & 1)
            table->bits[i][bucket / 64] |= bit;
        else
            table->bits[i][bucket / 64] &= ~bit;
    }
}

void watch_add(struct watch_table *table, struct watch *watch)
{
    watch->key = watch->low >> table->shift;
    size_t bucket = watch_bucket(watch->key);
    watch->next = table->heads[bucket];
    table->heads[bucket] = watch;
    renew_bits(table, bucket);
}

void watch_remove(struct watch_table *table, struct watch *watch)
{
    size_t bucket = watch_bucket(watch->key);
    struct watch **link = &table->heads[bucket];
    while (*link != watch)
        link = &(*link)->next;
    *link = watch->next;
    renew_bits(table, bucket);
}

size_t watch_find(const struct watch_table *table, uint64_t address, uint64_t bytes,
                  unsigned direction, struct watch **found, size_t count)
{
    uint64_t last = (address + bytes - 1) >> table->shift;
    for (uint64_t key = address >> table->shift; key <= last; key++)
        for (struct watch *watch = table->heads[watch_bucket(key)]; watch; watch = watch->next)
            if (watch->key == key && watch->directions & direction && address < watch->high &&
                address + bytes > watch->low)
                found[count++] = watch;
    return count;
}
