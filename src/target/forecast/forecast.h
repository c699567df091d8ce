// SPDX-License-Identifier: MIT
/*
 * forecast: what will the program access next? Interprets the instructions
 * ahead of a stopped thread on a *copy* of its registers, with a small overlay
 * for its stores, and never changes the program. Whatever it does not
 * interpret (SIMD results, exotic instructions) becomes "unknown"; it stops only when
 * control flow or the wanted address depends on something unknown.
 *
 * This is how the clock source picks the access to watch without bias: timers
 * land after slow instructions, so the n-th matching access after the tick is
 * taken, n random. Single-stepping there costs ~20 us an instruction in a
 * guest, a forecast well under 1 us.
 *
 * Freestanding and signal-safe; all state is in struct forecast (the caller's, 488 KiB, of which
 * what is not needed is not touched). Thread rule: one thread uses one struct forecast.
 */
#ifndef HEADROOM_FORECAST_H
#define HEADROOM_FORECAST_H

#include "base/base.h"
#include "isa/isa.h"

enum forecast_result {
    FORECAST_HIT,       /* the wanted access was reached */
    FORECAST_BLOCKED,   /* must look again when the thread is really at `resume` */
    FORECAST_EXHAUSTED, /* instruction budget used up without reaching the wanted access */
    FORECAST_FAULT,     /* code unreadable or undecodable, flow leaves user space or would trap,
                           or looking again would not get further */
};

struct forecast_goal {
    uint8_t direction; /* ISA_LOAD, ISA_STORE or both: which accesses count. What is loaded and
                                stored by one instruction counts twice if both, the load first */
    uint32_t skip;     /* take the access after this many matching ones (0: the next) */
    uint32_t max_instructions;
    /* If range_bytes is not 0: only accesses count that overlap [range_start, + range_bytes). */
    uint64_t range_start, range_bytes;
    /* If ignored_bytes is not 0: accesses to [ignored_start, + ignored_bytes) are none, nor is loading
       ignored_value from a fixed place: what was added to a program to count its accesses. And without a range
       accesses that are passed over may have unknown addresses. */
    uint64_t ignored_start, ignored_bytes, ignored_value;
    /* If not NULL: is what the instruction there accesses counted? Asked where control flow changes. Other accesses do not match, but with a
       range, and are none of those passed. Where the way is blocked in code that is not counted, or ends there,
       the outcome is BLOCKED behind the call that led to it, if that is known: code that is called back is
       passed unseen then. */
    bool (*counts)(void *context, uint64_t ip);
    void *context;
    /* Instructions in [hidden_start, + hidden_bytes) are followed but not there: none of their accesses
       match or are passed, and they do not count as instructions either. What an observer has put into a
       program's way. */
    uint64_t hidden_start, hidden_bytes;
    /* With a range: what may access it, but is not known to, or not where, blocks instead of being passed over. */
    bool sure;
    /* If not NULL: can the code there not change without forecast_forget_code being called? Asked when it is decoded. */
    bool (*is_fixed)(void *context, uint64_t ip);
};

/* Outcome; which members are set depends on the result. */
struct forecast_outcome {
    /* HIT */
    struct isa_insn insn;
    uint8_t access;    /* index into insn.accesses */
    uint64_t address;  /* first byte accessed */
    uint32_t bytes;    /* width (one iteration of a string instruction) */
    uint8_t direction; /* ISA_LOAD or ISA_STORE: which of the two, if the access is both */
    /* HIT and BLOCKED */
    uint64_t resume;         /* instruction address: BLOCKED at which to look again,
                                  HIT insn.address */
    uint32_t earlier_visits; /* how often that instruction (HIT: insn.address, BLOCKED:
                                  resume) is executed before, on the way from here. An instruction
                                  at the current ip that has not yet executed counts if it is
                                  passed on the way. */
    /* always */
    uint32_t matching_passed; /* matching accesses passed over on the way */
    uint32_t instructions;    /* instructions interpreted on the way, without hidden ones */
    uint32_t accesses_passed; /* accesses of any direction and address on the way, the hit not
                                  included; see forecast_run for what counts */
    uint32_t stores_passed;   /* of matching_passed, those that store */
    uint32_t until_store; /* if there are any: instructions on the way before the first of them */
    bool
        same_frame; /* calls on the way have returned, and what was executing at the start has not */
    bool fixed;     /* all code on the way is what is_fixed said cannot change */
};

