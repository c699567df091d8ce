// SPDX-License-Identifier: MIT
/*
 * What spans took, from the region that the programs shared with headroom to a profile. The raw
 * log beside it lists processes, modules, threads and the contexts of the spans' stacks.
 */
#include "import/spans.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a span. Threads have 8 stacks, 4 holders and 48 samples each at most. */
enum { STACKS_MAX = 16, HOLDERS_MAX = 16, SAMPLES_MAX = 512 };

static const uint64_t most_count = UINT64_C(1) << 50; /* what a profile takes */

static uint64_t limited(uint64_t count)
{
    return count < most_count ? count : most_count;
}

static double ns_of(const struct spans_import *import, uint64_t ticks)
{
    return (double)ticks * import->ns_per_tick;
}

enum { LARGEST_STEP = 10000 }; /* ticks */

/* ---- stacks that the log is to be searched for ----------------------------------------------- */

static int compare_wanted(const void *left, const void *right)
{
    const struct import_wanted *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static bool want_stacks(struct spans_import *import)
{
    struct import_gather *gather = import->gather;
    size_t count = import->stacks_count, to = 0;
    gather->wanted = calloc(count + 1, sizeof *gather->wanted);
    if (!gather->wanted)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct spans_stack_row *row = &import->stacks[i];
        gather->wanted[i] =
            (struct import_wanted){row->process, row->thread, row->node, IMPORT_UNKNOWN_NODE};
    }
    qsort(gather->wanted, count, sizeof *gather->wanted, compare_wanted);
    for (size_t i = 0; i < count; i++)
        if (to == 0 || compare_wanted(&gather->wanted[to - 1], &gather->wanted[i]) != 0)
            gather->wanted[to++] = gather->wanted[i];
    gather->wanted_count = to;
    return true;
}

/* ---- places that are to be named ------------------------------------------------------------- */

static bool add_place(struct spans_import *import, uint32_t node, uint32_t *place)
{
    struct import_gather *gather = import->gather;
    if (!UTIL_GROW_ZEROED(gather->places, import->places_capacity, gather->places_count))
        return false;
    *place = (uint32_t)gather->places_count;
    gather->places[gather->places_count++] = (struct import_place){.node = node};
    return true;
}

/* The region is looked into after the log: of a process that lived until then, or that began when
   the log was already complete, it may hold more than the log. */
static bool may_be_late(const struct spans_import *import, const struct import_run *run,
                        uint32_t process)
{
    return !run || run->outlived || !import_knows_process(import->gather, process);
}

static bool place_stacks(struct spans_import *import, const struct import_run *run)
{
    for (size_t i = 0; i < import->stacks_count; i++) {
        struct spans_stack_row *row = &import->stacks[i];
        const struct import_wanted *wanted =
            import_wanted_find(import->gather, row->process, row->thread, row->node);
        bool known = wanted && wanted->node != IMPORT_UNKNOWN_NODE;
        row->place = UINT32_MAX;
        import->damaged += !known && !may_be_late(import, run, row->process);
        if (known && !add_place(import, wanted->node, &row->place))
            return false;
    }
    return true;
}

static bool place_holders(struct spans_import *import)
{
    for (size_t i = 0; i < import->holders_count; i++) {
        struct spans_holder_row *row = &import->holders[i];
        const struct import_mapping *mapping =
            row->address ? import_mapping_at(import->gather, row->process, row->address - 1) : NULL;
        struct import_node node = {.vaddr = row->address};
        uint32_t item;
        if (row->address == 0)
            continue;
        if (mapping) {
            node.module = mapping->id;
            node.vaddr = row->address - mapping->bias;
        } else {
            node.process = row->process;
        }
        if (!import_add_node(import->gather, &node, &item) || !add_place(import, item, &row->place))
            return false;
    }
    return true;
}

/* The program's file with that inode; devices are numbered differently on some file systems. 0:
 * none. */
