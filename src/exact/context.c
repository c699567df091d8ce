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
 * belongs to is taken up, or a new one begun.
 *
 * Recursion deeper than MOST_DEPTH stays in the context of that depth: trees must not grow with the
 * length of a list.
 */
#include "exact/instrument.h"

#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_threadstate.h>

enum {
    MOST_DEPTH = 512,
    MOST_CONTEXTS = 1 << 26,
    MOST_ACTIVATIONS = 1 << 27,
    FAR = 1 << 17, /* a stack pointer further away than that is on another stack */
    MOST_STRANDS = 64,
};

/* ---- the tree ------------------------------------------------------------------------------- */

UInt exact_current;
Addr exact_top;

static struct exact_context *contexts;
static UInt contexts_count = 1;

/* Open addressing tables of numbers; the key is found through the number. */
struct table {
    UInt *slots; /* number + 1, 0: empty */
    ULong capacity;
    UInt count;
};
static struct table contexts_table, activations_table;

static struct exact_activation *activations;
static UInt activations_count, ids_used = 1;
static Bool ran_out;

static ULong hash_context(UInt parent, Addr return_address)
{
    return base_mix64(return_address * 31 + parent);
}

static ULong hash_activation(UInt context, UInt block)
{
    return base_mix64((ULong)context << 32 | block);
}

static void grow(struct table *table, ULong (*hash)(UInt number))
{
    ULong capacity = table->capacity ? table->capacity * 2 : 1 << 16;
    UInt *slots = exact_memory.map(NULL, capacity * sizeof *slots, false);
    tl_assert2(slots, "headroom: no memory for contexts\n");
    for (ULong i = 0; i < table->capacity; i++) {
        if (!table->slots[i])
            continue;
        ULong slot = hash(table->slots[i] - 1) & (capacity - 1);
        while (slots[slot])
            slot = (slot + 1) & (capacity - 1);
        slots[slot] = table->slots[i];
    }
    if (table->slots)
        exact_memory.unmap(NULL, table->slots, table->capacity * sizeof *slots);
    table->slots = slots;
    table->capacity = capacity;
}

static ULong rehash_context(UInt number)
{
    return hash_context(contexts[number].parent, contexts[number].return_address);
}

static ULong rehash_activation(UInt number)
{
    return hash_activation(activations[number].context, activations[number].block);
}

static UInt child_of(UInt parent, Addr return_address)
{
    ULong slot = hash_context(parent, return_address) & (contexts_table.capacity - 1);
    for (UInt number; (number = contexts_table.slots[slot]) != 0;
         slot = (slot + 1) & (contexts_table.capacity - 1)) {
        const struct exact_context *found = &contexts[number - 1];
        if (found->return_address == return_address && found->parent == parent)
            return number - 1;
    }
    if (contexts_count == MOST_CONTEXTS)
        return parent;
    UInt number = contexts_count++;
    contexts[number] = (struct exact_context){.parent = parent,
                                              .module = exact_module_of(return_address - 1),
                                              .return_address = return_address};
    contexts_table.slots[slot] = number + 1;
    if (++contexts_table.count * 2 > contexts_table.capacity)
        grow(&contexts_table, rehash_context);
    return number;
}

/* Ids of a block in a context; when they run out, those of the block in no context. */
static UInt activate(UInt context, const struct exact_block *block)
{
    ULong slot = hash_activation(context, block->serial) & (activations_table.capacity - 1);
    for (UInt number; (number = activations_table.slots[slot]) != 0;
         slot = (slot + 1) & (activations_table.capacity - 1)) {
        const struct exact_activation *found = &activations[number - 1];
        if (found->context == context && found->block == block->serial)
            return found->base;
    }
    UInt reserve = context ? 1 << 20 : 0; /* for blocks in no context */
    if (ids_used + block->count + reserve > SHADOW_MOST_IDS ||
        activations_count + reserve / 8 >= MOST_ACTIVATIONS) {
        tl_assert2(context, "headroom: ids ran out\n");
        ran_out = True;
        return activate(0, block);
    }
    UInt base = ids_used;
    ids_used += block->count;
    for (UInt i = 0; i < block->count; i++)
        if (exact_options.kinds)
            shadow_define(&exact_shadow, base + i, block->accesses[i].element);
    exact_trace_ids(base, context, block);
    activations[activations_count++] = (struct exact_activation){base, context, block->serial};
    activations_table.slots[slot] = activations_count;
    if (++activations_table.count * 2 > activations_table.capacity)
        grow(&activations_table, rehash_activation);
    return base;
}

