// SPDX-License-Identifier: MIT
/*
 * isa: x86-64 instructions as the samplers need them: length, memory operands
 * with direction, width and element type, effective addresses, control flow,
 * and the instruction that caused a data trap.
 *
 * Freestanding and signal-safe after isa_start(): no allocation, no locks, no
 * writable global state but the decoder functions given once at start. Decoding
 * is Zydis'; its functions are injected so that the agent can load the library
 * into a private scope and never bind to a copy that the program brought along.
 * Everything here is 64-bit mode only.
 */
#ifndef HEADROOM_ISA_H
#define HEADROOM_ISA_H

#include "base/base.h"

enum { ISA_MAX_LENGTH = 15, ISA_MAX_ACCESSES = 4 };

/*
 * Gives isa the decoder: addresses of ZydisDecoderInit and
 * ZydisDecoderDecodeFull of Zydis 4.x. Call once before anything else and
 * before threads use isa. NULL arguments or a failing init: BASE_UNSUPPORTED.
 */
enum base_status isa_start(const void *zydis_decoder_init, const void *zydis_decoder_decode_full);

enum isa_direction { ISA_LOAD = 1, ISA_STORE = 2 }; /* bits: an access may be both */

enum isa_element { ISA_INTEGER, ISA_FLOAT };

/* One memory operand, explicit or implicit (push, call, movs, ...), in the order in which they
   happen. cmpxchg has two: its load, and its store if it succeeds. */
struct isa_access {
    uint8_t direction;     /* ISA_LOAD | ISA_STORE */
    int8_t base, index;    /* enum base_register, or -1 */
    uint8_t scale;         /* 1, 2, 4, 8; 0 without index */
    int64_t displacement;  /* for rip-relative operands: already the absolute address */
    uint8_t segment;       /* 0 none, 1 FS, 2 GS */
    uint8_t address_bits;  /* 64 or 32 */
    uint8_t element;       /* enum isa_element */
    uint8_t element_bytes; /* 1..16; equals bytes for scalars and untyped vectors */
    uint16_t bytes;        /* whole access (one iteration for string instructions) */
    bool conditional;      /* may not happen (masked moves, cmpxchg's store) */
    bool unaddressable;    /* gather/scatter, MPX, xsave...: address not computable here */
};

enum isa_flow {
    ISA_NEXT,   /* falls through */
    ISA_JUMP,   /* jmp; target in isa_insn.target unless indirect */
    ISA_BRANCH, /* jcc, loop, jrcxz; target and fall-through */
    ISA_CALL,
    ISA_RETURN,
    ISA_SYSCALL, /* syscall, sysenter, int n: kernel may touch anything */
    ISA_TRAP,    /* ud2, int3, hlt, ... */
};

struct isa_insn {
    uint64_t address;
    uint64_t target; /* direct branches: absolute target, else 0 */
    uint8_t length;  /* 1..15 */
    uint8_t flow;    /* enum isa_flow */
    bool indirect;   /* branch target in register or memory */
    bool repeated;   /* rep/repe/repne string instruction */
    uint8_t access_count;
    struct isa_access accesses[ISA_MAX_ACCESSES];
    uint32_t written;  /* bit r: general register r is written */
    uint16_t mnemonic; /* ZydisMnemonic */
};

/*
 * What an instruction computes, for interpreters (forecast). OTHER stands for
 * everything not named: its results are those in insn.written, flags_changed,
 * vectors_written, masks_written and its stores.
 */
