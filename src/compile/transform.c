// SPDX-License-Identifier: MIT
/* From assembly to assembly. */
#include "compile/parts.h"

enum base_status compile_transform(const struct compile_transform *transform, const char *text,
                                   size_t bytes, FILE *out, struct instrument_counts *counts)
{
    (void)counts;
    if (transform->options.modes)
        return BASE_UNSUPPORTED;
    return fwrite(text, 1, bytes, out) == bytes ? BASE_OK : BASE_IO;
}
