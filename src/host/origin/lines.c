// SPDX-License-Identifier: MIT
/* What came from a line, and from which lines a function or an instruction came. */
#include "origin/internal.h"

#include "bounds/bounds.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1 << 20, CHAIN_BYTES = 4096 };

struct answering {
    struct profile *profile;
    struct binary *binary;
    const struct origin_place *place;
    const char *path;
    struct sources sources;
    struct binary_row *rows; /* of the line, or of the code that is asked about */
    size_t rows_count, rows_capacity;
    const char *file;        /* of the line */
    uint32_t previous, next; /* lines with code around it; 0: none */
    uint64_t near;           /* an instruction of one of them */
    bool no_memory;
    struct function function; /* that was read last */
    bool has_function;
};

/* ---- rows ------------------------------------------------------------------------------------------ */

/* Rows without an instruction are kept where a statement begins. */
static bool add_row(struct answering *answering, const struct binary_row *row)
{
    if (row->end == row->start && !row->statement)
        return true;
    if (answering->rows_count < ROWS_MAX &&
        UTIL_PUSH(answering->rows, answering->rows_count, answering->rows_capacity, *row))
        return true;
    answering->no_memory |= answering->rows_count < ROWS_MAX;
    return false;
}

/* A row of the file that the line is in. */
static bool take_line(void *context, const struct binary_row *row)
{
    struct answering *answering = context;
    uint32_t wanted = answering->place->line, line = row->line;
    answering->file = row->file;
    if (line == wanted)
        return add_row(answering, row);
    if (row->end == row->start)
        return true; /* passed there, and no code of it */
    if (line && line < wanted && line > answering->previous) {
        answering->previous = line;
        answering->near = row->start;
    }
    if (line > wanted && (!answering->next || line < answering->next)) {
        answering->next = line;
        answering->near = row->start;
    }
    return true;
}

static bool take_any(void *context, const struct binary_row *row)
{
    return add_row(context, row);
}

static int by_start(const void *a, const void *b)
{
    const struct binary_row *first = a, *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return (first->view > second->view) - (first->view < second->view);
}

static bool is_same_line(const struct binary_row *a, const struct binary_row *b)
{
    return a->line == b->line && a->file == b->file;
}

/* Rows of one line that follow one another become one, as do those that several units have of one copy of a function; of rows without
   an instruction only those where nothing else of the line is are kept. */
static void join_rows(struct answering *answering)
{
    size_t kept = 0;
    if (answering->rows_count)
        qsort(answering->rows, answering->rows_count, sizeof *answering->rows, by_start);
    for (size_t i = 0; i < answering->rows_count; i++) {
        struct binary_row *row = &answering->rows[i];
        struct binary_row *last = kept ? &answering->rows[kept - 1] : NULL;
        if (last && is_same_line(last, row) && row->start <= last->end) {
            last->statement |= row->start == last->start && row->statement;
            last->end = row->end > last->end ? row->end : last->end;
        } else {
            answering->rows[kept++] = *row;
        }
    }
    answering->rows_count = kept;
}

/* ---- functions ----------------------------------------------------------------------------------------- */

/* The function around an address. False: it is not known. */
static bool need_function(struct answering *answering, uint64_t vaddr)
{
    uint64_t start, end;
    if (answering->has_function && vaddr >= answering->function.start &&
        vaddr < answering->function.end)
        return true;
    if (answering->has_function)
        function_free(&answering->function);
    answering->has_function =
        binary_function(answering->binary, vaddr, &start, &end) == BASE_OK &&
        function_read(answering->binary, start, end, &answering->function) == BASE_OK;
    return answering->has_function;
}

/* ---- ranges ---------------------------------------------------------------------------------------------- */

