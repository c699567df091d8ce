// SPDX-License-Identifier: MIT
/*
 * At fixed addresses, and takes addresses of library functions that are chosen when they are bound:
 * an entry of the program's procedure linkage table stands for each of them.
 */
#include "hooked.h"

HOOKED int use(int (*compare)(const char *, const char *), const char *a, const char *b)
{
    OPAQUE(compare);
    return compare(a, b);
}

int main(int argc, char **argv)
{
    int sum = 0;
    uint64_t turns = amount(argc, argv, 100000);
    for (uint64_t i = 0; i < turns; i++) {
        sum += use(strcmp, "left", "right") < 0;
        sum += strcmp("b", i % 2 ? "a" : "c") > 0;
    }
    void *(*copy)(void *, const void *, size_t) = memcpy;
    OPAQUE(copy);
    char text[8];
    copy(text, "seven..", 8);
    say("%s %s\n", (uint64_t)sum == turns + turns / 2 ? "right" : "wrong", text);
    return 0;
}
