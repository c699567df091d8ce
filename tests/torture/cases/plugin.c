// SPDX-License-Identifier: MIT
/* What dlopen_loop loads: busy code and thread-local storage that come and go. */
#include <stdint.h>

uint64_t plugin_work(uint64_t turns);

static _Thread_local uint64_t own[32];
static volatile uint64_t shared[32];

uint64_t plugin_work(uint64_t turns)
{
    for (uint64_t i = 0; i < turns; i++) {
        own[i % 32] += i;
        shared[i % 32] = own[i % 32];
        shared[(i + 1) % 32] = i;
    }
    return own[3];
}
