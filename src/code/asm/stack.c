// SPDX-License-Identifier: MIT
/*
 * Where the stack pointer and the frame pointer are. Forwards, to a fixed point. So are copies of
 * the stack pointer in registers that callees preserve: blocks with objects of variable size, and
 * calls with arguments on the stack, end by putting such a copy back.
 */
#include "asm/internal.h"

#include <assert.h>
#include <stdlib.h>

enum { UNVISITED = INT32_MIN + 1, DEPTH_MAX = 1 << 30, ARGUMENTS_SIZE = 0x2e };

enum { COPIES = 5 };
static const uint8_t copy_registers[COPIES] = {BASE_RBX, BASE_R12, BASE_R13, BASE_R14, BASE_R15};
static const char *const copy_names[COPIES] = {"%rbx", "%r12", "%r13", "%r14", "%r15"};

/* Also how far below the stack pointer on entry the copies point. */
struct place {
    struct asm_stack at;
    int32_t copies[COPIES];
};

struct solver {
    const struct asm_file *file;
    const struct asm_function *function;
    uint32_t number;
    struct asm_stack *stack; /* result */
    struct place *enter;     /* of blocks */
    uint32_t *pads;          /* of ranges of this function: block */
    uint32_t *ranges, ranges_count;
    uint8_t *called; /* of blocks: some call leads to this landing pad */
    int32_t *pushed; /* of statements: bytes of arguments that unwinding takes off, as the unwind
                        table says */
    bool changed;
};

static int32_t moved(int32_t depth, int64_t bytes)
{
    if (depth == ASM_UNKNOWN || bytes < -DEPTH_MAX || bytes > DEPTH_MAX)
        return ASM_UNKNOWN;
    int64_t sum = depth + bytes;
    return sum < -DEPTH_MAX || sum > DEPTH_MAX ? ASM_UNKNOWN : (int32_t)sum;
}

/* "$24, %rsp": the number; false if it is none. */
static bool immediate(struct asm_slice operands, int64_t *value)
{
    if (!operands.bytes || operands.text[0] != '$' || operands.bytes > 60)
        return false;
    char digits[64], *end;
    memcpy(digits, operands.text + 1, operands.bytes - 1);
    digits[operands.bytes - 1] = 0;
    *value = strtoll(digits, &end, 0);
    return end != digits && (*end == ',' || *end == ' ' || *end == '\t');
}

static bool is_mnemonic(const struct asm_statement *statement, const char *name)
{
    return asm_begins(statement->name, name) &&
           (statement->name.bytes == strlen(name) ||
            (statement->name.bytes == strlen(name) + 1 &&
             statement->name.text[statement->name.bytes - 1] == 'q'));
}

static bool ends_with(struct asm_slice slice, const char *text)
{
    size_t length = strlen(text);
    return slice.bytes >= length && !memcmp(slice.text + slice.bytes - length, text, length);
}

/* What a move or lea puts into rsp, rbp or a copy. */
static int32_t computed(const struct asm_statement *statement, const struct asm_insn *insn,
                        const struct place *place)
{
    struct asm_stack at = place->at;
    if (is_mnemonic(statement, "mov")) {
        if (asm_begins(statement->operands, "%rsp,"))
            return at.rsp;
        if (asm_begins(statement->operands, "%rbp,"))
            return at.rbp;
        for (int i = 0; i < COPIES; i++)
            if (asm_begins(statement->operands, copy_names[i]) &&
                statement->operands.bytes > strlen(copy_names[i]) &&
                statement->operands.text[strlen(copy_names[i])] == ',')
                return place->copies[i];
        return ASM_UNKNOWN;
    }
    const struct isa_access *address = &insn->isa.accesses[0];
    if (!is_mnemonic(statement, "lea") || address->index >= 0)
        return ASM_UNKNOWN;
    if (address->base == BASE_RSP)
        return moved(at.rsp, -address->displacement);
    if (address->base == BASE_RBP)
        return moved(at.rbp, -address->displacement);
    return ASM_UNKNOWN;
}

