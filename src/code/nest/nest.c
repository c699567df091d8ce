// SPDX-License-Identifier: MIT
/* The tree: what is derived from it, how often statements are executed, who touches memory first. */
#include "nest/nest.h"

#include <stdlib.h>
#include <string.h>

void nest_free(struct nest *nest)
{
    if (!nest)
        return;
    free(nest->expressions);
    free(nest->nodes);
    free(nest->children);
    free(nest->accesses);
    free(nest->references);
    free(nest->arrays);
    util_strings_free(&nest->strings);
    free(nest);
}

const char *nest_keep(struct nest *nest, const char *text)
{
    uint32_t number;
    if (!text || !util_strings_add(&nest->strings, text, strlen(text), &number))
        return NULL;
    return nest->strings.texts[number];
}

/* ---- derived -------------------------------------------------------------------------------------------- */

static bool is_flat(const struct nest *nest, const struct nest_node *node)
{
    for (uint32_t i = 0; i < node->count; i++) {
        const struct nest_node *child = &nest->nodes[nest->children[node->first + i]];
        if (child->kind == NEST_BLOCK && is_flat(nest, child))
            continue;
        if (child->kind != NEST_STATEMENT)
            return false;
        for (uint32_t j = 0; j < child->count; j++)
            if (nest->accesses[child->first + j].bytes_offset != NEST_NONE)
                return false;
    }
    return true;
}

static void affine_range(const struct nest *nest, const struct nest_access *access,
                         const int64_t *least, const int64_t *most, int64_t *low, int64_t *high)
{
    if (access->bytes_offset != NEST_NONE) {
        nest_range(nest, access->bytes_offset, least, most, low, high);
        return;
    }
    *low = *high = access->affine.constant;
    for (uint32_t i = 0; i < nest->slots; i++) {
        int64_t factor = access->affine.factors[i];
        *low += factor * (factor > 0 ? least[i] : most[i]);
        *high += factor * (factor > 0 ? most[i] : least[i]);
    }
}

static void widen_array(struct nest *nest, const struct nest_access *access)
{
    const struct nest_reference *reference = &nest->references[access->reference];
    struct nest_array *array = &nest->arrays[reference->array];
    int64_t least[NEST_SLOTS], most[NEST_SLOTS], low, high;
    nest_box(nest, access->statement, least, most);
    affine_range(nest, access, least, most, &low, &high);
    high += reference->bytes;
    bool empty = array->low == array->high;
    if (empty && low > 0) /* it begins where its first element is, accessed or not */
        low = 0;
    if (empty || low < array->low)
        array->low = low;
    if (empty || high > array->high)
        array->high = high;
}

void nest_finish(struct nest *nest)
{
    nest->slots = 0;
    for (size_t i = 0; i < nest->nodes_count; i++) {
        struct nest_node *node = &nest->nodes[i];
        if (node->kind != NEST_LOOP)
            continue;
        node->flat = is_flat(nest, node);
        if (node->slot >= nest->slots)
            nest->slots = node->slot + 1;
    }
    for (size_t i = 0; i < nest->accesses_count; i++)
        widen_array(nest, &nest->accesses[i]);
    for (size_t i = 0; i < nest->arrays_count; i++)
        if (nest->arrays[i].bytes < nest->arrays[i].high - nest->arrays[i].low)
            nest->arrays[i].bytes = nest->arrays[i].high - nest->arrays[i].low;
}

/* Not from 0, so that no address is negative. */
void nest_place(struct nest *nest, int64_t align)
{
    int64_t next = INT64_C(1) << 32;
    for (size_t i = 0; i < nest->arrays_count; i++) {
        struct nest_array *array = &nest->arrays[i];
        next = (next + align - 1) / align * align;
        array->base = next - array->low;
        next += array->bytes;
    }
}

/* ---- boxes ------------------------------------------------------------------------------------------------ */

/* The nodes around `node`, outermost first. */
static size_t path_to(const struct nest *nest, uint32_t node, uint32_t *path, size_t most)
{
    size_t depth = 0;
    for (uint32_t at = node; at != NEST_NONE; at = nest->nodes[at].parent)
        depth++;
    size_t left = depth < most ? depth : most;
    for (uint32_t at = node; at != NEST_NONE && left; at = nest->nodes[at].parent)
        path[--left] = at;
    return depth < most ? depth : most;
}

