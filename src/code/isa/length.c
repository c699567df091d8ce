// SPDX-License-Identifier: MIT
/*
 * Instruction lengths from opcode tables, without decoding. Walking from a
 * function's start to a trap must not take milliseconds inside a handler, and
 * needs nothing but lengths: this is ~20 times faster than a full decode.
 *
 * Covers legacy, VEX, EVEX, XOP and 3DNow! encodings in 64-bit mode. It does not check
 * that an encoding exists, only how long it would be; the caller decodes
 * what it uses. Signal-safe, no state.
 */
#include "isa/isa.h"

/* One letter an opcode: what follows it. */
enum {
    ALONE = '.',   /* nothing                                   */
    MODRM = 'm',   /* ModRM and what it asks for                */
    MODRM_8 = 'b', /* ModRM, 1-byte immediate                   */
    MODRM_Z = 'z', /* ModRM, 2- or 4-byte immediate             */
    IMM_8 = '1',   /* 1-byte immediate or offset                */
    IMM_16 = '2',  /* 2 bytes                                   */
    IMM_24 = '3',  /* enter                                     */
    IMM_Z = '4',   /* 2 or 4 bytes by operand size              */
    REL_32 = 'r',  /* 4 bytes, whatever the operand size        */
    IMM_V = 'v',   /* mov immediate: 2, 4 or 8 bytes            */
    OFFSET = 'o',  /* moffs: 8 bytes, 4 with 67                 */
    TEST_8 = 't',  /* group 3: immediate only for /0 and /1     */
    TEST_Z = 'T',
    NONE = 'x',   /* does not exist in 64-bit mode             */
    PREFIX = 'p', /* handled before the table is asked         */
};

/* Rows of 16 opcodes. */
static const char one_byte[] = "mmmm14xxmmmm14xp"  /* 00 */
                               "mmmm14xxmmmm14xx"  /* 10 */
                               "mmmm14pxmmmm14px"  /* 20 */
                               "mmmm14pxmmmm14px"  /* 30 */
                               "pppppppppppppppp"  /* 40 */
                               "................"  /* 50 */
                               "xxxmpppp4z1b...."  /* 60 */
                               "1111111111111111"  /* 70 */
                               "bzxbmmmmmmmmmmmm"  /* 80 */
                               "..........x....."  /* 90 */
                               "oooo....14......"  /* A0 */
                               "11111111vvvvvvvv"  /* B0 */
                               "bb2.ppbz3.2..1x."  /* C0 */
                               "mmmmxxx.mmmmmmmm"  /* D0 */
                               "11111111rrx1...."  /* E0 */
                               "p.pp..tT......mm"; /* F0 */

static const char two_byte[] = "mmmmx.....x.xm.b"  /* 0F 00 */
                               "mmmmmmmmmmmmmmmm"  /* 10 */
                               "1111xxxxmmmmmmmm"  /* 20 */
                               "......x.pxpxxxxx"  /* 30 */
                               "mmmmmmmmmmmmmmmm"  /* 40 */
                               "mmmmmmmmmmmmmmmm"  /* 50 */
                               "mmmmmmmmmmmmmmmm"  /* 60 */
                               "bbbbmmm.mmmmmmmm"  /* 70 */
                               "rrrrrrrrrrrrrrrr"  /* 80 */
                               "mmmmmmmmmmmmmmmm"  /* 90 */
                               "...mbmxx...mbmmm"  /* A0 */
                               "mmmmmmmmmmbmmmmm"  /* B0 */
                               "mmbmbbbm........"  /* C0 */
                               "mmmmmmmmmmmmmmmm"  /* D0 */
                               "mmmmmmmmmmmmmmmm"  /* E0 */
                               "mmmmmmmmmmmmmmmm"; /* F0 */

struct cursor {
    const uint8_t *code;
    size_t available, at;
    bool operand_16, address_32, wide; /* prefixes 66, 67, REX.W */
    unsigned relative;                 /* offset of a displacement relative to rip; 0: none */
};

static bool is_legacy_prefix(uint8_t byte)
{
    switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3: return true;
    default: return false;
    }
}