static uint32_t module_of(const struct spans_import *import, const struct spans_function *function)
{
    const struct import_gather *gather = import->gather;
    uint32_t found = 0;
    for (uint32_t i = 1; i < import->profile->modules_count; i++) {
        if (function->inode == 0 || gather->modules[i].inode != function->inode)
            continue;
        if (gather->modules[i].device == function->device)
            return i;
        found = i;
    }
    return found;
}

static bool place_functions(struct spans_import *import)
{
    for (uint32_t i = 0; i < SPANS_FUNCTIONS; i++)
        import->places[i] = UINT32_MAX;
    for (uint32_t i = 1; i < import->functions; i++) {
        const struct spans_function *function = &import->region->function[i];
        struct import_node node = {.vaddr = function->vaddr, .flags = WIRE_NODE_LEAF};
        uint32_t item;
        if (!spans_function_ok(import, i) || function->entry == SPANS_IMPORT ||
            function->entry == SPANS_MARKED || function->vaddr == 0)
            continue;
        node.module = module_of(import, function);
        if (node.module && (!import_add_node(import->gather, &node, &item) ||
                            !add_place(import, item, &import->places[i])))
            return false;
    }
    return true;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The function that really exists at the entry: what was inlined there stands within it. */
static const struct profile_frame *entry_frame(const struct spans_import *import, uint32_t number)
{
    const struct profile *profile = import->profile;
    if (import->places[number] == UINT32_MAX)
        return NULL;
    uint32_t context = import->gather->places[import->places[number]].context;
    while (context && profile->contexts[context].parent)
        context = profile->contexts[context].parent;
    return context ? &profile->frames[profile->contexts[context].frame] : NULL;
}

/* As people read it; kept by the profile. NULL: no memory. */
static const char *keep_name(struct spans_import *import, const char *linkage)
{
    char *readable = binary_demangle(linkage, false);
    const char *kept = profile_keep(import->profile, readable ? readable : linkage);
    free(readable);
    return kept;
}

/* Stripped: where it is. */
static const char *name_place(struct spans_import *import, const struct spans_function *function)
{
    char name[1024];
    uint32_t id = module_of(import, function);
    const char *module = id ? import->profile->modules[id].path : "unknown";
    const char *slash = strrchr(module, '/');
    snprintf(name, sizeof name, "%s+0x%llx", slash ? slash + 1 : module,
             (unsigned long long)function->vaddr);
    return profile_keep(import->profile, name);
}

static const char *name_of(struct spans_import *import, const struct spans_function *function)
{
    if (!function->name[0])
        return name_place(import, function);
    return function->entry == SPANS_MARKED ? profile_keep(import->profile, function->name)
                                           : keep_name(import, function->name);
}

static bool add_function(struct spans_import *import, uint32_t number)
{
    const struct spans_function *function = &import->region->function[number];
    const struct profile_frame *frame = entry_frame(import, number);
    struct profile_span_function *added = profile_add_span_functions(import->profile);
    if (!added)
        return false;
    import->ids[number] = (uint32_t)import->profile->span_functions_count - 1;
    *added = (struct profile_span_function){
        .class = function->class < SPANS_CLASSES ? function->class : SPANS_CODE,
        .entry = function->entry < SPANS_ENTRIES ? function->entry : SPANS_IMPORT,
        .key = function->key <= SPANS_KEY_SIZE ? function->key : SPANS_KEY_NONE,
        .key_argument = function->key_argument,
        .every = function->every,
    };
    if (frame) {
        added->file = frame->file;
        added->line = frame->line;
        added->module = frame->module;
        added->address = frame->address;
    }
    added->function = frame && frame->function ? frame->function : name_of(import, function);
    return added->function != NULL;
}

/* That it was hooked and never ran is worth knowing: it may be running since before that. What was
   hooked from the start has just not been called. */
static bool is_worth_knowing(const struct spans_function *function)
{
    return function->entry != SPANS_IMPORT && function->entry != SPANS_LOOP &&
           !function->takes_locks;
}

static bool add_functions(struct spans_import *import)
{
    bool used[SPANS_FUNCTIONS] = {false};
    for (size_t i = 0; i < import->spans_count; i++) {
        const struct spans_merged *span = &import->spans[i];
        used[span->function] = true;
        for (uint32_t c = 0; c < span->children_count; c++)
            used[span->children[c].function] = true;
    }
    for (uint32_t i = 1; i < import->functions; i++)
        if (spans_function_ok(import, i) &&
            (used[i] || is_worth_knowing(&import->region->function[i])) && !add_function(import, i))
            return false;
    return true;
}

static bool add_skips(struct spans_import *import, const struct import_skip *skips, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct profile_span_skip *skip = profile_add_span_skips(import->profile);
        if (!skip)
            return false;
        skip->function = keep_name(import, skips[i].function ? skips[i].function : "");
        skip->module = skips[i].module && skips[i].module[0]
                           ? profile_keep(import->profile, skips[i].module)
                           : NULL;
        skip->why = profile_keep(import->profile, skips[i].why ? skips[i].why : "reason unknown");
        if (!skip->function || !skip->why)
            return false;
    }
    return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

static bool is_root(const struct profile *profile, uint32_t process)
{
    for (size_t i = 0; i < profile->processes_count; i++)
        if (profile->processes[i].id == process)
            return i == 0 || profile->processes[i].parent == UINT32_MAX;
    return true;
}

struct heard { /* of a process, last */
    uint32_t process;
    uint64_t latest;
};

static int compare_heard(const void *left, const void *right)
{
    const struct heard *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->latest < b->latest) - (a->latest > b->latest); /* the latest first */
}

