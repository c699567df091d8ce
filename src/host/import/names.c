// SPDX-License-Identifier: MIT
/*
 * Names the nodes: one look-up for every different (module, address), in order of
 * addresses, so that a module is opened once and its units are read once. Inlined
 * frames become contexts of their own between caller and leaf.
 */
#include "import/loops.h"
#include "import/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INLINED_MAX = 64, NAMED_MODULES = 3 };

/* What a node asks for. Equal queries get the same frames. */
struct query {
    uint32_t module, node, flags; /* flags: enum profile_frame_flags */
    uint32_t process;             /* of memory that is no module's; else 0 */
    uint64_t look_up, vaddr;
};

/* Frames of a node: profile->frames[first .. first + count), innermost first. */
struct frames {
    uint32_t first, count;
};

struct namer {
    struct import_gather *gather;
    struct profile *profile;
    const struct binary_options *symbols;
    struct query *queries; /* of the nodes that findings name, and their callers */
    size_t queries_count;
    struct frames *frames; /* by node; count 0: nothing names it */
    struct import_flow flow;
    struct import_loops *loops;
    struct import_jit_names *jits;
    bool nameless; /* code in no file and without a name stands in a finding's innermost frame */
    struct import_roles *roles;
    bool *leads;   /* module stands in a finding's innermost frame */
    bool *refused; /* module is there and could not be read */
};

/* ---- queries -------------------------------------------------------------------------------- */

static uint32_t frame_flags(uint32_t node_flags)
{
    return (node_flags & WIRE_NODE_KERNEL ? PROFILE_FRAME_KERNEL : 0U) |
           (node_flags & WIRE_NODE_BROKEN ? PROFILE_FRAME_INCOMPLETE : 0U) |
           (node_flags & WIRE_NODE_IMPRECISE ? PROFILE_FRAME_IMPRECISE : 0U) |
           (node_flags & WIRE_NODE_CALL ? PROFILE_FRAME_CALL : 0U) |
           (node_flags & WIRE_NODE_RETURN ? PROFILE_FRAME_RETURN : 0U);
}

static int compare_queries(const void *left, const void *right)
{
    const struct query *a = left, *b = right;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->look_up != b->look_up)
        return a->look_up < b->look_up ? -1 : 1;
    if (a->vaddr != b->vaddr)
        return a->vaddr < b->vaddr ? -1 : 1;
    return (a->flags > b->flags) - (a->flags < b->flags);
}

static void mark(const struct import_gather *gather, bool *used, uint32_t node)
{
    for (; !used[node]; node = gather->nodes[node].parent)
        used[node] = true;
}

/* Contexts that only samples without a finding have are kept: their samples were counted. */
static void mark_used(const struct namer *namer, bool *used)
{
    const struct profile *profile = namer->profile;
    used[0] = true;
    for (size_t i = 0; i < profile->pairs_count; i++) {
        mark(namer->gather, used, profile->pairs[i].first);
        mark(namer->gather, used, profile->pairs[i].second);
    }
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        mark(namer->gather, used, profile->reuse_pairs[i].use);
        mark(namer->gather, used, profile->reuse_pairs[i].reuse);
    }
    for (size_t i = 0; i < profile->sampled_count; i++)
        mark(namer->gather, used, profile->sampled[i].context);
    for (size_t i = 0; i < profile->times_count; i++)
        mark(namer->gather, used, profile->times[i].context);
    for (size_t i = 0; i < namer->gather->places_count; i++)
        mark(namer->gather, used, namer->gather->places[i].node);
    const uint32_t *node;
    for (size_t i = 0; (node = import_row_node(profile, i)); i++)
        mark(namer->gather, used, *node);
    for (size_t i = 0; (node = import_located_node(namer->gather, i)); i++)
        mark(namer->gather, used, *node);
}

