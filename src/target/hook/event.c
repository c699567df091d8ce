// SPDX-License-Identifier: MIT
/*
 * An execution begins, an execution ends: the way that is taken millions of times a second. General
 * registers only; due work is left to due.c.
 */
#include "hook/internal.h"

_Static_assert(sizeof(struct slot) == 320 && offsetof(struct slot, ra) == 8, "known to entry.S");
_Static_assert(offsetof(struct hook_thread, busy) == 8 && offsetof(struct hook_thread, due) == 16,
               "known to entry.S");
_Static_assert(SPANS_FUNCTIONS == 1024 && HOOK_SLOTS == 32768 && HOOK_STUB_BYTES == 64,
               "known to entry.S");

struct hook_state hook;
__thread struct hook_thread *hook_self;
int32_t hook_unobserved[SPANS_FUNCTIONS];
__thread int32_t *hook_countdown = hook_unobserved;
uint64_t hook_targets[SPANS_FUNCTIONS];

enum {
    LONG_TICKS = 4000,    /* no shorter execution can hold a context switch             */
    SWITCH_TICKS = 65536, /* what a preemption adds besides, at most: some 20 us        */
    SLOW_FACTOR = 4,      /* of the minimum: executions worth an event                  */
    EVENT_PERIOD = 64,    /* and one in so many besides                                 */
    HELD_LOCKS = 4096,
    CHAIN_SEARCH = 64,  /* activations                                                    */
    NEAR_STACK = 65536, /* bytes                                                          */
    NOTE_PERIOD = 7,    /* one execution in so many is noted with its arguments           */
    BURST = 16,         /* executions looked at in a row, if not all are,                 */
    WARM_UP = 4,        /* without the first so many                                      */
    UNOBSERVED = 65536, /* calls that pass before a thread that is not observed is asked again */
};

#define likely(condition)   __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#define COMPILER_BARRIER()  __asm__ volatile("" ::: "memory")

/* ---- who took a lock last ------------------------------------------------------- */

/*
 * One process-wide table: whoever gets a lock writes where it was taken, and reads there who had it
 * before. The entry goes from processor to processor together with the lock, so threads that share
 * no lock hardly meet here.
 */
static struct {
    _Alignas(64) _Atomic uint64_t lock;
    _Atomic uint64_t place;
    _Atomic uint64_t owner; /* its struct hook_thread: nobody waits for himself */
} held[HELD_LOCKS];

static SLOW void note_holder(struct spans_span *span, uint64_t place, uint64_t ticks)
{
    struct spans_holder *holder = span->holders;
    struct spans_holder *least = holder;
    for (int i = 0; i < SPANS_HOLDERS; i++, holder++) {
        if (holder->place == place || !holder->times) {
            least = holder;
            break;
        }
        if (holder->ticks < least->ticks)
            least = holder;
    }
    if (least->place != place) /* the least important one makes room */
        *least = (struct spans_holder){.place = place};
    least->times++;
    least->ticks += ticks;
}

static inline void took_lock(const struct hook_thread *self, struct spans_span *span,
                             const struct slot *slot, uint64_t ticks)
{
    uint64_t place = base_mix64(slot->key) % HELD_LOCKS;
    if (ticks / 2 > span->min &&
        atomic_load_explicit(&held[place].lock, memory_order_relaxed) == slot->key &&
        atomic_load_explicit(&held[place].owner, memory_order_relaxed) != (uint64_t)self)
        note_holder(span, atomic_load_explicit(&held[place].place, memory_order_relaxed),
                    ticks - span->min);
    atomic_store_explicit(&held[place].lock, slot->key, memory_order_relaxed);
    atomic_store_explicit(&held[place].place, slot->ra, memory_order_relaxed);
    atomic_store_explicit(&held[place].owner, (uint64_t)self, memory_order_relaxed);
}

/* ---- begin ---------------------------------------------------------------------- */

union hook_observing hook_observing;

static inline bool observing(void)
{
    return atomic_load_explicit(&hook_observing.on, memory_order_relaxed);
}

