// SPDX-License-Identifier: MIT
/*
 * What the locations of findings lie in: records that follow a trap or a reuse, kept by pair of nodes and by what they
 * name, until nodes have become contexts and addresses variables; then equal ones become one, so that a profile says
 * of a block allocated in some place what all threads and processes did to its kind.
 *
 * A block names the place of its allocation by a node of the thread that allocated it, which may be any. Nodes that are
 * wanted are listed in a pass of their own, before nodes are read.
 *
 * The exact engine's records name nodes of their own, and are entered as they are.
 *
 * A block that was recorded with some chance stands for 1 / chance of them, so that small ones count as much as large ones.
 */
#include "import/internal.h"

#include <math.h>
#include <stdlib.h>

/* As profile_check has it: sums stay exact. */
static const uint64_t most_counted = UINT64_C(1) << 50;

enum { CHANCE_LEAST_INVERSE = 1 << 20, FIELD_BYTES = 256, BLOCKS_MAX = 4096 };

/* Keys first. Of what is not in a module or a block the offset says nothing. */
struct item {
    uint32_t kind, first, second; /* of the pair: PROFILE_REUSE: of a reuse pair; nodes */
    uint32_t object, module;      /* module: of the profile */
    uint32_t process, thread;     /* heap, mapped: node is of that thread; else 0 */
    uint32_t node;                /* as in the log, then of gather->nodes, then a context */
    uint32_t other;
    uint64_t size,
        at; /* at: address of a variable, else 0; of a frame's from its canonical frame address */
    uint64_t code; /* of a frame's: an instruction of its function; else 0 */
    uint64_t low, high;
    uint64_t seen;
    double weight;
    const char *name, *type, *field, *member;
    uint64_t name_bytes;
};

struct import_located {
    struct item *items;
    size_t count, capacity;
    struct util_index by_key;
    struct import_wanted *wanted;
    size_t wanted_count, wanted_capacity;
    /* of the record before, if that can be located */
    bool pending;
    uint32_t kind, first, second;
    double weight;
};

/* ---- wanted nodes --------------------------------------------------------------------------------- */

static bool in_block(uint32_t object)
{
    return object == WIRE_OBJECT_HEAP || object == WIRE_OBJECT_MAPPED;
}

static bool want(void *context, const struct import_frame *frame, const struct wire_record *record)
{
    (void)frame;
    struct import_gather *gather = context;
    struct import_located *located = gather->located;
    const struct wire_located *of = (const struct wire_located *)record;
    if (!in_block(of->kind) || !of->node)
        return true;
    return UTIL_PUSH(located->wanted, located->wanted_count, located->wanted_capacity,
                     (struct import_wanted){.process = of->process,
                                            .thread = of->thread,
                                            .id = of->node,
                                            .node = IMPORT_UNKNOWN_NODE}) ||
           import_no_memory(gather);
}

