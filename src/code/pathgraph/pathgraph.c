// SPDX-License-Identifier: MIT
/*
 * A function's graph: flow gives blocks and edges of each of its parts; parts are joined where
 * jumps lead from one into another, blocks are split there and behind calls that return twice, and
 * what is left becomes edges and exits for `numbering`. Edges are kept by addresses until the blocks
 * are final.
 */
#include "pathgraph/pathgraph.h"

#include "cfg/cfg.h"
#include "isa/isa.h"
#include "util/util.h"
#include "wire/graphs.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 8, LEAVES_KIND = 255, ALIGNMENT = 8 };
/* Times that code is gone through: once for each function that holds it. A split-off part stands
   alone and with its function; symbols of a hostile file may all reach to its end. */
enum { OVERLAP_MAX = 4 };

/* As asm has them. */
static const char *const twice_names[] = {"setjmp",       "_setjmp", "__sigsetjmp", "sigsetjmp",
                                          "__setjmp",     "vfork",   "__vfork",     "getcontext",
                                          "__getcontext", "savectx", "swapcontext"};

struct part {
    uint64_t start, end;
    uint8_t *bytes;
    struct cfg *flow;
};

/* A block in the making. */
struct piece {
    uint64_t start, end;
    uint32_t part, flags; /* flags: enum cfg_block_flags */
    bool twice;
};

/* An edge in the making: from the block that ends there. */
struct link {
    uint64_t end, to;
    uint32_t kind; /* enum cfg_edge_kind */
};

struct builder {
    struct pathgraph_returns *returns;
    struct part parts[PARTS_MAX];
    uint32_t parts_count;
    struct piece *pieces;
    size_t pieces_count, pieces_capacity;
    struct link *links;
    size_t links_count, links_capacity;
    struct pathgraph *graph;
};

static bool add_piece(struct builder *builder, struct piece piece)
{
    if (!UTIL_GROW(builder->pieces, builder->pieces_capacity, builder->pieces_count))
        return false;
    builder->pieces[builder->pieces_count++] = piece;
    return true;
}

static bool add_link(struct builder *builder, struct link link)
{
    if (!UTIL_GROW(builder->links, builder->links_capacity, builder->links_count))
        return false;
    builder->links[builder->links_count++] = link;
    return true;
}

/* ---- parts ---------------------------------------------------------------------------------- */

static bool read_data(void *context, uint64_t address, void *out, size_t bytes)
{
    return binary_read_loaded(context, address, out, bytes) == BASE_OK;
}

static enum base_status add_part(struct builder *builder, uint64_t start, uint64_t end)
{
    struct part *part = &builder->parts[builder->parts_count];
    struct binary *binary = builder->returns->binary;
    size_t count = (size_t)(end - start);
    if (end <= start || count > CFG_BYTES_MAX ||
        count > OVERLAP_MAX * binary_bytes(binary) - builder->returns->code_bytes)
        return BASE_UNSUPPORTED;
    builder->returns->code_bytes += count;
    *part = (struct part){.start = start, .end = end, .bytes = malloc(count)};
    builder->parts_count++;
    if (!part->bytes)
        return BASE_NO_MEMORY;
    enum base_status status = binary_read(binary, start, part->bytes, count);
    struct cfg_code code = {.bytes = part->bytes,
                            .count = count,
                            .start = start,
                            .data = {read_data, binary},
                            .returns = pathgraph_returns_of,
                            .context = builder->returns};
    if (status == BASE_OK)
        status = cfg_of_code(&code, &part->flow);
    if (status == BASE_OK && (part->flow->flags & CFG_LARGE || part->flow->blocks_count == 0))
        status = BASE_UNSUPPORTED;
    return status;
}

static struct part *part_of(struct builder *builder, uint64_t address)
{
    for (uint32_t i = 0; i < builder->parts_count; i++)
        if (address >= builder->parts[i].start && address < builder->parts[i].end)
            return &builder->parts[i];
    return NULL;
}

