// SPDX-License-Identifier: MIT
/*
 * Assembly and sources become files that can be opened like programs: an object file is linked at addresses of its own, with whatever
 * it lacks left at 0, so that symbols, sections and debug information have their final form.
 */
#include "assess/assess.h"

#include "util/util.h"

#include <elf.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { WORDS_MAX = 1024 };

struct words {
    char *words[WORDS_MAX + 1];
    size_t count;
    bool full;
};

static void add(struct words *words, const char *word)
{
    words->full |= words->count == WORDS_MAX;
    if (!words->full)
        words->words[words->count++] = (char *)(uintptr_t)word;
}

/* input: -1: none. False: error. */
static bool run(const struct words *words, int input, int output, char *error)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    if (words->full) {
        snprintf(error, ASSESS_ERROR_BYTES, "the compiler has too many arguments.");
        return false;
    }
    posix_spawn_file_actions_init(&actions);
    if (input >= 0)
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    posix_spawn_file_actions_adddup2(&actions, output >= 0 ? output : STDERR_FILENO, STDOUT_FILENO);
    int failed = posix_spawnp(&child, words->words[0], &actions, NULL, words->words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        snprintf(error, ASSESS_ERROR_BYTES, "cannot run '%s': %s.", words->words[0],
                 strerror(failed));
        return false;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    snprintf(error, ASSESS_ERROR_BYTES, "'%s' failed.", words->words[0]);
    return false;
}

static bool begin(struct assess_made *made, char *error)
{
    const char *root = util_temporary_root();
    if (!util_temporary_directory(root, "headroom-limits", made->directory,
                                  sizeof made->directory - 32)) {
        snprintf(error, ASSESS_ERROR_BYTES, "cannot make a temporary directory in '%s': %s.", root,
                 strerror(errno));
        made->directory[0] = 0;
        return false;
    }
    snprintf(made->path, sizeof made->path, "%.4000s/linked", made->directory);
    return true;
}

static void object_of(const struct assess_made *made, char path[ASSESS_PATH_BYTES])
{
    snprintf(path, ASSESS_PATH_BYTES, "%.4000s/object.o", made->directory);
}

/* All members of an archive, each of them, even where two define the same. */
static bool link_objects(const struct assess_made *made, const char *objects, char *error)
{
    struct words words = {0};
    add(&words, "ld");
    add(&words, "-e");
    add(&words, "0");
    add(&words, "--unresolved-symbols=ignore-all");
    add(&words, "--no-warn-mismatch");
    add(&words, "--allow-multiple-definition");
    add(&words, "--whole-archive");
    add(&words, "-z");
    add(&words, "noexecstack");
    add(&words, "-o");
    add(&words, made->path);
    add(&words, objects);
    return run(&words, -1, -1, error);
}

static bool link_object(const struct assess_made *made, char *error)
{
    char object[ASSESS_PATH_BYTES];
    object_of(made, object);
    return link_objects(made, object, error);
}

bool assess_is_unlinked(const char *path)
{
    static const char archive[] = "!<arch>\n";
    unsigned char head[EI_NIDENT + 2] = {0};
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    return (got >= strlen(archive) && memcmp(head, archive, strlen(archive)) == 0) ||
           (got == sizeof head && memcmp(head, ELFMAG, SELFMAG) == 0 &&
            head[EI_CLASS] == ELFCLASS64 && head[EI_DATA] == ELFDATA2LSB &&
            head[EI_NIDENT] == ET_REL && head[EI_NIDENT + 1] == 0);
}

bool assess_link(const char *path, struct assess_made *made, char *error)
{
    char shown[ASSESS_PATH_BYTES];
    if (!begin(made, error))
        return false;
    snprintf(shown, sizeof shown, "%s%.4000s", *path == '-' ? "./" : "", path);
    return link_objects(made, shown, error);
}

static bool ends(const char *text, const char *with)
{
    size_t bytes = strlen(text), end = strlen(with);
    return bytes >= end && strcmp(text + bytes - end, with) == 0;
}

/* Lines of the assembly file itself, where it has none of the source that it was made of. */
bool assess_assemble(const char *source, struct assess_made *made, char *error)
{
    char object[ASSESS_PATH_BYTES];
    struct words words = {0};
    if (!begin(made, error))
        return false;
    object_of(made, object);
    add(&words, "cc");
    add(&words, "-c");
    add(&words, "-x");
    add(&words, ends(source, ".S") ? "assembler-with-cpp" : "assembler");
    add(&words, "-g");
    add(&words, "-o");
    add(&words, object);
    add(&words, source);
    return run(&words, -1, -1, error) && link_object(made, error);
}

/* What would make more than one object file of more than this source, or put it elsewhere. */
static bool is_passed_over(const char *word, const char *source)
{
    return strcmp(word, "-c") == 0 || strcmp(word, "-S") == 0 || strcmp(word, "-E") == 0 ||
           strcmp(word, source) == 0;
}

bool assess_compile(const char *source, char *const *compiler, const char *level,
                    struct assess_made *made, char *error)
{
    char object[ASSESS_PATH_BYTES], option[64];
    struct words words = {0};
    if (!begin(made, error))
        return false;
    object_of(made, object);
    for (size_t i = 0; compiler[i]; i++) {
        if (strcmp(compiler[i], "-o") == 0 && compiler[i + 1])
            i++;
        else if (i == 0 || !is_passed_over(compiler[i], source))
            add(&words, compiler[i]);
    }
    snprintf(option, sizeof option, "-%.60s", level ? level : "g");
    add(&words, "-g");
    add(&words, "-c");
    add(&words, "-fno-lto");
    if (level)
        add(&words, option);
    add(&words, "-o");
    add(&words, object);
    add(&words, source);
    return run(&words, -1, -1, error) && link_object(made, error);
}

void assess_drop(struct assess_made *made)
{
    char object[ASSESS_PATH_BYTES];
    if (!made->directory[0])
        return;
    object_of(made, object);
    unlink(object);
    unlink(made->path);
    rmdir(made->directory);
    made->directory[0] = 0;
}

/* ---- pictures -------------------------------------------------------------------------------------------- */

bool assess_svg(const struct util_text *dot, FILE *out, char *error)
{
    struct words words = {0};
    FILE *input = tmpfile();
    add(&words, "dot");
    add(&words, "-Tsvg");
    bool good = input && fwrite(dot->bytes, 1, dot->count, input) == dot->count &&
                fflush(input) == 0 && fflush(out) == 0;
    if (good) {
        rewind(input);
        good = run(&words, fileno(input), fileno(out), error);
        if (!good)
            snprintf(error, ASSESS_ERROR_BYTES,
                     "cannot draw the graph: Graphviz' 'dot' is not installed, or failed; a name "
                     "that ends in .dot writes what it draws.");
    } else {
        snprintf(error, ASSESS_ERROR_BYTES, "cannot draw the graph: %s.", strerror(errno));
    }
    if (input)
        fclose(input);
    return good;
}
