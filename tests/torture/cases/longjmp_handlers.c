// SPDX-License-Identifier: MIT
/* siglongjmp out of handlers of timers and faults, plain longjmp with and without the mask. */
#include "torture.h"
#include <setjmp.h>

static sigjmp_buf back;
static volatile sig_atomic_t alarms, faults;

static void on_alarm(int number)
{
    (void)number;
    alarms++;
    siglongjmp(back, 1);
}

static void on_fault(int number)
{
    (void)number;
    faults++;
    siglongjmp(back, 2);
}

int main(void)
{
    signal(SIGALRM, on_alarm);
    signal(SIGSEGV, on_fault);
    while (alarms < 100) {
        struct itimerval soon = {{0, 0}, {0, 2000}};
        if (sigsetjmp(back, 1) == 0) {
            setitimer(ITIMER_REAL, &soon, NULL);
            for (;;)
                busy_turns(1000);
        }
    }
    while (faults < 2000) {
        if (sigsetjmp(back, 1) == 0) {
            busy_turns(1000);
            *nowhere = 1;
        }
    }
    say("alarms %d, faults %d\n", alarms, faults);
    show_signals();
    return 0;
}
