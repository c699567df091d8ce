// SPDX-License-Identifier: MIT
/*
 * Dead stores in frames that exceptions unwind: fill() stores a table twice for
 * each time that it loads it, then throws through middle() to outer(), which
 * catches. With every store goes one load, of the table or of a spare one. One
 * exception per ~100 us keeps the unwinder's own stores below one per cent.
 *
 * case: exceptions --kinds dead -- 3
 *   dead.fraction 0.45..0.55
 *   dead.pair fill>fill 0.90..1
 *   dead.context fill fill<middle<outer<main
 */
#include "known.h"
#include <stdexcept>

static const int entries = 512;
static volatile uint64_t table[entries], spare[entries];
static volatile uint64_t total;

struct guard {
    volatile uint64_t *place;
    ~guard()
    {
        *place = *place + 1;
    }
};

__attribute__((noinline)) static uint64_t fill(uint64_t round)
{
    uint64_t sum = 0;
    for (int pass = 0; pass < 200; pass++) {
        const volatile uint64_t *from = pass & 1 ? table : spare;
        for (int i = 0; i < entries; i++) {
            table[i] = round; /* @fill */
            sum += from[i ^ (entries / 2)];
        }
    }
    total = sum;
    throw std::runtime_error("filled");
}

__attribute__((noinline)) static uint64_t middle(uint64_t round)
{
    guard count{&total};
    return fill(round) + 1;
}

__attribute__((noinline)) static bool outer(uint64_t round)
{
    try {
        return middle(round) == 1;
    } catch (const std::runtime_error &) {
        return true;
    }
}

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    for (uint64_t round = 0; known_running(seconds); round++)
        if (!outer(round))
            return 1;
    return 0;
}
