// SPDX-License-Identifier: MIT
/*
 * Did an access leave or find the value that was there? Bits for integers, a
 * relative tolerance for floating point (witch §6.1: stores that are nearly silent
 * point at work that could be approximated).
 *
 * Called from handlers: pure, no state. Floating-point exceptions raised here
 * stay in the handler, the kernel gives it a state of its own.
 */
#include "detect/detect.h"

#include <string.h>

/* Inf − Inf is excluded by the equality, NaN and Inf against numbers by the comparison. */
static bool close_double(double a, double b, double tolerance)
{
    double size_a = __builtin_fabs(a), size_b = __builtin_fabs(b);
    double larger = size_a > size_b ? size_a : size_b;
    if (a != a || b != b)
        return a != a && b != b;
    if (a == b)
        return true;
    if (larger > __DBL_MAX__)
        return false;
    return __builtin_fabs(a - b) <= tolerance * larger;
}

static bool close_extended(long double a, long double b, long double tolerance)
{
    long double size_a = __builtin_fabsl(a), size_b = __builtin_fabsl(b);
    long double larger = size_a > size_b ? size_a : size_b;
    if (a != a || b != b)
        return a != a && b != b;
    if (a == b)
        return true;
    if (larger > __LDBL_MAX__)
        return false;
    return __builtin_fabsl(a - b) <= tolerance * larger;
}

enum { X87_BYTES = 10 };

/* One element; sizes without a known format (half, bfloat: the same two bytes) by bits. */
static bool close_element(const uint8_t *before, const uint8_t *now, uint32_t bytes,
                          float tolerance)
{
    if (bytes == sizeof(float)) {
        float a, b;
        memcpy(&a, before, sizeof a);
        memcpy(&b, now, sizeof b);
        return close_double(a, b, tolerance);
    }
    if (bytes == sizeof(double)) {
        double a, b;
        memcpy(&a, before, sizeof a);
        memcpy(&b, now, sizeof b);
        return close_double(a, b, tolerance);
    }
    if (bytes == X87_BYTES) {
        long double a = 0, b = 0;
        memcpy(&a, before, X87_BYTES);
        memcpy(&b, now, X87_BYTES);
        return close_extended(a, b, tolerance);
    }
    return memcmp(before, now, bytes) == 0;
}

enum detect_equality detect_compare_values(const struct detect_sample *before, const uint8_t *now,
                                           const struct detect_touch *touch, float fp_tolerance)
{
    uint32_t watched = (uint32_t)(before->watched - before->address);
    /* A size that divides nothing must not hurt the program: then the access is one element. */
    bool sound = before->element_bytes && before->bytes % before->element_bytes == 0;
    uint32_t element_bytes = sound ? before->element_bytes : before->bytes;
    uint32_t start = watched / element_bytes * element_bytes, end = start + element_bytes;
    if (touch->range_known) {
        /* Signed distances: either access may begin first. */
        int64_t from = (int64_t)(touch->address - before->address);
        int64_t to = from + touch->bytes;
        if (from > start)
            start = from < end ? (uint32_t)from : end;
        if (to < end)
            end = to > start ? (uint32_t)to : start;
    }
    /* Without overlap there is nothing to compare: the caller blamed the wrong instruction. */
    if (start >= end)
        return DETECT_CHANGED;
    if (memcmp(before->value + start, now + start, end - start) == 0)
        return DETECT_EQUAL;
    bool whole = end - start == element_bytes;
    bool near = before->element_is_float && fp_tolerance > 0 && whole &&
                close_element(before->value + start, now + start, end - start, fp_tolerance);
    return near ? DETECT_NEAR : DETECT_CHANGED;
}

bool detect_same_value(const struct detect_sample *before, const uint8_t *now,
                       const struct detect_touch *touch, float fp_tolerance)
{
    return detect_compare_values(before, now, touch, fp_tolerance) != DETECT_CHANGED;
}
