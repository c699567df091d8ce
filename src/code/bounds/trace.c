// SPDX-License-Identifier: MIT
/*
 * The dependence graph: iterations are executed symbolically, one after the other, until what reaches back furthest is seen; the
 * arcs are those into the last one.
 *
 * Values of general registers are kept as linear forms in what the registers held at first and what was computed otherwise,
 * each of which is a random number of 64 bits: addition, subtraction, shifts and products by constants are carried out on
 * the numbers. Two values that differ by a constant in truth differ by it here, and those that do not do so with a probability of
 * 2^-64 (random interpretation: Gulwani, Necula, POPL 2003). That gives induction variables and strides, in registers too, without
 * an algebra. The part that is a known constant is kept apart, so that offsets and widths can be compared.
 */
#include "bounds/internal.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

enum {
    ITERATIONS = BOUNDS_DISTANCE_MAX + 1,
    STEPS_MAX = 20000,
    PAIRS_MAX = 4096,
    LOOKED_AT_MAX = 4096
};

struct value {
    uint64_t root;
    int64_t offset;
    bool loaded; /* just so: old Intel processors load from such an address a cycle earlier */
};

struct producer {
    uint32_t vertex; /* BOUNDS_NONE: from before the loop, or a value that needs no input */
    uint32_t iteration;
};

struct access {
    struct value address;
    struct value datum; /* of stores of general registers */
    uint64_t segment;
    uint32_t vertex, iteration;
    uint16_t bytes;
    bool store, known; /* known: datum */
};

struct trace {
    struct work *work;
    struct executed_trace *executed; /* NULL: a loop, of which nothing was executed */
    struct value values[BOUNDS_VECTOR];
    struct producer producers[BOUNDS_REGISTERS];
    uint32_t *load_vertex, *result_vertex,
        *store_vertex; /* by instruction * BOUNDS_OPERANDS + index of the operand */
    struct access *accesses;
    size_t access_count, access_capacity;
    struct arc_latency *ranges;
    size_t range_capacity;
    uint64_t fresh;
    struct access stored; /* the last store; bytes 0: none yet */
    uint32_t
        blocks; /* how often a store was in another block of memory than the one before, since the first iteration */
    uint32_t iteration, iterations;
    bool last, failed, stores;
};

static uint64_t mix(uint64_t number)
{
    return base_mix64(number);
}

/* ---- vertices -------------------------------------------------------------------------------------------- */

static uint32_t add_vertex(struct trace *trace, uint32_t instruction, enum bounds_vertex_kind kind,
                           uint8_t operand)
{
    struct bounds *out = trace->work->out;
    if (!UTIL_PUSH(out->vertices, out->vertex_count, out->vertex_capacity,
                   (struct bounds_vertex){instruction, (uint8_t)kind, operand})) {
        trace->failed = true;
        return BOUNDS_NONE;
    }
    return (uint32_t)out->vertex_count - 1;
}

static bool is_result(const struct bounds_operand *operand)
{
    return operand->writes &&
           (operand->kind == BOUNDS_REGISTER || operand->kind == BOUNDS_FLAGS_OPERAND);
}

static bool skips_stack_pointer(const struct work *work,
                                const struct bounds_instruction *instruction, uint8_t reg)
{
    return instruction->stack && reg == BASE_RSP && has_rule(work, MODEL_STACK_ENGINE);
}

/* Is what it computes just what it loads? */
static bool is_pure_load(const struct work *work, uint32_t at)
{
    const struct bounds_instruction *instruction = &work->block->instructions[at];
    const struct bounds_operand *from = NULL, *to = NULL;
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        if (operand->kind == BOUNDS_REGISTER &&
            skips_stack_pointer(work, instruction, operand->reg))
            continue;
        if (stores(operand) ||
            (operand->reads && operand->kind != BOUNDS_MEMORY &&
             operand->kind != BOUNDS_IMMEDIATE) ||
            (loads(operand) && from) || (is_result(operand) && (to || operand->conditional)))
            return false;
        from = loads(operand) ? operand : from;
        to = is_result(operand) ? operand : to;
    }
    return from && to &&
           (instruction->category == BOUNDS_MOVE || instruction->mnemonic == ZYDIS_MNEMONIC_POP) &&
           !(to->kind == BOUNDS_REGISTER && is_general(to->reg) && to->bits < 32);
}

