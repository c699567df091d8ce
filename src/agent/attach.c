// SPDX-License-Identifier: MIT
/*
 * When the program traces another observed process (a debugger under
 * observation), the tracer would see our SIGTRAPs before that process's agent
 * does. So the agent there is asked to fall silent first, by a SIGTRAP that
 * carries a number of ours. Never sent to a process that would die of it: it
 * must map this very agent and catch SIGTRAP.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

enum { ANSWER_MS = 100, UNKNOWN_MS = 10 };

static void proc_path(char *out, uint32_t pid, const char *name)
{
    agent_put_text(agent_put_text(agent_put_number(agent_put_text(out, "/proc/"), pid), "/"), name);
}

static bool catches_trap(uint32_t pid)
{
    char path[64], text[2048];
    proc_path(path, pid, "status");
    if (!agent_read_file(path, text, sizeof text))
        return false;
    const char *line = strstr(text, "SigCgt:\t");
    if (!line || strlen(line) < 8 + 16)
        return false;
    /* Sixteen hexadecimal digits; SIGTRAP is bit 4, the lowest of the last but one. */
    char digit = line[8 + 14];
    unsigned value = (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    return value & 1;
}

static bool maps_agent(uint32_t pid)
{
    char path[64], text[4096 + WIRE_PATH_BYTES];
    const char *wanted = agent.region->config.agent_path;
    size_t kept = 0, overlap = strlen(wanted);
    bool found = false;
    long got;
    proc_path(path, pid, "maps");
    long file = os_syscall(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return false;
    while (!found && (got = os_syscall(__NR_read, file, text + kept, 4096)) > 0) {
        size_t length = kept + (size_t)got;
        found = memmem(text, length, wanted, overlap) != NULL;
        kept = length < overlap ? length : overlap;
        memmove(text, text + length - kept, kept);
    }
    os_syscall(__NR_close, file);
    return found;
}

static void ask(uint32_t pid, uint32_t tid, const volatile uint32_t *answer)
{
    struct timespec pause = {.tv_nsec = 1000000};
    siginfo_t info = {.si_signo = SIGTRAP, .si_code = SI_QUEUE};
    info.si_value.sival_ptr = AGENT_BE_QUIET;
    os_syscall(__NR_rt_tgsigqueueinfo, pid, tid, SIGTRAP, &info);
    for (int ms = 0; ms < (answer ? ANSWER_MS : UNKNOWN_MS) && !(answer && *answer); ms++)
        os_syscall(__NR_nanosleep, &pause, NULL);
}

void attach_quieten(uint32_t pid)
{
    bool main_asked = false;
    if (!catches_trap(pid) || !maps_agent(pid))
        return;
    for (uint32_t i = 0; i < WIRE_THREADS; i++) {
        struct wire_thread_slot *slot = &agent.region->threads[i];
        if (atomic_load(&slot->state) != WIRE_SLOT_LIVE || !slot->thread || slot->pid != pid)
            continue;
        ask(pid, slot->tid, &slot->quiet);
        main_asked |= slot->tid == pid;
    }
    if (!main_asked) /* it has not been sampled yet: no slot to answer in */
        ask(pid, pid, NULL);
}
