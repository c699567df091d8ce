// SPDX-License-Identifier: MIT
/*
 * Raw logs made by the agent's own writer, imported and read back. The symbols come
 * from a program that does not exist: the binary_* functions here and in no_code.h stand in
 * for the real ones, so that every name is known beforehand.
 */
#include "no_code.h"
#include "detect/detect.h"
#include "distance/distance.h"
#include "import/import.h"
#include "estimate/estimate.h"
#include "profile/profile.h"
#include "mrc/mrc.h"
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- a program's symbols -------------------------------------------------------------------- */

struct binary {
    uint64_t last; /* look-ups must come in order */
};

static unsigned modules_opened, look_ups;

enum base_status binary_open(const char *path, const struct binary_options *options,
                             struct binary **binary)
{
    static struct binary only;
    modules_opened++;
    if (strcmp(path, "/bin/prog") != 0)
        return BASE_NOT_FOUND;
    only.last = 0;
    *binary = &only;
    return BASE_OK;
}

const char *binary_debug_file(const struct binary *binary)
{
    return NULL;
}

size_t binary_build_id(const struct binary *binary, uint8_t id[BINARY_BUILD_ID_BYTES])
{
    memset(id, 0x5a, 20);
    return 20;
}

/* 0x1000..: main; 0x2000..: work; 0x3000..: leaf, inlined into around. A line a byte. */
size_t binary_frames(struct binary *binary, uint64_t vaddr, struct binary_frame *frames,
                     size_t capacity)
{
    assert_true(vaddr >= binary->last);
    binary->last = vaddr;
    look_ups++;
    uint32_t line = (uint32_t)(vaddr & 0xfff);
    switch (vaddr >> 12) {
    case 1:
        frames[0] = (struct binary_frame){"main", "main", "/src/main.c", line, 1, 0, false};
        break;
    case 2:
        frames[0] = (struct binary_frame){"work", "work", "/src/work.c", line, 1, 0, false};
        break;
    case 3:
        frames[0] = (struct binary_frame){"leaf", NULL, "/src/leaf.h", line, 1, 0, true};
        frames[1] = (struct binary_frame){"around", "around", "/src/work.c", 900, 1, 0, false};
        return 2;
    default: return 0;
    }
    return 1;
}

/* ---- a log ----------------------------------------------------------------------------------- */

struct log {
    struct wire_region *region;
    FILE *file;
    char path[64], profile[80];
    uint64_t corrupt, frames;
};

static struct wire_config config = {.kinds = 7,
                                    .source = WIRE_SOURCE_CLOCK,
                                    .interval_ns = 5000000,
                                    .fp_tolerance = 0.01F,
                                    .registers = 4,
                                    .watch_kernel = 1};

static bool sink(void *context, const struct wire_frame *frame, const void *payload)
{
    struct log *log = context;
    log->frames++;
    return fwrite(frame, sizeof *frame, 1, log->file) == 1 &&
           fwrite(payload, frame->payload_bytes, 1, log->file) == 1;
}

static void log_begin(struct log *log)
{
    *log = (struct log){0};
    log->region =
        mmap(NULL, sizeof *log->region, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(log->region != MAP_FAILED);
    wire_region_init(log->region, &config);
    strcpy(log->path, "/tmp/headroom-import-XXXXXX");
    log->file = fdopen(mkstemp(log->path), "w");
    assert_non_null(log->file);
    snprintf(log->profile, sizeof log->profile, "%s.headroom", log->path);
    struct wire_log_header header = {WIRE_LOG_MAGIC, WIRE_VERSION, sizeof header, config};
    assert_int_equal(fwrite(&header, sizeof header, 1, log->file), 1);
}

static void drain(struct log *log)
{
    assert_true(wire_drain(log->region, sink, log, &log->corrupt));
    assert_int_equal(fflush(log->file), 0);
}

static void log_free(struct log *log)
{
    char old[96];
    fclose(log->file);
    munmap(log->region, sizeof *log->region);
    snprintf(old, sizeof old, "%s.old", log->profile);
    unlink(log->path);
    unlink(log->profile);
    unlink(old);
}

struct thread {
    struct wire_writer writer;
    struct wire_thread_slot *slot;
};

static struct thread thread_begin(struct log *log, uint32_t process, uint32_t pid)
{
    struct thread thread = {.slot = wire_thread_begin(log->region, process, pid, pid)};
    thread.writer = (struct wire_writer){.region = log->region,
                                         .chunk = WIRE_NONE,
                                         .process = process,
                                         .thread = thread.slot->thread,
                                         .pid = pid};
    struct wire_thread record = {.record = {.type = WIRE_THREAD, .bytes = sizeof record},
                                 .process = process,
                                 .thread = thread.slot->thread,
                                 .pid = pid,
                                 .tid = pid,
                                 .name = "worker"};
    assert_true(wire_write(&thread.writer, &record.record));
    return thread;
}

static void thread_end(struct log *log, struct thread *thread)
{
    wire_close(&thread->writer);
    thread->slot->cpu_ns = 1000000;
    atomic_store(&thread->slot->state, WIRE_SLOT_ENDED);
    drain(log);
}

static void log_process(struct thread *thread, uint32_t parent, bool forked)
{
    _Alignas(8) char buffer[256] = {0};
    struct wire_process *record = (struct wire_process *)buffer;
    *record = (struct wire_process){.record = {.type = WIRE_PROCESS, .bytes = 96},
                                    .process = thread->writer.process,
                                    .parent = parent,
                                    .pid = thread->writer.pid,
                                    .start_ns = 77,
                                    .forked = forked,
                                    .exe_bytes = 10,
                                    .command_bytes = 12};
    memcpy(record->text, "/bin/prog\0prog\0an arg", 22);
    assert_true(wire_write(&thread->writer, &record->record));
}

static void log_module(struct thread *thread, uint32_t module, const char *path)
{
    _Alignas(8) char buffer[512] = {0};
    struct wire_module *record = (struct wire_module *)buffer;
    *record = (struct wire_module){.record = {.type = WIRE_MODULE, .bytes = sizeof *record + 64},
                                   .process = thread->writer.process,
                                   .module = module,
                                   .device = 1,
                                   .inode = 2};
    strcpy(record->path, path);
    assert_true(wire_write(&thread->writer, &record->record));
}

static void log_node(struct thread *thread, uint32_t node, uint32_t parent, uint32_t module,
                     uint64_t vaddr, uint32_t flags)
{
    struct wire_node record = {.record = {.type = WIRE_NODE, .bytes = sizeof record},
                               .node = node,
                               .parent = parent,
                               .module = module,
                               .flags = flags,
                               .vaddr = vaddr};
    assert_true(wire_write(&thread->writer, &record.record));
}

static void log_sample(struct thread *thread, uint8_t kind, uint32_t node, bool armed)
{
    struct wire_sample record = {.record = {.type = WIRE_SAMPLE, .bytes = sizeof record},
                                 .kind = kind,
                                 .armed = armed,
                                 .bytes = 8,
                                 .node = node,
                                 .weight = 1};
    assert_true(wire_write(&thread->writer, &record.record));
    thread->slot->counters.attempted++;
    thread->slot->counters.stored++;
    thread->slot->counters.samples[kind]++;
    thread->slot->counters.armed[kind] += armed;
}

static void log_trap(struct thread *thread, uint8_t kind, bool waste, uint32_t first,
                     uint32_t second, float samples, uint32_t flags)
{
    struct wire_trap record = {.record = {.type = WIRE_TRAP, .bytes = sizeof record},
                               .weight = 1,
                               .kind = kind,
                               .verdict = waste ? DETECT_WASTE : DETECT_USE,
                               .bytes = 8,
                               .watch_node = first,
                               .trap_node = second,
                               .samples = samples,
                               .flags = flags};
    assert_true(wire_write(&thread->writer, &record.record));
    thread->slot->counters.traps[kind]++;
}

/* Node 1: main, called from nowhere; 2: work at a return address; 3, 4: leaves. */
static void log_contexts(struct thread *thread)
{
    log_module(thread, 1, "/bin/prog");
    log_node(thread, 1, 0, 1, 0x1028, 0);
    log_node(thread, 2, 1, 1, 0x2010, 0);
    log_node(thread, 3, 2, 1, 0x3007, WIRE_NODE_LEAF);
    log_node(thread, 4, 1, 1, 0x2022, WIRE_NODE_LEAF);
}

static struct profile *import_and_read(struct log *log, const struct import_run *run)
{
    char error[512] = "";
    struct profile *profile = NULL;
    struct binary_options symbols = {0};
    enum base_status status =
        import_log(log->path, run, &symbols, log->profile, NULL, NULL, error, sizeof error);
    if (status != BASE_OK)
        print_error("%s\n", error);
    assert_int_equal(status, BASE_OK);
    assert_int_equal(profile_read(log->profile, &profile, error, sizeof error), BASE_OK);
    return profile;
}

static const struct profile_frame *frame_of(const struct profile *profile, uint32_t context,
                                            unsigned out)
{
    while (out--)
        context = profile->contexts[context].parent;
    return &profile->frames[profile->contexts[context].frame];
}

static bool is_degraded(const struct profile *profile, const char *part)
{
    for (size_t i = 0; i < profile->degraded_count; i++)
        if (strstr(profile->degraded[i].text, part))
            return true;
    return false;
}

static uint64_t dropped(const struct profile *profile, const char *reason)
{
    for (size_t i = 0; i < profile->drops_count; i++)
        if (strcmp(profile->drops[i].reason, reason) == 0)
            return profile->drops[i].count;
    return 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void one_thread_one_pair(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread thread = thread_begin(&log, 1, 100);
    log_process(&thread, WIRE_NONE, false);
    log_contexts(&thread);
    log_sample(&thread, DETECT_DEAD, 3, true);
    log_sample(&thread, DETECT_DEAD, 3, false);
    log_trap(&thread, DETECT_DEAD, true, 3, 4, 2, WIRE_TRAP_LIKELY);
    log_trap(&thread, DETECT_DEAD, false, 3, 4, 3, WIRE_TRAP_KERNEL);
    thread.slot->counters.attempted += 5;
    thread.slot->counters.dropped[WIRE_DROP_KERNEL] = 5;
    thread.slot->counters.blind_longest[DETECT_DEAD] = 1;
    thread_end(&log, &thread);
    char *command[] = {"prog", "x y", NULL};
    const char *degraded[] = {"no such luck", NULL};
    struct import_run run = {.verb = "waste",
                             .engine = "live",
                             .command = command,
                             .exited = true,
                             .exit_code = 3,
                             .wall_s = 2,
                             .cpu_s = 1.5,
                             .start_ns = 5,
                             .degraded = degraded,
                             .corrupt_records = 1};
    struct profile *profile = import_and_read(&log, &run);
    assert_int_equal(profile->pairs_count, 1);
    const struct profile_pair *pair = &profile->pairs[0];
    assert_true(pair->waste_bytes == 16 && pair->waste_squares == 256);
    assert_true(pair->use_bytes == 24 && pair->use_squares == 576 && pair->samples == 5);
    assert_int_equal(pair->waste_traps, 1);
    assert_int_equal(pair->likely_traps, 1);
    assert_int_equal(pair->kernel_traps, 1);
    /* The leaf is looked up where it is, callers one byte before their return address. */
    assert_string_equal(frame_of(profile, pair->first, 0)->function, "leaf");
    assert_int_equal(frame_of(profile, pair->first, 0)->line, 7);
    assert_true(frame_of(profile, pair->first, 0)->flags & PROFILE_FRAME_INLINED);
    assert_string_equal(frame_of(profile, pair->first, 1)->function, "around");
    assert_false(frame_of(profile, pair->first, 1)->flags & PROFILE_FRAME_INLINED);
    assert_string_equal(frame_of(profile, pair->first, 2)->function, "work");
    assert_int_equal(frame_of(profile, pair->first, 2)->line, 0x00f);
    assert_int_equal(frame_of(profile, pair->first, 2)->address, 0x2010);
    assert_string_equal(frame_of(profile, pair->first, 3)->function, "main");
    assert_int_equal(frame_of(profile, pair->first, 3)->line, 0x27);
    assert_string_equal(frame_of(profile, pair->second, 0)->function, "work");
    assert_int_equal(frame_of(profile, pair->second, 0)->line, 0x22);
    assert_int_equal(profile->run.attempted, 7);
    assert_int_equal(profile->run.stored, 2);
    assert_int_equal(dropped(profile, "kernel"), 5);
    assert_int_equal(profile->drops_count, 1);
    assert_int_equal(profile->kinds_count, 3);
    assert_int_equal(profile->kinds[0].samples, 2);
    assert_int_equal(profile->kinds[0].armed, 1);
    assert_int_equal(profile->kinds[0].traps, 2);
    assert_int_equal(profile->kinds[0].blind_longest, 1);
    assert_int_equal(profile->modules[1].build_id_bytes, 20);
    assert_int_equal(profile->run.exit_code, 3);
    assert_string_equal(profile->arguments[1].text, "x y");
    assert_string_equal(profile->threads[0].name, "worker");
    assert_true(is_degraded(profile, "no such luck"));
    assert_true(is_degraded(profile, "1 damaged record was left out"));
    assert_string_equal(profile->run.source, "clock");
    assert_string_equal(profile->run.weighting, "cpu-time");
    assert_int_equal(profile->run.interval_ns, 5000000);
    profile_free(profile);
    log_free(&log);
}

/* The same places under other node ids, in another thread and another process. */
static void threads_and_processes_are_merged(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread a = thread_begin(&log, 1, 100);
    struct thread b = thread_begin(&log, 1, 100);
    struct thread c = thread_begin(&log, 2, 101);
    log_process(&a, WIRE_NONE, false);
    log_process(&c, 1, true);
    log_contexts(&a);
    log_node(&b, 9, 0, 1, 0x1028, 0); /* module 1 was logged by thread a */
    log_node(&b, 5, 9, 1, 0x2010, 0);
    log_node(&b, 2, 5, 1, 0x3007, WIRE_NODE_LEAF);
    log_node(&b, 7, 9, 1, 0x2022, WIRE_NODE_LEAF);
    log_module(&c, 4, "/bin/prog");
    log_node(&c, 1, 0, 4, 0x1028, 0);
    log_node(&c, 2, 1, 4, 0x2022, WIRE_NODE_LEAF);
    log_node(&c, 3, 1, 4, 0x2010, 0);
    log_node(&c, 4, 3, 4, 0x3007, WIRE_NODE_LEAF);
    log_trap(&a, DETECT_DEAD, true, 3, 4, 1, 0);
    log_trap(&b, DETECT_DEAD, true, 2, 7, 1, 0);
    log_trap(&c, DETECT_DEAD, true, 4, 2, 1, 0);
    thread_end(&log, &a);
    thread_end(&log, &b);
    thread_end(&log, &c);
    look_ups = 0;
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->pairs_count, 1);
    assert_true(profile->pairs[0].waste_bytes == 24 && profile->pairs[0].waste_traps == 3);
    assert_int_equal(profile->modules_count, 2);
    assert_int_equal(look_ups, 4);
    assert_int_equal(profile->run.processes, 2);
    assert_int_equal(profile->run.threads, 3);
    assert_string_equal(profile->arguments[0].text, "prog"); /* from the PROCESS record */
    assert_string_equal(profile->arguments[1].text, "an arg");
    assert_true(profile->run.wall_s < 0);
    assert_float_equal(profile->run.cpu_s, 0.003, 1e-9);
    profile_free(profile);
    log_free(&log);
}

/* A node that this thread never logged is unknown, also when another thread used its id. */
static void node_ids_are_the_threads_own(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread a = thread_begin(&log, 1, 100), b = thread_begin(&log, 1, 101);
    log_contexts(&a);
    log_trap(&a, DETECT_DEAD, true, 3, 4, 1, 0);
    log_trap(&b, DETECT_DEAD, true, 3, 4, 1, 0);
    thread_end(&log, &a);
    thread_end(&log, &b);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->pairs_count, 2);
    assert_int_equal(profile->pairs[0].first, 0);
    assert_int_equal(profile->run.corrupt_records, 2);
    profile_free(profile);
    log_free(&log);
}

/* Of contexts that are deeper than a profile may be the outer callers are left out, and that is
 * told. */
