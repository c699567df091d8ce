// SPDX-License-Identifier: MIT
/*
 * Assignments in code of compilers that keep no statement frontiers. There the row of a line goes with its instructions: of a store that
 * was removed nothing is left, and one that was moved begins where it went. So lines are compared with those around them in the
 * source: a stop point of a later line is suspect if the assignment's rows come only behind it; or if it has no row at all, and
 * another line follows that assigns as well (which is what makes a store dead), or all stores to the variable come behind the stop point, of whatever
 * line. That is no proof: the line may be of code that was never compiled.
 */
#include "origin/internal.h"

#include <stdlib.h>
#include <string.h>

/* The marks of one copy of a function: not inlined, or inlined where the same lines call it. */
struct copy {
    const struct function *function;
    const char *file;
    const uint32_t *outer;
    size_t first;      /* mark */
    uint32_t from, to; /* lines */
};

/* A line of it that assigns. */
struct line {
    size_t assigned;
    uint32_t line, place;
};

struct lines {
    struct line *items;
    size_t count, capacity;
};

static bool is_in(const struct copy *copy, size_t mark)
{
    const struct function *function = copy->function;
    return memcmp(function->outer[mark], copy->outer, sizeof *function->outer) == 0 &&
           strcmp(function_place(function, function->marks[mark].place)->file, copy->file) == 0;
}

static uint32_t line_of(const struct function *function, size_t mark)
{
    return function_place(function, function->marks[mark].place)->line;
}

static struct copy copy_at(const struct function *function, size_t mark)
{
    struct binary_frame frames[FRAMES_MAX];
    struct copy copy = {.function = function,
                        .file = function_place(function, function->marks[mark].place)->file,
                        .outer = function->outer[mark],
                        .first = mark,
                        .from = UINT32_MAX};
    for (size_t i = mark; i < function->marks_count; i++) {
        uint32_t line = line_of(function, i);
        if (!is_in(&copy, i))
            continue;
        copy.from = line < copy.from ? line : copy.from;
        copy.to = line > copy.to ? line : copy.to;
    }
    if (binary_frames(function->binary, function->marks[mark].address, frames, FRAMES_MAX) &&
        frames[0].declared && frames[0].declared < copy.from)
        copy.from = frames[0].declared;
    return copy;
}

/* ---- paths --------------------------------------------------------------------------------------------- */

/* seen: of a byte for each block, all 0. work: of as many numbers. Is there a path from one block's end to another's start? */
static bool leads_to(const struct cfg *flow, uint32_t from, uint32_t to, uint8_t *seen,
                     uint32_t *work)
{
    size_t waiting = 0;
    work[waiting++] = from;
    while (waiting) {
        const struct cfg_block *block = &flow->blocks[work[--waiting]];
        for (uint32_t i = 0; i < block->edges; i++) {
            uint32_t next = flow->edges[block->first_edge + i].to;
            if (next == to)
                return true;
            if (!seen[next])
                work[waiting++] = next;
            seen[next] = 1;
        }
    }
    return false;
}

/* Can the instruction at `later` be executed after that at `earlier`? If that is not known, it can. */
static bool can_follow(const struct cfg *flow, uint64_t earlier, uint64_t later)
{
    uint32_t from = cfg_block_at(flow, earlier), to = cfg_block_at(flow, later);
    if (from == CFG_NONE || to == CFG_NONE || (from == to && later >= earlier))
        return true;
    uint8_t *seen = calloc(flow->blocks_count, 1);
    uint32_t *work = calloc((size_t)flow->blocks_count + 1, sizeof *work);
    bool follows = !seen || !work || leads_to(flow, from, to, seen, work);
    free(seen);
    free(work);
    return follows;
}

/* ---- stop points ----------------------------------------------------------------------------------------- */

enum { GONE, BEHIND, BEFORE };

static unsigned side_of_address(const struct cfg *flow, uint64_t address, uint64_t stop)
{
    return can_follow(flow, address, stop) || !can_follow(flow, stop, address) ? BEFORE : BEHIND;
}

