// SPDX-License-Identifier: MIT
/* What /proc says of a process: its mappings, its threads and what they do, their signals. */
#include "inject/internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ---- mappings -------------------------------------------------------------------------- */

enum { READ_BYTES = 1 << 16 };

/* 0, or errno. */
static int read_all(struct inject_maps *maps, int file)
{
    struct util_text *text = &maps->text;
    ssize_t got;
    do {
        if (!util_text_reserve(text, READ_BYTES))
            return ENOMEM;
        got = read(file, text->bytes + text->count, READ_BYTES);
        text->count += got > 0 ? (size_t)got : 0;
        text->bytes[text->count] = 0;
    } while (got > 0);
    return got < 0 ? errno : 0;
}

int inject_maps_read(struct inject_maps *maps, uint32_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? ESRCH : errno;
    maps->text.count = maps->at = 0;
    maps->text.failed = false;
    int reason = read_all(maps, file);
    close(file);
    char *end = maps->text.bytes;
    while (!reason &&
           (end = memchr(end, '\n', maps->text.count - (size_t)(end - maps->text.bytes))))
        *end++ = 0;
    return !reason && maps->text.count == 0 ? ESRCH : reason;
}

/* START-END rwxp OFFSET MAJOR:MINOR INODE   PATH */
bool inject_maps_next(struct inject_maps *maps, struct inject_mapping *mapping)
{
    while (maps->at < maps->text.count) {
        char *line = maps->text.bytes + maps->at;
        maps->at += strlen(line) + 1;
        unsigned long start, stop, offset, inode;
        unsigned major, minor;
        char rights[5];
        int path = 0;
        if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &start, &stop, rights, &offset, &major,
                   &minor, &inode, &path) != 7)
            continue;
        *mapping = (struct inject_mapping){.start = start,
                                           .end = stop,
                                           .offset = offset,
                                           .device = makedev(major, minor),
                                           .inode = inode,
                                           .executable = rights[2] == 'x',
                                           .shared = rights[3] == 's',
                                           .path = line + path};
        return true;
    }
    return false;
}

void inject_maps_rewind(struct inject_maps *maps)
{
    maps->at = 0;
}

void inject_maps_free(struct inject_maps *maps)
{
    util_text_free(&maps->text);
    *maps = (struct inject_maps){0};
}

/* ---- threads ------------------------------------------------------------------------------- */

/* Reads a small file; the count of bytes, or -errno. NUL-terminated. */
static ssize_t read_small(const char *path, char *text, size_t capacity)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    ssize_t got = read(file, text, capacity - 1);
    int reason = errno;
    close(file);
    text[got > 0 ? got : 0] = 0;
    return got < 0 ? -reason : got;
}

unsigned inject_task_count(uint32_t pid)
{
    char path[32];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return 0;
    for (struct dirent *entry; (entry = readdir(tasks));)
        count += isdigit((unsigned char)entry->d_name[0]) != 0;
    closedir(tasks);
    return count;
}

/* While one of these rests its memory may be used by a child that has borrowed it. */
static bool is_fork(long number)
{
    return number == SYS_vfork || number == SYS_clone || number == SYS_clone3;
}

/* "running", "-1 SP IP" (stopped, or waiting for a page), or "NUMBER ARGUMENT*6 SP IP" */
enum inject_task_state inject_task_look(uint32_t pid, uint32_t tid, uint64_t *ip, uint64_t *sp)
{
    char path[64], text[256];
    unsigned long stack, place;
    long number;
    snprintf(path, sizeof path, "/proc/%u/task/%u/syscall", pid, tid);
    ssize_t got = read_small(path, text, sizeof text);
    if (got < 0)
        return got == -ENOENT || got == -ESRCH ? INJECT_TASK_GONE : INJECT_TASK_RUNS;
    if (sscanf(text, "%ld", &number) != 1)
        return INJECT_TASK_RUNS;
    if (number == -1 ? sscanf(text, "%*d 0x%lx 0x%lx", &stack, &place) != 2
                     : sscanf(text, "%*d %*s %*s %*s %*s %*s %*s 0x%lx 0x%lx", &stack, &place) != 2)
        return INJECT_TASK_RUNS;
    *ip = place;
    *sp = stack;
    return is_fork(number) ? INJECT_TASK_FORKS : INJECT_TASK_RESTS;
}

/* ---- signals --------------------------------------------------------------------------------- */

static bool has_trap(const char *status, const char *field)
{
    const char *line = strstr(status, field);
    return line && strtoul(line + strlen(field), NULL, 16) & UINT64_C(1) << (SIGTRAP - 1);
}

static const char *trap_refused(uint32_t pid, const char *tid)
{
    char path[300], text[4096];
    snprintf(path, sizeof path, "/proc/%u/task/%s/status", pid, tid);
    if (read_small(path, text, sizeof text) <= 0)
        return NULL; /* it has ended */
    if (strstr(text, "State:\tZ") || strstr(text, "State:\tX"))
        return NULL;
    const char *tracer = strstr(text, "TracerPid:");
    if (tracer && strtoul(tracer + 10, NULL, 10) != 0)
        return "it is traced, and the tracer would see it";
    if (!has_trap(text, "SigCgt:"))
        return "the program does not handle SIGTRAP while it runs";
    return has_trap(text, "SigBlk:") ? "a thread blocks SIGTRAP" : NULL;
}

const char *inject_traps_refused(uint32_t pid)
{
    char path[32];
    const char *reason = NULL;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return "the process has ended";
    for (struct dirent *entry; !reason && (entry = readdir(tasks));)
        if (isdigit((unsigned char)entry->d_name[0]))
            reason = trap_refused(pid, entry->d_name);
    closedir(tasks);
    return reason;
}
