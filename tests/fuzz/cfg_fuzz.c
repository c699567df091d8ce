// SPDX-License-Identifier: MIT
/* Fuzzes flow: the input is code, and the data that its tables are read from; its first byte says
   which calls return. */
#include "cfg/cfg.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { START = 0x401000 };

struct input {
    const uint8_t *bytes;
    size_t count;
};

/* The code, over and over, from START on. */
static bool read_input(void *context, uint64_t address, void *out, size_t bytes)
{
    const struct input *input = context;
    if (address < START || address >> 24)
        return false;
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)out)[i] = input->bytes[(address - START + i) % input->count];
    return true;
}

static bool returns(void *context, uint64_t callee, bool cell)
{
    const struct input *input = context;
    return input->bytes[0] >> (callee & 3) & 1 || cell;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return cfg_start();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct cfg_code code = {.bytes = data,
                            .count = size,
                            .start = START,
                            .data = {read_input, &input},
                            .returns = returns,
                            .context = &input};
    struct cfg *flow;
    uint64_t ways[CFG_WAYS_MAX];
    size_t count;
    cfg_may_return(data, size, START, ways, &count);
    if (size == 0 || cfg_of_code(&code, &flow) != BASE_OK)
        return 0;
    if (!cfg_check(flow))
        abort();
    for (size_t i = 0; i < size; i++)
        if (cfg_loop_at(flow, START + i) >= flow->loops_count)
            abort();
    cfg_free(flow);
    return 0;
}