static void too_deep_contexts_are_cut(void **state)
{
    enum { NODES = PROFILE_DEPTH_MAX + 100 };
    struct log log;
    log_begin(&log);
    struct thread a = thread_begin(&log, 1, 100);
    log_process(&a, UINT32_MAX, false);
    log_module(&a, 1, "/bin/prog");
    for (uint32_t i = 1; i < NODES; i++) {
        log_node(&a, i, i - 1, 1, 0x1000 + i % 0xf00, 0);
        if (i % 100 == 0)
            drain(&log);
    }
    log_node(&a, NODES, NODES - 1, 1, 0x3007, WIRE_NODE_LEAF);
    log_trap(&a, DETECT_DEAD, true, NODES, PROFILE_DEPTH_MAX, 1, 0);
    thread_end(&log, &a);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->pairs_count, 1);
    assert_int_equal(profile_depth(profile), PROFILE_DEPTH_MAX);
    uint32_t context = profile->pairs[0].first, outermost = 0;
    assert_string_equal(frame_of(profile, context, 0)->function, "leaf");
    assert_string_equal(frame_of(profile, context, 2)->function, "main");
    for (unsigned depth = 0; context; context = profile->contexts[context].parent, depth++)
        outermost = profile->contexts[context].frame;
    assert_int_equal(profile->frames[outermost].flags, PROFILE_FRAME_INCOMPLETE);
    profile_free(profile);
    log_free(&log);
}

static void a_forked_child_uses_its_parents_modules(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread parent = thread_begin(&log, 1, 100), child = thread_begin(&log, 2, 101);
    log_process(&parent, WIRE_NONE, false);
    log_process(&child, 1, true);
    log_contexts(&parent);
    log_node(&child, 1, 0, 1, 0x1028, WIRE_NODE_LEAF);
    log_trap(&child, DETECT_LOAD, true, 1, 1, 1, 0);
    thread_end(&log, &parent);
    thread_end(&log, &child);
    struct profile *profile = import_and_read(&log, NULL);
    assert_string_equal(frame_of(profile, profile->pairs[0].first, 0)->function, "main");
    profile_free(profile);
    log_free(&log);
}

static void exec_continues_the_process(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread shell = thread_begin(&log, 1, 100), program = thread_begin(&log, 2, 100);
    log_process(&shell, WIRE_NONE, false);
    log_process(&program, 1, false);
    thread_end(&log, &shell);
    thread_end(&log, &program);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.processes, 1);
    assert_int_equal(profile->run.threads, 1);
    assert_int_equal(profile->processes_count, 2);
    profile_free(profile);
    log_free(&log);
}

static void unknown_modules_keep_name_and_offset(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread thread = thread_begin(&log, 1, 100);
    log_module(&thread, 1, "/gone/libsecret.so");
    log_node(&thread, 1, 0, 1, 0x123, WIRE_NODE_LEAF | WIRE_NODE_BROKEN);
    log_node(&thread, 2, 0, 0, 0x7fff0000, WIRE_NODE_LEAF | WIRE_NODE_KERNEL);
    log_trap(&thread, DETECT_SILENT, true, 1, 2, 1, 0);
    thread_end(&log, &thread);
    struct profile *profile = import_and_read(&log, NULL);
    const struct profile_frame *first = frame_of(profile, profile->pairs[0].first, 0);
    const struct profile_frame *second = frame_of(profile, profile->pairs[0].second, 0);
    assert_null(first->function);
    assert_string_equal(profile->modules[first->module].path, "/gone/libsecret.so");
    assert_int_equal(first->address, 0x123);
    assert_int_equal(first->flags, PROFILE_FRAME_INCOMPLETE);
    assert_int_equal(second->module, 0);
    assert_int_equal(second->flags, PROFILE_FRAME_KERNEL);
    assert_true(is_degraded(profile, "libsecret.so could not be read"));
    profile_free(profile);
    log_free(&log);
}

/* ---- accounts -------------------------------------------------------------------------------- */

static void killed_in_mid_sample_is_unfinished(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread threads[3];
    for (unsigned i = 0; i < 3; i++) {
        threads[i] = thread_begin(&log, 1, 100 + i);
        log_contexts(&threads[i]);
        log_sample(&threads[i], DETECT_DEAD, 3, true);
        threads[i].slot->counters.attempted += i < 2;
        thread_end(&log, &threads[i]);
    }
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.attempted, 5);
    assert_int_equal(profile->run.stored, 3);
    assert_int_equal(dropped(profile, "unfinished"), 2);
    assert_false(is_degraded(profile, "add up"));
    profile_free(profile);
    log_free(&log);
}

static void counters_that_do_not_add_up_are_told(void **state)
{
    for (int direction = -1; direction <= 1; direction += 2) {
        struct log log;
        log_begin(&log);
        struct thread thread = thread_begin(&log, 1, 100);
        log_contexts(&thread);
        for (unsigned i = 0; i < 10; i++)
            log_sample(&thread, DETECT_DEAD, 3, true);
        thread.slot->counters.attempted += (uint64_t)(direction * 4);
        thread.slot->counters.hops = UINT64_MAX; /* scribbled over */
        thread_end(&log, &thread);
        struct profile *profile = import_and_read(&log, NULL);
        assert_int_equal(profile->run.attempted, direction < 0 ? 10 : 14);
        assert_int_equal(dropped(profile, "unfinished"), direction < 0 ? 0 : 4);
        assert_true(is_degraded(profile, "1 thread do not add up"));
        profile_free(profile);
        log_free(&log);
    }
}

/* One of fifty is what a short run may happen to have; ten of fifty are not, nor are two in a hundred of many. */
static void incomplete_contexts_are_told_where_they_are_many(void **state)
{
    static const struct {
        unsigned samples, broken;
        bool is_told;
    } cases[] = {
        {50, 0, false}, {50, 1, false}, {50, 10, true}, {1000, 9, false}, {1000, 20, true}};
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct log log;
        log_begin(&log);
        struct thread thread = thread_begin(&log, 1, 100);
        log_contexts(&thread);
        for (unsigned n = 0; n < cases[i].samples; n++)
            log_sample(&thread, DETECT_DEAD, 3, true);
        thread.slot->counters.broken_stacks = cases[i].broken;
        thread_end(&log, &thread);
        struct profile *profile = import_and_read(&log, NULL);
        assert_int_equal(is_degraded(profile, "outer callers are missing"), cases[i].is_told);
        profile_free(profile);
        log_free(&log);
    }
}

static void lost_counters_are_rebuilt_from_records(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    log_sample(&thread, DETECT_LOAD, 3, true);
    log_sample(&thread, DETECT_LOAD, 3, false);
    log_trap(&thread, DETECT_LOAD, true, 3, 3, 2, 0);
    wire_close(&thread.writer);
    drain(&log); /* the slot never ends: headroom itself was killed */
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.attempted, 2);
    assert_int_equal(profile->run.stored, 2);
    assert_int_equal(profile->kinds[PROFILE_LOAD].samples, 2);
    assert_int_equal(profile->kinds[PROFILE_LOAD].armed, 1);
    assert_int_equal(profile->kinds[PROFILE_LOAD].traps, 1);
    assert_true(is_degraded(profile, "the counters of 1 thread were lost"));
    profile_free(profile);
    log_free(&log);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void nonsense_records_are_counted(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    log_trap(&thread, DETECT_DEAD, true, 3, 4, NAN, 0);
    log_trap(&thread, DETECT_DEAD, true, 3, 4, -1, 0);
    log_trap(&thread, DETECT_DEAD, true, 3, 4, INFINITY, 0);
    log_trap(&thread, DETECT_DEAD, true, 3, 4000, 1, 0); /* place unknown, still counts */
    log_node(&thread, 0x7fffffff, 0, 1, 0x1028, 0);
    log_node(&thread, 0, 0, 1, 0x1028, 0);
    log_node(&thread, 8, 4001, 1, 0x1050, WIRE_NODE_LEAF); /* callers lost */
    log_trap(&thread, DETECT_DEAD, false, 8, 8, 1, 0);
    memset(thread.slot->counters.traps, 0, sizeof thread.slot->counters.traps);
    struct wire_trap wild = {.record = {.type = WIRE_TRAP, .bytes = sizeof wild},
                             .kind = 9,
                             .verdict = DETECT_WASTE,
                             .bytes = 8,
                             .samples = 1};
    assert_true(wire_write(&thread.writer, &wild.record));
    thread_end(&log, &thread);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.corrupt_records, 7);
    assert_int_equal(profile->pairs_count, 2);
    assert_true(profile->kinds[0].waste_bytes == 8 && profile->kinds[0].use_bytes == 8);
    const struct profile_pair *use = &profile->pairs[profile->pairs[0].use_traps ? 0 : 1];
    assert_int_equal(frame_of(profile, use->first, 0)->flags, PROFILE_FRAME_INCOMPLETE);
    profile_free(profile);
    log_free(&log);
}

/* Many chunks, drained now and then; frames out of order, one lost, garbage between. */
static void frames_are_ordered_and_gaps_counted(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    for (unsigned i = 0; i < 3000; i++) {
        log_trap(&thread, DETECT_DEAD, i % 4 == 0, 3, 4, 1, 0);
        if (i % 700 == 0)
            drain(&log);
    }
    thread_end(&log, &thread);
    assert_true(log.frames > 10);

    long size = ftell(log.file);
    unsigned char *content = malloc((size_t)size);
    FILE *whole = fopen(log.path, "r");
    assert_int_equal(fread(content, 1, (size_t)size, whole), size);
    fclose(whole);
    size_t starts[64], lengths[64], count = 0;
    for (size_t at = sizeof(struct wire_log_header); at < (size_t)size; at += lengths[count++]) {
        starts[count] = at;
        assert_int_equal(wire_frame_check(content + at, (size_t)size - at, &lengths[count]),
                         BASE_OK);
    }
    uint64_t traps_lost = 0;
    FILE *shuffled = fopen(log.path, "w");
    fwrite(content, sizeof(struct wire_log_header), 1, shuffled);
    for (size_t i = count; i-- > 0;) {
        struct wire_frame frame;
        memcpy(&frame, content + starts[i], sizeof frame);
        /* A whole chunk, and one of the batches of another. */
        if (frame.sequence == 5 || (frame.sequence == 3 && frame.offset == 0)) {
            traps_lost += frame.payload_bytes / sizeof(struct wire_trap);
            continue;
        }
        fwrite(content + starts[i], lengths[i], 1, shuffled);
        if (i == 3)
            fputs("garbage, HFRM", shuffled);
        if (i == 4)
            fwrite(content + starts[i], lengths[i], 1, shuffled); /* twice */
    }
    fclose(shuffled);
    free(content);
    assert_true(traps_lost > 0);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->pairs_count, 1);
    assert_int_equal(profile->pairs[0].waste_traps + profile->pairs[0].use_traps,
                     3000 - traps_lost);
    assert_true(is_degraded(profile, "2 pieces of the log could not be found"));
    assert_true(profile->run.corrupt_records >= 2);
    profile_free(profile);
    log_free(&log);
}

static void any_cut_and_any_flip_is_survived(void **state)
{
    struct log log;
    char error[512];
    log_begin(&log);
    struct thread thread = thread_begin(&log, 1, 100);
    log_process(&thread, WIRE_NONE, false);
    log_contexts(&thread);
    for (unsigned i = 0; i < 20; i++) {
        log_sample(&thread, DETECT_DEAD, 3, true);
        log_trap(&thread, DETECT_DEAD, true, 3, 4, 1, 0);
        drain(&log);
    }
    thread_end(&log, &thread);
    long size = ftell(log.file);
    unsigned char *content = malloc((size_t)size);
    FILE *whole = fopen(log.path, "r");
    assert_int_equal(fread(content, 1, (size_t)size, whole), size);
    fclose(whole);
    struct base_random random = {7};
    unsigned imported = 0, refused = 0;
    for (unsigned round = 0; round < 300; round++) {
        size_t bytes =
            round % 2 ? (size_t)size : (size_t)base_random_below(&random, (uint64_t)size);
        FILE *damaged = fopen(log.path, "w");
        size_t at = (size_t)base_random_below(&random, (uint64_t)size);
        content[at] ^= round % 2 ? 0x10 : 0;
        fwrite(content, bytes, 1, damaged);
        content[at] ^= round % 2 ? 0x10 : 0;
        fclose(damaged);
        struct profile *profile = NULL;
        error[0] = 0;
        enum base_status status =
            import_log(log.path, NULL, NULL, log.profile, NULL, NULL, error, sizeof error);
        if (status == BASE_OK) {
            imported++;
            assert_int_equal(profile_read(log.profile, &profile, error, sizeof error), BASE_OK);
            profile_free(profile);
        } else {
            refused++;
            assert_true(bytes < sizeof(struct wire_log_header) ||
                        at < sizeof(struct wire_log_header));
            assert_true(error[0]);
        }
    }
    assert_true(imported > 100 && refused > 0);
    free(content);
    log_free(&log);
}

static void other_files_are_no_logs(void **state)
{
    char error[512] = "";
    assert_int_equal(import_log("/nowhere/log", NULL, NULL, "/tmp/x", NULL, NULL, error, 512),
                     BASE_NOT_FOUND);
    assert_true(error[0]);
    assert_int_equal(import_log("/proc/self/exe", NULL, NULL, "/tmp/x", NULL, NULL, error, 512),
                     BASE_MALFORMED);
    struct log log;
    log_begin(&log);
    uint32_t newer = WIRE_VERSION + 1;
    fseek(log.file, 8, SEEK_SET);
    fwrite(&newer, sizeof newer, 1, log.file);
    fflush(log.file);
    assert_int_equal(import_log(log.path, NULL, NULL, log.profile, NULL, NULL, error, 512),
                     BASE_TOO_NEW);
    assert_int_equal(access(log.profile, F_OK), -1);
    log_free(&log);
}

/* ---- the exact engine ------------------------------------------------------------------------ */

static void exact_begin(struct log *log, uint32_t kinds)
{
    struct wire_config before = config;
    config = (struct wire_config){.kinds = kinds, .fp_tolerance = 0.01F, .follow = 1};
    log_begin(log);
    config = before;
}

/* A process image writes as one thread, whose id is its own. */
static struct thread image_begin(struct log *log, uint32_t process, uint32_t pid, uint32_t parent,
                                 bool forked, uint32_t ppid, uint64_t start_ns)
{
    _Alignas(8) char buffer[128] = {0};
    struct wire_process *record = (struct wire_process *)buffer;
    struct thread thread = {.writer = {.region = log->region,
                                       .chunk = WIRE_NONE,
                                       .process = process,
                                       .thread = process,
                                       .pid = pid}};
    *record = (struct wire_process){.record = {.type = WIRE_PROCESS, .bytes = 96},
                                    .process = process,
                                    .parent = parent,
                                    .pid = pid,
                                    .ppid = ppid,
                                    .start_ns = start_ns,
                                    .forked = forked,
                                    .exe_bytes = 10,
                                    .command_bytes = 9};
    memcpy(record->text, "/bin/prog\0", 10);
    memcpy(record->text + 10, "prog\0", 5);
    snprintf(record->text + 15, 7, "%u", pid);
    assert_true(wire_write(&thread.writer, &record->record));
    return thread;
}

static void write_record(struct thread *thread, void *record, uint16_t type, size_t bytes)
{
    struct wire_record *head = record;
    head->type = type;
    head->bytes = (uint16_t)bytes;
    assert_true(wire_write(&thread->writer, head));
}

#define WRITE(thread, type, name, ...)                                                             \
    do {                                                                                           \
        struct wire_##name written = {__VA_ARGS__};                                                \
        write_record(thread, &written, type, sizeof written);                                      \
    } while (0)

static void log_totals(struct thread *thread, uint64_t loads, uint32_t degraded)
{
    WRITE(thread, WIRE_TOTALS, totals, .threads = 2, .loads = loads, .load_bytes = 8 * loads,
          .stores = 5, .store_bytes = 40, .fresh_load_bytes = 16, .fresh_store_bytes = 24,
          .kernel_load_bytes = 1, .kernel_store_bytes = 2, .ids = 100, .contexts = 50,
          .instructions = 1000, .cpu_ns = 500, .degraded = degraded);
}

static void image_end(struct log *log, struct thread *thread)
{
    wire_close(&thread->writer);
    drain(log);
}

/* Many processes whose pairs have nothing in common; each has one that matters. */
enum { MANY_IMAGES = 4, MANY_LEAVES = 550, MATTERS = 1000000 };

static void log_many_pairs(struct log *log, struct thread *image, uint32_t number)
{
    log_module(image, 1, "/bin/prog");
    log_node(image, 1, 0, 1, 0x1028, 0);
    for (uint32_t i = 0; i < MANY_LEAVES; i++)
        log_node(image, 2 + i, 1, 1, 0x3000 + number * MANY_LEAVES + i, WIRE_NODE_LEAF);
    for (uint32_t i = 0; i < MANY_LEAVES * MANY_LEAVES; i++) {
        WRITE(image, WIRE_PAIR, pair, .kind = DETECT_LOAD, .first = 2 + i / MANY_LEAVES,
              .second = 2 + i % MANY_LEAVES, .waste_bytes = i ? 3 : MATTERS, .use_bytes = 1);
        if (i % 4096 == 0)
            drain(log);
    }
}

