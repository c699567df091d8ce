// SPDX-License-Identifier: MIT
/* machine: copies of other machines' sysfs, whole and damaged, and this machine itself. */
#include "machine/latency.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { MOST = 8 };

static char root[] = "/tmp/headroom-machine-XXXXXX";

static void remove_tree(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

/* Each test starts with an empty tree. */
static int begin(void **state)
{
    strcpy(root + strlen(root) - 6, "XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
    remove_tree();
    return 0;
}

static void write_text(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0777);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", text);
    fclose(file);
}

/* Fields: level, type, size, ways_of_associativity, coherency_line_size, shared_cpu_list; NULL: no
   such file. */
static void add(unsigned cpu, unsigned index, const char *const fields[6])
{
    static const char *const names[6] = {
        "level", "type", "size", "ways_of_associativity", "coherency_line_size", "shared_cpu_list"};
    for (int i = 0; i < 6; i++) {
        char path[256];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/cache/index%u/%s", cpu, index,
                 names[i]);
        if (fields[i])
            write_text(path, fields[i]);
    }
}

#define ADD(cpu, index, ...) add(cpu, index, (const char *const[6]){__VA_ARGS__})

static void expect(const struct machine_cache *cache, uint32_t level, uint64_t bytes, uint32_t ways,
                   uint32_t line_bytes, uint32_t sharers)
{
    assert_int_equal(cache->level, level);
    assert_int_equal(cache->bytes, bytes);
    assert_int_equal(cache->ways, ways);
    assert_int_equal(cache->line_bytes, line_bytes);
    assert_int_equal(cache->sharers, sharers);
}

static void test_plain(void **state)
{
    struct machine_cache caches[MOST];
    write_text("sys/devices/system/cpu/present", "0-7");
    ADD(0, 0, "1", "Data", "48K", "12", "64", "0,4");
    ADD(0, 1, "1", "Instruction", "32K", "8", "64", "0,4");
    ADD(0, 2, "2", "Unified", "1280K", "20", "64", "0,4");
    ADD(0, 3, "3", "Unified", "24M", "12", "64", "0-7");
    assert_int_equal(machine_caches(root, caches, MOST), 3);
    expect(&caches[0], 1, 48 << 10, 12, 64, 2);
    expect(&caches[1], 2, 1280 << 10, 20, 64, 2);
    expect(&caches[2], 3, 24 << 20, 12, 64, 8);
    assert_int_equal(machine_caches(root, caches, 2), 2);
    expect(&caches[1], 2, 1280 << 10, 20, 64, 2);
    assert_int_equal(machine_caches(root, caches, 0), 0);
}

/* Smallest first, whatever the order of the indices; the smaller level first of equal ones. */
static void test_order(void **state)
{
    struct machine_cache caches[MOST];
    ADD(0, 0, "3", "Unified", "512K", "16", "64", "0-3");
    ADD(0, 1, "2", "Unified", "512K", "8", "64", "0");
    ADD(0, 2, "1", "Data", "32K", "8", "64", "0");
    assert_int_equal(machine_caches(root, caches, MOST), 3);
    assert_int_equal(caches[0].level, 1);
    assert_int_equal(caches[1].level, 2);
    assert_int_equal(caches[2].level, 3);
}

static void test_missing_files(void **state)
{
    struct machine_cache caches[MOST];
    ADD(0, 0, "1", "Data", "32K", NULL, NULL, NULL);
    ADD(0, 1, NULL, "Unified", "1M", "8", "64", "0");
    ADD(0, 2, "2", "Unified", NULL, "8", "64", "0");
    ADD(0, 3, "3", NULL, "8M", "8", "64", "0");
    ADD(0, 4, "4", "Unified", "128M", "0", "64", "0-1,3,5-6");
    assert_int_equal(machine_caches(root, caches, MOST), 2);
    expect(&caches[0], 1, 32 << 10, 0, 0, 1);
    expect(&caches[1], 4, 128 << 20, 0, 64, 5);
}

static void test_odd_values(void **state)
{
    static const char *const sizes[] = {"",     "K",    "-32K",  "32 K",       "32KK",
                                        "0K",   "x32K", "32P",   "0",          "99999999999G",
                                        "1e3K", " 32K", "32K\t", "4294967296M"};
    struct machine_cache caches[MOST];
    for (unsigned i = 0; i < BASE_COUNT(sizes); i++) {
        ADD(0, 0, "1", "Data", sizes[i], "8", "64", "0");
        assert_int_equal(machine_caches(root, caches, MOST), 0);
    }
    ADD(0, 0, "1", "Data", "32768", "eight", "-64", "8-3");
    assert_int_equal(machine_caches(root, caches, MOST), 1);
    expect(&caches[0], 1, 32768, 0, 0, 1);
    ADD(0, 0, "10", "Data", "32K", "8", "64", "0");
    assert_int_equal(machine_caches(root, caches, MOST), 0);
    ADD(0, 0, "2", "Data", "2m", "8", "64", "0-99999999999999999999");
    assert_int_equal(machine_caches(root, caches, MOST), 1);
    expect(&caches[0], 2, 2 << 20, 8, 64, 1);
}

