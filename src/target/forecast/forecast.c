// SPDX-License-Identifier: MIT
/*
 * The forecast itself: fetch, decode (once; the cache outlives the forecast),
 * count matching accesses, interpret, until the wanted access or an obstacle.
 *
 * Workload: every sample of the clock source, some tens to a thousand
 * instructions each, in a signal handler; 0.02 to 0.06 us an instruction that was decoded
 * before, 0.4 us more if not, and a system call for every new block of memory. Limits: memory that
 * other threads change meanwhile is seen as it was; code that changes is seen as it was decoded
 * until forecast_forget_code. Both make a forecast wrong, which a caller notices who waits for the access; for others
 * there is outcome.fixed.
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
    machine->at_hit = machine->behind = false;
    machine_forget_memory(machine);
}

void forecast_forget_code(struct forecast *forecast)
{
    struct machine *machine = machine_of(forecast);
    memset(machine->addresses, 0, sizeof(machine->addresses));
}

static void reset(struct machine *machine)
{
    memcpy(machine->general, machine->start.general, sizeof(machine->general));
    memset(machine->general_known, 0xff, sizeof(machine->general_known));
    machine->ip = machine->start.ip;
    machine->flags = machine->start.flags;
    machine->flags_known = UINT32_MAX;
    machine->untrusted = machine->at_hit = machine->behind = machine->left = false;
    machine->fixed = true;
    machine->depth = 0;
    machine->path_length = 0;
    memset(machine->vector_known, 0, sizeof(machine->vector_known));
    memset(machine->vector_deferred, 0, sizeof(machine->vector_deferred));
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

static bool decode(struct machine *machine, uint64_t address, struct isa_insn *insn,
                   struct isa_operation *operation)
{
    uint8_t bytes[ISA_MAX_LENGTH];
    unsigned count = machine_fetch(machine, address, bytes, sizeof(bytes));
    return isa_decode_operation(bytes, count, address, insn, operation) == BASE_OK;
}

static bool is_fixed(const struct forecast_goal *goal, uint64_t address)
{
    return goal->is_fixed && goal->is_fixed(goal->context, address);
}

static uint16_t add_code(struct machine *machine, const struct forecast_goal *goal,
                         uint64_t address, unsigned set)
{
    struct isa_insn insn;
    struct isa_operation operation;
    if (address >= USER_LIMIT || !decode(machine, address, &insn, &operation))
        return CODE_ENTRIES;
    unsigned at = set * CODE_WAYS + machine->oldest[set]++ % CODE_WAYS;
    pack(&machine->code[at], &insn, &operation);
    machine->code[at].fixed = is_fixed(goal, address);
    machine->addresses[at] = address;
    return (uint16_t)at;
}

/* CODE_ENTRIES: there is no code. */
static uint16_t find_code(struct machine *machine, const struct forecast_goal *goal,
                          uint64_t address)
{
    unsigned set = (unsigned)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CODE_SET_BITS));
    for (unsigned at = set * CODE_WAYS; at < (set + 1) * CODE_WAYS; at++) {
        if (machine->addresses[at] == address)
            return (uint16_t)at;
    }
    return add_code(machine, goal, address, set);
}

/* Most often what followed the last time follows again. */
static const struct entry *fetch(struct machine *machine, const struct forecast_goal *goal)
{
    uint16_t at = machine->next[machine->last];
    if (machine->ip == 0) /* marks empty entries */
        return NULL;
    if (machine->addresses[at] != machine->ip) {
        at = find_code(machine, goal, machine->ip);
        if (at == CODE_ENTRIES)
            return NULL;
        machine->next[machine->last] = at;
    }
    machine->last = at;
    const struct entry *ahead = &machine->code[machine->next[at]];
    __builtin_prefetch(ahead); /* samples are rare: none of this is in the processor's cache */
    __builtin_prefetch((const char *)(ahead + 1) - 1);
    return &machine->code[at];
}

/* ---- matching accesses ----------------------------------------------------------------------- */

