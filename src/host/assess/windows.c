// SPDX-License-Identifier: MIT
/* Windows of what loops executed, from a profile's rows. */
#include "assess/windows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* More instructions than that, neither the loop's nor of what it calls, part two visits of it; fewer are scheduled with these: values go
   through them. */
enum { GAP_MAX = 64, INLINED_MAX = 32 };

/* ---- which windows ------------------------------------------------------------------------------- */

static bool is_of(const struct profile_executed_window *window,
                  const struct profile_limit_loop *loop)
{
    return loop->module && window->address == loop->address &&
           strcmp(window->module, loop->module) == 0;
}

static uint32_t busiest(const struct profile *profile, const struct profile_limit_loop *loop)
{
    const struct profile_executed_window *most = NULL;
    for (size_t i = 0; i < profile->executed_windows_count; i++) {
        const struct profile_executed_window *window = &profile->executed_windows[i];
        if (is_of(window, loop) && (!most || window->executions > most->executions))
            most = window;
    }
    return most ? most->process : 0;
}

static bool is_wanted(const struct profile *counted, const struct profile_executed_window *window,
                      const struct profile *profile)
{
    for (size_t l = 0; l < profile->limit_loops_count; l++)
        if (is_of(window, &profile->limit_loops[l]) &&
            window->process == busiest(counted, &profile->limit_loops[l]))
            return true;
    return false;
}

