// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads' virtual times, and who waits for whom. A thread's time is the instructions that it has executed; it joins another's
 * where it waits for that one: creation, join, barriers, futexes, and words that it reads again and again until another
 * thread writes them. Which thread Valgrind runs first does not matter then (transfer/transfer.h).
 */
#include "exact/sharing.h"

#include <libvex_guest_amd64.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_threadstate.h>
#include <pub_tool_vki.h>
#include <pub_tool_vkiscnums.h>

struct transfer *exact_transfer;
ULong exact_threaded;

enum {
    CELLS_MAX = 1 << 22, /* 256 MiB of intervals */
    LINES_MAX = 1 << 14,
    PAIRS_MAX = 1 << 16,
};

/* How far thread-local memory and what the C library keeps there reach around the thread pointer. */
enum { LOCAL_BEFORE = 1 << 14, LOCAL_BEHIND = 1 << 12 };

/* A wait by reading: so many reads of a few words in a row. */
enum { SPINS = 64, SPIN_WORDS = 4 };

struct thread {
    struct transfer_clock clock;
    UInt number; /* from 0, in the order of creation */
    Bool alive;
    ULong jumped;   /* of the clock: not executed */
    Addr pointer;   /* of thread-local memory, which names the thread; 0: not known yet */
    Addr low, high; /* its stack; thread-local memory begins where a stack does, or elsewhere */
    struct spin {
        struct {
            Addr word;
            UInt id, bytes;
            ULong writes; /* as others had written it when the watch began */
        } reads[SPIN_WORDS];
        UInt count; /* of different reads */
        UInt again; /* reads of these since the last one that was new */
        ULong since;
    } spin; /* what it reads again and again */
};

static struct thread *threads; /* VG_N_THREADS */
static struct thread nobody;   /* before the first thread runs */
static struct thread *running = &nobody;
struct transfer_clock *exact_clock = &nobody.clock;
static UInt threads_count;
static ThreadId threads_end = 1; /* none is alive from here on */
static ULong instructions_ended; /* by threads that have ended */

static struct thread *thread_of(ThreadId tid)
{
    struct thread *thread = &threads[tid];
    if (tid >= threads_end)
        threads_end = tid + 1;
    if (!thread->alive) /* the first one; others are announced */
        *thread = (struct thread){.alive = True, .number = threads_count++};
    return thread;
}

static void join(struct thread *thread, ULong then)
{
    ULong before = thread->clock.now;
    transfer_join(&thread->clock, then);
    thread->jumped += thread->clock.now - before;
}

static void wake(struct thread *thread)
{
    ULong before = thread->clock.now;
    transfer_wake(&thread->clock);
    thread->jumped += thread->clock.now - before;
}

/* ---- times by address: futex words, barriers ----------------------------------------------------- */

/* The latest time at which something happened to a word; of words that collide to the last one. */
enum { WORDS = 1 << 12 };
static struct happened {
    Addr word;
    ULong time;
} woken[WORDS], arrived[WORDS];

static struct happened *slot_of(struct happened *words, Addr word)
{
    return &words[base_mix64(word) & (WORDS - 1)];
}

static void note_word(struct happened *words, Addr word, ULong now)
{
    struct happened *slot = slot_of(words, word);
    if (slot->word != word)
        *slot = (struct happened){.word = word};
    if (now > slot->time)
        slot->time = now;
}

void exact_sharing_arrive(Addr barrier)
{
    note_word(arrived, barrier, running->clock.now);
}

void exact_sharing_pass(Addr barrier)
{
    const struct happened *slot = slot_of(arrived, barrier);
    if (slot->word == barrier)
        join(running, slot->time);
}

/* ---- words that are waited for by reading them ------------------------------------------------- */

enum { SPUN = 256 };
static struct spun {
    Addr word;
    ULong time;   /* of the last write; 0: none since it is watched */
    ULong writes; /* by one thread after another */
    struct thread *writer;
} spun[SPUN];

