// SPDX-License-Identifier: MIT
/*
 * Clones of loops, as headroom makes them from a module's file (room clone) and as the agent runs them: machine code in
 * which every memory operand is an absolute address in a *yard*, a small piece of memory below 2 GiB that a first-level cache
 * holds, with what has to be filled in where code and yard lie. One that *walks* has operands that move through buffers behind the yard,
 * around and around, in place of those that move in the program. A *twin* is the loop as it is, its accesses
 * included, between the same time stamps: what a clone is compared with. One that *records* is either of both that notes how inner branches end, and one
 * that *replays* has branches that end as was noted. A *nest* is a twin of the loops around it, too,
 * with time stamps wherever the loop is entered and left. One that is *gated* is a nest of the loop alone, which control comes to through jumps in the
 * program, and which it leaves for the program.
 *
 * A clone in a file or message is a struct wire_clone, its fixups, its fills, its walks, its code, one after the other. Addresses are
 * ELF virtual addresses of the module.
 *
 * Freestanding; any thread, any signal handler. A yard is for one thread at a time.
 */
#ifndef HEADROOM_WIRE_CLONES_H
#define HEADROOM_WIRE_CLONES_H

#include "base/base.h"

/* Name of the anonymous file of which the agent maps the yard (writable, below 2 GiB) and room for code (executable, near
   the program, near its libraries), privately. headroom finds them by that. */
#define WIRE_CLONE_FILE "headroom-clones"

enum {
    WIRE_CLONE_VERSION = 6,
    WIRE_CLONE_REPEATS = 256, /* 8 bits, in the code */
    WIRE_CLONE_CELLS_MAX = 16,
    WIRE_CLONE_SLOTS = 64, /* a power of 2 */
    WIRE_CLONE_LINE = 64,
    WIRE_CLONE_LINES_MAX = 256,
    WIRE_CLONE_EXITS_MAX = 16,
    WIRE_CLONE_WALKS_MAX = 4,            /* registers that move */
    WIRE_CLONE_WALK_BYTES_MAX = 1 << 25, /* of buffers */
    WIRE_CLONE_OUTCOMES_MAX = 16,        /* branches whose outcomes are replayed: bits */
    WIRE_CLONE_ITERATIONS = 1 << 16,     /* with outcomes; of what records 16 bits, in the code */
    WIRE_CLONE_LAPPED = 255,             /* in place of an exit */
    WIRE_CLONE_CODE_MAX = 1 << 16,
    WIRE_CLONE_VECTORS = 16384,
    /* Should headroom be killed when it has seen the trap of the first, the thread gets that of the second. */
    WIRE_CLONE_ENDS = 2,
    WIRE_CLONE_COOKIE = 0x636c6f6e, /* si_perf_data of a stop before code is executed */
    /* what a byte of the lines is at first: as a float, a double, and an integer a normal number that is not 0 */
    WIRE_CLONE_PATTERN = 0x3f800000,
};

/* Sums over those executions of a nest's loop whose number is this slot's, modulo WIRE_CLONE_SLOTS. */
struct wire_clone_slot {
    uint64_t ticks;
    int64_t progress; /* of the counter; 0 without one */
};

/*
 * What the clone's code and who runs it share. The code is entered with the registers that the loop is entered with; it
 * runs the loop up to `repeat` times from these, and jumps to `leave` in the end, with vector registers, and general
 * ones but rax, rcx, rdx and rsp, as the last run left them. It uses no stack, but one of its own if it calls anything, and writes nothing but its yard; a twin, which
 * must run once, what the loop writes.
 */
