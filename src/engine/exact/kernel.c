// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel does to the program's memory: reads and writes inside system calls, signal
 * frames, mappings that come and go. The kernel's accesses stand at the instruction of the
 * system call.
 */
#include "exact/instrument.h"

#include "exact/jobs.h"
#include "exact/path.h"
#include "exact/sharing.h"

#include <pub_tool_aspacemgr.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_threadstate.h>
#include <pub_tool_vki.h>
#include <pub_tool_vkiscnums.h>

ULong exact_kernel_loaded, exact_kernel_stored;

enum { LOAD, STORE, SYSCALL_BYTES = 2 };

/* Id of the kernel's load or store in the system call that the thread is in, or where a signal
   interrupted it. */
static UInt kernel_id(CorePart part, ThreadId tid, UInt which)
{
    static struct exact_block *last;
    Addr ip = VG_(get_IP)(tid) - (part == Vg_CoreSignal ? 0 : SYSCALL_BYTES);
    if (!last || last->start != ip) {
        struct exact_access accesses[2];
        VG_(memset)(accesses, 0, sizeof accesses);
        for (UInt i = LOAD; i <= STORE; i++) {
            accesses[i].ip = ip;
            accesses[i].bytes = accesses[i].element = 8;
            accesses[i].flags = WIRE_NODE_KERNEL;
            accesses[i].store = i == STORE;
        }
        last = exact_block_for(ip, accesses, 2);
    }
    return (UInt)exact_ids(tid, last) + which;
}

static Bool readable(Addr address, SizeT bytes)
{
    return bytes && VG_(am_is_valid_for_client)(address, bytes, VKI_PROT_READ);
}

static void kernel_load(ThreadId tid, Addr address, SizeT bytes)
{
    if (!readable(address, bytes))
        return;
    exact_kernel_loaded += bytes;
    if (exact_options.kinds)
        shadow_kernel_load(&exact_shadow, address, kernel_id(Vg_CoreSysCall, tid, LOAD), bytes,
                           (const uint8_t *)address);
    if (exact_transfer)
        exact_sharing_kernel(tid, address, bytes, kernel_id(Vg_CoreSysCall, tid, LOAD), False);
    if (exact_options.trace)
        exact_trace_kernel(address, kernel_id(Vg_CoreSysCall, tid, LOAD), bytes, False);
}

static void before_read(CorePart part, ThreadId tid, const HChar *what, Addr address, SizeT bytes)
{
    (void)what;
    if (part == Vg_CoreSysCall || part == Vg_CoreSysCallArgInMem)
        kernel_load(tid, address, bytes);
}

/* Page by page: where the text ends is only known by reading it. */
static void before_read_text(CorePart part, ThreadId tid, const HChar *what, Addr address)
{
    (void)what;
    SizeT bytes = 0;
    if (part != Vg_CoreSysCall)
        return;
    while (readable(address + bytes, 1)) {
        Addr end = VG_PGROUNDDN(address + bytes) + VKI_PAGE_SIZE;
        for (; address + bytes < end; bytes++) {
            if (*(const HChar *)(address + bytes) == 0) {
                kernel_load(tid, address, bytes + 1);
                return;
            }
        }
    }
}

/* ---- stores: what was there before ------------------------------------------------------- */

enum { SAVED_MAX = 8, SAVED_BYTES_MAX = 1 << 24 };
static struct {
    ThreadId tid;
    Addr address;
    SizeT bytes, capacity;
    UChar *copy;
} saved[SAVED_MAX];
static UInt next_saved;

static void before_write(CorePart part, ThreadId tid, const HChar *what, Addr address, SizeT bytes)
{
    (void)what;
    if (!exact_options.kinds || (part != Vg_CoreSysCall && part != Vg_CoreSignal) ||
        bytes > SAVED_BYTES_MAX || !readable(address, bytes))
        return;
    UInt slot = next_saved++ % SAVED_MAX;
    if (saved[slot].capacity < bytes) {
        VG_(free)(saved[slot].copy);
        saved[slot].copy = VG_(malloc)("headroom.saved", bytes);
        saved[slot].capacity = bytes;
    }
    saved[slot].tid = tid;
    saved[slot].address = address;
    saved[slot].bytes = bytes;
    VG_(memcpy)(saved[slot].copy, (const void *)address, bytes);
}

/* Copies are of one system call: the next one finds other bytes there. */
static void forget_before(ThreadId tid)
{
    for (UInt i = 0; i < SAVED_MAX; i++)
        if (saved[i].tid == tid)
            saved[i].bytes = 0;
}

/* By thread: the system call it is in or was in last. Valgrind has every futex call store the word,
   but only those on priority-inheriting mutexes do. */
static UInt *syscalls;

static const UChar *memory_before(ThreadId tid, Addr address, SizeT bytes)
{
    for (UInt i = 1; i <= SAVED_MAX; i++) { /* the latest first */
        UInt slot = (next_saved - i) % SAVED_MAX;
        if (saved[slot].tid == tid && address >= saved[slot].address &&
            address + bytes <= saved[slot].address + saved[slot].bytes)
            return saved[slot].copy + (address - saved[slot].address);
    }
    return NULL;
}

