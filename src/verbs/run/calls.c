// SPDX-License-Identifier: MIT
/*
 * Functions most of whose time goes to being called, as symptoms of what could be gained: ticks at instructions that save and
 * restore the caller's registers, call and return, or close behind one. That is not what the source says there, so no line can be blamed
 * for it; but calls that do little else can be made less often or, inlined, cost nothing.
 *
 * A function of which less than half goes there does work of its own; what inlining it would gain is then not known. Of the
 * others half is expected to go, as not every call can, and nothing for certain: a virtual function that has to be called costs that much.
 */
#include "gain/gain.h"
#include "run/internal.h"

#include <stdlib.h>

enum {
    SKID_BYTES = 15, /* as in gain */
    TICKS_LEAST = 20 /* fewer are a guess */
};
static const double most_share = 0.5, expected_part = 0.5, least_share = 0.02;

static const uint32_t overheads = PROFILE_FRAME_SAVE | PROFILE_FRAME_CALL | PROFILE_FRAME_RETURN;

static const struct advice often_called = {
    .id = "overhead.calls",
    .text = "Most of this function's time goes to calling it and returning from it. Call it less "
            "often: test before the call whether there is anything to do, keep a result, ask once "
            "for what is needed several times; or let the compiler inline it (static, in a header, "
            "or with -flto).",
    .evidence = ADVICE_STRONG,
};

struct function_time {
    uint32_t frame; /* one of the function's */
    double ns, overhead;
    uint64_t ticks;   /* of overhead */
    uint32_t context; /* of overhead, at the lowest address: usually the function's first line */
};

struct functions {
    struct function_time *items;
    size_t count, capacity;
    struct util_index index;
    uint32_t *marks; /* frames of overhead, by module and address */
    size_t marks_count;
    double ns, squares;
};

struct key {
    const struct profile_frame *frames, *wanted;
};

static bool equal_function(const void *items, uint32_t item, const void *context)
{
    const struct key *key = context;
    const struct function_time *functions = items;
    return place_same_function(&key->frames[functions[item].frame], key->wanted);
}

/* NULL: no memory. */
static struct function_time *find_function(struct functions *functions,
                                           const struct profile *profile, uint32_t frame)
{
    struct key key = {profile->frames, &profile->frames[frame]};
    uint32_t item;
    bool found;
    if (!UTIL_GROW(functions->items, functions->capacity, functions->count) ||
        !util_index_enter(&functions->index, place_function_hash(key.wanted), equal_function,
                          functions->items, &key, (uint32_t)functions->count, &item, &found))
        return NULL;
    if (!found)
        functions->items[functions->count++] = (struct function_time){.frame = frame};
    return &functions->items[item];
}

/* ---- instructions ---------------------------------------------------------------------------- */

static int compare_places(const struct profile_frame *a, const struct profile_frame *b)
{
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

static int compare_marks(const void *left, const void *right, void *frames)
{
    const struct profile_frame *all = frames;
    return compare_places(&all[*(const uint32_t *)left], &all[*(const uint32_t *)right]);
}

/* False: no memory. */
static bool find_marks(const struct profile *profile, struct functions *functions)
{
    functions->marks = calloc(profile->frames_count + 1, sizeof *functions->marks);
    for (size_t i = 1; functions->marks && i < profile->frames_count; i++)
        if (profile->frames[i].flags & overheads)
            functions->marks[functions->marks_count++] = (uint32_t)i;
    if (functions->marks_count)
        qsort_r(functions->marks, functions->marks_count, sizeof *functions->marks, compare_marks,
                profile->frames);
    return functions->marks != NULL;
}

/* Is the instruction one of overhead in its function, or close behind one? */
static bool is_overhead(const struct functions *functions, const struct profile *profile,
                        const struct profile_frame *frame)
{
    const struct profile_frame *frames = profile->frames;
    size_t after = BASE_FIRST(i, functions->marks_count,
                              compare_places(&frames[functions->marks[i]], frame) > 0);
    const struct profile_frame *mark = after ? &frames[functions->marks[after - 1]] : NULL;
    return mark && mark->module == frame->module && frame->address - mark->address <= SKID_BYTES &&
           place_same_function(mark, frame);
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t address_of(const struct profile *profile, uint32_t context)
{
    return profile->frames[profile->contexts[context].frame].address;
}

static void add_overhead(const struct profile *profile, const struct profile_time *time,
                         struct function_time *function)
{
    function->overhead += (double)time->ns;
    function->ticks += time->ticks;
    if (!function->context ||
        address_of(profile, time->context) < address_of(profile, function->context))
        function->context = time->context;
}

/* In own code that was optimized. False: no memory. */
static bool add_time(const struct places *places, const struct profile_time *time,
                     struct functions *functions)
{
    const struct profile *profile = places->profile;
    uint32_t place = places->place_of[time->context];
    uint32_t number = profile->contexts[time->context].frame;
    const struct profile_frame *frame = &profile->frames[number];
    double ns = (double)time->ns;
    functions->ns += ns;
    functions->squares += time->ticks ? ns * ns / (double)time->ticks : 0;
    if (time->system || !time->context || places->own[place] != place || !frame->function ||
        frame->flags & PROFILE_FRAME_UNOPTIMIZED)
        return true;
    struct function_time *function = find_function(functions, profile, number);
    if (!function)
        return false;
    function->ns += ns;
    if (is_overhead(functions, profile, frame))
        add_overhead(profile, time, function);
    return true;
}

static bool add_function(const struct places *places, const struct gain_lines *lines,
                         const struct functions *functions, size_t index, struct gain_sink *sink)
{
    const struct function_time *function = &functions->items[index];
    struct profile_share of_all =
        profile_share(function->overhead, functions->ns, functions->squares);
    struct gain_symptom symptom = {
        .kind = "calls",
        .what = "call overhead",
        .share_of = "of the function's time goes to being called",
        .labels = {"function", "function"},
        .line = lines->of_place[places->place_of[function->context]],
        .first = function->context,
        .second = function->context,
        .seen = function->ticks,
        .weak = function->ticks < TICKS_LEAST || of_all.share < least_share,
        .part = 1,
        .whole = true,
        .waste = profile_share(function->overhead, function->ns,
                               functions->squares * function->ns / functions->ns),
        .stall = {.direct = expected_part * of_all.share, .high = of_all.high},
        .advice = often_called};
    return gain_add(sink, &symptom);
}

bool run_add_calls(const struct places *places, const struct gain_lines *lines,
                   struct gain_sink *sink)
{
    const struct profile *profile = places->profile;
    struct functions functions = {0};
    bool good = find_marks(profile, &functions);
    for (size_t i = 0; good && functions.marks_count && i < profile->times_count; i++)
        good = add_time(places, &profile->times[i], &functions);
    for (size_t i = 0; good && i < functions.count; i++)
        if (functions.items[i].overhead > most_share * functions.items[i].ns)
            good = add_function(places, lines, &functions, i, sink);
    util_index_free(&functions.index);
    free(functions.items);
    free(functions.marks);
    return good;
}
