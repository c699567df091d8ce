// SPDX-License-Identifier: MIT
/*
 * The count source: the program, built by `headroom cc --count`, counts its accesses itself, and
 * says when the one that is waited for is near: so many accesses ahead of a state that it hands
 * over. That one is looked for by interpreting what is ahead, and confirmed by its own watchpoint,
 * as with the clock.
 *
 * Every access that is counted is as likely to be taken. Nothing depends on time: with the same
 * seed a deterministic program gives the same samples. So the cost of samples does not stretch the
 * time between them either; the period is what the user asked for.
 *
 * What is not built so is not counted. A slow clock measures how much time goes there; it takes no
 * samples.
 */
#include "agent/agent.h"

#include "wire/instrumented.h"

#include <string.h>

enum { AHEAD_MAX = 1024 };

static struct instrumented_accesses *thread_accesses(void)
{
    return agent.counted == AGENT_NOWHERE
               ? NULL
               : (struct instrumented_accesses *)(agent_control_block() + (uint64_t)agent.counted);
}

bool count_read(uint64_t *count)
{
    const struct instrumented_accesses *accesses = thread_accesses();
    if (!accesses)
        return false;
    int64_t sum = accesses->before;
    for (unsigned i = 0; i < INSTRUMENTED_LANES; i++)
        sum += accesses->left[i];
    *count = (uint64_t)sum;
    return true;
}

/* What a stub of the procedure linkage table jumps through: the linker has made it. */
static bool is_stub(const struct base_memory *memory, uint64_t ip)
{
    enum { PUSH = 0x68, NOP_PREFIX = 0x66, NOP = 0x90, BOUND = 0xf2 };
    uint8_t code[8];
    if (!base_read(memory, ip, code, sizeof code))
        return false;
    if (code[0] == BOUND && code[1] == 0xff && code[2] == 0x25)
        return true;
    return code[0] == 0xff && code[1] == 0x25 &&
           (code[6] == PUSH || (ip % 8 == 0 && code[6] == NOP_PREFIX && code[7] == NOP));
}

static bool counts(void *context, uint64_t ip)
{
    const struct agent_thread *self = context;
    const struct agent_module *module = modules_find(ip);
    return module && module->counts && !is_stub(&self->memory.base, ip);
}

