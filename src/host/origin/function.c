// SPDX-License-Identifier: MIT
/* A function with the rows of its lines, its flow, and what it assigns to. */
#include "origin/internal.h"

#include <stdlib.h>
#include <string.h>

enum { SCALAR_BYTES = 8 };

/* ---- reading --------------------------------------------------------------------------------------- */

static bool read_data(void *context, uint64_t address, void *out, size_t bytes)
{
    return binary_read_loaded(context, address, out, bytes) == BASE_OK;
}

static enum base_status read_flow(struct function *function)
{
    size_t count = (size_t)(function->end - function->start);
    if (function->end <= function->start || count > CFG_BYTES_MAX ||
        count > binary_bytes(function->binary))
        return BASE_MALFORMED;
    function->bytes = malloc(count);
    struct pathgraph_returns *returns = calloc(1, sizeof *returns);
    enum base_status status = function->bytes && returns ? BASE_OK : BASE_NO_MEMORY;
    if (status == BASE_OK)
        status = binary_read(function->binary, function->start, function->bytes, count);
    if (status == BASE_OK) {
        pathgraph_returns_begin(returns, function->binary);
        struct cfg_code code = {.bytes = function->bytes,
                                .count = count,
                                .start = function->start,
                                .data = {read_data, function->binary},
                                .returns = pathgraph_returns_of,
                                .context = returns};
        status = cfg_of_code(&code, &function->flow);
    }
    free(returns);
    return status;
}

struct collecting {
    struct function *function;
    bool no_memory;
};

static bool take_row(void *context, const struct binary_row *row)
{
    struct collecting *collecting = context;
    struct function *function = collecting->function;
    if (UTIL_PUSH(function->rows, function->rows_count, function->rows_capacity, *row))
        return true;
    collecting->no_memory = true;
    return false;
}

/* gcc keeps statement frontiers; in clang's tables the mark of a statement moves with its instructions. */
static bool keeps_frontiers(struct binary *binary, uint64_t vaddr)
{
    const char *producer = binary_producer(binary, vaddr);
    return producer && strncmp(producer, "GNU ", 4) == 0;
}

enum base_status function_read(struct binary *binary, uint64_t start, uint64_t end,
                               struct function *function)
{
    *function = (struct function){.binary = binary, .start = start, .end = end};
    struct collecting collecting = {.function = function};
    enum base_status status = binary_line_rows(binary, start, end, take_row, &collecting);
    if (collecting.no_memory)
        status = BASE_NO_MEMORY;
    if (status == BASE_OK)
        status = read_flow(function);
    function->frontiers = keeps_frontiers(binary, start);
    if (status != BASE_OK)
        function_free(function);
    return status;
}

void function_free(struct function *function)
{
    currency_close(function->currency);
    for (size_t i = 0; i < function->assigned_count; i++)
        free(function->assigned[i].places);
    free(function->assigned);
    free(function->moved);
    free(function->marks);
    free(function->spans);
    free(function->outer);
    free(function->places);
    util_index_free(&function->places_index);
    free(function->rows);
    cfg_free(function->flow);
    free(function->bytes);
    *function = (struct function){0};
}

uint32_t function_depth(const struct function *function, uint64_t address)
{
    return function->flow->loops[cfg_loop_at(function->flow, address)].depth;
}

/* ---- places ------------------------------------------------------------------------------------------ */

static bool equal_place(const void *items, uint32_t item, const void *key)
{
    const struct place *place = (const struct place *)items + item, *wanted = key;
    return place->line == wanted->line && strcmp(place->file, wanted->file) == 0;
}

uint32_t function_number(struct function *function, const char *file, uint32_t line)
{
    struct place place = {file, line};
    uint32_t number;
    bool found;
    if (!file || !line ||
        !UTIL_GROW(function->places, function->places_capacity, function->places_count))
        return 0;
    uint64_t hash = base_hash_bytes(file, strlen(file), line);
    if (!util_index_enter(&function->places_index, hash, equal_place, function->places, &place,
                          (uint32_t)function->places_count, &number, &found))
        return 0;
    if (!found)
        function->places[function->places_count++] = place;
    return number + 1;
}

