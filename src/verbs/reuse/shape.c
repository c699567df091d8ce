// SPDX-License-Identifier: MIT
/*
 * Where use and reuse lie to each other in the code: the function where their call paths part, the
 * loops around both and around one of them only.
 *
 * The loops are those of the machine code, so functions inlined into each other have one nest of
 * them. A context is therefore taken in segments: a frame, and the frames inlined into it below.
 * Loops are known of the innermost frame of a segment; what its callers in the segment have are
 * among them.
 */
#include "reuse/internal.h"

#include <string.h>

enum { FRAMES_MAX = 4096 }; /* of a context: nothing is said of deeper ones */

struct path {
    uint32_t frames[FRAMES_MAX]; /* outermost first; as recorded, not their classes */
    size_t count;
};

static void make_path(const struct profile *profile, uint32_t context, struct path *path)
{
    size_t count = 0;
    for (uint32_t at = context; at; at = profile->contexts[at].parent)
        count++;
    path->count = count <= FRAMES_MAX ? count : 0;
    for (size_t left = path->count; left > 0; context = profile->contexts[context].parent)
        path->frames[--left] = profile->contexts[context].frame;
}

static bool same_function(const struct profile *profile, uint32_t a, uint32_t b)
{
    const struct profile_frame *one = &profile->frames[a], *other = &profile->frames[b];
    return one->function && one->module == other->module &&
           profile_same_text(one->function, other->function);
}

static const char *leaf_name(const struct profile *profile, const struct path *path)
{
    return profile->frames[path->frames[path->count - 1]].function;
}

/* ---- loops --------------------------------------------------------------------------------- */

static uint32_t loop_of(const struct profile *profile, uint32_t frame)
{
    size_t count = profile->frame_loops_count;
    size_t found = BASE_FIRST(i, count, profile->frame_loops[i].frame >= frame);
    bool known = found < count && profile->frame_loops[found].frame == frame;
    return known ? profile->frame_loops[found].loop : 0;
}

/* Do both loops read the same in the source? (The parts of one that was vectorised or unrolled.) */
static bool same_loop(const struct profile *profile, uint32_t a, uint32_t b)
{
    const struct profile_loop *one = &profile->loops[a], *other = &profile->loops[b];
    if (a == b)
        return true;
    return one->line && one->line == other->line && one->module == other->module &&
           profile_same_text(one->file, other->file) &&
           profile_same_text(one->function, other->function);
}

static void push(struct shape_loops *to, uint32_t loop)
{
    if (to->count == SHAPE_LOOPS)
        memmove(to->loops, to->loops + 1, (--to->count) * sizeof *to->loops);
    to->loops[to->count++] = loop;
}

static void add_loops(struct shape_loops *to, const struct shape_loops *from, unsigned first)
{
    for (unsigned i = first; i < from->count; i++)
        push(to, from->loops[i]);
}

/* The loops around a frame, outermost first. One that reads as its parent is the remainder of an
   unrolled one, or a peeled part: not a nest. */
