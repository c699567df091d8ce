// SPDX-License-Identifier: MIT
/*
 * Of what share of the CPU time a recording of instrumented programs speaks: samples of the clock,
 * by what is known of the code that they found.
 */
#include "binary/code.h"
#include "import/instrumented.h"
#include "import/internal.h"

#include <stdlib.h>
#include <string.h>

static int compare_ticks(const void *left, const void *right)
{
    const struct import_clock_tick *a = *(const struct import_clock_tick *const *)left;
    const struct import_clock_tick *b = *(const struct import_clock_tick *const *)right;
    if (!a->path || !b->path)
        return (a->path != NULL) - (b->path != NULL);
    int order = strcmp(a->path, b->path);
    return order ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

/* Id of the module, entered if it is new: 0 for no file. */
static bool module_of(struct profile *profile, const char *path, uint32_t *id)
{
    for (*id = 0; *id < profile->modules_count; ++*id)
        if (*id && path && strcmp(profile->modules[*id].path, path) == 0)
            return true;
    *id = 0;
    if (!path)
        return true;
    struct profile_module *module = profile_add_modules(profile);
    if (!module)
        return false;
    module->path = profile_keep(profile, path);
    module->detail = PROFILE_DETAIL_NONE;
    *id = (uint32_t)profile->modules_count - 1;
    return module->path != NULL;
}

/* Functions of a module that count: their entries, ascending. */
struct counted {
    uint32_t module;
    uint64_t *entries;
    size_t count;
};

static int compare_entries(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* False: no memory. */
static bool find_counted(const struct profile *profile, struct counted *counted)
{
    counted->entries = calloc(profile->path_functions_count + 1, sizeof *counted->entries);
    if (!counted->entries)
        return false;
    for (uint32_t i = 1; i < profile->path_functions_count; i++) {
        const struct profile_path_function *function = &profile->path_functions[i];
        if (function->module == counted->module && function->reason <= PROFILE_PATH_TRUNCATED)
            counted->entries[counted->count++] = function->address;
    }
    qsort(counted->entries, counted->count, sizeof *counted->entries, compare_entries);
    return true;
}

static bool counts_at(const struct counted *counted, uint64_t entry)
{
    size_t at = BASE_FIRST(i, counted->count, counted->entries[i] >= entry);
    return at < counted->count && counted->entries[at] == entry;
}

/* A part that the compiler has split off bears the function's name and a suffix. */
static bool counts_by_name(const struct counted *counted, struct binary *binary, const char *name)
{
    const char *suffix = strstr(name, ".cold");
    for (size_t i = 0; suffix && i < counted->count; i++) {
        const char *symbol = binary_symbol(binary, counted->entries[i]);
        if (symbol && strlen(symbol) == (size_t)(suffix - name) &&
            strncmp(symbol, name, (size_t)(suffix - name)) == 0)
            return true;
    }
    return false;
}

static enum profile_cpu_kind kind_at(const struct counted *counted, struct binary *binary,
                                     uint64_t vaddr)
{
    uint64_t start, end;
    if (binary_function(binary, vaddr, &start, &end) == BASE_OK) {
        const char *name = binary_symbol(binary, start);
        /* What counts is a part of the program too: the runtime's functions. */
        if (counts_at(counted, start) || (name && strncmp(name, "headroom_", 9) == 0) ||
            (name && counts_by_name(counted, binary, name)))
            return PROFILE_CPU_COUNTED;
    }
    return import_kind_of_code(binary, vaddr);
}

/* The ticks of one file. */
static bool add_file(struct instrumented_import *import,
                     const struct import_clock_tick *const *ticks, size_t count)
{
    struct profile *profile = import->profile;
    struct profile_cpu_time sums[PROFILE_CPU_KINDS] = {{0}};
    struct counted counted = {.module = 0};
    struct binary *binary = NULL;
    struct code *code = NULL;
    const char *path = ticks[0]->path;
    if (!module_of(profile, path, &counted.module) || !find_counted(profile, &counted))
        return false;
    bool readable = path && code_open(path, &code) == BASE_OK &&
                    binary_open(path, import->symbols, &binary) == BASE_OK;
    for (size_t i = 0; i < count; i++) {
        uint64_t vaddr;
        enum profile_cpu_kind kind = path ? PROFILE_CPU_ADDRESSES : PROFILE_CPU_NAMELESS;
        if (readable && code_vaddr(code, ticks[i]->offset, &vaddr))
            kind = kind_at(&counted, binary, vaddr);
        sums[kind].ticks += ticks[i]->ticks;
        sums[kind].ns += ticks[i]->ns;
    }
    free(counted.entries);
    binary_close(binary);
    code_close(code);
    for (uint32_t kind = 0; kind < PROFILE_CPU_KINDS; kind++) {
        struct profile_cpu_time *row = sums[kind].ticks ? profile_add_cpu_times(profile) : NULL;
        if (sums[kind].ticks && !row)
            return false;
        if (row)
            *row = (struct profile_cpu_time){counted.module, kind, sums[kind].ticks, sums[kind].ns};
    }
    return true;
}

bool instrumented_clock(struct instrumented_import *import, const struct import_run *run)
{
    const struct import_clock_tick **ticks = calloc(run->clock_count + 1, sizeof *ticks);
    bool good = ticks != NULL;
    for (size_t i = 0; good && i < run->clock_count; i++)
        ticks[i] = &run->clock[i];
    if (good)
        qsort(ticks, run->clock_count, sizeof *ticks, compare_ticks);
    for (size_t from = 0, to; good && from < run->clock_count; from = to) {
        const char *path = ticks[from]->path;
        for (to = from + 1; to < run->clock_count; to++)
            if (!path != !ticks[to]->path || (path && strcmp(path, ticks[to]->path) != 0))
                break;
        good = add_file(import, ticks + from, to - from);
    }
    free(ticks);
    return good;
}
