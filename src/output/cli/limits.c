// SPDX-License-Identifier: MIT
/*
 * `headroom limits`: loops of files, of sources with a compiler, of a profile or a run in; their bounds out. What runs nothing
 * prints to standard output, and writes a profile only if asked to.
 */
#include "cli/blocks.h"
#include "cli/common.h"
#include "cli/memory.h"
#include "cli/recording.h"
#include "cli/sequel.h"

#include "analysis/analysis.h"
#include "assess/assess.h"
#include "assess/source.h"
#include "model/model.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMITS_FAILED = 1, LOOPS_OF_RUN = 5, LEVELS_MAX = 16, WORD_BYTES = 4096, SOURCE_S = 60 };

struct limits_settings {
    const char *machine, *latency, *memory, *only, *levels, *graph, *schedule, *profile, *hex,
        *hex_file, *source_graph, *vertices;
    int loop, measure, ceiling;
    uint64_t max_s;
};

static const struct limits_settings *own(const struct settings *settings)
{
    return (const void *)settings->own;
}

/* What is named. */
struct named {
    char path[WORD_BYTES];
    char function[WORD_BYTES], file[WORD_BYTES]; /* "": none */
    struct assess_target target;
};

struct assessing {
    const struct settings *settings;
    struct assess_options options;
    struct bounds_latencies latencies;
    struct model *model;
    struct profile *profile;
    struct util_text graph, source_graph, schedule;
    struct assess_source *source; /* NULL: the loops have none */
    struct memory_choice memory;
    struct named only;
    struct run_settings further; /* --measure, --schedule */
    struct sequel sequel;
    char error[ASSESS_ERROR_BYTES];
};

/* ---- the model ------------------------------------------------------------------------------------- */

static bool open_model(struct assessing *assessing)
{
    struct util_text why = {0};
    enum base_status status = machine_open(own(assessing->settings)->machine,
                                           assessing->settings->quiet, &assessing->model, &why);
    if (status != BASE_OK)
        snprintf(assessing->error, sizeof assessing->error, "%s",
                 why.bytes ? why.bytes : base_status_text(status));
    util_text_free(&why);
    assessing->options.model = assessing->model;
    return status == BASE_OK;
}

static bool list_machines(void)
{
    const struct model_entry *entries;
    size_t count = model_list(&entries);
    printf("%-18s %s\n", "here", "this machine, as measured by 'headroom calibrate'");
    for (size_t i = 0; i < count; i++)
        printf("%-18s %s\n", entries[i].name, entries[i].title);
    return fflush(stdout) == 0 && !ferror(stdout);
}

/* ---- what is named ------------------------------------------------------------------------------------ */

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == 0 && strlen(text) < 10;
}

/* "FUNCTION", "LINE" or "FILE:LINE". */
static void read_place(const char *place, struct named *named)
{
    const char *colon = strrchr(place, ':');
    if (is_number(place)) {
        named->target.line = (uint32_t)strtoul(place, NULL, 10);
    } else if (colon && colon > place && is_number(colon + 1)) {
        snprintf(named->file, sizeof named->file, "%.*s", (int)(colon - place), place);
        named->target.file = named->file;
        named->target.line = (uint32_t)strtoul(colon + 1, NULL, 10);
    } else {
        snprintf(named->function, sizeof named->function, "%s", place);
        named->target.function = named->function;
    }
}

/* The longest beginning, up to a colon, that is a file; the rest says which of its loops. */
static bool read_named(const char *word, struct named *named, char *error)
{
    size_t bytes = strlen(word);
    *named = (struct named){0};
    while (bytes && bytes < WORD_BYTES) {
        snprintf(named->path, sizeof named->path, "%.*s", (int)bytes, word);
        if (access(named->path, F_OK) == 0) {
            if (word[bytes])
                read_place(word + bytes + 1, named);
            return true;
        }
        while (bytes && word[--bytes] != ':')
            ;
    }
    snprintf(error, ASSESS_ERROR_BYTES, "cannot read '%.4000s': %s.", word, strerror(ENOENT));
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text), count = strlen(end);
    return bytes > count && strcmp(text + bytes - count, end) == 0;
}

static bool is_assembly(const char *path)
{
    return ends_with(path, ".s") || ends_with(path, ".S");
}

/* ---- bounds ---------------------------------------------------------------------------------------------- */

static bool add_graph(struct assessing *assessing, const struct bodies_loop *loop)
{
    const char *path = own(assessing->settings)->graph;
    bool drawn = assessing->options.drawn;
    return !path || (drawn && assessing->graph.count) ||
           assess_graph(loop, &assessing->options, drawn, &assessing->graph) == BASE_OK;
}

