// SPDX-License-Identifier: MIT
/* Private to the room: pointers that the dynamic loader writes into a module: where they depend on
   nothing but its own address, and the names of others. */
#ifndef HEADROOM_BINARY_RELOCATIONS_H
#define HEADROOM_BINARY_RELOCATIONS_H

#include "binary/image.h"

struct relocation {
    uint64_t at, value; /* ELF virtual addresses */
    const char *name;   /* of a symbol instead of a value, the file's */
    bool resolver;      /* value: the function that chooses what is put there */
};

struct relocations {
    struct relocation *items; /* by at */
    size_t count, capacity;
};

/* What is left out (tables that are damaged) is read as the file has it. BASE_NO_MEMORY. */
enum base_status relocations_load(Elf *elf, struct relocations *relocations);

/* Patches bytes that were read from vaddr on; only pointers that lie in them whole. */
void relocations_apply(const struct relocations *relocations, uint64_t vaddr, void *bytes,
                       size_t count);

/* What is put there; NULL: nothing. */
const struct relocation *relocations_find(const struct relocations *relocations, uint64_t vaddr);
void relocations_free(struct relocations *relocations);

#endif
