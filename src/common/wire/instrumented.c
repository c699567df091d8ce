// SPDX-License-Identifier: MIT
#include "wire/instrumented.h"

const char *const instrumented_reasons[INSTRUMENTED_REASONS] = {
    [INSTRUMENTED_WHOLE] = "instrumented whole",
    [INSTRUMENTED_TRUNCATED] = "too many paths: they were cut into pieces",
    [INSTRUMENTED_SKIP_STACK] = "the stack pointer is unknown where it is needed",
    [INSTRUMENTED_SKIP_ARGUMENTS] = "takes addresses of its arguments on the stack",
    [INSTRUMENTED_SKIP_INDIRECT] = "has an indirect jump that is not understood",
    [INSTRUMENTED_SKIP_ASSEMBLY] = "has inline assembly that jumps",
    [INSTRUMENTED_SKIP_FLAGS] = "no register or flags are free where they are needed",
    [INSTRUMENTED_SKIP_UNDECODED] = "has an unknown instruction",
    [INSTRUMENTED_SKIP_LARGE] = "is too large",
    [INSTRUMENTED_SKIP_NOT_FUNCTION] = "is not marked as a function: written by hand",
    [INSTRUMENTED_SKIP_ATTRIBUTE] = "is entered or left in unusual ways (naked, interrupt)",
};
