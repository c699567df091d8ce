// SPDX-License-Identifier: MIT
/* The module is cut into lines; metadata are found by number, values by the lines of their function. */
#include "ir/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 24, NAME_MAX_BYTES = 512 };

int ir_compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

const char *ir_keep(const struct ir *ir, const char *text, size_t bytes)
{
    uint32_t number;
    struct util_strings *strings = (struct util_strings *)(uintptr_t)&ir->strings;
    return util_strings_add(strings, text, bytes, &number) ? strings->texts[number] : NULL;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

static bool note_metadata(struct ir *ir, const char *line)
{
    char *end;
    unsigned long number = strtoul(line + 1, &end, 10);
    if (end == line + 1 || !begins(end, " = ") || number > 50000000)
        return true;
    if (!UTIL_GROW_ZEROED(ir->metadata, ir->metadata_capacity, number))
        return false;
    ir->metadata[number] = end + 3;
    if (number >= ir->metadata_count)
        ir->metadata_count = number + 1;
    return true;
}

/* Of "@name" or "@\"name\"". */
static const char *symbol_at(const struct ir *ir, const char *at)
{
    if (*at == '"')
        return ir_keep(ir, at + 1, strcspn(at + 1, "\""));
    size_t bytes = 0;
    while (isalnum((unsigned char)at[bytes]) || (at[bytes] && strchr("._$-", at[bytes])))
        bytes++;
    return ir_keep(ir, at, bytes);
}

static bool note_function(struct ir *ir, const char *line, size_t index)
{
    const char *at = strchr(line, '@');
    struct function function = {at ? symbol_at(ir, at + 1) : NULL, (uint32_t)index,
                                (uint32_t)index};
    return !at || (function.symbol &&
                   UTIL_PUSH(ir->functions, ir->functions_count, ir->functions_capacity, function));
}

static bool note_lines(struct ir *ir)
{
    bool within = false;
    for (size_t i = 0; i < ir->lines_count; i++) {
        const char *line = ir->lines[i];
        if (line[0] == '!' && !note_metadata(ir, line))
            return false;
        if (begins(line, "define ")) {
            if (!note_function(ir, line, i))
                return false;
            within = true;
        }
        if (within && line[0] == '}' && ir->functions_count) {
            ir->functions[ir->functions_count - 1].end = (uint32_t)i + 1;
            within = false;
        }
    }
    return true;
}

enum base_status ir_read(const char *text, size_t bytes, struct ir **made)
{
    struct ir *ir = calloc(1, sizeof *ir);
    if (memchr(text, 0, bytes))
        goto malformed;
    if (!ir || !(ir->text = malloc(bytes + 1)))
        goto short_of_memory;
    memcpy(ir->text, text, bytes);
    ir->text[bytes] = 0;
    for (char *at = ir->text; at && *at;) {
        char *end = strchr(at, '\n');
        if (end)
            *end = 0;
        if (!UTIL_PUSH(ir->lines, ir->lines_count, ir->lines_capacity, at))
            goto short_of_memory;
        at = end ? end + 1 : NULL;
    }
    if (!note_lines(ir))
        goto short_of_memory;
    *made = ir;
    return BASE_OK;
malformed:
    ir_free(ir);
    return BASE_MALFORMED;
short_of_memory:
    ir_free(ir);
    return BASE_NO_MEMORY;
}

void ir_free(struct ir *ir)
{
    if (!ir)
        return;
    free(ir->text);
    free(ir->lines);
    free(ir->metadata);
    free(ir->functions);
    util_strings_free(&ir->strings);
    free(ir);
}

const struct function *ir_find_function(const struct ir *ir, const char *symbol)
{
    for (size_t i = 0; i < ir->functions_count; i++)
        if (strcmp(ir->functions[i].symbol, symbol) == 0)
            return &ir->functions[i];
    return NULL;
}

/* ---- metadata ----------------------------------------------------------------------------------------------- */

static const char *metadata(const struct ir *ir, const char *reference)
{
    if (!reference || reference[0] != '!')
        return NULL;
    unsigned long number = strtoul(reference + 1, NULL, 10);
    return number < ir->metadata_count ? ir->metadata[number] : NULL;
}

/* What stands behind "field: " of a node; NULL: it has none. */
static const char *field(const char *node, const char *name)
{
    char with[64];
    size_t bytes = (size_t)snprintf(with, sizeof with, "%s: ", name);
    for (const char *at = node; at && (at = strstr(at, with)); at++)
        if (at[-1] == '(' || at[-1] == ' ')
            return at + bytes;
    return NULL;
}

static const char *text_field(const struct ir *ir, const char *node, const char *name)
{
    const char *at = field(node, name);
    return at && *at == '"' ? ir_keep(ir, at + 1, strcspn(at + 1, "\"")) : NULL;
}

static uint32_t number_field(const char *node, const char *name)
{
    const char *at = field(node, name);
    return at ? (uint32_t)strtoul(at, NULL, 10) : 0;
}

static const char *file_of_scope(const struct ir *ir, const char *scope)
{
    for (int depth = 0; scope && depth < DEPTH_MAX; depth++) {
        const char *file = metadata(ir, field(scope, "file"));
        if (file)
            return text_field(ir, file, "filename");
        if (strstr(scope, "!DIFile("))
            return text_field(ir, scope, "filename");
        scope = metadata(ir, field(scope, "scope"));
    }
    return NULL;
}

static struct ir_place place_of_node(const struct ir *ir, const char *node)
{
    struct ir_place place = {0};
    const char *outer;
    for (int depth = 0; node && depth < DEPTH_MAX; depth++, node = outer) {
        outer = metadata(ir, field(node, "inlinedAt"));
        if (outer)
            continue;
        place.line = number_field(node, "line");
        place.column = number_field(node, "column");
        place.file = file_of_scope(ir, metadata(ir, field(node, "scope")));
        break;
    }
    return place;
}

/* The number behind the last "!dbg ". */
static const char *debug_of(const struct ir *ir, const char *line)
{
    const char *last = NULL;
    for (const char *at = line; (at = strstr(at, "!dbg !")); at += 6)
        last = at + 5;
    return metadata(ir, last);
}

struct ir_place ir_place_of(const struct ir *ir, const char *instruction)
{
    return place_of_node(ir, debug_of(ir, instruction));
}

static uint64_t position(struct ir_place place)
{
    return (uint64_t)place.line << 32 | place.column;
}

/* "distinct !{!44, !37, !45, !46}": itself, begin, end. False: the compiler does not say. */
static bool loop_of(const struct ir *ir, const char *line, struct ir_place *begin,
                    struct ir_place *end)
{
    const char *reference = strstr(line, "!llvm.loop !");
    const char *node = reference ? metadata(ir, reference + 11) : NULL;
    const char *first = node ? strstr(node, ", !") : NULL;
    const char *second = first ? strstr(first + 2, ", !") : NULL;
    const char *from = first ? metadata(ir, first + 2) : NULL;
    const char *to = second ? metadata(ir, second + 2) : NULL;
    if (!from || !to || !begins(from, "!DILocation(") || !begins(to, "!DILocation("))
        return false;
    *begin = place_of_node(ir, from);
    *end = place_of_node(ir, to);
    return true;
}

size_t ir_loops_around(const struct ir *ir, const char *symbol, struct ir_place place,
                       uint32_t *lines, size_t most)
{
    enum { LOOPS_MAX = 32 };
    const struct function *function = ir_find_function(ir, symbol);
    uint64_t begins[LOOPS_MAX];
    size_t count = 0;
    for (uint32_t i = function ? function->first : 0; function && i < function->end; i++) {
        struct ir_place begin, end;
        if (!loop_of(ir, ir->lines[i], &begin, &end) || position(begin) > position(place) ||
            position(end) < position(place) || count == LOOPS_MAX)
            continue;
        size_t at = count++;
        for (; at && begins[at - 1] > position(begin); at--)
            begins[at] = begins[at - 1];
        begins[at] = position(begin);
    }
    for (size_t i = 0; i < count && i < most; i++)
        lines[i] = (uint32_t)(begins[i] >> 32);
    return count;
}

const char *ir_find(const struct ir *ir, const char *symbol, const char *instruction)
{
    const struct function *function = ir_find_function(ir, symbol);
    const char *begin = instruction + strspn(instruction, " ");
    const char *debug = strstr(begin, ", !");
    size_t bytes = debug ? (size_t)(debug - begin) : strlen(begin);
    for (uint32_t i = function ? function->first + 1 : 0; function && i < function->end; i++) {
        const char *line = ir->lines[i] + strspn(ir->lines[i], " ");
        if (strncmp(line, begin, bytes) == 0 && (!line[bytes] || line[bytes] == ','))
            return ir->lines[i];
    }
    return NULL;
}

/* ---- functions ------------------------------------------------------------------------------------------------ */

const char *ir_next_function(const struct ir *ir, const char *after)
{
    const struct function *function = after ? ir_find_function(ir, after) : NULL;
    size_t next = !after ? 0 : function ? (size_t)(function - ir->functions) + 1 : SIZE_MAX;
    return next < ir->functions_count ? ir->functions[next].symbol : NULL;
}

const char *ir_function_name(const struct ir *ir, const char *symbol)
{
    const struct function *function = ir_find_function(ir, symbol);
    const char *node = function ? debug_of(ir, ir->lines[function->first]) : NULL;
    const char *name = node ? text_field(ir, node, "name") : NULL;
    return name ? name : symbol;
}

struct ir_place ir_function_place(const struct ir *ir, const char *symbol)
{
    const struct function *function = ir_find_function(ir, symbol);
    const char *node = function ? debug_of(ir, ir->lines[function->first]) : NULL;
    struct ir_place place = {0};
    if (node) {
        place.line = number_field(node, "line");
        place.file = file_of_scope(ir, node);
    }
    return place;
}

/* ---- values --------------------------------------------------------------------------------------------------- */

size_t ir_value_bytes(const char *value)
{
    size_t bytes = 1;
    while (isalnum((unsigned char)value[bytes]) || (value[bytes] && strchr("._$-", value[bytes])))
        bytes++;
    return bytes;
}

const char *ir_definition(const struct ir *ir, const struct function *function, const char *value,
                          size_t bytes)
{
    for (uint32_t i = function->first + 1; i < function->end; i++) {
        const char *line = ir->lines[i];
        if (line[0] == ' ' && line[1] == ' ' && strncmp(line + 2, value, bytes) == 0 &&
            begins(line + 2 + bytes, " = "))
            return line + 5 + bytes;
    }
    return NULL;
}

/* Of "#dbg_value(ptr %5, !60, ...". */
static const char *debug_variable(const struct ir *ir, const struct function *function,
                                  const char *value, size_t bytes)
{
    for (uint32_t i = function->first + 1; i < function->end; i++) {
        const char *line = ir->lines[i];
        const char *record = strstr(line, "#dbg_value(");
        if (!record)
            record = strstr(line, "#dbg_declare(");
        const char *at = record ? strpbrk(record, "%@") : NULL;
        const char *comma = record ? strchr(record, ',') : NULL;
        if (at && comma && at < comma && strncmp(at, value, bytes) == 0 && at[bytes] == ',' &&
            strstr(at + bytes, "!DIExpression()"))
            return metadata(ir, at + bytes + 2);
    }
    return NULL;
}

const char *ir_variable_name(const struct ir *ir, const char *variable)
{
    return variable ? text_field(ir, variable, "name") : NULL;
}

const char *ir_debug_name(const struct ir *ir, const struct function *function, const char *value,
                          size_t bytes)
{
    return ir_variable_name(ir, debug_variable(ir, function, value, bytes));
}

static const char *global_line(const struct ir *ir, const char *value, size_t bytes)
{
    for (size_t i = 0; i < ir->lines_count; i++)
        if (ir->lines[i][0] == '@' && strncmp(ir->lines[i], value, bytes) == 0 &&
            begins(ir->lines[i] + bytes, " = "))
            return ir->lines[i];
    return NULL;
}

static const char *global_variable(const struct ir *ir, const char *value, size_t bytes)
{
    const char *line = global_line(ir, value, bytes);
    const char *node = line ? debug_of(ir, line) : NULL;
    return node ? metadata(ir, field(node, "var")) : NULL;
}

const char *ir_variable(const struct ir *ir, const struct function *function, const char *value,
                        size_t bytes)
{
    return *value == '@' ? global_variable(ir, value, bytes)
                         : debug_variable(ir, function, value, bytes);
}

uint64_t ir_element_bytes(const struct ir *ir, const char *variable, bool *allocatable)
{
    const char *type = variable ? metadata(ir, field(variable, "type")) : NULL;
    const char *element = type ? metadata(ir, field(type, "baseType")) : NULL;
    if (!element || !begins(type, "!DICompositeType(tag: DW_TAG_array_type") ||
        !begins(element, "!DIBasicType("))
        return 0;
    *allocatable = field(type, "allocated") != NULL;
    return number_field(element, "size") / 8;
}

static const char *global_name(const struct ir *ir, const char *value, size_t bytes)
{
    const char *name = ir_variable_name(ir, global_variable(ir, value, bytes));
    return name ? name : ir_keep(ir, value + 1, bytes - 1);
}

const char *ir_pointer_operand(const char *instruction)
{
    const char *store = strstr(instruction, "store ");
    const char *at = instruction;
    if (store)
        at = strstr(store, ", ptr ") ? strstr(store, ", ptr ") : store;
    const char *found = strstr(at, "ptr ");
    for (; found && found[4] != '%' && found[4] != '@'; found = strstr(found + 4, "ptr "))
        ;
    return found ? found + 4 : NULL;
}

/* Of memory that a call gave: the global variable that it is stored to. */
static const char *kept_name(const struct ir *ir, const struct function *function,
                             const char *value, size_t bytes)
{
    for (uint32_t i = function->first + 1; i < function->end; i++) {
        const char *store = ir->lines[i] + strspn(ir->lines[i], " ");
        if (begins(store, "store ptr ") && strncmp(store + 10, value, bytes) == 0 &&
            begins(store + 10 + bytes, ", ptr @"))
            return global_name(ir, store + bytes + 16, ir_value_bytes(store + bytes + 16));
    }
    return NULL;
}

static const char *root_name(const struct ir *ir, const struct function *function,
                             const char *value, int depth)
{
    size_t bytes = ir_value_bytes(value);
    if (value[0] == '@')
        return global_name(ir, value, bytes);
    const char *name = ir_debug_name(ir, function, value, bytes);
    if (name || depth == DEPTH_MAX)
        return name;
    const char *as = ir_definition(ir, function, value, bytes);
    if (!as)
        return NULL;
    if (begins(as, "phi ptr") || begins(as, "select ")) {
        const char *in = strchr(as, '%');
        return in ? root_name(ir, function, in, depth + 1) : NULL;
    }
    if (strstr(as, "call ptr ") && (name = kept_name(ir, function, value, bytes)))
        return name;
    const char *pointer = ir_pointer_operand(as);
    if (!pointer) /* a conversion, of a number */
        pointer = strchr(as, '%');
    return pointer ? root_name(ir, function, pointer, depth + 1) : NULL;
}

const char *ir_accessed_name(const struct ir *ir, const char *symbol, const char *instruction)
{
    const struct function *function = ir_find_function(ir, symbol);
    const char *pointer = ir_pointer_operand(instruction);
    return function && pointer ? root_name(ir, function, pointer, 0) : NULL;
}

const char *ir_value_name(const struct ir *ir, const char *symbol, const char *expression)
{
    const struct function *function = ir_find_function(ir, symbol);
    const char *value = strpbrk(expression, "%@");
    return function && value ? root_name(ir, function, value, 0) : NULL;
}

/* Of parameters, globals and what is computed of these alone. */
static bool is_fixed(const struct ir *ir, const struct function *function, const char *value,
                     int depth)
{
    if (*value == '@')
        return true;
    const char *as = ir_definition(ir, function, value, ir_value_bytes(value));
    if (!as || begins(as, "alloca "))
        return true;
    if (depth == DEPTH_MAX || begins(as, "phi ") || strstr(as, "call "))
        return false;
    const char *end = strstr(as, ", !");
    for (const char *at = as; (at = strchr(at, '%')) && (!end || at < end); at++)
        if (!is_fixed(ir, function, at, depth + 1))
            return false;
    return true;
}

bool ir_is_fixed(const struct ir *ir, const char *symbol, const char *instruction)
{
    const struct function *function = ir_find_function(ir, symbol);
    const char *pointer = ir_pointer_operand(instruction);
    return function && pointer && is_fixed(ir, function, pointer, 0);
}

bool ir_is_blank(const struct ir *ir, const char *instruction)
{
    bool fortran = false;
    if (!begins(instruction + strspn(instruction, " "), "store [1 x i8] c\" \","))
        return false;
    for (size_t i = 0; i < ir->metadata_count && !fortran; i++)
        fortran = ir->metadata[i] && strstr(ir->metadata[i], "language: DW_LANG_Fortran");
    return fortran;
}

bool ir_same_address(const char *instruction, const char *other)
{
    const char *left = ir_pointer_operand(instruction), *right = ir_pointer_operand(other);
    size_t bytes = left ? ir_value_bytes(left) : 0;
    return left && right && bytes == ir_value_bytes(right) && strncmp(left, right, bytes) == 0;
}

const char *ir_next_access(const struct ir *ir, const char *symbol, const char *instruction)
{
    const struct function *function = ir_find_function(ir, symbol);
    bool behind = false;
    for (uint32_t i = function ? function->first + 1 : 0; function && i < function->end; i++) {
        const char *line = ir->lines[i];
        if (behind && ir_bytes_of(line))
            return line;
        behind |= line == instruction;
    }
    return NULL;
}

struct ir_place ir_address_place(const struct ir *ir, const char *symbol, const char *instruction)
{
    const struct function *function = ir_find_function(ir, symbol);
    const char *pointer = ir_pointer_operand(instruction);
    const char *as = function && pointer && *pointer == '%'
                         ? ir_definition(ir, function, pointer, ir_value_bytes(pointer))
                         : NULL;
    return ir_place_of(ir, as && begins(as, "getelementptr") ? as : instruction);
}

unsigned ir_accesses_before(const struct ir *ir, const char *symbol, const char *instruction)
{
    const struct function *function = ir_find_function(ir, symbol);
    struct ir_place place = ir_place_of(ir, instruction);
    const char *name = ir_accessed_name(ir, symbol, instruction);
    unsigned before = 0;
    for (uint32_t i = function ? function->first + 1 : 0; function && i < function->end; i++) {
        const char *line = ir->lines[i], *load = strstr(line, " = load ");
        if (line == instruction || (load && load + 3 == instruction))
            break;
        struct ir_place other = load ? ir_place_of(ir, line) : (struct ir_place){0};
        const char *is = load && other.line == place.line && other.column == place.column
                             ? ir_accessed_name(ir, symbol, line)
                             : NULL;
        before += is && name && strcmp(is, name) == 0;
    }
    return before;
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static uint64_t type_bytes(const char **at)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } types[] = {{"double", 8}, {"float", 4},     {"ptr", 8},   {"half", 2},
                 {"bfloat", 2}, {"x86_fp80", 16}, {"fp128", 16}};
    for (size_t i = 0; i < BASE_COUNT(types); i++)
        if (begins(*at, types[i].name)) {
            *at += strlen(types[i].name);
            return types[i].bytes;
        }
    if (**at == 'i') {
        char *end;
        uint64_t bits = strtoul(*at + 1, &end, 10);
        *at = end;
        return (bits + 7) / 8;
    }
    if (**at == '[' || **at == '<') {
        char *end;
        uint64_t count = strtoull(*at + 1, &end, 10);
        if (!begins(end, " x "))
            return 0;
        *at = end + 3;
        uint64_t each = type_bytes(at);
        *at += **at == ']' || **at == '>';
        return count * each;
    }
    return 0;
}