static void mark_leads(const struct namer *namer)
{
    const struct import_node *nodes = namer->gather->nodes;
    for (size_t i = 0; i < namer->profile->pairs_count; i++) {
        const struct profile_pair *pair = &namer->profile->pairs[i];
        namer->leads[nodes[pair->first].module] = true;
        namer->leads[nodes[pair->second].module] = true;
    }
    for (size_t i = 0; i < namer->profile->reuse_pairs_count; i++) {
        const struct profile_reuse_pair *pair = &namer->profile->reuse_pairs[i];
        namer->leads[nodes[pair->use].module] = true;
        namer->leads[nodes[pair->reuse].module] = true;
    }
    for (size_t i = 0; i < namer->gather->places_count; i++)
        namer->leads[nodes[namer->gather->places[i].node].module] = true;
    const uint32_t *node;
    for (size_t i = 0; (node = import_row_node(namer->profile, i)); i++)
        namer->leads[nodes[*node].module] = true;
}

static bool make_queries(struct namer *namer)
{
    const struct import_gather *gather = namer->gather;
    bool *used = calloc(gather->nodes_count, sizeof *used);
    namer->queries = calloc(gather->nodes_count, sizeof *namer->queries);
    namer->frames = calloc(gather->nodes_count, sizeof *namer->frames);
    namer->leads = calloc(namer->profile->modules_count, sizeof *namer->leads);
    namer->refused = calloc(namer->profile->modules_count, sizeof *namer->refused);
    if (!used || !namer->queries || !namer->frames || !namer->leads || !namer->refused) {
        free(used);
        return false;
    }
    mark_used(namer, used);
    mark_leads(namer);
    for (size_t i = 1; i < gather->nodes_count; i++) {
        const struct import_node *node = &gather->nodes[i];
        if (used[i])
            namer->queries[namer->queries_count++] =
                (struct query){.module = node->module,
                               .node = (uint32_t)i,
                               .flags = frame_flags(node->flags),
                               .process = node->process,
                               .look_up = import_look_up(node),
                               .vaddr = node->vaddr};
    }
    free(used);
    qsort(namer->queries, namer->queries_count, sizeof *namer->queries, compare_queries);
    return true;
}

/* ---- look-ups ------------------------------------------------------------------------------- */

static bool add_frame(struct namer *namer, const struct query *query,
                      const struct binary_frame *source, bool innermost, bool outermost)
{
    bool good = true;
    const char *function = import_keep(namer->profile, source->function, &good);
    const char *file = import_keep(namer->profile, source->file, &good);
    struct profile_frame *frame = good ? profile_add_frames(namer->profile) : NULL;
    if (!frame)
        return false;
    /* The kernel's access is made by the innermost frame, callers are missing above the
       outermost one. */
    uint32_t flags = query->flags & ~(uint32_t)(innermost ? 0 : PROFILE_FRAME_KERNEL) &
                     ~(uint32_t)(outermost ? 0 : PROFILE_FRAME_INCOMPLETE);
    *frame = (struct profile_frame){
        .function = function,
        .file = file,
        .address = query->vaddr,
        .module = query->module,
        .line = source->line,
        .column = source->column,
        .flags = flags | (source->inlined && !outermost ? PROFILE_FRAME_INLINED : 0U) |
                 (source->unoptimized ? PROFILE_FRAME_UNOPTIMIZED : 0U)};
    return true;
}

/* Code in no file: the frame that its compiler's list gives. 0: it has none. */
static size_t frame_of_jit(struct namer *namer, struct query *query, struct binary_frame *frame)
{
    const char *name = query->process ? import_jit_name(namer->jits, query->process, query->look_up,
                                                        &query->module)
                                      : NULL;
    if (name)
        *frame = (struct binary_frame){.function = name};
    else if (query->process && namer->leads[0])
        namer->nameless = true;
    return name ? 1 : 0;
}

static bool name_query(struct namer *namer, const struct query *asked, struct binary *binary)
{
    struct binary_frame found[INLINED_MAX] = {{0}};
    struct query named = *asked;
    const struct query *query = &named;
    size_t count = binary ? binary_frames(binary, query->look_up, found, INLINED_MAX)
                          : frame_of_jit(namer, &named, found);
    if (count == 0)
        count = 1; /* module and address are all there is to say */
    struct frames frames = {(uint32_t)namer->profile->frames_count, (uint32_t)count};
    for (size_t i = 0; i < count; i++)
        if (!add_frame(namer, query, &found[i], i == 0, i + 1 == count))
            return false;
    namer->frames[query->node] = frames;
    return import_loops_of_frames(namer->loops, query->module, query->look_up, frames.first,
                                  frames.count);
}

