// SPDX-License-Identifier: MIT
/* Compiled twice, by `headroom cc` and without: loops, a switch, recursion, pointers to functions,
   longjmp, calls that do not return. Deterministic; whatever counts paths of it must find the same.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPAQUE __attribute__((noinline, noclone))

static int data[1024];
static jmp_buf place;

OPAQUE static int pick(int x)
{
    if (x & 1)
        return x * 3;
    return x & 2 ? x + 7 : x;
}

OPAQUE static int loop(int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        data[i * 7 % 1024] = i;
        sum += i % 3 == 0 ? pick(i) : -data[i];
    }
    return sum;
}

OPAQUE static int factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

OPAQUE static int choose(int x)
{
    switch (x) {
    case 0: return 3;
    case 1: return x * loop(2);
    case 2: return 17;
    case 3: return pick(x);
    case 4: return 4 * x + 1;
    case 5: return factorial(4);
    case 6: return 99;
    default: return -x;
    }
}

OPAQUE static int odd(int n);

OPAQUE static int even(int n)
{
    return n == 0 || odd(n - 1);
}

OPAQUE static int odd(int n)
{
    return n != 0 && even(n - 1);
}

OPAQUE static void sort(int *numbers, int count)
{
    for (int i = 1; i < count; i++) {
        int held = numbers[i], j = i;
        for (; j > 0 && numbers[j - 1] > held; j--)
            numbers[j] = numbers[j - 1];
        numbers[j] = held;
    }
}

__attribute__((cold, noinline)) static int complain(int x)
{
    return data[x & 7] - x;
}

/* What is rare gcc moves into a part of its own, which leads back here. */
OPAQUE static int rarely(int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        if (__builtin_expect(i % 7 == 3, 0)) {
            sum += complain(i);
            if (sum > 10)
                sum -= complain(-i);
        }
        sum += data[i] & 3;
    }
    return sum;
}

OPAQUE static void jump(int depth)
{
    if (depth == 0)
        longjmp(place, 1);
    if (data[0] > 1000000) /* never; else the compiler finds that nothing returns */
        return;
    jump(depth - 1);
}

OPAQUE static int try(int times)
{
    volatile int tried = 0;
    setjmp(place);
    if (tried < times) {
        tried = tried + 1;
        jump(3);
    }
    return tried;
}

OPAQUE static int apply(int (*function)(int), int count)
{
    int sum = 0;
    while (count-- > 0)
        sum += function(count % 9);
    return sum;
}

OPAQUE static void leave(int code)
{
    printf("%d\n", code);
    exit(code == 0);
}

int main(void)
{
    static int (*const functions[])(int) = {pick, choose, even, factorial};
    int numbers[40], sum = loop(100);
    for (int i = 0; i < 40; i++)
        numbers[i] = i * 7919 % 101;
    sort(numbers, 40);
    for (int i = 0; i < 4; i++)
        sum += apply(functions[i], 20 + i);
    sum += try(4) + rarely(50) + numbers[20];
    leave(sum);
}
