// SPDX-License-Identifier: MIT
/* Programs that count with the functions of simple.S; argv[1] says which. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

void simple_two(int), simple_many(unsigned long);

static void both(long count)
{
    for (long i = 0; i < count; i++) {
        simple_two(i % 3 == 0);
        simple_many((unsigned long)i * 7919);
    }
}

static void plain(long count)
{
    both(count);
}

static void twice(long count)
{
    for (int i = 0; i < 2; i++)
        for (long j = 0; j < count; j++)
            simple_many((unsigned long)j * 104729);
}

static void *one_thread(void *count)
{
    both((long)count);
    return NULL;
}
/* One after the other, and four at a time. */
static void threads(long count)
{
    pthread_t started[4];
    for (long i = 0; i < count; i++) {
        for (int j = 0; j < 4; j++)
            pthread_create(&started[j], NULL, one_thread, (void *)3);
        for (int j = 0; j < 4; j++)
            pthread_join(started[j], NULL);
    }
}

/* Each process counts ten times; the tree has two children at each of `count` levels. */
static void forks(long count)
{
    both(10);
    for (int i = 0; count && i < 2; i++)
        if (fork() == 0) {
            forks(count - 1);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

static void *forking_thread(void *count)
{
    both(5);
    pid_t child = fork();
    both(7);
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    return count;
}
static void fork_in_thread(long count)
{
    pthread_t started;
    both(count);
    pthread_create(&started, NULL, forking_thread, NULL);
    pthread_join(started, NULL);
}

static void killed(long count)
{
    both(count);
    kill(getpid(), SIGKILL);
}

static char *self;
static void exec(long count)
{
    char number[24];
    both(10);
    snprintf(number, sizeof number, "%ld", count - 1);
    if (count > 1)
        execl(self, self, "exec", number, NULL);
}

/* The child has the parent's memory and thread-local storage. */
static void vforks(long count)
{
    for (long i = 0; i < count; i++) {
        pid_t child = vfork();
        if (child == 0) {
            simple_two(1);
            _exit(0);
        }
        simple_two(0);
        waitpid(child, NULL, 0);
    }
}

static volatile sig_atomic_t handled;
static void handler(int number)
{
    (void)number;
    handled++;
    for (unsigned long i = 0; i < 50; i++)
        simple_many((unsigned long)handled * 64 + i);
}
/* Handlers count in the table in which the program counts, while it grows. */
static void interrupted(long count)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < count || handled < 20; i++)
        simple_many((unsigned long)i % (unsigned long)count + (1UL << 32));
    setitimer(ITIMER_REAL, &never, NULL);
    printf("handled %d\n", handled > 0);
    FILE *out = fopen(getenv("HANDLED"), "w");
    fprintf(out, "%d\n", (int)handled);
    fclose(out);
}

/* A signal arrives as soon as a thread begins, maybe in headroom_thread_begin. */
static void *begun_in_handler(void *main_thread)
{
    (void)main_thread;
    simple_two(1);
    return NULL;
}
static void two_handler(int number)
{
    (void)number;
    handled++;
    simple_two(0);
}
static void begin_interrupted(long count)
{
    signal(SIGUSR1, two_handler);
    for (long i = 0; i < count; i++) {
        pthread_t started;
        pthread_create(&started, NULL, begun_in_handler, NULL);
        pthread_kill(started, SIGUSR1);
        pthread_join(started, NULL);
    }
}

static void descriptors(long count)
{
    for (int i = 3; i < 64; i++)
        close(i);
    close(0);
    both(count);
    int a = open("/dev/null", O_RDONLY), b = dup(a);
    printf("descriptors %d %d\n", a, b);
    for (int i = 3; i < 64; i++)
        close(i);
    for (pthread_t started; count > 0; count -= 100) {
        pthread_create(&started, NULL, one_thread, (void *)100);
        pthread_join(started, NULL);
    }
    printf("descriptors %d\n", open("/dev/null", O_RDONLY));
}

static void small_memory(long count)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_AS, &limit);
    both(count);
}

static const struct {
    const char *name;
    void (*run)(long);
} cases[] = {{"plain", plain},
             {"twice", twice},
             {"threads", threads},
             {"forks", forks},
             {"fork_in_thread", fork_in_thread},
             {"killed", killed},
             {"exec", exec},
             {"vforks", vforks},
             {"interrupted", interrupted},
             {"begin_interrupted", begin_interrupted},
             {"descriptors", descriptors},
             {"small_memory", small_memory}};

int main(int argc, char **argv)
{
    self = argv[0];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 2 && strcmp(argv[1], cases[i].name) == 0)
            cases[i].run(atol(argv[2]));
    printf("%s done\n", argc > 1 ? argv[1] : "nothing");
    return 7;
}