static int32_t adjusted(const struct asm_statement *statement, int32_t depth)
{
    int64_t bytes;
    if (!immediate(statement->operands, &bytes))
        return ASM_UNKNOWN;
    return is_mnemonic(statement, "sub") ? moved(depth, bytes) : moved(depth, -bytes);
}

static struct asm_stack behind_insn(const struct asm_statement *statement,
                                    const struct asm_insn *insn, const struct place *place)
{
    struct asm_stack at = place->at;
    bool rsp = insn->writes & 1u << BASE_RSP, rbp = insn->writes & 1u << BASE_RBP;
    if (insn->isa.flow == ISA_CALL || insn->isa.flow == ISA_RETURN || (!rsp && !rbp))
        return at;
    unsigned bytes = insn->isa.access_count ? insn->isa.accesses[0].bytes : 0;
    if (is_mnemonic(statement, "push") || is_mnemonic(statement, "pushf")) {
        bytes = insn->isa.accesses[insn->isa.access_count ? insn->isa.access_count - 1 : 0].bytes;
        at.rsp = bytes == 8 ? moved(at.rsp, 8) : ASM_UNKNOWN;
    } else if (is_mnemonic(statement, "pop") || is_mnemonic(statement, "popf")) {
        at.rsp =
            bytes == 8 && !ends_with(statement->operands, "%rsp") ? moved(at.rsp, -8) : ASM_UNKNOWN;
        at.rbp = rbp ? ASM_UNKNOWN : at.rbp;
    } else if (is_mnemonic(statement, "leave")) {
        at.rsp = moved(at.rbp, -8);
        at.rbp = ASM_UNKNOWN;
    } else if (rsp && !rbp) {
        bool sums = is_mnemonic(statement, "sub") || is_mnemonic(statement, "add");
        at.rsp = sums ? adjusted(statement, at.rsp) : computed(statement, insn, place);
    } else {
        at.rbp = rsp ? ASM_UNKNOWN : computed(statement, insn, place);
        at.rsp = rsp ? ASM_UNKNOWN : at.rsp;
    }
    return at;
}

/* Inline assembly has no operands to read: by pushes and pops alone. */
static struct asm_stack behind_region(const struct asm_insn *insn, struct asm_stack at)
{
    if (insn->isa.flow == ISA_CALL)
        return at;
    if (insn->writes & 1u << BASE_RBP)
        at.rbp = ASM_UNKNOWN;
    if (!(insn->writes & 1u << BASE_RSP))
        return at;
    at.rsp = ASM_UNKNOWN;
    return at;
}

/* Callees preserve them. */
static void copies_behind(const struct asm_statement *statement, const struct asm_insn *insn,
                          struct place *place)
{
    bool copying = statement->kind == ASM_INSTRUCTION && is_mnemonic(statement, "mov") &&
                   insn->isa.access_count == 0;
    int32_t value = copying ? computed(statement, insn, place) : ASM_UNKNOWN;
    for (int i = 0; i < COPIES; i++)
        if (insn->writes & 1u << copy_registers[i])
            place->copies[i] = insn->isa.flow == ISA_CALL ? place->copies[i] : value;
}

/* A region that writes the stack pointer gives it back in the end, or the compiler's own code would
 * fail. */
static struct place behind(const struct solver *solver, uint32_t number, struct place place)
{
    const struct asm_statement *statement = &solver->file->statements[number];
    int32_t before = place.at.rsp;
    for (uint32_t i = 0; i < statement->insns_count; i++) {
        const struct asm_insn *insn = &solver->file->insns[statement->insns + i];
        struct asm_stack at = statement->kind == ASM_INLINE ? behind_region(insn, place.at)
                                                            : behind_insn(statement, insn, &place);
        copies_behind(statement, insn, &place);
        place.at = at;
    }
    if (statement->kind == ASM_INLINE)
        place.at.rsp = before;
    return place;
}

