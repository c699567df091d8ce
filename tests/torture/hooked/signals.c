// SPDX-License-Identifier: MIT
/*
 * Signals at a high rate, on the way into hooked functions and out of them, handled by hooked
 * functions, on the same and on alternate stacks, for as long as it takes to choose functions and
 * to patch them while they run.
 */
#include "hooked.h"

enum { THREADS = 2 };
static volatile int wrong;
static __thread volatile uint64_t handled;

HOOKED uint64_t mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                    uint64_t g)
{
    return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f + 13 * g;
}

HOOKED double blend(double a, double b, long double c)
{
    return a * 2 + b + (double)c;
}

HOOKED uint64_t nested(uint64_t depth)
{
    uint64_t result = depth ? nested(depth - 1) + 1 : mix(1, 2, 3, 4, 5, 6, 7);
    OPAQUE(result);
    return result;
}

HOOKED void check(uint64_t turn)
{
    uint64_t expected = turn + 2 * (turn + 1) + 3 * (turn + 2) + 5 * (turn + 3) + 7 * (turn + 4) +
                        11 * (turn + 5) + 13 * (turn + 6);
    if (mix(turn, turn + 1, turn + 2, turn + 3, turn + 4, turn + 5, turn + 6) != expected)
        wrong = 1;
    if (nested(turn % 16) != 1 + 4 + 9 + 20 + 35 + 66 + 91 + turn % 16)
        wrong = 2;
    double a = (double)turn;
    if (blend(a, 1.5, 0.25L) != a * 2 + 1.75)
        wrong = 3;
}

static void on_signal(int number)
{
    check((uint64_t)number + handled);
    handled = handled + 1;
}

/* A timer of the thread's own CPU time, which signals that thread. */
static timer_t start_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    timer_t timer;
    struct itimerspec period = {{0, 50000}, {0, 50000}};
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    must(timer_settime(timer, 0, &period, NULL) == 0);
    return timer;
}

static uint64_t cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t milliseconds;

static void *run(void *argument)
{
    char *stack = argument ? malloc(65536) : NULL;
    stack_t alternate = {.ss_sp = stack, .ss_size = 65536};
    must(!argument || (stack && sigaltstack(&alternate, NULL) == 0));
    timer_t timer = start_timer();
    for (uint64_t turn = 0; turn % 256 || cpu_ms() < milliseconds; turn++)
        check(turn);
    must(timer_delete(timer) == 0);
    must(handled > 0);
    stack_t none = {.ss_flags = SS_DISABLE};
    must(sigaltstack(&none, NULL) == 0);
    free(stack);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
    milliseconds = amount(argc, argv, 1500);
    must(sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, run, i ? &threads[i] : NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        must(pthread_join(threads[i], NULL) == 0);
    say("wrong %d\n", wrong);
    return 0;
}
