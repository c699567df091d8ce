// SPDX-License-Identifier: MIT
/*
 * Executes a kernel whose loads and stores call functions here, and whose loops say when they begin an iteration (loops.h), and goes through
 * all pairs of accesses to the same address of which one writes: what dependences are held against. No code is shared with those.
 *
 *     pairs KERNEL
 *
 * prints a line for each pair of places in the code: FROM TO R|W R|W DEPTH LEAST:GREATEST... INNER, distances in the loops around both;
 * INNER is the least distance in the innermost of these while the others are 0, or "-". FROM and TO are addresses of the code.
 */
#include "tsan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { DEPTH = 8, PLACES = 200, ARRAY_BYTES = 1 << 22 };

struct event {
    uint64_t address;
    uint32_t time;
    uint16_t place;
    uint8_t depth;
    int8_t loops[DEPTH];
    int16_t counts[DEPTH];
};
static struct event *events;
static size_t events_count, events_capacity;
static struct {
    const void *code;
    int write;
} places[PLACES];
static uint32_t places_count;
static struct pair {
    int seen, depth, inner;
    int low[DEPTH], high[DEPTH], inner_least;
} pairs[PLACES][PLACES];
static struct {
    int loop, count;
} stack[DEPTH];
static int depth;
static char *low;

int loop_enter(int loop);
void loop_leave(const int *once);
void loop_tick(void);
int loop_enter(int loop)
{
    if (depth == DEPTH)
        exit(4);
    stack[depth].loop = loop;
    stack[depth++].count = -1;
    return 1;
}
void loop_leave(const int *once)
{
    (void)once;
    depth--;
}
void loop_tick(void)
{
    stack[depth - 1].count++;
}

static void accessed(const void *address, const void *code, int write)
{
    uint32_t place = 0;
    if ((const char *)address < low || (const char *)address >= low + 9L * ARRAY_BYTES)
        return;
    while (place < places_count && (places[place].code != code || places[place].write != write))
        place++;
    if (place == PLACES)
        exit(5);
    if (place == places_count) {
        places[place].code = code;
        places[places_count++].write = write;
    }
    if (events_count == events_capacity) {
        events_capacity = events_capacity ? 2 * events_capacity : 1 << 16;
        events = realloc(events, events_capacity * sizeof *events);
    }
    struct event *event = &events[events_count];
    *event = (struct event){.address = (uintptr_t)address,
                            .time = (uint32_t)events_count++,
                            .place = (uint16_t)place,
                            .depth = (uint8_t)depth};
    for (int i = 0; i < depth; i++) {
        event->loops[i] = (int8_t)stack[i].loop;
        event->counts[i] = (int16_t)stack[i].count;
    }
}

static int by_address(const void *a, const void *b)
{
    const struct event *left = a, *right = b;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    return (left->time > right->time) - (left->time < right->time);
}

static void add_pair(const struct event *a, const struct event *b)
{
    struct pair *pair = &pairs[a->place][b->place];
    int common = 0, zero = 1;
    while (common < a->depth && common < b->depth && a->loops[common] == b->loops[common])
        common++;
    for (int i = 0; i < common; i++) {
        int distance = b->counts[i] - a->counts[i];
        if (!pair->seen || distance < pair->low[i])
            pair->low[i] = distance;
        if (!pair->seen || distance > pair->high[i])
            pair->high[i] = distance;
        if (i + 1 < common)
            zero &= !distance;
        else if (zero && (!pair->inner || distance < pair->inner_least)) {
            pair->inner = 1;
            pair->inner_least = distance;
        }
    }
    pair->seen = 1;
    pair->depth = common;
}

typedef void *P;
#define KERNEL(name) void name(void);
#include "kernels.list"
#undef KERNEL

/* Numbers in front of the arrays are in registers of their own (System V ABI). */
static void call(void (*kernel)(void), P *a)
{
    ((void (*)(double, double, double, P, P, P, P, P, P, P, P, P))kernel)(
        1.5, 1.2, 1.1, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
}

int main(int argc, char **argv)
{
    P arrays[9];
    low = mmap(NULL, 9L * ARRAY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (argc != 2 || low == MAP_FAILED)
        return 2;
    for (int i = 0; i < 9; i++)
        arrays[i] = low + (long)i * ARRAY_BYTES;
#define KERNEL(name)                                                                               \
    if (strcmp(argv[1], #name) == 0)                                                               \
        call(name, arrays);
#include "kernels.list"
    qsort(events, events_count, sizeof *events, by_address);
    for (size_t i = 0; i < events_count; i++)
        for (size_t j = i + 1; j < events_count && events[j].address == events[i].address; j++)
            if (places[events[i].place].write || places[events[j].place].write)
                add_pair(&events[i], &events[j]);
    for (uint32_t i = 0; i < places_count; i++)
        for (uint32_t j = 0; j < places_count; j++) {
            const struct pair *pair = &pairs[i][j];
            if (!pair->seen)
                continue;
            printf("%p %p %c %c %d", places[i].code, places[j].code, "RW"[places[i].write],
                   "RW"[places[j].write], pair -> depth);
            for (int k = 0; k < pair->depth; k++)
                printf(" %d:%d", pair->low[k], pair->high[k]);
            if (pair->inner)
                printf(" %d\n", pair->inner_least);
            else
                printf(" -\n");
        }
    return 0;
}
