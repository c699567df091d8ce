// SPDX-License-Identifier: MIT
/* As many short threads as its argument says, several at a time. */
#include "torture.h"
#include <pthread.h>

enum { AT_ONCE = 8 };
static _Thread_local uint64_t own[16];

static void *work(void *number)
{
    for (uintptr_t i = 0; i < 64; i++)
        own[i % 16] += i + (uintptr_t)number;
    return (void *)(uintptr_t)(own[3] & 1);
}

int main(int argc, char **argv)
{
    uintptr_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, sum = 0;
    for (uintptr_t i = 0; i < count; i += AT_ONCE) {
        pthread_t threads[AT_ONCE];
        for (uintptr_t j = 0; j < AT_ONCE; j++)
            must(pthread_create(&threads[j], NULL, work, (void *)(i + j)) == 0);
        for (int j = 0; j < AT_ONCE; j++) {
            void *result;
            must(pthread_join(threads[j], &result) == 0);
            sum += (uintptr_t)result;
        }
    }
    say("threads %zu, sum %zu\n", (size_t)count, (size_t)sum);
    show_descriptors();
    show_process();
    return 0;
}