enum { PATH_MAX_NODES = 4 * NEST_SLOTS };

void nest_box(const struct nest *nest, uint32_t node, int64_t *least, int64_t *most)
{
    uint32_t path[PATH_MAX_NODES];
    size_t depth = path_to(nest, node, path, PATH_MAX_NODES);
    memset(least, 0, NEST_SLOTS * sizeof *least);
    memset(most, 0, NEST_SLOTS * sizeof *most);
    for (size_t i = 0; i < depth; i++) {
        const struct nest_node *at = &nest->nodes[path[i]];
        int64_t low, high, ignored;
        if (at->kind != NEST_LOOP)
            continue;
        nest_range(nest, at->lower, least, most, &low, &ignored);
        nest_range(nest, at->upper, least, most, &ignored, &high);
        least[at->slot] = low;
        most[at->slot] = high < low ? low : high;
    }
}

bool nest_contains(const struct nest *nest, uint32_t statement, const int64_t *iterators)
{
    for (uint32_t node = statement; node != NEST_NONE; node = nest->nodes[node].parent) {
        const struct nest_node *at = &nest->nodes[node];
        if (at->kind == NEST_CONDITION && !nest_value(nest, at->lower, iterators))
            return false;
        if (at->kind != NEST_LOOP)
            continue;
        int64_t low = nest_value(nest, at->lower, iterators), value = iterators[at->slot];
        if (value < low || value > nest_value(nest, at->upper, iterators) ||
            (value - low) % at->step)
            return false;
    }
    return true;
}

/* ---- how often ---------------------------------------------------------------------------------------------- */

static bool depends_on(const struct nest *nest, uint32_t expression, uint32_t slot)
{
    const struct nest_expression *at = &nest->expressions[expression];
    if (at->operation == NEST_CONSTANT)
        return false;
    if (at->operation == NEST_ITERATOR)
        return at->value == slot;
    return depends_on(nest, at->left, slot) || depends_on(nest, at->right, slot) ||
           (at->operation == NEST_CHOICE && depends_on(nest, at->condition, slot));
}

struct counting {
    const struct nest *nest;
    uint32_t path[PATH_MAX_NODES];
    size_t depth;
    bool varies[PATH_MAX_NODES]; /* what lies below depends on the loop's iterator */
    int64_t iterators[NEST_SLOTS];
    uint64_t steps;
};

static uint64_t count_from(struct counting *counting, size_t index)
{
    const struct nest *nest = counting->nest;
    while (index < counting->depth) {
        const struct nest_node *at = &nest->nodes[counting->path[index]];
        if (at->kind == NEST_CONDITION && !nest_value(nest, at->lower, counting->iterators))
            return 0;
        if (at->kind == NEST_LOOP)
            break;
        index++;
    }
    if (index >= counting->depth || !counting->steps)
        return 1;
    counting->steps--;
    const struct nest_node *loop = &nest->nodes[counting->path[index]];
    int64_t low = nest_value(nest, loop->lower, counting->iterators);
    int64_t high = nest_value(nest, loop->upper, counting->iterators);
    if (high < low)
        return 0;
    if (!counting->varies[index]) {
        counting->iterators[loop->slot] = low;
        return (uint64_t)((high - low) / loop->step + 1) * count_from(counting, index + 1);
    }
    uint64_t sum = 0;
    for (int64_t i = low; i <= high && counting->steps; i += loop->step) {
        counting->iterators[loop->slot] = i;
        sum += count_from(counting, index + 1);
    }
    return sum;
}

uint64_t nest_executions(const struct nest *nest, uint32_t statement, uint64_t limit)
{
    struct counting counting = {.nest = nest, .steps = limit};
    counting.depth = path_to(nest, statement, counting.path, PATH_MAX_NODES);
    for (size_t i = 0; i < counting.depth; i++) {
        const struct nest_node *loop = &nest->nodes[counting.path[i]];
        for (size_t j = i + 1; loop->kind == NEST_LOOP && j < counting.depth; j++) {
            const struct nest_node *below = &nest->nodes[counting.path[j]];
            if (below->kind == NEST_LOOP || below->kind == NEST_CONDITION)
                counting.varies[i] |=
                    depends_on(nest, below->lower, loop->slot) ||
                    (below->kind == NEST_LOOP && depends_on(nest, below->upper, loop->slot));
        }
    }
    uint64_t count = count_from(&counting, 0);
    return counting.steps ? count : UINT64_MAX;
}

