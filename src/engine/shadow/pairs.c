// SPDX-License-Identifier: MIT
/*
 * Counts of pairs, in three stages: entries, that fast paths look at, by what an access found; pairs met lately, in sets of two; all
 * others in a hash table with open addressing, linear probing, a power of two of slots, at most half of
 * them used. An entry, a pair, enters its set with counts from zero, and what it gathered there is added to
 * the next stage when it leaves: that is not read when it enters.
 */
#include "shadow/internal.h"

enum { FIRST_PAIRS = 4096 };

static uint64_t slot_of(const struct shadow *shadow, uint64_t key)
{
    /* Taken from the middle of the product, so that one shift serves every capacity. */
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (key >> 32 ^ key >> 17) & (shadow->pairs_capacity - 1);
}

/* The slot of a pair or the empty one where it belongs. */
static struct shadow_pair *find(const struct shadow *shadow, uint64_t key)
{
    uint64_t slot = slot_of(shadow, key);
    for (;; slot = (slot + 1) & (shadow->pairs_capacity - 1)) {
        struct shadow_pair *pair = &shadow->pairs[slot];
        if (shadow_key(pair) == key || pair->second == 0)
            return pair;
    }
}

static void add_counts(struct shadow_pair *pair, const struct shadow_pair *counted)
{
    pair->waste += counted->waste;
    pair->use += counted->use;
    pair->dead += counted->dead;
}

/* Adds to the table, which has room. */
static void put(struct shadow *shadow, const struct shadow_pair *counted)
{
    struct shadow_pair *pair = find(shadow, shadow_key(counted));
    if (!pair->second) {
        pair->first = counted->first;
        pair->second = counted->second;
        shadow->pairs_count++;
    }
    add_counts(pair, counted);
}

/* An empty table of so many slots in place of the old one, which is given; NULL: no memory, shadow is exhausted. */
static struct shadow_pair *exchange(struct shadow *shadow, uint64_t capacity)
{
    const struct shadow_memory *memory = &shadow->memory;
    struct shadow_pair *old = shadow->pairs;
    struct shadow_pair *fresh = memory->map(memory->context, capacity * sizeof *old, false);
    if (!fresh) {
        shadow_exhaust(shadow);
        return NULL;
    }
    shadow->pairs = fresh;
    shadow->pairs_capacity = capacity;
    shadow->pairs_count = 0;
    return old;
}

static void release(struct shadow *shadow, struct shadow_pair *pairs, uint64_t capacity)
{
    shadow->memory.unmap(shadow->memory.context, pairs, capacity * sizeof *pairs);
}

/* ---- merging ------------------------------------------------------------------------------- */

/* Waste is what findings are made of; of a use only the sum matters in the end. */
static uint64_t weight_of(const struct shadow_pair *pair)
{
    /* Below zero: more was taken off while draining than there was. */
    uint64_t use = pair->use >> 63 ? 0 : pair->use;
    return pair->waste + pair->dead + use / 8;
}

static void coarsen(struct shadow *shadow, struct shadow_pair *pair)
{
    const struct shadow_bound *bound = &shadow->bound;
    uint32_t old = shadow_first(pair), mark_and_group = pair->first ^ old;
    uint32_t first = (old ? bound->coarser(bound->context, old) : 0) | mark_and_group;
    uint32_t second = bound->coarser(bound->context, pair->second);
    shadow->merged += first != pair->first || second != pair->second;
    pair->first = first;
    pair->second = second;
}

static void foresee(const struct shadow *shadow, const struct shadow_pair *pair)
{
    const struct shadow_bound *bound = &shadow->bound;
    if (!bound->foresee)
        return;
    if (shadow_first(pair))
        bound->foresee(bound->context, shadow_first(pair));
    bound->foresee(bound->context, pair->second);
}

/*
 * Pairs on their way to coarser ids: what that reads, and then their slots, are in no cache, and are asked for together. Those that stay
 * as they are find theirs one after the other.
 */
struct batch {
    uint32_t count;
    struct shadow_pair pairs[32];
};

