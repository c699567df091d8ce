// SPDX-License-Identifier: MIT
/*
 * Private to the room: compilation units and functions of DWARF by address. A
 * unit's entries are read when an address in it is first asked for.
 */
#ifndef HEADROOM_BINARY_UNITS_H
#define HEADROOM_BINARY_UNITS_H

#include "binary/intervals.h"

#include <elfutils/libdw.h>

struct unit {
    Dwarf_Die die;  /* of the file itself: addresses, lines */
    Dwarf_Die tree; /* where the entries are: differs with split DWARF */
    bool read, read_nested;
    bool judged, unoptimized;   /* optimized.c */
    bool is_c;                  /* its types have no functions */
    size_t *most_ranges;        /* that may still be added: those of all units */
    struct intervals functions; /* values index function_dies */
    Dwarf_Die *dies;
    size_t die_count, die_capacity;
};

struct units {
    struct unit *items;
    size_t count, capacity, most_ranges;
    struct intervals ranges;
};

/* Lists the units, which then stay where they are, of the file with that descriptor; an unreadable rest is left out. */
enum base_status units_load(Dwarf *dwarf, int file, struct units *units);
struct unit *units_find(struct units *units, uint64_t vaddr);
void units_free(struct units *units);

/* Innermost function entry (DW_TAG_subprogram) that has code at vaddr; false: none. */
bool unit_function(struct unit *unit, uint64_t vaddr, Dwarf_Die *function);

/* Was its code compiled without optimization, as far as debugging information says? To be asked after unit_function. */
bool unit_unoptimized(struct unit *unit);

/* Functions inlined at vaddr into it, outermost first; returns how many, at most capacity (the
   deeper ones are then missing). */
size_t unit_inlined(const Dwarf_Die *function, uint64_t vaddr, Dwarf_Die *inlined, size_t capacity);

/* The block or inlined function of an entry in which the address is, one level down. False: in none. */
bool unit_scope_within(const Dwarf_Die *parent, uint64_t vaddr, Dwarf_Die *child);

#endif
