// SPDX-License-Identifier: MIT
/*
 * Fuzzes the folding of symbols: a byte is a symbol, or the end of the list. Aborts if what fold
 * keeps does not agree with itself afterwards.
 */
#include "fold/fold.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void occurred(void *context, uint32_t sequence, uint64_t start, uint64_t end)
{
    struct fold *const *fold = context;
    if (sequence >= fold_count(*fold) || start > end)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fold *fold = calloc(1, fold_bytes());
    if (!fold)
        return 0;
    fold_init(fold, occurred, &fold);
    for (size_t i = 0; i < size; i++) {
        if (data[i] == 0xff)
            fold_end(fold);
        else
            fold_add(fold, data[i] % 16, i, i + 1);
    }
    struct fold_part *parts = malloc(FOLD_LONGEST * sizeof *parts);
    for (uint32_t i = 0; parts && i < fold_count(fold); i++)
        if (fold_expand(fold, i, parts, FOLD_LONGEST) != fold_get(fold, i)->length)
            abort();
    if (!fold_check(fold))
        abort();
    free(parts);
    free(fold);
    return 0;
}
