// SPDX-License-Identifier: MIT
/*
 * Which instruction forms code is made of: `forms FILE...`. Decodes what is executable in ELF files from its first byte on, which compilers'
 * code allows, and prints for each form how often it is there, and its key (src/code/model), most frequent first.
 */
#include "model/model.h"
#include "util/util.h"

#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct census {
    struct util_strings keys;
    size_t *counts, count, capacity; /* by key */
    bool failed;
};

static void note(struct census *census, const char *key, size_t bytes)
{
    uint32_t number;
    if (!util_strings_add(&census->keys, key, bytes, &number) ||
        (number == census->count &&
         !UTIL_PUSH(census->counts, census->count, census->capacity, (size_t)0)))
        census->failed = true;
    else
        census->counts[number]++;
}

static void decode(struct census *census, const uint8_t *code, size_t bytes)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    char key[MODEL_KEY_BYTES];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t at = 0; at < bytes;) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, bytes - at, &in, operands))) {
            at++;
            continue;
        }
        note(census, key, model_key(&in, operands, key));
        at += in.length;
    }
}

/* Sections that are executable. False: it is no ELF file of this architecture, or cannot be read. */
static bool read_file(struct census *census, const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = file < 0 ? NULL : elf_begin(file, ELF_C_READ_MMAP, NULL);
    const Elf64_Ehdr *head = elf ? elf64_getehdr(elf) : NULL;
    bool good = head && head->e_machine == EM_X86_64;
    for (Elf_Scn *section = NULL; good && (section = elf_nextscn(elf, section));) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        const Elf_Data *data = elf_rawdata(section, NULL);
        good = header && data;
        if (good && header->sh_flags & SHF_EXECINSTR && header->sh_type == SHT_PROGBITS)
            decode(census, data->d_buf, data->d_size);
    }
    elf_end(elf);
    if (file >= 0)
        close(file);
    return good;
}

static const struct census *sorted; /* for qsort */

static int more_frequent(const void *a, const void *b)
{
    size_t one = sorted->counts[*(const size_t *)a], two = sorted->counts[*(const size_t *)b];
    return (one < two) - (one > two);
}

int main(int argc, char **argv)
{
    struct census census = {0};
    elf_version(EV_CURRENT);
    for (int i = 1; i < argc; i++)
        if (!read_file(&census, argv[i])) {
            fprintf(stderr, "forms: '%s' cannot be read, or is no ELF file of x86-64\n", argv[i]);
            return 1;
        }
    size_t *order = malloc((census.count + 1) * sizeof *order);
    if (!order || census.failed) {
        fprintf(stderr, "forms: no memory\n");
        return 1;
    }
    for (size_t i = 0; i < census.count; i++)
        order[i] = i;
    sorted = &census;
    qsort(order, census.count, sizeof *order, more_frequent);
    for (size_t i = 0; i < census.count; i++)
        printf("%zu %s\n", census.counts[order[i]], census.keys.texts[order[i]]);
    return fflush(stdout) != 0;
}
