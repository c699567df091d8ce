// SPDX-License-Identifier: MIT
/*
 * C++ with threads that share nothing that matters: unshared_cpp CASE [SECONDS], that much CPU time for each of four threads (default 1). As unshared.c.
 *
 *   aligned       a vector of counters, alignas(64)
 *   locals        thread_local vectors
 *   tasks         std::async, each task with data of its own
 *   maps          a std::map each, filled and emptied
 *   texts         std::string each
 *   constant      all look up in one const std::unordered_map
 *   moved         a result each, moved into its place when the thread ends
 *   deques        a std::deque each with its own std::mutex
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace
{

constexpr unsigned threads = 4;
double seconds = 1;

bool again(double from = 0)
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - from <
           seconds;
}

template <typename Work> void run(Work work)
{
    std::vector<std::thread> made;
    for (unsigned i = 0; i < threads; i++)
        made.emplace_back(work, i);
    for (std::thread &thread : made)
        thread.join();
}

struct alignas(64) Counter {
    std::atomic<std::uint64_t> hits{0};
};

void aligned()
{
    std::vector<Counter> counters(threads);
    run([&](unsigned number) {
        while (again())
            for (unsigned i = 0; i < 10000; i++)
                counters[number].hits.fetch_add(1, std::memory_order_relaxed);
    });
}

void locals()
{
    run([](unsigned number) {
        thread_local std::vector<std::uint64_t> own(1000);
        while (again())
            for (std::uint64_t &each : own)
                *const_cast<volatile std::uint64_t *>(&each) = number;
    });
}

void tasks()
{
    for (unsigned round = 0; round < 40 * seconds; round++) {
        std::vector<std::future<std::uint64_t>> results;
        for (unsigned i = 0; i < threads; i++)
            results.push_back(std::async(std::launch::async, [i] {
                std::vector<std::uint64_t> own(500, i);
                std::uint64_t sum = 0;
                for (unsigned turn = 0; turn < 20000; turn++)
                    for (std::uint64_t &each : own)
                        sum += *const_cast<volatile std::uint64_t *>(&each) += turn;
                return sum;
            }));
        for (auto &result : results)
            result.get();
    }
}

void maps()
{
    run([](unsigned number) {
        while (again()) {
            std::map<unsigned, unsigned> own;
            for (unsigned i = 0; i < 300; i++)
                own[i * 7919 % 1009] = number;
        }
    });
}

void texts()
{
    run([](unsigned number) {
        while (again()) {
            std::string text;
            for (unsigned i = 0; i < 300; i++)
                text += std::to_string(i * number) + ", ";
        }
    });
}

void constant()
{
    std::unordered_map<unsigned, unsigned> made;
    for (unsigned i = 0; i < 5000; i++)
        made[i * 31] = i;
    const auto &table = made;
    run([&](unsigned number) {
        volatile std::uint64_t sum = number;
        while (again())
            for (unsigned i = 0; i < 5000; i++)
                sum = sum + table.at(i * 31);
    });
}

void moved()
{
    std::vector<std::vector<std::uint64_t>> results(threads);
    run([&](unsigned number) {
        std::vector<std::uint64_t> own(2000);
        while (again())
            for (std::uint64_t &each : own)
                *const_cast<volatile std::uint64_t *>(&each) += number;
        results[number] = std::move(own);
    });
}

struct alignas(64) Queue {
    std::mutex lock;
    std::deque<unsigned> waiting;
};

void deques()
{
    std::vector<Queue> queues(threads);
    run([&](unsigned number) {
        while (again())
            for (unsigned i = 0; i < 1000; i++) {
                std::lock_guard<std::mutex> held(queues[number].lock);
                queues[number].waiting.push_back(i);
                if (i % 2)
                    queues[number].waiting.pop_front();
                if (queues[number].waiting.size() > 5000)
                    queues[number].waiting.clear();
            }
    });
}

const struct {
    const char *name;
    void (*work)();
} cases[] = {
    {"aligned", aligned}, {"locals", locals},     {"tasks", tasks}, {"maps", maps},
    {"texts", texts},     {"constant", constant}, {"moved", moved}, {"deques", deques},
};

} // namespace

int main(int count, char **arguments)
{
    seconds = count > 2 ? std::strtod(arguments[2], nullptr) : 1;
    for (const auto &each : cases) {
        if (count < 2) {
            std::puts(each.name);
        } else if (std::strcmp(each.name, arguments[1]) == 0) {
            each.work();
            return 0;
        }
    }
    return count < 2 ? 0 : 2;
}
