// SPDX-License-Identifier: MIT
/*
 * clone: an innermost loop rewritten so that all of its accesses hit the first-level cache, to measure what it would take
 * then (Jalby, Lemuet, MHAOTEU part II: mpc; the DECAN variants of MAQAO are its descendants). The instructions stay as they
 * are, but for memory operands: each becomes an absolute address on a line of its own. Registers that address memory
 * are counted up as before, so that a clone started with the loop's registers makes as many iterations.
 *
 * Eligible is a loop of which this holds. Nothing in it is called, and no branch depends on what it loads from memory that
 * changes: words whose address the loop does not change and that it does not store to keep their values. (Stores through other
 * registers are taken not to change them.) Nothing in it can fault on other values than the program's: divisions of integers
 * are only taken if what they divide is no loaded value. The clone's dependences are the loop's: a recurrence through memory, between a store
 * and a load of a later iteration, would vanish with lines of their own; such pairs get one line. One that was not there would
 * appear where an instruction loads and stores (add %rax, (%rdi)), or where the location of some iteration is not that of
 * the next: then the body is repeated, each copy with lines of its own. Whether that served is decided by `bounds`: the recurrence before
 * and after, along every way through the loop, if it limits the loop at all.
 *
 * Grouped are operands of one stream (a[i], a[i + 1]) of which none depends on another: they lie on one line as they do in
 * the program. Loads and stores do not share lines without need. Offsets in a page are used once, unless by loads alone: a load
 * never waits for a store 4 KiB away.
 *
 * What the clone has not: accesses across two lines (unless the loop's always are), misses of the address translation, the
 * addresses' own dependence on loads (a[b[i]]) where it is no recurrence.
 *
 * Pure; host side. Code is hostile input: any bytes give a result. Call cfg_start before.
 */
#ifndef HEADROOM_CLONE_H
#define HEADROOM_CLONE_H

#include "cfg/cfg.h"
#include "model/model.h"
#include "wire/clones.h"

enum {
    CLONE_INSTRUCTIONS_MAX = 512,
    CLONE_NEST_MAX = 3000, /* instructions */
    CLONE_WAYS_MAX = 32,
    CLONE_COPIES_MAX = 8,
};

enum clone_reason {
    CLONE_ELIGIBLE,
    CLONE_NO_LOOP, /* irreducible, or around other loops, or no code */
    CLONE_CALLS,
    CLONE_INDIRECT, /* a jump through a table or pointer */
    CLONE_SYSTEM,   /* an instruction of the system, or one whose result is never the same */
    CLONE_STACK,    /* moves the stack pointer */
    CLONE_STRING,
    CLONE_X87,
    CLONE_GATHERS,      /* several addresses in one operand */
    CLONE_NO_FIELD,     /* an address that the instruction has no field for */
    CLONE_STREAMS_PAST, /* stores around the caches, or drops lines from them */
    CLONE_BRANCH,       /* depends on what is loaded */
    CLONE_DIVIDES,      /* integers, by what is loaded: might fault */
    CLONE_LONG,         /* over a limit: instructions, ways, exits */
    CLONE_NO_ACCESS,    /* nothing to gain */
    CLONE_LINES,        /* too many operands, or some that no line can hold */
    CLONE_RECURRENCE_MADE,
    CLONE_RECURRENCE_LOST,
    CLONE_REASONS
};

/* In a copy's code, by offset: where the loop itself would be. */
struct clone_place {
    uint32_t at;
    uint64_t address;
};

/* Code as the program has it. */
struct clone_copy {
    struct wire_clone *code; /* malloc's; NULL: there is none */
    struct clone_place
        *places; /* between any two of the program's instructions it can be left for these */
    size_t place_count;
};

struct clone {
    uint8_t reason; /* enum clone_reason; what follows is known if ELIGIBLE, but for culprit */
    uint64_t
        culprit; /* address of the instruction that is the reason; the loop's head if it is none */
    uint32_t instructions, blocks, ways, operands;
    double recurrence,
        recurrence_after;    /* cycles an iteration, of the way where they are largest */
    struct wire_clone *made; /* malloc's; NULL if not eligible */
    struct clone_copy twin;  /* if eligible */
    /* The outermost loop around it that can be copied, entered at this loop's head; it is left where something is called. */
    struct clone_copy nest;
    uint32_t nest_loop; /* of the flow; the loop itself if there is no nest */
};

struct clone_request {
    const struct cfg *flow;
    const struct cfg_code *code; /* what flow was made of */
    uint32_t loop;
    const struct model *model; /* by which recurrences are compared */
};

/* BASE_NO_MEMORY; else *clone is set, to be ended with clone_free. */
enum base_status clone_of(const struct clone_request *request, struct clone *clone);
void clone_free(struct clone *clone);

/* "calls a function": what the loop does, after "not eligible: ". Static. */
const char *clone_reason_text(enum clone_reason reason);

/* "call": the same as a word for scripts, which keeps its meaning for ever. Static. */
const char *clone_reason_id(enum clone_reason reason);

/* A clone of nothing: what its ticks count is the cost of the time stamps. Or of a chain of instructions that takes that many
   cycles more, on every processor that is known: a multiple of CLONE_CHAIN. BASE_NO_MEMORY. */
enum { CLONE_CHAIN = 16, CLONE_CHAIN_MAX = 1 << 16 };
enum base_status clone_of_chain(uint32_t cycles, struct wire_clone **made);

/* A nest of a loop of nothing, which is executed CLONE_STAMPS times: its slots have the cost of a nest's stamps. */
enum { CLONE_STAMPS = 1024 };
enum base_status clone_of_stamps(struct wire_clone **made);

#endif
