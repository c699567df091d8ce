// SPDX-License-Identifier: MIT
/*
 * Which variable lies at an address? Debug information has no table of that, so units are read until the variable has
 * been met: the one with the code that accesses it first, then the others, first what is global in them, then what
 * functions have. Programs of a compiler's size have gigabytes of it: when BINARY_DATA_BYTES_MAX bytes are read, the rest
 * stays unread, and the unit of the code may still have a declaration of the symbol, which has its type as well.
 */
#include "binary/fields.h"
#include "binary/internal.h"
#include "binary/split.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { GLOBAL_ONLY = 1, WITH_FUNCTIONS = 2, LEVELS_MAX = 32 };
/* A variable takes some bytes; hostile entries may be in the tree several times. */
enum { VARIABLES_MAX = 1 << 22 };

void data_free(struct data *data)
{
    free(data->units);
    free(data->variables);
    free(data->types);
    intervals_free(&data->fixed);
    intervals_free(&data->thread_local);
    symbols_free(&data->symbols);
    symbols_free(&data->thread_symbols);
    *data = (struct data){0};
}

/* ---- where a variable is ------------------------------------------------------------------------ */

static bool is_thread_local(const Dwarf_Op *op)
{
    return op->atom == DW_OP_GNU_push_tls_address || op->atom == DW_OP_form_tls_address;
}

/* The address that an operation names, also by its index in a table. */
static bool operand(Dwarf_Attribute *attribute, const Dwarf_Op *op, uint64_t *value)
{
    Dwarf_Attribute indexed;
    Dwarf_Addr address;
    switch (op->atom) {
    case DW_OP_addr:
    case DW_OP_const4u:
    case DW_OP_const8u: *value = op->number; return true;
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
        if (dwarf_getlocation_attr(attribute, op, &indexed) != 0 ||
            dwarf_formaddr(&indexed, &address) != 0)
            return false;
        *value = address;
        return true;
    case DW_OP_constx:
    case DW_OP_GNU_const_index:
        return dwarf_getlocation_attr(attribute, op, &indexed) == 0 &&
               dwarf_formudata(&indexed, value) == 0;
    default: return false;
    }
}

/* False: in no one place throughout the program. */
static bool place_of(const Dwarf_Die *die, uint64_t *start, bool *thread_local)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    if (!dwarf_attr((Dwarf_Die *)die, DW_AT_location, &attribute) ||
        (dwarf_whatform(&attribute) != DW_FORM_exprloc &&
         dwarf_whatform(&attribute) != DW_FORM_block1) ||
        dwarf_getlocation(&attribute, &ops, &count) != 0 || !count ||
        !operand(&attribute, &ops[0], start))
        return false;
    size_t at = 1;
    *thread_local = count > at && is_thread_local(&ops[at]);
    at += *thread_local;
    if (count > at && ops[at].atom == DW_OP_plus_uconst)
        *start += ops[at++].number;
    bool is_address = ops[0].atom == DW_OP_addr || ops[0].atom == DW_OP_addrx ||
                      ops[0].atom == DW_OP_GNU_addr_index;
    return at == count && (is_address || *thread_local) && (*start || *thread_local);
}

bool data_place(const Dwarf_Die *die, uint64_t *start)
{
    bool thread_local;
    return place_of(die, start, &thread_local) && !thread_local;
}

/* ---- reading units ------------------------------------------------------------------------------ */

/* Of a common block: from its first variable to the end of its last one. False: it has none in one place. */
static bool common_range(const Dwarf_Die *block, struct variable *made)
{
    Dwarf_Die child, type;
    uint64_t least = UINT64_MAX, reach = 0, at, bytes;
    if (dwarf_child((Dwarf_Die *)block, &child) != 0)
        return false;
    do {
        bool thread_local;
        if (!place_of(&child, &at, &thread_local) || thread_local || !types_of(&child, &type) ||
            !types_bytes(&type, &bytes) || at + bytes < at)
            continue;
        least = at < least ? at : least;
        reach = at + bytes > reach ? at + bytes : reach;
    } while (types_next_sibling(&child));
    made->start = least;
    made->bytes = reach - least;
    return reach > least;
}