struct wire_clone_control {
    uint64_t leave;  /* in: address to jump to in the end */
    uint64_t repeat; /* in: 1 or more; in the end: runs that were not made */
    uint64_t limit;  /* in: ticks; after a run in which they were used up there is no other */
    uint64_t
        exit; /* out: number of the exit that the last run took; WIRE_CLONE_LAPPED: no outcomes were left */
    uint64_t start; /* time stamp counter */
    /* in: 0; out: sums over the runs that began with a `repeat` of n modulo WIRE_CLONE_REPEATS */
    uint64_t ticks[WIRE_CLONE_REPEATS];
    uint64_t last[3]; /* out: rax, rcx, rdx as the last run left them */
    uint64_t last_flags,
        flags; /* likewise, and at first: bits 8 to 15 as lahf has them, OF in bit 0 */
    uint64_t general[BASE_GENERAL_REGISTERS];
    uint64_t cells[WIRE_CLONE_CELLS_MAX]; /* what single words of the lines were at first */
    /* of a nest; in: 0. What leaves the nest from within the loop is not counted */
    uint64_t executions, into_ticks, into_counter;
    struct wire_clone_slot slots[WIRE_CLONE_SLOTS];
    /* of one that walks; in: 0; out: how often it has been through its buffers */
    uint64_t laps;
    uint64_t walks
        [WIRE_CLONE_WALKS_MAX]; /* where its registers are: each run begins where the one before has ended */
    /* of one that replays; in: -1 less the iterations whose outcomes are known, which are the last ones in the yard; likewise, up to 0 */
    uint64_t outcome;
    /* of one that records; in: 0; out: bytes of all iterations */
    uint64_t recorded, kept;
    /* of one that is gated; in: the address of the thread's block (its FS base), which alone may enter, and how often */
    uint64_t owner, entries;
};

/*
 * What the agent needs to put the thread where it belongs, should headroom be killed while the code runs: then its end is a trap
 * that the agent gets.
 */
struct wire_clone_rescue {
    uint64_t end; /* where control.leave leads: WIRE_CLONE_ENDS times int3 */
    uint64_t mask;
    uint64_t exits[WIRE_CLONE_EXITS_MAX]; /* of a twin: run-time addresses, by control.exit */
    uint32_t
        twin; /* 1: it goes on behind the loop, with what is in its registers; else with those below */
    uint32_t bytes; /* of vectors */
    uint64_t general[BASE_GENERAL_REGISTERS], ip, flags;
    _Alignas(64) uint8_t vectors[WIRE_CLONE_VECTORS]; /* as XSAVE has them */
};

struct wire_clone_yard {
    struct wire_clone_control control;
    uint8_t fill[4096 - sizeof(struct wire_clone_control)];
    uint8_t lines[WIRE_CLONE_LINES_MAX * WIRE_CLONE_LINE];
    struct wire_clone_rescue rescue;
    /* Of inner branches, by iteration: bit k: branch k is taken. What records writes bytes there instead,
       one for each branch: wire_clone_take. */
    uint16_t outcomes[WIRE_CLONE_ITERATIONS];
};

/* Where buffers begin, in the mapping of the yard. */
#define WIRE_CLONE_WALK_AT ((sizeof(struct wire_clone_yard) + 4095) & ~(size_t)4095)

/* Flags as the code leaves them in control: CF, PF, AF, ZF, SF, OF of EFLAGS replaced. */
static inline uint64_t wire_clone_flags(uint64_t eflags, uint64_t last)
{
    return (eflags & ~UINT64_C(0x8d5)) | (last >> 8 & 0xd5) | (last & 1) << 11;
}

struct wire_clone {
    uint32_t bytes; /* of all, this struct included */
    uint16_t version, exit_count;
    uint32_t code_bytes, fixups, fills, walks;
    uint32_t walk_bytes;                  /* of buffers that it uses */
    uint32_t lines;                       /* that it uses */
    uint32_t loop_start, loop_end;        /* in the code: between the time stamps */
    uint64_t head;                        /* where the loop begins */
    uint64_t exits[WIRE_CLONE_EXITS_MAX]; /* where it goes on, by wire_clone_control.exit */
    uint8_t counter,
        counter_bytes; /* a register that each iteration adds `step` to; step 0: there is none */
    uint8_t copies;    /* of the loop's body, one after the other */
    uint8_t outcomes;  /* branches that it records, or replays */
    uint32_t
        stack; /* in the yard: where its own stack's pointer is at the loop's head; 0: it has the program's */
    uint8_t ends; /* 1: it ends where recorded executions did, whatever the registers say */
    uint8_t twin; /* 1: it does the loop's work, and goes on behind it */
    uint8_t reserved[2];
    uint32_t gate; /* in the code, where the program's jumps lead; 0: none do */
    int64_t step;
};

