// SPDX-License-Identifier: MIT
/*
 * Which functions a module takes from others: the undefined symbols of its dynamic symbol table.
 * Files are hostile input: every offset is checked against what could be read.
 */
#include "inject/internal.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TABLE_MAX = 256 << 20 };

/* A copy of some bytes of a file, with a NUL behind them; NULL: they are not there. */
static void *read_part(int file, uint64_t offset, uint64_t bytes)
{
    char *part = bytes <= TABLE_MAX ? malloc(bytes + 1) : NULL;
    if (part && pread(file, part, bytes, (off_t)offset) == (ssize_t)bytes) {
        part[bytes] = 0;
        return part;
    }
    free(part);
    return NULL;
}

static void take_symbols(int file, const Elf64_Shdr *table, const Elf64_Shdr *names,
                         void (*take)(void *context, const char *name), void *context)
{
    Elf64_Sym *symbols = read_part(file, table->sh_offset, table->sh_size);
    char *text = read_part(file, names->sh_offset, names->sh_size);
    for (uint64_t i = 0; symbols && text && i < table->sh_size / sizeof *symbols; i++) {
        unsigned type = ELF64_ST_TYPE(symbols[i].st_info);
        if (symbols[i].st_shndx == SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE) &&
            symbols[i].st_name < names->sh_size && text[symbols[i].st_name])
            take(context, text + symbols[i].st_name);
    }
    free(symbols);
    free(text);
}

void inject_imports(const char *path, void (*take)(void *context, const char *name), void *context)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    Elf64_Ehdr header;
    if (file < 0)
        return;
    Elf64_Shdr *sections = NULL;
    if (pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
        header.e_shentsize == sizeof *sections)
        sections = read_part(file, header.e_shoff, header.e_shnum * sizeof *sections);
    for (unsigned i = 0; sections && i < header.e_shnum; i++)
        if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < header.e_shnum)
            take_symbols(file, &sections[i], &sections[sections[i].sh_link], take, context);
    free(sections);
    close(file);
}