static void pairs_of_many_processes_are_bounded(void **state)
{
    struct log log;
    exact_begin(&log, 1U << DETECT_LOAD);
    for (uint32_t i = 0; i < MANY_IMAGES; i++) {
        struct thread image = image_begin(&log, 70 + i, 100 + i, WIRE_NONE, false, 1, 5 + i);
        log_many_pairs(&log, &image, i);
        log_totals(&image, 1000, 0);
        image_end(&log, &image);
    }
    struct profile *profile = import_and_read(&log, NULL);
    double matter = MATTERS, each = MANY_LEAVES * MANY_LEAVES;
    unsigned found = 0;
    assert_in_range(profile->pairs_count, MANY_IMAGES, 900000);
    assert_true(profile->kinds[0].waste_bytes == MANY_IMAGES * (matter + 3 * (each - 1)));
    assert_true(profile->kinds[0].use_bytes == MANY_IMAGES * each);
    for (size_t i = 0; i < profile->pairs_count; i++)
        found += profile->pairs[i].first && profile->pairs[i].waste_bytes == matter;
    assert_int_equal(found, MANY_IMAGES);
    assert_true(is_degraded(profile, "more pairs of places than are kept"));
    assert_true(profile_check(profile));
    profile_free(profile);
    log_free(&log);
}

static void exact_counts_add_up(void **state)
{
    struct log log;
    exact_begin(&log, 3);
    struct thread image = image_begin(&log, 70, 100, WIRE_NONE, false, 1, 5);
    log_contexts(&image);
    WRITE(&image, WIRE_PAIR, pair, .kind = DETECT_DEAD, .first = 3, .second = 4,
          .waste_bytes = (UINT64_C(1) << 40) + 1, .use_bytes = 7);
    WRITE(&image, WIRE_PAIR, pair, .kind = DETECT_DEAD, .first = 3, .second = 4, .waste_bytes = 2);
    WRITE(&image, WIRE_PAIR, pair, .kind = DETECT_SILENT, .first = 4, .second = 3, .waste_bytes = 9,
          .flags = WIRE_PAIR_KERNEL);
    log_totals(&image, 1000, 0);
    log_totals(&image, 1000, WIRE_EXACT_IDS); /* an exec that failed wrote the first */
    image_end(&log, &image);
    struct import_run run = {.verb = "waste", .engine = "exact", .exited = true, .start_ns = 5};
    struct profile *profile = import_and_read(&log, &run);
    assert_string_equal(profile->run.engine, "exact");
    assert_null(profile->run.source);
    assert_string_equal(profile->run.weighting, "accesses");
    assert_int_equal(profile->run.attempted, 0);
    assert_int_equal(profile->run.watch_kernel, 1);
    assert_int_equal(profile->run.threads, 2);
    assert_int_equal(profile->pairs_count, 2);
    const struct profile_pair *pair = &profile->pairs[0];
    assert_true(pair->waste_bytes == 0x1p40 + 3 && pair->use_bytes == 7);
    assert_true(pair->waste_squares == 0 && pair->samples == 0 && pair->waste_traps == 0);
    assert_int_equal(pair->kernel_traps, 0);
    assert_int_equal(profile->pairs[1].kernel_traps, 1);
    assert_string_equal(frame_of(profile, pair->first, 0)->function, "leaf");
    assert_string_equal(frame_of(profile, pair->second, 1)->function, "main");
    assert_int_equal(profile->kinds_count, 2);
    assert_int_equal(profile->kinds[0].samples, 0);
    assert_true(profile->kinds[0].waste_bytes == 0x1p40 + 3);
    struct profile_exact total = profile_exact_total(profile);
    assert_int_equal(profile->exacts_count, 1);
    assert_int_equal(profile->exacts[0].process, 70);
    assert_true(total.loads == 2000 && total.store_bytes == 80 && total.fresh_store_bytes == 48);
    assert_true(total.ids == 100 && total.contexts == 50 && total.kernel_store_bytes == 4);
    assert_int_equal(profile->threads[0].cpu_ns, 1000);
    assert_true(is_degraded(profile, "more calling contexts than can be kept apart"));
    assert_false(is_degraded(profile, "counters"));
    assert_false(is_degraded(profile, "killed"));
    profile_free(profile);
    log_free(&log);
}

static bool nearly(double found, double expected)
{
    return fabs(found - expected) <= 1e-9 * fabs(expected);
}

/*
 * One in four locations. In each group one pair wastes 8 or 12 bytes in turn and the other one 10, so that each has half of the waste, with a
 * residual of 1 in every group; 5 bytes are used. Variances are enlarged for Student's quantile.
 */
static void waste_of_a_sample_is_brought_to_scale(void **state)
{
    const double enlarged = 1.456 * 8 / 7 * 16;
    struct log log;
    exact_begin(&log, 1U << DETECT_LOAD);
    struct thread image = image_begin(&log, 70, 100, WIRE_NONE, false, 1, 5);
    log_contexts(&image);
    for (uint32_t group = 0; group < WIRE_PAIR_GROUPS; group++) {
        uint32_t flags = group << WIRE_PAIR_GROUP_SHIFT;
        WRITE(&image, WIRE_PAIR, pair, .kind = DETECT_LOAD, .first = 3, .second = 4,
              .waste_bytes = group % 2 ? 12 : 8, .flags = flags);
        WRITE(&image, WIRE_PAIR, pair, .kind = DETECT_LOAD, .first = 4, .second = 3,
              .waste_bytes = 10, .use_bytes = 5, .flags = flags);
    }
    WRITE(&image, WIRE_TOTALS, totals, .threads = 1, .loads = 25, .load_bytes = 200,
          .fresh_load_bytes = 3, .kernel_load_bytes = 1, .waste_share = 0.25);
    image_end(&log, &image);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.corrupt_records, 0);
    assert_int_equal(profile->pairs_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(profile->pairs[i].waste_bytes == 320);
        assert_true(nearly(profile->pairs[i].waste_squares, enlarged * 8));
    }
    assert_int_equal(profile->waste_samples_count, 1);
    const struct profile_waste_sample *sample = &profile->waste_samples[0];
    assert_int_equal(sample->kind, DETECT_LOAD);
    assert_true(sample->share == 0.25);
    assert_true(nearly(sample->waste_squares, enlarged * 8 * 0.4 * 0.4));
    assert_true(nearly(sample->whole_squares, sample->waste_squares / (0.8 * 0.2)));
    assert_true(nearly(sample->locations, 800.0 * 800 / (enlarged * 8 * 2 * 2)));
    struct profile_exact total = profile_exact_total(profile);
    assert_true(total.loads == 100 && total.load_bytes == 800 && total.fresh_load_bytes == 12);
    assert_int_equal(total.kernel_load_bytes, 1); /* of all locations */
    profile_free(profile);
    log_free(&log);
}

/* In sums they count; one by one they would take most of the profile. */
static long peak_kib(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* Ids are the log's word: three records must not take what a quarter of a billion would. */
static void far_ids_cost_no_more_than_near_ones(void **state)
{
    enum { FAR = (1 << 28) - 1, KIB_MAX = 100 << 10 };
    struct log log;
    exact_begin(&log, 3);
    struct thread image = image_begin(&log, 70, 100, WIRE_NONE, false, 1, 5);
    log_contexts(&image);
    log_node(&image, FAR, 1, 1, 0x2022, WIRE_NODE_LEAF);
    WRITE(&image, WIRE_PATH_VERTEX, path_vertex, .vertex = FAR, .module = 1, .entry = 0x1000);
    WRITE(&image, WIRE_PATH_STATE, path_state, .state = FAR, .kind = WIRE_PATH_ENTRY,
          .vertex = FAR);
    WRITE(&image, WIRE_PAIR, pair, .first = 3, .second = FAR, .waste_bytes = 80);
    log_totals(&image, 900, 0);
    image_end(&log, &image);
    long before = peak_kib();
    struct profile *profile = import_and_read(&log, NULL);
    assert_true(peak_kib() - before < KIB_MAX);
    assert_int_equal(profile->pairs_count, 1);
    assert_string_equal(frame_of(profile, profile->pairs[0].second, 1)->function, "main");
    profile_free(profile);
    log_free(&log);
}

/* A piece of two instructions at 0x2000, the first of which loads. */
static void log_piece(struct thread *image, uint32_t number, uint8_t second_length)
{
    static const struct wire_executed_access access = {.bytes = 8};
    const uint8_t data[] = {3, second_length, 0x48, 0x8b, 0x3f, 0xeb, 0xfb};
    _Alignas(8) char buffer[64] = {0};
    struct wire_executed_code *piece = (struct wire_executed_code *)buffer;
    *piece = (struct wire_executed_code){.code = number,
                                         .module = 1,
                                         .vaddr = 0x2000,
                                         .instructions = 2,
                                         .code_bytes = 5,
                                         .accesses = 1};
    memcpy(piece->data, &access, sizeof access);
    memcpy(piece->data + sizeof access, data, sizeof data);
    write_record(image, piece, WIRE_EXECUTED_CODE,
                 (sizeof *piece + sizeof access + sizeof data + 7) & ~(size_t)7);
}

static void log_steps(struct thread *image, uint32_t window, const uint64_t *words, uint32_t count)
{
    _Alignas(8) char buffer[256] = {0};
    struct wire_executed_steps *steps = (struct wire_executed_steps *)buffer;
    *steps = (struct wire_executed_steps){.window = window, .count = count};
    memcpy(steps->words, words, count * sizeof *words);
    write_record(image, steps, WIRE_EXECUTED_STEPS, sizeof *steps + count * sizeof *words);
}

static void what_was_executed_is_read(void **state)
{
    const uint64_t words[] = {WIRE_EXECUTED_PIECE | 1, 0x7000, WIRE_EXECUTED_PIECE | 2,
                              WIRE_EXECUTED_PIECE | 1, 0x7008};
    const uint64_t bad[] = {UINT64_C(1) << WIRE_EXECUTED_SHIFT, WIRE_EXECUTED_PIECE | 9, 0x7000};
    struct log log;
    exact_begin(&log, 3);
    struct thread image = image_begin(&log, 70, 100, WIRE_NONE, false, 1, 5);
    log_contexts(&image);
    log_piece(&image, 1, 2);
    log_piece(&image, 2, 3); /* lengths do not add up */
    log_piece(&image, 2, 2);
    log_piece(&image, 7, 2);        /* not the next one */
    log_steps(&image, 1, words, 1); /* of no window */
    WRITE(&image, WIRE_EXECUTED_WINDOW, executed_window, .window = 1, .module = 77, .head = 0x2000,
          .execution = 3, .executions = 9); /* of no module */
    WRITE(&image, WIRE_EXECUTED_WINDOW, executed_window, .window = 1, .module = 1, .head = 0x2000,
          .execution = 10, .executions = 9);
    WRITE(&image, WIRE_EXECUTED_WINDOW, executed_window, .window = 1, .module = 1, .head = 0x2000,
          .execution = 3, .executions = 9, .thread = 2, .words = 5);
    log_steps(&image, 1, words, 2);
    log_steps(&image, 1, words + 2, 3);
    log_steps(&image, 1, bad, 3); /* no such access, no such piece, an access of none */
    log_totals(&image, 10, 0);
    image_end(&log, &image);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.corrupt_records, 8);
    assert_int_equal(profile->executed_windows_count, 1);
    const struct profile_executed_window *window = &profile->executed_windows[0];
    assert_true(window->address == 0x2000 && window->execution == 3 && window->executions == 9 &&
                window->process == 70 && window->number == 1 && window->thread == 2);
    assert_int_equal(profile->executed_codes_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct profile_executed_code *code = &profile->executed_codes[i];
        assert_int_equal(code->address, i % 2 ? 0x2003 : 0x2000);
        assert_string_equal(code->bytes, i % 2 ? "ebfb" : "488b3f");
        assert_string_equal(code->module, window->module);
    }
    assert_int_equal(profile->executed_runs_count, 3);
    assert_true(profile->executed_runs[0].first == 0 && profile->executed_runs[1].first == 2 &&
                profile->executed_runs[2].first == 0 && profile->executed_runs[2].count == 2);
    assert_int_equal(profile->executed_accesses_count, 2);
    assert_true(profile->executed_accesses[0].step == 0 &&
                profile->executed_accesses[0].address == 0x7000 &&
                profile->executed_accesses[1].step == 4 &&
                profile->executed_accesses[1].address == 0x7008 &&
                profile->executed_accesses[1].bytes == 8);
    profile_free(profile);
    log_free(&log);
}

static void uses_alone_are_folded(void **state)
{
    struct log log;
    exact_begin(&log, 7);
    struct thread image = image_begin(&log, 70, 100, WIRE_NONE, false, 1, 5);
    log_contexts(&image);
    log_node(&image, 5, 1, 1, 0x2030, WIRE_NODE_LEAF);
    log_node(&image, 6, 1, 1, 0x2040, WIRE_NODE_LEAF);
    WRITE(&image, WIRE_PAIR, pair, .kind = DETECT_LOAD, .first = 3, .second = 4, .use_bytes = 5);
    WRITE(&image, WIRE_PAIR, pair, .kind = DETECT_LOAD, .first = 3, .second = 5, .use_bytes = 6);
    WRITE(&image, WIRE_PAIR, pair, .kind = DETECT_LOAD, .first = 4, .second = 5, .use_bytes = 7);
    WRITE(&image, WIRE_PAIR, pair, .kind = DETECT_DEAD, .first = 3, .second = 4, .use_bytes = 8);
    /* Waste that comes later keeps all of the pair's uses with it. */
    WRITE(&image, WIRE_PAIR, pair, .kind = DETECT_LOAD, .first = 3, .second = 4, .waste_bytes = 1);
    log_totals(&image, 10, 0);
    image_end(&log, &image);
    struct profile *profile = import_and_read(&log, NULL);
    /* Dead: all uses. Load: the wasting pair, the other uses of its first context, all
     * other uses. */
    assert_int_equal(profile->pairs_count, 4);
    static const double uses[] = {8, 7, 6, 5};
    for (size_t i = 0; i < 4; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        assert_true(pair->use_bytes == uses[i] && pair->waste_bytes == (i == 3));
        assert_true((pair->first != 0) == (i >= 2) && (pair->second != 0) == (i == 3));
    }
    assert_true(profile->kinds[DETECT_LOAD].use_bytes == 18);
    /* Nothing names nodes 5 and 6 any more: root, main, work, around, leaf, the other leaf. */
    assert_int_equal(profile->contexts_count, 6);
    profile_free(profile);
    log_free(&log);
}

/* Ids of images are random numbers; only a forked child knows its parent. */
static void exact_images_find_their_parents(void **state)
{
    struct log log;
    exact_begin(&log, 1);
    struct thread grandchild = image_begin(&log, 5, 102, WIRE_NONE, false, 101, 30);
    struct thread program = image_begin(&log, 10, 100, WIRE_NONE, false, 99, 20);
    struct thread child = image_begin(&log, 20, 101, 30, true, 100, 22);
    struct thread shell = image_begin(&log, 30, 100, WIRE_NONE, false, 99, 10);
    struct thread execed = image_begin(&log, 40, 101, WIRE_NONE, false, 100, 25);
    log_module(&shell, 1, "/bin/prog"); /* the forked child has it too */
    log_node(&child, 1, 0, 1, 0x1028, WIRE_NODE_LEAF);
    WRITE(&child, WIRE_PAIR, pair, .kind = DETECT_DEAD, .first = 1, .second = 1, .waste_bytes = 2);
    struct thread *all[] = {&grandchild, &program, &child, &shell, &execed};
    for (size_t i = 0; i < 5; i++) {
        if (i != 4)
            log_totals(all[i], 10, 0);
        image_end(&log, all[i]);
    }
    struct profile *profile = import_and_read(&log, NULL);
    static const uint32_t ids[] = {30, 10, 20, 40, 5};
    static const uint32_t parents[] = {UINT32_MAX, 30, 30, 20, 40};
    assert_int_equal(profile->processes_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(profile->processes[i].id, ids[i]);
        assert_int_equal(profile->processes[i].parent, parents[i]);
    }
    assert_string_equal(frame_of(profile, profile->pairs[0].first, 0)->function, "main");
    assert_int_equal(profile->run.processes, 3);
    assert_int_equal(profile->run.threads, 2 * 4 + 1 - 2);
    /* The command is the first image's, by time. */
    assert_int_equal(profile->arguments_count, 2);
    assert_string_equal(profile->arguments[1].text, "100");
    assert_string_equal(profile->run.engine, "exact");
    assert_string_equal(profile->run.verb, "waste");
    assert_true(is_degraded(profile, "1 program was killed before delivering counts"));
    assert_int_equal(profile->run.lost_processes, 1);
    profile_free(profile);
    log_free(&log);
}