static bool add_schedule(struct assessing *assessing, const struct bodies_loop *loop)
{
    return !own(assessing->settings)->schedule ||
           assess_schedule(loop, &assessing->options, &assessing->schedule) == BASE_OK;
}

static bool add_loops(struct assessing *assessing, const struct bodies *bodies, const char *module,
                      const char *level)
{
    for (size_t i = 0; i < bodies->count; i++) {
        uint32_t id = (uint32_t)assessing->profile->limit_loops_count;
        if (assess_add(assessing->profile, &bodies->loops[i], &assessing->options, module, level,
                       -1) != BASE_OK ||
            (assessing->source &&
             assess_source_match(assessing->profile, assessing->source, &bodies->loops[i], id,
                                 &assessing->options) != BASE_OK) ||
            !add_graph(assessing, &bodies->loops[i]) ||
            !add_schedule(assessing, &bodies->loops[i])) {
            snprintf(assessing->error, sizeof assessing->error, "%s.",
                     base_status_text(BASE_NO_MEMORY));
            return false;
        }
    }
    return true;
}

/* path: what can be opened; named: what the user calls it. */
static bool add_file(struct assessing *assessing, const char *path, const struct named *named,
                     const char *level)
{
    struct binary *binary = NULL;
    struct bodies bodies = {0};
    struct binary_options symbols = symbol_options(assessing->settings);
    bool good =
        assess_open(path, &symbols, &binary, assessing->error) == BASE_OK &&
        assess_find(binary, named->path, &named->target, &bodies, assessing->error) == BASE_OK &&
        add_loops(assessing, &bodies, named->path, level);
    bodies_free(&bodies);
    if (binary)
        binary_close(binary);
    return good;
}

/* The same of a file that had to be made, if it could be. */
static bool add_made(struct assessing *assessing, bool good, struct assess_made *made,
                     const struct named *named, const char *level)
{
    good = good && add_file(assessing, made->path, named, level);
    assess_drop(made);
    return good;
}

static bool add_assembly(struct assessing *assessing, const struct named *named)
{
    struct assess_made made;
    bool good = assess_assemble(named->path, &made, assessing->error);
    return add_made(assessing, good, &made, named, NULL);
}

static bool add_unlinked(struct assessing *assessing, const struct named *named)
{
    struct assess_made made;
    bool good = assess_link(named->path, &made, assessing->error);
    return add_made(assessing, good, &made, named, NULL);
}

/* ---- the source ------------------------------------------------------------------------------------------ */

static bool read_vertices(struct assessing *assessing, enum dependence_vertices *vertices)
{
    const char *word = own(assessing->settings)->vertices;
    *vertices = DEPENDENCE_OPERATIONS;
    if (!word || strcmp(word, "operations") == 0)
        return true;
    *vertices = DEPENDENCE_STATEMENTS;
    if (strcmp(word, "statements") == 0)
        return true;
    snprintf(assessing->error, sizeof assessing->error,
             "--vertices takes operations or statements, not '%.1000s'.", word);
    return false;
}

static bool read_bindings(struct assessing *assessing, struct lower_binding *bindings,
                          char (*names)[128])
{
    const struct option_list *list = &assessing->settings->keys;
    for (size_t i = 0; i < list->count; i++) {
        const char *equals = strchr(list->texts[i], '=');
        size_t bytes = equals ? (size_t)(equals - list->texts[i]) : 0;
        if (!bytes || !equals[1] || bytes >= sizeof names[i]) {
            snprintf(assessing->error, sizeof assessing->error, "-D: '%.200s' is no NAME=VALUE.",
                     list->texts[i]);
            return false;
        }
        snprintf(names[i], sizeof names[i], "%.*s", (int)bytes, list->texts[i]);
        bindings[i] = (struct lower_binding){names[i], equals + 1};
    }
    return true;
}

