// SPDX-License-Identifier: MIT
/* Private to the room: symbols of ELF symbol tables. */
#ifndef HEADROOM_BINARY_SYMBOLS_H
#define HEADROOM_BINARY_SYMBOLS_H

#include "binary/image.h"
#include "binary/intervals.h"

struct symbol {
    uint64_t start, end; /* end == start: size not recorded */
    const char *name;    /* the file's */
    uint64_t section_end;
    uint8_t rank; /* of several at one address the highest is shown */
    uint8_t type; /* STT_... */
};

struct symbols {
    struct symbol *items;
    size_t count, capacity;
    struct intervals ranges;
};

/* Values of thread-local ones are offsets in the thread-local segment. */
enum symbols_kind { SYMBOLS_FUNCTIONS, SYMBOLS_DATA, SYMBOLS_THREAD };

/* Adds those of a kind of the table of this type (SHT_SYMTAB, SHT_DYNSYM); *found: there are any. */
enum base_status symbols_load(Elf *elf, uint32_t type, enum symbols_kind kind,
                              struct symbols *symbols, bool *found);

/* After the last load. */
enum base_status symbols_sort(struct symbols *symbols);
const struct symbol *symbols_find(const struct symbols *symbols, uint64_t vaddr);
void symbols_free(struct symbols *symbols);

#endif
