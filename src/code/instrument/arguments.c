// SPDX-License-Identifier: MIT
/*
 * Arguments on the stack, which lie further away from a frame that has grown (frame.c).
 *
 * An operand is known to be an argument if its address is a constant above the return address.
 * Where an address is only computed (lea) or an index is involved, text cannot distinguish an
 * argument from the end of a local array: such functions are left alone, but for the two sequences
 * whose meaning is certain, va_start and the argument pointer of a realigned stack, and for
 * functions that compute no address of a local variable at all.
 */
#include "instrument/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- text of operands ------------------------------------------------------------------------ */

/* "disp(base,index,scale)" with the stack pointer or the frame pointer in it. */
struct stack_operand {
    size_t at, bytes; /* of the displacement in the operands' text */
    long long displacement;
    bool frame_pointer, indexed;
    bool symbolic; /* the displacement is no plain number */
};

static bool find_stack_operand(struct asm_slice operands, size_t from, struct stack_operand *found)
{
    const char *text = operands.text;
    for (size_t i = from; i + 6 <= operands.bytes; i++) {
        if (text[i] != '(')
            continue;
        bool sp = !memcmp(text + i, "(%rsp", 5), bp = !memcmp(text + i, "(%rbp", 5);
        bool second = false;
        if (!sp && !bp) { /* an index may be rbp, or the base be missing */
            size_t end = i;
            while (end < operands.bytes && text[end] != ')')
                end++;
            for (size_t k = i; k + 5 <= end; k++)
                second |= !memcmp(text + k, ",%rbp", 5) || !memcmp(text + k, ",%rsp", 5);
            if (!second)
                continue;
        }
        size_t start = i;
        while (start > 0 && text[start - 1] != ',' && text[start - 1] != ' ' &&
               text[start - 1] != '\t' && text[start - 1] != '*' && text[start - 1] != ':')
            start--;
        char number[32] = "";
        size_t bytes = i - start;
        if (bytes < sizeof number)
            memcpy(number, text + start, bytes);
        char *end = number;
        long long value = strtoll(number, &end, 0);
        *found = (struct stack_operand){
            .at = start,
            .bytes = bytes,
            .displacement = value,
            .frame_pointer = bp || second, /* the stack pointer is never an index */
            .indexed = second || (i + 5 < operands.bytes && text[i + 5] == ','),
            .symbolic = bytes >= sizeof number || *end || second,
        };
        return true;
    }
    return false;
}

/* ---- arguments on the stack ------------------------------------------------------------------ */

enum { FAR_INDEX = 256 }; /* bytes by which an index into an argument might be shifted */

/* `leaq 8(%rsp), %r10; andq $-N, %rsp`: r10 is the address of the arguments. */
static bool is_argument_pointer(const struct work *work, uint32_t number)
{
    const struct asm_statement *lea = &work->file->statements[number];
    if (!asm_is(lea->operands, "8(%rsp), %r10"))
        return false;
    for (uint32_t i = number + 1; i < work->function->end; i++) {
        const struct asm_statement *next = &work->file->statements[i];
        if (next->kind == ASM_INSTRUCTION)
            return asm_is(next->name, "andq") && next->operands.bytes > 5 &&
                   !memcmp(next->operands.text + next->operands.bytes - 4, "%rsp", 4);
    }
    return false;
}

/* ---- va_start ---- */

/* The operand's place, from the return address up. */
static bool place_of(const struct work *work, uint32_t number, const struct stack_operand *operand,
                     long long *offset)
{
    const struct asm_stack *stack = &work->stack[asm_index(work->function, number)];
    int32_t depth = operand->frame_pointer ? stack->rbp : stack->rsp;
    if (depth == ASM_UNKNOWN || operand->symbolic || operand->indexed)
        return false;
    *offset = operand->displacement - depth;
    return true;
}

