// SPDX-License-Identifier: MIT
/*
 * Blocks of memory that were recorded when they were allocated, found by any address in them; and whether what lies at an
 * address may have been freed since.
 *
 * Blocks are in a fixed array, each in two chains of indices: by its start, for free; and by its start divided by the
 * power of two that its size reaches to, for look-ups, which try each power that is in use and need no order. The lock is held for
 * some dozens of instructions, with signals blocked, by whoever adds or removes one. Look-ups in handlers
 * take none: a block's sequence number says whether it was changed meanwhile, and chains are followed for so many steps at most. A
 * look-up that meets a change may miss a block; it never finds a wrong one.
 *
 * Rejected: a tree by address (readers without a lock are hard), a table of pages (large blocks fill it), what glibc writes in
 * front of its blocks (other allocators do not, and only the start of a block leads there).
 *
 * Generations: numbers by hash of 16 bytes of address, which no two blocks share. Frees of recorded blocks change those
 * of the block, and so do frees of all others, where they are on a line that holds an address published lately, by the size
 * that the allocator says they have. Only those near such a page ask about their lines. Rejected: counting at each free, which makes all threads write
 * the same lines; changing the whole block for such a page, and asking the clock: a program that allocates and frees
 * all the time took five times as long.
 */
#include "agent/agent.h"
#include "agent/guard.h"
#include "agent/heap.h"

#include <string.h>
#include <time.h>

enum {
    BLOCKS = 1 << 13, /* 512 KiB, touched as needed */
    CHAINS = 1 << 13,
    LEVEL_LEAST = 6, /* blocks of up to 64 bytes are in one level */
    LEVELS = 48,
    STEPS_MAX = 256, /* of a chain, by readers without the lock */
    VICTIMS = 4,
    PLACES = 1 << 12,
    MAPPINGS = 64,
    GENERATIONS = 1 << 12,
    PUBLISHED = 1, /* and not changed since */
    GENERATION = 2,
    GRANULE = 16,       /* what malloc aligns to */
    PAGES_WATCHED = 16, /* before the address's: blocks that begin farther away are large */
    PAGE = 4096,
    LINE = 64,
    LINES =
        1 << 14, /* of some hundred that are published in a period most have one to themselves */
};

struct slot {
    _Atomic uint32_t sequence; /* odd: is being changed */
    uint32_t level;
    uint16_t next_start, next_level; /* index + 1; 0: the last */
    struct heap_block block;         /* start 0: none */
};

static struct slot slots[BLOCKS], mappings[MAPPINGS];
static _Atomic uint16_t by_start[CHAINS], by_level[CHAINS];
static uint16_t unused[BLOCKS];
static uint32_t unused_count, slots_used; /* slots from slots_used on never had a block */
static uint32_t in_level[LEVELS];
static _Atomic uint64_t levels; /* bit: blocks are there */
static _Atomic uint32_t mappings_used;
static _Atomic uint32_t unlinked; /* odd while a block is being taken out of chains */
static struct guard guard;        /* given up: nothing is recorded or found any more */
static struct base_random victims = {.state = 1};
static uint16_t in_place[PLACES]; /* blocks, by hash of the context that they were allocated in */

uint8_t heap_filter[HEAP_FILTER], heap_pages[HEAP_PAGES];
static _Atomic uint32_t generations[GENERATIONS];
static _Atomic uint64_t period; /* of the clock, as it was noted last */
static uint8_t lines[LINES];    /* by hash: as heap_pages */

/* A copy that was not changed meanwhile. */
static bool read_slot(const struct slot *slot, struct heap_block *block)
{
    uint32_t before = reading_begins(&slot->sequence);
    *block = slot->block;
    return reading_holds(&slot->sequence, before) && block->start;
}

/* ---- generations --------------------------------------------------------------------------------- */

static _Atomic uint32_t *generation_of(uint64_t address)
{
    return &generations[base_mix64(address / GRANULE) % GENERATIONS];
}

