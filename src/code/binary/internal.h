// SPDX-License-Identifier: MIT
/* What the files of the room that answer questions about an opened file share. */
#ifndef HEADROOM_BINARY_INTERNAL_H
#define HEADROOM_BINARY_INTERNAL_H

#include "binary/binary.h"
#include "binary/image.h"
#include "binary/inflated.h"
#include "binary/intervals.h"
#include "binary/lines.h"
#include "binary/names.h"
#include "binary/pclntab.h"
#include "binary/relocations.h"
#include "binary/rows.h"
#include "binary/symbols.h"
#include "binary/types.h"
#include "binary/units.h"

/* A variable of static storage, or a common block. */
struct variable {
    Dwarf_Die die;
    uint64_t start, bytes; /* bytes 0: not known */
    bool thread_local;
};

/* A unit as far as it was read for variables. */
struct data_unit {
    Dwarf_Die tree;
    uint8_t depth; /* 1: what is global; 2: also what functions have */
};

/* What binary_fields gets as a handle. */
struct data_type {
    Dwarf_Die die; /* the type, or a common block */
    enum types_language language;
    bool repeated; /* of as many as there are in the block */
};

/* Variables by address, read as far as was asked for (variables.c). */
struct data {
    struct data_unit *units;
    size_t units_count, units_capacity;
    struct variable *variables;
    size_t variables_count, variables_capacity, entered; /* so many are in the intervals */
    struct intervals fixed, thread_local;                /* values index variables */
    struct data_type *types;                             /* [handle - 1] */
    size_t types_count, types_capacity;
    struct symbols symbols, thread_symbols;
    uint64_t bytes_read, reach; /* reach: offset of the last entry that was read of a unit */
    bool listed, symbols_loaded;
};

struct binary {
    struct image main, debug, common;
    struct inflated inflated, inflated_common;
    char *debug_path;
    Dwarf *dwarf, *common_dwarf;
    enum binary_detail detail;
    struct symbols symbols;
    struct units units;
    bool units_listed;
    struct names names;
    const char *base; /* the file's name, without directories; in `path` */
    char *path;
    struct util_strings made; /* names of functions that have none, of types and fields */
    struct intervals ranges;  /* by call frame information */
    struct pclntab go;        /* of Go's runtime; no bytes: none */
    struct relocations relocations;
    struct rows frames; /* where the frame is, by address */
    bool ranges_loaded, relocations_loaded, frames_loaded;
    struct data data;
};

/* The unit with code at the address, or NULL. */
struct unit *binary_unit(struct binary *binary, uint64_t vaddr);

/* Rows of a unit, of a source file that ends in `file`, as libdw reads them (lines.c). False: visit ended it. */
bool lines_of_unit(struct binary *binary, struct unit *unit, const char *file,
                   binary_row_visit *visit, void *context);

/* The address of a variable of static storage. False: it has none, or one of each thread. */
bool data_place(const Dwarf_Die *die, uint64_t *start);
/* Keeps a text as long as the binary, with control characters replaced, and frees it. NULL: no memory, or empty. */
const char *data_keep(struct binary *binary, struct util_text *text);
/* The same of a copy; "?" of NULL. */
const char *data_keep_words(struct binary *binary, const char *words);
/* 0: no memory. */
uint32_t data_handle(struct binary *binary, const Dwarf_Die *type, enum types_language language,
                     bool repeated);
const char *data_type_name(struct binary *binary, const Dwarf_Die *type,
                           enum types_language language);
enum types_language data_language(const Dwarf_Die *die);
/* Lists the units in data.units, also those without code. */
void data_list_units(struct binary *binary);
/* Loads symbols of data. */
enum base_status data_symbols(struct binary *binary);
void data_free(struct data *data);

/* The function at an address, then the blocks and inlined functions that it is in there, outermost first (scopes.c). */
enum { SCOPES_MAX = 64 };
size_t scopes_at(struct binary *binary, uint64_t vaddr, Dwarf_Die scopes[SCOPES_MAX]);
/* Which of them is the function, inlined or not, that a scope belongs to. */
size_t scope_owner(const Dwarf_Die *scopes, size_t scope);
/* The name of a function, as people read it. */
const char *scope_function(struct binary *binary, const Dwarf_Die *scope);
/* A variable or a parameter? */
bool scope_is_variable(Dwarf_Die *die);

#endif
