// SPDX-License-Identifier: MIT
/* Loops of a run, by the samples of its profile: which module, which function, which of its loops. */
#include "assess/internal.h"

#include "cfg/cfg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double most_of_it = 0.5;

struct sample {
    uint64_t address;
    double ns;
    uint32_t module;
};

struct samples {
    struct sample *items; /* by module, address */
    size_t count;
    double whole_ns;
};

struct found {
    struct bodies_loop loop; /* taken out of its list */
    const char *module;
};

struct hottest {
    struct found *items;
    size_t count, capacity;
    uint64_t other;
    const struct assess_target *only;
};

static int by_address(const void *a, const void *b)
{
    const struct sample *first = a, *second = b;
    if (first->module != second->module)
        return first->module < second->module ? -1 : 1;
    return (first->address > second->address) - (first->address < second->address);
}

/* Innermost frames that are instructions: time spent in the kernel, or at no known place, is no loop's. Inlined frames of one
   address lie in one another, the outermost has the same address. */
static bool gather(const struct profile *profile, struct samples *samples)
{
    samples->items = calloc(profile->times_count + 1, sizeof *samples->items);
    if (!samples->items)
        return false;
    for (size_t i = 0; i < profile->times_count; i++) {
        const struct profile_time *time = &profile->times[i];
        const struct profile_frame *frame =
            &profile->frames[profile->contexts[time->context].frame];
        samples->whole_ns += (double)time->ns;
        if (time->system || !time->context || !frame->module ||
            (frame->flags & (PROFILE_FRAME_INCOMPLETE | PROFILE_FRAME_IMPRECISE)))
            continue;
        samples->items[samples->count++] =
            (struct sample){frame->address, (double)time->ns, frame->module};
    }
    qsort(samples->items, samples->count, sizeof *samples->items, by_address);
    return true;
}

/* Of one module: its samples. */
struct part {
    const struct sample *first;
    size_t count;
};

static double weigh(void *context, uint64_t start, uint64_t end)
{
    const struct part *part = context;
    size_t at = BASE_FIRST(i, part->count, part->first[i].address >= start);
    double ns = 0;
    for (; at < part->count && part->first[at].address < end; at++)
        ns += part->first[at].ns;
    return ns;
}

static enum base_status take_hot(struct bodies *bodies, const char *module, struct hottest *hottest)
{
    for (size_t i = 0; i < bodies->count; i++) {
        if (bodies->loops[i].weight <= 0 ||
            (hottest->only && !find_matches(&bodies->loops[i], hottest->only)))
            continue;
        if (!UTIL_PUSH(hottest->items, hottest->count, hottest->capacity,
                       (struct found){bodies->loops[i], module}))
            return BASE_NO_MEMORY;
        bodies->loops[i] = (struct bodies_loop){0};
    }
    return BASE_OK;
}

static enum base_status loops_of_module(struct binary *binary, const char *path, struct part *part,
                                        struct hottest *hottest)
{
    enum base_status status = BASE_OK;
    for (size_t at = 0; at < part->count && status == BASE_OK;) {
        uint64_t start, end, address = part->first[at].address;
        struct bodies bodies = {0};
        if (binary_function(binary, address, &start, &end) != BASE_OK || end <= address) {
            at++;
            continue;
        }
        status = bodies_of(binary, start, end, weigh, part, &bodies);
        status = status == BASE_MALFORMED ? BASE_OK : status;
        if (status == BASE_OK)
            status = take_hot(&bodies, path, hottest);
        bodies_free(&bodies);
        while (at < part->count && part->first[at].address < end)
            at++;
    }
    return status;
}

static bool is_same_file(const struct profile_module *module, const struct binary *binary)
{
    uint8_t id[BINARY_BUILD_ID_BYTES];
    size_t bytes = binary_build_id(binary, id);
    return !module->build_id_bytes ||
           (bytes == module->build_id_bytes && memcmp(id, module->build_id, bytes) == 0);
}

static bool degrade(struct profile *profile, const char *path)
{
    char sentence[ASSESS_PATH_BYTES + 128];
    snprintf(sentence, sizeof sentence,
             "loops of '%.4000s' were not looked at: the file is gone, or has changed since", path);
    struct profile_text *degraded = profile_add_degraded(profile);
    return degraded && (degraded->text = profile_keep(profile, sentence)) != NULL;
}

/* Binaries stay open: loops have their strings. */
static enum base_status search(struct profile *profile, const struct binary_options *symbols,
                               const struct samples *samples, struct binary **binaries,
                               struct hottest *hottest)
{
    enum base_status status = BASE_OK;
    for (size_t at = 0, end; at < samples->count && status == BASE_OK; at = end) {
        uint32_t id = samples->items[at].module;
        for (end = at; end < samples->count && samples->items[end].module == id;)
            end++;
        const struct profile_module module = profile->modules[id];
        struct part part = {samples->items + at, end - at};
        if (module.path[0] == '[')
            continue; /* [vdso] and the like */
        if (binary_open(module.path, symbols, &binaries[id]) != BASE_OK ||
            !is_same_file(&module, binaries[id]))
            status = degrade(profile, module.path) ? BASE_OK : BASE_NO_MEMORY;
        else
            status = loops_of_module(binaries[id], module.path, &part, hottest);
    }
    return status;
}

