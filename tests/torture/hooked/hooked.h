// SPDX-License-Identifier: MIT
/*
 * hooked: what the programs share whose functions are timed while they do what hooks could break.
 *
 * As for all torture programs, nothing may be printed that differs between two native runs. A
 * program's argument, if it has one, is how much it does, in per cent.
 */
#ifndef HEADROOM_TESTS_HOOKED_H
#define HEADROOM_TESTS_HOOKED_H

#include "../cases/torture.h"
#include <pthread.h>
#include <sys/mman.h>

/* A function of its own, whatever the optimiser thinks: something to hook. */
#ifdef __clang__
#define HOOKED __attribute__((noinline, unused)) static
#else
#define HOOKED __attribute__((noinline, noclone, unused)) static
#endif

/* The compiler must not see through it. */
#define OPAQUE(value) __asm__ volatile("" : "+r"(value))

/* So that a call before it is no tail call. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

static inline uint64_t amount(int argc, char **argv, uint64_t whole)
{
    uint64_t part = whole * (argc > 1 ? strtoull(argv[1], NULL, 10) : 100) / 100;
    return part ? part : 1;
}

/* Runs a function in a thread whose stack has so many bytes, mapped without being reserved. */
static inline void on_large_stack(size_t bytes, void *(*function)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(stack != MAP_FAILED);
    must(pthread_attr_init(&attributes) == 0);
    must(pthread_attr_setstack(&attributes, stack, bytes) == 0);
    must(pthread_create(&thread, &attributes, function, argument) == 0);
    must(pthread_join(thread, NULL) == 0);
    must(munmap(stack, bytes) == 0);
}

#endif
