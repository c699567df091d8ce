// SPDX-License-Identifier: MIT
/*
 * Threads borrowed, by PTRACE_SEIZE, which the thread does not notice. A system call in which a thread waits would: some
 * return EINTR. So a thread is only stopped that does not wait; should it have begun to meanwhile, the call is made once more
 * (inject_settle_call).
 *
 * Traps by debug registers and int3 are forced on a thread: were they blocked or ignored the kernel would change what the
 * program has set for them. That is why they, and signals of faults, stay open meanwhile, and why a process that ignores one of
 * them is left alone. They never reach the program: whoever traces sees them first.
 */
#include "inject/borrow.h"

#include "inject/internal.h"
#include "wire/clones.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_US =
        50, /* between looks for a stop: the processor that looks may share its core with the thread */
    AGAIN_MS = 100,    /* until it is looked at whether a thread can still stop */
    SEE_OFF_MS = 5000, /* for a thread that was killed to end */
};

#define BIT(number) (UINT64_C(1) << ((number)-1))

static const uint64_t faults =
    BIT(SIGTRAP) | BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGSYS);

/* ---- stops --------------------------------------------------------------------------------- */

struct stop {
    int number, event; /* event: 0: a signal is about to be delivered */
};

static bool look(struct inject_loan *loan, struct stop *stop)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)loan->tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) !=
        0) {
        loan->gone = errno == ECHILD;
        return false;
    }
    if (info.si_pid != loan->tid)
        return false;
    if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED) {
        /* Of its end its parent hears when the tracer has. */
        if (loan->tid != loan->program)
            waitpid(loan->tid, &(int){0}, WNOHANG | __WALL);
        loan->gone = true;
        return false;
    }
    if (waitid(P_PID, (id_t)loan->tid, &info, WSTOPPED | WNOHANG | __WALL) != 0 ||
        info.si_pid != loan->tid)
        return false;
    *stop = (struct stop){info.si_status & 0xff, info.si_status >> 8};
    return true;
}

static bool await(struct inject_loan *loan, struct stop *stop, uint64_t until_ns)
{
    for (;;) {
        nanosleep(&(struct timespec){.tv_nsec = LOOK_US * 1000}, NULL);
        if (look(loan, stop))
            return true;
        if (loan->gone || os_now_ns(CLOCK_MONOTONIC) > until_ns)
            return false;
    }
}

static bool go_on_by(struct inject_loan *loan, enum __ptrace_request request, int number)
{
    if (ptrace(request, loan->tid, NULL, (void *)(long)number) == 0)
        return true;
    loan->gone = true;
    return false;
}

static bool go_on(struct inject_loan *loan, int number)
{
    return go_on_by(loan, PTRACE_CONT, number);
}

static bool is_group_stop(const struct stop *stop)
{
    return stop->event == PTRACE_EVENT_STOP && stop->number != SIGTRAP;
}

/* ---- whether it may be borrowed ------------------------------------------------------------------ */

static uint64_t number_of(const char *text, const char *name, int base, uint64_t missing)
{
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, base) : missing;
}

static bool read_status(pid_t pid, pid_t tid, char text[4096])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, 4095) : -1;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

static bool may_be_borrowed(pid_t pid, pid_t tid)
{
    char text[4096];
    uint64_t ip, sp;
    return read_status(pid, tid, text) && strstr(text, "State:\tR") &&
           number_of(text, "TracerPid:", 10, 1) == 0 &&
           (number_of(text, "SigIgn:", 16, faults) & faults) == 0 &&
           (number_of(text, "SigPnd:", 16, faults) & faults) == 0 &&
           (number_of(text, "ShdPnd:", 16, faults) & faults) == 0 &&
           number_of(text, "Seccomp:", 10, 0) == 0 &&
           inject_task_look((uint32_t)pid, (uint32_t)tid, &ip, &sp) == INJECT_TASK_RUNS;
}

/* ---- stopped at a time ------------------------------------------------------------------------- */

/* A fault or trap that the thread gets as soon as it goes on. */
static bool has_fault(const struct inject_loan *loan)
{
    char text[4096];
    return read_status(loan->pid, loan->tid, text) &&
           (number_of(text, "SigPnd:", 16, 0) & ~number_of(text, "SigBlk:", 16, 0) & faults) != 0;
}

