// SPDX-License-Identifier: MIT
/*
 * Latencies of forms, from each operand read to each written: chains of copies, each waiting for the operand that the one before it
 * wrote. Where the two are no registers of one kind an instruction stands between, whose latency is taken off: half of the
 * round trip between general and vector registers (every way back is the other half, so that what a
 * circuit takes is right whatever the halves are), 1 for flags into a register, 1 for a register into flags.
 */
#include "calibrate/internal.h"

#include <math.h>
#include <string.h>

enum { CHAIN_COPIES = 48, CHAIN_REGISTERS = 4, PAIRS_MAX = 8, MEDIAN_OF = 5 };

struct wire {
    struct lab *lab;
    const struct facts *facts;
    struct sample *sample;
    unsigned from, to;
    double extra; /* cycles of what stands between two copies */
};

static const int8_t chain_general[CHAIN_REGISTERS] = {3, 6, 7, 8};

/* Registers that stay what they are: those only read; those written beside, in turn. */
static void pick_others(struct sample *sample, unsigned copy)
{
    for (unsigned i = 0; i < sample->in.operand_count_visible; i++) {
        bool written = sample_writes(sample, i), hidden = sample_is_hidden(sample, i);
        switch (sample_kind(sample, i)) {
        case KIND_GENERAL:
            sample->pick[i] = (int8_t)(hidden ? -1 : written ? 9 + (int)(copy % 3) : 12);
            break;
        case KIND_VECTOR: sample->pick[i] = (int8_t)(written ? 8 + (int)(copy % 4) : 14); break;
        case KIND_MASK: sample->pick[i] = (int8_t)(written ? 4 + (int)(copy % 2) : 7); break;
        case KIND_MEMORY:
            sample->pick[i] = 12;
            sample->base = BODY_DATA;
            break;
        default: break;
        }
    }
}

/* The number of the register that is operand's in this copy: fixed, or chosen here. */
static int place(const struct wire *wire, unsigned operand, unsigned turn)
{
    const struct sample *sample = wire->sample;
    switch (sample_kind(sample, operand)) {
    case KIND_GENERAL:
        return sample_is_hidden(sample, operand) ? sample_register(sample, operand)
                                                 : chain_general[turn % CHAIN_REGISTERS];
    case KIND_VECTOR:
        return sample_is_hidden(sample, operand) ? sample_register(sample, operand)
                                                 : (int)(turn % CHAIN_REGISTERS);
    case KIND_MASK: return 1 + (int)(turn % 3);
    case KIND_MEMORY:
        return sample_is_address(sample, operand) ? chain_general[turn % CHAIN_REGISTERS]
                                                  : BODY_ADDRESS;
    default: return -1;
    }
}

static void put(struct wire *wire, unsigned operand, int number)
{
    struct sample *sample = wire->sample;
    if (sample_kind(sample, operand) == KIND_MEMORY && !sample_is_address(sample, operand))
        sample->base = (int8_t)number;
    else if (!sample_is_hidden(sample, operand))
        sample->pick[operand] = (int8_t)number;
}

/* ---- what stands between ------------------------------------------------------------------------------ */

static void emit3(struct body *body, unsigned rex, const uint8_t *opcode, size_t count, int reg,
                  int rm)
{
    uint8_t bytes[8];
    size_t at = 0;
    if (opcode[0] == 0x66) {
        bytes[at++] = *opcode++;
        count--;
    }
    bytes[at++] = (uint8_t)(rex | (reg > 7 ? 4U : 0U) | (rm > 7 ? 1U : 0U));
    memcpy(bytes + at, opcode, count);
    at += count;
    bytes[at++] = (uint8_t)(0xc0 | (reg & 7) << 3 | (rm & 7));
    body_add(body, bytes, at);
}

