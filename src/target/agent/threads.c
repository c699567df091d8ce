// SPDX-License-Identifier: MIT
/*
 * Observed threads: their state, handler stack and ticks.
 *
 * State is one mapping a thread, mostly untouched until the first tick; states
 * of ended threads are kept for new ones, so that programs which start
 * threads by the thousand pay a perf event and an alternate stack each.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

enum { POOL_LIMIT = 16 };

static _Atomic(bool) pool_lock;
static struct agent_thread *pool;
static unsigned pool_count;

static bool is_filtered(void)
{
    return atomic_load_explicit(&agent.filtered, memory_order_relaxed);
}

static size_t state_bytes(void)
{
    return sizeof(struct agent_thread) + cct_bytes(AGENT_TREE_NODES);
}

/* Only called with signals blocked or in a handler: the holder is never interrupted by us. */
static void lock_pool(void)
{
    while (atomic_exchange_explicit(&pool_lock, true, memory_order_acquire))
        os_syscall(__NR_sched_yield);
}

static void unlock_pool(void)
{
    atomic_store_explicit(&pool_lock, false, memory_order_release);
}

static struct agent_thread *take_state(void)
{
    lock_pool();
    struct agent_thread *state = pool;
    if (state) {
        pool = state->next_free;
        pool_count--;
    }
    unlock_pool();
    if (!state && !(state = os_map(state_bytes())))
        return NULL;
    state->stack_base = state->stack;
    state->stack_top = state->stack + sizeof state->stack;
    state->tid = 0; /* until it begins */
    state->stack_bytes = 0;
    return state;
}

static void give_state(struct agent_thread *state)
{
    lock_pool();
    bool keep = pool_count < POOL_LIMIT;
    if (keep) {
        state->next_free = pool;
        pool = state;
        pool_count++;
    }
    unlock_pool();
    if (!keep)
        os_unmap(state, state_bytes());
}

static uint64_t block_signals(uint64_t mask)
{
    uint64_t old = 0;
    os_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, &old, 8);
    return old;
}

/*
 * On the program's own alternate stack only the kernel's signal frame of ours must fit: the
 * handler leaves it at once, and handlers of the program that run there have SIGTRAP blocked.
 */
static bool too_small(const stack_t *altstack)
{
    return altstack->ss_size < getauxval(AT_MINSIGSTKSZ) + 512;
}

/* Our stack becomes the alternate one unless the program has set its own. */
static void take_altstack(struct agent_thread *self)
{
    stack_t current;
    if (os_syscall(__NR_sigaltstack, NULL, &current) != 0)
        return;
    if (!(current.ss_flags & SS_DISABLE)) {
        self->small_altstack = too_small(&current);
        return;
    }
    stack_t own = {.ss_sp = self->stack, .ss_size = sizeof self->stack};
    self->own_altstack = os_syscall(__NR_sigaltstack, &own, NULL) == 0;
}

static void drop_altstack(struct agent_thread *self)
{
    stack_t none = {.ss_flags = SS_DISABLE};
    if (self->own_altstack)
        os_syscall(__NR_sigaltstack, &none, NULL);
    self->own_altstack = false;
}

static void start_ticks(struct agent_thread *self)
{
    if (agent.region->config.spans)
        hook_thread_begin(self->tid);
    else if (!agent_samples_nothing() && !sample_start(self))
        agent_degrade(WIRE_DEGRADED_NO_TIMER);
}

static void reset_tree(struct agent_thread *self)
{
    if (self->cct.count > 1) {
        memset(self->cct.buckets, 0, (size_t)AGENT_TREE_NODES * sizeof(uint32_t));
        self->cct.count = 1;
    }
}

static void seed_random(struct agent_thread *self)
{
    uint64_t seed = agent.region->config.seed;
    if (!seed && agent.source == WIRE_SOURCE_COUNT)
        seed = 1; /* the same on every run */
    self->random.state = base_mix64(seed ? seed + agent.process
                                         : os_now_ns(CLOCK_MONOTONIC) ^ (uint64_t)self->tid << 32);
}

void thread_note_time(struct agent_thread *self)
{
    self->began_ns = os_now_ns(CLOCK_THREAD_CPUTIME_ID);
}

struct agent_thread *thread_prepare(void)
{
    if (!agent_active())
        return NULL;
    uint64_t mask = block_signals(~UINT64_C(0));
    struct agent_thread *state = take_state();
    block_signals(mask);
    if (state)
        sharing_number(state);
    else
        agent_degrade(WIRE_DEGRADED_NO_MEMORY);
    return state;
}

