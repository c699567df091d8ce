// SPDX-License-Identifier: MIT
/*
 * Variables of a function's frame, and what the variable that takes a new block says of it. Both need where variables are
 * at one instruction: DWARF's location lists, relative to the frame base or to a register; and where the registers are
 * relative to the canonical frame address: call frame information.
 */
#include "binary/cfi.h"
#include "binary/fields.h"
#include "binary/internal.h"
#include "binary/ranges.h"
#include "isa/isa.h"

#include <dwarf.h>
#include <string.h>

/* ---- places ------------------------------------------------------------------------------------- */

/* The one operation that says where an entry is at an address. False: nowhere, in parts, or by a calculation. */
static bool location_at(const Dwarf_Die *die, unsigned attribute, uint64_t vaddr, Dwarf_Op *op)
{
    Dwarf_Attribute found;
    Dwarf_Op *ops;
    size_t count;
    if (!dwarf_attr((Dwarf_Die *)die, attribute, &found) ||
        dwarf_getlocation_addr(&found, vaddr, &ops, &count, 1) != 1 || count != 1)
        return false;
    *op = *ops;
    return true;
}

/* A register and a number of bytes, however that is written. */
static bool based_on(const Dwarf_Op *op, uint64_t *number, int64_t *offset)
{
    if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
        *number = op->atom - DW_OP_breg0;
        *offset = (int64_t)op->number;
        return true;
    }
    *number = op->number;
    *offset = (int64_t)op->number2;
    return op->atom == DW_OP_bregx;
}