struct search {
    const struct forecast_goal *goal;
    struct forecast_outcome out;
    bool hidden;            /* the instruction at hand belongs to an observer                 */
    uint32_t hidden_passed; /* such instructions on the way                          */
    uint32_t start;         /* the path's length before                              */
    bool foreign;           /* the instruction at hand is one whose accesses are not counted */
    bool straight;          /* the last one fell through to it                               */
    uint64_t back;          /* in such code: behind the call that led there; 0: unknown      */
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
static int happens(struct machine *machine, const struct entry *entry, const struct part *part)
{
    if (!part->conditional)
        return 1;
    return entry->operation.code == ISA_DO_CMPXCHG ? will_exchange(machine, entry) : 0;
}

static bool overlaps(const struct forecast_goal *goal, uint64_t address, uint64_t bytes)
{
    return goal->range_bytes == 0 || address - goal->range_start < goal->range_bytes ||
           goal->range_start - address < bytes;
}

static enum match pass(struct search *search, uint8_t direction)
{
    search->out.matching_passed++;
    search->out.stores_passed += direction == ISA_STORE;
    return MATCH_NONE;
}

/* One direction of an access that the goal asks for. */
static enum match found(struct machine *machine, struct search *search, const struct entry *entry,
                        unsigned access, uint8_t direction, int happens)
{
    struct value address = machine_address(machine, entry, access);
    if (!address.known && search->goal->ignored_bytes && !search->goal->range_bytes &&
        search->out.matching_passed < search->goal->skip)
        return pass(search, direction);
    if (!address.known)
        return MATCH_BLOCKED;
    if (!overlaps(search->goal, address.bits, entry->parts[access].bytes))
        return MATCH_NONE;
    if (happens < 0)
        return MATCH_BLOCKED;
    if (search->out.matching_passed < search->goal->skip)
        return pass(search, direction);
    search->out.access = (uint8_t)access;
    search->out.address = address.bits;
    search->out.bytes = entry->parts[access].bytes;
    return MATCH_HIT;
}

static bool ignored(struct machine *machine, const struct forecast_goal *goal,
                    const struct entry *entry, unsigned access)
{
    const struct part *part = &entry->parts[access];
    if (!goal->ignored_bytes || part->unaddressable)
        return false;
    struct value address = machine_address(machine, entry, access);
    if (address.known && address.bits - goal->ignored_start < goal->ignored_bytes)
        return true;
    bool fixed = part->base < 0 && part->index < 0 && !part->segment && part->bytes == 8;
    if (!fixed || part->direction != ISA_LOAD)
        return false;
    struct value loaded = machine_load_value(machine, address, 8);
    return loaded.known && loaded.bits == goal->ignored_value;
}

/* May it be one that is looked for, although it does not match? */
static bool is_doubtful(const struct forecast_goal *goal, const struct entry *entry,
                        const struct part *part)
{
    bool unknown =
        part->unaddressable || (part->conditional && entry->operation.code != ISA_DO_CMPXCHG);
    return goal->sure && unknown && goal->direction & part->direction;
}

/* What is loaded and stored is two accesses, the load first. */
static enum match match_access(struct machine *machine, struct search *search,
                               const struct entry *entry, unsigned access)
{
    const struct part *part = &entry->parts[access];
    if (is_doubtful(search->goal, entry, part))
        return MATCH_BLOCKED;
    int happening = happens(machine, entry, part);
    if (happening == 0 || ignored(machine, search->goal, entry, access) ||
        (search->foreign && !search->goal->range_bytes))
        return MATCH_NONE;
    for (uint8_t direction = ISA_LOAD; direction <= ISA_STORE; direction++) {
        if (!(part->direction & direction))
            continue;
        if (search->goal->direction & direction && !part->unaddressable) {
            enum match result = found(machine, search, entry, access, direction, happening);
            search->out.direction = direction;
            if (result != MATCH_NONE)
                return result;
        }
        search->out.accesses_passed += happening > 0 && !search->foreign;
    }
    return MATCH_NONE;
}

static enum match match(struct machine *machine, struct search *search, const struct entry *entry)
{
    if (search->hidden)
        return MATCH_NONE;
    for (unsigned i = 0; i < entry->access_count; i++) {
        enum match result = match_access(machine, search, entry, i);
        if (result != MATCH_NONE)
            return result;
    }
    return MATCH_NONE;
}

/* ---- matching accesses of string instructions ------------------------------------------------ */

/* Iterations [first, end) in which an access matches. */
struct iterations {
    uint64_t first, end;
};

/*
 * Of the range only those that overlap it, which are consecutive: the addresses at which an
 * access overlaps are those in [low, high]. All widths are powers of two, all addresses
 * far from the ends of 64 bits.
 */
static struct iterations overlapping(const struct machine *machine, const struct search *search,
                                     const struct entry *entry, unsigned access)
{
    const struct forecast_goal *goal = search->goal;
    uint64_t bytes = entry->parts[access].bytes,
             start = machine_address(machine, entry, access).bits;
    if (goal->range_bytes == 0)
        return (struct iterations){0, UINT64_MAX};
    uint64_t low = goal->range_start < bytes ? 0 : goal->range_start - (bytes - 1);
    uint64_t high = goal->range_start + (goal->range_bytes - 1);
    if (high < goal->range_start)
        high = UINT64_MAX;
    bool backward = machine->flags & FLAG_DIRECTION;
    if (backward ? start < low : start > high)
        return (struct iterations){0, 0};
    uint64_t until = backward ? (start > high ? start - high : 0) : (low > start ? low - start : 0);
    uint64_t past = backward ? start - low : high - start;
    return (struct iterations){(until + bytes - 1) / bytes, past / bytes + 1};
}

/* Matching accesses of a string instruction, as a function of how often it iterates. */
struct string_matches {
    struct iterations accesses[ENTRY_ACCESSES];
    uint8_t directions[ENTRY_ACCESSES];
    unsigned count;
};

/* Those of `directions` alone. */
static uint64_t matches_before(const struct string_matches *matches, uint64_t iteration,
                               uint8_t directions)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < matches->count; i++) {
        if (!(matches->directions[i] & directions))
            continue;
        const struct iterations *in = &matches->accesses[i];
        uint64_t end = in->end < iteration ? in->end : iteration;
        sum += end > in->first ? end - in->first : 0;
    }
    return sum;
}

