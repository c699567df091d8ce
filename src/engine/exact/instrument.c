// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Adds code to the program's blocks: at the head of a block the ids of its accesses under
 * the current context are looked up (one comparison if the context is that of the last time), after
 * every access a helper is called with (address, id, memory before a store). The
 * old value is loaded by added code before the store, so that a fault happens in the program's
 * place; helpers read memory only where an access has just succeeded.
 *
 * Blocks end at calls (main.c switches VEX's chasing off), so that contexts change between
 * blocks only.
 */
#include "exact/instrument.h"

#include "exact/code.h"
#include "exact/jobs.h"
#include "exact/path.h"
#include "exact/sharing.h"
#include "exact/window.h"

#include "isa/element.h"
#include <libvex_guest_amd64.h>
#include <pub_tool_debuginfo.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>

/* ---- blocks ------------------------------------------------------------------------------ */

enum { BUCKETS = 1 << 16, BLOCKS_MAX = 1 << 26, ACCESSES_MAX = 1024 };

static struct exact_block *buckets[BUCKETS];
static struct exact_block **blocks; /* by serial */
static UInt blocks_count;

void exact_blocks_init(void)
{
    blocks = exact_reserve((SizeT)BLOCKS_MAX * sizeof(struct exact_block *));
    if (!blocks)
        exact_fail("the address space for blocks of code was refused");
}

struct exact_block *exact_block_for(Addr start, const struct exact_access *accesses, UInt count)
{
    /* Another library may have come to the same place. */
    UInt module = exact_module_of(start);
    ULong hash = base_hash_bytes(accesses, count * sizeof *accesses, start ^ (ULong)module << 48);
    struct exact_block **bucket = &buckets[hash % BUCKETS];
    for (struct exact_block *known = *bucket; known; known = known->next)
        if (known->hash == hash && known->start == start && known->count == count &&
            known->module == module)
            return known;
    tl_assert2(blocks_count < BLOCKS_MAX, "headroom: too much code\n");
    struct exact_block *block =
        VG_(calloc)("headroom.block", 1, sizeof *block + count * sizeof *accesses);
    exact_block_begin_contexts(block);
    block->serial = blocks_count;
    block->count = count;
    block->module = module;
    block->start = start;
    block->hash = hash;
    block->next = *bucket;
    VG_(memcpy)(block->accesses, accesses, count * sizeof *accesses);
    *bucket = block;
    blocks[blocks_count++] = block;
    return block;
}

struct exact_block *exact_block_number(UInt serial)
{
    return blocks[serial];
}

UInt exact_blocks_count(void)
{
    return blocks_count;
}

/* ---- the accesses of a block --------------------------------------------------------------- */

/* What a statement does to memory: at most one load and one store. */
struct effect {
    IRExpr *address;
    UInt load, store; /* bytes; 0: none */
};

static UInt expression_bytes(const IRTypeEnv *types, const IRExpr *expression)
{
    return (UInt)sizeofIRType(typeOfIRExpr(types, expression));
}

static UInt loadg_bytes(IRLoadGOp conversion)
{
    IRType result, loaded;
    typeOfIRLoadGOp(conversion, &result, &loaded);
    return (UInt)sizeofIRType(loaded);
}

static struct effect effect_of(const IRTypeEnv *types, const IRStmt *statement)
{
    struct effect effect = {NULL, 0, 0};
    switch (statement->tag) {
    case Ist_WrTmp: {
        const IRExpr *data = statement->Ist.WrTmp.data;
        if (data->tag == Iex_Load) {
            effect.address = data->Iex.Load.addr;
            effect.load = (UInt)sizeofIRType(data->Iex.Load.ty);
        }
        break;
    }
    case Ist_Store:
        effect.address = statement->Ist.Store.addr;
        effect.store = expression_bytes(types, statement->Ist.Store.data);
        break;
    case Ist_LoadG:
        effect.address = statement->Ist.LoadG.details->addr;
        effect.load = loadg_bytes(statement->Ist.LoadG.details->cvt);
        break;
    case Ist_StoreG:
        effect.address = statement->Ist.StoreG.details->addr;
        effect.store = expression_bytes(types, statement->Ist.StoreG.details->data);
        break;
    case Ist_CAS: {
        const IRCAS *cas = statement->Ist.CAS.details;
        effect.address = cas->addr;
        effect.load = expression_bytes(types, cas->dataLo) * (cas->dataHi ? 2 : 1);
        effect.store = effect.load;
        break;
    }
    case Ist_Dirty: {
        const IRDirty *dirty = statement->Ist.Dirty.details;
        if (dirty->mFx == Ifx_None)
            break;
        effect.address = dirty->mAddr;
        if (dirty->mFx == Ifx_Read || dirty->mFx == Ifx_Modify)
            effect.load = (UInt)dirty->mSize;
        if (dirty->mFx == Ifx_Write || dirty->mFx == Ifx_Modify)
            effect.store = (UInt)dirty->mSize;
        break;
    }
    default: break;
    }
    return effect;
}

/* Accesses by number, and the number of the n-th that happens: a loop that VEX unrolled has the
   same instruction several times. */
struct found {
    struct exact_access accesses[ACCESSES_MAX];
    UInt ordinals[ACCESSES_MAX];
    UInt count;
    UShort numbers[ACCESSES_MAX]; /* NOT_AN_ACCESS: VEX's, not the program's */
    UInt happen;
    Bool locked[ACCESSES_MAX]; /* by a locked instruction: all of its accesses share as one */
};
enum { NOT_AN_ACCESS = ACCESSES_MAX };
static struct found found;

static UChar element_code(Addr ip, UInt length, UInt bytes)
{
    struct isa_element_type type = isa_element_type((const uint8_t *)ip, length, bytes);
    return (UChar)(type.bytes | (type.is_float ? SHADOW_FLOAT : 0));
}

/* At most SHADOW_BYTES_MAX are one access: state saved by fxsave and xsave is longer. */
static void note_access(Addr ip, UInt length, UInt ordinal, UInt bytes, Bool store)
{
    tl_assert2(found.happen < ACCESSES_MAX, "headroom: too many accesses in a block\n");
    for (UInt i = found.count; i-- > 0;)
        if (found.accesses[i].ip == ip && found.ordinals[i] == ordinal &&
            found.accesses[i].bytes == bytes && found.accesses[i].store == store) {
            found.numbers[found.happen++] = (UShort)i;
            return;
        }
    struct exact_access *access = &found.accesses[found.count];
    VG_(memset)(access, 0, sizeof *access); /* padding is hashed */
    access->ip = ip;
    access->bytes = (UShort)bytes;
    access->store = store;
    access->element = element_code(ip, length, bytes);
    found.ordinals[found.count] = ordinal;
    found.locked[found.count] = False;
    found.numbers[found.happen++] = (UShort)found.count++;
}

/* All accesses of the instruction. */
static void note_locked(Addr ip)
{
    for (UInt i = found.count; i-- > 0 && found.accesses[i].ip == ip;)
        found.locked[i] = True;
}

static void note_nothing(void)
{
    tl_assert2(found.happen < ACCESSES_MAX, "headroom: too many accesses in a block\n");
    found.numbers[found.happen++] = NOT_AN_ACCESS;
}

/* bt, bts, btr, btc of registers: VEX puts the register on the program's stack to find the bit. */
static Bool is_bit_of_register(Addr ip, UInt length)
{
    const UChar *byte = (const UChar *)ip, *end = byte + length;
    while (byte < end && (*byte == 0x66 || *byte == 0xf2 || *byte == 0xf3 || *byte >> 4 == 4))
        byte++;
    return end - byte == 3 && byte[0] == 0x0f && (byte[1] & 0xe7) == 0xa3 && byte[2] >= 0xc0;
}

/* Of a locked instruction VEX makes a load, the operation, and a compare-and-swap with what was
   loaded: one load. That of cmpxchg has no load before. */
static Bool is_loaded_before(const IRSB *code, Int at)
{
    const IRExpr *expected = code->stmts[at]->Ist.CAS.details->expdLo;
    for (Int i = at; expected->tag == Iex_RdTmp && code->stmts[i]->tag != Ist_IMark; i--)
        if (code->stmts[i]->tag == Ist_WrTmp &&
            code->stmts[i]->Ist.WrTmp.tmp == expected->Iex.RdTmp.tmp)
            return code->stmts[i]->Ist.WrTmp.data->tag == Iex_Load;
    return False;
}

static void find_accesses(const IRSB *code)
{
    Addr ip = 0, last_ip = 0;
    UInt length = 0, ordinal = 0;
    Bool invented = False;
    found.count = found.happen = 0;
    for (Int i = 0; i < code->stmts_used; i++) {
        const IRStmt *statement = code->stmts[i];
        if (statement->tag == Ist_IMark) {
            ip = statement->Ist.IMark.addr + statement->Ist.IMark.delta;
            length = statement->Ist.IMark.len;
            ordinal = 0;
            last_ip = ip;
            invented = is_bit_of_register(ip, length);
            continue;
        }
        struct effect effect = effect_of(code->tyenv, statement);
        if (effect.load && (invented || (statement->tag == Ist_CAS && is_loaded_before(code, i))))
            note_nothing();
        else if (effect.load)
            note_access(ip, length, ordinal++, effect.load, False);
        if (effect.store && invented)
            note_nothing();
        else if (effect.store)
            note_access(ip, length, ordinal++, effect.store, True);
        if (statement->tag == Ist_CAS)
            note_locked(ip);
    }
    /* The return address: pushed by a call, popped by a return. */
    for (UInt i = 0; i < found.count; i++) {
        struct exact_access *access = &found.accesses[i];
        if (access->ip != last_ip || access->bytes != sizeof(Addr))
            continue;
        if (code->jumpkind == Ijk_Call && access->store)
            access->flags = WIRE_NODE_CALL;
        if (code->jumpkind == Ijk_Ret && !access->store)
            access->flags = WIRE_NODE_RETURN;
    }
}

/* ---- added code ---------------------------------------------------------------------------- */

/* With a sample of locations: what has been computed for an address. Instructions that load and store have it twice. */
enum { LOCATED = 4 };
struct located {
    IRTemp address; /* + offset */
    UInt offset;
    IRExpr *known; /* number of the location's state, I64; NULL: nothing here */
};

struct builder {
    IRSB *out;
    struct exact_block *block;
    IRTemp base;  /* id of access 0, I64 */
    UInt next;    /* of found.numbers */
    UInt pending; /* accesses since exact_time was brought up to date */
    struct located located[LOCATED];
    UInt located_turn;
    struct exact_follow follow;
    struct exact_windowing windowing;
};

static void begin_block(struct builder *builder)
{
    IRSB *out = builder->out;
    IRExpr *now =
        assign(out, Ity_I32, IRExpr_Load(Iend_LE, Ity_I32, constant((Addr)&exact_current)));
    IRExpr *then = assign(out, Ity_I32,
                          IRExpr_Load(Iend_LE, Ity_I32, constant((Addr)&builder->block->context)));
    IRExpr *other = assign(out, Ity_I1, IRExpr_Binop(Iop_CmpNE32, now, then));
    CALL(out, 1, exact_enter_block, mkIRExprVec_1(constant((Addr)builder->block)), other);
    builder->base = newIRTemp(out->tyenv, Ity_I64);
    addStmtToIRSB(
        out, IRStmt_WrTmp(builder->base,
                          IRExpr_Load(Iend_LE, Ity_I64, constant((Addr)&builder->block->base))));
}

static Bool reuse_is_sampled(void)
{
    return exact_options.unit_shift >= 0 && exact_options.share >> 32 == 0;
}

/* Does anything need the ids of accesses, whatever they touch? */
static Bool needs_ids(void)
{
    return exact_options.trace || exact_options.sharing ||
           (exact_options.kinds && !exact_shadow.locations) ||
           (exact_options.unit_shift >= 0 && !reuse_is_sampled());
}

/* For helpers of a sample of locations. */
static IRExpr *which_of(const struct builder *builder, UInt number)
{
    return constant((ULong)builder->block->serial << EXACT_NUMBER_BITS | number);
}

static IRExpr *id_of(struct builder *builder, UInt number)
{
    if (number == 0)
        return IRExpr_RdTmp(builder->base);
    return assign(builder->out, Ity_I64,
                  IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(builder->base), constant(number)));
}

