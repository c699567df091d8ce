// SPDX-License-Identifier: MIT
/*
 * Calling contexts: unwinds the interrupted thread into its context tree and
 * logs nodes, modules, the thread and the process before their first use.
 * Runs in the handler.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <string.h>
#include <time.h>

enum { CONTEXT_LOGGED = 1 }; /* cct_node.flags: the log has this node */

static uint16_t padded(size_t bytes)
{
    return (uint16_t)((bytes + 7) & ~(size_t)7);
}

static bool log_process(struct agent_thread *self)
{
    _Alignas(8) char buffer[sizeof(struct wire_process) + sizeof agent.exe + sizeof agent.command];
    struct wire_process *record = (struct wire_process *)buffer;
    size_t exe = strlen(agent.exe) + 1;
    memset(buffer, 0, sizeof buffer);
    *record = (struct wire_process){
        .record = {.type = WIRE_PROCESS,
                   .bytes = padded(sizeof *record + exe + agent.command_bytes)},
        .process = agent.process,
        .parent = agent.parent,
        .pid = agent.pid,
        .ppid = (uint32_t)os_syscall(__NR_getppid),
        .start_ns = os_now_ns(CLOCK_REALTIME),
        .forked = agent.forked,
        .exe_bytes = (uint16_t)exe,
        .command_bytes = agent.command_bytes};
    memcpy(record->text, agent.exe, exe);
    memcpy(record->text + exe, agent.command, agent.command_bytes);
    return wire_write(&self->writer, &record->record);
}

static bool log_thread(struct agent_thread *self)
{
    struct wire_thread record = {.record = {.type = WIRE_THREAD, .bytes = sizeof record},
                                 .process = agent.process,
                                 .thread = self->writer.thread,
                                 .pid = agent.pid,
                                 .tid = self->tid};
    os_syscall(__NR_prctl, 16 /* PR_GET_NAME */, record.name);
    record.name[15] = 0;
    return wire_write(&self->writer, &record.record);
}

/* Process once a process image, thread once a thread. */
static bool log_identity(struct agent_thread *self)
{
    if (!atomic_exchange(&agent.announced, true) && !log_process(self)) {
        atomic_store(&agent.announced, false);
        return false;
    }
    return log_thread(self);
}

static bool claim_slot(struct agent_thread *self)
{
    self->slot = wire_thread_begin(agent.region, agent.process, agent.pid, self->tid);
    if (!self->slot) {
        agent_degrade(WIRE_DEGRADED_THREADS);
        return false;
    }
    self->counters = &self->slot->counters;
    self->process = agent.process;
    self->writer = (struct wire_writer){.region = agent.region,
                                        .chunk = WIRE_NONE,
                                        .process = agent.process,
                                        .thread = self->slot->thread,
                                        .pid = agent.pid};
    self->identified = false;
    objects_thread_numbered(self);
    return true;
}

/* Where the log was full the thread has a slot, but headroom does not know whose it is: once more. */
bool thread_claim(struct agent_thread *self)
{
    if (!self->slot && !claim_slot(self))
        return false;
    if (!self->identified)
        self->identified = log_identity(self);
    return self->identified;
}

static bool log_module(struct agent_thread *self, struct agent_module *module)
{
    if (atomic_load_explicit(&module->logged, memory_order_relaxed) == agent.process)
        return true;
    _Alignas(8) char buffer[sizeof(struct wire_module) + WIRE_PATH_BYTES + 8];
    struct wire_module *record = (struct wire_module *)buffer;
    size_t path = strlen(module->path) + 1;
    memset(buffer, 0, sizeof buffer);
    uint16_t bytes = padded(sizeof *record + path);
    *record = (struct wire_module){
        .record = {.type = WIRE_MODULE,
                   .bytes = bytes < sizeof *record + 8 ? sizeof *record + 8 : bytes},
        .process = agent.process,
        .module = module->id,
        .start = module->start,
        .end = module->end,
        .bias = module->bias,
        .device = module->device,
        .inode = module->inode};
    memcpy(record->path, module->path, path);
    if (!wire_write(&self->writer, &record->record))
        return false;
    atomic_store_explicit(&module->logged, agent.process, memory_order_relaxed);
    return true;
}

bool context_log_module(struct agent_thread *self, uint32_t module)
{
    struct agent_module *found = modules_get(module - 1);
    return found && log_module(self, found);
}