static struct spun *spun_slot(Addr word)
{
    return &spun[base_mix64(word) % SPUN];
}

/* The next write is of interest, whoever wrote last. */
static void watch_spun(struct spin *spin)
{
    for (UInt i = 0; i < spin->count; i++) {
        struct spun *slot = spun_slot(spin->reads[i].word);
        if (slot->word != spin->reads[i].word)
            *slot = (struct spun){.word = spin->reads[i].word, .writes = slot->writes};
        slot->writer = NULL;
        spin->reads[i].writes = slot->writes;
    }
}

/*
 * It does something else: the wait is over, if a word was written meanwhile. The instructions of waiting count for nothing, and reads
 * end when the word is written: there are as many as Valgrind lets the thread execute before it runs the other one. If that one's
 * time is earlier, the word would have been found written.
 */
static void go_on(struct thread *thread, ULong then)
{
    struct spin *spin = &thread->spin;
    ULong before = thread->clock.now = spin->since;
    for (UInt i = 0; i < spin->count; i++)
        transfer_take_back(exact_transfer, thread->number, spin->reads[i].word,
                           then > before ? then - 1 : before);
    if (then >= before)
        transfer_go_on(&thread->clock, then);
    thread->jumped += thread->clock.now - before;
}

/* Reads what was written, as it has since it went on. */
static void end_spin(struct thread *thread)
{
    struct spin *spin = &thread->spin;
    UInt written = 0;
    ULong then = 0;
    for (UInt i = 0; i < spin->count; i++) {
        const struct spun *slot = spun_slot(spin->reads[i].word);
        if (slot->word != spin->reads[i].word || slot->writes == spin->reads[i].writes ||
            slot->writer == thread)
            continue;
        written |= 1U << i;
        then = slot->time > then ? slot->time : then;
    }
    if (!written)
        return;
    go_on(thread, then);
    for (UInt i = 0; i < spin->count; i++)
        if (written >> i & 1)
            transfer_access(exact_transfer, thread->number, &thread->clock, spin->reads[i].word,
                            spin->reads[i].bytes, spin->reads[i].id, TRANSFER_READ);
}

static void begin_spin(struct thread *thread, Addr address, UInt bytes, UInt id)
{
    struct spin *spin = &thread->spin;
    if (UNLIKELY(spin->again >= SPINS))
        end_spin(thread);
    if (spin->count == SPIN_WORDS || spin->again >= SPINS)
        spin->count = 0;
    if (spin->count == 0)
        spin->since = thread->clock.now;
    spin->again = 0;
    spin->reads[spin->count].word = address;
    spin->reads[spin->count].bytes = bytes;
    spin->reads[spin->count++].id = id;
}

static inline void note_load(struct thread *thread, Addr address, UInt bytes, UInt id)
{
    struct spin *spin = &thread->spin;
    for (UInt i = 0; i < spin->count; i++)
        if (spin->reads[i].word == address && spin->reads[i].id == id) {
            if (++spin->again == SPINS)
                watch_spun(spin);
            return;
        }
    begin_spin(thread, address, bytes, id);
}

static inline void note_store(struct thread *thread, Addr address)
{
    struct spun *slot = spun_slot(address);
    if (LIKELY(slot->word != address) || slot->writer == thread)
        return;
    slot->time = thread->clock.now;
    slot->writer = thread;
    slot->writes++;
    ULong before = thread->clock.now;
    transfer_part(&thread->clock);
    thread->jumped += thread->clock.now - before;
}

/* Who writes between its reads does not wait. */
static inline void note_writing(struct thread *thread)
{
    if (UNLIKELY(thread->spin.again >= SPINS))
        end_spin(thread);
    thread->spin.count = thread->spin.again = 0;
}