bool ir_is_store(const char *instruction)
{
    return begins(instruction + strspn(instruction, " "), "store ");
}

uint32_t ir_bytes_of(const char *instruction)
{
    const char *at = ir_is_store(instruction)          ? strstr(instruction, "store ") + 6
                     : strstr(instruction, " = load ") ? strstr(instruction, " = load ") + 8
                                                       : NULL;
    if (!at)
        return 0;
    if (begins(at, "volatile "))
        at += 9;
    return (uint32_t)type_bytes(&at);
}

static const char *root_global(const struct ir *ir, const struct function *function,
                               const char *value, int depth)
{
    if (value[0] == '@' || depth == DEPTH_MAX)
        return value[0] == '@' ? value : NULL;
    const char *as = ir_definition(ir, function, value, ir_value_bytes(value));
    const char *pointer = as && begins(as, "getelementptr") ? ir_pointer_operand(as) : NULL;
    return pointer ? root_global(ir, function, pointer, depth + 1) : NULL;
}

static const char *base_value(const struct ir *ir, const struct function *function,
                              const char *value, int depth)
{
    const char *as = *value == '%' && depth < DEPTH_MAX
                         ? ir_definition(ir, function, value, ir_value_bytes(value))
                         : NULL;
    const char *pointer = as && begins(as, "getelementptr") ? ir_pointer_operand(as) : NULL;
    return pointer ? base_value(ir, function, pointer, depth + 1) : value;
}

