// SPDX-License-Identifier: MIT
/*
 * A sound raw log with records of every type, as agents and the exact engine write them, for those
 * who damage it: sound_log_fill makes `sound`, write_log writes `entries`.
 */
#ifndef HEADROOM_TESTS_SOUND_LOG_H
#define HEADROOM_TESTS_SOUND_LOG_H

#include "require.h"

#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MAX = 320, RECORD_BYTES = 2048 };

struct entry {
    uint32_t thread;
    _Alignas(8) unsigned char bytes[RECORD_BYTES];
};

static struct entry sound[RECORDS_MAX], entries[RECORDS_MAX];
static size_t sound_count, entries_count;

/* ---- a sound log ---------------------------------------------------------------------------- */

static inline void add(uint32_t thread, enum wire_type type, const void *record, size_t bytes)
{
    struct entry *entry = &sound[sound_count++];
    require(sound_count < RECORDS_MAX && bytes <= RECORD_BYTES);
    entry->thread = thread;
    memcpy(entry->bytes, record, bytes);
    struct wire_record *head = (struct wire_record *)entry->bytes;
    head->type = (uint16_t)type;
    head->bytes = (uint16_t)((bytes + 7) / 8 * 8);
}

#define ADD(thread, type, name, ...)                                                               \
    add(thread, type, &(struct name){__VA_ARGS__}, sizeof(struct name))

static inline void add_process(uint32_t process, uint32_t parent)
{
    _Alignas(8) char bytes[128] = {0};
    struct wire_process *record = (struct wire_process *)bytes;
    *record = (struct wire_process){.process = process,
                                    .parent = parent,
                                    .pid = 40 + process,
                                    .start_ns = 77,
                                    .exe_bytes = 10,
                                    .command_bytes = 7};
    memcpy(record->text, "/bin/true\0true\0x", 17);
    add(process, WIRE_PROCESS, bytes, sizeof *record + 24);
}

static inline void add_module(uint32_t process, uint32_t module, const char *path)
{
    _Alignas(8) char bytes[128] = {0};
    struct wire_module *record = (struct wire_module *)bytes;
    *record = (struct wire_module){.process = process,
                                   .module = module,
                                   .start = 0x500000 * (uint64_t)module,
                                   .end = 0x500000 * (uint64_t)module + 0x10000,
                                   .bias = 0x500000 * (uint64_t)module};
    strcpy(record->path, path);
    add(process, WIRE_MODULE, bytes, sizeof *record + 32);
}

static inline void add_tree(uint32_t thread)
{
    static const uint32_t flags[] = {0, 0, 0, WIRE_NODE_LEAF, WIRE_NODE_LEAF, WIRE_NODE_LEAF};
    static const uint32_t parents[] = {0, 0, 1, 2, 2, 1};
    for (uint32_t node = 1; node <= 5; node++)
        ADD(thread, WIRE_NODE, wire_node, .node = node, .parent = parents[node],
            .module = 1 + node % 2, .flags = flags[node], .vaddr = 0x2500 + 0x40 * (uint64_t)node);
}

static inline void add_waste(uint32_t thread)
{
    for (uint8_t i = 0; i < 6; i++) {
        ADD(thread, WIRE_SAMPLE, wire_sample, .kind = i % 3, .armed = 1, .bytes = 8, .node = 3,
            .weight = 1, .density = 0.3F, .trap_ns = 9000);
        ADD(thread, WIRE_TRAP, wire_trap, .weight = 1, .kind = i % 3, .verdict = i % 2, .bytes = 8,
            .watch_node = 3, .trap_node = 4, .samples = 2, .chance = 0.5F);
    }
}

static inline void add_reuse(uint32_t thread)
{
    static const uint32_t flags[] = {WIRE_REUSE_FORESEEN, 0,
                                     WIRE_REUSE_COUNTED,  WIRE_REUSE_LOST,
                                     WIRE_REUSE_OPEN,     WIRE_REUSE_STORE_FIRST};
    for (uint32_t i = 0; i < 6; i++) {
        ADD(thread, WIRE_SAMPLE, wire_sample, .kind = 3, .armed = i ? 1 : 2, .bytes = 8, .node = 3,
            .weight = 1, .density = 0.3F, .trap_ns = 9000);
        ADD(thread, WIRE_REUSE, wire_reuse, .use_node = 3, .reuse_node = i / 3 == 1 ? 0 : 4,
            .flags = flags[i], .traps = 1, .elapsed_ns = i ? 20000 * i : 0, .accesses = 40 * i,
            .weight = 1, .entry = 0.5F, .chance = 0.5F, .waited = i, .bytes = 8);
    }
    ADD(thread, WIRE_SAMPLE, wire_sample, .kind = 3, .bytes = 8, .node = 3, .weight = 1);
}

