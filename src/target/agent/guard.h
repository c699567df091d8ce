// SPDX-License-Identifier: MIT
/*
 * Tables that threads change under a lock, with all signals blocked, and that handlers read without it: a lock that may be lost, and a
 * sequence number for each entry, odd while it is being changed.
 */
#ifndef HEADROOM_AGENT_GUARD_H
#define HEADROOM_AGENT_GUARD_H

#include "os/os.h"

#include <asm/unistd.h>
#include <stdatomic.h>
#include <time.h>

struct guard {
    _Atomic bool held, given_up;
};

/* Who holds it may have a lower real-time priority, and then runs only while we sleep; or may be the child of a vfork that was
   killed, and then nobody will ever give it back. False: it is given up, for this thread and all others. */
static inline bool guard_take(struct guard *guard)
{
    enum { YIELDS = 64, SLEEPS = 1000, SLEEP_NS = 50 * 1000 };
    for (int i = 0; !atomic_load_explicit(&guard->given_up, memory_order_relaxed); i++) {
        if (!atomic_exchange_explicit(&guard->held, true, memory_order_acquire))
            return true;
        if (i >= YIELDS + SLEEPS)
            atomic_store_explicit(&guard->given_up, true, memory_order_relaxed);
        else if (i >= YIELDS)
            os_syscall(__NR_nanosleep, &(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
        else
            os_syscall(__NR_sched_yield);
    }
    return false;
}

static inline void guard_give(struct guard *guard)
{
    atomic_store_explicit(&guard->held, false, memory_order_release);
}

static inline bool guard_is_given_up(const struct guard *guard)
{
    return atomic_load_explicit(&guard->given_up, memory_order_relaxed);
}

static inline void change_begins(_Atomic uint32_t *sequence)
{
    atomic_fetch_add_explicit(sequence, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static inline void change_ends(_Atomic uint32_t *sequence)
{
    atomic_fetch_add_explicit(sequence, 1, memory_order_release);
}

/* What is copied between the two is whole if the second one holds. */
static inline uint32_t reading_begins(const _Atomic uint32_t *sequence)
{
    return atomic_load_explicit(sequence, memory_order_acquire);
}

static inline bool reading_holds(const _Atomic uint32_t *sequence, uint32_t before)
{
    atomic_thread_fence(memory_order_acquire);
    return !(before & 1) && atomic_load_explicit(sequence, memory_order_relaxed) == before;
}

#endif