/* movq between a general and a vector register, without mixing old and new encodings. */
static void emit_movq(struct body *body, bool to_general, int general, int vector)
{
    if (body->wide) {
        const uint8_t bytes[] = {
            0xc4, (uint8_t)((vector > 7 ? 0 : 0x80) | 0x40 | (general > 7 ? 0 : 0x20) | 1), 0xf9,
            to_general ? 0x7e : 0x6e, (uint8_t)(0xc0 | (vector & 7) << 3 | (general & 7))};
        body_add(body, bytes, sizeof bytes);
    } else {
        const uint8_t opcode[] = {0x66, 0x0f, to_general ? 0x7e : 0x6e};
        emit3(body, 0x48, opcode, 3, vector, general);
    }
}

static void emit_setcc(struct body *body, uint32_t flags, int number)
{
    uint8_t condition = flags & ZYDIS_CPUFLAG_CF   ? 2
                        : flags & ZYDIS_CPUFLAG_ZF ? 4
                        : flags & ZYDIS_CPUFLAG_SF ? 8
                        : flags & ZYDIS_CPUFLAG_OF ? 0
                                                   : 10;
    const uint8_t opcode[] = {0x0f, (uint8_t)(0x90 | condition)};
    emit3(body, 0x40, opcode, 2, 0, number);
}

static uint32_t flags_written(const struct sample *sample)
{
    const ZydisAccessedFlags *flags = sample->in.cpu_flags;
    return flags ? flags->modified | flags->set_0 | flags->set_1 : 0;
}

/* A general register's value as an address: and with 0, plus the data's. 2 cycles. */
static void emit_address(struct body *body, int number)
{
    emit3(body, 0x48, (const uint8_t[]){0x21}, 1, BODY_ZERO, number);       /* and number, r13 */
    emit3(body, 0x48, (const uint8_t[]){0x89}, 1, BODY_DATA, BODY_ADDRESS); /* mov rbp, r14 */
    emit3(body, 0x48, (const uint8_t[]){0x01}, 1, number, BODY_ADDRESS);    /* add rbp, number */
}

/* lea target, [number + 0]: always executed, which mov is not, or only now and then. False: it cannot be encoded so. */
static bool emit_copy(struct body *body, int number, int target)
{
    body_add(body,
             (const uint8_t[]){(uint8_t)(0x48 | (target > 7) << 2 | (number > 7)), 0x8d,
                               (uint8_t)(0x80 | (target & 7) << 3 | (number & 7)), 0, 0, 0, 0},
             7);
    return (number & 7) != 4;
}

/* From general register `number` to what the next copy reads. False: there is no way. */
static bool general_to(struct wire *wire, struct body *body, int number, unsigned turn)
{
    int target = place(wire, wire->from, turn);
    switch (sample_kind(wire->sample, wire->from)) {
    case KIND_GENERAL:
        if (target == number)
            return true;
        wire->extra += 1;
        return emit_copy(body, number, target);
    case KIND_VECTOR:
        emit_movq(body, false, number, target);
        wire->extra += wire->facts->to_vector;
        return true;
    case KIND_FLAGS:
        emit3(body, 0x48, (const uint8_t[]){0x85}, 1, number, number); /* test */
        wire->extra += 1;
        return true;
    case KIND_MEMORY:
        if (sample_is_address(wire->sample, wire->from)) {
            emit3(body, 0x48, (const uint8_t[]){0x21}, 1, BODY_ZERO, number);
            wire->extra += 2;
            return emit_copy(body, number, target);
        }
        emit_address(body, number);
        wire->extra += 2;
        return true;
    default: return false;
    }
}

