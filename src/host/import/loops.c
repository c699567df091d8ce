// SPDX-License-Identifier: MIT
/*
 * Loops around the instructions that findings name. They come function by function in
 * the order of addresses, so one function's flow is held at a time; of its loops only those asked
 * for, and what is around them, enter the profile.
 *
 * Where a loop stands in the source is a guess at what people would call its line: the debug
 * information knows lines of instructions only. Optimisers move the condition to the end, merge it
 * with what is around and leave single instructions with lines from elsewhere.
 */
#include "import/loops.h"

#include "analysis/analysis.h"
#include "import/internal.h"
#include "role/role.h"

#include <stdlib.h>
#include <string.h>

enum {
    INLINED_MAX = 32,
    SAMPLES_MAX = 24,      /* places of a loop's head and ends whose source is asked for */
    BRANCHES_MAX = 16,     /* the same, of branches that close or leave it               */
    BLOCKS_MAX = 1 << 13,  /* before and after the head, looked through for such         */
    STEP_BYTES = 3,        /* between samples: less than most instructions               */
    BEFORE_MAX = 64,       /* places before the head whose lines are asked for           */
    INSTANCE_PERCENT = 70, /* see choose_instance                                        */
};

#define CODE_BYTES_MAX (UINT64_C(24) << 20) /* of all functions: about a second */
#define ROLE_BYTES_MAX (UINT64_C(6) << 20)  /* of those whose accesses are looked at: the same */

enum {
    IN_ORDER_BYTES = 64
}; /* see PROFILE_FRAME_IN_ORDER: code that is unrolled takes some elements at a time */

struct import_loops {
    struct profile *profile;
    bool wanted;
    struct import_flow *at;
    struct binary *binary;  /* as `at` has it */
    const struct cfg *flow; /* NULL: nothing is known of the function at hand */
    uint64_t start;         /* of that */
    uint64_t number;        /* of that, as `at` counts */
    uint32_t module;
    uint32_t *ids; /* in the profile, by loop; 0: not yet */
    bool role_asked;
    uint64_t code_bytes, role_bytes;
    uint64_t left_out; /* functions */
};

struct import_loops *import_loops_new(struct profile *profile, struct import_flow *at)
{
    struct import_loops *loops = calloc(1, sizeof *loops);
    if (!loops)
        return NULL;
    loops->profile = profile;
    loops->at = at;
    const struct analysis *analysis = analysis_find(profile->run.verb);
    loops->wanted = analysis && analysis->loops && cfg_start() == BASE_OK;
    return loops;
}

static void leave_function(struct import_loops *loops)
{
    free(loops->ids);
    loops->role_asked = false;
    loops->flow = NULL;
    loops->ids = NULL;
}

void import_loops_free(struct import_loops *loops)
{
    if (loops)
        leave_function(loops);
    free(loops);
}

/* ---- source ---------------------------------------------------------------------------------- */

/* Source of one address, innermost frame first. */
struct place {
    struct binary_frame frames[INLINED_MAX];
    size_t count;
    bool head;    /* in the loop's head, not in its ends          */
    bool carried; /* of the line that the code before the head has */
    bool branch;  /* one that closes or leaves the loop           */
};

struct places {
    struct place items[SAMPLES_MAX + BRANCHES_MAX];
    size_t count, samples, branches;
};

/* Line 0: made by the compiler, from no line. Constants and copies, which it puts where it likes,
   keep the line on which the function begins, or that of its brace. */
static bool tells_line(const struct binary_frame *frame, bool branch)
{
    return frame->line > (branch || !frame->declared ? 0 : frame->declared + 1);
}

static bool add_place(struct import_loops *loops, struct places *places, uint64_t address,
                      bool head, bool branch)
{
    size_t *count = branch ? &places->branches : &places->samples;
    if (*count >= (branch ? BRANCHES_MAX : SAMPLES_MAX))
        return false;
    struct place *place = &places->items[places->count];
    memset(place->frames, 0, sizeof place->frames);
    place->count = binary_frames(loops->binary, address, place->frames, INLINED_MAX);
    place->head = head;
    place->branch = branch;
    if (place->count == 0 || !tells_line(&place->frames[0], branch))
        return true;
    places->count++;
    (*count)++;
    return true;
}

static void add_block(struct import_loops *loops, struct places *places,
                      const struct cfg_block *block, bool head)
{
    for (uint64_t at = block->start; at < block->end; at += STEP_BYTES)
        if (!add_place(loops, places, at, head, false))
            return;
}