static int compare_wanted(const void *left, const void *right)
{
    const struct import_wanted *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static bool make_located(struct import_gather *gather)
{
    gather->located = calloc(1, sizeof *gather->located);
    return gather->located || import_no_memory(gather);
}

bool import_located_begin(struct import_gather *gather, struct import_teller *teller)
{
    if (!make_located(gather))
        return false;
    struct import_located *located = gather->located;
    if (!import_log_visit(gather->log, 1U << WIRE_LOCATED, want, gather, teller, &gather->corrupt))
        return false;
    size_t kept = 0;
    if (located->wanted_count)
        qsort(located->wanted, located->wanted_count, sizeof *located->wanted, compare_wanted);
    for (size_t i = 0; i < located->wanted_count; i++)
        if (!kept || compare_wanted(&located->wanted[kept - 1], &located->wanted[i]) != 0)
            located->wanted[kept++] = located->wanted[i];
    gather->wanted = located->wanted;
    gather->wanted_count = located->wanted_count = kept;
    return true;
}

void import_located_free(struct import_located *located)
{
    if (!located)
        return;
    util_index_free(&located->by_key);
    free(located->items);
    free(located->wanted);
    free(located);
}

/* ---- records -------------------------------------------------------------------------------------- */

void import_located_next(struct import_gather *gather, uint32_t kind, uint32_t first,
                         uint32_t second, double weight)
{
    struct import_located *located = gather->located;
    located->pending = true;
    located->kind = kind;
    located->first = first;
    located->second = second;
    located->weight = weight;
}

static bool equal_item(const void *items, uint32_t item, const void *key)
{
    const struct item *a = &((const struct item *)items)[item], *b = key;
    return a->kind == b->kind && a->first == b->first && a->second == b->second &&
           a->object == b->object && a->module == b->module && a->process == b->process &&
           a->thread == b->thread && a->node == b->node && a->other == b->other &&
           a->size == b->size && a->at == b->at && a->code == b->code;
}

static uint64_t hash_item(const struct item *item)
{
    uint64_t hash = import_hash(item->kind, (uint64_t)item->first << 32 | item->second,
                                (uint64_t)item->object << 32 | item->module);
    hash = import_hash(hash, (uint64_t)item->process << 32 | item->thread,
                       (uint64_t)item->node << 32 | item->other);
    return import_hash(import_hash(hash, item->size, item->at), item->code, 0);
}

static bool add(struct import_gather *gather, const struct item *made)
{
    struct import_located *located = gather->located;
    uint32_t at;
    bool found;
    if (!UTIL_GROW(located->items, located->capacity, located->count) ||
        !util_index_enter(&located->by_key, hash_item(made), equal_item, located->items, made,
                          (uint32_t)located->count, &at, &found))
        return import_no_memory(gather);
    if (!found) {
        located->items[located->count++] = *made;
        return true;
    }
    struct item *item = &located->items[at];
    item->low = item->low < made->low ? item->low : made->low;
    item->high = item->high > made->high ? item->high : made->high;
    item->seen += made->seen;
    item->weight += made->weight;
    return true;
}

static bool is_sound(const struct import_located *located, const struct wire_located *record)
{
    double chance = (double)record->chance;
    if (!located->pending || record->kind >= WIRE_OBJECTS || record->size > most_counted ||
        !(chance > 0 && chance <= 1) || !isfinite(located->weight))
        return false;
    return !in_block(record->kind) ||
           (record->size > 0 && record->offset >= 0 && (uint64_t)record->offset < record->size);
}

static bool has_address(const struct wire_located *record)
{
    return record->module &&
           (record->kind == WIRE_OBJECT_GLOBAL || record->kind == WIRE_OBJECT_THREAD);
}

bool import_located_visit(struct import_gather *gather, const struct import_frame *frame,
                          const struct wire_located *record)
{
    struct import_located *located = gather->located;
    if (!is_sound(located, record)) {
        gather->corrupt += located->pending || record->kind >= WIRE_OBJECTS;
        located->pending = false;
        return true;
    }
    located->pending = false;
    double blocks = 1 / (double)record->chance;
    blocks = blocks < CHANCE_LEAST_INVERSE ? blocks : CHANCE_LEAST_INVERSE;
    struct item made = {.kind = located->kind,
                        .first = located->first,
                        .second = located->second,
                        .object = record->kind,
                        .size = record->size,
                        .seen = 1,
                        .weight = located->weight * blocks};
    if (has_address(record)) {
        made.module = import_module_of(gather, frame->process, record->module);
        made.at = (uint64_t)record->offset;
    } else if (in_block(record->kind)) {
        made.process = record->process;
        made.thread = record->thread;
        made.node = record->node;
        made.low = made.high = (uint64_t)record->offset;
    }
    if (record->kind == WIRE_OBJECT_STACK && record->frame_module) {
        made.module = import_module_of(gather, frame->process, record->frame_module);
        made.at = (uint64_t)record->frame_offset;
        made.code = record->frame_code;
    }
    if (record->kind == WIRE_OBJECT_STACK || record->kind == WIRE_OBJECT_THREAD)
        made.other = !record->own;
    return add(gather, &made);
}

static bool observed_ok(const struct wire_observed *record)
{
    return record->kind < PROFILE_KINDS && record->object < WIRE_OBJECTS &&
           record->object != WIRE_OBJECT_DATA && record->count && record->count <= most_counted &&
           record->size <= most_counted &&
           (!in_block(record->object) ||
            (record->offset >= 0 && record->offset <= record->offset_last &&
             (uint64_t)record->offset_last < record->size));
}

static void place_observed(struct import_gather *gather, const struct import_frame *frame,
                           const struct wire_observed *record, struct item *made)
{
    bool stack = record->object == WIRE_OBJECT_STACK;
    if (in_block(record->object)) {
        uint32_t node = record->node ? import_node_of(gather, record->node) : 0;
        made->node = node == IMPORT_UNKNOWN_NODE ? 0 : node;
        made->size = record->size;
        made->low = (uint64_t)record->offset;
        made->high = (uint64_t)record->offset_last;
    } else if (record->module) {
        made->module = import_module_of(gather, frame->process, record->module);
        made->at = (uint64_t)record->offset;
        made->code = stack ? record->frame_code : 0;
    }
    if (stack || record->object == WIRE_OBJECT_THREAD)
        made->other = !record->own;
}

bool import_located_observed(struct import_gather *gather, const struct import_frame *frame,
                             const struct wire_observed *record)
{
    if (!gather->located && !make_located(gather))
        return false;
    uint32_t first = import_node_of(gather, record->first);
    uint32_t second = import_node_of(gather, record->second);
    if (!observed_ok(record) || first == IMPORT_UNKNOWN_NODE || second == IMPORT_UNKNOWN_NODE) {
        gather->corrupt++;
        return true;
    }
    struct item made = {.kind = record->kind,
                        .first = first,
                        .second = second,
                        .object = record->object,
                        .seen = record->count,
                        .weight = (double)record->count};
    place_observed(gather, frame, record, &made);
    return add(gather, &made);
}

/* After the last record: nodes of the log become nodes. */
void import_located_settle(struct import_gather *gather)
{
    struct import_located *located = gather->located;
    for (size_t i = 0; located && i < located->count; i++) {
        struct item *item = &located->items[i];
        const struct import_wanted *wanted =
            item->node ? import_wanted_find(gather, item->process, item->thread, item->node) : NULL;
        item->node = wanted && wanted->node != IMPORT_UNKNOWN_NODE ? wanted->node : 0;
    }
}

uint32_t *import_located_node(const struct import_gather *gather, size_t index)
{
    const struct import_located *located = gather->located;
    if (!located || index / 3 >= located->count)
        return NULL;
    struct item *item = &located->items[index / 3];
    return index % 3 == 0 ? &item->node : index % 3 == 1 ? &item->first : &item->second;
}

/* ---- names ---------------------------------------------------------------------------------------- */

bool import_located_in_module(const struct import_gather *gather, uint32_t module)
{
    const struct import_located *located = gather->located;
    for (size_t i = 0; located && i < located->count; i++)
        if (located->items[i].module == module)
            return true;
    return false;
}

/* An instruction of the module that touches the location; 0: none is known. */
static uint64_t code_of(const struct import_gather *gather, const struct item *item)
{
    const struct import_node *first = &gather->nodes[item->first];
    const struct import_node *second = &gather->nodes[item->second];
    return first->module == item->module    ? first->vaddr
           : second->module == item->module ? second->vaddr
                                            : 0;
}

/* "a[3][1].b" without its numbers: "a[][].b". */
static void strip_indices(const char *path, char stripped[FIELD_BYTES])
{
    size_t used = 0;
    bool inside = false;
    for (; *path && used + 1 < FIELD_BYTES; path++) {
        inside = inside && *path != ']' && *path != ')';
        if (!inside)
            stripped[used++] = *path;
        inside |= *path == '[' || (*path == '(' && used > 1);
    }
    stripped[used] = 0;
}

/* The field with the bytes from item->low to item->high, if that is one. */
static bool name_field(struct import_gather *gather, struct binary *binary,
                       const struct binary_object *object, struct item *item)
{
    struct binary_field fields[2];
    char text[FIELD_BYTES];
    bool good = true;
    if (item->high == UINT64_MAX ||
        binary_fields(binary, object, item->low, item->high + 1, fields, 2) != 1)
        return true;
    binary_object_text(binary, object, item->low, text, sizeof text);
    item->field = import_keep(gather->profile, text, &good);
    strip_indices(fields[0].path, text);
    item->member = import_keep(gather->profile, text, &good);
    return good || import_no_memory(gather);
}

static bool name_item(struct import_gather *gather, struct binary *binary, struct item *item)
{
    struct binary_object found;
    char name[2 * FIELD_BYTES];
    bool good = true;
    uint64_t code = code_of(gather, item);
    struct import_datum datum = {.object = item->object, .code = item->code};
    enum base_status status = import_datum_variable(binary, &datum, item->at, code, &found);
    if (status == BASE_NO_MEMORY)
        return import_no_memory(gather);
    if (status != BASE_OK)
        return true;
    import_variable_name(&found, name, sizeof name);
    item->name = import_keep(gather->profile, name, &good);
    item->type = import_keep(gather->profile, found.type, &good);
    item->name_bytes = found.bytes;
    item->low = item->high = item->at - found.start;
    return (good || import_no_memory(gather)) && name_field(gather, binary, &found, item);
}

/* By what the callers of the allocation take blocks for. */
bool import_located_blocks(struct import_gather *gather, const struct binary_options *symbols)
{
    struct import_located *located = gather->located;
    bool good = true;
    struct import_types *types = NULL;
    for (size_t i = 0, asked = 0; good && located && i < located->count && asked < BLOCKS_MAX;
         i++) {
        struct item *item = &located->items[i];
        struct binary *binary;
        struct binary_object found;
        if (item->object != WIRE_OBJECT_HEAP || !item->node)
            continue;
        asked++;
        if (!types && !(types = import_types_begin(gather, symbols)))
            return import_no_memory(gather);
        if (!import_types_allocated(types, item->node, item->size, &binary, &found))
            continue;
        item->type = import_keep(gather->profile, found.type, &good);
        good = (good || import_no_memory(gather)) && name_field(gather, binary, &found, item);
    }
    import_types_end(types);
    return good;
}

bool import_located_of_module(struct import_gather *gather, uint32_t module, struct binary *binary)
{
    struct import_located *located = gather->located;
    for (size_t i = 0; located && binary && i < located->count; i++)
        if (located->items[i].module == module && !name_item(gather, binary, &located->items[i]))
            return false;
    return true;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

static uint32_t object_of(const struct item *item)
{
    bool nameless = item->object == WIRE_OBJECT_GLOBAL && !item->name;
    return nameless ? PROFILE_OBJECT_DATA : item->object;
}

static bool add_row(struct profile *profile, const struct item *item)
{
    struct profile_memory *memory = profile_add_memories(profile);
    struct profile_located *row = memory ? profile_add_located(profile) : NULL;
    if (!row)
        return false;
    bool nameless = item->object == WIRE_OBJECT_STACK && !item->name;
    *memory = (struct profile_memory){.object = object_of(item),
                                      .name = item->name,
                                      .type = item->type,
                                      .module = nameless ? 0 : item->module,
                                      .context = item->node,
                                      .other = item->other,
                                      .size = item->name ? item->name_bytes : item->size};
    *row = (struct profile_located){.kind = item->kind,
                                    .first = item->first,
                                    .second = item->second,
                                    .memory = (uint32_t)profile->memories_count - 1,
                                    .low = item->name || in_block(item->object) ? item->low : 0,
                                    .high = item->name || in_block(item->object) ? item->high : 0,
                                    .field = item->field,
                                    .member = item->member,
                                    .seen = item->seen,
                                    .weight = item->weight};
    return true;
}

bool import_located_finish(struct import_gather *gather)
{
    const struct import_located *located = gather->located;
    for (size_t i = 0; located && i < located->count; i++)
        if (!add_row(gather->profile, &located->items[i]))
            return import_no_memory(gather);
    return profile_settle_memory(gather->profile) == BASE_OK || import_no_memory(gather);
}
