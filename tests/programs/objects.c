// SPDX-License-Identifier: MIT
/*
 * Stores of an unchanged value into each kind of memory, by mode: what does the report say that they lie in?
 * tests/answers/objects has the answers.
 *
 *     objects MODE ROUNDS
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WORDS = 512 };

struct counter {
    uint64_t hits, misses;
};
struct counter counters[8];
static uint64_t unseen[WORDS];
static __thread uint64_t cached[4];
static void *volatile kept;

/* Stores what is there already. */
__attribute__((noinline)) static void repeat(volatile uint64_t *place, unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++) {
        *place = 7;
        __asm__ volatile("" ::: "memory");
    }
}

__attribute__((noinline)) static void sweep(volatile uint64_t *place, unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++)
        place[i % WORDS] = 7;
}

__attribute__((noinline)) static uint64_t *make_block(size_t bytes)
{
    uint64_t *block = malloc(bytes); /* @make */
    kept = block;
    return block;
}

__attribute__((noinline)) static uint64_t *make_other(size_t bytes)
{
    uint64_t *block = calloc(1, bytes); /* @other */
    kept = block;
    return block;
}

__attribute__((noinline)) static uint64_t *map_block(size_t bytes)
{
    uint64_t *block =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @map */
    kept = block;
    return block;
}

static unsigned long thread_rounds;
static void *on_another_stack(void *place)
{
    repeat(place, thread_rounds);
    return NULL;
}

static void in_a_thread(void *place, unsigned long rounds)
{
    pthread_t thread;
    thread_rounds = rounds;
    if (pthread_create(&thread, NULL, on_another_stack, place) == 0)
        pthread_join(thread, NULL);
}

static void *with_own_local(void *unused)
{
    repeat(&cached[2], thread_rounds);
    return unused;
}

/* The same memory, freed by one and allocated again by another. */
static uint64_t *again(void)
{
    uint64_t *first = make_block(WORDS * 8), *second;
    uintptr_t was = (uintptr_t)first;
    repeat(first, 1000);
    free(first);
    second = make_other(WORDS * 8);
    if ((uintptr_t)second != was)
        fprintf(stderr, "another place\n");
    return second;
}

#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wuse-after-free"
static uint64_t *grown(void)
{
    uint64_t *block = make_block(64);
    for (size_t bytes = 128; block && bytes <= WORDS * 8; bytes *= 2)
        block = realloc(block, bytes); /* @grown */
    kept = block;
    return block;
}

__attribute__((noinline)) static void *my_malloc(size_t bytes)
{
    void *block = malloc(bytes); /* @wrapper */
    return block ? memset(block, 1, bytes) : NULL;
}

__attribute__((noinline)) static uint64_t *wrapped(void)
{
    uint64_t *block = my_malloc(WORDS * 8);
    kept = block;
    return block;
}

static uint64_t *aligned(void)
{
    void *block = NULL;
    if (posix_memalign(&block, 4096, 3 * WORDS * 8)) /* @aligned */
        return NULL;
    return block;
}

/* A small block, of which there is one, behind many of others. */
static uint64_t *once(unsigned long others)
{
    void *blocks[64] = {0};
    for (unsigned long i = 0; i < others; i++) {
        free(blocks[i % 64]);
        blocks[i % 64] = malloc(100);
    }
    for (unsigned long i = 0; i < 64; i++)
        free(blocks[i]);
    uint64_t *block = malloc(40); /* @once */
    kept = block;
    return block;
}

/* The second half of a mapping whose first half is gone. */
static uint64_t *cut(void)
{
    uint64_t *block = map_block(1 << 21);
    munmap(block, 1 << 20);
    return block + (1 << 20) / 8;
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    unsigned long rounds = count > 2 ? strtoul(arguments[2], NULL, 10) : 0;
    uint64_t local[16] = {0};
    if (strcmp(mode, "global") == 0)
        repeat(&counters[4].misses, rounds);
    else if (strcmp(mode, "hidden") == 0)
        sweep(unseen, rounds);
    else if (strcmp(mode, "heap") == 0)
        sweep(make_block(WORDS * 8), rounds);
    else if (strcmp(mode, "again") == 0)
        repeat(again() + 3, rounds);
    else if (strcmp(mode, "grown") == 0)
        sweep(grown(), rounds);
    else if (strcmp(mode, "wrapped") == 0)
        sweep(wrapped(), rounds);
    else if (strcmp(mode, "once") == 0)
        repeat(once(rounds / 30) + 2, rounds);
    else if (strcmp(mode, "aligned") == 0)
        repeat(aligned() + 5, rounds);
    else if (strcmp(mode, "mapped") == 0)
        repeat(map_block(1 << 20) + 9, rounds);
    else if (strcmp(mode, "cut") == 0)
        repeat(cut() + 9, rounds);
    else if (strcmp(mode, "stack") == 0)
        repeat(local, rounds);
    else if (strcmp(mode, "other-stack") == 0)
        in_a_thread(local, rounds);
    else if (strcmp(mode, "local") == 0)
        repeat(&cached[1], rounds);
    else if (strcmp(mode, "thread-local") == 0) {
        pthread_t thread;
        thread_rounds = rounds;
        if (pthread_create(&thread, NULL, with_own_local, NULL) == 0)
            pthread_join(thread, NULL);
    } else if (strcmp(mode, "other-local") == 0)
        in_a_thread(&cached[3], rounds);
    else if (strcmp(mode, "freed") == 0) {
        uint64_t *block = make_block(WORDS * 8);
        free(block);
        repeat((uint64_t *)(uintptr_t)block + 100, rounds); /* on purpose */
    } else if (strcmp(mode, "errno") == 0)
        for (unsigned long i = 0; i < rounds; i++) {
            errno = 7;
            __asm__ volatile("" ::: "memory");
        }
    else
        return 2;
    return 0;
}
