// SPDX-License-Identifier: MIT
/*
 * malloc and its kin, seen from outside. Each wrapper counts down the bytes that the thread asks for and goes on to the
 * next definition by a jump: the real function sees its caller's arguments, stack and return address, and does what it
 * does alone. One allocation in so many bytes is recorded with its calling context (heap.c), so that large blocks are
 * nearly always and small ones as often as their share of memory. How many bytes follows from what recording costs:
 * about a two-hundredth of the thread's time. A program that allocates seldom has all of its blocks recorded.
 *
 * What is allocated a few times is often what all of a program uses, and small beside what it allocates all the time. So each site, a caller with
 * a size, has blocks recorded beside those, for another two-hundredth of the process's time; the fewer it has had, the
 * sooner it has the next one. (A leaky bucket of time: a site has to find it the fuller, the more of its blocks were recorded.) Ticks
 * open sites again as the bucket fills: a malloc of a closed one reads a byte, and no clock. Rejected: the first block of each
 * site alone, since a database that is opened, closed and opened again has no name then; opening a site as its block is
 * freed, which a loop that allocates and frees would pay for each time.
 *
 * Frees have to be seen only of blocks that were recorded, or that hold an address which another thread is
 * asked about (agent_generation): two bytes of tables say whether a free is of interest.
 *
 * A program that has a malloc of its own is not affected: its definition comes before this one. Allocators of
 * libraries come behind it, as the next definition. What is asked for before that is known, by dlsym itself, is
 * answered from a small store that is never freed.
 *
 * Rejected: patching the entries of global offset tables, which misses calls by pointers, so that blocks would be
 * freed without being forgotten; blocks of our own for those recorded, as sampling allocators do: what the program touches would lie elsewhere
 * than it does alone; recording every block, which costs a table as large as the heap and a third of the time of a
 * program that allocates much.
 */
#include "agent/agent.h"
#include "agent/allowance.h"
#include "agent/heap.h"

#include <asm/unistd.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    OVERHEAD_BYTES = 64,   /* added to each size: small blocks are the more frequent */
    LATER_BYTES = 1 << 16, /* until it is asked again whether there is anything to record */
    EARLY_BYTES = 8192,
    EARLY_ALIGNMENT = 16,
    UNKNOWN_BYTES = 4096, /* of a block that is freed: too many are harmless */
    SITES_BITS = 12,
    SITES = 1 << SITES_BITS,
    SITES_A_TICK = 256, /* looked at: all of them in 16 ticks */
};
static const uint64_t interval_most = UINT64_C(1) << 50, never = UINT64_C(1) << 62;

/* Of each thread; all zero at first. */
static __thread struct clock {
    uint64_t
        left; /* bytes to ask for until one is recorded; as a signed number, below 0: this one is */
    uint64_t interval; /* mean bytes between those that are */
    uint64_t last;     /* time stamp counter after the last one */
    /* Its own: when blocks are recorded depends on the time that takes, and which accesses are
       sampled must not where they are counted. */
    struct base_random random;
    bool begun;
} own;
static _Atomic uint64_t usual_interval; /* some thread's: for those that begin */

/* By hash of a caller and a size, two of the same hash are one: is the next block there recorded? */
enum { SITE_OPEN, SITE_CLOSED, SITE_CLOSED_FOR_EVER };
static uint8_t sites[SITES];
static uint8_t times[SITES];        /* blocks recorded there, ALLOWANCE_PARTS_MOST at most */
static _Atomic uint64_t full_again; /* time stamp at which the bucket is full */
static _Atomic uint32_t next_site;  /* that a tick looks at */

bool allocate_owns(uint64_t address)
{
    return address - (uint64_t)&own < sizeof own;
}

/* ---- the next definitions --------------------------------------------------------------------------- */

static void *first_malloc(size_t bytes);
static void first_free(void *block);
static void *first_calloc(size_t count, size_t bytes);
static void *first_realloc(void *block, size_t bytes);
static void *first_memalign(size_t alignment, size_t bytes);
static void *first_aligned_alloc(size_t alignment, size_t bytes);
static int first_posix_memalign(void **block, size_t alignment, size_t bytes);

