// SPDX-License-Identifier: MIT
/*
 * What the exact engine counted: sums of whole processes, so that there is nothing to estimate
 * here. A process that runs into the end of its counts twice (an exec that failed) writes twice,
 * and processes share contexts: everything adds up.
 *
 * The tool begins anew in every image, so an image that another one exec'd does not know its
 * parent: it is the image that had the same process id before.
 */
#include "import/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As profile_check has it: sums stay exact. */
static const uint64_t most_counted = UINT64_C(1) << 50;
static const double most_weight = 1e30;

static bool weight_ok(double value)
{
    return isfinite(value) && value >= 0 && value <= most_weight;
}

static bool corrupt(struct import_gather *gather)
{
    gather->corrupt++;
    return true;
}

/* ---- images ------------------------------------------------------------------------------- */

struct image {
    struct profile_process process;
    uint32_t parent_pid;
};

static int compare_images(const void *left, const void *right)
{
    const struct profile_process *a = &((const struct image *)left)->process;
    const struct profile_process *b = &((const struct image *)right)->process;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* The latest image before `end` that ran as process `pid`, or UINT32_MAX. */
static uint32_t latest(const struct image *images, size_t end, uint32_t pid)
{
    while (end-- > 0)
        if (images[end].process.pid == pid)
            return images[end].process.id;
    return UINT32_MAX;
}

static void find_parents(struct image *images, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct profile_process *process = &images[i].process;
        if (process->parent != UINT32_MAX)
            continue;
        process->parent = latest(images, i, process->pid);
        if (process->parent == UINT32_MAX)
            process->parent = latest(images, i, images[i].parent_pid);
    }
}

static bool equal_process(const void *items, uint32_t item, const void *key)
{
    return ((const struct profile_process *)items)[item].id == *(const uint32_t *)key;
}

bool import_exact_images(struct import_gather *gather)
{
    struct profile *profile = gather->profile;
    size_t count = profile->processes_count;
    struct image *images = calloc(count + 1, sizeof *images);
    bool good = images != NULL, found;
    uint32_t item;
    for (size_t i = 0; i < count && good; i++)
        images[i] = (struct image){profile->processes[i], gather->parent_pids[i]};
    if (good && count) {
        qsort(images, count, sizeof *images, compare_images);
        find_parents(images, count);
    }
    util_index_free(&gather->processes_by_id);
    for (size_t i = 0; i < count && good; i++) {
        profile->processes[i] = images[i].process;
        good = util_index_enter(&gather->processes_by_id, import_hash(images[i].process.id, 0, 0),
                                equal_process, profile->processes, &images[i].process.id,
                                (uint32_t)i, &item, &found);
    }
    free(images);
    return good || import_no_memory(gather);
}

/* ---- waste ---------------------------------------------------------------------------------- */

static bool visit_pair(struct import_gather *gather, const struct wire_pair *record)
{
    uint32_t first = import_node_of(gather, record->first), item;
    uint32_t second = import_node_of(gather, record->second);
    if (!import_known_kind(gather, record->kind) || record->kind == PROFILE_REUSE ||
        record->waste_bytes > most_counted || record->use_bytes > most_counted)
        return corrupt(gather);
    /* Bytes whose place was lost still count in the kind's total; the root stands for it. */
    gather->corrupt += (first == IMPORT_UNKNOWN_NODE) + (second == IMPORT_UNKNOWN_NODE);
    struct profile_pair key = {.kind = record->kind,
                               .first = first == IMPORT_UNKNOWN_NODE ? 0 : first,
                               .second = second == IMPORT_UNKNOWN_NODE ? 0 : second};
    if (!import_pair(gather, &key, &item))
        return false;
    if (!UTIL_GROW_ZEROED(gather->nears, gather->nears_capacity, item))
        return import_no_memory(gather);
    struct profile_pair *pair = &gather->profile->pairs[item];
    pair->waste_bytes += (double)record->waste_bytes;
    if (record->flags & WIRE_PAIR_NEAR)
        gather->nears[item].bytes += (double)record->waste_bytes;
    pair->use_bytes += (double)record->use_bytes;
    if (record->flags & WIRE_PAIR_KERNEL)
        pair->kernel_traps = 1;
    return import_sample_pair(gather, item, record);
}

static bool equal_exact(const void *items, uint32_t item, const void *key)
{
    return ((const struct profile_exact *)items)[item].process == *(const uint32_t *)key;
}

