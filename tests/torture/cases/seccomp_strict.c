// SPDX-License-Identifier: MIT
/* Strict seccomp: four system calls are left, any other is death. */
#include "torture.h"
#include <linux/seccomp.h>

int main(void)
{
    for (int by_syscall = 0; by_syscall < 2; by_syscall++) {
        pid_t child = fork();
        if (child == 0) {
            busy(50);
            if (by_syscall)
                must(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) == 0);
            else
                must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
            busy_turns(100000000);
            must(write(STDOUT_FILENO, "still here\n", 11) == 11);
            syscall(SYS_exit, 33);
        }
        show_end("strict", child);
    }
    busy(50);
    return 0;
}