static void make_vertices(struct trace *trace)
{
    const struct bounds_block *block = trace->work->block;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct bounds_instruction *instruction = &block->instructions[i];
        bool pure = is_pure_load(trace->work, i);
        uint32_t loaded = BOUNDS_NONE;
        for (unsigned k = 0; k < instruction->operand_count; k++)
            if (loads(&instruction->operands[k]))
                loaded = trace->load_vertex[i * BOUNDS_OPERANDS + k] =
                    add_vertex(trace, i, BOUNDS_LOADS, instruction->operands[k].number);
        for (unsigned k = 0; k < instruction->operand_count; k++) {
            const struct bounds_operand *operand = &instruction->operands[k];
            if (is_result(operand) &&
                !(operand->kind == BOUNDS_REGISTER &&
                  skips_stack_pointer(trace->work, instruction, operand->reg)))
                trace->result_vertex[i * BOUNDS_OPERANDS + k] =
                    pure ? loaded : add_vertex(trace, i, BOUNDS_COMPUTES, operand->number);
            if (stores(operand)) {
                trace->store_vertex[i * BOUNDS_OPERANDS + k] =
                    add_vertex(trace, i, BOUNDS_STORES, operand->number);
                trace->stores = true;
            }
        }
    }
}

/* ---- arcs -------------------------------------------------------------------------------------------------- */

static void add_arc(struct trace *trace, struct bounds_arc arc, struct arc_latency range)
{
    struct bounds *out = trace->work->out;
    /* What is forwarded at best is for what is certified. */
    arc.latency = arc.memory ? range.most : range.least;
    if (!UTIL_GROW(trace->ranges, trace->range_capacity, out->arc_count) ||
        !UTIL_PUSH(out->arcs, out->arc_count, out->arc_capacity, arc)) {
        trace->failed = true;
        return;
    }
    trace->ranges[out->arc_count - 1] = range;
}

static void depend(struct trace *trace, uint32_t at, uint8_t reg, uint32_t to,
                   struct arc_latency range)
{
    const struct producer *producer = &trace->producers[reg];
    if (reg == BASE_RSP) {
        range.least += trace->work->costs[at].stack_delay * 1000;
        range.most += trace->work->costs[at].stack_delay * 1000;
    }
    if (producer->vertex != BOUNDS_NONE && to != BOUNDS_NONE)
        add_arc(trace,
                (struct bounds_arc){.from = producer->vertex,
                                    .to = to,
                                    .reg = reg,
                                    .distance = (uint16_t)(trace->iteration - producer->iteration)},
                range);
}

static bool needs_input(const struct cost *cost)
{
    return !cost->zeroes && !cost->breaks;
}

/* Writing 8 or 16 bits, or under a condition, keeps the rest; and some processors take a result for an input. */
static bool keeps_old(const struct work *work, const struct cost *cost,
                      const struct bounds_operand *operand)
{
    return operand->kind == BOUNDS_REGISTER && !operand->reads &&
           (operand->conditional || (cost->figures && cost->figures->idioms & MODEL_WAITS) ||
            (is_general(operand->reg) && operand->bits < 32 && has_rule(work, MODEL_MERGES_LOW)));
}

/* Scalar forms of before AVX that leave the upper part of a vector register, but are not said to read it. */
static bool keeps_upper(const struct bounds_instruction *instruction)
{
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_CVTSI2SD:
    case ZYDIS_MNEMONIC_CVTSI2SS:
    case ZYDIS_MNEMONIC_CVTSD2SS:
    case ZYDIS_MNEMONIC_CVTSS2SD:
    case ZYDIS_MNEMONIC_SQRTSD:
    case ZYDIS_MNEMONIC_SQRTSS:
    case ZYDIS_MNEMONIC_ROUNDSD:
    case ZYDIS_MNEMONIC_ROUNDSS:
    case ZYDIS_MNEMONIC_RCPSS:
    case ZYDIS_MNEMONIC_RSQRTSS: return true;
    default: return false;
    }
}

