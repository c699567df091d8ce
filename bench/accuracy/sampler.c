// SPDX-License-Identifier: MIT
/*
 * One simulated sampler: a `detect` with registers that never fail.
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

#include <string.h>
#include <sys/mman.h>

static struct watch_table *table_of(const struct sampler *sampler)
{
    return sampler->settings.watch == WATCH_LINE ? &sampler->simulation->lines
                                                 : &sampler->simulation->words;
}

static bool arm(void *machine, unsigned index, const struct detect_sample *sample)
{
    struct sampler *sampler = machine;
    struct watch *watch = &sampler->watches[index];
    uint64_t unit = UINT64_C(1) << sampler->settings.watch;
    *watch =
        (struct watch){.low = sample->watched & -unit,
                       .high = (sample->watched & -unit) + unit,
                       .directions = sampler->settings.reuse ? DETECT_LOADS | DETECT_STORES
                                                             : detect_kinds[sample->kind].watches,
                       .index = (uint8_t)index,
                       .weight = sample->weight,
                       .since = sampler->now,
                       .sampler = sampler};
    watch_add(table_of(sampler), watch);
    return true;
}

static void disarm(void *machine, unsigned index)
{
    struct sampler *sampler = machine;
    watch_remove(table_of(sampler), &sampler->watches[index]);
}

static uint64_t random_below(void *machine, uint64_t bound)
{
    struct sampler *sampler = machine;
    return base_random_below(&sampler->random, bound);
}

bool sampler_init(struct sampler *sampler, const struct sampler_settings *settings,
                  struct simulation *simulation, uint64_t seed)
{
    *sampler = (struct sampler){.settings = *settings, .simulation = simulation};
    sampler->random.state = seed;
    size_t bytes = (size_t)MOST_NODES * sizeof *sampler->contexts;
    void *contexts = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (contexts == MAP_FAILED)
        return false;
    sampler->contexts = contexts;
    struct detect_options options = {.kinds = settings->kinds,
                                     .registers = settings->registers,
                                     .fp_tolerance = settings->fp_tolerance,
                                     .ignored_limit = settings->ignored_limit,
                                     .fault = settings->fault};
    struct detect_hooks hooks = {arm, disarm, random_below, sampler};
    detect_init(&sampler->detect, &options, &hooks);
    return true;
}

void sampler_free(struct sampler *sampler)
{
    if (sampler->contexts)
        munmap(sampler->contexts, (size_t)MOST_NODES * sizeof *sampler->contexts);
    for (unsigned kind = 0; kind < DETECT_KINDS; kind++)
        tally_free(&sampler->pairs[kind]);
    tally_free(&sampler->bins);
}

/* One of the kinds that sample this direction, each as likely. */
static unsigned pick_kind(struct sampler *sampler, unsigned direction)
{
    unsigned kinds[DETECT_KINDS], count = 0;
    if (sampler->settings.reuse)
        return DETECT_DEAD;
    for (unsigned kind = 0; kind < DETECT_KINDS; kind++)
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
    detect_take(&sampler->detect, &sample);
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
    bool reuse = sampler->settings.reuse;
    sampler->attributed += (double)finding->samples;
    struct tally *tally = &sampler->pairs[reuse ? 0 : finding->kind];
    struct tally_entry *pair = tally_at(tally, finding->context_id, access->node);
    context->attributed[finding->kind] += (double)finding->samples;
    context->claimed[finding->kind] += (double)watch->weight / (double)finding->chance;
    if (reuse) {
        unsigned bin = distance_bin(access->now - watch->since);
        add(pair->waste, finding, watch, 1);
        add(tally_at(&sampler->bins, finding->context_id, bin)->waste, finding, watch, 1);
    } else {
        bool waste = finding->verdict == DETECT_WASTE;
        add(waste ? pair->waste : pair->use, finding, watch, finding->bytes);
    }
}

void sampler_touch(struct watch *watch, const struct access *access)
{
    struct sampler *sampler = watch->sampler;
    const struct detect_sample *sample = &sampler->detect.registers[watch->index].sample;
    struct watch was = *watch; /* disarmed by the verdict */
    struct detect_touch touch = {.direction = access->direction,
                                 .range_known = true,
                                 .address = access->address,
                                 .bytes = access->bytes > UINT32_MAX ? UINT32_MAX
                                                                     : (uint32_t)access->bytes,
                                 .value = sampler->simulation->truth.image + sample->address};
    struct detect_finding finding;
    if (detect_touched(&sampler->detect, watch->index, &touch, &finding) != DETECT_IGNORED)
        count_finding(sampler, &was, &finding, access);
}

/* As import does: the samples of a watch context in proportion to 1 / chance of its traps. */
static void settle(const struct sampler *sampler, struct tally *tally, unsigned kind)
{
    for (size_t i = 0; i < tally->capacity; i++) {
        struct tally_entry *entry = &tally->entries[i];
        if (!entry->key)
            continue;
        const struct context *context = &sampler->contexts[tally_first(entry)];
        double scale =
            context->claimed[kind] > 0 ? context->attributed[kind] / context->claimed[kind] : 0;
        entry->waste[METHOD_SHARED] *= scale;
        entry->use[METHOD_SHARED] *= scale;
    }
}

void sampler_settle(struct sampler *sampler)
{
    for (unsigned kind = 0; kind < DETECT_KINDS; kind++)
        settle(sampler, &sampler->pairs[kind], kind);
    settle(sampler, &sampler->bins, DETECT_DEAD);
}
