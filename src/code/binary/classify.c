// SPDX-License-Identifier: MIT
/*
 * What would the kernel do with this file, and can the agent live in it?
 */
#include "binary/binary.h"

#include "binary/image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SCRIPT_LINE_BYTES = 256 }; /* as much as the kernel looks at */

static const char glibc_loader[] = "ld-linux-x86-64.so.2";

/* "#!", blanks, path. False if there is no path that ends within the kernel's look. */
static bool script_interpreter(const char *line, size_t bytes, char *interpreter)
{
    size_t start = 2;
    while (start < bytes && (line[start] == ' ' || line[start] == '\t'))
        start++;
    size_t end = start;
    while (end < bytes && line[end] && !strchr(" \t\n", line[end]))
        end++;
    if (end == start || (end == bytes && bytes == SCRIPT_LINE_BYTES))
        return false;
    if (interpreter) {
        memcpy(interpreter, line + start, end - start);
        interpreter[end - start] = 0;
    }
    return true;
}

/* Capabilities count even for root: the kernel may then run the program in secure mode. */
static bool changes_identity(int file, const struct stat *status)
{
    if (status->st_mode & S_ISUID && status->st_uid != geteuid())
        return true;
    if (status->st_mode & S_ISGID && status->st_mode & S_IXGRP && status->st_gid != getegid())
        return true;
    return fgetxattr(file, "security.capability", NULL, 0) > 0;
}

static bool has_go_note(Elf *elf, const GElf_Phdr *segment)
{
    Elf_Data *data =
        segment->p_filesz <= 65536
            ? elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz, ELF_T_NHDR)
            : NULL;
    GElf_Nhdr note;
    size_t name, description;
    size_t offset = 0;
    while (data && (offset = gelf_getnote(data, offset, &note, &name, &description)) > 0)
        if (note.n_namesz == 4 && memcmp((const char *)data->d_buf + name, "Go\0", 4) == 0)
            return true;
    return false;
}

/* Loaded program's interpreter path, as far as it matters: its last component. */
static bool is_glibc_loader(Elf *elf, const GElf_Phdr *segment)
{
    Elf_Data *data =
        segment->p_filesz <= 4096
            ? elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz, ELF_T_BYTE)
            : NULL;
    if (!data || !data->d_size || memchr(data->d_buf, 0, data->d_size) == NULL)
        return false;
    const char *slash = strrchr(data->d_buf, '/');
    return strcmp(slash ? slash + 1 : data->d_buf, glibc_loader) == 0;
}

struct traits {
    bool interpreter, glibc, go;
};

static void look_at_segments(Elf *elf, struct traits *traits)
{
    size_t count;
    GElf_Phdr segment;
    if (elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++) {
        if (segment.p_type == PT_INTERP) {
            traits->interpreter = true;
            traits->glibc = is_glibc_loader(elf, &segment);
        } else if (segment.p_type == PT_NOTE) {
            traits->go |= has_go_note(elf, &segment);
        }
    }
}

static enum binary_kind kind_of_elf(Elf *elf, int file, const struct stat *status)
{
    GElf_Ehdr header;
    GElf_Shdr section;
    struct traits traits = {0};
    if (!gelf_getehdr(elf, &header) || (header.e_type != ET_EXEC && header.e_type != ET_DYN))
        return BINARY_NOT_PROGRAM;
    bool narrow = header.e_ident[EI_CLASS] == ELFCLASS32;
    if (narrow && (header.e_machine == EM_386 || header.e_machine == EM_X86_64))
        return BINARY_32BIT;
    if (narrow || header.e_machine != EM_X86_64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return BINARY_OTHER_MACHINE;
    look_at_segments(elf, &traits);
    if (!traits.interpreter && header.e_type == ET_DYN && header.e_entry == 0)
        return BINARY_NOT_PROGRAM; /* a library; with an entry it is a static PIE or a loader */
    if (changes_identity(file, status))
        return BINARY_SET_ID;
    if (traits.go || image_section(elf, ".go.buildinfo", &section))
        return BINARY_GO;
    if (!traits.interpreter)
        return BINARY_STATIC;
    return traits.glibc ? BINARY_DYNAMIC : BINARY_OTHER_LIBC;
}

static enum binary_kind kind_of_file(int file, const struct stat *status)
{
    enum binary_kind kind = BINARY_NOT_PROGRAM;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(file, ELF_C_READ_MMAP, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF)
        kind = kind_of_elf(elf, file, status);
    if (elf)
        elf_end(elf);
    return kind;
}

enum base_status binary_classify(const char *path, enum binary_kind *kind, char *interpreter)
{
    char line[SCRIPT_LINE_BYTES];
    struct stat status;
    enum base_status result = BASE_OK;
    /* O_NONBLOCK: opening a FIFO would wait for ever. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &status) != 0) {
        result = image_errno_status(errno);
        goto done;
    }
    if (!S_ISREG(status.st_mode)) {
        *kind = BINARY_NOT_PROGRAM;
        goto done;
    }
    ssize_t bytes = pread(file, line, sizeof line, 0);
    if (bytes < 0)
        result = BASE_IO;
    else if (bytes >= 2 && memcmp(line, "#!", 2) == 0)
        *kind = script_interpreter(line, (size_t)bytes, interpreter) ? BINARY_SCRIPT
                                                                     : BINARY_NOT_PROGRAM;
    else
        *kind = kind_of_file(file, &status);
done:
    if (file >= 0)
        close(file);
    return result;
}
