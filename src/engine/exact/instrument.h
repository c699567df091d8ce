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

/*
 * An access that has happened, by its bytes; float_: by an instruction of floats. before: memory at the address before the store. It is
 * counted at once, or later_: written down for threads that count, or sampled_: with a sample of locations. Then most blocks are left
 * without a call, so that ids are looked up by the call, not at their heads; in place of the id stands *which* access it is: its
 * number in the block, and behind it the block's serial number.
 */
enum { EXACT_NUMBER_BITS = 10 };
#define EXACT_HELPERS(how, name)                                                                   \
    VG_REGPARM(2) void exact_##how##load_##name(Addr address, ULong id);                           \
    VG_REGPARM(3) void exact_##how##store_##name(Addr address, ULong id, ULong before);
#define EXACT_EACH_WIDTH(how)                                                                      \
    EXACT_HELPERS(how, 1) EXACT_HELPERS(how, 2) EXACT_HELPERS(how, 4) EXACT_HELPERS(how, 8)
EXACT_EACH_WIDTH()
EXACT_HELPERS(, float_4)
EXACT_HELPERS(, float_8)
EXACT_EACH_WIDTH(later_)
EXACT_HELPERS(later_, float_4)
EXACT_HELPERS(later_, float_8)
EXACT_EACH_WIDTH(sampled_)
#undef EXACT_EACH_WIDTH
#undef EXACT_HELPERS
/* Of any number of bytes; before a store exact_save has been called, or what it does has been done by added code. */
VG_REGPARM(3) void exact_load_wide(Addr address, ULong id, ULong bytes);
VG_REGPARM(3) void exact_store_wide(Addr address, ULong id, ULong bytes);
VG_REGPARM(3) void exact_sampled_load_wide(Addr address, ULong which, ULong bytes);
VG_REGPARM(3) void exact_sampled_store_wide(Addr address, ULong which, ULong bytes);
/* With a sample of locations: added code counts down to the end of an epoch. */
extern ULong exact_ticks;
void exact_epoch_over(void);

/*
 * Reuse, by bytes or of any number of them. base: id of the block's first access; with a sample of locations (sampled_) the block's serial
 * number. packed: the access's number in the block, behind it the accesses since exact_time was settled, and behind these the bytes if
 * the name does not say them. maybe: counts the access itself; id as above.
 */
enum { EXACT_PENDING_BITS = 11 };
#define EXACT_REUSE(how)                                                                           \
    VG_REGPARM(3) void exact_##how##reuse_1(Addr address, ULong base, ULong packed);               \
    VG_REGPARM(3) void exact_##how##reuse_2(Addr address, ULong base, ULong packed);               \
    VG_REGPARM(3) void exact_##how##reuse_4(Addr address, ULong base, ULong packed);               \
    VG_REGPARM(3) void exact_##how##reuse_8(Addr address, ULong base, ULong packed);               \
    VG_REGPARM(3) void exact_##how##reuse(Addr address, ULong base, ULong packed);                 \
    VG_REGPARM(3) void exact_##how##reuse_maybe(Addr address, ULong id, ULong bytes);
EXACT_REUSE()
EXACT_REUSE(sampled_)
#undef EXACT_REUSE

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
