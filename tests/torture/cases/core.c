// SPDX-License-Identifier: MIT
/* Children that crash, with and without room for a core file; what wait says of it. */
#include "torture.h"

static void crash(int signal_number, rlim_t core)
{
    struct rlimit limit = {core, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &limit);
    busy(50);
    raise(signal_number);
    _exit(1);
}

int main(void)
{
    const int signals[] = {SIGSEGV, SIGABRT, SIGTRAP, SIGQUIT, SIGTERM};
    for (int i = 0; i < 5; i++) {
        for (int with = 0; with < 2; with++) {
            pid_t child = fork();
            if (child == 0)
                crash(signals[i], with ? 64 << 20 : 0);
            show_end(with ? "with core" : "without", child);
        }
    }
    return 0;
}
