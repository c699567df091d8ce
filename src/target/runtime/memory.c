// SPDX-License-Identifier: MIT
/*
 * Memory. The descriptor of the region is opened for each mapping and closed at once: the program's
 * own descriptors keep their numbers, and programs that close all of them lose nothing. Opening is
 * rare, because pieces are cut from larger chunks; they are sparse, so what is left over costs
 * addresses only. Not one mapping of the whole region: mlockall would fill it.
 */
#include "runtime/runtime.h"

#include <asm/unistd.h>

enum {
    PROT_BOTH = 3,  /* PROT_READ | PROT_WRITE                  */
    SHARED = 1,     /* MAP_SHARED                              */
    PRIVATE = 0x22, /* MAP_PRIVATE | MAP_ANONYMOUS             */
    NORESERVE = 0x4000,
    FIXED = 0x10,
    DONT_DUMP = 16, /* MADV_DONTDUMP                           */
    READ_WRITE = 2,
    CLOSE_ON_EXEC = 02000000,
    HERE = -100, /* AT_FDCWD                                */
};

#define FIRST_CHUNK (UINT64_C(1) << 20)
#define CHUNK_MAX   (UINT64_C(1) << 26)

/* Errors are small negative numbers. */
static bool is_error(long result)
{
    return (unsigned long)result > -4096UL;
}

void *runtime_map(uint64_t bytes)
{
    long at = RUNTIME_CALL(__NR_mmap, 0, bytes, PROT_BOTH, PRIVATE | NORESERVE, -1, 0);
    return is_error(at) ? NULL : (void *)at;
}

void runtime_lose(struct runtime_module *module)
{
    if (module->region)
        atomic_fetch_add(&module->region->lost, 1);
}

static void *lose(struct runtime_module *module)
{
    runtime_lose(module);
    return NULL;
}

void *runtime_map_region(struct runtime_module *module, uint64_t bytes, void *address)
{
    uint64_t at = atomic_fetch_add(&module->region->next, bytes);
    if (at + bytes > INSTRUMENTED_REGION_BYTES)
        return lose(module);
    long file = RUNTIME_CALL(__NR_openat, HERE, module->region_path, READ_WRITE | CLOSE_ON_EXEC);
    if (is_error(file))
        return lose(module);
    long mapped = RUNTIME_CALL(__NR_mmap, address, bytes, PROT_BOTH,
                               SHARED | NORESERVE | (address ? FIXED : 0), file, at);
    RUNTIME_CALL(__NR_close, file);
    if (is_error(mapped))
        return lose(module);
    /* Of no use in a core dump, and large. */
    RUNTIME_CALL(__NR_madvise, mapped, bytes, DONT_DUMP);
    return (void *)mapped;
}

static uint64_t map_chunk(struct runtime_module *module, uint64_t bytes)
{
    uint64_t base =
        (uint64_t)(module->region ? runtime_map_region(module, bytes, NULL) : runtime_map(bytes));
    if (base >= RUNTIME_LOWEST || base == 0)
        return base;
    RUNTIME_CALL(__NR_munmap, base, bytes);
    return 0;
}

/* NULL: the chunk, if there is one, is used up. */
static uint64_t cut(struct runtime_chunk *chunk, uint64_t bytes)
{
    if (!chunk || bytes > chunk->bytes)
        return 0;
    uint64_t at = atomic_fetch_add(&chunk->used, bytes);
    return at + bytes <= chunk->bytes ? chunk->base + at : 0;
}

/* Several threads may do this at once: then some chunk stays nearly unused. */
static uint64_t cut_new(struct runtime_module *module, uint64_t bytes)
{
    uint64_t size = atomic_load(&module->chunk_bytes);
    if (size < FIRST_CHUNK)
        size = FIRST_CHUNK;
    if (bytes > size / 2)
        return map_chunk(module, bytes);
    struct runtime_chunk *chunk = runtime_private(module, sizeof *chunk);
    uint64_t base = chunk ? map_chunk(module, size) : 0;
    if (!base)
        return map_chunk(module, bytes);
    chunk->base = base;
    chunk->bytes = size;
    atomic_store(&chunk->used, bytes);
    atomic_store(&module->chunk_bytes, size < CHUNK_MAX ? 2 * size : size);
    atomic_store(&module->chunk, chunk);
    return base;
}

void runtime_fill_piece(const struct runtime_module *module, struct instrumented_piece *piece,
                        uint64_t bytes, uint64_t address, uint64_t of)
{
    piece->pid = module->pid;
    piece->tid = (uint32_t)RUNTIME_CALL(__NR_gettid);
    piece->process = module->process;
    piece->bytes = bytes;
    piece->address = address;
    piece->module = module->map;
    piece->of = of;
}

struct instrumented_piece *runtime_piece(struct runtime_module *module, uint64_t bytes, uint64_t of)
{
    bytes = (bytes + INSTRUMENTED_PAGE - 1) & ~(uint64_t)(INSTRUMENTED_PAGE - 1);
    uint64_t at = cut(atomic_load(&module->chunk), bytes);
    if (!at)
        at = cut_new(module, bytes);
    if (at)
        runtime_fill_piece(module, (struct instrumented_piece *)at, bytes, at, of);
    return (struct instrumented_piece *)at;
}
