// SPDX-License-Identifier: MIT
/* Process and threads: pieces of the region, beginning, end, fork; what recording costs. */
#include "hook/internal.h"

#include "os/os.h"

#include <asm/unistd.h>
#include <linux/membarrier.h>
#include <linux/prctl.h>
#include <linux/time.h>

enum {
    COST_LIMIT = 50, /* about one part in so many of a thread's time at most goes to recording */
    EVERY_MAX = 4096,
    PATCHING_MS = 1500,
    CALIBRATION_CALLS = 64,
    CALIBRATION_ROUNDS = 8,
    WIPE_ON_FORK = 18, /* MADV_WIPEONFORK */
};

static struct hook_thread *spare;
static _Atomic(struct hook_thread *) last_made; /* of all states that there are */
static _Atomic bool spare_lock;

/* ---- pieces -------------------------------------------------------------------- */

static void *take_piece(uint64_t bytes)
{
    uint64_t whole = (bytes + SPANS_PAGE - 1) / SPANS_PAGE * SPANS_PAGE;
    uint64_t at = atomic_fetch_add_explicit(&hook.region->next, whole, memory_order_relaxed);
    struct spans_piece *piece = at + whole <= SPANS_REGION_BYTES ? hook.agent.map(at, whole) : NULL;
    if (!piece) {
        atomic_fetch_add_explicit(&hook.region->lost, 1, memory_order_relaxed);
        return NULL;
    }
    piece->pid = hook.pid;
    piece->process = hook.number;
    piece->bytes = whole;
    return piece;
}

static void begin_owner(struct hook_thread *self)
{
    struct spans_thread *piece = self->piece;
    piece->begun = HOOK_TICKS();
    piece->begun_ns = os_now_ns(CLOCK_MONOTONIC_RAW);
    piece->threads++;
    piece->tid = self->tid;
    piece->name[0] = 0;
    piece->cpu_now_ns = 0;
    self->cpu_begun_ns = os_now_ns(CLOCK_THREAD_CPUTIME_ID);
    self->checked = piece->begun;
    self->cost = hook.cost;
    self->measuring = 0;
    if (hook.region->switches && switches_open(&self->ring) != 0)
        atomic_fetch_add_explicit(&hook.region->no_switches, 1, memory_order_relaxed);
    self->ring_seen = self->ring_position = switches_position(&self->ring);
    atomic_store_explicit(&piece->live, self->tid, memory_order_release);
}

static void set_cpu(const struct hook_thread *self, uint64_t now_ns)
{
    if (now_ns > self->cpu_begun_ns)
        self->piece->cpu_now_ns = now_ns - self->cpu_begun_ns;
}

void thread_note_cpu(struct hook_thread *self)
{
    set_cpu(self, os_now_ns(CLOCK_THREAD_CPUTIME_ID));
}

/* All that is left to say of a thread. */
static void end_owner(struct hook_thread *self)
{
    struct spans_thread *piece = self->piece;
    thread_note_cpu(self);
    os_syscall(__NR_prctl, PR_GET_NAME, piece->name);
    piece->cpu_ns += piece->cpu_now_ns;
    piece->cpu_now_ns = 0;
    piece->ticks += HOOK_TICKS() - piece->begun;
    atomic_store_explicit(&piece->live, 0, memory_order_release);
}

bool thread_piece(struct hook_thread *self)
{
    struct spans_thread *piece = take_piece(sizeof *piece);
    if (!piece) {
        self->refused = true;
        return false;
    }
    self->piece = piece;
    self->quiet = LOOK_PERIOD;
    self->folding = true;
    begin_owner(self);
    atomic_store_explicit(&piece->piece.kind, SPANS_PIECE_THREAD, memory_order_release);
    return true;
}

/* ---- process ------------------------------------------------------------------- */

extern const unsigned char hook_marker_begin[], hook_marker_end[];

