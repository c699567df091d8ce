// SPDX-License-Identifier: MIT
/*
 * Functions are patched while threads execute them:
 *  1. an int3 takes the place of the first byte: no thread enters any more, but by the handler,
 * which leads it on;
 *  2. wait until no thread is between the first instruction and the end of the bytes to be
 * overwritten;
 *  3. the bytes behind the first, then the first.
 *
 * A thread is proven to be outside by being seen outside twice, and by its stack: a thread in a
 * signal handler returns to where it was interrupted, so between both looks its stack is searched
 * for a place in the middle. (What was seen once and has no such place on its stack may have
 * returned in between; then it has been through by the second look.) Threads that rest are looked
 * at through /proc, those that run by samples of perf. Threads that begin meanwhile begin outside.
 * If a second is not enough, the functions for which it matters get their old byte back.
 *
 * Rejected: stopping the threads by ptrace, which makes system calls such as epoll_wait return
 * EINTR that otherwise would not, and which a debugger excludes.
 */
#include "inject/internal.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS = 2, LIMIT_MS = 1000, STACK_STEP = 4096, STACK_MAX = 32 * STACK_STEP, REFUSALS = 20 };

/* ---- places in the middle -------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static void list_dangers(struct inject_batch *batch)
{
    batch->dangers_count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct inject_rewrite *rewrite = &batch->rewrites[i];
        for (size_t j = 0; rewrite->state == INJECT_TRAPPED && j < rewrite->dangers; j++)
            batch->dangers[batch->dangers_count++] = rewrite->at + rewrite->danger[j];
    }
    qsort(batch->dangers, batch->dangers_count, sizeof *batch->dangers, compare);
}

static bool is_danger(const struct inject_batch *batch, uint64_t place)
{
    return bsearch(&place, batch->dangers, batch->dangers_count, sizeof place, compare) != NULL;
}

/* The stack ends where nothing can be read; a handler's frame lies near its top. */
static bool is_stack_clean(const struct inject_batch *batch, uint64_t sp)
{
    uint64_t words[STACK_STEP / sizeof(uint64_t)];
    for (uint64_t at = sp & ~UINT64_C(7); at < sp + STACK_MAX;) {
        size_t bytes = STACK_STEP - at % STACK_STEP;
        if (!inject_code_read(batch->code, at, words, bytes))
            return true;
        for (size_t i = 0; i < bytes / sizeof *words; i++)
            if (is_danger(batch, words[i]))
                return false;
        at += bytes;
    }
    return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct inject_thread *find_thread(struct inject_batch *batch, uint32_t tid)
{
    for (size_t i = 0; i < batch->threads_count; i++)
        if (batch->threads[i].tid == tid)
            return &batch->threads[i];
    return NULL;
}

static struct inject_thread *add_thread(struct inject_batch *batch, uint32_t tid)
{
    if (!UTIL_PUSH(batch->threads, batch->threads_count, batch->threads_capacity,
                   (struct inject_thread){.tid = tid}))
        return NULL;
    return &batch->threads[batch->threads_count - 1];
}

static void see(const struct inject_batch *batch, struct inject_thread *thread, uint64_t ip,
                uint64_t sp)
{
    if (is_danger(batch, ip) || (thread->looks == 0 && !is_stack_clean(batch, sp))) {
        thread->looks = 0;
        return;
    }
    if (thread->looks++ == 0)
        thread->searched_ns = os_now_ns(CLOCK_MONOTONIC);
}

void inject_batch_sample(struct inject_batch *batch, uint32_t tid, uint64_t ip, uint64_t sp,
                         uint64_t time_ns)
{
    struct inject_thread *thread = batch->waits ? find_thread(batch, tid) : NULL;
    if (!thread || sp == 0 || thread->looks >= LOOKS || time_ns < batch->since_ns)
        return;
    /* Samples arrive late: the second look counts only if it came after the search of the stack. */
    if (thread->looks == 0 || time_ns > thread->searched_ns)
        see(batch, thread, ip, sp);
}

static void look(struct inject_batch *batch, struct inject_thread *thread)
{
    uint64_t ip, sp;
    if (thread->looks >= LOOKS)
        return;
    switch (inject_task_look(batch->code->pid, thread->tid, &ip, &sp)) {
    case INJECT_TASK_GONE: thread->looks = LOOKS; break;
    case INJECT_TASK_RESTS: see(batch, thread, ip, sp); break;
    case INJECT_TASK_FORKS:
    case INJECT_TASK_RUNS: break;
    }
}

/* True: all were met before, and are outside. A directory from which threads vanish while it is
   read may leave some out; so it counts only if it has shown nothing new. */
static bool look_at_all(struct inject_batch *batch)
{
    char path[32];
    bool all = true;
    snprintf(path, sizeof path, "/proc/%u/task", batch->code->pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return true; /* writes will fail */
    for (struct dirent *entry; (entry = readdir(tasks));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        struct inject_thread *thread = find_thread(batch, tid);
        if (!thread) {
            all = false;
            thread = add_thread(batch, tid);
        }
        if (thread)
            look(batch, thread);
        all &= thread && thread->looks >= LOOKS;
    }
    closedir(tasks);
    return all;
}

/* ---- the batch ------------------------------------------------------------------------------- */

static void finish(struct inject_batch *batch, bool proven)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct inject_rewrite *rewrite = &batch->rewrites[i];
        if (!proven && rewrite->dangers > 0)
            inject_rewrite_undo(batch->code, rewrite);
        else
            inject_rewrite_tail(batch->code, rewrite);
    }
    inject_synchronise(batch->code);
    for (size_t i = 0; i < batch->count; i++)
        inject_rewrite_head(batch->code, &batch->rewrites[i]);
    inject_patching_end(batch->code);
    batch->waits = false;
}

