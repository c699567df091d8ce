// SPDX-License-Identifier: MIT
/*
 * A place of its own for each activation. The stack frame grows at its top, directly below the
 * return address: on entry `lea -N(%rsp), %rsp`, before every exit the opposite. What the function
 * itself addresses below its return address moves with it and needs no change; what lies above,
 * arguments on the stack, is N bytes further away. So exceptions, longjmp, coroutines and signals
 * need nothing: each activation has its own number of the path, wherever control goes.
 *
 * Rejected: a shadow stack in thread-local storage, which all of these get out of step.
 *
 * Where frame pointers are chained (push %rbp; mov %rsp, %rbp), a copy of the return address stands
 * below the slots, so that those who follow the chain still find one.
 */
#include "instrument/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- slots ----------------------------------------------------------------------------------- */

static int first_free(uint32_t candidates, uint32_t used)
{
    static const uint8_t order[] = {BASE_R10, BASE_R9,  BASE_R8,  BASE_RCX, BASE_RSI,
                                    BASE_RDI, BASE_RDX, BASE_RAX, BASE_R11, BASE_R15,
                                    BASE_R14, BASE_R13, BASE_R12, BASE_RBX};
    for (size_t i = 0; i < BASE_COUNT(order); i++)
        if (candidates & ~used & BIT(order[i]))
            return order[i];
    return -1;
}

static void choose_storage(struct work *work)
{
    uint32_t runtime =
        work->table_kind == INSTRUMENTED_TABLE_HASH ? BIT(BASE_RAX) | BIT(BASE_R11) : 0;
    if (has_cycles(work)) /* of rdtsc */
        runtime |= BIT(BASE_RAX) | BIT(BASE_RDX);
    work->storage = STORE_NONE;
    work->path_register = -1;
    if (!work->plan.needs_register)
        return;
    int number = -1;
    if (work->function->flags & ASM_LEAF)
        number = first_free(CALLER_SAVED & ~runtime & ~BIT(BASE_R11), work->used);
    if (number >= 0) {
        work->storage = STORE_REGISTER;
        work->path_register = number;
        return;
    }
    number = first_free(CALLEE_SAVED, work->used);
    work->storage = number >= 0 ? STORE_SAVED : STORE_SLOT;
    work->path_register = number;
}

static void add_slot(struct work *work, enum slot_use use)
{
    work->slots[use] = (int32_t)work->frame_bytes;
    work->frame_bytes += 8;
}

void frame_choose(struct work *work)
{
    choose_storage(work);
    for (int i = 0; i < SLOT_USES; i++)
        work->slots[i] = -1;
    bool record = has_contexts(work) && (work->call_sites || work->counts_here || has_cycles(work));
    work->framed = record || has_cycles(work) || work->spills || work->storage == STORE_SAVED ||
                   work->storage == STORE_SLOT;
    work->chained = work->framed && work->function->flags & ASM_FRAME_ADDRESS;
    work->frame_bytes = work->chained ? 8 : 0;
    if (work->storage == STORE_SLOT)
        add_slot(work, SLOT_PATH);
    if (work->storage == STORE_SAVED)
        add_slot(work, SLOT_SAVED);
    if (has_contexts(work) && work->framed)
        add_slot(work, SLOT_RECORD);
    if (record && work->call_sites)
        add_slot(work, SLOT_ENTRY);
    if (has_cycles(work))
        add_slot(work, SLOT_TIME);
    for (uint32_t i = 0; i < work->spills; i++)
        add_slot(work, (enum slot_use)(SLOT_SPILL + i));
    work->frame_bytes = (work->frame_bytes + 15) & ~15U;
}

/* ---- call frame information ------------------------------------------------------------------ */

/* Register number in "7", "%rsp", "rsp"; -1: another. */
static int cfi_register(const char *text)
{
    if (*text == '%')
        text++;
    if (!strncmp(text, "rsp", 3))
        return 7;
    if (!strncmp(text, "rbp", 3))
        return 6;
    return *text >= '0' && *text <= '9' ? atoi(text) : -1;
}

static bool copy(struct asm_slice slice, char *out, size_t bytes)
{
    if (slice.bytes >= bytes)
        return false;
    memcpy(out, slice.text, slice.bytes);
    out[slice.bytes] = 0;
    return true;
}

enum { CFI_DEPTH = 32 };
struct cfi_state {
    int reg; /* of the CFA */
    int kept[CFI_DEPTH];
    unsigned depth;
};

