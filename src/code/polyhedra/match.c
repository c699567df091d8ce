// SPDX-License-Identifier: MIT
/*
 * Which instruction is which access. Polly prints the loads and stores of a statement's first block, in the order of its accesses; loads that it
 * has taken out of the nest, because they always have the same result, are printed and are no accesses. Of a statement that is more than a
 * block, as its control flow depends on data, the rest is not printed: it is among the next loads and stores of the function. An access
 * has the first of all these that does the same, at an address that is computed from the same pointer as that of other accesses to its array.
 */
#include "polyhedra/internal.h"

#include <isl/map.h>
#include <isl/set.h>
#include <stdlib.h>

enum { FURTHER = 16 /* beyond as many as there are accesses */ };

struct candidate {
    const char *instruction;
    const char *base; /* NULL: unknown */
    bool printed, used;
};

struct matching {
    const struct polyhedra *polyhedra;
    struct scop *scop;
    struct candidate *candidates;
    size_t count, capacity;
};

static bool is_stored(const struct scop *scop, const char *load)
{
    for (size_t i = 0; i < scop->statements_count; i++)
        for (size_t j = 0; j < scop->statements[i].instructions_count; j++) {
            const char *other = scop->statements[i].instructions[j];
            if (ir_is_store(other) && ir_same_address(load, other))
                return true;
        }
    return false;
}

static bool is_hoisted(const struct polyhedra *polyhedra, const struct scop *scop,
                       const char *instruction)
{
    return scop->hoists && !ir_is_store(instruction) &&
           ir_is_fixed(polyhedra->ir, scop->symbol, instruction) && !is_stored(scop, instruction);
}

static bool is_of_statement(const struct scop *scop, const char *instruction)
{
    for (size_t i = 0; i < scop->statements_count; i++)
        for (size_t j = 0; j < scop->statements[i].instructions_count; j++)
            if (scop->statements[i].instructions[j] == instruction)
                return true;
    return false;
}

static bool add(struct matching *matching, const char *instruction, bool printed)
{
    const struct polyhedra *polyhedra = matching->polyhedra;
    struct candidate candidate = {
        instruction, ir_accessed_base(polyhedra->ir, matching->scop->symbol, instruction), printed,
        false};
    return UTIL_PUSH(matching->candidates, matching->count, matching->capacity, candidate);
}

static bool find_candidates(struct matching *matching, const struct scop_statement *statement)
{
    const struct ir *ir = matching->polyhedra->ir;
    const struct scop *scop = matching->scop;
    matching->count = 0;
    for (size_t i = 0; i < statement->instructions_count; i++)
        if (!add(matching, statement->instructions[i], true))
            return false;
    const char *next = statement->last;
    for (size_t i = 0; next && i < statement->accesses_count + FURTHER; i++) {
        next = ir_next_access(ir, scop->symbol, next);
        if (next && !is_of_statement(scop, next) && !add(matching, next, false))
            return false;
    }
    return true;
}

/* An array's accesses have one pointer, and no two arrays have the same. */
static bool is_base_of(const struct scop *scop, const struct scop_array *array, const char *base)
{
    if (!array || !base)
        return true;
    if (array->base)
        return ir_same_value(array->base, base);
    for (size_t i = 0; i < scop->arrays_count; i++)
        if (scop->arrays[i].base && ir_same_value(scop->arrays[i].base, base))
            return false;
    return true;
}

/* To one element alone, as of a scalar in memory. */
static bool is_single(const struct scop_access *access)
{
    isl_set *elements = isl_map_range(isl_map_copy(access->relation));
    bool single = isl_set_is_singleton(elements) == isl_bool_true;
    isl_set_free(elements);
    return single;
}

static void match_access(struct matching *matching, struct scop_access *access)
{
    const struct scop *scop = matching->scop;
    const struct scop_array *array = array_of(scop, access->relation);
    bool single = is_single(access);
    access->conditional = true;
    for (size_t i = 0; i < matching->count; i++) {
        struct candidate *candidate = &matching->candidates[i];
        if (candidate->used || ir_is_store(candidate->instruction) != access->write ||
            !is_base_of(scop, array, candidate->base) ||
            (!single && is_hoisted(matching->polyhedra, scop, candidate->instruction)))
            continue;
        candidate->used = true;
        access->instruction = candidate->instruction;
        access->conditional = !candidate->printed;
        if (array && !array->base)
            matching->scop->arrays[array - scop->arrays].base = candidate->base;
        return;
    }
}

static void match_statement(struct matching *matching, struct scop_statement *statement)
{
    size_t left = 0;
    for (size_t i = 0; i < statement->accesses_count; i++)
        match_access(matching, &statement->accesses[i]);
    for (size_t i = 0; i < matching->count; i++)
        left +=
            matching->candidates[i].printed && !matching->candidates[i].used &&
            !is_hoisted(matching->polyhedra, matching->scop, matching->candidates[i].instruction);
    /* One that has none, while a printed one is left, is of the first block, too. */
    for (size_t i = 0; i < statement->accesses_count && left; i++)
        if (!statement->accesses[i].instruction) {
            statement->accesses[i].conditional = false;
            left--;
        }
}

bool match_all(struct polyhedra *polyhedra)
{
    struct matching matching = {.polyhedra = polyhedra};
    bool good = true;
    for (size_t i = 0; good && i < polyhedra->count; i++) {
        matching.scop = &polyhedra->scops[i];
        for (size_t j = 0; good && j < matching.scop->statements_count; j++) {
            good = find_candidates(&matching, &matching.scop->statements[j]);
            if (good)
                match_statement(&matching, &matching.scop->statements[j]);
        }
    }
    free(matching.candidates);
    return good;
}
