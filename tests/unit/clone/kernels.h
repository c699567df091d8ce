// SPDX-License-Identifier: MIT
/* Kernels with one loop each, for clones of them: in tests/unit and bench/ceiling. */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdint.h>

/* a is written, b and c are read, n elements; each element of a has one of b and c, at most 8 bytes wide. */
typedef void kernel_function(double *restrict a, const double *restrict b, const double *restrict c,
                             long n);

struct kernel {
    const char *name;
    kernel_function *run;
    const uint8_t *start, *stop; /* of its code */
    uint32_t reason;             /* enum clone_reason that is expected */
};

extern const struct kernel kernels[];
extern const unsigned kernel_count;
/* Loops in loops. */
extern const struct kernel nests[];
extern const unsigned nest_count;

#endif
