// SPDX-License-Identifier: MIT
/*
 * SIGTRAP, the only signal the agent uses, shared with the program: what the
 * program believes about SIGTRAP (disposition, mask) is kept beside what is
 * installed. SIGTRAPs that are not ours are handed on with their information.
 */
#include "agent/agent.h"

#include "wire/clones.h"

#include <asm/unistd.h>
#include <string.h>
#include <time.h>

/*
 * The kernel enters here on the alternate stack: ours, or the program's if it
 * has one. On the latter only the signal frame stays; the work is done on ours.
 */
void signals_entry(int number, siginfo_t *info, void *context);
__asm__(".text\n"
        ".hidden signals_entry\n"
        ".globl signals_entry\n"
        ".type signals_entry, @function\n"
        "signals_entry:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    mov agent_self@gottpoff(%rip), %rax\n"
        "    mov %fs:(%rax), %rax\n"
        "    test %rax, %rax\n"
        "    jz 1f\n"
        "    cmp 0(%rax), %rsp\n"
        "    jb 2f\n"
        "    cmp 8(%rax), %rsp\n"
        "    ja 2f\n"
        "1:  jmp agent_handle\n"
        "2:  push %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset rbp, -16\n"
        "    mov %rsp, %rbp\n"
        "    .cfi_def_cfa_register rbp\n"
        "    mov 8(%rax), %rsp\n"
        "    call agent_handle\n"
        "    mov %rbp, %rsp\n"
        "    pop %rbp\n"
        "    .cfi_def_cfa rsp, 8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size signals_entry, . - signals_entry\n");

_Static_assert(offsetof(struct agent_thread, stack_base) == 0, "known to signals_entry");
_Static_assert(offsetof(struct agent_thread, stack_top) == 8, "known to signals_entry");

static int install(const struct sigaction *action, struct sigaction *old)
{
    return WRAP_REAL(sigaction)(SIGTRAP, action, old);
}

void signals_reinstall(void)
{
    struct sigaction action = {.sa_sigaction = signals_entry,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    /* All of them: sigfillset leaves out those of the C library, and by a cancellation the thread
       would leave the handler for good, with SIGTRAP blocked and in the middle of our work. */
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    install(&action, NULL);
}

void signals_install(void)
{
    install(NULL, &agent.program_trap);
    signals_reinstall();
    sigset_t mask, old;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTRAP);
    WRAP_REAL(pthread_sigmask)(SIG_UNBLOCK, &mask, &old);
    agent_trap_blocked = sigismember(&old, SIGTRAP);
}

/* ---- SIGTRAPs of the program's own --------------------------------------------------- */

/* To the thread alone, or to the process if it was sent to the process. */
static void queue_one(siginfo_t *info, bool to_process)
{
    if (to_process && (info->si_code == SI_USER || info->si_code == SI_QUEUE))
        os_syscall(__NR_rt_sigqueueinfo, agent.pid, SIGTRAP, info);
    else
        os_syscall(__NR_rt_tgsigqueueinfo, agent.pid, os_tid(), SIGTRAP, info);
}

static bool is_ours(const siginfo_t *info)
{
    struct os_trap trap;
    if (info->si_code == SI_QUEUE)
        return info->si_value.sival_ptr == AGENT_BEGIN || info->si_value.sival_ptr == AGENT_DUE;
    if (info->si_code != OS_TRAP_PERF)
        return false;
    os_trap_read(info, &trap);
    return sample_cookie(trap.cookie) || trap.cookie == WIRE_CLONE_COOKIE;
}

/*
 * Only one SIGTRAP can wait for a thread; a second one is lost without a word. So
 * ours stop, and one of ours that waits already is taken away, before the
 * program's is queued. One of the program's found waiting is queued to the process,
 * which has a place of its own.
 */
static void queue_again(siginfo_t *info, bool to_process)
{
    struct timespec now = {0};
    uint64_t trap = UINT64_C(1) << (SIGTRAP - 1);
    siginfo_t waiting;
    bool another = false;
    thread_pause();
    if (os_syscall(__NR_rt_sigtimedwait, &trap, &waiting, &now, sizeof trap) == SIGTRAP)
        another = !is_ours(&waiting);
    queue_one(info, to_process);
    if (another)
        queue_one(&waiting, true);
}

/*
 * Entered with the program's own flags and mask: the kernel has built the frame
 * the program's handler expects, on the stack it expects it.
 */
static void program_handler(int number, siginfo_t *info, void *context)
{
    struct sigaction action = agent.program_trap;
    signals_reinstall();
    thread_resume();
    if (is_ours(info)) { /* another thread's, between our two steps */
        agent_handle(number, info, context);
        return;
    }
    if (action.sa_flags & SA_RESETHAND)
        agent.program_trap.sa_handler = SIG_DFL;
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, context);
    else if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
        action.sa_handler(number);
}

static void forward(siginfo_t *info, ucontext_t *context)
{
    struct sigaction action = agent.program_trap;
    bool ignored = action.sa_handler == SIG_IGN, by_default = action.sa_handler == SIG_DFL;
    bool forced = info->si_code > 0; /* int3, single step, ...: cannot be ignored or blocked */
    if (agent_trap_blocked && !forced) {
        /* Really block it until the program unblocks it; this thread is not observed meanwhile. */
        hook_blocks_traps();
        sigaddset(&context->uc_sigmask, SIGTRAP);
        queue_again(info, true);
        return;
    }
    if (ignored && !forced)
        return;
    if (by_default || ignored || (agent_trap_blocked && forced)) {
        action = (struct sigaction){.sa_handler = SIG_DFL};
    } else {
        action.sa_sigaction = program_handler;
        action.sa_flags |= SA_SIGINFO;
        action.sa_flags &= ~SA_RESETHAND;
    }
    install(&action, NULL);
    sigdelset(&context->uc_sigmask, SIGTRAP);
    queue_again(info, false);
}

/* An int3 that stands for a while where a function is being patched. */
static bool agent_redirect(ucontext_t *context)
{
    greg_t *ip = &context->uc_mcontext.gregs[REG_RIP];
    uint64_t to = hook_trap((uint64_t)*ip - 1);
    if (to)
        *ip = (greg_t)to;
    return to != 0;
}

/* ---- the handler ----------------------------------------------------------------------------- */

void agent_handle(int number, siginfo_t *info, void *context)
{
    (void)number;
    struct agent_thread *self = agent_self;
    if (info->si_code == SI_KERNEL && (agent_redirect(context) || calls_return(context)))
        return;
    if (agent.region->config.clones && clones_return(info, context))
        return;
    if (!is_ours(info)) {
        forward(info, context);
        return;
    }
    if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == AGENT_BEGIN) {
        thread_begin(NULL);
        return;
    }
    bool due = info->si_code == SI_QUEUE && info->si_value.sival_ptr == AGENT_DUE;
    if (!self)
        return;
    thread_note_time(self);
    self->entries++;
    if (due) {
        count_due(self);
    } else {
        struct os_trap trap;
        os_trap_read(info, &trap);
        sample_trap(self, context, &trap);
    }
    uint64_t spent = os_now_ns(CLOCK_THREAD_CPUTIME_ID) - self->began_ns;
    self->spent_ns += spent;
    self->last_virtual_ns = thread_virtual_ns(self);
    self->own_ns += spent;
    if (self->slot)
        self->counters->handler_ns += spent;
}
