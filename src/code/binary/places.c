// SPDX-License-Identifier: MIT
/* Location expressions: what kind of place they name, in words as well; and how much of scopes they cover. */
#include "binary/places.h"

#include "binary/internal.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- expressions ---------------------------------------------------------------------------------- */

static bool is_register(uint8_t atom)
{
    return (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) || atom == DW_OP_regx;
}

static bool reads_state(uint8_t atom)
{
    return is_register(atom) || (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) ||
           atom == DW_OP_bregx || atom == DW_OP_fbreg || atom == DW_OP_call_frame_cfa ||
           atom == DW_OP_addr || atom == DW_OP_addrx || atom == DW_OP_GNU_addr_index ||
           atom == DW_OP_deref || atom == DW_OP_deref_size || atom == DW_OP_GNU_regval_type ||
           atom == DW_OP_regval_type || atom == DW_OP_deref_type || atom == DW_OP_GNU_deref_type ||
           atom == DW_OP_implicit_pointer || atom == DW_OP_GNU_implicit_pointer;
}

enum binary_residence place_kind(const Dwarf_Op *ops, size_t count)
{
    bool value = false, state = false;
    if (!count)
        return BINARY_NOWHERE;
    for (size_t i = 0; i < count; i++) {
        uint8_t atom = ops[i].atom;
        if (atom == DW_OP_entry_value || atom == DW_OP_GNU_entry_value ||
            atom == DW_OP_GNU_parameter_ref)
            return BINARY_ENTRY_VALUE;
        value |= atom == DW_OP_stack_value || atom == DW_OP_implicit_value ||
                 atom == DW_OP_implicit_pointer || atom == DW_OP_GNU_implicit_pointer;
        state |= reads_state(atom);
        if (atom == DW_OP_piece || atom == DW_OP_bit_piece)
            return BINARY_PIECES;
    }
    if (value)
        return state ? BINARY_COMPUTED : BINARY_CONSTANT;
    return count == 1 && is_register(ops[0].atom) ? BINARY_REGISTER : BINARY_MEMORY;
}

static const char *register_name(uint64_t number)
{
    static const char *const names[] = {"rax",   "rdx",   "rcx",   "rbx",   "rsi",  "rdi",  "rbp",
                                        "rsp",   "r8",    "r9",    "r10",   "r11",  "r12",  "r13",
                                        "r14",   "r15",   "rip",   "xmm0",  "xmm1", "xmm2", "xmm3",
                                        "xmm4",  "xmm5",  "xmm6",  "xmm7",  "xmm8", "xmm9", "xmm10",
                                        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"};
    return number < BASE_COUNT(names) ? names[number] : "a register";
}

static uint64_t register_of(const Dwarf_Op *op)
{
    if (op->atom == DW_OP_regx || op->atom == DW_OP_bregx)
        return op->number;
    return op->atom >= DW_OP_breg0 ? (uint64_t)op->atom - DW_OP_breg0
                                   : (uint64_t)op->atom - DW_OP_reg0;
}

static void print_offset(struct util_text *text, const char *from, int64_t offset)
{
    if (offset)
        util_text_print(text, "%s%+" PRId64, from, offset);
    else
        util_text_print(text, "%s", from);
}

/* One operation in words. False: it has none. */
static bool print_single(const Dwarf_Op *op, struct util_text *text)
{
    if (is_register(op->atom)) {
        util_text_print(text, "%s", register_name(register_of(op)));
    } else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
        print_offset(text, register_name(register_of(op)), (int64_t)op->number);
    } else if (op->atom == DW_OP_bregx) {
        print_offset(text, register_name(register_of(op)), (int64_t)op->number2);
    } else if (op->atom == DW_OP_fbreg) {
        print_offset(text, "frame", (int64_t)op->number);
    } else if (op->atom == DW_OP_addr) {
        util_text_print(text, "0x%" PRIx64, op->number);
    } else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
        util_text_print(text, "%d", op->atom - DW_OP_lit0);
    } else if (op->atom == DW_OP_const1s || op->atom == DW_OP_const2s ||
               op->atom == DW_OP_const4s || op->atom == DW_OP_const8s || op->atom == DW_OP_consts) {
        util_text_print(text, "%" PRId64, (int64_t)op->number);
    } else if (op->atom == DW_OP_const1u || op->atom == DW_OP_const2u ||
               op->atom == DW_OP_const4u || op->atom == DW_OP_const8u || op->atom == DW_OP_constu) {
        util_text_print(text, "%" PRIu64, op->number);
    } else {
        return false;
    }
    return true;
}

static void print_expression(enum binary_residence kind, const Dwarf_Op *ops, size_t count,
                             struct util_text *text)
{
    bool plain = count == 1 || (count == 2 && ops[1].atom == DW_OP_stack_value);
    if (kind == BINARY_NOWHERE)
        return;
    if (kind == BINARY_ENTRY_VALUE)
        util_text_print(text, "what the caller passed");
    else if (kind == BINARY_PIECES)
        util_text_print(text, "in parts");
    else if (!plain || !print_single(&ops[0], text))
        util_text_print(text, kind == BINARY_CONSTANT ? "a constant" : "a calculation");
}

