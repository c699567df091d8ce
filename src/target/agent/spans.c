// SPDX-License-Identifier: MIT
/*
 * What room hook needs of the process: memory of the region, room for code near the modules,
 * stacks, imports. The process waits here until headroom has patched it, if it is to be patched
 * before it runs.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    AREA_BYTES = 256 * 1024,
    AREA_STEP = 1 << 20,
    AREA_TRIES = 1024,       /* steps: 1 GiB, half of what a jump can reach              */
    NEAR_LIMIT = 0x60000000, /* distance of code in an area from what it serves          */
    PATIENCE_MS = 2000,
};

static struct spans_region *region;

/* ---- stacks --------------------------------------------------------------------- */

/* A stack as it would be without slots: return addresses in them are the callers' again. */
static bool read_stack(void *context, uint64_t address, void *out, size_t bytes)
{
    const struct base_memory *memory = context;
    if (!base_read(memory, address, out, bytes))
        return false;
    for (size_t at = -address % 8; at + 8 <= bytes; at += 8) {
        uint64_t word, to;
        memcpy(&word, (char *)out + at, 8);
        for (int i = 0; i < 64 && hook_translate(word, &to); i++) {
            memcpy((char *)out + at, &to, 8); /* tail calls lead from slot to slot */
            word = to;
        }
    }
    return true;
}

static uint32_t stack(const struct base_registers *caller, uint32_t *thread)
{
    struct agent_thread *self = agent_self;
    struct base_registers registers = *caller;
    enum wire_drop drop;
    if (!self || self->tid != os_tid() || !thread_claim(self))
        return 0;
    for (int i = 0; i < 64 && hook_translate(registers.ip, &registers.ip); i++)
        ;
    memory_enter(&self->memory, registers.ip, registers.general[BASE_RSP]);
    struct base_memory memory = {.read = read_stack, .context = &self->memory.base};
    *thread = self->writer.thread;
    return context_enter_callers(self, &registers, &memory, &drop);
}

/* ---- memory -------------------------------------------------------------------- */

static void *map_piece(uint64_t offset, uint64_t bytes)
{
    return agent_map_from_headroom(agent.region->config.spans, offset, bytes,
                                   PROT_READ | PROT_WRITE);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static bool served(const struct spans_process *process, const struct agent_module *module)
{
    for (uint32_t i = 0; i < process->areas_count; i++)
        if (distance(process->areas[i].start, module->start) < NEAR_LIMIT &&
            distance(process->areas[i].start, module->end) < NEAR_LIMIT)
            return true;
    return false;
}

static uint64_t map_code(uint64_t address, int flags)
{
    long at = os_syscall(__NR_mmap, address, AREA_BYTES, PROT_READ | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return os_failed(at) ? 0 : (uint64_t)at;
}

/* Below the module: above the program its heap grows. */
static uint64_t map_below(uint64_t start)
{
    uint64_t at = start & -(uint64_t)AREA_STEP;
    for (int i = 0; i < AREA_TRIES && at > AREA_STEP; i++) {
        at -= AREA_STEP;
        uint64_t got = map_code(at, MAP_FIXED_NOREPLACE);
        if (got == at)
            return got;
        if (got)
            os_unmap((void *)got, AREA_BYTES);
    }
    return 0;
}

static void add_area(struct spans_process *process, const struct agent_module *module)
{
    if (served(process, module))
        return;
    uint64_t start = process->areas_count < SPANS_AREAS ? map_code(0, 0) : 0;
    if (start && distance(start, module->start) >= NEAR_LIMIT) {
        os_unmap((void *)start, AREA_BYTES);
        start = map_below(module->start);
    }
    if (start)
        process->areas[process->areas_count++] = (struct spans_area){start, AREA_BYTES};
    else
        atomic_fetch_add(&region->no_areas, 1);
}

/* ---- modules ------------------------------------------------------------------- */

static void hook_new_module(uint64_t address)
{
    const struct agent_module *module = modules_find(address);
    if (module)
        imports_hook(region, module);
}

static void hook_all_imports(void)
{
    const struct agent_module *module;
    for (uint32_t i = 0; (module = modules_get(i)) != NULL; i++)
        if (atomic_load(&module->state) == AGENT_MODULE_LIVE)
            imports_hook(region, module);
}

/* ---- start --------------------------------------------------------------------- */

static void ring(void)
{
    atomic_fetch_add_explicit(&region->doorbell, 1, memory_order_release);
    os_futex_wake(&region->doorbell);
}

/* headroom that has begun to patch is waited for, however long it takes, unless it has been killed.
 */
static bool tired(struct spans_process *process, uint64_t deadline)
{
    uint32_t starting = SPANS_STARTING;
    if (!agent_headroom_lives()) {
        atomic_store(&process->phase, SPANS_PATCHED_UP);
        return true;
    }
    return os_now_ns(CLOCK_MONOTONIC) > deadline &&
           atomic_compare_exchange_strong(&process->phase, &starting, SPANS_PATCHED_UP);
}

static void await_headroom(struct spans_process *process)
{
    uint64_t deadline = os_now_ns(CLOCK_MONOTONIC) + PATIENCE_MS * UINT64_C(1000000);
    uint32_t phase;
    ring();
    while ((phase = atomic_load_explicit(&process->phase, memory_order_acquire)) !=
           SPANS_PATCHED_UP) {
        struct timespec pause = {.tv_nsec = 20000000};
        if (tired(process, deadline))
            return;
        os_syscall(__NR_futex, &process->phase, FUTEX_WAIT, phase, &pause, NULL, 0);
    }
}

void spans_start(void)
{
    const struct hook_agent services = {.stack = stack,
                                        .map = map_piece,
                                        .module = hook_new_module,
                                        .stopping = &agent.region->stopping};
    size_t header = (sizeof *region + SPANS_PAGE - 1) & -(size_t)SPANS_PAGE;
    region = map_piece(0, header);
    if (!region || region->magic != SPANS_MAGIC || region->version != SPANS_VERSION ||
        !hook_begin(region, &services, agent.pid, agent.process)) {
        agent_degrade(WIRE_DEGRADED_NO_MEMORY);
        return;
    }
    struct spans_process *process = hook_process();
    const struct agent_module *module;
    for (uint32_t i = 0; (module = modules_get(i)) != NULL; i++)
        if (module->path[0] == '/')
            add_area(process, module);
    hook_thread_begin(os_tid());
    hook_publish();
    await_headroom(process);
    hook_all_imports(); /* headroom has named them by now */
}

void spans_after_fork(void)
{
    if (!agent.region->config.spans)
        return;
    imports_after_fork();
    hook_after_fork(agent.pid, agent.process);
}
