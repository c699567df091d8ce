// SPDX-License-Identifier: MIT
/* Exports the decoder library's names with a meaning of its own: nobody else may call them. */
#include "torture.h"

#define OWN(name)                                                                                  \
    uint32_t name(void);                                                                           \
    __attribute__((visibility("default"))) uint32_t name(void)                                     \
    {                                                                                              \
        dprintf(STDERR_FILENO, #name " called\n");                                                 \
        abort();                                                                                   \
    }

OWN(ZydisDecoderInit)
OWN(ZydisDecoderEnableMode)
OWN(ZydisDecoderDecodeFull)
OWN(ZydisDecoderDecodeInstruction)
OWN(ZydisDecoderDecodeOperands)
OWN(ZydisDecoderDecodeBuffer)
OWN(ZydisCalcAbsoluteAddress)
OWN(ZydisGetVersion)
OWN(ZydisRegisterGetLargestEnclosing)
OWN(ZydisRegisterGetClass)
OWN(ZydisRegisterGetId)
OWN(ZydisRegisterGetWidth)

int main(void)
{
    busy(500);
    say("own decoder never called\n");
    return 0;
}