/* Will it ever stop? A thread that has ended, or whose number another thread has got, does not. */
static bool is_traced(const struct inject_loan *loan)
{
    char text[4096];
    return read_status(loan->pid, loan->tid, text) && !strstr(text, "State:\tZ") &&
           !strstr(text, "State:\tX") && number_of(text, "TracerPid:", 10, 0) != 0;
}

/* For as long as it takes. */
static bool await_any(struct inject_loan *loan, struct stop *stop)
{
    while (!await(loan, stop, os_now_ns(CLOCK_MONOTONIC) + AGAIN_MS * UINT64_C(1000000)))
        if (loan->gone || !is_traced(loan)) {
            loan->gone = true;
            return false;
        }
    return true;
}

/*
 * The next stop; when the time is over it is asked to stop. Then the wait is as long as it takes, since nobody else could let it
 * go: it has to get a processor first. A trap that came at the same moment is reported in place of that stop: it
 * would otherwise wait for the thread, and find it where it has no business. False: it is gone.
 */
static bool stop_by(struct inject_loan *loan, uint64_t until_ns, struct stop *stop)
{
    if (await(loan, stop, until_ns))
        return true;
    loan->gone |= ptrace(PTRACE_INTERRUPT, loan->tid, NULL, NULL) != 0;
    if (loan->gone || !await_any(loan, stop))
        return false;
    if (stop->event != PTRACE_EVENT_STOP || is_group_stop(stop) || !has_fault(loan))
        return true;
    return go_on(loan, 0) && await_any(loan, stop);
}

/* ---- registers --------------------------------------------------------------------------------- */

static bool get_registers(struct inject_loan *loan)
{
    return ptrace(PTRACE_GETREGS, loan->tid, NULL, &loan->registers) == 0;
}

/* No system call is made again, whatever the registers look like. */
static bool set_registers(struct inject_loan *loan)
{
    loan->registers.orig_rax = UINT64_MAX;
    return ptrace(PTRACE_SETREGS, loan->tid, NULL, &loan->registers) == 0;
}

/*
 * A debug register. Not by PTRACE_POKEUSER: what that writes stays when headroom is killed, and would cost the thread a signal in
 * each iteration of the loop for ever.
 */
static int open_event(pid_t tid, uint64_t address)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_BREAKPOINT,
                                         .size = sizeof attributes,
                                         .sample_period = 1,
                                         .bp_type = HW_BREAKPOINT_X,
                                         .bp_addr = address,
                                         .bp_len = sizeof(long),
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1,
                                         .sigtrap = 1,
                                         .remove_on_exec = 1,
                                         .sig_data = WIRE_CLONE_COOKIE};
    return (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void disarm(struct inject_loan *loan)
{
    while (loan->armed)
        close(loan->events[--loan->armed]);
}

static bool arm(struct inject_loan *loan, const uint64_t *addresses, unsigned count)
{
    disarm(loan);
    loan->unarmed = 0;
    for (unsigned i = 0; i < count; i++) {
        int event = open_event(loan->tid, addresses[i]);
        if (event < 0) {
            loan->unarmed = errno;
            return false;
        }
        loan->events[loan->armed++] = event;
    }
    return true;
}

bool inject_borrow_save(struct inject_loan *loan, struct inject_state *state)
{
    struct iovec place = {state->vectors, sizeof state->vectors};
    state->registers = loan->registers;
    if (ptrace(PTRACE_GETREGSET, loan->tid, (void *)NT_X86_XSTATE, &place) != 0)
        return false;
    state->bytes = place.iov_len;
    return state->bytes < sizeof state->vectors;
}

bool inject_borrow_restore(struct inject_loan *loan, const struct inject_state *state)
{
    struct iovec place = {(void *)state->vectors, state->bytes};
    loan->registers = state->registers;
    return ptrace(PTRACE_SETREGSET, loan->tid, (void *)NT_X86_XSTATE, &place) == 0 &&
           set_registers(loan);
}

/* ---- memory ------------------------------------------------------------------------------------ */

bool inject_borrow_read(const struct inject_loan *loan, uint64_t address, void *out, size_t bytes)
{
    struct iovec local = {out, bytes}, remote = {(void *)address, bytes};
    return process_vm_readv(loan->tid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

bool inject_borrow_write(const struct inject_loan *loan, uint64_t address, const void *bytes,
                         size_t count)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)loan->tid);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool good = file >= 0 && pwrite(file, bytes, count, (off_t)address) == (ssize_t)count;
    if (file >= 0)
        close(file);
    return good;
}

