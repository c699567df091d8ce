// SPDX-License-Identifier: MIT
/*
 * Wrappers around the few libc functions through which a program could notice
 * us or lose us: threads, signal state, alternate stacks, system call filters,
 * debugging. Each does what the real function does, for a program that must
 * see SIGTRAP as if we were not there. Without a region they only pass on.
 *
 * dlopen is not wrapped: it looks at its caller's RUNPATH. New modules are met
 * when an address in them is sampled.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <threads.h>

#define EXPORT __attribute__((visibility("default")))

enum { PTRACE_TRIES = 100 };

void *wrap_next(void **cache, const char *name)
{
    void *function = __atomic_load_n(cache, __ATOMIC_RELAXED);
    if (!function) {
        function = dlsym(RTLD_NEXT, name);
        __atomic_store_n(cache, function, __ATOMIC_RELAXED);
    }
    return function;
}

/* ---- threads ------------------------------------------------------------------------ */

static void end_thread(void *unused)
{
    (void)unused;
    thread_end();
}

static void *run_thread(void *state)
{
    struct agent_thread *self = state;
    void *(*routine)(void *) = self->routine;
    void *argument = self->argument, *result;
    agent_trap_blocked = self->trap_blocked;
    thread_begin(self);
    pthread_cleanup_push(end_thread, NULL);
    result = routine(argument);
    pthread_cleanup_pop(1);
    return result;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*routine)(void *), void *argument)
{
    struct agent_thread *state = thread_prepare();
    if (!state)
        return WRAP_REAL(pthread_create)(thread, attributes, routine, argument);
    state->routine = routine;
    state->argument = argument;
    state->trap_blocked = agent_trap_blocked;
    if (attributes)
        pthread_attr_getstacksize(attributes, &state->stack_bytes);
    int error = WRAP_REAL(pthread_create)(thread, attributes, run_thread, state);
    if (error)
        thread_discard(state);
    return error;
}

/* thrd_start_t returns int; on x86-64 both come back in the same register. */
static void *run_c11_thread(void *state)
{
    struct agent_thread *self = state;
    thrd_start_t routine = (thrd_start_t)(void (*)(void))self->routine;
    void *argument = self->argument;
    int result;
    agent_trap_blocked = self->trap_blocked;
    thread_begin(self);
    pthread_cleanup_push(end_thread, NULL);
    result = routine(argument);
    pthread_cleanup_pop(1);
    return (void *)(intptr_t)result;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
    struct agent_thread *state = thread_prepare();
    if (!state)
        return WRAP_REAL(thrd_create)(thread, routine, argument);
    state->routine = (void *(*)(void *))(void (*)(void))routine;
    state->argument = argument;
    state->trap_blocked = agent_trap_blocked;
    int result =
        WRAP_REAL(thrd_create)(thread, (thrd_start_t)(void (*)(void))run_c11_thread, state);
    if (result != thrd_success)
        thread_discard(state);
    return result;
}

/* What is done before a barrier and what is done behind it are no turns at a line. */
EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    int result = WRAP_REAL(pthread_barrier_wait)(barrier);
    sharing_barrier();
    return result;
}

EXPORT int dlclose(void *handle)
{
    int result = WRAP_REAL(dlclose)(handle);
    if (agent.region)
        modules_revalidate();
    return result;
}

/* ---- signal dispositions -------------------------------------------------------------- */

/* Bit n: SIGTRAP in the mask of the action for signal n is not as the program wanted it. */
static _Atomic uint64_t changed_masks;

static int trap_action(const struct sigaction *action, struct sigaction *old)
{
    struct sigaction previous = agent.program_trap;
    if (action)
        agent.program_trap = *action;
    if (old)
        *old = previous;
    return 0;
}

/*
 * Handlers on the program's alternate stack run with SIGTRAP blocked, so that our
 * signal frame never comes on top of theirs there. A handler whose own mask blocks
 * SIGTRAP runs that way: it is not observed, and sees the mask it asked for.
 *
 * Where functions are patched while they run it is the other way round: a handler that meets the
 * int3 that stands in for a while must not have SIGTRAP blocked.
 */
static bool change_trap(struct sigaction *action)
{
    bool blocked = sigismember(&action->sa_mask, SIGTRAP) == 1;
    if (agent.region->config.spans) {
        sigdelset(&action->sa_mask, SIGTRAP);
        return blocked;
    }
    if (blocked || !(action->sa_flags & SA_ONSTACK))
        return false;
    sigaddset(&action->sa_mask, SIGTRAP);
    return true;
}