/* All queries of one module, [from, to). */
static bool name_module(struct namer *namer, size_t from, size_t to, struct binary *binary,
                        struct import_teller *teller)
{
    for (size_t i = from; i < to; i++) {
        const struct query *query = &namer->queries[i];
        if (i > from && compare_queries(query - 1, query) == 0)
            namer->frames[query->node] = namer->frames[query[-1].node];
        else if (!name_query(namer, query, binary) ||
                 !import_roles_until(namer->roles, query->module, query->look_up))
            return false;
        import_tell(teller, "naming addresses", i + 1, namer->queries_count);
    }
    return true;
}

/* The module's queries, [from, to), and its ticks, which begin at *tick. */
static bool name_module_of(struct namer *namer, uint32_t id, size_t from, size_t to, size_t *tick,
                           struct import_teller *teller)
{
    struct profile_module *module = &namer->profile->modules[id];
    struct binary *binary = NULL;
    enum base_status status =
        module->path[0] ? binary_open(module->path, namer->symbols, &binary) : BASE_NOT_FOUND;
    if (status == BASE_IO || status == BASE_NO_MEMORY || status == BASE_DENIED)
        namer->refused[id] = true;
    if (status == BASE_OK) {
        module->detail = (uint32_t)binary_detail(binary);
        module->build_id_bytes = (uint32_t)binary_build_id(binary, module->build_id);
    }
    import_flow_begin(&namer->flow, binary);
    bool good = name_module(namer, from, to, binary, teller) &&
                import_roles_until(namer->roles, id, UINT64_MAX) &&
                import_located_of_module(namer->gather, id, binary) &&
                import_ticks_of_module(namer->gather, tick, id, binary, namer->jits);
    import_flow_end(&namer->flow);
    if (binary)
        binary_close(binary);
    return good;
}

static bool name_all(struct namer *namer, struct import_teller *teller)
{
    const struct import_gather *gather = namer->gather;
    size_t total = namer->queries_count, tick = 0, from = 0, to;
    for (uint32_t id = 0; id < namer->profile->modules_count; id++, from = to) {
        for (to = from; to < total && namer->queries[to].module == id;)
            to++;
        bool ticked = tick < gather->ticks_count && gather->ticks[tick].module == id;
        bool named = to > from || ticked || (id && import_located_in_module(gather, id));
        if (named && !name_module_of(namer, id, from, to, &tick, teller))
            return false;
    }
    return true;
}

/* False: no memory. */
static bool settle_roles(struct namer *namer)
{
    size_t count = namer->gather->nodes_count;
    uint32_t *innermost = calloc(count, sizeof *innermost);
    for (size_t i = 0; innermost && i < count; i++)
        innermost[i] = namer->frames[i].count ? namer->frames[i].first : 0;
    if (innermost)
        import_roles_settle(namer->roles, innermost);
    free(innermost);
    return innermost != NULL;
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* Findings name nodes until their contexts are known. */
static void name_contexts(struct import_gather *gather)
{
    struct profile *profile = gather->profile;
    const struct import_node *nodes = gather->nodes;
    for (size_t i = 0; i < profile->pairs_count; i++) {
        struct profile_pair *pair = &profile->pairs[i];
        pair->first = nodes[pair->first].context;
        pair->second = nodes[pair->second].context;
    }
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        struct profile_reuse_pair *pair = &profile->reuse_pairs[i];
        pair->use = nodes[pair->use].context;
        pair->reuse = nodes[pair->reuse].context;
    }
    for (size_t i = 0; i < profile->sampled_count; i++)
        profile->sampled[i].context = nodes[profile->sampled[i].context].context;
    for (size_t i = 0; i < profile->times_count; i++)
        profile->times[i].context = nodes[profile->times[i].context].context;
    uint32_t *node;
    for (size_t i = 0; (node = import_row_node(profile, i)); i++)
        *node = nodes[*node].context;
    for (size_t i = 0; (node = import_located_node(gather, i)); i++)
        *node = nodes[*node].context;
}

