// SPDX-License-Identifier: MIT
/*
 * When an address that moves by a constant next falls into the set: looked up, as a rule. Where spans are powers of two, an address
 * is only ever a multiple of the greatest power of two in its stride away from where it began, so that there are few places to be at: 512 with
 * 32 KiB, 8 ways and doubles. Going from one turn of the span to the next instead takes a division each, which was more than half of all time.
 */
#include "misses/internal.h"

#include <stdlib.h>

enum { PLACES_MAX = 8192 };

/* From each place in the line to those from which it is reached, until the line again. iterations is all zeros. A step without a factor in
   common with the number of places comes to all of them. */
static void fill(uint16_t *iterations, uint32_t places, uint32_t step, uint32_t in_line)
{
    for (uint32_t i = 0; i < in_line; i++) {
        uint32_t at = (i + places - step) % places;
        for (uint16_t count = 1; at >= in_line; count++) {
            iterations[at] = count;
            at = (at + places - step) % places;
        }
    }
}

bool returns_make(struct returns *returns, const struct geometry *geometry, int64_t stride)
{
    int64_t span = geometry->span, line = (int64_t)geometry->line_bytes;
    *returns = (struct returns){.stride = stride};
    if ((span & (span - 1)) != 0)
        return true;
    int64_t step = stride & (span - 1), unit = step ? step & -step : span, places = span / unit;
    returns->rest = unit - 1;
    returns->shift = (unsigned)__builtin_ctzll((uint64_t)unit);
    if (places > PLACES_MAX)
        return true;
    returns->iterations = calloc((size_t)places, sizeof *returns->iterations);
    if (returns->iterations)
        fill(returns->iterations, (uint32_t)places, (uint32_t)(step / unit),
             unit > line ? 1 : (uint32_t)(line / unit));
    return returns->iterations != NULL;
}

int64_t returns_search(const struct returns *returns, const struct geometry *geometry,
                       int64_t offset, int64_t most)
{
    int64_t span = geometry->span, line = (int64_t)geometry->line_bytes;
    int64_t step = modulo(returns->stride, span), at = modulo(offset, span), passed = 0;
    if (step > span / 2)
        step -= span;
    if (at < line)
        return 0;
    if (step == 0)
        return most;
    while (passed < most) {
        /* To the window's near side: from above down, or from below up to the span's end. */
        int64_t count = step < 0 ? (at - line - step) / -step : (span - at + step - 1) / step;
        passed += count;
        at += count * step;
        if (step < 0 && at < 0)
            at += span;
        else if (step > 0)
            at -= span;
        if (at >= 0 && at < line)
            return passed < most ? passed : most;
        if (at < 0)
            at += span;
    }
    return most;
}
