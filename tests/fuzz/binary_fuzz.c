// SPDX-License-Identifier: MIT
/*
 * Fuzzer (libFuzzer) of everything that reads program files: arbitrary bytes
 * must give a status or an answer, and every table that compiles must pass the
 * reader's thorough check.
 */
#include "binary/fields.h"
#include "binary/lines.h"
#include "binary/scopes.h"
#include "cfg/cfg.h"
#include "unwind/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRAMES = 8, PROBES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compile(const char *path)
{
    struct unwind_table table;
    struct unwind_row row;
    uint64_t bytes;
    int output = memfd_create("table", MFD_CLOEXEC);
    if (binary_compile_unwind(path, output, &bytes) == BASE_OK) {
        void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, output, 0);
        if (memory == MAP_FAILED || unwind_table_open(memory, bytes, true, &table) != BASE_OK)
            abort();
        for (uint64_t i = 0; i < PROBES; i++)
            unwind_table_find(&table, table.header.base_vaddr + i * 7, &row);
        munmap(memory, bytes);
    }
    close(output);
}

/* Data, frames and blocks: of whatever has an address near. */
static void describe(struct binary *binary, uint64_t near)
{
    struct binary_field fields[FRAMES];
    struct binary_object object = {0};
    bool hands_on;
    char text[64];
    if (cfg_start() != BASE_OK)
        abort();
    for (uint64_t i = 0; i < PROBES; i++) {
        enum base_status status =
            i % 4 == 0   ? binary_variable(binary, near + i * 64, near, &object)
            : i % 4 == 1 ? binary_thread_variable(binary, i, near, &object)
            : i % 4 == 2 ? binary_frame_variable(binary, near + i, -(int64_t)i, &object)
                         : binary_allocated(binary, near + i, i * 8, &object, &hands_on);
        if (status != BASE_OK)
            continue;
        if (binary_fields(binary, &object, 0, UINT64_MAX, fields, FRAMES) > FRAMES)
            abort();
        binary_object_text(binary, &object, i, text, sizeof text);
    }
}

static bool count_row(void *context, const struct binary_row *row)
{
    if (row->end < row->start)
        abort();
    ++*(size_t *)context;
    return true;
}

/* Lines and variables, and all of the file that the lines come from. */
static void locate(struct binary *binary, uint64_t near)
{
    struct binary_locals locals;
    struct binary_local named;
    struct binary_frame frame;
    struct binary_coverage coverage;
    uint8_t base;
    int64_t offset;
    size_t rows = 0;
    binary_line_rows(binary, near, near + PROBES * 4, count_row, &rows);
    if (binary_frames(binary, near, &frame, 1) && frame.file)
        binary_file_rows(binary, frame.file, count_row, &rows);
    for (uint64_t at = near; at < near + PROBES; at += 16) {
        binary_frame_at(binary, at, &base, &offset);
        if (binary_locals(binary, at, &locals) != BASE_OK)
            continue;
        for (size_t i = 0; i < locals.count && i < PROBES; i++)
            if (locals.items[i].name)
                binary_named(binary, at, locals.items[i].name, &named);
        binary_locals_free(&locals);
    }
    binary_coverage(binary, &coverage);
}

/* Wherever the file's own code seems to be: its entry point. */
static void symbolize(const char *path, const uint8_t *data, size_t size)
{
    struct binary *binary;
    struct binary_frame frames[FRAMES];
    struct binary_options options = {.debug_root = "/nonexistent", .locations = true};
    uint64_t entry = 0;
    uint8_t id[BINARY_BUILD_ID_BYTES];
    char code[16];
    if (binary_open(path, &options, &binary) != BASE_OK)
        return;
    if (size >= 32)
        __builtin_memcpy(&entry, data + 24, sizeof entry);
    for (uint64_t i = 0; i < PROBES; i++) {
        binary_frames(binary, entry + i * 5, frames, FRAMES);
        binary_read(binary, entry + i * 5, code, sizeof code);
    }
    describe(binary, entry);
    locate(binary, entry);
    binary_build_id(binary, id);
    binary_close(binary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    enum binary_kind kind;
    char interpreter[4096];
    int file = memfd_create("input", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    binary_classify(path, &kind, interpreter);
    compile(path);
    symbolize(path, data, size);
    close(file);
    return 0;
}
