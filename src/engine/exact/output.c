// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of everything counted, in frames appended to the raw log: whole frames by single
 * writes, so that processes that end at the same time do not mix. Only nodes that a pair names are
 * written; ids of the same instruction in the same context are one node.
 */
#include "exact/exact.h"

#include "exact/jobs.h"
#include "exact/path.h"
#include "exact/sharing.h"
#include "exact/window.h"

#include <pub_tool_clientstate.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcfile.h>
#include <pub_tool_libcprint.h>
#include <pub_tool_libcproc.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_vki.h>
#include <pub_tool_xarray.h>

static Int log_file = -1;
static UInt process, parent = WIRE_NONE, sequence;
static Bool forked, failed;

static struct {
    struct wire_frame frame;
    UChar payload[WIRE_CHUNK_BYTES];
} buffer;

/* ---- frames -------------------------------------------------------------------------------- */

enum { LIMIT_FILE_SIZE = 1 }; /* RLIMIT_FSIZE */

/* The program's limit on file sizes binds this write as well, and exceeding it would send the
   program a signal: it is lifted for the moment, as far as it can be. */
static Bool append(const void *bytes, Int count)
{
    struct vki_rlimit limit, most;
    struct vg_stat log;
    Bool limited = VG_(getrlimit)(LIMIT_FILE_SIZE, &limit) == 0 && limit.rlim_cur != ~0UL;
    if (limited) {
        most = limit;
        most.rlim_cur = limit.rlim_max;
        VG_(setrlimit)(LIMIT_FILE_SIZE, &most);
        if (limit.rlim_max != ~0UL && VG_(fstat)(log_file, &log) == 0 &&
            (ULong)log.size + (ULong)count > limit.rlim_max)
            count = 0;
    }
    Bool written = count && VG_(write)(log_file, bytes, count) == count;
    if (limited)
        VG_(setrlimit)(LIMIT_FILE_SIZE, &limit);
    return written;
}

static void flush(void)
{
    struct wire_frame *frame = &buffer.frame;
    if (!frame->payload_bytes || log_file < 0 || failed) {
        frame->payload_bytes = 0;
        return;
    }
    frame->magic = WIRE_FRAME_MAGIC;
    frame->process = frame->thread = process;
    frame->pid = (uint32_t)VG_(getpid)();
    frame->sequence = sequence++;
    frame->offset = 0;
    frame->checksum = wire_frame_checksum(frame, buffer.payload);
    Int bytes = (Int)(sizeof *frame + frame->payload_bytes);
    if (!append(&buffer, bytes)) {
        failed = True;
        VG_(umsg)("headroom: log: the disk is full or a limit on file sizes was reached\n");
    }
    frame->payload_bytes = 0;
}

/* A record of `bytes`, padded, zeroed; to be finished by commit before the next. */
static void *record(UInt type, SizeT bytes)
{
    bytes = (bytes + 7) & ~(SizeT)7;
    if (buffer.frame.payload_bytes + bytes > sizeof buffer.payload)
        flush();
    struct wire_record *made = (struct wire_record *)(buffer.payload + buffer.frame.payload_bytes);
    VG_(memset)(made, 0, bytes);
    made->type = (uint16_t)type;
    made->bytes = (uint16_t)bytes;
    return made;
}

static void commit(void *made)
{
    struct wire_record *written = made;
    written->checksum = wire_checksum(written);
    buffer.frame.payload_bytes += written->bytes;
}

/* ---- who we are ----------------------------------------------------------------------------- */

static ULong now_ns(void)
{
    struct vki_timeval now;
    VG_(gettimeofday)(&now, NULL);
    return (ULong)now.tv_sec * 1000000000 + (ULong)now.tv_usec * 1000;
}

static void name_process(void)
{
    process = (UInt)(base_mix64((ULong)VG_(getpid)() << 40 ^ now_ns()) >> 33);
    sequence = 0;
}

enum { COMMAND_MAX = 2048, EXE_MAX = 1024 };

static UInt command_line(HChar *text, UInt room)
{
    UInt used = 0;
    Word count = VG_(args_the_exename) ? VG_(sizeXA)(VG_(args_for_client)) : -1;
    for (Word i = -1; i < count; i++) {
        const HChar *argument =
            i < 0 ? VG_(args_the_exename) : *(HChar **)VG_(indexXA)(VG_(args_for_client), i);
        SizeT bytes = argument ? VG_(strlen)(argument) + 1 : 0;
        if (!argument || used + bytes > room)
            break;
        VG_(memcpy)(text + used, argument, bytes);
        used += (UInt)bytes;
    }
    return used;
}

