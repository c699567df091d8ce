// SPDX-License-Identifier: MIT
/*
 * Threads that wait by reading a word until another thread changes it. A tick that comes while one waits is looked into some ten
 * microseconds later, or, if the thread was preempted at the tick, after a time slice. Often the wait is over by then, so that what lies ahead
 * is what comes after it. So the accesses that follow a wait would be sampled in place of the wait itself, a thousand times too
 * often where a thread does little but wait. These are the ones by which threads hand over work.
 *
 * A wait is recognised much as by the exact engine: all accesses ahead read the same few words. The instructions that read them are kept, with
 * the length of a round, and what they read. If a later tick is within a round of one of them, and does not go on to wait, it was in a wait that ended
 * meanwhile: what it publishes stands for as much of its time as the instructions ahead take of the delay. Unless the words have always been the
 * same: a loop that computes with constants in memory looks like a wait but for that.
 *
 * Rejected: to drop such ticks, by which a lock's data would be missed where the critical section is shorter than the window, and all threads wait
 * for it. And to weigh what is met by the touches in a turn: it is what is sampled that is wrong, not what it stands for.
 *
 * In the handler; any thread. What two threads write to one place at a time is lost, and learned again.
 */
#include "agent/agent.h"

enum {
    SPIN_WORDS = 4,   /* as the exact engine has it */
    SPIN_READS = 8,   /* ahead: a window has 64 instructions or more */
    SPIN_AGAIN = 2,   /* of them by each word */
    SPIN_ROUND = 255, /* instructions, at most */
    SPIN_VALUE = 8,   /* where what was read begins in a place, a hash of 8 bits */
    SPIN_CHANGED = 1 << 16,
    SPIN_ADDRESS = 17,
    SPIN_PLACES = 1024 /* addresses differ from run to run: collisions must be rare */
};

/* By the instruction that reads: its address, has it read different values?, the last of them, and instructions in a round. */
static _Atomic uint64_t places[SPIN_PLACES];
static _Atomic bool any; /* is there one? Most programs do not spin, and need not look twice */

struct round {
    struct forecast_outcome reads[SPIN_WORDS];
    unsigned count;
};

static _Atomic uint64_t *place_of(uint64_t ip)
{
    return &places[base_mix64(ip) % SPIN_PLACES];
}

/* The first accesses ahead. */
static void look_at_round(struct agent_thread *self, struct forecast_goal goal, struct round *round)
{
    goal.max_instructions = SPIN_ROUND;
    for (round->count = 0; round->count < SPIN_WORDS; round->count++) {
        goal.skip = round->count;
        if (forecast_run(&self->forecast, &goal, &round->reads[round->count]) != FORECAST_HIT)
            return;
    }
}

static uint64_t hash_of(const struct agent_thread *self, const struct forecast_outcome *read)
{
    uint64_t value = 0;
    (void)base_read(&self->memory.base, read->address, &value,
                    read->bytes < sizeof value ? read->bytes : sizeof value);
    return base_mix64(value) & 255;
}

static bool has_changed(uint64_t place, uint64_t hash)
{
    return place & SPIN_CHANGED || (place >> SPIN_VALUE & 255) != hash;
}

static bool is_known(const struct agent_thread *self, const struct round *round)
{
    for (unsigned i = 0; i < round->count; i++) {
        const struct forecast_outcome *read = &round->reads[i];
        uint64_t place = atomic_load_explicit(place_of(read->insn.address), memory_order_relaxed);
        if (place >> SPIN_ADDRESS == read->insn.address &&
            read->instructions <= (place & SPIN_ROUND) && has_changed(place, hash_of(self, read)))
            return true;
    }
    return false;
}

static bool is_new(const struct round *round, unsigned item)
{
    for (unsigned i = 0; i < item; i++)
        if (round->reads[i].address == round->reads[item].address)
            return false;
    return true;
}

/* How many of the accesses ahead are to that word. */
static uint32_t count_touches(struct agent_thread *self, struct forecast_goal goal,
                              const struct forecast_outcome *read)
{
    struct forecast_outcome all;
    goal.range_start = read->address;
    goal.range_bytes = 1;
    return forecast_run(&self->forecast, &goal, &all) == FORECAST_EXHAUSTED ? all.matching_passed
                                                                            : 0;
}

/* Instructions in a round; 0: there are other accesses ahead than to the words of the first ones. */
static uint32_t length_of(struct agent_thread *self, const struct forecast_goal *goal,
                          const struct forecast_outcome *seen, const struct round *round)
{
    uint32_t touches = 0, least = UINT32_MAX;
    for (unsigned i = 0; i < round->count; i++) {
        if (!is_new(round, i))
            continue;
        uint32_t more = count_touches(self, *goal, &round->reads[i]);
        if (more < SPIN_AGAIN)
            return 0; /* a search: no more to be asked */
        touches += more;
        least = more < least ? more : least;
    }
    return touches == seen->matching_passed ? seen->instructions / least + 1 : 0;
}

static void note(const struct agent_thread *self, const struct round *round, uint32_t length)
{
    for (unsigned i = 0; i < round->count; i++) {
        uint64_t ip = round->reads[i].insn.address, hash = hash_of(self, &round->reads[i]);
        uint64_t place = atomic_load_explicit(place_of(ip), memory_order_relaxed);
        uint64_t changed =
            place >> SPIN_ADDRESS == ip && has_changed(place, hash) ? SPIN_CHANGED : 0;
        atomic_store_explicit(place_of(ip),
                              ip << SPIN_ADDRESS | changed | hash << SPIN_VALUE | length,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&any, true, memory_order_relaxed);
}

bool spinning_ended(struct agent_thread *self, const struct forecast_goal *goal,
                    const struct forecast_outcome *seen, bool whole)
{
    struct round round;
    bool may_wait = whole && !seen->stores_passed && seen->matching_passed >= SPIN_READS;
    if (!may_wait && !atomic_load_explicit(&any, memory_order_relaxed))
        return false;
    look_at_round(self, *goal, &round);
    uint32_t length = may_wait ? length_of(self, goal, seen, &round) : 0;
    if (length && length <= SPIN_ROUND)
        note(self, &round, length);
    return !length && is_known(self, &round);
}
