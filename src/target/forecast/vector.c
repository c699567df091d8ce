// SPDX-License-Identifier: MIT
/*
 * Vectors, as far as string functions need them: strlen, memchr, strcmp and
 * their like load vectors, compare bytes, gather the outcome in a general or
 * mask register and branch on it. Without them a forecast would end at every
 * such call. Floating point and everything else stays unknown: it rarely
 * decides an address.
 *
 * Vectors are unknown at the start: the state comes without them. What is loaded
 * into one is read when it is needed, which it mostly is not: numeric code would else spend most
 * of a forecast on reading (a system call for each new line) numbers that decide nothing.
 * Signal-safe; state is the machine's.
 */
#include "forecast/machine.h"
#include <string.h>

struct vector {
    uint8_t bytes[VECTOR_BYTES];
    uint64_t known; /* bit i: byte i */
    unsigned count; /* bytes         */
};

static uint64_t bits_below(unsigned count)
{
    return count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

/* ---- deferred loads ---- */

static void settle(struct machine *machine, unsigned number)
{
    struct deferred *from = &machine->vector_deferred[number];
    if (!from->bytes)
        return;
    unsigned read = machine_fetch(machine, from->address, machine->vector[number], from->bytes);
    machine->vector_known[number] |= bits_below(read);
    from->bytes = 0;
}

/* The vector's low `bytes` are those in memory, then zeros up to `count`; above that VEX zeroes and
   legacy encodings keep. False: not that simple. */
static bool defer(struct machine *machine, const struct entry *entry, unsigned bytes,
                  unsigned count)
{
    const struct isa_operand *to = &entry->operation.operands[0], *from = to + 1;
    struct deferred *deferred = &machine->vector_deferred[to->number];
    if (to->kind != ISA_VECTOR || from->kind != ISA_MEMORY || bytes > VECTOR_BYTES)
        return false;
    struct value address = machine_address(machine, entry, from->number);
    if (!address.known || !machine_is_untouched(machine, address.bits, bytes))
        return false;
    if (entry->operation.zeroes_upper)
        count = VECTOR_BYTES;
    else if (deferred->bytes > count)
        settle(machine, to->number);
    uint64_t zeros = bits_below(count) & ~bits_below(bytes);
    memset(machine->vector[to->number] + bytes, 0, count - bytes);
    machine->vector_known[to->number] =
        (machine->vector_known[to->number] & ~bits_below(count)) | zeros;
    *deferred = (struct deferred){address.bits, bytes};
    return true;
}

/* ---- operands ---- */

static struct vector read_vector(struct machine *machine, const struct entry *entry,
                                 unsigned operand)
{
    const struct isa_operand *from = &entry->operation.operands[operand];
    struct vector out = {.known = 0, .count = from->bytes};
    if (from->kind == ISA_VECTOR) {
        settle(machine, from->number);
        memcpy(out.bytes, machine->vector[from->number], from->bytes);
        out.known = machine->vector_known[from->number] & bits_below(from->bytes);
    } else if (from->kind == ISA_MEMORY && from->bytes <= VECTOR_BYTES) {
        struct value address = machine_address(machine, entry, from->number);
        if (address.known)
            out.known = machine_load(machine, address.bits, from->bytes, out.bytes);
    } else if (from->kind == ISA_GENERAL) {
        struct value value = machine_read(machine, entry, operand);
        memcpy(out.bytes, &value.bits, sizeof(value.bits));
        out.known = value.known ? bits_below(from->bytes) : 0;
    }
    return out;
}

/* Writes the low `count` bytes; above them VEX zeroes and legacy encodings keep. */
static void write_vector(struct machine *machine, const struct entry *entry,
                         const struct vector *from)
{
    const struct isa_operand *to = &entry->operation.operands[0];
    uint64_t changed = bits_below(from->count);
    uint8_t *vector = machine->vector[to->number];
    if (!entry->operation.zeroes_upper && machine->vector_deferred[to->number].bytes > from->count)
        settle(machine, to->number);
    machine->vector_deferred[to->number].bytes = 0;
    memcpy(vector, from->bytes, from->count);
    if (entry->operation.zeroes_upper) {
        memset(vector + from->count, 0, VECTOR_BYTES - from->count);
        machine->vector_known[to->number] = (from->known & changed) | ~changed;
    } else {
        machine->vector_known[to->number] =
            (machine->vector_known[to->number] & ~changed) | (from->known & changed);
    }
}

/* To a vector register or to memory. */
static bool write_any(struct machine *machine, const struct entry *entry, const struct vector *from)
{
    const struct isa_operand *to = &entry->operation.operands[0];
    if (to->kind == ISA_VECTOR) {
        write_vector(machine, entry, from);
        return true;
    }
    if (to->kind != ISA_MEMORY)
        return false;
    struct value address = machine_address(machine, entry, to->number);
    if (!address.known)
        return false;
    machine_store(machine, address.bits, to->bytes, from->bytes, from->known);
    return true;
}

static bool move(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = entry->operation.operands[1].bytes;
    if (bytes == entry->operation.operands[0].bytes && defer(machine, entry, bytes, bytes))
        return true;
    struct vector from = read_vector(machine, entry, 1);
    return from.count && write_any(machine, entry, &from);
}

/* movd, movq: the narrower operand's width; vectors are zero-extended to 16 bytes. */
static bool move_low(struct machine *machine, const struct entry *entry)
{
    const struct isa_operand *operands = entry->operation.operands;
    if (operands[1].bytes <= 8 && defer(machine, entry, operands[1].bytes, 16))
        return true;
    struct vector from = read_vector(machine, entry, 1);
    unsigned bytes = operands[0].kind == ISA_VECTOR ? operands[1].bytes : operands[0].bytes;
    if (operands[0].kind == ISA_VECTOR && operands[1].kind == ISA_VECTOR)
        bytes = 8;
    if (bytes > 8 || operands[0].kind == ISA_ELSEWHERE || operands[1].kind == ISA_ELSEWHERE)
        return false; /* MMX */
    if (operands[0].kind == ISA_GENERAL) {
        struct value value = {0, (from.known & bits_below(bytes)) == bits_below(bytes)};
        memcpy(&value.bits, from.bytes, sizeof(value.bits));
        machine_write(machine, entry, 0, value);
        return true;
    }
    if (operands[0].kind == ISA_VECTOR) {
        memset(from.bytes + bytes, 0, sizeof(from.bytes) - bytes);
        from.known = (from.known & bits_below(bytes)) | ~bits_below(bytes);
        from.count = 16;
    }
    return write_any(machine, entry, &from);
}

/* movss, movsd. */
static bool move_scalar(struct machine *machine, const struct entry *entry)
{
    const struct isa_operation *operation = &entry->operation;
    unsigned bytes = operation->element_bytes;
    if (operation->operands[0].kind == ISA_MEMORY || operation->operands[1].kind == ISA_MEMORY)
        return move_low(machine, entry);
    bool three = operation->operand_count >= 3 && operation->operands[2].kind == ISA_VECTOR;
    struct vector out = read_vector(machine, entry, three ? 1 : 0);
    struct vector low = read_vector(machine, entry, three ? 2 : 1);
    memcpy(out.bytes, low.bytes, bytes);
    out.known = (out.known & ~bits_below(bytes)) | (low.known & bits_below(bytes));
    out.count = 16;
    write_vector(machine, entry, &out);
    return true;
}

static bool broadcast(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = entry->operation.element_bytes;
    struct vector from = read_vector(machine, entry, 1), out = {.known = 0};
    out.count = entry->operation.operands[0].bytes;
    if (entry->operation.operands[0].kind != ISA_VECTOR)
        return false;
    bool known = (from.known & bits_below(bytes)) == bits_below(bytes);
    for (unsigned i = 0; i + bytes <= out.count; i += bytes)
        memcpy(out.bytes + i, from.bytes, bytes);
    out.known = known ? bits_below(out.count) : 0;
    write_vector(machine, entry, &out);
    return true;
}

/* ---- two sources, one destination ---- */

struct pair {
    struct vector a, b;
    bool same; /* one register twice: the outcome may be known though the register is not */
};

/* False when an operand is of another width (embedded broadcast) or no vector (MMX). */
static bool read_pair(struct machine *machine, const struct entry *entry, struct pair *pair)
{
    const struct isa_operation *operation = &entry->operation;
    unsigned first = operation->zeroes_upper ? 1 : 0;
    const struct isa_operand *a = &operation->operands[first], *b = a + 1;
    pair->a = read_vector(machine, entry, first);
    pair->b = read_vector(machine, entry, first + 1);
    pair->same = b->kind == ISA_VECTOR && a->number == b->number;
    return a->kind == ISA_VECTOR && a->bytes == b->bytes &&
           (b->kind == ISA_VECTOR || b->kind == ISA_MEMORY);
}

static uint64_t element(const struct vector *vector, unsigned at, unsigned bytes)
{
    uint64_t out = 0;
    memcpy(&out, vector->bytes + at, bytes);
    return out;
}

static bool logic(struct machine *machine, const struct entry *entry)
{
    struct pair pair;
    struct vector out;
    if (!read_pair(machine, entry, &pair))
        return false;
    out = pair.a;
    out.known &= pair.b.known;
    for (unsigned i = 0; i < out.count; i++) {
        uint8_t a = pair.a.bytes[i], b = pair.b.bytes[i];
        switch (entry->operation.code) {
        case ISA_DO_VECTOR_AND: out.bytes[i] = a & b; break;
        case ISA_DO_VECTOR_ANDN: out.bytes[i] = (uint8_t)(~a & b); break;
        case ISA_DO_VECTOR_OR: out.bytes[i] = a | b; break;
        default: out.bytes[i] = a ^ b; break;
        }
    }
    if (pair.same && entry->operation.code == ISA_DO_VECTOR_XOR) {
        memset(out.bytes, 0, out.count);
        out.known = bits_below(out.count);
    }
    write_vector(machine, entry, &out);
    return true;
}

static bool ternary(struct machine *machine, const struct entry *entry)
{
    const struct isa_operand *operands = entry->operation.operands;
    if (operands[2].kind == ISA_MEMORY && operands[2].bytes != operands[0].bytes)
        return false;
    struct vector a = read_vector(machine, entry, 0), b = read_vector(machine, entry, 1);
    struct vector c = read_vector(machine, entry, 2), out = a;
    unsigned table = (unsigned)entry->operation.immediate & 0xff;
    for (unsigned i = 0; i < out.count; i++) {
        unsigned byte = 0;
        for (unsigned bit = 0; bit < 8; bit++) {
            unsigned row = (a.bytes[i] >> bit & 1u) << 2 | (b.bytes[i] >> bit & 1u) << 1 |
                           (c.bytes[i] >> bit & 1u);
            byte |= (table >> row & 1) << bit;
        }
        out.bytes[i] = (uint8_t)byte;
    }
    out.known = table == 0xff || table == 0 ? bits_below(out.count) : a.known & b.known & c.known;
    write_vector(machine, entry, &out);
    return true;
}

static uint64_t arithmetic(unsigned code, uint64_t a, uint64_t b)
{
    switch (code) {
    case ISA_DO_VECTOR_ADD: return a + b;
    case ISA_DO_VECTOR_SUB: return a - b;
    case ISA_DO_VECTOR_SUB_SATURATED: return a > b ? a - b : 0;
    case ISA_DO_VECTOR_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
    }
}

static bool by_element(struct machine *machine, const struct entry *entry)
{
    struct pair pair;
    unsigned bytes = entry->operation.element_bytes;
    if (!read_pair(machine, entry, &pair))
        return false;
    struct vector out = pair.a;
    uint64_t known = pair.a.known & pair.b.known;
    out.known = 0;
    for (unsigned i = 0; i + bytes <= out.count; i += bytes) {
        uint64_t result = arithmetic(entry->operation.code, element(&pair.a, i, bytes),
                                     element(&pair.b, i, bytes));
        memcpy(out.bytes + i, &result, bytes);
        if ((known >> i & bits_below(bytes)) == bits_below(bytes))
            out.known |= bits_below(bytes) << i;
    }
    write_vector(machine, entry, &out);
    return true;
}

/* Predicates of vpcmp: eq, lt, le, false, ne, ge, gt, true. */
static bool predicate(unsigned number, uint64_t a, uint64_t b, unsigned bytes, bool is_unsigned)
{
    int64_t x = (int64_t)machine_extend(a, bytes), y = (int64_t)machine_extend(b, bytes);
    bool less = is_unsigned ? a < b : x < y, equal = a == b;
    switch (number & 7) {
    case 0: return equal;
    case 1: return less;
    case 2: return less || equal;
    case 3: return false;
    case 4: return !equal;
    case 5: return !less;
    case 6: return !less && !equal;
    default: return true;
    }
}

static bool compared(const struct entry *entry, uint64_t a, uint64_t b)
{
    const struct isa_operation *operation = &entry->operation;
    unsigned bytes = operation->element_bytes;
    switch (operation->code) {
    case ISA_DO_VECTOR_EQUAL: return a == b;
    case ISA_DO_VECTOR_GREATER: return predicate(6, a, b, bytes, false);
    case ISA_DO_VECTOR_TESTN: return (a & b) == 0;
    case ISA_DO_VECTOR_TESTM: return (a & b) != 0;
    default: return predicate((unsigned)operation->immediate, a, b, bytes, operation->condition);
    }
}

/* Writes a mask register, under the write mask if there is one. */
static bool set_mask(struct machine *machine, const struct entry *entry, uint64_t bits, bool known)
{
    const struct isa_operation *operation = &entry->operation;
    unsigned under = operation->mask, number = operation->operands[0].number;
    if (under && !machine->mask_known[under])
        return false;
    if (under)
        bits &= machine->mask[under];
    machine->mask[number] = bits;
    machine->mask_known[number] = known;
    return true;
}

static bool compare(struct machine *machine, const struct entry *entry)
{
    struct pair pair;
    unsigned bytes = entry->operation.element_bytes;
    bool to_mask = entry->operation.operands[0].kind == ISA_MASK;
    if (!read_pair(machine, entry, &pair))
        return false;
    struct vector out = pair.a;
    uint64_t known = pair.a.known & pair.b.known, mask = 0;
    if (pair.same && entry->operation.code == ISA_DO_VECTOR_EQUAL)
        known = bits_below(out.count); /* all ones, whatever it holds */
    for (unsigned i = 0, at = 0; i + bytes <= out.count; i += bytes, at++) {
        bool yes = compared(entry, element(&pair.a, i, bytes), element(&pair.b, i, bytes));
        memset(out.bytes + i, yes ? 0xff : 0, bytes);
        mask |= (uint64_t)yes << at;
        if ((known >> i & bits_below(bytes)) != bits_below(bytes))
            known &= ~(bits_below(bytes) << i);
    }
    out.known = known;
    if (to_mask)
        return set_mask(machine, entry, mask, known == bits_below(out.count));
    write_vector(machine, entry, &out);
    return true;
}

/* ---- within one source ---- */

static bool signs(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = entry->operation.element_bytes;
    struct vector from = read_vector(machine, entry, 1);
    struct value out = {0, from.count && from.known == bits_below(from.count)};
    if (entry->operation.operands[1].kind != ISA_VECTOR)
        return false;
    for (unsigned i = bytes - 1, at = 0; i < from.count; i += bytes, at++)
        out.bits |= (uint64_t)(from.bytes[i] >> 7) << at;
    machine_write(machine, entry, 0, out);
    return true;
}

static bool shuffle(struct machine *machine, const struct entry *entry)
{
    struct vector from = read_vector(machine, entry, 1), out = from;
    if (entry->operation.operands[0].bytes != from.count)
        return false;
    out.known = 0;
    for (unsigned i = 0; i < out.count; i += 4) {
        unsigned lane = i & ~15u, pick = (unsigned)(entry->operation.immediate >> (i % 16 / 2));
        unsigned source = lane + (pick & 3) * 4;
        memcpy(out.bytes + i, from.bytes + source, 4);
        out.known |= (from.known >> source & 15) << i;
    }
    write_vector(machine, entry, &out);
    return true;
}

static bool unpack_low(struct machine *machine, const struct entry *entry)
{
    struct pair pair;
    unsigned bytes = entry->operation.element_bytes;
    if (!read_pair(machine, entry, &pair))
        return false;
    struct vector out = pair.a;
    out.known = 0;
    for (unsigned i = 0; i < out.count; i += bytes) {
        const struct vector *from = i / bytes % 2 ? &pair.b : &pair.a;
        unsigned source = (i & ~15u) + i % 16 / (2 * bytes) * bytes;
        memcpy(out.bytes + i, from->bytes + source, bytes);
        out.known |= (from->known >> source & bits_below(bytes)) << i;
    }
    write_vector(machine, entry, &out);
    return true;
}

static bool test(struct machine *machine, const struct entry *entry)
{
    struct vector a = read_vector(machine, entry, 0), b = read_vector(machine, entry, 1);
    uint64_t both = 0, only_b = 0;
    if (a.count != b.count || (a.known & b.known) != bits_below(a.count))
        return false;
    for (unsigned i = 0; i < a.count; i++) {
        both |= a.bytes[i] & b.bytes[i];
        only_b |= (uint8_t)(~a.bytes[i] & b.bytes[i]);
    }
    machine_set_flags(machine, entry, FLAGS_ARITHMETIC,
                      (both ? 0 : FLAG_ZERO) | (only_b ? 0 : FLAG_CARRY));
    return true;
}

static bool clear_upper(struct machine *machine)
{
    for (unsigned i = 0; i < 16; i++) {
        if (machine->vector_deferred[i].bytes > 16)
            machine->vector_deferred[i].bytes = 16;
        memset(machine->vector[i] + 16, 0, VECTOR_BYTES - 16);
        machine->vector_known[i] |= ~bits_below(16);
    }
    return true;
}

/* ---- mask registers ---- */

static struct value read_mask(struct machine *machine, const struct entry *entry, unsigned operand)
{
    const struct isa_operand *from = &entry->operation.operands[operand];
    struct value out;
    if (from->kind == ISA_MASK)
        out = (struct value){machine->mask[from->number], machine->mask_known[from->number]};
    else
        out = machine_read(machine, entry, operand);
    out.bits &= machine_mask(entry->operation.element_bytes);
    return out;
}

static bool mask_step(struct machine *machine, const struct entry *entry)
{
    const struct isa_operation *operation = &entry->operation;
    unsigned bytes = operation->element_bytes;
    uint64_t all = machine_mask(bytes);
    struct value a = read_mask(machine, entry, operation->code == ISA_DO_MASK_TEST ? 0 : 1);
    struct value b = read_mask(machine, entry, operation->code == ISA_DO_MASK_TEST ? 1 : 2);
    struct value out = {0, a.known && b.known};
    switch (operation->code) {
    case ISA_DO_MASK_TEST:
        if (out.known)
            machine_set_flags(machine, entry, FLAGS_ARITHMETIC,
                              ((a.bits | b.bits) == 0 ? FLAG_ZERO : 0) |
                                  ((a.bits | b.bits) == all ? FLAG_CARRY : 0));
        return out.known;
    case ISA_DO_MASK_MOVE: out = a; break;
    case ISA_DO_MASK_NOT: out = (struct value){~a.bits & all, a.known}; break;
    case ISA_DO_MASK_AND: out.bits = a.bits & b.bits; break;
    case ISA_DO_MASK_OR: out.bits = a.bits | b.bits; break;
    case ISA_DO_MASK_XOR:
        out.bits = a.bits ^ b.bits;
        if (operation->operands[1].number == operation->operands[2].number)
            out = (struct value){0, true};
        break;
    default: out.bits = a.bits << (8 * bytes) | b.bits; break;
    }
    if (operation->operands[0].kind == ISA_MASK) {
        machine->mask[operation->operands[0].number] = out.bits;
        machine->mask_known[operation->operands[0].number] = out.known;
    } else {
        machine_write(machine, entry, 0, out);
    }
    return true;
}

bool vector_step(struct machine *machine, const struct entry *entry)
{
    const struct isa_operation *operation = &entry->operation;
    if (operation->mask && operation->operands[0].kind != ISA_MASK)
        return false; /* merged or zeroed by element: not modelled */
    switch (operation->code) {
    case ISA_DO_VECTOR_MOVE: return move(machine, entry);
    case ISA_DO_VECTOR_MOVE_LOW: return move_low(machine, entry);
    case ISA_DO_VECTOR_SCALAR: return move_scalar(machine, entry);
    case ISA_DO_VECTOR_BROADCAST: return broadcast(machine, entry);
    case ISA_DO_VECTOR_AND:
    case ISA_DO_VECTOR_ANDN:
    case ISA_DO_VECTOR_OR:
    case ISA_DO_VECTOR_XOR: return logic(machine, entry);
    case ISA_DO_VECTOR_TERNARY: return ternary(machine, entry);
    case ISA_DO_VECTOR_EQUAL:
    case ISA_DO_VECTOR_GREATER:
    case ISA_DO_VECTOR_COMPARE:
    case ISA_DO_VECTOR_TESTN:
    case ISA_DO_VECTOR_TESTM: return compare(machine, entry);
    case ISA_DO_VECTOR_ADD:
    case ISA_DO_VECTOR_SUB:
    case ISA_DO_VECTOR_SUB_SATURATED:
    case ISA_DO_VECTOR_MIN:
    case ISA_DO_VECTOR_MAX: return by_element(machine, entry);
    case ISA_DO_VECTOR_SIGNS: return signs(machine, entry);
    case ISA_DO_VECTOR_SHUFFLE: return shuffle(machine, entry);
    case ISA_DO_VECTOR_UNPACK_LOW: return unpack_low(machine, entry);
    case ISA_DO_VECTOR_TEST: return test(machine, entry);
    case ISA_DO_VECTOR_UPPER: return clear_upper(machine);
    case ISA_DO_MASK_MOVE:
    case ISA_DO_MASK_TEST:
    case ISA_DO_MASK_AND:
    case ISA_DO_MASK_OR:
    case ISA_DO_MASK_XOR:
    case ISA_DO_MASK_NOT:
    case ISA_DO_MASK_UNPACK: return mask_step(machine, entry);
    default: return false;
    }
}
