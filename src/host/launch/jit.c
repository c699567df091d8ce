// SPDX-License-Identifier: MIT
/*
 * Where a process that runs code of a JIT compiler has put the names of it. The files are read after
 * the run, when the process is gone: what only it can lead to, its own /tmp in another mount
 * namespace, its working directory, the jitdump that it has mapped, is opened while it lives, when
 * the first context in memory without a file is drained.
 */
#include "launch/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAPS_LINES = 1 << 16, LINE_BYTES = PATH_MAX + 256 };

static int open_below(uint32_t pid, const char *what, int flags)
{
    char path[64 + PATH_MAX];
    int printed = snprintf(path, sizeof path, "/proc/%u/%s", pid, what);
    return printed > 0 && (size_t)printed < sizeof path ? open(path, flags | O_CLOEXEC) : -1;
}

static FILE *read_below(uint32_t pid, const char *what)
{
    int file = open_below(pid, what, O_RDONLY);
    FILE *stream = file >= 0 ? fdopen(file, "r") : NULL;
    if (file >= 0 && !stream)
        close(file);
    return stream;
}

/* What the process calls itself: files are named by that. */
static uint32_t own_pid(uint32_t pid)
{
    char line[256];
    unsigned own = pid;
    FILE *status = read_below(pid, "status");
    while (status && fgets(line, sizeof line, status)) {
        const char *last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;
        if (last && sscanf(last, "%u", &own) == 1)
            break;
    }
    if (status)
        fclose(status);
    return own;
}

/* A mapping of a file of that name makes the dump known to profilers: that is what it is for. */
static int open_dump(uint32_t pid, uint32_t own)
{
    char line[LINE_BYTES], name[32], path[LINE_BYTES];
    int dump = -1;
    FILE *maps = read_below(pid, "maps");
    int length = snprintf(name, sizeof name, "/jit-%u.dump", own);
    for (int i = 0; maps && dump < 0 && i < MAPS_LINES && fgets(line, sizeof line, maps); i++) {
        line[strcspn(line, "\n")] = 0;
        const char *file = strchr(line, '/');
        size_t bytes = file ? strlen(file) : 0;
        if (bytes < (size_t)length || strcmp(file + bytes - (size_t)length, name) != 0)
            continue;
        snprintf(path, sizeof path, "root%s", file);
        dump = open_below(pid, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    }
    if (maps)
        fclose(maps);
    return dump;
}

static bool is_known(const struct launch_jits *jits, uint32_t process)
{
    for (size_t i = jits->count; i-- > 0;)
        if (jits->items[i].process == process)
            return true;
    return false;
}

void launch_jits_note(struct launch_jits *jits, uint32_t process, uint32_t pid)
{
    struct stat info;
    char path[32];
    snprintf(path, sizeof path, "/proc/%u", pid);
    if (pid == 0 || jits->count == LAUNCH_JITS || is_known(jits, process) || stat(path, &info) != 0)
        return;
    struct launch_jit *jit = &jits->items[jits->count++];
    *jit = (struct launch_jit){
        .process = process, .pid = pid, .own_pid = own_pid(pid), .uid = info.st_uid};
    jit->temporary = open_below(pid, "root/tmp", O_PATH | O_DIRECTORY);
    jit->directory = open_below(pid, "cwd", O_PATH | O_DIRECTORY);
    jit->dump = open_dump(pid, jit->own_pid);
}

void launch_jits_free(struct launch_jits *jits)
{
    for (size_t i = 0; i < jits->count; i++) {
        const int files[] = {jits->items[i].temporary, jits->items[i].directory,
                             jits->items[i].dump};
        for (size_t j = 0; j < BASE_COUNT(files); j++)
            if (files[j] >= 0)
                close(files[j]);
    }
    jits->count = 0;
}
