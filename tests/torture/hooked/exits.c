// SPDX-License-Identifier: MIT
/* The program ends inside of a hooked function, in one way or another, while other threads are in
 * some: exits WAY */
#include "hooked.h"

static volatile int running, ended; /* nobody sets the latter */

HOOKED uint64_t leaf(uint64_t value)
{
    busy_turns(value % 3);
    return value + 1;
}

HOOKED uint64_t spin(uint64_t depth)
{
    if (depth)
        return spin(depth - 1) + 1;
    __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
    uint64_t value = 0;
    while (!ended)
        value = leaf(value);
    return value;
}

static void *run(void *unused)
{
    spin(8);
    return unused;
}

HOOKED void at_exit(void)
{
    say("at exit %llu\n", (unsigned long long)leaf(4));
}

HOOKED void end(const char *way)
{
    leaf(2);
    if (strcmp(way, "exit") == 0)
        exit(3);
    if (strcmp(way, "_exit") == 0)
        _exit(4);
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(5);
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "segv") == 0)
        *nowhere = 1;
    if (strcmp(way, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(way, "thread") == 0)
        pthread_exit(NULL); /* the others go on until one of them ends it all */
    if (strcmp(way, "exec") == 0)
        execl("/bin/sh", "sh", "-c", "echo another; exit 9", NULL);
}

HOOKED void deep(int depth, const char *way)
{
    if (depth == 0)
        end(way);
    else
        deep(depth - 1, way);
    NO_TAIL_CALL();
}

static void *run_end(void *way)
{
    usleep(50000);
    leaf(1);
    exit(strcmp(way, "thread") == 0 ? 7 : 8);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    struct rlimit none = {0, 0};
    must(argc > 1);
    must(setrlimit(RLIMIT_CORE, &none) == 0);
    must(atexit(at_exit) == 0 && at_quick_exit(at_exit) == 0);
    for (int i = 0; i < 3; i++)
        must(pthread_create(&thread, NULL, run, NULL) == 0);
    while (running < 3)
        leaf(0);
    if (strcmp(argv[1], "thread") == 0)
        must(pthread_create(&thread, NULL, run_end, argv[1]) == 0);
    deep(20, argv[1]);
    return 6;
}