static uint32_t enter(struct agent_thread *self, uint32_t parent, uint64_t address, uint32_t flags,
                      enum wire_drop *drop)
{
    struct agent_module *module = modules_find(address);
    uint32_t id = module ? module->id : 0;
    uint64_t vaddr = module ? address - module->bias : address;
    bool made;
    /* A leaf and a return address at one place are different contexts: flags belong to the key. */
    uint32_t node = cct_enter(&self->cct, parent, id | flags << 16, vaddr, &made);
    if (!node) {
        *drop = WIRE_DROP_TREE_FULL;
        return 0;
    }
    if (self->cct.nodes[node].flags == CONTEXT_LOGGED)
        return node;
    struct wire_node record = {.record = {.type = WIRE_NODE, .bytes = sizeof record},
                               .node = node,
                               .parent = parent,
                               .module = id,
                               .flags = flags,
                               .vaddr = vaddr};
    if ((module && !log_module(self, module)) || !wire_write(&self->writer, &record.record)) {
        *drop = WIRE_DROP_LOG_FULL; /* the node is logged when it is next used */
        return 0;
    }
    self->cct.nodes[node].flags = CONTEXT_LOGGED;
    return node;
}

uint32_t context_flags(const struct isa_insn *insn, const struct isa_access *access)
{
    bool memory_operand = access->base >= 0 && access->base != BASE_RSP;
    return insn->flow == ISA_CALL && !memory_operand && access->direction == ISA_STORE
               ? WIRE_NODE_CALL
           : insn->flow == ISA_RETURN ? WIRE_NODE_RETURN
                                      : 0;
}

enum context_leaf context_place(const struct isa_insn *insn)
{
    return insn->flow == ISA_CALL     ? CONTEXT_CALLER
           : insn->flow == ISA_RETURN ? CONTEXT_CALLEE
                                      : CONTEXT_HERE;
}

/*
 * Which of the frames make the context, outermost first, without the first `inner`. Recursion is
 * folded, as the exact engine does: what comes back to a place is again the context of that place. A
 * program that calls itself a thousand levels deep would else fill the tree within seconds.
 */
static size_t fold_frames(const struct agent_thread *self, size_t inner, uint16_t *path)
{
    size_t length = 0;
    for (size_t i = self->frames_count; i > inner; i--) {
        uint64_t ip = self->frames[i - 1].ip;
        if (agent_owns(ip))
            continue; /* our thread start routine, or a wrapper: not the program's */
        size_t at = 0;
        while (at < length && self->frames[path[at]].ip != ip)
            at++;
        path[at] = (uint16_t)(i - 1);
        length = at + 1;
    }
    return length;
}

/*
 * The frames of a walk, without the first `inner`. *node: the innermost one's, 0 if there is none.
 * *missing: flags for what is entered below, if nothing was entered here. False: tree or log full.
 */
static bool enter_frames(struct agent_thread *self, const struct base_registers *registers,
                         const struct base_memory *memory, size_t inner, uint32_t *node,
                         uint32_t *missing, enum wire_drop *drop)
{
    uint16_t path[AGENT_FRAMES];
    enum unwind_end end = unwind_walk(registers, modules_find_for_unwind, NULL, memory,
                                      self->frames, AGENT_FRAMES, &self->frames_count);
    bool broken = end == UNWIND_BROKEN || end == UNWIND_TRUNCATED;
    size_t length = fold_frames(self, inner, path);
    *node = 0;
    *missing = broken ? WIRE_NODE_BROKEN : 0;
    for (size_t i = 0; i < length; i++) {
        *node = enter(self, *node, self->frames[path[i]].ip, *missing, drop);
        if (!*node)
            return false;
        *missing = 0;
    }
    self->counters->broken_stacks += broken;
    return true;
}

static uint32_t enter_walk(struct agent_thread *self, const struct base_registers *registers,
                           const struct base_memory *memory, uint64_t leaf, enum context_leaf where,
                           uint32_t flags, enum wire_drop *drop)
{
    /* frames[0] is the function that ip is in now: how many come before the leaf's caller. */
    size_t inner = where == CONTEXT_CALLER ? 2 : where == CONTEXT_CALLEE ? 0 : 1;
    uint32_t node, missing;
    return enter_frames(self, registers, memory, inner, &node, &missing, drop)
               ? enter(self, node, leaf, flags | WIRE_NODE_LEAF | missing, drop)
               : 0;
}

uint32_t context_enter(struct agent_thread *self, const struct base_registers *registers,
                       uint64_t leaf, enum context_leaf where, uint32_t flags, enum wire_drop *drop)
{
    return enter_walk(self, registers, &self->memory.base, leaf, where, flags, drop);
}