/* Dependences of the loop at a line, by what is written there. */
static bool open_source(struct assessing *assessing, const struct named *named,
                        char *const *compiler)
{
    struct lower_binding bindings[LOWER_BINDINGS];
    char names[LOWER_BINDINGS][128];
    enum dependence_vertices vertices;
    const char *path = own(assessing->settings)->source_graph;
    if (!read_vertices(assessing, &vertices) || !read_bindings(assessing, bindings, names))
        return false;
    if (!named->target.line || !lower_is_source(named->path))
        return true;
    struct lower_request request = {.path = named->path,
                                    .compiler = compiler,
                                    .bindings = bindings,
                                    .bindings_count = assessing->settings->keys.count,
                                    .seconds = SOURCE_S};
    assessing->source =
        assess_source_open(assessing->profile, &request, named->target.line, &assessing->options);
    if (assessing->source &&
        (!path || assess_source_graph(assessing->source, vertices,
                                      ends_with(path, ".dot") || ends_with(path, ".svg"),
                                      &assessing->source_graph)))
        return true;
    snprintf(assessing->error, sizeof assessing->error, "%s.", base_status_text(BASE_NO_MEMORY));
    return false;
}

static bool add_source(struct assessing *assessing, const struct named *named,
                       char *const *compiler, const char *level)
{
    struct assess_made made;
    bool good = assess_compile(named->path, compiler, level, &made, assessing->error);
    return add_made(assessing, good, &made, named, level);
}

/* "O0,O1": each in turn. */
static bool add_levels(struct assessing *assessing, const struct named *named,
                       char *const *compiler)
{
    const char *levels = own(assessing->settings)->levels;
    if (!open_source(assessing, named, compiler))
        return false;
    if (!levels)
        return add_source(assessing, named, compiler, NULL);
    for (unsigned count = 0; *levels; count++) {
        char level[32];
        if (count == LEVELS_MAX) {
            snprintf(assessing->error, sizeof assessing->error,
                     "--levels has more than %d levels: ask for the others by themselves.",
                     LEVELS_MAX);
            return false;
        }
        size_t bytes = strcspn(levels, ",");
        const char *begin = *levels == '-' ? levels + 1 : levels;
        snprintf(level, sizeof level, "%.*s", (int)(bytes - (size_t)(begin - levels)), begin);
        if (!add_source(assessing, named, compiler, level))
            return false;
        levels += bytes + (levels[bytes] == ',');
    }
    return true;
}

/* What loops of a run executed. */
static bool add_executed(struct assessing *assessing)
{
    struct binary_options symbols = symbol_options(assessing->settings);
    bool wanted = own(assessing->settings)->schedule;
    if (!assessing->profile->executed_windows_count) {
        snprintf(assessing->error, sizeof assessing->error,
                 "nothing is known of what the loops executed, and there is no schedule of it: "
                 "'headroom limits --schedule FILE -- COMMAND' asks the exact engine.");
        return !wanted;
    }
    enum base_status status =
        assess_executed(assessing->profile, &symbols, &assessing->options,
                        &assessing->memory.memory, wanted ? &assessing->schedule : NULL);
    if (status != BASE_OK)
        snprintf(assessing->error, sizeof assessing->error, "cannot schedule the loops: %s.",
                 base_status_text(status));
    return status == BASE_OK;
}

/* ---- what is made of them ------------------------------------------------------------------------------------ */

struct showing {
    struct assessing *assessing;
    const struct report_options *options;
};

static enum base_status write_report(void *context, FILE *out)
{
    const struct showing *showing = context;
    bool json = showing->assessing->settings->format == FORMAT_JSON;
    return (json ? report_json : report_text)(showing->assessing->profile, showing->options, out);
}

static int print_report(struct assessing *assessing, const char *profile_path)
{
    const struct settings *settings = assessing->settings;
    struct report_options options = {
        .color = use_color(settings->color, STDOUT_FILENO),
        .ascii = is_ascii_terminal(STDOUT_FILENO),
        .width = terminal_width(STDOUT_FILENO),
        .limit = settings->limit != UINT64_MAX     ? (unsigned)settings->limit
                 : settings->format == FORMAT_JSON ? 0
                                                   : PAIRS_IN_TEXT,
        .profile_path = profile_path,
    };
    struct showing showing = {assessing, &options};
    struct pager pager;
    pager_begin(&pager, settings->format == FORMAT_TEXT);
    enum base_status status = write_report(&showing, pager.out);
    bool written = pager_end(&pager);
    if (status == BASE_OK && written)
        return 0;
    say("cannot write the report: %s.",
        status == BASE_OK || status == BASE_IO ? strerror(errno) : base_status_text(status));
    return LIMITS_FAILED;
}

/* False; errno says why. */
static bool cannot_write(struct assessing *assessing, const char *path)
{
    snprintf(assessing->error, sizeof assessing->error, "cannot write '%.4000s': %s.", path,
             strerror(errno));
    return false;
}

