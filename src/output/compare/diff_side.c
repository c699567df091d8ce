// SPDX-License-Identifier: MIT
/* A profile's findings as `compare` takes them, and its figures: what the verbs say, put together.
 */
#include "compare/internal.h"

#include "util/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUILDS_MAX = 1 << 24 };

/* ---- keys ------------------------------------------------------------------------------------ */

const char *diff_module_name(const struct diff_side *side, uint32_t module)
{
    return module && module == side->program ? "" : name_base(side->profile->modules[module].path);
}

uint64_t diff_hash_text(uint64_t hash, const char *text)
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
    if (!unmoved || !other || other->modules_count > BUILDS_MAX / profile->modules_count)
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

static void add_frame(const struct diff_side *side, const struct profile_frame *frame, bool unmoved,
                      uint64_t *functions, uint64_t *exact)
{
    uint64_t kind =
        frame->flags & (PROFILE_FRAME_KERNEL | PROFILE_FRAME_CALL | PROFILE_FRAME_RETURN);
    *functions =
        diff_hash_text(base_mix64(*functions ^ kind), diff_module_name(side, frame->module));
    *functions = diff_hash_text(*functions, frame->function);
    if (unmoved)
        *functions = base_mix64(*functions ^ line_or_address(frame));
    *exact = base_mix64(base_mix64(*exact ^ *functions) ^ line_or_address(frame));
}

/* Of each place: its calling context by functions, and with lines; of findings that are no contexts
   its place in own code alone. Parents precede children. What runs before main differs with the C
   library only. */
static bool make_keys(struct diff_side *side, const struct profile *other)
{
    const struct places *places = &side->places;
    side->functions = calloc(places->count + 1, sizeof *side->functions);
    side->exact = calloc(places->count + 1, sizeof *side->exact);
    bool *unmoved = find_unmoved(places->profile, other);
    bool good = side->functions && side->exact && unmoved;
    for (size_t i = 1; good && i < places->count; i++) {
        bool alone = side->by == REPORT_BY_PAIR;
        const struct place *place = &places->items[alone ? places->own[i] : i];
        const struct profile_frame *frame = &places->profile->frames[place->class];
        side->functions[i] = alone ? 0 : side->functions[place->parent];
        side->exact[i] = alone ? 0 : side->exact[place->parent];
        if (!name_before_program(frame->function))
            add_frame(side, frame, unmoved[frame->module], &side->functions[i], &side->exact[i]);
    }
    free(unmoved);
    return good;
}

static uint32_t line_of(const struct places *places, uint32_t place)
{
    const struct profile_frame *frame = &places->profile->frames[places->items[place].class];
    return (uint32_t)line_or_address(frame);
}

/* ---- for slots ------------------------------------------------------------------------------- */

struct compare_finding *diff_add(struct diff_side *side, const struct diff_part *part,
                                 uint32_t kind, uint32_t row)
{
    const struct compare_finding made = {.kind = part->first_kind + kind, .row = row};
    if (!UTIL_PUSH(side->findings, side->findings_count, side->findings_capacity, made)) {
        side->failed = true;
        return NULL;
    }
    return &side->findings[side->findings_count - 1];
}

struct compare_finding *diff_add_line(struct diff_side *side, const struct diff_part *part,
                                      uint32_t kind, uint32_t row, uint64_t key, const char *file,
                                      uint32_t line)
{
    struct compare_finding *made = diff_add(side, part, kind, row);
    if (!made)
        return NULL;
    made->functions[0] = key;
    made->exact[0] = base_mix64(diff_hash_text(key, file ? name_base(file) : NULL) + line);
    made->lines[0] = line;
    return made;
}

struct compare_finding *diff_add_pair(struct diff_side *side, const struct diff_part *part,
                                      uint32_t kind, uint32_t row)
{
    const struct places *places = &side->places;
    struct compare_finding *made = diff_add(side, part, kind, row);
    struct diff_ends ends;
    if (!made)
        return NULL;
    part->compare->ends(part, made, &ends);
    for (unsigned i = 0; i < 2; i++) {
        bool alone = side->by == REPORT_BY_PAIR;
        uint32_t place = alone ? places->own[ends.places[i]] : ends.places[i];
        made->functions[i] = side->functions[place];
        made->exact[i] = side->exact[place];
        made->lines[i] = line_of(places, place);
        made->lines[i + 2] = alone ? 0 : line_of(places, places->items[place].parent);
    }
    return made;
}

struct diff_figure *diff_add_figure(struct diff_side *side, const char *prefix, const char *name,
                                    enum diff_unit unit, double value)
{
    struct diff_figure made = {.unit = unit, .value = value};
    snprintf(made.name, sizeof made.name, "%s%s", prefix, name);
    if (!UTIL_PUSH(side->figures, side->figures_count, side->figures_capacity, made)) {
        side->failed = true;
        return NULL;
    }
    return &side->figures[side->figures_count - 1];
}

