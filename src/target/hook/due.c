// SPDX-License-Identifier: MIT
/*
 * Due work: what is needed now and then and may take longer, on a stack of ours, vector registers
 * saved (entry.S). What the kernel noted of context switches; stacks; costs; new modules.
 */
#include "hook/internal.h"

#include "os/os.h"

#include <asm/unistd.h>
#include <linux/time.h>

enum {
    CLOCKS_LAST = 100000000, /* ticks */
    SWITCHED_MAX = 1024,     /* activations charged with one context switch */
    SET_MASK = 2,            /* SIG_SETMASK */
};

/* ---- context switches ---------------------------------------------------------- */

/* Looked at together now and then: the kernel's clock costs a system call. */
static void read_clocks(struct hook_clocks *now)
{
    now->ticks = HOOK_TICKS();
    now->ns = os_now_ns(CLOCK_MONOTONIC_RAW);
    uint64_t all_ns = now->ns - hook.region->ns_start;
    now->rate = ((now->ticks - hook.region->ticks_start) << 10) / (all_ns ? all_ns : 1);
}

/* Of one kind, to all activations that it fell into; to the one that is being ended only if it came
 * before its end. */
static void charge_slots(struct hook_thread *self, bool preempted, uint64_t ticks, bool late)
{
    struct slot *slot = self->top;
    for (int depth = 0; slot && depth < SWITCHED_MAX; depth++, slot = slot->parent) {
        if (late && slot == self->ending)
            continue;
        if (!slot->kind.switched)
            for (int i = 0; i < 4; i++)
                slot->switches[i] = slot->asleep_within = 0;
        slot->kind.switched = 1;
        slot->switches[preempted] += ticks;
        slot->switches[2 + preempted]++;
    }
}

/* What the kernel noted since last time. */
static void read_switches(struct hook_thread *self)
{
    struct switches_interval intervals[16];
    struct hook_clocks *clocks = &self->clocks;
    uint64_t end = self->ending ? self->ending->end : HOOK_TICKS();
    if (end - clocks->ticks > CLOCKS_LAST)
        read_clocks(clocks);
    uint64_t end_ns = clocks->ns + (int64_t)(end - clocks->ticks) * 1024 / (int64_t)clocks->rate;
    uint64_t seen = switches_position(&self->ring);
    uint32_t count;
    do {
        count = switches_read(&self->ring, &self->ring_position, intervals, BASE_COUNT(intervals),
                              &self->piece->switches_lost);
        for (uint32_t i = 0; i < count; i++) {
            const struct switches_interval *interval = &intervals[i];
            uint64_t ticks = (interval->on_ns - interval->off_ns) * clocks->rate >> 10;
            self->switches[interval->preempted] += ticks;
            self->switches[2 + interval->preempted]++;
            charge_slots(self, interval->preempted, ticks, interval->off_ns > end_ns);
        }
    } while (count == BASE_COUNT(intervals));
    self->ring_seen = seen;
    self->ending = NULL;
    self->piece->asleep = self->switches[0];
    self->piece->preempted = self->switches[1];
    self->piece->sleeps = self->switches[2];
    self->piece->preemptions = self->switches[3];
}

/* ---- due work ------------------------------------------------------------------ */

static void add_stack(struct hook_thread *self)
{
    uint32_t thread = 0;
    uint32_t node = hook.agent.stack(&self->caller, &thread);
    struct spans_span *span = self->stack_span;
    for (uint32_t i = 0; i < span->stacks_count && i < SPANS_STACKS; i++) {
        struct spans_stack *stack = &span->stacks[i];
        if (stack->node == node && stack->thread == thread) {
            stack->taken++;
            stack->lost += self->stack_ticks;
            return;
        }
    }
    if (!node || span->stacks_count >= SPANS_STACKS)
        return;
    span->stacks[span->stacks_count] =
        (struct spans_stack){.thread = thread, .node = node, .taken = 1, .lost = self->stack_ticks};
    span->stacks_count++;
}

/*
 * A marker's caller is known by the bridge that led here (spans.h): behind the call in it lie an
 * lea of eight bytes and the jump back.
 */
static void find_marker(struct hook_thread *self, const struct hook_frame *frame)
{
    uint64_t bridge = frame->number;
    int32_t distance;
    if (!os_read_self(NULL, bridge + 9, &distance, sizeof distance)) {
        self->caller.ip = 0;
        return;
    }
    self->caller.ip = bridge + 13 + (uint64_t)(int64_t)distance;
    self->caller.general[BASE_RSP] = (uint64_t)(&frame->ra + 1) + 128;
}

static void take_stack(struct hook_thread *self, const struct hook_saved *saved)
{
    const struct hook_frame *frame = (const struct hook_frame *)((const char *)(saved + 1) + 8);
    uint64_t *general = self->caller.general;
    if (self->caller.ip == CALLER_FRAME) {
        self->caller.ip = frame->number;
        general[BASE_RSP] = (uint64_t)&frame->ra;
    } else if (self->caller.ip == CALLER_MARKER) {
        find_marker(self, frame);
    }
    general[BASE_RBX] = saved->rbx;
    general[BASE_RBP] = saved->rbp;
    general[BASE_R12] = saved->r12;
    general[BASE_R13] = saved->r13;
    general[BASE_R14] = saved->r14;
    general[BASE_R15] = saved->r15;
    if (self->caller.ip)
        add_stack(self);
}

static void hook_modules(void)
{
    uint32_t count = atomic_load_explicit(&hook.process->new_modules, memory_order_acquire);
    count = count < SPANS_NEW_MODULES ? count : SPANS_NEW_MODULES;
    for (uint32_t i = atomic_exchange(&hook.modules_seen, count); i < count; i++)
        hook.agent.module(hook.process->new_module[i]);
}

static void do_due(struct hook_thread *self, const struct hook_saved *saved)
{
    uint32_t due = self->due;
    self->due = 0;
    if (due & DUE_BEGIN && !self->piece)
        thread_piece(self);
    if (!self->piece)
        return;
    if (due & DUE_SWITCHES)
        read_switches(self);
    if (due & DUE_STACK)
        take_stack(self, saved);
    if (due & DUE_COST)
        thread_costs(self);
    if (due & DUE_MODULES)
        hook_modules();
}

void hook_due_c(const struct hook_saved *saved)
{
    struct hook_thread *self = hook_self;
    uint64_t all = ~UINT64_C(0), before;
    /* What takes microseconds is not interrupted; the rest a handler may leave by a jump. */
    if (self->due == DUE_SWITCHES) {
        do_due(self, saved);
        return;
    }
    long failed = os_syscall(__NR_rt_sigprocmask, SET_MASK, &all, &before, sizeof all);
    do_due(self, saved);
    if (!failed)
        os_syscall(__NR_rt_sigprocmask, SET_MASK, &before, NULL, sizeof before);
}
