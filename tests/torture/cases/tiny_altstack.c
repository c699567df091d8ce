// SPDX-License-Identifier: MIT
/* Handlers on the smallest alternate stack, and recovery from a stack overflow on it. */
#include "torture.h"
#include <setjmp.h>

static sigjmp_buf recovery;
static volatile sig_atomic_t hits, on_own, flags;
static char *alternate;
static size_t alternate_size;

static void on_user(int number)
{
    char here;
    stack_t stack;
    (void)number;
    sigaltstack(NULL, &stack);
    hits++;
    on_own += &here >= alternate && &here < alternate + alternate_size;
    flags |= stack.ss_flags;
    busy_turns(100000);
}

static void on_overflow(int number)
{
    (void)number;
    siglongjmp(recovery, 1);
}

__attribute__((noinline)) static int overflow(int depth)
{
    volatile char local[4096];
    if (depth < 0)
        return 0;
    local[0] = (char)depth;
    return overflow(depth + 1) + local[0];
}

int main(void)
{
    /* Two signal frames (a signal may always arrive within a handler), and what the dynamic
       linker takes to bind a symbol from the handler. */
    alternate_size = 2 * (size_t)sysconf(_SC_MINSIGSTKSZ) + 4096;
    alternate = malloc(alternate_size);
    stack_t stack = {.ss_sp = alternate, .ss_size = alternate_size}, old;
    must(sigaltstack(&stack, &old) == 0);
    say("before: flags %d, size %zu\n", old.ss_flags, old.ss_size);
    must(sigaltstack(NULL, &old) == 0);
    say("own: %d, flags %d\n", old.ss_sp == alternate && old.ss_size == alternate_size,
        old.ss_flags);
    struct sigaction action = {.sa_handler = on_user, .sa_flags = SA_ONSTACK};
    must(sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < 200; i++) {
        busy(1);
        raise(SIGUSR1);
    }
    say("handlers %d, on own stack %d, flags %d\n", hits, on_own, flags);
    action.sa_handler = on_overflow;
    must(sigaction(SIGSEGV, &action, NULL) == 0);
    for (volatile int i = 0; i < 3; i++) {
        if (sigsetjmp(recovery, 1) == 0)
            overflow(0);
        say("recovered %d\n", i);
        busy(20);
    }
    stack.ss_flags = SS_DISABLE;
    must(sigaltstack(&stack, NULL) == 0 && sigaltstack(NULL, &old) == 0);
    say("disabled: flags %d\n", old.ss_flags);
    busy(20);
    return hits == 200 ? 0 : 1;
}
