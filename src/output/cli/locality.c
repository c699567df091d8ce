// SPDX-License-Identifier: MIT
/* `headroom locality`: a source and values of its parameters in, misses of its loop nests out. Nothing is run but LLVM's tools. */
#include "cli/common.h"
#include "cli/verbs.h"

#include "lower/lower.h"
#include "machine/machine.h"
#include "misses/misses.h"
#include "predict/predict.h"
#include "profile/profile.h"
#include "suggest/suggest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LOCALITY_FAILED = 1,
    NESTS_MAX = 256,
    PAGE = 4096,
    SWEEP_POINTS = 16,
    SWEEP_POINTS_MAX = 1000
};

struct locality_settings {
    const char *function, *loop, *sweep;
    struct option_list caches, bases;
    int exact, verify, suggest;
    uint64_t align, max_s, threads;
    double width;
};
_Static_assert(sizeof(struct locality_settings) <= SETTINGS_OWN_BYTES, "own settings");
_Static_assert(BASE_COUNT(((struct option_list *)NULL)->texts) < LOWER_BINDINGS,
               "all values given, and one that is swept");

static const struct locality_settings *own(const struct settings *settings)
{
    return (const void *)settings->own;
}

struct predicting {
    const struct settings *settings;
    struct lowered lowered;
    struct lower_binding bindings[LOWER_BINDINGS];
    char names[LOWER_BINDINGS][128];
    struct misses_level levels[MISSES_LEVELS];
    size_t levels_count;
    struct predicted_nest nests[NESTS_MAX];
    struct suggestions suggestions[NESTS_MAX]; /* of each nest */
    size_t nests_count;
    const char *path;
    char *const *compiler;
    char placed[256];
    char error[LOWER_ERROR_BYTES];
};

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

static bool find_levels(struct predicting *predicting)
{
    const struct option_list *list = &own(predicting->settings)->caches;
    struct machine_cache caches[16];
    for (size_t i = 0; i < list->count; i++) {
        if (i == MISSES_LEVELS || !read_level(list->texts[i], &predicting->levels[i])) {
            snprintf(predicting->error, sizeof predicting->error,
                     "--cache: '%.200s' is no SIZE[,WAYS[,LINE]] with whole sets, such as "
                     "32K,8,64; up to %d levels.",
                     list->texts[i], MISSES_LEVELS);
            return false;
        }
        predicting->levels_count++;
    }
    size_t count = list->count ? 0 : machine_caches("", caches, BASE_COUNT(caches));
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
    for (size_t i = 0; i < list->count; i++) {
        const char *equals = strchr(list->texts[i], '=');
        if (!equals || equals == list->texts[i] || !equals[1] ||
            (size_t)(equals - list->texts[i]) >= sizeof predicting->names[i]) {
            snprintf(predicting->error, sizeof predicting->error, "-D: '%.200s' is no NAME=VALUE.",
                     list->texts[i]);
            return false;
        }
        snprintf(predicting->names[i], sizeof predicting->names[i], "%.*s",
                 (int)(equals - list->texts[i]), list->texts[i]);
        predicting->bindings[i] = (struct lower_binding){predicting->names[i], equals + 1};
    }
    return true;
}

/* The file is an operand, or the source among the compiler's words. */
static bool find_source(struct predicting *predicting, const char *file)
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
                 ? "'%.1000s' is no C, C++ or Fortran source, and no LLVM IR (.ll, .bc)."
                 : "there is no source file in the command behind --.",
             predicting->path);
    return false;
}

static bool is_asked_for(const struct predicting *predicting, const struct polyhedra_about *about)
{
    const struct locality_settings *settings = own(predicting->settings);
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
    uint32_t begin = about->loop_line
                         ? about->loop_line
                         : ir_function_place(predicting->lowered.ir, about->symbol).line;
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
                     "--base: '%.200s' is no ARRAY=ADDRESS.", text);
            return false;
        }
        for (size_t j = 0; j < nest->arrays_count; j++)
            if (strncmp(nest->arrays[j].name, text, (size_t)(equals - text)) == 0 &&
                !nest->arrays[j].name[equals - text])
                nest->arrays[j].base = value;
    }
    return true;
}