/* Time of reuse is brought up to date wherever the block may be left. */
static void settle_time(struct builder *builder)
{
    if (!builder->pending)
        return;
    IRExpr *address = constant((Addr)&exact_time);
    IRExpr *before = assign(builder->out, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, address));
    IRExpr *after =
        assign(builder->out, Ity_I64, IRExpr_Binop(Iop_Add64, before, constant(builder->pending)));
    addStmtToIRSB(builder->out, IRStmt_Store(Iend_LE, address, after));
    builder->pending = 0;
}

/* Does the sample of locations hold the access? As distance_keeps, in one comparison; true also where it may reach
   into another location. NULL: it does so always. */
static IRExpr *kept(struct builder *builder, IRExpr *address, UInt bytes)
{
    IRSB *out = builder->out;
    ULong unit = 1ULL << exact_options.unit_shift;
    if (bytes > unit)
        return NULL;
    IRExpr *location =
        assign(out, Ity_I64,
               IRExpr_Binop(Iop_Shr64, address,
                            IRExpr_Const(IRConst_U8((UChar)exact_options.unit_shift))));
    IRExpr *product = assign(
        out, Ity_I64, IRExpr_Binop(Iop_Mul64, location, constant(UINT64_C(0x9e3779b97f4a7c15))));
    IRExpr *below = constant(exact_options.share << 32);
    if (bytes <= 1)
        return assign(out, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, product, below));
    /* How many units behind the first the last byte is in, 0 or 1, less one: 1 makes the product 0, which is below any share. */
    IRExpr *offset = assign(out, Ity_I64, IRExpr_Binop(Iop_And64, address, constant(unit - 1)));
    IRExpr *last = assign(out, Ity_I64, IRExpr_Binop(Iop_Add64, offset, constant(bytes - 1)));
    IRExpr *crosses = assign(
        out, Ity_I64,
        IRExpr_Binop(Iop_Shr64, last, IRExpr_Const(IRConst_U8((UChar)exact_options.unit_shift))));
    IRExpr *mask = assign(out, Ity_I64, IRExpr_Binop(Iop_Sub64, crosses, constant(1)));
    IRExpr *in = assign(out, Ity_I64, IRExpr_Binop(Iop_And64, product, mask));
    return assign(out, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, in, below));
}

