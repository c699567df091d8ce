// SPDX-License-Identifier: MIT
/* From a source and caches to solved nests. */
#include "cli/nests.h"
#include "cli/verbs.h"

#include "machine/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- caches -------------------------------------------------------------------------------------------------- */

static bool read_size(const char *text, const char **end, uint64_t *bytes)
{
    char *stop;
    unsigned long long value = strtoull(text, &stop, 10);
    if (stop == text || value > UINT64_C(1) << 40)
        return false;
    unsigned shift = *stop == 'K' || *stop == 'k'   ? 10
                     : *stop == 'M' || *stop == 'm' ? 20
                     : *stop == 'G' || *stop == 'g' ? 30
                                                    : 0;
    *bytes = (uint64_t)value << shift;
    *end = stop + (shift != 0);
    return true;
}

/* "32K,8,64": size, ways (0, the default, is fully associative), bytes of a line (64). */
static bool read_level(const char *text, struct misses_level *level)
{
    const char *at = text;
    uint64_t values[3] = {0, 0, 64};
    for (size_t i = 0; i < 3; i++) {
        if (!read_size(at, &at, &values[i]))
            return false;
        if (!*at)
            break;
        if (*at++ != ',' || i == 2)
            return false;
    }
    *level = (struct misses_level){values[0], (uint32_t)values[1], (uint32_t)values[2], ""};
    return misses_level_valid(level);
}

/* ---- levels --------------------------------------------------------------------------------------------------- */

bool nests_find_levels(struct predicting *predicting)
{
    const struct option_list *list = &own(predicting->settings)->caches;
    struct machine_cache caches[16];
    for (size_t i = 0; i < list->count; i++) {
        if (i == MISSES_LEVELS || !read_level(list->texts[i], &predicting->levels[i])) {
            snprintf(predicting->error, sizeof predicting->error,
                     "--cache: '%.200s' is not SIZE[,WAYS[,LINE]] with whole sets, such as "
                     "32K,8,64; up to %d levels.",
                     list->texts[i], MISSES_LEVELS);
            return false;
        }
        predicting->levels_count++;
    }
    if (!nests_read_recording(predicting))
        return false;
    size_t count = predicting->levels_count ? 0 : machine_caches("", caches, BASE_COUNT(caches));
    for (size_t i = 0; i < count && predicting->levels_count < 3; i++) {
        struct misses_level level = {caches[i].bytes, caches[i].ways,
                                     caches[i].line_bytes ? caches[i].line_bytes : 64, ""};
        if (misses_level_valid(&level))
            predicting->levels[predicting->levels_count++] = level;
    }
    for (size_t i = 0; i < predicting->levels_count; i++)
        snprintf(predicting->levels[i].name, sizeof predicting->levels[i].name, "L%zu", i + 1);
    if (!predicting->levels_count)
        snprintf(predicting->error, sizeof predicting->error,
                 "this machine's caches are not known: give them, by --cache 32K,8.");
    return predicting->levels_count > 0;
}

/* ---- what was named ------------------------------------------------------------------------------------------ */

static bool read_bindings(struct predicting *predicting)
{
    const struct option_list *list = &predicting->settings->keys;
    for (size_t i = 0; i < list->count; i++)
        if (!lower_read_binding(list->texts[i], predicting->names[i], &predicting->bindings[i])) {
            snprintf(predicting->error, sizeof predicting->error, "-D: '%.200s' is no NAME=VALUE.",
                     list->texts[i]);
            return false;
        }
    return true;
}

/* The file is an operand, or the source among the compiler's words. */
bool nests_find_source(struct predicting *predicting, const char *file)
{
    predicting->path = file;
    for (size_t i = 1;
         !file && predicting->compiler && predicting->compiler[0] && predicting->compiler[i]; i++) {
        if (!lower_is_source(predicting->compiler[i]))
            continue;
        if (predicting->path) {
            snprintf(predicting->error, sizeof predicting->error,
                     "one source file at a time, not '%.1000s' and '%.1000s'.", predicting->path,
                     predicting->compiler[i]);
            return false;
        }
        predicting->path = predicting->compiler[i];
    }
    if (predicting->path && lower_is_source(predicting->path))
        return true;
    snprintf(predicting->error, sizeof predicting->error,
             predicting->path
                 ? "'%.1000s' is neither a C, C++ or Fortran source nor LLVM IR (.ll, .bc)."
                 : "there is no source file in the command behind --.",
             predicting->path);
    return false;
}

