// SPDX-License-Identifier: MIT
/* Schedules of what loops executed, as text. */
#include "assess/windows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_BYTES = 512, PATH_ROWS = 40 };

static const char *const kind_titles[SCHEDULE_KINDS] = {"data flow only", "units, infinite window",
                                                        "machine"};

static void place_of(const struct windows_code *code, char *text, size_t bytes)
{
    const char *name = code->file ? strrchr(code->file, '/') : NULL;
    text[0] = 0;
    if (code->file && code->line)
        snprintf(text, bytes, "  (%s:%u)", name ? name + 1 : code->file, code->line);
}

/* ---- what it is of ------------------------------------------------------------------------------------ */

static void print_windows(const struct windows *windows, const struct windows_sum *sum,
                          struct util_text *text)
{
    util_text_print(text,
                    "executed: %" PRIu64 " iterations, %" PRIu64
                    " instructions, of which %.1f %% in the loop and what it "
                    "calls\n"
                    "in %zu window%s, drawn from %" PRIu64 " executions of its head\n\n",
                    sum->iterations, sum->instructions,
                    100 * (double)sum->inside / (double)sum->instructions, windows->count,
                    windows->count == 1 ? "" : "s", windows->items[0].row->executions);
    util_text_print(text, "%16s %12s %14s %8s\n", "from execution", "iterations", "instructions",
                    "thread");
    for (size_t w = 0; w < windows->count; w++)
        util_text_print(text, "%16" PRIu64 " %12" PRIu64 " %14zu %8u\n",
                        windows->items[w].row->execution, windows->items[w].iteration_count,
                        windows->items[w].executed.block.count, windows->items[w].row->thread);
}

/* ---- cycles ---------------------------------------------------------------------------------------------- */

static void print_memory(const struct windows_sum *sum, const struct assess_memory *memory,
                         struct util_text *text)
{
    const struct executed_latencies *latencies = &memory->latencies;
    switch (sum->memory) {
    case EXECUTED_UNIFORM:
        util_text_print(text, "\nmemory: uniform, all loads hit the first-level cache\n");
        return;
    case EXECUTED_COMPULSORY:
        util_text_print(text,
                        "\nmemory: compulsory, the first access to each line of a window misses, "
                        "and a load then takes %.0f cycles:\n%" PRIu64 " of %" PRIu64 " loads\n",
                        (double)latencies->cycles[latencies->levels - 1], sum->misses, sum->loads);
        return;
    default:
        util_text_print(text, "\nmemory: %s, %" PRIu64 " of %" PRIu64 " loads %s; they take",
                        executed_memory_names[sum->memory], sum->misses, sum->loads,
                        sum->memory == EXECUTED_EXPECTED ? "may miss" : "miss");
        for (uint32_t l = 1; l < latencies->levels; l++)
            util_text_print(text, "%s %.0f", l > 1 ? "," : "", (double)latencies->cycles[l]);
        util_text_print(text, " cycles\n");
    }
}

static void print_cycles(const struct windows_sum *sum, struct util_text *text)
{
    util_text_print(text, "%-24s %12s %14s %22s\n", "", "cycles", "an iteration",
                    "instructions a cycle");
    for (unsigned kind = 0; kind <= sum->shown; kind++) {
        util_text_print(text, "%-24s %12.0f %14.2f ", kind_titles[kind], sum->cycles[kind],
                        sum->cycles[kind] / (double)sum->iterations);
        if (sum->cycles[kind] > 0)
            util_text_print(text, "%22.2f\n", (double)sum->instructions / sum->cycles[kind]);
        else
            util_text_print(text, "%22s\n", "no limit");
    }
}

static void print_machine(const struct profile_limit_loop *loop, const struct model *model,
                          struct util_text *text)
{
    const struct model_machine *machine = model_machine(model);
    util_text_print(text, "%-24s %12s %14.2f  of one way through it\n", "predicted bound", "",
                    loop->predicted);
    util_text_print(text, "%-24s %12s %14.2f\n", "certified bound", "", loop->certified);
    if (loop->measured >= 0)
        util_text_print(text, "%-24s %12s %14.2f  mean of all executions\n", "measured", "",
                        loop->measured);
    if (executed_has_buffer(model))
        util_text_print(text, "\nmachine: %.0f slots a cycle, a reorder buffer of %.0f\n",
                        (double)machine->figures[MODEL_WIDTH].value,
                        (double)machine->figures[MODEL_REORDER_BUFFER].value);
    else
        util_text_print(text, "\nHow far this machine looks ahead, its reorder buffer, is not "
                              "known: there is no schedule with it.\n");
}

/* ---- units and path ------------------------------------------------------------------------------------------ */