/* The most iterations, up to `most`, that pass over no more than `skip` matches. */
static uint64_t iterations_passing(const struct string_matches *matches, uint64_t skip,
                                   uint64_t most)
{
    uint64_t low = 0, high = most;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        if (matches_before(matches, middle, ISA_LOAD | ISA_STORE) <= skip)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void count_passed(struct search *search, uint64_t accesses)
{
    uint64_t sum = search->out.accesses_passed + accesses;
    search->out.accesses_passed = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

/*
 * String instructions execute here: their accesses count by iteration. One that cannot be
 * followed blocks a goal with a range even if its accesses do not match, because how many they are
 * is then unknown.
 */
static enum match match_string(struct machine *machine, struct search *search,
                               const struct entry *entry)
{
    struct string_matches matches = {.count = 0};
    bool ended;
    for (unsigned i = 0; i < entry->access_count && !search->hidden; i++)
        if (entry->parts[i].direction & search->goal->direction &&
            !(search->foreign && !search->goal->range_bytes)) {
            matches.directions[matches.count] = entry->parts[i].direction;
            matches.accesses[matches.count++] = overlapping(machine, search, entry, i);
        }
    uint64_t skip = search->goal->skip - search->out.matching_passed;
    uint64_t count = string_count(machine, entry).bits;
    struct value done =
        string_step(machine, entry, iterations_passing(&matches, skip, count), &ended);
    if (!done.known) {
        if (matches.count || (search->goal->range_bytes && !search->hidden))
            return MATCH_BLOCKED;
        machine_forget(machine, entry);
        return MATCH_NONE;
    }
    search->out.matching_passed +=
        (uint32_t)matches_before(&matches, done.bits, ISA_LOAD | ISA_STORE);
    search->out.stores_passed += (uint32_t)matches_before(&matches, done.bits, ISA_STORE);
    if (!search->foreign && !search->hidden)
        count_passed(search, done.bits * entry->access_count);
    return ended ? MATCH_NONE : match(machine, search, entry);
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Two instructions of one path that lie a multiple of 4 GiB apart at the same place do
 * not happen. */
static uint32_t folded(uint64_t address)
{
    return (uint32_t)(address ^ address >> 32);
}

static uint32_t visits(const struct machine *machine, uint64_t address)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < machine->path_length; i++)
        count += machine->path[i] == folded(address);
    return count;
}

static enum forecast_result blocked(struct machine *machine, struct search *search, uint64_t resume)
{
    if (search->foreign && search->back)
        resume = search->back;
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

/* Asking takes longer than an instruction: what falls through from one to the next is one piece of
   code. But a stub may be an ordinary instruction and a jump. */
static void note_code(struct search *search, const struct entry *entry)
{
    const struct forecast_goal *goal = search->goal;
    bool falls = entry->flow == ISA_NEXT;
    search->hidden = entry->address - goal->hidden_start < goal->hidden_bytes;
    if (goal->counts && !(search->straight && falls))
        search->foreign = !goal->counts(goal->context, entry->address);
    search->straight = falls;
    if (!search->foreign)
        search->back = entry->flow == ISA_CALL ? entry->address + entry->length : 0;
}

/* It has executed. */
static void note_step(struct machine *machine, const struct entry *entry)
{
    machine->path[machine->path_length++] = folded(entry->address);
    machine->left |= entry->flow == ISA_RETURN && machine->depth == 0;
    machine->depth += (entry->flow == ISA_CALL) - (entry->flow == ISA_RETURN);
}

/* One instruction. FORECAST_EXHAUSTED means: go on. */
static enum forecast_result advance(struct machine *machine, struct search *search)
{
    const struct entry *entry = fetch(machine, search->goal);
    if (!entry || entry->flow == ISA_TRAP)
        return FORECAST_FAULT;
    uint64_t address = entry->address;
    note_code(search, entry);
    uint32_t passed = search->out.matching_passed, accesses = search->out.accesses_passed;
    uint32_t stores = search->out.stores_passed;
    machine->fixed &= entry->fixed;
    enum match matched =
        is_string(entry) ? match_string(machine, search, entry) : match(machine, search, entry);
    if (!stores && search->out.stores_passed)
        search->out.until_store = machine->path_length - search->start - search->hidden_passed;
    if (matched == MATCH_HIT)
        return hit(machine, search);
    enum step step = STEP_NEXT;
    if (matched == MATCH_BLOCKED)
        step = STEP_BLOCKED;
    else if (is_string(entry))
        machine->ip = address + entry->length;
    else
        step = execute(machine, entry);
    if (step == STEP_BLOCKED) { /* it has not executed */
        search->out.matching_passed = passed;
        search->out.accesses_passed = accesses;
        search->out.stores_passed = stores;
        return blocked(machine, search, address);
    }
    if (step == STEP_FAULT)
        return FORECAST_FAULT;
    note_step(machine, entry);
    search->hidden_passed += search->hidden;
    if (entry->flow == ISA_SYSCALL)
        return blocked(machine, search, machine->ip);
    return FORECAST_EXHAUSTED;
}

static enum forecast_result go(struct machine *machine, const struct forecast_goal *goal,
                               struct forecast_outcome *outcome)
{
    struct search search = {.goal = goal, .start = machine->path_length};
    enum forecast_result result = FORECAST_EXHAUSTED;
    machine->at_hit = machine->behind = false;
    while (result == FORECAST_EXHAUSTED && machine->path_length < PATH_LENGTH_MAX &&
           machine->path_length - search.start - search.hidden_passed < goal->max_instructions)
        result = advance(machine, &search);
    if (result == FORECAST_EXHAUSTED && search.foreign && search.back)
        result = blocked(machine, &search, search.back);
    search.out.instructions = machine->path_length - search.start - search.hidden_passed;
    search.out.same_frame = !machine->left && machine->depth == 0;
    search.out.fixed = machine->fixed;
    machine->at_hit = result == FORECAST_HIT;
    *outcome = search.out;
    return result;
}

enum forecast_result forecast_run(struct forecast *forecast, const struct forecast_goal *goal,
                                  struct forecast_outcome *outcome)
{
    struct machine *machine = machine_of(forecast);
    reset(machine);
    return go(machine, goal, outcome);
}

bool forecast_pass(struct forecast *forecast)
{
    struct machine *machine = machine_of(forecast);
    bool at_hit = machine->at_hit;
    machine->at_hit = false;
    /* What was hit was fetched last, and is decoded. */
    const struct entry *entry = &machine->code[machine->last];
    if (!at_hit || is_string(entry) || execute(machine, entry) != STEP_NEXT)
        return false;
    note_step(machine, entry);
    return machine->behind = true;
}

enum forecast_result forecast_resume(struct forecast *forecast, const struct forecast_goal *goal,
                                     struct forecast_outcome *outcome)
{
    struct machine *machine = machine_of(forecast);
    if (!machine->behind) {
        *outcome = (struct forecast_outcome){.instructions = 0};
        return FORECAST_FAULT;
    }
    return go(machine, goal, outcome);
}

/* ---- the state at the hit -------------------------------------------------------------------- */

/* Reads through the cache of blocks: unwinding reads what the forecast has mostly read before. */
static bool read_then(void *context, uint64_t address, void *out, size_t bytes)
{
    enum { MOST = 64 };
    struct machine *machine = context;
    for (size_t at = 0; at < bytes; at += MOST) {
        unsigned part = bytes - at < MOST ? (unsigned)(bytes - at) : MOST;
        uint64_t needed = part == MOST ? UINT64_MAX : (UINT64_C(1) << part) - 1;
        if (machine_load(machine, address + at, part, (uint8_t *)out + at) != needed)
            return false;
    }
    return true;
}

bool forecast_then(struct forecast *forecast, struct base_registers *registers,
                   struct base_memory *memory)
{
    struct machine *machine = machine_of(forecast);
    if ((!machine->at_hit && !machine->behind) || machine->general_known[BASE_RSP] != 0xff)
        return false;
    *registers = machine->start; /* for the segments' bases */
    for (unsigned i = 0; i < BASE_GENERAL_REGISTERS; i++)
        registers->general[i] = machine->general_known[i] == 0xff ? machine->general[i] : 0;
    registers->ip = machine->ip;
    registers->flags = machine->flags & machine->flags_known;
    *memory = (struct base_memory){read_then, machine};
    return true;
}
