// SPDX-License-Identifier: MIT
/* A filter that allows a handful of system calls and kills on any other, set in three ways. */
#include "torture.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>

#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                           \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void enter(int way)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        ALLOW(SYS_read),
        ALLOW(SYS_write),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_exit),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_clock_gettime),
        ALLOW(SYS_futex),
        ALLOW(SYS_madvise),
        ALLOW(SYS_brk),
        ALLOW(SYS_munmap),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_mmap),
        ALLOW(SYS_set_robust_list),
        ALLOW(SYS_rseq),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (way == 0)
        must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    else
        must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, way == 2 ? SECCOMP_FILTER_FLAG_TSYNC : 0,
                     &program) == 0);
}

static volatile int entered;

static void *work(void *unused)
{
    while (!entered)
        busy(1);
    busy(50);
    return unused;
}

int main(void)
{
    for (int way = 0; way < 3; way++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            busy(30);
            must(pthread_create(&thread, NULL, work, NULL) == 0);
            enter(way);
            entered = 1;
            busy(100);
            must(write(STDOUT_FILENO, "inside\n", 7) == 7);
            must(pthread_join(thread, NULL) == 0);
            exit(34);
        }
        show_end("filtered", child);
        child = fork();
        if (child == 0) {
            enter(way);
            busy(20);
            syscall(SYS_getppid);
            _exit(1);
        }
        show_end("forbidden", child);
    }
    return 0;
}
