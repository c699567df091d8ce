// SPDX-License-Identifier: MIT
/* Optimistic schedules of what loops executed: windows, one after the other, for each memory model and kind of machine. */
#include "assess/windows.h"

#include "cfg/cfg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_ITERATIONS = 8, SHOWN_OPERATIONS = 160 };

enum schedule_kind windows_kind(const struct model *model)
{
    return executed_has_buffer(model) ? SCHEDULE_MACHINE : SCHEDULE_INFINITE;
}

/* ---- the first operations ------------------------------------------------------------------------- */

static int by_start(const void *left, const void *right)
{
    const struct schedule_operation *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->vertex > b->vertex) - (a->vertex < b->vertex);
}

/* Of an instruction's results one stands for all. */
static bool is_shown(const struct bounds *bounds, size_t vertex)
{
    const struct bounds_vertex *made = &bounds->vertices[vertex];
    return !vertex || made->kind != BOUNDS_COMPUTES || made[-1].kind != BOUNDS_COMPUTES ||
           made[-1].instruction != made->instruction;
}

struct schedule_operation *windows_first_operations(const struct windows_window *window,
                                                    const struct executed_graph *graph,
                                                    const struct schedule *schedule, size_t *count)
{
    struct schedule_operation *first = calloc(SHOWN_OPERATIONS, sizeof *first);
    *count = 0;
    for (size_t v = 0; first && v < graph->bounds.vertex_count && *count < SHOWN_OPERATIONS; v++) {
        uint32_t at = graph->bounds.vertices[v].instruction;
        if (window->iterations[at] > SHOWN_ITERATIONS)
            break;
        if (!is_shown(&graph->bounds, v))
            continue;
        first[*count] = schedule->operations[v];
        first[(*count)++].iteration = window->iterations[at];
    }
    if (*count)
        qsort(first, *count, sizeof *first, by_start);
    return first;
}

/* ---- one loop ------------------------------------------------------------------------------------------ */

struct executing {
    struct profile *profile;
    const struct assess_options *options;
    const struct assess_memory *memory;
    struct util_text *text;      /* NULL: none is wanted */
    struct util_text operations; /* as text, of the loop at hand */
    uint32_t loop;
    struct windows windows;
    struct windows_sum sums[EXECUTED_MEMORIES];
    size_t count;
};

static void add_path(struct executing *executing, const struct windows_window *window,
                     const struct schedule *schedule)
{
    for (size_t i = 0; i < window->executed.block.count; i++)
        executing->windows.codes[window->codes[i]].path += schedule->path[i];
}

static bool add_operations(struct executing *executing, const struct windows_window *window,
                           const struct executed_graph *graph, const struct schedule *schedule)
{
    struct profile *profile = executing->profile;
    const struct model_machine *machine = model_machine(graph->model);
    size_t count;
    struct schedule_operation *first = windows_first_operations(window, graph, schedule, &count);
    bool good = first != NULL;
    for (size_t o = 0; o < count && good; o++) {
        const struct bounds_vertex *vertex = &graph->bounds.vertices[first[o].vertex];
        const struct windows_code *code =
            &executing->windows.codes[window->codes[vertex->instruction]];
        bool used = first[o].unit != SCHEDULE_NO_UNIT;
        struct profile_limit_operation *row = profile_add_limit_operations(profile);
        if (!row)
            good = false;
        else
            *row = (struct profile_limit_operation){
                .loop = executing->loop,
                .iteration = first[o].iteration,
                .kind = vertex->kind,
                .unit = used ? profile_keep(profile, machine->units[first[o].unit].name) : NULL,
                .text = profile_keep(profile, code->instruction.text),
                .file = code->file,
                .line = code->line,
                .start = (double)first[o].start / 1000,
                .end = (double)first[o].end / 1000};
        good = good && row->text && (row->unit || !used);
    }
    free(first);
    return good;
}

