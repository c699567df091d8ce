// SPDX-License-Identifier: MIT
/*
 * Control flow and the stack: where the program goes next, if that can be
 * known. Signal-safe; state is the machine's.
 */
#include "forecast/machine.h"

static uint64_t next_ip(const struct entry *entry)
{
    return entry->address + entry->length;
}

static void go(struct machine *machine, const struct entry *entry, bool taken)
{
    machine->ip = taken ? entry->operation.immediate : next_ip(entry);
}

static void push(struct machine *machine, unsigned bytes, struct value value)
{
    struct value rsp = machine_general(machine, BASE_RSP, 8);
    rsp.bits -= bytes;
    machine_store_value(machine, rsp, bytes, value);
    machine_set_general(machine, BASE_RSP, 8, rsp);
}

static struct value pop(struct machine *machine, unsigned bytes)
{
    struct value rsp = machine_general(machine, BASE_RSP, 8);
    struct value value = machine_load_value(machine, rsp, bytes);
    rsp.bits += bytes;
    machine_set_general(machine, BASE_RSP, 8, rsp);
    return value;
}

/* The destination's address counts after the pop; entry->parts hold it relative to before. */
static void pop_into(struct machine *machine, const struct entry *entry)
{
    const struct isa_operand *to = &entry->operation.operands[0];
    if (to->kind == ISA_MEMORY) {
        struct value address = machine_address(machine, entry, to->number);
        machine_store_value(machine, address, to->bytes, pop(machine, to->bytes));
        return;
    }
    struct value value = pop(machine, entry->parts[0].bytes);
    machine_write(machine, entry, 0, value);
}

static void push_flags(struct machine *machine, const struct entry *entry)
{
    bool known = (machine->flags_known & FLAGS_ARITHMETIC) == FLAGS_ARITHMETIC;
    push(machine, entry->parts[0].bytes, (struct value){machine->flags, known});
}

static void pop_flags(struct machine *machine, const struct entry *entry)
{
    struct value flags = pop(machine, entry->parts[0].bytes);
    machine_set_flags(machine, entry, flags.known ? FLAGS_ARITHMETIC | FLAG_DIRECTION : 0,
                      flags.bits);
}

static void leave(struct machine *machine)
{
    machine_set_general(machine, BASE_RSP, 8, machine_general(machine, BASE_RBP, 8));
    machine_set_general(machine, BASE_RBP, 8, pop(machine, 8));
}

/* To a target out of a register or memory; the instruction has no other effect yet. */
static enum step go_indirect(struct machine *machine, struct value target)
{
    if (!target.known)
        return STEP_BLOCKED;
    if (target.bits >= USER_LIMIT)
        return STEP_FAULT;
    machine->ip = target.bits;
    return STEP_NEXT;
}

static enum step call(struct machine *machine, const struct entry *entry)
{
    struct value target = {entry->operation.immediate, true};
    if (entry->indirect)
        target = machine_read(machine, entry, 0);
    enum step step = go_indirect(machine, target);
    if (step == STEP_NEXT)
        push(machine, 8, (struct value){next_ip(entry), true});
    return step;
}

static enum step return_to(struct machine *machine, const struct entry *entry)
{
    struct value rsp = machine_general(machine, BASE_RSP, 8);
    enum step step = go_indirect(machine, machine_load_value(machine, rsp, 8));
    rsp.bits += 8 + entry->operation.immediate;
    if (step == STEP_NEXT)
        machine_set_general(machine, BASE_RSP, 8, rsp);
    return step;
}

static enum step loop(struct machine *machine, const struct entry *entry)
{
    const struct isa_operand *counter = &entry->operation.operands[1];
    struct value left = machine_general(machine, BASE_RCX, counter->bytes);
    unsigned condition = entry->operation.condition;
    int met = condition ? machine_condition(machine, condition) : 1;
    left.bits = (left.bits - 1) & machine_mask(counter->bytes);
    if (!left.known || met < 0)
        return STEP_BLOCKED;
    machine_set_general(machine, BASE_RCX, counter->bytes, left);
    go(machine, entry, left.bits != 0 && met);
    return STEP_NEXT;
}

static enum step branch(struct machine *machine, const struct entry *entry)
{
    if (entry->operation.code == ISA_DO_BRANCH_COUNT) {
        struct value left = machine_general(machine, BASE_RCX, entry->operation.operands[1].bytes);
        go(machine, entry, left.bits == 0);
        return left.known ? STEP_NEXT : STEP_BLOCKED;
    }
    int met = machine_condition(machine, entry->operation.condition);
    go(machine, entry, met == 1);
    return met < 0 ? STEP_BLOCKED : STEP_NEXT;
}

enum step flow_step(struct machine *machine, const struct entry *entry)
{
    machine->ip = next_ip(entry);
    switch (entry->operation.code) {
    case ISA_DO_PUSH: {
        unsigned bytes = entry->parts[entry->access_count - 1].bytes;
        push(machine, bytes, machine_read(machine, entry, 0));
        return STEP_NEXT;
    }
    case ISA_DO_POP: pop_into(machine, entry); return STEP_NEXT;
    case ISA_DO_PUSH_FLAGS: push_flags(machine, entry); return STEP_NEXT;
    case ISA_DO_POP_FLAGS: pop_flags(machine, entry); return STEP_NEXT;
    case ISA_DO_LEAVE: leave(machine); return STEP_NEXT;
    case ISA_DO_CALL: return call(machine, entry);
    case ISA_DO_RETURN: return return_to(machine, entry);
    case ISA_DO_JUMP:
        if (entry->indirect)
            return go_indirect(machine, machine_read(machine, entry, 0));
        go(machine, entry, true);
        return STEP_NEXT;
    case ISA_DO_LOOP: return loop(machine, entry);
    default: return branch(machine, entry);
    }
}
