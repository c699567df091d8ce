// SPDX-License-Identifier: MIT
/*
 * Rounds of runs. Each round has one run of every subject, in an order drawn anew: what the machine does meanwhile, and what a run leaves
 * behind for the next one, falls on all alike, and of two equal subjects neither can be slower more often but by chance.
 */
#include "cli/stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct turn {
    struct stat_subject *subject;
    bool timed; /* regions are */
};

/* ---- one run --------------------------------------------------------------------------------- */

static uint64_t nanoseconds(double seconds)
{
    return seconds > 0 ? (uint64_t)(seconds * 1e9 + 0.5) : 0;
}

static struct profile_stat_run *add_run(struct stat_measuring *measuring, const struct turn *turn,
                                        uint32_t round, bool warm)
{
    struct profile_stat_run *run = profile_add_stat_runs(measuring->profile);
    if (run)
        *run = (struct profile_stat_run){.session = measuring->session,
                                         .subject = turn->subject->id,
                                         .round = round,
                                         .position = measuring->position++,
                                         .warm = warm,
                                         .timed = turn->timed};
    return run;
}

static void fill_run(struct stat_measuring *measuring, const struct launch_result *result)
{
    struct profile *profile = measuring->profile;
    struct profile_stat_run *run = &profile->stat_runs[profile->stat_runs_count - 1];
    run->wall_ns = nanoseconds(result->wall_s);
    run->user_ns = nanoseconds(result->cpu_s - result->system_s);
    run->system_ns = nanoseconds(result->system_s);
    run->minor_faults = result->minor_faults;
    run->major_faults = result->major_faults;
    run->voluntary = result->voluntary;
    run->involuntary = result->involuntary;
    run->peak_bytes = result->peak_bytes;
    profile->run.processes++;
    profile->run.threads++;
    profile->run.wall_s += result->wall_s;
    profile->run.cpu_s += result->cpu_s;
    profile->run.system_s += result->system_s;
}

struct counted {
    struct stat_measuring *measuring;
    struct machine_counting counting;
};

static void begin_counting(void *context, pid_t child)
{
    struct counted *counted = context;
    machine_counting_begin(&counted->counting, counted->measuring->counters,
                           counted->measuring->counters_count, child);
}

static bool add_events(struct stat_measuring *measuring, struct machine_counting *counting)
{
    struct machine_count counts[MACHINE_COUNTERS_MAX];
    size_t count = counting->count;
    machine_counting_end(counting, counts);
    for (size_t i = 0; i < count; i++) {
        if (!counts[i].known)
            continue;
        struct profile_stat_event *event = profile_add_stat_events(measuring->profile);
        if (!event)
            return false;
        *event = (struct profile_stat_event){
            .run = (uint32_t)measuring->profile->stat_runs_count - 1,
            .name = profile_keep(measuring->profile, measuring->counters[i].name),
            .value = counts[i].value,
            .share = counts[i].share};
        if (!event->name)
            return false;
    }
    return true;
}

/* Output goes nowhere unless it is asked for; input is for each run as for the first. */
static enum launch_outcome run_plain(struct stat_measuring *measuring,
                                     const struct stat_subject *subject,
                                     struct launch_result *result)
{
    struct launch_request request = {.path = subject->path, .command = subject->command};
    struct counted counted = {.measuring = measuring};
    enum launch_outcome outcome = sequel_begin(&measuring->sequel, 0, &request, measuring->error);
    if (outcome != LAUNCH_OK)
        return outcome;
    if (measuring->own->show_output)
        request.redirected = false;
    outcome = launch_plain(&request, measuring->counters_count ? begin_counting : NULL, &counted,
                           result, measuring->error);
    sequel_end(&request);
    if (!add_events(measuring, &counted.counting)) {
        stat_fail(measuring, LAUNCH_FAILED, "%s.", base_status_text(BASE_NO_MEMORY));
        return LAUNCH_FAILED;
    }
    return outcome;
}

