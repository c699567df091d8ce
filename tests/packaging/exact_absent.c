// SPDX-License-Identifier: MIT
/* Prints what a headroom says about the exact engine that was built without it. */
#include "launch/exact.h"

#include <stdio.h>

int main(void)
{
    char error[LAUNCH_ERROR_BYTES];
    struct launch_exact_engine engine;
    enum launch_outcome outcome = launch_exact_find(&engine, error);
    printf("%s\n", outcome == LAUNCH_FAILED ? error : "found");
    return 0;
}