static void put_process(void)
{
    static HChar exe[EXE_MAX], command[COMMAND_MAX];
    SSizeT exe_bytes = VG_(readlink)("/proc/self/exe", exe, sizeof exe - 1);
    /* /proc/self/exe is Valgrind */
    exe_bytes = 0;
    if (VG_(args_the_exename)) {
        VG_(strncpy)(exe, VG_(args_the_exename), sizeof exe - 1);
        exe_bytes = (SSizeT)VG_(strlen)(exe);
    }
    exe[exe_bytes] = 0;
    UInt command_bytes = command_line(command, sizeof command);
    struct wire_process *made =
        record(WIRE_PROCESS, sizeof *made + (SizeT)exe_bytes + 1 + command_bytes);
    made->process = process;
    made->parent = parent;
    made->pid = (uint32_t)VG_(getpid)();
    made->ppid = (uint32_t)VG_(getppid)();
    made->start_ns = now_ns();
    made->forked = forked;
    made->exe_bytes = (uint16_t)(exe_bytes + 1);
    made->command_bytes = (uint16_t)command_bytes;
    VG_(memcpy)(made->text, exe, (SizeT)exe_bytes + 1);
    VG_(memcpy)(made->text + exe_bytes + 1, command, command_bytes);
    commit(made);
    struct wire_thread *thread = record(WIRE_THREAD, sizeof *thread);
    thread->process = thread->thread = process;
    thread->pid = thread->tid = (uint32_t)VG_(getpid)();
    VG_(strncpy)(thread->name, VG_(basename)(exe), sizeof thread->name - 1);
    commit(thread);
    flush(); /* at once: headroom knows that the tool has started */
}

