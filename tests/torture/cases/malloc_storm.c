// SPDX-License-Identifier: MIT
/* malloc, realloc, free and calloc from four threads, and across them; forks in between. */
#include "torture.h"
#include <pthread.h>

enum { SLOTS = 512, ROUNDS = 200000 };
static _Atomic(unsigned char *) shared_slots[64];

static void *work(void *seed)
{
    unsigned char *slots[SLOTS] = {NULL};
    uint64_t random = (uintptr_t)seed * 2654435761u + 1, bad = 0;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t slot = (random >> 33) % SLOTS, size = 16 + (random >> 45) % 2000;
        if (slots[slot] && slots[slot][0] != (unsigned char)slot)
            bad++;
        if (i % 3 == 0) {
            slots[slot] = realloc(slots[slot], size);
        } else {
            free(slots[slot]);
            slots[slot] = i % 3 == 1 ? malloc(size) : calloc(1, size);
        }
        memset(slots[slot], (int)slot, 16);
        if (i % 16 == 0)
            free(__atomic_exchange_n((unsigned char **)&shared_slots[slot % 64], malloc(100),
                                     __ATOMIC_ACQ_REL));
    }
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
    return (void *)(uintptr_t)bad;
}

int main(void)
{
    pthread_t threads[4];
    uintptr_t bad = 0;
    for (uintptr_t i = 0; i < 4; i++)
        must(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            free(malloc(1000));
            busy(1);
            _exit(0);
        }
        show_end("child", child);
    }
    for (int i = 0; i < 4; i++) {
        void *result;
        must(pthread_join(threads[i], &result) == 0);
        bad += (uintptr_t)result;
    }
    say("bad %zu\n", (size_t)bad);
    return 0;
}
