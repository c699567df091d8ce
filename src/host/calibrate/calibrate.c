// SPDX-License-Identifier: MIT
/*
 * The whole: a child process measures, form by form, into memory that it shares with its parent. A form that kills the child
 * (which signals do not, but what it does to the process may) is left out, and another child goes on behind it.
 */
#include "calibrate/internal.h"
#include "keep/keep.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN_MAX = 64, WHY_BYTES = 256, ROUNDS = 5 };

/* All of that is taken only if neighbours make it measure again. The child is killed a little later. */
static const double quick_s = 2.8, some_s = 12, whole_s = 45, grace_s = 5;

/* How long a measurement waits for the core. Of the machine and kernels, which all else rests on: the first one, until that part of the time is
   over. Of forms: the second one, and twice as long each time that they are measured again. */
static const double patience_first_ns = 30e6, patience_ns = 1e6;
static const double first_part = 0.4;

struct entry {
    bool tried;
    uint32_t rough;               /* measurements for which patience ended */
    struct model_figures figures; /* throughput 0: none */
};

struct shared {
    volatile size_t at; /* form that is measured */
    volatile bool begun, done;
    enum base_status status;
    char why[WHY_BYTES];
    struct facts facts;
    struct kernels kernels;
    struct calibrate_report report;
    struct entry entries[]; /* by form */
};

