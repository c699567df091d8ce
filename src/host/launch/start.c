// SPDX-License-Identifier: MIT
/*
 * Starts the program: environment, fork, exec, and the news of a failed exec through a
 * close-on-exec pipe. Between fork and exec only async-signal-safe calls are made.
 */
#include "launch/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_variable(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/*
 * LD_PRELOAD keeps its place and its old value behind a colon ("AGENT:" if it was set but
 * empty), so that the agent can put back exactly what was there.
 */
char **launch_environment(char *const *environment, const char *agent, int pid, int region)
{
    size_t count = 0;
    const char *old = NULL;
    for (; environment[count]; count++)
        if (!old && is_variable(environment[count], "LD_PRELOAD"))
            old = strchr(environment[count], '=') + 1;
    size_t preload_bytes = strlen("LD_PRELOAD=:") + strlen(agent) + (old ? strlen(old) : 0) + 1;
    size_t list_bytes = (count + 3) * sizeof(char *), region_bytes = 64;
    char **list = malloc(list_bytes + preload_bytes + region_bytes);
    if (!list)
        return NULL;
    char *preload = (char *)list + list_bytes, *where = preload + preload_bytes;
    snprintf(preload, preload_bytes, "LD_PRELOAD=%s%s%s", agent, old ? ":" : "", old ? old : "");
    snprintf(where, region_bytes, "%s=%d:%d:%d", WIRE_ENVIRONMENT, WIRE_VERSION, pid, region);

    size_t filled = 0;
    bool placed = false;
    for (size_t i = 0; i < count; i++) {
        if (is_variable(environment[i], WIRE_ENVIRONMENT))
            continue; /* of a recording around this one */
        if (!placed && is_variable(environment[i], "LD_PRELOAD")) {
            list[filled++] = preload;
            placed = true;
        } else {
            list[filled++] = environment[i];
        }
    }
    if (!placed)
        list[filled++] = preload;
    list[filled++] = where;
    list[filled] = NULL;
    return list;
}

char **launch_environment_with(char *const *environment, const char *variable)
{
    char name[64];
    size_t count = 0, filled = 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(variable, "="), variable);
    while (environment[count])
        count++;
    size_t list_bytes = (count + 2) * sizeof(char *);
    char **list = malloc(list_bytes + strlen(variable) + 1);
    if (!list)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_variable(environment[i], name))
            list[filled++] = environment[i];
    list[filled++] = strcpy((char *)list + list_bytes, variable);
    list[filled] = NULL;
    return list;
}

/* execvp's way with a file of no known format; argv[0] becomes the shell's, as there. */
static void execute_by_shell(const char *path, char *const *command, char *const *environment)
{
    size_t count = 0;
    while (command[count])
        count++;
    char **arguments = alloca((count + 2) * sizeof *arguments);
    arguments[0] = (char *)"/bin/sh";
    arguments[1] = (char *)path;
    for (size_t i = 1; i <= count; i++)
        arguments[i + 1] = command[i];
    execve(arguments[0], arguments, environment);
}

/* The parent closes its end when it has done what it does before the program begins, or dies. */
static void await_gate(const int gate[2])
{
    char nothing;
    close(gate[1]);
    while (read(gate[0], &nothing, 1) < 0 && errno == EINTR)
        ;
    close(gate[0]);
}

static _Noreturn void become(const struct launch_request *request, char *const *environment,
                             const struct launch_inherited *inherited, int news)
{
    for (size_t i = 0; i < BASE_COUNT(launch_raised_limits); i++)
        setrlimit(launch_raised_limits[i], &inherited->limits[i]);
    sigaction(SIGCHLD, &inherited->child, NULL);
    sigaction(SIGXFSZ, &inherited->file_size, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
    for (int i = 0; request->redirected && i < 3; i++)
        dup2(request->files[i], i);
    if (!request->shell)
        execve(request->path, request->command, environment);
    if (request->shell || errno == ENOEXEC)
        execute_by_shell(request->path, request->command, environment);
    int reason = errno;
    ssize_t ignored = write(news, &reason, sizeof reason);
    (void)ignored;
    _exit(LAUNCH_NOT_EXECUTABLE);
}

/* The errno that the child reports, or 0: it runs the program. */
static int read_news(int news, pid_t child)
{
    int reason;
    ssize_t got;
    do
        got = read(news, &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof reason)
        return 0;
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return reason;
}

static pid_t fork_and_become(const struct launch_request *request, char *const *environment,
                             const struct launch_inherited *inherited, const int news[2],
                             const int gate[2])
{
    pid_t started = fork();
    if (started != 0)
        return started;
    if (gate[0] >= 0)
        await_gate(gate);
    become(request, environment, inherited, news[1]);
}

bool launch_start(const struct launch_request *request, char *const *environment,
                  const struct launch_inherited *inherited,
                  void (*before)(void *context, pid_t child), void *context, pid_t *child,
                  int *reason)
{
    int news[2], gate[2] = {-1, -1};
    if (pipe2(news, O_CLOEXEC) != 0) {
        *reason = errno;
        return false;
    }
    /* Without a gate the program is only observed less well. */
    if (before && pipe2(gate, O_CLOEXEC) != 0)
        before = NULL;
    pid_t started = fork_and_become(request, environment, inherited, news, gate);
    int failure = started < 0 ? errno : 0;
    close(news[1]);
    if (before && started > 0)
        before(context, started);
    if (before) {
        close(gate[0]);
        close(gate[1]);
    }
    if (started > 0)
        failure = read_news(news[0], started);
    close(news[0]);
    if (failure)
        *reason = failure;
    else
        *child = started;
    return failure == 0;
}
