// SPDX-License-Identifier: MIT
#include "runner.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    STATE_BYTES = 16384,
    CODE_BYTES = WIRE_CLONE_CODE_MAX + 4096,
    INT3 = 0xcc,
    UNTOUCHED = 0x5a
};

static const int slots[BASE_GENERAL_REGISTERS] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static struct {
    enum { AT_HEAD, IN_CLONE, AT_EXIT, DONE } stage;
    const struct runner_loop *loop;
    const struct runner_call *call;
    struct runner_seen *seen;
    struct wire_clone_yard *yard;
    uint8_t *code, *leave;
    uint8_t *head;
    uint8_t head_byte, exit_bytes[WIRE_CLONE_EXITS_MAX];
    gregset_t general;
    uint8_t state[STATE_BYTES];
    uint16_t outcomes[WIRE_CLONE_ITERATIONS];
    uint32_t recorded;
} run;

/* ---- loops ------------------------------------------------------------------------------------------------ */

static bool read_memory(void *context, uint64_t address, void *out, size_t bytes)
{
    (void)context;
    memcpy(out, (const void *)address, bytes); /* of arrays and kernels alone */
    return true;
}

/* Functions that kernels call: their flow is made once. */
static bool leaf_at(void *context, uint64_t address, bool cell, struct clone_callee *found)
{
    enum { LEAVES = 64 };
    static struct cfg_code codes[LEAVES];
    static struct cfg *flows[LEAVES];
    (void)context;
    for (unsigned i = 0; i < leaf_count && !cell; i++) {
        if ((uint64_t)leaves[i].start != address)
            continue;
        codes[i] = (struct cfg_code){.bytes = leaves[i].start,
                                     .count = (size_t)(leaves[i].stop - leaves[i].start),
                                     .start = address,
                                     .data = {read_memory, NULL}};
        if (!flows[i] && cfg_of_code(&codes[i], &flows[i]) != BASE_OK)
            return false;
        *found = (struct clone_callee){flows[i], &codes[i]};
        return true;
    }
    return false;
}

unsigned runner_loops(const struct kernel *kernel, const struct model *model,
                      struct runner_loop *loops, unsigned capacity)
{
    struct cfg_code code = {.bytes = kernel->start,
                            .count = (size_t)(kernel->stop - kernel->start),
                            .start = (uint64_t)kernel->start,
                            .data = {read_memory, NULL}};
    struct cfg *first = NULL;
    unsigned count = 0;
    if (cfg_of_code(&code, &first) != BASE_OK)
        return 0;
    for (uint32_t l = 1; l < first->loops_count && count < capacity; l++) {
        struct runner_loop *made = &loops[count];
        *made = (struct runner_loop){.code = code, .loop = l};
        if (!cfg_is_innermost(first, l) || cfg_of_code(&code, &made->flow) != BASE_OK)
            continue;
        struct clone_request request = {
            .flow = made->flow,
            .code = &made->code,
            .loop = l,
            .model = model,
            .variants = (1U << CLONE_VARIANTS) - 1,
            .callee = leaf_at,
            .walk_bytes = {[CLONE_L2] = RUNNER_L2_BYTES, [CLONE_L3] = RUNNER_L3_BYTES}};
        if (clone_of(&request, &made->clone) == BASE_OK)
            count++;
        else
            cfg_free(made->flow);
    }
    cfg_free(first);
    return count;
}

void runner_loop_end(struct runner_loop *loop)
{
    clone_free(&loop->clone);
    cfg_free(loop->flow);
}

/* ---- a run --------------------------------------------------------------------------------------------------- */

static size_t state_bytes(const ucontext_t *context)
{
    uint32_t words[2]; /* magic, size of all */
    memcpy(words, (const uint8_t *)context->uc_mcontext.fpregs + 464, sizeof words);
    size_t bytes = words[0] == 0x46505853 ? words[1] : 512;
    return bytes <= STATE_BYTES ? bytes : STATE_BYTES;
}

static void take_general(const ucontext_t *context, uint64_t out[BASE_GENERAL_REGISTERS])
{
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
        out[r] = (uint64_t)context->uc_mcontext.gregs[slots[r]];
}

static const struct wire_clone *made_of(void)
{
    const struct clone *clone = &run.loop->clone;
    return run.call->what == RUN_TWIN       ? clone->twin.code
           : run.call->what == RUN_NEST     ? clone->nest.code
           : run.call->what == RUN_RECORDER ? clone->recorder.code
           : run.call->twice                ? clone->twice
           : run.call->variant              ? clone->variants[run.call->variant]
                                            : clone->made;
}