static int by_weight(const void *a, const void *b)
{
    const struct found *first = a, *second = b;
    return (first->loop.weight < second->loop.weight) - (first->loop.weight > second->loop.weight);
}

/* Share of the CPU time in code outside of innermost loops; of all loops, not of some that were asked for. */
static double time_outside(const struct samples *samples, const struct hottest *hottest)
{
    double ns = 0;
    for (size_t i = 0; i < samples->count; i++)
        ns += samples->items[i].ns;
    for (size_t i = 0; i < hottest->count; i++)
        ns -= hottest->items[i].loop.weight;
    return hottest->only || ns <= 0 ? 0 : fmin(1, ns / samples->whole_ns);
}

static enum base_status add_hottest(struct profile *profile, struct hottest *hottest,
                                    const struct assess_options *options, size_t limit,
                                    const struct samples *samples)
{
    enum base_status status = BASE_OK;
    double outside = time_outside(samples, hottest);
    if (hottest->count)
        qsort(hottest->items, hottest->count, sizeof *hottest->items, by_weight);
    for (size_t i = 0; i < hottest->count && i < limit && status == BASE_OK; i++) {
        const struct bodies_loop *loop = &hottest->items[i].loop;
        status = assess_add(profile, loop, options, hottest->items[i].module, NULL,
                            loop->weight / samples->whole_ns);
        if (status == BASE_OK && options->graph && !(options->drawn && i))
            status = assess_graph(loop, options, options->drawn, options->graph);
    }
    /* Where there is no loop that is worth a report, too. */
    if (status == BASE_OK && outside >= most_of_it && !assess_begin_run(profile, options->model))
        status = BASE_NO_MEMORY;
    if (profile->limit_runs_count && hottest->count > limit)
        profile->limit_runs[0].other = hottest->count - limit;
    if (profile->limit_runs_count)
        profile->limit_runs[0].outside = outside;
    return status;
}

static void free_hottest(struct hottest *hottest)
{
    for (size_t i = 0; i < hottest->count; i++)
        bodies_loop_free(&hottest->items[i].loop);
    free(hottest->items);
}

/* What was counted before of the same run. */
struct counted {
    struct profile_limit_loop *loops;
    size_t count;
    double cycle_ns, cycle_spread;
};

static bool drop_loops(struct profile *profile, struct counted *counted)
{
    *counted =
        (struct counted){.loops = calloc(profile->limit_loops_count + 1, sizeof *counted->loops)};
    if (!counted->loops)
        return false;
    for (size_t i = 0; i < profile->limit_loops_count; i++)
        if (profile->limit_loops[i].iterations && profile->limit_loops[i].module)
            counted->loops[counted->count++] = profile->limit_loops[i];
    if (profile->limit_runs_count) {
        counted->cycle_ns = profile->limit_runs[0].cycle_ns;
        counted->cycle_spread = profile->limit_runs[0].cycle_spread;
    }
    profile->limit_runs_count = profile->limit_loops_count = profile->limit_instructions_count = 0;
    profile->limit_resources_count = profile->limit_arcs_count = 0;
    profile->limit_schedules_count = profile->limit_uses_count = 0;
    profile->limit_operations_count = 0;
    profile->limit_sources_count = profile->limit_dependences_count = 0;
    profile->limit_steps_count = profile->limit_matches_count = profile->limit_fates_count = 0;
    return true;
}

static void restore_counts(struct profile *profile, const struct counted *counted)
{
    if (!profile->limit_runs_count)
        return;
    profile->limit_runs[0].cycle_ns = counted->cycle_ns;
    profile->limit_runs[0].cycle_spread = counted->cycle_spread;
    for (size_t i = 0; i < profile->limit_loops_count; i++) {
        struct profile_limit_loop *loop = &profile->limit_loops[i];
        for (size_t at = 0; at < counted->count; at++)
            if (loop->module && counted->loops[at].address == loop->address &&
                strcmp(counted->loops[at].module, loop->module) == 0)
                loop->iterations = counted->loops[at].iterations;
    }
    measure_loops(profile);
}

enum base_status assess_profile(struct profile *profile, const struct binary_options *symbols,
                                const struct assess_options *options, size_t limit)
{
    struct samples samples = {0};
    struct hottest hottest = {.only = options->only};
    struct counted counted = {0};
    size_t modules = profile->modules_count;
    struct binary **binaries = calloc(modules + 1, sizeof *binaries);
    enum base_status status = binaries && drop_loops(profile, &counted) && gather(profile, &samples)
                                  ? cfg_start()
                                  : BASE_NO_MEMORY;
    if (status == BASE_OK)
        status = search(profile, symbols, &samples, binaries, &hottest);
    if (status == BASE_OK)
        status = add_hottest(profile, &hottest, options, limit, &samples);
    if (status == BASE_OK)
        restore_counts(profile, &counted);
    free_hottest(&hottest);
    free(counted.loops);
    free(samples.items);
    for (size_t i = 0; binaries && i < modules; i++)
        if (binaries[i])
            binary_close(binaries[i]);
    free(binaries);
    return status;
}
