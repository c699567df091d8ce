// SPDX-License-Identifier: MIT
/*
 * Regions of timed spans as agents write them, and the raw log beside them, for tests. Two ticks are a nanosecond; a
 * recording lasts 10 s.
 */
#ifndef HEADROOM_TESTS_SPANS_FIXTURE_H
#define HEADROOM_TESTS_SPANS_FIXTURE_H

#include "wire/spans.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIXTURE_BYTES = 24 << 20 };
#define FIXTURE_START UINT64_C(1000000)
#define FIXTURE_TICKS UINT64_C(20000000000)

struct fixture {
    int file;
    unsigned char *bytes;
    struct spans_region *region;
    /* the log */
    struct wire_region *wire;
    FILE *log;
    char log_path[64], profile_path[80];
    uint64_t corrupt;
};

static inline void fixture_require(bool condition)
{
    if (!condition)
        abort();
}

/* ---- the region ----------------------------------------------------------------------------- */

static inline void fixture_region(struct fixture *fixture)
{
    fixture->file = memfd_create("blocks", MFD_CLOEXEC);
    fixture_require(fixture->file >= 0 && ftruncate(fixture->file, FIXTURE_BYTES) == 0);
    fixture->bytes =
        mmap(NULL, FIXTURE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fixture->file, 0);
    fixture_require(fixture->bytes != MAP_FAILED);
    struct spans_region *region = fixture->region = (void *)fixture->bytes;
    region->magic = SPANS_MAGIC;
    region->version = SPANS_VERSION;
    region->stack_period = 10000;
    region->switches = 1;
    region->functions = 1;
    region->next = (sizeof *region + SPANS_PAGE - 1) / SPANS_PAGE * SPANS_PAGE;
    region->ticks_start = FIXTURE_START;
    region->ns_start = 77;
    region->ticks_end = FIXTURE_START + FIXTURE_TICKS;
    region->ns_end = 77 + FIXTURE_TICKS / 2;
}

static inline uint32_t fixture_function(struct fixture *fixture, const char *name, uint8_t class,
                                        uint8_t entry, uint8_t key, uint64_t vaddr)
{
    uint32_t number = fixture->region->functions++;
    struct spans_function *function = &fixture->region->function[number];
    *function = (struct spans_function){.class = class, .entry = entry, .key = key, .every = 1};
    if (vaddr) {
        function->device = 1;
        function->inode = 2;
        function->vaddr = vaddr;
    }
    snprintf(function->name, sizeof function->name, "%s", name);
    function->state = SPANS_READY;
    return number;
}

/* A thread that lived from the beginning for that many ticks. tid 0: it has ended. */
static inline struct spans_thread *fixture_thread(struct fixture *fixture, uint32_t process,
                                                  uint32_t tid, uint64_t ticks)
{
    uint64_t bytes =
        sizeof(struct spans_thread) - (SPANS_OF_THREAD - 64) * sizeof(struct spans_span);
    bytes = (bytes + SPANS_PAGE - 1) / SPANS_PAGE * SPANS_PAGE;
    uint64_t offset = fixture->region->next;
    fixture_require(offset + bytes <= FIXTURE_BYTES);
    fixture->region->next = offset + bytes;
    struct spans_thread *thread = (void *)(fixture->bytes + offset);
    thread->piece.pid = 40;
    thread->piece.process = process;
    thread->piece.bytes = bytes;
    thread->live = tid;
    thread->threads = 1;
    thread->begun = FIXTURE_START + FIXTURE_TICKS - ticks;
    thread->ticks = tid ? 0 : ticks;
    thread->begun_ns = 77;
    thread->highest_every = 1;
    thread->piece.kind = SPANS_PIECE_THREAD;
    return thread;
}

static inline struct spans_span *fixture_span(struct spans_thread *thread, uint32_t function,
                                              uint64_t key, uint64_t shape)
{
    struct spans_span *span = &thread->span[thread->spans++];
    *span = (struct spans_span){
        .function = function, .key = key, .shape = shape, .min = UINT64_MAX, .sample_stride = 1};
    return span;
}

/* Executions that took so many ticks each; argument 0 is `argument`. */
static inline void fixture_run(struct spans_span *span, uint64_t times, uint64_t ticks,
                               uint64_t argument)
{
    span->recorded += times;
    span->sum += times * ticks;
    span->min = ticks < span->min ? ticks : span->min;
    span->max = ticks > span->max ? ticks : span->max;
    span->bins[spans_bin(ticks)] += (uint32_t)times;
    span->last = FIXTURE_START + FIXTURE_TICKS / 2;
    span->first = FIXTURE_START + 1;
    for (uint64_t i = 0; i < times && i < 4 && span->samples_count < SPANS_SAMPLES; i++)
        span->samples[span->samples_count++] = (struct spans_sample){ticks, {argument, 5, 6}, 0};
}

