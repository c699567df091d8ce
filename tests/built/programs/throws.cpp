// SPDX-License-Identifier: MIT
// Exceptions through and out of counted functions, destructors, virtual calls, templates in groups.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual int area(int n) const = 0;
};
struct Square : Shape {
    int area(int n) const override
    {
        return n * n;
    }
};
struct Line : Shape {
    int area(int n) const override
    {
        if (n > 12)
            throw std::runtime_error("too long");
        return n;
    }
};

struct Guard {
    explicit Guard(int *count) : count(count)
    {
    }
    ~Guard()
    {
        ++*count;
    }
    int *count;
};

template <typename T> [[gnu::noinline]] T largest(const std::vector<T> &values)
{
    T best = values.at(0);
    for (const T &value : values)
        if (best < value)
            best = value;
    return best;
}

[[gnu::noinline]] static int deep(int n, int *released)
{
    Guard guard(released);
    if (n == 0)
        throw n;
    return deep(n - 1, released) + 1;
}

[[gnu::noinline]] static int catches(int n)
{
    int released = 0;
    try {
        deep(n, &released);
    } catch (int) {
        released += 100;
    }
    return released;
}

[[gnu::noinline]] static int rethrows(int n)
{
    try {
        std::vector<int> values(3, n);
        return values.at(static_cast<size_t>(n));
    } catch (const std::out_of_range &) {
        if (n > 5)
            throw;
        return -1;
    }
}

int main()
{
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 9; i++)
        if (i % 3)
            shapes.emplace_back(new Square);
        else
            shapes.emplace_back(new Line);
    int total = 0;
    for (int round = 8; round < 16; round++)
        for (const auto &shape : shapes) {
            try {
                total += shape->area(round);
            } catch (const std::exception &error) {
                total += static_cast<int>(std::string(error.what()).size());
            }
        }
    std::printf("%d %d %d\n", total, catches(5), catches(0));
    for (int i = 0; i < 9; i++) {
        try {
            total += rethrows(i);
        } catch (...) {
            total += 1000;
        }
    }
    std::printf("%d %d %s\n", total, largest(std::vector<int>{3, 9, 2}),
                largest(std::vector<std::string>{"b", "abc", "a"}).c_str());
    return 0;
}
