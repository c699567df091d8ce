// SPDX-License-Identifier: MIT
/* `headroom ceiling`: a recording in which hot innermost loops are tried with all of their accesses in the first-level cache. */
#include "cli/common.h"
#include "cli/recording.h"
#include "cli/sequel.h"

#include "assess/ceiling.h"
#include "cfg/cfg.h"
#include "machine/machine.h"
#include "model/model.h"
#include "profile/profile.h"
#include "trial/trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOPS_LISTED = 50, PLACES_MAX = 64, CACHES_MAX = 9, WALK_MOST = 1 << 24 };

struct ceiling_settings {
    const char *loops, *variants;
};

static const struct ceiling_settings *own(const struct settings *settings)
{
    return (const void *)settings->own;
}

struct ceiling {
    struct model *model;
    struct trial_request request;
    struct trial_target targets[PLACES_MAX];
    char *words; /* copy of --loop, cut into pieces */
    struct trial_result result;
    char refused_text[192], traced_text[192], armed_text[256];
};

/* ---- before -------------------------------------------------------------------------------------- */

/* "FUNCTION" or "FILE:LINE" */
static void read_target(char *word, struct trial_target *target)
{
    char *colon = strrchr(word, ':');
    bool line =
        colon && colon > word && colon[1] && colon[1 + strspn(colon + 1, "0123456789")] == 0;
    *target = (struct trial_target){.function = line ? NULL : word};
    if (!line)
        return;
    *colon = 0;
    target->file = word;
    target->line = (uint32_t)strtoul(colon + 1, NULL, 10);
}

static int read_targets(struct ceiling *ceiling, const struct settings *settings)
{
    const char *loops = own(settings)->loops;
    ceiling->words = loops ? strdup(loops) : NULL;
    for (char *at = ceiling->words, *end; at && *at; at = end) {
        end = at + strcspn(at, ",");
        if (*end)
            *end++ = 0;
        if (ceiling->request.targets_count == PLACES_MAX)
            return say_usage("ceiling", "--loop takes %d places at most", PLACES_MAX);
        if (*at)
            read_target(at, &ceiling->targets[ceiling->request.targets_count++]);
    }
    ceiling->request.targets = ceiling->targets;
    if (loops && !ceiling->request.targets_count)
        return say_usage("ceiling", "--loop names no loop");
    return 0;
}

/* Several times what the level before holds, so that nothing of it stays there; at most a half of what the level holds. */
static uint32_t walk_bytes(const struct machine_cache *before, const struct machine_cache *level)
{
    uint64_t bytes = before->bytes * 4;
    if (bytes > level->bytes / 2)
        bytes = level->bytes / 2;
    if (bytes > WALK_MOST)
        bytes = WALK_MOST;
    return bytes < before->bytes * 2 ? 0 : (uint32_t)bytes;
}

static void find_levels(struct trial_request *request)
{
    struct machine_cache caches[CACHES_MAX];
    size_t count = machine_caches("", caches, CACHES_MAX);
    for (size_t i = 1; i < count; i++) {
        if (caches[i].level != caches[i - 1].level + 1)
            continue;
        if (caches[i].level == 2)
            request->walk_bytes[CLONE_L2] = walk_bytes(&caches[i - 1], &caches[i]);
        if (caches[i].level == 3)
            request->walk_bytes[CLONE_L3] = walk_bytes(&caches[i - 1], &caches[i]);
    }
}

static int read_variants(struct ceiling *ceiling, const struct settings *settings)
{
    const char *at = own(settings)->variants;
    while (at && *at) {
        size_t length = strcspn(at, ",");
        unsigned v = 0;
        while (v < CLONE_VARIANTS && (strlen(clone_variant_id((enum clone_variant)v)) != length ||
                                      memcmp(clone_variant_id((enum clone_variant)v), at, length)))
            v++;
        if (v == CLONE_VARIANTS)
            return say_usage("ceiling", "--variants: '%.*s' is none of l1, l2, l3, ls, fp",
                             (int)length, at);
        ceiling->request.variants |= 1U << v;
        at += length + (at[length] == ',');
    }
    find_levels(&ceiling->request);
    return 0;
}

