// SPDX-License-Identifier: MIT
/*
 * Calls that do not return, by unwind directives: a call that returns leaves the stack as it was,
 * so that where the frame's address lies another number of bytes from the same register behind a
 * call than at it, nobody comes from there. Compilers know what is noreturn in other files, their
 * output shows it by nothing else; taken for an edge, it would join two places of the stack pointer.
 */
#include "asm/internal.h"

#include <stdlib.h>

enum { REMEMBERED_MAX = 16 };

/* Canonical frame address = reg + offset; an empty reg: not known. */
struct frame_address {
    struct asm_slice reg;
    int64_t offset;
};

struct follower {
    struct frame_address now, remembered[REMEMBERED_MAX];
    uint32_t depth;
};

static int64_t number_of(struct asm_slice text)
{
    char digits[32];
    size_t bytes = text.bytes < sizeof digits - 1 ? text.bytes : sizeof digits - 1;
    memcpy(digits, text.text, bytes);
    digits[bytes] = 0;
    return strtoll(digits, NULL, 0);
}

/* "7" and "%rsp" are one register. */
static struct asm_slice register_of(struct asm_slice text)
{
    static const char sp[] = "7", bp[] = "6";
    if (asm_is(text, "%rsp") || asm_is(text, "rsp"))
        return (struct asm_slice){sp, 1};
    if (asm_is(text, "%rbp") || asm_is(text, "rbp"))
        return (struct asm_slice){bp, 1};
    return text;
}

static struct asm_slice part(struct asm_slice text, bool behind_comma)
{
    const char *comma = text.bytes ? memchr(text.text, ',', text.bytes) : NULL;
    size_t first = comma ? (size_t)(comma - text.text) : text.bytes;
    if (!behind_comma)
        return (struct asm_slice){text.text, (uint32_t)first};
    if (!comma)
        return (struct asm_slice){text.text, 0};
    return (struct asm_slice){comma + 1, (uint32_t)(text.bytes - first - 1)};
}

static void follow(struct follower *follower, const struct asm_statement *at)
{
    struct frame_address *now = &follower->now;
    if (asm_is(at->name, ".cfi_def_cfa_offset")) {
        now->offset = number_of(at->operands);
    } else if (asm_is(at->name, ".cfi_adjust_cfa_offset")) {
        now->offset += number_of(at->operands);
    } else if (asm_is(at->name, ".cfi_def_cfa_register")) {
        now->reg = register_of(at->operands);
    } else if (asm_is(at->name, ".cfi_def_cfa")) {
        now->reg = register_of(part(at->operands, false));
        now->offset = number_of(part(at->operands, true));
    } else if (asm_is(at->name, ".cfi_startproc")) {
        *now = (struct frame_address){register_of((struct asm_slice){"rsp", 3}), 8};
    } else if (asm_is(at->name, ".cfi_remember_state")) {
        if (follower->depth < REMEMBERED_MAX)
            follower->remembered[follower->depth] = *now;
        follower->depth++;
    } else if (asm_is(at->name, ".cfi_restore_state")) {
        bool known = follower->depth && follower->depth <= REMEMBERED_MAX;
        *now = known ? follower->remembered[follower->depth - 1] : (struct frame_address){{0}, 0};
        follower->depth -= follower->depth > 0;
    } else if (asm_is(at->name, ".cfi_escape") || asm_is(at->name, ".cfi_endproc")) {
        now->reg.bytes = 0; /* may say anything */
    }
}

void asm_find_stops(struct asm_walk *walk, uint32_t first, uint32_t end)
{
    const struct asm_file *file = walk->file;
    struct follower follower = {.depth = 0};
    struct frame_address at_call = {{0}, 0};
    uint32_t call = ASM_NONE;
    for (uint32_t i = first; i < end; i++) {
        const struct asm_statement *at = &file->statements[i];
        if (at->function != walk->number)
            continue;
        if (at->kind == ASM_DIRECTIVE)
            follow(&follower, at);
        uint32_t place = walk->next_code[i];
        if (place == ASM_NONE || walk->code[place] != i)
            continue;
        const struct frame_address *now = &follower.now;
        if (call != ASM_NONE && now->reg.bytes && asm_same(now->reg, at_call.reg) &&
            now->offset != at_call.offset)
            walk->control[call] = CONTROL_STOP;
        const struct asm_insn *insn = asm_last_insn(file, i);
        bool calls = at->kind == ASM_INSTRUCTION && insn && insn->isa.flow == ISA_CALL &&
                     walk->control[place] == CONTROL_NEXT && follower.now.reg.bytes;
        call = calls ? place : ASM_NONE;
        at_call = follower.now;
    }
}
