// SPDX-License-Identifier: MIT
/* Threads without the C library's help: clone(2) with shared memory and own small stacks. */
#include "torture.h"
#include <sched.h>
#include <sys/mman.h>

static volatile uint64_t done;

static int work(void *unused)
{
    (void)unused;
    busy_turns(2000000);
    __atomic_add_fetch((uint64_t *)&done, 1, __ATOMIC_SEQ_CST);
    return 15;
}

int main(void)
{
    enum { STACK = 32768 };
    for (int i = 0; i < 20; i++) {
        char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(stack != MAP_FAILED);
        busy(5);
        pid_t child = clone(work, stack + STACK, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
        must(child > 0);
        busy(5);
        show_end("clone", child);
        munmap(stack, STACK);
    }
    say("done %llu\n", (unsigned long long)done);
    show_signals();
    return 0;
}