/* The row of the process, added if it is new; NULL: no memory. */
static struct profile_exact *exact_of(struct import_gather *gather, uint32_t process)
{
    struct profile *profile = gather->profile;
    uint32_t item;
    bool found;
    if (!util_index_enter(&gather->exacts_by_process, import_hash(process, 0, 6), equal_exact,
                          profile->exacts, &process, (uint32_t)profile->exacts_count, &item,
                          &found))
        return NULL;
    if (found)
        return &profile->exacts[item];
    struct profile_exact *added = profile_add_exacts(profile);
    if (added)
        added->process = process;
    return added;
}

static bool totals_ok(const struct wire_totals *totals)
{
    const uint64_t counts[] = {totals->loads,
                               totals->stores,
                               totals->load_bytes,
                               totals->store_bytes,
                               totals->fresh_load_bytes,
                               totals->fresh_store_bytes,
                               totals->kernel_load_bytes,
                               totals->kernel_store_bytes,
                               totals->ids,
                               totals->contexts,
                               totals->instructions,
                               totals->merged,
                               totals->outside};
    for (size_t i = 0; i < BASE_COUNT(counts); i++)
        if (counts[i] > most_counted)
            return false;
    return import_sample_totals_ok(totals) &&
           totals->threads <= 1U << 22; /* Linux has no more ids for threads */
}

static bool visit_totals(struct import_gather *gather, uint32_t process,
                         const struct wire_totals *totals)
{
    struct profile_thread *thread = &gather->profile->threads[gather->current_thread];
    if (!totals_ok(totals))
        return corrupt(gather);
    struct profile_exact *exact = exact_of(gather, process);
    if (!exact)
        return import_no_memory(gather);
    exact->loads += totals->loads;
    exact->stores += totals->stores;
    exact->load_bytes += totals->load_bytes;
    exact->store_bytes += totals->store_bytes;
    exact->fresh_load_bytes += totals->fresh_load_bytes;
    exact->fresh_store_bytes += totals->fresh_store_bytes;
    exact->kernel_load_bytes += totals->kernel_load_bytes;
    exact->kernel_store_bytes += totals->kernel_store_bytes;
    exact->instructions += totals->instructions;
    /* Of what the process has, not of what happened. */
    exact->threads = totals->threads > exact->threads ? totals->threads : exact->threads;
    exact->ids = totals->ids > exact->ids ? totals->ids : exact->ids;
    exact->contexts = totals->contexts > exact->contexts ? totals->contexts : exact->contexts;
    if (totals->cpu_ns <= INT64_MAX / 4096)
        thread->cpu_ns += totals->cpu_ns;
    gather->merged += totals->merged;
    import_sample_totals(gather, totals);
    gather->profile->run.unseen_accesses += totals->outside;
    for (unsigned bit = 0; bit < 32; bit++)
        gather->exact_degraded[bit] += totals->degraded >> bit & 1;
    return true;
}

/* ---- reuse ---------------------------------------------------------------------------------- */

static bool equal_reuse(const void *items, uint32_t item, const void *key)
{
    return ((const struct profile_reuse *)items)[item].process == *(const uint32_t *)key;
}

static bool reuse_of(struct import_gather *gather, uint32_t process, uint32_t *item)
{
    struct profile *profile = gather->profile;
    bool found;
    if (!util_index_enter(&gather->reuses_by_process, import_hash(process, 0, 7), equal_reuse,
                          profile->reuses, &process, (uint32_t)profile->reuses_count, item,
                          &found) ||
        !UTIL_GROW_ZEROED(gather->distances, gather->distances_capacity, *item))
        return import_no_memory(gather);
    if (found)
        return true;
    struct profile_reuse *added = profile_add_reuses(profile);
    if (!added)
        return import_no_memory(gather);
    added->process = process;
    return true;
}

static bool reuse_totals_ok(const struct import_gather *gather,
                            const struct wire_reuse_totals *totals)
{
    uint32_t unit = totals->unit_bytes;
    if (unit == 0 || unit > 4096 || (unit & (unit - 1)))
        return false;
    for (size_t i = 0; i < gather->profile->reuses_count; i++)
        if (gather->profile->reuses[i].unit_bytes && gather->profile->reuses[i].unit_bytes != unit)
            return false;
    return totals->share_first > 0 && totals->share_first <= 1 && totals->share_last > 0 &&
           totals->share_last <= 1 && weight_ok(totals->accesses) && weight_ok(totals->reuses) &&
           weight_ok(totals->locations) && weight_ok(totals->never_reused) &&
           totals->kept_accesses <= most_counted && totals->kept_locations <= most_counted;
}

