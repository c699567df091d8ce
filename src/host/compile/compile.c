// SPDX-License-Identifier: MIT
/* Which compiler it is, and the start of it. */
#include "compile/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which compiler -------------------------------------------------------------------------- */

static bool find_program(const char *name, char path[PATH_MAX])
{
    const char *search = getenv("PATH");
    if (strchr(name, '/') || !search)
        return realpath(name, path) != NULL;
    for (;; search++) {
        char candidate[PATH_MAX];
        size_t length = strcspn(search, ":");
        int printed = snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)length, search,
                               length ? "/" : "", name);
        if (printed > 0 && (size_t)printed < sizeof candidate && access(candidate, X_OK) == 0)
            return realpath(candidate, path) != NULL;
        search += length;
        if (!*search)
            return false;
    }
}

/* By its name, and by the names it is a link to: cc, c++, f95 say nothing themselves. */
static enum compile_family recognise(const char *name)
{
    char path[PATH_MAX];
    enum compile_family family = compile_family(name);
    if (family == COMPILE_UNKNOWN && find_program(name, path))
        family = compile_family(path);
    return family;
}

/* ---- gcc ------------------------------------------------------------------------------------- */

/* gcc divides what -wrapper is given at commas, and there is no quoting. */
static bool wrapper_option(char *text, size_t bytes, int file, char *error)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length < 0 ? 0 : length] = 0;
    if (length < 0 || strchr(self, ',')) {
        snprintf(
            error, COMPILE_ERROR_BYTES,
            "gcc cannot be given the path '%s' because of its comma; install headroom elsewhere",
            self);
        return false;
    }
    snprintf(text, bytes, "%s,%s,%d", self, COMPILE_STEP, file);
    return true;
}

/* -pipe would have gcc run the assembler without us. Response files stay as they are if they hold
 * none. */
static void without_pipe(struct words *words, char *const *expanded, char *const *arguments)
{
    if (words_find(expanded, "-pipe") < 0) {
        words_add_all(words, arguments);
        return;
    }
    for (; *expanded; expanded++)
        if (strcmp(*expanded, "-pipe") != 0)
            words_add(words, *expanded);
}

static int run_gcc(struct compile_work *work, char *const *command, char *const *expanded)
{
    char option[PATH_MAX + 64];
    struct words words = {0};
    if (!wrapper_option(option, sizeof option, work->file, work->error))
        return COMPILE_REFUSED;
    words_add(&words, command[0]);
    words_add(&words, "-wrapper");
    words_add(&words, option);
    without_pipe(&words, expanded + 1, command + 1);
    if (words.failed)
        return COMPILE_REFUSED;
    /* A cache behind gcc's name would know nothing of us. */
    setenv("CCACHE_DISABLE", "1", 1);
    return compile_exec(words.at, work->error);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int run_compiler(const struct compile_request *request, enum compile_family family,
                        char *const *command, char *error)
{
    struct compile_work work = {.error = error};
    struct compile_scan scan;
    struct words expanded = {0}, texts = {0};
    words_expand(&expanded, command, &texts);
    if (expanded.failed)
        return COMPILE_REFUSED;
    compile_scan(expanded.at + 1, &scan);
    if (scan.untouched)
        return compile_exec(command, error);
    if (scan.wrapped) {
        snprintf(error, COMPILE_ERROR_BYTES,
                 "headroom itself uses gcc's option -wrapper: build without it");
        return COMPILE_REFUSED;
    }
    enum base_status status = compile_state_create(request, scan.shared, &work);
    if (status != BASE_OK) {
        snprintf(error, COMPILE_ERROR_BYTES, "cannot begin: %s",
                 status == BASE_IO ? strerror(errno) : base_status_text(status));
        return COMPILE_REFUSED;
    }
    return family == COMPILE_CLANG ? compile_clang(&work, command)
                                   : run_gcc(&work, command, expanded.at);
}

int compile_run(const struct compile_request *request, char *error)
{
    char *const *command = request->command;
    struct words words = {0};
    *error = 0;
    if (command[0][0] == '-') {
        words_add(&words, request->fallback);
        words_add_all(&words, command);
        if (words.failed)
            return COMPILE_REFUSED;
        command = words.at;
    }
    enum compile_family family = recognise(command[0]);
    while (family == COMPILE_PREFIX && command[1])
        family = recognise(*++command);
    if (family == COMPILE_GNU || family == COMPILE_CLANG)
        return run_compiler(request, family, command, error);
    char path[PATH_MAX];
    if (family == COMPILE_UNKNOWN && !find_program(command[0], path)) {
        snprintf(error, COMPILE_ERROR_BYTES, "cannot run '%.4096s': %s", command[0],
                 strerror(errno));
        return errno == ENOENT ? COMPILE_NOT_FOUND : COMPILE_NOT_EXECUTABLE;
    }
    snprintf(error, COMPILE_ERROR_BYTES,
             "cannot identify the compiler '%.4096s': name gcc, g++, gfortran, clang or clang++, "
             "or build without headroom",
             command[0]);
    return COMPILE_REFUSED;
}
