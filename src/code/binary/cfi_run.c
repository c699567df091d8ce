// SPDX-License-Identifier: MIT
/*
 * Interprets call frame programs (DWARF 5 section 6.4.2) into unwind rows.
 * Expressions are recognised by form, not evaluated: the agent must not run
 * programs of a file inside a handler, and compilers, glibc, binutils and
 * OpenSSL use a handful of forms.
 */
#include "binary/bytes.h"
#include "binary/cfi.h"
#include "binary/pointer.h"

#include <dwarf.h>

enum {
    COLUMNS = 17, /* 16 registers and the return address */
    COLUMN_SP = 7,
    COLUMN_IP = 16,
    REMEMBERED = 32,   /* compilers nest one or two deep */
    GREGS_SP = 15 * 8, /* of rsp in ucontext's gregs[]; rip follows */
};

/* DWARF's numbering of registers to the instruction encoding's. */
static const uint8_t encoding_of[16] = {BASE_RAX, BASE_RDX, BASE_RCX, BASE_RBX, BASE_RSI, BASE_RDI,
                                        BASE_RBP, BASE_RSP, BASE_R8,  BASE_R9,  BASE_R10, BASE_R11,
                                        BASE_R12, BASE_R13, BASE_R14, BASE_R15};

/* DWARF columns of enum unwind_saved. */
static const uint8_t saved_column[UNWIND_SAVED] = {3, 6, 12, 13, 14, 15};

enum place_kind {
    PLACE_DEFAULT, /* never mentioned */
    PLACE_SAME,
    PLACE_UNDEFINED,
    PLACE_AT_CFA,
    PLACE_AT_REGISTER,
    PLACE_IS_CFA, /* the CFA plus an offset is the value */
    PLACE_OTHER,
};

struct place {
    uint8_t kind;
    uint8_t column; /* AT_REGISTER */
    int32_t offset;
};

struct state {
    uint8_t cfa; /* enum unwind_cfa: UNKNOWN, REGISTER, DEREF or PLT */
    uint8_t column;
    int32_t offset, addend;
    struct place places[COLUMNS];
};

struct machine {
    const struct cfi_entry *entry;
    struct state state, initial;
    struct state remembered[REMEMBERED];
    unsigned depth;
    uint64_t location;
    bool broken; /* not understood: nothing is known from here on */
    cfi_emit *emit;
    void *context;
};

/* ---- expressions ------------------------------------------------------------------ */

static bool fits(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX;
}

/* breg COLUMN OFFSET */
static bool match_register(struct bytes *expression, uint8_t *column, int32_t *offset)
{
    uint64_t operation = bytes_fixed(expression, 1);
    if (operation < DW_OP_breg0 || operation > DW_OP_breg15)
        return false;
    int64_t value = bytes_sleb(expression);
    *column = (uint8_t)(operation - DW_OP_breg0);
    *offset = (int32_t)value;
    return !expression->failed && fits(value);
}

/* Rest of: rsp+N, ip, lit15, and, litT, ge, lit3, shl, plus: N more once ip's low bits reach T. */
static bool match_plt(struct bytes expression, int32_t *threshold)
{
    if (bytes_fixed(&expression, 1) != DW_OP_breg0 + COLUMN_IP || bytes_sleb(&expression) != 0 ||
        bytes_fixed(&expression, 1) != DW_OP_lit15 || bytes_fixed(&expression, 1) != DW_OP_and)
        return false;
    uint64_t literal = bytes_fixed(&expression, 1);
    static const uint8_t rest[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
    if (literal < DW_OP_lit0 || literal > DW_OP_lit15 ||
        expression.end - expression.at != sizeof rest ||
        memcmp(expression.at, rest, sizeof rest) != 0)
        return false;
    *threshold = (int32_t)(literal - DW_OP_lit0);
    return true;
}

/* Rest of: breg, deref [, plus_uconst N | litN, plus]. */
static bool match_deref(struct bytes expression, int32_t *addend)
{
    uint64_t value = 0;
    if (bytes_fixed(&expression, 1) != DW_OP_deref)
        return false;
    if (expression.at < expression.end) {
        uint64_t operation = bytes_fixed(&expression, 1);
        if (operation == DW_OP_plus_uconst)
            value = bytes_uleb(&expression);
        else if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31 &&
                 bytes_fixed(&expression, 1) == DW_OP_plus)
            value = operation - DW_OP_lit0;
        else
            return false;
    }
    if (expression.failed || expression.at != expression.end || value > INT32_MAX)
        return false;
    *addend = (int32_t)value;
    return true;
}

