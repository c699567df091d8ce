// SPDX-License-Identifier: MIT
/* At most eight descriptors, all of them wanted by the program. */
#include "torture.h"
#include <pthread.h>

static void *work(void *unused)
{
    busy(20);
    return unused;
}

int main(void)
{
    struct rlimit limit = {8, 8};
    int opened = 0, fd, last = -1;
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    busy(50);
    while ((fd = open("/dev/null", O_RDONLY)) >= 0) {
        opened++;
        last = fd;
        busy(20);
    }
    say("opened %d, last %d, errno %d\n", opened, last, errno);
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
    pid_t child = fork();
    if (child == 0) {
        busy(50);
        _exit(open("/dev/null", O_RDONLY) < 0 ? 0 : 1);
    }
    show_end("child", child);
    return 0;
}
