// SPDX-License-Identifier: MIT
// Markers in C++: in templates, virtual and inline functions in comdat groups, with exceptions;
// with -DSECOND the second of two sources that have them all.
#include <headroom.h>

#include <cstdio>
#include <stdexcept>

enum class Kind : unsigned char { few = 3, many = 200 };

template <typename T> T twice(T x, int key)
{
    HEADROOM_BEGIN("twice", key);
    volatile T kept = x;
    HEADROOM_END("twice");
    return kept + kept;
}

struct Shape {
    virtual ~Shape()
    {
    }
    virtual int area(int n)
    {
        HEADROOM_BEGIN("area", Kind::many);
        n *= n;
        HEADROOM_END("area");
        return n;
    }
};

inline int checked(int n)
{
    HEADROOM_BEGIN("checked", n);
    if (n > 2)
        throw std::runtime_error("large");
    HEADROOM_END("checked");
    return n;
}

struct Scope {
    __attribute__((always_inline)) explicit Scope(const void *key)
    {
        HEADROOM_BEGIN("scope", key);
    }
    __attribute__((always_inline)) ~Scope()
    {
        HEADROOM_END("scope");
    }
};

inline int guarded(int n)
{
    Scope scope(nullptr);
    return checked(n);
}

int second();

static int all()
{
    Shape shape;
    Shape *volatile some = &shape;
    int sum = twice(3, -1) + static_cast<int>(twice(1.5, 1)) + some->area(4);
    for (int i = 0; i < 5; i++) {
        try {
            sum += guarded(i);
        } catch (const std::exception &) {
            sum += 100;
        }
    }
    return sum;
}

#ifdef SECOND
int second()
{
    return all();
}
#else
int main()
{
    std::printf("%d\n", all() + second());
}
#endif