/* Rows of list `name` that belong to window `from` become those of `to`. */
#define TAKE_ROWS(name, item, from, to)                                                            \
    do {                                                                                           \
        size_t at = BASE_FIRST(i, counted->name##_count, counted->name[i].window >= (from));       \
        for (; at < counted->name##_count && counted->name[at].window == (from); at++) {           \
            struct profile_##item *row = profile_add_##name(profile);                              \
            if (!row)                                                                              \
                return false;                                                                      \
            *row = counted->name[at];                                                              \
            row->window = (to);                                                                    \
        }                                                                                          \
    } while (0)

static bool take_window(const struct profile *counted, uint32_t from, struct profile *profile)
{
    uint32_t to = (uint32_t)profile->executed_windows_count;
    struct profile_executed_window *taken = profile_add_executed_windows(profile);
    if (!taken)
        return false;
    *taken = counted->executed_windows[from];
    taken->module = profile_keep(profile, taken->module);
    if (!taken->module)
        return false;
    size_t codes = profile->executed_codes_count;
    TAKE_ROWS(executed_codes, executed_code, from, to);
    for (; codes < profile->executed_codes_count; codes++) {
        struct profile_executed_code *code = &profile->executed_codes[codes];
        bool known = code->module;
        code->module = profile_keep(profile, code->module);
        code->bytes = profile_keep(profile, code->bytes);
        if (!code->bytes || (known && !code->module))
            return false;
    }
    TAKE_ROWS(executed_runs, executed_run, from, to);
    TAKE_ROWS(executed_accesses, executed_access, from, to);
    return true;
}

bool assess_take_windows(const struct profile *counted, struct profile *profile)
{
    profile->executed_windows_count = profile->executed_codes_count = 0;
    profile->executed_runs_count = profile->executed_accesses_count = 0;
    for (uint32_t w = 0; w < counted->executed_windows_count; w++)
        if (is_wanted(counted, &counted->executed_windows[w], profile) &&
            !take_window(counted, w, profile))
            return false;
    return true;
}

/* ---- their instructions ------------------------------------------------------------------------------ */

struct place {
    const char *module;
    uint64_t address;
    const char *bytes;
};

static bool is_at(const void *items, uint32_t item, const void *key)
{
    const struct windows_code *code = &((const struct windows_code *)items)[item];
    const struct place *place = key;
    return code->instruction.address == place->address &&
           profile_same_text(code->module, place->module);
}

static uint64_t hash_of(const struct place *place)
{
    return base_hash_bytes(place->module, place->module ? strlen(place->module) : 0,
                           place->address);
}

static void find_line(struct profile *profile, struct binary *binary, struct windows_code *code)
{
    struct binary_frame frames[INLINED_MAX];
    if (!binary || !binary_frames(binary, code->instruction.address, frames, INLINED_MAX))
        return;
    code->file = profile_keep(profile, frames[0].file);
    code->line = code->file ? frames[0].line : 0;
}

static bool decode(const char *digits, uint64_t address, struct bounds_instruction *instruction)
{
    struct bounds_block block = {0};
    uint8_t *bytes = NULL;
    size_t count = 0, bad;
    bool good = bounds_hex(digits, strlen(digits), &bytes, &count, &bad) == BASE_OK && bytes &&
                bounds_decode(bytes, count, address, true, &block, &bad) == BASE_OK &&
                block.count == 1;
    if (good)
        *instruction = block.instructions[0];
    bounds_block_free(&block);
    free(bytes);
    return good;
}

struct making {
    struct profile *profile;
    const struct profile_limit_loop *loop;
    struct binary *binary;
    struct bodies_extent extent;
    struct windows *windows;
    uint32_t *numbers; /* by code of the window at hand: that of the loop */
    size_t numbers_capacity;
    /* of the window at hand */
    uint32_t *steps; /* codes, in order of execution; UTIL_NONE: cannot be decoded */
    size_t step_count, step_capacity;
};

static bool is_inside(const struct making *making, const struct place *place)
{
    if (!profile_same_text(place->module, making->loop->module))
        return false;
    for (size_t r = 0; r < making->extent.range_count; r++)
        if (place->address >= making->extent.ranges[r].start &&
            place->address < making->extent.ranges[r].end)
            return true;
    return place->address == making->loop->address;
}

/* *number: UTIL_NONE: its bytes are no instruction. False: no memory. */
static bool enter_code(struct making *making, const struct place *place, uint32_t *number)
{
    struct windows *windows = making->windows;
    struct windows_code code = {.module = place->module};
    uint64_t hash = hash_of(place);
    bool found;
    if (util_index_find(&windows->codes_by_place, hash, is_at, windows->codes, place, number))
        return true;
    if (!decode(place->bytes, place->address, &code.instruction)) {
        *number = UTIL_NONE;
        return true;
    }
    code.inside = is_inside(making, place);
    if (profile_same_text(place->module, making->loop->module))
        find_line(making->profile, making->binary, &code);
    if (!UTIL_GROW(windows->codes, windows->code_capacity, windows->code_count) ||
        !util_index_enter(&windows->codes_by_place, hash, is_at, windows->codes, place,
                          (uint32_t)windows->code_count, number, &found))
        return false;
    windows->codes[windows->code_count++] = code;
    return true;
}

/* False: no memory. */
static bool read_codes(struct making *making, uint32_t window, size_t *count)
{
    const struct profile *profile = making->profile;
    size_t at =
        BASE_FIRST(i, profile->executed_codes_count, profile->executed_codes[i].window >= window);
    for (*count = 0;
         at < profile->executed_codes_count && profile->executed_codes[at].window == window;
         at++, ++*count) {
        const struct profile_executed_code *code = &profile->executed_codes[at];
        struct place place = {code->module, code->address, code->bytes};
        if (!UTIL_GROW(making->numbers, making->numbers_capacity, *count) ||
            !enter_code(making, &place, &making->numbers[*count]))
            return false;
    }
    return true;
}

/* Beyond the codes that there are: ends there, the file is another's. */
static bool read_steps(struct making *making, uint32_t window, size_t codes)
{
    const struct profile *profile = making->profile;
    size_t at =
        BASE_FIRST(i, profile->executed_runs_count, profile->executed_runs[i].window >= window);
    making->step_count = 0;
    for (; at < profile->executed_runs_count && profile->executed_runs[at].window == window; at++) {
        const struct profile_executed_run *run = &profile->executed_runs[at];
        if (run->first > codes || run->count > codes - run->first)
            return true;
        for (uint32_t c = 0; c < run->count && making->step_count < 4 * EXECUTED_INSTRUCTIONS_MAX;
             c++)
            if (!UTIL_PUSH(making->steps, making->step_count, making->step_capacity,
                           making->numbers[run->first + c]))
                return false;
    }
    return true;
}

/* ---- whole iterations ------------------------------------------------------------------------------- */

struct part {
    size_t from, to;
    uint64_t heads;
};

enum { OUTSIDE, INSIDE, CALLED };

/* Where the step is; *calls: whether the loop has called something that has not returned. */
static unsigned whereabouts(const struct making *making, const struct windows_code *code,
                            bool *calls)
{
    if (code->inside) {
        *calls = code->instruction.calls;
        return INSIDE;
    }
    if (profile_same_text(code->module, making->loop->module) &&
        code->instruction.address >= making->extent.start &&
        code->instruction.address < making->extent.end)
        *calls = false;
    return *calls ? CALLED : OUTSIDE;
}

/* Visits of the loop with no long way between them; of several such parts that of most iterations. The last one ends with a whole
   iteration. */
static struct part longest_part(const struct making *making)
{
    struct part best = {0}, part = {0};
    size_t last_inside = 0, last_head = 0;
    bool calls = false, ends;
    for (size_t s = 0; s <= making->step_count; s++) {
        bool over = s == making->step_count || making->steps[s] == UTIL_NONE;
        const struct windows_code *code = over ? NULL : &making->windows->codes[making->steps[s]];
        bool away = !over && whereabouts(making, code, &calls) == OUTSIDE;
        bool head = !over && code->inside && code->instruction.address == making->loop->address;
        ends = part.heads && (over || (away && s - last_inside > GAP_MAX));
        if (ends && over) { /* in the midst of an iteration */
            part.to = last_head;
            part.heads--;
        }
        if (ends && part.heads > best.heads)
            best = part;
        if (ends)
            part.heads = 0;
        if (over && s < making->step_count)
            calls = false;
        if (over || away)
            continue;
        last_inside = s;
        if (head && !part.heads)
            part.from = s;
        part.heads += head;
        last_head = head ? s : last_head;
        part.to = s + 1;
    }
    return best;
}

/* ---- a window ------------------------------------------------------------------------------------------ */

static bool note_step(struct windows_window *window, uint32_t code, uint32_t iteration)
{
    size_t count = window->executed.block.count;
    if (!UTIL_GROW(window->codes, window->capacity, count) ||
        !UTIL_GROW(window->iterations, window->iteration_capacity, count))
        return false;
    window->codes[count - 1] = code;
    window->iterations[count - 1] = iteration;
    return true;
}

static bool add_accesses(const struct making *making, uint32_t window, uint32_t step, size_t *at,
                         struct executed *executed)
{
    const struct profile *profile = making->profile;
    const struct profile_executed_access *rows = profile->executed_accesses;
    while (*at < profile->executed_accesses_count && rows[*at].window == window &&
           rows[*at].step < step)
        ++*at;
    for (; *at < profile->executed_accesses_count && rows[*at].window == window &&
           rows[*at].step == step;
         ++*at)
        if (!executed_access(executed, &(struct executed_access){.address = rows[*at].address,
                                                                 .bytes = (uint16_t)rows[*at].bytes,
                                                                 .level = (uint8_t)rows[*at].level,
                                                                 .store = rows[*at].store}))
            return false;
    return true;
}

static enum base_status fill_window(const struct making *making, uint32_t number,
                                    const struct part *part, struct windows_window *window)
{
    const struct profile *profile = making->profile;
    bool calls = false;
    size_t access = BASE_FIRST(i, profile->executed_accesses_count,
                               profile->executed_accesses[i].window >= number);
    for (size_t s = part->from; s < part->to; s++) {
        struct windows_code *code = &making->windows->codes[making->steps[s]];
        size_t before = window->executed.block.count;
        enum base_status status = executed_add(&window->executed, &code->instruction);
        if (status == BASE_TOO_LARGE)
            break;
        if (status != BASE_OK)
            return status;
        bool fresh = window->executed.block.count > before;
        if (fresh && code->inside && code->instruction.address == making->loop->address)
            window->iteration_count++;
        window->inside += whereabouts(making, code, &calls) != OUTSIDE && fresh;
        code->times += fresh;
        if ((fresh && !note_step(window, making->steps[s], (uint32_t)window->iteration_count)) ||
            !add_accesses(making, number, (uint32_t)s, &access, &window->executed))
            return BASE_NO_MEMORY;
    }
    return BASE_OK;
}

static void free_window(struct windows_window *window)
{
    executed_free(&window->executed);
    free(window->codes);
    free(window->iterations);
}

static enum base_status add_window(struct making *making, uint32_t number)
{
    struct windows *windows = making->windows;
    struct windows_window window = {.row = &making->profile->executed_windows[number]};
    size_t codes;
    if (!read_codes(making, number, &codes) || !read_steps(making, number, codes))
        return BASE_NO_MEMORY;
    struct part part = longest_part(making);
    if (!part.heads)
        return BASE_OK;
    enum base_status status = fill_window(making, number, &part, &window);
    if (status == BASE_OK && !UTIL_PUSH(windows->items, windows->count, windows->capacity, window))
        status = BASE_NO_MEMORY;
    if (status != BASE_OK)
        free_window(&window);
    return status;
}

static int by_execution(const void *a, const void *b)
{
    const struct windows_window *first = a, *second = b;
    uint64_t left = first->row->execution, right = second->row->execution;
    return (left > right) - (left < right);
}

enum base_status windows_of(struct profile *profile, const struct profile_limit_loop *loop,
                            struct binary *binary, struct windows *windows)
{
    struct making making = {.profile = profile, .loop = loop, .binary = binary, .windows = windows};
    uint32_t process = busiest(profile, loop);
    enum base_status status =
        binary ? bodies_extent_of(binary, loop->address, &making.extent) : BASE_OK;
    *windows = (struct windows){0};
    if (status != BASE_NO_MEMORY) /* else the head alone is known to be the loop's */
        status = BASE_OK;
    for (uint32_t w = 0; w < profile->executed_windows_count && status == BASE_OK; w++)
        if (is_of(&profile->executed_windows[w], loop) &&
            profile->executed_windows[w].process == process)
            status = add_window(&making, w);
    if (windows->count)
        qsort(windows->items, windows->count, sizeof *windows->items, by_execution);
    free(making.extent.ranges);
    free(making.numbers);
    free(making.steps);
    if (status != BASE_OK)
        windows_free(windows);
    return status;
}

bool windows_find(const struct windows *windows, const char *module, uint64_t address,
                  uint32_t *code)
{
    struct place place = {.module = module, .address = address};
    return util_index_find(&windows->codes_by_place, hash_of(&place), is_at, windows->codes, &place,
                           code);
}

void windows_free(struct windows *windows)
{
    for (size_t i = 0; i < windows->count; i++)
        free_window(&windows->items[i]);
    free(windows->items);
    free(windows->codes);
    util_index_free(&windows->codes_by_place);
    *windows = (struct windows){0};
}