static bool decode(struct builder *builder, uint64_t address, struct isa_insn *insn)
{
    const struct part *part = part_of(builder, address);
    return part && isa_decode(part->bytes + (address - part->start), (size_t)(part->end - address),
                              address, insn) == BASE_OK;
}

/* gcc moves what it holds to be rare to FUNCTION.cold. */
static bool is_cold_part(const char *name, const char *function)
{
    size_t length = strlen(function);
    return name && length && strncmp(name, function, length) == 0 &&
           strncmp(name + length, ".cold", 5) == 0;
}

/* Where a block that leaves its part goes, if that is a part of the same function; 0: elsewhere.
 * Adds the part. */
static enum base_status target_of(struct builder *builder, const struct cfg_block *block,
                                  uint64_t *target)
{
    struct binary *binary = builder->returns->binary;
    struct isa_insn insn;
    uint64_t start, end;
    *target = 0;
    if (!decode(builder, block->last, &insn) || insn.indirect ||
        (insn.flow != ISA_JUMP && insn.flow != ISA_BRANCH))
        return BASE_OK;
    if (part_of(builder, insn.target)) {
        *target = insn.target;
        return BASE_OK;
    }
    if (builder->parts_count == PARTS_MAX ||
        binary_function(binary, insn.target, &start, &end) != BASE_OK ||
        !is_cold_part(binary_symbol(binary, start), builder->graph->name))
        return BASE_OK;
    enum base_status status = add_part(builder, start, end);
    if (status == BASE_OK)
        *target = insn.target;
    return status;
}

static enum base_status take_part(struct builder *builder, uint32_t number)
{
    const struct cfg *flow = builder->parts[number].flow;
    builder->graph->incomplete = builder->graph->incomplete || flow->flags & CFG_INCOMPLETE;
    for (uint32_t i = 0; i < flow->blocks_count; i++) {
        const struct cfg_block *block = &flow->blocks[i];
        struct piece piece = {block->start, block->end, number, block->flags, false};
        uint64_t target = 0;
        enum base_status status = BASE_OK;
        if (block->flags & CFG_LEAVES)
            status = target_of(builder, block, &target);
        if (status != BASE_OK)
            return status;
        if (target) {
            bool branch = block->edges != 0;
            piece.flags &= ~(uint32_t)CFG_LEAVES;
            if (!add_link(builder,
                          (struct link){block->end, target, branch ? CFG_TAKEN : CFG_JUMP}))
                return BASE_NO_MEMORY;
        }
        if (!add_piece(builder, piece))
            return BASE_NO_MEMORY;
        for (uint32_t e = 0; e < block->edges; e++) {
            const struct cfg_edge *edge = &flow->edges[block->first_edge + e];
            if (!add_link(builder,
                          (struct link){block->end, flow->blocks[edge->to].start, edge->kind}))
                return BASE_NO_MEMORY;
        }
    }
    return BASE_OK;
}

/* ---- splits --------------------------------------------------------------------------------- */

/* The blocks from `address` on, an instruction's. twice: behind a call that may return again: a
   path ends there, another begins, whichever way control comes. */
static bool split(struct builder *builder, size_t number, uint64_t address, bool twice)
{
    struct piece *piece = &builder->pieces[number];
    struct piece rest = *piece;
    rest.start = address;
    rest.twice = twice;
    rest.flags &= ~(uint32_t)CFG_ROOT;
    piece->end = address;
    piece->flags &= ~(uint32_t)CFG_EXIT;
    if (twice)
        piece->flags |= CFG_LEAVES;
    return add_piece(builder, rest) &&
           (twice || add_link(builder, (struct link){address, address, CFG_FALL}));
}

