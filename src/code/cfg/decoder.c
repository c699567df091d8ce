// SPDX-License-Identifier: MIT
/*
 * Gives isa the decoder that this program is linked with. isa wants no more than two
 * addresses, and Zydis' headers are isa's alone to include: what the two take is none of our
 * business.
 */
#include "cfg/cfg.h"

#include "isa/isa.h"

void ZydisDecoderInit(void);
void ZydisDecoderDecodeFull(void);

enum base_status cfg_start(void)
{
    return isa_start((const void *)(uintptr_t)&ZydisDecoderInit,
                     (const void *)(uintptr_t)&ZydisDecoderDecodeFull);
}
