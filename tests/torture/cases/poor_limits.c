// SPDX-License-Identifier: MIT
/* No locked memory, no queued signals, no further processes, a small address space. */
#include "torture.h"
#include <pthread.h>

static void *work(void *unused)
{
    busy(20);
    return unused;
}

int main(void)
{
    const int resources[] = {RLIMIT_MEMLOCK, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_CORE};
    struct rlimit space = {600 << 20, 600 << 20};
    busy(50);
    for (int i = 0; i < 4; i++) {
        struct rlimit none = {0, 0};
        must(setrlimit(resources[i], &none) == 0);
        busy(20);
    }
    must(setrlimit(RLIMIT_AS, &space) == 0);
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
    size_t blocks = 0;
    while (malloc(16 << 20))
        blocks++;
    say("memory runs out: %d\n", blocks > 10 && blocks < 60);
    busy(50);
    pid_t child = fork();
    if (child == 0) {
        busy(50);
        _exit(16);
    }
    show_end("child", child);
    show_limits();
    return 0;
}