/* ---- the loan ---------------------------------------------------------------------------------- */

/* Signal handlers may have changed the mask since, or the program. */
static bool look_inside(struct inject_loan *loan)
{
    return get_registers(loan) &&
           ptrace(PTRACE_GETSIGMASK, loan->tid, (void *)sizeof loan->mask, &loan->mask) == 0;
}

bool inject_borrow(struct inject_loan *loan, pid_t program, pid_t pid, pid_t tid)
{
    *loan = (struct inject_loan){.pid = pid, .tid = tid, .program = program};
    if (!may_be_borrowed(pid, tid))
        return false;
    loan->refused = ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACEEXEC) == 0 ? 0 : errno;
    if (loan->refused)
        return false;
    struct stop stop;
    while (stop_by(loan, 0, &stop) && stop.event != PTRACE_EVENT_STOP)
        if (!go_on(loan, stop.event ? 0 : stop.number))
            break;
    loan->stopped = !loan->gone && is_group_stop(&stop);
    if (!loan->gone && look_inside(loan) && !loan->stopped &&
        (int64_t)loan->registers.orig_rax < 0 && !(loan->mask & BIT(SIGTRAP)))
        return true;
    inject_give_back(loan);
    return false;
}

static bool is_hit(const struct inject_loan *loan, const struct stop *stop,
                   const uint64_t *addresses, unsigned count)
{
    siginfo_t info;
    struct os_trap trap;
    if (stop->event || stop->number != SIGTRAP ||
        ptrace(PTRACE_GETSIGINFO, loan->tid, NULL, &info) != 0 || info.si_code != OS_TRAP_PERF)
        return false;
    os_trap_read(&info, &trap);
    if (trap.cookie != WIRE_CLONE_COOKIE)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (loan->registers.rip == addresses[i])
            return true;
    return false;
}

bool inject_borrow_until(struct inject_loan *loan, const uint64_t *addresses, unsigned count,
                         uint64_t limit_ns)
{
    struct stop stop;
    uint64_t until_ns = os_now_ns(CLOCK_MONOTONIC) + limit_ns;
    bool hit = false;
    if (!arm(loan, addresses, count) || !go_on(loan, 0))
        return false;
    while (stop_by(loan, until_ns, &stop)) {
        loan->stopped |= is_group_stop(&stop) || stop.event == PTRACE_EVENT_EXEC;
        hit = get_registers(loan) && is_hit(loan, &stop, addresses, count);
        if (hit || stop.event)
            break;
        /* A handler may block the trap, which would then wait for the thread: not with a debug register armed. */
        disarm(loan);
        until_ns = 0;
        if (!go_on(loan, stop.number))
            return false;
    }
    disarm(loan);
    if (loan->gone)
        return false;
    return look_inside(loan) && hit && !loan->stopped;
}

static enum inject_executed judge(struct inject_loan *loan, const struct stop *stop, uint64_t end,
                                  bool *over)
{
    siginfo_t info = {.si_code = 0};
    *over = true;
    loan->stopped |= is_group_stop(stop);
    if (!get_registers(loan)) {
        loan->gone = true;
        return INJECT_LOST;
    }
    if (loan->stopped)
        return INJECT_LOST;
    if (stop->event == 0 && stop->number == SIGTRAP && loan->registers.rip == end + 1)
        return INJECT_EXECUTED;
    if (stop->event == 0 && BIT(stop->number) & faults &&
        ptrace(PTRACE_GETSIGINFO, loan->tid, NULL, &info) == 0 && info.si_code > 0 &&
        stop->number != SIGTRAP)
        return INJECT_FAULTED;
    if (stop->event == PTRACE_EVENT_STOP)
        return INJECT_CUT;
    /* One for the program: it gets it as it came when the thread is given back from this stop. */
    *over = stop->event == 0 && !(stop->number == SIGTRAP && info.si_code > 0);
    loan->held = *over ? stop->number : loan->held;
    return INJECT_LOST;
}

/* Of a thread that has stopped. 0: not known. */
static uint64_t cpu_ns_of(const struct inject_loan *loan)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)loan->pid, (int)loan->tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = 0;
    return strtoull(text, NULL, 10);
}