/* path: NULL: not asked for. */
static bool write_text(struct assessing *assessing, const char *path, const struct util_text *text,
                       bool drawn)
{
    struct replacement file;
    if (!path)
        return true;
    if (!replace_begin(&file, path))
        return cannot_write(assessing, path);
    bool good = drawn ? assess_svg(text, file.out, assessing->error)
                      : fwrite(text->bytes, 1, text->count, file.out) == text->count;
    bool whole = replace_end(&file, good);
    if (!whole && (good || !drawn))
        return cannot_write(assessing, path);
    return good && whole;
}

static bool write_graph(struct assessing *assessing)
{
    const char *path = own(assessing->settings)->graph;
    return write_text(assessing, path, &assessing->graph, path && ends_with(path, ".svg"));
}

static bool write_source_graph(struct assessing *assessing)
{
    const char *path = own(assessing->settings)->source_graph;
    size_t rows = assessing->profile->limit_sources_count;
    if (path && !assessing->source_graph.count) {
        const char *reason = rows ? assessing->profile->limit_sources[0].reason : NULL;
        snprintf(assessing->error, sizeof assessing->error,
                 "there are no dependences of a source to write: %.4000s",
                 reason ? reason : "name a line of one, and its compiler behind --.");
        return false;
    }
    return write_text(assessing, path, &assessing->source_graph, path && ends_with(path, ".svg"));
}

static bool write_schedule(struct assessing *assessing)
{
    return write_text(assessing, own(assessing->settings)->schedule, &assessing->schedule, false);
}

static bool write_texts(struct assessing *assessing)
{
    return write_graph(assessing) && write_source_graph(assessing) && write_schedule(assessing);
}

static int conclude(struct assessing *assessing)
{
    const struct settings *settings = assessing->settings;
    if (!write_texts(assessing) ||
        (settings->output && profile_write(assessing->profile, settings->output, assessing->error,
                                           sizeof assessing->error) != BASE_OK)) {
        say("%s", assessing->error);
        return LIMITS_FAILED;
    }
    return settings->quiet ? 0 : print_report(assessing, settings->output);
}

/* ---- by what was asked for --------------------------------------------------------------------------------------- */

static bool begin(struct assessing *assessing, const struct settings *settings)
{
    char why[256];
    *assessing = (struct assessing){.settings = settings};
    if (own(settings)->latency) {
        if (!bounds_latencies_read(own(settings)->latency, &assessing->latencies, why,
                                   sizeof why)) {
            snprintf(assessing->error, sizeof assessing->error, "--latency: %s.", why);
            return false;
        }
        assessing->options.latencies = &assessing->latencies;
    }
    if (own(settings)->graph) {
        assessing->options.graph = &assessing->graph;
        assessing->options.drawn =
            ends_with(own(settings)->graph, ".dot") || ends_with(own(settings)->graph, ".svg");
    }
    if (own(settings)->only) {
        read_place(own(settings)->only, &assessing->only);
        assessing->options.only = &assessing->only.target;
    }
    return open_model(assessing);
}

static void end(struct assessing *assessing)
{
    model_close(assessing->model);
    profile_free(assessing->profile);
    assess_source_close(assessing->source);
    util_text_free(&assessing->graph);
    util_text_free(&assessing->source_graph);
    util_text_free(&assessing->schedule);
}

/* Models of memory: what is executed is scheduled with each. */
static bool begin_memory(struct assessing *assessing)
{
    char why[256];
    const struct limits_settings *settings = own(assessing->settings);
    assessing->memory = (struct memory_choice){.models = settings->memory,
                                               .here = strcmp(settings->machine, "here") == 0,
                                               .by_hand = assessing->options.latencies};
    if (memory_choose(&assessing->memory, why, sizeof why))
        return true;
    snprintf(assessing->error, sizeof assessing->error, "--memory: %s.", why);
    return false;
}

static bool begin_profile(struct assessing *assessing, int count, char **operands)
{
    assessing->profile = profile_new();
    if (assessing->profile && profile_begin_static(assessing->profile, "limits", "cycles",
                                                   HEADROOM_VERSION, operands, (size_t)count))
        return true;
    snprintf(assessing->error, sizeof assessing->error, "%s.", base_status_text(BASE_NO_MEMORY));
    return false;
}

/* Options that are of sources alone. */
static bool names_source(const struct settings *settings)
{
    return own(settings)->source_graph || own(settings)->vertices || settings->keys.count;
}

