// SPDX-License-Identifier: MIT
/*
 * replay shadow|detect TRACE [TOLERANCE]: recomputes the pairs of an access trace, by `shadow` as
 * the engine does, or by `detect`, the detectors of sampled accesses, armed at every byte of every
 * access. Prints
 *
 *     pair KIND FIRST SECOND WASTE USE       access ids of the trace; KIND: dead, silent, load
 *     fresh LOADED STORED
 */
#include "trace_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect/detect.h"
#include "wire/wire.h"

enum { PAGE = 4096 };

/* What the trace says of an id. */
struct definition {
    uint32_t node;
    uint8_t element;
    bool store, kernel;
};
struct node {
    uint32_t parent, module, flags;
    uint64_t address;
};

static struct definition definitions[TRACE_IDS_MAX];
static struct node *nodes; /* 4 * TRACE_IDS_MAX */
static uint8_t *image;     /* the program's memory, as far as the trace knows it */

/* ---- counts --------------------------------------------------------------------------------- */

struct count {
    uint64_t key; /* first << 32 | second, 0: empty */
    uint64_t waste, use;
    uint64_t near; /* of waste: by the tolerance only */
};
struct table {
    struct count *counts;
    size_t capacity, used;
};
static struct table tables[DETECT_REUSE];
static uint64_t fresh[2]; /* loaded, stored */

static struct count *find(const struct table *table, uint64_t key)
{
    size_t slot = base_mix64(key) & (table->capacity - 1);
    while (table->counts[slot].key && table->counts[slot].key != key)
        slot = (slot + 1) & (table->capacity - 1);
    return &table->counts[slot];
}

static void grow(struct table *table)
{
    struct table wider = {.capacity = table->capacity ? 2 * table->capacity : 1024};
    wider.counts = calloc(wider.capacity, sizeof *wider.counts);
    for (size_t i = 0; i < table->capacity; i++)
        if (table->counts[i].key)
            *find(&wider, table->counts[i].key) = table->counts[i];
    wider.used = table->used;
    free(table->counts);
    *table = wider;
}

static void add(unsigned kind, uint32_t first, uint32_t second, uint64_t waste, uint64_t use)
{
    struct table *table = &tables[kind];
    if (2 * table->used >= table->capacity)
        grow(table);
    uint64_t key = (uint64_t)first << 32 | second;
    struct count *count = find(table, key);
    table->used += count->key == 0;
    count->key = key;
    count->waste += waste;
    count->use += use;
}

static void add_near(unsigned kind, uint32_t first, uint32_t second, uint64_t near)
{
    find(&tables[kind], (uint64_t)first << 32 | second)->near += near;
}

static void print_counts(void)
{
    for (unsigned kind = 0; kind < DETECT_REUSE; kind++)
        for (size_t i = 0; i < tables[kind].capacity; i++) {
            const struct count *count = &tables[kind].counts[i];
            if (count->waste || count->use)
                printf("pair %s %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                       detect_kinds[kind].name, (uint32_t)(count->key >> 32), (uint32_t)count->key,
                       count->waste, count->use, count->near);
        }
    printf("fresh %" PRIu64 " %" PRIu64 "\n", fresh[0], fresh[1]);
}

/* ---- shadow --------------------------------------------------------------------------------- */

static struct shadow shadow;

static void shadow_start(float tolerance)
{
    if (shadow_init(&shadow, UINT64_C(1) << TRACE_ADDRESS_BITS, TRACE_IDS_MAX, tolerance,
                    &trace_shadow_memory) != BASE_OK)
        exit(2);
}

static void shadow_event(const struct wire_trace_event *event)
{
    const uint8_t *before = &image[event->address];
    uint32_t bytes = (uint32_t)event->bytes;
    switch (event->type) {
    case WIRE_TRACE_LOAD:
        shadow_load(&shadow, event->address, event->id, bytes, event->value);
        break;
    case WIRE_TRACE_STORE:
        shadow_store(&shadow, event->address, event->id, bytes, before, event->value);
        break;
    case WIRE_TRACE_KERNEL_LOAD:
        shadow_kernel_load(&shadow, event->address, event->id, event->bytes, before);
        break;
    case WIRE_TRACE_KERNEL_STORE:
        shadow_kernel_store(&shadow, event->address, event->id, event->bytes, before,
                            event->value ? event->value : before);
        break;
    case WIRE_TRACE_FORGET: shadow_forget(&shadow, event->address, event->bytes); break;
    default: break;
    }
}