static void coarsen_batch(struct shadow *shadow, struct batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        coarsen(shadow, &batch->pairs[i]);
        __builtin_prefetch(&shadow->pairs[slot_of(shadow, shadow_key(&batch->pairs[i]))], 1);
    }
    for (uint32_t i = 0; i < batch->count; i++)
        put(shadow, &batch->pairs[i]);
    batch->count = 0;
}

static void add_to_batch(struct shadow *shadow, struct batch *batch, const struct shadow_pair *pair)
{
    foresee(shadow, pair);
    batch->pairs[batch->count++] = *pair;
    if (batch->count == BASE_COUNT(batch->pairs))
        coarsen_batch(shadow, batch);
}

/* Gives `count` pairs coarser ids. Into a new table: of an open one nothing can be taken out. */
static void merge_least(struct shadow *shadow, uint64_t count)
{
    uint64_t capacity = shadow->pairs_capacity;
    struct shadow_pair *old = exchange(shadow, capacity);
    struct base_least least = {0};
    struct batch batch = {.count = 0};
    if (!old)
        return;
    for (uint64_t i = 0; i < capacity; i++)
        if (old[i].second)
            base_least_note(&least, weight_of(&old[i]));
    base_least_choose(&least, count);
    for (uint64_t i = 0; i < capacity; i++) {
        if (!old[i].second)
            continue;
        if (base_least_takes(&least, weight_of(&old[i])))
            add_to_batch(shadow, &batch, &old[i]);
        else
            put(shadow, &old[i]);
    }
    coarsen_batch(shadow, &batch);
    release(shadow, old, capacity);
}

/* What pairs are merged into may be as many: these have coarser ids in turn, and each round takes
 * more. */
static void merge_down_to(struct shadow *shadow, uint64_t most, uint64_t target)
{
    enum { ROUNDS = 8 };
    for (uint64_t more = 0; more < ROUNDS && shadow->pairs_count > most && !shadow->exhausted;
         more++)
        merge_least(shadow, shadow->pairs_count - target + target * more / ROUNDS);
}

const struct shadow_pair *shadow_pair_counted(const struct shadow *shadow, uint32_t first,
                                              uint32_t second)
{
    struct shadow_pair key = {.first = first, .second = second};
    /* Each round of merging gives coarser ids, which may have been merged in turn. */
    for (uint32_t left = 8;; left--) {
        const struct shadow_pair *pair = find(shadow, shadow_key(&key));
        if (pair->second || !left || !shadow->bound.most)
            return pair->second ? pair : NULL;
        key.first = shadow->bound.coarser(shadow->bound.context, key.first);
        key.second = shadow->bound.coarser(shadow->bound.context, key.second);
    }
}

void shadow_bound_pairs(struct shadow *shadow, const struct shadow_bound *bound)
{
    shadow->bound = *bound;
}

void shadow_merge_pairs(struct shadow *shadow, uint64_t most)
{
    if (shadow->bound.most)
        merge_down_to(shadow, most, most);
}

void shadow_join_groups(struct shadow *shadow)
{
    uint64_t capacity = shadow->pairs_capacity;
    struct shadow_pair *old = exchange(shadow, capacity);
    if (!old)
        return;
    for (uint64_t i = 0; i < capacity; i++) {
        if (!old[i].second)
            continue;
        old[i].first &= (UINT32_C(1) << SHADOW_GROUP_SHIFT) - 1;
        put(shadow, &old[i]);
    }
    release(shadow, old, capacity);
}

/* ---- growing ------------------------------------------------------------------------------- */

static void grow(struct shadow *shadow)
{
    uint64_t capacity = shadow->pairs_capacity;
    struct shadow_pair *old = exchange(shadow, 2 * capacity);
    if (!old)
        return;
    for (uint64_t i = 0; i < capacity; i++)
        if (old[i].second)
            put(shadow, &old[i]);
    release(shadow, old, capacity);
}

/* A bounded table may be three quarters full before it grows no more. */
static void make_room(struct shadow *shadow)
{
    uint64_t most = shadow->bound.most;
    if (!most || shadow->pairs_capacity / 4 * 3 < most)
        grow(shadow);
    else if (shadow->pairs_count > most)
        merge_down_to(shadow, most, most / 2);
}

