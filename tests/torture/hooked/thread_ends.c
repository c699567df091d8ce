// SPDX-License-Identifier: MIT
/* Threads that end inside of hooked functions: by pthread_exit, cancelled while they wait,
 * cancelled anywhere. */
#include "hooked.h"

enum { DEPTH = 12 };
static volatile int cleaned, destroyed;
static pthread_key_t key;

HOOKED void clean(void *unused)
{
    (void)unused;
    __atomic_fetch_add(&cleaned, 1, __ATOMIC_SEQ_CST);
}

HOOKED void destroy(void *place)
{
    __atomic_fetch_add(&destroyed, *(int *)place, __ATOMIC_SEQ_CST);
    free(place);
}

enum way { EXITS, WAITS, TESTS, RUNS };

HOOKED uint64_t turn(uint64_t value)
{
    busy_turns(value % 5);
    return value + 1;
}

HOOKED void bottom(enum way way)
{
    uint64_t value = 0;
    if (way == EXITS)
        pthread_exit((void *)7);
    if (way == WAITS)
        for (;;)
            pause();
    while (way == TESTS) {
        value = turn(value);
        pthread_testcancel();
    }
    int old;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    for (;;)
        value = turn(value);
}

HOOKED int fall(int depth, enum way way)
{
    volatile int result = 0;
    pthread_cleanup_push(clean, NULL);
    if (depth == 0)
        bottom(way);
    OPAQUE(depth);
    if (depth > 0)
        result = fall(depth - 1, way) + 1;
    pthread_cleanup_pop(0);
    return result;
}

static void *run(void *argument)
{
    int *place = malloc(sizeof *place);
    must(place);
    *place = 3;
    must(pthread_setspecific(key, place) == 0);
    return (void *)(intptr_t)fall(DEPTH, (enum way)(intptr_t)argument);
}

static void try(const char *name, enum way way, int threads)
{
    int ended = 0, cancelled = 0;
    cleaned = destroyed = 0;
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        void *result;
        must(pthread_create(&thread, NULL, run, (void *)(intptr_t)way) == 0);
        if (way != EXITS) {
            if (i % 2)
                usleep(1000);
            must(pthread_cancel(thread) == 0);
        }
        must(pthread_join(thread, &result) == 0);
        ended += result == (void *)7;
        cancelled += result == PTHREAD_CANCELED;
    }
    say("%s: %d ended, %d cancelled", name, ended, cancelled);
    if (way == EXITS) /* the others may be cancelled on their way */
        say(", %d cleaned, %d destroyed", cleaned, destroyed);
    say("\n");
}

int main(int argc, char **argv)
{
    int threads = (int)amount(argc, argv, 300);
    must(pthread_key_create(&key, destroy) == 0);
    for (int i = 0; i < 2; i++) {
        try("exits", EXITS, threads);
        try("waits", WAITS, threads);
        try("tests", TESTS, threads);
        try("runs", RUNS, threads);
    }
    return 0;
}