static void log_histogram(struct thread *thread, uint32_t which, uint32_t first, uint32_t count,
                          double weight)
{
    _Alignas(8) char buffer[sizeof(struct wire_histogram) + DISTANCE_BINS * sizeof(double)] = {0};
    struct wire_histogram *record = (struct wire_histogram *)buffer;
    record->which = which;
    record->first = first;
    record->count = count;
    for (uint32_t i = 0; i < count && i < DISTANCE_BINS; i++)
        record->weights[i] = weight;
    size_t stored = count < DISTANCE_BINS ? count : DISTANCE_BINS;
    write_record(thread, record, WIRE_HISTOGRAM, sizeof *record + stored * sizeof(double));
}

static void log_reuse_totals(struct thread *thread, uint32_t unit_bytes, double share)
{
    WRITE(thread, WIRE_REUSE_TOTALS, reuse_totals, .unit_bytes = unit_bytes, .stack = 1,
          .share_first = 1, .share_last = share, .accesses = 100, .reuses = 80, .locations = 20,
          .never_reused = 5, .kept_accesses = 90, .kept_locations = 9);
}

static void reuse_is_summed_by_process(void **state)
{
    struct log log;
    exact_begin(&log, 0);
    struct thread a = image_begin(&log, 9, 100, WIRE_NONE, false, 1, 5);
    struct thread b = image_begin(&log, 7, 101, 9, true, 100, 6);
    struct thread *both[] = {&a, &b};
    for (size_t i = 0; i < 2; i++) {
        log_module(both[i], 1, "/bin/prog");
        log_node(both[i], 1 + (uint32_t)i, 0, 1, 0x1028, WIRE_NODE_LEAF);
        log_node(both[i], 3, 0, 1, 0x2022, WIRE_NODE_LEAF);
        WRITE(both[i], WIRE_REUSE_PAIR, reuse_pair, .use = 1 + (uint32_t)i, .reuse = 3, .count = 4,
              .weight = 4.5, .time = 100, .time_squares = 1e40, .stack = 10, .stack_squares = 50);
        log_reuse_totals(both[i], 64, i ? 0.25 : 1);
        log_histogram(both[i], PROFILE_TIME, 0, DISTANCE_BINS - 16, 0.5);
        log_histogram(both[i], PROFILE_STACK, 20, 2, 3);
        log_histogram(both[i], PROFILE_STACK, 21, 2, 4);
        log_totals(both[i], 10, 0);
        image_end(&log, both[i]);
    }
    struct profile *profile = import_and_read(&log, NULL);
    assert_string_equal(profile->run.verb, "reuse");
    assert_int_equal(profile->kinds_count, 0);
    assert_int_equal(profile->reuse_pairs_count, 1);
    const struct profile_reuse_pair *pair = &profile->reuse_pairs[0];
    assert_true(pair->count == 8 && pair->weight == 9 && pair->time == 200 && pair->stack == 20);
    assert_true(pair->time_squares == 2e40 && pair->stack_squares == 100);
    assert_string_equal(frame_of(profile, pair->use, 0)->function, "main");
    assert_string_equal(frame_of(profile, pair->reuse, 0)->function, "work");
    assert_int_equal(profile->reuses_count, 2);
    assert_int_equal(profile->reuses[0].process, 7);
    struct profile_reuse total = profile_reuse_total(profile);
    assert_true(total.accesses == 200 && total.never_reused == 10 && total.kept_locations == 18);
    assert_true(total.share_first == 1 && total.share_last == 0.25 && total.stack == 1);
    assert_int_equal(profile->bins_count, 2 * (DISTANCE_BINS - 16 + 3));
    const struct profile_bin *bin = &profile->bins[DISTANCE_BINS - 16];
    assert_true(bin->process == 7 && bin->which == PROFILE_STACK && bin->bin == 20);
    assert_true(bin[0].weight == 3 && bin[1].weight == 7 && bin[2].weight == 4);
    assert_true(bin[1].lo == distance_bin_low(21) && bin[1].hi == distance_bin_low(22));
    profile_free(profile);
    log_free(&log);
}

static void exact_nonsense_is_counted(void **state)
{
    struct log log;
    exact_begin(&log, 1);
    struct thread image = image_begin(&log, 9, 100, WIRE_NONE, false, 1, 5);
    enum { WRONG = 21 };
    log_contexts(&image);
    log_reuse_totals(&image, 8, 1);
    WRITE(&image, WIRE_TOTALS, totals, .threads = 1, .waste_share = 2);
    WRITE(&image, WIRE_TOTALS, totals, .threads = 1, .waste_share = -0.5);
    WRITE(&image, WIRE_TOTALS, totals, .threads = 1, .waste_share = NAN);
    WRITE(&image, WIRE_PAIR, pair, .kind = DETECT_LOAD, .first = 3, .second = 4);
    WRITE(&image, WIRE_PAIR, pair, .kind = 77, .first = 3, .second = 4);
    WRITE(&image, WIRE_PAIR, pair, .first = 3, .second = 4, .waste_bytes = UINT64_MAX);
    WRITE(&image, WIRE_PAIR, pair, .first = 3, .second = 99, .waste_bytes = 8);
    WRITE(&image, WIRE_REUSE_PAIR, reuse_pair, .use = 3, .reuse = 4, .weight = NAN);
    WRITE(&image, WIRE_REUSE_PAIR, reuse_pair, .use = 3, .reuse = 4, .time = -1);
    WRITE(&image, WIRE_REUSE_PAIR, reuse_pair, .use = 3, .reuse = 4, .stack_squares = -1);
    WRITE(&image, WIRE_REUSE_PAIR, reuse_pair, .use = 3, .reuse = 98, .weight = 1);
    log_reuse_totals(&image, 64, 1); /* another unit */
    log_reuse_totals(&image, 0, 1);
    log_reuse_totals(&image, 8, 0);
    log_histogram(&image, 2, 0, 5, 1);
    log_histogram(&image, 0, 0, 5, INFINITY);
    log_histogram(&image, 0, DISTANCE_BINS - 4, 5, 1);
    log_histogram(&image, 0, UINT32_MAX, 5, 1);
    log_histogram(&image, 0, 0, DISTANCE_BINS + 1, 1);
    log_histogram(&image, 0, DISTANCE_BINS - 5, 5, 1); /* longer than any run */
    log_totals(&image, UINT64_MAX / 16, 0);
    log_totals(&image, 10, WIRE_EXACT_MEMORY | WIRE_EXACT_AVX512 | 0xfffffff8);
    image_end(&log, &image);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.corrupt_records, WRONG);
    assert_int_equal(profile->pairs_count, 1);
    assert_true(profile->kinds[0].waste_bytes == 8);
    assert_int_equal(profile->reuse_pairs_count, 1);
    assert_true(profile->reuse_pairs[0].weight == 1 && profile->reuse_pairs[0].reuse == 0);
    assert_int_equal(profile->bins_count, 0);
    assert_int_equal(profile->exacts[0].loads, 10);
    assert_true(is_degraded(profile, "memory ran out"));
    assert_true(is_degraded(profile, "AVX-512"));
    profile_free(profile);
    log_free(&log);
}

/* ---- lines that move between threads ---------------------------------------------------------- */

static void log_shared_line(struct thread *thread, uint32_t line, uint32_t kind, const char *name,
                            uint32_t node, double transfers)
{
    _Alignas(8) char buffer[sizeof(struct wire_shared_line) + 64] = {0};
    struct wire_shared_line *record = (struct wire_shared_line *)buffer;
    record->line = line;
    record->kind = kind;
    record->node = node;
    record->offset = -8;
    record->size = 128;
    record->false_transfers = transfers;
    size_t length = strlen(name) + 1;
    memcpy(record->text, name, length);
    strcpy(record->text + length, "0 a\n8 b\n");
    write_record(thread, record, WIRE_SHARED_LINE, sizeof buffer);
}

static void log_shared_access(struct thread *thread)
{
    /* Ids are the image's own: the other one has them the other way round. */
    bool first = thread->writer.process == 9;
    log_shared_line(thread, first ? 1 : 2, WIRE_OBJECT_GLOBAL, "_ZN1a1bE", 0, 10);
    log_shared_line(thread, first ? 2 : 1, WIRE_OBJECT_HEAP, "", 3, 4);
    WRITE(thread, WIRE_SHARED_PAIR, shared_pair, .line = first ? 1 : 2, .first = 3, .second = 4,
          .first_kind = 2, .second_kind = 1, .forward = 6, .backward = 4, .first_mask = 1,
          .second_mask = first ? 2 : 4);
    WRITE(thread, WIRE_SHARED_USER, shared_user, .line = first ? 1 : 2, .thread = 1,
          .write_mask = 1, .writes = 7);
    WRITE(thread, WIRE_SHARED_BETWEEN, shared_between, .from = 1, .to = 2, .transfers = 5);
    WRITE(thread, WIRE_SHARED_TOTALS, shared_totals, .threads = 3, .instructions = 1000,
          .false_transfers = 14);
    log_totals(thread, 10, 0);
}

static void shared_lines_of_all_processes_add_up(void **state)
{
    struct log log;
    exact_begin(&log, 0);
    struct thread a = image_begin(&log, 9, 100, WIRE_NONE, false, 1, 5);
    struct thread b = image_begin(&log, 7, 101, 9, true, 100, 6);
    struct thread *both[] = {&a, &b};
    for (size_t i = 0; i < 2; i++) {
        log_contexts(both[i]);
        log_shared_access(both[i]);
        image_end(&log, both[i]);
    }
    struct profile *profile = import_and_read(&log, NULL);
    assert_string_equal(profile->run.verb, "sharing");
    assert_int_equal(profile->run.corrupt_records, 0);
    assert_int_equal(profile->shared_runs_count, 2);
    assert_int_equal(profile->shared_lines_count, 2);
    const struct profile_shared_line *line = &profile->shared_lines[0];
    assert_int_equal(line->object, PROFILE_OBJECT_GLOBAL);
    assert_string_equal(line->name, "a::b");
    assert_string_equal(line->parts, "0 a\n8 b\n");
    assert_true(line->false_transfers == 20 && (int64_t)line->offset == -8);
    assert_null(profile->shared_lines[1].name);
    assert_int_not_equal(profile->shared_lines[1].context, 0);
    assert_int_equal(profile->shared_pairs_count, 2); /* one for each direction */
    for (size_t i = 0; i < 2; i++) {
        const struct profile_shared_pair *pair = &profile->shared_pairs[i];
        bool forward = pair->first_kind == 2;
        assert_int_equal(pair->line, 0);
        assert_true(pair->transfers == (forward ? 12 : 8));
        assert_int_equal(forward ? pair->second_mask : pair->first_mask, 6);
    }
    assert_int_equal(profile->shared_users_count, 1);
    assert_int_equal(profile->shared_users[0].writes, 14);
    assert_int_equal(profile->shared_moves_count, 1);
    assert_true(profile->shared_moves[0].transfers == 10);
    profile_free(profile);
    log_free(&log);
}

static void shared_nonsense_is_counted(void **state)
{
    struct log log;
    exact_begin(&log, 0);
    struct thread image = image_begin(&log, 9, 100, WIRE_NONE, false, 1, 5);
    enum { WRONG = 11 };
    _Alignas(8) char unended[sizeof(struct wire_shared_line) + 8];
    memset(unended, 'x', sizeof unended);
    log_contexts(&image);
    log_shared_access(&image);
    log_shared_line(&image, 3, WIRE_OBJECTS, "", 0, 1);
    log_shared_line(&image, 3, WIRE_OBJECT_GLOBAL, "", 0, NAN);
    log_shared_line(&image, UINT32_MAX, WIRE_OBJECT_GLOBAL, "", 0, 1);
    log_shared_line(&image, 4, WIRE_OBJECT_HEAP, "", 99, 1); /* kept: the place is lost */
    write_record(&image, unended, WIRE_SHARED_LINE, sizeof unended);
    WRITE(&image, WIRE_SHARED_PAIR, shared_pair, .line = 77, .first_kind = 2, .second_kind = 2);
    WRITE(&image, WIRE_SHARED_PAIR, shared_pair, .line = 1, .first_kind = 0, .second_kind = 2);
    WRITE(&image, WIRE_SHARED_PAIR, shared_pair, .line = 1, .first_kind = 2, .second_kind = 4);
    WRITE(&image, WIRE_SHARED_PAIR, shared_pair, .line = 1, .first_kind = 2, .second_kind = 2,
          .forward = -1);
    WRITE(&image, WIRE_SHARED_USER, shared_user, .line = 77);
    WRITE(&image, WIRE_SHARED_BETWEEN, shared_between, .from = 64, .transfers = 5);
    image_end(&log, &image);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.corrupt_records, WRONG);
    assert_int_equal(profile->shared_lines_count, 3);
    assert_int_equal(profile->shared_pairs_count, 2);
    assert_int_equal(profile->shared_users_count, 1);
    assert_int_equal(profile->shared_moves_count, 1);
    profile_free(profile);
    log_free(&log);
}

static void any_flip_of_an_exact_log_is_survived(void **state)
{
    struct log log;
    char error[512];
    exact_begin(&log, 1);
    struct thread image = image_begin(&log, 9, 100, WIRE_NONE, false, 1, 5);
    log_contexts(&image);
    log_reuse_totals(&image, 8, 1);
    log_histogram(&image, 0, 1, 30, 1);
    WRITE(&image, WIRE_REUSE_PAIR, reuse_pair, .use = 3, .reuse = 4, .weight = 1);
    WRITE(&image, WIRE_PAIR, pair, .first = 3, .second = 4, .waste_bytes = 8);
    log_totals(&image, 10, 0);
    image_end(&log, &image);
    long size = ftell(log.file);
    unsigned char *content = malloc((size_t)size);
    FILE *whole = fopen(log.path, "r");
    assert_int_equal(fread(content, 1, (size_t)size, whole), size);
    fclose(whole);
    struct base_random random = {8};
    size_t body = sizeof(struct wire_log_header) + sizeof(struct wire_frame);
    for (unsigned round = 0; round < 300; round++) {
        /* The frame is made good again, so that only the record's own checks are left; in every
           second round the record's too. */
        size_t at = body + (size_t)base_random_below(&random, (uint64_t)size - body);
        unsigned char bit = (unsigned char)(1U << base_random_below(&random, 8));
        unsigned char *copy = malloc((size_t)size);
        memcpy(copy, content, (size_t)size);
        copy[at] ^= bit;
        struct wire_frame *frame = (struct wire_frame *)(copy + sizeof(struct wire_log_header));
        for (size_t r = body; round % 2 && r + 8 <= (size_t)size;) {
            struct wire_record *record = (struct wire_record *)(copy + r);
            if (record->bytes < 8 || record->bytes % 8 || r + record->bytes > (size_t)size)
                break;
            record->checksum = wire_checksum(record);
            r += record->bytes;
        }
        frame->checksum = wire_frame_checksum(frame, copy + body);
        FILE *damaged = fopen(log.path, "w");
        fwrite(copy, (size_t)size, 1, damaged);
        fclose(damaged);
        free(copy);
        struct profile *profile = NULL;
        assert_int_equal(
            import_log(log.path, NULL, NULL, log.profile, NULL, NULL, error, sizeof error),
            BASE_OK);
        assert_int_equal(profile_read(log.profile, &profile, error, sizeof error), BASE_OK);
        profile_free(profile);
    }
    free(content);
    log_free(&log);
}

/* ---- live sharing ----------------------------------------------------------------------------- */

/* What a weight of 1 stands for: 5 ms x 5 ms / 20 ms, at an access in two instructions. */
static const double unit = 625000;

static void sharing_begin(struct log *log)
{
    struct wire_config before = config;
    config.kinds = 0;
    config.sharing_ms = 20;
    log_begin(log);
    config = before;
}

/* With two threads of one process. */
static void sharing_begin_two(struct log *log, struct thread *one, struct thread *other)
{
    sharing_begin(log);
    *one = thread_begin(log, 1, 100);
    *other = thread_begin(log, 1, 101);
    log_process(one, WIRE_NONE, false);
    log_contexts(one);
    log_contexts(other);
}

/* Where an instruction has many accesses (rep movs). */
enum { REPEATED = 0x8000 };