/* Valgrind runs another thread next: there will not be many reads. */
void exact_sharing_pause(void)
{
    struct spin *spin = &running->spin;
    if (!exact_threaded || spin->again >= SPINS)
        return;
    spin->again = SPINS;
    watch_spun(spin);
}

/* ---- accesses -------------------------------------------------------------------------------- */

VG_REGPARM(3) void exact_sharing_access(Addr address, ULong id, ULong packed)
{
    struct thread *thread = running;
    UInt kind = (UInt)(packed >> 16);
    /* What allocators do to free memory is ordered by locks that nobody waits for here: another order of threads would
       give each other memory. Their variables are shared like any. */
    if (UNLIKELY(exact_allocates) && !exact_objects_is_data(address))
        return;
    if (kind == TRANSFER_READ)
        note_load(thread, address, packed & 0xffff, (UInt)id);
    else
        note_writing(thread);
    transfer_access(exact_transfer, thread->number, &thread->clock, address, packed & 0xffff,
                    (UInt)id, (enum transfer_kind)kind);
    if (kind & TRANSFER_WRITE)
        note_store(thread, address);
}

void exact_sharing_kernel(ThreadId tid, Addr address, SizeT bytes, UInt id, Bool store)
{
    enum { MOST = 1 << 20 };
    if (!exact_threaded || !bytes)
        return;
    struct thread *thread = thread_of(tid);
    transfer_access(exact_transfer, thread->number, &thread->clock, address,
                    (UInt)(bytes < MOST ? bytes : MOST), id,
                    store ? TRANSFER_WRITE : TRANSFER_READ);
}

/* ---- threads --------------------------------------------------------------------------------- */

static Addr thread_pointer(ThreadId tid)
{
    Addr pointer = 0;
    VG_(get_shadow_regs_area)
    (tid, (UChar *)&pointer, 0, offsetof(VexGuestAMD64State, guest_FS_CONST), sizeof pointer);
    return pointer;
}

static void before_create(ThreadId tid, ThreadId child)
{
    if (!threads || tid == VG_INVALID_THREADID)
        return; /* the first one */
    struct thread *parent = thread_of(tid), *created = &threads[child];
    if (child >= threads_end)
        threads_end = child + 1;
    exact_threaded = 1;
    wake(parent);
    UInt number = threads_count < TRANSFER_THREADS_MAX ? threads_count : TRANSFER_THREADS_MAX - 1;
    threads_count++;
    *created = (struct thread){.alive = True,
                               .number = number,
                               .clock = {parent->clock.now, parent->clock.now, parent->clock.now},
                               .jumped = parent->clock.now};
}

void exact_sharing_thread_begins(ThreadId tid)
{
    struct thread *thread = thread_of(tid);
    if (tid == 1)
        return;
    SizeT bytes = VG_(thread_get_stack_size)(tid);
    thread->pointer = thread_pointer(tid);
    thread->high = VG_(get_SP)(tid);
    thread->low = VG_(thread_get_stack_max)(tid) - bytes;
    if (exact_transfer && bytes) /* what a thread before it had there */
        transfer_forget(exact_transfer, thread->low, thread->high - thread->low);
}

void exact_sharing_run_thread(ThreadId tid)
{
    running = thread_of(tid);
    exact_clock = &running->clock;
    if (tid != 1)
        return;
    running->pointer = thread_pointer(tid); /* set as it begins */
    running->high = VG_(thread_get_stack_max)(tid);
    running->low = running->high - VG_(thread_get_stack_size)(tid);
}

/* Those that have ended and whom nobody has joined yet. */
enum { ENDED = 1 << 12 };
static struct {
    Addr pointer;
    ULong time;
} ended[ENDED];
static UInt ended_count;