static bool visit_reuse_totals(struct import_gather *gather, uint32_t process,
                               const struct wire_reuse_totals *totals)
{
    uint32_t item;
    if (!reuse_totals_ok(gather, totals))
        return corrupt(gather);
    if (!reuse_of(gather, process, &item))
        return false;
    struct profile_reuse *reuse = &gather->profile->reuses[item];
    bool first = reuse->unit_bytes == 0;
    reuse->unit_bytes = totals->unit_bytes;
    reuse->stack = (first || reuse->stack) && totals->stack;
    reuse->share_first = first ? totals->share_first : reuse->share_first;
    reuse->share_last = totals->share_last;
    reuse->accesses += totals->accesses;
    reuse->reuses += totals->reuses;
    reuse->locations += totals->locations;
    reuse->never_reused += totals->never_reused;
    reuse->kept_accesses += totals->kept_accesses;
    reuse->kept_locations += totals->kept_locations;
    return true;
}

/* The last bins end beyond what profiles can hold, 63 bits; no run has such distances. */
static unsigned most_bins(void)
{
    return distance_bin(UINT64_C(1) << 62);
}

static bool histogram_ok(const struct wire_histogram *record)
{
    uint64_t bytes = record->record.bytes - sizeof *record;
    if (record->which > PROFILE_STACK || record->count > bytes / sizeof record->weights[0] ||
        record->first > DISTANCE_BINS || record->count > DISTANCE_BINS - record->first)
        return false;
    for (uint32_t i = 0; i < record->count; i++)
        if (!weight_ok(record->weights[i]) ||
            (record->weights[i] > 0 && record->first + i >= most_bins()))
            return false;
    return true;
}

static bool visit_histogram(struct import_gather *gather, uint32_t process,
                            const struct wire_histogram *record)
{
    uint32_t item;
    if (!histogram_ok(record))
        return corrupt(gather);
    if (!reuse_of(gather, process, &item))
        return false;
    for (uint32_t i = 0; i < record->count; i++)
        gather->distances[item].weights[record->which][record->first + i] += record->weights[i];
    return true;
}

static bool reuse_pair_ok(const struct wire_reuse_pair *record)
{
    return record->count <= most_counted && weight_ok(record->weight) && weight_ok(record->time) &&
           weight_ok(record->stack) && weight_ok(sqrt(record->time_squares)) &&
           weight_ok(sqrt(record->stack_squares));
}

static bool visit_reuse_pair(struct import_gather *gather, const struct wire_reuse_pair *record)
{
    uint32_t use = import_node_of(gather, record->use), item;
    uint32_t reuse = import_node_of(gather, record->reuse);
    if (!reuse_pair_ok(record))
        return corrupt(gather);
    gather->corrupt += (use == IMPORT_UNKNOWN_NODE) + (reuse == IMPORT_UNKNOWN_NODE);
    if (!import_reuse_pair(gather, use == IMPORT_UNKNOWN_NODE ? 0 : use,
                           reuse == IMPORT_UNKNOWN_NODE ? 0 : reuse, &item))
        return false;
    struct profile_reuse_pair *pair = &gather->profile->reuse_pairs[item];
    pair->count += record->count;
    pair->weight += record->weight;
    pair->time += record->time;
    pair->time_squares += record->time_squares;
    pair->stack += record->stack;
    pair->stack_squares += record->stack_squares;
    return true;
}

/* ---- simulated caches ----------------------------------------------------------------------- */

/* Of an instruction: its node stands for the frame until that is known. */
static bool visit_site(struct import_gather *gather, const struct wire_what_if *record)
{
    uint32_t node = import_node_of(gather, record->node);
    if (record->store > 1 || record->moved_bytes > most_counted || record->low >= record->end ||
        record->end > most_counted || record->step > most_counted || !record->accesses ||
        node == IMPORT_UNKNOWN_NODE)
        return corrupt(gather);
    struct profile_what_if_site *row = profile_add_what_if_sites(gather->profile);
    if (!row)
        return import_no_memory(gather);
    *row = (struct profile_what_if_site){.frame = node,
                                         .store = record->store,
                                         .bytes = record->bytes,
                                         .ways = record->ways,
                                         .line_bytes = record->line_bytes,
                                         .accesses = record->accesses,
                                         .moved_bytes = record->moved_bytes,
                                         .misses = record->misses,
                                         .low = record->low,
                                         .end = record->end,
                                         .step = record->step};
    return true;
}

