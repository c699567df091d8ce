// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The last step of adding code: drops writes of the program's registers that nothing can see.
 *
 * VEX is set to write them at each instruction (main.c says why), as its flags too, four words for each that sets them. Where one is
 * written again before it is read, before the block can be left, and before anything that may fault, the former write is dropped, with what
 * computed it. Whoever handles a fault finds all registers as they were, so that it may go on with others. VEX's own removal
 * would take loads with it whose value is dropped: these stay here, their value is stored where nobody reads it.
 */
#include "exact/instrument.h"

#include "exact/code.h"

#include <libvex_guest_amd64.h>
#include <pub_tool_libcbase.h>

enum { STATE_BYTES = sizeof(VexGuestAMD64State), TEMPS_MAX = 1 << 16, STATEMENTS_MAX = 1 << 16 };

enum fate { DROP, KEEP, KEEP_VALUE };
static UChar fates[STATEMENTS_MAX];
static Bool used[TEMPS_MAX];          /* is the temp used behind the statement at hand? */
static Bool overwritten[STATE_BYTES]; /* is that byte written before anything sees it? */
static UChar unread[64] __attribute__((aligned(64)));

static void see_all(void)
{
    VG_(memset)(overwritten, False, sizeof overwritten);
}

/*
 * Where something may fault. Flags that are written again before they are read are all that a handler does not find as they were: no tool of
 * Valgrind's has them there.
 */
static void see_fault(void)
{
    enum {
        FLAGS = offsetof(VexGuestAMD64State, guest_CC_OP),
        FLAGS_END = offsetof(VexGuestAMD64State, guest_CC_NDEP) + sizeof(ULong)
    };
    _Static_assert(FLAGS_END - FLAGS == 4 * sizeof(ULong), "they are written together");
    VG_(memset)(overwritten, False, FLAGS);
    VG_(memset)(overwritten + FLAGS_END, False, sizeof overwritten - FLAGS_END);
}

/* See: it is read; else overwritten. */
static void set_range(Int offset, Int bytes, Bool to)
{
    for (Int i = offset < 0 ? 0 : offset; i < offset + bytes && i < STATE_BYTES; i++)
        overwritten[i] = to;
}

static Bool is_overwritten(Int offset, Int bytes)
{
    if (offset < 0 || offset + bytes > STATE_BYTES)
        return False;
    for (Int i = offset; i < offset + bytes; i++)
        if (!overwritten[i])
            return False;
    return True;
}

/* Statements are flat: operands of expressions are temps and constants. */
static void use(const IRExpr *expression)
{
    if (!expression)
        return;
    switch (expression->tag) {
    case Iex_RdTmp: used[expression->Iex.RdTmp.tmp] = True; break;
    case Iex_Get:
        set_range(expression->Iex.Get.offset, sizeofIRType(expression->Iex.Get.ty), False);
        break;
    case Iex_GetI:
        use(expression->Iex.GetI.ix);
        see_all();
        break;
    case Iex_Unop: use(expression->Iex.Unop.arg); break;
    case Iex_Binop:
        use(expression->Iex.Binop.arg1);
        use(expression->Iex.Binop.arg2);
        break;
    case Iex_Triop:
        use(expression->Iex.Triop.details->arg1);
        use(expression->Iex.Triop.details->arg2);
        use(expression->Iex.Triop.details->arg3);
        break;
    case Iex_Qop:
        use(expression->Iex.Qop.details->arg1);
        use(expression->Iex.Qop.details->arg2);
        use(expression->Iex.Qop.details->arg3);
        use(expression->Iex.Qop.details->arg4);
        break;
    case Iex_Load: use(expression->Iex.Load.addr); break;
    case Iex_ITE:
        use(expression->Iex.ITE.cond);
        use(expression->Iex.ITE.iftrue);
        use(expression->Iex.ITE.iffalse);
        break;
    case Iex_CCall:
        for (Int i = 0; expression->Iex.CCall.args[i]; i++)
            use(expression->Iex.CCall.args[i]);
        break;
    default: break;
    }
}

static void use_of_dirty(const IRDirty *dirty)
{
    use(dirty->guard);
    for (Int i = 0; dirty->args[i]; i++)
        if (!is_IRExpr_VECRET_or_GSPTR(dirty->args[i]))
            use(dirty->args[i]);
    if (dirty->mFx != Ifx_None)
        use(dirty->mAddr);
    /* Helpers of this room have neither; they are called where accesses have just succeeded. */
    if (dirty->nFxState > 0 || dirty->mFx != Ifx_None)
        see_all();
}

