// SPDX-License-Identifier: MIT
/*
 * A program that gives the agent occasion for everything it does: threads, a lock, a fork, another
 * program executed, a library opened, signal handlers and stacks of its own; and wasted stores and
 * loads to be found. Prints what it would print alone and ends with 7. Any failure of a call of its
 * own ends it with 1.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { WORDS = 4096, STEP_MS = 12, THREADS = 2 };

static uint64_t words[WORDS];
static uint64_t total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t alarms;

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "subject: %s: %s\n", what, strerror(errno));
    _exit(1);
}

static long cpu_ms(void)
{
    struct timespec now;
    check(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0, "clock_gettime");
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The second store kills the first, and the loads yield what they did before. */
static __attribute__((noinline)) void waste(volatile uint64_t *where)
{
    for (int i = 0; i < WORDS; i++) {
        where[i] = 1;
        where[i] = 2;
    }
    for (int i = 0; i < WORDS; i++)
        (void)where[i];
}

static void work(void)
{
    long end = cpu_ms() + STEP_MS;
    while (cpu_ms() < end)
        waste(words);
}

static void *run_thread(void *unused)
{
    (void)unused;
    work();
    for (int i = 0; i < 100; i++) {
        check(pthread_mutex_lock(&lock) == 0, "lock");
        total += 1;
        check(pthread_mutex_unlock(&lock) == 0, "unlock");
    }
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, run_thread, NULL) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        check(pthread_join(threads[i], NULL) == 0, "pthread_join");
    printf("threads counted %llu\n", (unsigned long long)total);
}

static void await(pid_t child, int code)
{
    int status = -1;
    check(child > 0 && waitpid(child, &status, 0) == child, "a child");
    check(WIFEXITED(status) && WEXITSTATUS(status) == code, "the child's end");
}

static void run_children(char *self)
{
    char *arguments[] = {self, (char *)"child", NULL};
    pid_t child;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        work();
        _exit(3);
    }
    await(child, 3);
    check(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0, "spawn");
    await(child, 4);
    printf("children ended\n");
}

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

static void handle_signals(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART};
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536}, seen;
    check(stack.ss_sp && sigaltstack(&stack, NULL) == 0, "sigaltstack");
    check(sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0, "raise");
    work();
    check(sigaltstack(NULL, &seen) == 0 && seen.ss_sp == stack.ss_sp, "the stack");
    printf("signals %d\n", (int)alarms);
}

static void open_library(void)
{
    void *library = dlopen("libz.so.1", RTLD_NOW);
    const char *(*version)(void) = NULL;
    check(library != NULL, "dlopen");
    *(void **)&version = dlsym(library, "zlibVersion");
    check(version && strlen(version()) > 0, "dlsym");
    work();
    check(dlclose(library) == 0, "dlclose");
    printf("library opened\n");
}

int main(int count, char **arguments)
{
    if (count > 1) {
        work();
        return 4;
    }
    work();
    run_threads();
    open_library();
    run_children(arguments[0]);
    handle_signals();
    fprintf(stderr, "subject: done\n");
    return 7;
}