void exact_sharing_thread_ends(ThreadId tid)
{
    struct thread *thread = &threads[tid];
    if (!thread->alive)
        return;
    /* Settled while it is known whose stack that is. */
    Addr end = thread->high > thread->pointer ? thread->high : thread->pointer + LOCAL_BEHIND;
    if (exact_transfer && thread->low)
        transfer_forget(exact_transfer, thread->low,
                        tid == 1 ? thread->high - thread->low : end - thread->low);
    instructions_ended += thread->clock.now - thread->jumped;
    ended[ended_count % ENDED].pointer = thread->pointer;
    ended[ended_count++ % ENDED].time = thread->clock.now;
    thread->alive = False;
    if (thread == running) {
        nobody = *thread;
        running = &nobody;
        exact_clock = &nobody.clock;
    }
}

void exact_sharing_joined(Addr pointer)
{
    for (UInt i = 1; i <= ENDED && i <= ended_count; i++) {
        UInt slot = (ended_count - i) % ENDED;
        if (ended[slot].pointer != pointer)
            continue;
        ended[slot].pointer = 0;
        join(running, ended[slot].time);
        return;
    }
}

UInt exact_sharing_threads(void)
{
    return threads_count;
}

ULong exact_sharing_instructions(void)
{
    ULong sum = instructions_ended;
    for (UInt i = 0; i < VG_N_THREADS; i++)
        if (threads[i].alive)
            sum += threads[i].clock.now - threads[i].jumped;
    return sum;
}

UInt exact_sharing_running(void)
{
    return running->number;
}

Long exact_sharing_behind_pointer(Addr address)
{
    return running->pointer ? (Long)(address - running->pointer) : 0;
}

static Bool is_local(const struct thread *thread, Addr address)
{
    Addr from = thread->pointer - LOCAL_BEFORE;
    if (thread->high <= thread->pointer && thread->high > from) /* behind the stack */
        from = thread->high;
    return thread->pointer && address >= from && address < thread->pointer + LOCAL_BEHIND;
}

Bool exact_sharing_stack_of(Addr address, UInt *thread, ULong *below, Bool *local)
{
    /* The first thread's is set by its own code. */
    if (!running->pointer && running != &nobody)
        running->pointer = thread_pointer((ThreadId)(running - threads));
    for (UInt i = 0; i < threads_end; i++) {
        const struct thread *candidate = &threads[i];
        if (!candidate->alive)
            continue;
        *local = is_local(candidate, address);
        if (!*local && (address < candidate->low || address >= candidate->high))
            continue;
        *thread = candidate->number;
        *below = candidate->high - address;
        return True;
    }
    return False;
}

void exact_sharing_reset(void)
{
    transfer_reset(exact_transfer);
    instructions_ended = 0;
    for (UInt i = 0; i < VG_N_THREADS; i++)
        threads[i].jumped = threads[i].clock.now;
}

/* The child has one thread, its first. Its history is its parent's: counts are reset with all others. */
void exact_sharing_forked(void)
{
    for (UInt i = 0; i < VG_N_THREADS; i++)
        if (&threads[i] != running)
            threads[i].alive = False;
    running->number = 0;
    threads_count = 1;
    exact_threaded = 0;
}

/* ---- system calls ------------------------------------------------------------------------------ */

enum {
    FUTEX_WAIT = 0,
    FUTEX_WAKE = 1,
    FUTEX_REQUEUE = 3,
    FUTEX_CMP_REQUEUE = 4,
    FUTEX_WAKE_OP = 5,
    FUTEX_LOCK_PI = 6,
    FUTEX_UNLOCK_PI = 7,
    FUTEX_WAIT_BITSET = 9,
    FUTEX_WAKE_BITSET = 10,
    FUTEX_WAIT_REQUEUE_PI = 11,
    FUTEX_LOCK_PI2 = 13,
    FUTEX_OPERATION = 0x7f,
};

static Bool is_wake(UInt operation)
{
    return operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET ||
           operation == FUTEX_REQUEUE || operation == FUTEX_CMP_REQUEUE ||
           operation == FUTEX_WAKE_OP || operation == FUTEX_UNLOCK_PI;
}

