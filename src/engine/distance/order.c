// SPDX-License-Identifier: MIT
/* The order in which locations were used last. */
#include "distance/internal.h"

#include <string.h>

enum {
    WORD_SHIFT = DISTANCE_GROUP_SHIFT,
    BLOCK_SHIFT = 2 * DISTANCE_GROUP_SHIFT,
    REGION_SHIFT = 3 * DISTANCE_GROUP_SHIFT,
    ZONE_SHIFT = 4 * DISTANCE_GROUP_SHIFT,
    IN_GROUP = DISTANCE_GROUP - 1,
};

/* Slots and the numbers of nodes share 32 bits. */
#define SLOTS_MAX (UINT32_C(1) << 31)

/* ---- memory ------------------------------------------------------------------------------ */

/* Every level in whole groups: a sum reads to the end of its group. */
static uint64_t level_entries(uint32_t capacity, unsigned shift)
{
    uint64_t entries = ((uint64_t)capacity + (UINT64_C(1) << shift) - 1) >> shift;
    return (entries + IN_GROUP) & ~(uint64_t)IN_GROUP;
}

static uint64_t slots_bytes(uint32_t capacity)
{
    return level_entries(capacity, WORD_SHIFT) *
               (sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint8_t)) +
           level_entries(capacity, BLOCK_SHIFT) * sizeof(uint16_t) +
           level_entries(capacity, REGION_SHIFT) * sizeof(uint32_t) +
           level_entries(capacity, ZONE_SHIFT) * sizeof(uint32_t);
}

/* bits is the start of the mapping. */
static bool map_slots(struct distance_order *order, uint32_t capacity,
                      const struct distance_memory *memory)
{
    void *start = memory->map(memory->context, slots_bytes(capacity), false);
    if (!start)
        return false;
    order->capacity = capacity;
    order->bits = start;
    order->ranks = (uint32_t *)(order->bits + level_entries(capacity, WORD_SHIFT));
    order->regions = order->ranks + level_entries(capacity, WORD_SHIFT);
    order->zones = order->regions + level_entries(capacity, REGION_SHIFT);
    order->blocks = (uint16_t *)(order->zones + level_entries(capacity, ZONE_SHIFT));
    order->words = (uint8_t *)(order->blocks + level_entries(capacity, BLOCK_SHIFT));
    return true;
}

enum base_status distance_order_init(struct distance_order *order, uint32_t least_slots,
                                     const struct distance_memory *memory)
{
    struct distance_order made = {.recent = UINT64_C(0xfedcba9876543210),
                                  .least_slots = least_slots};
    if (!map_slots(&made, least_slots, memory))
        return BASE_NO_MEMORY;
    *order = made;
    return BASE_OK;
}

void distance_order_free(struct distance_order *order, const struct distance_memory *memory)
{
    memory->unmap(memory->context, order->bits, slots_bytes(order->capacity));
}

/* ---- counting ---------------------------------------------------------------------------- */

