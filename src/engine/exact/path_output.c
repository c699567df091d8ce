// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of paths and their contexts. Only states on the way to something counted are written. */
#include "exact/path.h"

static void put_vertices(exact_record *record, exact_commit *commit)
{
    for (UInt i = 0; i < exact_states_count(); i++)
        if (exact_states[i].kind == EXACT_ACTIVATION)
            exact_vertex_number(exact_states[i].vertex)->count += exact_states[i].count;
    for (UInt i = 1; i < exact_vertices_count(); i++) {
        struct exact_vertex *vertex = exact_vertex_number(i);
        const struct exact_state *caller = &exact_states[vertex->caller];
        struct wire_path_vertex *made = record(WIRE_PATH_VERTEX, sizeof *made);
        made->vertex = i;
        made->parent = caller->vertex;
        made->entry = exact_graph_entry(vertex->function, &made->module);
        if (caller->kind == EXACT_SITE) {
            const struct exact_site *site = exact_site_number(caller->next);
            made->has_site = 1;
            made->site_module = site->module;
            made->site =
                site->module ? site->back - exact_module_number(site->module)->bias : site->back;
        }
        made->count = vertex->count;
        vertex->count = 0;
        commit(made);
    }
}

/* Parents have smaller numbers. */
static void mark_states(void)
{
    for (UInt i = exact_states_count(); i-- > 1;) {
        struct exact_state *state = &exact_states[i];
        Bool counted = (state->kind == EXACT_EXIT || state->kind == EXACT_CUT) && state->count;
        state->mark = state->mark || counted;
        if (state->mark && state->kind >= EXACT_NEXT)
            exact_states[state->parent].mark = 1;
    }
}

static UInt wire_kind(UInt kind)
{
    switch (kind) {
    case EXACT_ENTRY: return WIRE_PATH_ENTRY;
    case EXACT_ROOT: return WIRE_PATH_ROOT;
    case EXACT_AFTER_CUT: return WIRE_PATH_AFTER_CUT;
    case EXACT_NEXT: return WIRE_PATH_NEXT;
    case EXACT_EXIT: return WIRE_PATH_EXIT;
    default: return WIRE_PATH_CUT;
    }
}

static void put_states(exact_record *record, exact_commit *commit)
{
    mark_states();
    for (UInt i = 1; i < exact_states_count(); i++) {
        struct exact_state *state = &exact_states[i];
        if (!state->mark)
            continue;
        state->mark = 0;
        struct wire_path_state *made = record(WIRE_PATH_STATE, sizeof *made);
        made->state = i;
        made->parent = state->kind >= EXACT_NEXT ? state->parent : 0;
        made->vertex = state->vertex;
        made->block = state->kind == EXACT_EXIT ? 0 : exact_graph_block(state->block)->number;
        made->kind = wire_kind(state->kind);
        made->count = state->count;
        made->misses = state->misses;
        commit(made);
    }
}

void exact_path_output(exact_record *record, exact_commit *commit)
{
    put_vertices(record, commit);
    put_states(record, commit);
    const struct cache *cache = &exact_caches.caches[0];
    struct wire_path_totals *made = record(WIRE_PATH_TOTALS, sizeof *made);
    made->contexts = exact_options.contexts;
    made->sites = exact_options.call_sites;
    if (exact_options.caches_count) {
        made->cache_bytes = cache->shape.bytes;
        made->cache_ways = cache->shape.ways;
        made->line_bytes = CACHE_LINE_BYTES;
    }
    made->misses = exact_path_totals.misses;
    made->lost_misses = exact_path_totals.lost_misses;
    made->elsewhere_instructions = exact_path_totals.instructions;
    made->elsewhere_loads = exact_path_totals.loads;
    made->elsewhere_stores = exact_path_totals.stores;
    made->elsewhere_misses = exact_path_totals.elsewhere_misses;
    for (UInt i = 0; i < exact_states_count(); i++)
        if (exact_states[i].kind == EXACT_ACTIVATION)
            made->elsewhere_misses += exact_states[i].misses;
    commit(made);
}

void exact_path_reset(void)
{
    for (UInt i = 0; i < exact_states_count(); i++)
        exact_states[i].count = exact_states[i].misses = 0;
    exact_path_totals = (struct exact_path_totals){0};
}
