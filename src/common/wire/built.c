// SPDX-License-Identifier: MIT
#include "wire/built.h"

const char *const built_reasons[BUILT_REASONS] = {
    [BUILT_WHOLE] = "instrumented whole",
    [BUILT_TRUNCATED] = "too many paths: they were cut into pieces",
    [BUILT_SKIP_STACK] = "the stack pointer is unknown where it is needed",
    [BUILT_SKIP_ARGUMENTS] = "takes addresses of its arguments on the stack",
    [BUILT_SKIP_INDIRECT] = "has an indirect jump that is not understood",
    [BUILT_SKIP_ASSEMBLY] = "has inline assembly that jumps",
    [BUILT_SKIP_FLAGS] = "no register or flags are free where they are needed",
    [BUILT_SKIP_UNDECODED] = "has an unknown instruction",
    [BUILT_SKIP_LARGE] = "is too large",
    [BUILT_SKIP_NOT_FUNCTION] = "is not marked as a function: written by hand",
    [BUILT_SKIP_ATTRIBUTE] = "is entered or left in unusual ways (naked, interrupt)",
};
