// SPDX-License-Identifier: MIT
/*
 * Reuse distances of a trace by the definition: locations in the order of their last touch, in
 * which each one is searched from the top.
 *
 *     stack TRACE UNIT_SHIFT
 *
 * Prints "touches N", "first N", and "time D N" and "stack D N" for each distance that occurs.
 */
#include "trace_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct held {
    uint64_t location, time;
};

/* Counts by distance, grown as needed. */
struct counts {
    uint64_t *of, size;
};

static struct held *stack; /* the top is the last one: touches near it move little */
static size_t held, capacity;
static struct counts times, stacks;
static uint64_t touches, first;

static void *grown(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (!memory) {
        fputs("no memory\n", stderr);
        exit(2);
    }
    return memory;
}

static void count(struct counts *counts, uint64_t distance)
{
    if (distance >= counts->size) {
        uint64_t size = 2 * distance + 64;
        counts->of = grown(counts->of, size * sizeof *counts->of);
        memset(counts->of + counts->size, 0, (size - counts->size) * sizeof *counts->of);
        counts->size = size;
    }
    counts->of[distance]++;
}

static void take_out(size_t at)
{
    memmove(stack + at, stack + at + 1, (held - at - 1) * sizeof *stack);
    held--;
}

static void touch(uint64_t location, uint64_t now)
{
    size_t at = held;
    touches++;
    while (at && stack[at - 1].location != location)
        at--;
    if (at--) {
        count(&times, now - stack[at].time);
        count(&stacks, held - 1 - at);
        take_out(at);
    } else {
        first++;
    }
    if (held == capacity) {
        capacity = 2 * capacity + 64;
        stack = grown(stack, capacity * sizeof *stack);
    }
    stack[held++] = (struct held){location, now};
}

static void forget(uint64_t from, uint64_t to)
{
    for (size_t at = held; at-- > 0;)
        if (stack[at].location >= from && stack[at].location <= to)
            take_out(at);
}

static void print(const char *name, const struct counts *counts)
{
    for (uint64_t distance = 0; distance < counts->size; distance++)
        if (counts->of[distance])
            printf("%s %" PRIu64 " %" PRIu64 "\n", name, distance, counts->of[distance]);
}

int main(int count_of_words, char **words)
{
    if (count_of_words != 3) {
        fputs("usage: stack TRACE UNIT_SHIFT\n", stderr);
        return 2;
    }
    struct wire_trace_reader *reader = trace_open(words[1], TRACE_IDS_MAX);
    unsigned shift = (unsigned)atoi(words[2]);
    struct wire_trace_event event;
    uint64_t now = 0;
    while (trace_next(reader, &event)) {
        uint64_t from = event.address >> shift, to = (event.address + event.bytes - 1) >> shift;
        if (event.type == WIRE_TRACE_FORGET && event.bytes)
            forget(from, to);
        if (event.type != WIRE_TRACE_LOAD && event.type != WIRE_TRACE_STORE)
            continue;
        now++;
        for (uint64_t location = from; location <= to; location++)
            touch(location, now);
    }
    printf("touches %" PRIu64 "\nfirst %" PRIu64 "\n", touches, first);
    print("time", &times);
    print("stack", &stacks);
    return 0;
}
