// SPDX-License-Identifier: MIT
/* Known paths: odd and even steps of a loop, and a recursion. */
#include <stdio.h>

static int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int work(int steps)
{
    int sum = 0;
    for (int i = 0; i < steps; i++) {
        if (i % 2)
            sum += i;
        else
            sum -= fibonacci(i % 9);
    }
    return sum;
}

int main(void)
{
    printf("%d\n", work(1000));
    return 0;
}
