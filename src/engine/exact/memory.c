// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory for shadow and distance. Valgrind manages the lowest 16 TiB of the address space and never
 * looks above; the rooms' large maps are reserved there, so that records lie at a fixed
 * distance from what they describe and Valgrind's own tables do not know of terabytes.
 * MAP_NORESERVE: nothing is committed before it is touched.
 */
#include "exact/exact.h"

#include "base/syscall.h"

#include <pub_tool_libcbase.h>
#include <pub_tool_vki.h>
#include <pub_tool_vkiscnums.h>

static Addr next_free = 0x200000000000; /* 32 TiB */

enum {
    FIXED_NOREPLACE = 0x100000,
    NORESERVE = 0x4000,
    ADVISE_DONTNEED = 4,
    ADVISE_HUGEPAGE = 14,
    HUGE_PAGE = 1 << 21
};

void *exact_reserve(SizeT bytes)
{
    bytes = VG_PGROUNDUP(bytes);
    long at =
        base_syscall6(__NR_mmap, (long)next_free, (long)bytes, VKI_PROT_READ | VKI_PROT_WRITE,
                      VKI_MAP_PRIVATE | VKI_MAP_ANONYMOUS | FIXED_NOREPLACE | NORESERVE, -1, 0);
    if (at != (long)next_free)
        return NULL;
    next_free = (next_free + bytes + HUGE_PAGE) & ~(Addr)(HUGE_PAGE - 1);
    return (void *)at;
}

static void *map(void *context, size_t bytes, bool reserve)
{
    (void)context;
    void *memory = exact_reserve(bytes);
    /* Tables are used whole and at random. What lies at a fixed distance from the program's memory
       is as sparse as that is: small programs would take several times as much. */
    if (memory && !reserve)
        base_syscall6(__NR_madvise, (long)memory, (long)VG_PGROUNDUP(bytes), ADVISE_HUGEPAGE, 0, 0,
                      0);
    return memory;
}

static void unmap(void *context, void *memory, size_t bytes)
{
    (void)context;
    base_syscall6(__NR_munmap, (long)memory, (long)VG_PGROUNDUP(bytes), 0, 0, 0, 0);
}

/* Whole pages go back to the kernel; a few are cheaper to write than to fault in again. */
static void clear(void *context, void *start, size_t bytes)
{
    (void)context;
    Addr from = VG_PGROUNDUP((Addr)start), to = VG_PGROUNDDN((Addr)start + bytes);
    if (to <= from || to - from < 16 * VKI_PAGE_SIZE) {
        VG_(memset)(start, 0, bytes);
        return;
    }
    VG_(memset)(start, 0, from - (Addr)start);
    VG_(memset)((void *)to, 0, (Addr)start + bytes - to);
    base_syscall6(__NR_madvise, (long)from, (long)(to - from), ADVISE_DONTNEED, 0, 0, 0);
}

const struct shadow_memory exact_memory = {.map = map, .unmap = unmap, .clear = clear};
const struct distance_memory exact_distance_memory = {.map = map, .unmap = unmap};

/* ---- what the rooms and the compiler expect of a C library -------------------------------- */

int memcmp(const void *a, const void *b, size_t bytes);
void *memchr(const void *text, int byte, size_t bytes);

int memcmp(const void *a, const void *b, size_t bytes)
{
    return VG_(memcmp)(a, b, bytes);
}

void *memchr(const void *text, int byte, size_t bytes)
{
    const UChar *at = text;
    for (; bytes; bytes--, at++)
        if (*at == (UChar)byte)
            return (void *)at;
    return NULL;
}