const char *ir_accessed_base(const struct ir *ir, const char *symbol, const char *instruction)
{
    const struct function *function = ir_find_function(ir, symbol);
    const char *pointer = ir_pointer_operand(instruction);
    return function && pointer ? base_value(ir, function, pointer, 0) : NULL;
}

bool ir_same_value(const char *a, const char *b)
{
    size_t bytes = ir_value_bytes(a);
    return ir_value_bytes(b) == bytes && strncmp(a, b, bytes) == 0;
}

uint64_t ir_accessed_bytes(const struct ir *ir, const char *symbol, const char *instruction)
{
    const struct function *function = ir_find_function(ir, symbol);
    const char *pointer = ir_pointer_operand(instruction);
    const char *global = function && pointer ? root_global(ir, function, pointer, 0) : NULL;
    const char *line = global ? global_line(ir, global, ir_value_bytes(global)) : NULL;
    if (!line)
        return 0;
    const char *type = strstr(line, " global ");
    type = type ? type + 8 : NULL;
    return type ? type_bytes(&type) : 0;
}

/* ---- constants in place of values ------------------------------------------------------------------------------------ */

/* Has a type at which the number can be a constant? */
static bool has_type(const char *type, const struct ir_number *value)
{
    return (*type == 'i' && value->whole) || begins(type, "double");
}

