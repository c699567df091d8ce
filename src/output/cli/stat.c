// SPDX-License-Identifier: MIT
/*
 * `headroom stat`: commands run again and again, interleaved at random, whole runs and regions of them timed. From the command line to
 * a profile and its report.
 */
#include "cli/stat.h"

#include "cli/common.h"

#include "calibrate/calibrate.h"
#include "import/import.h"
#include "profile/profile.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

bool stat_fail(struct stat_measuring *measuring, int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(measuring->error, sizeof measuring->error, format, arguments);
    va_end(arguments);
    measuring->code = code;
    return false;
}

static bool fail_memory(struct stat_measuring *measuring)
{
    return stat_fail(measuring, LAUNCH_FAILED, "%s.", base_status_text(BASE_NO_MEMORY));
}

bool stat_degraded(struct stat_measuring *measuring, const char *sentence)
{
    struct profile *profile = measuring->profile;
    for (size_t i = 0; i < profile->degraded_count; i++)
        if (strcmp(profile->degraded[i].text, sentence) == 0)
            return true;
    const char *kept = profile_keep(profile, sentence);
    struct profile_text *added = kept ? profile_add_degraded(profile) : NULL;
    if (!added)
        return fail_memory(measuring);
    added->text = kept;
    if (!measuring->settings->quiet)
        say("%s", sentence);
    return true;
}

/* ---- commands --------------------------------------------------------------------------------- */

/* Divided by the word "vs", behind which "--" may stand; cut there. Returns how many; 0: one is empty, or there are too many. */
static size_t divide(int count, char **operands, char **commands[STAT_COMMANDS])
{
    size_t made = 0;
    for (int at = 0; at < count;) {
        if (made && strcmp(operands[at], "--") == 0)
            at++;
        int end = at;
        while (end < count && strcmp(operands[end], "vs") != 0)
            end++;
        if (end == at || made == STAT_COMMANDS || end == count - 1)
            return 0;
        commands[made++] = operands + at;
        if (end < count)
            operands[end] = NULL;
        at = end + 1;
    }
    return made;
}

static bool describe_command(char *const *command, struct util_text *text)
{
    for (size_t i = 0; command[i]; i++) {
        bool plain = command[i][0] && !strpbrk(command[i], " \t\n'\"\\$`*?");
        if (!util_text_print(text, plain ? "%s%s" : "%s'%s'", i ? " " : "", command[i]))
            return false;
    }
    return true;
}

/* One of equal ones: those of earlier sessions count on. */
static bool note_subject(struct stat_measuring *measuring, uint32_t number, const char *level,
                         struct stat_subject *subject)
{
    struct profile *profile = measuring->profile;
    struct util_text text = {0};
    const char *kept =
        describe_command(subject->command, &text) ? profile_keep(profile, text.bytes) : NULL;
    util_text_free(&text);
    uint64_t content = stat_content(subject->path);
    if (!kept)
        return fail_memory(measuring);
    for (uint32_t i = 0; i < profile->stat_subjects_count; i++) {
        const struct profile_stat_subject *known = &profile->stat_subjects[i];
        if (known->number != number || strcmp(known->command, kept) != 0 ||
            !profile_same_text(known->level, level))
            continue;
        subject->id = i;
        return known->content == content ||
               stat_fail(measuring, LAUNCH_FAILED,
                         "'%.1000s' is not the program that '%.1000s' has runs of: write a new "
                         "profile with -o, and compare both by 'headroom diff'.",
                         subject->command[0], measuring->output);
    }
    subject->id = (uint32_t)profile->stat_subjects_count;
    struct profile_stat_subject *added = profile_add_stat_subjects(profile);
    if (!added)
        return fail_memory(measuring);
    *added = (struct profile_stat_subject){.number = number,
                                           .command = kept,
                                           .level = profile_keep(profile, level),
                                           .program =
                                               level ? NULL : profile_keep(profile, subject->path),
                                           .content = content};
    return true;
}