static void cfa_expression(struct state *state, struct bytes expression)
{
    state->cfa = UNWIND_CFA_UNKNOWN;
    state->addend = 0;
    if (!match_register(&expression, &state->column, &state->offset))
        return;
    if (expression.at == expression.end)
        state->cfa = UNWIND_CFA_REGISTER;
    else if (match_deref(expression, &state->addend))
        state->cfa = UNWIND_CFA_DEREF;
    else if (state->column == COLUMN_SP && match_plt(expression, &state->addend))
        state->cfa = UNWIND_CFA_PLT;
}

static struct place place_expression(struct bytes expression)
{
    struct place place = {.kind = PLACE_OTHER};
    if (match_register(&expression, &place.column, &place.offset) &&
        expression.at == expression.end)
        place.kind = PLACE_AT_REGISTER;
    return place;
}

/* ---- state to row ------------------------------------------------------------------ */

static bool is_signal(const struct machine *machine)
{
    const struct state *state = &machine->state;
    const struct place *ip = &state->places[COLUMN_IP];
    return machine->entry->signal_frame && state->cfa == UNWIND_CFA_DEREF &&
           state->column == COLUMN_SP && state->offset >= 0 && state->addend == 0 &&
           ip->kind == PLACE_AT_REGISTER && ip->column == COLUMN_SP &&
           (int64_t)ip->offset == (int64_t)state->offset + 8;
}

static uint8_t saved_place(const struct place *place, int32_t *offset)
{
    switch (place->kind) {
    case PLACE_DEFAULT:
    case PLACE_SAME: return UNWIND_PLACE(UNWIND_SAME, 0);
    case PLACE_AT_CFA: *offset = place->offset; return UNWIND_PLACE(UNWIND_AT_CFA, 0);
    case PLACE_AT_REGISTER:
        *offset = place->offset;
        return UNWIND_PLACE(UNWIND_AT_REGISTER, encoding_of[place->column]);
    default: return UNWIND_PLACE(UNWIND_LOST, 0);
    }
}

static bool caller_is_found(const struct state *state)
{
    const struct place *ip = &state->places[COLUMN_IP];
    const struct place *sp = &state->places[COLUMN_SP];
    bool sp_is_cfa = sp->kind == PLACE_DEFAULT || (sp->kind == PLACE_IS_CFA && sp->offset == 0);
    return state->cfa != UNWIND_CFA_UNKNOWN && ip->kind == PLACE_AT_CFA && ip->offset == -8 &&
           sp_is_cfa;
}

static void make_row(const struct machine *machine, struct unwind_row *row)
{
    const struct state *state = &machine->state;
    memset(row, 0, sizeof *row); /* rows are compared as bytes */
    if (machine->broken)
        return;
    if (state->places[COLUMN_IP].kind == PLACE_UNDEFINED) {
        row->cfa = UNWIND_CFA_END;
        return;
    }
    if (is_signal(machine)) {
        row->cfa = UNWIND_CFA_SIGNAL;
        row->cfa_register = BASE_RSP;
        row->cfa_offset = state->offset - GREGS_SP;
        return;
    }
    if (!caller_is_found(state))
        return;
    row->cfa = state->cfa;
    row->cfa_register = encoding_of[state->column];
    row->cfa_offset = state->offset;
    row->cfa_addend = state->addend;
    for (int i = 0; i < UNWIND_SAVED; i++)
        row->place[i] = saved_place(&state->places[saved_column[i]], &row->offset[i]);
}

static bool emit_row(struct machine *machine, uint64_t start)
{
    struct unwind_row row;
    make_row(machine, &row);
    return machine->emit(machine->context, start, &row);
}

/* ---- the program ------------------------------------------------------------------- */

/* What was set so far held up to here. False: stop, nothing more of interest. */
static bool advance(struct machine *machine, uint64_t location)
{
    if (location < machine->location)
        machine->broken = true;
    if (machine->broken || location == machine->location)
        return !machine->broken;
    if (!emit_row(machine, machine->location))
        return false;
    machine->location = location;
    return location < machine->entry->end;
}

static bool advance_by(struct machine *machine, uint64_t count)
{
    uint64_t location;
    if (__builtin_mul_overflow(count, machine->entry->code_factor, &location) ||
        __builtin_add_overflow(location, machine->location, &location))
        location = UINT64_MAX;
    return advance(machine, location);
}

