// SPDX-License-Identifier: MIT
/*
 * What the profile says about the run itself: the machine, the settings, and the
 * accounts of the samples. Every attempted sample is stored or dropped for a
 * reason; a thread that was killed in mid-sample leaves one "unfinished".
 */
#include "import/internal.h"

#include "analysis/analysis.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

bool import_degraded(struct profile *profile, const char *format, ...)
{
    char sentence[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < profile->degraded_count; i++)
        if (strcmp(profile->degraded[i].text, sentence) == 0)
            return true;
    const char *kept = profile_keep(profile, sentence);
    struct profile_text *added = kept ? profile_add_degraded(profile) : NULL;
    if (added)
        added->text = kept;
    return added != NULL;
}

/* ---- accounts ------------------------------------------------------------------------------- */

struct accounts {
    struct wire_counters sum;
    uint64_t lost_counters; /* threads whose counters are not in the log  */
    uint64_t disagreeing;   /* threads whose counters do not add up       */
    struct profile_kind kinds[PROFILE_KINDS];
};

/* Counters come from memory that the program may have overwritten. */
static uint64_t plausible(uint64_t value)
{
    static const uint64_t most = UINT64_C(1) << 32; /* 1000 samples a second for seven weeks */
    return value > most ? 0 : value;
}

static void repair_counters(struct wire_counters *counters)
{
    uint64_t *values = (uint64_t *)(void *)counters;
    for (size_t i = 0; i < sizeof *counters / sizeof *values; i++)
        if (&values[i] != &counters->handler_ns)
            values[i] = plausible(values[i]);
    if (counters->handler_ns > INT64_MAX / 4096)
        counters->handler_ns = 0;
}

/* What the records show, for a thread whose counters were lost. */
static void counters_from_records(struct import_thread *thread)
{
    for (int kind = 0; kind < PROFILE_KINDS; kind++) {
        thread->counters.samples[kind] = thread->seen_samples[kind];
        thread->counters.armed[kind] = thread->seen_armed[kind];
        thread->counters.traps[kind] = thread->seen_traps[kind];
        thread->counters.attempted += thread->seen_samples[kind];
        thread->counters.stored += thread->seen_samples[kind];
    }
}

/* Makes attempted = stored + Σ dropped, by a sample cut off at the thread's end. */
static void balance(struct wire_counters *counters, struct accounts *accounts)
{
    uint64_t accounted = counters->stored;
    for (int i = 0; i < WIRE_DROPS; i++)
        accounted += counters->dropped[i];
    if (counters->attempted < accounted) {
        counters->attempted = accounted;
        accounts->disagreeing++;
        return;
    }
    uint64_t unfinished = counters->attempted - accounted;
    counters->dropped[WIRE_DROP_UNFINISHED] += unfinished;
    accounts->disagreeing += unfinished > 1;
}

static void add_kind(struct profile_kind *kind, const struct wire_counters *counters, int k)
{
    kind->samples += counters->samples[k];
    kind->armed += counters->armed[k];
    kind->traps += counters->traps[k];
    kind->ignored += counters->ignored[k];
    kind->evicted += counters->evicted[k];
    kind->abandoned += counters->abandoned[k];
    if (kind->blind_longest < counters->blind_longest[k])
        kind->blind_longest = counters->blind_longest[k];
}

static void add_counters(struct accounts *accounts, const struct wire_counters *counters)
{
    struct wire_counters *sum = &accounts->sum;
    sum->attempted += counters->attempted;
    sum->stored += counters->stored;
    for (int i = 0; i < WIRE_DROPS; i++)
        sum->dropped[i] += counters->dropped[i];
    for (int kind = 0; kind < PROFILE_KINDS; kind++)
        add_kind(&accounts->kinds[kind], counters, kind);
    sum->ambiguous_traps += counters->ambiguous_traps;
    sum->late_traps += counters->late_traps;
    sum->kernel_traps += counters->kernel_traps;
    sum->agent_traps += counters->agent_traps;
    sum->broken_stacks += counters->broken_stacks;
    sum->handler_ns += counters->handler_ns;
    sum->hops += counters->hops;
}