/*
 * With a sample of locations: the state of that of the address. Bits of the address above those that the table of locations covers are cut
 * off: with another location in its place, an access beyond may not be counted as outside. The state may be older than an access of the
 * block that was handed over: whether it was unknown then, or that access has left or taken away what is awaited, at worst the next one is
 * handed over in vain.
 */
static IRExpr *read_state(IRSB *out, IRExpr *address, UInt offset)
{
    enum { CUT = 21 };
    _Static_assert(EXACT_PROGRAM_END == UINT64_C(1) << (64 - CUT),
                   "all addresses below are followed");
    if (offset)
        address = assign(out, Ity_I64, IRExpr_Binop(Iop_Add64, address, constant(offset)));
    IRExpr *low =
        assign(out, Ity_I64, IRExpr_Binop(Iop_Shl64, address, IRExpr_Const(IRConst_U8(CUT))));
    IRExpr *number =
        assign(out, Ity_I64,
               IRExpr_Binop(Iop_Shr64, low, IRExpr_Const(IRConst_U8(CUT + SHADOW_LOCATION_SHIFT))));
    IRExpr *twice =
        assign(out, Ity_I64, IRExpr_Binop(Iop_Shl64, number, IRExpr_Const(IRConst_U8(1))));
    IRExpr *place = assign(out, Ity_I64,
                           IRExpr_Binop(Iop_Add64, constant((Addr)exact_shadow.locations), twice));
    IRExpr *known = assign(out, Ity_I16, IRExpr_Load(Iend_LE, Ity_I16, place));
    return assign(out, Ity_I64, IRExpr_Unop(Iop_16Uto64, known));
}

