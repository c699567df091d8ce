// SPDX-License-Identifier: MIT
/*
 * Fuzzes patch: the input is an ELF file; or, if it does not begin like one, the code of a module
 * whose functions begin wherever a byte of it has the low five bits clear. Every plan's copy must
 * decode, from its first to its last byte.
 */
#include "isa/isa.h"
#include "patch/patch.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CODE_MAX = 1 << 14, TEXT = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A module with that code at TEXT; returns the bytes of the file. */
static size_t make_module(const uint8_t *code, size_t size, uint8_t *file)
{
    static const char names[] = "\0.text\0.symtab\0.strtab\0f";
    size_t symbols_at = TEXT + ((size + 7) & ~(size_t)7), count = 1;
    Elf64_Sym symbols[CODE_MAX / 8] = {0};
    for (size_t i = 0; i < size && count < BASE_COUNT(symbols); i++)
        if ((code[i] & 31) == 0)
            symbols[count++] = (Elf64_Sym){.st_name = 23,
                                           .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                           .st_shndx = 1,
                                           .st_value = TEXT + i,
                                           .st_size = code[i] / 2};
    size_t names_at = symbols_at + count * sizeof *symbols;
    size_t sections_at = names_at + ((sizeof names + 7) & ~(size_t)7);
    Elf64_Shdr sections[4] = {
        {0},
        {.sh_name = 1,
         .sh_type = SHT_PROGBITS,
         .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
         .sh_addr = TEXT,
         .sh_offset = TEXT,
         .sh_size = size},
        {.sh_name = 7,
         .sh_type = SHT_SYMTAB,
         .sh_offset = symbols_at,
         .sh_size = count * sizeof *symbols,
         .sh_link = 3,
         .sh_entsize = sizeof *symbols},
        {.sh_name = 15, .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof names},
    };
    Elf64_Phdr segment = {.p_type = PT_LOAD,
                          .p_flags = PF_R | PF_X,
                          .p_filesz = sections_at,
                          .p_memsz = sections_at,
                          .p_align = 4096};
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof header,
                         .e_shoff = sections_at,
                         .e_ehsize = sizeof header,
                         .e_phentsize = sizeof segment,
                         .e_phnum = 1,
                         .e_shentsize = sizeof *sections,
                         .e_shnum = 4,
                         .e_shstrndx = 3};
    memset(file, 0, TEXT);
    memcpy(file, &header, sizeof header);
    memcpy(file + sizeof header, &segment, sizeof segment);
    memcpy(file + TEXT, code, size);
    memcpy(file + symbols_at, symbols, count * sizeof *symbols);
    memcpy(file + names_at, names, sizeof names);
    memcpy(file + sections_at, sections, sizeof sections);
    return sections_at + sizeof sections;
}

static void check_plan(const struct patch_plan *plan)
{
    uint8_t copy[PATCH_COPY_MAX];
    uint64_t entry = plan->entry + UINT64_C(0x7f0000000000), at = entry + 0x123450;
    struct isa_insn insn;
    if (plan->window_bytes < PATCH_JUMP_BYTES || plan->window_bytes > PATCH_WINDOW_MAX ||
        plan->copy_bytes > PATCH_COPY_MAX || plan->instructions == 0)
        abort();
    if (!patch_emit_prologue(plan, entry, at, copy))
        return; /* operands may be anywhere */
    for (size_t done = 0; done < plan->copy_bytes; done += insn.length)
        if (isa_decode(copy + done, plan->copy_bytes - done, at + done, &insn) != BASE_OK)
            abort();
}

static void plan_all(const char *path)
{
    struct patch_module *module;
    struct patch_plan plan;
    struct patch_reason reason;
    size_t bytes;
    if (patch_module_open(path, &module) != BASE_OK)
        return;
    for (size_t i = 0; i < patch_functions(module); i++) {
        const struct patch_function *function = patch_function(module, i);
        patch_text(module, i, &bytes);
        patch_readable(module, i);
        if (patch_plan(module, function->vaddr, &plan, &reason))
            check_plan(&plan);
        else if (reason.refusal == PATCH_FITS || reason.sentence[0] == 0)
            abort();
        if (patch_function_at(module, function->vaddr) != i)
            abort();
    }
    patch_next_match(module, "*::f(*", 0);
    for (size_t i = 0; i < patch_markers(module); i++)
        if (strlen(patch_marker(module, i)->name) > UINT32_MAX)
            abort();
    patch_module_close(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t made[2 * TEXT + 8 * CODE_MAX];
    char path[64];
    if (size < 4)
        return 0;
    if (memcmp(data,
               "\x7f"
               "ELF",
               4) != 0) {
        size = make_module(data, size < CODE_MAX ? size : CODE_MAX, made);
        data = made;
    }
    int file = memfd_create("input", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    plan_all(path);
    close(file);
    return 0;
}