/* Where the rows of a line lie, seen from a stop point. */
static unsigned side_of(const struct copy *copy, const struct line *line, uint64_t stop)
{
    const struct function *function = copy->function;
    unsigned side = GONE;
    for (size_t i = copy->first; i < function->marks_count && side != BEFORE; i++)
        if (function->marks[i].place == line->place && is_in(copy, i))
            side = side_of_address(function->flow, function->marks[i].address, stop);
    return side;
}

/* The same of the instructions that store. */
static unsigned side_of_stores(const struct function *function, size_t assigned, uint64_t stop)
{
    const struct binary_local *variable = &function->assigned[assigned].variable;
    unsigned side = GONE;
    for (uint64_t at = function->start; function->currency && side != BEFORE; at++) {
        at = currency_store(function->currency, at, variable->address, variable->bytes);
        if (at == UINT64_MAX)
            break;
        side = at == stop ? BEHIND : side_of_address(function->flow, at, stop);
    }
    return side;
}

static bool is_shown(const struct function *function, size_t mark)
{
    return mark + 1 == function->marks_count ||
           function->marks[mark + 1].address != function->marks[mark].address;
}

/* next: the line after it that assigns to the same variable; NULL: there is none. */
static bool add_stops(struct function *function, const struct copy *copy, const struct line *line,
                      const struct line *next)
{
    for (size_t i = copy->first; i < function->marks_count; i++) {
        const struct currency_mark *mark = &function->marks[i];
        uint32_t shown = line_of(function, i);
        if (shown <= line->line || (next && shown > next->line) || !is_in(copy, i) ||
            !is_shown(function, i))
            continue;
        unsigned side = side_of(copy, line, mark->address);
        if (side == GONE && !next)
            side =
                side_of_stores(function, line->assigned, mark->address) == BEHIND ? BEHIND : BEFORE;
        if (side == BEFORE)
            continue;
        struct moved moved = {line->assigned,
                              {.address = mark->address,
                               .shown = mark->place,
                               .assigned = line->place,
                               .class = CURRENCY_SUSPECT}};
        if (!UTIL_PUSH(function->moved, function->moved_count, function->moved_capacity, moved))
            return false;
    }
    return true;
}

/* ---- lines ------------------------------------------------------------------------------------------------ */

static bool add_line(struct function *function, const struct copy *copy,
                     const struct currency_assignment *assignment, struct lines *lines)
{
    size_t assigned;
    uint64_t address = function->marks[copy->first].address;
    uint32_t place = function_number(function, copy->file, assignment->line);
    enum base_status status = function_assigned(function, address, assignment->name, &assigned);
    if (status == BASE_NOT_FOUND)
        return true;
    return status == BASE_OK && place &&
           UTIL_PUSH(lines->items, lines->count, lines->capacity,
                     ((struct line){assigned, assignment->line, place}));
}

static const struct line *next_of(const struct lines *lines, size_t at)
{
    for (size_t i = at + 1; i < lines->count; i++)
        if (lines->items[i].assigned == lines->items[at].assigned)
            return &lines->items[i];
    return NULL;
}

static bool find_in(struct function *function, const struct copy *copy, struct sources *sources)
{
    struct lines lines = {0};
    bool good = true;
    for (uint32_t line = copy->from; good && line < copy->to; line++) {
        size_t count;
        const struct currency_assignment *found = sources_find(sources, copy->file, line, &count);
        for (size_t i = 0; good && i < count; i++)
            good = add_line(function, copy, &found[i], &lines);
    }
    for (size_t i = 0; good && i < lines.count; i++)
        good = add_stops(function, copy, &lines.items[i], next_of(&lines, i));
    free(lines.items);
    return good;
}

enum base_status moved_find(struct function *function, struct sources *sources)
{
    uint8_t *done = calloc(function->marks_count + 1, 1);
    bool good = done != NULL;
    for (size_t i = 0; good && i < function->marks_count; i++) {
        if (done[i])
            continue;
        struct copy copy = copy_at(function, i);
        for (size_t k = i; k < function->marks_count; k++)
            done[k] |= is_in(&copy, k);
        good = find_in(function, &copy, sources);
    }
    free(done);
    return good ? BASE_OK : BASE_NO_MEMORY;
}
