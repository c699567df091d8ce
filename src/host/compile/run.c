// SPDX-License-Identifier: MIT
/* Processes and files. */
#include "compile/internal.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- processes ------------------------------------------------------------------------------- */

int compile_exec(char *const *command, char *error)
{
    execvp(command[0], command);
    snprintf(error, COMPILE_ERROR_BYTES, "cannot run '%.4096s': %s", command[0], strerror(errno));
    return errno == ENOENT ? COMPILE_NOT_FOUND : COMPILE_NOT_EXECUTABLE;
}

static int wait_for(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return COMPILE_REFUSED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

volatile sig_atomic_t compile_child;

int compile_spawn(char *const *command, int output, int errors)
{
    pid_t child = fork();
    if (child < 0)
        return COMPILE_REFUSED;
    if (child > 0) {
        compile_child = child;
        int code = wait_for(child);
        compile_child = 0;
        return code;
    }
    if (output >= 0)
        dup2(output, STDOUT_FILENO);
    if (errors >= 0)
        dup2(errors, STDERR_FILENO);
    execvp(command[0], command);
    _exit(errno == ENOENT ? COMPILE_NOT_FOUND : COMPILE_NOT_EXECUTABLE);
}

/* ---- files ----------------------------------------------------------------------------------- */

char *compile_read(int file, size_t *bytes)
{
    enum { READ_BYTES = 1 << 16 };
    struct util_text text = {0};
    ssize_t count = 1;
    while (count != 0 && util_text_reserve(&text, READ_BYTES)) {
        count = read(file, text.bytes + text.count, READ_BYTES);
        text.count += count > 0 ? (size_t)count : 0;
        text.bytes[text.count] = 0;
        text.failed = count < 0 && errno != EINTR;
    }
    if (text.failed)
        util_text_free(&text);
    *bytes = text.count;
    return text.bytes;
}

/* Children see it by its number; so it must survive exec. */
int compile_memory_file(const char *name)
{
    return memfd_create(name, 0);
}

void compile_fd_path(char path[COMPILE_FD_PATH], int file)
{
    snprintf(path, COMPILE_FD_PATH, "/proc/self/fd/%d", file);
}

bool compile_runtime(char *path, size_t bytes, char *error)
{
    static const char *const places[] = {"src/target/runtime/libheadroom_runtime.a",
                                         "libheadroom_runtime.a",
                                         "../lib/headroom/libheadroom_runtime.a"};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length < 0 ? 0 : length] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < BASE_COUNT(places); i++) {
        snprintf(path, bytes, "%s/%s", self, places[i]);
        if (access(path, R_OK) == 0)
            return true;
    }
    snprintf(
        error, COMPILE_ERROR_BYTES,
        "cannot find libheadroom_runtime.a beside '%s' or in ../lib/headroom; reinstall headroom",
        self);
    return false;
}