const struct place *function_place(const struct function *function, uint32_t number)
{
    return &function->places[number - 1];
}

/* The lines that call what is inlined at an address, from inside out. */
static void set_outer(struct function *function, size_t mark)
{
    struct binary_frame frames[FRAMES_MAX];
    if (mark && function->marks[mark].address == function->marks[mark - 1].address) {
        memcpy(function->outer[mark], function->outer[mark - 1], sizeof *function->outer);
        return;
    }
    size_t count =
        binary_frames(function->binary, function->marks[mark].address, frames, FRAMES_MAX);
    for (size_t i = 1; i < count && i <= OUTER_MAX; i++)
        function->outer[mark][i - 1] = function_number(function, frames[i].file, frames[i].line);
}

static bool frame_at(void *context, uint64_t address, uint8_t *base, int64_t *offset)
{
    const struct function *function = context;
    return binary_frame_at(function->binary, address, base, offset);
}

static bool is_inlined(void *context, uint64_t address, uint32_t place)
{
    const struct function *function = context;
    size_t at = BASE_FIRST(i, function->marks_count, function->marks[i].address >= address);
    if (at == function->marks_count || function->marks[at].address != address)
        return false;
    for (size_t i = 0; i < OUTER_MAX; i++)
        if (function->outer[at][i] == place)
            return true;
    return false;
}

static bool make_marks(struct function *function)
{
    function->marks = calloc(function->rows_count + 1, sizeof *function->marks);
    function->spans = calloc(function->rows_count + 1, sizeof *function->spans);
    function->outer = calloc(function->rows_count + 1, sizeof *function->outer);
    if (!function->marks || !function->spans || !function->outer)
        return false;
    for (size_t i = 0; i < function->rows_count; i++) {
        const struct binary_row *row = &function->rows[i];
        uint32_t place = function_number(function, row->file, row->line);
        if (row->statement && place)
            function->marks[function->marks_count++] = (struct currency_mark){row->start, place};
        if (row->end > row->start)
            function->spans[function->spans_count++] =
                (struct currency_span){row->start, row->end, place};
    }
    return true;
}

/* ---- assignments --------------------------------------------------------------------------------------- */

bool is_same_variable(const struct binary_local *a, const struct binary_local *b)
{
    return a->address ? a->address == b->address
                      : !b->address && a->slot && a->slot == b->slot && a->entry == b->entry;
}

enum base_status function_assigned(struct function *function, uint64_t vaddr, const char *name,
                                   size_t *assigned)
{
    struct binary_local variable;
    if (binary_named(function->binary, vaddr, name, &variable) != BASE_OK || !variable.scalar ||
        !variable.bytes || variable.bytes > SCALAR_BYTES)
        return BASE_NOT_FOUND;
    for (*assigned = 0; *assigned < function->assigned_count; ++*assigned)
        if (is_same_variable(&function->assigned[*assigned].variable, &variable))
            return BASE_OK;
    return UTIL_PUSH(function->assigned, function->assigned_count, function->assigned_capacity,
                     (struct assigned){.variable = variable})
               ? BASE_OK
               : BASE_NO_MEMORY;
}

static bool has_place(const struct assigned *assigned, uint32_t place)
{
    for (size_t i = 0; i < assigned->count; i++)
        if (assigned->places[i] == place)
            return true;
    return false;
}

/* False: no memory. */
static bool add_assignment(struct function *function, const struct currency_mark *mark,
                           const char *name)
{
    size_t at;
    enum base_status status = function_assigned(function, mark->address, name, &at);
    if (status != BASE_OK)
        return status == BASE_NOT_FOUND;
    struct assigned *assigned = &function->assigned[at];
    return has_place(assigned, mark->place) ||
           UTIL_PUSH(assigned->places, assigned->count, assigned->capacity, mark->place);
}

