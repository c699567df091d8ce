// SPDX-License-Identifier: MIT
/*
 * Reuse: what becomes of a sampled access's location. After it has executed, the instructions
 * ahead are searched for the next access to the same location: most reuses are that near,
 * and near ones are counted exactly this way, for less than a trap costs. Only if there is
 * none the location stays under watch, and its trap shows how much CPU time has passed since.
 *
 * That time is the thread's own, without what it spent in handlers of ours; what the kernel takes
 * to deliver traps is in it, and is taken off after the run, when it is known how much that is:
 * every confirmed sample measures it (wire_sample.trap_ns). A program that counts its accesses
 * itself (built so, or by the processor's counters) gives the distance exactly.
 *
 * A debug register reaches eight bytes. Of a cache line the neighbours of the word used are watched
 * too, since what walks over memory comes back to those: all registers for one sample. Rejected: a
 * sample for each register, one word each. Every walk along the other dimension is far reuse then
 * (misses of 49 % where there are none), and few samples get as far as a watchpoint. The
 * other words are seen only as far as they were foreseen.
 */
#include "agent/agent.h"

static uint64_t unit_bytes(void)
{
    return UINT64_C(1) << agent.region->config.unit_shift;
}

/* False: this thread's accesses are not counted. */
static bool read_count(const struct agent_thread *self, uint64_t *count)
{
    uint64_t part;
    *count = 0;
    if (agent.region->config.counters && count_read(count))
        return true;
    if (agent.access_counter != AGENT_NOWHERE) {
        *count = *(const uint64_t *)(agent_control_block() + (uint64_t)agent.access_counter);
        return true;
    }
    bool known = false;
    for (unsigned i = 0; i < BASE_COUNT(self->rings); i++) {
        if (!self->rings[i].page)
            continue;
        if (!pmu_count(&self->rings[i], &part))
            return false;
        *count += part;
        known = true;
    }
    return known;
}

/* ---- the use ----------------------------------------------------------------------------- */

/*
 * An access that touches several locations stands for one of them, each as likely, and for as
 * many samples: histograms count touches of locations.
 */
uint64_t reuse_choose(struct agent_thread *self, const struct forecast_outcome *hit, float *weight)
{
    uint64_t unit = unit_bytes(), end = hit->address + hit->bytes;
    uint64_t first = hit->address & -unit, units = (((end - 1) & -unit) - first) / unit + 1;
    uint64_t low = first + base_random_below(&self->random, units) * unit, high = low + unit;
    low = low > hit->address ? low : hit->address;
    high = high < end ? high : end;
    *weight *= (float)units;
    return low + base_random_below(&self->random, high - low);
}

bool reuse_has_companions(void)
{
    return agent.region->config.kinds & WIRE_REUSES && unit_bytes() == 64;
}

void reuse_arm_companions(struct agent_thread *self, uint64_t watched)
{
    uint64_t line = watched & ~UINT64_C(63), word = (watched & 63) / 8, registers;
    /* The neighbours; at an end of the line, the one there is and the next but one. */
    uint64_t words[AGENT_COMPANIONS] = {word ? word - 1 : 2, word < 7 ? word + 1 : 5};
    registers = agent.region->config.registers;
    for (unsigned i = 0; i < AGENT_COMPANIONS && i + 2 < registers; i++) {
        uint64_t address = line + words[i] * 8;
        if (!sample_refuses(self, address) && !sample_refuses(self, address + 7))
            sample_arm(self, &self->companions[i], OS_WATCH_WORD, address);
    }
}

static bool log_reuse(struct agent_thread *self, const struct agent_use *use,
                      struct wire_reuse *record)
{
    uint64_t count;
    record->record.type = WIRE_REUSE;
    record->record.bytes = sizeof *record;
    record->flags |= use->flags;
    if (!(record->flags & WIRE_REUSE_FORESEEN)) {
        record->accesses = use->seen;
        record->elapsed_ns = thread_virtual_ns(self) - use->virtual_ns;
        record->traps = (uint32_t)(self->entries - use->entries);
        if (use->flags & WIRE_REUSE_COUNTED && read_count(self, &count))
            record->accesses = count - use->count;
        else
            record->flags &= ~(uint32_t)WIRE_REUSE_COUNTED;
    }
    return wire_write(&self->writer, &record->record);
}

struct forecast_goal reuse_goal(uint64_t watched)
{
    uint64_t unit = unit_bytes();
    return (struct forecast_goal){.direction = ISA_LOAD | ISA_STORE,
                                  .max_instructions = agent.region->config.ahead,
                                  .range_start = watched & -unit,
                                  .range_bytes = unit};
}

static struct wire_reuse foreseen(const struct detect_sample *sample, uint64_t distance,
                                  uint32_t node, bool stores)
{
    return (struct wire_reuse){.use_node = sample->context_id,
                               .reuse_node = node,
                               .flags =
                                   WIRE_REUSE_FORESEEN | (stores ? WIRE_REUSE_STORE_SECOND : 0),
                               .accesses = distance,
                               .weight = sample->weight,
                               .entry = 1,
                               .chance = 1,
                               .bytes = sample->bytes};
}

static bool reserve(struct agent_thread *self, const struct wire_reuse *record)
{
    return wire_reserve(&self->writer,
                        sizeof(struct wire_sample) + sizeof *record + sizeof(struct wire_located));
}

