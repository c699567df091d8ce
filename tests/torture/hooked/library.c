// SPDX-License-Identifier: MIT
/* What libraries.c loads and unloads: functions that call each other, its caller, and the C
 * library. */
#include "hooked.h"

uint64_t library_work(uint64_t turns, uint64_t (*callback)(uint64_t));
uint64_t library_inner(uint64_t value);

__attribute__((noinline, noclone)) uint64_t library_inner(uint64_t value)
{
    static __thread uint64_t calls;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    calls++;
    pthread_mutex_unlock(&lock);
    char *copy = malloc(value % 64 + 1);
    must(copy);
    memset(copy, 1, value % 64 + 1);
    value += (uint64_t)copy[0];
    free(copy);
    return value;
}

__attribute__((noinline, noclone)) uint64_t library_work(uint64_t turns,
                                                         uint64_t (*callback)(uint64_t))
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < turns; i++)
        sum += library_inner(i) + callback(i);
    return sum;
}

__attribute__((constructor)) static void on_load(void)
{
    must(library_inner(1) == 2);
}

__attribute__((destructor)) static void on_unload(void)
{
    must(library_inner(2) == 3);
}