static IRExpr *state_of(struct builder *builder, IRExpr *address, UInt offset)
{
    if (address->tag != Iex_RdTmp)
        return read_state(builder->out, address, offset);
    for (UInt i = 0; i < LOCATED; i++) {
        const struct located *located = &builder->located[i];
        if (located->known && located->address == address->Iex.RdTmp.tmp &&
            located->offset == offset)
            return located->known;
    }
    IRExpr *known = read_state(builder->out, address, offset);
    builder->located[builder->located_turn++ % LOCATED] =
        (struct located){address->Iex.RdTmp.tmp, offset, known};
    return known;
}

/* 1 if such accesses to the location of the address are handed over, else 0. */
static IRExpr *drawn(struct builder *builder, IRExpr *address, UInt offset, Bool store)
{
    IRSB *out = builder->out;
    IRExpr *wide = state_of(builder, address, offset);
    IRExpr *at =
        assign(out, Ity_I64,
               IRExpr_Binop(Iop_Add64, wide, constant((Addr)exact_shadow.handed[store != False])));
    IRExpr *byte = assign(out, Ity_I8, IRExpr_Load(Iend_LE, Ity_I8, at));
    return assign(out, Ity_I64, IRExpr_Unop(Iop_8Uto64, byte));
}

static IRExpr *either(IRSB *out, IRExpr *one, IRExpr *other)
{
    return assign(out, Ity_I64, IRExpr_Binop(Iop_Or64, one, other));
}

/*
 * Must an access be handed to shadow, if it happens? As shadow_is_left_out; but short ones that reach into a second location always,
 * because they are few: the addresses of their first and last bytes differ in the fifth bit.
 */
