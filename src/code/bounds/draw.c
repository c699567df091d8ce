// SPDX-License-Identifier: MIT
/* The dependence graph as text, as visudep prints it, and in Graphviz' language. */
#include "bounds/internal.h"

#include <stdio.h>
#include <string.h>

enum { PLACE_BYTES = 256 };

static const char *const dependence_names[] = {"FLOW", "ANTI", "OUTPUT"};

static bool makes_flags(const struct bounds_instruction *instruction, uint8_t operand)
{
    for (size_t i = 0; i < instruction->operand_count; i++)
        if (instruction->operands[i].number == operand)
            return instruction->operands[i].kind == BOUNDS_FLAGS_OPERAND;
    return false;
}

/* "load of mulsd 8(%rdi), %xmm0 (a.c:7)" */
static void add_vertex(const struct bounds *bounds, const struct bounds_block *block,
                       uint32_t vertex, bounds_place *place, void *context, struct util_text *text)
{
    const struct bounds_vertex *shown = &bounds->vertices[vertex];
    char where[PLACE_BYTES] = "";
    place(context, shown->instruction, where, sizeof where);
    util_text_print(text, "%s%s%s%s%s",
                    shown->kind == BOUNDS_LOADS    ? "load of "
                    : shown->kind == BOUNDS_STORES ? "store of "
                    : makes_flags(&block->instructions[shown->instruction], shown->operand)
                        ? "flags of "
                        : "",
                    block->instructions[shown->instruction].text, where[0] ? " (" : "", where,
                    where[0] ? ")" : "");
}

/* Each pair of vertices once: an instruction that reads several flags depends several times. */
static bool is_repeated(const struct bounds *bounds, size_t arc)
{
    const struct bounds_arc *a = &bounds->arcs[arc];
    for (size_t before = arc > 16 ? arc - 16 : 0; before < arc; before++) {
        const struct bounds_arc *b = &bounds->arcs[before];
        if (b->from == a->from && b->to == a->to && b->distance == a->distance &&
            b->dependence == a->dependence)
            return true;
    }
    return false;
}

/* Load, computation and store of one instruction are not listed against each other. */
static bool is_within(const struct bounds *bounds, const struct bounds_arc *arc)
{
    return bounds->vertices[arc->from].instruction == bounds->vertices[arc->to].instruction &&
           arc->distance == 0;
}

bool bounds_list(const struct bounds *bounds, const struct bounds_block *block, bounds_place *place,
                 void *context, struct util_text *text)
{
    for (size_t a = 0; a < bounds->arc_count; a++) {
        const struct bounds_arc *arc = &bounds->arcs[a];
        if (is_within(bounds, arc) || is_repeated(bounds, a))
            continue;
        util_text_print(text, "-----> %s dependence between ", dependence_names[arc->dependence]);
        add_vertex(bounds, block, arc->from, place, context, text);
        util_text_print(text, "\n       and ");
        add_vertex(bounds, block, arc->to, place, context, text);
        util_text_print(text, "\n       %s%s, distance %u",
                        arc->memory ? "through memory" : "through registers or flags",
                        arc->may      ? " if they overlap"
                        : arc->failed ? " where forwarding fails"
                                      : "",
                        arc->distance);
        if (arc->dependence == BOUNDS_FLOW)
            util_text_print(text, ", latency %g", arc->latency / 1000.0);
        util_text_print(text, "\n");
    }
    return !text->failed;
}

bool bounds_circuit(const struct bounds *bounds, const struct bounds_block *block,
                    bounds_place *place, void *context, struct util_text *text)
{
    if (!bounds->circuit_count)
        return util_text_print(text, "critical circuit: none\n");
    util_text_print(text, "critical circuit: %g/%lld\n", (double)bounds->circuit_latency / 1000,
                    (long long)bounds->circuit_distance);
    for (size_t i = 0; i < bounds->circuit_count; i++) {
        const struct bounds_arc *arc = &bounds->arcs[bounds->circuit[i]];
        /* an arc has its target's latency; the list has the source's, which is that of the arc before */
        const struct bounds_arc *before =
            &bounds->arcs[bounds->circuit[(i + bounds->circuit_count - 1) % bounds->circuit_count]];
        util_text_print(text, "source: ");
        add_vertex(bounds, block, arc->from, place, context, text);
        util_text_print(text, "\ndest:   ");
        add_vertex(bounds, block, arc->to, place, context, text);
        util_text_print(text, "\n        <%g , %u>\n", before->latency / 1000.0, arc->distance);
    }
    return !text->failed;
}

