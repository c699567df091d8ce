// SPDX-License-Identifier: MIT
/* A profile's findings as `compare` takes them, and its figures. */
#include "compare/side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const diff_kind_names[DIFF_KINDS] = {"dead",  "silent", "load",
                                                 "reuse", "path",   "block"};
const char *const diff_kind_headings[DIFF_KINDS] = {
    "Dead stores", "Stores of an unchanged value (silent)", "Redundant loads", "Reuses", "Paths",
    "Time lost"};

enum { FIRST_CACHE = 4 << 10, MOST_FIGURES = 128, MOST_BUILDS = 1 << 24, LEAST_ADDRESS = 65536 };

/* ---- keys ------------------------------------------------------------------------------------ */

/* Of each place of the ranking: its calling context by functions, and with lines. */
struct keys {
    uint64_t *functions, *exact;
};

/* A program may be built under another name; what it is called then is no difference. */
static const char *module_name(const struct profile *profile, uint32_t module)
{
    const char *path = profile->modules[module].path;
    if (profile->processes_count && profile->processes[0].exe &&
        strcmp(path, profile->processes[0].exe) == 0)
        return "";
    return name_base(path);
}

static uint64_t add_text(uint64_t hash, const char *text)
{
    return text ? base_hash_bytes(text, strlen(text), hash) : base_mix64(hash);
}

static bool same_build(const struct profile_module *a, const struct profile_module *b)
{
    return a->build_id_bytes && a->build_id_bytes == b->build_id_bytes &&
           memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
}

/* By module id: is it in the other profile in the same build? Then nothing in it can have moved.
   other: may be NULL. Of absurdly many modules nothing is known. */
static bool *find_unmoved(const struct profile *profile, const struct profile *other)
{
    bool *unmoved = calloc(profile->modules_count + 1, sizeof *unmoved);
    if (!unmoved || !other || other->modules_count > MOST_BUILDS / profile->modules_count)
        return unmoved;
    for (size_t i = 1; i < profile->modules_count; i++)
        for (size_t j = 1; j < other->modules_count && !unmoved[i]; j++)
            unmoved[i] = same_build(&profile->modules[i], &other->modules[j]);
    return unmoved;
}

/* Without names and lines the address is all that is known. With a name, but no line, it is that of
   any of the function's instructions. */
static uint64_t line_or_address(const struct profile_frame *frame)
{
    return frame->function || frame->line ? frame->line : frame->address;
}

static void add_frame(const struct profile *profile, const struct profile_frame *frame,
                      bool unmoved, uint64_t *functions, uint64_t *exact)
{
    uint64_t kind =
        frame->flags & (PROFILE_FRAME_KERNEL | PROFILE_FRAME_CALL | PROFILE_FRAME_RETURN);
    *functions = add_text(base_mix64(*functions ^ kind), module_name(profile, frame->module));
    *functions = add_text(*functions, frame->function);
    if (unmoved)
        *functions = base_mix64(*functions ^ line_or_address(frame));
    *exact = base_mix64(base_mix64(*exact ^ *functions) ^ line_or_address(frame));
}

/* Parents precede children. What runs before main differs with the C library only. */
static bool make_keys(const struct ranking *ranking, const struct profile *other, struct keys *keys)
{
    keys->functions = calloc(ranking->places_count + 1, sizeof *keys->functions);
    keys->exact = calloc(ranking->places_count + 1, sizeof *keys->exact);
    bool *unmoved = find_unmoved(ranking->profile, other);
    bool good = keys->functions && keys->exact && unmoved;
    for (size_t i = 1; good && i < ranking->places_count; i++) {
        const struct rank_place *place = &ranking->places[i];
        const struct profile_frame *frame = &ranking->profile->frames[place->class];
        keys->functions[i] = keys->functions[place->parent];
        keys->exact[i] = keys->exact[place->parent];
        if (!name_before_program(frame->function))
            add_frame(ranking->profile, frame, unmoved[frame->module], &keys->functions[i],
                      &keys->exact[i]);
    }
    free(unmoved);
    return good;
}

static uint32_t line_of(const struct ranking *ranking, uint32_t place)
{
    const struct profile_frame *frame = &ranking->profile->frames[ranking->places[place].class];
    return (uint32_t)line_or_address(frame);
}

static struct compare_finding *next_finding(struct diff_side *side, uint32_t kind, uint32_t row)
{
    struct compare_finding *made = &side->findings[side->findings_count++];
    *made = (struct compare_finding){.kind = kind, .row = row};
    return made;
}

