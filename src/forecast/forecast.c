// SPDX-License-Identifier: MIT
/*
 * The forecast itself: fetch, decode (once; the cache outlives the forecast),
 * count matching accesses, interpret, until the wanted access or an obstacle.
 *
 * Workload: every sample of the clock source, some tens to a thousand
 * instructions each, in a signal handler; ~0.1 us an instruction when the code
 * is cached, a system call for every new line of memory. Limits: memory that other
 * threads change meanwhile is seen as it was; code that changes is seen as it
 * was decoded until forecast_forget_code. Both make a forecast wrong, which
 * the caller notices: the access does not happen.
 */
#include "forecast/machine.h"
#include <string.h>

_Static_assert(sizeof(struct machine) <= sizeof(struct forecast), "state outgrew its box");

static struct machine *machine_of(struct forecast *forecast)
{
    return (struct machine *)(void *)forecast->opaque;
}

void forecast_begin(struct forecast *forecast, const struct base_registers *registers,
                    const struct base_memory *memory)
{
    struct machine *machine = machine_of(forecast);
    machine->start = *registers;
    machine->memory = memory;
    if (++machine->line_generation == 0) {
        memset(machine->lines, 0, sizeof(machine->lines));
        machine->line_generation = 1;
    }
}

void forecast_forget_code(struct forecast *forecast)
{
    struct machine *machine = machine_of(forecast);
    memset(machine->code, 0, sizeof(machine->code));
}

static void reset(struct machine *machine)
{
    memcpy(machine->general, machine->start.general, sizeof(machine->general));
    memset(machine->general_known, 0xff, sizeof(machine->general_known));
    machine->ip = machine->start.ip;
    machine->flags = machine->start.flags;
    machine->flags_known = UINT32_MAX;
    machine->untrusted = false;
    machine->path_length = 0;
    memset(machine->vector_known, 0, sizeof(machine->vector_known));
    memset(machine->mask_known, 0, sizeof(machine->mask_known));
    machine_forget_stores(machine);
}

/* ---- decoded instructions ------------------------------------------------------------------ */

static void pack(struct entry *entry, const struct isa_insn *insn,
                 const struct isa_operation *operation)
{
    entry->address = insn->address;
    entry->operation = *operation;
    if (insn->target)
        entry->operation.immediate = insn->target;
    entry->written = (uint16_t)insn->written;
    entry->length = insn->length;
    entry->flow = insn->flow;
    entry->repeated = insn->repeated;
    entry->indirect = insn->indirect;
    entry->access_count = insn->access_count < ENTRY_ACCESSES ? insn->access_count : ENTRY_ACCESSES;
    for (unsigned i = 0; i < ENTRY_ACCESSES; i++) {
        const struct isa_access *from = &insn->accesses[i]; /* lea's parts are beyond the count */
        entry->parts[i] = (struct part){.displacement = from->displacement,
                                        .base = from->base,
                                        .index = from->index,
                                        .scale = from->scale,
                                        .direction = from->direction,
                                        .bytes = from->bytes,
                                        .segment = from->segment,
                                        .address_32 = from->address_bits == 32,
                                        .unaddressable = from->unaddressable,
                                        .conditional = from->conditional};
    }
}

