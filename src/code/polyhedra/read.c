// SPDX-License-Identifier: MIT
/* What Polly prints, line by line. */
#include "polyhedra/internal.h"

#include <isl/options.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct polyhedra *polyhedra;
    struct scop *scop;
    struct scop_statement *statement;
    enum { NOWHERE, INVARIANTS, ARRAYS, STATEMENTS, INSTRUCTIONS } where;
    enum { NOTHING, DOMAIN, SCHEDULE, READ, WRITE, MAY_WRITE } awaited;
    bool scalar;
    bool failed;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *keep(struct reading *reading, const char *text, size_t bytes)
{
    uint32_t number;
    struct util_strings *strings = &reading->polyhedra->strings;
    if (util_strings_add(strings, text, bytes, &number))
        return strings->texts[number];
    reading->failed = true;
    return NULL;
}

/* ---- arrays ------------------------------------------------------------------------------------------------ */

/* "double MemRef0[*][1100]; // Element size 8" */
static void read_array(struct reading *reading, const char *line)
{
    const char *name = strstr(line, " MemRef"), *size = strstr(line, "// Element size ");
    struct scop_array array = {0};
    if (!name || !size)
        return;
    name++;
    size_t bytes = strcspn(name, "[;");
    array.name = keep(reading, name, bytes);
    array.element_bytes = (uint32_t)strtoul(size + 16, NULL, 10);
    for (const char *at = name + bytes; *at == '[' && array.dimensions < DIMENSIONS_MAX;) {
        char *end;
        long long value = strtoll(at + 1, &end, 10);
        if (*end != ']' && array.dimensions)
            array.unknown = keep(reading, at + 1, strcspn(at + 1, "]"));
        array.sizes[array.dimensions++] = *end == ']' ? value : -1;
        at = strchr(at, ']');
        at = at ? at + 1 : "";
    }
    struct scop *scop = reading->scop;
    if (!UTIL_PUSH(scop->arrays, scop->arrays_count, scop->arrays_capacity, array))
        reading->failed = true;
}

/* ---- statements ---------------------------------------------------------------------------------------------- */

static void begin_statement(struct reading *reading, const char *line)
{
    struct scop *scop = reading->scop;
    struct scop_statement statement = {.name = keep(reading, line, strcspn(line, " \t"))};
    if (!UTIL_PUSH(scop->statements, scop->statements_count, scop->statements_capacity,
                   statement)) {
        reading->failed = true;
        return;
    }
    reading->statement = &scop->statements[scop->statements_count - 1];
}

static void add_access(struct reading *reading, const char *text)
{
    struct scop_statement *statement = reading->statement;
    struct scop_access access = {.relation =
                                     isl_map_read_from_str(reading->polyhedra->context, text),
                                 .write = reading->awaited != READ,
                                 .may = reading->awaited == MAY_WRITE};
    bool kept = reading->scalar ? UTIL_PUSH(statement->scalars, statement->scalars_count,
                                            statement->scalars_capacity, access)
                                : UTIL_PUSH(statement->accesses, statement->accesses_count,
                                            statement->accesses_capacity, access);
    if (!access.relation || !kept) {
        isl_map_free(access.relation);
        reading->failed = true;
    }
}

static void read_awaited(struct reading *reading, const char *line)
{
    char text[65536];
    size_t bytes = strlen(line);
    bytes -= bytes && line[bytes - 1] == ';';
    snprintf(text, sizeof text, "%.*s", (int)bytes, line);
    if (reading->awaited == DOMAIN) {
        reading->statement->domain = isl_set_read_from_str(reading->polyhedra->context, text);
        reading->failed |= !reading->statement->domain;
    } else if (reading->awaited == SCHEDULE) {
        reading->statement->schedule = isl_map_read_from_str(reading->polyhedra->context, text);
        reading->failed |= !reading->statement->schedule;
    } else {
        add_access(reading, text);
    }
    reading->awaited = NOTHING;
}

