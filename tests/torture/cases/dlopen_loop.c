// SPDX-License-Identifier: MIT
/* Loads, runs and unloads a library over and over while other threads are busy. */
#include "torture.h"
#include <dlfcn.h>
#include <pthread.h>

static volatile int finished;

static void *work(void *unused)
{
    while (!finished)
        busy(1);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    uint64_t sum = 0;
    must(argc > 1);
    for (int i = 0; i < 2; i++)
        must(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < 300; i++) {
        void *library = dlopen(argv[1], i & 1 ? RTLD_NOW : RTLD_LAZY);
        must(library);
        uint64_t (*plugin_work)(uint64_t) = (uint64_t(*)(uint64_t))dlsym(library, "plugin_work");
        must(plugin_work);
        sum += plugin_work(100000);
        must(dlclose(library) == 0);
    }
    finished = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    say("sum %llu, still loaded %d\n", (unsigned long long)sum,
        dlopen(argv[1], RTLD_NOLOAD) != NULL);
    return 0;
}
