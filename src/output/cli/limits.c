// SPDX-License-Identifier: MIT
/*
 * `headroom limits`: loops of files, of sources with a compiler, of a profile or a run in; their bounds out. What runs nothing
 * prints to standard output, and writes a profile only if asked to.
 */
#include "cli/limits_work.h"

#include "cli/blocks.h"
#include "cli/recording.h"

#include "analysis/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOPS_OF_RUN = 5 };

/* ---- the model ------------------------------------------------------------------------------------- */

static bool open_model(struct limits_work *work)
{
    struct util_text why = {0};
    enum base_status status = machine_open(limits_own(work->settings)->machine,
                                           work->settings->quiet, &work->model, &why);
    if (status != BASE_OK)
        snprintf(work->error, sizeof work->error, "%s",
                 why.bytes ? why.bytes : base_status_text(status));
    util_text_free(&why);
    work->options.model = work->model;
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

/* ---- by what was asked for --------------------------------------------------------------------------------------- */

static bool begin(struct limits_work *work, const struct settings *settings)
{
    char why[256];
    *work = (struct limits_work){.settings = settings};
    if (limits_own(settings)->latency) {
        if (!bounds_latencies_read(limits_own(settings)->latency, &work->latencies, why,
                                   sizeof why)) {
            snprintf(work->error, sizeof work->error, "--latency: %s.", why);
            return false;
        }
        work->options.latencies = &work->latencies;
    }
    if (limits_own(settings)->graph) {
        work->options.graph = &work->graph;
        work->options.drawn = limits_ends_with(limits_own(settings)->graph, ".dot") ||
                              limits_ends_with(limits_own(settings)->graph, ".svg");
    }
    if (limits_own(settings)->only) {
        limits_read_place(limits_own(settings)->only, &work->only);
        work->options.only = &work->only.target;
    }
    return open_model(work);
}

static void end(struct limits_work *work)
{
    model_close(work->model);
    profile_free(work->profile);
    assess_source_close(work->source);
    util_text_free(&work->graph);
    util_text_free(&work->source_graph);
    util_text_free(&work->schedule);
}

/* Models of memory: what is executed is scheduled with each. */
static bool begin_memory(struct limits_work *work)
{
    char why[256];
    const struct limits_settings *settings = limits_own(work->settings);
    work->memory = (struct memory_choice){.models = settings->memory,
                                          .here = strcmp(settings->machine, "here") == 0,
                                          .by_hand = work->options.latencies};
    if (memory_choose(&work->memory, why, sizeof why))
        return true;
    snprintf(work->error, sizeof work->error, "--memory: %s.", why);
    return false;
}

static bool begin_profile(struct limits_work *work, int count, char **operands)
{
    work->profile = profile_new();
    if (work->profile && profile_begin_static(work->profile, "limits", "cycles", HEADROOM_VERSION,
                                              operands, (size_t)count))
        return true;
    snprintf(work->error, sizeof work->error, "%s.", base_status_text(BASE_NO_MEMORY));
    return false;
}

/* Options that are of sources alone. */
static bool names_source(const struct settings *settings)
{
    return limits_own(settings)->source_graph || limits_own(settings)->vertices ||
           settings->keys.count;
}

/* compiler: NULL: none was given. */
static int limits_of_file(const struct settings *settings, int count, char **operands,
                          char *const *compiler)
{
    struct limits_work work;
    struct limits_named named;
    int code = LIMITS_FAILED;
    bool good = begin(&work, settings) && begin_profile(&work, count, operands) &&
                limits_read_named(operands[0], &named, work.error);
    if (good && !compiler && (limits_own(settings)->levels || names_source(settings))) {
        end(&work);
        return say_usage("limits", "%s needs a source file, and a compiler behind --",
                         limits_own(settings)->levels ? "--levels" : "what is asked of a source");
    }
    if (good)
        good = compiler                         ? limits_add_levels(&work, &named, compiler)
               : limits_is_assembly(named.path) ? limits_add_assembly(&work, &named)
               : assess_is_unlinked(named.path) ? limits_add_unlinked(&work, &named)
                                                : limits_add_file(&work, named.path, &named, NULL);
    if (good)
        code = limits_conclude(&work);
    else
        say("%s", work.error);
    end(&work);
    return code;
}

static size_t loops_asked_for(const struct settings *settings)
{
    return settings->limit == UINT64_MAX ? LOOPS_OF_RUN
           : settings->limit             ? (size_t)settings->limit
                                         : SIZE_MAX;
}

/* False: why is said in the error. */
static bool assess_run(struct limits_work *work)
{
    struct binary_options symbols = symbol_options(work->settings);
    enum base_status status =
        assess_profile(work->profile, &symbols, &work->options, loops_asked_for(work->settings));
    if (status != BASE_OK)
        snprintf(work->error, sizeof work->error, "cannot find the loops of the run: %s.",
                 base_status_text(status));
    else if (!work->profile->limit_runs_count)
        snprintf(work->error, sizeof work->error,
                 limits_own(work->settings)->only
                     ? "no sample of CPU time was taken in a loop of '%s'."
                     : "no sample of CPU time was taken in a loop.",
                 limits_own(work->settings)->only);
    return status == BASE_OK && work->profile->limit_runs_count;
}

/* The report is of the loops alone, whatever the profile holds. */
static int limits_of_profile(const struct settings *settings)
{
    struct limits_work work;
    int code = LIMITS_FAILED;
    bool good = begin(&work, settings) && begin_memory(&work) &&
                profile_read(limits_own(settings)->profile, &work.profile, work.error,
                             sizeof work.error) == BASE_OK;
    good = good && assess_run(&work) && limits_add_executed(&work);
    if (good) {
        work.profile->run.verb = "limits";
        code = limits_conclude(&work);
    } else {
        say("%s", work.error);
    }
    end(&work);
    return code;
}

/* ---- a run ------------------------------------------------------------------------------------------------------------ */

static void prepare(struct recording *recording)
{
    struct limits_work *work = recording->sequel_state;
    sequel_prepare(&work->sequel, recording);
}

static bool bound_run(struct recording *recording, struct limits_work *work, bool goes_on)
{
    if (profile_read(recording->written, &work->profile, work->error, sizeof work->error) !=
            BASE_OK ||
        !assess_run(work))
        return false;
    if (goes_on && work->profile->limit_loops_count)
        sequel_clock(&work->sequel, work->profile);
    return sequel_replace(recording, work->profile, work->error);
}

/* Is there a run under the exact engine? */
static bool counts(const struct settings *settings)
{
    return limits_own(settings)->measure || limits_own(settings)->schedule;
}

/* Schedules of what that run has seen executed. */
static bool schedule_run(struct recording *recording, struct limits_work *work)
{
    profile_free(work->profile);
    work->profile = NULL;
    return profile_read(recording->written, &work->profile, work->error, sizeof work->error) ==
               BASE_OK &&
           limits_add_executed(work) && sequel_replace(recording, work->profile, work->error) &&
           limits_write_schedule(work);
}

/* Bounds, and by another run how often the loops were executed. */
static void attach(struct recording *recording)
{
    struct limits_work *work = recording->sequel_state;
    bool goes_on = work->further.deep && sequel_goes_on(&work->sequel, recording);
    if (!bound_run(recording, work, goes_on) || !limits_write_graph(work)) {
        say("%s", work->error);
        return;
    }
    if (!goes_on || !work->profile->limit_loops_count)
        return;
    recording_note_signals();
    if (limits_own(work->settings)->ceiling)
        deep_ceiling(recording, &work->sequel, work->model);
    if (counts(work->settings) && !recording_signalled())
        deep_iterations(recording, &work->sequel);
    if (work->memory.memory.models >> EXECUTED_EXPECTED & 1 && !recording_signalled())
        deep_distances(recording, &work->sequel);
    launch_signals_release();
    if (counts(work->settings) && !schedule_run(recording, work))
        say("%s", work->error);
}

static const struct recording_sequel limits_sequel = {.prepare = prepare, .run = attach};

static bool runs_again(const struct settings *settings)
{
    return counts(settings) || limits_own(settings)->ceiling;
}

/* Asked before the runs: they may take long. */
static bool can_write(struct limits_work *work, const char *path)
{
    struct replacement file;
    if (!path)
        return true;
    if (!replace_begin(&file, path))
        return limits_cannot_write(work, path);
    replace_end(&file, false);
    return true;
}

static int limits_of_run(const struct settings *settings, int count, char **command)
{
    struct limits_work work;
    int code = check_engine(settings, "limits", count);
    if (code)
        return code;
    if (!begin(&work, settings) || (counts(settings) && !begin_memory(&work)) ||
        !can_write(&work, limits_own(settings)->graph) ||
        !can_write(&work, limits_own(settings)->schedule)) {
        say("%s", work.error);
        end(&work);
        return 125;
    }
    work.further =
        (struct run_settings){.deep = runs_again(settings), .max_s = limits_own(settings)->max_s};
    work.sequel.settings = &work.further;
    work.sequel.levels = work.memory.levels;
    work.sequel.levels_count = work.memory.levels_count;
    code = live_run(settings, "limits", WIRE_LOAD, command, &limits_sequel, &work);
    end(&work);
    return code;
}

/* ---- basic blocks ------------------------------------------------------------------------------------------------- */

static int limits_of_blocks(const struct settings *settings, int count, char **operands)
{
    struct limits_work work;
    int code = LIMITS_FAILED;
    if (count)
        return say_usage("limits",
                         "--hex and --hex-file stand for a file or command, and '%s' is another",
                         operands[0]);
    if (limits_own(settings)->hex && limits_own(settings)->hex_file)
        return say_usage("limits", "--hex and --hex-file exclude each other");
    if (limits_own(settings)->levels || limits_own(settings)->graph ||
        limits_own(settings)->schedule || limits_own(settings)->profile ||
        limits_own(settings)->measure || limits_own(settings)->ceiling ||
        limits_own(settings)->memory || limits_own(settings)->only || limits_own(settings)->max_s ||
        names_source(settings) || settings->output)
        return say_usage(
            "limits",
            "--hex and --hex-file go with --machine, --latency, --loop and --format alone");
    if (begin(&work, settings)) {
        code = blocks_answer(&(struct blocks_request){.text = limits_own(settings)->hex,
                                                      .file = limits_own(settings)->hex_file,
                                                      .model = work.model,
                                                      .latencies = work.options.latencies,
                                                      .loop = limits_own(settings)->loop,
                                                      .json = settings->format == FORMAT_JSON},
                             stdout);
        if (fflush(stdout) != 0 || ferror(stdout)) {
            say("cannot write the report: %s.", strerror(errno));
            code = LIMITS_FAILED;
        }
    } else {
        say("%s", work.error);
    }
    end(&work);
    return code;
}

/* Options that do not go together. 0: they do. */
static int check_options(const struct settings *settings, int files)
{
    const struct limits_settings *limits = limits_own(settings);
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
    if (strcmp(limits_own(settings)->machine, "list") == 0)
        return list_machines() ? 0 : LIMITS_FAILED;
    if (limits_own(settings)->hex || limits_own(settings)->hex_file)
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
    if (limits_own(settings)->profile)
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