/*
 * Busy: a handler of the program interrupted us, and what it calls passes unseen. Unless it was
 * left by a jump: then we are called from further up the same stack, and nobody will come back.
 */
static inline bool is_busy(struct hook_thread *self, uint64_t sp)
{
    if (likely(!self->busy))
        return false;
    if (sp > self->busy && sp - self->busy < NEAR_STACK)
        return false;
    if (self->piece)
        self->piece->nested_signals++;
    return true;
}

static inline void begin_work(struct hook_thread *self, uint64_t sp)
{
    self->busy = sp;
    COMPILER_BARRIER();
}

/* With work due the thread stays busy until that is done. */
static inline void end_work(struct hook_thread *self)
{
    COMPILER_BARRIER();
    if (likely(!self->due))
        self->busy = 0;
}

/* What the kernel noted belongs to before or after now: it is looked at whenever an execution
 * begins or ends. */
static inline bool switched(const struct hook_thread *self)
{
    return switches_since(&self->ring, self->ring_seen);
}

static inline uint64_t key_of(const struct hook_function *function, const struct hook_frame *frame)
{
    uint64_t value = function->key_argument == 0   ? frame->rdi
                     : function->key_argument == 1 ? frame->rsi
                     : function->key_argument == 2 ? frame->rdx
                     : function->key_argument == 3 ? frame->rcx
                     : function->key_argument == 4 ? frame->r8
                                                   : frame->r9;
    if (function->key == SPANS_KEY_SIZE)
        return value < 2 ? value : UINT64_C(1) << (64 - __builtin_clzll(value - 1)) % 64;
    return value;
}

static SLOW void learn(struct hook_function *function, uint32_t k)
{
    const struct spans_function *known = &hook.region->function[k];
    uint32_t every = atomic_load_explicit(&known->every, memory_order_relaxed);
    function->every = every ? every : 1;
    function->class = known->class;
    function->key = known->key;
    function->key_argument = known->key_argument;
}

/*
 * One in so many: in bursts, of which the first few executions are not counted. An execution looked
 * at after thousands that were not finds caches and branch predictors without us, and takes longer
 * than others by that alone. Returns true while it is warming up.
 */
static SLOW bool in_burst(struct hook_thread *self, struct hook_function *function, uint32_t k)
{
    if (function->burst == 0)
        function->burst = BURST;
    function->burst--;
    if (function->burst) {
        hook_countdown[k] = 0;
        return function->burst >= BURST - WARM_UP;
    }
    /* A fixed stride could fall in step with the program: half to one and a half times. */
    uint32_t pause = function->every * (BURST - WARM_UP) - BURST;
    self->random = self->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    hook_countdown[k] = (int32_t)(pause / 2 + 1 + (self->random >> 33) % (pause + 1));
    return false;
}

/* How many executions until the next one that is looked at. */
static inline bool set_countdown(struct hook_thread *self, struct hook_function *function,
                                 uint32_t k)
{
    if (unlikely(!function->every))
        learn(function, k);
    if (unlikely(function->every > 1))
        return in_burst(self, function, k);
    hook_countdown[k] = 0;
    return false;
}

static inline struct slot *take_slot(struct hook_thread *self)
{
    struct slot *slot = self->free;
    if (unlikely(!slot) && !(slot = slot_find(self))) {
        self->piece->unhooked++;
        return NULL;
    }
    self->free = slot->parent;
    return slot;
}

static inline void enter(struct hook_thread *self, struct slot *slot, uint32_t k, uint64_t sp,
                         bool open_ended, unsigned noted)
{
    if (unlikely(self->top && self->top->sp <= sp)) {
        slot_skip(self, sp);
        slot_replace(self, sp, slot->ra);
    }
    slot->sp = sp;
    slot->parent = self->top;
    slot->within = 0;
    slot->children = slot->runs = 0;
    slot->kind = (union slot_kind){
        {.function = k, .state = SLOT_ACTIVE, .open_ended = open_ended, .noted = noted}};
    self->top = slot;
}