/* By process, of which the first row counts. NULL: no memory. */
static struct heard *list_heard(const struct spans_import *import)
{
    size_t count = import->profile->span_threads_count;
    struct heard *heard = calloc(count + 1, sizeof *heard);
    for (size_t i = 0; heard && i < count; i++)
        heard[i] = (struct heard){import->owners[i].process, import->owners[i].latest};
    if (heard)
        qsort(heard, count, sizeof *heard, compare_heard);
    return heard;
}

/* A thread that did not say that it ended lived as long as its process: the program's own to the
   end, others until something was last heard of them. */
static uint64_t end_of(const struct spans_import *import, const struct heard *heard, size_t thread)
{
    uint32_t process = import->owners[thread].process;
    if (is_root(import->profile, process))
        return import->region->ticks_end;
    return heard[BASE_FIRST(i, import->profile->span_threads_count, heard[i].process >= process)]
        .latest;
}

/* False: no memory. */
static bool name_thread(struct spans_import *import, size_t index)
{
    struct profile *profile = import->profile;
    const struct spans_owner *owner = &import->owners[index];
    struct profile_span_thread *thread = &profile->span_threads[index];
    if (thread->owners > 1)
        return true;
    for (size_t i = 0; i < profile->threads_count; i++) {
        const struct profile_thread *known = &profile->threads[i];
        bool same = owner->live ? known->tid == owner->live : known->id == owner->log_thread;
        if (known->process != owner->process || !same || (!owner->live && !owner->log_thread))
            continue;
        thread->tid = known->tid;
        thread->name = known->name;
        return true;
    }
    thread->tid = owner->tid;
    if (owner->name[0])
        thread->name = profile_keep(profile, owner->name);
    return !owner->name[0] || thread->name;
}

static bool add_cpu(struct spans_import *import, uint32_t index)
{
    struct profile_span_cpu *cpu = profile_add_span_cpus(import->profile);
    if (cpu)
        *cpu = (struct profile_span_cpu){index, (double)import->owners[index].cpu_ns};
    return cpu != NULL;
}