static void arcs_from_address(struct trace *trace, uint32_t at,
                              const struct bounds_operand *operand, uint32_t to,
                              struct arc_latency range)
{
    const struct bounds_instruction *instruction = &trace->work->block->instructions[at];
    if (operand->base != BOUNDS_NO_REGISTER &&
        !skips_stack_pointer(trace->work, instruction, operand->base))
        depend(trace, at, operand->base, to, range);
    if (operand->index != BOUNDS_NO_REGISTER)
        depend(trace, at, operand->index, to, range);
}

/* Arcs into the vertex of result or store `result`, from all inputs of the instruction. */
static void arcs_into(struct trace *trace, uint32_t at, const struct bounds_operand *result,
                      uint32_t vertex)
{
    struct work *work = trace->work;
    const struct bounds_instruction *instruction = &work->block->instructions[at];
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *from = &instruction->operands[k];
        uint32_t loaded = trace->load_vertex[at * BOUNDS_OPERANDS + k];
        if (from->kind == BOUNDS_REGISTER && from->reads &&
            !skips_stack_pointer(work, instruction, from->reg))
            depend(trace, at, from->reg, vertex, compute_latency(work, at, from, result));
        else if (from == result && (keeps_old(work, &work->costs[at], from) ||
                                    (from->kind == BOUNDS_REGISTER && is_vector(from->reg) &&
                                     keeps_upper(instruction))))
            depend(trace, at, from->reg, vertex, compute_latency(work, at, from, result));
        else if (from->kind == BOUNDS_ADDRESS)
            arcs_from_address(trace, at, from, vertex, compute_latency(work, at, from, result));
        if (from->kind == BOUNDS_FLAGS_OPERAND)
            for (unsigned f = 0; f < BOUNDS_FLAGS; f++)
                if (from->flags_read >> f & 1)
                    depend(trace, at, (uint8_t)(BOUNDS_FLAG + f), vertex,
                           compute_latency(work, at, from, result));
        if (loaded != BOUNDS_NONE && loaded != vertex && vertex != BOUNDS_NONE)
            add_arc(trace,
                    (struct bounds_arc){.from = loaded, .to = vertex, .reg = BOUNDS_NO_REGISTER},
                    compute_latency(work, at, from, result));
    }
}

/* ---- values ------------------------------------------------------------------------------------------------- */

static struct value fresh_value(struct trace *trace)
{
    return (struct value){.root = mix(++trace->fresh ^ 0x5bd1e995ULL << 32)};
}

static struct value register_value(const struct trace *trace, uint8_t reg)
{
    return is_general(reg) ? trace->values[reg] : (struct value){.root = 0};
}

static struct value address_value(const struct trace *trace, const struct bounds_operand *operand)
{
    struct value value = {.offset = operand->value};
    if (operand->base != BOUNDS_NO_REGISTER) {
        struct value base = register_value(trace, operand->base);
        value.root += base.root;
        value.offset = (int64_t)((uint64_t)value.offset + (uint64_t)base.offset);
        value.loaded = base.loaded && operand->index == BOUNDS_NO_REGISTER && operand->value >= 0 &&
                       operand->value < 2048;
    }
    if (operand->index != BOUNDS_NO_REGISTER) {
        struct value index = register_value(trace, operand->index);
        value.root += index.root * operand->scale;
        value.offset = (int64_t)((uint64_t)value.offset + (uint64_t)index.offset * operand->scale);
    }
    return value;
}

static struct value combined(struct value a, struct value b, uint64_t by)
{
    return (struct value){.root = a.root + b.root * by,
                          .offset = (int64_t)((uint64_t)a.offset + (uint64_t)b.offset * by)};
}