static bool add_counter(struct profile *profile, uint32_t thread, const char *name, uint64_t value)
{
    struct profile_counter *counter = value ? profile_add_counters(profile) : NULL;
    if (counter)
        *counter = (struct profile_counter){thread, name, value};
    return counter || !value;
}

static bool list_counters(struct profile *profile, uint32_t thread,
                          const struct wire_counters *counters)
{
    static const char *const dropped[WIRE_DROPS] = {
        "dropped_kernel",    "dropped_no_access",  "dropped_unforeseen", "dropped_blocked",
        "dropped_refused",   "dropped_watchpoint", "dropped_signal",     "dropped_unwind",
        "dropped_tree_full", "dropped_log_full",   "dropped_busy",       "dropped_unfinished",
        "dropped_agent"};
    const struct {
        const char *name;
        uint64_t value;
    } others[] = {{"ambiguous_traps", counters->ambiguous_traps},
                  {"late_traps", counters->late_traps},
                  {"kernel_traps", counters->kernel_traps},
                  {"agent_traps", counters->agent_traps},
                  {"broken_stacks", counters->broken_stacks},
                  {"handler_ns", counters->handler_ns},
                  {"hops", counters->hops},
                  {"degraded", counters->degraded}};
    bool good = true;
    for (size_t i = 0; i < WIRE_DROPS && good; i++)
        good = add_counter(profile, thread, dropped[i], counters->dropped[i]);
    for (size_t i = 0; i < BASE_COUNT(others) && good; i++)
        good = add_counter(profile, thread, others[i].name, others[i].value);
    return good;
}

static bool account_threads(struct import_gather *gather, struct accounts *accounts)
{
    for (size_t i = 0; i < gather->profile->threads_count; i++) {
        struct import_thread *thread = &gather->threads[i];
        if (thread->has_counters) {
            repair_counters(&thread->counters);
        } else {
            counters_from_records(thread);
            accounts->lost_counters++;
        }
        balance(&thread->counters, accounts);
        add_counters(accounts, &thread->counters);
        gather->profile->threads[i].attempted = thread->counters.attempted;
        gather->profile->threads[i].stored = thread->counters.stored;
        if (!list_counters(gather->profile, (uint32_t)i, &thread->counters))
            return false;
    }
    return true;
}

static bool store_accounts(struct import_gather *gather, const struct accounts *accounts)
{
    struct profile *profile = gather->profile;
    profile->run.attempted = accounts->sum.attempted;
    profile->run.stored = accounts->sum.stored;
    profile->run.handler_ns = accounts->sum.handler_ns;
    for (int i = 0; i < WIRE_DROPS; i++) {
        struct profile_drop *drop = accounts->sum.dropped[i] ? profile_add_drops(profile) : NULL;
        if (accounts->sum.dropped[i] && !drop)
            return false;
        if (drop)
            *drop = (struct profile_drop){wire_drop_names[i], wire_drop_sentences[i],
                                          accounts->sum.dropped[i]};
    }
    for (uint32_t i = 0; i < PROFILE_KINDS; i++) {
        struct profile_kind *kind =
            gather->log->config.kinds >> i & 1 ? profile_add_kinds(profile) : NULL;
        if ((gather->log->config.kinds >> i & 1) && !kind)
            return false;
        if (kind) {
            *kind = accounts->kinds[i];
            kind->kind = i;
        }
    }
    return true;
}

/* ---- degradations that the log itself shows -------------------------------------------------- */

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static bool tell_damage(struct import_gather *gather, const struct accounts *accounts)
{
    struct profile *profile = gather->profile;
    bool good = !gather->log->beheaded ||
                import_degraded(profile, "the raw log was overwritten or cut short while the "
                                         "program ran: what it held until then is missing");
    if (profile->run.corrupt_records)
        good = good && import_degraded(profile, "%" PRIu64 " damaged record%s left out",
                                       profile->run.corrupt_records,
                                       profile->run.corrupt_records == 1 ? " was" : "s were");
    if (gather->log->missing)
        good = good && import_degraded(profile, "%" PRIu64 " piece%s of the log could not be found",
                                       gather->log->missing, gather->log->missing == 1 ? "" : "s");
    if (accounts->lost_counters)
        good = good && import_degraded(profile,
                                       "the counters of %" PRIu64
                                       " thread%s lost: the samples they dropped are unknown",
                                       accounts->lost_counters,
                                       accounts->lost_counters == 1 ? " were" : "s were");
    if (accounts->disagreeing)
        good = good &&
               import_degraded(profile,
                               "the counters of %" PRIu64 " thread%s not add up: "
                               "the program may have overwritten them",
                               accounts->disagreeing, accounts->disagreeing == 1 ? " do" : "s do");
    return good;
}