/* The C library blocks all signals for moments, for instance while it makes a thread. */
static const char *find_refusal(uint32_t pid)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const char *refused = inject_traps_refused(pid);
    for (int i = 0; refused && i < REFUSALS; i++) {
        nanosleep(&pause, NULL);
        refused = inject_traps_refused(pid);
    }
    return refused;
}

const char *inject_patching_begin(const struct inject_code *code)
{
    const char *refused = NULL;
    atomic_store(&code->piece->patching, 1);
    if (atomic_load(&code->piece->blocks_traps))
        refused = "a thread blocks SIGTRAP";
    if (!refused)
        refused = find_refusal(code->pid);
    if (refused)
        inject_patching_end(code);
    return refused;
}

void inject_patching_end(const struct inject_code *code)
{
    atomic_store(&code->piece->patching, 0);
}

const char *inject_batch_begin(struct inject_batch *batch)
{
    const char *refused = inject_patching_begin(batch->code);
    if (refused)
        return refused;
    for (size_t i = 0; i < batch->count; i++)
        inject_rewrite_trap(batch->code, &batch->rewrites[i]);
    inject_synchronise(batch->code);
    list_dangers(batch);
    batch->threads_count = 0;
    batch->since_ns = os_now_ns(CLOCK_MONOTONIC);
    batch->deadline_ns = batch->since_ns + LIMIT_MS * UINT64_C(1000000);
    batch->waits = true;
    return NULL;
}

bool inject_batch_step(struct inject_batch *batch)
{
    bool proven = batch->dangers_count == 0 || look_at_all(batch);
    if (!proven && os_now_ns(CLOCK_MONOTONIC) < batch->deadline_ns)
        return false;
    finish(batch, proven);
    return true;
}

void inject_batch_cut(struct inject_batch *batch)
{
    finish(batch, batch->dangers_count == 0);
}

void inject_batch_free(struct inject_batch *batch)
{
    if (batch)
        free(batch->threads);
    free(batch);
}