/* The first two operands that are written out, NULL where there is none. */
static void explicit_operands(const struct bounds_instruction *instruction,
                              const struct bounds_operand *operands[3])
{
    unsigned count = 0;
    operands[0] = operands[1] = operands[2] = NULL;
    for (unsigned k = 0; k < instruction->operand_count && count < 3; k++)
        if (!instruction->operands[k].hidden)
            operands[count++] = &instruction->operands[k];
}

static bool operand_value(const struct trace *trace, const struct bounds_operand *operand,
                          struct value *value)
{
    if (!operand)
        return false;
    *value = operand->kind == BOUNDS_IMMEDIATE ? (struct value){.offset = operand->value}
                                               : register_value(trace, operand->reg);
    return operand->kind == BOUNDS_IMMEDIATE ||
           (operand->kind == BOUNDS_REGISTER && is_general(operand->reg) && operand->bits >= 32);
}

/* A value that the same instruction makes of the same inputs again; false: it depends on more than registers. */
static bool hashed(const struct trace *trace, const struct bounds_instruction *instruction,
                   const struct bounds_operand *result, struct value *value)
{
    uint64_t hash = mix(instruction->mnemonic * 64ULL + result->number);
    bool any = false;
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *from = &instruction->operands[k];
        if (loads(from) ||
            (from->reads && from->kind != BOUNDS_REGISTER && from->kind != BOUNDS_IMMEDIATE) ||
            (from->kind == BOUNDS_REGISTER && from->reads && !is_general(from->reg)) ||
            from->kind == BOUNDS_ADDRESS)
            return false;
        if (from->kind == BOUNDS_IMMEDIATE)
            hash = mix(hash ^ (uint64_t)from->value);
        if (from->kind == BOUNDS_REGISTER && (from->reads || from == result)) {
            struct value input = register_value(trace, from->reg);
            hash = mix(hash ^ (input.root + (uint64_t)input.offset) ^ from->bits);
            any |= from->reads;
        }
    }
    *value = (struct value){.root = hash};
    return any;
}

/* Arithmetic that keeps to linear forms. False: it is none. */
static bool linear(const struct trace *trace, const struct bounds_instruction *instruction,
                   struct value *value)
{
    const struct bounds_operand *operands[3];
    struct value a = {0}, b = {0};
    explicit_operands(instruction, operands);
    bool first = operand_value(trace, operands[0], &a),
         second = operand_value(trace, operands[1], &b);
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVSXD: *value = b; return first && second && !operands[2];
    case ZYDIS_MNEMONIC_CDQE: *value = trace->values[BASE_RAX]; return true;
    case ZYDIS_MNEMONIC_ADD: *value = combined(a, b, 1); return first && second;
    case ZYDIS_MNEMONIC_SUB: *value = combined(a, b, UINT64_MAX); return first && second;
    case ZYDIS_MNEMONIC_INC: *value = combined(a, (struct value){.offset = 1}, 1); return first;
    case ZYDIS_MNEMONIC_DEC:
        *value = combined(a, (struct value){.offset = 1}, UINT64_MAX);
        return first;
    case ZYDIS_MNEMONIC_NEG: *value = combined((struct value){0}, a, UINT64_MAX); return first;
    case ZYDIS_MNEMONIC_SHL:
        *value = combined((struct value){0}, a, 1ULL << (b.offset & 63));
        return first && operands[1] && operands[1]->kind == BOUNDS_IMMEDIATE;
    case ZYDIS_MNEMONIC_IMUL:
        *value = combined((struct value){0}, b, operands[2] ? (uint64_t)operands[2]->value : 0);
        return first && second && operands[2] && operands[2]->kind == BOUNDS_IMMEDIATE;
    case ZYDIS_MNEMONIC_LEA:
        if (!operands[1] || operands[1]->kind != BOUNDS_ADDRESS)
            return false;
        *value = address_value(trace, operands[1]);
        value->loaded = false;
        return first;
    default: return false;
    }
}

