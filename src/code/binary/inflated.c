// SPDX-License-Identifier: MIT
/*
 * The file that is made: header, contents of the sections that libdw is to have, section headers.
 * All other sections become SHT_NOBITS, which libdw passes over; their numbers stay, so that names
 * and links hold.
 *
 * Hostile input: sizes are those that image_open has found bearable (check_inflation).
 */
#include "binary/inflated.h"

#include <stdlib.h>
#include <string.h>

/* What frames are made from. Without .debug_aranges (units.c) and the locations of variables. */
static const char *const wanted_names[] = {
    ".debug_info", ".debug_types",       ".debug_abbrev", ".debug_line",     ".debug_line_str",
    ".debug_str",  ".debug_str_offsets", ".debug_ranges", ".debug_rnglists", ".gnu_debugaltlink"};

static bool is_wanted(const char *name)
{
    for (size_t i = 0; i < BASE_COUNT(wanted_names); i++)
        if (strcmp(name, wanted_names[i]) == 0)
            return true;
    return false;
}

struct maker {
    Elf *elf;
    size_t names; /* index of the section with the names */
    size_t sections;
    uint64_t bytes;           /* of the file */
    bool compressed, foreign; /* some section is */
    unsigned char *file;
};

static uint64_t aligned(uint64_t offset)
{
    return (offset + 15) & ~UINT64_C(15);
}

static uint64_t inflated_bytes(Elf_Scn *section, const GElf_Shdr *header)
{
    GElf_Chdr compressed;
    if (!(header->sh_flags & SHF_COMPRESSED))
        return header->sh_size;
    return gelf_getchdr(section, &compressed) ? compressed.ch_size : 0;
}

static bool has_contents(const struct maker *maker, Elf_Scn *section, const GElf_Shdr *header,
                         const char *name)
{
    return header->sh_type != SHT_NOBITS &&
           (elf_ndxscn(section) == maker->names || is_wanted(name));
}

/* Compressed in the old way; of programs with split DWARF, whose other files libdw looks for beside
   the file that it has open. */
static bool is_foreign(const char *name)
{
    return strncmp(name, ".zdebug", 7) == 0 || strcmp(name, ".debug_addr") == 0;
}

static bool measure(struct maker *maker)
{
    maker->bytes = sizeof(Elf64_Ehdr);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(maker->elf, section));) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header)
                               ? elf_strptr(maker->elf, maker->names, header.sh_name)
                               : NULL;
        if (!name)
            return false;
        maker->foreign |= is_foreign(name);
        if (!has_contents(maker, section, &header, name))
            continue;
        maker->compressed |= (header.sh_flags & SHF_COMPRESSED) != 0;
        maker->bytes = aligned(maker->bytes) + inflated_bytes(section, &header);
    }
    maker->bytes = aligned(maker->bytes) + maker->sections * sizeof(Elf64_Shdr);
    return maker->compressed && !maker->foreign;
}

/* offset: where the last contents end. */
static bool add_contents(struct maker *maker, Elf_Scn *section, GElf_Shdr *header, uint64_t *offset)
{
    uint64_t wanted = inflated_bytes(section, header), start = aligned(*offset);
    Elf_Data *data = wanted ? image_data(section, header) : NULL;
    if (wanted && (!data || data->d_size != wanted || start + wanted > maker->bytes))
        return false;
    if (wanted)
        memcpy(maker->file + start, data->d_buf, wanted);
    header->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
    header->sh_offset = start;
    header->sh_size = wanted;
    *offset = start + wanted;
    return true;
}

static bool fill(struct maker *maker)
{
    uint64_t end = maker->bytes - maker->sections * sizeof(Elf64_Shdr), offset = sizeof(Elf64_Ehdr);
    GElf_Ehdr first;
    if (!gelf_getehdr(maker->elf, &first))
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(maker->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            return false;
        if (!has_contents(maker, section, &header,
                          elf_strptr(maker->elf, maker->names, header.sh_name)))
            header.sh_type = SHT_NOBITS;
        else if (!add_contents(maker, section, &header, &offset))
            return false;
        memcpy(maker->file + end + elf_ndxscn(section) * sizeof header, &header, sizeof header);
    }
    first.e_phoff = first.e_phnum = 0;
    first.e_shoff = end;
    memcpy(maker->file, &first, sizeof first);
    return true;
}

/* The caller's to free; NULL: it cannot be done, or need not. */
static void *make(Elf *elf, uint64_t *bytes)
{
    struct maker maker = {.elf = elf};
    if (elf_getshdrstrndx(elf, &maker.names) != 0 || elf_getshdrnum(elf, &maker.sections) != 0 ||
        maker.sections == 0 || maker.sections >= SHN_LORESERVE || !measure(&maker))
        return NULL;
    maker.file = calloc(1, maker.bytes);
    if (maker.file && !fill(&maker)) {
        free(maker.file);
        maker.file = NULL;
    }
    *bytes = maker.bytes;
    return maker.file;
}

/* Does it pay? Small files are inflated in no time. */
static bool is_worthwhile(Elf *elf)
{
    enum { LEAST_BYTES = 16 << 10 };
    GElf_Shdr header;
    Elf_Scn *section = image_section(elf, ".debug_info", &header);
    return section && header.sh_flags & SHF_COMPRESSED && header.sh_size >= LEAST_BYTES;
}

bool inflated_open(struct image *image, struct inflated *inflated)
{
    struct saved_key key;
    struct inflated opened = {0};
    if (!is_worthwhile(image->elf) || !saved_key(image, SAVED_DEBUG, &key))
        return false;
    if (saved_find(&key, &opened.saved)) {
        opened.elf = elf_memory(opened.saved.bytes, opened.saved.count);
    } else {
        uint64_t bytes;
        opened.made = make(image->elf, &bytes);
        if (opened.made) {
            saved_keep(&key, opened.made, bytes);
            opened.elf = elf_memory(opened.made, bytes);
        }
    }
    if (!opened.elf) {
        inflated_close(&opened);
        return false;
    }
    *inflated = opened;
    return true;
}

void inflated_close(struct inflated *inflated)
{
    if (inflated->elf)
        elf_end(inflated->elf);
    saved_release(&inflated->saved);
    free(inflated->made);
    *inflated = (struct inflated){0};
}
