// SPDX-License-Identifier: GPL-2.0-or-later
/* Between the code that is added to the program's (instrument.c) and what it calls (access.c). */
#ifndef HEADROOM_EXACT_INSTRUMENT_H
#define HEADROOM_EXACT_INSTRUMENT_H

#include "exact/exact.h"
#include <pub_tool_tooliface.h>

IRSB *exact_instrument(VgCallbackClosure *closure, IRSB *code, const VexGuestLayout *layout,
                       const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                       IRType host_word);

/* Memory before a store of more than 8 bytes; bytes beyond what fits are not kept. */
extern UChar exact_scratch[1024] __attribute__((aligned(64)));
VG_REGPARM(2) void exact_save(Addr address, ULong bytes);

/* An access that has happened; `before`: memory at the address before the store. */
VG_REGPARM(2) void exact_load_1(Addr address, ULong id);
VG_REGPARM(2) void exact_load_2(Addr address, ULong id);
VG_REGPARM(2) void exact_load_4(Addr address, ULong id);
VG_REGPARM(2) void exact_load_8(Addr address, ULong id);
VG_REGPARM(3) void exact_store_1(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_store_2(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_store_4(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_store_8(Addr address, ULong id, ULong before);
/* Of a sample of locations: added code counts down to the end of an epoch. */
extern ULong exact_ticks;
void exact_epoch_over(void);
/* The same of a sample of locations, to which wide ones see for themselves. */
VG_REGPARM(2) void exact_sampled_load_1(Addr address, ULong id);
VG_REGPARM(2) void exact_sampled_load_2(Addr address, ULong id);
VG_REGPARM(2) void exact_sampled_load_4(Addr address, ULong id);
VG_REGPARM(2) void exact_sampled_load_8(Addr address, ULong id);
VG_REGPARM(3) void exact_sampled_store_1(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_sampled_store_2(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_sampled_store_4(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_sampled_store_8(Addr address, ULong id, ULong before);
VG_REGPARM(3) void exact_load_wide(Addr address, ULong id, ULong bytes);
VG_REGPARM(3) void exact_store_wide(Addr address, ULong id, ULong bytes); /* exact_scratch */

/* Reuse. packed: bytes, and in the upper half the accesses since exact_time was settled. */
extern ULong exact_share;
VG_REGPARM(3) void exact_reuse(Addr address, ULong id, ULong packed);
VG_REGPARM(3) void exact_reuse_maybe(Addr address, ULong id, ULong bytes);

/* Simulated caches. */
VG_REGPARM(2) void exact_cache(Addr address, ULong bytes);

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
