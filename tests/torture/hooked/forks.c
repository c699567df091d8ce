// SPDX-License-Identifier: MIT
/*
 * fork inside of hooked functions: the child returns through their frames, execs, or ends there;
 * vfork, whose child uses its parent's stack; posix_spawn and system; children of threads.
 */
#include "hooked.h"
#include <spawn.h>

extern char **environ;
static char own_path[4096];

HOOKED uint64_t work(uint64_t turns)
{
    busy_turns(turns);
    return turns * 2;
}

/* In the child 1 + depth, in the parent 2 * depth. */
HOOKED uint64_t fork_below(int depth, pid_t *child)
{
    if (depth == 0) {
        *child = fork();
        must(*child >= 0);
        return *child == 0;
    }
    uint64_t below = fork_below(depth - 1, child);
    NO_TAIL_CALL();
    return below + (*child == 0 ? 1 : 2);
}

HOOKED void child_returns(int depth)
{
    pid_t child;
    uint64_t result = fork_below(depth, &child);
    if (child == 0)
        _exit((int)(result + work(10) - 20) & 127);
    say("parent %llu, ", (unsigned long long)result);
    show_end("child", child);
}

HOOKED void exec_here(const char *what)
{
    execl(own_path, own_path, "--child", what, NULL);
    _exit(98);
}

HOOKED void child_execs(void)
{
    pid_t child = fork();
    must(child >= 0);
    if (child == 0)
        exec_here("forked");
    show_end("exec", child);
}

HOOKED int vfork_below(int depth, int way)
{
    volatile int result = 0;
    if (depth > 0) {
        result = vfork_below(depth - 1, way);
        return result + 1;
    }
    pid_t child = vfork();
    must(child >= 0);
    if (child == 0) {
        work(10);
        if (way)
            exec_here("vforked");
        _exit(5);
    }
    show_end(way ? "vfork, exec" : "vfork", child);
    return result;
}

HOOKED void spawn(void)
{
    pid_t child;
    char *arguments[] = {own_path, (char *)"--child", (char *)"spawned", NULL};
    must(posix_spawn(&child, own_path, NULL, NULL, arguments, environ) == 0);
    show_end("spawn", child);
    say("system %d\n", WEXITSTATUS(system("exit 6")));
    FILE *file = popen("echo from a pipe", "r");
    char line[64] = "";
    must(file && fgets(line, sizeof line, file));
    say("%s", line);
    say("closed %d\n", WEXITSTATUS(pclose(file)));
}

/* A child of a child, each a frame further up. */
HOOKED int generations(int left)
{
    if (left == 0)
        return (int)(work(5) - 10) + 1;
    pid_t child = fork();
    must(child >= 0);
    if (child == 0)
        _exit(generations(left - 1) + 1);
    int status;
    must(waitpid(child, &status, 0) == child);
    return WEXITSTATUS(status);
}

static void *run(void *argument)
{
    int rounds = *(int *)argument;
    for (int i = 0; i < rounds; i++) {
        child_returns(i % 40);
        child_execs();
        say("vfork %d\n", vfork_below(i % 10, i % 2));
        spawn();
        say("generations %d\n", generations(4));
        work(1000);
    }
    return argument;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--child") == 0) {
        say("child %s, %llu\n", argv[2], (unsigned long long)work(100));
        return (int)strlen(argv[2]);
    }
    int rounds = (int)amount(argc, argv, 20);
    pthread_t thread;
    must(readlink("/proc/self/exe", own_path, sizeof own_path - 1) > 0);
    run(&rounds);
    must(pthread_create(&thread, NULL, run, &rounds) == 0);
    must(pthread_join(thread, NULL) == 0);
    return 0;
}
