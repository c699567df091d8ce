// SPDX-License-Identifier: MIT
/*
 * What one access costs in shadow: helpers as the exact engine calls them, not inlined, over
 * patterns that are common in programs. Prints nanoseconds and time-stamp cycles per access,
 * the least of several rounds; `call` is a helper that does nothing.
 *
 *     patterns [PART OF A PATTERN'S NAME]
 */
#include "helpers.h"
#include "trace_file.h"

#include <stdio.h>
#include <string.h>
#include <x86intrin.h>

enum { ROUNDS = 15, START = 1 << 20, IDS = 4096 };

HELPER call(uint64_t address, uint32_t id, uint64_t value)
{
    __asm__ volatile("" : : "r"(address), "r"(id), "r"(value));
}

HELPER load_16(uint64_t address, uint32_t id, const uint8_t *value)
{
    shadow_load(&shadow, address, id, 16, value);
}

HELPER store_16(uint64_t address, uint32_t id, const uint8_t *before, const uint8_t *value)
{
    shadow_store(&shadow, address, id, 16, before, value);
}

/* ---- patterns: each returns its number of accesses ----------------------------------- */

enum { SMALL = 16384, BIG = 64 << 20 };

/* Of a linear congruential generator: its highest bits are what is random enough here. */
static inline uint64_t next(uint64_t *state)
{
    return *state = *state * 6364136223846793005u + 1442695040888963407u;
}

static uint64_t calls(unsigned round)
{
    for (uint64_t i = 0; i < SMALL; i += 8)
        call(START + i, 1, round);
    return SMALL / 8;
}

static uint64_t loads_8(unsigned round)
{
    for (uint64_t i = 0; i < SMALL; i += 8)
        load_8(START + i, 1, 7);
    return SMALL / 8;
}

static uint64_t loads_8_changing(unsigned round)
{
    for (uint64_t i = 0; i < SMALL; i += 8)
        load_8(START + i, 1, round);
    return SMALL / 8;
}

/* Which of them change cannot be predicted. */
static uint64_t loads_8_half(unsigned round)
{
    uint64_t state = round;
    for (uint64_t i = 0; i < SMALL; i += 8)
        load_8(START + i, 1, next(&state) >> 63);
    return SMALL / 8;
}

static uint64_t loads_8_far(unsigned round)
{
    for (uint64_t i = 0; i < BIG; i += 8)
        load_8(START + i, 1, 7);
    return BIG / 8;
}

static uint64_t loads_8_two_sites(unsigned round)
{
    for (uint32_t id = 1; id < 3; id++)
        for (uint64_t i = 0; i < SMALL; i += 8)
            load_8(START + i, id, 7);
    return SMALL / 4;
}

static uint64_t loads_4(unsigned round)
{
    for (uint64_t i = 0; i < SMALL; i += 4)
        load_4(START + i, 1, 7);
    return SMALL / 4;
}

static uint64_t loads_1(unsigned round)
{
    for (uint64_t i = 0; i < SMALL; i++)
        load_1(START + i, 1, 7);
    return SMALL;
}

static uint64_t loads_1_two_sites(unsigned round)
{
    for (uint32_t id = 1; id < 3; id++)
        for (uint64_t i = 0; i < SMALL; i++)
            load_1(START + i, id, 7);
    return 2 * SMALL;
}

static uint64_t stores_1_two_sites(unsigned round)
{
    for (uint32_t id = 101; id < 103; id++)
        for (uint64_t i = 0; i < SMALL; i++)
            store_1(START + i, id, 7, 7);
    return 2 * SMALL;
}

/* One byte of each eight: flags in structures, met by two sites; the units stay mixed. */
static uint64_t loads_1_lone(unsigned round)
{
    for (uint32_t id = 1; id < 3; id++)
        for (uint64_t i = 0; i < SMALL; i += 8)
            load_1(START + i + 1, id, 7);
    return SMALL / 4;
}

/* Sites 1 and 2 take turns, site 3 follows: what it meets alternates. */
static uint64_t loads_8_alternating(unsigned round)
{
    for (uint64_t i = 0; i < SMALL; i += 8)
        load_8(START + i, 1 + (i >> 3 & 1), 7);
    for (uint64_t i = 0; i < SMALL; i += 8)
        load_8(START + i, 3, 7);
    return SMALL / 4;
}

/* The same with eight sites drawn at random. */
static uint64_t loads_8_random_former(unsigned round)
{
    uint64_t state = round;
    for (uint64_t i = 0; i < SMALL; i += 8)
        load_8(START + i, 1 + (uint32_t)(next(&state) >> 61), 7);
    for (uint64_t i = 0; i < SMALL; i += 8)
        load_8(START + i, 20, 7);
    return SMALL / 4;
}

static uint64_t stores_8(unsigned round)
{
    for (uint64_t i = 0; i < SMALL; i += 8)
        store_8(START + i, 101, 7, 7);
    return SMALL / 8;
}

/* Pushed and popped, spilled and reloaded. */
static uint64_t stores_loads_8(unsigned round)
{
    for (uint64_t i = 0; i < SMALL; i += 8) {
        store_8(START + i, 101, 7, round);
        load_8(START + i, 1, round);
    }
    return SMALL / 4;
}

