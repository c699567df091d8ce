// SPDX-License-Identifier: MIT
/*
 * What can be decided without a trap. A tick costs tens of microseconds whatever comes of it, and so does each
 * trap, an instruction that is interpreted some hundredths of one. So a tick asks everything that waste is sampled for: of
 * the accesses ahead (sample.c) it takes one that stores and one that loads, each as likely as any other of its direction, and interprets on
 * until their byte is touched again. For most that is soon: the sample is complete, both calling
 * contexts included, and nothing was armed.
 *
 * Of the questions that stay open one, each as likely, is followed by watchpoints, and stands for all that were open in such a case
 * (its weight is multiplied by their number): what is far counts as much as what is near. Rejected: each question at a
 * tick of its own. Three times the ticks, and samples of one tick answer different questions, so that there is nothing to be
 * gained from their being independent.
 *
 * What is foreseen and not confirmed by a trap must be certain: code that cannot have changed since it was decoded, values
 * that are known, no access that might be the one without being known to be. Anything else leaves the question open. What remains
 * is another thread's store meanwhile, which would have been as likely a moment earlier or later.
 */
#include "agent/agent.h"

#include <string.h>

/* Twice as many decide a few per cent more and cost as much more; with half of that, a tenth fewer are decided for what a sample
   that is followed by watchpoints costs. */
enum { AHEAD_INSTRUCTIONS = 400 };

/* A touch as it is foreseen: before the instruction that does it, and the place of it. */
struct touch {
    struct forecast_outcome found;
    struct base_registers then;
    struct base_memory memory;
};

static uint8_t watches(uint8_t kinds)
{
    uint8_t directions = 0;
    for (unsigned kind = 0; kind < DETECT_KINDS; kind++)
        if (kinds >> kind & 1)
            directions |= detect_kinds[kind].watches;
    return kinds == 1u << DETECT_LOAD ? DETECT_LOADS : directions; /* stores are ignored */
}

/* Where an instruction accesses memory twice, the other access must be elsewhere. */
static bool is_alone(const struct touch *touch, uint64_t watched)
{
    const struct isa_insn *insn = &touch->found.insn;
    uint64_t address;
    for (unsigned i = 0; i < insn->access_count; i++) {
        const struct isa_access *access = &insn->accesses[i];
        if (i != touch->found.access &&
            (!isa_effective_address(insn, access, &touch->then, &address) ||
             watched - address < access->bytes))
            return false;
    }
    return true;
}

static bool next_touch(struct agent_thread *self, uint64_t watched, uint8_t directions,
                       struct touch *touch)
{
    struct forecast_goal goal = {.direction = directions,
                                 .max_instructions = AHEAD_INSTRUCTIONS,
                                 .range_start = watched,
                                 .range_bytes = 1,
                                 .sure = true};
    sample_exclude(self, &goal);
    return forecast_resume(&self->forecast, &goal, &touch->found) == FORECAST_HIT &&
           touch->found.fixed && forecast_then(&self->forecast, &touch->then, &touch->memory) &&
           is_alone(touch, watched);
}

/* What `kind` sees at the touch, which has been passed if kind is DETECT_SILENT. */
static bool describe(const struct agent_ahead *ahead, uint8_t kind, const struct touch *touch,
                     uint8_t *value, struct detect_touch *described)
{
    const struct isa_access *access = &touch->found.insn.accesses[touch->found.access];
    *described = (struct detect_touch){.direction = access->direction,
                                       .range_known = true,
                                       .address = touch->found.address,
                                       .bytes = touch->found.bytes};
    if (kind == DETECT_DEAD)
        return true;
    if (kind == DETECT_LOAD)
        described->direction = DETECT_LOADS;
    described->value = value;
    return base_read(&touch->memory, ahead->hit.address, value, ahead->hit.bytes);
}

static void log_verdict(struct agent_thread *self, const struct detect_sample *sample,
                        float density, const struct detect_finding *finding, uint32_t touch_node,
                        const struct agent_object *object)
{
    self->counters->attempted++;
    sample_record(self, sample, density, 2, 0);
    self->counters->stored++;
    sample_log_finding(self, finding, touch_node, 0);
    objects_log(self, object);
}

/* The touch's context, and room for the records; false: they could not be had. */
static bool enter(struct agent_thread *self, const struct touch *touch, uint32_t *node)
{
    enum wire_drop drop;
    *node = context_enter_ahead(self, &touch->then, &touch->memory, &touch->found, &drop);
    return *node &&
           wire_reserve(&self->writer, sizeof(struct wire_sample) + sizeof(struct wire_trap) +
                                           sizeof(struct wire_located));
}

static bool decide(struct agent_thread *self, struct agent_ahead *ahead, uint8_t kind,
                   const struct touch *touch)
{
    struct detect_sample sample =
        sample_of(self, kind, &ahead->hit, ahead->watched, ahead->weight, ahead->node);
    struct detect_touch described;
    struct detect_finding finding;
    uint8_t value[DETECT_MAX_BYTES];
    uint32_t node;
    memcpy(sample.value, ahead->value, sizeof sample.value);
    memcpy(sample.loaded, ahead->before, sizeof sample.loaded);
    if (!(ahead->decidable >> kind & 1) || !describe(ahead, kind, touch, value, &described) ||
        !enter(self, touch, &node) ||
        detect_foreseen(&self->detect, &sample, &described, &finding) == DETECT_IGNORED)
        return false;
    log_verdict(self, &sample, ahead->density, &finding, node, &ahead->object);
    return true;
}