/* Few rows: one for each cache the user asked for. Processes ran through caches of their own. */
static bool visit_what_if(struct import_gather *gather, const struct wire_what_if *record)
{
    enum { CACHES_MAX = 256 };
    struct profile *profile = gather->profile;
    struct profile_what_if *row = NULL;
    if (record->bytes == 0 || record->bytes > most_counted || record->line_bytes == 0 ||
        record->accesses > most_counted || record->misses > most_counted)
        return corrupt(gather);
    if (record->node)
        return visit_site(gather, record);
    if (record->misses > record->accesses)
        return corrupt(gather);
    for (size_t i = 0; i < profile->what_ifs_count && !row; i++)
        if (profile->what_ifs[i].bytes == record->bytes &&
            profile->what_ifs[i].ways == record->ways &&
            profile->what_ifs[i].line_bytes == record->line_bytes)
            row = &profile->what_ifs[i];
    if (!row && profile->what_ifs_count >= CACHES_MAX)
        return corrupt(gather);
    if (!row && !(row = profile_add_what_ifs(profile)))
        return import_no_memory(gather);
    if (row->accesses + record->accesses > most_counted)
        return corrupt(gather);
    row->bytes = record->bytes;
    row->ways = record->ways;
    row->line_bytes = record->line_bytes;
    row->accesses += record->accesses;
    row->misses += record->misses;
    return true;
}

bool import_exact_visit(struct import_gather *gather, const struct import_frame *frame,
                        const struct wire_record *record)
{
    switch (record->type) {
    case WIRE_PAIR: return visit_pair(gather, (const struct wire_pair *)record);
    case WIRE_TOTALS:
        return visit_totals(gather, frame->process, (const struct wire_totals *)record);
    case WIRE_OBSERVED:
        return import_located_observed(gather, frame, (const struct wire_observed *)record);
    case WIRE_REUSE_PAIR: return visit_reuse_pair(gather, (const struct wire_reuse_pair *)record);
    case WIRE_HISTOGRAM:
        return visit_histogram(gather, frame->process, (const struct wire_histogram *)record);
    case WIRE_REUSE_TOTALS:
        return visit_reuse_totals(gather, frame->process, (const struct wire_reuse_totals *)record);
    case WIRE_WHAT_IF: return visit_what_if(gather, (const struct wire_what_if *)record);
    case WIRE_SHARED_TOTALS:
    case WIRE_SHARED_LINE:
    case WIRE_SHARED_PAIR:
    case WIRE_SHARED_USER:
    case WIRE_SHARED_BETWEEN: return import_exact_sharing_visit(gather, frame->process, record);
    case WIRE_PATH_VERTEX:
    case WIRE_PATH_STATE:
    case WIRE_PATH_TOTALS: return import_exact_paths_visit(gather, frame->process, record);
    case WIRE_EXECUTED_CODE:
    case WIRE_EXECUTED_WINDOW:
    case WIRE_EXECUTED_STEPS: return import_exact_executed_visit(gather, frame->process, record);
    }
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A process whose totals were lost: what its histogram shows, at least. */
static void repair_reuse(const struct profile *profile, struct profile_reuse *reuse,
                         const struct import_distances *distances)
{
    if (reuse->unit_bytes)
        return;
    for (size_t i = 0; i < profile->reuses_count && !reuse->unit_bytes; i++)
        reuse->unit_bytes = profile->reuses[i].unit_bytes;
    reuse->unit_bytes = reuse->unit_bytes ? reuse->unit_bytes : 64;
    reuse->share_first = reuse->share_last = 1;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        reuse->reuses += distances->weights[PROFILE_TIME][bin];
    reuse->accesses = reuse->reuses;
}

/* Bits of the kinds that waste something in a first context, by node; NULL: no memory. */
static uint8_t *find_wasteful(const struct import_gather *gather)
{
    uint8_t *wasteful = calloc(gather->nodes_count, sizeof *wasteful);
    for (size_t i = 0; wasteful && i < gather->profile->pairs_count; i++) {
        const struct profile_pair *pair = &gather->profile->pairs[i];
        if (pair->waste_bytes > 0)
            wasteful[pair->first] |= (uint8_t)(1U << pair->kind);
    }
    return wasteful;
}

static bool add_use(struct import_gather *gather, uint32_t kind, uint32_t first, double use_bytes)
{
    struct profile_pair key = {.kind = kind, .first = first};
    uint32_t item;
    if (!import_pair(gather, &key, &item))
        return false;
    gather->profile->pairs[item].use_bytes += use_bytes;
    return true;
}

/*
 * Most pairs are uses alone: in sums they count, and nobody looks at them one by one, but they
 * would take most of the profile. So they become one row for each first context that wastes
 * anything, which shows how much of what it does is wasted, and one for all others. The root stands
 * for what is left out.
 */
static bool fold_uses(struct import_gather *gather)
{
    struct profile *profile = gather->profile;
    size_t count = profile->pairs_count, kept = 0;
    uint8_t *wasteful = find_wasteful(gather);
    bool good = wasteful != NULL;
    for (size_t i = 0; i < count && good; i++) {
        struct profile_pair pair = profile->pairs[i];
        bool wastes = wasteful[pair.first] >> pair.kind & 1;
        if (pair.waste_bytes > 0)
            continue;
        profile->pairs[i].use_bytes = 0;
        good = add_use(gather, pair.kind, wastes ? pair.first : 0, pair.use_bytes);
    }
    free(wasteful);
    good = good && UTIL_GROW_ZEROED(gather->nears, gather->nears_capacity, profile->pairs_count);
    for (size_t i = 0; i < profile->pairs_count && good; i++)
        if (profile->pairs[i].waste_bytes > 0 || profile->pairs[i].use_bytes > 0) {
            gather->nears[kept] = gather->nears[i];
            profile->pairs[kept++] = profile->pairs[i];
        }
    profile->pairs_count = good ? kept : profile->pairs_count;
    util_index_free(&gather->pairs_by_key); /* its numbers are no longer right */
    return good || import_no_memory(gather);
}

static int compare_exacts(const void *left, const void *right)
{
    const struct profile_exact *a = left, *b = right;
    return (a->process > b->process) - (a->process < b->process);
}

static int compare_reuses(const void *left, const void *right)
{
    const struct profile_reuse *a = left, *b = right;
    return (a->process > b->process) - (a->process < b->process);
}

static int compare_bins(const void *left, const void *right)
{
    const struct profile_bin *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->which != b->which)
        return a->which < b->which ? -1 : 1;
    return (a->bin > b->bin) - (a->bin < b->bin);
}