static struct entry *find_code(struct machine *machine, uint64_t address)
{
    uint32_t hash = (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return &machine->code[(uint64_t)hash * CODE_ENTRIES >> 32];
}

static bool decode(struct machine *machine, uint64_t address, struct isa_insn *insn,
                   struct isa_operation *operation)
{
    uint8_t bytes[ISA_MAX_LENGTH];
    unsigned count = machine_fetch(machine, address, bytes, sizeof(bytes));
    return isa_decode_operation(bytes, count, address, insn, operation) == BASE_OK;
}

static const struct entry *fetch(struct machine *machine)
{
    struct entry *entry = find_code(machine, machine->ip);
    struct isa_insn insn;
    struct isa_operation operation;
    if (machine->ip == 0 || machine->ip >= USER_LIMIT)
        return NULL;
    if (entry->address == machine->ip)
        return entry;
    if (!decode(machine, machine->ip, &insn, &operation))
        return NULL;
    pack(entry, &insn, &operation);
    return entry;
}

/* ---- matching accesses ----------------------------------------------------------------------- */

struct search {
    const struct forecast_goal *goal;
    struct forecast_outcome out;
};

enum match { MATCH_NONE, MATCH_HIT, MATCH_BLOCKED };

static bool is_string(const struct entry *entry)
{
    uint8_t code = entry->operation.code;
    return code >= ISA_DO_STRING_MOVE && code <= ISA_DO_STRING_COMPARE;
}

/* Does cmpxchg store? 1, 0, -1 unknown. */
static int will_exchange(struct machine *machine, const struct entry *entry)
{
    struct value found = machine_read(machine, entry, 0);
    struct value expected = machine_general(machine, BASE_RAX, entry->operation.operands[0].bytes);
    return found.known && expected.known ? found.bits == expected.bits : -1;
}

/* Accesses that may not happen count only if they are known to: what was foreseen must come true.
   1, 0, or -1 if it must be looked at when the program is there. */
static int counts(struct machine *machine, const struct search *search, const struct entry *entry,
                  unsigned access)
{
    const struct part *part = &entry->parts[access];
    if (!(part->direction & search->goal->direction) || part->unaddressable)
        return 0;
    if (!part->conditional)
        return 1;
    return entry->operation.code == ISA_DO_CMPXCHG ? will_exchange(machine, entry) : 0;
}

static enum match found(struct machine *machine, struct search *search, const struct entry *entry,
                        unsigned access)
{
    struct value address = machine_address(machine, entry, access);
    if (!address.known)
        return MATCH_BLOCKED;
    if (search->out.matching_passed < search->goal->skip) {
        search->out.matching_passed++;
        return MATCH_NONE;
    }
    search->out.access = (uint8_t)access;
    search->out.address = address.bits;
    search->out.bytes = entry->parts[access].bytes;
    return MATCH_HIT;
}

static enum match match(struct machine *machine, struct search *search, const struct entry *entry)
{
    for (unsigned i = 0; i < entry->access_count; i++) {
        int happens = counts(machine, search, entry, i);
        if (happens == 0)
            continue;
        enum match result = happens < 0 ? MATCH_BLOCKED : found(machine, search, entry, i);
        if (result != MATCH_NONE)
            return result;
    }
    return MATCH_NONE;
}

/* String instructions execute here: their accesses count by iteration. */
static enum match match_string(struct machine *machine, struct search *search,
                               const struct entry *entry)
{
    uint64_t each = 0, most = UINT64_MAX;
    bool ended;
    for (unsigned i = 0; i < entry->access_count; i++)
        each += (uint64_t)counts(machine, search, entry, i);
    if (each)
        most = (search->goal->skip - search->out.matching_passed) / each;
    struct value done = string_step(machine, entry, most, &ended);
    if (!done.known) {
        if (each)
            return MATCH_BLOCKED;
        machine_forget(machine, entry);
        return MATCH_NONE;
    }
    search->out.matching_passed += (uint32_t)(done.bits * each);
    return ended ? MATCH_NONE : match(machine, search, entry);
}

/* ---- the run -----------------------------------------------------------------------------------
 */

static uint32_t visits(const struct machine *machine, uint64_t address)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < machine->path_length; i++)
        count += machine->path[i] == address;
    return count;
}

static enum forecast_result blocked(struct machine *machine, struct search *search, uint64_t resume)
{
    if (machine->path_length == 0) /* looking again here would not get any further */
        return FORECAST_FAULT;
    search->out.resume = resume;
    search->out.earlier_visits = visits(machine, resume);
    return FORECAST_BLOCKED;
}

static enum forecast_result hit(struct machine *machine, struct search *search)
{
    struct isa_operation operation;
    if (!decode(machine, machine->ip, &search->out.insn, &operation))
        return FORECAST_FAULT;
    search->out.resume = machine->ip;
    search->out.earlier_visits = visits(machine, machine->ip);
    return FORECAST_HIT;
}

static bool is_flow(const struct entry *entry)
{
    return entry->operation.code >= ISA_DO_PUSH && entry->operation.code <= ISA_DO_BRANCH_COUNT;
}

static enum step execute(struct machine *machine, const struct entry *entry)
{
    if (is_flow(entry))
        return flow_step(machine, entry);
    machine->ip = entry->address + entry->length;
    bool done = entry->operation.code >= ISA_DO_VECTOR_MOVE ? vector_step(machine, entry)
                                                            : integer_step(machine, entry);
    if (!done)
        machine_forget(machine, entry);
    return STEP_NEXT;
}

/* One instruction. FORECAST_EXHAUSTED means: go on. */
static enum forecast_result advance(struct machine *machine, struct search *search)
{
    const struct entry *entry = fetch(machine);
    if (!entry || entry->flow == ISA_TRAP)
        return FORECAST_FAULT;
    uint64_t address = entry->address;
    uint32_t passed = search->out.matching_passed;
    enum match matched =
        is_string(entry) ? match_string(machine, search, entry) : match(machine, search, entry);
    if (matched == MATCH_HIT)
        return hit(machine, search);
    if (matched == MATCH_BLOCKED) {
        search->out.matching_passed = passed;
        return blocked(machine, search, address);
    }
    enum step step = STEP_NEXT;
    if (is_string(entry))
        machine->ip = address + entry->length;
    else
        step = execute(machine, entry);
    if (step == STEP_BLOCKED) {
        search->out.matching_passed = passed; /* it has not executed */
        return blocked(machine, search, address);
    }
    if (step == STEP_FAULT)
        return FORECAST_FAULT;
    machine->path[machine->path_length++] = address;
    if (entry->flow == ISA_SYSCALL)
        return blocked(machine, search, machine->ip);
    return FORECAST_EXHAUSTED;
}

enum forecast_result forecast_run(struct forecast *forecast, const struct forecast_goal *goal,
                                  struct forecast_outcome *outcome)
{
    struct machine *machine = machine_of(forecast);
    struct search search = {.goal = goal};
    uint32_t most = goal->max_instructions < PATH_MOST ? goal->max_instructions : PATH_MOST;
    enum forecast_result result = FORECAST_EXHAUSTED;
    reset(machine);
    while (result == FORECAST_EXHAUSTED && machine->path_length < most)
        result = advance(machine, &search);
    search.out.instructions = machine->path_length;
    *outcome = search.out;
    return result;
}
