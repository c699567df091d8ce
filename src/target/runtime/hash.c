// SPDX-License-Identifier: MIT
/*
 * Path counts of functions with more paths than an array can hold. A table belongs to one thread; a
 * signal handler of it may come at any instruction and count in the same table. So a cell is
 * claimed by one compare-and-exchange and counted by one addition, and a larger table takes over by
 * one store: what was lost in a race is a spare table, never a count.
 */
#include "runtime/runtime.h"

/* stubs.S looks for keys by itself. */
_Static_assert(offsetof(struct instrumented_hash, next) == 0 &&
                   offsetof(struct instrumented_hash, capacity_mask) == 16 &&
                   offsetof(struct instrumented_hash, cells) == 24,
               "layout of tables");
_Static_assert(sizeof(struct instrumented_hash_cell) == 32 && INSTRUMENTED_HASH_CELLS == 256,
               "layout of cells");

static uint64_t mask_of(const struct instrumented_hash *hash)
{
    return hash->capacity_mask ? hash->capacity_mask : INSTRUMENTED_HASH_CELLS - 1;
}

static struct instrumented_hash *table_in_use(struct instrumented_hash *root)
{
    uint64_t next = __atomic_load_n(&root->next, __ATOMIC_RELAXED);
    return next ? (struct instrumented_hash *)next : root;
}

/* One instruction, so that a signal handler cannot come in between; without the cost of a lock. */
static void add(uint64_t *number, uint64_t value)
{
    __asm__ volatile("addq %1, %0" : "+m"(*number) : "er"(value) : "cc");
}

/* False: the table is as full as it may be, and the key is not in it. */
static bool count(struct instrumented_hash *table, uint64_t key, uint64_t cycles)
{
    uint64_t mask = mask_of(table);
    bool full = table->used >= mask - mask / 4;
    for (uint64_t at = base_mix64(key);; at++) {
        struct instrumented_hash_cell *cell = &table->cells[at & mask];
        uint64_t found = __atomic_load_n(&cell->key, __ATOMIC_RELAXED);
        if (found == 0) {
            if (full)
                return false;
            if (__atomic_compare_exchange_n(&cell->key, &found, key, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED)) {
                add(&table->used, 1);
                found = key;
            }
        }
        if (found == key) {
            add(&cell->count, 1);
            if (cycles) {
                add(&cell->cycles, cycles);
                add(&cell->measured, 1);
            }
            return true;
        }
    }
}

static struct instrumented_hash *grow(struct instrumented_hash *root,
                                      struct instrumented_hash *table)
{
    struct runtime_module *module = runtime_module_get();
    if (!module || !module->region || runtime_is_own((uint64_t)root))
        return NULL; /* nobody will read it */
    uint64_t cells = 2 * (mask_of(table) + 1), expected = root->next;
    struct instrumented_piece *piece = runtime_piece(
        module, sizeof *piece + sizeof *table + cells * sizeof table->cells[0], (uint64_t)root);
    if (!piece)
        return NULL;
    struct instrumented_hash *larger = (struct instrumented_hash *)(piece + 1);
    larger->capacity_mask = cells - 1;
    runtime_publish(piece, INSTRUMENTED_PIECE_HASH);
    if (expected != (table == root ? 0 : (uint64_t)table) ||
        !__atomic_compare_exchange_n(&root->next, &expected, (uint64_t)larger, false,
                                     __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return table_in_use(root);
    return larger;
}

void runtime_count_path(uint64_t path, struct instrumented_hash *hash, uint64_t cycles)
{
    runtime_check_fork(runtime_module_get());
    struct instrumented_hash *table = table_in_use(hash);
    while (table && !count(table, path + 1, cycles))
        table = grow(hash, table);
}
