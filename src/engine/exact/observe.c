// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What waste and reuses lie in. All of them are counted by their two places; of some it is looked up what the address is: of those
 * right after a pair appeared, and of a few whenever the program has executed so much code. What is seen is kept by pair and object,
 * until there are too many.
 */
#include "exact/sharing.h"

#include <pub_tool_aspacemgr.h>
#include <pub_tool_libcbase.h>

enum {
    ENTRIES_MAX = 3 << 17,
    SLOTS = 1 << 19, /* 40 MiB, backed when touched */
    SLICE_BLOCKS = 1 << 16,
    OBSERVED_EACH = 64,
    OF_REUSE = 3, /* behind shadow_kind */
    NUMBER_BITS = 19,
};
_Static_assert(ENTRIES_MAX < 1 << NUMBER_BITS, "numbers fit");

/* Keys first: a kind, the ids of a pair, an object. variable: where what a symbol names, or a mapping, begins; of a stack an
   instruction of the frame's function. */
struct entry {
    UInt kind, first, second;
    UInt object; /* number */
    Addr variable;
    Bool own;
    UInt lies_in; /* enum wire_object */
    UInt module;  /* whose data, thread-local memory, or function */
    UInt count;
    ULong size;
    /* The least and the greatest offset: in blocks, mappings, a file's thread-local memory; of data addresses; of a frame from
       its canonical address. */
    Long low, high;
};

static struct entry *entries;
static UInt *slots; /* number + 1, above it bits of the hash; 0: empty */
static UInt entries_count;
static ULong next_slice, seed;

static ULong hash_of(const struct entry *entry)
{
    ULong hash = base_mix64((ULong)entry->first << 32 | entry->second);
    return base_mix64(hash ^ entry->variable ^
                      ((ULong)entry->object << 8 | entry->kind << 1 | entry->own));
}

static Bool equal(const struct entry *a, const struct entry *b)
{
    return a->kind == b->kind && a->first == b->first && a->second == b->second &&
           a->object == b->object && a->variable == b->variable && a->own == b->own;
}

/* The program's lies right below what the thread pointer leads to. */
static void find_local(struct entry *made, Addr address)
{
    const struct exact_module *program = exact_module_number(exact_module_of_program());
    Long behind = exact_sharing_behind_pointer(address);
    if (!made->own || !program || !behind)
        return;
    Long within = (Long)program->local_before + behind;
    if (within < 0 || (ULong)within >= program->local_bytes)
        return;
    made->module = exact_module_of_program();
    made->variable = made->module;
    made->low = made->high = within;
}

/* Of programs' files constants and tables, or else memory that was mapped. */
static void find_mapping(struct entry *made, Addr address)
{
    const NSegment *segment = VG_(am_find_nsegment)(address);
    if (!segment)
        return;
    if (segment->kind == SkFileC && exact_module_of_data(address)) {
        made->lies_in = WIRE_OBJECT_DATA;
        made->variable = segment->start;
        made->low = made->high = (Long)address;
        return;
    }
    made->variable = segment->start;
    made->size = segment->end - segment->start + 1;
    made->low = made->high = (Long)(address - segment->start);
}

static UInt module_of(const struct entry *made)
{
    switch (made->lies_in) {
    case WIRE_OBJECT_GLOBAL:
    case WIRE_OBJECT_DATA: return exact_module_of_data((Addr)made->low);
    case WIRE_OBJECT_STACK: return made->variable ? exact_module_of(made->variable) : 0;
    default: return made->module;
    }
}

