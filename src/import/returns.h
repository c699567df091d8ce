// SPDX-License-Identifier: MIT
/* Private to import: which functions do not return, so that the code behind their calls is
   not taken for what comes next. */
#ifndef HEADROOM_IMPORT_RETURNS_H
#define HEADROOM_IMPORT_RETURNS_H

#include "binary/binary.h"

struct import_returns_slot {
    uint64_t key; /* address << 1 | cell, + 1; 0: empty */
    bool returns;
};

struct import_returns {
    struct binary *binary;
    struct import_returns_slot slots[4096]; /* forgets what falls together */
};

void import_returns_begin(struct import_returns *returns, struct binary *binary);

/* As flow_code.returns asks; context: a struct import_returns. */
bool import_returns_of(void *context, uint64_t callee, bool cell);

#endif
