// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory for what the engine keeps of the program's memory, in the upper part of the address space, so that records lie at a fixed
 * distance from what they describe and Valgrind's own tables do not know of terabytes.
 * MAP_NORESERVE: nothing is committed before it is touched.
 *
 * Valgrind puts the program's memory below 128 GiB, but where the program asks for an address it gets that one, and
 * Go, mimalloc and V8 ask for some between 768 GiB and 64 TiB. So the program's part is the lowest 8 TiB. What lies above is
 * entered as in use, as memory of the program without access: then a mere hint leads elsewhere, and only a program that
 * insists on its address (MAP_FIXED) has memory that is not followed.
 */
#include "exact/exact.h"

#include "base/syscall.h"

#include <pub_tool_libcbase.h>
#include <pub_tool_vki.h>
#include <pub_tool_vkiscnums.h>

enum {
    FIXED_NOREPLACE = 0x100000,
    NORESERVE = 0x4000,
    ADVISE_DONTNEED = 4,
    ADVISE_HUGEPAGE = 14,
    HUGE_PAGE = 1 << 21
};
#define STEP (UINT64_C(1) << 40)
/* 16 TiB, and 126 TiB: above are the tool's own stack and the vDSO. */
#define FIRST_FREE UINT64_C(0x100000000000)
#define LAST_FREE  UINT64_C(0x7e0000000000)

static Addr next_free = FIRST_FREE;

/* Of Valgrind's core, in no public header. */
Bool VG_(am_notify_client_mmap)(Addr start, SizeT bytes, UInt access, UInt flags, Int descriptor,
                                Long offset);

void exact_memory_init(void)
{
    VG_(am_notify_client_mmap)
    (EXACT_PROGRAM_END, LAST_FREE - EXACT_PROGRAM_END, VKI_PROT_NONE,
     VKI_MAP_PRIVATE | VKI_MAP_ANONYMOUS, -1, 0);
}

Bool exact_memory_holds(Addr start, SizeT bytes)
{
    return start < next_free && (bytes > FIRST_FREE || start + bytes > FIRST_FREE);
}

static long map_at(Addr start, SizeT bytes)
{
    return base_syscall6(__NR_mmap, (long)start, (long)bytes, VKI_PROT_READ | VKI_PROT_WRITE,
                         VKI_MAP_PRIVATE | VKI_MAP_ANONYMOUS | FIXED_NOREPLACE | NORESERVE, -1, 0);
}

/* By threads that count, too. */
static UChar reserving;

static void *reserve(SizeT bytes)
{
    /* Past what the kernel has put there: without a limit on stacks that begins at 42 TiB. */
    for (Addr at = next_free; at < LAST_FREE && bytes <= LAST_FREE - at; at += STEP) {
        if (map_at(at, bytes) != (long)at)
            continue;
        next_free = (at + bytes + HUGE_PAGE) & ~(Addr)(HUGE_PAGE - 1);
        return (void *)at;
    }
    return NULL;
}

void *exact_reserve(SizeT bytes)
{
    while (__atomic_test_and_set(&reserving, __ATOMIC_ACQUIRE))
        base_syscall6(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
    void *memory = reserve(VG_PGROUNDUP(bytes));
    __atomic_clear(&reserving, __ATOMIC_RELEASE);
    return memory;
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

static void *map_sparse(void *context, size_t bytes)
{
    (void)context;
    return exact_reserve(bytes);
}

const struct heapmap_memory exact_heapmap_memory = {.map = map_sparse, .unmap = unmap};
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