static struct shape_loops nest(const struct profile *profile, uint32_t frame)
{
    struct shape_loops inside = {.count = 0}, result = {.count = 0};
    for (uint32_t loop = loop_of(profile, frame); loop && inside.count < SHAPE_LOOPS;
         loop = profile->loops[loop].parent)
        if (!inside.count || !same_loop(profile, inside.loops[inside.count - 1], loop))
            inside.loops[inside.count++] = loop;
    while (inside.count > 0)
        push(&result, inside.loops[--inside.count]);
    return result;
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Index behind the segment that begins at `first`. */
static size_t segment_end(const struct profile *profile, const struct path *path, size_t first)
{
    size_t end = first + 1;
    while (end < path->count && profile->frames[path->frames[end]].flags & PROFILE_FRAME_INLINED)
        end++;
    return end;
}

static bool same_segment(const struct places *places, const struct path *use,
                         const struct path *reuse, size_t first, size_t use_end, size_t reuse_end)
{
    if (use_end != reuse_end)
        return false;
    for (size_t i = first; i < use_end; i++)
        if (places->classes[use->frames[i]] != places->classes[reuse->frames[i]])
            return false;
    return true;
}

/* A segment's loops go to the shared ones as far as both have them. True: all of them were. */
static bool share(const struct profile *profile, const struct shape_loops *use,
                  const struct shape_loops *reuse, struct shape *shape)
{
    unsigned same = 0;
    while (same < use->count && same < reuse->count &&
           same_loop(profile, use->loops[same], reuse->loops[same]))
        push(&shape->shared, use->loops[same++]);
    if (same)
        shape->shared_here = same < SHAPE_LOOPS ? same : SHAPE_LOOPS;
    add_loops(&shape->use, use, same);
    add_loops(&shape->reuse, reuse, same);
    return same == use->count && same == reuse->count;
}

/* The loops of a library function that goes through memory are its own affair. */
static void add_rest(const struct profile *profile, const struct path *path, size_t first,
                     struct shape_loops *to)
{
    for (size_t end; first < path->count; first = end) {
        end = segment_end(profile, path, first);
        if (end == path->count && name_walks_memory(leaf_name(profile, path)))
            return;
        struct shape_loops loops = nest(profile, path->frames[end - 1]);
        add_loops(to, &loops, 0);
    }
}

static void find_loops(const struct places *places, const struct path *use,
                       const struct path *reuse, struct shape *shape)
{
    const struct profile *profile = places->profile;
    size_t first = 0, use_end = 0, reuse_end = 0;
    bool together = true;
    while (together && first < use->count && first < reuse->count &&
           (places->classes[use->frames[first]] == places->classes[reuse->frames[first]] ||
            same_function(profile, use->frames[first], reuse->frames[first]))) {
        use_end = segment_end(profile, use, first);
        reuse_end = segment_end(profile, reuse, first);
        struct shape_loops use_loops = nest(profile, use->frames[use_end - 1]);
        struct shape_loops reuse_loops = nest(profile, reuse->frames[reuse_end - 1]);
        together = share(profile, &use_loops, &reuse_loops, shape) &&
                   same_segment(places, use, reuse, first, use_end, reuse_end);
        first = use_end;
    }
    add_rest(profile, use, use_end, &shape->use);
    add_rest(profile, reuse, reuse_end, &shape->reuse);
}

/* ---- ancestor -------------------------------------------------------------------------------- */

static bool is_active_below(const struct profile *profile, const struct path *path, size_t ancestor)
{
    for (size_t i = ancestor + 1; i < path->count; i++)
        if (same_function(profile, path->frames[i], path->frames[ancestor]))
            return true;
    return false;
}

/* The deepest frame of one function on both paths, below calls at equal lines. */
static void find_ancestor(const struct places *places, const struct path *use,
                          const struct path *reuse, struct shape *shape)
{
    const struct profile *profile = places->profile;
    size_t least = use->count < reuse->count ? use->count : reuse->count, at = 0;
    while (at < least && places->classes[use->frames[at]] == places->classes[reuse->frames[at]])
        at++;
    if (at == least || !same_function(profile, use->frames[at], reuse->frames[at])) {
        if (at == 0)
            return;
        at--;
    }
    const struct profile_frame *a = &profile->frames[use->frames[at]];
    const struct profile_frame *b = &profile->frames[reuse->frames[at]];
    shape->use_frame = use->frames[at];
    shape->reuse_frame = reuse->frames[at];
    shape->use_called = at + 1 < use->count;
    shape->reuse_called = at + 1 < reuse->count;
    shape->recursive = is_active_below(profile, use, at) || is_active_below(profile, reuse, at);
    if (a->line && b->line && profile_same_text(a->file, b->file)) {
        shape->forward = a->line < b->line;
        shape->backward = a->line > b->line;
    }
}

void shape_find(const struct places *places, const struct reuse_pair *pair, struct shape *shape)
{
    struct path use, reuse;
    memset(shape, 0, sizeof *shape);
    make_path(places->profile, pair->use, &use);
    make_path(places->profile, pair->reuse, &reuse);
    if (!use.count || !reuse.count)
        return;
    find_ancestor(places, &use, &reuse, shape);
    find_loops(places, &use, &reuse, shape);
}

/* ---- what it means --------------------------------------------------------------------------- */

static bool is_walker(const struct profile *profile, uint32_t context)
{
    return name_walks_memory(profile->frames[profile->contexts[context].frame].function);
}

unsigned shape_use_walks(const struct profile *profile, const struct reuse_pair *pair,
                         const struct shape *shape)
{
    return shape->use.count + (shape->use_called && is_walker(profile, pair->use));
}

unsigned shape_reuse_walks(const struct profile *profile, const struct reuse_pair *pair,
                           const struct shape *shape)
{
    return shape->reuse.count + (shape->reuse_called && is_walker(profile, pair->reuse));
}

bool shape_is_once(const struct profile *profile, const struct reuse_pair *pair,
                   const struct shape *shape)
{
    if (!shape->use_frame || shape->shared.count || shape->recursive)
        return false;
    return shape_use_walks(profile, pair, shape) != shape_reuse_walks(profile, pair, shape) ||
           is_walker(profile, pair->use) || is_walker(profile, pair->reuse);
}