/* From what the copy before `turn` wrote to what that one reads. */
static bool connect(struct wire *wire, struct body *body, unsigned turn)
{
    struct sample *sample = wire->sample;
    enum kind to = sample_kind(sample, wire->to), from = sample_kind(sample, wire->from);
    int written = place(wire, wire->to, turn), read = place(wire, wire->from, turn);
    if (sample_is_address(sample, wire->from) && to == KIND_GENERAL && written == read)
        return true;
    if (to == from && to != KIND_MEMORY && (to == KIND_FLAGS || to == KIND_MASK || written == read))
        return true;
    switch (to) {
    case KIND_GENERAL: return general_to(wire, body, written, turn);
    case KIND_VECTOR:
        emit_movq(body, true, 10, written);
        wire->extra += wire->facts->from_vector;
        return from != KIND_MASK && general_to(wire, body, 10, turn);
    case KIND_FLAGS:
        emit_setcc(body, flags_written(sample), 10);
        wire->extra += 1;
        return from != KIND_MASK && general_to(wire, body, 10, turn);
    default: return false;
    }
}

/* ---- a pair ---------------------------------------------------------------------------------------------- */

/* Copy `turn` reads what the one before wrote, and writes elsewhere, unless the operand is one and the same. */
static bool add_copy(struct wire *wire, struct body *body, unsigned turn)
{
    struct sample *sample = wire->sample;
    bool one = wire->from == wire->to;
    /* The loop's own counter changes flags: from register to flags before the copy that reads them. */
    bool later = sample_kind(sample, wire->from) == KIND_FLAGS &&
                 sample_kind(sample, wire->to) != KIND_FLAGS;
    wire->extra = 0;
    if (later && !one && !connect(wire, body, turn))
        return false;
    pick_others(sample, turn);
    put(wire, wire->from, place(wire, wire->from, one ? 0 : turn));
    put(wire, wire->to, place(wire, wire->to, one ? 0 : turn + 1));
    sample_break(sample, body, (int)wire->from, (int)wire->to);
    if (!sample_emit(sample, body))
        return false;
    return one || later || connect(wire, body, turn + 1);
}

static bool is_whole(double cycles)
{
    return fabs(cycles - round(cycles)) < 0.12;
}

/* Negative: no chain can be made, or it faults. */
static double pair_latency(struct wire *wire, bool hard)
{
    struct body body;
    body_begin(&body, sample_pattern(wire->sample, hard), sample_is_wide(wire->sample));
    for (unsigned turn = 0; turn < CHAIN_COPIES; turn++)
        if (!add_copy(wire, &body, turn))
            return -1;
    double cycles = lab_measure(wire->lab, &body, 0);
    if (cycles < 0)
        return -1;
    /* Most latencies are whole cycles: what is not may have been disturbed. */
    if (!is_whole(cycles / CHAIN_COPIES - wire->extra))
        cycles = lab_median(wire->lab, &body, MEDIAN_OF);
    if (cycles < 0)
        return -1;
    cycles = cycles / CHAIN_COPIES - wire->extra;
    return cycles > 0 ? cycles : 0;
}

/* Whole cycles, or half ones where two ways take turns. */
static double tidy(double cycles)
{
    return is_whole(cycles)       ? round(cycles)
           : is_whole(2 * cycles) ? round(2 * cycles) / 2
                                  : round(cycles * 20) / 20;
}

/* ---- a form ---------------------------------------------------------------------------------------------- */

static bool is_source(const struct sample *sample, unsigned operand)
{
    enum kind kind = sample_kind(sample, operand);
    if (sample_is_address(sample, operand))
        return sample->op[operand].mem.base != ZYDIS_REGISTER_RIP &&
               (sample->op[operand].mem.base || sample->op[operand].mem.index);
    return kind != KIND_NONE &&
           (sample_reads(sample, operand) || sample_may_keep(sample, operand)) &&
           !(kind == KIND_MASK && sample->op[operand].encoding == ZYDIS_OPERAND_ENCODING_MASK);
}

/* Flags beside a register: they are there when it is. */
static bool is_target(const struct sample *sample, unsigned operand)
{
    enum kind kind = sample_kind(sample, operand);
    if (kind == KIND_NONE || kind == KIND_MEMORY || !sample_writes(sample, operand))
        return false;
    if (kind != KIND_FLAGS)
        return true;
    for (unsigned i = 0; i < sample->in.operand_count; i++)
        if (i != operand && sample_writes(sample, i) && sample_kind(sample, i) == KIND_GENERAL)
            return false;
    return flags_written(sample) != 0;
}

