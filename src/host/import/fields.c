// SPDX-License-Identifier: MIT
/*
 * Types of data (binary/fields.h), and the fields of lines that threads share: after addresses have been named, while rows
 * still name nodes. Lines of no weight are left out. Files are opened here once more, few at a time, since what
 * is asked for is in another order: a line's variable, and the callers of what allocated a block.
 */
#include "import/internal.h"

#include "binary/fields.h"
#include "cfg/cfg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES = 64,
    OPEN_MAX = 4,     /* files */
    LINES_MAX = 1024, /* with fields */
    FIELDS_MAX = 128, /* of a line: unions have more than there are bytes */
    CALLERS_MAX = 6,  /* that hand a block on */
};
#define LEAST_PART 1e-4 /* of all transfers */

struct opened {
    uint32_t module; /* 0: none */
    struct binary *binary;
    uint64_t used;
};

struct import_types {
    struct import_gather *gather;
    const struct binary_options *symbols;
    struct opened opened[OPEN_MAX];
    uint64_t clock;
    bool decodes;
};

/* What the lines of shared_lines need besides. */
struct fields {
    struct import_gather *gather;
    struct import_types *types;
    uint32_t *code; /* by line: a node of an access, 0: none */
};

struct import_types *import_types_begin(struct import_gather *gather,
                                        const struct binary_options *symbols)
{
    struct import_types *types = calloc(1, sizeof *types);
    if (types)
        *types = (struct import_types){
            .gather = gather, .symbols = symbols, .decodes = cfg_start() == BASE_OK};
    return types;
}

void import_types_end(struct import_types *types)
{
    for (size_t i = 0; types && i < OPEN_MAX; i++)
        binary_close(types->opened[i].binary);
    free(types);
}

struct binary *import_types_file(struct import_types *types, uint32_t module)
{
    struct opened *oldest = &types->opened[0];
    const struct profile *profile = types->gather->profile;
    if (!module || module >= profile->modules_count)
        return NULL;
    for (size_t i = 0; i < OPEN_MAX; i++) {
        struct opened *opened = &types->opened[i];
        if (opened->module == module) {
            opened->used = ++types->clock;
            return opened->binary;
        }
        oldest = opened->used < oldest->used ? opened : oldest;
    }
    binary_close(oldest->binary);
    *oldest = (struct opened){.module = module, .used = ++types->clock};
    const char *path = profile->modules[module].path;
    if (path[0] && binary_open(path, types->symbols, &oldest->binary) != BASE_OK)
        oldest->binary = NULL;
    return oldest->binary;
}

bool import_types_allocated(struct import_types *types, uint32_t node, uint64_t bytes,
                            struct binary **binary, struct binary_object *object)
{
    const struct import_node *nodes = types->gather->nodes;
    bool hands_on = types->decodes;
    for (int i = 0; node && hands_on && i < CALLERS_MAX; i++, node = nodes[node].parent) {
        if (nodes[node].flags & WIRE_NODE_LEAF)
            continue; /* the allocator itself */
        *binary = import_types_file(types, nodes[node].module);
        if (!*binary)
            return false;
        if (binary_allocated(*binary, nodes[node].vaddr, bytes, object, &hands_on) == BASE_OK)
            return true;
    }
    return false;
}

/* ---- rows --------------------------------------------------------------------------------------- */

/* The part of a field that is on the line, whose first byte is at `line` of the object. False: no memory. */
static bool add_row(struct fields *fields, uint32_t number, const struct binary_object *object,
                    const struct binary_field *field, int64_t line)
{
    struct profile *profile = fields->gather->profile;
    int64_t from = (int64_t)field->offset - line, to = from + (int64_t)field->bytes;
    bool good = true;
    from = from < 0 ? 0 : from;
    to = to > LINE_BYTES ? LINE_BYTES : to;
    if (from >= to)
        return true;
    struct profile_shared_field row = {.line = number,
                                       .byte = (uint32_t)from,
                                       .bytes = (uint32_t)(to - from),
                                       .bit = field->bit,
                                       .bits = field->bits,
                                       .flags = (object->guessed ? PROFILE_FIELD_GUESSED : 0U) |
                                                (field->overlaps ? PROFILE_FIELD_OVERLAPS : 0U),
                                       .path = import_keep(profile, field->path, &good),
                                       .type = import_keep(profile, field->type, &good),
                                       .owner = import_keep(profile, field->owner, &good),
                                       .element = import_keep(profile, field->element, &good),
                                       .element_bytes = field->element_bytes};
    struct profile_shared_field *added =
        good && row.path ? profile_add_shared_fields(profile) : NULL;
    if (added)
        *added = row;
    return added || import_no_memory(fields->gather);
}

