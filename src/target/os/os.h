// SPDX-License-Identifier: MIT
/*
 * os: raw system calls, perf events as watchpoints, timers. Freestanding: no
 * errno (results are -errno), no libc; every call is async-signal-safe.
 */
#ifndef HEADROOM_OS_H
#define HEADROOM_OS_H

#include "base/base.h"
#include <linux/perf_event.h>

long os_syscall6(long number, long a, long b, long c, long d, long e, long f);
#define os_syscall(number, ...) OS_SYSCALL_PICK(number, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define OS_SYSCALL_PICK(number, a, b, c, d, e, f, ...)                                             \
    os_syscall6((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Is it -errno? */
static inline bool os_failed(long result)
{
    return (unsigned long)result > -4096UL;
}

/* STORES and ACCESSES watch one byte, WORD all accesses to eight aligned ones. */
enum os_watch_type {
    OS_WATCH_STORES,
    OS_WATCH_ACCESSES,
    OS_WATCH_WORD,
    OS_WATCH_EXECUTION,
    OS_WATCH_TICKS
};

/* An armed hardware breakpoint of the calling thread. */
struct os_watch {
    void *page;      /* mapping that keeps the event alive; NULL: not armed */
    uint64_t beside; /* address at which the page is wanted, if nothing is there; 0: anywhere */
    uint64_t address;
    uint32_t
        every; /* only each that many-th touch traps, the others cost a microsecond or less; 0: all do */
    uint8_t type; /* enum os_watch_type */
};

/*
 * Arms one debug register for the calling thread. The event is kept alive by a
 * mapping of its control page and its descriptor is closed at once, so that
 * the program never meets a descriptor of ours and fork, exec and closefrom
 * need no care (mappings of perf events are not inherited). 11 us for arm and
 * disarm together in a guest, against 8 us with a resident descriptor and
 * 1 us for re-aiming one: the price of leaving the descriptor table alone.
 *
 * cookie arrives as si_perf_data. watch_kernel: also trap on accesses by the kernel.
 * Returns 0 or -errno (ENOSPC: no free register; EMFILE; EACCES; EPERM:
 * locked-memory limit).
 */
long os_watch_arm(struct os_watch *watch, enum os_watch_type type, uint64_t address,
                  uint64_t cookie, bool watch_kernel);
void os_watch_disarm(struct os_watch *watch);

/*
 * The same for several. Pages that lie side by side are unmapped at once: each time the kernel
 * interrupts all processors that run threads of the process, which costs more than all else.
 */
enum { OS_WATCH_PAGE = 4096 };
void os_watch_disarm_all(struct os_watch *const watches[], unsigned count);

/* Signal information as the kernel lays it out; not in every libc's headers. */
struct os_trap {
    uint64_t address; /* si_addr */
    uint64_t cookie;  /* si_perf_data */
    uint32_t type;    /* si_perf_type */
    bool late;        /* TRAP_PERF_FLAG_ASYNC: SIGTRAP was blocked when it hit */
};
enum { OS_TRAP_PERF = 6 }; /* si_code */
void os_trap_read(const void *siginfo, struct os_trap *trap);

/* Reads own memory without faulting (process_vm_readv). base_memory.context unused. */
bool os_read_self(void *context, uint64_t address, void *out, size_t bytes);

/*
 * Ticks: SIGTRAP to the calling thread after every period of CPU time it spends
 * in user mode (perf's task clock, held like a watchpoint; os_watch_disarm
 * ends it). Finer than POSIX CPU timers, which only expire at the kernel's tick
 * (250/s here), and it never interrupts a system call: no EINTR that the program
 * would not see alone. The period is fixed: start anew for jitter.
 */
long os_tick_start(struct os_watch *ticks, uint64_t period_ns, uint64_t cookie);

void *os_map(size_t bytes); /* zeroed private pages, or NULL */
void os_unmap(void *memory, size_t bytes);
uint32_t os_tid(void);
uint32_t os_pid(void);
uint64_t os_now_ns(int clock); /* clock_gettime by system call */
void os_futex_wake(const void *word);

#endif
