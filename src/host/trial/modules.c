// SPDX-License-Identifier: MIT
/* Which loop of which file a sample lies in, and the loop's clone. */
#include "trial/internal.h"
#include "wire/instrumented.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INLINED_MAX = 32, FUNCTION_BYTES_MAX = 1 << 20, SECTION_BYTES_MAX = 1 << 26 };

/* ---- gates: what `headroom cc --ceiling` has put before loops --------------------------------------- */

static bool read_data(void *context, uint64_t address, void *out, size_t bytes)
{
    return binary_read_loaded(context, address, out, bytes) == BASE_OK;
}

static int by_head(const void *left, const void *right)
{
    const struct trial_gate *a = left, *b = right;
    return a->head != b->head ? (a->head > b->head) - (a->head < b->head)
                              : (a->at > b->at) - (a->at < b->at);
}

static void read_gates(struct trial_module *module)
{
    static const uint8_t nop[INJECT_PATCH_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
    uint64_t vaddr, bytes;
    if (binary_section(module->binary, "headroom_loops", &vaddr, &bytes) != BASE_OK ||
        bytes > SECTION_BYTES_MAX)
        return;
    size_t count = (size_t)(bytes / sizeof(struct instrumented_gate));
    module->gates = calloc(count + 1, sizeof *module->gates);
    for (size_t i = 0; module->gates && i < count; i++) {
        struct instrumented_gate gate;
        uint8_t there[sizeof nop];
        uint64_t at = vaddr + i * sizeof gate;
        if (!read_data(module->binary, at, &gate, sizeof gate))
            continue;
        struct trial_gate made = {
            at + offsetof(struct instrumented_gate, head) + (uint64_t)(int64_t)gate.head,
            at + offsetof(struct instrumented_gate, nop) + (uint64_t)(int64_t)gate.nop};
        if (binary_read(module->binary, made.at, there, sizeof there) == BASE_OK &&
            memcmp(there, nop, sizeof nop) == 0)
            module->gates[module->gates_count++] = made;
    }
    if (module->gates_count)
        qsort(module->gates, module->gates_count, sizeof *module->gates, by_head);
}

static void find_gates(struct trial_hot *hot)
{
    const struct trial_module *module = hot->module;
    size_t first = BASE_FIRST(i, module->gates_count, module->gates[i].head >= hot->out.address);
    hot->gates = module->gates + first;
    hot->gates_count = 0;
    while (first + hot->gates_count < module->gates_count &&
           hot->gates[hot->gates_count].head == hot->out.address)
        hot->gates_count++;
}

/* ---- modules ----------------------------------------------------------------------------------- */

static void open_module(const struct trial_service *service, struct trial_module *module)
{
    if (strcmp(module->path, service->request->agent) == 0 ||
        code_open(module->path, &module->code) != BASE_OK)
        return;
    module->returns = calloc(1, sizeof *module->returns);
    if (!module->returns ||
        binary_open(module->path, &service->request->symbols, &module->binary) != BASE_OK)
        return;
    pathgraph_returns_begin(module->returns, module->binary);
    read_gates(module);
}

struct trial_module *trial_module_of(struct trial_service *service, const char *path)
{
    for (size_t i = 0; i < service->modules_count; i++)
        if (strcmp(service->modules[i]->path, path) == 0)
            return service->modules[i];
    struct trial_module *made = calloc(1, sizeof *made);
    if (made)
        made->path = strdup(path);
    if (!made || !made->path ||
        !UTIL_PUSH(service->modules, service->modules_count, service->modules_capacity, made)) {
        free(made ? made->path : NULL);
        free(made);
        return NULL;
    }
    open_module(service, made);
    return made;
}

/* ---- functions --------------------------------------------------------------------------------- */

/* One whose flow is not known is kept, so that it is looked at once. */
static struct trial_function *make_function(struct trial_module *module, uint64_t start,
                                            uint64_t end)
{
    struct trial_function *function = calloc(1, sizeof *function);
    size_t count = (size_t)(end - start);
    if (!function)
        return NULL;
    *function = (struct trial_function){.start = start, .end = end};
    if (count <= FUNCTION_BYTES_MAX)
        function->bytes = malloc(count);
    if (!function->bytes || binary_read(module->binary, start, function->bytes, count) != BASE_OK)
        return function;
    function->code = (struct cfg_code){.bytes = function->bytes,
                                       .count = count,
                                       .start = start,
                                       .data = {read_data, module->binary},
                                       .returns = pathgraph_returns_of,
                                       .context = module->returns};
    if (cfg_of_code(&function->code, &function->flow) != BASE_OK)
        return function;
    function->loops = calloc(function->flow->loops_count, sizeof *function->loops);
    if (!function->loops) {
        cfg_free(function->flow);
        function->flow = NULL;
    }
    return function;
}

static void free_function(struct trial_function *function)
{
    cfg_free(function->flow);
    free(function->loops);
    free(function->bytes);
    free(function);
}

static struct trial_function *function_at(struct trial_module *module, uint64_t vaddr)
{
    uint64_t start, end;
    for (size_t i = 0; i < module->functions_count; i++)
        if (vaddr - module->functions[i]->start <
            module->functions[i]->end - module->functions[i]->start)
            return module->functions[i];
    if (binary_function(module->binary, vaddr, &start, &end) != BASE_OK || end <= vaddr)
        return NULL;
    struct trial_function *made = make_function(module, start, end);
    if (made &&
        !UTIL_PUSH(module->functions, module->functions_count, module->functions_capacity, made)) {
        free_function(made);
        return NULL;
    }
    return made;
}

/* ---- loops ------------------------------------------------------------------------------------- */

struct trial_hot *trial_loop_at(struct trial_service *service, struct trial_module *module,
                                uint64_t offset)
{
    uint64_t vaddr;
    if (!module->binary || !code_vaddr(module->code, offset, &vaddr))
        return NULL;
    struct trial_function *function = function_at(module, vaddr);
    uint32_t loop = function && function->flow ? cfg_loop_at(function->flow, vaddr) : 0;
    if (!loop)
        return NULL;
    if (function->loops[loop])
        return service->hot[function->loops[loop] - 1];
    struct trial_hot *made = calloc(1, sizeof *made);
    if (!made || !UTIL_PUSH(service->hot, service->hot_count, service->hot_capacity, made)) {
        free(made);
        return NULL;
    }
    function->loops[loop] = (uint32_t)service->hot_count;
    made->module = module;
    made->function = function;
    made->loop = loop;
    made->innermost = cfg_is_innermost(function->flow, loop);
    return made;
}

/* call, with the distance to what it calls */
static bool calls(const struct trial_function *caller, uint64_t behind, uint64_t entry)
{
    enum { CALL_BYTES = 5 };
    int32_t distance;
    if (!caller->flow || behind < caller->start + CALL_BYTES || behind > caller->end)
        return false;
    const uint8_t *code = caller->bytes + (behind - CALL_BYTES - caller->start);
    memcpy(&distance, code + 1, sizeof distance);
    return code[0] == 0xe8 && behind + (uint64_t)(int64_t)distance == entry;
}

bool trial_called_from(struct trial_service *service, struct trial_module *module, uint64_t offset,
                       uint64_t *function, struct trial_hot **hot)
{
    uint64_t called, behind;
    if (!module->binary || !code_vaddr(module->code, *function, &called) ||
        !code_vaddr(module->code, offset - 1, &behind))
        return false;
    const struct trial_function *callee = function_at(module, called),
                                *caller = function_at(module, behind);
    if (!callee || !callee->flow || callee->flow->loops_count > 1 || !caller ||
        !calls(caller, behind + 1, callee->start))
        return false;
    *hot = trial_loop_at(service, module, offset - 1);
    *function = offset - 1;
    return true;
}

/* ---- what people call it ----------------------------------------------------------------------- */

static char *copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

/* The line of the branch that closes it, as compilers give it that of the condition; else that of its head. */
static void name_place(struct trial_hot *hot)
{
    const struct cfg *flow = hot->function->flow;
    struct binary_frame frames[INLINED_MAX];
    uint32_t head = flow->loops[hot->loop].head;
    uint64_t closing = flow->blocks[head].start;
    for (uint32_t b = 0; b < flow->blocks_count; b++)
        for (uint32_t e = 0; e < flow->blocks[b].edges && flow->blocks[b].loop == hot->loop; e++)
            if (flow->edges[flow->blocks[b].first_edge + e].to == head)
                closing = flow->blocks[b].last;
    size_t count = binary_frames(hot->module->binary, closing, frames, INLINED_MAX);
    if (count && !frames[0].line)
        count = binary_frames(hot->module->binary, flow->blocks[head].start, frames, INLINED_MAX);
    if (!count)
        return;
    hot->out.file = copy_of(frames[0].file);
    hot->out.line = frames[0].file ? frames[0].line : 0;
    hot->out.function = copy_of(frames[count - 1].function);
}

static void name_culprit(struct trial_hot *hot)
{
    struct binary_frame frames[INLINED_MAX];
    size_t count = hot->clone.culprit
                       ? binary_frames(hot->module->binary, hot->clone.culprit, frames, INLINED_MAX)
                       : 0;
    if (!count || !frames[0].file)
        return;
    hot->out.culprit_file = copy_of(frames[0].file);
    hot->out.culprit_line = frames[0].line;
}

/* What a clone has in it: of the loop's own module. As clone_request asks. */
static bool find_callee(void *context, uint64_t address, bool cell, struct clone_callee *found)
{
    struct trial_module *module = context;
    const struct trial_function *function = cell ? NULL : function_at(module, address);
    if (!function || !function->flow || function->start != address)
        return false;
    *found = (struct clone_callee){function->flow, &function->code};
    return true;
}

const struct trial_function *trial_callee(const struct trial_hot *hot, uint64_t entry)
{
    return function_at(hot->module, entry);
}

/* What is called that is not known, and by whom if not by the loop. */
static void name_callee(struct trial_hot *hot)
{
    struct binary *binary = hot->module->binary;
    if (hot->clone.within)
        hot->out.within = copy_of(pathgraph_callee(binary, hot->clone.within, false));
    if (hot->clone.reason == CLONE_CALLS)
        hot->out.callee = copy_of(pathgraph_callee(binary, hot->clone.called, hot->clone.cell));
}

static bool is_named(const struct trial_service *service, const struct trial_hot *hot)
{
    const struct trial_request *request = service->request;
    for (size_t i = 0; i < request->targets_count; i++) {
        const struct trial_target *target = &request->targets[i];
        size_t ends = target->file ? strlen(target->file) : 0,
               bytes = hot->out.file ? strlen(hot->out.file) : 0;
        if (target->function && hot->out.function &&
            strcmp(target->function, hot->out.function) == 0)
            return true;
        if (target->file && ends <= bytes && target->line == hot->out.line &&
            strcmp(hot->out.file + bytes - ends, target->file) == 0)
            return true;
    }
    return request->targets_count == 0;
}

/* Its clone, or why there is none. */
static void make_clone(const struct trial_service *service, struct trial_hot *hot)
{
    const struct trial_request *asked = service->request;
    struct clone_request request = {.flow = hot->function->flow,
                                    .code = &hot->function->code,
                                    .loop = hot->loop,
                                    .model = asked->model,
                                    .callee = find_callee,
                                    .context = hot->module,
                                    .marks = hot->marks,
                                    .variants = asked->variants};
    memcpy(request.walk_bytes, asked->walk_bytes, sizeof request.walk_bytes);
    find_gates(hot);
    request.gated = hot->gates_count && hot->gates_count <= TRIAL_GATES_MAX;
    if (clone_of(&request, &hot->clone) != BASE_OK)
        hot->clone = (struct clone){.reason = CLONE_LONG};
    hot->out.reason = hot->clone.reason;
    hot->out.instructions = hot->clone.instructions;
    hot->out.ways = hot->clone.ways;
    hot->out.recurrence = hot->clone.recurrence;
    hot->out.recurrence_after = hot->clone.recurrence_after;
    memcpy(hot->out.lacks, hot->clone.lacks, sizeof hot->out.lacks);
    name_culprit(hot);
    name_callee(hot);
}

void trial_look_at(struct trial_service *service, struct trial_hot *hot)
{
    const struct trial_function *function = hot->function;
    hot->looked_at = true;
    name_place(hot);
    hot->out.module = copy_of(hot->module->path);
    hot->out.address = function->flow->blocks[function->flow->loops[hot->loop].head].start;
    if (!hot->out.function &&
        asprintf(&hot->out.function, "0x%llx", (unsigned long long)function->start) < 0)
        hot->out.function = NULL;
    hot->wanted = is_named(service, hot);
    if (hot->wanted)
        make_clone(service, hot);
}

void trial_look_again(struct trial_service *service, struct trial_hot *hot)
{
    clone_free(&hot->clone);
    free(hot->out.culprit_file);
    free(hot->out.callee);
    free(hot->out.within);
    hot->out.culprit_file = hot->out.callee = hot->out.within = NULL;
    hot->out.culprit_line = 0;
    hot->outcomes_count = 0;
    make_clone(service, hot);
    if (!hot->clone.made)
        hot->out.pairs_count = 0;
}

/* ---- the end ----------------------------------------------------------------------------------- */

static void free_module(struct trial_module *module)
{
    for (size_t i = 0; i < module->functions_count; i++)
        free_function(module->functions[i]);
    free(module->functions);
    free(module->returns);
    free(module->gates);
    code_close(module->code);
    if (module->binary)
        binary_close(module->binary);
    free(module->path);
    free(module);
}

void trial_modules_free(struct trial_service *service)
{
    for (size_t i = 0; i < service->hot_count; i++) {
        clone_free(&service->hot[i]->clone);
        free(service->hot[i]->outcomes);
        free(service->hot[i]->marks);
        free(service->hot[i]->marked);
        free(service->hot[i]);
    }
    for (size_t i = 0; i < service->modules_count; i++)
        free_module(service->modules[i]);
    free(service->hot);
    free(service->modules);
}
