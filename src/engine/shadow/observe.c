// SPDX-License-Identifier: MIT
/*
 * Where waste is found: accesses looked at before they are counted. While some are to be, no address fits the inline paths,
 * which costs nothing when none are.
 */
#include "shadow/internal.h"

/* Follow a pair's appearance: after the first ones more, and the n-th is one of those with a chance that falls as 1 / sqrt(n). */
enum { OBSERVED_FIRST = 16, OBSERVED_EACH = 4, APPEARANCES_SHIFT = 13 };

void shadow_look_out(struct shadow *shadow)
{
    for (uint32_t log2 = 0; log2 < BASE_COUNT(shadow->misfit); log2++)
        shadow->misfit[log2] = shadow->observing || shadow->exhausted || shadow->locations
                                   ? UINT64_MAX
                                   : ~(shadow->address_limit - 1) | ((UINT64_C(1) << log2) - 1);
}

void shadow_observe(struct shadow *shadow, const struct shadow_observer *observer)
{
    shadow->observer = *observer;
    shadow->appearances = 1;
}

void shadow_observe_next(struct shadow *shadow, uint32_t accesses)
{
    if (!shadow->observer.seen)
        return;
    shadow->observing = accesses;
    shadow_look_out(shadow);
}

void shadow_appeared(struct shadow *shadow)
{
    uint64_t later = shadow->observed++ >> APPEARANCES_SHIFT;
    shadow->appearances = 1 + later;
    shadow_observe_next(shadow, later ? OBSERVED_EACH : OBSERVED_FIRST);
}

static void one_less(struct shadow *shadow)
{
    if (--shadow->observing == 0)
        shadow_look_out(shadow);
}

/* Bytes from `address` on that are judged together: within the access, the record, and an element of the former access. */
static uint32_t judged_together(const struct shadow *shadow, uint32_t former, uint64_t address,
                                uint64_t bytes)
{
    uint32_t element = shadow->elements[former] & ~(uint32_t)SHADOW_FLOAT;
    uint32_t together = 8 - (address & 7);
    if (element && element < 8 && together > element - (address & (element - 1)))
        together = element - (uint32_t)(address & (element - 1));
    return bytes < together ? (uint32_t)bytes : together;
}

static bool is_waste(const struct shadow *shadow, uint32_t former, uint64_t address, uint64_t bytes,
                     const uint8_t *before, const uint8_t *value)
{
    uint32_t together = judged_together(shadow, former, address, bytes);
    uint64_t was = 0, now = 0;
    for (uint32_t i = 0; i < together; i++) {
        was |= (uint64_t)before[i] << 8 * i;
        now |= (uint64_t)value[i] << 8 * i;
    }
    if (was == now)
        return true;
    uint8_t element = shadow->elements[former];
    return (element & SHADOW_FLOAT) && (element & ~SHADOW_FLOAT) == together &&
           shadow_waste_of_part(shadow, element, together, was, now).all == together;
}

static void see(struct shadow *shadow, enum shadow_kind kind, uint32_t first, uint32_t second,
                uint64_t address)
{
    shadow->observer.seen(shadow->observer.context, kind, first, second, address);
}

static uint32_t former_of(uint32_t word, const struct shadow_cells *cells, uint64_t address)
{
    return shadow_former(word & SHADOW_ID_MASK, cells, address, 1);
}

void shadow_observe_load(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                         const uint8_t *value)
{
    const struct shadow_record *record = shadow_record_of(shadow, address);
    uint32_t former = former_of(record->load[address >> 2 & 1], &shadow->loads, address);
    const uint8_t *loaded = (const uint8_t *)&record->loaded + (address & 7);
    one_less(shadow);
    if (former && is_waste(shadow, former, address, bytes, loaded, value))
        see(shadow, SHADOW_LOAD, former, id, address);
}

void shadow_observe_store(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                          const uint8_t *before, const uint8_t *value)
{
    uint32_t word = shadow_record_of(shadow, address)->store[address >> 2 & 1];
    uint32_t former = former_of(word, &shadow->stores, address);
    one_less(shadow);
    if (!former)
        return;
    if (word >> SHADOW_ID_BITS >> (address & 3) & 1)
        see(shadow, SHADOW_DEAD, former, id, address);
    if (before && is_waste(shadow, former, address, bytes, before, value))
        see(shadow, SHADOW_SILENT, former, id, address);
}
