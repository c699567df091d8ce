// SPDX-License-Identifier: MIT
/*
 * Integer instructions: results and flags bit for bit, as far as inputs are
 * known. Flags that the manuals call undefined become unknown. Signal-safe;
 * state is the machine's.
 */
#include "forecast/machine.h"

static unsigned width(const struct entry *entry)
{
    return entry->operation.operands[0].bytes;
}

static bool top_bit(uint64_t bits, unsigned bytes)
{
    return bits >> (8 * bytes - 1) & 1;
}

/* ZF, SF, PF of a result. */
static uint64_t result_flags(uint64_t result, unsigned bytes)
{
    uint64_t flags = 0;
    result &= machine_mask(bytes);
    if (result == 0)
        flags |= FLAG_ZERO;
    if (top_bit(result, bytes))
        flags |= FLAG_SIGN;
    if (!__builtin_parity((unsigned)(result & 0xff)))
        flags |= FLAG_PARITY;
    return flags;
}

static uint64_t flag_if(bool condition, uint64_t flag)
{
    return condition ? flag : 0;
}

static uint64_t add_flags(uint64_t a, uint64_t b, uint64_t result, unsigned bytes)
{
    uint64_t carries = (a & b) | ((a | b) & ~result); /* carry out of every bit */
    return result_flags(result, bytes) | flag_if(top_bit(carries, bytes), FLAG_CARRY) |
           flag_if(carries >> 3 & 1, FLAG_ADJUST) |
           flag_if(top_bit((a ^ result) & (b ^ result), bytes), FLAG_OVERFLOW);
}

static uint64_t sub_flags(uint64_t a, uint64_t b, uint64_t result, unsigned bytes)
{
    uint64_t borrows = (~a & b) | ((~a | b) & result);
    return result_flags(result, bytes) | flag_if(top_bit(borrows, bytes), FLAG_CARRY) |
           flag_if(borrows >> 3 & 1, FLAG_ADJUST) |
           flag_if(top_bit((a ^ b) & (a ^ result), bytes), FLAG_OVERFLOW);
}

/* sub r,r, xor r,r, sbb r,r and cmp r,r depend on no register. */
static bool same_register(const struct entry *entry)
{
    const struct isa_operand *o = entry->operation.operands;
    return o[0].kind == ISA_GENERAL && o[1].kind == ISA_GENERAL && o[0].number == o[1].number &&
           o[0].shift == o[1].shift;
}

static bool add_or_subtract(struct machine *machine, const struct entry *entry)
{
    uint8_t code = entry->operation.code;
    unsigned bytes = width(entry);
    bool carries = code == ISA_DO_ADC || code == ISA_DO_SBB;
    bool adds = code == ISA_DO_ADD || code == ISA_DO_ADC;
    struct value a = machine_read(machine, entry, 0), b = machine_read(machine, entry, 1);
    if (!adds && same_register(entry))
        a = b = (struct value){0, true};
    if (!a.known || !b.known || (carries && !(machine->flags_known & FLAG_CARRY)))
        return false;
    uint64_t carry = carries ? machine->flags & FLAG_CARRY : 0;
    b.bits &= machine_mask(bytes);
    uint64_t result = adds ? a.bits + b.bits + carry : a.bits - b.bits - carry;
    uint64_t flags =
        adds ? add_flags(a.bits, b.bits, result, bytes) : sub_flags(a.bits, b.bits, result, bytes);
    if (code != ISA_DO_CMP)
        machine_write(machine, entry, 0, (struct value){result, true});
    machine_set_flags(machine, entry, FLAGS_ARITHMETIC, flags);
    return true;
}