/* Some are read, others not: flags as branch conditions. */
static uint64_t stores_loads_8_half(unsigned round)
{
    uint64_t state = round, loads = 0;
    for (uint64_t i = 0; i < SMALL; i += 8) {
        store_8(START + i, 101, 7, round);
        if (next(&state) >> 63)
            load_8(START + i, 1, round), loads++;
    }
    return SMALL / 8 + loads;
}

static uint64_t floats_changing(unsigned round)
{
    double value = round;
    uint64_t bits;
    memcpy(&bits, &value, 8);
    for (uint64_t i = 0; i < SMALL; i += 8)
        load_8(START + i, 60, bits);
    return SMALL / 8;
}

static uint64_t loads_16(unsigned round)
{
    static const uint8_t value[16] = {7};
    for (uint64_t i = 0; i < SMALL; i += 16)
        load_16(START + i, 1, value);
    return SMALL / 16;
}

static uint64_t loads_16_floats(unsigned round)
{
    float value[4] = {round, 1, round, 2};
    for (uint64_t i = 0; i < SMALL; i += 16)
        load_16(START + i, 61, (const uint8_t *)value);
    return SMALL / 16;
}

static uint64_t stores_16(unsigned round)
{
    static const uint8_t value[16] = {7};
    for (uint64_t i = 0; i < SMALL; i += 16)
        store_16(START + i, 101, value, value);
    return SMALL / 16;
}

static uint64_t loads_16_unaligned(unsigned round)
{
    static const uint8_t value[16] = {7};
    for (uint64_t i = 3; i < SMALL; i += 16)
        load_16(START + i, 1, value);
    return SMALL / 16;
}

static uint64_t loads_8_unaligned(unsigned round)
{
    for (uint64_t i = 3; i < SMALL; i += 8)
        load_8(START + i, 1, 7);
    return SMALL / 8;
}

/* Forty sites at random fields of random structures. */
static uint64_t mixture(unsigned round)
{
    enum { COUNT = 20000 };
    uint64_t state = 99;
    for (uint64_t i = 0; i < COUNT; i++) {
        next(&state);
        uint32_t site = state >> 40 & 31, field = site & 7;
        uint64_t address = START + (state >> 50 & 255) * 64;
        switch (field) {
        case 0: load_8(address, 1 + site, 5); break;
        case 1: load_8(address, 1 + site, 5); break;
        case 2: store_8(address + 8, 101 + site, 5, i); break;
        case 3: load_8(address + 8, 1 + site, i); break;
        case 4: load_4(address + 16, 1 + site, 5); break;
        case 5: load_1(address + 20, 1 + site, 5); break;
        case 6: store_4(address + 24, 101 + site, 5, 5); break;
        default: load_4(address + 24, 1 + site, 5); break;
        }
    }
    return COUNT;
}

static const struct pattern {
    const char *name;
    uint64_t (*run)(unsigned round);
} patterns[] = {
    {"call", calls},
    {"load 8, one site", loads_8},
    {"load 8, values change", loads_8_changing},
    {"load 8, half of them change", loads_8_half},
    {"load 8, one site, 64 MiB", loads_8_far},
    {"load 8, two sites in turn", loads_8_two_sites},
    {"load 8, former alternates", loads_8_alternating},
    {"load 8, former random", loads_8_random_former},
    {"load 4, one site", loads_4},
    {"load 1, one site", loads_1},
    {"load 1, two sites in turn", loads_1_two_sites},
    {"store 1, two sites in turn", stores_1_two_sites},
    {"load 1, lone bytes", loads_1_lone},
    {"store 8, one site", stores_8},
    {"store 8 then load 8", stores_loads_8},
    {"store 8 then half load 8", stores_loads_8_half},
    {"load 8, floats change", floats_changing},
    {"load 16", loads_16},
    {"load 16, floats half change", loads_16_floats},
    {"store 16", stores_16},
    {"load 16, unaligned", loads_16_unaligned},
    {"load 8, unaligned", loads_8_unaligned},
    {"mixture", mixture},
};

static void measure(const struct pattern *pattern)
{
    double least_ns = 1e9, least_cycles = 1e9;
    shadow_forget(&shadow, 0, (uint64_t)256 << 20);
    uint64_t repeat = 400000 / pattern->run(0) + 1;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        uint64_t accesses = 0, cycles = __rdtsc();
        double start = now_ns();
        for (uint64_t i = 0; i < repeat; i++)
            accesses += pattern->run(round * 1000 + (unsigned)i);
        double ns = (now_ns() - start) / (double)accesses;
        double spent = (double)(__rdtsc() - cycles) / (double)accesses;
        least_ns = ns < least_ns ? ns : least_ns;
        least_cycles = spent < least_cycles ? spent : least_cycles;
    }
    printf("%-28s %7.2f ns %7.1f cycles\n", pattern->name, least_ns, least_cycles);
}

int main(int count, char **arguments)
{
    if (shadow_init(&shadow, (uint64_t)1 << 34, IDS, 0.01f, &trace_shadow_memory) != BASE_OK)
        return 1;
    for (uint32_t id = 1; id < IDS; id++)
        shadow_define(&shadow, id, id == 60 ? SHADOW_FLOAT | 8 : id == 61 ? SHADOW_FLOAT | 4 : 8);
    for (unsigned i = 0; i < BASE_COUNT(patterns); i++)
        if (count < 2 || strstr(patterns[i].name, arguments[1]))
            measure(&patterns[i]);
    shadow_free(&shadow);
    return 0;
}