static IRExpr *handed(struct builder *builder, IRExpr *address, UInt bytes, Bool store,
                      IRExpr *guard)
{
    enum { LOCATION = 1 << SHADOW_LOCATION_SHIFT, SHORT = 8, MOST_BYTES = 2 * LOCATION };
    IRSB *out = builder->out;
    if (!exact_shadow.locations || bytes > MOST_BYTES)
        return guard;
    IRExpr *any = drawn(builder, address, 0, store);
    if (bytes > 1 && bytes <= SHORT) {
        IRExpr *last = assign(out, Ity_I64, IRExpr_Binop(Iop_Add64, address, constant(bytes - 1)));
        IRExpr *differ = assign(out, Ity_I64, IRExpr_Binop(Iop_Xor64, last, address));
        any = either(out, assign(out, Ity_I64, IRExpr_Binop(Iop_And64, differ, constant(LOCATION))),
                     any);
    }
    if (bytes > LOCATION)
        any = either(out, any, drawn(builder, address, LOCATION, store));
    if (bytes > SHORT)
        any = either(out, any, drawn(builder, address, bytes - 1, store));
    IRExpr *matters = assign(out, Ity_I1, IRExpr_Unop(Iop_CmpNEZ64, any));
    return guard ? assign(out, Ity_I1, IRExpr_Binop(Iop_And1, matters, guard)) : matters;
}

/* Does the block end with a call, or can it jump back to its start or before? Then something is done again. */
static Bool is_tick(const IRSB *code, Addr start)
{
    if (code->jumpkind == Ijk_Call ||
        (code->next->tag == Iex_Const && code->next->Iex.Const.con->Ico.U64 <= start))
        return True;
    for (Int i = 0; i < code->stmts_used; i++)
        if (code->stmts[i]->tag == Ist_Exit && code->stmts[i]->Ist.Exit.dst->Ico.U64 <= start)
            return True;
    return False;
}

/* With a sample of locations: one less until the next epoch. */
static void add_tick(IRSB *out)
{
    IRExpr *place = constant((Addr)&exact_ticks);
    IRExpr *left =
        assign(out, Ity_I64, IRExpr_Binop(Iop_Sub64, load_word(out, &exact_ticks), constant(1)));
    addStmtToIRSB(out, IRStmt_Store(Iend_LE, place, left));
    IRExpr *over = assign(out, Ity_I1, IRExpr_Binop(Iop_CmpEQ64, left, constant(0)));
    CALL(out, 0, exact_epoch_over, mkIRExprVec_0(), over);
}

/* For an access of 1, 2, 4 or 8 bytes; NULL: it has others. */
static void *helper_of(const struct exact_access *access)
{
#define HELPERS(prefix)                                                                            \
    {                                                                                              \
        [1] = exact_##prefix##_1, [2] = exact_##prefix##_2, [4] = exact_##prefix##_4,              \
        [8] = exact_##prefix##_8                                                                   \
    }
    enum { AT_ONCE, LATER, SAMPLED };
    static void *const helpers[3][2][9] = {{HELPERS(load), HELPERS(store)},
                                           {HELPERS(later_load), HELPERS(later_store)},
                                           {HELPERS(sampled_load), HELPERS(sampled_store)}};
#undef HELPERS
    static void *const of_floats[2][2][2] = {
        {{exact_load_float_4, exact_load_float_8}, {exact_store_float_4, exact_store_float_8}},
        {{exact_later_load_float_4, exact_later_load_float_8},
         {exact_later_store_float_4, exact_later_store_float_8}}};
    UInt bytes = access->bytes;
    UInt how = exact_shadow.locations ? SAMPLED : exact_later ? LATER : AT_ONCE;
    if (bytes > 8)
        return NULL;
    if (how != SAMPLED && (bytes == 4 || bytes == 8) && access->element == (SHADOW_FLOAT | bytes))
        return of_floats[how][access->store != 0][bytes == 8];
    return helpers[how][access->store != 0][bytes];
}

/* id: with a sample, which access it is. */
static void add_waste(struct builder *builder, const struct exact_access *access, IRExpr *address,
                      IRExpr *id, IRExpr *before, IRExpr *guard)
{
    static void *const wide[2][2] = {{exact_load_wide, exact_store_wide},
                                     {exact_sampled_load_wide, exact_sampled_store_wide}};
    IRSB *out = builder->out;
    UInt bytes = access->bytes;
    Bool store = access->store != False;
    void *helper = store && !before ? NULL : helper_of(access);
    guard = handed(builder, address, bytes, store, guard);
    if (!helper)
        add_call(out, "exact_wide", wide[exact_shadow.locations != NULL][store], 3,
                 mkIRExprVec_3(address, id, constant(bytes)), guard);
    else if (store)
        add_call(out, "exact_store", helper, 3, mkIRExprVec_3(address, id, before), guard);
    else
        add_call(out, "exact_load", helper, 2, mkIRExprVec_2(address, id), guard);
}

/*
 * Arguments of helpers are computed whether they are called or not: nothing but what is there already, and a constant, which VEX can
 * write in four bytes if it is below a million.
 */