static bool is_frame(uint64_t root)
{
    return root == first_root(BASE_RSP) || root == first_root(BASE_RBP);
}

/* What is loaded from there, if it is known: what was stored, or a slot of the frame that nothing
   else writes. */
static bool memory_value(const struct trace *trace, const struct bounds_operand *operand,
                         const struct access *forwarded, struct value *value)
{
    if (operand->bits < 32)
        return false;
    if (forwarded) {
        *value = forwarded->datum;
        return forwarded->known && forwarded->bytes * 8 == operand->bits;
    }
    struct value address = address_value(trace, operand);
    *value =
        (struct value){.root = mix(address.root ^ mix((uint64_t)address.offset) ^ operand->bits)};
    return is_frame(address.root);
}

/* What a load yields, if it is known. */
static bool loaded_value(const struct trace *trace, const struct bounds_instruction *instruction,
                         const struct access *forwarded, struct value *value)
{
    if (instruction->mnemonic != ZYDIS_MNEMONIC_MOV &&
        instruction->mnemonic != ZYDIS_MNEMONIC_MOVSXD &&
        instruction->mnemonic != ZYDIS_MNEMONIC_POP)
        return false;
    for (unsigned k = 0; k < instruction->operand_count; k++)
        if (loads(&instruction->operands[k]))
            return memory_value(trace, &instruction->operands[k], forwarded, value);
    return false;
}

/* What a store leaves: a register, or what was there and a constant. */
static bool stored_value(const struct trace *trace, const struct bounds_instruction *instruction,
                         const struct bounds_operand *operand, const struct access *forwarded,
                         struct value *value)
{
    const struct bounds_operand *operands[3];
    struct value old, change = {.offset = 1};
    explicit_operands(instruction, operands);
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_MOV: return operand_value(trace, operands[1], value);
    case ZYDIS_MNEMONIC_PUSH: return operand_value(trace, operands[0], value);
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
        if (!operand_value(trace, operands[1], &change))
            return false;
        break;
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC: break;
    default: return false;
    }
    bool falls =
        instruction->mnemonic == ZYDIS_MNEMONIC_SUB || instruction->mnemonic == ZYDIS_MNEMONIC_DEC;
    if (!memory_value(trace, operand, forwarded, &old))
        return false;
    *value = combined(old, change, falls ? UINT64_MAX : 1);
    return true;
}