static bool process_piece(enum spans_phase phase)
{
    const struct spans_process *parent = hook.process;
    struct spans_process *process = take_piece(sizeof *process);
    /* Without memory, or when headroom has been killed, a forked child keeps its parent's: int3s in
       its code are looked up there. */
    if (!process)
        return false;
    hook.process = process;
    process->stubs = (uint64_t)hook_stubs;
    process->stub_bytes = HOOK_STUB_BYTES;
    process->targets = (uint64_t)hook_targets;
    process->marker_begin = (uint64_t)hook_marker_begin;
    process->marker_end = (uint64_t)hook_marker_end;
    if (parent) { /* a forked child: its memory is patched as its parent's was */
        atomic_store(&process->blocks_traps, atomic_load(&parent->blocks_traps));
        process->areas_count = parent->areas_count;
        for (uint32_t i = 0; i < SPANS_AREAS; i++)
            process->areas[i] = parent->areas[i];
        for (uint32_t i = 0; i < 2 * SPANS_FUNCTIONS; i++) {
            process->called[i].function = parent->called[i].function;
            process->called[i].address = parent->called[i].address;
        }
        uint32_t traps = atomic_load(&parent->traps_count);
        for (uint32_t i = 0; i < traps && i < SPANS_FUNCTIONS; i++) {
            process->traps[i].to = parent->traps[i].to;
            process->traps[i].address = parent->traps[i].address;
        }
        atomic_store(&process->traps_count, traps);
    }
    atomic_store(&process->phase, phase);
    atomic_store(&hook.modules_seen, 0);
    return true;
}

void hook_stop(void)
{
    atomic_store_explicit(&hook.stopped, true, memory_order_relaxed);
    atomic_store_explicit(&hook_observing.on, false, memory_order_relaxed);
}

static void observe(void)
{
    atomic_store_explicit(&hook_observing.on,
                          !atomic_load_explicit(&hook.stopped, memory_order_relaxed),
                          memory_order_relaxed);
}

/* Are we in the child of a fork that nobody has announced? */
static bool is_copy(void)
{
    return !atomic_load_explicit(&hook_observing.on, memory_order_relaxed) &&
           !atomic_load_explicit(&hook.stopped, memory_order_relaxed);
}

void hook_publish(void)
{
    if (hook.process)
        atomic_store_explicit(&hook.process->piece.kind, SPANS_PIECE_PROCESS, memory_order_release);
}

struct spans_process *hook_process(void)
{
    return hook.process;
}

uint64_t hook_stub(uint32_t k)
{
    return (uint64_t)hook_stubs + (uint64_t)k * HOOK_STUB_BYTES;
}

void hook_set_target(uint32_t k, uint64_t target)
{
    __atomic_store_n(&hook_targets[k], target, __ATOMIC_RELEASE);
}

uint64_t hook_target(uint32_t k)
{
    return __atomic_load_n(&hook_targets[k], __ATOMIC_ACQUIRE);
}

uint64_t hook_trap(uint64_t address)
{
    if (!hook.process)
        return 0;
    uint32_t count = atomic_load_explicit(&hook.process->traps_count, memory_order_acquire);
    for (uint32_t i = 0; i < count && i < SPANS_FUNCTIONS; i++)
        if (atomic_load_explicit(&hook.process->traps[i].address, memory_order_acquire) == address)
            return hook.process->traps[i].to;
    return 0;
}

/* As long as a batch takes at most, and a little more: headroom may have died meanwhile. */
void hook_blocks_traps(void)
{
    struct {
        int64_t seconds, nanoseconds;
    } pause = {0, 1000000};
    if (!hook.process)
        return;
    atomic_store(&hook.process->blocks_traps, 1);
    for (int ms = 0; ms < PATCHING_MS && atomic_load(&hook.process->patching); ms++)
        os_syscall(__NR_nanosleep, &pause, NULL);
}

/* Due work saves vector registers with xsave. */
static bool has_xsave(void)
{
    uint32_t a = 1, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return c & (1u << 27); /* OSXSAVE */
}

/* ---- threads ------------------------------------------------------------------- */

