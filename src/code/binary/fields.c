// SPDX-License-Identifier: MIT
/*
 * Which fields are at some bytes of an object? The type is walked from the outside; only parts that have bytes in the
 * range are entered, so that an array of millions costs what its few elements there cost.
 */
#include "binary/fields.h"
#include "binary/internal.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Entries visited for one answer: a type may have a million members, or refer to itself. */
enum { WORK_MAX = 1 << 17, PATH_MAX_BYTES = 512 };

struct walk {
    struct binary *binary;
    enum types_language language;
    uint64_t from, to;
    struct binary_field *fields;
    size_t count, capacity;
    unsigned work;
    char path[PATH_MAX_BYTES];
    size_t length;
};

/* Where a walk is. */
struct spot {
    uint64_t offset;
    const Dwarf_Die *owner, *element; /* types; NULL: none */
    uint64_t in_owner, element_bytes;
    bool overlaps;
    uint8_t bit, bits;
    int depth;
};

/* ---- the path ------------------------------------------------------------------------------------ */

/* Appends; what is too long ends in nothing, and the field keeps the path so far. Returns the length before. */
__attribute__((format(printf, 2, 3))) static size_t extend(struct walk *walk, const char *format,
                                                           ...)
{
    size_t before = walk->length, room = sizeof walk->path - before;
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(walk->path + before, room, format, arguments);
    va_end(arguments);
    if (bytes > 0)
        walk->length += (size_t)bytes < room ? (size_t)bytes : room - 1;
    return before;
}

static void shorten(struct walk *walk, size_t length)
{
    walk->length = length;
    walk->path[length] = 0;
}

static bool in_range(const struct walk *walk, uint64_t offset, uint64_t bytes)
{
    return offset < walk->to && (offset >= walk->from || bytes > walk->from - offset);
}

/* ---- leaves -------------------------------------------------------------------------------------- */

/* NULL: it has none. */
static const char *part_name(struct walk *walk, const Dwarf_Die *type)
{
    Dwarf_Die peeled;
    if (!type || !types_peel(type, &peeled) ||
        (types_is_aggregate(&peeled) && !types_has_name(type)))
        return NULL;
    return data_type_name(walk->binary, type, walk->language);
}

static void add_leaf(struct walk *walk, const Dwarf_Die *type, uint64_t bytes,
                     const struct spot *spot)
{
    struct util_text path = {0};
    if (walk->count == walk->capacity || !bytes || !in_range(walk, spot->offset, bytes))
        return;
    util_text_add(&path, walk->path, walk->length);
    struct binary_field *field = &walk->fields[walk->count];
    *field =
        (struct binary_field){.offset = spot->offset,
                              .bytes = bytes,
                              .bit = spot->bit,
                              .bits = spot->bits,
                              .overlaps = spot->overlaps,
                              .path = data_keep(walk->binary, &path),
                              .type = data_type_name(walk->binary, type, walk->language),
                              .owner = part_name(walk, spot->owner),
                              .element = part_name(walk, spot->element),
                              .in_owner = spot->owner ? spot->offset - spot->in_owner : 0,
                              .element_bytes = spot->element_bytes,
                              .handle = data_handle(walk->binary, type, walk->language, false)};
    walk->count += field->path != NULL;
}

static void walk_type(struct walk *walk, const Dwarf_Die *type, const struct spot *spot);

/* ---- members ------------------------------------------------------------------------------------- */

/* Offset of a member in what has it: a number, or the same as an expression. False: calculated. */
static bool member_offset(const Dwarf_Die *member, uint64_t *offset)
{
    Dwarf_Attribute found;
    Dwarf_Op *ops;
    size_t count;
    int64_t number;
    *offset = 0;
    if (!dwarf_attr((Dwarf_Die *)member, DW_AT_data_member_location, &found))
        return true;
    if (types_number(member, DW_AT_data_member_location, &number)) {
        *offset = (uint64_t)number;
        return number >= 0;
    }
    if (dwarf_getlocation(&found, &ops, &count) != 0 || count != 1 ||
        ops[0].atom != DW_OP_plus_uconst)
        return false;
    *offset = ops[0].number;
    return true;
}

/* A bit field: by its first bit in the structure (DWARF 4), or from the end of a unit of storage (DWARF 2). */
static bool bit_field(const Dwarf_Die *member, const Dwarf_Die *type, struct spot *spot,
                      uint64_t *bytes)
{
    int64_t bits, at, storage = 0;
    uint64_t type_bytes;
    if (!types_number(member, DW_AT_bit_size, &bits) || bits <= 0 || bits > 64)
        return false;
    if (types_number(member, DW_AT_bit_offset, &at)) {
        if (!types_number(member, DW_AT_byte_size, &storage) && types_bytes(type, &type_bytes))
            storage = (int64_t)type_bytes;
        if (storage <= 0 || storage > 8 || at < -64 || at > 64)
            return false;
        at = 8 * storage - at - bits;
    } else if (!types_number(member, DW_AT_data_bit_offset, &at)) {
        at = 0;
    }
    if (at < 0)
        return false;
    spot->offset += (uint64_t)at / 8;
    spot->bit = (uint8_t)(at % 8);
    spot->bits = (uint8_t)bits;
    *bytes = ((uint64_t)at % 8 + (uint64_t)bits + 7) / 8;
    return true;
}