static void after_write(CorePart part, ThreadId tid, Addr address, SizeT bytes)
{
    if (!readable(address, bytes) || (part == Vg_CoreSysCall && syscalls[tid] == __NR_futex))
        return;
    if (part != Vg_CoreSysCall && part != Vg_CoreSignal) {
        if (exact_options.kinds)
            shadow_forget(&exact_shadow, address, bytes);
        return;
    }
    exact_kernel_stored += bytes;
    if (exact_options.kinds)
        shadow_kernel_store(&exact_shadow, address, kernel_id(part, tid, STORE), bytes,
                            memory_before(tid, address, bytes), (const uint8_t *)address);
    if (exact_transfer)
        exact_sharing_kernel(tid, address, bytes, kernel_id(part, tid, STORE), True);
    if (exact_options.trace)
        exact_trace_kernel(address, kernel_id(part, tid, STORE), bytes, True);
}

/* ---- memory that comes and goes ------------------------------------------------------------- */

static void gone(Addr address, SizeT bytes)
{
    exact_module_gone();
    if (exact_options.kinds)
        shadow_forget(&exact_shadow, address, bytes);
    if (exact_distance)
        distance_forget(exact_distance, address, bytes);
    if (exact_transfer)
        transfer_forget(exact_transfer, address, bytes);
    if (exact_options.caches_count)
        cache_bank_forget(&exact_caches, address, bytes);
    exact_last_line = ~0ULL; /* no line's */
    if (exact_options.trace)
        exact_trace_forget(address, bytes);
}

static void new_mapping(Addr address, SizeT bytes, Bool read, Bool write, Bool execute,
                        ULong debug_info)
{
    (void)read, (void)write, (void)execute, (void)debug_info;
    gone(address, bytes);
}

static void new_break(Addr address, SizeT bytes, ThreadId tid)
{
    (void)tid;
    gone(address, bytes);
}

static void moved(Addr from, Addr to, SizeT bytes)
{
    (void)from;
    gone(to, bytes);
}

/* ---- system calls ---------------------------------------------------------------------------- */

/* Nothing else can be put there, and the engine cannot go on without what lies there. */
static void refuse_our_memory(const UWord *arguments)
{
    if (arguments[3] & VKI_MAP_FIXED && exact_memory_holds(arguments[0], arguments[1]))
        exact_fail(
            "the program insists on memory at an address where the exact engine has its own");
}

static void before_syscall(ThreadId tid, UInt number, UWord *arguments, UInt count)
{
    (void)count;
    if (number == __NR_mmap)
        refuse_our_memory(arguments);
    forget_before(tid);
    syscalls[tid] = number;
    /* Only a process of one thread may take another namespace of users. */
    if (number == __NR_unshare || number == __NR_setns)
        exact_jobs_end();
    if (exact_transfer)
        exact_sharing_before_syscall(tid, number, arguments);
    /* Valgrind starts anew in the program that is executed: what was counted is written now. If
       the call fails counting goes on from zero, and the records add up. */
    if (number == __NR_execve || number == __NR_execveat)
        exact_output();
}

static void after_syscall(ThreadId tid, UInt number, UWord *arguments, UInt count, SysRes result)
{
    (void)count;
    forget_before(tid);
    if (exact_transfer)
        exact_sharing_after_syscall(tid, number, arguments, result);
}

static void no_syscall(ThreadId tid, UInt number, UWord *arguments, UInt count)
{
    (void)tid, (void)number, (void)arguments, (void)count;
}

static void no_result(ThreadId tid, UInt number, UWord *arguments, UInt count, SysRes result)
{
    (void)tid, (void)number, (void)arguments, (void)count, (void)result;
}

void exact_kernel_end(void)
{
    VG_(track_pre_mem_read)(NULL);
    VG_(track_pre_mem_read_asciiz)(NULL);
    VG_(track_pre_mem_write)(NULL);
    VG_(track_post_mem_write)(NULL);
    VG_(track_new_mem_mmap)(NULL);
    VG_(track_new_mem_brk)(NULL);
    VG_(track_die_mem_brk)(NULL);
    VG_(track_die_mem_munmap)(NULL);
    VG_(track_copy_mem_remap)(NULL);
    VG_(needs_syscall_wrapper)(no_syscall, no_result);
}

void exact_kernel_init(void)
{
    syscalls = VG_(calloc)("headroom.syscalls", VG_N_THREADS, sizeof *syscalls);
    VG_(track_pre_mem_read)(before_read);
    VG_(track_pre_mem_read_asciiz)(before_read_text);
    VG_(track_pre_mem_write)(before_write);
    VG_(track_post_mem_write)(after_write);
    VG_(track_new_mem_mmap)(new_mapping);
    VG_(track_new_mem_brk)(new_break);
    VG_(track_die_mem_brk)(gone);
    VG_(track_die_mem_munmap)(gone);
    VG_(track_copy_mem_remap)(moved);
    VG_(needs_syscall_wrapper)(before_syscall, after_syscall);
}
