// SPDX-License-Identifier: MIT
/*
 * The region between threads, between processes, and after damage. What goes in must come
 * out, in order and once; what was damaged must be noticed; a killed writer loses nothing
 * it had committed.
 */
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { SEQUENCE_COUNTERS = 0xffffffff };

static struct wire_region *region_new(void)
{
    struct wire_config config = {.kinds = 7, .seed = 5};
    struct wire_region *region =
        mmap(NULL, sizeof *region, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(region != MAP_FAILED);
    wire_region_init(region, &config);
    return region;
}

static void region_free(struct wire_region *region)
{
    munmap(region, sizeof *region);
}

static unsigned free_chunks(const struct wire_region *region)
{
    unsigned count = 0;
    for (uint32_t i = (uint32_t)region->free_chunks; i < WIRE_CHUNKS;
         i = region->chunks[i].next_free) {
        assert_int_equal(region->chunks[i].state, WIRE_CHUNK_FREE);
        assert_true(++count <= WIRE_CHUNKS);
    }
    return count;
}

/* ---- random records -------------------------------------------------------------------- */

union any_record {
    struct wire_record record;
    struct wire_process process;
    struct wire_module module;
    struct wire_thread thread;
    struct wire_node node;
    struct wire_sample sample;
    struct wire_trap trap;
    struct wire_counters_record counters;
    unsigned char bytes[2560];
};

static uint16_t padded(size_t bytes)
{
    return (uint16_t)((bytes + 7) & ~(size_t)7);
}

static void fill(unsigned char *bytes, size_t count, struct base_random *random)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)base_random_next(random);
}

static void make_text(char *text, size_t count, struct base_random *random)
{
    for (size_t i = 0; i + 1 < count; i++)
        text[i] = (char)('a' + base_random_below(random, 26));
    text[count - 1] = 0;
}

/* The n-th record of a thread: a function of both, so that the reader can make it again. */
static void make_record(union any_record *any, uint32_t thread, uint32_t n)
{
    static const uint16_t fixed[WIRE_TYPES] = {[WIRE_THREAD] = sizeof(struct wire_thread),
                                               [WIRE_NODE] = sizeof(struct wire_node),
                                               [WIRE_SAMPLE] = sizeof(struct wire_sample),
                                               [WIRE_TRAP] = sizeof(struct wire_trap),
                                               [WIRE_COUNTERS] =
                                                   sizeof(struct wire_counters_record)};
    struct base_random random = {(uint64_t)thread << 32 | n};
    memset(any, 0, sizeof *any);
    any->record.type = (uint16_t)(1 + base_random_below(&random, WIRE_COUNTERS));
    any->record.bytes = fixed[any->record.type];
    size_t length = 1 + base_random_below(&random, WIRE_PATH_BYTES);
    if (any->record.type == WIRE_MODULE) {
        make_text(any->module.path, length, &random);
        any->record.bytes = padded(sizeof any->module + (length < 8 ? 8 : length));
    } else if (any->record.type == WIRE_PROCESS) {
        any->process.exe_bytes = (uint16_t)length;
        any->process.command_bytes = (uint16_t)base_random_below(&random, 1500);
        make_text(any->process.text, length, &random);
        if (any->process.command_bytes)
            make_text(any->process.text + length, any->process.command_bytes, &random);
        any->record.bytes = padded(sizeof any->process + length + any->process.command_bytes);
    } else {
        fill(any->bytes + sizeof any->record, any->record.bytes - sizeof any->record, &random);
        if (any->record.type == WIRE_THREAD)
            any->thread.name[15] = 0;
    }
}

/* ---- reading what was drained ------------------------------------------------------------ */

enum { READERS = 64 };

struct reader {
    uint32_t next[READERS]; /* index of the next record of each thread       */
    uint32_t sequence[READERS], offset[READERS];
    unsigned counters_frames;
    struct wire_counters_record last;
    bool full; /* refuse everything                             */
};