/* Did it end as its runs before? */
static bool check_end(struct stat_measuring *measuring, struct stat_subject *subject,
                      const struct launch_result *result)
{
    int status = result->exited ? result->exit_code : 128 + result->signal;
    if (result->interrupted || recording_signalled())
        return stat_fail(measuring, 128 + (result->interrupted ? result->interrupted : 2), "%s",
                         "interrupted; the run at hand is in no figure.");
    if (subject->expected < 0)
        subject->expected = status;
    if (status == subject->expected && (status == 0 || measuring->own->ignore_failure))
        return true;
    if (result->exited)
        return stat_fail(
            measuring, status ? status : LAUNCH_FAILED, "'%.1000s' ended with exit status %d%s.",
            subject->command[0], result->exit_code,
            status == subject->expected ? "; with --ignore-failure it is timed all the same"
                                        : ", unlike its first run");
    return stat_fail(measuring, status, "'%.1000s' was killed by signal %d.", subject->command[0],
                     result->signal);
}

static void drop_run(struct stat_measuring *measuring)
{
    struct profile *profile = measuring->profile;
    uint32_t run = (uint32_t)--profile->stat_runs_count;
    while (profile->stat_events_count &&
           profile->stat_events[profile->stat_events_count - 1].run == run)
        profile->stat_events_count--;
    while (profile->stat_visits_count &&
           profile->stat_visits[profile->stat_visits_count - 1].run == run)
        profile->stat_visits_count--;
    measuring->position--;
}

static bool run_once(struct stat_measuring *measuring, const struct turn *turn, uint32_t round,
                     bool warm)
{
    struct launch_result result = {0};
    if (!add_run(measuring, turn, round, warm))
        return stat_fail(measuring, LAUNCH_FAILED, "%s.", base_status_text(BASE_NO_MEMORY));
    enum launch_outcome outcome = turn->timed ? stat_regions_run(measuring, turn->subject, &result)
                                              : run_plain(measuring, turn->subject, &result);
    launch_jits_free(&result.jits);
    if (outcome != LAUNCH_OK)
        measuring->code = (int)outcome;
    if (outcome == LAUNCH_OK && check_end(measuring, turn->subject, &result)) {
        fill_run(measuring, &result);
        return true;
    }
    drop_run(measuring);
    return false;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static uint32_t draw(struct stat_measuring *measuring, uint32_t below)
{
    measuring->random = measuring->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((measuring->random >> 33) % below);
}

static void shuffle(struct stat_measuring *measuring, struct turn *turns, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = draw(measuring, (uint32_t)i);
        struct turn other = turns[j];
        turns[j] = turns[i - 1];
        turns[i - 1] = other;
    }
}

/* Regions are timed in runs of their own: the whole run is that of the program alone. */
static size_t make_turns(struct stat_measuring *measuring, struct turn *turns)
{
    size_t count = 0;
    for (size_t i = 0; i < measuring->subjects_count; i++) {
        turns[count++] = (struct turn){&measuring->subjects[i], false};
        if (measuring->regions_count)
            turns[count++] = (struct turn){&measuring->subjects[i], true};
    }
    return count;
}

static bool run_round(struct stat_measuring *measuring, struct turn *turns, size_t count,
                      uint32_t round, bool warm)
{
    shuffle(measuring, turns, count);
    for (size_t i = 0; i < count; i++)
        if (!run_once(measuring, &turns[i], round, warm))
            return false;
    return true;
}

/* Is there time for another round like the longest? At least one is made. */
static bool has_time(const struct stat_measuring *measuring, double longest_s)
{
    return !measuring->own->max_s || measuring->rounds == 0 ||
           !sequel_is_over(&measuring->sequel, longest_s);
}

bool stat_runs(struct stat_measuring *measuring)
{
    struct turn turns[2 * STAT_SUBJECTS];
    size_t count = make_turns(measuring, turns);
    struct progress progress = {0};
    uint64_t warmups = measuring->own->warmups, runs = measuring->own->runs;
    double longest_s = 0;
    bool good = true;
    progress_begin(&progress, measuring->settings->quiet);
    for (uint32_t i = 0; good && i < warmups; i++) {
        progress_step(&progress, "warming up", i, warmups);
        good = run_round(measuring, turns, count, i, true);
    }
    while (good && measuring->rounds < runs && has_time(measuring, longest_s)) {
        uint64_t begun_ns = monotonic_ns();
        progress_step(&progress, "rounds", measuring->rounds, runs);
        good = run_round(measuring, turns, count, (uint32_t)warmups + measuring->rounds, false);
        measuring->rounds += good;
        double taken_s = (double)(monotonic_ns() - begun_ns) / 1e9;
        longest_s = taken_s > longest_s ? taken_s : longest_s;
    }
    progress_end(&progress);
    measuring->profile->stat_sessions[measuring->session].rounds = measuring->rounds;
    return good;
}
