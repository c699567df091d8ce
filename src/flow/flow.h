// SPDX-License-Identifier: MIT
/*
 * flow: control flow of one function, from its machine code: basic blocks, edges,
 * dominators, loops. Pure but for memory: no files, no state after flow_start().
 */
#ifndef HEADROOM_FLOW_H
#define HEADROOM_FLOW_H

#include "base/base.h"

/* Before anything else, and before threads use isa. */
enum base_status flow_start(void);

#endif