static enum base_status open_currency(struct function *function)
{
    struct currency_code code = {.flow = function->flow,
                                 .bytes = function->bytes,
                                 .marks = function->marks,
                                 .marks_count = function->marks_count,
                                 .spans = function->spans,
                                 .spans_count = function->spans_count,
                                 .frame = frame_at,
                                 .inlined = is_inlined,
                                 .context = function};
    enum base_status status = currency_open(&code, &function->currency);
    return status == BASE_UNSUPPORTED ? BASE_OK : status;
}

static enum base_status add_assignments(struct function *function, struct sources *sources)
{
    for (size_t i = 0; i < function->marks_count; i++) {
        const struct currency_mark *mark = &function->marks[i];
        const struct place *place = function_place(function, mark->place);
        size_t count;
        const struct currency_assignment *found =
            sources_find(sources, place->file, place->line, &count);
        for (size_t k = 0; k < count; k++)
            if (!add_assignment(function, mark, found[k].name))
                return BASE_NO_MEMORY;
    }
    return BASE_OK;
}

static bool is_unoptimized(const struct function *function)
{
    struct binary_frame frames[FRAMES_MAX];
    return binary_frames(function->binary, function->start, frames, FRAMES_MAX) &&
           frames[0].unoptimized;
}

enum base_status function_assigns(struct function *function, struct sources *sources)
{
    enum base_status status =
        make_marks(function) ? add_assignments(function, sources) : BASE_NO_MEMORY;
    if (status != BASE_OK || (!function->assigned_count && function->frontiers))
        return status;
    for (size_t i = 0; i < function->marks_count; i++)
        set_outer(function, i);
    status = open_currency(function);
    if (status == BASE_OK && !function->frontiers && !is_unoptimized(function))
        status = moved_find(function, sources);
    return status;
}

struct capping {
    const struct function *function;
    const struct assigned *assigned;
    bool (*visit)(void *context, const struct currency_stop *stop);
    void *context;
};

/* Behind its scope, the place of a variable in the frame may be another's. */
static bool is_in_scope(const struct function *function, const struct binary_local *variable,
                        uint64_t vaddr)
{
    struct binary_local there;
    return variable->address ||
           (binary_named(function->binary, vaddr, variable->name, &there) == BASE_OK &&
            is_same_variable(variable, &there));
}

static bool cap(void *context, const struct currency_stop *stop)
{
    const struct capping *capping = context;
    struct currency_stop capped = *stop;
    if (!is_in_scope(capping->function, &capping->assigned->variable, stop->address))
        return true;
    if (!capping->function->frontiers)
        capped.class = CURRENCY_SUSPECT;
    return capping->visit(capping->context, &capped);
}

enum base_status function_stops(const struct function *function, const struct assigned *assigned,
                                bool (*visit)(void *context, const struct currency_stop *stop),
                                void *context)
{
    for (size_t i = 0; i < function->moved_count; i++)
        if (&function->assigned[function->moved[i].assigned] == assigned &&
            is_in_scope(function, &assigned->variable, function->moved[i].stop.address) &&
            !visit(context, &function->moved[i].stop))
            return BASE_OK;
    if (!function->currency)
        return BASE_OK;
    struct capping capping = {function, assigned, visit, context};
    const struct binary_local *local = &assigned->variable;
    struct currency_variable variable = {.start = local->address ? local->address
                                                                 : (uint64_t)local->slot,
                                         .framed = !local->address,
                                         .bytes = assigned->variable.bytes,
                                         .assigned = assigned->places,
                                         .assigned_count = assigned->count};
    enum base_status status = currency_find(function->currency, &variable, cap, &capping);
    return status == BASE_TOO_LARGE ? BASE_OK : status;
}