/* The number, as it is printed for a type. */
static void print_number(struct util_text *text, const char *type, const struct ir_number *value)
{
    uint64_t bits;
    memcpy(&bits, &value->real, sizeof bits);
    if (*type == 'i')
        util_text_print(text, "%lld", (long long)value->value);
    else
        util_text_print(text, "0x%016llX", (unsigned long long)bits);
}

/* Whether a line loads from the variable: its pointer has that name and is no element of an array. */
static bool loads_variable(const struct ir *ir, const struct function *function, const char *line,
                           const char *name, const struct ir_number *value)
{
    const char *load = strstr(line, " = load ");
    const char *pointer = load ? ir_pointer_operand(load) : NULL;
    if (!pointer || !has_type(load + 8, value))
        return false;
    size_t bytes = ir_value_bytes(pointer);
    const char *is = pointer[0] == '@' ? global_name(ir, pointer, bytes)
                                       : ir_debug_name(ir, function, pointer, bytes);
    return is && strcmp(is, name) == 0;
}

/* "%3 = load i32, ..." as "%3 = add i32 0, 1000". */
static void print_load(struct util_text *text, const char *line, const struct ir_number *value)
{
    const char *load = strstr(line, " = load "), *type = load + 8;
    util_text_print(text, "%.*s = %s %.*s ", (int)(load - line), line,
                    *type == 'i' ? "add" : "fsub", (int)strcspn(type, ","), type);
    print_number(text, type, value);
    util_text_print(text, *type == 'i' ? ", 0\n" : ", 0.0\n");
}

