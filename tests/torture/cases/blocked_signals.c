// SPDX-License-Identifier: MIT
/* Works with every signal blocked, then finds pending what was sent, and only that. */
#include "torture.h"

static volatile sig_atomic_t traps, users;

static void on_trap(int number)
{
    (void)number;
    traps++;
}

static void on_user(int number)
{
    (void)number;
    users++;
}

int main(void)
{
    sigset_t all, old;
    sigfillset(&all);
    must(sigprocmask(SIG_SETMASK, &all, &old) == 0);
    show_set("before", &old);
    busy(200);
    show_signals();
    signal(SIGTRAP, on_trap);
    signal(SIGUSR1, on_user);
    kill(getpid(), SIGTRAP);
    kill(getpid(), SIGUSR1);
    busy(200);
    show_signals();
    say("early: %d %d\n", traps, users);
    must(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
    say("late: %d %d\n", traps, users);
    busy(100);
    show_signals();
    say("at the end: %d %d\n", traps, users);
    return 0;
}
