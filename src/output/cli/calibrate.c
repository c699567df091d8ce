// SPDX-License-Identifier: MIT
/* `headroom calibrate`: measures this machine's instructions, keeps the model, prints it. */
#include "cli/common.h"
#include "cli/verbs.h"

#include "calibrate/calibrate.h"
#include "model/model.h"
#include "show/json.h"
#include "util/util.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { CALIBRATE_FAILED = 1, FORMS_LISTED = 4000 };

struct calibrate_settings {
    int quick, kept;
    const char *forms;
};

/* ---- what rules say ------------------------------------------------------------------------------- */

static const struct {
    uint32_t rule;
    const char *name, *text;
} rules[] = {
    {MODEL_FUSES_LOADS, "fuses-loads", "a load and the operation on it are one slot"},
    {MODEL_FUSES_STORES, "fuses-stores", "a store is one slot"},
    {MODEL_FUSES_COMPARE, "fuses-compare", "cmp, test and a branch are one slot"},
    {MODEL_FUSES_ARITHMETIC, "fuses-arithmetic", "so are add, sub, inc, dec, and"},
    {MODEL_FUSES_MEMORY, "fuses-memory", "so is cmp of memory and a branch"},
    {MODEL_MEMORY_IMMEDIATE, "fuses-memory-immediate", "so is cmp of memory and a constant"},
    {MODEL_MOVES_GENERAL, "moves-general", "moves of general registers take no unit and no time"},
    {MODEL_MOVES_VECTOR, "moves-vector", "moves of vector registers take no unit and no time"},
    {MODEL_STACK_ENGINE, "stack-engine", "push and pop do not wait for rsp"},
    {MODEL_MERGES_LOW, "merges-low", "writing 8 or 16 bits of a register waits for the rest"},
    {MODEL_FORWARDS_FRAME, "forwards-frame", "store to load is as fast with rbp as with rsp"},
    {MODEL_RENAMES_MEMORY, "renames-memory", "a load of what was just stored takes no time"},
};

/* ---- text -------------------------------------------------------------------------------------------- */

static void print_head(const struct model_machine *machine, const struct model *model,
                       const struct calibrate_report *report)
{
    printf("%s\n", machine->title);
    if (!report) {
        printf("%zu instruction forms, measured before%s.\n", model_count(model),
               machine->quick ? " (the quick set)" : "");
        return;
    }
    printf("%zu of %zu instruction forms measured in %.1f s%s.\n", report->measured, report->forms,
           report->seconds, machine->quick ? " (the quick set)" : "");
    if (report->shared)
        printf("Something else used the core all the time: the figures are too high.\n"
               "Try again when the machine, and the host of a virtual one, is less busy.\n");
    printf("Nothing else used the core in %.0f %% of the moments looked at", 100 * report->alone);
    if (report->rough)
        printf(";\n%zu forms never were undisturbed for long enough: the best of many",
               report->rough);
    printf(".\n");
}

static void print_machine(const struct model_machine *machine)
{
    printf("\nThe machine, in cycles of its core\n");
    for (int i = 0; i < MODEL_FIGURES; i++)
        if (machine->figures[i].source)
            printf("  %8.4g  %s\n", (double)machine->figures[i].value,
                   model_figure_title((enum model_figure_kind)i));
    for (size_t i = 0; i < BASE_COUNT(rules); i++)
        printf("  %8s  %s\n", machine->rules & rules[i].rule ? "yes" : "no", rules[i].text);
}

/* Cycles that the form after which a resource is named takes of it. */
static double own_share(const struct model *model, size_t unit)
{
    const char *name = model_machine(model)->units[unit].name;
    const struct model_figures *figures = model_find(model, name, strlen(name));
    for (size_t i = 0; figures && i < figures->use_count; i++)
        if (figures->uses[i].units == (model_set)1 << unit)
            return (double)figures->uses[i].cycles;
    for (size_t i = 0; figures && i < figures->busy_count; i++)
        if (figures->busy[i].unit == unit)
            return (double)figures->busy[i].least;
    return 0;
}

static void print_units(const struct model *model)
{
    const struct model_machine *machine = model_machine(model);
    printf("\nResources, named after instructions that keep them busy, and how many of these fit "
           "into a cycle\n");
    for (size_t i = 0; i < machine->unit_count; i++) {
        double share = own_share(model, i);
        if (share > 0)
            printf("  %8.3g  %s\n", 1 / share, machine->units[i].name);
        else if (i > 0)
            printf("  %8s  %s\n", "", machine->units[i].name);
    }
}

static void print_range(double least, double most)
{
    printf(most > least ? "%.4g-%.4g" : "%.4g", least, most);
}

