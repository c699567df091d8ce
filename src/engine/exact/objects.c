// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What lies at an address: blocks of the heap, by where they were allocated and how large they are; symbols of data; stacks
 * and thread-local memory; mappings. Equal ones have one number.
 */
#include "exact/sharing.h"

#include "heapmap/heapmap.h"
#include <pub_tool_aspacemgr.h>
#include <pub_tool_debuginfo.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_vki.h>

/* ---- numbers ----------------------------------------------------------------------------------- */

enum { OBJECTS_MAX = 1 << 20, BUCKETS = 1 << 16 };

static struct numbered {
    struct exact_object object;
    UInt next;
} * objects; /* [0]: not known */
static UInt *buckets, objects_count = 1;
Bool exact_objects;

const struct exact_object *exact_object_number(UInt number)
{
    return &objects[number].object;
}

static Bool equal(const struct exact_object *a, const struct exact_object *b)
{
    return a->kind == b->kind && a->thread == b->thread && a->context == b->context &&
           a->function == b->function && a->size == b->size &&
           (a->name == b->name || (a->name && b->name && VG_(strcmp)(a->name, b->name) == 0));
}

/* Names are copied. 0: there are too many. */
static UInt number_of(const struct exact_object *object)
{
    ULong hash = base_mix64(object->size ^ (ULong)object->context << 32 ^ object->kind);
    hash = base_mix64(hash ^ object->function ^ object->thread);
    if (object->name)
        hash = base_hash_bytes(object->name, VG_(strlen)(object->name), hash);
    UInt *bucket = &buckets[hash % BUCKETS];
    for (UInt at = *bucket; at; at = objects[at].next)
        if (equal(&objects[at].object, object))
            return at;
    if (objects_count == OBJECTS_MAX)
        return 0;
    struct numbered *made = &objects[objects_count];
    made->object = *object;
    made->object.name = object->name ? VG_(strdup)("headroom.object", object->name) : NULL;
    made->next = *bucket;
    *bucket = objects_count;
    return objects_count++;
}

/* ---- the heap ---------------------------------------------------------------------------------- */

enum { BLOCKS_MAX = 1 << 26 };
static struct heapmap blocks;

static void forget(Addr start, SizeT bytes)
{
    if (exact_transfer && bytes)
        transfer_forget(exact_transfer, start, bytes);
}

/* Transfers of its lines are settled first: that asks what the lines belong to. */
static void remove_at(Addr address)
{
    const struct heapmap_block *block = heapmap_find(&blocks, address);
    if (!block)
        return;
    forget(block->start, block->bytes);
    heapmap_remove(&blocks, address);
}

/* What was there before was freed in a way that was not seen. */
void exact_objects_add(Addr start, SizeT bytes, UInt context, Addr function)
{
    bytes = bytes ? bytes : 1;
    remove_at(start);
    remove_at(start + bytes - 1);
    forget(start, bytes);
    heapmap_add(&blocks, start, bytes, context, function);
}

void exact_objects_remove(Addr start)
{
    const struct heapmap_block *block = heapmap_find(&blocks, start);
    if (block && block->start == start)
        remove_at(start);
}

/* ---- addresses --------------------------------------------------------------------------------- */

static Bool is_block(Addr address, struct exact_object *object, Long *offset)
{
    const struct heapmap_block *block = heapmap_find(&blocks, address);
    if (!block)
        return False;
    *object = (struct exact_object){.kind = WIRE_OBJECT_HEAP,
                                    .context = block->context,
                                    .function = block->function,
                                    .size = block->bytes};
    *offset = (Long)(address - block->start);
    return True;
}

static Bool is_stack(Addr address, struct exact_object *object, Long *offset)
{
    UInt thread;
    ULong below;
    Bool local;
    if (!exact_sharing_stack_of(address, &thread, &below, &local))
        return False;
    *object = (struct exact_object){.kind = local ? WIRE_OBJECT_THREAD : WIRE_OBJECT_STACK,
                                    .thread = thread};
    *offset = -(Long)below;
    return True;
}

/* Data of a file, whose name is *name then. */
static Bool in_data(Addr address, const HChar **name)
{
    VgSectKind kind = VG_(DebugInfo_sect_kind)(name, address);
    return kind == Vg_SectData || kind == Vg_SectBSS;
}

static Bool is_data(Addr address, struct exact_object *object, Long *offset)
{
    const HChar *name = NULL;
    PtrdiffT within = 0;
    if (VG_(get_datasym_and_offset)(VG_(current_DiEpoch)(), address, &name, &within) && name) {
        *object = (struct exact_object){.kind = WIRE_OBJECT_GLOBAL, .name = name};
        *offset = within;
        return True;
    }
    if (!in_data(address, &name))
        return False;
    *object = (struct exact_object){.kind = WIRE_OBJECT_DATA, .name = name};
    *offset = (Long)address;
    return True;
}

Bool exact_objects_is_data(Addr address)
{
    enum { LATELY_SLOTS = 1 << 10 };
    static struct {
        Addr line;
        Bool data;
    } asked[LATELY_SLOTS];
    Addr line = address >> TRANSFER_LINE_SHIFT;
    UInt slot = (UInt)(base_mix64(line) % LATELY_SLOTS);
    if (asked[slot].line != line) {
        const HChar *name;
        asked[slot].line = line;
        asked[slot].data = in_data(address, &name);
    }
    return asked[slot].data;
}

/* Of Valgrind's core, in no public header: where the program's break began, and is. */
extern Addr VG_(brk_base), VG_(brk_limit);

static void mapping(Addr address, struct exact_object *object, Long *offset)
{
    const NSegment *segment = VG_(am_find_nsegment)(address);
    /* What lies there and is no block has been freed, or is the allocator's. */
    Bool heap = address >= VG_(brk_base) && address < VG_(brk_limit);
    *object =
        (struct exact_object){.kind = segment && !heap ? WIRE_OBJECT_MAPPED : WIRE_OBJECT_UNKNOWN};
    if (segment && segment->kind == SkFileC)
        object->name = VG_(am_get_filename)(segment);
    *offset = (Long)address;
}

UInt exact_objects_look_up(Addr address, Long *offset)
{
    struct exact_object object;
    if (!is_block(address, &object, offset) && !is_stack(address, &object, offset) &&
        !is_data(address, &object, offset))
        mapping(address, &object, offset);
    return number_of(&object);
}

struct transfer_object exact_objects_identify(void *unused, uint64_t address, uint64_t mask)
{
    (void)unused;
    UInt low = (UInt)__builtin_ctzll(mask), high = 63 - (UInt)__builtin_clzll(mask);
    Long offset, other_offset;
    UInt number = exact_objects_look_up(address + low, &offset);
    UInt other = exact_objects_look_up(address + high, &other_offset);
    if (number && other != number)
        objects[number].object.neighbour = other;
    return (struct transfer_object){number, offset - (Long)low};
}

void exact_objects_init(void)
{
    exact_objects = True;
    objects = exact_reserve(OBJECTS_MAX * sizeof *objects);
    buckets = exact_reserve(BUCKETS * sizeof *buckets);
    if (!objects || !buckets)
        exact_fail("the address space for objects was refused");
    if (heapmap_init(&blocks, EXACT_PROGRAM_END, BLOCKS_MAX, &exact_heapmap_memory) != BASE_OK)
        exact_fail("the address space for blocks of the heap was refused");
}