/* "SOURCE, PLACE" of a store with this name. */
static bool is_store(const struct work *work, uint32_t number, const char *name,
                     struct asm_slice *source, long long *offset)
{
    const struct asm_statement *statement = &work->file->statements[number];
    struct asm_slice operands = statement->operands;
    struct stack_operand operand;
    const char *comma = operands.bytes ? memchr(operands.text, ',', operands.bytes) : NULL;
    if (statement->kind != ASM_INSTRUCTION || !asm_is(statement->name, name) || !comma ||
        !find_stack_operand(operands, 0, &operand) ||
        operand.at < (size_t)(comma - operands.text) || operands.text[operands.bytes - 1] != ')')
        return false;
    *source = (struct asm_slice){operands.text, (uint32_t)(comma - operands.text)};
    return place_of(work, number, &operand, offset);
}

static bool is_address(const struct work *work, uint32_t number, long long *offset)
{
    const struct asm_statement *statement = &work->file->statements[number];
    struct stack_operand operand;
    return statement->kind == ASM_INSTRUCTION && asm_is(statement->name, "leaq") &&
           find_stack_operand(statement->operands, 0, &operand) &&
           place_of(work, number, &operand, offset);
}

static uint32_t registers_of(const struct work *work, uint32_t number, bool reads)
{
    const struct asm_statement *statement = &work->file->statements[number];
    uint32_t all = 0;
    if (!asm_is_code(statement))
        return 0;
    for (uint32_t i = 0; i < statement->insns_count; i++) {
        const struct asm_insn *insn = &work->file->insns[statement->insns + i];
        all |= insn->writes | (reads ? insn->reads : 0);
    }
    return all;
}

static const struct asm_block *block_of(const struct work *work, uint32_t number)
{
    for (uint32_t i = 0; i < work->function->blocks; i++)
        if (number >= work->blocks[i].first && number <= work->blocks[i].last)
            return &work->blocks[i];
    return NULL;
}

/* Where the address in the first register that the store at `number` reads comes from. */
static bool stored_address(const struct work *work, const struct asm_block *block, uint32_t number,
                           long long *offset)
{
    const struct asm_statement *statement = &work->file->statements[number];
    uint32_t source =
        statement->insns_count ? work->file->insns[statement->insns].reads & ~BIT(BASE_RSP) : 0;
    if (work->stack[asm_index(work->function, number)].rbp != ASM_UNKNOWN)
        source &= ~BIT(BASE_RBP);
    for (uint32_t i = number; i-- > block->first;)
        if (registers_of(work, i, false) & source)
            return is_address(work, i, offset);
    return false;
}

static const char *const argument_names[] = {"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9"};

/* Argument registers, a bit each, that are stored where a va_list with this area reads them. */
static uint32_t saved_arguments(const struct work *work, long long area)
{
    uint32_t saved = 0;
    for (uint32_t i = work->function->first; i < work->function->end; i++) {
        struct asm_slice source;
        long long offset;
        if (!is_store(work, i, "movq", &source, &offset) || offset < area || offset > area + 40 ||
            (offset - area) % 8)
            continue;
        uint32_t number = (uint32_t)(offset - area) / 8;
        if (asm_is(source, argument_names[number]))
            saved |= BIT(number);
    }
    return saved;
}

/*
 * Is there a va_list at `list`, but for its pointer to arguments on the stack? It holds the offset
 * of the first variable argument in an area, and that area's address; that argument's register is
 * stored just there. Where the offset is not seen, two registers have to be.
 */
static bool is_list(const struct work *work, const struct asm_block *block, long long list)
{
    long long first = -1, area = 1;
    for (uint32_t i = block->first; i <= block->last; i++) {
        struct asm_slice source;
        long long offset;
        if (is_store(work, i, "movl", &source, &offset) && offset == list && first < 0 &&
            *source.text == '$')
            first = strtoll(source.text + 1, NULL, 0);
        if (is_store(work, i, "movq", &source, &offset) && offset == list + 16 && area > 0 &&
            !stored_address(work, block, i, &area))
            return false;
    }
    if (area > 0)
        return false;
    uint32_t saved = saved_arguments(work, area);
    if (first < 0)
        return (saved & saved >> 1) != 0;
    return first >= 8 && first <= 40 && first % 8 == 0 && saved & BIT(first / 8);
}

