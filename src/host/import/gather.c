// SPDX-License-Identifier: MIT
/*
 * Adds the log up, in two passes: modules, threads and counters first, because any thread of a
 * process may have logged a module that another one's contexts name; then contexts and what is
 * found in them. Which record goes where is decided here and nothing else: tables.c enters what
 * every recording has, samples.c and reuse_samples.c what live ones sampled, exact.c what the
 * exact engine counted.
 *
 * Memory grows with the number of different contexts and pairs, not with the length of the log.
 */
#include "import/internal.h"

#include <stdlib.h>

static bool visit_fact(void *context, const struct import_frame *frame,
                       const struct wire_record *record)
{
    struct import_gather *gather = context;
    uint32_t item;
    if (!import_enter_thread(gather, frame, &item))
        return false;
    switch (record->type) {
    case WIRE_PROCESS: return import_enter_process(gather, (const struct wire_process *)record);
    case WIRE_MODULE: return import_enter_module(gather, (const struct wire_module *)record);
    case WIRE_COUNTERS:
        return import_enter_counters(gather, item, (const struct wire_counters_record *)record);
    case WIRE_THREAD: return import_enter_name(gather, item, (const struct wire_thread *)record);
    }
    return true;
}

/* Node ids are the thread's own. */
static bool next_frame(struct import_gather *gather, const struct import_frame *frame)
{
    uint32_t thread;
    if (!import_enter_thread(gather, frame, &thread))
        return false;
    if (gather->exact && !import_exact_bound(gather, thread != gather->current_thread))
        return false;
    if (thread != gather->current_thread)
        import_ids_clear(&gather->node_map);
    gather->current_frame = frame;
    gather->current_thread = thread;
    return true;
}

static bool visit_event(void *context, const struct import_frame *frame,
                        const struct wire_record *record)
{
    struct import_gather *gather = context;
    if (frame != gather->current_frame && !next_frame(gather, frame))
        return false;
    if (record->type != WIRE_LOCATED)
        import_sharing_moves_on(gather);
    switch (record->type) {
    case WIRE_NODE: return import_enter_node(gather, frame, (const struct wire_node *)record);
    case WIRE_SAMPLE: return import_live_sample(gather, frame, (const struct wire_sample *)record);
    case WIRE_TRAP: return import_live_trap(gather, (const struct wire_trap *)record);
    case WIRE_TICK: return import_live_tick(gather, frame, (const struct wire_tick *)record);
    case WIRE_REUSE:
        return import_reuse_keep_watch(gather, frame->process, (const struct wire_reuse *)record);
    case WIRE_PUBLISHED:
        return import_sharing_published(gather, frame, (const struct wire_published *)record);
    case WIRE_LOCATED:
        return import_sharing_awaits(gather, frame)
                   ? import_sharing_located(gather, (const struct wire_located *)record)
                   : import_located_visit(gather, frame, (const struct wire_located *)record);
    case WIRE_MEETING:
        return import_sharing_meeting(gather, frame, (const struct wire_meeting *)record);
    case WIRE_SHARED_FILE:
        return import_sharing_file(gather, (const struct wire_shared_file *)record);
    }
    return import_exact_visit(gather, frame, record);
}

bool import_gather(struct import_gather *gather, struct import_teller *teller)
{
    if (!UTIL_GROW_ZEROED(gather->nodes, gather->nodes_capacity, 0) ||
        !UTIL_GROW_ZEROED(gather->modules, gather->modules_capacity, 0))
        return import_no_memory(gather);
    static const unsigned live = 1U << WIRE_NODE | 1U << WIRE_SAMPLE | 1U << WIRE_TRAP |
                                 1U << WIRE_REUSE | 1U << WIRE_TICK | 1U << WIRE_PUBLISHED |
                                 1U << WIRE_MEETING | 1U << WIRE_LOCATED | 1U << WIRE_SHARED_FILE;
    static const unsigned exact =
        1U << WIRE_NODE | 1U << WIRE_PAIR | 1U << WIRE_TOTALS | 1U << WIRE_REUSE_PAIR |
        1U << WIRE_HISTOGRAM | 1U << WIRE_REUSE_TOTALS | 1U << WIRE_WHAT_IF |
        1U << WIRE_PATH_VERTEX | 1U << WIRE_PATH_STATE | 1U << WIRE_PATH_TOTALS |
        1U << WIRE_SHARED_TOTALS | 1U << WIRE_SHARED_LINE | 1U << WIRE_SHARED_PAIR |
        1U << WIRE_SHARED_USER | 1U << WIRE_SHARED_BETWEEN | 1U << WIRE_OBSERVED |
        1U << WIRE_EXECUTED_CODE | 1U << WIRE_EXECUTED_WINDOW | 1U << WIRE_EXECUTED_STEPS;
    gather->nodes_count = 1;
    gather->exact = gather->log->config.source == 0 && !gather->spans;
    return import_log_visit(gather->log,
                            1U << WIRE_PROCESS | 1U << WIRE_MODULE | 1U << WIRE_THREAD |
                                1U << WIRE_COUNTERS,
                            visit_fact, gather, teller, &gather->corrupt) &&
           (!gather->exact || import_exact_images(gather)) &&
           (gather->exact || gather->spans || import_located_begin(gather, teller)) &&
           import_log_visit(gather->log, gather->exact ? exact : live, visit_event, gather, teller,
                            &gather->corrupt) &&
           (gather->exact ? import_exact_finish(gather)
                          : import_live_share(gather) && import_sharing_gathered(gather));
}

void import_gather_free(struct import_gather *gather)
{
    struct util_index *indices[] = {
        &gather->processes_by_id,    &gather->mappings_by_key,   &gather->modules_by_path,
        &gather->threads_by_id,      &gather->nodes_by_key,      &gather->pairs_by_key,
        &gather->sampled_by_key,     &gather->exacts_by_process, &gather->reuses_by_process,
        &gather->reuse_pairs_by_key, &gather->ticks_by_key,      &gather->times_by_key};
    for (size_t i = 0; i < BASE_COUNT(indices); i++)
        util_index_free(indices[i]);
    import_reuse_samples_free(&gather->reuse_samples);
    import_exact_paths_free(gather->paths);
    import_exact_executed_free(gather->executed);
    import_located_free(gather->located);
    import_sharing_free(gather->sharing);
    free(gather->mappings);
    free(gather->modules);
    free(gather->threads);
    free(gather->nodes);
    free(gather->ticks);
    free(gather->shares);
    free(gather->nears);
    import_sample_free(gather);
    free(gather->parent_pids);
    free(gather->distances);
    import_ids_free(&gather->node_map);
    import_ids_free(&gather->shared_map);
    free(gather->shared_data);
}
