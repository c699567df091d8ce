// SPDX-License-Identifier: MIT
/* Dependences and the critical circuit as visudep prints them. */
#include "dependence/internal.h"

#include <stdio.h>
#include <string.h>

const char *const dependence_names[] = {"FLOW", "ANTI", "OUTPUT"};

static const char *component(const struct polyhedra_range *range, char text[32])
{
    if (range->low_known && range->high_known && range->low == range->high)
        snprintf(text, 32, "%lld", (long long)range->low);
    else if (range->low_known && range->low >= 0)
        snprintf(text, 32, range->low > 0 ? "+" : "0+");
    else if (range->high_known && range->high <= 0)
        snprintf(text, 32, range->high < 0 ? "-" : "0-");
    else
        snprintf(text, 32, "*");
    return text;
}

const char *dependence_vector(const struct polyhedra_vector *vector, char *text, size_t bytes)
{
    char one[32];
    size_t count = (size_t)snprintf(text, bytes, "(");
    for (unsigned i = 0; i < vector->depth && count < bytes; i++)
        count += (size_t)snprintf(text + count, bytes - count, "%s%s", i ? ", " : "",
                                  component(&vector->distances[i], one));
    if (count < bytes)
        snprintf(text + count, bytes - count, ")");
    return text;
}

static void add_operation(const struct dependence_loop *loop, const struct ir *ir,
                          uint32_t operation, struct util_text *text)
{
    uint32_t line = line_of(loop, ir, operation);
    util_text_print(text, "%s", loop->loop->operations[operation].text);
    if (line)
        util_text_print(text, " (line %u)", line);
}

bool dependence_list(const struct dependence_loop *loop, const struct ir *ir,
                     enum dependence_vertices vertices, struct util_text *text)
{
    for (size_t i = 0; i < loop->vectors_count; i++) {
        const struct polyhedra_vector *vector = &loop->vectors[i];
        char distances[POLYHEDRA_DEPTH_MAX * 24];
        util_text_print(text, "-----> %s dependence between ", dependence_names[vector->kind]);
        add_operation(loop, ir, vector->from, text);
        util_text_print(text, "\n       and ");
        add_operation(loop, ir, vector->to, text);
        util_text_print(text, "\n       with vector %s\n",
                        dependence_vector(vector, distances, sizeof distances));
    }
    for (size_t i = 0; i < loop->arcs_count; i++) {
        const struct dependence_arc *arc = &loop->arcs[i];
        if (arc->memory || (vertices == DEPENDENCE_STATEMENTS && !arc->distance))
            continue;
        util_text_print(text, "-----> FLOW dependence between ");
        add_operation(loop, ir, arc->from, text);
        util_text_print(text, "\n       and ");
        add_operation(loop, ir, arc->to, text);
        util_text_print(text, "\n       through a register, distance %u\n", arc->distance);
    }
    return !text->failed;
}

static const char *role_of(const struct dependence_loop *loop, uint32_t operation)
{
    static const char *const words[] = {"load of ", "", "store of "};
    return words[loop->loop->operations[operation].kind];
}

bool dependence_circuit(const struct dependence_loop *loop, const struct ir *ir,
                        struct util_text *text)
{
    if (!loop->circuit_count)
        return util_text_print(text, "critical circuit: none\n");
    util_text_print(text, "critical circuit: %g/%lld\n", (double)loop->circuit_latency / 1000,
                    (long long)loop->circuit_distance);
    for (size_t i = 0; i < loop->circuit_count; i++) {
        const struct dependence_arc *arc = &loop->arcs[loop->circuit[i]];
        util_text_print(text, "source: %s", role_of(loop, arc->from));
        add_operation(loop, ir, arc->from, text);
        util_text_print(text, "\ndest:   %s", role_of(loop, arc->to));
        add_operation(loop, ir, arc->to, text);
        util_text_print(text, "\n        <%g , %u>\n", arc->latency / 1000.0, arc->distance);
    }
    return !text->failed;
}
