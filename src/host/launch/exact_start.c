// SPDX-License-Identifier: MIT
/*
 * headroom-exact-start: stands where Valgrind expects its own launcher. Valgrind runs it in
 * place of every program that a followed process executes, as
 *
 *     headroom-exact-start VALGRIND-OPTIONS... PROGRAM ARGUMENTS...
 *
 * It becomes the Valgrind tool again or, where that would fail, simply PROGRAM: when the
 * recording is over (a child has outlived it), when the log cannot be opened any more (another
 * user now), and for programs that are not x86-64. Valgrind's launcher ends the program in all
 * these cases. Also, it needs a folder with links to all of Valgrind's files, which a killed
 * headroom would leave behind and an ended one take away from processes that live on.
 *
 * PROGRAM's argv[0] is its path: Valgrind does not pass on what it was. Runs between two
 * programs of somebody else: libc only, no output.
 */
#include "launch/exact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static const char *const tool_places[] = {EXACT_TOOL, "../../engine/exact/" EXACT_TOOL};

/* Beside this file: the same places as launch_exact_find's. */
static bool find_tool(const char *self, char path[LAUNCH_PATH_BYTES])
{
    int folder = (int)(strrchr(self, '/') - self);
    for (size_t i = 0; i < BASE_COUNT(tool_places); i++) {
        int printed = snprintf(path, LAUNCH_PATH_BYTES, "%.*s/%s", folder, self, tool_places[i]);
        if (printed < LAUNCH_PATH_BYTES && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

static const char *value_of(const char *word, const char *option)
{
    size_t length = strlen(option);
    return strncmp(word, option, length) == 0 ? word + length : NULL;
}

/* And is the log itself: programs replace files, and processes' numbers come round again. */
static bool can_append(const char *path, const char *inode)
{
    struct stat status;
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK) : -1;
    bool good = file >= 0 && fstat(file, &status) == 0 &&
                (!inode || strtoull(inode, NULL, 10) == status.st_ino);
    if (file >= 0)
        close(file);
    return good;
}

/* headroom's pipe, or -1: without O_NONBLOCK one that nobody reads any more would block. */
static int open_messages(const char *path)
{
    struct stat status;
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0 && (fstat(file, &status) != 0 || !S_ISFIFO(status.st_mode))) {
        close(file);
        return -1;
    }
    return file;
}

/* Can Valgrind run it? Scripts are judged by their interpreter. */
static bool is_native(const char *program)
{
    char path[LAUNCH_PATH_BYTES], interpreter[LAUNCH_PATH_BYTES];
    if (snprintf(path, sizeof path, "%s", program) >= (int)sizeof path)
        return false;
    for (int depth = 0; depth <= LAUNCH_SCRIPT_DEPTH; depth++) {
        enum launch_format format = launch_format(path, interpreter);
        if (format != LAUNCH_FORMAT_SCRIPT)
            return format == LAUNCH_FORMAT_NATIVE || format == LAUNCH_FORMAT_TEXT;
        strcpy(path, interpreter);
    }
    return false;
}

static bool same_file(const char *one, const char *other)
{
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

struct options {
    int count;
    bool recording; /* the log can be written */
    int messages;   /* descriptor, or -1      */
};

/* Reads Valgrind's options; makes Valgrind silent if nobody listens any more. */
static struct options take_options(int argc, char **argv)
{
    struct options options = {.messages = -1};
    const char *log = NULL, *name = NULL, *inode = NULL;
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        const char *value;
        if ((value = value_of(argv[at], EXACT_OPTION_LOG)))
            log = value;
        if ((value = value_of(argv[at], EXACT_OPTION_LOG_NAME)))
            name = value;
        if ((value = value_of(argv[at], EXACT_OPTION_LOG_INODE)))
            inode = value;
        if ((value = value_of(argv[at], EXACT_OPTION_MESSAGES))) {
            options.messages = open_messages(value);
            if (options.messages < 0)
                argv[at] = (char *)EXACT_OPTION_MESSAGES "/dev/null";
        }
    }
    options.recording = can_append(log, inode) || can_append(name, inode);
    options.count = at;
    return options;
}

static void report(int messages, const char *what, const char *program)
{
    char line[LAUNCH_PATH_BYTES];
    int printed = snprintf(line, sizeof line, "headroom: %s: %.1024s\n", what, program);
    ssize_t ignored = messages < 0 ? 0 : write(messages, line, (size_t)printed);
    (void)ignored;
}

/* The tool's words, with the one that it is for a program that another one has executed. */
static char **words_of_child(int argc, char **argv, int options)
{
    for (int i = 1; i < options; i++)
        if (strcmp(argv[i], EXACT_OPTION_CHILD) == 0)
            return argv;
    char **words = malloc(((size_t)argc + 2) * sizeof *words);
    if (!words)
        return argv;
    words[0] = argv[0];
    words[1] = (char *)EXACT_OPTION_CHILD;
    memcpy(words + 2, argv + 1, (size_t)argc * sizeof *words); /* the NULL at the end, too */
    return words;
}

int main(int argc, char **argv)
{
    const char *self = (const char *)getauxval(AT_EXECFN);
    char tool[LAUNCH_PATH_BYTES];
    struct options options = take_options(argc, argv);
    char **program = argv + options.count;
    if (!*program)
        return 0;
    const char *library = getenv("VALGRIND_LIB");
    bool usual_library = !library || strcmp(library, EXACT_LIBRARY) == 0;
    bool found = self && strchr(self, '/') && find_tool(self, tool);
    if (found && same_file(program[0], tool)) {
        /* A recording inside a recording: Valgrind cannot run itself, but runs alone. */
        setenv("VALGRIND_LAUNCHER", self, 1);
        found = false;
    } else if (found && options.recording && is_native(program[0])) {
        setenv("VALGRIND_LAUNCHER", self, 1);
        if (usual_library)
            unsetenv("VALGRIND_LIB");
        execve(tool, words_of_child(argc, argv, options.count), environ);
        unsetenv("VALGRIND_LAUNCHER");
    }
    if (options.recording)
        report(options.messages, EXACT_UNOBSERVED, program[0]);
    unsetenv("VALGRIND_LIB");
    execve(program[0], program, environ);
    return errno == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE;
}