/* The address `lea` computes is first of all stored into a va_list. */
static bool is_va_start(const struct work *work, uint32_t number)
{
    const struct asm_block *block = block_of(work, number);
    uint32_t result = registers_of(work, number, false);
    struct asm_slice source;
    long long offset;
    for (uint32_t i = number + 1; block && i <= block->last; i++)
        if (registers_of(work, i, true) & result)
            return is_store(work, i, "movq", &source, &offset) && *source.text == '%' &&
                   is_list(work, block, offset - 8);
    return false;
}

/* Where the unnamed arguments on the stack begin, from the return address up; 0: there are none. Of
   functions that read no vector registers, by which other variadic ones are known. */
static long long unnamed_arguments(const struct work *work)
{
    for (uint32_t i = work->function->first; i < work->function->end; i++) {
        long long offset;
        if (is_address(work, i, &offset) && offset >= 8)
            return is_va_start(work, i) ? offset : 0;
    }
    return 0;
}

/* ---- addresses of arguments ---- */

static bool names_register(struct asm_slice operands, const char *name)
{
    size_t bytes = strlen(name);
    for (size_t i = 0; i + bytes <= operands.bytes; i++)
        if (!memcmp(operands.text + i, name, bytes) && (i == 0 || operands.text[i - 1] != '('))
            return true;
    return false;
}

static bool is_frame_change(const struct asm_statement *statement)
{
    struct asm_slice operands = statement->operands;
    bool to_stack = operands.bytes > 6 && !memcmp(operands.text + operands.bytes - 6, ", %rsp", 6);
    if (asm_is(statement->name, "movq"))
        return asm_is(operands, "%rsp, %rbp") || asm_is(operands, "%rbp, %rsp");
    return to_stack && (asm_is(statement->name, "leaq") ||
                        ((asm_is(statement->name, "subq") || asm_is(statement->name, "addq")) &&
                         *operands.text == '$'));
}

/* Does the statement compute an address below the return address, or might it? */
static bool points_below(const struct work *work, uint32_t number)
{
    const struct asm_statement *statement = &work->file->statements[number];
    const struct asm_stack *stack = &work->stack[asm_index(work->function, number)];
    struct stack_operand operand;
    bool frame_pointer = stack->rbp != ASM_UNKNOWN;
    if (statement->kind != ASM_INSTRUCTION)
        return statement->kind == ASM_INLINE;
    if (is_frame_change(statement) || statement->operands.bytes < 4)
        return false;
    if (names_register(statement->operands, "%rsp") ||
        (frame_pointer && names_register(statement->operands, "%rbp") &&
         !asm_is(statement->operands, "%rbp"))) /* pushed or popped */
        return true;
    for (size_t from = 0; find_stack_operand(statement->operands, from, &operand);
         from = operand.at + operand.bytes + 1) {
        long long offset;
        bool lea = asm_begins(statement->name, "lea");
        if (operand.frame_pointer && !frame_pointer)
            continue;
        if (!place_of(work, number, &operand, &offset) || (lea && offset <= 0))
            return true;
    }
    return false;
}

/*
 * Without any address within the frame there is none that a loop over a local array could end at:
 * all that are computed are of arguments.
 */
static bool has_local_addresses(const struct work *work)
{
    const struct asm_function *function = work->function;
    for (uint32_t i = function->first; i < function->end; i++)
        if (points_below(work, i))
            return true;
    for (uint32_t i = function->cold_first; i != ASM_NONE && i < function->cold_end; i++)
        if (points_below(work, i))
            return true;
    return false;
}

struct scan {
    bool arguments;       /* some operand is a stack argument                     */
    bool near_index;      /* an indexed operand might be one                      */
    bool local_addresses; /* see has_local_addresses                          */
    long long unnamed;    /* see unnamed_arguments                              */
};

