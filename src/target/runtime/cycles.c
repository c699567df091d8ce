// SPDX-License-Identifier: MIT
/*
 * What it costs to measure time by the time stamp counter, and how fast that runs; or what it costs
 * to read the event that is recorded instead, in its own unit. A few hundred microseconds once a
 * module, with events some milliseconds, and only where somebody will read it.
 */
#include "runtime/runtime.h"

#include <asm/unistd.h>

enum { BATCHES = 16, READINGS = 32, SPIN_NS = 200000, TRIES = 4, MONOTONIC = 1 };

uint64_t headroom_read_cycles;

static uint64_t read_counter(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* There is no red zone: see meson.build. */
#define READ "call headroom_read\n\t"

/* What added code reads: an event, perhaps. */
static uint64_t read_measure(void)
{
    uint64_t reading;
    __asm__ volatile(READ : "=a"(reading) : : "rdx", "cc", "memory");
    return reading;
}

/* What added code does where a path that is measured begins and ends (instrument/cycles.c, emit.c);
   the cycles of all are added up. */
static uint64_t count_many(void)
{
    uint64_t begin = 0, cells[3] = {0};
    for (int i = 0; i < READINGS; i++)
        __asm__ volatile(READ "movq %%rax, %0\n\tincq %1\n\tcmpq $0, %0\n\tje 1f\n\t" READ
                              "subq %0, %%rax\n\tmovq $0, %0\n\t"
                              "addq %%rax, %2\n\tincq %3\n1:"
                         : "+m"(begin), "+m"(cells[0]), "+m"(cells[1]), "+m"(cells[2])
                         :
                         : "rax", "rdx", "cc");
    return cells[1];
}

/* And before and behind calls: what is left of the time when all between those is taken off. */
static uint64_t call_many(void)
{
    uint64_t begin = read_measure();
    for (int i = 0; i < READINGS; i++)
        __asm__ volatile("cmpq $0, %0\n\tje 1f\n\t" READ
                         "subq %%rax, %0\n1:\tcmpq $0, %0\n\tje 2f\n\t" READ "addq %%rax, %0\n2:"
                         : "+m"(begin)
                         :
                         : "rax", "rdx", "cc");
    return read_measure() - begin;
}

/* The least of several: interrupts only ever add. */
static uint64_t least_of(uint64_t (*many)(void))
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < BATCHES; i++) {
        uint64_t cycles = many();
        least = cycles < least ? cycles : least;
    }
    return least;
}

/* One moment by both clocks: of several attempts the one that took the shortest time. */
struct moment {
    uint64_t cycles, ns;
};
static struct moment look(void)
{
    struct moment best = {0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t time[2] = {0}, before = read_counter();
        RUNTIME_CALL(__NR_clock_gettime, MONOTONIC, time);
        uint64_t took = read_counter() - before;
        if (took < least) {
            least = took;
            best.cycles = before + took / 2;
            best.ns = time[0] * 1000000000u + time[1];
        }
    }
    return best;
}

/* Real numbers without vector registers: the quotient's bits, by integers. */
static uint64_t quotient(uint64_t dividend, uint64_t divisor)
{
    if (!dividend || !divisor)
        return 0;
    int exponent = 0;
    while (dividend >> 63 == 0) {
        dividend <<= 1;
        exponent--;
    }
    uint64_t whole = dividend / divisor, rest = dividend % divisor;
    while (whole >> 52 == 0) { /* rest < divisor: far from 2^63 */
        rest <<= 1;
        whole = whole << 1 | (rest >= divisor);
        rest -= rest >= divisor ? divisor : 0;
        exponent--;
    }
    while (whole >> 53) {
        whole >>= 1;
        exponent++;
    }
    return (uint64_t)(exponent + 52 + 1023) << 52 | (whole & ((UINT64_C(1) << 52) - 1));
}

static void store(double *out, uint64_t bits)
{
    *(uint64_t *)out = bits;
}

struct instrumented_overhead *runtime_cycles_begin(struct runtime_module *module)
{
    if (!module->region || !(module->modes & INSTRUMENTED_CYCLES))
        return NULL;
    bool event = module->region->metrics & INSTRUMENTED_PMU;
    struct runtime_event tried = {0};
    if (event)
        runtime_event_try(module, &tried);
    struct moment first = look(), last = first;
    uint64_t cycles = least_of(count_many);
    headroom_read_cycles = (least_of(call_many) + READINGS / 2) / READINGS;
    if (event)
        runtime_event_tried(&tried);
    while (!event && last.ns - first.ns < SPIN_NS)
        last = look();
    struct instrumented_overhead *out =
        (struct instrumented_overhead *)runtime_piece(module, sizeof *out, 0);
    if (!out)
        return NULL;
    store(&out->cycles_per_read, quotient(cycles, READINGS));
    store(&out->cycles_per_ns, quotient(last.cycles - first.cycles, last.ns - first.ns));
    return out;
}
