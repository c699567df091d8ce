// SPDX-License-Identifier: MIT
/* Fuzzes Go's table of functions and lines. */
#include "binary/pclntab.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pclntab table;
    if (pclntab_read(data, size, 0x401000, &table) != BASE_OK)
        return 0;
    for (uint64_t offset = 0; offset < 4096; offset += 7) { /* the text may begin anywhere */
        struct pclntab_place place;
        if (!pclntab_find(&table, table.text + offset, &place))
            continue;
        if (!place.function || strlen(place.function) >= size ||
            (place.file && strlen(place.file) >= size) || (place.line && !place.file))
            abort();
    }
    return 0;
}