static void log_published(struct thread *thread, uint32_t serial, uint64_t line, uint64_t mask,
                          uint8_t kind, uint16_t number)
{
    WRITE(thread, WIRE_PUBLISHED, published, .serial = serial, .node = 3, .line = line,
          .mask = mask, .weight = 2, .density = line == REPEATED ? 6000 : 0.5F, .number = number,
          .kind = kind,
          .watched = serial == 1   ? 4
                     : serial == 2 ? WIRE_PUBLISHED_SPUN
                                   : 0);
}

static void log_meeting(struct thread *thread, const struct thread *first, uint32_t serial,
                        uint64_t first_mask, uint64_t second_mask, float weight, uint8_t fate)
{
    WRITE(thread, WIRE_MEETING, meeting, .first_process = first->writer.process,
          .first_thread = first->writer.thread, .first_serial = serial, .line = 0x7000,
          .first_mask = first_mask, .second_mask = second_mask, .gap_ns = 3000,
          .node = fate == WIRE_MET ? 4 : 0, .weight = weight, .number = 2, .first_kind = 2,
          .second_kind = 7, .fate = fate);
}

/* The touch comes first in the log, what was touched later. Of all that is published on the line two parts are the first thread's, one the other's; and
   each is taken to use it once more, but for the one whose publication is met: meetings with the other count 2 / 4. */
static void meetings_become_lines(void **state)
{
    struct log log;
    struct thread one, other;
    sharing_begin_two(&log, &one, &other);
    log_meeting(&other, &one, 1, 0xff, 0xff00, 6, WIRE_MET);
    log_meeting(&other, &one, 2, 0xff00, 0xff00, 4, WIRE_MET);
    for (uint8_t fate = WIRE_MET + 1; fate < WIRE_FATES; fate++)
        for (uint8_t i = 0; i < fate; i++)
            log_meeting(&other, &one, 1, 0xff, 0xff00, 1, fate);
    log_published(&other, 1, 0x7000, 0xff00, 1, 2);
    log_published(&other, 2, REPEATED, 0xff00, 1, 2); /* where nobody meets */
    thread_end(&log, &other);
    log_published(&one, 1, 0x7000, 0xff, 2, 1);
    log_published(&one, 2, 0x7000, 0xff00, 2, 1);
    thread_end(&log, &one);
    struct profile *profile = import_and_read(&log, NULL);
    assert_string_equal(profile->run.verb, "sharing");
    assert_int_equal(profile->run.corrupt_records, 0);
    assert_int_equal(profile->shared_lines_count, 1);
    const struct profile_shared_line *line = &profile->shared_lines[0];
    assert_true(line->address == 0x7000 && line->false_transfers == 3 * unit &&
                line->true_transfers == 2 * unit);
    assert_int_equal(profile->shared_runs[0].threads, 2);
    assert_true(profile->shared_runs[0].false_transfers == 3 * unit);
    assert_int_equal(profile->shared_runs[0].instructions, 4 * 2 * 5000000);
    assert_int_equal(profile->shared_pairs_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct profile_shared_pair *pair = &profile->shared_pairs[i];
        assert_true(pair->transfers == (pair->is_true ? 2 : 3) * unit);
        assert_int_equal(pair->first_kind, 2);
        assert_int_equal(pair->second_kind, 3);
        assert_int_equal(pair->first_mask, pair->is_true ? 0xff00 : 0xff);
        assert_int_equal(frame_of(profile, pair->first, 0)->line, 7);
        assert_int_not_equal(pair->second, pair->first);
    }
    assert_int_equal(profile->shared_users_count, 2);
    const struct profile_shared_user *users = profile->shared_users;
    assert_int_equal(users[0].thread, 1);
    assert_true(users[0].writes == 2 && users[0].write_mask == 0xffff && users[0].read_mask == 0);
    assert_true(users[1].reads == 1 && users[1].write_mask == 0xff00 && users[1].writes == 0);
    assert_int_equal(profile->shared_moves_count, 1);
    assert_true(profile->shared_moves[0].from_thread == 1 &&
                profile->shared_moves[0].to_thread == 2 &&
                profile->shared_moves[0].transfers == 5 * unit);
    const struct profile_shared_watch *watch = profile->shared_watches;
    assert_true(watch->samples == 4 && watch->armed == 2 && watch->met == 2 && watch->reads == 1 &&
                watch->late == 2 && watch->waited == 3 && watch->reused == 4 &&
                watch->unknown == 5 && watch->spun == 2);
    const struct profile_shared_seen *seen = profile->shared_seens;
    assert_true(seen->samples == 3 && seen->cpu_ns == 3 * 2 * 5e6);
    assert_true(seen->true_traps == 1 && seen->false_traps == 1 &&
                seen->false_squares == 9 * unit * unit && seen->true_squares == 4 * unit * unit);
    assert_int_equal(profile->shared_gaps_count, 1);
    assert_true(profile->shared_gaps[0].low_ns == 2048 && profile->shared_gaps[0].traps == 2);
    profile_free(profile);
    log_free(&log);
}

/* As above, of blocks side by side on the line, and of memory that is not known: what is shared is the line. */
static void all_that_lies_on_a_line_is_used_together(void **state)
{
    static const uint32_t kinds[] = {WIRE_OBJECT_HEAP, WIRE_OBJECT_UNKNOWN};
    for (size_t i = 0; i < BASE_COUNT(kinds); i++) {
        bool known = kinds[i] == WIRE_OBJECT_HEAP;
        struct log log;
        struct thread one, other;
        sharing_begin_two(&log, &one, &other);
        log_meeting(&other, &one, 1, 0xff, 0xff00, 6, WIRE_MET);
        log_published(&other, 1, 0x7000, 0xff00, 1, 2);
        WRITE(&other, WIRE_LOCATED, located, .kind = kinds[i], .size = known ? 16 : 0,
              .thread = known ? other.writer.thread : 0);
        thread_end(&log, &other);
        for (uint32_t serial = 1; serial <= 2; serial++) {
            log_published(&one, serial, 0x7000, 0xff, 2, 1);
            WRITE(&one, WIRE_LOCATED, located, .kind = kinds[i], .size = known ? 8 : 0,
                  .thread = known ? one.writer.thread : 0);
        }
        thread_end(&log, &one);
        struct profile *profile = import_and_read(&log, NULL);
        assert_int_equal(profile->run.corrupt_records, 0);
        assert_int_equal(profile->shared_lines_count, 1);
        assert_true(profile->shared_lines[0].false_transfers == 3 * unit);
        assert_int_equal(profile->shared_users_count, 2);
        profile_free(profile);
        log_free(&log);
    }
}

static void log_touch(struct thread *thread, const struct thread *first, uint8_t second_kind,
                      float weight)
{
    WRITE(thread, WIRE_MEETING, meeting, .first_process = first->writer.process,
          .first_thread = first->writer.thread, .first_serial = 1, .line = 0x7000,
          .first_mask = 0xff, .second_mask = 0xff, .gap_ns = 3000, .node = second_kind == 2 ? 4 : 0,
          .weight = weight, .number = 2, .first_kind = 1, .second_kind = second_kind,
          .fate = second_kind == 2 ? WIRE_MET : WIRE_MET_READS);
}

/*
 * Both read the line all the time. The other one was met writing twice, for a quarter of all by weight; by what it has published it reads. So what it was met
 * writing stands for all touches, 4 times as many, of which (0 + 1 / 4) / (3 + 1) write; and of the uses of the line 4 of 5 are its.
 */
static void who_reads_until_it_may_go_on_moves_little(void **state)
{
    struct log log;
    struct thread one, other;
    sharing_begin_two(&log, &one, &other);
    log_touch(&other, &one, 2, 3);
    log_touch(&other, &one, 1, 18);
    log_touch(&other, &one, 2, 3);
    for (uint32_t serial = 1; serial <= 3; serial++)
        log_published(&other, serial, 0x7000, 0xff, 1, 2);
    thread_end(&log, &other);
    log_published(&one, 1, 0x7000, 0xff, 1, 1);
    thread_end(&log, &one);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.corrupt_records, 0);
    assert_int_equal(profile->shared_lines_count, 1);
    double wanted = 6 * unit * 4 / 16 * 4 / 5;
    assert_true(fabs(profile->shared_lines[0].true_transfers / wanted - 1) < 1e-6);
    /* They are of one publication, and say as much as one. */
    assert_int_equal(profile->shared_seens[0].true_traps, 2);
    assert_true(fabs(profile->shared_seens[0].true_squares / wanted / wanted - 1) < 1e-6);
    assert_true(profile->shared_watches[0].met == 2 && profile->shared_watches[0].reads == 1);
    profile_free(profile);
    log_free(&log);
}

static void log_published_shared(struct thread *thread, uint32_t serial, uint64_t line,
                                 uint64_t file, uint64_t offset)
{
    WRITE(thread, WIRE_PUBLISHED, published, .serial = serial, .node = 3, .line = line,
          .mask = 0xff, .file = file, .offset = offset, .weight = 2, .density = 0.5F, .kind = 2);
}

static void log_file(struct thread *thread, uint64_t file, const char *path)
{
    _Alignas(8) char bytes[sizeof(struct wire_shared_file) + 64] = {0};
    struct wire_shared_file *record = (struct wire_shared_file *)bytes;
    *record = (struct wire_shared_file){.record = {.type = WIRE_SHARED_FILE, .bytes = sizeof bytes},
                                        .file = file};
    strcpy(record->path, path);
    assert_true(wire_write(&thread->writer, &record->record));
}

/* A line of a file at two addresses, in two processes; another file at one of these. Threads have numbers of all processes. */
static void processes_share_lines_of_files(void **state)
{
    struct log log;
    sharing_begin(&log);
    struct thread one = thread_begin(&log, 1, 100), other = thread_begin(&log, 2, 200);
    log_process(&one, WIRE_NONE, false);
    log_process(&other, WIRE_NONE, false);
    log_contexts(&one);
    log_contexts(&other);
    log_file(&one, 77, "/dev/shm/queue");
    log_file(&other, 77, "/dev/shm/queue");
    log_published_shared(&one, 1, 0x10040, 77, 0x40);
    log_published_shared(&one, 2, 0x20000, 78, 0x40);
    log_published_shared(&other, 1, 0x7000, 77, 0x40);
    log_meeting(&other, &one, 1, 0xff, 0xff00, 6, WIRE_MET);
    log_meeting(&one, &other, 1, 0xff, 0xff, 4, WIRE_MET);
    thread_end(&log, &other);
    thread_end(&log, &one);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.corrupt_records, 0);
    assert_int_equal(profile->shared_lines_count, 1);
    const struct profile_shared_line *line = &profile->shared_lines[0];
    assert_int_equal(line->object, PROFILE_OBJECT_MAPPED);
    assert_string_equal(line->name, "/dev/shm/queue");
    /* Both use the line alike: two thirds of each meeting, see part_of_use. */
    assert_true(line->offset == 0x40 && fabs(line->false_transfers / unit - 4) < 1e-5 &&
                fabs(line->true_transfers / unit - 8.0 / 3) < 1e-5);
    assert_int_equal(profile->shared_moves_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct profile_shared_move *move = &profile->shared_moves[i];
        assert_true(move->from_thread + move->to_thread == 1 &&
                    fabs(move->transfers / unit - (move->from_thread ? 8.0 / 3 : 4)) < 1e-5);
    }
    for (size_t i = 0; i < profile->shared_watches_count; i++)
        assert_int_equal(profile->shared_watches[i].cross_process, 1);
    assert_int_equal(profile->shared_seens[0].samples, 2);
    profile_free(profile);
    log_free(&log);
}

static void meetings_of_nonsense_are_counted(void **state)
{
    struct log log;
    sharing_begin(&log);
    struct thread one = thread_begin(&log, 1, 100);
    log_process(&one, WIRE_NONE, false);
    log_contexts(&one);
    log_published(&one, 1, 0x7000, 0xff, 2, 1);
    log_published(&one, 2, 0x7000, 0, 2, 1);
    log_published(&one, 3, 0x7000, 1, 4, 1);
    log_published(&one, 4, 0x7000, 1, 8, 1);
    log_meeting(&one, &one, 77, 1, 1, 1, WIRE_MET); /* nobody published that */
    log_meeting(&one, &one, 1, 1, 1, NAN, WIRE_MET);
    log_meeting(&one, &one, 1, 1, 1, -1, WIRE_MET);
    log_meeting(&one, &one, 1, 1, 1, 1, WIRE_FATES);
    thread_end(&log, &one);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.corrupt_records, 7);
    assert_int_equal(profile->shared_lines_count, 0);
    assert_int_equal(profile->shared_watches[0].samples, 1);
    profile_free(profile);
    log_free(&log);
}

/* ---- live reuse ----------------------------------------------------------------------------- */

static void reuse_begin(struct log *log, uint32_t source)
{
    struct wire_config before = config;
    config.kinds = WIRE_REUSES;
    config.source = source;
    config.period = source == WIRE_SOURCE_CLOCK ? 0 : 1000;
    config.unit_shift = 6;
    log_begin(log);
    config = before;
}

/* armed 0: not watched, 1: watched, 2: foreseen */
static void log_reuse_sample(struct thread *thread, uint32_t node, uint8_t armed, float weight,
                             uint32_t trap_ns)
{
    WRITE(thread, WIRE_SAMPLE, sample, .kind = DETECT_REUSE, .armed = armed, .bytes = 8,
          .node = node, .weight = weight, .density = 0.5F, .trap_ns = trap_ns);
    thread->slot->counters.attempted++;
    thread->slot->counters.stored++;
    thread->slot->counters.samples[DETECT_REUSE]++;
    thread->slot->counters.armed[DETECT_REUSE] += armed == 1;
}

static void log_foreseen(struct thread *thread, uint32_t use, uint32_t reuse, uint64_t accesses,
                         float weight)
{
    log_reuse_sample(thread, use, 2, weight, 0);
    WRITE(thread, WIRE_REUSE, reuse, .use_node = use, .reuse_node = reuse,
          .flags = WIRE_REUSE_FORESEEN, .accesses = accesses, .weight = weight, .entry = 1,
          .chance = 1, .bytes = 8);
}

/* A sample that was watched all the time; flags tell how it ended. */
static void log_watched(struct thread *thread, uint32_t use, uint32_t reuse, uint32_t flags,
                        uint64_t elapsed_ns, uint64_t accesses)
{
    log_reuse_sample(thread, use, 1, 1, 0);
    WRITE(thread, WIRE_REUSE, reuse, .use_node = use, .reuse_node = reuse, .flags = flags,
          .traps = 1, .elapsed_ns = elapsed_ns, .accesses = accesses, .weight = 1, .entry = 1,
          .chance = 1, .bytes = 8);
}

static const struct import_run one_access_a_ns = {
    .verb = "reuse", .engine = "live", .exited = true, .accesses_per_ns = 1};

static double bin_weight(const struct profile *profile, uint32_t process, uint32_t which,
                         double low, double end)
{
    double sum = 0;
    for (size_t i = 0; i < profile->bins_count; i++) {
        const struct profile_bin *bin = &profile->bins[i];
        if (bin->process == process && bin->which == which && (double)bin->lo >= low &&
            (double)bin->lo < end)
            sum += bin->weight;
    }
    return sum;
}

/* 1 ms of CPU time at 1 access a ns; 10 samples: each stands for 100 K accesses. */
static void foreseen_reuse_is_certain(void **state)
{
    struct log log;
    reuse_begin(&log, WIRE_SOURCE_CLOCK);
    struct thread thread = thread_begin(&log, 1, 100);
    log_process(&thread, WIRE_NONE, false);
    log_contexts(&thread);
    for (unsigned i = 0; i < 6; i++)
        log_foreseen(&thread, 3, 4, 5, 1);
    log_foreseen(&thread, 4, 4, 12, 3);
    log_reuse_sample(&thread, 4, 0, 1, 0); /* nothing is known of it */
    thread_end(&log, &thread);
    struct profile *profile = import_and_read(&log, &one_access_a_ns);
    assert_int_equal(profile->reuses_count, 1);
    const struct profile_reuse *reuse = &profile->reuses[0];
    assert_int_equal(reuse->unit_bytes, 64);
    assert_int_equal(reuse->stack, 0);
    assert_float_equal(reuse->accesses, 1e6, 1);
    assert_float_equal(reuse->reuses, 9e5, 1);
    assert_float_equal(reuse->locations, 1e5, 1);
    assert_true(reuse->never_reused > 0 && reuse->never_reused <= reuse->locations);
    assert_int_equal(reuse->kept_accesses, 8);
    assert_float_equal(bin_weight(profile, 1, PROFILE_TIME, 5, 6), 6e5, 1);
    assert_float_equal(bin_weight(profile, 1, PROFILE_TIME, 12, 13), 3e5, 1);
    assert_float_equal(bin_weight(profile, 1, PROFILE_TIME, 0, INFINITY), 9e5, 1);
    /* Not timed, but at one access a nanosecond. */
    assert_float_equal(bin_weight(profile, 1, PROFILE_ELAPSED, 5, 6), 6e5, 1);
    assert_int_equal(profile->paces_count, 1);
    assert_true(profile->paces[0].accesses_per_ns == 1 && profile->paces[0].low == 1);
    assert_string_equal(profile->paces[0].calibration, "given by --access-rate");
    assert_int_equal(profile->kinds_count, 1);
    assert_int_equal(profile->kinds[0].samples, 8);
    assert_int_equal(profile->kinds[0].armed, 0);
    assert_int_equal(profile->pairs_count, 0);
    assert_int_equal(profile->reuse_pairs_count, 2);
    const struct profile_reuse_pair *pair =
        &profile->reuse_pairs[profile->reuse_pairs[1].count == 6];
    assert_string_equal(frame_of(profile, pair->use, 0)->function, "leaf");
    assert_string_equal(frame_of(profile, pair->reuse, 0)->function, "work");
    assert_float_equal(pair->weight, 6e5, 1);
    assert_float_equal(pair->time / pair->weight, 5, 1e-6);
    /* Four others at most, and one of them three times in ten the same. */
    assert_true(pair->stack / pair->weight > 1 && pair->stack / pair->weight <= 4);
    profile_free(profile);
    log_free(&log);
}