/* ---- at an address ----------------------------------------------------------------------------------- */

static bool has_constant(Dwarf_Die *die, struct util_text *where)
{
    int64_t number;
    Dwarf_Attribute found;
    if (!dwarf_attr_integrate(die, DW_AT_const_value, &found))
        return false;
    if (types_number(die, DW_AT_const_value, &number))
        util_text_print(where, "%" PRId64, number);
    else
        util_text_print(where, "a constant");
    return true;
}

enum binary_residence place_at(Dwarf_Die *die, uint64_t vaddr, struct util_text *where)
{
    Dwarf_Attribute found;
    Dwarf_Op *ops;
    size_t count;
    if (has_constant(die, where))
        return BINARY_CONSTANT;
    if (!dwarf_attr_integrate(die, DW_AT_location, &found) ||
        dwarf_getlocation_addr(&found, vaddr, &ops, &count, 1) != 1)
        return BINARY_NOWHERE;
    enum binary_residence kind = place_kind(ops, count);
    print_expression(kind, ops, count, where);
    return kind;
}

/* ---- coverage ------------------------------------------------------------------------------------------ */

enum { RANGES_MAX = 4096, DEPTH_MAX = 128 };

struct range {
    uint64_t start, end;
};

struct counting {
    struct binary_coverage *coverage;
    struct bytes loclists, loc;      /* the sections of location lists: of version 5, and before */
    struct range ranges[RANGES_MAX]; /* of the scope that was asked for last */
    size_t ranges_count;
    Dwarf_Off ranges_of;
};

/* Ranges of an entry, and how many bytes they are. */
static uint64_t read_ranges(struct counting *counting, Dwarf_Die *die)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;
    uint64_t bytes = 0;
    counting->ranges_count = 0;
    counting->ranges_of = dwarf_dieoffset(die);
    while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0 &&
           counting->ranges_count < RANGES_MAX)
        if (end > start) {
            counting->ranges[counting->ranges_count++] = (struct range){start, end};
            bytes += end - start;
        }
    return bytes;
}

static uint64_t overlap(const struct counting *counting, uint64_t start, uint64_t end)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < counting->ranges_count; i++) {
        uint64_t low = start > counting->ranges[i].start ? start : counting->ranges[i].start;
        uint64_t high = end < counting->ranges[i].end ? end : counting->ranges[i].end;
        bytes += high > low ? high - low : 0;
    }
    return bytes;
}

static void add_known(struct binary_coverage *coverage, enum binary_residence kind, uint64_t bytes)
{
    coverage->bytes[kind] += bytes;
    coverage->known_bytes += bytes;
}

static bool is_list(Dwarf_Attribute *attribute)
{
    switch (dwarf_whatform(attribute)) {
    case DW_FORM_exprloc:
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4: return false;
    default: return true;
    }
}

/* ---- entries that libdw does not read ---- */

/* An entry of a location list. */
struct entry {
    uint64_t start, end;
    const uint8_t *expression;
    uint64_t bytes;
};

/* The next entry of a version 5 list. False: it ends here, or is of a kind that needs a table. */
static bool read_entry(struct bytes *at, uint64_t *base, struct entry *entry)
{
    for (;;) {
        switch (bytes_fixed(at, 1)) {
        case DW_LLE_base_address: *base = bytes_fixed(at, 8); continue;
        case DW_LLE_offset_pair:
            entry->start = *base + bytes_uleb(at);
            entry->end = *base + bytes_uleb(at);
            break;
        case DW_LLE_start_end:
            entry->start = bytes_fixed(at, 8);
            entry->end = bytes_fixed(at, 8);
            break;
        case DW_LLE_start_length:
            entry->start = bytes_fixed(at, 8);
            entry->end = entry->start + bytes_uleb(at);
            break;
        default: return false;
        }
        entry->bytes = bytes_uleb(at);
        return true;
    }
}

/* The same of lists before that. */
static bool read_old_entry(struct bytes *at, uint64_t *base, struct entry *entry)
{
    for (;;) {
        entry->start = bytes_fixed(at, 8);
        entry->end = bytes_fixed(at, 8);
        if (entry->start == UINT64_MAX) {
            *base = entry->end;
            continue;
        }
        if (at->failed || (!entry->start && !entry->end))
            return false;
        entry->start += *base;
        entry->end += *base;
        entry->bytes = bytes_fixed(at, 2);
        return true;
    }
}

/*
 * gcc marks values that may not be initialised by an operation (DW_OP_GNU_uninit) that libdw refuses, and with it the
 * entry. Reads it at `offset` of the section (0: the first of the list), counts it, and gives the offset of the next one; 0: it cannot.
 */