static struct {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    size_t (*usable_size)(void *);
} next = {first_malloc,   first_free,          first_calloc,         first_realloc,
          first_memalign, first_aligned_alloc, first_posix_memalign, NULL};

static __thread bool looking_up;
static _Alignas(EARLY_ALIGNMENT) unsigned char early[EARLY_BYTES];
static _Atomic size_t early_used;

static bool is_early(const void *block)
{
    return (uint64_t)block - (uint64_t)early < sizeof early;
}

/* Its size stands in front of it. */
static void *early_block(size_t bytes)
{
    size_t whole = (bytes + 2 * EARLY_ALIGNMENT - 1) & -(size_t)EARLY_ALIGNMENT;
    size_t at = bytes < EARLY_BYTES ? atomic_fetch_add(&early_used, whole) : EARLY_BYTES;
    if (at >= EARLY_BYTES || whole > EARLY_BYTES - at) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(early + at, &bytes, sizeof bytes);
    void *block = early + at + EARLY_ALIGNMENT;
    heap_filter[(uint64_t)block / 16 % HEAP_FILTER] = UINT8_MAX; /* for ever: free looks closer */
    return block;
}

static void *early_copy(const void *block, size_t bytes)
{
    size_t old;
    memcpy(&old, (const char *)block - EARLY_ALIGNMENT, sizeof old);
    void *copy = malloc(bytes);
    if (copy)
        memcpy(copy, block, old < bytes ? old : bytes);
    return copy;
}

#define LOOK_UP(member, name)                                                                      \
    __atomic_store_n(&next.member, (__typeof__(next.member))dlsym(RTLD_NEXT, name),                \
                     __ATOMIC_RELAXED)

/* An allocator without malloc_usable_size must not have that of the C library, which reads what stands in front of blocks. */
static bool of_one_file(void *a, void *b)
{
    Dl_info of_a, of_b;
    return a && b && dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

static void look_up(void)
{
    int error = errno;
    looking_up = true;
    LOOK_UP(free, "free");
    LOOK_UP(calloc, "calloc");
    LOOK_UP(realloc, "realloc");
    LOOK_UP(memalign, "memalign");
    LOOK_UP(aligned_alloc, "aligned_alloc");
    LOOK_UP(posix_memalign, "posix_memalign");
    LOOK_UP(malloc, "malloc");
    void *usable_size = dlsym(RTLD_NEXT, "malloc_usable_size");
    if (of_one_file((void *)next.free, usable_size))
        __atomic_store_n(&next.usable_size, (size_t(*)(void *))usable_size, __ATOMIC_RELAXED);
    looking_up = false;
    errno = error;
}

static void *first_malloc(size_t bytes)
{
    if (looking_up)
        return early_block(bytes);
    look_up();
    return next.malloc(bytes);
}

/* Whatever is freed was allocated, not by us if early blocks are left out. */
static void first_free(void *block)
{
    if (looking_up)
        return;
    look_up();
    next.free(block);
}

static void *first_calloc(size_t count, size_t bytes)
{
    size_t all;
    if (looking_up)
        return __builtin_mul_overflow(count, bytes, &all) ? NULL : early_block(all);
    look_up();
    return next.calloc(count, bytes);
}

static void *first_realloc(void *block, size_t bytes)
{
    if (looking_up)
        return NULL;
    look_up();
    return next.realloc(block, bytes);
}

static void *first_memalign(size_t alignment, size_t bytes)
{
    if (looking_up)
        return NULL;
    look_up();
    return next.memalign(alignment, bytes);
}

static void *first_aligned_alloc(size_t alignment, size_t bytes)
{
    if (looking_up)
        return NULL;
    look_up();
    return next.aligned_alloc(alignment, bytes);
}

static int first_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (looking_up)
        return ENOMEM;
    look_up();
    return next.posix_memalign(block, alignment, bytes);
}

/* ---- what is recorded --------------------------------------------------------------------------------- */

static uint64_t time_stamp(void)
{
    return __builtin_ia32_rdtsc();
}

/* Anywhere in two intervals, so that no pattern of the program's stays in step. */
static void draw(void)
{
    own.left = own.interval ? base_random_below(&own.random, 2 * own.interval) : 0;
}

