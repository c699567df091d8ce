// SPDX-License-Identifier: MIT
/*
 * The element type of an instruction's memory operand, from its bytes alone, for
 * engines that have no decoder of ours (the exact engine lives in Valgrind). Equal to isa_decode's
 * element and element_bytes for all instructions that Valgrind knows (no AVX-512): a test decodes whole
 * libraries both ways.
 *
 * Freestanding, pure.
 */
#ifndef HEADROOM_ISA_ELEMENT_H
#define HEADROOM_ISA_ELEMENT_H

#include "base/base.h"

struct isa_element_type {
    bool is_float;
    /* float: 2, 4, 8, 10; integer: the largest power of two that divides access_bytes, at most 8 */
    uint8_t bytes;
};

/* instruction: its bytes, prefixes included. access_bytes: width of its memory access. */
struct isa_element_type isa_element_type(const uint8_t *instruction, size_t bytes,
                                         uint32_t access_bytes);

/* Does it begin with an EVEX prefix (AVX-512)? Valgrind 3.19 does not know those. */
bool isa_is_evex(const uint8_t *instruction, size_t bytes);

#endif