/* ---- the log ---------------------------------------------------------------------------------- */

static inline bool fixture_sink(void *context, const struct wire_frame *frame, const void *payload)
{
    struct fixture *fixture = context;
    return fwrite(frame, sizeof *frame, 1, fixture->log) == 1 &&
           fwrite(payload, frame->payload_bytes, 1, fixture->log) == 1;
}

static inline void fixture_log(struct fixture *fixture)
{
    struct wire_config config = {.spans = 3};
    fixture->wire = mmap(NULL, sizeof *fixture->wire, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fixture_require(fixture->wire != MAP_FAILED);
    wire_region_init(fixture->wire, &config);
    strcpy(fixture->log_path, "/dev/shm/headroom-blocks-XXXXXX");
    fixture->log = fdopen(mkstemp(fixture->log_path), "w");
    fixture_require(fixture->log != NULL);
    snprintf(fixture->profile_path, sizeof fixture->profile_path, "%s.headroom", fixture->log_path);
    struct wire_log_header header = {WIRE_LOG_MAGIC, WIRE_VERSION, sizeof header, config};
    fixture_require(fwrite(&header, sizeof header, 1, fixture->log) == 1);
}

struct fixture_writer {
    struct wire_writer writer;
    struct wire_thread_slot *slot;
};

static inline struct fixture_writer fixture_writer(struct fixture *fixture, uint32_t process,
                                                   uint32_t tid, const char *name)
{
    struct fixture_writer made = {.slot = wire_thread_begin(fixture->wire, process, 40, tid)};
    made.writer = (struct wire_writer){.region = fixture->wire,
                                       .chunk = WIRE_NONE,
                                       .process = process,
                                       .thread = made.slot->thread,
                                       .pid = 40};
    struct wire_thread record = {.record = {.type = WIRE_THREAD, .bytes = sizeof record},
                                 .process = process,
                                 .thread = made.slot->thread,
                                 .pid = 40,
                                 .tid = tid};
    snprintf(record.name, sizeof record.name, "%s", name);
    fixture_require(wire_write(&made.writer, &record.record));
    return made;
}

/* /bin/prog, mapped at 0x500000 for 0x10000 bytes, bias 0x4f0000. */
static inline void fixture_process(struct fixture_writer *writer)
{
    _Alignas(8) char buffer[256] = {0};
    struct wire_process *process = (struct wire_process *)buffer;
    *process = (struct wire_process){.record = {.type = WIRE_PROCESS, .bytes = 96},
                                     .process = writer->writer.process,
                                     .parent = UINT32_MAX,
                                     .pid = 40,
                                     .start_ns = 77,
                                     .exe_bytes = 10,
                                     .command_bytes = 5};
    memcpy(process->text, "/bin/prog\0prog", 15);
    fixture_require(wire_write(&writer->writer, &process->record));
    memset(buffer, 0, sizeof buffer);
    struct wire_module *module = (struct wire_module *)buffer;
    *module = (struct wire_module){.record = {.type = WIRE_MODULE, .bytes = sizeof *module + 64},
                                   .process = writer->writer.process,
                                   .module = 1,
                                   .start = 0x500000,
                                   .end = 0x510000,
                                   .bias = 0x4f0000,
                                   .device = 1,
                                   .inode = 2};
    strcpy(module->path, "/bin/prog");
    fixture_require(wire_write(&writer->writer, &module->record));
}

static inline void fixture_node(struct fixture_writer *writer, uint32_t node, uint32_t parent,
                                uint64_t vaddr)
{
    struct wire_node record = {.record = {.type = WIRE_NODE, .bytes = sizeof record},
                               .node = node,
                               .parent = parent,
                               .module = 1,
                               .vaddr = vaddr};
    fixture_require(wire_write(&writer->writer, &record.record));
}

static inline void fixture_end(struct fixture *fixture, struct fixture_writer *writer)
{
    wire_close(&writer->writer);
    atomic_store(&writer->slot->state, WIRE_SLOT_ENDED);
    fixture_require(wire_drain(fixture->wire, fixture_sink, fixture, &fixture->corrupt));
    fixture_require(fflush(fixture->log) == 0);
}

static inline void fixture_free(struct fixture *fixture)
{
    char old[96];
    if (fixture->log)
        fclose(fixture->log);
    if (fixture->wire)
        munmap(fixture->wire, sizeof *fixture->wire);
    munmap(fixture->bytes, FIXTURE_BYTES);
    close(fixture->file);
    snprintf(old, sizeof old, "%s.old", fixture->profile_path);
    unlink(fixture->log_path);
    unlink(fixture->profile_path);
    unlink(old);
}

#endif
