// SPDX-License-Identifier: MIT
/*
 * The child of a fork has its parent's pieces, shared: what it counted would be the parent's. So
 * before it counts, each of them is replaced by one of its own at the same address, as functions
 * that are active hold addresses of records and counters. Counts begin at 0, the tree stays. The
 * parent goes on meanwhile: what is copied are only those members of records that never change, up
 * to where the parent was when it forked. Children made by other means than fork() add to their
 * parent's counts.
 */
#include "runtime/runtime.h"

#include <asm/unistd.h>

enum { MOVE = 3 /* MREMAP_MAYMOVE | MREMAP_FIXED */ };

/* A piece for the child, filled in but for what it holds; private memory if there is none. */
static struct instrumented_piece *successor(struct runtime_module *module,
                                            const struct instrumented_piece *old)
{
    struct instrumented_piece *piece = runtime_map_region(module, old->bytes, NULL);
    if (!piece)
        piece = runtime_map(old->bytes);
    if (piece)
        runtime_fill_piece(module, piece, old->bytes, (uint64_t)old, old->of);
    return piece;
}

static void replace(struct instrumented_piece *piece, struct instrumented_piece *old,
                    enum instrumented_piece_kind kind)
{
    runtime_publish(piece, kind);
    RUNTIME_CALL(__NR_mremap, piece, piece->bytes, piece->bytes, MOVE, old);
}

static void replace_counters(struct runtime_module *module, struct instrumented_piece *old)
{
    struct instrumented_piece *piece = successor(module, old);
    if (piece)
        replace(piece, old, INSTRUMENTED_PIECE_COUNTERS);
}

static void replace_records(struct runtime_module *module, struct instrumented_piece *old,
                            uint64_t used)
{
    struct instrumented_piece *piece = successor(module, old);
    if (!piece)
        return;
    runtime_copy_records(old, piece, used < old->bytes ? used : old->bytes);
    replace(piece, old, INSTRUMENTED_PIECE_RECORDS);
}

static void replace_thread(struct runtime_module *module, struct runtime_thread *thread)
{
    uint64_t tid = (uint64_t)RUNTIME_CALL(__NR_gettid);
    atomic_store(&thread->owner, (uint64_t)module->pid << 32 | tid);
    thread->next = NULL;
    replace_counters(module, thread->counters);
    for (struct runtime_records *at = atomic_load(&thread->records); at; at = at->older)
        replace_records(module, at->piece, atomic_load(&at->used));
    for (struct runtime_records *at = atomic_load(&thread->records); at; at = at->older)
        runtime_link_records(thread, at);
}

void runtime_after_fork(void)
{
    struct runtime_module *module = runtime_module_get();
    if (!module || !module->region)
        return;
    if (module->same)
        atomic_store(module->same, 1);
    runtime_event_fork(atomic_load(&module->threads));
    module->parent = module->process;
    runtime_take_number(module);
    atomic_store(&module->chunk, NULL);
    struct instrumented_module *described = runtime_describe(module);
    if (described)
        runtime_publish(&described->piece, INSTRUMENTED_PIECE_MODULE);
    atomic_store(&module->threads, runtime_thread);
    atomic_store(&module->cursor, NULL);
    if (runtime_thread)
        replace_thread(module, runtime_thread);
    if (module->overflow_piece)
        replace_records(module, module->overflow_piece, atomic_load(&module->overflow_used));
}