static bool read_frame(void *context, const struct wire_frame *frame, const void *payload)
{
    struct reader *reader = context;
    if (reader->full)
        return false;
    unsigned char *copy = malloc(sizeof *frame + frame->payload_bytes);
    size_t total = 0;
    memcpy(copy, frame, sizeof *frame);
    memcpy(copy + sizeof *frame, payload, frame->payload_bytes);
    assert_int_equal(wire_frame_check(copy, sizeof *frame + frame->payload_bytes, &total), BASE_OK);
    assert_int_equal(total, sizeof *frame + frame->payload_bytes);
    free(copy);
    if (frame->sequence == SEQUENCE_COUNTERS) {
        assert_int_equal(frame->payload_bytes, sizeof reader->last);
        memcpy(&reader->last, payload, sizeof reader->last);
        reader->counters_frames++;
        return true;
    }
    uint32_t thread = frame->thread;
    assert_true(thread < READERS);
    if (frame->sequence != reader->sequence[thread]) { /* in order, nothing left out */
        assert_int_equal(frame->sequence, reader->sequence[thread] + 1);
        reader->offset[thread] = 0;
    }
    assert_int_equal(frame->offset, reader->offset[thread]);
    reader->sequence[thread] = frame->sequence;
    reader->offset[thread] += frame->payload_bytes;
    for (uint32_t at = 0; at < frame->payload_bytes;) {
        union any_record expected;
        const struct wire_record *record = (const void *)((const char *)payload + at);
        assert_int_equal(wire_record_check(record, frame->payload_bytes - at), BASE_OK);
        make_record(&expected, thread, reader->next[thread]++);
        expected.record.checksum = wire_checksum(&expected.record);
        assert_int_equal(record->bytes, expected.record.bytes);
        assert_memory_equal(record, &expected, record->bytes);
        at += record->bytes;
    }
    return true;
}

/* Drains everything. Chunks of one thread are drained by position in the pool, not in
   sequence, so one writer may have only one chunk that is not yet drained while order is checked.
 */
static void drain(struct wire_region *region, struct reader *reader)
{
    uint64_t corrupt = 0;
    assert_true(wire_drain(region, read_frame, reader, &corrupt));
    assert_int_equal(corrupt, 0);
}

/* ---- round trip ---------------------------------------------------------------------------- */

struct collected {
    uint32_t sequence, offset, thread, bytes;
    unsigned char payload[WIRE_CHUNK_BYTES];
};

struct collector {
    struct collected *frames;
    size_t count, capacity;
};

static bool collect(void *context, const struct wire_frame *frame, const void *payload)
{
    struct collector *all = context;
    if (all->count == all->capacity) {
        all->capacity = all->capacity ? 2 * all->capacity : 64;
        all->frames = realloc(all->frames, all->capacity * sizeof *all->frames);
        assert_non_null(all->frames);
    }
    struct collected *one = &all->frames[all->count++];
    *one = (struct collected){.sequence = frame->sequence,
                              .offset = frame->offset,
                              .thread = frame->thread,
                              .bytes = frame->payload_bytes};
    memcpy(one->payload, payload, frame->payload_bytes);
    return true;
}