static bool same_source(const struct binary_frame *a, const struct binary_frame *b)
{
    return profile_same_text(a->file, b->file) && profile_same_text(a->function, b->function);
}

/* What is set up anew in each iteration often has the line of a like computation before the loop:
   a head that goes on with the line of what is before it may not stand there. */
static void add_head(struct import_loops *loops, struct places *places,
                     const struct cfg_block *head)
{
    struct binary_frame last[INLINED_MAX] = {{0}};
    bool carried = head->start > loops->start &&
                   binary_frames(loops->binary, head->start - 1, last, INLINED_MAX) > 0;
    add_block(loops, places, head, true);
    for (size_t i = 0; i < places->count && carried; i++) {
        const struct binary_frame *frame = &places->items[i].frames[0];
        carried = frame->line == last[0].line && same_source(frame, last);
        places->items[i].carried = carried;
    }
}

/* A block that is left behind its last instruction alone has no branch. */
static void add_exits(struct import_loops *loops, struct places *places, uint32_t loop)
{
    const struct cfg *flow = loops->flow;
    uint32_t head = flow->loops[loop].head;
    uint32_t i = head < BLOCKS_MAX ? 0 : head - BLOCKS_MAX;
    for (; i < flow->blocks_count && i < head + BLOCKS_MAX; i++) {
        const struct cfg_block *block = &flow->blocks[i];
        bool leaves = false;
        if (block->loop != loop)
            continue;
        for (uint32_t e = 0; e < block->edges && block->edges > 1; e++)
            leaves = leaves || !cfg_loop_holds(flow, loop, flow->edges[block->first_edge + e].to);
        if (leaves && !add_place(loops, places, block->last, false, true))
            return;
    }
}

static void add_ends(struct import_loops *loops, struct places *places, uint32_t loop)
{
    const struct cfg *flow = loops->flow;
    uint32_t number = flow->loops[loop].head;
    const struct cfg_block *head = &flow->blocks[number];
    for (uint32_t i = 0; i < head->into; i++) {
        uint32_t from = flow->edges[flow->into[head->first_into + i]].from;
        if (!cfg_loop_holds(flow, loop, from))
            continue;
        if (from != number)
            add_block(loops, places, &flow->blocks[from], false);
        add_place(loops, places, flow->blocks[from].last, false, true);
    }
}

/* The frame at a level; 0 is the function that really exists. */
static const struct binary_frame *level_of(const struct place *place, size_t level)
{
    return &place->frames[place->count - 1 - level];
}

/* Are both in the same function at this level, inlined at the same calls? */
static bool same_instance(const struct place *a, const struct place *b, size_t level)
{
    if (a->count <= level || b->count <= level)
        return false;
    for (size_t i = 0; i <= level; i++) {
        const struct binary_frame *left = level_of(a, i), *right = level_of(b, i);
        if (!profile_same_text(left->function, right->function))
            return false;
        if (i < level && (left->line != right->line || left->column != right->column))
            return false;
    }
    return true;
}

/*
 * The function, perhaps inlined, in which the loop stands: the innermost one around a closing
 * branch that holds most of its head and ends. Not all, for single instructions are moved in from
 * outside; and the branch alone may belong to what its condition calls (operator!=). Nor do carried
 * lines of another function count.
 */
static size_t choose_instance(const struct places *places, const struct place *guide)
{
    for (size_t level = guide->count - 1; level > 0; level--) {
        size_t inside = 0, counted = 0;
        for (size_t i = 0; i < places->count; i++) {
            bool here = same_instance(guide, &places->items[i], level);
            inside += here;
            counted += here || !places->items[i].carried;
        }
        if (inside * 100 >= counted * INSTANCE_PERCENT)
            return level;
    }
    return 0;
}

/* The line at the level, 0: elsewhere. */
static uint32_t line_at(const struct place *guide, const struct place *place, size_t level)
{
    if (!same_instance(guide, place, level))
        return 0;
    const struct binary_frame *frame = level_of(place, level);
    return profile_same_text(frame->file, level_of(guide, level)->file) ? frame->line : 0;
}

static bool is_inside(const struct cfg *flow, uint32_t loop, uint64_t address)
{
    uint32_t at = cfg_loop_at(flow, address);
    while (at && at != loop)
        at = flow->loops[at].parent;
    return at != 0;
}