uint64_t hook_enter_c(struct hook_frame *frame)
{
    uint32_t k = (uint32_t)frame->number;
    struct hook_thread *self = hook_self;
    uint64_t sp = (uint64_t)&frame->ra;
    frame->number = hook_targets[k];
    if (unlikely(!self || !observing() || self->refused)) {
        hook_countdown[k] = UNOBSERVED;
        return 0;
    }
    if (is_busy(self, sp))
        return 0;
    begin_work(self, sp);
    if (unlikely(self->measuring == 1))
        self->measuring = HOOK_TICKS();
    if (unlikely(!self->piece || switched(self))) {
        self->due |= self->piece ? DUE_SWITCHES : DUE_BEGIN;
        frame->number = k;
        return 1;
    }
    struct hook_function *function = &self->function[k];
    bool warming = set_countdown(self, function, k);
    struct slot *slot = take_slot(self);
    uint64_t next = 0;
    if (likely(slot != NULL)) {
        slot->target = frame->number;
        slot->ra = frame->ra;
        slot->key = function->key ? key_of(function, frame) : 0;
        unsigned noted = warming ? WARMING : function->window % NOTE_PERIOD == 0;
        if (unlikely(noted == NOTED)) {
            slot->argument[0] = frame->rdi;
            slot->argument[1] = frame->rsi;
            slot->argument[2] = frame->rdx;
        }
        enter(self, slot, k, sp, false, noted);
        next = slot->code;
    }
    end_work(self);
    if (likely(slot != NULL))
        slot->start = HOOK_TICKS();
    return next;
}

/* ---- end ------------------------------------------------------------------------ */

static SLOW void note_event(struct spans_thread *piece, const struct slot *slot,
                            const struct spans_span *span, uint64_t ticks)
{
    struct spans_event *event = &piece->events_ring[piece->events_next++ % SPANS_EVENTS];
    *event = (struct spans_event){.start = slot->start,
                                  .ticks = ticks,
                                  .key = slot->key,
                                  .function = slot->kind.function,
                                  .span = (uint32_t)(span - piece->span)};
}

/* Samples spread evenly: when the room is used up every other one goes and the stride doubles. */
static SLOW void note_sample(struct spans_span *span, const struct slot *slot, uint64_t ticks,
                             uint64_t result)
{
    if (span->samples_count == SPANS_SAMPLES) {
        for (uint32_t i = 0; i < SPANS_SAMPLES / 2; i++)
            span->samples[i] = span->samples[2 * i];
        span->samples_count = SPANS_SAMPLES / 2;
        span->sample_stride *= 2;
    }
    struct spans_sample *sample = &span->samples[span->samples_count++];
    span->next_sample = span->recorded + span->sample_stride;
    sample->ticks = ticks;
    for (int i = 0; i < 3; i++)
        sample->argument[i] = slot->argument[i];
    sample->result = result;
}

/*
 * What the thread missed meanwhile because others ran, or because it slept. Returns the ticks
 * without the former.
 */
static SLOW uint64_t take_switches(const struct slot *slot, struct spans_span *span, uint64_t ticks,
                                   uint32_t every)
{
    uint64_t preempted = slot->switches[1];
    span->asleep += every * slot->switches[0];
    span->preempted += preempted;
    span->asleep_within += every * slot->asleep_within;
    span->sleeps += slot->switches[2];
    span->preemptions += slot->switches[3];
    if (slot->parent) /* it slept as well, so its count is valid */
        slot->parent->asleep_within += every * slot->switches[0];
    if (!preempted)
        return ticks;
    /* Two clocks, whose rates are known as well as can be, and the kernel's work around the switch, which it
       does not count: what is left of a short execution is these, and of no execution a minimum. */
    uint64_t left = preempted < ticks ? ticks - preempted : 1;
    if (span->min == UINT64_MAX) /* nothing better is known */
        return left;
    return left < SWITCH_TICKS || left < span->min ? span->min : left;
}