static bool add_subject(struct stat_measuring *measuring, char **command, uint32_t number,
                        const char *level)
{
    struct stat_subject *subject = &measuring->subjects[measuring->subjects_count];
    *subject = (struct stat_subject){.command = command, .expected = -1};
    if (measuring->subjects_count == STAT_SUBJECTS)
        return stat_fail(measuring, LAUNCH_FAILED, "there are more than %d programs to be run.",
                         STAT_SUBJECTS);
    enum launch_outcome outcome = LAUNCH_OK;
    if (level && strchr(command[0], '/')) /* it may have yet to be built */
        snprintf(subject->path, sizeof subject->path, "%s", command[0]);
    else
        outcome = launch_find(command[0], subject->path, measuring->error);
    if (outcome != LAUNCH_OK) {
        measuring->code = (int)outcome;
        return false;
    }
    if (level && !stat_build(measuring, level, subject->path))
        return false;
    measuring->subjects_count++;
    return note_subject(measuring, number, level, subject);
}

/* What differs by nothing but the level's name was probably not built again. */
static bool compare_builds(struct stat_measuring *measuring)
{
    const struct profile *profile = measuring->profile;
    for (size_t i = 1; i < measuring->subjects_count; i++) {
        const struct profile_stat_subject *one =
                                              &profile
                                                   ->stat_subjects[measuring->subjects[i - 1].id],
                                          *two = &profile->stat_subjects[measuring->subjects[i].id];
        char sentence[256];
        if (one->number != two->number || !two->level || one->content != two->content)
            continue;
        snprintf(sentence, sizeof sentence,
                 "the program built at -%.30s is the same as at -%.30s: does the build command "
                 "build it anew ('make -B'), and take the option?",
                 two->level, one->level);
        if (!stat_degraded(measuring, sentence))
            return false;
    }
    return true;
}

static bool add_subjects(struct stat_measuring *measuring, char **commands[], size_t count)
{
    const char *levels = measuring->own->levels;
    char level[32];
    for (uint32_t i = 0; i < count; i++) {
        if (!levels && !add_subject(measuring, commands[i], i, NULL))
            return false;
        for (size_t j = 0; levels && stat_level(levels, j, level, sizeof level); j++)
            if (!add_subject(measuring, commands[i], i, level))
                return false;
    }
    return compare_builds(measuring);
}

/* ---- the profile ------------------------------------------------------------------------------ */

static bool begin_new(struct stat_measuring *measuring, int count, char **operands)
{
    struct profile *profile = measuring->profile = profile_new();
    if (!profile)
        return fail_memory(measuring);
    profile->run = (struct profile_run){.verb = "stat",
                                        .engine = "live",
                                        .weighting = "time",
                                        .version = HEADROOM_VERSION,
                                        .exit_code = 0,
                                        .exit_signal = -1};
    import_describe_machine(profile);
    for (int i = 0; i < count; i++) {
        struct profile_text *argument = profile_add_arguments(profile);
        if (!argument || !(argument->text = profile_keep(profile, operands[i])))
            return fail_memory(measuring);
    }
    struct profile_stat_region *region = profile_add_stat_regions(profile);
    if (!region)
        return fail_memory(measuring);
    *region = (struct profile_stat_region){.name = "run", .kind = PROFILE_STAT_RUN};
    return true;
}

/* -a: runs are added to those of a profile of the same machine. */
static bool begin_further(struct stat_measuring *measuring)
{
    struct profile *here = profile_new();
    if (profile_read(measuring->output, &measuring->profile, measuring->error,
                     sizeof measuring->error) != BASE_OK) {
        profile_free(here);
        measuring->code = LAUNCH_FAILED;
        return false;
    }
    const struct profile_run *run = &measuring->profile->run;
    bool good = here || fail_memory(measuring);
    if (good)
        import_describe_machine(here);
    if (good && (strcmp(run->verb, "stat") != 0 || !measuring->profile->stat_regions_count))
        good = stat_fail(measuring, LAUNCH_FAILED,
                         "'%.1000s' is a profile of 'headroom %.40s', to which no runs are added: "
                         "name another one with -o.",
                         measuring->output, run->verb);
    if (good && (!profile_same_text(here->run.host, run->host) ||
                 !profile_same_text(here->run.cpu, run->cpu) ||
                 !profile_same_text(here->run.kernel, run->kernel)))
        good = stat_fail(measuring, LAUNCH_FAILED,
                         "'%.1000s' was measured on another machine or kernel (%.100s, %.100s, "
                         "%.100s): write a new profile with -o.",
                         measuring->output, run->host ? run->host : "unknown host",
                         run->kernel ? run->kernel : "unknown kernel",
                         run->cpu ? run->cpu : "unknown processor");
    profile_free(here);
    return good;
}