/* line: offset of the line's first byte in the object, negative if that begins within the line. */
static bool add_fields(struct fields *fields, uint32_t number, struct binary *binary,
                       const struct binary_object *object, int64_t line)
{
    struct binary_field found[FIELDS_MAX];
    uint64_t from = line > 0 ? (uint64_t)line : 0, to = (uint64_t)(line + LINE_BYTES);
    if (object->bytes && to > object->bytes)
        to = object->bytes;
    size_t count = binary_fields(binary, object, from, to, found, FIELDS_MAX);
    if (!count && object->name && object->bytes) {
        found[0] = (struct binary_field){
            .bytes = object->bytes, .path = object->name, .type = object->type};
        count = 1;
    }
    for (size_t i = 0; i < count; i++)
        if (!add_row(fields, number, object, &found[i], line))
            return false;
    return true;
}

/* ---- variables ---------------------------------------------------------------------------------- */

/* The address of an access in that file, 0: none known. */
static uint64_t code_of(const struct fields *fields, uint32_t line, uint32_t module)
{
    const struct import_node *node = &fields->gather->nodes[fields->code[line]];
    return fields->code[line] && node->module == module ? import_look_up(node) : 0;
}

enum base_status import_datum_variable(struct binary *binary, const struct import_datum *datum,
                                       uint64_t at, uint64_t code, struct binary_object *object)
{
    switch (datum->object) {
    case PROFILE_OBJECT_THREAD: return binary_thread_variable(binary, at, code, object);
    case PROFILE_OBJECT_STACK:
        return binary_frame_variable(binary, datum->code, (int64_t)at, object);
    default: return binary_variable(binary, at, code, object);
    }
}

void import_variable_name(const struct binary_object *object, char *name, size_t bytes)
{
    if (object->function)
        snprintf(name, bytes, "%s in %s", object->name, object->function);
    else
        snprintf(name, bytes, "%s", object->name);
}

/* All variables that have bytes on the line. */
static bool add_variables(struct fields *fields, uint32_t number, const struct import_datum *datum)
{
    struct binary *binary = import_types_file(fields->types, datum->module);
    uint64_t code = code_of(fields, number, datum->module);
    for (uint64_t byte = 0, next; binary && byte < LINE_BYTES; byte = next) {
        struct binary_object object;
        next = byte + 1;
        if (import_datum_variable(binary, datum, datum->vaddr + byte, code, &object) != BASE_OK)
            continue;
        int64_t before = (int64_t)(datum->vaddr - object.start);
        if (!add_fields(fields, number, binary, &object, before))
            return false;
        if ((int64_t)object.bytes - before > (int64_t)next)
            next = (uint64_t)((int64_t)object.bytes - before);
    }
    return true;
}

/* ---- the heap ------------------------------------------------------------------------------------ */

static bool add_block(struct fields *fields, uint32_t number)
{
    const struct profile_shared_line *line = &fields->gather->profile->shared_lines[number];
    struct binary *binary;
    struct binary_object object;
    if (!import_types_allocated(fields->types, line->context, line->size, &binary, &object))
        return true;
    return add_fields(fields, number, binary, &object, (int64_t)line->offset);
}

/* ---- all lines ----------------------------------------------------------------------------------- */

static bool find_code(struct fields *fields)
{
    const struct profile *profile = fields->gather->profile;
    fields->code = calloc(profile->shared_lines_count + 1, sizeof *fields->code);
    for (size_t i = 0; fields->code && i < profile->shared_pairs_count; i++)
        if (!fields->code[profile->shared_pairs[i].line])
            fields->code[profile->shared_pairs[i].line] = profile->shared_pairs[i].first;
    return fields->code != NULL;
}

static bool add_line(struct fields *fields, uint32_t number)
{
    uint32_t object = fields->gather->profile->shared_lines[number].object;
    const struct import_datum *datum = &fields->gather->shared_data[number];
    if (object == PROFILE_OBJECT_HEAP)
        return add_block(fields, number);
    bool variable = object == PROFILE_OBJECT_GLOBAL || object == PROFILE_OBJECT_THREAD ||
                    object == PROFILE_OBJECT_STACK;
    return !variable || !datum->module || add_variables(fields, number, datum);
}

bool import_shared_fields(struct import_gather *gather, const struct binary_options *symbols)
{
    struct fields fields = {.gather = gather};
    const struct profile *profile = gather->profile;
    double all = 0;
    size_t taken = 0;
    if (!profile->shared_lines_count)
        return true;
    fields.types = import_types_begin(gather, symbols);
    bool good = (fields.types && find_code(&fields)) || import_no_memory(gather);
    for (size_t i = 0; i < profile->shared_lines_count; i++)
        all += profile->shared_lines[i].true_transfers + profile->shared_lines[i].false_transfers;
    for (uint32_t i = 0; good && i < profile->shared_lines_count && taken < LINES_MAX; i++) {
        const struct profile_shared_line *line = &profile->shared_lines[i];
        if (line->true_transfers + line->false_transfers < all * LEAST_PART)
            continue;
        good = add_line(&fields, i);
        taken++;
    }
    import_types_end(fields.types);
    free(fields.code);
    return good;
}
