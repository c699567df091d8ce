// SPDX-License-Identifier: MIT
/*
 * Calls that headroom has threads of this process execute (inject/calls.c), and asking for them.
 *
 * When the program traces another observed process (a debugger under observation), the tracer would
 * see our SIGTRAPs before that process's agent does: that one has to fall silent first. And threads
 * that were started before the agent have to begin. No signal can ask for either: a system call in
 * which the thread waits would return EINTR, which it would not alone. One that is stopped by a
 * tracer goes on afterwards.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_MS = 1000, SERVED_MS = 10000, STEP_MS = 20 };

/* ---- in the thread that is called ------------------------------------------------------- */

/*
 * Executed on a stack of ours with a struct wire_call_frame at its top, to which rdi points. What
 * the thread has in vector registers survives. XSAVE_BYTES and the components: hook/entry.S.
 */
void calls_entry(void);
extern const unsigned char calls_end[];
__asm__(".text\n"
        ".hidden calls_entry, calls_end\n"
        ".globl calls_entry, calls_end\n"
        ".type calls_entry, @function\n"
        "calls_entry:\n"
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
        "    mov %rbx, %rdi\n"
        "    call calls_execute\n"
        "    mov $0xe7, %eax\n"
        "    xor %edx, %edx\n"
        "    xrstor64 (%rbp)\n"
        "    mov %rbx, %rsp\n"
        "calls_end:\n"
        "    int3\n"
        "    .cfi_endproc\n"
        ".size calls_entry, . - calls_entry\n");

/* Where headroom finds it, by an offset that the region has. */
static struct wire_call_gate gate;

__attribute__((used)) void calls_execute(const struct wire_call_frame *frame);
void calls_execute(const struct wire_call_frame *frame)
{
    if (frame->kind == WIRE_CALL_QUIET) {
        agent_stop(0);
    } else if (!agent_self && agent_active()) { /* else the state would go from under us */
        agent_trap_blocked = frame->mask >> (SIGTRAP - 1) & 1;
        thread_begin((struct agent_thread *)(uintptr_t)frame->argument);
    }
}

void calls_open_gate(void)
{
    uint32_t a = 1, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (!(c & (1u << 27))) /* OSXSAVE */
        return;
    gate.self = (int64_t)((uint64_t)&agent_self - agent_control_block());
    gate.entry = (uint64_t)calls_entry;
    gate.end = (uint64_t)calls_end;
    atomic_store_explicit(&agent.region->call_gate, (uint64_t)&gate - agent.image_start,
                          memory_order_release);
}

bool calls_return(ucontext_t *context)
{
    greg_t *registers = context->uc_mcontext.gregs;
    if ((uint64_t)registers[REG_RIP] != (uint64_t)calls_end + 1)
        return false;
    const struct wire_call_frame *frame =
        (const struct wire_call_frame *)(uintptr_t)registers[REG_RSP];
    for (int i = 0; i < BASE_GENERAL_REGISTERS; i++)
        registers[agent_register_order[i]] = (greg_t)frame->general[i];
    registers[REG_RIP] = (greg_t)frame->ip;
    registers[REG_EFL] = (greg_t)frame->flags;
    memcpy(&context->uc_sigmask, &frame->mask, sizeof frame->mask);
    return true;
}

/* ---- asking ----------------------------------------------------------------------------- */

static struct wire_call *ask(uint32_t kind, uint32_t pid, uint64_t argument)
{
    if (!atomic_load_explicit(&agent.region->call_gate, memory_order_acquire))
        return NULL;
    for (uint32_t i = 0; i < WIRE_CALLS; i++) {
        struct wire_call *call = &agent.region->calls[i];
        uint32_t expected = WIRE_CALL_FREE;
        if (!atomic_compare_exchange_strong(&call->state, &expected, WIRE_CALL_CLAIMED))
            continue;
        call->kind = kind;
        call->pid = pid;
        call->argument = argument;
        atomic_store_explicit(&call->state, WIRE_CALL_WANTED, memory_order_release);
        atomic_fetch_add_explicit(&agent.region->doorbell, 1, memory_order_release);
        os_futex_wake(&agent.region->doorbell);
        return call;
    }
    return NULL;
}

/* False: it may still be under way. */
static bool await(struct wire_call *call, uint32_t pid)
{
    uint32_t state = WIRE_CALL_WANTED;
    for (int ms = 0;
         ms < (state == WIRE_CALL_SERVED ? SERVED_MS : PATIENCE_MS) && agent_headroom_lives();
         ms += STEP_MS) {
        struct timespec pause = {.tv_nsec = STEP_MS * 1000000};
        state = atomic_load_explicit(&call->state, memory_order_acquire);
        if (state <= WIRE_CALL_CLAIMED || call->pid != pid) /* free, or another's by now */
            return true;
        os_syscall(__NR_futex, &call->state, FUTEX_WAIT, state, &pause, NULL, 0);
    }
    uint32_t wanted = WIRE_CALL_WANTED;
    return atomic_compare_exchange_strong(&call->state, &wanted, WIRE_CALL_FREE);
}

void calls_quieten(uint32_t pid)
{
    struct wire_call *call = ask(WIRE_CALL_QUIET, pid, 0);
    if (call)
        await(call, pid);
}

bool calls_holds(uint32_t pid)
{
    char path[64], text[2048];
    struct timespec pause = {.tv_nsec = STEP_MS * 1000000};
    const char *line;
    uint32_t tracer = 0;
    agent_put_text(agent_put_number(agent_put_text(path, "/proc/"), pid), "/status");
    if (!agent_read_file(path, text, sizeof text) || !(line = strstr(text, "TracerPid:\t")))
        return false;
    line += 11;
    if (!agent_parse_number(&line, &tracer) || tracer != agent.headroom_pid)
        return false;
    os_syscall(__NR_nanosleep, &pause, NULL);
    return true;
}

void calls_silence_others(void)
{
    uint32_t own = os_tid();
    struct wire_call *call = ask(WIRE_CALL_QUIET, agent.pid, own);
    if (call)
        await(call, agent.pid);
}

bool calls_begin(uint32_t tid)
{
    struct agent_thread *state = thread_prepare();
    struct wire_call *call = state ? ask(WIRE_CALL_BEGIN, tid, (uint64_t)state) : NULL;
    bool over = !call || await(call, tid), begun = state && state->tid == tid;
    if (state && over && !begun)
        thread_discard(state);
    return begun || !over;
}
