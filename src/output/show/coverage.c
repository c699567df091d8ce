// SPDX-License-Identifier: MIT
/*
 * Samples of the clock find a thread in user mode only: shares of kinds of code are shares of that
 * time. What the kernel took is from its own account of the program, and includes what headroom has
 * it do there.
 */
#include "show/coverage.h"

#include <stdlib.h>
#include <string.h>

/* Below as many samples shares are guesses; below this share nobody could see the difference. */
enum { TICKS_LEAST = 20, MODULES_SHOWN = 3 };
static const double least_share = 0.01, least_cpu_s = 0.1;

struct coverage {
    uint64_t ticks;
    double ns;                       /* of user time that was sampled */
    double kinds[PROFILE_CPU_KINDS]; /* shares of it */
    double kernel;                   /* share of all CPU time; negative: not known */
};

static bool is_user(const struct profile_cpu_time *row)
{
    return row->kind != PROFILE_CPU_SYSTEM;
}

/* The account is of one run, and of the program alone only if that runs on the processor itself. */
static double kernel_share(const struct profile *profile)
{
    const struct profile_run *run = &profile->run;
    bool known = run->source && profile->merged_count == 0 && run->system_s >= 0 && run->cpu_s > 0;
    return known ? run->system_s / run->cpu_s : -1;
}

static struct coverage coverage_of(const struct profile *profile)
{
    struct coverage coverage = {.kernel = kernel_share(profile)};
    for (size_t i = 0; i < profile->cpu_times_count; i++) {
        const struct profile_cpu_time *row = &profile->cpu_times[i];
        if (!is_user(row))
            continue;
        coverage.ticks += row->ticks;
        coverage.ns += (double)row->ns;
        coverage.kinds[row->kind] += (double)row->ns;
    }
    for (int kind = 0; kind < PROFILE_CPU_KINDS; kind++)
        coverage.kinds[kind] = coverage.ns > 0 ? coverage.kinds[kind] / coverage.ns : 0;
    return coverage;
}

/* ---- text ------------------------------------------------------------------------------------- */

/* " (a, b and 2 more)": where that kind of time was, the most first. */
static void add_modules(const struct profile *profile, uint32_t kind, char *line, size_t bytes)
{
    uint64_t before = UINT64_MAX;
    size_t shown = 0, count = 0;
    for (size_t i = 0; i < profile->cpu_times_count; i++)
        count += profile->cpu_times[i].kind == kind && profile->cpu_times[i].module != 0;
    for (; shown < count && shown < MODULES_SHOWN; shown++) {
        const struct profile_cpu_time *most = NULL;
        char module[64];
        for (size_t i = 0; i < profile->cpu_times_count; i++) {
            const struct profile_cpu_time *row = &profile->cpu_times[i];
            if (row->kind == kind && row->module && row->ns < before &&
                (!most || row->ns > most->ns))
                most = row;
        }
        if (!most)
            break;
        before = most->ns;
        name_clean(name_base(profile->modules[most->module].path), module, sizeof module);
        print_add(line, bytes, "%s%s", shown ? ", " : " (", module);
    }
    if (shown && shown < count)
        print_add(line, bytes, " and %zu more", count - shown);
    if (shown)
        print_add(line, bytes, ")");
}

/* ---- programs that count by themselves ---- */

static bool is_built(const struct profile *profile)
{
    return profile->run.engine && strcmp(profile->run.engine, "built") == 0;
}

/* A module's part of the time, in code that does not count. */
struct uncounted {
    uint32_t module;
    double ns;
    bool partly; /* other code of it counts */
};

static struct uncounted uncounted_of(const struct profile *profile, uint32_t module)
{
    struct uncounted sum = {.module = module};
    for (size_t i = 0; i < profile->cpu_times_count; i++) {
        const struct profile_cpu_time *row = &profile->cpu_times[i];
        if (row->module != module || !is_user(row))
            continue;
        sum.partly |= row->kind == PROFILE_CPU_COUNTED;
        sum.ns += row->kind == PROFILE_CPU_COUNTED ? 0 : (double)row->ns;
    }
    return sum;
}

/* The next less, of equal ones the next module. False: there is none of 1 % of the time. */
static bool next_uncounted(const struct profile *profile, double all, struct uncounted *latest)
{
    struct uncounted most = {.ns = 0};
    for (uint32_t module = 0; module < profile->modules_count; module++) {
        struct uncounted sum = uncounted_of(profile, module);
        bool after = sum.ns < latest->ns || (sum.ns == latest->ns && module > latest->module);
        if (after && sum.ns > most.ns)
            most = sum;
    }
    *latest = most;
    return most.ns > 0 && most.ns >= least_share * all;
}

