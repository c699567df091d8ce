// SPDX-License-Identifier: MIT
/* C++ exceptions through many frames, in threads, and out of handlers of synchronous signals. */
#include "torture.h"
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct guard {
    uint64_t &count;
    ~guard()
    {
        count++;
    }
};

__attribute__((noinline)) static int dive(int depth, uint64_t &unwound)
{
    guard here{unwound};
    busy_place[depth % 64] = busy_place[depth % 64] + 1;
    if (depth == 0)
        throw std::runtime_error("bottom");
    return dive(depth - 1, unwound) + 1;
}

static void on_fault(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    throw std::string("fault");
}

__attribute__((noinline)) static int read_through(const char *place)
{
    return *const_cast<const volatile char *>(place);
}

static uint64_t storm(int rounds)
{
    uint64_t caught = 0, unwound = 0;
    for (int i = 0; i < rounds; i++) {
        try {
            dive(i % 50, unwound);
        } catch (const std::exception &) {
            caught++;
        }
    }
    return caught * 1000000 + unwound;
}

int main()
{
    say("main %llu\n", (unsigned long long)storm(20000));
    uint64_t results[4] = {};
    std::vector<std::thread> threads;
    for (uint64_t &result : results)
        threads.emplace_back([&result] { result = storm(5000); });
    for (std::thread &thread : threads)
        thread.join();
    for (uint64_t result : results)
        say("thread %llu\n", (unsigned long long)result);
    signal(SIGSEGV, on_fault);
    int faults = 0;
    for (int i = 0; i < 500; i++) {
        busy_turns(10000);
        try {
            faults += read_through(nowhere) + 1000;
        } catch (const std::string &what) {
            faults += what == "fault";
        }
    }
    say("faults %d\n", faults);
    throw std::runtime_error("uncaught");
}