/* Below one in a hundred the reader could not see the difference; one or two that a short run happens to have say nothing. */
static bool is_worth_saying(uint64_t part, uint64_t whole)
{
    return profile_share((double)part, (double)whole, (double)whole).low >= 0.01;
}

static bool tell_quality(struct import_gather *gather, const struct accounts *accounts)
{
    struct profile *profile = gather->profile;
    const struct wire_counters *sum = &accounts->sum;
    uint64_t traps = 0;
    for (int i = 0; i < PROFILE_KINDS; i++)
        traps += accounts->kinds[i].traps;
    uint64_t contexts = sum->stored + traps;
    bool good = true;
    if (is_worth_saying(sum->broken_stacks, contexts))
        good = good && import_degraded(profile,
                                       "%.0f %% of the calling contexts are incomplete: "
                                       "outer callers are missing",
                                       fmin(100, percent(sum->broken_stacks, contexts)));
    if (is_worth_saying(sum->ambiguous_traps, traps + sum->ambiguous_traps))
        good = good && import_degraded(profile,
                                       "for %.0f %% of the traps the instruction could not be "
                                       "identified with certainty: these are left out",
                                       percent(sum->ambiguous_traps, traps + sum->ambiguous_traps));
    if (is_worth_saying(sum->agent_traps, traps + sum->agent_traps))
        good =
            good && import_degraded(profile,
                                    "%.0f %% of the traps were headroom's own code touching what "
                                    "it watched, in calls that it wraps: they are left out",
                                    percent(sum->agent_traps, traps + sum->agent_traps));
    return good;
}

/* ---- the run --------------------------------------------------------------------------------- */

static const char *cpu_model(struct profile *profile)
{
    char line[512];
    const char *model = NULL;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !model && fgets(line, sizeof line, file)) {
        char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = 0;
        model = profile_keep(profile, value);
    }
    if (file)
        fclose(file);
    return model;
}

void import_describe_machine(struct profile *profile)
{
    struct utsname names;
    if (uname(&names) == 0) {
        profile->run.host = profile_keep(profile, names.nodename);
        profile->run.kernel = profile_keep(profile, names.release);
    }
    profile->run.cpu = cpu_model(profile);
}

static void describe_settings(struct profile *profile, const struct wire_config *config, bool exact)
{
    struct profile_run *run = &profile->run;
    run->version = HEADROOM_VERSION;
    run->source = config->source == WIRE_SOURCE_CLOCK   ? "clock"
                  : config->source == WIRE_SOURCE_PMU   ? "pmu"
                  : config->source == WIRE_SOURCE_COUNT ? "count"
                                                        : NULL;
    run->weighting = config->source == WIRE_SOURCE_CLOCK ? "cpu-time" : "accesses";
    run->interval_ns = config->source == WIRE_SOURCE_CLOCK ? config->interval_ns & INT64_MAX : 0;
    run->adaptive = config->source == WIRE_SOURCE_CLOCK && config->adaptive != 0 && !exact;
    run->period = config->source == WIRE_SOURCE_CLOCK ? 0 : config->period & INT64_MAX;
    run->registers = config->registers;
    run->watch_kernel = config->watch_kernel != 0 || exact;
    run->fp_tolerance =
        config->fp_tolerance >= 0 && config->fp_tolerance < 1e6F ? (double)config->fp_tolerance : 0;
}

/* Images that left no counts had a thread too. */
static uint64_t exact_threads(const struct profile *profile)
{
    uint64_t threads = 0, uncounted = profile->processes_count;
    for (size_t i = 0; i < profile->exacts_count; i++) {
        threads += profile->exacts[i].threads;
        uncounted -= uncounted > 0 && profile->exacts[i].threads > 0;
    }
    return threads + uncounted;
}