/* Bytes of ModRM, SIB and displacement; 0 if cut off. */
static unsigned modrm_bytes(const struct cursor *cursor)
{
    if (cursor->at >= cursor->available)
        return 0;
    uint8_t modrm = cursor->code[cursor->at];
    unsigned mod = modrm >> 6, rm = modrm & 7, bytes = 1;
    if (mod == 3)
        return bytes;
    if (rm == 4) {
        if (cursor->at + 1 >= cursor->available)
            return 0;
        bytes++;
        if (mod == 0 && (cursor->code[cursor->at + 1] & 7) == 5)
            return bytes + 4;
    } else if (mod == 0 && rm == 5) {
        return bytes + 4;
    }
    return bytes + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

static unsigned immediate_bytes(const struct cursor *cursor, char form)
{
    unsigned z = cursor->operand_16 && !cursor->wide ? 2 : 4;
    bool tests = cursor->at < cursor->available && !(cursor->code[cursor->at] >> 3 & 6);
    switch (form) {
    case MODRM_8:
    case IMM_8: return 1;
    case MODRM_Z:
    case IMM_Z: return z;
    case IMM_16: return 2;
    case IMM_24: return 3;
    case REL_32: return 4;
    case IMM_V: return cursor->wide ? 8 : z;
    case OFFSET: return cursor->address_32 ? 4 : 8;
    case TEST_8: return tests ? 1 : 0;
    case TEST_Z: return tests ? z : 0;
    default: return 0;
    }
}

static bool has_modrm(char form)
{
    return form == MODRM || form == MODRM_8 || form == MODRM_Z || form == TEST_8 || form == TEST_Z;
}

/* The whole length, the cursor standing behind the opcode. */
static unsigned finish(struct cursor *cursor, char form)
{
    size_t length = cursor->at + immediate_bytes(cursor, form);
    if (form == NONE || form == PREFIX)
        return 0;
    if (has_modrm(form)) {
        unsigned bytes = modrm_bytes(cursor);
        if (bytes == 0)
            return 0;
        length += bytes;
        if ((cursor->code[cursor->at] & 0xc7) == 5)
            cursor->relative = (unsigned)cursor->at + 1;
    }
    return length <= cursor->available && length <= ISA_MAX_LENGTH ? (unsigned)length : 0;
}

/* map: 1 is 0F, 2 is 0F38, 3 is 0F3A; 5 and 6 are AVX512-FP16's. */
static char vector_form(unsigned map, uint8_t opcode)
{
    if (map == 3)
        return MODRM_8;
    if (map != 1)
        return map == 2 || map == 5 || map == 6 ? MODRM : NONE;
    if (opcode == 0x77)
        return ALONE;
    return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
                   (opcode >= 0xc4 && opcode <= 0xc6)
               ? MODRM_8
               : MODRM;
}

/* VEX, EVEX and XOP: payload bytes stand between the escape and the opcode. */
static unsigned finish_vector(struct cursor *cursor, uint8_t escape)
{
    unsigned payload = escape == 0xc5 ? 1 : escape == 0x62 ? 3 : 2;
    if (cursor->at + payload >= cursor->available)
        return 0;
    const uint8_t *bytes = cursor->code + cursor->at;
    unsigned map = escape == 0xc5 ? 1 : escape == 0x62 ? bytes[0] & 7 : bytes[0] & 0x1f;
    uint8_t opcode = bytes[payload];
    cursor->at += payload + 1;
    if (escape != 0x8f)
        return finish(cursor, vector_form(map, opcode));
    if (map == 10) { /* XOP map A: a 4-byte immediate */
        cursor->operand_16 = false;
        return finish(cursor, MODRM_Z);
    }
    return finish(cursor, map == 8 ? MODRM_8 : MODRM);
}

static unsigned finish_two_byte(struct cursor *cursor)
{
    if (cursor->at >= cursor->available)
        return 0;
    uint8_t opcode = cursor->code[cursor->at++];
    if (opcode != 0x38 && opcode != 0x3a)
        return finish(cursor, two_byte[opcode]);
    if (cursor->at >= cursor->available)
        return 0;
    cursor->at++;
    return finish(cursor, opcode == 0x38 ? MODRM : MODRM_8);
}

static unsigned measure(struct cursor *cursor)
{
    const uint8_t *code = cursor->code;
    if (cursor->available > ISA_MAX_LENGTH)
        cursor->available = ISA_MAX_LENGTH;
    while (cursor->at < cursor->available) {
        uint8_t byte = code[cursor->at++];
        if (is_legacy_prefix(byte)) {
            cursor->operand_16 |= byte == 0x66;
            cursor->address_32 |= byte == 0x67;
            cursor->wide = false; /* REX counts only right before the opcode */
            continue;
        }
        if ((byte & 0xf0) == 0x40) {
            cursor->wide = byte & 8;
            continue;
        }
        if (byte == 0x0f)
            return finish_two_byte(cursor);
        bool xop = byte == 0x8f && cursor->at < cursor->available && (code[cursor->at] & 0x1f) >= 8;
        if (byte == 0xc4 || byte == 0xc5 || byte == 0x62 || xop)
            return finish_vector(cursor, byte);
        return finish(cursor, one_byte[byte]);
    }
    return 0;
}

unsigned isa_length(const uint8_t *code, size_t available)
{
    struct cursor cursor = {.code = code, .available = available};
    return measure(&cursor);
}

unsigned isa_relative_operand(const uint8_t *code, size_t available)
{
    struct cursor cursor = {.code = code, .available = available};
    return measure(&cursor) ? cursor.relative : 0;
}