static int32_t join(int32_t known, int32_t more)
{
    if (known == UNVISITED)
        return more;
    return known == more ? known : ASM_UNKNOWN;
}

static void arrive(struct solver *solver, uint32_t block, const struct place *place)
{
    struct place *known = &solver->enter[block];
    struct place joined = {{join(known->at.rsp, place->at.rsp), join(known->at.rbp, place->at.rbp)},
                           {0}};
    for (int i = 0; i < COPIES; i++)
        joined.copies[i] = join(known->copies[i], place->copies[i]);
    solver->changed |= memcmp(&joined, known, sizeof joined) != 0;
    *known = joined;
}

static bool calls(const struct asm_file *file, uint32_t number)
{
    const struct asm_statement *statement = &file->statements[number];
    for (uint32_t i = 0; i < statement->insns_count; i++)
        if (file->insns[statement->insns + i].isa.flow == ISA_CALL)
            return true;
    return false;
}

/* Other instructions throw, too, with -fnon-call-exceptions. But where there are calls they decide: a
   range may have an epilogue in its midst. */
static void throw_from(struct solver *solver, uint32_t statement, struct place place)
{
    bool call = calls(solver->file, statement);
    place.at.rsp =
        moved(place.at.rsp, -(int64_t)solver->pushed[asm_index(solver->function, statement)]);
    for (uint32_t i = 0; i < solver->ranges_count; i++) {
        const struct asm_range *range = &solver->file->private->ranges[solver->ranges[i]];
        if (statement >= range->first && statement < range->end &&
            (call || !solver->called[solver->pads[i]]))
            arrive(solver, solver->pads[i], &place);
    }
}

static struct place place_of(int32_t rsp, int32_t others)
{
    return (struct place){{rsp, others}, {others, others, others, others, others}};
}

static void run_block(struct solver *solver, uint32_t number, struct asm_stack *out)
{
    const struct asm_file *file = solver->file;
    const struct asm_block *block = &file->blocks[solver->function->first_block + number];
    struct place place = solver->enter[number];
    if (place.at.rsp == UNVISITED)
        place = place_of(ASM_UNKNOWN, ASM_UNKNOWN);
    for (uint32_t i = block->first; i <= block->last; i++) {
        const struct asm_statement *statement = &file->statements[i];
        if (out)
            out[asm_index(solver->function, i)] = place.at;
        if (statement->function != solver->number || !asm_is_code(statement))
            continue;
        if (!out)
            throw_from(solver, i, place);
        place = behind(solver, i, place);
    }
    for (uint32_t i = 0; i < block->edges && !out; i++) {
        if (file->edges[block->first_edge + i].to != ASM_NONE)
            arrive(solver, file->edges[block->first_edge + i].to, &place);
    }
}

static void solve(struct solver *solver)
{
    for (uint32_t i = 0; i < solver->function->blocks; i++)
        solver->enter[i] = place_of(UNVISITED, UNVISITED);
    solver->enter[0] = place_of(0, ASM_UNKNOWN);
    do {
        solver->changed = false;
        for (uint32_t i = 0; i < solver->function->blocks; i++) {
            if (solver->enter[i].at.rsp != UNVISITED)
                run_block(solver, i, NULL);
        }
    } while (solver->changed);
}

/* Landing pads of this function, by the ranges of calls that lead there. */
static bool find_pads(struct solver *solver)
{
    const struct asm_private *private = solver->file->private;
    solver->ranges = malloc((private->ranges_count + 1) * sizeof *solver->ranges);
    solver->pads = malloc((private->ranges_count + 1) * sizeof *solver->pads);
    solver->called = calloc(solver->function->blocks + 1, 1);
    if (!solver->ranges || !solver->pads || !solver->called)
        return false;
    for (uint32_t i = 0; i < private->ranges_count; i++) {
        uint32_t pad = private->ranges[i].pad;
        if (solver->file->statements[pad].function != solver->number)
            continue;
        for (uint32_t k = 0; k < solver->function->blocks; k++) {
            const struct asm_block *block =
                &solver->file->blocks[solver->function->first_block + k];
            if (!(block->flags & ASM_BLOCK_LANDING) || block->label > pad || block->first < pad)
                continue;
            solver->ranges[solver->ranges_count] = i;
            solver->pads[solver->ranges_count++] = k;
            for (uint32_t s = private->ranges[i].first; s < private->ranges[i].end; s++)
                solver->called[k] |=
                    asm_is_code(&solver->file->statements[s]) && calls(solver->file, s);
        }
    }
    return true;
}