static void set_places(const struct diff_side *side, const struct keys *keys,
                       struct compare_finding *finding)
{
    uint32_t places[2];
    diff_places(side, finding, places);
    for (unsigned i = 0; i < 2; i++) {
        finding->functions[i] = keys->functions[places[i]];
        finding->exact[i] = keys->exact[places[i]];
        finding->lines[i] = line_of(&side->ranking, places[i]);
        finding->lines[i + 2] = line_of(&side->ranking, side->ranking.places[places[i]].parent);
    }
}

/* ---- findings -------------------------------------------------------------------------------- */

static void add_waste(struct diff_side *side, const struct keys *keys)
{
    for (size_t k = 0; k < side->ranking.kinds_count; k++) {
        const struct rank_kind *kind = &side->ranking.kinds[k];
        const struct profile_kind *totals = kind->totals;
        side->compare.wholes[totals->kind] = (struct compare_whole){
            totals->waste_bytes + totals->use_bytes, totals->waste_squares + totals->use_squares};
        struct compare_finding *all = next_finding(side, totals->kind, DIFF_ALL);
        all->functions[0] = all->functions[1] = all->exact[0] = all->exact[1] = UINT64_MAX;
        all->amount = totals->waste_bytes;
        all->squares = totals->waste_squares;
        for (size_t i = 0; i < kind->pairs_count; i++) {
            struct compare_finding *made = next_finding(side, totals->kind, (uint32_t)i);
            made->amount = kind->pairs[i].waste_bytes;
            made->squares = kind->pairs[i].waste_squares;
            set_places(side, keys, made);
        }
    }
}

/* Of exact figures what counts is how far apart the reuses are, all together: near ones cost
   nothing, however many they are. Samples are tested, and for that it must be how many they are. */
static void add_reuses(struct diff_side *side, const struct keys *keys)
{
    const struct ranking *ranking = &side->ranking;
    struct compare_whole *whole = &side->compare.wholes[DIFF_REUSE];
    for (size_t i = 0; i < ranking->reuse_pairs_count; i++) {
        const struct rank_reuse_pair *pair = &ranking->reuse_pairs[i];
        struct compare_finding *made = next_finding(side, DIFF_REUSE, (uint32_t)i);
        double distance = ranking->distances ? pair->stack : pair->time;
        made->amount = ranking->exact ? distance : pair->weight;
        made->squares = pair->spread;
        made->other = ranking->exact ? pair->weight : distance;
        set_places(side, keys, made);
        whole->amount += made->amount;
        whole->squares += pair->spread;
    }
}

/* A path is known by the lines that it runs through, from its function's own: when the function
   moves in its file, they stay. */
static void add_paths(struct diff_side *side)
{
    const struct profile *profile = side->profile;
    for (size_t i = 0; i < profile->paths_count; i++) {
        const struct profile_path *path = &profile->paths[i];
        const struct profile_path_function *function = &profile->path_functions[path->function];
        struct compare_finding *made = next_finding(side, DIFF_PATH, (uint32_t)i);
        made->functions[0] = add_text(add_text(path->flags, module_name(profile, function->module)),
                                      function->function);
        if (!function->function)
            made->functions[0] = base_mix64(made->functions[0] ^ function->address);
        uint64_t lines = made->functions[0];
        for (uint32_t s = 0; s < path->steps; s++) {
            const struct profile_path_block *block =
                &profile->path_blocks[profile->path_steps[path->first_step + s].block];
            for (uint32_t l = 0; l < block->lines; l++)
                lines = base_mix64(
                    lines + (profile->path_lines[block->first_line + l].line - function->line));
            lines = base_mix64(lines ^ (block->lines ? 0 : block->block));
        }
        made->exact[0] = lines;
        made->lines[0] = path->steps;
        made->lines[1] = (uint32_t)path->number;
        made->amount = (double)path->instructions;
        made->other = (double)path->count;
        side->compare.wholes[DIFF_PATH].amount += made->amount;
    }
}

/* Locks and other keys that are addresses are different ones in each run: by their order in the
 * profile. */
static bool add_blocks(struct diff_side *side)
{
    const struct report_options options = {0};
    const struct profile *profile = side->profile;
    if (!interference_figures(profile, &options, &side->blocks))
        return false;
    for (uint32_t i = 0; i < profile->timed_blocks_count; i++) {
        const struct interference_score *score = &side->blocks.result->blocks[i];
        const struct profile_block *block = &profile->timed_blocks[i];
        char name[BLOCK_NAME_BYTES];
        if (score->state != INTERFERENCE_SCORED)
            continue;
        struct compare_finding *made = next_finding(side, DIFF_BLOCK, i);
        interference_name(&side->blocks, i, NAME_BYTES, name);
        made->functions[0] = add_text(
            add_text(block->flags & PROFILE_BLOCK_SEQUENCE,
                     module_name(profile, profile->block_functions[block->function].module)),
            name);
        made->exact[0] =
            base_mix64(made->functions[0] + (block->key < LEAST_ADDRESS ? block->key : 0));
        made->lines[0] = i;
        made->amount = score->own_ns;
    }
    side->compare.wholes[DIFF_BLOCK].amount = side->blocks.result->threads_ns;
    return true;
}

