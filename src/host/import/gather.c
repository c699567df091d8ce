// SPDX-License-Identifier: MIT
/*
 * Adds the log up: contexts of all threads and processes merged by (module file,
 * address), findings summed by pair, samples by context. Memory grows with the
 * number of different contexts and pairs, not with the length of the log.
 *
 * Two passes: modules, threads and counters first, because any thread of a process
 * may have logged a module that another one's contexts name.
 */
#include "detect/detect.h"
#include "import/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ids are dense. The exact engine may have some for every access in every context. */
enum { MOST_NODES_PER_THREAD = 1 << 24, MOST_EXACT_NODES = IMPORT_IDS_MOST + 1 };
static const uint32_t unknown_node = IMPORT_UNKNOWN_NODE;

/* ---- first pass: processes, modules, threads ------------------------------------------------- */

bool import_no_memory(struct import_gather *gather)
{
    gather->out_of_memory = true;
    return false;
}

static bool equal_process(const void *items, uint32_t item, const void *key)
{
    return ((const struct profile_process *)items)[item].id == *(const uint32_t *)key;
}

static bool keep_command(struct import_gather *gather, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += strlen(text + at) + 1) {
        struct profile_text *argument = profile_add_arguments(gather->profile);
        if (!argument || !(argument->text = profile_keep(gather->profile, text + at)))
            return import_no_memory(gather);
    }
    return true;
}

static bool visit_process(struct import_gather *gather, const struct wire_process *record)
{
    struct profile *profile = gather->profile;
    uint32_t item;
    bool found;
    if (!util_index_enter(&gather->processes_by_id, import_hash(record->process, 0, 0),
                          equal_process, profile->processes, &record->process,
                          (uint32_t)profile->processes_count, &item, &found))
        return import_no_memory(gather);
    if (found)
        return true;
    struct profile_process *process = profile_add_processes(profile);
    if (!process)
        return import_no_memory(gather);
    *process = (struct profile_process){.id = record->process,
                                        .parent = record->parent,
                                        .pid = record->pid,
                                        .forked = record->forked != 0,
                                        .start_ns = record->start_ns & INT64_MAX};
    process->exe = profile_keep(profile, record->text);
    if (!process->exe || !UTIL_GROW_ZEROED(gather->parent_pids, gather->parent_pids_capacity, item))
        return import_no_memory(gather);
    gather->parent_pids[item] = record->ppid;
    /* The first image was started with what the user typed. The exact engine's ids
     * tell no order. */
    if (item > 0 && !(gather->exact && process->start_ns < gather->first_start_ns))
        return true;
    gather->first_start_ns = process->start_ns;
    profile->arguments_count = 0;
    return keep_command(gather, record->text + record->exe_bytes, record->command_bytes);
}

struct module_key {
    const struct import_gather *gather;
    const char *path;
    uint64_t device, inode;
};

static bool equal_module(const void *items, uint32_t item, const void *key)
{
    const struct import_gather *gather = items;
    const struct module_key *wanted = key;
    return gather->modules[item].device == wanted->device &&
           gather->modules[item].inode == wanted->inode &&
           strcmp(gather->profile->modules[item].path, wanted->path) == 0;
}

/* Id in profile->modules of a file, which many images may map. */
static bool module_id(struct import_gather *gather, const struct wire_module *record, uint32_t *id)
{
    struct profile *profile = gather->profile;
    struct module_key key = {gather, record->path, record->device, record->inode};
    uint64_t hash = import_hash(base_hash_bytes(record->path, strlen(record->path), 0),
                                record->device, record->inode);
    bool found;
    if (!util_index_enter(&gather->modules_by_path, hash, equal_module, gather, &key,
                          (uint32_t)profile->modules_count, id, &found))
        return import_no_memory(gather);
    if (found)
        return true;
    struct profile_module *module = profile_add_modules(profile);
    if (!module || !UTIL_GROW_ZEROED(gather->modules, gather->modules_capacity, *id))
        return import_no_memory(gather);
    gather->modules[*id] = (struct import_module){record->device, record->inode};
    module->detail = PROFILE_DETAIL_NONE;
    module->path = profile_keep(profile, record->path);
    return module->path != NULL || import_no_memory(gather);
}

static bool equal_mapping(const void *items, uint32_t item, const void *key)
{
    const struct import_mapping *mapping = &((const struct import_mapping *)items)[item];
    const struct import_mapping *wanted = key;
    return mapping->process == wanted->process && mapping->module == wanted->module;
}

