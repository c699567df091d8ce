// SPDX-License-Identifier: MIT
/*
 * Everything at once while functions are chosen and patched: recursion, loops that never leave a
 * function, functions entered for the first time late, threads that come and go, forks, long jumps,
 * for more than a second of CPU time.
 */
#include "hooked.h"
#include <setjmp.h>

static uint64_t milliseconds;
static volatile int finished, wrong;

static uint64_t cpu_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

HOOKED uint64_t short_loop(uint64_t turns)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < turns; i++) {
        sum += i;
        OPAQUE(sum);
    }
    return sum;
}

/* Entered once, hot all the time: never to be waited for. */
HOOKED uint64_t endless(void)
{
    uint64_t sum = 0;
    while (!finished) {
        for (uint64_t i = 0; i < 1000; i++) {
            sum += i ^ sum << 1;
            OPAQUE(sum);
        }
        if (short_loop(100) != 4950)
            wrong = 1;
    }
    return sum;
}

HOOKED uint64_t fibonacci(uint64_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* Blocks inside for long: its frame is there before the function is hooked and returns after. */
HOOKED uint64_t sleeper(int rounds)
{
    uint64_t sum = 0;
    for (int i = 0; i < rounds && !finished; i++) {
        usleep(20000);
        sum += short_loop(1000);
    }
    return sum;
}

HOOKED uint64_t jumper(volatile uint64_t turn)
{
    static __thread jmp_buf here;
    if (setjmp(here))
        return turn;
    if (turn % 2) {
        short_loop(50);
        longjmp(here, 1);
    }
    return turn;
}

static void *run_endless(void *unused)
{
    endless();
    return unused;
}

static void *run_sleeper(void *unused)
{
    sleeper(1 << 20);
    return unused;
}

static void *run_brief(void *unused)
{
    if (fibonacci(12) != 144)
        wrong = 2;
    return unused;
}

static void fork_once(void)
{
    int status;
    pid_t child = fork();
    must(child >= 0);
    if (child == 0)
        _exit(fibonacci(15) == 610 ? 0 : 3);
    must(waitpid(child, &status, 0) == child);
    if (status != 0)
        wrong = 4;
}

int main(int argc, char **argv)
{
    pthread_t endless_thread, sleeper_thread, brief;
    milliseconds = amount(argc, argv, 3000);
    must(pthread_create(&endless_thread, NULL, run_endless, NULL) == 0);
    must(pthread_create(&sleeper_thread, NULL, run_sleeper, NULL) == 0);
    for (uint64_t i = 0; cpu_ms(CLOCK_PROCESS_CPUTIME_ID) < milliseconds; i++) {
        if (fibonacci(18) != 2584)
            wrong = 5;
        for (uint64_t k = 0; k < 100; k++)
            if (jumper(k) != k)
                wrong = 6;
        must(pthread_create(&brief, NULL, run_brief, NULL) == 0);
        must(pthread_join(brief, NULL) == 0);
        if (i % 64 == 0)
            fork_once();
    }
    finished = 1;
    must(pthread_join(endless_thread, NULL) == 0);
    must(pthread_join(sleeper_thread, NULL) == 0);
    say("wrong %d\n", wrong);
    return 0;
}