/* The model compares recurrences before and after: a table will do where nothing was measured here. */
static int open_model(struct ceiling *ceiling, const struct settings *settings)
{
    struct util_text why = {0};
    enum base_status status = machine_open("here", settings->quiet, &ceiling->model, &why);
    if (status == BASE_OK)
        status = cfg_start();
    if (status != BASE_OK)
        say("%s", why.bytes ? why.bytes : base_status_text(status));
    util_text_free(&why);
    ceiling->request.model = ceiling->model;
    ceiling->request.symbols = symbol_options(settings);
    ceiling->request.budget = settings->budget;
    return status == BASE_OK ? 0 : LAUNCH_FAILED;
}

static enum launch_outcome launch(struct recording *recording, const struct launch_request *request)
{
    struct ceiling *ceiling = recording->sequel_state;
    return launch_clones(request, &ceiling->request, &ceiling->result, &recording->result,
                         recording->error);
}

/* ---- after ---------------------------------------------------------------------------------------- */

static void tell_refused(struct ceiling *ceiling, struct profile *profile)
{
    if (ceiling->result.tracing_refused) {
        snprintf(
            ceiling->traced_text, sizeof ceiling->traced_text,
            "no loop could be tried, because threads of the program cannot be traced (%s); see "
            "ptrace(2), or run headroom as root",
            strerror(ceiling->result.tracing_refused));
        sequel_degraded(profile, ceiling->traced_text);
    }
    if (ceiling->result.arming_refused) {
        snprintf(ceiling->armed_text, sizeof ceiling->armed_text,
                 "some trials were not possible, because the kernel armed no debug register (%s): "
                 "that needs Linux 5.13 or newer, and registers that no debugger uses",
                 strerror(ceiling->result.arming_refused));
        sequel_degraded(profile, ceiling->armed_text);
    }
    if (!ceiling->result.sampling_refused)
        return;
    snprintf(ceiling->refused_text, sizeof ceiling->refused_text,
             "no loop was found, because the kernel refuses samples of the clock (%s); as root: "
             "sysctl kernel.perf_event_paranoid=2",
             strerror(ceiling->result.sampling_refused));
    sequel_degraded(profile, ceiling->refused_text);
}

/* Reads the profile at `path` and adds the loops. False: error. */
static bool add_loops(struct ceiling *ceiling, const char *path, size_t limit,
                      struct profile **profile, char *error)
{
    snprintf(error, LAUNCH_ERROR_BYTES, "%s.", base_status_text(BASE_NO_MEMORY));
    if (profile_read(path, profile, error, LAUNCH_ERROR_BYTES) != BASE_OK ||
        !assess_ceiling(*profile, &ceiling->result, limit))
        return false;
    tell_refused(ceiling, *profile);
    return true;
}

static void attach(struct recording *recording)
{
    struct ceiling *ceiling = recording->sequel_state;
    struct profile *profile = NULL;
    char error[LAUNCH_ERROR_BYTES];
    size_t limit = recording->settings->limit == 0 ? SIZE_MAX : LOOPS_LISTED;
    if (!add_loops(ceiling, recording->written, limit, &profile, error) ||
        !sequel_replace(recording, profile, error))
        say("%s", error);
    profile_free(profile);
}

static const struct recording_sequel ceiling_sequel = {.run = attach, .launch = launch};

static int ceiling_run(const struct settings *settings, int count, char **operands)
{
    struct ceiling ceiling = {.model = NULL};
    int code = check_engine(settings, "ceiling", count);
    if (!code)
        code = read_targets(&ceiling, settings);
    if (!code)
        code = read_variants(&ceiling, settings);
    if (!code)
        code = open_model(&ceiling, settings);
    if (!code)
        code = live_run(settings, "ceiling", 0, operands, &ceiling_sequel, &ceiling);
    trial_result_free(&ceiling.result);
    model_close(ceiling.model);
    free(ceiling.words);
    return code;
}

/* ---- beside another recording ---------------------------------------------------------------------- */

/* A further run, and what is launched for it. */
struct tried_run {
    struct further_run run; /* the first member */
    struct ceiling *ceiling;
};

static enum launch_outcome launch_further(struct further_run *run)
{
    struct ceiling *ceiling = ((struct tried_run *)run)->ceiling;
    return launch_clones(run->program, &ceiling->request, &ceiling->result, run->result,
                         run->error);
}

/* The profile of the run, with the loops, at `place`. */
static bool write_further(struct recording *recording, struct ceiling *ceiling, const char *place)
{
    struct profile *profile = NULL;
    bool good = recording_import(recording, "live", place) == BASE_OK &&
                add_loops(ceiling, place, LOOPS_LISTED, &profile, recording->error);
    if (good) {
        unlink(place); /* nobody's but ours: it is not to be kept as an older one */
        good = profile_write(profile, place, recording->error, sizeof recording->error) == BASE_OK;
    }
    profile_free(profile);
    return good;
}

