// SPDX-License-Identifier: MIT
/*
 * Where functions, blocks and call sites come from in the source. A block's lines are those of all
 * rows of the line table up to the next block of the function: instructions were counted when the
 * program was built, and how long they became is not known here.
 */
#include "import/paths_internal.h"

#include <stdlib.h>
#include <string.h>

enum { INLINED_MAX = 64, ROWS_MAX = 256, LONGEST_BLOCK_BYTES = 1 << 16 };

struct namer {
    struct import_paths *paths;
    struct profile *profile;
    const struct binary_options *symbols;
    struct binary **binaries; /* by module; NULL: could not be read */
    bool *tried;
    uint64_t *starts; /* of the current function's blocks, ascending */
    size_t starts_count, starts_capacity;
    size_t next_block; /* first row of profile->path_blocks not yet named */
};

static struct binary *binary_of(struct namer *namer, uint32_t id)
{
    struct profile_module *module = &namer->profile->modules[id];
    if (!namer->tried[id] && module->path[0] &&
        binary_open(module->path, namer->symbols, &namer->binaries[id]) == BASE_OK) {
        module->detail = (uint32_t)binary_detail(namer->binaries[id]);
        module->build_id_bytes = (uint32_t)binary_build_id(namer->binaries[id], module->build_id);
    }
    namer->tried[id] = true;
    return namer->binaries[id];
}

static bool name_function(struct namer *namer, struct binary *binary, uint32_t id)
{
    struct profile_path_function *function = &namer->profile->path_functions[id];
    struct binary_frame frames[INLINED_MAX];
    size_t count = binary ? binary_frames(binary, function->address, frames, INLINED_MAX) : 0;
    bool good = true;
    if (count == 0)
        return true;
    function->function = import_keep(namer->profile, frames[count - 1].function, &good);
    function->file = import_keep(namer->profile, frames[count - 1].file, &good);
    function->line = frames[count - 1].line;
    return good;
}

/* ---- blocks ------------------------------------------------------------------------------- */

static int compare_addresses(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool sort_starts(struct namer *namer, const struct import_paths_function *function)
{
    namer->starts_count = function->blocks_count;
    if (!UTIL_GROW_ZEROED(namer->starts, namer->starts_capacity, namer->starts_count))
        return false;
    for (uint32_t i = 0; i < function->blocks_count; i++)
        namer->starts[i] = function->blocks[i].address;
    qsort(namer->starts, namer->starts_count, sizeof *namer->starts, compare_addresses);
    return true;
}

/* What a compiler split off stands elsewhere: behind its last block other functions follow. */
static uint64_t end_of_block(const struct namer *namer, struct binary *binary, uint64_t address)
{
    uint64_t start, end;
    size_t next = BASE_FIRST(i, namer->starts_count, namer->starts[i] > address);
    uint64_t limit = next < namer->starts_count ? namer->starts[next] : UINT64_MAX;
    if (binary_function(binary, address, &start, &end) != BASE_OK)
        end = address + 1;
    limit = end < limit ? end : limit;
    return limit - address > LONGEST_BLOCK_BYTES ? address + LONGEST_BLOCK_BYTES : limit;
}

static bool same_line(const struct profile_path_line *a, const struct profile_path_line *b)
{
    return a->line == b->line && a->file == b->file && a->function == b->function;
}

/* The line at an address, unless it is the one before. */
static bool add_line(struct namer *namer, struct binary *binary, struct profile_path_block *block,
                     uint64_t address)
{
    struct profile *profile = namer->profile;
    struct binary_frame frames[INLINED_MAX];
    size_t count = binary_frames(binary, address, frames, INLINED_MAX);
    bool good = true;
    if (count == 0 || frames[0].line == 0)
        return true;
    struct profile_path_line line = {
        .file = import_keep(profile, frames[0].file, &good),
        .function = import_keep(profile, frames[0].inlined ? frames[0].function : NULL, &good),
        .line = frames[0].line};
    if (!good ||
        (block->lines && same_line(&profile->path_lines[profile->path_lines_count - 1], &line)))
        return good;
    struct profile_path_line *added = profile_add_path_lines(profile);
    if (added)
        *added = line;
    block->lines++;
    return added != NULL;
}

static bool name_block(struct namer *namer, struct binary *binary, struct profile_path_block *block)
{
    uint64_t rows[ROWS_MAX];
    block->first_line = (uint32_t)namer->profile->path_lines_count;
    if (!binary)
        return true;
    uint64_t end = end_of_block(namer, binary, block->address);
    size_t count = binary_rows(binary, block->address + 1, end, rows, ROWS_MAX);
    if (!add_line(namer, binary, block, block->address))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!add_line(namer, binary, block, rows[i]))
            return false;
    return true;
}