/* Where the tick came, and what is outside of it for accesses that are ahead in the same function. */
static uint32_t enter_frame(struct agent_thread *self, const struct base_registers *registers,
                            enum wire_drop *drop)
{
    struct agent_frame *frame = &self->frame;
    uint64_t broken = self->counters->broken_stacks; /* these are of findings */
    bool entered = enter_frames(self, registers, &self->memory.base, 1, &frame->callers,
                                &frame->missing, drop);
    frame->broken = self->counters->broken_stacks != broken;
    self->counters->broken_stacks = broken;
    if (!entered)
        return 0;
    modules_function(registers->ip, &frame->function, &frame->end);
    return enter(self, frame->callers, registers->ip, WIRE_NODE_LEAF | frame->missing, drop);
}

/* In the agent itself it is headroom's time, not the program's: it counts for nothing. */
void context_log_tick(struct agent_thread *self, const struct base_registers *registers,
                      uint64_t period_ns, uint32_t flags)
{
    uint64_t ip = registers->ip;
    enum wire_drop drop;
    self->frame.function = 0;
    if (agent_owns(ip))
        return;
    struct agent_module *module = modules_find(ip);
    struct wire_tick record = {.record = {.type = WIRE_TICK, .bytes = sizeof record},
                               .module = module ? module->id : 0,
                               .flags = flags,
                               .vaddr = module ? ip - module->bias : ip,
                               .period_ns = period_ns};
    if (!(flags & (WIRE_TICK_LATE | WIRE_TICK_PLAIN)))
        record.node = enter_frame(self, registers, &drop);
    if (!module || log_module(self, module))
        wire_write(&self->writer, &record.record);
}

uint32_t context_enter_touch(struct agent_thread *self, const struct base_registers *registers,
                             const struct isa_blame *blame, enum isa_blame_result result,
                             enum wire_drop *drop)
{
    switch (result) {
    case ISA_BLAME_RETURN:
        return context_enter(self, registers, registers->ip, CONTEXT_HERE,
                             WIRE_NODE_IMPRECISE | WIRE_NODE_RETURN, drop);
    case ISA_BLAME_KERNEL:
        return context_enter(self, registers, blame->address, CONTEXT_HERE, WIRE_NODE_KERNEL, drop);
    case ISA_BLAME_AMBIGUOUS:
        return context_enter(self, registers, registers->ip, CONTEXT_HERE, WIRE_NODE_IMPRECISE,
                             drop);
    default:
        return context_enter(self, registers, blame->address, context_place(&blame->insn),
                             context_flags(&blame->insn, &blame->insn.accesses[blame->access]),
                             drop);
    }
}

uint32_t context_enter_then(struct agent_thread *self, const struct base_registers *registers,
                            const struct base_memory *memory, uint64_t leaf, uint32_t flags,
                            enum wire_drop *drop)
{
    return enter_walk(self, registers, memory, leaf, CONTEXT_HERE, flags, drop);
}

uint32_t context_enter_ahead(struct agent_thread *self, const struct base_registers *then,
                             const struct base_memory *memory,
                             const struct forecast_outcome *access, enum wire_drop *drop)
{
    const struct agent_frame *frame = &self->frame;
    uint64_t leaf = access->insn.address;
    uint32_t flags = context_flags(&access->insn, &access->insn.accesses[access->access]);
    if (!access->same_frame || !frame->function || leaf < frame->function || leaf >= frame->end)
        return context_enter_then(self, then, memory, leaf, flags, drop);
    self->counters->broken_stacks += frame->broken;
    return enter(self, frame->callers, leaf, flags | WIRE_NODE_LEAF | frame->missing, drop);
}

const struct unwind_frame *context_frame(const struct agent_thread *self, uint64_t address,
                                         int64_t *from_cfa)
{
    enum { RED_ZONE = 128 };
    for (size_t i = 0; i + 1 < self->frames_count; i++) {
        const struct unwind_frame *frame = &self->frames[i];
        uint64_t low = frame->sp - (i ? 0 : RED_ZONE), cfa = frame[1].sp;
        if (address < low || address >= cfa)
            continue;
        *from_cfa = (int64_t)(address - cfa);
        return frame->module && !agent_owns(frame->ip) ? frame : NULL;
    }
    return NULL;
}

uint32_t context_enter_callers(struct agent_thread *self, const struct base_registers *registers,
                               const struct base_memory *memory, enum wire_drop *drop)
{
    uint32_t node, missing;
    return enter_frames(self, registers, memory, 0, &node, &missing, drop) ? node : 0;
}
