// SPDX-License-Identifier: MIT
/*
 * Fortran's assumed-shape and allocatable arrays. flang keeps where such an array begins, its bounds and its strides in a descriptor in memory, and
 * reads them again for each element: nothing that is affine. Here each function gets a copy of each descriptor, made once where it begins, and uses
 * that: LLVM's sroa then takes the copies apart into values, forwards what the function itself allocates, and finds all else the same in all
 * of the function. Bounds that are given are constants in the copy; elements lie one behind the other.
 *
 * A descriptor that is changed behind the function's back, by what it calls, stays as it was; so do those within structures, and of
 * arrays of structures: they are left alone.
 */
#include "ir/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* flang 19's: address, bytes of an element, five more, and for each dimension lower bound, extent, and bytes from one to the next. */
#define DESCRIPTOR "{ ptr, i64, i32, i8, i8, i8, i8, ["
#define DIMENSIONS " x [3 x i64]] }"
enum { DESCRIPTORS_MAX = 64, TYPE_BYTES = 96, INSERTS_MAX = 64 };

struct descriptor {
    const char *value; /* in the text, "%1" or "@_QMsolverEu" */
    size_t bytes;
    char type[TYPE_BYTES];
    struct ir_described about;
    uint64_t element_bytes;
};

struct settling {
    const struct ir *ir;
    const struct function *function;
    const struct ir_shape *shapes;
    size_t shapes_count;
    struct util_text *text;
    struct descriptor descriptors[DESCRIPTORS_MAX];
    size_t count;
    uint32_t numbers; /* stored so far */
};

/* The type of a descriptor that begins there. 0: it is none. Its bytes otherwise. */
static size_t descriptor_type(const char *at, uint32_t *rank)
{
    if (!begins(at, DESCRIPTOR))
        return 0;
    char *end;
    unsigned long dimensions = strtoul(at + strlen(DESCRIPTOR), &end, 10);
    if (!begins(end, DIMENSIONS) || !dimensions || dimensions > IR_RANK_MAX)
        return 0;
    *rank = (uint32_t)dimensions;
    return (size_t)(end - at) + strlen(DIMENSIONS);
}

/* Does the function get it from outside, as a parameter or a global? */
static bool is_outside(const struct settling *settling, const char *value)
{
    return *value == '@' ||
           !ir_definition(settling->ir, settling->function, value, ir_value_bytes(value));
}

static void note(struct settling *settling, const char *line)
{
    const char *type = strstr(line, DESCRIPTOR), *value = ir_pointer_operand(line);
    struct descriptor *descriptor = &settling->descriptors[settling->count];
    bool allocatable = false;
    uint32_t rank = 0;
    size_t bytes = type ? descriptor_type(type, &rank) : 0;
    if (!bytes || bytes >= TYPE_BYTES || !value || settling->count == DESCRIPTORS_MAX ||
        strstr(line, "#dbg_") || strstr(line, "call ") || !is_outside(settling, value))
        return;
    for (size_t i = 0; i < settling->count; i++)
        if (ir_same_value(value, settling->descriptors[i].value))
            return;
    *descriptor = (struct descriptor){.value = value, .bytes = ir_value_bytes(value)};
    memcpy(descriptor->type, type, bytes);
    const char *variable = ir_variable(settling->ir, settling->function, value, descriptor->bytes);
    descriptor->element_bytes = ir_element_bytes(settling->ir, variable, &allocatable);
    descriptor->about =
        (struct ir_described){ir_variable_name(settling->ir, variable), rank, !allocatable, false};
    settling->count += descriptor->about.name && descriptor->element_bytes;
}

/* ---- copies ------------------------------------------------------------------------------------------------- */

static const struct ir_shape *shape_of(const struct settling *settling, const char *name)
{
    for (size_t i = 0; i < settling->shapes_count; i++)
        if (strcmp(settling->shapes[i].name, name) == 0)
            return &settling->shapes[i];
    return NULL;
}