void count_ignore(struct agent_thread *self, struct forecast_goal *goal)
{
    if (agent.counted == AGENT_NOWHERE)
        return;
    if (agent.source == WIRE_SOURCE_COUNT) {
        goal->counts = counts;
        goal->context = self;
    }
    goal->ignored_start = (uint64_t)thread_accesses();
    goal->ignored_bytes = sizeof((struct instrumented_accesses *)NULL)->left;
    goal->ignored_value = (uint64_t)agent.counted;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* The lane's next access to be taken is `step` behind the last one. */
static void wait_for(struct instrumented_accesses *accesses, unsigned lane, int64_t step)
{
    accesses->before += step;
    accesses->left[lane] -= step;
}

static void wait_again(struct agent_thread *self, struct instrumented_accesses *accesses)
{
    uint64_t period = agent.region->config.period;
    for (unsigned i = 0; i < INSTRUMENTED_LANES; i++)
        while (accesses->left[i] >= 0)
            wait_for(accesses, i,
                     (int64_t)(period / 4 * 3 + base_random_below(&self->random, period / 2) + 1));
}

static void wait_for_nothing(struct instrumented_accesses *accesses)
{
    for (unsigned i = 0; i < INSTRUMENTED_LANES; i++)
        wait_for(accesses, i, accesses->left[i] + INSTRUMENTED_FAR_AWAY);
}

bool count_start(struct agent_thread *self)
{
    struct instrumented_accesses *accesses = thread_accesses();
    if (!accesses)
        return true; /* said at the start of the process */
    for (unsigned i = 0; i < INSTRUMENTED_LANES; i++) {
        uint64_t first = base_random_below(&self->random, agent.region->config.period) + 1;
        wait_for(accesses, i, accesses->left[i] + (int64_t)first);
    }
    accesses->agent = (uint64_t)AGENT_DUE;
    self->counting = true;
    if (os_tick_start(&self->ticks, COUNT_TICK_NS, (uint64_t)SAMPLE_COOKIE_MAGIC << 32))
        agent_degrade(WIRE_DEGRADED_NO_SHARE);
    return true;
}

void count_stop(struct agent_thread *self)
{
    struct instrumented_accesses *accesses = thread_accesses();
    self->counting = false;
    if (!accesses || !accesses->agent)
        return;
    accesses->agent = 0;
    wait_for_nothing(accesses);
}

/* ---- what goes elsewhere --------------------------------------------------------------------- */

void count_tick(uint64_t ip)
{
    const struct agent_module *module = modules_find(ip);
    atomic_fetch_add_explicit(&agent.region->ticks, 1, memory_order_relaxed);
    if (!module || !module->counts)
        atomic_fetch_add_explicit(&agent.region->ticks_elsewhere, 1, memory_order_relaxed);
}

/* ---- the access that is due ------------------------------------------------------------------ */

static void take(struct agent_thread *self)
{
    struct agent_attempt *attempt = &self->attempt;
    int kind = question_pick(self, attempt->hit.direction, &attempt->weight);
    if (kind < 0) { /* of no kind that is observed: there was no sample to be taken */
        self->counters->attempted--;
        return;
    }
    attempt->kind = (uint8_t)kind;
    sample_watch(self);
}

void count_look_ahead(struct agent_thread *self, const struct base_registers *registers)
{
    struct agent_attempt *attempt = &self->attempt;
    struct forecast_goal goal = {
        .direction = ISA_LOAD | ISA_STORE, .skip = attempt->skip, .max_instructions = AHEAD_MAX};
    struct forecast_outcome seen;
    sample_exclude(self, &goal);
    sample_foresee(self, registers);
    switch (forecast_run(&self->forecast, &goal, &seen)) {
    case FORECAST_HIT:
        attempt->hit = seen;
        take(self);
        break;
    case FORECAST_BLOCKED:
        attempt->skip -= seen.matching_passed;
        sample_hop(self, &seen);
        break;
    default: sample_finish(self, WIRE_DROP_BLOCKED);
    }
}

/* Accesses to be passed over before the one that is due; where nobody looked in time, none. The
   program calls when the count is at INSTRUMENTED_LAG before it. */
static uint32_t to_skip(const struct instrumented_accesses *accesses)
{
    const struct instrumented_due *now = accesses->now;
    int64_t skip = INSTRUMENTED_LAG - 1 + now->ahead - accesses->left[now->lane];
    return skip < 0 ? 0 : skip < UINT32_MAX ? (uint32_t)skip : UINT32_MAX;
}

void count_due(struct agent_thread *self)
{
    struct instrumented_accesses *accesses = thread_accesses();
    if (!agent_active() || !accesses || !self->counting) {
        count_stop(self);
        return;
    }
    if (!thread_claim(self)) {
        wait_again(self, accesses);
        return;
    }
    sample_drop(self, WIRE_DROP_UNFORESEEN);
    self->attempt = (struct agent_attempt){.weight = 1, .counted = true, .window = UINT32_MAX / 2};
    self->counters->attempted++;
    if (accesses->now) {
        struct base_registers registers = {.ip = accesses->now->ip,
                                           .fs_base = agent_control_block()};
        memcpy(registers.general, accesses->now->general, sizeof registers.general);
        self->attempt.skip = to_skip(accesses);
        wait_again(self, accesses);
        memory_enter(&self->memory, registers.ip, registers.general[BASE_RSP]);
        count_look_ahead(self, &registers);
    } else { /* the signal was blocked when it was sent */
        wait_again(self, accesses);
        sample_finish(self, WIRE_DROP_SIGNAL);
    }
    sample_publish(self);
    self->slot->cpu_ns = self->began_ns;
}