bool nests_are_asked_for(const struct predicting *predicting, size_t index,
                         const struct polyhedra_about *about)
{
    const struct locality_settings *settings = own(predicting->settings);
    if (predicting->places_count)
        return nests_are_in_place(predicting, about->file, about->first_line, about->last_line);
    if (settings->function && strcmp(settings->function, about->function) != 0 &&
        strcmp(settings->function, about->symbol) != 0)
        return false;
    if (!settings->loop)
        return about->depth > 0;
    const char *colon = strrchr(settings->loop, ':');
    const char *number = colon ? colon + 1 : settings->loop;
    size_t bytes = colon ? (size_t)(colon - settings->loop) : 0;
    const char *file = about->file ? about->file : "";
    size_t length = strlen(file);
    if (bytes && (length < bytes || strncmp(file + length - bytes, settings->loop, bytes) != 0))
        return false;
    unsigned long line = strtoul(number, NULL, 10);
    uint32_t begin = polyhedra_loop_line(predicting->lowered.polyhedra, index);
    if (!begin)
        begin = ir_function_place(predicting->lowered.ir, about->symbol).line;
    return line >= begin && line <= about->last_line;
}

/* ---- a nest ---------------------------------------------------------------------------------------------------- */

/* --base A=0x1000 */
static bool place_arrays(struct predicting *predicting, struct nest *nest)
{
    const struct locality_settings *settings = own(predicting->settings);
    nest_place(nest, (int64_t)settings->align);
    for (size_t i = 0; i < settings->bases.count; i++) {
        const char *text = settings->bases.texts[i], *equals = strchr(text, '=');
        char *end = NULL;
        long long value = equals ? strtoll(equals + 1, &end, 0) : 0;
        if (!equals || *end || end == equals + 1 || value < 0) {
            snprintf(predicting->error, sizeof predicting->error,
                     "--base: '%.200s' is not ARRAY=ADDRESS.", text);
            return false;
        }
        for (size_t j = 0; j < nest->arrays_count; j++)
            if (strncmp(nest->arrays[j].name, text, (size_t)(equals - text)) == 0 &&
                !nest->arrays[j].name[equals - text])
                nest->arrays[j].base = value;
    }
    return true;
}

void nests_say_where(struct predicting *predicting)
{
    const struct locality_settings *settings = own(predicting->settings);
    snprintf(predicting->placed, sizeof predicting->placed,
             "%s%.300s%sone behind the other in this order, each at a multiple of %llu bytes%s",
             settings->from ? "where they were in " : "", settings->from ? settings->from : "",
             settings->from ? "; those not found there " : "", (unsigned long long)settings->align,
             settings->bases.count ? ", but for those given by --base" : "");
}

static struct misses_options solver_options(const struct predicting *predicting)
{
    const struct locality_settings *settings = own(predicting->settings);
    struct misses_options options = misses_defaults();
    options.levels = predicting->levels;
    options.levels_count = predicting->levels_count;
    options.exact = settings->exact;
    options.half_width = settings->width;
    options.threads =
        settings->threads ? (unsigned)settings->threads : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    options.deadline_ns = monotonic_ns() + settings->max_s * 1000000000U;
    options.seed = predicting->settings->seed ? predicting->settings->seed : 1;
    return options;
}

static bool explain_solver(struct predicting *predicting, const struct nest *nest,
                           enum base_status status)
{
    if (status == BASE_OK)
        return true;
    snprintf(predicting->error, sizeof predicting->error,
             status == BASE_TOO_LARGE
                 ? "%.200s: not every access was simulated within %llu seconds: leave out --exact, "
                   "or give it more, by --max-time."
             : status == BASE_UNSUPPORTED
                 ? "%.200s: its iterations are too many, or too few among those of a box, to be "
                   "counted or drawn within %llu seconds."
                 : "%.200s: memory is used up.",
             nest ? nest->function : predicting->path,
             (unsigned long long)own(predicting->settings)->max_s);
    return false;
}

static bool verify(struct predicting *predicting, struct predicted_nest *made)
{
    struct misses_options options = solver_options(predicting);
    options.exact = true;
    enum base_status status = misses_solve(made->nest, &options, &made->simulated);
    if (status == BASE_TOO_LARGE)
        made->late = "not every access was simulated in time (--max-time)";
    return status == BASE_TOO_LARGE || explain_solver(predicting, made->nest, status);
}

