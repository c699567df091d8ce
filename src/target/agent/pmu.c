// SPDX-License-Identifier: MIT
/*
 * The pmu source: the processor names accesses and their addresses. Not yet
 * tried on hardware: written against the kernel's interface on machines without
 * counters; only the ring parser (os/pmu.h) has tests.
 *
 * One precise event for stores, one for loads (only those that the kinds
 * need), each with a ring of one page, held by its mapping like every event of
 * ours. An overflow raises SIGTRAP; the sampled access has already happened,
 * so it goes under watch at once and needs no confirmation.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, RING = 4096 };

static bool start_event(struct agent_thread *self, unsigned which, uint64_t config)
{
    const struct wire_config *wanted = &agent.region->config;
    struct pmu_event event = {.type = wanted->pmu_type,
                              .config = config,
                              .period = wanted->period,
                              .cookie = (uint64_t)SAMPLE_COOKIE_MAGIC << 32 | (which + 1)};
    struct perf_event_attr attr;
    pmu_attributes(&event, &attr);
    long file = os_syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0)
        return false;
    long ring = os_syscall(__NR_mmap, 0, PAGE + RING, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    os_syscall(__NR_close, file);
    return !os_failed(ring) && pmu_ring_init(&self->rings[which], (void *)ring, RING) == BASE_OK;
}

bool pmu_start(struct agent_thread *self)
{
    const struct wire_config *config = &agent.region->config;
    self->interval_ns = config->interval_ns;
    bool stores = config->kinds & (WIRE_DEAD | WIRE_SILENT | WIRE_REUSES);
    bool loads = config->kinds & (WIRE_LOAD | WIRE_REUSES);
    bool same = config->pmu_store_event == config->pmu_load_event; /* IBS: one event for both */
    if (stores && !start_event(self, 0, config->pmu_store_event))
        return false;
    return !loads || (stores && same) || start_event(self, 1, config->pmu_load_event);
}

void pmu_stop(struct agent_thread *self)
{
    for (unsigned i = 0; i < BASE_COUNT(self->rings); i++) {
        if (self->rings[i].page)
            os_unmap(self->rings[i].page, PAGE + RING);
        self->rings[i].page = NULL;
    }
}

/* The sampled instruction's operand at the sampled address; NULL: not decodable. */
static const struct isa_access *find_access(struct agent_thread *self,
                                            const struct pmu_sample *sampled, struct isa_insn *insn)
{
    uint8_t code[ISA_MAX_LENGTH];
    if (!base_read(&self->memory.base, sampled->ip, code, sizeof code) ||
        isa_decode(code, sizeof code, sampled->ip, insn) != BASE_OK)
        return NULL;
    for (unsigned i = 0; i < insn->access_count; i++)
        if (insn->accesses[i].direction & sampled->direction)
            return &insn->accesses[i];
    return NULL;
}

static void take(struct agent_thread *self, const struct pmu_sample *sampled,
                 const struct base_registers *registers)
{
    struct isa_insn insn;
    const struct isa_access *access = find_access(self, sampled, &insn);
    float weight = 1;
    int kind = question_pick(self, sampled->direction, &weight);
    enum wire_drop drop = WIRE_DROP_UNWIND;
    /* The signal may come in another function than the access: no context then. */
    bool here = modules_function_start(sampled->ip) == modules_function_start(registers->ip);
    if (agent_owns(sampled->ip)) {
        sample_finish(self, WIRE_DROP_AGENT);
        return;
    }
    if (!access || kind < 0 || access->bytes > DETECT_MAX_BYTES ||
        sample_refuses(self, sampled->address)) {
        sample_finish(self, WIRE_DROP_REFUSED);
        return;
    }
    uint32_t node = here ? context_enter(self, registers, sampled->ip, CONTEXT_HERE, 0, &drop) : 0;
    if (!node) {
        sample_finish(self, drop);
        return;
    }
    struct detect_sample sample = {.kind = (uint8_t)kind,
                                   .element_is_float = access->element == ISA_FLOAT,
                                   .element_bytes = access->element_bytes,
                                   .address = sampled->address,
                                   .bytes = access->bytes,
                                   .watched = sampled->address +
                                              base_random_below(&self->random, access->bytes),
                                   .weight = weight,
                                   .context_id = node,
                                   .context = &self->cct.nodes[node].detect};
    if (!base_read(&self->memory.base, sample.address, sample.value, sample.bytes) ||
        !sample_scout(self, sample.kind, sample.watched)) {
        sample_finish(self, WIRE_DROP_WATCHPOINT);
        return;
    }
    if (kind == DETECT_REUSE)
        reuse_take(self, registers, &sample, sampled->direction);
    else
        sample_store(self, &sample);
}

void pmu_overflow(struct agent_thread *self, unsigned which, const struct base_registers *registers,
                  bool late)
{
    struct pmu_ring *ring = &self->rings[which];
    struct pmu_sample sampled;
    while (ring->page && pmu_next(ring, &sampled)) {
        memset(&self->attempt, 0, sizeof self->attempt);
        self->counters->attempted++;
        if (!sampled.direction) /* PEBS events are one or the other */
            sampled.direction = which ? PMU_LOAD : PMU_STORE;
        if (late || !sampled.user || !sampled.address || sampled.tid != self->tid)
            sample_finish(self, late ? WIRE_DROP_SIGNAL : WIRE_DROP_KERNEL);
        else
            take(self, &sampled, registers);
    }
}