static uint64_t looked_at(void)
{
    return run.call->look ? run.call->look(run.call->context) : 0;
}

/* The first run begins with what was recorded first. */
static void replay(void)
{
    uint32_t count = run.call->outcomes ? run.call->outcomes : run.recorded * run.call->repeat;
    uint16_t *outcomes = wire_clone_outcomes(run.yard, count);
    for (uint32_t i = 0; i < count; i++)
        outcomes[i] = run.outcomes[i % run.recorded];
    if (run.call->flip)
        outcomes[run.call->flip - 1] ^= UINT16_MAX;
}

static void start_clone(ucontext_t *context)
{
    const struct wire_clone *made = made_of();
    struct base_memory memory = {read_memory, NULL};
    struct base_registers registers = {0};
    *run.head = run.head_byte;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)run.head;
    take_general(context, registers.general);
    memcpy(run.seen->head, registers.general, sizeof run.seen->head);
    memcpy(run.general, context->uc_mcontext.gregs, sizeof run.general);
    memcpy(run.state, context->uc_mcontext.fpregs, state_bytes(context));
    if (!wire_clone_place(made, (uint64_t)run.yard, 0, (uint64_t)run.code, run.code))
        abort();
    run.seen->filled = wire_clone_fill(made, 0, &registers, &memory, run.yard);
    memset((uint8_t *)run.yard + WIRE_CLONE_WALK_AT, UNTOUCHED, made->walk_bytes);
    wire_clone_spread(made, run.yard, (uint8_t *)run.yard + WIRE_CLONE_WALK_AT);
    run.seen->entered = true;
    run.seen->before = looked_at();
    memset(&run.yard->control, 0, sizeof run.yard->control);
    run.yard->control.leave = (uint64_t)run.leave;
    run.yard->control.repeat = run.call->repeat;
    run.yard->control.limit = UINT64_MAX;
    if (run.call->what == RUN_CLONE && made->outcomes)
        replay();
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)run.code;
    run.stage = IN_CLONE;
}

/* The clone has run: all is as it was. */
static void restore(ucontext_t *context)
{
    const struct wire_clone *made = made_of();
    memcpy(context->uc_mcontext.fpregs, run.state, state_bytes(context));
    memcpy(context->uc_mcontext.gregs, run.general, sizeof run.general);
    for (uint32_t e = 0; e < made->exit_count; e++) {
        run.exit_bytes[e] = *(uint8_t *)made->exits[e];
        *(uint8_t *)made->exits[e] = INT3;
    }
    run.stage = AT_EXIT;
}

/* The twin has run: the program goes on behind the loop. */
static void go_on(ucontext_t *context)
{
    const struct wire_clone_control *control = &run.yard->control;
    uint64_t flags = (uint64_t)context->uc_mcontext.gregs[REG_EFL] & ~UINT64_C(0x8d5);
    flags |= (control->last_flags >> 8 & 0xd5) | (control->last_flags & 1) << 11;
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
        context->uc_mcontext.gregs[slots[r]] = (greg_t)run.seen->cloned[r];
    context->uc_mcontext.gregs[REG_EFL] = (greg_t)flags;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)run.seen->cloned_exit;
    run.stage = DONE;
}

static int ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* No least: on some processors the counter advances by tens of ticks at a time. */
static double mean_ticks(const struct wire_clone_control *control)
{
    uint64_t ticks[WIRE_CLONE_REPEATS];
    unsigned count = run.call->repeat < WIRE_CLONE_REPEATS ? run.call->repeat : 0, used = 0;
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        ticks[i] = control->ticks[i + 1];
    qsort(ticks, count, sizeof *ticks, ascending);
    while (used < count && ticks[used] <= ticks[count / 2] + ticks[count / 2] / 2 + 64)
        sum += (double)ticks[used++];
    return used ? sum / used : 0;
}

