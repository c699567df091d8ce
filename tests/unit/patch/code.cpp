// SPDX-License-Identifier: MIT
/* The same in C++: exceptions above all. */
#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
typedef unsigned long u;
#define KEEP __attribute__((noinline))
namespace shapes
{
struct shape {
    virtual ~shape()
    {
    }
    virtual u area(u) const = 0;
};
struct square : shape {
    u s;
    explicit square(u a) : s(a)
    {
    }
    u area(u k) const override
    {
        if (k % 5 == 4)
            throw std::runtime_error("five");
        return s * s + k;
    }
};
struct line : shape {
    std::string n;
    explicit line(u a) : n(a % 40, 'x')
    {
    }
    u area(u k) const override
    {
        if (n.size() == k)
            throw k;
        return n.size();
    }
};
} // namespace shapes
struct guard {
    u &c;
    explicit guard(u &x) : c(x)
    {
        c++;
    }
    KEEP ~guard()
    {
        c += 100;
    }
};
KEEP u deep(u n, u &c)
{
    guard g(c);
    if (n == 0)
        throw std::out_of_range("deep");
    return deep(n - 1, c) + 1;
}
KEEP u thrown(u a, u b)
{
    u c = 0;
    try {
        deep(a % 20, c);
    } catch (const std::out_of_range &e) {
        return c + std::string(e.what()).size() + b;
    }
    return 0;
}
KEEP u rethrown(u a, u b)
{
    u c = 0;
    try {
        try {
            deep(a % 7, c);
        } catch (...) {
            c += 3;
            throw;
        }
    } catch (std::exception &) {
        c += b;
    }
    return c;
}
KEEP u sorted(u a, u b)
{
    std::vector<u> v;
    for (u i = 0; i < 50; i++)
        v.push_back((i * a + b) % 97);
    std::sort(v.begin(), v.end(), [b](u x, u y) { return (x ^ b) < (y ^ b); });
    u h = 0;
    for (u x : v)
        h = h * 31 + x;
    return h;
}
KEEP u mapped(u a, u b)
{
    std::map<std::string, u> m;
    for (u i = 0; i < 20; i++)
        m[std::to_string(a * i % 13)] += b + i;
    u h = 0;
    for (auto &p : m)
        h = h * 7 + p.second + p.first.size();
    return h;
}
KEEP u virtuals(u a, u b)
{
    u h = 0;
    for (u i = 0; i < 12; i++) {
        std::unique_ptr<shapes::shape> s;
        if ((a + i) % 2)
            s.reset(new shapes::square(i));
        else
            s.reset(new shapes::line(i + b));
        try {
            h = h * 3 + s->area(i);
        } catch (const std::runtime_error &) {
            h += 7;
        } catch (u k) {
            h ^= k;
        }
    }
    return h;
}
template <class T> KEEP T twice(T x)
{
    return x + x;
}
KEEP u templates(u a, u b)
{
    return twice(a) + (u)twice((double)(b % 1000)) + twice(std::string(a % 9, 'y')).size();
}
static u (*const all[])(u, u) = {thrown, rethrown, sorted, mapped, virtuals, templates};
extern "C" u run_all(u *out)
{
    u n = 0;
    for (auto f : all)
        for (u i = 1; i < 24; i++)
            out[n++] = f(i * 7919, i * i + 3);
    return n;
}
