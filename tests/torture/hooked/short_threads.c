// SPDX-License-Identifier: MIT
/* Thousands of threads of a few microseconds that run hooked functions, on stacks of every size,
 * detached and joined. */
#include "hooked.h"

static uint64_t done;

HOOKED uint64_t step(uint64_t value)
{
    OPAQUE(value);
    return value + 1;
}

HOOKED uint64_t steps(uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum = step(sum);
    __atomic_fetch_add(&done, sum, __ATOMIC_SEQ_CST);
    return sum;
}

static void *run(void *argument)
{
    uint64_t count = steps((uint64_t)(uintptr_t)argument % 50);
    if (count % 2)
        pthread_exit(argument);
    return argument;
}

int main(int argc, char **argv)
{
    uint64_t threads = amount(argc, argv, 20000), expected = 0;
    for (uint64_t i = 0; i < threads; i++) {
        pthread_t thread[2];
        pthread_attr_t attributes;
        void *result;
        must(pthread_attr_init(&attributes) == 0);
        must(pthread_attr_setstacksize(&attributes, 16384 << i % 6) == 0);
        for (int k = 0; k < 2; k++)
            must(pthread_create(&thread[k], &attributes, run, (void *)(uintptr_t)(i + 1)) == 0);
        must(pthread_join(thread[0], &result) == 0);
        must(pthread_detach(thread[1]) == 0);
        must(result == (void *)(uintptr_t)(i + 1));
        expected += 2 * ((i + 1) % 50);
        pthread_attr_destroy(&attributes);
    }
    while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < expected)
        usleep(1000);
    say("done %llu of %llu\n", (unsigned long long)done, (unsigned long long)expected);
    return 0;
}
