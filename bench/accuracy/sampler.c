// SPDX-License-Identifier: MIT
/*
 * One simulated sampler: a `detect` with registers that never fail. The control is one with as many
 * registers as it has samples, each a `detect` of its own: what is wrong with its answers is
 * chance, what is wrong with the others' beyond that comes of having few registers.
 *
 * Waste: a random byte of the sampled access is watched, as by the agent. Reuse: a
 * random location (word or line) of those the access touches, with as many samples' weight as it
 * touches locations, because the exact histogram counts every location; the sample takes the kind
 * whose watchpoint fires on everything and is settled by the first touch.
 *
 * Attribution changes nothing about which samples are watched, so all methods are summed
 * up in one run.
 */
#include "simulate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct watch_table *table_of(const struct sampler *sampler)
{
    return sampler->settings.watch == WATCH_LINE ? &sampler->simulation->lines
                                                 : &sampler->simulation->words;
}

static bool arm(void *machine, unsigned index, const struct detect_sample *sample)
{
    struct slot *slot = machine;
    struct sampler *sampler = slot->sampler;
    struct watch *watch = &slot->watches[index];
    uint64_t unit = UINT64_C(1) << sampler->settings.watch;
    *watch =
        (struct watch){.low = sample->watched & -unit,
                       .high = (sample->watched & -unit) + unit,
                       .directions = sampler->settings.reuse ? DETECT_LOADS | DETECT_STORES
                                                             : detect_kinds[sample->kind].watches,
                       .index = (uint8_t)index,
                       .weight = sample->weight,
                       .since = sampler->now,
                       .slot = slot};
    watch_add(table_of(sampler), watch);
    return true;
}

static void disarm(void *machine, unsigned index)
{
    struct slot *slot = machine;
    struct sampler *sampler = slot->sampler;
    watch_remove(table_of(sampler), &slot->watches[index]);
    if (sampler->settings.registers == UNLIMITED) {
        slot->next_idle = sampler->idle;
        sampler->idle = slot;
    }
}

static uint64_t random_below(void *machine, uint64_t bound)
{
    struct slot *slot = machine;
    return base_random_below(&slot->sampler->random, bound);
}

static void lost(void *machine, unsigned index, const struct detect_lost *lost)
{
    struct slot *slot = machine;
    (void)index;
    if (slot->sampler->settings.registers == UNLIMITED)
        return;
    settle_note(slot->sampler, &(struct ended){.context = lost->context_id,
                                               .kind = lost->kind,
                                               .watch = {.waited = lost->waited,
                                                         .weight = lost->weight,
                                                         .entry = lost->entry,
                                                         .chance = lost->chance}});
}

/* Room for all registers' watches among those found. */
static bool count_registers(struct simulation *simulation, unsigned registers)
{
    simulation->registers += registers;
    if (simulation->registers <= simulation->found_capacity)
        return true;
    size_t capacity = simulation->registers * 2;
    struct watch **found = reallocarray(simulation->found, capacity, sizeof *found);
    if (!found)
        return false;
    simulation->found = found;
    simulation->found_capacity = capacity;
    return true;
}

static struct slot *add_slot(struct sampler *sampler)
{
    const struct sampler_settings *settings = &sampler->settings;
    unsigned registers = settings->registers == UNLIMITED ? 1 : settings->registers;
    struct slot *slot = calloc(1, sizeof *slot);
    if (!slot || !count_registers(sampler->simulation, registers)) {
        free(slot);
        return NULL;
    }
    struct detect_options options = {.kinds = settings->kinds,
                                     .registers = (uint8_t)registers,
                                     .fp_tolerance = settings->fp_tolerance,
                                     .ignored_limit = settings->ignored_limit,
                                     .fault = settings->fault,
                                     .policy = settings->policy};
    struct detect_hooks hooks = {arm, disarm, random_below, slot, lost};
    detect_init(&slot->detect, &options, &hooks);
    slot->sampler = sampler;
    slot->next = sampler->slots;
    sampler->slots = slot;
    return slot;
}

