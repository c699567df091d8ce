// SPDX-License-Identifier: MIT
/*
 * The command line and the environment of the Valgrind tool. The tool is executed itself: Debian's
 * `valgrind` is a shell script that changes LD_LIBRARY_PATH and GLIBCXX_FORCE_NEW for the program,
 * and Valgrind's own launcher does nothing that is not known here.
 */
#include "launch/exact.h"

#include "util/util.h"

#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sys/resource.h>

/*
 * Valgrind's tables for threads are of a fixed size, 500 by default, and it dies when they are
 * full: as many as the live engine. Its stack for the main thread is 16 MiB at most by
 * default.
 */
enum { THREADS_MAX = WIRE_THREADS };
#define STACK_BY_DEFAULT (UINT64_C(16) << 20)
#define STACK_MAX        (UINT64_C(1) << 30)

struct words {
    char **list;
    size_t count, capacity;
    bool failed; /* no memory */
};

/* Takes the word; NULL: there was no memory for it. */
static void add(struct words *words, char *word)
{
    if (!word ||
        !UTIL_GROW(words->list, words->capacity, words->count + 1)) { /* and NULL behind it */
        words->failed = true;
        free(word);
        return;
    }
    words->list[words->count++] = word;
    words->list[words->count] = NULL;
}

static void add_format(struct words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_format(struct words *words, const char *format, ...)
{
    char *word = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&word, format, arguments) < 0)
        word = NULL;
    va_end(arguments);
    add(words, word);
}

/* ---- programs that are not followed ---------------------------------------------------------- */

/* Valgrind's patterns: no way to quote these. */
static bool is_plain(const char *path)
{
    return !strpbrk(path, ",*?");
}

static void skip_set_id(FILE *out, const char *folder, size_t length)
{
    char path[LAUNCH_PATH_BYTES];
    if (length >= sizeof path)
        return;
    memcpy(path, folder, length);
    path[length] = 0;
    DIR *entries = opendir(path);
    const struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        int printed = snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, entry->d_name);
        if (entry->d_type != DT_DIR && printed < (int)sizeof path && is_plain(path) &&
            launch_set_id(path))
            fprintf(out, ",%s", path);
    }
    if (entries)
        closedir(entries);
}

/*
 * Valgrind makes execve of programs that gain rights fail (sudo, mount, ping in a script). These
 * run unobserved instead, as far as they are found on PATH or where the system has its programs.
 * Valgrind itself and headroom cannot run under Valgrind and are left alone, too.
 */
static void add_skipped(struct words *words)
{
    const char *const lists[] = {getenv("PATH"), "/bin:/sbin:/usr/bin:/usr/sbin"};
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        words->failed = true;
        return;
    }
    fputs("--trace-children-skip=*/valgrind,*/valgrind.bin,*/headroom", out);
    for (size_t i = 0; i < BASE_COUNT(lists); i++)
        for (const char *at = lists[i]; at && *at; at += strspn(at, ":")) {
            size_t length = strcspn(at, ":");
            skip_set_id(out, at, length);
            at += length;
        }
    if (fclose(out) != 0) {
        free(text);
        text = NULL;
    }
    add(words, text);
}

/* ---- the tool's options ---------------------------------------------------------------------- */

/* The program gets the stack that it would get alone, as far as Valgrind can give it. */
static void add_stack(struct words *words)
{
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur <= STACK_BY_DEFAULT)
        return;
    add_format(words, "--main-stacksize=%llu",
               (unsigned long long)(stack.rlim_cur < STACK_MAX ? stack.rlim_cur : STACK_MAX));
}

static void add_valgrind(struct words *words, bool follow, const char *messages_path)
{
    static const char *const fixed[] = {
        "--tool=headroom",
        "--command-line-only=yes", /* not what users keep in ~/.valgrindrc for other tools */
        "--quiet",
        "--vgdb=no",             /* no FIFOs in /tmp                                     */
        "--run-libc-freeres=no", /* no accesses that the program would not make          */
        "--run-cxx-freeres=no",
        "--sigill-diagnostics=yes", /* else --quiet hides why the program dies              */
        "--fair-sched=try",         /* else one thread may run alone for seconds            */
    };
    for (size_t i = 0; i < BASE_COUNT(fixed); i++)
        add_format(words, "%s", fixed[i]);
    add_format(words, "--trace-children=%s", follow ? "yes" : "no");
    add_format(words, "--follow=%s", follow ? "yes" : "no");
    if (follow)
        add_skipped(words);
    add_format(words, "--max-threads=%d", (int)THREADS_MAX);
    add_stack(words);
    add_format(words, EXACT_OPTION_MESSAGES "%s", messages_path);
}

/* By which the log is found when headroom is there no more. */
static void add_log_name(struct words *words, int log)
{
    char link[64], name[LAUNCH_PATH_BYTES];
    struct stat status;
    snprintf(link, sizeof link, "/proc/self/fd/%d", log);
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (length <= 0 || fstat(log, &status) != 0)
        return;
    name[length] = 0;
    add_format(words, EXACT_OPTION_LOG_NAME "%s", name);
    add_format(words, EXACT_OPTION_LOG_INODE "%llu", (unsigned long long)status.st_ino);
}

