// SPDX-License-Identifier: MIT
/*
 * What lies at an address: a block that was recorded, a thread's stack, a variable of a module or of a thread.
 *
 * Stacks and control blocks of all threads of the process are in one list. glibc puts a thread's control block at the
 * upper end of its stack, and thread-local variables of modules loaded at the start in front of it, at one distance in all threads. The
 * main thread's stack ends where the kernel put the name of the program, and is as large as its limit lets it grow.
 *
 * Rejected: reading /proc/self/maps, which takes longer the more threads there are; pthread_getattr_np, which allocates.
 */
#include "agent/agent.h"
#include "agent/heap.h"

#include <asm/unistd.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

enum {
    SEGMENTS = 64,
    THREADS = WIRE_THREADS,
    CONTROL_BYTES = 2304, /* of glibc's struct pthread; larger ones differ by little */
    PAGE = 4096,
    USUAL_STACK = 8 << 20,
    STACK_MOST = 1 << 30, /* of a main thread without a limit */
};

/* Thread-local variables of a module: from `start` on, relative to the control block. */
struct segment {
    int64_t start;
    uint64_t bytes;
    uint32_t module;
};
static struct segment segments[SEGMENTS];
static uint32_t segments_count;
static uint64_t local_bytes; /* in front of a control block, all segments together */

struct stack {
    _Atomic uint64_t block; /* control block; 0: free, 1: being filled */
    uint64_t low, high;     /* the stack; what is thread-local may be in it */
    _Atomic uint32_t thread;
};
static struct stack stacks[THREADS];
static _Atomic uint32_t stacks_used;

/* ---- thread-local segments ------------------------------------------------------------------------ */

static int note_segment(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    int64_t start = (int64_t)((uint64_t)info->dlpi_tls_data - agent_control_block());
    if (!info->dlpi_tls_data || start >= 0 || start < -(int64_t)STACK_MOST ||
        segments_count == SEGMENTS)
        return 0;
    uint64_t code = 0;
    struct segment segment = {.start = start};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_TLS)
            segment.bytes = header->p_memsz;
        if (header->p_type == PT_LOAD && header->p_flags & PF_X)
            code = info->dlpi_addr + header->p_vaddr;
    }
    const struct agent_module *module = code ? modules_find(code) : NULL;
    if (!module || !segment.bytes)
        return 0;
    segment.module = module->id;
    segments[segments_count++] = segment;
    if ((uint64_t)-start > local_bytes)
        local_bytes = (uint64_t)-start;
    return 0;
}

static bool in_segment(int64_t distance, struct agent_object *object)
{
    for (uint32_t i = 0; i < segments_count; i++) {
        const struct segment *segment = &segments[i];
        if ((uint64_t)(distance - segment->start) >= segment->bytes)
            continue;
        object->module = segment->module;
        object->offset = distance - segment->start;
        return true;
    }
    return false;
}

/* ---- stacks ---------------------------------------------------------------------------------------- */

/* The main thread's control block is elsewhere. */
static bool is_main(const struct agent_thread *self)
{
    return self->tid == agent.pid && !agent.forked;
}

static uint64_t page_up(uint64_t address)
{
    return (address + PAGE - 1) & -(uint64_t)PAGE;
}

static uint64_t stack_limit(void)
{
    uint64_t limit[2] = {0, 0};
    if (os_syscall(__NR_prlimit64, 0, 3 /* RLIMIT_STACK */, NULL, limit) != 0 || !limit[0])
        return USUAL_STACK;
    return limit[0] < STACK_MOST ? limit[0] : STACK_MOST;
}

static void fill_stack(struct stack *stack, const struct agent_thread *self, uint64_t bytes)
{
    uint64_t block = agent_control_block(), here = (uint64_t)__builtin_frame_address(0);
    const char *program = (const char *)getauxval(AT_EXECFN);
    uint64_t limit = stack_limit(), top = program ? page_up((uint64_t)program) : 0;
    atomic_store(&stack->thread, self->slot ? self->slot->thread : 0);
    if (is_main(self) || (here < top && top - here < limit)) {
        stack->high = top;
        stack->low = top > limit ? top - limit : 0;
    } else {
        bytes = bytes ? bytes : limit == STACK_MOST ? USUAL_STACK / 4 : limit;
        stack->high = page_up(block + CONTROL_BYTES);
        stack->low = stack->high > bytes ? stack->high - bytes : 0;
    }
    atomic_store_explicit(&stack->block, block, memory_order_release);
}

static struct stack *claim_stack(void)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        uint64_t none = 0;
        if (atomic_load_explicit(&stacks[i].block, memory_order_relaxed) ||
            !atomic_compare_exchange_strong(&stacks[i].block, &none, 1))
            continue;
        uint32_t used = atomic_load(&stacks_used);
        while (used < i + 1 && !atomic_compare_exchange_weak(&stacks_used, &used, i + 1))
            ;
        return &stacks[i];
    }
    return NULL;
}

static struct stack *find_block(uint64_t block)
{
    for (uint32_t i = 0; i < atomic_load(&stacks_used); i++)
        if (atomic_load_explicit(&stacks[i].block, memory_order_acquire) == block)
            return &stacks[i];
    return NULL;
}

void objects_thread_begin(struct agent_thread *self, uint64_t stack_bytes)
{
    struct stack *stack = find_block(agent_control_block());
    if (!stack)
        stack = claim_stack();
    if (stack)
        fill_stack(stack, self, stack_bytes);
}

