// SPDX-License-Identifier: MIT
/*
 * String instructions, with and without rep. Short ones are executed element
 * by element; the contents of long fills and copies become unknown, because
 * they would fill the overlay. Signal-safe; state is the machine's.
 */
#include "forecast/machine.h"

enum {
    BYTES_MAX = 512,     /* longer copies and fills: contents unknown                   */
    COMPARES_MAX = 4096, /* a comparison that runs longer is not followed               */
};

struct value string_count(const struct machine *machine, const struct entry *entry)
{
    if (!entry->repeated)
        return (struct value){1, true};
    return machine_general(machine, BASE_RCX, entry->parts[0].address_32 ? 4 : 8);
}

static uint64_t step_of(const struct machine *machine, const struct entry *entry)
{
    uint64_t bytes = entry->parts[0].bytes;
    return machine->flags & FLAG_DIRECTION ? -bytes : bytes;
}

/* After `done` iterations: pointers moved, counter lowered. */
static void advance(struct machine *machine, const struct entry *entry, uint64_t done)
{
    uint64_t distance = done * step_of(machine, entry);
    for (unsigned i = 0; i < entry->access_count; i++) {
        unsigned number = (unsigned)entry->parts[i].base;
        struct value pointer = machine_general(machine, number, 8);
        pointer.bits += distance;
        machine_set_general(machine, number, 8, pointer);
    }
    if (entry->repeated) {
        struct value left = machine_general(machine, BASE_RCX, 8);
        left.bits -= done;
        machine_set_general(machine, BASE_RCX, 8, left);
    }
}

static void transfer_one(struct machine *machine, const struct entry *entry, uint64_t offset)
{
    unsigned bytes = entry->parts[0].bytes;
    struct value address = machine_address(machine, entry, 0), moved;
    address.bits += offset;
    switch (entry->operation.code) {
    case ISA_DO_STRING_STORE:
        machine_store_value(machine, address, bytes, machine_general(machine, BASE_RAX, bytes));
        break;
    case ISA_DO_STRING_LOAD:
        moved = machine_load_value(machine, address, bytes);
        machine_set_general(machine, BASE_RAX, bytes, moved);
        break;
    default: /* parts: load, store */
        moved = machine_load_value(machine, address, bytes);
        address = machine_address(machine, entry, 1);
        address.bits += offset;
        machine_store_value(machine, address, bytes, moved);
        break;
    }
}

static void transfer(struct machine *machine, const struct entry *entry, uint64_t count)
{
    uint64_t step = step_of(machine, entry), bytes = entry->parts[0].bytes;
    if (entry->operation.code == ISA_DO_STRING_LOAD) {
        if (count)
            transfer_one(machine, entry, (count - 1) * step); /* only the last remains */
    } else if (count <= BYTES_MAX / bytes) {
        for (uint64_t i = 0; i < count; i++)
            transfer_one(machine, entry, i * step);
    } else {
        unsigned store = entry->access_count - 1u;
        uint64_t first = machine_address(machine, entry, store).bits;
        bool backward = machine->flags & FLAG_DIRECTION;
        machine_store_range(machine, backward ? first + (count - 1) * step : first, count * bytes);
    }
    advance(machine, entry, count);
}

/* cmps: [rsi] - [rdi]; scas: rax - [rdi]. */
static bool compare_one(struct machine *machine, const struct entry *entry, uint64_t offset,
                        struct value *a, struct value *b)
{
    unsigned bytes = entry->parts[0].bytes;
    struct value first = machine_address(machine, entry, 0);
    first.bits += offset;
    if (entry->operation.code == ISA_DO_STRING_SCAN) {
        *a = machine_general(machine, BASE_RAX, bytes);
        *b = machine_load_value(machine, first, bytes);
    } else {
        struct value second = machine_address(machine, entry, 1);
        second.bits += offset;
        *a = machine_load_value(machine, first, bytes);
        *b = machine_load_value(machine, second, bytes);
    }
    return a->known && b->known;
}

static void set_compare_flags(struct machine *machine, const struct entry *entry, struct value a,
                              struct value b)
{
    unsigned bytes = entry->parts[0].bytes;
    uint64_t difference = (a.bits - b.bits) & machine_mask(bytes), flags = 0;
    unsigned top = 8 * bytes - 1;
    if (a.bits < b.bits)
        flags |= FLAG_CARRY;
    if (difference == 0)
        flags |= FLAG_ZERO;
    if (difference >> top & 1)
        flags |= FLAG_SIGN;
    if (((a.bits ^ b.bits) & (a.bits ^ difference)) >> top & 1)
        flags |= FLAG_OVERFLOW;
    if ((a.bits ^ b.bits ^ difference) >> 4 & 1)
        flags |= FLAG_ADJUST;
    if (!__builtin_parity((unsigned)(difference & 0xff)))
        flags |= FLAG_PARITY;
    machine_set_flags(machine, entry, FLAGS_ARITHMETIC, flags);
}

static struct value compare(struct machine *machine, const struct entry *entry, uint64_t most,
                            bool *ended)
{
    uint64_t step = step_of(machine, entry), done = 0;
    bool while_equal = entry->operation.condition == 4, stopped = false;
    struct value a = {0, false}, b = {0, false};
    for (; done < most && !stopped; done++) {
        if (done >= COMPARES_MAX || !compare_one(machine, entry, done * step, &a, &b))
            return (struct value){0, false};
        stopped = entry->repeated && (a.bits == b.bits) != while_equal;
    }
    if (done)
        set_compare_flags(machine, entry, a, b);
    advance(machine, entry, done);
    *ended = stopped;
    return (struct value){done, true};
}

struct value string_step(struct machine *machine, const struct entry *entry, uint64_t most,
                         bool *ended)
{
    struct value count = string_count(machine, entry);
    bool known = count.known && (machine->flags_known & FLAG_DIRECTION);
    for (unsigned i = 0; i < entry->access_count; i++)
        known = known && machine_address(machine, entry, i).known && !entry->parts[i].address_32;
    if (!known)
        return (struct value){0, false};
    uint64_t now = count.bits < most ? count.bits : most;
    struct value done = {now, true};
    *ended = false;
    if (entry->operation.code == ISA_DO_STRING_SCAN ||
        entry->operation.code == ISA_DO_STRING_COMPARE)
        done = compare(machine, entry, now, ended);
    else
        transfer(machine, entry, now);
    *ended = *ended || done.bits == count.bits;
    return done;
}
