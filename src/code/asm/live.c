// SPDX-License-Identifier: MIT
/* Which registers and flags are read before they are written. Backwards, to a fixed point. */
#include "asm/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    RAX = 1 << BASE_RAX,
    RDX = 1 << BASE_RDX,
    RSP = 1 << BASE_RSP,
    SAVED = 1 << BASE_RBX | 1 << BASE_RBP | 1 << BASE_R12 | 1 << BASE_R13 | 1 << BASE_R14 |
            1 << BASE_R15,
    ALL = (1 << BASE_GENERAL_REGISTERS) - 1,
    UNSAVED = ALL & ~SAVED & ~RSP,
    ARGUMENTS = 1 << BASE_RDI | 1 << BASE_RSI | RDX | 1 << BASE_RCX | 1 << BASE_R8 | 1 << BASE_R9 |
                RAX | 1 << BASE_R10,
};

struct solver {
    const struct asm_file *file;
    const struct asm_function *function;
    uint32_t number;
    struct asm_live *live;  /* result */
    struct asm_live *enter; /* of blocks */
    uint32_t unread;        /* registers that calls are taken not to read */
    uint32_t thrown; /* saved registers that landing pads read: exceptions may come from anywhere */
};

static bool is_called(const struct asm_statement *statement, const char *name)
{
    struct asm_slice rest = statement->operands, symbol;
    return asm_next_symbol(&rest, &symbol) && asm_begins(symbol, name);
}

/* Functions with conventions of their own: they read what they like and keep what they do not give
 * back. */
static bool is_special(const struct asm_statement *statement)
{
    static const char *const names[] = {"mcount",  "_mcount",  "__fentry__", "__x86_indirect_",
                                        "__llvm_", "__cyg_rt", "__hwasan_",  "__asan_set_shadow"};
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        if (is_called(statement, names[i]))
            return true;
    }
    return false;
}

static struct asm_live before_call(const struct solver *solver,
                                   const struct asm_statement *statement,
                                   const struct asm_insn *insn, struct asm_live live)
{
    if (asm_holds(statement->operands, "@tlscall")) /* keeps all but its result */
        return (struct asm_live){(live.registers & ~(uint32_t)RAX) | insn->reads | RSP, false};
    if (is_special(statement))
        return (struct asm_live){ALL, false};
    live.registers =
        (live.registers & ~(uint32_t)UNSAVED) | (ARGUMENTS & ~solver->unread) | RSP | insn->reads;
    live.flags = false;
    return live;
}

static struct asm_live before_insn(const struct asm_insn *insn, struct asm_live live)
{
    if (insn->isa.flow == ISA_SYSCALL)
        return (struct asm_live){ALL, true};
    live.registers = (live.registers & ~insn->writes) | insn->reads;
    live.flags = (live.flags && !insn->kills_flags) || insn->reads_flags;
    return live;
}

/* Inline assembly with jumps within: what it writes may stay unwritten. */
static bool is_straight(const struct asm_statement *statement, const struct asm_insn *insns)
{
    for (uint32_t i = 0; i < statement->insns_count; i++) {
        switch (insns[i].isa.flow) {
        case ISA_NEXT:
        case ISA_SYSCALL: break;
        case ISA_CALL:
            if (is_called(statement, "__tls_get_addr"))
                break;
            return false;
        default: return false;
        }
    }
    return true;
}

static struct asm_live before_statement(const struct solver *solver, uint32_t number,
                                        struct asm_live live)
{
    const struct asm_statement *statement = &solver->file->statements[number];
    const struct asm_insn *insns = &solver->file->insns[statement->insns];
    if (statement->kind == ASM_INLINE && !is_straight(statement, insns))
        return (struct asm_live){ALL, true};
    for (uint32_t i = statement->insns_count; i-- > 0;)
        live = insns[i].isa.flow == ISA_CALL ? before_call(solver, statement, &insns[i], live)
                                             : before_insn(&insns[i], live);
    live.registers |= solver->thrown | RSP;
    return live;
}

/* Behind the block's last statement. */
static struct asm_live leaving(const struct solver *solver, const struct asm_block *block)
{
    struct asm_live live = {RSP, false};
    for (uint32_t i = 0; i < block->edges; i++) {
        const struct asm_edge *edge = &solver->file->edges[block->first_edge + i];
        if (edge->to != ASM_NONE) {
            live.registers |= solver->enter[edge->to].registers;
            live.flags |= solver->enter[edge->to].flags;
        } else if (edge->kind == ASM_RETURN) {
            live.registers |= RAX | RDX | SAVED;
        } else if (edge->kind == ASM_TAIL || edge->kind == ASM_TAIL_TAKEN) {
            live.registers |= is_special(&solver->file->statements[edge->statement])
                                  ? (uint32_t)ALL
                                  : (uint32_t)(ARGUMENTS | SAVED);
        } else {
            /* The callers' landing pads find theirs by way of this frame. */
            live.registers |= SAVED;
        }
    }
    return live;
}

/* Runs back through a block; into `live` if the result is final. */
static struct asm_live run_block(const struct solver *solver, const struct asm_block *block,
                                 struct asm_live *out)
{
    struct asm_live live = leaving(solver, block);
    for (uint32_t i = block->last + 1; i-- > block->first;) {
        const struct asm_statement *statement = &solver->file->statements[i];
        if (statement->function == solver->number && asm_is_code(statement))
            live = before_statement(solver, i, live);
        if (out)
            out[asm_index(solver->function, i)] = live;
    }
    return live;
}