struct calibration {
    bool quick; /* of some forms alone */
    double limit_s;
    struct form *forms;
    size_t count;
    struct shared *shared;
    size_t shared_bytes;
    double start_s;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- in the child --------------------------------------------------------------------------------- */

/* The unit that a division keeps busy is not used beside, but for a time that depends on values. */
static void measure_divider(struct lab *lab, struct sample *sample, struct model_figures *figures)
{
    struct copies copies;
    double least = (double)figures->throughput, most = 0;
    size_t unit = MODEL_PARTS;
    if (copies_make(sample, HALF_BOTH, true, &copies))
        most = copies_throughput(lab, &copies);
    if (most < least)
        most = least;
    for (size_t i = 0; i < figures->use_count; i++)
        if (figures->uses[i].units != 1 && (double)figures->uses[i].cycles > 0.85 * least)
            unit = i;
    if (unit == MODEL_PARTS)
        return;
    figures->busy[figures->busy_count++] =
        (struct model_busy){.unit = (uint8_t)__builtin_ctzll(figures->uses[unit].units),
                            .least = (float)least,
                            .most = (float)most};
    figures->uses[unit] = figures->uses[--figures->use_count];
    for (size_t i = 0; i < figures->latency_count; i++)
        if (!(figures->latencies[i].most > figures->latencies[i].least))
            figures->latencies[i].most += (float)(most - least);
}

static bool begins_with_one_of(const struct sample *sample, const char *const *names)
{
    const char *name = ZydisMnemonicGetString(sample->in.mnemonic);
    name += *name == 'v';
    for (; *names; names++)
        if (!strncmp(name, *names, strlen(*names)))
            return true;
    return false;
}

static const char *const may_be_idioms[] = {"xor",  "sub", "sbb",  "pxor",  "psub",
                                            "pcmp", "cmp", "andn", "pandn", NULL};
static const char *const may_wait[] = {"popcnt", "lzcnt", "tzcnt", "bsf", "bsr", NULL};

static bool is_move(const struct sample *sample)
{
    const char *name = ZydisMnemonicGetString(sample->in.mnemonic);
    return strstr(name, "mov") && sample->in.operand_count_visible == 2 &&
           sample_kind(sample, 0) == sample_kind(sample, 1) &&
           sample_kind(sample, 0) != KIND_MEMORY;
}

static void measure_branch(struct lab *lab, const struct shared *shared, const struct form *form,
                           struct model_figures *figures)
{
    struct copies copies;
    struct model_figures made = {.throughput_source = MODEL_MEASURED};
    copies_of_bytes(form->bytes, form->count, &copies);
    double throughput = copies_throughput(lab, &copies);
    if (throughput <= 0)
        return;
    made.throughput = (float)throughput;
    resources_share(lab, &shared->kernels, &shared->facts, &copies, &made);
    *figures = made;
}

static void measure_form(struct lab *lab, struct shared *shared, const struct form *form,
                         struct model_figures *figures)
{
    struct sample sample;
    struct model_figures made = {0};
    if (form->plain) {
        measure_branch(lab, shared, form, figures);
        return;
    }
    if (!sample_open(form, &sample) ||
        !resources_measure(lab, &shared->kernels, &shared->facts, &sample, &made))
        return;
    latency_measure(lab, &shared->facts, &sample, &made);
    if (sample_divides(&sample))
        measure_divider(lab, &sample, &made);
    if (begins_with_one_of(&sample, may_wait) && latency_waits(lab, &sample))
        made.idioms |= MODEL_WAITS;
    if (begins_with_one_of(&sample, may_be_idioms))
        made.idioms |= latency_idiom(lab, &shared->facts, &sample);
    if (is_move(&sample) && made.latency_count && (double)made.latencies[0].least < 0.6)
        made.idioms |= MODEL_MOVES;
    if (made.fused > CODED_SLOTS)
        made.idioms |= MODEL_CODED;
    *figures = made;
}

static void report_lab(const struct lab *lab, struct calibrate_report *report)
{
    report->bursts += lab->bursts;
    report->processor = lab->processor;
    report->shared = lab->shared || lab->lowered;
    if (lab->moments)
        report->alone = (double)lab->moments_alone / (double)lab->moments;
    if (lab->moments_alone)
        report->ticks = lab->ticks_sum / (double)lab->moments_alone;
}

static void begin(struct calibration *calibration, struct lab *lab)
{
    struct shared *shared = calibration->shared;
    if (shared->begun)
        return;
    lab->patience_ns = patience_first_ns;
    lab_hurry_after(lab, first_part * (calibration->start_s + calibration->limit_s - now_s()));
    facts_measure(lab, &shared->facts);
    kernels_find(lab, calibration->forms, calibration->count, &shared->kernels);
    facts_fusion(lab, &shared->kernels, &shared->facts);
    lab_do_not_hurry(lab);
    shared->begun = true;
}

static void measure_entry(struct calibration *calibration, struct lab *lab, size_t at)
{
    struct shared *shared = calibration->shared;
    struct entry *entry = shared->entries + at, made = {.tried = true};
    uint64_t rough = lab->rough;
    bool again = entry->tried;
    shared->at = at;
    entry->tried = true;
    measure_form(lab, shared, calibration->forms + at, &made.figures);
    made.rough = (uint32_t)(lab->rough - rough);
    if (!again || made.rough < entry->rough)
        *entry = made;
}

/* All that were not tried, then those again that were disturbed, while there is time. False: what was measured before is of a shared core. */
static bool measure_entries(struct calibration *calibration, struct lab *lab, double end_s)
{
    struct entry *entries = calibration->shared->entries;
    double middle_s =
        (calibration->start_s + end_s) / 2; /* later there is no time to begin again */
    size_t wanted = 1;
    for (unsigned round = 0; round < ROUNDS && wanted; round++) {
        wanted = 0;
        lab->patience_ns = patience_ns * (1U << round);
        for (size_t i = 0; i < calibration->count && now_s() < end_s; i++) {
            if (lab->lowered && now_s() < middle_s)
                return false;
            if (round ? !entries[i].rough : entries[i].tried)
                continue;
            measure_entry(calibration, lab, i);
        }
        for (size_t i = 0; i < calibration->count; i++)
            wanted += entries[i].rough > 0;
    }
    return true;
}

static void forget(struct calibration *calibration, struct lab *lab)
{
    struct shared *shared = calibration->shared;
    shared->begun = lab->lowered = lab->shared = false;
    memset(shared->entries, 0, calibration->count * sizeof *shared->entries);
}

static void child(struct calibration *calibration)
{
    struct shared *shared = calibration->shared;
    struct util_text why = {0};
    struct lab lab;
    double end_s = calibration->start_s + calibration->limit_s;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    shared->status = lab_open(&lab, calibration->quick, &why);
    if (shared->status != BASE_OK) {
        snprintf(shared->why, sizeof shared->why, "%s", why.bytes ? why.bytes : "no memory");
        shared->done = true;
        return;
    }
    begin(calibration, &lab);
    while (!measure_entries(calibration, &lab, end_s)) {
        forget(calibration, &lab);
        begin(calibration, &lab);
    }
    report_lab(&lab, &shared->report);
    shared->done = true;
}

/* ---- in the parent ----------------------------------------------------------------------------------- */

/* False: it was killed, by a form or because it did not end. */
static bool wait_for(struct calibration *calibration, pid_t pid, calibrate_step *step,
                     void *context)
{
    double end_s = calibration->start_s + calibration->limit_s + grace_s;
    int status;
    for (;;) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR))
            return calibration->shared->done;
        if (now_s() > end_s) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return false;
        }
        if (step)
            step(context, calibration->shared->at, calibration->count);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

