// SPDX-License-Identifier: MIT
/*
 * clone: an innermost loop rewritten so that all of its accesses hit the first-level cache, to measure what it would take
 * then (Jalby, Lemuet, MHAOTEU part II: mpc; the DECAN variants of MAQAO are its descendants). The instructions stay as they
 * are, but for memory operands: each becomes an absolute address on a line of its own. Registers that address memory
 * are counted up as before, so that a clone started with the loop's registers makes as many iterations.
 *
 * Eligible is a loop of which this holds. What it calls are functions without loops, known and decoded with it (splice.c). Branches that
 * depend on what it loads from memory that changes, be they within the loop or out of it, can be replayed as they were recorded in the program
 * (outcomes.c). Words whose address the loop does not change, and that it does not store to, are assumed not to change, not even by stores
 * through other registers. Nothing in it can fault on other values than the program's: divisions of integers
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
 * Variants that walk have the body several times, with operands relative to free registers, which are counted on once for all copies;
 * the recurrences are compared as those of the clone.
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
    CLONE_WALK_SLACK = 1 << 20, /* bytes that buffers may take beside what is asked for */
    CLONE_MARKS_MAX = 1024,
    CLONE_FRAMES_MAX = 24, /* the loop, and functions in it, once for each place that calls them */
};

enum clone_reason {
    CLONE_ELIGIBLE,
    CLONE_NO_LOOP,  /* irreducible, or around other loops, or no code */
    CLONE_CALLS,    /* something that is not known */
    CLONE_INDIRECT, /* a jump through a table or pointer */
    CLONE_SYSTEM,   /* an instruction of the system, or one whose result is never the same */
    CLONE_STACK,    /* moves the stack pointer */
    CLONE_STRING,
    CLONE_X87,
    CLONE_GATHERS,      /* several addresses in one operand */
    CLONE_NO_FIELD,     /* an address that the instruction has no field for */
    CLONE_STREAMS_PAST, /* stores around the caches, or drops lines from them */
    CLONE_BRANCH,       /* depends on what is loaded, and cannot be replayed */
    CLONE_EXIT,         /* how often it iterates depends on what is loaded, likewise */
    CLONE_UNCOUNTED, /* branches depend on what is loaded, no register counts iterations, and exits cannot be replayed */
    CLONE_OUTCOMES,  /* likewise, and no registers are free */
    CLONE_DIVIDES,   /* integers, by what is loaded: might fault */
    CLONE_LONG,      /* over a limit: instructions, ways, exits */
    CLONE_NO_ACCESS, /* nothing to gain */
    CLONE_LINES,     /* too many operands, or some that no line can hold */
    CLONE_CALLS_POINTER,
    CLONE_CALLEE_LOOPS,
    CLONE_RECURSES,
    CLONE_CALLEE_ENDS, /* it does not return, or who knows where */
    CLONE_RECURRENCE_MADE,
    CLONE_RECURRENCE_LOST,
    CLONE_CHASES, /* likewise, through addresses that are loaded, or chosen by what is */
    CLONE_REASONS
};

/* What else a loop's clone can be, each with the same registers, branches and iterations. */
enum clone_variant {
    CLONE_L1, /* every operand on a line of its own: `made` */
    /* operands whose addresses move walk over buffers which that level holds, and the one before does not */
    CLONE_L2,
    CLONE_L3,
    CLONE_LS, /* loads and stores alone, on their lines: what feeds neither an address nor a branch is left out */
    CLONE_FP, /* without loads and stores: operands are registers that hold what was loaded first */
    CLONE_VARIANTS
};