static bool logic(struct machine *machine, const struct entry *entry)
{
    uint8_t code = entry->operation.code;
    struct value a = machine_read(machine, entry, 0), b = machine_read(machine, entry, 1);
    if (code == ISA_DO_ANDN) {
        a = b;
        a.bits = ~a.bits;
        b = machine_read(machine, entry, 2);
    } else if (code == ISA_DO_XOR && same_register(entry)) {
        a = b = (struct value){0, true};
    } else if (code == ISA_DO_AND && b.known && b.bits == 0) {
        a = b;
    }
    if (!a.known || !b.known)
        return false;
    uint64_t result = code == ISA_DO_OR    ? a.bits | b.bits
                      : code == ISA_DO_XOR ? a.bits ^ b.bits
                                           : a.bits & b.bits;
    if (code != ISA_DO_TEST)
        machine_write(machine, entry, 0, (struct value){result, true});
    uint32_t parity = code == ISA_DO_ANDN ? FLAG_PARITY : 0; /* which andn leaves undefined */
    machine_set_flags(machine, entry, (FLAGS_RESULT & ~parity) | FLAG_CARRY | FLAG_OVERFLOW,
                      result_flags(result, width(entry)));
    return true;
}

static bool unary(struct machine *machine, const struct entry *entry)
{
    uint8_t code = entry->operation.code;
    unsigned bytes = width(entry);
    struct value a = machine_read(machine, entry, 0);
    if (!a.known)
        return false;
    uint64_t result = code == ISA_DO_INC   ? a.bits + 1
                      : code == ISA_DO_DEC ? a.bits - 1
                      : code == ISA_DO_NEG ? -a.bits
                                           : ~a.bits;
    machine_write(machine, entry, 0, (struct value){result, true});
    uint32_t defined = FLAGS_ARITHMETIC;
    if (code == ISA_DO_NOT)
        return true;
    if (code != ISA_DO_NEG)
        defined &= ~(uint32_t)FLAG_CARRY; /* inc and dec keep it */
    machine_set_flags(machine, entry, defined,
                      code == ISA_DO_INC   ? add_flags(a.bits, 1, result, bytes)
                      : code == ISA_DO_DEC ? sub_flags(a.bits, 1, result, bytes)
                                           : sub_flags(0, a.bits, result, bytes));
    return true;
}

/* ---- shifts ---- */

static bool shift(struct machine *machine, const struct entry *entry)
{
    uint8_t code = entry->operation.code;
    unsigned bytes = width(entry), bits = 8 * bytes;
    struct value a = machine_read(machine, entry, 0), by = machine_read(machine, entry, 1);
    if (!by.known)
        return false;
    unsigned count = (unsigned)by.bits & (bytes == 8 ? 63 : 31);
    if (count == 0) { /* no flag changes; a 32-bit destination is still zero-extended */
        machine_write(machine, entry, 0, a);
        return true;
    }
    if (!a.known)
        return false;
    uint64_t result, last; /* last: the bit shifted out last */
    if (code == ISA_DO_SHL) {
        result = a.bits << count;
        last = count <= bits ? a.bits >> (bits - count) & 1 : 0;
    } else {
        uint64_t from = code == ISA_DO_SAR ? machine_extend(a.bits, bytes) : a.bits;
        bool sign = code == ISA_DO_SAR && top_bit(a.bits, bytes);
        result = code == ISA_DO_SAR ? (uint64_t)((int64_t)from >> count) : from >> count;
        last = count <= bits ? from >> (count - 1) & 1 : sign;
    }
    bool overflow = code == ISA_DO_SHL   ? top_bit(result, bytes) ^ last
                    : code == ISA_DO_SHR ? top_bit(a.bits, bytes)
                                         : false;
    /* Shifting narrow operands by their width or more leaves the carry undefined. */
    uint32_t defined = FLAGS_RESULT | (count == 1 ? FLAG_OVERFLOW : 0) |
                       (count < bits || code == ISA_DO_SAR ? FLAG_CARRY : 0);
    machine_write(machine, entry, 0, (struct value){result, true});
    machine_set_flags(machine, entry, defined,
                      result_flags(result, bytes) | flag_if(last, FLAG_CARRY) |
                          flag_if(overflow, FLAG_OVERFLOW));
    return true;
}