bool ceiling_further(const struct recording *first, const struct model *model,
                     further_record *record, void *context, const char *place, char *error)
{
    struct ceiling ceiling = {
        .request = {.model = model, .symbols = symbol_options(first->settings)}};
    struct launch_request program = *first->program;
    struct recording recording = {.settings = first->settings,
                                  .verb = "ceiling",
                                  .output = first->written,
                                  .command = first->command,
                                  .log = -1,
                                  .region = -1,
                                  .program = &program,
                                  .config = &program.config};
    struct tried_run further = {
        {&program, &recording.result, recording.error, context, launch_further}, &ceiling};
    program.config.kinds = program.config.sharing_ms = program.config.ahead = 0;
    strcpy(recording.path, first->path);
    program.path = recording.path;
    bool good = launch_log_create(recording.output, recording.log_path, &recording.log,
                                  recording.error) == LAUNCH_OK;
    program.log = recording.log;
    good = good && record(&further.run) == LAUNCH_OK && write_further(&recording, &ceiling, place);
    if (!good)
        snprintf(error, LAUNCH_ERROR_BYTES, "%s", recording.error);
    recording_close(&recording, false);
    trial_result_free(&ceiling.result);
    return good;
}

/* ---- the command line ------------------------------------------------------------------------------ */

static const struct option_spec ceiling_options[] = {
    {"loop", 0, OPTION_TEXT, OWN(ceiling_settings, loops), .argument = "LIST",
     .help = "Try these loops alone: names of functions or FILE:LINE, separated by commas. "
             "Default: the "
             "loops in which the program spends most CPU time."},
    {"variants", 0, OPTION_TEXT, OWN(ceiling_settings, variants), .argument = "LIST",
     .help =
         "Also try each loop in other forms, separated by commas: l2 and l3, with its data in the "
         "second-level and third-level cache; ls, its loads and stores alone; fp, its arithmetic "
         "alone. Default: l1, with its data in the first-level cache, which is always tried."},
    {"budget", 0, OPTION_REAL, FIELD(budget), .low = 0.001, .high = 0.5, .argument = "SHARE",
     .help = "Of the program's CPU time, hold its threads for trials for about SHARE at most. More "
             "gives short programs more trials. Default: 3%."},
    OPTION_OUTPUT("ceiling"),
    OPTION_FOLLOW,
    OPTIONS_REPORT,
    OPTIONS_LAST,
};

const struct verb ceiling_verb = {
    .name = "ceiling",
    .summary = "find how fast loops would be with all their data in the first-level cache",
    .arguments = "[--] COMMAND [ARGUMENT...]",
    .description =
        "Runs COMMAND and measures, for the innermost loops in which it spends most CPU time, how "
        "many cycles an iteration takes and how many it would take if every access hit the "
        "first-level cache. The gap between both is the most that better locality, such as "
        "tiling, can save; without a gap something else than memory bounds the loop. With "
        "--variants it also tries which level of the caches would do, and whether loads and stores "
        "or arithmetic bound the loop.\n\n"
        "From time to time a thread that comes to such a loop is stopped and executes a copy of it "
        "in which each operand in memory is replaced by one in a small piece of memory. Then its "
        "registers are put back and it executes the loop itself. The program's data are not "
        "changed. Functions of the same file that the loop calls are in the copy, too. "
        "Loops that gather, that branch or end in a way that cannot be repeated, or that call what "
        "cannot be copied, such as functions of other libraries or with loops of their own, are "
        "not measured; the report says why of each. In a program compiled through 'headroom cc "
        "--ceiling', loops that take a short time whenever they are executed are measured as well: "
        "a nop before such a loop becomes a jump while it is tried, which is all that is changed "
        "in the program's code.\n\n"
        "COMMAND needs no preparation; compile it with -g to see source lines. It must be a "
        "dynamically linked x86-64 program, or a script run by one. Its input, output and exit "
        "status are its own; the report goes to standard error when it has ended. Options end "
        "at the first word that is not an option." COMMAND_END,
    .exit_status = COMMAND_STATUS,
    .options = ceiling_options,
    .usage_code = 125,
    .operands = OPERANDS_COMMAND,
    .run = ceiling_run,
    .every_access = "'headroom limits FILE'",
    .own_bytes = sizeof(struct ceiling_settings),
};
