// SPDX-License-Identifier: MIT
/*
 * A program built at several optimisation levels, by the user's own build command, in which {} stands for the level's option. Builds
 * usually write to one place: after each the program is copied, and the copies are run in turn.
 */
#include "cli/stat.h"

#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

uint64_t stat_content(const char *path)
{
    struct stat info;
    uint64_t hash = 1;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
        bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0)
        close(file);
    if (bytes == MAP_FAILED)
        return 0;
    for (size_t at = 0; at < (size_t)info.st_size; at += sizeof hash) {
        uint64_t word = 0;
        size_t left = (size_t)info.st_size - at;
        memcpy(&word, (const char *)bytes + at, left < sizeof word ? left : sizeof word);
        hash = base_mix64(hash ^ word);
    }
    munmap(bytes, (size_t)info.st_size);
    return hash ? hash : 1;
}

bool stat_level(const char *levels, size_t index, char *level, size_t bytes)
{
    for (; *levels; levels += *levels == ',') {
        size_t count = strcspn(levels, ",");
        const char *begin = *levels == '-' ? levels + 1 : levels;
        if (count && index-- == 0) {
            snprintf(level, bytes, "%.*s", (int)(count - (size_t)(begin - levels)), begin);
            return true;
        }
        levels += count;
    }
    return false;
}

/* ---- building --------------------------------------------------------------------------------- */

/* Each {} is the option. */
static bool make_line(const char *build, const char *level, struct util_text *line)
{
    bool good = true;
    for (const char *at = build; *at && good;) {
        const char *place = strstr(at, "{}");
        size_t bytes = place ? (size_t)(place - at) : strlen(at);
        good = util_text_print(line, "%.*s", (int)bytes, at) &&
               (!place || util_text_print(line, "-%s", level));
        at += bytes + (place ? 2 : 0);
    }
    return good;
}

/* What the build prints goes to standard error: standard output is the report's. */
static int run_line(const char *line)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static bool make_directory(struct stat_measuring *measuring)
{
    if (measuring->directory[0] ||
        util_temporary_directory(util_temporary_root(), "headroom-stat", measuring->directory,
                                 sizeof measuring->directory))
        return true;
    int reason = errno;
    measuring->directory[0] = 0;
    return stat_fail(measuring, LAUNCH_FAILED,
                     "cannot make a directory for the programs that are built: %s.",
                     strerror(reason));
}

/* With its directory. */
static void remove_copy(char *path)
{
    unlink(path);
    *strrchr(path, '/') = 0;
    rmdir(path);
}

static bool copy_bytes(int from, int to, off_t bytes)
{
    while (bytes > 0) {
        ssize_t sent = sendfile(to, from, NULL, (size_t)bytes);
        if (sent <= 0)
            return false;
        bytes -= sent;
    }
    return true;
}

/* False: errno. */
static bool copy_file(const char *path, const char *copy)
{
    struct stat info;
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = from >= 0 ? open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700) : -1;
    bool good = to >= 0 && fstat(from, &info) == 0 && copy_bytes(from, to, info.st_size);
    int reason = errno;
    if (to >= 0 && close(to) != 0 && good) {
        good = false;
        reason = errno;
    }
    if (from >= 0)
        close(from);
    errno = reason;
    return good;
}

/* The copy is in a directory of its own, for it keeps the program's name: some do different things by it. */
static bool copy_program(struct stat_measuring *measuring, char path[LAUNCH_PATH_BYTES])
{
    char copy[LAUNCH_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    int bytes =
        snprintf(copy, sizeof copy, "%.3100s/%zu", measuring->directory, measuring->subjects_count);
    bool made = mkdir(copy, 0700) == 0;
    snprintf(copy + bytes, sizeof copy - (size_t)bytes, "/%.900s", slash ? slash + 1 : path);
    if (made && copy_file(path, copy)) {
        strcpy(path, copy);
        return true;
    }
    stat_fail(measuring, LAUNCH_FAILED, "cannot copy '%.1000s' to '%.1000s': %s.", path, copy,
              strerror(errno));
    if (made)
        remove_copy(copy);
    return false;
}

bool stat_build(struct stat_measuring *measuring, const char *level, char path[LAUNCH_PATH_BYTES])
{
    struct util_text line = {0};
    if (!make_directory(measuring))
        return false;
    if (!make_line(measuring->own->build, level, &line)) {
        util_text_free(&line);
        return stat_fail(measuring, LAUNCH_FAILED, "%s.", base_status_text(BASE_NO_MEMORY));
    }
    if (!measuring->settings->quiet)
        say("building: %s", line.bytes);
    int status = run_line(line.bytes);
    bool good = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!good)
        stat_fail(measuring, LAUNCH_FAILED, "'%.1000s' failed: nothing was measured.", line.bytes);
    util_text_free(&line);
    return good && copy_program(measuring, path);
}

/* Removes only what was put there. */
void stat_build_end(struct stat_measuring *measuring)
{
    if (!measuring->directory[0])
        return;
    for (size_t i = 0; i < measuring->subjects_count; i++) {
        char path[LAUNCH_PATH_BYTES];
        strcpy(path, measuring->subjects[i].path);
        if (strncmp(path, measuring->directory, strlen(measuring->directory)) != 0)
            continue;
        remove_copy(path);
    }
    rmdir(measuring->directory);
}
