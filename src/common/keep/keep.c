// SPDX-License-Identifier: MIT
/*
 * Nothing follows symbolic links below the folder, and a folder that others own or can write to is
 * not used: headroom often runs as root, and with the environment of somebody else.
 */
#include "keep/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "new."; /* of the name of what is being written */

/* ---- the folder ---------------------------------------------------------------------------- */

static bool is_ours(int file, mode_t type)
{
    struct stat status;
    return fstat(file, &status) == 0 && (status.st_mode & S_IFMT) == type &&
           status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool join(char path[PATH_MAX], const char *first, const char *second)
{
    int length = snprintf(path, PATH_MAX, "%s%s", first, second);
    return first[0] == '/' && length > 0 && length < PATH_MAX;
}

/* Absolute; `made`: the part that headroom may create. */
static bool find_path(char path[PATH_MAX], char parent[PATH_MAX])
{
    const char *own = getenv("HEADROOM_CACHE"), *all = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (geteuid() != getuid() || getegid() != getgid())
        return false;
    parent[0] = 0;
    if (own)
        return join(path, own, "");
    if (all && all[0] == '/')
        return join(parent, all, "") && join(path, all, "/headroom");
    return home && join(parent, home, "/.cache") && join(path, home, "/.cache/headroom");
}

static int open_directory(const char *path)
{
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory >= 0 && !is_ours(directory, S_IFDIR)) {
        close(directory);
        return -1;
    }
    return directory;
}

/* A parent that is missing is made only in a folder of our own: not in somebody else's home. */
static bool make_parent(const char *parent)
{
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%.*s", (int)(strrchr(parent, '/') - parent), parent);
    int directory = open_directory(above);
    bool made = directory >= 0 && mkdirat(directory, strrchr(parent, '/') + 1, 0700) == 0;
    if (directory >= 0)
        close(directory);
    return made;
}

static bool make_directory(const char *path, const char *parent)
{
    if (parent[0]) {
        int directory = open_directory(parent);
        if (directory < 0 && (errno != ENOENT || !make_parent(parent)))
            return false;
        if (directory >= 0)
            close(directory);
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

int keep_folder(bool make)
{
    char path[PATH_MAX], parent[PATH_MAX];
    if (!find_path(path, parent))
        return -1;
    errno = 0;
    int folder = open_directory(path);
    if (folder < 0 && errno == ENOENT && make && make_directory(path, parent))
        folder = open_directory(path);
    return folder;
}

/* ---- files --------------------------------------------------------------------------------- */

int keep_open(int folder, const char *name)
{
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0 && !is_ours(file, S_IFREG)) {
        close(file);
        return -1;
    }
    return file;
}

bool keep_lock(int folder, double seconds)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    for (double waited = 0;; waited += 1e-9 * (double)pause.tv_nsec) {
        if (flock(folder, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK || waited >= seconds)
            return false;
        nanosleep(&pause, NULL);
    }
}

bool keep_is_unfinished(const char *name)
{
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

static bool write_all(int file, const void *bytes, size_t count, off_t offset)
{
    const char *at = bytes;
    while (count) {
        ssize_t written = pwrite(file, at, count, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        offset += written;
        count -= (size_t)written;
    }
    return true;
}

/* SIGXFSZ would end the process: what does not fit is not begun. */
static bool may_grow_to(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes <= limit.rlim_cur;
}

bool keep_write(int folder, const char *name, const struct keep_part *parts, size_t count)
{
    static _Atomic unsigned number;
    char unfinished[64];
    bool good = true;
    for (size_t i = 0; i < count; i++)
        good = good && may_grow_to(parts[i].offset + parts[i].count);
    snprintf(unfinished, sizeof unfinished, "%s%d.%u", prefix, (int)getpid(), number++);
    int file = good ? openat(folder, unfinished,
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                    : -1;
    if (file < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        good = good && write_all(file, parts[i].bytes, parts[i].count, (off_t)parts[i].offset);
    close(file);
    good = good && renameat(folder, unfinished, folder, name) == 0;
    if (!good)
        unlinkat(folder, unfinished, 0);
    return good;
}