/* Why there is no such variant of a loop that has a clone. */
enum clone_lack {
    CLONE_LACKS_NOTHING,
    CLONE_LACKS_LEVEL,    /* the machine has none that holds enough, or it is not known */
    CLONE_LACKS_MOTION,   /* no address moves */
    CLONE_LACKS_REGISTER, /* none is free */
    CLONE_LACKS_FLAGS,    /* they go from an iteration into the next */
    CLONE_LACKS_FORM,     /* an instruction has no form for it */
    CLONE_LACKS_ROOM,     /* too many streams, or code */
    CLONE_LACKS_OUTCOMES, /* there are not enough for buffers */
    CLONE_LACKS_LIKENESS, /* a recurrence would vanish, or appear */
    CLONE_LACKS
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
    uint64_t
        within; /* the function that the loop calls, if the culprit is in that; 0: in the loop */
    uint64_t
        called; /* CALLS: what the culprit calls, or with `cell` where the module has its address */
    bool cell;
    uint64_t callees[CLONE_FRAMES_MAX]; /* entries of functions that are in the clone */
    uint32_t callee_count;
    uint32_t instructions, blocks, ways, operands;
    double recurrence,
        recurrence_after;    /* cycles an iteration, of the way where they are largest */
    struct wire_clone *made; /* malloc's; NULL if not eligible */
    struct wire_clone *variants[CLONE_VARIANTS]; /* malloc's; NULL: not asked for, or lacking */
    uint8_t lacks[CLONE_VARIANTS];               /* enum clone_lack, of those that were asked for */
    struct clone_copy twin;                      /* if eligible */
    /* The outermost loop around it that can be copied, entered at this loop's head; it is left where something is called. */
    struct clone_copy nest;
    /* If there are gates: the loop, which goes on in the program at each end, and is entered there; and one that records outcomes. */
    struct clone_copy gated, gated_recorder;
    uint32_t nest_loop; /* of the flow; the loop itself if there is no nest */
    uint32_t
        outcomes; /* inner branches that are replayed; 0: none, and there is nothing of what follows */
    struct wire_clone *twice;   /* replays twice: so much longer it takes */
    struct clone_copy recorder; /* the nest, or else the twin, which records them */
    /*
     * Of a loop that calls functions, if it is not eligible with all of their parts, or without some: a copy of it and of them that marks each
     * part that it executes, by a byte in place of outcomes. With the marks of `marks` parts it may be eligible.
     */
    struct clone_copy marker;
    uint32_t marks;
};

/* A function that is called. */
struct clone_callee {
    const struct cfg *flow;
    const struct cfg_code *code; /* what flow was made of; the function begins at flow->start */
};

struct clone_request {
    const struct cfg *flow;
    const struct cfg_code *code; /* what flow was made of */
    uint32_t loop;
    const struct model *model;           /* by which recurrences are compared */
    uint32_t variants;                   /* bit v: enum clone_variant v is wanted */
    uint32_t walk_bytes[CLONE_VARIANTS]; /* L2, L3: of all buffers together; 0: not known */
    /* The function at an address, or whose address the module keeps there (call *cell(%rip)). False: not known. What is found lives as
       long as the request. NULL: none is known. */
    bool (*callee)(void *context, uint64_t address, bool cell, struct clone_callee *found);
    void *context;
    bool gated; /* on every way into the loop there is room for a jump in the program */
    const uint8_t
        *marks; /* CLONE_MARKS_MAX; 0: the part is not executed, and left out. NULL: not known */
};

/* BASE_NO_MEMORY; else *clone is set, to be ended with clone_free. */
enum base_status clone_of(const struct clone_request *request, struct clone *clone);
void clone_free(struct clone *clone);

/* "calls a function": what the loop does, after "not eligible: ". Static. */
const char *clone_reason_text(enum clone_reason reason);

/* "call": the same as a word for scripts, which keeps its meaning for ever. Static. */
const char *clone_reason_id(enum clone_reason reason);

/* "l2": as people and scripts write it. Static. */
const char *clone_variant_id(enum clone_variant variant);
/* "no register is free": what stands behind "not tried: ". Static. */
const char *clone_lack_text(enum clone_lack lack);

/* A clone of nothing: what its ticks count is the cost of the time stamps. Or of a chain of instructions that takes that many
   cycles more, on every processor that is known: a multiple of CLONE_CHAIN. BASE_NO_MEMORY. */
enum { CLONE_CHAIN = 16, CLONE_CHAIN_MAX = 1 << 16 };
enum base_status clone_of_chain(uint32_t cycles, struct wire_clone **made);

/* One that reads all outcomes in the yard once a run, so that caches hold them. */
enum base_status clone_of_touch(struct wire_clone **made);

/* A nest of a loop of nothing, which is executed CLONE_STAMPS times: its slots have the cost of a nest's stamps. */
enum { CLONE_STAMPS = 1024 };
enum base_status clone_of_stamps(struct wire_clone **made);

#endif
