// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code added to follow paths: where a block of a known function begins the state goes on. Mostly it
 * goes where it went lately, which the state itself knows: a load and a comparison. Heads of loops
 * and entries, where something is counted, call a helper. Blocks of the graph are not VEX's: these
 * end after so many instructions, begin where a call returns, or run through several of the
 * graph's.
 */
#include "exact/path.h"

#include "exact/code.h"

#include <libvex_guest_amd64.h>

/* ---- outside --------------------------------------------------------------------------------- */

static void add_to(IRSB *out, ULong *counter, UInt amount)
{
    if (!amount)
        return;
    IRExpr *sum =
        assign(out, Ity_I64, IRExpr_Binop(Iop_Add64, load_word(out, counter), constant(amount)));
    addStmtToIRSB(out, IRStmt_Store(Iend_LE, constant((Addr)counter), sum));
}

void exact_follow_settle(struct exact_follow *follow)
{
    add_to(follow->out, &exact_path_totals.instructions, follow->instructions);
    add_to(follow->out, &exact_path_totals.loads, follow->loads);
    add_to(follow->out, &exact_path_totals.stores, follow->stores);
    follow->instructions = follow->loads = follow->stores = 0;
}

/* A function that is known was left by a jump: a tail call. */
static void go_outside(struct exact_follow *follow)
{
    IRSB *out = follow->out;
    IRExpr *state = load_word(out, &exact_path);
    IRExpr *kind_at = assign(
        out, Ity_I64, IRExpr_Binop(Iop_Add64, state, constant(offsetof(struct exact_state, kind))));
    IRExpr *kind = assign(out, Ity_I32, IRExpr_Load(Iend_LE, Ity_I32, kind_at));
    IRExpr *within = assign(
        out, Ity_I1, IRExpr_Binop(Iop_CmpLT32U, IRExpr_Const(IRConst_U32(EXACT_SITE)), kind));
    CALL(out, 0, exact_path_outside, mkIRExprVec_0(), within);
}

/* ---- within ---------------------------------------------------------------------------------- */

static IRExpr *and_word(IRSB *out, IRExpr *left, IRExpr *right)
{
    return assign(out, Ity_I64, IRExpr_Binop(Iop_And64, left, right));
}

static IRExpr *plus_word(IRSB *out, IRExpr *left, IRExpr *right)
{
    return assign(out, Ity_I64, IRExpr_Binop(Iop_Add64, left, right));
}

static void add_to_word(IRSB *out, IRExpr *place, IRExpr *amount)
{
    IRExpr *before = assign(out, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, place));
    addStmtToIRSB(out, IRStmt_Store(Iend_LE, place, plus_word(out, before, amount)));
}

static IRExpr *state_at(IRSB *out, IRExpr *number)
{
    IRExpr *offset =
        assign(out, Ity_I64,
               IRExpr_Binop(Iop_Shl64, number, IRExpr_Const(IRConst_U8((UChar)EXACT_STATE_SHIFT))));
    return plus_word(out, offset, constant((Addr)exact_states));
}

/*
 * The state in the slot counts an execution, and a path begins anew behind it, or it is where the
 * path goes on: both without a jump, by a mask. other: the slot is another block's; nothing happens
 * then.
 */
static IRExpr *add_counting(IRSB *out, IRExpr *slot, IRExpr *other)
{
    IRExpr *flag = assign(out, Ity_I64,
                          IRExpr_Binop(Iop_Shr64, and_word(out, slot, constant(EXACT_COUNTS)),
                                       IRExpr_Const(IRConst_U8(31))));
    IRExpr *once = assign(out, Ity_I64, IRExpr_ITE(other, constant(0), flag));
    IRExpr *state = state_at(out, and_word(out, slot, constant(EXACT_COUNTS - 1)));
    add_to_word(out, plus_word(out, state, constant(offsetof(struct exact_state, count))), once);
    if (exact_options.caches_count) {
        IRExpr *mask = assign(out, Ity_I64, IRExpr_Binop(Iop_Sub64, constant(0), once));
        IRExpr *before = load_word(out, &exact_misses);
        IRExpr *misses = and_word(out, before, mask);
        add_to_word(out, plus_word(out, state, constant(offsetof(struct exact_state, misses))),
                    misses);
        IRExpr *rest = assign(out, Ity_I64, IRExpr_Binop(Iop_Sub64, before, misses));
        addStmtToIRSB(out, IRStmt_Store(Iend_LE, constant((Addr)&exact_misses), rest));
    }
    IRExpr *next_at = plus_word(out, state, constant(offsetof(struct exact_state, next)));
    IRExpr *next = assign(out, Ity_I32, IRExpr_Load(Iend_LE, Ity_I32, next_at));
    return state_at(out, assign(out, Ity_I64, IRExpr_Unop(Iop_32Uto64, next)));
}