/* Bases as the nest's were given or recorded, but for arrays that are longer now; its own arrays are checked by then. */
static void place_again(void *context, struct nest *nest)
{
    struct predicting *predicting = context;
    const struct nest *from = predicting->nests[predicting->nests_count - 1].nest;
    bool alike = predicting->recorded && nest->arrays_count == from->arrays_count;
    place_arrays(predicting, nest);
    for (size_t i = 0; alike && i < nest->arrays_count; i++)
        alike = nest->arrays[i].bytes <= from->arrays[i].bytes;
    for (size_t i = 0; alike && i < nest->arrays_count; i++)
        nest->arrays[i].base = from->arrays[i].base;
}

static bool find_suggestions(struct predicting *predicting, size_t index,
                             struct predicted_nest *made)
{
    struct misses_options options = solver_options(predicting);
    struct suggestions *found = &predicting->suggestions[predicting->nests_count - 1];
    struct suggest_request request = {.polyhedra = predicting->lowered.polyhedra,
                                      .index = index,
                                      .nest = made->nest,
                                      .result = &made->result,
                                      .options = &options,
                                      .place = place_again,
                                      .context = predicting,
                                      .deadline_ns = options.deadline_ns};
    if (suggest(&request, found, predicting->error) != BASE_OK)
        return false;
    made->suggestions = found;
    return true;
}

/* Among what is not taken, in front. */
static bool reject(struct predicting *predicting, const struct polyhedra_about *about,
                   const char *reason, const char *help)
{
    struct lowered *lowered = &predicting->lowered;
    const char *texts[2] = {reason, help};
    for (size_t i = 0; i < 2; i++) {
        uint32_t number;
        if (!texts[i])
            continue;
        if (!util_strings_add(&lowered->strings, texts[i], strlen(texts[i]), &number))
            return explain_solver(predicting, NULL, BASE_NO_MEMORY);
        texts[i] = lowered->strings.texts[number];
    }
    struct lower_rejected rejected = {about->file ? about->file : "?", about->first_line, 0,
                                      texts[0], texts[1]};
    if (!UTIL_PUSH(lowered->rejected, lowered->rejected_count, lowered->rejected_capacity,
                   rejected))
        return explain_solver(predicting, NULL, BASE_NO_MEMORY);
    memmove(lowered->rejected + 1, lowered->rejected,
            (lowered->rejected_count - 1) * sizeof *lowered->rejected);
    lowered->rejected[0] = rejected;
    return true;
}

static bool reject_parameter(struct predicting *predicting, const struct polyhedra_about *about,
                             const char *parameter)
{
    char reason[1024], help[512];
    if (parameter[0] == '{' || parameter[0] == '(' || parameter[0] == '%')
        return reject(predicting, about,
                      "the loop depends on one around it, or on a value, that is not known",
                      "look at the loops around it in this list; those under a condition that "
                      "depends on data can be computed with the value that this depends on, by -D");
    const struct ir_described *array = lower_array(&predicting->lowered, parameter);
    snprintf(reason, sizeof reason, "the loop, in '%.200s', needs the %s of '%.200s'",
             about->function, array ? "bounds" : "value", parameter);
    int length =
        snprintf(help, sizeof help, "give %s by -D %.200s=N", array ? "them" : "it", parameter);
    for (uint32_t i = 1; array && i < array->rank; i++)
        length += snprintf(help + length, sizeof help - (size_t)length, ",N");
    if (array)
        snprintf(help + length, sizeof help - (size_t)length, ", or LOW:HIGH for N");
    return reject(predicting, about, reason, help);
}

static bool reject_rest(struct predicting *predicting, const struct polyhedra_about *about)
{
    char reason[128];
    snprintf(reason, sizeof reason,
             "this nest and those after it are left out: %d are computed at a time", NESTS_MAX);
    return reject(predicting, about, reason, "choose a function by --function");
}

/* The one added last, which is not solved yet. */
static void drop_nest(struct predicting *predicting)
{
    struct predicted_nest *made = &predicting->nests[--predicting->nests_count];
    predict_recording_free(&made->recording);
    nest_free((struct nest *)(uintptr_t)made->nest);
    *made = (struct predicted_nest){0};
    predicting->dropped++;
}

static bool add_nest(struct predicting *predicting, size_t index,
                     const struct polyhedra_about *about)
{
    struct nest *nest = NULL;
    char why[POLYHEDRA_ERROR_BYTES];
    const char *parameter = polyhedra_parameter(predicting->lowered.polyhedra, index);
    if (parameter)
        return reject_parameter(predicting, about, parameter);
    if (polyhedra_nest(predicting->lowered.polyhedra, index, &nest, why) != BASE_OK)
        return reject(predicting, about, why, NULL);
    struct predicted_nest *made = &predicting->nests[predicting->nests_count++];
    made->nest = nest;
    if (!place_arrays(predicting, nest) || !nests_take_recorded(predicting, made, nest))
        return false;
    struct misses_options options = solver_options(predicting);
    if (predicting->places_count && !nests_are_recorded(made)) {
        drop_nest(predicting);
        return true;
    }
    if (!explain_solver(predicting, nest, misses_solve(nest, &options, &made->result)))
        return false;
    if (made->recording.references)
        predict_executions(nest, &made->result, &made->recording);
    return (!own(predicting->settings)->verify || verify(predicting, made)) &&
           (!own(predicting->settings)->suggest || find_suggestions(predicting, index, made));
}