static bool visit_module(struct import_gather *gather, const struct wire_module *record)
{
    struct import_mapping mapping = {.process = record->process,
                                     .module = record->module,
                                     .start = record->start,
                                     .end = record->end,
                                     .bias = record->bias};
    uint32_t item;
    bool found;
    if (!UTIL_GROW_ZEROED(gather->mappings, gather->mappings_capacity, gather->mappings_count) ||
        !util_index_enter(&gather->mappings_by_key, import_hash(mapping.process, mapping.module, 1),
                          equal_mapping, gather->mappings, &mapping,
                          (uint32_t)gather->mappings_count, &item, &found))
        return import_no_memory(gather);
    if (found)
        return true;
    gather->mappings_count++;
    if (!module_id(gather, record, &mapping.id))
        return false;
    gather->mappings[item] = mapping;
    return true;
}

static bool equal_thread(const void *items, uint32_t item, const void *key)
{
    const struct profile_thread *thread = &((const struct profile_thread *)items)[item];
    const struct import_frame *frame = key;
    return thread->id == frame->thread && thread->process == frame->process;
}

/* Index of the frame's thread in profile->threads, entered if new. */
static bool thread_of(struct import_gather *gather, const struct import_frame *frame,
                      uint32_t *item)
{
    struct profile *profile = gather->profile;
    bool found;
    if (!util_index_enter(&gather->threads_by_id, import_hash(frame->thread, frame->process, 2),
                          equal_thread, profile->threads, frame, (uint32_t)profile->threads_count,
                          item, &found) ||
        !UTIL_GROW_ZEROED(gather->threads, gather->threads_capacity, *item))
        return import_no_memory(gather);
    if (found)
        return true;
    struct profile_thread *thread = profile_add_threads(profile);
    if (!thread)
        return import_no_memory(gather);
    thread->id = frame->thread;
    thread->process = frame->process;
    return true;
}

static bool visit_counters(struct import_gather *gather, uint32_t item,
                           const struct wire_counters_record *record)
{
    struct import_thread *thread = &gather->threads[item];
    /* Counters only grow: of two records the later one is the larger. */
    if (thread->has_counters && thread->counters.attempted >= record->counters.attempted)
        return true;
    thread->has_counters = true;
    thread->counters = record->counters;
    gather->profile->threads[item].cpu_ns = record->cpu_ns & INT64_MAX;
    gather->profile->threads[item].tid = record->tid;
    return true;
}

static bool visit_fact(void *context, const struct import_frame *frame,
                       const struct wire_record *record)
{
    struct import_gather *gather = context;
    uint32_t item;
    if (!thread_of(gather, frame, &item))
        return false;
    switch (record->type) {
    case WIRE_PROCESS: return visit_process(gather, (const struct wire_process *)record);
    case WIRE_MODULE: return visit_module(gather, (const struct wire_module *)record);
    case WIRE_COUNTERS:
        return visit_counters(gather, item, (const struct wire_counters_record *)record);
    case WIRE_THREAD: {
        const struct wire_thread *thread = (const struct wire_thread *)record;
        /* All threads of an exact image write as one: it has its first one's name. */
        if (gather->exact && gather->profile->threads[item].name)
            return true;
        gather->profile->threads[item].tid = thread->tid;
        gather->profile->threads[item].name = profile_keep(gather->profile, thread->name);
        return gather->profile->threads[item].name != NULL || import_no_memory(gather);
    }
    }
    return true;
}

/* ---- second pass: contexts, samples, findings ------------------------------------------------ */

bool import_knows_process(const struct import_gather *gather, uint32_t process)
{
    uint32_t item;
    return util_index_find(&gather->processes_by_id, import_hash(process, 0, 0), equal_process,
                           gather->profile->processes, &process, &item);
}

/* A forked child that logged no module of that id has its parent's. */
uint32_t import_module_of(const struct import_gather *gather, uint32_t process, uint32_t module)
{
    for (unsigned generations = 0; generations < 64; generations++) {
        struct import_mapping key = {.process = process, .module = module};
        uint32_t item;
        if (util_index_find(&gather->mappings_by_key, import_hash(process, module, 1),
                            equal_mapping, gather->mappings, &key, &item))
            return gather->mappings[item].id;
        if (!util_index_find(&gather->processes_by_id, import_hash(process, 0, 0), equal_process,
                             gather->profile->processes, &process, &item))
            return 0;
        const struct profile_process *image = &gather->profile->processes[item];
        if (!image->forked || image->parent == process)
            return 0;
        process = image->parent;
    }
    return 0;
}

