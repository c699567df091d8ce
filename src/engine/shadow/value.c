// SPDX-License-Identifier: MIT
/*
 * Which bytes of an access that differs from the former one are unchanged: by groups
 * of bytes that lie in one element of the former access, floats within the
 * tolerance.
 *
 * The comparison of binary32 and binary64 (fast.h) is the one of detect_same_value written again: that one
 * takes a whole sample, which costs more to set up than the comparison, and programs that
 * iterate over floats need it at every access. A test compares the two. x87 goes there.
 */
#include "shadow/internal.h"
#include "detect/detect.h"

static bool close_x87(const uint8_t *former, const uint8_t *now, float tolerance)
{
    struct detect_sample sample;
    struct detect_touch touch = {.direction = DETECT_LOADS, .range_known = false};
    sample.element_is_float = true;
    sample.element_bytes = X87_BYTES;
    sample.address = sample.watched = 0;
    sample.bytes = X87_BYTES;
    memcpy(sample.value, former, X87_BYTES);
    return detect_same_value(&sample, now, &touch, tolerance);
}

/* One whole float; sizes without a known format are equal only in bits, and these are not. */
static bool close_float(const uint8_t *former, const uint8_t *now, uint32_t bytes, float tolerance)
{
    uint64_t a = 0, b = 0;
    if (bytes == X87_BYTES)
        return close_x87(former, now, tolerance);
    if (bytes != sizeof(float) && bytes != sizeof(double))
        return false;
    memcpy(&a, former, bytes);
    memcpy(&b, now, bytes);
    return shadow_are_bits_close(a, b, bytes, tolerance);
}

/* Elements of four bytes in a word, two or one. */
static struct shadow_waste waste_of_fours(bool is_float, uint32_t bytes, uint64_t former,
                                          uint64_t now, float tolerance)
{
    struct shadow_waste waste = {0, 0};
    for (uint32_t at = 0; at < bytes; at += 4) {
        uint32_t a = (uint32_t)(former >> 8 * at), b = (uint32_t)(now >> 8 * at);
        bool near = a != b && is_float && shadow_are_bits_close(a, b, 4, tolerance);
        waste.all += a == b || near ? 4 : 0;
        waste.near += near ? 4 : 0;
    }
    return waste;
}

static uint32_t waste_of_small(uint32_t size, uint32_t bytes, uint64_t former, uint64_t now)
{
    uint64_t changed = former ^ now, element = (UINT64_C(1) << 8 * size) - 1;
    uint32_t waste = 0;
    for (uint32_t at = 0; at < bytes; at += size, changed >>= 8 * size)
        waste += changed & element ? 0 : size;
    return waste;
}

struct shadow_waste shadow_waste_of_part(const struct shadow *shadow, uint8_t element,
                                         uint32_t bytes, uint64_t former, uint64_t now)
{
    uint32_t size = element & ~SHADOW_FLOAT;
    float tolerance = shadow->fp_tolerance;
    bool is_float = element & SHADOW_FLOAT && tolerance > 0;
    if (size > bytes || size == 0)
        return (struct shadow_waste){0, 0};
    if (size == 8) {
        uint32_t near = is_float && shadow_are_bits_close(former, now, 8, tolerance) ? 8 : 0;
        return (struct shadow_waste){near, near};
    }
    if (size == 4)
        return waste_of_fours(is_float, bytes, former, now, tolerance);
    return (struct shadow_waste){waste_of_small(size, bytes, former, now), 0};
}

struct shadow_waste shadow_waste_of_block(const struct shadow *shadow, uint8_t element,
                                          uint32_t group, uint32_t differing, const uint8_t *former,
                                          const uint8_t *now)
{
    uint32_t size = element & ~SHADOW_FLOAT;
    struct shadow_waste waste = {0, 0};
    /* Whatever is no element of at most eight bytes is x87's, or a mistake and compared whole. */
    uint32_t block = size && size <= 8 ? size : X87_BLOCK;
    bool is_float = element & SHADOW_FLOAT && shadow->fp_tolerance > 0;
    for (uint32_t at = 0; at < X87_BLOCK; at += block) {
        uint32_t in_block = ((UINT32_C(1) << block) - 1) << at, part = group & in_block;
        bool whole = part >> at == (UINT32_C(1) << (size & 15)) - 1;
        bool near = differing & part && is_float && whole &&
                    close_float(former + at, now + at, size, shadow->fp_tolerance);
        waste.all |= !(differing & part) || near ? part : 0;
        waste.near |= near ? part : 0;
    }
    return waste;
}
