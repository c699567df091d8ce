// SPDX-License-Identifier: MIT
/* The common cases of shadow_load and shadow_store, inline; equal to them. */
#ifndef HEADROOM_SHADOW_FAST_H
#define HEADROOM_SHADOW_FAST_H

#include "shadow/shadow.h"

/* bytes: 1, 2, 4 or 8, a constant; value: little endian, zero or garbage above. */
static inline __attribute__((always_inline)) void
shadow_load_fast(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                 uint64_t value)
{
    shadow_load(shadow, address, id, bytes, (const uint8_t *)&value);
}

static inline __attribute__((always_inline)) void
shadow_store_fast(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                  uint64_t before, uint64_t value)
{
    shadow_store(shadow, address, id, bytes, (const uint8_t *)&before, (const uint8_t *)&value);
}

#endif