const struct import_mapping *import_mapping_at(const struct import_gather *gather, uint32_t process,
                                               uint64_t address)
{
    for (unsigned generations = 0; generations < 64; generations++) {
        uint32_t item;
        for (size_t i = 0; i < gather->mappings_count; i++) {
            const struct import_mapping *mapping = &gather->mappings[i];
            if (mapping->process == process && address >= mapping->start && address < mapping->end)
                return mapping;
        }
        if (!util_index_find(&gather->processes_by_id, import_hash(process, 0, 0), equal_process,
                             gather->profile->processes, &process, &item))
            return NULL;
        const struct profile_process *image = &gather->profile->processes[item];
        if (!image->forked || image->parent == process)
            return NULL;
        process = image->parent;
    }
    return NULL;
}

static bool equal_node(const void *items, uint32_t item, const void *key)
{
    const struct import_node *node = &((const struct import_node *)items)[item];
    const struct import_node *wanted = key;
    return node->vaddr == wanted->vaddr && node->parent == wanted->parent &&
           node->module == wanted->module && node->flags == wanted->flags;
}

uint32_t import_node_of(const struct import_gather *gather, uint32_t id)
{
    if (id == 0)
        return 0;
    uint32_t number = import_ids_get(&gather->node_map, id);
    return number ? number - 1 : unknown_node;
}

bool import_add_node(struct import_gather *gather, const struct import_node *node, uint32_t *item)
{
    uint64_t hash =
        import_hash(node->vaddr, (uint64_t)node->parent << 32 | node->module, node->flags);
    bool found;
    if (!UTIL_GROW_ZEROED(gather->nodes, gather->nodes_capacity, gather->nodes_count) ||
        !util_index_enter(&gather->nodes_by_key, hash, equal_node, gather->nodes, node,
                          (uint32_t)gather->nodes_count, item, &found))
        return import_no_memory(gather);
    if (!found)
        gather->nodes[gather->nodes_count++] = *node;
    return true;
}

struct import_wanted *import_wanted_find(const struct import_gather *gather, uint32_t process,
                                         uint32_t thread, uint32_t id)
{
    struct import_wanted *wanted = gather->wanted;
    size_t at = BASE_FIRST(
        i, gather->wanted_count,
        wanted[i].process > process ||
            (wanted[i].process == process &&
             (wanted[i].thread > thread || (wanted[i].thread == thread && wanted[i].id >= id))));
    return at < gather->wanted_count && wanted[at].process == process &&
                   wanted[at].thread == thread && wanted[at].id == id
               ? &wanted[at]
               : NULL;
}

static bool visit_node(struct import_gather *gather, const struct import_frame *frame,
                       const struct wire_node *record)
{
    uint32_t parent = import_node_of(gather, record->parent), item;
    struct import_node node = {.vaddr = record->vaddr, .flags = record->flags};
    uint32_t most = gather->exact ? MOST_EXACT_NODES : MOST_NODES_PER_THREAD;
    if (record->node == 0 || record->node >= most) {
        gather->corrupt++;
        return true;
    }
    /* The callers' records were lost: what is known still stands, under an incomplete context. */
    if (parent == unknown_node)
        node.flags |= WIRE_NODE_BROKEN;
    else
        node.parent = parent;
    if (record->module)
        node.module = import_module_of(gather, frame->process, record->module);
    if (!import_add_node(gather, &node, &item))
        return false;
    if (!import_ids_set(&gather->node_map, record->node, item + 1))
        return import_no_memory(gather);
    struct import_wanted *wanted =
        import_wanted_find(gather, frame->process, frame->thread, record->node);
    if (wanted)
        wanted->node = item;
    return true;
}

static bool equal_sampled(const void *items, uint32_t item, const void *key)
{
    const struct profile_sampled *sampled = &((const struct profile_sampled *)items)[item];
    const struct profile_sampled *wanted = key;
    return sampled->kind == wanted->kind && sampled->context == wanted->context;
}

bool import_known_kind(const struct import_gather *gather, unsigned kind)
{
    return kind < PROFILE_KINDS && (gather->log->config.kinds >> kind & 1);
}

