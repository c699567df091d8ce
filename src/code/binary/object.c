// SPDX-License-Identifier: MIT
/* Relocatable objects in memory, by libelf. */
#include "binary/object.h"

#include "util/util.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>

struct place {
    uint32_t section;
    uint64_t offset;
};

struct object {
    Elf *elf;
    Elf_Data *symbols, *long_sections; /* the latter: section numbers that do not fit a symbol */
    size_t names, symbols_count;
    struct place *relocated; /* sorted */
    size_t relocated_count, relocated_capacity;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool add_relocations(struct object *object, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
    if (count && !UTIL_GROW(object->relocated, object->relocated_capacity,
                            object->relocated_count + count - 1))
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Rela entry;
        if (gelf_getrela(data, (int)i, &entry))
            object->relocated[object->relocated_count++] =
                (struct place){header->sh_info, entry.r_offset};
    }
    return true;
}

static enum base_status scan(struct object *object)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(object->elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            return BASE_MALFORMED;
        if (header.sh_type == SHT_SYMTAB) {
            object->symbols = elf_getdata(section, NULL);
            object->names = header.sh_link;
            if (object->symbols && header.sh_entsize)
                object->symbols_count = object->symbols->d_size / header.sh_entsize;
        } else if (header.sh_type == SHT_SYMTAB_SHNDX) {
            object->long_sections = elf_getdata(section, NULL);
        } else if (header.sh_type == SHT_RELA && !add_relocations(object, section, &header)) {
            return BASE_NO_MEMORY;
        }
    }
    if (object->relocated_count)
        qsort(object->relocated, object->relocated_count, sizeof *object->relocated,
              compare_places);
    return BASE_OK;
}

enum base_status object_open(const uint8_t *bytes, size_t count, struct object **out)
{
    if (elf_version(EV_CURRENT) == EV_NONE)
        return BASE_UNSUPPORTED;
    struct object *object = calloc(1, sizeof *object);
    if (!object)
        return BASE_NO_MEMORY;
    /* libelf only reads what was not opened for writing. */
    object->elf = elf_memory((char *)(uintptr_t)bytes, count);
    GElf_Ehdr header;
    enum base_status status = BASE_OK;
    if (!object->elf || elf_kind(object->elf) != ELF_K_ELF || !gelf_getehdr(object->elf, &header))
        status = BASE_MALFORMED;
    else if (header.e_machine != EM_X86_64 || header.e_type != ET_REL ||
             header.e_ident[EI_CLASS] != ELFCLASS64)
        status = BASE_UNSUPPORTED;
    else
        status = scan(object);
    if (status != BASE_OK) {
        object_close(object);
        return status;
    }
    *out = object;
    return BASE_OK;
}

void object_close(struct object *object)
{
    if (!object)
        return;
    elf_end(object->elf);
    free(object->relocated);
    free(object);
}

size_t object_symbols(const struct object *object)
{
    return object->symbols_count;
}

bool object_symbol(const struct object *object, size_t index, struct object_symbol *symbol)
{
    GElf_Sym raw;
    Elf32_Word section = 0;
    if (!gelf_getsymshndx(object->symbols, object->long_sections, (int)index, &raw, &section))
        return false;
    symbol->name = elf_strptr(object->elf, object->names, raw.st_name);
    if (raw.st_shndx != SHN_XINDEX)
        section = raw.st_shndx < SHN_LORESERVE ? raw.st_shndx : 0;
    symbol->section = section;
    symbol->value = raw.st_value;
    symbol->type = GELF_ST_TYPE(raw.st_info);
    return symbol->name != NULL;
}

const uint8_t *object_section(const struct object *object, uint32_t section, size_t *bytes)
{
    Elf_Scn *found = elf_getscn(object->elf, section);
    Elf_Data *data = found ? elf_rawdata(found, NULL) : NULL;
    *bytes = data && data->d_buf ? data->d_size : 0;
    return *bytes ? data->d_buf : NULL;
}

bool object_relocated(const struct object *object, uint32_t section, uint64_t from, uint64_t to)
{
    struct place key = {section, from};
    size_t low =
        BASE_FIRST(i, object->relocated_count, compare_places(&object->relocated[i], &key) >= 0);
    return low < object->relocated_count && object->relocated[low].section == section &&
           object->relocated[low].offset < to;
}