/* compiler: NULL: none was given. */
static int limits_of_file(const struct settings *settings, int count, char **operands,
                          char *const *compiler)
{
    struct assessing assessing;
    struct named named;
    int code = LIMITS_FAILED;
    bool good = begin(&assessing, settings) && begin_profile(&assessing, count, operands) &&
                read_named(operands[0], &named, assessing.error);
    if (good && !compiler && (own(settings)->levels || names_source(settings))) {
        end(&assessing);
        return say_usage("limits", "%s needs a source file, and a compiler behind --",
                         own(settings)->levels ? "--levels" : "what is asked of a source");
    }
    if (good)
        good = compiler                         ? add_levels(&assessing, &named, compiler)
               : is_assembly(named.path)        ? add_assembly(&assessing, &named)
               : assess_is_unlinked(named.path) ? add_unlinked(&assessing, &named)
                                                : add_file(&assessing, named.path, &named, NULL);
    if (good)
        code = conclude(&assessing);
    else
        say("%s", assessing.error);
    end(&assessing);
    return code;
}

static size_t loops_asked_for(const struct settings *settings)
{
    return settings->limit == UINT64_MAX ? LOOPS_OF_RUN
           : settings->limit             ? (size_t)settings->limit
                                         : SIZE_MAX;
}

/* False: why is said in the error. */
static bool assess_run(struct assessing *assessing)
{
    struct binary_options symbols = symbol_options(assessing->settings);
    enum base_status status = assess_profile(assessing->profile, &symbols, &assessing->options,
                                             loops_asked_for(assessing->settings));
    if (status != BASE_OK)
        snprintf(assessing->error, sizeof assessing->error, "cannot find the loops of the run: %s.",
                 base_status_text(status));
    else if (!assessing->profile->limit_runs_count)
        snprintf(assessing->error, sizeof assessing->error,
                 own(assessing->settings)->only
                     ? "no sample of CPU time was taken in a loop of '%s'."
                     : "no sample of CPU time was taken in a loop.",
                 own(assessing->settings)->only);
    return status == BASE_OK && assessing->profile->limit_runs_count;
}

/* The report is of the loops alone, whatever the profile holds. */
static int limits_of_profile(const struct settings *settings)
{
    struct assessing assessing;
    int code = LIMITS_FAILED;
    bool good = begin(&assessing, settings) && begin_memory(&assessing) &&
                profile_read(own(settings)->profile, &assessing.profile, assessing.error,
                             sizeof assessing.error) == BASE_OK;
    good = good && assess_run(&assessing) && add_executed(&assessing);
    if (good) {
        assessing.profile->run.verb = "limits";
        code = conclude(&assessing);
    } else {
        say("%s", assessing.error);
    }
    end(&assessing);
    return code;
}

/* ---- a run ------------------------------------------------------------------------------------------------------------ */

static void prepare(struct recording *recording)
{
    struct assessing *assessing = recording->sequel_state;
    sequel_prepare(&assessing->sequel, recording);
}

static bool bound_run(struct recording *recording, struct assessing *assessing, bool goes_on)
{
    if (profile_read(recording->written, &assessing->profile, assessing->error,
                     sizeof assessing->error) != BASE_OK ||
        !assess_run(assessing))
        return false;
    if (goes_on)
        sequel_clock(&assessing->sequel, assessing->profile);
    return sequel_replace(recording, assessing->profile, assessing->error);
}

/* Is there a run under the exact engine? */
static bool counts(const struct settings *settings)
{
    return own(settings)->measure || own(settings)->schedule;
}

/* Schedules of what that run has seen executed. */
static bool schedule_run(struct recording *recording, struct assessing *assessing)
{
    profile_free(assessing->profile);
    assessing->profile = NULL;
    return profile_read(recording->written, &assessing->profile, assessing->error,
                        sizeof assessing->error) == BASE_OK &&
           add_executed(assessing) &&
           sequel_replace(recording, assessing->profile, assessing->error) &&
           write_schedule(assessing);
}

/* Bounds, and by another run how often the loops were executed. */
static void attach(struct recording *recording)
{
    struct assessing *assessing = recording->sequel_state;
    bool goes_on = assessing->further.deep && sequel_goes_on(&assessing->sequel, recording);
    if (!bound_run(recording, assessing, goes_on) || !write_graph(assessing)) {
        say("%s", assessing->error);
        return;
    }
    if (!goes_on)
        return;
    recording_note_signals();
    if (own(assessing->settings)->ceiling)
        deep_ceiling(recording, &assessing->sequel, assessing->model);
    if (counts(assessing->settings) && !recording_signalled())
        deep_iterations(recording, &assessing->sequel);
    if (assessing->memory.memory.models >> EXECUTED_EXPECTED & 1 && !recording_signalled())
        deep_distances(recording, &assessing->sequel);
    launch_signals_release();
    if (counts(assessing->settings) && !schedule_run(recording, assessing))
        say("%s", assessing->error);
}