static void note(struct model_figures *figures, unsigned from, unsigned to, double least,
                 double most)
{
    if (figures->latency_count == MODEL_PARTS)
        return;
    figures->latencies[figures->latency_count++] =
        (struct model_latency){.from = (uint8_t)from,
                               .to = (uint8_t)to,
                               .least = (float)least,
                               .most = (float)(most > least ? most : least)};
}

/* What changes memory: its latency is what a chain through that memory takes beyond forwarding. */
static void measure_update(struct lab *lab, const struct facts *facts, struct sample *sample,
                           unsigned memory, struct model_figures *figures)
{
    struct body body;
    struct wire wire = {.lab = lab, .facts = facts, .sample = sample, .from = memory, .to = memory};
    body_begin(&body, sample_pattern(sample, false), sample_is_wide(sample));
    for (unsigned turn = 0; turn < CHAIN_COPIES; turn++) {
        pick_others(sample, turn);
        put(&wire, memory, BODY_DATA);
        sample_break(sample, &body, -1, -1);
        if (!sample_emit(sample, &body))
            return;
    }
    double cycles = lab_measure(lab, &body, 0);
    if (cycles < 0)
        return;
    cycles = cycles / CHAIN_COPIES - facts->forward_general;
    cycles = cycles < 1 ? 1 : tidy(cycles);
    note(figures, MODEL_ANY, memory, cycles, cycles);
    double load = facts->figures[MODEL_LOAD_LATENCY];
    note(figures, memory, memory, cycles + load, cycles + load);
}

bool sample_divides(const struct sample *sample)
{
    const char *name = ZydisMnemonicGetString(sample->in.mnemonic);
    return strstr(name, "div") || strstr(name, "sqrt");
}

/* Through the index in place of the base, where there are both: on some processors that is faster. */
static void measure_index(struct wire *wire, double *least, double *most)
{
    const ZydisDecodedOperand *from = wire->sample->op + wire->from;
    if (!sample_is_address(wire->sample, wire->from) || !from->mem.base || !from->mem.index)
        return;
    wire->sample->swapped = true;
    double index = pair_latency(wire, false);
    wire->sample->swapped = false;
    if (index < 0)
        return;
    *most = index > *most ? index : *most;
    *least = index < *least ? index : *least;
}

static void measure_pair(struct lab *lab, const struct facts *facts, struct sample *sample,
                         unsigned from, unsigned to, struct model_figures *figures)
{
    struct wire wire = {.lab = lab, .facts = facts, .sample = sample, .from = from, .to = to};
    double least = pair_latency(&wire, false), most = least;
    if (least < 0)
        return;
    if (sample_divides(sample)) {
        double hard = pair_latency(&wire, true);
        most = hard > most ? hard : most;
        least = hard > 0 && hard < least ? hard : least;
    }
    measure_index(&wire, &least, &most);
    note(figures, from, to, tidy(least), tidy(most));
}

/* One entry for those that are equal: most forms have one. */
static void merge(struct model_figures *figures)
{
    for (size_t i = 1; i < figures->latency_count; i++)
        if (figures->latencies[i].least < figures->latencies[0].least ||
            figures->latencies[i].least > figures->latencies[0].least ||
            figures->latencies[i].most < figures->latencies[0].most ||
            figures->latencies[i].most > figures->latencies[0].most)
            return;
    if (!figures->latency_count)
        return;
    figures->latency_count = 1;
    figures->latencies[0].from = figures->latencies[0].to = MODEL_ANY;
}

/* For pairs that were not measured: what most others take. */
static void note_default(struct model_figures *figures)
{
    if (figures->latency_count && figures->latencies[0].from != MODEL_ANY)
        note(figures, MODEL_ANY, MODEL_ANY, (double)figures->latencies[0].least,
             (double)figures->latencies[0].most);
}

