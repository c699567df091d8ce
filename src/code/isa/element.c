// SPDX-License-Identifier: MIT
/*
 * Element types from instruction bytes: prefixes, opcode map, opcode; ModRM only for x87.
 *
 * Called once for each memory instruction that an engine translates. The floating-point
 * instructions of SSE and AVX sit in regular places of their opcode maps, and the prefix says which
 * of ps, pd, ss, sd is meant, so some switches do what a table of two thousand entries would. What
 * decode.c calls untyped (moves of whole vectors, logic) is left out of them, and so are the few
 * for which Zydis gives no element type in the legacy encoding though it does with VEX (vex_only
 * below): equality of both ways is worth more than either of the two answers.
 *
 * Register forms are not distinguished from memory forms: they have no access to ask about.
 */
#include "isa/element.h"

enum prefix { PREFIX_NONE, PREFIX_66, PREFIX_F3, PREFIX_F2 }; /* as VEX.pp */

enum { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A };

struct opcode {
    uint8_t map, prefix, number, modrm;
    bool vex, wide; /* wide: VEX.W */
};

/* Sets of prefixes. */
enum {
    NP = 1 << PREFIX_NONE,
    P66 = 1 << PREFIX_66,
    PF3 = 1 << PREFIX_F3,
    PF2 = 1 << PREFIX_F2,
    SCALAR = PF3 | PF2,
    PACKED = NP | P66,
    ALL = SCALAR | PACKED,
};

/* ps, pd, ss, sd: single or double precision by the prefix, if it is among `prefixes`. */
static uint8_t by_prefix(const struct opcode *opcode, unsigned prefixes)
{
    if (!(prefixes >> opcode->prefix & 1))
        return 0;
    return opcode->prefix == PREFIX_66 || opcode->prefix == PREFIX_F2 ? 8 : 4;
}

/* Bytes of a float element, 0: not float. The same in the functions that follow. */
static uint8_t float_of_map_0f(const struct opcode *opcode)
{
    const unsigned vex_only = opcode->vex ? ALL : 0;
    switch (opcode->number) {
    case 0x10: /* movss, movsd */
    case 0x11: return by_prefix(opcode, SCALAR);
    case 0x12: /* movlpd, movsldup, movddup */
        return by_prefix(opcode, P66 | PF3 | (PF2 & vex_only));
    case 0x13: /* movlpd */
    case 0x17: /* movhpd */ return by_prefix(opcode, P66);
    case 0x14: /* unpcklps, unpcklpd, unpckhps, unpckhpd */
    case 0x15: return by_prefix(opcode, PACKED & vex_only);
    case 0x16: /* movhpd, movshdup */ return by_prefix(opcode, P66 | PF3);
    case 0x2d: /* cvtps2pi, cvtpd2pi, cvtss2si, cvtsd2si */
        return by_prefix(opcode, P66 | SCALAR | (NP & vex_only));
    case 0x2c: /* the same, truncating */
    case 0x51: /* square root */
    case 0x58: /* arithmetic */
    case 0x59:
    case 0x5a: /* conversions between precisions: the prefix gives the source's */
    case 0x5c:
    case 0x5d:
    case 0x5e:
    case 0x5f:
    case 0xc2: /* comparison */ return by_prefix(opcode, ALL);
    case 0x52: /* reciprocals: single precision only */
    case 0x53: return by_prefix(opcode, NP | PF3);
    case 0x2e: /* ucomis, comis */
    case 0x2f:
    case 0xc6: /* shufps, shufpd */ return by_prefix(opcode, PACKED);
    case 0x5b: /* cvtps2dq, cvttps2dq; without prefix the source is integer */
        return opcode->prefix == PREFIX_66 || opcode->prefix == PREFIX_F3 ? 4 : 0;
    case 0x7c: /* haddpd, haddps, hsub, addsub */
    case 0x7d:
    case 0xd0: return opcode->prefix == PREFIX_66 ? 8 : opcode->prefix == PREFIX_F2 ? 4 : 0;
    case 0xe6: /* cvttpd2dq, cvtpd2dq; with F3 the source is integer */
        return by_prefix(opcode, P66 | PF2);
    default: return 0;
    }
}

static uint8_t float_of_map_0f38(const struct opcode *opcode)
{
    const unsigned row = opcode->number >> 4, column = opcode->number & 15;
    if (opcode->prefix != PREFIX_66)
        return 0;
    if (!opcode->vex) /* blendvps, blendvpd */
        return opcode->number == 0x14 ? 4 : opcode->number == 0x15 ? 8 : 0;
    /* vgather of floats, fused multiply-add in its three operand orders */
    if (opcode->number == 0x92 || opcode->number == 0x93 ||
        ((row == 9 || row == 10 || row == 11) && column >= 6))
        return opcode->wide ? 8 : 4;
    switch (opcode->number) {
    case 0x13: /* vcvtph2ps */ return 2;
    case 0x16: /* vpermps */
    case 0x18: /* vbroadcastss */
    case 0x2c: /* vmaskmovps */
    case 0x2e: return 4;
    case 0x19: /* vbroadcastsd */
    case 0x2d: /* vmaskmovpd */
    case 0x2f: return 8;
    default: return 0;
    }
}

