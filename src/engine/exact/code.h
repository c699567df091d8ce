// SPDX-License-Identifier: GPL-2.0-or-later
/* Small steps in adding code to a block, for all files of the room that do. */
#ifndef HEADROOM_EXACT_CODE_H
#define HEADROOM_EXACT_CODE_H

#include <pub_tool_basics.h>
#include <pub_tool_machine.h>
#include <pub_tool_tooliface.h>

static inline IRExpr *constant(ULong value)
{
    return IRExpr_Const(IRConst_U64(value));
}

static inline IRExpr *assign(IRSB *out, IRType type, IRExpr *expression)
{
    IRTemp temp = newIRTemp(out->tyenv, type);
    addStmtToIRSB(out, IRStmt_WrTmp(temp, expression));
    return IRExpr_RdTmp(temp);
}

/* The 64-bit word at a constant address. */
static inline IRExpr *load_word(IRSB *out, const void *place)
{
    return assign(out, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, constant((Addr)place)));
}

static inline void add_call(IRSB *out, const HChar *name, void *function, Int regparms,
                            IRExpr **arguments, IRExpr *guard)
{
    IRDirty *dirty = unsafeIRDirty_0_N(regparms, name, VG_(fnptr_to_fnentry)(function), arguments);
    if (guard)
        dirty->guard = guard;
    addStmtToIRSB(out, IRStmt_Dirty(dirty));
}
#define CALL(out, regparms, function, arguments, guard)                                            \
    add_call(out, #function, (void *)(function), regparms, arguments, guard)

#endif