static enum base_status run_children(struct calibration *calibration, calibrate_step *step,
                                     void *context, struct util_text *why)
{
    struct shared *shared = calibration->shared;
    for (unsigned children = 0; children < CHILDREN_MAX; children++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid < 0) {
            util_text_print(why, "no process could be started: %s", strerror(errno));
            return BASE_IO;
        }
        if (!pid) {
            child(calibration);
            _exit(0);
        }
        if (wait_for(calibration, pid, step, context))
            break;
        if (!shared->begun) {
            util_text_print(why, "measuring was killed before it had begun");
            return BASE_UNSUPPORTED;
        }
        shared->entries[shared->at].rough = 0;
    }
    if (shared->status != BASE_OK)
        util_text_print(why, "%s", shared->why);
    return shared->status;
}

/* ---- the model ------------------------------------------------------------------------------------------- */

static void fill_machine(const struct calibration *calibration, struct model *model)
{
    struct model_machine *machine = model_edit(model);
    const struct shared *shared = calibration->shared;
    char title[64];
    model_here(&machine->cpu, &machine->microcode, title);
    machine->source = MODEL_MEASURED;
    machine->quick = calibration->quick;
    machine->shared = shared->report.shared;
    machine->rules = shared->facts.rules;
    for (size_t i = 0; i < MODEL_FIGURES; i++)
        if (shared->facts.figures[i] > 0 || i == MODEL_FORWARD_GENERAL || i == MODEL_FORWARD_STACK)
            machine->figures[i] = (struct model_figure){.value = (float)shared->facts.figures[i],
                                                        .source = MODEL_MEASURED};
}

/* What is not run by itself costs what the form does that it is made of: a push stores, a pop loads, and every condition is
   looked at by the same units. */
static bool add_derived(struct model *model)
{
    static const struct {
        const char *key, *from;
    } derived[] = {{"push_r64", "mov_m64_r64"},
                   {"push_i", "mov_m64_i"},
                   {"pop_r64", "mov_r64_m64"},
                   {"jnz_i", "jz_i"},
                   {"jb_i", "jz_i"},
                   {"jnb_i", "jz_i"},
                   {"jbe_i", "jz_i"},
                   {"jnbe_i", "jz_i"},
                   {"jl_i", "jz_i"},
                   {"jnl_i", "jz_i"},
                   {"jle_i", "jz_i"},
                   {"jnle_i", "jz_i"},
                   {"js_i", "jz_i"},
                   {"jns_i", "jz_i"},
                   {"jo_i", "jz_i"},
                   {"jno_i", "jz_i"},
                   {"jp_i", "jz_i"},
                   {"jnp_i", "jz_i"}};
    for (size_t i = 0; i < BASE_COUNT(derived); i++) {
        const struct model_figures *from =
            model_find(model, derived[i].from, strlen(derived[i].from));
        if (!from)
            continue;
        struct model_figures figures = *from;
        figures.latency_source = figures.latency_source ? MODEL_DERIVED : MODEL_UNKNOWN;
        figures.throughput_source = figures.use_source = MODEL_DERIVED;
        if (!model_add(model, derived[i].key, &figures))
            return false;
    }
    return true;
}

static bool fill(const struct calibration *calibration, struct model *model)
{
    const struct shared *shared = calibration->shared;
    uint8_t unit;
    for (size_t k = 0; k < shared->kernels.count; k++)
        if (!model_add_unit(model, shared->kernels.items[k].name, 1, &unit))
            return false;
    fill_machine(calibration, model);
    for (size_t i = 0; i < calibration->count; i++)
        if (shared->entries[i].figures.throughput > 0 &&
            !model_add(model, calibration->forms[i].key, &shared->entries[i].figures))
            return false;
    return add_derived(model) && model_seal(model);
}

