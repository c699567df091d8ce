// SPDX-License-Identifier: MIT
/*
 * Sections in which compilers and headroom note what they have prepared. All that an entry names is
 * looked at: what is not there is not used.
 */
#include "patch/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NOPS_MAX = 4096 };

static const uint8_t site_nop[PATCH_JUMP_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static int32_t word_at(const uint8_t *view, uint64_t offset)
{
    int32_t word;
    memcpy(&word, view + offset, sizeof word);
    return word;
}

/* What a word that holds the distance from itself points at. */
static uint64_t pointed(const struct code_section *section, uint64_t offset)
{
    return section->start + offset + (uint64_t)(int64_t)word_at(section->view, offset);
}

/* Code from an address to the end of its section; NULL. */
static const uint8_t *text_from(const struct patch_module *module, uint64_t vaddr,
                                size_t *available)
{
    const struct code_section *section = module_text(module, vaddr);
    if (!section)
        return NULL;
    *available = (size_t)(section->bytes - (vaddr - section->start));
    return section->view + (vaddr - section->start);
}

static bool is_site(const struct patch_module *module, uint64_t vaddr)
{
    size_t available;
    const uint8_t *text = text_from(module, vaddr, &available);
    return text && available >= sizeof site_nop && memcmp(text, site_nop, sizeof site_nop) == 0;
}

/* Where a function begins behind its endbr64. */
static uint64_t entry_of(const struct patch_module *module, const struct patch_function *function)
{
    size_t available;
    const uint8_t *text = text_from(module, function->vaddr, &available);
    return function->vaddr + (text && code_endbr(text, available) ? PATCH_ENDBR_BYTES : 0);
}

/* Bytes of nops from an address on. */
static uint64_t nops_at(const struct patch_module *module, uint64_t vaddr, unsigned *first)
{
    size_t available, at = 0;
    const uint8_t *text = text_from(module, vaddr, &available);
    *first = text ? code_nop(text, available) : 0;
    for (unsigned nop; text && at < available && at < NOPS_MAX; at += nop)
        if (!(nop = code_nop(text + at, available - at)))
            break;
    return at;
}

static void add_prepared(struct patch_module *module, size_t number, uint64_t site, uint8_t kind)
{
    unsigned first;
    struct patch_function *function = &module->functions[number];
    uint64_t bytes = nops_at(module, site, &first);
    uint64_t left = function->vaddr + function->bytes - site;
    if (bytes > left)
        bytes = left;
    if (function->prepared || bytes < PATCH_JUMP_BYTES)
        return;
    function->prepared = true;
    module->prepared[module->prepared_count++] = (struct patch_prepared){
        function->vaddr, site, (uint32_t)bytes, kind, first >= PATCH_JUMP_BYTES};
}

/* Nothing but nops from the entry on: what aligns a site, and what else the compiler was to leave
 * room for. */
static bool is_first(const struct patch_module *module, const struct patch_function *function,
                     uint64_t site)
{
    unsigned first;
    uint64_t entry = entry_of(module, function);
    return site >= entry && site - entry <= nops_at(module, entry, &first);
}

static void load_ours(struct patch_module *module, const struct code_section *section)
{
    for (uint64_t at = 0; at + 8 <= section->bytes; at += 8) {
        uint64_t site = pointed(section, at), vaddr = pointed(section, at + 4);
        size_t number = module_function_from(module, vaddr);
        if (number == module->functions_count || module->functions[number].vaddr != vaddr ||
            !is_first(module, &module->functions[number], site) || !is_site(module, site))
            continue;
        add_prepared(module, number, site, PATCH_BY_HEADROOM);
    }
}

/*
 * -fpatchable-function-entry=N,M: the address is that of the first of N nops, M of which lie
 * before the function.
 */
static void add_compilers(struct patch_module *module, uint64_t address)
{
    unsigned first;
    size_t number = module_function_from(module, address);
    size_t before = number ? number - 1 : PATCH_NONE;
    if (number < module->functions_count &&
        module->functions[number].vaddr - address <= nops_at(module, address, &first)) {
        add_prepared(module, number, entry_of(module, &module->functions[number]),
                     PATCH_BY_COMPILER);
    } else if (before != PATCH_NONE && entry_of(module, &module->functions[before]) == address) {
        add_prepared(module, before, address, PATCH_BY_COMPILER);
    }
}

/* Addresses, which the loader fills in if the module can be anywhere. */
static void load_compilers(struct patch_module *module, const struct code_section *section)
{
    size_t count;
    const struct code_pointer *pointers = code_pointers(module->code, &count);
    size_t next = BASE_FIRST(i, count, pointers[i].at >= section->start);
    for (uint64_t at = 0; at + 8 <= section->bytes; at += 8) {
        uint64_t address;
        memcpy(&address, section->view + at, sizeof address);
        while (next < count && pointers[next].at < section->start + at)
            next++;
        if (next < count && pointers[next].at == section->start + at && !pointers[next].name)
            address = pointers[next].value;
        add_compilers(module, address);
    }
}

static void load_markers(struct patch_module *module, const struct code_section *section)
{
    for (uint64_t at = 0; at + 16 <= section->bytes; at += 16) {
        size_t available;
        struct patch_marker marker = {.site = pointed(section, at),
                                      .kind = (uint32_t)word_at(section->view, at + 8)};
        const uint8_t *name = code_view(module->code, pointed(section, at + 4), &available);
        if (!name || !memchr(name, 0, available) || !is_site(module, marker.site) ||
            (marker.kind != PATCH_MARKER_BEGIN && marker.kind != PATCH_MARKER_END))
            continue;
        marker.name = (const char *)name;
        module->markers[module->markers_count++] = marker;
    }
}

static int compare_prepared(const void *left, const void *right)
{
    const struct patch_prepared *a = left, *b = right;
    return (a->function > b->function) - (a->function < b->function);
}

static int compare_markers(const void *left, const void *right)
{
    const struct patch_marker *a = left, *b = right;
    return (a->site > b->site) - (a->site < b->site);
}

enum base_status prepared_load(struct patch_module *module)
{
    const struct code_section *ours = module_section(module, "headroom_functions");
    const struct code_section *compilers = module_section(module, "__patchable_function_entries");
    const struct code_section *markers = module_section(module, "headroom_markers");
    size_t entries = 1;
    entries += ours && ours->view ? ours->bytes / 8 : 0;
    entries += compilers && compilers->view ? compilers->bytes / 8 : 0;
    module->prepared = calloc(entries, sizeof *module->prepared);
    module->markers =
        calloc(markers && markers->view ? markers->bytes / 16 + 1 : 1, sizeof *module->markers);
    if (!module->prepared || !module->markers)
        return BASE_NO_MEMORY;
    if (ours && ours->view)
        load_ours(module, ours);
    if (compilers && compilers->view)
        load_compilers(module, compilers);
    if (markers && markers->view)
        load_markers(module, markers);
    qsort(module->prepared, module->prepared_count, sizeof *module->prepared, compare_prepared);
    qsort(module->markers, module->markers_count, sizeof *module->markers, compare_markers);
    return BASE_OK;
}

size_t patch_prepared(const struct patch_module *module)
{
    return module->prepared_count;
}

const struct patch_prepared *patch_prepared_entry(const struct patch_module *module, size_t number)
{
    assert(number < module->prepared_count);
    return &module->prepared[number];
}

size_t patch_markers(const struct patch_module *module)
{
    return module->markers_count;
}

const struct patch_marker *patch_marker(const struct patch_module *module, size_t number)
{
    assert(number < module->markers_count);
    return &module->markers[number];
}