static void print_replaced(struct util_text *text, const char *line, const char *value,
                           const char *type, const struct ir_number *constant)
{
    size_t bytes = strlen(value);
    for (const char *at = line; *at;) {
        if (strncmp(at, value, bytes) == 0 && ir_value_bytes(at) == bytes) {
            print_number(text, type, constant);
            at += bytes;
        } else {
            util_text_add(text, at++, 1);
        }
    }
    util_text_add(text, "\n", 1);
}

/* The value that the variable has from the beginning: a parameter, or what a call or a conversion of one gave, if it is the only
   one. "": none. */
static void find_value(const struct ir *ir, const struct function *function, const char *name,
                       const struct ir_number *constant, char value[NAME_MAX_BYTES],
                       const char **type, uint32_t *defined)
{
    value[0] = 0;
    *type = "i";
    *defined = function->first;
    for (uint32_t i = function->first + 1; i < function->end; i++) {
        const char *record = strstr(ir->lines[i], "#dbg_value(");
        const char *at = record ? strchr(record, '%') : NULL;
        if (!at || at > strchr(record, ',') || !has_type(record + 11, constant))
            continue;
        size_t bytes = ir_value_bytes(at);
        const char *is = text_field(ir, metadata(ir, at + bytes + 2), "name");
        if (!is || strcmp(is, name) != 0 || bytes >= NAME_MAX_BYTES)
            continue;
        const char *as = ir_definition(ir, function, at, bytes);
        if (as && (begins(as, "phi ") || begins(as, "add ") || record[11] != 'i'))
            continue;
        *type = record + 11;
        snprintf(value, NAME_MAX_BYTES, "%.*s", (int)bytes, at);
        *defined = function->first;
        for (uint32_t j = function->first + 1; as && j < function->end; j++)
            if (as >= ir->lines[j] && as < ir->lines[j] + strlen(ir->lines[j]))
                *defined = j;
        return;
    }
}