static Bool is_wait(UInt operation)
{
    return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
           operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2 ||
           operation == FUTEX_WAIT_REQUEUE_PI;
}

void exact_sharing_before_syscall(ThreadId tid, UInt number, const UWord *arguments)
{
    if (number != __NR_futex)
        return;
    ULong now = thread_of(tid)->clock.now;
    UInt operation = (UInt)arguments[1] & FUTEX_OPERATION;
    if (is_wake(operation))
        note_word(woken, arguments[0], now);
    /* With requeueing the waiter may wake by another word than it waited for. */
    if (operation == FUTEX_REQUEUE || operation == FUTEX_CMP_REQUEUE || operation == FUTEX_WAKE_OP)
        note_word(woken, arguments[4], now);
}

/* Asleep until something happens: others have gone on meanwhile. */
static Bool sleeps(UInt number)
{
    switch (number) {
    case __NR_nanosleep:
    case __NR_clock_nanosleep:
    case __NR_poll:
    case __NR_ppoll:
    case __NR_select:
    case __NR_pselect6:
    case __NR_epoll_wait:
    case __NR_epoll_pwait:
    case __NR_wait4:
    case __NR_waitid:
    case __NR_pause: return True;
    default: return False;
    }
}

static ULong latest(void)
{
    ULong now = 0;
    for (UInt i = 0; i < VG_N_THREADS; i++)
        if (threads[i].alive && threads[i].clock.now > now)
            now = threads[i].clock.now;
    return now;
}

void exact_sharing_after_syscall(ThreadId tid, UInt number, const UWord *arguments, SysRes result)
{
    struct thread *thread = thread_of(tid);
    if (!exact_threaded)
        return;
    if (sleeps(number))
        join(thread, latest());
    if (number != __NR_futex)
        return;
    UInt operation = (UInt)arguments[1] & FUTEX_OPERATION;
    Bool failed = sr_isError(result);
    if (is_wake(operation) && !failed && sr_Res(result) > 0)
        wake(thread);
    if (is_wait(operation) && (!failed || sr_Err(result) == VKI_EAGAIN)) {
        const struct happened *slot = slot_of(woken, arguments[0]);
        if (slot->word == arguments[0])
            join(thread, slot->time);
        else if (!failed)
            wake(thread);
    }
}

/* ---- beginning ------------------------------------------------------------------------------- */

void exact_sharing_register(void)
{
    VG_(track_pre_thread_ll_create)(before_create);
}

/* For transfer, which asks for the same ones again and again. */
static UInt with_fewer_callers(void *unused, UInt id)
{
    enum { LATELY_SLOTS = 1 << 12 };
    static struct {
        UInt id, coarser;
    } asked[LATELY_SLOTS];
    UInt slot = id % LATELY_SLOTS;
    if (asked[slot].id != id) {
        asked[slot].id = id;
        asked[slot].coarser =
            exact_activation_of(id)->context == EXACT_LOST ? id : exact_coarser(unused, id);
    }
    return asked[slot].coarser;
}

void exact_threads_follow(void)
{
    threads = VG_(calloc)("headroom.sharing", VG_N_THREADS, sizeof *threads);
}

void exact_sharing_init(void)
{
    struct transfer_options options = {.address_limit = EXACT_PROGRAM_END,
                                       .most_cells = CELLS_MAX,
                                       .most_lines = LINES_MAX,
                                       .most_pairs = PAIRS_MAX,
                                       .identify = exact_objects_identify,
                                       .coarser = with_fewer_callers};
    struct transfer_memory memory = {.map = exact_memory.map, .unmap = exact_memory.unmap};
    exact_transfer = exact_reserve(transfer_bytes());
    if (!exact_transfer || transfer_init(exact_transfer, &options, &memory) != BASE_OK)
        exact_fail("the address space for shared lines was refused");
}
