// SPDX-License-Identifier: MIT
/*
 * Loops that run for long in one execution of their function, which no hook sees: how fast they are, from the samples
 * by which functions are chosen. A loop that counts in a register says by two samples how many iterations
 * lie between them; one that waits by spinning (cfg/progress.c) has none to count, and all of its time is
 * waiting. Nothing in the program is changed, and nothing is executed in it.
 *
 * Samples belong together, in a window, while they follow one another without a gap in which the thread was
 * elsewhere or off its processor, and while all registers that the loop does not write stay the same: so it is one
 * execution of the loop. Where the counter goes back it was begun anew in between; loops of which that is true
 * often are not for this method, and are left out when they are imported.
 */
#include "inject/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#define MS UINT64_C(1000000)

enum {
    FUNCTION_BYTES_MAX = 1 << 16,
    GAP_NS =
        INJECT_SAMPLE_NS / 5 * 6, /* between samples of a thread that ran all the time          */
    WINDOW_NS = INJECT_SAMPLE_NS * 7 / 2,
    ITERATIONS_LEAST = 100,    /* in a window: one more or less is nothing                   */
    EXECUTION_TICKS = 1 << 16, /* iterations that take as long, in the first window, are one */
    PACE_MAX = 8,              /* instructions in a tick: no processor does more             */
    WATCH_MS = 20,
    PAUSE_MS = 60, /* and up to as much again */
};

struct flow_loop {
    struct cfg_progress progress;
    uint32_t function; /* number in the region; 0: none yet */
    uint64_t block;    /* iterations of an execution; 0: not known yet */
};

struct inject_flow {
    const struct inject_module *module;
    size_t number; /* of the function */
    struct cfg *cfg;
    struct flow_loop *loops;
};

void inject_loops_begin(struct inject_loops *loops, struct inject_modules *modules, int file)
{
    memset(loops, 0, sizeof *loops);
    loops->modules = modules;
    loops->file = file;
}

static void free_flow(struct inject_flow *flow)
{
    cfg_free(flow->cfg);
    free(flow->loops);
    free(flow);
}

static size_t piece_bytes(void)
{
    return (sizeof(struct spans_loops) + SPANS_PAGE - 1) & ~(size_t)(SPANS_PAGE - 1);
}

void inject_loops_end(struct inject_loops *loops)
{
    for (size_t i = 0; i < loops->flows_count; i++)
        free_flow(loops->flows[i]);
    loops->flows_count = 0;
    if (loops->piece)
        munmap(loops->piece, piece_bytes());
    loops->piece = NULL;
}

/* ---- memory ------------------------------------------------------------------------------ */

static bool has_piece(struct inject_loops *loops)
{
    if (loops->piece || loops->refused)
        return loops->piece != NULL;
    uint64_t offset = atomic_fetch_add(&loops->modules->region->next, piece_bytes());
    void *piece = MAP_FAILED;
    if (offset % SPANS_PAGE == 0 && offset + piece_bytes() <= SPANS_REGION_BYTES)
        piece = mmap(NULL, piece_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, loops->file,
                     (off_t)offset);
    loops->refused = piece == MAP_FAILED;
    if (loops->refused)
        return false;
    loops->piece = piece;
    loops->piece->piece.pid = (uint32_t)getpid();
    loops->piece->piece.bytes = piece_bytes();
    atomic_store_explicit(&loops->piece->piece.kind, SPANS_PIECE_LOOPS, memory_order_release);
    return true;
}

/* Index of the thread; SPANS_SAMPLED_THREADS: there is no room. */
static uint32_t thread_of(struct inject_loops *loops, uint32_t process, uint32_t tid)
{
    struct spans_loops *piece = loops->piece;
    uint32_t count = piece->threads;
    if (count > SPANS_SAMPLED_THREADS) /* the program can write there */
        return SPANS_SAMPLED_THREADS;
    for (uint32_t i = count; i-- > 0;)
        if (piece->sampled[i].tid == tid && piece->sampled[i].process == process)
            return i;
    if (count == SPANS_SAMPLED_THREADS)
        return count;
    piece->sampled[count] = (struct spans_sampled){.process = process, .tid = tid};
    piece->threads = count + 1;
    return count;
}

