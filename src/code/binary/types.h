// SPDX-License-Identifier: MIT
/*
 * Private to the room: types of DWARF. Entries are hostile: they may refer to themselves, have no end, or say sizes
 * that no memory has; so everything goes through a bounded number of them.
 */
#ifndef HEADROOM_BINARY_TYPES_H
#define HEADROOM_BINARY_TYPES_H

#include "util/util.h"

#include <elfutils/libdw.h>

enum { TYPES_DIMENSIONS = 7, TYPES_DEPTH = 24 };

/* What decides how names are written. */
enum types_language { TYPES_OTHER, TYPES_C, TYPES_FORTRAN };
enum types_language types_language(Dwarf_Die *unit);

/* The type that an entry (a variable, a member, a pointer) refers to. False: it has none, as `void *`. */
bool types_of(const Dwarf_Die *entry, Dwarf_Die *type);

/* The type behind names given to it and qualifiers. False: there is none, or no end of them. */
bool types_peel(const Dwarf_Die *type, Dwarf_Die *peeled);

/* False: not known. */
bool types_bytes(const Dwarf_Die *type, uint64_t *bytes);

/* Appends the type's name: "struct counter", "uint64_t", "struct node *", "int[4][2]". */
void types_name(const Dwarf_Die *type, enum types_language language, struct util_text *text);

/* Has it a name of its own, or one given to it? */
bool types_has_name(const Dwarf_Die *type);

/* Has it members? */
bool types_is_aggregate(const Dwarf_Die *peeled);

struct types_array {
    Dwarf_Die element;
    uint64_t stride; /* bytes, > 0 */
    unsigned dimensions;
    int64_t lower[TYPES_DIMENSIONS];
    uint64_t
        count[TYPES_DIMENSIONS]; /* 0: not known, which only that one may be that changes slowest */
    bool first_is_fastest;       /* as in Fortran */
};
/* False: no array whose elements' addresses follow from its own. */
bool types_array(const Dwarf_Die *peeled, enum types_language language, struct types_array *array);

/* A number of an entry. False: it has none, or one that is calculated while the program runs. */
bool types_number(const Dwarf_Die *entry, unsigned attribute, int64_t *number);

/* The next entry of the same parent, which lies further on. False: there is none. */
bool types_next_sibling(Dwarf_Die *entry);

/* The entry's own name, or that of the entry which it completes; NULL. */
const char *types_text(const Dwarf_Die *entry, unsigned attribute);
bool types_flag(const Dwarf_Die *entry, unsigned attribute);

#endif
