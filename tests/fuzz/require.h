// SPDX-License-Identifier: MIT
#ifndef HEADROOM_TESTS_REQUIRE_H
#define HEADROOM_TESTS_REQUIRE_H

#include <stdbool.h>
#include <stdlib.h>

static inline void require(bool condition)
{
    if (!condition)
        abort();
}

#endif