/* Two accesses, each touched by the other thread, and what is no meeting. */
static inline void add_meetings(uint32_t thread, uint32_t other)
{
    ADD(thread, WIRE_PUBLISHED, wire_published, .serial = 1, .node = 3, .line = 0x601040,
        .mask = 0xff, .weight = 1, .number = (uint16_t)thread, .kind = 2, .watched = 4);
    for (uint8_t fate = 0; fate < WIRE_FATES; fate++)
        ADD(thread, WIRE_MEETING, wire_meeting, .first_process = 1, .first_thread = other,
            .first_serial = 1, .line = 0x601040, .first_mask = 0xff, .second_mask = 0xff00,
            .gap_ns = 1000, .node = fate ? 0 : 4, .weight = 2, .number = (uint16_t)thread,
            .first_kind = 2, .second_kind = 7, .fate = fate);
}

static inline void add_histogram(uint32_t thread, uint32_t which)
{
    _Alignas(8) char bytes[128] = {0};
    struct wire_histogram *record = (struct wire_histogram *)bytes;
    *record = (struct wire_histogram){.which = which, .first = 8, .count = 4};
    for (unsigned i = 0; i < 4; i++)
        record->weights[i] = 100 * (i + 1);
    add(thread, WIRE_HISTOGRAM, bytes, sizeof *record + 4 * sizeof(double));
}

static inline void add_exact(uint32_t thread)
{
    for (uint32_t kind = 0; kind < 3; kind++)
        ADD(thread, WIRE_PAIR, wire_pair, .kind = kind, .first = 3, .second = 4, .waste_bytes = 80,
            .use_bytes = 20);
    ADD(thread, WIRE_TOTALS, wire_totals, .threads = 1, .loads = 900, .stores = 800,
        .load_bytes = 7200, .store_bytes = 6400, .instructions = 4000, .cpu_ns = 1000000);
    ADD(thread, WIRE_REUSE_PAIR, wire_reuse_pair, .use = 3, .reuse = 4, .count = 50, .weight = 50,
        .time = 5000, .time_squares = 600000, .stack = 100, .stack_squares = 300);
    add_histogram(thread, 0);
    add_histogram(thread, 1);
    ADD(thread, WIRE_REUSE_TOTALS, wire_reuse_totals, .unit_bytes = 64, .stack = 1,
        .share_first = 1, .share_last = 1, .accesses = 1700, .reuses = 1500, .locations = 200,
        .never_reused = 20, .kept_accesses = 1700, .kept_locations = 200);
    ADD(thread, WIRE_WHAT_IF, wire_what_if, .bytes = 32768, .ways = 8, .line_bytes = 64,
        .accesses = 1700, .misses = 300);
}

static inline void add_paths(uint32_t thread)
{
    ADD(thread, WIRE_PATH_VERTEX, wire_path_vertex, .vertex = 1, .module = 1, .entry = 0x2500,
        .count = 3);
    ADD(thread, WIRE_PATH_VERTEX, wire_path_vertex, .vertex = 2, .parent = 1, .module = 1,
        .has_site = 1, .entry = 0x2500, .site = 0x2540, .site_module = 1, .count = 7);
    static const uint32_t kinds[] = {WIRE_PATH_ENTRY, WIRE_PATH_NEXT,      WIRE_PATH_EXIT,
                                     WIRE_PATH_CUT,   WIRE_PATH_AFTER_CUT, WIRE_PATH_EXIT};
    static const uint32_t parents[] = {0, 1, 2, 2, 0, 5};
    for (uint32_t i = 0; i < 6; i++)
        ADD(thread, WIRE_PATH_STATE, wire_path_state, .state = i + 1, .parent = parents[i],
            .vertex = 1 + i / 4, .block = i % 3, .kind = kinds[i], .count = 9, .misses = 2);
    ADD(thread, WIRE_PATH_TOTALS, wire_path_totals, .contexts = 1, .sites = 1, .cache_bytes = 49152,
        .cache_ways = 12, .line_bytes = 64, .misses = 90, .lost_misses = 1,
        .elsewhere_instructions = 5, .elsewhere_loads = 4, .elsewhere_stores = 3,
        .elsewhere_misses = 2);
}

