// SPDX-License-Identifier: MIT
/*
 * Fuzzes the line tables of a file: two units, each of which names a table somewhere in the input. What is read of a source file, by the
 * reader of the room, and of addresses, by libdw, has to be rows of code.
 *
 * The input: which file is asked for, the place of the second unit's table, how many bytes of tables there are; these, then texts.
 */
#include "binary/binary.h"
#include "binary/lines.h"

#include <dwarf.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CODE = 0x1000, CODE_BYTES = 0x10000, HEAD = 5, TABLES = 3, TEXTS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t abbreviations[] = {1,
                                        DW_TAG_compile_unit,
                                        DW_CHILDREN_no,
                                        DW_AT_stmt_list,
                                        DW_FORM_sec_offset,
                                        DW_AT_comp_dir,
                                        DW_FORM_string,
                                        DW_AT_low_pc,
                                        DW_FORM_addr,
                                        DW_AT_high_pc,
                                        DW_FORM_data8,
                                        0,
                                        0,
                                        0};

struct __attribute__((packed)) unit {
    uint32_t bytes;
    uint16_t version;
    uint32_t abbreviations;
    uint8_t address_bytes, code;
    uint32_t table;
    char directory[3];
    uint64_t start, count;
};

static struct unit unit_of(uint32_t table, uint64_t start)
{
    return (struct unit){.bytes = sizeof(struct unit) - 4,
                         .version = 4,
                         .address_bytes = 8,
                         .code = 1,
                         .table = table,
                         .directory = "/d",
                         .start = start,
                         .count = CODE_BYTES / 2};
}

static const char names[] =
    "\0.debug_abbrev\0.debug_info\0.debug_line\0.debug_line_str\0.debug_str\0"
    ".shstrtab";

struct file {
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    Elf64_Shdr sections[7];
    uint8_t abbreviations[sizeof abbreviations];
    struct unit units[2];
    char names[sizeof names];
};

static uint32_t name_of(const char *name)
{
    return (uint32_t)((const char *)memmem(names, sizeof names, name, strlen(name) + 1) - names);
}

static Elf64_Shdr section_of(const char *name, uint32_t type, uint64_t offset, uint64_t bytes)
{
    return (Elf64_Shdr){.sh_name = name_of(name),
                        .sh_type = type,
                        .sh_offset = offset,
                        .sh_size = bytes,
                        .sh_addralign = 1};
}

static void make_file(struct file *file, uint32_t second, size_t tables, size_t texts)
{
    *file = (struct file){
        .head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                 .e_type = ET_EXEC,
                 .e_machine = EM_X86_64,
                 .e_version = EV_CURRENT,
                 .e_phoff = offsetof(struct file, segment),
                 .e_shoff = offsetof(struct file, sections),
                 .e_ehsize = sizeof(Elf64_Ehdr),
                 .e_phentsize = sizeof(Elf64_Phdr),
                 .e_phnum = 1,
                 .e_shentsize = sizeof(Elf64_Shdr),
                 .e_shnum = 7,
                 .e_shstrndx = 6},
        .segment = {.p_type = PT_LOAD,
                    .p_flags = PF_R | PF_X,
                    .p_vaddr = CODE,
                    .p_memsz = CODE_BYTES},
        .units = {unit_of(0, CODE), unit_of(second, CODE + CODE_BYTES / 2)}};
    file->sections[1] = section_of(".debug_abbrev", SHT_PROGBITS,
                                   offsetof(struct file, abbreviations), sizeof abbreviations);
    file->sections[2] =
        section_of(".debug_info", SHT_PROGBITS, offsetof(struct file, units), sizeof file->units);
    file->sections[TABLES] = section_of(".debug_line", SHT_PROGBITS, sizeof *file, tables);
    file->sections[TEXTS] =
        section_of(".debug_line_str", SHT_PROGBITS, sizeof *file + tables, texts);
    file->sections[5] = file->sections[TEXTS];
    file->sections[5].sh_name = name_of(".debug_str");
    file->sections[6] =
        section_of(".shstrtab", SHT_STRTAB, offsetof(struct file, names), sizeof names);
    memcpy(file->abbreviations, abbreviations, sizeof abbreviations);
    memcpy(file->names, names, sizeof names);
}

static bool check(void *context, const struct binary_row *row)
{
    const char *wanted = context;
    if (row->end < row->start || row->start < CODE || row->start >= CODE + CODE_BYTES ||
        row->line > INT32_MAX || row->column > INT32_MAX ||
        (wanted && (!row->file || !binary_path_ends(row->file, wanted))))
        abort();
    return true;
}

static void ask(const char *path, const char *wanted)
{
    struct binary *binary;
    struct binary_options options = {.debug_root = "/nonexistent"};
    if (binary_open(path, &options, &binary) != BASE_OK)
        return;
    binary_file_rows(binary, wanted, check, (void *)wanted);
    binary_line_rows(binary, CODE, CODE + CODE_BYTES, check, NULL);
    binary_close(binary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const wanted[] = {"a.c", "b/a.c", "/d/a.c", "a"};
    struct file file;
    char path[64];
    if (size < HEAD)
        return 0;
    size_t tables = data[3] | (size_t)data[4] << 8;
    tables = tables < size - HEAD ? tables : size - HEAD;
    make_file(&file, data[1] | (uint32_t)data[2] << 8, tables, size - HEAD - tables);
    int memory = memfd_create("input", MFD_CLOEXEC);
    if (memory < 0 || write(memory, &file, sizeof file) != (ssize_t)sizeof file ||
        write(memory, data + HEAD, size - HEAD) != (ssize_t)(size - HEAD))
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    ask(path, wanted[data[0] % 4]);
    close(memory);
    return 0;
}
