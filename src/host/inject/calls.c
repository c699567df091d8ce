// SPDX-License-Identifier: MIT
/*
 * Has threads of the program execute a function of the agent there, when an agent asks for it: to
 * fall silent because the process is about to be traced, or to begin in a thread that the agent has
 * not seen start. A signal would make the system call that a thread waits in return EINTR; a stop
 * by a tracer does not, because the kernel goes on with the call when the registers are as it left
 * them. So headroom traces the thread for some microseconds: stops it outside of the agent, lets it
 * execute calls_entry on the agent's stack, and puts its registers back.
 *
 * Should headroom die in between, the kernel lets the thread go on, and the agent's handler puts
 * the registers back itself, from the copy on that stack (struct wire_call_frame).
 *
 * Calls that give up at every stop (epoll_wait and its kind) are made once more.
 */
#include "inject/internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 500, /* for a thread that is in the agent                        */
    STOP_US = 50,      /* between looks for a stop                                 */
    AWAY_US = 200,     /* until a thread in the agent is stopped again             */
    FRAME_ROOM = 1024, /* below what the agent's stack is used for already         */
    RESTART_SYS = 512, /* ERESTARTSYS and its kind: the kernel makes the call again */
    RESTART_NO_INTERRUPT = 513,
    RESTART_NO_HANDLER = 514,
    RESTART_BLOCK = 516,
};

#define TRAP (UINT64_C(1) << (SIGTRAP - 1))

struct tracee {
    pid_t tid;
    pid_t program; /* headroom's child */
    const struct wire_call_gate *gate;
    uint32_t kind; /* enum wire_call_kind */
    uint64_t argument;
    uint64_t image_start, image_end;
    uint64_t deadline_ns;
    struct user_regs_struct registers;
    uint64_t mask;
    int held; /* a signal that came meanwhile and cannot be blocked */
};

/* ---- stops -------------------------------------------------------------------------------- */

static void pause_us(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* Its end is for whoever waits for it: headroom, if it is the program itself, or else its parent,
   who hears of it when the tracer has. */
static bool has_ended(pid_t tid, pid_t program)
{
    siginfo_t info = {.si_pid = 0};
    int status;
    if (waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0)
        return errno == ECHILD;
    /* A stop is seen by whoever traces, even if it was not asked for. */
    bool ended = info.si_pid == tid && (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
                                        info.si_code == CLD_DUMPED);
    if (ended && tid != program)
        waitpid(tid, &status, WNOHANG | __WALL);
    return ended;
}

struct stop {
    int number, event; /* event: 0 if the signal is about to be delivered */
};

static bool has_stopped(pid_t tid, struct stop *stop)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL) != 0 || info.si_pid != tid)
        return false;
    *stop = (struct stop){info.si_status & 0xff, info.si_status >> 8};
    return true;
}

/* False: it is gone, or does not stop in time. */
static bool await_stop(const struct tracee *tracee, struct stop *stop)
{
    while (!has_stopped(tracee->tid, stop)) {
        if (has_ended(tracee->tid, tracee->program) ||
            os_now_ns(CLOCK_MONOTONIC) > tracee->deadline_ns)
            return false;
        pause_us(STOP_US);
    }
    return true;
}

static bool go_on(const struct tracee *tracee, int number)
{
    return ptrace(PTRACE_CONT, tracee->tid, NULL, (void *)(long)number) == 0;
}

/* Signals on their way before the stop are the thread's. */
static bool interrupt(const struct tracee *tracee)
{
    struct stop stop;
    if (ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL) != 0)
        return false;
    while (await_stop(tracee, &stop)) {
        if (stop.event == PTRACE_EVENT_STOP)
            return true;
        if (!go_on(tracee, stop.number))
            return false;
    }
    return false;
}