static bool variable_range(const Dwarf_Die *die, struct variable *made)
{
    Dwarf_Die type;
    if (dwarf_tag((Dwarf_Die *)die) == DW_TAG_common_block)
        return common_range(die, made);
    if (!place_of(die, &made->start, &made->thread_local))
        return false;
    if (types_of(die, &type))
        types_bytes(&type, &made->bytes);
    return made->start + made->bytes >= made->start;
}

/* False: no memory. */
static bool add_variable(struct data *data, const Dwarf_Die *die)
{
    struct variable made = {.die = *die};
    if (data->variables_count >= VARIABLES_MAX || !variable_range(die, &made))
        return true;
    return UTIL_PUSH(data->variables, data->variables_count, data->variables_capacity, made);
}

static bool is_scope(int tag, int depth)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module: return true;
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine: return depth >= WITH_FUNCTIONS;
    default: return false;
    }
}

/* False: no memory. */
static bool read_scope(struct data *data, const Dwarf_Die *parent, int depth, int level)
{
    Dwarf_Die die;
    if (level > LEVELS_MAX || dwarf_child((Dwarf_Die *)parent, &die) != 0)
        return true;
    do {
        int tag = dwarf_tag(&die);
        if (dwarf_dieoffset(&die) > data->reach)
            data->reach = dwarf_dieoffset(&die);
        if ((tag == DW_TAG_variable || tag == DW_TAG_common_block) && !add_variable(data, &die))
            return false;
        if (is_scope(tag, depth) && !read_scope(data, &die, depth, level + 1))
            return false;
    } while (types_next_sibling(&die));
    return true;
}

/* Variables that were read before, at less depth, are there twice: that does no harm. False: no memory. */
static bool read_unit(struct data *data, struct data_unit *unit, int depth)
{
    if (unit->depth >= depth)
        return true;
    unit->depth = (uint8_t)depth;
    data->reach = dwarf_dieoffset(&unit->tree);
    bool good = read_scope(data, &unit->tree, depth, 0);
    data->bytes_read += data->reach - dwarf_dieoffset(&unit->tree);
    return good;
}

/* What was read lately becomes part of the intervals. False: no memory. */
static bool enter_variables(struct data *data)
{
    if (data->entered == data->variables_count)
        return true;
    for (; data->entered < data->variables_count; data->entered++) {
        const struct variable *variable = &data->variables[data->entered];
        uint64_t end = variable->start + (variable->bytes ? variable->bytes : 1);
        if (end > variable->start &&
            !intervals_add(variable->thread_local ? &data->thread_local : &data->fixed,
                           variable->start, end, data->entered))
            return false;
    }
    intervals_sort(&data->fixed);
    intervals_sort(&data->thread_local);
    return true;
}