/* Two instructions, of which the first loads, twice. */
static inline void add_executed(uint32_t thread)
{
    static const struct wire_executed_access access = {.bytes = 8};
    static const uint8_t lengths[] = {3, 2}, code[] = {0x48, 0x8b, 0x3f, 0xeb, 0xfb};
    _Alignas(8) char bytes[128] = {0};
    struct wire_executed_code *piece = (struct wire_executed_code *)bytes;
    *piece = (struct wire_executed_code){.code = 1,
                                         .module = 1,
                                         .vaddr = 0x2500,
                                         .instructions = 2,
                                         .code_bytes = sizeof code,
                                         .accesses = 1};
    memcpy(piece->data, &access, sizeof access);
    memcpy(piece->data + sizeof access, lengths, sizeof lengths);
    memcpy(piece->data + sizeof access + sizeof lengths, code, sizeof code);
    add(thread, WIRE_EXECUTED_CODE, bytes,
        (sizeof *piece + sizeof access + sizeof lengths + sizeof code + 7) & ~(size_t)7);
    ADD(thread, WIRE_EXECUTED_WINDOW, wire_executed_window, .window = 1, .module = 1,
        .head = 0x2500, .execution = 1, .executions = 2, .thread = 1, .words = 4);
    memset(bytes, 0, sizeof bytes);
    struct wire_executed_steps *steps = (struct wire_executed_steps *)bytes;
    *steps = (struct wire_executed_steps){.window = 1, .count = 4};
    for (unsigned i = 0; i < 4; i += 2) {
        steps->words[i] = WIRE_EXECUTED_PIECE | 1;
        steps->words[i + 1] = 0x601040 + 8 * i;
    }
    add(thread, WIRE_EXECUTED_STEPS, bytes, sizeof *steps + 4 * sizeof *steps->words);
}

static inline void sound_log_fill(void)
{
    for (uint32_t thread = 1; thread <= 2; thread++) {
        add_process(thread, thread == 1 ? WIRE_NONE : 1);
        add_module(thread, 1, "/bin/true"); /* small, and its code can be read */
        add_module(thread, 2, "/x/gone");
        ADD(thread, WIRE_THREAD, wire_thread, .process = thread, .thread = thread,
            .pid = 40 + thread, .tid = 40 + thread, .name = "true");
        add_tree(thread);
    }
    add_waste(1);
    add_reuse(1);
    add_meetings(1, 1);
    add_exact(2);
    add_paths(2);
    add_executed(2);
    ADD(1, WIRE_COUNTERS, wire_counters_record, .process = 1, .thread = 1, .pid = 41, .tid = 41,
        .cpu_ns = 5000000,
        .counters = {
            .attempted = 20, .stored = 19, .samples = {2, 2, 2, 7}, .traps = {2, 2, 2, 4}});
}

/* Each record in a frame of its own, as far as it passes its check. */
static inline void write_log(const char *path, const struct wire_config *config)
{
    FILE *file = fopen(path, "w");
    struct wire_log_header header = {WIRE_LOG_MAGIC, WIRE_VERSION, sizeof header, *config};
    require(file && fwrite(&header, sizeof header, 1, file) == 1);
    for (uint32_t i = 0; i < entries_count; i++) {
        struct wire_record *record = (struct wire_record *)entries[i].bytes;
        if (record->type == 0)
            continue;
        record->checksum = wire_checksum(record);
        struct wire_frame frame = {.magic = WIRE_FRAME_MAGIC,
                                   .payload_bytes = record->bytes,
                                   .process = entries[i].thread,
                                   .thread = entries[i].thread,
                                   .pid = 40 + entries[i].thread,
                                   .sequence = record->type == WIRE_COUNTERS ? WIRE_NONE : i};
        if (wire_record_check(record, RECORD_BYTES) != BASE_OK)
            continue;
        frame.checksum = wire_frame_checksum(&frame, record);
        require(fwrite(&frame, sizeof frame, 1, file) == 1 &&
                fwrite(record, record->bytes, 1, file) == 1);
    }
    require(fclose(file) == 0);
}

#endif