/* Lines of the function at the level, of code that stands before the loop; count <= BEFORE_MAX. */
static size_t lines_before(struct import_loops *loops, uint32_t loop, const struct place *guide,
                           size_t level, uint32_t lines[BEFORE_MAX])
{
    struct place place;
    size_t count = 0;
    uint64_t at = loops->flow->blocks[loops->flow->loops[loop].head].start;
    for (unsigned i = 0; i < BEFORE_MAX && at >= loops->start + STEP_BYTES; i++) {
        at -= STEP_BYTES;
        memset(&place, 0, sizeof place);
        place.count = binary_frames(loops->binary, at, place.frames, INLINED_MAX);
        if (place.count && !is_inside(loops->flow, loop, at))
            lines[count++] = line_at(guide, &place, level);
    }
    return count;
}

/* What is before the closing cannot begin the loop if code between the two is outside of it. */
static bool any_between(const uint32_t *lines, size_t count, uint32_t first, uint32_t end)
{
    for (size_t i = 0; i < count; i++)
        if (lines[i] > first && lines[i] < end)
            return true;
    return false;
}

/*
 * Loops with their condition at the top have it where they are closed or left: its line is the
 * smallest of those branches, and no larger than that of the head, if that is not all there is.
 * What is closed further down than it begins (do, for without condition) is called by its first
 * line.
 */
static uint32_t choose_line(struct import_loops *loops, uint32_t loop, const struct places *places,
                            const struct place *guide, size_t level)
{
    uint32_t closing = 0, first = 0, smallest = 0, before[BEFORE_MAX];
    size_t before_count = 0;
    bool looked = false;
    for (size_t i = 0; i < places->count; i++) {
        uint32_t line = line_at(guide, &places->items[i], level);
        if (line && places->items[i].branch && (!closing || line < closing))
            closing = line;
    }
    for (size_t i = 0; i < places->count; i++) {
        uint32_t line = line_at(guide, &places->items[i], level);
        if (!line || !places->items[i].head)
            continue;
        if (line < closing && !looked)
            before_count = lines_before(loops, loop, guide, level, before);
        looked = looked || line < closing;
        if (line < closing && any_between(before, before_count, line, closing))
            continue;
        first = first ? first : line;
        smallest = smallest && smallest < line ? smallest : line;
    }
    if (!closing || (first && first < closing))
        return smallest ? smallest : closing;
    return closing;
}

