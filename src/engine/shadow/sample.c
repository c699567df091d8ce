// SPDX-License-Identifier: MIT
/*
 * A sample of locations: which are drawn in an epoch. The slot of a location is hashed when it is first touched and then read, in one byte for
 * each location, because reading it is cheaper than any hash that strides cannot meet: of a
 * product with a constant (Fibonacci hashing) the top bits of numbers at some distances hardly differ, so that whole arrays
 * would be drawn or left out. The bytes take a sixteenth of the memory that the program touches. Another epoch is two bytes changed in
 * a table of slots, so that epochs may be short: with a hash for each epoch, a tenth of the accesses of bzip2 were the first
 * to their locations in one.
 */
#include "shadow/internal.h"

enum {
    SLOTS_LEAST = 32, /* fewer are large clusters of locations */
    SLOTS_MOST = 250,
    EPOCHS_MOST = 10000,
};

static uint64_t map_bytes(const struct shadow *shadow)
{
    return shadow->address_limit >> SHADOW_LOCATION_SHIFT;
}

static uint64_t order_bytes(void)
{
    return EPOCHS_MOST * sizeof(uint16_t);
}

static uint32_t slot_of(const struct shadow *shadow, uint64_t location)
{
    uint64_t hash = base_mix64(base_mix64(location + 1) ^ shadow->seed);
    return 1 + (uint32_t)((hash >> 32) * shadow->slots >> 32);
}

bool shadow_is_drawn(const struct shadow *shadow, uint64_t address)
{
    return shadow->drawn[slot_of(shadow, address >> SHADOW_LOCATION_SHIFT)];
}

/* ---- epochs ------------------------------------------------------------------------------------ */

/* The nearest fraction; of those the one with the fewest epochs. */
static double choose_share(struct shadow *shadow, double share)
{
    double best = 2;
    if (share < 1.0 / SLOTS_MOST) {
        double epochs = 1 / share + 0.5;
        shadow->epochs = epochs > EPOCHS_MOST ? EPOCHS_MOST : (uint32_t)epochs;
        shadow->slots = SLOTS_MOST;
        shadow->width = 1;
        return 1.0 / shadow->epochs;
    }
    for (uint32_t slots = SLOTS_LEAST; slots <= SLOTS_MOST; slots++) {
        uint32_t width = (uint32_t)(share * slots + 0.5);
        double off = (double)width / slots - share;
        off = off < 0 ? -off : off;
        if (width == 0 || width > slots || off > best - 1e-9)
            continue;
        best = off;
        shadow->slots = shadow->epochs = slots;
        shadow->width = width;
    }
    return (double)shadow->width / shadow->epochs;
}

static void draw(struct shadow *shadow, uint8_t drawn)
{
    uint32_t first = shadow->order[shadow->epoch];
    for (uint32_t i = 0; i < shadow->width && first < shadow->slots; i++)
        shadow->drawn[1 + (first + i) % shadow->slots] = drawn;
}

/* Fisher and Yates. */
static void shuffle(struct shadow *shadow)
{
    struct base_random random = {base_mix64(shadow->round + 1) ^ shadow->seed};
    for (uint32_t i = 0; i < shadow->epochs; i++) {
        uint32_t at = (uint32_t)base_random_below(&random, i + 1);
        shadow->order[i] = shadow->order[at];
        shadow->order[at] = (uint16_t)i;
    }
}

void shadow_next_epoch(struct shadow *shadow)
{
    draw(shadow, 0);
    if (++shadow->epoch == shadow->epochs) {
        shadow->epoch = 0;
        shadow->round++;
        shuffle(shadow);
    }
    draw(shadow, 1);
}

enum base_status shadow_sample(struct shadow *shadow, double *share, uint64_t seed)
{
    const struct shadow_memory *memory = &shadow->memory;
    uint8_t *locations = memory->map(memory->context, map_bytes(shadow), true);
    uint16_t *order = locations ? memory->map(memory->context, order_bytes(), false) : NULL;
    if (!order) {
        if (locations)
            memory->unmap(memory->context, locations, map_bytes(shadow));
        return BASE_NO_MEMORY;
    }
    shadow->locations = locations;
    shadow->order = order;
    shadow->seed = base_mix64(seed);
    *share = choose_share(shadow, *share);
    shadow->drawn[SHADOW_UNKNOWN] = shadow->drawn[SHADOW_WAITING] = 1;
    shuffle(shadow);
    draw(shadow, 1);
    shadow_look_out(shadow);
    return BASE_OK;
}

void shadow_sample_free(struct shadow *shadow)
{
    const struct shadow_memory *memory = &shadow->memory;
    if (!shadow->locations)
        return;
    memory->unmap(memory->context, shadow->locations, map_bytes(shadow));
    memory->unmap(memory->context, shadow->order, order_bytes());
}

/* ---- accesses ---------------------------------------------------------------------------------- */

/* The word of a unit all of whose bytes have none becomes that. */
static void simplify(uint32_t *word, const uint32_t *ids)
{
    if (*word == SHADOW_MIXED && !(ids[0] | ids[1] | ids[2] | ids[3]))
        *word = 0;
}

/* Does nothing that was drawn still wait for what follows it there? */
static bool is_over(struct shadow *shadow, uint64_t location)
{
    uint32_t all = 0;
    for (uint64_t at = location << SHADOW_LOCATION_SHIFT, unit = 0; unit < 4; unit++, at += 4) {
        struct shadow_record *record = shadow_record_of(shadow, at);
        uint32_t *store = &record->store[unit & 1], *load = &record->load[unit & 1];
        simplify(store, &shadow->store_ids[at]);
        simplify(load, &shadow->load_ids[at]);
        all |= *store | *load;
    }
    return all == 0;
}

bool shadow_keeps(struct shadow *shadow, uint64_t address)
{
    uint64_t location = address >> SHADOW_LOCATION_SHIFT;
    uint32_t known = shadow->locations[location], slot = known;
    if (known == SHADOW_UNKNOWN || known == SHADOW_WAITING)
        slot = slot_of(shadow, location);
    shadow->draining = !shadow->drawn[slot];
    if (!shadow->draining) {
        shadow->locations[location] = SHADOW_WAITING;
    } else if (known != SHADOW_WAITING || is_over(shadow, location)) {
        shadow->locations[location] = (uint8_t)slot;
        return false;
    }
    shadow->group = (uint32_t)((shadow->round + slot) % SHADOW_GROUPS) << SHADOW_GROUP_SHIFT;
    return true;
}