/* Rust numbers the fields of tuples: __0 is read .0 */
static void extend_by_member(struct walk *walk, const char *name)
{
    bool numbered = walk->language == TYPES_OTHER && strncmp(name, "__", 2) == 0 &&
                    name[2] >= '0' && name[2] <= '9';
    extend(walk, "%s%s", walk->language == TYPES_FORTRAN ? "%" : ".", name + (numbered ? 2 : 0));
}

static void walk_member(struct walk *walk, const Dwarf_Die *member, const Dwarf_Die *owner,
                        const struct spot *spot)
{
    struct spot at = *spot;
    uint64_t offset, bytes;
    Dwarf_Die type;
    const char *name = types_text(member, DW_AT_name);
    if (types_flag(member, DW_AT_external) || types_flag(member, DW_AT_declaration) ||
        !types_of(member, &type) || !member_offset(member, &offset) ||
        __builtin_add_overflow(spot->offset, offset, &at.offset))
        return;
    size_t before = walk->length;
    at.owner = owner;
    at.in_owner = spot->offset;
    at.depth++;
    if (dwarf_tag((Dwarf_Die *)member) == DW_TAG_member && name)
        extend_by_member(walk, name);
    if (bit_field(member, &type, &at, &bytes))
        add_leaf(walk, &type, bytes, &at);
    else
        walk_type(walk, &type, &at);
    shorten(walk, before);
}

static void walk_members(struct walk *walk, const Dwarf_Die *parent, const Dwarf_Die *owner,
                         const struct spot *spot);

/* What a Rust enumeration has: one of several sets of members. */
static void walk_variants(struct walk *walk, const Dwarf_Die *part, const Dwarf_Die *owner,
                          const struct spot *spot)
{
    Dwarf_Die child;
    struct spot at = *spot;
    at.overlaps = true;
    at.depth++;
    if (at.depth > TYPES_DEPTH || dwarf_child((Dwarf_Die *)part, &child) != 0)
        return;
    do
        if (dwarf_tag(&child) == DW_TAG_variant)
            walk_members(walk, &child, owner, &at);
    while (types_next_sibling(&child));
}

static void walk_members(struct walk *walk, const Dwarf_Die *parent, const Dwarf_Die *owner,
                         const struct spot *spot)
{
    Dwarf_Die child;
    if (dwarf_child((Dwarf_Die *)parent, &child) != 0)
        return;
    do {
        int tag = dwarf_tag(&child);
        if (walk->work++ > WORK_MAX || walk->count == walk->capacity)
            return;
        if (tag == DW_TAG_member || tag == DW_TAG_inheritance)
            walk_member(walk, &child, owner, spot);
        else if (tag == DW_TAG_variant_part)
            walk_variants(walk, &child, owner, spot);
    } while (types_next_sibling(&child));
}

static bool has_several(const Dwarf_Die *type)
{
    Dwarf_Die child;
    if (dwarf_child((Dwarf_Die *)type, &child) != 0)
        return false;
    return types_next_sibling(&child);
}

/* ---- arrays -------------------------------------------------------------------------------------- */

static void extend_by_index(struct walk *walk, const struct types_array *array, uint64_t linear)
{
    int64_t index[TYPES_DIMENSIONS];
    unsigned count = array->dimensions;
    for (unsigned i = 0; i < count; i++) {
        unsigned at = array->first_is_fastest ? i : count - 1 - i;
        uint64_t elements = array->count[at];
        index[at] = array->lower[at] + (int64_t)(elements ? linear % elements : linear);
        linear = elements ? linear / elements : 0;
    }
    bool fortran = walk->language == TYPES_FORTRAN;
    for (unsigned i = 0; i < count; i++)
        extend(walk, "%s%" PRId64, i ? fortran ? "," : "][" : fortran ? "(" : "[", index[i]);
    extend(walk, fortran ? ")" : "]");
}

/* Elements that there are; of an array without an end, in the range, as many as need be. */
static uint64_t elements_of(const struct types_array *array)
{
    uint64_t total = 1;
    for (unsigned i = 0; i < array->dimensions; i++)
        if (!array->count[i] || __builtin_mul_overflow(total, array->count[i], &total))
            return UINT64_MAX;
    return total;
}

static void walk_elements(struct walk *walk, const struct types_array *array,
                          const struct spot *spot)
{
    uint64_t first = walk->from > spot->offset ? (walk->from - spot->offset) / array->stride : 0;
    uint64_t total = elements_of(array);
    size_t before = walk->length;
    for (uint64_t i = first; i < total && walk->count < walk->capacity; i++) {
        struct spot at = *spot;
        at.offset += i * array->stride;
        if (at.offset >= walk->to || walk->work++ > WORK_MAX)
            return;
        at.depth++;
        at.element = &array->element;
        at.element_bytes = array->stride;
        extend_by_index(walk, array, i);
        walk_type(walk, &array->element, &at);
        shorten(walk, before);
    }
}

