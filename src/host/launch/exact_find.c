// SPDX-License-Identifier: MIT
/*
 * Where the exact engine is, and whether it can run a program. Files are judged before they start,
 * as in find.c: Valgrind's refusals come on standard error, which is the program's.
 */
#include "launch/exact.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- finding ------------------------------------------------------------------------------ */

/* The first of `places`, relative to the folder, that can be executed. 0, or errno: ENOENT only if
   there is none. */
static int find_beside(const char *folder, const char *const *places, size_t count,
                       char path[LAUNCH_PATH_BYTES])
{
    char candidate[PATH_MAX + 64], found[PATH_MAX];
    int reason = ENOENT;
    for (size_t i = 0; i < count; i++) {
        snprintf(candidate, sizeof candidate, "%s/%s", folder, places[i]);
        if (realpath(candidate, found) && access(found, X_OK) == 0) {
            strcpy(path, found);
            return 0;
        }
        if (errno != ENOENT && errno != ENOTDIR)
            reason = errno;
    }
    return reason;
}

static bool is_library(const char *folder)
{
    char path[PATH_MAX + 128];
    snprintf(path, sizeof path, "%s/vgpreload_core-amd64-linux.so", folder);
    return access(path, R_OK) == 0;
}

/* Valgrind's own files: where the tool looks by itself, else as `valgrind` on PATH is installed. */
static bool find_library(char path[LAUNCH_PATH_BYTES])
{
    static const char *const beside[] = {"../libexec/valgrind", "../lib/valgrind",
                                         "../lib/x86_64-linux-gnu/valgrind", "../lib64/valgrind"};
    char valgrind[LAUNCH_PATH_BYTES], target[PATH_MAX], candidate[PATH_MAX + 64];
    char error[LAUNCH_ERROR_BYTES];
    if (is_library(EXACT_LIBRARY)) {
        strcpy(path, EXACT_LIBRARY);
        return true;
    }
    if (launch_find("valgrind", valgrind, error) != LAUNCH_OK || !realpath(valgrind, target))
        return false;
    *strrchr(target, '/') = 0;
    for (size_t i = 0; i < BASE_COUNT(beside); i++) {
        snprintf(candidate, sizeof candidate, "%s/%s", target, beside[i]);
        if (is_library(candidate) && realpath(candidate, valgrind)) {
            strcpy(path, valgrind);
            return true;
        }
    }
    return false;
}

enum launch_outcome launch_exact_find(struct launch_exact_engine *engine, char *error)
{
    static const char *const tools[] = {"src/engine/exact/" EXACT_TOOL,
                                        "../lib/headroom/exact/" EXACT_TOOL};
    static const char *const starts[] = {"src/host/launch/" EXACT_START,
                                         "../lib/headroom/exact/" EXACT_START};
    struct launch_exact_engine found;
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) {
        snprintf(error, LAUNCH_ERROR_BYTES, "cannot find the exact engine: /proc/self/exe: %s.",
                 strerror(errno));
        return LAUNCH_FAILED;
    }
    self[length] = 0;
    *strrchr(self, '/') = 0;
    int reason = find_beside(self, tools, BASE_COUNT(tools), found.tool);
    if (!reason)
        reason = find_beside(self, starts, BASE_COUNT(starts), found.start);
    if (reason && reason != ENOENT) {
        snprintf(error, LAUNCH_ERROR_BYTES, "cannot find the exact engine beside '%s': %s.", self,
                 strerror(reason));
        return LAUNCH_FAILED;
    }
    if (reason) {
        snprintf(error, LAUNCH_ERROR_BYTES, "%s",
                 EXACT_BUILT ? "the exact engine is missing in ../lib/headroom/exact beside this "
                               "headroom; install headroom again, or run 'make' where it was "
                               "built: 'make run' builds only what it needs itself."
                             : "the exact engine was not built with this headroom, because "
                               "Valgrind's headers and libraries were not found; as root: apt "
                               "install valgrind, or name the place of another Valgrind (meson "
                               "configure -Dvalgrind=PREFIX), then build headroom again.");
        return LAUNCH_FAILED;
    }
    if (!find_library(found.library)) {
        snprintf(
            error, LAUNCH_ERROR_BYTES,
            "the exact engine needs Valgrind, which is neither in '%s' nor beside a 'valgrind' "
            "on PATH; as root: apt install valgrind.",
            EXACT_LIBRARY);
        return LAUNCH_FAILED;
    }
    *engine = found;
    return LAUNCH_OK;
}

/* ---- judging ------------------------------------------------------------------------------- */

static const struct {
    enum launch_outcome outcome;
    const char *sentence; /* %s: the file */
} judgements[] = {
    [LAUNCH_FORMAT_NATIVE] = {LAUNCH_OK, NULL},
    [LAUNCH_FORMAT_32BIT] = {LAUNCH_FAILED, "cannot observe '%s': it is a 32-bit program; build it "
                                            "for x86-64."},
    [LAUNCH_FORMAT_FOREIGN] = {LAUNCH_FAILED, "cannot observe '%s': it was built for another "
                                              "machine; build it for x86-64."},
    [LAUNCH_FORMAT_SCRIPT] = {LAUNCH_NOT_EXECUTABLE,
                              "cannot run '%s': too many interpreters of interpreters."},
    [LAUNCH_FORMAT_TEXT] = {LAUNCH_OK, NULL},
    [LAUNCH_FORMAT_NONE] = {LAUNCH_NOT_EXECUTABLE, "cannot run '%s': it is not a program."},
    [LAUNCH_FORMAT_UNREADABLE] = {LAUNCH_FAILED, "cannot observe '%s': it cannot be read, and the "
                                                 "exact engine has to."},
};

static enum launch_outcome judge(enum launch_format format, const char *path, char *error)
{
    if (format != LAUNCH_FORMAT_UNREADABLE && launch_set_id(path)) {
        snprintf(error, LAUNCH_ERROR_BYTES,
                 "cannot observe '%s': it changes its user or capabilities when it starts, which "
                 "Valgrind cannot do; run a copy without these rights.",
                 path);
        return LAUNCH_FAILED;
    }
    if (judgements[format].outcome != LAUNCH_OK)
        snprintf(error, LAUNCH_ERROR_BYTES, judgements[format].sentence, path);
    return judgements[format].outcome;
}

enum launch_outcome launch_exact_examine(const char *path, bool *shell, char *error)
{
    char current[LAUNCH_PATH_BYTES], interpreter[LAUNCH_PATH_BYTES];
    enum launch_format format = LAUNCH_FORMAT_NONE;
    if (snprintf(current, sizeof current, "%s", path) >= (int)sizeof current) {
        snprintf(error, LAUNCH_ERROR_BYTES, "cannot run '%.256s...': the name is too long.", path);
        return LAUNCH_NOT_EXECUTABLE;
    }
    for (int depth = 0; depth <= LAUNCH_SCRIPT_DEPTH; depth++) {
        format = launch_format(current, interpreter);
        if (format != LAUNCH_FORMAT_SCRIPT || launch_set_id(current))
            break;
        if (access(interpreter, X_OK) != 0) {
            snprintf(error, LAUNCH_ERROR_BYTES,
                     "cannot run '%s': its interpreter '%s' cannot be executed: %s.", path,
                     interpreter, strerror(errno));
            return LAUNCH_NOT_EXECUTABLE;
        }
        strcpy(current, interpreter);
    }
    enum launch_outcome outcome = judge(format, current, error);
    if (outcome == LAUNCH_OK)
        *shell = format == LAUNCH_FORMAT_TEXT && strcmp(current, path) == 0;
    return outcome;
}
