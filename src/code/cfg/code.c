// SPDX-License-Identifier: MIT
/*
 * Follows the code of a function from its entry along all jumps, then through what is left over.
 * Following, not sweeping from start to end: functions in assembly have tables in their code, and
 * some jump behind the prefix of an instruction.
 *
 * Built for millions of instructions: only those that can change the flow are decoded, known by
 * their opcode; of the others the length is enough (isa_length, some 20 times faster).
 */
#include "cfg/internal.h"

#include "isa/isa.h"

#include <stdlib.h>
#include <string.h>

static bool push(struct walk *walk, uint32_t **items, uint32_t *count, size_t *capacity,
                 uint32_t item)
{
    if (!UTIL_PUSH(*items, *count, *capacity, item)) {
        walk->no_memory = true;
        return false;
    }
    return true;
}

static bool add_jump(struct walk *walk, const struct jump *jump)
{
    if (walk->jumps_count >= CFG_EDGES_MAX) {
        walk->large = true;
        return false;
    }
    if (!UTIL_GROW(walk->jumps, walk->jumps_capacity, walk->jumps_count)) {
        walk->no_memory = true;
        return false;
    }
    struct jump *added = &walk->jumps[walk->jumps_count++];
    *added = *jump;
    if (jump->to != CFG_NONE) {
        added->next = walk->into[jump->to];
        walk->into[jump->to] = walk->jumps_count;
    }
    return true;
}

static bool add_exit(struct walk *walk, uint32_t at, unsigned flags)
{
    return add_jump(walk, &(struct jump){at, CFG_NONE, 0, CFG_JUMP, (uint8_t)flags});
}

bool walk_jump(struct walk *walk, uint32_t at, uint64_t target, unsigned kind)
{
    uint64_t to = target - walk->code->start;
    if (target < walk->code->start || to >= walk->code->count)
        return add_exit(walk, at, CFG_LEAVES);
    /* What nothing jumps to may be no code at all: it must not cut instructions in two. */
    if (walk->gap && (walk->marks[to] & (MARK_COVERED | MARK_LENGTH)) == MARK_COVERED)
        return add_exit(walk, at, CFG_STOPS);
    walk->marks[to] |= MARK_LEADER;
    return add_jump(walk, &(struct jump){at, (uint32_t)to, 0, (uint8_t)kind, 0}) &&
           ((walk->marks[to] & MARK_LENGTH) != 0 || push(walk, &walk->pending, &walk->pending_count,
                                                         &walk->pending_capacity, (uint32_t)to));
}

/* ---- one instruction ----------------------------------------------------------------------- */

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
           byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
           byte == 0x65 || (byte & 0xf0) == 0x40;
}

/* True for all that isa_decode gives another flow than ISA_NEXT, and some more. */
static bool may_change_flow(const uint8_t *bytes, unsigned length)
{
    unsigned at = 0;
    while (at + 1 < length && is_prefix(bytes[at]))
        at++;
    uint8_t opcode = bytes[at], second = at + 1 < length ? bytes[at + 1] : 0;
    if (opcode == 0x0f)
        return (second & 0xf0) == 0x80 || second <= 0x0b || second == 0x34 || second == 0x35 ||
               second == 0xaa || second == 0xb9 || second == 0xff;
    return (opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3) ||
           (opcode >= 0xe8 && opcode <= 0xeb) || opcode == 0xc2 || opcode == 0xc3 ||
           (opcode >= 0xca && opcode <= 0xcf) ||
           ((opcode == 0xc6 || opcode == 0xc7) && second == 0xf8) || opcode == 0xf1 ||
           opcode == 0xf4 || opcode == 0xff;
}

/* Length of the instruction at the offset, 0: none fits. Decodes it if it may change the flow. */
static unsigned decode(const struct cfg_code *code, size_t at, struct isa_insn *insn)
{
    const uint8_t *bytes = code->bytes + at;
    size_t left = code->count - at;
    unsigned length = isa_length(bytes, left);
    insn->flow = ISA_NEXT;
    if (length && !may_change_flow(bytes, length))
        return length;
    if (isa_decode(bytes, left, code->start + at, insn) != BASE_OK)
        return 0;
    return insn->length;
}

static void cover(struct walk *walk, uint32_t at, unsigned length)
{
    for (unsigned i = 0; i < length; i++) {
        uint8_t *mark = &walk->marks[at + i];
        walk->overlapping = walk->overlapping || *mark & MARK_COVERED;
        *mark |= MARK_COVERED;
    }
    walk->marks[at] |= (uint8_t)length;
    walk->instructions++;
}

