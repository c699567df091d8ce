// SPDX-License-Identifier: MIT
/* Uses SIGTRAP itself: int3, raise, kill, sigqueue, single-stepping by the trap flag. */
#include "torture.h"

static volatile sig_atomic_t steps;

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)context;
    say("trap: signal %d, code %d, value %d, from self %d\n", number, info->si_code,
        info->si_code == SI_QUEUE ? info->si_value.sival_int : 0,
        info->si_code <= 0 ? info->si_pid == getpid() : 0);
}

static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    steps += info->si_code == TRAP_TRACE;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, old;
    must(sigaction(SIGTRAP, &action, &old) == 0);
    say("default before: %d\n", old.sa_handler == SIG_DFL);
    for (int round = 0; round < 20; round++) {
        busy(10);
        __asm__ volatile("int3");
        raise(SIGTRAP);
        kill(getpid(), SIGTRAP);
        must(sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = round}) == 0);
    }
    action.sa_sigaction = on_step;
    must(sigaction(SIGTRAP, &action, &old) == 0);
    say("own handler before: %d\n", old.sa_sigaction == on_trap);
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
                     "nop\n\tnop\n\tnop\n\t"
                     "pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    say("steps: %d\n", steps);
    busy(50);
    signal(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
    busy(50);
    say("ignored\n");
    show_signals();
    return 0;
}