static void read_instruction(struct reading *reading, const char *line)
{
    struct scop_statement *statement = reading->statement;
    if (line[0] == '}') {
        reading->where = STATEMENTS;
        return;
    }
    const char *kept = ir_find(reading->polyhedra->ir, reading->scop->symbol, line);
    if (kept)
        statement->last = kept;
    if (!ir_bytes_of(line))
        return;
    if (!kept)
        kept = keep(reading, line, strlen(line));
    if (!kept || !UTIL_PUSH(statement->instructions, statement->instructions_count,
                            statement->instructions_capacity, kept))
        reading->failed = true;
}

static void read_statement_line(struct reading *reading, const char *line)
{
    if (line[0] == '}')
        reading->where = NOWHERE;
    else if (begins(line, "Stmt") || (!strstr(line, ":=") && !strchr(line, '{')))
        begin_statement(reading, line);
    else if (!reading->statement)
        return;
    else if (begins(line, "Domain :="))
        reading->awaited = DOMAIN;
    else if (begins(line, "Schedule :="))
        reading->awaited = SCHEDULE;
    else if (begins(line, "ReadAccess :="))
        reading->awaited = READ;
    else if (begins(line, "MustWriteAccess :="))
        reading->awaited = WRITE;
    else if (begins(line, "MayWriteAccess :="))
        reading->awaited = MAY_WRITE;
    else if (begins(line, "Instructions {"))
        reading->where = INSTRUCTIONS;
    reading->scalar = strstr(line, "[Scalar: 1]") != NULL;
}

/* ---- a nest ------------------------------------------------------------------------------------------------------ */

static void begin_scop(struct reading *reading, const char *symbol)
{
    struct polyhedra *polyhedra = reading->polyhedra;
    struct scop scop = {.symbol = keep(reading, symbol, strlen(symbol))};
    reading->statement = NULL;
    reading->scop = NULL;
    if (UTIL_PUSH(polyhedra->scops, polyhedra->count, polyhedra->capacity, scop))
        reading->scop = &polyhedra->scops[polyhedra->count - 1];
    else
        reading->failed = true;
}

static void read_line(struct reading *reading, const char *line)
{
    if (begins(line, "remark: "))
        return;
    if (reading->awaited != NOTHING && reading->statement && line[0]) {
        read_awaited(reading, line);
    } else if (begins(line, "Function: ")) {
        reading->where = NOWHERE;
        begin_scop(reading, line + 10);
    } else if (!reading->scop) {
        return;
    } else if (reading->where == INSTRUCTIONS) {
        read_instruction(reading, line);
    } else if (reading->where == STATEMENTS) {
        read_statement_line(reading, line);
    } else if (reading->where == ARRAYS) {
        if (line[0] == '}')
            reading->where = NOWHERE;
        else
            read_array(reading, line);
    } else if (strcmp(line, "Invariant Accesses: {") == 0) {
        reading->where = INVARIANTS;
    } else if (reading->where == INVARIANTS) {
        if (line[0] == '}')
            reading->where = NOWHERE;
        reading->scop->hoists |= begins(line, "ReadAccess :=");
    } else if (strcmp(line, "Arrays {") == 0) {
        reading->where = ARRAYS;
    } else if (strcmp(line, "Statements {") == 0) {
        reading->where = STATEMENTS;
    } else if (line[0] == 'p' && line[1] >= '0' && line[1] <= '9') {
        unsigned long number = strtoul(line + 1, NULL, 10);
        const char *colon = strstr(line, ": ");
        if (number < PARAMETERS_MAX && colon)
            reading->scop->parameters[number] = keep(reading, colon + 2, strlen(colon + 2));
    }
}

/* ---- all ----------------------------------------------------------------------------------------------------------- */

static bool has_accesses(const struct scop *scop)
{
    for (size_t i = 0; i < scop->statements_count; i++)
        if (scop->statements[i].accesses_count)
            return true;
    return false;
}

