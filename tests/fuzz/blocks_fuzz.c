// SPDX-License-Identifier: MIT
/*
 * Fuzzes what reads basic blocks: hexadecimal digits, and the bounds of any bytes. The first byte chooses: digits or bytes, unrolled or a
 * loop, the machine. Aborts if bounds are no sensible numbers, or if the certified one is above what is predicted.
 */
#include "bounds/bounds.h"
#include "require.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct model *machine(unsigned which)
{
    static struct model *models[4];
    static const char *const names[] = {"skylake", "ivy-bridge", "sapphire-rapids", "zen3"};
    if (!models[which])
        require(model_open(names[which], &models[which], NULL) == BASE_OK);
    return models[which];
}

static void bound(const uint8_t *bytes, size_t count, unsigned choice)
{
    struct bounds_block block = {0};
    struct bounds bounds;
    size_t bad;
    const struct bounds_options options = {
        .unrolled = choice & 2, .graph = choice & 4, .taken = !(choice & 2)};
    enum base_status status = bounds_decode(bytes, count, 0x1000, false, &block, &bad);
    require(status == BASE_OK || (block.count == 0 && bad < count + 1));
    if (status == BASE_OK && block.count) {
        require(bounds_of(&block, machine(choice >> 4 & 3), &options, &bounds) == BASE_OK);
        require(isfinite(bounds.predicted) && isfinite(bounds.certified) && bounds.certified >= 0);
        require(bounds.certified <= bounds.predicted + 1e-6);
        bounds_free(&bounds);
    }
    bounds_block_free(&block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = NULL;
    size_t count = 0, bad = 0;
    if (!size)
        return 0;
    if (data[0] & 1) {
        bound(data + 1, size - 1, data[0]);
        return 0;
    }
    enum base_status status = bounds_hex((const char *)data + 1, size - 1, &bytes, &count, &bad);
    require(status == BASE_OK ? count <= size / 2 : bad < size - 1);
    if (status == BASE_OK)
        bound(bytes, count, data[0]);
    free(bytes);
    return 0;
}
