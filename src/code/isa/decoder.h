// SPDX-License-Identifier: MIT
/* Private to isa: what its files share about the decoder. */
#ifndef HEADROOM_ISA_DECODER_H
#define HEADROOM_ISA_DECODER_H

#include <Zydis/Zydis.h>
#include "isa/isa.h"

/* One decoded instruction as Zydis gives it: ~1.1 KiB, on the stack of whoever decodes. */
struct isa_decoded {
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* General register number of a register of any width, or -1. */
int isa_general_register(ZydisRegister name);

/* Number of an xmm, ymm or zmm register and its size. */
bool isa_vector_register(ZydisRegister name, uint8_t *number, uint8_t *bytes);

/* Fills operation from decoded. access_of[i]: index of the access of Zydis operand i, or -1. */
void isa_describe(const struct isa_decoded *decoded, const int8_t *access_of,
                  struct isa_operation *operation);

/* Fills effects from decoded and what insn already says. */
void isa_effects_of(const struct isa_decoded *decoded, const struct isa_insn *insn,
                    struct isa_effects *effects);

#endif