static void free_scop(struct scop *scop)
{
    for (size_t i = 0; i < scop->statements_count; i++) {
        struct scop_statement *statement = &scop->statements[i];
        for (size_t j = 0; j < statement->accesses_count; j++)
            isl_map_free(statement->accesses[j].relation);
        for (size_t j = 0; j < statement->scalars_count; j++)
            isl_map_free(statement->scalars[j].relation);
        isl_set_free(statement->domain);
        isl_map_free(statement->schedule);
        free(statement->accesses);
        free(statement->scalars);
        free(statement->instructions);
    }
    free(scop->statements);
    free(scop->arrays);
}

static void drop_empty(struct polyhedra *polyhedra)
{
    size_t kept = 0;
    for (size_t i = 0; i < polyhedra->count; i++)
        if (has_accesses(&polyhedra->scops[i]))
            polyhedra->scops[kept++] = polyhedra->scops[i];
        else
            free_scop(&polyhedra->scops[i]);
    polyhedra->count = kept;
}

static void read_lines(struct reading *reading, char *text)
{
    for (char *at = text; at && !reading->failed;) {
        char *end = strchr(at, '\n');
        if (end)
            *end = 0;
        read_line(reading, at + strspn(at, " \t"));
        at = end ? end + 1 : NULL;
    }
}

enum base_status polyhedra_read(const char *text, size_t bytes, const struct ir *ir,
                                struct polyhedra **made, char *error)
{
    struct polyhedra *polyhedra = calloc(1, sizeof *polyhedra);
    struct reading reading = {.polyhedra = polyhedra};
    char *copy = malloc(bytes + 1);
    if (!polyhedra || !copy || !(polyhedra->context = isl_ctx_alloc())) {
        free(copy);
        free(polyhedra);
        snprintf(error, POLYHEDRA_ERROR_BYTES, "%s.", base_status_text(BASE_NO_MEMORY));
        return BASE_NO_MEMORY;
    }
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    polyhedra->ir = ir;
    isl_options_set_on_error(polyhedra->context, ISL_ON_ERROR_CONTINUE);
    read_lines(&reading, copy);
    free(copy);
    if (reading.failed) {
        polyhedra_free(polyhedra);
        snprintf(error, POLYHEDRA_ERROR_BYTES,
                 "what opt-19 printed is not what Polly 19 prints: is it another version?");
        return BASE_MALFORMED;
    }
    if (!match_all(polyhedra)) {
        polyhedra_free(polyhedra);
        snprintf(error, POLYHEDRA_ERROR_BYTES, "%s.", base_status_text(BASE_NO_MEMORY));
        return BASE_NO_MEMORY;
    }
    drop_empty(polyhedra);
    *made = polyhedra;
    return BASE_OK;
}

void polyhedra_free(struct polyhedra *polyhedra)
{
    if (!polyhedra)
        return;
    for (size_t i = 0; i < polyhedra->count; i++)
        free_scop(&polyhedra->scops[i]);
    free(polyhedra->scops);
    util_strings_free(&polyhedra->strings);
    isl_ctx_free(polyhedra->context);
    free(polyhedra);
}

size_t polyhedra_count(const struct polyhedra *polyhedra)
{
    return polyhedra->count;
}

/* ---- looking things up ------------------------------------------------------------------------------------------ */

const struct scop_array *array_of(const struct scop *scop, isl_map *relation)
{
    const char *name = isl_map_get_tuple_name(relation, isl_dim_out);
    for (size_t i = 0; name && i < scop->arrays_count; i++)
        if (strcmp(scop->arrays[i].name, name) == 0)
            return &scop->arrays[i];
    return NULL;
}

const struct scop_statement *statement_of(const struct scop *scop, size_t access, size_t *place)
{
    for (size_t i = 0; i < scop->statements_count; i++) {
        if (access < scop->statements[i].accesses_count) {
            *place = access;
            return &scop->statements[i];
        }
        access -= scop->statements[i].accesses_count;
    }
    return NULL;
}

/* ---- what it is ------------------------------------------------------------------------------------------------------ */

