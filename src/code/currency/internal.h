// SPDX-License-Identifier: MIT
/* Between the files of currency: currency.c decodes, flow.c follows the paths. */
#ifndef HEADROOM_CURRENCY_INTERNAL_H
#define HEADROOM_CURRENCY_INTERNAL_H

#include "currency/currency.h"

/* An instruction, as far as it matters. */
struct event {
    uint64_t address;
    uint64_t start, end;         /* of what it stores to a known address; end == start: nothing */
    uint32_t marks, marks_count; /* stop points before it: index of the first */
    uint32_t place;              /* of the row that has it */
    uint64_t frame_start, frame_end; /* the same of the frame */
    uint16_t unknown;                /* bytes that it stores at an unknown address; 0: none */
    uint16_t within;                 /* bytes that it stores somewhere in the frame; 0: none */
    bool conditional;                /* the store to a known address may not happen */
    bool calls;
};

struct currency {
    struct currency_code code;
    struct event *events; /* block after block */
    size_t count;
    uint32_t *first; /* by block: its first event; one more behind the last */
};

#endif
