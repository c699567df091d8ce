// SPDX-License-Identifier: MIT
/*
 * A command that is run once more with all of its accesses counted, and what that gives for the findings: the share of
 * waste at their lines, exact. How much time the lines take is still known by the samples only.
 *
 * Nothing is lost by it: the profile is replaced when the new one is whole, and what fails is one sentence, said and kept.
 */
#include "cli/sequel.h"

#include "gain/attach.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* An exact run takes at least that many times the program's CPU time; programs that do little but compute, ten times
   that. */
enum { SLOWER_LEAST = 10 };

struct deep {
    const struct recording *first;
    const struct sequel *sequel;
    struct launch_result result; /* of the exact run */
    char place[LAUNCH_PATH_BYTES + 8];
    char sentence[LAUNCH_ERROR_BYTES + 128]; /* why there is nothing; "" */
    char error[LAUNCH_ERROR_BYTES];
};

/* ---- what is said meanwhile -------------------------------------------------------------------- */

static const char step[] = "counting all accesses in a run of its own";

/* On a terminal one line that goes away again. */
static void say_step(const struct deep *deep, bool ended)
{
    const struct settings *settings = deep->first->settings;
    if (settings->quiet)
        return;
    if (!isatty(STDERR_FILENO)) {
        if (!ended)
            say("%s", step);
        return;
    }
    fprintf(stderr, ended ? "\r\033[K" : "headroom: %s ...", step);
    fflush(stderr);
}

/* ---- the run -------------------------------------------------------------------------------------- */

static enum launch_outcome record(struct exact_further *further)
{
    struct deep *deep = further->context;
    struct launch_request *program = &further->request->program;
    program->deadline_ns = sequel_deadline_ns(deep->sequel);
    if (!sequel_redirect(deep->sequel, program)) {
        snprintf(further->error, LAUNCH_ERROR_BYTES, "standard input or output: %s",
                 strerror(errno));
        return LAUNCH_FAILED;
    }
    launch_restore();
    enum launch_outcome outcome = launch_exact(further->request, further->result, further->error);
    recording_note_signals();
    sequel_redirect_end(program);
    deep->result = *further->result;
    return outcome;
}

static bool ended_alike(const struct deep *deep)
{
    const struct launch_result *first = &deep->first->result, *exact = &deep->result;
    return exact->exited && exact->exit_code == first->exit_code;
}

/* A clause of the sentence. */
static const char *why_nothing(struct deep *deep, bool recorded)
{
    const struct launch_result *result = &deep->result;
    size_t length = strlen(deep->error);
    if (result->interrupted)
        return "it was interrupted";
    if (result->timed_out)
        return "its time was over (--max-time)";
    if (recorded)
        return "the program did not end as in the first run";
    if (length && deep->error[length - 1] == '.')
        deep->error[length - 1] = 0;
    return deep->error;
}

/* The profile of the exact run is in deep->place. False: the sentence says why there is none that counts. */
static bool record_exactly(struct deep *deep)
{
    struct settings settings = *deep->first->settings;
    settings.kinds = 0;
    say_step(deep, false);
    bool recorded = exact_further(deep->first, &settings, "waste", EXACT_KINDS, record, deep,
                                  deep->place, deep->error);
    say_step(deep, true);
    if (recorded && !deep->result.timed_out && !deep->result.interrupted && ended_alike(deep))
        return true;
    snprintf(deep->sentence, sizeof deep->sentence,
             "the run that was to count all accesses gave nothing: %s",
             why_nothing(deep, recorded));
    return false;
}

/* ---- all together --------------------------------------------------------------------------------- */

static bool has_time(struct deep *deep)
{
    double least_s = SLOWER_LEAST * deep->first->result.cpu_s;
    if (!sequel_is_over(deep->sequel, least_s))
        return true;
    snprintf(deep->sentence, sizeof deep->sentence,
             "accesses were not counted in a run of its own: that would take at least %.0f s, more "
             "than --max-time leaves",
             least_s);
    return false;
}

static bool attach(struct deep *deep, struct profile *profile)
{
    struct profile *exact = NULL;
    bool good = profile_read(deep->place, &exact, deep->error, sizeof deep->error) == BASE_OK;
    if (good && !gain_attach(exact, profile)) {
        strcpy(deep->error, "out of memory");
        good = false;
    }
    if (!good)
        snprintf(deep->sentence, sizeof deep->sentence,
                 "the run that counted all accesses gave nothing: %s", deep->error);
    /* What it needs is bounded by all that was read. */
    profile->file_bytes += exact ? exact->file_bytes : 0;
    profile_free(exact);
    return good;
}

void deep_run(struct recording *recording)
{
    struct deep deep = {.first = recording, .sequel = recording->sequel_state};
    struct profile *profile = NULL;
    snprintf(deep.place, sizeof deep.place, "%s.exact", recording->log_path);
    if (profile_read(recording->written, &profile, deep.error, sizeof deep.error) != BASE_OK) {
        say("%s", deep.error);
        return;
    }
    bool good = has_time(&deep) && record_exactly(&deep) && attach(&deep, profile);
    if (!good) {
        say("%s", deep.sentence);
        sequel_degraded(profile, deep.sentence);
    }
    if (!sequel_replace(recording, profile, deep.error))
        say("%s", deep.error);
    unlink(deep.place);
    profile_free(profile);
}
