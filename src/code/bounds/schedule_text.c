// SPDX-License-Identifier: MIT
/* Optimistic schedules as text: schedule.h. */
#include "bounds/internal.h"
#include "bounds/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_BYTES = 512, SHOWN_ITERATIONS = 8 };

struct printing {
    const struct bounds_block *block;
    const struct bounds *bounds;
    const struct model_machine *machine;
    bounds_place *place;
    void *context;
    struct util_text *text;
};

static const char *const titles[SCHEDULE_KINDS] = {"data flow only", "units, infinite window",
                                                   "machine"};

static void print_cycles(const struct printing *printing, const struct schedule *schedules)
{
    size_t instructions = printing->block->count;
    util_text_print(printing->text, "optimistic schedule of %u iterations of %zu instructions\n\n",
                    schedules[0].iterations, instructions);
    util_text_print(printing->text, "%-24s %12s %14s %22s\n", "", "cycles", "an iteration",
                    "instructions a cycle");
    for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++) {
        const struct schedule *schedule = &schedules[kind];
        util_text_print(printing->text, "%-24s %12.0f %14.2f ", titles[kind], schedule->cycles,
                        schedule->iteration);
        if (schedule->cycles > 0)
            util_text_print(printing->text, "%22.2f\n",
                            (double)instructions * schedule->iterations / schedule->cycles);
        else
            util_text_print(printing->text, "%22s\n", "no limit");
    }
    util_text_print(printing->text, "%-24s %12s %14.2f\n", "predicted bound", "",
                    printing->bounds->predicted);
    util_text_print(printing->text, "%-24s %12s %14.2f\n", "certified bound", "",
                    printing->bounds->certified);
    const struct model_figure *buffer = &printing->machine->figures[MODEL_REORDER_BUFFER];
    const struct model_figure *width = &printing->machine->figures[MODEL_WIDTH];
    if (width->source != MODEL_UNKNOWN)
        util_text_print(printing->text, "\nmachine: %.0f slots a cycle", (double)width->value);
    else
        util_text_print(printing->text, "\nmachine: slots a cycle are not known");
    if (buffer->source != MODEL_UNKNOWN && buffer->value > 0)
        util_text_print(printing->text, ", a reorder buffer of %.0f\n", (double)buffer->value);
    else
        util_text_print(printing->text,
                        "; its reorder buffer is not known, and taken as infinite\n");
    if (printing->bounds->unknown)
        util_text_print(printing->text, "%u instructions are not in the model: estimated\n",
                        printing->bounds->unknown);
}

static void print_units(const struct printing *printing, const struct schedule *schedule)
{
    util_text_print(printing->text, "\n%-24s %14s %10s\n", "unit", "an iteration", "use ratio");
    for (size_t u = 0; u < printing->machine->unit_count; u++)
        if (schedule->work[u] > 0)
            util_text_print(
                printing->text, "%-24s %14.2f %10.2f\n", printing->machine->units[u].name,
                schedule->work[u] / schedule->iterations,
                schedule->work[u] / fmax(1, printing->machine->units[u].copies) / schedule->cycles);
}

static void print_part(const struct printing *printing, double cycles,
                       const struct schedule *schedule, const char *what)
{
    if (cycles > 0.005 * schedule->cycles)
        util_text_print(printing->text, "%14.2f  %s\n", cycles / schedule->iterations, what);
}

static void print_path(const struct printing *printing, const struct schedule *schedule)
{
    util_text_print(printing->text,
                    "\nthe machine's critical path: cycles an iteration that it spends in\n");
    for (size_t i = 0; i < printing->block->count; i++) {
        char where[PLACE_BYTES] = "", what[PLACE_BYTES + BOUNDS_TEXT_BYTES + 8];
        printing->place(printing->context, (uint32_t)i, where, sizeof where);
        snprintf(what, sizeof what, where[0] ? "%s  (%s)" : "%s",
                 printing->block->instructions[i].text, where);
        print_part(printing, schedule->path[i], schedule, what);
    }
    print_part(printing, schedule->path_units, schedule, "waiting for a unit");
    print_part(printing, schedule->path_front_end, schedule, "waiting for the front end");
    if (schedule->path_buffer > 0)
        util_text_print(printing->text,
                        "%14s  an instruction on it entered when another left the reorder buffer, "
                        "%.0f times\n",
                        "", schedule->path_buffer);
}

/* Of an instruction's results one stands for all. */
static bool is_shown(const struct bounds *bounds, uint32_t vertex)
{
    const struct bounds_vertex *made = &bounds->vertices[vertex];
    return !vertex || made->kind != BOUNDS_COMPUTES || made[-1].kind != BOUNDS_COMPUTES ||
           made[-1].instruction != made->instruction;
}

static int by_start(const void *left, const void *right)
{
    const struct schedule_operation *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->iteration != b->iteration)
        return a->iteration < b->iteration ? -1 : 1;
    return (a->vertex > b->vertex) - (a->vertex < b->vertex);
}

static bool print_trace(const struct printing *printing, const struct schedule *schedule)
{
    static const char *const kinds[] = {"load", "", "store"};
    uint32_t iterations =
        schedule->iterations < SHOWN_ITERATIONS ? schedule->iterations : SHOWN_ITERATIONS;
    size_t count = iterations * printing->bounds->vertex_count;
    struct schedule_operation *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return false;
    if (count)
        memcpy(sorted, schedule->operations, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_start);
    util_text_print(printing->text,
                    "\nthe machine's first %u iterations\n%10s %10s %9s  %-10s %s\n", iterations,
                    "cycle", "result", "iteration", "unit", "operation");
    for (size_t o = 0; o < count; o++) {
        const struct bounds_vertex *vertex = &printing->bounds->vertices[sorted[o].vertex];
        if (!is_shown(printing->bounds, sorted[o].vertex))
            continue;
        const char *unit = sorted[o].unit == SCHEDULE_NO_UNIT
                               ? "-"
                               : printing->machine->units[sorted[o].unit].name;
        util_text_print(printing->text, "%10.1f %10.1f %9u  %-10s %s%s%s\n",
                        (double)sorted[o].start / 1000, (double)sorted[o].end / 1000,
                        sorted[o].iteration + 1, unit, kinds[vertex->kind],
                        kinds[vertex->kind][0] ? " of " : "",
                        printing->block->instructions[vertex->instruction].text);
    }
    free(sorted);
    return true;
}

bool schedule_print(const struct bounds_block *block, const struct bounds *bounds,
                    const struct model *model, const struct bounds_options *options,
                    uint32_t iterations, bounds_place *place, void *context, struct util_text *text)
{
    struct printing printing = {block, bounds, model_machine(model), place, context, text};
    struct schedule schedules[SCHEDULE_KINDS] = {0};
    bool good = true;
    for (unsigned kind = 0; kind < SCHEDULE_KINDS && good; kind++)
        good = schedule_of(block, bounds, model, options, (enum schedule_kind)kind, iterations,
                           &schedules[kind]) == BASE_OK;
    if (good) {
        print_cycles(&printing, schedules);
        print_units(&printing, &schedules[SCHEDULE_MACHINE]);
        print_path(&printing, &schedules[SCHEDULE_MACHINE]);
        good = print_trace(&printing, &schedules[SCHEDULE_MACHINE]) && !text->failed;
    }
    for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++)
        schedule_free(&schedules[kind]);
    return good;
}