static bool is_counted(const struct shadow_pair *pair)
{
    return (pair->waste | pair->use | pair->dead) != 0;
}

/* When exhausted, new pairs still find room for what the sets hold, as long as probing is short. */
static void add(struct shadow *shadow, const struct shadow_pair *counted)
{
    if (!is_counted(counted))
        return;
    if (shadow->exhausted && shadow->pairs_count >= shadow->pairs_capacity / 8 * 7 &&
        !find(shadow, shadow_key(counted))->second)
        return;
    put(shadow, counted);
    if (shadow->pairs_count > shadow->pairs_capacity / 2 && !shadow->exhausted)
        make_room(shadow);
}

/* Its slot of the table is most likely in no cache: it is asked for now and waited for later. */
static void leave(struct shadow *shadow, const struct shadow_pair *pair)
{
    struct shadow_pair *place = &shadow->leaving[shadow->turn++ % SHADOW_LEAVING];
    add(shadow, place);
    *place = *pair;
    __builtin_prefetch(&shadow->pairs[slot_of(shadow, shadow_key(pair))], 1);
}

/* With counts from zero. */
static struct shadow_pair *enter(struct shadow *shadow, struct shadow_pair set[2], uint32_t first,
                                 uint32_t second)
{
    if (is_counted(&set[1]))
        leave(shadow, &set[1]);
    set[1] = set[0];
    set[0] = (struct shadow_pair){.first = first, .second = second};
    return &set[0];
}

static void note_appearance(struct shadow *shadow)
{
    if (SHADOW_RARE(--shadow->appearances == 0))
        shadow_appeared(shadow);
}

struct shadow_pair *shadow_pair_fetch(struct shadow *shadow, struct shadow_pair set[2],
                                      uint32_t first, uint32_t second)
{
    note_appearance(shadow);
    return enter(shadow, set, first, second);
}

/* ---- entries ------------------------------------------------------------------------------- */

static struct shadow_pair *pair_of(struct shadow *shadow, uint32_t first, uint32_t second)
{
    struct shadow_pair *pair = shadow_pair_lately(shadow, first, second);
    return pair ? pair
                : enter(shadow, shadow_set_of(shadow, (uint64_t)first << 32 | second), first,
                        second);
}

/* Its counts are those of one pair, and if bytes were unread also of that of the store and the access. */
static void settle(struct shadow *shadow, const struct shadow_entry *entry)
{
    uint32_t stored = entry->state & SHADOW_ID_MASK, group = entry->former >> SHADOW_GROUP_SHIFT;
    if (!(entry->waste | entry->use))
        return;
    struct shadow_pair *pair = pair_of(shadow, entry->former, entry->id);
    pair->waste += entry->waste;
    pair->use += entry->use;
    if (!entry->state)
        return;
    uint32_t first =
        stored ? stored | group << SHADOW_GROUP_SHIFT : entry->former & ~(uint32_t)SHADOW_NEAR;
    pair_of(shadow, first, entry->id)->dead += entry->waste + entry->use;
}

/* Its sets are in no near cache: they are asked for now and waited for later. */
static void settle_later(struct shadow *shadow, const struct shadow_entry *entry)
{
    struct shadow_entry *place = &shadow->settling[shadow->settling_turn++ % SHADOW_SETTLING];
    settle(shadow, place);
    *place = *entry;
    __builtin_prefetch(shadow_set_of(shadow, (uint64_t)entry->former << 32 | entry->id), 1);
}

struct shadow_entry *shadow_entry_fetch(struct shadow *shadow, uint32_t former, uint32_t id,
                                        uint32_t state)
{
    struct shadow_entry *set = shadow_set_at(shadow, id);
    uint8_t element = shadow->elements[former & SHADOW_ID_MASK];
    note_appearance(shadow);
    settle_later(shadow, &set[1]);
    set[1] = set[0];
    set[0] = (struct shadow_entry){.id = id,
                                   .former = former,
                                   .state = state,
                                   .element = element,
                                   .intricate = {!shadow_is_one_group(element, 2),
                                                 !shadow_is_one_group(element, 4),
                                                 !shadow_is_one_group(element, 8)}};
    return &set[0];
}