_Static_assert((UInt)ACCESSES_MAX <= 1U << EXACT_NUMBER_BITS, "numbers of a block's accesses fit");
_Static_assert((UInt)ACCESSES_MAX < 1U << EXACT_PENDING_BITS, "so does how many there are");
static void add_counted_reuse(struct builder *builder, UInt number, IRExpr *address, UInt bytes)
{
    static void *const helpers[2][9] = {
        {exact_reuse, exact_reuse_1, exact_reuse_2, NULL, exact_reuse_4, [8] = exact_reuse_8},
        {exact_sampled_reuse, exact_sampled_reuse_1, exact_sampled_reuse_2, NULL,
         exact_sampled_reuse_4, [8] = exact_sampled_reuse_8}};
    Bool sampled = reuse_is_sampled();
    ULong packed = (ULong)++builder->pending << EXACT_NUMBER_BITS | number;
    void *helper = bytes <= 8 ? helpers[sampled][bytes] : NULL;
    if (!helper) {
        packed |= (ULong)bytes << (EXACT_NUMBER_BITS + EXACT_PENDING_BITS);
        helper = helpers[sampled][0];
    }
    IRExpr *block = sampled ? constant(builder->block->serial) : IRExpr_RdTmp(builder->base);
    add_call(builder->out, "exact_reuse", helper, 3,
             mkIRExprVec_3(address, block, constant(packed)),
             sampled ? kept(builder, address, bytes) : NULL);
}

static void add_reuse(struct builder *builder, UInt number, IRExpr *address, IRExpr *id,
                      IRExpr *guard)
{
    UInt bytes = found.accesses[number].bytes;
    /* A call of its own: caches see all locations, a sample not. */
    if (exact_options.caches_count) {
        const struct exact_spot *spot = exact_spot_of(builder->block, number);
        CALL(builder->out, 3, exact_cache,
             mkIRExprVec_3(address, constant((Addr)spot), constant(bytes)), guard);
    }
    if (guard) { /* may not happen: counted by the helper */
        settle_time(builder);
        if (reuse_is_sampled())
            CALL(builder->out, 3, exact_sampled_reuse_maybe,
                 mkIRExprVec_3(address, which_of(builder, number), constant(bytes)), guard);
        else
            CALL(builder->out, 3, exact_reuse_maybe, mkIRExprVec_3(address, id, constant(bytes)),
                 guard);
        return;
    }
    add_counted_reuse(builder, number, address, bytes);
}

static void add_sharing(IRSB *out, IRExpr *address, IRExpr *id, UInt bytes, UInt kind,
                        IRExpr *guard)
{
    IRExpr *threaded = assign(
        out, Ity_I1, IRExpr_Binop(Iop_CmpNE64, load_word(out, &exact_threaded), constant(0)));
    if (guard) {
        IRExpr *happens = assign(out, Ity_I32, IRExpr_Unop(Iop_1Uto32, guard));
        IRExpr *counts = assign(out, Ity_I32, IRExpr_Unop(Iop_1Uto32, threaded));
        IRExpr *both = assign(out, Ity_I32, IRExpr_Binop(Iop_And32, happens, counts));
        threaded = assign(out, Ity_I1, IRExpr_Unop(Iop_32to1, both));
    }
    ULong packed = (ULong)kind << 16 | bytes;
    CALL(out, 3, exact_sharing_access, mkIRExprVec_3(address, id, constant(packed)), threaded);
}

/* The access has happened. before: I64 for a store of at most 8 bytes; else
 * exact_scratch holds it. */
static void add_access(struct builder *builder, IRExpr *address, IRExpr *before, IRExpr *guard)
{
    UInt number = found.numbers[builder->next++];
    if (number == NOT_AN_ACCESS)
        return;
    const struct exact_access *access = &found.accesses[number];
    UInt bytes = access->bytes;
    if (exact_windows())
        exact_window_add_access(&builder->windowing, address, bytes, access->store, guard);
    if (exact_options.graphs) {
        exact_follow_access(&builder->follow, address, bytes, access->store, guard);
        return;
    }
    IRExpr *id = needs_ids() ? id_of(builder, number) : NULL;
    if (exact_options.kinds)
        add_waste(builder, access, address, exact_shadow.locations ? which_of(builder, number) : id,
                  before, guard);
    if (exact_options.unit_shift >= 0)
        add_reuse(builder, number, address, id, guard);
    if (exact_options.sharing && !found.locked[number])
        add_sharing(builder->out, address, id, bytes,
                    access->store ? TRANSFER_WRITE : TRANSFER_READ, guard);
    if (exact_options.trace)
        CALL(builder->out, 3, exact_trace_access, mkIRExprVec_3(address, id, constant(bytes)),
             guard);
}

