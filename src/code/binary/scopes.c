// SPDX-License-Identifier: MIT
/* Variables in scope at an instruction, and what names mean there. */
#include "binary/scopes.h"

#include "binary/internal.h"
#include "binary/places.h"
#include "binary/ranges.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MAX = 16 };

bool scope_is_variable(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

static bool is_function(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

size_t scopes_at(struct binary *binary, uint64_t vaddr, Dwarf_Die scopes[SCOPES_MAX])
{
    struct unit *unit = binary_unit(binary, vaddr);
    if (!unit || !unit_function(unit, vaddr, &scopes[0]))
        return 0;
    size_t count = 1;
    while (count < SCOPES_MAX && unit_scope_within(&scopes[count - 1], vaddr, &scopes[count]))
        count++;
    return count;
}

size_t scope_owner(const Dwarf_Die *scopes, size_t scope)
{
    while (scope && !is_function((Dwarf_Die *)&scopes[scope]))
        scope--;
    return scope;
}

const char *scope_function(struct binary *binary, const Dwarf_Die *scope)
{
    const char *linkage = types_text(scope, DW_AT_linkage_name);
    return data_keep_words(binary, linkage ? names_readable(&binary->names, linkage)
                                           : types_text(scope, DW_AT_name));
}

/* ---- one variable --------------------------------------------------------------------------------- */

static void set_type(struct binary *binary, const Dwarf_Die *die, enum types_language language,
                     struct binary_local *local)
{
    Dwarf_Die type, peeled;
    if (!types_of(die, &type))
        return;
    local->type = data_type_name(binary, &type, language);
    if (!types_peel(&type, &peeled) || !types_bytes(&peeled, &local->bytes))
        return;
    int tag = dwarf_tag(&peeled);
    local->scalar = tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type ||
                    tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type;
}

/* An extern declaration names a symbol. */
static bool by_symbol(struct binary *binary, const Dwarf_Die *die, uint64_t *address)
{
    const char *linkage = types_text(die, DW_AT_linkage_name);
    linkage = linkage ? linkage : types_text(die, DW_AT_name);
    struct data *data = &binary->data;
    data_symbols(binary);
    for (size_t i = 0; linkage && i < data->symbols.count; i++)
        if (strcmp(data->symbols.items[i].name, linkage) == 0) {
            *address = data->symbols.items[i].start;
            return true;
        }
    return false;
}

static void set_address(struct binary *binary, const Dwarf_Die *die, struct binary_local *local)
{
    if (data_place(die, &local->address))
        return;
    local->address = 0;
    if (dwarf_tag((Dwarf_Die *)die) == DW_TAG_variable && types_flag(die, DW_AT_external) &&
        types_flag(die, DW_AT_declaration))
        by_symbol(binary, die, &local->address);
}

/* Below the return address, and what is pushed behind it. */
enum { SLOT_LAST = -16 };

bool binary_frame_at(struct binary *binary, uint64_t vaddr, uint8_t *base, int64_t *offset)
{
    struct rows *rows = &binary->frames;
    if (!binary->frames_loaded && frames_load(binary->main.elf, rows) != BASE_OK)
        rows->range_count = 0;
    binary->frames_loaded = true;
    if (!rows->range_count || vaddr < rows->base || vaddr >= rows->limit)
        return false;
    uint64_t at = vaddr - rows->base;
    size_t behind = BASE_FIRST(i, rows->range_count, rows->starts[i] > at);
    const struct unwind_row *row = behind ? &rows->rows[rows->range_rows[behind - 1]] : NULL;
    if (!row || row->cfa != UNWIND_CFA_REGISTER)
        return false;
    *base = row->cfa_register;
    *offset = row->cfa_offset;
    return true;
}

/* One place in the frame, throughout its scope, which the function names by its canonical frame address, as gcc does. */
static void set_slot(const Dwarf_Die *function, Dwarf_Die *die, struct binary_local *local)
{
    Dwarf_Attribute found;
    Dwarf_Op *ops;
    size_t count;
    local->entry = dwarf_dieoffset(die);
    if (local->address || !dwarf_attr((Dwarf_Die *)function, DW_AT_frame_base, &found) ||
        dwarf_getlocation(&found, &ops, &count) != 0 || count != 1 ||
        ops[0].atom != DW_OP_call_frame_cfa)
        return;
    if (dwarf_attr(die, DW_AT_location, &found) && dwarf_whatform(&found) == DW_FORM_exprloc &&
        dwarf_getlocation(&found, &ops, &count) == 0 && count == 1 && ops[0].atom == DW_OP_fbreg &&
        (int64_t)ops[0].number <= SLOT_LAST)
        local->slot = (int64_t)ops[0].number;
}

static struct binary_local describe(struct binary *binary, const Dwarf_Die *function,
                                    Dwarf_Die *die, uint64_t vaddr, enum types_language language)
{
    struct binary_local local = {.parameter = dwarf_tag(die) == DW_TAG_formal_parameter};
    struct util_text where = {0};
    int64_t line;
    const char *name = types_text(die, DW_AT_name);
    local.name = name ? data_keep_words(binary, name) : NULL;
    if (types_number(die, DW_AT_decl_line, &line) && line > 0 && line <= UINT32_MAX)
        local.declared = (uint32_t)line;
    set_type(binary, die, language, &local);
    set_address(binary, die, &local);
    set_slot(function, die, &local);
    local.residence = place_at(die, vaddr, &where);
    if (local.residence == BINARY_NOWHERE && local.address) {
        local.residence = BINARY_MEMORY;
        util_text_print(&where, "0x%llx", (unsigned long long)local.address);
    }
    local.where = where.count ? data_keep(binary, &where) : "";
    local.where = local.where ? local.where : "";
    return local;
}

/* ---- all at an address ------------------------------------------------------------------------------ */

static bool is_shadowed(const struct binary_locals *locals, size_t before, const char *name)
{
    for (size_t i = 0; name && i < before; i++)
        if (locals->items[i].name && strcmp(locals->items[i].name, name) == 0)
            return true;
    return false;
}

static bool add_scope(struct binary *binary, const Dwarf_Die *scopes, size_t scope, uint64_t vaddr,
                      struct binary_locals *locals)
{
    Dwarf_Die child;
    size_t owner = scope_owner(scopes, scope), before = locals->count;
    const char *function = scope_function(binary, &scopes[owner]);
    enum types_language language = data_language(&scopes[0]);
    if (dwarf_child((Dwarf_Die *)&scopes[scope], &child) != 0)
        return true;
    do {
        if (!scope_is_variable(&child))
            continue;
        struct binary_local local = describe(binary, &scopes[0], &child, vaddr, language);
        local.function = function;
        local.inlined = owner > 0;
        local.shadowed = is_shadowed(locals, before, local.name);
        if (!UTIL_PUSH(locals->items, locals->count, locals->capacity, local))
            return false;
    } while (types_next_sibling(&child));
    return true;
}

enum base_status binary_locals(struct binary *binary, uint64_t vaddr, struct binary_locals *locals)
{
    Dwarf_Die scopes[SCOPES_MAX];
    size_t count = scopes_at(binary, vaddr, scopes);
    *locals = (struct binary_locals){0};
    for (size_t i = count; i-- > 0;)
        if (!add_scope(binary, scopes, i, vaddr, locals)) {
            binary_locals_free(locals);
            return BASE_NO_MEMORY;
        }
    return count ? BASE_OK : BASE_NOT_FOUND;
}

void binary_locals_free(struct binary_locals *locals)
{
    free(locals->items);
    *locals = (struct binary_locals){0};
}

/* ---- what a name means ------------------------------------------------------------------------------- */

static bool is_named(const Dwarf_Die *die, const char *name)
{
    const char *own = types_text(die, DW_AT_name);
    return own && strcmp(own, name) == 0;
}

/* The child of that name that is a variable (or, of a class, any member). */
static bool find_child(const Dwarf_Die *parent, const char *name, bool members, Dwarf_Die *found)
{
    if (dwarf_child((Dwarf_Die *)parent, found) != 0)
        return false;
    do {
        int tag = dwarf_tag(found);
        if ((scope_is_variable(found) || (members && tag == DW_TAG_member)) &&
            is_named(found, name))
            return true;
    } while (types_next_sibling(found));
    return false;
}

/* The class and those that it is made from. */
static bool find_member(const Dwarf_Die *class, const char *name, int depth, Dwarf_Die *found)
{
    Dwarf_Die child, base, peeled;
    if (find_child(class, name, true, found))
        return true;
    if (depth >= CLASSES_MAX || dwarf_child((Dwarf_Die *)class, &child) != 0)
        return false;
    do
        if (dwarf_tag(&child) == DW_TAG_inheritance && types_of(&child, &base) &&
            types_peel(&base, &peeled) && find_member(&peeled, name, depth + 1, found))
            return true;
    while (types_next_sibling(&child));
    return false;
}

/* The class whose method the function is, by what its `this` points to. */
static bool class_of(const Dwarf_Die *function, Dwarf_Die *class)
{
    Dwarf_Die self, pointer, peeled, target;
    return find_child(function, "this", false, &self) && types_of(&self, &pointer) &&
           types_peel(&pointer, &peeled) && types_of(&peeled, &target) &&
           types_peel(&target, class);
}

/* In the unit and its namespaces. Returns how many variables have the name: of several it is not known which is meant. */
static size_t find_global(const Dwarf_Die *scope, const char *name, int depth, Dwarf_Die *found)
{
    Dwarf_Die child;
    size_t count = 0;
    if (depth > CLASSES_MAX || dwarf_child((Dwarf_Die *)scope, &child) != 0)
        return 0;
    do {
        int tag = dwarf_tag(&child);
        uint64_t here, there;
        if (tag == DW_TAG_variable && is_named(&child, name)) {
            /* a declaration, and the definition that completes it */
            bool placed = data_place(&child, &here);
            if (!count || (placed && !data_place(found, &there)))
                *found = child;
            count += !count || (placed && data_place(found, &there) && here != there);
        } else if (tag == DW_TAG_namespace) {
            Dwarf_Die inner;
            size_t more = find_global(&child, name, depth + 1, &inner);
            if (more && !count)
                *found = inner;
            count += more;
        }
    } while (types_next_sibling(&child));
    return count;
}

static enum base_status answer(struct binary *binary, Dwarf_Die *die, uint64_t vaddr,
                               const Dwarf_Die *function, struct binary_local *variable)
{
    *variable = describe(binary, function, die, vaddr, data_language(function));
    return variable->address || variable->slot ? BASE_OK : BASE_NOT_FOUND;
}

enum base_status binary_named(struct binary *binary, uint64_t vaddr, const char *name,
                              struct binary_local *variable)
{
    Dwarf_Die scopes[SCOPES_MAX], found, class;
    size_t count = scopes_at(binary, vaddr, scopes);
    struct unit *unit = binary_unit(binary, vaddr);
    for (size_t i = count; i-- > 0;) {
        if (find_child(&scopes[i], name, false, &found))
            return answer(binary, &found, vaddr, &scopes[0], variable);
        if (!is_function(&scopes[i]))
            continue;
        if (class_of(&scopes[i], &class) && find_member(&class, name, 0, &found))
            return answer(binary, &found, vaddr, &scopes[0], variable);
        break; /* an inlined function does not see the variables of the one around it */
    }
    if (!count || !unit || find_global(&unit->tree, name, 0, &found) != 1)
        return BASE_NOT_FOUND;
    return answer(binary, &found, vaddr, &scopes[0], variable);
}

/* ---- what a line declares ------------------------------------------------------------------------------ */

enum { DECLARED_DEPTH_MAX = 64 };

static bool is_declared_on(struct binary *binary, const char *directory, Dwarf_Die *die,
                           const char *file, uint32_t line)
{
    int64_t number;
    if (!types_number(die, DW_AT_decl_line, &number) || number != line ||
        dwarf_tag(die) == DW_TAG_label)
        return false;
    const char *declared = dwarf_decl_file(die);
    declared = declared ? names_absolute(&binary->names, directory, declared) : NULL;
    return declared && strcmp(declared, file) == 0;
}

static bool declares(struct binary *binary, const char *directory, Dwarf_Die *parent, int depth,
                     const char *file, uint32_t line)
{
    Dwarf_Die child;
    if (depth > DECLARED_DEPTH_MAX || dwarf_child(parent, &child) != 0)
        return false;
    do
        if (is_declared_on(binary, directory, &child, file, line) ||
            declares(binary, directory, &child, depth + 1, file, line))
            return true;
    while (types_next_sibling(&child));
    return false;
}

bool binary_declares(struct binary *binary, uint64_t vaddr, const char *file, uint32_t line)
{
    struct unit *unit = binary_unit(binary, vaddr);
    return unit &&
           declares(binary, types_text(&unit->die, DW_AT_comp_dir), &unit->tree, 0, file, line);
}
