// SPDX-License-Identifier: MIT
/*
 * Hooked functions where threads and processes begin and end: constructors before main, variables
 * of threads and their destructors, keys, atexit, destructors after main, indirect functions that
 * the loader resolves.
 */
#include "hooked.h"
#include <string>
#include <thread>
#include <vector>

static uint64_t destroyed;

HOOKED uint64_t count(uint64_t by)
{
    return __atomic_add_fetch(&destroyed, by, __ATOMIC_SEQ_CST);
}

HOOKED std::string name(int number)
{
    return "thread " + std::to_string(number) + " with a name of some length";
}

struct local {
    std::string text;
    local() : text(name(0))
    {
    }
    ~local()
    {
        count(text.size());
        text = name(1);
    }
};

static thread_local local mine;
static thread_local std::vector<local> more;
static pthread_key_t key;

HOOKED void on_key(void *times)
{
    count(10000);
    if (times != reinterpret_cast<void *>(1)) /* again, three times: the library allows four */
        pthread_setspecific(key, reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(times) - 1));
}

extern "C" {
static uint64_t fast(uint64_t value)
{
    return value * 2;
}

/* Not static: clang would not find it by that name. */
uint64_t (*resolve())(uint64_t)
{
    return fast;
}

uint64_t indirect(uint64_t value) __attribute__((ifunc("resolve")));
}

struct global {
    global()
    {
        say("constructed %llu\n", static_cast<unsigned long long>(count(1)));
    }
    ~global()
    {
        say("destroyed %llu\n", static_cast<unsigned long long>(count(1)));
    }
};

static global first, second;

static void at_exit()
{
    say("at exit %s\n", name(9).c_str());
}

static void run(int number)
{
    mine.text = name(number);
    more.resize(static_cast<size_t>(number % 5));
    pthread_setspecific(key, reinterpret_cast<void *>(3));
    count(indirect(static_cast<uint64_t>(number)));
}

int main()
{
    must(pthread_key_create(&key, on_key) == 0);
    atexit(at_exit);
    for (int i = 0; i < 500; i++) {
        std::thread one(run, i), other(run, i + 1);
        one.join();
        other.join();
    }
    say("threads %llu\n", static_cast<unsigned long long>(count(0)));
    mine.text = "main's";
    return static_cast<int>(mine.text.size());
}