static void bind_function(const struct ir *ir, const struct function *function, const char *name,
                          const struct ir_number *constant, struct util_text *text, size_t *count)
{
    char value[NAME_MAX_BYTES];
    const char *type;
    uint32_t defined;
    find_value(ir, function, name, constant, value, &type, &defined);
    *count += value[0] != 0;
    for (uint32_t i = function->first; i < function->end; i++) {
        const char *line = ir->lines[i];
        if (loads_variable(ir, function, line, name, constant)) {
            ++*count;
            print_load(text, line, constant);
        } else if (value[0] && i != function->first && i != defined && !strstr(line, "#dbg_")) {
            print_replaced(text, line, value, type, constant);
        } else {
            util_text_print(text, "%s\n", line);
        }
    }
}

bool ir_bind(const struct ir *ir, const char *symbol, const char *name,
             const struct ir_number *value, struct util_text *text, size_t *count)
{
    uint32_t line = 0;
    *count = 0;
    for (size_t i = 0; i < ir->functions_count; i++) {
        const struct function *function = &ir->functions[i];
        if (symbol && strcmp(symbol, function->symbol) != 0)
            continue;
        for (; line < function->first; line++)
            util_text_print(text, "%s\n", ir->lines[line]);
        bind_function(ir, function, name, value, text, count);
        line = function->end;
    }
    for (; line < ir->lines_count; line++)
        util_text_print(text, "%s\n", ir->lines[line]);
    return !text->failed;
}

