// SPDX-License-Identifier: MIT
// Exceptions pass through instrumented functions, whose exits then do not run.
#include <cstdio>

extern "C" {
typedef long callee(void *);
long node_a(callee *, void *, callee *, void *), node_b(callee *, void *, callee *, void *);
extern long (*const leaves[50])();
}

static long leaf(void *which)
{
    return leaves[(long)which]();
}
static long thrower(void *)
{
    throw 5;
}
static long b(void *)
{
    return node_b(thrower, nullptr, nullptr, nullptr);
}
static long catcher(void *)
{
    try {
        node_b(b, nullptr, nullptr, nullptr);
    } catch (int number) {
        return number;
    }
    return 0;
}

int main()
{
    for (int i = 0; i < 10; i++)
        node_a(catcher, nullptr, leaf, (void *)1);
    leaf((void *)2);
    std::puts("thrown");
}
