// SPDX-License-Identifier: MIT
/*
 * A small program that does a bit of everything to memory, every access aligned to
 * its element: for comparisons of methods that must agree on each byte. Without a C library, so
 * that it is a few ten thousand accesses and nothing in them is an accident.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ITEMS = 64, GRID = 24, TEXT = 256, ROUNDS = 3, PAGE = 4096 };

/* A function that stays one, in the form that its caller sees. */
#ifdef __clang__
#define OPAQUE static __attribute__((noinline, used))
#else
#define OPAQUE static __attribute__((noinline, noipa, used))
#endif

static uint32_t items[ITEMS];
static double grid[2][GRID][GRID];
static float samples[ITEMS];
static char text[TEXT] __attribute__((aligned(64)));
static uint16_t histogram[256];
static union {
    uint8_t bytes[64];
    uint16_t halves[32];
    uint32_t words[16];
    uint64_t longs[8];
} mixed __attribute__((aligned(64)));

struct node {
    struct node *next;
    uint32_t key, count;
};
static struct node nodes[ITEMS];

static uint64_t state = 1;

OPAQUE uint32_t random_below(uint32_t bound)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)((state >> 33) % bound);
}

OPAQUE void sort(uint32_t *from, uint32_t *to)
{
    if (to - from < 2)
        return;
    uint32_t pivot = from[(to - from) / 2], *low = from, *high = to - 1;
    while (low <= high) {
        while (*low < pivot)
            low++;
        while (*high > pivot)
            high--;
        if (low <= high) {
            uint32_t kept = *low;
            *low++ = *high;
            *high-- = kept;
        }
    }
    sort(from, high + 1);
    sort(low, to);
}

OPAQUE void relax(double (*from)[GRID], double (*to)[GRID])
{
    for (int i = 1; i < GRID - 1; i++)
        for (int j = 1; j < GRID - 1; j++)
            to[i][j] = 0.25 * (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]);
}

OPAQUE void smooth(void)
{
    for (int i = 1; i < ITEMS - 1; i++)
        samples[i] = samples[i] + (samples[i - 1] + samples[i + 1]) * 0.001F;
}

OPAQUE void count_text(void)
{
    for (int i = 0; i < TEXT; i++)
        text[i] = (char)('a' + random_below(5));
    for (int i = 0; i < TEXT; i++)
        histogram[(uint8_t)text[i]]++;
    for (int i = 0; i < TEXT; i++)
        histogram[(uint8_t)text[i]] |= 0;
}

/* Parts of each other, in all aligned sizes. */
OPAQUE uint64_t mix(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < 200; i++) {
        uint32_t at = random_below(64), value = random_below(3);
        switch (random_below(8)) {
        case 0: mixed.bytes[at] = (uint8_t)value; break;
        case 1: mixed.halves[at / 2] = (uint16_t)value; break;
        case 2: mixed.words[at / 4] = value; break;
        case 3: mixed.longs[at / 8] = value; break;
        case 4: sum += mixed.bytes[at]; break;
        case 5: sum += mixed.halves[at / 2]; break;
        case 6: sum += mixed.words[at / 4]; break;
        case 7: sum += mixed.longs[at / 8]++; break;
        }
    }
    return sum;
}

/* Over the borders of words and lines. */
OPAQUE void misaligned(void)
{
    for (int i = 0; i + 8 <= TEXT; i += 7) {
        uint64_t eight;
        __builtin_memcpy(&eight, text + i, sizeof eight);
        eight += 256;
        __builtin_memcpy(text + i, &eight, sizeof eight);
    }
}

OPAQUE struct node *insert(struct node *list, struct node *fresh)
{
    struct node **at = &list;
    while (*at && (*at)->key < fresh->key)
        at = &(*at)->next;
    if (*at && (*at)->key == fresh->key) {
        (*at)->count++;
        return list;
    }
    fresh->next = *at;
    fresh->count = 1;
    *at = fresh;
    return list;
}

static long call(long number, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = -1;
    register long r9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
enum { SYSTEM_READ = 0, SYSTEM_WRITE = 1, SYSTEM_MMAP = 9, SYSTEM_MUNMAP = 11, SYSTEM_EXIT = 60 };

OPAQUE void with_kernel(void)
{
    call(SYSTEM_WRITE, 1, (long)text, 40, 0);
    call(SYSTEM_READ, 0, (long)(text + 32), 32, 0);
    uint64_t *fresh = (uint64_t *)call(SYSTEM_MMAP, 0x20000000, PAGE, 3, 0x32);
    for (int i = 0; i < 16; i++)
        fresh[i] = (uint64_t)i;
    fresh[3] = 5;
    call(SYSTEM_MUNMAP, (long)fresh, PAGE, 0, 0);
    fresh = (uint64_t *)call(SYSTEM_MMAP, 0x20000000, PAGE, 3, 0x32);
    fresh[3] = fresh[4];
    call(SYSTEM_READ, 0, (long)fresh, 64, 0);
    fresh[3] = fresh[4];
}

OPAQUE uint64_t run(bool sizes_meet)
{
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ITEMS; i++) {
            items[i] = random_below(1000);
            samples[i] = (float)random_below(100);
        }
        sort(items, items + ITEMS);
        for (int i = 0; i < GRID; i++)
            grid[0][i][0] = grid[0][0][i] = i;
        for (int i = 0; i < 6; i++)
            relax(grid[i & 1], grid[~i & 1]);
        smooth();
        smooth();
        count_text();
        if (sizes_meet) {
            sum += mix();
            misaligned();
        }
        struct node *list = NULL;
        for (int i = 0; i < ITEMS / 2; i++) {
            nodes[i].key = random_below(40);
            list = insert(list, &nodes[i]);
        }
        for (; list; list = list->next)
            sum += list->count;
        with_kernel();
    }
    return sum;
}

OPAQUE void begin(const long *arguments)
{
    call(SYSTEM_EXIT, run(*arguments == 1) == 1, 0, 0, 0);
}

/* The number of arguments lies where the stack begins, aligned as functions want it. */
__asm__(".globl _start\n"
        "_start: mov %rsp, %rdi\n"
        "call begin\n"
        "hlt\n");