/* By the keys of the profile. */
static int compare_sites(const void *left, const void *right)
{
    const struct profile_what_if_site *a = left, *b = right;
    if (a->frame != b->frame)
        return a->frame < b->frame ? -1 : 1;
    if (a->store != b->store)
        return a->store < b->store ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    if (a->ways != b->ways)
        return a->ways < b->ways ? -1 : 1;
    return (a->line_bytes > b->line_bytes) - (a->line_bytes < b->line_bytes);
}

/* Rows name nodes, then contexts; what has no line is of no use. */
void import_exact_sites_finish(struct import_gather *gather)
{
    struct profile *profile = gather->profile;
    struct profile_what_if_site *rows = profile->what_if_sites;
    size_t count = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < profile->what_if_sites_count; i++) {
        uint32_t frame = rows[i].frame ? profile->contexts[rows[i].frame].frame : 0;
        rows[count] = rows[i];
        rows[count].frame = frame;
        count += frame && profile->frames[frame].line;
    }
    profile->what_if_sites_count = 0;
    if (count)
        qsort(rows, count, sizeof *rows, compare_sites);
    struct profile_what_if_site *last = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!last || compare_sites(last, &rows[i]) != 0) {
            last = &rows[profile->what_if_sites_count++];
            *last = rows[i];
            most = rows[i].accesses;
            continue;
        }
        last->accesses += rows[i].accesses;
        last->moved_bytes += rows[i].moved_bytes;
        last->misses += rows[i].misses;
        last->low = rows[i].low < last->low ? rows[i].low : last->low;
        last->end = rows[i].end > last->end ? rows[i].end : last->end;
        if (rows[i].accesses >
            most) { /* blocks of code share instructions: the one that is executed most */
            most = rows[i].accesses;
            last->step = rows[i].step;
        }
    }
}

