// SPDX-License-Identifier: MIT
/*
 * References of a nest found among the instructions of a recording. A line may have several loads, and debugging information names none
 * of them: columns are in the source's order, though compilers mean different places of an expression by them, and the memory that all
 * executions of an instruction touched is as long as what the reference goes over, in steps of the innermost loop. What alone of its line has
 * that length and such steps is paired; of the others their order, where there are as many instructions as references and all of them agree
 * with it. What is left over is not compared.
 *
 * Rejected: counts of accesses as a key. Vectors and values in registers change them.
 */
#include "predict/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX = 64, PATH_MAX = 64, CORNERS_MAX = 50000 };

/* ---- what a reference goes over ------------------------------------------------------------------------------- */

struct extent {
    int64_t low, end; /* equal: it is never executed */
};

struct corners {
    const struct nest *nest;
    const struct nest_access *access;
    uint32_t path[PATH_MAX]; /* loops and conditions around, from outside */
    size_t depth;
    int64_t iterators[NEST_SLOTS];
    unsigned left;
    struct extent extent;
};

static void visit_corner(struct corners *corners)
{
    const struct nest *nest = corners->nest;
    int64_t address = nest_address(nest, corners->access, corners->iterators);
    int64_t end = address + nest->references[corners->access->reference].bytes;
    struct extent *extent = &corners->extent;
    bool first = extent->low == extent->end;
    if (first || address < extent->low)
        extent->low = address;
    if (first || end > extent->end)
        extent->end = end;
}

/* The first two and the last two iterations of each loop: an address that is affine has its least and its greatest there, but for loops
   that are empty in more of them. */
static void visit_corners(struct corners *corners, size_t at)
{
    if (at == corners->depth)
        visit_corner(corners);
    if (at == corners->depth || !corners->left)
        return;
    corners->left--;
    const struct nest_node *node = &corners->nest->nodes[corners->path[at]];
    int64_t low = nest_value(corners->nest, node->lower, corners->iterators);
    if (node->kind == NEST_CONDITION) {
        if (low)
            visit_corners(corners, at + 1);
        return;
    }
    int64_t high = nest_value(corners->nest, node->upper, corners->iterators);
    int64_t count = high < low ? 0 : (high - low) / node->step + 1;
    const int64_t wanted[] = {0, 1, count - 2, count - 1};
    int64_t before = -1;
    for (size_t i = 0; i < BASE_COUNT(wanted); i++) {
        if (wanted[i] <= before || wanted[i] >= count)
            continue;
        before = wanted[i];
        corners->iterators[node->slot] = low + wanted[i] * node->step;
        visit_corners(corners, at + 1);
    }
}

static void add_extent(const struct nest *nest, const struct nest_access *access,
                       struct extent *extent)
{
    struct corners corners = {
        .nest = nest, .access = access, .left = CORNERS_MAX, .extent = *extent};
    for (uint32_t node = access->statement; node != NEST_NONE; node = nest->nodes[node].parent)
        if (nest->nodes[node].kind == NEST_LOOP || nest->nodes[node].kind == NEST_CONDITION) {
            if (corners.depth == PATH_MAX)
                return;
            corners.path[corners.depth++] = node;
        }
    for (size_t i = 0; i < corners.depth / 2; i++) {
        uint32_t other = corners.path[corners.depth - 1 - i];
        corners.path[corners.depth - 1 - i] = corners.path[i];
        corners.path[i] = other;
    }
    visit_corners(&corners, 0);
    *extent = corners.extent;
}

static struct extent extent_of(const struct nest *nest, uint32_t reference)
{
    struct extent extent = {0, 0};
    for (size_t i = 0; i < nest->accesses_count; i++)
        if (nest->accesses[i].reference == reference)
            add_extent(nest, &nest->accesses[i], &extent);
    return extent;
}

/* ---- what was recorded at a line -------------------------------------------------------------------------------- */

/* An instruction, or several of a column that went over the same memory. */
struct column {
    uint32_t column;
    uint64_t address; /* of the first of them */
    struct extent extent;
    uint64_t step; /* 0: not known */
    struct predict_seen seen;
    bool taken;
};