static bool calls_twice(struct builder *builder, const struct isa_insn *insn)
{
    const char *name = NULL;
    if (insn->flow != ISA_CALL)
        return false;
    if (!insn->indirect)
        name = pathgraph_callee(builder->returns->binary, insn->target, false);
    else if (insn->access_count && insn->accesses[0].base < 0 && insn->accesses[0].index < 0)
        name = pathgraph_callee(builder->returns->binary, (uint64_t)insn->accesses[0].displacement,
                                true);
    for (size_t i = 0; name && i < BASE_COUNT(twice_names); i++)
        if (strcmp(name, twice_names[i]) == 0)
            return true;
    return false;
}

static bool split_at_calls(struct builder *builder)
{
    for (size_t i = 0; i < builder->pieces_count; i++) { /* grows */
        struct isa_insn insn;
        for (uint64_t at = builder->pieces[i].start; at < builder->pieces[i].end;
             at += insn.length) {
            if (!decode(builder, at, &insn))
                break;
            uint64_t next = at + insn.length;
            if (next < builder->pieces[i].end && calls_twice(builder, &insn)) {
                if (!split(builder, i, next, true))
                    return false;
                break;
            }
        }
    }
    return true;
}

/* A way from another part may lead into the middle of a block. False: no memory. */
static bool split_at_target(struct builder *builder, struct link *link)
{
    for (size_t i = 0; i < builder->pieces_count; i++) {
        const struct piece *piece = &builder->pieces[i];
        if (link->to == piece->start) {
            if (part_of(builder, link->end - 1) != &builder->parts[piece->part])
                builder->pieces[i].flags &= ~(uint32_t)CFG_ROOT;
            return true;
        }
        if (link->to <= piece->start || link->to >= piece->end)
            continue;
        struct isa_insn insn;
        for (uint64_t at = piece->start; at < piece->end && decode(builder, at, &insn);
             at += insn.length)
            if (at == link->to)
                return split(builder, i, at, false);
    }
    return true;
}

static bool split_at_targets(struct builder *builder)
{
    for (size_t i = 0; i < builder->links_count; i++) {
        const struct link *link = &builder->links[i];
        if (part_of(builder, link->end - 1) == part_of(builder, link->to))
            continue;
        struct link copy = *link;
        if (!split_at_target(builder, &copy))
            return false;
    }
    return true;
}

/* ---- the graph ------------------------------------------------------------------------------- */

