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
    uint32_t outcomes;           /* inner branches that depend on data */
};

extern const struct kernel kernels[];
extern const unsigned kernel_count;
/* What loops call: not within a kernel. */
struct leaf {
    const uint8_t *start, *stop;
};
extern const struct leaf leaves[];
extern const unsigned leaf_count;
/* With branches that depend on data: b is of random numbers between 0 and 1, c as elsewhere. */
extern const struct kernel chances[];
extern const unsigned chance_count;
/* Likewise; whether they go on depends on data, or no register counts. */
extern const struct kernel ends[];
extern const unsigned end_count;
/* Loops in loops. */
extern const struct kernel nests[];
extern const unsigned nest_count;
/* Loops over the same few elements, n times. */
enum { NEAR_ELEMENTS = 640 };
extern const struct kernel nears[];
extern const unsigned near_count;

#endif