/* "f (a.c:3); main (a.c:9)" of the frames around the innermost one. */
static const char *chain_of(struct profile *profile, const struct binary_frame *frames,
                            size_t count)
{
    char chain[CHAIN_BYTES];
    size_t used = 0;
    for (size_t i = 1; i < count && used < sizeof chain - 1; i++) {
        const char *file = frames[i].file ? frames[i].file : "?";
        int bytes = snprintf(chain + used, sizeof chain - used, "%s%.200s (%.200s:%u)",
                             used ? "; " : "", frames[i].function ? frames[i].function : "?",
                             origin_base_name(file), frames[i].line);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    return count > 1 ? profile_keep(profile, chain) : NULL;
}

static bool add_range(struct answering *answering, const struct binary_row *row)
{
    struct profile *profile = answering->profile;
    struct binary_frame frames[FRAMES_MAX];
    size_t count = binary_frames(answering->binary, row->start, frames, FRAMES_MAX);
    struct profile_map_range *range = profile_add_map_ranges(profile);
    if (!range)
        return false;
    bool known = need_function(answering, row->start);
    uint64_t end = known && row->end > answering->function.end ? answering->function.end : row->end;
    *range = (struct profile_map_range){
        .start = row->start,
        .end = end, /* without what aligns the next function */
        .file = profile_keep(profile, row->line ? row->file : NULL),
        .function = count ? profile_keep(profile, frames[0].function) : NULL,
        .chain = chain_of(profile, frames, count),
        .line = row->line,
        .column = row->column,
        .discriminator = row->discriminator,
        .view = row->view,
        .statement = row->statement,
        .heat = -1,
    };
    if (known)
        range->depth = function_depth(&answering->function, row->start);
    return true;
}

static bool is_same_chain(const struct profile_map_range *a, const struct profile_map_range *b)
{
    return a->line == b->line && profile_same_text(a->file, b->file) &&
           profile_same_text(a->function, b->function) && profile_same_text(a->chain, b->chain);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Are the first two operands the same register? */
static bool is_of_itself(const char *operands)
{
    size_t first = strcspn(operands, ",");
    const char *second = operands + first + strspn(operands + first, ", ");
    return *operands == '%' && strncmp(operands, second, first) == 0 &&
           (!second[first] || second[first] == ',');
}

/*
 * Packed vector instructions, but for those that compilers use on single numbers as well: to clear a register, to copy one, to load a
 * constant, to change or take a sign.
 */
static bool is_vector(const char *text)
{
    size_t name = strcspn(text, " ");
    const char *operands = text + name + strspn(text + name, " ");
    const char *stem = text + (text[0] == 'v');
    if (!strstr(operands, "mm"))
        return false;
    if (stem[0] == 'p')
        return !((begins(stem, "pxor") || begins(stem, "pcmpeq")) && is_of_itself(operands));
    if (name <= 2 || text[name - 2] != 'p' || (text[name - 1] != 's' && text[name - 1] != 'd'))
        return false;
    if (begins(stem, "mov"))
        return strchr(operands, '(') != NULL;
    return !begins(stem, "and") && !begins(stem, "or") && !begins(stem, "xor");
}

static bool is_jump(const char *text)
{
    return text[0] == 'j';
}

static bool has_instruction(const struct profile *profile, const struct profile_map_range *range,
                            bool (*is)(const char *text))
{
    const struct profile_map_instruction *rows = profile->map_instructions;
    size_t count = profile->map_instructions_count;
    for (size_t i = BASE_FIRST(k, count, rows[k].address >= range->start);
         i < count && rows[i].address < range->end; i++)
        if (is(rows[i].text))
            return true;
    return false;
}

/* Is the line's statement in more loops than the range? A `for` begins outside of its loop, and its condition is tested there, too. */
static bool left_loop(const struct profile *profile, const struct profile_map_range *range)
{
    for (size_t i = 0; i < profile->map_ranges_count; i++) {
        const struct profile_map_range *other = &profile->map_ranges[i];
        if (other->statement && other->depth <= range->depth && is_same_chain(range, other))
            return false;
    }
    return !has_instruction(profile, range, is_jump);
}

/* What the range is, beside another of the same line in the same copy of its function. left: see left_loop. */
static uint32_t beside(struct answering *answering, const struct profile_map_range *range,
                       bool left, const struct profile_map_range *other)
{
    if (left && range->depth < other->depth)
        return range->start < other->start ? PROFILE_MAP_HOISTED : PROFILE_MAP_SUNK;
    if (!range->statement || !other->statement || range->column != other->column ||
        range->depth != other->depth)
        return PROFILE_MAP_PART;
    if (range->depth && need_function(answering, range->start) &&
        other->start >= answering->function.start && other->start < answering->function.end &&
        cfg_loop_at(answering->function.flow, range->start) ==
            cfg_loop_at(answering->function.flow, other->start))
        return PROFILE_MAP_UNROLLED;
    return PROFILE_MAP_DUPLICATE;
}

/* The strongest of what it is beside all others. */
static void set_copy(struct answering *answering, struct profile_map_range *range)
{
    const struct profile *profile = answering->profile;
    bool elsewhere = false, left = left_loop(profile, range);
    for (size_t i = 0; i < profile->map_ranges_count; i++) {
        const struct profile_map_range *other = &profile->map_ranges[i];
        if (other == range || other->line != range->line || other->end == other->start ||
            !profile_same_text(other->file, range->file))
            continue;
        if (!is_same_chain(range, other)) {
            elsewhere = true;
            continue;
        }
        uint32_t copy = beside(answering, range, left, other);
        range->copy = copy > range->copy ? copy : range->copy;
    }
    if (has_instruction(profile, range, is_vector))
        range->copy = PROFILE_MAP_VECTOR;
    if (range->copy == PROFILE_MAP_SINGLE && elsewhere && range->chain)
        range->copy = PROFILE_MAP_INLINED;
}

static bool has_code(const struct answering *answering, const struct binary_row *row)
{
    for (size_t i = 0; i < answering->rows_count; i++)
        if (answering->rows[i].end > answering->rows[i].start &&
            is_same_line(&answering->rows[i], row))
            return true;
    return false;
}

/* In the code of several lines, a row without an instruction is left out where its line has code as well. */
static void drop_passed(struct answering *answering)
{
    size_t kept = 0;
    for (size_t i = 0; i < answering->rows_count; i++) {
        struct binary_row row = answering->rows[i];
        bool empty = row.end == row.start;
        if (!empty || (row.line && !has_code(answering, &row)))
            answering->rows[kept++] = row;
    }
    answering->rows_count = kept;
}

static enum base_status add_ranges(struct answering *answering)
{
    struct profile *profile = answering->profile;
    join_rows(answering);
    if (origin_run(profile)->kind != PROFILE_MAP_LINE)
        drop_passed(answering);
    origin_run(profile)->ranges = answering->rows_count;
    for (size_t i = 0; i < answering->rows_count && i < ORIGIN_RANGES_MAX; i++)
        if (!add_range(answering, &answering->rows[i]))
            return BASE_NO_MEMORY;
    return BASE_OK;
}

static void set_copies(struct answering *answering)
{
    for (size_t i = 0; i < answering->profile->map_ranges_count; i++)
        set_copy(answering, &answering->profile->map_ranges[i]);
}

/* ---- instructions ------------------------------------------------------------------------------------------ */

static bool add_instruction(struct profile *profile, const struct profile_map_range *range,
                            const struct bounds_instruction *instruction)
{
    struct profile_map_instruction *row = profile_add_map_instructions(profile);
    if (!row)
        return false;
    *row = (struct profile_map_instruction){
        .address = instruction->address,
        .text = profile_keep(profile, instruction->text[0] ? instruction->text : "(bad)"),
        .file = range->file,
        .line = range->line,
        .heat = -1};
    return row->text != NULL;
}

static enum base_status add_code(struct answering *answering, const struct profile_map_range *range)
{
    struct bounds_block block = {0};
    size_t count = (size_t)(range->end - range->start), bad;
    uint8_t *bytes = count <= CFG_BYTES_MAX ? malloc(count) : NULL;
    enum base_status status =
        bytes ? binary_read(answering->binary, range->start, bytes, count) : BASE_NO_MEMORY;
    if (status == BASE_OK)
        status = bounds_decode(bytes, count, range->start, true, &block, &bad);
    for (size_t i = 0; i < block.count && status == BASE_OK; i++)
        if (!add_instruction(answering->profile, range, &block.instructions[i]))
            status = BASE_NO_MEMORY;
    bounds_block_free(&block);
    free(bytes);
    return status == BASE_NO_MEMORY ? status : BASE_OK;
}

static enum base_status add_instructions(struct answering *answering)
{
    struct profile *profile = answering->profile;
    enum base_status status = BASE_OK;
    for (size_t i = 0; i < profile->map_ranges_count && status == BASE_OK &&
                       profile->map_instructions_count < ORIGIN_INSTRUCTIONS_MAX;
         i++) {
        struct profile_map_range range = profile->map_ranges[i];
        if (range.end > range.start)
            status = add_code(answering, &range);
    }
    return status;
}

/* ---- variables ------------------------------------------------------------------------------------------------ */

/* The stop point of the rows at which a debugger stops first; 0: none. */
static uint64_t stop_point(const struct answering *answering)
{
    for (size_t i = 0; i < answering->rows_count; i++)
        if (answering->rows[i].statement)
            return answering->rows[i].start;
    return answering->rows_count ? answering->rows[0].start : 0;
}

/* Of several rows at an address a debugger shows the last. */
static uint32_t shown_at(const struct function *function, uint64_t vaddr)
{
    uint32_t line = 0;
    for (size_t i = 0; i < function->rows_count && function->rows[i].start <= vaddr; i++)
        if (function->rows[i].statement && function->rows[i].line)
            line = function->rows[i].line;
    return line;
}

static enum base_status add_variables(struct answering *answering, uint64_t vaddr)
{
    struct profile_map_run *run = origin_run(answering->profile);
    run->address = vaddr;
    run->producer = profile_keep(answering->profile, binary_producer(answering->binary, vaddr));
    if (!vaddr || !need_function(answering, vaddr))
        return BASE_OK;
    run->shown = shown_at(&answering->function, vaddr);
    enum base_status status =
        variables_at(answering->profile, &answering->function, &answering->sources, vaddr);
    run->sources = answering->sources.read;
    run->missing = answering->sources.missing;
    return status;
}

/* Once the ranges' rows are there. */
static enum base_status conclude(struct answering *answering, uint64_t vaddr)
{
    enum base_status status = add_ranges(answering);
    if (status == BASE_OK)
        status = add_instructions(answering);
    if (status == BASE_OK)
        set_copies(answering);
    if (status == BASE_OK)
        status = add_variables(answering, vaddr);
    return status;
}

/* ---- what is asked ------------------------------------------------------------------------------------------------ */

static enum base_status refuse(char *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum base_status refuse(char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, ORIGIN_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return BASE_NOT_FOUND;
}

/* Why has the line no code? What the compiler declared there, it says; what else is there, the source. */
static uint32_t absence_of(struct answering *answering)
{
    uint32_t line = answering->place->line;
    enum currency_line kind;
    if (answering->rows_count)
        return PROFILE_MAP_PRESENT;
    if (binary_declares(answering->binary, answering->near, answering->file, line))
        return PROFILE_MAP_DECLARATION;
    if (!answering->previous || !answering->next)
        return PROFILE_MAP_OUTSIDE;
    if (!sources_line(&answering->sources, answering->file, line, &kind))
        return PROFILE_MAP_GONE;
    origin_run(answering->profile)->sources = 1;
    return kind == CURRENCY_LINE_EMPTY       ? PROFILE_MAP_EMPTY
           : kind == CURRENCY_LINE_CONTINUES ? PROFILE_MAP_CONTINUED
                                             : PROFILE_MAP_GONE;
}

static enum base_status at_line(struct answering *answering, char *error)
{
    const struct origin_place *place = answering->place;
    struct profile_map_run *run = origin_run(answering->profile);
    binary_file_rows(answering->binary, place->file, take_line, answering);
    if (answering->no_memory)
        return BASE_NO_MEMORY;
    if (!answering->file)
        return refuse(error, "no code of '%.2000s' comes from a file '%.2000s'.", answering->path,
                      place->file);
    run->kind = PROFILE_MAP_LINE;
    run->file = profile_keep(answering->profile, answering->file);
    run->line = place->line;
    run->previous = answering->previous;
    run->next = answering->next;
    run->absence = absence_of(answering);
    join_rows(answering);
    return conclude(answering, stop_point(answering));
}

enum { NO_FUNCTION, COLD_PART, VARIANT, ITSELF };

static unsigned rank_of(const char *name, const char *wanted)
{
    if (!binary_is_named(name, wanted))
        return NO_FUNCTION;
    return strstr(name, ".cold") ? COLD_PART : strchr(name, '.') ? VARIANT : ITSELF;
}

/* The function itself, else what the compiler made of it, else a part of that: linkers put foo.cold before foo. */
static bool find_function(struct answering *answering, uint64_t *start, uint64_t *end)
{
    uint64_t from, to;
    const char *name = NULL;
    unsigned best = NO_FUNCTION;
    for (uint64_t at = 0; best != ITSELF &&
                          binary_next_function(answering->binary, at, &from, &to, &name) == BASE_OK;
         at = to > from ? to : from + 1) {
        unsigned rank = rank_of(name, answering->place->function);
        if (rank <= best)
            continue;
        best = rank;
        *start = from;
        *end = to;
    }
    return best != NO_FUNCTION;
}

/* A debugger stops behind what sets up the frame: at the second line. */
static uint64_t behind_prologue(const struct answering *answering, uint64_t start)
{
    for (size_t i = 0; i < answering->rows_count; i++)
        if (answering->rows[i].statement && answering->rows[i].start > start)
            return answering->rows[i].start;
    return start;
}

static enum base_status at_function(struct answering *answering, char *error)
{
    uint64_t start, end;
    if (!find_function(answering, &start, &end))
        return refuse(error, "'%.2000s' has no function '%.2000s'.", answering->path,
                      answering->place->function);
    if (binary_line_rows(answering->binary, start, end, take_any, answering) != BASE_OK ||
        !answering->rows_count)
        return answering->no_memory
                   ? BASE_NO_MEMORY
                   : refuse(error, "'%.2000s' has no lines for function '%.2000s'.",
                            answering->path, answering->place->function);
    origin_run(answering->profile)->kind = PROFILE_MAP_FUNCTION;
    return conclude(answering, behind_prologue(answering, start));
}

/* Of the basic block that has the instruction. */
static enum base_status at_address(struct answering *answering, char *error)
{
    uint64_t vaddr = answering->place->address;
    if (!need_function(answering, vaddr))
        return refuse(error, "'%.2000s' has no function with lines at 0x%" PRIx64 ".",
                      answering->path, vaddr);
    const struct cfg *flow = answering->function.flow;
    uint32_t block = cfg_block_at(flow, vaddr);
    if (block == CFG_NONE)
        return refuse(error, "'%.2000s' has no instruction at 0x%" PRIx64 ".", answering->path,
                      vaddr);
    uint64_t start = flow->blocks[block].start, end = flow->blocks[block].end;
    for (size_t i = 0; i < answering->function.rows_count; i++) {
        struct binary_row row = answering->function.rows[i];
        if (row.start >= end || (row.end <= start && row.start < start))
            continue;
        row.statement &= row.start >= start;
        row.start = row.start < start ? start : row.start;
        row.end = row.end > end ? end : row.end;
        if (!add_row(answering, &row))
            return BASE_NO_MEMORY;
    }
    origin_run(answering->profile)->kind = PROFILE_MAP_ADDRESS;
    return conclude(answering, vaddr);
}

enum base_status origin_at(struct profile *profile, struct binary *binary, const char *path,
                           const struct origin_place *place, char *error)
{
    struct answering *answering = calloc(1, sizeof *answering);
    if (!answering)
        return refuse(error, "%s.", base_status_text(BASE_NO_MEMORY));
    *answering =
        (struct answering){.profile = profile, .binary = binary, .place = place, .path = path};
    sources_begin(&answering->sources, path);
    enum base_status status = place->file       ? at_line(answering, error)
                              : place->function ? at_function(answering, error)
                                                : at_address(answering, error);
    if (status == BASE_NO_MEMORY)
        snprintf(error, ORIGIN_ERROR_BYTES, "%s.", base_status_text(status));
    if (answering->has_function)
        function_free(&answering->function);
    sources_free(&answering->sources);
    free(answering->rows);
    free(answering);
    return status;
}
