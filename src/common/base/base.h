// SPDX-License-Identifier: MIT
/*
 * base: what every other room may use. Status codes, target registers, memory
 * readers, hashing, pseudo-random numbers.
 *
 * Freestanding: no libc beyond mem*, no allocation, no locks, no errno; every
 * function may be called from a signal handler and from any thread (state is
 * the caller's).
 */
#ifndef HEADROOM_BASE_H
#define HEADROOM_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BASE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * By halves: the first index of [0, count) at which `holds`, an expression in `index`, is true; behind it
 * it must be true everywhere. count if it is true nowhere.
 */
#define BASE_FIRST(index, count, holds)                                                            \
    ({                                                                                             \
        size_t base_low = 0;                                                                       \
        for (size_t base_high = (count); base_low < base_high;) {                                  \
            size_t index = base_low + (base_high - base_low) / 2;                                  \
            if (holds)                                                                             \
                base_high = index;                                                                 \
            else                                                                                   \
                base_low = index + 1;                                                              \
        }                                                                                          \
        base_low;                                                                                  \
    })

/*
 * Recursion is folded in one way everywhere: a call made where one is being made already leads back
 * to the context of that first one (Ammons, Ball, Larus 1997), if it is among the BASE_FOLD_DEPTH
 * innermost. The exact engine compares return addresses while the program runs, reports what reads
 * the same in the source. The context from `innermost` outward for which `same` is true, `parent` being its
 * parent, both expressions in `context`; 0, the root: there is none.
 */
enum { BASE_FOLD_DEPTH = 64 };
#define BASE_FOLDED(context, innermost, parent, same)                                              \
    ({                                                                                             \
        uint32_t context = (innermost), base_left = BASE_FOLD_DEPTH;                               \
        for (; context && base_left && !(same); base_left--)                                       \
            context = (parent);                                                                    \
        base_left ? context : 0;                                                                   \
    })

/* Outcome of an operation that can fail. Outputs are untouched unless BASE_OK. */
enum base_status {
    BASE_OK = 0,
    BASE_NO_MEMORY,   /* caller's memory or the system's is used up */
    BASE_NOT_FOUND,   /* no such file, section, context, ... */
    BASE_DENIED,      /* permission */
    BASE_MALFORMED,   /* input violates its format */
    BASE_TOO_NEW,     /* input was written by a newer version */
    BASE_UNSUPPORTED, /* valid, but not something we handle */
    BASE_IO,          /* read/write failed; the system's reason is in errno */
    BASE_BUSY,        /* resource held by someone else */
    BASE_TOO_LARGE,   /* beyond a limit that is set on purpose */
};

const char *base_status_text(enum base_status status);

/* Numbers are those of the instruction encoding (ModRM/REX). */
enum base_register {
    BASE_RAX,
    BASE_RCX,
    BASE_RDX,
    BASE_RBX,
    BASE_RSP,
    BASE_RBP,
    BASE_RSI,
    BASE_RDI,
    BASE_R8,
    BASE_R9,
    BASE_R10,
    BASE_R11,
    BASE_R12,
    BASE_R13,
    BASE_R14,
    BASE_R15,
    BASE_GENERAL_REGISTERS
};

/* The integer state of an observed thread. */
struct base_registers {
    uint64_t general[BASE_GENERAL_REGISTERS];
    uint64_t ip;
    uint64_t flags; /* RFLAGS */
    uint64_t fs_base, gs_base;
};

/*
 * Reads memory of the observed program without ever faulting. read returns
 * false when any byte of the range cannot be read; out is then unspecified.
 */
struct base_memory {
    bool (*read)(void *context, uint64_t address, void *out, size_t bytes);
    void *context;
};

static inline bool base_read(const struct base_memory *memory, uint64_t address, void *out,
                             size_t bytes)
{
    return memory->read(memory->context, address, out, bytes);
}

/*
 * The least of many: weights are noted, then a number of them is taken, lightest first; those of the
 * same number of bits count as equal, so that nothing need be sorted. Of those that all could be taken
 * as well each nth is: in a hash table the first ones would be neighbours, and those left crowd its other end.
 */
struct base_least {
    uint64_t counts[65]; /* by number of bits */
    uint32_t bits;       /* all with fewer are taken, of those with as many `some` */
    uint64_t some, carry;
};

static inline uint32_t base_bits(uint64_t number)
{
    return number ? 64U - (uint32_t)__builtin_clzll(number) : 0;
}

static inline void base_least_note(struct base_least *least, uint64_t weight)
{
    least->counts[base_bits(weight)]++;
}

/* After all were noted: `count` are to be taken. */
static inline void base_least_choose(struct base_least *least, uint64_t count)
{
    least->bits = 0;
    while (least->bits < BASE_COUNT(least->counts) && least->counts[least->bits] <= count)
        count -= least->counts[least->bits++];
    least->some = count;
    least->carry = 0;
}

/* To be asked once for each that was noted. */
static inline bool base_least_takes(struct base_least *least, uint64_t weight)
{
    uint32_t bits = base_bits(weight);
    if (bits != least->bits)
        return bits < least->bits;
    least->carry += least->some;
    if (!least->some || least->carry < least->counts[bits])
        return false;
    least->carry -= least->counts[bits];
    return true;
}

/* splitmix64's finaliser (Steele, Lea, Flood 2014): a bijection on 64 bits. */
static inline uint64_t base_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* FNV-1a over bytes, finished by base_mix64. Not for hostile hash tables. */
uint64_t base_hash_bytes(const void *bytes, size_t count, uint64_t seed);

/* splitmix64: one word of state, any seed. */
struct base_random {
    uint64_t state;
};

static inline uint64_t base_random_next(struct base_random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    return base_mix64(random->state);
}

/* Uniform in [0, bound); bound > 0. Lemire's multiply-shift; bias < bound/2^64. */
static inline uint64_t base_random_below(struct base_random *random, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)base_random_next(random) * bound) >> 64);
}

#endif