/* Of loads and stores that the source has? */
static bool has_own(const struct polyhedra *polyhedra, const struct scop_statement *statement)
{
    for (size_t i = 0; i < statement->accesses_count; i++) {
        const char *instruction = statement->accesses[i].instruction;
        if (!instruction || !ir_is_blank(polyhedra->ir, instruction))
            return true;
    }
    return false;
}

void polyhedra_about(const struct polyhedra *polyhedra, size_t index, struct polyhedra_about *about)
{
    const struct scop *scop = &polyhedra->scops[index];
    *about = (struct polyhedra_about){.symbol = scop->symbol,
                                      .function = ir_function_name(polyhedra->ir, scop->symbol),
                                      .file = ir_function_place(polyhedra->ir, scop->symbol).file};
    for (size_t i = 0; i < scop->statements_count; i++) {
        const struct scop_statement *statement = &scop->statements[i];
        unsigned depth = (unsigned)isl_set_dim(statement->domain, isl_dim_set);
        if (depth > about->depth && has_own(polyhedra, statement))
            about->depth = depth;
        for (size_t j = 0; j < statement->instructions_count; j++) {
            uint32_t line = ir_place_of(polyhedra->ir, statement->instructions[j]).line;
            if (line && (!about->first_line || line < about->first_line))
                about->first_line = line;
            if (line > about->last_line)
                about->last_line = line;
        }
    }
}

uint32_t polyhedra_loop_line(const struct polyhedra *polyhedra, size_t index)
{
    const struct scop *scop = &polyhedra->scops[index];
    struct ir_place first = {0};
    uint32_t line = 0;
    for (size_t i = 0; i < scop->statements_count; i++) {
        const struct scop_statement *statement = &scop->statements[i];
        for (size_t j = 0; j < statement->instructions_count; j++) {
            struct ir_place place = ir_place_of(polyhedra->ir, statement->instructions[j]);
            if (place.line && (!first.line || place.line < first.line))
                first = place;
        }
    }
    if (first.line)
        ir_loops_around(polyhedra->ir, scop->symbol, first, &line, 1);
    return line;
}

/* The name that an expression of LLVM has in the source, or itself. */
static const char *source_name(const struct polyhedra *polyhedra, const struct scop *scop,
                               const char *expression)
{
    const char *name = ir_value_name(polyhedra->ir, scop->symbol, expression);
    return name ? name : expression;
}

static const char *parameter_of(const struct polyhedra *polyhedra, const struct scop *scop,
                                const struct scop_statement *statement)
{
    if (!statement->accesses_count)
        return NULL;
    for (int i = 0; i < isl_set_dim(statement->domain, isl_dim_param); i++) {
        bool needed = isl_set_involves_dims(statement->domain, isl_dim_param, (unsigned)i, 1);
        for (size_t j = 0; j < statement->accesses_count && !needed; j++)
            needed = isl_map_involves_dims(statement->accesses[j].relation, isl_dim_param,
                                           (unsigned)i, 1);
        if (!needed)
            continue;
        const char *name = isl_set_get_dim_name(statement->domain, isl_dim_param, (unsigned)i);
        unsigned long number =
            name && begins(name, "p_") ? strtoul(name + 2, NULL, 10) : PARAMETERS_MAX;
        const char *expression = number < PARAMETERS_MAX ? scop->parameters[number] : NULL;
        return expression ? source_name(polyhedra, scop, expression) : name ? name : "?";
    }
    return NULL;
}

const char *polyhedra_parameter(const struct polyhedra *polyhedra, size_t index)
{
    const struct scop *scop = &polyhedra->scops[index];
    for (size_t i = 0; i < scop->statements_count; i++) {
        const char *parameter = parameter_of(polyhedra, scop, &scop->statements[i]);
        if (parameter)
            return parameter;
    }
    for (size_t i = 0; i < scop->arrays_count; i++)
        if (scop->arrays[i].unknown)
            return source_name(polyhedra, scop, scop->arrays[i].unknown);
    return NULL;
}
