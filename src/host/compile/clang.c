// SPDX-License-Identifier: MIT
/*
 * clang: its driver prints the steps it would do (-###), and we do them, each compilation in two:
 * to assembly, then with clang's own assembler. (-fno-integrated-as with an assembler of ours in
 * front would let the driver do it all, but gives other assembly: inline assembly unchecked, other
 * directives, other padding.)
 */
#include "compile/internal.h"

#include "util/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what -### prints ------------------------------------------------------------------------ */

static struct words *jobs_add(struct compile_jobs *jobs)
{
    if (!UTIL_PUSH(jobs->at, jobs->count, jobs->capacity, (struct words){0})) {
        jobs->failed = true;
        return NULL;
    }
    return &jobs->at[jobs->count - 1];
}

/* The end of a line in which quoted words may hold line ends; *quoted: it is a step. */
static char *line_end(char *line, bool step)
{
    bool inside = false;
    for (; *line && (inside || *line != '\n'); line++) {
        if (step && *line == '\\' && line[1])
            line++;
        else if (step && *line == '"')
            inside = !inside;
    }
    return line;
}

void compile_jobs_parse(struct compile_jobs *jobs, char *text, struct words *others)
{
    while (*text) {
        bool step = text[0] == ' ' && text[1] == '"';
        char *end = line_end(text, step), *next = *end ? end + 1 : end;
        *end = 0;
        struct words *job = step ? jobs_add(jobs) : NULL;
        if (job)
            words_split(job, text);
        else if (!step)
            words_add(others, text);
        jobs->failed |= others->failed || (job && job->failed);
        text = next;
    }
}

/* ---- one compilation in two ------------------------------------------------------------------ */

/* What -cc1 and -cc1as have in common. */
static const char *const shared_valued[] = {
    "-triple",         "-target-cpu",        "-target-feature", "-target-abi",
    "-main-file-name", "-mrelocation-model", "-mllvm",          "-I"};
static const char *const shared_starts[] = {"-mrelax-all",
                                            "--mrelax-relocations",
                                            "-mrelax-relocations=",
                                            "-mnoexecstack",
                                            "--compress-debug-sections",
                                            "-fdebug-compilation-dir=",
                                            "-dwarf-version=",
                                            "-gdwarf64",
                                            "-mincremental-linker-compatible"};

static bool starts_with_any(const char *word, const char *const *list, size_t count, bool whole)
{
    for (size_t i = 0; i < count; i++)
        if (whole ? strcmp(word, list[i]) == 0 : strncmp(word, list[i], strlen(list[i])) == 0)
            return true;
    return false;
}

static void assembler_of(struct words *job, char *const *step, const char *object,
                         const char *assembly)
{
    words_add(job, step[0]);
    words_add(job, "-cc1as");
    words_add(job, "-filetype");
    words_add(job, "obj");
    /* Inline assembly has been assembled before, with its warnings; clang's assembler finds fault
       with directives of clang's (MD5 sums for some files only). */
    words_add(job, "-massembler-no-warn");
    for (size_t i = 2; step[i]; i++) {
        if (starts_with_any(step[i], shared_valued, BASE_COUNT(shared_valued), true) &&
            step[i + 1]) {
            words_add(job, step[i]);
            words_add(job, step[++i]);
        } else if (starts_with_any(step[i], shared_starts, BASE_COUNT(shared_starts), false)) {
            words_add(job, step[i]);
        }
    }
    words_add(job, "-o");
    words_add(job, object);
    words_add(job, assembly);
}

static void compiler_of(struct words *job, char *const *step, const char *assembly)
{
    for (size_t i = 0; step[i]; i++) {
        bool output = i > 0 && strcmp(step[i - 1], "-o") == 0;
        words_add(job, output ? assembly : strcmp(step[i], "-emit-obj") == 0 ? "-S" : step[i]);
    }
}

/* ---- the folder for temporary files ---------------------------------------------------------- */

static volatile sig_atomic_t signalled;