static bool rotate(struct machine *machine, const struct entry *entry)
{
    bool left = entry->operation.code == ISA_DO_ROL;
    unsigned bytes = width(entry), bits = 8 * bytes;
    struct value a = machine_read(machine, entry, 0), by = machine_read(machine, entry, 1);
    if (!by.known)
        return false;
    unsigned masked = (unsigned)by.bits & (bytes == 8 ? 63 : 31), count = masked % bits;
    if (masked == 0) {
        machine_write(machine, entry, 0, a);
        return true;
    }
    if (!a.known)
        return false;
    unsigned leftwards = left ? count : (bits - count) % bits;
    uint64_t result = a.bits;
    if (leftwards)
        result = (a.bits << leftwards | a.bits >> (bits - leftwards)) & machine_mask(bytes);
    bool carry = left ? result & 1 : top_bit(result, bytes);
    bool overflow =
        left ? top_bit(result, bytes) ^ carry : top_bit(result, bytes) ^ (result >> (bits - 2) & 1);
    machine_write(machine, entry, 0, (struct value){result, true});
    machine_set_flags(machine, entry, FLAG_CARRY | (masked == 1 ? FLAG_OVERFLOW : 0),
                      flag_if(carry, FLAG_CARRY) | flag_if(overflow, FLAG_OVERFLOW));
    return true;
}

static bool shift_double(struct machine *machine, const struct entry *entry)
{
    bool left = entry->operation.code == ISA_DO_SHLD;
    unsigned bytes = width(entry), bits = 8 * bytes;
    struct value a = machine_read(machine, entry, 0), b = machine_read(machine, entry, 1);
    struct value by = machine_read(machine, entry, 2);
    if (!by.known)
        return false;
    unsigned count = (unsigned)by.bits & (bytes == 8 ? 63 : 31);
    if (count == 0) {
        machine_write(machine, entry, 0, a);
        return true;
    }
    if (!a.known || !b.known || count >= bits) /* beyond the width all is undefined */
        return false;
    uint64_t result = left ? a.bits << count | b.bits >> (bits - count)
                           : a.bits >> count | b.bits << (bits - count);
    result &= machine_mask(bytes);
    bool last = left ? a.bits >> (bits - count) & 1 : a.bits >> (count - 1) & 1;
    bool overflow = top_bit(result ^ a.bits, bytes);
    machine_write(machine, entry, 0, (struct value){result, true});
    machine_set_flags(machine, entry, FLAGS_RESULT | FLAG_CARRY | (count == 1 ? FLAG_OVERFLOW : 0),
                      result_flags(result, bytes) | flag_if(last, FLAG_CARRY) |
                          flag_if(overflow, FLAG_OVERFLOW));
    return true;
}

static bool shift_without_flags(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = width(entry), bits = 8 * bytes;
    struct value a = machine_read(machine, entry, 1), by = machine_read(machine, entry, 2);
    if (!a.known || !by.known)
        return false;
    unsigned count = (unsigned)by.bits & (bits - 1);
    uint64_t result = a.bits;
    switch (entry->operation.code) {
    case ISA_DO_SHLX: result = a.bits << count; break;
    case ISA_DO_SHRX: result = a.bits >> count; break;
    case ISA_DO_SARX: result = (uint64_t)((int64_t)machine_extend(a.bits, bytes) >> count); break;
    default: /* rorx */
        if (count)
            result = a.bits >> count | a.bits << (bits - count);
        break;
    }
    machine_write(machine, entry, 0, (struct value){result, true});
    return true;
}

/* ---- multiplication and division ---- */