static struct value result_value(struct trace *trace, uint32_t at,
                                 const struct bounds_operand *result,
                                 const struct access *forwarded)
{
    const struct bounds_instruction *instruction = &trace->work->block->instructions[at];
    struct value value;
    if (instruction->same && (instruction->mnemonic == ZYDIS_MNEMONIC_XOR ||
                              instruction->mnemonic == ZYDIS_MNEMONIC_SUB))
        return (struct value){.root = 0};
    if (result->bits >= 32 && (linear(trace, instruction, &value) ||
                               loaded_value(trace, instruction, forwarded, &value) ||
                               hashed(trace, instruction, result, &value))) {
        value.loaded = false;
    } else {
        value = fresh_value(trace);
    }
    for (unsigned k = 0; k < instruction->operand_count; k++)
        value.loaded |= loads(&instruction->operands[k]) && instruction->category == BOUNDS_MOVE;
    value.loaded |= instruction->mnemonic == ZYDIS_MNEMONIC_POP;
    return value;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static bool overlap(const struct access *a, const struct access *b)
{
    return a->address.root == b->address.root && a->segment == b->segment &&
           a->address.offset < b->address.offset + b->bytes &&
           b->address.offset < a->address.offset + a->bytes;
}

static bool contains(const struct access *outer, const struct access *inner)
{
    return inner->address.offset >= outer->address.offset &&
           inner->address.offset + inner->bytes <= outer->address.offset + outer->bytes;
}

/* The last store to what the load reads, or NULL. */
static const struct access *find_store(const struct trace *trace, const struct access *load)
{
    size_t looked_at = 0;
    for (size_t a = trace->access_count; a-- > 0 && looked_at < LOOKED_AT_MAX; looked_at++)
        if (trace->accesses[a].store && overlap(&trace->accesses[a], load))
            return &trace->accesses[a];
    return NULL;
}

static void forward(struct trace *trace, uint32_t at, const struct access *load,
                    const struct access *store)
{
    bool failed = !contains(store, load);
    add_arc(trace,
            (struct bounds_arc){.from = store->vertex,
                                .to = load->vertex,
                                .reg = BOUNDS_NO_REGISTER,
                                .memory = true,
                                .distance = (uint16_t)(load->iteration - store->iteration),
                                .failed = failed},
            forward_latency(trace->work, &trace->work->block->instructions[at], failed));
}

/* Anti and output dependences of a store, back to the store before it at that place. */
static void order_store(struct trace *trace, const struct access *store)
{
    size_t looked_at = 0;
    for (size_t a = trace->access_count; a-- > 0 && looked_at < LOOKED_AT_MAX; looked_at++) {
        const struct access *before = &trace->accesses[a];
        if (!overlap(before, store))
            continue;
        add_arc(trace,
                (struct bounds_arc){.from = before->vertex,
                                    .to = store->vertex,
                                    .reg = BOUNDS_NO_REGISTER,
                                    .memory = true,
                                    .dependence = before->store ? BOUNDS_OUTPUT : BOUNDS_ANTI,
                                    .distance = (uint16_t)(store->iteration - before->iteration)},
                (struct arc_latency){0});
        if (before->store)
            return;
    }
}

static void log_access(struct trace *trace, struct access access)
{
    if (!UTIL_PUSH(trace->accesses, trace->access_count, trace->access_capacity, access))
        trace->failed = true;
}

static struct access access_of(const struct trace *trace, const struct bounds_operand *operand,
                               uint32_t vertex)
{
    return (struct access){.address = address_value(trace, operand),
                           .segment = operand->segment,
                           .vertex = vertex,
                           .iteration = trace->iteration,
                           .bytes = (uint16_t)(operand->bits / 8)};
}

static void see_address(const struct trace *trace, uint32_t at, unsigned operand,
                        const struct access *access)
{
    if (trace->work->looks)
        streams_see(trace->work, at, operand, trace->iteration, access->address.root,
                    access->address.offset);
}

/* ---- one instruction -------------------------------------------------------------------------------------------- */

static void source_of(void *context, uint32_t at, uint32_t from, uint32_t to, bool failed)
{
    struct trace *trace = context;
    add_arc(
        trace,
        (struct bounds_arc){
            .from = from, .to = to, .reg = BOUNDS_NO_REGISTER, .memory = true, .failed = failed},
        forward_latency(trace->work, &trace->work->block->instructions[at], failed));
}

/* Loads. False: nothing is known to have been stored there; else *source is the store that the last one is forwarded from. */
static bool step_loads(struct trace *trace, uint32_t at, struct access *source)
{
    const struct bounds_instruction *instruction = &trace->work->block->instructions[at];
    bool found = false;
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        if (!loads(operand))
            continue;
        struct access load =
            access_of(trace, operand, trace->load_vertex[at * BOUNDS_OPERANDS + k]);
        see_address(trace, at, k, &load);
        bool fast = load.address.loaded && has_rule(trace->work, MODEL_SIMPLE_LOADS_FAST);
        const struct access *forwarded = trace->stores && !operand->gathers && !trace->executed
                                             ? find_store(trace, &load)
                                             : NULL;
        found = forwarded != NULL;
        if (found)
            *source = *forwarded;
        if (trace->last) {
            arcs_from_address(trace, at, operand, load.vertex,
                              load_latency(trace->work, at, operand, fast));
            if (found)
                forward(trace, at, &load, source);
        }
        if (trace->executed)
            trace->failed |= !executed_loads(trace->executed, at, load.vertex, source_of, trace);
        else if (trace->work->options->graph && trace->stores && !operand->gathers)
            log_access(trace, load);
    }
    return found;
}