static bool begin_profile(struct stat_measuring *measuring, int count, char **operands)
{
    bool further = measuring->own->append && access(measuring->output, F_OK) == 0;
    return further ? begin_further(measuring) : begin_new(measuring, count, operands);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static bool begin_session(struct stat_measuring *measuring)
{
    cpu_set_t processors;
    double load = 0;
    measuring->session = (uint32_t)measuring->profile->stat_sessions_count;
    struct profile_stat_session *session = profile_add_stat_sessions(measuring->profile);
    if (!session)
        return fail_memory(measuring);
    *session = (struct profile_stat_session){.start_ns = clock_ns(CLOCK_REALTIME)};
    session->seed =
        measuring->own->seed ? measuring->own->seed : base_mix64(session->start_ns) % 1000000 + 1;
    measuring->random = base_mix64(session->seed);
    if (sched_getaffinity(0, sizeof processors, &processors) == 0)
        session->processors = (uint32_t)CPU_COUNT(&processors);
    if (getloadavg(&load, 1) == 1)
        session->load = load;
    if (measuring->session == 0)
        measuring->profile->run.start_ns = session->start_ns;
    return true;
}

/* ---- standard input ---------------------------------------------------------------------------- */

static bool begin_input(struct stat_measuring *measuring)
{
    struct recording nothing = {.settings = measuring->settings};
    measuring->further = (struct run_settings){.max_s = measuring->own->max_s};
    measuring->sequel = (struct sequel){.settings = &measuring->further};
    sequel_prepare(&measuring->sequel, &nothing);
    if (!measuring->sequel.refused)
        return true;
    return stat_fail(measuring, LAUNCH_FAILED,
                     "the command cannot be run again and again: its standard input is a pipe or "
                     "socket, or cannot be opened twice; redirect it from a file.");
}

/* ---- all together ------------------------------------------------------------------------------ */

struct clocks {
    struct calibrate_clock cycle;
    uint64_t ticks, ns;
};

static void begin_clocks(struct clocks *clocks)
{
    calibrate_clock(&clocks->cycle);
    clocks->ticks = __rdtsc();
    clocks->ns = clock_ns(CLOCK_MONOTONIC_RAW);
}

static void end_clocks(struct stat_measuring *measuring, struct clocks *clocks)
{
    struct profile_stat_session *session = &measuring->profile->stat_sessions[measuring->session];
    struct calibrate_clock after;
    uint64_t ticks = __rdtsc() - clocks->ticks, ns = clock_ns(CLOCK_MONOTONIC_RAW) - clocks->ns;
    calibrate_clock(&after);
    calibrate_clock_join(&after, &clocks->cycle);
    session->cycle_ns = after.cycle_ns;
    session->cycle_spread = (after.high_ns - after.low_ns) / 2 / after.cycle_ns;
    session->tick_ns = ticks ? (double)ns / (double)ticks : 0;
}

static bool write_json(struct stat_measuring *measuring)
{
    const struct report_options options = {0};
    struct replacement file;
    const char *path = measuring->own->json;
    if (!path)
        return true;
    bool begun = replace_begin(&file, path);
    bool good = begun && report_json(measuring->profile, &options, file.out) == BASE_OK;
    if (!begun || !replace_end(&file, good))
        return stat_fail(measuring, LAUNCH_FAILED, "cannot write '%.1000s': %s.", path,
                         strerror(errno));
    return true;
}

static bool show(struct stat_measuring *measuring)
{
    const struct settings *settings = measuring->settings;
    FILE *out = settings->report ? fopen(settings->report, "we") : stderr;
    if (settings->quiet && !settings->report)
        return true;
    if (!out)
        return stat_fail(measuring, LAUNCH_FAILED, "cannot write the report to '%.1000s': %s.",
                         settings->report, strerror(errno));
    bool good = show_profile(measuring->output, measuring->output, settings, out, fileno(out),
                             measuring->error, sizeof measuring->error) == BASE_OK;
    if (fflush(out) != 0 && good && settings->report)
        good = stat_fail(measuring, LAUNCH_FAILED, "cannot write the report to '%.1000s': %s.",
                         settings->report, strerror(errno));
    if (settings->report)
        fclose(out);
    return good;
}

/* What was measured before something failed is kept if it is a whole round. */
static bool conclude(struct stat_measuring *measuring)
{
    if (!measuring->rounds)
        return false;
    if (profile_write(measuring->profile, measuring->output, measuring->error,
                      sizeof measuring->error) != BASE_OK) {
        measuring->code = LAUNCH_FAILED;
        return false;
    }
    return show(measuring) && write_json(measuring);
}

static bool measure(struct stat_measuring *measuring, char **commands[], size_t commands_count,
                    int count, char **operands)
{
    struct clocks clocks;
    if (!begin_input(measuring) || !begin_profile(measuring, count, operands) ||
        !add_subjects(measuring, commands, commands_count) || !begin_session(measuring) ||
        !stat_events_find(measuring) || !stat_regions_find(measuring))
        return false;
    recording_note_signals();
    begin_clocks(&clocks);
    bool good = stat_runs(measuring);
    end_clocks(measuring, &clocks);
    return good && stat_regions_end(measuring);
}

static int run_all(struct stat_measuring *measuring, char **commands[], size_t commands_count,
                   int count, char **operands)
{
    if (profile_output_check(measuring->output, measuring->error, sizeof measuring->error) !=
        BASE_OK) {
        say("%s", measuring->error);
        return LAUNCH_FAILED;
    }
    measuring->code = 0;
    if (!measure(measuring, commands, commands_count, count, operands))
        say("%s", measuring->error);
    int failed = measuring->code;
    launch_signals_release();
    if (!conclude(measuring) && measuring->rounds) {
        say("%s", measuring->error);
        failed = failed ? failed : LAUNCH_FAILED;
    }
    stat_build_end(measuring);
    stat_regions_free(measuring);
    profile_free(measuring->profile);
    return failed;
}

static int stat_run(const struct settings *settings, int count, char **operands)
{
    const struct stat_settings *own = (const void *)settings->own;
    char **commands[STAT_COMMANDS];
    struct stat_measuring measuring = {.settings = settings,
                                       .own = own,
                                       .output =
                                           settings->output ? settings->output : "stat.headroom"};
    if (own->list_events)
        return stat_events_list(settings);
    if (count == 0)
        return say_usage("stat", "no command to run was given");
    if (!own->levels != !own->build)
        return say_usage("stat", "--levels and --build are given together");
    if (own->build && !strstr(own->build, "{}"))
        return say_usage("stat", "--build has no {}, where the level's option is put");
    char **words = calloc((size_t)count + 1, sizeof *words);
    if (!words) {
        say("%s.", base_status_text(BASE_NO_MEMORY));
        return LAUNCH_FAILED;
    }
    memcpy(words, operands, (size_t)count * sizeof *words);
    size_t commands_count = divide(count, words, commands);
    int code = commands_count ? run_all(&measuring, commands, commands_count, count, operands)
                              : say_usage("stat", "expected up to %d commands, divided by 'vs'",
                                          STAT_COMMANDS);
    free(words);
    return code;
}

/* ---- the command line -------------------------------------------------------------------------- */

static const struct stat_settings own_defaults = {.runs = 10, .warmups = 1, .trips = 1};

static const struct option_spec stat_options[] = {
    OPTION_OUTPUT("stat"),
    {"runs", 'n', OPTION_NUMBER, OWN(stat_settings, runs), .low = 1, .high = STAT_RUNS_MOST,
     .argument = "N",
     .help = "Run each command N times. Default: 10. An interval of a ratio takes 6."},
    {"warmup", 'w', OPTION_NUMBER, OWN(stat_settings, warmups), .low = 0, .high = STAT_RUNS_MOST,
     .argument = "N", .help = "Run each command N times before, in no figure. Default: 1."},
    {"region", 'r', OPTION_LIST, FIELD(keys), .argument = "NAME",
     .help =
         "Time executions of the functions that match NAME (a pattern; C++ with or without "
         "parameters), or of the part of the program between HEADROOM_BEGIN(NAME) and "
         "HEADROOM_END(NAME), in runs of their own; or, if NAME is FILE:LINE, of the loop of the "
         "program that is at that line. Can be given up to 32 times."},
    {"no-trips", 0, OPTION_FLAG, OWN(stat_settings, trips), .value = 0,
     .help = "Do not count iterations of loops, which takes a run of each program under the exact "
             "engine, some ten times slower."},
    {"levels", 0, OPTION_TEXT, OWN(stat_settings, levels), .argument = "O0,O1,...",
     .help = "Build the program at each of these optimisation levels, with --build, and compare "
             "them."},
    {"build", 0, OPTION_TEXT, OWN(stat_settings, build), .argument = "'COMMAND {}'",
     .help = "How to build it: a shell command in which {} stands for the level's option, -O2. "
             "It must build the program anew: 'make -B CFLAGS={}'. The program is copied after "
             "each build, and the copies are run."},
    {"events", 'e', OPTION_TEXT, OWN(stat_settings, events), .argument = "LIST",
     .help = "Count these events of whole runs, by the names that --list-events prints, divided "
             "by commas; those of hardware in user mode and in the kernel apart. 'none' counts "
             "none. Default: what the kernel counts, and cycles, instructions, branches and cache "
             "misses where the machine has counters."},
    {"list-events", 0, OPTION_FLAG, OWN(stat_settings, list_events), .value = 1,
     .help = "Print every event that this machine is known to have, after trying whether it can "
             "be counted, and exit."},
    {"append", 'a', OPTION_FLAG, OWN(stat_settings, append), .value = 1,
     .help = "Add the runs to those in the profile, if there is one: of the same programs, on the "
             "same machine."},
    {"max-time", 0, OPTION_NUMBER, OWN(stat_settings, max_s), .low = 1, .high = 1e6,
     .argument = "SECONDS",
     .help = "Begin no round of runs that would not end by then. One round is always made."},
    {"seed", 0, OPTION_NUMBER, OWN(stat_settings, seed), .low = 1, .high = 4e9, .argument = "N",
     .help = "Draw the order of runs from this number. Default: from the time of day."},
    {"show-output", 0, OPTION_FLAG, OWN(stat_settings, show_output), .value = 1,
     .help = "Let the commands write where headroom does. Without it their output goes nowhere."},
    {"ignore-failure", 'i', OPTION_FLAG, OWN(stat_settings, ignore_failure), .value = 1,
     .help = "Time commands that end with an exit status other than 0, if it is always the same."},
    {"export-json", 0, OPTION_FILE, OWN(stat_settings, json), .argument = "FILE",
     .help = "Write the report to FILE as JSON, too."},
    OPTION_REPORT,
    OPTION_FORMAT,
    OPTIONS_LAST,
};

const struct verb stat_verb = {
    .name = "stat",
    .summary = "measure what commands and regions cost, over repeated runs",
    .arguments = "[--] COMMAND [ARG...] [vs COMMAND [ARG...]]...",
    .description =
        "Runs one or more commands again and again and reports how long they, and regions of them, "
        "take: median with a "
        "95 % interval, minimum, mean, maximum and standard deviation, CPU time, page faults, "
        "context switches, memory, and events. Commands are divided by the word vs. Each round "
        "has one run of each, in random order, so that what the machine does meanwhile falls on "
        "all alike; the ratio of a command to the first one has an interval that rests on rounds "
        "alone. Where no difference is seen, the report says how large one would have been "
        "seen.\n\n"
        "Runs that are slow by far are pointed out with what they had more of, times that "
        "come in two speeds as well, and what depends on the operating system: waiting, being "
        "preempted, times that vary from run to run.\n\n"
        "--region times parts of the program in further runs, one in each round: functions, what "
        "lies between markers, loops, whose iterations are counted exactly in one more run. The "
        "program need not be built for that.\n\n"
        "Every run is kept in the profile. 'headroom view' draws them, 'headroom diff' and "
        "'headroom check' compare profiles of the same machine by figures such as stat.run.\n\n"
        "Standard input must be a file or a terminal: each run reads it from where it is. Output "
        "goes nowhere. Options end at the first word that is not an option.",
    .exit_status =
        "0 if all runs were made. The exit status of a command that failed, or 128+N if signal N "
        "killed it; 125 when headroom itself failed or the options are wrong, 126 when a command "
        "cannot be executed, 127 when it cannot be found. Rounds that were whole by then are in "
        "the profile.",
    .options = stat_options,
    .usage_code = 125,
    .operands = OPERANDS_COMMAND,
    .run = stat_run,
    .own_defaults = &own_defaults,
    .own_bytes = sizeof own_defaults,
};