static void put_modules(void)
{
    for (UInt i = 1; i < exact_modules_count(); i++) {
        const struct exact_module *module = exact_module_number(i);
        SizeT path_bytes = VG_(strlen)(module->path) + 1;
        if (path_bytes > WIRE_PATH_BYTES)
            continue;
        struct wire_module *made = record(WIRE_MODULE, sizeof *made + path_bytes);
        made->process = process;
        made->module = i;
        made->start = module->start;
        made->end = module->end;
        made->bias = module->bias;
        made->device = module->device;
        made->inode = module->inode;
        VG_(memcpy)(made->path, module->path, path_bytes);
        commit(made);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Node of a context, of an id; 0: none yet. Lazily touched. */
static UInt *context_nodes, *id_nodes;
static UInt nodes_count;

static UInt put_node(UInt parent_node, UInt module, UInt flags, Addr address)
{
    struct wire_node *made = record(WIRE_NODE, sizeof *made);
    made->node = ++nodes_count;
    made->parent = parent_node;
    made->module = module;
    made->flags = flags;
    made->vaddr = module ? address - exact_module_number(module)->bias : address;
    commit(made);
    return nodes_count;
}

static UInt node_of(UInt id)
{
    if (!id || id_nodes[id])
        return id ? id_nodes[id] : 0;
    const struct exact_activation *activation = exact_activation_of(id);
    const struct exact_block *block = exact_block_number(activation->block);
    const struct exact_access *access = &block->accesses[id - activation->base];
    if (exact_is_other(access))
        return 0;
    UInt context = exact_context_node(activation->context, context_nodes, put_node);
    UInt lost = activation->context == EXACT_LOST ? WIRE_NODE_BROKEN : 0;
    id_nodes[id] =
        put_node(context, block->module, WIRE_NODE_LEAF | access->flags | lost, access->ip);
    return id_nodes[id];
}

/* The function itself, called in that context. */
static UInt function_node(UInt context, Addr function)
{
    UInt parent_node = exact_context_node(context, context_nodes, put_node);
    return put_node(parent_node, exact_module_of(function), WIRE_NODE_LEAF, function);
}

static Bool nodes_begin(void)
{
    if (!context_nodes) {
        context_nodes = exact_reserve(EXACT_CONTEXTS_MAX * sizeof *context_nodes);
        id_nodes = exact_reserve((SizeT)SHADOW_IDS_MAX * sizeof *id_nodes);
    }
    return context_nodes && id_nodes;
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* A record of 40 or 72 bytes each, or two, with nodes of 40 for their accesses: 100 MiB at most. */
enum { PAIRS_MAX = 600000, REUSE_PAIRS_MAX = 400000 };

static void put_pair(UInt kind, const struct shadow_pair *pair, ULong waste, ULong use)
{
    if (!waste && !use)
        return;
    Bool kernel = exact_access_of(pair->second)->flags & WIRE_NODE_KERNEL;
    UInt first_node = node_of(shadow_first(pair)), second_node = node_of(pair->second);
    struct wire_pair *made = record(WIRE_PAIR, sizeof *made);
    made->kind = kind;
    made->flags = (kernel ? WIRE_PAIR_KERNEL : 0) |
                  (pair->first & SHADOW_NEAR ? WIRE_PAIR_NEAR : 0) |
                  shadow_group(pair) << WIRE_PAIR_GROUP_SHIFT;
    made->first = first_node;
    made->second = second_node;
    made->waste_bytes = waste;
    made->use_bytes = use;
    commit(made);
}

enum { KIND_DEAD, KIND_SILENT, KIND_LOAD };

/*
 * The bytes of an access are all in the pairs that it is the second of (of (store, load) only
 * `dead` is not zero), and all accesses of one id are as wide: so nothing need be counted as it
 * happens.
 */
enum { WIDTH_MAX = 1024 };
static ULong bytes_by_width[2][WIDTH_MAX + 1];

static void note_bytes(const struct exact_access *access, ULong bytes)
{
    if (!(access->flags & WIRE_NODE_KERNEL) && access->bytes <= WIDTH_MAX)
        bytes_by_width[access->store][access->bytes] += bytes;
}

/* Of a sample, sums with bytes taken off (shadow.h) may be below zero by chance. */
static ULong not_negative(ULong count)
{
    return count >> 63 ? 0 : count;
}

static void sum_widths(struct wire_totals *totals)
{
    for (UInt width = 1; width <= WIDTH_MAX; width++) {
        ULong loaded = not_negative(bytes_by_width[False][width]);
        ULong stored = not_negative(bytes_by_width[True][width]);
        totals->loads += loaded / width;
        totals->load_bytes += loaded;
        totals->stores += stored / width;
        totals->store_bytes += stored;
    }
}

_Static_assert((int)SHADOW_GROUPS == (int)WIRE_PAIR_GROUPS, "as the log has them");

static void note_fresh(struct wire_totals *totals, UInt id, ULong bytes)
{
    const struct exact_access *access = exact_access_of(id);
    *(access->store ? &totals->fresh_store_bytes : &totals->fresh_load_bytes) += bytes;
}

static void take_off(struct wire_totals *totals)
{
    for (UInt id = 1; id < exact_ids_used(); id++)
        if (exact_shadow.taken_off[id]) {
            note_fresh(totals, id, -exact_shadow.taken_off[id]);
            note_bytes(exact_access_of(id), -exact_shadow.taken_off[id]);
        }
}

static void put_pairs(struct wire_totals *totals)
{
    exact_jobs_gather();
    shadow_flush(&exact_shadow);
    shadow_order_pairs(&exact_shadow);
    shadow_merge_pairs(&exact_shadow, PAIRS_MAX);
    VG_(memset)(bytes_by_width, 0, sizeof bytes_by_width);
    for (ULong i = 0; i < exact_shadow.pairs_capacity; i++) {
        const struct shadow_pair *pair = &exact_shadow.pairs[i];
        if (!pair->second)
            continue;
        note_bytes(exact_access_of(pair->second), pair->waste + pair->use);
        if (!shadow_first(pair)) {
            note_fresh(totals, pair->second, pair->waste + pair->use);
            continue;
        }
        Bool first_stores = exact_access_of(shadow_first(pair))->store;
        Bool second_stores = exact_access_of(pair->second)->store;
        if (second_stores) {
            if (exact_options.kinds & WIRE_DEAD)
                put_pair(KIND_DEAD, pair, pair->dead, 0);
            if (exact_options.kinds & WIRE_SILENT)
                put_pair(KIND_SILENT, pair, pair->waste, pair->use);
        } else if (first_stores) {
            if (exact_options.kinds & WIRE_DEAD)
                put_pair(KIND_DEAD, pair, 0, pair->dead);
        } else if (exact_options.kinds & WIRE_LOAD) {
            put_pair(KIND_LOAD, pair, pair->waste, pair->use);
        }
    }
    if (exact_shadow.taken_off)
        take_off(totals);
    totals->fresh_load_bytes = not_negative(totals->fresh_load_bytes);
    totals->fresh_store_bytes = not_negative(totals->fresh_store_bytes);
    sum_widths(totals);
    if (exact_shadow.locations) {
        totals->waste_share = (double)exact_shadow.width / exact_shadow.epochs;
        shadow_join_groups(&exact_shadow);
    }
    totals->outside = exact_shadow.outside;
    if (exact_shadow.exhausted)
        totals->degraded |= WIRE_EXACT_MEMORY;
}

static void put_histogram(UInt which, const double *weights)
{
    struct wire_histogram *made =
        record(WIRE_HISTOGRAM, sizeof *made + DISTANCE_BINS * sizeof *weights);
    made->which = which;
    made->first = 0;
    made->count = DISTANCE_BINS;
    VG_(memcpy)(made->weights, weights, DISTANCE_BINS * sizeof *weights);
    commit(made);
}

static ULong time_before; /* exact_time when counts were reset */

static void put_reuse(void)
{
    static double time[DISTANCE_BINS], stack[DISTANCE_BINS];
    struct distance_totals totals;
    distance_totals(exact_distance, &totals);
    distance_histograms(exact_distance, time, stack);
    double lacking = (double)(exact_time - time_before) - totals.accesses;
    if (totals.share < 1 && exact_options.unit_shift == 6 && totals.reuses + lacking > 0) {
        totals.accesses += lacking;
        totals.reuses += lacking;
        distance_adjust(time, 1, lacking);
        distance_adjust(stack, 0, lacking);
    }
    struct wire_reuse_totals *made = record(WIRE_REUSE_TOTALS, sizeof *made);
    made->unit_bytes = 1U << exact_options.unit_shift;
    made->stack = exact_options.stack;
    made->share_first = (double)exact_options.share / 4294967296.0;
    made->share_last = totals.share;
    made->accesses = totals.accesses;
    made->reuses = totals.reuses;
    made->locations = totals.locations;
    made->never_reused = totals.never_reused;
    made->kept_accesses = totals.kept_accesses;
    made->kept_locations = totals.kept_locations;
    commit(made);
    put_histogram(0, time);
    if (exact_options.stack)
        put_histogram(1, stack);
    distance_merge_pairs(exact_distance, REUSE_PAIRS_MAX);
    uint64_t cursor = 0;
    for (const struct distance_pair *pair; (pair = distance_next_pair(exact_distance, &cursor));) {
        UInt use = node_of(pair->use), reuse = node_of(pair->reuse);
        struct wire_reuse_pair *put = record(WIRE_REUSE_PAIR, sizeof *put);
        put->use = use;
        put->reuse = reuse;
        put->count = pair->count;
        put->weight = pair->weight;
        put->time = pair->time;
        put->time_squares = pair->time_squares;
        put->stack = pair->stack;
        put->stack_squares = pair->stack_squares;
        commit(put);
    }
}

static struct wire_what_if *begin_what_if(const struct cache *cache)
{
    struct wire_what_if *made = record(WIRE_WHAT_IF, sizeof *made);
    made->bytes = cache->shape.bytes;
    made->ways = cache->shape.ways;
    made->line_bytes = CACHE_LINE_BYTES;
    return made;
}

static void put_spot(const struct exact_spot *spot, UInt id)
{
    UInt node = node_of(id);
    for (UInt i = 0; i < exact_caches.count; i++) {
        struct wire_what_if *made = begin_what_if(&exact_caches.caches[i]);
        made->accesses = spot->accesses;
        made->misses = spot->misses[i];
        made->node = node;
        made->store = exact_access_of(id)->store;
        made->moved_bytes = spot->bytes;
        made->low = spot->low;
        made->end = spot->end;
        made->step = spot->votes ? spot->step : 0;
        commit(made);
    }
}

/* Of what has a file. A block's accesses stand under the context that it was met in first. */
static void put_spots(void)
{
    UInt count;
    const struct exact_activation *activations = exact_activations(&count);
    UChar *done = VG_(calloc)("headroom.spots", exact_blocks_count() + 1, 1);
    for (UInt i = 0; i < count; i++) {
        const struct exact_activation at = activations[i];
        const struct exact_block *block = exact_block_number(at.block);
        if (done[at.block] || !block->spots || !block->module || at.context == EXACT_LOST)
            continue;
        done[at.block] = 1;
        for (UInt access = 0; access < block->count; access++)
            if (exact_spot_of(block, access)->accesses)
                put_spot(exact_spot_of(block, access), at.base + access);
    }
    VG_(free)(done);
}

static void put_what_ifs(void)
{
    for (UInt i = 0; i < exact_caches.count; i++) {
        const struct cache *cache = &exact_caches.caches[i];
        struct wire_what_if *made = begin_what_if(cache);
        made->accesses = exact_caches.accesses;
        made->misses = cache->misses;
        commit(made);
    }
    if (exact_caches.count)
        put_spots();
}

/* In a child that was forked, too: it counts for itself, with its parent's memory. */
static void reset_counts(void)
{
    if (exact_options.kinds)
        shadow_reset_counts(&exact_shadow);
    if (exact_distance)
        distance_reset_counts(exact_distance);
    time_before = exact_time;
    exact_path_reset();
    cache_bank_reset_counts(&exact_caches);
    exact_spots_reset();
    exact_kernel_loaded = exact_kernel_stored = 0;
    exact_observe_reset();
    exact_windows_reset();
    if (exact_transfer)
        exact_sharing_reset();
}

void exact_output(void)
{
    if (log_file < 0 || !nodes_begin())
        return;
    struct wire_totals totals = {.threads = exact_threads_count(),
                                 .kernel_load_bytes = exact_kernel_loaded,
                                 .kernel_store_bytes = exact_kernel_stored,
                                 .ids = exact_ids_used() - 1,
                                 .contexts = exact_contexts_count() - EXACT_LOST - 1};
    if (exact_ids_ran_out())
        totals.degraded |= WIRE_EXACT_IDS;
    if (exact_states_ran_out())
        totals.degraded |= WIRE_EXACT_MEMORY;
    put_modules();
    if (exact_options.kinds)
        put_pairs(&totals);
    if (exact_distance)
        put_reuse();
    const struct exact_writer writer = {record, commit, node_of, function_node};
    exact_observe_output(&writer);
    if (exact_transfer)
        exact_sharing_output(&writer);
    if (exact_options.graphs)
        exact_path_output(record, commit);
    else
        put_what_ifs();
    exact_windows_output(record, commit);
    totals.merged = exact_shadow.merged + (exact_distance ? distance_merged(exact_distance) : 0);
    struct wire_totals *made = record(WIRE_TOTALS, sizeof *made);
    totals.record = made->record;
    *made = totals;
    commit(made);
    flush();
    reset_counts();
}

/* The child goes on with what its parent's memory holds, but counts for itself. */
void exact_output_forked(void)
{
    buffer.frame.payload_bytes = 0;
    if (!exact_options.follow && log_file >= 0) {
        VG_(close)(log_file);
        log_file = -1;
        return;
    }
    parent = process;
    forked = True;
    name_process();
    put_process();
    reset_counts();
    if (context_nodes) { /* the parent executed something in vain */
        VG_(memset)(context_nodes, 0, exact_contexts_count() * sizeof *context_nodes);
        VG_(memset)(id_nodes, 0, exact_ids_used() * sizeof *id_nodes);
    }
}

/* Valgrind moves the file of --log-file out of the program's sight and forgets to close where it
 * was. */
static void close_message_file(void)
{
    static const HChar option[] = "--log-file=";
    struct vg_stat messages, status;
    Bool found = False;
    for (Word i = 0; i < VG_(sizeXA)(VG_(args_for_valgrind)); i++) {
        const HChar *word = *(HChar **)VG_(indexXA)(VG_(args_for_valgrind), i);
        if (VG_(strncmp)(word, option, sizeof option - 1) == 0)
            found = !sr_isError(VG_(stat)(word + sizeof option - 1, &messages));
    }
    for (Int file = 0; found && file < 1024; file++)
        if (VG_(fstat)(file, &status) == 0 && status.dev == messages.dev &&
            status.ino == messages.ino) {
            VG_(close)(file);
            return;
        }
}

/* The log itself: what has its name by now may be a file of the program's. -1: not so. */
static Int open_log(const HChar *path)
{
    struct vg_stat status;
    SysRes opened = VG_(open)(path, VKI_O_WRONLY | VKI_O_APPEND | VKI_O_NONBLOCK, 0);
    if (sr_isError(opened))
        return -1;
    Int file = (Int)sr_Res(opened);
    if (VG_(fstat)(file, &status) == 0 &&
        (!exact_options.log_inode || (ULong)exact_options.log_inode == status.ino))
        return file;
    VG_(close)(file);
    return -1;
}

void exact_output_init(void)
{
    close_message_file();
    if (!exact_options.log)
        return;
    Int opened = open_log(exact_options.log);
    if (opened < 0 && exact_options.log_name)
        opened = open_log(exact_options.log_name);
    if (opened < 0)
        exact_fail("the raw log cannot be opened");
    log_file = VG_(safe_fd)(opened);
    name_process();
    put_process();
}
