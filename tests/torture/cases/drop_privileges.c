// SPDX-License-Identifier: MIT
/* Gives up root in an empty root directory (its argument), then goes on working. */
#include "torture.h"
#include <grp.h>
#include <pthread.h>

static void *work(void *unused)
{
    busy(30);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    must(argc > 1);
    busy(50);
    must(chroot(argv[1]) == 0 && chdir("/") == 0);
    must(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    busy(100);
    must(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        busy(50);
        _exit(14);
    }
    show_end("child", child);
    say("root again: %d\n", setuid(0));
    say("dumpable %d\n", prctl(PR_GET_DUMPABLE));
    show_descriptors();
    show_signals();
    return 0;
}