static bool multiply(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = width(entry);
    bool three =
        entry->operation.operand_count >= 3 && entry->operation.operands[2].kind == ISA_IMMEDIATE;
    struct value a = machine_read(machine, entry, three ? 1 : 0);
    struct value b = machine_read(machine, entry, three ? 2 : 1);
    if (!a.known || !b.known)
        return false;
    __int128 product =
        (__int128)(int64_t)machine_extend(a.bits, bytes) * (int64_t)machine_extend(b.bits, bytes);
    bool overflow = product != (int64_t)machine_extend((uint64_t)product, bytes);
    machine_write(machine, entry, 0, (struct value){(uint64_t)product, true});
    machine_set_flags(machine, entry, FLAG_CARRY | FLAG_OVERFLOW,
                      flag_if(overflow, FLAG_CARRY | FLAG_OVERFLOW));
    return true;
}

/* rdx:rax, or ax for bytes. */
static void set_wide(struct machine *machine, unsigned bytes, uint64_t low, uint64_t high)
{
    if (bytes == 1) {
        uint64_t both = (low & 0xff) | (high & 0xff) << 8;
        machine_set_general(machine, BASE_RAX, 2, (struct value){both, true});
        return;
    }
    machine_set_general(machine, BASE_RAX, bytes, (struct value){low, true});
    machine_set_general(machine, BASE_RDX, bytes, (struct value){high, true});
}

static bool multiply_wide(struct machine *machine, const struct entry *entry)
{
    bool is_signed = entry->operation.code == ISA_DO_IMUL_WIDE;
    unsigned bytes = width(entry);
    struct value a = machine_general(machine, BASE_RAX, bytes);
    struct value b = machine_read(machine, entry, 0);
    if (!a.known || !b.known)
        return false;
    unsigned __int128 product = (unsigned __int128)a.bits * b.bits;
    if (is_signed)
        product = (unsigned __int128)((__int128)(int64_t)machine_extend(a.bits, bytes) *
                                      (int64_t)machine_extend(b.bits, bytes));
    uint64_t low = (uint64_t)product & machine_mask(bytes);
    uint64_t high = (uint64_t)(product >> (8 * bytes)) & machine_mask(bytes);
    uint64_t expected = is_signed && top_bit(low, bytes) ? machine_mask(bytes) : 0;
    set_wide(machine, bytes, low, high);
    machine_set_flags(machine, entry, FLAG_CARRY | FLAG_OVERFLOW,
                      flag_if(high != expected, FLAG_CARRY | FLAG_OVERFLOW));
    return true;
}

static bool multiply_without_flags(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = width(entry);
    struct value a = machine_general(machine, BASE_RDX, bytes);
    struct value b = machine_read(machine, entry, 2);
    if (!a.known || !b.known)
        return false;
    unsigned __int128 product = (unsigned __int128)a.bits * b.bits;
    uint64_t high = (uint64_t)(product >> (8 * bytes));
    machine_write(machine, entry, 1, (struct value){(uint64_t)product, true});
    machine_write(machine, entry, 0, (struct value){high, true}); /* wins if both are one */
    return true;
}

/* 128 by 64 bits without the compiler's library, which the agent does not link. high < divisor. */
static void divide_wide(uint64_t high, uint64_t low, uint64_t divisor, uint64_t *quotient,
                        uint64_t *remainder)
{
    __asm__("divq %4"
            : "=a"(*quotient), "=d"(*remainder)
            : "a"(low), "d"(high), "r"(divisor)
            : "cc");
}

static bool divide_unsigned(uint64_t high, uint64_t low, uint64_t divisor, unsigned bytes,
                            uint64_t *quotient, uint64_t *remainder)
{
    if (high >= divisor)
        return false; /* zero or overflow: the program will get a signal */
    if (bytes == 8) {
        divide_wide(high, low, divisor, quotient, remainder);
    } else {
        uint64_t dividend = high << (8 * bytes) | low;
        *quotient = dividend / divisor;
        *remainder = dividend % divisor;
    }
    return true;
}