static void print_units(const struct windows_sum *sum, const struct model *model,
                        struct util_text *text)
{
    const struct model_machine *machine = model_machine(model);
    util_text_print(text, "\n%-24s %14s %10s  of '%s'\n", "unit", "an iteration", "use ratio",
                    kind_titles[sum->shown]);
    for (size_t u = 0; u < machine->unit_count; u++)
        if (sum->work[u] > 0)
            util_text_print(text, "%-24s %14.2f %10.2f\n", machine->units[u].name,
                            sum->work[u] / (double)sum->iterations,
                            sum->work[u] / fmax(1, machine->units[u].copies) /
                                sum->cycles[sum->shown]);
}

static int by_path(const void *a, const void *b)
{
    const struct windows_code *const *first = a, *const *second = b;
    double left = (*first)->path, right = (*second)->path;
    return (left < right) - (left > right);
}

static void print_part(const struct windows_sum *sum, double cycles, const char *what,
                       struct util_text *text)
{
    if (cycles > 0.005 * sum->cycles[sum->shown])
        util_text_print(text, "%14.2f %14s  %s\n", cycles / (double)sum->iterations, "", what);
}

static bool print_path(const struct windows *windows, const struct windows_sum *sum,
                       struct util_text *text)
{
    const struct windows_code **sorted = calloc(windows->code_count + 1, sizeof *sorted);
    if (!sorted)
        return false;
    for (size_t c = 0; c < windows->code_count; c++)
        sorted[c] = &windows->codes[c];
    qsort(sorted, windows->code_count, sizeof *sorted, by_path);
    util_text_print(text, "\nits critical path: cycles an iteration that it spends in\n%14s %14s\n",
                    "cycles", "executed");
    for (size_t c = 0; c < windows->code_count && c < PATH_ROWS; c++) {
        char where[PLACE_BYTES];
        if (sorted[c]->path <= 0.005 * sum->cycles[sum->shown])
            break;
        place_of(sorted[c], where, sizeof where);
        util_text_print(text, "%14.2f %14.2f  %s%s\n", sorted[c]->path / (double)sum->iterations,
                        (double)sorted[c]->times / (double)sum->iterations,
                        sorted[c]->instruction.text, where);
    }
    free(sorted);
    print_part(sum, sum->path_units, "waiting for a unit", text);
    print_part(sum, sum->path_front_end, "waiting for the front end", text);
    if (sum->path_buffer > 0)
        util_text_print(text,
                        "%29s  an instruction on it entered when another left the reorder buffer, "
                        "%.0f times\n",
                        "", sum->path_buffer);
    return true;
}

bool windows_print_operations(const struct windows *windows, const struct executed_graph *graph,
                              const struct schedule *first, const struct model *model,
                              struct util_text *text)
{
    static const char *const kinds[] = {"load", "", "store"};
    const struct windows_window *window = &windows->items[0];
    const struct model_machine *machine = model_machine(model);
    size_t count;
    struct schedule_operation *operations = windows_first_operations(window, graph, first, &count);
    if (!operations)
        return false;
    util_text_print(text, "\nthe first iterations\n%10s %10s %9s  %-10s %s\n", "cycle", "result",
                    "iteration", "unit", "operation");
    for (size_t o = 0; o < count; o++) {
        const struct bounds_vertex *vertex = &graph->bounds.vertices[operations[o].vertex];
        const struct windows_code *code = &windows->codes[window->codes[vertex->instruction]];
        util_text_print(
            text, "%10.1f %10.1f %9u  %-10s %s%s%s%s\n", (double)operations[o].start / 1000,
            (double)operations[o].end / 1000, operations[o].iteration,
            operations[o].unit == SCHEDULE_NO_UNIT ? "-" : machine->units[operations[o].unit].name,
            kinds[vertex->kind], kinds[vertex->kind][0] ? " of " : "", code->instruction.text,
            graph->waits[operations[o].vertex] ? "  misses" : "");
    }
    free(operations);
    return !text->failed;
}

bool windows_print(const struct windows *windows, const struct profile_limit_loop *loop,
                   const struct windows_sum *sums, size_t count, const struct model *model,
                   const struct assess_memory *memory, struct util_text *text)
{
    util_text_print(text, "%s, loop at 0x%" PRIx64 "\n", loop->function, loop->address);
    if (!count)
        return util_text_print(text, "nothing of it was seen to execute: no schedule\n");
    print_windows(windows, &sums[0], text);
    for (size_t i = 0; i < count; i++) {
        print_memory(&sums[i], memory, text);
        print_cycles(&sums[i], text);
    }
    print_machine(loop, model, text);
    print_units(&sums[0], model, text);
    return print_path(windows, &sums[0], text) && !text->failed;
}