/* ---- counting later ------------------------------------------------------------------------- */

/* All that meet in a set, of entries or of pairs met lately, agree in these bits of the id. */
static uint32_t part_of(uint32_t id, uint32_t parts)
{
    enum { BITS = 6, BELOW = 6 };
    _Static_assert(BELOW + BITS <= SHADOW_SETS_BITS - SHADOW_ROWS_BITS &&
                       1 << BITS >= (int)SHADOW_PARTS_MAX,
                   "rows differ in higher bits");
    return (id >> BELOW & ((1U << BITS) - 1)) * parts >> BITS;
}

static void count_event(struct shadow *shadow, const struct shadow_event *event)
{
    struct shadow_entry *entry = shadow_entry_of(shadow, event->former, event->id, event->state);
    if (SHADOW_RARE(!entry))
        entry = shadow_entry_fetch(shadow, event->former, event->id, event->state);
    shadow_add(entry, event->what & 1, event->what >> 1);
}

static void count_pair(struct shadow *shadow, const struct shadow_pair *counted)
{
    add_counts(pair_of(shadow, counted->first, counted->second), counted);
}

/* An event's entry is prefetched some events before. */
void shadow_count(struct shadow *counter, const struct shadow_event *events, uint32_t count,
                  uint32_t part, uint32_t parts)
{
    enum { AHEAD = 16 };
    for (uint32_t i = 0; i < count; i++) {
        const struct shadow_event *event = &events[i];
        if (i + AHEAD < count)
            __builtin_prefetch(shadow_set_at(counter, event[AHEAD].id), 1);
        if (event->what == SHADOW_EVENT_PAIR)
            i += SHADOW_EVENTS_AT_ONCE - 1;
        if (parts > 1 && part_of(event->id, parts) != part)
            continue;
        if (event->what == SHADOW_EVENT_PAIR)
            count_pair(counter, (const struct shadow_pair *)(event + 1));
        else
            count_event(counter, event);
    }
    /* How many pairs there are does not depend on the number of parts. */
    for (uint32_t i = 0; i < SHADOW_SETTLING; i++) {
        settle(counter, &counter->settling[i]);
        counter->settling[i] = (struct shadow_entry){0};
    }
    for (uint32_t i = 0; i < SHADOW_LEAVING; i++) {
        struct shadow_pair *left = &counter->leaving[i];
        if (left->second)
            add(counter, left);
        *left = (struct shadow_pair){0};
    }
}

enum base_status shadow_counter(struct shadow *counter, const struct shadow *shadow)
{
    struct shadow made = {.elements = shadow->elements,
                          .ids_capacity = shadow->ids_capacity,
                          .memory = shadow->memory};
    if (!shadow_pairs_init(&made)) {
        shadow_pairs_free(&made);
        return BASE_NO_MEMORY;
    }
    *counter = made;
    return BASE_OK;
}

void shadow_counter_free(struct shadow *counter)
{
    shadow_pairs_free(counter);
}

void shadow_gather(struct shadow *shadow, struct shadow *counter)
{
    shadow_flush(counter);
    for (uint64_t i = 0; i < counter->pairs_capacity; i++)
        if (counter->pairs[i].second)
            add(shadow, &counter->pairs[i]);
    if (counter->exhausted && !shadow->exhausted)
        shadow_exhaust(shadow);
    shadow_reset_counts(counter);
}

/*
 * Each run of occupied slots as if its pairs had come in the order of their keys: where several belong into a slot the least has it
 * (ordered hash tables, Amble and Knuth). Which slots are occupied does not depend on an order, and what stands before a slot of a run fills
 * the run up to there: so pairs are taken out one by one, and each ends where none is that has been seen.
 */