static void on_signal(int signal)
{
    signalled = signal;
    if (compile_child > 0)
        kill(compile_child, signal);
}

/* We must not die before the folder is gone; the step gets the signal, from us if not from the
 * terminal. */
static void watch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < BASE_COUNT(signals); i++) {
        struct sigaction action = {.sa_handler = on_signal}, old;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

static void remove_folder(const char *folder)
{
    DIR *files = opendir(folder);
    struct dirent *file;
    while (files && (file = readdir(files)))
        unlinkat(dirfd(files), file->d_name, 0);
    if (files)
        closedir(files);
    rmdir(folder);
}

/* ---- the driver ------------------------------------------------------------------------------ */

/* Diagnostics are coloured if the driver sees a terminal, and it sees a file of ours. */
static bool colored(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

/* Steps with names of temporary files in our folder; NULL: the driver had better be run itself. */
static char *ask_driver(char *const *command, const char *folder)
{
    struct words words = {0};
    size_t bytes;
    char *text = NULL, *old = getenv("TMPDIR");
    old = old ? strdup(old) : NULL;
    words_add(&words, command[0]);
    words_add(&words, "-###");
    if (colored())
        words_add(&words, "-fcolor-diagnostics");
    words_add_all(&words, command + 1);
    int file = compile_memory_file("headroom-driver");
    setenv("TMPDIR", folder, 1);
    if (!words.failed && file >= 0 && compile_spawn(words.at, -1, file) == 0 &&
        lseek(file, 0, SEEK_SET) == 0)
        text = compile_read(file, &bytes);
    if (old)
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
    free(old);
    free(words.at);
    if (file >= 0)
        close(file);
    return text;
}

static bool folder_writable(const char *file)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(file, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - file) + 1 : 1,
             slash ? file : ".");
    return access(folder, W_OK) == 0;
}

/* Where not, clang itself shall say so. */
static bool writable(const char *object)
{
    struct stat status;
    if (stat(object, &status) == 0)
        return !S_ISDIR(status.st_mode) && access(object, W_OK) == 0;
    return folder_writable(object);
}

static void split_jobs(struct compile_jobs *all, const struct compile_jobs *jobs,
                       const char *folder)
{
    for (size_t i = 0; i < jobs->count; i++) {
        char *const *step = jobs->at[i].at;
        const char *object = step ? words_value(step, "-o") : NULL;
        struct words *first = jobs_add(all);
        if (!step || !first || compile_kind(step) != STEP_COMPILE || !object ||
            words_find(step, "-emit-obj") < 0 || !writable(object)) {
            if (step && first)
                words_add_all(first, step);
            continue;
        }
        char *assembly;
        struct words *second;
        if (asprintf(&assembly, "%s/%zu.s", folder, i) < 0 || !(second = jobs_add(all))) {
            all->failed = true;
            return;
        }
        compiler_of(second - 1, step, assembly);
        assembler_of(second, step, object, assembly);
    }
}

static bool interesting(const struct compile_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        enum compile_kind kind = jobs->at[i].at ? compile_kind(jobs->at[i].at) : STEP_OTHER;
        if (kind == STEP_LINK || kind == STEP_ASSEMBLE ||
            (kind == STEP_COMPILE && (words_find(jobs->at[i].at, "-emit-obj") >= 0 ||
                                      words_find(jobs->at[i].at, "-emit-llvm-bc") >= 0)))
            return true;
    }
    return false;
}

/* ---- running --------------------------------------------------------------------------------- */

/* An object appears whole or not at all, as clang itself does it. */
static const char *aside(struct words *ready, char path[PATH_MAX])
{
    struct stat status;
    long at = words_find(ready->at, "-o");
    const char *object = at < 0 ? NULL : ready->at[at + 1];
    if (!object || !folder_writable(object) ||
        (lstat(object, &status) == 0 && !S_ISREG(status.st_mode)) ||
        snprintf(path, PATH_MAX, "%s.%d.tmp", object, (int)getpid()) >= PATH_MAX)
        return NULL;
    ready->at[at + 1] = path;
    return object;
}

