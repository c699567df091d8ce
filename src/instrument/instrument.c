// SPDX-License-Identifier: MIT
#include "instrument/work.h"

#include <stdlib.h>
#include <string.h>

/* ---- one function -----------------------------------------------------------------------------
 */

static uint32_t reason_of_problem(uint32_t problem)
{
    switch (problem) {
    case ASM_FINE: return BUILT_WHOLE;
    case ASM_PROBLEM_INDIRECT: return BUILT_SKIP_INDIRECT;
    case ASM_PROBLEM_INLINE: return BUILT_SKIP_ASSEMBLY;
    case ASM_PROBLEM_UNDECODED: return BUILT_SKIP_UNDECODED;
    case ASM_PROBLEM_LARGE: return BUILT_SKIP_LARGE;
    default: return BUILT_SKIP_NOT_FUNCTION;
    }
}

static void drop_edits(struct work *work)
{
    for (uint32_t i = 0; i < work->edits_count; i++)
        free(work->edits[i].text);
    work->edits_count = 0;
    text_free(&work->stubs);
}

static void release(struct work *work)
{
    drop_edits(work);
    free(work->edits);
    free(work->live);
    free(work->stack);
    free(work->cfa_is_stack);
    free(work->graph.edges);
    free(work->graph_flags);
    free(work->edge_of);
    free(work->incoming);
    free(work->plan.operations);
    paths_free(work->paths);
}

/*
 * interrupt handlers and the like preserve what others may change: what is dead where they return
 * is not known. Others pop such registers, too, but do not push the same: arguments are taken off
 * the stack that way.
 */
static bool preserves_all(const struct work *work)
{
    uint32_t pushed = 0, popped = 0;
    const uint32_t unusual = 1U << BASE_RCX | 1U << BASE_RDX | 1U << BASE_RSI | 1U << BASE_RDI |
                             1U << BASE_R8 | 1U << BASE_R9 | 1U << BASE_R10 | 1U << BASE_R11;
    for (uint32_t i = work->function->first; i < work->function->end; i++) {
        const struct asm_statement *statement = &work->file->statements[i];
        if (statement->kind != ASM_INSTRUCTION || !statement->insns_count ||
            statement->name.bytes < 3)
            continue;
        if (!memcmp(statement->name.text, "pop", 3))
            popped |= work->file->insns[statement->insns].writes & unusual;
        if (!memcmp(statement->name.text, "pus", 3) && statement->operands.bytes &&
            *statement->operands.text == '%')
            pushed |= work->file->insns[statement->insns].reads & unusual;
        if (!memcmp(statement->name.text, "iret", statement->name.bytes < 4 ? 3 : 4))
            return true;
    }
    return __builtin_popcount(pushed & popped) >= 4;
}

static uint32_t used_registers(const struct work *work)
{
    const struct asm_function *function = work->function;
    uint32_t used = 1U << BASE_RSP, count = function->end - function->first;
    if (function->cold_first != ASM_NONE)
        count += function->cold_end - function->cold_first;
    for (uint32_t i = 0; i < count; i++) /* arguments that are only passed on, too */
        if (function->flags & ASM_LEAF)
            used |= work->live[i].registers & ~(1U << BASE_RBX | 0xf000U | 1U << BASE_RBP);
    for (uint32_t b = 0; b < function->blocks; b++)
        for (uint32_t i = work->blocks[b].first; i <= work->blocks[b].last; i++) {
            const struct asm_statement *statement = &work->file->statements[i];
            for (uint32_t k = 0; k < statement->insns_count; k++)
                used |= work->file->insns[statement->insns + k].reads |
                        work->file->insns[statement->insns + k].writes;
        }
    return used;
}

static bool analyse(struct work *work)
{
    const struct asm_function *function = work->function;
    uint32_t count = function->end - function->first;
    if (function->cold_first != ASM_NONE)
        count += function->cold_end - function->cold_first;
    work->cfa_is_stack = calloc(count + 1, sizeof *work->cfa_is_stack);
    if (!work->cfa_is_stack || asm_liveness(work->file, work->number, &work->live) != BASE_OK ||
        asm_stack_depths(work->file, work->number, &work->stack) != BASE_OK) {
        work->out_of_memory = true;
        return false;
    }
    if (preserves_all(work)) {
        work->reason = BUILT_SKIP_ATTRIBUTE;
        return false;
    }
    frame_follow_cfi(work);
    work->used = used_registers(work);
    if (has_contexts(work))
        work->call_sites = place_call_sites(work, NULL, NULL);
    if (!plan_paths(work))
        return false;
    for (uint32_t i = 0; i < work->plan.count; i++)
        work->counts_here |= work->plan.operations[i].kind == PATHS_COUNT ||
                             work->plan.operations[i].kind == PATHS_COUNT_AT;
    return true;
}

/* All edits, with the frame as it is. */
static void attempt(struct work *work)
{
    drop_edits(work);
    work->spills_wanted = 0;
    frame_choose(work);
    frame_adjust(work);
    if (work->reason == BUILT_WHOLE)
        map_label_calls(work);
    if (work->reason == BUILT_WHOLE)
        place_all(work);
    if (work->reason == BUILT_WHOLE)
        map_label(work);
}

static void apply(struct work *work)
{
    for (uint32_t i = 0; i < work->edits_count && !work->out_of_memory; i++) {
        const struct edit *edit = &work->edits[i];
        bool done =
            edit->kind == EDIT_BEFORE  ? asm_insert_before(work->file, edit->statement, edit->text)
            : edit->kind == EDIT_AFTER ? asm_insert_after(work->file, edit->statement, edit->text)
                                       : asm_replace(work->file, edit->statement, edit->text);
        work->out_of_memory |= !done;
    }
}

static void instrument_function(struct work *work)
{
    work->reason = reason_of_problem(work->function->problem);
    if (work->reason == BUILT_WHOLE && analyse(work)) {
        attempt(work);
        while (work->reason == BUILT_WHOLE && work->spills_wanted > work->spills) {
            work->spills = work->spills_wanted;
            attempt(work);
        }
        if (work->reason == BUILT_WHOLE)
            apply(work);
        if (work->reason == BUILT_WHOLE && work->truncated)
            work->reason = BUILT_TRUNCATED;
    }
    map_function(work);
}

static void add_counts(struct instrument_counts *counts, const struct work *work)
{
    counts->functions++;
    counts->reasons[work->reason]++;
    counts->inline_assembly += work->function->inline_insns;
    if (work->reason > BUILT_TRUNCATED) {
        counts->skipped++;
        return;
    }
    counts->instrumented++;
    counts->truncated += work->truncated;
    counts->hashed += work->table_kind == BUILT_TABLE_HASH;
}

/* ---- the file
 * ------------------------------------------------------------------------------------ */

enum base_status instrument_file(struct asm_file *file, const struct instrument_options *options,
                                 struct instrument_counts *counts)
{
    if (!(options->modes & (BUILT_PATHS | BUILT_CONTEXTS | BUILT_COUNT)))
        return BASE_OK;
    for (uint32_t i = 0; i < file->functions_count; i++) {
        struct work work = {
            .file = file,
            .options = options,
            .number = i,
            .function = &file->functions[i],
            .blocks = file->blocks + file->functions[i].first_block,
        };
        instrument_function(&work);
        add_counts(counts, &work);
        bool failed = work.out_of_memory;
        release(&work);
        if (failed)
            return BASE_NO_MEMORY;
    }
    return BASE_OK;
}