/* Columns past the return address are of vector and segment registers: ignored. */
static void set_place(struct machine *machine, uint64_t column, enum place_kind kind,
                      int64_t offset)
{
    if (column < COLUMNS)
        machine->state.places[column] =
            (struct place){.kind = (uint8_t)(fits(offset) ? kind : PLACE_OTHER),
                           .offset = fits(offset) ? (int32_t)offset : 0};
}

static void set_cfa(struct machine *machine, uint64_t column, int64_t offset)
{
    struct state *state = &machine->state;
    bool usable = column < 16 && fits(offset);
    state->cfa = usable ? UNWIND_CFA_REGISTER : UNWIND_CFA_UNKNOWN;
    state->column = usable ? (uint8_t)column : 0;
    state->offset = usable ? (int32_t)offset : 0;
    state->addend = 0;
}

static int64_t factored(const struct machine *machine, uint64_t offset)
{
    int64_t product;
    return __builtin_mul_overflow((int64_t)offset, machine->entry->data_factor, &product)
               ? INT64_MAX
               : product;
}

static struct bytes read_block(struct bytes *program)
{
    uint64_t length = bytes_uleb(program);
    struct bytes block = {program->at, program->at, false};
    bytes_skip(program, length);
    block.end = program->at;
    return block;
}

static void restore_place(struct machine *machine, uint64_t column)
{
    if (column < COLUMNS)
        machine->state.places[column] = machine->initial.places[column];
}

/* In the register itself is where it was; in another register is more than a row can say. */
static void in_register(struct machine *machine, uint64_t column, uint64_t holder)
{
    set_place(machine, column, column == holder ? PLACE_SAME : PLACE_OTHER, 0);
}

static void remember(struct machine *machine)
{
    if (machine->depth < REMEMBERED)
        machine->remembered[machine->depth++] = machine->state;
    else
        machine->broken = true;
}

static void recall(struct machine *machine)
{
    if (machine->depth)
        machine->state = machine->remembered[--machine->depth];
    else
        machine->broken = true;
}

static void set_expression(struct machine *machine, uint64_t column, struct bytes expression)
{
    if (column < COLUMNS)
        machine->state.places[column] = place_expression(expression);
}

/* Instructions that set where something is. False: not one of them. */
static bool run_place(struct machine *machine, uint64_t operation, struct bytes *program)
{
    uint64_t column = bytes_uleb(program); /* the first operand of all of them */
    switch (operation) {
    case DW_CFA_offset_extended:
        set_place(machine, column, PLACE_AT_CFA, factored(machine, bytes_uleb(program)));
        return true;
    case DW_CFA_offset_extended_sf:
        set_place(machine, column, PLACE_AT_CFA, factored(machine, (uint64_t)bytes_sleb(program)));
        return true;
    case DW_CFA_GNU_negative_offset_extended:
        set_place(machine, column, PLACE_AT_CFA, factored(machine, -bytes_uleb(program)));
        return true;
    case DW_CFA_val_offset:
        set_place(machine, column, PLACE_IS_CFA, factored(machine, bytes_uleb(program)));
        return true;
    case DW_CFA_val_offset_sf:
        set_place(machine, column, PLACE_IS_CFA, factored(machine, (uint64_t)bytes_sleb(program)));
        return true;
    case DW_CFA_restore_extended: restore_place(machine, column); return true;
    case DW_CFA_undefined: set_place(machine, column, PLACE_UNDEFINED, 0); return true;
    case DW_CFA_same_value: set_place(machine, column, PLACE_SAME, 0); return true;
    case DW_CFA_register: in_register(machine, column, bytes_uleb(program)); return true;
    case DW_CFA_expression: set_expression(machine, column, read_block(program)); return true;
    case DW_CFA_val_expression:
        set_place(machine, column, PLACE_OTHER, 0);
        read_block(program);
        return true;
    default: return false;
    }
}

/* A change of register or offset alone needs a CFA that is a register plus an offset. */
static void change_cfa(struct machine *machine, uint64_t column, int64_t offset)
{
    if (machine->state.cfa == UNWIND_CFA_REGISTER)
        set_cfa(machine, column, offset);
    else
        machine->state.cfa = UNWIND_CFA_UNKNOWN;
}