static int run_step(struct compile_work *work, char *const *step)
{
    struct words ready;
    char path[PATH_MAX];
    int code = compile_prepare(work, step, &ready);
    if (code) {
        free(ready.at);
        return code;
    }
    const char *object = strcmp(step[1], "-cc1as") == 0 ? aside(&ready, path) : NULL;
    code = compile_spawn(ready.at, -1, -1);
    if (work->text)
        close(work->text);
    if (object && (code != 0 || signalled || rename(path, object) != 0))
        unlink(path);
    free(ready.at);
    return code;
}

static bool uses(char *const *step, const struct words *failed)
{
    for (size_t i = 0; i < failed->count; i++)
        if (words_find(step, failed->at[i]) >= 0)
            return true;
    return false;
}

static void remove_regular(const char *path)
{
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISREG(status.st_mode))
        unlink(path);
}

/* The driver's words about programs that are not clang. */
static void tell_failure(const char *driver, char *const *step, int status)
{
    enum compile_kind kind = compile_kind(step);
    if (strncmp(step[1], "-cc1", 4) != 0 && (kind == STEP_LINK || kind == STEP_ASSEMBLE))
        dprintf(STDERR_FILENO,
                "%s: error: %s command failed with exit code %d (use -v to see invocation)\n",
                driver, kind == STEP_LINK ? "linker" : "assembler", status);
}

/* As the driver: what needs the output of a step that failed is left out, the rest is done. */
static int run_jobs(struct compile_work *work, const struct compile_jobs *jobs, const char *driver)
{
    struct words failed = {0};
    int code = 0;
    for (size_t i = 0; i < jobs->count && !signalled && !*work->error; i++) {
        char *const *step = jobs->at[i].at;
        bool needless = uses(step, &failed);
        int status = needless ? 1 : run_step(work, step);
        const char *output = words_value(step, "-o");
        if (status && output) {
            remove_regular(output);
            words_add(&failed, output);
        }
        if (status && !needless)
            tell_failure(driver, step, status);
        code = code ? code : status;
    }
    free(failed.at);
    return code;
}

static bool wanted(const char *line, bool all)
{
    return all || strstr(line, "warning:") || strstr(line, "note:");
}

/* What the driver said besides its steps. */
static void pass_on(const struct words *lines, bool all)
{
    for (size_t i = 0; i < lines->count; i++)
        if (wanted(lines->at[i], all))
            dprintf(STDERR_FILENO, "%s\n", lines->at[i]);
}

/* With some errors -### ends as if there were none. */
static bool failed(const struct words *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        if (strstr(lines->at[i], "error: "))
            return true;
    return false;
}

static int run_driver(struct compile_work *work, char *const *command, const char *folder,
                      bool *itself)
{
    struct compile_jobs jobs = {0}, all = {0};
    struct words others = {0};
    int code = 0;
    char *text = ask_driver(command, folder);
    if (text)
        compile_jobs_parse(&jobs, text, &others);
    *itself = !signalled && (!text || failed(&others) || !interesting(&jobs));
    if (text && !*itself) {
        split_jobs(&all, &jobs, folder);
        pass_on(&others, words_find(command, "-v") >= 0);
        code = jobs.failed || all.failed ? COMPILE_REFUSED
                                         : run_jobs(work, &all, base_name(command[0]));
    }
    free(text);
    return code;
}

int compile_clang(struct compile_work *work, char *const *command)
{
    char folder[PATH_MAX];
    bool itself;
    if (!util_temporary_directory(util_temporary_root(), "headroom", folder, sizeof folder)) {
        snprintf(work->error, COMPILE_ERROR_BYTES, "cannot make a folder for temporary files: %s",
                 strerror(errno));
        return COMPILE_REFUSED;
    }
    watch_signals();
    int code = run_driver(work, command, folder, &itself);
    remove_folder(folder);
    if (signalled) {
        signal(signalled, SIG_DFL);
        raise(signalled);
    }
    return itself ? compile_exec(command, work->error) : code;
}