/* ---- the first touch -------------------------------------------------------------------------------------------- */

struct finding {
    const struct nest *nest;
    int64_t low, high;
    uint64_t steps;
    uint32_t *access;
    int64_t *iterators;
    int64_t least[NEST_SLOTS], most[NEST_SLOTS]; /* equal for the loops around */
};

/* Rounded down, rounded up; divisor > 0. */
static int64_t quotient_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t quotient_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* Of the slots not yet `taken`, the one that moves the address most; NEST_SLOTS: none moves it. Sets the range of them all. */
static uint32_t widest(const struct finding *finding, const struct nest_affine *affine,
                       uint64_t taken, int64_t *low, int64_t *high)
{
    uint32_t chosen = NEST_SLOTS;
    int64_t factor_most = 0;
    *low = *high = 0;
    for (uint32_t i = 0; i < finding->nest->slots; i++) {
        int64_t factor = affine->factors[i], size = factor < 0 ? -factor : factor;
        if (!factor || taken >> i & 1)
            continue;
        *low += factor * (factor > 0 ? finding->least[i] : finding->most[i]);
        *high += factor * (factor > 0 ? finding->most[i] : finding->least[i]);
        if (size > factor_most && finding->least[i] < finding->most[i]) {
            factor_most = size;
            chosen = i;
        }
    }
    return chosen;
}

enum { VALUES_TRIED = 3 };
_Static_assert(NEST_SLOTS <= 64, "slots are bits");

/* Can the slots that are not taken add up to something in [lowest, highest]? True if it takes too long to see. The one with the largest
   factor, that of the row of an array, leaves one or two values to itself; so it is known soon which columns of which rows may be meant. */
static bool adds_up(const struct finding *finding, const struct nest_affine *affine, uint64_t taken,
                    int64_t lowest, int64_t highest)
{
    int64_t low, high;
    uint32_t slot = widest(finding, affine, taken, &low, &high);
    if (low > highest || high < lowest)
        return false;
    if (slot == NEST_SLOTS)
        return true;
    int64_t factor = affine->factors[slot], size = factor < 0 ? -factor : factor;
    int64_t least = finding->least[slot], most = finding->most[slot];
    /* What the others may add, and with it the values of |factor| times the slot, or less that. */
    int64_t others_low = low - factor * (factor > 0 ? least : most);
    int64_t others_high = high - factor * (factor > 0 ? most : least);
    int64_t from = lowest - others_high, to = highest - others_low;
    int64_t first = factor > 0 ? quotient_up(from, size) : quotient_up(-to, size);
    int64_t last = factor > 0 ? quotient_down(to, size) : quotient_down(-from, size);
    first = first > least ? first : least;
    last = last < most ? last : most;
    if (last - first >= VALUES_TRIED)
        return true;
    for (int64_t at = first; at <= last; at++)
        if (adds_up(finding, affine, taken | UINT64_C(1) << slot, lowest - factor * at,
                    highest - factor * at))
            return true;
    return false;
}

static bool touches(const struct finding *finding, const struct nest_access *access)
{
    const struct nest *nest = finding->nest;
    const struct nest_reference *reference = &nest->references[access->reference];
    const struct nest_array *array = &nest->arrays[reference->array];
    int64_t low, high;
    if (array->base + array->low >= finding->high || array->base + array->high <= finding->low)
        return false;
    if (access->bytes_offset == NEST_NONE) {
        int64_t base = array->base + access->affine.constant;
        return adds_up(finding, &access->affine, 0, finding->low - reference->bytes + 1 - base,
                       finding->high - 1 - base);
    }
    affine_range(nest, access, finding->least, finding->most, &low, &high);
    return array->base + low < finding->high &&
           array->base + high + reference->bytes > finding->low;
}

/* Could anything below touch it? Sets the ranges of the loops below. */
static bool might_touch(struct finding *finding, uint32_t node)
{
    const struct nest *nest = finding->nest;
    const struct nest_node *at = &nest->nodes[node];
    if (at->kind == NEST_STATEMENT) {
        for (uint32_t i = 0; i < at->count; i++)
            if (touches(finding, &nest->accesses[at->first + i]))
                return true;
        return false;
    }
    if (at->kind == NEST_LOOP) {
        int64_t ignored, low, high;
        nest_range(nest, at->lower, finding->least, finding->most, &low, &ignored);
        nest_range(nest, at->upper, finding->least, finding->most, &ignored, &high);
        if (high < low)
            return false;
        finding->least[at->slot] = low;
        finding->most[at->slot] = high;
    }
    for (uint32_t i = 0; i < at->count; i++)
        if (might_touch(finding, nest->children[at->first + i]))
            return true;
    return false;
}