static int compare_pieces(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

static bool add_call(struct pathgraph *graph, const struct isa_insn *insn, uint32_t block)
{
    return UTIL_PUSH(graph->calls, graph->calls_count, graph->calls_capacity,
                     (struct pathgraph_call){insn->address + insn->length, block, insn->indirect});
}

/* nop, nopw ..., xchg %ax, %ax. */
static bool is_nop(struct builder *builder, const struct isa_insn *insn)
{
    const struct part *part = part_of(builder, insn->address);
    const uint8_t *byte = part->bytes + (insn->address - part->start);
    while (*byte == 0x66 || *byte == 0x2e)
        byte++;
    return *byte == 0x90 || (*byte == 0x0f && byte[1] == 0x1f);
}

/* What is in a block. False: no memory. */
static bool measure(struct builder *builder, uint32_t number)
{
    struct pathgraph_block *block = &builder->graph->blocks[number];
    struct isa_insn insn;
    uint32_t padding = 0;
    for (uint64_t at = block->start; at < block->end && decode(builder, at, &insn);
         at += insn.length) {
        block->last = at;
        block->instructions++;
        padding = is_nop(builder, &insn) ? padding + 1 : 0;
        block->approximate = block->approximate || insn.repeated;
        for (unsigned i = 0; i < insn.access_count; i++) {
            block->loads += (insn.accesses[i].direction & ISA_LOAD) != 0;
            block->stores += (insn.accesses[i].direction & ISA_STORE) != 0;
            block->approximate = block->approximate || insn.accesses[i].conditional;
        }
        if (insn.flow == ISA_CALL && !add_call(builder->graph, &insn, number))
            return false;
    }
    /* What the assembler puts in to align the next block is no instruction of the compiler's. */
    if (block->end % ALIGNMENT == 0)
        block->instructions -= padding;
    return true;
}

static int compare_calls(const void *left, const void *right)
{
    const struct pathgraph_call *a = left, *b = right;
    return (a->back > b->back) - (a->back < b->back);
}

static enum base_status make_blocks(struct builder *builder)
{
    struct pathgraph *graph = builder->graph;
    qsort(builder->pieces, builder->pieces_count, sizeof *builder->pieces, compare_pieces);
    for (size_t i = 1; i < builder->pieces_count; i++) { /* the entry goes first */
        struct piece entry = builder->pieces[i];
        if (builder->pieces[0].start == graph->entry || entry.start != graph->entry)
            continue;
        memmove(builder->pieces + 1, builder->pieces, i * sizeof entry);
        builder->pieces[0] = entry;
    }
    graph->blocks_count = (uint32_t)builder->pieces_count;
    graph->blocks = calloc(graph->blocks_count, sizeof *graph->blocks);
    if (!graph->blocks)
        return BASE_NO_MEMORY;
    for (uint32_t i = 0; i < graph->blocks_count; i++) {
        const struct piece *piece = &builder->pieces[i];
        struct pathgraph_block *block = &graph->blocks[i];
        block->start = block->last = piece->start;
        block->end = piece->end;
        bool root = piece->twice || (piece->flags & CFG_ROOT && i);
        block->flags = (root ? WIRE_GRAPH_ROOT : 0) |
                       (piece->flags & CFG_STOPS ? WIRE_GRAPH_STOPS : 0) |
                       (piece->twice ? WIRE_GRAPH_TWICE : 0);
        if (!measure(builder, i))
            return BASE_NO_MEMORY;
    }
    if (graph->calls_count)
        qsort(graph->calls, graph->calls_count, sizeof *graph->calls, compare_calls);
    return graph->blocks[0].start == graph->entry ? BASE_OK : BASE_UNSUPPORTED;
}

/* Block that starts there (end: that ends there); NUMBERING_EXIT: none. */
static uint32_t block_at(const struct builder *builder, uint64_t address, bool end)
{
    for (uint32_t p = 0, low = 0; p < builder->parts_count; p++) {
        const struct piece *pieces = builder->pieces + low;
        uint32_t count = 0;
        while (low + count < builder->pieces_count && pieces[count].part == p)
            count++;
        uint32_t found = BASE_FIRST(i, count, (end ? pieces[i].end : pieces[i].start) >= address);
        if (found < count && (end ? pieces[found].end : pieces[found].start) == address)
            return low + found;
        low += count;
    }
    return NUMBERING_EXIT;
}

struct sortable {
    struct numbering_edge edge;
    uint32_t kind;
};

static int compare_edges(const void *left, const void *right)
{
    const struct sortable *a = left, *b = right;
    if (a->edge.from != b->edge.from)
        return a->edge.from < b->edge.from ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->edge.to > b->edge.to) - (a->edge.to < b->edge.to);
}

static bool known_edge(const struct sortable *edges, size_t count,
                       const struct numbering_edge *edge)
{
    while (count-- > 0 && edges[count].edge.from == edge->from)
        if (edges[count].edge.to == edge->to)
            return true;
    return false;
}

/* Where links lead, and exits. More than one way from a block to another is one: engines that see
   blocks cannot distinguish them. */