enum inject_executed inject_borrow_execute(struct inject_loan *loan, uint64_t end,
                                           uint64_t limit_ns)
{
    struct stop stop;
    uint64_t blocked = ~faults, until_ns = os_now_ns(CLOCK_MONOTONIC) + limit_ns;
    enum inject_executed executed = INJECT_LOST;
    bool over = false;
    uint64_t begun_ns = cpu_ns_of(loan);
    if (!set_registers(loan) ||
        ptrace(PTRACE_SETSIGMASK, loan->tid, (void *)sizeof blocked, &blocked) != 0 ||
        !go_on(loan, 0))
        return INJECT_LOST;
    while (stop_by(loan, until_ns, &stop)) {
        executed = judge(loan, &stop, end, &over);
        if (over || !go_on(loan, 0))
            break;
    }
    if (!over || loan->gone)
        executed = INJECT_LOST;
    loan->cpu_ns = cpu_ns_of(loan) - begun_ns;
    if (!loan->gone)
        ptrace(PTRACE_SETSIGMASK, loan->tid, (void *)sizeof loan->mask, &loan->mask);
    return executed;
}

/* No handler has run in between: what can be blocked still is. */
static enum inject_executed make_step(struct inject_loan *loan)
{
    struct stop stop;
    bool over = false;
    siginfo_t info = {.si_code = 0};
    if (!go_on_by(loan, PTRACE_SINGLESTEP, 0) || !await_any(loan, &stop))
        return INJECT_LOST;
    if (stop.event == 0 && stop.number == SIGTRAP &&
        ptrace(PTRACE_GETSIGINFO, loan->tid, NULL, &info) == 0 && info.si_code == TRAP_TRACE)
        return get_registers(loan) ? INJECT_CUT : INJECT_LOST;
    return judge(loan, &stop, UINT64_MAX - 1, &over);
}

enum inject_executed inject_borrow_step(struct inject_loan *loan)
{
    uint64_t blocked = ~faults;
    if (!set_registers(loan) ||
        ptrace(PTRACE_SETSIGMASK, loan->tid, (void *)sizeof blocked, &blocked) != 0)
        return INJECT_LOST;
    enum inject_executed executed = make_step(loan);
    if (!loan->gone)
        ptrace(PTRACE_SETSIGMASK, loan->tid, (void *)sizeof loan->mask, &loan->mask);
    return executed;
}

/* ---- patched code -------------------------------------------------------------------------------- */

bool inject_borrow_alone(const struct inject_loan *loan)
{
    char text[4096];
    return read_status(loan->pid, loan->tid, text) && number_of(text, "Threads:", 10, 0) == 1;
}

/* In the memory of a process that is stopped; of what is not as expected nothing is written. */
static bool exchange(pid_t tid, const struct inject_patch *patch, bool back)
{
    const uint8_t *from = back ? patch->after : patch->before,
                  *to = back ? patch->before : patch->after;
    struct inject_loan of = {.tid = tid};
    uint8_t there[INJECT_PATCH_BYTES];
    return inject_borrow_read(&of, patch->at, there, sizeof there) &&
           memcmp(there, from, sizeof there) == 0 &&
           inject_borrow_write(&of, patch->at, to, sizeof there);
}

static void take_back(pid_t tid, const struct inject_patch *patches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)exchange(tid, &patches[i], true);
}

/* A child, or another thread, which is stopped before its first instruction. */
static void see_born(struct inject_loan *loan, const struct inject_patch *patches, size_t count)
{
    unsigned long number = 0;
    struct stop stop;
    if (ptrace(PTRACE_GETEVENTMSG, loan->tid, NULL, &number) != 0 || !number)
        return;
    struct inject_loan born = {.pid = (pid_t)number, .tid = (pid_t)number};
    if (!await_any(&born, &stop))
        return;
    take_back(born.tid, patches, count);
    ptrace(PTRACE_DETACH, born.tid, NULL, NULL);
}

static void hold(struct inject_loan *loan, const struct stop *stop)
{
    _Static_assert(sizeof(siginfo_t) == sizeof loan->held_info, "siginfo_t");
    loan->held = stop->number;
    loan->informed = ptrace(PTRACE_GETSIGINFO, loan->tid, NULL, loan->held_info) == 0;
}

static void go_patched(struct inject_loan *loan, const struct inject_patch *patches, size_t count,
                       uint64_t from, uint64_t to, uint64_t until_ns)
{
    struct stop stop;
    while (stop_by(loan, until_ns, &stop)) {
        loan->stopped |= is_group_stop(&stop) || stop.event == PTRACE_EVENT_EXEC;
        if (!get_registers(loan)) {
            loan->gone = true;
            return;
        }
        if (stop.event == PTRACE_EVENT_FORK || stop.event == PTRACE_EVENT_VFORK ||
            stop.event == PTRACE_EVENT_CLONE)
            see_born(loan, patches, count);
        if (stop.event)
            return;
        if (loan->registers.rip - from < to - from) {
            hold(loan, &stop);
            return;
        }
        if (!go_on(loan, stop.number))
            return;
    }
}

