// SPDX-License-Identifier: MIT
/*
 * Loads, runs and unloads a library with hooked functions over and over, from two threads, long
 * enough for its functions to be chosen and patched while it comes and goes, often to another
 * address.
 */
#include "hooked.h"
#include <dlfcn.h>

static const char *library_path;
static uint64_t milliseconds;

HOOKED uint64_t called_back(uint64_t value)
{
    return value * 3;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

HOOKED void load_and_run(uint64_t turns, int flags)
{
    typedef uint64_t work_function(uint64_t, uint64_t(*)(uint64_t));
    void *library = dlopen(library_path, flags);
    must(library);
    work_function *work = (work_function *)dlsym(library, "library_work");
    must(work);
    uint64_t sum = work(turns, called_back);
    if (sum != turns * (turns - 1) / 2 * 4 + turns)
        say("wrong: %llu\n", (unsigned long long)sum);
    must(dlclose(library) == 0);
}

static void *run(void *unused)
{
    uint64_t start = now_ms();
    for (uint64_t i = 0; now_ms() - start < milliseconds; i++) {
        void *hole =
            i % 3 ? mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
        load_and_run(i % 16 == 15 ? 200000 : 200, i % 2 ? RTLD_NOW : RTLD_LAZY);
        if (hole && i % 2)
            munmap(hole, 1 << 16);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    must(argc > 1);
    library_path = argv[1];
    milliseconds = amount(argc - 1, argv + 1, 3000);
    run(NULL);
    must(pthread_create(&thread, NULL, run, NULL) == 0);
    run(NULL);
    must(pthread_join(thread, NULL) == 0);
    say("still loaded %d\n", dlopen(library_path, RTLD_NOLOAD) != NULL);
    return 0;
}
