// SPDX-License-Identifier: MIT
/*
 * Where accesses are counted. A function's code is taken apart into segments: what of a block lies
 * between calls. The count is exact wherever other code may look at it or where a loop goes round:
 * on entry, at calls and behind them, at returns, on back edges. In between it may run ahead or lag
 * by what lies between the last such place and the next, and so additions can be moved along edges
 * and out of blocks that are executed often.
 *
 * All ends of segments where control passes from one to another make up a place: edges with the
 * same source or the same target belong to one. How far the count is ahead there may be chosen
 * freely for each place but the exact ones; a segment then adds its accesses + ahead at its end -
 * ahead at its start. As in event counting (Ball 1994) the places are joined by a maximum spanning
 * tree of segments, which add nothing; only the others are left to add. No edge is ever given code.
 *
 * An access must not have been executed when the count says that it is due. So the count never lags
 * by more than INSTRUMENTED_LAG, and who waits for an access is called that much before.
 *
 * Repeated string instructions add their iterations where they stand.
 */
#include "instrument/internal.h"

#include <stdlib.h>
#include <string.h>

enum { AHEAD_MAX = 48 };

struct segment {
    uint32_t first, last; /* statements                                       */
    uint32_t start, end;  /* places                                           */
    bool fresh;           /* flags hold nothing at its start, whatever reads them   */
    double weight;        /* by how often it is likely to be executed         */
    int64_t accesses;
};

struct counting {
    struct work *work;
    struct segment *segments;
    uint32_t count;
    size_t capacity;
    uint32_t *parent; /* of places: union-find, and then again for the tree */
    int64_t *offset;  /* ahead(place) - ahead(parent)                        */
    int64_t *lowest;  /* by representative: of ahead(place) - ahead(its), of all its places */
    int64_t *highest;
    double *weight; /* of blocks: a guess of how often they are executed   */
};

/* ---- places ---------------------------------------------------------------------------------- */

static uint32_t start_of(uint32_t block)
{
    return 2 * block;
}
static uint32_t end_of(uint32_t block)
{
    return 2 * block + 1;
}
static uint32_t exact_place(const struct counting *counting)
{
    return 2 * counting->work->function->blocks;
}

/* The representative, and how far the count is ahead of its there. */
static uint32_t find(const struct counting *counting, uint32_t place, int64_t *ahead)
{
    uint32_t *parent = counting->parent;
    *ahead = 0;
    for (; parent[place] != place; place = parent[place]) {
        if (parent[parent[place]] != parent[place]) { /* the way gets shorter */
            counting->offset[place] += counting->offset[parent[place]];
            parent[place] = parent[parent[place]];
        }
        *ahead += counting->offset[place];
    }
    return place;
}

static void unite(struct counting *counting, uint32_t a, uint32_t b)
{
    int64_t ignored;
    a = find(counting, a, &ignored);
    b = find(counting, b, &ignored);
    if (a > b) /* the exact place has the greatest number */
        counting->parent[b] = a;
    else if (a < b)
        counting->parent[a] = b;
}

static bool goes_back(const struct work *work, uint32_t block, uint32_t i)
{
    uint32_t number = work->blocks[block].first_edge - work->blocks[0].first_edge + i;
    return work->graph.edges[work->edge_of[number]].flags & NUMBERING_RETREATING;
}

static bool arrives_otherwise(const struct work *work, uint32_t block)
{
    uint32_t flags = work->blocks[block].flags;
    return block == 0 || !(flags & ASM_BLOCK_REACHED) ||
           flags & (ASM_BLOCK_LANDING | ASM_BLOCK_GOTO | ASM_BLOCK_SETJMP);
}

static void join_places(struct counting *counting)
{
    const struct work *work = counting->work;
    uint32_t exact = exact_place(counting);
    for (uint32_t b = 0; b < work->function->blocks; b++) {
        if (arrives_otherwise(work, b))
            unite(counting, start_of(b), exact);
        for (uint32_t i = 0; i < work->blocks[b].edges; i++) {
            const struct asm_edge *edge = &edges_of(work, &work->blocks[b])[i];
            bool free = edge->to != ASM_NONE && edge->kind != ASM_GOTO && !goes_back(work, b, i);
            unite(counting, end_of(b), free ? start_of(edge->to) : exact);
            if (edge->to != ASM_NONE && !free)
                unite(counting, start_of(edge->to), exact);
        }
    }
}

/* ---- segments -------------------------------------------------------------------------------- */

static uint32_t directions(const struct isa_insn *insn)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < insn->access_count; i++)
        count += (uint32_t)__builtin_popcount(insn->accesses[i].direction & (ISA_LOAD | ISA_STORE));
    return count;
}

