// SPDX-License-Identifier: MIT
/*
 * Returns to two places, in turns, far below the stack of who calls them: none of their loads
 * yields what the one before did. Those of the third return do.
 */
__attribute__((noinline)) static void leaf(void)
{
    __asm__ volatile("");
}

__attribute__((noinline)) static void both(void)
{
    char room[8192];
    __asm__ volatile("" : : "r"(room) : "memory");
    leaf();
    leaf();
    __asm__ volatile("");
}

int main(void)
{
    for (long i = 0; i < 1000000; i++)
        both();
    return 0;
}