/* Memory before a store, as I64; NULL: it was copied to exact_scratch. */
static IRExpr *add_before(struct builder *builder, IRExpr *address, UInt bytes, IRExpr *guard)
{
    static const IROp widen[8] = {[1] = Iop_8Uto64, [2] = Iop_16Uto64, [4] = Iop_32Uto64};
    static const IRType types[9] = {[1] = Ity_I8, [2] = Ity_I16, [4] = Ity_I32, [8] = Ity_I64};
    IRSB *out = builder->out;
    if (!exact_options.kinds)
        return NULL;
    if (!guard && bytes <= 8 && types[bytes]) {
        IRExpr *before = assign(out, types[bytes], IRExpr_Load(Iend_LE, types[bytes], address));
        return bytes == 8 ? before : assign(out, Ity_I64, IRExpr_Unop(widen[bytes], before));
    }
    if (!guard && (bytes == 16 || bytes == 32)) {
        IRType type = bytes == 16 ? Ity_V128 : Ity_V256;
        IRExpr *before = assign(out, type, IRExpr_Load(Iend_LE, type, address));
        addStmtToIRSB(out, IRStmt_Store(Iend_LE, constant((Addr)exact_scratch), before));
        return NULL;
    }
    CALL(out, 2, exact_save, mkIRExprVec_2(address, constant(bytes)), guard);
    return NULL;
}

static void add_store(struct builder *builder, IRStmt *statement, const struct effect *effect,
                      IRExpr *guard)
{
    IRExpr *before = add_before(builder, effect->address, effect->store, guard);
    addStmtToIRSB(builder->out, statement);
    add_access(builder, effect->address, before, guard);
}

/*
 * A load, and a store if the comparison held. The helpers of loads read memory, which has changed
 * by then: the load is reported before; that another thread may come in between is not so,
 * Valgrind runs one at a time.
 */
static void add_cas(struct builder *builder, IRStmt *statement, const struct effect *effect)
{
    IRSB *out = builder->out;
    const IRCAS *cas = statement->Ist.CAS.details;
    if (exact_options.kinds)
        CALL(out, 2, exact_save, mkIRExprVec_2(effect->address, constant(effect->store)), NULL);
    add_access(builder, effect->address, NULL, NULL);
    addStmtToIRSB(out, statement);
    IRType type = typeOfIRExpr(out->tyenv, cas->dataLo);
    IROp equal = type == Ity_I8    ? Iop_CasCmpEQ8
                 : type == Ity_I16 ? Iop_CasCmpEQ16
                 : type == Ity_I32 ? Iop_CasCmpEQ32
                                   : Iop_CasCmpEQ64;
    IRExpr *success =
        assign(out, Ity_I1, IRExpr_Binop(equal, IRExpr_RdTmp(cas->oldLo), cas->expdLo));
    if (cas->dataHi) {
        IRExpr *high =
            assign(out, Ity_I1, IRExpr_Binop(equal, IRExpr_RdTmp(cas->oldHi), cas->expdHi));
        success = assign(out, Ity_I1, IRExpr_Binop(Iop_And1, success, high));
    }
    UInt number = found.numbers[builder->next];
    add_access(builder, effect->address, NULL, success);
    /* The processor takes the line to write, whatever the comparison says. */
    if (exact_options.sharing && number != NOT_AN_ACCESS)
        add_sharing(out, effect->address, id_of(builder, number), effect->store, TRANSFER_BOTH,
                    NULL);
}

static void add_dirty(struct builder *builder, IRStmt *statement, const struct effect *effect)
{
    IRExpr *guard = statement->Ist.Dirty.details->guard;
    if (guard->tag == Iex_Const && guard->Iex.Const.con->Ico.U1)
        guard = NULL;
    if (effect->load)
        add_access(builder, effect->address, NULL, guard);
    if (effect->store)
        CALL(builder->out, 2, exact_save, mkIRExprVec_2(effect->address, constant(effect->store)),
             guard);
    addStmtToIRSB(builder->out, statement);
    if (effect->store)
        add_access(builder, effect->address, NULL, guard);
}

static void add_statement(struct builder *builder, IRStmt *statement)
{
    struct effect effect = effect_of(builder->out->tyenv, statement);
    if (!effect.load && !effect.store) {
        if (statement->tag == Ist_Exit) {
            settle_time(builder);
            exact_follow_settle(&builder->follow);
            exact_window_exit(&builder->windowing);
        }
        addStmtToIRSB(builder->out, statement);
        return;
    }
    switch (statement->tag) {
    case Ist_Store: add_store(builder, statement, &effect, NULL); return;
    case Ist_StoreG:
        add_store(builder, statement, &effect, statement->Ist.StoreG.details->guard);
        return;
    case Ist_CAS: add_cas(builder, statement, &effect); return;
    case Ist_Dirty: add_dirty(builder, statement, &effect); return;
    default:
        addStmtToIRSB(builder->out, statement);
        add_access(builder, effect.address, NULL,
                   statement->tag == Ist_LoadG ? statement->Ist.LoadG.details->guard : NULL);
    }
}

