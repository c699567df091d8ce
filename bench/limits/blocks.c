// SPDX-License-Identifier: MIT
/*
 * Measures basic blocks on this machine: `blocks [--loop] < FILE`. A block a line, in hexadecimal; what follows a blank is left alone.
 * Prints for each, in order: the line's hexadecimal, cycles, lower and upper quartile of its measurements, by commas; "fail" for cycles
 * where it cannot be measured.
 */
#include "calibrate/calibrate.h"
#include "util/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MAX = 2048 };

static int digit(int sign)
{
    return sign >= '0' && sign <= '9'   ? sign - '0'
           : sign >= 'a' && sign <= 'f' ? sign - 'a' + 10
           : sign >= 'A' && sign <= 'F' ? sign - 'A' + 10
                                        : -1;
}

/* Bytes in a memory of their own; 0: not hexadecimal, or too long. */
static size_t read_block(const char *line, uint8_t **bytes)
{
    uint8_t read[BLOCK_MAX];
    size_t count = 0;
    for (; digit(line[0]) >= 0 && digit(line[1]) >= 0; line += 2) {
        if (count == sizeof read)
            return 0;
        read[count++] = (uint8_t)(digit(line[0]) << 4 | digit(line[1]));
    }
    *bytes = malloc(count + 1);
    if (!*bytes)
        return 0;
    memcpy(*bytes, read, count);
    return count;
}

static void print(const struct calibrate_block *block)
{
    for (size_t i = 0; i < block->count; i++)
        printf("%02x", block->bytes[i]);
    if (block->cycles > 0)
        printf(",%.3f,%.3f,%.3f\n", block->cycles, block->low, block->high);
    else
        printf(",fail\n");
}

int main(int argc, char **argv)
{
    struct calibrate_block *blocks = NULL;
    size_t count = 0, capacity = 0, bytes = 0;
    char *line = NULL;
    struct util_text why = {0};
    bool loop = argc > 1 && !strcmp(argv[1], "--loop");
    while (getline(&line, &bytes, stdin) > 0) {
        struct calibrate_block block = {.loop = loop};
        uint8_t *copy = NULL;
        block.count = read_block(line, &copy);
        block.bytes = copy;
        if (block.count && !UTIL_PUSH(blocks, count, capacity, block))
            return 1;
    }
    if (calibrate_blocks(blocks, count, &why) != BASE_OK) {
        fprintf(stderr, "blocks: %s.\n", why.bytes);
        return 1;
    }
    for (size_t i = 0; i < count; i++)
        print(blocks + i);
    return fflush(stdout) != 0;
}
