// SPDX-License-Identifier: MIT
/*
 * Loops at a source line, of any depth, by their heads; and how often they were entered and iterated, by the paths that the exact engine
 * counted.
 */
#include "assess/internal.h"

#include "binary/lines.h"

#include "cfg/cfg.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1 << 16, FRAMES_MAX = 32, BLOCK_ROWS = 64 };

struct looking {
    struct binary *binary;
    const struct assess_target *target;
    uint64_t *rows; /* ROWS_MAX */
    struct assess_heads *heads;
};

/* ---- at a line -------------------------------------------------------------------------------- */

static bool is_of_line(const struct looking *looking, uint64_t address)
{
    struct binary_frame frames[FRAMES_MAX];
    size_t count = binary_frames(looking->binary, address, frames, FRAMES_MAX);
    return count && frames[0].file && frames[0].line == looking->target->line &&
           binary_path_ends(frames[0].file, looking->target->file);
}

static bool read_data(void *context, uint64_t address, void *out, size_t bytes)
{
    return binary_read_loaded(context, address, out, bytes) == BASE_OK;
}

static enum base_status make_flow(const struct looking *looking, uint64_t start, uint64_t end,
                                  struct cfg **flow)
{
    uint8_t *bytes = malloc((size_t)(end - start) + 1);
    enum base_status status =
        bytes ? binary_read(looking->binary, start, bytes, (size_t)(end - start)) : BASE_NO_MEMORY;
    const struct cfg_code code = {.bytes = bytes,
                                  .count = (size_t)(end - start),
                                  .start = start,
                                  .data = {.context = looking->binary, .read = read_data}};
    if (status == BASE_OK)
        status = cfg_of_code(&code, flow);
    free(bytes);
    return status;
}

/* Is it all of the line? Then it tests whether there is another iteration; else it is the first part of one, and may be left in it. */
static bool is_all_of_line(const struct looking *looking, const struct cfg_block *block)
{
    uint64_t rows[BLOCK_ROWS];
    size_t count = binary_rows(looking->binary, block->start, block->end, rows, BLOCK_ROWS);
    for (size_t i = 0; i < count; i++)
        if (!is_of_line(looking, rows[i]))
            return false;
    return is_of_line(looking, block->start) && count < BLOCK_ROWS;
}

static bool add_head(const struct looking *looking, uint64_t function, uint64_t end,
                     const struct cfg *flow, uint32_t loop)
{
    struct assess_heads *heads = looking->heads;
    const struct cfg_block *head = &flow->blocks[flow->loops[loop].head];
    struct assess_head made = {.function = function, .end = end, .head = head->start};
    for (size_t i = 0; i < heads->count; i++)
        if (heads->items[i].head == head->start)
            return true;
    /* Where the loop may end at its head, what follows is what an iteration executes. */
    bool leaves = false;
    for (uint32_t i = 0; i < head->edges; i++) {
        uint32_t to = flow->edges[head->first_edge + i].to;
        if (!cfg_loop_holds(flow, loop, to))
            leaves = true;
        else if (to != flow->loops[loop].head && flow->blocks[to].into == 1)
            made.body = flow->blocks[to].start;
    }
    if (!leaves || !is_all_of_line(looking, head))
        made.body = 0;
    return UTIL_PUSH(heads->items, heads->count, heads->capacity, made);
}

/* Visits a loop around each of the line's rows, and around each block that begins within one, as in inline assembly: adds those of the depth; depth
   0: returns the greatest. */
static uint32_t visit_loops(const struct looking *looking, uint64_t start, uint64_t end,
                            const struct cfg *flow, size_t count, uint32_t depth,
                            enum base_status *status)
{
    uint32_t deepest = 0, loop, block;
    for (size_t i = 0; i < count && *status == BASE_OK; i++) {
        uint64_t until = i + 1 < count ? looking->rows[i + 1] : end;
        for (uint64_t at = looking->rows[i];
             is_of_line(looking, looking->rows[i]) && at < until && *status == BASE_OK;
             at = block == CFG_NONE ? until : flow->blocks[block].end) {
            block = cfg_block_at(flow, at);
            loop = cfg_loop_at(flow, at);
            deepest = flow->loops[loop].depth > deepest && loop ? flow->loops[loop].depth : deepest;
            if (loop && flow->loops[loop].depth == depth &&
                !add_head(looking, start, end, flow, loop))
                *status = BASE_NO_MEMORY;
        }
    }
    return deepest;
}

/* The deepest loops that have instructions of the line: what stands before a loop, on its line, is of the one around it. */
static enum base_status look_at(const struct looking *looking, uint64_t start, uint64_t end)
{
    struct cfg *flow = NULL;
    size_t count = binary_rows(looking->binary, start, end, looking->rows, ROWS_MAX), kept = 0;
    for (size_t i = 0; i < count; i++)
        kept += is_of_line(looking, looking->rows[i]);
    if (!kept)
        return BASE_OK;
    enum base_status status = make_flow(looking, start, end, &flow);
    if (status != BASE_OK)
        return status == BASE_NO_MEMORY ? status : BASE_OK;
    uint32_t depth = visit_loops(looking, start, end, flow, count, 0, &status);
    if (depth)
        visit_loops(looking, start, end, flow, count, depth, &status);
    cfg_free(flow);
    return status;
}

enum base_status assess_heads_at(struct binary *binary, const struct assess_target *target,
                                 struct assess_heads *heads)
{
    struct looking looking = {binary, target, calloc(ROWS_MAX, sizeof *looking.rows), heads};
    uint64_t start = 0, end = 0;
    const char *name = NULL;
    enum base_status status = looking.rows ? cfg_start() : BASE_NO_MEMORY;
    *heads = (struct assess_heads){0};
    for (uint64_t at = 0;
         status == BASE_OK && binary_next_function(binary, at, &start, &end, &name) == BASE_OK;
         at = end > start ? end : start + 1)
        if (end > start)
            status = look_at(&looking, start, end);
    free(looking.rows);
    return status;
}

void assess_heads_free(struct assess_heads *heads)
{
    free(heads->items);
    *heads = (struct assess_heads){0};
}

/* ---- how often -------------------------------------------------------------------------------- */

static bool is_of_module(const struct profile *counted, uint32_t function, const char *path)
{
    uint32_t module = counted->path_functions[function].module;
    return module && strcmp(counted->modules[module].path, path) == 0;
}

/* Paths are cut at back edges: what arrives at a head by one begins there, from a cut; all else comes from outside. */
bool assess_trips(const struct profile *counted, const char *path, const struct assess_head *head,
                  uint64_t *visits, uint64_t *iterations)
{
    bool found = false;
    *visits = *iterations = 0;
    for (size_t i = 0; i < counted->paths_count; i++) {
        const struct profile_path *way = &counted->paths[i];
        if (!is_of_module(counted, way->function, path))
            continue;
        for (uint32_t s = 0; s < way->steps; s++) {
            uint32_t block = counted->path_steps[way->first_step + s].block;
            uint64_t address = counted->path_blocks[block].address;
            if (address == head->head && (s > 0 || !(way->flags & PROFILE_PATH_FROM_CUT)))
                *visits += way->count;
            if (address == (head->body ? head->body : head->head))
                *iterations += way->count;
            found |= address == head->head;
        }
    }
    return found;
}
