// SPDX-License-Identifier: MIT
/*
 * A program to be executed step by step, stopped where its own code begins: what the dynamic linker
 * does before is not stepped, often most of all steps.
 *
 * Program and stepper share one processor: each step changes between the two, and a change between
 * two processors of a virtual machine costs several times as much.
 */
#ifndef TESTS_STEPPING_H
#define TESTS_STEPPING_H

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static inline uint64_t stepping_entry(pid_t child)
{
    char path[64];
    Elf64_auxv_t entry = {0};
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)child);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && read(file, &entry, sizeof entry) == sizeof entry &&
           entry.a_type != AT_ENTRY)
        ;
    close(file);
    return entry.a_type == AT_ENTRY ? entry.a_un.a_val : 0;
}

/* Breakpoint at the entry, there, and away again. */
static inline bool stepping_reach(pid_t child, uint64_t entry)
{
    int status;
    struct user_regs_struct registers;
    long code = ptrace(PTRACE_PEEKTEXT, child, entry, 0);
    if (ptrace(PTRACE_POKETEXT, child, entry, (code & ~0xffL) | 0xcc) != 0 ||
        ptrace(PTRACE_CONT, child, 0, 0) != 0 || waitpid(child, &status, 0) != child ||
        !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, child, 0, &registers) != 0 ||
        registers.rip != entry + 1)
        return false;
    registers.rip = entry;
    return ptrace(PTRACE_POKETEXT, child, entry, code) == 0 &&
           ptrace(PTRACE_SETREGS, child, 0, &registers) == 0;
}

/* The stopped program, its addresses not randomized; -1 where it cannot be. */
static inline pid_t stepping_start(char **command)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    int status;
    pid_t child = fork();
    if (!child) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(command[0], command);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return -1;
    uint64_t entry = stepping_entry(child);
    return entry && stepping_reach(child, entry) ? child : -1;
}

/* On to the next instruction, with the signal that the last stop told of. False: it has ended, as
 * status says. */
static inline bool stepping_next(pid_t child, int *status)
{
    int number = WSTOPSIG(*status);
    return ptrace(PTRACE_SINGLESTEP, child, 0, number == SIGTRAP ? 0 : number) == 0 &&
           waitpid(child, status, 0) == child && WIFSTOPPED(*status);
}

#endif