static bool read_word(const struct tracee *tracee, uint64_t address, uint64_t *word)
{
    struct iovec local = {word, sizeof *word}, remote = {(void *)(uintptr_t)address, sizeof *word};
    return process_vm_readv(tracee->tid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof *word;
}

/* The agent's stack of this thread. False: there is nothing to do, or something is wrong. */
static bool find_stack(const struct tracee *tracee, uint64_t stack[2])
{
    uint64_t self;
    if (!read_word(tracee, tracee->registers.fs_base + (uint64_t)tracee->gate->self, &self) ||
        (self != 0) != (tracee->kind == WIRE_CALL_QUIET))
        return false;
    if (tracee->kind == WIRE_CALL_BEGIN)
        self = tracee->argument;
    return read_word(tracee, self, &stack[0]) && read_word(tracee, self + 8, &stack[1]) &&
           stack[0] < stack[1] && stack[1] - stack[0] >= 8 * FRAME_ROOM;
}

/* In the middle of the agent's work, which must not be done twice; or about to be. */
static bool is_in_agent(const struct tracee *tracee, const uint64_t stack[2])
{
    uint64_t ip = tracee->registers.rip, sp = tracee->registers.rsp;
    return (ip >= tracee->image_start && ip < tracee->image_end) ||
           (sp >= stack[0] && sp <= stack[1]) ||
           (tracee->kind == WIRE_CALL_QUIET && tracee->mask & TRAP);
}

/* Stopped outside of the agent, with something to do there. False: not so; *stopped says whether it
   is stopped. */
static bool stop_outside(struct tracee *tracee, uint64_t stack[2], bool *stopped)
{
    for (;;) {
        *stopped = interrupt(tracee);
        if (!*stopped || ptrace(PTRACE_GETREGS, tracee->tid, NULL, &tracee->registers) != 0 ||
            ptrace(PTRACE_GETSIGMASK, tracee->tid, (void *)8, &tracee->mask) != 0)
            return false;
        bool observed = find_stack(tracee, stack);
        if (!observed) /* or not yet: it may be about to begin */
            stack[0] = stack[1] = 0;
        if (!is_in_agent(tracee, stack))
            return observed;
        if (os_now_ns(CLOCK_MONOTONIC) > tracee->deadline_ns || !go_on(tracee, 0))
            return false;
        pause_us(AWAY_US);
    }
}

/* ---- registers ------------------------------------------------------------------------------ */

static bool read_status(pid_t tid, char *text, size_t bytes)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(text, 1, bytes - 1, file) : 0;
    if (file)
        fclose(file);
    text[got] = 0;
    return got > 0;
}

static uint64_t read_number(const char *text, const char *name, int base)
{
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, base) : 0;
}

static bool has_pending(pid_t tid, uint64_t mask)
{
    char text[4096];
    if (!read_status(tid, text, sizeof text))
        return true;
    uint64_t pending = read_number(text, "SigPnd:", 16) | read_number(text, "ShdPnd:", 16);
    return (pending & ~mask) != 0;
}

/* These return EINTR when a tracer stops them, although there is no signal. */
static bool gives_up(uint64_t number)
{
    static const uint64_t numbers[] = {SYS_epoll_wait,   SYS_epoll_pwait, SYS_epoll_pwait2,
                                       SYS_semop,        SYS_semtimedop,  SYS_rt_sigtimedwait,
                                       SYS_io_getevents, SYS_msgrcv,      SYS_msgsnd};
    for (size_t i = 0; i < BASE_COUNT(numbers); i++)
        if (numbers[i] == number)
            return true;
    return false;
}

void inject_settle_call(pid_t tid, uint64_t mask, struct user_regs_struct *registers)
{
    long long number = (long long)registers->orig_rax, result = (long long)registers->rax;
    bool again =
        result == -RESTART_SYS || result == -RESTART_NO_INTERRUPT || result == -RESTART_NO_HANDLER;
    if (number < 0)
        return;
    if (result == -EINTR && gives_up((uint64_t)number))
        again = !has_pending(tid, mask);
    if (again)
        registers->rax = (uint64_t)number;
    else if (result == -RESTART_BLOCK)
        registers->rax = SYS_restart_syscall;
    else
        return;
    registers->rip -= 2; /* the length of `syscall` */
    registers->orig_rax = UINT64_MAX;
}