static void say_where(struct predicting *predicting)
{
    const struct locality_settings *settings = own(predicting->settings);
    snprintf(predicting->placed, sizeof predicting->placed,
             "one behind the other in this order, each at a multiple of %llu bytes%s",
             (unsigned long long)settings->align,
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

/* Bases as the nest's were given; its own arrays are checked by then. */
static void place_again(void *context, struct nest *nest)
{
    place_arrays(context, nest);
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
                      "look at the loops around it in this list");
    snprintf(reason, sizeof reason, "the loop, in '%.200s', needs the value of '%.200s'",
             about->function, parameter);
    snprintf(help, sizeof help, "give it by -D %.200s=N", parameter);
    return reject(predicting, about, reason, help);
}

static bool reject_rest(struct predicting *predicting, const struct polyhedra_about *about)
{
    char reason[128];
    snprintf(reason, sizeof reason,
             "this nest and those after it are left out: %d are computed at a time", NESTS_MAX);
    return reject(predicting, about, reason, "choose a function by --function");
}

static bool add_nest(struct predicting *predicting, size_t index)
{
    struct polyhedra_about about;
    struct nest *nest = NULL;
    char why[POLYHEDRA_ERROR_BYTES];
    polyhedra_about(predicting->lowered.polyhedra, index, &about);
    const char *parameter = polyhedra_parameter(predicting->lowered.polyhedra, index);
    if (parameter)
        return reject_parameter(predicting, &about, parameter);
    if (polyhedra_nest(predicting->lowered.polyhedra, index, &nest, why) != BASE_OK)
        return reject(predicting, &about, why, NULL);
    struct predicted_nest *made = &predicting->nests[predicting->nests_count++];
    made->nest = nest;
    if (!place_arrays(predicting, nest))
        return false;
    struct misses_options options = solver_options(predicting);
    return explain_solver(predicting, nest, misses_solve(nest, &options, &made->result)) &&
           (!own(predicting->settings)->verify || verify(predicting, made)) &&
           (!own(predicting->settings)->suggest || find_suggestions(predicting, index, made));
}

static bool add_nests(struct predicting *predicting)
{
    size_t count = polyhedra_count(predicting->lowered.polyhedra);
    for (size_t i = 0; i < count; i++) {
        struct polyhedra_about about;
        polyhedra_about(predicting->lowered.polyhedra, i, &about);
        if (!is_asked_for(predicting, &about))
            continue;
        if (predicting->nests_count == NESTS_MAX)
            return reject_rest(predicting, &about);
        if (!add_nest(predicting, i))
            return false;
    }
    if (predicting->nests_count)
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

struct sweep;
static void add_sweep(struct predicted *predicted, const struct sweep *sweep);

static int print_report(const struct settings *settings, struct profile *profile)
{
    struct report_options options = {
        .color = use_color(settings->color, STDOUT_FILENO),
        .ascii = is_ascii_terminal(STDOUT_FILENO),
        .width = terminal_width(STDOUT_FILENO),
        .limit = settings->limit != UINT64_MAX ? (unsigned)settings->limit : 0,
        .profile_path = settings->output};
    struct pager pager;
    pager_begin(&pager, settings->format == FORMAT_TEXT);
    enum base_status status =
        (settings->format == FORMAT_JSON ? report_json : report_text)(profile, &options, pager.out);
    bool written = pager_end(&pager);
    if (status == BASE_OK && written)
        return 0;
    say("cannot write the report: %s.",
        status == BASE_NO_MEMORY ? base_status_text(status) : strerror(errno));
    return LOCALITY_FAILED;
}

/* sweep: NULL: none */
static int conclude(struct predicting *predicting, const struct sweep *sweep, int count,
                    char **operands)
{
    const struct settings *settings = predicting->settings;
    struct profile *profile = profile_new();
    struct predicted predicted = {
        .path = predicting->path,
        .placed = predicting->placed,
        .levels = predicting->levels,
        .levels_count = predicting->levels_count,
        .nests = predicting->nests,
        .nests_count = predicting->nests_count,
        .rejected = predicting->lowered.rejected,
        .rejected_count = predicting->lowered.rejected_count,
    };
    char error[PROFILE_ERROR_BYTES];
    int code = LOCALITY_FAILED;
    if (sweep)
        add_sweep(&predicted, sweep);
    if (!profile ||
        !profile_begin_static(profile, "locality", "accesses", HEADROOM_VERSION, operands,
                              (size_t)count) ||
        predict_record(&predicted, profile) != BASE_OK)
        say("%s.", base_status_text(BASE_NO_MEMORY));
    else if (settings->output &&
             profile_write(profile, settings->output, error, sizeof error) != BASE_OK)
        say("%s", error);
    else
        code = settings->quiet ? 0 : print_report(settings, profile);
    profile_free(profile);
    return code;
}

static void free_nests(struct predicting *predicting)
{
    for (size_t i = 0; i < predicting->nests_count; i++) {
        misses_free(&predicting->nests[i].result);
        misses_free(&predicting->nests[i].simulated);
        suggest_free(&predicting->suggestions[i]);
        nest_free((struct nest *)(uintptr_t)predicting->nests[i].nest);
    }
}

/* All nests, with one more value if there is one. On failure the error is set. */
static bool compute(struct predicting *predicting, const char *file, const char *swept,
                    const char *value)
{
    const struct settings *settings = predicting->settings;
    size_t count = settings->keys.count;
    say_where(predicting);
    if (!find_source(predicting, file) || !read_bindings(predicting) || !find_levels(predicting))
        return false;
    if (swept)
        predicting->bindings[count++] = (struct lower_binding){swept, value};
    struct lower_request request = {.path = predicting->path,
                                    .compiler = predicting->compiler,
                                    .bindings = predicting->bindings,
                                    .bindings_count = count,
                                    .seconds = (unsigned)own(settings)->max_s};
    return lower_run(&request, &predicting->lowered, predicting->error) && add_nests(predicting);
}

static struct predicting *begin(const struct settings *settings, char *const *compiler)
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

static void end(struct predicting *predicting)
{
    free_nests(predicting);
    lower_free(&predicting->lowered);
    free(predicting);
}

static int predict(const struct settings *settings, const char *file, char *const *compiler,
                   int count, char **operands)
{
    struct predicting *predicting = begin(settings, compiler);
    int code = LOCALITY_FAILED;
    if (!predicting)
        return code;
    if (compute(predicting, file, NULL, NULL))
        code = conclude(predicting, NULL, count, operands);
    else
        say("%s", predicting->error);
    end(predicting);
    return code;
}

/* ---- --sweep ---------------------------------------------------------------------------------------------------------- */

struct sweep {
    char name[128];
    int64_t low, high, step;
    struct predicted_point points[SWEEP_POINTS_MAX];
    size_t count;
};

static void add_sweep(struct predicted *predicted, const struct sweep *sweep)
{
    predicted->swept = sweep->name;
    predicted->points = sweep->points;
    predicted->points_count = sweep->count;
}

/* "n=100:4000" or "n=100:4000:100". Without a step, sixteen values at most. */
static bool read_sweep(const char *text, struct sweep *sweep)
{
    const char *equals = strchr(text, '=');
    char *at;
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof sweep->name)
        return false;
    snprintf(sweep->name, sizeof sweep->name, "%.*s", (int)(equals - text), text);
    sweep->low = strtoll(equals + 1, &at, 10);
    if (at == equals + 1 || *at != ':')
        return false;
    const char *second = at + 1;
    sweep->high = strtoll(second, &at, 10);
    if (at == second || sweep->high < sweep->low || sweep->high > INT64_C(1) << 40 ||
        sweep->low < -(INT64_C(1) << 40))
        return false;
    int64_t between = sweep->high - sweep->low;
    sweep->step = between < SWEEP_POINTS ? 1 : (between + SWEEP_POINTS - 2) / (SWEEP_POINTS - 1);
    if (*at == ':') {
        const char *third = at + 1;
        sweep->step = strtoll(third, &at, 10);
        if (at == third)
            return false;
    }
    return !*at && sweep->step > 0 && between / sweep->step < SWEEP_POINTS_MAX;
}

static bool sweep_value(const struct settings *settings, const char *file, char *const *compiler,
                        struct sweep *sweep, int64_t value)
{
    char text[32];
    struct predicting *predicting = begin(settings, compiler);
    if (!predicting)
        return false;
    snprintf(text, sizeof text, "%lld", (long long)value);
    bool good = compute(predicting, file, sweep->name, text);
    if (good) {
        struct predicted_point *point = &sweep->points[sweep->count++];
        point->value = value;
        predict_sum(predicting->nests, predicting->nests_count, predicting->levels_count, point);
    } else {
        say("with %s = %s: %s", sweep->name, text, predicting->error);
    }
    end(predicting);
    return good;
}

static int predict_sweep(const struct settings *settings, const char *file, char *const *compiler,
                         int count, char **operands)
{
    static struct sweep sweep;
    struct predicting *predicting;
    if (!read_sweep(own(settings)->sweep, &sweep))
        return say_usage("locality",
                         "--sweep takes NAME=LOW:HIGH[:STEP], of %d values at most, not '%s'",
                         SWEEP_POINTS_MAX, own(settings)->sweep);
    for (int64_t value = sweep.low; value <= sweep.high; value += sweep.step)
        if (!sweep_value(settings, file, compiler, &sweep, value))
            return LOCALITY_FAILED;
    if (!(predicting = begin(settings, compiler)))
        return LOCALITY_FAILED;
    say_where(predicting);
    int code = LOCALITY_FAILED;
    if (find_source(predicting, file) && find_levels(predicting))
        code = conclude(predicting, &sweep, count, operands);
    end(predicting);
    return code;
}

static int locality_run(const struct settings *settings, int count, char **operands)
{
    int files = 0;
    while (files < count && strcmp(operands[files], "--") != 0)
        files++;
    char **behind = files < count ? operands + files + 1 : NULL;
    if (files > 1)
        return say_usage("locality", "one file at a time, not '%s' as well", operands[1]);
    if (behind && files + 1 == count)
        return say_usage("locality", "no compiler was given behind --");
    if (!files && !behind)
        return say_usage("locality", "no file and no compiler was given");
    if (own(settings)->sweep && (own(settings)->suggest || own(settings)->verify))
        return say_usage("locality", "--sweep goes without --suggest and --verify");
    if (own(settings)->align & (own(settings)->align - 1))
        return say_usage("locality", "--align takes a power of two");
    return (own(settings)->sweep ? predict_sweep : predict)(settings, files ? operands[0] : NULL,
                                                            behind, count, operands);
}

/* ---- the command line ---------------------------------------------------------------------------------------------- */

static const struct locality_settings own_defaults = {.align = PAGE, .max_s = 60, .width = 0.0015};

static const struct option_spec locality_options[] = {
    {"define", 'D', OPTION_LIST, FIELD(keys), .argument = "NAME=VALUE",
     .help = "The value of a parameter of a function, of a global variable, or of a macro. May be "
             "repeated. A value that a loop needs and that is not given is listed by name."},
    {"function", 0, OPTION_TEXT, OWN(locality_settings, function), .argument = "NAME",
     .help = "Only the loop nests of that function. Default: all."},
    {"loop", 0, OPTION_TEXT, OWN(locality_settings, loop), .argument = "[FILE:]LINE",
     .help = "Only the loop nest around that line."},
    {"cache", 0, OPTION_LIST, OWN(locality_settings, caches), .argument = "SIZE[,WAYS[,LINE]]",
     .help = "A cache, such as 32K,8,64; 0 ways, the default, is fully associative, and lines have "
             "64 bytes. May be repeated: each level gets the misses of the one before. Default: "
             "this machine's caches."},
    {"base", 0, OPTION_LIST, OWN(locality_settings, bases), .argument = "ARRAY=ADDRESS",
     .help = "Where an array begins. May be repeated. Default: see --align."},
    {"align", 0, OPTION_NUMBER, OWN(locality_settings, align), .low = 1, .high = 1 << 30,
     .argument = "BYTES",
     .help = "Arrays lie one behind the other, in the order in which the nest has them, each at a "
             "multiple of BYTES. Default: 4096."},
    {"error", 0, OPTION_REAL, OWN(locality_settings, width), .low = 0.0001, .high = 0.2,
     .argument = "RATIO",
     .help = "Half of the width that the 95 % interval of a reference's miss ratio may have at the "
             "first level. Default: 0.0015."},
    {"exact", 0, OPTION_FLAG, OWN(locality_settings, exact), .value = 1,
     .help = "Simulate every access instead of drawing some. What has up to two million accesses "
             "is simulated anyway."},
    {"verify", 0, OPTION_FLAG, OWN(locality_settings, verify), .value = 1,
     .help = "Simulate every access as well, and show both."},
    {"suggest", 0, OPTION_FLAG, OWN(locality_settings, suggest), .value = 1,
     .help = "Look for changes that would miss less: other orders of the loops, tiles, padding "
             "behind rows and between arrays. Those that would break a dependence are left out; "
             "the others are computed as the nest itself."},
    {"sweep", 0, OPTION_TEXT, OWN(locality_settings, sweep), .argument = "NAME=LOW:HIGH[:STEP]",
     .help = "Compute all nests together for each of these values of a parameter, global variable "
             "or macro, such as the size of an array or a tile, and print a table. Without STEP, "
             "up to 16 values."},
    {"max-time", 0, OPTION_NUMBER, OWN(locality_settings, max_s), .low = 1, .high = 1e6,
     .argument = "SECONDS",
     .help = "Give up a step that takes longer: the compiler, LLVM's analysis, and each nest. "
             "Default: 60."},
    {"threads", 0, OPTION_NUMBER, OWN(locality_settings, threads), .low = 1, .high = 64,
     .argument = "N", .help = "Threads that compute. Default: one for each processor."},
    {"output", 'o', OPTION_FILE, FIELD(output), .argument = "FILE",
     .help = "Write the results to FILE as a profile, which 'headroom report', 'diff', 'check', "
             "'export' and 'view' read; an existing one is kept as FILE.old. Default: none."},
    {"seed", 0, OPTION_NUMBER, FIELD(seed), .low = 0, .high = 1e18, .argument = "N",
     .help = "Seed of the random choices. Default: 1."},
    OPTION_FORMAT,
    OPTION_LIMIT,
    OPTIONS_LAST,
};

const struct verb locality_verb = {
    .name = "locality",
    .summary = "compute the cache misses of loop nests without running them",
    .arguments = "[FILE.ll] [-- COMPILER [ARGUMENT...] FILE]",
    .description =
        "Computes how often each load and store of a loop nest misses each cache, from its source "
        "alone: for sizes that no test has, for caches that this machine does not have. "
        "Misses are cold (the first use of a line), capacity (a cache of the same size with any "
        "placement would miss as well) or conflict; the report names the references that take "
        "each other's lines.\n\n"
        "Behind -- stands the command by which the source is compiled, of which the source's "
        "meaning is taken (-I, -D, -std and the like). The compiler that reads it is LLVM 19's: "
        "clang-19 for C and C++, flang-19 for Fortran; opt-19 finds the loops. FILE.ll or FILE.bc "
        "is LLVM IR with debug information, from any compiler, such as rustc --emit=llvm-ir.\n\n"
        "Loop bounds and subscripts have to be sums of loop counters times constants. Loops that "
        "are not are listed with their line and what would help. Scalars count as registers; "
        "caches "
        "replace the least recently used line, stores allocate, nothing is prefetched, and "
        "each nest begins with empty caches.",
    .exit_status = "0 on success; 1 if the source cannot be compiled, LLVM 19 is not installed, a "
                   "value is missing, or no nest can be computed; 2 for wrong options.",
    .options = locality_options,
    .usage_code = 2,
    .operands = OPERANDS_CODE,
    .run = locality_run,
    .own_defaults = &own_defaults,
    .own_bytes = sizeof own_defaults,
};