enum isa_operation_code {
    ISA_DO_OTHER,
    ISA_DO_NOTHING,      /* nop, endbr, fences, prefetches, cache control */
    ISA_DO_MOVE,         /* zero-extends a narrower source: mov, movzx, movnti */
    ISA_DO_MOVE_SIGNED,  /* movsx, movsxd, cbw, cwde, cdqe */
    ISA_DO_MOVE_SWAPPED, /* movbe */
    ISA_DO_ADDRESS,      /* lea; operand 1 is ADDRESS, its parts in accesses[0] */
    ISA_DO_ADD,
    ISA_DO_ADC,
    ISA_DO_SUB,
    ISA_DO_SBB,
    ISA_DO_CMP,
    ISA_DO_INC,
    ISA_DO_DEC,
    ISA_DO_NEG,
    ISA_DO_NOT,
    ISA_DO_AND,
    ISA_DO_OR,
    ISA_DO_XOR,
    ISA_DO_TEST,
    ISA_DO_ANDN,
    ISA_DO_SHL,
    ISA_DO_SHR,
    ISA_DO_SAR,
    ISA_DO_ROL,
    ISA_DO_ROR,
    ISA_DO_SHLD,
    ISA_DO_SHRD,
    ISA_DO_SHLX,
    ISA_DO_SHRX,
    ISA_DO_SARX,
    ISA_DO_RORX,
    ISA_DO_IMUL, /* two or three operands; one operand: ISA_DO_IMUL_WIDE */
    ISA_DO_IMUL_WIDE,
    ISA_DO_MUL_WIDE,
    ISA_DO_MULX,
    ISA_DO_DIV,
    ISA_DO_IDIV,
    ISA_DO_SIGN_HIGH, /* cwd, cdq, cqo */
    ISA_DO_BSWAP,
    ISA_DO_BT,
    ISA_DO_BTS,
    ISA_DO_BTR,
    ISA_DO_BTC,
    ISA_DO_BSF,
    ISA_DO_BSR,
    ISA_DO_TZCNT,
    ISA_DO_LZCNT,
    ISA_DO_POPCNT,
    ISA_DO_BEXTR,
    ISA_DO_BZHI,
    ISA_DO_BLSR,
    ISA_DO_BLSI,
    ISA_DO_BLSMSK,
    ISA_DO_PDEP,
    ISA_DO_PEXT,
    ISA_DO_XCHG,
    ISA_DO_XADD,
    ISA_DO_CMPXCHG,
    ISA_DO_PUSH,
    ISA_DO_POP,
    ISA_DO_PUSH_FLAGS,
    ISA_DO_POP_FLAGS,
    ISA_DO_LEAVE,
    ISA_DO_CALL,
    ISA_DO_RETURN,
    ISA_DO_JUMP,
    ISA_DO_BRANCH,       /* jcc */
    ISA_DO_LOOP,         /* loop, loope (condition 4), loopne (condition 5) */
    ISA_DO_BRANCH_COUNT, /* jrcxz, jecxz */
    ISA_DO_SET,
    ISA_DO_MOVE_IF,
    ISA_DO_CARRY_SET,
    ISA_DO_CARRY_CLEAR,
    ISA_DO_CARRY_FLIP,
    ISA_DO_DIRECTION_CLEAR,
    ISA_DO_DIRECTION_SET,
    ISA_DO_STRING_MOVE,
    ISA_DO_STRING_STORE,
    ISA_DO_STRING_LOAD,
    ISA_DO_STRING_SCAN,
    ISA_DO_STRING_COMPARE,
    ISA_DO_TRANSLATE, /* xlat */
    /* Vectors: only what feeds general registers and flags in string functions. */
    ISA_DO_VECTOR_MOVE,     /* whole operand, no element semantics */
    ISA_DO_VECTOR_MOVE_LOW, /* movd, movq: low bytes, zero-extending */
    ISA_DO_VECTOR_SCALAR,   /* movss, movsd: loads zero-extend, register forms merge */
    ISA_DO_VECTOR_AND,
    ISA_DO_VECTOR_ANDN,
    ISA_DO_VECTOR_OR,
    ISA_DO_VECTOR_XOR,
    ISA_DO_VECTOR_EQUAL,   /* per element; destination may be a mask register */
    ISA_DO_VECTOR_GREATER, /* signed */
    ISA_DO_VECTOR_COMPARE, /* vpcmp[u]b..q with predicate; condition 1: unsigned */
    ISA_DO_VECTOR_ADD,
    ISA_DO_VECTOR_SUB,
    ISA_DO_VECTOR_SUB_SATURATED, /* unsigned */
    ISA_DO_VECTOR_MIN,           /* unsigned bytes */
    ISA_DO_VECTOR_MAX,           /* unsigned bytes */
    ISA_DO_VECTOR_SIGNS,         /* pmovmskb */
    ISA_DO_VECTOR_BROADCAST,
    ISA_DO_VECTOR_TEST,       /* ptest: ZF, CF */
    ISA_DO_VECTOR_TESTN,      /* vptestnm: mask of elements whose and is zero */
    ISA_DO_VECTOR_TESTM,      /* vptestm */
    ISA_DO_VECTOR_TERNARY,    /* vpternlog */
    ISA_DO_VECTOR_SHUFFLE,    /* pshufd */
    ISA_DO_VECTOR_UNPACK_LOW, /* punpckl*                                               */
    ISA_DO_VECTOR_UPPER,      /* vzeroupper */
    ISA_DO_MASK_MOVE,
    ISA_DO_MASK_TEST, /* kmov, kortest */
    ISA_DO_MASK_AND,
    ISA_DO_MASK_OR,
    ISA_DO_MASK_XOR,
    ISA_DO_MASK_NOT,
    ISA_DO_MASK_UNPACK,
    ISA_OPERATIONS
};