/* The instruction is not in the baseline, and the compiler's stand-in is in a library. */
static unsigned ones_in(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* Loaded at any address: without a library, memcpy would be a call. */
typedef uint16_t eight_counts __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t four_counts __attribute__((vector_size(16), aligned(1), may_alias));

#define ROW(x)   x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
#define GROUP(x) ROW(x), ROW(x), ROW(x), ROW(x)
/* Element j of what begins at element 63 - i is set if j > i. */
static const uint8_t after_bytes[2 * DISTANCE_GROUP] = {GROUP(0), GROUP(0xff)};
static const uint16_t after_shorts[2 * DISTANCE_GROUP] = {GROUP(0), GROUP(0xffff)};

/* Σ of the word counts of the group after its element `index`. Without branches: where a sum ends
   is as random as the access. */
static uint32_t words_after(const uint8_t *group, unsigned index)
{
    const uint8_t *mask = after_bytes + IN_GROUP - index;
    eight_counts sum = {0};
    for (int i = 0; i < DISTANCE_GROUP; i += 16) {
        eight_counts counts = *(const eight_counts *)(group + i);
        counts &= *(const eight_counts *)(mask + i);
        sum += (counts & 0xff) + (counts >> 8);
    }
    /* 64 × 64 fit into 16 bits, so four sums can be added as one number. */
    typedef uint64_t halves __attribute__((vector_size(16)));
    halves half = (halves)sum;
    return (uint32_t)((half[0] + half[1]) * UINT64_C(0x0001000100010001) >> 48);
}

static uint32_t blocks_after(const uint16_t *group, unsigned index)
{
    const uint16_t *mask = after_shorts + IN_GROUP - index;
    four_counts sum = {0};
    for (int i = 0; i < DISTANCE_GROUP; i += 8) {
        four_counts counts = *(const four_counts *)(group + i);
        counts &= *(const four_counts *)(mask + i);
        sum += (counts & 0xffff) + (counts >> 16);
    }
    return sum[0] + sum[1] + sum[2] + sum[3];
}

/* Bits set in all blocks after this one. */
static uint32_t sum_above(const struct distance_order *order, uint32_t block)
{
    uint32_t last = order->head - 1;
    uint32_t region = block >> DISTANCE_GROUP_SHIFT, zone = region >> DISTANCE_GROUP_SHIFT;
    uint32_t sum = blocks_after(order->blocks + (size_t)region * DISTANCE_GROUP, block & IN_GROUP);
    uint32_t end = last >> ZONE_SHIFT == zone ? last >> REGION_SHIFT : zone << 6 | IN_GROUP;
    for (uint32_t i = region + 1; i <= end; i++)
        sum += order->regions[i];
    for (uint32_t i = zone + 1; i <= last >> ZONE_SHIFT; i++)
        sum += order->zones[i];
    return sum;
}

/* Sweeps go from slot to slot: what lies above a block is kept for the block asked for last. */
static uint32_t bits_after(struct distance_order *order, uint32_t slot)
{
    uint32_t word = slot >> WORD_SHIFT, block = slot >> BLOCK_SHIFT;
    if (block != order->above_block) {
        order->above = sum_above(order, block);
        order->above_block = block;
    }
    return ones_in(order->bits[word] >> (slot & IN_GROUP) >> 1) +
           words_after(order->words + (size_t)block * DISTANCE_GROUP, word & IN_GROUP) +
           order->above;
}

/* ---- changes ----------------------------------------------------------------------------- */

static void clear_bit(struct distance_order *order, uint32_t slot)
{
    order->bits[slot >> WORD_SHIFT] &= ~(UINT64_C(1) << (slot & IN_GROUP));
    order->words[slot >> WORD_SHIFT]--;
    order->blocks[slot >> BLOCK_SHIFT]--;
    order->regions[slot >> REGION_SHIFT]--;
    order->zones[slot >> ZONE_SHIFT]--;
    order->above -= slot >> BLOCK_SHIFT > order->above_block;
    order->live--;
}

static uint32_t append_bit(struct distance_order *order)
{
    uint32_t slot = order->head++;
    order->bits[slot >> WORD_SHIFT] |= UINT64_C(1) << (slot & IN_GROUP);
    order->words[slot >> WORD_SHIFT]++;
    order->blocks[slot >> BLOCK_SHIFT]++;
    order->regions[slot >> REGION_SHIFT]++;
    order->zones[slot >> ZONE_SHIFT]++;
    order->above += slot >> BLOCK_SHIFT > order->above_block;
    order->live++;
    return slot;
}

uint32_t distance_take(struct distance_order *order, uint32_t slot)
{
    uint32_t between = order->recent_count + bits_after(order, slot - DISTANCE_NODES);
    clear_bit(order, slot - DISTANCE_NODES);
    return between;
}

unsigned distance_push(struct distance_order *order, struct distance_table *table,
                       uint64_t location)
{
    unsigned node;
    if (order->recent_count == DISTANCE_NODES) {
        node = (unsigned)(order->recent >> 60);
        distance_find(table, order->locations[node])->slot = append_bit(order) + DISTANCE_NODES;
    } else {
        node = (unsigned)(order->recent >> (4 * order->recent_count++)) & 0xf;
    }
    distance_to_front(order, node);
    order->locations[node] = location;
    return node;
}

/* A node goes behind those in use. */
static void drop_node(struct distance_order *order, unsigned node)
{
    distance_to_front(order, node);
    uint64_t used = ~UINT64_C(0) >> (64 - 4 * order->recent_count--);
    order->recent = (order->recent & ~used) | (order->recent & used) >> 4 |
                    (uint64_t)node << (4 * order->recent_count);
}

void distance_drop(struct distance_order *order, const struct distance_place *place)
{
    if (place->slot < DISTANCE_NODES)
        drop_node(order, place->slot);
    else
        clear_bit(order, place->slot - DISTANCE_NODES);
}

/* ---- compaction -------------------------------------------------------------------------- */

static bool renumber(void *context, uint64_t location, struct distance_place *place)
{
    const struct distance_order *order = context;
    (void)location;
    if (place->slot >= DISTANCE_NODES) {
        uint32_t slot = place->slot - DISTANCE_NODES, word = slot >> WORD_SHIFT;
        uint64_t below = order->bits[word] & ((UINT64_C(1) << (slot & IN_GROUP)) - 1);
        place->slot = order->ranks[word] + ones_in(below) + DISTANCE_NODES;
    }
    return false;
}

static uint32_t filled(uint32_t live, uint32_t index, unsigned shift)
{
    uint32_t start = index << shift;
    return live - start < UINT32_C(1) << shift ? live - start : UINT32_C(1) << shift;
}

/* The first `live` slots are set; all levels are zero before. */
static void fill_slots(struct distance_order *order)
{
    uint32_t live = order->live;
    order->head = live;
    order->above_block = live >> BLOCK_SHIFT;
    order->above = 0;
    if (!live)
        return;
    for (uint32_t i = 0; i <= (live - 1) >> WORD_SHIFT; i++) {
        order->words[i] = (uint8_t)filled(live, i, WORD_SHIFT);
        order->bits[i] = ~UINT64_C(0) >> (DISTANCE_GROUP - order->words[i]);
    }
    for (uint32_t i = 0; i <= (live - 1) >> BLOCK_SHIFT; i++)
        order->blocks[i] = (uint16_t)filled(live, i, BLOCK_SHIFT);
    for (uint32_t i = 0; i <= (live - 1) >> REGION_SHIFT; i++)
        order->regions[i] = filled(live, i, REGION_SHIFT);
    for (uint32_t i = 0; i <= (live - 1) >> ZONE_SHIFT; i++)
        order->zones[i] = filled(live, i, ZONE_SHIFT);
}

/*
 * Every known place is visited, which costs as much as some accesses; at least three
 * quarters of all slots are then free, so that per new slot it is a third of a visit. The slots
 * know nothing of their locations: that would be eight bytes more to be written for each access.
 */
bool distance_compact(struct distance_order *order, struct distance_table *table,
                      const struct distance_memory *memory)
{
    struct distance_order next = *order;
    uint32_t wanted = order->least_slots;
    while (wanted < SLOTS_MAX && wanted / 4 < order->live)
        wanted *= 2;
    bool moves = wanted > order->capacity && map_slots(&next, wanted, memory);
    /* To compact for less than a sixteenth of the slots would be to do nothing else. */
    if (!moves && order->live > order->capacity - order->capacity / 16)
        return false;
    uint32_t rank = 0;
    for (uint32_t i = 0; i < order->capacity >> WORD_SHIFT; i++) {
        order->ranks[i] = rank;
        rank += order->words[i];
    }
    distance_walk(table, 0, UINT64_MAX, renumber, order);
    if (moves)
        memory->unmap(memory->context, order->bits, slots_bytes(order->capacity));
    else
        memset(order->bits, 0, slots_bytes(order->capacity));
    *order = next;
    fill_slots(order);
    return true;
}

/* ---- checking ---------------------------------------------------------------------------- */

struct tally {
    const struct distance_order *order;
    uint32_t nodes, slots;
    uint64_t sum; /* of hashes of slots: equal to that of the bits only if no slot is shared */
    bool good;
};

static bool tally_place(void *context, uint64_t location, struct distance_place *place)
{
    struct tally *tally = context;
    const struct distance_order *order = tally->order;
    if (place->slot < DISTANCE_NODES) {
        tally->nodes++;
        if (order->locations[place->slot] != location)
            tally->good = false;
        return false;
    }
    uint32_t slot = place->slot - DISTANCE_NODES;
    tally->slots++;
    tally->sum += base_mix64(slot);
    if (slot >= order->head || !(order->bits[slot >> WORD_SHIFT] >> (slot & IN_GROUP) & 1))
        tally->good = false;
    return false;
}

static uint32_t count_bits(const struct distance_order *order, uint64_t from, uint64_t to)
{
    uint32_t count = 0;
    for (uint64_t word = from; word < to && word < order->capacity >> WORD_SHIFT; word++)
        count += ones_in(order->bits[word]);
    return count;
}

static bool levels_agree(const struct distance_order *order)
{
    uint64_t words = order->capacity >> WORD_SHIFT;
    for (uint64_t i = 0; i < words; i++)
        if (order->words[i] != ones_in(order->bits[i]))
            return false;
    for (uint64_t i = 0; i << 6 < words; i++)
        if (order->blocks[i] != count_bits(order, i << 6, (i + 1) << 6))
            return false;
    for (uint64_t i = 0; i << 12 < words; i++)
        if (order->regions[i] != count_bits(order, i << 12, (i + 1) << 12))
            return false;
    for (uint64_t i = 0; i << 18 < words; i++)
        if (order->zones[i] != count_bits(order, i << 18, (i + 1) << 18))
            return false;
    return order->live == count_bits(order, 0, words) &&
           order->above == count_bits(order, ((uint64_t)order->above_block + 1) << 6, words);
}

/* The list is a permutation; its nodes' times descend, and no slot's is later than they. */
static bool list_agrees(const struct distance_order *order, const struct distance_table *table)
{
    unsigned seen = 0;
    uint64_t later = ~DISTANCE_ONCE;
    for (unsigned i = 0; i < DISTANCE_NODES; i++) {
        unsigned node = (unsigned)(order->recent >> (4 * i)) & 0xf;
        seen |= 1U << node;
        if (i >= order->recent_count)
            continue;
        const struct distance_place *place = distance_find(table, order->locations[node]);
        if (!place || place->slot != node || (place->time & ~DISTANCE_ONCE) > later)
            return false;
        later = place->time & ~DISTANCE_ONCE;
    }
    return seen == 0xffff;
}

bool distance_order_check(const struct distance_order *order, struct distance_table *table)
{
    struct tally tally = {.order = order, .good = true};
    distance_walk(table, 0, UINT64_MAX, tally_place, &tally);
    uint64_t sum = 0;
    for (uint32_t slot = 0; slot < order->capacity; slot++)
        if (order->bits[slot >> WORD_SHIFT] >> (slot & IN_GROUP) & 1)
            sum += base_mix64(slot);
    return tally.good && tally.nodes == order->recent_count && tally.slots == order->live &&
           tally.sum == sum && order->head <= order->capacity && levels_agree(order) &&
           list_agrees(order, table);
}