/* lea to an address that depends on nothing: cheaper known by its bytes than decoded. */
static bool note_named(struct walk *walk, uint32_t at, unsigned length)
{
    enum { LEA_LENGTH = 7 };
    const uint8_t *bytes = walk->code->bytes + at;
    int32_t distance;
    if (length != LEA_LENGTH || (bytes[0] & 0xfb) != 0x48 || bytes[1] != 0x8d ||
        (bytes[2] & 0xc7) != 0x05)
        return true;
    memcpy(&distance, bytes + 3, sizeof distance);
    uint64_t address = walk->code->start + at + LEA_LENGTH + (uint64_t)(int64_t)distance;
    if (UTIL_PUSH(walk->named, walk->named_count, walk->named_capacity, address))
        return true;
    walk->no_memory = true;
    return false;
}

static bool is_covered(const struct walk *walk, uint32_t at, unsigned length)
{
    for (unsigned i = 0; i < length; i++)
        if (walk->marks[at + i] & MARK_COVERED)
            return true;
    return false;
}

/* What an instruction that ends a block does. False: no memory, or too large. */
static bool end_block(struct walk *walk, uint32_t at, const struct isa_insn *insn)
{
    walk->marks[at] |= MARK_ENDS;
    if (insn->flow == ISA_RETURN)
        return add_exit(walk, at, CFG_RETURNS);
    if (insn->flow == ISA_TRAP)
        return add_exit(walk, at, CFG_STOPS);
    if (insn->indirect)
        return push(walk, &walk->indirect, &walk->indirect_count, &walk->indirect_capacity, at);
    return walk_jump(walk, at, insn->target, CFG_JUMP);
}

static bool call_returns(const struct walk *walk, const struct isa_insn *insn)
{
    const struct cfg_code *code = walk->code;
    const struct isa_access *cell = &insn->accesses[0];
    if (!code->returns)
        return true;
    if (!insn->indirect)
        return (insn->target >= code->start && insn->target - code->start < code->count) ||
               code->returns(code->context, insn->target, false);
    if (insn->access_count < 2 || cell->direction != ISA_LOAD || cell->base >= 0 ||
        cell->index >= 0 || cell->segment || cell->unaddressable)
        return true;
    return code->returns(code->context, (uint64_t)cell->displacement, true);
}

/* Follows the code at an offset to where it leaves or meets what is known. */
static bool follow(struct walk *walk, uint32_t at)
{
    while (!(walk->marks[at] & MARK_LENGTH)) {
        struct isa_insn insn;
        unsigned length = decode(walk->code, at, &insn);
        if (length == 0 || (walk->gap && is_covered(walk, at, length)))
            return true; /* what comes before falls into nothing */
        if (walk->instructions >= CFG_INSTRUCTIONS_MAX) {
            walk->large = true;
            return false;
        }
        cover(walk, at, length);
        if (!note_named(walk, at, length))
            return false;
        if (insn.flow == ISA_JUMP || insn.flow == ISA_RETURN || insn.flow == ISA_TRAP)
            return end_block(walk, at, &insn);
        if (insn.flow == ISA_CALL && !call_returns(walk, &insn)) {
            walk->marks[at] |= MARK_ENDS;
            return add_exit(walk, at, CFG_CALLS | CFG_STOPS);
        }
        if (insn.flow == ISA_CALL && !add_exit(walk, at, CFG_CALLS))
            return false;
        if (insn.flow == ISA_BRANCH && !walk_jump(walk, at, insn.target, CFG_TAKEN))
            return false;
        at += length;
        if (at >= walk->code->count)
            return true;
        if (insn.flow == ISA_BRANCH)
            walk->marks[at] |= MARK_LEADER;
    }
    walk->marks[at] |= MARK_LEADER;
    return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool follow_pending(struct walk *walk)
{
    while (walk->pending_count)
        if (!follow(walk, walk->pending[--walk->pending_count]))
            return false;
    return true;
}

/* Jumps through tables lead to code that may hold what others need to be understood. What was not
   by then is not tried again for code that nothing jumps to. */
static bool follow_tables(struct walk *walk)
{
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t i = walk->indirect_tried; i < walk->indirect_count;) {
            bool resolved = false;
            if (!tables_resolve(walk, walk->indirect[i], &resolved))
                return false;
            progress = progress || resolved;
            walk->tables += resolved;
            if (resolved)
                walk->indirect[i] = walk->indirect[--walk->indirect_count];
            else
                i++;
        }
        if (!follow_pending(walk))
            return false;
    }
    walk->indirect_tried = walk->indirect_count;
    return true;
}