enum isa_operand_kind {
    ISA_NO_OPERAND,
    ISA_GENERAL,   /* general register `number`, bits [shift, shift + 8*bytes) */
    ISA_MEMORY,    /* accesses[number] */
    ISA_IMMEDIATE, /* isa_operation.immediate, sign-extended where the ISA does */
    ISA_ADDRESS,   /* lea: accesses[0] gives the parts, nothing is accessed */
    ISA_VECTOR,    /* xmm/ymm/zmm `number` */
    ISA_MASK,      /* k `number` */
    ISA_ELSEWHERE, /* flags, x87, segment registers... */
};

struct isa_operand {
    uint8_t kind, number, bytes, shift;
};

enum { ISA_MAX_OPERANDS = 4 };

struct isa_operation {
    uint8_t code;           /* enum isa_operation_code */
    uint8_t condition;      /* of jcc, setcc, cmovcc: 0..15 as encoded (4 is Z) */
    uint8_t operand_count;  /* explicit ones first, then implicit registers */
    uint8_t element_bytes;  /* vectors */
    uint8_t mask;           /* k1..k7 that masks the destination, 0: none */
    bool zeroes_upper;      /* VEX, EVEX: bytes above the vector destination become 0 */
    uint8_t masks_written;  /* bit k */
    uint16_t flags_changed; /* RFLAGS bits it may change or leave undefined */
    uint32_t vectors_written;
    uint64_t immediate;
    struct isa_operand operands[ISA_MAX_OPERANDS];
};

/*
 * Decodes one instruction. code: at least available bytes, readable; address:
 * where it lives in the program. BASE_MALFORMED when no instruction fits.
 */
enum base_status isa_decode(const uint8_t *code, size_t available, uint64_t address,
                            struct isa_insn *insn);

/*
 * The same, and what the instruction computes. For lea, insn.access_count is 0
 * but accesses[0] holds the parts of the address.
 */
enum base_status isa_decode_operation(const uint8_t *code, size_t available, uint64_t address,
                                      struct isa_insn *insn, struct isa_operation *operation);

/*
 * Everything that an instruction does to general registers, vector registers and flags. Masks have bit r for register r; a
 * part of a register counts as all of it. What is written but may keep something of its old value (8 and 16
 * bits, conditional moves, repeated strings) is also read; 32 bits replace the whole. Calls, system calls:
 * the instruction alone, not what it runs.
 */
struct isa_effects {
    uint32_t reads, writes;                 /* with address registers and implicit ones */
    uint32_t flags_read;                    /* RFLAGS bits, of CF PF AF ZF SF OF */
    uint32_t flags_written;                 /* may change or become undefined */
    uint32_t flags_killed;                  /* never keep their old value */
    uint32_t vectors_read, vectors_written; /* bit n: xmm, ymm, zmm n; a part counts as all of it */
};

