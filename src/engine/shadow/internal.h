// SPDX-License-Identifier: MIT
/* What the files of shadow share: bit counts, the pair table, the test of values. */
#ifndef HEADROOM_SHADOW_INTERNAL_H
#define HEADROOM_SHADOW_INTERNAL_H

#include "shadow/fast.h"
#include "shadow/shadow.h"

#include <string.h>

/* Freestanding code would call a function for each of these; here sizes are constants. */
#define memcpy(to, from, bytes) __builtin_memcpy(to, from, bytes)

enum {
    PAGE_BYTES = 4096,
    X87_BYTES = 10,
    X87_BLOCK = 16,
};

/* How many of the low 16 bits are set; popcnt is not in every x86-64, and libgcc not here. */
static inline uint32_t count_bits(uint32_t bits)
{
    bits -= bits >> 1 & 0x5555;
    bits = (bits & 0x3333) + (bits >> 2 & 0x3333);
    bits = (bits + (bits >> 4)) & 0x0f0f;
    return (bits + (bits >> 8)) & 0x1f;
}

/* sample.c: is the location of the address followed? Then it is the one at hand. Decides what callers test. */
bool shadow_keeps(struct shadow *shadow, uint64_t address);
void shadow_sample_free(struct shadow *shadow);

/* Stops counting for good: what was counted stays, no access reaches a record any more. */
void shadow_exhaust(struct shadow *shadow);

bool shadow_pairs_init(struct shadow *shadow);
void shadow_pairs_free(struct shadow *shadow);
bool shadow_pairs_check(const struct shadow *shadow);

/* What is unchanged: all of it, and of that what is so within the tolerance only. Bytes, or bits that
   stand for bytes. */
struct shadow_waste {
    uint32_t all, near;
};

/* value.c: an aligned word of 1, 2, 4 or 8 bytes differs from the former access's. How many of its
   bytes are waste all the same? */
struct shadow_waste shadow_waste_of_part(const struct shadow *shadow, uint8_t element,
                                         uint32_t bytes, uint64_t former, uint64_t now);

/* The same for any bytes of sixteen aligned ones: those of `group` have one former
   access, those of `differing` differ. Gives the bytes that are waste. */
struct shadow_waste shadow_waste_of_block(const struct shadow *shadow, uint8_t element,
                                          uint32_t group, uint32_t differing, const uint8_t *former,
                                          const uint8_t *now);

/* observe.c: which addresses take the inline paths: none while accesses are observed, or once exhausted. */
void shadow_look_out(struct shadow *shadow);
/* A pair has appeared among those met lately; an access that is to be observed, before: NULL: not known. */
void shadow_appeared(struct shadow *shadow);
void shadow_observe_load(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                         const uint8_t *value);
void shadow_observe_store(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                          const uint8_t *before, const uint8_t *value);

#endif