static bool add_nests(struct predicting *predicting)
{
    size_t count = polyhedra_count(predicting->lowered.polyhedra);
    for (size_t i = 0; i < count; i++) {
        struct polyhedra_about about;
        polyhedra_about(predicting->lowered.polyhedra, i, &about);
        if (!nests_are_asked_for(predicting, i, &about))
            continue;
        if (predicting->nests_count == NESTS_MAX)
            return reject_rest(predicting, &about);
        if (!add_nest(predicting, i, &about))
            return false;
    }
    if (predicting->nests_count || predicting->places_count)
        return true;
    const struct lowered *lowered = &predicting->lowered;
    const struct lower_rejected *first = lowered->rejected;
    if (lowered->rejected_count)
        snprintf(
            predicting->error, sizeof predicting->error,
            "'%.1000s' has no loop nest that can be computed here: %.1000s:%u: %.500s%s%.500s.",
            predicting->path, first->file, first->line, first->reason, first->help ? "; " : "",
            first->help ? first->help : "");
    else
        snprintf(predicting->error, sizeof predicting->error,
                 "'%.1000s' has no loop that accesses memory%s.", predicting->path,
                 own(predicting->settings)->function || own(predicting->settings)->loop
                     ? " where one was asked for"
                     : "");
    return false;
}

/* ---- all ------------------------------------------------------------------------------------------------------------ */

static void free_nests(struct predicting *predicting)
{
    for (size_t i = 0; i < predicting->nests_count; i++) {
        misses_free(&predicting->nests[i].result);
        misses_free(&predicting->nests[i].simulated);
        predict_recording_free(&predicting->nests[i].recording);
        suggest_free(&predicting->suggestions[i]);
        nest_free((struct nest *)(uintptr_t)predicting->nests[i].nest);
    }
}

/* Arrays that may have gaps between their elements, in Fortran, and are computed as if they had none. */
static void say_assumed(struct predicting *predicting)
{
    const struct ir_descriptions *arrays = &predicting->lowered.arrays;
    char names[512] = "";
    size_t count = 0, used = 0, placed = strlen(predicting->placed);
    for (size_t i = 0; i < arrays->count; i++) {
        if (!arrays->items[i].assumed || used + 140 > sizeof names)
            continue;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.128s", count++ ? ", " : "",
                                 arrays->items[i].name);
    }
    if (count)
        snprintf(predicting->placed + placed, sizeof predicting->placed - placed,
                 "; %s (assumed-shape or pointer) without gaps between elements", names);
}

/* All nests, with one more value if there is one. On failure the error is set. */
bool nests_compute(struct predicting *predicting, const char *file, const char *swept,
                   const char *value)
{
    const struct settings *settings = predicting->settings;
    size_t count = settings->keys.count;
    nests_say_where(predicting);
    if (!nests_find_source(predicting, file) || !read_bindings(predicting) ||
        !nests_find_levels(predicting))
        return false;
    if (swept)
        predicting->bindings[count++] = (struct lower_binding){swept, value};
    struct lower_request request = {.path = predicting->path,
                                    .compiler = predicting->compiler,
                                    .bindings = predicting->bindings,
                                    .bindings_count = count,
                                    .seconds = (unsigned)own(settings)->max_s,
                                    .quiet = predicting->places_count > 0};
    if (!lower_run(&request, &predicting->lowered, predicting->error) ||
        !nests_find_values(predicting, &request))
        return false;
    say_assumed(predicting);
    return add_nests(predicting);
}

struct predicting *nests_begin(const struct settings *settings, char *const *compiler)
{
    struct predicting *predicting = calloc(1, sizeof *predicting);
    if (!predicting) {
        say("%s.", base_status_text(BASE_NO_MEMORY));
        return NULL;
    }
    predicting->settings = settings;
    predicting->compiler = compiler;
    return predicting;
}

void nests_end(struct predicting *predicting)
{
    free_nests(predicting);
    lower_free(&predicting->lowered);
    if (!predicting->places_count)
        profile_free(predicting->recorded);
    free(predicting);
}
