// SPDX-License-Identifier: MIT
/*
 * Fuzzer (libFuzzer) of everything that reads program files: arbitrary bytes
 * must give a status or an answer, and every table that compiles must pass the
 * reader's thorough check.
 */
#include "binary/binary.h"
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

/* Wherever the file's own code seems to be: its entry point. */
static void symbolize(const char *path, const uint8_t *data, size_t size)
{
    struct binary *binary;
    struct binary_frame frames[FRAMES];
    struct binary_options options = {.debug_root = "/nonexistent"};
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