static bool visit_sample(struct import_gather *gather, const struct import_frame *frame,
                         const struct wire_sample *record)
{
    struct profile *profile = gather->profile;
    uint32_t node = import_node_of(gather, record->node), item;
    bool found;
    if (!import_known_kind(gather, record->kind) || !isfinite(record->weight) ||
        record->weight < 0 || record->weight > 1e9F || node == unknown_node) {
        gather->corrupt++;
        return true;
    }
    struct profile_sampled key = {.kind = record->kind, .context = node};
    if (!util_index_enter(&gather->sampled_by_key, import_hash(key.kind, key.context, 3),
                          equal_sampled, profile->sampled, &key, (uint32_t)profile->sampled_count,
                          &item, &found))
        return import_no_memory(gather);
    if (!found) {
        struct profile_sampled *added = profile_add_sampled(profile);
        if (!added)
            return import_no_memory(gather);
        *added = key;
    }
    struct import_thread *thread = &gather->threads[gather->current_thread];
    bool armed = record->armed == 1; /* 2: reuse, foreseen */
    thread->seen_samples[record->kind]++;
    thread->seen_armed[record->kind] += armed;
    profile->sampled[item].samples++;
    profile->sampled[item].armed += armed;
    profile->sampled[item].weight += (double)record->weight;
    return record->kind != PROFILE_REUSE ||
           import_lives_sample(gather, frame->process, node, record);
}

static bool equal_pair(const void *items, uint32_t item, const void *key)
{
    const struct profile_pair *pair = &((const struct profile_pair *)items)[item];
    const struct profile_pair *wanted = key;
    return pair->kind == wanted->kind && pair->first == wanted->first &&
           pair->second == wanted->second;
}

bool import_pair(struct import_gather *gather, const struct profile_pair *key, uint32_t *item)
{
    struct profile *profile = gather->profile;
    bool found;
    if (!util_index_enter(&gather->pairs_by_key,
                          import_hash(key->kind, (uint64_t)key->first << 32 | key->second, 4),
                          equal_pair, profile->pairs, key, (uint32_t)profile->pairs_count, item,
                          &found))
        return import_no_memory(gather);
    if (found)
        return true;
    struct profile_pair *added = profile_add_pairs(profile);
    if (!added)
        return import_no_memory(gather);
    *added = *key;
    return true;
}

/* By its chance until share_by_chance brings the sums to the scale of samples. */
static void add_to_pair(struct profile_pair *pair, struct import_share *share,
                        const struct wire_trap *record)
{
    bool known = record->chance > 0 && record->chance <= 1;
    double claimed = known ? 1 / (double)record->chance : (double)record->samples;
    double weight = claimed * record->bytes;
    share->attributed += (double)record->samples;
    share->claimed += claimed;
    pair->samples += claimed;
    if (record->verdict == DETECT_WASTE) {
        pair->waste_bytes += weight;
        pair->waste_squares += weight * weight;
        pair->waste_traps++;
    } else {
        pair->use_bytes += weight;
        pair->use_squares += weight * weight;
        pair->use_traps++;
    }
    pair->kernel_traps += (record->flags & WIRE_TRAP_KERNEL) != 0;
    pair->likely_traps += (record->flags & WIRE_TRAP_LIKELY) != 0;
    pair->float_traps += (record->flags & WIRE_TRAP_FLOAT) != 0;
}

static bool visit_trap(struct import_gather *gather, const struct wire_trap *record)
{
    uint32_t item;
    if (!import_known_kind(gather, record->kind) || record->kind == PROFILE_REUSE ||
        !isfinite(record->samples) || record->samples < 0 || record->samples > 1e9F ||
        record->bytes == 0 || record->bytes > DETECT_MAX_BYTES ||
        (record->verdict != DETECT_USE && record->verdict != DETECT_WASTE)) {
        gather->corrupt++;
        return true;
    }
    uint32_t first = import_node_of(gather, record->watch_node);
    uint32_t second = import_node_of(gather, record->trap_node);
    /* A finding whose place was lost still counts in the kind's total; the root stands for it. */
    gather->corrupt += (first == unknown_node) + (second == unknown_node);
    struct profile_pair key = {.kind = record->kind,
                               .first = first == unknown_node ? 0 : first,
                               .second = second == unknown_node ? 0 : second};
    if (!import_pair(gather, &key, &item))
        return false;
    if (!UTIL_GROW_ZEROED(gather->shares, gather->shares_capacity, item))
        return import_no_memory(gather);
    gather->threads[gather->current_thread].seen_traps[record->kind]++;
    add_to_pair(&gather->profile->pairs[item], &gather->shares[item], record);
    return true;
}

