// SPDX-License-Identifier: MIT
/*
 * Rings as the kernel would write them, made by hand: this machine's kernel may
 * have no counters to write any. A software event's ring checks the layout against the kernel.
 */
#include "os/os.h"
#include "os/pmu.h"
#include "machine/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <asm/unistd.h>
#include <cmocka.h>

enum { RING = 4096 };

static _Alignas(4096) unsigned char mapping[4096 + RING + 64];

static struct pmu_ring ring_at(uint64_t position)
{
    struct pmu_ring ring;
    memset(mapping, 0xa5, sizeof mapping);
    memset(mapping, 0, 4096);
    assert_int_equal(pmu_ring_init(&ring, mapping, RING), BASE_OK);
    ring.page->data_head = ring.page->data_tail = position;
    return ring;
}

/* What the kernel does: copies around the end, then advances the head. */
static void kernel_writes(struct pmu_ring *ring, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mapping[4096 + (ring->page->data_head + i) % RING] = ((const unsigned char *)bytes)[i];
    ring->page->data_head += count;
}

struct sample_record {
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t address, data_source;
};

static struct sample_record sample_of(uint64_t n, uint64_t op)
{
    union perf_mem_data_src source = {.mem_op = op};
    return (struct sample_record){
        .header = {.type = PERF_RECORD_SAMPLE,
                   .misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP,
                   .size = sizeof(struct sample_record)},
        .ip = 0x400000 + n,
        .pid = 10,
        .tid = 11,
        .address = 0x7f0000000000 + n,
        .data_source = source.val};
}

static void assert_sample(struct pmu_ring *ring, uint64_t n)
{
    struct pmu_sample sample;
    assert_true(pmu_next(ring, &sample));
    assert_int_equal(sample.ip, 0x400000 + n);
    assert_int_equal(sample.address, 0x7f0000000000 + n);
    assert_int_equal(sample.pid, 10);
    assert_int_equal(sample.tid, 11);
    assert_true(sample.exact && sample.user);
}

static void assert_empty(struct pmu_ring *ring)
{
    struct pmu_sample sample;
    memset(&sample, 0x5a, sizeof sample);
    struct pmu_sample before = sample;
    assert_false(pmu_next(ring, &sample));
    assert_memory_equal(&sample, &before, sizeof sample);
    assert_int_equal(ring->page->data_tail, ring->page->data_head);
}

/* Every start in the ring, so that every field gets to lie across the end; also where the 64-bit
   positions overflow. */
static void samples_wrap_around(void **state)
{
    for (unsigned high = 0; high < 2; high++)
        for (uint64_t start = 0; start < RING; start += 8) {
            struct pmu_ring ring = ring_at(high ? UINT64_MAX - 4095 + start : start);
            for (uint64_t n = 0; n < 5; n++) {
                struct sample_record record = sample_of(n, PERF_MEM_OP_STORE);
                kernel_writes(&ring, &record, sizeof record);
            }
            for (uint64_t n = 0; n < 5; n++)
                assert_sample(&ring, n);
            assert_empty(&ring);
            assert_int_equal(ring.counts.samples, 5);
            assert_int_equal(ring.counts.malformed, 0);
        }
}

static void a_full_ring_is_read(void **state)
{
    struct pmu_ring ring = ring_at(40);
    struct {
        struct perf_event_header header;
        unsigned char rest[RING - 40 * 102 - 8];
    } filler = {.header = {.type = PERF_RECORD_COMM, .size = RING - 40 * 102}};
    for (uint64_t n = 0; n < 102; n++) {
        struct sample_record record = sample_of(n, PERF_MEM_OP_LOAD);
        kernel_writes(&ring, &record, sizeof record);
    }
    kernel_writes(&ring, &filler, sizeof filler);
    assert_int_equal(ring.page->data_head - ring.page->data_tail, RING);
    for (uint64_t n = 0; n < 102; n++)
        assert_sample(&ring, n);
    assert_empty(&ring);
    assert_int_equal(ring.counts.other, 1);
}