static void lock_spare(void)
{
    while (atomic_exchange_explicit(&spare_lock, true, memory_order_acquire))
        os_syscall(__NR_sched_yield);
}

static void unlock_spare(void)
{
    atomic_store_explicit(&spare_lock, false, memory_order_release);
}

static size_t state_bytes(void)
{
    return sizeof(struct hook_thread) + fold_bytes();
}

static struct hook_thread *make_state(void)
{
    struct hook_thread *self = os_map(state_bytes());
    if (!self)
        return NULL;
    self->stack_top = self->stack + sizeof self->stack;
    self->fold = (struct fold *)(self + 1);
    fold_init(self->fold, span_sequence, self);
    return self;
}

static void list_state(struct hook_thread *self)
{
    self->made = atomic_load(&last_made);
    while (!atomic_compare_exchange_weak(&last_made, &self->made, self))
        ;
}

void hook_thread_begin(uint32_t tid)
{
    if (!hook.region || hook_self || is_copy())
        return;
    lock_spare();
    struct hook_thread *self = spare;
    if (self)
        spare = self->next;
    unlock_spare();
    if (!self && (self = make_state()))
        list_state(self);
    if (!self) {
        atomic_fetch_add_explicit(&hook.region->lost, 1, memory_order_relaxed);
        return;
    }
    self->tid = tid;
    self->random = base_mix64(tid);
    /* At once, and not when something that is hooked is executed, which may never happen. */
    if (self->piece)
        begin_owner(self);
    else
        thread_piece(self);
    for (uint32_t k = 0; k < SPANS_FUNCTIONS; k++)
        self->countdown[k] = 0;
    hook_self = self;
    hook_countdown = self->countdown;
}

/* The kernel's number for the CPU clock of a thread of this process. */
static int clock_of(uint32_t tid)
{
    return (int)(~tid << 3) | 6;
}

void hook_exit(void)
{
    if (!hook.region || is_copy())
        return;
    for (struct hook_thread *self = atomic_load(&last_made); self; self = self->made) {
        uint32_t tid = self->piece ? atomic_load(&self->piece->live) : 0;
        if (tid)
            set_cpu(self, os_now_ns(clock_of(tid)));
    }
}

void hook_thread_end(void)
{
    struct hook_thread *self = hook_self;
    if (!self)
        return;
    hook_self = NULL;
    hook_countdown = hook_unobserved;
    if (is_copy())
        return; /* all of it is the parent's */
    fold_end(self->fold);
    self->trunk = NULL;
    slots_release(self);
    switches_close(&self->ring);
    if (self->piece) {
        self->piece->events += LOOK_PERIOD - self->quiet;
        self->quiet = LOOK_PERIOD;
        end_owner(self);
    }
    self->busy = self->due = 0;
    lock_spare();
    self->next = spare;
    spare = self;
    unlock_spare();
}

/* What the thread had is the parent's; frames that are active return as before, unseen. */
static void forget_piece(struct hook_thread *self)
{
    self->trunk = NULL;
    slot_skip(self, UINT64_MAX);
    switches_forget(&self->ring);
    self->piece = NULL;
    self->refused = false;
    self->busy = self->due = 0;
    for (int i = 0; i < 4; i++)
        self->switches[i] = 0;
    for (uint32_t i = 0; i < INDEX_CELLS; i++)
        self->index[i] = 0;
    for (uint32_t i = 0; i < SPANS_FUNCTIONS; i++)
        self->function[i] = (struct hook_function){0};
    for (uint32_t i = 0; i < SPANS_FUNCTIONS; i++)
        self->countdown[i] = 0;
    for (uint32_t i = 0; i < FOLD_SEQUENCES; i++)
        self->sequence_span[i] = 0;
    unsigned char *fold = (unsigned char *)self->fold;
    for (size_t i = 0; i < fold_bytes(); i++)
        fold[i] = 0;
    fold_init(self->fold, span_sequence, self);
}