bool sampler_init(struct sampler *sampler, const struct sampler_settings *settings,
                  struct simulation *simulation, uint64_t seed)
{
    *sampler = (struct sampler){.settings = *settings, .simulation = simulation};
    sampler->random.state = seed;
    size_t bytes = (size_t)NODES_MAX * sizeof *sampler->contexts;
    void *contexts = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (contexts == MAP_FAILED)
        return false;
    sampler->contexts = contexts;
    return settings->registers == UNLIMITED || add_slot(sampler);
}

void sampler_free(struct sampler *sampler)
{
    if (sampler->contexts)
        munmap(sampler->contexts, (size_t)NODES_MAX * sizeof *sampler->contexts);
    for (struct slot *slot = sampler->slots, *next; slot; slot = next) {
        next = slot->next;
        free(slot);
    }
    for (unsigned kind = 0; kind < DETECT_REUSE; kind++)
        tally_free(&sampler->pairs[kind]);
    tally_free(&sampler->bins);
    free(sampler->ended);
}

/* One of the kinds that sample this direction, each as likely. */
static unsigned pick_kind(struct sampler *sampler, unsigned direction)
{
    unsigned kinds[DETECT_REUSE], count = 0;
    if (sampler->settings.reuse)
        return DETECT_DEAD;
    for (unsigned kind = 0; kind < DETECT_REUSE; kind++)
        if (sampler->settings.kinds >> kind & 1 && detect_kinds[kind].samples & direction)
            kinds[count++] = kind;
    return count == 1 ? kinds[0] : kinds[base_random_below(&sampler->random, count)];
}

static void choose_location(struct sampler *sampler, struct detect_sample *sample)
{
    unsigned shift = sampler->settings.watch;
    uint64_t first = sample->address >> shift;
    uint64_t units = ((sample->address + sample->bytes - 1) >> shift) - first + 1;
    uint64_t chosen = (first + base_random_below(&sampler->random, units)) << shift;
    sample->watched = chosen > sample->address ? chosen : sample->address;
    sample->weight = (float)units;
}

/* The slot that the next sample goes to. */
static struct slot *slot_for_sample(struct sampler *sampler)
{
    if (sampler->settings.registers != UNLIMITED)
        return sampler->slots;
    struct slot *slot = sampler->idle ? sampler->idle : add_slot(sampler);
    if (slot && slot == sampler->idle)
        sampler->idle = slot->next_idle;
    if (!slot) {
        fputs("simulate: no memory for watches\n", stderr);
        exit(1);
    }
    return slot;
}

void sampler_take(struct sampler *sampler, const struct access *access, const uint8_t *memory)
{
    struct detect_sample sample = {
        .kind = (uint8_t)pick_kind(sampler, access->direction),
        .element_is_float = (access->element & SHADOW_FLOAT) != 0,
        .element_bytes = access->element & (uint8_t)~SHADOW_FLOAT,
        .address = access->address,
        .bytes = (uint32_t)access->bytes,
        .weight = 1,
        .context_id = access->node,
        .context = &sampler->contexts[access->node].detect,
    };
    memcpy(sample.value, memory, sample.bytes);
    if (sampler->settings.reuse)
        choose_location(sampler, &sample);
    else
        sample.watched = access->address + base_random_below(&sampler->random, access->bytes);
    sampler->now = access->now;
    sampler->sampled += (double)sample.weight;
    sampler->contexts[access->node].sampled[sample.kind] += sample.weight;
    detect_take(&slot_for_sample(sampler)->detect, &sample);
}

static void add(double *sums, const struct detect_finding *finding, const struct watch *watch,
                double amount)
{
    double claimed = (double)watch->weight / (double)finding->chance;
    sums[METHOD_NONE] += (double)watch->weight * amount;
    sums[METHOD_PAPER] += (double)finding->samples * amount;
    sums[METHOD_SHARED] += claimed * amount;
    sums[METHOD_INVERSE] += claimed * amount;
}