bool import_exact_finish(struct import_gather *gather)
{
    struct profile *profile = gather->profile;
    if (!import_sample_finish(gather) || !fold_uses(gather))
        return false;
    for (size_t i = 0; i < profile->reuses_count; i++) {
        repair_reuse(profile, &profile->reuses[i], &gather->distances[i]);
        for (uint32_t which = 0; which < PROFILE_DISTANCES; which++)
            if (!import_add_bins(profile, profile->reuses[i].process, which,
                                 gather->distances[i].weights[which], 1))
                return import_no_memory(gather);
    }
    if (profile->exacts_count)
        qsort(profile->exacts, profile->exacts_count, sizeof *profile->exacts, compare_exacts);
    if (profile->reuses_count)
        qsort(profile->reuses, profile->reuses_count, sizeof *profile->reuses, compare_reuses);
    if (profile->bins_count)
        qsort(profile->bins, profile->bins_count, sizeof *profile->bins, compare_bins);
    return true;
}

/* ---- what could not be done ------------------------------------------------------------------ */

/* Callers are missing above its outermost one. */
static bool is_coarse(const struct import_gather *gather, uint32_t node)
{
    while (node && gather->nodes[node].parent)
        node = gather->nodes[node].parent;
    return gather->nodes[node].flags & WIRE_NODE_BROKEN;
}

/* What of the waste, or of the reuses, stands under coarse nodes, and what under none. */
struct coarse {
    double all, coarse, none;
};

static void add_coarse(const struct import_gather *gather, struct coarse *sums, uint32_t first,
                       uint32_t second, double weight)
{
    sums->all += weight;
    if (!first && !second)
        sums->none += weight;
    else if (is_coarse(gather, first) || is_coarse(gather, second))
        sums->coarse += weight;
}

static bool tell_merged(struct import_gather *gather)
{
    struct profile *profile = gather->profile;
    struct coarse sums = {0};
    if (!gather->merged)
        return true;
    for (size_t i = 0; i < profile->pairs_count; i++)
        add_coarse(gather, &sums, profile->pairs[i].first, profile->pairs[i].second,
                   profile->pairs[i].waste_bytes);
    for (size_t i = 0; i < profile->reuse_pairs_count; i++)
        add_coarse(gather, &sums, profile->reuse_pairs[i].use, profile->reuse_pairs[i].reuse,
                   profile->reuse_pairs[i].weight);
    return import_degraded(profile,
                           "there were more pairs of places than are kept: the smallest, %" PRIu64
                           ", were merged. All are counted, but for %.1f %% of the %s the callers, "
                           "or all but the innermost, are unknown, and for %.1f %% the place is",
                           gather->merged, sums.all > 0 ? 100 * sums.coarse / sums.all : 0,
                           profile->reuse_pairs_count ? "reuses" : "wasted bytes",
                           sums.all > 0 ? 100 * sums.none / sums.all : 0);
}

/* Only a program that insists on an address has memory so far up. */
static bool tell_unseen(struct profile *profile)
{
    struct profile_exact seen = profile_exact_total(profile);
    uint64_t unseen = profile->run.unseen_accesses;
    if (!unseen)
        return true;
    return import_degraded(
        profile,
        "%" PRIu64 " accesses (%.2g %%) were not seen: they were to memory that the program "
        "placed above address 0x80000000000, which the exact engine does not follow. "
        "They are in no finding and no figure",
        unseen, 100 * (double)unseen / (double)(seen.loads + seen.stores + unseen));
}

bool import_exact_tell(struct import_gather *gather)
{
    static const struct {
        uint32_t bit;
        const char *sentence;
    } notes[] = {
        {WIRE_EXACT_IDS, "there were more calling contexts than can be kept apart: later ones are "
                         "shown without their callers"},
        {WIRE_EXACT_MEMORY, "memory ran out: what the program did after that is not counted"},
        {WIRE_EXACT_AVX512, "the program met an AVX-512 instruction, which Valgrind does not know: "
                            "it ended there"},
    };
    struct profile *profile = gather->profile;
    size_t counted = profile->exacts_count, images = profile->processes_count;
    bool good = true;
    for (size_t i = 0; i < BASE_COUNT(notes) && good; i++)
        if (gather->exact_degraded[__builtin_ctz(notes[i].bit)])
            good = import_degraded(profile, "%s", notes[i].sentence);
    good = good && tell_merged(gather) && tell_unseen(profile);
    /* Whoever made the recording has counted them, and said so. */
    if (!good || images <= counted || profile->run.lost_processes)
        return good;
    profile->run.lost_processes = images - counted;
    return import_degraded(profile,
                           "%zu program%s killed before delivering counts: what %s did is missing",
                           images - counted, images - counted == 1 ? " was" : "s were",
                           images - counted == 1 ? "it" : "they");
}