/* Node ids are the thread's own. */
static bool next_frame(struct import_gather *gather, const struct import_frame *frame)
{
    uint32_t thread;
    if (!thread_of(gather, frame, &thread))
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
    switch (record->type) {
    case WIRE_NODE: return visit_node(gather, frame, (const struct wire_node *)record);
    case WIRE_SAMPLE: return visit_sample(gather, frame, (const struct wire_sample *)record);
    case WIRE_TRAP: return visit_trap(gather, (const struct wire_trap *)record);
    case WIRE_REUSE:
        return import_lives_reuse(gather, frame->process, (const struct wire_reuse *)record);
    }
    return import_exact_visit(gather, frame, record);
}

/*
 * The samples that the traps of a watch context stand for are shared among its pairs in proportion
 * to the inverse of each trap's chance to be seen. What the agent attributed on the spot
 * is right where all accesses of a context fare alike; where some are touched again soon and
 * others late, it gives the late ones' share to the soon ones (detect.h).
 */
static bool share_by_chance(struct import_gather *gather)
{
    struct profile *profile = gather->profile;
    struct import_share *totals = calloc(gather->nodes_count * PROFILE_KINDS, sizeof *totals);
    if (!totals)
        return import_no_memory(gather);
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        struct import_share *total = &totals[(size_t)pair->first * PROFILE_KINDS + pair->kind];
        total->attributed += gather->shares[i].attributed;
        total->claimed += gather->shares[i].claimed;
    }
    for (size_t i = 0; i < profile->pairs_count; i++) {
        struct profile_pair *pair = &profile->pairs[i];
        const struct import_share *total =
            &totals[(size_t)pair->first * PROFILE_KINDS + pair->kind];
        double scale = total->claimed > 0 ? total->attributed / total->claimed : 0;
        pair->samples *= scale;
        pair->waste_bytes *= scale;
        pair->use_bytes *= scale;
        pair->waste_squares *= scale * scale;
        pair->use_squares *= scale * scale;
    }
    free(totals);
    return true;
}

bool import_gather(struct import_gather *gather, struct import_teller *teller)
{
    if (!UTIL_GROW_ZEROED(gather->nodes, gather->nodes_capacity, 0) ||
        !UTIL_GROW_ZEROED(gather->modules, gather->modules_capacity, 0))
        return import_no_memory(gather);
    static const unsigned live =
        1U << WIRE_NODE | 1U << WIRE_SAMPLE | 1U << WIRE_TRAP | 1U << WIRE_REUSE;
    static const unsigned exact =
        1U << WIRE_NODE | 1U << WIRE_PAIR | 1U << WIRE_TOTALS | 1U << WIRE_REUSE_PAIR |
        1U << WIRE_HISTOGRAM | 1U << WIRE_REUSE_TOTALS | 1U << WIRE_WHAT_IF |
        1U << WIRE_PATH_VERTEX | 1U << WIRE_PATH_STATE | 1U << WIRE_PATH_TOTALS;
    gather->nodes_count = 1;
    gather->exact = gather->log->config.source == 0 && !gather->spans;
    return import_log_visit(gather->log,
                            1U << WIRE_PROCESS | 1U << WIRE_MODULE | 1U << WIRE_THREAD |
                                1U << WIRE_COUNTERS,
                            visit_fact, gather, teller, &gather->corrupt) &&
           (!gather->exact || import_exact_images(gather)) &&
           import_log_visit(gather->log, gather->exact ? exact : live, visit_event, gather, teller,
                            &gather->corrupt) &&
           (gather->exact ? import_exact_finish(gather) : share_by_chance(gather));
}

void import_gather_free(struct import_gather *gather)
{
    struct util_index *indices[] = {&gather->processes_by_id,   &gather->mappings_by_key,
                                    &gather->modules_by_path,   &gather->threads_by_id,
                                    &gather->nodes_by_key,      &gather->pairs_by_key,
                                    &gather->sampled_by_key,    &gather->exacts_by_process,
                                    &gather->reuses_by_process, &gather->reuse_pairs_by_key};
    for (size_t i = 0; i < BASE_COUNT(indices); i++)
        util_index_free(indices[i]);
    import_lives_free(&gather->lives);
    import_exact_paths_free(gather->paths);
    free(gather->mappings);
    free(gather->modules);
    free(gather->threads);
    free(gather->nodes);
    free(gather->shares);
    free(gather->parent_pids);
    free(gather->distances);
    import_ids_free(&gather->node_map);
}
