// SPDX-License-Identifier: MIT
/*
 * What allocation functions promise: sizes of zero and too large, alignments, errno, memory that is cleared and kept; from
 * handlers of signals, in the child of a fork, by pointers to the functions, and by mappings that are cut and moved.
 */
#include "torture.h"
#include <malloc.h>
#include <sys/mman.h>

#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wuse-after-free" /* after a realloc that fails */

enum { ROUNDS = 100000, SLOTS = 256 };
static volatile sig_atomic_t outside, handled;
static volatile size_t huge = SIZE_MAX / 2 + 1;

static void *(*volatile allocate)(size_t) = malloc;
static void (*volatile release)(void *) = free;

static void edges(void)
{
    void *block = malloc(0), *other = NULL;
    say("malloc(0): %s\n", block ? "a block" : "none");
    errno = EPERM;
    free(block);
    free(NULL);
    for (int i = 0; i < 100 && errno == EPERM; i++) {
        block = realloc(malloc(100 << i % 16), 200 << i % 16);
        free(block);
    }
    say("errno after free: %d\n", errno);
    errno = 0;
    bool none = malloc(huge) == NULL;
    say("malloc(huge): %d %d\n", none, errno);
    errno = 0;
    none = calloc(huge, 4) == NULL;
    say("calloc(huge): %d %d\n", none, errno);
    say("calloc that wraps to little: %d\n", calloc(huge * 2 + 2, 8) != NULL);
    block = malloc(100);
    memset(block, 7, 100);
    errno = 0;
    void *volatile kept = block;
    none = realloc(block, huge) == NULL;
    say("realloc(huge): %d %d", none, errno);
    block = kept;
    say(", kept: %d\n", ((char *)block)[99]);
    block = realloc(block, 200000);
    say("larger, kept: %d\n", ((char *)block)[99]);
    say("realloc(0): %d\n", realloc(block, 0) == NULL);
    errno = 0;
    say("posix_memalign: %d %d", posix_memalign(&other, 3, 10), posix_memalign(&other, 8, huge));
    say(", errno %d, %s\n", errno, other ? "set" : "not set");
    errno = 0;
    for (size_t alignment = 16; alignment <= 1 << 16; alignment *= 4) {
        void *blocks[3] = {aligned_alloc(alignment, alignment), memalign(alignment, 10), NULL};
        must(posix_memalign(&blocks[2], alignment, 100) == 0);
        for (int i = 0; i < 3; i++) {
            say("%d", (int)((uintptr_t)blocks[i] % alignment));
            free(blocks[i]);
        }
    }
    say(", errno %d\n", errno);
    unsigned char *cleared = calloc(1000, 1000);
    unsigned sum = 0;
    for (int i = 0; i < 1000000; i++)
        sum += cleared[i];
    say("cleared: %u, usable: %d\n", sum, malloc_usable_size(cleared) >= 1000000);
    free(cleared);
}

/* Only when what it interrupts is none of these functions. */
static void handler(int number)
{
    (void)number;
    if (!outside)
        return;
    int error = errno;
    char *block = allocate(300);
    memset(block, 1, 300);
    block = realloc(block, 3000);
    release(block);
    handled++;
    errno = error;
}

static void storm(void)
{
    static unsigned char *slots[SLOTS];
    struct itimerval often = {{0, 500}, {0, 500}}, never = {0};
    uint64_t random = 1, bad = 0;
    must(signal(SIGALRM, handler) != SIG_ERR);
    must(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t slot = (random >> 33) % SLOTS, size = 8 + (random >> 45) % (i % 64 ? 500 : 100000);
        bad += slots[slot] && *slots[slot] != (unsigned char)slot;
        release(slots[slot]);
        slots[slot] = allocate(size);
        *slots[slot] = (unsigned char)slot;
        outside = 1;
        for (volatile int wait = 0; wait < 20; wait++)
            ;
        if (i % 1000 == 0)
            raise(SIGALRM);
        outside = 0;
    }
    must(setitimer(ITIMER_REAL, &never, NULL) == 0);
    say("bad %d, handled %d\n", (int)bad, handled >= ROUNDS / 1000);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < SLOTS; i++) {
            bad += slots[i] && *slots[i] != (unsigned char)i;
            free(slots[i]);
            slots[i] = calloc(1, 64);
        }
        _exit(bad != 0);
    }
    int status = 0;
    must(waitpid(child, &status, 0) == child);
    say("child %d\n", status);
}

static void maps(void)
{
    enum { PAGE = 4096 };
    for (int i = 0; i < 200; i++) {
        char *map =
            mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(map != MAP_FAILED);
        map[40 * PAGE] = 5;
        must(munmap(map, 8 * PAGE) == 0 && munmap(map + 56 * PAGE, 8 * PAGE) == 0);
        must(mmap(map + 16 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                  0) == map + 16 * PAGE);
        must(munmap(map + 8 * PAGE, 24 * PAGE) == 0);
        map = mremap(map + 32 * PAGE, 24 * PAGE, 100 * PAGE, MREMAP_MAYMOVE);
        must(map != MAP_FAILED && map[8 * PAGE] == 5);
        must(munmap(map, 100 * PAGE) == 0);
    }
    errno = 0;
    int result = munmap((void *)1, 10);
    say("munmap of nothing: %d %d\n", result, errno);
}

int main(void)
{
    edges();
    storm();
    maps();
    return 0;
}
