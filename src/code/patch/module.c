// SPDX-License-Identifier: MIT
/*
 * The functions of a module: by symbols, and where there are none by call frame information.
 */
#include "patch/internal.h"

#include "binary/binary.h"
#include "cfg/cfg.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* ---- sections ------------------------------------------------------------------------------ */

const struct code_section *module_section(const struct patch_module *module, const char *name)
{
    size_t count;
    const struct code_section *sections = code_sections(module->code, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(sections[i].name, name) == 0)
            return &sections[i];
    return NULL;
}

const struct code_section *module_text(const struct patch_module *module, uint64_t vaddr)
{
    size_t count;
    const struct code_section *sections = code_sections(module->code, &count);
    for (size_t i = 0; i < count; i++)
        if (sections[i].executable && sections[i].view && vaddr >= sections[i].start &&
            vaddr - sections[i].start < sections[i].bytes)
            return &sections[i];
    return NULL;
}

bool patch_module_section(const struct patch_module *module, const char *name, uint64_t *vaddr,
                          uint64_t *bytes)
{
    const struct code_section *section = module_section(module, name);
    if (!section)
        return false;
    *vaddr = section->start;
    *bytes = section->bytes;
    return true;
}

bool patch_module_vaddr(const struct patch_module *module, uint64_t offset, uint64_t *vaddr)
{
    return code_vaddr(module->code, offset, vaddr);
}

bool patch_module_calls_profile(const struct patch_module *module)
{
    size_t count;
    const struct code_pointer *pointers = code_pointers(module->code, &count);
    for (size_t i = 0; i < count; i++)
        if (pointers[i].name && strcmp(pointers[i].name, "__cyg_profile_func_enter") == 0)
            return true;
    return false;
}

/* ---- listing ------------------------------------------------------------------------------- */

size_t module_name_bytes(const char *linkage)
{
    return strcspn(linkage, "@");
}

/* gcc's f.cold, f.cold.1: reached by jumps from f; clang calls them, but nobody asks for them. */
bool module_is_cold(const char *name)
{
    const char *cold = strstr(name, ".cold");
    return cold && (cold[5] == 0 || cold[5] == '.');
}

bool module_is_part(const struct patch_function *function)
{
    return function->entered_otherwise || module_is_cold(function->name);
}

/* Stubs of procedure linkage tables are no functions. */
static bool in_stubs(const struct patch_module *module, uint64_t vaddr)
{
    const struct code_section *section = module_text(module, vaddr);
    return !section || strncmp(section->name, ".plt", 4) == 0 ||
           strcmp(section->name, ".iplt") == 0;
}

static bool add_function(struct patch_module *module, const struct patch_function *function)
{
    if (!UTIL_GROW(module->functions, module->functions_capacity, module->functions_count))
        return false;
    module->functions[module->functions_count++] = *function;
    return true;
}

/* The entry of call frame information that begins there; NULL. */
static const struct code_frame *frame_at(const struct patch_module *module, uint64_t vaddr)
{
    size_t count;
    const struct code_frame *frames = code_frames(module->code, &count);
    size_t found = BASE_FIRST(i, count, frames[i].start >= vaddr);
    return found < count && frames[found].start == vaddr ? &frames[found] : NULL;
}

/* Where a function without a size ends: by its frame, else where the next symbol begins. */
static uint64_t end_of(const struct patch_module *module, const struct code_symbol *symbol,
                       uint64_t next)
{
    const struct code_frame *frame = frame_at(module, symbol->start);
    uint64_t end = symbol->end;
    if (end == symbol->start)
        end = frame ? frame->end : next;
    return end < symbol->section_end ? end : symbol->section_end;
}

static uint8_t kind_of(const struct code_symbol *symbols, size_t count)
{
    uint8_t kind = PATCH_LABEL;
    for (size_t i = 0; i < count; i++) {
        if (symbols[i].type == CODE_RESOLVER)
            return PATCH_RESOLVER;
        if (symbols[i].type == CODE_FUNCTION)
            kind = PATCH_FUNCTION;
    }
    return kind;
}

