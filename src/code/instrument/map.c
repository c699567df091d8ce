// SPDX-License-Identifier: MIT
/*
 * The function's entry in headroom_map, as assembler text, and its cells or its own record. Both go
 * with the function when the linker drops it: by SHF_LINK_ORDER and, for what several object files
 * define, by its group.
 */
#include "instrument/internal.h"

#include <string.h>

/* ---- figures of blocks ----------------------------------------------------------------------- */

struct figures {
    uint32_t instructions, loads, stores, flags;
};

static void add_instruction(struct figures *figures, const struct isa_insn *insn)
{
    figures->instructions++;
    for (uint32_t i = 0; i < insn->access_count; i++) {
        figures->loads += (insn->accesses[i].direction & ISA_LOAD) != 0;
        figures->stores += (insn->accesses[i].direction & ISA_STORE) != 0;
        if (insn->repeated || insn->accesses[i].conditional)
            figures->flags |= INSTRUMENTED_BLOCK_APPROXIMATE;
    }
}

static struct figures figures_of(const struct work *work, const struct asm_block *block)
{
    struct figures figures = {0};
    for (uint32_t i = block->first; i <= block->last; i++) {
        const struct asm_statement *statement = &work->file->statements[i];
        for (uint32_t k = 0; k < statement->insns_count; k++)
            add_instruction(&figures, &work->file->insns[statement->insns + k].isa);
    }
    return figures;
}

/* ---- sections -------------------------------------------------------------------------------- */

void map_section(struct util_text *text, const struct work *work, const char *name,
                 const char *flags, const char *type)
{
    const struct asm_section *section = &work->file->sections[work->function->section];
    struct asm_slice function = work->function->name, group = section->group;
    bool grouped = group.bytes;
    util_text_print(text, "\t.section\t%s,\"%s%s\",@%s,", name, flags, grouped ? "G" : "", type);
    if (grouped && work->options->gnu)
        util_text_print(text, "%.*s,%.*s,comdat\n", (int)function.bytes, function.text,
                        (int)group.bytes, group.text);
    else if (grouped)
        util_text_print(text, "%.*s,comdat,%.*s\n", (int)group.bytes, group.text,
                        (int)function.bytes, function.text);
    else
        util_text_print(text, "%.*s\n", (int)function.bytes, function.text);
}

static bool has_table(const struct work *work)
{
    return has_paths(work) && work->reason <= INSTRUMENTED_TRUNCATED && !has_contexts(work);
}

static bool has_record(const struct work *work)
{
    return has_contexts(work) && work->reason <= INSTRUMENTED_TRUNCATED;
}

static void add_cells(struct util_text *text, const struct work *work)
{
    size_t bytes = has_paths(work) ? 8 * (size_t)work->cells : 0;
    if (has_record(work))
        bytes += sizeof(struct instrumented_record) + 8 * (size_t)work->call_sites;
    else if (!has_table(work))
        return;
    map_section(text, work, has_record(work) ? "headroom_records" : "headroom_counters", "awo",
                "nobits");
    util_text_print(text, "\t.balign\t8\n" LABEL_FORMAT ":\n\t.zero\t%zu\n", work->number, "t", 0U,
                    bytes);
}

/* ---- entries --------------------------------------------------------------------------------- */

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void add_blocks(struct util_text *text, const struct work *work)
{
    for (uint32_t i = 0; i < work->function->blocks; i++) {
        struct figures figures = figures_of(work, &work->blocks[i]);
        uint32_t loads = figures.loads < UINT16_MAX ? figures.loads : UINT16_MAX;
        uint32_t stores = figures.stores < UINT16_MAX ? figures.stores : UINT16_MAX;
        if (work->graph_flags[i] & NUMBERING_ROOT)
            figures.flags |= INSTRUMENTED_BLOCK_ROOT;
        util_text_print(text, "\t.long\t" LABEL_FORMAT "-.,%u,%u,%u\n", work->number, "b", i,
                        figures.instructions, loads | stores << 16, figures.flags);
    }
}

static void add_edges(struct util_text *text, const struct work *work)
{
    for (uint32_t i = 0; i < work->graph.edges_count; i++) {
        const struct numbering_edge *edge = &work->graph.edges[i];
        util_text_print(text, "\t.long\t%u,%u,%u\n", edge->from, edge->to,
                        edge->flags & (NUMBERING_CUT | NUMBERING_SPLIT) ? NUMBERING_CUT : 0U);
    }
}