static const struct recording_sequel limits_sequel = {.prepare = prepare, .run = attach};

static bool runs_again(const struct settings *settings)
{
    return counts(settings) || own(settings)->ceiling;
}

/* Asked before the runs: they may take long. */
static bool can_write(struct assessing *assessing, const char *path)
{
    struct replacement file;
    if (!path)
        return true;
    if (!replace_begin(&file, path))
        return cannot_write(assessing, path);
    replace_end(&file, false);
    return true;
}

static int limits_of_run(const struct settings *settings, int count, char **command)
{
    struct assessing assessing;
    int code = check_engine(settings, "limits", count);
    if (code)
        return code;
    if (!begin(&assessing, settings) || (counts(settings) && !begin_memory(&assessing)) ||
        !can_write(&assessing, own(settings)->graph) ||
        !can_write(&assessing, own(settings)->schedule)) {
        say("%s", assessing.error);
        end(&assessing);
        return 125;
    }
    assessing.further =
        (struct run_settings){.deep = runs_again(settings), .max_s = own(settings)->max_s};
    assessing.sequel.settings = &assessing.further;
    assessing.sequel.levels = assessing.memory.levels;
    assessing.sequel.levels_count = assessing.memory.levels_count;
    code = live_run(settings, "limits", WIRE_LOAD, command, &limits_sequel, &assessing);
    end(&assessing);
    return code;
}

/* ---- basic blocks ------------------------------------------------------------------------------------------------- */

static int limits_of_blocks(const struct settings *settings, int count, char **operands)
{
    struct assessing assessing;
    int code = LIMITS_FAILED;
    if (count)
        return say_usage("limits",
                         "--hex and --hex-file stand for a file or command, and '%s' is another",
                         operands[0]);
    if (own(settings)->hex && own(settings)->hex_file)
        return say_usage("limits", "--hex and --hex-file exclude each other");
    if (own(settings)->levels || own(settings)->graph || own(settings)->schedule ||
        own(settings)->profile || own(settings)->measure || own(settings)->ceiling ||
        own(settings)->memory || own(settings)->only || own(settings)->max_s ||
        names_source(settings) || settings->output)
        return say_usage(
            "limits",
            "--hex and --hex-file go with --machine, --latency, --loop and --format alone");
    if (begin(&assessing, settings)) {
        code = blocks_answer(&(struct blocks_request){.text = own(settings)->hex,
                                                      .file = own(settings)->hex_file,
                                                      .model = assessing.model,
                                                      .latencies = assessing.options.latencies,
                                                      .loop = own(settings)->loop,
                                                      .json = settings->format == FORMAT_JSON},
                             stdout);
        if (fflush(stdout) != 0 || ferror(stdout)) {
            say("cannot write the report: %s.", strerror(errno));
            code = LIMITS_FAILED;
        }
    } else {
        say("%s", assessing.error);
    }
    end(&assessing);
    return code;
}

/* Options that do not go together. 0: they do. */
static int check_options(const struct settings *settings, int files)
{
    const struct limits_settings *limits = own(settings);
    if (limits->loop)
        return say_usage("limits", "--loop is for --hex and --hex-file");
    if (limits->max_s && !runs_again(settings))
        return say_usage("limits", "--max-time needs --measure, --schedule or --ceiling");
    if (limits->memory && (files || !(counts(settings) || limits->profile)))
        return say_usage("limits", "--memory is for what a command executed: --schedule or "
                                   "--measure with one behind --, or --profile");
    if (limits->only && files)
        return say_usage("limits", "--only is for the loops of a run; FILE:%s names those of FILE",
                         limits->only);
    if (limits->measure && (files || limits->profile))
        return say_usage("limits", "--measure needs a command that is run, behind --");
    if (limits->ceiling && (files || limits->profile))
        return say_usage("limits", "--ceiling needs a command that is run, behind --");
    if (names_source(settings) && !files)
        return say_usage("limits", "--source-graph, --vertices and -D are for FILE:LINE of a "
                                   "source, with its compiler behind --");
    return 0;
}

