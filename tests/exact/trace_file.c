// SPDX-License-Identifier: MIT
#include "trace_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static int64_t read_file(void *file, void *bytes, size_t count)
{
    size_t got = fread(bytes, 1, count, file);
    return ferror((FILE *)file) ? -1 : (int64_t)got;
}

static _Noreturn void give_up(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    exit(2);
}

struct wire_trace_reader *trace_open(const char *path, uint32_t ids_max)
{
    FILE *file = fopen(path, "rb");
    struct wire_trace_reader *reader = malloc(wire_trace_reader_bytes());
    if (!file || !reader)
        give_up(path, "cannot be opened");
    enum base_status status = wire_trace_open(
        reader, trace_reserve(wire_trace_predictor_bytes(ids_max)), ids_max, read_file, file);
    if (status != BASE_OK)
        give_up(path, base_status_text(status));
    return reader;
}

bool trace_next(struct wire_trace_reader *reader, struct wire_trace_event *event)
{
    enum base_status status = wire_trace_next(reader, event);
    if (status != BASE_OK && status != BASE_NOT_FOUND)
        give_up("trace", base_status_text(status));
    return status == BASE_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

void *trace_reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        give_up("trace", "there is no address space");
    return memory;
}

void trace_clear(uint8_t *start, uint64_t bytes)
{
    uintptr_t from = ((uintptr_t)start + PAGE - 1) & -(uintptr_t)PAGE;
    uintptr_t to = ((uintptr_t)start + bytes) & -(uintptr_t)PAGE;
    if (from >= to) {
        memset(start, 0, bytes);
        return;
    }
    memset(start, 0, from - (uintptr_t)start);
    memset((void *)to, 0, (uintptr_t)start + bytes - to);
    madvise((void *)from, to - from, MADV_DONTNEED);
}

static void *shadow_map(void *context, size_t bytes, bool touched_as_needed)
{
    (void)context, (void)touched_as_needed;
    return trace_reserve(bytes);
}

static void shadow_unmap(void *context, void *memory, size_t bytes)
{
    (void)context;
    munmap(memory, bytes);
}

static void shadow_clear(void *context, void *start, size_t bytes)
{
    (void)context;
    trace_clear(start, bytes);
}

const struct shadow_memory trace_shadow_memory = {shadow_map, shadow_unmap, shadow_clear, NULL};