static void print_form(const struct model *model, const char *key,
                       const struct model_figures *figures)
{
    printf("%-32s %8.3f %5.3g ", key, (double)figures->throughput, (double)figures->fused);
    for (size_t i = 0; i < figures->latency_count; i++) {
        const struct model_latency *each = figures->latencies + i;
        printf(" ");
        if (each->from != MODEL_ANY || each->to != MODEL_ANY)
            printf(each->from == MODEL_ANY ? "*" : "%u", each->from);
        if (each->from != MODEL_ANY || each->to != MODEL_ANY)
            printf(each->to == MODEL_ANY ? ">*:" : ">%u:", each->to);
        print_range((double)each->least, (double)each->most);
    }
    printf("  |");
    for (size_t i = 0; i < figures->use_count; i++)
        if (figures->uses[i].units != 1)
            printf(" %s:%.3g",
                   model_machine(model)->units[__builtin_ctzll(figures->uses[i].units)].name,
                   (double)figures->uses[i].cycles);
    for (size_t i = 0; i < figures->busy_count; i++) {
        printf(" %s:", model_machine(model)->units[figures->busy[i].unit].name);
        print_range((double)figures->busy[i].least, (double)figures->busy[i].most);
    }
    printf("%s%s%s\n", figures->idioms & MODEL_ZEROES ? " zero" : "",
           figures->idioms & MODEL_BREAKS ? " independent" : "",
           figures->idioms & MODEL_MOVES ? " renamed" : "");
}

static void print_forms(const struct model *model, const char *pattern)
{
    size_t found = 0;
    printf("\nForms: cycles of one of many, slots, latency (operand>operand:cycles), "
           "resources\n");
    for (size_t i = 0; i < model_count(model); i++) {
        const char *key;
        const struct model_figures *figures = model_at(model, i, &key);
        if (!strstr(key, pattern))
            continue;
        print_form(model, key, figures);
        found++;
    }
    if (!found)
        printf("none\n");
}

static void print_text(const struct model *model, const struct calibrate_report *report,
                       const char *pattern)
{
    print_head(model_machine(model), model, report);
    print_machine(model_machine(model));
    print_units(model);
    if (pattern)
        print_forms(model, pattern);
}

/* ---- JSON --------------------------------------------------------------------------------------------- */

static void json_form(struct json *json, const struct model *model, const char *key,
                      const struct model_figures *figures)
{
    json_begin_item(json);
    json_text(json, "form", key);
    json_decimal(json, "throughput", (double)figures->throughput, 6);
    json_decimal(json, "slots", (double)figures->fused, 6);
    json_begin(json, "latencies", '[');
    for (size_t i = 0; i < figures->latency_count; i++) {
        const struct model_latency *each = figures->latencies + i;
        json_begin_item(json);
        if (each->from != MODEL_ANY)
            json_count(json, "from", each->from);
        if (each->to != MODEL_ANY)
            json_count(json, "to", each->to);
        json_decimal(json, "least", (double)each->least, 6);
        json_decimal(json, "most", (double)each->most, 6);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_begin(json, "resources", '{');
    for (size_t i = 0; i < figures->use_count; i++)
        json_decimal(json,
                     model_machine(model)->units[__builtin_ctzll(figures->uses[i].units)].name,
                     (double)figures->uses[i].cycles, 6);
    for (size_t i = 0; i < figures->busy_count; i++)
        json_decimal(json, model_machine(model)->units[figures->busy[i].unit].name,
                     (double)figures->busy[i].least, 6);
    json_close(json, '}');
    json_close(json, '}');
}

static void json_report(struct json *json, const struct calibrate_report *report)
{
    json_begin(json, "measuring", '{');
    json_count(json, "tried", report->forms);
    json_count(json, "measured", report->measured);
    json_count(json, "runs", report->bursts);
    json_decimal(json, "alone", report->alone, 6);
    json_count(json, "rough", report->rough);
    json_flag(json, "shared", report->shared);
    json_decimal(json, "ticks_a_cycle", report->ticks, 6);
    json_decimal(json, "seconds", report->seconds, 6);
    json_close(json, '}');
}

static void print_json(const struct model *model, const struct calibrate_report *report,
                       const char *pattern)
{
    const struct model_machine *machine = model_machine(model);
    struct json json = {.out = stdout};
    json_open(&json, '{');
    json_text(&json, "schema", "headroom-calibrate/1");
    json_text(&json, "machine", machine->title);
    json_flag(&json, "quick", machine->quick);
    json_count(&json, "forms_known", model_count(model));
    if (report)
        json_report(&json, report);
    json_begin(&json, "figures", '{');
    for (int i = 0; i < MODEL_FIGURES; i++)
        if (machine->figures[i].source)
            json_decimal(&json, model_figure_name((enum model_figure_kind)i),
                         (double)machine->figures[i].value, 6);
    json_close(&json, '}');
    json_begin(&json, "rules", '{');
    for (size_t i = 0; i < BASE_COUNT(rules); i++)
        json_flag(&json, rules[i].name, machine->rules & rules[i].rule);
    json_close(&json, '}');
    json_begin(&json, "resources", '[');
    for (size_t i = 0; i < machine->unit_count; i++) {
        json_item(&json);
        json_quote(&json, machine->units[i].name);
    }
    json_close(&json, ']');
    if (pattern) {
        json_begin(&json, "forms", '[');
        for (size_t i = 0; i < model_count(model); i++) {
            const char *key;
            const struct model_figures *figures = model_at(model, i, &key);
            if (strstr(key, pattern))
                json_form(&json, model, key, figures);
        }
        json_close(&json, ']');
    }
    json_close(&json, '}');
    fputs("\n", stdout);
}

/* ---- the verb ------------------------------------------------------------------------------------------- */

static void step(void *context, size_t done, size_t total)
{
    progress_step(context, "measuring this machine's instructions", done, total);
}

enum base_status machine_open(const char *name, bool quiet, struct model **model,
                              struct util_text *why)
{
    struct progress progress = {0};
    progress_begin(&progress, quiet);
    enum base_status status = strcmp(name, "here") ? model_open(name, model, why)
                                                   : calibrate_here(step, &progress, model, why);
    progress_end(&progress);
    if (status == BASE_OK && model_machine(*model)->shared && !quiet)
        say("something else used the processor's core while its instructions were measured: bounds "
            "are too high. 'headroom calibrate' measures again.");
    return status;
}

/* Of a core that nothing else used, and of no fewer forms. */
static bool better_is_kept(const struct model_machine *made)
{
    struct model *kept = NULL;
    bool better = model_open("here", &kept, NULL) == BASE_OK && !model_machine(kept)->shared &&
                  (made->shared || (made->quick && !model_machine(kept)->quick));
    model_close(kept);
    return better;
}

static enum base_status measure(const struct calibrate_settings *own, struct model **model,
                                struct calibrate_report *report, struct util_text *why)
{
    struct progress progress = {0};
    progress_begin(&progress, false);
    enum base_status status = calibrate(own->quick, step, &progress, model, report, why);
    progress_end(&progress);
    if (status == BASE_OK && better_is_kept(model_machine(*model)))
        say("the model that was measured before is kept, since it %s.",
            model_machine(*model)->shared ? "was less disturbed" : "has all instructions");
    else if (status == BASE_OK && !model_keep(*model))
        say("the model could not be kept, and will be measured again when it is needed; "
            "$HEADROOM_CACHE names another folder.");
    return status;
}

static int calibrate_run(const struct settings *settings, int count, char **operands)
{
    struct calibrate_settings own;
    struct calibrate_report report = {0};
    struct util_text why = {0};
    struct model *model = NULL;
    memcpy(&own, settings->own, sizeof own);
    if (own.forms && !strcmp(own.forms, "all"))
        own.forms = "";
    if (count)
        return say_usage("calibrate", "it takes no argument such as '%s'", operands[0]);
    enum base_status status =
        own.kept ? model_open("here", &model, &why) : measure(&own, &model, &report, &why);
    if (status != BASE_OK) {
        say("%s.", why.bytes ? why.bytes : base_status_text(status));
        util_text_free(&why);
        return CALIBRATE_FAILED;
    }
    if (settings->format == FORMAT_JSON)
        print_json(model, own.kept ? NULL : &report, own.forms);
    else
        print_text(model, own.kept ? NULL : &report, own.forms);
    model_close(model);
    util_text_free(&why);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        say("cannot write to standard output: %s.", strerror(errno));
        return CALIBRATE_FAILED;
    }
    return 0;
}