/* So that the next one comes when this one's cost is a small part of the time that has passed. */
static void adjust(uint64_t began)
{
    uint64_t now = time_stamp(), due = (now - began) * ALLOWANCE_SHARE, passed = began - own.last;
    if (passed < due)
        own.interval = passed < due / 2 ? own.interval * 2 : own.interval + own.interval / 4;
    else
        own.interval = passed / 8 > due ? own.interval / 8 : own.interval * due / passed;
    if (passed < due && own.interval < OVERHEAD_BYTES)
        own.interval = OVERHEAD_BYTES;
    if (own.interval > interval_most)
        own.interval = interval_most;
    own.last = now;
    atomic_store_explicit(&usual_interval, own.interval, memory_order_relaxed);
}

static inline uint8_t *site_of(const void *caller, size_t bytes)
{
    uint64_t key = ((uint64_t)caller ^ (uint64_t)bytes << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return &sites[key >> (64 - SITES_BITS)];
}

static void close_all(void)
{
    for (size_t i = 0; i < SITES; i++)
        __atomic_store_n(&sites[i], SITE_CLOSED_FOR_EVER, __ATOMIC_RELAXED);
}

/* May a block be recorded where so many were? */
static bool is_affordable(uint8_t count, uint64_t now)
{
    return allowance_suffices(atomic_load_explicit(&full_again, memory_order_relaxed), now, count);
}

static void spend(uint64_t began, uint64_t now)
{
    uint64_t full = atomic_load_explicit(&full_again, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&full_again, &full,
                                                  allowance_spend(full, now, now - began),
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

/* Who closes an open site may record its block. */
static bool take_site(uint8_t *site)
{
    uint8_t open = SITE_OPEN;
    return __atomic_compare_exchange_n(site, &open, SITE_CLOSED, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

/* One more was recorded there; it stays open for the next one if there is time for that. */
static void return_site(uint8_t *site)
{
    uint8_t *count = &times[site - sites], now = __atomic_load_n(count, __ATOMIC_RELAXED);
    if (now < ALLOWANCE_PARTS_MOST)
        __atomic_store_n(count, ++now, __ATOMIC_RELAXED);
    if (is_affordable(now, time_stamp()))
        __atomic_store_n(site, SITE_OPEN, __ATOMIC_RELAXED);
}

void allocate_tick(void)
{
    uint32_t first = atomic_fetch_add_explicit(&next_site, SITES_A_TICK, memory_order_relaxed);
    uint64_t now = time_stamp();
    heap_tick();
    for (uint32_t i = 0; i < SITES_A_TICK; i++) {
        uint32_t at = (first + i) % SITES;
        if (__atomic_load_n(&sites[at], __ATOMIC_RELAXED) == SITE_CLOSED &&
            is_affordable(__atomic_load_n(&times[at], __ATOMIC_RELAXED), now))
            __atomic_store_n(&sites[at], SITE_OPEN, __ATOMIC_RELAXED);
    }
}

/* The calling context of the wrapper. 0: not to be had. */
static uint32_t enter_context(struct agent_thread *self)
{
    struct base_registers registers;
    enum wire_drop drop;
    if (!thread_claim(self))
        return 0;
    wrap_capture(&registers);
    memory_enter(&self->memory, registers.ip, 0);
    uint64_t broken = self->counters->broken_stacks; /* these are of findings */
    uint32_t node = context_enter_callers(self, &registers, &self->memory.base, &drop);
    self->counters->broken_stacks = broken;
    return node;
}

static float chance_of(uint64_t bytes)
{
    double share = (double)(bytes + OVERHEAD_BYTES) / (double)(own.interval + 1);
    return share < 1 ? (float)share : 1;
}

/* Signals blocked. */
static void record(struct agent_thread *self, const void *block, size_t bytes, float chance,
                   bool mapped)
{
    uint32_t node = enter_context(self);
    if (self->slot)
        heap_add(&(struct heap_block){.start = (uint64_t)block,
                                      .bytes = bytes ? bytes : 1,
                                      .process = agent.process,
                                      .thread = self->slot->thread,
                                      .node = node,
                                      .chance = chance,
                                      .mapped = mapped});
}

/* One of many, of which the time it takes says how many there may be. */
static void record_some(struct agent_thread *self, const void *block, size_t bytes, bool mapped)
{
    uint64_t began = time_stamp();
    record(self, block, bytes, chance_of(bytes), mapped);
    adjust(began);
    draw();
}

/* Many sites may have been open. Blocks that are not recorded for that are as if the site had been closed. */
static void record_at(struct agent_thread *self, const void *block, size_t bytes, uint8_t *site,
                      bool mapped)
{
    uint64_t began = time_stamp();
    if (!is_affordable(__atomic_load_n(&times[site - sites], __ATOMIC_RELAXED), began))
        return;
    record(self, block, bytes, 1, mapped);
    spend(began, time_stamp());
    return_site(site);
}

/* The first one of a thread only sets its clock, unless it is one that would be recorded. */
static bool begin(struct agent_thread *self, size_t bytes)
{
    own.begun = true;
    own.random.state = base_mix64(self->random.state);
    own.interval = atomic_load_explicit(&usual_interval, memory_order_relaxed);
    own.last = time_stamp();
    draw();
    own.left -= bytes + OVERHEAD_BYTES;
    return (int64_t)own.left < 0;
}

/* False: nothing is recorded in this thread, now or ever. */
static bool may_record(const struct agent_thread *self)
{
    if (agent_active() && !agent_samples_nothing() &&
        !atomic_load_explicit(&agent.filtered, memory_order_relaxed)) {
        own.left =
            LATER_BYTES; /* until the thread has begun; in the child of a vfork the parent's */
        return self && self->tid == os_tid();
    }
    own.left = agent.region ? never : LATER_BYTES;
    if (agent.region)
        close_all();
    return false;
}

void allocate_start(void)
{
    own.left = 0;
}

/* site: NULL: only its bytes count. */
static __attribute__((noinline)) void allocated(const void *block, size_t bytes, uint8_t *site,
                                                bool mapped)
{
    struct agent_thread *self = agent_self;
    uint64_t all = ~UINT64_C(0), mask;
    bool due = (int64_t)own.left < 0;
    if (!may_record(self))
        return;
    os_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
    if (due && (own.begun || begin(self, bytes)) && block)
        record_some(self, block, bytes, mapped);
    else if (block && site && take_site(site))
        record_at(self, block, bytes, site, mapped);
    os_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

static inline bool count_down(size_t bytes)
{
    own.left -= bytes + OVERHEAD_BYTES;
    return __builtin_expect((int64_t)own.left < 0, 0);
}

/* Is this one to be recorded, or perhaps so? */
static inline bool is_due(size_t bytes, const uint8_t *site)
{
    return count_down(bytes) || __builtin_expect(!__atomic_load_n(site, __ATOMIC_RELAXED), 0);
}

#define SITE(bytes) site_of(__builtin_return_address(0), bytes)

/* ---- frees ---------------------------------------------------------------------------------------------- */

/* A block that is about to be given back. */
static __attribute__((noinline)) void released(void *block)
{
    uint64_t start = (uint64_t)block, all = ~UINT64_C(0), mask;
    if (!block || atomic_load_explicit(&agent.filtered, memory_order_relaxed))
        return;
    bool removed = false;
    if (heap_knows(start)) {
        os_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
        removed = heap_remove(start);
        os_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
    }
    if (!removed && heap_pages[start / 4096 % HEAP_PAGES])
        heap_freed(start, next.usable_size ? next.usable_size(block) : UNKNOWN_BYTES);
}

/* ---- wrappers --------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void *recorded_malloc(size_t bytes, uint8_t *site)
{
    void *block = next.malloc(bytes);
    allocated(block, bytes, site, false);
    return block;
}

EXPORT void *malloc(size_t bytes)
{
    uint8_t *site = SITE(bytes);
    if (is_due(bytes, site))
        return recorded_malloc(bytes, site);
    return next.malloc(bytes);
}

static __attribute__((noinline)) void released_free(void *block)
{
    if (is_early(block))
        return;
    released(block);
    next.free(block);
}

EXPORT void free(void *block)
{
    if (__builtin_expect(heap_may_matter((uint64_t)block), 0))
        released_free(block);
    else
        next.free(block);
}

static __attribute__((noinline)) void *recorded_calloc(size_t count, size_t bytes, uint8_t *site)
{
    void *block = next.calloc(count, bytes);
    allocated(block, count * bytes, site, false);
    return block;
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    uint8_t *site = SITE(count * bytes);
    if (is_due(count * bytes, site))
        return recorded_calloc(count, bytes, site);
    return next.calloc(count, bytes);
}

/* The old block is forgotten before another thread can have its memory, and the new one is recorded as any other: one that
   is made larger step by step costs no more than its share. */
static __attribute__((noinline)) void *recorded_realloc(void *old, size_t bytes, uint8_t *site)
{
    if (is_early(old))
        return early_copy(old, bytes);
    released(old);
    void *block = next.realloc(old, bytes);
    if ((int64_t)own.left < 0 || !__atomic_load_n(site, __ATOMIC_RELAXED))
        allocated(block, bytes, site, false);
    return block;
}

EXPORT void *realloc(void *block, size_t bytes)
{
    uint8_t *site = SITE(bytes);
    if (is_due(bytes, site) || __builtin_expect(heap_may_matter((uint64_t)block), 0))
        return recorded_realloc(block, bytes, site);
    return next.realloc(block, bytes);
}

static __attribute__((noinline)) void *
recorded_memalign(void *(*real)(size_t, size_t), size_t alignment, size_t bytes, uint8_t *site)
{
    void *block = real(alignment, bytes);
    allocated(block, bytes, site, false);
    return block;
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
    uint8_t *site = SITE(bytes);
    if (is_due(bytes, site))
        return recorded_memalign(next.memalign, alignment, bytes, site);
    return next.memalign(alignment, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    uint8_t *site = SITE(bytes);
    if (is_due(bytes, site))
        return recorded_memalign(next.aligned_alloc, alignment, bytes, site);
    return next.aligned_alloc(alignment, bytes);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    uint8_t *site = SITE(bytes);
    if (!is_due(bytes, site))
        return next.posix_memalign(block, alignment, bytes);
    int error = next.posix_memalign(block, alignment, bytes);
    allocated(error ? NULL : *block, bytes, site, false);
    return error;
}

/* ---- mappings ----------------------------------------------------------------------------------------------- */

static void mapped(void *at, size_t bytes)
{
    if (at != MAP_FAILED && count_down(bytes))
        allocated(at, bytes, NULL, true);
}

static void unmapped(const void *at, size_t bytes)
{
    uint64_t all = ~UINT64_C(0), mask;
    shared_unmapped(at, bytes);
    if (agent.region)
        heap_unmapped((uint64_t)at, bytes);
    if (!heap_maps((uint64_t)at, bytes) ||
        atomic_load_explicit(&agent.filtered, memory_order_relaxed))
        return;
    os_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
    heap_unmap((uint64_t)at, bytes);
    os_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (flags & MAP_FIXED)
        unmapped(address, bytes);
    void *at = WRAP_REAL(mmap)(address, bytes, protection, flags, file, offset);
    shared_mapped(at, bytes, flags, file, (uint64_t)offset);
    mapped(at, bytes);
    return at;
}

EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int file,
                    off64_t offset)
{
    if (flags & MAP_FIXED)
        unmapped(address, bytes);
    void *at = WRAP_REAL(mmap64)(address, bytes, protection, flags, file, offset);
    shared_mapped(at, bytes, flags, file, (uint64_t)offset);
    mapped(at, bytes);
    return at;
}

EXPORT int munmap(void *address, size_t bytes)
{
    unmapped(address, bytes);
    return WRAP_REAL(munmap)(address, bytes);
}

EXPORT void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    void *address = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
    va_end(list);
    uint64_t file, offset;
    bool shared = shared_find((uint64_t)old, &file, &offset);
    unmapped(old, old_bytes);
    if (address)
        unmapped(address, bytes);
    void *at = WRAP_REAL(mremap)(old, old_bytes, bytes, flags, address);
    if (shared)
        shared_placed(at == MAP_FAILED ? old : at, at == MAP_FAILED ? old_bytes : bytes, file,
                      offset);
    mapped(at, bytes);
    return at;
}
