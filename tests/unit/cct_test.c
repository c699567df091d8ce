// SPDX-License-Identifier: MIT
/* Against a plain list of (parent, module, address) that is searched from end to end. */
#include "cct/cct.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void *tree_memory(struct cct *cct, uint32_t capacity)
{
    void *memory = aligned_alloc(64, (cct_bytes(capacity) + 63) & ~(size_t)63);
    assert_non_null(memory);
    memset(memory, 0, cct_bytes(capacity));
    cct_init(cct, memory, capacity);
    assert_true(cct_check(cct));
    return memory;
}

static void an_empty_tree_has_a_root(void **state)
{
    struct cct cct;
    void *memory = tree_memory(&cct, 64);
    assert_int_equal(cct.count, 1);
    assert_int_equal(cct.nodes[0].parent, 0);
    free(memory);
}

static void same_context_same_node(void **state)
{
    struct cct cct;
    bool made;
    void *memory = tree_memory(&cct, 64);
    uint32_t main_node = cct_enter(&cct, 0, 1, 0x1000, &made);
    assert_true(made);
    uint32_t child = cct_enter(&cct, main_node, 1, 0x2000, &made);
    assert_true(made);
    assert_int_equal(cct_enter(&cct, main_node, 1, 0x2000, &made), child);
    assert_false(made);
    /* Each part of the key distinguishes contexts. */
    assert_int_not_equal(cct_enter(&cct, main_node, 2, 0x2000, &made), child);
    assert_true(made);
    assert_int_not_equal(cct_enter(&cct, main_node, 1, 0x2001, &made), child);
    assert_true(made);
    assert_int_not_equal(cct_enter(&cct, 0, 1, 0x2000, &made), child);
    assert_true(made);
    assert_int_not_equal(cct_enter(&cct, child, 1, 0x2000, &made), child); /* recursion */
    assert_true(made);
    assert_int_equal(cct.count, 7);
    assert_true(cct_check(&cct));
    free(memory);
}

static void a_full_tree_still_finds(void **state)
{
    struct cct cct;
    bool made;
    uint32_t ids[64];
    void *memory = tree_memory(&cct, 64);
    for (uint32_t i = 1; i < 64; i++) {
        ids[i] = cct_enter(&cct, i / 2, 1, 16 * i, &made);
        assert_true(made && ids[i] == i);
    }
    assert_int_equal(cct_enter(&cct, 0, 1, 99999, &made), 0);
    assert_false(made);
    for (uint32_t i = 1; i < 64; i++) {
        assert_int_equal(cct_enter(&cct, i / 2, 1, 16 * i, &made), ids[i]);
        assert_false(made);
    }
    assert_true(cct_check(&cct));
    free(memory);
}

static void new_nodes_are_blank(void **state)
{
    struct cct cct;
    bool made;
    struct detect_context blank = {0};
    void *memory = tree_memory(&cct, 64);
    memset(&cct.nodes[1], 0xff, sizeof cct.nodes[1]);
    uint32_t id = cct_enter(&cct, 0, 3, 0x1234, &made);
    assert_memory_equal(&cct.nodes[id].detect, &blank, sizeof blank.pending + sizeof blank.armed);
    assert_int_equal(cct.nodes[id].flags, 0);
    assert_int_equal(cct.nodes[id].vaddr, 0x1234);
    assert_int_equal(cct.nodes[id].module, 3);
    free(memory);
}

static void random_trees_match_a_list(void **state)
{
    enum { CAPACITY = 2048, STEPS = 30000 };
    struct key {
        uint32_t parent, module;
        uint64_t vaddr;
    } *list = calloc(CAPACITY, sizeof *list);
    struct base_random random = {17};
    struct cct cct;
    void *memory = tree_memory(&cct, CAPACITY);
    uint32_t count = 1;
    assert_non_null(list);
    for (unsigned step = 0; step < STEPS; step++) {
        struct key key = {(uint32_t)base_random_below(&random, count),
                          (uint32_t)base_random_below(&random, 3),
                          0x400000 + 4 * base_random_below(&random, 4)};
        uint32_t known = 0;
        bool made;
        for (uint32_t i = 1; i < count && !known; i++)
            if (list[i].parent == key.parent && list[i].module == key.module &&
                list[i].vaddr == key.vaddr)
                known = i;
        uint32_t id = cct_enter(&cct, key.parent, key.module, key.vaddr, &made);
        if (known || count == CAPACITY) {
            assert_int_equal(id, known);
            assert_false(made);
        } else {
            assert_int_equal(id, count);
            assert_true(made);
            list[count++] = key;
        }
        if (step % 1024 == 0)
            assert_true(cct_check(&cct));
    }
    assert_int_equal(count, CAPACITY);
    assert_true(cct_check(&cct));
    free(list);
    free(memory);
}

/* Chains stay short for the addresses of real code: near each other and aligned. */
static void chains_are_short(void **state)
{
    enum { CAPACITY = 8192 };
    struct cct cct;
    bool made;
    double steps = 0;
    void *memory = tree_memory(&cct, CAPACITY);
    for (uint32_t i = 1; i < CAPACITY; i++)
        cct_enter(&cct, (i - 1) / 4, 1 + i % 3, 0x401000 + 16 * (uint64_t)(i % 997), &made);
    for (uint32_t b = 0; b <= cct.bucket_mask; b++) {
        uint32_t length = 0;
        for (uint32_t id = cct.buckets[b]; id; id = cct.nodes[id].next)
            steps += ++length;
    }
    assert_true(steps / (cct.count - 1) < 1.6); /* 1.5 for a perfect hash at this load */
    free(memory);
}

static void damage_is_found(void **state)
{
    struct cct cct;
    bool made;
    void *memory = tree_memory(&cct, 64);
    for (uint32_t i = 1; i < 20; i++)
        cct_enter(&cct, i - 1, 1, i, &made);
    assert_true(cct_check(&cct));
    cct.nodes[7].parent = 7; /* a parent that does not precede */
    assert_false(cct_check(&cct));
    cct.nodes[7].parent = 6;
    assert_true(cct_check(&cct));
    uint32_t next = cct.nodes[9].next;
    cct.nodes[9].next = 9; /* a chain that never ends */
    assert_false(cct_check(&cct));
    cct.nodes[9].next = 63; /* beyond the nodes in use */
    assert_false(cct_check(&cct));
    cct.nodes[9].next = next;
    cct.count--; /* a node nobody made */
    assert_false(cct_check(&cct));
    cct.count += 2; /* a node nobody can reach */
    assert_false(cct_check(&cct));
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_tree_has_a_root),  cmocka_unit_test(same_context_same_node),
        cmocka_unit_test(a_full_tree_still_finds),   cmocka_unit_test(new_nodes_are_blank),
        cmocka_unit_test(random_trees_match_a_list), cmocka_unit_test(chains_are_short),
        cmocka_unit_test(damage_is_found),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cct", tests, NULL, NULL);
}