/* Entries are read only if bits of the hash are equal: each is a cache line of its own, and most that a full table is searched for are not in it. */
static void enter(const struct entry *made)
{
    ULong hash = hash_of(made), slot = hash % SLOTS;
    UInt bits = (UInt)(hash >> (32 + NUMBER_BITS)) << NUMBER_BITS;
    for (UInt word; (word = slots[slot]) != 0; slot = (slot + 1) % SLOTS) {
        struct entry *known = &entries[(word & ((1U << NUMBER_BITS) - 1)) - 1];
        if ((word ^ bits) >> NUMBER_BITS || !equal(known, made))
            continue;
        known->count++;
        known->low = known->low < made->low ? known->low : made->low;
        known->high = known->high > made->high ? known->high : made->high;
        return;
    }
    if (entries_count == ENTRIES_MAX)
        return;
    struct entry *added = &entries[entries_count++];
    *added = *made;
    slots[slot] = entries_count | bits;
    added->module = module_of(made);
}

/* In which frame, if it is the running thread's stack. */
static void find_frame(struct entry *made, Addr address)
{
    Addr canonical, code;
    if (!made->own || !exact_frame_of(address, &canonical, &code))
        return;
    made->variable = code ? code : exact_access_of(made->second)->ip;
    made->low = made->high = (Long)(address - canonical);
}

static void see(UInt kind, UInt first, UInt second, Addr address)
{
    Long offset = 0;
    struct entry made = {.kind = kind, .first = first, .second = second, .count = 1};
    made.object = exact_objects_look_up(address, &offset);
    made.low = made.high = offset;
    const struct exact_object *object = exact_object_number(made.object);
    made.size = object->size;
    made.lies_in = object->kind;
    switch (object->kind) {
    case WIRE_OBJECT_GLOBAL:
        made.variable = address - (Addr)offset;
        made.low = made.high = (Long)address;
        break;
    case WIRE_OBJECT_STACK:
        made.own = object->thread == exact_sharing_running();
        find_frame(&made, address);
        break;
    case WIRE_OBJECT_THREAD:
        made.own = object->thread == exact_sharing_running();
        find_local(&made, address);
        break;
    case WIRE_OBJECT_MAPPED: find_mapping(&made, address); break;
    default: break;
    }
    enter(&made);
}

static void see_waste(void *unused, enum shadow_kind kind, uint32_t first, uint32_t second,
                      uint64_t address)
{
    (void)unused;
    see((UInt)kind, first, second, address);
}

static void see_reuse(void *unused, uint32_t use, uint32_t reuse, uint64_t address)
{
    (void)unused;
    see(OF_REUSE, use, reuse, address);
}

void exact_observe_init(void)
{
    entries = exact_reserve(ENTRIES_MAX * sizeof *entries);
    slots = exact_reserve(SLOTS * sizeof *slots);
    if (!entries || !slots)
        exact_fail("the address space for what waste lies in was refused");
    if (exact_options.kinds)
        shadow_observe(&exact_shadow, &(struct shadow_observer){.seen = see_waste});
    if (exact_distance)
        distance_observe(exact_distance, &(struct distance_observer){.seen = see_reuse});
}

/* Some code sooner or later, or loops would be looked at in the same place each time. */
void exact_observe_slice(ULong blocks)
{
    if (!entries || blocks < next_slice)
        return;
    seed = base_mix64(seed + 1);
    next_slice = blocks + SLICE_BLOCKS + seed % SLICE_BLOCKS;
    if (exact_options.kinds)
        shadow_observe_next(&exact_shadow, OBSERVED_EACH);
    if (exact_distance)
        distance_observe_next(exact_distance, OBSERVED_EACH);
}

void exact_observe_reset(void)
{
    if (!entries)
        return;
    VG_(memset)(slots, 0, SLOTS * sizeof *slots);
    entries_count = 0;
}

/* ---- records ---------------------------------------------------------------------------------- */

/* Pairs that are a thousandth of their kind; what the others lie in nobody asks, and naming it takes time. Of reuses by either
   distance. */
enum { LEAST_PART = 1000, BY_STACK = OF_REUSE + 1 };
static double least[BY_STACK + 1];

static double weight_of_waste(UInt kind, const struct shadow_pair *pair)
{
    if (kind == SHADOW_DEAD)
        return (double)pair->dead;
    return (double)pair->waste;
}