static bool divide_signed(uint64_t high, uint64_t low, uint64_t divisor, unsigned bytes,
                          uint64_t *quotient, uint64_t *remainder)
{
    uint64_t mask = machine_mask(bytes);
    bool negative = top_bit(high, bytes), flips = negative ^ top_bit(divisor, bytes);
    if (negative) {
        high = (~high + (low == 0)) & mask;
        low = -low & mask;
    }
    if (top_bit(divisor, bytes))
        divisor = -divisor & mask;
    uint64_t q, r, limit = (UINT64_C(1) << (8 * bytes - 1)) - !flips;
    if (!divide_unsigned(high, low, divisor, bytes, &q, &r) || q > limit)
        return false;
    *quotient = flips ? -q : q;
    *remainder = negative ? -r : r;
    return true;
}

static bool divide(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = width(entry);
    struct value divisor = machine_read(machine, entry, 0);
    struct value low = machine_general(machine, BASE_RAX, bytes);
    struct value high = machine_general(machine, BASE_RDX, bytes);
    if (bytes == 1) {
        struct value both = machine_general(machine, BASE_RAX, 2);
        low = (struct value){both.bits & 0xff, both.known};
        high = (struct value){both.bits >> 8, both.known};
    }
    if (!divisor.known || !low.known || !high.known)
        return false;
    uint64_t quotient, remainder;
    bool is_signed = entry->operation.code == ISA_DO_IDIV;
    if (!(is_signed ? divide_signed : divide_unsigned)(high.bits, low.bits, divisor.bits, bytes,
                                                       &quotient, &remainder))
        return false;
    set_wide(machine, bytes, quotient, remainder);
    machine_set_flags(machine, entry, 0, 0);
    return true;
}

/* ---- bits ---- */

static bool bit_test(struct machine *machine, const struct entry *entry)
{
    unsigned bits = 8 * width(entry);
    struct value a = machine_read(machine, entry, 0), by = machine_read(machine, entry, 1);
    if (!a.known || !by.known)
        return false;
    uint64_t bit = UINT64_C(1) << (by.bits & (bits - 1));
    uint64_t result = entry->operation.code == ISA_DO_BTS   ? a.bits | bit
                      : entry->operation.code == ISA_DO_BTR ? a.bits & ~bit
                                                            : a.bits ^ bit;
    if (entry->operation.code != ISA_DO_BT)
        machine_write(machine, entry, 0, (struct value){result, true});
    /* ZF is untouched; the others are undefined. */
    machine_set_flags(machine, entry, FLAG_CARRY, flag_if(a.bits & bit, FLAG_CARRY));
    return true;
}

static bool bit_scan(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = width(entry), bits = 8 * bytes;
    uint8_t code = entry->operation.code;
    struct value a = machine_read(machine, entry, 1);
    if (!a.known)
        return false;
    unsigned from_low = a.bits ? (unsigned)__builtin_ctzll(a.bits) : bits;
    unsigned from_high = a.bits ? (unsigned)__builtin_clzll(a.bits) - (64 - bits) : bits;
    if (code == ISA_DO_BSF || code == ISA_DO_BSR) {
        /* Of zero: processors keep the destination, manuals leave it undefined. */
        struct value result = {code == ISA_DO_BSF ? from_low : bits - 1 - from_high, a.bits != 0};
        machine_write(machine, entry, 0, result);
        machine_set_flags(machine, entry, FLAG_ZERO, flag_if(a.bits == 0, FLAG_ZERO));
        return true;
    }
    uint64_t result = code == ISA_DO_TZCNT ? from_low : from_high;
    machine_write(machine, entry, 0, (struct value){result, true});
    machine_set_flags(machine, entry, FLAG_ZERO | FLAG_CARRY,
                      flag_if(result == 0, FLAG_ZERO) | flag_if(a.bits == 0, FLAG_CARRY));
    return true;
}