/* One number of a dimension: 0 its lower bound, 1 its extent, 2 bytes from one element to the next. */
static void copy_number(const struct settling *settling, const struct descriptor *descriptor,
                        uint32_t dimension, unsigned which, const int64_t *constant)
{
    struct util_text *text = settling->text;
    size_t number = (size_t)(descriptor - settling->descriptors);
    char place[64], value[64];
    snprintf(place, sizeof place, "i32 0, i32 7, i32 %u, i32 %u", dimension, which);
    snprintf(value, sizeof value, "%%headroom.%zu.%u.%u", number, dimension, which);
    if (constant) {
        util_text_print(text, "  %s = add i64 0, %lld\n", value, (long long)*constant);
    } else {
        util_text_print(text, "  %s.from = getelementptr %s, ptr %.*s, %s\n", value,
                        descriptor->type, (int)descriptor->bytes, descriptor->value, place);
        util_text_print(text, "  %s = load i64, ptr %s.from\n", value, value);
    }
    util_text_print(text, "  %s.to = getelementptr %s, ptr %%headroom.%zu, %s\n", value,
                    descriptor->type, number, place);
    util_text_print(text, "  store i64 %s, ptr %s.to\n", value, value);
}

/* The product of the extents before. */
static void copy_stride(const struct settling *settling, const struct descriptor *descriptor,
                        uint32_t dimension)
{
    struct util_text *text = settling->text;
    size_t number = (size_t)(descriptor - settling->descriptors);
    char value[64];
    snprintf(value, sizeof value, "%%headroom.%zu.%u.2", number, dimension);
    if (dimension)
        util_text_print(text, "  %s = mul nsw i64 %%headroom.%zu.%u.2, %%headroom.%zu.%u.1\n",
                        value, number, dimension - 1, number, dimension - 1);
    else
        util_text_print(text, "  %s = add i64 0, %llu\n", value,
                        (unsigned long long)descriptor->element_bytes);
    util_text_print(text,
                    "  %s.to = getelementptr %s, ptr %%headroom.%zu, i32 0, i32 7, i32 %u, i32 2\n",
                    value, descriptor->type, number, dimension);
    util_text_print(text, "  store i64 %s, ptr %s.to\n", value, value);
}

