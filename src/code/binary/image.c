// SPDX-License-Identifier: MIT
/*
 * Opening ELF files. libelf maps them, so a file that is cut short while it is
 * being read would raise SIGBUS; nothing else in a file can.
 */
#include "binary/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum base_status image_errno_status(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG: return BASE_NOT_FOUND;
    case EACCES:
    case EPERM: return BASE_DENIED;
    case ENOMEM: return BASE_NO_MEMORY;
    default: return BASE_IO;
    }
}

/* The kernel's own bound; what the image's headers say of its size need not be true. */
static enum base_status vdso_bytes(uint64_t start, size_t *bytes)
{
    char line[512];
    enum base_status status = BASE_NOT_FOUND;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return image_errno_status(errno);
    while (status == BASE_NOT_FOUND && fgets(line, sizeof line, maps)) {
        unsigned long low, high;
        if (sscanf(line, "%lx-%lx", &low, &high) != 2 || low != start)
            continue;
        *bytes = high - low;
        status = BASE_OK;
    }
    if (status != BASE_OK && ferror(maps))
        status = BASE_IO;
    fclose(maps);
    return status;
}

static enum base_status open_vdso(struct image *image)
{
    uint64_t start = getauxval(AT_SYSINFO_EHDR);
    size_t bytes;
    enum base_status status = start ? vdso_bytes(start, &bytes) : BASE_NOT_FOUND;
    if (status != BASE_OK)
        return status;
    image->copy = malloc(bytes);
    if (!image->copy)
        return BASE_NO_MEMORY;
    memcpy(image->copy, (const void *)start, bytes);
    image->copy_bytes = bytes;
    image->elf = elf_memory(image->copy, bytes);
    return image->elf ? BASE_OK : BASE_MALFORMED;
}

static enum base_status open_file(const char *path, struct image *image)
{
    struct stat status;
    /* O_NONBLOCK: the path may have become a FIFO, whose opening would wait for ever. */
    image->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (image->file < 0 || fstat(image->file, &status) != 0)
        return image_errno_status(errno);
    if (!S_ISREG(status.st_mode))
        return BASE_MALFORMED;
    image->elf = elf_begin(image->file, ELF_C_READ_MMAP, NULL);
    return image->elf ? BASE_OK : BASE_MALFORMED;
}

static enum base_status check_machine(Elf *elf)
{
    GElf_Ehdr header;
    if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
        return BASE_MALFORMED;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_X86_64)
        return BASE_UNSUPPORTED;
    return BASE_OK;
}

/* Bytes that a section takes when it is inflated; 0: it is not compressed. */
static uint64_t inflated_bytes(Elf *elf, Elf_Scn *section, size_t names)
{
    GElf_Shdr header;
    GElf_Chdr compressed;
    uint64_t bytes = 0;
    if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
        return 0;
    if (header.sh_flags & SHF_COMPRESSED)
        return gelf_getchdr(section, &compressed) ? compressed.ch_size : 0;
    const char *name = elf_strptr(elf, names, header.sh_name);
    Elf_Data *data = name && strncmp(name, ".zdebug", 7) == 0 ? elf_rawdata(section, NULL) : NULL;
    /* "ZLIB", then the size with its most significant byte first */
    if (data && data->d_buf && data->d_size >= 12 && memcmp(data->d_buf, "ZLIB", 4) == 0)
        for (size_t i = 4; i < 12; i++)
            bytes = bytes << 8 | ((const uint8_t *)data->d_buf)[i];
    return bytes;
}

/*
 * A thousand bytes can be packed in one, and libdw inflates all that there is in memory. Debug
 * information becomes two to six times as large: a file whose sections say that they become far
 * more than that is none that a compiler made.
 */
static enum base_status check_inflation(Elf *elf)
{
    enum { TIMES_MAX = 32, ALWAYS_BYTES = 16 << 20 };
    size_t names, size = 0;
    uint64_t inflated = 0;
    if (elf_getshdrstrndx(elf, &names) != 0 || !elf_rawfile(elf, &size))
        return BASE_OK; /* no sections, so that none is compressed */
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        uint64_t bytes = inflated_bytes(elf, section, names);
        if (bytes > (uint64_t)size * TIMES_MAX + ALWAYS_BYTES - inflated)
            return BASE_MALFORMED;
        inflated += bytes;
    }
    return BASE_OK;
}

enum base_status image_open(const char *path, struct image *image)
{
    struct image opened = {.file = -1};
    elf_version(EV_CURRENT);
    enum base_status status =
        strcmp(path, "[vdso]") == 0 ? open_vdso(&opened) : open_file(path, &opened);
    if (status == BASE_OK)
        status = check_machine(opened.elf);
    if (status == BASE_OK)
        status = check_inflation(opened.elf);
    if (status != BASE_OK) {
        image_close(&opened);
        return status;
    }
    *image = opened;
    return BASE_OK;
}

void image_close(struct image *image)
{
    if (image->elf)
        elf_end(image->elf);
    if (image->file >= 0)
        close(image->file);
    free(image->copy);
    *image = (struct image){.file = -1};
}

size_t image_bytes(Elf *elf)
{
    size_t bytes;
    return elf_rawfile(elf, &bytes) ? bytes : 0;
}

Elf_Scn *image_section(Elf *elf, const char *name, GElf_Shdr *header)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        const char *found = gelf_getshdr(section, header) && header->sh_type != SHT_NOBITS
                                ? elf_strptr(elf, names, header->sh_name)
                                : NULL;
        if (found && strcmp(found, name) == 0)
            return section;
    }
    return NULL;
}

Elf_Data *image_data(Elf_Scn *section, const GElf_Shdr *header)
{
    if (header->sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
        return NULL;
    Elf_Data *data = elf_getdata(section, NULL);
    return data && data->d_buf && data->d_size ? data : NULL;
}

struct bytes image_bytes_of(Elf *elf, const char *name)
{
    GElf_Shdr header;
    Elf_Scn *section = image_section(elf, name, &header);
    Elf_Data *data = section ? image_data(section, &header) : NULL;
    const uint8_t *start = data ? data->d_buf : NULL;
    return (struct bytes){.at = start, .end = start ? start + data->d_size : NULL};
}

bool image_is_code(Elf *elf, uint64_t vaddr, struct image_code *last)
{
    size_t count;
    GElf_Phdr segment;
    if (vaddr >= last->start && vaddr < last->end)
        return true;
    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++) {
        if (segment.p_type == PT_LOAD && segment.p_flags & PF_X && vaddr >= segment.p_vaddr &&
            vaddr - segment.p_vaddr < segment.p_memsz) {
            *last = (struct image_code){segment.p_vaddr, segment.p_vaddr + segment.p_memsz};
            return last->end > vaddr;
        }
    }
    return false;
}

bool image_offset(Elf *elf, uint64_t vaddr, uint64_t *offset, uint64_t *bytes)
{
    size_t count;
    GElf_Phdr segment;
    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++) {
        uint64_t within = vaddr - segment.p_vaddr;
        if (segment.p_type != PT_LOAD || vaddr < segment.p_vaddr || within >= segment.p_filesz ||
            __builtin_add_overflow(segment.p_offset, within, offset))
            continue;
        *bytes = segment.p_filesz - within;
        return true;
    }
    return false;
}
