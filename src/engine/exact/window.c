// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows of what was executed; see window.h. What a window holds is a list of words: a piece of code that begins, then the
 * addresses of its accesses that happened, each with its number in the piece.
 *
 * Which executions of a head begin a window is drawn as for a reservoir (Vitter 1985): the n-th begins one with probability
 * kept / n, and it replaces one of those that there are. While one is written no other begins. The same run draws
 * the same ones.
 */
#include "exact/window.h"

#include "exact/code.h"

#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_threadstate.h>

static UInt pieces_count; /* that were written to this log */
static UInt writing = 1;  /* number of this log */

enum {
    PIECE_INSTRUCTIONS = 64,
    PIECE_ACCESSES = 256,
    WORDS_MAX = 4 * WINDOW_INSTRUCTIONS,
};

struct exact_piece {
    Addr start;
    UInt module, number, written; /* number: in the log, if `written` is that of now */
    UInt instructions, bytes, accesses;
    UChar *data; /* as in the log: accesses, lengths, code */
};

struct window {
    ULong execution; /* of the head, from 1 */
    UInt instructions, thread, words_count;
    ULong words[WORDS_MAX];
};

struct loop {
    const struct exact_loop *asked;
    UInt module; /* the first that it was seen in; 0: never */
    ULong executions, next;
    struct window *kept[WINDOW_KEPT];
    UInt kept_count;
    ULong random;
};

static struct loop loops[EXACT_LOOPS_MAX];
static struct window *spare; /* becomes the next one that is written */

/* Caches, the first-level one first. A line that is missed in one is looked for in the next. */
static struct cache_bank levels[CACHE_MAX];
static ULong last_line; /* address of the line that was touched last: read by added code */
static UInt found_in;   /* of the access at hand: the cache; their number: none */

/* What is being written. */
static struct loop *loop;
static struct window *window;
static ThreadId thread; /* whose */
static ULong open;      /* the running thread's: read by added code */

Bool exact_windows(void)
{
    return exact_options.loops_count > 0;
}

void exact_windows_init(void)
{
    for (UInt i = 0; i < exact_options.loops_count; i++)
        loops[i] = (struct loop){.asked = &exact_options.loops[i], .next = 1, .random = i + 1};
    for (UInt i = 0; i < exact_options.levels_count; i++) {
        const struct cache_shape *shape = &exact_options.levels[i];
        void *memory = cache_shape_valid(shape) ? exact_reserve(cache_bytes(shape)) : NULL;
        if (!memory || cache_bank_add(&levels[i], shape, memory) != BASE_OK)
            exact_fail("the address space for simulated caches was refused");
    }
}

/* ---- which ones ------------------------------------------------------------------------------ */

static ULong draw(struct loop *from)
{
    return from->random = base_mix64(from->random);
}

static double square_root(double number)
{
    __asm__("sqrtsd %0, %0" : "+x"(number)); /* there is no libm here */
    return number;
}

/* Of n executions so far the next one that a reservoir takes is at n / u^(1/kept), u uniform: the product of
   (1 - kept / i) from n to m is near (n / m)^kept. */
static ULong next_after(struct loop *from)
{
    _Static_assert(WINDOW_KEPT == 4, "two square roots");
    double uniform = ((double)(draw(from) >> 11) + 1) * 0x1p-53;
    double next = (double)from->executions / square_root(square_root(uniform));
    if (next > 1e18)
        next = 1e18;
    return next < (double)from->executions + 1 ? from->executions + 1 : (ULong)next;
}

static void begin(struct loop *at)
{
    if (!spare)
        spare = VG_(malloc)("headroom.window", sizeof *spare);
    loop = at;
    window = spare;
    window->execution = at->executions;
    window->instructions = window->words_count = 0;
    thread = VG_(get_running_tid)();
    window->thread = thread;
    found_in = 0;
    open = 1;
}

static void keep(void)
{
    UInt place = loop->kept_count;
    spare = NULL;
    if (place < WINDOW_KEPT) {
        loop->kept_count++;
    } else {
        place = (UInt)(draw(loop) % WINDOW_KEPT);
        spare = loop->kept[place];
    }
    loop->kept[place] = window;
    loop->next = loop->kept_count < WINDOW_KEPT ? loop->executions + 1 : next_after(loop);
    window = NULL;
    open = 0;
}

/* ---- helpers of added code ---------------------------------------------------------------------- */

static VG_REGPARM(1) void exact_window_head(struct loop *at)
{
    at->executions++;
    if (!window && at->executions >= at->next)
        begin(at);
}

static VG_REGPARM(1) void exact_window_piece(const struct exact_piece *piece)
{
    if (window->instructions >= WINDOW_INSTRUCTIONS ||
        window->words_count + 1 + piece->accesses > WORDS_MAX) {
        keep();
        return;
    }
    window->words[window->words_count++] = WIRE_EXECUTED_PIECE | (ULong)(Addr)piece;
    window->instructions += piece->instructions;
}