void hook_after_fork(uint32_t pid, uint32_t process)
{
    if (!hook.region)
        return;
    hook.pid = pid;
    hook.number = process;
    atomic_store(&spare_lock, false);
    spare = NULL;
    slots_after_fork();
    if (hook_self) {
        forget_piece(hook_self);
        hook_self->tid = pid;
        hook_self->made = NULL;
    }
    atomic_store(&last_made, hook_self);
    observe();
    if (process_piece(SPANS_PATCHED_UP))
        hook_publish();
    if (hook_self)
        thread_piece(hook_self);
}

/* ---- what recording costs ------------------------------------------------------ */

/* In the time of a window so many that even those that pass, some 20 ticks each, take 1/40 of it.
 */
static bool is_too_often(const struct hook_function *function, uint64_t elapsed)
{
    return (uint64_t)function->window * function->every * 20 * 40 > elapsed;
}

/* What is executed most is let pass more often: twice for each time that the cost is over the
   limit, at most eight times as often at once. */
void thread_costs(struct hook_thread *self)
{
    /* On a clock that stands still while the thread is off its processor, as far as that is seen.
     */
    uint64_t now = HOOK_TICKS() - self->switches[0] - self->switches[1];
    uint64_t elapsed = now - self->checked;
    uint64_t cost = COST_PERIOD * self->cost;
    uint32_t more = 1;
    self->checked = now;
    self->piece->cost_ticks += cost;
    thread_note_cpu(self);
    while (hook.region->automatic && more < 8 && cost * COST_LIMIT > more * elapsed)
        more *= 2;
    for (uint32_t k = 0; k < SPANS_FUNCTIONS; k++) {
        struct hook_function *function = &self->function[k];
        if (function->window > COST_PERIOD / 32 && is_too_often(function, elapsed))
            atomic_store_explicit(&hook.region->function[k].often, SPANS_OFTEN,
                                  memory_order_relaxed);
        if (function->window > COST_PERIOD / 32 && function->every * more <= EVERY_MAX)
            function->every *= more;
        if (function->every > self->piece->highest_every)
            self->piece->highest_every = function->every;
        function->window = 0;
    }
}

/* Function number 0 does nothing: what is measured of it is what is added to every other one. */
static void nothing(void)
{
    __asm__ volatile("");
}

static void calibrate(void)
{
    struct hook_thread *self = make_state();
    struct spans_thread *piece = os_map(sizeof *piece);
    void (*stub)(void) = (void (*)(void))hook_stub(0);
    uint64_t best = UINT64_MAX;
    if (self && piece) {
        self->piece = piece;
        self->quiet = UINT32_MAX;
        hook_self = self;
        hook_set_target(0, (uint64_t)nothing);
        for (int round = 0; round < CALIBRATION_ROUNDS; round++) {
            uint64_t start = HOOK_TICKS();
            for (int i = 0; i < CALIBRATION_CALLS; i++)
                stub();
            uint64_t ticks = (HOOK_TICKS() - start) / CALIBRATION_CALLS;
            best = ticks < best ? ticks : best;
        }
        hook_self = NULL;
        slots_release(self);
        hook.cost = best;
    }
    if (self)
        os_unmap(self, state_bytes());
    if (piece)
        os_unmap(piece, sizeof *piece);
}

bool hook_begin(struct spans_region *region, const struct hook_agent *agent, uint32_t pid,
                uint32_t process)
{
    if (!has_xsave())
        return false;
    hook.agent = *agent;
    /* Refused, the child of a fork that nobody announces goes on being timed. */
    os_syscall(__NR_madvise, &hook_observing, sizeof hook_observing, WIPE_ON_FORK);
    atomic_store(&hook.stopped, false);
    observe();
    hook.pid = pid;
    hook.number = process;
    hook.region = region;
    if (!process_piece(region->wait ? SPANS_STARTING : SPANS_PATCHED_UP)) {
        hook.region = NULL;
        return false;
    }
    /* Alone so far, so this costs nothing. Children of a fork do without: they may be locked in by
     * then. */
    hook.process->barriers =
        os_syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
    calibrate();
    return true;
}
