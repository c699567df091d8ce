// SPDX-License-Identifier: MIT
/*
 * When the program traces another observed process (a debugger under observation), the tracer would
 * see our SIGTRAPs before that process's agent does. So that one has to fall silent first. No
 * signal can ask for that: a system call that the process waits in would return EINTR, which it
 * would not alone. So this process asks headroom, which stops each thread of the other for a
 * moment, outside of the agent, has it execute quiet_entry and puts its registers back
 * (launch/quiet.c): a system call that is stopped by a tracer goes on afterwards.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_MS = 1000, STEP_MS = 20 };

/* ---- in the process that is to be traced -------------------------------------------- */

/*
 * Executed on a stack of ours with a struct wire_quiet_frame at its top, to which rdi points. What
 * the thread has in vector registers survives. XSAVE_BYTES and the components: hook/entry.S.
 */
void quiet_entry(void);
extern const unsigned char quiet_end[];
__asm__(".text\n"
        ".hidden quiet_entry, quiet_end\n"
        ".globl quiet_entry, quiet_end\n"
        ".type quiet_entry, @function\n"
        "quiet_entry:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n"
        "    mov %rdi, %rbx\n"
        "    sub $2752, %rsp\n"
        "    and $-64, %rsp\n"
        "    xor %eax, %eax\n"
        "    lea 512(%rsp), %rdi\n"
        "    mov $8, %ecx\n"
        "    cld\n"
        "    rep stosq\n"
        "    mov $0xe7, %eax\n"
        "    xor %edx, %edx\n"
        "    xsave64 (%rsp)\n"
        "    mov %rsp, %rbp\n"
        "    call attach_be_quiet\n"
        "    mov $0xe7, %eax\n"
        "    xor %edx, %edx\n"
        "    xrstor64 (%rbp)\n"
        "    mov %rbx, %rsp\n"
        "quiet_end:\n"
        "    int3\n"
        "    .cfi_endproc\n"
        ".size quiet_entry, . - quiet_entry\n");

/* Where headroom finds it, by an offset that the region has. */
static struct wire_quiet_gate gate;

__attribute__((used)) void attach_be_quiet(void);
void attach_be_quiet(void)
{
    agent_stop(0);
}

void attach_open_gate(void)
{
    uint32_t a = 1, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (!(c & (1u << 27))) /* OSXSAVE */
        return;
    gate.self = (int64_t)((uint64_t)&agent_self - agent_control_block());
    gate.entry = (uint64_t)quiet_entry;
    gate.end = (uint64_t)quiet_end;
    atomic_store_explicit(&agent.region->quiet_gate, (uint64_t)&gate - agent.image_start,
                          memory_order_release);
}

bool attach_return(ucontext_t *context)
{
    greg_t *registers = context->uc_mcontext.gregs;
    if ((uint64_t)registers[REG_RIP] != (uint64_t)quiet_end + 1)
        return false;
    const struct wire_quiet_frame *frame =
        (const struct wire_quiet_frame *)(uintptr_t)registers[REG_RSP];
    for (int i = 0; i < BASE_GENERAL_REGISTERS; i++)
        registers[agent_register_order[i]] = (greg_t)frame->general[i];
    registers[REG_RIP] = (greg_t)frame->ip;
    registers[REG_EFL] = (greg_t)frame->flags;
    memcpy(&context->uc_sigmask, &frame->mask, sizeof frame->mask);
    return true;
}

/* ---- in the process that traces ------------------------------------------------------- */

static bool maps_agent(uint32_t pid)
{
    char path[64], text[4096 + WIRE_PATH_BYTES];
    const char *wanted = agent.region->config.agent_path;
    size_t kept = 0, overlap = strlen(wanted);
    bool found = false;
    long got;
    agent_put_text(agent_put_number(agent_put_text(path, "/proc/"), pid), "/maps");
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

static struct wire_quiet *ask(uint32_t pid)
{
    for (uint32_t i = 0; i < WIRE_QUIETS; i++) {
        struct wire_quiet *quiet = &agent.region->quiets[i];
        uint32_t expected = WIRE_QUIET_FREE;
        if (!atomic_compare_exchange_strong(&quiet->state, &expected, WIRE_QUIET_CLAIMED))
            continue;
        quiet->pid = pid;
        atomic_store_explicit(&quiet->state, WIRE_QUIET_WANTED, memory_order_release);
        atomic_fetch_add_explicit(&agent.region->doorbell, 1, memory_order_release);
        os_futex_wake(&agent.region->doorbell);
        return quiet;
    }
    return NULL;
}

void attach_quieten(uint32_t pid)
{
    if (!atomic_load_explicit(&agent.region->quiet_gate, memory_order_acquire) || !maps_agent(pid))
        return;
    struct wire_quiet *quiet = ask(pid);
    /* Should the entry be another's by now, its state is looked at a few times in vain. */
    for (int ms = 0; quiet && ms < PATIENCE_MS; ms += STEP_MS) {
        struct timespec pause = {.tv_nsec = STEP_MS * 1000000};
        if (atomic_load_explicit(&quiet->state, memory_order_acquire) != WIRE_QUIET_WANTED ||
            quiet->pid != pid)
            return;
        os_syscall(__NR_futex, &quiet->state, FUTEX_WAIT, WIRE_QUIET_WANTED, &pause, NULL, 0);
    }
}
