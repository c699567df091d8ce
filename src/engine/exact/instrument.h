// SPDX-License-Identifier: GPL-2.0-or-later
/* Between the code that is added to the program's (instrument.c) and what it calls (access.c). */
#ifndef HEADROOM_EXACT_INSTRUMENT_H
#define HEADROOM_EXACT_INSTRUMENT_H

#include "exact/exact.h"
#include <pub_tool_tooliface.h>

IRSB *exact_instrument(VgCallbackClosure *closure, IRSB *code, const VexGuestLayout *layout,
                       const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                       IRType host_word);

/* state.c: the block without the writes of the program's registers that nothing can see. */
IRSB *exact_drop_unseen(IRSB *code);

/* Memory before a store of more than 8 bytes; bytes beyond what fits are not kept. */
extern UChar exact_scratch[1024] __attribute__((aligned(64)));
VG_REGPARM(2) void exact_save(Addr address, ULong bytes);

/* An access that has happened; `before`: memory at the address before the store. */
VG_REGPARM(2) void exact_load_1(Addr address, ULong id);
VG_REGPARM(2) void exact_load_2(Addr address, ULong id);
VG_REGPARM(2) void exact_load_4(Addr address, ULong id);
VG_REGPARM(2) void exact_load_8(Addr address, ULong id);
/* By instructions of floats. */
VG_REGPARM(2) void exact_load_float_4(Addr address, ULong id);
VG_REGPARM(2) void exact_load_float_8(Addr address, ULong id);
VG_REGPARM(3) void exact_store_float_4(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_store_float_8(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_store_1(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_store_2(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_store_4(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_store_8(Addr address, ULong id, ULong before);
/* The same, written down for threads that count. */
#define EXACT_LATER(name)                                                                          \
    VG_REGPARM(2) void exact_later_load_##name(Addr address, ULong id);                            \
    VG_REGPARM(3) void exact_later_store_##name(Addr address, ULong id, ULong before);
EXACT_LATER(1)
EXACT_LATER(2)
EXACT_LATER(4)
EXACT_LATER(8)
EXACT_LATER(float_4)
EXACT_LATER(float_8)
#undef EXACT_LATER
VG_REGPARM(3) void exact_load_wide(Addr address, ULong id, ULong bytes);
VG_REGPARM(3) void exact_store_wide(Addr address, ULong id, ULong bytes); /* exact_scratch */
/*
 * The same with a sample of locations. Most blocks are left without a call of these, so that their ids are looked up by the call, not at their
 * heads. which: the access's number in the block, and behind it the block's serial number.
 */
enum { EXACT_NUMBER_BITS = 10 };
VG_REGPARM(2) void exact_sampled_load_1(Addr address, ULong which);
VG_REGPARM(2) void exact_sampled_load_2(Addr address, ULong which);
VG_REGPARM(2) void exact_sampled_load_4(Addr address, ULong which);
VG_REGPARM(2) void exact_sampled_load_8(Addr address, ULong which);
VG_REGPARM(3) void exact_sampled_store_1(Addr address, ULong which, ULong before);
VG_REGPARM(3) void exact_sampled_store_2(Addr address, ULong which, ULong before);
VG_REGPARM(3) void exact_sampled_store_4(Addr address, ULong which, ULong before);
VG_REGPARM(3) void exact_sampled_store_8(Addr address, ULong which, ULong before);
VG_REGPARM(3) void exact_sampled_load_wide(Addr address, ULong which, ULong bytes);
VG_REGPARM(3) void exact_sampled_store_wide(Addr address, ULong which, ULong bytes);
/* With a sample of locations: added code counts down to the end of an epoch. */
extern ULong exact_ticks;
void exact_epoch_over(void);

/* Reuse, by bytes or of any number of them. base: id of the block's first access. packed: the access's number in the block, behind it the
   accesses since exact_time was settled, and behind these the bytes if the name does not say them. */
enum { EXACT_PENDING_BITS = 11 };
VG_REGPARM(3) void exact_reuse_1(Addr address, ULong base, ULong packed);
VG_REGPARM(3) void exact_reuse_2(Addr address, ULong base, ULong packed);
VG_REGPARM(3) void exact_reuse_4(Addr address, ULong base, ULong packed);
VG_REGPARM(3) void exact_reuse_8(Addr address, ULong base, ULong packed);
VG_REGPARM(3) void exact_reuse(Addr address, ULong base, ULong packed);
VG_REGPARM(3) void exact_reuse_maybe(Addr address, ULong id, ULong bytes);
/* With a sample of locations. */
VG_REGPARM(3) void exact_sampled_reuse_1(Addr address, ULong serial, ULong packed);
VG_REGPARM(3) void exact_sampled_reuse_2(Addr address, ULong serial, ULong packed);
VG_REGPARM(3) void exact_sampled_reuse_4(Addr address, ULong serial, ULong packed);
VG_REGPARM(3) void exact_sampled_reuse_8(Addr address, ULong serial, ULong packed);
VG_REGPARM(3) void exact_sampled_reuse(Addr address, ULong serial, ULong packed);
VG_REGPARM(3) void exact_sampled_reuse_maybe(Addr address, ULong which, ULong bytes);

/* Simulated caches. */
VG_REGPARM(3) void exact_cache(Addr address, struct exact_spot *spot, ULong bytes);

/* Trace; all do nothing without one. */
VG_REGPARM(3) void exact_trace_access(Addr address, ULong id, ULong bytes);
void exact_trace_init(void);
void exact_trace_wide(Addr address, ULong id, ULong bytes);
void exact_trace_ids(UInt base, UInt context, const struct exact_block *block);
void exact_trace_thread(ThreadId tid);
void exact_trace_end(void);
void exact_trace_forked(void);
void exact_trace_kernel(Addr address, UInt id, SizeT bytes, Bool store);
void exact_trace_forget(Addr address, SizeT bytes);

#endif
