// SPDX-License-Identifier: MIT
/* `headroom locality`: a source and values of its parameters in, misses of its loop nests out. Nothing is run but LLVM's tools. */
#include "cli/nests.h"
#include "cli/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOCALITY_FAILED = 1, SWEEP_POINTS = 16, SWEEP_POINTS_MAX = 1000 };

/* Said once, of a recording that has none of the references. */
static void look_for_recorded(const struct predicting *predicting)
{
    for (size_t i = 0; predicting->recorded && i < predicting->nests_count; i++)
        if (nests_are_recorded(&predicting->nests[i]))
            return;
    if (predicting->recorded)
        say("'%s' has none of these loads and stores: was the program compiled from this source, "
            "with -g, and run with these sizes?",
            own(predicting->settings)->from);
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

static int predict(const struct settings *settings, const char *file, char *const *compiler,
                   int count, char **operands)
{
    struct predicting *predicting = nests_begin(settings, compiler);
    int code = LOCALITY_FAILED;
    if (!predicting)
        return code;
    bool good = nests_compute(predicting, file, NULL, NULL);
    if (good)
        look_for_recorded(predicting);
    if (good)
        code = conclude(predicting, NULL, count, operands);
    else
        say("%s", predicting->error);
    nests_end(predicting);
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
    struct predicting *predicting = nests_begin(settings, compiler);
    if (!predicting)
        return false;
    snprintf(text, sizeof text, "%lld", (long long)value);
    bool good = nests_compute(predicting, file, sweep->name, text);
    if (good) {
        struct predicted_point *point = &sweep->points[sweep->count++];
        point->value = value;
        predict_sum(predicting->nests, predicting->nests_count, predicting->levels_count, point);
    } else {
        say("with %s = %s: %s", sweep->name, text, predicting->error);
    }
    nests_end(predicting);
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
    if (!(predicting = nests_begin(settings, compiler)))
        return LOCALITY_FAILED;
    nests_say_where(predicting);
    int code = LOCALITY_FAILED;
    if (nests_find_source(predicting, file) && nests_find_levels(predicting))
        code = conclude(predicting, &sweep, count, operands);
    nests_end(predicting);
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
    if (own(settings)->sweep &&
        (own(settings)->suggest || own(settings)->verify || own(settings)->from))
        return say_usage("locality", "--sweep goes without --suggest, --verify and --from");
    if (own(settings)->align & (own(settings)->align - 1))
        return say_usage("locality", "--align takes a power of two");
    return (own(settings)->sweep ? predict_sweep : predict)(settings, files ? operands[0] : NULL,
                                                            behind, count, operands);
}

/* ---- the command line ---------------------------------------------------------------------------------------------- */

static const struct locality_settings own_defaults = {
    .align = NESTS_ALIGN, .max_s = 60, .width = 0.0015};

static const struct option_spec locality_options[] = {
    {"define", 'D', OPTION_LIST, FIELD(keys), .argument = "NAME=VALUE",
     .help = "The value of a parameter of a function, of a global variable, or of a macro; or the "
             "bounds of a Fortran array that is allocatable, assumed-shape or a pointer, such as "
             "-D u=100,0:50. May be repeated. A value that a loop needs and that is not given is "
             "listed by name."},
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
    {"from", 0, OPTION_FILE, OWN(locality_settings, from), .argument = "PROFILE",
     .help = "A recording of the compiled program by 'headroom reuse --exact --what-if-cache "
             "SIZE,WAYS': "
             "arrays lie where they were in it, as far as they are found there by lines and by the "
             "memory "
             "that loads and stores touched; variables that no -D gives have values that fit that "
             "memory; the first cache is that one; and the misses of each "
             "reference "
             "stand beside those that are computed."},
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
