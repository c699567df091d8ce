// SPDX-License-Identifier: MIT
/*
 * Raw system calls of the agent. Nothing here touches errno or libc state: the
 * handlers interrupt the program anywhere, also inside libc.
 */
#include "os/os.h"

#include "base/syscall.h"

#include <asm/siginfo.h>
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/hw_breakpoint.h>
#include <linux/mman.h>
#include <linux/uio.h>

long os_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
    return base_syscall6(number, a, b, c, d, e, f);
}

/* Opens the event, keeps it alive by a mapping and gives the descriptor back at once. */
static long hold(struct os_watch *watch, struct perf_event_attr *attr, enum os_watch_type type)
{
    long descriptor = os_syscall(__NR_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (os_failed(descriptor))
        return descriptor;
    long page =
        os_syscall(__NR_mmap, watch->beside, OS_WATCH_PAGE, PROT_READ, MAP_SHARED, descriptor, 0);
    os_syscall(__NR_close, descriptor);
    if (os_failed(page))
        return page;
    watch->page = (void *)page;
    watch->address = attr->bp_addr;
    watch->type = (uint8_t)type;
    return 0;
}

long os_watch_arm(struct os_watch *watch, enum os_watch_type type, uint64_t address,
                  uint64_t cookie, bool watch_kernel)
{
    static const uint32_t breakpoint_types[] = {
        [OS_WATCH_STORES] = HW_BREAKPOINT_W,
        [OS_WATCH_ACCESSES] = HW_BREAKPOINT_RW,
        [OS_WATCH_WORD] = HW_BREAKPOINT_RW,
        [OS_WATCH_EXECUTION] = HW_BREAKPOINT_X,
    };
    struct perf_event_attr attr = {
        .type = PERF_TYPE_BREAKPOINT,
        .size = sizeof attr,
        .sample_period = watch->every ? watch->every : 1,
        .bp_type = breakpoint_types[type],
        .bp_addr = address,
        /* The kernel wants sizeof(long) for execution. */
        .bp_len = type == OS_WATCH_EXECUTION ? sizeof(long)
                  : type == OS_WATCH_WORD    ? HW_BREAKPOINT_LEN_8
                                             : HW_BREAKPOINT_LEN_1,
        .exclude_kernel = type == OS_WATCH_EXECUTION || !watch_kernel,
        .exclude_hv = 1,
        .sigtrap = 1,
        .remove_on_exec = 1, /* the kernel insists on it beside sigtrap */
        .sig_data = cookie,
    };
    return hold(watch, &attr, type);
}

long os_tick_start(struct os_watch *ticks, uint64_t period_ns, uint64_t cookie)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .size = sizeof attr,
        .sample_period = period_ns,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .sigtrap = 1,
        .remove_on_exec = 1,
        .sig_data = cookie,
    };
    return hold(ticks, &attr, OS_WATCH_TICKS);
}

void os_watch_disarm(struct os_watch *watch)
{
    if (!watch->page)
        return;
    os_syscall(__NR_munmap, watch->page, OS_WATCH_PAGE);
    watch->page = NULL;
}

/* The lowest page that is armed; -1: none is. */
static int find_lowest(struct os_watch *const watches[], unsigned count)
{
    int lowest = -1;
    for (unsigned i = 0; i < count; i++)
        if (watches[i]->page && (lowest < 0 || watches[i]->page < watches[lowest]->page))
            lowest = (int)i;
    return lowest;
}

void os_watch_disarm_all(struct os_watch *const watches[], unsigned count)
{
    char *begin = NULL, *end = NULL;
    for (int lowest; (lowest = find_lowest(watches, count)) >= 0; end += OS_WATCH_PAGE) {
        if (watches[lowest]->page != end) {
            if (begin)
                os_syscall(__NR_munmap, begin, end - begin);
            begin = end = watches[lowest]->page;
        }
        watches[lowest]->page = NULL;
    }
    if (begin)
        os_syscall(__NR_munmap, begin, end - begin);
}

void os_trap_read(const void *siginfo, struct os_trap *trap)
{
    /* siginfo_t from si_addr on (include/uapi/asm-generic/siginfo.h, _perf). */
    const struct {
        int32_t signo, error, code, pad;
        uint64_t address, data;
        uint32_t type, flags;
    } *info = siginfo;
    *trap = (struct os_trap){.address = info->address,
                             .cookie = info->data,
                             .type = info->type,
                             .late = info->flags & 1 /* TRAP_PERF_FLAG_ASYNC */};
}

bool os_read_self(void *context, uint64_t address, void *out, size_t bytes)
{
    (void)context;
    struct iovec local = {out, bytes}, remote = {(void *)address, bytes};
    long self = os_syscall(__NR_getpid);
    return os_syscall(__NR_process_vm_readv, self, &local, 1, &remote, 1, 0) == (long)bytes;
}

void *os_map(size_t bytes)
{
    long memory = os_syscall(__NR_mmap, 0, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return os_failed(memory) ? NULL : (void *)memory;
}

void os_unmap(void *memory, size_t bytes)
{
    os_syscall(__NR_munmap, memory, bytes);
}

uint32_t os_tid(void)
{
    return (uint32_t)os_syscall(__NR_gettid);
}

uint32_t os_pid(void)
{
    return (uint32_t)os_syscall(__NR_getpid);
}

uint64_t os_now_ns(int clock)
{
    struct {
        int64_t seconds, nanoseconds;
    } now = {0, 0};
    os_syscall(__NR_clock_gettime, clock, &now);
    return (uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds;
}

void os_futex_wake(const void *word)
{
    os_syscall(__NR_futex, word, FUTEX_WAKE, 1);
}
