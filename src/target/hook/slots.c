// SPDX-License-Identifier: MIT
/*
 * Which activations are free. A slot whose return address may still be in use is never given to
 * another: not when its frame seems to have been skipped (it may lie on another stack), and not
 * when its thread has ended (a coroutine may go on elsewhere). Whether it is in use shows on the
 * stack: the slot's address is there, or something else was written in its place.
 */
#include "hook/internal.h"

#include "os/os.h"

enum { BATCH = 32, STARVED = 1024, CALL_BYTES = 6 /* of a slot's code */ };

struct slot hook_slot[HOOK_SLOTS];

static _Atomic uint32_t used; /* slots never given away begin here */
static struct slot *pool;     /* free ones of threads that ended   */
static struct slot *orphans;  /* limbo of threads that ended       */
static _Atomic bool pool_lock;

static void lock_pool(void)
{
    while (atomic_exchange_explicit(&pool_lock, true, memory_order_acquire))
        __builtin_ia32_pause();
}

static void unlock_pool(void)
{
    atomic_store_explicit(&pool_lock, false, memory_order_release);
}

static uint64_t return_address(const struct slot *slot)
{
    return slot->code + CALL_BYTES;
}

/* Its stack may have been unmapped: then it is not. */
static bool in_use(const struct slot *slot)
{
    uint64_t word;
    return slot->kind.state != SLOT_DONE && !slot->kind.open_ended &&
           os_read_self(NULL, slot->sp, &word, sizeof word) && word == return_address(slot);
}

static void sweep(struct hook_thread *self)
{
    struct slot *kept = NULL, *next;
    uint32_t count = 0;
    for (struct slot *slot = self->limbo; slot; slot = next) {
        next = slot->parent;
        if (in_use(slot)) {
            slot->parent = kept;
            kept = slot;
            count++;
        } else {
            slot_give(self, slot);
        }
    }
    self->limbo = kept;
    self->limbo_count = self->limbo_kept = count;
}

static void refill(struct hook_thread *self)
{
    uint32_t first = atomic_load_explicit(&used, memory_order_relaxed);
    while (first < HOOK_SLOTS &&
           !atomic_compare_exchange_weak_explicit(&used, &first, first + BATCH,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
    if (first < HOOK_SLOTS) {
        for (uint32_t i = first + BATCH; i-- > first;) {
            hook_slot[i].owner = self;
            hook_slot[i].code = (uint64_t)hook_slots + (uint64_t)i * HOOK_SLOT_BYTES;
            slot_give(self, &hook_slot[i]);
        }
        return;
    }
    lock_pool();
    for (uint32_t i = 0; i < BATCH && pool; i++) {
        struct slot *slot = pool;
        pool = slot->parent;
        slot->owner = self;
        slot_give(self, slot);
    }
    if (!self->free && !self->limbo) { /* what ended threads left */
        self->limbo = orphans;
        orphans = NULL;
        for (struct slot *slot = self->limbo; slot; slot = slot->parent)
            slot->owner = self;
    }
    unlock_pool();
}

SLOW struct slot *slot_find(struct hook_thread *self)
{
    if (self->starved && self->starved++ < STARVED)
        return NULL; /* looking again costs too much to be done every time */
    self->starved = 0;
    /* Each look costs a system call: not before there are as many that were not looked at. */
    if (self->limbo_count >= 2 * self->limbo_kept + BATCH)
        sweep(self);
    if (!self->free)
        refill(self);
    if (!self->free && self->limbo)
        sweep(self);
    self->starved = !self->free;
    return self->free;
}

static void to_limbo(struct hook_thread *self)
{
    struct slot *slot = self->top;
    self->top = slot->parent;
    if (self->trunk == slot) {
        fold_end(self->fold);
        self->trunk = NULL;
    }
    slot->kind.state = SLOT_LIMBO;
    slot->parent = self->limbo;
    self->limbo = slot;
    self->limbo_count++;
}

/*
 * Frames below `sp` are gone, if they are on the same stack. If they are not they go on unseen:
 * what they call belongs to no span.
 */
SLOW void slot_skip(struct hook_thread *self, uint64_t sp)
{
    while (self->top && self->top->sp < sp)
        to_limbo(self);
}

/* Two return addresses in the same place: the older one is gone, unless its function left by
 * calling this one. */
SLOW void slot_replace(struct hook_thread *self, uint64_t sp, uint64_t ra)
{
    while (self->top && self->top->sp == sp && !self->top->kind.open_ended &&
           ra != return_address(self->top))
        to_limbo(self);
}

/* The thread ends: free ones serve others, the rest may still be met. */
void slots_release(struct hook_thread *self)
{
    slot_skip(self, UINT64_MAX);
    sweep(self);
    lock_pool();
    while (self->free) {
        struct slot *slot = self->free;
        self->free = slot->parent;
        slot->parent = pool;
        pool = slot;
    }
    while (self->limbo) {
        struct slot *slot = self->limbo;
        self->limbo = slot->parent;
        slot->parent = orphans;
        orphans = slot;
    }
    unlock_pool();
    self->limbo_count = self->limbo_kept = 0;
}

void slots_after_fork(void)
{
    atomic_store(&pool_lock, false);
}

bool hook_translate(uint64_t ip, uint64_t *to)
{
    uint64_t at = ip - (uint64_t)hook_slots;
    if (at >= (uint64_t)(hook_slots_end - hook_slots))
        return false;
    *to = hook_slot[at / HOOK_SLOT_BYTES].ra;
    return true;
}