/* Interpreter state. Members are private to the room; the size is public. */
struct forecast {
    _Alignas(16) unsigned char opaque[488 * 1024];
};

/*
 * Prepares to interpret from `registers`. memory must outlive the runs. Keeps
 * the decoded-instruction cache of earlier runs if the struct was used before
 * (zero it once at first); call forecast_forget_code when code was unmapped.
 */
void forecast_begin(struct forecast *forecast, const struct base_registers *registers,
                    const struct base_memory *memory);

/*
 * Interprets until the goal, a block, the budget or a fault. A syscall blocks
 * with resume = the instruction after it; a branch on unknown flags blocks at
 * the branch itself. String instructions count one access an iteration.
 * Loads whose address is unknown yield unknown values; stores to
 * unknown addresses make the overlay untrusted, i.e. later loads unknown.
 * A matching access whose address is unknown blocks at that instruction, whether or
 * not there is a range: it may lie in it.
 *
 * Loads from unreadable memory yield unknown values too (the kernel's time
 * page cannot be read by others). Accesses that isa calls unaddressable do not match, and
 * conditional ones not known to happen do not count at all. A repeated string
 * instruction is one instruction on the way, whatever its iterations. Every
 * run starts anew from the registers given to forecast_begin; at most 1024
 * instructions are interpreted.
 *
 * accesses_passed counts as the exact engine does; with a range it is thus the
 * time reuse distance less one: every memory operand once for each direction, in
 * the order of execution; string instructions by iteration; pushes, pops,
 * calls and returns like all others. Also those whose address is unknown or
 * that isa calls unaddressable (a gather is one; the exact engine counts its
 * elements). Saturates. It is too small only where conditional accesses were
 * passed over that do happen and, without a range, where a string instruction
 * could not be followed; with a range that blocks.
 */
enum forecast_result forecast_run(struct forecast *forecast, const struct forecast_goal *goal,
                                  struct forecast_outcome *outcome);

/*
 * After a HIT: executes the instruction that was hit, all of it, so that forecast_then gives the state behind it,
 * and forecast_resume goes on from there. False: it cannot be followed, or is a string instruction (of which a hit
 * is one iteration); then nothing but another forecast_run is possible.
 */
bool forecast_pass(struct forecast *forecast);

/*
 * After forecast_pass: as forecast_run, but from there, and max_instructions counts from there; same_frame and fixed
 * are those of the whole way from the start.
 */
enum forecast_result forecast_resume(struct forecast *forecast, const struct forecast_goal *goal,
                                     struct forecast_outcome *outcome);

/*
 * After a HIT, or forecast_pass: the registers as they will be just before the instruction at
 * outcome.resume executes (a string instruction: the iteration), and memory as
 * it will be: reads see the stores on the way, and fail where a value is not
 * known. For unwinding the calling context of the foreseen access.
 *
 * A general register of which any byte is unknown reads as 0, unknown flags as
 * 0: a walk that needs them ends at memory it cannot read. rsp and ip are always
 * known. `memory` is good until the next forecast_begin or forecast_run;
 * reading it uses the struct forecast, so only its thread may.
 *
 * False: neither was the last thing to happen, or rsp is unknown. Outputs are untouched then.
 */
bool forecast_then(struct forecast *forecast, struct base_registers *registers,
                   struct base_memory *memory);

void forecast_forget_code(struct forecast *forecast);

#endif