static bool is_code(const struct work *work, uint32_t number)
{
    return asm_is_code(&work->file->statements[number]);
}

/* Accesses for each iteration of a repeated string instruction; 0: it is none. Inside of inline
   assembly one iteration is counted. */
static uint32_t repeats(const struct work *work, uint32_t number)
{
    const struct asm_statement *statement = &work->file->statements[number];
    if (!is_code(work, number) || statement->insns_count != 1)
        return 0;
    const struct isa_insn *insn = &work->file->insns[statement->insns].isa;
    return insn->repeated ? directions(insn) : 0;
}

static uint32_t accesses_of(const struct work *work, uint32_t number)
{
    const struct asm_statement *statement = &work->file->statements[number];
    uint32_t count = 0;
    if (!is_code(work, number) || repeats(work, number))
        return 0;
    for (uint32_t i = 0; i < statement->insns_count; i++)
        count += directions(&work->file->insns[statement->insns + i].isa);
    return count;
}

static bool add_segment(struct counting *counting, const struct segment *segment)
{
    return UTIL_PUSH(counting->segments, counting->count, counting->capacity, *segment);
}

static bool add_block(struct counting *counting, uint32_t number)
{
    const struct work *work = counting->work;
    const struct asm_block *block = &work->blocks[number];
    uint32_t exact = exact_place(counting);
    struct segment segment = {.first = block->first,
                              .start = start_of(number),
                              .fresh = number == 0 || block->flags & ASM_BLOCK_LANDING,
                              .weight = counting->weight[number]};
    if (number == 0 && work->function->entry > segment.first)
        segment.first = work->function->entry;
    for (uint32_t i = block->first; i <= block->last; i++) {
        segment.accesses += accesses_of(work, i);
        if (i != block->last && !place_is_call(work, i))
            continue;
        segment.last = i;
        bool call = place_is_call(work, i);
        segment.end = call ? exact : end_of(number);
        if (!add_segment(counting, &segment))
            return false;
        if (call && i == block->last)
            unite(counting, end_of(number), exact); /* nothing is left to stand in between */
        segment.first = i + 1;
        segment.start = exact;
        segment.fresh = true;
        segment.accesses = 0;
    }
    return true;
}