static int limits_run(const struct settings *settings, int count, char **operands)
{
    if (strcmp(own(settings)->machine, "list") == 0)
        return list_machines() ? 0 : LIMITS_FAILED;
    if (own(settings)->hex || own(settings)->hex_file)
        return limits_of_blocks(settings, count, operands);
    int files = 0;
    while (files < count && strcmp(operands[files], "--") != 0)
        files++;
    char **behind = files < count ? operands + files + 1 : NULL;
    int words = behind ? count - files - 1 : 0;
    if (files > 1)
        return say_usage("limits", "one file at a time, not '%s' as well", operands[1]);
    int code = check_options(settings, files);
    if (code)
        return code;
    if (own(settings)->profile)
        return count ? say_usage("limits",
                                 "--profile stands for a file or command, and '%s' is another",
                                 operands[0])
                     : limits_of_profile(settings);
    if (files && behind && !words)
        return say_usage("limits", "no compiler was given behind --");
    if (files)
        return limits_of_file(settings, count, operands, behind);
    if (!words)
        return say_usage("limits", "no file and no command was given");
    return limits_of_run(settings, words, behind);
}

/* ---- the command line -------------------------------------------------------------------------- */

static const struct limits_settings own_defaults = {.machine = "here"};

static const struct option_spec limits_options[] = {
    {"machine", 0, OPTION_TEXT, OWN(limits_settings, machine), .argument = "NAME",
     .help = "The machine whose bounds are asked for: here, the default, is this one, as 'headroom "
             "calibrate' has measured it, or else its most common instructions, measured now; "
             "the others come from tables; list prints their names."},
    {"latency", 0, OPTION_TEXT, OWN(limits_settings, latency), .argument = "LIST",
     .help = "Latencies in cycles in place of the model's, such as load=2,div=12,store=2. Names: "
             "load, store, add, mul, fma, "
             "div, sqrt, move, other; and l2, l3 and memory for --memory."},
    {"only", 0, OPTION_TEXT, OWN(limits_settings, only), .argument = "PLACE",
     .help = "Of the loops of a COMMAND or --profile only those of PLACE: a function, a line, "
             "FILE:LINE, or the address of an instruction (0x...)."},
    {"memory", 0, OPTION_TEXT, OWN(limits_settings, memory), .argument = "LIST",
     .help = "How long loads take in schedules of what was executed, one or more of: uniform, all "
             "hit the first-level cache; compulsory, the first access to each cache line of a "
             "window misses; caches, those of this machine are simulated, which makes the second "
             "run slower; reuse, each load takes as long as is to be expected by how far apart "
             "uses of its lines are, which a third run measures. What misses take is measured if "
             "the machine is this one, else given by "
             "--latency. Default: uniform."},
    {"levels", 0, OPTION_TEXT, OWN(limits_settings, levels), .argument = "LIST",
     .help = "Compile the source at each of these levels, such as O0,O1,O2,O3, which is given to "
             "the compiler behind its "
             "other arguments."},
    {"graph", 0, OPTION_FILE, OWN(limits_settings, graph), .argument = "FILE",
     .help = "Write the dependence graph to FILE: a picture if its name ends in .svg (needs "
             "Graphviz), in Graphviz' language if in .dot, both of the first loop, else a list of "
             "the dependences and the critical circuit of each loop."},
    {"source-graph", 0, OPTION_FILE, OWN(limits_settings, source_graph), .argument = "FILE",
     .help = "Of FILE:LINE with a compiler: write the dependence graph of the loop as the source "
             "has it to FILE, in the same forms; flow is red, anti blue, output green; loads are "
             "boxes, stores triangles, arithmetic circles."},
    {"vertices", 0, OPTION_TEXT, OWN(limits_settings, vertices), .argument = "KIND",
     .help = "What the vertices of --source-graph are: operations, the default, each load, store "
             "and arithmetic operation; or statements, the lines of the source."},
    {"define", 'D', OPTION_LIST, FIELD(keys), .argument = "NAME=VALUE",
     .help = "The value of a parameter of a function, of a global variable, or of a macro, for the "
             "dependences of the source: products of variables in subscripts need it. May be "
             "repeated."},
    {"schedule", 0, OPTION_FILE, OWN(limits_settings, schedule), .argument = "FILE",
     .help = "Write to FILE optimistic schedules of each loop, each operation as soon as its "
             "inputs are there: by data flow alone, with the machine's units and an infinite "
             "window, and with its front end and reorder buffer; cycles, use of the units, what "
             "the critical path consists of, and the first iterations cycle by cycle. Of loops of "
             "a FILE they are of 1000 iterations of one way through them; of those of a COMMAND of "
             "what was executed, which takes a second run, as with --measure."},
    {"profile", 0, OPTION_PROFILE, OWN(limits_settings, profile), .argument = "PROFILE",
     .help = "Bound the loops in which the run of PROFILE spent most CPU time, by its samples."},
    {"measure", 0, OPTION_FLAG, OWN(limits_settings, measure), .value = 1,
     .help =
         "Run COMMAND once more under the exact engine (Valgrind), several times slower, to "
         "count how often each loop was executed, and print beside the bounds how many "
         "cycles an iteration took in the first run. Whatever COMMAND does, it does again; what "
         "it then prints is discarded. It reads the same standard input if it is a file. If "
         "the run fails or does not fit into its time, that is said, and nothing is measured."},
    {"ceiling", 0, OPTION_FLAG, OWN(limits_settings, ceiling), .value = 1,
     .help = "Run COMMAND once more, as 'headroom ceiling' does, to try its loops with all their "
             "data in "
             "the first-level cache, and print beside the bounds how many cycles an iteration then "
             "takes: "
             "what is above the bounds without misses, and what misses add."},
    {"max-time", 0, OPTION_NUMBER, OWN(limits_settings, max_s), .low = 1, .high = 1e6,
     .argument = "SECONDS",
     .help = "With --measure, --schedule or --ceiling: end further runs if they do not end within "
             "SECONDS of the start of the first. Default: 600."},
    {"hex", 0, OPTION_TEXT, OWN(limits_settings, hex), .argument = "DIGITS",
     .help = "Bound the basic block whose bytes these hexadecimal digits are, as if it were "
             "repeated back to back, unrolled."},
    {"hex-file", 0, OPTION_FILE, OWN(limits_settings, hex_file), .argument = "FILE",
     .help = "Bound many basic blocks, one on each line of FILE (- is standard input): answers are "
             "in the same order, and 'predicted' is null in JSON where a line cannot be decoded."},
    {"loop", 0, OPTION_FLAG, OWN(limits_settings, loop), .value = 1,
     .help = "With --hex and --hex-file: the block is a loop that ends in a taken branch."},
    {"output", 'o', OPTION_FILE, FIELD(output), .argument = "FILE",
     .help = "Write a profile to FILE; an existing one is kept as FILE.old. Default: none, but "
             "limits.headroom for a "
             "COMMAND that is run."},
    OPTION_RATE,
    OPTION_FOLLOW,
    OPTION_SEED,
    OPTIONS_REPORT,
    OPTIONS_LAST,
};