/*
 * Of a context that would be too deep the outer callers are left out, and it says so. Their place
 * is one context for all. 0: no memory.
 */
static uint32_t cut_context(struct profile *profile, uint32_t *cut)
{
    if (*cut)
        return *cut;
    struct profile_frame *frame = profile_add_frames(profile);
    struct profile_context *context = frame ? profile_add_contexts(profile) : NULL;
    if (!context)
        return 0;
    frame->flags = PROFILE_FRAME_INCOMPLETE;
    context->frame = (uint32_t)profile->frames_count - 1;
    return *cut = (uint32_t)profile->contexts_count - 1;
}

/* Of a node's frames, one below the other; *parent becomes the innermost one's. */
static bool add_contexts(struct namer *namer, struct frames frames, uint32_t *parent)
{
    for (uint32_t f = frames.count; f > 0; f--) {
        struct profile_context *context = profile_add_contexts(namer->profile);
        if (!context)
            return false;
        context->parent = *parent;
        context->frame = frames.first + f - 1;
        *parent = (uint32_t)namer->profile->contexts_count - 1;
    }
    return true;
}

/* Nodes differ in (parent, module, address, flags), so that contexts that are not cut never
 * coincide. */
static bool make_contexts(struct namer *namer)
{
    struct import_gather *gather = namer->gather;
    uint32_t cut = 0, *depths = calloc(gather->nodes_count + 1, sizeof *depths);
    bool good = depths != NULL;
    for (size_t i = 1; good && i < gather->nodes_count; i++) {
        struct import_node *node = &gather->nodes[i];
        uint32_t parent = gather->nodes[node->parent].context;
        depths[i] = depths[node->parent] + namer->frames[i].count;
        if (depths[i] > PROFILE_DEPTH_MAX) {
            parent = cut_context(namer->profile, &cut);
            depths[i] = 1 + namer->frames[i].count;
            good = parent != 0;
        }
        good = good && add_contexts(namer, namer->frames[i], &parent);
        node->context = parent;
    }
    free(depths);
    if (!good)
        return false;
    name_contexts(gather);
    for (size_t i = 0; i < gather->places_count; i++)
        gather->places[i].context = gather->nodes[gather->places[i].node].context;
    return true;
}

/* In the order of the profile's keys: a b-tree that is filled in order is several times faster. */
static int compare_pairs(const void *left, const void *right)
{
    const struct profile_pair *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

static int compare_sampled(const void *left, const void *right)
{
    const struct profile_sampled *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->context > b->context) - (a->context < b->context);
}

static int compare_times(const void *left, const void *right)
{
    const struct profile_time *a = left, *b = right;
    if (a->context != b->context)
        return a->context < b->context ? -1 : 1;
    return (a->system > b->system) - (a->system < b->system);
}

static int compare_reuse_pairs(const void *left, const void *right)
{
    const struct profile_reuse_pair *a = left, *b = right;
    if (a->use != b->use)
        return a->use < b->use ? -1 : 1;
    return (a->reuse > b->reuse) - (a->reuse < b->reuse);
}

static void sort_findings(struct profile *profile)
{
    if (profile->pairs_count)
        qsort(profile->pairs, profile->pairs_count, sizeof *profile->pairs, compare_pairs);
    if (profile->sampled_count)
        qsort(profile->sampled, profile->sampled_count, sizeof *profile->sampled, compare_sampled);
    if (profile->times_count)
        qsort(profile->times, profile->times_count, sizeof *profile->times, compare_times);
    if (profile->reuse_pairs_count)
        qsort(profile->reuse_pairs, profile->reuse_pairs_count, sizeof *profile->reuse_pairs,
              compare_reuse_pairs);
}

/* ---- what was missing ------------------------------------------------------------------------ */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* A file of the program's: not what Valgrind loads beside it. */
static bool is_file(const char *path)
{
    return path[0] == '/' && strncmp(base_name(path), "vgpreload_", 10) != 0;
}