ULong exact_ids(const struct exact_block *block)
{
    return activate(exact_current, block);
}

VG_REGPARM(1) void exact_enter_block(struct exact_block *block)
{
    UInt slot = exact_current % LATELY;
    if (UNLIKELY(block->lately[slot].context != exact_current)) {
        block->lately[slot].base = activate(exact_current, block);
        block->lately[slot].context = exact_current;
    }
    block->base = block->lately[slot].base;
    block->context = exact_current;
}

/* ---- stacks -----------------------------------------------------------------------------------
 */

struct call {
    Addr sp; /* address of the pushed return address */
    UInt context, depth;
};

/* One stack of calls. lowest: sp of the innermost; highest: the largest seen. */
struct strand {
    struct call *calls;
    UInt count, capacity;
    Addr highest;
    Bool used;
    UInt context; /* when parked */
    ULong parked; /* when */
};

struct thread {
    struct strand strands[MOST_STRANDS];
    UInt now; /* the strand that runs */
    UInt context;
    Bool signal; /* a handler is about to be entered */
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
    UInt depth = strand->count ? strand->calls[strand->count - 1].depth + 1 : 1;
    strand->calls[strand->count++] = (struct call){sp, exact_current, depth};
    exact_top = sp;
    if (sp > strand->highest)
        strand->highest = sp;
}

/* Calls whose return address lies below sp are over. */
static void pop_below(Addr sp)
{
    while (strand->count && strand->calls[strand->count - 1].sp < sp)
        exact_current = strand->calls[--strand->count].context;
    note_top();
}

static Bool belongs(const struct strand *candidate, Addr sp)
{
    if (!candidate->used || !candidate->count)
        return False;
    return sp + FAR > candidate->calls[candidate->count - 1].sp && sp < candidate->highest + FAR;
}

static void begin_strand(struct strand *fresh, Addr sp)
{
    fresh->used = True;
    fresh->count = 0;
    fresh->highest = sp;
}

/* The stack pointer is on another stack: find the calls that belong there. */
static void switch_strand(Addr sp)
{
    struct strand *best = NULL, *oldest = NULL;
    strand->context = exact_current;
    strand->parked = ++parkings;
    for (UInt i = 0; i < MOST_STRANDS; i++) {
        struct strand *candidate = &running->strands[i];
        if (candidate == strand)
            continue;
        /* of several the one whose innermost call is nearest */
        if (belongs(candidate, sp) &&
            (!best || candidate->calls[candidate->count - 1].sp > best->calls[best->count - 1].sp))
            best = candidate;
        if (!oldest || !candidate->used || (oldest->used && candidate->parked < oldest->parked))
            oldest = candidate;
    }
    if (best) {
        exact_current = best->context;
    } else {
        best = oldest;
        begin_strand(best, sp);
        exact_current = 0;
    }
    strand = best;
    running->now = (UInt)(best - running->strands);
    note_top();
}

static Bool elsewhere(Addr sp)
{
    return strand->count && (sp + FAR < exact_top || sp > strand->highest + FAR);
}

