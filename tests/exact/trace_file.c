// SPDX-License-Identifier: MIT
#include "trace_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

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

struct wire_trace_reader *trace_open(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct wire_trace_reader *reader = malloc(wire_trace_reader_bytes());
    void *predictor = mmap(NULL, wire_trace_predictor_bytes(TRACE_IDS_MAX), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!file || !reader || predictor == MAP_FAILED)
        give_up(path, "cannot be opened");
    enum base_status status = wire_trace_open(reader, predictor, TRACE_IDS_MAX, read_file, file);
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