/* Costs of 3000 ns, give or take 100: times contain them once a trap. */
static void traps_are_taken_off(void **state)
{
    struct log log;
    reuse_begin(&log, WIRE_SOURCE_CLOCK);
    struct thread thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    static const uint32_t costs[] = {2900, 3000, 3100, 2800, 3200, 3000, 900000, 2900, 3100};
    for (unsigned i = 0; i < BASE_COUNT(costs); i++)
        log_reuse_sample(&thread, 3, 0, 0, costs[i]);
    for (unsigned i = 0; i < 4; i++)
        log_watched(&thread, 3, 4, 0, 103000, 10);
    /* Shorter than what they contain; known to be no shorter than 100 accesses. */
    for (unsigned i = 0; i < 4; i++)
        log_watched(&thread, 3, 4, 0, 2900, 100);
    thread_end(&log, &thread);
    struct profile *profile = import_and_read(&log, &one_access_a_ns);
    const struct profile_pace *pace = &profile->paces[0];
    assert_true(pace->trap_ns == 3000);
    assert_float_equal(pace->floor_ns, 3 * 1.4826 * 100, 1e-6);
    double all = profile->reuses[0].reuses;
    assert_float_equal(bin_weight(profile, 1, PROFILE_TIME, 98304, 106496), all / 2, 1);
    assert_float_equal(bin_weight(profile, 1, PROFILE_ELAPSED, 98304, 106496), all / 2, 1);
    /* Evenly over the logarithm from 101 to 444 accesses. */
    assert_float_equal(bin_weight(profile, 1, PROFILE_TIME, 96, 448), all / 2, 1);
    assert_float_equal(bin_weight(profile, 1, PROFILE_TIME, 96, 192) /
                           bin_weight(profile, 1, PROFILE_TIME, 192, 384),
                       1, 1e-9);
    const struct profile_reuse_pair *pair = &profile->reuse_pairs[0];
    double mean = pair->time / pair->weight;
    assert_true(mean > 50000 + 101 / 2 && mean < 50000 + 444 / 2);
    /* The program itself had less time than the thread. */
    double observed = (double)(17 + 17) * 3000;
    assert_float_equal(profile->reuses[0].accesses, 1e6 - observed, 1);
    profile_free(profile);
    log_free(&log);
}

static void counted_reuse_is_exact(void **state)
{
    struct log log;
    reuse_begin(&log, WIRE_SOURCE_PMU);
    struct thread thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    for (unsigned i = 0; i < 5; i++)
        log_watched(&thread, 3, 4, WIRE_REUSE_COUNTED, 4000, 8000);
    for (unsigned i = 0; i < 5; i++)
        log_foreseen(&thread, 3, 4, 10, 1);
    thread_end(&log, &thread);
    struct profile *profile = import_and_read(&log, NULL);
    assert_string_equal(profile->run.verb, "reuse");
    assert_int_equal(profile->paces_count, 0);
    assert_float_equal(profile->reuses[0].accesses, 10 * 1000, 1e-6);
    assert_float_equal(bin_weight(profile, 1, PROFILE_TIME, 7680, 8192),
                       profile->reuses[0].reuses / 2, 1e-6);
    assert_float_equal(bin_weight(profile, 1, PROFILE_ELAPSED, 3840, 4096),
                       profile->reuses[0].reuses / 2, 1e-6);
    /* Two accesses a nanosecond were counted. */
    assert_float_equal(bin_weight(profile, 1, PROFILE_ELAPSED, 4, 7), profile->reuses[0].reuses / 2,
                       1e-6);
    profile_free(profile);
    log_free(&log);
}

/* A program that counts its accesses itself: the clock takes the samples. */
static void counts_give_the_pace(void **state)
{
    struct log log;
    reuse_begin(&log, WIRE_SOURCE_CLOCK);
    struct thread thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    for (unsigned i = 0; i < 5; i++)
        log_watched(&thread, 3, 4, WIRE_REUSE_COUNTED, 4000, 8000);
    log_watched(&thread, 3, 4, WIRE_REUSE_COUNTED, 0, 0);
    log_foreseen(&thread, 3, 4, 10, 1);
    thread_end(&log, &thread);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->paces_count, 0);
    assert_float_equal(profile->reuses[0].accesses, 2e6, 1);
    assert_float_equal(bin_weight(profile, 1, PROFILE_TIME, 7680, 8192),
                       profile->reuses[0].reuses * 5 / 7, 1);
    assert_float_equal(bin_weight(profile, 1, PROFILE_TIME, 1, 2), profile->reuses[0].reuses / 7,
                       1);
    profile_free(profile);
    log_free(&log);
}

/* Ends of threads are outcomes, losses are not. */
static void ends_count_and_losses_do_not(void **state)
{
    for (int lost = 0; lost < 2; lost++) {
        struct log log;
        reuse_begin(&log, WIRE_SOURCE_CLOCK);
        struct thread thread = thread_begin(&log, 1, 100);
        log_contexts(&thread);
        for (unsigned i = 0; i < 300; i++)
            log_watched(&thread, 3, 4, 0, 10000, 0);
        for (unsigned i = 0; i < 100; i++)
            log_watched(&thread, 3, 0, lost ? WIRE_REUSE_LOST : WIRE_REUSE_OPEN, 5000, 0);
        thread_end(&log, &thread);
        struct profile *profile = import_and_read(&log, &one_access_a_ns);
        const struct profile_reuse *reuse = &profile->reuses[0];
        double share = reuse->locations / reuse->accesses;
        /* Lost ones were watched for half of the age in which they were lost: 300 / 350. */
        assert_float_equal(share, lost ? 1 - 300.0 / 350 : 0.25, 1e-6);
        assert_float_equal(reuse->reuses + reuse->locations, reuse->accesses, 1e-3);
        assert_float_equal(bin_weight(profile, 1, PROFILE_TIME, 0, INFINITY), reuse->reuses, 1e-3);
        profile_free(profile);
        log_free(&log);
    }
}

/* Distances say how many locations there are at least, where no sample met a last touch. */
static void distances_bound_the_locations(void **state)
{
    struct log log;
    reuse_begin(&log, WIRE_SOURCE_CLOCK);
    struct thread thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    for (unsigned i = 0; i < 100; i++)
        log_watched(&thread, 3, 4, 0, 10000, 0);
    thread_end(&log, &thread);
    struct profile *profile = import_and_read(&log, &one_access_a_ns);
    assert_float_equal(profile->reuses[0].locations, 10000, 600); /* half a bin */
    const struct profile_reuse_pair *pair = &profile->reuse_pairs[0];
    assert_float_equal(pair->time / pair->weight, 10000, 1e-6);
    assert_float_equal(pair->stack / pair->weight, 10000, 700);
    profile_free(profile);
    /* But a process never has more than fit what it had in memory. */
    struct import_run small = one_access_a_ns;
    small.peak_bytes = 3000 << log.region->config.unit_shift;
    profile = import_and_read(&log, &small);
    assert_float_equal(profile->reuses[0].locations, 3000, 1e-6);
    profile_free(profile);
    log_free(&log);
}

/* Half of the ticks fell into system calls, a tenth of the time was ours, and each delivery took
   1 us: of 1 ms the program had (1000 - 100 - 20 - 40 ...) / 2. */
static void only_the_programs_time_counts(void **state)
{
    struct log log;
    reuse_begin(&log, WIRE_SOURCE_CLOCK);
    struct thread thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    for (unsigned i = 0; i < 10; i++)
        log_reuse_sample(&thread, 3, 0, 1, 1000);
    thread.slot->counters.attempted += 10;
    thread.slot->counters.dropped[WIRE_DROP_KERNEL] = 10;
    thread.slot->counters.handler_ns = 100000;
    thread.slot->counters.hops = 7;
    thread.slot->counters.traps[DETECT_REUSE] = 2;
    thread.slot->counters.ignored[DETECT_REUSE] = 1;
    thread_end(&log, &thread);
    struct profile *profile = import_and_read(&log, &one_access_a_ns);
    double deliveries = 20 + 10 + 7 + 2 + 1;
    assert_float_equal(profile->reuses[0].accesses, (1e6 - 1e5 - deliveries * 1000) / 2, 1e-3);
    profile_free(profile);
    log_free(&log);
    /* Killed: there is no time, but ticks at intervals of 5 ms. */
    reuse_begin(&log, WIRE_SOURCE_CLOCK);
    thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    for (unsigned i = 0; i < 10; i++)
        log_reuse_sample(&thread, 3, 0, 1, 0);
    wire_close(&thread.writer);
    atomic_store(&thread.slot->state, WIRE_SLOT_ENDED);
    drain(&log);
    profile = import_and_read(&log, &one_access_a_ns);
    assert_float_equal(profile->reuses[0].accesses, 10 * 5e6, 1e-3);
    /* None of them was ever watched: all may have been last touches. */
    assert_float_equal(profile->reuses[0].locations, 5e7, 1e-3);
    assert_int_equal(profile->bins_count, 0);
    profile_free(profile);
    log_free(&log);
}

/* Threads on processors of two speeds: a trap costs 2 us on one and 8 us on the other. */
static void threads_have_costs_of_their_own(void **state)
{
    struct log log;
    reuse_begin(&log, WIRE_SOURCE_CLOCK);
    struct thread threads[2] = {thread_begin(&log, 1, 100), thread_begin(&log, 1, 101)};
    for (uint32_t t = 0; t < 2; t++) {
        log_contexts(&threads[t]);
        for (uint32_t i = 0; i < 300; i++)
            log_reuse_sample(&threads[t], 3, 0, 0, 2000 + 6000 * t + i % 11);
        for (unsigned i = 0; i < 50; i++)
            log_watched(&threads[t], 3, 4, 0, 22000 + 6000 * t, 0);
        threads[t].slot->cpu_ns = 0;
    }
    thread_end(&log, &threads[0]);
    thread_end(&log, &threads[1]);
    struct profile *profile = import_and_read(&log, &one_access_a_ns);
    double all = bin_weight(profile, 1, PROFILE_ELAPSED, 0, INFINITY);
    assert_true(all > 0);
    assert_float_equal(bin_weight(profile, 1, PROFILE_ELAPSED, 18432, 20480), all, 1e-6 * all);
    profile_free(profile);
    log_free(&log);
}

static void processes_are_told_apart(void **state)
{
    struct log log;
    reuse_begin(&log, WIRE_SOURCE_CLOCK);
    struct thread b = thread_begin(&log, 2, 101), a = thread_begin(&log, 1, 100);
    log_process(&a, WIRE_NONE, false);
    log_process(&b, 1, true);
    log_contexts(&a);
    log_node(&b, 1, 0, 1, 0x1028, 0);
    log_node(&b, 2, 1, 1, 0x2010, 0);
    log_node(&b, 7, 2, 1, 0x3007, WIRE_NODE_LEAF); /* node 3 of the other */
    for (unsigned i = 0; i < 10; i++) {
        log_foreseen(&a, 3, 3, 4, 1);
        log_foreseen(&b, 7, 7, 9, 1);
        log_watched(&b, 7, 7, 0, 50000, 10);
    }
    thread_end(&log, &b);
    thread_end(&log, &a);
    struct profile *profile = import_and_read(&log, &one_access_a_ns);
    assert_int_equal(profile->reuses_count, 2);
    assert_int_equal(profile->paces_count, 2);
    assert_int_equal(profile->reuses[0].process, 1);
    assert_int_equal(profile->reuses[1].kept_accesses, 20);
    assert_float_equal(bin_weight(profile, 1, PROFILE_TIME, 0, INFINITY),
                       bin_weight(profile, 1, PROFILE_TIME, 4, 5), 1e-6);
    assert_float_equal(bin_weight(profile, 2, PROFILE_TIME, 9, 10), profile->reuses[1].reuses / 2,
                       1);
    /* One pair of contexts all the same. */
    assert_int_equal(profile->reuse_pairs_count, 1);
    assert_int_equal(profile->reuse_pairs[0].count, 30);
    profile_free(profile);
    log_free(&log);
}

static void reuse_nonsense_is_counted(void **state)
{
    struct log log;
    reuse_begin(&log, WIRE_SOURCE_CLOCK);
    struct thread thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    static const struct wire_reuse right = {.use_node = 3,
                                            .reuse_node = 4,
                                            .weight = 1,
                                            .entry = 1,
                                            .chance = 0.5F,
                                            .accesses = 9,
                                            .elapsed_ns = 5000,
                                            .traps = 1};
    struct wire_reuse wrong[12];
    for (size_t i = 0; i < BASE_COUNT(wrong); i++)
        wrong[i] = right;
    wrong[0].weight = NAN;
    wrong[1].weight = -1;
    wrong[2].weight = 1e30F;
    wrong[3].chance = 0;
    wrong[4].chance = NAN;
    wrong[5].entry = 0.25F;
    wrong[6].entry = 2;
    wrong[7].accesses = UINT64_MAX;
    wrong[8].elapsed_ns = UINT64_MAX;
    wrong[9].flags = WIRE_REUSE_LOST | WIRE_REUSE_OPEN;
    wrong[10].flags = WIRE_REUSE_FORESEEN | WIRE_REUSE_LOST;
    wrong[11].flags = WIRE_REUSE_FORESEEN;
    wrong[11].accesses = 0;
    for (size_t i = 0; i < BASE_COUNT(wrong); i++)
        write_record(&thread, &wrong[i], WIRE_REUSE, sizeof wrong[i]);
    log_trap(&thread, DETECT_REUSE, false, 3, 4, 1, 0); /* the kind has no such findings */
    /* Odd but possible: the longest times, traps without number, places lost, all weights 0. */
    struct wire_reuse odd[4];
    for (size_t i = 0; i < BASE_COUNT(odd); i++)
        odd[i] = right;
    odd[0].elapsed_ns = UINT64_C(1) << 60;
    odd[1].traps = UINT32_MAX;
    odd[2].use_node = odd[2].reuse_node = 99;
    odd[3].weight = 0;
    for (size_t i = 0; i < BASE_COUNT(odd); i++)
        write_record(&thread, &odd[i], WIRE_REUSE, sizeof odd[i]);
    log_reuse_sample(&thread, 3, 1, 1, UINT32_MAX);
    thread_end(&log, &thread);
    struct import_run run = one_access_a_ns;
    for (unsigned i = 0; i < 4; i++) {
        static const double paces[] = {0, 1e-9, 1e9, INFINITY};
        run.accesses_per_ns = paces[i];
        struct profile *profile = import_and_read(&log, &run);
        assert_int_equal(profile->run.corrupt_records, BASE_COUNT(wrong) + 1 + 2);
        assert_int_equal(profile->reuses_count, 1);
        assert_int_equal(profile->reuse_pairs_count, 2);
        profile_free(profile);
    }
    log_free(&log);
}