static void end_clone(ucontext_t *context)
{
    const struct wire_clone *made = made_of();
    const struct wire_clone_control *control = &run.yard->control;
    struct runner_seen *seen = run.seen;
    seen->after = looked_at();
    take_general(context, seen->cloned);
    seen->cloned[BASE_RAX] = control->last[0];
    seen->cloned[BASE_RCX] = control->last[1];
    seen->cloned[BASE_RDX] = control->last[2];
    seen->cloned_exit = control->exit < made->exit_count ? made->exits[control->exit] : 0;
    seen->ticks = mean_ticks(control);
    seen->laps = control->laps;
    seen->executions = control->executions;
    seen->left = control->repeat;
    seen->lapped = control->exit == WIRE_CLONE_LAPPED;
    if (run.call->what == RUN_RECORDER)
        seen->recorded = run.recorded =
            wire_clone_take(made, control->recorded, 0, (const uint8_t *)run.yard->outcomes,
                            run.outcomes, WIRE_CLONE_ITERATIONS);
    for (unsigned s = 0; s < WIRE_CLONE_SLOTS; s++)
        seen->progress += control->slots[s].progress;
    if (run.call->what != RUN_CLONE)
        go_on(context);
    else
        restore(context);
}

static void come_to_exit(ucontext_t *context)
{
    const struct wire_clone *made = made_of();
    uint64_t at = (uint64_t)context->uc_mcontext.gregs[REG_RIP] - 1;
    for (uint32_t e = 0; e < made->exit_count; e++)
        *(uint8_t *)made->exits[e] = run.exit_bytes[e];
    take_general(context, run.seen->original);
    run.seen->original_exit = at;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)at;
    run.stage = DONE;
}

static void on_trap(int number, siginfo_t *info, void *at)
{
    (void)number;
    (void)info;
    switch (run.stage) {
    case AT_HEAD: start_clone(at); break;
    case IN_CLONE: end_clone(at); break;
    case AT_EXIT: come_to_exit(at); break;
    default: abort();
    }
}

static void get_memory(void)
{
    if (run.yard)
        return;
    run.yard = mmap(NULL, WIRE_CLONE_WALK_AT + RUNNER_L3_BYTES + CLONE_WALK_SLACK,
                    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    /* Near the kernels, whose twins have operands relative to where they stand. */
    void *near = (void *)(((uintptr_t)runner_run & ~4095UL) - (64UL << 20));
    run.code = mmap(near, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (run.yard == MAP_FAILED || run.code == MAP_FAILED)
        abort();
    run.leave = run.code + WIRE_CLONE_CODE_MAX;
    *run.leave = INT3;
}

static void make_writable(const struct kernel *kernel)
{
    uintptr_t first = (uintptr_t)kernel->start & ~4095UL;
    if (mprotect((void *)first, (uintptr_t)kernel->stop - first,
                 PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        abort();
}

void runner_run(const struct kernel *kernel, const struct runner_loop *loop,
                const struct runner_call *call, struct runner_seen *seen)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, before;
    *seen = (struct runner_seen){0};
    get_memory();
    make_writable(kernel);
    run.stage = AT_HEAD;
    run.loop = loop;
    run.call = call;
    run.seen = seen;
    run.head = (uint8_t *)loop->clone.made->head;
    run.head_byte = *run.head;
    sigaction(SIGTRAP, &action, &before);
    *run.head = INT3;
    kernel->run(call->a, call->b, call->c, call->n);
    *run.head = run.head_byte;
    sigaction(SIGTRAP, &before, NULL);
}

const uint8_t *runner_buffers(void)
{
    return run.yard ? (const uint8_t *)run.yard + WIRE_CLONE_WALK_AT : NULL;
}

uint64_t runner_stamps(void)
{
    static struct wire_clone *nothing;
    uint64_t least = UINT64_MAX;
    void *behind;
    get_memory();
    if (!nothing && clone_of_chain(0, &nothing) != BASE_OK)
        abort();
    wire_clone_place(nothing, (uint64_t)run.yard, 0, 0, run.code);
    /* It ends in a jump: to behind the one that leads to it. */
    for (unsigned i = 0; i < 1000; i++) {
        memset(&run.yard->control, 0, sizeof run.yard->control);
        run.yard->control.repeat = WIRE_CLONE_REPEATS - 1;
        run.yard->control.limit = UINT64_MAX;
        __asm__ volatile("lea 1f(%%rip), %0; mov %0, %2; jmp *%1; 1:"
                         : "=&r"(behind)
                         : "r"(run.code), "m"(run.yard->control.leave)
                         : "rax", "rcx", "rdx", "cc", "memory");
        for (unsigned k = 1; k < WIRE_CLONE_REPEATS; k++)
            least = run.yard->control.ticks[k] < least ? run.yard->control.ticks[k] : least;
    }
    return least;
}