static void data_sources_become_directions(void **state)
{
    const struct {
        uint64_t op;
        uint8_t direction;
    } table[] = {{PERF_MEM_OP_LOAD, PMU_LOAD},
                 {PERF_MEM_OP_STORE, PMU_STORE},
                 {PERF_MEM_OP_LOAD | PERF_MEM_OP_STORE, PMU_LOAD | PMU_STORE},
                 {PERF_MEM_OP_NA, PMU_UNKNOWN},
                 {PERF_MEM_OP_EXEC, PMU_UNKNOWN}};
    for (unsigned i = 0; i < BASE_COUNT(table); i++) {
        struct pmu_ring ring = ring_at(0);
        struct sample_record record = sample_of(0, table[i].op);
        struct pmu_sample sample;
        record.header.misc = PERF_RECORD_MISC_KERNEL;
        kernel_writes(&ring, &record, sizeof record);
        assert_true(pmu_next(&ring, &sample));
        assert_int_equal(sample.direction, table[i].direction);
        assert_false(sample.exact || sample.user);
    }
}

static void lost_and_throttled_are_counted(void **state)
{
    struct {
        struct perf_event_header header;
        uint64_t id, lost;
    } lost = {.header = {.type = PERF_RECORD_LOST, .size = sizeof lost}, .lost = 17};
    struct {
        struct perf_event_header header;
        uint64_t time, id, stream;
    } throttle = {.header = {.type = PERF_RECORD_THROTTLE, .size = sizeof throttle}};
    struct pmu_ring ring = ring_at(RING - 16);
    struct sample_record record = sample_of(1, PERF_MEM_OP_STORE);
    kernel_writes(&ring, &lost, sizeof lost);
    kernel_writes(&ring, &throttle, sizeof throttle);
    kernel_writes(&ring, &record, sizeof record);
    kernel_writes(&ring, &lost, sizeof lost);
    assert_sample(&ring, 1);
    assert_int_equal(ring.counts.lost, 17);
    assert_int_equal(ring.counts.throttled, 1);
    assert_empty(&ring);
    assert_int_equal(ring.counts.lost, 34);
}

/* A longer record of a newer kernel is still a sample; its tail is skipped. */
static void longer_samples_are_accepted(void **state)
{
    struct pmu_ring ring = ring_at(0);
    struct {
        struct sample_record sample;
        uint64_t more[3];
    } record = {.sample = sample_of(3, PERF_MEM_OP_STORE)};
    record.sample.header.size = sizeof record;
    kernel_writes(&ring, &record, sizeof record);
    record.sample = sample_of(4, PERF_MEM_OP_STORE);
    kernel_writes(&ring, &record.sample, sizeof record.sample);
    assert_sample(&ring, 3);
    assert_sample(&ring, 4);
    assert_empty(&ring);
}

static void impossible_records_empty_the_ring(void **state)
{
    const struct {
        uint32_t type;
        uint16_t size;
    } table[] = {{PERF_RECORD_SAMPLE, 0},  {PERF_RECORD_SAMPLE, 7},     {PERF_RECORD_SAMPLE, 8},
                 {PERF_RECORD_SAMPLE, 32}, {PERF_RECORD_SAMPLE, 44},    {PERF_RECORD_SAMPLE, 48},
                 {PERF_RECORD_LOST, 16},   {PERF_RECORD_COMM, 0},       {PERF_RECORD_COMM, 4},
                 {0xffffffff, 0xffff},     {PERF_RECORD_SAMPLE, 0xfff8}};
    for (unsigned i = 0; i < BASE_COUNT(table); i++) {
        struct pmu_ring ring = ring_at(RING - 8);
        struct sample_record record = sample_of(1, PERF_MEM_OP_STORE);
        record.header.type = table[i].type;
        record.header.size = table[i].size;
        kernel_writes(&ring, &record, sizeof record); /* 40 bytes: a header saying 48 is cut off */
        assert_empty(&ring);
        assert_int_equal(ring.counts.malformed, 1);
        assert_int_equal(ring.counts.samples, 0);
        /* and it works again */
        record = sample_of(2, PERF_MEM_OP_STORE);
        kernel_writes(&ring, &record, sizeof record);
        assert_sample(&ring, 2);
    }
}

