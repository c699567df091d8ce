// SPDX-License-Identifier: MIT
/*
 * Relative relocations (R_X86_64_RELATIVE). The packed kind (DT_RELR) needs nothing: there the file
 * itself holds the addresses.
 */
#include "binary/relocations.h"

#include <stdlib.h>
#include <string.h>

static bool add(struct relocations *relocations, uint64_t at, uint64_t value)
{
    if (relocations->count == relocations->room) {
        size_t room = relocations->room ? relocations->room * 2 : 1024;
        struct relocation *items = reallocarray(relocations->items, room, sizeof *items);
        if (!items)
            return false;
        relocations->items = items;
        relocations->room = room;
    }
    relocations->items[relocations->count++] = (struct relocation){at, value};
    return true;
}

static bool load_section(Elf_Scn *section, struct relocations *relocations)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Rela item;
    for (int i = 0; data && gelf_getrela(data, i, &item); i++)
        if (GELF_R_TYPE(item.r_info) == R_X86_64_RELATIVE &&
            !add(relocations, item.r_offset, (uint64_t)item.r_addend))
            return false;
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
            header.sh_flags & SHF_ALLOC && !load_section(section, relocations))
            return BASE_NO_MEMORY;
    if (relocations->count)
        qsort(relocations->items, relocations->count, sizeof *relocations->items, compare);
    return BASE_OK;
}

void relocations_apply(const struct relocations *relocations, uint64_t vaddr, void *bytes,
                       size_t count)
{
    size_t low = 0, high = relocations->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (relocations->items[middle].at < vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < relocations->count; low++) {
        const struct relocation *item = &relocations->items[low];
        uint64_t offset = item->at - vaddr;
        if (offset >= count || count - offset < sizeof item->value)
            return;
        memcpy((char *)bytes + offset, &item->value, sizeof item->value);
    }
}

void relocations_free(struct relocations *relocations)
{
    free(relocations->items);
    *relocations = (struct relocations){0};
}
