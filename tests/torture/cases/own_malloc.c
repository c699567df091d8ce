// SPDX-License-Identifier: MIT
/* A program with an allocator of its own, or, where OWN_LIBRARY is defined, the library of one: all that is allocated comes from it. */
#include "torture.h"

enum { STORE = 64 << 20, SPECIAL = 12345 };
static unsigned char store[STORE];
static size_t used;
static _Atomic unsigned specials, foreign;

static bool is_own(const void *block)
{
    return (uintptr_t)block - (uintptr_t)store < sizeof store;
}

unsigned own_specials(unsigned *strangers);
unsigned own_specials(unsigned *strangers)
{
    *strangers = foreign;
    return specials;
}

void *malloc(size_t bytes)
{
    size_t whole = (bytes + 31) & ~(size_t)15;
    size_t at = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
    if (at + whole > sizeof store) {
        errno = ENOMEM;
        return NULL;
    }
    specials += bytes == SPECIAL;
    memcpy(store + at, &bytes, sizeof bytes);
    return store + at + 16;
}

/* Nothing comes back, but what is given back must be ours. */
void free(void *block)
{
    foreign += block && !is_own(block);
}

void *calloc(size_t count, size_t bytes)
{
    return malloc(count * bytes); /* zero: the store is used once */
}

void *realloc(void *block, size_t bytes)
{
    size_t old = 0;
    void *made = malloc(bytes);
    if (block && made) {
        memcpy(&old, (char *)block - 16, sizeof old);
        memcpy(made, block, old < bytes ? old : bytes);
    }
    foreign += block && !is_own(block);
    return made;
}

#ifndef OWN_LIBRARY
int main(void)
{
    unsigned strangers;
    char *text = strdup("copied by the C library");
    for (int i = 0; i < 1000; i++) {
        char *block = malloc(SPECIAL);
        *block = (char)i;
        block = realloc(block, 2 * SPECIAL);
        must(*block == (char)i);
        free(block);
    }
    say("own: %d\n", is_own(text));
    unsigned found = own_specials(&strangers);
    say("%u of 12,345 bytes, %u foreign\n", found, strangers);
    return 0;
}
#endif
