// SPDX-License-Identifier: MIT
/*
 * Memory that processes share: what a process has mapped MAP_SHARED, from files, without one, or by shmat, and which file and
 * offset lies at an address, or at which address those of another process's lie here. Files are known by one number, made of device
 * and inode, which all processes see alike.
 *
 * A fixed table; a program that maps more at a time shares the rest unseen. The lock is held with signals blocked, by whoever maps or
 * unmaps; look-ups in handlers take none: a row's sequence number says whether it was changed meanwhile. Who finds the lock held for ever (by
 * the child of a vfork that was killed) gives the table up: nothing is known of any address from then on.
 *
 * Not seen: what is mapped by system calls of the program's own, and by the C library for itself (semaphores by name).
 */
#include "agent/agent.h"
#include "agent/guard.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { ROWS = 64, PATH = 256, RECENT_MS = 1000, MS_NS = 1000000 };

struct row {
    _Atomic uint32_t sequence; /* odd: is being changed */
    uint64_t start, end;       /* equal: none */
    uint64_t file, offset;     /* offset: of start */
    _Atomic uint32_t logged;   /* process + 1 whose log has its name */
    char path[PATH];
};
static struct row rows[ROWS];
static _Atomic uint32_t rows_used;
static struct guard guard;

_Static_assert(sizeof(struct board) <= WIRE_BOARD_BYTES, "the region has room for the board");

/* ---- the table ----------------------------------------------------------------------------------- */

/* Copies without the path; false: it was changed meanwhile, or there is none. */
static bool read_row(const struct row *row, struct row *copy)
{
    uint32_t before = reading_begins(&row->sequence);
    copy->start = row->start;
    copy->end = row->end;
    copy->file = row->file;
    copy->offset = row->offset;
    return reading_holds(&row->sequence, before) && copy->start < copy->end;
}

static uint32_t used(void)
{
    return guard_is_given_up(&guard) ? 0 : atomic_load_explicit(&rows_used, memory_order_relaxed);
}

/* What is left of a mapping in the middle of which something is unmapped is the larger of its ends. */
static void cut(struct row *row, uint64_t start, uint64_t end)
{
    uint64_t first = row->start, last = row->end;
    if (start >= last || end <= first)
        return;
    uint64_t low = start > first ? start - first : 0, high = end < last ? last - end : 0;
    change_begins(&row->sequence);
    if (low >= high) {
        row->end = first + low;
    } else {
        row->start = end;
        row->offset += end - first;
    }
    change_ends(&row->sequence);
}

static void cut_all(uint64_t start, uint64_t end)
{
    for (uint32_t i = 0; i < atomic_load(&rows_used); i++)
        cut(&rows[i], start, end);
}

static void add(const struct row *made)
{
    uint32_t i = 0;
    while (i < ROWS && rows[i].start < rows[i].end)
        i++;
    if (i == ROWS)
        return;
    change_begins(&rows[i].sequence);
    rows[i].start = made->start;
    rows[i].end = made->end;
    rows[i].file = made->file;
    rows[i].offset = made->offset;
    memcpy(rows[i].path, made->path, sizeof made->path);
    atomic_store(&rows[i].logged, 0);
    change_ends(&rows[i].sequence);
    if (i >= atomic_load(&rows_used))
        atomic_store(&rows_used, i + 1);
}

bool shared_find(uint64_t address, uint64_t *file, uint64_t *offset)
{
    struct row row;
    for (uint32_t i = 0; i < used(); i++)
        if (read_row(&rows[i], &row) && address >= row.start && address < row.end) {
            *file = row.file;
            *offset = row.offset + (address - row.start);
            return true;
        }
    return false;
}

bool shared_address(uint64_t file, uint64_t offset, uint64_t *address)
{
    struct row row;
    for (uint32_t i = 0; i < used(); i++)
        if (read_row(&rows[i], &row) && file == row.file && offset >= row.offset &&
            offset - row.offset < row.end - row.start) {
            *address = row.start + (offset - row.offset);
            return true;
        }
    return false;
}

bool shared_log_file(struct agent_thread *self, uint64_t file)
{
    _Alignas(8) char buffer[sizeof(struct wire_shared_file) + PATH + 8];
    struct wire_shared_file *record = (struct wire_shared_file *)buffer;
    struct row row;
    for (uint32_t i = 0; i < used(); i++) {
        if (!read_row(&rows[i], &row) || row.file != file)
            continue;
        if (atomic_load_explicit(&rows[i].logged, memory_order_relaxed) == agent.process + 1)
            return true;
        memset(buffer, 0, sizeof buffer);
        memcpy(record->path, rows[i].path, PATH);
        record->path[PATH - 1] = 0;
        uint16_t bytes = (uint16_t)((strlen(record->path) + 8) & ~(size_t)7);
        record->record = (struct wire_record){.type = WIRE_SHARED_FILE,
                                              .bytes = (uint16_t)(sizeof *record + bytes)};
        record->file = file;
        if (!wire_write(&self->writer, &record->record))
            return false;
        atomic_store_explicit(&rows[i].logged, agent.process + 1, memory_order_relaxed);
        return true;
    }
    return true;
}