static bool count_bits(struct machine *machine, const struct entry *entry)
{
    struct value a = machine_read(machine, entry, 1);
    if (!a.known)
        return false;
    uint64_t result = 0; /* __builtin_popcount may call the compiler's library */
    for (uint64_t rest = a.bits; rest; rest &= rest - 1)
        result++;
    machine_write(machine, entry, 0, (struct value){result, true});
    machine_set_flags(machine, entry, FLAGS_ARITHMETIC, flag_if(a.bits == 0, FLAG_ZERO));
    return true;
}

static uint64_t deposit(uint64_t from, uint64_t mask)
{
    uint64_t out = 0;
    for (; mask; mask &= mask - 1, from >>= 1)
        out |= from & 1 ? mask & -mask : 0;
    return out;
}

static uint64_t extract(uint64_t from, uint64_t mask)
{
    uint64_t out = 0;
    for (unsigned at = 0; mask; mask &= mask - 1, at++)
        out |= from & mask & -mask ? UINT64_C(1) << at : 0;
    return out;
}

/* Bit fields by a second operand: bextr, bzhi, pdep, pext. */
static bool bit_field(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = width(entry), bits = 8 * bytes;
    struct value a = machine_read(machine, entry, 1), by = machine_read(machine, entry, 2);
    if (!a.known || !by.known)
        return false;
    unsigned start = by.bits & 0xff, count = by.bits >> 8 & 0xff;
    uint64_t result, flags = 0;
    uint32_t defined = FLAG_ZERO | FLAG_CARRY | FLAG_OVERFLOW;
    switch (entry->operation.code) {
    case ISA_DO_BEXTR:
        result = start < 64 ? a.bits >> start : 0;
        result &= count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
        break;
    case ISA_DO_BZHI:
        result = start < bits ? a.bits & ((UINT64_C(1) << start) - 1) : a.bits;
        flags = flag_if(start > bits - 1, FLAG_CARRY) | (result_flags(result, bytes) & FLAG_SIGN);
        defined |= FLAG_SIGN;
        break;
    case ISA_DO_PDEP:
        result = deposit(a.bits, by.bits);
        defined = 0;
        break;
    default:
        result = extract(a.bits, by.bits);
        defined = 0;
        break;
    }
    machine_write(machine, entry, 0, (struct value){result, true});
    machine_set_flags(machine, entry, defined, flags | flag_if(result == 0, FLAG_ZERO));
    return true;
}

/* blsr, blsi, blsmsk: work on the lowest set bit. */
static bool lowest_bit(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = width(entry);
    uint8_t code = entry->operation.code;
    struct value a = machine_read(machine, entry, 1);
    if (!a.known)
        return false;
    uint64_t result = code == ISA_DO_BLSR   ? a.bits & (a.bits - 1)
                      : code == ISA_DO_BLSI ? a.bits & -a.bits
                                            : a.bits ^ (a.bits - 1);
    result &= machine_mask(bytes);
    bool carry = code == ISA_DO_BLSI ? a.bits != 0 : a.bits == 0;
    machine_write(machine, entry, 0, (struct value){result, true});
    machine_set_flags(machine, entry, FLAG_ZERO | FLAG_SIGN | FLAG_CARRY | FLAG_OVERFLOW,
                      (result_flags(result, bytes) & (FLAG_ZERO | FLAG_SIGN)) |
                          flag_if(carry, FLAG_CARRY));
    return true;
}

/* ---- moves ---- */

static uint64_t swap_bytes(uint64_t bits, unsigned bytes)
{
    return __builtin_bswap64(bits) >> (64 - 8 * bytes);
}

static bool move(struct machine *machine, const struct entry *entry)
{
    const struct isa_operand *operands = entry->operation.operands;
    if ((operands[0].kind != ISA_GENERAL && operands[0].kind != ISA_MEMORY) ||
        operands[1].kind == ISA_ELSEWHERE)
        return false; /* segment, control, debug registers */
    struct value a = machine_read(machine, entry, 1);
    if (entry->operation.code == ISA_DO_MOVE_SIGNED)
        a.bits = machine_extend(a.bits, operands[1].bytes);
    else if (entry->operation.code == ISA_DO_MOVE_SWAPPED)
        a.bits = swap_bytes(a.bits, operands[1].bytes);
    machine_write(machine, entry, 0, a);
    return true;
}

