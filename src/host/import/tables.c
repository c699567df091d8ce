// SPDX-License-Identifier: MIT
/*
 * What every kind of recording has, each entered once: processes, files of modules, mappings,
 * threads, calling contexts, pairs of them.
 */
#include "import/internal.h"

#include <stdlib.h>
#include <string.h>

/* Ids are dense. The exact engine may have some for every access in every context. */
enum { NODES_PER_THREAD_MAX = 1 << 24, EXACT_NODES_MAX = IMPORT_IDS_MAX + 1 };

/* Damaged records may make images each other's parents. */
enum { GENERATIONS_MAX = 64 };

/* ---- processes, modules, threads ------------------------------------------------------------- */

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

bool import_enter_process(struct import_gather *gather, const struct wire_process *record)
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
     * are in no order. */
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

bool import_enter_module(struct import_gather *gather, const struct wire_module *record)
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
bool import_enter_thread(struct import_gather *gather, const struct import_frame *frame,
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

bool import_enter_counters(struct import_gather *gather, uint32_t item,
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

/* All threads of an exact image write as one: it has its first one's name. */
bool import_enter_name(struct import_gather *gather, uint32_t item,
                       const struct wire_thread *record)
{
    struct profile_thread *thread = &gather->profile->threads[item];
    if (gather->exact && thread->name)
        return true;
    thread->tid = record->tid;
    thread->name = profile_keep(gather->profile, record->name);
    return thread->name != NULL || import_no_memory(gather);
}

bool import_known_kind(const struct import_gather *gather, unsigned kind)
{
    return kind < PROFILE_KINDS && (gather->log->config.kinds >> kind & 1);
}

/* ---- contexts -------------------------------------------------------------------------------- */

const struct profile_process *import_process(const struct import_gather *gather, uint32_t process)
{
    uint32_t item;
    return util_index_find(&gather->processes_by_id, import_hash(process, 0, 0), equal_process,
                           gather->profile->processes, &process, &item)
               ? &gather->profile->processes[item]
               : NULL;
}

bool import_knows_process(const struct import_gather *gather, uint32_t process)
{
    return import_process(gather, process) != NULL;
}

const struct profile_process *import_forked_from(const struct import_gather *gather,
                                                 uint32_t process)
{
    const struct profile_process *image = import_process(gather, process);
    if (!image || !image->forked || image->parent == process)
        return NULL;
    return import_process(gather, image->parent);
}

/* What a forked child has no record of is its parent's. False: the image began with nothing. */
static bool go_to_parent(const struct import_gather *gather, uint32_t *process)
{
    const struct profile_process *image = import_process(gather, *process);
    if (!image || !image->forked || image->parent == *process)
        return false;
    *process = image->parent;
    return true;
}

uint32_t import_module_of(const struct import_gather *gather, uint32_t process, uint32_t module)
{
    for (unsigned generations = 0; generations < GENERATIONS_MAX; generations++) {
        struct import_mapping key = {.process = process, .module = module};
        uint32_t item;
        if (util_index_find(&gather->mappings_by_key, import_hash(process, module, 1),
                            equal_mapping, gather->mappings, &key, &item))
            return gather->mappings[item].id;
        if (!go_to_parent(gather, &process))
            return 0;
    }
    return 0;
}

const struct import_mapping *import_mapping_at(const struct import_gather *gather, uint32_t process,
                                               uint64_t address)
{
    for (unsigned generations = 0; generations < GENERATIONS_MAX; generations++) {
        for (size_t i = 0; i < gather->mappings_count; i++) {
            const struct import_mapping *mapping = &gather->mappings[i];
            if (mapping->process == process && address >= mapping->start && address < mapping->end)
                return mapping;
        }
        if (!go_to_parent(gather, &process))
            return NULL;
    }
    return NULL;
}

static bool equal_node(const void *items, uint32_t item, const void *key)
{
    const struct import_node *node = &((const struct import_node *)items)[item];
    const struct import_node *wanted = key;
    return node->vaddr == wanted->vaddr && node->parent == wanted->parent &&
           node->module == wanted->module && node->flags == wanted->flags &&
           node->process == wanted->process;
}

uint32_t import_node_of(const struct import_gather *gather, uint32_t id)
{
    if (id == 0)
        return 0;
    uint32_t number = import_ids_get(&gather->node_map, id);
    return number ? number - 1 : IMPORT_UNKNOWN_NODE;
}

bool import_add_node(struct import_gather *gather, const struct import_node *node, uint32_t *item)
{
    uint64_t hash = import_hash(node->vaddr, (uint64_t)node->parent << 32 | node->module,
                                (uint64_t)node->process << 32 | node->flags);
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

bool import_enter_node(struct import_gather *gather, const struct import_frame *frame,
                       const struct wire_node *record)
{
    uint32_t parent = import_node_of(gather, record->parent), item;
    struct import_node node = {.vaddr = record->vaddr, .flags = record->flags};
    uint32_t most = gather->exact ? EXACT_NODES_MAX : NODES_PER_THREAD_MAX;
    if (record->node == 0 || record->node >= most) {
        gather->corrupt++;
        return true;
    }
    /* The callers' records were lost: what is known still stands, under an incomplete context. */
    if (parent == IMPORT_UNKNOWN_NODE)
        node.flags |= WIRE_NODE_BROKEN;
    else
        node.parent = parent;
    if (record->module)
        node.module = import_module_of(gather, frame->process, record->module);
    else if (record->vaddr)
        node.process = frame->process;
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

/* ---- pairs of contexts ----------------------------------------------------------------------- */

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

static bool equal_reuse_pair(const void *items, uint32_t item, const void *key)
{
    const struct profile_reuse_pair *pair = &((const struct profile_reuse_pair *)items)[item];
    const struct profile_reuse_pair *wanted = key;
    return pair->use == wanted->use && pair->reuse == wanted->reuse;
}

bool import_reuse_pair(struct import_gather *gather, uint32_t use, uint32_t reuse, uint32_t *item)
{
    struct profile *profile = gather->profile;
    struct profile_reuse_pair key = {.use = use, .reuse = reuse};
    bool found;
    if (!util_index_enter(&gather->reuse_pairs_by_key, import_hash(use, reuse, 8), equal_reuse_pair,
                          profile->reuse_pairs, &key, (uint32_t)profile->reuse_pairs_count, item,
                          &found))
        return import_no_memory(gather);
    if (found)
        return true;
    struct profile_reuse_pair *added = profile_add_reuse_pairs(profile);
    if (!added)
        return import_no_memory(gather);
    *added = key;
    return true;
}

/* ---- histograms of reuse ------------------------------------------------------------------------ */

bool import_add_bins(struct profile *profile, uint32_t process, uint32_t which,
                     const double weights[DISTANCE_BINS], double scale)
{
    for (uint32_t bin = 0; bin < DISTANCE_BINS - 1; bin++) {
        double weight = weights[bin] * scale;
        struct profile_bin *added = weight > 0 ? profile_add_bins(profile) : NULL;
        if (weight > 0 && !added)
            return false;
        if (added)
            *added = (struct profile_bin){.process = process,
                                          .which = which,
                                          .bin = bin,
                                          .lo = distance_bin_low(bin),
                                          .hi = distance_bin_low(bin + 1),
                                          .weight = weight};
    }
    return true;
}