static int earlier(const void *a, const void *b)
{
    const struct segment *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static int heavier(const void *a, const void *b)
{
    const struct segment *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return earlier(a, b); /* the same on every run */
}

/*
 * Joins end's tree to start's if the count then stays near enough: it may lag little, and what is
 * foreseen from far ahead is foreseen badly.
 */
static void join_trees(struct counting *counting, uint32_t root, uint32_t child, int64_t difference)
{
    int64_t low = counting->lowest[child] + difference;
    int64_t high = counting->highest[child] + difference, ignored;
    if (counting->lowest[root] < low)
        low = counting->lowest[root];
    if (counting->highest[root] > high)
        high = counting->highest[root];
    bool exact = root == find(counting, exact_place(counting), &ignored);
    if (exact ? low < -INSTRUMENTED_LAG / 2 || high > AHEAD_MAX : high - low > AHEAD_MAX)
        return;
    counting->parent[child] = root;
    counting->offset[child] = difference;
    counting->lowest[root] = low;
    counting->highest[root] = high;
}

/* Joins what the heaviest segments lie between, so that they add nothing. */
static void choose_tree(struct counting *counting)
{
    int64_t from, to;
    qsort(counting->segments, counting->count, sizeof *counting->segments, heavier);
    for (uint32_t i = 0; i < counting->count; i++) {
        const struct segment *segment = &counting->segments[i];
        uint32_t start = find(counting, segment->start, &from);
        uint32_t end = find(counting, segment->end, &to);
        if (start == end)
            continue;
        /* ahead(end) = ahead(start) - accesses; the exact place stays a representative */
        int64_t difference = from - segment->accesses - to; /* of end's over start's */
        uint32_t exact = exact_place(counting);
        int64_t ignored;
        exact = find(counting, exact, &ignored);
        if (end != exact)
            join_trees(counting, start, end, difference);
        else
            join_trees(counting, end, start, -difference);
    }
}

/* ---- an addition ----------------------------------------------------------------------------- */

/* An addition to the count of accesses. */
struct access {
    int64_t value;   /* to be added                                           */
    uint32_t each;   /* or each * rcx                                         */
    bool back;       /* or that much taken away                               */
    int64_t ahead;   /* how far the count is ahead afterwards, without each   */
    uint32_t serial; /* of the function: names its labels                     */
    uint32_t lane;   /* below INSTRUMENTED_LANES                                     */
};

/* The operand of a lane of the thread's count. */
static struct operand access_count(struct site *site, uint32_t lane)
{
    struct operand operand;
    unsigned offset = lane * (unsigned)sizeof(int64_t);
    snprintf(operand.text, sizeof operand.text, "%%fs:headroom_accesses@tpoff+%u", offset);
    if (site->work->options->shared) {
        uint32_t scratch = site_take(site, 0);
        util_text_print(site->out, "\tmovq\theadroom_accesses@gottpoff(%%rip), %s\n",
                        register_names[scratch]);
        snprintf(operand.text, sizeof operand.text, "%%fs:%u(%s)", offset, register_names[scratch]);
        site_give(site, scratch); /* nothing else is taken before the count has been used */
    }
    return operand;
}

/* Where the call frame is: the code stands at the function's end, away from the directives that
 * say so. */
static void say_frame(struct util_text *text, const struct site *site, int more)
{
    int bytes = (int)site->work->frame_bytes + 8 + more;
    if (site->rsp != ASM_UNKNOWN)
        util_text_print(text, "\t.cfi_def_cfa %%rsp, %d\n", site->rsp + bytes);
    else if (site->rbp != ASM_UNKNOWN)
        util_text_print(text, "\t.cfi_def_cfa %%rbp, %d\n", site->rbp + bytes - more);
}

/*
 * The access that the agent waits for is among those just counted: out of line, as that is seldom.
 * headroom_access_due takes its argument off the stack.
 */
static void emit_due(struct site *site, const struct access *access)
{
    struct work *work = site->work;
    bool below = work->function->flags & ASM_LEAF; /* data below the stack pointer */
    unsigned number = work->number, serial = access->serial;
    util_text_print(site->out, "\tjns\t" LABEL_FORMAT "\n" LABEL_FORMAT ":\n", number, "d", serial,
                    number, "g", serial);
    util_text_print(&work->stubs, LABEL_FORMAT ":\n", number, "d", serial);
    say_frame(&work->stubs, site, 0);
    if (below) {
        util_text_print(&work->stubs, "\tleaq\t-128(%%rsp), %%rsp\n");
        say_frame(&work->stubs, site, 128);
    }
    util_text_print(&work->stubs, "\tpushq\t$%lld\n\tcall\theadroom_access_due\n",
                    ((long long)access->ahead * INSTRUMENTED_LANES + access->lane) *
                            INSTRUMENTED_DUE_EACH +
                        access->each);
    if (below)
        util_text_print(&work->stubs, "\tleaq\t128(%%rsp), %%rsp\n");
    util_text_print(&work->stubs, "\tjmp\t" LABEL_FORMAT "\n", number, "g", serial);
}

static void emit_access(struct site *site, const struct access *access)
{
    if (access->each)
        site->busy |= BIT(BASE_RCX);
    site_save_flags(site);
    struct operand amount = {"%rcx"};
    if (access->each > 1) {
        uint32_t scratch = site_take(site, 0);
        util_text_print(site->out, "\tleaq\t(,%%rcx,%u), %s\n", access->each,
                        register_names[scratch]);
        snprintf(amount.text, sizeof amount.text, "%s", register_names[scratch]);
    } else if (!access->each) {
        snprintf(amount.text, sizeof amount.text, "$%lld", (long long)access->value);
    }
    struct operand count = access_count(site, access->lane);
    util_text_print(site->out, "\t%s\t%s, %s\n", access->back ? "subq" : "addq", amount.text,
                    count.text);
    if (!access->back && (access->each || access->value > 0))
        emit_due(site, access);
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool can_stand(struct work *work, uint32_t number)
{
    if (!is_code(work, number))
        return false;
    struct site site = site_before(work, number, NULL);
    uint32_t used = work->path_register >= 0 ? BIT(work->path_register) : 0;
    return !site.flags && (!work->options->shared || site.dead & CALLER_SAVED & ~used);
}

static uint32_t next_code(const struct work *work, uint32_t number, uint32_t last)
{
    while (number < last && !is_code(work, number))
        number++;
    return number;
}

/* Additions that are near each other in the text, or at the entries of functions that are, go to
   different lanes. */
static uint32_t lane_of(const struct work *work, uint32_t serial)
{
    return (work->number + serial) % INSTRUMENTED_LANES;
}

static void place_at(struct work *work, uint32_t statement, bool fresh, struct access *access)
{
    struct util_text text = {0};
    struct site site = site_before(work, statement, &text);
    site.flags = site.flags && !fresh;
    emit_access(&site, access);
    site_end(&site);
    work_edit(work, statement, EDIT_BEFORE, &text);
}

/* Where the segment adds its share: at the first place where flags are free; there mostly is one
 * near the start. */
static uint32_t find_place(struct work *work, const struct segment *segment)
{
    uint32_t first = next_code(work, segment->first, segment->last), passed = 0;
    if (segment->fresh)
        return first;
    for (uint32_t i = first; i <= segment->last && passed <= INSTRUMENTED_LAG / 2; i++) {
        if (can_stand(work, i))
            return i;
        passed += repeats(work, i) ? INSTRUMENTED_LAG : accesses_of(work, i);
    }
    return first;
}

/* What compares may end early: it is among those that store nothing. */
static bool may_end_early(const struct work *work, uint32_t number)
{
    const struct isa_insn *insn = &work->file->insns[work->file->statements[number].insns].isa;
    for (uint32_t i = 0; i < insn->access_count; i++)
        if (insn->accesses[i].direction & ISA_STORE)
            return false;
    return true;
}

/* Further up where flags are free, if rcx is the same there. ahead: of the count, becomes that of
 * the place. */
static uint32_t find_repeated_place(struct work *work, uint32_t number, uint32_t first,
                                    int64_t *ahead)
{
    int64_t here = *ahead;
    for (uint32_t i = number; !can_stand(work, i);) {
        do
            if (i-- == first)
                return number;
        while (!is_code(work, i));
        const struct asm_statement *statement = &work->file->statements[i];
        if (statement->kind != ASM_INSTRUCTION || statement->insns_count != 1 || repeats(work, i) ||
            work->file->insns[statement->insns].writes & BIT(BASE_RCX))
            return number;
        here += accesses_of(work, i);
        if (can_stand(work, i)) {
            *ahead = here;
            return i;
        }
    }
    return number;
}

/* Iterations are added before; what was not executed is taken back. first: statement up to which
   nothing else is added. */
static void place_repeated(struct work *work, uint32_t number, uint32_t first,
                           const struct access *access)
{
    struct access before = *access, after = *access;
    uint32_t at = find_repeated_place(work, number, first, &before.ahead);
    place_at(work, at, false, &before);
    if (!may_end_early(work, number))
        return;
    uint32_t next = next_code(work, number + 1, work->file->statements_count - 1);
    after.serial = before.serial + 1;
    after.back = true;
    place_at(work, next, false, &after);
}

static void place_segment(struct counting *counting, const struct segment *segment,
                          uint32_t *serial)
{
    struct work *work = counting->work;
    int64_t at_start, at_end;
    find(counting, segment->start, &at_start);
    find(counting, segment->end, &at_end);
    int64_t value = segment->accesses + at_end - at_start;
    uint32_t at = value ? find_place(work, segment) : ASM_NONE;
    struct access access = {.ahead = at_start};
    uint32_t from = segment->first;
    for (uint32_t i = segment->first; i <= segment->last; i++) {
        access.serial = *serial;
        access.lane = lane_of(work, *serial);
        if (i == at) {
            access.value = value;
            access.ahead += value;
            place_at(work, i, segment->fresh, &access);
            access.value = 0;
            from = i;
            ++*serial;
        }
        access.each = repeats(work, i);
        access.serial = *serial;
        access.lane = lane_of(work, *serial);
        if (access.each) {
            place_repeated(work, i, from, &access);
            from = i + 1;
            *serial += 2;
        }
        access.each = 0;
        access.ahead -= accesses_of(work, i);
    }
}

static bool prepare(struct counting *counting)
{
    const struct work *work = counting->work;
    uint32_t blocks = work->function->blocks, places = 2 * blocks + 1;
    counting->parent = calloc(places, sizeof *counting->parent);
    counting->offset = calloc(places, sizeof *counting->offset);
    counting->lowest = calloc(places, sizeof *counting->lowest);
    counting->highest = calloc(places, sizeof *counting->highest);
    counting->weight = calloc(blocks, sizeof *counting->weight);
    if (!counting->parent || !counting->offset || !counting->lowest || !counting->highest ||
        !counting->weight || numbering_frequencies(work->paths, counting->weight) != BASE_OK)
        return false;
    for (uint32_t i = 0; i < places; i++)
        counting->parent[i] = i;
    join_places(counting);
    for (uint32_t b = 0; b < blocks; b++)
        if (!add_block(counting, b))
            return false;
    choose_tree(counting);
    qsort(counting->segments, counting->count, sizeof *counting->segments, earlier);
    return true;
}

void access_place(struct work *work)
{
    struct counting counting = {.work = work};
    uint32_t serial = 0;
    if (!prepare(&counting))
        work->out_of_memory = true;
    for (uint32_t i = 0; i < counting.count && !work->out_of_memory; i++)
        place_segment(&counting, &counting.segments[i], &serial);
    free(counting.segments);
    free(counting.parent);
    free(counting.offset);
    free(counting.lowest);
    free(counting.highest);
    free(counting.weight);
}