/* ---- Graphviz ------------------------------------------------------------------------------------------ */

static void add_quoted(struct util_text *text, const char *words)
{
    for (; *words; words++) {
        if (*words == '"' || *words == '\\')
            util_text_add(text, "\\", 1);
        util_text_add(text, words, 1);
    }
}

static void add_shape(const struct bounds *bounds, const struct bounds_block *block,
                      uint32_t vertex, bounds_place *place, void *context, struct util_text *text)
{
    static const char *const shapes[] = {"box", "circle", "triangle"}, *const words[] = {"load", "",
                                                                                         "store"};
    const struct bounds_vertex *drawn = &bounds->vertices[vertex];
    const char *assembly = block->instructions[drawn->instruction].text;
    char where[PLACE_BYTES] = "", mnemonic[16];
    place(context, drawn->instruction, where, sizeof where);
    snprintf(mnemonic, sizeof mnemonic, "%.*s", (int)strcspn(assembly, " "), assembly);
    bool flags = drawn->kind == BOUNDS_COMPUTES &&
                 makes_flags(&block->instructions[drawn->instruction], drawn->operand);
    util_text_print(text, "  v%u [shape=%s, label=\"%u %s%s\", tooltip=\"", vertex,
                    shapes[drawn->kind], drawn->instruction + 1,
                    drawn->kind == BOUNDS_COMPUTES ? mnemonic : words[drawn->kind],
                    flags ? "\\nflags" : "");
    add_quoted(text, assembly);
    util_text_print(text, " ");
    add_quoted(text, where);
    util_text_print(text, "\"];\n");
}

static bool is_critical(const struct bounds *bounds, size_t arc)
{
    for (size_t i = 0; i < bounds->circuit_count; i++)
        if (bounds->circuit[i] == arc)
            return true;
    return false;
}

static bool is_drawn(const struct bounds *bounds, uint32_t vertex)
{
    for (size_t a = 0; a < bounds->arc_count; a++)
        if (bounds->arcs[a].from == vertex || bounds->arcs[a].to == vertex)
            return true;
    return false;
}

bool bounds_dot(const struct bounds *bounds, const struct bounds_block *block, bounds_place *place,
                void *context, const char *title, struct util_text *text)
{
    static const char *const colors[] = {"red", "blue", "green"};
    util_text_print(text, "digraph dependences {\n  label=\"");
    add_quoted(text, title);
    util_text_print(text, "\";\n  node [fontname=\"sans-serif\", fontsize=10, margin=0.03];\n"
                          "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    for (uint32_t v = 0; v < bounds->vertex_count; v++)
        if (is_drawn(bounds, v))
            add_shape(bounds, block, v, place, context, text);
    for (size_t a = 0; a < bounds->arc_count; a++) {
        const struct bounds_arc *arc = &bounds->arcs[a];
        if (is_repeated(bounds, a) && !is_critical(bounds, a))
            continue;
        util_text_print(text, "  v%u -> v%u [color=%s%s%s", arc->from, arc->to,
                        colors[arc->dependence], arc->may ? ", style=dashed" : "",
                        is_critical(bounds, a) ? ", penwidth=3" : "");
        if (arc->dependence == BOUNDS_FLOW)
            util_text_print(text, ", label=\"\u27e8%g,%u\u27e9\"", arc->latency / 1000.0,
                            arc->distance);
        else
            util_text_print(text, ", label=\"%u\"", arc->distance);
        util_text_print(text, "];\n");
    }
    return util_text_print(text, "}\n");
}
