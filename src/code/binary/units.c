// SPDX-License-Identifier: MIT
/*
 * Finding debugging entries by address.
 *
 * .debug_aranges is not used: clang and rustc leave it out, so it covers only
 * part of a mixed program and says nothing of what it misses. Reading the first
 * entry of every unit gives the same at some microseconds a unit.
 *
 * Hostile input: DW_AT_sibling may point back, so a sibling must lie further on;
 * depth is bounded.
 */
#include "binary/units.h"

#include "binary/image.h"
#include "binary/split.h"
#include "binary/types.h"
#include "util/util.h"

#include <dwarf.h>
#include <stdlib.h>

enum { GREATEST_DEPTH = 64 };
/* A range takes three bytes at least; sections may be compressed, and functions be in split files.
 */
enum { RANGES_A_BYTE_MAX = 4, ALWAYS_RANGES = 1 << 18 };

/* Linkers set the addresses of functions they drop to 0, lld to -1 and -2. */
static bool is_range(uint64_t start, uint64_t end)
{
    return start && end > start && start < UINT64_MAX - 1;
}

/* Of each range there are bytes in the file, but hostile entries may all refer to the same ones:
   then the rest of them is left out, when there are more than the file has room for. */
static bool add_ranges(Dwarf_Die *die, struct intervals *intervals, size_t value, size_t *most,
                       bool *any)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;
    while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
        if (*most == 0)
            break;
        --*most;
        if (!is_range(start, end))
            continue;
        if (!intervals_add(intervals, start, end, value))
            return false;
        *any = true;
    }
    return true;
}

/* ---- units --------------------------------------------------------------------------- */

enum base_status units_load(Dwarf *dwarf, int file, struct units *units)
{
    Dwarf_CU *cu = NULL;
    uint8_t type;
    Dwarf_Die die, split;
    units->most_ranges = RANGES_A_BYTE_MAX * image_bytes(dwarf_getelf(dwarf)) + ALWAYS_RANGES;
    while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
        bool any = false;
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        if (!UTIL_GROW(units->items, units->capacity, units->count) ||
            !add_ranges(&die, &units->ranges, units->count, &units->most_ranges, &any))
            return BASE_NO_MEMORY;
        bool is_split = type == DW_UT_skeleton && split_may_be_read(&die, file) &&
                        dwarf_cu_info(cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 &&
                        split.addr;
        if (any)
            units->items[units->count++] = (struct unit){
                .die = die, .tree = is_split ? split : die, .most_ranges = &units->most_ranges};
    }
    intervals_sort(&units->ranges);
    return BASE_OK;
}

struct unit *units_find(struct units *units, uint64_t vaddr)
{
    const struct interval *range = intervals_find(&units->ranges, vaddr);
    return range ? &units->items[range->value] : NULL;
}

void units_free(struct units *units)
{
    for (size_t i = 0; i < units->count; i++) {
        intervals_free(&units->items[i].functions);
        free(units->items[i].dies);
    }
    free(units->items);
    intervals_free(&units->ranges);
    *units = (struct units){0};
}

/* ---- functions of a unit --------------------------------------------------------------- */

static bool add_function(struct unit *unit, Dwarf_Die *die)
{
    bool any = false;
    if (!UTIL_GROW(unit->dies, unit->die_capacity, unit->die_count))
        return false;
    if (!add_ranges(die, &unit->functions, unit->die_count, unit->most_ranges, &any))
        return false;
    if (any)
        unit->dies[unit->die_count++] = *die;
    return true;
}

/* What may contain functions: C++ and Rust nest them in namespaces and types, Fortran in
   modules and functions, GNU C in functions. */
static bool may_contain_functions(const struct unit *unit, int tag, bool nested)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module: return true;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type: return !unit->is_c;
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block: return nested;
    default: return false;
    }
}

/* nested: those in functions as well. False: out of memory. */
static bool read_functions(struct unit *unit, const Dwarf_Die *parent, bool nested, int depth)
{
    Dwarf_Die die;
    if (depth > GREATEST_DEPTH || dwarf_child((Dwarf_Die *)parent, &die) != 0)
        return true;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram && !add_function(unit, &die))
            return false;
        if (may_contain_functions(unit, tag, nested) &&
            !read_functions(unit, &die, nested, depth + 1))
            return false;
    } while (types_next_sibling(&die));
    return true;
}

static bool is_c(const struct unit *unit)
{
    switch (dwarf_srclang((Dwarf_Die *)&unit->die)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11: return true;
    default: return false;
    }
}

static const struct interval *find_function(struct unit *unit, uint64_t vaddr, bool nested)
{
    unit->functions.count = unit->die_count = 0;
    unit->is_c = is_c(unit);
    read_functions(unit, &unit->tree, nested, 0);
    intervals_sort(&unit->functions);
    return intervals_find(&unit->functions, vaddr);
}

/*
 * Functions do not overlap: one in another has code of its own, elsewhere. Most units have none
 * such, and to look for them is to read all of the unit's entries: that is done only for an address
 * that no other function has.
 */
bool unit_function(struct unit *unit, uint64_t vaddr, Dwarf_Die *function)
{
    const struct interval *range = NULL;
    if (unit->read)
        range = intervals_find(&unit->functions, vaddr);
    else
        range = find_function(unit, vaddr, false);
    unit->read = true;
    if (!range && !unit->read_nested) {
        unit->read_nested = true;
        range = find_function(unit, vaddr, true);
    }
    if (range)
        *function = unit->dies[range->value];
    return range != NULL;
}

/* ---- inlined functions ------------------------------------------------------------------ */

bool unit_scope_within(const Dwarf_Die *parent, uint64_t vaddr, Dwarf_Die *child)
{
    if (dwarf_child((Dwarf_Die *)parent, child) != 0)
        return false;
    do {
        int tag = dwarf_tag(child);
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
             tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
            dwarf_haspc(child, vaddr) > 0)
            return true;
    } while (types_next_sibling(child));
    return false;
}

size_t unit_inlined(const Dwarf_Die *function, uint64_t vaddr, Dwarf_Die *inlined, size_t capacity)
{
    Dwarf_Die parent = *function;
    Dwarf_Die child;
    size_t count = 0;
    for (int depth = 0; depth < 4 * GREATEST_DEPTH && count < capacity &&
                        unit_scope_within(&parent, vaddr, &child);
         depth++) {
        if (dwarf_tag(&child) == DW_TAG_inlined_subroutine)
            inlined[count++] = child;
        parent = child;
    }
    return count;
}