/* Fast cores 8-11 with 48K and 1.25M each, slow ones 0-7 with 32K and 2M for four. */
static void test_hybrid(void **state)
{
    struct machine_cache caches[MOST];
    write_text("sys/devices/system/cpu/present", "0-11");
    for (unsigned cpu = 0; cpu < 12; cpu++) {
        bool fast = cpu >= 8;
        char own[16];
        snprintf(own, sizeof own, "%u", cpu);
        ADD(cpu, 0, "1", "Data", fast ? "48K" : "32K", fast ? "12" : "8", "64", own);
        ADD(cpu, 2, "2", "Unified", fast ? "1280K" : "2048K", fast ? "10" : "16", "64",
            fast      ? own
            : cpu < 4 ? "0-3"
                      : "4-7");
        ADD(cpu, 3, "3", "Unified", "30M", "12", "64", "0-11");
    }
    assert_int_equal(machine_caches(root, caches, MOST), 3);
    expect(&caches[0], 1, 48 << 10, 12, 64, 1);
    expect(&caches[1], 2, 1280 << 10, 10, 64, 1);
    expect(&caches[2], 3, 30 << 20, 12, 64, 12);
}

/* Alike but for the last level: the larger one. CPU 0 is offline. */
static void test_two_last_levels(void **state)
{
    struct machine_cache caches[MOST];
    write_text("sys/devices/system/cpu/present", "0-3");
    for (unsigned cpu = 1; cpu < 4; cpu++) {
        ADD(cpu, 0, "1", "Data", "32K", "8", "64", cpu == 1 ? "1" : cpu == 2 ? "2" : "3");
        ADD(cpu, 3, "3", "Unified", cpu == 2 ? "96M" : "32M", "16", "64", cpu == 2 ? "2" : "1,3");
    }
    assert_int_equal(machine_caches(root, caches, MOST), 2);
    expect(&caches[1], 3, 96 << 20, 16, 64, 1);
}

static void test_nothing(void **state)
{
    struct machine_cache caches[MOST];
    assert_int_equal(machine_caches(root, caches, MOST), 0);
    assert_int_equal(machine_caches("/nonexistent", caches, MOST), 0);
    ADD(0, 0, "1", "Instruction", "32K", "8", "64", "0");
    assert_int_equal(machine_caches(root, caches, MOST), 0);
}

/* Whoever is asked, they are plausible. */
static void test_this_machine(void **state)
{
    struct machine_cache caches[2][MOST];
    size_t counts[2] = {machine_caches("", caches[0], MOST),
                        machine_caches_by_cpuid(caches[1], MOST)};
    for (int by = 0; by < 2; by++) {
        for (size_t i = 0; i < counts[by]; i++) {
            const struct machine_cache *cache = &caches[by][i];
            assert_in_range(cache->level, 1, 9);
            assert_in_range(cache->bytes, 1 << 10, UINT64_C(1) << 40);
            assert_true(cache->sharers >= 1);
            assert_true(i == 0 || cache[-1].bytes <= cache->bytes);
        }
    }
    assert_true(counts[0] >= 1 || counts[1] == 0);
}

/* ---- latencies ---- */

/* Folders that can be used, by HEADROOM_CACHE. */
static char kept[64], kept_file[128];

static int begin_kept(void **state)
{
    int failed = begin(state);
    snprintf(kept, sizeof kept, "%s/kept", root);
    snprintf(kept_file, sizeof kept_file, "%s/machine.latency", kept);
    setenv("HEADROOM_CACHE", kept, 1);
    return failed || mkdir(kept, 0700) != 0 ? -1 : 0;
}

static int end_kept(void **state)
{
    unsetenv("HEADROOM_CACHE");
    return end(state);
}

