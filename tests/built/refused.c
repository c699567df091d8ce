// SPDX-License-Identifier: MIT
/* Threads that begin when there is no memory left: each does the same and says what it got. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { THREADS = 8, ROUNDS = 2000, STACK = 1 << 18 };

typedef long callee(void *);
long node_a(callee *, void *, callee *, void *), node_b(callee *, void *, callee *, void *);
long leafp(long), leafh(long);
void simple_two(long);
extern long (*const leaves[50])(void);

static _Alignas(4096) char stacks[THREADS][STACK];

static long leaf(void *which)
{
    return leaves[(long)which]();
}
static long hashed(void *number)
{
    return leafh((long)number);
}
static long path(void *number)
{
    return leafp((long)number);
}
static long b(void *which)
{
    return node_b(leaf, which, hashed, which);
}

static pthread_barrier_t all_began;

static void *run(void *unused)
{
    simple_two(0);
    if (unused)
        pthread_barrier_wait(&all_began);
    for (long i = 0; i < ROUNDS; i++) {
        simple_two(i);
        node_a(b, (void *)(i % 50), path, (void *)(i % 4));
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int began = 0;
    pthread_barrier_init(&all_began, NULL, THREADS);
    (void)argv;
    if (argc > 1)
        run(NULL); /* then the main thread has its counters */
    void *volatile heap =
        malloc(1 << 16); /* what the C library needs for threads comes from there */
    free(heap);
    setrlimit(RLIMIT_AS, &(struct rlimit){1, 1});
    for (int i = 0; i < THREADS; i++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, stacks[i], STACK);
        began += pthread_create(&threads[i], &attributes, run, stacks[i]) == 0;
    }
    for (int i = 0; i < began; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        began -= result == NULL ? THREADS : 0;
    }
    printf("%d threads\n", began);
    return 7;
}