static bool log_record(struct agent_thread *self, const struct detect_sample *sample,
                       const struct agent_use *use, struct wire_reuse *record)
{
    self->question.foreseen++;
    bool logged = log_reuse(self, use, record);
    if (logged)
        objects_log_at(self, sample->address);
    return logged;
}

bool reuse_log_foreseen(struct agent_thread *self, const struct detect_sample *sample,
                        float density, uint64_t distance, uint32_t node, bool stores_first,
                        bool stores_second)
{
    struct agent_use use = {.flags = stores_first ? WIRE_REUSE_STORE_FIRST : 0};
    struct wire_reuse record = foreseen(sample, distance, node, stores_second);
    if (!reserve(self, &record))
        return false;
    self->counters->attempted++;
    sample_record(self, sample, density, 2, 0);
    self->counters->stored++;
    return log_record(self, sample, &use, &record);
}

/* The same of a sample that was confirmed. False: nothing was logged. */
static bool log_foreseen(struct agent_thread *self, const struct detect_sample *sample,
                         uint64_t distance, uint32_t node, bool stores)
{
    struct wire_reuse record = foreseen(sample, distance, node, stores);
    if (!reserve(self, &record))
        return false;
    sample_log(self, sample, 2);
    return log_record(self, sample, &self->use, &record);
}

/* Is the location touched again so soon that it can be seen from here? */
static bool foresee(struct agent_thread *self, const struct base_registers *registers,
                    const struct detect_sample *sample)
{
    struct forecast_goal goal = reuse_goal(sample->watched);
    struct forecast_outcome found = {0};
    struct base_registers then;
    struct base_memory memory;
    sample_exclude(self, &goal);
    sample_foresee(self, registers);
    enum forecast_result result = forecast_run(&self->forecast, &goal, &found);
    self->use.seen = found.accesses_passed;
    if (result != FORECAST_HIT || !forecast_then(&self->forecast, &then, &memory))
        return false;
    const struct isa_access *access = &found.insn.accesses[found.access];
    enum wire_drop drop;
    uint32_t node = context_enter_then(self, &then, &memory, found.insn.address,
                                       context_flags(&found.insn, access), &drop);
    return node && log_foreseen(self, sample, found.accesses_passed + 1, node,
                                found.direction == ISA_STORE);
}

void reuse_take(struct agent_thread *self, const struct base_registers *registers,
                struct detect_sample *sample, uint8_t direction)
{
    bool stores = direction == ISA_STORE;
    self->use = (struct agent_use){.virtual_ns = thread_virtual_ns(self),
                                   .entries = self->entries,
                                   .flags = stores ? WIRE_REUSE_STORE_FIRST : 0};
    if (read_count(self, &self->use.count))
        self->use.flags |= WIRE_REUSE_COUNTED;
    /* The store of the same instruction has happened already. */
    if (sample->modifies && !stores && log_foreseen(self, sample, 1, sample->context_id, true))
        return;
    if (!foresee(self, registers, sample))
        sample_store(self, sample);
}

/* ---- the reuse --------------------------------------------------------------------------- */

void reuse_resolve(struct agent_thread *self, unsigned index,
                   const struct base_registers *registers, const struct isa_blame *blame,
                   enum isa_blame_result result)
{
    const struct agent_use use = self->uses[index];
    struct detect_finding finding;
    struct detect_touch touch = {.direction = DETECT_LOADS};
    float weight = self->detect.registers[index].sample.weight;
    enum wire_drop drop;
    uint32_t node = context_enter_touch(self, registers, blame, result, &drop);
    self->counters->ambiguous_traps += result == ISA_BLAME_AMBIGUOUS;
    if (!node ||
        !wire_reserve(&self->writer, sizeof(struct wire_reuse) + sizeof(struct wire_located))) {
        detect_abandon(&self->detect, index);
        return;
    }
    detect_touched(&self->detect, index, &touch, &finding);
    bool stores = result == ISA_BLAME_EXACT && blame->direction == ISA_STORE;
    struct wire_reuse record = {.use_node = finding.context_id,
                                .reuse_node = node,
                                .flags = (result == ISA_BLAME_KERNEL ? WIRE_REUSE_KERNEL : 0) |
                                         (result == ISA_BLAME_LIKELY ? WIRE_REUSE_LIKELY : 0) |
                                         (stores ? WIRE_REUSE_STORE_SECOND : 0),
                                .weight = weight,
                                .entry = finding.entry,
                                .chance = finding.chance,
                                .waited = finding.waited,
                                .bytes = finding.bytes};
    if (log_reuse(self, &use, &record))
        objects_log(self, &self->objects[index]);
}

/* Replaced, given up, or the thread ends: how long it was not reused counts, too. */
void reuse_lost(void *machine, unsigned index, const struct detect_lost *lost)
{
    struct agent_thread *self = machine;
    struct wire_reuse record = {.use_node = lost->context_id,
                                .flags = self->ending ? WIRE_REUSE_OPEN : WIRE_REUSE_LOST,
                                .weight = lost->weight,
                                .entry = lost->entry,
                                .chance = lost->chance,
                                .waited = lost->waited,
                                .bytes = self->detect.registers[index].sample.bytes};
    if (lost->kind == DETECT_REUSE)
        log_reuse(self, &self->uses[index], &record);
}