/* Even opcodes are single precision, odd ones double. */
static uint8_t float_of_map_0f3a(const struct opcode *opcode)
{
    const uint8_t by_parity = opcode->number & 1 ? 8 : 4;
    const unsigned row = opcode->number >> 4, column = opcode->number & 15;
    if (opcode->prefix != PREFIX_66)
        return 0;
    switch (opcode->number) {
    case 0x08: /* roundps, roundpd */
    case 0x09:
    case 0x0c: /* blendps, blendpd */
    case 0x0d:
    case 0x40: /* dpps, dppd */
    case 0x41: return by_parity;
    default: break;
    }
    if (!opcode->vex)
        return 0;
    if ((row == 5 && column >= 12) || ((row == 6 || row == 7) && column >= 8))
        return by_parity; /* FMA4 */
    switch (opcode->number) {
    case 0x01: /* vpermpd */ return 8;
    case 0x04: /* vpermilps, vpermilpd with immediate */
    case 0x05:
    case 0x0a: /* vroundss, vroundsd */
    case 0x0b:
    case 0x48: /* vpermil2ps, vpermil2pd */
    case 0x49:
    case 0x4a: /* vblendvps, vblendvpd */
    case 0x4b: return by_parity;
    case 0x17: /* vextractps */
    case 0x21: /* vinsertps */ return 4;
    case 0x1d: /* vcvtps2ph */ return 2;
    default: return 0;
    }
}

/* x87: bytes by ModRM.reg for each of the opcodes D8 to DF. */
static uint8_t float_of_x87(const struct opcode *opcode)
{
    static const uint8_t bytes[8][8] = {
        {4, 4, 4, 4, 4, 4, 4, 4},   /* fadd, fmul, fcom, ... m32 */
        {4, 0, 4, 4, 0, 0, 0, 0},   /* fld, fst, fstp m32; environment, control word */
        {0},                        /* fiadd, ... m32 */
        {0, 0, 0, 0, 0, 10, 0, 10}, /* fild, fist, ...; fld, fstp m80 */
        {8, 8, 8, 8, 8, 8, 8, 8},   /* fadd, ... m64 */
        {8, 0, 8, 8, 0, 0, 0, 0},   /* fld, fst, fstp m64; state, status word */
        {0},                        /* fiadd, ... m16 */
        {0},                        /* fild, fist, fbld, fbstp */
    };
    return bytes[opcode->number - 0xd8][opcode->modrm >> 3 & 7];
}

static uint8_t float_bytes(const struct opcode *opcode)
{
    switch (opcode->map) {
    case MAP_ONE_BYTE:
        return opcode->number >= 0xd8 && opcode->number <= 0xdf ? float_of_x87(opcode) : 0;
    case MAP_0F: return float_of_map_0f(opcode);
    case MAP_0F38: return float_of_map_0f38(opcode);
    case MAP_0F3A: return float_of_map_0f3a(opcode);
    default: return 0;
    }
}

/* Skips the prefixes; false: nothing follows. The last of F2 and F3 counts, and each of them
 * beats 66. */
static bool skip_prefixes(const uint8_t *code, size_t bytes, size_t *at, enum prefix *prefix)
{
    *prefix = PREFIX_NONE;
    for (*at = 0; *at < bytes; ++*at) {
        switch (code[*at]) {
        case 0x66:
            if (*prefix == PREFIX_NONE)
                *prefix = PREFIX_66;
            break;
        case 0xf2: *prefix = PREFIX_F2; break;
        case 0xf3: *prefix = PREFIX_F3; break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
        case 0x67:
        case 0xf0: break;
        default:
            if ((code[*at] & 0xf0) != 0x40) /* REX, which no map needs */
                return true;
        }
    }
    return false;
}

/* The bytes after the prefixes. False: too short, or an encoding without floats (EVEX
 * is not ours). */
static bool parse(const uint8_t *code, size_t bytes, struct opcode *opcode)
{
    size_t at;
    enum prefix prefix;
    if (!skip_prefixes(code, bytes, &at, &prefix) || bytes - at < 2)
        return false;
    const uint8_t first = code[at];
    code += at;
    bytes -= at;
    *opcode = (struct opcode){.prefix = (uint8_t)prefix, .vex = first == 0xc4 || first == 0xc5};
    size_t number = 0; /* where the opcode is */
    if (first == 0xc5) {
        number = 2;
        opcode->map = MAP_0F;
        opcode->prefix = code[1] & 3;
    } else if (first == 0xc4) {
        if (bytes < 3)
            return false;
        number = 3;
        opcode->map = code[1] & 31;
        opcode->prefix = code[2] & 3;
        opcode->wide = code[2] >> 7;
    } else if (first == 0x0f) {
        number = code[1] == 0x38 || code[1] == 0x3a ? 2 : 1;
        opcode->map = number == 1 ? MAP_0F : code[1] == 0x38 ? MAP_0F38 : MAP_0F3A;
    }
    if (bytes < number + 2)
        return false;
    if (opcode->vex && opcode->map == MAP_ONE_BYTE)
        return false;
    opcode->number = code[number];
    opcode->modrm = code[number + 1];
    return true;
}

struct isa_element_type isa_element_type(const uint8_t *instruction, size_t bytes,
                                         uint32_t access_bytes)
{
    struct opcode opcode;
    const uint8_t element = parse(instruction, bytes, &opcode) ? float_bytes(&opcode) : 0;
    if (element && access_bytes % element == 0)
        return (struct isa_element_type){.is_float = true, .bytes = element};
    struct isa_element_type integer = {.is_float = false, .bytes = 8};
    while (access_bytes % integer.bytes)
        integer.bytes /= 2;
    return integer;
}

bool isa_is_evex(const uint8_t *instruction, size_t bytes)
{
    size_t at;
    enum prefix prefix;
    return skip_prefixes(instruction, bytes, &at, &prefix) && instruction[at] == 0x62;
}