/* "a, b, c and 4 more" of the modules for which `chosen` is set. */
static size_t list_modules(const struct namer *namer, const bool *chosen, char *out, size_t bytes)
{
    size_t count = 0, used = 0;
    out[0] = 0;
    for (size_t i = 1; i < namer->profile->modules_count; i++) {
        if (!chosen[i])
            continue;
        if (count++ >= NAMED_MODULES || used >= bytes)
            continue;
        int printed = snprintf(out + used, bytes - used, "%s%.80s", count > 1 ? ", " : "",
                               base_name(namer->profile->modules[i].path));
        used += printed > 0 ? (size_t)printed : 0;
    }
    if (count > NAMED_MODULES && used < bytes)
        snprintf(out + used, bytes - used, " and %zu more", count - NAMED_MODULES);
    return count;
}

/* Only modules that stand in findings: nobody misses the lines of others. */
static bool tell_details(struct namer *namer, uint64_t start_ns)
{
    enum { NO_LINES, NO_SYMBOLS, CHANGED, NOTES };
    static const char *const before[NOTES] = {
        [NO_LINES] = "no line information for ", [NO_SYMBOLS] = "", [CHANGED] = ""};
    static const char *const after[NOTES] = {
        [NO_LINES] = (": functions are named, lines are not (compile with -g, or install the debug "
                      "symbols)"),
        [NO_SYMBOLS] = " could not be read or carries no symbols: shown as module and offset",
        [CHANGED] = " changed after the recording began: names and lines may be wrong",
    };
    bool *chosen = calloc(namer->profile->modules_count * NOTES, sizeof *chosen), good = true;
    if (!chosen)
        return false;
    for (size_t i = 1; i < namer->profile->modules_count; i++) {
        const struct profile_module *module = &namer->profile->modules[i];
        struct stat info;
        if (!namer->refused[i] && (!namer->leads[i] || !is_file(module->path)))
            continue;
        chosen[NO_LINES * namer->profile->modules_count + i] =
            module->detail == PROFILE_DETAIL_SYMBOLS || module->detail == PROFILE_DETAIL_EXPORTS;
        chosen[NO_SYMBOLS * namer->profile->modules_count + i] =
            module->detail == PROFILE_DETAIL_NONE;
        chosen[CHANGED * namer->profile->modules_count + i] =
            start_ns && stat(module->path, &info) == 0 &&
            (uint64_t)info.st_mtim.tv_sec > start_ns / 1000000000 + 1;
    }
    for (int note = 0; note < NOTES && good; note++) {
        char list[512];
        if (!list_modules(namer, chosen + (size_t)note * namer->profile->modules_count, list,
                          sizeof list))
            continue;
        good = import_degraded(namer->profile, "%s%s%s", before[note], list, after[note]);
    }
    free(chosen);
    return good;
}

bool import_name(struct import_gather *gather, const struct import_run *run,
                 const struct binary_options *symbols, struct import_teller *teller)
{
    struct namer namer = {.gather = gather, .profile = gather->profile, .symbols = symbols};
    import_ticks_sort(gather);
    namer.loops = import_loops_new(gather->profile, &namer.flow);
    namer.jits = import_jit_begin(gather, run);
    namer.roles = import_roles_new(gather, &namer.flow);
    bool good = namer.loops && namer.jits && namer.roles && make_queries(&namer) &&
                name_all(&namer, teller) && settle_roles(&namer) &&
                import_sharing_names(gather, symbols) && import_shared_fields(gather, symbols) &&
                import_located_blocks(gather, symbols) && make_contexts(&namer) &&
                tell_details(&namer, gather->profile->run.start_ns) &&
                import_jit_tell(namer.jits, namer.nameless) && import_loops_tell(namer.loops) &&
                import_roles_traits(namer.roles);
    sort_findings(gather->profile);
    import_loops_free(namer.loops);
    import_jit_end(namer.jits);
    import_roles_free(namer.roles);
    free(namer.queries);
    free(namer.frames);
    free(namer.leads);
    free(namer.refused);
    return good;
}
