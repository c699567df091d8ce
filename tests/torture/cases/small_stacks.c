// SPDX-License-Identifier: MIT
/* Sixty-four threads on stacks of 16 KiB, half of them on memory of their own. */
#include "torture.h"
#include <pthread.h>
#include <sys/mman.h>

enum { THREADS = 64, STACK = 16384 };

static void *work(void *number)
{
    volatile char local[4096];
    for (size_t i = 0; i < sizeof local; i++)
        local[i] = (char)i;
    busy(10);
    return (char *)number + local[5];
}

int main(void)
{
    pthread_t threads[THREADS];
    uintptr_t sum = 0;
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        if (i & 1) {
            void *stack =
                mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            must(stack != MAP_FAILED && pthread_attr_setstack(&attributes, stack, STACK) == 0);
        } else {
            must(pthread_attr_setstacksize(&attributes, STACK) == 0);
        }
        must(pthread_create(&threads[i], &attributes, work, (void *)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;
        must(pthread_join(threads[i], &result) == 0);
        sum += (uintptr_t)result;
    }
    say("sum %zu\n", (size_t)sum);
    return 0;
}
