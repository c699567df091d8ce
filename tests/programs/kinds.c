// SPDX-License-Identifier: MIT
/*
 * What findings are for: tests/answers/kinds says what each mode must give. Counts of rounds, not seconds: for the exact engine,
 * which needs few. Marks are the lines that must, or must not, be found.
 */
#include "known.h"
#include <string.h>

enum { COLUMNS = 512, KEYS = 64 };

struct setting {
    double scale;
};

struct node {
    struct node *next;
    uint64_t key;
};

static double sums[COLUMNS], parts[COLUMNS], others[COLUMNS], more[COLUMNS];
static struct node nodes[KEYS];

/* Each value is within 1 % of the one that it is made from. */
KNOWN_OPAQUE static void accumulate(double *to, const double *from, double factor)
{
    for (int i = 0; i < COLUMNS; i++)
        to[i] += factor * from[i]; /* @accumulate */
}

/* The same values as before, but for the last bits: nothing is made from what was there. */
KNOWN_OPAQUE static void refill(double *to, const double *from, double factor)
{
    for (int i = 0; i < COLUMNS; i++)
        to[i] = factor * from[i]; /* @refill */
}

/* The result may alias the setting, for all that the compiler knows. */
KNOWN_OPAQUE static void sweep(double *to, const struct setting *setting, long rounds)
{
    for (long round = 0; round < rounds; round++)
        for (int i = 0; i < COLUMNS; i++) {
            double sum = parts[i] + others[i] + more[i]; /* @again */
            double scale = setting->scale;
            to[i] = sum * scale; /* @scale */
        }
}

KNOWN_OPAQUE static uint64_t find(const struct node *node, uint64_t key)
{
    while (node && node->key != key) /* @key */
        node = node->next;           /* @next */
    return node ? node->key : 0;
}

/* Twice in one round, because of the store in between. */
KNOWN_OPAQUE static void twice(double *to, const double *from, double *last)
{
    for (int i = 0; i < COLUMNS; i++) {
        to[i] = from[i] + 1; /* @first */
        *last = from[i];     /* @second */
    }
}

/* No register keeps the factor from one round to the next. */
KNOWN_OPAQUE static void multiply(double *to, const double *from)
{
    for (int i = 0; i < COLUMNS; i++) {
        __asm__ volatile("" ::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                               "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                               "xmm15");
        to[i] = from[i] * 1.25; /* @constant */
    }
}

KNOWN_OPAQUE static uint64_t leaf(uint64_t value)
{
    return value * 3;
}

/* Needs registers of its caller's. */
KNOWN_OPAQUE static uint64_t branch(uint64_t a, uint64_t b, uint64_t c)
{
    return leaf(a) + b + c;
}

KNOWN_OPAQUE static size_t measure(const char *text)
{
    __asm__ volatile("" : "+r"(text));
    return strlen(text);
}

/* The first letter of a mode is enough: comparing names would load more than what is looked for. */
static double run(char mode, long rounds)
{
    static const struct setting setting = {2};
    static const char text[] = "text";
    double last = 0;
    if (mode == 's')
        sweep(sums, &setting, rounds);
    for (long round = 0; round < rounds; round++) {
        switch (mode) {
        case 'a': accumulate(sums, parts, round & 1 ? 1e-5 : -1e-5); break;
        case 'r': refill(sums, parts, round & 1 ? 1.004 : 1.0); break;
        case 'f': last += (double)find(nodes, KEYS); break;
        case 't': twice(sums, parts, &last); break;
        case 'c': last += (double)branch(3, 4, 5); break;
        case 'm': multiply(sums, parts); break;
        case 'l': last += (double)measure(text); break;
        default: break;
        }
    }
    return last + sums[0];
}

int main(int argc, char **argv)
{
    for (int i = 0; i < COLUMNS; i++) {
        sums[i] = 1000 + i;
        parts[i] = others[i] = more[i] = 1 + i;
    }
    for (int i = 0; i < KEYS; i++)
        nodes[i] = (struct node){i + 1 < KEYS ? &nodes[i + 1] : NULL, (uint64_t)i + 1};
    return run(argc > 1 ? argv[1][0] : 0, argc > 2 ? atol(argv[2]) : 1000) == -1;
}
