// SPDX-License-Identifier: MIT
/*
 * A throw a million frames deep, and many throws through a few frames, caught half-way, thrown
 * again, in threads, by destructors that call more, across qsort, which is not C++; and
 * pthread_exit, which runs destructors as a throw does.
 */
#include "hooked.h"
#include <stdexcept>
#include <thread>
#include <vector>

struct guard {
    uint64_t &count;
    ~guard();
};

/* A destructor is a function like any other. */
__attribute__((noinline)) guard::~guard()
{
    count++;
}

HOOKED uint64_t dive(uint64_t depth, uint64_t &unwound)
{
    guard here{unwound};
    OPAQUE(depth);
    if (depth == 0)
        throw std::runtime_error("bottom");
    return dive(depth - 1, unwound) + 1;
}

/* Every eighth frame catches and throws again, every 32nd something else. */
HOOKED uint64_t staircase(uint64_t depth, uint64_t &unwound)
{
    guard here{unwound};
    if (depth == 0)
        throw std::logic_error("foot");
    if (depth % 32 == 0) {
        try {
            return staircase(depth - 1, unwound) + 1;
        } catch (const std::exception &) {
            throw std::runtime_error("another");
        }
    }
    if (depth % 8 == 0) {
        try {
            return staircase(depth - 1, unwound) + 1;
        } catch (...) {
            unwound += 1000;
            throw;
        }
    }
    return staircase(depth - 1, unwound) + 1;
}

HOOKED int compare(const void *left, const void *right)
{
    int a = *static_cast<const int *>(left), b = *static_cast<const int *>(right);
    if (a == 77 || b == 77)
        throw a + b;
    return a - b;
}

HOOKED int sort_until_thrown(int with)
{
    int numbers[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = i * 37 % 64;
    numbers[32] = with;
    try {
        qsort(numbers, 64, sizeof *numbers, compare);
    } catch (int) {
        return 1;
    }
    return 0;
}

static uint64_t storm(uint64_t rounds)
{
    uint64_t caught = 0, unwound = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        try {
            dive(i % 4, unwound);
        } catch (const std::exception &) {
            caught++;
        }
    }
    return caught * 10 + unwound;
}

static volatile bool stays; /* never */

HOOKED uint64_t leave(uint64_t depth, uint64_t &unwound)
{
    guard here{unwound};
    OPAQUE(depth);
    if (depth == 0 && !stays)
        pthread_exit(nullptr);
    return depth == 0 ? 0 : leave(depth - 1, unwound) + 1;
}

static void *run_leave(void *unwound)
{
    leave(100, *static_cast<uint64_t *>(unwound));
    return unwound;
}

static uint64_t depth;

static void *run_deep(void *unused)
{
    for (int i = 0; i < 2; i++) {
        uint64_t unwound = 0;
        try {
            dive(depth, unwound);
        } catch (const std::exception &what) {
            say("deep: %s, %llu frames\n", what.what(), (unsigned long long)unwound);
        }
    }
    return unused;
}

int main(int argc, char **argv)
{
    uint64_t rounds = amount(argc, argv, 1000000);
    depth = rounds;
    on_large_stack(size_t{1} << 30, run_deep, nullptr);
    say("many: %llu\n", static_cast<unsigned long long>(storm(rounds)));
    uint64_t unwound = 0, feet = 0;
    for (uint64_t i = 0; i < 200; i++) {
        try {
            staircase(i, unwound);
        } catch (const std::exception &what) {
            feet += what.what()[0] == 'f';
        }
    }
    say("staircase: %llu, %llu\n", (unsigned long long)unwound, (unsigned long long)feet);
    int thrown = 0;
    for (int i = 0; i < 1000; i++)
        thrown += sort_until_thrown(i % 100);
    say("through qsort: %d\n", thrown);
    unwound = 0;
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        must(pthread_create(&thread, nullptr, run_leave, &unwound) == 0);
        must(pthread_join(thread, nullptr) == 0);
    }
    say("left %llu\n", (unsigned long long)unwound);
    std::vector<std::thread> threads;
    uint64_t results[4] = {};
    for (uint64_t &result : results)
        threads.emplace_back([&result, rounds] { result = storm(rounds / 20); });
    for (std::thread &thread : threads)
        thread.join();
    for (uint64_t result : results)
        say("thread %llu\n", (unsigned long long)result);
    return 0;
}