static void add_uncounted(const struct profile *profile, double all, char *line, size_t bytes)
{
    struct uncounted latest = {.ns = (double)UINT64_MAX};
    size_t shown = 0;
    for (; shown < MODULES_SHOWN && next_uncounted(profile, all, &latest); shown++) {
        char module[64] = "code in no file";
        if (latest.module)
            name_clean(name_base(profile->modules[latest.module].path), module, sizeof module);
        print_add(line, bytes, "%s%s%s (%.0f %% of the CPU time in user mode)", shown ? ", " : ": ",
                  latest.partly ? "parts of " : "", module, 100 * latest.ns / all);
    }
    if (shown)
        print_add(line, bytes, " %s not built with 'headroom cc'", shown > 1 ? "were" : "was");
}

/* Of how much of the run the counts speak. */
static void print_counted(struct printer *printer, const struct coverage *coverage)
{
    static const double almost_none = 0.1, little = 0.5;
    char line[TEXT_BYTES * 2];
    double share = coverage->kinds[PROFILE_CPU_COUNTED];
    if (coverage->ticks == 0 && printer->profile->run.cpu_s >= least_cpu_s)
        return; /* not sampled */
    if (coverage->ticks < TICKS_LEAST)
        snprintf(line, sizeof line,
                 "the run was too short to tell how much of its work counted code did");
    else if (share < almost_none)
        snprintf(line, sizeof line, "counted code did almost none of this run's work");
    else
        snprintf(line, sizeof line,
                 "counted code did %.0f %% of this run's work, by CPU time in user mode",
                 100 * share);
    if (coverage->ticks >= TICKS_LEAST)
        add_uncounted(printer->profile, coverage->ns, line, sizeof line);
    fputs("  ", printer->out);
    print_wrap(printer, coverage->ticks >= TICKS_LEAST && share < little ? BOLD : DIM, 2, 2, line);
}

void coverage_print(struct printer *printer)
{
    static const char *const words[PROFILE_CPU_KINDS] = {
        [PROFILE_CPU_FUNCTIONS] = "was in code without line information",
        [PROFILE_CPU_ADDRESSES] = "was in code without symbols",
        [PROFILE_CPU_JIT] = "was in code compiled at run time that its compiler named",
        [PROFILE_CPU_NAMELESS] = "was in code compiled at run time, without names",
        [PROFILE_CPU_UNKNOWN] = "was where SIGTRAP was blocked, in code that is not known"};
    struct coverage coverage = coverage_of(printer->profile);
    char line[TEXT_BYTES * 2] = "";
    if (is_built(printer->profile)) {
        print_counted(printer, &coverage);
        return;
    }
    for (uint32_t kind = 0; kind < PROFILE_CPU_KINDS && coverage.ticks >= TICKS_LEAST; kind++) {
        if (!words[kind] || coverage.kinds[kind] < least_share)
            continue;
        print_add(line, sizeof line, "%s%.0f %% %s", line[0] ? ", " : "of the time in user mode ",
                  100 * coverage.kinds[kind], words[kind]);
        if (kind == PROFILE_CPU_FUNCTIONS || kind == PROFILE_CPU_ADDRESSES)
            add_modules(printer->profile, kind, line, sizeof line);
    }
    if (printer->profile->run.cpu_s >= least_cpu_s && coverage.kernel >= least_share)
        print_add(line, sizeof line,
                  "%s%.0f %% of the CPU time was in the kernel, headroom's own part included",
                  line[0] ? "; " : "", 100 * coverage.kernel);
    if (!line[0])
        return;
    fputs("  ", printer->out);
    print_wrap(printer, DIM, 2, 2, line);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static const char *const kind_names[PROFILE_CPU_KINDS] = {
    "lines", "functions", "addresses", "jit", "nameless", "system_calls", "unknown", "counted"};

static void modules_member(struct json *json, const struct profile *profile, double ns)
{
    json_begin(json, "modules", '[');
    for (size_t i = 0; i < profile->cpu_times_count; i++) {
        const struct profile_cpu_time *row = &profile->cpu_times[i];
        if (!is_user(row))
            continue;
        json_begin_item(json);
        json_text(json, "module", row->module ? profile->modules[row->module].path : NULL);
        json_text(json, "code", kind_names[row->kind]);
        json_decimal(json, "share", ns > 0 ? (double)row->ns / ns : 0, 6);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void coverage_json(struct json *json, const struct profile *profile)
{
    struct coverage coverage = coverage_of(profile);
    if (coverage.ticks == 0 && coverage.kernel < 0)
        return;
    json_begin(json, "cpu_time", '{');
    json_count(json, "samples", coverage.ticks);
    json_begin(json, "user", '{');
    for (uint32_t kind = 0; kind < PROFILE_CPU_KINDS; kind++)
        if (kind != PROFILE_CPU_SYSTEM && (kind != PROFILE_CPU_COUNTED || is_built(profile)))
            json_decimal(json, kind_names[kind], coverage.kinds[kind], 6);
    json_close(json, '}');
    if (coverage.kernel >= 0)
        json_decimal(json, "kernel", coverage.kernel, 6);
    modules_member(json, profile, coverage.ns);
    json_close(json, '}');
}