static bool add_symbols(struct patch_module *module)
{
    size_t count, group;
    uint64_t sized_end = 0;
    const struct code_symbol *symbols = code_symbols(module->code, &count);
    for (size_t i = 0; i < count; i += group) {
        for (group = 1; i + group < count && symbols[i + group].start == symbols[i].start;)
            group++;
        uint64_t next = i + group < count ? symbols[i + group].start : UINT64_MAX;
        uint64_t end = end_of(module, &symbols[i], next);
        uint8_t kind = kind_of(&symbols[i], group);
        /* Labels within a function name no function. */
        if (end <= symbols[i].start || in_stubs(module, symbols[i].start) ||
            (kind == PATCH_LABEL && symbols[i].start < sized_end))
            continue;
        if (kind != PATCH_LABEL && end > sized_end)
            sized_end = end;
        struct patch_function function = {.vaddr = symbols[i].start,
                                          .bytes = end - symbols[i].start,
                                          .name = symbols[i].name,
                                          .kind = kind};
        if (!add_function(module, &function))
            return false;
    }
    return true;
}

static int compare_functions(const void *left, const void *right)
{
    const struct patch_function *a = left, *b = right;
    return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static bool add_unnamed(struct patch_module *module)
{
    size_t count, known = 0, named = module->functions_count;
    uint64_t reach = 0;
    const struct code_frame *frames = code_frames(module->code, &count);
    for (size_t i = 0; i < count; i++) {
        const struct code_frame *frame = &frames[i];
        for (; known < named && module->functions[known].vaddr <= frame->start; known++)
            if (module->functions[known].vaddr + module->functions[known].bytes > reach)
                reach = module->functions[known].vaddr + module->functions[known].bytes;
        if (frame->start < reach || in_stubs(module, frame->start))
            continue;
        struct patch_function function = {.vaddr = frame->start,
                                          .bytes = frame->end - frame->start,
                                          .name = "",
                                          .kind = PATCH_UNNAMED};
        if (!add_function(module, &function))
            return false;
        reach = frame->end;
    }
    if (module->functions_count)
        qsort(module->functions, module->functions_count, sizeof *module->functions,
              compare_functions);
    return true;
}

/* Symbols with versions get a copy of their name without. False: no memory. */
static bool name_function(struct patch_module *module, size_t number)
{
    struct patch_function *function = &module->functions[number];
    struct names *names = &module->names[number];
    size_t count;
    const struct code_symbol *symbols = code_symbols(module->code, &count);
    const struct code_frame *frame = frame_at(module, function->vaddr);
    function->called = frame && frame->entry == CODE_ENTRY_CALL;
    function->entered_otherwise = frame && frame->entry == CODE_ENTRY_OTHER;
    if (function->kind == PATCH_UNNAMED)
        return true;
    names->first = BASE_FIRST(i, count, symbols[i].start >= function->vaddr);
    while (names->first + names->count < count &&
           symbols[names->first + names->count].start == function->vaddr)
        names->count++;
    for (size_t i = 1; i < names->count; i++) { /* the dynamic table repeats names */
        const char *name = symbols[names->first + i].name;
        const char *before = symbols[names->first + i - 1].name;
        function->aliases += strcmp(name, before) != 0;
    }
    if (!function->name[module_name_bytes(function->name)])
        return true;
    names->plain = strndup(function->name, module_name_bytes(function->name));
    function->name = names->plain;
    return names->plain;
}

static enum base_status list(struct patch_module *module)
{
    if (!add_symbols(module) || !add_unnamed(module))
        return BASE_NO_MEMORY;
    module->names = calloc(module->functions_count + 1, sizeof *module->names);
    if (!module->names)
        return BASE_NO_MEMORY;
    for (size_t i = 0; i < module->functions_count; i++)
        if (!name_function(module, i))
            return BASE_NO_MEMORY;
    return BASE_OK;
}

/*
 * Run-times that walk stacks by return addresses, each of which they must know: Go's; and engines that compile code of their own and
 * call functions of theirs from it, for which a slot's address in one's place is a fatal error (V8: "maybe_code.has_value()").
 */
static const char *foreign_of(const struct patch_module *module)
{
    static const char *const engines[] = {
        "_ZN2v82V810GetVersionEv", /* V8 */
        "JNI_CreateJavaVM",        /* HotSpot, OpenJ9 */
        "coreclr_initialize",      /* .NET */
        "mono_jit_init",           /* Mono */
    };
    if (module_section(module, ".gopclntab"))
        return "Go's run-time walks the stacks of its functions by itself";
    for (size_t i = 0; i < BASE_COUNT(engines); i++)
        if (patch_function_named(module, engines[i]) != PATCH_NONE)
            return "it has an engine that must know each return address on a stack";
    return NULL;
}

enum base_status patch_module_open(const char *path, struct patch_module **module)
{
    struct patch_module *opened = calloc(1, sizeof *opened);
    if (!opened)
        return BASE_NO_MEMORY;
    enum base_status status = cfg_start();
    if (status == BASE_OK)
        status = code_open(path, &opened->code);
    if (status == BASE_OK)
        status = list(opened);
    if (status == BASE_OK)
        status = prepared_load(opened);
    if (status != BASE_OK) {
        patch_module_close(opened);
        return status;
    }
    opened->foreign = foreign_of(opened);
    *module = opened;
    return BASE_OK;
}

void patch_module_close(struct patch_module *module)
{
    if (!module)
        return;
    for (size_t i = 0; module->names && i < module->functions_count; i++) {
        free(module->names[i].plain);
        free(module->names[i].readable);
    }
    targets_free(&module->targets);
    free(module->names);
    free(module->functions);
    free(module->prepared);
    free(module->markers);
    code_close(module->code);
    free(module);
}

/* ---- looking up ---------------------------------------------------------------------------- */

const char *patch_foreign(const struct patch_module *module)
{
    return module->foreign;
}

size_t patch_functions(const struct patch_module *module)
{
    return module->functions_count;
}

const struct patch_function *patch_function(const struct patch_module *module, size_t number)
{
    assert(number < module->functions_count);
    return &module->functions[number];
}

size_t module_function_from(const struct patch_module *module, uint64_t vaddr)
{
    return BASE_FIRST(i, module->functions_count, module->functions[i].vaddr >= vaddr);
}

/* Functions within functions are few: it is not looked back further than this. */
enum { NESTED_MAX = 16 };

size_t patch_function_at(const struct patch_module *module, uint64_t vaddr)
{
    size_t behind = module_function_from(module, vaddr);
    if (behind < module->functions_count && module->functions[behind].vaddr == vaddr)
        return behind;
    for (size_t back = 1; back <= NESTED_MAX && back <= behind; back++) {
        const struct patch_function *function = &module->functions[behind - back];
        if (vaddr - function->vaddr < function->bytes)
            return behind - back;
    }
    return PATCH_NONE;
}

size_t patch_function_named(const struct patch_module *module, const char *linkage)
{
    size_t count, bytes = module_name_bytes(linkage);
    const struct code_symbol *symbols = code_symbols(module->code, &count);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(symbols[i].name, linkage, bytes) != 0 ||
            module_name_bytes(symbols[i].name) != bytes)
            continue;
        size_t number = module_function_from(module, symbols[i].start);
        if (number < module->functions_count && module->functions[number].vaddr == symbols[i].start)
            return number;
    }
    return PATCH_NONE;
}