/* Instructions that set the CFA. False: not one of them. */
static bool run_cfa(struct machine *machine, uint64_t operation, struct bytes *program)
{
    const struct state *state = &machine->state;
    uint64_t column;
    switch (operation) {
    case DW_CFA_def_cfa:
        column = bytes_uleb(program);
        set_cfa(machine, column, (int64_t)bytes_uleb(program));
        return true;
    case DW_CFA_def_cfa_sf:
        column = bytes_uleb(program);
        set_cfa(machine, column, factored(machine, (uint64_t)bytes_sleb(program)));
        return true;
    case DW_CFA_def_cfa_register:
        change_cfa(machine, bytes_uleb(program), state->offset);
        return true;
    case DW_CFA_def_cfa_offset:
        change_cfa(machine, state->column, (int64_t)bytes_uleb(program));
        return true;
    case DW_CFA_def_cfa_offset_sf:
        change_cfa(machine, state->column, factored(machine, (uint64_t)bytes_sleb(program)));
        return true;
    case DW_CFA_def_cfa_expression:
        cfa_expression(&machine->state, read_block(program));
        return true;
    default: return false;
    }
}

/* The rest: location and stack of states. False: stop. */
static bool run_other(struct machine *machine, uint64_t operation, struct bytes *program)
{
    const struct cfi_entry *entry = machine->entry;
    uint64_t location = 0;
    switch (operation) {
    case DW_CFA_nop: return true;
    case DW_CFA_set_loc:
        machine->broken |=
            !pointer_read(program, entry->section, entry->pointer_encoding, &location);
        return !machine->broken && advance(machine, location);
    case DW_CFA_advance_loc1: return advance_by(machine, bytes_fixed(program, 1));
    case DW_CFA_advance_loc2: return advance_by(machine, bytes_fixed(program, 2));
    case DW_CFA_advance_loc4: return advance_by(machine, bytes_fixed(program, 4));
    case DW_CFA_remember_state: remember(machine); return !machine->broken;
    case DW_CFA_restore_state: recall(machine); return !machine->broken;
    case DW_CFA_GNU_args_size: bytes_uleb(program); return true;
    default: machine->broken = true; return false;
    }
}

static bool run_one(struct machine *machine, struct bytes *program)
{
    uint64_t operation = bytes_fixed(program, 1);
    uint64_t operand = operation & 0x3f;
    switch (operation & 0xc0) {
    case DW_CFA_advance_loc: return advance_by(machine, operand);
    case DW_CFA_offset:
        set_place(machine, operand, PLACE_AT_CFA, factored(machine, bytes_uleb(program)));
        return true;
    case DW_CFA_restore: restore_place(machine, operand); return true;
    }
    if ((operation >= DW_CFA_offset_extended && operation <= DW_CFA_register &&
         operation != DW_CFA_remember_state && operation != DW_CFA_restore_state) ||
        operation == DW_CFA_expression || operation == DW_CFA_offset_extended_sf ||
        (operation >= DW_CFA_val_offset && operation <= DW_CFA_val_expression) ||
        operation == DW_CFA_GNU_negative_offset_extended)
        return run_place(machine, operation, program);
    return run_cfa(machine, operation, program) || run_other(machine, operation, program);
}

/* Runs to the end, to the end of the code, or to what is not understood. */
static void run_program(struct machine *machine, const uint8_t *start, const uint8_t *end)
{
    struct bytes program = {start, end, false};
    while (program.at < program.end && run_one(machine, &program))
        if (program.failed)
            break;
    if (program.failed)
        machine->broken = true;
}

static bool emit_nothing(void *context, uint64_t start, const struct unwind_row *row)
{
    (void)context;
    (void)start;
    (void)row;
    return false;
}

struct forward {
    cfi_emit *emit;
    void *context;
    bool refused;
};

static bool forward_row(void *context, uint64_t start, const struct unwind_row *row)
{
    struct forward *forward = context;
    forward->refused = !forward->emit(forward->context, start, row);
    return !forward->refused;
}

bool cfi_run(const struct cfi_entry *entry, cfi_emit *emit, void *context)
{
    struct forward forward = {emit, context, false};
    struct machine machine;
    machine.entry = entry;
    machine.state = (struct state){.cfa = UNWIND_CFA_UNKNOWN};
    machine.depth = 0;
    machine.location = entry->start;
    machine.broken = false;
    machine.emit = emit_nothing; /* a common entry does not advance */
    run_program(&machine, entry->initial, entry->initial_end);
    machine.initial = machine.state;
    machine.emit = forward_row;
    machine.context = &forward;
    if (!machine.broken)
        run_program(&machine, entry->program, entry->program_end);
    if (!forward.refused && machine.location < entry->end)
        emit_row(&machine, machine.location);
    return !forward.refused;
}
