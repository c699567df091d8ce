// SPDX-License-Identifier: MIT
/* A loop's bounds as rows of a profile. */
#include "assess/internal.h"

#include "bounds/schedule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool assess_begin_run(struct profile *profile, const struct model *model)
{
    const struct model_machine *machine = model_machine(model);
    char title[256];
    if (profile->limit_runs_count)
        return true;
    snprintf(title, sizeof title, "%.100s%s", machine->title,
             machine->shared  ? ", while something else used its core: bounds are too high"
             : machine->quick ? ", the most common instructions alone; `headroom calibrate` "
                                "measures all"
                              : "");
    struct profile_limit_run *run = profile_add_limit_runs(profile);
    if (!run)
        return false;
    *run = (struct profile_limit_run){.machine = profile_keep(profile, machine->name),
                                      .title = profile_keep(profile, title),
                                      .measured = machine->source == MODEL_MEASURED,
                                      .width = (uint32_t)machine->figures[MODEL_WIDTH].value};
    return run->machine && run->title;
}

static bool is_on_circuit(const struct bounds *bounds, uint32_t instruction)
{
    for (size_t i = 0; i < bounds->circuit_count; i++)
        if (bounds->vertices[bounds->arcs[bounds->circuit[i]].from].instruction == instruction)
            return true;
    return false;
}

/* Does anything but the circuit itself need the values that it makes, within the loop? Flags of its own instructions are no such thing. */
static bool is_circuit_used(const struct bounds *bounds)
{
    for (size_t c = 0; c < bounds->circuit_count; c++)
        for (size_t a = 0; a < bounds->arc_count; a++) {
            const struct bounds_arc *arc = &bounds->arcs[a];
            const struct bounds_vertex *to = &bounds->vertices[arc->to];
            if (arc->from == bounds->arcs[bounds->circuit[c]].from &&
                arc->dependence == BOUNDS_FLOW && !arc->may &&
                (to->kind == BOUNDS_STORES || !is_on_circuit(bounds, to->instruction)))
                return true;
        }
    return false;
}

static bool add_loop(struct profile *profile, const struct bodies_loop *loop,
                     const struct bounds *bounds, const char *module, const char *level,
                     double share)
{
    struct profile_limit_loop *row = profile_add_limit_loops(profile);
    if (!row)
        return false;
    *row = (struct profile_limit_loop){
        .function = profile_keep(profile, loop->function),
        .file = profile_keep(profile, loop->place.file),
        .line = loop->place.file ? loop->place.line : 0,
        .module = profile_keep(profile, module),
        .level = profile_keep(profile, level),
        .address = loop->head,
        .ways = loop->ways,
        .calls = loop->calls,
        .unknown = bounds->unknown,
        .limit = bounds->limit,
        .next = bounds->next,
        .resource = bounds->resource,
        .recurrence = bounds->recurrence,
        .frontend = bounds->frontend,
        .slots = bounds->slots,
        .branch = bounds->branch,
        .recurrence_most = bounds->recurrence_most,
        .aliased = bounds->aliased,
        .certified = bounds->certified,
        .predicted = bounds->predicted,
        .circuit_latency = bounds->circuit_latency > 0 ? (double)bounds->circuit_latency / 1000 : 0,
        .circuit_distance = (uint32_t)bounds->circuit_distance,
        .measured = -1,
        .share = share,
        .circuit_used = is_circuit_used(bounds),
    };
    return row->function;
}

static bool add_instructions(struct profile *profile, uint32_t id, const struct bodies_loop *loop,
                             const struct bounds *bounds)
{
    for (size_t i = 0; i < loop->block.count; i++) {
        const struct bounds_instruction *instruction = &loop->block.instructions[i];
        struct profile_limit_instruction *row = profile_add_limit_instructions(profile);
        if (!row)
            return false;
        *row =
            (struct profile_limit_instruction){.loop = id,
                                               .address = instruction->address,
                                               .text = profile_keep(profile, instruction->text),
                                               .file = profile_keep(profile, loop->places[i].file),
                                               .line = loop->places[i].line,
                                               .category = instruction->category,
                                               .pressure = bounds->pressure[i]};
        if (!row->text)
            return false;
    }
    return true;
}

static bool add_resources(struct profile *profile, uint32_t id, const struct bounds *bounds)
{
    for (size_t i = 0; i < bounds->resource_count; i++) {
        const struct bounds_resource *resource = &bounds->resources[i];
        struct profile_limit_resource *row = profile_add_limit_resources(profile);
        if (!row)
            return false;
        *row = (struct profile_limit_resource){.loop = id,
                                               .name = profile_keep(profile, resource->name),
                                               .bottleneck = resource->bottleneck,
                                               .copies = resource->copies,
                                               .cycles = resource->cycles};
        if (!row->name)
            return false;
    }
    return true;
}