enum wire_clone_fixup_kind {
    WIRE_CLONE_YARD,     /* 4 bytes: an address in the yard */
    WIRE_CLONE_IMAGE,    /* 8 bytes: an address in the module */
    WIRE_CLONE_RELATIVE, /* 4 bytes: the same, less where these bytes are */
};

struct wire_clone_fixup {
    uint32_t at; /* in the code */
    uint32_t kind;
    int64_t value; /* offset in the yard, or address */
};

enum wire_clone_fill_flags {
    WIRE_CLONE_FROM_IMAGE = 1, /* the address is relative to where the module is loaded */
    WIRE_CLONE_NEEDED = 2,     /* where control goes may depend on it */
};

/* Bytes of the program that are copied to the lines before the clone runs: what the loop would load first. */
struct wire_clone_fill {
    uint16_t to; /* in the lines */
    uint8_t bytes;
    uint8_t segment;    /* 0, 1: FS, 2: GS */
    int8_t base, index; /* enum base_register, or -1 */
    uint8_t scale;
    uint8_t flags; /* enum wire_clone_fill_flags */
    int64_t displacement;
};

/* What is in the lines for an operand is in a buffer as well, `times` times, `step` bytes apart: so the operand finds it wherever it is. */
struct wire_clone_walk {
    uint32_t to;   /* in the buffers */
    uint16_t from; /* in the lines */
    uint16_t bytes;
    int32_t step;
    uint32_t times;
};

/* In front of a clone in bytes that may be anything: does it lie in them, within all limits? */
bool wire_clone_check(const struct wire_clone *clone, size_t available);

static inline const struct wire_clone_fixup *wire_clone_fixups(const struct wire_clone *clone)
{
    return (const struct wire_clone_fixup *)(clone + 1);
}
static inline const struct wire_clone_fill *wire_clone_fills(const struct wire_clone *clone)
{
    return (const struct wire_clone_fill *)(wire_clone_fixups(clone) + clone->fixups);
}
static inline const struct wire_clone_walk *wire_clone_walks(const struct wire_clone *clone)
{
    return (const struct wire_clone_walk *)(wire_clone_fills(clone) + clone->fills);
}
static inline const uint8_t *wire_clone_code(const struct wire_clone *clone)
{
    return (const uint8_t *)(wire_clone_walks(clone) + clone->walks);
}

/*
 * Writes the code as it is to run at `where`, for a yard at that address (below 2 GiB, of a whole number of pages) and a
 * module loaded with that bias. out: clone->code_bytes. False: a twin's operands are out of reach from there.
 */
bool wire_clone_place(const struct wire_clone *clone, uint64_t yard, uint64_t bias, uint64_t where,
                      uint8_t *out);

/*
 * Makes the lines ready: registers are those at the loop's head. What memory does not give keeps the pattern; false: something
 * that is needed is not there, and the clone must not run.
 */
bool wire_clone_fill(const struct wire_clone *clone, uint64_t bias,
                     const struct base_registers *registers, const struct base_memory *memory,
                     struct wire_clone_yard *yard);

/* Bytes that one which records writes in an iteration: a power of two. */
static inline unsigned wire_clone_slots(unsigned outcomes)
{
    unsigned slots = 1;
    while (slots < outcomes)
        slots *= 2;
    return slots;
}

/*
 * What was recorded, as it is replayed: from the oldest iteration on that is still there, at most `most`; `incomplete` of the last ones are left out.
 * recorded: control.recorded; bytes: those in place of outcomes. Returns how many there are.
 */
uint32_t wire_clone_take(const struct wire_clone *clone, uint64_t recorded, uint32_t incomplete,
                         const uint8_t *bytes, uint16_t *outcomes, uint32_t most);

/* Where outcomes are that are replayed, `count` of them, and what control.outcome begins with. */
static inline uint16_t *wire_clone_outcomes(struct wire_clone_yard *yard, uint32_t count)
{
    yard->control.outcome = -(uint64_t)count - 1;
    return yard->outcomes + (WIRE_CLONE_ITERATIONS - count);
}

/* Then the buffers, clone->walk_bytes of them: what operands that walk find there. Bytes between these stay as they are. */
void wire_clone_spread(const struct wire_clone *clone, const struct wire_clone_yard *yard,
                       uint8_t *buffers);

#endif
