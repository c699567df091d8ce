// SPDX-License-Identifier: MIT
/*
 * steps FILE PROGRAM: runs a static program step by step, and writes the address of every
 * instruction in the order of execution to FILE, 64 bits each. Its own output goes nowhere.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int status;
    FILE *out = argc == 3 ? fopen(argv[1], "w") : NULL;
    if (!out)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execl(argv[2], argv[2], (char *)NULL);
        _exit(127);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        struct user_regs_struct registers;
        ptrace(PTRACE_GETREGS, child, 0, &registers);
        uint64_t ip = registers.rip;
        fwrite(&ip, sizeof ip, 1, out);
        ptrace(PTRACE_SINGLESTEP, child, 0, 0);
    }
    return fclose(out) == 0 && WIFEXITED(status) ? 0 : 1;
}
