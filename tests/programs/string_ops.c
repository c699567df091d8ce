// SPDX-License-Identifier: MIT
/*
 * rep stos and rep movs. Each buffer is filled twice and then loaded, so half of
 * the stored bytes are dead; before every fill the same amount is loaded, so that
 * every fill stands for the same time.
 *
 * case: rep-stos-movs --kinds dead -- 3
 *   dead.fraction 0.45..0.55
 *   dead.pair s1>s2 0.42..0.58
 *   dead.pair m1>m2 0.42..0.58
 */
#include "known.h"

enum { BYTES = 1024 };
static unsigned char set_buffer[BYTES], move_buffer[BYTES],
    constant[BYTES], *volatile source = constant;

/* Compares all words of a buffer, each equal to the value. */
static inline void load_all(const void *buffer, uint64_t value)
{
    uint64_t count = BYTES / 8;
    __asm__ volatile("repe scasq" : "+D"(buffer), "+c"(count) : "a"(value) : "memory", "cc");
}

static inline void set_twice(void)
{
    void *to = set_buffer;
    uint64_t count = BYTES / 8;
    load_all(constant, 0);
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(1) : "memory"); /* @s1 */
    to = set_buffer;
    count = BYTES / 8;
    load_all(constant, 0);
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(2) : "memory"); /* @s2 */
    load_all(set_buffer, 2);
}

static inline void move_twice(void)
{
    const void *from = source;
    void *to = move_buffer;
    uint64_t count = BYTES / 8;
    __asm__ volatile("rep movsq" : "+S"(from), "+D"(to), "+c"(count)::"memory"); /* @m1 */
    from = source;
    to = move_buffer;
    count = BYTES / 8;
    load_all(constant, 0);
    __asm__ volatile("rep movsq" : "+S"(from), "+D"(to), "+c"(count)::"memory"); /* @m2 */
    load_all(move_buffer, 0);
}

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    while (known_running(seconds)) {
        for (int repeat = 0; repeat < 100; repeat++) {
            set_twice();
            move_twice();
        }
    }
    return 0;
}
