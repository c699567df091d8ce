// SPDX-License-Identifier: MIT
/* Has a profiling timer of its own: it ticks, nothing else does, and its handler sees SI_KERNEL. */
#include "torture.h"

static volatile sig_atomic_t ticks[3], odd;

static void on_tick(int number, siginfo_t *info, void *context)
{
    (void)context;
    int kept = errno;
    ticks[number == SIGPROF ? 0 : number == SIGVTALRM ? 1 : 2]++;
    odd += info->si_code != SI_KERNEL;
    errno = kept;
}

int main(void)
{
    const int signals[] = {SIGPROF, SIGVTALRM, SIGALRM};
    const int timers[] = {ITIMER_PROF, ITIMER_VIRTUAL, ITIMER_REAL};
    for (int i = 0; i < 3; i++) {
        struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
        struct itimerval timer = {{0, 5000}, {0, 5000}};
        must(sigaction(signals[i], &action, NULL) == 0);
        must(setitimer(timers[i], &timer, NULL) == 0);
    }
    busy(500);
    for (int i = 0; i < 3; i++) {
        struct itimerval off = {{0, 0}, {0, 0}};
        must(setitimer(timers[i], &off, NULL) == 0);
        say("timer %d: %s\n", i, ticks[i] >= 20 && ticks[i] <= 2000 ? "ticked" : "wrong");
    }
    say("odd codes: %d\n", odd);
    show_signals();
    return 0;
}