static ptrdiff_t count_refused(struct counting *counting, Dwarf_Attribute *attribute,
                               ptrdiff_t offset, uint64_t base)
{
    Dwarf_Word first;
    Dwarf_Half version = 0;
    struct entry entry = {0};
    if (dwarf_cu_info(attribute->cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) != 0)
        return 0;
    struct bytes at = version >= 5 ? counting->loclists : counting->loc;
    const uint8_t *section = at.at;
    if (!section || (!offset && (dwarf_whatform(attribute) != DW_FORM_sec_offset ||
                                 dwarf_formudata(attribute, &first) != 0)))
        return 0;
    bytes_skip(&at, offset ? (uint64_t)offset : first);
    if (!(version >= 5 ? read_entry(&at, &base, &entry) : read_old_entry(&at, &base, &entry)))
        return 0;
    entry.expression = at.at;
    bytes_skip(&at, entry.bytes);
    if (at.failed || !entry.bytes)
        return 0;
    bool in_register = entry.expression[0] >= DW_OP_reg0 && entry.expression[0] <= DW_OP_reg31;
    add_known(counting->coverage,
              in_register && entry.bytes == 2 ? BINARY_REGISTER
              : in_register                   ? BINARY_PIECES
                                              : BINARY_MEMORY,
              overlap(counting, entry.start, entry.end));
    return at.at - section;
}

static uint64_t base_of(Dwarf_Attribute *attribute)
{
    Dwarf_Die unit;
    Dwarf_Addr base = 0;
    return dwarf_cu_die(attribute->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) &&
                   dwarf_lowpc(&unit, &base) == 0
               ? base
               : 0;
}

static void count_list(struct counting *counting, Dwarf_Attribute *attribute)
{
    Dwarf_Addr base = base_of(attribute), start, end;
    Dwarf_Op *ops;
    size_t count;
    ptrdiff_t offset = 0;
    for (;;) {
        ptrdiff_t next = dwarf_getlocations(attribute, offset, &base, &start, &end, &ops, &count);
        if (next > 0)
            add_known(counting->coverage, place_kind(ops, count), overlap(counting, start, end));
        else if (next < 0)
            next = count_refused(counting, attribute, offset, base);
        if (next <= 0)
            return;
        offset = next;
    }
}

static void count_locations(struct counting *counting, Dwarf_Die *parent,
                            Dwarf_Attribute *attribute, uint64_t scope)
{
    Dwarf_Op *ops;
    size_t count;
    if (!is_list(attribute)) {
        enum binary_residence kind = dwarf_getlocation(attribute, &ops, &count) == 0
                                         ? place_kind(ops, count)
                                         : BINARY_NOWHERE;
        add_known(counting->coverage, kind, scope);
        return;
    }
    if (counting->ranges_of != dwarf_dieoffset(parent))
        read_ranges(counting, parent);
    count_list(counting, attribute);
}

/* A variable in a scope of so many bytes. */
static void count_variable(struct counting *counting, Dwarf_Die *parent, Dwarf_Die *die,
                           uint64_t scope)
{
    Dwarf_Attribute found;
    int tag = dwarf_tag(die);
    bool constant = dwarf_attr(die, DW_AT_const_value, &found) != NULL;
    bool local = tag == DW_TAG_variable && !dwarf_attr(die, DW_AT_declaration, &found);
    if (!local && tag != DW_TAG_formal_parameter && !(tag == DW_TAG_member && constant))
        return;
    counting->coverage->variables++;
    counting->coverage->scope_bytes += scope;
    if (constant)
        add_known(counting->coverage, BINARY_CONSTANT, scope);
    else if (dwarf_attr(die, DW_AT_location, &found))
        count_locations(counting, parent, &found, scope);
    else
        counting->coverage->unknown++;
}

/* scope: bytes of the innermost scope around the entry; 0: it is in no function. */
static void count_entry(struct counting *counting, Dwarf_Die *parent, Dwarf_Die *die,
                        uint64_t scope, int depth)
{
    Dwarf_Attribute found;
    Dwarf_Die child;
    int tag = dwarf_tag(die);
    bool function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
    if (depth > DEPTH_MAX || tag == DW_TAG_subroutine_type)
        return;
    if (function || tag == DW_TAG_lexical_block) {
        if (dwarf_attr(die, DW_AT_declaration, &found) ||
            (function && dwarf_attr(die, DW_AT_inline, &found)))
            return;
        uint64_t bytes = read_ranges(counting, die);
        scope = bytes ? bytes : scope;
    } else if (scope) {
        count_variable(counting, parent, die, scope);
    }
    if (dwarf_child(die, &child) != 0)
        return;
    do
        count_entry(counting, die, &child, scope, depth + 1);
    while (types_next_sibling(&child));
}

enum base_status binary_coverage(struct binary *binary, struct binary_coverage *coverage)
{
    *coverage = (struct binary_coverage){0};
    if (!binary->dwarf)
        return BASE_NOT_FOUND;
    struct counting *counting = calloc(1, sizeof *counting);
    if (!counting)
        return BASE_NO_MEMORY;
    counting->coverage = coverage;
    counting->loclists = image_bytes_of(dwarf_getelf(binary->dwarf), ".debug_loclists");
    counting->loc = image_bytes_of(dwarf_getelf(binary->dwarf), ".debug_loc");
    data_list_units(binary);
    for (size_t i = 0; i < binary->data.units_count; i++)
        count_entry(counting, NULL, &binary->data.units[i].tree, 0, 0);
    free(counting);
    return BASE_OK;
}