static void end_block(struct builder *builder, Addr after)
{
    IRSB *out = builder->out;
    settle_time(builder);
    exact_window_end(&builder->windowing);
    if (exact_options.graphs)
        exact_follow_end(&builder->follow, after);
    if (exact_objects && out->jumpkind == Ijk_Ret)
        exact_calls_add_return(out);
    if (exact_transfer && out->jumpkind == Ijk_Yield)
        CALL(out, 0, exact_sharing_pause, mkIRExprVec_0(), NULL);
    if (out->jumpkind != Ijk_Call && out->jumpkind != Ijk_Ret &&
        (out->jumpkind != Ijk_Boring || out->next->tag == Iex_Const))
        return;
    if (exact_options.graphs && out->jumpkind != Ijk_Boring)
        return;
    IRExpr *sp = assign(out, Ity_I64, IRExpr_Get(offsetof(VexGuestAMD64State, guest_RSP), Ity_I64));
    if (out->jumpkind == Ijk_Call) {
        CALL(out, 3, exact_on_call,
             mkIRExprVec_3(sp, constant(after), constant((Addr)builder->block)), NULL);
    } else if (out->jumpkind == Ijk_Ret) {
        CALL(out, 2, exact_on_return, mkIRExprVec_2(sp, out->next), NULL);
    } else {
        IRExpr *top =
            assign(out, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, constant((Addr)&exact_top)));
        /* Above the innermost call, or far below it. */
        IRExpr *below = assign(out, Ity_I64, IRExpr_Binop(Iop_Sub64, top, sp));
        IRExpr *leaves =
            assign(out, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, constant(EXACT_NEAR), below));
        CALL(out, 1, exact_on_jump, mkIRExprVec_1(sp), leaves);
    }
}

/* Whole blocks at a time: that is as near as intervals of accesses need it. */
static void add_instructions(IRSB *out, const IRSB *code)
{
    UInt count = 0;
    for (Int i = 0; i < code->stmts_used; i++)
        count += code->stmts[i]->tag == Ist_IMark;
    IRExpr *clock = load_word(out, &exact_clock);
    IRExpr *now = assign(out, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, clock));
    IRExpr *then = assign(out, Ity_I64, IRExpr_Binop(Iop_Add64, now, constant(count)));
    addStmtToIRSB(out, IRStmt_Store(Iend_LE, clock, then));
}

IRSB *exact_instrument(VgCallbackClosure *closure, IRSB *code, const VexGuestLayout *layout,
                       const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                       IRType host_word)
{
    (void)closure, (void)layout, (void)extents, (void)host, (void)guest_word, (void)host_word;
    struct builder builder = {.out = deepCopyIRSBExceptStmts(code)};
    Addr start = 0, after = 0;
    Int i = 0;
    for (; i < code->stmts_used && code->stmts[i]->tag != Ist_IMark; i++)
        addStmtToIRSB(builder.out, code->stmts[i]);
    if (i < code->stmts_used)
        start = code->stmts[i]->Ist.IMark.addr;
    find_accesses(code);
    builder.follow.out = builder.windowing.out = builder.out;
    if (!exact_options.graphs)
        builder.block = exact_block_for(start, found.accesses, found.count);
    if (!exact_options.graphs && exact_options.caches_count)
        exact_spots_make(builder.block);
    if (!exact_options.graphs && found.count && needs_ids())
        begin_block(&builder);
    if (exact_shadow.locations && is_tick(code, start))
        add_tick(builder.out);
    if (exact_options.sharing)
        add_instructions(builder.out, code);
    if (exact_objects)
        exact_calls_add_entry(builder.out, start);
    for (; i < code->stmts_used; i++) {
        IRStmt *statement = code->stmts[i];
        if (statement->tag == Ist_IMark) {
            after = statement->Ist.IMark.addr + statement->Ist.IMark.len;
            if (exact_options.graphs)
                exact_follow_instruction(&builder.follow, statement->Ist.IMark.addr);
            if (exact_windows())
                exact_window_instruction(&builder.windowing, statement->Ist.IMark.addr,
                                         statement->Ist.IMark.len);
        }
        if (statement->tag != Ist_NoOp)
            add_statement(&builder, statement);
    }
    end_block(&builder, after);
    return exact_drop_unseen(builder.out);
}
