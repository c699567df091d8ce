// SPDX-License-Identifier: MIT
/* The calling-context tree for people: its shape, and the contexts that cost most. */
#include "paths/internal.h"
#include "show/print.h"

#include <inttypes.h>

enum { SHOWN_MAX = 6, CHAIN_NAME = 36, LABEL = 24 };

static void print_figure(struct printer *printer, const char *label, const char *text)
{
    fprintf(printer->out, "  %s", print_on(printer, DIM));
    print_pad(printer, label, LABEL, false);
    fputs(print_off(printer), printer->out);
    print_wrap(printer, PLAIN, LABEL + 2, LABEL + 2, text);
}

static void print_shape(struct printer *printer, const struct paths_contexts *contexts)
{
    char text[TEXT_BYTES], a[32], b[32], c[32], name[NAME_BYTES];
    snprintf(text, sizeof text, "%s", print_grouped(contexts->nodes, a));
    if (contexts->bytes)
        print_add(text, sizeof text, ", %s, %s each", print_bytes((double)contexts->bytes, b),
                  print_bytes(contexts->mean_node_bytes, c));
    print_figure(printer, "contexts", text);
    snprintf(text, sizeof text, "%.1f on average, %" PRIu32 " at most", contexts->height_mean,
             contexts->height_max);
    print_figure(printer, "height", text);
    snprintf(text, sizeof text, "%.2f for each context that calls", contexts->mean_degree);
    print_figure(printer, "callees", text);
    paths_name(printer, contexts->most_replicated, CHAIN_NAME, name);
    snprintf(text, sizeof text, "%s: %s", print_grouped(contexts->max_replication, a), name);
    print_figure(printer, "most of any function", text);
    if (contexts->call_sites == 0)
        return;
    snprintf(text, sizeof text, "%s, of which %s were used", print_grouped(contexts->call_sites, a),
             print_grouped(contexts->call_sites_used, b));
    if (contexts->call_sites_one_path)
        print_add(text, sizeof text, ", %s of them reached by one path only",
                  print_grouped(contexts->call_sites_one_path, c));
    print_figure(printer, "call sites in contexts", text);
}

/* "main → work:12 → leaf", outermost first; long ones keep their ends. */
static void make_chain(const struct printer *printer, uint32_t id, char *text, size_t bytes)
{
    const struct profile_vertex *vertices = printer->profile->vertices;
    uint32_t inner[SHOWN_MAX], outer[2] = {0, 0};
    size_t depth = 0;
    for (; id && paths_is_vertex(&vertices[id]); id = vertices[id].parent, depth++) {
        if (depth < SHOWN_MAX)
            inner[depth] = id;
        outer[1] = outer[0];
        outer[0] = id;
    }
    text[0] = 0;
    size_t shown = depth < SHOWN_MAX ? depth : SHOWN_MAX;
    if (depth > shown + 2) {
        char name[NAME_BYTES];
        paths_name(printer, vertices[outer[0]].function, CHAIN_NAME, name);
        print_add(text, bytes, "%s → … %zu more … → ", name, depth - shown - 1);
    } else {
        for (size_t i = 0; i < depth - shown; i++) {
            char name[NAME_BYTES];
            paths_name(printer, vertices[outer[i]].function, CHAIN_NAME, name);
            print_add(text, bytes, "%s → ", name);
        }
    }
    while (shown-- > 0) {
        char name[NAME_BYTES];
        paths_name(printer, vertices[inner[shown]].function, CHAIN_NAME, name);
        print_add(text, bytes, "%s", name);
        if (shown && vertices[inner[shown - 1]].site_line)
            print_add(text, bytes, ":%" PRIu32, vertices[inner[shown - 1]].site_line);
        print_add(text, bytes, "%s", shown ? " → " : "");
    }
}

static void print_context(struct printer *printer, const struct paths_contexts *contexts,
                          uint32_t id)
{
    const struct profile_vertex *vertex = &printer->profile->vertices[id];
    char chain[TEXT_BYTES * 2], share[32], count[32];
    make_chain(printer, id, chain, sizeof chain);
    print_percent(paths_share(paths_vertex_metric(vertex, contexts->metric), contexts->total),
                  share);
    fprintf(printer->out, "  %s%8s%s  %10s  ", print_on(printer, BOLD), share, print_off(printer),
            print_quantity((double)vertex->count, count));
    print_wrap(printer, PLAIN, 24, 26, chain);
}

void paths_print_contexts(struct printer *printer, const struct paths_figures *figures)
{
    const struct paths_contexts *contexts = &figures->contexts;
    size_t limit = printer->options->limit, shown = contexts->ranked_count;
    const char *metric =
        contexts->metric == REPORT_COUNT ? "share" : paths_short_metric(contexts->metric);
    if (contexts->nodes == 0)
        return;
    fprintf(printer->out, "\n%sCalling contexts%s\n\n", print_on(printer, STRONG),
            print_off(printer));
    print_shape(printer, contexts);
    if (limit && shown > limit)
        shown = limit;
    if (shown)
        fprintf(printer->out, "\n  %s%8s  %10s  context%s\n", print_on(printer, DIM), metric,
                "calls", print_off(printer));
    for (size_t i = 0; i < shown; i++)
        print_context(printer, contexts, contexts->ranked[i]);
    if (shown < contexts->ranked_count)
        fprintf(printer->out, "  %s%zu more%s\n", print_on(printer, DIM),
                contexts->ranked_count - shown, print_off(printer));
}