static void change_generations(uint64_t start, uint64_t bytes)
{
    uint64_t granules = (start % GRANULE + bytes + GRANULE - 1) / GRANULE;
    for (uint64_t i = 0; i < granules && granules < GENERATIONS; i++)
        atomic_fetch_add_explicit(generation_of(start + i * GRANULE), GENERATION,
                                  memory_order_relaxed);
    for (uint64_t i = 0; i < GENERATIONS && granules >= GENERATIONS; i++)
        atomic_fetch_add_explicit(&generations[i], GENERATION, memory_order_relaxed);
}

/* Only where an address was published since the last change: the next free of a block there need not do it again. */
static void change_published(uint64_t start, uint64_t bytes)
{
    for (uint64_t at = start & -(uint64_t)GRANULE; at < start + bytes; at += GRANULE) {
        _Atomic uint32_t *generation = generation_of(at);
        uint32_t was = atomic_load_explicit(generation, memory_order_acquire);
        while (was & PUBLISHED && !atomic_compare_exchange_weak_explicit(
                                      generation, &was, was - PUBLISHED + GENERATION,
                                      memory_order_relaxed, memory_order_relaxed))
            ;
    }
}

uint32_t heap_generation(uint64_t address)
{
    return atomic_load_explicit(generation_of(address), memory_order_relaxed) / GENERATION;
}

/* A page's or line's number is that of the last period in which an address was published there: from 1 to 255, again and again. */
static uint8_t number_of(uint64_t period)
{
    return (uint8_t)(period % 255 + 1);
}

/* Never goes back, so that what a page's number was read after is not older than that. Returns the latest. */
static uint64_t note_period(void)
{
    uint64_t now = os_now_ns(CLOCK_MONOTONIC) / GENERATION_WATCHED_NS;
    uint64_t latest = atomic_load_explicit(&period, memory_order_relaxed);
    while (latest < now && !atomic_compare_exchange_weak_explicit(
                               &period, &latest, now, memory_order_release, memory_order_relaxed))
        ;
    return latest < now ? now : latest;
}

void heap_tick(void)
{
    note_period();
}

static uint8_t *line_of(uint64_t address)
{
    return &lines[base_mix64(address / LINE) % LINES];
}

static void mark(uint8_t *place, uint8_t number)
{
    if (__atomic_load_n(place, __ATOMIC_RELAXED) != number)
        __atomic_store_n(place, number, __ATOMIC_RELEASE);
}

/* The line first: who finds the page's number finds the line's. */
uint32_t heap_watch(uint64_t address)
{
    uint8_t number = number_of(note_period());
    mark(line_of(address), number);
    for (uint64_t i = 0; i <= PAGES_WATCHED; i++)
        mark(&heap_pages[(address / PAGE - i) % HEAP_PAGES], number);
    return atomic_fetch_or(generation_of(address), PUBLISHED) / GENERATION;
}

/* In this period or the one before. What was noted is read before the period. */
static bool is_recent(uint8_t noted)
{
    uint64_t now = atomic_load_explicit(&period, memory_order_acquire);
    return noted && (noted == number_of(now) || noted == number_of(now - 1));
}