VG_REGPARM(3) void exact_on_call(Addr sp, Addr return_address, struct exact_block *block)
{
    if (UNLIKELY(elsewhere(sp)))
        switch_strand(sp);
    if (UNLIKELY(exact_top <= sp))
        pop_below(sp + 1);
    push(sp);
    if (LIKELY(block->call_context == exact_current)) {
        exact_current = block->call_child;
        return;
    }
    if (strand->calls[strand->count - 1].depth > MOST_DEPTH)
        return;
    block->call_context = exact_current;
    block->call_child = exact_current = child_of(exact_current, return_address);
}

VG_REGPARM(2) void exact_on_return(Addr sp, Addr target)
{
    (void)target;
    if (UNLIKELY(elsewhere(sp)))
        switch_strand(sp);
    pop_below(sp);
}

VG_REGPARM(1) void exact_on_jump(Addr sp)
{
    if (UNLIKELY(elsewhere(sp)))
        switch_strand(sp);
    pop_below(sp);
}

/* ---- threads and signals ------------------------------------------------------------------------
 */

static struct thread *thread_of(ThreadId tid)
{
    if (!threads[tid])
        threads[tid] = VG_(calloc)("headroom.thread", 1, sizeof **threads);
    struct thread *thread = threads[tid];
    if (!thread->known) {
        thread->known = True;
        thread->context = 0;
        thread->now = 0;
        thread->signal = False;
        for (UInt i = 0; i < MOST_STRANDS; i++) {
            thread->strands[i].used = False;
            thread->strands[i].count = 0;
        }
        begin_strand(&thread->strands[0], VG_(get_SP)(tid));
        threads_count++;
    }
    return thread;
}

void exact_run_thread(ThreadId tid, ULong blocks)
{
    (void)blocks;
    if (LIKELY(tid == running_tid && !running->signal))
        return;
    if (running)
        running->context = exact_current;
    running = thread_of(tid);
    if (tid != running_tid)
        exact_trace_thread(tid);
    running_tid = tid;
    strand = &running->strands[running->now];
    exact_current = running->context;
    note_top();
    if (running->signal) {
        /* The handler is called, by nobody, from where the thread was interrupted. */
        running->signal = False;
        Addr sp = VG_(get_SP)(tid);
        UInt interrupted = exact_current;
        if (elsewhere(sp)) {
            switch_strand(sp);
            exact_current = interrupted;
        }
        pop_below(sp + 1);
        exact_current = interrupted;
        push(sp);
        running->context = exact_current;
    }
}

void exact_before_signal(ThreadId tid, Int signal, Bool alternate)
{
    (void)signal, (void)alternate;
    thread_of(tid)->signal = True;
}

void exact_thread_begins(ThreadId tid)
{
    if (threads[tid])
        threads[tid]->known = False;
    if (tid == running_tid)
        running_tid = VG_INVALID_THREADID;
}

void exact_thread_ends(ThreadId tid)
{
    if (!threads[tid])
        return;
    threads[tid]->known = False;
    if (tid == running_tid) {
        running_tid = VG_INVALID_THREADID;
        running = NULL;
    }
}

/* ---- what was met
 * ---------------------------------------------------------------------------------- */

void exact_contexts_init(void)
{
    contexts = exact_reserve((SizeT)MOST_CONTEXTS * sizeof *contexts);
    activations = exact_reserve((SizeT)MOST_ACTIVATIONS * sizeof *activations);
    tl_assert2(contexts && activations, "headroom: address space was refused\n");
    threads = VG_(calloc)("headroom.threads", VG_N_THREADS, sizeof *threads);
    grow(&contexts_table, rehash_context);
    grow(&activations_table, rehash_activation);
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

const struct exact_activation *exact_activations(UInt *count)
{
    *count = activations_count;
    return activations;
}

const struct exact_activation *exact_activation_of(UInt id)
{
    UInt low = 0, high = activations_count;
    while (high - low > 1) {
        UInt middle = low + (high - low) / 2;
        if (activations[middle].base <= id)
            low = middle;
        else
            high = middle;
    }
    return &activations[low];
}