void data_list_units(struct binary *binary)
{
    struct data *data = &binary->data;
    Dwarf_CU *unit = NULL, *next;
    uint8_t type;
    Dwarf_Die die, split;
    int file = binary->debug.elf ? binary->debug.file : binary->main.file;
    if (data->listed || !binary->dwarf)
        return;
    data->listed = true;
    while (dwarf_get_units(binary->dwarf, unit, &next, NULL, &type, &die, NULL) == 0) {
        unit = next;
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        bool is_split = type == DW_UT_skeleton && split_may_be_read(&die, file) &&
                        dwarf_cu_info(unit, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 &&
                        split.addr;
        if (!UTIL_PUSH(data->units, data->units_count, data->units_capacity,
                       (struct data_unit){.tree = is_split ? split : die}))
            return;
    }
}

/* ---- looking up --------------------------------------------------------------------------------- */

static const struct variable *find(const struct data *data, bool thread_local, uint64_t address)
{
    const struct interval *range =
        intervals_find(thread_local ? &data->thread_local : &data->fixed, address);
    return range ? &data->variables[range->value] : NULL;
}

/* Is it among those from `first` on? */
static bool is_among(const struct data *data, size_t first, bool thread_local, uint64_t address)
{
    for (size_t i = first; i < data->variables_count; i++) {
        const struct variable *variable = &data->variables[i];
        uint64_t bytes = variable->bytes ? variable->bytes : 1;
        if (variable->thread_local == thread_local && address - variable->start < bytes)
            return true;
    }
    return false;
}

static struct data_unit *unit_of_code(struct binary *binary, uint64_t code)
{
    struct unit *unit = code ? binary_unit(binary, code) : NULL;
    for (size_t i = 0; unit && i < binary->data.units_count; i++)
        if (binary->data.units[i].tree.addr == unit->tree.addr)
            return &binary->data.units[i];
    return NULL;
}

/* Reads units that were not read to that depth until one has the variable. False: no memory. */
static bool read_until(struct data *data, int depth, bool thread_local, uint64_t address)
{
    for (size_t i = 0; i < data->units_count; i++) {
        struct data_unit *unit = &data->units[i];
        size_t before = data->variables_count;
        if (unit->depth >= depth)
            continue;
        if (data->bytes_read >= BINARY_DATA_BYTES_MAX)
            break;
        if (!read_unit(data, unit, depth))
            return false;
        if (is_among(data, before, thread_local, address))
            break;
    }
    return enter_variables(data);
}

/* The variable at an address. A symbol that covers it says that there is one to be found. */
static const struct variable *seek(struct binary *binary, bool thread_local, uint64_t address,
                                   uint64_t code, const struct symbol *symbol)
{
    struct data *data = &binary->data;
    data_list_units(binary);
    const struct variable *found = find(data, thread_local, address);
    struct data_unit *near = found ? NULL : unit_of_code(binary, code);
    if (near && read_unit(data, near, WITH_FUNCTIONS) && enter_variables(data))
        found = find(data, thread_local, address);
    for (int depth = GLOBAL_ONLY; symbol && !found && depth <= WITH_FUNCTIONS; depth++) {
        if (!read_until(data, depth, thread_local, address))
            return NULL;
        found = find(data, thread_local, address);
    }
    return found;
}

/* ---- declarations ------------------------------------------------------------------------------- */

static bool is_named(const Dwarf_Die *die, const char *symbol)
{
    const char *linkage = types_text(die, DW_AT_linkage_name), *name = types_text(die, DW_AT_name);
    return strcmp(linkage ? linkage : name ? name : "", symbol) == 0;
}

/* A variable that is external, by that symbol. */
static bool find_declaration(const Dwarf_Die *parent, const char *symbol, Dwarf_Die *found,
                             int level)
{
    Dwarf_Die die;
    if (level > LEVELS_MAX || dwarf_child((Dwarf_Die *)parent, &die) != 0)
        return false;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_variable && types_flag(&die, DW_AT_external) && is_named(&die, symbol)) {
            *found = die;
            return true;
        }
        if (is_scope(tag, GLOBAL_ONLY) && find_declaration(&die, symbol, found, level + 1))
            return true;
    } while (types_next_sibling(&die));
    return false;
}

/* ---- answers ------------------------------------------------------------------------------------ */

const char *data_keep(struct binary *binary, struct util_text *text)
{
    uint32_t number;
    const char *kept = NULL;
    for (size_t i = 0; i < text->count; i++)
        if ((unsigned char)text->bytes[i] < ' ')
            text->bytes[i] = '?';
    if (!text->failed && text->count &&
        util_strings_add(&binary->made, text->bytes, text->count, &number))
        kept = binary->made.texts[number];
    util_text_free(text);
    return kept;
}

const char *data_keep_words(struct binary *binary, const char *words)
{
    struct util_text text = {0};
    util_text_print(&text, "%s", words ? words : "?");
    return data_keep(binary, &text);
}

uint32_t data_handle(struct binary *binary, const Dwarf_Die *type, enum types_language language,
                     bool repeated)
{
    struct data *data = &binary->data;
    struct data_type made = {*type, language, repeated};
    return UTIL_PUSH(data->types, data->types_count, data->types_capacity, made)
               ? (uint32_t)data->types_count
               : 0;
}

const char *data_type_name(struct binary *binary, const Dwarf_Die *type,
                           enum types_language language)
{
    struct util_text text = {0};
    types_name(type, language, &text);
    return data_keep(binary, &text);
}

enum types_language data_language(const Dwarf_Die *die)
{
    Dwarf_Die unit;
    return dwarf_diecu((Dwarf_Die *)die, &unit, NULL, NULL) ? types_language(&unit) : TYPES_OTHER;
}

static bool is_mangled(const char *symbol)
{
    return strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0;
}

/* gfortran: __MODULE_MOD_NAME. */
static size_t fortran_module(const char *symbol)
{
    const char *mark = strncmp(symbol, "__", 2) == 0 ? strstr(symbol, "_MOD_") : NULL;
    return mark ? (size_t)(mark - symbol - 2) : 0;
}