/* The first memory model's is what is shown in detail. */
static bool add_details(struct executing *executing, struct windows_sum *sum,
                        const struct windows_window *window, const struct executed_graph *graph,
                        const struct schedule *schedule)
{
    for (size_t u = 0; u < model_machine(graph->model)->unit_count; u++)
        sum->work[u] += schedule->work[u];
    sum->path_units += schedule->path_units;
    sum->path_front_end += schedule->path_front_end;
    sum->path_buffer += schedule->path_buffer;
    add_path(executing, window, schedule);
    if (window != executing->windows.items)
        return true;
    return add_operations(executing, window, graph, schedule) &&
           (!executing->text || windows_print_operations(&executing->windows, graph, schedule,
                                                         graph->model, &executing->operations));
}

static enum base_status add_schedules(struct executing *executing, struct windows_sum *sum,
                                      const struct windows_window *window,
                                      const struct executed_graph *graph)
{
    for (unsigned kind = 0; kind <= sum->shown; kind++) {
        struct schedule schedule;
        enum base_status status = executed_schedule(graph, (enum schedule_kind)kind, &schedule);
        if (status != BASE_OK)
            return status;
        sum->cycles[kind] += schedule.cycles;
        bool good = kind != sum->shown || sum != executing->sums ||
                    add_details(executing, sum, window, graph, &schedule);
        schedule_free(&schedule);
        if (!good)
            return BASE_NO_MEMORY;
    }
    return BASE_OK;
}

static float hit_cycles(const struct assess_options *options)
{
    const struct model_figure *hit = &model_machine(options->model)->figures[MODEL_LOAD_LATENCY];
    if (options->latencies && options->latencies->load >= 0)
        return options->latencies->load;
    return hit->source == MODEL_UNKNOWN ? 4 : hit->value;
}

static enum base_status schedule_window(struct executing *executing, struct windows_sum *sum,
                                        const struct windows_window *window)
{
    const struct assess_options *options = executing->options;
    struct executed_graph graph;
    bool expects = sum->memory == EXECUTED_EXPECTED;
    float *expected = expects ? windows_expect(executing->profile, &executing->windows, window,
                                               executing->memory, hit_cycles(options))
                              : NULL;
    int32_t *waits = expected || !expects ? executed_waits(&window->executed, sum->memory,
                                                           &executing->memory->latencies,
                                                           hit_cycles(options), expected)
                                          : NULL;
    free(expected);
    enum base_status status = waits ? executed_depend(&window->executed, options->model,
                                                      options->latencies, waits, &graph)
                                    : BASE_NO_MEMORY;
    free(waits);
    if (status != BASE_OK)
        return status;
    sum->windows++;
    sum->iterations += window->iteration_count;
    sum->instructions += window->executed.block.count;
    sum->inside += window->inside;
    for (size_t a = 0; a < window->executed.access_count; a++)
        sum->loads += !window->executed.accesses[a].store;
    sum->misses += graph.misses;
    status = add_schedules(executing, sum, window, &graph);
    executed_graph_free(&graph);
    return status;
}

static bool add_uses(struct executing *executing, const struct windows_sum *sum)
{
    struct profile *profile = executing->profile;
    const struct model_machine *machine = model_machine(executing->options->model);
    double cycles = sum->cycles[sum->shown];
    for (size_t u = 0; u < machine->unit_count; u++) {
        if (sum->work[u] <= 0)
            continue;
        struct profile_limit_use *row = profile_add_limit_uses(profile);
        if (!row)
            return false;
        double copies = machine->units[u].copies > 1 ? machine->units[u].copies : 1;
        *row = (struct profile_limit_use){.loop = executing->loop,
                                          .name = profile_keep(profile, machine->units[u].name),
                                          .cycles = sum->work[u] / (double)sum->iterations,
                                          .ratio = cycles > 0 ? sum->work[u] / copies / cycles : 0};
        if (!row->name)
            return false;
    }
    return true;
}