static void impossible_positions_empty_the_ring(void **state)
{
    const uint64_t heads[] = {RING + 8, 4, UINT64_MAX, 1ull << 63, 100 * RING};
    for (unsigned i = 0; i < BASE_COUNT(heads); i++) {
        struct pmu_ring ring = ring_at(0);
        ring.page->data_head = heads[i];
        assert_empty(&ring);
        assert_int_equal(ring.counts.malformed, 1);
    }
    struct pmu_ring ring = ring_at(3);
    struct sample_record record = sample_of(1, PERF_MEM_OP_STORE);
    kernel_writes(&ring, &record, sizeof record);
    assert_empty(&ring);
}

/* Random bytes: nothing outside the ring is touched (the sanitizer's matter), and it ends. */
static void garbage_ends(void **state)
{
    struct base_random random = {1};
    for (unsigned round = 0; round < 20000; round++) {
        struct pmu_ring ring = ring_at(base_random_next(&random) & ~7ull);
        struct pmu_sample sample;
        for (unsigned i = 0; i < RING; i += 8) {
            uint64_t word = base_random_next(&random);
            /* Mostly small sizes and known types, so that parsing gets far. */
            if (word & 1)
                word = (word & 0x70) << 44 | (word >> 8) % 12;
            memcpy(mapping + 4096 + i, &word, 8);
        }
        ring.page->data_head += base_random_below(&random, RING + 16);
        for (unsigned taken = 0; pmu_next(&ring, &sample); taken++)
            assert_true(taken < RING / 40);
        assert_int_equal(ring.page->data_tail, ring.page->data_head);
    }
}

static void rings_have_a_power_of_two(void **state)
{
    struct pmu_ring ring = {.bytes = 1};
    assert_int_equal(pmu_ring_init(&ring, mapping, 0), BASE_MALFORMED);
    assert_int_equal(pmu_ring_init(&ring, mapping, 2048), BASE_MALFORMED);
    assert_int_equal(pmu_ring_init(&ring, mapping, 12288), BASE_MALFORMED);
    assert_int_equal(ring.bytes, 1);
}

static void attributes_by_vendor(void **state)
{
    struct perf_event_attr attr;
    pmu_attributes(&(struct pmu_event){PERF_TYPE_RAW, 0x82d0, 10007, 5}, &attr);
    assert_int_equal(attr.type, PERF_TYPE_RAW);
    assert_int_equal(attr.config, 0x82d0);
    assert_int_equal(attr.sample_period, 10007);
    assert_int_equal(attr.precise_ip, 2);
    assert_int_equal(attr.sig_data, 5);
    assert_true(attr.exclude_kernel && attr.sigtrap && attr.remove_on_exec && !attr.disabled);
    pmu_attributes(&(struct pmu_event){11, 1 << 19, 10007, 5}, &attr);
    assert_int_equal(attr.sample_period, 10000);
    assert_int_equal(attr.precise_ip, 0);
    assert_false(attr.exclude_kernel);
    pmu_attributes(&(struct pmu_event){11, 1 << 19, 1, 5}, &attr);
    assert_int_equal(attr.sample_period, 16);
}

