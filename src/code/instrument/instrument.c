// SPDX-License-Identifier: MIT
/* Functions one after the other. With each: analyses, then attempts with more and more spill slots
   until one is enough, then its edits all at once, and its entry in the map whatever became of it.
 */
#include "instrument/internal.h"

#include <stdlib.h>

/* Does it need a map and the runtime? */
static bool counts_something(const struct instrument_options *options)
{
    return options->modes & (INSTRUMENTED_PATHS | INSTRUMENTED_CONTEXTS | INSTRUMENTED_COUNT);
}

static bool is_to_look_at(const struct instrument_options *options)
{
    return counts_something(options) || options->modes & INSTRUMENTED_NOPS;
}

/* ---- one function ---------------------------------------------------------------------------- */

static uint32_t reason_of_problem(uint32_t problem)
{
    switch (problem) {
    case ASM_FINE: return INSTRUMENTED_WHOLE;
    case ASM_PROBLEM_INDIRECT: return INSTRUMENTED_SKIP_INDIRECT;
    case ASM_PROBLEM_INLINE: return INSTRUMENTED_SKIP_ASSEMBLY;
    case ASM_PROBLEM_UNDECODED: return INSTRUMENTED_SKIP_UNDECODED;
    case ASM_PROBLEM_LARGE: return INSTRUMENTED_SKIP_LARGE;
    default: return INSTRUMENTED_SKIP_NOT_FUNCTION;
    }
}

static void drop_edits(struct work *work)
{
    for (uint32_t i = 0; i < work->edits_count; i++)
        free(work->edits[i].text);
    work->edits_count = 0;
    util_text_free(&work->stubs);
}

static void release(struct work *work)
{
    drop_edits(work);
    free(work->edits);
    util_text_free(&work->gate_table);
    free(work->live);
    free(work->stack);
    free(work->cfa_is_stack);
    free(work->graph.edges);
    free(work->graph_flags);
    free(work->edge_of);
    free(work->incoming);
    free(work->plan.operations);
    numbering_free(work->paths);
}

static bool returns(const struct work *work, const struct asm_block *block)
{
    for (uint32_t i = 0; i < block->edges; i++)
        if (edges_of(work, block)[i].kind == ASM_RETURN)
            return true;
    return false;
}

/* Registers pushed in the block, or popped, by the depth of the stack when they are on it. */
struct saves {
    uint32_t registers;
    int32_t depths[16];
};

static void find_saves(const struct work *work, const struct asm_block *block, bool pushes,
                       struct saves *saves)
{
    for (uint32_t i = block->first; i <= block->last; i++) {
        const struct asm_statement *statement = &work->file->statements[i];
        if (statement->kind != ASM_INSTRUCTION || !statement->insns_count ||
            !asm_begins(statement->operands, "%") ||
            !asm_begins(statement->name, pushes ? "push" : "pop"))
            continue;
        const struct asm_insn *insn = &work->file->insns[statement->insns];
        uint32_t moved = (pushes ? insn->reads : insn->writes) & ~BIT(BASE_RSP);
        int32_t depth = work->stack[asm_index(work->function, i)].rsp;
        if (!moved || (pushes && saves->registers & moved))
            continue;
        saves->registers |= moved;
        saves->depths[__builtin_ctz(moved)] = depth == ASM_UNKNOWN || !pushes ? depth : depth + 8;
    }
}

/*
 * Interrupt handlers and the like preserve what others may change: what is dead where they return
 * is not known. Others push and pop such registers, too, arguments, but not from one place in the
 * stack on entry and before a return.
 */
static bool preserves_all(const struct work *work)
{
    const uint32_t unusual = CALLER_SAVED & ~BIT(BASE_RAX);
    struct saves pushed = {0};
    if (work->function->blocks)
        find_saves(work, &work->blocks[0], true, &pushed);
    for (uint32_t b = 0; b < work->function->blocks; b++) {
        struct saves popped = {0};
        uint32_t same = 0;
        for (uint32_t i = work->blocks[b].first; i <= work->blocks[b].last; i++) {
            const struct asm_statement *statement = &work->file->statements[i];
            if (statement->kind == ASM_INSTRUCTION && asm_begins(statement->name, "iret"))
                return true;
        }
        if (!returns(work, &work->blocks[b]))
            continue;
        find_saves(work, &work->blocks[b], false, &popped);
        for (int r = 0; r < 16; r++)
            same += pushed.registers & popped.registers & unusual & BIT(r) &&
                    (pushed.depths[r] == popped.depths[r] || popped.depths[r] == ASM_UNKNOWN ||
                     pushed.depths[r] == ASM_UNKNOWN);
        if (same >= 4)
            return true;
    }
    return false;
}