/* The frame to call the loop by; its line may be 0. */
static struct binary_frame place_of(struct import_loops *loops, uint32_t loop)
{
    struct places *places = calloc(1, sizeof *places);
    struct binary_frame found = {0};
    if (!places)
        return found;
    const struct cfg_block *head = &loops->flow->blocks[loops->flow->loops[loop].head];
    if (binary_detail(loops->binary) != BINARY_DETAIL_LINES) {
        struct binary_frame frames[INLINED_MAX];
        if (binary_frames(loops->binary, head->start, frames, INLINED_MAX))
            found = frames[0];
        free(places);
        return found;
    }
    add_head(loops, places, head);
    add_ends(loops, places, loop);
    add_exits(loops, places, loop);
    const struct place *guide = places->items;
    for (size_t i = 0; i < places->count; i++)
        if (places->items[i].branch) {
            guide = &places->items[i];
            break;
        }
    if (places->count) {
        size_t level = choose_instance(places, guide);
        found = *level_of(guide, level);
        found.line = choose_line(loops, loop, places, guide, level);
    }
    free(places);
    return found;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The function that holds an address becomes the one at hand. False: no memory. */
static bool enter_function(struct import_loops *loops, uint64_t address)
{
    struct import_flow *at = loops->at;
    bool known = import_flow_find(at, address);
    if (loops->number == at->number)
        return true;
    leave_function(loops);
    loops->number = at->number;
    loops->binary = at->binary;
    loops->start = at->start;
    if (!known)
        return true;
    if (at->end - at->start > CODE_BYTES_MAX - loops->code_bytes) {
        loops->left_out++;
        return true;
    }
    loops->code_bytes += at->end - at->start;
    if (!import_flow_read(at))
        return false;
    loops->flow = at->graph;
    if (!loops->flow)
        return true;
    loops->ids = calloc(loops->flow->loops_count, sizeof *loops->ids);
    loops->left_out += (loops->flow->flags & (CFG_LARGE | CFG_COMPLEX)) != 0;
    return loops->ids != NULL;
}

/* Back edges that are all jumps through tables. */
static bool is_dispatch(const struct cfg *flow, uint32_t loop)
{
    const struct cfg_block *head = &flow->blocks[flow->loops[loop].head];
    for (uint32_t i = 0; i < head->into; i++) {
        const struct cfg_edge *edge = &flow->edges[flow->into[head->first_into + i]];
        if (edge->kind != CFG_TABLE && cfg_loop_holds(flow, loop, edge->from))
            return false;
    }
    return true;
}

/*
 * The innermost loop that people would see: interpreters that jump from each operation to the next
 * through a table have ways from everywhere to everywhere, which nest as deep as there are
 * operations.
 */
static uint32_t visible(const struct cfg *flow, uint32_t loop)
{
    for (uint32_t parent; (parent = flow->loops[loop].parent) != 0; loop = parent) {
        bool both = flow->loops[loop].flags & flow->loops[parent].flags & CFG_IRREDUCIBLE;
        if (!both && !is_dispatch(flow, loop))
            break;
    }
    return loop;
}

/* Enters a loop of the function at hand and those around it into the profile. False: no memory. */
static bool enter_loop(struct import_loops *loops, uint32_t loop)
{
    const struct cfg *flow = loops->flow;
    uint32_t chain[64], depth = 0;
    for (; loop && !loops->ids[loop] && depth < BASE_COUNT(chain);
         loop = visible(flow, flow->loops[loop].parent))
        chain[depth++] = loop;
    while (depth) {
        loop = chain[--depth];
        struct binary_frame place = place_of(loops, loop);
        bool good = true;
        const char *function = import_keep(loops->profile, place.function, &good);
        const char *file = import_keep(loops->profile, place.file, &good);
        struct profile_loop *added = good ? profile_add_loops(loops->profile) : NULL;
        if (!added)
            return false;
        *added =
            (struct profile_loop){.parent = loops->ids[visible(flow, flow->loops[loop].parent)],
                                  .module = loops->module,
                                  .address = flow->blocks[flow->loops[loop].head].start,
                                  .function = function,
                                  .file = place.line ? file : NULL,
                                  .line = place.line};
        loops->ids[loop] = (uint32_t)loops->profile->loops_count - 1;
    }
    return true;
}

/* The machine code of the function at hand, looked at once. False: no memory. */
static bool ask_role(struct import_loops *loops)
{
    const struct import_flow *at = loops->at;
    uint64_t count = at->end - at->start;
    if (loops->role_asked || count > ROLE_BYTES_MAX - loops->role_bytes)
        return true;
    loops->role_asked = true;
    loops->role_bytes += count;
    return import_flow_ask(loops->at);
}

/* Does the instruction of the innermost frame go along memory in its loop? False: no memory. */
static bool note_order(struct import_loops *loops, uint64_t address, struct profile_frame *frame)
{
    int64_t stride = 0;
    if (!ask_role(loops))
        return false;
    const struct role_function *role = loops->at->role;
    if (loops->role_asked && role && role_stride(role, address, &stride) && stride &&
        stride <= IN_ORDER_BYTES && stride >= -IN_ORDER_BYTES)
        frame->flags |= PROFILE_FRAME_IN_ORDER;
    return true;
}

bool import_loops_of_frames(struct import_loops *loops, uint32_t module, uint64_t look_up,
                            uint32_t first, uint32_t count)
{
    if (!loops->wanted || !loops->at->binary ||
        loops->profile->frames[first].flags & PROFILE_FRAME_IMPRECISE)
        return true;
    loops->module = module;
    if (!enter_function(loops, look_up))
        return false;
    uint32_t loop = loops->flow ? visible(loops->flow, cfg_loop_at(loops->flow, look_up)) : 0;
    if (loop == 0)
        return true;
    if (!enter_loop(loops, loop) || !note_order(loops, look_up, &loops->profile->frames[first]))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct profile_frame_loop *row = profile_add_frame_loops(loops->profile);
        if (!row)
            return false;
        *row = (struct profile_frame_loop){first + i, loops->ids[loop]};
    }
    return true;
}

bool import_loops_tell(const struct import_loops *loops)
{
    return loops->left_out == 0 ||
           import_degraded(loops->profile, "loops of %llu function%s are unknown: too much code",
                           (unsigned long long)loops->left_out, loops->left_out == 1 ? "" : "s");
}