struct sites {
    struct util_text *text;
    const struct work *work;
    uint32_t count;
};

static void add_call_site(void *context, uint32_t statement, uint32_t block)
{
    struct sites *sites = context;
    const struct asm_statement *call = &sites->work->file->statements[statement];
    bool indirect = false;
    for (uint32_t i = 0; i < call->insns_count; i++)
        indirect |= sites->work->file->insns[call->insns + i].isa.indirect;
    util_text_print(sites->text, "\t.long\t" LABEL_FORMAT "-.,%u,%u\n", sites->work->number, "c",
                    sites->count++, block, (unsigned)indirect);
}

static void add_entry(struct util_text *text, const struct work *work)
{
    bool whole = work->reason <= INSTRUMENTED_TRUNCATED, graph = whole && has_paths(work);
    uint32_t blocks = whole ? work->function->blocks : 0;
    uint32_t edges = graph ? work->graph.edges_count : 0;
    uint32_t sites = whole && has_contexts(work) ? work->call_sites : 0;
    size_t words = sizeof(struct instrumented_function) / 4 +
                   blocks * (sizeof(struct instrumented_block) / 4) +
                   edges * (sizeof(struct instrumented_edge) / 4) +
                   sites * (sizeof(struct instrumented_call) / 4);
    uint32_t kind = graph ? work->table_kind : INSTRUMENTED_TABLE_NONE;
    map_section(text, work, "headroom_map", "ao", "progbits");
    util_text_print(text, "\t.balign\t4\n" LABEL_FORMAT ":\n\t.long\t%u,%zu," LABEL_FORMAT "-.",
                    work->number, "m", 0U, (unsigned)INSTRUMENTED_ENTRY_MAGIC, words, work->number,
                    "f", 0U);
    if (has_table(work) || has_record(work))
        util_text_print(text, "," LABEL_FORMAT "-.", work->number, "t", 0U);
    else
        util_text_print(text, ",0");
    util_text_print(text, ",%u,%u,%u,%u,%u,%u,%u\n", graph ? work->cells : 0,
                    (work->options->modes & ~(uint32_t)INSTRUMENTED_FUNCTIONS) | kind << 16 |
                        work->reason << 24,
                    blocks, edges, sites, work->function->inline_insns,
                    float_bits((float)work->potential_log2));
    if (!whole)
        return;
    add_blocks(text, work);
    if (graph)
        add_edges(text, work);
    if (sites) {
        struct sites state = {.text = text, .work = work};
        place_call_sites(work, add_call_site, &state);
    }
}

/* ---- labels in the code ---------------------------------------------------------------------- */

static void label_block(struct work *work, uint32_t block)
{
    struct util_text text = {0};
    util_text_print(&text, LABEL_FORMAT ":\n", work->number, "b", block);
    work_edit(work, work->blocks[block].first, EDIT_BEFORE, &text);
}

struct labels {
    struct work *work;
    uint32_t count;
};

static void label_call(void *context, uint32_t statement, uint32_t block)
{
    struct labels *labels = context;
    struct util_text text = {0};
    (void)block;
    util_text_print(&text, LABEL_FORMAT ":\n", labels->work->number, "c", labels->count++);
    work_edit(labels->work, statement, EDIT_AFTER, &text);
}

void map_label_calls(struct work *work)
{
    struct labels labels = {.work = work};
    if (has_contexts(work))
        place_call_sites(work, label_call, &labels);
}

void map_label(struct work *work)
{
    for (uint32_t i = 0; i < work->function->blocks; i++)
        label_block(work, i);
}

void map_label_function(struct work *work)
{
    char label[48];
    snprintf(label, sizeof label, LABEL_FORMAT ":\n", work->number, "f", 0U);
    if (!asm_insert_after(work->file, work->function->first, label))
        work->out_of_memory = true;
}

void map_function(struct work *work)
{
    struct util_text text = {0};
    map_label_function(work);
    add_cells(&text, work);
    add_entry(&text, work);
    if (text.failed || (text.count && !asm_append(work->file, text.bytes)))
        work->out_of_memory = true;
    util_text_free(&text);
}