/* Of a page that nobody has published in since the last period the number is cleared, so that its frees are fast again. */
static bool is_watched(uint64_t start)
{
    uint8_t *page = &heap_pages[start / PAGE % HEAP_PAGES];
    uint8_t noted = __atomic_load_n(page, __ATOMIC_ACQUIRE);
    if (noted && !is_recent(noted)) {
        __atomic_compare_exchange_n(page, &noted, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        return false;
    }
    return noted != 0;
}

/* Reading which lines were published is a tenth of changing all. */
static void change_on_lines(uint64_t start, uint64_t bytes)
{
    uint64_t end = start + bytes;
    for (uint64_t at = start; at < end; at = (at / LINE + 1) * LINE) {
        uint64_t rest = (at / LINE + 1) * LINE - at;
        if (is_recent(__atomic_load_n(line_of(at), __ATOMIC_ACQUIRE)))
            change_published(at, rest < end - at ? rest : end - at);
    }
}

void heap_freed(uint64_t start, uint64_t bytes)
{
    if (!heap_pages[start / PAGE % HEAP_PAGES] || !is_watched(start))
        return;
    if (bytes / LINE < GENERATIONS)
        change_on_lines(start, bytes);
    else
        change_generations(start, bytes);
}

void heap_unmapped(uint64_t start, uint64_t bytes)
{
    enum { LOOKS = 1024 }; /* more pages cost more to ask about than other numbers that change */
    bool watched = bytes / PAGE >= LOOKS;
    for (uint64_t at = start; !watched && at - start < bytes; at += PAGE)
        watched = heap_pages[at / PAGE % HEAP_PAGES] && is_watched(at);
    if (watched)
        change_generations(start, bytes);
}

/* ---- chains -------------------------------------------------------------------------------------- */

static uint32_t level_of(uint64_t bytes)
{
    uint32_t level = LEVEL_LEAST;
    while (level < LEVEL_LEAST + LEVELS - 1 && UINT64_C(1) << level < bytes)
        level++;
    return level - LEVEL_LEAST;
}

static _Atomic uint16_t *start_chain(uint64_t start)
{
    return &by_start[base_mix64(start) % CHAINS];
}

static _Atomic uint16_t *level_chain(uint32_t level, uint64_t part)
{
    return &by_level[base_mix64(part << 6 | level) % CHAINS];
}

static uint64_t part_of(uint64_t address, uint32_t level)
{
    return address >> (level + LEVEL_LEAST);
}

static uint8_t *filter_of(uint64_t start)
{
    return &heap_filter[start / 16 % HEAP_FILTER];
}

/* A byte that has reached its maximum stays there. */
static void count_in_filter(uint64_t start, int by)
{
    uint8_t *byte = filter_of(start);
    if (*byte < UINT8_MAX)
        __atomic_store_n(byte, (uint8_t)(*byte + by), __ATOMIC_RELAXED);
}

static void unlink_from(_Atomic uint16_t *chain, uint16_t index, bool level)
{
    uint16_t at = atomic_load_explicit(chain, memory_order_relaxed);
    uint16_t next = level ? slots[index - 1].next_level : slots[index - 1].next_start;
    if (at == index) {
        atomic_store_explicit(chain, next, memory_order_release);
        return;
    }
    while (at) {
        uint16_t *link = level ? &slots[at - 1].next_level : &slots[at - 1].next_start;
        if (*link == index) {
            __atomic_store_n(link, next, __ATOMIC_RELEASE);
            return;
        }
        at = *link;
    }
}

static uint16_t *place_of(const struct heap_block *block)
{
    return &in_place[base_mix64(block->node) % PLACES];
}

static void remove_slot(uint16_t index)
{
    struct slot *slot = &slots[index - 1];
    uint64_t start = slot->block.start;
    atomic_fetch_add_explicit(&unlinked, 1, memory_order_acq_rel);
    unlink_from(start_chain(start), index, false);
    unlink_from(level_chain(slot->level, part_of(start, slot->level)), index, true);
    change_begins(&slot->sequence);
    slot->block.start = 0;
    change_ends(&slot->sequence);
    count_in_filter(start, -1);
    --*place_of(&slot->block);
    if (--in_level[slot->level] == 0)
        atomic_fetch_and_explicit(&levels, ~(UINT64_C(1) << slot->level), memory_order_relaxed);
    unused[unused_count++] = index;
    change_generations(start, slot->block.bytes);
    atomic_fetch_add_explicit(&unlinked, 1, memory_order_release);
}

/* Index + 1 of the block that starts there; 0: none. With the lock, or for a hint. */
static uint16_t index_of(uint64_t start)
{
    uint16_t at = atomic_load_explicit(start_chain(start), memory_order_acquire);
    for (int i = 0; at && i < STEPS_MAX && slots[at - 1].block.start != start; i++)
        at = __atomic_load_n(&slots[at - 1].next_start, __ATOMIC_ACQUIRE);
    return at && slots[at - 1].block.start == start ? at : 0;
}

/* Of two blocks the one to forget: of a place with far more blocks, most of which stay known; else the smaller one, which is the less likely to be
   asked for. */
static uint16_t worse_of(uint16_t a, uint16_t b)
{
    const struct heap_block *first = &slots[a - 1].block, *second = &slots[b - 1].block;
    uint32_t alike = *place_of(first), alike_second = *place_of(second);
    if (alike > 2 * alike_second || alike_second > 2 * alike)
        return alike > alike_second ? a : b;
    return first->bytes < second->bytes ? a : b;
}

/* When all are in use one of some goes. */
static uint16_t free_index(void)
{
    uint16_t victim = 0;
    if (!unused_count && slots_used < BLOCKS)
        return (uint16_t)++slots_used;
    for (int i = 0; i < VICTIMS && !unused_count; i++) {
        uint16_t other = (uint16_t)(1 + base_random_below(&victims, BLOCKS));
        victim = victim ? worse_of(victim, other) : other;
    }
    if (victim)
        remove_slot(victim);
    return unused[--unused_count];
}

static void add_slot(const struct heap_block *block)
{
    uint16_t index = index_of(block->start);
    if (index)
        remove_slot(index);
    index = free_index();
    struct slot *slot = &slots[index - 1];
    change_begins(&slot->sequence);
    slot->block = *block;
    change_ends(&slot->sequence);
    slot->level = level_of(block->bytes);
    _Atomic uint16_t *starts = start_chain(block->start);
    _Atomic uint16_t *parts = level_chain(slot->level, part_of(block->start, slot->level));
    slot->next_start = atomic_load_explicit(starts, memory_order_relaxed);
    slot->next_level = atomic_load_explicit(parts, memory_order_relaxed);
    atomic_store_explicit(starts, index, memory_order_release);
    atomic_store_explicit(parts, index, memory_order_release);
    if (in_level[slot->level]++ == 0)
        atomic_fetch_or_explicit(&levels, UINT64_C(1) << slot->level, memory_order_relaxed);
    count_in_filter(block->start, 1);
    ++*place_of(block);
}

/* ---- mappings: few, and parts of them may go ------------------------------------------------------- */

static void change_mapping(struct slot *slot, uint64_t start, uint64_t bytes)
{
    change_begins(&slot->sequence);
    slot->block.start = bytes ? start : 0;
    slot->block.bytes = bytes;
    change_ends(&slot->sequence);
}

/* What is left of a mapping in the middle of which something is unmapped is the larger of its ends. */
static void cut_mapping(struct slot *slot, uint64_t start, uint64_t end)
{
    uint64_t first = slot->block.start, last = first + slot->block.bytes;
    if (!first || start >= last || end <= first)
        return;
    uint64_t low = start > first ? start - first : 0, high = end < last ? last - end : 0;
    change_mapping(slot, low >= high ? first : end, low >= high ? low : high);
}

static void cut_mappings(uint64_t start, uint64_t bytes)
{
    uint64_t end = start + bytes;
    for (uint32_t i = 0; i < atomic_load(&mappings_used); i++)
        cut_mapping(&mappings[i], start, end < start ? UINT64_MAX : end);
}

static void add_mapping(const struct heap_block *block)
{
    struct slot *least = &mappings[0];
    cut_mappings(block->start, block->bytes);
    for (uint32_t i = 0; i < MAPPINGS; i++) {
        struct slot *slot = &mappings[i];
        if (!slot->block.start || slot->block.bytes < least->block.bytes)
            least = slot;
        if (!slot->block.start)
            break;
    }
    if (least->block.start && least->block.bytes >= block->bytes)
        return;
    change_begins(&least->sequence);
    least->block = *block;
    change_ends(&least->sequence);
    uint32_t used = (uint32_t)(least - mappings) + 1;
    if (used > atomic_load(&mappings_used))
        atomic_store(&mappings_used, used);
}

static bool find_mapping(uint64_t address, struct heap_block *block)
{
    for (uint32_t i = 0; i < atomic_load(&mappings_used); i++)
        if (read_slot(&mappings[i], block) && address - block->start < block->bytes)
            return true;
    return false;
}

/* ---- what others call ------------------------------------------------------------------------------- */

void heap_add(const struct heap_block *block)
{
    if (!guard_take(&guard))
        return;
    if (block->mapped)
        add_mapping(block);
    else
        add_slot(block);
    guard_give(&guard);
}

bool heap_remove(uint64_t start)
{
    if (!guard_take(&guard))
        return false;
    uint16_t index = index_of(start);
    if (index)
        remove_slot(index);
    guard_give(&guard);
    return index != 0;
}

void heap_unmap(uint64_t start, uint64_t bytes)
{
    if (!guard_take(&guard))
        return;
    cut_mappings(start, bytes);
    guard_give(&guard);
}

bool heap_maps(uint64_t start, uint64_t bytes)
{
    struct heap_block block;
    for (uint32_t i = 0; i < atomic_load_explicit(&mappings_used, memory_order_relaxed); i++)
        if (read_slot(&mappings[i], &block) &&
            start + bytes - 1 - block.start < block.bytes + bytes - 1)
            return true;
    return false;
}

bool heap_knows(uint64_t start)
{
    if (!__atomic_load_n(filter_of(start), __ATOMIC_RELAXED))
        return false;
    uint32_t before = atomic_load_explicit(&unlinked, memory_order_acquire);
    return before & 1 || index_of(start) ||
           atomic_load_explicit(&unlinked, memory_order_acquire) != before;
}

static bool find_in_chain(uint32_t level, uint64_t part, uint64_t address, struct heap_block *block)
{
    uint16_t at = atomic_load_explicit(level_chain(level, part), memory_order_acquire);
    for (int i = 0; at && i < STEPS_MAX; i++) {
        if (read_slot(&slots[at - 1], block) && address - block->start < block->bytes)
            return true;
        at = __atomic_load_n(&slots[at - 1].next_level, __ATOMIC_ACQUIRE);
    }
    return false;
}

/* A block reaches from the part of memory in which it starts into the next one at most. Small ones first: they may lie in
   what was mapped for many. */
bool heap_find(uint64_t address, struct heap_block *block)
{
    uint64_t used = atomic_load_explicit(&levels, memory_order_relaxed);
    if (guard_is_given_up(&guard))
        return false;
    for (; used; used &= used - 1) {
        uint32_t level = (uint32_t)__builtin_ctzll(used);
        uint64_t part = part_of(address, level);
        if (find_in_chain(level, part, address, block) ||
            find_in_chain(level, part - 1, address, block))
            return true;
    }
    return find_mapping(address, block);
}

/* Another thread may have been half-way through a change, and is not here to end it. */
void heap_after_fork(void)
{
    if (!atomic_load(&guard.held))
        return;
    atomic_store(&guard.given_up, false);
    memset(slots, 0, sizeof slots);
    memset(mappings, 0, sizeof mappings);
    memset((void *)by_start, 0, sizeof by_start);
    memset((void *)by_level, 0, sizeof by_level);
    memset(in_level, 0, sizeof in_level);
    memset(in_place, 0, sizeof in_place);
    for (int i = 0; i < HEAP_FILTER; i++) /* early blocks stay known */
        heap_filter[i] = heap_filter[i] == UINT8_MAX ? UINT8_MAX : 0;
    unused_count = slots_used = 0;
    atomic_store(&levels, 0);
    atomic_store(&mappings_used, 0);
    atomic_store(&unlinked, 0);
    atomic_store(&guard.held, false);
}