static inline void add(struct spans_span *span, const struct slot *slot, uint64_t ticks,
                       uint32_t every, bool preempted)
{
    if (unlikely(ticks < span->min) && !preempted)
        span->min = ticks;
    if (unlikely(ticks > span->max))
        span->max = ticks;
    span->recorded++;
    span->sum += ticks;
    uint32_t bin = spans_bin(ticks);
    span->bins[bin]++;
    if (slot->within)
        span->within += slot->within;
    if (unlikely(every > 1)) { /* it stands for those that were let pass */
        span->skipped += every - 1;
        span->sum += (every - 1) * ticks;
        span->bins[bin] += every - 1;
        span->within += (every - 1) * slot->within;
    }
}

static SLOW void add_to_trunk(struct hook_thread *self, const struct slot *slot,
                              const struct spans_span *span, uint64_t ticks)
{
    /* On a clock that stands still while the thread is preempted. */
    uint64_t start = slot->start - self->switches[1];
    if (slot->kind.switched)
        start += slot->switches[1];
    fold_add(self->fold, (uint32_t)(span - self->piece->span), start, start + ticks);
}

static SLOW void change_trunk(struct hook_thread *self, struct slot *trunk)
{
    fold_end(self->fold);
    self->trunk = trunk;
}

static inline void add_to_parent(struct hook_thread *self, const struct slot *slot,
                                 const struct spans_span *span, uint64_t shape, uint64_t ticks)
{
    struct slot *parent = slot->parent;
    if (parent) {
        parent->within += ticks;
        span_child(parent, slot->kind.function, shape);
        if (unlikely(parent->children == TRUNK_CHILDREN) && !self->trunk)
            change_trunk(self, parent);
    }
    if (unlikely(self->folding) && parent == self->trunk)
        add_to_trunk(self, slot, span, ticks);
}

/* What is looked at now and then. Sequences of siblings cost more to find than all the rest: a part
   of the time shows as much. */
static SLOW void look_around(struct hook_thread *self)
{
    uint64_t events = self->piece->events += LOOK_PERIOD;
    bool folding = events < FOLD_BEGINNING || events % FOLD_PERIOD < FOLD_PART;
    if (self->folding && !folding)
        fold_end(self->fold);
    self->folding = folding;
    self->quiet = LOOK_PERIOD;
    self->measuring = 1;
    if (atomic_load_explicit(&hook.process->new_modules, memory_order_relaxed) >
        atomic_load_explicit(&hook.modules_seen, memory_order_relaxed))
        self->due |= DUE_MODULES;
    if (events % COST_PERIOD < LOOK_PERIOD) /* the piece's last owner ended at any number */
        self->due |= DUE_COST;
    if (atomic_load_explicit(hook.agent.stopping, memory_order_relaxed))
        hook_stop();
}

static SLOW void want_stack(struct hook_thread *self, const struct slot *slot,
                            struct spans_span *span, uint64_t ticks)
{
    span->next_stack = span->recorded - 1 + hook.region->stack_period;
    self->due |= DUE_STACK;
    self->stack_span = span;
    self->stack_ticks = ticks > span->min ? ticks - span->min : 0;
    self->caller.ip = slot->ra;
    self->caller.general[BASE_RSP] = slot->sp + 8;
}

/* Slow ones, and one in so many: the ring of events, the time when the span was last met. */
static SLOW void note(struct hook_thread *self, const struct slot *slot, struct spans_span *span,
                      uint64_t ticks, uint64_t now)
{
    span->last = now;
    note_event(self->piece, slot, span, ticks);
}

