// SPDX-License-Identifier: MIT
/* Takes blocked signals with sigwait, sigwaitinfo, sigtimedwait and signalfd; SIGTRAP
 * among them. */
#include "torture.h"
#include <sys/signalfd.h>

int main(void)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGPROF);
    must(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    for (int round = 0; round < 10; round++) {
        int number = 0;
        kill(getpid(), round & 1 ? SIGTRAP : SIGUSR1);
        busy(20);
        must(sigwait(&set, &number) == 0);
        say("sigwait %d\n", number);
        sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = round});
        busy(20);
        must(sigwaitinfo(&set, &info) == SIGTRAP);
        say("sigwaitinfo: code %d, value %d\n", info.si_code, info.si_value.sival_int);
        struct timespec soon = {0, 1000000};
        say("sigtimedwait: %d\n", sigtimedwait(&set, &info, &soon) < 0 && errno == EAGAIN);
    }
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    must(fd >= 0);
    for (int round = 0; round < 10; round++) {
        struct signalfd_siginfo record;
        busy(20);
        say("signalfd empty: %d\n", read(fd, &record, sizeof record) < 0 && errno == EAGAIN);
        sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = round});
        busy(20);
        must(read(fd, &record, sizeof record) == sizeof record);
        say("signalfd: signal %u, code %d, value %d\n", record.ssi_signo, record.ssi_code,
            record.ssi_int);
    }
    show_signals();
    return 0;
}