void latency_measure(struct lab *lab, const struct facts *facts, struct sample *sample,
                     struct model_figures *figures)
{
    unsigned pairs = 0;
    if (sample->fixed)
        return;
    for (unsigned to = 0; to < sample->in.operand_count; to++)
        for (unsigned from = 0; from < sample->in.operand_count && pairs < PAIRS_MAX; from++)
            if (is_target(sample, to) && is_source(sample, from)) {
                measure_pair(lab, facts, sample, from, to, figures);
                pairs++;
            }
    for (unsigned i = 0; i < sample->in.operand_count_visible; i++)
        if (sample_kind(sample, i) == KIND_MEMORY && sample_reads(sample, i) &&
            sample_writes(sample, i))
            measure_update(lab, facts, sample, i, figures);
    merge(figures);
    note_default(figures);
    if (figures->latency_count)
        figures->latency_source = MODEL_MEASURED;
}

/* ---- results that are inputs, too --------------------------------------------------------------------------- */

bool latency_waits(struct lab *lab, struct sample *sample)
{
    enum { REGISTERS = 4 };
    struct body one, several;
    if (sample_kind(sample, 0) != KIND_GENERAL || sample_is_hidden(sample, 0) ||
        sample_reads(sample, 0))
        return false;
    pick_others(sample, 0);
    body_begin(&one, PATTERN_ONES_DOUBLE, false);
    body_begin(&several, PATTERN_ONES_DOUBLE, false);
    for (unsigned turn = 0; turn < CHAIN_COPIES; turn++) {
        sample->pick[0] = chain_general[0];
        bool sound = sample_emit(sample, &one);
        sample->pick[0] = chain_general[turn % REGISTERS];
        if (!sound || !sample_emit(sample, &several))
            return false;
    }
    double waiting = lab_least(lab, &one, 2), apart = lab_least(lab, &several, 2);
    return apart > 0 && waiting > 1.5 * apart;
}

/* ---- idioms ---------------------------------------------------------------------------------------------- */

/* Between two copies an instruction of some cycles that reads and writes the register: if copies waited for it, each would take
   those cycles and its own. */
uint8_t latency_idiom(struct lab *lab, const struct facts *facts, struct sample *sample)
{
    enum kind kind = sample_kind(sample, 0);
    bool wide = sample_is_wide(sample);
    struct body chain, alone;
    if (sample->in.operand_count_visible < 2 || (kind != KIND_GENERAL && kind != KIND_VECTOR))
        return 0;
    for (unsigned i = 0; i < sample->in.operand_count_visible; i++)
        if (sample_kind(sample, i) != kind || sample_is_hidden(sample, i))
            return 0;
    memset(sample->pick, 3, sizeof sample->pick);
    body_begin(&chain, PATTERN_ONES_DOUBLE, wide);
    body_begin(&alone, PATTERN_ONES_DOUBLE, wide);
    for (unsigned turn = 0; turn < CHAIN_COPIES * 8; turn++) {
        if (!sample_emit(sample, &alone))
            return 0;
        if (turn >= CHAIN_COPIES)
            continue;
        if (!sample_emit(sample, &chain))
            return 0;
        body_hex(&chain, kind == KIND_GENERAL ? "480fafdb" /* imul rbx, rbx */
                         : wide               ? "c5e159db" /* vmulpd xmm3, xmm3, xmm3 */
                                              : "660f59db");
    }
    double waiting = lab_measure(lab, &chain, 0) / CHAIN_COPIES,
           single = lab_measure(lab, &alone, 0) / (CHAIN_COPIES * 8);
    if (waiting < 0 || single < 0 || waiting > 2.5)
        return 0;
    return single < 1.25 / facts->figures[MODEL_WIDTH] ? MODEL_ZEROES : MODEL_BREAKS;
}