/* What the operand is, and whether it has to move. */
static bool has_to_move(struct work *work, uint32_t number, const struct stack_operand *operand,
                        struct scan *scan)
{
    const struct asm_statement *statement = &work->file->statements[number];
    const struct asm_stack *stack = &work->stack[asm_index(work->function, number)];
    int32_t depth = operand->frame_pointer ? stack->rbp : stack->rsp;
    /* An ordinary register; or a frame of unknown size, where only what the function put there
       itself is addressed by the stack pointer. */
    if (depth == ASM_UNKNOWN)
        return false;
    if (operand->symbolic) {
        work->reason = INSTRUMENTED_SKIP_ARGUMENTS;
        return false;
    }
    long long offset = operand->displacement - depth; /* from the return address */
    bool lea = asm_begins(statement->name, "lea");
    if (operand->indexed) {
        if (offset >= 0)
            work->reason = INSTRUMENTED_SKIP_ARGUMENTS;
        scan->near_index |= offset > -FAR_INDEX;
        return false;
    }
    if (offset < 0 || (lea && offset == 0))
        return false;
    if (lea && !(work->function->flags & ASM_VARIADIC) && offset != scan->unnamed &&
        scan->local_addresses && !is_argument_pointer(work, number)) {
        work->reason = INSTRUMENTED_SKIP_ARGUMENTS;
        return false;
    }
    /* Addressed when the stack pointer has moved already. */
    if (asm_begins(statement->name, "pop") || asm_begins(statement->name, "jmp"))
        work->reason = INSTRUMENTED_SKIP_ARGUMENTS;
    scan->arguments = true;
    return true;
}

static void move_operands(struct work *work, uint32_t number, struct scan *scan)
{
    const struct asm_statement *statement = &work->file->statements[number];
    struct stack_operand operand, moving;
    bool moves = false;
    for (size_t from = 0; find_stack_operand(statement->operands, from, &operand);
         from = operand.at + operand.bytes + 1) {
        if (!has_to_move(work, number, &operand, scan))
            continue;
        if (moves)
            work->reason =
                INSTRUMENTED_SKIP_ARGUMENTS; /* two at once: nothing that compilers emit */
        moving = operand;
        moves = true;
    }
    if (!moves)
        return;
    struct util_text text = {0};
    size_t lead = (size_t)(statement->operands.text - statement->text.text) + moving.at;
    util_text_print(&text, "%.*s%lld", (int)lead, statement->text.text,
                    moving.displacement + (long long)work->frame_bytes);
    util_text_print(&text, "%.*s", (int)(statement->text.bytes - lead - moving.bytes),
                    statement->text.text + lead + moving.bytes);
    work_edit(work, number, EDIT_REPLACE, &text);
}

/* Inline assembly cannot be edited: it must not touch arguments on the stack. */
static void check_inline(struct work *work, uint32_t number)
{
    const struct asm_statement *statement = &work->file->statements[number];
    const struct asm_stack *stack = &work->stack[asm_index(work->function, number)];
    for (uint32_t i = 0; i < statement->insns_count; i++) {
        const struct isa_insn *insn = &work->file->insns[statement->insns + i].isa;
        for (uint32_t a = 0; a < insn->access_count; a++) {
            const struct isa_access *access = &insn->accesses[a];
            int32_t depth = access->base == BASE_RSP   ? stack->rsp
                            : access->base == BASE_RBP ? stack->rbp
                                                       : ASM_UNKNOWN;
            if (depth != ASM_UNKNOWN && access->displacement - depth >= 0)
                work->reason = INSTRUMENTED_SKIP_ARGUMENTS;
        }
    }
}

/* ---- all of them ---- */

static void move_part(struct work *work, uint32_t first, uint32_t end, struct scan *scan)
{
    for (uint32_t i = first; i < end && work->reason == INSTRUMENTED_WHOLE; i++) {
        uint32_t kind = work->file->statements[i].kind;
        if (kind == ASM_INSTRUCTION)
            move_operands(work, i, scan);
        else if (kind == ASM_INLINE)
            check_inline(work, i);
    }
}

void arguments_move(struct work *work)
{
    const struct asm_function *function = work->function;
    struct scan scan = {.local_addresses = has_local_addresses(work),
                        .unnamed = unnamed_arguments(work)};
    move_part(work, function->first, function->end, &scan);
    if (function->cold_first != ASM_NONE)
        move_part(work, function->cold_first, function->cold_end, &scan);
    if (scan.arguments && scan.near_index && work->reason == INSTRUMENTED_WHOLE)
        work->reason = INSTRUMENTED_SKIP_ARGUMENTS;
}
