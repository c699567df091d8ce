// SPDX-License-Identifier: MIT
/*
 * Which instruction forms code is made of: `forms FILE...`. Decodes what is executable in ELF files from its first byte on, which compilers'
 * code allows, and prints for each form how often it is there, and its key (src/code/model), most frequent first.
 */
#include "model/model.h"
#include "util/util.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

/* Sections that are executable. */
static void read_file(struct census *census, const char *path)
{
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &facts) || facts.st_size < (off_t)sizeof(Elf64_Ehdr))
        return;
    size_t bytes = (size_t)facts.st_size;
    const uint8_t *all = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (all == MAP_FAILED)
        return;
    Elf64_Ehdr head;
    memcpy(&head, all, sizeof head);
    bool sound = !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_machine == EM_X86_64 &&
                 head.e_shoff < bytes &&
                 head.e_shnum <= (bytes - head.e_shoff) / sizeof(Elf64_Shdr);
    for (size_t i = 0; sound && i < head.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, all + head.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_flags & SHF_EXECINSTR && section.sh_type == SHT_PROGBITS &&
            section.sh_offset < bytes && section.sh_size <= bytes - section.sh_offset)
            decode(census, all + section.sh_offset, section.sh_size);
    }
    munmap((void *)(uintptr_t)all, bytes);
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
    for (int i = 1; i < argc; i++)
        read_file(&census, argv[i]);
    size_t *order = malloc((census.count + 1) * sizeof *order);
    if (!order || census.failed)
        return 1;
    for (size_t i = 0; i < census.count; i++)
        order[i] = i;
    sorted = &census;
    qsort(order, census.count, sizeof *order, more_frequent);
    for (size_t i = 0; i < census.count; i++)
        printf("%zu %s\n", census.counts[order[i]], census.keys.texts[order[i]]);
    return fflush(stdout) != 0;
}