static VG_REGPARM(2) void exact_window_access(Addr address, ULong number)
{
    if (!window || window->words_count >= WORDS_MAX)
        return;
    window->words[window->words_count++] = (ULong)found_in << WIRE_EXECUTED_LEVEL |
                                           number << WIRE_EXECUTED_SHIFT |
                                           (address & WIRE_EXECUTED_ADDRESS);
    found_in = 0;
}

/* Each of its lines is looked for in one cache after the other, and is in all of these from then on. The access is found where the last of
   its lines is. */
static VG_REGPARM(2) void exact_window_touch(Addr address, ULong bytes)
{
    Addr end = address + bytes - 1;
    found_in = 0;
    for (Addr line = address >> CACHE_LINE_SHIFT; line <= end >> CACHE_LINE_SHIFT; line++) {
        UInt level = 0;
        for (; level < exact_options.levels_count; level++) {
            ULong missed = levels[level].caches[0].misses;
            cache_bank_line(&levels[level], line);
            if (levels[level].caches[0].misses == missed)
                break;
        }
        found_in = level > found_in ? level : found_in;
    }
    last_line = end & ~(Addr)(CACHE_LINE_BYTES - 1);
}

/* ---- added code ------------------------------------------------------------------------------------ */

/* Of the piece at hand. */
static UChar lengths[PIECE_INSTRUCTIONS];
static struct wire_executed_access accesses[PIECE_ACCESSES];

static void finish(struct exact_windowing *windowing)
{
    struct exact_piece *piece = windowing->piece;
    if (!piece)
        return;
    SizeT list_bytes = piece->accesses * sizeof *accesses;
    UChar *kept =
        VG_(malloc)("headroom.piece.code", list_bytes + piece->instructions + piece->bytes + 1);
    VG_(memcpy)(kept, accesses, list_bytes);
    VG_(memcpy)(kept + list_bytes, lengths, piece->instructions);
    VG_(memcpy)(kept + list_bytes + piece->instructions, (const void *)piece->start, piece->bytes);
    piece->data = kept;
    windowing->piece = NULL;
}

static struct loop *loop_at(Addr ip, UInt module)
{
    const struct exact_module *from = module ? exact_module_number(module) : NULL;
    for (UInt i = 0; from && i < exact_options.loops_count; i++)
        if (loops[i].asked->head == ip - from->bias &&
            VG_(strcmp)(loops[i].asked->path, from->path) == 0) {
            loops[i].module = module;
            return &loops[i];
        }
    return NULL;
}

static void begin_piece(struct exact_windowing *windowing, Addr ip, UInt module)
{
    struct exact_piece *piece = VG_(calloc)("headroom.piece", 1, sizeof *piece);
    piece->start = windowing->next = ip;
    piece->module = module;
    windowing->piece = piece;
    IRSB *out = windowing->out;
    IRExpr *opened =
        assign(out, Ity_I1, IRExpr_Binop(Iop_CmpNE64, load_word(out, &open), constant(0)));
    CALL(out, 1, exact_window_piece, mkIRExprVec_1(constant((Addr)piece)), opened);
    windowing->open =
        assign(out, Ity_I1, IRExpr_Binop(Iop_CmpNE64, load_word(out, &open), constant(0)));
}

void exact_window_instruction(struct exact_windowing *windowing, Addr ip, UInt length)
{
    UInt module = exact_module_of(ip);
    struct loop *head = loop_at(ip, module);
    const struct exact_piece *piece = windowing->piece;
    if (piece && (head || ip != windowing->next || piece->instructions == PIECE_INSTRUCTIONS ||
                  piece->accesses > PIECE_ACCESSES / 2))
        finish(windowing);
    if (head)
        CALL(windowing->out, 1, exact_window_head, mkIRExprVec_1(constant((Addr)head)), NULL);
    if (!windowing->piece)
        begin_piece(windowing, ip, module);
    lengths[windowing->piece->instructions++] = (UChar)length;
    windowing->piece->bytes += length;
    windowing->next = ip + length;
}

static IRExpr *both(IRSB *out, IRExpr *one, IRExpr *other)
{
    return other ? assign(out, Ity_I1, IRExpr_Binop(Iop_And1, one, other)) : one;
}

/* What lies in the line that was touched last changes nothing. */
static void touch_caches(IRSB *out, IRExpr *address, UInt bytes, IRExpr *guard)
{
    IRExpr *moves = NULL;
    if (bytes <= CACHE_LINE_BYTES) {
        IRExpr *beyond =
            assign(out, Ity_I64, IRExpr_Binop(Iop_Sub64, address, load_word(out, &last_line)));
        moves = assign(out, Ity_I1,
                       IRExpr_Binop(Iop_CmpLT64U, constant(CACHE_LINE_BYTES - bytes), beyond));
    }
    CALL(out, 2, exact_window_touch, mkIRExprVec_2(address, constant(bytes)),
         moves ? both(out, moves, guard) : guard);
}