/* counts: some of the ways to the block may end a path. */
static void add_step(IRSB *out, UInt block, Bool counts)
{
    IRExpr *from = load_word(out, &exact_path);
    IRExpr *slot_at = plus_word(
        out, from,
        constant(offsetof(struct exact_state, slots) + block % EXACT_SLOTS * sizeof(ULong)));
    IRExpr *slot = assign(out, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, slot_at));
    IRExpr *key = assign(out, Ity_I32, IRExpr_Unop(Iop_64HIto32, slot));
    IRExpr *other =
        assign(out, Ity_I1, IRExpr_Binop(Iop_CmpNE32, key, IRExpr_Const(IRConst_U32(block + 1))));
    IRTemp found = newIRTemp(out->tyenv, Ity_I64);
    IRDirty *dirty =
        unsafeIRDirty_1_N(found, 1, "exact_path_step", VG_(fnptr_to_fnentry)(exact_path_step),
                          mkIRExprVec_1(constant(block)));
    dirty->guard = other;
    addStmtToIRSB(out, IRStmt_Dirty(dirty));
    IRExpr *next = counts ? add_counting(out, slot, other)
                          : state_at(out, and_word(out, slot, constant(0xffffffff)));
    IRExpr *now = assign(out, Ity_I64, IRExpr_ITE(other, IRExpr_RdTmp(found), next));
    addStmtToIRSB(out, IRStmt_Store(Iend_LE, constant((Addr)&exact_path), now));
}

static Bool is_call(Addr ip)
{
    const UChar *byte = (const UChar *)ip;
    while (*byte == 0xf2 || *byte == 0x3e || *byte >> 4 == 4) /* bnd, notrack, rex */
        byte++;
    return *byte == 0xe8 || (*byte == 0xff && (byte[1] >> 3 & 7) == 2);
}

/* Bytes of a repeated string instruction; 0: it is another one. */
static UInt repeated_bytes(Addr ip)
{
    const UChar *first = (const UChar *)ip, *byte = first;
    Bool repeated = False;
    for (; *byte == 0xf2 || *byte == 0xf3 || *byte == 0x66 || *byte == 0x67 || *byte >> 4 == 4;
         byte++)
        repeated = repeated || *byte == 0xf2 || *byte == 0xf3;
    Bool string = (*byte >= 0xa4 && *byte <= 0xa7) || (*byte >= 0xaa && *byte <= 0xaf);
    return repeated && string ? (UInt)(byte + 1 - first) : 0;
}

/*
 * Where the state goes on. VEX comes back to a repeated string instruction for every item; if the
 * block also leads to itself, that would be the same as going round once more, so it is the second
 * instruction that counts.
 */
static Addr step_address(const struct exact_place *place)
{
    UInt bytes = repeated_bytes(place->start);
    if (bytes && place->block->bytes > bytes && exact_graph_edge(place->number, place->number))
        return place->start + bytes;
    return place->start;
}

void exact_follow_instruction(struct exact_follow *follow, Addr ip)
{
    struct exact_place place;
    Bool known = exact_graph_find(ip, &place);
    follow->ip = ip;
    follow->stops = False;
    if (!known) {
        if (!follow->outside)
            go_outside(follow);
        follow->outside = True;
        follow->instructions++;
        return;
    }
    if (follow->outside)
        exact_follow_settle(follow);
    follow->outside = False;
    if (ip == step_address(&place))
        add_step(follow->out, place.number,
                 place.block->number == 0 || place.block->flags & WIRE_GRAPH_CUT_INTO);
    follow->stops = place.block->flags & WIRE_GRAPH_STOPS && ip - place.start == place.block->last;
    if (follow->stops && !is_call(ip)) /* a trap */
        CALL(follow->out, 0, exact_path_stop, mkIRExprVec_0(), NULL);
}