/* An image that exec'd in place goes on with its predecessor's process and thread. */
static void count_images(struct profile *profile, bool exact)
{
    uint64_t continued = 0, threads = exact ? exact_threads(profile) : profile->threads_count;
    for (size_t i = 0; i < profile->processes_count; i++) {
        const struct profile_process *process = &profile->processes[i];
        for (size_t j = 0; j < i && !process->forked; j++) {
            if (profile->processes[j].pid == process->pid) {
                continued++;
                break;
            }
        }
    }
    profile->run.processes = profile->processes_count - continued;
    profile->run.threads = threads > continued ? threads - continued : 0;
}

bool import_describe_run(struct profile *profile, const struct import_run *run)
{
    if (run->exited)
        profile->run.exit_code = run->exit_code & 255;
    else if (run->signal > 0 && run->signal <= 128)
        profile->run.exit_signal = run->signal;
    profile->run.wall_s = run->wall_s;
    profile->run.cpu_s = run->cpu_s;
    profile->run.system_s = run->system_s;
    profile->run.start_ns = run->start_ns & INT64_MAX;
    profile->run.lost_threads = plausible(run->lost_threads);
    profile->run.short_threads = plausible(run->short_threads);
    profile->run.lost_processes = plausible(run->lost_processes);
    if (run->command)
        profile->arguments_count = 0; /* the images' own may be cut */
    for (char *const *argument = run->command; argument && *argument; argument++) {
        struct profile_text *added = profile_add_arguments(profile);
        if (!added || !(added->text = profile_keep(profile, *argument)))
            return false;
    }
    for (const char *const *sentence = run->degraded; sentence && *sentence; sentence++)
        if (!import_degraded(profile, "%s", *sentence))
            return false;
    return !run->log_truncated ||
           import_degraded(profile, "the log is incomplete: the disk was full while recording");
}

/* The verb whose recording left the log. */
static const char *left_by(const struct import_gather *gather)
{
    const struct analysis_log log = {.exact = gather->exact,
                                     .spans = gather->spans && !gather->log->config.clones,
                                     .clones = gather->log->config.clones != 0,
                                     .paths = gather->paths,
                                     .sharing = gather->log->config.sharing_ms ||
                                                gather->profile->shared_runs_count > 0,
                                     .kinds = gather->log->config.kinds};
    const struct analysis *const *at = analyses;
    while (at[1] && !(*at)->left(&log))
        at++;
    return (*at)->name;
}

static bool describe_given(struct import_gather *gather, const struct import_run *run)
{
    struct profile *profile = gather->profile;
    profile->run.verb = profile_keep(profile, run ? run->verb : left_by(gather));
    profile->run.engine = profile_keep(profile, run             ? run->engine
                                                : gather->exact ? "exact"
                                                                : "live");
    if (!profile->run.verb || !profile->run.engine)
        return false;
    return !run || import_describe_run(profile, run);
}

/* A log without its recording: what the processes and threads say is used. */
static void describe_from_log(struct profile *profile)
{
    uint64_t cpu_ns = 0;
    if (profile->processes_count)
        profile->run.start_ns = profile->processes[0].start_ns;
    for (size_t i = 0; i < profile->threads_count; i++)
        cpu_ns += profile->threads[i].cpu_ns;
    if (cpu_ns)
        profile->run.cpu_s = (double)cpu_ns / 1e9;
}

bool import_describe(struct import_gather *gather, const struct import_run *run)
{
    struct profile *profile = gather->profile;
    struct accounts accounts = {0};
    if (!describe_given(gather, run))
        return false;
    import_describe_machine(profile);
    describe_settings(profile, &gather->log->config, gather->exact);
    count_images(profile, gather->exact);
    if (!run)
        describe_from_log(profile);
    profile->run.corrupt_records = gather->corrupt + gather->log->damaged + gather->log->torn +
                                   (run ? plausible(run->corrupt_records) : 0);
    /* Neither the exact engine nor timing spans takes samples that threads could account for. */
    bool samples = !gather->exact && !gather->spans;
    return import_caches(profile) && (!samples || account_threads(gather, &accounts)) &&
           store_accounts(gather, &accounts) && tell_damage(gather, &accounts) &&
           (gather->exact ? import_exact_tell(gather) : tell_quality(gather, &accounts));
}