static void fill_frame(const struct user_regs_struct *registers, struct wire_call_frame *frame)
{
    const uint64_t general[16] = {registers->rax, registers->rcx, registers->rdx, registers->rbx,
                                  registers->rsp, registers->rbp, registers->rsi, registers->rdi,
                                  registers->r8,  registers->r9,  registers->r10, registers->r11,
                                  registers->r12, registers->r13, registers->r14, registers->r15};
    memcpy(frame->general, general, sizeof general);
    frame->ip = registers->rip;
    frame->flags = registers->eflags;
    frame->mask = 0;
}

/* ---- one thread ------------------------------------------------------------------------------ */

static bool is_at_end(const struct tracee *tracee, const struct stop *stop)
{
    struct user_regs_struct now;
    return stop->number == SIGTRAP && stop->event == 0 &&
           ptrace(PTRACE_GETREGS, tracee->tid, NULL, &now) == 0 && now.rip == tracee->gate->end + 1;
}

/* Until it has come to the end; our own ticks and traps meanwhile are of no use any more. */
static bool await_end(struct tracee *tracee)
{
    struct stop stop;
    while (await_stop(tracee, &stop)) {
        if (is_at_end(tracee, &stop))
            return true;
        if (stop.event == 0 && stop.number != SIGTRAP)
            tracee->held = stop.number;
        if (!go_on(tracee, 0))
            return false;
    }
    return false;
}

/* Its registers are `before` again afterwards; false: it is gone, or was left in the agent. */
static bool execute(struct tracee *tracee, const uint64_t stack[2],
                    const struct user_regs_struct *before)
{
    struct wire_call_frame frame;
    fill_frame(before, &frame);
    frame.mask = tracee->mask;
    frame.kind = tracee->kind;
    frame.argument = tracee->argument;
    uint64_t at = (stack[1] - FRAME_ROOM) & -UINT64_C(64), all = ~UINT64_C(0);
    struct iovec local = {&frame, sizeof frame}, remote = {(void *)(uintptr_t)at, sizeof frame};
    struct user_regs_struct inside = *before;
    inside.rip = tracee->gate->entry;
    inside.rsp = inside.rdi = at;
    inside.orig_rax = UINT64_MAX;
    if (process_vm_writev(tracee->tid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof frame ||
        ptrace(PTRACE_SETREGS, tracee->tid, NULL, &inside) != 0)
        return true; /* nothing has happened */
    all &= ~TRAP;
    ptrace(PTRACE_SETSIGMASK, tracee->tid, (void *)8, &all);
    if (!go_on(tracee, 0) || !await_end(tracee))
        return false;
    ptrace(PTRACE_SETREGS, tracee->tid, NULL, before);
    /* A thread that is observed has it open, whatever the program believes. */
    uint64_t mask = tracee->kind == WIRE_CALL_BEGIN ? tracee->mask & ~TRAP : tracee->mask;
    ptrace(PTRACE_SETSIGMASK, tracee->tid, (void *)8, &mask);
    return true;
}

/* What could not be let go because it did not stop is let go as soon as it does. */
static void leave(struct inject_calls *calls, pid_t tid)
{
    if (calls->left_count < BASE_COUNT(calls->left))
        calls->left[calls->left_count++] = tid;
}

static void let_go(struct inject_calls *calls)
{
    size_t kept = 0;
    for (size_t i = 0; i < calls->left_count; i++) {
        pid_t tid = calls->left[i];
        struct stop stop;
        if (has_stopped(tid, &stop))
            ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)(stop.event ? 0 : stop.number));
        else if (!has_ended(tid, calls->program))
            calls->left[kept++] = tid;
    }
    calls->left_count = kept;
}

/* It would not stop before what it waits for has come (a disk, the child of a vfork), and nobody
   else could trace it meanwhile. */
static bool cannot_stop(pid_t tid)
{
    char status[4096];
    return !read_status(tid, status, sizeof status) || strstr(status, "State:\tD") != NULL;
}

