// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calling contexts: a tree with one node per (context of the caller, return
 * address), kept by watching calls and returns. As seen by unwinding, which is what
 * the live engine does: a function entered by a tail call stands under its caller's caller.
 *
 * A call pushes (stack pointer after the call, context). A return, and a jump that leaves the stack
 * pointer above the innermost call (longjmp, exceptions), pop all calls whose slot is below the
 * stack pointer. Where the stack pointer goes somewhere else altogether (coroutines, alternate
 * signal stacks) the calls so far are parked as one *strand* and the strand that the stack pointer
 * belongs to is taken up, or a new one begun. The bounds of a thread's own stack and of its
 * alternate one are known. Those of coroutines are not: a strand is taken up when a return, or a
 * jump in its stead, uses its innermost return address; otherwise distance decides.
 *
 * Recursion is folded as the call is made (BASE_FOLDED), so that the tree does not grow with the
 * length of a list nor with the ways in which a function calls itself. Calls deeper than DEPTH_MAX
 * stay in the context of that depth.
 */
#include "exact/instrument.h"

#include "exact/path.h"
#include "exact/sharing.h"
#include "exact/window.h"

#include <pub_tool_aspacemgr.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_threadstate.h>
#include <pub_tool_vki.h>

/*
 * Of contexts and activations some are kept back for the coarser ones. A context takes 24 bytes, an
 * activation 12 and at most 32 in the table of seats, an id 9: 300 MiB at most, apart from code in
 * no context, of which there is as much as the program has.
 */
enum {
    DEPTH_MAX = 512,
    CONTEXTS_MAX = EXACT_CONTEXTS_MAX / 5 * 4,
    ACTIVATIONS_MAX = 3 << 20,
    LOST_ACTIVATIONS_MAX = 7 << 19,
    BARE_ACTIVATIONS_MAX = 1 << 26, /* address space */
    IDS_MAX = 15 << 20,
    LOST_IDS_MAX = 16 << 20,
    FAR = 1 << 17, /* a stack pointer further away than that is on another stack */
    STRANDS_MAX = 64,
};

/* ---- the tree ------------------------------------------------------------------------------- */

UInt exact_current;
Addr exact_top;

static struct exact_context *contexts;
static UInt contexts_count = EXACT_LOST + 1;

/* Open addressing table of numbers; the key is found through the number. */
static UInt *children; /* number + 1, 0: empty */
static ULong children_capacity;

static struct exact_activation *activations;
static UInt activations_count, ids_used = 1;
static Bool ran_out;

static ULong hash_context(UInt parent, UInt module, Addr return_address)
{
    return base_mix64((return_address ^ (ULong)module << 48) * 31 + parent);
}

static void add_children(void)
{
    UInt *old = children;
    ULong old_capacity = children_capacity;
    children_capacity = old ? old_capacity * 2 : 1 << 16;
    children = exact_memory.map(NULL, children_capacity * sizeof *children, false);
    if (!children && !old)
        exact_fail("there is no memory for calling contexts"); /* nothing runs yet */
    tl_assert2(children, "headroom: no memory for contexts\n");
    for (ULong i = 0; i < old_capacity; i++) {
        if (!old[i])
            continue;
        const struct exact_context *context = &contexts[old[i] - 1];
        ULong slot = hash_context(context->parent, context->module, context->return_address);
        while (children[slot & (children_capacity - 1)])
            slot++;
        children[slot & (children_capacity - 1)] = old[i];
    }
    if (old)
        exact_memory.unmap(NULL, old, old_capacity * sizeof *old);
}

static Bool is_lost(UInt context)
{
    return context == EXACT_LOST || contexts[context].parent == EXACT_LOST;
}

