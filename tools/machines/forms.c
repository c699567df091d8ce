// SPDX-License-Identifier: MIT
/*
 * Helper of tools/machines/generate: instruction forms from machine code.
 *
 * stdin: lines of hexadecimal digits, each some instructions back to back. stdout: a line for each instruction, fields separated by
 * tabs: the form's key as room model makes it, its bytes, its operands, and 1 if two of its visible register operands
 * are the same register (which might be an idiom, so that such an example is the last choice).
 *
 * Operands: the number of visible ones, a colon, then a letter and a digit for each: r register, f flags, m memory, s memory of
 * the stack pointer alone, a address, i immediate, o other; 1 read, 2 written, 3 both.
 */
#include "model/model.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

static char kind(const ZydisDecodedOperand *operand)
{
    switch (operand->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        return ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_FLAGS ? 'f'
               : ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_IP  ? 'o'
                                                                                 : 'r';
    case ZYDIS_OPERAND_TYPE_MEMORY:
        return operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN               ? 'a'
               : operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN ? 's'
                                                                        : 'm';
    case ZYDIS_OPERAND_TYPE_IMMEDIATE: return 'i';
    default: return 'o';
    }
}

static int repeats_a_register(const ZydisDecodedInstruction *instruction,
                              const ZydisDecodedOperand *operands)
{
    for (int i = 0; i < instruction->operand_count_visible; i++)
        for (int j = 0; j < i; j++)
            if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                operands[j].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                operands[i].reg.value == operands[j].reg.value)
                return 1;
    return 0;
}

static void print(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                  const unsigned char *bytes)
{
    char key[MODEL_KEY_BYTES];
    model_key(instruction, operands, key);
    printf("%s\t", key);
    for (int i = 0; i < instruction->length; i++)
        printf("%02x", bytes[i]);
    printf("\t%u:", instruction->operand_count_visible);
    for (int i = 0; i < instruction->operand_count; i++)
        printf("%c%d", kind(operands + i),
               !!(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ) +
                   2 * !!(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE));
    printf("\t%d\n", repeats_a_register(instruction, operands));
}

int main(void)
{
    static char line[1 << 16];
    static unsigned char bytes[sizeof line / 2];
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while (fgets(line, sizeof line, stdin)) {
        size_t count = 0;
        unsigned byte;
        while (sscanf(line + 2 * count, "%2x", &byte) == 1)
            bytes[count++] = (unsigned char)byte;
        for (size_t at = 0; at < count;) {
            ZydisDecodedInstruction instruction;
            ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
            if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + at, count - at, &instruction,
                                                     operands)))
                break;
            print(&instruction, operands, bytes + at);
            at += instruction.length;
        }
    }
    return 0;
}