static bool find_from(struct finding *finding, uint32_t node);

/* By halves where nothing can be there: a loop of a million iterations costs 20 steps. */
static bool find_between(struct finding *finding, uint32_t node, int64_t first, int64_t last)
{
    const struct nest *nest = finding->nest;
    const struct nest_node *loop = &nest->nodes[node];
    if (first > last || !finding->steps)
        return false;
    finding->steps--;
    finding->least[loop->slot] = first;
    finding->most[loop->slot] = last;
    bool might = false;
    for (uint32_t i = 0; i < loop->count && !might; i++)
        might = might_touch(finding, nest->children[loop->first + i]);
    if (!might)
        return false;
    if (first == last) {
        finding->iterators[loop->slot] = first;
        return find_from(finding, nest->children[loop->first]);
    }
    int64_t middle = first + (last - first) / loop->step / 2 * loop->step;
    if (find_between(finding, node, first, middle))
        return true;
    return find_between(finding, node, middle + loop->step, last);
}

static bool find_in_statement(struct finding *finding, const struct nest_node *at)
{
    const struct nest *nest = finding->nest;
    for (uint32_t i = 0; i < at->count; i++) {
        const struct nest_access *access = &nest->accesses[at->first + i];
        int64_t address = nest_address(nest, access, finding->iterators);
        if (address < finding->high &&
            address + nest->references[access->reference].bytes > finding->low) {
            *finding->access = at->first + i;
            return true;
        }
    }
    return false;
}

static bool find_from(struct finding *finding, uint32_t node)
{
    const struct nest *nest = finding->nest;
    const struct nest_node *at = &nest->nodes[node];
    if (at->kind == NEST_STATEMENT)
        return find_in_statement(finding, at);
    if (at->kind == NEST_CONDITION && !nest_value(nest, at->lower, finding->iterators))
        return false;
    if (at->kind == NEST_LOOP) {
        int64_t low = nest_value(nest, at->lower, finding->iterators);
        int64_t high = nest_value(nest, at->upper, finding->iterators);
        return high >= low &&
               find_between(finding, node, low, low + (high - low) / at->step * at->step);
    }
    for (uint32_t i = 0; i < at->count; i++)
        if (find_from(finding, nest->children[at->first + i]))
            return true;
    return false;
}

bool nest_first_touch(const struct nest *nest, int64_t low, int64_t high, uint64_t steps,
                      uint32_t *access, int64_t *iterators, bool *unsure)
{
    struct finding finding = {.nest = nest,
                              .low = low,
                              .high = high,
                              .steps = steps,
                              .access = access,
                              .iterators = iterators};
    bool found = find_from(&finding, 0);
    *unsure = !finding.steps;
    return found;
}

/* ---- checks ----------------------------------------------------------------------------------------------------- */

bool nest_check(const struct nest *nest)
{
    for (size_t i = 0; i < nest->expressions_count; i++) {
        const struct nest_expression *at = &nest->expressions[i];
        bool leaf = at->operation == NEST_CONSTANT || at->operation == NEST_ITERATOR;
        if (!leaf && (at->left >= i || at->right >= i || at->condition >= i))
            return false;
    }
    for (size_t i = 0; i < nest->nodes_count; i++) {
        const struct nest_node *node = &nest->nodes[i];
        size_t end = node->kind == NEST_STATEMENT ? nest->accesses_count : nest->children_count;
        if (node->first + (size_t)node->count > end || (node->parent == NEST_NONE) != (i == 0))
            return false;
        for (uint32_t j = 0; node->kind != NEST_STATEMENT && j < node->count; j++) {
            const struct nest_node *child = &nest->nodes[nest->children[node->first + j]];
            if (child->parent != i || child->position != j)
                return false;
        }
        if (node->kind == NEST_LOOP &&
            (node->step <= 0 || node->slot >= NEST_SLOTS || node->count != 1))
            return false;
    }
    return true;
}