/* ---- accesses -------------------------------------------------------------------------------- */

static Bool has_first_way(void)
{
    const struct cache *cache = &exact_caches.caches[0];
    return cache->tags && cache->sets > 1 && (cache->sets & (cache->sets - 1)) == 0;
}

/*
 * Is the access's line not the one used last of its set? If it is the cache stays as it is. For an
 * access that reaches into the next line, which belongs to the next set, the comparison fails by
 * itself.
 */
static IRExpr *not_first(IRSB *out, IRExpr *address, UInt bytes)
{
    const struct cache *cache = &exact_caches.caches[0];
    IRExpr *shift = IRExpr_Const(IRConst_U8((UChar)CACHE_LINE_SHIFT));
    IRExpr *line = assign(out, Ity_I64, IRExpr_Binop(Iop_Shr64, address, shift));
    IRExpr *set = and_word(out, line, constant(cache->sets - 1));
    IRExpr *offset = assign(
        out, Ity_I64, IRExpr_Binop(Iop_Mul64, set, constant(cache->ways * sizeof *cache->tags)));
    IRExpr *tag_at = plus_word(out, offset, constant((Addr)cache->tags));
    IRExpr *tag = assign(out, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, tag_at));
    IRExpr *behind = plus_word(out, address, constant(CACHE_LINE_BYTES + bytes - 1));
    IRExpr *wanted = assign(out, Ity_I64, IRExpr_Binop(Iop_Shr64, behind, shift)); /* line + 1 */
    return assign(out, Ity_I1, IRExpr_Binop(Iop_CmpNE64, tag, wanted));
}

/* The same for other shapes: not all in the line touched last. */
static IRExpr *not_last(IRSB *out, IRExpr *address, UInt bytes)
{
    IRExpr *beyond =
        assign(out, Ity_I64, IRExpr_Binop(Iop_Sub64, address, load_word(out, &exact_last_line)));
    return assign(out, Ity_I1,
                  IRExpr_Binop(Iop_CmpLT64U, constant(CACHE_LINE_BYTES - bytes), beyond));
}

void exact_follow_access(struct exact_follow *follow, IRExpr *address, UInt bytes, Bool store,
                         IRExpr *guard)
{
    IRSB *out = follow->out;
    follow->loads += follow->outside && !store;
    follow->stores += follow->outside && store;
    if (!exact_options.caches_count)
        return;
    if (!guard && bytes <= CACHE_LINE_BYTES) {
        IRExpr *beyond = assign(out, Ity_I64,
                                IRExpr_Binop(Iop_Sub64, address, load_word(out, &exact_last_line)));
        guard = assign(out, Ity_I1,
                       IRExpr_Binop(Iop_CmpLT64U, constant(CACHE_LINE_BYTES - bytes), beyond));
    }
    CALL(out, 2, exact_l1, mkIRExprVec_2(address, constant(bytes)), guard);
}

/* ---- ends ------------------------------------------------------------------------------------ */

void exact_follow_end(struct exact_follow *follow, Addr after)
{
    IRSB *out = follow->out;
    exact_follow_settle(follow);
    if (out->jumpkind != Ijk_Call && out->jumpkind != Ijk_Ret)
        return;
    IRExpr *sp = assign(out, Ity_I64, IRExpr_Get(offsetof(VexGuestAMD64State, guest_RSP), Ity_I64));
    if (out->jumpkind == Ijk_Call)
        CALL(out, 3, exact_path_call,
             mkIRExprVec_3(sp, constant(after),
                           constant((Addr)exact_site_for(after, follow->stops))),
             NULL);
    else
        CALL(out, 2, exact_path_return, mkIRExprVec_2(sp, out->next), NULL);
}