static void shadow_end(void)
{
    shadow_flush(&shadow);
    for (uint64_t i = 0; i < shadow.pairs_capacity; i++) {
        const struct shadow_pair *pair = &shadow.pairs[i];
        bool second_stores = pair->second && definitions[pair->second].store;
        if (!pair->second)
            continue;
        if (!pair->first) {
            fresh[second_stores] += pair->waste + pair->use;
            continue;
        }
        add(second_stores ? DETECT_SILENT : DETECT_LOAD, shadow_first(pair), pair->second,
            pair->waste, pair->use);
        if (pair->first & SHADOW_NEAR)
            add_near(second_stores ? DETECT_SILENT : DETECT_LOAD, shadow_first(pair), pair->second,
                     pair->waste);
        add(DETECT_DEAD, shadow_first(pair), pair->second, second_stores ? pair->dead : 0,
            second_stores ? 0 : pair->dead);
    }
}

/* ---- detect --------------------------------------------------------------------------------- */

/* One byte of the program's memory, watched for each kind. */
struct watched {
    struct detect detect[DETECT_REUSE];
    struct detect_context context;
};
static struct watched **pages; /* of PAGE */
static float fp_tolerance;

static bool arm(void *machine, unsigned index, const struct detect_sample *sample)
{
    (void)machine, (void)sample;
    return index == 0;
}

static void disarm(void *machine, unsigned index)
{
    (void)machine, (void)index;
}

static uint64_t random_below(void *machine, uint64_t bound)
{
    (void)machine, (void)bound;
    fputs("replay: a register was not free\n", stderr);
    exit(2);
}

static struct watched *watched_of(uint64_t address)
{
    static const struct detect_hooks hooks = {arm, disarm, random_below, NULL};
    struct watched **page = &pages[address / PAGE];
    if (!*page) {
        *page = calloc(PAGE, sizeof **page);
        for (size_t i = 0; i < PAGE * DETECT_REUSE; i++) {
            struct detect_options options = {.kinds = (uint8_t)(1U << i % DETECT_REUSE),
                                             .registers = 1,
                                             .fp_tolerance = fp_tolerance,
                                             .ignored_limit = UINT32_MAX};
            detect_init(&(*page)[i / DETECT_REUSE].detect[i % DETECT_REUSE], &options, &hooks);
        }
    }
    return &(*page)[address % PAGE];
}

/* An instruction's access: the ids of its load and its store, 0: none. */
struct access {
    uint64_t address, bytes;
    uint32_t load, store;
    const uint8_t *before; /* memory before a store, as long as a sample */
};

static void detect_touch_byte(const struct access *access, uint64_t address, unsigned kind)
{
    struct detect *detect = &watched_of(address)->detect[kind];
    const struct detect_sample *sample = &detect->registers[0].sample;
    struct detect_finding finding;
    uint8_t direction =
        (uint8_t)((access->load ? DETECT_LOADS : 0) | (access->store ? DETECT_STORES : 0));
    if (!detect->registers[0].busy) {
        if (!(direction & detect_kinds[kind].samples))
            return;
        fresh[detect_kinds[kind].samples == DETECT_STORES] += kind != DETECT_DEAD;
        return;
    }
    if (!(direction & detect_kinds[kind].watches))
        return;
    struct detect_touch touch = {.direction = direction,
                                 .range_known = true,
                                 .address = access->address,
                                 .bytes = (uint32_t)access->bytes,
                                 .value = &image[sample->address]};
    enum detect_verdict verdict = detect_touched(detect, 0, &touch, &finding);
    if (verdict == DETECT_IGNORED)
        return;
    uint32_t second =
        kind == DETECT_LOAD || (kind == DETECT_DEAD && access->load) ? access->load : access->store;
    add(kind, finding.context_id, second, verdict == DETECT_WASTE, verdict == DETECT_USE);
}

static void detect_take_byte(const struct access *access, uint64_t address, unsigned kind)
{
    uint32_t id = detect_kinds[kind].samples == DETECT_LOADS ? access->load : access->store;
    struct watched *watched = watched_of(address);
    if (!id || definitions[id].kernel)
        return;
    uint8_t element = definitions[id].element;
    struct detect_sample sample = {.kind = (uint8_t)kind,
                                   .weight = 1,
                                   .context_id = id,
                                   .element_is_float = element & SHADOW_FLOAT ? 1 : 0,
                                   .element_bytes = element & (uint8_t)~SHADOW_FLOAT,
                                   .address = access->address,
                                   .bytes = (uint32_t)access->bytes,
                                   .watched = address,
                                   .modifies = access->load && access->store,
                                   .context = &watched->context};
    memcpy(sample.value, &image[access->address], access->bytes);
    if (sample.modifies)
        memcpy(sample.loaded, access->before, access->bytes);
    if (detect_take(&watched->detect[kind], &sample) != 0)
        exit(2);
}