/* ---- other processes ------------------------------------------------------------------------------ */

bool shared_with_others(void)
{
    if (!used())
        return false;
    uint32_t now = (uint32_t)(os_now_ns(CLOCK_MONOTONIC) / MS_NS), own = agent.process + 1;
    bool found = false;
    for (unsigned i = 0; i < WIRE_SHARERS; i++) {
        uint64_t sharer = atomic_load_explicit(&agent.region->sharers[i], memory_order_relaxed);
        found |= sharer && sharer >> 32 != own && now - (uint32_t)sharer < RECENT_MS;
    }
    atomic_store_explicit(&agent.region->sharers[own % WIRE_SHARERS], (uint64_t)own << 32 | now,
                          memory_order_relaxed);
    return found;
}

void shared_after_fork(void)
{
    atomic_store(&guard.held, false);
    for (uint32_t i = 0; i < atomic_load(&rows_used); i++)
        if (atomic_load(&rows[i].sequence) & 1) { /* another thread was at it */
            rows[i].start = rows[i].end = 0;
            change_ends(&rows[i].sequence);
        }
}

/* ---- what is mapped ------------------------------------------------------------------------------- */

static bool wanted(void)
{
    return agent.region && agent.region->config.sharing_ms && agent_active() &&
           !atomic_load_explicit(&agent.filtered, memory_order_relaxed);
}

static uint64_t number_of(uint64_t device, uint64_t inode)
{
    uint64_t number = base_mix64(base_mix64(device + 1) ^ inode);
    return number ? number : 1;
}

static void read_path(int file, char path[PATH])
{
    char link[64];
    agent_put_number(agent_put_text(link, "/proc/self/fd/"), (uint64_t)file);
    long length = os_syscall(__NR_readlinkat, AT_FDCWD, link, path, PATH - 1);
    path[length > 0 ? length : 0] = 0;
}

/* Of a regular file, as those in memory are. */
static bool identify_file(int file, struct row *made)
{
    struct stat status;
    if (os_syscall(__NR_fstat, file, &status) != 0 || (status.st_mode & S_IFMT) != S_IFREG)
        return false;
    made->file = number_of(status.st_dev, status.st_ino);
    read_path(file, made->path);
    return true;
}

/* What has no file has one in the kernel. */
static bool identify_mapping(struct row *made)
{
    struct agent_mapping mapping;
    if (!memory_mapping(made->start, &mapping) || !mapping.shared)
        return false;
    made->file = number_of(mapping.device, mapping.inode);
    made->offset = mapping.offset + (made->start - mapping.start);
    made->end = made->end > made->start ? made->end : mapping.end;
    return true;
}

static void change(uint64_t start, uint64_t end, const struct row *made)
{
    uint64_t all = ~UINT64_C(0), mask;
    os_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
    if (guard_take(&guard)) {
        cut_all(start, end);
        if (made)
            add(made);
        guard_give(&guard);
    }
    os_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

void shared_mapped(const void *at, size_t bytes, int flags, int file, uint64_t offset)
{
    int type = flags & 0x0f; /* MAP_TYPE */
    if (at == MAP_FAILED || (type != MAP_SHARED && type != MAP_SHARED_VALIDATE) || !wanted())
        return;
    struct row made = {.start = (uint64_t)at, .end = (uint64_t)at + bytes, .offset = offset};
    if (flags & MAP_ANONYMOUS ? identify_mapping(&made) : identify_file(file, &made))
        change(made.start, made.end, &made);
}

void shared_unmapped(const void *at, size_t bytes)
{
    uint64_t start = (uint64_t)at, end = start + bytes < start ? UINT64_MAX : start + bytes;
    struct row row;
    bool any = false;
    for (uint32_t i = 0; i < used(); i++)
        any |= read_row(&rows[i], &row) && start < row.end && end > row.start;
    if (any && !atomic_load_explicit(&agent.filtered, memory_order_relaxed))
        change(start, end, NULL);
}

void shared_placed(const void *at, size_t bytes, uint64_t file, uint64_t offset)
{
    struct row made = {
        .start = (uint64_t)at, .end = (uint64_t)at + bytes, .file = file, .offset = offset};
    if (!wanted())
        return;
    for (uint32_t i = 0; i < used(); i++)
        if (rows[i].file == file) /* also of one that is no more */
            memcpy(made.path, rows[i].path, sizeof made.path);
    change(made.start, made.end, &made);
}

EXPORT void *shmat(int segment, const void *address, int flags)
{
    void *at = WRAP_REAL(shmat)(segment, address, flags);
    struct row made = {.start = (uint64_t)at};
    if (at != MAP_FAILED && wanted() && identify_mapping(&made))
        change(made.start, made.end, &made);
    return at;
}

EXPORT int shmdt(const void *address)
{
    struct row row;
    for (uint32_t i = 0; i < used(); i++)
        if (read_row(&rows[i], &row) && row.start == (uint64_t)address)
            shared_unmapped(address, row.end - row.start);
    return WRAP_REAL(shmdt)(address);
}