static bool is_in_register(const Dwarf_Op *op, uint64_t *number)
{
    *number = op->atom == DW_OP_regx ? op->number : (uint64_t)op->atom - DW_OP_reg0;
    return op->atom == DW_OP_regx || (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31);
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* What call frame information says at an address. */
struct frame_search {
    uint64_t vaddr;
    struct unwind_row row;
    bool found;
};

static bool take_row(void *context, uint64_t start, const struct unwind_row *row)
{
    struct frame_search *search = context;
    if (start > search->vaddr)
        return false;
    search->row = *row;
    search->found = true;
    return true;
}

static bool take_entry(void *context, const struct cfi_entry *entry)
{
    struct frame_search *search = context;
    if (search->vaddr < entry->start || search->vaddr >= entry->end)
        return true;
    cfi_run(entry, take_row, search);
    return false;
}

/* DWARF's numbers of registers differ from those of the encoding. */
static bool register_of(uint64_t dwarf_number, uint8_t *number)
{
    static const uint8_t encoded[] = {BASE_RAX, BASE_RDX, BASE_RCX, BASE_RBX, BASE_RSI, BASE_RDI,
                                      BASE_RBP, BASE_RSP, BASE_R8,  BASE_R9,  BASE_R10, BASE_R11,
                                      BASE_R12, BASE_R13, BASE_R14, BASE_R15};
    if (dwarf_number >= BASE_COUNT(encoded))
        return false;
    *number = encoded[dwarf_number];
    return true;
}

/* Register + offset, as bytes from the canonical frame address. */
static bool from_cfa_of(const struct frame_search *search, const Dwarf_Op *op, int64_t *from_cfa)
{
    uint64_t dwarf_number;
    int64_t offset;
    uint8_t number;
    if (!search->found || search->row.cfa != UNWIND_CFA_REGISTER ||
        !based_on(op, &dwarf_number, &offset) || !register_of(dwarf_number, &number) ||
        number != search->row.cfa_register)
        return false;
    return !__builtin_sub_overflow(offset, (int64_t)search->row.cfa_offset, from_cfa);
}

/* Where the function's frame base is, likewise. */
static bool frame_base(const struct frame_search *search, const Dwarf_Die *function,
                       int64_t *from_cfa)
{
    Dwarf_Op op;
    uint64_t number;
    if (!location_at(function, DW_AT_frame_base, search->vaddr, &op))
        return false;
    *from_cfa = 0;
    if (op.atom == DW_OP_call_frame_cfa)
        return true;
    if (is_in_register(&op, &number))
        op = (Dwarf_Op){.atom = DW_OP_bregx, .number = number};
    return from_cfa_of(search, &op, from_cfa);
}

struct frame {
    struct frame_search search;
    int64_t base;
    bool has_base;
};

static void open_frame(struct binary *binary, uint64_t vaddr, const Dwarf_Die *function,
                       struct frame *frame)
{
    *frame = (struct frame){.search = {.vaddr = vaddr}};
    ranges_visit(binary->main.elf, take_entry, &frame->search);
    frame->has_base = frame_base(&frame->search, function, &frame->base);
}

/* Where a variable is in the frame. */
static bool place_in_frame(const struct frame *frame, const Dwarf_Die *variable, int64_t *from_cfa)
{
    Dwarf_Op op;
    if (!location_at(variable, DW_AT_location, frame->search.vaddr, &op))
        return false;
    if (op.atom == DW_OP_fbreg)
        return frame->has_base &&
               !__builtin_add_overflow(frame->base, (int64_t)op.number, from_cfa);
    return from_cfa_of(&frame->search, &op, from_cfa);
}

static bool holds(const struct frame *frame, const Dwarf_Die *variable, int64_t from_cfa,
                  int64_t *start, uint64_t *bytes)
{
    Dwarf_Die type;
    return types_of(variable, &type) && types_bytes(&type, bytes) &&
           place_in_frame(frame, variable, start) && from_cfa >= *start &&
           (uint64_t)from_cfa - (uint64_t)*start < *bytes;
}

static bool find_in_scope(const struct frame *frame, const Dwarf_Die *scope, int64_t from_cfa,
                          Dwarf_Die *found, int64_t *start, uint64_t *bytes)
{
    Dwarf_Die child;
    if (dwarf_child((Dwarf_Die *)scope, &child) != 0)
        return false;
    do
        if (scope_is_variable(&child) && holds(frame, &child, from_cfa, start, bytes)) {
            *found = child;
            return true;
        }
    while (types_next_sibling(&child));
    return false;
}

enum base_status binary_frame_variable(struct binary *binary, uint64_t vaddr, int64_t from_cfa,
                                       struct binary_object *object)
{
    Dwarf_Die scopes[SCOPES_MAX], found, type;
    struct frame frame;
    int64_t start;
    uint64_t bytes;
    size_t count = scopes_at(binary, vaddr, scopes);
    if (!count)
        return BASE_NOT_FOUND;
    open_frame(binary, vaddr, &scopes[0], &frame);
    for (size_t i = count; i-- > 0;) {
        if (!find_in_scope(&frame, &scopes[i], from_cfa, &found, &start, &bytes) ||
            !types_of(&found, &type))
            continue;
        enum types_language language = data_language(&scopes[0]);
        *object = (struct binary_object){
            .name = data_keep_words(binary, types_text(&found, DW_AT_name)),
            .type = data_type_name(binary, &type, language),
            .function = scope_function(binary, &scopes[scope_owner(scopes, i)]),
            .start = (uint64_t)start,
            .bytes = bytes,
            .handle = data_handle(binary, &type, language, false)};
        return BASE_OK;
    }
    return BASE_NOT_FOUND;
}

/* ---- what a call's result is taken for ----------------------------------------------------------- */

/* The type that a pointer's type points to. */
static bool target_of(const Dwarf_Die *type, Dwarf_Die *target)
{
    Dwarf_Die peeled;
    return types_peel(type, &peeled) && dwarf_tag(&peeled) == DW_TAG_pointer_type &&
           types_of(&peeled, target);
}

/* Only what the block's size agrees with, and what is more than bytes. */
static bool agrees(const Dwarf_Die *target, uint64_t bytes)
{
    uint64_t size;
    return types_bytes(target, &size) && size > 1 && bytes >= size && bytes % size == 0;
}

/* The variable of those scopes that is in a register at an address. */
static bool find_in_register(const Dwarf_Die *scopes, size_t count, uint64_t vaddr, uint64_t wanted,
                             Dwarf_Die *type)
{
    for (size_t i = count; i-- > 0;) {
        Dwarf_Die child;
        Dwarf_Op op;
        uint64_t number;
        if (dwarf_child((Dwarf_Die *)&scopes[i], &child) != 0)
            continue;
        do
            if (scope_is_variable(&child) && location_at(&child, DW_AT_location, vaddr, &op) &&
                is_in_register(&op, &number) && number == wanted && types_of(&child, type))
                return true;
        while (types_next_sibling(&child));
    }
    return false;
}

static uint64_t dwarf_register(uint8_t number)
{
    uint8_t encoded;
    for (uint64_t i = 0; register_of(i, &encoded); i++)
        if (encoded == number)
            return i;
    return UINT64_MAX;
}

/* The pointer's type of the variable, or of the field, that is at an offset of an object. */
static bool pointer_at(struct binary *binary, const struct binary_object *object, uint64_t offset,
                       Dwarf_Die *type)
{
    struct binary_field field;
    if (!binary_fields(binary, object, offset, offset + 1, &field, 1) || field.overlaps ||
        field.offset != offset || field.bytes != 8 || !field.handle)
        return false;
    *type = binary->data.types[field.handle - 1].die;
    return true;
}

/* Code behind a call, as far as its result can be followed in registers. */
struct trace {
    struct binary *binary;
    const Dwarf_Die *scopes;
    size_t count;
    uint64_t at;
    uint32_t holds; /* bit of each register that has the result */
};

/* The variable in memory that an instruction stores the result to. */
static bool stored_to(const struct trace *trace, const struct isa_access *access, Dwarf_Die *type)
{
    struct binary_object object;
    struct frame frame;
    int64_t from_cfa;
    Dwarf_Op op = {.atom = DW_OP_bregx, .number2 = (uint64_t)access->displacement};
    if (access->index >= 0 || access->segment || access->bytes != 8)
        return false;
    if (access->base < 0) {
        uint64_t vaddr = (uint64_t)access->displacement;
        return binary_variable(trace->binary, vaddr, trace->at, &object) == BASE_OK &&
               pointer_at(trace->binary, &object, vaddr - object.start, type);
    }
    op.number = dwarf_register((uint8_t)access->base);
    open_frame(trace->binary, trace->at, &trace->scopes[0], &frame);
    return from_cfa_of(&frame.search, &op, &from_cfa) &&
           binary_frame_variable(trace->binary, trace->at, from_cfa, &object) == BASE_OK &&
           pointer_at(trace->binary, &object, (uint64_t)from_cfa - object.start, type);
}

static bool is_held(const struct trace *trace, const struct isa_operand *operand)
{
    return operand->kind == ISA_GENERAL && operand->bytes == 8 &&
           trace->holds >> operand->number & 1;
}

static bool held_by_variable(const struct trace *trace, Dwarf_Die *type)
{
    for (uint8_t number = 0; number < 16; number++)
        if (trace->holds >> number & 1 &&
            find_in_register(trace->scopes, trace->count, trace->at, dwarf_register(number), type))
            return true;
    return false;
}

/* The variable that takes what the call returned: one that is in a register with it, or that it is stored to. False: none
   before control leaves. */
static bool follow(struct trace *trace, Dwarf_Die *type)
{
    enum { CODE_BYTES = 128 };
    uint8_t code[CODE_BYTES + ISA_MAX_LENGTH] = {0};
    uint64_t begin = trace->at;
    for (size_t bytes = CODE_BYTES; binary_read(trace->binary, begin, code, bytes) != BASE_OK;)
        if ((bytes /= 2) < ISA_MAX_LENGTH)
            return false;
    while (trace->holds && trace->at - begin < CODE_BYTES) {
        struct isa_insn insn;
        struct isa_operation operation;
        struct isa_effects effects;
        if (held_by_variable(trace, type))
            return true;
        if (isa_decode_whole(code + (trace->at - begin), ISA_MAX_LENGTH, trace->at, &insn,
                             &operation, &effects) != BASE_OK ||
            (insn.flow != ISA_NEXT && insn.flow != ISA_BRANCH))
            return false;
        const struct isa_operand *to = &operation.operands[0];
        bool moves = operation.code == ISA_DO_MOVE && operation.operand_count >= 2 &&
                     is_held(trace, &operation.operands[1]);
        if (moves && to->kind == ISA_MEMORY && stored_to(trace, &insn.accesses[to->number], type))
            return true;
        trace->at += insn.length;
        trace->holds &= ~effects.writes;
        if (moves && to->kind == ISA_GENERAL)
            trace->holds |= 1U << to->number;
    }
    return false;
}

/* T * std::allocator<T>::allocate and its kin, inlined or not. */
static bool by_allocator(const Dwarf_Die *scopes, size_t count, Dwarf_Die *target)
{
    for (size_t i = count; i-- > 0;) {
        const char *name = types_text(&scopes[i], DW_AT_name);
        Dwarf_Die type;
        if (name && strcmp(name, "allocate") == 0 && types_of(&scopes[i], &type) &&
            target_of(&type, target))
            return true;
    }
    return false;
}

static bool find_target(struct binary *binary, uint64_t returns, const Dwarf_Die *scopes,
                        size_t count, Dwarf_Die *target)
{
    struct trace trace = {binary, scopes, count, returns, 1U << BASE_RAX};
    Dwarf_Die type;
    return follow(&trace, &type) && target_of(&type, target);
}

/* Does the function return a pointer to nothing that is known? */
static bool returns_untyped(const Dwarf_Die *function)
{
    Dwarf_Die type, peeled, target;
    return types_of(function, &type) && types_peel(&type, &peeled) &&
           dwarf_tag(&peeled) == DW_TAG_pointer_type && !types_of(&peeled, &target);
}

enum base_status binary_allocated(struct binary *binary, uint64_t returns, uint64_t bytes,
                                  struct binary_object *object, bool *hands_on)
{
    Dwarf_Die scopes[SCOPES_MAX], target;
    /* The call itself, not what follows, says which functions were inlined there. */
    size_t count = returns ? scopes_at(binary, returns - 1, scopes) : 0;
    *hands_on = count && returns_untyped(&scopes[0]);
    if (!count || (!find_target(binary, returns, scopes, count, &target) &&
                   !by_allocator(scopes, count, &target)))
        return BASE_NOT_FOUND;
    if (!agrees(&target, bytes))
        return BASE_NOT_FOUND;
    enum types_language language = data_language(&scopes[0]);
    *object = (struct binary_object){.type = data_type_name(binary, &target, language),
                                     .bytes = bytes,
                                     .guessed = true,
                                     .handle = data_handle(binary, &target, language, true)};
    return BASE_OK;
}