static inline __attribute__((always_inline)) void leave(struct hook_thread *self, struct slot *slot,
                                                        uint64_t now, uint64_t result)
{
    uint32_t k = slot->kind.function;
    struct hook_function *function = &self->function[k];
    uint64_t ticks = now - slot->start;
    if (unlikely(slot->kind.noted == WARMING))
        return;
    if (unlikely(self->trunk == slot))
        change_trunk(self, NULL);
    uint64_t shape = slot->runs ? span_shape(slot) : 0;
    struct spans_span *span = function->last;
    if (unlikely(!span || span->key != slot->key || span->shape != shape)) {
        span = span_find(self, k, slot->key, shape, slot);
        if (!span) {
            self->piece->unhooked++;
            return;
        }
        function->last = span;
    }
    bool preempted = slot->kind.switched && slot->switches[1];
    if (unlikely(slot->kind.switched))
        ticks = take_switches(slot, span, ticks, function->every);
    add(span, slot, ticks, function->every, preempted);
    if (unlikely(ticks / SLOW_FACTOR > span->min || span->recorded % EVENT_PERIOD == 0))
        note(self, slot, span, ticks, now);
    if (unlikely(slot->kind.noted == NOTED) && span->recorded >= span->next_sample)
        note_sample(span, slot, ticks, result);
    if (function->class == SPANS_LOCK && slot->key)
        took_lock(self, span, slot, ticks);
    if (likely(function->every == 1))
        add_to_parent(self, slot, span, shape, ticks);
    else if (slot->parent) /* only some are seen: no sequences of them, but their time, in the sum
                              of executions */
        slot->parent->within += function->every * ticks;
    function->window++;
    if (unlikely(--self->quiet == 0))
        look_around(self);
    if (unlikely(span->recorded > span->next_stack))
        want_stack(self, slot, span, ticks);
}

/* Not on the usual way. */
static SLOW void leave_otherwise(struct hook_thread *self, struct slot *slot, uint64_t now,
                                 uint64_t result)
{
    leave(self, slot, now, result);
}

/* Takes it out of the chain; false if it is not there. What was called from it and never returned
 * goes to limbo. */
static bool unlink_slot(struct hook_thread *self, struct slot *slot)
{
    slot_skip(self, slot->sp);
    struct slot **link = &self->top;
    for (int depth = 0; *link && depth < CHAIN_SEARCH; depth++, link = &(*link)->parent)
        if (*link == slot) {
            *link = slot->parent;
            return true;
        }
    return false;
}

/* Neither the innermost of its thread, nor perhaps of this thread at all. */
static SLOW void leave_unusual(struct hook_thread *self, struct slot *slot, uint64_t now,
                               uint64_t result)
{
    if (unlink_slot(self, slot)) {
        if (self->piece && observing())
            leave_otherwise(self, slot, now, result);
        slot_give(self, slot);
        return;
    }
    slot->kind.state = SLOT_DONE; /* deep in the chain: sorted out when that is reached */
    if (self->piece)
        self->piece->unhooked++;
}

/*
 * What recording costs here and now, caches as the program leaves them: many times what it does in
 * a loop that does nothing else. A third more for what lies before and after the readings.
 */
static SLOW void measure(struct hook_thread *self, const struct slot *slot, uint64_t now)
{
    uint64_t ticks = HOOK_TICKS() - now;
    if (slot->start < self->measuring)
        return; /* another one, which was entered before */
    ticks += slot->start - self->measuring;
    self->measuring = 0;
    ticks += ticks / 3;
    if (ticks < LONG_TICKS) /* else something else came in between */
        self->cost += (ticks >> 3) - (self->cost >> 3);
}

/* In limbo, of a thread that has ended, or met in a handler that interrupted this room. */
static SLOW void leave_unseen(struct slot *slot)
{
    if (slot->kind.state == SLOT_LIMBO)
        slot->kind.state = SLOT_DONE;
}

uint64_t hook_leave_c(struct hook_frame *frame)
{
    uint64_t now = HOOK_TICKS();
    uint64_t index = (frame->number - (uint64_t)hook_slots) / HOOK_SLOT_BYTES;
    struct slot *slot = (struct slot *)((uint64_t)hook_slot + index * sizeof *slot);
    struct hook_thread *self = hook_self;
    uint64_t ra = slot->ra, sp = (uint64_t)&frame->ra;
    if (unlikely((slot->kind.state != SLOT_ACTIVE && slot->kind.state != SLOT_ENDING) ||
                 slot->owner != self || is_busy(self, sp))) {
        leave_unseen(slot);
        return ra;
    }
    begin_work(self, sp);
    if (unlikely(slot->kind.state == SLOT_ENDING)) {
        now = slot->end; /* once more, after due work */
    } else if (unlikely(now - slot->start > LONG_TICKS) && self->piece && observing() &&
               switched(self)) {
        slot->end = now;
        slot->kind.state = SLOT_ENDING;
        self->ending = slot;
        self->due |= DUE_SWITCHES;
        return 0;
    }
    if (unlikely(self->top != slot)) {
        leave_unusual(self, slot, now, frame->rax);
    } else {
        self->top = slot->parent;
        if (likely(self->piece && observing()))
            leave(self, slot, now, frame->rax);
        slot_give(self, slot);
        if (unlikely(self->measuring > 1))
            measure(self, slot, now);
    }
    end_work(self);
    return ra;
}