/* Frames are made good again after each flip, records in every second round. */
static void survive_flips(struct log *log, uint64_t seed)
{
    char error[512];
    long size = ftell(log->file);
    unsigned char *content = malloc((size_t)size);
    FILE *whole = fopen(log->path, "r");
    assert_int_equal(fread(content, 1, (size_t)size, whole), size);
    fclose(whole);
    struct base_random random = {seed};
    size_t body = sizeof(struct wire_log_header) + sizeof(struct wire_frame);
    struct wire_frame first;
    memcpy(&first, content + sizeof(struct wire_log_header), sizeof first);
    for (unsigned round = 0; round < 400; round++) {
        size_t at = body + (size_t)base_random_below(&random, first.payload_bytes);
        unsigned char *copy = malloc((size_t)size);
        memcpy(copy, content, (size_t)size);
        copy[at] ^= (unsigned char)(1U << base_random_below(&random, 8));
        struct wire_frame *frame = (struct wire_frame *)(copy + sizeof(struct wire_log_header));
        for (size_t r = body; round % 2 && r + 8 <= body + first.payload_bytes;) {
            struct wire_record *record = (struct wire_record *)(copy + r);
            if (record->bytes < 8 || record->bytes % 8 ||
                r + record->bytes > body + first.payload_bytes)
                break;
            record->checksum = wire_checksum(record);
            r += record->bytes;
        }
        frame->checksum = wire_frame_checksum(frame, copy + body);
        FILE *damaged = fopen(log->path, "w");
        fwrite(copy, (size_t)size, 1, damaged);
        fclose(damaged);
        free(copy);
        struct profile *profile = NULL;
        assert_int_equal(
            import_log(log->path, NULL, NULL, log->profile, NULL, NULL, error, sizeof error),
            BASE_OK);
        assert_int_equal(profile_read(log->profile, &profile, error, sizeof error), BASE_OK);
        profile_free(profile);
    }
    free(content);
}

static void any_flip_of_a_reuse_log_is_survived(void **state)
{
    struct log log;
    reuse_begin(&log, WIRE_SOURCE_CLOCK);
    struct thread thread = thread_begin(&log, 1, 100);
    log_process(&thread, WIRE_NONE, false);
    log_contexts(&thread);
    for (unsigned i = 0; i < 8; i++) {
        log_reuse_sample(&thread, 3, 0, 1, 3000 + i);
        log_foreseen(&thread, 4, 3, 7, 1);
        log_watched(&thread, 3, 4, 0, 2000 << i, 20);
        log_watched(&thread, 4, 0, i % 2 ? WIRE_REUSE_LOST : WIRE_REUSE_OPEN, 90000, 20);
    }
    thread_end(&log, &thread);
    survive_flips(&log, 9);
    log_free(&log);
}

/* ---- live reuse: estimators ------------------------------------------------------------------ */

static void costs_are_robust(void **state)
{
    uint32_t values[101];
    for (uint32_t i = 0; i < 101; i++)
        values[(i * 37) % 101] = i < 10 ? 1000000 + i : 2950 + i;
    struct estimate_cost cost = estimate_cost(values, 101);
    /* Ten of them are interrupts: 2960 .. 3050 are left. */
    assert_float_equal(cost.ns, 3010, 1e-9);
    assert_float_equal(cost.floor_ns, 3 * 1.4826 * 25, 2 * 1.4826);
    struct estimate_time time = estimate_time(&cost, 100000, 4);
    assert_true(time.resolved && time.ns == 100000 - 4 * cost.ns);
    assert_true(time.floor_ns == 2 * cost.floor_ns);
    time = estimate_time(&cost, 3100, 1);
    assert_true(!time.resolved && time.ns == 3100 - cost.ns);
    time = estimate_time(&cost, 5, 1);
    assert_true(!time.resolved && time.ns == 0);
    /* Skewed: the upper side counts. */
    uint32_t skewed[] = {1000, 1000, 1000, 1000, 1001, 1100, 1200, 1300};
    assert_true(estimate_cost(skewed, 8).floor_ns > 3 * 1.4826 * 100);
    cost = estimate_cost(values, 0);
    assert_true(cost.ns == 0 && cost.floor_ns == 0 && estimate_time(&cost, 7, 1).resolved);
}

/* The interval of the other programs holds a program nine times of ten, with and without its
   instruction mix; by one spread a third as wide it would not. */
static void paces_hold_programs_left_out(void **state)
{
    struct estimate_pace_program others[64];
    struct estimate_pace pace;
    size_t count = estimate_pace_programs_count;
    assert_true(count > 6 && count <= BASE_COUNT(others));
    for (int mixed = 0; mixed < 2; mixed++) {
        size_t held = 0, held_narrow = 0;
        double factor = 1;
        for (size_t i = 0; i < count; i++) {
            const struct estimate_pace_program *left_out = &estimate_pace_programs[i];
            size_t kept = 0;
            for (size_t j = 0; j < count; j++)
                if (strcmp(estimate_pace_programs[j].name, left_out->name) != 0)
                    others[kept++] = estimate_pace_programs[j];
            double density = mixed ? left_out->accesses / left_out->instructions : 0;
            estimate_pace_of(others, kept, density, estimate_pace_machines, &pace);
            factor = pace.high / pace.accesses_per_ns;
            double off = fabs(log(left_out->accesses / pace.accesses_per_ns));
            held += off <= log(factor);
            held_narrow += off <= log(factor) / 3;
        }
        print_message("# %zu of %zu programs within a factor of %.2f%s\n", held, count, factor,
                      mixed ? " by instruction mix" : "");
        assert_true((double)held >= 0.9 * (double)count);
        assert_true((double)held_narrow < 0.8 * (double)count);
    }
    estimate_pace(0, 0, 0, &pace);
    assert_non_null(strstr(pace.calibration, "programs measured elsewhere"));
    assert_null(strstr(pace.calibration, "mix"));
    double wide = pace.high / pace.low;
    estimate_pace(0.3, 0, 0, &pace);
    assert_non_null(strstr(pace.calibration, ", by instruction mix"));
    assert_true(pace.low > 0 && pace.high / pace.low < wide);
    double middling = pace.accesses_per_ns;
    estimate_pace(0.6, 0, 0, &pace);
    assert_float_equal(pace.accesses_per_ns, 2 * middling, 1e-9);
    double low = pace.low, estimated = pace.accesses_per_ns;
    estimate_pace(0.6, 0.5, 0, &pace);
    assert_true(pace.low < low / 3 && pace.accesses_per_ns == estimated);
    estimate_pace(0.6, 0.5, 2.5, &pace);
    assert_true(pace.low == 2.5 && pace.high == 2.5 && pace.accesses_per_ns == 2.5);
}

/* Context 5 has watches, 6 has none: what is assumed of it goes to the others' by 1 / chance. */
static void settled_weights_add_up(void **state)
{
    struct estimate_use uses[] = {{.process = 1, .node = 5, .watchable = 10},
                                  {.process = 1, .node = 6, .watchable = 40}};
    struct estimate_watch watches[] = {
        {.use = 7, .weight = 3, .flags = WIRE_REUSE_FORESEEN, .entry = 1, .chance = 1},
        {.use = 7, .weight = 1, .entry = 1, .chance = 1},
        {.use = 7, .weight = 1, .entry = 0.25F, .chance = 0.25F},
    };
    double amounts[3], own[3], never[2];
    assert_true(estimate_amounts(uses, 2, 7, watches, 3, amounts, own, never));
    assert_true(amounts[0] == 3 && own[0] == 3);
    assert_float_equal(amounts[1] + amounts[2], 50, 1e-6);
    assert_float_equal(amounts[2] / amounts[1], 4, 1e-6);
    assert_float_equal(own[1] + own[2], 10, 1e-6);
    assert_float_equal(own[2] / own[1], 4, 1e-6);
    assert_float_equal(never[0] + never[1], 0, 1e-6);
    /* The second one was armed still at the end. */
    watches[2].flags = WIRE_REUSE_OPEN;
    assert_true(estimate_amounts(uses, 2, 7, watches, 3, amounts, own, never));
    assert_float_equal(amounts[1], 10, 1e-6);
    assert_float_equal(never[0], 8, 1e-6);
    assert_float_equal(never[1], 32, 1e-6);
    /* Lost before it had waited for anything: it was watched for half an age. */
    watches[2].flags = WIRE_REUSE_LOST;
    assert_true(estimate_amounts(uses, 2, 7, watches, 3, amounts, own, never));
    assert_true(amounts[2] == 0 && own[2] == 0);
    assert_float_equal(amounts[1], 50 / 3.0, 1e-6);
    assert_true(estimate_amounts(uses, 2, 7, NULL, 0, NULL, NULL, never));
    assert_true(never[0] == 10 && never[1] == 40);
}

static void intervals_follow_what_is_known(void **state)
{
    static double histogram[DISTANCE_BINS], known[DISTANCE_BINS];
    uint32_t first = distance_bin(64), end = distance_bin(1024);
    struct estimate_interval intervals[] = {{first, end, 6}, {first, distance_bin(256), 4}};
    estimate_spread(histogram, intervals, 2);
    double sum = mrc_sum(histogram), upper = 0;
    for (uint32_t bin = distance_bin(512); bin < end; bin++)
        upper += histogram[bin];
    assert_float_equal(sum, 10, 1e-9);
    assert_true(upper > 0.2 && upper < 1.5); /* a quarter of 6, less what is drawn to the others */
    /* Known ones inside draw them all the more. */
    known[distance_bin(100)] = 50;
    estimate_spread(known, intervals, 2);
    assert_float_equal(mrc_sum(known), 60, 1e-9);
    assert_true(known[distance_bin(100)] > 57);
    assert_float_equal(estimate_interval_mean(known, first, end), 100, 20);
    assert_true(estimate_interval_mean((double[DISTANCE_BINS]){0}, 5, 7) == 5);
}

/* ---- live reuse: simulated ------------------------------------------------------------------- */

/*
 * A program whose distances are known: each of its contexts has a mixture of them. Samples are
 * taken at intervals of some 5 ms, their reuses foreseen or watched by `detect` with three
 * registers, and the times that are logged contain the scattered costs of traps. One access a
 * nanosecond, so that distances are times.
 */
enum { SIMULATED_CONTEXTS = 6, SIMULATED_REGISTERS = 3, SIMULATED_INTERVAL = 5000000 };

struct simulated {
    struct base_random random;
    struct thread *thread;
    struct detect detect;
    struct detect_context contexts[SIMULATED_CONTEXTS];
    uint64_t now, end;
    struct {
        uint64_t armed, due, handlers;
        uint64_t foreseen; /* accesses that were looked at in vain */
    } watches[SIMULATED_REGISTERS];
    uint64_t handlers; /* entered so far */
    unsigned armed_now;
    uint64_t foreseen_now, due_now;
    double truth[DISTANCE_BINS];
    bool uncorrected; /* the planted fault */
};

static double draw_unit(struct base_random *random)
{
    return (double)(base_random_next(random) >> 11) * 0x1p-53;
}

/* Between low and high, evenly over the logarithm. */
static uint64_t draw_between(struct base_random *random, double low, double high)
{
    return (uint64_t)(low * pow(high / low, draw_unit(random)));
}

/* UINT64_MAX: never again. */
static uint64_t draw_distance(struct base_random *random, unsigned context)
{
    static const struct {
        double share, low, high;
    } parts[SIMULATED_CONTEXTS][4] = {
        {{0.9, 1, 100}, {0.1, 100, 1e5}},
        {{0.5, 4, 8}, {0.3, 500, 5000}, {0.2, 1e6, 4e6}},
        {{0.3, 2, 50}, {0.5, 3e7, 6e7}, {0.2, 1e5, 1e6}},
        {{0.6, 8, 64}, {0.4, 1e9, 4e9}},
        {{0.2, 1, 20}, {0.6, 2e4, 1e5}, {0.1, 2e8, 4e8}, {0.1, 0, 0}},
        {{1, 60, 3000}},
    };
    double at = draw_unit(random);
    for (unsigned part = 0; part < 4; part++) {
        at -= parts[context][part].share;
        if (at < 0 && parts[context][part].low > 0)
            return draw_between(random, parts[context][part].low, parts[context][part].high);
        if (at < 0)
            break;
    }
    return UINT64_MAX;
}

static unsigned draw_context(struct base_random *random)
{
    static const double below[SIMULATED_CONTEXTS] = {0.3, 0.55, 0.7, 0.8, 0.95, 1};
    double at = draw_unit(random);
    unsigned context = 0;
    while (context + 1 < SIMULATED_CONTEXTS && at >= below[context])
        context++;
    return context;
}

/* Some 3 us with a scatter of 0.15 and now and then an interrupt. */
static uint64_t draw_cost(struct base_random *random)
{
    double sum = -6;
    for (unsigned i = 0; i < 12; i++)
        sum += draw_unit(random);
    return (uint64_t)(3000 + 150 * sum) + (base_random_below(random, 50) ? 0 : 20000);
}

static bool simulated_arm(void *machine, unsigned index, const struct detect_sample *sample)
{
    struct simulated *simulated = machine;
    simulated->watches[index].armed = simulated->now;
    simulated->watches[index].due = simulated->due_now;
    simulated->watches[index].handlers = simulated->handlers;
    simulated->watches[index].foreseen = simulated->foreseen_now;
    return true;
}

static void simulated_disarm(void *machine, unsigned index)
{
}

static uint64_t simulated_below(void *machine, uint64_t bound)
{
    return base_random_below(&((struct simulated *)machine)->random, bound);
}

static void log_outcome(struct simulated *simulated, unsigned index, uint32_t context,
                        uint32_t flags, float entry, float chance, uint32_t waited)
{
    uint64_t elapsed = simulated->now - simulated->watches[index].armed;
    uint32_t traps = (uint32_t)(simulated->handlers - simulated->watches[index].handlers);
    for (uint32_t i = 0; i < traps && i < 64; i++)
        elapsed += draw_cost(&simulated->random);
    elapsed += traps > 64 ? (traps - 64) * UINT64_C(3000) : 0;
    if (simulated->uncorrected) {
        entry = chance = 1;
        waited = 0;
    }
    WRITE(simulated->thread, WIRE_REUSE, reuse, .use_node = 3 + context,
          .reuse_node = flags ? 0 : 3 + context, .flags = flags, .traps = traps,
          .elapsed_ns = elapsed, .accesses = simulated->watches[index].foreseen, .weight = 1,
          .entry = entry, .chance = chance, .waited = waited, .bytes = 8);
}

static void simulated_lost(void *machine, unsigned index, const struct detect_lost *lost)
{
    struct simulated *simulated = machine;
    bool ended = simulated->now >= simulated->end;
    if (!simulated->uncorrected)
        log_outcome(simulated, index, lost->context_id, ended ? WIRE_REUSE_OPEN : WIRE_REUSE_LOST,
                    lost->entry, lost->chance, lost->waited);
}

/* Traps that are due before the time given, earliest first. */
static void simulate_traps(struct simulated *simulated, uint64_t until)
{
    static const struct detect_touch touch = {.direction = DETECT_LOADS};
    for (;;) {
        int first = -1;
        for (int i = 0; i < SIMULATED_REGISTERS; i++)
            if (simulated->detect.registers[i].busy && simulated->watches[i].due < until &&
                (first < 0 || simulated->watches[i].due < simulated->watches[first].due))
                first = i;
        if (first < 0)
            return;
        struct detect_finding finding;
        simulated->now = simulated->watches[first].due;
        simulated->handlers++;
        assert_int_equal(detect_touched(&simulated->detect, (unsigned)first, &touch, &finding),
                         DETECT_USE);
        log_outcome(simulated, (unsigned)first, finding.context_id, 0, finding.entry,
                    finding.chance, finding.waited);
    }
}

static void simulate_sample(struct simulated *simulated)
{
    struct base_random *random = &simulated->random;
    unsigned context = draw_context(random);
    uint64_t distance = draw_distance(random, context);
    /* Looks ahead at 150 accesses; flow that depends on something unknown cuts that short. */
    uint64_t ahead = base_random_below(random, 2) ? 150 : base_random_below(random, 150);
    uint32_t cost = (uint32_t)draw_cost(random);
    bool reused = distance < simulated->end - simulated->now;
    simulated->handlers += 2;
    if (reused)
        simulated->truth[distance_bin(distance)]++;
    if (distance <= ahead) {
        log_foreseen(simulated->thread, 3 + context, 3 + context, distance, 1);
        return;
    }
    struct detect_sample sample = {.kind = DETECT_REUSE,
                                   .bytes = 8,
                                   .weight = 1,
                                   .context_id = context,
                                   .context = &simulated->contexts[context]};
    simulated->foreseen_now = ahead;
    simulated->due_now = reused ? simulated->now + distance : UINT64_MAX;
    log_reuse_sample(simulated->thread, 3 + context, detect_take(&simulated->detect, &sample) >= 0,
                     1, cost);
}

struct simulation_result {
    double time, elapsed, short_ones,
        never; /* similarities; share of samples never reused, off by */
};

