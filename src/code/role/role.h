// SPDX-License-Identifier: MIT
/*
 * role: what a load or store is for, as far as the machine code of its function shows it: registers saved for the
 * caller, values spilled to the stack, a value updated where it lies; and how a load comes
 * to repeat another one.
 *
 * Everything is claimed only where the code supports it: "no" means "not known". Rejected: to ask the debug information for
 * variables, which most programs come without.
 *
 * Host side; pure but for memory. Code is hostile input: any bytes give answers, in time that the number of
 * instructions (ROLE_INSTRUCTIONS_MAX) and of blocks looked at for one answer bound.
 */
#ifndef HEADROOM_ROLE_H
#define HEADROOM_ROLE_H

#include "base/base.h"
#include "cfg/cfg.h"

enum { ROLE_INSTRUCTIONS_MAX = 1 << 17 }; /* of a function; larger ones: BASE_UNSUPPORTED */

enum role_kind {
    ROLE_UNKNOWN,
    ROLE_SAVE,  /* saves a register that belongs to the caller, or restores it */
    ROLE_SPILL, /* stores a value to a slot of the frame for later, or gets it from there */
};

/* How the load `second` comes to yield what `first` yielded. */
enum role_reach {
    ROLE_NO_REACH,
    ROLE_ITERATION, /* `first` comes before it with the same address, in the same round of all loops */
    ROLE_INVARIANT, /* neither's address changes in the innermost loop */
    ROLE_PREVIOUS,  /* the address that `first` had a few rounds of the innermost loop ago */
    ROLE_SEARCH, /* the same load, in a loop that only goes through data, the same way each time, until it finds something */
    ROLE_OUTER, /* the same load; the innermost loop walks through memory, and a loop around repeats the walk */
    ROLE_CALL, /* the same load; it walks through memory in each call */
};

struct role_function;

/* flow and bytes (of the function, count of them from flow->start on) must outlive it. BASE_NO_MEMORY; BASE_UNSUPPORTED:
   too large, or its flow is not known. */
enum base_status role_of_function(const struct cfg *flow, const uint8_t *bytes, size_t count,
                                  struct role_function **function);
void role_free(struct role_function *function); /* NULL does nothing */

/* Of the instruction at `address`: what its load (store) is for. */
enum role_kind role_of(const struct role_function *function, uint64_t address, bool store);

/* Does the store of the instruction leave a value that was made from the one it replaces? */
bool role_updates(const struct role_function *function, uint64_t address);

/* Does a store of the same loop leave, where this instruction loads, a value made from what it loads? */
bool role_is_updated(const struct role_function *function, uint64_t address);

/* first and second: addresses of instructions that load; executed in one call of the function. */
enum role_reach role_reach(const struct role_function *function, uint64_t first, uint64_t second);

/* By how many bytes the address of the instruction's access moves in a round of the innermost loop around it: 0 if it stays.
   False: it is in no loop, or does not move by a constant; stride is as it was. */
bool role_stride(const struct role_function *function, uint64_t address, int64_t *stride);

#endif