static double share_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* ---- figures --------------------------------------------------------------------------------- */

static struct diff_figure *add_figure(struct diff_side *side, const char *prefix, const char *name,
                                      enum diff_unit unit, double value)
{
    struct diff_figure *made = &side->figures[side->figures_count++];
    *made = (struct diff_figure){.unit = unit, .value = value};
    snprintf(made->name, sizeof made->name, "%s%s", prefix, name);
    return made;
}

static void add_waste_figures(struct diff_side *side)
{
    double all = 0;
    uint32_t kinds = 0;
    for (size_t k = 0; k < side->ranking.kinds_count; k++) {
        const struct rank_kind *kind = &side->ranking.kinds[k];
        uint32_t id = kind->totals->kind;
        double whole = side->compare.wholes[id].amount;
        double waste = fmax(0, kind->totals->waste_bytes - side->suppressed[id]);
        char prefix[32];
        snprintf(prefix, sizeof prefix, "waste.%s.", profile_kind_names[id]);
        all += waste;
        if (whole > 0) {
            struct diff_figure *made =
                add_figure(side, prefix, "fraction", DIFF_SHARE, waste / whole);
            made->whole = whole;
            made->kinds = 1U << id;
            made->band = !side->ranking.exact && side->suppressed[id] <= 0 && kind->fraction.known;
            made->few = kind->too_few;
            made->low = kind->fraction.low;
            made->high = kind->fraction.high;
        }
        if (!side->ranking.exact)
            continue; /* weights of samples, which nobody stored or loaded */
        struct diff_figure *bytes = add_figure(side, prefix, "bytes", DIFF_BYTES, waste);
        bytes->whole = 1;
        bytes->kinds = 1U << id;
        kinds |= bytes->kinds;
    }
    if (!kinds)
        return;
    struct diff_figure *bytes = add_figure(side, "waste.", "bytes", DIFF_BYTES, all);
    bytes->whole = 1;
    bytes->kinds = kinds;
}

static void make_miss(const struct diff_side *side, uint64_t bytes, struct diff_figure *figure)
{
    struct mrc_ratio ratio = figures_miss_ratio(side->reuse, (double)bytes);
    static const char units[] = " KMGTPE";
    unsigned unit = 0;
    uint64_t shown = bytes;
    for (; shown >= 1024 && shown % 1024 == 0 && unit + 2 < sizeof units; unit++)
        shown /= 1024;
    *figure = (struct diff_figure){.unit = DIFF_SHARE,
                                   .value = ratio.ratio,
                                   .band = side->reuse->sampled,
                                   .low = ratio.low,
                                   .high = ratio.high,
                                   .whole = side->reuse->totals.accesses,
                                   .kinds = 1U << DIFF_REUSE};
    snprintf(figure->name, sizeof figure->name, "reuse.miss@%llu%.*s", (unsigned long long)shown,
             unit ? 1 : 0, units + unit);
}

/* Caches of every power of two up to one that misses first touches only. */
static void add_reuse_figures(struct diff_side *side)
{
    if (!side->reuse)
        return;
    const struct profile_reuse *totals = &side->reuse->totals;
    add_figure(side, "reuse.", "accesses", DIFF_COUNT, totals->accesses)->whole = 1;
    add_figure(side, "reuse.", "locations", DIFF_COUNT, totals->locations)->whole = 1;
    double enough = (double)figures_enough(side->reuse) * totals->unit_bytes;
    for (uint64_t bytes = FIRST_CACHE; bytes < UINT64_C(1) << 50; bytes *= 2) {
        make_miss(side, bytes, &side->figures[side->figures_count++]);
        if ((double)bytes >= enough)
            return;
    }
}

static void add_path_figures(struct diff_side *side)
{
    double counts = 0;
    if (side->profile->paths_count == 0)
        return;
    for (size_t i = 0; i < side->profile->paths_count; i++)
        counts += (double)side->profile->paths[i].count;
    struct diff_figure *made =
        add_figure(side, "paths.", "instructions", DIFF_COUNT,
                   fmax(0, side->compare.wholes[DIFF_PATH].amount - side->suppressed[DIFF_PATH]));
    made->whole = 1;
    made->kinds = 1U << DIFF_PATH;
    add_figure(side, "paths.", "executions", DIFF_COUNT,
               fmax(0, counts - side->suppressed_executions))
        ->whole = 1;
}

