// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See jobs.h. Chunks are handed over, and waited for, by counters and futexes. The threads come from the system call alone: no C library and
 * no Valgrind knows of them, so they call nothing but shadow_count, which takes memory from exact_reserve. All signals are blocked in them.
 *
 * Where the kernel refuses a thread the program's own counts each chunk.
 */
#include "exact/jobs.h"

#include "base/syscall.h"

#include <pub_tool_libcbase.h>
#include <pub_tool_libcproc.h>
#include <pub_tool_vki.h>
#include <pub_tool_vkiscnums.h>

enum {
    CHUNK_EVENTS = 1 << 11,
    CHUNKS = 1 << 7, /* 4 MiB */
    BATCH = CHUNKS / 4,
    STACK_BYTES = 1 << 16,
    CLONE_FLAGS = VKI_CLONE_VM | VKI_CLONE_FS | VKI_CLONE_FILES | VKI_CLONE_SIGHAND |
                  VKI_CLONE_THREAD | VKI_CLONE_SYSVSEM,
};

/* Pairs that threads may have together before they are gathered, and how many are left then: fewer than the table of all pairs is bounded to. */
enum { PAIRS_APART = 1 << 19, PAIRS_MAX = 3 << 18 };

static struct chunk {
    struct shadow_event events[CHUNK_EVENTS];
} * ring;
static UInt chunk_events[CHUNKS];

static struct {
    UInt written __attribute__((aligned(64))); /* chunks */
    UInt end;                                  /* threads are to end when all is counted */
} front __attribute__((aligned(64)));

static struct worker {
    struct shadow counter;
    Int thread;                                /* 0: none */
    ULong pairs[CHUNKS];                       /* after each chunk */
    UInt counted __attribute__((aligned(64))); /* chunks */
    UInt sleeps;                               /* waits for chunks */
    UInt awaited, least; /* the program's thread sleeps until so many are counted */
    UChar *stack;
} * workers;
static UInt workers_count;
static Bool running, refused;

Bool exact_later;

/* ---- waiting ------------------------------------------------------------------------------------ */