void exact_window_add_access(struct exact_windowing *windowing, IRExpr *address, UInt bytes,
                             Bool store, IRExpr *guard)
{
    struct exact_piece *piece = windowing->piece;
    if (!piece || piece->accesses == PIECE_ACCESSES)
        return;
    if (exact_options.levels_count)
        touch_caches(windowing->out, address, bytes, guard);
    UInt number = piece->accesses++;
    accesses[number] =
        (struct wire_executed_access){.instruction = (uint8_t)(piece->instructions - 1),
                                      .store = store,
                                      .bytes = (uint16_t)bytes};
    CALL(windowing->out, 2, exact_window_access, mkIRExprVec_2(address, constant(number)),
         both(windowing->out, windowing->open, guard));
}

/* Behind an exit the next instruction begins a piece. Within an instruction that is executed again and again there are some, too. */
void exact_window_exit(struct exact_windowing *windowing)
{
    windowing->next = 0;
}

void exact_window_end(struct exact_windowing *windowing)
{
    finish(windowing);
}

/* ---- threads --------------------------------------------------------------------------------------- */

void exact_window_run_thread(ThreadId tid)
{
    open = window && tid == thread;
    found_in = 0;
}

void exact_window_thread_ends(ThreadId tid)
{
    if (window && tid == thread)
        keep();
}

void exact_windows_reset(void)
{
    for (UInt i = 0; i < exact_options.loops_count; i++) {
        for (UInt k = 0; k < loops[i].kept_count; k++)
            VG_(free)(loops[i].kept[k]);
        loops[i].executions = loops[i].kept_count = 0;
        loops[i].next = 1;
    }
    if (window)
        spare = window;
    window = NULL;
    open = 0;
    pieces_count = 0;
    writing++;
}

/* ---- output ------------------------------------------------------------------------------------------ */

static void put_piece(struct exact_piece *piece, exact_window_record *record,
                      exact_window_commit *commit)
{
    if (piece->written == writing)
        return;
    piece->written = writing;
    SizeT bytes = piece->accesses * sizeof *accesses + piece->instructions + piece->bytes;
    struct wire_executed_code *made = record(WIRE_EXECUTED_CODE, sizeof *made + bytes);
    made->code = piece->number = ++pieces_count;
    made->module = piece->module;
    made->vaddr =
        piece->module ? piece->start - exact_module_number(piece->module)->bias : piece->start;
    made->instructions = (uint16_t)piece->instructions;
    made->code_bytes = (uint16_t)piece->bytes;
    made->accesses = (uint16_t)piece->accesses;
    VG_(memcpy)(made->data, piece->data, bytes);
    commit(made);
}

static struct exact_piece *piece_of(ULong word)
{
    return (word >> WIRE_EXECUTED_SHIFT) == WIRE_EXECUTED_PIECE >> WIRE_EXECUTED_SHIFT
               ? (struct exact_piece *)(Addr)(word & WIRE_EXECUTED_ADDRESS)
               : NULL;
}

static void put_words(const struct window *from, UInt number, exact_window_record *record,
                      exact_window_commit *commit)
{
    enum { AT_ONCE = 900 };
    for (UInt at = 0; at < from->words_count; at += AT_ONCE) {
        UInt count = from->words_count - at < AT_ONCE ? from->words_count - at : AT_ONCE;
        struct wire_executed_steps *made =
            record(WIRE_EXECUTED_STEPS, sizeof *made + count * sizeof *made->words);
        made->window = number;
        made->count = count;
        for (UInt i = 0; i < count; i++) {
            ULong word = from->words[at + i];
            const struct exact_piece *piece = piece_of(word);
            made->words[i] = piece ? WIRE_EXECUTED_PIECE | piece->number : word;
        }
        commit(made);
    }
}

static void put_window(const struct loop *of, const struct window *from, UInt number,
                       exact_window_record *record, exact_window_commit *commit)
{
    for (UInt i = 0; i < from->words_count; i++)
        if (piece_of(from->words[i]))
            put_piece(piece_of(from->words[i]), record, commit);
    struct wire_executed_window *made = record(WIRE_EXECUTED_WINDOW, sizeof *made);
    made->window = number;
    made->module = of->module;
    made->head = of->asked->head;
    made->execution = from->execution;
    made->executions = of->executions;
    made->thread = from->thread;
    made->words = from->words_count;
    made->caches = exact_options.levels_count;
    commit(made);
    put_words(from, number, record, commit);
}

void exact_windows_output(exact_window_record *record, exact_window_commit *commit)
{
    UInt number = 0;
    if (window)
        keep();
    for (UInt i = 0; i < exact_options.loops_count; i++)
        for (UInt k = 0; k < loops[i].kept_count; k++)
            put_window(&loops[i], loops[i].kept[k], ++number, record, commit);
}
