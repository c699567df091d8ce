// SPDX-License-Identifier: MIT
/*
 * Private to the room: an ELF file, opened and known to be one of ours (x86-64,
 * little-endian, 64-bit). Offsets and sizes in it are still hostile.
 */
#ifndef HEADROOM_BINARY_IMAGE_H
#define HEADROOM_BINARY_IMAGE_H

#include "base/base.h"
#include "binary/bytes.h"

#include <gelf.h>
#include <libelf.h>

struct image {
    int file; /* -1 for the vdso */
    Elf *elf;
    void *copy; /* the vdso's bytes, else NULL */
    size_t copy_bytes;
};

/* "[vdso]" means this process's own. BASE_NOT_FOUND, BASE_DENIED, BASE_IO, BASE_MALFORMED (not an
   ELF file), BASE_UNSUPPORTED (not x86-64). */
enum base_status image_open(const char *path, struct image *image);
void image_close(struct image *image);

/* Of the file. */
size_t image_bytes(Elf *elf);

/* First section of this name that has bytes in the file; NULL if none. */
Elf_Scn *image_section(Elf *elf, const char *name, GElf_Shdr *header);

/* Contents, decompressed where needed; NULL if unreadable. Lives as long as the image. */
Elf_Data *image_data(Elf_Scn *section, const GElf_Shdr *header);

/* The same of the section of that name; {NULL}: there is none. */
struct bytes image_bytes_of(Elf *elf, const char *name);

/* A loaded, executable segment; {0}: none. */
struct image_code {
    uint64_t start, end;
};

/* Is the address in one? *last, where the address before was, is looked at first, and is where this one is. */
bool image_is_code(Elf *elf, uint64_t vaddr, struct image_code *last);

/* File offset of a virtual address and the bytes that follow it there. */
bool image_offset(Elf *elf, uint64_t vaddr, uint64_t *offset, uint64_t *bytes);

/* errno as a status. */
enum base_status image_errno_status(int number);

#endif
