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
static UInt program;   /* if it has thread-local memory */

/* The mapping asked for last. */
static Addr cached_start, cached_end;
static UInt cached;

/*
 * Address = ELF virtual address + bias: by the program header that the file offset belongs to. A
 * file that cannot be read any more keeps offsets for addresses.
 */
static Bool is_program(const NSegment *segment)
{
    struct vg_stat file;
    return VG_(args_the_exename) && !sr_isError(VG_(stat)(VG_(args_the_exename), &file)) &&
           file.dev == segment->dev && file.ino == segment->ino;
}

static void read_headers(const NSegment *segment, const HChar *path, struct exact_module *module)
{
    Elf64_Phdr local = {0};
    module->bias = segment->start - (Addr)segment->offset;
    Elf64_Ehdr header;
    Elf64_Phdr program[HEADERS_MAX];
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(opened))
        return;
    Int file = (Int)sr_Res(opened);
    if (VG_(read)(file, &header, sizeof header) == sizeof header &&
        VG_(memcmp)(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof *program &&
        VG_(lseek)(file, (Off64T)header.e_phoff, VKI_SEEK_SET) == (Off64T)header.e_phoff) {
        Int headers = header.e_phnum < HEADERS_MAX ? header.e_phnum : HEADERS_MAX;
        Int bytes = VG_(read)(file, program, headers * (Int)sizeof *program);
        for (Int i = 0; i < bytes / (Int)sizeof *program; i++) {
            const Elf64_Phdr *load = &program[i];
            Addr from = load->p_offset & ~(Addr)(VKI_PAGE_SIZE - 1);
            if (load->p_type == PT_TLS)
                local = *load;
            if (load->p_type == PT_LOAD && (load->p_flags & PF_X) &&
                (Addr)segment->offset >= from &&
                (Addr)segment->offset < load->p_offset + load->p_filesz)
                module->bias += load->p_offset - load->p_vaddr;
        }
    }
    if (local.p_align && is_program(segment)) {
        /* As glibc places it: right below the thread pointer, and aligned as in the file. */
        ULong ahead = -local.p_vaddr & (local.p_align - 1);
        module->local_bytes = local.p_memsz;
        module->local_before =
            ((local.p_memsz - ahead + local.p_align - 1) & -local.p_align) + ahead;
    }
    VG_(close)(file);
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
    read_headers(segment, path, module);
    modules[count] = module;
    if (module->local_bytes && !program)
        program = count;
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
