// SPDX-License-Identifier: MIT
/*
 * The kernel's stores count as stores.
 * "over": what the program stored is overwritten by read(2) before anybody
 * loads it: the program's stores are dead although it reads the buffer later.
 * "used": the program loads what it stored, then read(2) fills the buffer and
 * the program loads that too: nothing is dead.
 *
 * case: read-over --kinds dead -- 3 over
 *   dead.fraction 0.95..1
 *   dead.first fill 0.95..1
 * case: read-used --kinds dead -- 3 used
 *   dead.fraction 0..0.05
 */
#include "known.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 1024 };
static volatile uint64_t buffer[WORDS];
static volatile uint64_t result;

static uint64_t sum_buffer(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < WORDS; i++)
        sum += buffer[i];
    return sum;
}

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    bool is_used = argc > 2 && strcmp(argv[2], "used") == 0;
    int in = open("/dev/zero", O_RDONLY);
    uint64_t sum = 0;
    for (uint64_t round = 0; round % 64 || known_running(seconds); round++) {
        for (int i = 0; i < WORDS; i++)
            buffer[i] = round + (uint64_t)i; /* @fill */
        if (is_used)
            sum += sum_buffer();
        if (read(in, (void *)buffer, sizeof buffer) != sizeof buffer)
            return 1;
        sum += sum_buffer();
    }
    result = sum;
    return 0;
}