static void copy_descriptor(const struct settling *settling, struct descriptor *descriptor)
{
    const struct ir_shape *shape = shape_of(settling, descriptor->about.name);
    struct util_text *text = settling->text;
    size_t number = (size_t)(descriptor - settling->descriptors);
    util_text_print(text, "  %%headroom.%zu = alloca %s\n", number, descriptor->type);
    util_text_print(text, "  %%headroom.%zu.base = load ptr, ptr %.*s\n", number,
                    (int)descriptor->bytes, descriptor->value);
    util_text_print(text, "  store ptr %%headroom.%zu.base, ptr %%headroom.%zu\n", number, number);
    util_text_print(text,
                    "  %%headroom.%zu.bytes = getelementptr %s, ptr %%headroom.%zu, i32 0, i32 1\n"
                    "  store i64 %llu, ptr %%headroom.%zu.bytes\n",
                    number, descriptor->type, number, (unsigned long long)descriptor->element_bytes,
                    number);
    for (uint32_t i = 0; i < descriptor->about.rank; i++) {
        bool known = shape && i < shape->rank;
        int64_t extent = known ? shape->high[i] - shape->low[i] + 1 : 0;
        descriptor->about.given |= known;
        copy_number(settling, descriptor, i, 0, known ? &shape->low[i] : NULL);
        copy_number(settling, descriptor, i, 1, known ? &extent : NULL);
        copy_stride(settling, descriptor, i);
    }
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

/* "insertvalue TYPE %12, i64 %8, 7, 0, 1" */
struct insertion {
    const char *into, *type, *indices; /* the next one, or constants */
    size_t type_bytes;                 /* of the descriptor */
    const char *operand;               /* with its type */
    int operand_bytes;
};

/* To the next comma that is in no brackets. */
static size_t operand_bytes(const char *at)
{
    size_t bytes = 0;
    int depth = 0;
    for (; at[bytes] && (depth || at[bytes] != ','); bytes++)
        depth += (at[bytes] == '(' || at[bytes] == '{' || at[bytes] == '[') -
                 (at[bytes] == ')' || at[bytes] == '}' || at[bytes] == ']');
    return bytes;
}

/* As which a value is defined. False: it is no insertion into a descriptor. */
static bool find_insertion(const struct settling *settling, const char *value,
                           struct insertion *insertion)
{
    const char *as = *value == '%' ? ir_definition(settling->ir, settling->function, value,
                                                   ir_value_bytes(value))
                                   : NULL;
    uint32_t rank;
    size_t bytes = as && begins(as, "insertvalue ") ? descriptor_type(as + 12, &rank) : 0;
    if (!bytes)
        return false;
    *insertion =
        (struct insertion){.type = as + 12, .type_bytes = bytes, .into = as + 12 + bytes + 1};
    const char *comma = insertion->into + operand_bytes(insertion->into);
    if (!*comma)
        return false;
    insertion->operand = comma + 2;
    insertion->operand_bytes = (int)operand_bytes(insertion->operand);
    comma = insertion->operand + insertion->operand_bytes;
    insertion->indices = comma + 2;
    return *comma == ',';
}

static bool is_at(const struct insertion *insertion, const char *indices)
{
    size_t bytes = strlen(indices);
    const char *end = insertion->indices + bytes;
    return strncmp(insertion->indices, indices, bytes) == 0 && (!*end || begins(end, ", !"));
}

/* The address that is put into a descriptor, of which a value is the last state; with its type. False: not known. */
static bool find_base(const struct settling *settling, const char *value,
                      struct insertion *insertion)
{
    for (int i = 0; i < INSERTS_MAX && find_insertion(settling, value, insertion); i++) {
        if (is_at(insertion, "0"))
            return begins(insertion->operand, "ptr %");
        value = insertion->into;
    }
    return false;
}

/* A number of a descriptor that is stored, from what was inserted there, or from the constants that this began with; those LLVM would not
   take from under an insertion. */
static bool store_number(struct settling *settling, const char *value, const char *to,
                         const char *indices, const char *places)
{
    struct insertion insertion;
    struct util_text *text = settling->text;
    uint32_t number = settling->numbers++;
    for (int i = 0; i < INSERTS_MAX && find_insertion(settling, value, &insertion); i++) {
        int type = (int)insertion.type_bytes;
        value = insertion.into;
        if (is_at(&insertion, indices)) {
            util_text_print(text, "  %%headroom.to.%u = getelementptr %.*s, ptr %.*s, %s\n", number,
                            type, insertion.type, (int)ir_value_bytes(to), to, places);
            util_text_print(text, "  store %.*s, ptr %%headroom.to.%u\n", insertion.operand_bytes,
                            insertion.operand, number);
            return true;
        }
        if (*value != '{')
            continue;
        util_text_print(text, "  %%headroom.number.%u = extractvalue %.*s %.*s, %s\n", number, type,
                        insertion.type, (int)operand_bytes(value), value, indices);
        util_text_print(text, "  %%headroom.to.%u = getelementptr %.*s, ptr %.*s, %s\n", number,
                        type, insertion.type, (int)ir_value_bytes(to), to, places);
        util_text_print(text, "  store i64 %%headroom.number.%u, ptr %%headroom.to.%u\n", number,
                        number);
        return true;
    }
    return false;
}

/* "store TYPE %12, ptr %3" of a descriptor that was put together, as stores of its parts. False: it is none. */
static bool store_parts(struct settling *settling, const char *line, const char *to)
{
    const char *type = strstr(line, "store ");
    uint32_t rank;
    size_t bytes = type ? descriptor_type(type + 6, &rank) : 0;
    const char *value = bytes ? type + 6 + bytes + 1 : NULL;
    struct insertion base;
    if (!bytes || !find_base(settling, value, &base))
        return false;
    util_text_print(settling->text, "  store %.*s, ptr %.*s\n", base.operand_bytes, base.operand,
                    (int)ir_value_bytes(to), to);
    bool good = store_number(settling, value, to, "1", "i32 0, i32 1");
    for (uint32_t i = 0; good && i < 3 * rank; i++) {
        char indices[64], places[64];
        snprintf(indices, sizeof indices, "7, %u, %u", i / 3, i % 3);
        snprintf(places, sizeof places, "i32 0, i32 7, i32 %u, i32 %u", i / 3, i % 3);
        good = store_number(settling, value, to, indices, places);
    }
    return good;
}

/* What a descriptor is called is said again of the address in it, which is what remains. */
static void settle_record(const struct settling *settling, const char *line)
{
    const char *record = strstr(line, "#dbg_value(");
    struct insertion base;
    uint32_t rank;
    size_t bytes = record ? descriptor_type(record + 11, &rank) : 0;
    const char *value = bytes ? record + 11 + bytes + 1 : NULL;
    if (value && find_base(settling, value, &base))
        util_text_print(settling->text, "  #dbg_value(%.*s%s\n", base.operand_bytes, base.operand,
                        value + ir_value_bytes(value));
}

static void settle_line(struct settling *settling, const char *line)
{
    const char *pointer = ir_pointer_operand(line);
    bool plain = strstr(line, "#dbg_") || strstr(line, "call ");
    char copy[32] = "";
    for (size_t i = 0; pointer && !plain && i < settling->count; i++)
        if (ir_same_value(pointer, settling->descriptors[i].value))
            snprintf(copy, sizeof copy, "%%headroom.%zu", i);
    if (!plain && pointer && ir_is_store(line) && store_parts(settling, line, pointer)) {
        if (copy[0])
            store_parts(settling, line, copy);
        return;
    }
    if (!copy[0] || ir_is_store(line))
        util_text_print(settling->text, "%s\n", line);
    if (copy[0])
        util_text_print(settling->text, "%.*s%s%s\n", (int)(pointer - line), line, copy,
                        pointer + ir_value_bytes(pointer));
    else
        settle_record(settling, line);
}

static bool settle_function(struct settling *settling, struct ir_descriptions *found)
{
    const struct ir *ir = settling->ir;
    const struct function *function = settling->function;
    uint32_t line = function->first + 1;
    settling->count = settling->numbers = 0;
    for (uint32_t i = line; i < function->end; i++)
        note(settling, ir->lines[i]);
    util_text_print(settling->text, "%s\n", ir->lines[function->first]);
    if (line < function->end && ir->lines[line][0] != ' ' && strchr(ir->lines[line], ':'))
        util_text_print(settling->text, "%s\n", ir->lines[line++]);
    for (size_t i = 0; i < settling->count; i++) {
        struct descriptor *descriptor = &settling->descriptors[i];
        copy_descriptor(settling, descriptor);
        if (!UTIL_PUSH(found->items, found->count, found->capacity, descriptor->about))
            return false;
    }
    for (; line < function->end; line++)
        settle_line(settling, ir->lines[line]);
    return true;
}

bool ir_settle_descriptors(const struct ir *ir, const struct ir_shape *shapes, size_t shapes_count,
                           struct util_text *text, struct ir_descriptions *found)
{
    struct settling *settling = calloc(1, sizeof *settling);
    bool good = settling != NULL;
    uint32_t line = 0;
    for (size_t i = 0; good && i < ir->functions_count; i++) {
        *settling = (struct settling){.ir = ir,
                                      .function = &ir->functions[i],
                                      .shapes = shapes,
                                      .shapes_count = shapes_count,
                                      .text = text};
        for (; line < ir->functions[i].first; line++)
            util_text_print(text, "%s\n", ir->lines[line]);
        good = settle_function(settling, found);
        line = ir->functions[i].end;
    }
    for (; line < ir->lines_count; line++)
        util_text_print(text, "%s\n", ir->lines[line]);
    free(settling);
    return good && !text->failed;
}

bool ir_reads_descriptors(const struct ir *ir)
{
    for (size_t i = 0; i < ir->functions_count; i++)
        for (uint32_t j = ir->functions[i].first + 1; j < ir->functions[i].end; j++) {
            const char *line = ir->lines[j];
            if ((strstr(line, " = load ") || strstr(line, " = getelementptr ")) &&
                strstr(line, DESCRIPTOR))
                return true;
        }
    return false;
}