static int by_position(const void *left, const void *right)
{
    const struct collected *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Sorts frames by their position and replays them past the strict reader. */
static void replay(struct collector *all, struct reader *reader)
{
    if (all->count)
        qsort(all->frames, all->count, sizeof *all->frames, by_position);
    for (size_t i = 0; i < all->count; i++) {
        const struct collected *one = &all->frames[i];
        uint32_t at = 0;
        if (one->sequence != reader->sequence[one->thread]) {
            assert_int_equal(one->sequence, reader->sequence[one->thread] + 1);
            reader->offset[one->thread] = 0;
        }
        assert_int_equal(one->offset, reader->offset[one->thread]);
        reader->sequence[one->thread] = one->sequence;
        reader->offset[one->thread] += one->bytes;
        while (at < one->bytes) {
            union any_record expected;
            const struct wire_record *record = (const void *)(one->payload + at);
            make_record(&expected, one->thread, reader->next[one->thread]++);
            expected.record.checksum = wire_checksum(&expected.record);
            assert_memory_equal(record, &expected, expected.record.bytes);
            at += record->bytes;
        }
    }
    free(all->frames);
}

struct writing {
    struct wire_region *region;
    uint32_t thread, records;
};

static void *write_records(void *argument)
{
    struct writing *job = argument;
    struct wire_writer writer = {
        .region = job->region, .chunk = WIRE_NONE, .process = 1, .thread = job->thread, .pid = 1};
    union any_record any;
    for (uint32_t n = 0; n < job->records; n++) {
        make_record(&any, job->thread, n);
        while (!wire_write(&writer, &any.record))
            ; /* pool empty: wait for the reader */
    }
    wire_close(&writer);
    return NULL;
}

static void threads_write_while_headroom_drains(void **state)
{
    enum { THREADS = 6, RECORDS = 20000 };
    struct wire_region *region = region_new();
    struct writing jobs[THREADS];
    pthread_t threads[THREADS];
    struct collector all = {0};
    struct reader reader = {0};
    uint64_t corrupt = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        jobs[i] = (struct writing){region, i + 1, RECORDS};
        assert_int_equal(pthread_create(&threads[i], NULL, write_records, &jobs[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        while (pthread_tryjoin_np(threads[i], NULL) != 0)
            assert_true(wire_drain(region, collect, &all, &corrupt));
    assert_true(wire_drain(region, collect, &all, &corrupt));
    assert_int_equal(corrupt, 0);
    replay(&all, &reader);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(reader.next[i + 1], RECORDS);
    assert_int_equal(free_chunks(region), WIRE_CHUNKS);
    assert_true(region->doorbell > 0);
    region_free(region);
}

static void a_full_pool_refuses_and_recovers(void **state)
{
    struct wire_region *region = region_new();
    struct wire_writer writer = {.region = region, .chunk = WIRE_NONE, .thread = 3};
    struct collector all = {0};
    struct reader reader = {0};
    uint64_t corrupt = 0;
    union any_record any;
    uint32_t written = 0;
    for (unsigned round = 0; round < 3; round++) {
        for (;;) {
            make_record(&any, 3, written);
            if (!wire_write(&writer, &any.record))
                break;
            written++;
        }
        assert_int_equal(free_chunks(region), 0);
        assert_false(wire_write(&writer, &any.record));
        assert_true(wire_drain(region, collect, &all, &corrupt));
        assert_int_equal(free_chunks(region), WIRE_CHUNKS);
    }
    replay(&all, &reader);
    assert_int_equal(corrupt, 0);
    assert_int_equal(reader.next[3], written);
    region_free(region);
}

static void reserved_groups_are_not_torn(void **state)
{
    struct wire_region *region = region_new();
    struct wire_writer writer = {.region = region, .chunk = WIRE_NONE};
    const uint32_t chunk_bytes = sizeof region->data[0];
    assert_false(wire_reserve(&writer, chunk_bytes + 8));
    assert_true(wire_reserve(&writer, chunk_bytes));
    uint32_t first = writer.chunk;
    struct wire_node node = {.record = {.type = WIRE_NODE, .bytes = sizeof node}};
    assert_true(wire_write(&writer, &node.record));
    assert_int_equal(writer.chunk, first);
    assert_true(wire_reserve(&writer, chunk_bytes - sizeof node));
    assert_int_equal(writer.chunk, first);
    assert_true(wire_reserve(&writer, chunk_bytes - sizeof node + 8));
    assert_int_not_equal(writer.chunk, first);
    assert_int_equal(region->chunks[first].state, WIRE_CHUNK_CLOSED);
    assert_int_equal(writer.sequence, 2);
    wire_close(&writer);
    wire_close(&writer); /* nothing open: nothing happens */
    region_free(region);
}

/* ---- killed writers -------------------------------------------------------------------------- */

static bool all_dead(void *context, uint32_t pid)
{
    return false;
}

static bool all_alive(void *context, uint32_t pid)
{
    return true;
}

/* Progress that the child published after each commit: at least that much must be there. */
static void a_killed_writer_loses_nothing(void **state)
{
    enum { ROUNDS = 60 };
    struct base_random random = {9};
    uint32_t lost_chunks = 0;
    volatile uint32_t *written =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct wire_region *region = region_new();
        struct reader reader = {0};
        *written = 0;
        pid_t child = fork();
        if (child == 0) {
            struct wire_writer writer = {.region = region,
                                         .chunk = WIRE_NONE,
                                         .process = 1,
                                         .thread = 1,
                                         .pid = (uint32_t)getpid()};
            union any_record any;
            wire_thread_begin(region, 1, (uint32_t)getpid(), (uint32_t)getpid());
            for (uint32_t n = 0;; n++) {
                make_record(&any, 1, n);
                if (!wire_write(&writer, &any.record))
                    pause();
                *written = n + 1;
            }
        }
        usleep((unsigned)base_random_below(&random, 4000));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        struct collector all = {0};
        uint64_t corrupt = 0;
        wire_reap(region, all_dead, NULL);
        assert_true(wire_drain(region, collect, &all, &corrupt));
        assert_int_equal(corrupt, 0);
        /* The counters' frame is of no interest here. */
        size_t kept = 0;
        for (size_t i = 0; i < all.count; i++)
            if (all.frames[i].sequence != SEQUENCE_COUNTERS)
                all.frames[kept++] = all.frames[i];
        all.count = kept;
        replay(&all, &reader);
        assert_true(reader.next[1] >= *written);
        assert_true(reader.next[1] <= *written + 1);
        lost_chunks += WIRE_CHUNKS - free_chunks(region);
        region_free(region);
    }
    /* Between taking a chunk and marking it open a few instructions can lose it. */
    assert_true(lost_chunks <= 2);
    munmap((void *)written, 4096);
}

/* Takes chunks, each for a thread of its own, until there are `most` or the pool is empty. */
static uint32_t take_chunks(struct wire_region *region, uint32_t most)
{
    for (uint32_t taken = 0; taken < most; taken++) {
        struct wire_node node = {.record = {.type = WIRE_NODE, .bytes = sizeof node}};
        struct wire_writer writer = {.region = region, .chunk = WIRE_NONE, .thread = taken + 1};
        if (!wire_write(&writer, &node.record))
            return taken;
        if (wire_pool_bytes(writer.chunk + 1) > sizeof *region)
            fail();
    }
    return most;
}

static void a_small_pool_asks_for_the_rest(void **state)
{
    enum { FIRST = 10 };
    struct wire_region *region = region_new();
    struct collector all = {0};
    uint64_t corrupt = 0;
    wire_pool_limit(region, FIRST);
    assert_int_equal(free_chunks(region), FIRST);
    assert_int_equal(take_chunks(region, FIRST / 2), FIRST / 2);
    assert_int_equal(region->pool_low, 0);
    uint32_t rung = region->doorbell;
    assert_int_equal(take_chunks(region, 1), 1);
    assert_int_equal(region->pool_low, 1);
    assert_int_equal(region->doorbell, rung + 1);
    assert_int_equal(take_chunks(region, WIRE_CHUNKS), FIRST - FIRST / 2 - 1);
    assert_int_equal(region->doorbell, rung + 1);
    wire_pool_extend(region, FIRST);
    assert_int_equal(free_chunks(region), WIRE_CHUNKS - FIRST);
    assert_int_equal(take_chunks(region, WIRE_CHUNKS), WIRE_CHUNKS - FIRST);
    wire_reap(region, all_dead, NULL);
    assert_true(wire_drain(region, collect, &all, &corrupt));
    assert_int_equal(corrupt, 0);
    assert_int_equal(all.count, WIRE_CHUNKS);
    assert_int_equal(free_chunks(region), WIRE_CHUNKS);
    assert_int_equal(wire_pool_bytes(WIRE_CHUNKS), sizeof *region);
    region_free(region);
    free(all.frames);
}

static void only_the_dead_are_reaped(void **state)
{
    struct wire_region *region = region_new();
    struct wire_writer writer = {.region = region, .chunk = WIRE_NONE, .thread = 1, .pid = 7};
    union any_record any;
    make_record(&any, 1, 0);
    struct wire_thread_slot *slot = wire_thread_begin(region, 1, 7, 8);
    assert_true(wire_write(&writer, &any.record));
    wire_reap(region, all_alive, NULL);
    assert_int_equal(slot->state, WIRE_SLOT_LIVE);
    assert_int_equal(region->chunks[writer.chunk].state, WIRE_CHUNK_OPEN);
    wire_reap(region, all_dead, NULL);
    assert_int_equal(slot->state, WIRE_SLOT_ENDED);
    assert_int_equal(region->chunks[writer.chunk].state, WIRE_CHUNK_CLOSED);
    region_free(region);
}

static void an_exec_ends_the_older_image(void **state)
{
    struct wire_region *region = region_new();
    struct wire_writer old = {.region = region, .chunk = WIRE_NONE, .process = 1, .pid = 7};
    struct wire_writer new = {.region = region, .chunk = WIRE_NONE, .process = 2, .pid = 7};
    struct wire_writer other = {.region = region, .chunk = WIRE_NONE, .process = 1, .pid = 9};
    struct wire_thread_slot *old_slot = wire_thread_begin(region, 1, 7, 7);
    struct wire_thread_slot *new_slot = wire_thread_begin(region, 2, 7, 7);
    struct wire_thread_slot *other_slot = wire_thread_begin(region, 1, 9, 9);
    union any_record any;
    make_record(&any, 0, 0);
    assert_true(wire_write(&old, &any.record) && wire_write(&new, &any.record) &&
                wire_write(&other, &any.record));
    wire_supersede(region, 7, 2);
    assert_int_equal(old_slot->state, WIRE_SLOT_ENDED);
    assert_int_equal(new_slot->state, WIRE_SLOT_LIVE);
    assert_int_equal(other_slot->state, WIRE_SLOT_LIVE);
    assert_int_equal(region->chunks[old.chunk].state, WIRE_CHUNK_CLOSED);
    assert_int_equal(region->chunks[new.chunk].state, WIRE_CHUNK_OPEN);
    assert_int_equal(region->chunks[other.chunk].state, WIRE_CHUNK_OPEN);
    region_free(region);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static void slots_carry_counters_once(void **state)
{
    struct wire_region *region = region_new();
    struct reader reader = {0};
    struct wire_thread_slot *slot = wire_thread_begin(region, 4, 5, 6);
    uint32_t thread = slot->thread;
    slot->counters.attempted = 10;
    slot->counters.stored = 7;
    slot->counters.dropped[WIRE_DROP_BUSY] = 3;
    slot->cpu_ns = 99;
    drain(region, &reader);
    assert_int_equal(reader.counters_frames, 0);
    slot->state = WIRE_SLOT_ENDED;
    drain(region, &reader);
    drain(region, &reader);
    assert_int_equal(reader.counters_frames, 1);
    assert_int_equal(reader.last.process, 4);
    assert_int_equal(reader.last.pid, 5);
    assert_int_equal(reader.last.tid, 6);
    assert_int_equal(reader.last.thread, thread);
    assert_int_equal(reader.last.cpu_ns, 99);
    assert_int_equal(reader.last.counters.attempted, 10);
    assert_int_equal(reader.last.counters.dropped[WIRE_DROP_BUSY], 3);
    assert_int_equal(slot->state, WIRE_SLOT_FREE);
    region_free(region);
}

static void slots_run_out_and_come_back(void **state)
{
    struct wire_region *region = region_new();
    struct reader reader = {0};
    bool seen[WIRE_THREADS + 2] = {false};
    for (uint32_t i = 0; i < WIRE_THREADS; i++) {
        struct wire_thread_slot *slot = wire_thread_begin(region, 1, 1, 100 + i);
        assert_non_null(slot);
        assert_true(slot->thread <= WIRE_THREADS && !seen[slot->thread]);
        seen[slot->thread] = true;
        slot->counters.attempted = 1;
    }
    assert_null(wire_thread_begin(region, 1, 1, 5000));
    assert_int_equal(region->lost_threads, 1);
    wire_reap(region, all_dead, NULL);
    drain(region, &reader);
    assert_int_equal(reader.counters_frames, WIRE_THREADS);
    struct wire_thread_slot *slot = wire_thread_begin(region, 1, 1, 5000);
    assert_non_null(slot);
    assert_int_equal(slot->counters.attempted, 0);
    region_free(region);
}

static void tables_are_found_again(void **state)
{
    struct wire_region *region = region_new();
    char long_path[WIRE_PATH_BYTES + 1];
    memset(long_path, 'x', sizeof long_path);
    long_path[WIRE_PATH_BYTES] = 0;
    uint32_t a = wire_table_want(region, "/lib/a.so", 1, 2);
    uint32_t b = wire_table_want(region, "/lib/b.so", 1, 2);
    uint32_t c = wire_table_want(region, "/lib/a.so", 1, 3);
    assert_true(a != b && b != c && a != c);
    assert_int_equal(wire_table_want(region, "/lib/a.so", 1, 2), a);
    assert_int_equal(region->tables[a].state, WIRE_TABLE_WANTED);
    assert_string_equal(region->tables[a].path, "/lib/a.so");
    region->tables[a].state = WIRE_TABLE_FAILED;
    assert_int_equal(wire_table_want(region, "/lib/a.so", 1, 2), a);
    uint32_t d = wire_table_name(region, "/lib/d.so", 1, 2);
    assert_int_equal(region->tables[d].state, WIRE_TABLE_NAMED);
    assert_int_equal(wire_table_name(region, "/lib/d.so", 1, 2), d);
    assert_true(wire_table_need(region, d));
    assert_false(wire_table_need(region, d));
    assert_int_equal(region->tables[d].state, WIRE_TABLE_WANTED);
    assert_int_equal(wire_table_want(region, long_path, 0, 0), WIRE_NONE);
    long_path[WIRE_PATH_BYTES - 1] = 0;
    assert_int_not_equal(wire_table_want(region, long_path, 0, 0), WIRE_NONE);
    for (uint32_t i = 5; i < WIRE_TABLES; i++)
        assert_int_not_equal(wire_table_want(region, "/lib/many.so", 9, i), WIRE_NONE);
    assert_int_equal(wire_table_want(region, "/lib/one_more.so", 9, 9999), WIRE_NONE);
    region_free(region);
}

static void foreign_regions_are_refused(void **state)
{
    struct wire_region *region = region_new();
    assert_int_equal(wire_region_check(region, sizeof *region), BASE_OK);
    assert_int_equal(wire_region_check(region, sizeof *region - 1), BASE_MALFORMED);
    region->version++;
    assert_int_equal(wire_region_check(region, sizeof *region), BASE_TOO_NEW);
    region->version--;
    region->magic ^= 1;
    assert_int_equal(wire_region_check(region, sizeof *region), BASE_MALFORMED);
    region_free(region);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void every_flipped_bit_is_seen(void **state)
{
    for (uint32_t n = 0; n < 40; n++) {
        union any_record any;
        make_record(&any, 1, n);
        any.record.checksum = wire_checksum(&any.record);
        assert_int_equal(wire_record_check(&any, any.record.bytes), BASE_OK);
        for (uint32_t bit = 0; bit < 8u * any.record.bytes; bit++) {
            uint16_t bytes = any.record.bytes;
            any.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            /* The length itself may be what was flipped. */
            assert_int_equal(wire_record_check(&any, bytes), BASE_MALFORMED);
            assert_int_equal(wire_record_check(&any, sizeof any), BASE_MALFORMED);
            any.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
}

static void short_records_are_refused(void **state)
{
    for (uint32_t n = 0; n < 60; n++) {
        union any_record any;
        make_record(&any, 2, n);
        any.record.checksum = wire_checksum(&any.record);
        for (uint32_t available = 0; available < any.record.bytes; available++)
            assert_int_equal(wire_record_check(&any, available), BASE_MALFORMED);
        if (any.record.type == WIRE_PROCESS || any.record.type == WIRE_MODULE)
            continue;
        any.record.bytes -= 8; /* consistent, but shorter than its type */
        any.record.checksum = wire_checksum(&any.record);
        assert_int_equal(wire_record_check(&any, sizeof any), BASE_MALFORMED);
    }
}

static enum base_status check_with_sum(union any_record *any)
{
    any->record.checksum = wire_checksum(&any->record);
    return wire_record_check(any, sizeof *any);
}

static void strings_must_end_inside(void **state)
{
    union any_record any = {
        .module = {.record = {WIRE_MODULE, WIRE_MODULE, sizeof any.module + 16}}};
    memset(any.module.path, 'x', 15);
    assert_int_equal(check_with_sum(&any), BASE_OK);
    any.module.path[15] = 'x';
    assert_int_equal(check_with_sum(&any), BASE_MALFORMED);

    any =
        (union any_record){.process = {.record = {0, WIRE_PROCESS, padded(sizeof any.process + 16)},
                                       .exe_bytes = 4,
                                       .command_bytes = 4}};
    memcpy(any.process.text, "exe\0cmd", 8);
    assert_int_equal(check_with_sum(&any), BASE_OK);
    any.process.text[3] = 'x';
    assert_int_equal(check_with_sum(&any), BASE_MALFORMED);
    any.process.text[3] = 0;
    any.process.text[7] = 'x';
    assert_int_equal(check_with_sum(&any), BASE_MALFORMED);
    any.process.command_bytes = 0;
    assert_int_equal(check_with_sum(&any), BASE_OK);
    any.process.command_bytes = 100; /* beyond the record */
    assert_int_equal(check_with_sum(&any), BASE_MALFORMED);
    any.process.command_bytes = 0xffff;
    any.process.exe_bytes = 0xffff;
    assert_int_equal(check_with_sum(&any), BASE_MALFORMED);
    any.process.command_bytes = any.process.exe_bytes = 0;
    assert_int_equal(check_with_sum(&any), BASE_MALFORMED);

    any = (union any_record){.thread = {.record = {0, WIRE_THREAD, sizeof any.thread}}};
    assert_int_equal(check_with_sum(&any), BASE_OK);
    memset(any.thread.name, 'x', 16);
    assert_int_equal(check_with_sum(&any), BASE_MALFORMED);
}

static void unknown_types_are_refused(void **state)
{
    union any_record any = {.record = {0, 0, 64}};
    assert_int_equal(check_with_sum(&any), BASE_MALFORMED);
    any.record.type = WIRE_TYPES;
    assert_int_equal(check_with_sum(&any), BASE_MALFORMED);
    any.record.type = 0xffff;
    assert_int_equal(check_with_sum(&any), BASE_MALFORMED);
}

/* A change of the checksum is a change of the format. */
static void checksums_are_stable(void **state)
{
    struct wire_node node = {.record = {.type = WIRE_NODE, .bytes = sizeof node},
                             .node = 2,
                             .parent = 1,
                             .module = 3,
                             .vaddr = 0x401136};
    assert_int_equal(sizeof node, 32);
    assert_int_equal(wire_checksum(&node.record), 0xbc96cf60);
}

static struct wire_frame last_frame;
static unsigned char last_payload[WIRE_CHUNK_BYTES];
static unsigned frames_seen;

static bool keep_last(void *context, const struct wire_frame *frame, const void *payload)
{
    last_frame = *frame;
    memcpy(last_payload, payload, frame->payload_bytes);
    frames_seen++;
    return true;
}

static void damaged_frames_are_seen(void **state)
{
    struct wire_region *region = region_new();
    struct wire_writer writer = {
        .region = region, .chunk = WIRE_NONE, .process = 3, .thread = 1, .pid = 12};
    unsigned char log[sizeof last_frame + sizeof last_payload];
    uint64_t corrupt = 0;
    union any_record any;
    for (uint32_t n = 0; n < 3; n++) {
        make_record(&any, 1, n);
        assert_true(wire_write(&writer, &any.record));
    }
    assert_true(wire_drain(region, keep_last, NULL, &corrupt));
    size_t bytes = sizeof last_frame + last_frame.payload_bytes, total = 77;
    memcpy(log, &last_frame, sizeof last_frame);
    memcpy(log + sizeof last_frame, last_payload, last_frame.payload_bytes);
    for (size_t available = 0; available < bytes; available++)
        assert_int_equal(wire_frame_check(log, available, &total), BASE_MALFORMED);
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        log[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(wire_frame_check(log, sizeof log, &total), BASE_MALFORMED);
        log[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_int_equal(total, 77); /* untouched on failure */
    assert_int_equal(wire_frame_check(log, bytes, &total), BASE_OK);
    assert_int_equal(total, bytes);
    region_free(region);
}

/* A record overwritten in the middle of a chunk: the ones before it and those written after the
   next drain survive, the damage is counted once. */
static void a_damaged_record_costs_its_batch(void **state)
{
    struct wire_region *region = region_new();
    struct wire_writer writer = {.region = region, .chunk = WIRE_NONE, .thread = 1};
    struct wire_node node = {.record = {.type = WIRE_NODE, .bytes = sizeof node}};
    uint64_t corrupt = 0;
    for (node.node = 1; node.node <= 4; node.node++)
        assert_true(wire_write(&writer, &node.record));
    region->data[writer.chunk][2 * sizeof node + 12] ^= 1;
    frames_seen = 0;
    assert_true(wire_drain(region, keep_last, NULL, &corrupt));
    assert_int_equal(corrupt, 1);
    assert_int_equal(frames_seen, 1);
    assert_int_equal(last_frame.payload_bytes, 2 * sizeof node);
    assert_true(wire_write(&writer, &node.record));
    assert_true(wire_drain(region, keep_last, NULL, &corrupt));
    assert_int_equal(corrupt, 1);
    assert_int_equal(last_frame.payload_bytes, sizeof node);
    assert_int_equal(last_frame.offset, 4 * sizeof node);
    region_free(region);
}

static void impossible_lengths_are_counted_once(void **state)
{
    const uint32_t lengths[] = {0xffffffff, WIRE_CHUNK_BYTES,
                                sizeof(((struct wire_region *)0)->data[0]) + 8};
    for (unsigned i = 0; i < BASE_COUNT(lengths); i++) {
        struct wire_region *region = region_new();
        struct wire_writer writer = {.region = region, .chunk = WIRE_NONE, .thread = 1};
        struct wire_node node = {.record = {.type = WIRE_NODE, .bytes = sizeof node}};
        uint64_t corrupt = 0;
        assert_true(wire_write(&writer, &node.record));
        region->chunks[writer.chunk].committed = lengths[i];
        frames_seen = 0;
        for (unsigned round = 0; round < 3; round++)
            assert_true(wire_drain(region, keep_last, NULL, &corrupt));
        assert_int_equal(corrupt, 1);
        assert_int_equal(frames_seen, 0);
        region_free(region);
    }
}

static bool only_valid_frames(void *context, const struct wire_frame *frame, const void *payload)
{
    assert_true(frame->payload_bytes > 0 && frame->payload_bytes <= WIRE_CHUNK_BYTES);
    for (uint32_t at = 0; at < frame->payload_bytes;) {
        const struct wire_record *record = (const void *)((const char *)payload + at);
        assert_int_equal(wire_record_check(record, frame->payload_bytes - at), BASE_OK);
        at += record->bytes;
    }
    return true;
}

/* A program that writes over the region must not hurt headroom, whatever it writes. */
static void a_scribbled_region_is_survived(void **state)
{
    struct base_random random = {4};
    for (unsigned round = 0; round < 60; round++) {
        struct wire_region *region = region_new();
        struct writing job = {region, 1, 500};
        uint64_t corrupt = 0;
        write_records(&job);
        size_t first = offsetof(struct wire_region, doorbell);
        for (unsigned i = 0; i < 400; i++) {
            /* Anywhere, and more often the headers of chunks. */
            size_t at = first + base_random_below(&random, sizeof *region - first - 8);
            if (i % 2)
                at = offsetof(struct wire_region, chunks) +
                     base_random_below(&random, WIRE_CHUNKS) * sizeof(struct wire_chunk) +
                     4 * base_random_below(&random, 10);
            uint64_t word = base_random_next(&random) >> (8 * base_random_below(&random, 8));
            memcpy((char *)region + at, &word, 1 + base_random_below(&random, 8));
        }
        for (unsigned pass = 0; pass < 3; pass++) {
            assert_true(wire_drain(region, only_valid_frames, NULL, &corrupt));
            wire_reap(region, all_dead, NULL);
        }
        region_free(region);
    }
}

static void a_full_disk_stops_the_drain(void **state)
{
    struct wire_region *region = region_new();
    struct writing job = {region, 1, 10};
    struct reader reader = {.full = true};
    uint64_t corrupt = 0;
    write_records(&job);
    assert_false(wire_drain(region, read_frame, &reader, &corrupt));
    region_free(region);
}

static void every_drop_has_a_name(void **state)
{
    for (unsigned i = 0; i < WIRE_DROPS; i++) {
        assert_non_null(wire_drop_names[i]);
        assert_non_null(wire_drop_sentences[i]);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(wire_drop_names[i], wire_drop_names[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_write_while_headroom_drains),
        cmocka_unit_test(a_full_pool_refuses_and_recovers),
        cmocka_unit_test(a_small_pool_asks_for_the_rest),
        cmocka_unit_test(reserved_groups_are_not_torn),
        cmocka_unit_test(a_killed_writer_loses_nothing),
        cmocka_unit_test(only_the_dead_are_reaped),
        cmocka_unit_test(an_exec_ends_the_older_image),
        cmocka_unit_test(slots_carry_counters_once),
        cmocka_unit_test(slots_run_out_and_come_back),
        cmocka_unit_test(tables_are_found_again),
        cmocka_unit_test(foreign_regions_are_refused),
        cmocka_unit_test(every_flipped_bit_is_seen),
        cmocka_unit_test(short_records_are_refused),
        cmocka_unit_test(strings_must_end_inside),
        cmocka_unit_test(unknown_types_are_refused),
        cmocka_unit_test(checksums_are_stable),
        cmocka_unit_test(damaged_frames_are_seen),
        cmocka_unit_test(a_damaged_record_costs_its_batch),
        cmocka_unit_test(impossible_lengths_are_counted_once),
        cmocka_unit_test(a_scribbled_region_is_survived),
        cmocka_unit_test(a_full_disk_stops_the_drain),
        cmocka_unit_test(every_drop_has_a_name),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
