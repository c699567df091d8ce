// SPDX-License-Identifier: MIT
/* An interpreter with computed gotos, and one whose states have more paths than a table holds. */
#include <stdio.h>

__attribute__((noinline)) static long run(const unsigned char *code, long a)
{
    static const void *const jumps[] = {&&add, &&twice, &&test, &&loop, &&stop};
    long counter = 20, steps = 0;
    const unsigned char *at = code;
#define NEXT                                                                                       \
    do {                                                                                           \
        steps++;                                                                                   \
        goto *jumps[*at++];                                                                        \
    } while (0)
    NEXT;
add:
    a += *at++;
    NEXT;
twice:
    a *= 2;
    if (a > 1000000)
        a %= 1009;
    NEXT;
test:
    if (a & 1)
        at++;
    NEXT;
loop:
    if (--counter > 0)
        at = code;
    NEXT;
stop:
    return a * 1000 + steps;
}

/* It does not come to rest over lines of macros. */
/* clang-format off */
/* 2^24 paths: hashed. */
__attribute__((noinline)) static unsigned bits(unsigned x)
{
    unsigned r = 1;
#define BIT(n)                                                                                     \
    if (x & 1u << n)                                                                               \
        r = r * 31 + n;                                                                            \
    else                                                                                           \
        r ^= n << 3;                                                                               \
    __asm__ volatile("" : "+r"(r));
    BIT(0) BIT(1) BIT(2) BIT(3) BIT(4) BIT(5) BIT(6) BIT(7) BIT(8) BIT(9) BIT(10) BIT(11)
    BIT(12) BIT(13) BIT(14) BIT(15) BIT(16) BIT(17) BIT(18) BIT(19) BIT(20) BIT(21) BIT(22) BIT(23)
    return r;
}

/* 2^48 paths: cut into pieces. */
__attribute__((noinline)) static unsigned more_bits(unsigned x)
{
    unsigned r = 1;
    BIT(0) BIT(1) BIT(2) BIT(3) BIT(4) BIT(5) BIT(6) BIT(7) BIT(8) BIT(9) BIT(10) BIT(11)
    BIT(12) BIT(13) BIT(14) BIT(15) BIT(16) BIT(17) BIT(18) BIT(19) BIT(20) BIT(21) BIT(22) BIT(23)
    x = x * 2654435761u;
    BIT(0) BIT(1) BIT(2) BIT(3) BIT(4) BIT(5) BIT(6) BIT(7) BIT(8) BIT(9) BIT(10) BIT(11)
    BIT(12) BIT(13) BIT(14) BIT(15) BIT(16) BIT(17) BIT(18) BIT(19) BIT(20) BIT(21) BIT(22) BIT(23)
    return r;
}
/* clang-format on */

int main(void)
{
    static const unsigned char code[] = {0, 3, 2, 1, 0, 1, 2, 1, 3, 4, 4};
    unsigned sum = 0;
    printf("%ld %ld\n", run(code, 1), run(code, 4));
    for (unsigned i = 0; i < 700; i++)
        sum += bits(i * 2654435761u >> 3) ^ more_bits(i * 40503u);
    printf("%u\n", sum);
    return 0;
}
