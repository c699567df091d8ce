// SPDX-License-Identifier: MIT
/*
 * Gives isa the decoder that this program is linked with. isa wants no more than two
 * addresses, and its header of Zydis is not ours to include: they are declared as bare symbols.
 */
#include "flow/flow.h"

#include "isa/isa.h"

extern const char ZydisDecoderInit[], ZydisDecoderDecodeFull[];

enum base_status flow_start(void)
{
    return isa_start(ZydisDecoderInit, ZydisDecoderDecodeFull);
}
