// SPDX-License-Identifier: MIT
/*
 * The agent's memory of blocks (heap.c) by itself: what it finds, and generations: a block that is freed, and whose address another one
 * has by then, is not the one that was published. What a thread does that publishes an address and traps at it later is done here by
 * hand: heap_watch, and heap_generation before and after.
 */
#include "agent/allowance.h"
#include "agent/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

enum { PAGE = 4096, GRANULE = 16 };
static const uint64_t somewhere = UINT64_C(0x7f1234560000);

static void add(uint64_t start, uint64_t bytes, uint32_t node)
{
    heap_add(&(struct heap_block){
        .start = start, .bytes = bytes, .process = 1, .thread = 2, .node = node, .chance = 1});
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Recorded blocks are known by their free, published or not. */
static void a_recorded_block_that_is_freed_has_another_generation(void **state)
{
    const uint64_t start = somewhere + 32, bytes = 200;
    struct heap_block found;
    uint32_t before[13];
    add(start, bytes, 5);
    for (uint64_t i = 0; i < 13; i++)
        before[i] = heap_generation(start + i * GRANULE);
    assert_true(heap_find(start + 199, &found) && found.node == 5 && found.start == start);
    assert_true(heap_remove(start));
    assert_false(heap_find(start + 8, &found));
    for (uint64_t i = 0; i < 13; i++)
        assert_int_not_equal(heap_generation(start + i * GRANULE), before[i]);
    assert_false(heap_remove(start));
}

/* The next block has the same address, and perhaps size and place: what was published lay in another one. */
static void a_block_at_the_same_address_is_another_one(void **state)
{
    const uint64_t start = somewhere + PAGE;
    struct heap_block found;
    add(start, 64, 7);
    uint32_t published = heap_generation(start + 8);
    assert_int_equal(heap_generation(start + 8), published); /* nothing was freed */
    assert_true(heap_remove(start));
    add(start, 64, 7);
    assert_true(heap_find(start + 8, &found) && found.node == 7);
    assert_int_not_equal(heap_generation(start + 8), published);
    assert_true(heap_remove(start));
}

/* Recording a block where an old one was not seen to be freed (a free that no wrapper saw) ends that. */
static void a_block_in_the_place_of_another_ends_it(void **state)
{
    const uint64_t start = somewhere + 2 * PAGE;
    struct heap_block found;
    add(start, 64, 7);
    uint32_t published = heap_generation(start + 8);
    add(start, 48, 9);
    assert_int_not_equal(heap_generation(start + 8), published);
    assert_true(heap_find(start + 8, &found) && found.node == 9);
    assert_true(heap_remove(start));
}

/* Frees of blocks that were not recorded count where an address was published, and nowhere else. */
static void frees_of_unrecorded_blocks_count_where_they_are_watched(void **state)
{
    const uint64_t start = somewhere + 64 * PAGE, elsewhere = somewhere + 512 * PAGE;
    uint32_t before = heap_generation(elsewhere + 8);
    assert_false(heap_may_matter(elsewhere));
    heap_freed(elsewhere, 64);
    assert_int_equal(heap_generation(elsewhere + 8), before);
    heap_watch(start + 40);
    uint32_t published = heap_generation(start + 40);
    assert_true(heap_may_matter(start));
    heap_freed(start + 48, 64); /* its neighbour */
    assert_int_equal(heap_generation(start + 40), published);
    heap_freed(start, 48);
    assert_int_not_equal(heap_generation(start + 40), published);
}

/* Of a block of many lines only those that were published change: the others cost a look each. */
static void only_published_lines_of_a_block_change(void **state)
{
    const uint64_t start = somewhere + 192 * PAGE + 48, bytes = 3000;
    for (uint64_t address = start; address < start + bytes; address += 500) {
        uint32_t before[3000 / GRANULE];
        heap_watch(address);
        for (uint64_t i = 0; i < bytes / GRANULE; i++)
            before[i] = heap_generation(start + i * GRANULE);
        heap_freed(start, bytes);
        assert_int_not_equal(heap_generation(address), before[(address - start) / GRANULE]);
    }
    uint64_t changed = 0, next = start + bytes + 40; /* begins within a line */
    uint32_t before[64];
    heap_watch(next + 1000);
    for (uint64_t i = 0; i < 64; i++)
        before[i] = heap_generation(next + i * GRANULE);
    heap_freed(next, 64 * GRANULE);
    for (uint64_t i = 0; i < 64; i++)
        changed += heap_generation(next + i * GRANULE) != before[i];
    assert_in_range(changed, 1, 8);
}

/* Each time it is published anew a free changes it anew, and frees in between do not. */
static void each_publication_is_ended_once(void **state)
{
    const uint64_t start = somewhere + 200 * PAGE;
    uint32_t first = heap_watch(start);
    assert_int_equal(heap_generation(start), first);
    heap_freed(start, 64);
    uint32_t second = heap_generation(start);
    assert_int_not_equal(second, first);
    heap_freed(start, 64);
    assert_int_equal(heap_watch(start), second);
    heap_watch(start + 32); /* another block's, on the line */
    heap_freed(start + 32, 32);
    assert_int_equal(heap_generation(start), second);
    heap_freed(start, 32);
    assert_int_not_equal(heap_generation(start), second);
}

/* The allocator frees a block by its start, which may lie pages before the address. */
static void large_blocks_are_watched_at_their_start(void **state)
{
    const uint64_t start = somewhere + 128 * PAGE, address = start + 15 * PAGE + 24;
    heap_watch(address);
    uint32_t published = heap_generation(address);
    assert_true(heap_may_matter(start));
    heap_freed(start, 20 * PAGE);
    assert_int_not_equal(heap_generation(address), published);
}

/* Frees are watched for GENERATION_WATCHED_NS at least, and are fast again some time later. */
static void watching_ends(void **state)
{
    const uint64_t start = somewhere + 256 * PAGE;
    heap_watch(start + 8);
    uint32_t published = heap_generation(start + 8);
    sleep_ms(50); /* less than 60 */
    heap_tick();
    heap_freed(start, 64);
    assert_int_not_equal(heap_generation(start + 8), published);
    heap_watch(start + 8);
    published = heap_generation(start + 8);
    sleep_ms(2 * 60 + 10);
    heap_tick();
    heap_freed(start, 64);
    assert_int_equal(heap_generation(start + 8), published);
    assert_false(heap_may_matter(start));
}

/* ---- threads ----------------------------------------------------------------------------------- */

/* One block at a time at one address, each with a number of its own, freed before the next: whoever reads the same generation before and
   after has seen the same block twice. */
enum { LIVES = 200000, READERS = 2 };
static const uint64_t contended = UINT64_C(0x7f1300000040);
static _Atomic bool over;

static void *live_and_die(void *unused)
{
    for (uint32_t i = 1; i <= LIVES; i++) {
        add(contended, 64, i);
        heap_remove(contended);
    }
    atomic_store(&over, true);
    return unused;
}

static void *read_twice(void *wrong)
{
    while (!atomic_load(&over)) {
        struct heap_block first, second;
        uint32_t before = heap_generation(contended + 8);
        bool known = heap_find(contended + 8, &first);
        bool again = heap_find(contended + 8, &second);
        uint32_t after = heap_generation(contended + 8);
        if (known && again && before == after && first.node != second.node)
            atomic_fetch_add((_Atomic int *)wrong, 1);
        if (known && (first.start != contended || first.bytes != 64 || first.chance != 1))
            atomic_fetch_add((_Atomic int *)wrong, 1);
    }
    return NULL;
}

static void an_equal_generation_means_the_same_block(void **state)
{
    static _Atomic int wrong;
    pthread_t threads[READERS + 1];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_twice, &wrong), 0);
    assert_int_equal(pthread_create(&threads[READERS], NULL, live_and_die, NULL), 0);
    for (int i = 0; i <= READERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(wrong, 0);
}

