// SPDX-License-Identifier: MIT
/* longjmp over hooked frames, from every depth to every other, out of handlers, also on alternate
 * stacks. */
#include "hooked.h"
#include <setjmp.h>

enum { LEVELS = 12 };
static jmp_buf levels[LEVELS];
static sigjmp_buf back;
static volatile uint64_t landed;
static volatile sig_atomic_t handled;

HOOKED uint64_t leaf(uint64_t turns)
{
    busy_turns(turns % 7);
    return turns + 1;
}

/* Goes down one level; at the bottom jumps to the level that `target` says. */
HOOKED uint64_t descend(volatile int level, volatile int target, volatile uint64_t turn)
{
    if (level == LEVELS) {
        leaf(turn);
        longjmp(levels[target], 1 + target);
    }
    if (setjmp(levels[level])) {
        landed = landed + leaf((uint64_t)level);
        return (uint64_t)level;
    }
    uint64_t result = descend(level + 1, target, turn);
    NO_TAIL_CALL();
    return result + 100;
}

/* A loop around one setjmp: each jump leaves hooked frames that never return. */
HOOKED uint64_t over_and_over(uint64_t jumps)
{
    static jmp_buf here;
    volatile uint64_t count = 0;
    if (setjmp(here))
        count = count + 1;
    if (count < jumps) {
        leaf(count);
        memcpy(&levels[0], &here, sizeof here);
        descend(LEVELS, 0, count);
    }
    return count;
}

HOOKED void hooked_in_handler(int number)
{
    leaf((uint64_t)number);
    handled++;
    if (number == SIGUSR2)
        siglongjmp(back, 2);
}

static void on_signal(int number)
{
    hooked_in_handler(number);
    NO_TAIL_CALL();
}

HOOKED uint64_t raise_deep(int depth, int number)
{
    if (depth == 0) {
        raise(number);
        return leaf(1);
    }
    uint64_t result = raise_deep(depth - 1, number);
    NO_TAIL_CALL();
    return result + 1;
}

static void by_signals(bool is_alternate)
{
    char *stack = malloc(65536);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = is_alternate ? SA_ONSTACK : 0};
    stack_t alternate = {.ss_sp = stack, .ss_size = 65536};
    must(stack && sigaltstack(&alternate, NULL) == 0);
    must(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0);
    volatile uint64_t sum = 0;
    for (volatile int i = 0; i < 2000; i++) {
        if (sigsetjmp(back, 1) == 0)
            sum = sum + raise_deep(i % 20, i % 3 ? SIGUSR2 : SIGUSR1);
        else
            sum = sum + 1000;
    }
    say("%s: %d handled, %llu\n", is_alternate ? "alternate stack" : "same stack", (int)handled,
        (unsigned long long)sum);
    stack_t none = {.ss_flags = SS_DISABLE};
    must(sigaltstack(&none, NULL) == 0);
    free(stack);
}

/* The timer strikes anywhere, in the hooks, too. */
static void on_alarm(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void by_timer(uint64_t times)
{
    struct sigaction action = {.sa_handler = on_alarm};
    must(sigaction(SIGALRM, &action, NULL) == 0);
    volatile uint64_t alarms = 0, turn = 0;
    while (alarms < times) {
        struct itimerval soon = {{0, 0}, {0, 300}}, never = {0};
        if (sigsetjmp(back, 1) == 0) {
            must(setitimer(ITIMER_REAL, &soon, NULL) == 0);
            for (;;)
                turn = leaf(turn) % 5;
        }
        must(setitimer(ITIMER_REAL, &never, NULL) == 0);
        alarms = alarms + 1;
    }
    say("alarms %llu\n", (unsigned long long)alarms);
}

static void *run(void *argument)
{
    uint64_t sum = 0, rounds = *(uint64_t *)argument;
    for (uint64_t i = 0; i < rounds / 10; i++)
        sum += descend(0, (int)(i * 7 % LEVELS), i);
    say("down and up %llu, landed %llu\n", (unsigned long long)sum, (unsigned long long)landed);
    say("over and over %llu\n", (unsigned long long)over_and_over(rounds));
    by_signals(false);
    by_signals(true);
    by_timer(rounds / 100);
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t rounds = amount(argc, argv, 100000);
    run(&rounds);
    pthread_t thread;
    must(pthread_create(&thread, NULL, run, &rounds) == 0);
    sigset_t alarm_only; /* for the thread alone */
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    must(pthread_sigmask(SIG_BLOCK, &alarm_only, NULL) == 0);
    must(pthread_join(thread, NULL) == 0);
    return 0;
}
