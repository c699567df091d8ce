// SPDX-License-Identifier: MIT
/* One way to end, named by the argument. */
#include "torture.h"
#include <pthread.h>

static void at_exit(void)
{
    busy(10);
    say("at exit\n");
}

static void *end_process(void *unused)
{
    busy(20);
    exit(9);
    return unused;
}

__attribute__((noinline)) static int overflow(int depth)
{
    volatile char local[4096];
    if (depth < 0)
        return 0;
    local[0] = (char)depth;
    return overflow(depth + 1) + local[0];
}

static volatile int zero;

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "return";
    pthread_t thread;
    atexit(at_exit);
    busy(100);
    say("ends by %s\n", mode);
    if (strcmp(mode, "exit") == 0)
        exit(256 + 5);
    if (strcmp(mode, "_exit") == 0)
        _exit(6);
    if (strcmp(mode, "exit_group") == 0)
        syscall(SYS_exit_group, 7);
    if (strcmp(mode, "quick_exit") == 0)
        quick_exit(8);
    if (strcmp(mode, "thread") == 0 && pthread_create(&thread, NULL, end_process, NULL) == 0)
        pthread_exit(NULL);
    if (strcmp(mode, "last-thread") == 0)
        pthread_exit(NULL);
    if (strcmp(mode, "abort") == 0)
        abort();
    if (strcmp(mode, "segv") == 0)
        *nowhere = 1;
    if (strcmp(mode, "fpe") == 0)
        return 1 / zero;
    if (strcmp(mode, "ill") == 0)
        __asm__ volatile("ud2");
    if (strcmp(mode, "overflow") == 0)
        return overflow(0);
    if (strcmp(mode, "term") == 0)
        kill(getpid(), SIGTERM);
    if (strcmp(mode, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(mode, "prof") == 0)
        kill(getpid(), SIGPROF);
    if (strcmp(mode, "cpu-limit") == 0) {
        struct rlimit limit = {1, 2};
        setrlimit(RLIMIT_CPU, &limit);
        busy(100000);
    }
    return 11;
}