/* ---- entries without a return address ------------------------------------------ */

static SLOW struct hook_thread *ready(uint64_t sp)
{
    struct hook_thread *self = hook_self;
    if (!self || self->refused || !observing() || is_busy(self, sp))
        return NULL;
    begin_work(self, sp);
    if (!self->piece)
        self->due |= DUE_BEGIN; /* from the next time on */
    else if (switched(self))
        self->due |= DUE_SWITCHES;
    if (self->piece)
        return self;
    end_work(self);
    return NULL;
}

static void open_slot(uint32_t k, uint64_t key, uint64_t sp)
{
    if (--hook_countdown[k] > 0)
        return;
    struct hook_thread *self = ready(sp);
    if (!self)
        return;
    bool warming = set_countdown(self, &self->function[k], k);
    struct slot *slot = take_slot(self);
    if (slot) {
        slot->key = key;
        slot->argument[0] = slot->argument[1] = slot->argument[2] = slot->ra = 0;
        enter(self, slot, k, sp, true, warming ? WARMING : NOTED);
    }
    end_work(self);
    if (slot)
        slot->start = HOOK_TICKS();
}

/* Ends the innermost execution of k that was begun; what was begun inside and not ended was left by
 * a jump. */
static void close_slot(uint32_t k, uint64_t sp, enum caller caller)
{
    uint64_t now = HOOK_TICKS();
    struct hook_thread *self = ready(sp);
    if (!self)
        return;
    struct slot *slot = self->top;
    while (slot && slot->kind.open_ended && slot->kind.function != k)
        slot = slot->parent;
    if (slot && slot->kind.open_ended) {
        while (self->top != slot) {
            struct slot *inner = self->top;
            self->top = inner->parent;
            slot_give(self, inner);
        }
        self->top = slot->parent;
        slot->ra = caller;
        leave_otherwise(self, slot, now, 0);
        slot_give(self, slot);
    }
    end_work(self);
}

/* The first argument is what the instruction before the call pushed. */
void hook_marker_begin_c(uint64_t first, uint64_t key, uint64_t sp, uint64_t k)
{
    (void)first;
    open_slot((uint32_t)k, key, sp);
}

void hook_marker_end_c(uint64_t first, uint64_t key, uint64_t sp, uint64_t k)
{
    (void)first;
    (void)key;
    close_slot((uint32_t)k, sp, CALLER_MARKER);
}

/* Number of the function at `address`, 0: it is not timed. */
static uint32_t called_number(uint64_t address)
{
    if (!hook.process)
        return 0;
    uint32_t at = (uint32_t)base_mix64(address) % (2 * SPANS_FUNCTIONS);
    for (uint32_t i = 0; i < 2 * SPANS_FUNCTIONS; i++, at = (at + 1) % (2 * SPANS_FUNCTIONS)) {
        uint64_t there =
            atomic_load_explicit(&hook.process->called[at].address, memory_order_acquire);
        if (there == address)
            return (uint32_t)hook.process->called[at].function;
        if (!there)
            return 0;
    }
    return 0;
}

/* -finstrument-functions: `function` is the address of what calls. */
void hook_called_enter_c(uint64_t function, uint64_t site, uint64_t sp)
{
    uint32_t k = called_number(function);
    (void)site;
    if (k)
        open_slot(k, 0, sp);
}

void hook_called_leave_c(uint64_t function, uint64_t site, uint64_t sp)
{
    uint32_t k = called_number(function);
    (void)site;
    if (k)
        close_slot(k, sp, CALLER_FRAME);
}