/* Latencies as in the list of visudep: the source's. */
static bool add_circuit(struct profile *profile, uint32_t id, const struct bounds *bounds)
{
    for (size_t i = 0; i < bounds->circuit_count; i++) {
        const struct bounds_arc *arc = &bounds->arcs[bounds->circuit[i]];
        const struct bounds_arc *before =
            &bounds->arcs[bounds->circuit[(i + bounds->circuit_count - 1) % bounds->circuit_count]];
        const struct bounds_vertex *from = &bounds->vertices[arc->from],
                                   *to = &bounds->vertices[arc->to];
        struct profile_limit_arc *row = profile_add_limit_arcs(profile);
        if (!row)
            return false;
        *row = (struct profile_limit_arc){.loop = id,
                                          .from = from->instruction,
                                          .to = to->instruction,
                                          .from_kind = from->kind,
                                          .to_kind = to->kind,
                                          .distance = arc->distance,
                                          .memory = arc->memory,
                                          .latency = before->latency / 1000.0};
    }
    return true;
}

static enum base_status bound_loop(const struct bodies_loop *loop,
                                   const struct assess_options *options, struct bounds *bounds)
{
    struct bounds_options asked = {
        .graph = true, .taken = loop->taken, .latencies = options->latencies};
    return bounds_of(&loop->block, options->model, &asked, bounds);
}

enum base_status assess_add(struct profile *profile, const struct bodies_loop *loop,
                            const struct assess_options *options, const char *module,
                            const char *level, double share)
{
    struct bounds bounds;
    uint32_t id = (uint32_t)profile->limit_loops_count;
    enum base_status status = bound_loop(loop, options, &bounds);
    if (status != BASE_OK)
        return status;
    bool good = assess_begin_run(profile, options->model) &&
                add_loop(profile, loop, &bounds, module, level, share) &&
                add_instructions(profile, id, loop, &bounds) &&
                add_resources(profile, id, &bounds) && add_circuit(profile, id, &bounds);
    bounds_free(&bounds);
    return good ? BASE_OK : BASE_NO_MEMORY;
}

/* ---- the graph ----------------------------------------------------------------------------------------- */

static void place_of(void *context, uint32_t instruction, char *text, size_t bytes)
{
    const struct bodies_place *place = &((const struct bodies_loop *)context)->places[instruction];
    const char *name = place->file ? strrchr(place->file, '/') : NULL;
    text[0] = 0;
    if (place->file && place->line)
        snprintf(text, bytes, "%s:%u", name ? name + 1 : place->file, place->line);
}

enum base_status assess_graph(const struct bodies_loop *loop, const struct assess_options *options,
                              bool dot, struct util_text *text)
{
    struct bounds bounds;
    char title[256];
    void *context = (void *)(uintptr_t)loop;
    enum base_status status = bound_loop(loop, options, &bounds);
    if (status != BASE_OK)
        return status;
    snprintf(title, sizeof title, "%.150s, loop at 0x%" PRIx64, loop->function, loop->head);
    bool good = dot ? bounds_dot(&bounds, &loop->block, place_of, context, title, text)
                    : util_text_print(text, "%s\n", title) &&
                          bounds_list(&bounds, &loop->block, place_of, context, text) &&
                          bounds_circuit(&bounds, &loop->block, place_of, context, text) &&
                          util_text_print(text, "\n");
    bounds_free(&bounds);
    return good ? BASE_OK : BASE_NO_MEMORY;
}

/* Long enough that how the pipeline fills does not matter, and buffers do. */
enum { SCHEDULED_ITERATIONS = 1000 };

enum base_status assess_schedule(const struct bodies_loop *loop,
                                 const struct assess_options *options, struct util_text *text)
{
    struct bounds_options asked = {
        .graph = true, .taken = loop->taken, .latencies = options->latencies};
    struct bounds bounds;
    enum base_status status = bound_loop(loop, options, &bounds);
    if (status != BASE_OK)
        return status;
    bool good = util_text_print(text, "%s, loop at 0x%" PRIx64 "\n", loop->function, loop->head) &&
                schedule_print(&loop->block, &bounds, options->model, &asked, SCHEDULED_ITERATIONS,
                               place_of, (void *)(uintptr_t)loop, text) &&
                util_text_print(text, "\n");
    bounds_free(&bounds);
    return good ? BASE_OK : BASE_NO_MEMORY;
}