/* No timing, only sanity: what is farther away takes no less, and nothing takes no time. */
static void latencies_are_plausible(void **state)
{
    struct machine_latencies found, again;
    struct machine_cache caches[MOST];
    assert_int_equal(machine_latencies(true, &found), BASE_OK);
    assert_false(found.kept);
    if (machine_caches("", caches, MOST) == 0) {
        assert_int_equal(found.count, 0);
        return;
    }
    assert_true(found.count >= 1);
    for (size_t i = 0; i < found.count; i++) {
        const struct machine_latency *item = &found.items[i];
        assert_true(item->chase_ns > 0.1 && item->chase_ns < 10000);
        assert_true(item->stream_ns > 0.01 && item->stream_ns <= 10000);
        assert_int_equal(item->bytes & (item->bytes - 1), 0);
        assert_true(i == 0 ||
                    (item->bytes > item[-1].bytes && item->chase_ns >= item[-1].chase_ns &&
                     item->stream_ns >= item[-1].stream_ns));
        assert_true(item->level == 0 ? i + 1 == found.count : item->level <= 9);
    }
    if (found.transfer == MACHINE_TRANSFER_MEASURED)
        assert_true(found.transfer_ns > 1 && found.transfer_ns < 100000);
    else
        assert_non_null(machine_transfer_texts[found.transfer]);
    assert_int_equal(machine_latencies(false, &again), BASE_OK);
    assert_true(again.kept);
    assert_int_equal(again.count, found.count);
    assert_true(again.items[0].chase_ns > found.items[0].chase_ns - 0.001 &&
                again.items[0].chase_ns < found.items[0].chase_ns + 0.001);
}

static const struct machine_latencies known = {
    .items = {{1, 16384, 1.25, 0.5}, {2, 262144, 4, 0.75}, {0, 1 << 27, 100.5, 3}},
    .count = 3,
    .transfer_ns = 62.5};

static void kept_text_comes_back(void **state)
{
    char text[4096], again[4096];
    struct machine_latencies found;
    assert_true(machine_latencies_write(&known, "this one", text, sizeof text));
    assert_true(machine_latencies_read(text, "this one", &found));
    assert_true(found.kept);
    assert_int_equal(found.count, 3);
    assert_int_equal(found.items[2].bytes, 1 << 27);
    assert_float_equal((float)found.items[1].chase_ns, 4, 1e-6);
    assert_float_equal((float)found.transfer_ns, 62.5, 1e-6);
    assert_true(machine_latencies_write(&found, "this one", again, sizeof again));
    assert_string_equal(text, again);
    assert_false(machine_latencies_read(text, "this", &found));
    assert_false(machine_latencies_read(text, "another", &found));
    assert_false(machine_latencies_write(&known, "this one", text, 100));
}

/* Whatever byte is another, and wherever the text is cut. */
static void damaged_text_is_not_believed(void **state)
{
    char text[4096], damaged[4096];
    struct machine_latencies found = {.count = 77};
    assert_true(machine_latencies_write(&known, "m", text, sizeof text));
    size_t bytes = strlen(text);
    for (size_t i = 0; i < bytes; i++) {
        strcpy(damaged, text);
        damaged[i] = damaged[i] == '1' ? '2' : '1';
        assert_false(machine_latencies_read(damaged, "m", &found));
        damaged[i] = 0;
        assert_false(machine_latencies_read(damaged, "m", &found));
    }
    strcat(strcpy(damaged, text), "more\n");
    assert_false(machine_latencies_read(damaged, "m", &found));
    assert_int_equal(found.count, 77);
}

static void damaged_files_are_measured_anew(void **state)
{
    struct machine_latencies found;
    FILE *file = fopen(kept_file, "w");
    assert_non_null(file);
    fputs("headroom latencies 1\nmachine x\nlevel 1 1 1 1\n", file);
    fclose(file);
    assert_int_equal(machine_latencies(false, &found), BASE_OK);
    assert_false(found.kept);
    assert_int_equal(machine_latencies(false, &found), BASE_OK);
    assert_true(found.kept);
}

/* A file in the folder's place: root could write to any folder. */
static void without_a_folder_it_works(void **state)
{
    struct machine_latencies found;
    assert_int_equal(rmdir(kept), 0);
    fclose(fopen(kept, "w"));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(machine_latencies(false, &found), BASE_OK);
        assert_false(found.kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_plain, begin, end),
        cmocka_unit_test_setup_teardown(test_order, begin, end),
        cmocka_unit_test_setup_teardown(test_missing_files, begin, end),
        cmocka_unit_test_setup_teardown(test_odd_values, begin, end),
        cmocka_unit_test_setup_teardown(test_hybrid, begin, end),
        cmocka_unit_test_setup_teardown(test_two_last_levels, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_this_machine, begin, end),
        cmocka_unit_test_setup_teardown(latencies_are_plausible, begin_kept, end_kept),
        cmocka_unit_test(kept_text_comes_back),
        cmocka_unit_test(damaged_text_is_not_believed),
        cmocka_unit_test_setup_teardown(damaged_files_are_measured_anew, begin_kept, end_kept),
        cmocka_unit_test_setup_teardown(without_a_folder_it_works, begin_kept, end_kept),
    };
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