/* The kernel's own ring: our attributes on a software event (page faults have an address). */
static void the_kernel_writes_what_we_read(void **state)
{
    struct perf_event_attr attr;
    struct pmu_ring ring;
    struct pmu_sample sample;
    pmu_attributes(&(struct pmu_event){PERF_TYPE_RAW, 0, 1, 0}, &attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_PAGE_FAULTS;
    attr.precise_ip = 0;
    attr.sigtrap = attr.remove_on_exec = 0;
    attr.sig_data = 0;
    long descriptor = os_syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
    if (descriptor < 0)
        skip(); /* not permitted here */
    void *memory = mmap(NULL, 4096 + 8192, PROT_READ | PROT_WRITE, MAP_SHARED, (int)descriptor, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(pmu_ring_init(&ring, memory, 8192), BASE_OK);
    volatile char *fresh = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(fresh != MAP_FAILED);
    assert_int_equal(madvise((void *)fresh, 64 * 4096, MADV_NOHUGEPAGE), 0);
    bool seen[64] = {false};
    unsigned matched = 0;
    for (unsigned page = 0; page < 64; page++) {
        ioctl((int)descriptor, PERF_EVENT_IOC_ENABLE, 0);
        fresh[page * 4096 + 7] = 1;
        ioctl((int)descriptor, PERF_EVENT_IOC_DISABLE, 0);
        /* Pages of our own code may fault in between. */
        while (pmu_next(&ring, &sample))
            if (sample.tid == os_tid() && sample.user &&
                sample.address == (uint64_t)&fresh[page * 4096 + 7])
                seen[page] = true;
        matched += seen[page];
    }
    assert_int_equal(matched, 64);
    assert_int_equal(ring.counts.malformed, 0);
    munmap((void *)fresh, 64 * 4096);
    munmap(memory, 4096 + 8192);
    close((int)descriptor);
}

/* ---- names of events -------------------------------------------------------------------- */

static void models_have_their_events(void **state)
{
    /* Event and unit mask from the vendors' tables. */
    const struct {
        const char *model;
        uint64_t store, load;
    } table[] = {{"skl", 0x82d0, 0x81d0}, {"icl", 0x82d0, 0x81d0}, {"spr", 0x82d0, 0x81d0},
                 {"hsw", 0x82d0, 0x81d0}, {"bdw", 0x82d0, 0x81d0}, {"snb", 0x82d0, 0x81d0}};
    for (unsigned i = 0; i < BASE_COUNT(table); i++) {
        struct machine_events events = {0};
        assert_int_equal(machine_events_of_model(table[i].model, &events), BASE_OK);
        assert_int_equal(events.store_event, table[i].store);
        assert_int_equal(events.load_event, table[i].load);
        assert_int_equal(events.type, PERF_TYPE_RAW);
    }
}

static void unknown_models_have_none(void **state)
{
    struct machine_events events = {.type = 99};
    assert_int_equal(machine_events_of_model("nonesuch", &events), BASE_UNSUPPORTED);
    assert_int_equal(machine_events_of_model("amd64_fam17h_zen2", &events), BASE_UNSUPPORTED);
    assert_int_equal(events.type, 99);
}

static void write_text(const char *directory, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void the_kernel_must_have_a_driver(void **state)
{
    struct machine_events events = {.type = 99};
    char root[] = "/tmp/headroom-pmu-XXXXXX", path[64];
    assert_non_null(mkdtemp(root));
    assert_int_equal(machine_events_find(root, &events), BASE_UNSUPPORTED);
    snprintf(path, sizeof path, "%s/ibs_op", root);
    assert_int_equal(mkdir(path, 0700), 0);
    write_text(path, "type", "junk\n");
    assert_int_equal(machine_events_find(root, &events), BASE_UNSUPPORTED);
    assert_int_equal(events.type, 99);
    write_text(path, "type", "11\n");
    assert_int_equal(machine_events_find(root, &events), BASE_OK);
    assert_int_equal(events.type, 11);
    assert_int_equal(events.store_event, events.load_event);
    char file[96];
    snprintf(file, sizeof file, "%s/type", path);
    unlink(file);
    rmdir(path);
    rmdir(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_wrap_around),
        cmocka_unit_test(a_full_ring_is_read),
        cmocka_unit_test(data_sources_become_directions),
        cmocka_unit_test(lost_and_throttled_are_counted),
        cmocka_unit_test(longer_samples_are_accepted),
        cmocka_unit_test(impossible_records_empty_the_ring),
        cmocka_unit_test(impossible_positions_empty_the_ring),
        cmocka_unit_test(garbage_ends),
        cmocka_unit_test(rings_have_a_power_of_two),
        cmocka_unit_test(attributes_by_vendor),
        cmocka_unit_test(the_kernel_writes_what_we_read),
        cmocka_unit_test(models_have_their_events),
        cmocka_unit_test(unknown_models_have_none),
        cmocka_unit_test(the_kernel_must_have_a_driver),
    };
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1); /* other machines' models */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pmu", tests, NULL, NULL);
}
