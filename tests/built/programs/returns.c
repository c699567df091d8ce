// SPDX-License-Identifier: MIT
/*
 * Returns to two places, in turns, far below the stack of who calls them: none of their loads
 * yields what the one before did. The third return's do.
 */
__attribute__((noipa)) static void f(void)
{
}

__attribute__((noipa)) static void g(void)
{
}

__attribute__((noipa)) static void both(void)
{
    char room[8192];
    __asm__ volatile("" : : "r"(room) : "memory");
    f();
    g();
}

int main(void)
{
    for (long i = 0; i < 1000000; i++)
        both();
    return 0;
}