static UInt child_of(UInt parent, UInt module, Addr return_address)
{
    parent = is_lost(parent) ? EXACT_LOST : parent;
    ULong slot = hash_context(parent, module, return_address) & (children_capacity - 1);
    for (UInt number; (number = children[slot]) != 0; slot = (slot + 1) & (children_capacity - 1)) {
        const struct exact_context *found = &contexts[number - 1];
        if (found->return_address == return_address && found->parent == parent &&
            found->module == module)
            return number - 1;
    }
    UInt first = BASE_FOLDED(context, parent, contexts[context].parent,
                             contexts[context].return_address == return_address &&
                                 contexts[context].module == module);
    if (first)
        return first;
    if (contexts[parent].depth == DEPTH_MAX)
        return parent;
    if (contexts_count >= (parent == EXACT_LOST ? EXACT_CONTEXTS_MAX : CONTEXTS_MAX)) {
        ran_out = True;
        return parent == EXACT_LOST ? EXACT_LOST : child_of(EXACT_LOST, module, return_address);
    }
    UInt number = contexts_count++;
    contexts[number] = (struct exact_context){.parent = parent,
                                              .module = module,
                                              .depth = contexts[parent].depth + 1,
                                              .return_address = return_address};
    children[slot] = number + 1;
    if (contexts_count * 2ULL > children_capacity)
        add_children();
    return number;
}

/* ---- ids ---------------------------------------------------------------------------------- */

/* What has been asked for of exact_coarser: merging many pairs looks up each id many times. 0: not yet. */
static UInt *coarser_ids;

/*
 * Open addressing, at most half full. Bits of the hash stand in the table itself, and blocks of
 * neighbouring numbers, which mostly run in the same contexts, have neighbouring homes: programs
 * with many contexts wait for memory here.
 */
struct seat {
    UInt number; /* of the activation + 1, 0: empty */
    UInt tag;
};
static struct seat *seats;
static ULong seats_capacity;

/* The block's, or an empty one with its tag. */
static struct seat *seat_of(UInt context, UInt block)
{
    enum { NEIGHBOURS_SHIFT = 3, NEIGHBOURS = 1 << NEIGHBOURS_SHIFT };
    ULong hash = base_mix64((ULong)context << 32 | block >> NEIGHBOURS_SHIFT);
    UInt among = block & (NEIGHBOURS - 1), tag = (UInt)(hash >> 32) << NEIGHBOURS_SHIFT | among;
    for (ULong home = hash << NEIGHBOURS_SHIFT | among;; home++) {
        struct seat *seat = &seats[home & (seats_capacity - 1)];
        if (!seat->number) {
            seat->tag = tag;
            return seat;
        }
        const struct exact_activation *taken = &activations[seat->number - 1];
        if (seat->tag == tag && taken->context == context && taken->block == block)
            return seat;
    }
}

static void add_seats(void)
{
    if (seats)
        exact_memory.unmap(NULL, seats, seats_capacity * sizeof *seats);
    Bool first = !seats; /* nothing runs yet */
    seats_capacity = seats ? seats_capacity * 2 : 1 << 14;
    seats = exact_memory.map(NULL, seats_capacity * sizeof *seats, false);
    if (!seats && first)
        exact_fail("there is no memory for calling contexts");
    tl_assert2(seats, "headroom: no memory for contexts\n");
    for (UInt i = 0; i < activations_count; i++)
        seat_of(activations[i].context, activations[i].block)->number = i + 1;
}

/* With its innermost caller alone, or none. */
static UInt coarser_context(UInt context)
{
    const struct exact_context *precise = &contexts[context];
    return is_lost(context) || !context
               ? EXACT_LOST
               : child_of(EXACT_LOST, precise->module, precise->return_address);
}

static Bool has_room(UInt context, UInt count)
{
    if (context == EXACT_LOST)
        return ids_used + count <= SHADOW_IDS_MAX && activations_count < BARE_ACTIVATIONS_MAX;
    Bool lost = is_lost(context);
    return ids_used + count <= (lost ? LOST_IDS_MAX : IDS_MAX) &&
           activations_count < (lost ? LOST_ACTIVATIONS_MAX : ACTIVATIONS_MAX);
}

/* Which activation an id belongs to: the first that begins in, or behind, each stretch of ids. */
enum { STRETCH_SHIFT = 5 };
static UInt *stretches, stretches_count;

static void note_stretches(UInt base)
{
    while ((ULong)stretches_count << STRETCH_SHIFT <= base)
        stretches[stretches_count++] = activations_count;
}

