// SPDX-License-Identifier: MIT
/*
 * Operands of interpreted instructions: registers with their partial widths,
 * memory, immediates, conditions. Signal-safe; state is the machine's.
 */
#include "forecast/machine.h"
#include <string.h>

static uint8_t known_mask(unsigned bytes, unsigned shift)
{
    return (uint8_t)(((1u << bytes) - 1) << shift);
}

static struct value general_part(const struct machine *machine, unsigned number, unsigned bytes,
                                 unsigned shift)
{
    uint8_t needed = known_mask(bytes, shift / 8);
    return (struct value){machine->general[number] >> shift & machine_mask(bytes),
                          (machine->general_known[number] & needed) == needed};
}

struct value machine_general(const struct machine *machine, unsigned number, unsigned bytes)
{
    return general_part(machine, number, bytes, 0);
}

static void set_general_part(struct machine *machine, unsigned number, unsigned bytes,
                             unsigned shift, struct value value)
{
    uint8_t changed = known_mask(bytes, shift / 8);
    uint64_t kept = machine->general[number] & ~(machine_mask(bytes) << shift);
    if (bytes == 4) { /* 32-bit results are zero-extended */
        changed = 0xff;
        kept = 0;
    }
    machine->general[number] = kept | (value.bits & machine_mask(bytes)) << shift;
    if (value.known)
        machine->general_known[number] |= changed;
    else
        machine->general_known[number] &= (uint8_t)~changed;
}

void machine_set_general(struct machine *machine, unsigned number, unsigned bytes,
                         struct value value)
{
    set_general_part(machine, number, bytes, 0, value);
}

struct value machine_address(const struct machine *machine, const struct entry *entry,
                             unsigned access)
{
    const struct part *part = &entry->parts[access];
    struct value sum = {(uint64_t)part->displacement, !part->unaddressable};
    unsigned bytes = part->address_32 ? 4 : 8;
    if (part->base >= 0) {
        struct value base = machine_general(machine, (unsigned)part->base, bytes);
        sum.bits += base.bits;
        sum.known &= base.known;
    }
    if (part->index >= 0) {
        bool table = entry->operation.code == ISA_DO_TRANSLATE; /* xlat's index is al */
        struct value index = machine_general(machine, (unsigned)part->index, table ? 1 : bytes);
        sum.bits += index.bits * part->scale;
        sum.known &= index.known;
    }
    if (part->address_32)
        sum.bits = (uint32_t)sum.bits;
    if (part->segment)
        sum.bits += part->segment == 1 ? machine->start.fs_base : machine->start.gs_base;
    return sum;
}

struct value machine_load_value(struct machine *machine, struct value address, unsigned bytes)
{
    struct value out = {0, false};
    uint8_t data[8] = {0};
    if (!address.known || bytes > 8)
        return out;
    uint64_t needed = (UINT64_C(1) << bytes) - 1;
    out.known = machine_load(machine, address.bits, bytes, data) == needed;
    memcpy(&out.bits, data, sizeof(data));
    out.bits &= machine_mask(bytes);
    return out;
}

void machine_store_value(struct machine *machine, struct value address, unsigned bytes,
                         struct value value)
{
    uint8_t data[8];
    memcpy(data, &value.bits, sizeof(data));
    if (address.known)
        machine_store(machine, address.bits, bytes, data, value.known ? UINT64_MAX : 0);
    else
        machine_store_anywhere(machine);
}

struct value machine_read(struct machine *machine, const struct entry *entry, unsigned operand)
{
    const struct isa_operand *from = &entry->operation.operands[operand];
    switch (from->kind) {
    case ISA_GENERAL: return general_part(machine, from->number, from->bytes, from->shift);
    case ISA_MEMORY:
        return machine_load_value(machine, machine_address(machine, entry, from->number),
                                  from->bytes);
    case ISA_IMMEDIATE: return (struct value){entry->operation.immediate, true};
    case ISA_ADDRESS: return machine_address(machine, entry, 0);
    default: return (struct value){0, false};
    }
}

void machine_write(struct machine *machine, const struct entry *entry, unsigned operand,
                   struct value value)
{
    const struct isa_operand *to = &entry->operation.operands[operand];
    if (to->kind == ISA_GENERAL)
        set_general_part(machine, to->number, to->bytes, to->shift, value);
    else if (to->kind == ISA_MEMORY)
        machine_store_value(machine, machine_address(machine, entry, to->number), to->bytes, value);
}

void machine_set_flags(struct machine *machine, const struct entry *entry, uint32_t defined,
                       uint64_t values)
{
    machine->flags_known &= ~(uint32_t)entry->operation.flags_changed;
    machine->flags_known |= defined;
    machine->flags = (machine->flags & ~(uint64_t)defined) | (values & defined);
}

static int flag(const struct machine *machine, uint32_t bit)
{
    return machine->flags_known & bit ? (machine->flags & bit) != 0 : -1;
}

static int either(int a, int b)
{
    if (a == 1 || b == 1)
        return 1;
    return a < 0 || b < 0 ? -1 : 0;
}

static int differ(int a, int b)
{
    return a < 0 || b < 0 ? -1 : a != b;
}

int machine_condition(const struct machine *machine, unsigned condition)
{
    int less = differ(flag(machine, FLAG_SIGN), flag(machine, FLAG_OVERFLOW));
    int met = -1;
    switch (condition / 2) {
    case 0: met = flag(machine, FLAG_OVERFLOW); break;
    case 1: met = flag(machine, FLAG_CARRY); break;
    case 2: met = flag(machine, FLAG_ZERO); break;
    case 3: met = either(flag(machine, FLAG_CARRY), flag(machine, FLAG_ZERO)); break;
    case 4: met = flag(machine, FLAG_SIGN); break;
    case 5: met = flag(machine, FLAG_PARITY); break;
    case 6: met = less; break;
    case 7: met = either(less, flag(machine, FLAG_ZERO)); break;
    }
    return met < 0 ? -1 : met ^ (int)(condition & 1);
}

static void forget_memory(struct machine *machine, const struct part *part, struct value address)
{
    static const uint8_t nothing[VECTOR_BYTES];
    if (!address.known)
        machine_store_anywhere(machine);
    else if (part->bytes <= VECTOR_BYTES)
        machine_store(machine, address.bits, part->bytes, nothing, 0);
    else
        machine_store_range(machine, address.bits, part->bytes);
}

void machine_forget(struct machine *machine, const struct entry *entry)
{
    const struct isa_operation *operation = &entry->operation;
    for (unsigned i = 0; i < entry->access_count; i++) {
        if (entry->parts[i].direction & ISA_STORE)
            forget_memory(machine, &entry->parts[i], machine_address(machine, entry, i));
    }
    for (unsigned i = 0; i < BASE_GENERAL_REGISTERS; i++) {
        if (entry->written >> i & 1)
            machine->general_known[i] = 0;
    }
    machine->flags_known &= ~(uint32_t)operation->flags_changed;
    for (unsigned i = 0; i < VECTORS && operation->vectors_written; i++) {
        if (operation->vectors_written >> i & 1)
            machine->vector_known[i] = machine->vector_deferred[i].bytes = 0;
    }
    for (unsigned i = 0; i < MASKS; i++) {
        if (operation->masks_written >> i & 1)
            machine->mask_known[i] = false;
    }
}
