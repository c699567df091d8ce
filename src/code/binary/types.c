// SPDX-License-Identifier: MIT
/*
 * Types of DWARF: names, sizes, arrays. libdw's own functions for this (dwarf_peel_type, dwarf_aggregate_size) follow
 * references without a bound, some versions of them; files are hostile.
 */
#include "binary/types.h"

#include <dwarf.h>

enum { PEELED_MAX = 32, NAME_DEPTH = 8, BYTES_SHIFT_MAX = 47 };

/* ---- attributes ------------------------------------------------------------------------------ */

bool types_next_sibling(Dwarf_Die *entry)
{
    Dwarf_Die next;
    if (dwarf_siblingof(entry, &next) != 0 || dwarf_dieoffset(&next) <= dwarf_dieoffset(entry))
        return false;
    *entry = next;
    return true;
}

const char *types_text(const Dwarf_Die *entry, unsigned attribute)
{
    Dwarf_Attribute found;
    return dwarf_formstring(dwarf_attr_integrate((Dwarf_Die *)entry, attribute, &found));
}

bool types_flag(const Dwarf_Die *entry, unsigned attribute)
{
    Dwarf_Attribute found;
    bool set = false;
    return dwarf_formflag(dwarf_attr_integrate((Dwarf_Die *)entry, attribute, &found), &set) == 0 &&
           set;
}

/* Numbers of one, two or four bytes have no sign: compilers write negative ones as sdata. */
bool types_number(const Dwarf_Die *entry, unsigned attribute, int64_t *number)
{
    Dwarf_Attribute found;
    Dwarf_Word plain;
    Dwarf_Sword with_sign;
    if (!dwarf_attr_integrate((Dwarf_Die *)entry, attribute, &found))
        return false;
    switch (dwarf_whatform(&found)) {
    case DW_FORM_sdata:
    case DW_FORM_implicit_const:
        if (dwarf_formsdata(&found, &with_sign) != 0)
            return false;
        *number = with_sign;
        return true;
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_udata:
        if (dwarf_formudata(&found, &plain) != 0)
            return false;
        *number = (int64_t)plain;
        return true;
    default: return false;
    }
}

enum types_language types_language(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11: return TYPES_C;
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08: return TYPES_FORTRAN;
    default: return TYPES_OTHER;
    }
}

/* ---- types ----------------------------------------------------------------------------------- */

bool types_of(const Dwarf_Die *entry, Dwarf_Die *type)
{
    Dwarf_Attribute found;
    return dwarf_formref_die(dwarf_attr_integrate((Dwarf_Die *)entry, DW_AT_type, &found), type) !=
           NULL;
}

static bool is_qualifier(int tag)
{
    return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type ||
           tag == DW_TAG_atomic_type;
}

bool types_peel(const Dwarf_Die *type, Dwarf_Die *peeled)
{
    Dwarf_Die at = *type;
    for (int i = 0; i < PEELED_MAX; i++) {
        int tag = dwarf_tag(&at);
        if (!is_qualifier(tag) && tag != DW_TAG_typedef) {
            *peeled = at;
            return tag > 0;
        }
        if (!types_of(&at, &at))
            return false;
    }
    return false;
}

bool types_is_aggregate(const Dwarf_Die *peeled)
{
    int tag = dwarf_tag((Dwarf_Die *)peeled);
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_interface_type;
}

static bool is_address(int tag)
{
    return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
           tag == DW_TAG_rvalue_reference_type;
}

static bool bytes_at(const Dwarf_Die *type, uint64_t *bytes, int depth);

static bool array_bytes(const Dwarf_Die *array, uint64_t *bytes, int depth);

static bool bytes_at(const Dwarf_Die *type, uint64_t *bytes, int depth)
{
    Dwarf_Die peeled;
    int64_t size;
    if (depth > TYPES_DEPTH || !types_peel(type, &peeled))
        return false;
    if (types_number(&peeled, DW_AT_byte_size, &size)) {
        if (size < 0 || size >> BYTES_SHIFT_MAX)
            return false;
        *bytes = (uint64_t)size;
        return true;
    }
    if (is_address(dwarf_tag(&peeled))) {
        *bytes = 8;
        return true;
    }
    return dwarf_tag(&peeled) == DW_TAG_array_type && array_bytes(&peeled, bytes, depth);
}