static Bool may_fault(const IRExpr *expression)
{
    if (expression->tag == Iex_Load)
        return True;
    if (expression->tag != Iex_Binop)
        return False;
    switch (expression->Iex.Binop.op) {
    case Iop_DivU32:
    case Iop_DivS32:
    case Iop_DivU64:
    case Iop_DivS64:
    case Iop_DivU32E:
    case Iop_DivS32E:
    case Iop_DivU64E:
    case Iop_DivS64E:
    case Iop_DivModU64to32:
    case Iop_DivModS64to32:
    case Iop_DivModU128to64:
    case Iop_DivModS128to64:
    case Iop_DivModS64to64:
    case Iop_DivModU64to64:
    case Iop_DivModS32to32:
    case Iop_DivModU32to32: return True;
    default: return False;
    }
}

static enum fate fate_of_assignment(const IRStmt *statement)
{
    const IRExpr *data = statement->Ist.WrTmp.data;
    Bool is_used = used[statement->Ist.WrTmp.tmp], faults = may_fault(data);
    if (!is_used && !faults)
        return DROP;
    if (faults)
        see_fault();
    use(data);
    return is_used ? KEEP : KEEP_VALUE;
}

static enum fate fate_of_put(const IRTypeEnv *types, const IRStmt *statement)
{
    Int offset = statement->Ist.Put.offset;
    Int bytes = sizeofIRType(typeOfIRExpr(types, statement->Ist.Put.data));
    if (is_overwritten(offset, bytes))
        return DROP;
    set_range(offset, bytes, True);
    use(statement->Ist.Put.data);
    return KEEP;
}

/* From the end on. */
static enum fate fate_of(const IRSB *code, const IRStmt *statement)
{
    Bool next;
    switch (statement->tag) {
    case Ist_NoOp: return DROP;
    case Ist_IMark: return KEEP;
    case Ist_AbiHint:
        use(statement->Ist.AbiHint.base);
        use(statement->Ist.AbiHint.nia);
        return KEEP;
    case Ist_WrTmp: return fate_of_assignment(statement);
    case Ist_Put: return fate_of_put(code->tyenv, statement);
    case Ist_Exit:
        /* The exit writes the instruction pointer itself; where it is not taken all is as behind it. */
        next = is_overwritten(code->offsIP, sizeof(Addr));
        see_all();
        set_range(code->offsIP, sizeof(Addr), next);
        use(statement->Ist.Exit.guard);
        return KEEP;
    case Ist_Dirty: use_of_dirty(statement->Ist.Dirty.details); return KEEP;
    case Ist_Store:
        use(statement->Ist.Store.addr);
        use(statement->Ist.Store.data);
        break;
    case Ist_StoreG:
        use(statement->Ist.StoreG.details->addr);
        use(statement->Ist.StoreG.details->data);
        use(statement->Ist.StoreG.details->guard);
        break;
    case Ist_LoadG:
        use(statement->Ist.LoadG.details->addr);
        use(statement->Ist.LoadG.details->alt);
        use(statement->Ist.LoadG.details->guard);
        break;
    case Ist_CAS:
        use(statement->Ist.CAS.details->addr);
        use(statement->Ist.CAS.details->expdHi);
        use(statement->Ist.CAS.details->expdLo);
        use(statement->Ist.CAS.details->dataHi);
        use(statement->Ist.CAS.details->dataLo);
        break;
    case Ist_LLSC:
        use(statement->Ist.LLSC.addr);
        use(statement->Ist.LLSC.storedata);
        break;
    case Ist_PutI:
        use(statement->Ist.PutI.details->ix);
        use(statement->Ist.PutI.details->data);
        return KEEP;
    default: see_all(); return KEEP;
    }
    see_fault();
    return KEEP;
}

/* VEX cannot store 128-bit integers, which divisions yield: half of one keeps it. */
static void keep_value(IRSB *out, IRTemp temp)
{
    IRExpr *value = IRExpr_RdTmp(temp);
    if (typeOfIRTemp(out->tyenv, temp) == Ity_I128)
        value = assign(out, Ity_I64, IRExpr_Unop(Iop_128to64, value));
    addStmtToIRSB(out, IRStmt_Store(Iend_LE, constant((Addr)unread), value));
}

IRSB *exact_drop_unseen(IRSB *code)
{
    if (code->stmts_used > STATEMENTS_MAX || code->tyenv->types_used > TEMPS_MAX)
        return code;
    VG_(memset)(used, False, (SizeT)code->tyenv->types_used * sizeof *used);
    see_all();
    set_range(code->offsIP, sizeof(Addr), True); /* by the block's end */
    use(code->next);
    for (Int i = code->stmts_used; i-- > 0;)
        fates[i] = (UChar)fate_of(code, code->stmts[i]);
    IRSB *out = deepCopyIRSBExceptStmts(code);
    for (Int i = 0; i < code->stmts_used; i++) {
        if (fates[i] != DROP)
            addStmtToIRSB(out, code->stmts[i]);
        if (fates[i] == KEEP_VALUE)
            keep_value(out, code->stmts[i]->Ist.WrTmp.tmp);
    }
    return out;
}