/* From behind the sampled access on, touch by touch, until all are decided or what is ahead is not certain. */
static void follow_touches(struct agent_thread *self, struct agent_ahead *ahead)
{
    struct touch touch;
    while (ahead->open && next_touch(self, ahead->watched, watches(ahead->open), &touch)) {
        uint8_t asked = ahead->open;
        bool stores = touch.found.insn.accesses[touch.found.access].direction & ISA_STORE;
        for (uint8_t kind = 0; kind < DETECT_KINDS; kind++) {
            if (!(asked >> kind & 1) || (kind == DETECT_SILENT && !stores))
                continue;
            if (kind == DETECT_SILENT && !forecast_pass(&self->forecast))
                return;
            ahead->open ^= (uint8_t)(decide(self, ahead, kind, &touch) << kind);
        }
        /* A read decides that the store was not dead; the next store still says whether it is silent. */
        if ((asked ^ ahead->open) != 1u << DETECT_DEAD || stores || !forecast_pass(&self->forecast))
            return;
    }
}

/* The sampled access itself: where it is, and what is there before and after. False: that is not certain. */
static bool look_at(struct agent_thread *self, struct agent_ahead *ahead)
{
    const struct forecast_outcome *hit = &ahead->hit;
    struct base_registers then;
    struct base_memory memory;
    enum wire_drop drop;
    if (!hit->fixed || !forecast_then(&self->forecast, &then, &memory))
        return false;
    bool before = base_read(&memory, hit->address, ahead->before, hit->bytes);
    bool modifies = hit->insn.accesses[hit->access].direction == (ISA_LOAD | ISA_STORE);
    ahead->node = context_enter_ahead(self, &then, &memory, hit, &drop);
    if (!ahead->node || !forecast_pass(&self->forecast))
        return false;
    objects_at(self, hit->address, &ahead->object);
    bool after = base_read(&memory, hit->address, ahead->value, hit->bytes);
    ahead->decidable = (uint8_t)(1u << DETECT_DEAD | after << DETECT_SILENT |
                                 (after && (before || !modifies)) << DETECT_LOAD);
    return true;
}

static bool may_ask(const struct agent_thread *self, const struct agent_ahead *ahead)
{
    return ahead->hit.bytes <= DETECT_MAX_BYTES && !sample_refuses(self, ahead->watched);
}

bool ahead_ask(struct agent_thread *self, const struct forecast_goal *goal,
               struct agent_ahead *ahead)
{
    struct forecast_outcome *hit = &ahead->hit;
    if (forecast_run(&self->forecast, goal, hit) != FORECAST_HIT)
        return false;
    ahead->watched = hit->address + base_random_below(&self->random, hit->bytes);
    if (!may_ask(self, ahead))
        return false;
    if (look_at(self, ahead))
        follow_touches(self, ahead);
    return true;
}

/* ---- reuse ------------------------------------------------------------------------------- */

/* From behind the use on: the next touch of its location. */
static bool next_use(struct agent_thread *self, const struct agent_ahead *ahead,
                     struct touch *touch)
{
    struct forecast_goal goal = reuse_goal(ahead->watched);
    goal.sure = true;
    sample_exclude(self, &goal);
    return forecast_resume(&self->forecast, &goal, &touch->found) == FORECAST_HIT &&
           touch->found.fixed && forecast_then(&self->forecast, &touch->then, &touch->memory);
}

/* False: it stays open. */
static bool foresee_reuse(struct agent_thread *self, const struct agent_ahead *ahead)
{
    const struct forecast_outcome *hit = &ahead->hit;
    struct detect_sample sample =
        sample_of(self, DETECT_REUSE, hit, ahead->watched, ahead->weight, ahead->node);
    bool stores = hit->direction == ISA_STORE;
    struct touch touch;
    enum wire_drop drop;
    /* The store of the same instruction comes first. */
    if (sample.modifies && !stores)
        return reuse_log_foreseen(self, &sample, ahead->density, 1, ahead->node, stores, true);
    if (!next_use(self, ahead, &touch))
        return false;
    uint32_t node = context_enter_ahead(self, &touch.then, &touch.memory, &touch.found, &drop);
    return node &&
           reuse_log_foreseen(self, &sample, ahead->density, touch.found.accesses_passed + 1, node,
                              stores, touch.found.direction == ISA_STORE);
}

bool ahead_ask_reuse(struct agent_thread *self, const struct forecast_goal *goal,
                     struct agent_ahead *ahead)
{
    if (forecast_run(&self->forecast, goal, &ahead->hit) != FORECAST_HIT)
        return false;
    ahead->watched = reuse_choose(self, &ahead->hit, &ahead->weight);
    if (!may_ask(self, ahead))
        return false;
    if (look_at(self, ahead) && foresee_reuse(self, ahead))
        ahead->open = 0;
    return true;
}
