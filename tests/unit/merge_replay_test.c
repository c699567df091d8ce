// SPDX-License-Identifier: MIT
/*
 * A replayed trace, whole and in shards: what becomes of one cell of memory does not depend on the
 * others, so the waste found in shards of the cells adds up, merged as profiles, to the waste of
 * the whole trace.
 */
#include "profile/profile.h"
#include "shadow/shadow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { CELLS = 96, ACCESSES = 20000, IDS = 13, FIRST_STORE = 7, LIMIT = 1 << 16, SHARDS = 4 };

struct access {
    uint32_t cell, id; /* ids below FIRST_STORE load */
    uint64_t before, now;
};

/* ---- the trace ------------------------------------------------------------------------------- */

static struct access trace[ACCESSES];

static void make_trace(uint64_t seed)
{
    struct base_random random = {seed};
    uint64_t memory[CELLS] = {0};
    for (size_t i = 0; i < ACCESSES; i++) {
        struct access *access = &trace[i];
        access->cell = (uint32_t)base_random_below(&random, CELLS);
        access->id = 1 + (uint32_t)base_random_below(&random, IDS - 1);
        access->before = memory[access->cell];
        if (access->id >= FIRST_STORE)
            memory[access->cell] = base_random_below(&random, 3);
        access->now = memory[access->cell];
    }
}

static void *map_pages(void *context, size_t bytes, bool reserve)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | (reserve ? MAP_NORESERVE : 0), -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap_pages(void *context, void *memory, size_t bytes)
{
    munmap(memory, bytes);
}

static void clear_pages(void *context, void *start, size_t bytes)
{
    madvise(start, bytes, MADV_DONTNEED);
}

/* ---- from counts to a profile ------------------------------------------------------------------
 */

struct recording {
    struct profile *profile;
    uint32_t contexts[IDS];
};

/* Contexts are numbered as they are met, so differently in each shard. */
static uint32_t context_of(struct recording *recording, uint32_t id)
{
    struct profile *profile = recording->profile;
    if (id && !recording->contexts[id]) {
        *profile_add_frames(profile) =
            (struct profile_frame){.function = id & 1 ? "odd" : "even", .address = id};
        *profile_add_contexts(profile) =
            (struct profile_context){0, (uint32_t)profile->frames_count - 1};
        recording->contexts[id] = (uint32_t)profile->contexts_count - 1;
    }
    return recording->contexts[id];
}

static void add_pair(struct recording *recording, uint32_t kind, const struct shadow_pair *pair,
                     uint64_t waste, uint64_t use)
{
    uint32_t first = context_of(recording, pair->first);
    uint32_t second = context_of(recording, pair->second);
    *profile_add_pairs(recording->profile) = (struct profile_pair){.kind = kind,
                                                                   .first = first,
                                                                   .second = second,
                                                                   .waste_bytes = (double)waste,
                                                                   .use_bytes = (double)use};
}

static void add_counts(struct recording *recording, const struct shadow *shadow)
{
    for (uint64_t i = 0; i < shadow->pairs_capacity; i++) {
        const struct shadow_pair *pair = &shadow->pairs[i];
        if (!pair->second || !pair->first)
            continue;
        bool stored = pair->first >= FIRST_STORE, stores = pair->second >= FIRST_STORE;
        if (stored && stores) {
            add_pair(recording, PROFILE_SILENT, pair, pair->waste, pair->use);
            add_pair(recording, PROFILE_DEAD, pair, pair->dead, 0);
        } else if (stored) {
            add_pair(recording, PROFILE_DEAD, pair, 0, pair->dead);
        } else if (!stores) {
            add_pair(recording, PROFILE_LOAD, pair, pair->waste, pair->use);
        }
    }
}

/* Replays the accesses to every SHARDS-th cell, or with shard SHARDS to all. */
static struct profile *replay(uint32_t shard)
{
    struct shadow shadow;
    struct shadow_memory memory = {map_pages, unmap_pages, clear_pages, NULL};
    struct recording recording = {.profile = profile_new()};
    uint64_t counts[2] = {0};
    char error[PROFILE_ERROR_BYTES];
    assert_int_equal(shadow_init(&shadow, LIMIT, IDS, 0.01F, &memory), BASE_OK);
    for (uint32_t id = 1; id < IDS; id++)
        shadow_define(&shadow, id, 8);
    for (size_t i = 0; i < ACCESSES; i++) {
        const struct access *access = &trace[i];
        if (shard != SHARDS && access->cell % SHARDS != shard)
            continue;
        const uint8_t *before = (const void *)&access->before, *now = (const void *)&access->now;
        if (access->id >= FIRST_STORE)
            shadow_store(&shadow, access->cell * 8, access->id, 8, before, now);
        else
            shadow_load(&shadow, access->cell * 8, access->id, 8, now);
        counts[access->id >= FIRST_STORE]++;
    }
    shadow_flush(&shadow);
    recording.profile->run.verb = "waste";
    recording.profile->run.engine = "exact";
    recording.profile->run.weighting = "accesses";
    recording.profile->run.version = "0.1.0";
    recording.profile->run.start_ns = 1 + shard;
    for (uint32_t kind = PROFILE_DEAD; kind <= PROFILE_LOAD; kind++)
        profile_add_kinds(recording.profile)->kind = kind;
    *profile_add_exacts(recording.profile) =
        (struct profile_exact){.loads = counts[0], .stores = counts[1]};
    add_counts(&recording, &shadow);
    shadow_free(&shadow);
    assert_int_equal(profile_merge_begin(recording.profile, "part", error, sizeof error), BASE_OK);
    return recording.profile;
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static bool same_findings(const struct profile *a, const struct profile *b)
{
    struct profile_exact left = profile_exact_total(a), right = profile_exact_total(b);
    bool same = a->pairs_count == b->pairs_count && a->contexts_count == b->contexts_count &&
                left.loads == right.loads && left.stores == right.stores;
    for (size_t i = 0; same && i < a->pairs_count; i++)
        same = memcmp(&a->pairs[i], &b->pairs[i], sizeof a->pairs[i]) == 0;
    for (size_t i = 1; same && i < a->contexts_count; i++)
        same = a->frames[a->contexts[i].frame].address == b->frames[b->contexts[i].frame].address;
    return same;
}

static struct profile *merge_shards(uint32_t count)
{
    char error[PROFILE_ERROR_BYTES];
    struct profile *sum = replay(0);
    for (uint32_t shard = 1; shard < count; shard++) {
        struct profile *next = replay(shard);
        assert_int_equal(profile_merge(sum, "sum", next, "next", error, sizeof error), BASE_OK);
        profile_free(next);
    }
    return sum;
}

static void shards_of_a_trace_are_the_whole(void **state)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        make_trace(seed);
        struct profile *whole = replay(SHARDS), *sum = merge_shards(SHARDS);
        assert_true(whole->pairs_count > 100 && whole->kinds[PROFILE_DEAD].waste_bytes > 1000);
        assert_true(same_findings(sum, whole));
        profile_free(whole);
        profile_free(sum);
    }
}

/* The test would see it. */
static void a_shard_less_is_not_the_whole(void **state)
{
    make_trace(6);
    struct profile *whole = replay(SHARDS), *sum = merge_shards(SHARDS - 1);
    assert_false(same_findings(sum, whole));
    profile_free(whole);
    profile_free(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_of_a_trace_are_the_whole),
        cmocka_unit_test(a_shard_less_is_not_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
