// SPDX-License-Identifier: MIT
/*
 * Where page faults happen is known: each page of a mapping is touched once for the first time. One
 * case each; all paths but those of known functions are few. The first word says which case, the
 * second how often.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, THREADS = 4 };
#define ALONE __attribute__((noinline))

/* Of its two ways the first one touches what is new. */
ALONE static void either(volatile char *at, int fresh)
{
    if (fresh)
        at[0] = 1;
    else
        *(volatile int *)&fresh = 2;
}

/* Nothing of its own. */
ALONE static void calls(volatile char *at)
{
    either(at, 1);
    either(at + PAGE, 1);
}

/* One before, one behind the call; the call has one as well. */
ALONE static void around(volatile char *at)
{
    at[0] = 1;
    either(at + PAGE, 1);
    at[2 * PAGE] = 1;
}

/* What libraries do is not its own. */
ALONE static void outside(char *at)
{
    memset(at, 1, 8 * PAGE);
}

static char *pages(long count)
{
    char *at = mmap(NULL, (size_t)count * PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        abort();
    madvise(at, (size_t)count * PAGE, MADV_NOHUGEPAGE);
    return at;
}

static void *plain(void *count)
{
    long n = (long)count;
    char *at = pages(n);
    for (long i = 0; i < 4 * n; i++)
        either(at + i / 4 * PAGE, i % 4 == 0);
    return NULL;
}

static void nested(long count)
{
    char *at = pages(13 * count);
    for (long i = 0; i < count; i++, at += 13 * PAGE) {
        calls(at);
        around(at + 2 * PAGE);
        outside(at + 5 * PAGE);
    }
}

static void threads(long count)
{
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&all[i], NULL, plain, (void *)count) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

/* The parent's pages are the child's as well, so that writing to them again is another fault. */
static void forks(long count)
{
    pid_t child = fork();
    plain((void *)count);
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

/* Whatever number an event may have had, it is a pipe's now, in which there is something. */
static void pipes(long count)
{
    int ends[2];
    char text[32] = "";
    plain((void *)count);
    closefrom(3);
    if (pipe(ends) != 0 || write(ends[1], "all of it is here", 17) != 17)
        abort();
    for (int i = 5; i < 10000; i++)
        dup2(ends[0], i);
    plain((void *)count);
    printf("%ld %s\n", (long)read(ends[0], text, sizeof text), text);
}

static void few_descriptors(long count)
{
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
    threads(count);
}

static void executes(long count)
{
    plain((void *)count);
    fflush(stdout);
    execl("/bin/sh", "sh", "-c", "ls /proc/$$/fd", (char *)NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(long);
    } cases[] = {{"nested", nested}, {"threads", threads},     {"forks", forks},
                 {"pipes", pipes},   {"few", few_descriptors}, {"executes", executes}};
    long count = argc > 2 ? atol(argv[2]) : 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (count && strcmp(argv[1], cases[i].name) == 0)
            cases[i].run(count);
    if (count && strcmp(argv[1], "plain") == 0)
        plain((void *)count);
    puts("done");
    return 5;
}
