// SPDX-License-Identifier: MIT
/*
 * Where the program and the agent are, and whether the one can live in the other.
 * Judging files before they start turns the loader's silence (a static program ignores
 * LD_PRELOAD) into a sentence. Files may change between the look and the start; the
 * start itself then reports the failure.
 */
#include "launch/launch.h"

#include "binary/binary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel follows so many interpreters of interpreters (fs/exec.c). */
enum { SCRIPT_DEPTH = 5 };

/* ---- PATH ---------------------------------------------------------------------------- */

/* 0 if the kernel would try to execute the file, else errno. */
static int executable(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    if (!S_ISREG(status.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

static enum launch_outcome explain(const char *name, int reason, char *error)
{
    switch (reason) {
    case ENOENT:
    case ENOTDIR:
        snprintf(error, LAUNCH_ERROR_BYTES,
                 strchr(name, '/') ? "cannot run '%s': there is no such file."
                                   : "cannot run '%s': there is no such program on PATH.",
                 name);
        return LAUNCH_NOT_FOUND;
    case EISDIR:
        snprintf(error, LAUNCH_ERROR_BYTES, "cannot run '%s': it is a directory.", name);
        return LAUNCH_NOT_EXECUTABLE;
    case EACCES:
        snprintf(error, LAUNCH_ERROR_BYTES,
                 "cannot run '%s': it is not an executable file; if it should be: chmod +x.", name);
        return LAUNCH_NOT_EXECUTABLE;
    default:
        snprintf(error, LAUNCH_ERROR_BYTES, "cannot run '%s': %s.", name, strerror(reason));
        return LAUNCH_NOT_EXECUTABLE;
    }
}

/* As execvp: a file that cannot be executed is remembered and the search goes on. */
static int search_path(const char *name, char path[LAUNCH_PATH_BYTES])
{
    const char *search = getenv("PATH");
    char standard[256];
    if (!search) {
        size_t length = confstr(_CS_PATH, standard, sizeof standard);
        search = length && length <= sizeof standard ? standard : "/bin:/usr/bin";
    }
    int reason = ENOENT;
    for (const char *entry = search;; entry++) {
        size_t length = strcspn(entry, ":");
        char candidate[LAUNCH_PATH_BYTES];
        int printed = snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)length, entry,
                               length ? "/" : "", name);
        if (printed > 0 && (size_t)printed < sizeof candidate) {
            int failure = executable(candidate);
            if (!failure) {
                memcpy(path, candidate, (size_t)printed + 1);
                return 0;
            }
            /* Unlike execvp's, a directory that may not be searched counts as empty,
             * as in shells. */
            if (failure != EISDIR && access(candidate, F_OK) == 0)
                reason = failure;
        }
        entry += length;
        if (!*entry)
            return reason;
    }
}

enum launch_outcome launch_find(const char *name, char path[LAUNCH_PATH_BYTES], char *error)
{
    size_t length = strlen(name);
    int reason = length == 0 ? ENOENT : length >= LAUNCH_PATH_BYTES ? ENAMETOOLONG : 0;
    if (!reason && !strchr(name, '/'))
        reason = search_path(name, path);
    else if (!reason && !(reason = executable(name)))
        memcpy(path, name, length + 1);
    return reason ? explain(name, reason, error) : LAUNCH_OK;
}

/* ---- what kind of program ------------------------------------------------------------- */

static const struct {
    enum launch_outcome outcome;
    const char *sentence; /* %s: the file */
} judgements[] = {
    [BINARY_DYNAMIC] = {LAUNCH_OK, NULL},
    [BINARY_STATIC] = {LAUNCH_FAILED, "cannot observe '%s': it is statically linked, and the agent "
                                      "needs the dynamic loader; link it dynamically."},
    [BINARY_OTHER_LIBC] = {LAUNCH_FAILED, "cannot observe '%s': it runs on another C library than "
                                          "glibc; build it against glibc."},
    [BINARY_32BIT] = {LAUNCH_FAILED,
                      "cannot observe '%s': it is a 32-bit program; build it for x86-64."},
    [BINARY_OTHER_MACHINE] = {LAUNCH_FAILED, "cannot observe '%s': it was built for another "
                                             "machine; build it for x86-64."},
    [BINARY_SCRIPT] = {LAUNCH_OK, NULL},
    [BINARY_GO] = {LAUNCH_FAILED, "cannot observe '%s': the Go runtime handles signals by itself, "
                                  "without the C library."},
    [BINARY_SET_ID] = {LAUNCH_FAILED, "cannot observe '%s': it changes its user or capabilities "
                                      "when it starts, which makes the loader refuse agents; run a "
                                      "copy without these rights."},
    [BINARY_NOT_PROGRAM] = {LAUNCH_NOT_EXECUTABLE, "cannot run '%s': it is not a program."},
};

/* execvp gives files of no known format to the shell; bash looks for a NUL first, as do we. */
static bool looks_like_text(const char *path)
{
    char start[256];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    ssize_t count = read(file, start, sizeof start);
    close(file);
    return count >= 0 && !memchr(start, 0, (size_t)count) &&
           !(count >= 4 && memcmp(start, "\177ELF", 4) == 0);
}

static enum launch_outcome judge(const char *path, enum binary_kind kind, char *error)
{
    if (judgements[kind].outcome != LAUNCH_OK)
        snprintf(error, LAUNCH_ERROR_BYTES, judgements[kind].sentence, path);
    return judgements[kind].outcome;
}

/* An execute-only file cannot be judged; it is started, and the loader has the last word. */
static enum launch_outcome unreadable(const char *path, enum base_status status, bool interpreter,
                                      char *error)
{
    if (status == BASE_DENIED)
        return LAUNCH_OK;
    snprintf(error, LAUNCH_ERROR_BYTES, "cannot run '%s': %s%s.", path,
             interpreter ? "the script's interpreter: " : "",
             status == BASE_NOT_FOUND ? "there is no such file"
             : status == BASE_IO      ? strerror(errno)
                                      : base_status_text(status));
    return LAUNCH_NOT_EXECUTABLE;
}

enum launch_outcome launch_examine(const char *path, bool *shell, char *error)
{
    char current[LAUNCH_PATH_BYTES], interpreter[LAUNCH_PATH_BYTES];
    if (strlen(path) >= sizeof current)
        return explain(path, ENAMETOOLONG, error);
    strcpy(current, path);
    for (int depth = 0; depth <= SCRIPT_DEPTH; depth++) {
        enum binary_kind kind;
        enum base_status status = binary_classify(current, &kind, interpreter);
        if (status != BASE_OK)
            return unreadable(current, status, depth > 0, error);
        bool text = kind == BINARY_NOT_PROGRAM && depth == 0 && looks_like_text(current);
        if (kind != BINARY_SCRIPT && !text) {
            enum launch_outcome outcome = judge(current, kind, error);
            if (outcome == LAUNCH_OK)
                *shell = false;
            return outcome;
        }
        if (text) {
            *shell = true;
            return LAUNCH_OK;
        }
        int reason = executable(interpreter);
        if (reason) {
            snprintf(error, LAUNCH_ERROR_BYTES,
                     "cannot run '%s': its interpreter '%.512s' cannot be executed: %s.", path,
                     interpreter, strerror(reason));
            return LAUNCH_NOT_EXECUTABLE;
        }
        strcpy(current, interpreter);
    }
    snprintf(error, LAUNCH_ERROR_BYTES, "cannot run '%s': too many interpreters of interpreters.",
             path);
    return LAUNCH_NOT_EXECUTABLE;
}

/* ---- the agent ------------------------------------------------------------------------ */

/* The loader splits LD_PRELOAD at these and expands '$'; there is no way to quote them. */
static bool preloadable(const char *path)
{
    return !strpbrk(path, " :$\t\n");
}

enum launch_outcome launch_agent(char path[WIRE_PATH_BYTES], char *error)
{
    static const char *const places[] = {"libheadroom-agent.so",
                                         "src/target/agent/libheadroom-agent.so",
                                         "../lib/headroom/libheadroom-agent.so"};
    char self[PATH_MAX], candidate[PATH_MAX + 64], found[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) {
        snprintf(error, LAUNCH_ERROR_BYTES, "cannot find the agent: /proc/self/exe: %s.",
                 strerror(errno));
        return LAUNCH_FAILED;
    }
    self[length] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < BASE_COUNT(places); i++) {
        snprintf(candidate, sizeof candidate, "%s/%s", self, places[i]);
        if (!realpath(candidate, found))
            continue;
        if (strlen(found) >= WIRE_PATH_BYTES || !preloadable(found)) {
            snprintf(error, LAUNCH_ERROR_BYTES,
                     "cannot use the agent '%s': LD_PRELOAD takes no path that is longer than %d "
                     "bytes or holds blanks, ':' or '$'; install headroom elsewhere.",
                     found, WIRE_PATH_BYTES - 1);
            return LAUNCH_FAILED;
        }
        strcpy(path, found);
        return LAUNCH_OK;
    }
    snprintf(error, LAUNCH_ERROR_BYTES,
             "cannot find libheadroom-agent.so beside '%s' or in ../lib/headroom; reinstall "
             "headroom.",
             self);
    return LAUNCH_FAILED;
}