/* ---- types --------------------------------------------------------------------------------------- */

static void walk_type(struct walk *walk, const Dwarf_Die *type, const struct spot *spot)
{
    struct types_array array;
    struct spot at = *spot;
    uint64_t bytes;
    Dwarf_Die peeled;
    if (spot->depth > TYPES_DEPTH || walk->work++ > WORK_MAX || spot->offset >= walk->to ||
        !types_peel(type, &peeled))
        return;
    bool known = types_bytes(&peeled, &bytes);
    if (known && !in_range(walk, spot->offset, bytes))
        return;
    if (types_is_aggregate(&peeled)) {
        at.overlaps |= dwarf_tag(&peeled) == DW_TAG_union_type && has_several(&peeled);
        walk_members(walk, &peeled, type, &at);
    } else if (types_array(&peeled, walk->language, &array)) {
        walk_elements(walk, &array, &at);
    } else if (known) {
        add_leaf(walk, type, bytes, &at);
    }
}

/* Variables of a common block have addresses of their own. */
static void walk_common(struct walk *walk, const struct binary_object *object,
                        const Dwarf_Die *block)
{
    Dwarf_Die child, type;
    size_t before = walk->length;
    uint64_t start;
    if (dwarf_child((Dwarf_Die *)block, &child) != 0)
        return;
    do {
        const char *name = types_text(&child, DW_AT_name);
        if (walk->work++ > WORK_MAX || !name || !data_place(&child, &start) ||
            start < object->start || !types_of(&child, &type))
            continue;
        struct spot at = {.offset = start - object->start};
        extend(walk, " %s", name);
        walk_type(walk, &type, &at);
        shorten(walk, before);
    } while (types_next_sibling(&child));
}

static void walk_blocks(struct walk *walk, const Dwarf_Die *type, uint64_t bytes)
{
    uint64_t size;
    if (!types_bytes(type, &size) || !size)
        return;
    struct types_array blocks = {
        .element = *type, .stride = size, .dimensions = 1, .count = {bytes / size}};
    struct spot at = {0};
    if (bytes < 2 * size)
        walk_type(walk, type, &at);
    else
        walk_elements(walk, &blocks, &at);
}

static int by_offset(const void *left, const void *right)
{
    const struct binary_field *a = left, *b = right;
    uint64_t first = 8 * a->offset + a->bit, second = 8 * b->offset + b->bit;
    if (first != second)
        return first < second ? -1 : 1;
    return (a->handle > b->handle) - (a->handle < b->handle); /* as declared */
}

size_t binary_fields(struct binary *binary, const struct binary_object *object, uint64_t from,
                     uint64_t to, struct binary_field *fields, size_t capacity)
{
    if (!object->handle || object->handle > binary->data.types_count || from >= to)
        return 0;
    struct data_type type = binary->data.types[object->handle - 1];
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return 0;
    *walk = (struct walk){.binary = binary,
                          .language = type.language,
                          .from = from,
                          .to = to,
                          .fields = fields,
                          .capacity = capacity};
    extend(walk, "%s", object->name ? object->name : object->type ? object->type : "");
    if (dwarf_tag(&type.die) == DW_TAG_common_block)
        walk_common(walk, object, &type.die);
    else if (type.repeated)
        walk_blocks(walk, &type.die, object->bytes);
    else
        walk_type(walk, &type.die, &(struct spot){0});
    size_t count = walk->count;
    free(walk);
    if (count)
        qsort(fields, count, sizeof *fields, by_offset);
    return count;
}

enum { SAME_BYTES_MAX = 4 };

/* "PATH (OWNER +N)", and of a union the others on the same byte: "PATH or PATH". */
static void fields_text(const struct binary_field *fields, size_t count, char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < count && used < size; i++) {
        const struct binary_field *field = &fields[i];
        int bytes = snprintf(text + used, size - used, "%s%s", i ? " or " : "", field->path);
        used += bytes > 0 ? (size_t)bytes : 0;
        if (used < size && count == 1 && field->owner) {
            bytes = snprintf(text + used, size - used, " (%s +%" PRIu64 ")", field->owner,
                             field->in_owner);
            used += bytes > 0 ? (size_t)bytes : 0;
        }
    }
}

void binary_object_text(struct binary *binary, const struct binary_object *object, uint64_t offset,
                        char *text, size_t size)
{
    struct binary_field fields[SAME_BYTES_MAX];
    const char *name = object->name ? object->name : object->type ? object->type : "?";
    size_t count = binary_fields(binary, object, offset, offset + 1, fields, SAME_BYTES_MAX);
    if (count)
        fields_text(fields, count, text, size);
    else if (offset)
        snprintf(text, size, "%s (+%" PRIu64 ")", name, offset);
    else
        snprintf(text, size, "%s", name);
    size_t used = strlen(text);
    if (object->function)
        snprintf(text + used, size - used, " in %s", object->function);
}