static bool add_rows(struct executing *executing)
{
    struct profile *profile = executing->profile;
    for (size_t i = 0; i < executing->count; i++) {
        const struct windows_sum *sum = &executing->sums[i];
        double iterations = (double)sum->iterations;
        struct profile_limit_schedule *row = profile_add_limit_schedules(profile);
        if (!row)
            return false;
        *row = (struct profile_limit_schedule){
            .loop = executing->loop,
            .memory = sum->memory,
            .windows = (uint32_t)sum->windows,
            .iterations = sum->iterations,
            .instructions = sum->instructions,
            .inside = sum->inside,
            .loads = sum->loads,
            .misses = sum->misses,
            .data_flow = sum->cycles[SCHEDULE_DATA_FLOW] / iterations,
            .units = sum->cycles[SCHEDULE_INFINITE] / iterations,
            .machine =
                sum->shown == SCHEDULE_MACHINE ? sum->cycles[SCHEDULE_MACHINE] / iterations : -1};
    }
    return add_uses(executing, &executing->sums[0]);
}

/* The caches that have latencies now? */
static bool were_simulated(const struct executing *executing)
{
    for (size_t w = 0; w < executing->windows.count; w++)
        if (executing->windows.items[w].row->caches + 1 != executing->memory->latencies.levels)
            return false;
    return true;
}

static enum base_status schedule_loop(struct executing *executing)
{
    enum base_status status = BASE_OK;
    executing->count = 0;
    for (unsigned memory = 0; memory < EXECUTED_MEMORIES && status == BASE_OK; memory++) {
        if (!(executing->memory->models >> memory & 1) ||
            (memory == EXECUTED_CACHES && !were_simulated(executing)) ||
            (memory == EXECUTED_EXPECTED && !executing->profile->executed_distances_count))
            continue;
        struct windows_sum *sum = &executing->sums[executing->count++];
        *sum = (struct windows_sum){.memory = (enum executed_memory)memory,
                                    .shown = windows_kind(executing->options->model)};
        for (size_t w = 0; w < executing->windows.count && status == BASE_OK; w++)
            status = schedule_window(executing, sum, &executing->windows.items[w]);
    }
    if (status == BASE_OK && executing->windows.count && !add_rows(executing))
        status = BASE_NO_MEMORY;
    if (status == BASE_OK && executing->text &&
        (!windows_print(&executing->windows, &executing->profile->limit_loops[executing->loop],
                        executing->sums, executing->windows.count ? executing->count : 0,
                        executing->options->model, executing->memory, executing->text) ||
         (executing->operations.count &&
          !util_text_add(executing->text, executing->operations.bytes,
                         executing->operations.count)) ||
         !util_text_print(executing->text, "\n")))
        status = BASE_NO_MEMORY;
    util_text_free(&executing->operations);
    return status;
}

/* ---- all of them ------------------------------------------------------------------------------------------- */

enum base_status assess_executed(struct profile *profile, const struct binary_options *symbols,
                                 const struct assess_options *options,
                                 const struct assess_memory *memory, struct util_text *text)
{
    struct executing executing = {
        .profile = profile, .options = options, .memory = memory, .text = text};
    enum base_status status = cfg_start();
    profile->limit_schedules_count = profile->limit_uses_count = 0;
    profile->limit_operations_count = 0;
    for (uint32_t l = 0; l < profile->limit_loops_count && status == BASE_OK; l++) {
        const struct profile_limit_loop loop = profile->limit_loops[l];
        struct binary *binary = NULL;
        if (!loop.module)
            continue;
        if (binary_open(loop.module, symbols, &binary) != BASE_OK)
            binary = NULL;
        executing.loop = l;
        status = windows_of(profile, &loop, binary, &executing.windows);
        if (status == BASE_OK)
            status = schedule_loop(&executing);
        windows_free(&executing.windows);
        if (binary)
            binary_close(binary);
    }
    return status;
}