void shadow_order_pairs(struct shadow *shadow)
{
    struct shadow_pair *pairs = shadow->pairs;
    uint64_t last = shadow->pairs_capacity - 1, start = 0;
    while (pairs[start].second)
        start++;
    for (uint64_t i = 0; i <= last; i++) {
        struct shadow_pair *taken = &pairs[(start + i) & last], pair = *taken;
        if (!pair.second)
            continue;
        *taken = (struct shadow_pair){0};
        uint64_t slot = slot_of(shadow, shadow_key(&pair));
        for (; pairs[slot].second; slot = (slot + 1) & last) {
            struct shadow_pair other = pairs[slot];
            if (shadow_key(&other) < shadow_key(&pair))
                continue;
            pairs[slot] = pair;
            pair = other;
        }
        pairs[slot] = pair;
    }
}

/* ---- all of them --------------------------------------------------------------------------- */

static uint64_t entries_bytes(void)
{
    return SHADOW_ENTRIES * 2 * sizeof(struct shadow_entry);
}

static uint64_t lately_bytes(void)
{
    return SHADOW_SETS * 2 * sizeof(struct shadow_pair);
}

bool shadow_pairs_init(struct shadow *shadow)
{
    const struct shadow_memory *memory = &shadow->memory;
    shadow->entries = memory->map(memory->context, entries_bytes(), true);
    shadow->lately = memory->map(memory->context, lately_bytes(), true);
    shadow->pairs = memory->map(memory->context, FIRST_PAIRS * sizeof *shadow->pairs, false);
    shadow->pairs_capacity = FIRST_PAIRS;
    return shadow->entries && shadow->lately && shadow->pairs;
}

void shadow_pairs_free(struct shadow *shadow)
{
    const struct shadow_memory *memory = &shadow->memory;
    if (shadow->entries)
        memory->unmap(memory->context, shadow->entries, entries_bytes());
    if (shadow->lately)
        memory->unmap(memory->context, shadow->lately, lately_bytes());
    if (shadow->pairs)
        memory->unmap(memory->context, shadow->pairs,
                      shadow->pairs_capacity * sizeof *shadow->pairs);
}

/* Sets that were never used are only read: a write would back their pages. */
static void empty(struct shadow *shadow, struct shadow_pair *pair, bool counts)
{
    if (!pair->second)
        return;
    if (counts)
        add(shadow, pair);
    *pair = (struct shadow_pair){0};
}

static void empty_entry(struct shadow *shadow, struct shadow_entry *entry, bool counts)
{
    if (!entry->id)
        return;
    if (counts)
        settle(shadow, entry);
    *entry = (struct shadow_entry){0};
}

static void empty_sets(struct shadow *shadow, bool counts)
{
    for (uint32_t i = 0; i < SHADOW_ENTRIES; i++)
        for (uint32_t way = 0; way < 2; way++)
            empty_entry(shadow, &shadow->entries[i][way], counts);
    for (uint32_t i = 0; i < SHADOW_SETTLING; i++)
        empty_entry(shadow, &shadow->settling[i], counts);
    for (uint32_t i = 0; i < SHADOW_SETS; i++)
        for (uint32_t way = 0; way < 2; way++)
            empty(shadow, &shadow->lately[i][way], counts);
    for (uint32_t i = 0; i < SHADOW_LEAVING; i++)
        empty(shadow, &shadow->leaving[i], counts);
}

void shadow_flush(struct shadow *shadow)
{
    empty_sets(shadow, true);
}

void shadow_reset_counts(struct shadow *shadow)
{
    empty_sets(shadow, false);
    memset(shadow->pairs, 0, shadow->pairs_capacity * sizeof *shadow->pairs);
    shadow->pairs_count = shadow->merged = shadow->outside = 0;
    shadow_sample_reset(shadow);
}

bool shadow_pairs_check(const struct shadow *shadow)
{
    uint64_t used = 0;
    for (uint64_t i = 0; i < shadow->pairs_capacity; i++) {
        const struct shadow_pair *pair = &shadow->pairs[i];
        if (!pair->second)
            continue;
        used++;
        if (shadow_first(pair) >= shadow->ids_capacity || pair->second >= shadow->ids_capacity ||
            find(shadow, shadow_key(pair)) != pair)
            return false;
    }
    return used == shadow->pairs_count && used < shadow->pairs_capacity;
}