static void add_own(struct words *words, const struct launch_exact_request *request,
                    const char *log_path)
{
    static const char *const units[] = {"none", "byte", "word", "line"};
    const struct wire_config *config = &request->program.config;
    add_format(words, EXACT_OPTION_LOG "%s", log_path);
    add_log_name(words, request->program.log);
    add_format(words, "--kinds=%u", (unsigned)config->kinds);
    add_format(words, "--fp-tolerance=%.9f", (double)config->fp_tolerance);
    if (config->kinds && request->share > 0 && request->share < 1) {
        double share = ceil(request->share * 0x1p32);
        add_format(words, "--waste-share=%llu", (unsigned long long)share);
        add_format(words, "--waste-seed=%llu", (unsigned long long)(request->seed & INT64_MAX));
    }
    if (config->kinds && request->jobs > 1)
        add_format(words, "--jobs=%llu", (unsigned long long)request->jobs);
    add_format(words, "--reuse=%s", units[request->reuse]);
    if (request->reuse) {
        double share = request->share * 0x1p32;
        add_format(words, "--stack=%s", request->stack ? "yes" : "no");
        add_format(words, "--share=%llu", share < 1 ? 1 : (unsigned long long)share);
        for (size_t i = 0; i < request->caches_count; i++)
            add_format(words, "--what-if-cache=%llu,%u",
                       (unsigned long long)request->caches[i].bytes,
                       (unsigned)request->caches[i].ways);
    }
    if (request->sharing)
        add_format(words, "--sharing=yes");
    if (request->trace) {
        add_format(words, "--trace=%s", request->trace);
        add_format(words, "--trace-values=%s", request->trace_values ? "yes" : "no");
    }
}

static void add_paths(struct words *words, const struct launch_exact_request *request,
                      const char *graphs_path)
{
    add_format(words, "--graphs=%s", graphs_path);
    add_format(words, "--contexts=%s", request->contexts ? "yes" : "no");
    add_format(words, "--call-sites=%s", request->call_sites ? "yes" : "no");
    if (request->caches_count)
        add_format(words, "--what-if-cache=%llu,%u", (unsigned long long)request->caches[0].bytes,
                   (unsigned)request->caches[0].ways);
    for (size_t i = 0; i < request->loops_count; i++)
        add_format(words, "--loop=%llx,%s", (unsigned long long)request->loops[i].head,
                   request->loops[i].path);
    for (size_t i = 0; i < request->levels_count; i++)
        add_format(words, "--level=%llu,%u", (unsigned long long)request->levels[i].bytes,
                   (unsigned)request->levels[i].ways);
}

/*
 * By the name that was typed, so that argv[0] is the program's own; Valgrind looks it up on PATH
 * as launch_find did. Without PATH it would find nothing, and a name like an option is taken for
 * one.
 */
static void add_program(struct words *words, const struct launch_request *program)
{
    char *const *rest = program->command + 1;
    bool by_path = !getenv("PATH") || program->command[0][0] == '-';
    if (program->shell)
        add_format(words, "/bin/sh");
    add_format(words, "%s", program->shell || by_path ? program->path : program->command[0]);
    for (; *rest; rest++)
        add_format(words, "%s", *rest);
}

char **exact_command(const struct launch_exact_request *request, const char *log_path,
                     const char *messages_path, const char *graphs_path)
{
    struct words words = {0};
    add_format(&words, "%s", request->engine->tool);
    add_valgrind(&words, request->program.config.follow, messages_path);
    add_own(&words, request, log_path);
    if (request->paths)
        add_paths(&words, request, graphs_path);
    add_program(&words, &request->program);
    if (words.failed) {
        exact_command_free(words.list);
        return NULL;
    }
    return words.list;
}

void exact_command_free(char **command)
{
    for (char **word = command; word && *word; word++)
        free(*word);
    free(command);
}

/* ---- environment ----------------------------------------------------------------------------- */

static bool is_variable(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/*
 * VALGRIND_LAUNCHER is taken out again by Valgrind before the program sees it. VALGRIND_LIB is not,
 * so it is set only where it is needed. DEBUGINFOD_URLS must be empty: Valgrind fetches debug
 * information for every file the program maps, and the option against that came after 3.19.
 */
char **exact_environment(char *const *environment, const struct launch_exact_engine *engine)
{
    static const char launcher[] = "VALGRIND_LAUNCHER", library[] = "VALGRIND_LIB";
    static const char servers[] = "DEBUGINFOD_URLS";
    size_t count = 0, filled = 0;
    while (environment[count])
        count++;
    size_t list_bytes = (count + 3) * sizeof(char *);
    size_t launcher_bytes = sizeof launcher + 1 + strlen(engine->start);
    size_t library_bytes = sizeof library + 1 + strlen(engine->library);
    char **list = malloc(list_bytes + launcher_bytes + library_bytes);
    if (!list)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (is_variable(environment[i], servers))
            list[filled++] = (char *)"DEBUGINFOD_URLS=";
        else if (!is_variable(environment[i], launcher) && !is_variable(environment[i], library))
            list[filled++] = environment[i];
    char *text = (char *)list + list_bytes;
    snprintf(text, launcher_bytes, "%s=%s", launcher, engine->start);
    list[filled++] = text;
    if (strcmp(engine->library, EXACT_LIBRARY) != 0) {
        snprintf(text + launcher_bytes, library_bytes, "%s=%s", library, engine->library);
        list[filled++] = text + launcher_bytes;
    }
    list[filled] = NULL;
    return list;
}