static void call_thread(struct inject_calls *calls, const struct tracee *process, pid_t tid)
{
    struct tracee tracee = *process;
    uint64_t stack[2];
    bool stopped;
    if (cannot_stop(tid))
        return;
    tracee.tid = tid;
    tracee.deadline_ns = os_now_ns(CLOCK_MONOTONIC) + PATIENCE_MS * UINT64_C(1000000);
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return; /* gone; or traced by another, or not to be traced by anybody */
    if (stop_outside(&tracee, stack, &stopped)) {
        struct user_regs_struct before = tracee.registers;
        inject_settle_call(tid, tracee.mask, &before);
        stopped = execute(&tracee, stack, &before);
    }
    if (!stopped || ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)tracee.held) != 0)
        leave(calls, tid);
}

/* ---- one process ----------------------------------------------------------------------------- */

/* Where the agent is in it, and how its threads are silenced. */
static bool find_gate(struct inject_calls *calls, const struct wire_region *region,
                      struct tracee *tracee, struct wire_call_gate *gate)
{
    struct inject_mapping mapping;
    uint64_t offset = atomic_load(&region->call_gate);
    if (inject_maps_read(&calls->maps, (uint32_t)tracee->tid) != 0)
        return false;
    while (inject_maps_next(&calls->maps, &mapping)) {
        if (strcmp(mapping.path, region->config.agent_path) != 0)
            continue;
        if (mapping.offset == 0)
            tracee->image_start = mapping.start;
        tracee->image_end = mapping.end;
    }
    struct iovec local = {gate, sizeof *gate},
                 remote = {(void *)(uintptr_t)(tracee->image_start + offset), sizeof *gate};
    return tracee->image_start && offset &&
           process_vm_readv(tracee->tid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof *gate &&
           gate->entry >= tracee->image_start && gate->entry < tracee->image_end &&
           gate->end > gate->entry && gate->end < tracee->image_end;
}

/* All threads of the process; those that begin meanwhile begin silent, but for what comes before
   the first. */
static void call_all(struct inject_calls *calls, const struct tracee *process)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process->tid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return;
    for (struct dirent *entry; (entry = readdir(tasks));) {
        pid_t tid =
            isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        if (tid > 0 && (uint64_t)tid != process->argument)
            call_thread(calls, process, tid);
    }
    closedir(tasks);
}

static void serve(struct inject_calls *calls, const struct wire_region *region,
                  void (*hush)(void *context, uint32_t pid), void *context,
                  const struct wire_call *wanted)
{
    char status[4096];
    struct wire_call_gate gate;
    struct tracee tracee = {.tid = wanted->pid <= INT_MAX ? (pid_t)wanted->pid : 0,
                            .gate = &gate,
                            .kind = wanted->kind,
                            .argument = wanted->argument,
                            .program = calls->program};
    if (tracee.tid <= 0 || !read_status(tracee.tid, status, sizeof status))
        return;
    pid_t process = (pid_t)read_number(status, "Tgid:", 10);
    if (process == getpid() || !find_gate(calls, region, &tracee, &gate))
        return;
    if (tracee.kind == WIRE_CALL_BEGIN) {
        call_thread(calls, &tracee, tracee.tid);
    } else if (tracee.kind == WIRE_CALL_QUIET) {
        if (hush)
            hush(context, (uint32_t)process);
        tracee.tid = process;
        call_all(calls, &tracee);
    }
}

void inject_calls_serve(struct inject_calls *calls, struct wire_region *region,
                        void (*hush)(void *context, uint32_t pid), void *context)
{
    let_go(calls);
    for (uint32_t i = 0; i < WIRE_CALLS; i++) {
        struct wire_call *call = &region->calls[i], wanted;
        uint32_t state = WIRE_CALL_WANTED;
        if (!atomic_compare_exchange_strong(&call->state, &state, WIRE_CALL_SERVED))
            continue;
        wanted = *call;
        serve(calls, region, hush, context, &wanted);
        atomic_store_explicit(&call->state, WIRE_CALL_FREE, memory_order_release);
        syscall(SYS_futex, &call->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

void inject_calls_end(struct inject_calls *calls)
{
    inject_maps_free(&calls->maps);
}
