// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which file an instruction comes from, by Valgrind's table of mappings. Modules
 * stay known after dlclose: contexts name them.
 */
#include "exact/exact.h"

#include <pub_tool_aspacemgr.h>
#include <pub_tool_clientstate.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcfile.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_vki.h>

#include <elf.h>

enum { MODULES_MAX = 65536, HEADERS_MAX = 64 };
static struct exact_module *modules[MODULES_MAX];
static UInt count = 1; /* 0: no file */
static UInt program;   /* its own; 0: not met yet */

/* The mapping asked for last. */
static Addr cached_start, cached_end;
static UInt cached;

/* How many there are; 0: the file cannot be read any more, or is none of the kind. */
static UInt read_headers(const HChar *path, Elf64_Phdr headers[HEADERS_MAX])
{
    Elf64_Ehdr header;
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(opened))
        return 0;
    Int file = (Int)sr_Res(opened), bytes = 0;
    if (VG_(read)(file, &header, sizeof header) == sizeof header &&
        VG_(memcmp)(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof *headers &&
        VG_(lseek)(file, (Off64T)header.e_phoff, VKI_SEEK_SET) == (Off64T)header.e_phoff) {
        Int count_of = header.e_phnum < HEADERS_MAX ? header.e_phnum : HEADERS_MAX;
        bytes = VG_(read)(file, headers, count_of * (Int)sizeof *headers);
    }
    VG_(close)(file);
    return bytes > 0 ? (UInt)bytes / sizeof *headers : 0;
}

/*
 * Address = ELF virtual address + bias: by the program header that the file offset belongs to. A
 * file that cannot be read any more keeps offsets for addresses.
 */
static Addr bias_of(const NSegment *segment, const Elf64_Phdr *headers, UInt headers_count)
{
    Addr offset = (Addr)segment->offset, bias = segment->start - offset;
    for (UInt i = 0; i < headers_count; i++) {
        const Elf64_Phdr *load = &headers[i];
        Addr from = load->p_offset & ~(Addr)(VKI_PAGE_SIZE - 1);
        if (load->p_type == PT_LOAD && (load->p_flags & PF_X) && offset >= from &&
            offset < load->p_offset + load->p_filesz)
            return bias + load->p_offset - load->p_vaddr;
    }
    return bias;
}

static Bool is_program(const NSegment *segment)
{
    struct vg_stat file;
    return VG_(args_the_exename) && !sr_isError(VG_(stat)(VG_(args_the_exename), &file)) &&
           file.dev == segment->dev && file.ino == segment->ino;
}

/* As glibc places the program's thread-local memory: right below the thread pointer, and aligned as in the file. */
static void note_local(struct exact_module *module, const Elf64_Phdr *headers, UInt headers_count)
{
    for (UInt i = 0; i < headers_count; i++) {
        ULong alignment = headers[i].p_align ? headers[i].p_align : 1, bytes = headers[i].p_memsz;
        ULong ahead = -headers[i].p_vaddr & (alignment - 1);
        if (headers[i].p_type != PT_TLS)
            continue;
        module->local_bytes = bytes;
        module->local_before = ((bytes - ahead + alignment - 1) & -alignment) + ahead;
    }
}

static UInt find_or_add(const NSegment *segment, const HChar *path)
{
    for (UInt i = count; i-- > 1;)
        if (modules[i]->start == segment->start && modules[i]->device == segment->dev &&
            modules[i]->inode == segment->ino && VG_(strcmp)(modules[i]->path, path) == 0)
            return i;
    if (count == MODULES_MAX)
        return 0;
    struct exact_module *module = VG_(malloc)("headroom.module", sizeof *module);
    *module = (struct exact_module){.start = segment->start,
                                    .end = segment->end + 1,
                                    .device = segment->dev,
                                    .inode = segment->ino,
                                    .path = VG_(strdup)("headroom.module.path", path)};
    Elf64_Phdr headers[HEADERS_MAX];
    UInt headers_count = read_headers(path, headers);
    module->bias = bias_of(segment, headers, headers_count);
    modules[count] = module;
    if (!program && is_program(segment)) {
        program = count;
        note_local(module, headers, headers_count);
    }
    return count++;
}

UInt exact_module_of(Addr address)
{
    if (address >= cached_start && address < cached_end)
        return cached;
    const NSegment *segment = VG_(am_find_nsegment)(address);
    if (!segment)
        return 0;
    const HChar *path = segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;
    cached = path ? find_or_add(segment, path) : 0;
    cached_start = segment->start;
    cached_end = segment->end + 1;
    return cached;
}

void exact_module_gone(void)
{
    cached_start = cached_end = 0;
}

const struct exact_module *exact_module_number(UInt module)
{
    return modules[module];
}

UInt exact_modules_count(void)
{
    return count;
}

/* ---- what Valgrind would read of modules ------------------------------------------------------- */

/*
 * In place of the core's (link option --wrap): it reads all line information of each module, which nothing here asks for, and
 * gives up, with the program, on forms that clang 14 uses in DWARF 5. headroom names addresses itself, afterwards.
 */
void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void);
void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void)
{
}

UInt exact_module_of_program(void)
{
    return program;
}