static enum base_status make_model(const struct calibration *calibration, struct model **out,
                                   struct util_text *why)
{
    uint64_t cpu, microcode;
    char title[64];
    model_here(&cpu, &microcode, title);
    struct model *model = model_new("here", title);
    if (!model || !fill(calibration, model)) {
        model_close(model);
        util_text_print(why, "no memory");
        return BASE_NO_MEMORY;
    }
    *out = model;
    return BASE_OK;
}

static void fill_report(const struct calibration *calibration, struct calibrate_report *report)
{
    *report = calibration->shared->report;
    report->forms = calibration->count;
    report->kernels = calibration->shared->kernels.count;
    report->seconds = now_s() - calibration->start_s;
    for (size_t i = 0; i < calibration->count; i++) {
        report->measured += calibration->shared->entries[i].figures.throughput > 0;
        report->rough += calibration->shared->entries[i].rough > 0;
    }
}

static enum base_status run_alone(const struct form_keys *only, double limit_s,
                                  calibrate_step *step, void *context, struct model **model,
                                  struct calibrate_report *report, struct util_text *why)
{
    struct calibration calibration = {.quick = only, .limit_s = limit_s, .start_s = now_s()};
    if (!forms_find(__builtin_cpu_supports("avx512f") && !only, only, &calibration.forms,
                    &calibration.count)) {
        util_text_print(why, "no memory");
        return BASE_NO_MEMORY;
    }
    calibration.shared_bytes =
        sizeof *calibration.shared + calibration.count * sizeof calibration.shared->entries[0];
    void *mapped = mmap(NULL, calibration.shared_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    enum base_status status = BASE_NO_MEMORY;
    if (mapped == MAP_FAILED) {
        util_text_print(why, "no memory");
    } else {
        calibration.shared = mapped;
        status = run_children(&calibration, step, context, why);
        if (status == BASE_OK)
            status = make_model(&calibration, model, why);
        if (status == BASE_OK && report)
            fill_report(&calibration, report);
        munmap(mapped, calibration.shared_bytes);
    }
    free(calibration.forms);
    return status;
}

/* Two at a time would measure each other. Who waits longer than the other may take, or has no folder to lock, measures all the same. -1:
   no folder. */
static int lock_others_out(void)
{
    int folder = keep_folder(true);
    if (folder >= 0)
        keep_lock(folder, whole_s + grace_s);
    return folder;
}

static enum base_status run(const struct form_keys *only, double limit_s, calibrate_step *step,
                            void *context, struct model **model, struct calibrate_report *report,
                            struct util_text *why)
{
    int folder = lock_others_out();
    enum base_status status = run_alone(only, limit_s, step, context, model, report, why);
    if (folder >= 0)
        close(folder);
    return status;
}

static struct form_keys quick_set(void)
{
    return (struct form_keys){common_forms, common_form_count};
}

enum base_status calibrate(bool quick, calibrate_step *step, void *context, struct model **model,
                           struct calibrate_report *report, struct util_text *why)
{
    struct form_keys common = quick_set();
    return run(quick ? &common : NULL, quick ? quick_s : whole_s, step, context, model, report,
               why);
}

enum base_status calibrate_some(const char *const *keys, struct model **model,
                                struct calibrate_report *report, struct util_text *why)
{
    struct form_keys some = {.keys = keys};
    while (keys[some.count])
        some.count++;
    return run(&some, some_s, NULL, NULL, model, report, why);
}

enum base_status calibrate_here(calibrate_step *step, void *context, struct model **model,
                                struct util_text *why)
{
    struct form_keys common = quick_set();
    enum base_status status = model_open("here", model, NULL);
    if (status == BASE_OK || status == BASE_NO_MEMORY)
        return status;
    int folder = lock_others_out();
    status = model_open("here", model, NULL); /* by who was waited for */
    if (status != BASE_OK && status != BASE_NO_MEMORY) {
        status = run_alone(&common, quick_s, step, context, model, NULL, why);
        if (status == BASE_OK)
            model_keep(*model);
    }
    if (folder >= 0)
        close(folder);
    return status;
}