static void add_pair(const struct shadow_pair *pair)
{
    Bool second_stores = exact_access_of(pair->second)->store;
    if (!pair->first || exact_access_of(shadow_first(pair))->store != second_stores)
        return;
    least[second_stores ? SHADOW_SILENT : SHADOW_LOAD] += (double)pair->waste / LEAST_PART;
    if (second_stores)
        least[SHADOW_DEAD] += (double)pair->dead / LEAST_PART;
}

static void find_least(void)
{
    uint64_t cursor = 0;
    VG_(memset)(least, 0, sizeof least);
    if (exact_options.kinds)
        for (ULong i = 0; i < exact_shadow.pairs_capacity; i++)
            if (exact_shadow.pairs[i].second)
                add_pair(&exact_shadow.pairs[i]);
    if (exact_distance)
        for (const struct distance_pair *pair;
             (pair = distance_next_pair(exact_distance, &cursor));) {
            least[OF_REUSE] += pair->time / LEAST_PART;
            least[BY_STACK] += pair->stack / LEAST_PART;
        }
}

/* Gives places as they are counted: some pairs were merged since. False: the pair is too small, or no more. */
static Bool counts(struct entry *entry)
{
    if (entry->kind == OF_REUSE) {
        const struct distance_pair *pair =
            distance_pair_counted(exact_distance, entry->first, entry->second);
        if (!pair || (pair->time < least[OF_REUSE] &&
                      (pair->stack < least[BY_STACK] || !exact_options.stack)))
            return False;
        entry->first = pair->use;
        entry->second = pair->reuse;
        return True;
    }
    const struct shadow_pair *pair =
        shadow_pair_counted(&exact_shadow, entry->first, entry->second);
    if (!pair || weight_of_waste(entry->kind, pair) < least[entry->kind])
        return False;
    entry->first = shadow_first(pair);
    entry->second = pair->second;
    return True;
}

static Bool is_a(const struct entry *entry, enum wire_object object)
{
    return entry->lies_in == object;
}

static Bool is_block(const struct entry *entry)
{
    return is_a(entry, WIRE_OBJECT_HEAP) || is_a(entry, WIRE_OBJECT_MAPPED);
}

static void put(const struct exact_writer *writer, const struct entry *entry, Long at, UInt count)
{
    const struct exact_object *object = exact_object_number(entry->object);
    Bool heap = is_a(entry, WIRE_OBJECT_HEAP), stack = is_a(entry, WIRE_OBJECT_STACK);
    Bool data = is_a(entry, WIRE_OBJECT_GLOBAL) || is_a(entry, WIRE_OBJECT_DATA);
    UInt first = writer->node_of(entry->first), second = writer->node_of(entry->second);
    UInt node = heap ? writer->function_node(object->context, object->function) : 0;
    Addr bias = entry->module ? exact_module_number(entry->module)->bias : 0;
    struct wire_observed *made = writer->record(WIRE_OBSERVED, sizeof *made);
    made->kind = entry->kind;
    made->first = first;
    made->second = second;
    made->object = data ? WIRE_OBJECT_GLOBAL : entry->lies_in;
    made->module = entry->module;
    made->node = node;
    made->own = entry->own;
    made->count = count;
    made->size = entry->size;
    made->offset = data ? at - (Long)bias : at;
    made->offset_last = is_block(entry) ? entry->high : made->offset;
    made->frame_code = stack && entry->module ? entry->variable - bias : 0;
    writer->commit(made);
}

void exact_observe_output(const struct exact_writer *writer)
{
    find_least();
    for (UInt i = 0; i < entries_count; i++) {
        struct entry entry = entries[i];
        if (!counts(&entry))
            continue;
        Bool ends = entry.low != entry.high && !is_block(&entry);
        put(writer, &entry, entry.low, ends ? entry.count - 1 : entry.count);
        if (ends)
            put(writer, &entry, entry.high, 1);
    }
}