static UInt get(const UInt *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void set(UInt *word, UInt value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static void sleep_while(UInt *word, UInt value)
{
    base_syscall6(__NR_futex, (long)word, VKI_FUTEX_WAIT | VKI_FUTEX_PRIVATE_FLAG, value, 0, 0, 0);
}

static void wake(UInt *word)
{
    base_syscall6(__NR_futex, (long)word, VKI_FUTEX_WAKE | VKI_FUTEX_PRIVATE_FLAG, 0x7fffffff, 0, 0,
                  0);
}

/* ---- threads ------------------------------------------------------------------------------------ */

/*
 * Waits for a chunk beyond those counted; returns how many are written, the same at the end. Nobody spins, which on a virtual machine may take
 * longer than to sleep. A thread that sleeps is woken when a quarter of the ring is written, so that it sleeps now and then, not at each chunk.
 */
static UInt next_written(struct worker *worker, UInt counted)
{
    if (get(&front.written) != counted)
        return get(&front.written);
    set(&worker->sleeps, 1);
    for (UInt written; (written = get(&front.written)) == counted && !get(&front.end);)
        sleep_while(&front.written, written);
    set(&worker->sleeps, 0);
    return get(&front.written);
}

static void count_chunk(struct worker *worker, UInt chunk)
{
    UInt at = chunk % CHUNKS;
    shadow_count(&worker->counter, ring[at].events, chunk_events[at], (UInt)(worker - workers),
                 workers_count);
    worker->pairs[at] = worker->counter.pairs_count;
    set(&worker->counted, chunk + 1);
}

static __attribute__((noreturn, used)) void work(struct worker *worker)
{
    for (UInt counted = worker->counted;;) {
        UInt written = next_written(worker, counted);
        if (written == counted)
            base_syscall6(__NR_exit, 0, 0, 0, 0, 0, 0);
        for (; counted != written; counted++) {
            count_chunk(worker, counted);
            if (get(&worker->awaited) && (Int)(counted + 1 - worker->least) >= 0)
                wake(&worker->counted);
        }
    }
}

/* Of two that return from the system call the new one has another stack, and nothing on it. */
static long start_thread(struct worker *worker)
{
    long result;
    register long parent __asm__("r10") = 0;
    register long local __asm__("r8") = 0;
    register struct worker *argument __asm__("r12") = worker;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r12, %%rdi\n\t"
                     "call work\n"
                     "1:"
                     : "=a"(result)
                     : "a"((long)__NR_clone), "D"((long)CLONE_FLAGS),
                       "S"(worker->stack + STACK_BYTES), "d"(0L), "r"(parent), "r"(local),
                       "r"(argument)
                     : "rcx", "r11", "memory");
    return result;
}

static void start_threads(void)
{
    ULong all = ~0ULL, mask;
    set(&front.end, 0);
    base_syscall6(__NR_rt_sigprocmask, VKI_SIG_SETMASK, (long)&all, (long)&mask, sizeof mask, 0, 0);
    for (UInt i = 0; i < workers_count && !refused; i++) {
        long thread = start_thread(&workers[i]);
        workers[i].thread = thread > 0 ? (Int)thread : 0;
        refused = thread <= 0;
    }
    base_syscall6(__NR_rt_sigprocmask, VKI_SIG_SETMASK, (long)&mask, 0, sizeof mask, 0, 0);
    running = True;
}

/* ---- the program's thread ------------------------------------------------------------------------ */

static void await(struct worker *worker, UInt least)
{
    if (!worker->thread) {
        while ((Int)(worker->counted - least) < 0)
            count_chunk(worker, worker->counted);
        return;
    }
    worker->least = least;
    set(&worker->awaited, 1);
    for (UInt counted; (Int)((counted = get(&worker->counted)) - least) < 0;)
        sleep_while(&worker->counted, counted);
    set(&worker->awaited, 0);
}

static void wake_sleepers(UInt more)
{
    for (UInt i = 0; i < workers_count; i++)
        if (get(&workers[i].sleeps) && front.written - get(&workers[i].counted) >= more) {
            wake(&front.written);
            return;
        }
}

/* Waits until each has counted so many; if it must wait at all, for some more. */
static void await_all(UInt least, UInt more)
{
    for (UInt i = 0; i < workers_count; i++)
        if ((Int)(get(&workers[i].counted) - least) < 0) {
            wake_sleepers(1);
            await(&workers[i], least + more);
        }
}

static void begin_chunk(void)
{
    struct chunk *chunk = &ring[front.written % CHUNKS];
    exact_shadow.events = chunk->events;
    exact_shadow.events_end = chunk->events + CHUNK_EVENTS - SHADOW_EVENTS_AT_ONCE;
}

static void hand_over(void)
{
    UInt at = front.written % CHUNKS;
    chunk_events[at] = (UInt)(exact_shadow.events - ring[at].events);
    if (!chunk_events[at])
        return;
    if (!running)
        start_threads();
    set(&front.written, front.written + 1);
    wake_sleepers(BATCH);
}

static void gather(void)
{
    for (UInt i = 0; i < workers_count; i++)
        shadow_gather(&exact_shadow, &workers[i].counter);
}

/*
 * Merging looks at all pairs and numbers coarser places, so the program's thread does it. When it does depends on how many pairs there were
 * after the chunk that is overwritten next, which all threads have counted by now, however fast they are.
 */
static void bound_pairs(UInt chunk)
{
    ULong pairs = 0;
    for (UInt i = 0; i < workers_count; i++)
        pairs += workers[i].pairs[chunk % CHUNKS];
    if (pairs <= PAIRS_APART)
        return;
    await_all(front.written, 0);
    gather();
    shadow_order_pairs(&exact_shadow);
    shadow_merge_pairs(&exact_shadow, PAIRS_MAX);
    for (UInt i = 0; i < workers_count; i++)
        VG_(memset)(workers[i].pairs, 0, sizeof workers[i].pairs);
}

static void turn(struct shadow *shadow)
{
    (void)shadow;
    hand_over();
    await_all(front.written - (CHUNKS - 1), BATCH);
    bound_pairs(front.written);
    begin_chunk();
}

void exact_jobs_wait(void)
{
    if (!exact_later)
        return;
    hand_over();
    await_all(front.written, 0);
    begin_chunk();
}

void exact_jobs_gather(void)
{
    if (!exact_later)
        return;
    exact_jobs_wait();
    gather();
}

/* A thread is gone when the kernel does not know it any more. */
void exact_jobs_end(void)
{
    if (!exact_later || !running)
        return;
    exact_jobs_wait();
    set(&front.end, 1);
    for (UInt i = 0; i < workers_count; i++) {
        while (workers[i].thread &&
               base_syscall6(__NR_tgkill, VG_(getpid)(), workers[i].thread, 0, 0, 0, 0) == 0) {
            wake(&front.written);
            base_syscall6(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
        }
        workers[i].thread = 0;
    }
    running = False;
}

void exact_jobs_forked(void)
{
    if (!exact_later)
        return;
    for (UInt i = 0; i < workers_count; i++) {
        shadow_reset_counts(&workers[i].counter);
        workers[i].thread = 0;
        workers[i].awaited = workers[i].sleeps = 0;
    }
    running = refused = False;
    begin_chunk();
}

/* Threads are started with the first chunk. */
void exact_jobs_init(void)
{
    if (exact_options.jobs < 2 || !exact_options.kinds || exact_shadow.locations)
        return;
    workers_count = exact_options.jobs - 1;
    ring = exact_reserve(CHUNKS * sizeof *ring);
    workers = exact_reserve(workers_count * sizeof *workers);
    if (!ring || !workers ||
        shadow_count_later(&exact_shadow, ring->events,
                           ring->events + CHUNK_EVENTS - SHADOW_EVENTS_AT_ONCE, turn) != BASE_OK)
        exact_fail("the address space for threads that count was refused");
    for (UInt i = 0; i < workers_count; i++) {
        workers[i].stack = exact_reserve(STACK_BYTES);
        if (!workers[i].stack || shadow_counter(&workers[i].counter, &exact_shadow) != BASE_OK)
            exact_fail("the address space for threads that count was refused");
    }
    exact_later = True;
}