bool diff_has_state(const struct diff_side *side, const struct diff_part *part)
{
    (void)side;
    return part->state != NULL;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Those of all verbs that have findings. False: no memory. */
static bool begin_parts(struct diff_side *side)
{
    size_t count = 0;
    for (const struct analysis *const *at = analyses; *at; at++)
        count += (*at)->compare != NULL;
    side->parts = calloc(count + 1, sizeof *side->parts);
    for (const struct analysis *const *at = analyses; *at && side->parts; at++) {
        struct diff_part part = {*at, (*at)->compare, (uint32_t)side->kinds_count, NULL};
        if (!part.compare)
            continue;
        if (part.compare->begin && !part.compare->begin(side, &part))
            return false;
        side->parts[side->parts_count++] = part;
        side->kinds_count += part.compare->kinds_count;
    }
    side->wholes = calloc(side->kinds_count + 1, sizeof *side->wholes);
    side->suppressed = calloc(side->kinds_count + 1, sizeof *side->suppressed);
    return side->parts && side->wholes && side->suppressed;
}

const struct diff_part *diff_part_of(const struct diff_side *side, uint32_t kind)
{
    const struct diff_part *part = side->parts;
    while (kind >= part->first_kind + part->compare->kinds_count)
        part++;
    return part;
}

const struct diff_kind *diff_kind_of(const struct diff_side *side, uint32_t kind)
{
    const struct diff_part *part = diff_part_of(side, kind);
    return &part->compare->kinds[kind - part->first_kind];
}

static void add_findings(struct diff_side *side)
{
    for (size_t i = 0; i < side->parts_count; i++)
        side->parts[i].compare->findings(side, &side->parts[i]);
}

static void add_figures(struct diff_side *side)
{
    const struct profile_run *run = &side->profile->run;
    for (size_t i = 0; i < side->parts_count; i++)
        if (side->parts[i].compare->figures)
            side->parts[i].compare->figures(side, &side->parts[i]);
    if (run->cpu_s >= 0)
        diff_add_figure(side, "", "cpu_s", DIFF_SECONDS, run->cpu_s);
    if (run->wall_s >= 0)
        diff_add_figure(side, "", "wall_s", DIFF_SECONDS, run->wall_s);
}

bool diff_side_figure(const struct diff_side *side, const char *name, struct diff_figure *figure)
{
    for (size_t i = 0; i < side->figures_count; i++)
        if (strcmp(side->figures[i].name, name) == 0) {
            *figure = side->figures[i];
            return true;
        }
    for (size_t i = 0; i < side->parts_count; i++) {
        const struct diff_part *part = &side->parts[i];
        if (part->compare->figure && part->compare->figure(part, name, figure))
            return true;
    }
    return false;
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
        side->suppressed[finding->kind].amount += finding->amount;
        side->suppressed[finding->kind].other += finding->other;
    }
    side->findings_count = kept;
    for (size_t i = 0; i < kept; i++)
        if (side->findings[i].row == DIFF_ALL)
            side->findings[i].amount =
                fmax(0, side->findings[i].amount - side->suppressed[side->findings[i].kind].amount);
}

enum base_status diff_side_make(struct profile *profile, const struct profile *other,
                                enum report_by by, diff_skip *skip, void *context,
                                struct diff_side *side)
{
    *side = (struct diff_side){.profile = profile,
                               .program = diff_find_program(profile, other),
                               .by = by == REPORT_BY_PAIR ? by : REPORT_BY_CONTEXT};
    if (places_make(profile, true, &side->places) != BASE_OK)
        return BASE_NO_MEMORY;
    bool good = make_keys(side, other) && begin_parts(side);
    if (good) {
        add_findings(side);
        skip_findings(side, skip, context);
        add_figures(side);
        side->compare.findings = side->findings;
        side->compare.count = side->findings_count;
        side->compare.wholes = side->wholes;
        side->compare.dispersion = dispersion_of(profile);
    }
    if (good && !side->failed)
        return BASE_OK;
    diff_side_free(side);
    return BASE_NO_MEMORY;
}

void diff_side_free(struct diff_side *side)
{
    for (size_t i = 0; i < side->parts_count; i++)
        if (side->parts[i].state)
            side->parts[i].compare->end(side->parts[i].state);
    places_free(&side->places);
    free(side->functions);
    free(side->exact);
    free(side->parts);
    free(side->wholes);
    free(side->suppressed);
    free(side->findings);
    free(side->figures);
    *side = (struct diff_side){0};
}
