// SPDX-License-Identifier: MIT
/*
 * Following a program into the programs it starts. The agent took itself out of
 * the environment at start, so it is put in again for each exec, and only
 * where it can live: ld.so would complain aloud about an agent of the wrong class.
 *
 * exec and its kin may be called after vfork, in a handler, or with many
 * threads: no allocation but the stack, no state of the parent touched.
 */
#include "agent/agent.h"

#include <alloca.h>
#include <asm/unistd.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- can the agent live there? ------------------------------------------------------- */

static long read_head(const char *path, char *head, size_t bytes)
{
    long file = os_syscall(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return -1;
    long got = os_syscall(__NR_pread64, file, head, bytes, 0);
    os_syscall(__NR_close, file);
    return got;
}

/* Dynamically linked against glibc's loader for x86-64; the interpreter string is near the start.
 */
static bool glibc_program(const char *head, size_t bytes)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)head;
    if (bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64)
        return false;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        size_t at = header->e_phoff + i * sizeof(Elf64_Phdr);
        const Elf64_Phdr *segment = (const Elf64_Phdr *)(head + at);
        if (at + sizeof *segment > bytes)
            return false;
        if (segment->p_type == PT_INTERP)
            return segment->p_offset < bytes && segment->p_filesz < bytes - segment->p_offset &&
                   memmem(head + segment->p_offset, segment->p_filesz, "ld-linux-x86-64.so", 18) !=
                       NULL;
    }
    return false;
}

static bool observable(const char *path)
{
    _Alignas(8) char head[4096];
    char interpreter[256];
    for (int depth = 0; depth < 5; depth++) {
        long got = read_head(path, head, sizeof head);
        if (got < 4)
            return false;
        if (head[0] != '#' || head[1] != '!')
            return glibc_program(head, (size_t)got);
        size_t at = 2, length = 0;
        while (at < (size_t)got && (head[at] == ' ' || head[at] == '\t'))
            at++;
        while (at < (size_t)got && !strchr(" \t\n", head[at]) && length + 1 < sizeof interpreter)
            interpreter[length++] = head[at++];
        interpreter[length] = 0;
        path = interpreter;
    }
    return false;
}

/* ---- environment ------------------------------------------------------------------------- */

static size_t count_strings(char *const *strings)
{
    size_t count = 0;
    while (strings && strings[count])
        count++;
    return count;
}

static const char *preload_of(char *const *environment)
{
    for (; environment && *environment; environment++)
        if (strncmp(*environment, "LD_PRELOAD=", 11) == 0)
            return *environment + 11;
    return NULL;
}

size_t exec_environment_bytes(char *const *environment)
{
    const char *rest = preload_of(environment);
    return (count_strings(environment) + 3) * sizeof(char *) + WIRE_PATH_BYTES +
           (rest ? strlen(rest) : 0) + 16;
}

static bool wanted(void)
{
    return agent_active() && agent.region->config.follow;
}

char *const *exec_environment(const char *path, char *const *environment, void *memory)
{
    if (!wanted())
        return environment;
    if (!observable(path)) {
        agent_degrade(WIRE_DEGRADED_UNOBSERVED_CHILD);
        return environment;
    }
    char **out = memory;
    size_t count = count_strings(environment), kept = 0;
    char *preload = (char *)(out + count + 3);
    const char *rest = preload_of(environment);
    strcpy(preload, "LD_PRELOAD=");
    strcat(preload, agent.region->config.agent_path);
    if (rest) /* set, if only to nothing: the agent there puts it back as it was */
        strcat(strcat(preload, ":"), rest);
    bool placed = false;
    for (size_t i = 0; i < count; i++) {
        bool is_preload = strncmp(environment[i], "LD_PRELOAD=", 11) == 0;
        out[kept++] = is_preload ? preload : environment[i];
        placed |= is_preload;
    }
    if (!placed)
        out[kept++] = preload;
    out[kept++] = agent.environment_region;
    out[kept] = NULL;
    exec_counted(1);
    return out;
}

void exec_counted(int images)
{
    if (agent.region)
        atomic_fetch_add(&agent.region->executing, images);
}

/* What was lent an agent by exec_environment has not been executed. */
static void take_back(char *const *following, char *const *environment)
{
    if (following != environment)
        exec_counted(-1);
}

#define FOLLOWING_ENVIRONMENT(path, environment)                                                   \
    exec_environment(path, environment, alloca(exec_environment_bytes(environment)))

/* ---- exec ------------------------------------------------------------------------------------ */

/* The signal state that the program believes in becomes true for the next one. */
static void reveal_signals(bool reveal)
{
    sigset_t trap;
    if (!agent.region)
        return;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    if (agent.program_trap.sa_handler == SIG_IGN) {
        if (reveal)
            WRAP_REAL(sigaction)(SIGTRAP, &agent.program_trap, NULL);
        else
            signals_reinstall();
    }
    if (agent_trap_blocked)
        WRAP_REAL(pthread_sigmask)(reveal ? SIG_BLOCK : SIG_UNBLOCK, &trap, NULL);
}

/* In a vfork child the thread's state belongs to the parent: thread_pause sees that. */
static void before_exec(void)
{
    if (agent.region)
        thread_pause();
    reveal_signals(true);
}

static int after_failed_exec(int result, char *const *following, char *const *environment)
{
    int error = errno;
    take_back(following, environment);
    reveal_signals(false);
    if (agent.region)
        thread_resume();
    errno = error;
    return result;
}