static void add_figures(struct diff_side *side)
{
    const struct profile_run *run = &side->profile->run;
    add_waste_figures(side);
    add_reuse_figures(side);
    add_path_figures(side);
    if (side->blocks.profile) {
        const struct interference_result *result = side->blocks.result;
        struct diff_figure *made =
            add_figure(side, "interference.", "share", DIFF_SHARE,
                       share_of(result->interference_ns, result->threads_ns));
        made->whole = result->threads_ns;
        made->kinds = 1U << DIFF_BLOCK;
    }
    if (run->cpu_s >= 0)
        add_figure(side, "", "cpu_s", DIFF_SECONDS, run->cpu_s);
    if (run->wall_s >= 0)
        add_figure(side, "", "wall_s", DIFF_SECONDS, run->wall_s);
}

bool diff_side_figure(const struct diff_side *side, const char *name, struct diff_figure *figure)
{
    static const char miss[] = "reuse.miss@";
    uint64_t bytes;
    for (size_t i = 0; i < side->figures_count; i++)
        if (strcmp(side->figures[i].name, name) == 0) {
            *figure = side->figures[i];
            return true;
        }
    if (!side->reuse || strncmp(name, miss, sizeof miss - 1) != 0 ||
        !compare_size_parse(name + sizeof miss - 1, &bytes))
        return false;
    make_miss(side, bytes, figure);
    return true;
}

/*
 * By the clock a place gets samples as it gets time, and what else the machine does moves that from
 * run to run; contexts take turns in phases. Of ten recordings each, numbers of samples by place
 * varied 0.8 to 1.0 times as much as independent samples of loops over arrays, and 2.8 to 3.3 times
 * of xz on a busy machine.
 */
static double dispersion_of(const struct profile *profile)
{
    return profile_same_text(profile->run.source, "count") ? 1 : 3;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void skip_findings(struct diff_side *side, diff_skip *skip, void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < side->findings_count; i++) {
        const struct compare_finding *finding = &side->findings[i];
        if (!skip || finding->row == DIFF_ALL || !skip(context, side, finding)) {
            side->findings[kept++] = *finding;
            continue;
        }
        side->suppressed[finding->kind] += finding->amount;
        if (finding->kind == DIFF_PATH)
            side->suppressed_executions += finding->other;
    }
    side->findings_count = kept;
    for (size_t i = 0; i < kept; i++)
        if (side->findings[i].row == DIFF_ALL)
            side->findings[i].amount =
                fmax(0, side->findings[i].amount - side->suppressed[side->findings[i].kind]);
}

static size_t most_findings(const struct diff_side *side)
{
    size_t count = side->ranking.kinds_count + side->ranking.reuse_pairs_count +
                   side->profile->paths_count + side->profile->timed_blocks_count;
    for (size_t k = 0; k < side->ranking.kinds_count; k++)
        count += side->ranking.kinds[k].pairs_count;
    return count;
}

static bool make_figures(struct diff_side *side)
{
    side->figures = calloc(MOST_FIGURES, sizeof *side->figures);
    if (side->figures && side->profile->reuses_count) {
        side->reuse = calloc(1, sizeof *side->reuse);
        if (side->reuse)
            figures_reuse(side->profile, side->reuse);
    }
    return side->figures && (side->reuse || !side->profile->reuses_count);
}

enum base_status diff_side_make(struct profile *profile, const struct profile *other,
                                diff_skip *skip, void *context, struct diff_side *side)
{
    struct keys keys = {0};
    *side = (struct diff_side){.profile = profile};
    if (rank_profile(profile, 0, true, &side->ranking) != BASE_OK)
        return BASE_NO_MEMORY;
    side->findings = calloc(most_findings(side) + 1, sizeof *side->findings);
    bool good = side->findings && make_keys(&side->ranking, other, &keys) && make_figures(side);
    if (good) {
        add_waste(side, &keys);
        add_reuses(side, &keys);
        add_paths(side);
    }
    if (good && strcmp(profile->run.verb, "interference") == 0)
        good = add_blocks(side);
    if (good) {
        skip_findings(side, skip, context);
        add_figures(side);
        side->compare.findings = side->findings;
        side->compare.count = side->findings_count;
        side->compare.dispersion = dispersion_of(profile);
    }
    free(keys.functions);
    free(keys.exact);
    if (good)
        return BASE_OK;
    diff_side_free(side);
    return BASE_NO_MEMORY;
}

void diff_side_free(struct diff_side *side)
{
    rank_free(&side->ranking);
    if (side->blocks.profile)
        interference_figures_free(&side->blocks);
    free(side->reuse);
    free(side->findings);
    free(side->figures);
    *side = (struct diff_side){0};
}