static bool exchange(struct machine *machine, const struct entry *entry)
{
    struct value a = machine_read(machine, entry, 0), b = machine_read(machine, entry, 1);
    /* The memory operand first: its address may use the register. */
    unsigned memory = entry->operation.operands[1].kind == ISA_MEMORY;
    if (entry->operation.code == ISA_DO_XCHG) {
        machine_write(machine, entry, memory, memory ? a : b);
        machine_write(machine, entry, !memory, memory ? b : a);
        return true;
    }
    struct value sum = {a.bits + b.bits, a.known && b.known};
    if (!sum.known)
        return false;
    unsigned bytes = width(entry);
    machine_set_flags(machine, entry, FLAGS_ARITHMETIC, add_flags(a.bits, b.bits, sum.bits, bytes));
    if (entry->operation.operands[0].kind == ISA_MEMORY) {
        machine_write(machine, entry, 0, sum);
        machine_write(machine, entry, 1, a);
    } else {
        machine_write(machine, entry, 1, a); /* xadd r,r: the sum wins */
        machine_write(machine, entry, 0, sum);
    }
    return true;
}

static bool compare_exchange(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = width(entry);
    struct value found = machine_read(machine, entry, 0);
    struct value wanted = machine_read(machine, entry, 1);
    struct value expected = machine_general(machine, BASE_RAX, bytes);
    if (!found.known || !expected.known)
        return false;
    uint64_t difference = expected.bits - found.bits;
    machine_set_flags(machine, entry, FLAGS_ARITHMETIC,
                      sub_flags(expected.bits, found.bits, difference, bytes));
    bool equal = expected.bits == found.bits;
    machine_write(machine, entry, 0, equal ? wanted : found); /* writes in both cases */
    if (!equal)
        machine_set_general(machine, BASE_RAX, bytes, found);
    return true;
}

static bool conditional(struct machine *machine, const struct entry *entry)
{
    int met = machine_condition(machine, entry->operation.condition);
    struct value result = {met == 1, met >= 0};
    if (entry->operation.code == ISA_DO_MOVE_IF) {
        struct value kept = machine_read(machine, entry, 0);
        struct value moved = machine_read(machine, entry, 1);
        result = met == 1 ? moved : kept;
        result.known &= met >= 0;
    }
    machine_write(machine, entry, 0, result);
    return true;
}

static bool sign_high(struct machine *machine, const struct entry *entry)
{
    unsigned bytes = width(entry);
    struct value a = machine_general(machine, BASE_RAX, bytes);
    a.bits = top_bit(a.bits, bytes) ? UINT64_MAX : 0;
    machine_set_general(machine, BASE_RDX, bytes, a);
    return true;
}

static bool set_flag(struct machine *machine, const struct entry *entry)
{
    switch (entry->operation.code) {
    case ISA_DO_CARRY_SET: machine_set_flags(machine, entry, FLAG_CARRY, FLAG_CARRY); break;
    case ISA_DO_CARRY_CLEAR: machine_set_flags(machine, entry, FLAG_CARRY, 0); break;
    case ISA_DO_CARRY_FLIP: machine->flags ^= FLAG_CARRY; break; /* unknown stays unknown */
    case ISA_DO_DIRECTION_CLEAR: machine_set_flags(machine, entry, FLAG_DIRECTION, 0); break;
    default: machine_set_flags(machine, entry, FLAG_DIRECTION, FLAG_DIRECTION); break;
    }
    return true;
}