/* Some processors store more than once a cycle within one small block of memory alone. Roots are taken as aligned. */
static void count_block(struct trace *trace, const struct access *store)
{
    int64_t bytes = (int64_t)figure(trace->work, MODEL_STORE_BLOCK, 0);
    const struct access *before = &trace->stored;
    if (bytes <= 0)
        return;
    bool same = before->bytes && before->address.root == store->address.root &&
                before->segment == store->segment &&
                (before->address.offset & -bytes) == (store->address.offset & -bytes);
    trace->blocks += trace->iteration > 0 && !same;
    trace->stored = *store;
}

static void step_stores(struct trace *trace, uint32_t at, const struct access *forwarded)
{
    const struct bounds_instruction *instruction = &trace->work->block->instructions[at];
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        if (!stores(operand))
            continue;
        struct access store =
            access_of(trace, operand, trace->store_vertex[at * BOUNDS_OPERANDS + k]);
        store.store = true;
        see_address(trace, at, k, &store);
        store.known = stored_value(trace, instruction, operand, forwarded, &store.datum);
        if (trace->last) {
            arcs_into(trace, at, operand, store.vertex);
            if (trace->work->options->graph && !operand->gathers && !trace->executed)
                order_store(trace, &store);
        }
        count_block(trace, &store);
        if (trace->executed)
            trace->failed |= !executed_stores(trace->executed, at, store.vertex);
        else if (!operand->gathers)
            log_access(trace, store);
    }
}

/* What a callee may change: registers that belong to the caller. */
static void forget_for_call(struct trace *trace)
{
    /* rsp, rbx, rbp and r12 to r15 are the callee's to keep */
    const uint32_t kept = 1U << BASE_RSP | 1U << BASE_RBX | 1U << BASE_RBP | 0xf000U;
    for (unsigned r = 0; r < BOUNDS_REGISTERS; r++) {
        if (r < BOUNDS_VECTOR && (kept >> r & 1))
            continue;
        trace->producers[r].vertex = BOUNDS_NONE;
        if (r < BOUNDS_VECTOR)
            trace->values[r] = fresh_value(trace);
    }
}

static void step(struct trace *trace, uint32_t at)
{
    const struct bounds_instruction *instruction = &trace->work->block->instructions[at];
    struct value made[BOUNDS_OPERANDS];
    bool inputs = needs_input(&trace->work->costs[at]);
    struct access source = {0};
    const struct access *forwarded = step_loads(trace, at, &source) ? &source : NULL;
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *result = &instruction->operands[k];
        uint32_t vertex = trace->result_vertex[at * BOUNDS_OPERANDS + k];
        if (!is_result(result))
            continue;
        if (trace->last && inputs && vertex != BOUNDS_NONE)
            arcs_into(trace, at, result, vertex);
        if (result->kind == BOUNDS_REGISTER && is_general(result->reg))
            made[k] = result_value(trace, at, result, forwarded);
    }
    step_stores(trace, at, forwarded);
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *result = &instruction->operands[k];
        struct producer producer = {inputs ? trace->result_vertex[at * BOUNDS_OPERANDS + k]
                                           : BOUNDS_NONE,
                                    trace->iteration};
        if (!is_result(result))
            continue;
        for (unsigned f = 0; result->kind == BOUNDS_FLAGS_OPERAND && f < BOUNDS_FLAGS; f++)
            if (result->flags_written >> f & 1)
                trace->producers[BOUNDS_FLAG + f] = producer;
        if (result->kind != BOUNDS_REGISTER)
            continue;
        if (instruction->stack && result->reg == BASE_RSP) {
            trace->values[BASE_RSP].offset += stack_change(instruction);
            if (has_rule(trace->work, MODEL_STACK_ENGINE))
                continue;
        } else if (is_general(result->reg)) {
            trace->values[result->reg] = made[k];
        }
        trace->producers[result->reg] = producer;
    }
    if (instruction->calls && !trace->executed)
        forget_for_call(trace);
}

/* ---- what may overlap ----------------------------------------------------------------------------------------------- */