/* A program's few locks, allocated as it begins, keep their names though it goes on to allocate larger blocks by the million. */
static void few_blocks_of_a_place_are_kept(void **state)
{
    enum { LOCKS = 16, NODES = 200000, LEAST = 12 };
    const uint64_t locks = somewhere + 16 * PAGE, nodes = somewhere + (UINT64_C(1) << 30);
    struct heap_block found;
    unsigned kept = 0, nodes_kept = 0;
    for (uint64_t i = 0; i < LOCKS; i++)
        add(locks + i * 64, 40, 3);
    for (uint64_t i = 0; i < NODES; i++)
        add(nodes + i * 64, 56, 4);
    for (uint64_t i = 0; i < LOCKS; i++)
        kept += heap_find(locks + i * 64 + 8, &found) && found.node == 3;
    for (uint64_t i = 0; i < NODES; i++)
        nodes_kept += heap_find(nodes + i * 64 + 8, &found) && found.node == 4;
    assert_in_range(kept, LEAST, LOCKS);
    assert_in_range(nodes_kept, 4000, 8192);
}

/* ---- the time that recording takes ------------------------------------------------------------ */

/* A program that allocates at new places all the time, from `now` on; what recording their blocks costs. */
static uint64_t spent_until(uint64_t end, uint64_t cost, uint64_t *full_again, uint64_t now)
{
    uint64_t spent = 0;
    for (; now < end; now += 1000)
        if (allowance_suffices(*full_again, now, 0)) {
            now += cost;
            spent += cost;
            *full_again = allowance_spend(*full_again, now, cost);
        }
    return spent;
}