static void follow(struct cfi_state *state, const struct asm_statement *statement)
{
    char operands[64];
    if (statement->kind != ASM_DIRECTIVE || !copy(statement->operands, operands, sizeof operands))
        return;
    if (asm_is(statement->name, ".cfi_startproc"))
        state->reg = 7;
    else if (asm_is(statement->name, ".cfi_def_cfa") ||
             asm_is(statement->name, ".cfi_def_cfa_register"))
        state->reg = cfi_register(operands);
    else if (asm_is(statement->name, ".cfi_remember_state") && state->depth < CFI_DEPTH)
        state->kept[state->depth++] = state->reg;
    else if (asm_is(statement->name, ".cfi_restore_state") && state->depth)
        state->reg = state->kept[--state->depth];
}

static void follow_part(struct work *work, uint32_t first, uint32_t end)
{
    struct cfi_state state = {.reg = 7};
    for (uint32_t i = first; i < end; i++) {
        work->cfa_is_stack[asm_index(work->function, i)] = state.reg == 7;
        follow(&state, &work->file->statements[i]);
    }
}

void frame_follow_cfi(struct work *work)
{
    const struct asm_function *function = work->function;
    follow_part(work, function->first, function->end);
    if (function->cold_first != ASM_NONE)
        follow_part(work, function->cold_first, function->cold_end);
}

static void adjust_directive(struct work *work, uint32_t number, const struct cfi_state *state)
{
    const struct asm_statement *statement = &work->file->statements[number];
    struct asm_slice name = statement->name;
    char operands[64];
    struct util_text text = {0};
    long long bytes = work->frame_bytes;
    if (!asm_begins(name, ".cfi_") || !copy(statement->operands, operands, sizeof operands))
        return;
    char *comma = strchr(operands, ',');
    bool near = state->reg == 7 || state->reg == 6;
    if (asm_is(name, ".cfi_def_cfa_offset") && near) {
        util_text_print(&text, "\t.cfi_def_cfa_offset %lld\n", strtoll(operands, NULL, 0) + bytes);
    } else if (asm_is(name, ".cfi_def_cfa") && comma) {
        int reg = cfi_register(operands);
        if (reg == 7 || reg == 6)
            util_text_print(&text, "\t.cfi_def_cfa %d, %lld\n", reg,
                            strtoll(comma + 1, NULL, 0) + bytes);
    } else if (asm_is(name, ".cfi_offset") && comma) {
        long long offset = strtoll(comma + 1, NULL, 0) - bytes;
        *comma = 0;
        util_text_print(&text, "\t.cfi_offset %s, %lld\n", operands, offset);
    } else if (asm_is(name, ".cfi_escape") || asm_is(name, ".cfi_val_offset")) {
        work->reason = INSTRUMENTED_SKIP_STACK;
    }
    work_edit(work, number, EDIT_REPLACE, &text);
}

/* What .cfi_startproc of the cold part has to be followed by. */
static void adjust_cold_start(struct work *work, uint32_t number)
{
    struct util_text text = {0};
    util_text_print(&text, "\t.cfi_adjust_cfa_offset %u\n", work->frame_bytes);
    if (work->storage == STORE_SAVED) {
        static const uint8_t dwarf[] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
        util_text_print(&text, "\t.cfi_offset %d, %d\n", dwarf[work->path_register],
                        work->slots[SLOT_SAVED] - 8 - (int)work->frame_bytes);
    }
    work_edit(work, number, EDIT_AFTER, &text);
}

static void adjust_part(struct work *work, uint32_t first, uint32_t end, bool cold)
{
    struct cfi_state state = {.reg = 7};
    for (uint32_t i = first; i < end && work->reason == INSTRUMENTED_WHOLE; i++) {
        const struct asm_statement *statement = &work->file->statements[i];
        if (statement->kind == ASM_DIRECTIVE)
            adjust_directive(work, i, &state);
        if (cold && statement->kind == ASM_DIRECTIVE && asm_is(statement->name, ".cfi_startproc"))
            adjust_cold_start(work, i);
        follow(&state, statement);
    }
}

void frame_adjust(struct work *work)
{
    const struct asm_function *function = work->function;
    if (!work->framed)
        return;
    arguments_move(work);
    adjust_part(work, function->first, function->end, false);
    if (function->cold_first != ASM_NONE)
        adjust_part(work, function->cold_first, function->cold_end, true);
}