bool types_bytes(const Dwarf_Die *type, uint64_t *bytes)
{
    return bytes_at(type, bytes, 0);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Elements of one dimension; *count 0: not known. */
static void bounds_of(const Dwarf_Die *range, enum types_language language, int64_t *lower,
                      uint64_t *count)
{
    int64_t upper, number;
    *lower = language == TYPES_FORTRAN ? 1 : 0;
    *count = 0;
    types_number(range, DW_AT_lower_bound, lower);
    if (types_number(range, DW_AT_count, &number) && number > 0)
        *count = (uint64_t)number;
    else if (types_number(range, DW_AT_upper_bound, &upper) && upper >= *lower)
        *count = (uint64_t)upper - (uint64_t)*lower + 1;
    if (*count >> BYTES_SHIFT_MAX)
        *count = 0;
}

static bool read_ranges(const Dwarf_Die *peeled, enum types_language language,
                        struct types_array *array)
{
    Dwarf_Die child;
    if (dwarf_child((Dwarf_Die *)peeled, &child) != 0)
        return false;
    do {
        if (dwarf_tag(&child) != DW_TAG_subrange_type)
            continue;
        if (array->dimensions == TYPES_DIMENSIONS)
            return false;
        bounds_of(&child, language, &array->lower[array->dimensions],
                  &array->count[array->dimensions]);
        array->dimensions++;
    } while (types_next_sibling(&child));
    return array->dimensions > 0;
}

/* Of descriptors, whose elements lie elsewhere, and vectors, which are used as one, nothing. */
static bool is_plain(const Dwarf_Die *peeled)
{
    Dwarf_Attribute found;
    return dwarf_tag((Dwarf_Die *)peeled) == DW_TAG_array_type &&
           !dwarf_attr((Dwarf_Die *)peeled, DW_AT_data_location, &found) &&
           !dwarf_attr((Dwarf_Die *)peeled, DW_AT_GNU_vector, &found) &&
           !dwarf_attr((Dwarf_Die *)peeled, DW_AT_bit_stride, &found) &&
           !dwarf_attr((Dwarf_Die *)peeled, DW_AT_allocated, &found);
}

static bool read_array(const Dwarf_Die *peeled, enum types_language language,
                       struct types_array *array, int depth)
{
    int64_t stride = 0, order;
    *array = (struct types_array){.first_is_fastest = language == TYPES_FORTRAN};
    if (!is_plain(peeled) || !types_of(peeled, &array->element) ||
        !read_ranges(peeled, language, array))
        return false;
    if (types_number(peeled, DW_AT_ordering, &order))
        array->first_is_fastest = order == DW_ORD_col_major;
    for (unsigned i = 0; i < array->dimensions; i++)
        if (!array->count[i] && i != (array->first_is_fastest ? array->dimensions - 1 : 0))
            return false;
    if (types_number(peeled, DW_AT_byte_stride, &stride) && stride > 0)
        array->stride = (uint64_t)stride;
    else if (!bytes_at(&array->element, &array->stride, depth + 1))
        return false;
    return array->stride > 0;
}

bool types_array(const Dwarf_Die *peeled, enum types_language language, struct types_array *array)
{
    return read_array(peeled, language, array, 0);
}

static bool array_bytes(const Dwarf_Die *array, uint64_t *bytes, int depth)
{
    struct types_array read;
    /* The language matters only for bounds that are left out; their number is then the same but for one dimension. */
    Dwarf_Die unit;
    enum types_language language =
        dwarf_diecu((Dwarf_Die *)array, &unit, NULL, NULL) ? types_language(&unit) : TYPES_OTHER;
    if (!read_array(array, language, &read, depth))
        return false;
    uint64_t total = read.stride;
    for (unsigned i = 0; i < read.dimensions; i++)
        if (!read.count[i] || __builtin_mul_overflow(total, read.count[i], &total))
            return false;
    if (total >> BYTES_SHIFT_MAX)
        return false;
    *bytes = total;
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *prefix_of(int tag, enum types_language language)
{
    if (language != TYPES_C)
        return "";
    return tag == DW_TAG_structure_type     ? "struct "
           : tag == DW_TAG_union_type       ? "union "
           : tag == DW_TAG_enumeration_type ? "enum "
                                            : "";
}

static const char *nameless(int tag)
{
    switch (tag) {
    case DW_TAG_structure_type: return "struct";
    case DW_TAG_class_type: return "class";
    case DW_TAG_union_type: return "union";
    case DW_TAG_enumeration_type: return "enum";
    case DW_TAG_subroutine_type: return "function";
    default: return "?";
    }
}

static void append_name(const Dwarf_Die *type, enum types_language language, struct util_text *text,
                        int depth);

static void append_array(const Dwarf_Die *type, enum types_language language,
                         struct util_text *text, int depth)
{
    struct types_array array;
    Dwarf_Die element;
    if (!types_of(type, &element)) {
        util_text_print(text, "?");
        return;
    }
    append_name(&element, language, text, depth + 1);
    if (!read_array(type, language, &array, 0)) {
        util_text_print(text, "[]");
        return;
    }
    const char *open = language == TYPES_FORTRAN ? "(" : "[";
    const char *between = language == TYPES_FORTRAN ? "," : "][";
    for (unsigned i = 0; i < array.dimensions; i++) {
        util_text_print(text, "%s", i ? between : open);
        if (array.count[i])
            util_text_print(text, "%llu", (unsigned long long)array.count[i]);
    }
    util_text_print(text, "%s", language == TYPES_FORTRAN ? ")" : "]");
}

static void append_name(const Dwarf_Die *type, enum types_language language, struct util_text *text,
                        int depth)
{
    Dwarf_Die at = *type;
    for (int i = 0; i < PEELED_MAX && is_qualifier(dwarf_tag(&at)); i++)
        if (!types_of(&at, &at)) {
            util_text_print(text, "void");
            return;
        }
    int tag = dwarf_tag(&at);
    const char *name = types_text(&at, DW_AT_name);
    if (name) {
        util_text_print(text, "%s%s", prefix_of(tag, language), name);
        return;
    }
    if (depth < NAME_DEPTH && is_address(tag)) {
        Dwarf_Die target;
        if (types_of(&at, &target))
            append_name(&target, language, text, depth + 1);
        else
            util_text_print(text, "void");
        util_text_print(text, tag == DW_TAG_pointer_type ? " *" : " &");
    } else if (depth < NAME_DEPTH && tag == DW_TAG_array_type) {
        append_array(&at, language, text, depth);
    } else {
        util_text_print(text, "%s", nameless(tag));
    }
}

bool types_has_name(const Dwarf_Die *type)
{
    Dwarf_Die at = *type;
    for (int i = 0; i < PEELED_MAX && is_qualifier(dwarf_tag(&at)); i++)
        if (!types_of(&at, &at))
            return false;
    return types_text(&at, DW_AT_name) != NULL;
}

void types_name(const Dwarf_Die *type, enum types_language language, struct util_text *text)
{
    append_name(type, language, text, 0);
}
