// SPDX-License-Identifier: MIT
/* Fuzzes isa and forecast: registers from the input, then code and data that repeat through all
   readable addresses. */
#include "forecast/forecast.h"

#include "require.h"

#include <Zydis/Zydis.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *bytes;
    size_t count;
};

/* Everything below 2^32 and around the program's own addresses exists; the rest is unreadable. */
static bool read_input(void *context, uint64_t address, void *out, size_t bytes)
{
    const struct input *input = context;
    if (address >> 40 != 0 && address >> 40 != 0x7f)
        return false;
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)out)[i] = input->bytes[(address + i) % input->count];
    return true;
}

static void decode_everywhere(const struct input *input)
{
    for (size_t at = 0; at < input->count; at++) {
        struct isa_insn insn;
        struct isa_operation operation;
        size_t left = input->count - at;
        unsigned length = isa_length(input->bytes + at, left);
        require(length <= left && length <= ISA_MAX_LENGTH);
        if (isa_decode_operation(input->bytes + at, left, at, &insn, &operation) != BASE_OK)
            continue;
        require(insn.length >= 1 && insn.length <= left && insn.length <= ISA_MAX_LENGTH);
        require(insn.access_count <= ISA_MAX_ACCESSES);
        for (unsigned i = 0; i < insn.access_count; i++) {
            const struct isa_access *access = &insn.accesses[i];
            require(access->direction && access->bytes && access->element_bytes &&
                    access->element_bytes <= 16 && access->bytes % access->element_bytes == 0);
            require(access->base < BASE_GENERAL_REGISTERS && access->base >= -1);
            require(access->index < BASE_GENERAL_REGISTERS && access->index >= -1);
        }
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return isa_start((const void *)(uintptr_t)&ZydisDecoderInit,
                     (const void *)(uintptr_t)&ZydisDecoderDecodeFull);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct forecast forecast;
    struct base_registers registers;
    if (size <= sizeof(registers))
        return 0;
    memcpy(&registers, data, sizeof(registers));
    struct input input = {data + sizeof(registers), size - sizeof(registers)};
    struct base_memory memory = {read_input, &input};
    struct isa_blame blame;
    decode_everywhere(&input);
    struct isa_around around = {registers.general[1], registers.general[2], registers.general[3]};
    isa_find_trapping(&registers, registers.general[0], &around, &memory, &blame);
    around = (struct isa_around){0, 0, 0};
    isa_find_trapping(&registers, registers.general[0], &around, &memory, &blame);
    forecast_forget_code(&forecast);
    forecast_begin(&forecast, &registers, &memory);
    for (unsigned i = 0; i < 8; i++) {
        struct forecast_goal goal = {.direction = (uint8_t)(i % 3 + 1),
                                     .skip = i % 4 * 7,
                                     .max_instructions = 1000,
                                     .range_start = registers.general[2] & ~UINT64_C(63),
                                     .range_bytes = i < 4 ? 0 : 64};
        struct forecast_outcome outcome;
        struct base_registers then;
        struct base_memory there;
        uint8_t word[8];
        enum forecast_result result = forecast_run(&forecast, &goal, &outcome);
        require(outcome.instructions <= goal.max_instructions);
        require(outcome.matching_passed <= goal.skip);
        require(outcome.accesses_passed >= outcome.matching_passed);
        require(result != FORECAST_HIT || outcome.access < outcome.insn.access_count);
        bool known = forecast_then(&forecast, &then, &there);
        require(!known || result == FORECAST_HIT);
        if (known)
            base_read(&there, then.general[BASE_RSP], word, sizeof word);
    }
    return 0;
}