static void count_finding(struct sampler *sampler, const struct watch *watch,
                          const struct detect_finding *finding, const struct access *access)
{
    struct context *context = &sampler->contexts[finding->context_id];
    bool reuse = sampler->settings.reuse, waste = finding->verdict == DETECT_WASTE;
    unsigned bin = distance_bin(access->now - watch->since);
    struct tally *tally = &sampler->pairs[reuse ? 0 : finding->kind];
    struct tally_entry *pair = tally_at(tally, finding->context_id, access->node);
    sampler->attributed += (double)finding->samples;
    context->attributed[finding->kind] += (double)finding->samples;
    context->claimed[finding->kind] += (double)watch->weight / (double)finding->chance;
    if (reuse) {
        add(pair->waste, finding, watch, 1);
        add(tally_at(&sampler->bins, finding->context_id, bin)->waste, finding, watch, 1);
    } else {
        add(waste ? pair->waste : pair->use, finding, watch, finding->bytes);
    }
    settle_note(sampler, &(struct ended){.context = finding->context_id,
                                         .second = access->node,
                                         .kind = finding->kind,
                                         .waste = waste || reuse,
                                         .bin = (uint16_t)bin,
                                         .bytes = reuse ? 1 : finding->bytes,
                                         .watch = {.waited = finding->waited,
                                                   .trapped = true,
                                                   .weight = watch->weight,
                                                   .samples = finding->samples,
                                                   .entry = finding->entry,
                                                   .chance = finding->chance}});
}

void sampler_touch(struct watch *watch, const struct access *access)
{
    struct slot *slot = watch->slot;
    const struct detect_sample *sample = &slot->detect.registers[watch->index].sample;
    struct watch was = *watch; /* disarmed by the verdict */
    struct detect_touch touch = {.direction = access->direction,
                                 .range_known = true,
                                 .address = access->address,
                                 .bytes = access->bytes > UINT32_MAX ? UINT32_MAX
                                                                     : (uint32_t)access->bytes,
                                 .value = slot->sampler->simulation->truth.image + sample->address};
    struct detect_finding finding;
    if (detect_touched(&slot->detect, watch->index, &touch, &finding) == DETECT_IGNORED)
        return;
    /* A context counts no more than 255 armed watches; and there is nothing to share out. */
    if (slot->sampler->settings.registers == UNLIMITED)
        finding.samples = was.weight;
    count_finding(slot->sampler, &was, &finding, access);
}

static struct detect_counts sum_counts(const struct sampler *sampler)
{
    struct detect_counts sum = {0};
    for (const struct slot *slot = sampler->slots; slot; slot = slot->next) {
        const struct detect_counts *counts = &slot->detect.counts;
        for (unsigned kind = 0; kind < DETECT_REUSE; kind++) {
            sum.samples[kind] += counts->samples[kind];
            sum.armed[kind] += counts->armed[kind];
            sum.traps[kind] += counts->traps[kind];
            sum.ignored[kind] += counts->ignored[kind];
            sum.evicted[kind] += counts->evicted[kind];
            sum.abandoned[kind] += counts->abandoned[kind];
            if (counts->blind_longest[kind] > sum.blind_longest[kind])
                sum.blind_longest[kind] = counts->blind_longest[kind];
        }
    }
    return sum;
}

/* Gives up what is armed still. */
static void end_watches(struct sampler *sampler)
{
    for (struct slot *slot = sampler->slots; slot; slot = slot->next)
        for (unsigned i = 0; i < DETECT_MAX_REGISTERS; i++)
            if (slot->detect.registers[i].busy)
                detect_abandon(&slot->detect, i);
}

void sampler_settle(struct sampler *sampler)
{
    sampler->counts = sum_counts(sampler);
    end_watches(sampler);
    settle_shared(sampler);
    settle_watches(sampler);
}
