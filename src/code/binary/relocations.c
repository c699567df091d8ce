// SPDX-License-Identifier: MIT
/*
 * Relative relocations (R_X86_64_RELATIVE) those that name a function, and those that name
 * the one that chooses it (R_X86_64_IRELATIVE). The packed kind
 * (DT_RELR) needs nothing: there the file itself holds the addresses.
 */
#include "binary/relocations.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

static bool add(struct relocations *relocations, const struct relocation *item)
{
    return UTIL_PUSH(relocations->items, relocations->count, relocations->capacity, *item);
}

/* Of dynamic symbols; NULL. */
static const char *name_of(Elf *elf, const GElf_Shdr *header, uint64_t number)
{
    GElf_Shdr symbols;
    GElf_Sym symbol;
    Elf_Scn *section = elf_getscn(elf, header->sh_link);
    Elf_Data *data = section && gelf_getshdr(section, &symbols) ? elf_getdata(section, NULL) : NULL;
    if (!data || number == 0 || number > INT32_MAX || !gelf_getsym(data, (int)number, &symbol))
        return NULL;
    return elf_strptr(elf, symbols.sh_link, symbol.st_name);
}

static bool load_section(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                         struct relocations *relocations)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Rela item;
    for (int i = 0; data && gelf_getrela(data, i, &item); i++) {
        uint64_t type = GELF_R_TYPE(item.r_info);
        bool relative = type == R_X86_64_RELATIVE, resolver = type == R_X86_64_IRELATIVE;
        const char *name = NULL;
        if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
            name = name_of(elf, header, GELF_R_SYM(item.r_info));
        uint64_t value = relative || resolver ? (uint64_t)item.r_addend : 0;
        if ((relative || resolver || name) &&
            !add(relocations, &(struct relocation){item.r_offset, value, name, resolver}))
            return false;
    }
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct relocation *a = left, *b = right;
    return (a->at > b->at) - (a->at < b->at);
}

enum base_status relocations_load(Elf *elf, struct relocations *relocations)
{
    GElf_Shdr header;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section))
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
            header.sh_flags & SHF_ALLOC && !load_section(elf, section, &header, relocations))
            return BASE_NO_MEMORY;
    if (relocations->count)
        qsort(relocations->items, relocations->count, sizeof *relocations->items, compare);
    return BASE_OK;
}

/* Number of the first at or after an address. */
static size_t first_from(const struct relocations *relocations, uint64_t vaddr)
{
    return BASE_FIRST(i, relocations->count, relocations->items[i].at >= vaddr);
}

const struct relocation *relocations_find(const struct relocations *relocations, uint64_t vaddr)
{
    size_t item = first_from(relocations, vaddr);
    bool found = item < relocations->count && relocations->items[item].at == vaddr;
    return found ? &relocations->items[item] : NULL;
}

void relocations_apply(const struct relocations *relocations, uint64_t vaddr, void *bytes,
                       size_t count)
{
    for (size_t i = first_from(relocations, vaddr); i < relocations->count; i++) {
        const struct relocation *item = &relocations->items[i];
        uint64_t offset = item->at - vaddr;
        if (offset >= count || count - offset < sizeof item->value)
            return;
        if (!item->name && !item->resolver)
            memcpy((char *)bytes + offset, &item->value, sizeof item->value);
    }
}

void relocations_free(struct relocations *relocations)
{
    free(relocations->items);
    *relocations = (struct relocations){0};
}
