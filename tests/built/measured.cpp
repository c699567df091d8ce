// SPDX-License-Identifier: MIT
// Time behind landing pads: what came before is of a call that did not return.
extern "C" long outside_long(long x);
extern "C" long catches(long x);

#define TIMES10(x)  x x x x x x x x x x
#define MULTIPLY(x) __asm__ volatile("imulq %0, %0\n\t" : "+r"(x));
#define SHORT(x)    TIMES10(TIMES10(TIMES10(MULTIPLY(x))))

[[gnu::noinline]] static long throws(long x)
{
    x = outside_long(x);
    if (x != 5) // always
        throw x;
    return x;
}

long catches(long x)
{
    try {
        return throws(x + 2);
    } catch (long thrown) {
        SHORT(thrown)
        return thrown;
    }
}