/* nop of any length, int3, zeros: between pieces of code. 0: none of them. */
static unsigned padding(const struct walk *walk, uint32_t at)
{
    const uint8_t *bytes = walk->code->bytes + at;
    size_t left = walk->code->count - at;
    unsigned length = isa_length(bytes, left), prefixes = 0;
    while (prefixes + 1 < length && (bytes[prefixes] == 0x66 || bytes[prefixes] == 0x2e))
        prefixes++;
    if (bytes[0] == 0xcc || bytes[0] == 0)
        return 1;
    if (length && (bytes[prefixes] == 0x90 || (bytes[prefixes] == 0x0f && length > prefixes + 1 &&
                                               bytes[prefixes + 1] == 0x1f)))
        return length;
    return 0;
}

/* Code that nothing jumps to, as far as is known. */
static bool follow_gaps(struct walk *walk)
{
    struct isa_insn insn;
    walk->gap = true;
    for (uint32_t at = 0; at < walk->code->count;) {
        unsigned skip = walk->marks[at] & MARK_COVERED ? 1 : padding(walk, at);
        if (!skip && !decode(walk->code, at, &insn))
            skip = 1;
        if (!skip) {
            walk->marks[at] |= MARK_LEADER | MARK_ROOT;
            if (!follow(walk, at) || !follow_pending(walk) || !follow_tables(walk))
                return false;
            skip = walk->marks[at] & MARK_LENGTH;
            if (!skip) /* it would have cut into what is known */
                skip = 1;
        }
        at += skip;
    }
    return true;
}

static bool give_up_indirect(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->indirect_count; i++)
        if (!add_exit(walk, walk->indirect[i], CFG_UNRESOLVED))
            return false;
    return true;
}

static bool walk_once(struct walk *walk)
{
    walk->marks = calloc(walk->code->count + 1, sizeof *walk->marks);
    walk->into = calloc(walk->code->count + 1, sizeof *walk->into);
    walk->seen = calloc(walk->code->count + 1, sizeof *walk->seen);
    if (!walk->marks || !walk->into || !walk->seen) {
        walk->no_memory = true;
        return false;
    }
    if (walk->code->count == 0)
        return true;
    walk->marks[0] |= MARK_LEADER | MARK_ROOT;
    return follow(walk, 0) && follow_pending(walk) && follow_tables(walk) && follow_gaps(walk) &&
           give_up_indirect(walk);
}

int compare_addresses(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

enum { ROUNDS_MAX = 4 };

/*
 * Where a table ends that nothing guards is often known only when the code is known that uses what lies behind
 * it, and targets read from beyond the end lead to what is no code. Then it is walked again, knowing that.
 */
bool walk_code(struct walk *walk)
{
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        if (!walk_once(walk))
            return false;
        if (walk->named_count)
            qsort(walk->named, walk->named_count, sizeof *walk->named, compare_addresses);
        if (round + 1 == ROUNDS_MAX || !tables_overran(walk))
            return true;
        struct walk again = {
            .code = walk->code, .known = walk->named, .known_count = walk->named_count};
        walk->named = NULL;
        walk_free(walk);
        *walk = again;
    }
    return true;
}

void walk_free(struct walk *walk)
{
    free(walk->marks);
    free(walk->jumps);
    free(walk->pending);
    free(walk->indirect);
    free(walk->into);
    free(walk->seen);
    free(walk->extents);
    free(walk->named);
    free(walk->known);
}

/* False: no room. */
static bool add_way(uint64_t target, uint64_t ways[CFG_WAYS_MAX], size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (ways[i] == target)
            return true;
    if (*count == CFG_WAYS_MAX)
        return false;
    ways[(*count)++] = target;
    return true;
}

bool cfg_may_return(const uint8_t *bytes, size_t count, uint64_t start, uint64_t ways[CFG_WAYS_MAX],
                    size_t *ways_count)
{
    const struct cfg_code code = {.bytes = bytes, .count = count, .start = start};
    *ways_count = 0;
    for (size_t at = 0; at < count;) {
        struct isa_insn insn;
        unsigned length = decode(&code, at, &insn);
        bool jumps = insn.flow == ISA_JUMP || insn.flow == ISA_BRANCH;
        if (length == 0 || at >= CFG_SWEEP_MAX || insn.flow == ISA_RETURN ||
            (jumps && insn.indirect) ||
            (jumps && insn.target - start >= count && !add_way(insn.target, ways, ways_count)))
            return true;
        at += length;
    }
    return count == 0;
}
