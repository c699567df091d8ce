// SPDX-License-Identifier: MIT
/* Repeated string instructions, also such that end early, of any count and inside of loops. */
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone, noipa))

APART void fill(void *to, unsigned long count)
{
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(7) : "memory");
}

APART void copy(void *to, const void *from, unsigned long count)
{
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

APART unsigned long length(const char *text)
{
    unsigned long left = ~0ul;
    __asm__ volatile("repne scasb" : "+D"(text), "+c"(left) : "a"(0) : "memory", "cc");
    return ~left - 1;
}

APART int same(const char *a, const char *b, unsigned long count)
{
    int equal;
    if (count == 0)
        return 1;
    __asm__ volatile("repe cmpsb" : "=@ccz"(equal), "+c"(count), "+S"(a), "+D"(b) : : "memory");
    return equal;
}

struct large {
    long part[100];
};

APART struct large twice(struct large *from)
{
    struct large local = *from;
    for (int i = 0; i < 100; i++)
        local.part[i] *= 2;
    return local;
}

APART int classify(const char *text)
{
    int sum = 0;
    for (; *text; text++) {
        switch (*text & 7) {
        case 0: sum += text[0]; break;
        case 1: sum ^= text[1]; break;
        case 2: continue;
        case 3: sum *= 3; break;
        default: sum -= *text;
        }
        if (sum > 1000)
            sum = abs(sum) % 17;
    }
    return sum;
}

int main(void)
{
    static char a[256], b[256];
    struct large large = {{1, 2, 3}};
    long total = 0;
    for (unsigned long i = 0; i < 20; i++) {
        fill(a, i);
        copy(b, a, i / 8);
        total += (long)length(a) + same(a, b, i + 1) + same(a, b, 0);
        large = twice(&large);
    }
    fill(a, 0);
    for (int i = 0; i < 200; i++)
        b[i] = (char)(1 + i * 7 % 120);
    printf("%ld %ld %d\n", total, large.part[2], classify(b));
    return 0;
}
