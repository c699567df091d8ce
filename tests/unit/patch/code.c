// SPDX-License-Identifier: MIT
/* Many kinds of functions, run before and after all of them are patched. */
#include <stdint.h>
#define KEEP __attribute__((noinline, noclone))
typedef uint64_t u;
static u table[64] = {1, 2, 3};
u global = 7;
static volatile u noise;
KEEP u add(u a, u b)
{
    return a + b + global;
}
KEEP u gcd(u a, u b)
{
    while (b) {
        u t = a % b;
        a = b;
        b = t;
    }
    return a;
}
KEEP u fib(u n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
KEEP u pick(u n, u b)
{
    switch (n % 11) {
    case 0: return b;
    case 1: return add(b, 3);
    case 2: return gcd(b, 12);
    case 3: return b * 3;
    case 4: return b ^ n;
    case 5: global += b; return global;
    case 6: return b >> 3;
    case 7: return ~b;
    case 8: return fib(b % 12);
    case 9: return b << 5;
    }
    return noise;
}
KEEP u again(u n, u b)
{
    u s = 0;
    for (;;)
        switch (n-- % 7) {
        case 0:
            s += b;
            if (n > 100)
                return s;
            break;
        case 1: s ^= b; continue;
        case 2: s *= 3; break;
        case 3: s -= n; continue;
        case 4: s += 5; break;
        case 5:
            if (n > 1000)
                return s;
            continue;
        case 6: s ^= n; break;
        }
}
KEEP u interpret(u n, u b)
{
    static const void *const jump[] = {&&a, &&s, &&m, &&e};
    u r = b;
    int pc = 0;
    goto *jump[n & 3];
a:
    r += n;
    n >>= 2;
    pc++;
    goto *jump[pc > 20 ? 3 : n & 3];
s:
    r -= 3;
    n >>= 2;
    pc++;
    goto *jump[pc > 20 ? 3 : n & 3];
m:
    r *= 5;
    n >>= 2;
    pc++;
    goto *jump[pc > 20 ? 3 : n & 3];
e:
    return r + pc;
}
KEEP double area(double x, double y)
{
    return x * y + 0.5;
}
KEEP u real(u a, u b)
{
    return (u)(area((double)(a % 100), (double)(b % 100)) * 8);
}
struct big {
    u v[6];
};
KEEP struct big make(u a, u b)
{
    struct big r = {{a, b, a + b, a ^ b, a * b, 9}};
    return r;
}
KEEP u use(u a, u b)
{
    struct big r = make(a, b);
    return r.v[2] ^ r.v[4];
}
KEEP u many(u a, u b, u c, u d, u e, u f, u g, u h, u i)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}
KEEP u spread(u a, u b)
{
    return many(a, b, 3, 4, 5, 6, 7, a, b);
}
KEEP u variadic(int n, ...)
{
    __builtin_va_list l;
    __builtin_va_start(l, n);
    u s = 0;
    while (n--)
        s = s * 31 + __builtin_va_arg(l, u);
    __builtin_va_end(l);
    return s;
}
KEEP u list(u a, u b)
{
    return variadic(7, a, b, a + 1, b + 1, a + 2, b + 2, a ^ b);
}
KEEP u fill(u a, u b)
{
    for (u i = 0; i < 64; i++)
        table[i] = a * i + b;
    u s = 0;
    for (u i = 0; i < 64; i++)
        s = s * 3 + table[i];
    return s;
}
KEEP u tail(u a, u b)
{
    return add(b, a);
}
typedef u two(u, u);
static two *volatile chosen[] = {add, gcd, pick, tail, fill};
KEEP u indirect(u a, u b)
{
    return chosen[a % 5](b, a);
}
KEEP u odd(u n);
KEEP u even(u n)
{
    return n ? odd(n - 1) : 1;
}
KEEP u odd(u n)
{
    return n ? even(n - 1) : 0;
}
KEEP u parity(u a, u b)
{
    return even(a % 50) * 2 + odd(b % 50);
}
KEEP u nothing(u a, u b)
{
    return 0;
}
KEEP u identity(u a, u b)
{
    return a;
}
KEEP u strings(u a, u b)
{
    char t[64];
    u n = 0;
    for (; a && n < 60; a /= 10)
        t[n++] = (char)('0' + a % 10);
    u h = b;
    while (n)
        h = h * 33 + (u)t[--n];
    return h;
}
static two *const all[] = {add,  gcd,  pick, again,    interpret, real,    use,      spread,
                           list, fill, tail, indirect, parity,    nothing, identity, strings};
u run_all(u *out)
{
    u n = 0;
    global = 7;
    noise = 1;
    for (u f = 0; f < sizeof all / sizeof *all; f++)
        for (u i = 1; i < 24; i++)
            out[n++] = all[f](i * 2654435761u, i * i * 40503u + f);
    out[n++] = fib(15);
    return n;
}