/* An array of the program, not a slot of the frame or a variable at a constant address. */
static bool is_pointed_to(const struct access *access)
{
    return access->address.root != 0 && !is_frame(access->address.root);
}

static void arcs_that_may_be(struct trace *trace)
{
    size_t first = trace->access_count, load_count = 0, store_count = 0;
    while (first && trace->accesses[first - 1].iteration == trace->iteration)
        first--;
    for (size_t a = first; a < trace->access_count; a++)
        *(trace->accesses[a].store ? &store_count : &load_count) += 1;
    if (load_count * store_count > PAIRS_MAX)
        return;
    for (size_t l = first; l < trace->access_count; l++)
        for (size_t s = first; s < trace->access_count; s++) {
            const struct access *load = &trace->accesses[l], *store = &trace->accesses[s];
            if (load->store || !store->store || load->address.root == store->address.root ||
                load->segment || store->segment || !is_pointed_to(load) || !is_pointed_to(store))
                continue;
            uint32_t at = trace->work->out->vertices[load->vertex].instruction;
            add_arc(trace,
                    (struct bounds_arc){.from = store->vertex,
                                        .to = load->vertex,
                                        .reg = BOUNDS_NO_REGISTER,
                                        .memory = true,
                                        .may = true,
                                        .distance = s < l ? 0 : 1},
                    forward_latency(trace->work, &trace->work->block->instructions[at], false));
        }
}

/* ---- all of it -------------------------------------------------------------------------------------------------------- */

static bool trace_start(struct trace *trace)
{
    size_t operands = trace->work->block->count * BOUNDS_OPERANDS;
    trace->load_vertex = malloc(3 * operands * sizeof *trace->load_vertex);
    if (!trace->load_vertex)
        return false;
    memset(trace->load_vertex, 0xff, 3 * operands * sizeof *trace->load_vertex); /* BOUNDS_NONE */
    trace->result_vertex = trace->load_vertex + operands;
    trace->store_vertex = trace->load_vertex + 2 * operands;
    for (unsigned r = 0; r < BOUNDS_REGISTERS; r++)
        trace->producers[r].vertex = BOUNDS_NONE;
    for (unsigned r = 0; r < BOUNDS_VECTOR; r++)
        trace->values[r] = (struct value){.root = first_root((uint8_t)r)};
    make_vertices(trace);
    return !trace->failed;
}

/* Registers reach one iteration back; only what goes through memory reaches further. */
static uint32_t iterations_of(const struct trace *trace)
{
    size_t most = STEPS_MAX / trace->work->block->count;
    if (!trace->stores)
        return trace->work->looks ? STREAM_LOOKS : 2;
    return most < 3 ? 3 : most > ITERATIONS ? ITERATIONS : (uint32_t)most;
}

static bool trace_all(struct trace *trace, struct arc_latency **ranges)
{
    struct work *work = trace->work;
    bool good = trace_start(trace);
    trace->iterations = !good ? 0 : trace->executed ? 1 : iterations_of(trace);
    for (; trace->iteration < trace->iterations && !trace->failed; trace->iteration++) {
        trace->last = trace->iteration + 1 == trace->iterations;
        for (uint32_t i = 0; i < work->block->count; i++)
            step(trace, i);
    }
    trace->iteration--;
    if (trace->iteration > 0)
        work->out->store_blocks = (double)trace->blocks / trace->iteration;
    if (good && work->options->graph && !trace->failed && !trace->executed)
        arcs_that_may_be(trace);
    free(trace->load_vertex);
    free(trace->accesses);
    if (!good || trace->failed) {
        free(trace->ranges);
        return false;
    }
    *ranges = trace->ranges;
    return true;
}

bool trace_dependences(struct work *work, struct arc_latency **ranges)
{
    struct trace trace = {.work = work};
    return trace_all(&trace, ranges);
}

bool trace_executed(struct work *work, struct executed_trace *executed, struct arc_latency **ranges)
{
    struct trace trace = {.work = work, .executed = executed};
    return trace_all(&trace, ranges);
}