/* Ids of a block in a context; when they run out, in a coarser one. */
static UInt activate(UInt context, const struct exact_block *block)
{
    struct seat *seat = seat_of(context, block->serial);
    if (seat->number)
        return activations[seat->number - 1].base;
    if (!has_room(context, block->count)) {
        if (context == EXACT_LOST)
            exact_fail("the program has more code than can be numbered");
        ran_out = True;
        return activate(coarser_context(context), block);
    }
    UInt base = ids_used;
    ids_used += block->count;
    note_stretches(base);
    for (UInt i = 0; i < block->count; i++)
        if (exact_options.kinds)
            shadow_define(&exact_shadow, base + i, block->accesses[i].element);
    exact_trace_ids(base, context, block);
    activations[activations_count++] = (struct exact_activation){base, context, block->serial};
    seat->number = activations_count;
    if (activations_count * 2ULL > seats_capacity)
        add_seats();
    return base;
}

/*
 * Many programs have a few blocks, of allocators and the like, in hundreds of contexts, which come in turn: each of them looks up one
 * word of a table of the block's own, where the table of seats would be a miss in all caches.
 */
enum { MET_MOST = 1 << 14, MET_ALTOGETHER = 1 << 22 /* 48 MiB */ };
static UInt met_altogether;

static void forget_met(struct exact_met *met, UInt count)
{
    for (UInt i = 0; i < count; i++)
        met[i] = (struct exact_met){.context = NO_CONTEXT};
}

void exact_block_begin_contexts(struct exact_block *block)
{
    block->context = block->call_context = NO_CONTEXT;
    block->met = block->met_first;
    block->met_count = MET_FEWEST;
    forget_met(block->met, MET_FEWEST);
}

static struct exact_met *met_in(const struct exact_block *block, UInt context)
{
    return &block->met[context & (block->met_count - 1)];
}

static void widen(struct exact_block *block)
{
    struct exact_met *old = block->met;
    UInt count = block->met_count;
    met_altogether += count;
    block->met_count *= 2;
    block->met = VG_(malloc)("headroom.met", block->met_count * sizeof *block->met);
    block->displaced = 0;
    forget_met(block->met, block->met_count);
    for (UInt i = 0; i < count; i++)
        if (old[i].context != NO_CONTEXT)
            *met_in(block, old[i].context) = old[i];
    if (old != block->met_first)
        VG_(free)(old);
}

/* Has made room for another: as often as the table is large, and it is too small. */
static __attribute__((noinline)) struct exact_met *meet(struct exact_block *block, UInt context)
{
    struct exact_met *met = met_in(block, context);
    block->displaced += met->context != NO_CONTEXT;
    if (block->displaced > block->met_count && block->met_count < MET_MOST &&
        met_altogether < MET_ALTOGETHER) {
        widen(block);
        met = met_in(block, context);
    }
    *met = (struct exact_met){context, 0, NO_CONTEXT};
    return met;
}

static inline struct exact_met *met_now(struct exact_block *block)
{
    struct exact_met *met = met_in(block, exact_current);
    return LIKELY(met->context == exact_current) ? met : meet(block, exact_current);
}

