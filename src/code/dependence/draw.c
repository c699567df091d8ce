// SPDX-License-Identifier: MIT
/* The graph in Graphviz' language, of operations or of statements: the lines of the source. */
#include "dependence/internal.h"

#include <stdio.h>
#include <string.h>

struct drawing {
    const struct dependence_loop *loop;
    const struct ir *ir;
    enum dependence_vertices vertices;
    struct util_text *text;
};

static void add_quoted(struct util_text *text, const char *words)
{
    for (; *words; words++) {
        if (*words == '"' || *words == '\\')
            util_text_add(text, "\\", 1);
        util_text_add(text, words, 1);
    }
}

/* Operations have their numbers, statements their lines. */
static uint32_t vertex_of(const struct drawing *drawing, uint32_t operation)
{
    return drawing->vertices == DEPENDENCE_OPERATIONS
               ? operation
               : line_of(drawing->loop, drawing->ir, operation);
}

static void add_operations(const struct drawing *drawing)
{
    static const char *const shapes[] = {"box", "circle", "triangle"};
    for (uint32_t i = 0; i < drawing->loop->loop->operations_count; i++) {
        const struct ir_operation *operation = &drawing->loop->loop->operations[i];
        util_text_print(drawing->text, "  v%u [shape=%s, label=\"", i, shapes[operation->kind]);
        add_quoted(drawing->text, operation->sign[0] ? operation->sign : operation->text);
        util_text_print(drawing->text, "\", tooltip=\"");
        add_quoted(drawing->text, operation->text);
        util_text_print(drawing->text, " (line %u)\"];\n", line_of(drawing->loop, drawing->ir, i));
    }
}

static void add_statements(const struct drawing *drawing)
{
    size_t count = drawing->loop->loop->operations_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t line = line_of(drawing->loop, drawing->ir, i);
        bool repeated = false;
        for (uint32_t j = 0; j < i; j++)
            repeated |= line_of(drawing->loop, drawing->ir, j) == line;
        if (!repeated)
            util_text_print(drawing->text, "  v%u [shape=ellipse, label=\"%u\"];\n", line, line);
    }
}

/* Between two vertices, with or without a label. */
static void add_edge(const struct drawing *drawing, uint32_t from, uint32_t to, unsigned kind,
                     bool critical, const char *label)
{
    static const char *const colors[] = {"red", "blue", "green"};
    util_text_print(drawing->text, "  v%u -> v%u [color=%s%s", vertex_of(drawing, from),
                    vertex_of(drawing, to), colors[kind], critical ? ", penwidth=3" : "");
    if (label[0])
        util_text_print(drawing->text, ", label=\"%s\"", label);
    util_text_print(drawing->text, "];\n");
}

static bool is_critical(const struct drawing *drawing, uint32_t from, uint32_t to)
{
    const struct dependence_loop *loop = drawing->loop;
    for (size_t i = 0; i < loop->arcs_count; i++)
        if (loop->arcs[i].memory && loop->arcs[i].from == from && loop->arcs[i].to == to &&
            loop->arcs[i].dependence == BOUNDS_FLOW && is_on_circuit(loop, i))
            return true;
    return false;
}

/* Those of no iteration but the same have no label, as in the paper. */
static void add_vectors(const struct drawing *drawing)
{
    for (size_t i = 0; i < drawing->loop->vectors_count; i++) {
        const struct polyhedra_vector *vector = &drawing->loop->vectors[i];
        char label[POLYHEDRA_DEPTH_MAX * 24];
        bool same = true;
        for (unsigned j = 0; j < vector->depth; j++) {
            const struct polyhedra_range *range = &vector->distances[j];
            same &= range->low_known && range->high_known && !range->low && !range->high;
        }
        dependence_vector(vector, label, sizeof label);
        add_edge(drawing, vector->from, vector->to, vector->kind,
                 vector->kind == POLYHEDRA_FLOW && is_critical(drawing, vector->from, vector->to),
                 same ? "" : label);
    }
}

static void add_scalars(const struct drawing *drawing)
{
    for (size_t i = 0; i < drawing->loop->arcs_count; i++) {
        const struct dependence_arc *arc = &drawing->loop->arcs[i];
        char label[64] = "";
        if (arc->memory || (drawing->vertices == DEPENDENCE_STATEMENTS && !arc->distance))
            continue;
        if (drawing->vertices == DEPENDENCE_OPERATIONS)
            snprintf(label, sizeof label, "\u27e8%g,%u\u27e9", arc->latency / 1000.0,
                     arc->distance);
        else
            snprintf(label, sizeof label, "%u", arc->distance);
        add_edge(drawing, arc->from, arc->to, BOUNDS_FLOW, is_on_circuit(drawing->loop, i), label);
    }
}

bool dependence_dot(const struct dependence_loop *loop, const struct ir *ir,
                    enum dependence_vertices vertices, struct util_text *text)
{
    struct drawing drawing = {loop, ir, vertices, text};
    util_text_print(text, "digraph dependences {\n  label=\"");
    add_quoted(text, loop->function);
    util_text_print(text,
                    ", loop at line %u of the source\";\n"
                    "  node [fontname=\"sans-serif\", fontsize=10, margin=0.03];\n"
                    "  edge [fontname=\"sans-serif\", fontsize=9];\n",
                    loop->loop->place.line);
    if (vertices == DEPENDENCE_OPERATIONS)
        add_operations(&drawing);
    else
        add_statements(&drawing);
    add_vectors(&drawing);
    add_scalars(&drawing);
    return util_text_print(text, "}\n");
}
