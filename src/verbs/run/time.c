// SPDX-License-Identifier: MIT
/*
 * CPU time by function and by line. A function that is active several times in a stack has the
 * stack's time once.
 */
#include "run/internal.h"

#include <stdlib.h>

/* What frames are rows of, and which row was last given the time of which stack. */
struct table {
    struct time_rows rows;
    struct util_index index;
    uint32_t *row_of;   /* by frame id, + 1; 0: not looked up yet */
    uint64_t *stack_of; /* by row: number of the stack that was counted last */
    size_t stacks_capacity;
    bool lines;
};

struct key {
    const struct profile_frame *frames;
    const struct profile_frame *wanted;
    bool lines;
};

/* ---- rows ------------------------------------------------------------------------------------ */

static bool equal_row(const void *items, uint32_t item, const void *context)
{
    const struct key *key = context;
    const struct profile_frame *frame = &key->frames[((const struct time_row *)items)[item].frame];
    return key->lines ? place_same_line(frame, key->wanted)
                      : place_same_function(frame, key->wanted);
}

/* The row of the frame. False: no memory. */
static bool find_row(struct table *table, const struct profile *profile, uint32_t frame,
                     uint32_t *item)
{
    if (table->row_of[frame]) {
        *item = table->row_of[frame] - 1;
        return true;
    }
    const struct profile_frame *wanted = &profile->frames[frame];
    struct key key = {profile->frames, wanted, table->lines};
    uint64_t hash = table->lines ? place_line_hash(wanted) : place_function_hash(wanted);
    bool found;
    if (!UTIL_GROW(table->rows.items, table->rows.capacity, table->rows.count) ||
        !UTIL_GROW_ZEROED(table->stack_of, table->stacks_capacity, table->rows.count) ||
        !util_index_enter(&table->index, hash, equal_row, table->rows.items, &key,
                          (uint32_t)table->rows.count, item, &found))
        return false;
    if (!found)
        table->rows.items[table->rows.count++] = (struct time_row){.frame = frame};
    table->row_of[frame] = *item + 1;
    return true;
}

/* ---- stacks ----------------------------------------------------------------------------------- */

/* number: of the stack, from 1. */
static bool add_stack(struct table *table, const struct places *places,
                      const struct profile_time *time, uint64_t number)
{
    uint32_t place = places->place_of[time->context], own = places->own[place], item;
    double ns = (double)time->ns;
    for (uint32_t at = place; at; at = places->items[at].parent) {
        if (!find_row(table, places->profile, places->items[at].class, &item))
            return false;
        struct time_row *row = &table->rows.items[item];
        if (at == place) {
            row->ticks += time->ticks;
            row->self += ns;
        }
        if (at == own)
            row->own += ns;
        if (table->stack_of[item] != number)
            row->total += ns;
        table->stack_of[item] = number;
    }
    return true;
}

static int compare_rows(const void *left, const void *right)
{
    const struct time_row *a = left, *b = right;
    if (a->own != b->own)
        return a->own > b->own ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

static bool make_rows(const struct places *places, bool lines, struct time_rows *rows)
{
    const struct profile *profile = places->profile;
    struct table table = {.lines = lines};
    table.row_of = calloc(profile->frames_count + 1, sizeof *table.row_of);
    bool good = table.row_of != NULL;
    for (size_t i = 0; good && i < profile->times_count; i++)
        good = add_stack(&table, places, &profile->times[i], i + 1);
    if (good && table.rows.count)
        qsort(table.rows.items, table.rows.count, sizeof *table.rows.items, compare_rows);
    util_index_free(&table.index);
    free(table.row_of);
    free(table.stack_of);
    if (good)
        *rows = table.rows;
    else
        free(table.rows.items);
    return good;
}

bool time_make(const struct places *places, struct time_profile *time)
{
    const struct profile *profile = places->profile;
    struct time_profile made = {0};
    for (size_t i = 0; i < profile->times_count; i++) {
        const struct profile_time *row = &profile->times[i];
        double ns = (double)row->ns;
        made.ticks += row->ticks;
        made.ns += ns;
        made.squares += row->ticks ? ns * ns / (double)row->ticks : 0;
        made.system += row->system ? ns : 0;
        made.unknown += row->context ? 0 : ns;
    }
    if (!make_rows(places, false, &made.functions) || !make_rows(places, true, &made.lines)) {
        time_free(&made);
        return false;
    }
    *time = made;
    return true;
}

void time_free(struct time_profile *time)
{
    free(time->functions.items);
    free(time->lines.items);
}

struct profile_share time_share(const struct time_profile *time, double part)
{
    return profile_share(part, time->ns, time->squares);
}