static void recording_takes_its_share_of_the_time(void **state)
{
    static const uint64_t costs[] = {5000, 100000};
    const uint64_t start = UINT64_C(1) << 40, time = 8 * ALLOWANCE_BUCKET;
    for (size_t i = 0; i < 2; i++) {
        uint64_t full_again = 0;
        uint64_t spent = spent_until(start + time, costs[i], &full_again, start);
        assert_in_range(spent, time / ALLOWANCE_SHARE,
                        (time + ALLOWANCE_BUCKET) / ALLOWANCE_SHARE + costs[i]);
    }
}

/* Who has had many waits; a full bucket has one for everybody. */
static void places_with_many_wait_for_a_fuller_bucket(void **state)
{
    const uint64_t now = UINT64_C(1) << 40, half = now + ALLOWANCE_BUCKET / 2;
    assert_true(allowance_suffices(half, now, 0));
    assert_true(allowance_suffices(half, now, ALLOWANCE_PARTS / 2 - 1));
    assert_false(allowance_suffices(half, now, ALLOWANCE_PARTS / 2));
    assert_false(allowance_suffices(now + ALLOWANCE_BUCKET, now, 0));
    assert_true(allowance_suffices(0, now, ALLOWANCE_PARTS_MOST));
    assert_true(allowance_suffices(now, now, ALLOWANCE_PARTS_MOST));
    assert_int_equal(allowance_spend(0, now, UINT64_MAX) - now,
                     (uint64_t)ALLOWANCE_COST_MOST * ALLOWANCE_SHARE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_block_that_is_freed_has_another_generation),
        cmocka_unit_test(a_block_at_the_same_address_is_another_one),
        cmocka_unit_test(a_block_in_the_place_of_another_ends_it),
        cmocka_unit_test(frees_of_unrecorded_blocks_count_where_they_are_watched),
        cmocka_unit_test(only_published_lines_of_a_block_change),
        cmocka_unit_test(each_publication_is_ended_once),
        cmocka_unit_test(large_blocks_are_watched_at_their_start),
        cmocka_unit_test(watching_ends),
        cmocka_unit_test(an_equal_generation_means_the_same_block),
        cmocka_unit_test(few_blocks_of_a_place_are_kept),
        cmocka_unit_test(recording_takes_its_share_of_the_time),
        cmocka_unit_test(places_with_many_wait_for_a_fuller_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