void thread_discard(struct agent_thread *prepared)
{
    uint64_t mask = block_signals(~UINT64_C(0));
    give_state(prepared);
    block_signals(mask);
}

static void reset_time(struct agent_thread *self)
{
    self->entries = self->own_ns = self->last_virtual_ns = 0;
    thread_note_time(self);
}

static void init_state(struct agent_thread *self)
{
    if (!self->cct.nodes)
        cct_init(&self->cct, self->tree, AGENT_TREE_NODES);
    memory_init(&self->memory);
    reset_tree(self);
    self->tid = os_tid();
    self->slot = NULL;
    sample_forget(self);
    self->small_altstack = self->ending = false;
    seed_random(self);
    sample_init(self);
    sharing_begin(self);
    reset_time(self);
}

void thread_begin(struct agent_thread *prepared)
{
    if (is_filtered())
        return; /* prepared is lost */
    if (agent_self || !agent_active()) {
        if (prepared)
            thread_discard(prepared);
        return;
    }
    uint64_t mask = block_signals(~UINT64_C(0));
    struct agent_thread *self = prepared ? prepared : take_state();
    if (self && !prepared)
        sharing_number(self);
    if (self) {
        init_state(self);
        take_altstack(self);
        objects_thread_begin(self, self->stack_bytes);
        agent_self = self;
        if (!self->small_altstack)
            start_ticks(self);
    } else {
        agent_degrade(WIRE_DEGRADED_NO_MEMORY);
    }
    block_signals(mask);
}

/* Ticks come already, and would find half of a claim. */
bool thread_introduce(void)
{
    uint64_t mask = block_signals(~UINT64_C(0));
    bool claimed = agent_self && thread_claim(agent_self);
    block_signals(mask);
    return claimed;
}

static void end_slot(struct agent_thread *self)
{
    if (!self->slot)
        return;
    wire_close(&self->writer);
    self->slot->cpu_ns = os_now_ns(CLOCK_THREAD_CPUTIME_ID);
    atomic_store_explicit(&self->slot->state, WIRE_SLOT_ENDED, memory_order_release);
    self->slot = NULL;
}

void thread_end(void)
{
    struct agent_thread *self = agent_self;
    if (is_filtered() || !self || self->tid != os_tid())
        return;
    uint64_t mask = block_signals(~UINT64_C(0));
    hook_thread_end();
    self->ending = true;
    thread_note_time(self);
    sample_drop(self, WIRE_DROP_UNFINISHED);
    sample_disarm(self);
    sample_stop(self);
    sharing_end();
    drop_altstack(self);
    objects_thread_end();
    end_slot(self);
    agent_self = NULL;
    give_state(self);
    block_signals(mask);
}

void thread_altstack_changed(const stack_t *now)
{
    struct agent_thread *self = agent_self;
    if (is_filtered() || !self || self->tid != os_tid())
        return;
    uint64_t mask = block_signals(~UINT64_C(0));
    self->own_altstack = false;
    if (now->ss_flags & SS_DISABLE)
        take_altstack(self);
    self->small_altstack = !(now->ss_flags & SS_DISABLE) && too_small(now);
    block_signals(mask);
    if (self->small_altstack) {
        agent_degrade(WIRE_DEGRADED_SMALL_ALTSTACK);
        thread_pause();
    } else {
        thread_resume();
    }
}

void thread_pause(void)
{
    struct agent_thread *self = agent_self;
    if (is_filtered() || !self || self->tid != os_tid())
        return;
    uint64_t mask = block_signals(~UINT64_C(0));
    thread_note_time(self);
    sample_drop(self, WIRE_DROP_BUSY);
    sample_disarm(self);
    sample_stop(self);
    block_signals(mask);
}

void thread_resume(void)
{
    struct agent_thread *self = agent_self;
    if (!is_filtered() && self && self->tid == os_tid() && !sample_running(self) &&
        !self->small_altstack && agent_active())
        start_ticks(self);
}

void thread_after_fork(void)
{
    struct agent_thread *self = agent_self;
    /* Other threads' states stay behind as memory that nobody touches. */
    atomic_store(&pool_lock, false);
    objects_after_fork();
    if (!self)
        return;
    uint64_t mask = block_signals(~UINT64_C(0));
    /* Mappings of perf events, slots and chunks are the parent's: forget, don't free. */
    self->slot = NULL;
    self->writer.chunk = WIRE_NONE;
    sample_forget(self);
    self->tid = os_tid();
    reset_tree(self);
    seed_random(self);
    sample_init(self);
    shared_after_fork();
    sharing_after_fork(self);
    reset_time(self);
    if (agent_active())
        start_ticks(self);
    block_signals(mask);
}