EXPORT int execve(const char *path, char *const argv[], char *const environment[])
{
    char *const *following = FOLLOWING_ENVIRONMENT(path, environment);
    before_exec();
    return after_failed_exec(WRAP_REAL(execve)(path, argv, following), following, environment);
}

EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

/* The file execvp would run; its own search then finds the same. */
static const char *find_on_path(const char *file, char *found, size_t bytes)
{
    const char *path = getenv("PATH");
    size_t length = strlen(file);
    if (strchr(file, '/'))
        return file;
    for (path = path ? path : "/bin:/usr/bin"; *path;) {
        size_t directory = strcspn(path, ":");
        if (directory + length + 2 <= bytes) {
            memcpy(found, path, directory);
            found[directory] = '/';
            memcpy(found + directory + 1, file, length + 1);
            if (os_syscall(__NR_faccessat, AT_FDCWD, directory ? found : file, X_OK) == 0)
                return directory ? found : file;
        }
        path += directory + (path[directory] == ':');
    }
    return file;
}

EXPORT int execvpe(const char *file, char *const argv[], char *const environment[])
{
    char found[PATH_MAX];
    char *const *following =
        FOLLOWING_ENVIRONMENT(find_on_path(file, found, sizeof found), environment);
    before_exec();
    return after_failed_exec(WRAP_REAL(execvpe)(file, argv, following), following, environment);
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

EXPORT int fexecve(int file, char *const argv[], char *const environment[])
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    char *const *following = FOLLOWING_ENVIRONMENT(path, environment);
    before_exec();
    return after_failed_exec(WRAP_REAL(fexecve)(file, argv, following), following, environment);
}

EXPORT int execveat(int directory, const char *path, char *const argv[], char *const environment[],
                    int flags)
{
    char full[PATH_MAX];
    const char *file = path;
    if (*path != '/' && directory != AT_FDCWD) {
        snprintf(full, sizeof full, "/proc/self/fd/%d%s%s", directory, *path ? "/" : "", path);
        file = full;
    }
    char *const *following = FOLLOWING_ENVIRONMENT(file, environment);
    before_exec();
    return after_failed_exec(WRAP_REAL(execveat)(directory, path, argv, following, flags),
                             following, environment);
}

/* argv of execl and its kin on the stack; `list` stands after the first argument. */
#define COLLECT_ARGUMENTS(argv, first, list)                                                       \
    do {                                                                                           \
        va_list counting_;                                                                         \
        size_t count_ = 1;                                                                         \
        va_start(list, first);                                                                     \
        va_copy(counting_, list);                                                                  \
        while (va_arg(counting_, char *))                                                          \
            count_++;                                                                              \
        va_end(counting_);                                                                         \
        argv = alloca((count_ + 1) * sizeof(char *));                                              \
        argv[0] = (char *)(uintptr_t)first;                                                        \
        for (size_t i_ = 1; i_ <= count_; i_++)                                                    \
            argv[i_] = va_arg(list, char *);                                                       \
    } while (0)

EXPORT int execl(const char *path, const char *first, ...)
{
    va_list list;
    char **argv;
    COLLECT_ARGUMENTS(argv, first, list);
    va_end(list);
    return execve(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    va_list list;
    char **argv;
    COLLECT_ARGUMENTS(argv, first, list);
    va_end(list);
    return execvpe(file, argv, environ);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    va_list list;
    char **argv;
    COLLECT_ARGUMENTS(argv, first, list);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, argv, environment);
}

/* ---- spawn, system, popen -------------------------------------------------------------------- */

static int after_spawn(int error, char *const *following, char *const *environment)
{
    if (error)
        take_back(following, environment);
    reveal_signals(false);
    return error;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[],
                       char *const environment[])
{
    char *const *following = FOLLOWING_ENVIRONMENT(path, environment);
    reveal_signals(true);
    return after_spawn(WRAP_REAL(posix_spawn)(pid, path, actions, attributes, argv, following),
                       following, environment);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[],
                        char *const environment[])
{
    char found[PATH_MAX];
    char *const *following =
        FOLLOWING_ENVIRONMENT(find_on_path(file, found, sizeof found), environment);
    reveal_signals(true);
    return after_spawn(WRAP_REAL(posix_spawnp)(pid, file, actions, attributes, argv, following),
                       following, environment);
}

/* These take `environ` inside libc, which is lent ours for the moment. */
static void end_loan(void *own)
{
    reveal_signals(false);
    environ = own;
}

/*
 * The shell has been executed also where the result is -1 (somebody else waited for it) and where
 * command is NULL (glibc tries one). That it could not be started looks like a command that was not
 * found, and counts as a program that could not be observed.
 */
EXPORT int system(const char *command)
{
    char **own = environ;
    int result;
    environ = (char **)(uintptr_t)FOLLOWING_ENVIRONMENT("/bin/sh", own);
    reveal_signals(true);
    pthread_cleanup_push(end_loan, own); /* threads are cancelled in here */
    result = WRAP_REAL(system)(command);
    if (!command && !result)
        take_back(environ, own);
    pthread_cleanup_pop(1);
    return result;
}

EXPORT FILE *popen(const char *command, const char *mode)
{
    char **own = environ;
    environ = (char **)(uintptr_t)FOLLOWING_ENVIRONMENT("/bin/sh", own);
    reveal_signals(true);
    FILE *stream = WRAP_REAL(popen)(command, mode);
    if (!stream)
        take_back(environ, own);
    end_loan(own);
    return stream;
}