static bool translate(struct machine *machine, const struct entry *entry)
{
    struct value loaded = machine_load_value(machine, machine_address(machine, entry, 0), 1);
    machine_set_general(machine, BASE_RAX, 1, loaded);
    return true;
}

static bool swap(struct machine *machine, const struct entry *entry)
{
    struct value a = machine_read(machine, entry, 0);
    a.bits = swap_bytes(a.bits, width(entry));
    a.known &= width(entry) >= 4; /* of 16 bits: undefined */
    machine_write(machine, entry, 0, a);
    return true;
}

bool integer_step(struct machine *machine, const struct entry *entry)
{
    switch (entry->operation.code) {
    case ISA_DO_NOTHING: return true;
    case ISA_DO_MOVE:
    case ISA_DO_MOVE_SIGNED:
    case ISA_DO_MOVE_SWAPPED:
    case ISA_DO_ADDRESS: return move(machine, entry);
    case ISA_DO_ADD:
    case ISA_DO_ADC:
    case ISA_DO_SUB:
    case ISA_DO_SBB:
    case ISA_DO_CMP: return add_or_subtract(machine, entry);
    case ISA_DO_INC:
    case ISA_DO_DEC:
    case ISA_DO_NEG:
    case ISA_DO_NOT: return unary(machine, entry);
    case ISA_DO_AND:
    case ISA_DO_OR:
    case ISA_DO_XOR:
    case ISA_DO_TEST:
    case ISA_DO_ANDN: return logic(machine, entry);
    case ISA_DO_SHL:
    case ISA_DO_SHR:
    case ISA_DO_SAR: return shift(machine, entry);
    case ISA_DO_ROL:
    case ISA_DO_ROR: return rotate(machine, entry);
    case ISA_DO_SHLD:
    case ISA_DO_SHRD: return shift_double(machine, entry);
    case ISA_DO_SHLX:
    case ISA_DO_SHRX:
    case ISA_DO_SARX:
    case ISA_DO_RORX: return shift_without_flags(machine, entry);
    case ISA_DO_IMUL: return multiply(machine, entry);
    case ISA_DO_IMUL_WIDE:
    case ISA_DO_MUL_WIDE: return multiply_wide(machine, entry);
    case ISA_DO_MULX: return multiply_without_flags(machine, entry);
    case ISA_DO_DIV:
    case ISA_DO_IDIV: return divide(machine, entry);
    case ISA_DO_SIGN_HIGH: return sign_high(machine, entry);
    case ISA_DO_BSWAP: return swap(machine, entry);
    case ISA_DO_BT:
    case ISA_DO_BTS:
    case ISA_DO_BTR:
    case ISA_DO_BTC: return bit_test(machine, entry);
    case ISA_DO_BSF:
    case ISA_DO_BSR:
    case ISA_DO_TZCNT:
    case ISA_DO_LZCNT: return bit_scan(machine, entry);
    case ISA_DO_POPCNT: return count_bits(machine, entry);
    case ISA_DO_BEXTR:
    case ISA_DO_BZHI:
    case ISA_DO_PDEP:
    case ISA_DO_PEXT: return bit_field(machine, entry);
    case ISA_DO_BLSR:
    case ISA_DO_BLSI:
    case ISA_DO_BLSMSK: return lowest_bit(machine, entry);
    case ISA_DO_XCHG:
    case ISA_DO_XADD: return exchange(machine, entry);
    case ISA_DO_CMPXCHG: return compare_exchange(machine, entry);
    case ISA_DO_SET:
    case ISA_DO_MOVE_IF: return conditional(machine, entry);
    case ISA_DO_CARRY_SET:
    case ISA_DO_CARRY_CLEAR:
    case ISA_DO_CARRY_FLIP:
    case ISA_DO_DIRECTION_CLEAR:
    case ISA_DO_DIRECTION_SET: return set_flag(machine, entry);
    case ISA_DO_TRANSLATE: return translate(machine, entry);
    default: return false;
    }
}