struct line {
    struct column columns[LINE_MAX];
    size_t count;
    uint32_t references[LINE_MAX]; /* of the nest, by column */
    size_t references_count;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool same_file(const char *a, const char *b)
{
    return a && b && strcmp(base_name(a), base_name(b)) == 0;
}

static bool is_of(const struct profile_what_if_site *site, const struct misses_level *level)
{
    return site->bytes == level->bytes && site->ways == level->ways &&
           site->line_bytes == level->line_bytes;
}

bool predict_has_level(const struct profile *profile, const struct misses_level *level)
{
    for (size_t i = 0; i < profile->what_if_sites_count; i++)
        if (is_of(&profile->what_if_sites[i], level))
            return true;
    return false;
}

/* By column, then in the order of the code. */
static void add_site(struct line *line, const struct profile_frame *frame,
                     const struct profile_what_if_site *site)
{
    size_t at = line->count;
    if (at == LINE_MAX)
        return;
    for (; at && (line->columns[at - 1].column > frame->column ||
                  (line->columns[at - 1].column == frame->column &&
                   line->columns[at - 1].address > frame->address));
         at--)
        line->columns[at] = line->columns[at - 1];
    line->columns[at] =
        (struct column){.column = frame->column,
                        .address = frame->address,
                        .extent = {(int64_t)site->low, (int64_t)site->end},
                        .step = site->step,
                        .seen = {true, site->accesses, site->moved_bytes, site->misses}};
    line->count++;
}

static void join(struct column *into, const struct column *from)
{
    if (from->extent.low < into->extent.low)
        into->extent.low = from->extent.low;
    if (from->extent.end > into->extent.end)
        into->extent.end = from->extent.end;
    if (from->seen.accesses > into->seen.accesses)
        into->step = from->step;
    into->seen.accesses += from->seen.accesses;
    into->seen.moved_bytes += from->seen.moved_bytes;
    into->seen.misses += from->seen.misses;
}

/* Copies of a loop's body go over memory that overlaps; what stands before and behind it, over memory that follows. */
static void join_copies(struct line *line, bool following)
{
    for (size_t i = 0; i < line->count; i++)
        for (size_t j = i + 1; j < line->count;) {
            struct column *one = &line->columns[i], *other = &line->columns[j];
            bool copies =
                one->extent.low < other->extent.end && other->extent.low < one->extent.end;
            copies |= following && (one->extent.low == other->extent.end ||
                                    other->extent.low == one->extent.end);
            if (!copies || one->column != other->column || one->taken || other->taken) {
                j++;
                continue;
            }
            join(one, other);
            memmove(other, other + 1, (--line->count - j) * sizeof *other);
            j = i + 1;
        }
}

static bool same_line(const struct nest_reference *a, const struct nest_reference *b)
{
    return a->write == b->write && a->line == b->line && same_file(a->file, b->file);
}

static void add_reference(struct line *line, const struct nest *nest, uint32_t reference)
{
    size_t at = line->references_count;
    if (at == LINE_MAX)
        return;
    while (at &&
           nest->references[line->references[at - 1]].column > nest->references[reference].column) {
        line->references[at] = line->references[at - 1];
        at--;
    }
    line->references[at] = reference;
    line->references_count++;
}

/* Of loads or stores, where the reference is. */
static void read_line(const struct profile *profile, const struct misses_level *level,
                      const struct nest *nest, uint32_t reference, struct line *line)
{
    const struct nest_reference *wanted = &nest->references[reference];
    line->count = line->references_count = 0;
    for (uint32_t i = 0; i < nest->references_count; i++)
        if (same_line(&nest->references[i], wanted))
            add_reference(line, nest, i);
    for (size_t i = 0; i < profile->what_if_sites_count; i++) {
        const struct profile_what_if_site *site = &profile->what_if_sites[i];
        const struct profile_frame *frame = &profile->frames[site->frame];
        if (frame->line == wanted->line && site->store == wanted->write && is_of(site, level) &&
            same_file(frame->file, wanted->file))
            add_site(line, frame, site);
    }
}

/* ---- pairs ---------------------------------------------------------------------------------------------------------- */

struct matching {
    struct nest *nest;
    struct predict_recording *found;
    struct extent *extents; /* of references */
    int64_t
        *shifts; /* of a reference found: from where it lies in the nest to where it was recorded */
};

/* Bytes from one execution to the next, in the innermost loop that moves it; 0: none does, or it is not affine. */
static uint64_t step_of(const struct nest *nest, uint32_t reference)
{
    for (size_t i = 0; i < nest->accesses_count; i++) {
        const struct nest_access *access = &nest->accesses[i];
        if (access->reference != reference || access->bytes_offset != NEST_NONE)
            continue;
        for (uint32_t at = access->statement; at != NEST_NONE; at = nest->nodes[at].parent) {
            const struct nest_node *node = &nest->nodes[at];
            int64_t step =
                node->kind == NEST_LOOP ? access->affine.factors[node->slot] * node->step : 0;
            if (step)
                return (uint64_t)(step < 0 ? -step : step);
        }
    }
    return 0;
}

/* Copies of the body, and vectors, make steps of several iterations. */
static bool steps_agree(uint64_t step, uint64_t recorded)
{
    enum { COPIES_MAX = 16 };
    return !step || !recorded || (recorded % step == 0 && recorded / step <= COPIES_MAX);
}

static bool fits(const struct matching *matching, uint32_t reference, const struct column *column)
{
    const struct extent *extent = &matching->extents[reference];
    return !column->taken && !matching->found->references[reference].known &&
           extent->end > extent->low &&
           extent->end - extent->low == column->extent.end - column->extent.low &&
           steps_agree(step_of(matching->nest, reference), column->step);
}

static void take(struct matching *matching, uint32_t reference, struct column *column)
{
    column->taken = true;
    matching->found->references[reference] = column->seen;
    matching->shifts[reference] = column->extent.low - matching->extents[reference].low;
}

/* Of what is left over, both in the order of the source, if all of it agrees. */
static void match_in_order(struct matching *matching, struct line *line)
{
    uint32_t references[LINE_MAX];
    struct column *columns[LINE_MAX];
    size_t at = 0, count = 0;
    for (size_t i = 0; i < line->references_count; i++) {
        if (matching->found->references[line->references[i]].known)
            continue;
        while (at < line->count && line->columns[at].taken)
            at++;
        if (at == line->count || !fits(matching, line->references[i], &line->columns[at]))
            return;
        references[count] = line->references[i];
        columns[count++] = &line->columns[at++];
    }
    while (at < line->count && line->columns[at].taken)
        at++;
    for (size_t i = 0; i < count && at == line->count; i++)
        take(matching, references[i], columns[i]);
}

/* What alone of its line fits. */
static void match_alone(struct matching *matching, struct line *line)
{
    for (size_t i = 0; i < line->references_count; i++) {
        struct column *only = NULL;
        size_t columns = 0, references = 0;
        for (size_t j = 0; j < line->count; j++)
            if (fits(matching, line->references[i], &line->columns[j])) {
                only = &line->columns[j];
                columns++;
            }
        for (size_t j = 0; only && j < line->references_count; j++)
            references += fits(matching, line->references[j], only);
        if (columns == 1 && references == 1)
            take(matching, line->references[i], only);
    }
}

static void match_line(struct matching *matching, struct line *line)
{
    match_alone(matching, line);
    match_in_order(matching, line);
    for (int following = 0; following < 2; following++) {
        join_copies(line, following);
        match_alone(matching, line);
        match_in_order(matching, line);
    }
}

/* An array has one place, of which all of its references agree; else they were not what they were taken for. */
static void place_array(struct matching *matching, uint32_t array)
{
    const struct nest *nest = matching->nest;
    int64_t shift = 0;
    bool any = false, agree = true;
    for (size_t i = 0; i < nest->references_count; i++) {
        if (nest->references[i].array != array || !matching->found->references[i].known)
            continue;
        agree = agree && (!any || matching->shifts[i] == shift);
        shift = matching->shifts[i];
        any = true;
    }
    for (size_t i = 0; !agree && i < nest->references_count; i++)
        if (nest->references[i].array == array)
            matching->found->references[i].known = false;
    if (any && agree)
        matching->nest->arrays[array].base += shift;
}

enum base_status predict_match(const struct profile *profile, const struct misses_level *level,
                               struct nest *nest, struct predict_recording *found)
{
    size_t count = nest->references_count;
    struct matching matching = {.nest = nest, .found = found};
    struct line *line = malloc(sizeof *line);
    *found = (struct predict_recording){0};
    found->references = calloc(count + 1, sizeof *found->references);
    matching.extents = calloc(count + 1, sizeof *matching.extents);
    matching.shifts = calloc(count + 1, sizeof *matching.shifts);
    bool good = line && found->references && matching.extents && matching.shifts;
    for (uint32_t i = 0; good && i < count; i++)
        matching.extents[i] = extent_of(nest, i);
    for (uint32_t i = 0; good && i < count; i++) {
        if (!nest->references[i].line)
            continue;
        bool first = true; /* of its line */
        for (uint32_t j = 0; j < i && first; j++)
            first = !same_line(&nest->references[j], &nest->references[i]);
        if (!first)
            continue;
        read_line(profile, level, nest, i, line);
        match_line(&matching, line);
    }
    for (uint32_t i = 0; good && i < nest->arrays_count; i++)
        place_array(&matching, i);
    free(line);
    free(matching.extents);
    free(matching.shifts);
    if (!good)
        predict_recording_free(found);
    return good ? BASE_OK : BASE_NO_MEMORY;
}

size_t predict_gauges(const struct profile *profile, const struct misses_level *level,
                      const struct nest *nest, struct predict_gauge *gauges, size_t most)
{
    struct line *line = malloc(sizeof *line);
    size_t count = 0;
    for (uint32_t i = 0; line && i < nest->references_count && count < most; i++) {
        const struct nest_reference *reference = &nest->references[i];
        if (!reference->line)
            continue;
        read_line(profile, level, nest, i, line);
        join_copies(line, true);
        if (line->references_count != 1 || line->count != 1)
            continue;
        struct extent extent = extent_of(nest, i), recorded = line->columns[0].extent;
        gauges[count++] =
            (struct predict_gauge){reference->line, reference->write, extent.end - extent.low,
                                   recorded.end - recorded.low};
    }
    free(line);
    return count;
}

/* Values in registers move less than the source says, never more: so the most is what counts. */
void predict_executions(const struct nest *nest, const struct misses_result *result,
                        struct predict_recording *found)
{
    double most = 0;
    for (size_t i = 0; i < nest->references_count; i++) {
        double once = (double)result->references[i].accesses * nest->references[i].bytes;
        if (found->references[i].known && once > 0)
            most = fmax(most, (double)found->references[i].moved_bytes / once);
    }
    found->executions =
        most > 0 ? fmax(1, fabs(most - round(most)) < 0.02 * most ? round(most) : most) : 0;
}

void predict_recording_free(struct predict_recording *found)
{
    free(found->references);
    *found = (struct predict_recording){0};
}