static int compare_tids(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* The log knows those that executed something that is hooked. One that never ended and has another piece has executed
   another program. False: no memory. */
static bool count_threads(struct spans_import *import)
{
    struct profile *profile = import->profile;
    size_t count = profile->span_threads_count, living = 0;
    uint32_t *tids = calloc(count + 1, sizeof *tids);
    uint64_t threads = 0;
    for (size_t i = 0; tids && i < count; i++) {
        threads += profile->span_threads[i].owners - (import->owners[i].live != 0);
        if (import->owners[i].live)
            tids[living++] = import->owners[i].live;
    }
    if (living)
        qsort(tids, living, sizeof *tids, compare_tids);
    for (size_t i = 0; i < living; i++)
        threads += i == 0 || tids[i] != tids[i - 1];
    if (profile->run.threads < threads)
        profile->run.threads = threads;
    free(tids);
    return tids != NULL;
}

static bool finish_threads(struct spans_import *import)
{
    struct heard *heard = list_heard(import);
    const struct spans_region *region = import->region;
    uint64_t span = region->ticks_end > region->ticks_start
                        ? region->ticks_end - region->ticks_start
                        : UINT64_MAX;
    bool good = heard != NULL;
    for (size_t i = 0; good && i < import->profile->span_threads_count; i++) {
        struct profile_span_thread *thread = &import->profile->span_threads[i];
        const struct spans_owner *owner = &import->owners[i];
        uint64_t end = owner->live ? end_of(import, heard, i) : 0;
        uint64_t ticks = owner->ticks + (end > owner->begun ? end - owner->begun : 0);
        thread->duration_ns = ns_of(import, ticks < span ? ticks : span);
        thread->cost_ns *= import->ns_per_tick;
        thread->preempted_ns *= import->ns_per_tick;
        thread->asleep_ns *= import->ns_per_tick;
        good = name_thread(import, i) && add_cpu(import, (uint32_t)i);
    }
    free(heard);
    return good && count_threads(import);
}

/* ---- spans ----------------------------------------------------------------------------------- */

static bool add_span(struct spans_import *import, const struct spans_merged *merged)
{
    uint64_t start = import->region->ticks_start;
    struct profile_span *span = profile_add_spans(import->profile);
    if (!span)
        return false;
    *span = (struct profile_span){
        .function = import->ids[merged->function],
        .flags = merged->flags,
        .key = merged->key,
        .shape = merged->shape,
        .max_ns = ns_of(import, merged->max),
        .preemptions = limited(merged->preemptions),
        .sleeps = limited(merged->sleeps),
    };
    if (merged->first != UINT64_MAX && merged->first > start)
        span->first_ns = ns_of(import, merged->first - start);
    if (merged->last > start)
        span->last_ns = ns_of(import, merged->last - start);
    return true;
}

static bool add_bins(struct spans_import *import, uint32_t id, const struct spans_merged *merged)
{
    for (uint32_t i = 0; i < SPANS_BINS; i++) {
        if (merged->bins[i] == 0)
            continue;
        struct profile_span_bin *bin = profile_add_span_bins(import->profile);
        if (!bin)
            return false;
        *bin = (struct profile_span_bin){.span = id,
                                         .low_ns = ns_of(import, spans_bin_start(i)),
                                         .high_ns = ns_of(import, spans_bin_start(i + 1)),
                                         .count = limited(merged->bins[i])};
        if (i + 1 == SPANS_BINS)
            bin->high_ns = fmax(bin->low_ns, ns_of(import, merged->max));
    }
    return true;
}

static bool add_children(struct spans_import *import, uint32_t id,
                         const struct spans_merged *merged)
{
    for (uint32_t i = 0; i < merged->children_count; i++) {
        struct profile_span_child *child = profile_add_span_children(import->profile);
        if (!child)
            return false;
        *child = (struct profile_span_child){.span = id,
                                             .function = import->ids[merged->children[i].function],
                                             .times = merged->children[i].count,
                                             .shape = merged->children[i].shape};
    }
    return true;
}

static bool add_spans(struct spans_import *import)
{
    for (uint32_t i = 0; i < import->spans_count; i++)
        if (!add_span(import, &import->spans[i]) || !add_bins(import, i, &import->spans[i]) ||
            !add_children(import, i, &import->spans[i]))
            return false;
    return true;
}

static int compare_parts(const void *left, const void *right)
{
    const struct spans_part *a = left, *b = right;
    if (a->span != b->span)
        return a->span < b->span ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static bool add_sleep(struct spans_import *import, const struct spans_part *part)
{
    struct profile_span_sleep *sleep = profile_add_span_sleeps(import->profile);
    if (sleep)
        *sleep = (struct profile_span_sleep){part->span, part->thread,
                                             ns_of(import, part->asleep_within)};
    return sleep != NULL;
}

static bool add_parts(struct spans_import *import)
{
    if (import->parts_count)
        qsort(import->parts, import->parts_count, sizeof *import->parts, compare_parts);
    for (size_t i = 0; i < import->parts_count; i++) {
        const struct spans_part *part = &import->parts[i];
        struct profile_span_part *added = profile_add_span_parts(import->profile);
        if (!added)
            return false;
        *added = (struct profile_span_part){
            .span = part->span,
            .thread = part->thread,
            .count = limited(part->count),
            .recorded = limited(part->recorded),
            .sum_ns = ns_of(import, part->sum),
            .min_ns = part->recorded ? ns_of(import, part->min) : 0,
            .within_ns = ns_of(import, part->within),
            .preempted_ns = ns_of(import, part->preempted),
            .asleep_ns = ns_of(import, part->asleep),
        };
        if (part->asleep_within && !add_sleep(import, part))
            return false;
    }
    return true;
}

/* ---- stacks, holders, samples ---------------------------------------------------------------- */

/* By span, context. */
static int compare_stacks(const void *left, const void *right)
{
    const struct profile_span_stack *a = left, *b = right;
    if (a->span != b->span)
        return a->span < b->span ? -1 : 1;
    return (a->context > b->context) - (a->context < b->context);
}

static bool add_stacks(struct spans_import *import)
{
    struct profile *profile = import->profile;
    for (size_t i = 0; i < import->stacks_count; i++) {
        const struct spans_stack_row *row = &import->stacks[i];
        if (row->place == UINT32_MAX)
            continue;
        struct profile_span_stack *stack = profile_add_span_stacks(profile);
        if (!stack)
            return false;
        *stack = (struct profile_span_stack){.span = row->span,
                                             .context = import->gather->places[row->place].context,
                                             .taken = row->taken,
                                             .lost_ns = ns_of(import, row->lost)};
    }
    struct profile_span_stack *stacks = profile->span_stacks;
    size_t count = profile->span_stacks_count, to = 0;
    if (count == 0)
        return true;
    qsort(stacks, count, sizeof *stacks, compare_stacks);
    for (size_t i = 0; i < count; i++) {
        if (to == 0 || compare_stacks(&stacks[to - 1], &stacks[i]) != 0) {
            stacks[to++] = stacks[i];
            continue;
        }
        stacks[to - 1].taken = limited(stacks[to - 1].taken + stacks[i].taken);
        stacks[to - 1].lost_ns += stacks[i].lost_ns;
    }
    profile->span_stacks_count = to;
    return true;
}

static int compare_holders(const void *left, const void *right)
{
    const struct profile_span_holder *a = left, *b = right;
    if (a->span != b->span)
        return a->span < b->span ? -1 : 1;
    return (a->context > b->context) - (a->context < b->context);
}

static bool add_holders(struct spans_import *import)
{
    struct profile *profile = import->profile;
    for (size_t i = 0; i < import->holders_count; i++) {
        const struct spans_holder_row *row = &import->holders[i];
        struct profile_span_holder *holder = profile_add_span_holders(profile);
        if (!holder)
            return false;
        *holder = (struct profile_span_holder){
            .span = row->span,
            .context = row->place == UINT32_MAX ? 0 : import->gather->places[row->place].context,
            .times = row->times,
            .waited_ns = ns_of(import, row->ticks)};
    }
    struct profile_span_holder *holders = profile->span_holders;
    size_t count = profile->span_holders_count, to = 0;
    if (count == 0)
        return true;
    qsort(holders, count, sizeof *holders, compare_holders);
    for (size_t i = 0; i < count; i++) {
        if (to == 0 || compare_holders(&holders[to - 1], &holders[i]) != 0) {
            holders[to++] = holders[i];
            continue;
        }
        holders[to - 1].times = limited(holders[to - 1].times + holders[i].times);
        holders[to - 1].waited_ns += holders[i].waited_ns;
    }
    profile->span_holders_count = to;
    return true;
}

/* Of each span the stacks where most was lost, the holders that were waited for longest. */
static void keep_largest(struct profile *profile)
{
    struct profile_span_stack *stacks = profile->span_stacks;
    struct profile_span_holder *holders = profile->span_holders;
    size_t kept = 0;
    profile_order_spans(profile);
    for (size_t i = 0, in_span = 0; i < profile->span_stacks_count; i++) {
        in_span = i && stacks[i].span == stacks[kept - 1].span ? in_span + 1 : 0;
        if (in_span < STACKS_MAX)
            stacks[kept++] = stacks[i];
    }
    profile->span_stacks_count = kept;
    kept = 0;
    for (size_t i = 0, in_span = 0; i < profile->span_holders_count; i++) {
        in_span = i && holders[i].span == holders[kept - 1].span ? in_span + 1 : 0;
        if (in_span < HOLDERS_MAX)
            holders[kept++] = holders[i];
    }
    profile->span_holders_count = kept;
}

static int compare_samples(const void *left, const void *right)
{
    const struct spans_sample_row *a = *(const struct spans_sample_row *const *)left;
    const struct spans_sample_row *b = *(const struct spans_sample_row *const *)right;
    if (a->span != b->span)
        return a->span < b->span ? -1 : 1;
    return (a > b) - (a < b);
}

static bool add_sample(struct spans_import *import, const struct spans_sample_row *row,
                       uint64_t weight)
{
    struct profile_span_sample *sample = profile_add_span_samples(import->profile);
    if (!sample)
        return false;
    *sample = (struct profile_span_sample){
        .span = row->span,
        .weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX,
        .ns = ns_of(import, row->sample.ticks),
        .argument0 = row->sample.argument[0],
        .argument1 = row->sample.argument[1],
        .argument2 = row->sample.argument[2],
        .result = row->sample.result,
    };
    return true;
}

/* Of many threads' samples one in `step`, in the order of threads: each stands for as many as were
 * left out. */
static bool add_samples(struct spans_import *import)
{
    size_t count = import->samples_count;
    const struct spans_sample_row **rows = calloc(count + 1, sizeof *rows);
    bool good = rows != NULL;
    for (size_t i = 0; good && i < count; i++)
        rows[i] = &import->samples[i];
    if (good && count)
        qsort(rows, count, sizeof *rows, compare_samples);
    for (size_t from = 0, to; good && from < count; from = to) {
        for (to = from; to < count && rows[to]->span == rows[from]->span;)
            to++;
        size_t step = (to - from + SAMPLES_MAX - 1) / SAMPLES_MAX;
        for (size_t i = from; good && i < to; i += step)
            good = add_sample(import, rows[i], (uint64_t)rows[i]->weight * step);
    }
    free(rows);
    return good;
}

/* ---- the run --------------------------------------------------------------------------------- */

static bool describe_timing(struct spans_import *import)
{
    const struct spans_region *region = import->region;
    struct profile_span_run *row = profile_add_span_runs(import->profile);
    import->profile->run.weighting = "time";
    if (!row)
        return false;
    *row = (struct profile_span_run){
        .ns_per_tick = import->ns_per_tick,
        .step_ns = ns_of(import, region->step < LARGEST_STEP ? region->step : 0),
        .wall_ns = region->ticks_end > region->ticks_start
                       ? ns_of(import, region->ticks_end - region->ticks_start)
                       : 0,
        .stack_period = region->stack_period,
        .switches = region->switches != 0,
        .automatic = region->automatic != 0,
        .lost_pieces = limited(region->lost),
        .no_switches = limited(region->no_switches),
        .no_areas = limited(region->no_areas),
    };
    return true;
}

static bool tell_limits(struct spans_import *import, bool rate_known)
{
    struct profile *profile = import->profile;
    const struct spans_region *region = import->region;
    bool good = true;
    profile->run.corrupt_records += import->damaged;
    if (import->damaged)
        good = import_degraded(profile, "some of the recorded times make no sense and are left "
                                        "out: the program may have overwritten them");
    if (!rate_known)
        good = good && import_degraded(profile, "the length of a clock tick was overwritten: times "
                                                "are in ticks, not in nanoseconds");
    if (region->lost)
        good = good && import_degraded(profile, "some threads could not be timed: there was no "
                                                "memory left for them");
    if (region->no_switches && region->switches)
        good = good && import_degraded(
                           profile,
                           "context switches of %" PRIu64
                           " thread%s could not be recorded: preemption there counts as slowness",
                           (uint64_t)region->no_switches, region->no_switches == 1 ? "" : "s");
    if (!region->switches)
        good = good &&
               import_degraded(profile,
                               "context switches were not recorded: preemption counts as slowness");
    if (import->sequences_full)
        good = good && import_degraded(profile, "there were more different sequences of spans than "
                                                "are kept");
    good = good && instrumented_source_tell(&import->source, profile);
    if (import->gather->log->failure)
        good = good && import_degraded(profile, "some calling contexts could not be read: %s",
                                       strerror(import->gather->log->failure));
    if (profile->span_threads_count == 0)
        good = good && import_degraded(profile, "no thread executed anything that was hooked");
    return good;
}

static bool import_region(struct spans_import *import, const struct import_run *run,
                          const struct import_skip *skips, size_t skips_count,
                          const struct binary_options *symbols, struct import_teller *teller)
{
    struct import_gather *gather = import->gather;
    if (!spans_region_read(import) || !want_stacks(import) || !import_gather(gather, teller) ||
        !place_stacks(import, run) || !place_holders(import) || !place_functions(import) ||
        !import_describe(gather, run) || !import_name(gather, run, symbols, teller))
        return false;
    if (!run && !import_degraded(gather->profile,
                                 "headroom was killed: what happened in the last seconds before "
                                 "that, and which functions could not be hooked, is unknown"))
        return false;
    bool rate_known = import->ns_per_tick > 0;
    if (!rate_known)
        import->ns_per_tick = 1;
    if (!finish_threads(import) || !add_functions(import) ||
        !add_skips(import, skips, skips_count) || !add_spans(import) || !add_parts(import) ||
        !add_stacks(import) || !add_holders(import) || !add_samples(import))
        return false;
    keep_largest(gather->profile);
    return describe_timing(import) && tell_limits(import, rate_known);
}

enum base_status import_spans(const char *log_path, int region, const struct import_run *run,
                              const struct import_skip *skips, size_t skips_count,
                              const struct binary_options *symbols, const char *output,
                              import_progress *progress, void *progress_context, char *error,
                              size_t error_bytes)
{
    struct import_teller teller = {progress, progress_context, 0};
    struct import_log *log = malloc(sizeof *log);
    struct import_gather gather = {.log = log, .profile = profile_new(), .spans = true};
    struct spans_import *import = calloc(1, sizeof *import);
    enum base_status status = BASE_NO_MEMORY;
    bool opened = false;
    snprintf(error, error_bytes, "cannot import the recorded times: out of memory.");
    if (!log || !gather.profile || !import)
        goto done;
    import->gather = &gather;
    import->profile = gather.profile;
    status = import_log_open(log_path, run, log, &teller, error, error_bytes);
    opened = status == BASE_OK;
    if (opened)
        status = spans_region_open(import, region, error, error_bytes);
    if (status != BASE_OK)
        goto done;
    if (!import_region(import, run, skips, skips_count, symbols, &teller)) {
        snprintf(error, error_bytes, "cannot import the recorded times: out of memory.");
        status = BASE_NO_MEMORY;
        goto done;
    }
    import_tell(&teller, "writing the profile", 0, 1);
    status = profile_write(gather.profile, output, error, error_bytes);
done:
    if (opened)
        import_log_close(log);
    if (import)
        spans_region_free(import);
    free(import);
    free(gather.wanted);
    free(gather.places);
    import_gather_free(&gather);
    profile_free(gather.profile);
    free(log);
    return status;
}