static void note_mask(int number, bool changed)
{
    uint64_t bit = UINT64_C(1) << (number & 63);
    if (changed)
        atomic_fetch_or(&changed_masks, bit);
    else
        atomic_fetch_and(&changed_masks, ~bit);
}

static int other_action(int number, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction ours;
    bool was_changed = atomic_load(&changed_masks) >> (number & 63) & 1, change = false;
    if (action) {
        ours = *action;
        change = change_trap(&ours);
    }
    int result = WRAP_REAL(sigaction)(number, action ? &ours : NULL, old);
    if (result != 0)
        return result;
    if (old && was_changed && agent.region->config.spans)
        sigaddset(&old->sa_mask, SIGTRAP);
    else if (old && was_changed)
        sigdelset(&old->sa_mask, SIGTRAP);
    if (action)
        note_mask(number, change);
    return 0;
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    if (!agent.region || number <= 0 || number > 64)
        return WRAP_REAL(sigaction)(number, action, old);
    return number == SIGTRAP ? trap_action(action, old) : other_action(number, action, old);
}

static sighandler_t trap_signal(sighandler_t handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    trap_action(&action, &old);
    return old.sa_handler;
}

/* Their masks are libc's, which SIGTRAP is not in. */
static sighandler_t other_signal(sighandler_t (*real)(int, sighandler_t), int number,
                                 sighandler_t handler)
{
    sighandler_t old = real(number, handler);
    if (agent.region && old != SIG_ERR)
        note_mask(number, false);
    return old;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    if (agent.region && number == SIGTRAP && handler != SIG_ERR)
        return trap_signal(handler, SA_RESTART);
    return other_signal(WRAP_REAL(signal), number, handler);
}

EXPORT sighandler_t ssignal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

sighandler_t bsd_signal(int number, sighandler_t handler);
EXPORT sighandler_t bsd_signal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
    if (agent.region && number == SIGTRAP && handler != SIG_ERR)
        return trap_signal(handler, (int)(SA_RESETHAND | SA_NODEFER));
    return other_signal(WRAP_REAL(sysv_signal), number, handler);
}

sighandler_t __sysv_signal(int number, sighandler_t handler);
EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    return sysv_signal(number, handler);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
EXPORT int sigignore(int number)
{
    if (agent.region && number == SIGTRAP) {
        trap_signal(SIG_IGN, 0);
        return 0;
    }
    return WRAP_REAL(sigignore)(number);
}
#pragma GCC diagnostic pop

/* ---- signal masks ------------------------------------------------------------------------ */

/* What the real mask call is given: the same without SIGTRAP. Updates the program's view. */
static const sigset_t *strip_trap(int how, const sigset_t *set, sigset_t *stripped)
{
    bool has_trap = sigismember(set, SIGTRAP) == 1;
    if (how == SIG_SETMASK || has_trap)
        agent_trap_blocked = has_trap && how != SIG_UNBLOCK;
    *stripped = *set;
    if (how != SIG_UNBLOCK)
        sigdelset(stripped, SIGTRAP);
    return stripped;
}

/*
 * SIGTRAP is really blocked in handlers that ask for it and while one of the
 * program's own is waiting (signals.c): then nothing is pretended.
 */
