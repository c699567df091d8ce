// SPDX-License-Identifier: MIT
/*
 * Writes code of another process through /proc/PID/mem, which reaches read-only text too: the
 * kernel copies the page. The descriptor belongs to the image for which it was opened: when the
 * process executes another program or ends, writes fail instead of reaching something else.
 *
 * Whatever fails or is cut short, even by the death of headroom, leaves one of these: the old
 * bytes; an int3 with an entry in `traps` that leads on, whatever follows it; the new bytes.
 * Entries stay for ever, because a thread may be on its way to the handler when the int3 is gone,
 * and because forked processes have copies of both.
 */
#include "inject/internal.h"

#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { INT3 = 0xcc, CODE_MAX = 128, NO_BARRIER_MS = 50 };

bool inject_code_read(const struct inject_code *code, uint64_t address, void *out, size_t bytes)
{
    return pread(code->memory, out, bytes, (off_t)address) == (ssize_t)bytes;
}

bool inject_code_replace(const struct inject_code *code, uint64_t address, const void *before,
                         const void *after, size_t bytes)
{
    uint8_t there[CODE_MAX];
    return bytes <= sizeof there && inject_code_read(code, address, there, bytes) &&
           memcmp(there, before, bytes) == 0 &&
           pwrite(code->memory, after, bytes, (off_t)address) == (ssize_t)bytes;
}

/* ---- entries of the table ------------------------------------------------------------------- */

static uint32_t known_traps(const struct spans_process *piece)
{
    uint32_t count = atomic_load_explicit(&piece->traps_count, memory_order_acquire);
    return count < SPANS_FUNCTIONS ? count : SPANS_FUNCTIONS;
}

static struct spans_trap *find_trap(struct spans_process *piece, uint64_t address)
{
    for (uint32_t i = 0; i < known_traps(piece); i++)
        if (atomic_load_explicit(&piece->traps[i].address, memory_order_acquire) == address)
            return &piece->traps[i];
    return NULL;
}

uint64_t inject_trap_find(const struct spans_process *piece, uint64_t address)
{
    struct spans_trap *trap = find_trap((struct spans_process *)piece, address);
    return trap ? trap->to : 0;
}

/* An entry of before, for the same address, led to code that is still there: threads may take
 * either. */
static bool set_trap(struct spans_process *piece, uint64_t address, uint64_t to)
{
    struct spans_trap *trap = find_trap(piece, address);
    uint32_t count = known_traps(piece);
    if (trap) {
        trap->to = to;
        return true;
    }
    if (count >= SPANS_FUNCTIONS)
        return false;
    piece->traps[count].to = to;
    atomic_store_explicit(&piece->traps[count].address, address, memory_order_release);
    atomic_store_explicit(&piece->traps_count, count + 1, memory_order_seq_cst);
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

void inject_rewrite_trap(const struct inject_code *code, struct inject_rewrite *rewrite)
{
    uint8_t there[PATCH_JUMP_BYTES], trap[1] = {INT3};
    if (rewrite->state != INJECT_NEW)
        return;
    rewrite->state = INJECT_REFUSED;
    if (inject_code_read(code, rewrite->at, there, sizeof there) &&
        memcmp(there, rewrite->before, sizeof there) == 0 &&
        set_trap(code->piece, rewrite->at, rewrite->to) &&
        inject_code_replace(code, rewrite->at, rewrite->before, trap, 1))
        rewrite->state = INJECT_TRAPPED;
}

/*
 * What a fork interrupted goes on here: the tail may be written already. Never behind another first
 * byte than the trap: a library that was unloaded and loaded again meanwhile is as in its file.
 */
void inject_rewrite_tail(const struct inject_code *code, struct inject_rewrite *rewrite)
{
    uint8_t there[PATCH_JUMP_BYTES], *tail = there + 1;
    const size_t bytes = PATCH_JUMP_BYTES - 1;
    if (rewrite->state != INJECT_TRAPPED)
        return;
    bool trapped = inject_code_read(code, rewrite->at, there, sizeof there) && there[0] == INT3;
    bool written = trapped && memcmp(tail, rewrite->after + 1, bytes) == 0;
    if (written || (trapped && inject_code_replace(code, rewrite->at + 1, rewrite->before + 1,
                                                   rewrite->after + 1, bytes)))
        rewrite->state = INJECT_WRITTEN;
    else
        rewrite->state = INJECT_REFUSED;
}

/* It came in between after all: the tail is put back. */
static void take_tail_back(const struct inject_code *code, const struct inject_rewrite *rewrite)
{
    uint8_t first;
    if (inject_code_read(code, rewrite->at, &first, 1) && first == rewrite->before[0])
        inject_code_replace(code, rewrite->at + 1, rewrite->after + 1, rewrite->before + 1,
                            PATCH_JUMP_BYTES - 1);
}

void inject_rewrite_head(const struct inject_code *code, struct inject_rewrite *rewrite)
{
    uint8_t trap[1] = {INT3};
    if (rewrite->state != INJECT_WRITTEN)
        return;
    rewrite->state = INJECT_REFUSED;
    if (inject_code_replace(code, rewrite->at, trap, rewrite->after, 1))
        rewrite->state = INJECT_DONE;
    else
        take_tail_back(code, rewrite);
}

void inject_rewrite_undo(const struct inject_code *code, struct inject_rewrite *rewrite)
{
    uint8_t trap[1] = {INT3};
    if (rewrite->state == INJECT_TRAPPED)
        rewrite->state = inject_code_replace(code, rewrite->at, trap, rewrite->before, 1)
                             ? INJECT_UNDONE
                             : INJECT_REFUSED;
}

/* A write within a page is not cut short. */
void inject_rewrite_now(const struct inject_code *code, struct inject_rewrite *rewrite)
{
    if (rewrite->state == INJECT_NEW &&
        rewrite->at / SPANS_PAGE == (rewrite->at + PATCH_JUMP_BYTES - 1) / SPANS_PAGE) {
        rewrite->state = inject_code_replace(code, rewrite->at, rewrite->before, rewrite->after,
                                             PATCH_JUMP_BYTES)
                             ? INJECT_DONE
                             : INJECT_REFUSED;
        return;
    }
    inject_rewrite_trap(code, rewrite);
    inject_rewrite_tail(code, rewrite);
    inject_rewrite_head(code, rewrite);
}

/*
 * Waits until every processor that executes the process has been interrupted, which serialises it.
 * A process that is registered for that is at once; else it takes until all have been through the
 * scheduler or a timer interrupt. Where the kernel refuses both (nohz_full) a pause of many ticks
 * stands in.
 */
void inject_synchronise(const struct inject_code *code)
{
    struct timespec pause = {.tv_nsec = NO_BARRIER_MS * 1000000L};
    if (code->piece->barriers &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0)
        return;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0)
        nanosleep(&pause, NULL);
}
