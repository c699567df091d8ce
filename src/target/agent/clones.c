// SPDX-License-Identifier: MIT
/*
 * Room in which headroom has the program's threads execute clones of loops (wire/clones.h): made here, in normal context and
 * before the program's own code, because headroom makes no system call in a process. Private mappings of an
 * anonymous file, whose name headroom looks for; forked children have copies.
 */
#include "agent/agent.h"

#include "wire/clones.h"

#include <asm/unistd.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>

enum {
    CODE_BYTES = 2 * WIRE_CLONE_CODE_MAX,
    STEP = 1 << 20,
    TRIES = 1024,            /* steps: half of what an operand's displacement can reach */
    NEAR_LIMIT = 0x60000000, /* distance from what the code has operands in */
    RESUME_FLAG = 1 << 16,   /* the instruction is executed without another trap */
    LEGACY_BYTES =
        464, /* of an area of XSAVE; what follows, up to its header, is the kernel's own in a signal frame */
    HEADER_AT = 512,
    EXTENDED = 0x46505853, /* FP_XSTATE_MAGIC1 */
};

static struct wire_clone_yard *yard; /* NULL: there is none */

/* The yard, and behind it the buffers. */
static uint64_t yard_bytes(void)
{
    uint64_t buffers = agent.region->config.walk_bytes;
    return buffers ? WIRE_CLONE_WALK_AT + buffers : sizeof *yard;
}

static uint64_t map(uint64_t address, uint64_t bytes, int protection, int flags, long file)
{
    long at = os_syscall(__NR_mmap, address, bytes, protection, MAP_PRIVATE | flags, file, 0);
    return os_failed(at) ? 0 : (uint64_t)at;
}

static bool is_near(uint64_t code, const struct agent_module *module)
{
    uint64_t start = code > module->start ? code - module->start : module->start - code;
    uint64_t end = code > module->end ? code - module->end : module->end - code;
    return start < NEAR_LIMIT && end < NEAR_LIMIT;
}

/* Below it: above the program its heap grows. */
static uint64_t map_below(uint64_t start, long file)
{
    uint64_t at = start & -(uint64_t)STEP;
    for (int i = 0; i < TRIES && at > STEP; i++) {
        at -= STEP;
        uint64_t got = map(at, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_FIXED_NOREPLACE, file);
        if (got == at)
            return got;
        if (got)
            os_unmap((void *)got, CODE_BYTES);
    }
    return 0;
}

void clones_start(void)
{
    long file = os_syscall(__NR_memfd_create, WIRE_CLONE_FILE, MFD_CLOEXEC);
    const struct agent_module *program = modules_get(0);
    if (os_failed(file) || os_failed(os_syscall(__NR_ftruncate, file, yard_bytes() + CODE_BYTES))) {
        agent_degrade(WIRE_DEGRADED_NO_MEMORY);
        return;
    }
    yard = (struct wire_clone_yard *)map(0, yard_bytes(), PROT_READ | PROT_WRITE, MAP_32BIT, file);
    uint64_t libraries = map(0, CODE_BYTES, PROT_READ | PROT_EXEC, 0, file);
    if (program && !is_near(libraries, program))
        map_below(program->start, file);
    os_syscall(__NR_close, file);
}

/* ---- the end of code, without headroom --------------------------------------------------------- */

static void put_vectors_back(ucontext_t *context, const struct wire_clone_rescue *rescue)
{
    uint8_t *to = (uint8_t *)context->uc_mcontext.fpregs;
    uint32_t words[2]; /* magic, and the bytes of all */
    if (!to || rescue->bytes > sizeof rescue->vectors || rescue->bytes < HEADER_AT)
        return;
    memcpy(words, to + LEGACY_BYTES, sizeof words);
    memcpy(to, rescue->vectors, LEGACY_BYTES);
    if (words[0] != EXTENDED || words[1] < HEADER_AT)
        return;
    uint32_t bytes = words[1] - 4 < rescue->bytes ? words[1] - 4 : rescue->bytes;
    memcpy(to + HEADER_AT, rescue->vectors + HEADER_AT, bytes - HEADER_AT);
}

static void put_back(ucontext_t *context, const struct wire_clone_rescue *rescue)
{
    greg_t *registers = context->uc_mcontext.gregs;
    for (int i = 0; i < BASE_GENERAL_REGISTERS; i++)
        registers[agent_register_order[i]] = (greg_t)rescue->general[i];
    registers[REG_RIP] = (greg_t)rescue->ip;
    registers[REG_EFL] = (greg_t)rescue->flags;
    put_vectors_back(context, rescue);
}

static void go_behind(ucontext_t *context, const struct wire_clone_rescue *rescue)
{
    const struct wire_clone_control *control = &yard->control;
    greg_t *registers = context->uc_mcontext.gregs;
    registers[REG_RAX] = (greg_t)control->last[BASE_RAX];
    registers[REG_RCX] = (greg_t)control->last[BASE_RCX];
    registers[REG_RDX] = (greg_t)control->last[BASE_RDX];
    registers[REG_EFL] =
        (greg_t)wire_clone_flags((uint64_t)registers[REG_EFL], control->last_flags);
    registers[REG_RIP] = (greg_t)rescue->exits[control->exit % WIRE_CLONE_EXITS_MAX];
}

/* The thread was to be stopped before this instruction. */
static bool is_stop(const siginfo_t *info)
{
    struct os_trap trap;
    if (info->si_code != OS_TRAP_PERF)
        return false;
    os_trap_read(info, &trap);
    return trap.cookie == WIRE_CLONE_COOKIE;
}

bool clones_return(const siginfo_t *info, ucontext_t *context)
{
    greg_t *registers = context->uc_mcontext.gregs;
    uint64_t ip = (uint64_t)registers[REG_RIP];
    if (is_stop(info)) {
        registers[REG_EFL] |= RESUME_FLAG;
        return true;
    }
    if (!yard || !yard->rescue.end || info->si_code != SI_KERNEL || ip <= yard->rescue.end ||
        ip > yard->rescue.end + WIRE_CLONE_ENDS)
        return false;
    if (yard->rescue.twin)
        go_behind(context, &yard->rescue);
    else
        put_back(context, &yard->rescue);
    memcpy(&context->uc_sigmask, &yard->rescue.mask, sizeof yard->rescue.mask);
    return true;
}