VG_REGPARM(1) void exact_enter_block(struct exact_block *block)
{
    struct exact_met *met = met_now(block);
    if (UNLIKELY(!met->base))
        met->base = activate(exact_current, block);
    block->base = met->base;
    block->context = exact_current;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Where an activation is. */
struct place {
    UInt context;
    UInt path;    /* state; 0 without paths */
    ULong misses; /* of its path so far     */
};

struct call {
    Addr sp;      /* address of the pushed return address */
    UInt called;  /* the path state that the callee began in     */
    Bool handler; /* of a signal: nobody called it               */
    struct place caller;
};

static struct place here(void)
{
    return (struct place){exact_current, (UInt)(exact_path - exact_states), exact_misses};
}

static void go(const struct place *place)
{
    exact_current = place->context;
    exact_path = exact_states + place->path;
    exact_misses = place->misses;
}

static const struct place nowhere;

/* One stack of calls. highest: the largest sp seen. low, high: bounds of the stack, 0:
 * not known. */
struct strand {
    struct call *calls;
    UInt count, capacity;
    Addr highest, low, high;
    struct place place; /* when parked */
    ULong parked;       /* when */
};

struct thread {
    struct strand strands[STRANDS_MAX];
    UInt now;   /* the strand that runs */
    UInt begun; /* strands at and beyond were never used */
    struct place place;
    Bool signal;    /* a handler is about to be entered */
    Bool alternate; /* on the alternate stack */
    Bool handled;   /* a handler has returned */
    Addr interrupted;
    Bool known;
};

static struct thread **threads; /* VG_N_THREADS of them */
static struct thread *running;
static struct strand *strand;
static ThreadId running_tid = VG_INVALID_THREADID;
static UInt threads_count;
static ULong parkings;

static void note_top(void)
{
    exact_top = strand->count ? strand->calls[strand->count - 1].sp : ~(Addr)0;
}

static void push(Addr sp)
{
    if (strand->count == strand->capacity) {
        strand->capacity = strand->capacity ? strand->capacity * 2 : 256;
        strand->calls =
            VG_(realloc)("headroom.calls", strand->calls, strand->capacity * sizeof *strand->calls);
    }
    strand->calls[strand->count++] = (struct call){.sp = sp, .caller = here()};
    exact_top = sp;
    if (sp > strand->highest)
        strand->highest = sp;
}

/* Calls whose return address lies below sp are over. */
static void pop_below(Addr sp)
{
    while (strand->count && strand->calls[strand->count - 1].sp < sp) {
        exact_path_drop();
        go(&strand->calls[--strand->count].caller);
    }
    note_top();
}

static Addr lowest(const struct strand *of)
{
    return of->count ? of->calls[of->count - 1].sp : of->highest;
}

static Bool is_bounded(const struct strand *of)
{
    return of->high != 0;
}

static Bool in_bounds(const struct strand *of, Addr sp)
{
    return sp >= of->low && sp <= of->high;
}

/* slack: how far beyond what was seen a stack may reach. */
static Bool belongs(const struct strand *candidate, Addr sp, Addr slack)
{
    if (is_bounded(candidate))
        return in_bounds(candidate, sp);
    return candidate->count && sp + slack > lowest(candidate) && sp < candidate->highest + slack;
}

static void begin_strand(struct strand *fresh, Addr sp)
{
    fresh->count = 0;
    fresh->highest = sp;
    fresh->low = fresh->high = 0;
}

static void park(void)
{
    strand->place = here();
    strand->parked = ++parkings;
}

static void take_up(struct strand *next)
{
    strand = next;
    running->now = (UInt)(next - running->strands);
    note_top();
}

/* A new one, or else the one that was parked first; never the thread's own stack. */
static struct strand *spare_strand(void)
{
    struct strand *oldest = NULL;
    if (running->begun < STRANDS_MAX)
        return &running->strands[running->begun++];
    for (UInt i = 1; i < STRANDS_MAX; i++) {
        struct strand *candidate = &running->strands[i];
        if (candidate != strand && (!oldest || candidate->parked < oldest->parked))
            oldest = candidate;
    }
    return oldest;
}

/* The stack pointer is on another stack: find the calls that belong there. */
static void switch_strand(Addr sp, Addr slack)
{
    struct strand *best = NULL;
    park();
    for (UInt i = 0; i < running->begun; i++) {
        struct strand *candidate = &running->strands[i];
        /* of several the one whose innermost call is nearest */
        if (candidate != strand && belongs(candidate, sp, slack) &&
            (!best || lowest(candidate) > lowest(best)))
            best = candidate;
    }
    if (best) {
        go(&best->place);
    } else {
        best = spare_strand();
        begin_strand(best, sp);
        go(&nowhere);
    }
    take_up(best);
}

static Bool elsewhere(Addr sp)
{
    if (is_bounded(strand))
        return !in_bounds(strand, sp);
    return sp + FAR < lowest(strand) || sp > strand->highest + FAR;
}

/* A return, or a jump, that is not the innermost call's: unwinding, or a switch of stacks. */
static __attribute__((noinline)) void settle(Addr sp)
{
    for (UInt i = 0; i < running->begun; i++) {
        struct strand *parked = &running->strands[i];
        if (parked != strand && parked->count && lowest(parked) == sp - sizeof(Addr)) {
            park();
            go(&parked->place);
            take_up(parked);
            pop_below(sp);
            return;
        }
    }
    Bool strays = !is_bounded(strand) &&
                  (sp + EXACT_NEAR < lowest(strand) || sp > strand->highest + EXACT_NEAR);
    if (strays || elsewhere(sp))
        switch_strand(sp, EXACT_NEAR);
    pop_below(sp);
}

/* Mostly near below the innermost call; else on another stack, or calls above have been left. */
static inline __attribute__((always_inline)) void push_call(Addr sp)
{
    if (UNLIKELY(exact_top - sp - 1 >= EXACT_NEAR)) {
        if (elsewhere(sp))
            switch_strand(sp, FAR);
        if (exact_top <= sp)
            pop_below(sp + 1);
    }
    push(sp);
}

VG_REGPARM(3) void exact_on_call(Addr sp, Addr return_address, struct exact_block *block)
{
    push_call(sp);
    if (LIKELY(block->call_context == exact_current)) {
        exact_current = block->call_child;
        return;
    }
    struct exact_met *met = met_now(block);
    if (UNLIKELY(met->child == NO_CONTEXT))
        met->child = child_of(exact_current, block->module, return_address);
    block->call_context = exact_current;
    block->call_child = exact_current = met->child;
}

VG_REGPARM(2) void exact_on_return(Addr sp, Addr target)
{
    (void)target;
    if (UNLIKELY(exact_top != sp - sizeof(Addr))) {
        settle(sp);
        return;
    }
    exact_current = strand->calls[--strand->count].caller.context;
    note_top();
}

/* ---- paths: the same, with states instead of contexts -------------------------------------- */

VG_REGPARM(3) void exact_path_call(Addr sp, Addr return_address, struct exact_site *site)
{
    (void)return_address;
    struct exact_state *called = exact_path_called(site);
    if (UNLIKELY(site->stops))
        exact_path_stop();
    push_call(sp);
    exact_misses = 0;
    exact_path = called;
    strand->calls[strand->count - 1].called = (UInt)(exact_path - exact_states);
}

/*
 * A handler's frame stays until the system has taken the thread back: what is executed until then
 * is not the function's that was interrupted.
 */
VG_REGPARM(2) void exact_path_return(Addr sp, Addr target)
{
    (void)target;
    exact_path_leave();
    if (UNLIKELY(exact_top != sp - sizeof(Addr))) {
        exact_path = exact_path_entered(); /* the path is over, whoever called */
        settle(sp);
        return;
    }
    if (UNLIKELY(strand->calls[strand->count - 1].handler)) {
        go(&nowhere);
        return;
    }
    go(&strand->calls[--strand->count].caller);
    note_top();
}

struct exact_state *exact_path_entered(void)
{
    return exact_states + (strand->count ? strand->calls[strand->count - 1].called : 0);
}

/* Indirect jumps that leave the innermost call behind, or go far below it. */
VG_REGPARM(1) void exact_on_jump(Addr sp)
{
    settle(sp);
}

/* ---- threads and signals --------------------------------------------------------------------- */

static struct thread *thread_of(ThreadId tid)
{
    if (!threads[tid])
        threads[tid] = VG_(calloc)("headroom.thread", 1, sizeof **threads);
    struct thread *thread = threads[tid];
    if (!thread->known) {
        thread->known = True;
        thread->place = nowhere;
        thread->now = 0;
        thread->begun = 1;
        thread->signal = thread->handled = False;
        begin_strand(&thread->strands[0], VG_(get_SP)(tid));
        SizeT bytes = VG_(thread_get_stack_size)(tid);
        if (bytes) {
            thread->strands[0].high = VG_(thread_get_stack_max)(tid);
            thread->strands[0].low = thread->strands[0].high - bytes;
        }
        threads_count++;
    }
    return thread;
}

/* The alternate stack begins anew with every handler that is entered from outside it. */
static void enter_alternate(ThreadId tid, Addr sp)
{
    Addr low = VG_(thread_get_altstack_min)(tid);
    struct strand *fresh = NULL;
    park();
    for (UInt i = 1; i < running->begun; i++)
        if (running->strands[i].low == low && &running->strands[i] != strand)
            fresh = &running->strands[i];
    if (!fresh)
        fresh = spare_strand();
    begin_strand(fresh, sp);
    fresh->low = low;
    fresh->high = low + VG_(thread_get_altstack_size)(tid);
    take_up(fresh);
}

/* The handler is called from where the thread was interrupted; its return address is in the
   system's code and nobody's. */
static void enter_handler(ThreadId tid)
{
    Addr sp = VG_(get_SP)(tid), at = running->interrupted;
    UInt interrupted = exact_current;
    if (running->alternate)
        enter_alternate(tid, sp);
    else
        pop_below(sp + 1);
    exact_current = interrupted;
    push(sp);
    strand->calls[strand->count - 1].handler = True;
    if (exact_options.graphs) {
        go(&nowhere);
        return;
    }
    /* Addresses of callers are those after their calls. */
    exact_current = child_of(interrupted, exact_module_of(at), at + 1);
}

/* The calls of the running stack, from the innermost on; those that lie deeper are not looked for. */
Bool exact_frame_of(Addr address, Addr *canonical, Addr *code)
{
    enum { MOST = 64 };
    UInt count = strand ? strand->count : 0, end = count > MOST ? count - MOST : 0;
    for (UInt i = count; i-- > end;) {
        const struct call *call = &strand->calls[i];
        if (call->sp + sizeof(Addr) <= address)
            continue;
        if (call->handler)
            return False;
        *canonical = call->sp + sizeof(Addr);
        *code = 0;
        if (i + 1 == count)
            return True;
        const Addr *slot = (const Addr *)call[1].sp; /* its return address */
        if (!VG_(am_is_valid_for_client)((Addr)slot, sizeof *slot, VKI_PROT_READ))
            return False;
        *code = *slot - 1;
        return True;
    }
    return False;
}

void exact_run_thread(ThreadId tid, ULong blocks)
{
    exact_observe_slice(blocks);
    if (LIKELY(tid == running_tid && !running->signal && !running->handled))
        return;
    if (running)
        running->place = here();
    running = thread_of(tid);
    if (tid != running_tid) {
        exact_trace_thread(tid);
        exact_window_run_thread(tid);
    }
    if (exact_objects && tid != running_tid) {
        exact_sharing_run_thread(tid);
        exact_calls_run_thread(tid);
    }
    running_tid = tid;
    strand = &running->strands[running->now];
    go(&running->place);
    note_top();
    if (running->handled)
        settle(VG_(get_SP)(tid));
    running->handled = False;
    if (running->signal)
        enter_handler(tid);
    running->signal = False;
    running->place = here();
}

/* A system call may end while another thread is the one that ran last. */
ULong exact_ids(ThreadId tid, const struct exact_block *block)
{
    if (tid == running_tid)
        return activate(exact_current, block);
    return activate(thread_of(tid)->place.context, block);
}

void exact_before_signal(ThreadId tid, Int signal, Bool alternate)
{
    (void)signal;
    struct thread *thread = thread_of(tid);
    thread->signal = True;
    thread->alternate = alternate;
    thread->interrupted = VG_(get_IP)(tid);
}

void exact_after_signal(ThreadId tid, Int signal)
{
    (void)signal;
    thread_of(tid)->handled = True;
}

void exact_thread_begins(ThreadId tid)
{
    if (threads[tid])
        threads[tid]->known = False;
    if (tid == running_tid)
        running_tid = VG_INVALID_THREADID;
    if (exact_objects) {
        exact_sharing_thread_begins(tid);
        exact_calls_thread_begins(tid);
    }
}

void exact_thread_ends(ThreadId tid)
{
    exact_window_thread_ends(tid);
    if (exact_objects)
        exact_sharing_thread_ends(tid);
    if (!threads[tid])
        return;
    threads[tid]->known = False;
    if (tid == running_tid) {
        running_tid = VG_INVALID_THREADID;
        running = NULL;
    }
}

/* The child has the one that forked. */
void exact_threads_forked(void)
{
    threads_count = 1;
}

/* ---- what was met ---------------------------------------------------------------------------- */

void exact_contexts_init(void)
{
    contexts = exact_reserve((SizeT)EXACT_CONTEXTS_MAX * sizeof *contexts);
    activations = exact_reserve((SizeT)BARE_ACTIVATIONS_MAX * sizeof *activations);
    stretches = exact_reserve((((SizeT)SHADOW_IDS_MAX >> STRETCH_SHIFT) + 1) * sizeof *stretches);
    coarser_ids = exact_memory.map(NULL, (SizeT)SHADOW_IDS_MAX * sizeof *coarser_ids, false);
    if (!contexts || !activations || !stretches || !coarser_ids)
        exact_fail("the address space for calling contexts was refused");
    threads = VG_(calloc)("headroom.threads", VG_N_THREADS, sizeof *threads);
    add_children();
    add_seats();
}

UInt exact_ids_used(void)
{
    return ids_used;
}

UInt exact_contexts_count(void)
{
    return contexts_count;
}

UInt exact_threads_count(void)
{
    return threads_count;
}

Bool exact_ids_ran_out(void)
{
    return ran_out;
}

const struct exact_context *exact_context_number(UInt context)
{
    return &contexts[context];
}

UInt exact_context_node(UInt context, UInt *nodes,
                        UInt (*make)(UInt parent, UInt module, UInt flags, Addr address))
{
    static UInt chain[DEPTH_MAX];
    UInt length = 0;
    for (UInt at = context; at > EXACT_LOST && !nodes[at]; at = contexts[at].parent)
        chain[length++] = at;
    while (length) {
        UInt at = chain[--length];
        const struct exact_context *made = &contexts[at];
        nodes[at] = make(made->parent > EXACT_LOST ? nodes[made->parent] : 0, made->module,
                         made->parent == EXACT_LOST ? WIRE_NODE_BROKEN : 0, made->return_address);
    }
    return context > EXACT_LOST ? nodes[context] : 0;
}

const struct exact_activation *exact_activations(UInt *count)
{
    *count = activations_count;
    return activations;
}

const struct exact_activation *exact_activation_of(UInt id)
{
    UInt stretch = id >> STRETCH_SHIFT;
    UInt at = stretch < stretches_count ? stretches[stretch] : activations_count - 1;
    while (at + 1 < activations_count && activations[at + 1].base <= id)
        at++;
    return &activations[at < activations_count && activations[at].base <= id ? at : at - 1];
}

const struct exact_access *exact_access_of(UInt id)
{
    const struct exact_activation *activation = exact_activation_of(id);
    return &exact_block_number(activation->block)->accesses[id - activation->base];
}

/* ---- coarser ids
 * --------------------------------------------------------------------------------- */

static UInt other(const struct exact_access *like)
{
    struct exact_access alike;
    VG_(memset)(&alike, 0, sizeof alike); /* hashed whole */
    alike.bytes = like->bytes;
    alike.flags = like->flags & WIRE_NODE_KERNEL;
    alike.store = like->store;
    return activate(EXACT_LOST, exact_block_for(0, &alike, 1));
}

/* Of the block at once: the others will be asked for as well. */
static void find_coarser(UInt id)
{
    const struct exact_activation at = *exact_activation_of(id);
    const struct exact_block *block = exact_block_number(at.block);
    const struct exact_access *access = &block->accesses[id - at.base];
    if (at.context == EXACT_LOST) {
        coarser_ids[id] = exact_is_other(access) ? id : other(access);
        return;
    }
    UInt base = activate(coarser_context(at.context), block);
    for (UInt i = 0; i < block->count; i++)
        coarser_ids[at.base + i] = base + i;
}

UInt exact_coarser(void *unused, UInt id)
{
    (void)unused;
    if (UNLIKELY(!coarser_ids[id]))
        find_coarser(id);
    return coarser_ids[id];
}

void exact_foresee_coarser(void *unused, UInt id)
{
    (void)unused;
    __builtin_prefetch(&coarser_ids[id]);
}
