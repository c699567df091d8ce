// SPDX-License-Identifier: MIT
/*
 * A sample of locations: which are drawn in an epoch. The slot of a location is computed by a hash when it is first touched, and kept:
 * reading that is cheaper than any hash that favours no stride. A product with a constant (Fibonacci hashing) would be cheap,
 * but its top bits hardly differ for numbers at some distances, so that whole arrays would be drawn or left out. They take an
 * eighth of the memory that the program touches. With the slot stands what is awaited: a location that was stored while it was drawn may be
 * loaded a thousand times before it is stored again, and none but the first of these loads matters. For the next epoch only a table of slots changes, so that epochs may be short: with
 * a hash for each epoch instead, a tenth of the accesses of bzip2 were the first to their location in an epoch.
 */
#include "shadow/internal.h"

enum {
    SLOTS_LEAST = 32, /* fewer would be large clusters of locations */
    SLOTS_MOST = 250, /* from 1 on, within SHADOW_SLOT */
    AWAITS = SHADOW_AWAITS_LOAD | SHADOW_AWAITS_STORE,
    EPOCHS_MOST = 10000,
};

static uint64_t map_bytes(const struct shadow *shadow)
{
    return (shadow->address_limit >> SHADOW_LOCATION_SHIFT) * sizeof *shadow->locations;
}

static uint64_t order_bytes(void)
{
    return EPOCHS_MOST * sizeof(uint16_t);
}

static uint64_t taken_off_bytes(const struct shadow *shadow)
{
    return shadow->ids_capacity * sizeof *shadow->taken_off;
}

static uint32_t slot_of(const struct shadow *shadow, uint64_t location)
{
    uint64_t hash = base_mix64(base_mix64(location + 1) ^ shadow->seed);
    return 1 + (uint32_t)((hash >> 32) * shadow->slots >> 32);
}

/* What is not awaited is handed over only while drawn. */
static bool is_slot_drawn(const struct shadow *shadow, uint32_t slot)
{
    return shadow->handed[false][slot];
}

bool shadow_is_drawn(const struct shadow *shadow, uint64_t address)
{
    return is_slot_drawn(shadow, slot_of(shadow, address >> SHADOW_LOCATION_SHIFT));
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
    for (uint32_t i = 0; i < shadow->width && first < shadow->slots; i++) {
        uint32_t slot = 1 + (first + i) % shadow->slots;
        for (uint32_t store = false; store <= true; store++) {
            shadow->handed[store][slot] = drawn;
            shadow->handed[store][slot | (store ? SHADOW_AWAITS_LOAD : SHADOW_AWAITS_STORE)] =
                drawn;
        }
    }
}

static void hand_over_awaited(struct shadow *shadow)
{
    shadow->handed[false][SHADOW_UNKNOWN] = shadow->handed[true][SHADOW_UNKNOWN] = 1;
    for (uint32_t slot = 1; slot <= SHADOW_SLOT; slot++) {
        shadow->handed[false][slot | SHADOW_AWAITS_LOAD] = 1;
        shadow->handed[true][slot | SHADOW_AWAITS_STORE] = 1;
        shadow->handed[false][slot | AWAITS] = shadow->handed[true][slot | AWAITS] = 1;
    }
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
    shadow->locations = memory->map(memory->context, map_bytes(shadow), true);
    shadow->order = memory->map(memory->context, order_bytes(), false);
    shadow->taken_off = memory->map(memory->context, taken_off_bytes(shadow), true);
    if (!shadow->locations || !shadow->order || !shadow->taken_off) {
        shadow_sample_free(shadow);
        return BASE_NO_MEMORY;
    }
    shadow->seed = base_mix64(seed);
    *share = choose_share(shadow, *share);
    hand_over_awaited(shadow);
    shuffle(shadow);
    draw(shadow, 1);
    shadow_look_out(shadow);
    return BASE_OK;
}

void shadow_sample_free(struct shadow *shadow)
{
    const struct shadow_memory *memory = &shadow->memory;
    if (shadow->locations)
        memory->unmap(memory->context, shadow->locations, map_bytes(shadow));
    if (shadow->order)
        memory->unmap(memory->context, shadow->order, order_bytes());
    if (shadow->taken_off)
        memory->unmap(memory->context, shadow->taken_off, taken_off_bytes(shadow));
    shadow->locations = shadow->order = NULL;
    shadow->taken_off = NULL;
}

void shadow_sample_reset(struct shadow *shadow)
{
    const struct shadow_memory *memory = &shadow->memory;
    if (shadow->taken_off)
        memory->clear(memory->context, shadow->taken_off, taken_off_bytes(shadow));
}

/* ---- accesses ---------------------------------------------------------------------------------- */

/* The word of a mixed unit becomes 0 if none of its bytes has a former access any more. */
static void simplify(uint32_t *word, struct shadow_cells *cells, uint64_t address)
{
    uint32_t mixed = *word & SHADOW_ID_MASK;
    if (!shadow_is_mixed(mixed) || shadow_has_id(mixed, cells, address, 4))
        return;
    shadow_unmix(cells, address, mixed);
    *word = 0;
}

/* What does that wait for that is left in the location from when it was drawn? What was loaded for the next load, what was stored for the
   next store, and for a load if there was none. */
static uint32_t awaited(struct shadow *shadow, uint64_t location)
{
    uint32_t stores = 0, loads = 0;
    for (uint64_t at = location << SHADOW_LOCATION_SHIFT, unit = 0; unit < 4; unit++, at += 4) {
        struct shadow_record *record = shadow_record_of(shadow, at);
        uint32_t *store = &record->store[unit & 1], *load = &record->load[unit & 1];
        simplify(store, &shadow->stores, at);
        simplify(load, &shadow->loads, at);
        stores |= *store;
        loads |= *load | (*store & SHADOW_UNREAD);
    }
    return (loads ? SHADOW_AWAITS_LOAD : 0) | (stores ? SHADOW_AWAITS_STORE : 0);
}

bool shadow_keeps(struct shadow *shadow, uint64_t address, bool store)
{
    uint64_t location = address >> SHADOW_LOCATION_SHIFT;
    uint32_t known = shadow->locations[location], slot = known & SHADOW_SLOT;
    if (known == SHADOW_UNKNOWN)
        slot = known = slot_of(shadow, location);
    shadow->draining = !is_slot_drawn(shadow, slot);
    if (!shadow->draining)
        known |= store ? AWAITS : SHADOW_AWAITS_LOAD;
    shadow->locations[location] = (uint16_t)known;
    if (!(known & AWAITS))
        return false;
    shadow->group = (uint32_t)((shadow->round + slot) % SHADOW_GROUPS) << SHADOW_GROUP_SHIFT;
    return true;
}

void shadow_settle(struct shadow *shadow, uint64_t address)
{
    uint64_t location = address >> SHADOW_LOCATION_SHIFT;
    uint32_t slot = shadow->locations[location] & SHADOW_SLOT;
    shadow->locations[location] = (uint16_t)(slot | awaited(shadow, location));
}

bool shadow_is_first_left_out(struct shadow *shadow, uint64_t address)
{
    uint64_t location = address >> SHADOW_LOCATION_SHIFT;
    uint32_t slot = slot_of(shadow, location);
    if (is_slot_drawn(shadow, slot))
        return false;
    shadow->locations[location] = (uint16_t)slot;
    return true;
}