void objects_thread_end(void)
{
    struct stack *stack = find_block(agent_control_block());
    if (stack)
        atomic_store_explicit(&stack->block, 0, memory_order_release);
}

void objects_thread_numbered(const struct agent_thread *self)
{
    struct stack *stack = find_block(agent_control_block());
    if (stack)
        atomic_store(&stack->thread, self->slot->thread);
}

void objects_after_fork(void)
{
    uint64_t own = agent_control_block();
    for (uint32_t i = 0; i < THREADS; i++)
        if (atomic_load(&stacks[i].block) != own)
            atomic_store(&stacks[i].block, 0);
    struct stack *stack = find_block(own);
    if (stack)
        atomic_store(&stack->thread, 0);
    heap_after_fork();
}

void objects_start(void)
{
    dl_iterate_phdr(note_segment, NULL);
    allocate_start();
}

/* ---- what lies there --------------------------------------------------------------------------------- */

static bool is_local(uint64_t address, uint64_t block, struct agent_object *object)
{
    int64_t distance = (int64_t)(address - block);
    if (distance >= CONTROL_BYTES || distance < -(int64_t)local_bytes)
        return false;
    object->kind = WIRE_OBJECT_THREAD;
    object->offset = distance;
    return in_segment(distance, object) || distance >= 0;
}

static bool in_stack(uint64_t address, const struct stack *stack, struct agent_object *object)
{
    uint64_t block = atomic_load_explicit(&stack->block, memory_order_acquire);
    uint64_t low = stack->low, high = stack->high;
    if (block <= 1)
        return false;
    *object = (struct agent_object){.thread = atomic_load(&stack->thread), .chance = 1};
    bool found = is_local(address, block, object);
    if (!found && address >= low && address < high) {
        object->kind = WIRE_OBJECT_STACK;
        object->offset = (int64_t)(address - high);
        found = true;
    }
    atomic_thread_fence(memory_order_acquire);
    return found && atomic_load_explicit(&stack->block, memory_order_relaxed) == block;
}

static bool in_a_stack(uint64_t address, struct agent_object *object)
{
    uint32_t used = atomic_load_explicit(&stacks_used, memory_order_relaxed);
    for (uint32_t i = 0; i < used; i++)
        if (in_stack(address, &stacks[i], object))
            return true;
    return false;
}

static bool in_block(uint64_t address, struct agent_object *object)
{
    struct heap_block block;
    if (!heap_find(address, &block))
        return false;
    *object = (struct agent_object){.kind = block.mapped ? WIRE_OBJECT_MAPPED : WIRE_OBJECT_HEAP,
                                    .process = block.process,
                                    .thread = block.thread,
                                    .node = block.node,
                                    .size = block.bytes,
                                    .offset = (int64_t)(address - block.start),
                                    .chance = block.chance};
    return true;
}

static bool in_module(uint64_t address, struct agent_object *object)
{
    const struct agent_module *module = modules_find(address);
    if (!module)
        return false;
    *object = (struct agent_object){.kind = WIRE_OBJECT_GLOBAL,
                                    .module = module->id,
                                    .offset = (int64_t)(address - module->bias),
                                    .chance = 1};
    return true;
}

bool agent_object_of(uint64_t address, struct agent_object *object)
{
    if (in_a_stack(address, object) || in_block(address, object) || in_module(address, object))
        return true;
    *object = (struct agent_object){.kind = WIRE_OBJECT_UNKNOWN, .chance = 1};
    return false;
}

/* Of a stack it is the thread's, so that one that has ended is not taken for the next one there. */
uint32_t agent_generation(uint64_t address)
{
    struct agent_object object;
    return in_a_stack(address, &object) ? object.thread : heap_generation(address);
}

uint32_t agent_generation_watch(uint64_t address)
{
    struct agent_object object;
    return in_a_stack(address, &object) ? object.thread : heap_watch(address);
}

void objects_log(struct agent_thread *self, const struct agent_object *object)
{
    struct wire_located record = {.record = {.type = WIRE_LOCATED, .bytes = sizeof record},
                                  .kind = object->kind,
                                  .module = object->module,
                                  .process = object->process,
                                  .thread = object->thread,
                                  .node = object->node,
                                  .own = object->thread == self->writer.thread,
                                  .size = object->size,
                                  .offset = object->offset,
                                  .chance = object->chance,
                                  .frame_module = object->frame_module,
                                  .frame_code = object->frame_code,
                                  .frame_offset = object->frame_offset};
    if ((object->module && !context_log_module(self, object->module)) ||
        (object->frame_module && !context_log_module(self, object->frame_module)))
        return;
    wire_write(&self->writer, &record.record);
}

/* Behind a call, what is executed there is the call. */
void objects_at(const struct agent_thread *self, uint64_t address, struct agent_object *object)
{
    int64_t from_cfa;
    agent_object_of(address, object);
    if (object->kind != WIRE_OBJECT_STACK || object->thread != self->writer.thread)
        return;
    const struct unwind_frame *frame = context_frame(self, address, &from_cfa);
    if (!frame)
        return;
    object->frame_module = frame->module;
    object->frame_code = frame == self->frames ? frame->vaddr : frame->vaddr - 1;
    object->frame_offset = from_cfa;
}

void objects_log_at(struct agent_thread *self, uint64_t address)
{
    struct agent_object object;
    objects_at(self, address, &object);
    objects_log(self, &object);
}