static void detect_access(const struct access *access)
{
    for (uint64_t i = 0; i < access->bytes; i++)
        for (unsigned kind = 0; kind < DETECT_REUSE; kind++) {
            detect_touch_byte(access, access->address + i, kind);
            detect_take_byte(access, access->address + i, kind);
        }
}

static void detect_forget(uint64_t address, uint64_t bytes)
{
    for (uint64_t at = address; at < address + bytes; at++) {
        if (!pages[at / PAGE])
            continue;
        struct watched *watched = watched_of(at);
        for (unsigned kind = 0; kind < DETECT_REUSE; kind++)
            if (watched->detect[kind].registers[0].busy)
                detect_abandon(&watched->detect[kind], 0);
        watched->context = (struct detect_context){0};
    }
}

/* ---- the trace ------------------------------------------------------------------------------ */

static void define(const struct wire_trace_event *event)
{
    if (event->type == WIRE_TRACE_NODE)
        nodes[event->id] = (struct node){event->node, event->module, event->flags, event->address};
    else if (event->type == WIRE_TRACE_ACCESS)
        definitions[event->id] = (struct definition){event->node, event->element, event->store,
                                                     nodes[event->node].flags & WIRE_NODE_KERNEL};
}

/* Are they a load and a store of one execution of one instruction? */
static bool joins(const struct access *load, const struct wire_trace_event *store)
{
    const struct node *a = &nodes[definitions[load->load].node];
    const struct node *b = &nodes[definitions[store->id].node];
    return load->address == store->address && load->bytes == store->bytes &&
           a->parent == b->parent && a->module == b->module && a->address == b->address;
}

static void remember(const struct wire_trace_event *event)
{
    if (event->type == WIRE_TRACE_FORGET)
        trace_clear(&image[event->address], event->bytes);
    else if (event->value && event->type <= WIRE_TRACE_KERNEL_STORE)
        memcpy(&image[event->address], event->value, event->bytes);
}

static void replay_shadow(struct wire_trace_reader *reader)
{
    for (struct wire_trace_event event; trace_next(reader, &event);) {
        define(&event);
        if (event.type == WIRE_TRACE_ACCESS)
            shadow_define(&shadow, event.id, event.element);
        shadow_event(&event);
        remember(&event);
    }
    shadow_end();
}

static void replay_detect(struct wire_trace_reader *reader)
{
    uint8_t before[DETECT_MAX_BYTES];
    struct access waiting = {0}; /* a load that may be the first half of an instruction */
    for (struct wire_trace_event event; trace_next(reader, &event);) {
        define(&event);
        bool stores = event.type == WIRE_TRACE_STORE || event.type == WIRE_TRACE_KERNEL_STORE;
        bool loads = event.type == WIRE_TRACE_LOAD || event.type == WIRE_TRACE_KERNEL_LOAD;
        bool joined = event.type == WIRE_TRACE_STORE && waiting.load && joins(&waiting, &event);
        bool defines = event.type == WIRE_TRACE_ACCESS || event.type == WIRE_TRACE_NODE;
        if (waiting.load && !joined && !defines) {
            detect_access(&waiting);
            waiting.load = 0;
        }
        if (stores && event.bytes <= sizeof before)
            memcpy(before, &image[event.address], event.bytes);
        if (event.type == WIRE_TRACE_FORGET)
            detect_forget(event.address, event.bytes);
        remember(&event);
        if (event.type == WIRE_TRACE_LOAD)
            waiting = (struct access){event.address, event.bytes, event.id, 0, NULL};
        else if (stores || loads)
            detect_access(&(struct access){event.address, event.bytes,
                                           joined  ? waiting.load
                                           : loads ? event.id
                                                   : 0,
                                           stores ? event.id : 0, before});
        if (stores)
            waiting.load = 0;
    }
    if (waiting.load)
        detect_access(&waiting);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    struct wire_trace_reader *reader = trace_open(argv[2], TRACE_IDS_MAX);
    fp_tolerance = argc > 3 ? strtof(argv[3], NULL) : 0.01F;
    image = trace_reserve(UINT64_C(1) << TRACE_ADDRESS_BITS);
    nodes = trace_reserve((size_t)4 * TRACE_IDS_MAX * sizeof *nodes);
    if (strcmp(argv[1], "shadow") == 0) {
        shadow_start(fp_tolerance);
        replay_shadow(reader);
    } else {
        pages =
            trace_reserve((UINT64_C(1) << TRACE_ADDRESS_BITS) / PAGE * sizeof(struct watched *));
        replay_detect(reader);
    }
    print_counts();
    return fflush(stdout) ? 2 : 0;
}