static struct simulation_result simulate(unsigned samples, uint64_t seed, bool uncorrected)
{
    static struct simulated simulated;
    struct simulation_result result;
    struct log log;
    reuse_begin(&log, WIRE_SOURCE_CLOCK);
    struct thread thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    log_node(&thread, 5, 1, 1, 0x2030, WIRE_NODE_LEAF);
    log_node(&thread, 6, 1, 1, 0x2040, WIRE_NODE_LEAF);
    log_node(&thread, 7, 1, 1, 0x2050, WIRE_NODE_LEAF);
    log_node(&thread, 8, 1, 1, 0x2060, WIRE_NODE_LEAF);
    simulated = (struct simulated){.random = {seed},
                                   .thread = &thread,
                                   .end = (uint64_t)samples * SIMULATED_INTERVAL,
                                   .uncorrected = uncorrected};
    struct detect_hooks hooks = {simulated_arm, simulated_disarm, simulated_below, &simulated,
                                 simulated_lost};
    struct detect_options options = {.kinds = 1U << DETECT_REUSE, .registers = SIMULATED_REGISTERS};
    detect_init(&simulated.detect, &options, &hooks);
    for (uint64_t tick = 0; tick < samples; tick++) {
        uint64_t at =
            tick * SIMULATED_INTERVAL + base_random_below(&simulated.random, SIMULATED_INTERVAL);
        simulate_traps(&simulated, at);
        simulated.now = at;
        simulate_sample(&simulated);
        if (tick % 1000 == 0)
            drain(&log);
    }
    simulate_traps(&simulated, simulated.end);
    simulated.now = simulated.end;
    for (unsigned i = 0; i < SIMULATED_REGISTERS; i++)
        if (simulated.detect.registers[i].busy)
            detect_abandon(&simulated.detect, i);
    thread.slot->counters.armed[DETECT_REUSE] = simulated.detect.counts.armed[DETECT_REUSE];
    wire_close(&thread.writer);
    thread.slot->cpu_ns = simulated.end;
    atomic_store(&thread.slot->state, WIRE_SLOT_ENDED);
    drain(&log);
    struct profile *profile = import_and_read(&log, &one_access_a_ns);
    double time[DISTANCE_BINS] = {0}, elapsed[DISTANCE_BINS] = {0};
    for (size_t i = 0; i < profile->bins_count; i++)
        (profile->bins[i].which == PROFILE_TIME ? time : elapsed)[profile->bins[i].bin] +=
            profile->bins[i].weight;
    const struct profile_reuse *reuse = &profile->reuses[0];
    double reused = 0;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        reused += simulated.truth[bin];
    result.time = mrc_similarity(time, simulated.truth);
    result.elapsed = mrc_similarity(elapsed, simulated.truth);
    result.never = reuse->locations / reuse->accesses - (1 - reused / samples);
    for (unsigned bin = distance_bin(4096); bin < DISTANCE_BINS; bin++)
        time[bin] = simulated.truth[bin] = 0;
    result.short_ones = mrc_similarity(time, simulated.truth);
    profile_free(profile);
    log_free(&log);
    return result;
}

static void simulated_histograms_are_found(void **state)
{
    enum { RUNS = 8, SAMPLES = 20000 };
    double right = 0, wrong = 0, near = 0, never = 0, worst = 1, elapsed = 1;
    for (uint64_t run = 0; run < RUNS; run++) {
        struct simulation_result result = simulate(SAMPLES, 100 + run, false);
        right += result.time / RUNS;
        near += result.short_ones / RUNS;
        never += fabs(result.never) / RUNS;
        worst = fmin(worst, result.time);
        elapsed = fmin(elapsed, result.elapsed);
        wrong += simulate(SAMPLES, 100 + run, true).time / RUNS;
    }
    print_message(
        "# histogram of %d samples: %.4f (worst %.4f), below 4096 alone %.4f, times %.4f; "
        "never reused off by %.4f; without correction %.4f\n",
        SAMPLES, right, worst, near, elapsed, never, wrong);
    assert_true(right > 0.95 && worst > 0.94 && elapsed > 0.94 && never < 0.02);
    assert_true(wrong < right - 0.03); /* the comparison can fail */
}

static void simulated_caches_add_up(void **state)
{
    struct log log;
    exact_begin(&log, 0);
    struct thread a = image_begin(&log, 9, 100, WIRE_NONE, false, 1, 5);
    struct thread b = image_begin(&log, 7, 101, 9, true, 100, 6);
    struct thread *both[] = {&a, &b};
    for (size_t i = 0; i < 2; i++) {
        WRITE(both[i], WIRE_WHAT_IF, what_if, .bytes = 32768, .ways = 8, .line_bytes = 64,
              .accesses = 1000, .misses = 10 + i);
        WRITE(both[i], WIRE_WHAT_IF, what_if, .bytes = 32768, .ways = 0, .line_bytes = 64,
              .accesses = 1000, .misses = 5);
        WRITE(both[i], WIRE_WHAT_IF, what_if, .bytes = 0, .line_bytes = 64);
        WRITE(both[i], WIRE_WHAT_IF, what_if, .bytes = 64, .line_bytes = 0);
        WRITE(both[i], WIRE_WHAT_IF, what_if, .bytes = 64, .line_bytes = 64, .misses = 1);
        WRITE(both[i], WIRE_WHAT_IF, what_if, .bytes = 64, .line_bytes = 64,
              .accesses = UINT64_MAX);
        /* Of instructions: one that adds up, one that touches nothing, one of no node. */
        log_module(both[i], 1, "/bin/prog");
        log_node(both[i], 1, 0, 1, 0x1028, WIRE_NODE_LEAF);
        WRITE(both[i], WIRE_WHAT_IF, what_if, .bytes = 32768, .line_bytes = 64, .node = 1,
              .accesses = 5, .misses = 9, .moved_bytes = 40, .low = 4096, .end = 4136);
        WRITE(both[i], WIRE_WHAT_IF, what_if, .bytes = 32768, .line_bytes = 64, .node = 1,
              .accesses = 5, .low = 4096, .end = 4096);
        WRITE(both[i], WIRE_WHAT_IF, what_if, .bytes = 32768, .line_bytes = 64, .node = 7,
              .accesses = 5, .low = 4096, .end = 4136);
        image_end(&log, both[i]);
    }
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->run.corrupt_records, 12);
    assert_int_equal(profile->what_if_sites_count, 1);
    const struct profile_what_if_site *site = &profile->what_if_sites[0];
    assert_true(profile->frames[site->frame].line > 0);
    assert_true(site->accesses == 10 && site->misses == 18 && site->moved_bytes == 80);
    assert_true(site->low == 4096 && site->end == 4136);
    assert_int_equal(profile->what_ifs_count, 2);
    assert_int_equal(profile->what_ifs[0].ways, 8);
    assert_int_equal(profile->what_ifs[0].accesses, 2000);
    assert_int_equal(profile->what_ifs[0].misses, 21);
    assert_int_equal(profile->what_ifs[1].misses, 10);
    profile_free(profile);
    log_free(&log);
}

static void count_progress(void *context, const char *step, uint64_t done, uint64_t total)
{
    assert_true(done <= total && step[0]);
    ++*(unsigned *)context;
}

/* Aggregation: a long log costs what its different pairs cost. */
static void long_logs_take_little_memory(void **state)
{
    struct log log;
    enum { TRAPS = 400000 };
    char error[512];
    unsigned told = 0;
    log_begin(&log);
    struct thread thread = thread_begin(&log, 1, 100);
    log_contexts(&thread);
    for (unsigned i = 0; i < TRAPS; i++) {
        log_trap(&thread, DETECT_DEAD, i % 2, 3, 4, 1, 0);
        if (i % 5000 == 0)
            drain(&log);
    }
    thread_end(&log, &thread);
    assert_int_equal(
        import_log(log.path, NULL, NULL, log.profile, count_progress, &told, error, sizeof error),
        BASE_OK);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->pairs[0].waste_traps, TRAPS / 2);
    assert_int_equal(profile->contexts_count, 6);
    profile_free(profile);
    assert_true(told > 0 && told < 100);
    log_free(&log);
}

/* ---- what locations lie in ------------------------------------------------------------------- */

static void log_located(struct thread *thread, struct wire_located record)
{
    record.record = (struct wire_record){.type = WIRE_LOCATED, .bytes = sizeof record};
    assert_true(wire_write(&thread->writer, &record.record));
}

static const struct profile_located *located_of(const struct profile *profile, uint32_t object,
                                                uint64_t size)
{
    for (size_t i = 0; i < profile->located_count; i++) {
        const struct profile_memory *memory = &profile->memories[profile->located[i].memory];
        if (memory->object == object && memory->size == size)
            return &profile->located[i];
    }
    return NULL;
}

/* The block was allocated by a thread whose nodes are read later. */
static void locations_lie_in_objects(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread other = thread_begin(&log, 1, 101), thread = thread_begin(&log, 1, 100);
    log_process(&other, WIRE_NONE, false);
    log_contexts(&other);
    log_contexts(&thread);
    struct wire_located block = {.kind = WIRE_OBJECT_HEAP,
                                 .process = 1,
                                 .thread = other.writer.thread,
                                 .node = 2,
                                 .size = 4096,
                                 .offset = 64,
                                 .chance = 1};
    struct wire_located small = block;
    small.size = 24;
    small.offset = 8;
    small.chance = 0.125F;
    log_trap(&thread, DETECT_DEAD, true, 3, 4, 2, 0);
    log_located(&thread, block);
    log_trap(&thread, DETECT_DEAD, true, 3, 4, 2, 0);
    block.offset = 4088;
    log_located(&thread, block);
    log_trap(&thread, DETECT_DEAD, true, 3, 4, 2, 0);
    log_located(&thread, small);
    log_trap(&thread, DETECT_DEAD, true, 3, 4, 2, 0);
    log_located(&thread,
                (struct wire_located){
                    .kind = WIRE_OBJECT_GLOBAL, .module = 1, .offset = 0x4040, .chance = 1});
    log_trap(&thread, DETECT_DEAD, true, 3, 4, 2, 0);
    log_located(&thread, (struct wire_located){.kind = WIRE_OBJECT_STACK, .chance = 1});
    thread_end(&log, &thread);
    thread_end(&log, &other);
    struct profile *profile = import_and_read(&log, NULL);
    const struct profile_pair *pair = &profile->pairs[0];
    const struct profile_located *large = located_of(profile, PROFILE_OBJECT_HEAP, 4096);
    const struct profile_located *little = located_of(profile, PROFILE_OBJECT_HEAP, 24);
    assert_int_equal(profile->located_count, 4);
    assert_non_null(large);
    assert_non_null(little);
    assert_true(large->first == pair->first && large->second == pair->second);
    assert_int_equal(large->kind, PROFILE_DEAD);
    assert_true(large->low == 64 && large->high == 4088 && large->seen == 2);
    /* A block of which one in eight is recorded stands for eight. */
    assert_true(fabs(little->weight / large->weight - 4) < 1e-6);
    uint32_t allocated = profile->memories[large->memory].context;
    assert_string_equal(frame_of(profile, allocated, 0)->function, "work");
    assert_string_equal(frame_of(profile, allocated, 1)->function, "main");
    /* No symbol, so it is data of the file. */
    const struct profile_located *data = located_of(profile, PROFILE_OBJECT_DATA, 0);
    assert_non_null(data);
    assert_string_equal(profile->modules[profile->memories[data->memory].module].path, "/bin/prog");
    const struct profile_located *stack = located_of(profile, PROFILE_OBJECT_STACK, 0);
    assert_non_null(stack);
    assert_int_equal(profile->memories[stack->memory].other, 1);
    assert_int_equal(profile->run.corrupt_records, 0);
    profile_free(profile);
    log_free(&log);
}

/* What makes no sense is counted, and what belongs to no finding left out. */
static void wild_locations_are_left_out(void **state)
{
    struct log log;
    log_begin(&log);
    struct thread thread = thread_begin(&log, 1, 100);
    static const struct wire_located wild[] = {
        {.kind = WIRE_OBJECTS, .chance = 1},
        {.kind = WIRE_OBJECT_HEAP, .size = 16, .offset = 16, .chance = 1},
        {.kind = WIRE_OBJECT_HEAP, .size = 16, .offset = -1, .chance = 1},
        {.kind = WIRE_OBJECT_HEAP, .size = UINT64_C(1) << 60, .chance = 1},
        {.kind = WIRE_OBJECT_STACK, .chance = 0},
        {.kind = WIRE_OBJECT_STACK, .chance = 2},
        {.kind = WIRE_OBJECT_STACK, .chance = NAN},
    };
    struct wire_located sound = {.kind = WIRE_OBJECT_HEAP,
                                 .process = 1,
                                 .thread = 77, /* of which there is no record */
                                 .node = 9,
                                 .size = 32,
                                 .chance = 1};
    log_process(&thread, WIRE_NONE, false);
    log_contexts(&thread);
    log_located(&thread, sound); /* of nothing */
    for (size_t i = 0; i < BASE_COUNT(wild); i++) {
        log_trap(&thread, DETECT_DEAD, true, 3, 4, 2, 0);
        log_located(&thread, wild[i]);
    }
    log_trap(&thread, DETECT_DEAD, true, 3, 4, 2, 0);
    log_located(&thread, sound);
    log_located(&thread, sound); /* once more for the same */
    thread_end(&log, &thread);
    struct profile *profile = import_and_read(&log, NULL);
    assert_int_equal(profile->located_count, 1);
    assert_int_equal(profile->located[0].seen, 1);
    assert_int_equal(profile->memories[0].context, 0);
    assert_int_equal(profile->run.corrupt_records, BASE_COUNT(wild));
    profile_free(profile);
    log_free(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_one_pair),
        cmocka_unit_test(locations_lie_in_objects),
        cmocka_unit_test(wild_locations_are_left_out),
        cmocka_unit_test(threads_and_processes_are_merged),
        cmocka_unit_test(node_ids_are_the_threads_own),
        cmocka_unit_test(too_deep_contexts_are_cut),
        cmocka_unit_test(a_forked_child_uses_its_parents_modules),
        cmocka_unit_test(exec_continues_the_process),
        cmocka_unit_test(unknown_modules_keep_name_and_offset),
        cmocka_unit_test(killed_in_mid_sample_is_unfinished),
        cmocka_unit_test(counters_that_do_not_add_up_are_told),
        cmocka_unit_test(incomplete_contexts_are_told_where_they_are_many),
        cmocka_unit_test(lost_counters_are_rebuilt_from_records),
        cmocka_unit_test(nonsense_records_are_counted),
        cmocka_unit_test(frames_are_ordered_and_gaps_counted),
        cmocka_unit_test(any_cut_and_any_flip_is_survived),
        cmocka_unit_test(other_files_are_no_logs),
        cmocka_unit_test(exact_counts_add_up),
        cmocka_unit_test(waste_of_a_sample_is_brought_to_scale),
        cmocka_unit_test(far_ids_cost_no_more_than_near_ones),
        cmocka_unit_test(pairs_of_many_processes_are_bounded),
        cmocka_unit_test(uses_alone_are_folded),
        cmocka_unit_test(what_was_executed_is_read),
        cmocka_unit_test(exact_images_find_their_parents),
        cmocka_unit_test(reuse_is_summed_by_process),
        cmocka_unit_test(exact_nonsense_is_counted),
        cmocka_unit_test(shared_lines_of_all_processes_add_up),
        cmocka_unit_test(shared_nonsense_is_counted),
        cmocka_unit_test(meetings_become_lines),
        cmocka_unit_test(all_that_lies_on_a_line_is_used_together),
        cmocka_unit_test(who_reads_until_it_may_go_on_moves_little),
        cmocka_unit_test(processes_share_lines_of_files),
        cmocka_unit_test(meetings_of_nonsense_are_counted),
        cmocka_unit_test(any_flip_of_an_exact_log_is_survived),
        cmocka_unit_test(foreseen_reuse_is_certain),
        cmocka_unit_test(traps_are_taken_off),
        cmocka_unit_test(counted_reuse_is_exact),
        cmocka_unit_test(counts_give_the_pace),
        cmocka_unit_test(ends_count_and_losses_do_not),
        cmocka_unit_test(distances_bound_the_locations),
        cmocka_unit_test(only_the_programs_time_counts),
        cmocka_unit_test(threads_have_costs_of_their_own),
        cmocka_unit_test(processes_are_told_apart),
        cmocka_unit_test(reuse_nonsense_is_counted),
        cmocka_unit_test(any_flip_of_a_reuse_log_is_survived),
        cmocka_unit_test(costs_are_robust),
        cmocka_unit_test(paces_hold_programs_left_out),
        cmocka_unit_test(settled_weights_add_up),
        cmocka_unit_test(intervals_follow_what_is_known),
        cmocka_unit_test(simulated_histograms_are_found),
        cmocka_unit_test(simulated_caches_add_up),
        cmocka_unit_test(long_logs_take_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