static const struct calibrate_settings own_defaults;

static const struct option_spec calibrate_options[] = {
    {"quick", 0, OPTION_FLAG, OWN(calibrate_settings, quick), .value = 1,
     .help = "Measure only what compilers make of most programs, which takes at most 3 seconds. It "
             "does not take the place of a model of all instructions."},
    {"kept", 0, OPTION_FLAG, OWN(calibrate_settings, kept), .value = 1,
     .help = "Measure nothing; print the model that is kept."},
    {"forms", 0, OPTION_TEXT, OWN(calibrate_settings, forms), .argument = "TEXT",
     .help =
         "Print the figures of all instruction forms whose name contains TEXT, too: 'all' prints "
         "all, 'add_' additions. A form is an instruction with the kinds of its operands: "
         "add_r64_m64, vaddpd.v_y_y_y."},
    OPTION_FORMAT,
    OPTION_HELP,
    OPTION_END,
};

const struct verb calibrate_verb = {
    .name = "calibrate",
    .summary = "measure what instructions cost on this machine",
    .arguments = "",
    .description =
        "Measures, without performance counters, what every instruction that this processor "
        "executes costs: latency from each operand to each, throughput, slots of the front end, "
        "and which execution resources it shares with others; and of the machine its width, loads "
        "and stores a cycle, and how long data takes through memory. That takes at "
        "most 45 seconds, the more the busier the machine is, and one processor. What is disturbed "
        "meanwhile, by changes of frequency, by other programs on the same core or by the "
        "scheduler, is measured again.\n\n"
        "The model is kept, for this processor and its microcode, in $HEADROOM_CACHE, else "
        "$XDG_CACHE_HOME/headroom, else ~/.cache/headroom.",
    .exit_status = "0 on success, 1 if this machine cannot be measured or nothing is kept, 2 for "
                   "wrong options.",
    .options = calibrate_options,
    .usage_code = 2,
    .own_defaults = &own_defaults,
    .own_bytes = sizeof own_defaults,
    .run = calibrate_run,
};
