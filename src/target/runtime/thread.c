// SPDX-License-Identifier: MIT
/*
 * Threads. What a thread counted stays when it ends, and a later thread goes on with it: a program
 * that begins and ends threads by the million has as many counters as threads at once. That a
 * thread has ended is asked of the kernel; a destructor of thread-local storage would run before
 * others that still count.
 */
#include "runtime/runtime.h"

#include <asm/unistd.h>

enum { TRIES = 8, NO_SUCH = -3 /* -ESRCH */ };

__thread uint64_t headroom_delta __attribute__((tls_model("initial-exec")));
__thread int32_t headroom_countdown __attribute__((tls_model("initial-exec")));
__thread uint32_t headroom_seed __attribute__((tls_model("initial-exec")));
RUNTIME_SHARED __thread uint64_t headroom_slot __attribute__((tls_model("initial-exec")));
__thread struct runtime_thread *runtime_thread __attribute__((tls_model("initial-exec")));

static bool has_ended(uint64_t owner)
{
    return RUNTIME_CALL(__NR_tgkill, owner >> 32, owner & UINT32_MAX, 0) == NO_SUCH;
}

/* An owner of the same numbers is a thread that ended: this one has nothing yet. */
static bool take_over(struct runtime_thread *thread, uint64_t self)
{
    uint64_t owner = atomic_load(&thread->owner);
    return (owner == self || has_ended(owner)) &&
           atomic_compare_exchange_strong(&thread->owner, &owner, self);
}

/* Looks at a few, going on where the last search ended: with many living threads each begin would
   else take as many system calls. */
static struct runtime_thread *find_ended(struct runtime_module *module, uint64_t self)
{
    struct runtime_thread *first = atomic_load(&module->cursor), *at;
    if (!first)
        first = atomic_load(&module->threads);
    at = first;
    for (int i = 0; i < TRIES && at; i++) {
        struct runtime_thread *next = at->next ? at->next : atomic_load(&module->threads);
        if (take_over(at, self)) {
            atomic_store(&module->cursor, next);
            return at;
        }
        at = next;
        if (at == first)
            break;
    }
    atomic_store(&module->cursor, at);
    return NULL;
}

static struct instrumented_piece *make_counters(struct runtime_module *module)
{
    struct instrumented_piece *piece =
        runtime_piece(module, sizeof *piece + module->counters_bytes, 0);
    if (piece)
        runtime_publish(piece, INSTRUMENTED_PIECE_COUNTERS);
    return piece;
}

/* Without memory all such threads count with another one: not exact, since they may count at once.
 */
static struct runtime_thread *make_thread(struct runtime_module *module, uint64_t self)
{
    struct runtime_thread *thread = runtime_private(module, sizeof *thread);
    if (!thread) {
        runtime_lose(module);
        return atomic_load(&module->threads);
    }
    atomic_store(&thread->owner, self);
    thread->counters = make_counters(module);
    if (!thread->counters)
        return atomic_load(&module->threads);
    thread->next = atomic_load(&module->threads);
    while (!atomic_compare_exchange_weak(&module->threads, &thread->next, thread))
        ;
    return thread;
}

/* Each thread measures others of its paths: of many short ones that do the same all are seen. The
   same ones whenever the program is run again. */
static void seed(void)
{
    static _Atomic uint32_t begun;
    headroom_seed = (uint32_t)base_mix64(atomic_fetch_add(&begun, 1) + UINT64_C(1));
    headroom_countdown = (int32_t)(headroom_seed >> 25);
}

void runtime_begin(void)
{
    struct runtime_module *module = runtime_module_begin();
    runtime_check_fork(module);
    if (headroom_delta || atomic_load(&module->exhausted))
        return;
    uint64_t self = RUNTIME_CALL(__NR_getpid);
    self = self << 32 | (uint64_t)RUNTIME_CALL(__NR_gettid);
    struct runtime_thread *thread = find_ended(module, self);
    if (!thread)
        thread = make_thread(module, self);
    if (!thread) {
        atomic_store(&module->exhausted, true);
        return;
    }
    /* A signal handler may have begun the thread meanwhile; what it counted stays where it is. */
    seed();
    runtime_event_thread(module, thread, atomic_load(&thread->owner) == self);
    runtime_thread = thread;
    headroom_delta = (uint64_t)(thread->counters + 1) - module->counters;
}