static int change_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
                       sigset_t *old)
{
    sigset_t stripped, current;
    bool was_blocked = agent_trap_blocked;
    bool valid = !set || how == SIG_BLOCK || how == SIG_UNBLOCK || how == SIG_SETMASK;
    if (!agent.region || !valid)
        return real(how, set, old);
    real(SIG_BLOCK, NULL, &current);
    bool really = sigismember(&current, SIGTRAP) == 1;
    bool opens =
        set && really && how != SIG_BLOCK && sigismember(set, SIGTRAP) == (how == SIG_UNBLOCK);
    if (opens) /* before the call: what is waiting is delivered within it */
        agent_trap_blocked = false;
    int result = real(how, set && !really ? strip_trap(how, set, &stripped) : set, old);
    if (opens)
        thread_resume();
    if (result == 0 && old && was_blocked)
        sigaddset(old, SIGTRAP);
    return result;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    return change_mask(WRAP_REAL(sigprocmask), how, set, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return change_mask(WRAP_REAL(pthread_sigmask), how, set, old);
}

/* ---- waiting for signals --------------------------------------------------------------------- */

/* The program waits for SIGTRAP itself: ours stay away, and what it believes becomes true. */
static bool wait_begin(const sigset_t *set)
{
    if (!agent.region || !set || sigismember(set, SIGTRAP) != 1 || !agent_trap_blocked)
        return false;
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    thread_pause();
    WRAP_REAL(pthread_sigmask)(SIG_BLOCK, &trap, NULL);
    return true;
}

static void wait_end(bool begun)
{
    int error = errno;
    sigset_t trap;
    if (!begun)
        return;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    WRAP_REAL(pthread_sigmask)(SIG_UNBLOCK, &trap, NULL);
    thread_resume();
    errno = error;
}

EXPORT int sigwait(const sigset_t *set, int *number)
{
    bool begun = wait_begin(set);
    int result = WRAP_REAL(sigwait)(set, number);
    wait_end(begun);
    return result;
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    bool begun = wait_begin(set);
    int result = WRAP_REAL(sigwaitinfo)(set, info);
    wait_end(begun);
    return result;
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    bool begun = wait_begin(set);
    int result = WRAP_REAL(sigtimedwait)(set, info, timeout);
    wait_end(begun);
    return result;
}

/* ---- alternate stacks --------------------------------------------------------------------- */

EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
    struct agent_thread *self = agent_self;
    bool ours = self && self->own_altstack;
    int result = WRAP_REAL(sigaltstack)(stack, old);
    if (result == 0 && old && ours)
        *old = (stack_t){.ss_flags = SS_DISABLE};
    if (result == 0 && stack)
        thread_altstack_changed(stack);
    return result;
}

/* ---- restricted system calls, debugging ---------------------------------------------------- */

/*
 * Whatever the filter allows, our system calls may be forbidden after it, and be the end of the
 * program. So there are none afterwards; other threads that it will bind are stopped as well.
 */
static void before_filter(bool in_all_threads)
{
    if (!agent.region)
        return;
    agent_stop(WIRE_DEGRADED_SECCOMP);
    if (in_all_threads)
        calls_silence_others();
    atomic_store(&agent.filtered, true);
}

EXPORT int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP)
        before_filter(false);
    return WRAP_REAL(prctl)(option, a, b, c, d);
}

/* A program that wants debug registers itself gets them all. */
static void before_perf_event(long attr)
{
    uint32_t type;
    if (os_read_self(NULL, (uint64_t)attr + offsetof(struct perf_event_attr, type), &type,
                     sizeof type) &&
        type == PERF_TYPE_BREAKPOINT)
        agent_stop(WIRE_DEGRADED_NO_WATCHPOINT);
}

EXPORT long syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (agent.region) {
        if (number == __NR_seccomp && a != SECCOMP_GET_ACTION_AVAIL && a != SECCOMP_GET_NOTIF_SIZES)
            before_filter(a == SECCOMP_SET_MODE_FILTER && b & SECCOMP_FILTER_FLAG_TSYNC);
        else if (number == __NR_perf_event_open)
            before_perf_event(a);
        else if (number == __NR_rt_sigaction && a == SIGTRAP && b)
            agent_stop(WIRE_DEGRADED_SIGTRAP);
    }
    return WRAP_REAL(syscall)(number, a, b, c, d, e, f);
}

EXPORT long ptrace(enum __ptrace_request request, ...)
{
    va_list list;
    va_start(list, request);
    pid_t pid = va_arg(list, pid_t);
    void *address = va_arg(list, void *), *data = va_arg(list, void *);
    va_end(list);
    if (agent.region && request == PTRACE_TRACEME)
        agent_stop(0);
    bool attaches = agent.region && (request == PTRACE_ATTACH || request == PTRACE_SEIZE);
    if (attaches)
        calls_quieten((uint32_t)pid);
    long result = WRAP_REAL(ptrace)(request, pid, address, data);
    for (int i = 0; i < PTRACE_TRIES && attaches && result < 0 && errno == EPERM; i++) {
        if (!calls_holds((uint32_t)pid)) /* it may have let go meanwhile */
            return WRAP_REAL(ptrace)(request, pid, address, data);
        result = WRAP_REAL(ptrace)(request, pid, address, data);
    }
    return result;
}
