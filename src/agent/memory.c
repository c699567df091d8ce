// SPDX-License-Identifier: MIT
/*
 * Reading the program's memory from handlers without ever faulting, as cheaply
 * as that allows: a read by system call costs 0.6 us and a sample needs dozens,
 * mostly of code.
 *
 * Also remembers instruction boundaries: finding the instruction before a
 * trap means decoding forward from one, and large functions (interpreters'
 * main loops) have their start 20 KiB away.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <string.h>
#include <sys/uio.h>

enum { BLOCK_SHIFT = 8 };

static bool read_memory(void *context, uint64_t address, void *out, size_t bytes)
{
    const struct agent_memory *memory = context;
    if (address >= memory->text_start && address <= memory->text_end &&
        bytes <= memory->text_end - address) {
        memcpy(out, (const void *)address, bytes);
        return true;
    }
    struct iovec local = {out, bytes}, remote = {(void *)address, bytes};
    return os_syscall(__NR_process_vm_readv, agent.pid, &local, 1, &remote, 1, 0) == (long)bytes;
}

void memory_init(struct agent_memory *memory)
{
    memset(memory, 0, sizeof *memory);
    memory->base = (struct base_memory){.read = read_memory, .context = memory};
}

void memory_enter(struct agent_memory *memory, uint64_t ip)
{
    if (ip >= memory->text_start && ip < memory->text_end)
        return;
    const struct agent_module *module = ip ? modules_find(ip) : NULL;
    bool known = module && ip >= module->text_start && ip < module->text_end;
    memory->text_start = known ? module->text_start : 0;
    memory->text_end = known ? module->text_end : 0;
}

void memory_note_boundary(struct agent_memory *memory, uint64_t address)
{
    uint64_t *known = &memory->boundaries[(address >> BLOCK_SHIFT) % MEMORY_BOUNDARIES];
    if (*known >> BLOCK_SHIFT != address >> BLOCK_SHIFT || address < *known)
        *known = address;
}

uint64_t memory_boundary(const struct agent_memory *memory, uint64_t ip)
{
    uint64_t start = modules_function_start(ip);
    for (uint64_t back = 0; back < 2; back++) {
        uint64_t block = (ip >> BLOCK_SHIFT) - back;
        uint64_t known = memory->boundaries[block % MEMORY_BOUNDARIES];
        /* Strictly before: at a function's first byte the explanation is a call. */
        if (known >> BLOCK_SHIFT == block && known < ip && known > start)
            return known;
    }
    return start;
}