const struct verb limits_verb = {
    .name = "limits",
    .summary = "find what bounds a loop: dependences, units or front end",
    .arguments = "[FILE[:PLACE]] [-- COMMAND [ARGUMENT...]]",
    .description =
        "Reports what bounds innermost loops of machine code, in cycles an iteration: "
        "the recurrence, which is what each "
        "iteration waits for of the ones before; the units, which have only so much "
        "time; and the front end, which takes in "
        "so many instructions a cycle. The largest is what limits the loop, and the "
        "second what would, were the first "
        "mended. The certified bound is what no execution can beat; the prediction adds "
        "what is likely.\n\n"
        "FILE is a program, library, archive or object file; PLACE is a function, FILE:LINE, or "
        "the address of an instruction "
        "(0x...). Or FILE is assembly (.s, .S) and PLACE a line; without one all loops "
        "are listed. Or FILE is a source file "
        "and PLACE a line, and the compiler with its arguments stands behind --: then the "
        "dependences of the loop as it is written are listed as well, with distance vectors, its "
        "critical circuit, and what became of them in the machine code. The source is read by "
        "LLVM 19 (clang-19, flang-19, opt-19).\n\n"
        "Without FILE, COMMAND is run and observed, and the loops in which it spends "
        "most CPU time are bounded. Its input, "
        "output and exit status are its own; the report goes to standard error when it "
        "has ended. With FILE or --profile "
        "nothing is run, and the report goes to standard output.\n\n"
        "A loop with branches has several ways through; the one of most samples, else "
        "the one that falls through, is taken "
        "for it. Caches, mispredicted branches and functions that are called are not in "
        "the bounds.",
    .exit_status = "0 on success, 1 if the file cannot be read, has no such function or line, or "
                   "no loop there, or if there "
                   "is no model of the machine; 2 for wrong options. If COMMAND is run: its exit "
                   "status, or 128+N if signal "
                   "N killed it; 125 when headroom itself failed, 126 when COMMAND cannot be "
                   "executed, 127 when it cannot be "
                   "found.",
    .options = limits_options,
    .usage_code = 2,
    .operands = OPERANDS_CODE,
    .run = limits_run,
    .own_defaults = &own_defaults,
    .own_bytes = sizeof own_defaults,
};