static void solve(struct solver *solver)
{
    const struct asm_block *blocks = &solver->file->blocks[solver->function->first_block];
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = solver->function->blocks; i-- > 0;) {
            struct asm_live live = run_block(solver, &blocks[i], NULL);
            struct asm_live *known = &solver->enter[i];
            if (live.registers == known->registers && live.flags == known->flags)
                continue;
            known->registers |= live.registers;
            known->flags |= live.flags;
            changed = true;
            if (blocks[i].flags & ASM_BLOCK_LANDING)
                solver->thrown |= known->registers & SAVED;
        }
    }
}

/* Statements between blocks (labels, directives): as before the next code of the part. */
static void fill_gaps(const struct solver *solver, const uint8_t *known, uint32_t first,
                      uint32_t end)
{
    struct asm_live next = {ALL, true};
    for (uint32_t i = end; i-- > first;) {
        uint32_t at = asm_index(solver->function, i);
        if (known[at])
            next = solver->live[at];
        else
            solver->live[at] = next;
    }
}

/* ---- what is passed on ----------------------------------------------------------------------- */

/*
 * A function may pass arguments on that it has got itself, so calls read all of their registers.
 * Not so rax, which counts vector arguments, and r10, the static chain: these callers set. Where
 * neither was written on any way from the entry, a call does not read it. But a nested function may
 * pass its static chain on.
 */
static bool has_nested(const struct asm_file *file)
{
    for (uint32_t i = 0; i < file->functions_count; i++) {
        struct asm_slice name = file->functions[i].name; /* "inner.0", not "f.part.0" */
        uint32_t dot = 0;
        while (dot < name.bytes && name.text[dot] != '.')
            dot++;
        if (dot + 1 < name.bytes && name.text[dot + 1] >= '0' && name.text[dot + 1] <= '9')
            return true;
    }
    return false;
}

static uint32_t writes_of(const struct solver *solver, uint32_t number)
{
    const struct asm_statement *statement = &solver->file->statements[number];
    uint32_t writes = statement->kind == ASM_INLINE ? (uint32_t)ALL : 0;
    for (uint32_t i = 0; i < statement->insns_count; i++) {
        const struct asm_insn *insn = &solver->file->insns[statement->insns + i];
        writes |= insn->isa.flow == ISA_CALL ? (uint32_t)UNSAVED : insn->writes;
    }
    return writes;
}

/* Registers that may have been written since the entry, by block; `written` is zeroed. */
static void follow_writes(const struct solver *solver, uint32_t *written)
{
    const struct asm_function *function = solver->function;
    const struct asm_block *blocks = &solver->file->blocks[function->first_block];
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < function->blocks; i++) {
            uint32_t now = written[i];
            if (blocks[i].flags & (ASM_BLOCK_LANDING | ASM_BLOCK_GOTO | ASM_BLOCK_SETJMP) ||
                !(blocks[i].flags & ASM_BLOCK_REACHED))
                now = written[i] = ALL;
            for (uint32_t k = blocks[i].first; k <= blocks[i].last; k++)
                now |= writes_of(solver, k);
            for (uint32_t e = 0; e < blocks[i].edges; e++) {
                uint32_t to = solver->file->edges[blocks[i].first_edge + e].to;
                if (to == ASM_NONE || (written[to] | now) == written[to])
                    continue;
                written[to] |= now;
                changed = true;
            }
        }
    }
}

/* Takes out of `live` what only calls read that do not. */
static void correct(struct solver *solver, const uint32_t *written, const struct asm_live *other)
{
    const uint32_t mask = RAX | 1 << BASE_R10;
    for (uint32_t i = 0; i < solver->function->blocks; i++) {
        const struct asm_block *block = &solver->file->blocks[solver->function->first_block + i];
        uint32_t now = written[i];
        for (uint32_t k = block->first; k <= block->last; k++) {
            uint32_t at = asm_index(solver->function, k);
            solver->live[at].registers &= ~(mask & ~now) | other[at].registers;
            now |= writes_of(solver, k);
        }
    }
}

static void run_all(struct solver *solver, struct asm_live *out, uint8_t *known)
{
    memset(solver->enter, 0, (solver->function->blocks + 1) * sizeof *solver->enter);
    solve(solver);
    for (uint32_t i = 0; i < solver->function->blocks; i++) {
        const struct asm_block *block = &solver->file->blocks[solver->function->first_block + i];
        run_block(solver, block, out);
        for (uint32_t k = block->first; k <= block->last; k++)
            known[asm_index(solver->function, k)] = 1;
    }
}

enum base_status asm_liveness(const struct asm_file *file, uint32_t number, struct asm_live **out)
{
    assert(number < file->functions_count);
    const struct asm_function *function = &file->functions[number];
    uint32_t count = asm_index_count(function);
    struct solver solver = {.file = file, .function = function, .number = number};
    solver.live = calloc(count + 1, sizeof *solver.live);
    solver.enter = calloc(function->blocks + 1, sizeof *solver.enter);
    struct asm_live *other = calloc(count + 1, sizeof *other);
    uint32_t *written = calloc(function->blocks + 1, sizeof *written);
    uint8_t *known = calloc(count + 1, 1);
    bool fine = solver.live && solver.enter && other && written && known;
    if (fine) {
        follow_writes(&solver, written);
        run_all(&solver, solver.live, known);
        solver.unread = RAX | (has_nested(file) ? 0 : 1 << BASE_R10);
        run_all(&solver, other, known);
        correct(&solver, written, other);
        fill_gaps(&solver, known, function->first, function->end);
        if (function->cold_first != ASM_NONE)
            fill_gaps(&solver, known, function->cold_first, function->cold_end);
        *out = solver.live;
    } else {
        free(solver.live);
    }
    free(solver.enter);
    free(other);
    free(written);
    free(known);
    return fine ? BASE_OK : BASE_NO_MEMORY;
}