/* ---- inlining ------------------------------------------------------------------------------------------- */

enum { ACCESSOR_LINES_MAX = 80 };

static bool is_accessor(const struct ir *ir, const struct function *function)
{
    const char *head = ir->lines[function->first];
    if (function->end - function->first > ACCESSOR_LINES_MAX ||
        (!begins(head, "define linkonce_odr ") && !begins(head, "define internal ")))
        return false;
    for (uint32_t i = function->first; i < function->end; i++)
        if (strstr(ir->lines[i], "!llvm.loop") || strstr(ir->lines[i], "indirectbr"))
            return false;
    return true;
}

/* " #3", the group of attributes; NULL: there is none. */
static const char *attributes_of(const char *head)
{
    const char *at = strchr(head, '@');
    while (at && (at = strstr(at, " #")) && !isdigit((unsigned char)at[2]))
        at += 2;
    return at;
}

bool ir_allow_inlining(const struct ir *ir, struct util_text *text, size_t *count)
{
    size_t next = 0;
    *count = 0;
    for (uint32_t line = 0; line < ir->lines_count; line++) {
        const char *head = ir->lines[line], *attributes = NULL;
        while (next < ir->functions_count && ir->functions[next].first < line)
            next++;
        if (next < ir->functions_count && ir->functions[next].first == line &&
            is_accessor(ir, &ir->functions[next]))
            attributes = attributes_of(head);
        if (attributes) {
            util_text_print(text, "%.*s%s\n", (int)(attributes - head), head,
                            attributes + 2 + strspn(attributes + 2, "0123456789"));
            ++*count;
        } else {
            util_text_print(text, "%s\n", head);
        }
    }
    return !text->failed;
}