const char *patch_readable(struct patch_module *module, size_t number)
{
    assert(number < module->functions_count);
    struct names *names = &module->names[number];
    if (!names->asked)
        names->readable = binary_demangle(module->functions[number].name, false);
    names->asked = true;
    return names->readable ? names->readable : module->functions[number].name;
}

static bool fits_demangled(const char *pattern, const char *linkage, bool parameters)
{
    char *readable = binary_demangle(linkage, parameters);
    bool fits = readable && fnmatch(pattern, readable, 0) == 0;
    free(readable);
    return fits;
}

static bool fits(const char *pattern, const char *linkage)
{
    char plain[1024];
    size_t bytes = module_name_bytes(linkage);
    if (linkage[bytes] && bytes < sizeof plain) {
        memcpy(plain, linkage, bytes);
        plain[bytes] = 0;
        linkage = plain;
    }
    bool mangled = linkage[0] == '_' && (linkage[1] == 'Z' || linkage[1] == 'R');
    return fnmatch(pattern, linkage, 0) == 0 ||
           (mangled && (fits_demangled(pattern, linkage, false) ||
                        (strpbrk(pattern, "(*?[") && fits_demangled(pattern, linkage, true))));
}

size_t patch_next_match(const struct patch_module *module, const char *pattern, size_t from)
{
    size_t count;
    const struct code_symbol *symbols = code_symbols(module->code, &count);
    for (size_t number = from; number < module->functions_count; number++) {
        const struct names *names = &module->names[number];
        for (size_t i = 0; i < names->count; i++)
            if (fits(pattern, symbols[names->first + i].name))
                return number;
    }
    return PATCH_NONE;
}

const uint8_t *patch_text(const struct patch_module *module, size_t number, size_t *bytes)
{
    const struct patch_function *function = patch_function(module, number);
    const struct code_section *section = module_text(module, function->vaddr);
    uint64_t available = section ? section->bytes - (function->vaddr - section->start) : 0;
    *bytes = (size_t)(available < function->bytes ? available : function->bytes);
    return section ? section->view + (function->vaddr - section->start) : NULL;
}
