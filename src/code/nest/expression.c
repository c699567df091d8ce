// SPDX-License-Identifier: MIT
/* Expressions: built with constants folded, evaluated, bounded. */
#include "nest/nest.h"

#include <string.h>

static int64_t floor_quotient(int64_t a, int64_t b)
{
    int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t apply(enum nest_operation operation, int64_t a, int64_t b)
{
    switch (operation) {
    case NEST_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case NEST_SUBTRACT: return (int64_t)((uint64_t)a - (uint64_t)b);
    case NEST_MULTIPLY: return (int64_t)((uint64_t)a * (uint64_t)b);
    case NEST_MINIMUM: return a < b ? a : b;
    case NEST_MAXIMUM: return a > b ? a : b;
    case NEST_QUOTIENT: return b > 0 ? floor_quotient(a, b) : 0;
    case NEST_REMAINDER: return b > 0 ? a - b * floor_quotient(a, b) : 0;
    case NEST_EQUAL: return a == b;
    case NEST_AT_MOST: return a <= b;
    case NEST_LESS: return a < b;
    case NEST_AND: return a && b;
    case NEST_OR: return a || b;
    default: return 0;
    }
}

static uint32_t add(struct nest *nest, struct nest_expression expression)
{
    if (!UTIL_PUSH(nest->expressions, nest->expressions_count, nest->expressions_capacity,
                   expression))
        return NEST_NONE;
    return (uint32_t)(nest->expressions_count - 1);
}

uint32_t nest_constant(struct nest *nest, int64_t value)
{
    return add(nest, (struct nest_expression){.operation = NEST_CONSTANT, .value = value});
}

uint32_t nest_iterator(struct nest *nest, uint32_t slot)
{
    return add(nest, (struct nest_expression){.operation = NEST_ITERATOR, .value = slot});
}

uint32_t nest_binary(struct nest *nest, enum nest_operation operation, uint32_t left,
                     uint32_t right)
{
    if (left == NEST_NONE || right == NEST_NONE)
        return NEST_NONE;
    const struct nest_expression *a = &nest->expressions[left], *b = &nest->expressions[right];
    if (a->operation == NEST_CONSTANT && b->operation == NEST_CONSTANT)
        return nest_constant(nest, apply(operation, a->value, b->value));
    return add(nest, (struct nest_expression){operation, left, right, 0, 0});
}

uint32_t nest_choice(struct nest *nest, uint32_t condition, uint32_t left, uint32_t right)
{
    if (condition == NEST_NONE || left == NEST_NONE || right == NEST_NONE)
        return NEST_NONE;
    if (nest->expressions[condition].operation == NEST_CONSTANT)
        return nest->expressions[condition].value ? left : right;
    return add(nest, (struct nest_expression){NEST_CHOICE, left, right, condition, 0});
}

int64_t nest_value(const struct nest *nest, uint32_t expression, const int64_t *iterators)
{
    const struct nest_expression *at = &nest->expressions[expression];
    switch (at->operation) {
    case NEST_CONSTANT: return at->value;
    case NEST_ITERATOR: return iterators[at->value];
    case NEST_CHOICE:
        return nest_value(nest, nest_value(nest, at->condition, iterators) ? at->left : at->right,
                          iterators);
    case NEST_AND:
        return nest_value(nest, at->left, iterators) && nest_value(nest, at->right, iterators);
    case NEST_OR:
        return nest_value(nest, at->left, iterators) || nest_value(nest, at->right, iterators);
    default:
        return apply(at->operation, nest_value(nest, at->left, iterators),
                     nest_value(nest, at->right, iterators));
    }
}

static bool combine(const struct nest *nest, const struct nest_expression *at,
                    struct nest_affine *affine)
{
    struct nest_affine left, right;
    if (!nest_affine_of(nest, at->left, &left) || !nest_affine_of(nest, at->right, &right))
        return false;
    if (at->operation == NEST_MULTIPLY) {
        bool constant = nest->expressions[at->left].operation == NEST_CONSTANT;
        const struct nest_affine *of = constant ? &right : &left;
        int64_t by = constant ? left.constant : right.constant;
        if (!constant && nest->expressions[at->right].operation != NEST_CONSTANT)
            return false;
        affine->constant = by * of->constant;
        for (size_t i = 0; i < NEST_SLOTS; i++)
            affine->factors[i] = by * of->factors[i];
        return true;
    }
    int64_t sign = at->operation == NEST_SUBTRACT ? -1 : 1;
    affine->constant = left.constant + sign * right.constant;
    for (size_t i = 0; i < NEST_SLOTS; i++)
        affine->factors[i] = left.factors[i] + sign * right.factors[i];
    return true;
}

bool nest_affine_of(const struct nest *nest, uint32_t expression, struct nest_affine *affine)
{
    const struct nest_expression *at = &nest->expressions[expression];
    switch (at->operation) {
    case NEST_CONSTANT: *affine = (struct nest_affine){.constant = at->value}; return true;
    case NEST_ITERATOR:
        *affine = (struct nest_affine){0};
        affine->factors[at->value] = 1;
        return true;
    case NEST_ADD:
    case NEST_SUBTRACT:
    case NEST_MULTIPLY: return combine(nest, at, affine);
    default: return false;
    }
}

struct range {
    int64_t low, high;
};

static struct range multiply(struct range a, struct range b)
{
    int64_t products[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    struct range range = {products[0], products[0]};
    for (size_t i = 1; i < 4; i++) {
        range.low = products[i] < range.low ? products[i] : range.low;
        range.high = products[i] > range.high ? products[i] : range.high;
    }
    return range;
}

static struct range range_of(const struct nest *nest, uint32_t expression, const int64_t *least,
                             const int64_t *most)
{
    const struct nest_expression *at = &nest->expressions[expression];
    if (at->operation == NEST_CONSTANT)
        return (struct range){at->value, at->value};
    if (at->operation == NEST_ITERATOR)
        return (struct range){least[at->value], most[at->value]};
    struct range a = range_of(nest, at->left, least, most);
    struct range b = range_of(nest, at->right, least, most);
    switch (at->operation) {
    case NEST_ADD: return (struct range){a.low + b.low, a.high + b.high};
    case NEST_SUBTRACT: return (struct range){a.low - b.high, a.high - b.low};
    case NEST_MULTIPLY: return multiply(a, b);
    case NEST_MINIMUM:
    case NEST_MAXIMUM:
        return (struct range){apply(at->operation, a.low, b.low),
                              apply(at->operation, a.high, b.high)};
    case NEST_QUOTIENT:
        return (struct range){apply(NEST_QUOTIENT, a.low, b.low),
                              apply(NEST_QUOTIENT, a.high, b.low)};
    case NEST_REMAINDER: return (struct range){0, b.high - 1};
    case NEST_CHOICE:
        return (struct range){apply(NEST_MINIMUM, a.low, b.low),
                              apply(NEST_MAXIMUM, a.high, b.high)};
    default: return (struct range){0, 1};
    }
}

void nest_range(const struct nest *nest, uint32_t expression, const int64_t *least,
                const int64_t *most, int64_t *low, int64_t *high)
{
    struct range range = range_of(nest, expression, least, most);
    *low = range.low;
    *high = range.high;
}