/* ".cfi_escape 0x2e,0x10" (DW_CFA_GNU_args_size): unwinding to a landing pad here takes 16 bytes
 * off. */
static int32_t escaped(const struct asm_statement *statement, int32_t known)
{
    if (!asm_is(statement->name, ".cfi_escape") || statement->operands.bytes > 60)
        return known;
    char text[64], *end;
    memcpy(text, statement->operands.text, statement->operands.bytes);
    text[statement->operands.bytes] = 0;
    if (strtoul(text, &end, 0) != ARGUMENTS_SIZE || *end != ',')
        return known;
    unsigned long size = 0, shift = 0, byte;
    do {
        byte = strtoul(end + 1, &end, 0);
        size |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && *end == ',' && shift < 28);
    return (int32_t)size;
}

static void find_pushed(struct solver *solver, uint32_t first, uint32_t end)
{
    int32_t size = 0;
    for (uint32_t i = first; i < end; i++) {
        const struct asm_statement *statement = &solver->file->statements[i];
        if (statement->kind == ASM_DIRECTIVE && statement->function == solver->number)
            size = escaped(statement, size);
        solver->pushed[asm_index(solver->function, i)] = size;
    }
}

static void fill_gaps(const struct solver *solver, const uint8_t *known, uint32_t first,
                      uint32_t end)
{
    struct asm_stack next = {ASM_UNKNOWN, ASM_UNKNOWN};
    for (uint32_t i = end; i-- > first;) {
        uint32_t at = asm_index(solver->function, i);
        if (known[at])
            next = solver->stack[at];
        else
            solver->stack[at] = next;
    }
}

static void give(struct solver *solver, uint8_t *known)
{
    const struct asm_function *function = solver->function;
    solve(solver);
    for (uint32_t i = 0; i < function->blocks; i++) {
        const struct asm_block *block = &solver->file->blocks[function->first_block + i];
        run_block(solver, i, solver->stack);
        for (uint32_t k = block->first; k <= block->last; k++)
            known[asm_index(function, k)] = 1;
    }
    fill_gaps(solver, known, function->first, function->end);
    if (function->cold_first != ASM_NONE)
        fill_gaps(solver, known, function->cold_first, function->cold_end);
}

enum base_status asm_stack_depths(const struct asm_file *file, uint32_t number,
                                  struct asm_stack **out)
{
    assert(number < file->functions_count);
    const struct asm_function *function = &file->functions[number];
    uint32_t count = asm_index_count(function);
    struct solver solver = {.file = file, .function = function, .number = number};
    solver.stack = malloc((count + 1) * sizeof *solver.stack);
    solver.enter = malloc((function->blocks + 1) * sizeof *solver.enter);
    solver.pushed = calloc(count + 1, sizeof *solver.pushed);
    uint8_t *known = calloc(count + 1, 1);
    bool fine = solver.stack && solver.enter && solver.pushed && known && find_pads(&solver);
    if (fine) {
        find_pushed(&solver, function->first, function->end);
        if (function->cold_first != ASM_NONE)
            find_pushed(&solver, function->cold_first, function->cold_end);
        if (function->blocks)
            give(&solver, known);
        *out = solver.stack;
    } else {
        free(solver.stack);
    }
    free(solver.enter);
    free(solver.pushed);
    free(solver.ranges);
    free(solver.pads);
    free(solver.called);
    free(known);
    return fine ? BASE_OK : BASE_NO_MEMORY;
}
