// SPDX-License-Identifier: MIT
/*
 * decoding <LINES: what our decoder says of instructions. Each line of standard input holds the
 * bytes of one in hexadecimal and may go on beyond it; for each one line is printed: its accesses
 * in order, as "l8" and "s8" for eight bytes loaded or stored, with "?" if it may not happen and
 * "*" if its width is not known here; "-" for none.
 */
#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

#include "isa/isa.h"

static size_t read_bytes(const char *text, unsigned char *bytes, size_t room)
{
    size_t count = 0;
    unsigned byte;
    while (count < room && sscanf(text + 2 * count, "%2x", &byte) == 1)
        bytes[count++] = (unsigned char)byte;
    return count;
}

static void print_accesses(const struct isa_insn *insn)
{
    for (unsigned i = 0; i < insn->access_count; i++) {
        const struct isa_access *access = &insn->accesses[i];
        const char *mark = access->conditional ? "?" : access->unaddressable ? "*" : "";
        if (access->direction & ISA_LOAD)
            printf("l%u%s ", access->bytes, mark);
        if (access->direction & ISA_STORE)
            printf("s%u%s ", access->bytes, mark);
    }
    printf("- %s\n", ZydisMnemonicGetString((ZydisMnemonic)insn->mnemonic));
}

int main(void)
{
    static char line[256];
    if (isa_start((const void *)ZydisDecoderInit, (const void *)ZydisDecoderDecodeFull) != BASE_OK)
        return 2;
    while (fgets(line, sizeof line, stdin)) {
        unsigned char bytes[15];
        struct isa_insn insn;
        size_t count = read_bytes(line, bytes, sizeof bytes);
        if (isa_decode(bytes, count, 0, &insn) == BASE_OK)
            print_accesses(&insn);
        else
            puts("- unknown");
    }
    return 0;
}
