// SPDX-License-Identifier: MIT
/*
 * Rows of arrays. Sets of constant sizes know A[100 * i + j] and not A[i][j]: the least factor is looked for that takes all accesses
 * apart into a row and a place within it.
 */
#include "polyhedra/internal.h"

#include <isl/aff.h>
#include <isl/ilp.h>
#include <isl/val.h>
#include <stdlib.h>

enum { FACTORS_MAX = 64 };

static int64_t floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Of an isl value that is taken; *good: it is a whole number. */
static int64_t whole(isl_val *value, bool *good)
{
    *good &= value && isl_val_is_int(value) == isl_bool_true;
    int64_t number = *good ? isl_val_get_num_si(value) : 0;
    isl_val_free(value);
    return number;
}

static isl_stat take_piece(isl_set *domain, isl_aff *aff, void *user)
{
    isl_aff **taken = user;
    isl_set_free(domain);
    *taken = aff;
    return isl_stat_ok;
}

/* The one affine expression that it is on its domain; NULL: it is more, or divides. Takes it. */
static isl_aff *single(isl_pw_aff *index)
{
    isl_aff *aff = NULL;
    if (isl_pw_aff_n_piece(index) == 1)
        isl_pw_aff_foreach_piece(index, take_piece, &aff);
    isl_pw_aff_free(index);
    if (aff && isl_aff_dim(aff, isl_dim_div) > 0)
        return isl_aff_free(aff);
    return aff;
}

isl_aff *rows_of(isl_pw_aff *index, isl_set *domain, int64_t elements, int64_t *most)
{
    isl_aff *aff = single(isl_pw_aff_copy(index));
    if (!aff)
        return NULL;
    bool good = true;
    isl_aff *column = isl_aff_copy(aff), *row = isl_aff_copy(aff);
    int count = isl_aff_dim(aff, isl_dim_in);
    for (int i = 0; i < count; i++) {
        int64_t factor = whole(isl_aff_get_coefficient_val(aff, isl_dim_in, i), &good);
        int64_t rows = floor_quotient(factor + elements / 2, elements);
        row = isl_aff_set_coefficient_si(row, isl_dim_in, i, (int)rows);
        column = isl_aff_set_coefficient_si(column, isl_dim_in, i, (int)(factor - rows * elements));
    }
    int64_t low = whole(isl_set_min_val(domain, column), &good);
    int64_t high = whole(isl_set_max_val(domain, column), &good);
    int64_t rows = good ? floor_quotient(low, elements) : 0;
    row = isl_aff_set_constant_si(row, (int)rows);
    isl_aff_free(column);
    isl_aff_free(aff);
    *most = high - rows * elements;
    if (!good || *most >= elements)
        return isl_aff_free(row);
    return row;
}

static isl_pw_aff *index_of(const struct scop_statement *statement,
                            const struct scop_access *access)
{
    isl_map *relation =
        isl_map_intersect_domain(isl_map_copy(access->relation), isl_set_copy(statement->domain));
    if (!isl_map_is_single_valued(relation))
        relation = isl_map_lexmin(relation);
    isl_pw_multi_aff *element = isl_pw_multi_aff_from_map(relation);
    isl_pw_aff *index = isl_pw_multi_aff_get_pw_aff(element, 0);
    isl_pw_multi_aff_free(element);
    return isl_pw_aff_drop_unused_params(index);
}

struct factors {
    int64_t values[FACTORS_MAX];
    size_t count;
};

static void note_factors(struct factors *factors, isl_pw_aff *index)
{
    isl_aff *aff = single(index);
    int count = aff ? isl_aff_dim(aff, isl_dim_in) : 0;
    for (int i = 0; i < count; i++) {
        bool good = true;
        int64_t value = llabs(whole(isl_aff_get_coefficient_val(aff, isl_dim_in, i), &good));
        size_t at = 0;
        while (at < factors->count && factors->values[at] != value)
            at++;
        if (good && value > 1 && at == factors->count && at < FACTORS_MAX)
            factors->values[factors->count++] = value;
    }
    isl_aff_free(aff);
}

/* All accesses fall apart, and rows are used beyond their half. */
static bool divides(const struct scop *scop, const struct scop_array *array, int64_t elements)
{
    bool used = false;
    for (size_t i = 0; i < scop->statements_count; i++) {
        const struct scop_statement *statement = &scop->statements[i];
        for (size_t j = 0; j < statement->accesses_count; j++) {
            if (array_of(scop, statement->accesses[j].relation) != array)
                continue;
            int64_t most = 0;
            isl_pw_aff *index = index_of(statement, &statement->accesses[j]);
            isl_aff *row = rows_of(index, statement->domain, elements, &most);
            bool good = row != NULL;
            isl_pw_aff_free(index);
            isl_aff_free(row);
            if (!good)
                return false;
            used |= most >= elements / 2;
        }
    }
    return used;
}

static int ascending(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

int64_t rows_elements(const struct scop *scop, const struct scop_array *array)
{
    struct factors factors = {.count = 0};
    if (array->dimensions > 1)
        return array->sizes[array->dimensions - 1] > 0 ? array->sizes[array->dimensions - 1] : 0;
    if (!array->dimensions)
        return 0;
    for (size_t i = 0; i < scop->statements_count; i++) {
        const struct scop_statement *statement = &scop->statements[i];
        for (size_t j = 0; j < statement->accesses_count; j++)
            if (array_of(scop, statement->accesses[j].relation) == array)
                note_factors(&factors, index_of(statement, &statement->accesses[j]));
    }
    qsort(factors.values, factors.count, sizeof *factors.values, ascending);
    for (size_t i = 0; i < factors.count; i++)
        if (divides(scop, array, factors.values[i]))
            return factors.values[i];
    return 0;
}