static const char *variable_name(struct binary *binary, const Dwarf_Die *die,
                                 const struct symbol *symbol)
{
    const char *linkage = types_text(die, DW_AT_linkage_name), *name = types_text(die, DW_AT_name);
    struct util_text text = {0};
    if (!linkage && symbol)
        linkage = symbol->name;
    if (dwarf_tag((Dwarf_Die *)die) == DW_TAG_common_block)
        util_text_print(&text, "/%s/", name ? name : "");
    else if (linkage && is_mangled(linkage))
        util_text_print(&text, "%s", names_readable(&binary->names, linkage));
    else if (linkage && name && fortran_module(linkage))
        util_text_print(&text, "%.*s::%s", (int)fortran_module(linkage), linkage + 2, name);
    else
        util_text_print(&text, "%s", name ? name : linkage ? linkage : "?");
    return data_keep(binary, &text);
}

static void answer_entry(struct binary *binary, const Dwarf_Die *die, const struct symbol *symbol,
                         struct binary_object *object)
{
    Dwarf_Die type = *die;
    enum types_language language = data_language(die);
    object->name = variable_name(binary, die, symbol);
    bool block = dwarf_tag((Dwarf_Die *)die) == DW_TAG_common_block;
    if (!block && !types_of(die, &type))
        return;
    object->type = block ? NULL : data_type_name(binary, &type, language);
    object->handle = data_handle(binary, &type, language, false);
}

static void answer_symbol(struct binary *binary, const struct symbol *symbol,
                          struct binary_object *object)
{
    struct util_text text = {0};
    util_text_print(&text, "%s",
                    is_mangled(symbol->name) ? names_readable(&binary->names, symbol->name)
                                             : symbol->name);
    object->name = data_keep(binary, &text);
}

static enum base_status load_kind(struct binary *binary, enum symbols_kind kind,
                                  struct symbols *symbols)
{
    bool found;
    enum base_status status = BASE_OK;
    if (binary->debug.elf)
        status = symbols_load(binary->debug.elf, SHT_SYMTAB, kind, symbols, &found);
    if (status == BASE_OK)
        status = symbols_load(binary->main.elf, SHT_SYMTAB, kind, symbols, &found);
    if (status == BASE_OK)
        status = symbols_load(binary->main.elf, SHT_DYNSYM, kind, symbols, &found);
    return status == BASE_OK ? symbols_sort(symbols) : status;
}

enum base_status data_symbols(struct binary *binary)
{
    struct data *data = &binary->data;
    if (data->symbols_loaded)
        return BASE_OK;
    data->symbols_loaded = true;
    enum base_status status = load_kind(binary, SYMBOLS_DATA, &data->symbols);
    return status == BASE_OK ? load_kind(binary, SYMBOLS_THREAD, &data->thread_symbols) : status;
}

static enum base_status answer(struct binary *binary, bool thread_local, uint64_t address,
                               uint64_t code, struct binary_object *object)
{
    enum base_status status = data_symbols(binary);
    if (status != BASE_OK)
        return status;
    const struct symbol *symbol =
        symbols_find(thread_local ? &binary->data.thread_symbols : &binary->data.symbols, address);
    const struct variable *found = seek(binary, thread_local, address, code, symbol);
    struct binary_object made = {.start = found    ? found->start
                                          : symbol ? symbol->start
                                                   : 0,
                                 .bytes = found    ? found->bytes
                                          : symbol ? symbol->end - symbol->start
                                                   : 0};
    struct data_unit *near = found || !symbol ? NULL : unit_of_code(binary, code);
    Dwarf_Die declared;
    if (found)
        answer_entry(binary, &found->die, symbol, &made);
    else if (near && find_declaration(&near->tree, symbol->name, &declared, 0))
        answer_entry(binary, &declared, symbol, &made);
    else if (symbol)
        answer_symbol(binary, symbol, &made);
    if (!made.name)
        return found || symbol ? BASE_NO_MEMORY : BASE_NOT_FOUND;
    *object = made;
    return BASE_OK;
}

enum base_status binary_variable(struct binary *binary, uint64_t vaddr, uint64_t code,
                                 struct binary_object *object)
{
    return answer(binary, false, vaddr, code, object);
}

enum base_status binary_thread_variable(struct binary *binary, uint64_t offset, uint64_t code,
                                        struct binary_object *object)
{
    return answer(binary, true, offset, code, object);
}