static enum base_status make_edges(struct builder *builder)
{
    struct pathgraph *graph = builder->graph;
    size_t most = builder->links_count + graph->blocks_count, count = 0, kept = 0;
    struct sortable *edges = calloc(most, sizeof *edges);
    struct numbering_edge *made = calloc(most, sizeof *made);
    uint32_t *flags = calloc(graph->blocks_count, sizeof *flags);
    graph->numbering_graph = (struct numbering_graph){.edges = made, .block_flags = flags};
    if (!edges || !made || !flags) {
        free(edges);
        return BASE_NO_MEMORY;
    }
    bool *left = calloc(graph->blocks_count, sizeof *left);
    for (size_t i = 0; i < builder->links_count && left; i++) {
        const struct link *link = &builder->links[i];
        uint32_t from = block_at(builder, link->end, true);
        uint32_t to = block_at(builder, link->to, false);
        if (from == NUMBERING_EXIT)
            continue;
        left[from] = true;
        edges[count++] =
            (struct sortable){{from, to, 0, -1}, to == NUMBERING_EXIT ? LEAVES_KIND : link->kind};
    }
    for (uint32_t i = 0; i < graph->blocks_count && left; i++) {
        flags[i] = graph->blocks[i].flags & WIRE_GRAPH_ROOT ? NUMBERING_ROOT : 0;
        if (builder->pieces[i].flags & CFG_EXIT || !left[i])
            edges[count++] = (struct sortable){{i, NUMBERING_EXIT, 0, -1}, LEAVES_KIND};
    }
    if (count)
        qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t i = 0; i < count; i++)
        if (!known_edge(edges, kept, &edges[i].edge))
            edges[kept++] = edges[i];
    for (size_t i = 0; i < kept; i++)
        made[i] = edges[i].edge;
    graph->numbering_graph.blocks_count = graph->blocks_count;
    graph->numbering_graph.edges_count = (uint32_t)kept;
    free(edges);
    free(left);
    return left ? BASE_OK : BASE_NO_MEMORY;
}

static enum base_status cut(struct pathgraph *graph)
{
    enum base_status status = numbering_number(&graph->numbering_graph, &graph->paths);
    for (uint32_t i = 0; i < graph->numbering_graph.edges_count && status == BASE_OK; i++) {
        const struct numbering_edge *edge = &graph->numbering_graph.edges[i];
        if (edge->flags && edge->to != NUMBERING_EXIT)
            graph->blocks[edge->to].flags |= WIRE_GRAPH_CUT_INTO;
    }
    return status;
}

static enum base_status build(struct builder *builder, uint64_t start, uint64_t end)
{
    enum base_status status = add_part(builder, start, end);
    for (uint32_t i = 0; i < builder->parts_count && status == BASE_OK; i++)
        status = take_part(builder, i);
    if (status == BASE_OK && (!split_at_calls(builder) || !split_at_targets(builder)))
        status = BASE_NO_MEMORY;
    if (status == BASE_OK)
        status = make_blocks(builder);
    if (status == BASE_OK)
        status = make_edges(builder);
    return status == BASE_OK ? cut(builder->graph) : status;
}

enum base_status pathgraph_of(struct pathgraph_returns *returns, uint64_t start,
                              struct pathgraph **graph)
{
    struct builder builder = {.returns = returns};
    uint64_t first, end;
    enum base_status status = cfg_start();
    if (status == BASE_OK)
        status = binary_function(returns->binary, start, &first, &end);
    if (status == BASE_OK && first != start)
        status = BASE_NOT_FOUND;
    if (status != BASE_OK)
        return status;
    builder.graph = calloc(1, sizeof *builder.graph);
    if (!builder.graph)
        return BASE_NO_MEMORY;
    const char *name = binary_symbol(returns->binary, start);
    builder.graph->entry = start;
    builder.graph->name = name ? name : "";
    status = build(&builder, start, end);
    for (uint32_t i = 0; i < builder.parts_count; i++) {
        cfg_free(builder.parts[i].flow);
        free(builder.parts[i].bytes);
    }
    free(builder.pieces);
    free(builder.links);
    if (status != BASE_OK)
        pathgraph_free(builder.graph);
    else
        *graph = builder.graph;
    return status;
}

void pathgraph_free(struct pathgraph *graph)
{
    if (!graph)
        return;
    numbering_free(graph->paths);
    free(graph->numbering_graph.edges);
    free((void *)graph->numbering_graph.block_flags);
    free(graph->blocks);
    free(graph->calls);
    free(graph);
}