/* NULL: there is no room. */
static struct spans_loop *entry_of(struct inject_loops *loops, uint32_t function, uint32_t thread)
{
    struct spans_loops *piece = loops->piece;
    uint32_t count = piece->loops < SPANS_LOOPS ? piece->loops : SPANS_LOOPS;
    for (uint32_t i = 0; i < count; i++)
        if (piece->loop[i].span.function == function && piece->loop[i].thread == thread)
            return &piece->loop[i];
    if (count == SPANS_LOOPS)
        return NULL;
    piece->loop[count] =
        (struct spans_loop){.thread = thread,
                            .fastest = UINT64_MAX,
                            .span = {.function = function, .min = UINT64_MAX, .first = __rdtsc()}};
    piece->loops = count + 1;
    return &piece->loop[count];
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool read_nothing(void *context, uint64_t address, void *out, size_t bytes)
{
    (void)context, (void)address, (void)out, (void)bytes;
    return false;
}

/* A function that cannot be understood is kept without loops, so that it is looked at once. */
static struct inject_flow *make_flow(const struct inject_module *module, size_t number)
{
    struct inject_flow *flow = calloc(1, sizeof *flow);
    struct cfg_code code = {.start = patch_function(module->patch, number)->vaddr,
                            .data = {.read = read_nothing}};
    code.bytes = patch_text(module->patch, number, &code.count);
    if (!flow)
        return NULL;
    flow->module = module;
    flow->number = number;
    if (!code.bytes || code.count > FUNCTION_BYTES_MAX || cfg_start() != BASE_OK ||
        cfg_of_code(&code, &flow->cfg) != BASE_OK)
        return flow;
    flow->loops = calloc(flow->cfg->loops_count, sizeof *flow->loops);
    for (uint32_t i = 1; flow->loops && i < flow->cfg->loops_count; i++)
        cfg_progress(flow->cfg, &code, i, &flow->loops[i].progress);
    return flow;
}

static struct inject_flow *flow_of(struct inject_loops *loops, const struct inject_module *module,
                                   size_t number)
{
    for (size_t i = 0; i < loops->flows_count; i++)
        if (loops->flows[i]->module == module && loops->flows[i]->number == number)
            return loops->flows[i];
    struct inject_flow *made =
        loops->flows_count < INJECT_FLOWS_MAX ? make_flow(module, number) : NULL;
    if (made)
        loops->flows[loops->flows_count++] = made;
    return made;
}

/* 0: in none whose progress can be seen. */
static uint32_t loop_at(const struct inject_flow *flow, uint64_t vaddr)
{
    uint32_t loop = flow && flow->loops ? cfg_loop_at(flow->cfg, vaddr) : 0;
    return loop && flow->loops[loop].progress.kind != CFG_PROGRESS_UNKNOWN ? loop : 0;
}

static uint32_t function_of(struct inject_loops *loops, struct inject_flow *flow, uint32_t loop)
{
    struct flow_loop *known = &flow->loops[loop];
    uint64_t head = flow->cfg->blocks[flow->cfg->loops[loop].head].start;
    if (!known->function)
        known->function = inject_modules_loop(loops->modules, flow->module, flow->number, head,
                                              known->progress.kind == CFG_PROGRESS_NONE);
    return known->function;
}

/* ---- windows ------------------------------------------------------------------------------- */

static uint64_t ticks_of(const struct spans_region *region, uint64_t ns)
{
    double all_ns = (double)(os_now_ns(CLOCK_MONOTONIC_RAW) - region->ns_start);
    return all_ns > 0 ? (uint64_t)((double)ns * (double)(__rdtsc() - region->ticks_start) / all_ns)
                      : 0;
}

static void add_executions(struct spans_loop *entry, uint64_t ticks, uint64_t count)
{
    struct spans_span *span = &entry->span;
    span->recorded += count;
    span->sum += count * ticks;
    span->bins[spans_bin(ticks)] += (uint32_t)count;
    span->max = ticks > span->max ? ticks : span->max;
    /* The next to fastest: one window that came out wrong must not make all others slow. */
    if (ticks < entry->fastest) {
        span->min = entry->fastest;
        entry->fastest = ticks;
    } else if (ticks < span->min) {
        span->min = ticks;
    }
    span->last = __rdtsc();
    entry->windows++;
}

/* iterations 0: none to count. */
static void add_window(struct inject_loops *loops, struct flow_loop *loop, struct spans_loop *entry,
                       uint64_t ns, uint64_t iterations)
{
    uint64_t ticks = ticks_of(loops->modules->region, ns);
    if (ticks < EXECUTION_TICKS)
        return;
    if (loop->progress.kind == CFG_PROGRESS_NONE) {
        add_executions(entry, EXECUTION_TICKS, ticks / EXECUTION_TICKS);
        entry->span.min = 0; /* nothing is the least that it can wait */
        return;
    }
    if (iterations < ITERATIONS_LEAST || iterations > ticks * PACE_MAX)
        return;
    for (loop->block += !loop->block; loop->block * ticks < EXECUTION_TICKS * iterations &&
                                      entry->windows == 0 && loop->block < iterations / 2;)
        loop->block *= 2;
    uint64_t count = (iterations + loop->block / 2) / loop->block;
    add_executions(entry, (uint64_t)((double)ticks * (double)loop->block / (double)iterations),
                   count ? count : 1);
}

static uint64_t counter_of(const struct cfg_progress *progress, const uint64_t *general)
{
    return progress->kind == CFG_PROGRESS_COUNTER ? general[progress->counter] : 0;
}

/* Iterations from one value of the counter to another; < 0: it was begun anew. */
static int64_t iterations_between(const struct cfg_progress *progress, uint64_t from, uint64_t to)
{
    int64_t difference = (int64_t)(to - from);
    if (progress->kind != CFG_PROGRESS_COUNTER)
        return 0;
    if (progress->bytes == 4)
        difference = (int32_t)(uint32_t)difference;
    if (progress->step == -1) /* of the least number the quotient would not fit */
        return (int64_t)(0 - (uint64_t)difference);
    return difference / progress->step;
}

static bool is_same_execution(const struct cfg_progress *progress,
                              const struct inject_looping *before,
                              const struct inject_sample *sample)
{
    if (sample->time_ns - before->last_ns > GAP_NS)
        return false;
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
        if (!(progress->written >> r & 1) && before->general[r] != sample->general[r])
            return false;
    return true;
}

static void begin_window(struct inject_looping *thread, const struct inject_sample *sample,
                         uint64_t counter)
{
    thread->begun_ns = thread->last_ns = sample->time_ns;
    thread->begun_counter = thread->last_counter = counter;
    memcpy(thread->general, sample->general, sizeof thread->general);
}

static void go_on(struct inject_loops *loops, struct flow_loop *loop, struct spans_loop *entry,
                  struct inject_looping *thread, const struct inject_sample *sample)
{
    uint64_t counter = counter_of(&loop->progress, sample->general);
    bool same = is_same_execution(&loop->progress, thread, sample);
    int64_t step = iterations_between(&loop->progress, thread->last_counter, counter);
    if (same && step < 0)
        entry->backward++;
    if (!same || step < 0) {
        begin_window(thread, sample, counter);
        return;
    }
    entry->forward++;
    thread->last_ns = sample->time_ns;
    thread->last_counter = counter;
    if (sample->time_ns - thread->begun_ns < WINDOW_NS)
        return;
    add_window(loops, loop, entry, sample->time_ns - thread->begun_ns,
               (uint64_t)iterations_between(&loop->progress, thread->begun_counter, counter));
    begin_window(thread, sample, counter);
}

void inject_loops_sample(struct inject_loops *loops, const struct inject_process *process,
                         const struct inject_loaded *loaded, size_t number,
                         const struct inject_sample *sample)
{
    if (!process->code.piece || !has_piece(loops))
        return;
    uint32_t index = thread_of(loops, process->code.piece->piece.process, sample->tid);
    if (index == SPANS_SAMPLED_THREADS)
        return;
    struct inject_looping *thread = &loops->threads[index];
    loops->piece->sampled[index].ns += sample->weight_ns;
    bool known = sample->general[BASE_RSP] && number != PATCH_NONE;
    struct inject_flow *flow = known ? flow_of(loops, loaded->module, number) : NULL;
    uint32_t loop = loop_at(flow, known ? sample->ip - loaded->bias : 0);
    uint32_t function = loop ? function_of(loops, flow, loop) : 0;
    struct spans_loop *entry = function ? entry_of(loops, function, index) : NULL;
    if (!entry) {
        thread->flow = NULL;
        return;
    }
    entry->ns += sample->weight_ns;
    if (thread->flow == flow && thread->loop == loop) {
        go_on(loops, &flow->loops[loop], entry, thread, sample);
        return;
    }
    thread->flow = flow;
    thread->loop = loop;
    begin_window(thread, sample, counter_of(&flow->loops[loop].progress, sample->general));
}

bool inject_loops_watch(struct inject_loops *loops, uint64_t now_ns)
{
    if (!loops->piece || loops->piece->loops == 0)
        return false;
    if (now_ns < loops->turn_ns)
        return loops->watches;
    loops->watches = !loops->watches;
    loops->turn_ns =
        now_ns +
        (loops->watches ? WATCH_MS * MS : PAUSE_MS * MS + base_mix64(now_ns) % (PAUSE_MS * MS));
    return loops->watches;
}