static uint32_t used_registers(const struct work *work)
{
    const struct asm_function *function = work->function;
    uint32_t used = BIT(BASE_RSP),
             count = function->flags & ASM_LEAF ? asm_index_count(function) : 0;
    for (uint32_t i = 0; i < count; i++) /* arguments that are only passed on, too */
        used |= work->live[i].registers & CALLER_SAVED;
    for (uint32_t b = 0; b < function->blocks; b++)
        for (uint32_t i = work->blocks[b].first; i <= work->blocks[b].last; i++) {
            const struct asm_statement *statement = &work->file->statements[i];
            for (uint32_t k = 0; k < statement->insns_count; k++)
                used |= work->file->insns[statement->insns + k].reads |
                        work->file->insns[statement->insns + k].writes;
        }
    return used;
}

/* Is it a function that is entered and left like others? False: no memory, or reason is set. */
static bool examine(struct work *work)
{
    const struct asm_function *function = work->function;
    work->cfa_is_stack = calloc(asm_index_count(function) + 1, sizeof *work->cfa_is_stack);
    if (!work->cfa_is_stack || asm_liveness(work->file, work->number, &work->live) != BASE_OK ||
        asm_stack_depths(work->file, work->number, &work->stack) != BASE_OK) {
        work->out_of_memory = true;
        return false;
    }
    if (preserves_all(work)) {
        work->reason = INSTRUMENTED_SKIP_ATTRIBUTE;
        return false;
    }
    return true;
}

static bool analyse(struct work *work)
{
    frame_follow_cfi(work);
    work->used = used_registers(work);
    if (has_contexts(work))
        work->call_sites = place_call_sites(work, NULL, NULL);
    if (!plan_paths(work))
        return false;
    for (uint32_t i = 0; i < work->plan.count; i++)
        work->counts_here |= work->plan.operations[i].kind == NUMBERING_COUNT ||
                             work->plan.operations[i].kind == NUMBERING_COUNT_AT;
    return true;
}

/* All edits, with the frame as it is. */
static void attempt(struct work *work)
{
    drop_edits(work);
    work->spills_wanted = 0;
    frame_choose(work);
    frame_adjust(work);
    if (work->reason == INSTRUMENTED_WHOLE)
        map_label_calls(work);
    if (work->reason == INSTRUMENTED_WHOLE)
        place_all(work);
    if (work->reason == INSTRUMENTED_WHOLE)
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

/*
 * What is not understood within matters to nobody who only puts a nop before all of it. The
 * registers that functions leave alone though they need not (-fipa-ra) are left alone by the code
 * to which the nop gives way, too, but interrupt handlers have something else in place of a return
 * address.
 */
static void prepare_function(struct work *work)
{
    if (work->reason == INSTRUMENTED_SKIP_NOT_FUNCTION ||
        work->reason == INSTRUMENTED_SKIP_ATTRIBUTE)
        return;
    entry_prepare(work);
    if (!counts_something(work->options))
        work->reason = INSTRUMENTED_WHOLE;
}

static void instrument_function(struct work *work)
{
    work->reason = reason_of_problem(work->function->problem);
    bool usual = work->reason == INSTRUMENTED_WHOLE && examine(work);
    if (work->options->modes & INSTRUMENTED_FUNCTIONS)
        prepare_function(work);
    if (work->options->modes & INSTRUMENTED_CEILING && work->function->problem == ASM_FINE) {
        gates_place(work);
        apply(work);
        gates_list(work);
    }
    if (!counts_something(work->options))
        return;
    if (usual && analyse(work)) {
        attempt(work);
        while (work->reason == INSTRUMENTED_WHOLE && work->spills_wanted > work->spills) {
            work->spills = work->spills_wanted;
            attempt(work);
        }
        if (work->reason == INSTRUMENTED_WHOLE)
            apply(work);
        if (work->reason == INSTRUMENTED_WHOLE && work->truncated)
            work->reason = INSTRUMENTED_TRUNCATED;
    }
    map_function(work);
}

static void add_counts(struct instrument_counts *counts, const struct work *work)
{
    counts->functions++;
    counts->reasons[work->reason]++;
    counts->prepared += work->prepared;
    counts->loops += work->loops;
    counts->gated += work->gated;
    counts->inline_assembly += work->function->inline_insns;
    if (work->reason > INSTRUMENTED_TRUNCATED) {
        counts->skipped++;
        return;
    }
    counts->instrumented++;
    counts->truncated += work->truncated;
    counts->hashed += work->table_kind == INSTRUMENTED_TABLE_HASH;
}

/* ---- the file -------------------------------------------------------------------------------- */

enum base_status instrument_file(struct asm_file *file, const struct instrument_options *options,
                                 struct instrument_counts *counts)
{
    if (!is_to_look_at(options))
        return BASE_OK;
    for (uint32_t i = 0; i < file->functions_count; i++) {
        struct work work = {
            .file = file,
            .options = options,
            .number = i,
            .function = &file->functions[i],
            .blocks = file->blocks ? file->blocks + file->functions[i].first_block : NULL,
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