bool inject_borrow_patched(struct inject_loan *loan, const struct inject_patch *patches,
                           size_t count, uint64_t from, uint64_t to, uint64_t limit_ns)
{
    size_t done = 0;
    long options = PTRACE_O_TRACEEXEC;
    if (!inject_borrow_alone(loan) ||
        ptrace(PTRACE_SETOPTIONS, loan->tid, NULL,
               (void *)(options | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                        PTRACE_O_TRACECLONE)) != 0)
        return false;
    while (done < count && exchange(loan->tid, &patches[done], false))
        done++;
    bool gone_on = done == count && go_on(loan, 0);
    if (gone_on)
        go_patched(loan, patches, count, from, to, os_now_ns(CLOCK_MONOTONIC) + limit_ns);
    if (!loan->gone) {
        take_back(loan->tid, patches, done);
        ptrace(PTRACE_SETOPTIONS, loan->tid, NULL, (void *)options);
    }
    return gone_on && !loan->gone && look_inside(loan);
}

bool inject_borrow_move(struct inject_loan *loan)
{
    return set_registers(loan);
}

size_t inject_borrow_parts(const struct inject_loan *loan, const char *path, const char *name,
                           struct inject_part parts[INJECT_PARTS_MAX])
{
    struct inject_maps maps = {.at = 0};
    struct inject_mapping mapping;
    char file[64];
    size_t count = 0, bytes = (size_t)snprintf(file, sizeof file, "/memfd:%s ", name);
    if (inject_maps_read(&maps, (uint32_t)loan->pid) == 0)
        while (count < INJECT_PARTS_MAX && inject_maps_next(&maps, &mapping)) {
            struct inject_part *part = &parts[count];
            part->named = strncmp(mapping.path, file, bytes) == 0;
            if (!part->named && (!mapping.executable || strcmp(mapping.path, path) != 0))
                continue;
            part->start = mapping.start;
            part->bytes = mapping.end - mapping.start;
            part->offset = mapping.offset;
            part->executable = mapping.executable;
            count++;
        }
    inject_maps_free(&maps);
    return count;
}

/* A system call that the stop has interrupted is made again where the kernel would not. */
static void settle(struct inject_loan *loan)
{
    struct user_regs_struct settled = loan->registers;
    inject_settle_call(loan->tid, loan->mask, &settled);
    if (memcmp(&settled, &loan->registers, sizeof settled) != 0)
        ptrace(PTRACE_SETREGS, loan->tid, NULL, &settled);
}

/* One that was killed meanwhile: as long as its tracer has not heard of a thread's end, the parent of its process hears of neither. */
static void see_off(const struct inject_loan *loan)
{
    int status;
    if (loan->tid == loan->program)
        return;
    for (unsigned i = 0; i < SEE_OFF_MS; i++) {
        pid_t got = waitpid(loan->tid, &status, WNOHANG | __WALL);
        if (got < 0 || (got == loan->tid && !WIFSTOPPED(status)))
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    }
}

static bool let_go(const struct inject_loan *loan, int number)
{
    return ptrace(PTRACE_DETACH, loan->tid, NULL, (void *)(long)number) == 0;
}

/* One that was not its process' first thread has that one's number since it executes another program, and is still traced. */
static bool let_go_executing(struct inject_loan *loan)
{
    struct stop stop;
    if (loan->tid == loan->pid || ptrace(PTRACE_INTERRUPT, loan->pid, NULL, NULL) != 0)
        return false;
    loan->tid = loan->pid;
    loan->gone = false;
    return await_any(loan, &stop) && let_go(loan, stop.event ? 0 : stop.number);
}

void inject_give_back(struct inject_loan *loan)
{
    disarm(loan);
    if (!loan->gone && !loan->stopped)
        settle(loan);
    if (loan->held && loan->informed) /* it may have stopped otherwise since */
        ptrace(PTRACE_SETSIGINFO, loan->tid, NULL, loan->held_info);
    if (loan->gone ? !let_go_executing(loan) : !let_go(loan, loan->held))
        see_off(loan);
}
