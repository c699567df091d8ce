// SPDX-License-Identifier: MIT
/* From a source, by LLVM and Polly, to its dependences and rows. Latencies are the model's bounds of instructions that depend on themselves. */
#include "assess/source.h"

#include <stdlib.h>
#include <string.h>

struct assess_source {
    struct lowered lowered;
    struct dependence_source found;
    char error[LOWER_ERROR_BYTES + DEPENDENCE_ERROR_BYTES];
};

static const char *last_part(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

/* ---- latencies ------------------------------------------------------------------------------------------ */

/* Cycles an iteration of a block whose only recurrence is what is asked for, in thousandths. */
static int32_t recurrence_of(const struct assess_options *options, const char *hex,
                             const struct bounds_latencies *latencies, int32_t otherwise)
{
    struct bounds_options asked = {.known = true, .latencies = latencies};
    struct bounds_block block = {0};
    struct bounds bounds;
    uint8_t *bytes = NULL;
    size_t count, bad;
    int32_t cycles = otherwise;
    if (bounds_hex(hex, strlen(hex), &bytes, &count, &bad) == BASE_OK &&
        bounds_decode(bytes, count, 0, false, &block, &bad) == BASE_OK &&
        bounds_of(&block, options->model, &asked, &bounds) == BASE_OK) {
        if (bounds.recurrence > 0 || !bounds.unknown)
            cycles = (int32_t)(bounds.recurrence * 1000 + 0.5);
        bounds_free(&bounds);
    }
    bounds_block_free(&block);
    free(bytes);
    return cycles;
}

static struct dependence_latencies latencies_of(const struct assess_options *options)
{
    static const struct {
        uint8_t floating, work;
        const char *hex;
        int32_t otherwise;
    } asked[] = {
        {0, IR_OTHER, "4821c0", 1000},      /* and %rax, %rax */
        {0, IR_ADD, "4801c0", 1000},        /* add %rax, %rax */
        {0, IR_MULTIPLY, "480fafc0", 3000}, /* imul %rax, %rax */
        {0, IR_FUSED, "480fafc0", 3000},    /* there is none of integers */
        {0, IR_DIVIDE, "48f7f9", 18000},    /* idiv %rcx */
        {0, IR_ROOT, "f20f51c0", 13000},    /* of an integer it is one of its value */
        {1, IR_OTHER, "f20f5ac0", 4000},    /* cvtsd2ss %xmm0, %xmm0 */
        {1, IR_ADD, "f20f58c0", 4000},      /* addsd %xmm0, %xmm0 */
        {1, IR_MULTIPLY, "f20f59c0", 4000}, /* mulsd %xmm0, %xmm0 */
        {1, IR_FUSED, "c4e2f9b9c0", 4000},  /* vfmadd231sd %xmm0, %xmm0, %xmm0 */
        {1, IR_DIVIDE, "f20f5ec0", 13000},  /* divsd %xmm0, %xmm0 */
        {1, IR_ROOT, "f20f51c0", 13000},    /* sqrtsd %xmm0, %xmm0 */
    };
    const struct bounds_latencies *given = options->latencies;
    struct dependence_latencies latencies = {0};
    bool loads = given && given->load >= 0;
    for (size_t i = 0; i < BASE_COUNT(asked); i++)
        latencies.work[asked[i].floating][asked[i].work] =
            recurrence_of(options, asked[i].hex, given, asked[i].otherwise);
    latencies.load =
        loads ? (int32_t)(given->load * 1000 + 0.5F) : recurrence_of(options, "488b00", NULL, 4000);
    latencies.forwarded[0] =
        loads ? latencies.load : recurrence_of(options, "488907 488b07", NULL, 4000);
    latencies.forwarded[1] =
        loads ? latencies.load : recurrence_of(options, "f20f1107 f20f1007", NULL, 4000);
    if (given && given->store >= 0)
        latencies.store = (int32_t)(given->store * 1000 + 0.5F);
    return latencies;
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

static bool add_dependence(struct profile *profile, uint32_t id, const struct dependence_loop *loop,
                           const struct ir *ir, struct profile_limit_dependence row, uint32_t from,
                           uint32_t to)
{
    const struct ir_operation *first = &loop->loop->operations[from];
    const struct ir_operation *second = &loop->loop->operations[to];
    struct ir_place from_place = ir_place_of(ir, first->instruction);
    struct ir_place to_place = ir_place_of(ir, second->instruction);
    struct profile_limit_dependence *added = profile_add_limit_dependences(profile);
    if (!added)
        return false;
    row.source = id;
    row.from_text = profile_keep(profile, first->text);
    row.to_text = profile_keep(profile, second->text);
    row.from_line = from_place.line;
    row.from_column = from_place.column;
    row.to_line = to_place.line;
    row.to_column = to_place.column;
    *added = row;
    return row.from_text && row.to_text;
}

static bool add_dependences(struct profile *profile, uint32_t id,
                            const struct dependence_loop *loop, const struct ir *ir)
{
    for (size_t i = 0; i < loop->vectors_count; i++) {
        const struct polyhedra_vector *vector = &loop->vectors[i];
        char text[POLYHEDRA_DEPTH_MAX * 24];
        struct profile_limit_dependence row = {
            .kind = vector->kind,
            .vector = profile_keep(profile, dependence_vector(vector, text, sizeof text)),
            .inner = vector->inner,
            .distance = vector->inner ? (uint32_t)vector->inner_least : 0};
        if (!row.vector || !add_dependence(profile, id, loop, ir, row, vector->from, vector->to))
            return false;
    }
    for (size_t i = 0; i < loop->arcs_count; i++) {
        const struct dependence_arc *arc = &loop->arcs[i];
        struct profile_limit_dependence row = {.inner = 1, .distance = arc->distance};
        if (!arc->memory && arc->distance &&
            !add_dependence(profile, id, loop, ir, row, arc->from, arc->to))
            return false;
    }
    return true;
}

static bool add_circuit(struct profile *profile, uint32_t id, const struct dependence_loop *loop,
                        const struct ir *ir)
{
    for (size_t i = 0; i < loop->circuit_count; i++) {
        const struct dependence_arc *arc = &loop->arcs[loop->circuit[i]];
        const struct ir_operation *from = &loop->loop->operations[arc->from];
        const struct ir_operation *to = &loop->loop->operations[arc->to];
        struct profile_limit_step *row = profile_add_limit_steps(profile);
        if (!row)
            return false;
        *row = (struct profile_limit_step){.source = id,
                                           .from_text = profile_keep(profile, from->text),
                                           .to_text = profile_keep(profile, to->text),
                                           .from_line = ir_place_of(ir, from->instruction).line,
                                           .to_line = ir_place_of(ir, to->instruction).line,
                                           .from_kind = from->kind,
                                           .to_kind = to->kind,
                                           .distance = arc->distance,
                                           .latency = arc->latency / 1000.0};
        if (!row->from_text || !row->to_text)
            return false;
    }
    return true;
}

static bool add_source(struct profile *profile, const struct dependence_loop *loop,
                       const struct ir *ir)
{
    uint32_t id = (uint32_t)profile->limit_sources_count;
    struct profile_limit_source *row = profile_add_limit_sources(profile);
    if (!row)
        return false;
    *row = (struct profile_limit_source){
        .function = profile_keep(profile, loop->function),
        .file = profile_keep(profile, loop->file),
        .line = loop->loop->place.line,
        .circuit_latency = loop->circuit_latency > 0 ? (double)loop->circuit_latency / 1000 : 0,
        .circuit_distance = (uint32_t)loop->circuit_distance,
        .left_out = loop->left_out};
    return add_dependences(profile, id, loop, ir) && add_circuit(profile, id, loop, ir);
}

/* ---- what stands in the way --------------------------------------------------------------------------------- */

static bool add_reason(struct profile *profile, const char *path, uint32_t line, const char *reason)
{
    struct profile_limit_source *row = profile_add_limit_sources(profile);
    if (!row)
        return false;
    *row = (struct profile_limit_source){.file = profile_keep(profile, path),
                                         .line = line,
                                         .reason = profile_keep(profile, reason),
                                         .circuit_distance = 1};
    return row->file && row->reason;
}

/* What LLVM says of the loop nearest to the line. */
static bool refuse(struct profile *profile, struct assess_source *source, const char *path,
                   uint32_t line, enum base_status status)
{
    const struct lower_rejected *nearest = NULL;
    for (size_t i = 0; i < source->lowered.rejected_count; i++) {
        const struct lower_rejected *one = &source->lowered.rejected[i];
        if (!nearest || abs((int)one->line - (int)line) < abs((int)nearest->line - (int)line))
            nearest = one;
    }
    if (status == BASE_NOT_FOUND)
        snprintf(source->error, sizeof source->error,
                 "LLVM finds no loop there, or has dissolved it.");
    else if (status == BASE_UNSUPPORTED && !source->error[0] && nearest)
        snprintf(source->error, sizeof source->error, "line %u: %.2000s%s%.2000s.", nearest->line,
                 nearest->reason, nearest->help ? "; " : "", nearest->help ? nearest->help : "");
    else if (status == BASE_UNSUPPORTED && !source->error[0])
        snprintf(source->error, sizeof source->error,
                 "the loop is not a nest of counted loops over arrays.");
    return add_reason(profile, path, line, source->error);
}

struct assess_source *assess_source_open(struct profile *profile,
                                         const struct lower_request *request, uint32_t line,
                                         const struct assess_options *options)
{
    struct assess_source *source = calloc(1, sizeof *source);
    struct dependence_latencies latencies = latencies_of(options);
    uint32_t at = line;
    bool good = source;
    if (good && !lower_run(request, &source->lowered, source->error)) {
        good = add_reason(profile, request->path, line, source->error);
    } else if (good) {
        enum base_status status =
            dependence_find(source->lowered.ir, source->lowered.polyhedra, last_part(request->path),
                            &at, &latencies, &source->found, source->error);
        if (status != BASE_OK)
            good = refuse(profile, source, request->path, at, status);
        for (size_t i = 0; good && status == BASE_OK && i < source->found.count; i++)
            good = add_source(profile, &source->found.items[i], source->lowered.ir);
    }
    if (good)
        return source;
    assess_source_close(source);
    return NULL;
}

void assess_source_close(struct assess_source *source)
{
    if (!source)
        return;
    dependence_free(&source->found);
    lower_free(&source->lowered);
    free(source);
}

bool assess_source_graph(const struct assess_source *source, enum dependence_vertices vertices,
                         bool dot, struct util_text *text)
{
    const struct ir *ir = source->lowered.ir;
    for (size_t i = 0; i < source->found.count; i++) {
        const struct dependence_loop *loop = &source->found.items[i];
        if (dot)
            return dependence_dot(loop, ir, vertices, text);
        if (!util_text_print(text, "%s, loop at line %u of the source\n", loop->function,
                             loop->loop->place.line) ||
            !dependence_list(loop, ir, vertices, text) || !dependence_circuit(loop, ir, text) ||
            !util_text_print(text, "\n"))
            return false;
    }
    return true;
}

/* ---- against the machine code -------------------------------------------------------------------------------- */

/* Of other files, such as headers: 0. */
static void find_lines(const struct dependence_loop *from, const struct bodies_loop *loop,
                       uint32_t *lines)
{
    const char *name = last_part(from->file);
    for (size_t i = 0; i < loop->block.count; i++) {
        const char *file = last_part(loop->places[i].file);
        lines[i] = name && file && strcmp(name, file) == 0 ? loop->places[i].line : 0;
    }
}

/* The source's loop that has most of the instructions' lines. */
static const struct dependence_loop *source_of(const struct assess_source *source,
                                               const struct bodies_loop *loop, uint32_t *lines)
{
    const struct dependence_loop *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < source->found.count; i++) {
        const struct dependence_loop *one = &source->found.items[i];
        size_t within = 0;
        find_lines(one, loop, lines);
        for (size_t j = 0; j < loop->block.count; j++)
            within += lines[j] >= one->loop->first_line && lines[j] <= one->loop->last_line;
        if (within > most) {
            most = within;
            best = one;
        }
    }
    if (best)
        find_lines(best, loop, lines);
    return best;
}

static bool add_fate(struct profile *profile, uint32_t id, const struct dependence_loop *from,
                     const struct ir *ir, const struct dependence_code *code,
                     const struct dependence_reconciled *item)
{
    struct profile_limit_fate *row = profile_add_limit_fates(profile);
    bool added = item->fate == DEPENDENCE_ADDED;
    const struct ir_operation *operations = from->loop->operations;
    if (!row)
        return false;
    *row = (struct profile_limit_fate){
        .loop = id,
        .kind = item->dependence,
        .fate = item->fate,
        .from_text = profile_keep(profile, added ? code->block->instructions[item->from].text
                                                 : operations[item->from].text),
        .to_text = profile_keep(profile, added ? code->block->instructions[item->to].text
                                               : operations[item->to].text),
        .from_line = added ? code->lines[item->from]
                           : ir_place_of(ir, operations[item->from].instruction).line,
        .to_line =
            added ? code->lines[item->to] : ir_place_of(ir, operations[item->to].instruction).line,
        .distance = item->distance,
        .scalar = item->scalar,
        .may = item->may};
    return row->from_text && row->to_text;
}

static bool add_fates(struct profile *profile, uint32_t id, const struct dependence_loop *from,
                      const struct ir *ir, const struct dependence_code *code)
{
    struct dependence_verdict verdict = {0};
    bool good = dependence_reconcile(from, ir, code, &verdict);
    struct profile_limit_match *row = good ? profile_add_limit_matches(profile) : NULL;
    good = row;
    if (row)
        *row = (struct profile_limit_match){.loop = id,
                                            .function = profile_keep(profile, from->function),
                                            .line = from->loop->place.line,
                                            .iterations = verdict.iterations,
                                            .counters = verdict.counters};
    for (size_t i = 0; good && i < verdict.count; i++)
        good = add_fate(profile, id, from, ir, code, &verdict.items[i]);
    dependence_verdict_free(&verdict);
    return good;
}

enum base_status assess_source_match(struct profile *profile, const struct assess_source *source,
                                     const struct bodies_loop *loop, uint32_t id,
                                     const struct assess_options *options)
{
    struct bounds_options asked = {
        .graph = true, .streams = true, .taken = loop->taken, .latencies = options->latencies};
    struct bounds bounds;
    uint32_t *lines = calloc(loop->block.count + 1, sizeof *lines);
    const struct dependence_loop *from = lines ? source_of(source, loop, lines) : NULL;
    enum base_status status = lines ? BASE_OK : BASE_NO_MEMORY;
    if (from)
        status = bounds_of(&loop->block, options->model, &asked, &bounds);
    if (from && status == BASE_OK) {
        struct dependence_code code = {&bounds, &loop->block, lines};
        if (!add_fates(profile, id, from, source->lowered.ir, &code))
            status = BASE_NO_MEMORY;
        bounds_free(&bounds);
    }
    free(lines);
    return status;
}
