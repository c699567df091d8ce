// SPDX-License-Identifier: MIT
/*
 * Linked into a program it lets the program have so many bytes of memory more as LIMITED says, from
 * before the first constructor on. Not instrumented itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void limit(int count, char **words, char **environment)
{
    unsigned long pages = 0;
    (void)count;
    (void)words;
    while (*environment && strncmp(*environment, "LIMITED=", 8) != 0)
        environment++; /* the C library does not know them yet */
    if (!*environment)
        return;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%lu", &pages) != 1 || fclose(file) != 0)
        abort();
    rlim_t bytes = pages * 4096 + strtoul(*environment + 8, NULL, 10);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) != 0)
        abort();
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **,
                                                                            char **) = limit;