static bool name_blocks(struct namer *namer, struct binary *binary, uint32_t function)
{
    struct profile *profile = namer->profile;
    bool good = sort_starts(namer, &namer->paths->functions[function]);
    for (; good && namer->next_block < profile->path_blocks_count &&
           profile->path_blocks[namer->next_block].function == function;
         namer->next_block++)
        good = name_block(namer, binary, &profile->path_blocks[namer->next_block]);
    return good;
}

/* ---- call sites ------------------------------------------------------------------------------ */

/* In the caller's own source, not in what was inlined into it. */
static void name_site(struct namer *namer, struct profile_vertex *vertex)
{
    struct binary_frame frames[INLINED_MAX];
    const struct profile_vertex *parent = &namer->profile->vertices[vertex->parent];
    const struct import_paths_function *caller = &namer->paths->functions[parent->function];
    if (parent->function == 0 || vertex->site >= caller->sites_count)
        return;
    uint64_t address = caller->sites[vertex->site].address;
    struct binary *binary = binary_of(namer, caller->module);
    size_t count = binary && address ? binary_frames(binary, address - 1, frames, INLINED_MAX) : 0;
    if (count)
        vertex->site_line = frames[count - 1].line;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool tell_details(const struct namer *namer)
{
    for (size_t i = 1; i < namer->profile->modules_count; i++) {
        const struct profile_module *module = &namer->profile->modules[i];
        const char *slash = strrchr(module->path, '/');
        const char *base = slash && slash[1] ? slash + 1 : module->path;
        bool lines = module->detail == PROFILE_DETAIL_LINES;
        if (namer->tried[i] && !lines &&
            !import_degraded(namer->profile,
                             module->detail == PROFILE_DETAIL_NONE
                                 ? "%.80s could not be read or carries no symbols: shown by address"
                                 : "no line information for %.80s: functions are named, lines are "
                                   "not (compile with -g)",
                             base))
            return false;
    }
    return true;
}

static bool name_all(struct namer *namer, struct import_teller *teller)
{
    struct profile *profile = namer->profile;
    bool good = namer->binaries && namer->tried;
    for (uint32_t i = 1; i < profile->path_functions_count && good; i++) {
        struct binary *binary = binary_of(namer, profile->path_functions[i].module);
        good = name_function(namer, binary, i) && name_blocks(namer, binary, i);
        import_tell(teller, "naming blocks", i, profile->path_functions_count);
    }
    for (size_t i = 1; i < profile->vertices_count && good; i++)
        name_site(namer, &profile->vertices[i]);
    return good && tell_details(namer);
}

bool import_paths_name(struct import_paths *paths, const struct binary_options *symbols,
                       struct import_teller *teller)
{
    size_t modules = paths->profile->modules_count;
    struct namer namer = {.paths = paths,
                          .profile = paths->profile,
                          .symbols = symbols,
                          .binaries = calloc(modules, sizeof *namer.binaries),
                          .tried = calloc(modules, sizeof *namer.tried)};
    bool good = name_all(&namer, teller);
    for (size_t i = 0; i < modules && namer.binaries; i++)
        binary_close(namer.binaries[i]);
    free(namer.binaries);
    free(namer.tried);
    free(namer.starts);
    return good;
}