enum { ISA_FLAGS = 0x8d5 }; /* CF PF AF ZF SF OF */

enum base_status isa_decode_effects(const uint8_t *code, size_t available, uint64_t address,
                                    struct isa_insn *insn, struct isa_effects *effects);

/* isa_decode_operation and isa_decode_effects in one. */
enum base_status isa_decode_whole(const uint8_t *code, size_t available, uint64_t address,
                                  struct isa_insn *insn, struct isa_operation *operation,
                                  struct isa_effects *effects);

/*
 * Length of the instruction at code, 0 if none fits or the encoding is
 * unknown. Needs no isa_start() and is some twenty times faster than decoding:
 * for walking over much code. It accepts some encodings that do not exist.
 */
unsigned isa_length(const uint8_t *code, size_t available);

/*
 * Offset within the instruction at code of a displacement (4 bytes) that is relative to the next
 * instruction's address, of memory operands and of lea; 0: there is none. Jumps have none. No isa_start() either.
 */
unsigned isa_relative_operand(const uint8_t *code, size_t available);

/*
 * Effective address of one access from the registers *before* the instruction.
 * For push and call that is below the current stack pointer. False when it is
 * unaddressable.
 */
bool isa_effective_address(const struct isa_insn *insn, const struct isa_access *access,
                           const struct base_registers *registers, uint64_t *address);

/* Why a trapping instruction was or was not identified. */
enum isa_blame_result {
    ISA_BLAME_EXACT,     /* found, and its operand provably covers the watched byte */
    ISA_BLAME_LIKELY,    /* found by decoding forward; the operand's registers were overwritten
                             by the instruction itself, so coverage cannot be proven */
    ISA_BLAME_RETURN,    /* a ret popped the watched slot: address is unknown, direction is load */
    ISA_BLAME_KERNEL,    /* a system call touched the byte; address is the syscall instruction */
    ISA_BLAME_AMBIGUOUS, /* not found or several fit: count it, never guess */
};

struct isa_blame {
    uint64_t address;       /* the instruction's; 0 for ISA_BLAME_RETURN and AMBIGUOUS */
    struct isa_insn insn;   /* valid for EXACT and LIKELY */
    uint8_t access;         /* index into insn.accesses; valid for EXACT and LIKELY */
    uint64_t start;         /* first byte of the access (EXACT), else the watched address */
    uint32_t bytes;         /* its width; 1 if unknown */
    uint8_t direction;      /* ISA_LOAD | ISA_STORE */
    int32_t syscall_number; /* KERNEL: from the `mov $n,%eax` before it, or -1 */
};

/* Of the function that ip is in; each 0 if unknown. */
struct isa_around {
    uint64_t
        boundary; /* where an instruction begins, at or before ip: the nearer the sooner found */
    uint64_t start,
        end; /* from unwind tables; jumps within it that may have led to ip are looked for there */
};

/*
 * x86 data breakpoints trap after the instruction. registers: state in the
 * trap handler (ip is after the instruction); watched: the byte under watch;
 * around: what is known of the code there; memory reads code and stack.
 *
 * Handles: decoding forward from around->boundary; call (ip is a function's
 * first byte: the push of the return address), ret, push/pop, rep strings (ip
 * may still be the string instruction itself, and fast ones trap only at the
 * end of 64 bytes: start is the element that holds the byte), xchg/cmpxchg/xadd,
 * instructions that overwrite their own address registers, indirect
 * jumps/calls through memory, system calls (rcx == ip after `syscall`).
 * (witch §5 "Precise PC" names the problem; it used LBR, which guests lack.)
 */
enum isa_blame_result isa_find_trapping(const struct base_registers *registers, uint64_t watched,
                                        const struct isa_around *around,
                                        const struct base_memory *memory, struct isa_blame *blame);

/*
 * What the kernel does to user memory in system call `number` (x86-64):
 * ISA_LOAD (write, sendto, ...), ISA_STORE (read, recvfrom, stat, ...), both
 * (ioctl, futex, poll, ...), 0 when unknown.
 */
uint8_t isa_syscall_direction(int32_t number);

#endif
